/* Decoded instructions -> one canonical instruction set in one canonical layout. Behind this pass nothing knows
 * which Python the code came from.
 *
 * The set: fused instructions are two again, calls have one protocol, every test-and-jump is one of six, an await is
 * one instruction, so are the calls that leave a `with` block.
 *
 * The layout goes one step beyond the one the newest compilers make: first the main path in source order, with nothing
 * of exception handling in it but the ranges (cover); then the handlers of what is there, in source order too; then
 * the handlers of what is in those, and so on. Clean-up code that the compiler adds around handlers is gone; where
 * it copied the body of a `finally` a single FINALLY instruction stands. Older compilers put handlers between, newer
 * ones put them all at the end: moving them out needs no guess, moving them in would. */
#ifndef PEL_BYTECODE_NORMALISE_H
#define PEL_BYTECODE_NORMALISE_H

#include "bytecode/decode.h"
#include "python/ast.h"

#define PEL_NONE UINT32_MAX

/* X(name, what it says: none, arg, name, value, jump) */
#define PEL_IOPS(X)                                                                                                    \
    X(NOP, none)                                                                                                       \
    X(PLACE, none) /* nothing: a way led here before the compiler saw that it leads nowhere */                         \
    X(POP, none)                                                                                                       \
    X(COPY, arg) /* push the arg-th from the top, from 1 */                                                            \
    X(SWAP, arg) /* exchange the top with the arg-th */                                                                \
    X(PUSH_NULL, none)                                                                                                 \
    X(CONST, value)                                                                                                    \
    X(LOAD, name) /* sub: enum pel_insn_scope; so for STORE and DELETE */                                              \
    X(STORE, name)                                                                                                     \
    X(DELETE, name)                                                                                                    \
    X(LOAD_CLEAR, name) /* an inlined comprehension saves a variable */                                                \
    X(CELL, name)       /* the cell itself */                                                                          \
    X(ATTR, name)                                                                                                      \
    X(METHOD, name) /* pushes two: what is called, and what it is bound to or NULL */                                  \
    X(SUPER, name)  /* super, class, self -> attribute; flag: both arguments were written */                           \
    X(STORE_ATTR, name)                                                                                                \
    X(DELETE_ATTR, name)                                                                                               \
    X(SUBSCR, none)                                                                                                    \
    X(STORE_SUBSCR, none)                                                                                              \
    X(DELETE_SUBSCR, none)                                                                                             \
    X(UNARY, arg)                                                                                                      \
    X(BINARY, arg) /* sub: enum pel_OPERATOR; flag: in place */                                                        \
    X(COMPARE, arg)                                                                                                    \
    X(CHAIN, arg) /* compare and keep the right side for the next comparison */                                        \
    X(BUILD, arg) /* sub: enum pel_display */                                                                          \
    X(BUILD_UNPACK, arg)                                                                                               \
    X(BUILD_CALL_UNPACK, arg) /* the same for arguments of a call */                                                   \
    X(BUILD_CONST_KEYS, arg)                                                                                           \
    X(EXTEND, arg)                                                                                                     \
    X(APPEND, arg)                                                                                                     \
    X(LIST_TO_TUPLE, none)                                                                                             \
    X(UNPACK, arg)                                                                                                     \
    X(UNPACK_EX, arg)                                                                                                  \
    X(CALL, arg)     /* value: tuple of keyword names or NULL; sub: slots below the arguments, 1 or 2 */               \
    X(CALL_EX, arg)  /* arg: 1 if keywords follow; sub: slots */                                                       \
    X(FUNCTION, arg) /* value: its qualified name, where the code says it; else NULL */                                \
    X(FUNCTION_PART, arg)                                                                                              \
    X(BUILD_CLASS, none)                                                                                               \
    X(IMPORT, name) /* flag: lazy */                                                                                   \
    X(IMPORT_FROM, name)                                                                                               \
    X(IMPORT_STAR, none)                                                                                               \
    X(GET_ITER, none) /* flag: asynchronous; so for FOR and WITH */                                                    \
    X(FOR, jump)      /* push the next item, or pop the iterator and jump */                                           \
    X(YIELD, none)                                                                                                     \
    X(YIELD_FROM, none)                                                                                                \
    X(AWAIT, none)                                                                                                     \
    X(RETURN, none) /* flag: a constant that has no instruction of its own */                                          \
    X(RAISE, arg)                                                                                                      \
    X(RERAISE, none)                                                                                                   \
    X(JUMP, jump) /* flag: surely a `continue`; sub 1: another one with the same target stands for it, too */          \
    X(PJF, jump)  /* pop, jump if false; true; None; not None */                                                       \
    X(PJT, jump)                                                                                                       \
    X(PJN, jump) /* arg 1, after a CHAIN: true jumps */                                                                \
    X(PJNN, jump)                                                                                                      \
    X(JFP, jump) /* jump if false, else pop */                                                                         \
    X(JTP, jump)                                                                                                       \
    X(WITH, none)      /* pushes two: the exit call, the value of entering */                                          \
    X(WITH_EXIT, none) /* pops the exit call */                                                                        \
    X(WITH_RAISED, none)                                                                                               \
    X(EXC, none)       /* a handler begins */                                                                          \
    X(EXC_MATCH, jump) /* pop a type, jump if the exception is none; sub 1: of a group */                              \
    X(POP_EXC, none)                                                                                                   \
    X(FINALLY, arg) /* run the body of handler arg */                                                                  \
    X(FORMAT, arg)                                                                                                     \
    X(CONVERT, arg)                                                                                                    \
    X(INTERPOLATION, arg) /* arg: as the instruction has it */                                                         \
    X(TEMPLATE, none)                                                                                                  \
    X(ASSERTION_ERROR, none)                                                                                           \
    X(LOCALS, none)                                                                                                    \
    X(SETUP_ANNOTATIONS, none)                                                                                         \
    X(PRINT, none)                                                                                                     \
    X(MATCH_CLASS, arg)                                                                                                \
    X(MATCH_MAPPING, none)                                                                                             \
    X(MATCH_SEQUENCE, none)                                                                                            \
    X(MATCH_KEYS, none)                                                                                                \
    X(GET_LEN, none)                                                                                                   \
    X(DICT_REST, arg)                                                                                                  \
    X(GROUP_RAISE, none)                                                                                               \
    X(INTRINSIC, arg)                                                                                                  \
    X(INTRINSIC2, arg)

typedef enum pel_iop {
#define X(name, says) PEL_I_##name,
    PEL_IOPS(X)
#undef X
        PEL_I_COUNT
} pel_iop;

/* Arguments of INTRINSIC: what is made of the value on top. */
enum { PEL_X_TYPEVAR = 7, PEL_X_PARAMSPEC, PEL_X_TYPEVARTUPLE, PEL_X_GENERIC, PEL_X_ALIAS };
/* Of INTRINSIC2: a name and its bound or constraints, a function and its type parameters, a parameter and its default
 */
enum { PEL_X2_BOUND = 2, PEL_X2_CONSTRAINTS, PEL_X2_FUNCTION, PEL_X2_DEFAULT };

/* sub of a test that jumps backwards: whether the jump that the compiler put after it is covered as the test is. Where
 * a statement says `continue`, it is; where a body ends at the end of the loop, it is not. A jump with a line of its
 * own was written, whatever covers it, and counts as covered. */
typedef enum pel_same_cover { PEL_COVER_UNKNOWN, PEL_COVER_SAME, PEL_COVER_OTHER } pel_same_cover;

typedef enum pel_insn_scope { PEL_FAST, PEL_DEREF, PEL_CLASS_DEREF, PEL_GLOBAL, PEL_NAME } pel_insn_scope;
typedef enum pel_display {
    PEL_D_TUPLE,
    PEL_D_LIST,
    PEL_D_SET,
    PEL_D_DICT,
    PEL_D_STRING,
    PEL_D_SLICE,
    PEL_D_MERGE
} pel_display;

typedef struct pel_ins {
    uint8_t op; /* enum pel_iop */
    uint8_t sub;
    bool flag;
    bool is_target;
    bool dead_jump; /* a jump to the very next instruction stood after it */
    bool own_line;  /* a JUMP back that begins a line: a `continue`; only where dead code is kept */
    bool to_jump;   /* a test that was led to a jump by another one, since jumps are led on by one step; only there */
    bool dead;      /* nothing reaches it; old compilers leave it behind, and it tells how the code was written */
    uint32_t arg;
    uint32_t target; /* index, or PEL_NONE */
    uint32_t offset; /* in the code object's bytes */
    uint32_t line;
    uint32_t cover;  /* index of the innermost handler, or PEL_NONE */
    uint32_t within; /* the handler whose code it is, PEL_NONE on the main path */
    uint32_t level;  /* 0 on the main path, 1 in its handlers, 2 in handlers of what is in those */
    uint32_t cold;   /* AWAIT, YIELD_FROM: offset of what the compiler adds for exceptions, or 0 */
    union {
        pel_name name;
        const pel_const *value;
    };
} pel_ins;

typedef enum pel_guard_kind { PEL_G_EXCEPT, PEL_G_GROUP, PEL_G_FINALLY, PEL_G_WITH } pel_guard_kind;

/* A handler that somebody wrote. */
typedef struct pel_guard {
    pel_guard_kind kind;
    uint32_t target;      /* index of its EXC */
    uint32_t outer;       /* the next handler around what it covers, or PEL_NONE */
    uint32_t first, last; /* first and last covered instruction of the main path or of the handler that holds it */
    uint32_t stood;       /* what the handler stood before, where the compiler put it between; or PEL_NONE */
    uint32_t offset;      /* of the handler in the code object's bytes */
    uint32_t exit;        /* WITH: where an exception that was swallowed goes on */
    bool leads_on;        /* WITH: the jump there is covered by what is around */
    uint32_t depth;       /* as laid: of the stack when the handler begins, below what is pushed for it */
    bool lasti;           /* as laid: a place for the offset of what raised is pushed, too */
} pel_guard;

typedef struct pel_canon {
    const pel_code_object *code;
    pel_ins *at;
    uint32_t n;
    uint32_t n_main; /* handlers begin here */
    pel_guard *guards;
    uint32_t n_guards;
    bool else_first;     /* the else part of a try stood before its handlers, and those before what follows */
    bool moves_cold;     /* what only exceptions lead to stood after all other, in the order it was written in */
    bool bares_jumps;    /* a jump that is led on to where its target jumps is covered by nothing any more */
    bool folds_super;    /* super().x is one instruction, unless the module says `super`, too */
    bool returns_consts; /* returning a constant is one instruction (RETURN's flag), but for an if-else expression */
    bool copies_exits;   /* a jump to a short end of the function becomes a copy of it */
    bool has_docstring;  /* the first constant */
    bool keeps_dead; /* the end of a statement's part is there even if nothing reaches it, but for after a `return` */
    bool asserts_by_name; /* a failing assertion loads AssertionError as any name */
    bool folds_formats;   /* "%s" % (a,) is compiled as an f-string */
    bool cleans_docs;     /* a docstring loses the indentation of its lines */
    bool tests_again;     /* `while` loops repeat their test at the end */
    bool tests_once;      /* not any more: their end jumps back to it */
    uint32_t *target_of;  /* how many jumps lead to each instruction; n + 1 of them */
} pel_canon;

/* Throws PEL_E_UNSUPPORTED for code of a Python whose layouts are not known here, though its instructions are. */
void pel_normalise_knows(pel_ctx *ctx, const pel_code_object *code);
/* plainly: without what nothing reaches and without a look at line numbers. Throws PEL_E_INCOMPLETE where exception
 * handling has a shape that no compiler makes. */
pel_canon *pel_normalise(pel_ctx *ctx, const pel_insns *insns, bool plainly);
/* The same instruction set in the layout that the code has, for readers that trust no layout: nothing is moved, nothing
 * is left out. cover names the entry of the exception table (guards[cover].target, depth, lasti), EXC_MATCH pushes its
 * answer, a `with` ends by a call. Throws PEL_E_INCOMPLETE where several instructions that count as one are entered in
 * their middle, and where blocks instead of a table say what is covered. */
pel_canon *pel_normalise_as_laid(pel_ctx *ctx, const pel_insns *insns);
void pel_canon_check(pel_ctx *ctx, const pel_canon *canon);
void pel_canon_dump(const pel_canon *canon, pel_buf *out);

static inline bool pel_is_cond(const pel_ins *ins) { return ins->op >= PEL_I_PJF && ins->op <= PEL_I_JTP; }
static inline bool pel_is_pop_jump(const pel_ins *ins) { return ins->op >= PEL_I_PJF && ins->op <= PEL_I_PJNN; }
/* Never goes on with the next instruction. */
static inline bool pel_ends(const pel_ins *ins) {
    return ins->op == PEL_I_JUMP || ins->op == PEL_I_RETURN || ins->op == PEL_I_RAISE || ins->op == PEL_I_RERAISE ||
           (ins->op == PEL_I_FINALLY && ins->flag);
}

#endif
