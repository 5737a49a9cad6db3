"""A small client of the Debug Adapter Protocol, enough to drive debugpy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time


class Debugger:
    """Runs a script under debugpy; breakpoints are {file: [lines]}."""

    def __init__(self, *command: str, breakpoints: dict[str, list[int]] | None = None,
                 just_my_code: bool = False) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.out = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}",
             "--wait-for-client", *command],
            stdout=self.out, stderr=subprocess.STDOUT,  # not a pipe: debugpy's other processes would keep it open
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
        self.socket = self._connect(port)
        self.bytes = self.socket.makefile("rb")
        self.number = 0
        self.events: list[dict] = []
        self.request("initialize", adapterID="test", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        attach = self.send("attach", justMyCode=just_my_code)
        self.wait("initialized")
        for file, lines in (breakpoints or {}).items():
            self.request("setBreakpoints", source={"path": file}, breakpoints=[{"line": line} for line in lines])
        self.request("configurationDone")
        self.answer(attach)

    def _connect(self, port: int) -> socket.socket:
        for _ in range(300):
            try:
                made = socket.create_connection(("127.0.0.1", port), timeout=90)
                return made
            except OSError:
                time.sleep(0.1)
        raise AssertionError("debugpy does not listen: " + self.output())

    def output(self) -> str:
        self.out.seek(0)
        return self.out.read()

    def send(self, command: str, **arguments: object) -> int:
        self.number += 1
        body = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self.number

    def _read(self) -> dict:
        length = 0
        while True:
            line = self.bytes.readline()
            if not line:
                raise AssertionError("debugpy hung up")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            if line == b"\r\n" and length:
                return json.loads(self.bytes.read(length))

    def answer(self, number: int) -> dict:
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body") or {}
            if message["type"] == "event":
                self.events.append(message)

    def request(self, command: str, **arguments: object) -> dict:
        return self.answer(self.send(command, **arguments))

    def wait(self, event: str) -> dict:
        while True:
            for message in self.events:
                if message["event"] == event:
                    self.events.remove(message)
                    return message.get("body") or {}
            message = self._read()
            if message["type"] == "event":
                self.events.append(message)

    def stopped_at(self) -> tuple[str, int]:
        """Waits until it stops; file and line."""
        self.thread = self.wait("stopped")["threadId"]
        frame = self.request("stackTrace", threadId=self.thread)["stackFrames"][0]
        self.frame = frame["id"]
        return frame["source"]["path"], frame["line"]

    def variables(self) -> dict[str, str]:
        scope = self.request("scopes", frameId=self.frame)["scopes"][0]
        values = self.request("variables", variablesReference=scope["variablesReference"])["variables"]
        return {value["name"]: value["value"] for value in values}

    def evaluate(self, text: str) -> str:
        return self.request("evaluate", expression=text, frameId=self.frame, context="repl")["result"]

    def go(self, how: str = "continue") -> None:
        self.request(how, threadId=self.thread)

    def finish(self) -> str:
        """Lets it run to its end; returns what it printed."""
        code = self.process.wait(timeout=60)
        assert code == 0, self.output()
        return self.output()

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, *error: object) -> None:
        self.bytes.close()
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.out.close()
