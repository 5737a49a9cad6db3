/* AST -> code: what the three files of the compiler share. */
#ifndef PEL_INTERP_COMPILE_H
#define PEL_INTERP_COMPILE_H

#include "interp/code/ops.h"
#include "interp/code/scope.h"

typedef uint32_t pel_label; /* index into unit->labels; jumps hold labels until the unit is finished */

typedef enum pel_block_kind {
    PEL_BLOCK_WHILE,
    PEL_BLOCK_FOR,        /* the iterator is on the stack */
    PEL_BLOCK_TRY,        /* a handler is set */
    PEL_BLOCK_FINALLY,    /* a handler is set, and final has to run on the way out */
    PEL_BLOCK_FINAL_BODY, /* inside the handler of a finally: [handled before, exception] on the stack */
    PEL_BLOCK_HANDLER,    /* [handled before] on the stack */
    PEL_BLOCK_NAMED,      /* a handler is set that forgets name */
    PEL_BLOCK_WITH,       /* [exit, NULL] on the stack, a handler is set */
} pel_block_kind;

typedef struct pel_fblock {
    pel_block_kind kind;
    pel_label start, end; /* loops */
    pel_nodes final;
    pel_name name;
    bool is_async;
} pel_fblock;

typedef struct pel_unit {
    struct pel_unit *outer;
    pel_scope *scope;
    pel_codeobj *code;
    PEL_VEC(pel_vm_insn) insns;
    PEL_VEC(uint32_t) lines;
    PEL_VEC(const pel_node *) nodes;
    const pel_node *node; /* what is being compiled */
    PEL_VEC(pel_val) consts;
    PEL_VEC(pel_val) names;
    pel_map name_index;
    PEL_VEC(pel_val) locals;
    pel_map local_index; /* pel_name -> number */
    PEL_VEC(pel_val) cells;
    pel_map cell_index;
    PEL_VEC(uint32_t) labels; /* where each stands; UINT32_MAX: not yet */
    PEL_VEC(pel_fblock) blocks;
    PEL_VEC(pel_statement) statements;
    uint32_t value;  /* of the statement that is compiled: pel_statement has the meaning */
    pel_label other; /* the same, as a label; UINT32_MAX: none */
    pel_str qualname;
    uint32_t line, n_temps, open_handlers;
} pel_unit;

typedef struct pel_compiler {
    pel_vm *vm;
    pel_ctx *ctx;
    pel_scopes scopes;
    pel_module_source *source;
    pel_unit *unit;
    bool is_stub, future_annotations;
    uint32_t depth;
} pel_compiler;

/* ---- emitting (compile.c) ---- */
void pel_emit(pel_compiler *c, pel_vm_op op, uint32_t b);
void pel_emit_ab(pel_compiler *c, pel_vm_op op, uint32_t a, uint32_t b);
pel_label pel_new_label(pel_compiler *c);
void pel_place(pel_compiler *c, pel_label label);
uint32_t pel_add_const(pel_compiler *c, pel_val value);
uint32_t pel_add_name(pel_compiler *c, pel_name name);
pel_val pel_const_val(pel_compiler *c, const pel_const *value);
void pel_emit_const(pel_compiler *c, pel_val value);
void pel_emit_name(pel_compiler *c, pel_name name, pel_CTX use);
void pel_enter(pel_compiler *c);
void pel_leave(pel_compiler *c);
pel_unit *pel_open_unit(pel_compiler *c, const pel_node *scope_of, pel_str name, uint32_t line);
pel_codeobj *pel_close_unit(pel_compiler *c);
void pel_emit_function(pel_compiler *c, pel_codeobj *code, uint32_t flags);
pel_name pel_new_temp(pel_compiler *c);

/* ---- expressions (compile_expr.c) ---- */
void pel_compile_expr(pel_compiler *c, pel_node *node);
void pel_compile_jump_if(pel_compiler *c, pel_node *test, bool when, pel_label target);
void pel_compile_while_test(pel_compiler *c, pel_node *test, pel_label done);
/* Loading, storing or deleting, by op. */
void pel_compile_attribute(pel_compiler *c, pel_node *node, pel_vm_op op);
void pel_compile_subscript(pel_compiler *c, pel_node *node, pel_vm_op op);
void pel_compile_store(pel_compiler *c, pel_node *target); /* the value is on the stack */
/* The next item of the iterator on the stack, or on to done: an asynchronous one says so by an exception, whose handler
 * pel_compile_no_next places where the loop is over. */
pel_label pel_compile_next(pel_compiler *c, bool is_async, pel_label done);
void pel_compile_no_next(pel_compiler *c, bool is_async, pel_label handler, pel_label done);
void pel_compile_args(pel_compiler *c, pel_nodes args, pel_nodes keywords);
uint32_t pel_compile_defaults(pel_compiler *c, const pel_node *args);
void pel_declare_params(pel_compiler *c, const pel_node *args);
void pel_compile_text_of(pel_compiler *c, pel_node *node); /* an annotation as a string */

/* ---- statements (compile_stmt.c) ---- */
void pel_compile_body(pel_compiler *c, pel_nodes body);
/* The value of the statement that is compiled is on the stack now. */
void pel_mark_value(pel_compiler *c);
void pel_compile_match(pel_compiler *c, pel_node *node); /* compile_match.c */

#endif
