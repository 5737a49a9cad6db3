"""Draws docs/before-after.svg: the attention of the built-in example, as written by its author and in its skeleton.

    PYTHONPATH=build/python python tools/readme_picture.py build/demo

The folder is where `make demo` left lumen.py and demo_skeleton.py. Both texts are cut from these files by their class,
so the picture can't show what the program did not write.
"""

from __future__ import annotations

import ast
import html
import keyword
import pathlib
import re
import sys

from pellucid._demo import count

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "before-after.svg"
LINE, CHARACTER, TOP, SIDE, GAP = 17, 7.25, 62, 22, 36
COLUMNS = 96  # of a text, what is longer is cut with an ellipsis


def attention(path: pathlib.Path) -> tuple[list[str], int]:
    """The lines of the class Attention, and how many lines of text the file has."""
    source = path.read_text(encoding="utf-8")
    found = next(node for node in ast.parse(source).body
                 if isinstance(node, ast.ClassDef) and node.name == "Attention")
    lines = source.splitlines()
    return lines[found.lineno - 1:found.end_lineno], count(source)


def coloured(line: str) -> str:
    def paint(match: re.Match[str]) -> str:
        word = html.escape(match.group(0))
        if match.group(1):
            return f'<tspan fill="#0a7d4f">{word}</tspan>'
        if keyword.iskeyword(match.group(0)):
            return f'<tspan fill="#8a3ffc">{word}</tspan>'
        return word
    cut = line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…"
    return re.sub(r"""("[^"]*"|'[^']*')|\w+|\s+|.""", paint, cut)


def column(title: str, lines: list[str], left: float, width: float, height: float) -> list[str]:
    out = [f'<rect x="{left}" y="40" width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="#d0d7de"/>',
           f'<text x="{left + 4}" y="28" class="title">{html.escape(title)}</text>']
    for i, line in enumerate(lines):
        out.append(f'<text x="{left + SIDE - 8}" y="{TOP + i * LINE}" xml:space="preserve">{coloured(line)}</text>')
    return out


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    before, lines_before = attention(folder / "lumen.py")
    after, lines_after = attention(folder / "demo_skeleton.py")
    width = CHARACTER * COLUMNS + 2 * SIDE
    height = TOP - 40 + LINE * max(len(before), len(after))
    total = 2 * width + GAP + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height + 52:.0f}" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="12" fill="#1f2328">',
        "<style>.title{font:600 15px system-ui,sans-serif}</style>",
        f'<rect width="{total:.0f}" height="{height + 52:.0f}" fill="#f6f8fa"/>',
        *column(f"the author's Attention, in a file of {lines_before} lines", before, 10, width, height),
        *column(f"its skeleton, in a file of {lines_after} lines: bit-equal", after, 10 + width + GAP, width, height),
        f'<text x="{10 + width + GAP / 2}" y="{40 + height / 2}" text-anchor="middle" class="title">→</text>',
        "</svg>",
    ]
    TARGET.write_text("\n".join(parts) + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
