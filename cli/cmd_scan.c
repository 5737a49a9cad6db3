#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if PEL_OS_CAN_FORK
#include <signal.h>
#include <sys/wait.h>
#endif

#define MAX_WORKERS 16
#define MANY_FILES 256 /* from here on no model is built whose configuration is only assumed */
#define MAX_FOLDERS 40 /* inside of each other */

typedef struct scan_job {
    cli_sources *sources;
    bool as_json, has_folder;
    bool is_for_sarif;  /* the rows are for another form: no summary among them */
    const char *output; /* of --source; NULL: standard output */
    char **files;       /* all of them, in the order of the output */
    size_t n_files, files_cap;
    const pel_scan_options *options; /* that the scanner was opened with */
    FILE *rows;                      /* for the summary of several files; NULL: of one there is none */
    FILE *held;                      /* what is shown after the summary */
} scan_job;

/* ---- one source ---- */

static int worst(const pel_scan_result *result) {
    return result->errors ? CLI_FOUND : result->unknown ? CLI_INCOMPLETE : CLI_FINE;
}

static int scan_snippet(const scan_job *job, const char *code) {
    pel_text out, source = { code, strlen(code) };
    pel_scan_result result;
    pel_error error;
    if (!pellucid_scan(job->sources->scanner, NULL, source, &out, &result, &error))
        return cli_report(job->sources->ctx, &(cli_input){ .name = "<snippet>", .bytes = source }, &error,
                          job->as_json);
    int written = cli_write(job->output, out);
    return written == CLI_FINE ? worst(&result) : written;
}

/* In this process what a file gives waits for the summary. */
static int hold(const scan_job *job, pel_text out) {
    return fwrite(out.ptr, 1, out.len, job->held) == out.len ? CLI_FINE : CLI_BAD_INPUT;
}

static int scan_file(const scan_job *job, const char *path) {
    pel_text out;
    pel_scan_result result;
    pel_error error;
    if (!cli_scan_path(job->sources, path, &out, &result, &error)) {
        const cli_input *input = job->sources->n_inputs ? &job->sources->inputs[job->sources->n_inputs - 1] : NULL;
        bool is_its = input && strcmp(input->name, path) == 0;
        return cli_report(job->sources->ctx, is_its ? input : &(cli_input){ .name = path }, &error, job->as_json);
    }
    if (job->rows) fwrite(result.rows.ptr, 1, result.rows.len, job->rows);
    int written = job->held ? hold(job, out) : cli_write(job->output, out);
    if (!out.len && job->n_files == 1 && !job->as_json) printf("%s: it builds no network and defines none\n", path);
    return written == CLI_FINE ? worst(&result) : written;
}

/* ---- several: each in a process of its own, which shares what was imported before and changes nothing of it ---- */

#if PEL_OS_CAN_FORK
typedef struct worker {
    pid_t process; /* 0: not begun */
    bool is_done;
    int result;
    FILE *out, *err; /* what it wrote, until its turn comes; NULL: it writes where we do */
    FILE *rows;      /* of the summary; NULL: none is wanted */
} worker;

typedef struct crew {
    const scan_job *job;
    int (*one)(const scan_job *job, size_t i); /* scans a source */
    size_t n, at_once;
    worker *workers;
    size_t begun, shown;
    int result;
} crew;

/* One after the other they can write as they go; side by side what they write waits for its turn. */
static bool give_files(const crew *c, worker *w) {
    if (c->job->rows && !(w->rows = tmpfile())) return false;
    if (c->at_once == 1 && !c->job->held) return true;
    w->out = tmpfile();
    w->err = tmpfile();
    return w->out && w->err;
}

static void begin(crew *c, size_t which) {
    worker *w = &c->workers[which];
    fflush(stdout);
    fflush(stderr);
    w->process = give_files(c, w) ? fork() : -1;
    if (w->process) return;
    if (w->out) dup2(fileno(w->out), STDOUT_FILENO);
    if (w->err) dup2(fileno(w->err), STDERR_FILENO);
    scan_job own = *c->job;
    own.rows = w->rows;
    own.held = NULL;
    int result = c->one(&own, which);
    if (w->rows) fflush(w->rows);
    fflush(stdout);
    fflush(stderr);
    _exit(result);
}

static void replay(FILE *from, FILE *to) {
    char piece[65536];
    if (!from) return;
    rewind(from);
    for (size_t n; (n = fread(piece, 1, sizeof piece, from)) > 0;) fwrite(piece, 1, n, to);
    fclose(from);
}

/* Shows what is finished, in order. */
static void show(crew *c) {
    for (; c->shown < c->begun && c->workers[c->shown].is_done; c->shown++) {
        worker *w = &c->workers[c->shown];
        if (w->rows) replay(w->rows, c->job->rows);
        replay(w->out, c->job->held ? c->job->held : stdout);
        fflush(stdout);
        replay(w->err, stderr);
        c->result = cli_worse(c->result, w->result);
    }
}

/* status: what waitpid gave; NULL if somebody else waited for the process. */
static void end(worker *w, const int *status) {
    bool has_exited = status && WIFEXITED(*status);
    w->is_done = true;
    w->result = has_exited ? WEXITSTATUS(*status) : CLI_BAD_INPUT;
    if (has_exited) return;
    FILE *err = w->err ? w->err : stderr;
    fprintf(err, "pellucid scan: a process of its own was %s\n", status ? "killed" : "lost");
    fflush(err);
}

static void no_process(worker *w) {
    fputs("pellucid scan: no process can be started\n", stderr);
    w->is_done = true;
    w->result = CLI_BAD_INPUT;
}

static void progress(const crew *c, size_t done) {
    fprintf(stderr, "\r\033[K%zu of %zu scanned", done, c->n);
    if (done == c->n) fputs("\r\033[K", stderr);
    fflush(stderr);
}

/* Waits until one of those that run has ended; how many have. */
static size_t wait_for_one(crew *c) {
    int status;
    pid_t ended;
    do ended = waitpid(-1, &status, 0);
    while (ended < 0 && errno == EINTR);
    size_t n = 0;
    for (size_t i = c->shown; i < c->begun; i++) {
        worker *w = &c->workers[i];
        if (w->is_done || (ended > 0 && w->process != ended)) continue;
        end(w, ended > 0 ? &status : NULL);
        n++;
    }
    return n;
}

static int run_crew(crew *c, bool with_progress) {
    c->workers = calloc(c->n ? c->n : 1, sizeof *c->workers);
    if (!c->workers) return CLI_BAD_INPUT;
    signal(SIGCHLD, SIG_DFL); /* our parent may have set it to be ignored: then no process could be waited for */
    size_t running = 0, done = 0;
    while (done < c->n) {
        while (running < c->at_once && c->begun < c->n) {
            worker *w = &c->workers[c->begun];
            begin(c, c->begun++);
            if (w->process > 0) {
                running++;
            } else {
                no_process(w);
                done++;
            }
        }
        size_t ended = running ? wait_for_one(c) : 0;
        running -= ended;
        done += ended;
        if (with_progress) progress(c, done);
        show(c);
    }
    free(c->workers);
    return c->result;
}

#endif

/* ---- or one after the other in this process, each with a scanner of its own: none sees what another left ---- */

static int scan_here(const scan_job *job, int (*one)(const scan_job *job, size_t i), size_t n) {
    int result = CLI_FINE;
    pel_error error;
    for (size_t i = 0; i < n; i++) {
        if (i) pellucid_close(job->sources->ctx);
        if (i && !cli_sources_open(job->sources, *job->options, &error)) {
            fprintf(stderr, "pellucid scan: %s\n", error.message);
            return CLI_BAD_INPUT;
        }
        result = cli_worse(result, one(job, i));
    }
    return result;
}

/* at_once: processes; 0: none but this one. */
static int scan_each(const scan_job *job, int (*one)(const scan_job *job, size_t i), size_t n, size_t at_once) {
#if PEL_OS_CAN_FORK
    crew c = { .job = job, .one = one, .n = n, .at_once = at_once };
    if (at_once) return run_crew(&c, at_once > 1 && cli_is_terminal(stderr));
#else
    (void)at_once;
#endif
    return scan_here(job, one, n);
}

static int one_snippet(const scan_job *job, size_t i) { return scan_snippet(job, job->sources->snippets[i]); }
static int one_file(const scan_job *job, size_t i) { return scan_file(job, job->files[i]); }

static int scan_snippets(const scan_job *job, int at_once) {
    const cli_sources *sources = job->sources;
    if (sources->n_snippets == 1) return scan_snippet(job, sources->snippets[0]);
    pel_scan_target targets[CLI_MAX_SNIPPETS];
    for (size_t i = 0; i < sources->n_snippets; i++)
        targets[i] = (pel_scan_target){ NULL, { sources->snippets[i], strlen(sources->snippets[i]) } };
    pellucid_scan_import(sources->scanner, targets, sources->n_snippets, 1);
    return scan_each(job, one_snippet, sources->n_snippets, at_once ? 1 : 0);
}

static char *whole(FILE *from, size_t *len) {
    long size = fseek(from, 0, SEEK_END) == 0 ? ftell(from) : -1;
    char *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
    rewind(from);
    *len = bytes ? fread(bytes, 1, (size_t)size, from) : 0;
    return bytes;
}

/* Which networks there are, before the trees of all of them. */
static int show_summary(const scan_job *job) {
    size_t len;
    char *rows = whole(job->rows, &len);
    pel_ctx *ctx = rows ? pellucid_open(NULL) : NULL;
    pel_text out;
    pel_error error;
    int result = CLI_BAD_INPUT;
    if (ctx && pellucid_scan_summary(ctx, (pel_text){ rows, len }, job->as_json, &out, &error))
        result = cli_write(NULL, out);
    else
        fprintf(stderr, "pellucid scan: no summary: %s\n", ctx ? error.message : "there is no memory");
    if (ctx) pellucid_close(ctx);
    free(rows);
    return result;
}

static void show_held(FILE *held) {
    char piece[65536];
    rewind(held);
    for (size_t n; (n = fread(piece, 1, sizeof piece, held)) > 0;) fwrite(piece, 1, n, stdout);
}

static int scan_files(scan_job *job, int at_once) {
    if (job->n_files == 1 && !job->has_folder) return scan_file(job, job->files[0]);
    if (at_once && PEL_OS_CAN_FORK) cli_import_common(job->sources, job->files, job->n_files);
    bool wants_summary = !job->options->as_source && !job->is_for_sarif;
    job->rows = wants_summary ? tmpfile() : NULL;
    job->held = wants_summary ? tmpfile() : NULL;
    if (wants_summary && (!job->rows || !job->held)) {
        fputs("pellucid scan: no temporary file can be made\n", stderr);
        return CLI_BAD_INPUT;
    }
    int result = scan_each(job, one_file, job->n_files, (size_t)at_once);
    if (!wants_summary) return result;
    result = cli_worse(result, show_summary(job));
    show_held(job->held);
    fclose(job->rows);
    fclose(job->held);
    return result;
}

/* ---- which files ---- */

static bool add_file(scan_job *job, char *path) {
    if (job->n_files == job->files_cap) {
        size_t cap = job->files_cap ? 2 * job->files_cap : 64;
        char **moved = path ? realloc(job->files, cap * sizeof *moved) : NULL;
        if (!moved) {
            free(path);
            return false;
        }
        job->files = moved;
        job->files_cap = cap;
    }
    job->files[job->n_files++] = path;
    return path != NULL;
}

static bool add_folder(scan_job *job, const char *path, int depth) {
    char **names;
    size_t n = cli_folder_entries(path, &names);
    bool fine = true;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]), room = strlen(path) + len + 2;
        char *inside = malloc(room);
        struct stat info;
        fine &= inside && snprintf(inside, room, "%s/%s", path, names[i]) > 0;
        bool there = fine && pel_os_lstat(inside, &info) == 0;
        bool is_source = len > 3 && strcmp(names[i] + len - 3, ".py") == 0;
        is_source |= len > 6 && strcmp(names[i] + len - 6, ".ipynb") == 0;
        if (there && S_ISREG(info.st_mode) && is_source) {
            fine = add_file(job, inside);
            inside = NULL;
        } else if (there && S_ISDIR(info.st_mode) && depth < MAX_FOLDERS && strcmp(names[i], "__pycache__") != 0) {
            fine = add_folder(job, inside, depth + 1);
        }
        free(inside);
        free(names[i]);
    }
    free(names);
    return fine;
}

static bool add_operand(scan_job *job, const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        size_t before = job->n_files;
        job->has_folder = true;
        if (!add_folder(job, path, 0)) return false;
        if (job->n_files > before) return true;
        fprintf(stderr, "%s:1:1: there is no Python source and no notebook in it\n", path);
        return false;
    }
    return add_file(job, strdup(path));
}

/* ---- the command ---- */

static int scan(const cli_args *args, scan_job *job, const pel_scan_options *options, int at_once) {
    pel_error error;
    for (size_t i = 0; i < args->n_operands; i++)
        if (!add_operand(job, args->operands[i])) return CLI_BAD_INPUT;
    pel_scan_options settled = *options;
    settled.is_one_of_many = job->n_files >= MANY_FILES;
    job->options = &settled;
    if (!cli_sources_open(job->sources, settled, &error)) {
        if (!options->with) return cli_usage_error(args->command, "%s", error.message);
        return cli_report(job->sources->ctx, &(cli_input){ .name = cli_value(args, "with") }, &error, job->as_json);
    }
    int result = job->sources->n_snippets ? scan_snippets(job, at_once) : CLI_FINE;
    return job->n_files ? cli_worse(result, scan_files(job, at_once)) : result;
}

/* ---- for code scanning: the JSON of all sources becomes one document ---- */

static pel_text read_back(FILE *kept) {
    long size = fseek(kept, 0, SEEK_END) == 0 ? ftell(kept) : -1;
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    rewind(kept);
    return (pel_text){ text, text ? fread(text, 1, (size_t)size, kept) : 0 };
}

static int write_sarif(const scan_job *job, pel_text lines) {
    size_t n = 0, all = job->n_files + job->sources->n_snippets;
    pel_scan_target *rows = calloc(all + 1, sizeof *rows);
    pel_ctx *ctx = pellucid_open(NULL);
    pel_text out;
    pel_error error = { .message = "out of memory" };
    for (size_t at = 0, len; rows && at < lines.len && n < all; at += len + 1) {
        const char *end = memchr(lines.ptr + at, '\n', lines.len - at);
        len = end ? (size_t)(end - (lines.ptr + at)) : lines.len - at;
        const char *path = n < job->sources->n_snippets ? "<snippet>" : job->files[n - job->sources->n_snippets];
        rows[n++] = (pel_scan_target){ path, { lines.ptr + at, len } };
    }
    int result = CLI_BAD_INPUT;
    if (rows && ctx && pellucid_scan_sarif(ctx, rows, n, &out, &error))
        result = cli_write(NULL, out);
    else
        fprintf(stderr, "pellucid scan: %s\n", error.message);
    if (ctx) pellucid_close(ctx);
    free(rows);
    return result;
}

/* What the scan prints goes to a file first. */
static int scan_for_sarif(const cli_args *args, scan_job *job, const pel_scan_options *options, int at_once) {
    FILE *kept = tmpfile();
    int out = kept ? dup(STDOUT_FILENO) : -1;
    if (out < 0) {
        if (kept) fclose(kept);
        fputs("pellucid scan: no temporary file can be made\n", stderr);
        return CLI_BAD_INPUT;
    }
    fflush(stdout);
    dup2(fileno(kept), STDOUT_FILENO);
    int result = scan(args, job, options, at_once);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    pel_text lines = read_back(kept);
    fclose(kept);
    int written = result == CLI_BAD_USAGE ? CLI_FINE : write_sarif(job, lines);
    free((void *)(uintptr_t)lines.ptr);
    return written == CLI_FINE ? result : written;
}

static size_t times_given(const cli_args *args, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < args->n_given; i++) n += strcmp(args->given[i].option->name, name) == 0;
    return n;
}

/* Once the sources are open, a mistake sets `result` and never returns: one clean-up at the end frees everything. The
 * file of --with stays mapped for the whole scan, since its tensors are compared with each source. */
static int run(const cli_args *args) {
    bool as_sarif = cli_has(args, "sarif");
    scan_job job = { .as_json = cli_has(args, "json") || as_sarif,
                     .is_for_sarif = as_sarif,
                     .output = cli_value(args, "output") };
    bool as_source = cli_has(args, "source");
    long processors = pel_os_processors();
    int at_once = processors < 1 ? 1 : processors > MAX_WORKERS ? MAX_WORKERS : (int)processors;
    int mistake = cli_number(args, "jobs", 0, MAX_WORKERS, &at_once);
    if (mistake >= 0) return mistake;
    if (!(job.sources = cli_sources_new(args))) return CLI_BAD_INPUT;
    cli_model known = { 0 };
    const char *with = cli_value(args, "with");
    pel_error error;
    int result;
    if (!args->n_operands && !job.sources->n_snippets)
        result = cli_usage_error(args->command, "a TARGET or -e CODE is needed");
    else if (as_source && (args->n_operands + job.sources->n_snippets > 1 || job.as_json))
        result = cli_usage_error(args->command, "--source takes one TARGET, and neither --json nor --sarif");
    else if (!as_source && (job.output || cli_has(args, "network")))
        result = cli_usage_error(args->command, "-o and --network need --source");
    else if (times_given(args, "forward") > 1)
        result =
            cli_usage_error(args->command, "--forward is given once: inputs of one call have a comma between them");
    else if (cli_has(args, "forward") && !*cli_value(args, "forward"))
        result = cli_usage_error(args->command, "--forward needs a shape such as 2x3x224x224");
    else if (with && !cli_open_model(with, &known, &error))
        result = cli_report(job.sources->ctx, &known.input, &error, false);
    else
        result = (as_sarif ? scan_for_sarif : scan)(args, &job,
                                                    &(pel_scan_options){ .with = with ? &known.file : NULL,
                                                                         .forward = cli_value(args, "forward"),
                                                                         .as_json = job.as_json,
                                                                         .as_source = as_source,
                                                                         .network = cli_value(args, "network"),
                                                                         .classes = true },
                                                    at_once);
    for (size_t i = 0; i < job.n_files; i++) free(job.files[i]);
    free(job.files);
    cli_sources_free(job.sources);
    if (known.file.bytes.ptr || known.remote) cli_close_model(&known);
    return result;
}

static const cli_option options[] = {
    { 'e', "code", "CODE", "scan this code; may be given several times, each gives its own result", NULL },
    CLI_OPTION_SOURCES,
    { 0, "forward", "2x3x224x224", "run forward on abstract tensors of these shapes", NULL },
    { 0, "with", "FILE", "a checkpoint or a trace: what the source leaves open is read off it", NULL },
    { 0, "source", NULL, "write a program that builds the network, with torch alone", NULL },
    { 0, "network", "NAME", "of --source: which of several networks", NULL },
    { 'o', "output", "FILE", "where --source writes to", NULL },
    { 'j', "jobs", "N", "files that are scanned at once (default: one per processor); 0: all in this process", NULL },
    CLI_OPTION_JSON,
    { 0, "sarif", NULL, "print SARIF 2.1.0, one document for all sources", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_scan = {
    .name = "scan",
    .operands = "[FILE|DIR]...",
    .summary = "print the networks that source code builds, without executing it",
    .about = "Prints the networks that Python source builds. Nothing is executed: an interpreter of our own,\n"
             "which can reach only the files of the roots, runs the source. Networks of module level are\n"
             "shown with their arguments, every other module class with its parameters as symbols (values\n"
             "that are not known, each with the expression that made it).\n"
             "\n"
             "Libraries (torch.nn, timm, transformers) are interpreted from their sources, too: the\n"
             "roots are DIR, or the folder of FILE, what --root names, and the site-packages of --python.\n"
             "A notebook is read as the program of its code cells; lines are counted in that program.\n"
             "\n"
             "For a DIR, or several files, a summary comes first: which networks are built and by which\n"
             "line, with which arguments and data files, how large they are; classes that nothing builds,\n"
             "with their size if their arguments have defaults; what was not understood, counted by reason.\n"
             "With --json it is the first object.\n"
             "\n"
             "YAML, OmegaConf and Hydra configurations and argparse defaults are read as the program reads\n"
             "them. The scan assumes a machine without a GPU, no environment variables and an empty command\n"
             "line, and lists each such assumption that mattered.\n"
             "\n"
             "A size may be a symbol. A name as multiplier after a module is the count of a loop\n"
             "that is not known, and \"if CONDITION\" after it names a branch that could not be decided. What could "
             "not be found\n"
             "out is listed with its place.\n"
             "\n"
             "--forward runs the network on tensors that are only shapes: the output of every module, its\n"
             "multiply-adds, which module feeds which (in the JSON), and shapes that disagree, with both\n"
             "places. Its value is a shape for each input of one call, separated by commas: 2x3x224x224,2x10.\n"
             "A letter or a name is a size that is not known (BxTx16), :int64 after a shape is its dtype;\n"
             "without one it is float32, or int64 where an Embedding gets the input. Without --forward, layers\n"
             "that can't follow each other whatever the input is are found all the same.\n"
             "If a file only defines classes, those run that no other class contains and whose arguments\n"
             "have defaults or are given by --set.\n"
             "\n"
             "A node marked ? is of a class that no root has: its tensors are in no sum. --with takes from a\n"
             "checkpoint what the source leaves open, and says which tensor gave it; a checkpoint that\n"
             "contradicts the source is an error. --source writes the network as a program that needs only\n"
             "torch: its constructors, with --forward also what it computes, as `pellucid skeleton` writes\n"
             "it; nothing was executed, so nothing is verified. The files of a DIR are scanned by several processes.\n"
             "\n"
             "Exit status: 0 everything is known, 3 something stayed unknown, 4 shapes disagree or --with\n"
             "found a contradiction, 2 a file can't be read or no program can be written.",
    .example = "$ pellucid scan model.py --python venv/bin/python --forward 1x10\n"
               "$ pellucid scan -e 'import timm; timm.create_model(\"resnet18\")' --python venv\n"
               "$ pellucid scan model.py --python venv --with weights.pt --source -o net.py\n"
               "$ pellucid scan src --python venv --sarif > shapes.sarif",
    .options = options,
    .run = run,
};
