/* Unpacks every packed stream of a file of many and writes what they give, for tests/python/test_unpack.py:
 * unpack_run FILE, where each stream stands behind its length (8 bytes, little-endian). Out comes, for each, whether it
 * is whole (1 byte), the length and the content. */
#include "io/bytes.h"
#include "io/unpack.h"

#include <stdio.h>
#include <stdlib.h>

#define LIMIT ((uint64_t)64 << 20)

int main(int argc, char **argv) {
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!in) return 2;
    char length[8];
    pel_ctx *ctx = pel_ctx_new(0);
    while (fread(length, 1, sizeof length, in) == sizeof length) {
        size_t size = (size_t)pel_le64(length); /* of a file that the test has written */
        char *packed = malloc(size ? size : 1); /* its own: a sanitizer sees a read past its end */
        if (!packed || fread(packed, 1, size, in) != size) return 2;
        uint64_t end;
        bool failed;
        pel_err why;
        pel_str made = pel_unpack(ctx, (pel_str){ packed, size }, LIMIT, &end, &failed, &why);
        for (unsigned i = 0; i < 8; i++) length[i] = (char)((uint64_t)made.len >> 8 * i & 255);
        putchar(!failed);
        fwrite(length, 1, sizeof length, stdout);
        fwrite(made.ptr, 1, made.len, stdout);
        pel_ctx_reset(ctx);
        free(packed);
    }
    pel_ctx_free(ctx);
    fclose(in);
    return 0;
}
