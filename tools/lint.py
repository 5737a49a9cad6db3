"""Looks at the code without building it: format, layers, sizes of files and lines, leftovers.

    python tools/lint.py          says what is wrong
    python tools/lint.py --fix    formats the C files
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_FOLDERS = ("include", "src", "cli", "ext", "web", "tests", "fuzz")
LINES_MAX = 1500
COLUMNS_MAX = 120  # clang-format sees to the C files
SHAPED = "src/trace"  # where these hold:
TRACE_LINES_MAX = 800
FIELDS_MAX, PARAMETERS_MAX, FUNCTION_LINES_MAX = 20, 6, 60
UNEXPLAINED_LINES = 25  # longer functions say why
LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def c_files() -> list[pathlib.Path]:
    return [path for folder in C_FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))]


def python_files() -> list[pathlib.Path]:
    return [path for folder in ("python", "tools", "tests", "bench") for path in sorted((ROOT / folder).rglob("*.py"))]


def check_format(fix: bool) -> bool:
    if not shutil.which("clang-format"):
        print("format: skipped, clang-format is not installed here")
        return True
    names = [str(path) for path in c_files()]
    if fix:
        subprocess.run(["clang-format", "-i", *names], check=True)
        return True
    done = subprocess.run(["clang-format", "--dry-run", "--Werror", *names], capture_output=True,
                          text=True, check=False)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)))
    for name in wrong:
        print(f"format: {pathlib.Path(name).relative_to(ROOT)} (make format puts it right)")
    if not wrong:
        print(f"format: {len(names)} C files are as clang-format has them")
    return not wrong


def check_files() -> bool:
    problems = []
    for path in c_files() + python_files():
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT)
        count = text.count("\n")
        if count > LINES_MAX:
            problems.append(f"{name}: {count} lines, more than {LINES_MAX}")
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                problems.append(f"{name}:{number}: white space at the end of the line")
            if len(line) > COLUMNS_MAX and path.suffix == ".py":
                problems.append(f"{name}:{number}: {len(line)} columns, more than {COLUMNS_MAX}")
            if LEFTOVERS.search(line) and path != pathlib.Path(__file__).resolve():
                problems.append(f"{name}:{number}: leftover: {line.strip()}")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no newline at the end")
    print("\n".join(problems) if problems else "files: sizes and lines are fine, no leftovers")
    return not problems


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def count_fields(body: str) -> int:
    """Of a struct; a struct or enum inside of it is one."""
    while re.search(r"\{[^{}]*\}|\([^()]*\)", body):
        body = re.sub(r"\{[^{}]*\}|\([^()]*\)", "", body)
    return sum(1 + row.count(",") for row in body.split(";") if row.strip())


def check_type_names() -> bool:
    """A type with our prefix has one meaning in all of src."""
    homes: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"^typedef (?:struct|enum|union) (pel_\w+) \{", text, re.MULTILINE):
            homes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    problems = [f"{name} is a type in {' and in '.join(where)}" for name, where in homes.items() if len(where) > 1]
    print("\n".join(problems) if problems else f"types: {len(homes)} names, each of one type")
    return not problems


FUNCTION = re.compile(r"^[a-z][\w *]*?\b(\w+)\(([^;{}]*)\) ?(?:\{\n(.*?)^\}|;)", re.MULTILINE | re.DOTALL)


def check_shape() -> bool:
    """Sizes of files, structs and functions where a stranger must find his way."""
    problems = []
    for path in sorted((ROOT / SHAPED).rglob("*.[ch]")):
        name = path.relative_to(ROOT)
        text = without_comments(path.read_text(encoding="utf-8"))
        if text.count("\n") > TRACE_LINES_MAX:
            problems.append(f"{name}: {text.count(chr(10))} lines, more than {TRACE_LINES_MAX}")
        for found in re.finditer(r"^(?:typedef )?struct (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            fields = count_fields(found[2])
            if fields > FIELDS_MAX:
                problems.append(f"{name}: struct {found[1]} has {fields} fields, more than {FIELDS_MAX}")
        for found in FUNCTION.finditer(text):
            parameters = 1 + re.sub(r"\([^()]*\)", "", found[2]).count(",")
            lines = (found[3] or "").count("\n") + 2
            if parameters > PARAMETERS_MAX:
                problems.append(f"{name}: {found[1]} has {parameters} parameters, more than {PARAMETERS_MAX}")
            if lines > FUNCTION_LINES_MAX:
                problems.append(f"{name}: {found[1]} has {lines} lines, more than {FUNCTION_LINES_MAX}")
    print("\n".join(problems) if problems else f"shape: structs and functions of {SHAPED} are small enough")
    return not problems


def check_comments() -> bool:
    """A long function has a comment, above it or in it."""
    missing = []
    for path in sorted(path for folder in ("src", "cli", "ext") for path in (ROOT / folder).rglob("*.c")):
        text = path.read_text(encoding="utf-8")
        for found in FUNCTION.finditer(without_comments(text)):
            body = text[found.start():found.end()]
            is_explained = "/*" in body or text[:found.start()].rstrip().endswith("*/")
            if body.count("\n") + 1 > UNEXPLAINED_LINES and not is_explained:
                line = text.count("\n", 0, found.start()) + 1
                missing.append(f"{path.relative_to(ROOT)}:{line}: {found[1]} is long and says nowhere why")
    print("\n".join(missing) if missing else "comments: every long function has one")
    return not missing


def main() -> int:
    fine = check_format("--fix" in sys.argv)
    fine = check_files() and fine
    fine = check_shape() and fine
    fine = check_type_names() and fine
    fine = check_comments() and fine
    layers = subprocess.run([sys.executable, str(ROOT / "tools" / "check_layers.py")], check=False)
    return 0 if fine and layers.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
