#include "cli.h"

#include "base/os.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 64 /* of folders */
#define MAX_WORKERS 8
#define MAX_BASELINE ((size_t)64 << 20)

typedef struct job {
    char *path;
    char *text; /* what to print; NULL until it is done */
    size_t len;
    pel_verdict verdict;
    const char *unread; /* why it is not opened; NULL: it is */
    bool done;
    bool was_found;    /* in a folder: if nobody knows it, the list at the end has it */
    bool is_link;      /* the last part of its path */
    bool is_allowed;   /* by the baseline */
    const char **also; /* other paths to the same file, ended by NULL; NULL: there are none */
    size_t n_also;
    pel_os_id id;
} job;

typedef struct batch {
    cli_sources *roots; /* of --root and --python; NULL: none */
    job *jobs;
    size_t n, cap, next, printed;
    pel_os_id *folders; /* that were walked: links may lead to one twice, or around */
    size_t n_folders, folders_cap;
    char *root; /* the folder that is being walked, links followed */
    bool has_folder, has_link;
    pel_audit_options options;
    bool quiet;
    bool is_report; /* nothing is printed before all is done */
    const cli_args *args;
    pthread_mutex_t lock;
} batch;

/* ---- which files ---- */

/* Room for one more of the `size` bytes that each has. */
static bool grow(void **list, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return true;
    size_t more = *cap ? 2 * *cap : 64;
    void *moved = realloc(*list, more * size);
    if (!moved) return false;
    *list = moved;
    *cap = more;
    return true;
}

static bool add_path(batch *b, const char *path, const char *unread, bool was_found) {
    if (!grow((void **)&b->jobs, b->n, &b->cap, sizeof *b->jobs)) return false;
    b->jobs[b->n] = (job){ .path = strdup(path), .unread = unread, .was_found = was_found, .verdict = PEL_UNREADABLE };
    return b->jobs[b->n++].path != NULL;
}

/* Whether path is the folder, or lies in it. */
static bool lies_in(const char *path, const char *folder, size_t len) {
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == 0);
}

/* Where links may lead: below the folder that was named, and from the snapshots of a Hugging Face cache to the blobs
 * beside them, which is how that cache keeps every file. */
static bool may_follow(const batch *b, const char *link, const char *target) {
    if (lies_in(target, b->root, strlen(b->root))) return true;
    const char *slash = strrchr(link, '/');
    char *parent = strdup(link);
    if (parent) parent[slash ? slash - link : 0] = 0;
    char *folder = parent ? pel_os_real_path(parent) : NULL;
    char *snapshots = folder ? strstr(folder, "/snapshots/") : NULL;
    size_t len = snapshots ? (size_t)(snapshots - folder) : 0;
    bool may = snapshots && lies_in(target, folder, len) && lies_in(target + len, "/blobs", strlen("/blobs"));
    free(parent);
    free(folder);
    return may;
}

/* Whether a folder is met for the first time. */
static bool is_new_folder(batch *b, const char *path, bool *fine) {
    pel_os_id id;
    if (!pel_os_id_of(path, &id)) return true; /* reading it will say why */
    for (size_t i = 0; i < b->n_folders; i++)
        if (b->folders[i].device == id.device && b->folders[i].file == id.file) return false;
    *fine = grow((void **)&b->folders, b->n_folders, &b->folders_cap, sizeof *b->folders);
    if (*fine) b->folders[b->n_folders++] = id;
    return *fine;
}

static bool add_folder(batch *b, const char *folder, int depth);

/* One entry of a folder. What is not opened is listed with its reason: nothing is passed over in silence. */
static bool add_entry(batch *b, const char *path, int depth) {
    struct stat info;
    bool is_link = pel_os_is_link(path);
    if (is_link) {
        char *target = pel_os_real_path(path);
        bool is_there = target && stat(path, &info) == 0, may = is_there && may_follow(b, path, target);
        free(target);
        if (!is_there) return add_path(b, path, "a link to nowhere", true);
        if (!may) return add_path(b, path, "a link that leads out of the folder", true);
    } else if (pel_os_lstat(path, &info) != 0) {
        return add_path(b, path, "it can't be looked at", true);
    }
    b->has_link = b->has_link || is_link;
    if (S_ISDIR(info.st_mode)) {
        bool fine = true;
        if (depth >= MAX_DEPTH) return add_path(b, path, "folders nest too deep", true);
        return is_new_folder(b, path, &fine) ? add_folder(b, path, depth + 1) : fine;
    }
    if (!add_path(b, path, S_ISREG(info.st_mode) ? NULL : "no file, but a pipe, a socket or a device", true))
        return false;
    b->jobs[b->n - 1].is_link = is_link;
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Adds what is below a folder, hidden files too, in the order of the names. */
static bool add_folder(batch *b, const char *folder, int depth) {
    DIR *entries = opendir(folder);
    char **paths = NULL;
    size_t n = 0, cap = 0;
    bool fine = true;
    if (!entries) return add_path(b, folder, "a folder that can't be read", true);
    for (struct dirent *entry; fine && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        size_t size = strlen(folder) + strlen(entry->d_name) + 2;
        fine = grow((void **)&paths, n, &cap, sizeof *paths) && (paths[n] = malloc(size));
        if (fine) snprintf(paths[n++], size, "%s/%s", folder, entry->d_name);
    }
    closedir(entries);
    if (n) qsort(paths, n, sizeof *paths, by_name);
    for (size_t i = 0; i < n; i++) {
        fine = fine && add_entry(b, paths[i], depth);
        free(paths[i]);
    }
    free(paths);
    return fine;
}

/* The files of a repository that is somewhere else. What can't be listed can't be opened either, which then says why.
 */
static bool add_remote(batch *b, const char *uri) {
    char **names;
    size_t n;
    pel_error error;
    if (!cli_remote_list(uri, &names, &n, &error)) return add_path(b, uri, NULL, false);
    bool fine = n || add_path(b, uri, NULL, false);
    b->has_folder = b->has_folder || n;
    for (size_t i = 0; i < n; i++) {
        fine = fine && add_path(b, names[i], NULL, true);
        free(names[i]);
    }
    free(names);
    return fine;
}

static bool add_operand(batch *b, const char *path) {
    struct stat info;
    bool fine = true;
    if (cli_is_remote(path)) return add_remote(b, path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return add_path(b, path, NULL, false);
    b->has_folder = true;
    free(b->root);
    if (!(b->root = pel_os_real_path(path))) return add_path(b, path, "a folder that can't be read", false);
    return is_new_folder(b, path, &fine) ? add_folder(b, path, 0) : fine;
}

/* ---- files with several names ---- */

static int by_id(const void *a, const void *b) {
    const job *x = *(const job *const *)a, *y = *(const job *const *)b;
    if (x->id.device != y->id.device) return x->id.device < y->id.device ? -1 : 1;
    if (x->id.file != y->id.file) return x->id.file < y->id.file ? -1 : 1;
    if (x->was_found != y->was_found) return x->was_found ? 1 : -1; /* what was named comes first */
    if (x->is_link != y->is_link) return x->is_link ? -1 : 1;       /* then the link: it has the name that says what */
    return x < y ? -1 : x > y;
}

static bool add_name(job *row, char *path) {
    const char **moved = realloc(row->also, (row->n_also + 2) * sizeof *moved);
    if (!moved) return false;
    row->also = moved;
    row->also[row->n_also++] = path;
    row->also[row->n_also] = NULL;
    return true;
}

/* Links that are followed lead to files that the folder has anyway: each is audited once, under the link's name, and
 * the other names are listed with it. */
static bool join_names(batch *b) {
    job **sorted = calloc(b->n + 1, sizeof *sorted);
    size_t n = 0, kept = 0;
    bool fine = sorted != NULL;
    for (size_t i = 0; fine && i < b->n; i++)
        if (!b->jobs[i].unread && b->jobs[i].was_found && pel_os_id_of(b->jobs[i].path, &b->jobs[i].id))
            sorted[n++] = &b->jobs[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_id);
    for (size_t i = 1, first = 0; fine && i < n; i++) {
        bool is_same = sorted[i]->id.device == sorted[first]->id.device && sorted[i]->id.file == sorted[first]->id.file;
        if (!is_same) {
            first = i;
            continue;
        }
        fine = add_name(sorted[first], sorted[i]->path);
        sorted[i]->path = NULL;
    }
    free(sorted);
    for (size_t i = 0; fine && i < b->n; i++)
        if (b->jobs[i].path) b->jobs[kept++] = b->jobs[i];
    if (fine) b->n = kept;
    return fine;
}

/* ---- the work ---- */

static void audit_one(const batch *b, pel_ctx *ctx, job *todo) {
    cli_model model = { 0 };
    pel_error error;
    pel_text text = { "", 0 };
    pel_audit_options options = b->options;
    const pel_model_file none = { .name = { todo->path, strlen(todo->path) } };
    bool is_open = !todo->unread && cli_open_model(todo->path, &model, &error);
    if (is_open) model.file.name = none.name;
    options.unread = todo->unread;
    options.also = todo->also;
    options.allowed = &todo->is_allowed;
    if (!todo->unread && !is_open) options.unopened = error.message;
    bool is_done = pellucid_audit(ctx, is_open ? &model.file : &none, &options, &text, &todo->verdict, &error);
    if (!is_done) { /* for want of memory, or a remote file broke off */
        options.unopened = error.message;
        pellucid_reset(ctx);
        is_done = pellucid_audit(ctx, &none, &options, &text, &todo->verdict, &error);
    }
    if (!is_done) todo->verdict = PEL_BROKEN;
    if (is_done && (!b->quiet || b->is_report || todo->verdict != PEL_HARMLESS)) {
        todo->text = malloc(text.len + 1);
        todo->len = todo->text ? text.len : 0;
        if (todo->text) memcpy(todo->text, text.ptr, text.len);
    }
    if (is_open) cli_close_model(&model);
}

/* What nobody knows in a folder is for the end. */
static bool is_for_end(const batch *b, const job *row) {
    return row->was_found && row->verdict == PEL_UNREADABLE && !b->options.as_json;
}

static const char *colour_of(const char *line, size_t len, bool is_first, pel_verdict verdict) {
    static const char *const verdicts[] = { [PEL_HARMLESS] = "\033[32m",
                                            [PEL_UNREADABLE] = "\033[35m",
                                            [PEL_BROKEN] = "\033[35m",
                                            [PEL_SUSPICIOUS] = "\033[1;33m",
                                            [PEL_DANGEROUS] = "\033[1;31m" };
    static const struct {
        const char *start, *colour;
    } rows[] = { { "  danger ", "\033[31m" },
                 { "  suspect ", "\033[33m" },
                 { "  unread ", "\033[35m" },
                 { "  note ", "\033[90m" } };
    if (is_first) return (size_t)verdict < sizeof verdicts / sizeof *verdicts ? verdicts[verdict] : "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (len > strlen(rows[i].start) && strncmp(line, rows[i].start, strlen(rows[i].start)) == 0)
            return rows[i].colour;
    return "";
}

/* The text as it is, or line by line for a terminal. */
static void print_row(job *row) {
    for (size_t at = 0; row->text && isatty(1) && at < row->len;) {
        const char *line = row->text + at, *end = memchr(line, '\n', row->len - at);
        size_t len = end ? (size_t)(end - line) : row->len - at;
        cli_put_wrapped((pel_text){ line, len }, 11, colour_of(line, len, at == 0, row->verdict));
        at += len + 1;
    }
    if (row->text && !isatty(1)) fwrite(row->text, 1, row->len, stdout);
    free(row->text);
    row->text = NULL;
}

/* Prints what is done and not after something that is not. The lock is held. */
static void print_done(batch *b) {
    bool shows_progress = b->n > 1 && isatty(2) && !isatty(1);
    if (b->is_report) return;
    for (; b->printed < b->n && b->jobs[b->printed].done; b->printed++) {
        job *row = &b->jobs[b->printed];
        if (!is_for_end(b, row)) print_row(row);
    }
    if (shows_progress) fprintf(stderr, "\r\033[K%zu of %zu files", b->printed, b->n);
}

static void *work(void *arg) {
    batch *b = arg;
    pel_ctx *ctx = cli_open_for_models(b->args);
    for (;;) {
        pthread_mutex_lock(&b->lock);
        job *todo = ctx && b->next < b->n ? &b->jobs[b->next++] : NULL;
        pthread_mutex_unlock(&b->lock);
        if (!todo) break;
        audit_one(b, ctx, todo);
        pellucid_reset(ctx);
        pthread_mutex_lock(&b->lock);
        todo->done = true;
        print_done(b);
        pthread_mutex_unlock(&b->lock);
    }
    if (ctx) pellucid_close(ctx);
    return NULL;
}

static void run_all(batch *b) {
    pthread_t workers[MAX_WORKERS];
    long processors = pel_os_processors();
    size_t n = processors > MAX_WORKERS ? MAX_WORKERS : processors < 1 ? 1 : (size_t)processors, started = 0;
    if (n > b->n) n = b->n;
    for (size_t i = 1; i < n; i++)
        if (pthread_create(&workers[started], NULL, work, b) == 0) started++;
    work(b);
    for (size_t i = 0; i < started; i++) pthread_join(workers[i], NULL);
}

/* How many there are of each verdict, what was not understood, and what all come to. */
static bool sum_up(batch *b, pel_verdict *worst) {
    pel_ctx *ctx = pellucid_open(NULL);
    pel_audited *rows = calloc(b->n + 1, sizeof *rows);
    pel_text text;
    pel_error error;
    for (size_t i = 0; rows && i < b->n; i++) {
        const job *row = &b->jobs[i];
        rows[i] = (pel_audited){ { row->path, strlen(row->path) },
                                 row->done ? row->verdict : PEL_BROKEN,
                                 row->done && row->is_allowed };
    }
    bool fine = ctx && rows && pellucid_audit_summary(ctx, rows, b->n, &b->options, &text, worst, &error);
    if (fine && !b->is_report && (b->n > 1 || b->has_folder)) fwrite(text.ptr, 1, text.len, stdout);
    free(rows);
    if (ctx) pellucid_close(ctx);
    return fine;
}

/* ---- reports ---- */

static const struct {
    const char *option;
    pel_audit_form form;
} forms[] = { { "sarif", PEL_FORM_SARIF },
              { "cyclonedx", PEL_FORM_CYCLONEDX },
              { "write-baseline", PEL_FORM_BASELINE } };
#define N_FORMS (sizeof forms / sizeof *forms)

/* One document of all files. A file without its row would be passed over in silence: then there is no document. */
static int write_report(batch *b, size_t form) {
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = SIZE_MAX >> 1 });
    pel_text *rows = calloc(b->n + 1, sizeof *rows), text;
    pel_error error = { .message = "out of memory" };
    bool fine = ctx && rows;
    for (size_t i = 0; fine && i < b->n; i++) {
        rows[i] = (pel_text){ b->jobs[i].text, b->jobs[i].len };
        fine = rows[i].ptr != NULL;
    }
    fine = fine && pellucid_audit_report(ctx, forms[form].form, rows, b->n, &text, &error);
    bool is_baseline = forms[form].form == PEL_FORM_BASELINE;
    int result = fine ? cli_write(is_baseline ? cli_value(b->args, "write-baseline") : NULL, text) : CLI_BAD_INPUT;
    if (!fine) fprintf(stderr, "pellucid: %s\n", error.message);
    free(rows);
    if (ctx) pellucid_close(ctx);
    return result;
}

/* Reads --baseline. Returns an exit code if it can't, else -1. */
static int read_baseline(batch *b, pel_ctx *ctx) {
    const char *path = cli_value(b->args, "baseline");
    cli_input input;
    pel_error error;
    if (!path) return -1;
    if (!cli_read(path, MAX_BASELINE, &input, &error))
        return cli_report(ctx, &(cli_input){ .name = path }, &error, b->options.as_json);
    int result = pellucid_baseline(ctx, input.bytes, &b->options.baseline, &error)
                     ? -1
                     : cli_report(ctx, &input, &error, b->options.as_json);
    cli_release(&input);
    return result;
}

static int explain(const cli_args *args, const char *id) {
    const char *title, *text, *known;
    cli_nearest nearest = { .typed = id };
    bool all = strcmp(id, "all") == 0, found = false;
    for (size_t i = 0; (known = pellucid_rule(i, &title, &text)); i++) {
        cli_consider(&nearest, known);
        if (all) printf("%s: %s\n", known, title);
        if (all || strcmp(known, id) != 0) continue;
        printf("%s: %s\n\n", known, title);
        cli_put_wrapped((pel_text){ text, strlen(text) }, 0, "");
        found = true;
    }
    if (all || found) return CLI_FINE;
    return nearest.best ? cli_usage_error(args->command, "there is no rule '%s'; did you mean '%s'?", id, nearest.best)
                        : cli_usage_error(args->command, "there is no rule '%s'; '--explain all' lists them", id);
}

/* ---- the command ---- */

static void print_rest(batch *b) {
    bool has_more = false;
    for (size_t i = 0; i < b->n; i++) has_more = has_more || b->jobs[i].text;
    if (has_more) puts("not understood:");
    for (size_t i = 0; i < b->n; i++) print_row(&b->jobs[i]);
}

static void release(batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        for (size_t k = 0; k < b->jobs[i].n_also; k++) free((char *)b->jobs[i].also[k]);
        free(b->jobs[i].also);
        free(b->jobs[i].text);
        free(b->jobs[i].path);
    }
    free(b->jobs);
    free(b->folders);
    free(b->root);
    pthread_mutex_destroy(&b->lock);
}

/* Audits all, and says what they come to. */
/* ---- source of names that no table knows ---- */

/* Reads path below the first root that has it. What was read stays until the end. */
static bool read_root(void *arg, pel_text path, pel_text *bytes) {
    batch *b = arg;
    bool is_read = false;
    pthread_mutex_lock(&b->lock);
    for (size_t i = 0; !is_read && i < b->roots->n_roots; i++) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s/%.*s", b->roots->roots[i], (int)path.len, path.ptr);
        is_read = n > 0 && (size_t)n < sizeof name && cli_read_source(b->roots, name, bytes);
    }
    pthread_mutex_unlock(&b->lock);
    return is_read;
}

/* The folders of --root and --python. */
static bool add_roots(batch *b, const cli_args *args) {
    if (!cli_has(args, "root") && !cli_has(args, "python")) return true;
    if (!(b->roots = calloc(1, sizeof *b->roots))) return false;
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "root") == 0) cli_add_root(b->roots, args->given[i].value);
    if (cli_has(args, "python") && !cli_add_python(b->roots, cli_value(args, "python"))) return false;
    b->options.source = read_root;
    b->options.source_arg = b;
    return true;
}

static int run_batch(batch *b, size_t form) {
    bool fine = true;
    pel_verdict worst = PEL_BROKEN;
    for (size_t i = 0; fine && i < b->args->n_operands; i++) fine = add_operand(b, b->args->operands[i]);
    if (b->has_link) fine = fine && join_names(b);
    pthread_mutex_init(&b->lock, NULL);
    if (fine && b->n) run_all(b);
    if (b->n > 1 && isatty(2) && !isatty(1)) fputs("\r\033[K", stderr);
    int written = fine && b->is_report ? write_report(b, form) : CLI_FINE;
    if (!b->is_report) print_rest(b);
    fine = sum_up(b, &worst) && fine;
    if (!fine) fputs("pellucid: out of memory\n", stderr);
    size_t unused = fine && b->options.baseline ? pellucid_baseline_unused(b->options.baseline) : 0;
    if (unused) fprintf(stderr, "pellucid: entries of the baseline that allowed nothing: %zu\n", unused);
    release(b);
    if (!fine || written != CLI_FINE) return CLI_BAD_INPUT;
    return b->is_report && forms[form].form == PEL_FORM_BASELINE ? CLI_FINE : pellucid_verdict_exit(worst);
}

static int run(const cli_args *args) {
    batch b = { .args = args, .quiet = cli_has(args, "quiet") };
    const char *rule = cli_value(args, "explain");
    size_t form = N_FORMS, n_forms = cli_has(args, "json");
    if (rule) return explain(args, rule);
    if (!args->n_operands) return cli_usage_error(args->command, "missing operand: %s", args->command->operands);
    for (size_t i = 0; i < N_FORMS; i++)
        if (cli_has(args, forms[i].option)) form = i, n_forms++;
    if (n_forms > 1)
        return cli_usage_error(args->command, "only one of --json, --sarif, --cyclonedx, --write-baseline");
    b.is_report = form < N_FORMS;
    cli_set_insecure(cli_has(args, "insecure"));
    b.options = (pel_audit_options){ .as_json = cli_has(args, "json") || b.is_report,
                                     .for_report = b.is_report,
                                     .allows_unknown = cli_has(args, "allow") };
    if (!add_roots(&b, args))
        return cli_usage_error(args->command, "--python: no lib/python3.*/site-packages belongs to it");
    pel_ctx *ctx = pellucid_open(NULL); /* for the baseline, which all workers share */
    if (!ctx) return CLI_BAD_INPUT;
    int mistake = read_baseline(&b, ctx), result = mistake >= 0 ? mistake : run_batch(&b, form);
    pellucid_close(ctx);
    if (b.roots) cli_sources_free(b.roots);
    return result;
}

static const cli_option options[] = {
    { 0, "json", NULL, "print JSON, one line per file", NULL },
    { 'q', "quiet", NULL, "say nothing about harmless files", NULL },
    { 0, "sarif", NULL, "print SARIF 2.1.0, one document for all files", NULL },
    { 0, "cyclonedx", NULL, "print a bill of materials, CycloneDX 1.6", NULL },
    { 0, "allow", "unknown", "files that no reader knows don't count for the exit code", "unknown" },
    { 0, "baseline", "FILE", "findings that FILE lists don't count for the exit code", NULL },
    { 0, "write-baseline", "FILE", "write all findings to FILE, to be allowed from now on", NULL },
    { 0, "explain", "RULE", "say what a kind of finding means ('all': list them); reads no file", NULL },
    { 0, "root", "DIR", "a folder that modules are imported from: what unknown names do is read off their source",
      NULL },
    { 0, "python", "PYTHON", "the same of the packages that a Python has: its folder, or the program", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_audit = {
    .name = "audit",
    .operands = "FILE|FOLDER...",
    .summary = "say what would run if model files were opened",
    .about = "Says what would run if a model file were opened. Executes nothing. Lists every call that\n"
             "unpickling would make, with its arguments; pickles inside of pickles; bytecode inside of\n"
             "files, as source; whatever two readers of the same archive may see differently.\n"
             "In a model's repository: the code that its config names (auto_map) and that loading it with\n"
             "trust_remote_code=True would import, effect by effect with lines; notebooks, requirements,\n"
             "_target_ in configs.\n"
             "A FILE or FOLDER may have an address (hf://org/model, https://, s3://): docs/remote.md.\n"
             "In a folder every file is read; links are followed as long as they stay inside (or lead from\n"
             "the snapshots of a Hugging Face cache to its blobs). What is not understood is listed.\n"
             "\n"
             "The verdicts, the worst first, and the exit codes, for CI:\n"
             "  4  dangerous: a known way to files, processes, the network or code\n"
             "  4  suspicious: something that would be called is not known, or readers may see two\n"
             "     different files in it\n"
             "  2  broken: it can't be read as what it claims to be\n"
             "  2  unknown: no reader knows it, or a part of it (--allow unknown: 0)\n"
             "  0  harmless: every effect of opening it is known, and none leaves memory\n"
             "Several files: the worst of them decides.\n"
             "\n"
             "A baseline lists findings that somebody has reviewed: entries name the content of a file (sha256)\n"
             "and a finding, or a pattern of file names and a rule. Verdicts stay as they are; the exit\n"
             "code counts only what is not in it. docs/audit.md describes all outputs.",
    .example = "$ pellucid audit downloads/\n"
               "$ pellucid audit model.pt --json\n"
               "$ pellucid audit hf://org/model\n"
               "$ pellucid audit models/ --sarif > audit.sarif\n"
               "$ pellucid audit models/ --write-baseline known.json\n"
               "$ pellucid audit models/ --baseline known.json\n"
               "$ pellucid audit --explain calls-unknown",
    .options = options,
    .run = run,
};
