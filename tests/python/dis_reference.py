"""Run by each Python: writes a sample of its standard library as .pyc files, and what its own `dis` says of them as
JSON.

    python3.X dis_reference.py FOLDER N
    python3.X dis_reference.py SOURCE.py CASE.pyc    the same for one file, which is written as CASE.pyc
"""
import dis
import importlib.util
import json
import marshal
import os
import random
import sys
import types

VERSION = sys.version_info[:2]


def lines_of(code):
    if VERSION >= (3, 10):
        return {offset: line or 0 for start, end, line in code.co_lines() for offset in range(start, end, 2)}
    lines, line, starts = {}, 0, dict(dis.findlinestarts(code))
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        lines[offset] = line
    return lines


def describe(code):
    lines = lines_of(code)
    positions = [list(p) for p in code.co_positions()] if VERSION >= (3, 11) else None
    rows, first = [], None
    for i in dis.get_instructions(code):
        first = i.offset if first is None else first
        if i.opname == "EXTENDED_ARG":
            continue
        jumps = i.opcode in dis.hasjrel or i.opcode in dis.hasjabs
        if i.opname == "END_ASYNC_FOR":  # since 3.14 it names the SEND of its loop, and jumps nowhere
            jumps = False
        rows.append([first, i.opname, i.arg or 0, i.argval if jumps else None, lines[first],
                     positions[first // 2] if positions else None])
        first = None
    handlers = []
    if VERSION >= (3, 11):
        handlers = [[e.start, e.end, e.target, e.depth, e.lasti] for e in dis._parse_exception_table(code)]
    return {"name": code.co_name, "rows": rows, "handlers": handlers, "stacksize": code.co_stacksize,
            "varnames": code.co_varnames, "cellvars": code.co_cellvars, "freevars": code.co_freevars,
            "code": [describe(c) for c in code.co_consts if isinstance(c, types.CodeType)]}


def main(folder, n):
    library = os.path.dirname(os.__file__)
    sources = sorted(os.path.join(root, name) for root, _, names in os.walk(library) for name in names
                     if name.endswith(".py") and "test" not in root and "site-packages" not in root)
    random.Random(1).shuffle(sources)
    result = {}
    for source in sources:
        if len(result) == n:
            break
        with open(source, "rb") as file:
            text = file.read()
        try:
            code = compile(text, "case.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        path = os.path.join(folder, "%d.pyc" % len(result))
        with open(path, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        result[path] = describe(code)
    json.dump(result, sys.stdout)


def one(source, path):
    with open(source, "rb") as file:
        code = compile(file.read(), os.path.basename(source), "exec", dont_inherit=True)
    with open(path, "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    json.dump(describe(code), sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    if sys.argv[2].endswith(".pyc"):
        one(sys.argv[1], sys.argv[2])
    else:
        main(sys.argv[1], int(sys.argv[2]))
