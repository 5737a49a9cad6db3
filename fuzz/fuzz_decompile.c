/* The whole way from marshalled bytes to source. The first byte picks the version of Python; where the code is of a
 * kind that decompiles, the source must be valid Python of that version: what is not understood has to be said, not
 * printed. The normalised instructions are printed, too.
 *
 * Bytes that a fuzzer changed seldom unmarshal, so a mutator of our own changes instructions and tables in place. */
#include <pellucid.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    int python = PEL_PYTHON_MIN + data[0] % (PEL_PYTHON_MAX - PEL_PYTHON_MIN + 1);
    pel_decompile_options options = { .python = python };
    pel_text bytes = { (const char *)data + 1, size - 1 }, source, out;
    unsigned incomplete;
    pel_error error;
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = (size_t)1 << 30 });
    if (pellucid_decompile(ctx, bytes, &options, &source, &incomplete, &error)) {
        pel_ast_options check = { .python = python, .format = PEL_AST_CHECK };
        if (!pellucid_ast(ctx, source, &check, &out, &error) && error.code == PEL_E_SYNTAX) {
            fprintf(stderr, "line %u: %s\n%.*s\n", error.line, error.message, (int)source.len, source.ptr);
            abort();
        }
        options.as_json = true;
        pellucid_decompile(ctx, bytes, &options, &out, &incomplete, &error);
    }
    pellucid_dis(ctx, bytes, &(pel_dis_options){ .python = python, .normalised = true }, &out, &error);
    pellucid_close(ctx);
    return 0;
}

/* ---- a mutator that knows where the instructions are ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The next byte string of marshal ('s', four bytes of length) at or after `from` that fits; 0 if there is none. */
static size_t next_string(const uint8_t *data, size_t size, size_t from, size_t *len) {
    for (size_t at = from; at + 5 < size; at++) {
        if ((data[at] & 0x7f) != 's') continue;
        *len = (size_t)data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16;
        if (!data[at + 4] && *len >= 2 && *len <= size - at - 5) return at + 5;
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    srand(seed);
    if (rand() % 4 == 0 && LLVMFuzzerMutate) return LLVMFuzzerMutate(data, size, max_size);
    size_t strings[256], lengths[256], n = 0, len;
    for (size_t at = 1; n < 256 && (at = next_string(data, size, at, &len)); at += len) {
        strings[n] = at;
        lengths[n++] = len;
    }
    if (!n) return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max_size) : size;
    size_t pick = (size_t)rand() % n;
    uint8_t *code = data + strings[pick];
    len = lengths[pick];
    for (int turns = 1 + rand() % 4; turns > 0; turns--) {
        size_t unit = (size_t)rand() % (len / 2) * 2;
        size_t other = (size_t)rand() % (len / 2) * 2;
        switch (rand() % 4) {
        case 0: code[unit + 1] = (uint8_t)(code[unit + 1] + rand() % 9 - 4); break; /* another argument */
        case 1: code[unit] = code[other]; break;                                    /* another instruction */
        case 2: memcpy(code + unit, code + other, 2); break;                        /* a copy */
        default: code[unit + (size_t)rand() % 2] = (uint8_t)rand(); break;
        }
    }
    return size;
}
