/* The decompiler's walk over canonical instructions: shared by the files that make statements of it.
 *
 *   lift.c       one instruction, on a stack of expressions
 *   cond.c       conditional jumps -> and, or, not, if-else expressions, tests
 *   region.c     a range of instructions -> statements: if, while, for
 *   guard.c      try and with
 *   match.c      match
 *   format.c     fields of f-strings and t-strings
 *   place.c      a definition that was moved -> where it stood
 *   generic.c    type parameters
 *   function.c   a code object -> def, lambda, class, comprehension, module
 *
 * The walk goes once through the layout from left to right. A range is read as statements by a function that knows
 * where the range ends, which label means "fall out at the end" and which loop is open; it keeps no other state than
 * the stack of expressions. What is uncertain is read on trial: a trial makes no statements and its stack is a copy. */
#ifndef PEL_DECOMPILE_LIFT_H
#define PEL_DECOMPILE_LIFT_H

#include "bytecode/normalise.h"
#include "decompile/decompile.h"

typedef enum item_kind {
    IT_EXPR,   /* an expression; def, class and comprehension nodes too, until they are stored or called */
    IT_NULL,   /* no self for a call */
    IT_ITER,   /* of an open loop */
    IT_ITEM,   /* what the loop gave: its target is stored next */
    IT_EXIT,   /* of an open `with` */
    IT_ENTER,  /* what entering it gave */
    IT_EXC,    /* of exception handling */
    IT_SLOT,   /* one part of an unpacked value */
    IT_IMPORT, /* a module in the making of an import statement */
    IT_AUG,    /* what an in-place operator gave */
    IT_SAVED,  /* a variable saved by a comprehension */
    IT_SUBJECT,
    IT_NOTES,  /* a function that computes annotations */
    IT_SILENT, /* to be popped without a trace */
} item_kind;

/* Targets of `a = b = value`, last first. */
typedef struct pel_targets {
    pel_node *node;
    struct pel_targets *before;
} pel_targets;

typedef struct item {
    uint8_t kind; /* enum item_kind */
    bool dup;     /* the one below is the same value, still to be used */
    bool chain;   /* node is a comparison whose right side goes on */
    bool awaited; /* node is an asynchronous comprehension, and its await was seen */
    uint32_t at;  /* the instruction that pushed it */
    pel_node *node;
    pel_targets *targets; /* EXPR: stored there already */
    struct pack *pack;    /* SLOT, IMPORT */
    uint32_t slot;
    const pel_late_notes *notes; /* NOTES */
} item;

/* What an UNPACK or an import collects until it is complete. */
typedef struct pack {
    item source;
    pel_node **elts;
    uint32_t n, filled;
    uint32_t star; /* index of the starred target, or PEL_NONE */
    uint32_t at;
    /* import */
    pel_name module;
    int level;
    const pel_const *from;
    pel_nodes aliases;
    pel_name attribute; /* import a.b as c: the last IMPORT_FROM */
    bool is_lazy;
} pack;

typedef struct stack {
    item *at;
    uint32_t n, cap;
    uint32_t low; /* how deep it was popped since somebody set this */
} stack;

typedef struct loop {
    struct loop *outer;
    uint32_t head;      /* `continue` goes there */
    uint32_t again;     /* another label that means the same, or PEL_NONE */
    uint32_t from, end; /* instructions of the loop; a jump to anywhere else leaves it */
    uint32_t broke_to;  /* where `break` went, or PEL_NONE */
    pel_node *target;   /* of `for` */
    uint32_t n_breaks;
    bool is_comp;
    bool leaves_outer; /* its `break` leaves the loop around it, too: another `break` follows the statement */
} loop;

typedef struct region {
    struct region *outer;
    uint32_t from; /* its first instruction */
    uint32_t end;  /* the first instruction that is not of it */
    uint32_t fall; /* resolved: where control goes at its end */
    loop *loop;
    uint32_t base;    /* depth of the stack between its statements */
    item *base_items; /* and what is on it */
    bool open_ended;  /* ends where the code does */
    bool is_handler;  /* POP_EXC ends it */
    bool done;
    uint32_t exit;    /* is_handler: where POP_EXC led */
    uint32_t left_to; /* a statement at its end goes on there, outside of what covers the region; or 0 */
    pel_nodes out;
    uint32_t start;                            /* of the statement in the making */
    pel_nodes pending_targets, pending_values; /* a, b = x, y in the making */
    uint32_t *pending_at;
} region;

typedef struct pel_lift {
    pel_ctx *ctx;
    pel_decompiled *result;
    const pel_canon *c;
    const pel_code_object *code;
    struct pel_lift *outer;
    pel_name class_name; /* of the innermost class, for private names; NULL outside classes */
    bool *open;          /* by guard: its statement is being read */
    bool *head_open;     /* by instruction: its loop is being read */
    uint32_t copy_at, copy_of,
        copy_end;         /* instructions that are read as a jump to their copy; copy_at may be PEL_NONE */
    bool *unseen;         /* by instruction: a store that no statement shows */
    uint32_t *back;       /* by instruction: the last jump that comes back to it, or PEL_NONE */
    uint32_t *back_cover; /* the innermost handler that covers all jumps that come back to it, or PEL_NONE */
    bool *only_handlers;  /* all jumps that come back to it are in handlers */
    int trial;
    bool broken; /* a trial went wrong */
    uint32_t steps;
    int depth;
    region *region; /* the one that statements go to */
    bool is_comp;
    bool plainly;      /* reads without the hints that the compiler left */
    bool repeats_ends; /* writes the end of a path again where a jump to it fits no statement */
    bool nests_loops;  /* takes a jump back in the middle of a loop for the end of another one that begins with it */
    bool is_states;    /* the code is written as states: states.c */
    bool is_notes;     /* the code computes annotations */
    pel_late_notes *notes; /* annotations of this class or module */
    bool is_lazy;          /* the code only returns an expression of the code around it */
    pel_nodes type_params;
    PEL_VEC(pel_name) declared; /* global or nonlocal */
    pel_map *places; /* PEL_KEY(code) -> pel_const *: qualified name of something in it, where the code says it */
    pel_map *bodies; /* PEL_KEY(code) -> its statements, read once however often the code is tried */
} pel_lift;

_Noreturn void pel_lift_fail(pel_lift *l, uint32_t at, const char *what);
void pel_lift_enter(pel_lift *l, uint32_t at); /* counts depth; pel_lift_leave takes it back */
void pel_lift_tick(pel_lift *l, uint32_t at);
static inline void pel_lift_leave(pel_lift *l) { l->depth--; }

/* ---- lift.c ---- */
stack pel_stack_copy(pel_lift *l, const stack *s, uint32_t n);
void pel_stack_push(pel_lift *l, stack *s, item it);
item pel_stack_pop(pel_lift *l, stack *s, uint32_t at);
void pel_push_expr(pel_lift *l, stack *s, uint32_t at, pel_node *node);
pel_node *pel_pop_expr(pel_lift *l, stack *s, uint32_t at);
pel_node *pel_item_expr(pel_lift *l, item it, uint32_t at); /* the expression that an item stands for */
void pel_lift_emit(pel_lift *l, pel_node *stmt);            /* a statement, in the region */
void pel_declare(pel_lift *l, uint32_t at);                 /* a store: `global` or `nonlocal` may be needed */
void pel_lift_store(pel_lift *l, stack *s, item it, pel_node *target, uint32_t at);

/* One instruction that is no jump. Returns false, on trial only, if it would make a statement. */
bool pel_step(pel_lift *l, stack *s, uint32_t at);
pel_node *pel_make(pel_lift *l, pel_kind kind, uint32_t at);
pel_node *pel_const_node(pel_lift *l, const pel_const *value, uint32_t at);
pel_name pel_unmangle(pel_lift *l, pel_name name);
uint32_t pel_resolve(const pel_lift *l, uint32_t label);

/* ---- cond.c ---- */
typedef struct cnode cnode; /* a jump that tests something */

typedef struct test {
    pel_node *expr, *negation;
    bool folds, negation_folds; /* has a `not` that the compiler would fold into a comparison */
    bool is_negated;            /* the negation is the simpler one */
    uint32_t next;              /* true goes on here: just after the last jump */
    uint32_t otherwise;         /* false goes there */
    cnode *nodes;               /* all that could belong to it, in layout order */
    uint32_t n_nodes, used;
} test;

/* At a conditional jump. Either it begins a value: then the value is pushed, *next is where to go on, and it returns
 * true. Or it is a test: *out is filled with the longest that can be made. */
bool pel_read_cond(pel_lift *l, stack *s, uint32_t at, uint32_t limit, test *out, uint32_t *next);
/* The same test made of its first n jumps only; false if they don't make one. */
bool pel_shorter_test(pel_lift *l, test *t, uint32_t n);
/* Where the i-th jump of a test and its expression begin (for the first: only the jump). */
uint32_t pel_test_start(const test *t, uint32_t i);
uint32_t pel_test_jump(const test *t, uint32_t i);
pel_node *pel_negate(pel_lift *l, pel_node *expr);
bool pel_opens_guard(const pel_lift *l, uint32_t at);

/* ---- region.c ---- */
uint32_t pel_read_range(pel_lift *l, region *r, stack *s, uint32_t at);
uint32_t pel_read_for(pel_lift *l, region *r, stack *s, uint32_t at);
/* The statements of a range whose end leads to fall. The stack of the caller stays as it is. */
pel_nodes pel_read_body(pel_lift *l, region *r, const stack *s, uint32_t from, uint32_t end, uint32_t fall);
/* Whether what is at `at`, in a body that begins at `from`, is the end of that body and no statement: those have
 * lines of their own, but for one that is all of the body. */
bool pel_is_unwritten(const pel_lift *l, uint32_t from, uint32_t at);
/* A place after `otherwise` that something in [from, otherwise) jumps to, so that an else lies between; or PEL_NONE.
 */
uint32_t pel_else_end(pel_lift *l, const region *r, uint32_t from, uint32_t otherwise);
/* The test that is at a place, if expressions lead to one. */
bool pel_first_test(pel_lift *l, const stack *s, uint32_t at, uint32_t limit, test *t);
bool pel_same_run(const pel_lift *l, uint32_t a, uint32_t b); /* the same instructions up to the end of the path */
bool pel_is_end(const pel_lift *l, uint32_t at); /* a few instructions in a row that end in `return` or `raise` */
void pel_region_begin(pel_lift *l, region *r, const stack *s);

/* A comprehension whose loop is here: pushes it and returns where to go on, or PEL_NONE if it is none. */
uint32_t pel_read_inline_comp(pel_lift *l, stack *s, uint32_t at);

/* ---- guard.c ---- */
uint32_t pel_read_try(pel_lift *l, region *r, stack *s, uint32_t at, uint32_t guard);
uint32_t pel_read_with(pel_lift *l, region *r, stack *s, uint32_t at);
/* Statements from a place on to the end of its path, appended to a list. */
void pel_read_tail(pel_lift *l, region *r, const stack *s, uint32_t at, pel_nodes *out);

/* ---- match.c ---- */
bool pel_begins_match(const pel_lift *l, uint32_t at);
/* The subject is on top of the stack. Returns where to go on, or PEL_NONE, nothing changed, if no pattern is here.
 */
uint32_t pel_read_match(pel_lift *l, region *r, stack *s, uint32_t at);

/* ---- format.c ---- */
void pel_format_field(pel_lift *l, stack *s, uint32_t at);
void pel_template_field(pel_lift *l, stack *s, uint32_t at);
void pel_template(pel_lift *l, stack *s, uint32_t at);
/* Fields of t-strings get the tree of their text. Throws PEL_E_INCOMPLETE where that is another expression. */
void pel_reread_templates(pel_lift *l, pel_nodes *body);

/* ---- generic.c ---- */
bool pel_is_generic(const pel_code_object *code);
bool pel_is_lazy(const pel_lift *l, uint32_t at);
void pel_intrinsic(pel_lift *l, stack *s, uint32_t at);
bool pel_store_hidden(pel_lift *l, const item *it, const pel_node *target, uint32_t at);
void pel_finish_generic_class(pel_lift *l, pel_node *def);
void pel_forget_marks(pel_node *node);

/* ---- notes.c ---- */
bool pel_is_annotate(const pel_code_object *code);
pel_late_notes *pel_notes_of(pel_lift *l, pel_nodes body); /* of the statements of such code */
void pel_annotate_later(pel_lift *l, pel_node *def, const pel_late_notes *notes);
void pel_annotate_functions(pel_decompiled *result);
/* Those of a module or class: where a statement adds their number; the others, in their order. */
void pel_place_numbered(pel_lift *l, pel_nodes *body);
void pel_place_notes(pel_lift *l, pel_nodes *body);

/* ---- future.c ---- */
void pel_reread_annotations(pel_ctx *ctx, pel_decompiled *result, const pel_code_object *code);

/* ---- function.c ---- */
/* The annotations that code computes; NULL if it is another function of that name. */
pel_late_notes *pel_read_notes(pel_lift *l, const pel_code_object *code);
/* What code returns that does nothing else. */
pel_node *pel_read_lazy(pel_lift *l, const pel_code_object *code, uint32_t at);
/* def, lambda, class or comprehension for a code object; without defaults, decorators and first iterable. */
pel_node *pel_read_function(pel_lift *l, const pel_code_object *code, uint32_t at);
/* Whether a comprehension is a coroutine of its own: the code that makes it awaits it, and no source says so. */
bool pel_is_async_comp(const pel_lift *l, const pel_node *node);
/* for -> comprehension of the display's kind. NULL if the loop does something else. */
pel_node *pel_comp_of(pel_lift *l, pel_kind kind, pel_node *loop_stmt, uint32_t at);

/* ---- check.c ---- */
/* Throws PEL_E_INCOMPLETE if the statements would not do what the instructions do. */
void pel_check_tree(pel_lift *l, pel_nodes list);

/* ---- place.c ---- */
/* Definitions of a module whose parts say that they stood elsewhere. */
void pel_put_in_place(pel_lift *l, pel_nodes *body);

/* ---- tidy.c ---- */
pel_node *pel_read_root(pel_ctx *ctx, pel_decompiled *result, const pel_code_object *code);
void pel_decompile_tidy(pel_lift *l, pel_nodes *body);

#endif
