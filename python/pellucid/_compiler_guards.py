"""Dynamo's guards, from the text of a guard manager to Python that people read.

A guard manager prints itself as a tree; each leaf has a kind, a text that is Python or almost, and the user's line that
asked for it. `read` makes conditions of it, `write` a function that lists them.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from dataclasses import dataclass

_LEAF = re.compile(r"^[|\s]*\+- ([A-Z][A-Z0-9_]+): (.*)$")
_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+) in (?P<function>\S+)")
_TENSOR = re.compile(r"check_tensor\((?P<what>.*?), (?P<type>\w+), DispatchKeySet\((?P<keys>[^)]*)\), (?P<dtype>[\w.]+), "
                     r"(?P<rest>.*)\)$")
_IDENTITY = re.compile(r"___check_(?P<kind>obj|type)_id\((?P<what>.*), (?P<id>\d+)\)(?:, type=(?P<type><.*>))?$")
_MARKS = re.compile(r"hasattr\((?P<what>.*), '_dynamo_\w+'\) == False$")
_STATE = re.compile(r"___check_global_state\(\) against (\{.*\})$")
_HINT = re.compile(r"\s*\(HINT: (.*)\)\s*$")


@dataclass
class Guard:
    kind: str
    #: A Python expression; "" if the guard can't be said in one.
    condition: str
    #: Torch's own words.
    text: str
    #: The user's line that needs it, and where it stands: "x = a / b", "model.py:12".
    line: str = ""
    place: str = ""
    hint: str = ""


def read(text: str) -> list[Guard]:
    guards = []
    for row in text.splitlines():
        found = _LEAF.match(row)
        if found:
            guards.append(_read_leaf(found[1], found[2]))
    return _without_repeats(guards)


def _read_leaf(kind: str, text: str) -> Guard:
    said, *comments = re.split(r"\s{2,}# ", text)
    hint = line = place = ""
    if comments:
        found = _HINT.search(comments[-1])
        if found:
            hint = "" if found[1].startswith("type ") else found[1]
            comments[-1] = comments[-1][: found.start()]
        where = _PLACE.match(comments[-1])
        if where:
            place = f"{where['file']}:{where['line']}"
            comments.pop()
        line = "  ".join(comments)
    said = said.strip()
    return Guard(kind, _condition(kind, said), said, line, place, hint)


def _condition(kind: str, text: str) -> str:
    """Tried from the most special form to the text itself; only what parses is taken."""
    for found, make in ((_TENSOR.match(text), _tensor), (_IDENTITY.match(text), _identity), (_MARKS.match(text), _marks)):
        if found:
            made = make(found)
            if _parses(made):
                return made
    state = _STATE.match(text)
    if state:
        with contextlib.suppress(ValueError):
            return f"global_state() == {json.loads(state[1])!r}"
    plain = simple(re.sub(r"___dict_contains\((.*?), (.*)\)$", r"\1 in \2", text))
    plain = re.sub(r"^not (.*) in (.*)$", r"\1 not in \2", plain)
    plain = re.sub(r"___(\w+)", r"\1", plain)
    return plain if _parses(plain) else ""


def _tensor(found: re.Match[str]) -> str:
    return (f"tensor_is({simple(found['what'])}, type={found['type']!r}, dtype={found['dtype']}, {found['rest']}, "
            f"keys={found['keys']!r})")


def _identity(found: re.Match[str]) -> str:
    what, kind = simple(found["what"]), found["type"]
    if found["kind"] == "type":
        name = re.match(r"<(?:class|enum) '(.*)'>", kind or "")
        return f"type({what}) is {name[1].replace('<locals>', 'locals')}" if name else f"id(type({what})) == {found['id']}"
    return f"id({what}) == {found['id']}"


def _marks(found: re.Match[str]) -> str:
    return f"no_dynamic_marks({simple(found['what'])})"


def _parses(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def simple(text: str) -> str:
    """Sources as the user wrote them: x for L['x'], np for G['np'], self.layer.weight for its path through dicts."""
    text = re.sub(r"\b[LG]\['([A-Za-z_]\w*)'\]", r"\1", text)
    text = re.sub(r"\b__import_(\w+)", lambda m: m[1].replace("_dot_", "."), text)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]", r".\1", text)
    text = re.sub(r"\._modules\['(\d+)'\]", r"[\1]", text)
    return text


def _without_repeats(guards: list[Guard]) -> list[Guard]:
    seen, kept = set(), []
    for guard in guards:
        key = guard.condition or guard.text
        if key not in seen:
            seen.add(key)
            kept.append(guard)
    return kept


HELP = """\
# tensor_is(x, ...) compares type, dtype, device, sizes, strides and dispatch keys (a size of None may be any).
# no_dynamic_marks(x): nobody called mark_dynamic and the like on x. Addresses are those of the run that was recorded.
"""


def write(guards: list[Guard], name: str, arguments: str) -> str:
    """A function that lists the guards; those that no Python says are comments in it."""
    lines = [f"def {name}({arguments}):", "    return all(["]
    for guard in guards:
        why = "  ".join(part for part in (guard.line, guard.place) if part)
        comment = f"  # {why}" if why else ""
        if guard.condition:
            lines.append(f"        {guard.condition},{_flat(comment)}")
        else:
            lines.append(f"        # {guard.kind}: {_flat(guard.text)}{_flat(comment)}")
        if guard.hint:
            lines.append(f"        # hint: {_flat(guard.hint)}")
    return "\n".join([*lines, "    ])"]) + "\n"


def _flat(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ").replace("\f", " ")
