"""`pellucid demo`: the built-in model, its tree, its skeleton, and both side by side."""

from __future__ import annotations

import ast
import html
import io
import keyword
import os
import shutil
import sys
import tokenize
from dataclasses import dataclass
from typing import Iterator

TEAL, GREY, BOLD, PLAIN = "\033[36m", "\033[90m", "\033[1m", "\033[0m"


@dataclass
class Pair:
    """A class or function as its author wrote it, and what became of it."""

    name: str
    original: list[tuple[str, bool]]  # lines, and whether they ran
    skeleton: list[str]


FIRST = "Attention"  # what a reader knows best, so that it is seen at once what is gone


def demo(folder: str, width: int | None = None) -> int:
    from . import _specs
    from ._sketch import LineTrace
    from ._skeleton import skeleton
    # The model is copied out of the package: a library of its own, as every other is.
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(os.path.abspath(folder), "lumen.py")
    shutil.copyfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo_model.py"), path)
    library = _specs._import(path)
    model, inputs = library["demo"](), library["demo_inputs"]()
    show = Show(width)
    show.title("The model, as its library builds it")
    made = skeleton(model, kwargs=inputs, origin="lumen.py:demo", strict=False,
                    progress=lambda text: show.progress(text))
    show.progress("")
    print(made.tree)

    with LineTrace() as trace:
        library["demo"]()(**inputs)
    with open(path, encoding="utf-8") as file:
        source = file.read()
    pairs = list(paired(source, made.source, trace.seen.get(path, set())))
    pairs.sort(key=lambda pair: pair.name != FIRST)
    show.title(f"What it executes: {count(source)} lines became {count(made.source)}")
    for pair in pairs:
        show.pair(pair)
    show.title("Is it the same?")
    print(made.report)

    paths = [os.path.join(folder, name) for name in ("demo_skeleton.py", "demo.html")]
    made.save(paths[0])
    with open(paths[1], "w", encoding="utf-8") as file:
        file.write(page(pairs, source, made.source, str(made.tree), str(made.report)))
    print(f"\nThe model is {os.path.join(folder, 'lumen.py')}, its skeleton {paths[0]}; "
          f"{paths[1]} shows both side by side")
    if not made.report.good:
        return 4
    return 0 if made.report.complete else 3


def count(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


def paired(original: str, skeleton: str, ran: set[int]) -> Iterator[Pair]:
    """The skeleton's classes and functions in its order, each with the author's of the same name."""
    authors = definitions(original)
    lines = original.splitlines()
    ran = ran | headers(original, ran)
    written = skeleton.splitlines()
    for name, (first, last) in definitions(skeleton).items():
        theirs = authors.get(name)
        left = [(lines[i - 1], i in ran) for i in range(theirs[0], theirs[1] + 1)] if theirs else []
        yield Pair(name, left, written[first - 1:last])


def headers(source: str, ran: set[int]) -> set[int]:
    """The lines above the bodies that ran: classes, and functions with all their parameters and decorators."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            if not ran.isdisjoint(body):
                found |= set(range(min([node.lineno, *(d.lineno for d in node.decorator_list)]), body.start))
    return found


def definitions(source: str) -> dict[str, tuple[int, int]]:
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name] = (first, node.end_lineno or node.lineno)
    return found


class Show:
    """The terminal."""

    def __init__(self, width: int | None):
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.width = max(80, width or shutil.get_terminal_size((160, 40)).columns)

    def paint(self, text: str, colour: str) -> str:
        return f"{colour}{text}{PLAIN}" if self.colour else text

    def title(self, text: str) -> None:
        print("\n" + self.paint(text, BOLD) + "\n")

    def progress(self, text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text + ' …' if text else ''}", end="", file=sys.stderr, flush=True)

    def pair(self, pair: Pair) -> None:
        half = (self.width - 3) // 2
        rows = max(len(pair.original), len(pair.skeleton))
        for i in range(rows):
            left, ran = pair.original[i] if i < len(pair.original) else ("", True)
            right = pair.skeleton[i] if i < len(pair.skeleton) else ""
            cell = clipped(left, half).ljust(half)
            print(f"{cell if ran else self.paint(cell, GREY)} {self.paint('│', GREY)} "
                  f"{self.paint(clipped(right, half), TEAL)}".rstrip())
        print()


def clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 1] + "…"


# ---- the page ----

STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1d2329; --dim: #a3acb5; --line: #e3e7eb; --head: #f5f7f9;
  --kw: #9a2f6b; --str: #2c7a3f; --com: #7b858f; --num: #1b5fa8; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181c; --fg: #dbe1e7; --dim: #59636d; --line: #2a3138;
  --head: #1b2126; --kw: #e58bc0; --str: #8fcf9b; --com: #7d8893; --num: #86b8ee; } }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1500px; margin: 0 auto; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 32px 0 8px; }
p { margin: 0 0 12px; max-width: 70ch; }
pre { margin: 0; padding: 10px 12px; overflow-x: auto; font: 12.5px/1.45 ui-monospace, monospace; tab-size: 4; }
.pair { display: grid; grid-template-columns: 1fr 1fr; border: 1px solid var(--line); border-radius: 6px;
        margin: 0 0 16px; }
.pair > div { min-width: 0; } .pair > div + div { border-left: 1px solid var(--line); }
.pair h3 { margin: 0; padding: 4px 12px; font: 600 12px/1.6 system-ui, sans-serif; background: var(--head);
  border-bottom: 1px solid var(--line); }
.off, .off * { color: var(--dim) !important; } .k { color: var(--kw); } .s { color: var(--str); }
.c { color: var(--com); font-style: italic; } .n { color: var(--num); }
@media (max-width: 900px) {
  .pair { grid-template-columns: 1fr; }
  .pair > div + div { border-left: 0; border-top: 1px solid var(--line); }
}
"""


def page(pairs: list[Pair], original: str, skeleton: str, tree: str, report: str) -> str:
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
             f"<title>A model and its skeleton</title><style>{STYLE}</style><main><h1>A model and its skeleton</h1>"
             f"<p>Left what the library's author wrote, {count(original)} lines in all; lines that this model never "
             f"runs are grey. Right the program that ran, {count(skeleton)} lines, written by pellucid.</p>"]
    for pair in pairs:
        left = coloured([text for text, _ in pair.original], [ran for _, ran in pair.original])
        right = coloured(pair.skeleton, [True] * len(pair.skeleton))
        parts.append(f"<section class=pair><div><h3>{html.escape(pair.name)}: the author's</h3><pre>{left}</pre></div>"
                     f"<div><h3>{html.escape(pair.name)}: the skeleton's</h3><pre>{right}</pre></div></section>")
    parts.append(f"<h2>Verification</h2><pre>{html.escape(report)}</pre>"
                 f"<h2>Tree</h2><pre>{html.escape(tree)}</pre></main></html>")
    return "\n".join(parts)


def coloured(lines: list[str], ran: list[bool]) -> str:
    """Lines as HTML: keywords, strings, comments and numbers marked, lines that did not run greyed."""
    marks: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    kinds = {tokenize.STRING: "s", tokenize.COMMENT: "c", tokenize.NUMBER: "n"}
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else kinds.get(token.type)
            if kind is None:
                continue
            for row in range(token.start[0], token.end[0] + 1):
                begin = token.start[1] if row == token.start[0] else 0
                end = token.end[1] if row == token.end[0] else len(lines[row - 1])
                marks[row - 1].append((begin, end, kind))
    except (tokenize.TokenError, IndentationError):
        pass
    out = []
    for text, spans, shown in zip(lines, marks, ran):
        line, at = "", 0
        for begin, end, kind in spans:
            line += html.escape(text[at:begin]) + f"<span class={kind}>{html.escape(text[begin:end])}</span>"
            at = end
        line += html.escape(text[at:])
        out.append(line if shown or not text.strip() else f"<span class=off>{line}</span>")
    return "\n".join(out)
