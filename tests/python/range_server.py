"""A web server on loopback that gives ranges of files, or does one of the things that servers do instead.

    with Served(folder) as server:
        server.url("ok", "net.pt")     # http://127.0.0.1:PORT/ok/net.pt

The first part of the path says how the server behaves: a method of Handler, `as_` and that word.
"""

from __future__ import annotations

import http.server
import pathlib
import re
import threading
import time
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        how, _, name = self.path.partition("?")[0].lstrip("/").partition("/")
        self.server.seen.append((how, name, dict(self.headers)))
        path = self.server.folder / name
        if self.server.delay:
            time.sleep(self.server.delay)
        if not path.is_file():
            return self.give(404, b"", {})
        getattr(self, "as_" + how)(path)
        return None

    def give(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), "Connection": "keep-alive", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def asked(self, size: int) -> tuple[int, int]:
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
        return int(found[1]), min(int(found[2]) + 1, size)

    def as_ok(self, path: pathlib.Path, etag: str = '"1"', **changes: Any) -> None:
        size = path.stat().st_size
        start, end = self.asked(size)
        if start >= size:
            return self.give(416, b"", {"Content-Range": f"bytes */{size}"})
        with path.open("rb") as file:
            file.seek(start)
            body = file.read(end - start)
        shown = changes.get("span", (start, end - 1, size))
        return self.give(206, changes.get("body", body), {
            "Content-Range": "bytes {}-{}/{}".format(*shown), "ETag": etag, **changes.get("headers", {})})

    # ---- what is fine, if somewhat odd ----

    def as_flaky(self, path: pathlib.Path) -> None:
        """Fails twice for each request."""
        self.server.counts[self.path] = self.server.counts.get(self.path, 0) + 1
        if self.server.counts[self.path] % 3:
            return self.give(503, b"", {"Retry-After": "0"})
        return self.as_ok(path)

    def as_moved(self, path: pathlib.Path) -> None:
        self.give(302, b"", {"Location": f"/ok/{path.relative_to(self.server.folder)}"})

    def as_elsewhere(self, path: pathlib.Path) -> None:
        """To another host: the same one by another name."""
        port = self.server.server_address[1]
        self.give(302, b"", {"Location": f"http://localhost:{port}/ok/{path.relative_to(self.server.folder)}?secret=1"})

    def as_norange(self, path: pathlib.Path) -> None:
        self.give(200, path.read_bytes(), {})

    # ---- what must be an error ----

    def as_changing(self, path: pathlib.Path) -> None:
        self.as_ok(path, etag=f'"{time.monotonic_ns()}"')

    def as_growing(self, path: pathlib.Path) -> None:
        start, end = self.asked(path.stat().st_size)
        self.as_ok(path, span=(start, end - 1, path.stat().st_size + (start > 0)))

    def as_truncated(self, path: pathlib.Path) -> None:
        """Fewer bytes than Content-Length says, then the connection ends."""
        size = path.stat().st_size
        start, end = self.asked(size)
        self.as_ok(path, body=b"x" * ((end - start) // 2), headers={"Content-Length": str(end - start)})
        self.close_connection = True

    def as_short(self, path: pathlib.Path) -> None:
        """Fewer bytes than the range, and Content-Length agrees with them."""
        self.as_ok(path, body=b"x")

    def as_lying(self, path: pathlib.Path) -> None:
        """Another range than the one that was asked for."""
        start, end = self.asked(path.stat().st_size)
        self.as_ok(path, span=(start + 1, end, path.stat().st_size + 5))

    def as_nospan(self, path: pathlib.Path) -> None:
        self.as_ok(path, headers={"Content-Range": "bytes"})

    def as_huge(self, path: pathlib.Path) -> None:
        self.as_ok(path, headers={"Content-Range": "bytes 0-65535/99999999999999999999999"})

    def as_encoded(self, path: pathlib.Path) -> None:
        self.as_ok(path, headers={"Content-Encoding": "gzip"})

    def as_big(self, path: pathlib.Path) -> None:
        """A large file, whole."""
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        self.close_connection = True

    def as_endless(self, path: pathlib.Path) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True

    def as_loop(self, path: pathlib.Path) -> None:
        self.give(302, b"", {"Location": self.path})

    def as_nowhere(self, path: pathlib.Path) -> None:
        self.give(302, b"", {})

    def as_local(self, path: pathlib.Path) -> None:
        self.give(302, b"", {"Location": f"file://{path}"})

    def as_busy(self, path: pathlib.Path) -> None:
        self.give(503, b"", {})

    def as_wait(self, path: pathlib.Path) -> None:
        self.give(429, b"", {"Retry-After": "3000"})

    def as_refused(self, path: pathlib.Path) -> None:
        self.give(403, b"", {})

    def as_range416(self, path: pathlib.Path) -> None:
        self.give(416, b"", {"Content-Range": "bytes */7"})

    def as_silent(self, path: pathlib.Path) -> None:
        self.close_connection = True

    def as_garbage(self, path: pathlib.Path) -> None:
        self.wfile.write(b"\x00\xff\r\n\r\n")
        self.close_connection = True

    def as_headers(self, path: pathlib.Path) -> None:
        self.wfile.write(b"HTTP/1.1 206 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n")
        self.close_connection = True

    def as_drip(self, path: pathlib.Path) -> None:
        """A byte now and then."""
        start, end = self.asked(path.stat().st_size)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{path.stat().st_size}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        for _ in range(min(end - start, 100)):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.1)


HOSTILE = sorted(name[3:] for name in vars(Handler) if name.startswith("as_") and name[3:] not in (
    "ok", "flaky", "moved", "elsewhere", "norange"))


class Served:
    def __init__(self, folder: pathlib.Path, delay: float = 0.0):
        self.server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that go away are what is tested
        self.server.folder, self.server.seen, self.server.counts, self.server.delay = folder, [], {}, delay

    def __enter__(self) -> Served:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def seen(self) -> list[tuple[str, str, dict[str, str]]]:
        return list(self.server.seen)

    def url(self, how: str, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/{how}/{name}"
