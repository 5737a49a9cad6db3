"""Whether two code objects do the same: what a decompiled file compiles to against what it was made from.

Runs in the Python that compiled them, 3.8 or later. Compared, for a code object and all that it holds: kind and
arguments, docstring, instructions with the values of their arguments, where jumps lead, the exception table. Not
compared: line numbers, NOP, widths of jumps, in which order names and constants are numbered, whether two loads are
fused or a reference is borrowed (compilers decide that by lines and by paths), and what the compiler tells a class
about its text (`__static_attributes__`, `__firstlineno__`).
"""
import dis
import sys
import types

V = sys.version_info[:2]
SKIPPED = {"NOP", "EXTENDED_ARG", "CACHE", "RESUME", "NOT_TAKEN"}
FUSED = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
SAME = {"LOAD_FAST_BORROW": "LOAD_FAST", "JUMP_BACKWARD_NO_INTERRUPT": "JUMP_BACKWARD"}
ABOUT_TEXT = ("__static_attributes__", "__firstlineno__")
# arguments, kind of function, future annotations
FLAGS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x80 | 0x100 | 0x200 | 0x1000000


def constant(value):
    """A key that tells 1, 1.0, True and -0.0 apart; code objects are compared by themselves."""
    if isinstance(value, types.CodeType):
        return ("code", value.co_name)
    if isinstance(value, tuple):
        return ("tuple",) + tuple(map(constant, value))
    if isinstance(value, frozenset):
        return ("frozenset",) + tuple(sorted(map(repr, map(constant, value))))
    if isinstance(value, slice):
        return ("slice",) + tuple(map(constant, (value.start, value.stop, value.step)))
    return (type(value).__name__, repr(value))


def docstring(code):
    """Of a function; modules and classes store theirs."""
    if code.co_flags & 3 != 3 or code.co_name.startswith("<") or not code.co_consts:
        return None
    if V >= (3, 14) and not code.co_flags & 0x4000000:
        return None
    return code.co_consts[0] if isinstance(code.co_consts[0], str) else None


def _argument(code, ins, place):
    op = ins.opcode
    if ins.opname == "END_ASYNC_FOR":
        return None  # names the SEND it belongs to
    if op in dis.hasjrel or op in dis.hasjabs:
        return ("->", place(ins.argval))
    if op in dis.hasconst or ins.opname == "LOAD_SMALL_INT":
        return constant(ins.argval)
    if op in dis.haslocal or op in dis.hasfree or op in dis.hasname or op in dis.hascompare:
        return ins.argrepr
    return ins.arg


def _places(code, instructions):
    """offset -> index among what is compared; and the index behind the last."""
    index, k = {}, 0
    for ins in instructions:
        index[ins.offset] = k
        if ins.opname not in SKIPPED:
            k += 2 if ins.opname in FUSED else 1
    size = len(code.co_code)
    index[size] = k

    def place(offset):
        while offset not in index and offset < size:
            offset += 2
        return index.get(offset, k)
    return place


def normal(code):
    """(signature, instructions, handlers) with nothing in it that depends on the layout of the text."""
    instructions = list(dis.get_instructions(code))
    place = _places(code, instructions)
    out = []
    for ins in instructions:
        if ins.opname in SKIPPED:
            continue
        if ins.opname in FUSED:
            for half, name in zip(FUSED[ins.opname], (ins.arg >> 4, ins.arg & 15)):
                out.append((half, code.co_varnames[name]))
            continue
        if ins.opname in ("STORE_NAME", "STORE_DEREF") and ins.argval in ABOUT_TEXT and out:
            out[-1] = ("LOAD_CONST", None)
        out.append((SAME.get(ins.opname, ins.opname), _argument(code, ins, place)))
    handlers = []
    for entry in dis._parse_exception_table(code) if V >= (3, 11) else ():
        row = [place(entry.start), place(entry.end), place(entry.target), entry.depth, entry.lasti]
        if row[0] == row[1]:
            continue
        if handlers and handlers[-1][1] == row[0] and handlers[-1][2:] == row[2:]:
            handlers[-1][1] = row[1]
        else:
            handlers.append(row)
    n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    signature = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames[:n],
                 code.co_flags & FLAGS, docstring(code), code.co_freevars, code.co_cellvars)
    return signature, out, handlers


def kids(code):
    return [c for c in code.co_consts if isinstance(c, types.CodeType)]


def show(code):
    """What is compared, one line each."""
    signature, instructions, handlers = normal(code)
    return (["signature %r" % (signature,)]
            + ["%-28s %s" % (name, "" if arg is None else arg) for name, arg in instructions]
            + ["handler %s" % (row,) for row in handlers])


def _reached(code):
    """The code objects that instructions load: what dead code left among the constants is not compared."""
    return [i.argval for i in dis.get_instructions(code)
            if i.opcode in dis.hasconst and isinstance(i.argval, types.CodeType)]


def first_difference(a, b, path=()):
    """None, or (qualified name, code, other code) of the first pair that differs."""
    path = path + (a.co_name,)
    if normal(a) != normal(b):
        return ".".join(path), a, b
    for x, y in zip(_reached(a), _reached(b)):
        found = first_difference(x, y, path)
        if found:
            return found
    return None


# ---- the same along every path ----

JUMPS = ("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
ENDS = ("RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "END_FINALLY_RAISE")
QUIET = {"LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "LOAD_FAST", "STORE_FAST", "POP_TOP", "COPY", "SWAP",
         "PUSH_NULL", "RETURN_VALUE", "LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS", "PUSH_EXC_INFO", "POP_EXCEPT",
         "RETURN_GENERATOR", "END_FOR", "POP_ITER", "LOAD_FAST_AND_CLEAR", "POP_BLOCK", "TEST none"}
if V >= (3, 13):
    QUIET.add("TEST bool")  # the truth of what it tests was asked before


class Graph:
    """A code object as steps: (name, argument, successors, handler, code object that is loaded)."""

    def __init__(self, code):
        instructions = list(dis.get_instructions(code))
        place = _places(code, instructions)
        self.steps, self.over, self.to, table = [], {}, {}, []
        for e in dis._parse_exception_table(code) if V >= (3, 11) else ():
            table.append((e.start, e.end, place(e.target), e.depth, e.lasti))
        split = {}  # RETURN_CONST is two steps: places behind it move
        for ins in instructions:
            if ins.opname in SKIPPED:
                continue
            handler = None
            for start, end, target, depth, lasti in table:
                if start <= ins.offset < end:
                    handler = (target, depth, lasti)
            for step in self._of(code, ins, place):
                if step[0] == "ABOUT TEXT" and self.steps:
                    self.steps[-1] = ("LOAD_CONST", None, *self.steps[-1][2:])
                split.setdefault(place(ins.offset), len(self.steps))
                self.steps.append((*step, handler))
        self.at = split
        self._store_once()
        self._keep_or_pop()
        self._lead_on()

    def _store_once(self):
        """Of two stores in one variable the first is a POP_TOP: 3.13 and later see that within a line only."""
        for i, (step, after) in enumerate(zip(self.steps, self.steps[1:])):
            if V >= (3, 13) and step[0] == after[0] == "STORE_FAST" and step[1] == after[1]:
                self.steps[i] = ("POP_TOP", None, *step[2:])

    def _keep_or_pop(self):
        """COPY; test; POP_TOP is what older compilers had an instruction for."""
        for i, step in enumerate(self.steps[:-2]):
            test = i + (2 if self.steps[i + 1][0] == "TO_BOOL" else 1)
            if step[:2] != ("COPY", 1) or test + 1 >= len(self.steps) or self.steps[test][0] != "TEST bool":
                continue
            if self.steps[test + 1][0] == "POP_TOP":
                name = "JUMP_IF_TRUE_OR_POP" if self.steps[test][2] == "yes" else "JUMP_IF_FALSE_OR_POP"
                self.steps[i] = (name, None, "both", self.steps[test][3], None, step[5])
                self.over[i] = test + 2

    def _lead_on(self):
        """A value that is kept for another test of it is not kept: compilers see that within a line only."""
        for i in range(len(self.steps) - 1, -1, -1):
            for _ in range(20):
                name, _arg, _way, target, loaded, handler = self.steps[i]
                at = self.resolve(self.at.get(target, 0)) if name.startswith("JUMP_IF_") else "loop"
                if at == "loop" or at >= len(self.steps):
                    break
                if self.steps[at][0] == "TO_BOOL" and at + 1 < len(self.steps):
                    at += 1
                other, is_true = self.steps[at], "TRUE" in name
                if other[0] == "TEST bool":
                    jumps = (other[2] == "yes") == is_true
                    self.steps[i] = ("TEST bool", None, "yes" if is_true else "no", None, loaded, handler)
                    self.to[i] = self.at.get(other[3]) if jumps else at + 1
                elif other[0] == name:
                    self.steps[i] = (name, None, "both", other[3], loaded, handler)
                    continue
                elif other[0].startswith("JUMP_IF_"):
                    self.steps[i] = ("TEST bool", None, "yes" if is_true else "no", None, loaded, handler)
                    self.to[i] = self.over.get(at, at + 1)
                break

    def next(self, i):
        return self.over.get(i, i + 1)

    def jump(self, i):
        return self.to[i] if i in self.to else self.at.get(self.steps[i][3])

    @staticmethod
    def _of(code, ins, place):
        name = ins.opname
        if name in FUSED:
            return [(half, code.co_varnames[i], "next", None, None)
                    for half, i in zip(FUSED[name], (ins.arg >> 4, ins.arg & 15))]
        if name == "RETURN_CONST":
            return [("LOAD_CONST", constant(ins.argval), "next", None, None), ("RETURN_VALUE", None, "end", None, None)]
        if name in JUMPS:
            return [("JUMP", None, "jump", place(ins.argval), None)]
        plain = name.replace("FORWARD_", "").replace("BACKWARD_", "")
        if plain.startswith("POP_JUMP_IF_"):
            about = "none" if plain.endswith("NONE") else "bool"
            jumps_if = plain in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE")
            return [("TEST " + about, None, "yes" if jumps_if else "no", place(ins.argval), None)]
        argument = _argument(code, ins, place)
        if isinstance(argument, tuple) and argument[:1] == ("->",):
            return [(name, None, "both", argument[1], None)]
        loaded = ins.argval if isinstance(ins.argval, types.CodeType) else None
        about_text = name in ("STORE_NAME", "STORE_DEREF") and ins.argval in ABOUT_TEXT
        return [("ABOUT TEXT" if about_text else SAME.get(name, name), argument, "end" if name in ENDS else "next",
                 None, loaded)]

    def resolve(self, i):
        """The first step from i on that is no jump; "loop" where there is none."""
        seen = set()
        while i < len(self.steps) and self.steps[i][0] == "JUMP":
            if i in seen:
                return "loop"
            seen.add(i)
            i = self.at.get(self.steps[i][3], len(self.steps))
        return i


def _meet(a, b, i, j, todo, codes):
    """What must hold for two steps; None if it does, or a sentence."""
    x, y = a.steps[i], b.steps[j]
    if x[0] != y[0]:
        return "%s, %s" % (x[:2], y[:2])
    following = (i + 1 < len(a.steps) and a.steps[i + 1][0] == "ABOUT TEXT")
    if x[1] != y[1] and not following:
        return "%s, %s" % (x[:2], y[:2])
    if x[4] is not None and y[4] is not None:
        codes.append((x[4], y[4]))
    if x[0] not in QUIET:
        if (x[5] is None) != (y[5] is None) or x[5] and x[5][1:] != y[5][1:]:
            return "%s is covered by another handler" % (x[:2],)
        if x[5]:
            todo.append((a.at.get(x[5][0]), b.at.get(y[5][0])))
    if x[2] == "end":
        return None
    if x[0].startswith("TEST"):
        ways = [(a.next(i), b.next(j)), (a.jump(i), b.jump(j))]
        if x[2] != y[2]:
            ways = [(a.next(i), b.jump(j)), (a.jump(i), b.next(j))]
        todo += ways
        return None
    todo.append((a.next(i), b.next(j)))
    if x[2] == "both":
        todo.append((a.jump(i), b.jump(j)))
    return None


def path_difference(a, b, path=()):
    """None if both run the same instructions along every path, whatever their layout, with the same handlers around
    them; otherwise (qualified name, what differs)."""
    path = path + (a.co_name,)
    name = ".".join(path)
    if normal(a)[0] != normal(b)[0]:
        return name, "signature %s, %s" % (normal(a)[0], normal(b)[0])
    ga, gb, codes = Graph(a), Graph(b), []
    seen, todo = set(), [(0, 0)]
    while todo:
        i, j = todo.pop()
        if i is None or j is None:
            return name, "a jump that leads nowhere"
        i, j = ga.resolve(i), gb.resolve(j)
        if (i, j) in seen:
            continue
        seen.add((i, j))
        if i == "loop" or j == "loop" or i >= len(ga.steps) or j >= len(gb.steps):
            if i != j and not (i != "loop" and j != "loop" and i >= len(ga.steps) and j >= len(gb.steps)):
                return name, "only one of them goes on"
            continue
        why = _meet(ga, gb, i, j, todo, codes)
        if why:
            return name, why
    for x, y in {(id(x), id(y)): (x, y) for x, y in codes}.values():
        found = path_difference(x, y, path)
        if found:
            return found
    return None
