#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is no file can't be mapped, and need not have an end. */
#define STREAM_MAX ((size_t)128 << 20)
/* Below this, reading is cheaper than mapping. */
#define WORTH_MAPPING (256 << 10)

__attribute__((format(printf, 3, 4))) static bool fail(pel_error *error, pel_code code, const char *format, ...) {
    *error = (pel_error){ .code = code, .line = 1, .column = 1 };
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return false;
}

static bool fail_too_big(pel_error *error, size_t limit) {
    return fail(error, PEL_E_TOO_BIG, "larger than the limit of %zu MiB", limit >> 20);
}

/* A mapped file that somebody cuts short while it is read gives SIGBUS: that is bad input, not a crash. */
static void on_change(int signal_number) {
    (void)signal_number;
    static const char message[] = "pellucid: the file changed while it was read\n";
    ssize_t ignored = write(2, message, sizeof message - 1);
    (void)ignored;
    _exit(CLI_BAD_INPUT);
}

/* Reads to the end, without believing anybody about the size. */
static bool read_all(int file, size_t expected, size_t limit, cli_input *input, pel_error *error) {
    size_t len = 0, cap = expected < limit ? expected + 1 : limit + 1;
    char *bytes = NULL;
    for (;;) {
        char *moved = realloc(bytes, cap);
        if (!moved) {
            free(bytes);
            return fail(error, PEL_E_MEMORY, "out of memory");
        }
        bytes = moved;
        while (len < cap) {
            ssize_t n = read(file, bytes + len, cap - len);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) {
                free(bytes);
                return fail(error, PEL_E_READ, "cannot be read: %s", strerror(errno));
            }
            if (n == 0) {
                input->bytes = (pel_text){ bytes, len };
                return true;
            }
            len += (size_t)n;
        }
        if (len > limit) {
            free(bytes);
            return fail_too_big(error, limit);
        }
        cap = cap > limit / 2 ? limit + 1 : cap * 2;
    }
}

static bool read_open(int file, size_t limit, cli_input *input, pel_error *error) {
    struct stat info;
    if (fstat(file, &info) != 0) return fail(error, PEL_E_READ, "cannot be read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode)) return fail(error, PEL_E_READ, "is a directory");
    if (!S_ISREG(info.st_mode)) return read_all(file, 64 << 10, limit < STREAM_MAX ? limit : STREAM_MAX, input, error);
    if ((uintmax_t)info.st_size > limit) return fail_too_big(error, limit);
    if (info.st_size >= WORTH_MAPPING) {
        void *at = pel_os_map(file, (size_t)info.st_size, on_change);
        if (at) {
            input->mapped = (size_t)info.st_size;
            input->bytes = (pel_text){ at, input->mapped };
            return true;
        }
    }
    return read_all(file, (size_t)info.st_size, limit, input, error);
}

bool cli_read(const char *path, size_t limit, cli_input *input, pel_error *error) {
    bool is_stdin = strcmp(path, "-") == 0;
    *input = (cli_input){ .name = is_stdin ? "<stdin>" : path };
    int file = is_stdin ? STDIN_FILENO : pel_os_open(path);
    if (file < 0) return fail(error, PEL_E_READ, "cannot be read: %s", strerror(errno));
    bool done = read_open(file, limit, input, error);
    if (!is_stdin) close(file);
    return done;
}

void cli_release(cli_input *input) {
    if (input->mapped)
        pel_os_unmap((void *)(uintptr_t)input->bytes.ptr, input->mapped);
    else
        free((void *)(uintptr_t)input->bytes.ptr);
    input->bytes = (pel_text){ NULL, 0 };
}

int cli_each_operand(const cli_args *args, cli_each *one, const void *job) {
    pel_ctx *ctx = pellucid_open(NULL);
    if (!ctx) {
        fputs("pellucid: out of memory\n", stderr);
        return CLI_BAD_INPUT;
    }
    int result = CLI_FINE;
    for (size_t i = 0; i < args->n_operands; i++) {
        result = cli_worse(result, one(job, ctx, args->operands[i]));
        pellucid_reset(ctx);
    }
    pellucid_close(ctx);
    return result;
}
