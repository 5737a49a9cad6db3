#include "load/audit/audit_use.h"

#include "io/bytes.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 32      /* of arguments that are looked into */
#define MAX_LOOKED 20000u /* objects of one state */
#define NOTE ((pel_judged){ PEL_NOTE, "", "", false })

static pel_judged danger(const char *kind, const char *why) { return (pel_judged){ PEL_DANGER, kind, why, false }; }
static pel_judged suspect(const char *kind, const char *why) { return (pel_judged){ PEL_SUSPECT, kind, why, false }; }

/* ---- helpers that do with their arguments what the model says ---- */

typedef enum model {
    NO_MODEL,
    MAKES_FIRST,  /* makes an object of the class that is its first argument; the others must be plain */
    MAKES_WITH,   /* first.__new__(first, *others) */
    RECONSTRUCTS, /* class, base, state: base.__new__(class, state), then base.__init__ */
    REBUILDS,     /* torch: func(*args), made to be of a class, with a state */
    RANDOM,       /* numpy's generators: a name or a class, and the helper that makes it */
    FACTORY,      /* defaultdict: keeps a callable, and calls it for missing keys */
    KEEPS,        /* functools.partial: keeps a callable */
    TYPE,         /* with one argument: its class; with three: makes one */
    GETS,         /* getattr */
    UNPICKLES,    /* bytes, which the audit looks into */
} model;

static const struct {
    const char *module, *name;
    model model;
} models[] = {
    { "copyreg", "_reconstructor", RECONSTRUCTS },
    { "copyreg", "__newobj__", MAKES_WITH },
    { "copyreg", "__newobj_ex__", MAKES_WITH },
    { "copy_reg", "_reconstructor", RECONSTRUCTS },
    { "copy_reg", "__newobj__", MAKES_WITH },
    { "copy_reg", "__newobj_ex__", MAKES_WITH },
    { "numpy.core.multiarray", "_reconstruct", MAKES_FIRST },
    { "numpy._core.multiarray", "_reconstruct", MAKES_FIRST },
    { "torch._utils", "_rebuild_wrapper_subclass", MAKES_FIRST },
    { "numpy.ma.core", "_mareconstruct", MAKES_FIRST },
    { "torch._tensor", "_rebuild_from_type_v2", REBUILDS },
    { "numpy.random._pickle", "__generator_ctor", RANDOM },
    { "numpy.random._pickle", "__randomstate_ctor", RANDOM },
    { "numpy.random._pickle", "__bit_generator_ctor", RANDOM },
    { "numpy.random", "__RandomState_ctor", RANDOM },
    { "collections", "defaultdict", FACTORY },
    { "functools", "partial", KEEPS },
    { "builtins", "type", TYPE },
    { "__builtin__", "type", TYPE },
    { "builtins", "getattr", GETS },
    { "__builtin__", "getattr", GETS },
    { "torch.storage", "_load_from_bytes", UNPICKLES },
    /* scikit-learn: "return obj.__new__(obj)" */
    { "sklearn.metrics._dist_metrics", "newObj", MAKES_FIRST },
    { "sklearn.neighbors._ball_tree", "newObj", MAKES_FIRST },
    { "sklearn.neighbors._kd_tree", "newObj", MAKES_FIRST },
};

/* What is known of a name. It is asked for again and again, so the names of a pickle keep it. */
typedef struct known {
    pel_name_kind kind;
    model model;
    pel_effects effects;
} known;

static model find_model(const pel_pickled_global *global, const pel_effects *effects) {
    for (size_t i = 0; i < PEL_COUNT(models); i++)
        if (pel_str_is(global->name, models[i].name) && pel_str_is(global->module, models[i].module))
            return models[i].model;
    /* What Cython writes for each of its classes: makes one of the class that it is given, and sets its fields. */
    if (pel_str_starts(global->name, PEL_STR("__pyx_unpickle_")) && effects->is_module_known) return MAKES_FIRST;
    return NO_MODEL;
}

static known know(const pel_pickled_global *global) {
    bool ignored;
    known all = { pel_judge_name(global->module, global->name, &ignored), NO_MODEL,
                  pel_effects_of(global->module, global->name) };
    if (!global->is_computed) all.model = find_model(global, &all.effects);
    return all;
}

void pel_know_names(pel_ctx *ctx, const pel_pickle *pickle) {
    for (uint32_t i = 0; i < pickle->globals.n; i++) {
        pel_pickled_global *global = (pel_pickled_global *)pickle->globals.at[i]->global;
        known *notes = pel_new(ctx, known);
        *notes = know(global);
        global->notes = notes;
    }
}

static pel_effects effects_of(const pel_pickled_global *global) {
    return global->notes ? ((const known *)global->notes)->effects : pel_effects_of(global->module, global->name);
}

static pel_name_kind kind_of(const pel_pickled_global *global) {
    return global->notes ? ((const known *)global->notes)->kind : know(global).kind;
}

static bool is_plain_global(const pel_pickled_global *global) { return kind_of(global) == PEL_NAME_PLAIN; }

static model model_of(const pel_pickled *callable) {
    if (!callable || callable->kind != PEL_P_GLOBAL) return NO_MODEL;
    const known *notes = callable->global->notes;
    return notes ? notes->model : know(callable->global).model;
}

/* ---- what objects are ---- */

static pel_made unknown(void) { return (pel_made){ .kind = PEL_MADE_UNKNOWN }; }

static pel_made object_of(const pel_pickled *global) {
    if (!global || global->kind != PEL_P_GLOBAL || global->global->is_computed) return unknown();
    return (pel_made){ PEL_MADE_OBJECT, global->global->module, global->global->name, global->global };
}

/* torch's storages are known; whole modules of the old format come as ("module", class, file, source). */
static const pel_pickled *persistent_class(const pel_pickled *object) {
    const pel_pickled *id = object->kind == PEL_P_PERSISTENT ? object->id : NULL;
    if (!id || id->kind != PEL_P_TUPLE || id->items.n < 2) return NULL;
    const pel_pickled *kind = id->items.at[0];
    return kind->kind == PEL_P_STR && pel_str_is(kind->text, "module") ? id->items.at[1] : NULL;
}

/* The callable by which it is judged. */
static const pel_pickled *callable_of(const pel_pickled *call) {
    const pel_pickled *callable = call->call->callable, *class = persistent_class(callable);
    return class ? class : callable;
}

static bool is_storage(const pel_pickled *object) {
    const pel_pickled *id = object->id;
    const pel_pickled *kind = id->kind == PEL_P_TUPLE && id->items.n ? id->items.at[0] : NULL;
    return kind && (kind->kind == PEL_P_STR || kind->kind == PEL_P_BYTES) && pel_str_is(kind->text, "storage");
}

/* What an object is decides which of its methods the pickle may use. A callable that may return anything makes an
 * unknown, never a guess; a name that only computes makes a value. */
pel_made pel_made_of(const pel_pickled *object) {
    if (object->kind < PEL_P_GLOBAL) return (pel_made){ .kind = PEL_MADE_PLAIN };
    if (object->kind == PEL_P_PERSISTENT)
        return (pel_made){ .kind = is_storage(object) ? PEL_MADE_VALUE : PEL_MADE_UNKNOWN };
    if (object->kind == PEL_P_GLOBAL) return unknown();
    const pel_pickled *callable = callable_of(object);
    if (object->kind == PEL_P_NEW) return object_of(callable);
    switch (model_of(callable)) {
    case MAKES_FIRST:
    case MAKES_WITH:
    case RECONSTRUCTS: return object_of(pel_pickled_argument(object, 0));
    case RANDOM: return (pel_made){ .kind = PEL_MADE_VALUE };
    case REBUILDS: return object_of(pel_pickled_argument(object, 1));
    case FACTORY: return object_of(callable);
    case KEEPS: return object_of(callable);
    case TYPE:
    case GETS:
    case UNPICKLES: return unknown();
    case NO_MODEL: break;
    }
    if (callable->kind != PEL_P_GLOBAL || callable->global->is_computed) return unknown();
    pel_effects effects = effects_of(callable->global);
    if (effects.is_class) return object_of(callable);
    return is_plain_global(callable->global)
               ? (pel_made){ PEL_MADE_VALUE, callable->global->module, callable->global->name, callable->global }
               : unknown();
}

static bool is_value(const pel_pickled *object);
static bool is_plain(const pel_pickled *object, bool deep, int depth, uint32_t *budget);

bool pel_is_plain_result(const pel_pickled *object) {
    uint32_t budget = MAX_LOOKED;
    return is_plain(object, true, 0, &budget);
}

bool pel_is_plain_value(const pel_pickled *object) {
    uint32_t budget = MAX_LOOKED;
    return is_value(object) && is_plain(object, true, 0, &budget);
}

bool pel_is_unpickling(const pel_pickled *call) {
    return call->kind == PEL_P_CALL && model_of(callable_of(call)) == UNPICKLES;
}

pel_effects pel_made_effects(const pel_made *made) {
    if (made->kind != PEL_MADE_OBJECT && made->kind != PEL_MADE_VALUE) return (pel_effects){ .fields = { "", 0 } };
    return made->global ? effects_of(made->global) : pel_effects_of(made->module, made->name);
}

/* A defaultdict, too: the call that makes it is judged by the factory. */
static bool is_plain_class(const pel_made *made) {
    if (made->kind != PEL_MADE_OBJECT) return false;
    return is_plain_global(made->global) ||
           (pel_str_is(made->module, "collections") && pel_str_is(made->name, "defaultdict"));
}

/* Attributes may be callables in the place of methods: a namespace, and what gets a dict of them. */
static bool has_attributes(const pel_pickled *object, const pel_made *made) {
    if (pel_str_is(made->name, "Namespace") || pel_str_is(made->name, "SimpleNamespace") ||
        pel_str_is(made->name, "_rebuild_parameter_with_state"))
        return true;
    if (object->kind == PEL_P_CALL && model_of(callable_of(object)) == REBUILDS) return true;
    for (uint32_t i = 0; object->states && i < object->states->list.n; i++) {
        const pel_pickled *state = object->states->list.at[i];
        bool is_pair = state->kind == PEL_P_TUPLE && state->items.n == 2;
        if (state->kind == PEL_P_DICT || state->kind >= PEL_P_GLOBAL) return true;
        if (is_pair && (state->items.at[0]->kind == PEL_P_DICT || state->items.at[1]->kind == PEL_P_DICT)) return true;
    }
    return false;
}

/* What joblib writes for an array: it becomes one, and pickle.load leaves an object with these attributes. */
static bool is_joblib_array(const pel_pickled *object, const pel_made *made) {
    static const char *const keys[] = { "subclass", "shape",      "order",
                                        "dtype",    "allow_mmap", "numpy_array_alignment_bytes" };
    if (!pel_str_is(made->module, "joblib.numpy_pickle") || !pel_str_is(made->name, "NumpyArrayWrapper")) return false;
    const pel_pickled *state = object->states && object->states->list.n == 1 ? object->states->list.at[0] : NULL;
    if (!state || state->kind != PEL_P_DICT) return false;
    for (uint32_t i = 0; i + 1 < state->items.n; i += 2) {
        const pel_pickled *key = state->items.at[i], *value = state->items.at[i + 1];
        size_t at = 0;
        while (at < PEL_COUNT(keys) && !(key->kind == PEL_P_STR && pel_str_is(key->text, keys[at]))) at++;
        if (at == PEL_COUNT(keys)) return false;
        if (pel_str_is(key->text, "subclass") && !pel_pickled_is_global(value, "numpy", "ndarray")) return false;
    }
    return true;
}

/* A name that libraries define, of code that only computes as long as all that it gets is plain. */
static bool is_value_name(const pel_pickled *global) {
    if (global->kind != PEL_P_GLOBAL || global->global->is_computed) return false;
    pel_effects effects = effects_of(global->global);
    return effects.is_value || effects.is_enum;
}

/* A member of an enumeration, which all code shares. */
static bool is_member(const pel_pickled *object) {
    if (object->kind != PEL_P_CALL && object->kind != PEL_P_NEW) return false;
    const pel_pickled *class = callable_of(object);
    return class->kind == PEL_P_GLOBAL && !class->global->is_computed && effects_of(class->global).is_enum;
}

/* The result of such a name, or an object of a class of that kind. */
static bool is_value(const pel_pickled *object) {
    if (object->kind != PEL_P_CALL && object->kind != PEL_P_NEW) return false;
    if (is_value_name(callable_of(object))) return true;
    const pel_pickled *first = pel_pickled_argument(object, 0);
    return model_of(callable_of(object)) == MAKES_FIRST && first && is_value_name(first);
}

static bool is_plain(const pel_pickled *object, bool deep, int depth, uint32_t *budget);

static bool is_plain_part(const pel_pickled *object, int depth, uint32_t *budget) {
    if (depth > MAX_DEPTH || *budget == 0) return false;
    --*budget;
    return is_plain(object, true, depth + 1, budget);
}

/* Of a value: its arguments, states and items. */
static bool all_parts_plain(const pel_pickled *object, int depth, uint32_t *budget) {
    const pel_pickled_call *call = object->call;
    if (call->args->kind != PEL_P_TUPLE || !is_plain_part(call->args, depth, budget)) return false;
    if (call->kwargs && !is_plain_part(call->kwargs, depth, budget)) return false;
    for (uint32_t i = 0; object->states && i < object->states->list.n; i++)
        if (!is_plain_part(object->states->list.at[i], depth, budget)) return false;
    for (uint32_t i = 0; i < object->items.n; i++)
        if (!is_plain_part(object->items.at[i], depth, budget)) return false;
    return true;
}

/* pandas takes a text "dateutil/..." for the path of a time zone's file, and reads that. The text may be made of bytes,
 * with zeros between its letters. */
static bool has_zone_file(const pel_pickled *object, int depth, uint32_t *budget) {
    static const char one[] = "dateutil/", two[] = "d\0a\0t\0e\0u\0t\0i\0l\0/",
                      four[] = "d\0\0\0a\0\0\0t\0\0\0e\0\0\0u\0\0\0t\0\0\0i\0\0\0l\0\0\0/";
    if (object->kind == PEL_P_STR || object->kind == PEL_P_BYTES)
        return pel_str_find(object->text, (pel_str){ one, sizeof one - 1 }) ||
               (object->kind == PEL_P_BYTES && (pel_str_find(object->text, (pel_str){ two, sizeof two - 1 }) ||
                                                pel_str_find(object->text, (pel_str){ four, sizeof four - 1 })));
    if (object->kind < PEL_P_TUPLE || object->kind == PEL_P_GLOBAL) return false;
    if (depth > MAX_DEPTH || !*budget) return true;
    --*budget;
    for (uint32_t i = 0; i < object->items.n; i++)
        if (has_zone_file(object->items.at[i], depth + 1, budget)) return true;
    bool is_call = object->kind == PEL_P_CALL || object->kind == PEL_P_NEW;
    return is_call && (has_zone_file(object->call->args, depth + 1, budget) ||
                       (object->call->kwargs && has_zone_file(object->call->kwargs, depth + 1, budget)));
}

/* A text or bytes that are made of others by an encoding: any but the usual ones could make any text. */
static bool is_usual_text(const pel_pickled *call) {
    static const char *const names[] = { "ascii", "latin1", "latin-1", "iso-8859-1", "utf-8", "utf8" };
    const pel_pickled *callable = callable_of(call), *encoding = pel_pickled_argument(call, 1);
    bool takes_one = pel_pickled_is_global(callable, "_codecs", "encode") ||
                     pel_pickled_is_global(callable, "builtins", "str") ||
                     pel_pickled_is_global(callable, "__builtin__", "str") ||
                     pel_pickled_is_global(callable, "__builtin__", "unicode") ||
                     pel_pickled_is_global(callable, "builtins", "bytes");
    if (!takes_one || !encoding) return !takes_one || !call->call->kwargs;
    for (size_t i = 0; encoding->kind == PEL_P_STR && i < PEL_COUNT(names); i++)
        if (pel_str_is(encoding->text, names[i])) return true;
    return false;
}

/* What a call that only computes gives: a text in its arguments is one in its result. */
static bool has_usual_arguments(const pel_pickled *object, int depth, uint32_t *budget) {
    if (object->kind != PEL_P_CALL && object->kind != PEL_P_NEW) return true;
    if (!is_usual_text(object) || has_zone_file(object->call->args, depth, budget)) return false;
    return !object->call->kwargs || !has_zone_file(object->call->kwargs, depth, budget);
}

/* Whether Python's own code, or native code that is known, is all that runs if it is compared, counted or printed, or
 * if its methods are called. deep: the same of all that is in it. */
static bool is_plain(const pel_pickled *object, bool deep, int depth, uint32_t *budget) {
    if (object->kind == PEL_P_GLOBAL)
        return !object->global->is_computed &&
               (pel_is_constant_name(object->global->module, object->global->name) || is_value_name(object));
    if (object->is_known) return true;
    if (deep && (object->kind == PEL_P_STR || object->kind == PEL_P_BYTES) && has_zone_file(object, depth, budget))
        return false;
    if (is_value(object)) return all_parts_plain(object, depth, budget);
    pel_made made = pel_made_of(object);
    if (made.kind == PEL_MADE_OBJECT && is_joblib_array(object, &made)) return true;
    bool is_fine = made.kind == PEL_MADE_PLAIN || made.kind == PEL_MADE_VALUE || is_plain_class(&made);
    is_fine = is_fine && (made.kind == PEL_MADE_PLAIN || !has_attributes(object, &made));
    if (!is_fine || !deep) return is_fine;
    if (depth > MAX_DEPTH || !has_usual_arguments(object, depth, budget)) return false;
    for (uint32_t i = 0; i < object->items.n; i++) {
        if (*budget == 0) return false;
        --*budget;
        if (!is_plain(object->items.at[i], true, depth + 1, budget)) return false;
    }
    for (uint32_t i = 0; object->states && i < object->states->list.n; i++) /* arrays of objects have them there */
        if (!is_plain(object->states->list.at[i], true, depth + 1, budget)) return false;
    return true;
}

/* ---- calls ---- */

static pel_judged judge_effect(const pel_effects *effects, pel_use use, const char *kind, const char *why) {
    if (!pel_is_pure(effects, use)) return suspect(kind, why);
    pel_judged judged = NOTE;
    judged.needs_quiet = effects->quiet >> use & 1;
    return judged;
}

/* Whether a callable is a class of which anything may be made, or a name that may be called without arguments. */
static bool may_make(const pel_pickled *class, pel_use use) {
    if (!class || class->kind != PEL_P_GLOBAL || class->global->is_computed) return false;
    if (is_plain_global(class->global)) return true;
    pel_effects effects = effects_of(class->global);
    if (effects.is_value) return true; /* the other arguments are judged, too */
    return pel_is_pure(&effects, use) && !(effects.quiet >> use & 1) && !effects.needs_plain_arguments;
}

static bool is_random_maker(const pel_pickled *global) {
    return pel_pickled_is_global(global, "numpy.random._pickle", "__bit_generator_ctor");
}

/* Names, or numpy's own classes; what is made of the same things. */
static bool is_random_argument(const pel_pickled *object) {
    if (object->kind == PEL_P_STR || is_random_maker(object)) return true;
    if (object->kind == PEL_P_GLOBAL)
        return !object->global->is_computed && pel_str_starts(object->global->module, PEL_STR("numpy.random.")) &&
               effects_of(object->global).is_class;
    return object->kind == PEL_P_CALL && model_of(object->call->callable) == RANDOM;
}

static pel_judged judge_random(const pel_pickled *call) {
    const pel_pickled *args = call->call->args;
    for (uint32_t i = 0; args->kind == PEL_P_TUPLE && i < args->items.n; i++)
        if (!is_random_argument(args->items.at[i])) return suspect("calls-given", "it calls what it is given");
    return args->kind == PEL_P_TUPLE ? NOTE : suspect("calls-given", "its arguments are not known");
}

/* ---- names that make plain values ---- */

/* What a container's constructor does with the things in its first argument. */
typedef enum holding {
    HOLDS_NOTHING, /* no container: all arguments must be plain, and all that is in them */
    HOLDS_ITEMS,   /* keeps them */
    HOLDS_PAIRS,   /* a dict, or pairs: the keys are hashed, the values kept */
    HOLDS_KEYS,    /* hashes them */
} holding;

static holding holding_of(const pel_pickled_global *name) {
    static const struct {
        const char *name;
        holding holding;
    } rows[] = {
        { "list", HOLDS_ITEMS },     { "tuple", HOLDS_ITEMS },       { "deque", HOLDS_ITEMS },
        { "dict", HOLDS_PAIRS },     { "OrderedDict", HOLDS_PAIRS }, { "set", HOLDS_KEYS },
        { "frozenset", HOLDS_KEYS }, { "Counter", HOLDS_KEYS },
    };
    bool is_builtin = pel_str_is(name->module, "builtins") || pel_str_is(name->module, "__builtin__");
    if (!is_builtin && !pel_str_is(name->module, "collections")) return HOLDS_NOTHING;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(name->name, rows[i].name)) return rows[i].holding;
    return HOLDS_NOTHING;
}

static bool is_hashable(const pel_pickled *object) {
    uint32_t budget = MAX_LOOKED;
    if (is_plain(object, true, 0, &budget)) return true;
    pel_judged judged = pel_judge_key(object);
    return object->kind >= PEL_P_GLOBAL && judged.severity == PEL_NOTE && !judged.needs_quiet;
}

/* Whether a container can be made of it without any code but Python's own. Dicts and sets of the file were judged by
 * their keys where they were filled. */
static bool may_hold(holding how, const pel_pickled *from) {
    uint32_t budget = MAX_LOOKED;
    if (is_plain(from, true, 0, &budget)) return true;
    if (from->kind == PEL_P_DICT || from->kind == PEL_P_SET || from->kind == PEL_P_FROZENSET) return true;
    if (from->kind != PEL_P_LIST && from->kind != PEL_P_TUPLE) return false;
    for (uint32_t i = 0; i < from->items.n; i++) {
        const pel_pickled *item = from->items.at[i];
        bool is_pair = (item->kind == PEL_P_TUPLE || item->kind == PEL_P_LIST) && item->items.n == 2;
        if (how == HOLDS_PAIRS && !(is_pair && is_hashable(item->items.at[0]))) return false;
        if (how == HOLDS_KEYS && !is_hashable(item)) return false;
    }
    return how != HOLDS_NOTHING;
}

/* Native code, or code that was read, which runs methods of its arguments: nothing is known if they are not plain. */
static pel_judged judge_plain(const pel_pickled_global *name, const pel_pickled *args, const pel_pickled *kwargs) {
    pel_judged given = suspect("calls-given", "it runs methods of its arguments, and they are not plain");
    uint32_t budget = MAX_LOOKED;
    if (args->kind != PEL_P_TUPLE) return suspect("calls-given", "its arguments are not known");
    if (kwargs && !is_plain(kwargs, true, 0, &budget)) return given;
    holding held = holding_of(name);
    for (uint32_t i = 0; i < args->items.n; i++) {
        const pel_pickled *arg = args->items.at[i];
        if (!(i == 0 && held != HOLDS_NOTHING ? may_hold(held, arg) : is_plain(arg, true, 0, &budget))) return given;
    }
    return NOTE;
}

/* numpy's arrays take a shape, a type, and then memory to live in: given bytes and a type of objects, numpy takes the
 * bytes for pointers. Files make arrays by _reconstruct, which has no such argument. */
static bool takes_memory(const pel_pickled_global *name) {
    static const char *const arrays[] = { "ndarray", "recarray", "chararray" };
    if (!pel_str_starts(name->module, PEL_STR("numpy"))) return false;
    for (size_t i = 0; i < PEL_COUNT(arrays); i++)
        if (pel_str_is(name->name, arrays[i])) return true;
    return false;
}

static bool gives_memory(const pel_pickled_global *name, const pel_pickled *args, const pel_pickled *kwargs) {
    return takes_memory(name) && (args->kind != PEL_P_TUPLE || args->items.n > 2 || kwargs);
}

/* The bytes of a buffer of pyarrow: py_buffer(b"..."), or of a bytearray. */
static bool arrow_bytes(const pel_pickled *buffer, pel_str *bytes) {
    const pel_pickled *from =
        buffer->kind == PEL_P_CALL && pel_pickled_is_global(buffer->call->callable, "pyarrow.lib", "py_buffer")
            ? pel_pickled_argument(buffer, 0)
            : NULL;
    if (from && from->kind == PEL_P_CALL && pel_pickled_is_global(from->call->callable, "builtins", "bytearray"))
        from = from->items.n ? NULL : pel_pickled_argument(from, 0); /* not one whose items were set */
    if (!from || from->kind != PEL_P_BYTES || from->is_changed) return false;
    *bytes = from->text;
    return true;
}

/* Whether each text ends where the next one begins, and the last one within the letters. */
static bool are_whole_texts(pel_str ends, pel_str letters, uint64_t n, size_t width) {
    uint64_t last = 0;
    if (n >= ends.len / width) return false;
    for (uint64_t i = 0; i <= n; i++) {
        const char *at = ends.ptr + i * width;
        uint64_t end = width == 8 ? pel_le64(at) : pel_le32(at);
        if (end < last || end > letters.len) return false;
        last = end;
    }
    return true;
}

/* pyarrow.lib._restore_array((type, length, nulls, offset, [which are null, ends, letters], children, dictionary)) of
 * texts, which pandas writes: pyarrow believes all of it, so the buffers must be as large as the numbers say. */
static bool is_whole_arrow(const pel_pickled *args) {
    const pel_pickled *data = args->kind == PEL_P_TUPLE && args->items.n == 1 ? args->items.at[0] : NULL;
    if (!data || data->kind != PEL_P_TUPLE || data->items.n != 7) return false;
    pel_pickled *const *part = data->items.at;
    bool is_type =
        part[0]->kind == PEL_P_CALL && pel_pickled_is_global(part[0]->call->callable, "pyarrow.lib", "type_for_alias");
    const pel_pickled *alias = is_type ? pel_pickled_argument(part[0], 0) : NULL;
    if (!alias || alias->kind != PEL_P_STR) return false;
    size_t width = pel_str_is(alias->text, "large_string") ? 8 : pel_str_is(alias->text, "string") ? 4 : 0;
    const pel_pickled *buffers = part[4];
    for (size_t i = 1; i < 4; i++)
        if (part[i]->kind != PEL_P_INT || part[i]->is_big || part[i]->integer < (i == 2 ? -1 : 0)) return false;
    if (!width || buffers->kind != PEL_P_LIST || buffers->is_changed || buffers->items.n != 3) return false;
    if (part[5]->kind != PEL_P_LIST || part[5]->is_changed || part[5]->items.n || part[6]->kind != PEL_P_NONE)
        return false;
    pel_str nulls, ends, letters;
    uint64_t n;
    if (__builtin_add_overflow((uint64_t)part[1]->integer, (uint64_t)part[3]->integer, &n)) return false;
    bool has_nulls = buffers->items.at[0]->kind != PEL_P_NONE;
    if (has_nulls && (!arrow_bytes(buffers->items.at[0], &nulls) || n / 8 + (n % 8 != 0) > nulls.len)) return false;
    return arrow_bytes(buffers->items.at[1], &ends) && arrow_bytes(buffers->items.at[2], &letters) &&
           are_whole_texts(ends, letters, n, width);
}

static const pel_judged memory_given = { PEL_SUSPECT, "calls-given",
                                         "an array is made in the memory of what it is given", false };

static pel_judged judge_named(const pel_pickled *callable, pel_use use, bool is_script);
static bool is_usual_state(const pel_pickled *state, const pel_effects *effects);

/* Of a name with arguments, whatever the file does with the arguments else. */
static pel_judged judge_with(const pel_pickled *callable, const pel_pickled *args, const pel_pickled *kwargs,
                             pel_use use, bool is_script) {
    if (gives_memory(callable->global, args, kwargs)) return memory_given;
    if (pel_pickled_is_global(callable, "pyarrow.lib", "_restore_array") && !is_whole_arrow(args))
        return suspect("calls-given", "its buffers are not as large as it says, or of another type than text");
    if (is_plain_global(callable->global) || is_value_name(callable))
        return judge_plain(callable->global, args, kwargs);
    pel_judged judged = judge_named(callable, use, is_script);
    uint32_t budget = MAX_LOOKED;
    bool is_fine = args->kind == PEL_P_TUPLE && is_plain(args, true, 0, &budget);
    if (kwargs && !is_plain(kwargs, true, 0, &budget)) is_fine = false;
    if (args->kind == PEL_P_TUPLE && !args->items.n && !kwargs)
        judged.needs_quiet = false; /* there is nothing to ask */
    if (judged.severity == PEL_NOTE && !is_fine && effects_of(callable->global).needs_plain_arguments)
        return suspect("calls-given", "it calls methods of its arguments, and they are not plain");
    return judged;
}

/* _rebuild_from_type_v2(func, class, args, state): the class gets the state by __setstate__, or by setattr. */
static pel_judged judge_rebuild(const pel_pickled *call) {
    static const pel_effects tensor = { .fields = { "", 0 } };
    const pel_pickled *function = pel_pickled_argument(call, 0), *class = pel_pickled_argument(call, 1);
    const pel_pickled *args = pel_pickled_argument(call, 2), *state = pel_pickled_argument(call, 3);
    if (!function || !class || !args || function->kind != PEL_P_GLOBAL || function->global->is_computed ||
        model_of(function) != NO_MODEL)
        return suspect("calls-given", "it calls what it is given");
    pel_judged judged = judge_with(function, args, NULL, PEL_USE_CALL, false);
    if (judged.severity > PEL_NOTE) return judged;
    if (!may_make(class, PEL_USE_NEW)) return suspect("calls-unknown", "nobody knows what the class does");
    bool is_tensor = is_plain_global(class->global);
    pel_effects effects = is_tensor ? tensor : effects_of(class->global);
    if (!is_tensor && (!pel_is_pure(&effects, PEL_USE_STATE) || (effects.quiet >> PEL_USE_STATE & 1)))
        return suspect("state-unknown", "nobody knows what its state does");
    if (state && !is_usual_state(state, &effects)) return suspect("state", "its state is not usual");
    return judged;
}

/* copyreg._reconstructor(class, base, state), of protocols 0 and 1: only bases that are Python's own have a state. */
static pel_judged judge_reconstruct(const pel_pickled *call) {
    const pel_pickled *args = call->call->args, *class = pel_pickled_argument(call, 0);
    const pel_pickled *base = pel_pickled_argument(call, 1), *state = pel_pickled_argument(call, 2);
    if (args->items.n != 3 || !base || !state || !may_make(class, PEL_USE_NEW))
        return suspect("calls-unknown", "nobody knows what the class does");
    if (base->kind != PEL_P_GLOBAL || base->global->is_computed ||
        !(pel_str_is(base->global->module, "builtins") || pel_str_is(base->global->module, "__builtin__")) ||
        !is_plain_global(base->global))
        return suspect("calls-given", "it calls the base class that it is given");
    pel_pickled *one[] = { call->call->args->items.at[2] };
    pel_pickled given = { .kind = PEL_P_TUPLE, .items = { one, 1, 1 } };
    return judge_plain(base->global, &given, NULL);
}

static pel_judged judge_first(const pel_pickled *call) {
    const pel_pickled *args = call->call->args;
    uint32_t budget = MAX_LOOKED;
    if (!may_make(pel_pickled_argument(call, 0), PEL_USE_NEW))
        return suspect("calls-unknown", "nobody knows what the class does");
    for (uint32_t i = 1; i < args->items.n; i++)
        if (!is_plain(args->items.at[i], true, 0, &budget))
            return suspect("calls-given", "it runs methods of its arguments, and they are not plain");
    return NOTE;
}

static pel_judged judge_getattr(const pel_pickled *call) {
    const pel_pickled *of = pel_pickled_argument(call, 0), *name = pel_pickled_argument(call, 1);
    if (!of || !name || name->kind != PEL_P_STR || pel_str_starts(name->text, PEL_STR("__")))
        return danger("calls", "");
    pel_made made = pel_made_of(of);
    if (made.kind == PEL_MADE_OBJECT && pel_made_effects(&made).has_no_getters) return NOTE; /* a method, mostly */
    if (of->kind != PEL_P_GLOBAL || of->global->is_computed)
        return suspect("calls-unknown", "reading an attribute may run code");
    if (kind_of(of->global) == PEL_NAME_HOT) return danger("calls", "");
    pel_effects effects = effects_of(of->global);
    return effects.is_class ? NOTE : danger("calls", "");
}

/* These callables do no harm themselves: what they are given to call or to make decides. Arguments that are no tuple
 * can't be seen, so they are suspect. UNPICKLES is only a note, as its bytes get an audit of their own. */
static pel_judged judge_model(const pel_pickled *call, model kind) {
    const pel_pickled *first = pel_pickled_argument(call, 0);
    const pel_pickled *args = call->call->args;
    switch (kind) {
    case MAKES_FIRST: return judge_first(call);
    case RECONSTRUCTS: return judge_reconstruct(call);
    case MAKES_WITH:
        if (first && first->kind == PEL_P_GLOBAL && takes_memory(first->global)) return memory_given;
        if (may_make(first, PEL_USE_NEW) && !is_plain_global(first->global) && !is_value_name(first)) return NOTE;
        return judge_first(call);
    case REBUILDS: return judge_rebuild(call);
    case RANDOM: return judge_random(call);
    case FACTORY:
        if (args->kind != PEL_P_TUPLE) return suspect("calls-given", "its arguments are not known");
        if (!first || first->kind == PEL_P_NONE || may_make(first, PEL_USE_CALL)) return NOTE;
        return suspect("calls-given", "it calls its factory for keys that are missing");
    case KEEPS:
        if (args->kind != PEL_P_TUPLE || !first) return suspect("calls-given", "its arguments are not known");
        return NOTE;
    case TYPE:
        return args->kind == PEL_P_TUPLE && args->items.n == 1 ? NOTE : suspect("calls-given", "it makes a class");
    case GETS: return judge_getattr(call);
    case UNPICKLES: return NOTE;
    case NO_MODEL: break;
    }
    return suspect("calls-unknown", "nobody knows what it does");
}

/* Whether the short lists decide about a name, whatever the file does with it. */
static bool is_listed(const pel_pickled_global *global, const char *kind, bool is_script, pel_judged *judged) {
    *judged = NOTE;
    switch (kind_of(global)) {
    case PEL_NAME_HOT: *judged = danger(kind, ""); return true;
    case PEL_NAME_PLAIN: return true;
    case PEL_NAME_SCRIPT: return is_script;
    case PEL_NAME_OTHER:
    case PEL_NAME_LIBRARY: break;
    }
    return false;
}

/* A name by itself, whatever its arguments. */
static pel_judged judge_named(const pel_pickled *callable, pel_use use, bool is_script) {
    pel_judged judged;
    if (is_listed(callable->global, "calls", is_script, &judged)) return judged;
    pel_effects effects = effects_of(callable->global);
    return judge_effect(&effects, use, "calls-unknown", "nobody knows what it does");
}

static pel_judged judge_one_way(const pel_pickled *call, bool is_new, bool is_script) {
    const pel_pickled *callable = callable_of(call);
    if (callable->kind != PEL_P_GLOBAL) return danger("calls-result", "");
    if (callable->global->is_computed) return danger("calls", "");
    model kind = model_of(callable);
    if (kind != NO_MODEL && !is_new) return judge_model(call, kind);
    if (kind == FACTORY || kind == KEEPS) return judge_model(call, kind); /* made by __new__, they keep it, too */
    return judge_with(callable, call->call->args, call->call->kwargs, is_new ? PEL_USE_NEW : PEL_USE_CALL, is_script);
}

pel_judged pel_judge_call(const pel_pickled *call, bool is_script) {
    pel_judged judged = judge_one_way(call, call->kind == PEL_P_NEW, is_script);
    if (!call->call->may_be_new) return judged;
    /* A class is made by __new__, anything else is called: what the tables call a class is one. */
    const pel_pickled *callable = callable_of(call);
    bool is_class =
        callable->kind == PEL_P_GLOBAL && !callable->global->is_computed && effects_of(callable->global).is_class;
    pel_judged made = judge_one_way(call, true, is_script);
    return is_class || made.severity > judged.severity ? made : judged;
}

/* ---- states, items, keys ---- */

static bool is_number(pel_str text, uint32_t number) {
    char digits[12];
    snprintf(digits, sizeof digits, "%u", number);
    return pel_str_is(text, digits);
}

/* Whether all that the state has under the key, or as the item of that number, is plain, or absent if it must be. A
 * dict that changes after it was used holds the old values, too. */
static bool meets_one(const pel_pickled *state, pel_str key, bool is_absent, bool is_deep) {
    uint32_t budget = MAX_LOOKED, n = state->items.n;
    for (uint32_t i = 0; state->kind == PEL_P_DICT && i + 1 < n; i += 2) {
        const pel_pickled *name = state->items.at[i];
        if (name->kind != PEL_P_STR || !pel_str_eq(name->text, key)) continue;
        if (is_absent || !is_plain(state->items.at[i + 1], is_deep, 0, &budget)) return false;
    }
    for (uint32_t i = 0; state->kind == PEL_P_TUPLE && i < n; i++)
        if (is_number(key, i) && (is_absent || !is_plain(state->items.at[i], is_deep, 0, &budget))) return false;
    return true;
}

/* Native code takes the items of a tuple without counting them, and finds whatever lies behind the last one. */
static bool has_least(const pel_pickled *state, pel_str number) {
    uint32_t least = 0;
    for (size_t i = 0; i < number.len; i++) least = least * 10 + (uint32_t)(number.ptr[i] - '0');
    return state->kind != PEL_P_TUPLE || state->items.n >= least;
}

/* ":plain::deep!absent#least" of the table, for one dict of attributes, or for a tuple, whose keys are numbers. */
static bool meets(const pel_pickled *state, pel_str fields) {
    for (size_t at = 0; at < fields.len;) {
        bool is_absent = fields.ptr[at] == '!', is_deep = at + 1 < fields.len && fields.ptr[at + 1] == ':';
        size_t start = at + (is_deep ? 2 : 1), end = start;
        while (end < fields.len && !memchr(":!#", fields.ptr[end], 3)) end++;
        if (fields.ptr[at] == '#') {
            if (!has_least(state, pel_str_cut(fields, start, end))) return false;
        } else if (!meets_one(state, pel_str_cut(fields, start, end), is_absent, is_deep))
            return false;
        at = end;
    }
    return true;
}

/* Attributes that unpicklers and dict() look up on the object itself, that change what it is, or that its class calls:
 * the factory of a defaultdict is set as a slot. Values that can't be called do nothing there. */
static bool shadows(const pel_pickled *state) {
    static const char *const methods[] = { "append", "extend", "add", "keys" };
    for (uint32_t i = 0; state->kind == PEL_P_DICT && i + 1 < state->items.n; i += 2) {
        const pel_pickled *key = state->items.at[i], *value = state->items.at[i + 1];
        uint32_t budget = MAX_LOOKED;
        if (key->kind != PEL_P_STR) continue;
        if (pel_str_starts(key->text, PEL_STR("__")) && pel_str_ends(key->text, PEL_STR("__"))) return true;
        if (is_plain(value, false, 0, &budget)) continue;
        if (pel_str_is(key->text, "default_factory") && !may_make(value, PEL_USE_CALL)) return true;
        for (size_t j = 0; j < PEL_COUNT(methods); j++)
            if (pel_str_is(key->text, methods[j])) return true;
    }
    return false;
}

static bool has_numbers(pel_str fields) {
    for (size_t i = 1; i < fields.len; i++)
        if ((fields.ptr[i - 1] == ':' || fields.ptr[i - 1] == '#') && fields.ptr[i] >= '0' && fields.ptr[i] <= '9')
            return true;
    return false;
}

/* What is set by name, which runs __setattr__ and setters: the second of two. */
static bool has_slots(const pel_pickled *state) {
    return state->kind == PEL_P_TUPLE && (state->items.n != 2 || state->items.at[1]->kind != PEL_P_NONE);
}

/* Attributes as a dict, or as two of them: those of __dict__ and those of slots. Only what the file spells out can be
 * looked into: a state that a call makes, an OrderedDict say, is not usual. */
static bool is_usual_state(const pel_pickled *state, const pel_effects *effects) {
    if (state->kind >= PEL_P_GLOBAL || (effects->is_without_slots && has_slots(state))) return false;
    if (has_numbers(effects->fields) && state->kind != PEL_P_TUPLE) return false;
    if (shadows(state) || !meets(state, effects->fields)) return false;
    for (uint32_t i = 0; state->kind == PEL_P_TUPLE && i < state->items.n; i++) {
        const pel_pickled *part = state->items.at[i];
        if (part->kind == PEL_P_DICT && (shadows(part) || !meets(part, effects->fields))) return false;
    }
    return true;
}

/* numpy's generators: numbers and arrays, alone or with a seed sequence, which is kept; or a generator of bits. */
static bool is_random_state(const pel_pickled *state) {
    uint32_t budget = MAX_LOOKED;
    bool is_pair = state->kind == PEL_P_TUPLE && state->items.n == 2;
    return is_plain(is_pair ? state->items.at[0] : state, true, 0, &budget);
}

/* ---- dtypes ---- */

#define HAS_OBJECTS 7   /* numpy's flags: counted references, pickled as a list, items are pointers */
#define AS_A_LIST 3     /* without the second, an array's bytes would be its pointers */
#define MAX_FIELDS 1024 /* of records with objects */

/* Of texts, bytes and records: numpy believes the size in the state, whatever the code says. */
static bool read_state_size(const pel_pickled *dtype, uint64_t *size) {
    if (!dtype->states || !dtype->states->list.n) return true;
    const pel_pickled *state = dtype->states->list.at[0];
    const pel_pickled *n = state->kind == PEL_P_TUPLE && state->items.n > 5 ? state->items.at[5] : NULL;
    if (dtype->states->list.n > 1 || !n || n->kind != PEL_P_INT || n->is_big || n->integer < 0) return false;
    *size = (uint64_t)n->integer;
    return true;
}

/* "<f8": 8 bytes, "U5": 20; the kind of the elements. 0: not a dtype that is understood. */
static char dtype_code(const pel_pickled *dtype, uint64_t *size) {
    const pel_pickled *code = dtype->kind == PEL_P_CALL ? pel_pickled_argument(dtype, 0) : NULL;
    *size = 0;
    if (code && pel_pickled_is_global(code, "numpy", "record")) return read_state_size(dtype, size) ? 'V' : 0;
    if (!code || code->kind != PEL_P_STR || !pel_pickled_is_global(dtype->call->callable, "numpy", "dtype")) return 0;
    size_t i = code->text.len && memchr("<>|=", code->text.ptr[0], 4) ? 1 : 0;
    if (i >= code->text.len) return 0;
    char kind = code->text.ptr[i++];
    for (; i < code->text.len && code->text.ptr[i] >= '0' && code->text.ptr[i] <= '9' && *size < 1u << 30; i++)
        *size = *size * 10 + (uint64_t)(code->text.ptr[i] - '0');
    if (kind == 'U') *size *= 4;
    if (kind == 'O') *size = 8; /* at most: a pointer */
    if (strchr("USaV", kind) && !read_state_size(dtype, size)) return 0;
    return i == code->text.len || kind == 'M' || kind == 'm' ? kind : 0;
}

static bool is_usual_dtype(const pel_pickled *dtype, int depth, bool *has_objects);

/* Whether numbers of one field are the pointers of another. A field under two names is the same tuple twice. */
static bool overlap_objects(const pel_pickled *fields, const uint8_t *has_objects) {
    for (uint32_t i = 1; i < fields->items.n; i += 2) {
        const pel_pickled *one = fields->items.at[i];
        uint64_t start = (uint64_t)one->items.at[1]->integer, width = 0;
        if (!(has_objects[i / 16] >> i / 2 % 8 & 1)) continue;
        dtype_code(one->items.at[0], &width);
        for (uint32_t j = 1; j < fields->items.n; j += 2) {
            const pel_pickled *other = fields->items.at[j];
            uint64_t begins = (uint64_t)other->items.at[1]->integer, wide = 0;
            dtype_code(other->items.at[0], &wide);
            if (other != one && begins < start + width && start < begins + wide) return true;
        }
    }
    return false;
}

/* {"name": (dtype, offset), ...}: each within the size of the whole. */
static bool are_usual_fields(const pel_pickled *fields, uint64_t size, int depth, bool *has_objects) {
    uint8_t with_objects[MAX_FIELDS / 8] = { 0 };
    if (fields->kind != PEL_P_DICT) return false;
    for (uint32_t i = 0; i + 1 < fields->items.n; i += 2) {
        const pel_pickled *field = fields->items.at[i + 1];
        uint64_t width;
        bool any = false;
        if (field->kind != PEL_P_TUPLE || field->items.n < 2) return false;
        const pel_pickled *at = field->items.at[1];
        if (at->kind != PEL_P_INT || at->is_big || at->integer < 0 || (uint64_t)at->integer > size) return false;
        if (!dtype_code(field->items.at[0], &width) || width > size - (uint64_t)at->integer) return false;
        if (!is_usual_dtype(field->items.at[0], depth + 1, &any)) return false;
        if (!any) continue;
        if (fields->items.n > 2 * MAX_FIELDS) return false;
        with_objects[i / 16] |= (uint8_t)(1u << i / 2 % 8);
        *has_objects = true;
    }
    return !*has_objects || fields->items.n > 2 * MAX_FIELDS || !overlap_objects(fields, with_objects);
}

/* (dtype, shape): as many elements as the whole has room for. */
static bool is_usual_subarray(const pel_pickled *sub, uint64_t size, int depth, bool *has_objects) {
    uint64_t width;
    if (sub->kind == PEL_P_NONE) return true;
    if (sub->kind != PEL_P_TUPLE || sub->items.n != 2 || sub->items.at[1]->kind != PEL_P_TUPLE) return false;
    if (!dtype_code(sub->items.at[0], &width) || !is_usual_dtype(sub->items.at[0], depth + 1, has_objects))
        return false;
    const pel_pickled *shape = sub->items.at[1];
    for (uint32_t i = 0; i < shape->items.n; i++) {
        const pel_pickled *n = shape->items.at[i];
        if (n->kind != PEL_P_INT || n->is_big || n->integer < 0) return false;
        if (__builtin_mul_overflow(width, (uint64_t)n->integer, &width)) return false;
    }
    return width == size;
}

/* A dtype believes what its state says. If that is not true, the bytes of an array become pointers. */
static bool is_usual_dtype(const pel_pickled *dtype, int depth, bool *has_objects) {
    uint64_t size;
    char kind = dtype_code(dtype, &size);
    if (!kind || depth > MAX_DEPTH || dtype->is_changed) return false;
    bool any = kind == 'O';
    for (uint32_t i = 0; dtype->states && i < dtype->states->list.n; i++) {
        const pel_pickled *state = dtype->states->list.at[i];
        if (state->kind != PEL_P_TUPLE || state->items.n < 8) return false;
        if (!is_usual_subarray(state->items.at[2], size, depth, &any)) return false;
        const pel_pickled *fields = state->items.at[4], *flags = state->items.at[7];
        if (fields->kind != PEL_P_NONE && (kind != 'V' || !are_usual_fields(fields, size, depth, &any))) return false;
        if (flags->kind != PEL_P_INT || flags->is_big || (flags->integer & 1) != (any ? 1 : 0)) return false;
        if (!any && flags->integer & HAS_OBJECTS) return false;
        if (any && (flags->integer & AS_A_LIST) != AS_A_LIST) return false;
    }
    if (any) *has_objects = true;
    return true;
}

pel_judged pel_judge_persistent(const pel_pickled *object) {
    const pel_pickled *id = object->id;
    uint32_t budget = MAX_LOOKED;
    for (uint32_t i = 0; id->kind == PEL_P_TUPLE && i < id->items.n; i++) {
        const pel_pickled *part = id->items.at[i];
        if (part->kind != PEL_P_GLOBAL && !is_plain(part, true, 0, &budget))
            return suspect("persistent-id", "the file's reader compares and prints the id, and it is not plain");
    }
    if (id->kind >= PEL_P_GLOBAL) return suspect("persistent-id", "the id is not plain");
    return NOTE;
}

/* How joblib wrote arrays before 0.10: its unpickler, which still knows them, replaces such an object by numpy.load of
 * the file that its state names, with pickles allowed. */
static bool is_file_of_joblib(const pel_made *made) {
    return pel_str_is(made->module, "joblib.numpy_pickle_compat") &&
           (pel_str_is(made->name, "NDArrayWrapper") || pel_str_is(made->name, "ZNDArrayWrapper"));
}

/* (version, shape, dtype, order, elements) of an array: of objects as a list, which numpy reads without counting. */
static bool is_short_list(const pel_pickled *state) {
    for (uint32_t i = 3; state->kind == PEL_P_TUPLE && i < state->items.n; i++) {
        const pel_pickled *list = state->items.at[i], *shape = state->items.at[i - 3];
        uint64_t n = 1;
        if (list->kind != PEL_P_LIST || shape->kind != PEL_P_TUPLE) continue;
        for (uint32_t j = 0; j < shape->items.n; j++) {
            const pel_pickled *size = shape->items.at[j];
            if (size->kind != PEL_P_INT || size->is_big || size->integer < 0 ||
                __builtin_mul_overflow(n, (uint64_t)size->integer, &n))
                return true;
        }
        if (n > list->items.n || list->is_changed) return true;
    }
    return false;
}

/* Arrays and dtypes are memory that others use: what gets a state when it is in use, or a state that numpy believes
 * although it is not true, makes pointers of bytes. */
static bool breaks_memory(const pel_pickled *object, const pel_made *made) {
    bool ignored = false, is_numpy = pel_str_starts(made->module, PEL_STR("numpy"));
    if (is_numpy && object->is_changed) return true;
    if (is_numpy && pel_str_is(made->name, "dtype") && !is_usual_dtype(object, 0, &ignored)) return true;
    for (uint32_t i = 0; i < object->states->list.n; i++)
        if (is_short_list(object->states->list.at[i])) return true;
    return false;
}

pel_judged pel_judge_state(const pel_pickled *object) {
    static const char unusual[] = "its state is not what its class writes, and code runs on it";
    if (object->kind == PEL_P_GLOBAL) return danger("changes", "other code uses it");
    pel_made made = pel_made_of(object);
    if (made.kind == PEL_MADE_PLAIN) return NOTE; /* raises: they have no attributes */
    uint32_t budget = MAX_LOOKED;
    if (is_member(object)) return danger("changes", "other code uses it");
    if (breaks_memory(object, &made)) return suspect("state", unusual);
    pel_effects effects = pel_made_effects(&made);
    if (is_value(object)) {
        bool is_usual = is_plain(object, true, 0, &budget);
        for (uint32_t i = 0; is_usual && effects.fields.len && i < object->states->list.n; i++)
            is_usual = is_usual_state(object->states->list.at[i], &effects);
        return is_usual ? NOTE : suspect("state", unusual);
    }
    bool is_nameless = made.kind == PEL_MADE_VALUE && !made.name.len;
    if (is_file_of_joblib(&made))
        return suspect("external", "joblib.load reads the file that it names, and unpickles what is there");
    pel_judged judged =
        is_nameless ? NOTE : judge_effect(&effects, PEL_USE_STATE, "state-unknown", "nobody knows what its state does");
    for (uint32_t i = 0; judged.severity == PEL_NOTE && i < object->states->list.n; i++) {
        const pel_pickled *state = object->states->list.at[i];
        if (!(is_nameless ? is_random_state(state) : is_usual_state(state, &effects))) return suspect("state", unusual);
    }
    return judged;
}

static pel_judged judge_made(const pel_pickled *object, pel_use use, const char *kind, const char *why) {
    pel_made made = pel_made_of(object);
    uint32_t budget = MAX_LOOKED;
    if (is_value(object) && is_plain(object, true, 0, &budget)) return NOTE;
    if (made.kind <= PEL_MADE_VALUE || is_plain_class(&made)) return NOTE;
    pel_effects effects = pel_made_effects(&made);
    return judge_effect(&effects, use, kind, why);
}

pel_judged pel_judge_items(const pel_pickled *object) {
    if (object->kind == PEL_P_GLOBAL) return danger("changes", "other code uses it");
    pel_made made = pel_made_of(object);
    for (uint32_t i = 0; made.kind == PEL_MADE_VALUE && i < object->items.n; i++) {
        uint32_t budget = MAX_LOOKED;
        if (!is_plain(object->items.at[i], true, 0, &budget))
            return suspect("items-unknown", "it runs methods of what is put into it, and that is not plain");
    }
    return judge_made(object, PEL_USE_ITEMS, "items-unknown", "nobody knows what putting things into it does");
}

pel_judged pel_judge_key(const pel_pickled *object) {
    if (object->kind == PEL_P_GLOBAL) return NOTE; /* classes and functions have Python's own hash */
    return judge_made(object, PEL_USE_KEY, "key-unknown", "nobody knows what its __hash__ and __eq__ do");
}

pel_judged pel_judge_reference(const pel_pickled *global, bool is_script) {
    pel_str module = global->global->module;
    if (global->global->is_computed)
        return danger("computed-name", "imports a name that is computed while the file is opened");
    pel_judged judged;
    if (is_listed(global->global, "imports", is_script, &judged)) return judged;
    if (pel_str_is(module, "__main__")) return NOTE; /* it is there already */
    if (effects_of(global->global).is_module_known) return NOTE;
    return suspect("imports-unknown", "nobody knows what importing its module does");
}
