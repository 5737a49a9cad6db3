/* Straight lines: a function whose text can't be told from its runs (it takes strings apart, fills tables, calls what
 * has no name) still did something to tensors. Where all lanes did the same, the calls of torch and of modules that
 * were recorded below them are written instead, with sizes told by example. Needs a log with events. */
#ifndef PEL_TRACE_LINES_LINE_H
#define PEL_TRACE_LINES_LINE_H

#include "trace/depends/uses.h"
#include "trace/walk/walk.h"

typedef struct pel_straight_named { /* something that has a name, and what it is in each lane */
    pel_node *text;
    pel_id *values; /* tensors, modules or values, by the list it is in */
} pel_straight_named;
typedef PEL_VEC(pel_straight_named) pel_straight_names;

typedef struct pel_straight_size { /* a number that has a name */
    pel_node *text;
    int64_t *values;
    bool is_data; /* given by data or callers: what is that plus two in all runs need not be computed from it */
} pel_straight_size;

typedef struct pel_straight_known { /* what the line can name */
    pel_straight_names tensors;     /* the newest is the last: operations in place give what they got */
    pel_straight_names modules, objects, scalars;
    PEL_VEC(pel_straight_size) sizes;
    uint32_t n_given; /* sizes of what the function got: the first ones */
    bool is_open;     /* what is named now comes from callers or data */
    bool some_data;   /* such a thing differs, and is neither tensor nor module: numbers may be computed from it */
} pel_straight_known;

typedef struct pel_straight_reads { /* what was asked of tensors: lines/reads.c */
    pel_map sizes, types;           /* tensors */
    pel_map grads;                  /* tensor -> whether it wants gradients, as it was answered */
    pel_id grad_mode;               /* whether gradients were on around the line; 0: it does not switch that */
    bool some_size, tested_type, wrote_type;
    bool kinds;       /* of which type something is */
    bool computes;    /* numbers, from whatever it got */
    bool decides;     /* which way it went, or a number, may hang on how large a size is */
    pel_name other;   /* an attribute of which nothing is known */
    uint32_t n_given; /* tensors that the function got: the first ones */
} pel_straight_reads;

typedef struct pel_straight {
    pel_walk *w;
    pel_ctx *ctx;
    const pel_log *log;
    const pel_node *node; /* for messages */
    const char *now;      /* the function of torch's that is written */
    const pel_code_object *code;
    uint32_t n_lanes;
    const pel_id *above; /* per lane: the activation that is written */
    bool keeps_calls;    /* of modules: they stay calls */
    bool is_helper;      /* a function of its own, which no link can lead out of */
    pel_straight_known known;
    bool in_shape;          /* the sizes of one shape are written, */
    PEL_VEC(uint32_t) used; /* for which these have been used */
    uint32_t n_made;
    pel_map held_by; /* tensor of lane 0 -> name of the author's variable that held it */
    pel_map wishes;  /* name of a step -> the author's for what it gave */
    pel_nodes body;
    bool has_effect;
    pel_straight_reads reads;
} pel_straight;

static inline const pel_value *pel_straight_at(const pel_straight *x, pel_id id) { return pel_value_at(x->log, id); }
bool pel_straight_all(const pel_straight *x, const pel_id *values, pel_value_kind kind);
bool pel_straight_same(const pel_straight *x, const pel_id *values);
/* Whether all are sequences of one length, which is *n. */
bool pel_straight_sequences(const pel_straight *x, const pel_id *values, uint32_t *n);
pel_id *pel_straight_items(pel_straight *x, const pel_id *values, uint32_t item);

/* ---- lines/names.c: what can be named ---- */
/* What the call was given under a name: its tensors, modules and sizes, wherever they are in it. is_open: callers or
 * data may give something else. */
void pel_straight_give(pel_straight *x, pel_node *text, const pel_id *values, bool is_open);
void pel_straight_note(pel_straight *x, const pel_id *values); /* the same of what gets no name */
/* What a step of the line gave. */
void pel_straight_make(pel_straight *x, pel_node *text, const pel_id *values);
pel_node *pel_straight_tensor(pel_straight *x, const pel_id *values);       /* NULL if it has no name */
pel_node *pel_straight_module(pel_straight *x, const pel_id *modules);      /* the same */
int64_t *pel_straight_numbers(const pel_straight *x, const pel_id *values); /* whole ones of all lanes, or NULL */
pel_node *pel_straight_number(pel_straight *x, const int64_t *wanted);      /* by example; the same */
pel_node *pel_straight_setting(pel_straight *x, const pel_id *values);      /* what differs by instance; the same */

bool pel_straight_is_given(const pel_straight *x, pel_name name); /* what the call was given, or a step, has it */

/* ---- lines/given.c ---- */
/* Asserts of parameters that depend on data what the line takes for granted. asked: those that a test around it told.
 */
bool pel_straight_is_open(const pel_straight *x, const pel_taint *taint, pel_id value); /* another call may change it */
void pel_straight_guard(pel_straight *x, const pel_val *argument); /* the same where the line stands for a call */
void pel_straight_expect(pel_straight *x, const pel_group *group, const bool *asked);

/* ---- lines/reads.c ---- */
typedef bool pel_straight_owns(const pel_straight *x, pel_id activation, pel_id above); /* the line tells what it did */
void pel_straight_find_reads(pel_straight *x, pel_straight_owns *owns);
void pel_straight_expect_reads(pel_straight *x, pel_nodes *tests); /* asserts what the line takes for granted of that */
pel_node *pel_straight_type(pel_straight *x, pel_str type);        /* x.dtype, if that was read; NULL: it was not */

/* ---- lines/pattern.c, lines/patterned.c: functions that get a pattern ---- */
typedef struct pel_straight_axis { /* whose length the call says */
    pel_name name;
    pel_node *length;
    const int64_t *values; /* per lane */
} pel_straight_axis;
typedef struct pel_straight_pattern {
    pel_node *tensor;             /* its text */
    const int64_t *const *shapes; /* per lane */
    uint32_t rank;
    pel_str text, reduction;
    const pel_straight_axis *axes;
    uint32_t n_axes;
    const pel_id *results;
} pel_straight_pattern;
/* Writes x->body from the pattern; false: what the lanes saw is something else. */
bool pel_straight_from_pattern(pel_straight *x, const pel_straight_pattern *call);

typedef struct pel_straight_args { /* what a call passes, and what the function calls it; NULL: nothing */
    pel_val **at;
    const pel_name *names;
    uint32_t n;
    pel_nodes params, given; /* of the function that is written, and what it gets */
} pel_straight_args;
/* The same for a call of a function that gets a tensor and a pattern; false: this is none. */
bool pel_straight_call_of_pattern(pel_straight *x, pel_straight_args *args, const pel_id *results);
/* The same for a module that holds its pattern. */
bool pel_straight_module_of_pattern(pel_straight *x, const pel_id *results);

/* ---- lines/state.c ---- */
/* Why there can be no line, because of what calls keep in modules; NULL: it lives on no such. */
const char *pel_straight_state(pel_straight *x, pel_straight_owns *owns);

/* ---- lines/rename.c: the author's names for what steps give ---- */
void pel_straight_find_names(pel_straight *x);
pel_name pel_straight_held_by(const pel_straight *x, pel_id value); /* NULL: no variable did */
void pel_straight_rename(pel_straight *x);

/* ---- lines/line.c: the line itself ---- */
/* Writes what the lanes did to x->body, with the return of these results. */
void pel_straight_write(pel_straight *x, const pel_id *results);

#endif
