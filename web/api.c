/* The library for a page: jobs over files that the page holds, each by its number. The page gives bytes by three
 * functions that it defines (imports.js); nothing here opens, keeps or sends anything. One job at a time. */
#include "pellucid.h"

#include <emscripten.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the page answers ---- */

extern double web_size(int file);
extern int web_read(int file, double offset, char *to, double length); /* 0: it could not be read */
extern int web_find(const char *path, size_t length);                  /* a file by its path; -1: none; -2: a folder */
/* The entries of a folder, each ended by a newline: their length, and the text where `to` is not NULL. */
extern double web_list(const char *path, size_t length, char *to);

#define MAX_FILES 64 /* that one job opens beside its own */

typedef struct web_file {
    int number;
    pel_model_source source;
} web_file;

static web_file opened[MAX_FILES];
static size_t n_opened;
static pel_ctx *ctx;
static char *kept[4096]; /* texts that a job read: freed with its context */
static size_t n_kept;
static pel_text result;
static int result_kind; /* 0: the text that was asked for; 1: an error, as JSON */

static bool read_at(void *arg, uint64_t offset, char *to, size_t length) {
    return web_read(((web_file *)arg)->number, (double)offset, to, (double)length) != 0;
}

static pel_model_source *open_file(int number) {
    if (number < 0 || n_opened == MAX_FILES) return NULL;
    web_file *file = &opened[n_opened++];
    *file = (web_file){ number, { .size = (uint64_t)web_size(number), .read_at = read_at, .arg = file } };
    return &file->source;
}

/* Where the file of this job lies: what it names is looked for beside it. */
static pel_text folder;

static bool beside(void *arg, pel_text name, pel_model_source **source) {
    (void)arg;
    char path[4096];
    if (folder.len + name.len > sizeof path) return false;
    memcpy(path, folder.ptr, folder.len);
    memcpy(path + folder.len, name.ptr, name.len);
    *source = open_file(web_find(path, folder.len + name.len));
    return *source != NULL;
}

/* ---- source files ---- */

static char *keep(size_t size) {
    if (n_kept == sizeof kept / sizeof *kept) return NULL;
    char *text = malloc(size + 1);
    if (text) kept[n_kept++] = text;
    return text;
}

static bool read_whole(int number, pel_text *bytes) {
    double size = number < 0 ? -1 : web_size(number);
    char *text = size >= 0 && size <= (double)PEL_SOURCE_MAX ? keep((size_t)size) : NULL;
    if (!text || !web_read(number, 0, text, size)) return false;
    *bytes = (pel_text){ text, (size_t)size };
    return true;
}

/* Python writes "./net.py" for what lies in the folder of the program. */
static pel_text plain(pel_text path) {
    while (path.len > 2 && path.ptr[0] == '.' && path.ptr[1] == '/') path.ptr += 2, path.len -= 2;
    return path.len == 1 && path.ptr[0] == '.' ? (pel_text){ path.ptr, 0 } : path;
}

static bool scan_read(void *arg, pel_text path, pel_text *bytes) {
    (void)arg;
    path = plain(path);
    return read_whole(web_find(path.ptr, path.len), bytes);
}

static int scan_kind(void *arg, pel_text path) {
    (void)arg;
    path = plain(path);
    int found = web_find(path.ptr, path.len);
    return found >= 0 ? 1 : found == -2 ? 2 : 0;
}

static bool scan_list(void *arg, pel_text path, pel_text *names) {
    (void)arg;
    path = plain(path);
    double size = web_list(path.ptr, path.len, NULL);
    char *text = size < 0 ? NULL : keep((size_t)size);
    if (!text) return false;
    web_list(path.ptr, path.len, text);
    *names = (pel_text){ text, (size_t)size };
    return true;
}

/* ---- jobs ---- */

typedef struct job_input {
    int number;
    const char *name;
    pel_model_file file;
    pel_error *error;
} job_input;

static int whole_source(const job_input *in, pel_text *source) {
    if (read_whole(in->number, source)) return 0;
    bool is_large = web_size(in->number) > (double)PEL_SOURCE_MAX;
    *in->error = (pel_error){ .code = is_large ? PEL_E_TOO_BIG : PEL_E_READ };
    strcpy(in->error->message, is_large ? "the file is larger than 64 MiB" : "the file could not be read");
    return 2;
}

static int tree(const job_input *in, pel_view view) {
    pel_verdict verdict = PEL_HARMLESS;
    pel_view_options how = { .view = view, .verdict = &verdict };
    bool done = pellucid_tree(ctx, &in->file, &how, &result, in->error);
    return verdict == PEL_DANGEROUS ? 4 : done ? 0 : 2;
}

static int job_tree(const job_input *in) { return tree(in, PEL_VIEW_TREE); }
static int job_tree_json(const job_input *in) { return tree(in, PEL_VIEW_JSON); }
static int job_page(const job_input *in) { return tree(in, PEL_VIEW_HTML); }

static int audit(const job_input *in, bool as_json) {
    pel_verdict verdict = PEL_UNREADABLE;
    pel_audit_options how = { .as_json = as_json };
    bool done = pellucid_audit(ctx, &in->file, &how, &result, &verdict, in->error);
    return done ? pellucid_verdict_exit(verdict) : 2;
}

static int job_audit(const job_input *in) { return audit(in, false); }
static int job_audit_json(const job_input *in) { return audit(in, true); }

static int job_decompile(const job_input *in) {
    pel_text bytes;
    unsigned incomplete = 0;
    if (whole_source(in, &bytes) || !pellucid_decompile(ctx, bytes, NULL, &result, &incomplete, in->error)) return 2;
    return incomplete ? 3 : 0;
}

static int job_dis(const job_input *in) {
    pel_text bytes;
    return whole_source(in, &bytes) || !pellucid_dis(ctx, bytes, NULL, &result, in->error) ? 2 : 0;
}

static int job_ast_json(const job_input *in) {
    pel_text source;
    return whole_source(in, &source) || !pellucid_ast(ctx, source, NULL, &result, in->error) ? 2 : 0;
}

static int scan(const job_input *in, bool as_json) {
    pel_text source, out = { "", 0 };
    pel_scan_result found;
    pel_scanner *scanner;
    char root[4096];
    if (folder.len > sizeof root - 1 || whole_source(in, &source)) return 2;
    memcpy(root, folder.len ? folder.ptr : ".", folder.len ? folder.len - 1 : 1);
    root[folder.len ? folder.len - 1 : 1] = 0;
    const char *roots[] = { root, folder.len ? "." : NULL, NULL };
    pel_scan_options how = { .files = { NULL, scan_read, scan_kind, scan_list }, .roots = roots, .as_json = as_json };
    if (!pellucid_scan_open(ctx, &how, &scanner, in->error)) return 2;
    if (!pellucid_scan(scanner, in->name, source, &out, &found, in->error)) return 2;
    result = out;
    return found.errors ? 4 : found.unknown ? 3 : 0;
}

static int job_scan(const job_input *in) { return scan(in, false); }
static int job_scan_json(const job_input *in) { return scan(in, true); }

static int job_source(const job_input *in) { return pellucid_recover(ctx, &in->file, &result, in->error) ? 0 : 2; }

static const struct {
    const char *name;
    int (*run)(const job_input *in);
} jobs[] = {
    { "tree", job_tree },
    { "tree --json", job_tree_json },
    { "page", job_page },
    { "audit", job_audit },
    { "audit --json", job_audit_json },
    { "decompile", job_decompile },
    { "dis", job_dis },
    { "ast", job_ast_json },
    { "scan", job_scan },
    { "scan --json", job_scan_json },
    { "source", job_source },
};

/* ---- what the page calls ---- */

EMSCRIPTEN_KEEPALIVE char *web_room(size_t length) { return malloc(length + 1); }

static void forget(void) {
    if (ctx) pellucid_close(ctx);
    while (n_kept) free(kept[--n_kept]);
    ctx = NULL;
    n_opened = 0;
}

/* Runs a job on a file. The answer is the exit code that the program would end with; the text is at web_text() until
 * the next job. job and name are from web_room(); they are freed. */
EMSCRIPTEN_KEEPALIVE int web_run(char *job, int number, char *name) {
    static char *last_name; /* errors and folder point into it */
    forget();
    free(last_name);
    last_name = name;
    pel_error error = { .code = PEL_E_USAGE, .message = "there is no such job" };
    const char *slash = strrchr(name, '/');
    folder = (pel_text){ name, slash ? (size_t)(slash - name) + 1 : 0 };
    result = (pel_text){ "", 0 };
    int code = 1;
    if (!(ctx = pellucid_open(NULL))) abort();
    job_input in = { number, name, { .name = { name, strlen(name) }, .source_beside = beside }, &error };
    in.file.source = open_file(number);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(jobs[i].name, job) == 0) {
            error = (pel_error){ .code = PEL_E_OK };
            code = jobs[i].run(&in);
        }
    result_kind = error.code != PEL_E_OK;
    if (result_kind) result = pellucid_error_json(ctx, (pel_text){ name, strlen(name) }, &error);
    free(job);
    return code;
}

EMSCRIPTEN_KEEPALIVE const char *web_text(void) { return result.ptr; }
EMSCRIPTEN_KEEPALIVE double web_length(void) { return (double)result.len; }
EMSCRIPTEN_KEEPALIVE int web_is_error(void) { return result_kind; }
EMSCRIPTEN_KEEPALIVE double web_bytes_read(void) { return n_opened ? (double)opened[0].source.n_bytes : 0; }
