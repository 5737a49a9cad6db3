"""What Python 3.14 and 3.15 changed in the grammar.

That is t-strings, `except A, B:`, lazy imports, stars in comprehensions and `case +1`. Each source is accepted by the
versions that its list says, as CPython 3.13.0, 3.14.10 and 3.15.2 said. Where these are at hand (as
PELLUCID_PYTHON_3_14 or python3.14 on the path), the trees are compared with theirs as well, printed and parsed again.
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))

SINCE_14 = [
    "t'a{x!r:>{w}}b'", "t''", "t'{x = }'", "t'{x=:3}'", "t'a' t'b'", "rt'\\d{x}'", "tr'{x}'", "Tr'{ x }'", "t'{ x }'",
    "t'{(x)  !r}'", "t'{\n x # hi\n }'", "t'{x:{y}}'", 't\'{t"{y}"}\'', 'f\'{t"{y}"}\'', "t'{yield}'",
    "match x:\n case t'a': pass", "t'{a:{b:{c}}}'", 'try:pass\nexcept A, B: pass', 'try:pass\nexcept* A, B: pass',
    'try:pass\nexcept A,: pass', 'try:pass\nexcept *A, B: pass', "t'{x=!r}'", "t'{ x = !r:>5}'", "t'{{}}{x}'",
    "x: t'a'", 't\'{"#"}\'', 't\'{"#" = }\'', "t'{x#c\n}'", 't"""{\nx\n=}"""', "t'{x!r:{y!s:>{w}}}'", "t'{a,b}'",
    "t'{*a, b}'", "t'{await x}'", "t'{(lambda x: 1)}'", "t'{ {1} }'", "t'{ {1:2}[1] }'", "t'{x:\\x41}'",
    "rt'{x:\\x41}\\d'", "t'\\N{BULLET}{x}'", 't\'{f"{y}"}\'', 't\'{t"{t\'{y}\'}"}\'', "t'{x:=5}'", "t'{(x:=5)}'",
    "t'{a if b else c}'", "t'{x!r}' t'{y}' t''", "t'a{{b}}{x}c'", "T'{x}' RT'{y}'", "tR'{x}'", "x = t'''a\n{x}\nb'''",
    "t'{'a'}'", "t'{x['a']}'", 't"{d["k"]!r:>{"1"}}"', "t'{a!=b}'", "t'{a==b}'", "t'{a=}'", "t'{a = !r}'",
    "t'{ a+b = :>{w}}'", "print(t'{x}', f'{x}')", "def f():\n  return t'{x:{y}}'", "t'ä{x}ö{y}'", "t'{ä}{x}'",
    'try: pass\nexcept (A, B), C: pass', 'try: pass\nexcept A, B,: pass', 'try: pass\nexcept (yield), B: pass',
    'try: pass\nexcept A or B, C: pass', 'try: pass\nexcept lambda: 1, C: pass', 'try: pass\nexcept* A, B,: pass',
    "x: int = t'{y}'", "f(t'{x}' for x in y)", "t'' if t'' else t''", "not t''", "t'a'.strings", "t'a'[0]", "(t'a')",
    "t'a' % b", "(t'a'\n t'b')", "def f(x=t'{y}'): pass", "@t''\ndef f(): pass", "return t'{x}'", "yield t'{x}'",
    "t'{yield x}'", "t'{x, }'", "t'{x\n}'", "t'''{x:\n}'''", "t'{x:{{}}}'", "t'{x:a{{b}}c}'", "t'{ x:{ y } }'",
    't\'{"\\"#" #c\n}\'', 't\'{"\\"#"}\'', 't\'{f"{x # c\n}"}\'', "t'{x # it\\'s\n}'", 't\'{"""#"""}\'',
    't\'{"""a"b#"""}\'', "t'{x #c\n #d\n}'", 't\'{"a" "#" # c\n}\'',
]
SINCE_15 = [
    'lazy import a', 'lazy from a import b', 'lazy from . import *', '{**a for a in b}', '[*a for a in b]',
    'f(*a for a in b)', '(*a for a in b)', '{*a for a in b}', 'lazy from a import (b, c)', '(*a for a in b)[0]',
    '{**a or b for a in b}', 'f(*a or b for a in b)', 'async def f():\n [*a async for a in b]',
    'f(*a if c else d for a in b)', '{**a if c else d for a in b}', '{**lambda: 1 for a in b}',
    'f(*lambda: 1 for a in b)', '(*a or b for a in c)', '[*(a:=b) for a in c]', 'f(*a for a in b)()',
    'f(*a for a in b if c for d in e)', '@f(*a for a in b)\ndef g(): pass', '{**a async for a in b}',
    'print(*a for a in b)', 'return (*a for a in b)', 'lambda: (*a for a in b)', 'lazy import a.b as c, d',
    'lazy from ..a.b import c as d', 'def f():\n  lazy import x', 'class A:\n  lazy from a import b',
    'if x: lazy import y', 'lazy import a; lazy import b', 'lazy\\\n import a', '[*a for a in b for c in d if e]',
    '{**a for a in b if a}', '{**{} for a in b}', '{*() for a in b}', '[*[] for a in b]', 'g(*a for a in b).x',
    'g(*a for a in b)[0]', 'x = (*a for a in b)', 'match x:\n case +1: pass', 'match x:\n case +1.5: pass',
    'match x:\n case +1j: pass', 'match x:\n case +1+1j: pass', 'match x:\n case {+1: a}: pass',
    'match x:\n case +1|-1: pass', 'match x:\n case +1-1j: pass', 'match x:\n case A(b=+1): pass',
    'match x:\n case [+1]: pass', 'match x:\n case {+1+1j: a}: pass', 'match x:\n case {+1-1j: a}: pass',
]
NEVER = [
    'lazy import', "t'a' 'b'", "f'{x}' t'b'", "ut'a'", "bt'a'", "ft'x'", 'class A(*a for a in b): pass',
    'f(**a for a in b)', 'f(x, *a for a in b)', '[*a, b for a in b]', '{*a: 1 for a in b}', '{**a: 1 for a in b}',
    'lazy from __future__ import x', 'f(a=1, *b for b in c)', 'f(*b for b in c, 1)', 'x = lazy import a',
    '[*a if b else c for a in b]', "del t''", "t'' = 1", "t'{x!z}'", "t'{}'", "t'{a b}'", "t'{lambda x: 1}'", "t'}'",
    '"a" t\'b\'', 'lazy type X = int', 'try:pass\nexcept A, B as c: pass', 'try:pass\nexcept A, *B: pass',
    "t'{x!r=}'", '[*a or b for a in c]', '{*a or b for a in c}', '{**a or b, 1:2}', '{**a if b else c}',
    '{**a, **b for a in b}', '{1:2, **b for a in b}', '{**a:=b for a in b}', '[*a:=b for a in b]',
    'f(*a:=b for a in b)', 'class A(*b for b in c):pass', 'f(*a for a in b,)', 'f(*a for a in b, c)',
    'f(x:=*a for a in b)', 'x[*a for a in b]', '(*a, b for a in c)', 'yield *a for a in b',
    'for x in *a for a in b: pass', 'f((*a) for a in b)', '[(*a) for a in b]', 'x = *a for a in b',
    "t'{\n a\n }b' 'c'", "t'{x' ", "t'{'", "t'{x!}'", "t'{x!rr}'", "t'{x:{y'", "t 'a'", "tf'a'", "tb'a'", "tt'a'",
    "rtr'a'", 'lazy lazy import a', 'lazy from a import', 'async lazy import a', '(*a or b, c)', '(*a)',
    'try: pass\nexcept* A, B as c: pass', 'try: pass\nexcept ,: pass', "'a' f'b' t'c'", "b'a' t'c'", "t'c' b'a'",
    "u'a' t'b'", "t'{x}' 'y' f'z'", "t'{x; y}'", "t'{x:\n}'", "t'{x!r:>{y}\n}'", 'lazy from __future__ import braces',
    'match x:\n case 1++1j: pass', 'match x:\n case ++1: pass', 'match x:\n case +x: pass',
    "match x:\n case +'a': pass", "f'{x:{y}\n}'",
]
ALWAYS = [
    'import a', 'lazy = 1', 'lazy\nimport a', 'lazy.x', 'f\'{"#"=}\'', 't', 't .x', 'lazy: int = 1', 'lazy(x)',
    'lazy[x]', 'match lazy:\n  case lazy: pass', 'lazy if lazy else lazy', 'import lazy', 'from lazy import lazy',
    'lazy = lazy', 'for lazy in x: pass', 'with lazy as lazy: pass', 'g(*a, *b)', 'g(*a or b, c)', '(*a, *b)',
    '(*a,)', "{**a, 'b': 1}", "{'b': 1, **a}", '{*a, b}', '{*a}', '[*a]', 'x[*a]', '[*a, *b]',
    'def f[T = int](x): pass', 'class A[*Ts = *tuple[int]]: pass', 'f\'{"\'#" = }\'', "f'{x #c\n = }'",
    'from .__future__ import braces', 'match x:\n case -1: pass', 'x=1\nfrom __future__ import zzz',
    'def f():\n  from __future__ import zzz', 'from __future__ import nested_scopes as x, generator_stop',
    '"a"\n"b"\nfrom __future__ import zzz', 'import a\nfrom __future__ import zzz',
]
UNTIL_13 = [
    "f'{x:\n}'", 'from __future__ import braces', 'from __future__ import (braces)',
    'from __future__ import braces as x', 'from __future__ import a, braces', 'from __future__ import braces, a',
    'from __future__ import *', '"a"\nfrom __future__ import zzz',
    'from __future__ import division\nfrom __future__ import zzz',
]
ACCEPTED = {**dict.fromkeys(ALWAYS, (13, 14, 15)), **dict.fromkeys(SINCE_14, (14, 15)),
            **dict.fromkeys(SINCE_15, (15,)), **dict.fromkeys(NEVER, ()), **dict.fromkeys(UNTIL_13, (13,))}
# CPython cuts the text of this field at the '#' inside its string, so that no source gives it back.
CUT = "t'{\"\"\"a\"b#\"\"\"}'"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grammar")
    made = []
    for i, source in enumerate(ACCEPTED):
        path = folder / f"source{i:03}.py"
        path.write_text(source + "\n", encoding="utf-8")
        made.append(str(path))
    return made


@pytest.mark.parametrize("minor", [13, 14, 15])
def test_a_source_is_accepted_by_its_versions(files, minor):
    done = subprocess.run([PROGRAM, "ast", "--json", "--python-version", f"3.{minor}", *files], capture_output=True,
                          text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(files)
    wrong = [source for source, row in zip(ACCEPTED, rows) if ("error" not in row) != (minor in ACCEPTED[source])]
    assert not wrong


@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_trees_are_those_of_cpython(files, version):
    python = os.environ.get("PELLUCID_PYTHON_" + version.replace(".", "_")) or shutil.which("python" + version)
    if not python:
        pytest.skip(f"there is no Python {version} here")
    done = subprocess.run([python, str(ROOT / "tools" / "check_ast.py"), "--print", "--files", *files],
                          capture_output=True, text=True, check=True, env={**os.environ, "PELLUCID": PROGRAM})
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = {pathlib.Path(row["path"]).read_text(encoding="utf-8")[:-1]: row["wrong"] for row in rows if "wrong" in row}
    assert wrong == {CUT: "printed, then it has another tree"}
    assert sum(row.get("files", 0) for row in rows) == len(files)


def test_a_template_whose_text_is_lost_is_not_printed(tmp_path):
    path = tmp_path / "cut.py"
    path.write_text(CUT + "\n", encoding="utf-8")
    done = subprocess.run([PROGRAM, "format", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode and "a t-string whose expression is not what its text says" in done.stderr


def test_networks_are_read_from_such_source(tmp_path):
    """The interpreter of scan runs what the parser reads: the sizes come out of the new constructs."""
    path = tmp_path / "net.py"
    path.write_text("""
lazy import torch
lazy from torch import nn
rows = [[4, 8], [16]]
sizes = [*row for row in rows]
seen = {*row for row in rows}
names = {**{str(n): n} for n in sizes}
last = tuple(*row for row in rows)[-1]
try:
    text = t'{sizes[0]:>{2}}x{last!r}'
except ValueError, TypeError:
    text = None
assert text.strings == ('', 'x', '') and text.values == (4, 16)
assert [(i.expression, i.conversion, i.format_spec) for i in text.interpolations] == [
    ('sizes[0]', None, '>2'), ('last', 'r', '')]
net = nn.Sequential(nn.Linear(names['4'], sizes[1]), nn.Linear(sizes[1], text.interpolations[1].value))
assert len(seen) == 3
""", encoding="utf-8")
    done = subprocess.run([PROGRAM, "scan", "--json", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["networks"][0]["state"] == {
        "0.weight": [8, 4], "0.bias": [8], "1.weight": [16, 8], "1.bias": [16]}
