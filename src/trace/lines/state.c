/* What a straight line reads of modules, and leaves in them. The line has tensors and their sizes; what calls keep from
 * one to the next in attributes is not in it, so a function that lives on such has none. */
#include "trace/lines/line.h"

/* A record that reads or stores an attribute of a module. */
typedef struct {
    pel_id class;
    pel_name name;
    bool stores;
} access;

static bool is_access(const pel_straight *x, const pel_activation *activation, uint32_t i, pel_id *below, access *out) {
    const pel_record *record = &activation->records[i];
    const pel_author *author = &x->w->s->authors[activation->code];
    const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
    const pel_value *object = pel_straight_at(x, *below);
    if (record->kind == PEL_R_PUSH) *below = record->value;
    if (!insn || object->kind != PEL_V_MODULE) return false;
    if (insn->op != PEL_OP_LOAD_ATTR && insn->op != PEL_OP_LOAD_METHOD && insn->op != PEL_OP_STORE_ATTR) return false;
    *out = (access){ pel_module_at(x->log, object->module)->class, insn->name, insn->op == PEL_OP_STORE_ATTR };
    return true;
}

/* del self.n, setattr, super().__setattr__: what they do to the model shows in no call of torch. */
static bool changes_by_name(const pel_straight *x, const pel_activation *activation, uint32_t i) {
    static const char *const names[] = { "setattr", "delattr", "__setattr__", "__delattr__", "globals" };
    const pel_record *record = &activation->records[i];
    const pel_author *author = &x->w->s->authors[activation->code];
    const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
    if (!insn) return false;
    if (insn->op == PEL_OP_DELETE_ATTR) return true;
    const pel_value *pushed = record->kind == PEL_R_PUSH ? pel_straight_at(x, record->value) : NULL;
    bool is_read = insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD;
    for (size_t k = 0; k < PEL_COUNT(names); k++)
        if ((is_read && pel_name_is(insn->name, names[k])) ||
            (pushed && pushed->kind == PEL_V_LIBRARY && pel_str_is(pushed->text, names[k])))
            return true;
    return false;
}

static bool is_author_s(const pel_straight *x, pel_name name) {
    for (pel_id code = 1; code < x->log->codes.n; code++)
        if (x->w->s->authors[code].insns && x->log->codes.at[code].code->name == name) return true;
    return false;
}

/* Methods of torch's modules that ask, or call the module. */
static bool only_asks(pel_name name) {
    static const char *const names[] = { "forward",       "__call__",     "_call_impl", "_wrapped_call_impl",
                                         "get_submodule", "get_buffer",   "size",       "get_parameter",
                                         "_get_name",     "_conv_forward" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    return pel_method_pure(PEL_V_MODULE, name);
}

/* del layers[i], layers[i] = x: container and index were pushed last. */
static bool is_item_of_modules(const pel_straight *x, const pel_activation *activation, uint32_t i) {
    for (uint32_t r = i, n = 0; r > 0 && n < 3; r--) {
        if (activation->records[r - 1].kind != PEL_R_PUSH) continue;
        if (pel_is_holder_of_modules(x->log, activation->records[r - 1].value)) return true;
        n++;
    }
    return false;
}

/* self.layers.append(x), layer.register_forward_hook(f), layer.train(), del layers[0]: no call of torch's shows what
 * that does to the model. */
static pel_name changes_module(const pel_straight *x, const pel_activation *activation, uint32_t i, pel_id below) {
    const pel_record *record = &activation->records[i];
    const pel_author *author = &x->w->s->authors[activation->code];
    const pel_insn *insn = author->insns ? pel_author_insn(author, record) : NULL;
    if (!insn) return NULL;
    if (insn->op == PEL_OP_DELETE_SUBSCR || insn->op == PEL_OP_STORE_SUBSCR)
        return is_item_of_modules(x, activation, i) ? pel_intern_c(x->ctx, "__setitem__") : NULL;
    if (pel_straight_at(x, below)->kind != PEL_V_MODULE) return NULL;
    if (record->kind != PEL_R_PUSH || (insn->op != PEL_OP_LOAD_ATTR && insn->op != PEL_OP_LOAD_METHOD)) return NULL;
    const pel_value *made = pel_straight_at(x, record->value);
    bool self_on_top = record->value == below; /* LOAD_METHOD leaves the object there */
    bool is_library =
        made->kind == PEL_V_METHOD && made->n > 1 && pel_straight_at(x, made->items[1])->kind == PEL_V_LIBRARY;
    if (!is_library && !(self_on_top && !is_author_s(x, insn->name))) return NULL;
    return only_asks(insn->name) ? NULL : insn->name;
}

static const char *what_no_line_has(const pel_straight *x, const pel_activation *activation, uint32_t i, pel_id below) {
    const char *before = pel_left_by_calls(x->w->s, activation, i);
    if (before) return before;
    if (pel_is_hook_s_handle(x->log, activation->records[i].kind == PEL_R_PUSH ? activation->records[i].value : 0))
        return "it has the handle of a hook";
    if (changes_by_name(x, activation, i)) return "it stores or deletes an attribute by its name";
    pel_name changer = changes_module(x, activation, i, below);
    return changer ? pel_format(x->ctx, "it calls `%s` of a module, which may change it", changer->text).ptr : NULL;
}

/* nonlocal n: n += 1, of a closure that was made before the run. The line has no such variable. */
static bool binds_cell(const pel_straight *x, const pel_activation *activation) {
    const pel_author *author = &x->w->s->authors[activation->code];
    const pel_code_object *code = x->log->codes.at[activation->code].code;
    if (!author->insns || !code->freevars.n || !x->w->s->objects.written_cells.n) return false;
    if (pel_made_in_run(x->w->s, author)) return false;
    for (uint32_t i = 0; i < author->insns->n; i++) {
        const pel_insn *insn = &author->insns->at[i];
        bool binds = insn->op == PEL_OP_STORE_DEREF || insn->op == PEL_OP_DELETE_DEREF;
        if (binds && pel_names_have(code->freevars, insn->name)) return true;
    }
    return false;
}

static uint64_t key_of(access a) { return pel_key2(a.class, PEL_KEY(a.name)); }

/* Whether anything that is not of the line reads what the line stores. */
static bool is_read_elsewhere(const pel_straight *x, const pel_map *stored, pel_straight_owns *owns) {
    for (pel_id id = 1; id < x->log->activations.n && stored->n; id++) {
        const pel_activation *activation = &x->log->activations.at[id];
        bool is_own = false;
        for (uint32_t i = 0; i < x->n_lanes && !is_own; i++) is_own = owns(x, id, x->above[i]);
        pel_id below = 0;
        access a;
        for (uint32_t i = 0; i < activation->n_records && !is_own; i++)
            if (is_access(x, activation, i, &below, &a) && !a.stores && pel_map_has(stored, key_of(a))) return true;
    }
    return false;
}

const char *pel_straight_state(pel_straight *x, pel_straight_owns *owns) {
    pel_map ever = { 0 };
    for (uint32_t lane = 0; lane < x->n_lanes; lane++) {
        pel_map stored = { 0 };
        for (pel_id id = x->above[lane]; id < x->w->s->extents[x->above[lane]].end; id++) {
            if (!owns(x, id, x->above[lane])) continue;
            const pel_activation *activation = &x->log->activations.at[id];
            pel_id below = 0;
            access a;
            if (binds_cell(x, activation)) return "it binds a variable of a closure that was made before the run";
            for (uint32_t i = 0; i < activation->n_records; i++) {
                const char *unwritten = what_no_line_has(x, activation, i, below);
                if (unwritten) return unwritten;
                if (!is_access(x, activation, i, &below, &a)) continue;
                if (pel_name_is(a.name, "training")) x->w->s->asked.training = true;
                if (a.stores) {
                    pel_map_set(x->ctx, &stored, key_of(a), 1);
                    pel_map_set(x->ctx, &ever, key_of(a), 1);
                } else if (pel_map_has(&x->w->s->objects.written, key_of(a)) && !pel_map_has(&stored, key_of(a)))
                    return pel_format(x->ctx, "it reads `%s`, which calls change", a.name->text).ptr;
            }
        }
    }
    return is_read_elsewhere(x, &ever, owns) ? "it changes an attribute that others read" : NULL;
}
