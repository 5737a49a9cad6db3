"""Makes the page that needs no installation: the library as WebAssembly, in one HTML file.

    python tools/web.py [FOLDER]        build-web/pellucid.html, with what it is made of beside it

Needs emscripten (Debian: emscripten, node-acorn). The page runs from a disk as from a server. It may not open any
connection, and its size is bounded: this fails if it is larger than 3 MB.
"""

from __future__ import annotations

import base64
import gzip
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
LARGEST = 3_000_000
CROSS = """[binaries]
c = 'emcc'
ar = 'emar'
[host_machine]
system = 'emscripten'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
"""
# setjmp is in one place of the library. The stack is that of deep but allowed inputs.
LINK = ["-Os", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-sMODULARIZE", "-sEXPORT_NAME=Pellucid",
        "-sALLOW_MEMORY_GROWTH", "-sTOTAL_STACK=8MB", "-sFILESYSTEM=0", "-sENVIRONMENT=worker,node",
        "-sEXPORTED_RUNTIME_METHODS=UTF8ToString,stringToUTF8,lengthBytesUTF8", "-sDYNAMIC_EXECUTION=0",
        "-sINCOMING_MODULE_JS_API=wasmBinary,files"]


def run(*command: str) -> None:
    modules = os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), "/usr/share/nodejs"]))  # Debian's acorn
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NODE_PATH": modules}, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"web: {command[0]} failed\n{(done.stdout + done.stderr)[-4000:]}")


def build(folder: pathlib.Path) -> None:
    """pellucid.js and pellucid.wasm."""
    if not (folder / "build.ninja").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "emscripten.ini").write_text(CROSS, encoding="utf-8")
        run("meson", "setup", str(folder), str(ROOT), "--cross-file", str(folder / "emscripten.ini"),
            "-Dpython=disabled", "-Dtests=false", "-Dbuildtype=minsize")
    library = folder / "libpellucid.a"
    run("ninja", "-C", str(folder), "--quiet", library.name)
    made = folder / "pellucid.js"
    inputs = [library, *WEB.glob("*"), pathlib.Path(__file__)]
    if not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in inputs):
        run("emcc", *LINK, f"-I{ROOT / 'include'}", str(WEB / "api.c"), str(library), "--js-library",
            str(WEB / "imports.js"), "-o", str(made))


def page(folder: pathlib.Path) -> str:
    parts = {
        "LIBRARY": (folder / "pellucid.js").read_text(encoding="utf-8"),
        "WORKER": (WEB / "worker.js").read_text(encoding="utf-8"),
        "WASM": base64.b64encode(gzip.compress((folder / "pellucid.wasm").read_bytes(), 9, mtime=0)).decode(),
    }
    text = (WEB / "page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        if "</script" in part.lower():
            sys.exit(f"web: {name} would end the element that holds it")
        text = text.replace(f"@{name}@", part)
    return text


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-web").resolve()
    for tool in ("emcc", "meson", "ninja"):
        if not shutil.which(tool):
            sys.exit(f"web: no {tool} here (emcc: Debian's packages emscripten and node-acorn)")
    build(folder)
    text = page(folder)
    (folder / "pellucid.html").write_text(text, encoding="utf-8")
    size = len(text.encode())
    print(f"web: {folder / 'pellucid.html'}: {size:,} bytes; the library is "
          f"{(folder / 'pellucid.wasm').stat().st_size:,} bytes")
    if size > LARGEST:
        sys.exit(f"web: it is larger than {LARGEST:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
