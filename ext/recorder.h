/* The recorder: runs a model and fills the log of src/trace/log/log.h.
 *
 *   recorder.c          the type Recorder, and runs
 *   recorder_frames.c   activations and their records, from the interpreter's frames and instructions
 *   recorder_values.c   Python objects -> values of the log
 *   recorder_intern.c   equal values are one row; recorder_seen.c: which objects are the same
 *   recorder_events.c   calls of torch's functions -> events
 *   recorder_modules.c  modules, classes and code objects -> rows of the log
 *   torch_compat.c      all that touches torch
 *   units.c             what each instruction leaves behind
 *   watch.c             how instructions are seen, frames.c: frames; all that touches the inside of CPython
 *
 * It looks at objects without running any code of theirs: no attribute access that could end in __getattr__
 * or a property, no ==, no hash, no len of theirs. Weak references identify tensors; what may hold
 * tensors is never kept alive. */
#ifndef PEL_EXT_RECORDER_H
#define PEL_EXT_RECORDER_H

#include "convert.h"
#include "torch_compat.h"
#include "trace/log/log.h"
#include "units.h"
#include "watch.h"

/* An object that was seen. */
typedef struct pel_seen {
    PyObject *object;
    PyObject *keeper; /* the object itself (kept alive), a weak reference, or NULL: then only the address is known */
    uint64_t stamp;   /* of its state when `value` was made */
    uint64_t number;  /* its identity in the log, or 0 */
    pel_id value;
} pel_seen;

typedef struct pel_seen_table {
    pel_seen *slots;
    size_t n, cap;
} pel_seen_table;

/* Whose code it is; python/pellucid/_library.py decides. */
typedef enum pel_code_role {
    PEL_ROLE_LIBRARY, /* leaves nothing, but author functions that it calls do */
    PEL_ROLE_AUTHOR,
    PEL_ROLE_SILENT, /* what happens below it is not the model's doing: imports, compilers */
} pel_code_role;

typedef struct pel_code_info {
    PyObject *code; /* kept alive */
    pel_code_role role;
    bool asked_owner;
    pel_id row; /* of the log; 0 until it first runs or is seen as a value */
    uint32_t n_units;
    pel_unit *units;
} pel_code_info;

/* An activation that has not ended. Generators have theirs from the call to the end. */
typedef struct pel_live {
    pel_id id;
    pel_code_info *code;
    const void *frame;
    bool has_pending;
    uint32_t pending; /* unit of the instruction that runs */
    uint32_t at;      /* where its records stand */
    PEL_VEC(pel_record) records;
    struct pel_live *older; /* list of all in this run */
} pel_live;

typedef struct pel_recorder {
    PyObject_HEAD pel_ctx *ctx;
    pel_log *log;
    pel_torch torch;
    PyObject *root;
    PyObject *author_roots;                /* tuple of str, or NULL: everything that is not the library's */
    PyObject *leaf_types;                  /* tuple of classes whose modules are not looked into, or NULL */
    PyObject *opened;                      /* frozenset of classes of torch's and their code, read as the author's */
    PyObject *helpers, *leaves, *formulas; /* what is written in Python: pellucid._library, _leaves, _formula */

    /* what has been met; all of it is dropped when the recorder is */
    pel_seen_table objects;
    pel_map types;                  /* type -> how to look at its objects, in recorder_values.c */
    pel_map codes;                  /* code object -> pel_code_info * */
    pel_map files;                  /* name of the path -> row */
    pel_map classes;                /* type -> row */
    pel_map values;                 /* hash -> first value with that hash */
    PEL_VEC(pel_id) next_same_hash; /* value -> next value of equal hash */
    PEL_VEC(PyObject *) kept;
    PEL_VEC(PyObject *) constants; /* tensors of the author's files, to be described when nothing runs */
    PyObject *caches;              /* list: functions behind functools.lru_cache that were seen */
    PyObject *kept_list;           /* list: what code objects were made of */
    PyObject *odd_constants;       /* list: their constants that have no literal */
    uint64_t last_number, last_serial;
    uint64_t moment;                        /* goes on whenever something may have changed somebody's object */
    pel_id none, yes, no, small_ints[1030]; /* values that are met all the time */

    /* the run */
    PyThreadState *thread; /* NULL while nothing runs */
#if PEL_CAN_RECORD
    pel_watch watch;
#endif
    struct pel_recorder *next_running;
    bool is_writing; /* a thread works on the log without the GIL */
    bool wants_events;
    bool in_leaf;         /* a module of torch's runs as one event */
    PyObject *event_mode; /* on torch's stack of function modes, or NULL */
    bool holding;         /* what a module holds is looked at: arrays have a literal there */
    bool of_file;         /* a variable of the author's file is looked at: arrays have one there, too */
    bool busy;            /* the recorder itself is at work: look away */
    bool failed;
    pel_err err;
    PyObject *interrupt; /* KeyboardInterrupt and the like that reached a helper of ours; still to be raised */
    uint32_t run;
    pel_live *top;    /* the innermost author activation */
    uint32_t foreign; /* library frames above it */
    uint32_t silent;  /* frames of PEL_ROLE_SILENT that have not ended */
    pel_live *live;
    pel_map generators; /* generator -> pel_live * */
} pel_recorder;

/* Behind a call of our own Python helpers. If it raised an Exception, the helper does not know. What is not the
 * helper's own, KeyboardInterrupt, SystemExit, MemoryError, is thrown: the recording ends, and the model's next
 * instruction raises it, or run() does. */
void pel_take_error(pel_recorder *rec);

PyObject *pel_raise_failure(pel_recorder *rec); /* raises what ended the recording */

/* ---- frames ---- */
int pel_see_frames(pel_recorder *rec); /* of this thread, from now on; -1: raises */
void pel_look_away(pel_recorder *rec);
pel_recorder *pel_recorder_of(const PyThreadState *thread); /* that runs there, or NULL */

/* ---- values: throw on lack of memory, never leave a Python error behind ---- */
pel_id pel_record_value(pel_recorder *rec, PyObject *object); /* 0 for NULL */
pel_id pel_record_new(pel_recorder *rec, PyObject *object);   /* a container that was just made */
pel_id pel_record_method(pel_recorder *rec, PyObject *self, PyObject *function);
pel_id pel_record_instance_of(pel_recorder *rec, PyTypeObject *type); /* one without further meaning */
void pel_remember_module(pel_recorder *rec, PyObject *module, pel_id row);
pel_id pel_record_tensor(pel_recorder *rec, PyObject *tensor); /* row of the tensors */
pel_id pel_record_class_value(pel_recorder *rec, PyObject *type);

/* ---- rows of values ---- */
/* The row with this content. `value` may live on the C stack and its items, texts and constant too: they are copied. */
pel_id pel_intern_value(pel_recorder *rec, const pel_value *value);
pel_id pel_intern_const(pel_recorder *rec, const pel_const *constant);
pel_id pel_intern_value_text(pel_recorder *rec, pel_value_kind kind, pel_str text);
pel_id pel_add_value(pel_recorder *rec, const pel_value *value); /* a row of its own */

/* ---- objects that were seen ---- */
pel_seen *pel_seen_find(pel_recorder *rec, PyObject *object); /* NULL if not seen, or if it was another object */
/* The entry of an object, made if there is none. A weak reference, if the type takes one, shows
 * that a later object at the same address is another; other types have nothing that does. The entry stays where it
 * is only until the next call. */
pel_seen *pel_seen_entry(pel_recorder *rec, PyObject *object, bool *is_new);
void pel_seen_keep(pel_seen *seen);                      /* alive */
void pel_seen_anew(pel_recorder *rec, PyObject *object); /* it was just made: what was at its address is another */
uint64_t pel_seen_number(pel_recorder *rec, pel_seen *seen);
uint64_t pel_number_of(pel_recorder *rec, PyObject *object);
/* Remembers the row of an object that can't change and is kept alive. */
pel_id pel_remember_value(pel_recorder *rec, PyObject *object, pel_id id);
void pel_keep(pel_recorder *rec, PyObject *object);
void pel_forget_all(pel_recorder *rec);
int pel_visit_seen(pel_recorder *rec, visitproc visit, void *arg);

/* ---- events ---- */
bool pel_events_on(pel_recorder *rec); /* false with an exception */
void pel_events_off(pel_recorder *rec);
bool pel_is_leaf_call(pel_recorder *rec, PyCodeObject *code, PyObject *first);
PyObject *pel_run_leaf(pel_recorder *rec, PyObject *const *slots, PyObject *(*run)(void *arg), void *arg);
PyObject *pel_event_names(const pel_log *log);
/* Runs body with the recorder looking away from what it does itself. False after a failure: then nothing more is
 * recorded, and run() raises the error when the model is done. */
bool pel_record_attempt(pel_recorder *rec, void (*body)(pel_recorder *rec, void *arg), void *arg);

/* ---- modules, classes, code ---- */
pel_id pel_record_module(pel_recorder *rec, PyObject *module); /* with all below it; outside of the tree: path "?" */
void pel_record_tree(pel_recorder *rec, PyObject *root);
/* How to make a tensor that was there before the run and that nobody owns. */
void pel_describe_tensor(pel_recorder *rec, PyObject *tensor);
pel_id pel_record_class(pel_recorder *rec, PyObject *type);
pel_code_info *pel_code_info_of(pel_recorder *rec, PyObject *code);
pel_id pel_record_code(pel_recorder *rec, pel_code_info *info, PyObject *function, PyObject *first_argument);

#endif
