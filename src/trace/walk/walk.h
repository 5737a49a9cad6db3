/* The lock-step walk: what its files share.
 *
 * A *lane* is one activation of a function, or one iteration of a loop of it. All lanes of a function walk
 * the author's tree together, each eating its own records; what they saw of an expression decides whether it
 * is written as a value or as the author wrote it. The walk of a function is repeated, with all others, until
 * nothing new is learnt about which values depend on data (taint.h); the text of the last round stays. */
#ifndef PEL_TRACE_WALK_WALK_H
#define PEL_TRACE_WALK_WALK_H

#include "trace/depends/notes.h"
#include "trace/synth.h"

typedef struct pel_val pel_val;

/* ---- values of expressions over lanes ---- */

typedef struct pel_parts { /* what is known of a tuple or dict that is built here */
    uint32_t n;
    pel_name *keys; /* NULL for tuples */
    pel_val **items;
} pel_parts;

struct pel_val {
    pel_node *text; /* the residual expression */
    pel_id *at;     /* per lane of the front: the value; 0: not known */
    const pel_taint *taint;
    const pel_taint *spread; /* of a tuple with a star: what it is for as many targets as it has items */
    const pel_parts *parts;
    bool effect;         /* evaluating the text does more than give a value */
    bool lost;           /* the text mentions an object that can't be written */
    bool fixed;          /* never fold: written by the run, or `training` */
    pel_param *optional; /* an item of **kwargs that some calls don't pass */
    const pel_id *owner; /* of an attribute or item: per lane, what it was read from */
};

/* ---- lanes ---- */

typedef enum pel_lane_state { PEL_LANE_RUNS, PEL_LANE_LEFT, PEL_LANE_BROKE, PEL_LANE_CONTINUED } pel_lane_state;

typedef struct pel_lane {
    pel_id activation; /* whose records it eats */
    pel_id owner;      /* the activation of the function around comprehensions */
    uint32_t at, end;  /* records */
    pel_lane_state state;
} pel_lane;

typedef struct pel_front {
    uint32_t *at; /* lane numbers */
    uint32_t n;
} pel_front;

typedef struct pel_slot { /* what is known of a local name */
    pel_name name;
    const pel_taint *taint;
    const pel_parts *parts;
    bool own;         /* a list, dict or set that this function made, wherever control came from */
    bool gone;        /* *args or **kwargs: the output has its parts under names of their own, and not itself */
    bool varies;      /* the lanes that bound it have different values */
    bool is_size;     /* a constant that is written by names: n = self.num_heads * 2 */
    bool none, some;  /* there are lanes that bound it to None, or to something else */
    uint32_t level;   /* of the walk where it was bound */
    uint32_t binding; /* which of its bindings it was */
} pel_slot;

typedef struct pel_env {
    pel_slot *at;
    uint32_t n;
} pel_env;

typedef struct pel_lane_loop {
    struct pel_lane_loop *outer;
    pel_env breaks, continues; /* joined environments */
    bool has_break, has_continue;
    bool skips_by_data; /* data say which rounds come to its end: a test on such ended them by continue */
    bool left_by_data;  /* how often it goes round depends on data: a test on such ended rounds by break or return */
} pel_lane_loop;

typedef struct pel_child { /* an activation that began while an expression's own instructions ran */
    uint32_t lane;         /* index in the front */
    pel_id activation;
} pel_child;

typedef struct pel_kids {
    pel_child *at;
    uint32_t n, cap;
} pel_kids;

typedef struct pel_walk {
    pel_ctx *ctx;
    pel_synth *s;
    const pel_log *log;
    pel_group *group;
    const pel_author *author; /* of the frame being walked: the function's or a comprehension's */
    PEL_VEC(pel_lane) lanes;
    pel_env env;
    pel_nodes *out;         /* statements are written here */
    uint32_t in_expression; /* > 0: inside of a comprehension or lambda, where no statement can stand */
    pel_lane_loop *loop;
    const struct pel_finally *finally; /* the innermost one around */
    const pel_taint *result;
    bool effect;
    bool diverged;     /* lanes called different functions at one place */
    uint32_t tried;    /* > 0: inside of a try that caught nothing, where who raises must stay */
    uint32_t torn;     /* > 0: in a statement that some lanes left by an exception: what they did in it is not known */
    uint32_t level;    /* how many tests on data chose the lanes, see name.c */
    uint32_t bindings; /* of names, so far */
    uint32_t depth;
    const pel_node *now; /* for messages */
} pel_walk;

/* ---- walk/walk.c ---- */
_Noreturn void pel_lost(pel_walk *w, const pel_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pel_front pel_front_new(pel_walk *w, uint32_t n);
static inline pel_lane *pel_lane_at(pel_walk *w, pel_front front, uint32_t i) { return &w->lanes.at[front.at[i]]; }
const pel_activation *pel_lane_activation(const pel_walk *w, const pel_lane *lane);
/* The next record of a lane that means something, NULL at its end. Steps over what is mere bookkeeping. */
const pel_record *pel_next_record(pel_walk *w, pel_lane *lane);
const pel_insn *pel_insn_of(const pel_walk *w, const pel_record *record);
const pel_position *pel_position_of(const pel_walk *w, const pel_record *record);
/* A lane's next record, if it is a conditional jump: what the tested value was. */
bool pel_take_jump(pel_walk *w, pel_lane *lane, bool *truth);
bool pel_is_conditional(uint16_t op);
pel_slot *pel_env_slot(pel_walk *w, pel_name name);
pel_env pel_env_copy(pel_walk *w, const pel_env *env);
void pel_env_join(pel_walk *w, pel_env *into, const pel_env *with);
/* Every name that the statements of a text bind depends on data from now on: whether they run does. */
void pel_taint_stored(pel_walk *w, pel_nodes body);
bool pel_env_same(const pel_env *a, const pel_env *b);

/* ---- values ---- */
bool pel_all_same(pel_walk *w, pel_front front, const pel_id *values);
bool pel_dynamic(pel_walk *w, pel_front front, const pel_val *val);
pel_id pel_self_of(const pel_walk *w, const pel_lane *lane); /* module, or 0 */

/* ---- walk/expr.c and those behind walk/expr.h ---- */
pel_val *pel_eval(pel_walk *w, pel_front front, pel_node *node);
pel_node *pel_shallow(pel_walk *w, const pel_node *node); /* the author's node, to be given texts for its parts */
/* Eats what node itself did, until a jump, a record outside of it, or one inside of `until`. */
void pel_own(pel_walk *w, pel_front front, const pel_node *node, const pel_node *until, pel_id *values, pel_kids *kids);

/* ---- walk/text.c: how a value is written ---- */
pel_val *pel_val_new(pel_walk *w, pel_front front, pel_node *text); /* of which nothing is known */
pel_val *pel_val_constant(pel_walk *w, pel_front front, pel_node *text, pel_why why);
/* The last thing that is done to the value of node: what need not be computed becomes a literal. */
pel_val *pel_finish(pel_walk *w, pel_front front, const pel_node *node, pel_val *val);
bool pel_is_table(const pel_walk *w, pel_id value); /* a list, dict or set of constants, not too long */
/* A list or dict of constants that some object or file holds: written where it is read. */
void pel_write_table(pel_walk *w, pel_front front, pel_val *val);
/* A container in a container that callers gave: what it has beside tensors is theirs, too. NULL if it is none. */
const pel_taint *pel_taint_of_part(pel_walk *w, pel_front front, const pel_val *of, const pel_val *part);
/* Whether a text is made of names of sizes: self.head_dim, self.head_dim * 2, n where it was bound to such. Its value
 * must be a constant that all lanes have. */
bool pel_is_size(pel_walk *w, const pel_node *text);
bool pel_are_one_size(pel_walk *w, pel_front front, const pel_id *values); /* a number with a name, in all lanes */
/* The constructors of these modules must set the attribute: to these values, or to what it was before the run. */
void pel_need(pel_walk *w, pel_front front, const pel_id *modules, pel_name name, const pel_id *values);
void pel_guard(pel_walk *w, const pel_node *at, pel_node *test, bool truth, const char *message); /* an assertion */

/* ---- walk/attribute.c, walk/operator.c, walk/display.c ---- */
/* Something that another object, should a caller pass one, may hold or answer otherwise. */
bool pel_is_content_of_given(const pel_walk *w, pel_id object, pel_id value);
bool pel_has_slot(const pel_log_module *module, pel_name name); /* as child, parameter or buffer */
/* An operator that the author's classes define. On what was there before the run it only looks things up. */
void pel_operator_calls(pel_walk *w, const pel_kids *kids, pel_val *val, bool looks_up);
/* The items of a dict that has a name, as they are read from it: d["a"], ... */
const pel_parts *pel_parts_by_key(pel_walk *w, const pel_val *dict);
pel_node *pel_parts_text(pel_walk *w, const pel_parts *parts); /* the tuple or dict that they are parts of */

/* ---- walk/test.c ---- */
static inline bool pel_is_identity(uint8_t op) { return op == PEL_Is || op == PEL_IsNot; }
static inline bool pel_is_containment(uint8_t op) { return op == PEL_In || op == PEL_NotIn; }
typedef struct pel_test {
    pel_node *text; /* NULL where the outcome needs no test */
    bool *truth;    /* per lane */
    bool dynamic;   /* depends on data */
    bool effect, lost;
} pel_test;
pel_test pel_eval_test(pel_walk *w, pel_front front, pel_node *node);
void pel_ask_truth(pel_walk *w, pel_front front, pel_val *val);

/* ---- walk/store.c ---- */
/* Something is put into a container, whoever else holds it: it depends on data, or whether it comes there does.
 * container: as the author writes it. */
/* ModuleList, ModuleDict, Sequential and the like. */
bool pel_is_holder_of_modules(const pel_log *log, pel_id value);
void pel_refuse_item_of_modules(pel_walk *w, pel_front front, const pel_node *at, const pel_id *holders);
void pel_fill(pel_walk *w, pel_front front, const pel_node *container, const pel_id *containers, bool with_data);
const pel_taint *pel_filled_taint(pel_walk *w, pel_front front, const pel_val *val); /* NULL: it holds no such */
/* Closures see a variable of theirs, whichever code reads it there. */
void pel_tell_closures(pel_walk *w, pel_name name, const pel_taint *taint);
/* What is stored under a name in objects depends on data: whoever reads it there learns of it. */
void pel_tell_readers(pel_walk *w, pel_front front, pel_name attribute, const pel_id *objects, const pel_taint *taint);
/* Classes and functions of the output keep no attributes from call to call. */
void pel_refuse_class_store(pel_walk *w, pel_front front, const pel_node *target, const pel_id *objects);
typedef struct pel_lane_stored {
    const pel_taint *taint;
    const pel_parts *parts; /* NULL: none are known */
    const pel_val *value;   /* where it is known as a whole; NULL for a part of it */
} pel_lane_stored;
/* text: the target as it is written. */
void pel_store(pel_walk *w, pel_front front, pel_node *target, const pel_lane_stored *stored, pel_node **text);
/* kwargs["key"] = value, where kwargs is gone and its parts are known: the name that is bound instead. */
pel_node *pel_store_key(pel_walk *w, pel_front front, pel_slot *slot, pel_name key, const pel_val *value);

/* ---- name.c: code that data lead some lanes to ---- */
/* A name is bound; values: what the lanes have, NULL if that is not known. */
void pel_bind_lanes(pel_walk *w, pel_front front, pel_slot *slot, const pel_id *values);
void pel_join_bindings(pel_slot *slot, const pel_slot *with); /* where paths meet */
void pel_taint_chosen_name(pel_walk *w, pel_front front, const pel_slot *slot, pel_val *val);
/* Whether a name or an attribute, which means that value here, may mean something else with other data. */
bool pel_is_chosen(pel_walk *w, const pel_node *node, pel_id value);
void pel_taint_chosen_attribute(pel_walk *w, pel_front front, const pel_node *node, pel_val *val);
void pel_taint_chosen_mode(pel_walk *w, pel_front front, pel_val *val); /* `training` is read */
/* Those that a call began; by_data: data say what is called. */
void pel_choose_callees(pel_walk *w, const pel_kids *kids, bool by_data);

/* ---- walk/comp.c ---- */
pel_val *pel_eval_comprehension(pel_walk *w, pel_front front, pel_node *node);
pel_nodes pel_generators_of(const pel_node *node); /* none: it is no comprehension */
bool pel_is_variable_of(const pel_node *comprehension, pel_name name);
pel_val *pel_eval_lambda(pel_walk *w, pel_front front, pel_node *node);
/* The defaults of a nested function are computed where its definition stands. */
void pel_eval_defaults(pel_walk *w, pel_front front, const pel_node *function, const pel_node *args);

/* ---- walk/hooks.c ---- */
bool pel_is_hook_s_handle(const pel_log *log, pel_id value);

/* ---- walk/call.c, walk/call_link.c: walk/call.h has what they share ---- */
pel_val *pel_eval_call(pel_walk *w, pel_front front, pel_node *node);
/* What is in a cell, by the way from the function's own module or as an attribute of it; NULL if neither can be. */
pel_node *pel_cell_text(pel_walk *w, pel_front front, pel_name name, const pel_id *values);
/* All of them are what a dataclass, a named tuple or a model output does by itself. */
bool pel_on_records(const pel_walk *w, const pel_kids *kids);
void pel_refuse_own_protocol(pel_walk *w, const pel_kids *kids); /* for kids that are on records */
bool pel_looks_up(const pel_walk *w, const pel_kids *kids);      /* one of them is a __getattr__ hook */
void pel_forget_kids(pel_walk *w, const pel_kids *kids);
void pel_link_property(pel_walk *w, const pel_kids *kids, const pel_val *object, pel_val *val, pel_name name);

/* ---- walk/stmt.c and those behind walk/stmt.h ---- */
/* Returns the lanes that go on behind the statements. */
pel_front pel_walk_body(pel_walk *w, pel_front front, pel_nodes body);
pel_front pel_walk_match(pel_walk *w, pel_front front, pel_node *node);
/* Splits lanes that stand at a loop into one lane per iteration. */
typedef struct pel_rounds {
    pel_front body;   /* lanes of all iterations */
    uint32_t *parent; /* per body lane: index in the loop's front */
    uint32_t *rest;   /* per lane of the front: record behind the loop if it ran out; 0: it did not */
    uint32_t *last;   /* per lane of the front: index in body of its last iteration; UINT32_MAX: none */
} pel_rounds;
bool pel_loop_ends(const pel_walk *w, const pel_activation *activation, uint32_t record);
pel_rounds pel_split_rounds(pel_walk *w, pel_front front, const pel_node *node);
bool pel_is_counted(const pel_walk *w, pel_front front, const pel_val *iter); /* data says how often it goes round */

/* ---- lines/use.c ---- */
typedef struct pel_passed { /* what a call passes, and what the function calls it; NULL: nothing */
    pel_val **at;
    const pel_name *names;
    uint32_t n;
} pel_passed;
/* val: what the call gave. children: per lane, the activation that it began. */
pel_val *pel_straight_call(pel_walk *w, uint32_t n_lanes, const pel_node *node, const pel_id *children,
                           const pel_passed *passed, pel_val *val);

/* ---- given.c ---- */
/* How many dimensions a tensor has, or its shape has items: false if that must stay a question. */
bool pel_ask_rank(pel_walk *w, pel_front front, const pel_val *of);
/* An argument of a call of torch, or what stands in brackets behind a tensor. */
void pel_note_rank_given(pel_walk *w, pel_front front, const pel_val *arg);
void pel_note_squeeze(pel_walk *w); /* a call that leaves out dimensions, whichever have size 1 */
/* Whether the text may take the type for granted: then the root asserts it. */
bool pel_ask_type(pel_walk *w, pel_front front, const pel_val *of);
/* given.get("mask"): another call may bring another one, a number or nothing. base: what a method is called of, or
 * NULL. */
bool pel_is_taken_out(const pel_walk *w, pel_front front, const pel_val *base);

#endif
