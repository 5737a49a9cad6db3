"""What a session saw, as text and as a page: both in the order in which things ran first."""

from __future__ import annotations

import html
import linecache
import os
import re
from typing import Iterator

from . import _compiler_time as times
from . import _recompiles as recompiles
from ._compiler_columns import Column, columns, fold_text, kernels_of, side_by_side
from ._compiler_guards import simple
from ._compiler_kernels import Place
from ._compiler_session import Break, Compilation, Function, Session

__all__ = ["html_report", "side_by_side", "text_report", "why_again"]

LINES_SHOWN = 600  # of one source on the page; the file has all
MOST_LINKS = 400  # places of one line
MOST_SHOWN = 300  # compilations whose sources are on the page


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def summary(session: Session) -> str:
    made = [c for c in session.compilations if c.compiled]
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
    """Compilations as they came, those that Dynamo gave up among them; what is not in use any more comes last."""
    shown = [c for c in session.compilations if c.compiled or c.breaks or c.failure or c.is_open]
    return sorted(shown, key=lambda c: c.is_stale)


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
    yield from session.remarks
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
    if broken.code is not None:
        return broken.code
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
    lines = ["What torch.compile made of this program", session.versions(), "", summary(session), "",
             "In the order in which they ran first:", ""]
    explained: dict[tuple[str, str, int], str] = {}  # breaks -> the compilation that gives their reason
    for made in in_order(session):
        lines += [*_text_of(session, made, explained, with_files), ""]
    if session.causes():
        lines += ["Why functions were compiled again, the most frequent first:", ""]
        lines += [f"  {line}".rstrip() for line in recompiles.say(session.causes(), compiled_times(session))]
    told = times.say(session)
    lines += [*told, ""] if told else []
    found = list(problems(session))
    if found:
        lines += ["Notes:", *("  " + note.replace("\n", "\n  ") for note in found), ""]
    if with_files:
        lines += [(HELP if session.has_sources else TRACE_HELP).rstrip()]
    return "\n".join(lines) + "\n"


HELP = """\
How to step through it: the __transformed_code files and the graphs marked "runs here" are linked to what runs. Set
breakpoints in them (pdb: `b FILE:LINE`; or in your editor), call the compiled function again inside
`with pellucid.debug():`, and step. Inductor's output code runs from the file that its first lines name. full_code files
have all of one function in one place, for reading.
"""


TRACE_HELP = """\
Read from a log: nothing of it was executed here, and no file that it names was opened. Of the source as written there
are the lines that the log quotes.
"""


def _text_of(session: Session, made: Compilation, explained: dict[tuple[str, str, int], str],
             with_files: bool) -> Iterator[str]:
    function = function_of(session, made)
    if function is None or made.code is None:
        yield title_of(session, made)
    else:
        early = ", compiled before the context was entered" if made.before else ""
        early += ", not finished in the log" if made.is_open else ""
        early += ", not in use since torch._dynamo.reset()" if made.is_stale else ""
        yield f"{title_of(session, made)}  {place(made.code.co_filename, made.code.co_firstlineno)}{early}"
        rows = [("ran", runs_text(session, made)), ("caches", cache_text(made)), ("time", seconds(made))]
        rows = [*_files_of(session, made, function), *rows] if with_files else rows
        yield from (f"    {name:12}{value}" for name, value in rows if value)
        yield from (f"    {'kernel':12}{text}" for text in kernel_lines(session, made))
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
    if made.path:
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
pre span.l.h { display: none; } pre span.l.h.open { display: block; } pre span.l.f { cursor: pointer; }
.wide { overflow-x: auto; } table.time { border-collapse: collapse; font-size: .85rem; }
table.time td { text-align: right; font-variant-numeric: tabular-nums; }
table.time th, table.time td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); }
table.time th[scope] { text-align: left; font-weight: normal; } td.bar { min-width: 16rem; white-space: nowrap;
  text-align: left !important; } td.bar i { display: inline-block; height: .8em; }
.t0 { background: #4269d0; } .t1 { background: #efb118; } .t2 { background: #ff725c; } .t3 { background: #6cc5b0; }
.t4 { background: #3ca951; } .t5 { background: #ff8ab7; } .t6 { background: #a463f2; } .t7 { background: #9c6b4e; }
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
function unfold(e) { var s = e.target.closest && e.target.closest('span.f'); if (!s) return;
  if (e.key && e.key !== 'Enter' && e.key !== ' ') return; if (e.key) e.preventDefault();
  var open = s.getAttribute('aria-expanded') === 'false'; s.setAttribute('aria-expanded', open);
  for (var n = s.nextElementSibling; n && n.classList.contains('h'); n = n.nextElementSibling)
    n.classList.toggle('open', open); }
document.addEventListener('click', unfold); document.addEventListener('keydown', unfold);
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


def html_report(*sessions: Session) -> str:
    """A page of one session, or of several: the logs of a directory."""
    body = ["<header><h1>What torch.compile made of this program</h1>",
            "<p class=dim>In the order in which they ran first. Point at a line, or move to it with Tab and the "
            "arrows, to see what became of it; <kbd>e</kbd> opens and closes all.</p></header>"]
    index = 0
    for session in sessions:
        body += _session_body(session, index)
        index += len(in_order(session))
    live = any(session.has_sources for session in sessions)
    body.append(f"<footer class=dim><p>{e(HELP if live else TRACE_HELP)}</p></footer>")
    title = summary(sessions[0]) if len(sessions) == 1 else f"{len(sessions)} logs"
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>torch.compile: {e(title)}</title><style>{STYLE}</style></head>\n<body>"
            + "\n".join(body) + f"\n<script>{SCRIPT}</script></body></html>\n")


def _session_body(session: Session, index: int) -> list[str]:
    shown = list(enumerate(in_order(session), index))
    body = [f"<p>{e(summary(session))} <span class=dim>· {e(session.versions())}</span></p>",
            "<nav aria-label='compilations'><ol>"]
    body += [f"<li><a href='#c{number}'>{e(title_of(session, made))}</a>{badges(made)}</li>" for number, made in shown]
    body.append("</ol></nav><main>")
    places = {made.id: number for number, made in reversed(shown)}
    body += [_section(session, made, number, places) for number, made in shown]
    body.append(_time_section(session))
    if session.causes():
        said = "\n".join(recompiles.say(session.causes(), compiled_times(session)))
        body.append(f"<h2>Why functions were compiled again</h2><pre class=causes>{_with_links(said, places)}</pre>")
    found = list(problems(session))
    if found:
        body.append("<h2>Notes</h2>" + "".join(f"<pre><span class=l>{e(note)}</span></pre>" for note in found))
    return [*body, "</main>"]


def e(text: object) -> str:
    return html.escape(str(text), quote=True)


def badges(made: Compilation) -> str:
    words = [f"<span class='badge bad'>{e(b.reason)}</span>" for b in [*made.breaks, *filter(None, [made.failure])]]
    words += ["<span class=badge>compiled again</span>"] if made.recompiled else []
    words += ["<span class=badge>compiled before</span>"] if made.before else []
    words += ["<span class=badge>not finished in the log</span>"] if made.is_open else []
    words += ["<span class=badge>not in use since reset</span>"] if made.is_stale else []
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
    if function is not None and (made.listing is not None or made.stages):
        parts.append(_three(session, made, function, index) if index < MOST_SHOWN else
                     f"<p class=dim>Only {MOST_SHOWN} compilations have their sources here: see the files.</p>")
        parts.append(_kernels_section(session, made))
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


def _three(session: Session, made: Compilation, function: Function, index: int) -> str:
    shown = columns(session, made, function)
    places: dict[Place, int] = {}  # what the lines have in common, by a number
    for column in shown:
        for line in column.lines:
            line.users = line.users[:MOST_LINKS]
            for place in line.users:
                places.setdefault(place, len(places))
    boxes = "".join(f"<div><h3>{e(c.title)}</h3><pre id=p{index}_{i} tabindex=0>{_lines(c, places)}</pre></div>"
                    for i, c in enumerate(shown))
    return f"<div class=three>{boxes}</div>"


def _lines(column: Column, places: dict[Place, int]) -> str:
    made, hidden = [], 0
    for line in column.lines[:LINES_SHOWN]:
        if line.fold:
            made.append(f"<span class='l f' tabindex=0 role=button aria-expanded=false><b>   ▸ </b><i>"
                        f"{e(fold_text(line))}</i></span>")
            hidden = line.fold
        made.append(_line(line.number, line.text, [places[place] for place in line.users], line.is_broken, hidden > 0))
        hidden -= 1
    if len(column.lines) > LINES_SHOWN:
        made.append(f"<span class=l><i>… {len(column.lines) - LINES_SHOWN} more lines in the file</i></span>")
    return "".join(made)


def _line(number: int, text: str, users: list[int], is_broken: bool = False, is_folded: bool = False) -> str:
    code, mark, comment = text.partition("  # ")
    shown = e(code) + (f"<i>  # {e(comment)}</i>" if mark else "")
    if code.lstrip().startswith("#"):
        shown = f"<i>{e(text)}</i>"
    link = f" m' tabindex=0 data-u='{' '.join(map(str, users))}" if users else ""
    kinds = f"{' x' if is_broken else ''}{' h' if is_folded else ''}"
    return f"<span class='l{kinds}{link}'><b>{number or '':4} </b>{shown}</span>"


# ---- where the time went ----

def _time_section(session: Session) -> str:
    made, (used, table) = session.timeline(), times.rows(session)
    if not made.spans:
        return ""
    longest = max((row.total for row in table), default=0) or 1
    head = "".join(f"<th title='{e(times.HELP.get(part, ''))}'>{e(part)}</th>" for part in used)
    body = []
    for row in table:
        bars = "".join(f"<i class='t{(used.index(part)) % 8}' style='width:{100 * value / longest:.2f}%' "
                       f"title='{e(part)} {value:.2f} s'></i>" for part, value in row.parts.items() if value > 0)
        cells = "".join(f"<td>{row.parts.get(part, 0):.2f}</td>" for part in used)
        said = "".join(f"<br><span class=dim>{e(text)}</span>" for text in row.sizes if text)
        body.append(f"<tr><th scope=row>{e(row.name)}{said}</th><td>{row.total:.2f}</td>{cells}"
                    f"<td class=bar>{bars}</td></tr>")
    phases = "".join(f"<li>{seconds:.2f} s {e(name)}{f' ({n} times)' if n > 1 else ''}</li>"
                     for name, seconds, n in made.longest())
    said = "".join(f"<p class=bad>{e(note)}</p>" for note in times.notes(made))
    return (f"<h2>Where the time went</h2><p class=dim>Seconds; the time of a part is without that of parts inside of "
            f"it, so that rows add up.</p>{said}<div class=wide><table class=time><thead><tr><th></th><th>total</th>"
            f"{head}<th></th></tr></thead><tbody>{''.join(body)}</tbody></table></div>"
            f"<details><summary>the phases that took most</summary><ol>{phases}</ol></details>")


def _kernels_section(session: Session, made: Compilation) -> str:
    rows = "".join(f"<li>{e(text)}</li>" for text in kernel_lines(session, made))
    return f"<details class=guards><summary>kernels</summary><ul>{rows}</ul></details>" if rows else ""


def kernel_lines(session: Session, made: Compilation) -> Iterator[str]:
    """Each kernel of Inductor's, the user's lines that it computes, and who says so."""
    for code in made.stages:
        for kernel in kernels_of(made, code) if code.kind == "inductor_output_code" else []:
            places = ", ".join(place(*where) for where in kernel.places) or "lines not known"
            here = "" if session.has_sources or not kernel.first else ", not run here"
            at = f" line {kernel.first}" if kernel.first else ""
            how = f" (by {kernel.how})" if kernel.how else ""
            yield f"{kernel.name} ({kernel.language}{here}){at}: {places}{how}"
