"""Dynamo's guards, from the text of a guard manager to Python that people read.

A guard manager prints itself as a tree; each leaf has a kind, a text that is Python or almost, and the user's line that
asked for it. `read` makes conditions of it, `write` a function that lists them.
"""

from __future__ import annotations

import ast
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
_COMMENT = re.compile(r"\s{2,}# ")
_CONTAINS = re.compile(r"___dict_contains\((.*?), (.*)\)$")
_NOT_IN = re.compile(r"^not (.*) in (.*)$")
_PRIVATE = re.compile(r"___(\w+)")
_VARIABLE = re.compile(r"\b[LG]\['([A-Za-z_]\w*)'\]")
_IMPORT = re.compile(r"\b__import_(\w+)")
_MEMBER = re.compile(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]")
_NUMBERED = re.compile(r"\._modules\['(\d+)'\]")
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
    made: dict[str, Guard] = {}  # by what they say: some are there many times
    for row in text.splitlines():
        found = _LEAF.match(row)
        if found:
            guard = _read_leaf(found[1], found[2])
            made.setdefault(guard.condition or guard.text, guard)
    guards = list(made.values())
    if not _parses("[" + ",\n".join(guard.condition for guard in guards if guard.condition) + "]"):
        for guard in guards:
            if not _parses(guard.condition):
                guard.condition = ""
    return guards


def _read_leaf(kind: str, text: str) -> Guard:
    said, *comments = _COMMENT.split(text)
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
    return Guard(kind, _condition(said), said, line, place, hint)


def _condition(text: str) -> str:
    """Tried from the most special form to the text itself."""
    for pattern, make in _FORMS:
        found = pattern.match(text)
        if found:
            return make(found)
    plain = simple(_CONTAINS.sub(r"\1 in \2", text))
    return _PRIVATE.sub(r"\1", _NOT_IN.sub(r"\1 not in \2", plain))


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


def _state(found: re.Match[str]) -> str:
    try:
        return f"global_state() == {json.loads(found[1])!r}"
    except ValueError:
        return ""


_FORMS = ((_MARKS, _marks), (_IDENTITY, _identity), (_TENSOR, _tensor), (_STATE, _state))


def _parses(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def simple(text: str) -> str:
    """Sources as the user wrote them: x for L['x'], np for G['np'], self.layer.weight for its path through dicts."""
    text = _VARIABLE.sub(r"\1", text)
    if "__import_" in text:
        text = _IMPORT.sub(lambda found: found[1].replace("_dot_", "."), text)
    if "._" in text:
        text = _NUMBERED.sub(r"[\1]", _MEMBER.sub(r".\1", text))
    return text


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
