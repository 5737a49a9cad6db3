/* Pickles, read by a machine that builds descriptions and calls nothing.
 *
 * What unpickling would compute becomes a graph of objects that say how they would come about: "the result of
 * calling posix.system with these arguments". Sharing stays sharing, so a graph is never larger than its
 * file; a walk over it must expect to meet an object again, and cycles.
 *
 * Where Python's unpickler would fail, this one may go on: it must never stop before code that would run. */
#ifndef PEL_IO_PICKLE_H
#define PEL_IO_PICKLE_H

#include "base/map.h"
#include "io/finding.h"
#include "io/source.h"

typedef enum pel_pickle_kind {
    PEL_P_NONE,
    PEL_P_BOOL,
    PEL_P_INT,
    PEL_P_FLOAT,
    PEL_P_STR,
    PEL_P_BYTES,
    PEL_P_BUFFER, /* out-of-band data of protocol 5 */
    /* from here on things can be put into it */
    PEL_P_TUPLE,
    PEL_P_LIST,
    PEL_P_DICT,
    PEL_P_SET,
    PEL_P_FROZENSET,
    PEL_P_GLOBAL,     /* module.name, imported */
    PEL_P_CALL,       /* callable(*args); items: what was then put into it, as into a list or dict */
    PEL_P_NEW,        /* callable.__new__(callable, *args, **kwargs); items likewise */
    PEL_P_PERSISTENT, /* the id that the file's reader must resolve; torch: a storage */
} pel_pickle_kind;

typedef struct pel_pickled pel_pickled;

typedef struct pel_pickled_global {
    pel_str module, name;
    bool is_computed;  /* the pickle computes what to import: the names are not to be known */
    const void *notes; /* what the audit knows of the name; NULL: it was not asked yet */
} pel_pickled_global;

typedef struct pel_pickled_call {
    pel_pickled *callable, *args, *kwargs; /* args: a tuple, or whatever stood there; kwargs: mostly NULL */
    bool may_be_new; /* INST, OBJ without arguments: of a class __new__ runs, without __init__; all else is called */
} pel_pickled_call;

struct pel_pickled {
    uint8_t kind; /* enum pel_pickle_kind */
    bool is_big;  /* INT beyond 64 bits: text holds its little-endian bytes, or its digits if is_text */
    bool is_text;
    bool is_used;    /* LIST, BYTES: an argument of a call, in a state; CALL, NEW: taken from the memo */
    bool is_known;   /* CALL: what it unpickles is plain; the audit sets it */
    bool is_changed; /* of these: not what it was when it was used, or not what items, text and states say */
    uint64_t at;     /* offset of the opcode that made it; 0 for values without a place of their own */
    union {
        int64_t integer; /* BOOL, INT */
        double real;
        pel_str text; /* STR (UTF-8), BYTES */
        const pel_pickled_global *global;
        const pel_pickled_call *call; /* CALL, NEW */
        pel_pickled *id;              /* PERSISTENT */
    };
    PEL_VEC(pel_pickled *) items;      /* elements; DICT: key, value, key, value */
    struct pel_pickled_states *states; /* BUILD: what __setstate__ or __dict__ would get; NULL: never */
};

typedef struct pel_pickled_states {
    PEL_VEC(pel_pickled *) list;
} pel_pickled_states;

/* The bytes of an array that joblib puts between the opcodes: its unpickler takes them after the state of a wrapper. */
typedef struct pel_pickled_array {
    const pel_pickled *wrapper;
    uint64_t offset, size; /* in the file */
} pel_pickled_array;

typedef struct pel_pickle {
    pel_pickled *root;                  /* what load() would return; NULL if it would fail before */
    PEL_VEC(pel_pickled *) globals;     /* every name that would be imported, in order */
    PEL_VEC(pel_pickled *) calls;       /* every call, in order: CALL and NEW */
    PEL_VEC(pel_pickled *) builds;      /* every object that got a state, in order */
    PEL_VEC(pel_pickled *) filled;      /* every object but Python's own containers that things were put into */
    PEL_VEC(pel_pickled *) dicts;       /* every dict that is not empty */
    PEL_VEC(pel_pickled *) keys;        /* what was a key, or in a set: CALL, NEW, and tuples, which may hold them */
    PEL_VEC(pel_pickled *) persistents; /* every object that the file's reader makes of an id */
    PEL_VEC(pel_pickled_array) arrays;
    struct pel_pickle *plainly; /* as pickle.load reads it, which takes those arrays for opcodes; NULL: the same */
    uint64_t end;               /* offset after the STOP, from the start of the pickle */
    int protocol;               /* of its PROTO opcode, 0 without */
    bool failed;                /* what was read before the fault is all there */
    pel_err fault;
} pel_pickle;

/* Reads one pickle at the start of bytes. base: offset of bytes in its file. An unpickler would fail where failed is
 * set: code that is before the fault would have run, so what was read is given back all the same. Throws only if
 * memory or steps run out. */
pel_pickle *pel_pickle_read(pel_ctx *ctx, pel_str bytes, uint64_t base, pel_str member, pel_findings *findings);

typedef enum pel_pickle_look {
    PEL_PICKLE_NONE,  /* the opcodes end in nonsense before anything is called */
    PEL_PICKLE_WHOLE, /* they lead to a STOP that returns something */
    PEL_PICKLE_CALLS, /* they end in nonsense, but something would have been called before that */
} pel_pickle_look;

/* Reads the opcodes and counts the stack; makes no objects. */
pel_pickle_look pel_pickle_scan(pel_ctx *ctx, const pel_input *input);
/* Whether bytes begin with a pickle of any protocol: by the mark of protocol 2 and later, else by their opcodes. */
bool pel_is_pickle(pel_str bytes);
bool pel_is_pickle_in(pel_ctx *ctx, const pel_input *input);

/* The bytes that an object would be, if they can be computed from constants: bytes([...]), bytearray(b"..."),
 * _codecs.encode("...", "latin1"), base64 and hexadecimal digits, rot13, a stream or a packed form of any of these.
 * Text becomes its UTF-8. *budget: bytes that may be made for it, lowered by what was. Returns false if they can't. */
bool pel_pickled_bytes(pel_ctx *ctx, const pel_pickled *object, uint64_t *budget, pel_str *bytes);
/* What base64 digits stand for; anything else among them is passed over. */
pel_str pel_base64(pel_ctx *ctx, pel_str text);

bool pel_pickled_is_global(const pel_pickled *object, const char *module, const char *name);
/* The value of a dict's text key, the last if there are several; NULL if there is none. */
pel_pickled *pel_pickled_get(const pel_pickled *dict, const char *key);
/* The dict that an object's __dict__ becomes through BUILD, or NULL. */
pel_pickled *pel_pickled_state(const pel_pickled *object);
/* Argument i of a CALL or NEW, or NULL. */
pel_pickled *pel_pickled_argument(const pel_pickled *call, uint32_t i);
/* The object as Python would write it, shortened: it may be huge, shared or cyclic. */
void pel_pickled_show(pel_buf *out, const pel_pickled *object);

#endif
