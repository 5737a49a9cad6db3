/* FlatBuffers: tables whose fields are found through a table of offsets. Every access is checked. */
#ifndef PEL_IO_FLATBUFFER_H
#define PEL_IO_FLATBUFFER_H

#include "base/ctx.h"

typedef struct pel_flat {
    pel_ctx *ctx;
    pel_str bytes;
    uint64_t at; /* of the table; 0: there is none, its fields have their defaults */
} pel_flat;

typedef struct pel_flat_list {
    uint64_t at; /* of the first element */
    uint32_t n;
} pel_flat_list;

pel_flat pel_flat_root(pel_ctx *ctx, pel_str bytes);
/* A number of 1, 2, 4 or 8 bytes, its bits as they are; fallback if the field is absent. */
uint64_t pel_flat_number(const pel_flat *table, unsigned field, unsigned size, uint64_t fallback);
pel_str pel_flat_text(const pel_flat *table, unsigned field);
/* A list whose elements take `size` bytes each: lies within the bytes as a whole. */
pel_flat_list pel_flat_items(const pel_flat *table, unsigned field, unsigned size);
/* The table that element i of a list of offsets leads to. */
pel_flat pel_flat_item(const pel_flat *table, pel_flat_list list, uint32_t i);

#endif
