"""Who may include whom: data flows downward (docs/ARCHITECTURE.md), and the #include lines must say so too.

    python tools/check_layers.py
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(pellucid\.h|Python\.h)>)', re.MULTILINE)

# A folder may include itself and these. "public" is include/pellucid.h.
BELOW_ALL = {"public", "base"}
HUBS = {"io", "python", "bytecode", "model"}
STAGES = {"decompile", "trace", "interp", "load", "source"}
ALLOWED: dict[str, set[str]] = {
    "base": {"public"},  # the error codes
    "io": BELOW_ALL,
    "python": BELOW_ALL,
    "bytecode": BELOW_ALL | {"python"},
    "model": BELOW_ALL | {"python"},  # arguments are expressions
    "decompile": BELOW_ALL | {"python", "bytecode"},
    "trace": BELOW_ALL | {"python", "bytecode", "model", "decompile"},
    "interp": BELOW_ALL | {"python", "bytecode", "model", "trace"},
    "load": BELOW_ALL | {"io", "python", "bytecode", "model", "decompile"},
    "source": BELOW_ALL | {"io", "python", "model", "load"},
    "show": BELOW_ALL | {"python", "model"},
    "lsp": BELOW_ALL | {"python", "model", "interp"},
    "api": BELOW_ALL | HUBS | STAGES | {"show", "lsp"},
    "cli": {"public"},
    "ext": BELOW_ALL | HUBS | STAGES | {"show", "Python.h"},
}


# The rooms of large folders, in the order in which data flows: a room may include itself, those before it, and the
# headers that lie beside the rooms and are shared by all.
ROOMS = {
    "interp": ["code", "values", "machine", "native", "record", "scan"],
    "load": ["audit", "formats"],
    "trace": ["log", "depends", "walk", "lines", "shrink", "build", "write"],
}


def wrong_room(path: pathlib.Path, include: str | None) -> str | None:
    """Why a file may not include a header of another room of its folder; None: it may."""
    parts = path.relative_to(ROOT).parts
    target = (include or "").split("/")
    rooms = ROOMS.get(parts[1]) if parts[0] == "src" else None
    if not rooms or len(target) != 3 or target[0] != parts[1]:
        return None
    if target[1] not in rooms:
        return f"src/{parts[1]} has no room {target[1]}"
    if len(parts) == 3:
        return None  # a shared header, or what drives the rooms
    if rooms.index(parts[2]) < rooms.index(target[1]):
        return f"{parts[2]} comes before {target[1]}"
    return None


def layer_of(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "api"
    return parts[0]


def target_of(include: str) -> str:
    if include == "pellucid.h":
        return "public"
    return include.split("/")[0] if "/" in include else "own"


def main() -> int:
    problems = []
    files = [path for folder in ("src", "cli", "ext") for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    for path in files:
        layer = layer_of(path)
        name = path.relative_to(ROOT)
        if layer not in ALLOWED:
            problems.append(f"{name}: folder {layer} is not in tools/check_layers.py")
            continue
        for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
            target = match.group(2) or target_of(match.group(1))
            if target == "Python.h" and layer != "ext":
                problems.append(f"{name}: only ext/ may include Python.h")
            elif layer == "cli" and match.group(1) == "base/os.h":
                continue  # what differs between systems is in one place, for the program, too
            elif target not in ALLOWED[layer] | {layer, "own", "pellucid.h", "Python.h"}:
                problems.append(f"{name}: {layer} may not include {target} ({match.group(1)})")
            elif problem := wrong_room(path, match.group(1)):
                problems.append(f"{name}: {problem} ({match.group(1)})")
    print("\n".join(problems) if problems else f"layers: {len(files)} files include only what they may")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
