/* convert and extract: tensors out of a model file into another. */
#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Below this, the mapping is as good. */
#define WORTH_COPYING ((size_t)64 << 10)
/* Small enough for the processor's cache, and for the kernel to find memory of that size for the pages of the result:
 * writes of whole mebibytes took four times as long. */
#define BUFFER ((size_t)256 << 10)

typedef struct output {
    int file, from;  /* from: the model file, or -1 */
    pel_text mapped; /* its content */
    bool is_mapped;  /* and not read from a stream, which can't be read again */
    char *buffer;
    uint64_t written;
    const char *path;
    int mistake; /* errno of the first failure */
} output;

static bool write_all(output *o, const char *bytes, size_t len) {
    while (len) {
        ssize_t n = write(o->file, bytes, len > 1 << 30 ? 1 << 30 : len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            o->mistake = errno;
            return false;
        }
        bytes += n;
        len -= (size_t)n;
        o->written += (uint64_t)n;
    }
    return true;
}

/* What lies in the model file as it is goes through a buffer: that is faster than to fault in the mapping page by page,
 * and than copy_file_range where the places are not those of pages. */
static bool write_piece(void *arg, pel_text bytes) {
    output *o = arg;
    bool is_inside = bytes.ptr >= o->mapped.ptr && bytes.ptr + bytes.len <= o->mapped.ptr + o->mapped.len;
    if (o->from >= 0 && o->buffer && o->is_mapped && is_inside && bytes.len >= WORTH_COPYING) {
        uint64_t at = (uint64_t)(bytes.ptr - o->mapped.ptr);
        pel_os_reserve(o->file, o->written, bytes.len);
        while (bytes.len) {
            size_t room = BUFFER - o->written % BUFFER; /* so that all but the ends are whole pages of the result */
            ptrdiff_t n = pel_os_read_at(o->from, o->buffer, bytes.len < room ? bytes.len : room, at);
            if (n <= 0) break; /* the rest is written from the mapping */
            if (!write_all(o, o->buffer, (size_t)n)) return false;
            at += (uint64_t)n;
            bytes.ptr += n;
            bytes.len -= (size_t)n;
        }
    }
    return write_all(o, bytes.ptr, bytes.len);
}

static bool is_same_file(int a, int b) {
    pel_os_id x, y;
    return pel_os_id_of_open(a, &x) && pel_os_id_of_open(b, &y) && x.device == y.device && x.file == y.file;
}

static int write_failed(const output *o) {
    fprintf(stderr, "pellucid: cannot write %s: %s\n", o->path, strerror(o->mistake));
    return CLI_BAD_INPUT;
}

static int make_file(const cli_args *args, const char *name, cli_model *model, pel_text map, pel_ctx *ctx) {
    output o = { .path = cli_value(args, "output"), .from = -1, .mapped = model->input.bytes };
    o.is_mapped = model->input.mapped != 0;
    pel_error error;
    if (strcmp(args->operands[0], "-") != 0 && !model->remote)
        o.from = pel_os_open(model->path ? model->path : args->operands[0]);
    o.file = pel_os_create(o.path);
    if (o.file < 0) {
        o.mistake = errno;
        if (o.from >= 0) close(o.from);
        return write_failed(&o);
    }
    int result = CLI_FINE;
    o.buffer = malloc(BUFFER);
    if (o.from >= 0 && is_same_file(o.from, o.file)) {
        result = cli_usage_error(args->command, "the output is the input: %s", o.path);
    } else if (ftruncate(o.file, 0) != 0 && errno != EINVAL) { /* EINVAL: a pipe, a device */
        o.mistake = errno;
        result = write_failed(&o);
    } else {
        pel_convert_options how = { .prefix = name ? NULL : cli_value(args, "prefix"),
                                    .with_constants = !name && cli_has(args, "constants"),
                                    .for_source = !name && cli_has(args, "for-source"),
                                    .map = map };
        size_t n_left = 0;
        bool done = name
                        ? pellucid_extract(ctx, &model->file, (pel_text){ name, strlen(name) }, write_piece, &o, &error)
                        : pellucid_convert(ctx, &model->file, &how, write_piece, &o, &n_left, &error);
        if (done && n_left)
            fprintf(stderr, "pellucid: %zu tensor%s that no state dict has %s left out; --constants writes %s, too\n",
                    n_left, n_left == 1 ? "" : "s", n_left == 1 ? "was" : "were", n_left == 1 ? "it" : "them");
        if (!done && o.mistake)
            result = write_failed(&o);
        else if (!done)
            result = cli_report(ctx, &(cli_input){ .name = model->input.name }, &error, false);
        struct stat info;
        if (!done && stat(o.path, &info) == 0 && S_ISREG(info.st_mode)) unlink(o.path); /* half a file is none */
    }
    if (close(o.file) != 0 && result == CLI_FINE) {
        o.mistake = errno;
        result = write_failed(&o);
    }
    if (o.from >= 0) close(o.from);
    free(o.buffer);
    return result;
}

static int run(const cli_args *args) {
    const char *name = args->n_operands > 1 ? args->operands[1] : NULL;
    if (!cli_has(args, "output")) return cli_usage_error(args->command, "-o says where the result goes");
    cli_set_insecure(cli_has(args, "insecure"));
    cli_model model;
    pel_error error;
    pel_ctx *ctx = cli_open_for_models(args);
    if (!ctx) return CLI_BAD_INPUT;
    int result;
    const char *map = name ? NULL : cli_value(args, "map");
    cli_input read = { 0 };
    if (map && cli_has(args, "for-source")) {
        result = cli_usage_error(args->command, "--map and --for-source each say which tensors are written");
    } else if (map && !cli_read(map, PEL_TREE_MAX, &read, &error)) {
        result = cli_report(ctx, &(cli_input){ .name = map }, &error, false);
    } else if (cli_open_model(args->operands[0], &model, &error)) {
        result = make_file(args, name, &model, read.bytes, ctx);
        cli_close_model(&model);
    } else {
        result = cli_report(ctx, &model.input, &error, false);
    }
    cli_release(&read);
    pellucid_close(ctx);
    return result;
}

static const cli_option convert_options[] = {
    { 'o', "output", "FILE", "where the safetensors file goes", NULL },
    { 0, "prefix", "TEXT", "only the tensors whose names begin so, as 'model.', without it", NULL },
    { 0, "constants", NULL, "what no state dict has, too: buffers that are not persistent, constants", NULL },
    { 0, "for-source", NULL,
      "the tensors that the source which `skeleton FILE` writes has: its names, orders and shapes", NULL },
    { 0, "map", "FILE", "the tensors of another layout, by a map that `align --json` wrote", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_convert = {
    .name = "convert",
    .operands = "FILE",
    .summary = "write the tensors of a model file as safetensors",
    .about = "Writes every tensor of a model file's state dict into a safetensors file, bit by bit,\n"
             "without executing anything. Views become what they show; tensors that share their bytes\n"
             "are written for each name. Nothing is written if there is a tensor that safetensors can't\n"
             "hold, such as a quantised one.",
    .example = "$ pellucid convert checkpoint.pt -o model.safetensors --prefix model.",
    .options = convert_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

static const cli_option extract_options[] = {
    { 'o', "output", "FILE", "where the .npy file goes", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_extract = {
    .name = "extract",
    .operands = "FILE NAME",
    .summary = "write one tensor of a model file as .npy",
    .about = "Writes the tensor of that full name, as `pellucid tree --json` lists it under \"state\", into\n"
             "a file that numpy reads. bfloat16 comes as two raw bytes per element.",
    .example = "$ pellucid extract model.safetensors layer1.0.conv1.weight -o conv1.npy",
    .options = extract_options,
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
