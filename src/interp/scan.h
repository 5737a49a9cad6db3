/* Networks from source: runs the source in the machine and reads the modules that it made. */
#ifndef PEL_INTERP_SCAN_H
#define PEL_INTERP_SCAN_H

#include "interp/vm.h"
#include "model/model.h"

typedef struct pel_scan_request {
    pel_str path, text;
    bool is_snippet; /* code of the command line: its last expression is a network too */
    bool classes;    /* also classes that nothing made an instance of */
    pel_str forward; /* "2x3x224x224", several with a comma between; empty: no forward */
} pel_scan_request;

/* Steps that one request may take; 0: the default. */
pel_scanner *pel_scanner_new(pel_ctx *ctx, const pel_files *files, uint64_t max_steps);
void pel_scanner_root(pel_scanner *scanner, pel_str folder);
/* --set name=value; value is a Python expression. Throws PEL_E_USAGE if it is none. */
void pel_scanner_set(pel_scanner *scanner, pel_str name, pel_str value);
/* What is set between the two is forgotten. */
void pel_scanner_push(pel_scanner *scanner);
void pel_scanner_pop(pel_scanner *scanner);
/* Runs the import statements that at least so many of the sources have, and nothing else of them (scan_ahead.c). */
void pel_scanner_import(pel_scanner *scanner, const pel_scan_target *targets, size_t n, size_t wanted_by);
/* The import statements of a source, one on each line. Throws if it can't be parsed. */
void pel_scanner_imports(pel_scanner *scanner, const pel_scan_target *target, pel_buf *out);
/* The networks of one file or snippet. Modules that were imported stay for the next request. What stopped the run
 * is in *problems. */
void pel_scan(pel_scanner *scanner, const pel_scan_request *request, pel_networks *networks, pel_network **problems);

void pel_start_over(pel_scanner *scanner);
pel_str pel_package_of(pel_scanner *scanner, pel_str path); /* that the file is a module of; empty: none */

/* The code of a notebook as one program; a line of what only notebooks understand becomes `pass`. Throws PEL_E_FORMAT.
 */
pel_str pel_notebook_program(pel_ctx *ctx, pel_str text);

/* ---- scan_tree.c: live modules -> model tree ---- */

typedef struct pel_recording pel_recording;

typedef struct pel_birth { /* how a module was made */
    pel_val self, args;    /* args: tuple */
    pel_val kw_names, kw_values;
    pel_str file;
    uint32_t line;
    pel_val repeating; /* tuple of the counts of the loops it was made in */
    pel_shape output;
    double flops;
    pel_place called; /* where the author last called it */
    pel_val built_by; /* the constructor of the torch class that it is or derives from, */
    pel_val built_of; /* and what was bound to its parameters: a tuple; only where the source is wanted */
} pel_birth;

/* ---- scan_watch.c: what an editor shows of forwards ---- */

typedef struct pel_seen_call {
    pel_str path, class; /* of the module, in its network; class empty: of several */
    pel_shape output;
    double flops; /* negative: not known */
} pel_seen_call;

typedef struct pel_seen { /* what one run saw at one place of the text */
    const pel_node *node; /* a name that is assigned, or a call */
    pel_shape shape;      /* of the tensor; "*" for sizes that are not the same each time */
    uint32_t times;
    pel_seen_call call; /* of calls: the first, with the work of all */
} pel_seen;

typedef struct pel_seen_run { /* a forward */
    pel_str network, class, input;
    bool is_given; /* the input: by the user, not taken from the first layer */
    bool is_done;  /* it ran to its end */
    uint32_t n_calls;
    uint32_t n_asked; /* conditions that are not known, and were decided */
    pel_shape output;
    double flops;
    PEL_VEC(pel_seen) seen;
    pel_map places; /* node -> index into seen, from 1 */
} pel_seen_run;

typedef struct pel_watch {
    pel_str file; /* whose lines are of interest */
    /* The input that the user gave for a class or a network; empty: none. */
    pel_str (*input)(const void *arg, pel_str class, pel_str network);
    const void *arg;
    PEL_VEC(pel_seen_run *) runs;
    pel_seen_run *run; /* the one that is running */
} pel_watch;

typedef struct pel_running { /* a call of a module, in a forward */
    pel_val module;
    pel_val inputs;          /* list of tensors */
    double work;             /* multiply-adds before it; negative: some could not be counted */
    bool is_leaf;            /* no other module ran inside */
    const pel_node *written; /* the call in the text that is watched; NULL: none */
} pel_running;

typedef struct pel_found {
    pel_str name; /* the variable that holds it */
    pel_val self;
} pel_found;
typedef PEL_VEC(pel_found) pel_found_list;

struct pel_scanner {
    pel_vm *vm;
    pel_scan_files outside;
    pel_str forward;
    bool as_json, classes;
    bool is_one_of_many;       /* sources: what would take long and nobody asked for is left, and said */
    bool wants_source;         /* the construction code of each network, as a program */
    pel_dict *assigned_before; /* by pel_scanner_push */
    const pel_network *known;  /* what a file has that was given with the source; NULL: none */
    pel_str known_name;
    pel_str wanted;           /* which network's; empty: the only one's */
    pel_recording *recording; /* of the forward that is running; NULL: it is not recorded */
    pel_watch *watch;         /* for an editor; NULL: nobody watches */
    pel_map births;           /* object -> pel_birth */
    PEL_VEC(pel_birth *) order;
    pel_found_list locals; /* what functions of the target had in variables when they were left */
    pel_map is_module;     /* type -> enum pel_module_kind + 1 */
    uint32_t n_requests;
    size_t may_take;       /* of memory, all files together */
    size_t class_may_take; /* of the ctx, for the runs of the class that is scanned; 0: none is */
    uint64_t steps_left;   /* of what the file that is scanned may take, all its runs together */
    pel_place stopped;     /* where the last run was that went over a budget */
    pel_network *network;  /* of the forward that is running */
    pel_map names;         /* object -> index into paths */
    PEL_VEC(pel_str) paths;
    PEL_VEC(pel_running) running;
    pel_val probe, probed;        /* a tensor to see which layer takes the input, and that layer (scan_probe.c) */
    bool wants_certain;           /* only errors that no other input would mend */
    struct pel_mode_trial *trial; /* of a train() that is running (scan_modes.c); NULL: of none */
    pel_map authors;              /* code -> 2: an author's, 1: not */
    pel_map flows;                /* interned "from to" that network->flow has */
};

pel_module_kind pel_module_kind_of(pel_scanner *scanner, pel_type *type);
pel_module *pel_read_module(pel_scanner *scanner, pel_val self, pel_str name);
void pel_watch_births(pel_scanner *scanner);
pel_birth *pel_birth_of(pel_scanner *scanner, pel_val self); /* NULL: not made by this run */
/* The first class of torch's that a class inherits from, nn.Module too; NULL: none. */
pel_type *pel_torch_class_of(pel_vm *vm, const pel_type *type);
/* The function that takes its arguments by name; NULL: it takes none. */
pel_val pel_torch_init_of(pel_vm *vm, const pel_type *type);
pel_node *pel_value_node(pel_vm *vm, pel_val v); /* how a value is written as an argument */
pel_shape pel_shape_of_val(pel_scanner *scanner, pel_val tensor);

/* ---- scan_find.c ---- */

void pel_find_networks(pel_scanner *scanner, pel_val module, pel_found_list *out);
void pel_leave_function(pel_vm *vm, const pel_frame *frame);

/* ---- scan_args.c ---- */

#define PEL_CLASS_ARGS 64
typedef struct pel_class_call {
    pel_val args[PEL_CLASS_ARGS], names[PEL_CLASS_ARGS], values[PEL_CLASS_ARGS];
    uint32_t n, n_open; /* arguments; those of them that are symbols or assumed */
    pel_kw kw;          /* of names and values */
} pel_class_call;
/* What a class is called with: parameters without default as symbols, by_annotation as instances of the class that
 * annotates them where they can be made, with a note. True if there was one. */
bool pel_class_args(pel_scanner *scanner, pel_type *type, bool by_annotation, pel_class_call *call);

/* ---- scan_described.c ---- */

/* Of a file that ran: builds the networks that its data describes, under their names; what can't be built is a row of
 * vm->unknown. */
void pel_build_described(pel_scanner *scanner, pel_val module, pel_node *root, pel_str path);

/* ---- scan_join.c: runs with different decisions -> one tree ---- */

typedef struct pel_scan_run {
    pel_module *root;   /* NULL: that run did not make it */
    bool failed;        /* it stopped before it could */
    uint32_t recovered; /* statements that it left out */
    const pel_note *asked;
    const bool *decided;
    uint32_t n;
} pel_scan_run;
/* The first run's tree, with what other runs have and don't have marked by conditions. */
pel_module *pel_join_runs(pel_ctx *ctx, const pel_scan_run *runs, uint32_t n);
/* Same class, arguments and tensors: two roots that are not are two networks. */
bool pel_same_but_children(const pel_module *a, const pel_module *b);
/* Lists the questions of the runs that the joined tree depends on; all of them if some answers were not tried. */
void pel_put_questions(pel_ctx *ctx, pel_network *network, const pel_scan_run *runs, uint32_t n, bool is_complete);

/* ---- scan_source.c ---- */
/* A program that builds the network, into network->source; what can't be carried is listed as unknown. */
void pel_scan_source(pel_scanner *scanner, pel_network *network, pel_val self, pel_str forward);
/* Runs that decided otherwise made another tree: then one program can't build it. */
void pel_drop_conditional_source(pel_ctx *ctx, pel_network *network);

/* ---- scan_probe.c ---- */

/* Adds shape errors that are there whatever the input is. */
void pel_scan_probe(pel_scanner *scanner, pel_network *network, pel_val self);
/* Whether a layer's own output does not fit the layer that takes it. */
bool pel_is_certain(pel_scanner *scanner, const pel_exception *e, pel_val taker);

/* ---- scan_watch.c ---- */

void pel_watch_begin(pel_scanner *scanner);
pel_seen_run *pel_watch_end(pel_scanner *scanner);
const pel_node *pel_watched_call(pel_scanner *scanner);
void pel_watch_return(pel_scanner *scanner, const pel_node *node, const pel_seen_call *call);

/* ---- scan_places.c ---- */

bool pel_is_author(pel_scanner *scanner, const pel_codeobj *code);
pel_place pel_author_place(pel_scanner *scanner); /* the line of the author's that is running; line 0: none */
pel_val pel_shaped_here(pel_vm *vm);
/* The operation that gave a tensor its shape, and where the author wrote it. False: nobody wrote it down. */
bool pel_shaped_by(pel_scanner *scanner, pel_val tensor, pel_str *name, pel_place *place);

/* ---- scan_forward.c ---- */
/* rec: what is to record the run; NULL: nothing. False: it could not run to its end. */
bool pel_scan_forward(pel_scanner *scanner, pel_network *network, pel_val self, pel_str shapes, pel_recording *rec);

#endif
