"""Shapes in comments: each one is asked for again, by another way, in sizes that no run had."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
from typing import Any

import pytest
pytest.importorskip("torch", reason="torch is not installed")

import pellucid
import test_author_models
import torch
import torch.nn.functional as F
from torch import nn

COMMENT = re.compile(r" # ((?:\w+: )?(?:each )?\(.*\)),?$")
ONE = re.compile(r"(?:(\w+): )?(?:each )?\(([^()]*)\)")


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.h = nn.Linear(24, 72), nn.Linear(24, 24), 4

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.h, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.out(x)


class Text(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.attn, self.cls = nn.Embedding(50, 24), Attention(), nn.Parameter(torch.zeros(1, 1, 24))

    def forward(self, ids):
        x = self.embed(ids)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), dim=1)
        x = self.attn(x)
        flat = x.flatten(1, 2)
        return flat.unflatten(1, (-1, 24))[:, 0]


class Block(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        self.conv, self.width = nn.Conv2d(cin, cout, 3, stride=stride, padding=1), cout

    def forward(self, x):
        x = self.conv(x)
        B, T = x.shape[0], x.shape[1]  # T is no length here
        return F.relu(x).view(B, T, *x.shape[2:])


class Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 16, 2), Block(16, 16, 1), Block(16, 32, 2))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.blocks(x)
        tokens = x.flatten(2).transpose(1, 2)
        return self.head(tokens.mean(1))


MODELS = {
    "text": (Text, lambda b, t: torch.randint(0, 50, (b, t)), (2, 12), [(4, 9), (7, 21)]),
    "picture": (Picture, lambda b, s: torch.randn(b, 3, s, s + 32), (2, 64), [(4, 128), (3, 32)]),
}


class Checked(ast.NodeTransformer):
    """The program with a question after each line that has a comment."""

    def __init__(self, comments: dict[int, str]):
        self.comments = comments

    def ask(self, value: ast.expr, line: int | None) -> ast.expr:
        call = ast.parse("__ask__(0, 0, locals(), __sizes__)", mode="eval").body
        assert isinstance(call, ast.Call)
        call.args[:2] = [value, ast.Constant(self.comments[line or 0])]
        return call

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        bound = {n.id: 0 for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        head: list[ast.stmt] = [*ast.parse(f"__sizes__ = {{'': {list(bound)}}}").body]
        for line in range(node.body[0].lineno - 1, node.lineno - 1, -1):  # in lines of their own, or after the colon
            if line in self.comments and ONE.match(self.comments[line]):
                head.insert(1, ast.Expr(self.ask(ast.Constant(None), line)))
            elif line < node.body[0].lineno - 1:
                break
        self.generic_visit(node)
        node.body = head + node.body
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        if node.end_lineno not in self.comments:
            return node
        target = node.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = ast.List([ast.Name(n.id, ast.Load()) for n in names if isinstance(n, ast.Name)], ast.Load())
        return [node, ast.Expr(self.ask(values, node.end_lineno))]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.end_lineno in self.comments and node.value is not None:
            node.value = self.ask(node.value, node.end_lineno)
        return node


class Judge:
    """Asks a running skeleton whether its comments are true. The comment of the root's forward binds the sizes of the
    model's inputs, the comment of each function what it calls the sizes that it was given; all others must agree."""

    def __init__(self, source: str, root: str):
        found = [(number, COMMENT.search(line)) for number, line in enumerate(source.split("\n"), 1)]
        comments = {number: match.group(1) for number, match in found if match}
        tree = ast.fix_missing_locations(Checked(comments).visit(ast.parse(source)))
        self.root, self.bad, self.asked = root, list[str](), set[str]()
        self.roles: dict[str, int] = {}
        self.space: dict[str, Any] = {"__ask__": self.ask, "__name__": "shapes_checked"}
        sys.modules["shapes_checked"] = types.ModuleType("shapes_checked")  # dataclasses look there
        exec(compile(tree, "<checked>", "exec"), self.space)

    def ask(self, value: Any, comment: str, names: dict[str, Any], sizes: dict[str, Any]) -> Any:
        """value: None in the comment of a function. sizes: what it bound; "": names that the function binds itself;
        " ": what could not be compared yet."""
        self.asked.add(comment)
        own = {k: v for k, v in names.items() if type(v) is int}
        kept = {k: v for k, v in vars(names["self"]).items() if type(v) is int} if "self" in names else {}
        if any(own[name] != size for name, size in sizes.items() if name in own):
            self.bad.append(f"{comment}: {sizes} and then {own}")
        known = {**{k: v for k, v in self.roles.items() if k not in sizes[""]}, **kept, **sizes, **own}
        rows = sizes.pop(" ", [])
        for name, text in ONE.findall(comment):
            for tensor in [names[name]] if name else value if isinstance(value, list) else [value]:
                dims = [dim.strip() for dim in text.split(",") if dim.strip()]
                rows += [(comment, dim, size) for dim, size in zip(dims, tensor.shape)]
                if len(dims) != tensor.ndim:
                    self.bad.append(f"{comment}: {tuple(tensor.shape)}")
        for comment, dim, size in rows:
            if value is None and dim.isidentifier() and dim not in known:
                known[dim] = sizes[dim] = size
            elif dim != "*" and (unknown := set(re.findall(r"[A-Za-z_]\w*", dim)) - set(known)):
                assert unknown <= set(sizes[""]), (comment, dim, "is not known")
                sizes.setdefault(" ", []).append((comment, dim, size))  # the function binds it later
            elif dim != "*" and eval(dim, {}, known) != size:
                self.bad.append(f"{comment}: {dim} is {size} with {known}")
        if type(names.get("self")).__name__ == self.root:
            self.roles.update({k: v for k, v in sizes.items() if k in tuple("BTSUHW")})
        return value


def wrong(source: str, root: str, weights: Any, calls: list[Any]) -> tuple[list[str], int]:
    """Comments that a call contradicts, and how many were asked for."""
    judge = Judge(source, root)
    module = judge.space[root]()
    module.load_state_dict(weights)
    module.eval()
    for args, kwargs in calls:
        judge.roles.clear()
        with torch.no_grad():
            module(*args, **kwargs)
    return judge.bad, len(judge.asked)


def calls_of(name: str) -> list[Any]:
    _, make, _, others = MODELS[name]
    return [((make(*size),), {}) for size in others]


@pytest.mark.parametrize("level", ["few", "all"])
@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_comment_holds_in_sizes_that_no_run_had(name: str, level: str) -> None:
    build, make, size, _ = MODELS[name]
    torch.manual_seed(0)
    model = build().eval()
    plain = pellucid.skeleton(model, make(*size), progress=False)
    made = pellucid.skeleton(model, make(*size), progress=False, shapes=level)
    assert ast.dump(ast.parse(plain.source)) == ast.dump(ast.parse(made.source))
    bad, asked = wrong(made.source, made.root, model.state_dict(), calls_of(name))
    assert not bad and asked >= 2, (bad, made.source)
    for number in set(re.findall(r"\b(?:24|4|32|10)(?=[,)])", "".join(COMMENT.findall(made.source)))):
        broken = "\n".join(re.sub(rf"\b{number}(?=[,)])", "77", line) if (found := COMMENT.search(line)) and
                           number in found.group(1) and "77" not in line else line for line in made.source.split("\n"))
        if ast.dump(ast.parse(broken)) == ast.dump(ast.parse(made.source)):
            assert wrong(broken, made.root, model.state_dict(), calls_of(name))[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["vision.yolo", "audio.wavenet", "odd.choices", "torch_parts.encoder", *(
    pytest.param(name, marks=pytest.mark.slow) for name in test_author_models.rows(test_author_models.SLOW))])
def test_every_comment_holds_in_every_recorded_run(name: str) -> None:
    file, _, function = name.partition(".")
    torch.manual_seed(0)
    model, inputs = getattr(importlib.import_module(f"author_models.{file}"), function)()
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (inputs, {})
    made = pellucid.skeleton(model.eval(), args, kwargs, verify=False, shapes="all")
    assert not [remark for remark in made.report.remarks if "no shapes" in remark]
    bad, asked = wrong(made.source, made.root, model.state_dict(), [call for call, train in made.calls if not train])
    assert not bad and asked, (bad, made.source)


def test_what_a_reader_asks_for() -> None:
    torch.manual_seed(0)
    text = pellucid.skeleton(Text().eval(), torch.randint(0, 50, (2, 12)), progress=False, shapes="few").source
    assert "def forward(self, ids):  # ids: (B, T)" in text
    assert "def forward(self, x):  # x: (B, N, 24)" in text  # as the author unpacks it
    assert re.search(r"\.unbind\(0\)  # each \(B, 4, N, 6\)", text)
    assert "# (B, 4, N, N)" in text and "# (B, T+1, 24)" in text


def test_no_shapes_unless_asked_for() -> None:
    made = pellucid.skeleton(Text().eval(), torch.randint(0, 50, (2, 12)), progress=False)
    assert not any(COMMENT.search(line) for line in made.source.split("\n"))
    with pytest.raises(ValueError, match="none, few, all"):
        made.add_shapes("many")
