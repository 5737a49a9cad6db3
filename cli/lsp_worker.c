#include "lsp_worker.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if PEL_OS_CAN_FORK
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#endif

#define STEPS 200000000u  /* of one analysis: some two seconds */
#define TIME_LIMIT 20000u /* milliseconds: then it is ended, whatever it does */
#define MAX_APART 64      /* import statements that are not shared */
#define MAX_WORKERS 3     /* each keeps what documents of the same roots import: some hundred megabytes */

uint64_t cli_lsp_now(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
#ifdef CLOCK_MONOTONIC
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* ---- one analysis, with what the command line adds ---- */

typedef struct given {
    const char *python;
    const char *roots[CLI_MAX_ROOTS + 1];
    size_t n_roots;
} given;

static cli_sources *sources_for(const given *g, const pel_lsp_job *job) {
    cli_sources *sources = cli_sources_for(job->path, job->roots);
    for (size_t i = 0; sources && i < g->n_roots; i++) cli_add_root(sources, g->roots[i]);
    const char *python = job->python ? job->python : g->python ? g->python : getenv("VIRTUAL_ENV");
    if (sources && python && !cli_add_python(sources, python)) sources->lacks_python = true;
    return sources;
}

static bool open_scanner(cli_sources *sources, pel_error *error) {
    return cli_sources_open(sources, (pel_scan_options){ .classes = true, .steps = STEPS }, error);
}

#if PEL_OS_CAN_FORK

/* ---- bytes ---- */

typedef struct bytes {
    char *at;
    size_t len, cap;
} bytes;

static bool put(bytes *b, const void *from, size_t n) {
    if (b->cap - b->len < n) {
        size_t cap = b->len + n > 2 * b->cap ? b->len + n : 2 * b->cap;
        char *moved = realloc(b->at, cap);
        if (!moved) return false;
        b->at = moved;
        b->cap = cap;
    }
    if (n) memcpy(b->at + b->len, from, n);
    b->len += n;
    return true;
}

static void drop(bytes *b, size_t n) {
    memmove(b->at, b->at + n, b->len - n);
    b->len -= n;
}

/* 1: some, 0: none yet, -1: the other side is gone. */
static int read_into(bytes *b, int file) {
    static char piece[1 << 16];
    ssize_t n = read(file, piece, sizeof piece);
    if (n > 0) return put(b, piece, (size_t)n) ? 1 : -1;
    return n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

static bool write_all(int file, const char *at, size_t len) {
    while (len) {
        ssize_t n = write(file, at, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* What goes between the server and its worker, either way. */
typedef enum message_kind { REQUEST, RESULT, FAILED, STALE, LOG } message_kind;
typedef struct message {
    uint64_t number, len;
    uint32_t kind, unused;
} message;

static bool put_message(bytes *b, message_kind kind, uint64_t number, pel_text text) {
    message head = { number, text.len, kind, 0 };
    return put(b, &head, sizeof head) && put(b, text.ptr, text.len);
}

/* The first message, whole; false: not yet. */
static bool first_message(const bytes *b, message *head) {
    if (b->len < sizeof *head) return false;
    memcpy(head, b->at, sizeof *head);
    return b->len - sizeof *head >= head->len;
}

/* ---- the worker ---- */

typedef struct worker {
    int wire;
    const given *given;
    char *const *apart; /* import statements that reach an open document, ends with NULL */
    bytes in, request, result;
    uint64_t number;
    pel_ctx *ctx; /* of the request */
    pel_lsp_job job;
    cli_sources *sources;
    bytes imported; /* statements, each ended by a newline */
    pid_t child;    /* 0: none */
    int child_wire;
    uint64_t began;
} worker;

static void say(const worker *w, message_kind kind, const char *text, size_t len) {
    bytes out = { 0 };
    if (!put_message(&out, kind, w->number, (pel_text){ text, len }) || !write_all(w->wire, out.at, out.len)) _exit(1);
    free(out.at);
}

static void fail(const worker *w, const char *why) { say(w, FAILED, why, strlen(why)); }

/* The server starts another worker, which begins anew. statement: what it is not to import ahead. */
_Noreturn static void give_up(const worker *w, pel_text statement) {
    say(w, STALE, statement.ptr, statement.len);
    _exit(0);
}

static void stop_child(worker *w) {
    if (!w->child) return;
    kill(w->child, SIGKILL);
    while (waitpid(w->child, NULL, 0) < 0 && errno == EINTR) continue;
    close(w->child_wire);
    w->child = 0;
}

_Noreturn static void analyse(const worker *w, int to) {
    pel_text out;
    pel_error error;
    bool done = pellucid_lsp_analyse(w->sources->scanner, &w->job, &out, &error);
    if (!done) out = (pel_text){ error.message, strlen(error.message) };
    char kind = done ? RESULT : FAILED;
    _exit(write_all(to, &kind, 1) && write_all(to, out.ptr, out.len) ? 0 : 1);
}

static void begin_child(worker *w) {
    int ends[2];
    w->result.len = 0;
    if (pipe(ends) != 0) {
        fail(w, "no pipe can be made");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        close(w->wire);
        analyse(w, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        fail(w, "no process can be started");
        return;
    }
    w->child = child;
    w->child_wire = ends[0];
    w->began = cli_lsp_now();
}

static bool same_roots(const cli_sources *a, const cli_sources *b) {
    if (a->n_roots != b->n_roots) return false;
    for (size_t i = 0; i < a->n_roots; i++)
        if (strcmp(a->roots[i], b->roots[i]) != 0) return false;
    return true;
}

static void need_sources(worker *w) {
    cli_sources *now = sources_for(w->given, &w->job);
    pel_error error;
    static const char lacks[] = "pellucid.python: no lib/python3.*/site-packages belongs to it";
    if (!now) _exit(1);
    if (now->lacks_python && !w->sources) say(w, LOG, lacks, sizeof lacks - 1);
    bool is_stale = w->sources && (!same_roots(w->sources, now) || cli_sources_changed(w->sources));
    if (is_stale) give_up(w, (pel_text){ "", 0 });
    if (w->sources) {
        cli_sources_free(now);
        return;
    }
    w->sources = now;
    if (!open_scanner(now, &error)) _exit(1);
}

static bool is_apart(const worker *w, pel_text statement) {
    for (char *const *apart = w->apart; *apart; apart++)
        if (strlen(*apart) == statement.len && memcmp(*apart, statement.ptr, statement.len) == 0) return true;
    return false;
}

static bool is_imported(const worker *w, pel_text line) {
    for (size_t at = 0; at < w->imported.len;) {
        const char *start = w->imported.at + at;
        size_t len = (size_t)((const char *)memchr(start, '\n', w->imported.len - at) - start);
        if (len == line.len && memcmp(start, line.ptr, len) == 0) return true;
        at += len + 1;
    }
    return false;
}

/* Imports what the document imports, statement by statement. One that reads a text that is open in the editor is not
 * to be shared: that text changes with every key. */
static void import_ahead(worker *w) {
    pel_text lines;
    pel_error error;
    cli_sources *sources = w->sources;
    pel_scan_target target = { w->job.path, w->job.source };
    if (!pellucid_scan_imports(sources->scanner, &target, &lines, &error)) return;
    for (size_t at = 0, len; at < lines.len; at += len + 1) {
        len = (size_t)((const char *)memchr(lines.ptr + at, '\n', lines.len - at) - (lines.ptr + at));
        pel_text line = { lines.ptr + at, len };
        if (is_apart(w, line) || is_imported(w, line)) continue;
        pel_scan_target statement = { NULL, line };
        sources->has_read_open = false;
        pellucid_scan_import(sources->scanner, &statement, 1, 1);
        if (sources->has_read_open) give_up(w, line);
        if (!put(&w->imported, line.ptr, line.len) || !put(&w->imported, "\n", 1)) _exit(1);
    }
}

static void begin(worker *w) {
    pel_error error;
    pellucid_reset(w->ctx);
    if (!pellucid_lsp_job(w->ctx, (pel_text){ w->request.at, w->request.len }, &w->job, &error)) {
        fail(w, error.message);
        return;
    }
    need_sources(w);
    w->sources->open = w->job.open;
    w->sources->n_open = w->job.n_open;
    w->sources->notes_reads = true;
    import_ahead(w);
    begin_child(w);
}

static void end_child(worker *w) {
    int status = 0;
    while (waitpid(w->child, &status, 0) < 0 && errno == EINTR) continue;
    close(w->child_wire);
    w->child = 0;
    bool is_whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && w->result.len;
    if (is_whole)
        say(w, (message_kind)w->result.at[0], w->result.at + 1, w->result.len - 1);
    else
        fail(w, "the process that analysed it was lost");
}

/* The newest request is the one that counts. */
static bool take_request(worker *w) {
    message head;
    bool any = false;
    while (first_message(&w->in, &head)) {
        w->request.len = 0;
        if (!put(&w->request, w->in.at + sizeof head, (size_t)head.len)) _exit(1);
        w->number = head.number;
        drop(&w->in, sizeof head + (size_t)head.len);
        any = true;
    }
    return any;
}

_Noreturn static void work(worker *w) {
    for (;;) {
        struct pollfd wires[2] = { { w->wire, POLLIN, 0 }, { w->child ? w->child_wire : -1, POLLIN, 0 } };
        uint64_t spent = w->child ? cli_lsp_now() - w->began : 0;
        int wait = !w->child ? -1 : spent < TIME_LIMIT ? (int)(TIME_LIMIT - spent) : 0;
        if (poll(wires, 2, wait) < 0 && errno != EINTR) _exit(1);
        if (wires[0].revents) {
            int got = read_into(&w->in, w->wire);
            if (got < 0) stop_child(w);
            if (got < 0) _exit(0);
            if (take_request(w)) {
                stop_child(w);
                begin(w);
                continue;
            }
        }
        if (w->child && wires[1].revents && read_into(&w->result, w->child_wire) < 0) end_child(w);
        if (w->child && cli_lsp_now() - w->began >= TIME_LIMIT) {
            stop_child(w);
            fail(w, "the analysis took longer than 20 s and was ended");
        }
    }
}

/* ---- the server's side ---- */

typedef struct seat { /* a worker, and the roots that it serves */
    pid_t process;    /* 0: none */
    int wire;
    bytes in, out;
    bytes roots;   /* as bytes that are equal if the roots are */
    uint64_t used; /* the number of its last analysis */
} seat;

struct cli_lsp_host {
    pel_lsp *server;
    given given;
    seat seats[MAX_WORKERS];
    seat *at;      /* of the analysis that is under way, or was last */
    bytes request; /* of that, for another worker */
    uint64_t number;
    bool is_busy;
    unsigned restarts; /* of the worker, for this analysis */
    char *apart[MAX_APART + 1];
    size_t n_apart;
};

static void end_worker(seat *at) {
    if (!at->process) return;
    close(at->wire);
    kill(at->process, SIGTERM);
    while (waitpid(at->process, NULL, 0) < 0 && errno == EINTR) continue;
    at->process = 0;
    at->in.len = at->out.len = 0;
}

/* The worker must not write to the client. */
static void hide_stdout(void) {
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0) _exit(1);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

static bool start_worker(cli_lsp_host *host) {
    int ends[2];
    seat *at = host->at;
    if (at->process) return true;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
    at->process = fork();
    if (at->process == 0) {
        close(ends[0]);
        for (size_t i = 0; i < MAX_WORKERS; i++) /* those of the others: a worker ends when its wire does */
            if (host->seats[i].process > 0) close(host->seats[i].wire);
        hide_stdout();
        signal(SIGTERM, SIG_DFL);
        worker w = { .wire = ends[1], .given = &host->given, .apart = host->apart, .ctx = pellucid_open(NULL) };
        if (!w.ctx) _exit(1);
        work(&w);
    }
    close(ends[1]);
    at->wire = ends[0];
    if (at->process < 0) {
        close(ends[0]);
        at->process = 0;
        return false;
    }
    fcntl(at->wire, F_SETFL, O_NONBLOCK);
    return true;
}

/* The roots of a request, as bytes. False: it can't be read, and any worker may say so. */
static bool roots_of(const cli_lsp_host *host, bytes *roots) {
    pel_ctx *ctx = pellucid_open(NULL);
    pel_lsp_job job;
    pel_error error;
    bool done = ctx && pellucid_lsp_job(ctx, (pel_text){ host->request.at, host->request.len }, &job, &error);
    cli_sources *sources = done ? sources_for(&host->given, &job) : NULL;
    for (size_t i = 0; sources && i < sources->n_roots; i++)
        done &= put(roots, sources->roots[i], strlen(sources->roots[i]) + 1);
    cli_sources_free(sources);
    if (ctx) pellucid_close(ctx);
    return done && sources;
}

/* The worker that has these roots; else an empty seat, or that of the worker that was asked longest ago. */
static void take_seat(cli_lsp_host *host) {
    bytes roots = { 0 };
    seat *oldest = host->at = &host->seats[0];
    bool is_known = roots_of(host, &roots), is_there = false;
    for (size_t i = 0; i < MAX_WORKERS && is_known; i++) {
        seat *at = &host->seats[i];
        bool is_it = at->process && at->roots.len == roots.len && memcmp(at->roots.at, roots.at, roots.len) == 0;
        if (is_it) host->at = at;
        is_there |= is_it;
        if (oldest->process && (!at->process || at->used < oldest->used)) oldest = at;
    }
    if (is_known && !is_there) {
        end_worker(oldest);
        free(oldest->roots.at);
        oldest->roots = roots;
        host->at = oldest;
    } else {
        free(roots.at);
    }
    host->at->used = host->number;
}

static void end_analysis(cli_lsp_host *host, pel_text result, const char *failed) {
    host->is_busy = false;
    pellucid_lsp_done(host->server, host->number, result, failed);
}

static void send_request(cli_lsp_host *host) {
    pel_text request = { host->request.at, host->request.len };
    if (!start_worker(host) || !put_message(&host->at->out, REQUEST, host->number, request))
        end_analysis(host, (pel_text){ NULL, 0 }, "no process can be started");
}

void cli_lsp_begin(cli_lsp_host *host, pel_text request, uint64_t number) {
    host->number = number;
    host->restarts = 0;
    host->is_busy = true;
    host->request.len = 0;
    if (!put(&host->request, request.ptr, request.len)) {
        end_analysis(host, (pel_text){ NULL, 0 }, "out of memory");
        return;
    }
    take_seat(host);
    send_request(host);
}

/* A file has changed that was imported, or an import is not to be shared. */
static void start_over(cli_lsp_host *host, pel_text statement) {
    end_worker(host->at);
    if (statement.len && host->n_apart < MAX_APART) {
        char *kept = calloc(statement.len + 1, 1);
        if (kept) host->apart[host->n_apart++] = memcpy(kept, statement.ptr, statement.len);
        host->restarts = host->restarts ? host->restarts - 1 : 0;
    }
    if (!host->is_busy) return;
    if (++host->restarts > 3)
        end_analysis(host, (pel_text){ NULL, 0 }, "the process that analyses was lost again and again");
    else
        send_request(host);
}

static void take_message(cli_lsp_host *host, const message *head, pel_text text) {
    bool is_wanted = host->is_busy && head->number == host->number;
    char why[PEL_MESSAGE_MAX];
    switch ((message_kind)head->kind) {
    case REQUEST: break;
    case RESULT:
        if (is_wanted) end_analysis(host, text, NULL);
        break;
    case FAILED:
        snprintf(why, sizeof why, "%.*s", (int)(text.len < sizeof why ? text.len : sizeof why - 1), text.ptr);
        if (is_wanted) end_analysis(host, (pel_text){ NULL, 0 }, why);
        break;
    case LOG: pellucid_lsp_say(host->server, text); break;
    case STALE: break; /* cli_lsp_collect */
    }
}

void cli_lsp_collect(cli_lsp_host *host) {
    seat *at = host->at;
    if (!at || !at->process) return;
    int got;
    while ((got = read_into(&at->in, at->wire)) > 0) continue;
    message head;
    while (first_message(&at->in, &head)) {
        bytes text = { 0 };
        if (!put(&text, at->in.at + sizeof head, (size_t)head.len)) return;
        drop(&at->in, sizeof head + (size_t)head.len);
        if ((message_kind)head.kind == STALE)
            start_over(host, (pel_text){ text.at, text.len });
        else
            take_message(host, &head, (pel_text){ text.at, text.len });
        free(text.at);
        if ((message_kind)head.kind == STALE) return;
    }
    if (got < 0) start_over(host, (pel_text){ "", 0 });
}

bool cli_lsp_wait(cli_lsp_host *host, int milliseconds) {
    seat *at = host->at;
    short wanted = (short)(POLLIN | (at && at->out.len ? POLLOUT : 0));
    struct pollfd wires[2] = { { STDIN_FILENO, POLLIN, 0 }, { at && at->process ? at->wire : -1, wanted, 0 } };
    if (poll(wires, 2, milliseconds) <= 0) return false;
    if (wires[1].revents & POLLOUT) {
        ssize_t n = write(at->wire, at->out.at, at->out.len);
        if (n > 0) drop(&at->out, (size_t)n);
    }
    return wires[0].revents != 0;
}

#else

/* ---- without processes ---- */

struct cli_lsp_host {
    pel_lsp *server;
    given given;
};

void cli_lsp_begin(cli_lsp_host *host, pel_text request, uint64_t number) {
    pel_ctx *ctx = pellucid_open(NULL);
    cli_sources *sources = NULL;
    pel_lsp_job job;
    pel_error error = { .message = "out of memory" };
    pel_text out = { NULL, 0 };
    bool done = ctx && pellucid_lsp_job(ctx, request, &job, &error) && (sources = sources_for(&host->given, &job));
    if (done) {
        sources->open = job.open;
        sources->n_open = job.n_open;
        done = open_scanner(sources, &error) && pellucid_lsp_analyse(sources->scanner, &job, &out, &error);
    }
    pellucid_lsp_done(host->server, number, out, done ? NULL : error.message);
    cli_sources_free(sources);
    if (ctx) pellucid_close(ctx);
}

void cli_lsp_collect(cli_lsp_host *host) { (void)host; }

/* Windows can not wait for two things at once here: the caller waits when it reads. */
bool cli_lsp_wait(cli_lsp_host *host, int milliseconds) {
    (void)host;
    return milliseconds < 0;
}

#endif

cli_lsp_host *cli_lsp_host_new(pel_lsp *server, const cli_args *args) {
    cli_lsp_host *host = calloc(1, sizeof *host);
    if (!host) return NULL;
    host->server = server;
    host->given.python = cli_value(args, "python");
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "root") == 0 && host->given.n_roots < CLI_MAX_ROOTS)
            host->given.roots[host->given.n_roots++] = args->given[i].value;
#if PEL_OS_CAN_FORK
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
#endif
    return host;
}

void cli_lsp_host_free(cli_lsp_host *host) {
    if (!host) return;
#if PEL_OS_CAN_FORK
    for (size_t i = 0; i < MAX_WORKERS; i++) {
        end_worker(&host->seats[i]);
        free(host->seats[i].in.at);
        free(host->seats[i].out.at);
        free(host->seats[i].roots.at);
    }
    for (size_t i = 0; i < host->n_apart; i++) free(host->apart[i]);
    free(host->request.at);
#endif
    free(host);
}
