"""The module tree of a live model, as people and programs read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import torch


@dataclass
class Node:
    """A module, or `repeat` equal ones in a row."""

    name: str
    cls: str
    origin: str
    args: str
    parameters: dict[str, list[int]]
    buffers: dict[str, list[int]]
    children: list[Node] = field(default_factory=list)
    repeat: int = 1
    last: str = ""  # name of the last of the repeated

    def count(self) -> int:
        own = 0
        for shape in self.parameters.values():
            size = 1
            for n in shape:
                size *= n
            own += size
        return own + sum(c.count() * c.repeat for c in self.children)

    def shape(self) -> tuple:
        """What makes two modules equal for the reader."""
        return (self.cls, self.origin, self.args, tuple((k, tuple(v)) for k, v in self.parameters.items()),
                tuple((k, tuple(v)) for k, v in self.buffers.items()),
                tuple((c.name, c.repeat, c.last, c.shape()) for c in self.children))

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name if self.repeat == 1 else f"{self.name}…{self.last}", "class": self.cls,
                                 "args": self.args, "parameters": {**self.parameters, **self.buffers},
                                 "children": [c.to_dict() for c in self.children], "origin": self.origin}
        if self.repeat > 1:
            found["repeat"] = self.repeat
        return found


@dataclass
class Tree:
    root: Node
    state: dict[str, list[int]]

    def to_dict(self) -> dict[str, Any]:
        total = sum(1 for _ in self.lines())
        network = {"name": self.root.name, "class": self.root.cls, "args": self.root.args, "tree": [self.root.to_dict()],
                   "state": self.state, "totals": {"parameters": self.root.count(), "lines": total},
                   "unknown": [], "errors": []}
        return {"networks": [network]}

    def lines(self) -> Iterator[str]:
        def walk(node: Node, head: str, rest: str) -> Iterator[str]:
            name = node.name if node.repeat == 1 else f"{node.name} … {node.last} ×{node.repeat}"
            label = f"{name}: {node.cls}" if name else node.cls
            shapes = ", ".join(f"{k} {'×'.join(map(str, s)) or 'scalar'}" for k, s in {**node.parameters, **node.buffers}.items())
            text = f"{head}{label}({node.args})"
            yield f"{text}  {shapes}".rstrip()
            for i, child in enumerate(node.children):
                end = i == len(node.children) - 1
                yield from walk(child, rest + ("└─ " if end else "├─ "), rest + ("   " if end else "│  "))

        yield from walk(self.root, "", "")
        yield f"{self.root.count():,} parameters"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def tree(model: torch.nn.Module) -> Tree:
    """The hierarchy of a module: classes, arguments, shapes; equal neighbours folded into one line."""
    state = {k: list(v.shape) for k, v in model.state_dict().items() if hasattr(v, "shape")}
    return Tree(_node("", model, {}), state)


def _node(name: str, module: torch.nn.Module, seen: dict[int, str], path: str = "") -> Node:
    cls = type(module)
    origin = f"{cls.__module__}.{cls.__qualname__}"
    node = Node(name, cls.__name__, origin, "", _shapes(module._parameters), _shapes(module._buffers))
    if id(module) in seen:
        return Node(name, cls.__name__, origin, f"= {seen[id(module)]}", {}, {})
    seen[id(module)] = path or "the root"
    if cls.__module__.startswith("torch.nn.") and not module._modules:
        node.args = module.extra_repr()
    children = [_node(n, m, seen, f"{path}.{n}" if path else n) for n, m in module._modules.items() if m is not None]
    node.children = _folded(children)
    return node


def _shapes(slots: dict[str, Any]) -> dict[str, list[int]]:
    return {k: list(t.shape) for k, t in slots.items() if t is not None}


def _folded(children: list[Node]) -> list[Node]:
    found: list[Node] = []
    for child in children:
        before = found[-1] if found else None
        if before is not None and child.name.isdigit() and before.name.isdigit() and before.shape() == child.shape():
            before.repeat += 1
            before.last = child.name
        else:
            found.append(child)
    return found
