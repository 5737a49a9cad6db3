/* Who analyses for the language server. Where processes can be forked: a worker, which imports what documents import,
 * and forks off a process for each analysis: that one shares the imports and leaves nothing behind, neither memory nor
 * what a program did to a library, and it is stopped by ending it. Elsewhere: this process, from the start each time.
 */
#ifndef PEL_CLI_LSP_WORKER_H
#define PEL_CLI_LSP_WORKER_H

#include "cli.h"

typedef struct cli_lsp_host cli_lsp_host;

cli_lsp_host *cli_lsp_host_new(pel_lsp *server, const cli_args *args); /* NULL: no memory, or a bad --root: said */
void cli_lsp_host_free(cli_lsp_host *host);
uint64_t cli_lsp_now(void); /* milliseconds */
/* Begins an analysis; the one before it is no longer wanted. */
void cli_lsp_begin(cli_lsp_host *host, pel_text request, uint64_t number);
/* Waits for the client, a result, or so many milliseconds (-1: no limit). True: the client has sent something. */
bool cli_lsp_wait(cli_lsp_host *host, int milliseconds);
/* Gives results that have come to the server. */
void cli_lsp_collect(cli_lsp_host *host);

#endif
