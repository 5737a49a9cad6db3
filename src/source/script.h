/* A TorchScript archive, between its members (script.c) and the methods of its modules: the author's own text
 * (script_text.c), or the file's code translated (script_dialect.c). */
#ifndef PEL_SOURCE_SCRIPT_H
#define PEL_SOURCE_SCRIPT_H

#include "source/source.h"

typedef struct pel_author_text { /* a function, as its author wrote it */
    pel_node *function;          /* FunctionDef */
    pel_str file;
    int64_t line;
} pel_author_text;

typedef struct pel_script_range { /* from this byte of the code on: what it was compiled from */
    uint64_t start;
    const pel_pickled *lines; /* numbers of strings; their texts make the whole function */
    int64_t file, line;
} pel_script_range;

typedef struct pel_script_file { /* code/__torch__/torch/nn/modules/linear.py */
    pel_str module;              /* "__torch__.torch.nn.modules.linear" */
    pel_str text;
    pel_node *root;
    uint64_t at;             /* in the archive */
    PEL_VEC(uint64_t) lines; /* byte where each begins */
    bool has_ranges;         /* they were looked for */
    PEL_VEC(pel_script_range) ranges;
    const pel_pickled *strings;
} pel_script_file;

typedef struct pel_script_class {
    pel_script_file *file;
    const pel_node *node;
} pel_script_class;

typedef struct pel_script_part { /* what the archive has of a module */
    pel_part *part;
    const pel_pickled *state;      /* a dict; NULL: none */
    const pel_script_class *class; /* NULL: the code has it not */
    pel_map methods;               /* name in the code -> the name it has here */
} pel_script_part;

typedef struct pel_script {
    pel_recovery *r;
    const pel_zip *zip;
    pel_str folder;
    pel_map files;                    /* interned module -> pel_script_file */
    pel_map texts;                    /* pel_pickled of lines -> pel_author_text; NULL: it can't be used */
    pel_map by_part;                  /* pel_part -> pel_script_part */
    PEL_VEC(pel_script_part *) parts; /* parents first */
    const pel_pickled *constants;     /* a tuple */
    pel_map functions;                /* interned "__torch__.package.function" -> the pel_name it has here */
    pel_map function_names;           /* those names -> 1 */
    uint32_t n_texts, n_translated;   /* methods and functions, by where they come from */
    bool is_traced;
} pel_script;

/* ---- script.c ---- */
/* "torch.nn.modules.linear" of "__torch__.torch.nn.modules.linear.___torch_mangle_3". */
pel_str pel_script_plain(pel_ctx *ctx, pel_str module);
const pel_script_class *pel_script_class_of(pel_script *s, pel_str module, pel_str name);
/* A function of the code by its whole name; NULL: there is none. */
const pel_node *pel_script_function(pel_script *s, pel_str full, pel_script_file **file);
_Noreturn void pel_script_refuse(pel_script *s, const pel_script_file *file, const pel_node *where, const char *what,
                                 pel_str name);

/* ---- script_values.c ---- */
/* Plain attributes and constants of a module, as far as they are plain values. */
void pel_script_attributes(pel_script *s, pel_script_part *p);
/* A value without the calls that only say its type. */
const pel_pickled *pel_script_untagged(const pel_pickled *value);
/* What the code writes for a constant; NULL: it is none. */
pel_node *pel_script_literal(pel_ctx *ctx, pel_node *value);
/* The module as a constructor of torch.nn's, or a list; false: its class must be written. */
bool pel_script_module(pel_script *s, pel_script_part *p);
/* CONSTANTS.c3 as an expression; NULL: its values can't be written. */
pel_node *pel_script_constant(pel_script *s, int64_t index);

/* ---- script_text.c ---- */
/* The author's text of a function of the code, ready to be printed; NULL: the file has none that could stand alone.
 * p: the module whose method it is; NULL: a function. */
pel_node *pel_script_text(pel_script *s, pel_script_part *p, pel_script_file *file, const pel_node *function);

/* ---- script_dialect.c ---- */
/* The code's own function, translated. */
pel_node *pel_script_translate(pel_script *s, pel_script_part *p, pel_script_file *file, const pel_node *function);
/* What a free function that the code calls is here: one of torch's, or a name; it is written the first time. */
pel_node *pel_script_needs(pel_script *s, pel_str full, const pel_script_file *file, const pel_node *where);

/* ---- script_sizes.c ---- */
/* Numbers that a trace keeps as tensors are numbers again, where nothing could tell. */
void pel_script_sizes(pel_ctx *ctx, pel_nodes *body);

#endif
