/* The wires of the language server: standard input and output, a clock, and a process that analyses (lsp_worker.c). */
#include "cli.h"
#include "lsp_worker.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_all(pel_lsp *server) {
    for (pel_text out = pellucid_lsp_output(server); out.len; out = pellucid_lsp_output(server)) {
        ssize_t n = write(STDOUT_FILENO, out.ptr, out.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        pellucid_lsp_sent(server, (size_t)n);
    }
    return true;
}

/* False: the client is gone. */
static bool read_some(pel_lsp *server) {
    static char bytes[1 << 16];
    ssize_t n;
    do n = read(STDIN_FILENO, bytes, sizeof bytes);
    while (n < 0 && errno == EINTR);
    if (n <= 0) return false;
    pellucid_lsp_feed(server, (pel_text){ bytes, (size_t)n }, cli_lsp_now());
    return true;
}

/* Starts what is due. Returns how long nothing else is, in milliseconds; -1: nothing is expected. */
static int begin_due(pel_lsp *server, cli_lsp_host *host) {
    uint64_t wait, number;
    pel_text request;
    while (pellucid_lsp_due(server, cli_lsp_now(), &wait, &request, &number)) cli_lsp_begin(host, request, number);
    return wait ? (int)wait : -1;
}

static int serve(pel_lsp *server, cli_lsp_host *host) {
    int code;
    while (!pellucid_lsp_is_over(server, &code)) {
        int wait = begin_due(server, host);
        if (!write_all(server)) return CLI_BAD_INPUT;
        if (cli_lsp_wait(host, wait) && !read_some(server)) break;
        cli_lsp_collect(host);
    }
    write_all(server);
    pellucid_lsp_is_over(server, &code);
    return code;
}

static int run(const cli_args *args) {
    pel_lsp *server = pellucid_lsp_open();
    cli_lsp_host *host = server ? cli_lsp_host_new(server, args) : NULL;
    int code = host ? serve(server, host) : CLI_BAD_INPUT;
    cli_lsp_host_free(host);
    pellucid_lsp_close(server);
    return code;
}

static const cli_option options[] = {
    { 0, "root", "DIR", "a folder that modules are imported from; may be given several times", NULL },
    { 0, "python", "PATH", "the Python whose site-packages are read, where the settings name none", NULL },
    { 0, "stdio", NULL, "accepted because editors pass it; the server always uses standard input and output", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_lsp = {
    .name = "lsp",
    .operands = "",
    .summary = "serve an editor: shapes and parameters of networks as you type",
    .about = "A language server (protocol 3.17, over standard input and output). An editor starts it; the page\n"
             "docs/tasks/editor.md has the configuration for VS Code, neovim, Helix and emacs.\n"
             "\n"
             "It interprets each file as `pellucid scan` does and executes nothing. It reports shapes that\n"
             "disagree, with the line that gave the shape and the line that made the layer; syntax errors;\n"
             "modules that no root has. An error that depends on an unknown size or condition is not\n"
             "reported. The editor's text counts, saved or not.\n"
             "\n"
             "Beside the text it shows shapes (inlay hints after assignments in forward), parameters of\n"
             "constructors and classes, and on hover classes, weights and multiply-adds. Inputs are taken from\n"
             "the layer that gets them, or from a comment (# pellucid: input 2x3x224x224) or the setting\n"
             "`pellucid.inputs`, by class.\n"
             "\n"
             "Modules are imported from the folder of the file, the folders of the workspace, --root, and the\n"
             "site-packages of the setting `pellucid.python`, of --python, or of $VIRTUAL_ENV.\n"
             "\n"
             "What is imported is interpreted once and shared by the analyses that follow, as long as no file\n"
             "of it changes. An analysis that takes too long is cut short, and a diagnostic says so.\n"
             "\n"
             "Exit status: 0 after shutdown and exit, 1 if the editor left without them.",
    .example = "$ pellucid lsp --python venv/bin/python",
    .options = options,
    .run = run,
};
