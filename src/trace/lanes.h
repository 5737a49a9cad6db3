/* The lock-step walk: what its files share.
 *
 * A *lane* is one activation of a function, or one iteration of a loop of it. All lanes of a function walk
 * the author's tree together, each eating its own records; what they saw of an expression decides whether it
 * is written as a value or as the author wrote it. The walk of a function is repeated, with all others, until
 * nothing new is learnt about which values depend on data (taint.h); the text of the last round stays. */
#ifndef PEL_TRACE_LANES_H
#define PEL_TRACE_LANES_H

#include "trace/align.h"
#include "trace/program.h"
#include "trace/taint.h"

typedef struct pel_group pel_group;
typedef struct pel_val pel_val;

/* One map key of two things. */
static inline uint64_t pel_key2(uint64_t a, uint64_t b) {
    a *= 0x9e3779b97f4a7c15u;
    return a ^ (a >> 29) ^ (b + 0xbf58476d1ce4e5b9u + (a << 6) + (a >> 2));
}

/* ---- the functions of the output in the making ---- */

typedef struct pel_param {
    pel_name name;  /* in the output */
    uint32_t local; /* index into varnames */
    enum { PEL_PARAM_PLAIN, PEL_PARAM_STAR_ITEM, PEL_PARAM_KEY_ITEM } kind;
    uint32_t item; /* STAR_ITEM: which one of *args */
    pel_name key;  /* KEY_ITEM: its key in **kwargs */
    bool keyword_only;
    bool optional;      /* KEY_ITEM: some calls don't pass it */
    bool forwarded;     /* and it goes on as it came, or not at all */
    pel_node *fallback; /* the author's default, or NULL; of an optional item: that of whoever gets it in the end;
                           of a nested function: what it is where the function is made */
    const pel_node *author_default; /* as the author wrote it */
    const pel_taint *taint;         /* a fact: of what the calls pass */
    bool passed;                    /* by a call that is written as it stands */
    const struct pel_group *of;     /* the wrapper that took it and whose calls know it; NULL: the function itself */
    bool unread;                    /* nothing reads it */
    bool dead;                      /* and so it goes */
} pel_param;

struct pel_group {
    uint32_t number;
    pel_id code;
    const pel_author *author;
    pel_id class;  /* of self, 0 for a plain function */
    pel_id *lanes; /* activations */
    uint32_t n_lanes, cap_lanes;
    pel_param *params;
    uint32_t n_params;
    pel_name hint;        /* the name by which calls know it */
    bool in_place;        /* a nested function or lambda: written where the author wrote it */
    bool is_root, pinned; /* called from where we write nothing: its signature stays */
    bool is_property, is_init, is_generator;
    bool is_context; /* a generator that contextlib.contextmanager decorates */
    bool no_self;    /* all that call it are STATIC */
    /* facts, grown from round to round */
    const pel_taint *result_taint;
    bool falls_off;    /* some lane comes to its end without a return */
    bool left_by_data; /* it returns from within a test on data: how deep it calls itself is not known */
    bool has_effect;   /* calling it does more than return a value */
    bool shares;       /* what it does concerns a variable of the file */
    /* the text of the last round */
    pel_nodes body;
    pel_program_function *function;
    pel_group *instead; /* it only forwards to this one, which took its place */
    pel_name star;      /* *args, if only all of it is asked for; the items of it that are passed are in it */
    pel_name rest;      /* **kwargs, if it is passed on whole; parameters that are `forwarded` are in it */
    const char *why;    /* the walk failed */
    uint32_t why_line;
};

typedef enum pel_callee {
    PEL_CALLEE_AS_WRITTEN,
    PEL_CALLEE_NAME,
    PEL_CALLEE_METHOD,
    PEL_CALLEE_STATIC, /* a method of an object that was there before the run: a function, if it needs no self */
    PEL_CALLEE_INLINE, /* nothing in the output is the receiver: what the callee returns stands for the call */
} pel_callee;

/* A call of one specialisation by another, as written: node is the Call in the text. */
typedef struct pel_link {
    pel_node *node;
    pel_group *caller, *target;
    pel_node **args; /* one per parameter of target; NULL: not given, or the receiver */
    bool *by_keyword;
    pel_name implied;  /* module(x), object(x): the method that runs unless another is named; else NULL */
    bool receiver;     /* the first parameter is what stands before the dot, or the callee itself */
    pel_callee callee; /* how the text names it */
} pel_link;

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
    const pel_parts *parts;
    bool effect;         /* evaluating the text does more than give a value */
    bool lost;           /* the text mentions an object that can't be written */
    bool fixed;          /* never fold: written by the run, or `training` */
    pel_param *optional; /* an item of **kwargs that some calls don't pass */
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
    bool own;  /* a list, dict or set that this function made, wherever control came from */
    bool gone; /* *args or **kwargs: the output has its parts under names of their own, and not itself */
} pel_slot;

typedef struct pel_env {
    pel_slot *at;
    uint32_t n;
} pel_env;

typedef struct pel_loop {
    struct pel_loop *outer;
    pel_env breaks, continues; /* joined environments */
    bool has_break, has_continue;
    bool left_by_data; /* how often it goes round depends on data: a test on such ended rounds by break or return */
} pel_loop;

typedef struct pel_child { /* an activation that began while an expression's own instructions ran */
    uint32_t lane;         /* index in the front */
    pel_id activation;
} pel_child;

typedef struct pel_kids {
    pel_child *at;
    uint32_t n, cap;
} pel_kids;

/* ---- forward hooks ---- */

typedef struct pel_hook {
    pel_id activation, module;
    pel_id forward;      /* the activation that it stands before or behind; 0: the module is torch's */
    pel_id args, kwargs; /* values; kwargs: 0 if it did not ask for them */
    pel_id dict;         /* its third argument, where that is a dict: keywords, or what the forward gave */
    uint32_t first;      /* which positional argument is the module: 1 for a bound method */
    bool before;
} pel_hook;
typedef PEL_VEC(pel_hook *) pel_hook_list;

/* ---- the whole synthesis ---- */

typedef struct pel_helper { /* a straight line */
    pel_program_function *function;
    pel_name wish; /* the author's name */
} pel_helper;

typedef struct pel_reference { /* a Name or Attribute in the text that must get a group's final name */
    pel_node *node;
    pel_id code;
    pel_group *group;
    bool held; /* the node stands in no function: constructors set it */
} pel_reference;

typedef struct pel_synth {
    pel_ctx *ctx;
    const pel_log *log;
    pel_program *program;
    const pel_author *authors;
    PEL_VEC(pel_group *) groups;
    pel_group **group_of; /* per activation */
    bool *linked;         /* per activation: some link of this round leads to it */
    bool *live;           /* per value */
    pel_map old_objects;  /* identity -> 1 */
    pel_map given;   /* identities of the author's objects that callers pass to the model, and their classes -> 1 */
    pel_map written; /* class and attribute -> 1; class of an object that is no module -> 1 */
    pel_map written_globals; /* file and name -> its value before the run */
    pel_map shared;          /* identities of objects that are variables of the file -> 1 */
    pel_map attribute_taint;
    pel_map cell_taint;    /* code and name -> taint */
    pel_map unwritable;    /* nodes that name an object without a literal -> 1 */
    pel_map whole_numbers; /* comparisons of whole numbers, in every lane -> 1 */
    pel_map star_items;    /* text of an item of `*whole` in a call -> how many items there are */
    pel_map split;         /* activation -> part */
    pel_map lifted;        /* code -> how many of its first parameters were none */
    pel_map owner_of;      /* activation of a forward that was set on an instance -> that module */
    pel_hook_list hooks;
    pel_map hook_of; /* activation of a hook -> it */
    pel_map hooked;  /* activation of a forward -> its pel_hook_list */
    PEL_VEC(pel_link *) links;
    pel_map link_of; /* Call node -> link */
    PEL_VEC(pel_reference) references;
    PEL_VEC(pel_helper) helpers; /* straight lines */
    bool changed;                /* a fact grew in this round */
    bool regroup;                /* split grew: begin again */
    bool has_stub;               /* something that never ran is named */
    bool asked_training;         /* some text depends on self.training */
    bool asked_rank;             /* and some on how many dimensions the given tensors have */
    bool is_rank_open;           /* which can't be asserted of all of them: questions stay in the text */
    bool trained, evaluated;     /* runs in train mode, in eval mode */
} pel_synth;

static inline pel_link *pel_link_at(const pel_synth *s, const pel_node *node) {
    return pel_map_pointer(&s->link_of, PEL_KEY(node));
}

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
    pel_loop *loop;
    const struct pel_finally *finally; /* the innermost one around */
    const pel_taint *result;
    bool effect;
    uint32_t depth;
    const pel_node *now; /* for messages */
} pel_walk;

/* ---- lanes.c ---- */
_Noreturn void pel_lost(pel_walk *w, const pel_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pel_front pel_front_new(pel_walk *w, uint32_t n);
bool pel_ran(const pel_synth *s, pel_id code); /* in a run that counts */
/* What an activation got for a parameter; 0 if it is an item of *args or **kwargs that was not given. */
pel_id pel_argument(const pel_log *log, pel_id activation, const pel_param *param);
/* Whether the function was made by another one that was recorded: then it is written inside of that one. */
bool pel_made_in_run(const pel_synth *s, const pel_author *author);
bool pel_runs_module(pel_synth *s,
                     pel_id activation); /* the forward of a module of the tree, called as torch calls it */
static inline pel_lane *pel_lane_at(pel_walk *w, pel_front front, uint32_t i) { return &w->lanes.at[front.at[i]]; }
const pel_activation *pel_lane_activation(const pel_walk *w, const pel_lane *lane);
/* The next record of a lane that means something, NULL at its end. Steps over what is mere bookkeeping. */
const pel_record *pel_next_record(pel_walk *w, pel_lane *lane);
const pel_insn *pel_author_insn(const pel_author *author, const pel_record *record); /* NULL: between two */
const pel_insn *pel_insn_of(const pel_walk *w, const pel_record *record);
const pel_position *pel_position_of(const pel_walk *w, const pel_record *record);
/* wish, or something like it, as a name that the function does not use for something else. */
pel_name pel_free_name(pel_synth *s, const pel_code_object *code, pel_name wish);
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
static inline uint64_t pel_given_class(pel_id class) { return ~(uint64_t) class; } /* its key in `given` */
bool pel_live(const pel_synth *s, pel_id value);                                   /* is a tensor, or holds one */
bool pel_plain(const pel_synth *s, pel_id value);                                  /* can be folded into the text */
bool pel_all_same(pel_walk *w, pel_front front, const pel_id *values);
bool pel_dynamic(pel_walk *w, pel_front front, const pel_val *val);
/* An object that the run neither fills with tensors nor changes: all that is read from it is known. */
bool pel_is_static_object(const pel_synth *s, pel_id value);
pel_id pel_self_of(const pel_walk *w, const pel_lane *lane); /* module, or 0 */

/* ---- lanes_expr.c and those behind lanes_expr.h ---- */
pel_val *pel_eval(pel_walk *w, pel_front front, pel_node *node);
pel_node *pel_shallow(pel_walk *w, const pel_node *node); /* the author's node, to be given texts for its parts */
/* Eats what node itself did, until a jump, a record outside of it, or one inside of `until`. */
void pel_own(pel_walk *w, pel_front front, const pel_node *node, const pel_node *until, pel_id *values, pel_kids *kids);

/* ---- lanes_write.c: how a value is written ---- */
pel_val *pel_val_new(pel_walk *w, pel_front front, pel_node *text);
/* The last thing that is done to the value of node: what need not be computed becomes a literal. */
pel_val *pel_finish(pel_walk *w, pel_front front, const pel_node *node, pel_val *val);
bool pel_is_table(const pel_walk *w, pel_id value); /* a list, dict or set of constants, not too long */
/* A list or dict of constants that some object or file holds: written where it is read. */
void pel_write_table(pel_walk *w, pel_front front, pel_val *val);
/* The constructors of these modules must set the attribute: to these values, or to what it was before the run. */
void pel_need(pel_walk *w, pel_front front, const pel_id *modules, pel_name name, const pel_id *values);
void pel_guard(pel_walk *w, const pel_node *at, pel_node *test, bool truth, const char *message); /* an assertion */

/* ---- lanes_attribute.c, lanes_operator.c, lanes_display.c ---- */
/* Something that another object, should a caller pass one, may hold or answer otherwise. */
bool pel_is_content_of_given(const pel_walk *w, pel_id object, pel_id value);
bool pel_has_slot(const pel_log_module *module, pel_name name); /* as child, parameter or buffer */
/* An operator that the author's classes define. On what was there before the run it only looks things up. */
void pel_operator_calls(pel_walk *w, const pel_kids *kids, pel_val *val, bool looks_up);
/* The items of a dict that has a name, as they are read from it: d["a"], ... */
const pel_parts *pel_parts_by_key(pel_walk *w, const pel_val *dict);
pel_node *pel_parts_text(pel_walk *w, const pel_parts *parts); /* the tuple or dict that they are parts of */

/* ---- lanes_test.c ---- */
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
/* What certainly gives True or False: a comparison of tensors would give a tensor, but then it is not asked this. */
bool pel_gives_truth(const pel_node *node);
enum { PEL_COMPARES_TENSORS = 1 }; /* mark of a Compare: its opposite would be another call of torch */
pel_node *pel_not(pel_ctx *ctx, pel_node *test);

/* ---- lanes_store.c ---- */
/* value: what is stored, where that is known as a whole; NULL for a part of it. */
void pel_store(pel_walk *w, pel_front front, pel_node *target, const pel_taint *taint, const pel_parts *parts,
               const pel_val *value, pel_node **text);
/* kwargs["key"] = value, where kwargs is gone and its parts are known: the name that is bound instead. */
pel_node *pel_store_key(pel_walk *w, pel_front front, pel_slot *slot, pel_name key, const pel_val *value);

/* ---- lanes_comp.c ---- */
pel_val *pel_eval_comprehension(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_lambda(pel_walk *w, pel_front front, pel_node *node);
/* The defaults of a nested function are computed where its definition stands. */
void pel_eval_defaults(pel_walk *w, pel_front front, const pel_node *function, const pel_node *args);

/* ---- lanes_call.c, lanes_link.c: lanes_call.h has what they share ---- */
pel_val *pel_eval_call(pel_walk *w, pel_front front, pel_node *node);
/* What is in a cell, by the way from the function's own module or as an attribute of it; NULL if neither can be. */
pel_node *pel_cell_text(pel_walk *w, pel_front front, pel_name name, const pel_id *values);
/* All of them are what a dataclass, a named tuple or a model output does by itself. */
bool pel_on_records(const pel_walk *w, const pel_kids *kids);
bool pel_looks_up(const pel_walk *w, const pel_kids *kids); /* one of them is a __getattr__ hook */
void pel_forget_kids(pel_walk *w, const pel_kids *kids);
void pel_link_property(pel_walk *w, const pel_kids *kids, const pel_val *object, pel_val *val, pel_name name);

/* ---- effects.c: what calls of torch and the standard library do ---- */
bool pel_library_pure(pel_str path);    /* gives a value and does nothing else */
bool pel_library_settled(pel_str path); /* its plain result does not depend on the data of its arguments */
bool pel_library_ambient(pel_str path); /* its result depends on a mode of torch, on chance or on the time */
bool pel_method_pure(uint8_t value_kind, pel_name name);
bool pel_module_pure(const pel_log *log, pel_id module);

/* ---- lanes_stmt.c and those behind lanes_stmt.h ---- */
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

/* ---- hooks.c ---- */
void pel_find_hooks(pel_synth *s);
void pel_insert_hooks(pel_synth *s, pel_group *group); /* into the text of a forward */
void pel_write_hooked(pel_synth *s);                   /* classes for modules of torch's */

/* ---- module_path.c ---- */
#define PEL_DEEPEST_MODULE 40
typedef struct pel_way { /* from a module down to one of its parts */
    pel_name steps[PEL_DEEPEST_MODULE];
    uint32_t n;
} pel_way;
typedef bool pel_part_test(const pel_log *log, pel_id module, void *arg);
/* The way to the first part that is the one, which may be the module itself. out: empty at first. */
bool pel_find_way(pel_ctx *ctx, const pel_log *log, pel_id from, pel_part_test *is_it, void *arg, pel_way *out);
pel_id pel_go_way(const pel_log *log, pel_id from, const pel_way *way); /* 0 if it leads nowhere */
/* container[0], dict["key"], module.name; NULL where there is no such expression. */
pel_node *pel_part_text(pel_ctx *ctx, const pel_log *log, pel_node *whole, pel_id module, pel_name name);
pel_node *pel_way_text(pel_ctx *ctx, const pel_log *log, const pel_node *from, pel_id module, const pel_way *way);
/* The part of `from` that is wanted, in each of n lanes; NULL if it is another one here and there. */
pel_node *pel_module_text(pel_ctx *ctx, const pel_log *log, const pel_node *from, const pel_id *modules,
                          const pel_id *wanted, uint32_t n);

/* ---- closures.c ---- */
/* What functions that were made before the run have in their cells becomes parameters. */
void pel_lift_closures(pel_synth *s);

/* ---- split.c ---- */
bool pel_split_group(pel_synth *s, const pel_group *group); /* true if its lanes are several functions from now on */

/* ---- stubs.c: what is named but never ran ---- */
pel_node *pel_stub_def(pel_ctx *ctx, const pel_node *author); /* a nested function that raises */
pel_node *pel_stub_name(pel_synth *s);                        /* the name of a function of the file that raises */
void pel_write_stub(pel_synth *s);
pel_nodes pel_stub_body(pel_ctx *ctx); /* raise NotImplementedError("path not recorded") */

/* ---- straight*.c: functions that are written as what they were seen to do ---- */
bool pel_is_below(const pel_log *log, pel_id activation, pel_id above);
void pel_walk_straight(pel_synth *s, pel_group *group);
pel_val *pel_straight_call(pel_walk *w, pel_front front, const pel_node *node, const pel_id *children, pel_val **args,
                           const pel_name *names, uint32_t n_args, pel_val *val);
void pel_write_straight(pel_synth *s);

/* ---- given.c: what callers give the model ---- */
typedef enum pel_rank_form {
    PEL_RANK_NONE,      /* no tensor is given */
    PEL_RANK_OWN,       /* a tensor */
    PEL_RANK_OR_NONE,   /* or None */
    PEL_RANK_OF_ITEMS,  /* a list or tuple of tensors */
    PEL_RANK_OF_VALUES, /* a dict of tensors */
    PEL_RANK_OPEN,      /* tensors with different numbers of dimensions, or deeper inside */
} pel_rank_form;
pel_rank_form pel_given_rank(const pel_synth *s, const pel_group *root, const pel_param *param, uint32_t *rank);
void pel_mark_given(pel_synth *s, pel_group *root);
/* How many dimensions a tensor has, or its shape has items: false if that must stay a question. */
bool pel_ask_rank(pel_walk *w, pel_front front, const pel_val *of);

/* ---- live.c ---- */
void pel_find_live(pel_synth *s);

/* ---- dead.c ---- */
/* Calls visit for the children of node, and for arguments of linked calls that are still passed. */
void pel_each_part(const pel_synth *s, pel_node *node, pel_visit *visit, void *arg);
bool pel_pure(const pel_synth *s, const pel_node *expression);
bool pel_is_new_container(const pel_node *value);

/* ---- link.c: from what was walked to a program ---- */
bool pel_link_all(pel_synth *s); /* false: functions were split, all begins again */

#endif
