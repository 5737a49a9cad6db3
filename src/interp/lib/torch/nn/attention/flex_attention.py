"""Attention with a function for its mask."""

import _pellucid
from torch._abstract.core import make
from torch._abstract.layers import scaled_dot_product_attention
from torch._abstract.types import Size


class BlockMask:
    def __init__(self, *args, **kwargs):
        self.shape = kwargs.get('shape')


class AuxOutput:
    pass


class AuxRequest:
    pass


_DEFAULT_SPARSE_BLOCK_SIZE = 128


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, *args, **kwargs):
    return BlockMask(shape=(B, H, Q_LEN, KV_LEN))


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device='cuda'):
    from torch import bool
    return make(Size((B or 1, H or 1, Q_LEN, KV_LEN)), bool)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    out = scaled_dot_product_attention(query, key, value, enable_gqa=enable_gqa)
    return (out, make(Size(tuple(query.shape)[:-1]), query.dtype)) if return_lse else out


def and_masks(*masks):
    return lambda *args: _pellucid.symbol('mask')


or_masks = and_masks


def noop_mask(batch, head, token_q, token_kv):
    return True
