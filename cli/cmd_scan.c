#include "cli.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LIST 256
#define MAX_FILES 100000

typedef struct scan_job {
    const char *roots[MAX_LIST + 8];
    char *real_roots[MAX_LIST]; /* the same, links followed; NULL: there is no such folder */
    const char *set[MAX_LIST + 1];
    const char *snippets[MAX_LIST * 16];
    size_t n_roots, n_set, n_snippets;
    bool as_json;
    const char *output; /* of --source; NULL: standard output */
    pel_scanner *scanner;
    pel_ctx *ctx;
} scan_job;

/* ---- files: everything that was read stays until the end ---- */

/* Whether a file is still inside of a root once links are followed. */
static bool stays_inside(const scan_job *job, const char *name) {
    char real[PATH_MAX];
    if (!realpath(name, real)) return false;
    for (size_t i = 0; i < job->n_roots; i++) {
        const char *root = job->real_roots[i];
        size_t len = root ? strlen(root) : 0;
        if (len && strncmp(real, root, len) == 0 && (real[len] == '/' || root[len - 1] == '/')) return true;
    }
    return false;
}

static bool read_file(void *arg, pel_text path, pel_text *bytes) {
    char name[4096];
    if (path.len >= sizeof name) return false;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    if (access(name, R_OK) != 0 || !stays_inside(arg, name)) return false;
    int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    struct stat info;
    char *text = NULL;
    size_t len = 0;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size <= PEL_SOURCE_MAX &&
        (text = malloc((size_t)info.st_size + 1))) {
        ssize_t n;
        while (len < (size_t)info.st_size && (n = read(file, text + len, (size_t)info.st_size - len)) > 0)
            len += (size_t)n;
    }
    close(file);
    *bytes = (pel_text){ text, len };
    return text != NULL;
}

static int kind_of(void *arg, pel_text path) {
    (void)arg;
    char name[4096];
    struct stat info;
    if (path.len >= sizeof name) return 0;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    if (stat(name, &info) != 0) return 0;
    return S_ISDIR(info.st_mode) ? 2 : S_ISREG(info.st_mode) ? 1 : 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The entries of a folder, sorted; the caller frees names and list. */
static size_t folder_entries(const char *path, char ***names) {
    DIR *folder = opendir(path);
    size_t n = 0, cap = 0;
    *names = NULL;
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder)) && n < MAX_FILES;) {
        if (entry->d_name[0] == '.') continue;
        if (n == cap) {
            cap = cap ? cap * 2 : 64;
            char **moved = realloc(*names, cap * sizeof **names);
            if (!moved) break;
            *names = moved;
        }
        if (!((*names)[n] = strdup(entry->d_name))) break;
        n++;
    }
    closedir(folder);
    if (n) qsort(*names, n, sizeof **names, by_name);
    return n;
}

static bool list_folder(void *arg, pel_text path, pel_text *out) {
    (void)arg;
    char name[4096], **names;
    if (path.len >= sizeof name || kind_of(NULL, path) != 2) return false;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    size_t n = folder_entries(name, &names), len = 0;
    for (size_t i = 0; i < n; i++) len += strlen(names[i]) + 1;
    char *text = malloc(len + 1), *at = text;
    for (size_t i = 0; i < n; i++) {
        if (text) at = stpcpy(stpcpy(at, names[i]), "\n");
        free(names[i]);
    }
    free(names);
    *out = (pel_text){ text, len };
    return text != NULL;
}

/* ---- roots ---- */

static void add_root(scan_job *job, const char *path) {
    if (job->n_roots == MAX_LIST) return;
    job->real_roots[job->n_roots] = realpath(path, NULL);
    job->roots[job->n_roots++] = path;
}

/* lib/python3.X/site-packages beside the bin/ that an interpreter stands in. Its file is only named, not run. */
static void add_site_packages(scan_job *job, const char *prefix) {
    char lib[4096], **names;
    if (snprintf(lib, sizeof lib, "%s/lib", prefix) >= (int)sizeof lib) return;
    size_t n = folder_entries(lib, &names);
    for (size_t i = 0; i < n; i++) {
        char path[4400];
        snprintf(path, sizeof path, "%s/%.200s/site-packages", lib, names[i]);
        struct stat info;
        if (strncmp(names[i], "python3", 7) == 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            char *kept = strdup(path);
            if (kept) add_root(job, kept);
        }
        free(names[i]);
    }
    free(names);
}

static void add_python(scan_job *job, const char *python) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s", python) >= (int)sizeof path) return;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        add_site_packages(job, path);
        return;
    }
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = '\0';
    }
    add_site_packages(job, path);
}

/* ---- one source ---- */

static int worst(const pel_scan_result *result) {
    return result->errors ? CLI_FOUND : result->unknown ? CLI_INCOMPLETE : CLI_FINE;
}

static int scan_source(scan_job *job, const char *path, pel_text source) {
    pel_text out;
    pel_scan_result result;
    pel_error error;
    if (!pellucid_scan(job->scanner, path, source, &out, &result, &error))
        return cli_report(job->ctx, &(cli_input){ .name = path ? path : "<snippet>", .bytes = source }, &error,
                          job->as_json);
    int written = cli_write(job->output, out);
    return written == CLI_FINE ? worst(&result) : written;
}

/* Each in a process of its own that shares what was imported: one can't spoil the other, and memory comes back. */
static int scan_snippets(scan_job *job) {
    int result = CLI_FINE;
    for (size_t i = 0; i < job->n_snippets && job->n_snippets > 1; i++)
        pellucid_scan_import(job->scanner, (pel_text){ job->snippets[i], strlen(job->snippets[i]) });
    for (size_t i = 0; i < job->n_snippets; i++) {
        pel_text source = { job->snippets[i], strlen(job->snippets[i]) };
        fflush(stdout);
        pid_t child = job->n_snippets > 1 ? fork() : -1;
        if (child == 0) {
            int one = scan_source(job, NULL, source);
            fflush(stdout);
            _exit(one);
        }
        int status = 0;
        if (child < 0)
            result = cli_worse(result, scan_source(job, NULL, source));
        else if (waitpid(child, &status, 0) == child)
            result = cli_worse(result, WIFEXITED(status) ? WEXITSTATUS(status) : CLI_BAD_INPUT);
    }
    return result;
}

static int scan_file(scan_job *job, const char *path) {
    cli_input input;
    pel_error error;
    if (!cli_read(path, PEL_SOURCE_MAX, &input, &error)) return cli_report(job->ctx, &input, &error, job->as_json);
    return scan_source(job, path, input.bytes); /* the bytes stay: positions point into them */
}

static int scan_folder(scan_job *job, const char *path, int depth) {
    char **names;
    size_t n = folder_entries(path, &names);
    int result = CLI_FINE;
    for (size_t i = 0; i < n; i++) {
        char *inside = malloc(strlen(path) + strlen(names[i]) + 2);
        if (!inside) return CLI_BAD_INPUT;
        sprintf(inside, "%s/%s", path, names[i]);
        struct stat info;
        size_t len = strlen(names[i]);
        if (lstat(inside, &info) == 0) {
            if (S_ISDIR(info.st_mode) && depth < 40 && strcmp(names[i], "__pycache__") != 0)
                result = cli_worse(result, scan_folder(job, inside, depth + 1));
            else if (S_ISREG(info.st_mode) && len > 3 && strcmp(names[i] + len - 3, ".py") == 0)
                result = cli_worse(result, scan_file(job, inside));
        }
        free(names[i]);
    }
    free(names);
    return result;
}

static const char *parent_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    char *parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return parent ? parent : ".";
}

static const char *folder_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? path : parent_of(path);
}

/* Modules of a package import each other from the folder that it stands in. */
static bool is_package(const char *folder) {
    char init[4096];
    return snprintf(init, sizeof init, "%s/__init__.py", folder) < (int)sizeof init && strcmp(folder, ".") != 0 &&
           access(init, R_OK) == 0;
}

static int run(const cli_args *args) {
    scan_job *job = calloc(1, sizeof *job);
    if (!job) return CLI_BAD_INPUT;
    for (size_t i = 0; i < args->n_given; i++) {
        const cli_given *given = &args->given[i];
        if (strcmp(given->option->name, "root") == 0) add_root(job, given->value);
        if (strcmp(given->option->name, "set") == 0 && job->n_set < MAX_LIST) job->set[job->n_set++] = given->value;
        if (strcmp(given->option->name, "code") == 0 && job->n_snippets < MAX_LIST * 16)
            job->snippets[job->n_snippets++] = given->value;
    }
    if (!args->n_operands && !job->n_snippets) return cli_usage_error(args->command, "a TARGET or -e CODE is needed");
    for (size_t i = 0; i < args->n_operands; i++) {
        const char *folder = folder_of(args->operands[i]);
        add_root(job, folder);
        while (is_package(folder)) add_root(job, folder = parent_of(folder));
    }
    if (cli_has(args, "python"))
        add_python(job, cli_value(args, "python"));
    else if (getenv("VIRTUAL_ENV"))
        add_site_packages(job, getenv("VIRTUAL_ENV"));
    job->as_json = cli_has(args, "json");
    job->output = cli_value(args, "output");
    bool as_source = cli_has(args, "source");
    if (as_source && (args->n_operands + job->n_snippets > 1 || job->as_json))
        return cli_usage_error(args->command, "--source takes one TARGET, and no --json");
    if (!as_source && (job->output || cli_has(args, "network")))
        return cli_usage_error(args->command, "-o and --network need --source");
    job->ctx = pellucid_open(NULL);
    if (!job->ctx) return CLI_BAD_INPUT;
    const pel_scan_options options = { .files = { job, read_file, kind_of, list_folder },
                                       .roots = job->roots,
                                       .set = job->set,
                                       .forward = cli_value(args, "forward"),
                                       .as_json = job->as_json,
                                       .as_source = as_source,
                                       .network = cli_value(args, "network"),
                                       .classes = true };
    pel_error error;
    if (!pellucid_scan_open(job->ctx, &options, &job->scanner, &error))
        return cli_usage_error(args->command, "%s", error.message);
    int result = job->n_snippets ? scan_snippets(job) : CLI_FINE;
    for (size_t i = 0; i < args->n_operands; i++) {
        struct stat info;
        bool is_folder = stat(args->operands[i], &info) == 0 && S_ISDIR(info.st_mode);
        result =
            cli_worse(result, is_folder ? scan_folder(job, args->operands[i], 0) : scan_file(job, args->operands[i]));
    }
    pellucid_close(job->ctx);
    return result;
}

static const cli_option options[] = {
    { 'e', "code", "CODE", "scan this code; may be given several times, each gives its own result", NULL },
    { 0, "root", "DIR", "a folder that modules are imported from; may be given several times", NULL },
    { 0, "python", "PATH", "the Python whose site-packages are read, as text only", NULL },
    { 0, "set", "NAME=VALUE", "a value for a parameter or another symbol; may be given several times", NULL },
    { 0, "forward", "2x3x224x224", "run forward on abstract tensors of these shapes", NULL },
    { 0, "source", NULL, "write a program that builds the network, with torch alone", NULL },
    { 0, "network", "NAME", "of --source: which of several networks", NULL },
    { 'o', "output", "FILE", "where --source writes to", NULL },
    CLI_OPTION_JSON,
    CLI_OPTION_END,
};

const cli_command cli_cmd_scan = {
    .name = "scan",
    .operands = "[FILE|DIR]...",
    .summary = "print the networks that source code builds, without executing it",
    .about = "Interprets Python source in a machine of its own, which has no way to the outside but the\n"
             "files of the roots, and prints the networks that are built: those of module level with\n"
             "their arguments, and every other module class with its parameters as symbols.\n"
             "Libraries (torch.nn, timm, transformers) are interpreted from their sources, too: the\n"
             "roots are DIR, or the folder of FILE, what --root names, and the site-packages of --python.\n"
             "\n"
             "A size may be a symbol; a module that stands for n of them is one of a loop\n"
             "whose count is not known, and a condition names a branch that is not. What could not be\n"
             "found out is listed with its place.\n"
             "\n"
             "Exit status: 3 if something stayed unknown, 4 if --forward found shapes that disagree.",
    .example = "$ pellucid scan model.py --python venv/bin/python --forward 1x10\n"
               "$ pellucid scan -e 'import timm; timm.create_model(\"resnet18\")' --python venv --json",
    .options = options,
    .run = run,
};
