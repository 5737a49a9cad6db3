"""Compiles the library and the program for other systems, and runs what can be run here.

    python tools/cross.py                     all of them
    python tools/cross.py aarch64-linux-musl  these

The compiler is zig's, from PyPI, in an environment of its own (build-cross/env). Its first run for a target builds that
system's C library, which takes minutes. The program for aarch64 then runs its golden cases under qemu-user, the one for
Windows a few of them under wine (each start of wine takes seconds). The one for macOS is only compiled and linked. The
last lines are a row for each target; the exit code is 1 if one of them failed.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build-cross"
# target -> (system, cpu, arguments for linking, how to run the program)
TARGETS: dict[str, tuple[str, str, list[str], str | None]] = {
    "x86_64-linux-musl": ("linux", "x86_64", ["-static"], ""),  # runs by itself
    "aarch64-linux-musl": ("linux", "aarch64", ["-static"], "qemu-aarch64"),
    # zig has no libiconv of macOS: its three functions stay for the system to find.
    "aarch64-macos": ("darwin", "aarch64", ["-undefined", "dynamic_lookup"], None),
    "x86_64-windows-gnu": ("windows", "x86_64", [], "wine64"),
}
# Golden areas that need nothing but the program.
AREAS = ["files", "cli", "ast", "format"]
WINE_AREAS = ["format/calls", "ast/errors"]


def zig() -> list[str]:
    """The command that starts zig, installed if it is not."""
    python = FOLDER / "env" / "bin" / "python"
    if not (FOLDER / "env" / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "env")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "ziglang"], check=True)
        (FOLDER / "env" / "ready").touch()
    return [str(python), "-m", "ziglang"]


def cross_file(target: str) -> pathlib.Path:
    system, cpu, link, _ = TARGETS[target]
    lines = [
        "[binaries]",
        f"c = {[*zig(), 'cc', '-target', target]!r}",
        f"ar = {[*zig(), 'ar']!r}",
        "[built-in options]",
        f"c_link_args = {link!r}",
        "[host_machine]",
        f"system = '{system}'",
        f"cpu_family = '{cpu}'",
        f"cpu = '{cpu}'",
        "endian = 'little'",
    ]
    path = FOLDER / f"{target}.ini"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def build(target: str) -> pathlib.Path | None:
    """The program for a target; None if it can't be built: what the tools said has been printed."""
    folder = FOLDER / target
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(FOLDER / "cache"),
                   "ZIG_LOCAL_CACHE_DIR": str(FOLDER / "cache")}
    environment.pop("CC", None)
    commands = [["ninja", "-C", str(folder), "--quiet", "-k", "0"]]  # all that does not compile, not the first alone
    if not (folder / "build.ninja").exists():
        shutil.rmtree(folder, ignore_errors=True)
        commands.insert(0, ["meson", "setup", str(folder), str(ROOT), "--cross-file", str(cross_file(target)),
                            "-Dpython=disabled", "-Dtests=false", "-Doptimization=1"])  # whether it compiles is asked
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout[-4000:] + done.stderr[-4000:])
            return None
    return next(path for path in (folder / "pellucid", folder / "pellucid.exe") if path.exists())


def golden(program: pathlib.Path, runner: str) -> tuple[bool, str]:
    """The golden cases of a program for another processor: some call it by its name, so a script has it."""
    found = shutil.which(runner) or shutil.which(runner + "-static") or shutil.which(runner, path="/usr/lib/wine")
    if runner and not found:
        return True, f"compiled and linked; untested: no {runner} here"
    command = [found] if runner else []
    folder = program.parent / "run"
    folder.mkdir(exist_ok=True)
    script = folder / "pellucid"
    script.write_text(f"#!/bin/sh\nexec {' '.join(filter(None, command))} '{program}' \"$@\"\n", encoding="utf-8")
    script.chmod(0o755)
    is_wine = runner == "wine64"
    environment = {**os.environ, "PELLUCID": str(script), "WINEPREFIX": str(FOLDER / "wine"), "WINEDEBUG": "-all"}
    if is_wine:  # its first start sets it up, and says so
        subprocess.run([str(script), "version"], env=environment, capture_output=True, check=False)
    done = subprocess.run([sys.executable, "tests/run_golden.py", *(WINE_AREAS if is_wine else AREAS)], cwd=ROOT,
                          capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode:
        print(done.stdout[-4000:])
    under = f"under {runner} " if runner else ""
    return done.returncode == 0, under + (lines[-1] if lines else "no golden case ran")


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    failed, rows = False, []
    for target in sys.argv[1:] or TARGETS:
        if target not in TARGETS:
            print(f"{target}: one of {', '.join(TARGETS)} was expected")
            return 2
        program = build(target)
        fine, said = program is not None, "does not compile"
        if program:
            said = f"{program.stat().st_size // 1024} KB"
            runner = TARGETS[target][3]
            if runner is None:
                said += ", compiled and linked; untested: nothing here runs it"
            else:
                fine, ran = golden(program, runner)
                said += f", {ran}"
        print(f"{target}: {said}", flush=True)
        rows.append(f"{target:20} {'ok' if fine else 'FAILED':7} {said}")
        failed = failed or not fine
    print("\n".join(["", *rows]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
