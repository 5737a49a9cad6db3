"""`pellucid sketch -- python SCRIPT.py`: what is cut, that the rest runs, and that it says where it can't go on."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import pytest
from pellucid._cut import Names, Run, cut_all
from pellucid._sketch_script import sketch_script
from pellucid._specs import SpecError

LIBRARY = '''
import json
import math
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from collections import OrderedDict

try:
    import a_package_that_is_not_there
except ImportError:
    a_package_that_is_not_there = None


class Base:
    def area(self):
        return 0

    def __len__(self):
        return 3


class Square(Base):
    def __init__(self, side, unit: Optional[str] = None, *, scale=None):
        self.side = side
        if unit is not None:
            self.side *= 2
        # a comment that stays

        if scale == "large":
            self.side *= 10
        elif scale is None:
            self.text = """first
    second"""
        else:
            raise ValueError(scale)

    def area(self):
        return self.side ** 2

    def perimeter(self):
        return 4 * self.side

    def grown(self, by):
        total = 0
        for i in range(by):
            if i % 2:
                total += i
            else:
                total -= self.side
        else:
            total += 1
        if total > 1000:
            return json.dumps(total)
        try:
            return total
        except ValueError:
            return 0


class Circle(Base):
    def area(self):
        return math.pi


def never(x):
    return math.sqrt(x)
'''
SCRIPT = '''
import sys
import shapes
from shapes import Circle, Square


def other():
    return Circle()


def main():
    square = Square(int(sys.argv[1]))
    print(square.area(), square.grown(3), square.text)
    if len(sys.argv) > 2:
        print(square.perimeter(), Circle().area())
        if sys.argv[2] == "no":
            return
    print("done")


if __name__ == "__main__":
    main()
'''


@pytest.fixture
def script(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "shapes.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text(SCRIPT)
    return tmp_path / "main.py"


def run(path: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, check=False)


def test_the_sketch_does_the_same_and_is_short(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = sketch_script(str(script), ["3"], str(tmp_path / "out"))
    assert made.same and made.cuts.startswith("parameters"), made
    text = (tmp_path / "out" / "shapes.py").read_text()
    for gone in ("math", "json", "TYPE_CHECKING", "OrderedDict", "never", "unit", "elif", "scale", "except ValueError"):
        assert gone not in text, f"{gone} in\n{text}"
    for kept in ("a_package_that_is_not_there", "# a comment that stays", '"""first\n    second"""', "def __len__",
                 "assert not total > 1000" if "assert not total" in text else "assert not (total > 1000)"):
        assert kept in text, f"{kept} not in\n{text}"
    main = (tmp_path / "out" / "main.py").read_text()
    assert "other" not in main and "import shapes\n" not in main, main
    assert run(tmp_path / "out" / "main.py", "3").stdout == run(script, "3").stdout
    assert run(tmp_path / "out" / "main.py", "5").stdout == run(script, "5").stdout


def test_what_did_not_run_raises(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    sketch_script(str(script), ["3"], str(tmp_path / "out"))
    again = run(tmp_path / "out" / "main.py", "3", "more")
    assert again.returncode and "AssertionError" in again.stderr, again


def test_overridden_methods_stay(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Without Circle.area the base's would answer."""
    script.write_text(SCRIPT.replace("print(square.area()", "print(len(square), Circle, square.area()"))
    made = sketch_script(str(script), ["3"], str(tmp_path / "out"))
    assert made.same, made
    text = (tmp_path / "out" / "shapes.py").read_text()
    assert "class Circle(Base):\n    def area(self):\n        raise NotImplementedError" in text, text


def test_workers_count(tmp_path: pathlib.Path) -> None:
    (tmp_path / "work.py").write_text(textwrap.dedent('''
        import multiprocessing


        def twice(x):
            if x > 1:
                return 2 * x
            return x


        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(twice, [1, 2, 3]))
                pool.close()
                pool.join()
        '''))
    made = sketch_script(str(tmp_path / "work.py"), [], str(tmp_path / "out"))
    assert made.same, made
    assert "2 * x" in (tmp_path / "out" / "work.py").read_text()


def test_parameters_that_are_given_by_position(tmp_path: pathlib.Path) -> None:
    """That None was given, and not left out, shows when the sketch runs: less is cut then."""
    (tmp_path / "given.py").write_text("def f(x, mode=None):\n    return x\n\n\nprint(f(1, None))\n")
    made = sketch_script(str(tmp_path / "given.py"), [], str(tmp_path / "out"))
    assert made.same and made.notes and not made.cuts.startswith("parameters"), made
    assert "mode=None" in (tmp_path / "out" / "given.py").read_text()


def test_scripts_that_print_something_else_each_time(tmp_path: pathlib.Path) -> None:
    (tmp_path / "clock.py").write_text("import time\nprint(time.perf_counter_ns())\n")
    made = sketch_script(str(tmp_path / "clock.py"), [], str(tmp_path / "out"))
    assert made.same is None and "each time" in made.detail


def test_a_script_that_fails_stays_one(tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.py").write_text("import json\nprint(1)\nraise SystemExit(3)\nprint(2)\n")
    made = sketch_script(str(tmp_path / "bad.py"), [], str(tmp_path / "out"))
    assert made.same, made
    assert (tmp_path / "out" / "bad.py").read_text() == "print(1)\nraise SystemExit(3)\n"


def test_no_package_of_that_name(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(SpecError, match="no package of that name"):
        sketch_script(str(script), ["3"], str(tmp_path / "out"), ["there_is_no_such_package"])


def test_branches() -> None:
    source = ("def f(a):\n    if a == 1:\n        x = 1\n    elif a == 2:\n        x = 2\n    elif a == 3:\n"
              "        x = 3\n    else:\n        x = 4\n    while x:\n        x -= 1\n    else:\n        x = 9\n"
              "    return x\n\n\nf(1)\nf(4)\n")
    lines = {1, 2, 3, 4, 6, 9, 10, 11, 13, 14, 17, 18}
    text = cut_all({"a.py": source}, {"a.py": Run(lines)})["a.py"]
    assert text == ("def f(a):\n    if a == 1:\n        x = 1\n    else:\n        assert not (a == 2)\n"
                    "        assert not (a == 3)\n        x = 4\n    while x:\n        x -= 1\n    else:\n"
                    "        x = 9\n    return x\n\n\nf(1)\nf(4)\n"), text


def test_names() -> None:
    names = Names()
    names.note("a.py", "from b import f\n__all__ = ['g']\nprint(x.attribute)\n")
    assert names.asked("a.py", "g") and names.asked_by_others("b.py", "f") and not names.asked("a.py", "h")
