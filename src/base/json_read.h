/* JSON in: a tree in the arena, with the offset of every value for messages. */
#ifndef PEL_BASE_JSON_READ_H
#define PEL_BASE_JSON_READ_H

#include "base/ctx.h"

typedef enum pel_json_kind { PEL_J_NULL, PEL_J_BOOL, PEL_J_NUMBER, PEL_J_STR, PEL_J_ARRAY, PEL_J_OBJECT } pel_json_kind;

typedef struct pel_json_value pel_json_value;
struct pel_json_value {
    uint8_t kind; /* enum pel_json_kind */
    bool boolean;
    bool is_integer; /* NUMBER: integer holds it exactly */
    uint64_t at;
    union {
        int64_t integer;
        pel_str text; /* STR */
    };
    double number;
    PEL_VEC(pel_json_value *) items; /* ARRAY; OBJECT: key, value, key, value */
};

/* One value and nothing after it. Throws PEL_E_FORMAT or PEL_E_TOO_DEEP with the offset (base is added).
 * A key that an object has twice is refused: readers disagree about which counts. */
pel_json_value *pel_json_read(pel_ctx *ctx, pel_str text, uint64_t base);

/* The value of a key; NULL if the value is no object or has no such key. */
pel_json_value *pel_json_get(const pel_json_value *object, const char *key);
/* Text of a STR, or an empty slice. */
pel_str pel_json_text(const pel_json_value *value);

#endif
