/* Who reads a name, and who binds it: the one answer that every rewrite asks.
 *
 * Functions in the making keep the arguments of their calls with the links (synth.h), so their texts are asked together
 * with s. The trees of the program (program.h) are whole: there s is NULL.
 *
 * Nothing is kept between two questions. A rewrite that has changed a text asks again, and no answer is left over that
 * was true before. */
#ifndef PEL_TRACE_DEPENDS_USES_H
#define PEL_TRACE_DEPENDS_USES_H

#include "trace/synth.h"

typedef enum pel_use_kind {
    PEL_USE_READS,    /* also `x += 1`, which binds as well */
    PEL_USE_BINDS,    /* an assignment, a loop, a definition, a handler, a pattern, an import; also `del` */
    PEL_USE_DECLARES, /* global, nonlocal: others bind it, too */
} pel_use_kind;

/* The scopes that a use lies in, beside the function whose text is asked. */
enum {
    PEL_WITHIN_FUNCTION = 1,      /* or a lambda, or a class: may run later, or never */
    PEL_WITHIN_GENERATOR = 2,     /* runs when it is asked for its items */
    PEL_WITHIN_COMPREHENSION = 4, /* runs at once */
};

typedef struct pel_name_use {
    pel_use_kind kind;
    pel_name name;
    pel_node **slot; /* a Name that a rewrite may replace; for uses that are no Name: the node that uses it */
    pel_node **part; /* name[...] or name.field that is read, around the name; else NULL */
    uint8_t within;
} pel_name_use;
typedef void pel_see_use(void *arg, const pel_name_use *use);

/* All uses of names below a node. see may hang another node into slot, or into part. */
void pel_each_use(const pel_synth *s, pel_node **slot, pel_see_use *see, void *arg);
void pel_each_use_in(const pel_synth *s, pel_nodes body, pel_see_use *see, void *arg);

/* The children of a node as they will be written: of a linked call the arguments that are still passed. */
void pel_each_part(const pel_synth *s, pel_node *node, pel_visit *visit, void *arg);

typedef struct pel_uses { /* of one name */
    uint32_t reads, binds;
    bool captured; /* by a function inside, or declared: who reads and binds it is not seen in order */
    bool scoped;   /* the same, or used in a generator or a comprehension */
} pel_uses;

pel_uses pel_uses_in(const pel_synth *s, pel_nodes body, pel_name name);
pel_uses pel_uses_at(const pel_synth *s, const pel_node *node, pel_name name);
bool pel_is_used(pel_uses uses);

pel_nodes pel_nodes_from(pel_nodes body, uint32_t from);
pel_nodes pel_nodes_until(pel_nodes body, uint32_t end);

/* The parameter of that name, if it is still one; NULL: there is none. */
pel_param *pel_param_named(const pel_group *group, pel_name name);

/* A whole function, in the making or done. */
typedef struct pel_function_text {
    const pel_synth *s;     /* NULL: def is the function */
    const pel_group *group; /* NULL: def is the function */
    const pel_node *def;    /* FunctionDef */
} pel_function_text;
pel_function_text pel_group_text(const pel_synth *s, const pel_group *group);
pel_function_text pel_def_text(const pel_node *def);

pel_uses pel_uses_in_all(pel_function_text text, pel_name name);
/* Whether a name is bound once in all, counting what calls pass, and by no function inside. */
bool pel_is_bound_once(pel_function_text text, pel_name name);
/* Whether the name means something of the function's own: a parameter, or what it binds. */
bool pel_is_own_name(pel_function_text text, pel_name name);
bool pel_has_param(pel_function_text text, pel_name name);

typedef struct pel_renaming {
    pel_name from, to;
    bool reads_only; /* what binds the name keeps it */
} pel_renaming;
void pel_rename(pel_ctx *ctx, const pel_synth *s, pel_nodes body, pel_renaming renaming);

/* Hangs a value into every place below a node that reads the name. */
void pel_put_value(const pel_synth *s, pel_node *node, pel_name name, pel_node *value);

#endif
