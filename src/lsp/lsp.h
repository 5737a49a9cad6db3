/* A language server without its wires: bytes of the client in, bytes for the client out, and analyses that somebody
 * else runs. Nothing here reads a file, waits or starts anything.
 *
 * A server lives for days, and an arena frees nothing before its end. So everything that comes and goes is a piece: an
 * arena of its own, which a new one replaces. */
#ifndef PEL_LSP_LSP_H
#define PEL_LSP_LSP_H

#include "base/json.h"
#include "base/json_read.h"
#include "interp/scan.h"

#define PEL_LSP_MAX_DOCUMENTS 256
#define PEL_LSP_MAX_MESSAGE ((size_t)128 << 20)
#define PEL_LSP_MAX_WAITING 64

/* Codes of JSON-RPC and of the protocol. */
enum {
    PEL_RPC_PARSE = -32700,
    PEL_RPC_REQUEST = -32600,
    PEL_RPC_METHOD = -32601,
    PEL_RPC_PARAMS = -32602,
    PEL_RPC_INTERNAL = -32603,
    PEL_RPC_NOT_INITIALIZED = -32002,
    PEL_RPC_CANCELLED = -32800,
};

/* ---- pieces (frame.c) ---- */

typedef struct pel_piece {
    pel_ctx *ctx; /* NULL: empty */
    char *at;
    size_t len, cap;
} pel_piece;

static inline pel_str pel_piece_str(const pel_piece *p) { return (pel_str){ p->at ? p->at : "", p->len }; }
/* False: no memory; the piece is as before. */
bool pel_piece_put(pel_piece *p, pel_str text);
bool pel_piece_set(pel_piece *p, pel_str text);
void pel_piece_drop(pel_piece *p, size_t n); /* its first n bytes */
void pel_piece_free(pel_piece *p);

/* ---- framing (frame.c) ---- */

typedef struct pel_framing {
    pel_piece bytes;
    size_t at;     /* what was read of them */
    uint64_t skip; /* bytes of a message that is too long, still to come */
    bool is_lost;  /* what comes is passed over up to the next Content-Length */
} pel_framing;

typedef enum pel_frame_kind {
    PEL_FRAME_NONE,     /* more bytes are needed */
    PEL_FRAME_MESSAGE,  /* *body */
    PEL_FRAME_TOO_LONG, /* its bytes are passed over */
    PEL_FRAME_BROKEN,   /* a header without a length; reading goes on at the next one that has it */
} pel_frame_kind;

bool pel_framing_feed(pel_framing *f, pel_str bytes);
/* The body stays until the next call of either function. */
pel_frame_kind pel_framing_next(pel_framing *f, pel_str *body);

/* ---- text and places (text.c) ---- */

typedef struct pel_text_position { /* as the protocol counts: from 0, in UTF-16 */
    uint32_t line, character;
} pel_text_position;

/* Beyond the end of a line is its end, beyond the last line the end of the text. */
size_t pel_offset_at(pel_str text, pel_text_position position);
pel_text_position pel_position_at(pel_str text, size_t offset);
pel_str pel_line_at(pel_str text, uint32_t line, size_t *start); /* line from 0, without its end */
/* "file:///a%20b.py" -> "/a b.py"; empty: it is no file. */
pel_str pel_path_of_uri(pel_ctx *ctx, pel_str uri);
pel_str pel_uri_of_path(pel_ctx *ctx, pel_str path);

/* ---- the server ---- */

typedef struct pel_document {
    pel_ctx *ctx; /* that it lies in itself */
    pel_piece uri, path, text;
    int64_t version;
    uint64_t changed, due; /* milliseconds of the host's clock */
    bool is_dirty;         /* changed since the last analysis began */
    pel_piece result;      /* of the last analysis, as JSON */
    pel_ctx *result_ctx;
    pel_json_value *found; /* the same, read; NULL: none yet */
} pel_document;

typedef enum pel_question { PEL_ASK_HOVER, PEL_ASK_HINTS, PEL_ASK_LENSES } pel_question;

typedef struct pel_waiting { /* a request that an analysis will answer */
    char id[128];            /* as JSON */
    pel_question what;
    const pel_document *document;
    pel_text_position from, to;
} pel_waiting;

struct pel_lsp {
    pel_ctx *ctx;
    pel_framing in;
    pel_piece out;
    pel_document *documents[PEL_LSP_MAX_DOCUMENTS]; /* NULL: free */
    pel_piece folders;                              /* of the workspace: paths, each ended by NUL */
    pel_ctx *settings_ctx;
    const pel_json_value *settings; /* "pellucid" of the client's settings; NULL: none */
    pel_waiting waiting[PEL_LSP_MAX_WAITING];
    uint32_t n_waiting;
    const pel_document *running; /* whose analysis is under way; NULL: none */
    uint64_t job;                /* its number */
    pel_piece request;           /* of that analysis */
    uint64_t now;
    bool is_initialized, is_shut_down, is_over;
    bool can_configure, can_refresh_hints, can_refresh_lenses; /* what the client said it can */
    uint32_t asked;                                            /* requests of ours */
};

typedef struct pel_lsp_call { /* a message that is being answered */
    pel_lsp *server;
    pel_ctx *ctx;
    pel_str id; /* as JSON; empty: a notification */
    const pel_json_value *params;
    pel_json out; /* of the result */
    int code;     /* of an error; 0: none */
    const char *message;
    bool is_waiting; /* it will be answered later */
} pel_lsp_call;

/* ---- sending (server.c) ---- */

/* {"jsonrpc": "2.0", rest}; rest: the other members. */
void pel_lsp_send(pel_lsp *server, pel_ctx *ctx, pel_str rest);
void pel_lsp_log(pel_lsp *server, pel_ctx *ctx, int type, pel_str text);
void pel_json_copy(pel_json *out, const pel_json_value *value);

/* ---- documents (documents.c) ---- */

pel_document *pel_document_find(pel_lsp *server, pel_str uri);
void pel_document_free(pel_lsp *server, pel_document *document);
void pel_did_open(pel_lsp_call *c);
void pel_did_change(pel_lsp_call *c);
void pel_did_save(pel_lsp_call *c);
void pel_did_close(pel_lsp_call *c);
void pel_analyse_all(pel_lsp *server); /* again: settings or files have changed */

/* ---- requests that analyses answer (answers.c) ---- */

void pel_ask_hover(pel_lsp_call *c);
void pel_ask_hints(pel_lsp_call *c);
void pel_ask_lenses(pel_lsp_call *c);
/* Of the requests that wait: those of the document, or all where it is NULL. */
void pel_answer_waiting(pel_lsp *server, pel_ctx *ctx, const pel_document *document);

/* ---- one analysis: what is asked (job.c), what was found (analyse.c) ---- */

/* The request for a document as JSON, with the text of every open one. */
void pel_job_write(pel_lsp *server, pel_ctx *ctx, const pel_document *document, pel_buf *out);
/* Throws PEL_E_FORMAT. */
void pel_job_read(pel_ctx *ctx, pel_str bytes, pel_lsp_job *job);
typedef struct pel_lsp_seen { /* what a scan saw of a text */
    pel_str path, text;
    pel_node *root;
    const pel_networks *networks;
    const pel_watch *watch;
} pel_lsp_seen;
/* The members "hints", "lenses" and "hovers" (hints.c). */
void pel_lsp_notes(pel_ctx *ctx, const pel_lsp_seen *seen, pel_json *out);
void pel_lsp_analyse(pel_scanner *scanner, const pel_lsp_job *job, pel_buf *out);

#endif
