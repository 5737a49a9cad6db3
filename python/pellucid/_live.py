"""What the program `pellucid` needs a live Python for: skeleton, diff, tree, sketch, explain, survey, demo.

The program starts this with the arguments that it was given; its tables of options have the same names.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
from typing import Any, Callable, Iterator, NoReturn

from ._progress import Progress

COLOUR = re.compile("(\033\\[[0-9;]*m)")
FINE, BAD_USAGE, BAD_INPUT, INCOMPLETE, FOUND = range(5)

SKELETON_HELP = """\
examples:
  pellucid skeleton timm:resnet18 -o resnet18.py
  pellucid skeleton hf:bert --json
  pellucid skeleton my_model.py:build --input 2x3x64x64 -o model.py
  pellucid skeleton 'package.models:Net(width=32)' --input ids=2x12:int64<100 --input mask=2x12:bool
  pellucid skeleton -o model.py -- python quickstart.py --steps 2
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        program, _, command = self.prog.partition(" ")
        print(f"{self.prog}: {message}\nTry: {program} help {command}".rstrip(), file=sys.stderr)
        raise SystemExit(BAD_USAGE)


def make_parser() -> Parser:
    parser = Parser(prog="pellucid", description="What pellucid needs a live Python for.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)

    def add(name: str, help: str, **more: Any) -> Parser:
        command = commands.add_parser(name, help=help, description=help,
                                      formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        return command

    def add_model(command: Parser, spec: str = "spec", **how: Any) -> None:
        command.add_argument(spec, metavar="SPEC", **how,
                             help="file.py:callable, package.module:callable(args), timm:NAME, "
                                                          "hf:CONFIG.json or hf:MODEL_TYPE")
        command.add_argument("--input", action="append", default=[], metavar="[NAME=]1x3x224x224[:DTYPE][<N]",
                             help="a tensor of random values; may be given several times")
        command.add_argument("--inputs", metavar="FILE.py:CALLABLE", help="a callable that returns the inputs")
        command.add_argument("--json", action="store_true", help="a report for programs, on standard output")

    command = add("skeleton", "record a model and write the program that ran", epilog=SKELETON_HELP)
    add_model(command, nargs="?")
    command.add_argument("--list", action="store_true", help="of a script: only list the models that it calls")
    command.add_argument("--pick", metavar="NAME", help="of a script: the model with this name (the largest)")
    command.add_argument("--calls", type=int, metavar="N",
                         help="of a script: watch the first N calls; it goes on unwatched")
    command.add_argument("--stop", action="store_true", help="of a script: end it after --calls N")
    command.add_argument("-o", "--output", metavar="FILE", help="where the source goes (standard output)")
    command.add_argument("--html", metavar="FILE",
                         help="write a page: the hierarchy with the skeleton's classes beside it")
    command.add_argument("--call", action="append", default=[], metavar="METHOD(INPUT, ...)",
                         help="record this call of a method instead; may be given several times. An input is a shape, "
                              "as for --input, or a literal")
    command.add_argument("--module", metavar="PATH", help="only this part of the model, as encoder.layer.0")
    command.add_argument("--leaf", action="append", default=[], metavar="PACKAGE.CLASS",
                         help="a class to keep as it is; the skeleton imports it")
    command.add_argument("--no-more", "--given-only", dest="given_only", action="store_true",
                         help="record the given call alone, make no further runs")
    command.add_argument("--no-verify", action="store_true", help="don't compare the skeleton with the model")
    command.add_argument("--verify", choices=("default", "full"), default="default",
                         help="which checks are made; full: every one of the table")
    command.add_argument("--prove", action="store_true",
                         help="compare the ATen calls of both forwards for all sizes, too")
    command.add_argument("--device", choices=("meta",),
                         help="meta: without values, of a model too large to run; compared by its calls of ATen")
    command.add_argument("--config", action="store_true",
                         help="build the model in other sizes, too: those that can change become fields of a Config")
    command.add_argument("--also", action="append", default=[], metavar="SPEC",
                         help="with --config: another model of this class that the file must be, too; may be given "
                              "several times")
    command.add_argument("--init", action="store_true",
                         help="build the model again and write its parameters' first values as a function")
    command.add_argument("--shapes", choices=("none", "few", "all"), default="none",
                         help="shapes in comments, as every run showed them; few: where a reader asks for them (none)")
    command.add_argument("--origins", choices=("none", "line"), default="none",
                         help="line: above each class and function, the file and line that it is from (none)")
    command.add_argument("--map", metavar="FILE",
                         help="write a table, as JSON: lines of the skeleton and the lines that they are from")
    command.add_argument("--dump", metavar="PASS", choices=("config",),
                         help="of a trace: the program after a pass; config: which numbers --config found to be what")
    command.add_argument("--no-strict", "--anyway", dest="anyway", action="store_true",
                         help="write the skeleton even if it differs from the model")
    command.add_argument("-v", "--verbose", action="store_true", help="show every check, not one line for all")
    command.add_argument("--save-trace", metavar="FILE",
                         help="keep the log of the runs; `pellucid skeleton FILE` reads it")

    command = add("verify", "make the runs that a skeleton's file claims again, against its model")
    command.add_argument("file", metavar="FILE", help="a skeleton")
    add_model(command, "--against", required=True, dest="spec")
    command.add_argument("--call", action="append", default=[], metavar="METHOD(INPUT, ...)",
                         help="a call that FILE was made of; may be given several times")
    command.add_argument("--module", metavar="PATH", help="the part of the model that FILE is a skeleton of")
    command.add_argument("--full", action="store_true", default=None, help="every check of the table")

    command = add("diff", "what differs between two models' skeletons, class by class")
    command.add_argument("a", metavar="A", help="a SPEC, or a skeleton's file")
    command.add_argument("b", metavar="B")
    command.add_argument("--input", action="append", default=[], metavar="[NAME=]1x3x224x224[:DTYPE][<N]",
                         help="a tensor of random values, for both; may be given several times")
    command.add_argument("--inputs", metavar="FILE.py:CALLABLE", help="a callable that returns the inputs of both")
    command.add_argument("--html", metavar="FILE", help="write a page, too")
    command.add_argument("--json", action="store_true", help="a report for programs, on standard output")

    command = add("tree", "the hierarchy of a model: classes, shapes, repeats folded")
    add_model(command)
    command.add_argument("--table", action="store_true", help="output shapes, parameters and multiply-adds instead")
    command.add_argument("--svg", metavar="FILE", help="write a picture")
    command.add_argument("--html", metavar="FILE", help="write a page to open and search")
    command.add_argument("--depth", type=int, default=0, metavar="N", help="levels to show below the root (all)")
    command.add_argument("--unfolded", action="store_true", help="every repeated block, not one for all")

    command = add("sketch", "the author's source files, cut to the lines that ran")
    add_model(command, nargs="?")
    command.add_argument("--package", action="append", default=[], metavar="NAME",
                         help="of a script: cut this installed package, too")
    command.add_argument("-o", "--output", metavar="DIR", required=True, help="where the files go")

    command = add("explain", "what torch.compile makes of a model, and where it breaks")
    add_model(command, nargs="?")
    command.add_argument("--trace", metavar="DIR", help="read what torch.compile logged with TORCH_TRACE=DIR instead")
    command.add_argument("--timeline", metavar="FILE", help="write where the time went, for chrome://tracing")
    command.add_argument("-o", "--output", metavar="DIR", help="keep all sources, graphs and guards there")
    command.add_argument("--html", metavar="FILE", help="write a page instead: the sources side by side, lines matched")
    command.add_argument("--backend", default="eager", metavar="NAME", help="of torch.compile (eager)")
    command.add_argument("--vary", action="store_true", help="call it with other batch sizes and lengths, too")
    command.add_argument("--try", dest="attempt", action="store_true",
                         help="make the calls again under each setting that could stop a recompilation")
    command.add_argument("--numerics", action="store_true",
                         help="compare the numbers of each stage, bit by bit, instead")

    command = add("survey", "look at many model files, wherever they are: a table with a row each")
    command.add_argument("sources", metavar="FILE|FOLDER|ADDRESS", nargs="+")
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="the table: .parquet or .jsonl")
    command.add_argument("--tensors", metavar="FILE", help="a second table: every tensor")
    command.add_argument("--match", action="append", default=[], metavar="GLOB", help="only files whose names fit")
    command.add_argument("--fits", metavar="SOURCE.py", help="a column: whether the tensors are those of its network")
    command.add_argument("--engine", default="local", choices=("local", "ray"))
    command.add_argument("--workers", type=int, default=32, metavar="N", help="requests at the same time")
    command.add_argument("--processes", type=int, default=1, metavar="N")
    command.add_argument("--seconds", type=float, default=120.0, metavar="N", help="for the requests of one file")
    command.add_argument("--insecure", action="store_true", help="http:// is allowed, too")
    command.add_argument("--json", action="store_true", help="a report for programs, on standard output")

    command = add("serve", "the model files of a folder, in a browser")
    command.add_argument("path", metavar="FOLDER|FILE", nargs="?", default=".")
    command.add_argument("--port", type=int, default=0, metavar="N", help="the port (any that is free)")
    command.add_argument("--no-open", dest="open", action="store_false", help="don't open a browser")

    command = add("demo", "look into a built-in model: its tree, its skeleton, both side by side")
    command.add_argument("-o", "--output", metavar="DIR", default=".", help="where skeleton and page go (here)")
    command.add_argument("--width", type=int, help="columns to use (those of the terminal)")
    return parser


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Models print; what we write to standard output must stay ours alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def load_subject(options: argparse.Namespace, with_inputs: bool) -> Any:
    from . import _specs
    subject = _specs.load(options.spec, getattr(options, "device", None))
    if with_inputs and (options.input or options.inputs or not getattr(options, "call", ())):
        _specs.give_inputs(subject, options.input, options.inputs)
    elif with_inputs:  # calls of methods alone
        subject.args, subject.kwargs = (), {}
    return subject


def methods_of(options: argparse.Namespace) -> list[tuple[str, Any]] | None:
    from . import _specs
    return [_specs.parse_call(text) for text in options.call] or None


def run_skeleton(options: argparse.Namespace) -> int:
    from ._specs import SpecError
    if options.script:
        if options.device:
            raise SpecError("a script runs its model with values: leave out --device meta", usage=True)
        if options.config or options.also or options.dump or options.init:
            option = "--init" if options.init else "--config"
            raise SpecError(f"{option} builds the model again, and only a SPEC says how", usage=True)
        return run_script(options)
    if options.spec is None:
        raise SpecError("name a model, or a script: -- python SCRIPT.py", usage=True)
    if os.path.isfile(options.spec):
        return run_recover(options)
    if options.device and (options.prove or options.verify == "full"):
        raise SpecError("--device meta compares calls at the sizes that are tried: leave out --prove and --verify=full",
                        usage=True)
    if options.list or options.pick or options.stop or options.calls is not None:
        raise SpecError("--list, --pick, --calls and --stop are for scripts: -- python SCRIPT.py", usage=True)
    with stdout_kept(), Progress() as progress:
        progress("building the model")
        subject = load_subject(options, with_inputs=True)
        made = make_skeleton(options, subject, [] if options.given_only else None, progress)
        give_values(options, subject, made, progress)
        dump = give_config(options, subject, made, progress) if options.config or options.also or options.dump else ""
        give_init(options, made, progress)
        made.add_shapes(options.shapes)
        made.add_origins(options.origins)
    if options.dump:
        sys.stdout.write(dump + "\n")
        return FINE if made.report.good else FOUND
    code, said = write_skeleton(options, subject, made)
    sys.stdout.write(said)
    return code


def run_recover(options: argparse.Namespace) -> int:
    """The source of a model file: written unless it differs; exit 3 if nothing was compared."""
    from ._recover import recover
    with stdout_kept(), Progress() as progress:
        progress("reading the file")
        made = recover(options.spec)
    is_written = not made.difference or options.anyway
    if options.output and is_written:
        made.save(options.output)
    if options.json:
        row = {**made.to_dict(), "output": options.output if is_written else None}
        sys.stdout.write(json.dumps(row if is_written and not options.output else {**row, "source": None}) + "\n")
    elif is_written and not options.output:
        sys.stdout.write(made.source)
    print(f"pellucid: {made._summary()}", file=sys.stderr)
    if made.difference and not options.anyway:
        print("pellucid: nothing was written (--no-strict writes it)", file=sys.stderr)
    return FOUND if made.difference else INCOMPLETE if made.not_compared else FINE


def run_script(options: argparse.Namespace) -> int:
    """The models that a script calls: a list, or the skeleton of one, with the inputs that the script gave."""
    from . import _script
    from ._specs import SpecError
    if options.spec or options.input or options.inputs:
        raise SpecError("a script brings its model and its inputs: leave out SPEC, --input and --inputs", usage=True)
    if not options.output and not options.list and not options.json:
        raise SpecError("standard output is the script's: say where the skeleton goes, -o FILE", usage=True)
    if options.calls is not None and options.calls < 1:
        raise SpecError("--calls takes a number from 1", usage=True)
    if options.call:
        raise SpecError("a script makes its calls itself: leave out --call", usage=True)
    path, arguments = _script.split(options.script)
    if options.stop and options.calls is None:
        raise SpecError("--stop needs --calls N", usage=True)
    done: list[tuple[int, str]] = []

    def finish() -> int:
        done.append(_finish_script(options, watch, path))
        return done[0][0]

    watch = _script.Watch(options.calls, options.stop)
    # Where our result goes to standard output, the script's own output goes to standard error.
    with stdout_kept() if options.json or options.list else contextlib.nullcontext():
        code = _script.run(path, arguments, watch, finish)
    sys.stdout.write(done[0][1])
    return code


def _finish_script(options: argparse.Namespace, watch: Any, path: str) -> tuple[int, str]:
    """What was asked for of the calls that were seen: the exit code, and the text for standard output."""
    from . import _script, _specs
    rows = sorted(watch.found.values(), key=lambda row: (-row.parameters, -row.calls))
    row = _script.pick(watch, options.pick)
    if options.list:
        return FINE, (json.dumps({"script": path, "models": [row.to_dict() for row in rows]}) if options.json
                      else "\n".join(row.line() for row in rows)) + "\n"
    for other in rows:
        print(f"pellucid: {'*' if other is row else ' '} {other.line()}", file=sys.stderr)
    if not row.kept:
        raise _specs.SpecError(f"{row.name}: its inputs can't be copied: {row.lost}")
    subject = _specs.Subject(row.model, *row.kept[0].inputs, origin=f"{row.name} in {os.path.basename(path)}")
    with row.as_called(), stdout_kept(), Progress() as progress:
        more = [] if options.given_only else row.further_calls() or None
        made = make_skeleton(options, subject, more, progress)
        made.add_shapes(options.shapes)
        made.add_origins(options.origins)
        return write_skeleton(options, subject, made)


def make_skeleton(options: argparse.Namespace, subject: Any, more: list[Any] | None, progress: Any) -> Any:
    from ._skeleton import skeleton
    return skeleton(subject.model, subject.args, subject.kwargs, more=more, module=options.module, leaves=options.leaf,
                    strict=False, origin=subject.origin, methods=methods_of(options),
                    verify="full" if options.verify == "full" else not options.no_verify, prove=options.prove,
                    progress=progress, device=options.device)


def give_values(options: argparse.Namespace, subject: Any, made: Any, progress: Any) -> None:
    """What was recorded without values is compared with them in a small size, where there is one."""
    if options.device is None or options.no_verify or options.given_only or options.module or not made.report.good:
        return
    from ._reduced import with_values_at_reduced_size
    options.device = None
    said = with_values_at_reduced_size(made, subject, lambda: load_subject(options, with_inputs=True), progress)
    print(f"pellucid: values: {said if len(said) < 300 else said[:299] + '…'}", file=sys.stderr)


def give_config(options: argparse.Namespace, subject: Any, made: Any, progress: Any) -> str:
    """Sizes that can change become a Config. What was found of each number, as text."""
    from ._config import with_config
    from ._specs import SpecError
    if made.report.level == "structure":
        raise SpecError("--config compares values: leave out --device meta", usage=True)
    if options.no_verify or options.given_only or options.module or options.leaf or options.call:
        raise SpecError("--config compares other sizes of the whole model's forward: leave out --no-verify, --no-more, "
                        "--module, --leaf and --call", usage=True)
    if not made.report.good:
        return "the skeleton differs from the model"
    others = [_other_subject(spec, options, subject) for spec in options.also]
    outcome = with_config(made, subject, lambda: load_subject(options, with_inputs=True), progress, others)
    print(f"pellucid: {outcome.in_words()}", file=sys.stderr)
    return outcome.dump or "\n".join(f"no field {name}: {why}" for name, why in outcome.dropped.items())


def _written_at(kind: type) -> tuple[str, str, str, int]:
    """A class by its text: module, name, and where its forward is."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    return kind.__module__, kind.__qualname__, code.co_filename if code else "", code.co_firstlineno if code else 0


def _other_subject(spec: str, options: argparse.Namespace, subject: Any) -> Any:
    """A model of --also, with the arguments that it was made with."""
    from . import _specs
    from ._config_fields import family_of
    options = argparse.Namespace(**{**vars(options), "spec": spec})
    other = load_subject(options, with_inputs=True)
    # a file is executed for each SPEC, so that its class is another object
    if _written_at(type(other.model)) != _written_at(type(subject.model)):
        raise _specs.SpecError(f"--also {spec}: its class is {type(other.model).__name__}, not "
                               f"{type(subject.model).__name__}")
    family = family_of(other, lambda: load_subject(options, with_inputs=True))
    if family is None:
        raise _specs.SpecError(f"--also {spec}: it is not known what it was built with")
    other.arguments = family.whole
    return other


def give_init(options: argparse.Namespace, made: Any, progress: Any) -> None:
    """The first values that the author gives to parameters."""
    from ._specs import SpecError
    if not options.init:
        return
    if made.report.level == "structure" or options.module:
        raise SpecError("--init builds the whole model with its values: leave out --device meta and --module",
                        usage=True)
    progress("watching how parameters get their first values")
    said = made.add_init(lambda: load_subject(options, with_inputs=False).model)
    print(f"pellucid: initialisation: {said}", file=sys.stderr)


def write_skeleton(options: argparse.Namespace, subject: Any, made: Any) -> tuple[int, str]:
    """Writes the files that the options ask for; gives the exit code, and the text for standard output."""
    from ._skeleton import closing_line
    if options.save_trace:
        with open(options.save_trace, "wb") as file:
            file.write(made.trace)
    report, said = made.report, ""
    good = report.good or options.no_verify
    if good or options.anyway:
        if options.output:
            made.save(options.output)
        elif not options.json:
            said = made.source
        if options.html:
            write_page(options, subject, made)
        if options.map:
            with open(options.map, "w", encoding="utf-8") as file:
                json.dump(made.line_map(), file, indent=1)
                file.write("\n")
    if options.json:
        said = json.dumps({"root": made.root, "output": options.output if good or options.anyway else None,
                           "source": made.source if not options.output and (good or options.anyway) else None,
                           **report.to_dict(), **made.tree.to_dict()}) + "\n"
    else:
        print(report if options.verbose else closing_line(made, not options.no_verify), file=sys.stderr)
    if not good:
        print("pellucid: the skeleton differs from the model" +
              ("" if options.anyway else "; nothing was written (--no-strict writes it)"), file=sys.stderr)
        return FOUND, said
    if report.config is not None and report.config.get("not also"):
        return INCOMPLETE, said
    if options.init and any(remark.startswith("initialisation: not written") for remark in report.remarks):
        return INCOMPLETE, said
    return FINE if report.complete or options.no_verify else INCOMPLETE, said


def run_verify(options: argparse.Namespace) -> int:
    from ._again import verify
    from ._contract import read_contract
    with open(options.file, encoding="utf-8") as file:
        options.device = "meta" if (read_contract(file.read()) or {}).get("verify") == "structure" else None
    with stdout_kept(), Progress() as progress:
        progress("building the model")
        subject = load_subject(options, with_inputs=True)
        report = verify(options.file, subject.model, subject.args, subject.kwargs, full=options.full,
                        module=options.module, progress=progress, methods=methods_of(options))
    if options.json:
        print(json.dumps(report.to_dict()))
    else:
        print(report)
        print(f"verdict: {report.verdict}")
    return FOUND if not report.good else FINE if report.complete else INCOMPLETE


def run_diff(options: argparse.Namespace) -> int:
    from ._diff import diff
    with stdout_kept(), Progress() as progress:
        sources = [_source_of(spec, options, progress) for spec in (options.a, options.b)]
    made = diff(*sources, name_a=options.a, name_b=options.b)
    if options.html:
        with open(options.html, "w", encoding="utf-8") as file:
            file.write(made.html())
    print(json.dumps(made.to_dict()) if options.json else made)
    return FINE if made.same else FOUND


def _source_of(spec: str, options: argparse.Namespace, progress: Any) -> str:
    """Of a skeleton's file, or of the skeleton that is made now; one that differs from its model is not compared."""
    from . import _specs
    from ._skeleton import skeleton
    if spec.endswith(".py"):
        if not os.path.isfile(spec):
            raise _specs.SpecError(f"{spec}: there is no such file")
        with open(spec, encoding="utf-8") as file:
            return file.read() + "\n"
    progress(f"building {spec}")
    subject = _specs.load(spec)
    _specs.give_inputs(subject, options.input, options.inputs)
    return skeleton(subject.model, subject.args, subject.kwargs, origin=spec, progress=progress).source


def write_page(options: argparse.Namespace, subject: Any, made: Any) -> None:
    from ._tree import tree
    with stdout_kept():
        # a part of the model is not called with the model's inputs
        found = (made.tree if options.module or options.call
                 else tree(subject.model, subject.args, subject.kwargs).with_source(made.source))
    with open(options.html, "w", encoding="utf-8") as file:
        file.write(found.html())


def run_tree(options: argparse.Namespace) -> int:
    from . import _specs
    from ._tree import tree
    wants_run = bool(options.input or options.inputs or options.table or options.svg or options.html)
    with stdout_kept(), Progress() as progress:
        progress("building the model")
        subject = load_subject(options, with_inputs=False)
        if wants_run:
            try:
                _specs.give_inputs(subject, options.input, options.inputs)
            except _specs.SpecError as error:
                if options.input or options.inputs:
                    raise
                print(f"pellucid: not run, so there are no output shapes: {error}", file=sys.stderr)
                wants_run = False
        progress("running it" if wants_run else "walking through it")
        found = tree(subject.model, subject.args, subject.kwargs) if wants_run else tree(subject.model)
    views: list[tuple[str | None, Callable[[], str]]]
    views = [(options.svg, lambda: found.svg(options.depth)), (options.html, found.html)]
    for path, view in views:
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(view())
    if options.json:
        print(json.dumps(found.to_dict()))
    elif options.table or not (options.svg or options.html):
        colours = is_coloured(sys.stdout)
        width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 0
        print(fitted(found.table(options.depth, options.unfolded, colours, width) if options.table
                     else found.text(options.depth, options.unfolded, colours)))
    return FINE


def is_coloured(stream: Any) -> bool:
    return bool(stream.isatty()) and "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"


def fitted(text: str) -> str:
    """On a terminal, lines that are longer than it is wide end with "…", as the program has them."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size((80, 24)).columns
    return "\n".join(line if len(COLOUR.sub("", line)) <= width else clip(line, width) for line in text.split("\n"))


def clip(line: str, width: int) -> str:
    """The first width - 1 characters and an ellipsis; what colours them takes no columns."""
    kept, used = [], 0
    for part in COLOUR.split(line):
        if not COLOUR.fullmatch(part):
            part = part[:width - 1 - used]
            used += len(part)
        kept.append(part)
    return "".join(kept) + ("\033[0m…" if COLOUR.search(line) else "…")


def run_sketch(options: argparse.Namespace) -> int:
    from ._sketch import LineTrace, sketch
    from ._specs import SpecError
    if options.script:
        return run_sketch_of_script(options)
    if options.spec is None:
        raise SpecError("name a model, or a script: -- python SCRIPT.py", usage=True)
    if options.package:
        raise SpecError("--package is for scripts: -- python SCRIPT.py", usage=True)
    with stdout_kept(), Progress() as progress:
        progress("building the model")
        with LineTrace() as trace:
            subject = load_subject(options, with_inputs=True)
        progress("running it")
        files = sketch(subject.model, subject.args, subject.kwargs, trace)
    files.save(options.output)
    print(json.dumps(files.to_dict()) if options.json else files)
    return FINE


def run_sketch_of_script(options: argparse.Namespace) -> int:
    from . import _script
    from ._sketch_script import sketch_script
    from ._specs import SpecError
    if options.spec or options.input or options.inputs:
        raise SpecError("a script brings its model and its inputs: leave out SPEC, --input and --inputs", usage=True)
    path, arguments = _script.split(options.script)
    with stdout_kept() if options.json else contextlib.nullcontext():
        made = sketch_script(path, arguments, options.output, options.package)
    if options.json:
        print(json.dumps(made.to_dict()))
    else:
        print(made, file=sys.stderr)
    return FINE if made.same else INCOMPLETE if made.same is None else FOUND


def run_explain_trace(options: argparse.Namespace) -> int:
    """Nothing is built or run: exit code 3 where the log could not be read whole."""
    from ._compiler import explain_trace
    from ._specs import SpecError
    if options.spec or options.input or options.inputs or options.numerics or options.attempt or options.vary:
        raise SpecError("--trace reads a log: it goes with no SPEC, and with nothing that calls a model", usage=True)
    try:
        made = explain_trace(options.trace, options.output)
    except (ValueError, OSError) as error:
        raise SpecError(str(error)) from None
    say_explanation(made, options)
    for note in made.unread:
        print(f"pellucid: {note}", file=sys.stderr)
    return INCOMPLETE if made.unread else FINE


def say_explanation(made: Any, options: argparse.Namespace) -> None:
    if options.html:
        made.save(options.html)
    if options.timeline:
        with open(options.timeline, "w", encoding="utf-8") as file:
            json.dump(made.timeline, file)
    if options.json:
        print(json.dumps({**made.to_dict(), "folder": made.folder if options.output else None}))
    elif not options.html:
        print(made.text, end="")


def run_explain(options: argparse.Namespace) -> int:
    if options.trace:
        return run_explain_trace(options)
    if not options.spec:
        from ._specs import SpecError
        raise SpecError("give a SPEC, or --trace DIR", usage=True)
    from ._compiler import explain
    from ._numerics import bisect_numerics
    from ._recompiles import varied_calls
    if options.numerics and (options.attempt or options.vary):
        from ._specs import SpecError
        raise SpecError("--numerics makes one call: it does not go with --vary or --try", usage=True)
    if options.numerics and options.timeline:
        from ._specs import SpecError
        raise SpecError("--numerics measures no time: it does not go with --timeline", usage=True)
    with stdout_kept(), Progress() as progress:
        progress("building the model")
        subject = load_subject(options, with_inputs=True)
        progress("compiling it")
        if options.numerics:
            numerics = bisect_numerics(subject.model, *subject.args, **subject.kwargs)
        else:
            given = (subject.args, subject.kwargs)
            more = varied_calls(subject.model, given) if options.vary or options.attempt else []
            made = explain(subject.model, *subject.args, backend=options.backend, folder=options.output,
                           attempt=options.attempt, more=more, **subject.kwargs)
    if options.numerics:
        return say_numerics(numerics, options.json)
    say_explanation(made, options)
    return FINE


def say_numerics(made: Any, as_json: bool) -> int:
    """Exit code: what could not be compared is incomplete, even where all that could be is equal."""
    print(json.dumps(made.to_dict()) if as_json else str(made), end="\n" if as_json else "")
    if any(stage.differences or stage.gradients for stage in made.stages) or made.not_finite:
        return FOUND
    return FINE if made.equal else INCOMPLETE


def run_survey(options: argparse.Namespace) -> int:
    from ._specs import SpecError
    from ._survey import SurveyError, survey
    if options.workers < 1 or options.processes < 1 or options.seconds <= 0:
        raise SpecError("--workers, --processes and --seconds take numbers above 0", usage=True)
    try:
        with Progress() as progress:
            made = survey(*options.sources, output=options.output, tensors=options.tensors, match=options.match,
                          fits=options.fits, engine=options.engine, workers=options.workers,
                          processes=options.processes, insecure=options.insecure, seconds=options.seconds,
                          progress=lambda n: progress(f"{n:,} files"))
    except SurveyError as error:
        raise SpecError(str(error), usage=True) from None
    print(json.dumps(made.to_dict()) if options.json else made)
    return made.exit_code


def run_serve(options: argparse.Namespace) -> int:
    from ._serve import serve
    from ._specs import SpecError
    if not 0 <= options.port <= 65535:
        raise SpecError("--port takes a number from 0 to 65535", usage=True)
    try:
        serve(options.path, port=options.port, open=options.open)
    except OSError as error:
        raise SpecError(str(error)) from None
    return FINE


def run_demo(options: argparse.Namespace) -> int:
    from ._demo import demo
    return demo(options.output, options.width)


def check_targets(options: argparse.Namespace) -> None:
    """What could not be written in the end is said before the model is built."""
    from ._specs import SpecError
    is_folder = options.command in ("sketch", "explain")
    for path in (getattr(options, name, None) for name in ("html", "svg", "save_trace", "map", "timeline")):
        _check_file(path)
    if not is_folder and options.command != "demo":
        _check_file(getattr(options, "output", None))
    elif getattr(options, "output", None) and os.path.isfile(options.output):
        raise SpecError(f"{options.output}: a folder is wanted, and this is a file")


def _check_file(path: str | None) -> None:
    from ._specs import SpecError
    if path and os.path.isdir(path):
        raise SpecError(f"{path}: a file is wanted, and this is a folder")
    if path and not os.path.isdir(os.path.dirname(path) or "."):
        raise SpecError(f"{path}: there is no folder {os.path.dirname(path)}")


def report_error(error: Exception, as_json: bool) -> None:
    """What went wrong, and where: the last line that is neither pellucid's nor torch's."""
    from ._specs import SpecError
    file, line = place_of_error(error)
    is_ours = isinstance(error, SpecError)
    text = str(error) if is_ours else f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        file, line = None, None
        text = (f"this needs torch, which {sys.executable} does not have. Type: {how_to_install('torch')}; "
                "or name a Python that has it: --python PATH")
    place = f"{file}:{line}: " if file and not is_ours else ""
    print(f"pellucid: {place}{text}", file=sys.stderr)
    if as_json:
        code = getattr(error, "code", None) or ("USAGE" if getattr(error, "usage", False) else "INCOMPLETE")
        print(json.dumps({"error": {"file": file, "line": line, "column": None, "offset": None, "code": code,
                                    "message": text}}))


def how_to_install(package: str) -> str:
    """The command to type. Environments that uv made have no pip, and those of uvx and `pipx run` are made anew."""
    if importlib.util.find_spec("pip") is not None:
        return f"{sys.executable} -m pip install {package}"
    return f"uv pip install --python {sys.executable} {package} (with uvx: uvx --with {package} ...)"


def place_of_error(error: Exception) -> tuple[str | None, int | None]:
    import traceback
    here = os.path.dirname(os.path.abspath(__file__))
    passed_by = (f"{os.sep}torch{os.sep}", "importlib")
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if not f.filename.startswith(("<", here)) and not any(part in f.filename for part in passed_by)]
    if not frames:
        return None, None
    file = frames[-1].filename
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file, frames[-1].lineno


def main(argv: list[str] | None = None) -> int:
    os.environ.pop("PELLUCID_STARTED_BY_PYTHON", None)
    words = sys.argv[1:] if argv is None else argv
    # What follows "--" is one operand, or a program with its own options, which are not ours to read.
    cut = words.index("--") if "--" in words and len(words) > words.index("--") + 2 else len(words)
    options = make_parser().parse_args(words[:cut])
    options.script = words[cut + 1:]
    from ._specs import SpecError
    run = {"skeleton": run_skeleton, "verify": run_verify, "diff": run_diff, "tree": run_tree, "sketch": run_sketch,
           "explain": run_explain, "survey": run_survey, "serve": run_serve, "demo": run_demo}[options.command]
    try:
        check_targets(options)
        return run(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        report_error(error, getattr(options, "json", False))
        if os.environ.get("PELLUCID_DEBUG"):
            raise
        return BAD_USAGE if isinstance(error, SpecError) and error.usage else BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
