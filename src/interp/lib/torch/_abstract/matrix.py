"""Products of matrices, einsum, and decompositions by their shapes."""

import _pellucid

from torch._abstract import values
from torch._abstract.core import Tensor, after, like, make
from torch._abstract.pointwise import functions, known_value
from torch._abstract.types import Size, ShapeError, axis, count_work, differ, is_symbol, join_sizes, numel, promote


def _inner(a, b, x, y, what):
    if differ(a, b):
        raise ShapeError('%s: %s and %s cannot be multiplied: %d columns against %d rows'
                         % (what, tuple(x.shape), tuple(y.shape), a, b), x, y)


def matmul(input, other, *, out=None):
    a = tuple(input.shape)
    b = tuple(other.shape)
    if not a or not b:
        raise ShapeError('matmul: both arguments need at least one dimension', input, other)
    _inner(a[-1], b[-2] if len(b) > 1 else b[-1], input, other, 'matmul')
    batch = tuple(join_sizes(a[:-2], b[:-2], ' in matmul', input, other)) if len(a) > 2 or len(b) > 2 else ()
    shape = batch + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())
    dtype = input.dtype if input.dtype is other.dtype else promote(input.dtype, other.dtype)
    value = None
    if input._value is not None and other._value is not None and len(a) <= 2 and len(b) <= 2:
        value = values.Value(_product, known_value(input), known_value(other), a[-2] if len(a) > 1 else 1, a[-1],
                             b[-1] if len(b) > 1 else 1)
    t = make(Size(shape), dtype, value)
    count_work(numel(shape) * a[-1])
    return after(t, input, other)


def _product(a, b, rows, inner, columns):
    a = a.get()
    b = b.get()
    return [sum([a[i * inner + k] * b[k * columns + j] for k in range(inner)]) for i in range(rows) for j in range(columns)]


def _ranked(name, first, second):
    def operation(input, other, *, out=None):
        if len(input.shape) != first or len(other.shape) != second:
            raise ShapeError('%s: tensors of rank %d and %d wanted, %s and %s given'
                             % (name, first, second, tuple(input.shape), tuple(other.shape)), input, other)
        return matmul(input, other)

    return operation


mm = _ranked('mm', 2, 2)
bmm_of = _ranked('bmm', 3, 3)
mv = _ranked('mv', 2, 1)


def bmm(input, mat2, *, out=None):
    if len(input.shape) == 3 and len(mat2.shape) == 3 and differ(input.shape[0], mat2.shape[0]):
        raise ShapeError('bmm: batches of %d and of %d' % (input.shape[0], mat2.shape[0]), input, mat2)
    return bmm_of(input, mat2)


def dot(input, other, *, out=None):
    _inner(input.shape[0], other.shape[0], input, other, 'dot')
    return after(make(Size(()), input.dtype), input)


def outer(input, vec2, *, out=None):
    a = values.broadcast(known_value(input), (input.shape[0], 1), (input.shape[0], vec2.shape[0])) if input._value is not None else None
    shape = Size((input.shape[0], vec2.shape[0]))
    t = make(shape, promote(input.dtype, vec2.dtype))
    if a is not None and vec2._value is not None:
        b = values.broadcast(known_value(vec2), (vec2.shape[0],), tuple(shape))
        t._value = values.Value(_products, a, b)
    return t


def _products(a, b):
    return [x * y for x, y in zip(a.get(), b.get())]


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    product = matmul(mat1, mat2)
    join_sizes(product.shape, input.shape, ' in addmm', product, input)
    return after(make(product.shape, product.dtype), input, mat1, mat2)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    return after(make(Size((batch1.shape[1], batch2.shape[2])), input.dtype), input)


def chain_matmul(*matrices):
    result = matrices[0]
    for m in matrices[1:]:
        result = matmul(result, m)
    return result


def einsum(equation, *operands):
    if isinstance(equation, Tensor) or not isinstance(equation, str):
        return _pellucid.unknown('einsum by sublists', 'only equations in text are modelled')
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    text = equation.replace(' ', '')
    left, arrow, right = text.partition('->')
    terms = left.split(',')
    if len(terms) != len(operands):
        raise RuntimeError('einsum(): more operands were provided than specified in the equation')
    sizes = {}
    dots = Size(())
    for term, x in zip(terms, operands):
        letters = term
        shape = tuple(x.shape)
        if '...' in term:
            head, _, tail = term.partition('...')
            middle = len(shape) - len(head) - len(tail)
            dots = join_sizes(dots, Size(shape[len(head):len(head) + middle]), ' in einsum', x)
            shape = shape[:len(head)] + shape[len(head) + middle:]
            letters = head + tail
        if len(letters) != len(shape):
            raise ShapeError('einsum %r: %r has %d letters, the tensor %s has %d dimensions'
                             % (equation, term, len(letters), tuple(x.shape), len(x.shape)), x)
        for letter, n in zip(letters, shape):
            if letter in sizes:
                old = sizes[letter]
                if differ(old, n):
                    if old == 1:
                        sizes[letter] = n
                    elif n != 1:
                        raise ShapeError('einsum %r: %s is %d and %d' % (equation, letter, old, n), x, operands[0])
                elif is_symbol(old) and type(n) is int:
                    sizes[letter] = n
            else:
                sizes[letter] = n
    if not arrow:
        joined = left.replace(',', '').replace('.', '')
        right = '...' * ('...' in left) + ''.join(sorted([c for c in set(joined) if joined.count(c) == 1]))
    shape = []
    head, has_dots, tail = right.partition('...')
    for letter in head:
        shape.append(sizes[letter])
    if has_dots:
        shape.extend(dots)
    for letter in tail:
        shape.append(sizes[letter])
    dtype = operands[0].dtype
    for x in operands[1:]:
        dtype = promote(dtype, x.dtype)
    count_work(numel(list(sizes.values())) * numel(dots))
    return after(make(Size(shape), dtype), *operands)


def tensordot(a, b, dims=2, out=None):
    if isinstance(dims, int):
        first, second = list(range(len(a.shape) - dims, len(a.shape))), list(range(dims))
    else:
        first, second = [[d] if isinstance(d, int) else list(d) for d in dims]
    first = [axis(d, len(a.shape)) for d in first]
    second = [axis(d, len(b.shape)) for d in second]
    for i, j in zip(first, second):
        _inner(a.shape[i], b.shape[j], a, b, 'tensordot')
    return after(make(Size([n for i, n in enumerate(a.shape) if i not in first] + [n for j, n in enumerate(b.shape) if j not in second]), a.dtype), a)


def kron(input, other):
    return after(make(Size([x * y for x, y in zip(input.shape, other.shape)]), input.dtype), input)


def cross(input, other, dim=None, *, out=None):
    return after(make(join_sizes(input.shape, other.shape, '', input, other), input.dtype), input)


def square(*args, **kwargs):
    """inverse, pinv, cholesky, matrix_exp, matrix_power: the shape of their argument."""
    return like(args[0])


def transposed(input, *args, **kwargs):
    shape = tuple(input.shape)
    return after(make(Size(shape[:-2] + (shape[-1], shape[-2])), input.dtype), input)


def last_two_gone(input, *args, **kwargs):
    return after(make(Size(tuple(input.shape)[:-2]), input.dtype), input)


def qr(A, mode='reduced', some=True, *, out=None):
    *batch, m, n = A.shape
    k = m if mode == 'complete' else min(m, n)
    return after(make(Size(tuple(batch) + (m, k)), A.dtype), make(Size(tuple(batch) + (k, n)), A.dtype), A)


def svd(A, full_matrices=True, *, driver=None, out=None):
    *batch, m, n = A.shape
    k = min(m, n)
    batch = tuple(batch)
    return (make(Size(batch + (m, m if full_matrices else k)), A.dtype), make(Size(batch + (k,)), A.dtype),
            make(Size(batch + (n if full_matrices else k, n)), A.dtype))


def eigh(A, UPLO='L', *, out=None):
    return make(Size(tuple(A.shape)[:-1]), A.dtype), like(A)


def eigvalsh(A, UPLO='L'):
    return after(make(Size(tuple(A.shape)[:-1]), A.dtype), A)


def solve(A, B, *args, **kwargs):
    return like(B)


def logdet(input):
    return last_two_gone(input)


for _function in (matmul, mm, bmm, mv, dot, outer, addmm, addbmm, chain_matmul, einsum, tensordot, kron, cross, qr, logdet):
    functions[_function.__name__] = _function
functions['mm'] = mm
functions['mv'] = mv
functions['baddbmm'] = functions['addmv'] = functions['sspaddmm'] = addmm
functions['ger'] = outer
functions['inner'] = lambda input, other: tensordot(input, other, ([-1], [-1]))
functions['vdot'] = dot
functions['inverse'] = functions['pinverse'] = functions['cholesky'] = functions['matrix_exp'] = square
functions['matrix_power'] = functions['orgqr'] = square
functions['det'] = functions['slogdet'] = last_two_gone
functions['svd'] = svd
functions['_linalg_svd'] = svd
for _name in ('matmul', 'mm', 'bmm', 'mv', 'dot', 'outer', 'addmm', 'baddbmm', 'inverse', 'pinverse', 'cholesky',
              'matrix_exp', 'matrix_power', 'det', 'ger', 'qr', 'svd', 'inner', 'cross', 'logdet'):
    setattr(Tensor, _name, functions[_name])
for _name in ('addmm', 'baddbmm'):
    setattr(Tensor, _name + '_', lambda self, *args, **kwargs: self)
Tensor.__matmul__ = matmul
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)
