"""A small client of the language server protocol over standard input and output, for tests."""

from __future__ import annotations

import json
import os
import pathlib
import queue
import subprocess
import threading
import time
from typing import Any

from conftest import PROGRAM


class Client:
    def __init__(self, *options: object, cwd: object = None) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "lsp", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd,
            env={key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
        )
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.kept: list[dict[str, Any]] = []
        self.last = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        out = self.process.stdout
        while header := out.readline():
            length = int(header.split(b":")[1])
            assert out.readline() == b"\r\n"
            self.messages.put(json.loads(out.read(length)))
        self.messages.put(None)

    def raw(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, **params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, **params: object) -> int:
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def wait(self, wanted, timeout: float = 60) -> dict[str, Any]:
        """The first message that fits; what comes before it is kept for others."""
        for i, message in enumerate(self.kept):
            if wanted(message):
                return self.kept.pop(i)
        end = time.monotonic() + timeout
        while True:
            message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            assert message is not None, "the server is gone"
            if wanted(message):
                return message
            self.kept.append(message)

    def answer(self, number: object) -> dict[str, Any]:
        return self.wait(lambda m: m.get("id") == number and "method" not in m)

    def call(self, method: str, **params: object) -> Any:
        found = self.answer(self.ask(method, **params))
        assert "error" not in found, found
        return found["result"]

    def start(self, folder: object = None, settings: object = None, capabilities: object = None) -> Any:
        uri = pathlib.Path(str(folder)).as_uri() if folder else None
        result = self.call("initialize", processId=None, rootUri=uri, capabilities=capabilities or {},
                           initializationOptions=settings)
        self.notify("initialized")
        return result

    def open(self, path: pathlib.Path, text: str, version: int = 1) -> str:
        item = {"uri": path.as_uri(), "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)
        return item["uri"]

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": version},
                    contentChanges=list(changes))

    def diagnostics(self, uri: str, version: int = 1) -> list[dict[str, Any]]:
        found = self.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics"
                          and m["params"]["uri"] == uri and m["params"].get("version") == version)
        return found["params"]["diagnostics"]

    def stop(self) -> int:
        self.call("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=30)
