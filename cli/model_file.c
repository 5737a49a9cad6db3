/* Model files for the library, which opens none itself: mapped, with what lies beside them. */
#include "cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PATH 4096
#define MAX_BESIDE 4096 /* shards of one model */
#define NO_LIMIT (SIZE_MAX >> 1)

struct cli_beside {
    cli_input *inputs;
    size_t n, cap;
    char folder[MAX_PATH]; /* with its slash; empty: the current one */
};

static bool open_beside(void *arg, pel_text name, pel_text *bytes) {
    struct cli_beside *beside = arg;
    char path[2 * MAX_PATH];
    pel_error ignored;
    if (beside->n == MAX_BESIDE || name.len >= MAX_PATH || memchr(name.ptr, 0, name.len)) return false;
    snprintf(path, sizeof path, "%s%.*s", beside->folder, (int)name.len, name.ptr);
    if (beside->n == beside->cap) {
        size_t cap = beside->cap ? 2 * beside->cap : 8;
        cli_input *moved = realloc(beside->inputs, cap * sizeof *moved);
        if (!moved) return false;
        beside->inputs = moved;
        beside->cap = cap;
    }
    if (!cli_read(path, NO_LIMIT, &beside->inputs[beside->n], &ignored)) return false;
    *bytes = beside->inputs[beside->n++].bytes;
    return true;
}

const char *const cli_folder_models[] = { "saved_model.pb",
                                          "model.safetensors.index.json",
                                          "pytorch_model.bin.index.json",
                                          "model.safetensors",
                                          "pytorch_model.bin",
                                          ".metadata",
                                          NULL };

static bool choose_in_folder(const char *folder, char *path, size_t size) {
    struct stat info;
    for (const char *const *name = cli_folder_models; *name; name++) {
        snprintf(path, size, "%s/%s", folder, *name);
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) return true;
    }
    DIR *entries = opendir(folder);
    char best[256] = ""; /* the newest event file: their names sort by time */
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (strstr(entry->d_name, "tfevents") && strcmp(entry->d_name, best) > 0)
            snprintf(best, sizeof best, "%s", entry->d_name);
    if (entries) closedir(entries);
    snprintf(path, size, "%s/%s", folder, best);
    return best[0] != 0;
}

/* The file's name points into `path`, so model->path keeps the chosen name alive until the model is closed. The 300
 * bytes leave room for the name of a file in the folder. Standard input has no folder: nothing lies beside it. */
bool cli_open_model(const char *path, cli_model *model, pel_error *error) {
    char chosen[MAX_PATH];
    struct stat info;
    if (cli_is_remote(path)) return cli_remote_open(path, model, error);
    *model = (cli_model){ .input = { .name = path } };
    if (strlen(path) < MAX_PATH - 300 && stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
        choose_in_folder(path, chosen, sizeof chosen)) {
        model->path = strdup(chosen);
        path = model->path ? model->path : path;
    }
    if (!cli_read(path, NO_LIMIT, &model->input, error)) {
        free(model->path);
        model->path = NULL;
        return false;
    }
    struct cli_beside *beside = calloc(1, sizeof *beside);
    const char *slash = strrchr(path, '/');
    if (beside && slash && (size_t)(slash - path) + 1 < sizeof beside->folder)
        memcpy(beside->folder, path, (size_t)(slash - path) + 1);
    model->beside = beside;
    model->file = (pel_model_file){ .name = { path, strlen(path) }, .bytes = model->input.bytes };
    if (beside && strcmp(path, "-") != 0) {
        model->file.beside = open_beside;
        model->file.arg = beside;
    }
    if (slash) model->file.name = (pel_text){ slash + 1, strlen(slash + 1) };
    return true;
}

void cli_close_model(cli_model *model) {
    for (size_t i = 0; model->beside && i < model->beside->n; i++) cli_release(&model->beside->inputs[i]);
    if (model->beside) free(model->beside->inputs);
    free(model->beside);
    cli_remote_close(model->remote);
    cli_release(&model->input);
    free(model->path);
}

/* The index of a sharded checkpoint may name a hundred thousand tensors: more for each MiB that it has. */
static int memory_for(const cli_args *args) {
    size_t mib = 0;
    for (size_t i = 0; i < args->n_operands; i++) {
        size_t length = strlen(args->operands[i]);
        struct stat file;
        if (length > 5 && strcmp(args->operands[i] + length - 5, ".json") == 0 && stat(args->operands[i], &file) == 0)
            mib += (size_t)file.st_size >> 20;
    }
    return CLI_MODEL_MEMORY + CLI_INDEX_MEMORY * (int)(mib < CLI_INDEX_MIB ? mib : CLI_INDEX_MIB);
}

pel_ctx *cli_open_for_models(const cli_args *args) {
    int mib = memory_for(args);
    if (cli_number(args, "memory", 1, 1 << 20, &mib) >= 0) return NULL;
    uint64_t bytes = (uint64_t)mib << 20;
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes });
    if (!ctx) fputs("pellucid: out of memory\n", stderr);
    return ctx;
}
