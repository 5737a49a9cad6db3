/* What the run changes, and with that what is live: cannot be folded into the text. */
#include "trace/synth.h"

#define MAX_DEPTH 200 /* of values inside values */
#define DEEPEST_GIVEN 4

/* object.name += value: the object was pushed before its attribute was read. 0 if record i is no store of such. */
static pel_id changed_in_place(const pel_author *author, const pel_activation *activation, uint32_t i) {
    const pel_insn *store = &author->insns->at[author->index[activation->records[i].at]];
    if (store == author->insns->at || store[-1].op != PEL_OP_SWAP) return 0;
    for (uint32_t r = i; r > 1; r--) {
        const pel_record *record = &activation->records[r - 1];
        const pel_insn *insn = pel_author_insn(author, record);
        if (!insn || insn->op != PEL_OP_LOAD_ATTR || insn->name != store->name) continue;
        for (uint32_t k = r - 1; k > 0; k--)
            if (activation->records[k - 1].kind == PEL_R_PUSH) return activation->records[k - 1].value;
    }
    return 0;
}

/* Whether an object's attribute gave a list, dict or set that is not what the object held when it was last looked at,
 * or what the attribute gave before: self.items.append(x) changes an object without storing into it. */
static bool is_filled(pel_synth *s, pel_map *given_before, const pel_value *object, pel_name attribute, pel_id given) {
    const pel_value *container = pel_value_at(s->log, given);
    pel_value_kind kind = container->kind;
    if (object->kind != PEL_V_OBJECT || (kind != PEL_V_LIST && kind != PEL_V_DICT && kind != PEL_V_SET)) return false;
    pel_id before = (pel_id)pel_map_find(given_before, container->object, given);
    pel_map_set(s->ctx, given_before, container->object, given);
    pel_id held = pel_item_named(s->log, object, attribute);
    return held && (!pel_value_same(s->log, held, given) || !pel_value_same(s->log, before, given));
}

/* The run changes objects of a class that is no module. */
static bool note_changed(pel_synth *s, pel_id class) {
    pel_map_set(s->ctx, &s->program->changed, class, 1);
    return pel_map_set(s->ctx, &s->objects.written, class, 1);
}

/* What one activation does to objects, record by record. */
typedef struct watch {
    pel_synth *s;
    const pel_author *author;
    const pel_activation *activation;
    pel_id below;   /* pushed last */
    bool copies;    /* copy.copy or copy.deepcopy has been named, and not yet called */
    bool sets;      /* setattr has been named, and not yet called */
    pel_id holder;  /* class of what was pushed since then and has attributes */
    pel_map pushed; /* identities */
    pel_map copied; /* of those that it copied itself */
    pel_map *read;  /* class and attribute -> 1: that were read so far */
} watch;

/* A copy of what was there before the run, made here: what is stored into it makes it no object of the run's. */
static void see_copy(watch *to, const pel_insn *insn, pel_id given) {
    const pel_value *value = pel_value_at(to->s->log, given);
    if (value->kind == PEL_V_LIBRARY &&
        (pel_str_is(value->text, "copy.copy") || pel_str_is(value->text, "copy.deepcopy")))
        to->copies = true;
    if (value->kind != PEL_V_OBJECT) return;
    bool is_first = pel_map_set(to->s->ctx, &to->pushed, value->object, 1);
    if (!to->copies || insn->op != PEL_OP_CALL) return;
    if (is_first) pel_map_set(to->s->ctx, &to->copied, value->object, 1);
    to->copies = false;
}

static void note_stored(watch *to, uint64_t key) {
    if (pel_map_has(&to->s->objects.written, key)) return;
    pel_map_set(to->s->ctx, &to->s->objects.written, key,
                pel_map_has(to->read, key) ? PEL_STORED_LATER : PEL_STORED_FIRST);
}

/* What stores an attribute under a name that it is given: Python's, and what torch's modules have. */
static bool is_setter(pel_str name) {
    static const char *const names[] = {
        "setattr",    "delattr",         "__setattr__", "__delattr__", "register_buffer", "register_parameter",
        "add_module", "register_module",
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(name, names[i])) return true;
    return false;
}

/* self.__setattr__, super().__setattr__: the class of what it is read from, or of the function's own object. */
static pel_id class_of_holder(const watch *to) {
    const pel_log *log = to->s->log;
    const pel_value *below = pel_value_at(log, to->below);
    bool is_super = below->kind == PEL_V_OPAQUE && pel_str_is(below->text, "super");
    pel_id self = log->codes.at[to->activation->code].code->argcount ? to->activation->locals[0] : 0;
    return pel_class_with_attributes(log, is_super ? self : to->below);
}

/* setattr(object, name, value): every text between the two may be the name. */
static void see_setattr(watch *to, const pel_insn *insn, pel_id given) {
    const pel_value *value = pel_value_at(to->s->log, given);
    bool is_read = insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD;
    is_read = is_read && is_setter(pel_name_str(insn->name));
    if (is_read || (value->kind == PEL_V_LIBRARY && is_setter(value->text))) {
        to->sets = true;
        to->holder = is_read ? class_of_holder(to) : 0;
        return;
    }
    if (!to->sets) return;
    pel_id class = pel_class_with_attributes(to->s->log, given);
    if (class) to->holder = class;
    if (to->holder && value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_STR) {
        pel_name name = pel_intern_str(to->s->ctx, value->constant->text);
        note_stored(to, pel_key2(to->holder, PEL_KEY(name)));
    }
    if (insn->op == PEL_OP_CALL && value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE)
        to->sets = false;
}

static void see_store(watch *to, uint32_t record, const pel_insn *insn) {
    const pel_log *log = to->s->log;
    /* the object is what was pushed last: CPython evaluates value, then object */
    const pel_value *object = pel_value_at(log, to->below);
    pel_id changed = changed_in_place(to->author, to->activation, record);
    if (changed) object = pel_value_at(log, changed);
    bool is_object = object->kind == PEL_V_OBJECT;
    if (is_object && pel_map_has(&to->copied, object->object)) return;
    pel_id class = is_object                      ? object->class
                   : object->kind == PEL_V_MODULE ? pel_module_at(log, object->module)->class
                                                  : 0;
    if (object->kind == PEL_V_CLASS)
        pel_map_set(to->s->ctx, &to->s->objects.written, pel_key2(object->class, PEL_KEY(insn->name)), 1);
    if (!class)
        pel_map_set(to->s->ctx, &to->s->objects.written, pel_key2(0, PEL_KEY(insn->name)), 1); /* who knows whose */
    if (!class) return;
    note_stored(to, pel_key2(class, PEL_KEY(insn->name)));
    if (is_object) note_changed(to->s, class);
}

/* Attributes that some STORE_ATTR of the run writes, and objects that the run fills: reading them is never folded. */
static void find_written(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map given = { 0 }; /* containers by their identity */
    pel_map read = { 0 };
    for (uint32_t a = 1; a < log->activations.n; a++) {
        watch to = { .s = s, .activation = &log->activations.at[a], .read = &read };
        to.author = &s->authors[to.activation->code];
        if (!to.author->insns || pel_name_is(log->codes.at[to.activation->code].code->name, "__init__")) continue;
        for (uint32_t i = 0; i < to.activation->n_records; i++) {
            const pel_record *record = &to.activation->records[i];
            const pel_insn *insn = pel_author_insn(to.author, record);
            if (!insn) continue;
            if (insn->op == PEL_OP_STORE_ATTR || insn->op == PEL_OP_DELETE_ATTR) see_store(&to, i, insn);
            if (insn->op == PEL_OP_DELETE_ATTR)
                pel_map_set(s->ctx, &s->objects.written, pel_key2(PEL_DELETED, PEL_KEY(insn->name)), 1);
            if (record->kind != PEL_R_PUSH) continue;
            const pel_value *object = pel_value_at(log, to.below);
            if (insn->op == PEL_OP_LOAD_ATTR && object->kind == PEL_V_MODULE)
                pel_map_set(s->ctx, &read, pel_key2(pel_module_at(log, object->module)->class, PEL_KEY(insn->name)), 1);
            if (insn->op == PEL_OP_LOAD_ATTR && is_filled(s, &given, object, insn->name, record->value))
                note_changed(s, object->class);
            see_copy(&to, insn, record->value);
            see_setattr(&to, insn, record->value);
            to.below = record->value;
        }
    }
}

/* Names of files that some STORE_GLOBAL of the run binds, with the value that they had first. */
static void find_written_globals(pel_synth *s) {
    const pel_log *log = s->log;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t a = 1; a < log->activations.n; a++) {
            const pel_activation *activation = &log->activations.at[a];
            const pel_author *author = &s->authors[activation->code];
            for (uint32_t i = 0; i < activation->n_records && author->insns; i++) {
                const pel_record *record = &activation->records[i];
                const pel_insn *insn = pel_author_insn(author, record);
                if (!insn) continue;
                uint64_t key = pel_key2(log->codes.at[activation->code].file, PEL_KEY(insn->name));
                if (pass == 0 && insn->op == PEL_OP_STORE_GLOBAL)
                    pel_map_set(s->ctx, &s->objects.written_globals, key, 0);
                if (pass == 1 && insn->op == PEL_OP_LOAD_GLOBAL && record->kind == PEL_R_PUSH &&
                    pel_map_has(&s->objects.written_globals, key) && !pel_map_find(&s->objects.written_globals, key, 0))
                    pel_map_set(s->ctx, &s->objects.written_globals, key, record->value);
            }
        }
}

/* Variables of closures that were made before the run and that functions of the run bind: `nonlocal n`. Binding one
 * leaves no record, so a function that can do it is taken to do it. */
void pel_find_written_cells(pel_synth *s) {
    for (pel_id id = 1; id < s->log->codes.n; id++) {
        const pel_author *author = &s->authors[id];
        const pel_code_object *code = s->log->codes.at[id].code;
        if (!author->insns || !code->freevars.n || pel_made_in_run(s, author)) continue;
        for (uint32_t i = 0; i < author->insns->n; i++) {
            const pel_insn *insn = &author->insns->at[i];
            bool binds = insn->op == PEL_OP_STORE_DEREF || insn->op == PEL_OP_DELETE_DEREF;
            if (binds && pel_names_have(code->freevars, insn->name))
                pel_map_set(s->ctx, &s->objects.written_cells, pel_key2(s->log->codes.at[id].file, PEL_KEY(insn->name)),
                            1);
        }
    }
}

/* seen: values; functions may hold each other. */
static void mark_old(pel_synth *s, pel_map *seen, pel_id id, uint32_t depth) {
    const pel_value *value = pel_value_at(s->log, id);
    if (!pel_value_has_items(value->kind) || depth > MAX_DEPTH || !pel_map_set(s->ctx, seen, id, 1)) return;
    if (value->object && !pel_map_set(s->ctx, &s->objects.old, value->object, 1) && value->kind == PEL_V_OBJECT) return;
    for (uint32_t i = 0; i < value->n; i++) mark_old(s, seen, value->items[i], depth + 1);
}

/* What a function that was made before the run has in its cells. */
static void mark_old_cells(pel_synth *s, pel_map *seen, const pel_activation *activation) {
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    if (pel_made_in_run(s, &s->authors[activation->code])) return;
    for (uint32_t i = 0; i < code->freevars.n; i++) mark_old(s, seen, activation->cells[code->cellvars.n + i], 0);
}

/* Objects that were there before the run: what modules hold, what global names gave, and what is in closures. */
static void find_old_objects(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map seen = { 0 };
    for (uint32_t m = 1; m < log->modules.n; m++)
        for (uint32_t i = 0; i < log->modules.at[m].n_attributes; i++)
            mark_old(s, &seen, log->modules.at[m].attributes[i].value, 0);
    for (uint32_t a = 1; a < log->activations.n; a++) {
        const pel_activation *activation = &log->activations.at[a];
        const pel_author *author = &s->authors[activation->code];
        if (author->node) mark_old_cells(s, &seen, activation);
        for (uint32_t i = 0; i < activation->n_records && author->insns; i++) {
            const pel_record *record = &activation->records[i];
            const pel_insn *insn = pel_author_insn(author, record);
            if (record->kind == PEL_R_PUSH && insn && insn->op == PEL_OP_LOAD_GLOBAL)
                mark_old(s, &seen, record->value, 0);
        }
    }
}

static void mark_given(pel_synth *s, pel_map *seen, pel_id id, uint32_t depth) {
    const pel_value *value = pel_value_at(s->log, id);
    if (!pel_value_has_items(value->kind) || depth > MAX_DEPTH || !pel_map_set(s->ctx, seen, id, 1)) return;
    if (value->kind == PEL_V_OBJECT) {
        if (!value->class || pel_map_has(&s->objects.old, value->object)) return;
        if (!pel_map_set(s->ctx, &s->objects.given, value->object, 1)) return;
        pel_class_kind kind = pel_class_at(s->log, value->class)->kind;
        if (kind == PEL_CLASS_AUTHOR || kind == PEL_CLASS_DATACLASS)
            pel_map_set(s->ctx, &s->objects.given, pel_given_class(value->class), 1);
    }
    for (uint32_t i = 0; i < value->n; i++) mark_given(s, seen, value->items[i], depth + 1);
}

/* Objects that come with a call, as caches do: another call may bring another one. */
static void find_given_objects(pel_synth *s) {
    pel_map seen = { 0 };
    for (uint32_t r = 0; r < s->log->runs.n; r++) {
        const pel_log_run *run = &s->log->runs.at[r];
        for (uint32_t i = 0; i < run->n_args; i++) mark_given(s, &seen, run->args[i], 0);
        for (uint32_t i = 0; i < run->n_kwargs; i++) mark_given(s, &seen, run->kwargs[i].value, 0);
    }
}

/* A value is live if it is a tensor, or holds one. An object is live if it ever does, if the caller gave it, or if the
 * run makes it and changes it: then what it holds at one time says nothing about another. */
static void find_live(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map live_objects = { 0 };
    bool changed = true;
    while (changed) {
        changed = false;
        for (pel_id id = 1; id < log->values.n; id++) {
            if (s->objects.live[id]) continue;
            const pel_value *value = pel_value_at(log, id);
            bool live = value->kind == PEL_V_TENSOR, is_object = value->kind == PEL_V_OBJECT;
            if (is_object)
                live = pel_map_has(&live_objects, value->object) || pel_map_has(&s->objects.given, value->object) ||
                       (pel_map_has(&s->objects.written, value->class) && !pel_map_has(&s->objects.old, value->object));
            bool is_called = value->kind == PEL_V_FUNCTION || value->kind == PEL_V_METHOD; /* holds, but is no data */
            if (pel_value_has_items(value->kind) && !is_called)
                for (uint32_t i = 0; i < value->n && !live; i++) live = s->objects.live[value->items[i]];
            if (is_object && live) pel_map_set(s->ctx, &live_objects, value->object, 1);
            if (live) s->objects.live[id] = changed = true;
        }
    }
}

void pel_make_live(pel_synth *s, pel_id class) {
    if (note_changed(s, class)) find_live(s);
}

/* d[k] = v, d[k] += v: what d was, as the last push that begins where the target does and ends before it. */
pel_id pel_container_of_store(const pel_author *author, const pel_activation *activation, uint32_t i) {
    const pel_position *target = &author->positions[author->index[activation->records[i].at]], *best = NULL;
    pel_id found = 0;
    for (uint32_t r = i; r > 0 && i - r < 64; r--) {
        const pel_record *record = &activation->records[r - 1];
        const pel_insn *insn = record->kind == PEL_R_PUSH ? pel_author_insn(author, record) : NULL;
        if (!insn) continue;
        const pel_position *at = &author->positions[insn - author->insns->at];
        bool begins = at->line == target->line && at->col == target->col && at->end_line == target->end_line;
        if (!begins || at->end_col >= target->end_col || (best && at->end_col <= best->end_col)) continue;
        best = at;
        found = record->value;
    }
    return found;
}

/* Lists, dicts and sets that were there before the run, and that it changes: by an item, or by a method. */
static void find_filled(pel_synth *s) {
    const pel_log *log = s->log;
    for (uint32_t a = 1; a < log->activations.n; a++) {
        const pel_activation *activation = &log->activations.at[a];
        const pel_author *author = &s->authors[activation->code];
        pel_id below = 0;
        for (uint32_t i = 0; i < activation->n_records && author->insns; i++) {
            const pel_record *record = &activation->records[i];
            const pel_insn *insn = pel_author_insn(author, record);
            if (!insn) continue;
            pel_id changed = 0;
            if (insn->op == PEL_OP_STORE_SUBSCR || insn->op == PEL_OP_DELETE_SUBSCR)
                changed = pel_container_of_store(author, activation, i);
            if (insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD) changed = below;
            const pel_value *value = pel_value_at(log, changed);
            bool is_container = value->kind == PEL_V_LIST || value->kind == PEL_V_DICT || value->kind == PEL_V_SET;
            bool asks = insn->op != PEL_OP_STORE_SUBSCR && insn->op != PEL_OP_DELETE_SUBSCR && changed &&
                        (pel_method_pure(value->kind, insn->name) || value->class);
            if (is_container && !asks && value->object && pel_map_has(&s->objects.old, value->object))
                pel_map_set(s->ctx, &s->facts.filled, value->object, PEL_FILLED_WITH_DATA);
            if (record->kind == PEL_R_PUSH) below = record->value;
        }
    }
}

/* Where an object's attributes are a dict: x.__dict__, vars(x), getattr(x, "__dict__"). */
typedef struct names_of {
    pel_synth *s;
    pel_map dicts; /* identities of those of modules, classes and objects that were there before the run -> 1 */
    pel_id holder; /* pushed last of those that have such a dict */
    bool asked;    /* for its dict, by a call that is still to come */
} names_of;

static bool lasts(const pel_synth *s, pel_id id) {
    const pel_value *value = pel_value_at(s->log, id);
    return value->kind == PEL_V_MODULE || value->kind == PEL_V_CLASS || value->kind == PEL_V_FUNCTION ||
           (value->kind == PEL_V_OBJECT && pel_map_has(&s->objects.old, value->object));
}

static void see_names(names_of *to, const pel_insn *insn, pel_id pushed) {
    const pel_value *value = pel_value_at(to->s->log, pushed);
    bool is_text = value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_STR;
    if ((value->kind == PEL_V_LIBRARY && pel_str_is(value->text, "vars")) ||
        (is_text && pel_str_is(value->constant->text, "__dict__")))
        to->asked = true;
    bool is_read = insn->op == PEL_OP_LOAD_ATTR && pel_name_is(insn->name, "__dict__");
    bool is_called = insn->op == PEL_OP_CALL && to->asked;
    if (is_called) to->asked = false;
    if (value->kind == PEL_V_DICT && value->object && (is_read || is_called) && lasts(to->s, to->holder))
        pel_map_set(to->s->ctx, &to->dicts, value->object, 1);
    if (pel_class_with_attributes(to->s->log, pushed) || lasts(to->s, pushed)) to->holder = pushed;
}

/* self.__dict__["k"] = 1 stores an attribute under a name that no instruction has, so who reads it is not known. */
static void refuse_stores_by_dict(pel_synth *s) {
    const pel_log *log = s->log;
    names_of to = { .s = s };
    for (uint32_t a = 1; a < log->activations.n; a++) {
        const pel_activation *activation = &log->activations.at[a];
        const pel_author *author = &s->authors[activation->code];
        if (!author->insns || pel_name_is(log->codes.at[activation->code].code->name, "__init__")) continue;
        pel_id below = 0;
        for (uint32_t i = 0; i < activation->n_records; i++) {
            const pel_record *record = &activation->records[i];
            const pel_insn *insn = pel_author_insn(author, record);
            if (!insn) continue;
            bool is_item = insn->op == PEL_OP_STORE_SUBSCR || insn->op == PEL_OP_DELETE_SUBSCR,
                 is_method = insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD;
            pel_id changed = is_item ? pel_container_of_store(author, activation, i) : is_method ? below : 0;
            const pel_value *value = pel_value_at(log, changed);
            bool is_joined = record->kind == PEL_R_PUSH && insn->op == PEL_OP_BINARY_OP; /* d |= {...} gives d */
            uint64_t joined = is_joined ? pel_value_at(log, record->value)->object : 0;
            if ((joined && pel_map_has(&to.dicts, joined)) ||
                (changed && value->object && pel_map_has(&to.dicts, value->object) &&
                 (is_item || !pel_method_pure(value->kind, insn->name))))
                pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0,
                          "a run stores attributes through __dict__ or vars(), which is not followed: use setattr");
            if (record->kind != PEL_R_PUSH) continue;
            see_names(&to, insn, record->value);
            below = record->value;
        }
    }
}

/* ---- the order of keywords ---- */

/* The dict that **kwargs of an activation is; 0: it has none. */
static pel_id keywords_of(const pel_synth *s, const pel_activation *activation) {
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    if (!(code->flags & PEL_CO_VARKEYWORDS)) return 0;
    return activation->locals[code->argcount + code->kwonlyargcount + (code->flags & PEL_CO_VARARGS ? 1u : 0u)];
}

static pel_name name_of_key(pel_synth *s, pel_id id) {
    const pel_value *key = pel_value_at(s->log, id);
    bool is_text = key->kind == PEL_V_CONST && key->constant->kind == PEL_CONST_STR;
    return is_text ? pel_intern_str(s->ctx, key->constant->text) : NULL;
}

/* How many of a dict's keys the root's callers choose the order of. */
static uint32_t ordered_by_callers(pel_synth *s, const pel_map *given, pel_id dict) {
    const pel_value *value = pel_value_at(s->log, dict);
    uint32_t n = 0;
    for (uint32_t i = 0; value->kind == PEL_V_DICT && i + 1 < value->n; i += 2) {
        pel_name key = name_of_key(s, value->items[i]);
        n += key && pel_map_has(given, PEL_KEY(key));
    }
    return n;
}

/* for name in kwargs, kwargs.items(), list(kwargs), ", ".join(kwargs); below: what was pushed before the dict.
 * Functions of the author's are looked at where they run. */
static bool asks_order(const pel_synth *s, const pel_insn *next, pel_id below) {
    static const char *const methods[] = { "items", "keys", "values", "popitem" };
    const pel_value *function = pel_value_at(s->log, below);
    bool is_author =
        function->kind == PEL_V_FUNCTION || function->kind == PEL_V_METHOD || function->kind == PEL_V_MODULE;
    bool counts =
        function->kind == PEL_V_LIBRARY && (pel_str_is(function->text, "len") || pel_str_is(function->text, "bool"));
    bool is_read = next->op == PEL_OP_LOAD_ATTR || next->op == PEL_OP_LOAD_METHOD;
    for (size_t i = 0; i < PEL_COUNT(methods); i++)
        if (is_read && pel_name_is(next->name, methods[i])) return true;
    if (next->op == PEL_OP_GET_ITER) return true;
    bool is_given = next->op == PEL_OP_CALL || next->op == PEL_OP_PRECALL;
    return is_given && !is_author && !counts;
}

/* Whether an activation is told by recorded calls, its own or those of who called it. */
static bool is_in_line(const pel_synth *s, pel_id id) {
    for (; id; id = s->log->activations.at[id].parent)
        if (pel_map_has(&s->program->straight, s->log->activations.at[id].code)) return true;
    return false;
}

/* Keywords that callers give have an order, and a signature that names them has none. A text shows whether that matters
 * (write/key_order.c), recorded calls don't. */
static void refuse_order_of_keywords(pel_synth *s) {
    pel_map given = { 0 };
    for (uint32_t r = 0; r < s->log->runs.n; r++) {
        const pel_log_run *run = &s->log->runs.at[r];
        if (!run->activation) continue;
        const pel_value *own = pel_value_at(s->log, keywords_of(s, &s->log->activations.at[run->activation]));
        for (uint32_t i = 0; own->kind == PEL_V_DICT && own->n > 2 && i + 1 < own->n; i += 2) {
            pel_name key = name_of_key(s, own->items[i]);
            if (key) pel_map_set(s->ctx, &given, PEL_KEY(key), 1);
        }
    }
    for (uint32_t a = 1; given.n && a < s->log->activations.n; a++) {
        const pel_activation *activation = &s->log->activations.at[a];
        const pel_author *author = &s->authors[activation->code];
        pel_id below = 0;
        if (!author->insns || !is_in_line(s, a)) continue;
        for (uint32_t i = 0; i < activation->n_records; i++) {
            const pel_record *record = &activation->records[i];
            if (record->kind != PEL_R_PUSH) continue;
            const pel_insn *insn = pel_author_insn(author, record);
            bool is_one = insn && ordered_by_callers(s, &given, record->value) > 1; /* itself, or made of it */
            if (is_one && asks_order(s, insn + 1, below))
                pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0, "%s", PEL_ASKS_KEY_ORDER);
            below = record->value;
        }
    }
}

void pel_find_live(pel_synth *s) {
    find_written(s);
    find_written_globals(s);
    find_old_objects(s);
    refuse_stores_by_dict(s);
    refuse_order_of_keywords(s);
    find_filled(s);
    find_given_objects(s);
    find_live(s);
}

/* ---- what is asked of that ---- */

static bool holds_object(const pel_log *log, pel_id id, uint64_t object, uint32_t depth) {
    const pel_value *value = pel_value_at(log, id);
    if (value->object == object) return true;
    for (uint32_t i = 0; depth < DEEPEST_GIVEN && pel_value_has_items(value->kind) && i < value->n; i++)
        if (holds_object(log, value->items[i], object, depth + 1)) return true;
    return false;
}

bool pel_is_given_container(const pel_synth *s, pel_id id) {
    uint64_t object = pel_value_at(s->log, id)->object;
    for (uint32_t r = 0; object && r < s->log->runs.n; r++) {
        const pel_log_run *run = &s->log->runs.at[r];
        for (uint32_t i = 0; i < run->n_args; i++)
            if (holds_object(s->log, run->args[i], object, 0)) return true;
        for (uint32_t i = 0; i < run->n_kwargs; i++)
            if (holds_object(s->log, run->kwargs[i].value, object, 0)) return true;
    }
    return false;
}

bool pel_live(const pel_synth *s, pel_id id) { return s->objects.live[id]; }

bool pel_plain(const pel_synth *s, pel_id id) {
    const pel_value *value = pel_value_at(s->log, id);
    if (value->truncated) return false;
    switch (value->kind) {
    case PEL_V_CONST:
    case PEL_V_LIBRARY:
    case PEL_V_CLASS: return true;
    case PEL_V_LITERAL: return !value->object;
    case PEL_V_OBJECT: return pel_is_member(s->log, value, &(pel_id){ 0 }, &(pel_id){ 0 });
    case PEL_V_TUPLE:
        if (value->class) return false;
        break;
    case PEL_V_FROZENSET: break;
    default: return false; /* slices and ranges have a literal, but the author's text reads better */
    }
    for (uint32_t i = 0; i < value->n; i++)
        if (!pel_plain(s, value->items[i])) return false;
    return true;
}

bool pel_is_static_object(const pel_synth *s, pel_id id) {
    return pel_value_at(s->log, id)->kind == PEL_V_OBJECT && !s->objects.live[id] && !pel_plain(s, id);
}
