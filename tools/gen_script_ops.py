#!/usr/bin/env python3
"""Schemas of torch -> src/load/audit/script_ops.inc: the operators that only compute, in TorchScript and torch.export.

    python tools/gen_script_ops.py [--check]

An operator is in the table if each of its schemas takes tensors, numbers and lists of them alone. Texts can be paths
and addresses: operators that take them are in the table only if they are in TEXTS below, each of which was read. The
table is committed, so that the library builds without torch."""

from __future__ import annotations

import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "load" / "audit" / "script_ops.inc"

SPACES = """aten prim prims quantized _quantized sparse mkldnn onednn mkldnn_prepacked prepacked profiler""".split()

# Types that hold no text, no code and no handle of another process.
PLAIN = re.compile(r"(Tensor|int|bool|float|number|complex|Device|Generator|Storage|NoneType|SymInt|t|t1|t2|tVal|"
                   r"AnyEnumType|__torch__\.torch\.classes\.(quantized|sparse|rnn|xnnpack)\.\w+)")

# Operators with texts: a text is compared, cut, formatted or printed, names a mode, or is the message of an assertion.
TEXTS = set("""
Delete Float Int __contains__ __getitem__ __interpolate __upsample _assert_async _assert_scalar _convolution_mode
_functional_assert_async _functional_assert_scalar _linalg_check_errors _linalg_eigh _linalg_svd _mixed_dtypes_linear
_print _segment_reduce_backward _set_item _sparse_mm _sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward
_sparse_semi_structured_linear _sparse_semi_structured_tile add any capitalize center clear conv1d conv2d conv3d copy
count device dict div div_ divide divide_ einsum endswith eq expandtabs find format ge gelu gelu_ gelu_backward get
get_autocast_dtype gt index index_reduce index_reduce_ isalnum isalpha isdecimal isdigit isidentifier islower isnumeric
isprintable isspace istitle isupper items join keys le len linalg_cond linalg_eigh linalg_eigvalsh linalg_lstsq
linalg_matrix_norm linalg_norm linalg_qr linalg_svd linalg_svdvals list ljust lower lstrip lt meshgrid nanquantile ne
ord pad pad_sequence partition percentFormat pop popitem quantile remove replace rfind rindex rjust rpartition rsplit
rstrip scatter scatter_ scatter_reduce scatter_reduce_ searchsorted segment_reduce setdefault slice sort sorted split
splitlines startswith stft strip swapcase title update upper values warn zfill
RaiseException StringIndex ModuleContainerIndex AddStatValue
_convolution_pointwise _convolution_pointwise_ _convolution_transpose_pointwise _linear_pointwise conv2d_prepack
qconv1d_pointwise qconv2d_pointwise qconv3d_pointwise qconv_pointwise qlinear_pointwise
_record_function_enter _record_function_enter_new""".split())
FFT = re.compile(r"fft_\w+")

# Of prim: what the compiler writes, and that has no schema with types, or that lives in the compiler alone.
NO_SCHEMA = set("""
prim::Print prim::Uninitialized prim::TupleUnpack prim::TupleConstruct prim::ListConstruct prim::ListUnpack
prim::DictConstruct prim::NumToTensor prim::unchecked_cast prim::unchecked_unwrap_optional prim::isinstance
prim::min prim::max prim::abs prim::TupleIndex prim::TupleSlice prim::rangelist prim::is_none prim::unpack_dict
prim::tolist prim::dtype prim::device prim::layout prim::shape prim::name prim::type prim::data prim::grad
prim::ConstantChunk prim::VarConcat prim::VarStack prim::AutogradAllZero prim::AutogradAnyNonZero
prim::AutogradAllNonZero prim::AutogradZero prim::AutogradAdd prim::BroadcastSizes prim::ChunkSizes
aten::is_scripting aten::backward aten::warn aten::chr aten::hex aten::oct aten::bin aten::str aten::Bool
aten::dequantize aten::wait prim::IfThenElse prim::awaitable_wait quantized::conv2d_unpack_sizes
profiler::_record_function_exit
aten::append aten::extend aten::insert aten::reverse
aten::__range_length aten::__derive_index""".split())
# Of torchvision: what its models call. Its image:: and video:: operators read and write files.
TORCHVISION = """nms roi_align roi_pool ps_roi_align ps_roi_pool deform_conv2d _roi_align_backward _roi_pool_backward
_ps_roi_align_backward _ps_roi_pool_backward _deform_conv2d_backward""".split()
# Other processes, Python, files.
NOT = re.compile(r"(aten::(from_file|save|dist_backward|to_here|owner|owner_name|confirmed_by_owner|local_value)"
                 r"|aten::is_owner"
                 r"|prim::(rpc_\w+|PythonOp|IgnoredPythonOp|CudaFusionGroup|BailOut|BailoutTemplate|FallbackGraph)"
                 r"|aten::_test_\w+)$")


def words(kind: str) -> list[str]:
    containers = ("", "List", "Optional", "Tuple", "Dict", "Union")
    return [word for word in re.split(r"[\[\],\s]+", kind) if word not in containers]


def is_plain(schema: torch.FunctionSchema) -> bool:
    name = schema.name.split("::")[1]
    may_take_texts = name in TEXTS or FFT.fullmatch(name) is not None
    for argument in schema.arguments:
        for word in words(str(argument.type)):
            if PLAIN.fullmatch(word) is None and not (may_take_texts and word in ("str", "Any")):
                return False
    return True


def generate() -> str:
    found: dict[str, bool] = dict.fromkeys(
        [*NO_SCHEMA, *(f"torchvision::{name}" for name in TORCHVISION)], True)
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name
        if name.split("::")[0] not in SPACES or NOT.match(name):
            continue
        found[name] = found.get(name, True) and (name in NO_SCHEMA or is_plain(schema))
    # by code points: the table is searched
    rows = "".join(f'    "{name}",\n' for name in sorted(name for name, is_good in found.items() if is_good))
    return ("/* Generated by tools/gen_script_ops.py from the schemas of torch; edit there. */\n"
            "/* clang-format off */\n"
            + rows + "/* clang-format on */\n")


def main() -> int:
    text = generate()
    if "--check" in sys.argv:
        return 0 if OUT.read_text() == text else 1
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
