"""Obfuscated and hand-assembled bytecode: does the decompiled program do what the bytecode does?

    python tools/fuzz_bytecode.py                              500 programs in this Python
    python tools/fuzz_bytecode.py --version 3.12 -n 10000      more, in another one
    python tools/fuzz_bytecode.py --seed 7 --only 123 --show   one program: its instructions and its text

A small program is written at random and compiled. Its functions are then changed as no compiler would: opaque
predicates, blocks in another order, jumps out of and into the middle of expressions, junk behind returns, values that
are moved on the stack and back, blocks that stand there twice, jumps that lead somewhere else. Original and decompiled
text run with the same arguments; what they return or raise and what they call in between must be the same. A text may
be marked as incomplete; one that is not, and one whose mark says that it does the same, may not be wrong.

Runs in the Python whose bytecode it makes (3.8 and later), without any package. Exit 1 if a program came out wrong.
"""
import argparse
import builtins
import collections
import dis
import importlib.util
import json
import marshal
import opcode
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
V = sys.version_info[:2]
UNIT = 2 if V >= (3, 10) else 1  # bytes that a jump counts by
MARK = "# pellucid: incomplete"
BATCH = 100
SECONDS = 0.4  # for all calls of one program
ARGUMENTS = ((0, 1, [1, 2, 3]), (3, -2, []), (5, 5, [0, 4, 0, 7]))
STATUSES = ("equal", "marked", "refused", "wrong", "broken")


# ---- programs ----

class Writer:
    """Source of one function with a name for every statement that can be written down by its grammar."""

    def __init__(self, rnd):
        self.rnd, self.lines, self.loops, self.calls = rnd, [], 0, 0

    def expr(self, depth=0):
        rnd = self.rnd
        kind = rnd.randrange(14 if depth < 3 else 4)
        deeper = lambda: self.expr(depth + 1)  # noqa: E731
        if kind < 2:
            return rnd.choice("abxyz")
        if kind == 2:
            return str(rnd.randrange(-2, 6))
        if kind == 3:
            return "len(c)"
        if kind == 4:
            return "(%s %s %s)" % (deeper(), rnd.choice(["+", "-", "*", "|", "&", "//", "%"]), deeper())
        if kind == 5:
            return "call(%d, %s)" % (self.number(), deeper())
        if kind == 6:
            return "(%s if %s else %s)" % (deeper(), self.test(depth + 1), deeper())
        if kind == 7:
            return "(%s %s %s)" % (deeper(), rnd.choice(["and", "or"]), deeper())
        if kind == 8:
            return "sum([%s, %s])" % (deeper(), deeper())
        if kind == 9:
            return "sum([v %s for v in c%s])" % (rnd.choice(["+ a", "* 2", ""]), rnd.choice(["", " if v", " if v > b"]))
        if kind == 10:
            return "c[%s]" % deeper()
        if kind == 11:
            return "obj.method(%s, k=%s)" % (deeper(), deeper())
        if kind == 12:
            return "obj.n"
        return "len('%%s %%d' %% (%s, %s))" % (deeper(), deeper()) if rnd.random() < .5 else "len(f'{%s}-{%s!r}')" % (
            deeper(), deeper())

    def number(self):
        self.calls += 1
        return self.calls

    def test(self, depth=0):
        rnd = self.rnd
        kind = rnd.randrange(6)
        if kind < 2:
            return "%s %s %s" % (self.expr(depth + 1), rnd.choice(["<", "==", ">", "!="]), self.expr(depth + 1))
        if kind == 2:
            return "call(%d, %s)" % (self.number(), self.expr(depth + 1))
        if kind == 3:
            return "%s < %s <= %s" % (self.expr(depth + 1), self.expr(depth + 1), self.expr(depth + 1))
        if kind == 4:
            return "not %s" % self.expr(depth + 1)
        return "%s is not None %s %s" % (self.expr(depth + 1), rnd.choice(["and", "or"]), self.expr(depth + 1))

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, n=None):
        for _ in range(n or self.rnd.randint(1, 3)):
            self.statement(indent)

    def statement(self, indent):
        rnd = self.rnd
        kind = rnd.randrange(20 if indent < 4 else 6)
        if kind < 3:
            self.line(indent, "%s %s %s" % (rnd.choice("xyz"), rnd.choice(["=", "=", "+=", "-="]), self.expr()))
        elif kind == 3:
            self.line(indent, "call(%d, %s)" % (self.number(), self.expr()))
        elif kind == 4:
            self.line(indent, "%s, %s = %s, %s" % (*rnd.sample("xyz", 2), self.expr(), self.expr()))
        elif kind == 5:
            end = rnd.choice(["obj.n = %s", "box[%s] = z", "return %s", "raise ValueError(%s)", "d[x] = %s",
                              "obj.n += %s"])
            self.line(indent, end % self.expr())
        elif kind < 10:
            self.line(indent, "if %s:" % self.test())
            self.block(indent + 1)
            if rnd.random() < .4:
                self.line(indent, "else:")
                self.block(indent + 1)
        elif kind < 13:
            self.loops += 1
            self.line(indent, "for x in %s:" % rnd.choice(["c", "range(3)", "list(range(a))", "(1, y)", "gen(b)"]))
            self.block(indent + 1)
            if rnd.random() < .4:
                self.line(indent + 1, "if %s:" % self.test())
                self.line(indent + 2, rnd.choice(["break", "continue", "return y"]))
            if rnd.random() < .2:
                self.line(indent, "else:")
                self.block(indent + 1, 1)
        elif kind == 13:
            name = "w%d" % self.number()
            self.line(indent, "%s = 0" % name)
            self.line(indent, "while %s < 3 and %s:" % (name, self.test()))
            self.line(indent + 1, "%s += 1" % name)
            self.block(indent + 1)
        elif kind < 17:
            self.line(indent, "try:")
            self.block(indent + 1)
            which = rnd.randrange(3)
            if which < 2:
                self.line(indent, rnd.choice(["except ValueError as e:", "except (IndexError, KeyError):",
                                              "except Exception:", "except ArithmeticError as e:"]))
                self.block(indent + 1)
                if rnd.random() < .2:
                    self.line(indent + 1, "raise")
            if which:
                self.line(indent, "finally:")
                self.block(indent + 1, 1)
        elif kind == 17:
            self.line(indent, "with manager(%s)%s:" % (self.expr(), rnd.choice(["", " as z"])))
            self.block(indent + 1)
        elif kind == 18:
            self.line(indent, "assert %s, %s" % (self.test(), self.expr()))
        else:
            self.line(indent, "def inner(p, q=%s):" % self.expr())
            self.line(indent + 1, "return p + q + %s" % rnd.choice(["a", "x", "1"]))
            self.line(indent, "z = inner(%s)" % self.expr())

    def function(self):
        generates = self.rnd.random() < .15
        self.line(0, "def f(a, b, c):")
        self.line(1, "x = y = z = 0")
        self.line(1, "d = {}")
        if self.rnd.random() < .1:
            self.line(1, "e = None")
        self.block(1, self.rnd.randint(2, 5))
        if generates:
            self.line(1, "y = yield %s" % self.expr())
            self.block(1, 1)
        self.line(1, "return %s, d" % self.expr())
        return "\n".join(self.lines) + "\n"


# ---- code as instructions with labels ----

class Ins:
    __slots__ = ("name", "arg", "to", "line", "cover")

    def __init__(self, name, arg=None, to=None, line=None, cover=None):
        self.name, self.arg, self.to, self.line, self.cover = name, arg, to, line, cover

    def copy(self):
        return Ins(self.name, self.arg, self.to, self.line, self.cover)


Cover = collections.namedtuple("Cover", "target depth lasti")
ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE",
        "JUMP_BACKWARD_NO_INTERRUPT"}
JUMP = "JUMP"  # of ours, in whatever direction


def decode(code):
    """[Ins]; a jump's target and a handler are instructions themselves."""
    found, by_offset = [], {}
    extended = []
    for i in dis.get_instructions(code):
        if i.opname == "EXTENDED_ARG":
            extended.append(i.offset)
            continue
        if i.opname == "CACHE":
            continue
        is_jump = i.opcode in dis.hasjrel or i.opcode in dis.hasjabs
        name = plain_test(i.opname) or i.opname
        ins = Ins(name, i.arg, i.argval if is_jump else None)
        found.append(ins)
        by_offset[i.offset] = ins
        for offset in extended:
            by_offset[offset] = ins
        extended = []
    table = dis._parse_exception_table(code) if V >= (3, 11) else ()
    covers = {}
    for e in table:
        key = (e.target, e.depth, e.lasti)
        covers.setdefault(key, Cover(by_offset[e.target], e.depth, e.lasti))
        for offset, ins in by_offset.items():
            if e.start <= offset < e.end:
                ins.cover = covers[key]
    for ins in found:
        if ins.to is not None:
            ins.to = by_offset[ins.to]
    return found


FLIPPED = {"POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE"}
FLIPPED.update({b: a for a, b in FLIPPED.items()})


def caches(name):
    number = opcode.opmap[name]
    table = getattr(opcode, "_inline_cache_entries", None)
    if table is None:
        return 0
    return table.get(name, 0) if isinstance(table, dict) else table[number]


def direct(ins, place):
    """The instruction's name for the direction in which it jumps; None where there is no such instruction."""
    back = place[ins.to] <= place[ins]
    if ins.name == JUMP or ins.name in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE"):
        if V >= (3, 11):
            return "JUMP_BACKWARD" if back else "JUMP_FORWARD"
        return "JUMP_ABSOLUTE"
    plain = ins.name.replace("_FORWARD_", "_").replace("_BACKWARD_", "_")
    if plain.startswith("POP_JUMP_IF") and V == (3, 11):
        return plain.replace("POP_JUMP_", "POP_JUMP_BACKWARD_" if back else "POP_JUMP_FORWARD_")
    if opcode.opmap[plain] in dis.hasjrel and back and "BACKWARD" not in plain:
        return None
    if "BACKWARD" in plain and not back:
        return None
    return plain


def legalise(code):
    """Jumps that only lead on are led there by a jump behind the code."""
    for _ in range(4):
        place = {ins: i for i, ins in enumerate(code)}
        wrong = [ins for ins in code if ins.to is not None and direct(ins, place) is None]
        if not wrong:
            return code
        for ins in wrong:
            if ins.name in ("JUMP_BACKWARD_NO_INTERRUPT", ):
                ins.name = JUMP
                continue
            hop = Ins(JUMP, None, ins.to, None, ins.cover)
            code.append(hop)
            ins.to = hop
    raise ValueError("a jump that has no form")


def assemble(code, like):
    code = legalise(list(code))
    place = {ins: i for i, ins in enumerate(code)}
    names = [direct(ins, place) if ins.to is not None else ins.name for ins in code]
    width = [1] * len(code)
    for _ in range(20):
        at, offset = [], 0
        for i, name in enumerate(names):
            at.append(offset)
            offset += 2 * (width[i] + caches(name))
        ends = [at[i] + 2 * (width[i] + caches(names[i])) for i in range(len(code))]
        args, changed = [], False
        for i, (ins, name) in enumerate(zip(code, names)):
            arg = ins.arg or 0
            if ins.to is not None:
                target = at[place[ins.to]]
                number = opcode.opmap[name]
                if number not in dis.hasjabs:
                    target = ends[i] - target if "BACKWARD" in name else target - ends[i]
                arg = target
                if arg < 0:
                    raise ValueError("jump in the wrong direction")
                arg //= UNIT
            args.append(arg)
            need = 1 + (arg > 0xff) + (arg > 0xffff)
            if need > width[i]:
                width[i], changed = need, True
        if not changed:
            break
    raw = bytearray()
    for i, name in enumerate(names):
        for extra in range(width[i] - 1, 0, -1):
            raw += bytes([opcode.opmap["EXTENDED_ARG"], args[i] >> 8 * extra & 0xff])
        raw += bytes([opcode.opmap[name], args[i] & 0xff]) + bytes(2 * caches(name))
    fields = dict(co_code=bytes(raw), co_stacksize=like.co_stacksize + 12)
    if V >= (3, 11):
        fields["co_exceptiontable"] = exception_table(code, at, ends, place)
    if V >= (3, 10):
        fields["co_linetable"] = b"" if V >= (3, 11) else bytes([254, 1] * (len(raw) // 254) + [len(raw) % 254, 1])
    else:
        fields["co_lnotab"] = b""
    return like.replace(**fields)


def exception_table(code, at, ends, place):
    out, i = bytearray(), 0

    def number(value, first):
        parts = [value & 63]
        while value > 63:
            value >>= 6
            parts.append(value & 63)
        parts.reverse()
        for k, part in enumerate(parts):
            out.append(part | (64 if k < len(parts) - 1 else 0) | (128 if first and k == 0 else 0))

    while i < len(code):
        cover, j = code[i].cover, i
        while j < len(code) and code[j].cover == cover:
            j += 1
        if cover is not None:
            number(at[i] // 2, True)
            number((ends[j - 1] - at[i]) // 2, False)
            number(at[place[cover.target]] // 2, False)
            number(cover.depth << 1 | cover.lasti, False)
        i = j
    return bytes(out)


# ---- what is on the stack ----

def stacks(code):
    """By instruction, what is on the stack before it: 'v' for a value, other letters for what is none. Instructions
    that nothing reaches have no entry. Where two ways disagree, the code is left alone."""
    found, todo = {}, [(code[0], ())]
    following = dict(zip(code, code[1:]))
    if V in ((3, 11), (3, 12)) and any(ins.name == "RETURN_GENERATOR" for ins in code):
        todo = [(code[0], ())]
    while todo:
        ins, stack = todo.pop()
        if ins in found:
            if found[ins] != stack:
                if len(found[ins]) != len(stack):
                    raise ValueError("unequal stacks")
                found[ins] = tuple(a if a == b else "?" for a, b in zip(found[ins], stack))
            continue
        found[ins] = stack
        if ins.cover:
            rest = stack[:ins.cover.depth] + (("o", ) if ins.cover.lasti else ()) + ("x", )
            todo.append((ins.cover.target, rest))
        if ins.to is not None:
            todo.append((ins.to, after(ins, stack, True)))
        if ins.name not in ENDS and ins.name != JUMP and ins in following:
            todo.append((following[ins], after(ins, stack, False)))
    return found


LETTER = {"GET_ITER": "i", "PUSH_NULL": "n", "PUSH_EXC_INFO": "x", "BEFORE_WITH": "w", "LOAD_METHOD": "m",
          "SETUP_FINALLY": "x", "SETUP_WITH": "w", "LOAD_BUILD_CLASS": "b"}


def after(ins, stack, jumps):
    if ins.name == "COPY":
        return stack + (stack[-ins.arg], )
    if ins.name == "SWAP":
        work = list(stack)
        work[-1], work[-ins.arg] = work[-ins.arg], work[-1]
        return tuple(work)
    if ins.name == JUMP:
        return stack
    number = opcode.opmap[ins.name if ins.name in opcode.opmap else ins.name.replace("_IF_", "_FORWARD_IF_")]
    arg = 0 if ins.arg == "state" else ins.arg if number >= dis.HAVE_ARGUMENT or ins.arg else None
    if V >= (3, 13) and number not in dis.hasarg:
        arg = None
    elif number >= dis.HAVE_ARGUMENT and arg is None:
        arg = 0
    effect = dis.stack_effect(number, arg, jump=jumps)
    if ins.name == "FOR_ITER":
        if jumps and V >= (3, 12):
            return stack[:-1] + ("i", "v") if V < (3, 12) else stack + ("v", )
        return stack[:-1] if jumps else stack + ("v", )
    letter = LETTER.get(ins.name, "v")
    if ins.name in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_SUPER_ATTR") and effect > 0 and ins.arg & 1 and V >= (3, 11):
        letter = "m"
    changes = ins.name not in ("NOP", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "RESUME", "POP_BLOCK",
                               "PRECALL")
    keep = len(stack) + min(effect, 0)
    if keep < 0:
        raise ValueError("stack underflow")
    left = stack[:keep]
    if effect > 0:
        if letter in "wm" or ins.name == "PUSH_EXC_INFO":
            left = left[:-1] if ins.name in ("LOAD_ATTR", "BEFORE_WITH", "PUSH_EXC_INFO", "LOAD_METHOD") else left
            return left + (letter, ) * (len(stack) + effect - len(left))
        return left + (letter, ) * effect
    if changes and left and ins.name not in ("POP_TOP", ) and not ins.name.startswith((
            "STORE_", "DELETE_", "POP_", "LIST_", "SET_", "MAP_", "DICT_", "JUMP_IF", "RERAISE", "CHECK_")):
        return left[:-1] + (letter, )
    return left


# ---- changes ----

class Mutator:
    def __init__(self, rnd, code, like):
        self.rnd, self.code = rnd, code
        self.consts, self.like = list(like.co_consts), like
        self.first = self.prologue()
        self.stacks = stacks(code)

    def prologue(self):
        """Instructions at the beginning stay where they are."""
        begin = {"MAKE_CELL", "COPY_FREE_VARS", "RETURN_GENERATOR", "RESUME", "GEN_START", "NOP", "POP_TOP"}
        for i, ins in enumerate(self.code):
            if ins.name not in begin:
                return i
        return len(self.code)

    def const(self, value):
        for i, have in enumerate(self.consts):
            if type(have) is type(value) and have == value:
                return i
        self.consts.append(value)
        return len(self.consts) - 1

    def load(self, value, cover):
        return Ins("LOAD_CONST", self.const(value), None, None, cover)

    def somewhere(self):
        """An index before which code that leaves the stack as it was may be put."""
        bound = self.bound()
        places = [i for i in range(self.first, len(self.code)) if i not in bound and self.code[i] in self.stacks]
        return self.rnd.choice(places) if places else None

    def bound(self):
        """Instructions that belong to what stands before them."""
        groups, followers = set(), {"PRECALL": 1, "KW_NAMES": 1}
        for i, ins in enumerate(self.code):
            previous = self.code[i - 1].name if i else ""
            tests = previous in ("COMPARE_OP", "TO_BOOL", "UNARY_NOT") and V >= (3, 13)
            if previous in followers or tests and ins.name.startswith("POP_JUMP"):
                groups.add(i)
            if ins.name in ("END_FOR", "SEND", "END_SEND", "RESUME", "YIELD_VALUE", "PUSH_EXC_INFO", "CLEANUP_THROW",
                            "PRECALL", "CALL", "CALL_KW", "CALL_FUNCTION", "POP_ITER", "NOT_TAKEN", "END_FINALLY",
                            "WITH_CLEANUP_START", "WITH_CLEANUP_FINISH", "LOAD_FAST_AND_CLEAR"):
                groups.add(i)
            if previous in ("END_FOR", "YIELD_VALUE", "RESUME", "LOAD_CLOSURE", "BEFORE_WITH", "SETUP_WITH",
                            "GET_YIELD_FROM_ITER", "SEND"):
                groups.add(i)
        return groups

    def insert(self, i, new):
        """Puts instructions before the i-th; jumps to that lead to the first of them, too, or they do not."""
        old = self.code[i]
        if self.rnd.random() < .7 and new:
            for ins in self.code:
                if ins.to is old:
                    ins.to = new[0]
        self.code[i:i] = new

    # each returns nothing; what can't be done is not

    def nops(self):
        i = self.somewhere()
        if i is None:
            return
        cover = self.code[i].cover
        pick = self.rnd.randrange(4)
        new = [Ins("NOP", None, None, None, cover)]
        if pick == 1:
            new = [self.load(self.rnd.randrange(9), cover), Ins("POP_TOP", None, None, None, cover)]
        stack = self.stacks[self.code[i]]
        if pick == 2 and V >= (3, 11) and len(stack) > 1 and set(stack[-2:]) == {"v"}:
            new = [Ins("SWAP", 2, None, None, cover), Ins("SWAP", 2, None, None, cover)]
        elif pick == 2 and V < (3, 11) and len(stack) > 1 and set(stack[-2:]) == {"v"}:
            new = [Ins("ROT_TWO", None, None, None, cover), Ins("ROT_TWO", None, None, None, cover)]
        elif pick == 3 and stack and stack[-1] == "v":
            new = [Ins("COPY", 1, None, None, cover) if V >= (3, 11) else Ins("DUP_TOP", None, None, None, cover),
                   Ins("POP_TOP", None, None, None, cover)]
        self.insert(i, new)

    def opaque(self):
        """A test whose answer is known, around the way on: the other way leads to junk or to anywhere that fits."""
        i = self.somewhere()
        if i is None:
            return
        here = self.code[i]
        cover = here.cover
        truth = self.rnd.random() < .5
        value = self.rnd.choice([1, "x", 2.5, (1, )]) if truth else self.rnd.choice([0, "", None])
        test = [self.load(value, cover)]
        if self.rnd.random() < .3:
            test = [self.load(7, cover), self.load(7 if truth else 8, cover)]
            test.append(Ins("COMPARE_OP", opcode_compare_eq(), None, None, cover))
        if V >= (3, 13):
            test.append(Ins("TO_BOOL", None, None, None, cover))
        if self.rnd.random() < .4:
            others = [ins for ins in self.code[self.first:] if self.stacks.get(ins) == self.stacks[here]
                      and ins.cover == cover and self.code.index(ins) not in self.bound()]
            if others:
                name = "POP_JUMP_IF_FALSE" if truth else "POP_JUMP_IF_TRUE"
                jump = Ins(name, None, self.rnd.choice(others), None, cover)
                self.insert(i, test + [jump])
                return
        junk = self.junk(cover)
        jump = Ins("POP_JUMP_IF_TRUE" if truth else "POP_JUMP_IF_FALSE", None, here, None, cover)
        self.insert(i, test + [jump] + junk)

    def junk(self, cover):
        """Instructions that end in a return or a raise."""
        new = [self.load(self.rnd.choice([1, "junk", None]), cover)]
        if self.rnd.random() < .3:
            new += [Ins("POP_TOP", None, None, None, cover), self.load(5, cover)]
        if self.rnd.random() < .6:
            new.append(Ins("RETURN_VALUE", None, None, None, cover))
        else:
            new.append(Ins("RAISE_VARARGS", 1, None, None, cover))
        return new

    def dead(self):
        """Junk behind what never goes on."""
        places = [i for i, ins in enumerate(self.code[:-1]) if ins.name in ENDS or ins.name == JUMP]
        places = [i for i in places if self.code[i + 1].name not in ("END_FOR", "END_SEND", "CLEANUP_THROW")]
        if V < (3, 9) or not places:
            return
        i = self.rnd.choice(places) + 1
        new = self.junk(self.code[i].cover if self.rnd.random() < .5 else None)
        if self.rnd.random() < .3:
            new = [self.load(3, None), Ins(JUMP, None, self.code[i], None, None)]
            if self.stacks.get(self.code[i]) != ("v", ):
                new = new[1:] if self.stacks.get(self.code[i]) == () else self.junk(None)
        self.code[i:i] = new

    def split(self):
        """A jump in the middle of whatever, to the rest of it behind all other code and back."""
        i = self.somewhere()
        if i is None or V < (3, 11):
            return
        here = self.code[i]
        if here.to is not None or here.name in ENDS or i + 1 >= len(self.code) or i + 1 in self.bound():
            return
        if self.code[i + 1].name in ("END_FOR", ):
            return
        moved = here
        there = self.code[i + 1]
        go = Ins(JUMP, None, moved, None, here.cover)
        for ins in self.code:
            if ins.to is moved and self.rnd.random() < .5:
                ins.to = go
        self.code[i] = go
        self.code += [moved, Ins(JUMP, None, there, None, here.cover)]

    def shuffle(self):
        """Blocks in another order, with jumps between them."""
        if V < (3, 11):
            return
        bound, blocks, block = self.bound(), [], []
        targets = {ins.to for ins in self.code}
        start = self.first
        for i in range(start, len(self.code)):
            ins = self.code[i]
            if block and i not in bound and (ins in targets or block[-1].name in ENDS or block[-1].to is not None
                                             or self.rnd.random() < .05):
                blocks.append(block)
                block = []
            block.append(ins)
        if block:
            blocks.append(block)
        if len(blocks) < 3:
            return
        following = {id(b): n[0] for b, n in zip(blocks, blocks[1:])}
        groups, group = [], []
        for b in blocks:  # what follows the end of a loop stays behind it
            if group and b[0].name in ("END_FOR", ):
                groups.append(group)
                group = []
            group.append(b)
            if self.rnd.random() < .6:
                groups.append(group)
                group = []
        groups += [group] if group else []
        first, rest = groups[0], groups[1:]
        self.rnd.shuffle(rest)
        out = list(self.code[:start])
        order = [b for g in [first] + rest for b in g]
        for k, b in enumerate(order):
            out += b
            last = b[-1]
            goes_on = last.name not in ENDS and last.name != JUMP
            wanted = following.get(id(b))
            actual = order[k + 1][0] if k + 1 < len(order) else None
            if goes_on and wanted is not None and wanted is not actual:
                out.append(Ins(JUMP, None, wanted, None, last.cover))
        self.code = out

    def double(self):
        """A run of instructions stands there twice; some of the jumps lead to the copy."""
        jumps = [ins for ins in self.code if ins.to is not None and ins.to in self.stacks and ins.name not in (
            "FOR_ITER", "SEND", "SETUP_FINALLY", "SETUP_WITH", "CALL_FINALLY", "SETUP_ASYNC_WITH")]
        if not jumps or V < (3, 11):
            return
        jump = self.rnd.choice(jumps)
        i, new, copies = self.code.index(jump.to), [], {}
        for ins in self.code[i:i + self.rnd.randint(1, 25)]:
            if ins.name in ("END_FOR", "SEND", "FOR_ITER", "RETURN_GENERATOR", "YIELD_VALUE", "END_SEND"):
                break
            copies[ins] = ins.copy()
            new.append(copies[ins])
        while new and self.code.index(jump.to) + len(new) in self.bound():
            new.pop()
        if not new:
            return
        k = i + len(new)
        if new[-1].name not in ENDS and new[-1].name != JUMP:
            if k >= len(self.code):
                return
            new.append(Ins(JUMP, None, self.code[k], None, new[-1].cover))
        jump.to = new[0]
        self.code += new

    def retarget(self):
        """A jump leads somewhere else where the stack is the same: another program, and its text must be that one."""
        jumps = [ins for ins in self.code if ins.to is not None and ins in self.stacks and (
            ins.name == JUMP or "JUMP" in ins.name)]
        if not jumps:
            return
        jump = self.rnd.choice(jumps)
        stack = self.stacks.get(jump.to)
        bound = self.bound()
        if stack is None or "?" in stack:
            return
        places = [ins for i, ins in enumerate(self.code) if i >= self.first and i not in bound
                  and self.stacks.get(ins) == stack and (ins.cover or None) == (jump.to.cover or None)
                  and self.same_blocks(ins, jump.to)]
        if places:
            jump.to = self.rnd.choice(places)

    def same_blocks(self, a, b):
        return V >= (3, 11) or not any(ins.name.startswith("SETUP_") for ins in self.code)

    def negate(self):
        """A test asks for the opposite and its ways are exchanged by a jump."""
        tests = [i for i, ins in enumerate(self.code[:-1]) if ins.to is not None and plain_test(ins.name)]
        if not tests or V < (3, 11):
            return
        i = self.rnd.choice(tests)
        ins = self.code[i]
        go = Ins(JUMP, None, ins.to, None, ins.cover)
        ins.name, ins.to = FLIPPED[plain_test(ins.name)], self.code[i + 1]
        self.code.insert(i + 1, go)

    def again(self):
        """A constant that is known is computed, in the middle of whatever."""
        i = self.somewhere()
        if i is None or self.code[i].name != "LOAD_CONST" or type(self.like_const(self.code[i].arg)) is not int:
            return
        value, cover = self.like_const(self.code[i].arg), self.code[i].cover
        k = self.rnd.randrange(1, 90)
        new = [self.load(value ^ k, cover), self.load(k, cover)]
        xor = ("BINARY_OP", 12) if V >= (3, 11) else ("BINARY_XOR", None)
        new.append(Ins(*xor, None, None, cover))
        old = self.code[i]
        for ins in self.code:
            if ins.to is old:
                ins.to = new[0]
        self.code[i:i + 1] = new

    def like_const(self, i):
        return self.consts[i]

    def flatten(self):
        """Blocks that begin with an empty stack and no handler are found by a number in a variable."""
        if V < (3, 11) or any(ins.name == "RETURN_GENERATOR" for ins in self.code):
            return
        bound = self.bound()
        heads = [ins for i, ins in enumerate(self.code) if i > self.first and i not in bound
                 and not self.stacks.get(ins, "?") and ins.cover is None and self.rnd.random() < .4][:8]
        if len(heads) < 2:
            return
        variable = len(self.like.co_varnames)
        asks, begin = [], None
        for number, head in enumerate(heads):
            ask = [Ins("LOAD_FAST", "state"), self.load(number, None),
                   Ins("COMPARE_OP", opcode_compare_eq(), None)]
            if V >= (3, 13):
                ask.append(Ins("TO_BOOL"))
            asks += ask + [Ins("POP_JUMP_IF_TRUE", None, head)]
            begin = begin or ask[0]
        asks += self.junk(None)
        out = list(self.code)
        for number, head in enumerate(heads):
            set_state = [self.load(number, None), Ins("STORE_FAST", "state"), Ins(JUMP, None, begin)]
            i = out.index(head)
            before = out[i - 1]
            for ins in out:
                if ins.to is head and ins not in asks and "JUMP" in ins.name and self.rnd.random() < .7:
                    ins.to = set_state[0]
            if before.name in ENDS or before.name == JUMP:
                asks += set_state
            else:
                out[i:i] = set_state
        self.code = out + asks
        self.state_at = variable

    state_at = None
    ALL = ("nops", "opaque", "opaque", "dead", "split", "shuffle", "double", "negate", "again", "flatten")


def plain_test(name):
    plain = name.replace("_FORWARD_", "_").replace("_BACKWARD_", "_")
    return plain if plain in FLIPPED else ""


def opcode_compare_eq():
    number = dis.cmp_op.index("==")
    equals = 8  # what the specialised instruction asks for
    return number if V < (3, 12) else number << (4 if V < (3, 13) else 5) | equals


def add_variable(like, code, consts):
    """A variable for the state; cells and free variables move up by one where they are numbered with the others."""
    varnames = like.co_varnames + ("__state", )
    at = len(like.co_varnames)
    for ins in code:
        number = opcode.opmap.get(ins.name)
        if ins.arg == "state":
            ins.arg = at
        elif number is not None and isinstance(ins.arg, int) and not fused(ins.name) and (
                number in dis.hasfree or number in dis.haslocal):
            ins.arg += ins.arg >= at
        elif ins.name == "MAKE_CELL":
            ins.arg += ins.arg >= at
    return like.replace(co_varnames=varnames, co_nlocals=like.co_nlocals + 1)


def fused(name):
    return name.count("_FAST") == 2 and "CLEAR" not in name


def split_fused(code):
    """Two loads in one instruction are two."""
    out, first = [], {}
    for ins in code:
        if fused(ins.name) and V >= (3, 13):
            one, two = {"LOAD_FAST_LOAD_FAST": ("LOAD_FAST", ) * 2, "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
                        "STORE_FAST_STORE_FAST": ("STORE_FAST", ) * 2}.get(ins.name, (None, None))
            if one:
                second = Ins(two, ins.arg & 15, None, None, ins.cover)
                ins.name, ins.arg = one, ins.arg >> 4
                out += [ins, second]
                continue
        out.append(ins)
    del first
    return out


def checked(code):
    """Loads that are sure of a value ask again: jumps may lead past the store."""
    if V >= (3, 12):
        for ins in code:
            if ins.name == "LOAD_FAST":
                ins.name = "LOAD_FAST_CHECK"


def make(seed, number):
    """(source, changed code of f, names of the changes); None if this one can't be changed."""
    rnd = random.Random("%s/%s" % (seed, number))
    for _ in range(50):
        source = Writer(rnd).function()
        try:
            module = compile(source, "p", "exec")
            break
        except (SyntaxError, RecursionError):
            continue
    else:
        return None
    like = [c for c in module.co_consts if isinstance(c, types.CodeType)][0]
    done = []
    try:
        code = split_fused(decode(like))
        mutator = Mutator(rnd, code, like)
        for _ in range(rnd.choice([1, 1, 2, 3, 5, 8, 12])):
            name = rnd.choice(Mutator.ALL if rnd.random() < .85 else ("retarget", ))
            if name == "flatten" and "flatten" in done:
                continue
            if name == "retarget":
                checked(mutator.code)
            getattr(mutator, name)()
            done.append(name)
            mutator.stacks = stacks(mutator.code)
        if mutator.state_at is not None:
            checked(mutator.code)
            like = add_variable(like, mutator.code, mutator.consts)
        like = like.replace(co_consts=tuple(mutator.consts))
        return source, assemble(mutator.code, like), done
    except (ValueError, KeyError, IndexError):
        return None


# ---- running ----

class Obj:
    def __init__(self, log):
        self.n, self.log = 2, log

    def method(self, p, k):
        self.log.append(("method", repr(p)[:200], repr(k)[:200]))
        return 1 if p else 0


class Box:
    def __init__(self, log):
        self.log = log

    def __setitem__(self, key, value):
        self.log.append(("set", repr(key)[:200], repr(value)[:200]))


class Manager:
    def __init__(self, log, value):
        self.log, self.value = log, value

    def __enter__(self):
        self.log.append("enter")
        return 3

    def __exit__(self, kind, error, where):
        self.log.append(("exit", kind and kind.__name__))
        return bool(self.value) and kind is not None and issubclass(kind, ArithmeticError)


class Done(BaseException):
    pass


def world(log):
    def call(number, value):
        log.append((number, repr(value)[:200], repr(sys.exc_info()[0])))
        if len(log) > 400:
            raise Done
        if value == 3:
            raise ValueError(number)
        return value

    def gen(n):
        for i in range(3):
            log.append(("gen", i))
            yield i

    return {"call": call, "gen": gen, "obj": Obj(log), "box": Box(log), "manager": lambda value: Manager(log, value),
            "__name__": "p", "__builtins__": builtins}


def chain(error):
    """An exception with what it was raised from; names of variables are left out of it."""
    seen = []
    while error is not None and len(seen) < 5:
        text = repr(error)[:200]
        if isinstance(error, (NameError, TypeError, RecursionError)):
            text = type(error).__name__
        seen.append((text, repr(error.__cause__)[:99] if not isinstance(error.__cause__, NameError) else ""))
        error = error.__context__
    return seen


def call_all(define):
    """What comes of the calls, as text. define(world) gives the function."""
    out = []
    for arguments in ARGUMENTS:
        log = []
        try:
            f = define(world(log))
            a, b, c = arguments
            result = f(a, b, list(c))
            if isinstance(result, types.GeneratorType):
                items = [next(result)]
                items.append(result.send(5))
                result = items
            out.append(("returned", repr(result)[:400]))
        except Done:
            out.append("endless")
        except StopIteration as error:
            out.append(("stopped", repr(error.value)[:400]))
        except Exception as error:
            out.append(("raised", chain(error)))
        out.append(log)
    return repr(out)


def in_child(work):
    """What work() gives, of a process of its own; None if it died or took too long."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        done = 1
        try:  # nothing may come back into the parent's code
            os.close(read)
            signal.setitimer(signal.ITIMER_REAL, 5)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(write, "wb") as file:
                file.write(work().encode("utf8", "replace"))
            done = 0
        finally:
            os._exit(done)
    os.close(write)
    data = b""
    with os.fdopen(read, "rb") as file:
        data = file.read()
    status = os.waitpid(child, 0)[1]
    return data.decode("utf8", "replace") if status == 0 else None


def from_code(code):
    return lambda names: types.FunctionType(code, names, "f")


def from_text(text):
    def define(names):
        exec(compile(text, "text", "exec"), names)
        return names["f"]
    return define


def pyc_of(code):
    """A module that defines f, whose code is this."""
    module = compile("def f(a, b, c):\n    pass\n", "p", "exec")
    consts = tuple(code if isinstance(c, types.CodeType) else c for c in module.co_consts)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(module.replace(co_consts=consts))


def judge(expected, text):
    """(status, explanation)"""
    marked = MARK in text
    try:
        compile(text, "text", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return "broken", "%s: %s" % (type(error).__name__, error)
    if marked and "which does the same" not in text:
        return "refused", ""
    got = in_child(lambda: call_all(from_text(text)))
    if got == expected:
        return ("marked" if marked else "equal"), ""
    if got is None and marked:
        return "marked", "slow"
    return "wrong", "%s\n%s" % (expected[:3000], (got or "died or took too long")[:3000])


def run(binary, seed, numbers, keep=None, show=False):
    """One row per program that could be made and run: number, status, changes, explanation."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        made = {}
        for number in numbers:
            program = make(seed, number)
            if not program:
                continue
            source, code, changes = program
            expected = in_child(lambda: call_all(from_code(code)))
            if show:
                print(source)
                dis.dis(code)
                print(expected)
            if expected is None or "endless" in expected:
                continue
            made[number] = (expected, changes)
            (folder / ("%d.pyc" % number)).write_bytes(pyc_of(code))
        pycs = [str(folder / ("%d.pyc" % number)) for number in made]
        for i in range(0, len(pycs), BATCH):
            subprocess.run([binary, "decompile", "-o", str(folder)] + pycs[i:i + BATCH], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=600)
        for number, (expected, changes) in made.items():
            path = folder / ("%d.py" % number)
            if path.exists():
                text = path.read_text(encoding="utf8", errors="surrogatepass")
                status, why = judge(expected, text)
            else:
                text, status, why = "", "broken", "no output"
            if show:
                print(text)
            rows.append([number, status, changes, why])
    return rows


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=500)
    parser.add_argument("--from", dest="start", type=int, default=0, help="number of the first program")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--version", help="runs in this Python instead")
    parser.add_argument("--only", type=int)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--keep", help="keep .pyc files and texts in this folder")
    parser.add_argument("--json", action="store_true", help="one row per program")
    parser.add_argument("--bin", default=os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid")))
    args = parser.parse_args()
    if args.version and args.version != "%d.%d" % V:
        sys.path.insert(0, str(ROOT / "bench"))
        import roundtrip
        python = roundtrip.python_for(args.version)
        if not python:
            sys.exit("skipped: no Python %s on this machine" % args.version)
        rest = [a for i, a in enumerate(sys.argv) if i and a != "--version" and sys.argv[i - 1] != "--version"]
        sys.exit(subprocess.run([python, __file__] + rest, env=dict(os.environ, PYTHONPATH="")).returncode)
    numbers = [args.only] if args.only is not None else range(args.start, args.start + args.n)
    counts = collections.Counter()
    for i in range(0, len(numbers), BATCH):
        for row in run(args.bin, args.seed, numbers[i:i + BATCH], args.keep, args.show):
            counts[row[1]] += 1
            if args.json:
                print(json.dumps(row), flush=True)
            elif row[1] in ("wrong", "broken"):
                print("%s: program %d (%s)\n%s\n" % (row[1], row[0], " ".join(row[2]), row[3]), flush=True)
    print("%d.%d: %d programs: %s" % (*V, sum(counts.values()), ", ".join(
        "%s %d" % (status, counts[status]) for status in STATUSES)))
    sys.exit(1 if counts["wrong"] or counts["broken"] else 0)


if __name__ == "__main__":
    main()
