"""Special functions: element by element."""

from torch._abstract.core import like
from torch._abstract.pointwise import functions as _functions
from torch._abstract.reduce import logsumexp, softmax

for _name in ('erf', 'erfc', 'erfinv', 'exp2', 'expm1', 'log1p', 'logit', 'sinc', 'digamma', 'xlogy', 'i0', 'round'):
    globals()[_name] = _functions[_name]
log_softmax = softmax
expit = _functions['sigmoid']
gammaln = _functions['lgamma']
psi = _functions['digamma']
i0e = i1 = i1e = ndtri = log_ndtr = ndtr = entr = lambda input: like(input)
