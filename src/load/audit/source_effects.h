/* What Python source does besides computing: by the names that it uses, wherever in it they stand. */
#ifndef PEL_LOAD_SOURCE_EFFECTS_H
#define PEL_LOAD_SOURCE_EFFECTS_H

#include "load/audit/source_names.h"
#include "python/parse.h"

typedef struct pel_source_effect {
    pel_effect effect;
    pel_str what;  /* "os.system", ".from_pretrained" */
    pel_str where; /* "Net.__init__"; empty: when the module is imported */
    pel_str why;   /* more about it, or empty */
    uint32_t line;
} pel_source_effect;

/* In the definition `in` (empty: the module's own statements) something of that name is mentioned. */
typedef struct pel_source_use {
    pel_str in;
    pel_name name;
} pel_source_use;

typedef struct pel_source_effects {
    PEL_VEC(pel_source_effect) rows;
    PEL_VEC(pel_source_use) uses; /* of the source's own functions and classes */
    PEL_VEC(pel_str) siblings;    /* modules that it imports of its own folder: "modeling_utils", "sub.part" */
} pel_source_effects;

/* Looks at the whole tree: functions too, since users of a model import, make and call it. Every use of a library's
 * name counts, whether it is called or not: a value that is called later must have been named somewhere. is_sibling
 * says whether a module of that name lies beside the source. */
/* The rows that importing the source and calling `name` may come to, by what its definitions mention of each other: a
 * mention counts as a call. */
void pel_source_reached(pel_ctx *ctx, const pel_source_effects *effects, pel_str name, pel_source_effects *out);
void pel_source_effects_of(pel_ctx *ctx, pel_node *tree, bool (*is_sibling)(void *arg, pel_str module), void *arg,
                           pel_source_effects *out);

#endif
