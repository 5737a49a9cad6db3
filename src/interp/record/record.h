/* What the machine made and ran -> the log that the synthesis of src/trace reads. The log has two sources: the recorder
 * of the extension, which watches CPython, and this one, which watches our own machine; nothing is executed here. */
#ifndef PEL_INTERP_RECORD_H
#define PEL_INTERP_RECORD_H

#include "interp/scan.h"
#include "trace/log/log.h"

typedef struct pel_logged { /* a code object that has its row */
    pel_id row;
    uint32_t *unit_of; /* instruction -> code unit in the log */
} pel_logged;

struct pel_recording {
    pel_scanner *scanner;
    pel_vm *vm;
    pel_ctx *ctx;
    pel_log *log;
    pel_map values; /* hash of a row -> the last row that has it */
    PEL_VEC(pel_id) same_hash;
    pel_map numbers;  /* object -> its identity in the log */
    pel_map library;  /* object -> pel_name: how torch or the standard library call it */
    pel_map doubtful; /* functions that have two names: one model of ours stands for both */
    pel_str hint;     /* the name by which what is logged was asked for; empty: none */
    pel_map modules, tensors, classes, objects, codes; /* of the machine -> row */
    pel_map files;                                     /* path -> row */
    pel_map own_fields;                                /* interned str: what an empty nn.Module has */
    uint64_t n_objects;
    struct live *lives; /* activations of the run, the latest first */
    bool is_busy;       /* what runs now is not the model's doing */
};

/* The tree below root as it is now. */
pel_recording *pel_recording_of(pel_scanner *scanner, pel_val root);

/* ---- record_values.c ---- */
pel_id pel_logged_value(pel_recording *rec, pel_val v);
pel_id pel_logged_const(pel_recording *rec, const pel_const *constant);
pel_id pel_logged_tensor(pel_recording *rec, pel_val tensor);
pel_str pel_logged_name(pel_recording *rec, pel_val v); /* empty: it is the author's, or has no name */
bool pel_is_author_module(pel_str module);              /* by its dotted name: what a skeleton can't import */
void pel_name_library(pel_recording *rec);
bool pel_is_shaped(pel_vm *vm, pel_val v);

/* ---- record_modules.c ---- */
pel_id pel_logged_module(pel_recording *rec, pel_val module);
pel_id pel_logged_class(pel_recording *rec, pel_type *type);
pel_id pel_logged_file(pel_recording *rec, const pel_codeobj *code);

/* ---- record_tensors.c ---- */
/* The elements of a tensor, where they are known, for a program that must make it without a state_dict. */
void pel_log_elements(pel_recording *rec, pel_id id, pel_val tensor);

/* ---- record_code.c ---- */
/* class: that it is a method of; 0: of none, or not known yet. */
pel_logged *pel_logged_codeobj(pel_recording *rec, pel_codeobj *code, const pel_dict *globals, pel_id class);

/* ---- record_run.c: what runs in between is recorded ---- */
void pel_recording_begin(pel_recording *rec, const pel_val *args, uint32_t n);
void pel_recording_end(pel_recording *rec, pel_val result);
void pel_recording_stop(pel_scanner *scanner); /* at once, whatever was going on */

/* ---- scan_modes.c: after all else, as the modes of the modules change ---- */
struct pel_known;
void pel_try_modes(pel_recording *rec, pel_val root, struct pel_known *known);

#endif
