/* The wire format of protocol buffers: fields by number. What they mean is the loaders' business; no code is
 * generated from schemas, since model files need a few dozen fields of thousands. */
#ifndef PEL_IO_PROTOBUF_H
#define PEL_IO_PROTOBUF_H

#include "io/source.h"

typedef struct pel_proto {
    pel_str bytes;
    uint64_t base; /* offset of bytes in the file */
    uint64_t at;
} pel_proto;

typedef enum pel_wire { PEL_WIRE_NUMBER = 0, PEL_WIRE_64 = 1, PEL_WIRE_BYTES = 2, PEL_WIRE_32 = 5 } pel_wire;

typedef struct pel_proto_field {
    uint32_t number;
    pel_wire wire;
    uint64_t value; /* NUMBER, 32, 64 */
    pel_str bytes;  /* BYTES: text, or a message */
    uint64_t at;    /* offset of the content in the file */
} pel_proto_field;

/* The next field; false at the end. Throws PEL_E_FORMAT where the bytes are no fields. */
bool pel_proto_next(pel_ctx *ctx, pel_proto *message, pel_proto_field *field);
/* The message that a field of bytes holds. */
static inline pel_proto pel_proto_of(const pel_proto_field *field) {
    return (pel_proto){ .bytes = field->bytes, .base = field->at };
}
/* The numbers of a repeated field: one, or all of a packed one. Returns false when there is none left; *at starts at 0.
 */
bool pel_proto_packed(pel_ctx *ctx, const pel_proto_field *field, uint64_t *at, uint64_t *value);
/* The first field of that number in a message; false if there is none. */
bool pel_proto_find(pel_ctx *ctx, pel_proto message, uint32_t number, pel_proto_field *field);

/* The fields at the top of a message: which numbers below 32 occur with which wire types, as bit sets, and the highest
 * number of all. */
typedef struct pel_proto_top {
    uint32_t kinds[8];
    uint32_t highest;
} pel_proto_top;

/* Whether bytes are fields from start to end. Reads what is between the contents of the fields, not these. */
bool pel_proto_scan(pel_ctx *ctx, const pel_input *input, pel_proto_top *top);

#endif
