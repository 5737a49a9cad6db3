/* What the names of libraries do that Python source uses: lists of what is known. A name in none of them is unknown. */
#ifndef PEL_LOAD_SOURCE_NAMES_H
#define PEL_LOAD_SOURCE_NAMES_H

#include "base/base.h"

/* What code does besides computing. */
typedef enum pel_effect {
    PEL_EFFECT_NONE,
    PEL_EFFECT_ENVIRONMENT, /* asks the system who and where it is */
    PEL_EFFECT_READS,
    PEL_EFFECT_HIDES, /* decodes what is written so that it can't be read, or computes names */
    PEL_EFFECT_UNKNOWN,
    PEL_EFFECT_WRITES,
    PEL_EFFECT_NETWORK,
    PEL_EFFECT_NATIVE, /* loads native code, or memory that isn't Python's */
    PEL_EFFECT_CODE,   /* makes code of data: eval, unpickling, imports by name */
    PEL_EFFECT_RUNS,   /* a process */
} pel_effect;

/* "runs a process" */
const char *pel_effect_verb(pel_effect effect);
/* "source-runs": the kind of the finding. */
const char *pel_effect_kind(pel_effect effect);

/* Of a whole name: "os.path.join", "builtins.eval". */
pel_effect pel_effect_of(pel_str dotted);
/* Whether a module is of a library that the lists know: importing it does what the library does. */
bool pel_is_library(pel_str module);
/* "test.txt", "platform.gpu": a module of Python has that name, but nothing in it is called so. */
bool pel_is_everyday(pel_str dotted);
/* Whether a name is that of a module: as a value, it leads to all that the module imports. */
bool pel_is_whole_module(pel_str dotted);
/* Of a method whose object is not known, by its name alone. */
pel_effect pel_effect_of_method(pel_str name);

#endif
