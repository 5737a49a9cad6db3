/* A JSON writer: commas and nesting are its business, the caller only says what comes. */
#ifndef PEL_BASE_JSON_H
#define PEL_BASE_JSON_H

#include "base/buf.h"

typedef struct pel_json {
    pel_buf *out;
    bool needs_comma;
} pel_json;

static inline pel_json pel_json_to(pel_buf *out) { return (pel_json){ .out = out }; }

void pel_json_object(pel_json *json); /* { */
void pel_json_end_object(pel_json *json);
void pel_json_array(pel_json *json); /* [ */
void pel_json_end_array(pel_json *json);
void pel_json_key(pel_json *json, const char *key);
void pel_json_key_str(pel_json *json, pel_str key);
void pel_json_str(pel_json *json, pel_str s); /* bytes that are no UTF-8 and lone surrogates become \u escapes */
void pel_json_c(pel_json *json, const char *text);
void pel_json_int(pel_json *json, int64_t value);
void pel_json_double(pel_json *json, double value);
void pel_json_bool(pel_json *json, bool value);
void pel_json_null(pel_json *json);

/* Whether all of it is well-formed UTF-8. */
bool pel_is_utf8(pel_str s);

#endif
