/* Shared by the normalise_*.c files and nobody else. */
#ifndef PEL_BYTECODE_NORMALISE_INTERNAL_H
#define PEL_BYTECODE_NORMALISE_INTERNAL_H

#include "bytecode/normalise.h"

typedef struct pel_norm {
    pel_ctx *ctx;
    const pel_insns *insns;
    PEL_VEC(pel_ins) ins;
    uint32_t *place;           /* decoded instruction -> first canonical one */
    uint32_t *group;           /* decoded instruction -> the first of those that became one with it */
    PEL_VEC(uint32_t) from;    /* canonical instruction -> decoded one */
    uint32_t *jumps_to;        /* filled by pel_norm_count_targets */
    const pel_const *kw_names; /* for the next call */
    struct pel_old *old;       /* NULL where exceptions have a table */
    bool fills_notes;          /* computes annotations, one statement each, on a dict that waits on the stack */
    bool made_dict;            /* that dict was met */
    bool plainly;              /* as in pel_normalise */
    bool splits_pairs;         /* what a `with` calls at its end took two places of the stack */
    bool forward_tests;        /* conditional jumps never go backwards */
    PEL_VEC(pel_guard) guards;
    uint32_t *cover_from, *cover_to; /* by guard: bounds of what it covers */
    uint8_t *reached;                /* 1: on the main path, 2: in a handler of it, 3: in a handler of that... */
    bool *behind_end;                /* in a handler, after its end */
    uint32_t *within_of;             /* by guard: in which handler stands what it covers */
} pel_norm;

bool pel_norm_keeps_dead(const pel_norm *n);     /* code that nothing reaches is left where it was */
bool pel_norm_returns_consts(const pel_norm *n); /* returning a constant is one instruction */
bool pel_norm_copies_exits(const pel_norm *n);   /* a jump to a short end of the function becomes a copy of it */
bool pel_norm_moves_cold(const pel_norm *n);     /* code that only exceptions lead to is after all other */
bool pel_norm_has_docstring(const pel_norm *n);  /* the first constant */
pel_ins *pel_norm_add(pel_norm *n, pel_iop op, const pel_insn *from); /* valid until the next one is added */
_Noreturn void pel_norm_fail(const pel_norm *n, uint32_t at, const char *what);
uint32_t pel_norm_next(const pel_norm *n, uint32_t i);
uint32_t pel_norm_prev(const pel_norm *n, uint32_t i);
uint32_t pel_norm_skip(const pel_norm *n, uint32_t i);
uint8_t pel_norm_op(const pel_norm *n, uint32_t i);
bool pel_norm_is_none(const pel_norm *n, uint32_t i);
void pel_norm_count_targets(pel_norm *n);
uint32_t pel_norm_resolve(const pel_norm *n, uint32_t i);
bool pel_norm_same_ins(const pel_ins *a, const pel_ins *b);
bool pel_norm_ends_statement(const pel_ins *ins); /* after this a statement may be over */
void pel_canon_finish(pel_canon *canon);
/* Leaves out the instructions that are gone; jumps to moved[i] instead of i, where moved is given. */
void pel_canon_compact(pel_ctx *ctx, pel_canon *canon, const bool *gone, const uint32_t *moved);

/* Drops what is out of reach and not marked as dead, and jumps to their neighbours. */
void pel_canon_sweep(pel_ctx *ctx, pel_canon *canon);

/* normalise.c: each decoded instruction by itself; few become one with their neighbours */
void pel_norm_translate_all(pel_norm *n);
/* normalise_halves.c: instructions for a stack on which iterators and `with` take one place each */
const pel_insns *pel_norm_halves(pel_ctx *ctx, const pel_insns *insns);
/* normalise_guards.c */
const pel_handler *pel_norm_handler_at(const pel_insns *insns, uint32_t i); /* NULL: not covered */
void pel_norm_guards(pel_norm *n);
pel_guard_kind pel_norm_guard_kind(const pel_norm *n, uint32_t exc);
uint32_t pel_norm_with_exit(const pel_norm *n, uint32_t exc);
/* Where what is thrown into an await or a `yield from` goes: an offset, 0 if it has no place of its own. */
uint32_t pel_norm_cleanup_of(const pel_norm *n, uint32_t i, uint32_t taken);
uint32_t pel_norm_anext_end(pel_norm *n, uint32_t i, uint32_t taken); /* where an `async for` ends: a decoded index */
/* normalise_old.c: block stacks, before there were exception tables */
void pel_norm_translate_old(pel_norm *n, const pel_insn *in);
void pel_norm_prepare_old(pel_norm *n);
uint32_t pel_norm_old_special(pel_norm *n, uint32_t i);
void pel_norm_old_handler(pel_norm *n, uint32_t i);
void pel_norm_blocks(pel_norm *n);
/* normalise_cold.c: the instructions of the main path, in the order in which they were written */
typedef PEL_VEC(uint32_t) pel_norm_path;
uint32_t pel_norm_first_handler(const pel_norm *n); /* what is after it was moved, if pel_norm_moves_cold */
pel_norm_path pel_norm_main_path(pel_norm *n);
/* normalise_dead.c: after what is reached is known */
void pel_norm_dead(pel_norm *n);
/* normalise_patterns.c */
void pel_norm_patterns(pel_norm *n);
/* normalise_finally.c */
void pel_norm_finally(pel_ctx *ctx, pel_canon *canon);
/* normalise_copies.c */
void pel_norm_copies(pel_ctx *ctx, pel_canon *canon);
void pel_norm_one_raise(pel_ctx *ctx, pel_canon *canon);
void pel_norm_thrown_values(pel_ctx *ctx, pel_canon *c);
/* normalise_exits.c */
void pel_norm_exits(pel_ctx *ctx, pel_canon *canon, bool plainly);

/* Whether two places are covered by the same entry of the exception table. */
pel_same_cover pel_norm_same_cover(const pel_norm *n, uint32_t a, uint32_t b);

#endif
