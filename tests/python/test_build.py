"""Ways to build and use the library that the other tests don't take."""

from __future__ import annotations

import glob
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

HEADER = (ROOT / "include" / "pellucid.h").read_text()
SOURCES = sorted(str(path) for path in (ROOT / "src").rglob("*.c") if path.name != "os_windows.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]


def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not found:
        pytest.skip("no C compiler here")
    return found


def embedded(folder: pathlib.Path) -> list[str]:
    """What tools/embed.c makes: the library models and the page."""
    embed = folder / "embed"
    subprocess.run([compiler(), str(ROOT / "tools" / "embed.c"), "-o", str(embed)], check=True)
    tables = [("interp/stubs.h", "pel_stubs", "interp/lib/",
               sorted([*glob.glob(str(ROOT / "src/interp/lib/**/*.py"), recursive=True),
                       str(ROOT / "src/interp/lib/symbols.txt")])),
              ("load/audit/effects.h", "pel_effects_tables", "data/effects/",
               sorted(set(glob.glob(str(ROOT / "data/effects/*.txt"))) - {str(ROOT / "data/effects/natives.txt")})),
              ("show/page.h", "pel_pages", "show/",
               [str(ROOT / "src" / "show" / name) for name in ("page.html", "page.css", "graph.js", "page.js")])]
    made = []
    for header, table, below, files in tables:
        made.append(str(folder / f"{table}.c"))
        subprocess.run([str(embed), made[-1], header, table, below, *files], check=True)
    return made


@pytest.mark.slow
def test_few_commands_build_the_program(tmp_path: pathlib.Path) -> None:
    """Without any build system."""
    program = tmp_path / "pellucid"
    sources = [*SOURCES, *embedded(tmp_path), *glob.glob(str(ROOT / "cli" / "*.c"))]
    subprocess.run([compiler(), *FLAGS, "-O1", *sources, "-o", str(program), "-lm"], check=True)
    done = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pellucid ")


@pytest.mark.slow
def test_the_shared_library_shows_the_public_functions_only(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "libpellucid.so"
    options = ["-shared", "-fPIC", "-fvisibility=hidden", "-DPELLUCID_SHARED", "-O1"]
    subprocess.run([compiler(), *FLAGS, *options, *SOURCES, "-o", str(library), "-lm"], check=True)
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in listed.splitlines()}
    declared = set(re.findall(r"^PEL_API .*?(pellucid_\w+)\(", HEADER, re.MULTILINE))
    assert exported == declared and len(declared) > 5


def test_the_example_of_the_header_works(tmp_path: pathlib.Path) -> None:
    library = ROOT / "build" / "libpellucid.a"
    if not library.exists():
        pytest.skip("build/libpellucid.a is not built")
    example = re.search(r"\n \*\n((?: \*     .*\n)+)", HEADER).group(1).replace("\n *     ", "\n    ").lstrip(" *")
    program = tmp_path / "example.c"
    program.write_text(
        "#include <pellucid.h>\n#include <stdio.h>\n"
        'int main(int argc, char **argv) {\n    (void)argv;\n'
        '    pel_text source = argc > 1 ? (pel_text){ "x = (", 5 } : (pel_text){ "x", 1 };\n'
        f"    {example}\n    return 0;\n}}\n"
    )
    command = [compiler(), "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'include'}", str(program), str(library), "-lm"]
    subprocess.run([*command, "-o", str(tmp_path / "example")], check=True)
    good = subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True)
    assert good.stdout.startswith('{"_type":"Module"') and good.stderr == ""
    bad = subprocess.run([tmp_path / "example", "bad"], capture_output=True, text=True, check=True)
    assert bad.stdout == "" and bad.stderr == "1:5: '(' was never closed\n"


def test_the_header_is_cplusplus_too(tmp_path: pathlib.Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("no g++ here")
    program = tmp_path / "use.cpp"
    program.write_text("#include <pellucid.h>\nint main() { return pellucid_version() == nullptr; }\n")
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", str(program)],
                   check=True)


def test_an_extension_that_cannot_record_lacks_nothing(tmp_path: pathlib.Path) -> None:
    """Python 3.10 has the rest of the extension: no file may need what only recording defines."""
    import sysconfig
    library = ROOT / "build" / "libpellucid.a"
    headers = pathlib.Path(sysconfig.get_path("include"))
    if not library.exists() or not (headers / "Python.h").exists():
        pytest.skip("build/libpellucid.a is not built, or Python.h is not installed")
    sources = sorted(glob.glob(str(ROOT / "ext" / "*.c")))
    subprocess.run([compiler(), *FLAGS, f"-I{headers}", "-DPEL_CAN_RECORD=0", "-fPIC", "-c", *sources], cwd=tmp_path,
                   check=True)

    def symbols(files: list[str], option: str) -> set[str]:
        listed = subprocess.run(["nm", option, *files], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1] for line in listed.splitlines() if line.strip() and not line.endswith(":")}

    objects = sorted(map(str, tmp_path.glob("*.o")))
    needed = {name for name in symbols(objects, "--undefined-only") if name.startswith(("pel_", "pellucid_"))}
    assert needed and needed <= symbols([*objects, str(library)], "--defined-only")


def test_a_free_threaded_python_is_refused_in_words(tmp_path: pathlib.Path) -> None:
    """Compiled as for one, since none may be here: the import says what to do, and nothing has run by then."""
    import sys
    import sysconfig
    library = ROOT / "build" / "libpellucid.a"
    headers = pathlib.Path(sysconfig.get_path("include"))
    if not library.exists() or not (headers / "Python.h").exists():
        pytest.skip("build/libpellucid.a is not built, or Python.h is not installed")
    sources = sorted(glob.glob(str(ROOT / "ext" / "*.c")))
    subprocess.run([compiler(), *FLAGS, f"-I{headers}", "-DPEL_FREE_THREADED", "-fPIC", "-shared",
                    *sources, "-Wl,--whole-archive", str(library), "-Wl,--no-whole-archive", "-lm", "-o",
                    str(tmp_path / ("_pellucid" + sysconfig.get_config_var("EXT_SUFFIX")))], check=True)
    done = subprocess.run([sys.executable, "-c", "import _pellucid"], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and "ImportError: pellucid does not run in free-threaded builds" in done.stderr
