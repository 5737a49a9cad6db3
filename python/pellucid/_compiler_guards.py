"""Dynamo's guards, from the text of a guard manager to Python that people read.

A guard manager prints itself as a tree; each leaf has a kind, a text that is Python or almost, and the user's line that
asked for it. `read` makes conditions of it, `write` a function that lists them.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

from ._link import parses, where_wrong

_LEAF = re.compile(r"^[|\s]*\+- ([A-Z][A-Z0-9_]+): (.*)$")
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+) in (?P<function>\S+)")
_TENSOR = re.compile(r"check_tensor\((?P<what>.*?), (?P<type>\w+), DispatchKeySet\((?P<keys>[^)]*)\), "
                     r"(?P<dtype>[\w.]+), (?P<rest>.*)\)$")
_IDENTITY = re.compile(r"___check_(?P<kind>obj|type)_id\((?P<what>.*), (?P<id>\d+)\)(?:, type=(?P<type><.*>))?$")
_MARKS = re.compile(r"hasattr\((?P<what>.*), '_dynamo_\w+'\) == False$")
_STATE = re.compile(r"___check_global_state\(\) against (\{.*\})$")
_CONTAINS = re.compile(r"___dict_contains\((.*?), (.*)\)$")
_NOT_IN = re.compile(r"^not (.*) in (.*)$")
_PRIVATE = re.compile(r"\b___(\w+\()")
_VARIABLE = re.compile(r"\b[LG]\['([A-Za-z_]\w*)'\]")
_IMPORT = re.compile(r"\b__import_(\w+)")
_BUILTIN = re.compile(r"\b__builtins_dict___\d+\[['\"](\w+)['\"]\]")
_MEMBER = re.compile(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]")
_NUMBERED = re.compile(r"\._modules\['(\d+)'\]")
_AMBIENT = {"GLOBAL_STATE", "TORCH_FUNCTION_MODE_STACK", "DEFAULT_DEVICE"}  # of every function: they come last
_HINT = re.compile(r"\s*\(HINT: (.*)\)$")


@dataclass
class Guard:
    kind: str
    #: A Python expression; "" if the guard can't be said in one.
    condition: str
    #: Torch's own words.
    text: str
    #: The user's line that needs it, and its place: "x = a / b", "model.py:12".
    line: str = ""
    place: str = ""
    hint: str = ""


def read(text: str) -> list[Guard]:
    made: dict[str, Guard] = {}  # by what they say: some are there many times
    for row in text.splitlines():
        found = _LEAF.match(row)
        if not found:
            continue
        said, *comments = found[2].split("  # ")
        said, hint = _without_hint(said.strip())
        condition = _condition(said)
        if (condition or said) not in made:
            made[condition or said] = _guard(found[1], condition, said, hint, comments)
    guards = list(made.values())
    _silence([guard for guard in guards if guard.condition])
    return sorted(guards, key=lambda guard: guard.kind in _AMBIENT or not guard.condition)


def _guard(kind: str, condition: str, said: str, hint: str, comments: list[str]) -> Guard:
    """The comments are the user's line, then its place."""
    place = ""
    if comments:
        comments[-1], later = _without_hint(comments[-1])
        where = _PLACE.match(comments[-1])
        hint = hint or later
        if where:
            place = f"{os.path.basename(where['file'])}:{where['line']}"  # torch cuts the folder, anywhere
            comments.pop()
    return Guard(kind, condition, said, "  ".join(comments).strip(), place, hint)


def _without_hint(text: str) -> tuple[str, str]:
    found = _HINT.search(text) if text.endswith(")") else None
    if not found:
        return text, ""
    return text[: found.start()], "" if found[1].startswith("type ") else found[1]


def _silence(guards: list[Guard]) -> None:
    """Conditions that are no Python are none. All are looked at together, each on its line."""
    while guards:
        line = where_wrong("[\n" + ",\n".join(guard.condition for guard in guards) + "]")
        if not line:
            return
        suspect = guards[line - 2] if 2 <= line < len(guards) + 2 else None
        if suspect is None or parses(f"[{suspect.condition}]"):
            break  # the fault shows elsewhere
        suspect.condition = ""
        guards = [guard for guard in guards if guard.condition]
    for guard in guards:
        guard.condition = guard.condition if parses(f"[{guard.condition}]") else ""


def _condition(text: str) -> str:
    """Of a guard that has a form of its own, or of one that is Python, or almost."""
    form = _FORMS.get(text.partition("(")[0])
    found = form and form[0].match(text)
    if form and found:
        return form[1](found)
    if "___" in text:
        text = _PRIVATE.sub(r"\1", _CONTAINS.sub(r"\1 in \2", text))
    return _NOT_IN.sub(r"\1 not in \2", simple(text))


def _tensor(found: re.Match[str]) -> str:
    return (f"tensor_is({simple(found['what'])}, type={found['type']!r}, dtype={found['dtype']}, {found['rest']}, "
            f"keys={found['keys']!r})")


def _identity(found: re.Match[str]) -> str:
    what, kind = simple(found["what"]), found["type"]
    if found["kind"] == "type":
        name = re.match(r"<(?:class|enum) '(.*)'>", kind or "")
        return (f"type({what}) is {name[1].replace('<locals>', 'locals')}" if name
                else f"id(type({what})) == {found['id']}")
    return f"id({what}) == {found['id']}"


def _marks(found: re.Match[str]) -> str:
    return f"no_dynamic_marks({simple(found['what'])})"


def _state(found: re.Match[str]) -> str:
    try:
        return f"global_state() == {json.loads(found[1])!r}"
    except ValueError:
        return ""


#: By the function that they call.
_FORMS = {"hasattr": (_MARKS, _marks), "___check_obj_id": (_IDENTITY, _identity),
          "___check_type_id": (_IDENTITY, _identity), "check_tensor": (_TENSOR, _tensor),
          "___check_global_state": (_STATE, _state)}


def simple(text: str) -> str:
    """Sources as the user wrote them: x for L['x'], np for G['np'], self.layer.weight for its path through dicts."""
    text = _VARIABLE.sub(r"\1", text)
    if "__import_" in text:
        text = _IMPORT.sub(lambda found: found[1].replace("_dot_", "."), text)
    if "__builtins_" in text:
        text = plain_builtins(text)
    if "._" in text:
        text = _NUMBERED.sub(r"[\1]", _MEMBER.sub(r".\1", text))
    return text


def plain_builtins(text: str) -> str:
    return _BUILTIN.sub(r"builtins.\1", text)


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
