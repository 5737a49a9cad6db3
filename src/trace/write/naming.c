/* What functions and classes are called in the file. */
#include "trace/shrink/link.h"

/* Names of Python's own that a text may mean: no function or class of the file hides them. */
bool pel_is_builtin(pel_str name) {
    static const char *const names[] = {
        "abs",     "all",     "any",      "bool",  "callable", "dict",    "enumerate",  "filter", "float",
        "getattr", "hasattr", "hash",     "id",    "input",    "int",     "isinstance", "iter",   "len",
        "list",    "map",     "max",      "min",   "next",     "open",    "pow",        "print",  "property",
        "range",   "repr",    "reversed", "round", "set",      "setattr", "slice",      "sorted", "str",
        "sum",     "super",   "tuple",    "type",  "zip",
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(name, names[i])) return true;
    return false;
}

static pel_name unique(pel_synth *s, pel_map *taken, pel_id class, pel_name wish) {
    pel_name name = wish;
    for (unsigned i = 2;
         pel_map_has(taken, pel_key2(class, PEL_KEY(name))) || (!class && pel_is_builtin(pel_name_str(name))); i++) {
        pel_str text = pel_format(s->ctx, "%s_%u", wish->text, i);
        name = pel_intern_str(s->ctx, text);
    }
    pel_map_set(s->ctx, taken, pel_key2(class, PEL_KEY(name)), 1);
    return name;
}

static bool is_local_somewhere(const pel_synth *s, pel_name name) {
    for (uint32_t c = 1; c < s->log->codes.n; c++)
        if (pel_names_have(s->log->codes.at[c].code->localsplus, name)) return true;
    return false;
}

pel_name pel_name_wish(const pel_synth *s, const pel_group *group) {
    if (group->is.root) return pel_intern_c(s->ctx, "forward");
    pel_name own = s->log->codes.at[group->code].code->name;
    pel_name wish = (group->class || own->text[0] == '<') && group->hint ? group->hint : own;
    return wish->text[0] == '<' ? pel_intern_c(s->ctx, "function") : wish; /* <lambda> */
}

/* A method without self becomes a function of the file, where its name may mean something else. */
static pel_name name_of_static(const pel_synth *s, pel_id class, pel_name wish) {
    if (!pel_is_builtin(pel_name_str(wish)) && !is_local_somewhere(s, wish)) return wish;
    pel_str text = pel_format(s->ctx, "%s_%s", pel_class_at(s->log, class)->name->text, wish->text);
    return pel_intern_str(s->ctx, text);
}

/* mask = masks.mask(x): a function of another file, whose name is a variable where it is called. */
static bool is_local_of_a_caller(const pel_synth *s, const pel_reach *r, const pel_group *group, pel_name name) {
    for (uint32_t i = 0; i < s->links.n; i++) {
        const pel_group *target = s->links.at[i]->target;
        while (target->instead) target = target->instead;
        const pel_group *caller = s->links.at[i]->caller;
        if (!r->active[i] || target != group) continue;
        if (pel_is_own_name(pel_group_text(s, caller), name)) return true;
    }
    return false;
}

/* Called by its author's name: by torch, by users of the model, or by texts that say it. */
static bool has_plain_name(const pel_synth *s, const pel_group *group) {
    return group->is.root || group->is.pinned || group->is.property || group->is.init ||
           (group->hint && group->hint == s->log->codes.at[group->code].code->name);
}

static void name_function(pel_synth *s, const pel_reach *r, pel_map *taken, pel_group *group) {
    pel_name wish = pel_name_wish(s, group);
    pel_id class = group->class ? group->class : s->log->codes.at[group->code].class;
    bool of_file = !group->class || group->is.without_self;
    if (of_file && class) wish = name_of_static(s, class, wish);
    if (of_file && is_local_of_a_caller(s, r, group, wish)) pel_map_set(s->ctx, taken, pel_key2(0, PEL_KEY(wish)), 1);
    pel_program_function *function = group->function = pel_new(s->ctx, pel_program_function);
    function->code = group->code;
    function->class = group->is.without_self ? 0 : group->class;
    function->from_source = !pel_map_has(&s->program->straight, group->code);
    function->is_property = group->is.property;
    function->name = unique(s, taken, function->class, wish);
}

void pel_name_functions(pel_synth *s, const pel_reach *r) {
    pel_map taken = { 0 };
    for (int first = 1; first >= 0; first--) /* the plain names go to those that are called by them */
        for (uint32_t i = 0; i < s->groups.n; i++) {
            pel_group *group = s->groups.at[i];
            if (!r->seen[i] || group->is.nested || group->function) continue;
            if (!first || has_plain_name(s, group)) name_function(s, r, &taken, group);
        }
}

void pel_name_classes(pel_synth *s) { /* two files may have classes of one name */
    pel_map taken = { 0 };
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        pel_program_class *row = s->program->classes.at[i];
        if (row->methods.n || row->instances.n) row->name = unique(s, &taken, 0, row->name);
    }
}
