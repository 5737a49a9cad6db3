#include "cli.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 64 /* of folders */
#define MAX_WORKERS 8

typedef struct job {
    char *path;
    char *text; /* what to print; NULL until it is done */
    size_t len;
    int result;
    bool done;
    bool was_found; /* in a folder: then it need not be a model */
} job;

typedef struct batch {
    job *jobs;
    size_t n, cap, next, printed;
    bool as_json, quiet;
    const cli_args *args;
    pthread_mutex_t lock;
} batch;

/* ---- which files ---- */

static bool add_path(batch *b, const char *path, bool was_found) {
    if (b->n == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        job *moved = realloc(b->jobs, cap * sizeof *moved);
        if (!moved) return false;
        b->jobs = moved;
        b->cap = cap;
    }
    b->jobs[b->n] = (job){ .path = strdup(path), .was_found = was_found };
    return b->jobs[b->n++].path != NULL;
}

/* In folders, what is named as model files are, or begins as an archive or a pickle. */
static bool looks_like_model(const char *path) {
    static const char *const endings[] = { ".pt",   ".pth", ".bin",    ".ckpt", ".pkl",  ".pickle", ".safetensors",
                                           ".onnx", ".pb",  ".keras",  ".h5",   ".hdf5", ".gguf",   ".tflite",
                                           ".ptl",  ".pt2", ".joblib", ".npy",  ".npz",  ".nemo",   ".index.json" };
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (len > n && strcmp(path + len - n, endings[i]) == 0) return true;
    }
    if (strstr(path, "tfevents")) return true;
    unsigned char start[4] = { 0 };
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(start, 1, sizeof start, file) : 0;
    if (file) fclose(file);
    return got == sizeof start &&
           (memcmp(start, "PK\3\4", 4) == 0 || (start[0] == 0x80 && start[1] >= 2 && start[1] <= 5));
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Adds the model files below a folder, in the order of their names. Links are not followed. */
static bool add_folder(batch *b, const char *folder, int depth) {
    DIR *entries = opendir(folder);
    char **names = NULL;
    size_t n = 0, cap = 0;
    bool fine = true;
    for (struct dirent *entry; fine && entries && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            char **moved = realloc(names, cap * sizeof *names);
            if (!moved) {
                fine = false;
                break;
            }
            names = moved;
        }
        size_t size = strlen(folder) + strlen(entry->d_name) + 2;
        names[n] = malloc(size);
        fine = names[n] != NULL;
        if (fine) snprintf(names[n++], size, "%s/%s", folder, entry->d_name);
    }
    if (entries) closedir(entries);
    if (n) qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        struct stat info;
        if (fine && lstat(names[i], &info) == 0) {
            if (S_ISDIR(info.st_mode) && depth < MAX_DEPTH) fine = add_folder(b, names[i], depth + 1);
            if (S_ISREG(info.st_mode) && looks_like_model(names[i])) fine = add_path(b, names[i], true);
        }
        free(names[i]);
    }
    free(names);
    return fine;
}

/* ---- the work ---- */

static void audit_one(const batch *b, pel_ctx *ctx, job *todo) {
    cli_model model;
    pel_error error;
    pel_text text = { "", 0 };
    pel_verdict verdict = PEL_BROKEN;
    const pel_audit_options options = { .as_json = b->as_json };
    char *made = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&made, &len);
    bool is_open = cli_open_model(todo->path, &model, &error);
    if (is_open) model.file.name = (pel_text){ todo->path, strlen(todo->path) };
    bool is_done = is_open && pellucid_audit(ctx, &model.file, &options, &text, &verdict, &error);
    bool is_none = is_done && verdict == PEL_NO_MODEL && todo->was_found;
    if (is_done && out) {
        if (!is_none && (!b->quiet || verdict != PEL_HARMLESS)) fwrite(text.ptr, 1, text.len, out);
    } else if (out) {
        if (b->as_json) {
            text = pellucid_error_json(ctx, (pel_text){ todo->path, strlen(todo->path) }, &error);
            fprintf(out, "%.*s\n", (int)text.len, text.ptr);
        } else {
            fprintf(out, "%s: broken\n  suspect  unread: %s\n", todo->path, error.message);
        }
    }
    if (is_open) cli_close_model(&model);
    if (out) fclose(out);
    todo->text = made;
    todo->len = len;
    todo->result = verdict == PEL_HARMLESS || is_none                      ? CLI_FINE
                   : verdict == PEL_SUSPICIOUS || verdict == PEL_DANGEROUS ? CLI_FOUND
                                                                           : CLI_BAD_INPUT;
}

/* Prints what is done and not behind something that is not. The lock is held. */
static void print_done(batch *b) {
    bool shows_progress = b->n > 1 && isatty(2) && !isatty(1);
    for (; b->printed < b->n && b->jobs[b->printed].done; b->printed++) {
        job *row = &b->jobs[b->printed];
        if (row->text) fwrite(row->text, 1, row->len, stdout);
        free(row->text);
        row->text = NULL;
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
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = processors > MAX_WORKERS ? MAX_WORKERS : processors < 1 ? 1 : (size_t)processors, started = 0;
    if (n > b->n) n = b->n;
    for (size_t i = 1; i < n; i++)
        if (pthread_create(&workers[started], NULL, work, b) == 0) started++;
    work(b);
    for (size_t i = 0; i < started; i++) pthread_join(workers[i], NULL);
}

static int run(const cli_args *args) {
    batch b = { .args = args, .as_json = cli_has(args, "json"), .quiet = cli_has(args, "quiet") };
    bool fine = true;
    int result = CLI_FINE;
    for (size_t i = 0; fine && i < args->n_operands; i++) {
        struct stat info;
        bool is_folder = stat(args->operands[i], &info) == 0 && S_ISDIR(info.st_mode);
        fine = is_folder ? add_folder(&b, args->operands[i], 0) : add_path(&b, args->operands[i], false);
    }
    pthread_mutex_init(&b.lock, NULL);
    if (fine && b.n) run_all(&b);
    if (!fine) fputs("pellucid: out of memory\n", stderr);
    unsigned bad = 0;
    for (size_t i = 0; i < b.n; i++) {
        result = cli_worse(result, b.jobs[i].done ? b.jobs[i].result : CLI_BAD_INPUT);
        bad += !b.jobs[i].done || b.jobs[i].result != CLI_FINE;
        free(b.jobs[i].path);
    }
    if (b.n > 1 && isatty(2) && !isatty(1)) fputs("\r\033[K", stderr);
    if (b.n > 1 && !b.as_json) printf("%zu files, %u of them not harmless\n", b.n, bad);
    free(b.jobs);
    pthread_mutex_destroy(&b.lock);
    return fine ? result : CLI_BAD_INPUT;
}

static const cli_option options[] = {
    { 0, "json", NULL, "print JSON, one line per file", NULL },
    { 'q', "quiet", NULL, "say nothing about harmless files", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_END,
};

const cli_command cli_cmd_audit = {
    .name = "audit",
    .operands = "FILE|FOLDER...",
    .summary = "say what would run if model files were opened",
    .about = "Reads model files as hostile: executes nothing, writes nothing. Tells every call that\n"
             "unpickling would make, with its arguments; pickles inside of pickles; bytecode inside of\n"
             "files, as source; whatever two readers of the same archive may see differently.\n"
             "Folders are searched for model files; what is none is passed over.\n"
             "\n"
             "The verdicts and the exit codes, for CI:\n"
             "  0  harmless: opening runs nothing but what rebuilds tensors and plain values. Notes\n"
             "     say what the file needs, somebody's classes for instance\n"
             "  4  dangerous: opening it with its usual reader runs code or does harm; or\n"
             "     suspicious: readers may disagree about it, or it calls somebody's functions\n"
             "  2  broken: it can't be read to its end; unknown: it is no model file\n"
             "Several files: 2 if there is a broken one, else 4 if there is one of those.",
    .example = "$ pellucid audit downloads/\n"
               "$ pellucid audit model.pt --json",
    .options = options,
    .min_operands = 1,
    .run = run,
};
