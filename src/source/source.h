/* Source back from a model file: what the readers of each format hand over, and what becomes of it.
 *
 * A reader (export.c, script.c) makes the parts: the modules of the file, each with the text of its methods as a syntax
 * tree. Operators are calls of a Name that no Python has, "aten.linear.default": what no table spells stays visible,
 * and the tree's checker would refuse it. spell.c writes them as people do, tidy.c makes statements short, classes.c
 * merges equal modules into classes, and recover.c writes the file. Nothing of the file is executed. */
#ifndef PEL_SOURCE_SOURCE_H
#define PEL_SOURCE_SOURCE_H

#include "load/load.h"
#include "python/print.h"

typedef struct pel_held { /* a tensor of a module */
    pel_name name;
    const pel_model_tensor *tensor;
} pel_held;

typedef struct pel_attribute { /* a plain value of a module */
    pel_name name;
    pel_node *value;
} pel_attribute;

typedef struct pel_part pel_part;
struct pel_part {       /* a module of the file */
    pel_str path, name; /* "blocks.0.attn", "attn" */
    pel_str class;      /* "Linear"; empty: not known */
    pel_str origin;     /* the module of that class, "torch.nn.modules.linear" */
    pel_part *parent;
    PEL_VEC(pel_part *) children;
    PEL_VEC(pel_held) held;
    pel_nodes methods;     /* FunctionDef: forward, and forward_1 for a call that computes something else */
    pel_str base;          /* "nn.Sequential"; empty: nn.Module, or nn.ModuleList if its members have numbers */
    const char *container; /* "nn.Sequential", "nn.ModuleDict": it is just that; NULL: it is none */
    PEL_VEC(pel_attribute) attributes; /* plain values that the file has; written where a method reads them */
    bool mutates;                      /* a method writes into tensors */
    /* what classes.c finds */
    pel_node *made; /* the constructor's call: nn.Linear(4, 8), nn.ModuleList([...]), Block(8) */
    int height;
};

/* The mark of a method: what may be done with it. */
enum {
    PEL_FROM_GRAPH,   /* one call a line: everything */
    PEL_AUTHORS,      /* the author's text: nothing */
    PEL_WITH_BRANCHES /* the file's own code, with its variables */
};

typedef struct pel_recovery {
    pel_ctx *ctx;
    pel_loaded *loaded;
    pel_part *root;
    pel_map by_path;           /* interned -> pel_part */
    PEL_VEC(pel_part *) parts; /* parents first */
    pel_str producer;          /* "torch 2.13.0" */
    PEL_VEC(pel_str) notes;    /* for the header */
    uint32_t n_constants;      /* tensors that no state dict of the file's own model has */
    bool is_fixed;             /* sizes of the example are numbers in the text */
    pel_nodes functions;       /* FunctionDef, for all classes */
    pel_nodes classes;         /* ClassDef */
    pel_map imports;           /* names of imports.def that the text uses -> 1 */
    pel_name root_class;
    bool finds_modules;    /* a part without a class may be one of torch.nn's, by its operator */
    bool needs_conversion; /* the file's tensors have other names or orders than the source's */
    uint32_t operators;    /* calls of operators, and those that no row spells: written as torch.ops */
    uint32_t unspelled;
} pel_recovery;

/* ---- parts.c ---- */
/* The parts of the loaded network. */
void pel_recover_parts(pel_recovery *r);
pel_part *pel_part_at(pel_recovery *r, pel_str path); /* NULL: none */
pel_part *pel_part_make(pel_recovery *r, pel_str path);
/* How a method of `from` names what lies below it: self.blocks[0].attn. */
pel_node *pel_part_access(pel_ctx *ctx, pel_str from, pel_str path);
bool pel_part_holds(pel_str path, pel_str of); /* whether `of` is path, or below it */

/* ---- readers: false: the file is not of this format ---- */
bool pel_recover_export(pel_recovery *r, const pel_zip *zip);
bool pel_recover_script(pel_recovery *r, const pel_zip *zip);
bool pel_recover_keras(pel_recovery *r);
bool pel_recover_onnx(pel_recovery *r); /* makes the parts itself: its loader's are operators */

/* ---- spell.c ---- */
/* A part of one operator of torch.nn gets its constructor (made), and no methods. */
void pel_recover_modules(pel_recovery *r);
/* The name of a constructor's positional argument, for those who pass it on. */
pel_str pel_module_argument(const pel_node *made, uint32_t index);
/* The constructor of a module of torch.nn, by its attributes; NULL: no row of script_modules.def fits. */
pel_node *pel_module_by_attributes(pel_recovery *r, const pel_part *part);
/* A row's text with a call's arguments in it: aten.X(...) in it is an operator. NULL: it has no place for one of
 * them. */
pel_node *pel_fill_row(pel_ctx *ctx, const char *text, const pel_node *call, const char *defaults);
/* Whether a row spells the operator of that name. */
bool pel_is_spelled(pel_str operator);
/* Operators become calls as people write them. */
void pel_spell(pel_recovery *r, pel_part *part);

/* ---- tidy.c ---- */
void pel_tidy(pel_recovery *r, pel_part *part);

/* ---- classes.c ---- */
void pel_recover_classes(pel_recovery *r);

/* ---- recover.c: everything, from the loaded file to text ---- */
typedef struct pel_recovered {
    pel_str source;
    pel_name root;
    uint32_t operators, unspelled;
    bool is_fixed;
    pel_loaded *loaded;   /* the file */
    pel_network *network; /* its tensors, as the source names and orders them */
} pel_recovered;
void pel_recover_file(pel_ctx *ctx, const pel_model_file *file, pel_recovered *out);

/* Short hands. */
pel_node *pel_name_node(pel_ctx *ctx, const char *text);
pel_node *pel_dotted(pel_ctx *ctx, const char *text); /* "nn.Linear" */

#endif
