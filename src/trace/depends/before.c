/* What a call finds that calls before it left: in attributes, variables, containers and objects that answer differently
 * each time. What is computed from it is the same in no two calls, so a function that reads such is no constant, and
 * has no straight line. */
#include "trace/synth.h"

/* What tells people something, or is a class: exceptions, types. */
static bool tells_or_names(pel_str path) {
    static const char *const modules[] = { "warnings.", "logging.", "typing.", "types.", "enum.", "abc." };
    for (size_t i = 0; i < PEL_COUNT(modules); i++)
        if (pel_str_starts(path, pel_str_of(modules[i]))) return true;
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '.') at--;
    return pel_str_is(path, "print") || (at < path.len && path.ptr[at] >= 'A' && path.ptr[at] <= 'Z');
}

/* A function that is called here, neither torch's, whose calls are in the line, nor one that is known to compute. */
static bool is_unknown_function(const pel_synth *s, const pel_activation *activation, uint32_t i) {
    const pel_author *author = &s->authors[activation->code];
    const pel_value *value = pel_value_at(s->log, activation->records[i].value);
    if (!author->insns || value->kind != PEL_V_LIBRARY || pel_library_pure(value->text) ||
        pel_library_hands_on(value->text))
        return false;
    if (pel_str_starts(value->text, PEL_STR("torch")) && !pel_library_ambient(value->text)) return false;
    const pel_insn *next = i + 1 < activation->n_records ? pel_author_insn(author, &activation->records[i + 1]) : NULL;
    bool is_module = next && next->op == PEL_OP_LOAD_ATTR;
    return !is_module && !tells_or_names(value->text);
}

/* An attribute of a class or a function, or a variable of a file or of a closure, that runs store. */
static bool reads_stored(const pel_synth *s, const pel_activation *activation, uint32_t i) {
    const pel_author *author = &s->authors[activation->code];
    const pel_insn *insn = author->insns ? pel_author_insn(author, &activation->records[i]) : NULL;
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    if (!insn) return false;
    if (insn->op == PEL_OP_LOAD_GLOBAL)
        return pel_map_has(&s->objects.written_globals,
                           pel_key2(s->log->codes.at[activation->code].file, PEL_KEY(insn->name)));
    if (insn->op == PEL_OP_LOAD_DEREF)
        return pel_names_have(code->freevars, insn->name) && !pel_made_in_run(s, author) &&
               pel_map_has(&s->objects.written_cells,
                           pel_key2(s->log->codes.at[activation->code].file, PEL_KEY(insn->name)));
    if (insn->op != PEL_OP_LOAD_ATTR || i == 0 || activation->records[i - 1].kind != PEL_R_PUSH) return false;
    pel_id holder = activation->records[i - 1].value;
    uint8_t kind = pel_value_at(s->log, holder)->kind;
    return (kind == PEL_V_CLASS || kind == PEL_V_FUNCTION) && pel_is_written(s, holder, insn->name);
}

/* random.random: a method of an object that the library keeps to itself. */
static bool is_method_of_hidden(const pel_synth *s, const pel_activation *activation, uint32_t i,
                                const pel_insn *insn) {
    const pel_value *method = pel_value_at(s->log, activation->records[i].value);
    if (method->kind != PEL_V_METHOD || method->n < 2 || !insn) return false;
    const pel_value *self = pel_value_at(s->log, method->items[0]);
    if (self->kind != PEL_V_OBJECT || pel_class_at(s->log, self->class)->kind != PEL_CLASS_LIBRARY) return false;
    const pel_value *below = i ? pel_value_at(s->log, activation->records[i - 1].value) : NULL;
    return insn->op == PEL_OP_LOAD_GLOBAL || (insn->op == PEL_OP_LOAD_ATTR && below && below->kind == PEL_V_LIBRARY);
}

const char *pel_left_by_calls(const pel_synth *s, const pel_activation *activation, uint32_t i) {
    const pel_record *record = &activation->records[i];
    if (reads_stored(s, activation, i)) return "it reads an attribute or a variable that calls store";
    if (record->kind != PEL_R_PUSH) return NULL;
    const pel_value *value = pel_value_at(s->log, record->value);
    if (value->object && pel_map_has(&s->facts.filled, value->object) && pel_map_has(&s->objects.old, value->object))
        return "it reads a container that calls fill";
    if (value->kind == PEL_V_OBJECT && pel_map_has(&s->objects.written, value->class) &&
        pel_map_has(&s->objects.old, value->object))
        return "it reads an object that calls change";
    if (is_unknown_function(s, activation, i)) return "it calls a function that may give something else each time";
    const pel_author *author = &s->authors[activation->code];
    const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
    if (is_method_of_hidden(s, activation, i, insn)) return "it asks an object that a library keeps";
    bool is_kept =
        insn && (insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_GLOBAL || insn->op == PEL_OP_LOAD_DEREF);
    return is_kept && pel_keeps_state(s, record->value) ? "it asks an object that may answer differently each time"
                                                        : NULL;
}

static bool some_class_stores(const pel_synth *s, pel_name name) {
    for (pel_id class = 0; class < s->log->classes.n; class ++)
        if (pel_map_has(&s->objects.written, pel_key2(class, PEL_KEY(name)))) return true;
    return false;
}

/* getattr(self, "training"): a text that may name an attribute, once somebody asks for one by its name. */
static bool names_stored(const pel_synth *s, const pel_value *value, bool *asks_mode) {
    if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_STR) return false;
    pel_str text = value->constant->text;
    *asks_mode |= pel_str_is(text, "training");
    return pel_str_is(text, "__dict__") || some_class_stores(s, pel_intern_str(s->ctx, text));
}

static bool asks_by_name(const pel_value *value) {
    static const char *const functions[] = { "getattr", "hasattr", "operator.attrgetter" };
    for (size_t i = 0; value->kind == PEL_V_LIBRARY && i < PEL_COUNT(functions); i++)
        if (pel_str_is(value->text, functions[i])) return true;
    return false;
}

bool pel_reads_stored(const pel_synth *s, const pel_activation *activation, uint32_t from, uint32_t end) {
    const pel_author *author = &s->authors[activation->code];
    pel_id below = 0;
    for (uint32_t i = from; i < end; i++) {
        const pel_record *record = &activation->records[i];
        const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
        if (pel_left_by_calls(s, activation, i)) return true;
        pel_id class = pel_class_with_attributes(s->log, below);
        bool is_attribute = insn && (insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD);
        if (is_attribute && class && pel_map_has(&s->objects.written, pel_key2(class, PEL_KEY(insn->name))))
            return true;
        if (record->kind == PEL_R_PUSH) below = record->value;
    }
    return false;
}

bool pel_met_data(const pel_synth *s, const pel_activation *activation, uint32_t from, uint32_t end, bool *asks_mode) {
    const pel_author *author = &s->authors[activation->code];
    pel_id below = 0;
    bool by_name = false;
    for (uint32_t i = from; i < end; i++) {
        const pel_record *record = &activation->records[i];
        const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
        if (pel_left_by_calls(s, activation, i)) return true;
        pel_id class = pel_class_with_attributes(s->log, below);
        if (insn && (insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD || insn->op == PEL_OP_STORE_ATTR) &&
            class) {
            if (pel_map_has(&s->objects.written, pel_key2(class, PEL_KEY(insn->name)))) return true;
            *asks_mode |= pel_name_is(insn->name, "training");
        }
        if (record->kind != PEL_R_PUSH) continue;
        const pel_value *value = pel_value_at(s->log, record->value);
        if (pel_live(s, record->value) || (value->object && pel_map_has(&s->facts.filled, value->object))) return true;
        if (by_name && names_stored(s, value, asks_mode)) return true;
        by_name |= asks_by_name(value);
        below = record->value;
    }
    return false;
}
