"""What a session saw, as text and as a page: both in the order in which things ran first."""

from __future__ import annotations

import html
import os
import re
import sys
from dataclasses import dataclass
from typing import Iterator

import torch

from ._compiler_session import Compilation, Function, Session, Stage, places_in

LINES_SHOWN = 600  # of one source on the page; the file has all


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def summary(session: Session) -> str:
    made = [c for c in session.compilations if c.listing is not None]
    again = sum(bool(c.recompiled) for c in made)
    users = sum(not f.continues for f in session.functions)
    breaks = counted(sum(len(c.breaks) for c in session.compilations), "graph break")
    # A resume function stands behind a break; of those from before nobody kept the reason.
    untold = sum(bool(f.continues) and all(c.before for c in f.compilations) for f in session.functions)
    if untold:
        breaks += f" and {untold} of before, whose reasons are gone"
    parts = [counted(users, "function"), counted(len(session.functions) - users, "resume function"),
             counted(len(made), "compilation"), breaks, counted(again, "recompilation")]
    return ", ".join(parts)


def relative(session: Session, path: str) -> str:
    return path.removeprefix(session.folder).lstrip(os.sep).replace(os.sep, "/")


def place(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}" if file else ""


def in_order(session: Session) -> list[Compilation]:
    """Compilations as they came; those that Dynamo gave up among them."""
    return [c for c in session.compilations if c.listing is not None or c.breaks]


def function_of(session: Session, made: Compilation) -> Function | None:
    return next((f for f in session.functions if made in f.compilations), None)


def continued_by(session: Session, made: Compilation) -> str:
    """What runs behind a graph break: the resume functions, by the ids of their first versions."""
    codes = {id(code) for code in made.resumes}
    return ", ".join(f"[{f.compilations[0].id}]" for f in session.functions if id(f.code) in codes and f.compilations)


def cache_text(made: Compilation) -> str:
    words = {"fx_graph": "Inductor's cache", "aotautograd": "AOTAutograd's cache", "autograd": "AOTAutograd's cache"}
    found = (re.match(r"(.*)_cache_(.*)", name) for name in made.caches)
    return ", ".join(dict.fromkeys(f"{words.get(m[1], m[1])}: {m[2]}" for m in found if m))


def runs_text(session: Session, made: Compilation) -> str:
    """How often it ran: all but the run it was compiled for were hits of Dynamo's cache."""
    runs = session.runs.get(made.path, 0)
    hits = runs if made.before else runs - 1
    return f"{counted(runs, 'time')}, {counted(hits, 'cache hit')}" if runs else ""


def seconds(made: Compilation) -> str:
    time = made.metrics.get("entire_frame_compile_time_s")
    return f"{time:.2f} s" if isinstance(time, (int, float)) else ""


def problems(session: Session) -> Iterator[str]:
    for part, loss in session.probe.missing.items():
        yield f"this torch has no {part}: {loss}"
    for made in session.compilations:
        if made.listing is not None and made.listing.incomplete:
            yield f"[{made.id}] is shown as instructions: {made.listing.incomplete}"
        if made.listing is not None and not made.linked:
            yield f"[{made.id}] was compiled before, and a tracer has seen its lines: it could not be linked"
    for note in session.notes:
        yield "an error of pellucid, kept from the program:\n" + note


# ---- text ----

def text_report(session: Session, with_help: bool = True) -> str:
    lines = ["What torch.compile made of this program", f"torch {torch.__version__}, Python {sys.version.split()[0]}", "",
             summary(session), "", "In the order in which they ran first:", ""]
    for made in in_order(session):
        lines += [*_text_of(session, made), ""]
    found = list(problems(session))
    if found:
        lines += ["Notes:", *("  " + note.replace("\n", "\n  ") for note in found), ""]
    if with_help:
        lines += [HELP.rstrip()]
    return "\n".join(lines) + "\n"


HELP = """\
How to step through it: the __transformed_code files and the graphs marked "runs here" are linked to what runs. Set
breakpoints in them (pdb: `b FILE:LINE`; or in your editor), call the compiled function again inside
`with pellucid.debug():`, and step. Inductor's output code runs from the file that its first lines name. full_code files
have all of one function in one place, for reading.
"""


def _text_of(session: Session, made: Compilation) -> Iterator[str]:
    function = function_of(session, made)
    if function is None or made.code is None:
        yield f"[{made.id}] not compiled"
    else:
        note = f", continues {function.continues}" if function.continues else ""
        early = ", compiled before the context was entered" if made.before else ""
        yield f"[{made.id}] {made.code.co_name}  {place(made.code.co_filename, made.code.co_firstlineno)}{note}{early}"
        rows = [("written as", relative(session, function.source_path)), ("runs as", relative(session, made.path)),
                ("guards", f"{relative(session, made.guards_path)} ({len(made.guard_list())})" if made.guards_path else "")]
        for stage in made.stages:
            what = "code" if stage.kind == "inductor_output_code" else "graph"
            rows.append((what, f"{relative(session, stage.path)}  {stage.title}{', runs here' if stage.linked else ''}"))
        rows += [("ran", runs_text(session, made)), ("caches", cache_text(made)), ("time", seconds(made))]
        yield from (f"    {name:12}{value}" for name, value in rows if value)
    for reason in made.recompiled:
        yield f"    compiled again, for a guard failed: {reason}"
    for broken in made.breaks:
        then = continued_by(session, made)
        where = place(broken.file, broken.line)
        yield f"    graph break at {where}: {broken.reason}" + (f" (goes on in {then})" if then else "")
        yield from (f"        {hint}" for hint in hints(broken.text))


def hints(text: str) -> list[str]:
    found = re.findall(r"^\s*(?:Hint|Explanation): (.*)$", text, re.MULTILINE)
    return list(dict.fromkeys(" ".join(line.split()) for line in found))


# ---- page ----

STYLE = """
:root { color-scheme: light dark; --back: #fff; --fore: #1c2128; --dim: #5f6b7a; --line: #d8dee6; --mark: #fff3c4;
  --card: #f6f8fa; --link: #0b57d0; --bad: #a4262c; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --back: #14171c; --fore: #dbe2ea; --dim: #95a1b0; --line: #313842;
  --mark: #4a3f12; --card: #1c2128; --link: #8ab4f8; --bad: #ff8f8f; --good: #6fdd8b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 110rem; background: var(--back); color: var(--fore);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; } h2 { font-size: 1.05rem; margin: 0; display: inline; }
a { color: var(--link); } .dim { color: var(--dim); } .bad { color: var(--bad); } .good { color: var(--good); }
code, pre { font: 12.5px/1.45 ui-monospace, Consolas, monospace; }
nav ol { padding-left: 1.4rem; columns: 24rem; } nav li { break-inside: avoid; }
details.made { border: 1px solid var(--line); border-radius: 6px; margin: .8rem 0; background: var(--card); }
details.made > summary { padding: .5rem .8rem; cursor: pointer; } details.made > div { padding: 0 .8rem .8rem; }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: .6rem; align-items: start; }
.three h3 { font-size: .85rem; margin: .4rem 0; font-weight: 600; }
pre { margin: 0; border: 1px solid var(--line); border-radius: 4px; background: var(--back); overflow: auto;
  max-height: 36rem; padding: .3rem 0; }
pre span.l { display: block; padding: 0 .6rem; min-height: 1.45em; white-space: pre; }
pre span.l.m { cursor: pointer; } pre span.l.on { background: var(--mark); }
pre span.l:focus { outline: 2px solid var(--link); outline-offset: -2px; }
pre i { color: var(--dim); font-style: normal; } pre b { color: var(--dim); font-weight: normal; user-select: none; }
ul.files { columns: 26rem; padding-left: 1.2rem; margin: .5rem 0; } blockquote { margin: .3rem 0 .3rem 1rem; }
"""

SCRIPT = """
function same(el, on) { if (!el.dataset || !el.dataset.u) return;
  var box = el.closest('.three'), want = el.dataset.u.split(' '), first = {};
  box.querySelectorAll('span.m').forEach(function (s) {
    var hit = s.dataset.u.split(' ').some(function (u) { return want.indexOf(u) >= 0; });
    s.classList.toggle('on', on && hit);
    var pre = s.closest('pre');
    if (on && hit && pre !== el.closest('pre') && !first[pre.id]) { first[pre.id] = 1;
      pre.scrollTop = s.offsetTop - pre.offsetTop - pre.clientHeight / 3; } }); }
['mouseover', 'focusin'].forEach(function (n) { document.addEventListener(n, function (e) {
  var s = e.target.closest && e.target.closest('span.m'); if (s) same(s, true); }); });
document.addEventListener('keydown', function (e) {
  var s = document.activeElement; if (!s.classList || !s.classList.contains('m')) return;
  var step = { ArrowDown: 1, ArrowUp: -1 }[e.key]; if (!step) return;
  var all = Array.prototype.slice.call(s.closest('pre').querySelectorAll('span.m')), next = all[all.indexOf(s) + step];
  if (next) { next.focus(); e.preventDefault(); } });
document.addEventListener('keydown', function (e) { if (e.key !== 'e' || e.ctrlKey || e.metaKey || e.altKey) return;
  var all = document.querySelectorAll('details.made');
  var open = Array.prototype.some.call(all, function (d) { return !d.open; });
  all.forEach(function (d) { d.open = open; }); });
function reveal() { var el = location.hash && document.getElementById(location.hash.slice(1));
  if (el && 'open' in el) el.open = true; }
addEventListener('hashchange', reveal); reveal();
"""


def html_report(session: Session) -> str:
    shown = in_order(session)
    body = ["<h1>What torch.compile made of this program</h1>",
            f"<p class=dim>{e(summary(session))} · torch {e(torch.__version__)}, Python {e(sys.version.split()[0])}</p>",
            "<p>In the order in which they ran first. Point at a line, or move to it with Tab and the arrows, to see what "
            "became of it; <kbd>e</kbd> opens and closes all.</p>", "<nav aria-label='compilations'><ol>"]
    body += [f"<li><a href='#c{index}'>{e(title_of(made))}</a>{badges(made)}</li>" for index, made in enumerate(shown)]
    body.append("</ol></nav><main>")
    body += [_section(session, made, index) for index, made in enumerate(shown)]
    found = list(problems(session))
    if found:
        body.append("<h2>Notes</h2>" + "".join(f"<pre><span class=l>{e(note)}</span></pre>" for note in found))
    body.append(f"</main><p class=dim>{e(HELP)}</p>")
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>torch.compile: {e(summary(session))}</title><style>{STYLE}</style></head>\n<body>"
            + "\n".join(body) + f"\n<script>{SCRIPT}</script></body></html>\n")


def e(text: object) -> str:
    return html.escape(str(text), quote=True)


def title_of(made: Compilation) -> str:
    return f"[{made.id}] {made.code.co_name if made.code is not None else 'not compiled'}"


def badges(made: Compilation) -> str:
    words = [f"<span class=bad>{e(b.reason)}</span>" for b in made.breaks]
    words += ["<span class=dim>compiled again</span>"] if made.recompiled else []
    words += ["<span class=dim>compiled before</span>"] if made.before else []
    return " · " + " · ".join(words) if words else ""


def _section(session: Session, made: Compilation, index: int) -> str:
    parts = [f"<details class=made id=c{index}{' open' if index < 4 else ''}>",
             f"<summary><h2>{e(title_of(made))}</h2>{badges(made)}</summary><div>"]
    function = function_of(session, made)
    if made.code is not None and function is not None:
        where = f"{made.code.co_filename}:{made.code.co_firstlineno}"
        where += f", continues {function.continues}" if function.continues else ""
        parts.append(f"<p class=dim>{e(' · '.join(filter(None, (where, runs_text(session, made), seconds(made), cache_text(made)))))}</p>")
    for reason in made.recompiled:
        parts.append(f"<p>Compiled again, for a guard failed: <code>{e(reason)}</code></p>")
    for broken in made.breaks:
        then = continued_by(session, made)
        parts.append(f"<p><span class=bad>Graph break</span> at {e(place(broken.file, broken.line))}: {e(broken.reason)}"
                     + (f". It goes on in {e(then)}." if then else "") + "</p>")
        parts.append("<blockquote class=dim>" + "<br>".join(e(hint) for hint in hints(broken.text)) + "</blockquote>")
    if function is not None and made.listing is not None:
        parts.append(_three(made, function, index))
        files = [(made.path, "generated function"), (made.guards_path, "guards"), (function.source_path, "original")]
        files += [(stage.path, stage.title + (", runs here" if stage.linked else "")) for stage in made.stages]
        parts.append("<ul class=files>" + "".join(f"<li><a href='{e(relative(session, path))}'>{e(what)}</a></li>"
                                                  for path, what in files if path) + "</ul>")
        if made.guards:
            rows = "".join(_line(n, guard.condition or guard.text, []) for n, guard in enumerate(made.guard_list(), 1))
            parts.append(f"<details><summary>guards</summary><pre>{rows}</pre></details>")
    return "".join(parts) + "</div></details>"


def main_stage(made: Compilation) -> Stage | None:
    linked = [stage for stage in made.stages if stage.linked]
    return (linked or made.stages or [None])[0]


@dataclass
class Column:
    """One of the three sources, and the user's lines that each of its lines comes from."""

    title: str
    first: int  # number of its first line
    rows: list[str]
    users: dict[int, list[int]]


def columns(made: Compilation, function: Function) -> list[Column]:
    """The user's source, the generated function, the graph."""
    assert made.listing is not None and made.code is not None
    source = function.source.rstrip("\n").split("\n")
    first = function.source_first_line
    written = Column("as written", first, source, {first + i: [first + i] for i in range(len(source))})
    stage = main_stage(made)
    graph = None
    if stage is not None:
        places = {line: number for line, (file, number) in (stage.user_lines or places_in(stage.text)).items()
                  if file == made.code.co_filename}
        text = stage.text.lstrip("\n")
        skipped = len(stage.text) - len(text)
        graph = Column(stage.title, stage.lines_before + skipped + 1, text.rstrip("\n").split("\n"),
                       {line + stage.lines_before: [number] for line, number in places.items()})
    rows = made.listing.source.rstrip("\n").split("\n")
    generated = Column("generated by Dynamo" + ("" if made.complete else " (instructions)"), made.lines_before + 1, rows, {})
    called = ""  # the name that the graph's function has, on the stack or off it
    for number, row in enumerate(rows, generated.first):
        found = re.search(r"(?:(\w+) = )?__compiled_fn_\d+(\(?)", row)
        called = found[1] or called if found else called
        if graph is not None and (found and found[2] or called and re.search(rf"\b{called}\(", row)):
            generated.users[number] = sorted({user for users in graph.users.values() for user in users})
        elif number in made.user_lines and made.user_lines[number] != made.code.co_firstlineno:
            generated.users[number] = [made.user_lines[number]]
    return [written, generated, *([graph] if graph else [])]


def _three(made: Compilation, function: Function, index: int) -> str:
    shown = "".join(f"<div><h3>{e(c.title)}</h3><pre id=p{index}_{i} tabindex=0>{_lines(c)}</pre></div>"
                    for i, c in enumerate(columns(made, function)))
    return f"<div class=three>{shown}</div>"


def side_by_side(session: Session, width: int = 56) -> str:
    """The same as text: each of the user's lines, and beside it what became of it."""
    parts = []
    for made in session.compilations:
        function = function_of(session, made)
        if function is None or made.listing is None:
            continue
        three = columns(made, function)
        groups = [_grouped(column, three[0]) for column in three]
        parts.append(f"\n{title_of(made)}")
        parts.append(" | ".join(column.title.ljust(width) for column in three).rstrip())
        parts.append("-+-".join("-" * width for _ in three))
        for line in range(three[0].first, three[0].first + len(three[0].rows)):
            cells = [group.get(line, []) for group in groups]
            for i in range(max(map(len, cells))):
                row = [cell[i] if i < len(cell) else "" for cell in cells]
                parts.append(" | ".join(_cut(text, width) for text in row).rstrip())
    return "\n".join(parts) + "\n" if parts else ""


def _cut(text: str, width: int) -> str:
    text = text.expandtabs()
    return (text if len(text) <= width else text[: width - 1] + "…").ljust(width)


def _grouped(column: Column, written: Column) -> dict[int, list[str]]:
    """Its lines by the user's line; what has none goes with what stands before it."""
    groups: dict[int, list[str]] = {}
    last = written.first + len(written.rows) - 1
    here = written.first
    for number, row in enumerate(column.rows, column.first):
        users = [user for user in column.users.get(number, []) if written.first <= user <= last]
        here = users[0] if users else here
        text = row.partition("  # ")[0] if column is not written else row
        if text.strip() or column is written:
            groups.setdefault(here, []).append(text)
    return groups


def _lines(column: Column) -> str:
    made = [_line(number, row, column.users.get(number, []))
            for number, row in enumerate(column.rows[:LINES_SHOWN], column.first)]
    if len(column.rows) > LINES_SHOWN:
        made.append(f"<span class=l><i>… {len(column.rows) - LINES_SHOWN} more lines in the file</i></span>")
    return "".join(made)


def _line(number: int, text: str, users: list[int]) -> str:
    code, mark, comment = text.partition("  # ")
    shown = e(code) + (f"<i>  # {e(comment)}</i>" if mark else "")
    if code.lstrip().startswith("#"):
        shown = f"<i>{e(text)}</i>"
    link = f" m' tabindex=0 data-u='{' '.join(map(str, users))}" if users else ""
    return f"<span class='l{link}'><b>{number:4} </b>{shown}</span>"
