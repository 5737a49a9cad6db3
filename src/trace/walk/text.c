/* How an expression is written that all lanes came by: as the value that they saw, as an attribute that constructors
 * set, as a variable of the file, or as the author has it. */
#include "trace/walk/expr.h"

pel_val *pel_val_new(pel_walk *w, pel_front front, pel_node *text) {
    pel_val *val = pel_new(w->ctx, pel_val);
    val->text = text;
    val->at = pel_new_array(w->ctx, front.n + 1u, pel_id);
    val->taint = &pel_taint_unknown;
    return val;
}

pel_val *pel_val_constant(pel_walk *w, pel_front front, pel_node *text, pel_why why) {
    pel_val *val = pel_val_new(w, front, text);
    val->taint = pel_constant(why);
    return val;
}

/* Static, different between modules, and the author's text can't be written: an attribute of self. */
static bool write_as_attribute(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    pel_name name = node->kind == PEL_Attribute ? node->Attribute.attr : node->kind == PEL_Name ? node->Name.id : NULL;
    if (node->kind == PEL_Call && node->Call.args.n > 1 && node->Call.args.at[1]->kind == PEL_Constant &&
        node->Call.args.at[1]->Constant.value->kind == PEL_CONST_STR)
        name = pel_intern(w->ctx, node->Call.args.at[1]->Constant.value->text.ptr,
                          node->Call.args.at[1]->Constant.value->text.len); /* getattr(object, "name") */
    if (!name || !w->group->class) return false;
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    pel_map seen = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        modules[i] = pel_self_of(w, pel_lane_at(w, front, i));
        uint64_t before;
        if (!modules[i] || !val->at[i] || (!pel_plain(w->s, val->at[i]) && !pel_is_table(w, val->at[i]))) return false;
        if (pel_map_get(&seen, modules[i], &before) && !pel_value_same(w->log, (pel_id)before, val->at[i]))
            return false;
        pel_map_set(w->ctx, &seen, modules[i], val->at[i]);
    }
    pel_need(w, front, modules, name, val->at);
    pel_name self = w->group->params[0].name;
    val->text = pel_make_attribute(w->ctx, pel_make_name(w->ctx, self, PEL_Load), name, PEL_Load);
    val->lost = false;
    return true;
}

#define TABLE_LIMIT 256 /* items; the recorder takes no more */

bool pel_is_table(const pel_walk *w, pel_id id) {
    const pel_value *value = pel_value_at(w->log, id);
    if (value->kind != PEL_V_LIST && value->kind != PEL_V_DICT && value->kind != PEL_V_SET &&
        value->kind != PEL_V_TUPLE)
        return false;
    if (value->truncated || value->class || value->n > TABLE_LIMIT) return false;
    for (uint32_t i = 0; i < value->n; i++)
        if (!pel_plain(w->s, value->items[i]) && !pel_is_table(w, value->items[i])) return false;
    return true;
}

#define SIZE_FROM 4 /* smaller numbers are as often axes, powers and flags */

static bool is_self(const pel_walk *w, const pel_node *node) {
    return w->group->class && node->kind == PEL_Name && node->Name.id == w->group->params[0].name;
}

bool pel_is_size(pel_walk *w, const pel_node *text) {
    switch (text->kind) {
    case PEL_Attribute: return is_self(w, text->Attribute.value);
    case PEL_Name: return pel_is_local(w, text->Name.id) && pel_env_slot(w, text->Name.id)->is_size;
    case PEL_BinOp: return pel_is_size(w, text->BinOp.left) || pel_is_size(w, text->BinOp.right);
    case PEL_UnaryOp: return pel_is_size(w, text->UnaryOp.operand);
    default: return false;
    }
}

/* Where texts of several sizes are compared, a name must not depend on how large its number is. */
static bool keeps_every_number(const pel_walk *w) {
    const pel_known *known = w->s->program->known;
    for (uint32_t i = 0; known && i < known->class_facts.n; i++)
        if (pel_str_is(known->class_facts.at[i], PEL_NUMBERS_BY_NAME)) return true;
    return false;
}

/* A whole number, or one that a formula made: not 0.0, 1.0, 2.0, which are more often switches. */
static bool is_size(const pel_walk *w, const pel_value *value) {
    if (value->kind != PEL_V_CONST) return false;
    const pel_const *number = value->constant;
    if ((number->kind == PEL_CONST_INT || number->kind == PEL_CONST_FLOAT) && keeps_every_number(w)) return true;
    if (number->kind == PEL_CONST_INT) return !number->integer.digits.len && number->integer.small >= SIZE_FROM;
    return number->kind == PEL_CONST_FLOAT && number->real > -1e15 && number->real < 1e15 &&
           (number->real < (double)(int64_t)number->real || number->real > (double)(int64_t)number->real);
}

bool pel_are_one_size(pel_walk *w, pel_front front, const pel_id *values) {
    return front.n && values[0] && is_size(w, pel_value_at(w->log, values[0])) && pel_all_same(w, front, values);
}

/* A size that the author keeps in the module has a name there, and readers know it by that: `self.head_dim`, not 64. So
 * has what is computed of it, where the author says so. */
static bool is_attribute_of_self(pel_walk *w, pel_front front, const pel_node *node, const pel_val *val) {
    if (val->text->kind != PEL_Attribute || !val->owner || !is_self(w, val->text->Attribute.value)) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_id module = pel_self_of(w, pel_lane_at(w, front, i));
        if (!module || pel_value_at(w->log, val->owner[i])->module != module) return false;
        if (!pel_value_same(w->log, pel_module_attribute(w->log, module, node->Attribute.attr), val->at[i]))
            return false;
    }
    return true;
}

/* Written by its name, though it is the same everywhere. */
static bool keeps_name(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    const pel_value *value = pel_value_at(w->log, val->at[0]);
    if (val->lost || value->kind != PEL_V_CONST) return false;
    if (node->kind == PEL_Attribute)
        return is_size(w, value) && is_attribute_of_self(w, front, node, val) &&
               write_as_attribute(w, front, node, val);
    if (node->kind == PEL_Name) return val->text->kind == PEL_Name && pel_is_size(w, val->text);
    bool is_number = value->constant->kind == PEL_CONST_INT || value->constant->kind == PEL_CONST_FLOAT;
    bool is_formula = (node->kind == PEL_BinOp || node->kind == PEL_UnaryOp) && val->text->kind == node->kind;
    return is_formula && is_number && pel_is_size(w, val->text);
}

static void note_fold(pel_walk *w, const pel_node *author, const pel_node *text, const pel_taint *taint) {
    pel_push(w->ctx, &w->s->notes.folds, ((pel_fold){ w->group, author, text, taint }));
}

void pel_write_table(pel_walk *w, pel_front front, pel_val *val) {
    if (!val->at[0] || !pel_all_same(w, front, val->at) || !pel_is_table(w, val->at[0])) return;
    pel_node *table = pel_value_expression(w->ctx, w->s->program, val->at[0]);
    if (!table) return;
    val->text = table;
    val->lost = false;
}

/* NAME, or module.NAME */
static bool is_of_a_file(const pel_walk *w, const pel_node *node) {
    while (node->kind == PEL_Attribute) node = node->Attribute.value;
    return node->kind == PEL_Name && !pel_is_local(w, node->Name.id);
}

/* Tensors, or a table of some, that no module holds. */
static bool holds_tensors(const pel_walk *w, pel_id id, int depth) {
    const pel_value *value = pel_value_at(w->log, id);
    if (pel_is_constant_tensor(w->log, value)) return true;
    if (value->kind != PEL_V_LIST && value->kind != PEL_V_DICT && value->kind != PEL_V_TUPLE) return false;
    bool any = false;
    for (uint32_t i = 0; i < value->n && depth < 3; i++) {
        bool here = holds_tensors(w, value->items[i], depth + 1);
        if (!here && !pel_plain(w->s, value->items[i])) return false;
        any |= here;
    }
    return any;
}

bool pel_holds_constant_tensors(const pel_walk *w, pel_id value) { return holds_tensors(w, value, 0); }

/* What tells an object of which there is one in the process from others; 0 if it is none. */
static uint64_t key_of_global(const pel_walk *w, const pel_node *node, pel_id id) {
    const pel_value *value = pel_value_at(w->log, id);
    if (value->kind == PEL_V_LITERAL) return value->object;
    if (!is_of_a_file(w, node) || !pel_holds_constant_tensors(w, id)) return 0;
    return value->kind == PEL_V_TENSOR ? pel_key2(PEL_V_TENSOR, value->tensor) : pel_key2(PEL_V_LIST, id);
}

void pel_write_as_global(pel_walk *w, pel_val *val, uint64_t key, pel_name name) {
    pel_node *text = pel_global_expression(w->ctx, w->s->program, val->at[0], key, name);
    if (!text) return;
    val->text = text;
    val->lost = false;
}

pel_val *pel_finish(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    if (front.n && !val->effect && (node->kind == PEL_Attribute || node->kind == PEL_Name)) {
        uint64_t key = key_of_global(w, node, val->at[0]);
        pel_name name = node->kind == PEL_Attribute ? node->Attribute.attr : node->Name.id;
        if (key && pel_all_same(w, front, val->at)) pel_write_as_global(w, val, key, name);
    }
    if (pel_is_constant(val->taint) || (val->taint && val->taint->each))
        val->taint = pel_taint_join(w->ctx, val->taint, pel_filled_taint(w, front, val));
    if (front.n == 0 || val->effect || pel_varies(val->taint) || val->fixed) return val;
    if (val->text->kind == PEL_Constant) return val;
    bool plain = true;
    for (uint32_t i = 0; i < front.n && plain; i++) plain = val->at[i] && pel_plain(w->s, val->at[i]);
    if (!plain && val->lost) pel_write_table(w, front, val);
    if (!plain && val->lost) write_as_attribute(w, front, node, val);
    if (!plain) return val;
    if (pel_all_same(w, front, val->at)) {
        const pel_value *value = pel_value_at(w->log, val->at[0]);
        if (node->kind == PEL_Attribute && value->kind == PEL_V_CLASS)
            pel_class_row(w->ctx, w->s->program, value->class); /* splines.Cubic is Cubic */
        if (keeps_name(w, front, node, val)) return val;
        pel_node *text = pel_value_expression(w->ctx, w->s->program, val->at[0]);
        if (text) {
            note_fold(w, node, text, val->taint);
            val->text = text;
            val->lost = false;
            val->parts = NULL;
        }
    } else if (val->lost) {
        write_as_attribute(w, front, node, val);
    }
    return val;
}

const pel_taint *pel_computed_taint(pel_walk *w, pel_front front, const pel_val *result, bool from_dynamic) {
    if (!from_dynamic) return pel_constant(PEL_WHY_COMPUTED);
    bool shows = true, some = true, holds = true;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, result->at[i]);
        shows &= result->at[i] && pel_live(w->s, result->at[i]);
        some &= result->at[i] && !(value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE);
        holds &= value->kind == PEL_V_DICT;
    }
    /* a dict with tensors in it shows that it can't be folded; what else it has does not */
    return shows ? holds ? &pel_tainted_holder : pel_constant(PEL_WHY_TENSOR) : some ? &pel_tainted_some : &pel_tainted;
}

const pel_taint *pel_taint_of_part(pel_walk *w, pel_front front, const pel_val *of, const pel_val *part) {
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, of->at[i])->kind;
        if (kind != PEL_V_DICT && kind != PEL_V_LIST && kind != PEL_V_TUPLE) return NULL;
        if (!pel_value_has_items(pel_value_at(w->log, part->at[i])->kind)) return NULL;
    }
    return pel_varies(of->taint) ? &pel_tainted_holder : NULL;
}

void pel_take_over(pel_val *into, const pel_val *from) {
    into->effect |= from->effect;
    into->lost |= from->lost;
}

void pel_need(pel_walk *w, pel_front front, const pel_id *modules, pel_name name, const pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_program_class *row = pel_class_row(w->ctx, w->s->program, pel_module_at(w->log, modules[i])->class);
        pel_needed_attribute *need = NULL;
        for (uint32_t k = 0; k < row->needs.n && !need; k++)
            if (row->needs.at[k].name == name) need = &row->needs.at[k];
        if (!need) {
            pel_push(w->ctx, &row->needs, ((pel_needed_attribute){ .name = name, .of = name }));
            need = &row->needs.at[row->needs.n - 1];
        }
        /* The first that was seen is what the model had when it was handed over: train() may have set another. */
        if (values && values[i] && !pel_map_has(&need->values, modules[i]))
            pel_map_set(w->ctx, &need->values, modules[i], values[i]);
    }
}

void pel_guard(pel_walk *w, const pel_node *at, pel_node *test, bool truth, const char *message) {
    if (w->in_expression)
        pel_lost(w, at, "a path inside of a comprehension depends on data, and only one was recorded");
    if (w->torn) pel_lost(w, at, "some calls leave this by an exception, and on which path depends on data");
    pel_node *guard =
        pel_make_assert(w->ctx, truth ? test : pel_not(w->s, test), pel_make_text(w->ctx, pel_str_of(message)));
    guard->lineno = at->lineno;
    w->effect = true; /* a call of this function must not go because its result is known: it holds on that condition */
    pel_nodes_push(w->ctx, w->out, guard);
}
