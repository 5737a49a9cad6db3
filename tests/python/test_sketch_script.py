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


def test_the_script_is_not_written_over(tmp_path: pathlib.Path) -> None:
    text = "import json\nprint(1)\n"
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(SpecError, match="would be written over"):
        sketch_script(str(tmp_path / "own.py"), [], str(tmp_path))
    assert (tmp_path / "own.py").read_text() == text


def test_modules_that_the_script_finds_by_a_path_of_its_own(tmp_path: pathlib.Path) -> None:
    """The sketch then runs the originals: that it prints the same says nothing of what was cut."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "far.py").write_text("def f():\n    return 5\n")
    (tmp_path / "near.py").write_text(f"import sys\nsys.path.insert(0, {str(tmp_path / 'lib')!r})\nimport far\n"
                                      "print(far.f())\n")
    made = sketch_script(str(tmp_path / "near.py"), [], str(tmp_path / "out"))
    assert made.same is None and "far.py itself" in made.detail, made


def test_each_run_gets_the_same_input(tmp_path: pathlib.Path) -> None:
    (tmp_path / "loud.py").write_text("import sys\nfor line in sys.stdin:\n    print(line.upper())\n")
    (tmp_path / "in.txt").write_text("a\nb\n")
    command = [sys.executable, "-c", "import sys; from pellucid._sketch_script import sketch_script as s; "
               "print(s(sys.argv[1], [], sys.argv[2]).same)", str(tmp_path / "loud.py"), str(tmp_path / "out")]
    with open(tmp_path / "in.txt", encoding="utf-8") as file:
        said = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True).stdout
    assert said.endswith("True\n"), said
    said = subprocess.run([command[0], "-c", command[2].replace(".same", ".detail"), *command[3:]], input="a\nb\n",
                          capture_output=True, text=True, check=True).stdout
    assert "can be read once" in said


def test_scripts_that_change_their_directory(tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "moves.py").write_text("import os\nos.chdir('other')\n\n\ndef f(x):\n    if x:\n        return 1\n"
                                       "    return 2\n\n\nprint(f(3))\n")
    command = [sys.executable, "-c", "from pellucid._sketch_script import sketch_script as s; "
               "print(s('moves.py', [], 'out').same)"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.endswith("True\n"), said
    assert "return 2" not in (tmp_path / "out" / "moves.py").read_text()


def test_a_script_that_ends_without_its_last_steps(tmp_path: pathlib.Path) -> None:
    (tmp_path / "gone.py").write_text("import os\nos._exit(5)\n")
    with pytest.raises(SpecError, match="exit code 5.*os._exit"):
        sketch_script(str(tmp_path / "gone.py"), [], str(tmp_path / "out"))


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
