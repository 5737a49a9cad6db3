"""Notes that documentation strings are formatted with."""


class _Notes(dict):
    def __missing__(self, key):
        return ''


common_args = factory_common_args = rocm_fp16_notes = _Notes()
tf32_notes = _Notes(tf32_note='')
reproducibility_notes = _Notes(forward_reproducibility_note='', backward_reproducibility_note='', cudnn_reproducibility_note='')
sparse_support_notes = _Notes(sparse_beta_warning='')


def parse_kwargs(text):
    return {}


def merge_dicts(*dicts):
    return _Notes()
