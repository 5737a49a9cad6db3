/* What the names of libraries do besides computing, by what pickles do with them. The tables (data/effects) are made
 * from the libraries' source by tools/gen_effects_table.py: what is not in them is not known. */
#ifndef PEL_LOAD_EFFECTS_H
#define PEL_LOAD_EFFECTS_H

#include "base/base.h"
#include "base/embedded.h"

typedef enum pel_use {
    PEL_USE_NEW,     /* cls.__new__(cls, ...), and __del__ in the end */
    PEL_USE_CALL,    /* called */
    PEL_USE_STATE,   /* gets a state: __setstate__, or attributes */
    PEL_USE_ITEMS,   /* things are put into it */
    PEL_USE_KEY,     /* is a key: __hash__, __eq__ */
    PEL_USE_SPECIAL, /* other code compares, prints, counts it: none of its special methods has an effect */
} pel_use;

typedef struct pel_effects {
    bool is_module_known; /* the library's table has the module: importing it is what the library does */
    bool is_class;
    bool is_value; /* whatever is done with it: it only computes if all that it gets is plain, and then so is it */
    bool is_enum;  /* called with a plain value, it gives one of its members, which all code shares */
    bool has_no_getters;        /* reading an attribute of an object runs nothing */
    bool needs_plain_arguments; /* calls, and what makes one: it calls methods of its arguments */
    bool is_without_slots;      /* a state: only as a dict of attributes, as setters are not pure */
    uint8_t pure;               /* a bit for each use without an effect */
    uint8_t quiet;              /* of these: only as long as all classes of the file have PEL_USE_SPECIAL */
    pel_str fields;             /* what a state must be like: ":plain::deep!absent#least" */
} pel_effects;

pel_effects pel_effects_of(pel_str module, pel_str name);

static inline bool pel_is_pure(const pel_effects *effects, pel_use use) { return effects->pure >> use & 1; }

extern const pel_embedded pel_effects_tables[]; /* of each library; the row that ends it has no path */

#endif
