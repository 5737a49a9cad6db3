/* MessagePack, value by value; nothing of it is executed, and nothing is built. */
#ifndef PEL_IO_MSGPACK_H
#define PEL_IO_MSGPACK_H

#include "base/ctx.h"

typedef enum pel_msgpack_kind {
    PEL_MSGPACK_NIL,
    PEL_MSGPACK_BOOL,
    PEL_MSGPACK_INT,
    PEL_MSGPACK_REAL,
    PEL_MSGPACK_TEXT,
    PEL_MSGPACK_BYTES,
    PEL_MSGPACK_ARRAY, /* n values follow */
    PEL_MSGPACK_MAP,   /* n keys and values follow */
    PEL_MSGPACK_EXT,   /* bytes of somebody's type */
} pel_msgpack_kind;

typedef struct pel_msgpack_value {
    pel_msgpack_kind kind;
    uint64_t at;
    uint64_t n;      /* ARRAY, MAP */
    int64_t integer; /* BOOL, INT; beyond 64 bits with a sign: the largest */
    double real;
    pel_str bytes; /* TEXT, BYTES, EXT */
    int type;      /* EXT */
} pel_msgpack_value;

typedef struct pel_msgpack {
    pel_str bytes;
    uint64_t at;
    uint64_t base; /* offset of bytes in the file */
} pel_msgpack;

/* Whether bytes begin with a map whose first key is a text, as files of Flax do. */
bool pel_is_msgpack(pel_str bytes);
/* The head of the next value: what an array or a map holds comes after it. Throws PEL_E_FORMAT. */
pel_msgpack_value pel_msgpack_next(pel_ctx *ctx, pel_msgpack *from);

#endif
