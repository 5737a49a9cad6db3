#!/usr/bin/env python3
"""Drafts data/opcodes/3.X.tsv from the running interpreter (3.8 or later).

    python3.X tools/dump_opcodes.py > data/opcodes/3.X.tsv

Columns: code, name, pop, effect, jump effect, caches, argument kind.

`pop` is how many values the instruction reads from the stack, `effect` what it adds to the depth when execution goes on
behind it, `jump effect` the same when it jumps (`-`: it does not jump, or the effect is the same). These are small sums
of an integer and at most one term: n (the argument), 2n, odd (its lowest bit), lohi (low byte plus the rest), flags
(how many of its lowest four bits are set), three (1 if it is 3), spec (1 if bit 2 is set and bit 3 is not). `dis` tells
the effects; it does not tell `pop`, which POPS below lists. A name that is in neither POPS nor EFFECT_SAYS is refused,
and so is a row that would push less than nothing. FIXES has what `dis` of a version says wrongly for our purpose.
"""
import dis
import opcode
import sys

VERSION = sys.version_info[:2]
SAMPLES = list(range(9)) + [0x10, 0x100, 0x101, 0x203]
TERMS = {
    "": lambda n: 0,
    "n": lambda n: n,
    "2n": lambda n: 2 * n,
    "odd": lambda n: n & 1,
    "lohi": lambda n: (n & 255) + (n >> 8),
    "flags": lambda n: bin(n & 15).count("1"),
    "three": lambda n: int(n == 3),
    "spec": lambda n: int(n & 12 == 4),
}

# Values read, by opcode name; where a Python differs, (since, expression) pairs, oldest first.
POPS = {
    "BEFORE_ASYNC_WITH": "1", "BEFORE_WITH": "1", "CALL_INTRINSIC_1": "1", "CALL_INTRINSIC_2": "2",
    "CHECK_EG_MATCH": "2", "CHECK_EXC_MATCH": "2", "CLEANUP_THROW": "3", "COPY": "n", "COPY_DICT_WITHOUT_KEYS": "2",
    "DICT_MERGE": "1+n", "DICT_UPDATE": "1+n", "DUP_TOP": "1", "DUP_TOP_TWO": "2",
    "END_ASYNC_FOR": [(8, "7"), (11, "2")],
    "END_SEND": [(11, "2"), (15, "3")], "EXIT_INIT_CHECK": "1", "FORMAT_SIMPLE": "1", "FORMAT_VALUE": "1+spec",
    "FORMAT_WITH_SPEC": "2",
    "FOR_ITER": [(8, "1"), (15, "2")], "GEN_START": "1", "GET_AITER": "1", "GET_ANEXT": "1", "GET_AWAITABLE": "1",
    "GET_ITER": "1",
    "GET_LEN": "1", "GET_YIELD_FROM_ITER": "1", "IMPORT_FROM": "1", "IMPORT_NAME": "2", "IMPORT_STAR": "1",
    "JUMP_IF_FALSE_OR_POP": "1", "JUMP_IF_TRUE_OR_POP": "1", "LIST_APPEND": "1+n", "LIST_EXTEND": "1+n",
    "LIST_TO_TUPLE": "1", "LOAD_ATTR": "1", "LOAD_METHOD": "1", "LOAD_FROM_DICT_OR_DEREF": "1",
    "LOAD_FROM_DICT_OR_GLOBALS": "1", "MAP_ADD": "2+n", "MATCH_CLASS": "3", "MATCH_KEYS": "2", "MATCH_MAPPING": "1",
    "MATCH_SEQUENCE": "1", "PREP_RERAISE_STAR": "2", "PUSH_EXC_INFO": "1", "RERAISE": [(9, "3"), (11, "1")],
    "RETURN_GENERATOR": "0", "ROT_TWO": "2", "ROT_THREE": "3", "ROT_FOUR": "4", "ROT_N": "n",
    "SEND": [(11, "2"), (15, "3")],
    "SETUP_ASYNC_WITH": "1", "SETUP_WITH": "1", "SET_ADD": "1+n", "SET_UPDATE": "1+n", "SWAP": "n", "TO_BOOL": "1",
    "UNARY_INVERT": "1", "UNARY_NEGATIVE": "1", "UNARY_NOT": "1", "UNARY_POSITIVE": "1", "UNPACK_EX": "1",
    "UNPACK_SEQUENCE": "1", "WITH_CLEANUP_START": "7", "WITH_CLEANUP_FINISH": "1",
    "WITH_EXCEPT_START": [(9, "7"), (11, "4")],
    "YIELD_FROM": "2", "YIELD_VALUE": "1", "CONVERT_VALUE": "1", "SET_FUNCTION_ATTRIBUTE": "2",
    "STORE_FAST_LOAD_FAST": "1", "JUMP_IF_NOT_EXC_MATCH": "2", "LOAD_SUPER_ATTR": "3",
    "MAKE_FUNCTION": [(8, "2+flags"), (11, "1+flags"), (13, "1")],
    "BUILD_TUPLE": "n", "BUILD_LIST": "n", "BUILD_SET": "n", "BUILD_STRING": "n", "BUILD_MAP": "2n",
    "BUILD_LIST_UNPACK": "n", "BUILD_TUPLE_UNPACK": "n", "BUILD_SET_UNPACK": "n", "BUILD_MAP_UNPACK": "n",
    "BUILD_TUPLE_UNPACK_WITH_CALL": "n", "BUILD_MAP_UNPACK_WITH_CALL": "n", "BUILD_CONST_KEY_MAP": "1+n",
    "BUILD_SLICE": [(8, "2+three"), (14, "n")], "CALL": [(11, "2"), (12, "2+n")], "PRECALL": "2+n", "CALL_KW": "3+n",
    "CALL_FUNCTION": "1+n", "CALL_FUNCTION_KW": "2+n", "CALL_METHOD": "2+n", "RAISE_VARARGS": "n",
    "CALL_FUNCTION_EX": [(8, "2+odd"), (11, "3+odd"), (14, "4")], "DELETE_ATTR": "1", "STORE_ATTR": "2",
    "BINARY_SUBSCR": "2", "BINARY_OP": "2", "BINARY_SLICE": "3", "STORE_SLICE": "4", "COMPARE_OP": "2", "IS_OP": "2",
    "CONTAINS_OP": "2", "STORE_SUBSCR": "3", "DELETE_SUBSCR": "2", "RETURN_VALUE": "1", "LOAD_BUILD_CLASS": "0",
    "POP_FINALLY": "1", "END_FINALLY": "1",
    "LOAD_SPECIAL": "1", "BUILD_INTERPOLATION": "2+odd", "BUILD_TEMPLATE": "2", "POP_ITER": [(14, "1"), (15, "2")],
}

# Instructions whose effect is all there is to say: they read what they remove, or nothing.
EFFECT_SAYS = """BEGIN_FINALLY BREAK_LOOP CALL_FINALLY COPY_FREE_VARS DELETE_DEREF DELETE_FAST DELETE_GLOBAL
DELETE_NAME END_FOR EXTENDED_ARG ASYNC_GEN_WRAP JUMP_ABSOLUTE JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD
KW_NAMES LOAD_ASSERTION_ERROR LOAD_CLASSDEREF LOAD_CLOSURE LOAD_COMMON_CONSTANT LOAD_CONST LOAD_DEREF LOAD_FAST
LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_GLOBAL
LOAD_LOCALS LOAD_NAME LOAD_SMALL_INT MAKE_CELL NOP NOT_TAKEN POP_BLOCK POP_EXCEPT POP_JUMP_IF_FALSE POP_JUMP_IF_NONE
POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_NONE
POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE
POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_TOP PRINT_EXPR PUSH_NULL RESUME RETURN_CONST
SETUP_ANNOTATIONS SETUP_FINALLY STORE_DEREF STORE_FAST STORE_FAST_STORE_FAST STORE_GLOBAL STORE_NAME""".split()

# By name: (since, {column: value}). The compiler's own tables say more than `dis` does.
FIXES = {
    "BUILD_SLICE": (14, {"effect": "1-n"}),           # 2 or 3 values
    "CALL_FUNCTION_EX": (14, {"kind": "none"}),       # its argument has no meaning any more
    "END_ASYNC_FOR": (14, {"kind": "int"}),           # names the SEND of its loop; it jumps nowhere
    "LOAD_DEREF": (14, {"kind": "free"}),             # no longer in dis.hasfree
    "RETURN_VALUE": (14, {"effect": "-1"}),           # `dis` reckons with what the caller gets
    "IMPORT_NAME": (15, {"kind": "name4"}),           # the lowest two bits: lazy, eager
    "BUILD_INTERPOLATION": (14, {"effect": "-1-odd"}),
}

# What the interpreter puts into running code only.
NEVER_IN_FILES = ("CACHE", "INTERPRETER_EXIT", "ENTER_EXECUTOR", "TRACE_RECORD")


def fit(values):
    """The smallest sum that gives values[i] for SAMPLES[i]."""
    for sign in (1, -1):
        for term, f in TERMS.items():
            bases = {v - sign * f(n) for v, n in zip(values, SAMPLES)}
            if len(bases) == 1:
                base = bases.pop()
                if not term:
                    return str(base)
                return (str(base) if base else "") + ("-" if sign < 0 else "+" if base else "") + term
    raise SystemExit("no formula for %r" % values)


def pop_of(name, effect):
    known = POPS.get(name)
    if isinstance(known, list):
        known = [text for since, text in known if VERSION[1] >= since][-1]
    if known is None:
        if name.startswith(("BINARY_", "INPLACE_")):
            return "2"
        if name not in EFFECT_SAYS:
            raise SystemExit("%s: how many values does it read? Say so in POPS, or name it in EFFECT_SAYS" % name)
        return effect[1:] if effect.startswith("-") and effect[1:].isdigit() else "0"
    return known


def kind_of(code, name):
    if not has_arg(code):
        return "none"
    if code in dis.hasjabs:
        return "jabs"
    if code in dis.hasjrel:
        return "jback" if "JUMP_BACKWARD" in name else "jrel"
    if code in dis.hasconst:
        return "const"
    if code in dis.hasname:
        if name == "LOAD_SUPER_ATTR":
            return "name4"
        if name == "LOAD_GLOBAL" and VERSION >= (3, 11) or name == "LOAD_ATTR" and VERSION >= (3, 12):
            return "name2"
        return "name"
    if code in dis.haslocal:
        return "local2" if name.count("_FAST") == 2 else "local"
    if code in dis.hasfree:
        return "free"
    if code in dis.hascompare:
        return "compare"
    return "int"


def has_arg(code):
    return code in dis.hasarg if hasattr(dis, "hasarg") else code >= dis.HAVE_ARGUMENT


def caches_of(code, name):
    entries = getattr(opcode, "_inline_cache_entries", None)
    if entries is None:
        return 0
    return entries[code] if isinstance(entries, (list, tuple)) else entries.get(name, 0)  # 3.15: a frozendict


def effect_of(code, jump):
    if not has_arg(code):
        return str(opcode.stack_effect(code, None, jump=jump))
    return fit([opcode.stack_effect(code, n, jump=jump) for n in SAMPLES])


def is_real(code, name):
    """Whether the compiler can put it into a code object: no pseudo instructions, no run-time forms."""
    return code < 256 and not name.startswith(("INSTRUMENTED_", "RESERVED")) and name not in NEVER_IN_FILES


def rows():
    for name, code in sorted(opcode.opmap.items(), key=lambda item: item[1]):
        if is_real(code, name):
            effect, jump = effect_of(code, False), effect_of(code, True)
            since, fix = FIXES.get(name, (99, {}))
            fix = fix if VERSION[1] >= since else {}
            effect, jump = fix.get("effect", effect), fix.get("effect", jump)
            if jump == effect:
                jump = "-"
            pop = pop_of(name, effect)
            check_pushes(name, pop, effect)
            yield code, name, pop, effect, jump, caches_of(code, name), fix.get("kind") or kind_of(code, name)


def count(text, n):
    """What a sum of this table is for argument n."""
    term = next((t for t in sorted(TERMS, key=len, reverse=True) if t and text.endswith(t)), "")
    base = text[:len(text) - len(term)] if term else text
    sign = -1 if term and base.endswith("-") else 1
    return int(base.rstrip("+-") or 0) + sign * TERMS[term](n)


def check_pushes(name, pop, effect):
    """Nothing pushes less than nothing: then one of the two columns is wrong. 3.8 counts what a `with` may leave."""
    for n in SAMPLES if VERSION >= (3, 9) else ():
        if count(pop, n) + count(effect, n) < 0:
            raise SystemExit("%s: reads %s and changes the depth by %s: that pushes less than nothing"
                             % (name, pop, effect))


if __name__ == "__main__":
    print("# code\tname\tpop\teffect\tjump\tcaches\tkind")
    for row in rows():
        print(*row, sep="\t")
