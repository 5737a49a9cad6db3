/* Which variable a name means: decided once per scope, before code is made. */
#ifndef PEL_INTERP_SCOPE_H
#define PEL_INTERP_SCOPE_H

#include "interp/vm.h"

typedef enum pel_scope_kind {
    PEL_SCOPE_MODULE,
    PEL_SCOPE_CLASS,
    PEL_SCOPE_FUNCTION,
    PEL_SCOPE_COMPREHENSION,
    PEL_SCOPE_ANNOTATION
} pel_scope_kind;

/* clang-format off */
enum pel_scope_use {
    PEL_USE_BOUND = 1, PEL_USE_READ = 2, PEL_USE_GLOBAL = 4, PEL_USE_NONLOCAL = 8, PEL_USE_PARAM = 16,
    PEL_USE_CELL = 32, PEL_USE_FREE = 64, PEL_USE_LOOP = 128,
};
/* clang-format on */

typedef struct pel_scope_name {
    pel_name name;
    uint32_t uses;
} pel_scope_name;

typedef struct pel_scope {
    pel_scope_kind kind;
    struct pel_scope *parent;
    PEL_VEC(pel_scope_name) names; /* in the order of their appearance */
    pel_map index;
    PEL_VEC(struct pel_scope *) children;
    bool is_generator, is_coroutine, has_async;
    pel_name class_name; /* of the innermost class, for __private names */
} pel_scope;

typedef struct pel_scopes {
    pel_scope *module;
    pel_map of; /* node -> scope; annotations of a function hang at its arguments */
} pel_scopes;

void pel_find_scopes(pel_vm *vm, pel_node *root, pel_scopes *scopes);
uint32_t pel_scope_uses(const pel_scope *scope, pel_name name);
/* __name in a class becomes _Class__name. */
pel_name pel_mangle(pel_ctx *ctx, pel_name class_name, pel_name name);

#endif
