"""Linear algebra by its shapes."""

from torch._abstract.matrix import (cross, eigh, eigvalsh, last_two_gone as det, matmul, qr, solve, square, svd,
                                    transposed as pinv)
from torch._abstract.core import make
from torch._abstract.reduce import norm, vector_norm
from torch._abstract.types import Size

inv = cholesky = matrix_exp = matrix_power = householder_product = square
solve_triangular = solve
slogdet = lambda A: (det(A), det(A))
vecdot = lambda x, y, dim=-1: (x * y).sum(dim)
multi_dot = lambda tensors: _chain(tensors)


def _chain(tensors):
    result = tensors[0]
    for t in tensors[1:]:
        result = matmul(result, t)
    return result


def svdvals(A):
    return make(Size(tuple(A.shape)[:-2] + (min(A.shape[-2], A.shape[-1]),)), A.dtype)


def matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None):
    return norm(A, ord, dim, keepdim, dtype)


def matrix_rank(A, *args, **kwargs):
    from torch import int64
    return make(Size(tuple(A.shape)[:-2]), int64)


def lstsq(A, B, **kwargs):
    return (make(Size(tuple(A.shape)[:-2] + (A.shape[-1], B.shape[-1])), A.dtype),)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return A.diagonal(offset, dim1, dim2)


def eig(A):
    return make(Size(tuple(A.shape)[:-1]), A.dtype.to_complex()), make(A.shape, A.dtype.to_complex())
