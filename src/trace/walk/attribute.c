/* Attributes: of modules, which constructors must set, of objects, tensors and libraries. */
#include "trace/walk/expr.h"

bool pel_has_slot(const pel_log_module *module, pel_name name) {
    if (pel_names_have(module->child_names, name)) return true;
    for (uint32_t i = 0; i < module->n_parameters; i++)
        if (module->parameters[i].name == name) return true;
    for (uint32_t i = 0; i < module->n_buffers; i++)
        if (module->buffers[i].name == name) return true;
    return false;
}

/* A list or dict of a module that functions fill which don't know the module: forward hooks, whose owner they have in a
 * cell. Such an object is a variable of the file, for all that mention it. */
static bool is_shared(pel_walk *w, pel_front front, pel_name name, const pel_val *base, pel_val *val) {
    const pel_value *first = pel_value_at(w->log, val->at[0]);
    if ((first->kind != PEL_V_LIST && first->kind != PEL_V_DICT) || !first->object) return false;
    bool known = pel_map_has(&w->s->objects.shared, first->object);
    if (!known && !base->lost) return false;
    for (uint32_t i = 1; i < front.n; i++)
        if (pel_value_at(w->log, val->at[i])->object != first->object) return false;
    pel_id before = pel_module_attribute(w->log, pel_value_at(w->log, base->at[0])->module, name);
    if (pel_value_at(w->log, before)->object != first->object) return false;
    pel_node *text = pel_global_expression(w->ctx, w->s->program, before, first->object, name);
    if (!text) return false;
    if (!known) w->s->facts.changed = true;
    pel_map_set(w->ctx, &w->s->objects.shared, first->object, 1);
    val->text = text;
    val->taint = &pel_tainted; /* what calls before this one did */
    val->fixed = true;
    val->lost = false;
    return true;
}

static pel_id class_constant(const pel_log *log, pel_id class, pel_name name, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    for (uint32_t i = 0; i < row->n_constants; i++)
        if (row->constants[i].name == name) return row->constants[i].value;
    pel_id found = 0;
    for (uint32_t i = 0; i < row->n_bases && !found && depth < 20; i++)
        found = class_constant(log, row->bases[i], name, depth + 1);
    return found;
}

/* An attribute of the class that runs write on instances: what the first run found is what constructors set. */
static void need_class_attribute(pel_walk *w, pel_front front, const pel_id *modules, pel_name name,
                                 const pel_val *val) {
    pel_map seen = { 0 };
    pel_front one = pel_front_new(w, 1);
    for (uint32_t i = 0; i < front.n; i++) {
        if (!pel_map_set(w->ctx, &seen, modules[i], 1)) continue; /* later reads see what was written */
        if (pel_has_slot(pel_module_at(w->log, modules[i]), name) || pel_module_attribute(w->log, modules[i], name))
            continue;
        one.at[0] = front.at[i];
        uint64_t key = pel_key2(pel_module_at(w->log, modules[i])->class, PEL_KEY(name));
        if (pel_map_find(&w->s->objects.written, key, 0) == PEL_STORED_FIRST) continue; /* nothing was there */
        if (val->at[i] && pel_plain(w->s, val->at[i])) pel_need(w, one, &modules[i], name, &val->at[i]);
    }
}

/* A tensor or a number that a module held before the run, and another one now, that no code of the author's stored:
 * hooks of torch's do so (torch.nn.utils.prune). What it is in the output's module nobody says. */
static bool is_changed_outside(const pel_walk *w, pel_id module, pel_name name, pel_id now) {
    pel_id before = pel_module_attribute(w->log, module, name);
    uint8_t kind = pel_value_at(w->log, before)->kind;
    return before && now && (kind == PEL_V_TENSOR || kind == PEL_V_CONST) && !pel_value_same(w->log, before, now);
}

/* Reading an attribute of modules. */
static void read_module(pel_walk *w, pel_front front, const pel_node *node, const pel_val *base, pel_val *val) {
    pel_name name = node->Attribute.attr;
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    bool needed = false, written = false;
    for (uint32_t i = 0; i < front.n; i++) {
        modules[i] = pel_value_at(w->log, base->at[i])->module;
        const pel_log_module *row = pel_module_at(w->log, modules[i]);
        if (pel_map_has(&w->s->objects.written, pel_key2(row->class, PEL_KEY(name)))) written = true;
        if (!pel_has_slot(row, name) && pel_module_attribute(w->log, modules[i], name)) needed = true;
    }
    if (pel_name_is(name, "training")) {
        val->fixed = true;
        val->taint = pel_constant(PEL_WHY_MODE);
        w->s->asked.training = true;
        pel_taint_chosen_mode(w, front, val);
        return;
    }
    if (written) {
        val->fixed = true;
        const pel_taint *by_calls_before = pel_computed_taint(w, front, val, true);
        val->taint = pel_taint_join(w->ctx, val->taint, by_calls_before);
        if (needed) pel_need(w, front, modules, name, NULL);
        need_class_attribute(w, front, modules, name, val);
        return;
    }
    if (is_shared(w, front, name, base, val)) return;
    for (uint32_t i = 0; i < front.n; i++)
        if (is_changed_outside(w, modules[i], name, val->at[i]))
            pel_lost(w, node, "`%s` is changed by code that is not the author's", name->text);
    pel_taint_chosen_attribute(w, front, node, val);
    bool plain_same = pel_is_constant(val->taint) && pel_all_same(w, front, val->at) && pel_plain(w->s, val->at[0]);
    if (plain_same && !base->effect) return; /* will be folded */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        bool named_tuple = value->kind == PEL_V_TUPLE && value->class && !pel_live(w->s, val->at[i]);
        if (pel_is_static_object(w->s, val->at[i]) || named_tuple) val->lost = true;
        if (value->kind == PEL_V_FUNCTION || value->kind == PEL_V_METHOD) needed = false;
        if (value->kind == PEL_V_MODULE && !pel_has_slot(pel_module_at(w->log, modules[i]), name)) needed = false;
    }
    if (val->lost) {
        pel_map_set(w->ctx, &w->s->notes.unwritable, PEL_KEY(val->text), 1);
        return;
    }
    if (!needed && !pel_has_slot(pel_module_at(w->log, modules[0]), name) && pel_all_same(w, front, val->at) &&
        pel_holds_constant_tensors(w, val->at[0])) { /* an attribute of the class */
        pel_write_as_global(w, val, pel_key2(PEL_V_CLASS, val->at[0]), name);
        return;
    }
    /* class attributes and properties that differ are set by the constructor as well */
    bool all_plain = true;
    for (uint32_t i = 0; i < front.n; i++) all_plain &= val->at[i] && pel_plain(w->s, val->at[i]);
    if (needed || all_plain) pel_need(w, front, modules, name, all_plain ? val->at : NULL);
}

bool pel_is_content_of_given(const pel_walk *w, pel_id object, pel_id value) {
    const pel_value *of = pel_value_at(w->log, object);
    if (of->kind != PEL_V_OBJECT || !pel_map_has(&w->s->objects.given, of->object)) return false;
    switch ((pel_value_kind)pel_value_at(w->log, value)->kind) {
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_LIST:
    case PEL_V_SIZE:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_LIBRARY:
    case PEL_V_LITERAL:
    case PEL_V_CLASS:
    case PEL_V_FUNCTION:
    case PEL_V_PARTIAL:
    case PEL_V_OPAQUE:
    case PEL_V_DICT: return true;
    case PEL_V_NONE_YET:
    case PEL_V_TENSOR: /* they show it */
    case PEL_V_MODULE:
    case PEL_V_METHOD:               /* of its class */
    case PEL_V_OBJECT: return false; /* given as well: what is read off it depends on the caller in turn */
    }
    return true;
}

/* Whether all lanes read one constant of a class by objects that the run made, which have nothing of that name. The
 * output's classes have methods alone, so the constant itself is written. */
static bool reads_class_constant(pel_walk *w, pel_front front, pel_name name, const pel_val *base, const pel_val *val) {
    if (!pel_all_same(w, front, val->at)) return false;
    if (!pel_plain(w->s, val->at[0]) && !pel_holds_constant_tensors(w, val->at[0])) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, base->at[i]);
        if (object->kind != PEL_V_OBJECT || object->truncated || pel_is_static_object(w->s, base->at[i])) return false;
        pel_id constant = pel_item_named(w->log, object, name) ? 0 : class_constant(w->log, object->class, name, 0);
        if (!constant || !pel_value_same(w->log, constant, val->at[i])) return false;
    }
    return true;
}

/* One function of the author's, which a module of Python's or an object that was there before the run gave: the output
 * has it under a name of its own. */
static bool is_function_of_known(pel_walk *w, pel_front front, const pel_val *base, const pel_val *val) {
    if (!pel_all_same(w, front, val->at) || pel_value_at(w->log, val->at[0])->kind != PEL_V_FUNCTION) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *of = pel_value_at(w->log, base->at[i]);
        bool is_module = of->kind == PEL_V_OPAQUE && pel_str_starts(of->text, PEL_STR("module "));
        if (!is_module && of->kind != PEL_V_LIBRARY && !pel_is_static_object(w->s, base->at[i])) return false;
    }
    return true;
}

/* What is known of an attribute by what it is read from. */
typedef struct holders {
    uint32_t modules, tensors, objects;
} holders;

static holders count_holders(const pel_walk *w, pel_front front, const pel_val *base) {
    holders n = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, base->at[i])->kind;
        n.modules += kind == PEL_V_MODULE;
        n.tensors += kind == PEL_V_TENSOR;
        n.objects += kind == PEL_V_OBJECT;
    }
    return n;
}

static bool is_of_a_type(const pel_log *log, pel_id id) {
    uint8_t kind = pel_value_at(log, id)->kind;
    return kind == PEL_V_TENSOR || kind == PEL_V_OBJECT;
}

/* What functions stored under that name in objects of these classes. */
static void take_stored_taint(pel_walk *w, pel_front front, pel_name name, const pel_val *base, pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, base->at[i]);
        pel_id class = pel_class_with_attributes(w->log, base->at[i]);
        if (!class) continue;
        const pel_taint *stored = pel_map_pointer(&w->s->facts.attributes, pel_key2(class, PEL_KEY(name)));
        val->taint = pel_taint_join(w->ctx, val->taint, stored);
        if (value->kind != PEL_V_OBJECT) continue;
        if (!pel_is_static_object(w->s, base->at[i])) val->fixed = true;
        if (pel_is_content_of_given(w, base->at[i], val->at[i]))
            val->taint = pel_taint_join(w->ctx, val->taint, &pel_tainted);
        else if (pel_map_has(&w->s->objects.given, value->object) && is_of_a_type(w->log, val->at[i]))
            val->taint = pel_taint_join(w->ctx, val->taint, pel_constant(PEL_WHY_HELD));
    }
}

static pel_val *read_attribute(pel_walk *w, pel_front front, pel_node *node, pel_val *base, const pel_id *values,
                               const pel_kids *kids) {
    pel_node *text = pel_shallow(w, node);
    text->Attribute.value = base->text;
    pel_val *val = pel_val_new(w, front, text);
    memcpy(val->at, values, front.n * sizeof *values);
    pel_take_over(val, base);
    val->owner = base->at;
    pel_name name = node->Attribute.attr;
    if (!kids->n && reads_class_constant(w, front, name, base, val)) {
        val->taint = pel_constant(PEL_WHY_CLASS);
        if (!pel_plain(w->s, val->at[0])) pel_write_as_global(w, val, pel_key2(PEL_V_CLASS, val->at[0]), name);
        return pel_finish(w, front, node, val);
    }
    holders n = count_holders(w, front, base);
    val->taint = NULL;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_taint *held = pel_attribute_depends(w->s, base->at[i], name, base->taint);
        val->taint = pel_taint_join(w->ctx, val->taint, held);
    }
    take_stored_taint(w, front, name, base, val);
    if (n.modules && n.modules == front.n)
        read_module(w, front, node, base, val);
    else if (n.tensors && n.tensors == front.n && pel_name_is(name, "ndim") && pel_ask_rank(w, front, base))
        val->taint = pel_constant(PEL_WHY_RANK);
    else if (!n.modules && (pel_varies(base->taint) || n.tensors))
        val->taint = pel_computed_taint(w, front, val, true);
    if (pel_is_constant(val->taint)) /* a field of a named tuple */
        val->taint = pel_taint_join(w->ctx, val->taint, pel_taint_of_part(w, front, base, val));
    if (pel_is_constant(val->taint) && pel_is_taken_out(w, front, base)) /* another caller may leave it out */
        val->taint = pel_constant(PEL_WHY_HELD);
    /* objects that were there before the run, and __getattr__ hooks, only look things up */
    bool is_static = n.objects == front.n && base->lost, on_records = !is_static && pel_on_records(w, kids);
    if (on_records) pel_refuse_own_protocol(w, kids);
    bool looked_up = is_static || on_records || pel_looks_up(w, kids);
    if (looked_up)
        pel_forget_kids(w, kids);
    else if (kids->n)
        pel_link_property(w, kids, base, val, name);
    if (is_function_of_known(w, front, base, val)) {
        val->text = pel_make_name(w->ctx, name, PEL_Load);
        pel_refer(w, &val->text, pel_value_at(w->log, val->at[0])->code);
        val->lost = false;
    }
    return pel_finish(w, front, node, val);
}

/* add = seen.append, map(seen.append, ...): whoever has the method can change the container, at any time. */
static void note_changer(pel_walk *w, pel_front front, const pel_node *node, const pel_val *base) {
    bool changes = false;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, base->at[i])->kind;
        changes |= (kind == PEL_V_LIST || kind == PEL_V_DICT || kind == PEL_V_SET) &&
                   !pel_method_pure(kind, node->Attribute.attr);
    }
    if (!changes) return;
    pel_fill(w, front, node->Attribute.value, base->at, true);
    if (node->Attribute.value->kind == PEL_Name && pel_is_local(w, node->Attribute.value->Name.id))
        pel_env_slot(w, node->Attribute.value->Name.id)->taint = &pel_tainted;
}

pel_val *pel_eval_attribute(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *base = pel_eval(w, front, node->Attribute.value);
    pel_id *values = pel_new_array(w->ctx, front.n + 1u, pel_id);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, values, &kids);
    note_changer(w, front, node, base);
    return read_attribute(w, front, node, base, values, &kids);
}
