/* Python source for the library, which opens no file itself: the roots that the command line names, and a scanner over
 * them. */
#include "cli.h"

#include "base/os.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE 64 /* files whose imports stand for those of a folder */

/* ---- files: everything that was read stays until the end ---- */

/* Frees the block with the sources. */
static void *keep(cli_sources *sources, void *block) {
    if (!block) return NULL;
    if (sources->n_kept == sources->kept_cap) {
        size_t cap = sources->kept_cap ? 2 * sources->kept_cap : 64;
        void **moved = realloc(sources->kept, cap * sizeof *moved);
        if (!moved) {
            free(block);
            return NULL;
        }
        sources->kept = moved;
        sources->kept_cap = cap;
    }
    return sources->kept[sources->n_kept++] = block;
}

/* Whether a file is still inside of a root once links are followed. */
static bool stays_inside(const cli_sources *sources, const char *name) {
    char *real = pel_os_real_path(name);
    bool is_inside = false;
    for (size_t i = 0; real && i < sources->n_roots; i++) {
        const char *root = sources->real_roots[i];
        size_t len = root ? strlen(root) : 0;
        is_inside |= len && strncmp(real, root, len) == 0 && (real[len] == '/' || root[len - 1] == '/');
    }
    free(real);
    return is_inside;
}

static const pel_scan_target *open_text(const cli_sources *sources, const char *name) {
    for (size_t i = 0; i < sources->n_open; i++)
        if (strcmp(sources->open[i].path, name) == 0) return &sources->open[i];
    return NULL;
}

/* ---- what was read, for editors: a file may change while its text is in use ---- */

struct cli_read_note {
    char *path;
    int64_t seconds, size;
};

static void note_read(cli_sources *sources, const char *name) {
    struct stat info;
    if (sources->n_notes == sources->notes_cap) {
        size_t cap = sources->notes_cap ? 2 * sources->notes_cap : 256;
        struct cli_read_note *moved = realloc(sources->notes, cap * sizeof *moved);
        if (!moved) return;
        sources->notes = moved;
        sources->notes_cap = cap;
    }
    char *path = keep(sources, strdup(name));
    if (path && stat(name, &info) == 0)
        sources->notes[sources->n_notes++] =
            (struct cli_read_note){ path, (int64_t)info.st_mtime, (int64_t)info.st_size };
}

bool cli_sources_changed(const cli_sources *sources) {
    for (size_t i = 0; i < sources->n_notes; i++) {
        const struct cli_read_note *note = &sources->notes[i];
        struct stat info;
        if (stat(note->path, &info) != 0 || info.st_mtime != note->seconds || info.st_size != note->size) return true;
    }
    return false;
}

static bool read_file(void *arg, pel_text path, pel_text *bytes) {
    cli_sources *sources = arg;
    char name[4096];
    if (path.len >= sizeof name) return false;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    const pel_scan_target *open = open_text(sources, name);
    if (open) {
        char *copy = keep(sources, malloc(open->source.len + 1));
        if (copy) memcpy(copy, open->source.ptr, open->source.len);
        sources->has_read_open = true;
        *bytes = (pel_text){ copy, open->source.len };
        return copy != NULL;
    }
    bool is_read = cli_read_source(sources, name, bytes);
    if (is_read && sources->notes_reads) note_read(sources, name);
    return is_read;
}

bool cli_read_source(cli_sources *arg, const char *name, pel_text *bytes) {
    if (access(name, R_OK) != 0 || !stays_inside(arg, name)) return false;
    int file = pel_os_open(name);
    if (file < 0) return false;
    struct stat info;
    char *text = NULL;
    size_t len = 0;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size <= PEL_SOURCE_MAX &&
        (text = keep(arg, malloc((size_t)info.st_size + 1)))) {
        ssize_t n;
        while (len < (size_t)info.st_size && (n = read(file, text + len, (size_t)info.st_size - len)) > 0)
            len += (size_t)n;
    }
    close(file);
    *bytes = (pel_text){ text, len };
    return text != NULL;
}

static int kind_of(void *arg, pel_text path) {
    char name[4096];
    struct stat info;
    if (path.len >= sizeof name) return 0;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    if (stat(name, &info) != 0) return arg && open_text(arg, name) ? 1 : 0;
    return S_ISDIR(info.st_mode) ? 2 : S_ISREG(info.st_mode) ? 1 : 0;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The entries of a folder, sorted; the caller frees names and list. */
size_t cli_folder_entries(const char *path, char ***names) {
    DIR *folder = opendir(path);
    size_t n = 0, cap = 0;
    *names = NULL;
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
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
    char name[4096], **names;
    if (path.len >= sizeof name || kind_of(NULL, path) != 2) return false;
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    size_t n = cli_folder_entries(name, &names), len = 0;
    for (size_t i = 0; i < n; i++) len += strlen(names[i]) + 1;
    char *text = keep(arg, malloc(len + 1)), *at = text;
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(names[i]);
        if (text) {
            memcpy(at, names[i], size);
            at[size] = '\n';
            at += size + 1;
        }
        free(names[i]);
    }
    free(names);
    *out = (pel_text){ text, len };
    return text != NULL;
}

/* ---- roots ---- */

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

void cli_add_root(cli_sources *sources, const char *path) {
    for (size_t i = 0; i < sources->n_roots; i++)
        if (strcmp(sources->roots[i], path) == 0) return;
    if (sources->n_roots == CLI_MAX_ROOTS) {
        fprintf(stderr, "pellucid: more than %d roots: %s is not read\n", CLI_MAX_ROOTS, path);
        return;
    }
    char *kept = keep(sources, strdup(path));
    if (!kept) return;
    sources->real_roots[sources->n_roots] = pel_os_real_path(kept);
    sources->roots[sources->n_roots++] = kept;
}

static const char *parent_of(cli_sources *sources, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    size_t len = slash == path ? 1 : (size_t)(slash - path);
    char *parent = keep(sources, calloc(len + 1, 1));
    return parent ? memcpy(parent, path, len) : ".";
}

static const char *folder_of(cli_sources *sources, const char *path) {
    return is_folder(path) ? path : parent_of(sources, path);
}

/* Modules of a package import each other from the folder that it is in. */
static bool is_package(const char *folder) {
    char init[4096];
    return snprintf(init, sizeof init, "%s/__init__.py", folder) < (int)sizeof init && strcmp(folder, ".") != 0 &&
           access(init, R_OK) == 0;
}

static void add_operand(cli_sources *sources, const char *path) {
    const char *folder = folder_of(sources, path);
    cli_add_root(sources, folder);
    while (is_package(folder)) cli_add_root(sources, folder = parent_of(sources, folder));
    /* a repository that keeps its packages apart: installing it would make src a root */
    char src[4096];
    int n = snprintf(src, sizeof src, "%s/src", path);
    if (n < (int)sizeof src && is_folder(src) && !is_package(src)) cli_add_root(sources, src);
}

/* ---- opening ---- */

bool cli_is_source(const char *path) {
    struct stat info;
    size_t len = strlen(path);
    if (len > 3 && strcmp(path + len - 3, ".py") == 0) return true;
    if (len > 6 && strcmp(path + len - 6, ".ipynb") == 0) return true;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return false;
    return is_package(path);
}

/* The order is Python's: the folder of what is started, PYTHONPATH (--root), what is installed. */
static bool add_roots(cli_sources *sources, const cli_args *args) {
    for (size_t i = 0; i < args->n_operands; i++) add_operand(sources, args->operands[i]);
    for (size_t i = 0; i < args->n_given; i++) {
        const cli_given *given = &args->given[i];
        if (strcmp(given->option->name, "root") != 0) continue;
        if (!is_folder(given->value)) {
            fprintf(stderr, "%s:1:1: --root: there is no such folder\n", given->value);
            return false;
        }
        cli_add_root(sources, given->value);
    }
    const char *python = cli_has(args, "python") ? cli_value(args, "python") : NULL;
    if (python && !cli_add_python(sources, python)) {
        fprintf(stderr, "%s:1:1: --python: no lib/python3.*/site-packages belongs to it\n", python);
        return false;
    }
    if (!python && getenv("VIRTUAL_ENV")) cli_add_python(sources, getenv("VIRTUAL_ENV"));
    return true;
}

cli_sources *cli_sources_new(const cli_args *args) {
    cli_sources *sources = calloc(1, sizeof *sources);
    if (!sources) return NULL;
    for (size_t i = 0; i < args->n_given; i++) {
        const cli_given *given = &args->given[i];
        bool is_set = strcmp(given->option->name, "set") == 0, is_code = strcmp(given->option->name, "code") == 0;
        if (is_set && sources->n_set < CLI_MAX_ROOTS)
            sources->set[sources->n_set++] = given->value;
        else if (is_code && sources->n_snippets < CLI_MAX_SNIPPETS)
            sources->snippets[sources->n_snippets++] = given->value;
        else if (is_set || is_code)
            fprintf(stderr, "pellucid: too many --%s: %s is passed over\n", given->option->name, given->value);
    }
    if (add_roots(sources, args)) return sources;
    cli_sources_free(sources);
    return NULL;
}

cli_sources *cli_sources_for(const char *path, const char *const *folders) {
    cli_sources *sources = calloc(1, sizeof *sources);
    if (!sources) return NULL;
    add_operand(sources, path);
    for (; *folders; folders++)
        if (is_folder(*folders)) add_operand(sources, *folders);
    return sources;
}

bool cli_sources_open(cli_sources *sources, pel_scan_options options, pel_error *error) {
    sources->ctx = pellucid_open(NULL);
    if (!sources->ctx) {
        *error = (pel_error){ .code = PEL_E_MEMORY, .message = "out of memory" };
        return false;
    }
    options.files = (pel_scan_files){ sources, read_file, kind_of, list_folder };
    options.roots = sources->roots;
    options.set = sources->set;
    return pellucid_scan_open(sources->ctx, &options, &sources->scanner, error);
}

void cli_sources_free(cli_sources *sources) {
    if (!sources) return;
    if (sources->ctx) pellucid_close(sources->ctx);
    for (size_t i = 0; i < sources->n_kept; i++) free(sources->kept[i]);
    for (size_t i = 0; i < sources->n_roots; i++) free(sources->real_roots[i]);
    for (size_t i = 0; i < sources->n_inputs; i++) cli_release(&sources->inputs[i]);
    free(sources->inputs);
    free(sources->notes);
    free(sources->kept);
    free(sources);
}

/* The bytes stay as long as the scanner: positions point into them. NULL: error says why. */
static const cli_input *read_source(cli_sources *sources, const char *path, pel_error *error) {
    if (sources->n_inputs == sources->inputs_cap) {
        size_t cap = sources->inputs_cap ? 2 * sources->inputs_cap : 8;
        cli_input *moved = realloc(sources->inputs, cap * sizeof *moved);
        if (!moved) {
            *error = (pel_error){ .code = PEL_E_MEMORY, .message = "out of memory" };
            return NULL;
        }
        sources->inputs = moved;
        sources->inputs_cap = cap;
    }
    cli_input *input = &sources->inputs[sources->n_inputs];
    return cli_read(path, PEL_SOURCE_MAX, input, error) ? &sources->inputs[sources->n_inputs++] : NULL;
}

bool cli_scan_path(cli_sources *sources, const char *path, pel_text *out, pel_scan_result *result, pel_error *error) {
    const cli_input *input = read_source(sources, path, error);
    return input && pellucid_scan(sources->scanner, path, input->bytes, out, result, error);
}

void cli_import_common(cli_sources *sources, char *const *paths, size_t n) {
    pel_scan_target sample[SAMPLE];
    size_t step = n / SAMPLE + 1, taken = 0;
    for (size_t i = 0; i < n && taken < SAMPLE; i += step) {
        pel_error ignored;
        const cli_input *input = read_source(sources, paths[i], &ignored);
        if (input) sample[taken++] = (pel_scan_target){ paths[i], input->bytes };
    }
    pellucid_scan_import(sources->scanner, sample, taken, 2);
}
