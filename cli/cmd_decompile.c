#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH 64       /* of folders in a folder */
#define WORTH_PROGRESS 100 /* files */

/* ---- what is to be read, and where its source goes ---- */

typedef struct job_file {
    char *path;
    char *output; /* NULL: standard output */
} job_file;

typedef struct decompile_job {
    const cli_command *command;
    pel_decompile_options options;
    const char *folder; /* of --output; NULL: none */
    job_file *files;
    size_t n_files, cap;
} decompile_job;

static void *no_null(void *memory) {
    if (memory) return memory;
    fputs("pellucid: out of memory\n", stderr);
    exit(CLI_BAD_INPUT);
}

static char *join(const char *folder, const char *name, size_t name_len) {
    size_t folder_len = strlen(folder);
    char *path = no_null(malloc(folder_len + name_len + 2));
    memcpy(path, folder, folder_len);
    path[folder_len] = '/';
    memcpy(path + folder_len + 1, name, name_len);
    path[folder_len + 1 + name_len] = 0;
    return path;
}

/* FOLDER/STEM.py; of "x.cpython-311.pyc" the stem is "x". */
static char *output_for(const char *folder, const char *path) {
    if (!folder) return NULL;
    const char *slash = strrchr(path, '/');
    const char *name = strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path;
    size_t len = strlen(name);
    if (len > 4 && strcmp(name + len - 4, ".pyc") == 0) len -= 4;
    const char *tag = strstr(name, ".cpython-3");
    if (tag && tag > name && tag < name + len) len = (size_t)(tag - name);
    char *bare = join(folder, name, len);
    size_t bare_len = strlen(bare);
    bare = no_null(realloc(bare, bare_len + 4));
    memcpy(bare + bare_len, ".py", 4);
    return bare;
}

static void add_file(decompile_job *job, char *path, char *output) {
    if (job->n_files == job->cap) {
        job->cap = job->cap ? job->cap * 2 : 64;
        job->files = no_null(realloc(job->files, job->cap * sizeof *job->files));
    }
    job->files[job->n_files++] = (job_file){ path, output };
}

static int add_path(decompile_job *job, const char *path, const char *output_folder, int depth);

/* Every .pyc under a folder, sorted. A __pycache__ folder adds nothing to the path of the output. */
static int add_folder(decompile_job *job, const char *path, const char *output_folder, int depth) {
    char **names;
    bool is_fine = depth <= MAX_DEPTH && access(path, R_OK) == 0;
    if (!is_fine) {
        fprintf(stderr, "%s:1:1: cannot be read: %s\n", path,
                depth > MAX_DEPTH ? "folders nest too deep" : strerror(errno));
        return CLI_BAD_INPUT;
    }
    size_t n = cli_folder_entries(path, &names);
    int result = CLI_FINE;
    for (size_t i = 0; i < n; i++) {
        const char *name = names[i];
        char *child = join(path, name, strlen(name));
        struct stat info;
        size_t len = strlen(name);
        if (pel_os_lstat(child, &info) == 0 && S_ISDIR(info.st_mode)) {
            bool adds = output_folder && strcmp(name, "__pycache__") != 0;
            char *inner = adds ? join(output_folder, name, len) : NULL;
            result = cli_worse(result, add_folder(job, child, inner ? inner : output_folder, depth + 1));
            free(inner);
        } else if (len > 4 && strcmp(name + len - 4, ".pyc") == 0) {
            result = cli_worse(result, add_path(job, child, output_folder, depth + 1));
        }
        free(child);
        free(names[i]);
    }
    free(names);
    return result;
}

static int add_path(decompile_job *job, const char *path, const char *output_folder, int depth) {
    struct stat info;
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(job, path, output_folder, depth);
    add_file(job, no_null(strdup(path)), output_for(output_folder, path));
    return CLI_FINE;
}

static int by_output(const void *a, const void *b) {
    return strcmp((*(const job_file *const *)a)->output, (*(const job_file *const *)b)->output);
}

/* Two inputs with one output: said before anything is written. -1 if there are none. */
static int check_outputs(const decompile_job *job) {
    if (!job->folder || !job->n_files) return -1;
    const job_file **sorted = no_null(malloc(job->n_files * sizeof *sorted));
    for (size_t i = 0; i < job->n_files; i++) sorted[i] = &job->files[i];
    qsort(sorted, job->n_files, sizeof *sorted, by_output);
    int result = -1;
    for (size_t i = 1; i < job->n_files && result < 0; i++)
        if (strcmp(sorted[i]->output, sorted[i - 1]->output) == 0)
            result = cli_usage_error(job->command, "'%s' and '%s' would both be written to %s", sorted[i - 1]->path,
                                     sorted[i]->path, sorted[i]->output);
    free(sorted);
    return result;
}

/* Makes the folders that path lies in, if they are not those of the path before. */
static bool make_folders(const char *path) {
    static char made[4096];
    size_t len = (size_t)(strrchr(path, '/') - path);
    if (len < sizeof made && strlen(made) == len && memcmp(made, path, len) == 0) return true;
    char *copy = no_null(strdup(path));
    bool done = true;
    for (char *slash = copy + 1; done && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        done = pel_os_make_folder(copy) == 0 || errno == EEXIST;
        *slash = '/';
    }
    free(copy);
    if (done && len < sizeof made) {
        memcpy(made, path, len);
        made[len] = 0;
    }
    return done;
}

/* ---- one file ---- */

static int write_result(const decompile_job *job, const job_file *file, pel_text text) {
    if (!file->output) {
        if (job->n_files > 1 && !job->options.as_json) printf("# ==> %s\n", file->path);
        int result = cli_write(NULL, text);
        if (job->options.as_json) putchar('\n');
        return result;
    }
    if (make_folders(file->output)) return cli_write(file->output, text);
    fprintf(stderr, "pellucid: cannot make the folder of %s: %s\n", file->output, strerror(errno));
    return CLI_BAD_INPUT;
}

static int decompile_file(const decompile_job *job, pel_ctx *ctx, const job_file *file) {
    cli_input input;
    pel_error error;
    pel_text text;
    unsigned incomplete;
    if (!cli_read(file->path, PEL_BYTECODE_MAX, &input, &error))
        return cli_report(ctx, &input, &error, job->options.as_json);
    int result = CLI_FINE;
    if (!pellucid_decompile(ctx, input.bytes, &job->options, &text, &incomplete, &error)) {
        result = cli_report(ctx, &input, &error, job->options.as_json);
    } else {
        result = write_result(job, file, text);
        if (incomplete) result = cli_worse(result, CLI_INCOMPLETE);
    }
    cli_release(&input);
    return result;
}

static int decompile_all(const decompile_job *job) {
    pel_ctx *ctx = no_null(pellucid_open(NULL));
    bool shows_progress = job->n_files >= WORTH_PROGRESS && job->folder && cli_is_terminal(stderr);
    int result = CLI_FINE;
    for (size_t i = 0; i < job->n_files; i++) {
        if (shows_progress && i % WORTH_PROGRESS == 0) fprintf(stderr, "\r%zu of %zu files", i, job->n_files);
        result = cli_worse(result, decompile_file(job, ctx, &job->files[i]));
        pellucid_reset(ctx);
    }
    if (shows_progress) fprintf(stderr, "\r%*s\r", 40, "");
    pellucid_close(ctx);
    return result;
}

static int run(const cli_args *args) {
    decompile_job job = { .command = args->command, .folder = cli_value(args, "output") };
    job.options = (pel_decompile_options){ .python = cli_marshal_version(args),
                                           .as_json = cli_has(args, "json"),
                                           .dump = cli_value(args, "dump") };
    int mistake = cli_number(args, "width", 20, 1000, &job.options.width);
    if (mistake >= 0) return mistake;
    int result = CLI_FINE;
    for (size_t i = 0; i < args->n_operands; i++)
        result = cli_worse(result, add_path(&job, args->operands[i], job.folder, 0));
    mistake = check_outputs(&job);
    if (mistake >= 0)
        result = mistake;
    else
        result = cli_worse(result, decompile_all(&job));
    for (size_t i = 0; i < job.n_files; i++) {
        free(job.files[i].path);
        free(job.files[i].output);
    }
    free(job.files);
    return result;
}

static const cli_option options[] = {
    { 'o', "output", "DIR", "write DIR/STEM.py for each file instead of printing", NULL },
    { 'w', "width", "COLUMNS", "break lines to fit (default 100)", NULL },
    { 0, "json", NULL, "print JSON with the line map, one line per input", NULL },
    { 0, "dump", "PASS", "show what a pass of the decompiler makes instead of source", NULL },
    CLI_OPTION_MARSHAL,
    CLI_OPTION_END,
};

const cli_command cli_cmd_decompile = {
    .name = "decompile",
    .operands = "FILE...",
    .summary = "turn compiled Python back into source",
    .about = "Prints Python source for .pyc files of Python 3.8 to 3.15: files, folders (every .pyc in\n"
             "them) or \"-\" for standard input. Compiling the source with the same Python gives the same\n"
             "instructions, or for a few files in a hundred the same in another order of blocks; fewer than\n"
             "one in a hundred differs in more (bench/decompile_files.py). What the bytecode can't tell is\n"
             "guessed: \"%s\" % (a,) may come out as an f-string. A function whose structure is not found is shown as "
             "its instructions, in\n"
             "comments of which the first begins with \"# pellucid: incomplete\", and the exit code is 3.",
    .example = "$ pellucid decompile -o src __pycache__\n"
               "$ pellucid decompile hello.pyc\n"
               "print('hello')",
    .options = options,
    .min_operands = 1,
    .run = run,
};
