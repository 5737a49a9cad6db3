/* Constructors: what the files that write them share.
 *
 * init.c begins with the root; build/module.c writes the call that builds a module, which for a class of the author's
 * needs the signature of its constructor: build/class.c. That one unifies the parts of all instances (build/module.c),
 * among them the calls that build their children, and so down to torch's modules. */
#ifndef PEL_TRACE_BUILD_INIT_H
#define PEL_TRACE_BUILD_INIT_H

#include "trace/program.h"
#include "trace/build/unify.h"

#define PEL_DEEPEST_TREE 200 /* of modules */

typedef enum pel_progress { PEL_NOT_YET, PEL_UNDER_WAY, PEL_DONE } pel_progress;

typedef struct pel_builder {
    pel_ctx *ctx;
    pel_program *program;
    const pel_log *log;
    pel_map class_of;       /* class -> its pel_program_class */
    pel_map progress;       /* class -> enum pel_progress */
    pel_map call_of;        /* module -> the call that builds it */
    pel_map signed_call_of; /* module of an author's class -> the call of that class */
    pel_map parameters;     /* class by name -> the parameters of the author's constructor */
    int depth;              /* of the module whose call is written */
    /* of build/wanted.c */
    pel_map attributes;      /* names that any code reads as an attribute or as text */
    pel_map self_attributes; /* class -> pel_map of attributes of self, which only that class's methods read */
    pel_map names;           /* that any code mentions */
    pel_map idle;            /* class -> 1: no code of it is left, only the weights of its instances are wanted */
    pel_map ran;             /* class -> 1: some code of it ran, whether it is left or not */
    /* of build/objects.c */
    pel_map held_classes; /* class -> how its objects are built */
    pel_map held_objects; /* identity of an object that is built -> 1 */
} pel_builder;

pel_program_class *pel_class_for(pel_builder *b, pel_id class); /* init.c: its row in the program */

/* ---- texts that all of them write ---- */
pel_node *pel_self_attribute(pel_ctx *ctx, pel_name name, pel_CTX use);
pel_node *pel_call_of(pel_ctx *ctx, pel_node *func, pel_nodes args);
void pel_add_keyword(pel_ctx *ctx, pel_node *call, pel_name name, pel_node *value);
/* notes: of pel_node_note, those of keywords. */
void pel_add_noted(pel_builder *b, pel_node *call, pel_name name, pel_node *value, uint32_t notes);
pel_node *pel_not_trained(pel_ctx *ctx, pel_node *of); /* of.requires_grad_(False) */

/* ---- build/module.c: what the module tree says ---- */
bool pel_are_numbered(pel_name_list names);             /* 0, 1, 2 ... */
bool pel_owns_state(const pel_log *log, pel_id module); /* a state_dict has something of it */
bool pel_is_frozen(const pel_log *log, pel_id module);  /* it has parameters, and none takes a gradient */
/* Whether the torch class that a module's class inherits from makes the attribute. */
bool pel_is_made_by_base(const pel_log_module *row, pel_name name);
bool pel_is_plain_module(const pel_log *log, pel_id class);  /* inherits from torch.nn.Module and no other */
bool pel_is_torch_module(const pel_log *log, pel_id module); /* of a class that torch defines */
/* Whether the class is one that torch derived from one of its own for a single module. */
bool pel_is_derived_by_torch(const pel_log *log, pel_id class);
bool pel_is_parametrization_list(const pel_log *log, pel_id module);
/* The child in which torch keeps a module's parametrizations, one list for each tensor; NULL if it has none. */
const pel_log_module *pel_parametrizations_of(const pel_log *log, const pel_log_module *row);

/* ---- build/wanted.c: what the skeleton needs of it ---- */
void pel_find_wanted(pel_builder *b); /* once, before all that follows */
bool pel_is_read(const pel_builder *b, pel_id class, pel_name attribute);
bool pel_is_needed(const pel_builder *b, const pel_log_module *parent, uint32_t child);
pel_id pel_needed_value(const pel_log *log, const pel_needed_attribute *need, pel_id module); /* 0: it has none */
bool pel_is_container_enough(const pel_builder *b, pel_id class);  /* torch's own do for its instances */
bool pel_is_here_for_weights(const pel_builder *b, pel_id module); /* no code reaches into it */

/* ---- build/mode.c ---- */
const pel_node *pel_author_class(const pel_program *program, pel_id class); /* its ClassDef; NULL: not known */
void pel_write_modes(pel_builder *b, pel_program_class *class);             /* the author's train() and eval() */
pel_nodes pel_modes_of(pel_builder *b, pel_program_class *class);           /* the same, before anything is written */

/* ---- build/module.c: the expression that builds a module ---- */
pel_node *pel_module_call(pel_builder *b, pel_id module);
pel_node *pel_child_text(pel_builder *b, pel_id child); /* the same; frozen if it is one of torch's that is */
pel_node *pel_torch_module_call(pel_builder *b, pel_id module);
/* path(args): a call that makes a module, a parameter or the like. */
pel_node *pel_building_call(pel_builder *b, pel_str path, pel_nodes args);
pel_nodes pel_container_arguments(pel_builder *b, const pel_log_module *row, pel_container kind);
void pel_add_torch_arguments(pel_builder *b, pel_node *call, const pel_log_module *row);
pel_node *pel_parameter_text(pel_builder *b, pel_id tensor);
pel_node *pel_buffer_text(pel_builder *b, pel_id module, const pel_log_slot *slot);

/* ---- build/module.c: parametrized modules ---- */
pel_node *pel_with_parametrizations(pel_builder *b, pel_node *made, pel_id module);
/* The tensor of a parametrization list that has the shape of what it makes. */
pel_id pel_original_of(const pel_log_module *list);

/* ---- build/module.c: parts of instances ---- */
typedef enum pel_part_kind {
    PEL_PART_ATTRIBUTE,
    PEL_PART_PARAMETER,
    PEL_PART_CHILD,
    PEL_PART_BUFFER,
    PEL_PART_VOLATILE_BUFFER /* not in the state_dict */
} pel_part_kind;
typedef struct pel_part {
    pel_name name;
    pel_node **lanes; /* its expression in each instance; None where an instance does not have it */
    pel_part_kind kind;
} pel_part;
typedef PEL_VEC(pel_part) pel_part_list;
/* In the order in which the constructor sets them. */
pel_part_list pel_parts_of(pel_builder *b, const pel_program_class *class);
/* What an attribute holds, where that is made of modules: [self.conv, self.norm]. NULL if it can't be written. */
pel_node *pel_held_text(pel_builder *b, const pel_log_module *instance, pel_id value, int depth);

/* ---- build/objects.c ---- */
/* The call that builds an object which an instance holds and the run changes; NULL if there is none. */
pel_node *pel_held_object(pel_builder *b, const pel_log_module *instance, pel_id object, int depth);

/* ---- build/class.c ---- */
void pel_finish_class(pel_builder *b, pel_program_class *class); /* its `init`, and the calls of all its instances */
bool pel_is_frozen_in_all(const pel_builder *b, const pel_program_class *class, pel_name parameter); /* instances */
pel_node *pel_super_init(pel_ctx *ctx); /* super().__init__, not called */
void pel_add_argument(pel_ctx *ctx, pel_node *arguments, pel_name name, pel_node *fallback);

/* ---- build/class.c: hooks ---- */
void pel_register_hooks(pel_builder *b, const pel_program_class *class, pel_nodes *body); /* of all its instances */
void pel_register_other_hooks(pel_builder *b, pel_nodes *body); /* those that no class registers, by the root */

/* ---- build/ties.c ---- */
void pel_add_ties(pel_builder *b, const pel_program_class *root);
pel_node *pel_path_text(pel_ctx *ctx, pel_str path, pel_CTX use); /* "layers.0.norm" -> self.layers[0].norm */

#endif
