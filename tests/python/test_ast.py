"""The parser beside CPython's own: the same trees, the same files refused. tools/check_ast.py has the whole corpora."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import unicodedata

import pytest
from conftest import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_ast  # noqa: E402

SNIPPETS = (ROOT / "tests" / "data" / "snippets.txt").read_bytes().split(b"\n----\n")


def compare(python: str, paths: list[pathlib.Path]) -> list[str]:
    """What check_ast.py says against the files, in that Python."""
    command = [python, str(ROOT / "tools" / "check_ast.py"), "--worker"]
    done = subprocess.run(
        command,
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PELLUCID": PROGRAM},
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(row.get("files", 0) for row in rows) == len(paths)
    return [f"{row['path']}: {row['wrong']}" for row in rows if "wrong" in row]


@pytest.mark.parametrize("version", check_ast.VERSIONS)
def test_snippets(version: str, tmp_path: pathlib.Path) -> None:
    python = check_ast.interpreter(version)
    if not python:
        pytest.skip(f"no Python {version} here")
    paths = []
    for i, snippet in enumerate(SNIPPETS):
        paths.append(tmp_path / f"{i}.py")
        paths[-1].write_bytes(snippet)
    wrong = compare(python, paths)
    assert not wrong, "\n".join(wrong)


def test_a_sample_of_the_standard_library() -> None:
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)
    wrong = compare(sys.executable, paths[::40])
    assert not wrong, "\n".join(wrong)


def test_the_comparison_can_fail(tmp_path: pathlib.Path) -> None:
    """A checker that agrees with everything would pass all of the above."""
    tree = check_ast.ast.parse("x = f(1)")
    found = json.loads(check_ast.run(["ast", "--json"], [str(write(tmp_path, b"x = f(1)"))]))
    check_ast.compare(tree, found, "")
    for other in (b"x = f(2)", b"x = f( 1)", b"x = g(1)", b"x = f(1, 2)", b"x: f(1)"):
        found = json.loads(check_ast.run(["ast", "--json"], [str(write(tmp_path, other))]))
        with pytest.raises(check_ast.Difference):
            check_ast.compare(tree, found, "")


def write(folder: pathlib.Path, source: bytes) -> pathlib.Path:
    path = folder / "x.py"
    path.write_bytes(source)
    return path


def values(pellucid, source: str, version: str = "3.13") -> list[str]:
    """The reprs of the constants that are statements of their own."""
    result = pellucid("ast", "--json", "--python-version", version, "-", input=source.encode())
    assert result.code == 0, result.err
    return [statement["value"]["value"]["v"] for statement in json.loads(result.out)["body"]]


def test_names_of_characters(pellucid) -> None:
    """Every 50th named character, all through one file; and what only looks like a name."""
    points = [point for point in range(0, 0x110000, 50) if unicodedata.name(chr(point), "")]
    source = "".join(f"'\\N{{{unicodedata.name(chr(point))}}}'\n" for point in points)
    found = [eval(value) for value in values(pellucid, source)]
    assert found == [chr(point) for point in points] and len(points) > 2000
    for name in ("", " ", "LATIN", "LATIN SMALL LETTER A ", "HANGUL SYLLABLE", "CJK UNIFIED IDEOGRAPH-0041", "A" * 500):
        assert pellucid("ast", "-q", "-", input=f"'\\N{{{name}}}'".encode()).code == 2


def test_identifiers_are_normalised(pellucid) -> None:
    names = ["ﬁnd", "𝐱𝟏", "Å", "가각", "ｘ", "ǆ", "x\u0323\u0307", "x\u0307\u0323", "ſ", "ⅷ"]
    for name in names:
        result = pellucid("ast", "--json", "-", input=name.encode())
        assert json.loads(result.out)["body"][0]["value"]["id"] == unicodedata.normalize("NFKC", name)


def test_a_version_escapes_what_it_does_not_know(pellucid) -> None:
    source = "'\U0001fae8'"  # SHAKING FACE, of Unicode 15: unknown to Python 3.11
    assert values(pellucid, source, "3.11") == ["'\\U0001fae8'"]
    assert values(pellucid, source, "3.12") == ["'\U0001fae8'"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "koi8-r", "shift_jis", "euc_jp", "gb2312",
                                      "big5", "mac-roman"])
def test_encodings(encoding: str, pellucid) -> None:
    text = {"koi8-r": "привет", "shift_jis": "日本", "euc_jp": "日本", "gb2312": "中文", "big5": "中文"}.get(encoding, "é")
    source = f"# -*- coding: {encoding} -*-\n'{text}'\n".encode(encoding)
    result = pellucid("ast", "--json", "-", input=source)
    assert json.loads(result.out)["body"][0]["value"]["value"]["v"] == repr(text)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_line_ends(ends: bytes, pellucid) -> None:
    source = ends.join([b"x = 1", b"y = '''a", b"b'''", b"z = $", b""])
    result = pellucid("ast", "--json", "-", input=source)
    error = json.loads(result.out)["error"]
    assert (error["line"], error["column"], error["offset"]) == (4, 5, source.index(b"$"))
    body = json.loads(pellucid("ast", "--json", "-", input=source.replace(b"$", b"2")).out)["body"]
    assert body[1]["value"]["value"]["v"] == repr("a\nb")
    assert [statement["lineno"] for statement in body] == [1, 2, 4]


def test_exception_types_without_parentheses_since_3_14() -> None:
    api = pytest.importorskip("pellucid", reason="needs the extension")
    source = "try:\n    f()\nexcept A, B.c:\n    pass\n"
    assert "except (A, B.c):" in api.format(code=source, python_version="3.14")
    for version, text in (("3.13", source), ("3.14", source.replace(":\n    pass", " as e:\n    pass"))):
        with pytest.raises(api.Error, match="must be parenthesized"):
            api.format(code=text, python_version=version)
