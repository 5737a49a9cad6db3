
x = 1 .real; y = 1.0.real; z = 1j.real; w = (-1).real; (1).__add__(2)
-x ** -y; (-x) ** y; x ** -y ** z; (x ** y) ** z; await_ = 1
not x in y; x not in y; (not x) in y; not (x in y); a < b < c; (a < b) < c; a < (b < c)
lambda: (yield); lambda x, /, y=1, *a, z, w=2, **k: x if y else z
(lambda x: x)(1); (lambda: 1) if (lambda: 2) else (lambda: 3)
[x for x in (lambda: 1, 2)]; [x for x in (a if b else c) if (lambda: 1)]; [(x, y) for x, y in z for *a, b in c if d if e]
{**a, 'b': c, **(d or e)}; {*a, *b}; f(*a, *b, c=1, **d, **e); f(x for x in y); f((x for x in y), 1)
x[a:b, c]; x[a:b:c, ...]; x[()]; x[(a,)]; x[a, b]; x[:]; x[::]; x[a:]; x[:a]; x[::a]; x[a:b:c]; x[a+1:]; x[:f(x)]; x[-1:]; x[1:2,]
(x := 1); f(x := 1); f(a, (x := 1)); f(a=(x := 1)); x[(y := 1)]; [y := 1, 2]; {(y := 1)}
(yield_) ; a = b = c; a, b = c, d; (a,) = b; a, *b = c; [a, b] = c; a = b, = c; (a, b), c = d
x: int; x: int = 1; (x): int = 1; x.y: int; x[1]: int = 2; x: int = 1, 2
del a, b; del (a, b); del [a, b]; del a[1], b.c; del (a)
assert a, b; assert (a, b); raise; raise A; raise A from B; import a.b as c, d; from . import x; from ..a import b as c, d; from a import *
global_ = 1
1e309; -1e309; 1e309j; 1e-5; 1e16; 1e22; 0.1; 123456789012345678901234567890; 0xffffffffffffffffffffffffffffffffffff; 1_000.0; 1e100
'a' 'b'; "it's"; 'say "hi"'; 'both \' and "'; '\n'; 'a\\b'; 'a\\'; '\x00\x7f\x80é\u200b\ud800\U0001f600'; b'a\xff\'"'; rb'\d'; u'x'; '\\d+\n'; """a
b"""; '\t'; "'''"; '"""'; '\\"\''; 'a{b}'
x if a else y if b else z; (x if a else y) if b else z; x if (a if b else c) else d
a or b and c; (a or b) and c; a or (b or c); not (a or b); not a or b; a and (b and c)
a | b ^ c & d << e + f * g; ((a | b) ^ c) & d; (a + b) * c; a - (b - c); a // b % c @ d; ~x + -y; - -x; +x; not not x; ~-x
(a, b); (a,); a,; (); [a,]; [(a,)]; {a: b}; {a, b}; {}; {1: {2: 3}}
x.y.z(a)(b)[c].d; x().y(); (a or b).c; (yield_).x; "abc".join(x); [].append(x); {}.get(x); (a + b).c; (a, b).c; (1, 2)[0]; (lambda: x).y; (not x).y; (x if y else z).w
x = *a, b; x = *a,; return_ = (*a,); f(*(a or b)); f(**(a or b)); print(*a or b)
f(a)(b)(c); f(**{'a': 1}); f(*[1, 2]); f({}); f([]); f(())
x = yield_ = 1
f"{x}"; f"a{x!r}b{y:>10}c{{d}}"; f"{x:{w}.{p}}"; f"{ {1: 2}[1] }"; f"{x!r:^{w}}"; f"{'a'}"; f'{"a"}'; f"{x['a']}"; f"{a if b else c}"; f"{(lambda: 1)()}"; f"{(lambda x: 1)}"; f"{(x := 1)}"; f"{a, b}"; f"{x=}"; f"{x = !r:>5}"; f""; f"{{}}"; f"\n{x}\t"; f"{x}" "y" f"{z}"; f"it's {x}"; f'say "{x}"'; f"""both ' and " {x["a"]}"""; f"{f'{x}'}"; f"{x:\x7b}"; f"{x!s}"; f"{x:%H:%M}"; f"{x:a{y}b{z}c}"; f"{[1 for x in y]}"; f"{ {x for x in y} }"; f"{-x}"; f"{not x}"; f"{x:{'>'}10}"; f"\\{x}"; f"\\d{x}"; f"{x}\\"; f"\N{EM DASH}"; f"{a!=b}"; f"{a<b:>5}"
while (x := f()): pass
if (x := f()) and y: pass
for x in a, b: pass
for x, in y: pass
for (x, y), z in w: pass
else: pass
while x: break
else: continue_
with a: pass
with a as b, c as d: pass
with (a, b): pass
with (a, b) as c: pass
with a as (b, c): pass
with (yield_): pass
with (a if b else c) as d: pass
with (a): pass
try: pass
except: pass
try: pass
except A: pass
except (A, B) as e: pass
else: pass
finally: pass
try: pass
finally: pass
@a
@b.c(d)
class C(A, *B, metaclass=M, **k): "doc"; x = 1
class D: pass
class E():
    """doc
    more \\ text
    """
    def f(self): pass
    x = 1
    async def g(self, *, a): await b; return (yield)
    def h(self, *args: int, **kw: str) -> int: return a, b
    def i(self): """ends with quote\""""; return *a, b
    def j(self): '''has """ inside'''
    def k(self): "tab\there"; yield a, b; yield; x = yield; x = yield y; x = yield from z; x += yield; (yield a) + 1; await_((yield)); return (yield)
    def l(self): r"""raw \d"""
    def m(self): b"bytes"
    def n(self): "a\rb"
    def o(self): ""; nonlocal_ = 1
    def p(self): "back\\"
    def q(self): '"'
    def r(self): """x
    """
if a: pass
elif b: pass
elif c: pass
else:
    if d: pass
    x = 1
if a: pass
else:
    if b: pass
async def f():
    async for x in y: pass
    else: pass
    async with a as b, c: pass
    [x async for x in y]; await x; await x ** 2; -await x; (await x).y; (await x)(); [await x for x in y]; await (a or b); await (await x); f"{await x}"
    return await x
x += 1; x -= 1; x @= y; x //= y; x **= y; x >>= y; x <<= y; x &= y; x |= y; x ^= y; x %= y; x /= y; x *= y; x += a, b
def g(a, b=1, /, c=2, *, d=3, e, **f): global x; return
def g(a, /): return not a
def g(*, a): return -1
def g(a: int = 1, *b: str, c: float = 2.0, **d: list[int]) -> "x": pass
x = [1, 2, 3, -4, 5.5, 6j, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]
