"""`pellucid serve`: a folder of model files in a browser, on this machine alone.

A page asks for names, trees, audits and values of tensors; each answer is made by the program, in a process of its own,
when it is asked for. Nothing is executed that a file holds, nothing is written, and nothing outside the folder is read.
"""

from __future__ import annotations

import hmac
import http.server
import json
import os
import pathlib
import secrets
import subprocess
import sys
import threading
import urllib.parse
import webbrowser
from typing import Any, Callable

from ._histogram import NotShown, summary
from ._program import program

HERE = "127.0.0.1"
AT_ONCE = 4  # programs that run
SECONDS = 120  # of one of them
MOST_ENTRIES = 5_000  # of a folder
MOST_TEXT = 256 << 20  # of an answer
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# The page asks this server alone. What shows a file has a frame without an origin, and asks nobody.
PAGE_POLICY = ("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
               "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
FRAME_POLICY = ("sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")


class Refused(Exception):
    """An answer that is no success: its status and its reason."""

    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status = status


class Folder:
    """What may be read: one folder, or one file."""

    def __init__(self, path: str | os.PathLike[str]):
        given = pathlib.Path(path).resolve()
        if not given.exists():
            raise FileNotFoundError(f"{path}: there is no such file or folder")
        self.root, self.only = (given, "") if given.is_dir() else (given.parent, given.name)

    def find(self, name: str) -> pathlib.Path:
        """The path of a name below the folder, links followed. What leads out of it is refused."""
        if "\0" in name:
            raise Refused(400, "a name has no NUL")
        path = (self.root / name).resolve()
        if path != self.root and self.root not in path.parents:
            raise Refused(403, "that leads out of the folder")
        if self.only and path not in (self.root, self.root / self.only):
            raise Refused(403, "only one file is served")
        if not path.exists():
            raise Refused(404, "there is no such file")
        return path

    def entries(self, name: str) -> dict[str, Any]:
        path = self.find(name)
        if not path.is_dir():
            raise Refused(400, "that is no folder")
        names = [self.only] if self.only else sorted(os.listdir(path))
        rows = [self._row(path / entry) for entry in names[:MOST_ENTRIES]]
        rows.sort(key=lambda row: row["kind"] != "folder")
        return {"folder": str(path.relative_to(self.root)), "rows": rows, "left_out": max(0, len(names) - MOST_ENTRIES)}

    def _row(self, path: pathlib.Path) -> dict[str, Any]:
        try:
            real = self.find(str(path.relative_to(self.root)))
        except Refused as why:
            return {"name": path.name, "kind": "other", "why": str(why)}
        if real.is_dir():
            return {"name": path.name, "kind": "folder"}
        if real.is_file():
            return {"name": path.name, "kind": "file", "size": real.stat().st_size}
        return {"name": path.name, "kind": "other", "why": "neither a file nor a folder"}

    def file(self, name: str) -> str:
        path = self.find(name)
        if not path.is_file():
            raise Refused(400, "that is no file")
        return str(path)


class Answers:
    """What can be asked for, by name."""

    def __init__(self, folder: Folder):
        self.folder = folder
        self.room = threading.BoundedSemaphore(AT_ONCE)
        self.table: dict[str, Callable[[dict[str, str]], tuple[str, bytes]]] = {
            "list": self.list, "tree": self.tree, "audit": self.audit, "tensors": self.tensors, "values": self.values,
        }

    def run(self, *arguments: str) -> tuple[int, bytes, str]:
        with self.room:
            try:
                done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                raise Refused(504, f"it took longer than {SECONDS} s") from None
        if len(done.stdout) > MOST_TEXT:
            raise Refused(500, f"the answer is larger than {MOST_TEXT >> 20} MiB")
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()

    def list(self, asked: dict[str, str]) -> tuple[str, bytes]:
        return "application/json", json.dumps(self.folder.entries(asked.get("path", ""))).encode()

    def tree(self, asked: dict[str, str]) -> tuple[str, bytes]:
        code, page, said = self.run("tree", self.folder.file(asked["path"]), "--html", "/dev/stdout")
        if not page:
            raise Refused(422, said or f"the program ended with {code}")
        return "text/html", page

    def audit(self, asked: dict[str, str]) -> tuple[str, bytes]:
        path = self.folder.file(asked["path"])
        _, text, said = self.run("audit", path)
        _, row, _ = self.run("audit", "--json", path)
        if not row:
            raise Refused(422, said)
        verdict = json.loads(row.splitlines()[0]).get("verdict", "unknown")
        return "application/json", json.dumps({"verdict": verdict, "text": text.decode("utf-8", "replace")}).encode()

    def tensors(self, asked: dict[str, str]) -> tuple[str, bytes]:
        code, text, said = self.run("tree", "--json", self.folder.file(asked["path"]))
        row = json.loads(text.splitlines()[0]) if text.strip() else {}
        if "networks" not in row:
            raise Refused(422, row.get("error", {}).get("message") or said or f"the program ended with {code}")
        rows = [{"name": name, "shape": shape, "dtype": network["dtypes"].get(name, "?"), "network": network["name"]}
                for network in row["networks"] for name, shape in network["state"].items()]
        return "application/json", json.dumps(rows).encode()

    def values(self, asked: dict[str, str]) -> tuple[str, bytes]:
        command = [program(), "extract", self.folder.file(asked["path"]), asked["name"], "-o", "/dev/stdout"]
        with self.room, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stderr is not None
            watch = threading.Timer(SECONDS, process.kill)
            watch.start()
            try:
                made = summary(process.stdout, asked.get("dtype", ""))
            except NotShown as why:
                said = process.stderr.read().decode("utf-8", "replace").strip()
                raise Refused(422, said or str(why)) from None
            finally:
                watch.cancel()
                process.kill()  # what was not read is not wanted
        return "application/json", json.dumps(made).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        try:
            kind, body, policy = self._answer()
            status = 200
        except Refused as why:
            kind, body, policy, status = "application/json", json.dumps({"error": str(why)}).encode(), "", why.status
        except (KeyError, ValueError, OSError) as why:
            kind, body, policy, status = "application/json", json.dumps({"error": str(why)}).encode(), "", 400
        try:
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Security-Policy": policy or "default-src 'none'"}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page was closed

    def _answer(self) -> tuple[str, bytes, str]:
        """Content type, content, policy. Other sites reach this machine under names of theirs, and know no token."""
        if self.headers.get("Host") not in self.server.hosts:
            raise Refused(403, "this server answers to its own address only")
        parts = urllib.parse.urlsplit(self.path)
        token, _, what = parts.path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(403, "the address that `pellucid serve` printed has a token, which is missing here")
        if not what:
            page = pathlib.Path(__file__).with_name("serve.html").read_bytes()
            return "text/html", page, PAGE_POLICY
        answer = self.server.answers.table.get(what)
        if answer is None:
            raise Refused(404, "there is no such question")
        asked = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        kind, body = answer(asked)
        return kind, body, FRAME_POLICY if what == "tree" else ""

    def log_message(self, format: str, *args: Any) -> None:
        """Paths have the token, so nothing is logged."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, path: str | os.PathLike[str], port: int = 0):
        self.answers = Answers(Folder(path))
        self.token = secrets.token_urlsafe(24)
        super().__init__((HERE, port), Handler)
        self.port = self.server_address[1]
        self.hosts = {f"{HERE}:{self.port}", f"localhost:{self.port}"}

    @property
    def url(self) -> str:
        return f"http://{HERE}:{self.port}/{self.token}/"


def serve(path: str | os.PathLike[str] = ".", *, port: int = 0, open: bool = True) -> None:
    """Serves the model files of a folder, or one file, to this machine's browser, until it is interrupted.

    Args:
        path: a folder or a file; nothing outside of it is read
        port: 0 for any that is free
        open: open the page in the browser
    """
    if os.name != "posix":
        raise OSError("serve needs a system with /dev/stdout")
    with Server(path, port) as server:
        print(server.url, flush=True)
        print("pellucid: Ctrl-C ends it", file=sys.stderr)
        if open:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
