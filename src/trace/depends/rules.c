/* What an attribute depends on, by what holds it: a rule for every kind of value. */
#include "trace/synth.h"

#pragma GCC diagnostic error "-Wswitch-enum" /* each kind of value has its rule */

static bool is_written(const pel_synth *s, pel_id class, pel_name name) {
    return pel_map_has(&s->objects.written, pel_key2(class, PEL_KEY(name)));
}

/* Whether some run stores an attribute of that name into a class or something that has none: a function, a module of
 * Python's. */
static bool is_written_somewhere(const pel_synth *s, pel_name name) { return is_written(s, 0, name); }

bool pel_is_written(const pel_synth *s, pel_id holder, pel_name name) {
    pel_id class = pel_class_with_attributes(s->log, holder);
    if (pel_value_at(s->log, holder)->kind == PEL_V_CLASS) class = pel_value_at(s->log, holder)->class;
    return (class && is_written(s, class, name)) || is_written_somewhere(s, name);
}

/* A constant of the class, if it is that and no run stores one of that name. */
static const pel_taint *of_class(const pel_synth *s, pel_id class, pel_name name) {
    return is_written(s, class, name) || is_written_somewhere(s, name) ? &pel_tainted : pel_constant(PEL_WHY_CLASS);
}

static const pel_taint *of_value(const pel_taint *base) {
    return pel_is_constant(base) ? pel_constant(PEL_WHY_COMPUTED) : &pel_tainted;
}

/* An object of the author's or of a library. What was there before the run holds what it held then, unless a run stores
 * into it; of what the run made, or a caller gave, those who stored into it say what it holds. */
static const pel_taint *of_object(const pel_synth *s, pel_id holder, pel_name name, const pel_taint *base) {
    const pel_value *object = pel_value_at(s->log, holder);
    bool is_old = pel_map_has(&s->objects.old, object->object),
         is_given = pel_map_has(&s->objects.given, object->object);
    pel_id held = pel_item_named(s->log, object, name);
    bool is_library = pel_class_at(s->log, object->class)->kind == PEL_CLASS_LIBRARY;
    /* made of what it was given: a distribution of tensors has their shape, by a property that nobody sees run */
    if (is_library && !is_old && !is_given && pel_live(s, holder) && !pel_live(s, held)) return &pel_tainted;
    if (!held && !is_given) return of_class(s, object->class, name);
    if (is_old) return is_written(s, object->class, name) ? &pel_tainted : pel_constant(PEL_WHY_OBJECT);
    const pel_taint *stored = pel_map_pointer(&s->facts.attributes, pel_key2(object->class, PEL_KEY(name)));
    if (stored) return stored;
    if (!is_library) return &pel_taint_unknown;
    return is_written(s, object->class, name) ? &pel_tainted : of_value(base);
}

/* Types of C's whose objects are what they are for ever; exceptions, unless somebody stores into them. */
static bool is_unchangeable(pel_str type) {
    static const char *const types[] = { "code", "method-wrapper", "wrapper_descriptor", "method_descriptor" };
    for (size_t i = 0; i < PEL_COUNT(types); i++)
        if (pel_str_is(type, types[i])) return true;
    return pel_str_ends(type, PEL_STR("Error")) || pel_str_ends(type, PEL_STR("Exception"));
}

const pel_taint *pel_attribute_depends(const pel_synth *s, pel_id holder, pel_name name, const pel_taint *base) {
    const pel_value *value = pel_value_at(s->log, holder);
    if (pel_name_is(name, "__dict__")) return &pel_taint_unknown; /* what calls change is in it, and a module's mode */
    switch ((pel_value_kind)value->kind) {
    case PEL_V_MODULE:
        if (is_written_somewhere(s, name)) return &pel_tainted;
        return pel_constant(PEL_WHY_ATTRIBUTE); /* what runs change is asked apart */
    case PEL_V_OBJECT: return of_object(s, holder, name, base);
    case PEL_V_CLASS: return of_class(s, value->class, name);
    case PEL_V_LIBRARY: return pel_constant(PEL_WHY_LIBRARY);
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL: return is_written_somewhere(s, name) ? &pel_tainted : of_value(base);
    case PEL_V_OPAQUE:
        if (is_unchangeable(value->text)) return is_written_somewhere(s, name) ? &pel_tainted : of_value(base);
        if (!pel_str_starts(value->text, PEL_STR("module "))) return &pel_taint_unknown;
        return is_written_somewhere(s, name) ? &pel_tainted : pel_constant(PEL_WHY_FILE);
    case PEL_V_TENSOR: return &pel_tainted;
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_DICT:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_LITERAL: return of_value(base);
    case PEL_V_NONE_YET: return &pel_taint_unknown;
    }
    return &pel_taint_unknown;
}

/* An object of a library's may count, draw or keep something (itertools.count, random.Random); one of these does not.
 */
static bool is_unchangeable_class(const pel_log_class *class) {
    static const char *const paths[] = {
        "re.Pattern",        "re.Match",     "fractions.Fraction", "decimal.Decimal",       "datetime.timedelta",
        "datetime.datetime", "pathlib.Path", "pathlib.PosixPath",  "pathlib.PurePosixPath", "inspect.Signature",
        "inspect.Parameter",
    };
    for (size_t i = 0; i < PEL_COUNT(paths); i++)
        if (pel_str_is(class->path, paths[i])) return true;
    return false;
}

/* Objects of a library's that are their attributes and nothing else: they change where somebody stores into them. */
static bool is_bare_class(const pel_log_class *class) {
    return pel_str_is(class->path, "argparse.Namespace") || pel_str_is(class->path, "types.SimpleNamespace");
}

static const pel_taint *by_object(const pel_synth *s, const pel_value *object) {
    const pel_log_class *class = pel_class_at(s->log, object->class);
    if (is_unchangeable_class(class)) return pel_constant(PEL_WHY_COMPUTED);
    bool is_known = (class->kind != PEL_CLASS_LIBRARY || is_bare_class(class)) &&
                    pel_map_has(&s->objects.old, object->object) && !pel_map_has(&s->objects.written, object->class);
    return is_known ? pel_constant(PEL_WHY_LOOKED_UP) : &pel_taint_unknown;
}

/* What a method gives beyond what its object and arguments hang on. Kinds that no rule knows are unknown, never
 * constant: the switch has no default, so that a new kind must be decided here. */
const pel_taint *pel_method_depends(const pel_synth *s, pel_id holder, pel_name name) {
    const pel_value *value = pel_value_at(s->log, holder);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE: return pel_constant(PEL_WHY_COMPUTED);
    case PEL_V_LITERAL:
        if (!value->object) return pel_constant(PEL_WHY_COMPUTED);
        if (!pel_str_starts(value->text, PEL_STR("contextvars.ContextVar("))) return &pel_taint_unknown;
        return pel_name_is(name, "set") || pel_name_is(name, "reset") ? pel_constant(PEL_WHY_MADE) : &pel_taint_unknown;
    case PEL_V_OBJECT: return by_object(s, value);
    case PEL_V_MODULE: return pel_method_pure(PEL_V_MODULE, name) ? pel_constant(PEL_WHY_MODULE) : &pel_taint_unknown;
    case PEL_V_TENSOR: return &pel_tainted;
    case PEL_V_OPAQUE: return is_unchangeable(value->text) ? pel_constant(PEL_WHY_COMPUTED) : &pel_taint_unknown;
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL:
    case PEL_V_CLASS:
    case PEL_V_LIBRARY:
    case PEL_V_NONE_YET: return &pel_taint_unknown;
    }
    return &pel_taint_unknown;
}

bool pel_keeps_state(const pel_synth *s, pel_id id) {
    const pel_value *value = pel_value_at(s->log, id);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_OPAQUE:
        return !is_unchangeable(value->text) && !pel_str_starts(value->text, PEL_STR("module ")) &&
               !pel_str_is(value->text, "super");
    case PEL_V_OBJECT:
        return pel_class_at(s->log, value->class)->kind == PEL_CLASS_LIBRARY &&
               !is_unchangeable_class(pel_class_at(s->log, value->class)) &&
               !is_bare_class(pel_class_at(s->log, value->class)) && pel_map_has(&s->objects.old, value->object);
    case PEL_V_LITERAL: return value->object != 0;
    case PEL_V_DICT: /* a defaultdict gets what it is asked for */
        return value->class && pel_str_is(pel_class_at(s->log, value->class)->path, "collections.defaultdict") &&
               pel_map_has(&s->objects.old, value->object);
    case PEL_V_NONE_YET:
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_TENSOR:
    case PEL_V_MODULE:
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL:
    case PEL_V_CLASS:
    case PEL_V_LIBRARY: return false; /* what runs change of these is known by name or identity */
    }
    return true;
}
