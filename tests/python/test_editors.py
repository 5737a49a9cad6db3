"""Editors as people use them: neovim without a screen, and the extension of VS Code with a stand-in for VS Code."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import PROGRAM, ROOT

FOLDER = ROOT / "editors" / "vscode"
NET = """\
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(31, 4)
    def forward(self, x):
        y = self.a(x)
        return self.b(y)
"""

# Works from neovim 0.7 on; the documentation has the shorter form of later ones.
LUA = """\
local client = vim.lsp.start_client({{ name = "pellucid", cmd = {{ {program!r}, "lsp", "--python", {python!r} }},
                                       root_dir = {folder!r} }})
vim.lsp.buf_attach_client(0, client)
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local out = {{ diagnostics = {{}} }}
for _, found in ipairs(vim.diagnostic.get(0)) do
  table.insert(out.diagnostics, {{ line = found.lnum, code = found.code, source = found.source }})
end
local params = {{ textDocument = vim.lsp.util.make_text_document_params(0), position = {{ line = 4, character = 20 }} }}
local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", params, 10000)
for _, answer in pairs(answers) do out.hover = answer.result.contents.value end
local file = io.open({result!r}, "w")
file:write(vim.fn.json_encode(out))
file:close()
vim.cmd("qall!")
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="neovim is not installed")
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch's sources are interpreted: none are here")
def test_neovim_shows_diagnostics_and_hover(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    names = {"program": str(pathlib.Path(PROGRAM).resolve()), "python": sys.executable, "folder": str(tmp_path),
             "result": str(tmp_path / "result.json")}
    (tmp_path / "try.lua").write_text(LUA.format(**names))
    command = ["nvim", "--clean", "--headless", str(tmp_path / "net.py"), "-c", f"luafile {tmp_path}/try.lua"]
    done = subprocess.run(command, capture_output=True, timeout=90, check=False)
    assert (tmp_path / "result.json").exists(), done.stderr.decode()
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["diagnostics"] == [{"line": 8, "code": "shape", "source": "pellucid"}]
    assert "544 parameters" in found["hover"]


# ---- VS Code ----

STAND_IN = """\
const Module = require("module");
const load = Module._load;
const seen = { handlers: {}, sent: [] };
const values = { path: "PROGRAM", python: "", roots: [], inputs: { Net: "2x16" }, inlayHints: true, codeLens: false };
const vscode = {
  workspace: {
    workspaceFolders: [{ uri: { fsPath: process.argv[2] } }],
    getConfiguration: () => ({ get: (name) => { if (!(name in values)) throw Error(name); return values[name]; } }),
    onDidChangeConfiguration: (run) => { seen.changed = run; return {}; },
  },
  commands: { registerCommand: (name, run) => { seen.handlers[name] = run; return {}; } },
  window: { showErrorMessage: (text) => { throw Error(text); } },
};
class LanguageClient {
  constructor(id, name, server, options) { seen.server = server; seen.options = options; }
  async start() { seen.started = (seen.started || 0) + 1; }
  async stop() { seen.stopped = (seen.stopped || 0) + 1; }
  sendNotification(method, params) { seen.sent.push([method, params]); }
}
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
(async () => {
  const extension = require(process.argv[3]);
  await extension.activate({ subscriptions: [] });
  await seen.changed({ affectsConfiguration: (name) => name === "pellucid" });
  await seen.handlers["pellucid.restart"]();
  await extension.deactivate();
  console.log(JSON.stringify(seen));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_extension_starts_the_server_with_its_settings(tmp_path):
    (tmp_path / ".venv").mkdir()
    (tmp_path / "stand_in.js").write_text(STAND_IN)
    done = subprocess.run(["node", tmp_path / "stand_in.js", tmp_path, FOLDER / "extension.js"], capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    expected = {"roots": [], "inputs": {"Net": "2x16"}, "inlayHints": True, "codeLens": False,
                "python": str(tmp_path / ".venv")}
    assert seen["server"] == {"command": "PROGRAM", "args": ["lsp"]}
    assert seen["options"]["initializationOptions"] == expected
    assert seen["sent"] == [["workspace/didChangeConfiguration", {"settings": {"pellucid": expected}}]]
    assert (seen["started"], seen["stopped"]) == (2, 2)


def test_every_setting_of_the_extension_is_one_of_the_servers():
    package = json.loads((FOLDER / "package.json").read_text())
    source = "".join(path.read_text() for path in (ROOT / "src" / "lsp").glob("*.c"))
    page = (ROOT / "docs" / "tasks" / "editor.md").read_text()
    names = [name.removeprefix("pellucid.") for name in package["contributes"]["configuration"]["properties"]]
    for name in names:
        assert name == "path" or f'"{name}"' in source, name
        assert f"`{name}`" in page or f"`pellucid.{name}`" in page, name
