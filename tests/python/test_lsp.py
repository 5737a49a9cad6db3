"""The language server, by a client of its own over standard input and output."""

from __future__ import annotations

import importlib.util
import json
import sys
import time

import pytest
from lsp_client import Client

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                 reason="torch's sources are interpreted, and there are none here")

NET = """\
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear({wanted}, 4)
    def forward(self, x):
        y = self.a(x)
        return self.b(y)
"""


@pytest.fixture
def client():
    made = []

    def start(*options: object, **how: object) -> Client:
        made.append(Client("--python", sys.executable, *options, **how))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.wait()
        one.process.stdin.close()
        one.process.stdout.close()


def lines_of(found: list[dict]) -> list[tuple[str, int]]:
    return [(row["code"], row["range"]["start"]["line"]) for row in found]


# ---- the session ----


def test_a_session_begins_and_ends(client, tmp_path):
    c = client()
    found = c.start(tmp_path)
    assert found["serverInfo"]["name"] == "pellucid"
    assert found["capabilities"]["textDocumentSync"]["change"] == 2
    assert c.stop() == 0


def test_leaving_without_shutdown_is_exit_1(client):
    c = client()
    c.start()
    c.notify("exit")
    assert c.process.wait(timeout=30) == 1


def test_a_client_that_dies_ends_the_server(client):
    c = client()
    c.start()
    c.process.stdin.close()
    assert c.process.wait(timeout=30) == 1


# ---- diagnostics ----


@needs_torch
def test_a_shape_error_has_both_places(client, tmp_path):
    c = client()
    c.start(tmp_path)
    path = tmp_path / "net.py"  # nobody ever writes it: the text is the editor's
    uri = c.open(path, NET.format(wanted=31))
    (found,) = c.diagnostics(uri)
    assert found["code"] == "shape" and found["source"] == "pellucid" and found["severity"] == 1
    assert found["range"] == {"start": {"line": 8, "character": 8}, "end": {"line": 8, "character": 24}}
    assert "31" in found["message"] and "32" in found["message"]
    places = {(row["message"], row["location"]["range"]["start"]["line"]) for row in found["relatedInformation"]}
    assert places == {("this gave the shape", 7), ("the layer was made here", 5)}
    assert all(row["location"]["uri"] == uri for row in found["relatedInformation"])
    assert c.stop() == 0


@needs_torch
def test_what_is_typed_counts(client, tmp_path):
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "net.py", NET.format(wanted=32))
    assert c.diagnostics(uri) == []
    edit = {"range": {"start": {"line": 5, "character": 27}, "end": {"line": 5, "character": 29}}, "text": "31"}
    c.change(uri, 2, edit)
    assert lines_of(c.diagnostics(uri, 2)) == [("shape", 8)]
    c.change(uri, 3, {"text": NET.format(wanted=32)})
    assert c.diagnostics(uri, 3) == []
    c.notify("textDocument/didClose", textDocument={"uri": uri})
    assert c.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"] == {
        "uri": uri, "diagnostics": []}


@pytest.mark.parametrize("text, line, character", [
    ("x = (1,\n", 0, 4),
    ("a = 1\nb = = 2\n", 1, 4),
    ("s = '\U0001f600\U0001f600'; b = = 2\n", 0, 16),
    ("s = 'äöü'; b = = 2\n", 0, 15),
])
def test_syntax_errors_have_positions_in_utf_16(client, tmp_path, text, line, character):
    c = client()
    c.start(tmp_path)
    (found,) = c.diagnostics(c.open(tmp_path / "bad.py", text))
    assert found["code"] == "syntax"
    assert found["range"]["start"] == {"line": line, "character": character}


def test_edits_count_utf_16(client, tmp_path):
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "bad.py", "s = '\U0001f600'; b = 2\r\nc = 3\r\n")
    assert c.diagnostics(uri) == []
    # the 2 is the 14th unit of its line, the 13th character
    c.change(uri, 2, {"range": {"start": {"line": 0, "character": 14}, "end": {"line": 0, "character": 15}},
                      "text": "= 2"})
    (found,) = c.diagnostics(uri, 2)
    assert found["range"]["start"] == {"line": 0, "character": 14}
    first = {"start": {"line": 0, "character": 14}, "end": {"line": 0, "character": 16}}
    second = {"start": {"line": 1, "character": 99}, "end": {"line": 99, "character": 0}}
    c.change(uri, 3, {"range": first, "text": ""}, {"range": second, "text": "\nd = = 4"})
    (found,) = c.diagnostics(uri, 3)
    assert found["range"]["start"] == {"line": 2, "character": 4}


def test_modules_that_no_root_has_are_hints(client, tmp_path):
    c = client()
    c.start(tmp_path)
    (found,) = c.diagnostics(c.open(tmp_path / "a.py", "import nowhere_at_all as n\nx = n.f()\n"))
    assert found["code"] == "unknown-import" and found["severity"] == 4
    assert found["range"] == {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 21}}


@needs_torch
def test_nothing_is_said_of_what_is_not_known(client, tmp_path):
    """The second layer fits one answer to the question, not the other."""
    text = NET.format(wanted="31 if flag else 32").replace("__init__(self)", "__init__(self, flag)", 1)
    c = client()
    c.start(tmp_path)
    assert c.diagnostics(c.open(tmp_path / "net.py", text)) == []


@needs_torch
def test_imports_come_from_the_editor_first(client, tmp_path):
    (tmp_path / "part.py").write_text("WIDTH = 31\n")
    text = "from part import WIDTH\n" + NET.format(wanted="WIDTH")
    c = client()
    c.start(tmp_path)
    part = c.open(tmp_path / "part.py", "WIDTH = 32\n")
    uri = c.open(tmp_path / "net.py", text)
    assert c.diagnostics(uri) == []
    c.change(part, 2, {"text": "WIDTH = 30\n"})
    c.diagnostics(part, 2)
    c.change(uri, 2, {"text": text + "\n"})
    assert lines_of(c.diagnostics(uri, 2)) == [("shape", 9)]


@needs_torch
def test_a_file_that_changes_on_disk_is_read_again(client, tmp_path):
    part = tmp_path / "part.py"
    part.write_text("WIDTH = 32\n")
    text = "from part import WIDTH\n" + NET.format(wanted="WIDTH")
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "net.py", text)
    assert c.diagnostics(uri) == []
    part.write_text("WIDTH = 31 \n")
    c.change(uri, 2, {"text": text + "\n"})
    assert lines_of(c.diagnostics(uri, 2)) == [("shape", 9)]


def test_a_budget_that_is_spent_is_said(client, tmp_path):
    c = client()
    c.start(tmp_path)
    found = c.diagnostics(c.open(tmp_path / "long.py", "x = 0\nwhile x >= 0:\n    x += 1\n"))
    assert ("budget" in [row["code"] for row in found]) and found[0]["severity"] == 3


# ---- hints, hover, lenses ----

GPT = """\
from dataclasses import dataclass
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc = nn.Linear(config.width, 4 * config.width)
        self.proj = nn.Linear(4 * config.width, config.width)
    def forward(self, x):
        y = self.fc(x)
        return x + self.proj(y)
@dataclass
class Config:
    width: int = 64
    depth: int = 3
class GPT(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.tok = nn.Embedding(1000, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.depth)])
        self.head = nn.Linear(config.width, 1000)
    def forward(self, idx):
        b, t = idx.size()
        x = self.tok(idx)
        for block in self.blocks:
            x = block(x)
        q, k = x.split(32, dim=2)
        return self.head(x)
"""
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


def hints_of(c: Client, uri: str) -> dict[int, str]:
    rows = c.call("textDocument/inlayHint", textDocument={"uri": uri}, range=WHOLE)
    return {row["position"]["line"]: row["label"] for row in rows}


def hover(c: Client, uri: str, text: str, part: str) -> str:
    line = next(i for i, row in enumerate(text.splitlines()) if part in row)
    at = {"line": line, "character": text.splitlines()[line].index(part) + 1}
    found = c.call("textDocument/hover", textDocument={"uri": uri}, position=at)
    return found["contents"]["value"] if found else ""


@needs_torch
def test_shapes_and_parameters_beside_the_text(client, tmp_path):
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "gpt.py", GPT)
    assert c.diagnostics(uri) == []
    assert hints_of(c, uri) == {
        6: "# 16,640 parameters", 7: "# 16,448 parameters", 9: "# B×T×256",
        18: "# 64,000 parameters", 19: "# 99,264 parameters", 20: "# 65,000 parameters",
        23: "# B×T×64", 25: "# B×T×64", 26: "# B×T×32, B×T×32",
    }
    lenses = c.call("textDocument/codeLens", textDocument={"uri": uri})
    assert {row["range"]["start"]["line"]: row["command"]["title"] for row in lenses} == {
        3: "33,088 parameters, config = Config() assumed", 15: "228,264 parameters, config = Config() assumed"}
    assert "Linear" in hover(c, uri, GPT, "self.head(x)") and "B×T×1000" in hover(c, uri, GPT, "self.head(x)")
    assert "3 calls" in hover(c, uri, GPT, "self.fc(x)")
    assert "weight 1000×64" in hover(c, uri, GPT, "nn.Embedding")
    assert "B×T×1000" in hover(c, uri, GPT, "GPT(nn")
    assert hover(c, uri, GPT, "import torch") == ""


@needs_torch
@pytest.mark.parametrize("how", ["setting", "comment", "comment above"])
def test_inputs_that_the_user_gives(client, tmp_path, how):
    text = NET.format(wanted=32)
    if how == "comment":
        text = text.replace("        y =", "        # pellucid: input 2x5x16\n        y =")
    if how == "comment above":
        text = text.replace("class Net", "# pellucid: input 2x5x16\nclass Net")
    c = client()
    c.start(tmp_path, settings={"inputs": {"Net": "2x5x16"}} if how == "setting" else None)
    uri = c.open(tmp_path / "net.py", text)
    assert c.diagnostics(uri) == []
    assert "# 2×5×32" in hints_of(c, uri).values()
    assert "5,120 multiply-adds" in hover(c, uri, text, "self.a(x)")
    lenses = c.call("textDocument/codeLens", textDocument={"uri": uri})
    assert lenses[0]["command"]["title"] == "676 parameters, 6,400 multiply-adds on 2x5x16"


@needs_torch
def test_an_input_that_does_not_fit_is_an_error(client, tmp_path):
    c = client()
    c.start(tmp_path, settings={"pellucid": {"inputs": {"Net": "2x15"}}})
    uri = c.open(tmp_path / "net.py", NET.format(wanted=32))
    (found,) = c.diagnostics(uri)
    assert found["code"] == "shape" and found["range"]["start"]["line"] == 7


@needs_torch
def test_settings_can_change_and_be_asked_for(client, tmp_path):
    c = client()
    c.start(tmp_path, capabilities={"workspace": {"configuration": True}})
    asked = c.wait(lambda m: m.get("method") == "workspace/configuration")
    assert asked["params"] == {"items": [{"section": "pellucid"}]}
    c.send({"jsonrpc": "2.0", "id": asked["id"], "result": [{"inputs": {"Net": "3x16"}}]})
    uri = c.open(tmp_path / "net.py", NET.format(wanted=32))
    c.diagnostics(uri)
    assert "# 3×32" in hints_of(c, uri).values()
    c.notify("workspace/didChangeConfiguration", settings={"pellucid": {"inlayHints": False, "codeLens": False}})
    assert c.call("textDocument/inlayHint", textDocument={"uri": uri}, range=WHOLE) is None
    assert c.call("textDocument/codeLens", textDocument={"uri": uri}) is None


@needs_torch
def test_sizes_that_differ_are_stars(client, tmp_path):
    text = NET.format(wanted=16).replace("return self.b(y)", "return y") + """\
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 4)])
    def forward(self, x):
        for layer in self.one:
            x = layer(x)
        return x
"""
    c = client()
    c.start(tmp_path, settings={"inputs": {"Two": "2x8"}})
    uri = c.open(tmp_path / "net.py", text)
    c.diagnostics(uri)
    assert hints_of(c, uri)[15] == "# 2×*"


def test_a_request_that_waits_can_be_cancelled(client, tmp_path):
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "long.py", "x = 0\nwhile x >= 0:\n    x += 1\n")
    number = c.ask("textDocument/inlayHint", textDocument={"uri": uri}, range=WHOLE)
    c.notify("$/cancelRequest", id=number)
    assert c.answer(number)["error"]["code"] == -32800
    number = c.ask("textDocument/hover", textDocument={"uri": uri}, position={"line": 0, "character": 0})
    c.change(uri, 2, {"text": "x = 0\n"})
    assert c.answer(number)["result"] is None
    assert c.diagnostics(uri, 2) == []


# ---- hostile clients ----


def test_bad_messages_have_the_right_errors(client):
    c = client()
    c.raw(b"Content-Length: 9\r\n\r\n{\"a\": 1,}")
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32700
    c.raw(b"Content-Length: 2\r\nContent-Type: x\r\n\r\n[]")
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32600
    c.raw(b"Nonsense\r\n\r\n")
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32700
    c.raw(b"Content-Length: -5\r\n\r\n")
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32700
    bad_id, bad_params = {"id": [1], "method": "x"}, {"id": 7, "method": "x", "params": 3}
    for body in ({}, {"id": 1}, {"method": 3, "id": 1}, bad_id, bad_params):
        c.send(body)
        assert c.wait(lambda m: "error" in m)["error"]["code"] == -32600, body
    assert c.answer(c.ask("textDocument/hover"))["error"]["code"] == -32002
    assert c.answer(c.ask("nobody/knows"))["error"]["code"] == -32002
    c.notify("textDocument/didOpen")
    c.start()
    assert c.answer(c.ask("initialize"))["error"]["code"] == -32600
    assert c.answer(c.ask("nobody/knows"))["error"]["code"] == -32601
    assert c.answer(c.ask("textDocument/hover"))["error"]["code"] == -32602
    assert c.answer(c.ask("textDocument/inlayHint", textDocument={"uri": "x"}))["error"]["code"] == -32602
    assert c.answer(c.ask("textDocument/codeLens"))["error"]["code"] == -32602
    assert c.call("textDocument/codeLens", textDocument={"uri": "file:///nowhere.py"}) is None
    c.notify("nobody/knows")
    c.notify("$/whatever")
    c.call("shutdown")
    assert c.answer(c.ask("textDocument/hover"))["error"]["code"] == -32600
    c.notify("exit")
    assert c.process.wait(timeout=30) == 0


def test_a_message_that_is_too_long_is_passed_over(client):
    c = client()
    c.start()
    size = 200 << 20
    c.raw(b"Content-Length: %d\r\n\r\n" % size)
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32700
    block = b" " * (1 << 20)
    for _ in range(size >> 20):
        c.raw(block)
    assert c.stop() == 0


def test_nested_json_is_refused(client):
    c = client()
    c.start()
    body = b'{"id":5,"method":' + b"[" * 100000
    c.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert c.wait(lambda m: m.get("id", 0) is None)["error"]["code"] == -32700
    assert c.stop() == 0


@pytest.mark.parametrize("params", [
    {}, {"textDocument": None}, {"textDocument": {"uri": 3, "text": 4}}, {"textDocument": {"uri": "file:///a.py"}},
    {"textDocument": {"uri": "file:///%00.py", "text": ""}}, {"textDocument": {"uri": "untitled:1", "text": "x = ("}},
])
def test_documents_that_are_none(client, params):
    c = client()
    c.start()
    c.notify("textDocument/didOpen", **params)
    c.notify("textDocument/didChange", **params)
    c.notify("textDocument/didSave", **params)
    c.notify("textDocument/didClose", **params)
    assert c.stop() == 0


def test_changes_that_are_none_are_logged(client, tmp_path):
    c = client()
    c.start()
    uri = c.open(tmp_path / "a.py", "x = 1\n")
    for change in ({}, {"text": 3}, {"range": {}, "text": ""}, {"range": {"start": {"line": -1, "character": 0}}}):
        c.change(uri, 2, change)
        assert c.wait(lambda m: m.get("method") == "window/logMessage")["params"]["type"] == 2
    assert c.stop() == 0


def test_ten_thousand_changes(client, tmp_path):
    c = client()
    c.start(tmp_path)
    uri = c.open(tmp_path / "a.py", "x = 1\n" * 500)
    at = {"line": 3, "character": 0}
    for i in range(10000):
        c.change(uri, i + 2, {"range": {"start": at, "end": at}, "text": "#"})
    c.change(uri, 10002, {"range": {"start": at, "end": at}, "text": "a b"})
    (found,) = c.diagnostics(uri, 10002)
    assert found["code"] == "syntax"
    assert c.stop() == 0


def test_bytes_one_by_one(client):
    c = client()
    body = json.dumps({"jsonrpc": "2.0", "id": "öä", "method": "initialize", "params": {}}).encode()
    for byte in b"content-length: %d\r\n\r\n%s" % (len(body), body):
        c.raw(bytes([byte]))
    assert c.answer("öä")["result"]["serverInfo"]["name"] == "pellucid"


def test_no_worker_is_left_over(client, tmp_path):
    c = client()
    c.start(tmp_path)
    c.diagnostics(c.open(tmp_path / "a.py", "x = 1\n"))
    children = [int(p) for p in open(f"/proc/{c.process.pid}/task/{c.process.pid}/children").read().split()]
    assert len(children) == 1
    c.process.kill()
    c.process.wait()
    for _ in range(200):
        try:
            if open(f"/proc/{children[0]}/stat").read().split(") ")[1][0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.05)
    pytest.fail("the worker outlived its server")


def children_of(process) -> list[int]:
    return [int(p) for p in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]


def test_documents_of_other_roots_have_workers_of_their_own(client, tmp_path):
    """What one of them imported is still there when the other was edited; a fourth takes the place of the oldest."""
    c = client()
    c.start(tmp_path)
    folders = [tmp_path / name for name in "abcd"]
    opened = {}
    for folder in folders:
        folder.mkdir()
        (folder / "part.py").write_text("def broken(:\n" if folder.name == "b" else "WIDTH = 1\n")
    for folder in folders[:2]:
        opened[folder] = c.open(folder / "net.py", "from part import WIDTH\nprint(WIDTH\n")
        assert len(c.diagnostics(opened[folder])) == 1
    workers = children_of(c.process)
    assert len(workers) == 2
    for version in range(2, 5):
        for folder, uri in opened.items():
            c.change(uri, version, {"text": "print(1\n" * (version % 2) + "x = 1\n"})
            assert len(c.diagnostics(uri, version)) == version % 2
    assert children_of(c.process) == workers
    for folder in folders[2:]:
        c.diagnostics(c.open(folder / "net.py", "x = 1\n"))
    assert len(children_of(c.process)) == 3 and workers[0] not in children_of(c.process)
