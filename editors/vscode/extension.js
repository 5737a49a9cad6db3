// A thin client: it starts `pellucid lsp` and hands it the settings. What is shown is decided there.
"use strict";

const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// The setting, or the environment of the workspace.
function pythonOf(configuration) {
  const given = configuration.get("python");
  if (given) return given;
  for (const folder of vscode.workspace.workspaceFolders || [])
    for (const name of [".venv", "venv"]) {
      const found = path.join(folder.uri.fsPath, name);
      if (fs.existsSync(found)) return found;
    }
  return "";
}

function settings() {
  const configuration = vscode.workspace.getConfiguration("pellucid");
  const names = ["roots", "inputs", "inlayHints", "codeLens"];
  const given = Object.fromEntries(names.map((name) => [name, configuration.get(name)]));
  return { ...given, python: pythonOf(configuration) };
}

async function start() {
  const command = vscode.workspace.getConfiguration("pellucid").get("path");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("pellucid", "pellucid", server, {
    documentSelector: [{ language: "python" }],
    initializationOptions: settings(),
    middleware: {
      workspace: { configuration: (params) => params.items.map(() => settings()) },
    },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(`pellucid: "${command} lsp" can't be started: ${error.message}`);
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old) await old.stop();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("pellucid.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("pellucid.path")) {
        await stop();
        await start();
      } else if (event.affectsConfiguration("pellucid") && client) {
        client.sendNotification("workspace/didChangeConfiguration", { settings: { pellucid: settings() } });
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
