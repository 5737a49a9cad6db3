"""Makes .venv in the checkout with all that building and testing need; writes nothing elsewhere.

    python3 tools/setup_env.py            what every target needs
    python3 tools/setup_env.py --torch    PyTorch too, if the environment has none
    python3 tools/setup_env.py --zoo      and the libraries whose models the zoo has, if there is a zoo; what surveys
                                          work with: clusters, tables, an object store for tests

Run by the Makefile. Packages of the Python that runs this are visible inside, behind those of .venv: where it has
torch, that torch is used, and none is installed.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
OLDEST = (3, 10)
PACKAGES = ["meson>=1.1,<2", "ninja>=1.11", "meson-python>=0.15", "pytest>=7.4", "pytest-xdist>=3",
            "clang-format==14.0.6"]
OPTIONAL = ["mypy>=1.8,<3"]  # the test of the package's types is skipped without, and says so
KNOWN_TORCH = ("2.15.0", "2.13.0")  # newest first; docs/versions.md says what was run with them
# With torch in the same command, so that none of them brings another one.
ZOO = ["torch==2.13.0", "torchvision==0.28.0", "timm==1.0.30", "transformers==5.22.2", "einops",
       "safetensors", "numpy>=1.24"]

SURVEY = ["ray", "distributed", "pyarrow", "duckdb", "requests", "huggingface_hub", "s3fs", "moto[server]"]


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def use_a_newer_python() -> None:
    """Starts again with a Python that the extension supports, if this one is too old and there is another."""
    if sys.version_info >= OLDEST:
        return
    for minor in (13, 12, 11, 14, 15, 10):
        other = shutil.which(f"python3.{minor}")
        if other:
            os.execv(other, [other, *sys.argv])
    sys.exit(f"setup: Python {sys.version.split()[0]} is too old and no newer one is on the path: "
             "3.10 or later is needed")


def make_venv() -> None:
    say(f"making .venv with Python {sys.version.split()[0]}")
    done = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False)
    if done.returncode:  # Debian's Python without python3-venv has no ensurepip
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(VENV)], check=True)
        has_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True,
                                 check=False).returncode == 0
        if not has_pip:
            shutil.rmtree(VENV, ignore_errors=True)
            sys.exit("setup: this Python has neither ensurepip nor pip (on Debian: apt install python3-venv)\n"
                     + done.stdout)


def outer_link() -> pathlib.Path:
    return next((VENV / "lib").glob("python3.*/site-packages")) / "outer_environment.pth"


def install_tools() -> bool:
    """While the outer packages can't be seen: a tool that lies there has no program in .venv/bin."""
    outer_link().unlink(missing_ok=True)
    done = install(*PACKAGES)
    if done and not install(*OPTIONAL):
        say(f"{' '.join(OPTIONAL)} could not be installed: the tests that need it are skipped, and say so")
    outer = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    outer_link().write_text("".join(f"{path}\n" for path in outer))
    return done


def install(*packages: str) -> bool:
    has_own_pip = (VENV / "bin" / "pip").exists()
    pip = [str(PYTHON), "-m", "pip"] if has_own_pip else [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    say("installing " + " ".join(packages))
    command = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", *packages]
    scratch = ROOT / "build-scratch"
    scratch.mkdir(exist_ok=True)
    return subprocess.run(command, check=False, env={**os.environ, "TMPDIR": str(scratch)}).returncode == 0


def has(*modules: str) -> bool:
    look = "import importlib.util as u, sys; sys.exit(not all(u.find_spec(m) for m in sys.argv[1:]))"
    return subprocess.run([str(PYTHON), "-c", look, *modules], capture_output=True, check=False).returncode == 0


def is_offered(package: str) -> bool:
    """Whether pip would install it."""
    command = [str(PYTHON), "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--disable-pip-version-check",
               package]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def torch_to_install() -> str:
    """The newest known to work. A build without CUDA, where pip's indexes have one, is a tenth of the size."""
    small = (f"torch=={version}+cpu" for version in KNOWN_TORCH)
    return next(filter(is_offered, small), f"torch=={KNOWN_TORCH[0]}")


def provide_torch(stamp: pathlib.Path) -> None:
    """The environment's torch, else one that is installed now; says which it is."""
    if not stamp.exists():
        if has("torch"):
            stamp.write_text("of the environment\n")
        else:
            wanted = torch_to_install()
            if not install(wanted, "numpy>=1.24"):
                say(f"{wanted} could not be installed: tests that need it are skipped, and say so")
                return
            stamp.write_text("installed in .venv\n")
    look = "import importlib.metadata as m; print(m.version('torch'))"
    found = subprocess.run([str(PYTHON), "-c", look], capture_output=True, text=True, check=False).stdout.strip()
    say(f"torch {found or '(none)'}, {stamp.read_text().strip()}")


def has_zoo() -> bool:
    shared = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared"))
    return (shared / "zoo" / "zoo.json").exists()


def main() -> int:
    use_a_newer_python()
    stamp = VENV / "packages.txt"
    wanted = "\n".join([*PACKAGES, *OPTIONAL])
    if not PYTHON.exists():
        make_venv()
    if not stamp.exists() or stamp.read_text() != wanted:
        if not install_tools():
            return 1
        stamp.write_text(wanted)
    if {"--torch", "--zoo"} & set(sys.argv):
        provide_torch(VENV / "torch.txt")
    if ("--zoo" in sys.argv and has_zoo() and not has("torchvision", "timm", "transformers", "einops")
        and not install(*ZOO)):
        say("the zoo's libraries could not be installed: its models are skipped")
    if ("--zoo" in sys.argv and not has("ray", "distributed", "pyarrow", "duckdb", "moto", "s3fs")
        and not install(*SURVEY)):
        say("Ray, Dask, Arrow and an object store could not be installed: the tests that need them are skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
