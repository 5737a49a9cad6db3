"""Fourier transforms by their shapes."""

from torch._abstract.core import make
from torch._abstract.types import Size, axis, defaults


def _to_complex(dtype):
    return dtype if dtype.kind == 3 else dtype.to_complex() if dtype.kind == 2 else defaults.dtype.to_complex()


def _real(dtype):
    return dtype.to_real() if dtype.kind == 3 else dtype


def fft(input, n=None, dim=-1, norm=None, *, out=None):
    shape = list(input.shape)
    if n is not None:
        shape[dim] = n
    return make(Size(shape), _to_complex(input.dtype))


def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    shape = list(input.shape)
    shape[dim] = (shape[dim] if n is None else n) // 2 + 1
    return make(Size(shape), _to_complex(input.dtype))


def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    shape = list(input.shape)
    shape[dim] = 2 * (shape[dim] - 1) if n is None else n
    return make(Size(shape), _real(input.dtype))


def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    return irfft(input, n, dim)


def _many(last):
    """A transform over several dimensions; `last` says what the last one does."""

    def transform(input, s=None, dim=None, norm=None, *, out=None):
        rank = len(input.shape)
        if dim is None:
            dims = list(range(rank)) if s is None else list(range(rank - len(s), rank))
        else:
            dims = [axis(d, rank) for d in ([dim] if isinstance(dim, int) else dim)]
        shape = list(input.shape)
        if s is not None:
            for d, n in zip(dims, s):
                if n != -1:
                    shape[d] = n
        end = dims[-1]
        if last == 'real':
            shape[end] = shape[end] // 2 + 1
        elif last == 'inverse' and s is None:
            shape[end] = 2 * (shape[end] - 1)
        return make(Size(shape), _real(input.dtype) if last == 'inverse' else _to_complex(input.dtype))

    return transform


def _pairs(many):
    return lambda input, s=None, dim=(-2, -1), norm=None, *, out=None: many(input, s, dim, norm)


ifft = ihfft = fft
fftn = ifftn = _many('')
rfftn = _many('real')
irfftn = _many('inverse')
fft2 = ifft2 = _pairs(fftn)
rfft2 = _pairs(rfftn)
irfft2 = _pairs(irfftn)


def fftshift(input, dim=None):
    return make(input.shape, input.dtype)


ifftshift = fftshift


def fftfreq(n, d=1.0, *, dtype=None, device=None, **kwargs):
    return make(Size((n,)), dtype or defaults.dtype)


def rfftfreq(n, d=1.0, *, dtype=None, device=None, **kwargs):
    return make(Size((n // 2 + 1,)), dtype or defaults.dtype)
