"""How fast `pellucid ast --quiet` parses, against CPython's ast.parse, in one run on the same files.

    python bench/bench_parse.py [FOLDER]        default: transformers/models if installed, else the standard library

Both use one thread; what counts is processor time, user and system, so that other work on the machine does not
matter, and the best of three turns. Pellucid's is that of the whole program: its start and reading the files are
part of it, while ast.parse gets bytes that are in memory already.
"""

import ast
import importlib.util
import os
import pathlib
import resource
import subprocess
import sys
import sysconfig
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))
TURNS = 3


def default_folder():
    spec = importlib.util.find_spec("transformers")
    if spec and spec.origin:
        return pathlib.Path(spec.origin).parent / "models"
    return pathlib.Path(sysconfig.get_path("stdlib"))


def time_pellucid(paths):
    version = "%d.%d" % sys.version_info[:2]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, "ast", "--quiet", "--python-version", version, *paths], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_cpython(sources):
    started = time.process_time()
    for source in sources:
        ast.parse(source)
    return time.process_time() - started


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder()
    paths, sources = [], []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        try:
            ast.parse(source)
        except (SyntaxError, ValueError):
            continue  # the standard library has files that are wrong on purpose
        paths.append(str(path))
        sources.append(source)
    megabytes = sum(map(len, sources)) / 1e6
    turns = [(time_pellucid(paths), time_cpython(sources)) for _ in range(TURNS)]
    ours, theirs = (min(times) for times in zip(*turns))
    print(f"{len(paths)} files, {megabytes:.1f} MB from {folder}")
    print(f"pellucid ast --quiet  {megabytes / ours:7.1f} MB/s")
    print(f"ast.parse             {megabytes / theirs:7.1f} MB/s")
    print(f"ratio                 {theirs / ours:7.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
