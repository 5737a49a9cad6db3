/* The functions of the output in the making: what the passes share from the first walk to the program.
 *
 * A *group* is a function of the output: the activations of one author function that are told by one text. walk/walk.c
 * makes the groups and walks them (walk/walk.h); what is learnt of them is kept here; link.c (link.h) makes the program
 * of them (program.h). All of it lives as long as one attempt of synthesise.c. */
#ifndef PEL_TRACE_SYNTH_H
#define PEL_TRACE_SYNTH_H

#include "trace/log/align.h"
#include "trace/program.h"
#include "trace/depends/taint.h"

typedef struct pel_group pel_group;

/* One map key of two things. */
static inline uint64_t pel_key2(uint64_t a, uint64_t b) {
    a *= 0x9e3779b97f4a7c15u;
    return a ^ (a >> 29) ^ (b + 0xbf58476d1ce4e5b9u + (a << 6) + (a >> 2));
}

/* ---- the functions of the output in the making ---- */

/* Whether the first that runs do to an attribute is to store it. */
enum { PEL_STORED_LATER = 1, PEL_STORED_FIRST = 2 };
#define PEL_DELETED UINT32_MAX /* in the place of a class: an attribute of that name that some run deletes */

/* What functions put into a container: bits. */
enum { PEL_FILLED_BY_DATA = 1, PEL_FILLED_WITH_DATA = 2 };

typedef struct pel_param {
    pel_name name;  /* in the output */
    uint32_t local; /* index into varnames */
    enum { PEL_PARAM_PLAIN, PEL_PARAM_STAR_ITEM, PEL_PARAM_KEY_ITEM, PEL_PARAM_STAR } kind;
    uint32_t item; /* STAR_ITEM: which one of *args */
    pel_name key;  /* KEY_ITEM: its key in **kwargs */
    bool keyword_only;
    bool optional;      /* KEY_ITEM: some calls don't pass it */
    bool forwarded;     /* and it goes on as it came, or not at all */
    pel_node *fallback; /* the author's default, or NULL; of an optional item: that of whoever gets it in the end;
                           of a nested function: what it is where the function is made */
    const pel_node *author_default; /* as the author wrote it */
    pel_id without;                 /* an activation whose call left it to its default; 0: none did so far */
    const pel_taint *taint;         /* a fact: of what the calls pass */
    bool passed;                    /* by a call that is written as it stands */
    bool left_out;                  /* by another of those calls */
    const struct pel_group *of;     /* the wrapper that took it and whose calls know it; NULL: the function itself */
    bool unread;                    /* nothing reads it */
    bool dead;                      /* and so it goes */
    bool required;                  /* of the root: its default is not written, every call gave it */
} pel_param;

/* What kind of function it is, and who calls it. */
typedef struct pel_group_is {
    bool nested;       /* a function or lambda inside another: written where the author wrote it */
    bool root, pinned; /* called from where we write nothing: its signature stays */
    bool property, init, generator;
    bool context;      /* a generator that contextlib.contextmanager decorates */
    bool without_self; /* all that call it are STATIC */
} pel_group_is;

/* What is known of it, grown from round to round of the walk. */
typedef struct pel_group_facts {
    const pel_taint *result;
    bool falls_off;    /* some lane comes to its end without a return */
    bool left_by_data; /* it returns from within a test on data: how deep it calls itself is not known */
    bool chosen;       /* data say who calls it */
    bool doubted;      /* its walk failed, and data reached it: what it gives and does is not known */
    bool has_effect;   /* calling it does more than return a value */
    bool shares;       /* what it does concerns a variable of the file */
} pel_group_facts;

struct pel_group {
    uint32_t number;
    pel_id code;
    const pel_author *author;
    pel_id class;  /* of self, 0 for a plain function */
    pel_id *lanes; /* activations */
    uint32_t n_lanes, cap_lanes;
    pel_param *params;
    uint32_t n_params;
    pel_name hint; /* the name by which calls know it */
    pel_group_is is;
    pel_group_facts facts;
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
    bool by_stars;     /* **dict: who made that says the order */
    bool receiver;     /* the first parameter is what stands before the dot, or the callee itself */
    pel_callee callee; /* how the text names it */
    bool looks_up;     /* it asks objects that were there before the run, and is given nothing that it could change */
} pel_link;

/* ---- forward hooks ---- */

typedef struct pel_hook {
    pel_id activation, module;
    pel_id forward;      /* the activation that it stands before or behind; 0: the module is torch's */
    pel_id args, kwargs; /* values; kwargs: 0 if it did not ask for them */
    pel_id dict;         /* its third argument, where that is a dict: keywords, or what the forward gave */
    uint32_t first;      /* which positional argument is the module: 1 for a bound method */
    pel_id owner; /* another module of the tree that it is a method of: the text registers it as its author did */
    bool before;
} pel_hook;
typedef PEL_VEC(pel_hook *) pel_hook_list;

/* Forwards that torch does not call as they are. */
typedef struct pel_hooks {
    pel_hook_list all;
    pel_map of_activation; /* of a hook -> it */
    pel_map of_forward;    /* activation of a forward -> its pel_hook_list */
    pel_map owner_of;      /* activation of a forward that was set on an instance -> that module */
} pel_hooks;

/* ---- the whole synthesis ---- */

typedef struct pel_reach { /* link.c */
    bool *seen;            /* per group: the root leads to it */
    bool *active;          /* per link: its call stands in a text that is reached */
} pel_reach;

typedef struct pel_helper { /* a straight line */
    pel_program_function *function;
    pel_name wish; /* the author's name */
} pel_helper;

/* Where what an activation led to ends in the log. Nothing of it comes before it; within, there may be what others led
 * to, because a generator goes on when somebody else asks it. */
typedef struct pel_extent {
    pel_id end;                      /* of activations */
    uint32_t first_event, end_event; /* of events */
} pel_extent;

typedef struct pel_fold { /* an expression of the author's that is written as a value */
    const struct pel_group *group;
    const pel_node *author, *text;
    const pel_taint *taint; /* a constant: its reason */
} pel_fold;

typedef struct pel_reference { /* a Name or Attribute in the text that must get a group's final name */
    pel_node *node;
    pel_id code;
    pel_group *group;
    bool held; /* the node stands in no function: constructors set it */
} pel_reference;

/* Objects, by their identities. */
typedef struct pel_objects {
    bool *live;              /* per value: is a tensor, holds one, or is changed by the run */
    pel_map old;             /* that were there before the run -> 1 */
    pel_map given;           /* that callers pass to the model, and the classes of those that are the author's -> 1 */
    pel_map shared;          /* that are variables of the file -> 1 */
    pel_map written;         /* class and attribute -> PEL_STORED_; class of an object that is no module -> 1 */
    pel_map written_globals; /* file and name -> its value before the run */
    pel_map written_cells;   /* file and name, of a closure that was made before the run -> 1 */
} pel_objects;

/* Dependences that functions share, which grow from round to round of the walk. */
typedef struct pel_shared_facts {
    pel_map attributes; /* class and name -> taint */
    pel_map filled;     /* identities of lists, dicts and sets -> PEL_FILLED_: what functions put into them */
    pel_map cells;      /* code and name -> taint */
    bool changed;       /* one grew in this round */
} pel_shared_facts;

/* Calls of functions in the making by others. */
typedef struct pel_calls {
    PEL_VEC(pel_link *) links;
    pel_map link_of; /* Call node -> link */
    bool *linked;    /* per activation: some link of this round leads to it */
} pel_calls;

/* What the walk noted of nodes of the text that is no note of their kind (depends/notes.h). */
typedef struct pel_notes {
    pel_map unwritable;      /* nodes that name an object without a literal -> 1 */
    pel_map whole_numbers;   /* comparisons of whole numbers, in every lane -> 1 */
    PEL_VEC(pel_fold) folds; /* of the last round */
    pel_map star_items;      /* text of an item of `*whole` in a call -> how many items there are */
} pel_notes;

/* What texts ask, and which runs there were to answer. */
typedef struct pel_asked {
    bool training;           /* some text depends on self.training */
    bool rank;               /* and some on how many dimensions the given tensors have */
    bool type;               /* and some on the types of the numbers and sequences that callers give */
    bool tensors;            /* and some on the root's tensors being tensors */
    bool objects;            /* or its objects being of the classes that they were of */
    bool there;              /* or being something at all */
    bool is_rank_open;       /* which can't be asserted of all of them: questions stay in the text */
    bool is_rank_computed;   /* some call leaves out dimensions of size 1: of what is made, sizes decide it */
    bool lists_data;         /* some text makes lists of tensors, as long as data say */
    bool is_type_open;       /* nor the types of what is in given containers and objects */
    bool trained, evaluated; /* runs in train mode, in eval mode */
    bool catches;            /* some text catches what another may raise */
} pel_asked;

typedef struct pel_synth {
    pel_ctx *ctx;
    const pel_log *log;
    pel_program *program;
    const pel_author *authors; /* per code */
    PEL_VEC(pel_group *) groups;
    pel_group **group_of; /* per activation */
    pel_extent *extents;  /* per activation */
    pel_map split;        /* activation -> part: which of the texts of its function tells it */
    pel_map lifted;       /* code -> how many of its first parameters were none */
    pel_objects objects;
    pel_shared_facts facts;
    bool regroup; /* split grew: begin again */
    /* the texts of the last round */
    pel_calls calls;
    PEL_VEC(pel_reference) references;
    PEL_VEC(pel_helper) helpers; /* straight lines */
    pel_notes notes;
    pel_reach reached; /* what the root leads to, once nothing shrinks any more: for the passes of DEFINE */
    bool has_stub;     /* something that never ran is named */
    pel_asked asked;
    pel_hooks hooks;
} pel_synth;

static inline pel_link *pel_link_at(const pel_synth *s, const pel_node *node) {
    return pel_map_pointer(&s->calls.link_of, PEL_KEY(node));
}

/* ---- groups.c ---- */
bool pel_ran(const pel_synth *s, pel_id code); /* in a run that counts */
/* What an activation got for a parameter; 0 if it is an item of *args or **kwargs that was not given. */
pel_id pel_argument(const pel_log *log, pel_id activation, const pel_param *param);
/* Whether the function was made by another one that was recorded: then it is written inside of that one. */
bool pel_made_in_run(const pel_synth *s, const pel_author *author);
/* The forward of a module of the tree, called as torch calls it. */
bool pel_runs_module(pel_synth *s, pel_id activation);
/* wish, or something like it, as a name that the function does not use for something else. */
pel_name pel_free_name(pel_synth *s, const pel_code_object *code, pel_name wish);

/* ---- walk/kept.c: what it calls back ---- */
bool *pel_find_kept(pel_synth *s); /* per activation: the author's text of an autograd function tells it */

/* ---- live.c ---- */
#define PEL_ASKS_KEY_ORDER                                                                                             \
    "the order of keyword arguments is asked, and a signature that names them has none: give a dict instead"
void pel_find_live(pel_synth *s);
void pel_find_written_cells(pel_synth *s);
void pel_make_live(pel_synth *s, pel_id class); /* the objects of it that the run makes hold data */
static inline uint64_t pel_given_class(pel_id class) { return ~(uint64_t) class; } /* its key in `given` */
bool pel_live(const pel_synth *s, pel_id value);                                   /* is a tensor, or holds one */
bool pel_plain(const pel_synth *s, pel_id value);                                  /* can be folded into the text */
bool pel_is_given_container(const pel_synth *s,
                            pel_id value); /* that very list or dict came with a call of the model */
/* An object that the run neither fills with tensors nor changes: all that is read from it is known. */
bool pel_is_static_object(const pel_synth *s, pel_id value);

/* ---- depends/live.c ---- */
/* d[k] = v, d[k] += v at a record: what d was; 0: not found. */
pel_id pel_container_of_store(const pel_author *author, const pel_activation *activation, uint32_t record);

/* ---- depends/before.c ---- */
/* Why what a record does may be something else in the next call: it reads what calls leave. NULL: it does not. */
const char *pel_left_by_calls(const pel_synth *s, const pel_activation *activation, uint32_t record);
/* Whether it reads, in some of its records, what calls before it left. */
bool pel_reads_stored(const pel_synth *s, const pel_activation *activation, uint32_t from, uint32_t end);
/* Whether what an activation did in some of its records may be something else in another call: data came by, or what
 * calls change. asks_mode: set if the answer hangs on a module's mode. */
bool pel_met_data(const pel_synth *s, const pel_activation *activation, uint32_t from, uint32_t end, bool *asks_mode);

/* ---- depends/rules.c ---- */
bool pel_is_written(const pel_synth *s, pel_id holder, pel_name name); /* runs store that attribute */
/* What an attribute of a value depends on; base: what the value does. */
const pel_taint *pel_attribute_depends(const pel_synth *s, pel_id holder, pel_name name, const pel_taint *base);
bool pel_keeps_state(const pel_synth *s, pel_id value); /* an object of C's or a library's that may change when asked */
/* What a method that is no function of the author's gives, where it is asked of a constant, with constants. */
const pel_taint *pel_method_depends(const pel_synth *s, pel_id holder, pel_name name);

/* ---- effects.c: what calls of torch and the standard library do ---- */
bool pel_is_foreign_operator(pel_str path); /* one that a library registered, and torch does not bring */
bool pel_library_pure(pel_str path);        /* gives a value and does nothing else, unless an option says so: */
int pel_library_option(pel_str path);       /* the place of the argument that makes it change what it gets; -1: none */
bool pel_is_option(pel_name keyword);       /* and its names */
bool pel_library_asks_settings(pel_str path); /* of the process: an environment variable, a package */
bool pel_library_settled(pel_str path);       /* its plain result does not depend on the data of its arguments */
bool pel_library_hands_on(pel_str path);      /* it gives what is in its arguments: tuple(sizes) */
bool pel_library_asks_torch(pel_str path);    /* called without arguments: its answer hangs on settings */
bool pel_is_in_place(pel_str name);           /* add_ */
bool pel_library_ambient(pel_str path);       /* its result depends on a mode of torch, on chance or on the time */
bool pel_makes_floats(const pel_node *text);  /* a new tensor of floats, so that times one it is itself */
bool pel_method_pure(uint8_t value_kind, pel_name name);
bool pel_module_pure(const pel_log *log, pel_id module);

/* ---- dead.c ---- */
bool pel_pure(const pel_synth *s, const pel_node *expression);
bool pel_is_new_container(const pel_node *value);

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

/* ---- hooks.c ---- */
void pel_find_hooks(pel_synth *s);
void pel_insert_hooks(pel_synth *s, pel_group *group); /* into the text of a forward */
void pel_write_hooked(pel_synth *s);                   /* classes for modules of torch's */

/* ---- given.c: what callers give the model ---- */
typedef enum pel_rank_form {
    PEL_RANK_NONE,      /* no tensor is given */
    PEL_RANK_OWN,       /* a tensor */
    PEL_RANK_OF_ITEMS,  /* a list or tuple of tensors */
    PEL_RANK_OF_VALUES, /* a dict of tensors */
    PEL_RANK_OPEN,      /* tensors with different numbers of dimensions, or deeper inside */
} pel_rank_form;
/* or_none: some calls gave None, or nothing */
pel_rank_form pel_given_rank(const pel_synth *s, const pel_group *root, const pel_param *param, uint32_t *rank,
                             bool *or_none);
pel_node *pel_is_as_recorded(const pel_synth *s, pel_node *text,
                             pel_node *value); /* the test whether text has that value */
void pel_mark_given(pel_synth *s, pel_group *root);

/* ---- lines/: functions that are written as what they were seen to do ---- */
void pel_walk_straight(pel_synth *s, pel_group *group);

/* ---- refuse.c: what is named but never ran ---- */
pel_node *pel_stub_def(pel_ctx *ctx, const pel_node *author); /* a nested function that raises */
pel_node *pel_stub_name(pel_synth *s);                        /* the name of a function of the file that raises */
void pel_write_stub(pel_synth *s);
pel_nodes pel_stub_body(pel_ctx *ctx); /* raise NotImplementedError("path not recorded") */

/* ---- groups.c: functions that get several texts ---- */
bool pel_split_group(pel_synth *s, const pel_group *group); /* true if its lanes are several functions from now on */

/* ---- walk.c ---- */
pel_synth *pel_synth_new(pel_ctx *ctx, pel_program *program);

#endif
