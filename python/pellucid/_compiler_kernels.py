"""Inductor's kernels, from the text of its output code: where each is, and which lines of the user it computes.

Three things tell, from the best to the poorest: the stack traces that Inductor keeps for a kernel if it is asked to
(config.trace.provenance_tracking_level), the comment of node names that it writes above a call, and the operators that
a kernel's name lists. Nothing is executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int]

_DEFINED = re.compile(r"(\w+) = async_compile\.(\w+)\(")
_LANGUAGES = {"cpp_pybinding": "C++", "cpp": "C++", "triton": "Triton", "cuda": "CUDA", "metal": "Metal", "rocm": "HIP"}
_SORTED = re.compile(r"\s*# Topologically Sorted Source Nodes: \[(.*?)\]")
_HANDLE = re.compile(r"\s*# \[Provenance debug handles\] (\S+)")
_FRAGMENT = re.compile(r"\s*#\s+%(\w+) ")
_LIBRARY = re.compile(r"\s*(?:\w+ = )?((?:extern_kernels|aten|torch\.ops\.\w+)\.\w+(?:\.\w+)?)\(")
_FRAME = re.compile(r'File "([^"\n]*)", line (\d{1,9}), in ')
_NODE = re.compile(r"\s+(\w+)(?:: \"[^\"]*\")? = torch\.ops\.\w+\.(\w+)")
_CALLED = re.compile(r"\s+(\w+)(?: ?: ?\"[^\"]*\")? = [\w.]*?\b(\w+)\(")
_FUSED = re.compile(r"(?:cpp|triton_\w+?)_fused_(\w+?)_\d+$")


@dataclass
class Kernel:
    name: str
    language: str  # "C++", "Triton", or "library" for what torch brings
    first: int = 0  # the lines of its definition in the output code; 0: it has none there
    last: int = 0
    calls: list[int] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)  # of the graphs
    places: list[Place] = field(default_factory=list)  # of the user
    how: str = ""  # who says which lines those are; "": nobody

    def lines(self) -> list[int]:
        return [*range(self.first, self.last + 1), *self.calls] if self.first else list(self.calls)


def kernels(text: str, nodes: dict[str, Place], operators: dict[str, list[Place]],
            traces: dict[str, list[str]]) -> list[Kernel]:
    """Of one output code. `nodes` and `operators` say where the graph's nodes come from, by name and by operator;
    `traces` are Inductor's own, by handle."""
    made: dict[str, Kernel] = {}
    lines = text.split("\n")
    pending: list[str] = []
    handle = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        told = _SORTED.match(line)
        if told:
            pending = [name.strip() for name in told[1].split(",") if name.strip()]
        elif _FRAGMENT.match(line):
            pending += [found[1] for found in (_FRAGMENT.match(line),) if found]
        elif _HANDLE.match(line):
            handle = line.split()[-1]
        elif line.strip() and not line.lstrip().startswith("#"):
            found, end = _defined_or_called(line, lines, at, made)
            if found is not None:
                _link(found, pending, traces.get(handle, []), nodes)
            if found is not None or " = " not in line:  # buffers are allocated between the comment and the call
                pending, handle = [], ""
            at = end
        at += 1
    for kernel in made.values():
        if not kernel.places:
            _link_by_name(kernel, operators)
    return list(made.values())


def _defined_or_called(line: str, lines: list[str], at: int, made: dict[str, Kernel]) -> tuple[Kernel | None, int]:
    """The kernel that a line defines or calls, and where its definition ends."""
    defined = _DEFINED.match(line)
    if defined:
        end = at
        if line.count("'''") % 2:
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("'''")), len(lines) - 1)
        kernel = made[defined[1]] = Kernel(defined[1], _LANGUAGES.get(defined[2], defined[2]), at + 1, end + 1)
        return kernel, end
    word = re.match(r"\s+(?:\w+ = )?(\w+)(?:\.run)?\(", line)
    if word and word[1] in made:
        made[word[1]].calls.append(at + 1)
        return made[word[1]], at
    library = _LIBRARY.match(line)
    if library:
        name = f"{library[1]} (line {at + 1})"
        kernel = made[name] = Kernel(library[1], "library", calls=[at + 1])
        return kernel, at
    return None, at


def _link(kernel: Kernel, pending: list[str], traces: list[str], nodes: dict[str, Place]) -> None:
    kernel.nodes += [name for name in pending if name not in kernel.nodes]
    told = [(file, int(line)) for trace in traces for file, line in _FRAME.findall(trace)]
    if told:
        kernel.places, kernel.how = list(dict.fromkeys(told)), "Inductor's stack traces"
    elif not kernel.how.startswith("Inductor"):
        found = list(dict.fromkeys(nodes[name] for name in kernel.nodes if name in nodes))
        if found:
            kernel.places, kernel.how = found, "the nodes that its comment names"


def _link_by_name(kernel: Kernel, operators: dict[str, list[Place]]) -> None:
    """cpp_fused_mul_relu_0: the lines where such operators stand. Others of the graph may have the same."""
    found = _FUSED.match(kernel.name)
    if not found:
        return
    words = "_" + found[1] + "_"
    places = [place for name, where in operators.items() if f"_{name.strip('_')}_" in words for place in where]
    if places:
        kernel.places = list(dict.fromkeys(places))
        kernel.how = "the operators in its name, which other kernels may have too"


def node_places(text: str, places: dict[int, Place]) -> tuple[dict[str, Place], dict[str, list[Place]]]:
    """Where the nodes of a printed graph come from, by name, and by operator."""
    nodes: dict[str, Place] = {}
    operators: dict[str, list[Place]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        assigned = re.match(r"\s+(\w+)(?: ?: ?\"[^\"]*\")? = ", line)
        if assigned and number in places:
            nodes.setdefault(assigned[1], places[number])
        node = _NODE.match(line) or _CALLED.match(line)
        if node and number in places:
            operators.setdefault(node[2], []).append(places[number])
    return nodes, operators


def traces_of(told: Any) -> dict[str, list[str]]:
    """Of Inductor's artifact, if it is what it should be."""
    if not isinstance(told, dict):
        return {}
    return {str(handle): [trace for trace in traces if isinstance(trace, str)]
            for handle, traces in told.items() if isinstance(traces, list)}


def language_note(found: list[Kernel], is_here: bool) -> str:
    """What does not run here is said."""
    languages = sorted({kernel.language for kernel in found if kernel.first})
    if not languages:
        return ""
    return " and ".join(languages) + ("" if is_here else ", not run here")
