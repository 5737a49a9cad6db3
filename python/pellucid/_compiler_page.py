"""What a session saw, as text and as a page: both in the order in which things ran first."""

from __future__ import annotations

import html
import linecache
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Iterator

import torch

from . import _recompiles as recompiles
from ._compiler_guards import simple
from ._compiler_session import Break, Compilation, Function, Session, Stage, places_in

LINES_SHOWN = 600  # of one source on the page; the file has all


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def summary(session: Session) -> str:
    made = [c for c in session.compilations if c.listing is not None]
    again = sum(bool(c.recompiled) for c in made)
    users = sum(not f.continues for f in session.functions)
    breaks = counted(sum(len(c.breaks) for c in session.compilations), "graph break")
    # A resume function follows a break. Of those from before the session nobody kept the reason.
    unexplained = sum(bool(f.continues) and all(c.before for c in f.compilations) for f in session.functions)
    if unexplained:
        breaks += f" and {unexplained} of before, whose reasons are gone"
    parts = [counted(users, "function"), counted(len(session.functions) - users, "resume function"),
             counted(len(made), "compilation"), breaks, counted(again, "recompilation")]
    failed = sum(c.failure is not None for c in session.compilations)
    return ", ".join(parts + ([counted(failed, "failure")] if failed else []))


def compiled_times(session: Session) -> dict[str, int]:
    """How often each function was compiled, by its name."""
    times: dict[str, int] = {}
    for made in session.compilations:
        name = recompiles.name_of(made)
        times[name] = times.get(name, 0) + 1
    return times


def relative(session: Session, path: str) -> str:
    return path.removeprefix(session.folder).lstrip(os.sep).replace(os.sep, "/")


def place(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}" if file else ""


def in_order(session: Session) -> list[Compilation]:
    """Compilations as they came; those that Dynamo gave up among them."""
    return [c for c in session.compilations if c.listing is not None or c.breaks or c.failure]


def function_of(session: Session, made: Compilation) -> Function | None:
    return session.function_of(made.code) if made.code is not None else None


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
    return f"{made.seconds:.2f} s" if made.seconds is not None else ""


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


# ---- words ----

def title_of(session: Session, made: Compilation) -> str:
    function = function_of(session, made)
    if function is None or made.code is None:
        return f"[{made.id}] {made.name or 'a function'}, not compiled"
    if function.continues:
        return f"[{made.id}] {function.continues}, resumed at line {made.code.co_firstlineno}"
    return f"[{made.id}] {made.code.co_name}"


def source_line(broken: Break) -> str:
    return linecache.getline(broken.file, broken.line).strip() if broken.file else ""


def hints(text: str) -> list[str]:
    found = re.findall(r"^\s*(?:Hint|Explanation): (.*)$", text, re.MULTILINE)
    return list(dict.fromkeys(" ".join(line.split()) for line in found))


def advice(text: str) -> str:
    """The first thing that torch says to do about it, if it says one; what it says of every break is none."""
    for hint in re.findall(r"^\s*Hint: (.*)$", text, re.MULTILINE):
        if not _NO_ADVICE.match(hint):
            return " ".join(re.split(r"(?<=[a-z)`])\. (?=[A-Z])", hint)[0].split()).rstrip(".") + "."
    return ""


_NO_ADVICE = re.compile(
    r"This graph break (is fundamental|may be difficult)|Please report|It may be possible to write Dynamo")


def why_again(reason: str) -> str:
    """torch: "0/1: condition   # the user's line  # place", perhaps with a stack trace behind it."""
    first = reason.strip().split("\n")[0]
    version, mark, said = first.partition(": ")
    if not mark or not re.fullmatch(r"[\d/!]+", version):
        version, said = "", first
    condition, *comments = (part.strip() for part in said.split("  # "))
    line = f" ({comments[0]})" if len(comments) > 1 else ""
    of = f" of [{version}]" if version else ""
    return f"a guard{of} failed: {simple(condition)}{line}"


# ---- text ----

def text_report(session: Session, *, with_files: bool = True) -> str:
    """All that is in the directory, or (without files) what happened."""
    lines = ["What torch.compile made of this program", f"torch {torch.__version__}, Python {sys.version.split()[0]}",
             "", summary(session), "", "In the order in which they ran first:", ""]
    explained: dict[tuple[str, str, int], str] = {}  # breaks -> the compilation that gives their reason
    for made in in_order(session):
        lines += [*_text_of(session, made, explained, with_files), ""]
    if session.causes():
        lines += ["Why functions were compiled again, the most frequent first:", ""]
        lines += [f"  {line}".rstrip() for line in recompiles.say(session.causes(), compiled_times(session))]
    found = list(problems(session))
    if found:
        lines += ["Notes:", *("  " + note.replace("\n", "\n  ") for note in found), ""]
    if with_files:
        lines += [HELP.rstrip()]
    return "\n".join(lines) + "\n"


HELP = """\
How to step through it: the __transformed_code files and the graphs marked "runs here" are linked to what runs. Set
breakpoints in them (pdb: `b FILE:LINE`; or in your editor), call the compiled function again inside
`with pellucid.debug():`, and step. Inductor's output code runs from the file that its first lines name. full_code files
have all of one function in one place, for reading.
"""


def _text_of(session: Session, made: Compilation, explained: dict[tuple[str, str, int], str],
             with_files: bool) -> Iterator[str]:
    function = function_of(session, made)
    if function is None or made.code is None:
        yield title_of(session, made)
    else:
        early = ", compiled before the context was entered" if made.before else ""
        yield f"{title_of(session, made)}  {place(made.code.co_filename, made.code.co_firstlineno)}{early}"
        rows = [("ran", runs_text(session, made)), ("caches", cache_text(made)), ("time", seconds(made))]
        rows = [*_files_of(session, made, function), *rows] if with_files else rows
        yield from (f"    {name:12}{value}" for name, value in rows if value)
    yield from (f"    compiled again, for {why_again(reason)}" for reason in made.recompiled)
    if made.failure is not None:
        where = place(made.failure.file, made.failure.line) or "a reason of its own"
        yield f"    not compiled, for {where}: {made.failure.reason}"
        yield from _lines_about(made.failure)
    then = continued_by(session, made)
    for broken in made.breaks:
        where = place(broken.file, broken.line)
        first = explained.setdefault((broken.reason, broken.file, broken.line), made.id)
        said = broken.reason if first == made.id else f"as in [{first}]"
        yield f"    graph break at {where}: {said}" + (f" (goes on in {then})" if then else "")
        yield from _lines_about(broken) if first == made.id else ()


def _files_of(session: Session, made: Compilation, function: Function) -> Iterator[tuple[str, str]]:
    yield "written as", relative(session, function.source_path)
    yield "runs as", relative(session, made.path)
    if made.guards_path:
        yield "guards", f"{relative(session, made.guards_path)} ({len(made.guard_list())})"
    for stage in made.stages:
        what = "code" if stage.kind == "inductor_output_code" else "graph"
        yield what, f"{relative(session, stage.path)}  {stage.title}{', runs here' if stage.linked else ''}"


def _lines_about(broken: Break) -> Iterator[str]:
    yield from (f"        {line}" for line in (source_line(broken), advice(broken.text)) if line)


# ---- page ----

STYLE = """
:root { color-scheme: light dark; --back: #fff; --fore: #1c2128; --dim: #5f6b7a; --line: #d8dee6; --mark: #fff3c4;
  --card: #f6f8fa; --link: #0b57d0; --bad: #a4262c; --badback: #fdecea; --word: #8250df; --text: #0a6b3b;
  --number: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --back: #14171c; --fore: #dbe2ea; --dim: #95a1b0; --line: #313842;
  --mark: #4a3f12; --card: #1c2128; --link: #8ab4f8; --bad: #ff8f8f; --badback: #3a1e20; --word: #d2a8ff;
  --text: #7ee2a8; --number: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 120rem; background: var(--back); color: var(--fore);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 0; display: inline; }
header p { margin: .3rem 0; } a { color: var(--link); } .dim { color: var(--dim); } .bad { color: var(--bad); }
code, pre { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3em; }
.badge { display: inline-block; font-size: .78rem; line-height: 1.4; padding: 0 .5em; border-radius: 1em;
  color: var(--dim); border: 1px solid var(--line); vertical-align: middle; }
.badge.bad { color: var(--bad); background: var(--badback); border-color: transparent; }
nav { margin: 1rem 0; } nav ol { padding: 0; margin: 0; list-style: none; columns: 26rem; }
nav li { break-inside: avoid; }
details.made { border: 1px solid var(--line); border-radius: 8px; margin: .8rem 0; background: var(--card); }
details.made > summary { padding: .6rem .9rem; cursor: pointer; } details.made > div { padding: 0 .9rem .9rem; }
details.made > div > p { margin: .2rem 0 .6rem; }
.broken { border-left: 3px solid var(--bad); padding: .1rem .8rem; margin: .6rem 0; } .broken p { margin: .2rem 0; }
.broken code { background: var(--badback); padding: .1em .3em; border-radius: 3px; }
.broken details p { color: var(--dim); max-width: 60rem; }
.broken summary, .guards summary { cursor: pointer; color: var(--dim); }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: .8rem; align-items: start; }
.three > div { min-width: 0; } .three h3 { font-size: .85rem; margin: .4rem 0; font-weight: 600; }
pre { margin: 0; border: 1px solid var(--line); border-radius: 6px; background: var(--back); overflow: auto;
  max-height: 36rem; padding: .4rem 0; }
pre span.l { display: block; padding: 0 .8rem 0 .2rem; min-height: 1.5em; white-space: pre; width: max-content;
  min-width: 100%; }
pre span.l.m { cursor: pointer; } pre span.l.x { background: var(--badback); }
pre span.l.on { background: var(--mark); }
pre span.l:focus { outline: 2px solid var(--link); outline-offset: -2px; }
pre i { color: var(--dim); font-style: normal; } pre b { color: var(--dim); font-weight: normal; user-select: none; }
pre em { color: var(--word); font-style: normal; } pre q { color: var(--text); quotes: none; }
pre u { color: var(--number); text-decoration: none; }
p.files { font-size: .85rem; margin: .6rem 0 0 !important; } .guards { margin-top: .4rem; }
footer { border-top: 1px solid var(--line); margin-top: 1.5rem; max-width: 60rem; }
"""

SCRIPT = r"""
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
var words = 'and as assert async await break class continue def del elif else except finally for from global if '
  + 'import in is lambda nonlocal not or pass raise return try while with yield None True False';
var token = new RegExp('("[^"]*"|\'[^\']*\')|\\b(' + words.split(' ').join('|') + ')\\b|\\b(\\d[\\w.]*)\\b', 'g');
document.querySelectorAll('pre span.l').forEach(function (line) {
  line.childNodes.forEach(function (part) { if (part.nodeType !== 3) return;
    var made = document.createElement('span'), text = part.data, at = 0, found; token.lastIndex = 0;
    while ((found = token.exec(text))) { made.append(text.slice(at, found.index));
      var el = document.createElement(found[1] ? 'q' : found[2] ? 'em' : 'u'); el.textContent = found[0];
      made.append(el); at = found.index + found[0].length; }
    if (at) { made.append(text.slice(at)); part.replaceWith(made); } }); });
"""


def html_report(session: Session) -> str:
    shown = in_order(session)
    body = ["<header><h1>What torch.compile made of this program</h1>",
            f"<p>{e(summary(session))} <span class=dim>· torch {e(torch.__version__)}, Python "
            f"{e(sys.version.split()[0])}</span></p>",
            "<p class=dim>In the order in which they ran first. Point at a line, or move to it with Tab and the "
            "arrows, to see what became of it; <kbd>e</kbd> opens and closes all.</p></header>",
            "<nav aria-label='compilations'><ol>"]
    body += [f"<li><a href='#c{index}'>{e(title_of(session, made))}</a>{badges(made)}</li>"
             for index, made in enumerate(shown)]
    body.append("</ol></nav><main>")
    places = {made.id: index for index, made in reversed(list(enumerate(shown)))}
    body += [_section(session, made, index, places) for index, made in enumerate(shown)]
    if session.causes():
        said = "\n".join(recompiles.say(session.causes(), compiled_times(session)))
        body.append(f"<h2>Why functions were compiled again</h2><pre class=causes>{_with_links(said, places)}</pre>")
    found = list(problems(session))
    if found:
        body.append("<h2>Notes</h2>" + "".join(f"<pre><span class=l>{e(note)}</span></pre>" for note in found))
    body.append(f"</main><footer class=dim><p>{e(HELP)}</p></footer>")
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>torch.compile: {e(summary(session))}</title><style>{STYLE}</style></head>\n<body>"
            + "\n".join(body) + f"\n<script>{SCRIPT}</script></body></html>\n")


def e(text: object) -> str:
    return html.escape(str(text), quote=True)


def badges(made: Compilation) -> str:
    words = [f"<span class='badge bad'>{e(b.reason)}</span>" for b in [*made.breaks, *filter(None, [made.failure])]]
    words += ["<span class=badge>compiled again</span>"] if made.recompiled else []
    words += ["<span class=badge>compiled before</span>"] if made.before else []
    return " " + " ".join(words) if words else ""


def _section(session: Session, made: Compilation, index: int, places: dict[str, int]) -> str:
    parts = [f"<details class=made id=c{index}{' open' if index < 4 else ''}>",
             f"<summary><h2>{e(title_of(session, made))}</h2>{badges(made)}</summary><div>"]
    function = function_of(session, made)
    if made.code is not None and function is not None:
        where = f"{made.code.co_filename}:{made.code.co_firstlineno}"
        facts = " · ".join(filter(None, (where, runs_text(session, made), seconds(made), cache_text(made))))
        parts.append(f"<p class=dim>{e(facts)}</p>")
    parts += [f"<p>Compiled again, for {_with_links(why_again(reason), places)}.</p>" for reason in made.recompiled]
    if made.failure is not None:
        parts.append(_about(made.failure, "Not compiled", ""))
    then = _with_links(continued_by(session, made), places)
    parts += [_about(broken, "Graph break", then) for broken in made.breaks]
    if function is not None and made.listing is not None:
        parts.append(_three(made, function, index))
        files = [(made.path, "generated function"), (made.guards_path, "guards"), (function.source_path, "original")]
        files += [(stage.path, stage.title + (", runs here" if stage.linked else "")) for stage in made.stages]
        parts.append("<p class=files>Files: " + " · ".join(f"<a href='{e(relative(session, path))}'>{e(what)}</a>"
                                                           for path, what in files if path) + "</p>")
        if made.guards:
            rows = "".join(_line(n, guard.condition or f"# {guard.text}", [])
                           for n, guard in enumerate(made.guard_list(), 1))
            count = counted(len(made.guard_list()), "guard")
            parts.append(f"<details class=guards><summary>{count}</summary><pre>{rows}</pre></details>")
    return "".join(parts) + "</div></details>"


def _about(broken: Break, what: str, then: str) -> str:
    """A break: where, why, and what torch says about it."""
    where = f" at {e(place(broken.file, broken.line))}" if broken.file else ""
    line = f" <code>{e(source_line(broken))}</code>" if source_line(broken) else ""
    more = "".join(f"<p>{e(hint)}</p>" for hint in hints(broken.text))
    more = f"<details><summary>what torch says about it</summary>{more}</details>" if more else ""
    return (f"<div class=broken><p><strong class=bad>{what}</strong>{where}:{line} {e(broken.reason)}"
            + (f". It goes on in {then}." if then else "") + f"</p>{more}</div>")


def _with_links(text: str, places: dict[str, int]) -> str:
    """[0/1] leads to its section."""
    return re.sub(r"\[([\d/!]+)\]", lambda found: f"<a href='#c{places[found[1]]}'>{found[0]}</a>" if found[1] in places
                  else found[0], e(text))


def main_stage(made: Compilation) -> Stage | None:
    linked = [stage for stage in made.stages if stage.linked]
    stages = linked or made.stages
    return stages[0] if stages else None


@dataclass
class Column:
    """One of the three sources, and the user's lines that each of its lines comes from."""

    title: str
    first: int  # number of its first line
    rows: list[str]
    users: dict[int, list[int]]
    broken: set[int] = field(default_factory=set)  # lines where the graph breaks


def columns(made: Compilation, function: Function) -> list[Column]:
    """The user's source, the generated function, the graph."""
    assert made.listing is not None and made.code is not None
    source = function.source.rstrip("\n").split("\n")
    first = function.source_first_line
    written = Column("as written", first, source, {first + i: [first + i] for i in range(len(source))},
                     {broken.line for broken in [*made.breaks, *filter(None, [made.failure])]
                      if broken.file == made.code.co_filename})
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
    generated = Column("generated by Dynamo" + ("" if made.complete else " (instructions)"),
                       made.lines_before + 1, rows, {})
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
        parts.append(f"\n{title_of(session, made)}")
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
    """Its lines by the user's line; a line that has none goes with the one before it."""
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
    made = [_line(number, row, column.users.get(number, []), number in column.broken)
            for number, row in enumerate(column.rows[:LINES_SHOWN], column.first)]
    if len(column.rows) > LINES_SHOWN:
        made.append(f"<span class=l><i>… {len(column.rows) - LINES_SHOWN} more lines in the file</i></span>")
    return "".join(made)


def _line(number: int, text: str, users: list[int], is_broken: bool = False) -> str:
    code, mark, comment = text.partition("  # ")
    shown = e(code) + (f"<i>  # {e(comment)}</i>" if mark else "")
    if code.lstrip().startswith("#"):
        shown = f"<i>{e(text)}</i>"
    link = f" m' tabindex=0 data-u='{' '.join(map(str, users))}" if users else ""
    return f"<span class='l{' x' if is_broken else ''}{link}'><b>{number:4} </b>{shown}</span>"
