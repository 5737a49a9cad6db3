/* Expressions: what all lanes saw of them, and how they are written. */
#include "trace/lanes.h"

#define DEPTH_LIMIT 400

pel_node *pel_shallow(pel_walk *w, const pel_node *node) {
    pel_node *copy = pel_copy_node(w->ctx, node);
    copy->mark = 0;
    return copy;
}

pel_val *pel_val_new(pel_walk *w, pel_front front, pel_node *text) {
    pel_val *val = pel_new(w->ctx, pel_val);
    val->text = text;
    val->at = pel_new_array(w->ctx, front.n + 1u, pel_id);
    return val;
}

/* ---- eating ---- */

static bool ends_expression(uint16_t op) {
    switch (op) {
    case PEL_OP_BEFORE_WITH:
    case PEL_OP_FOR_ITER:
    case PEL_OP_UNPACK_SEQUENCE:
    case PEL_OP_UNPACK_EX:
    case PEL_OP_STORE_FAST:
    case PEL_OP_STORE_DEREF:
    case PEL_OP_STORE_NAME:
    case PEL_OP_STORE_GLOBAL:
    case PEL_OP_RETURN_VALUE: return true;
    default: return pel_is_conditional(op);
    }
}

void pel_own(pel_walk *w, pel_front front, const pel_node *node, const pel_node *until, pel_id *values,
             pel_kids *kids) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane))) {
            if (record->kind == PEL_R_RETURN || record->kind == PEL_R_RAISE) break;
            const pel_insn *insn = pel_insn_of(w, record);
            const pel_position *at = &w->author->positions[insn - w->author->insns->at];
            if (!pel_inside(at, node) || (until && pel_inside(at, until)) || ends_expression(insn->op)) break;
            if (record->kind == PEL_R_PUSH && values) values[i] = record->value;
            if (record->kind == PEL_R_CHILD && !kids) w->s->linked[record->value] = true;
            if (record->kind == PEL_R_CHILD && kids) {
                if (kids->n == kids->cap) kids->at = pel_grow(w->ctx, kids->at, kids->n, &kids->cap, sizeof *kids->at);
                kids->at[kids->n++] = (pel_child){ i, record->value };
            }
            lane->at++;
        }
    }
}

/* One record that must be there: the load or store of a name. */
static void one(pel_walk *w, pel_front front, const pel_node *node, pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        if (!record || !pel_inside(pel_position_of(w, record), node))
            pel_lost(w, node, "the log of activation %u does not come by here", lane->activation);
        if (record->kind == PEL_R_RAISE) pel_lost(w, node, "an exception is raised here");
        if (record->kind == PEL_R_PUSH) values[i] = record->value;
        lane->at++;
    }
}

/* ---- deciding how an expression is written ---- */

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

#define TABLE_LIMIT 64

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

/* A list or dict of constants that some object or file holds: written where it is read. */
void pel_write_table(pel_walk *w, pel_front front, pel_val *val) {
    if (!val->at[0] || !pel_all_same(w, front, val->at) || !pel_is_table(w, val->at[0])) return;
    pel_node *table = pel_value_expression(w->ctx, w->s->program, val->at[0]);
    if (!table) return;
    val->text = table;
    val->lost = false;
}

static bool is_local(const pel_walk *w, pel_name name);

/* NAME, or module.NAME */
static bool is_of_a_file(const pel_walk *w, const pel_node *node) {
    while (node->kind == PEL_Attribute) node = node->Attribute.value;
    return node->kind == PEL_Name && !is_local(w, node->Name.id);
}

/* Tensors, or a table of some, that no module holds. */
static bool holds_constant_tensors(const pel_walk *w, pel_id id, int depth) {
    const pel_value *value = pel_value_at(w->log, id);
    if (pel_is_constant_tensor(w->log, value)) return true;
    if (value->kind != PEL_V_LIST && value->kind != PEL_V_DICT && value->kind != PEL_V_TUPLE) return false;
    bool any = false;
    for (uint32_t i = 0; i < value->n && depth < 3; i++) {
        bool here = holds_constant_tensors(w, value->items[i], depth + 1);
        if (!here && !pel_plain(w->s, value->items[i])) return false;
        any |= here;
    }
    return any;
}

/* What tells an object of which there is one in the process from others; 0 if it is none. */
static uint64_t key_of_global(const pel_walk *w, const pel_node *node, pel_id id) {
    const pel_value *value = pel_value_at(w->log, id);
    if (value->kind == PEL_V_LITERAL) return value->object;
    if (!is_of_a_file(w, node) || !holds_constant_tensors(w, id, 0)) return 0;
    return value->kind == PEL_V_TENSOR ? pel_key2(PEL_V_TENSOR, value->tensor) : pel_key2(PEL_V_LIST, id);
}

/* An object of which there is one in the process: a variable of the file. */
static void write_as_global(pel_walk *w, pel_val *val, uint64_t key, pel_name name) {
    pel_node *text = pel_global_expression(w->ctx, w->s->program, val->at[0], key, name);
    if (!text) return;
    val->text = text;
    val->lost = false;
}

pel_val *pel_finish(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    if (front.n && !val->effect && (node->kind == PEL_Attribute || node->kind == PEL_Name)) {
        uint64_t key = key_of_global(w, node, val->at[0]);
        pel_name name = node->kind == PEL_Attribute ? node->Attribute.attr : node->Name.id;
        if (key && pel_all_same(w, front, val->at)) write_as_global(w, val, key, name);
    }
    if (front.n == 0 || val->effect || val->taint || val->fixed) return val;
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
        pel_node *text = pel_value_expression(w->ctx, w->s->program, val->at[0]);
        if (text) {
            val->text = text;
            val->lost = false;
            val->parts = NULL;
        }
    } else if (val->lost) {
        write_as_attribute(w, front, node, val);
    }
    return val;
}

/* What a plain result takes over from the operands that it was computed from. */
static const pel_taint *computed(pel_walk *w, pel_front front, const pel_val *result, bool from_dynamic) {
    if (!from_dynamic) return NULL;
    bool shows = true, some = true;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, result->at[i]);
        shows &= result->at[i] && pel_live(w->s, result->at[i]);
        some &= result->at[i] && !(value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE);
    }
    return shows ? NULL : some ? &pel_tainted_some : &pel_tainted;
}

static void take(pel_val *into, const pel_val *from) {
    into->effect |= from->effect;
    into->lost |= from->lost;
}

pel_node *pel_not(pel_ctx *ctx, pel_node *test) {
    if (test->kind == PEL_UnaryOp && test->UnaryOp.op == PEL_Not) return test->UnaryOp.operand;
    if (test->kind == PEL_Compare && test->Compare.ops.n == 1 && test->mark != PEL_COMPARES_TENSORS) {
        /* not for < and >: with NaN they have no opposite */
        static const struct {
            uint8_t from, to;
        } opposite[] = { { PEL_Eq, PEL_NotEq }, { PEL_NotEq, PEL_Eq }, { PEL_Is, PEL_IsNot },
                         { PEL_IsNot, PEL_Is }, { PEL_In, PEL_NotIn }, { PEL_NotIn, PEL_In } };
        for (size_t i = 0; i < PEL_COUNT(opposite); i++)
            if (test->Compare.ops.at[0] == opposite[i].from) {
                pel_node *made = pel_node_new(ctx, PEL_Compare);
                made->Compare.left = test->Compare.left;
                made->Compare.comparators = test->Compare.comparators;
                made->Compare.ops.n = 1;
                made->Compare.ops.at = pel_new_array(ctx, 1, uint8_t);
                made->Compare.ops.at[0] = opposite[i].to;
                return made;
            }
    }
    pel_node *made = pel_node_new(ctx, PEL_UnaryOp);
    made->UnaryOp.op = PEL_Not;
    made->UnaryOp.operand = test;
    return made;
}

void pel_guard(pel_walk *w, const pel_node *at, pel_node *test, bool truth, const char *message) {
    if (w->in_expression)
        pel_lost(w, at, "a path inside of a comprehension depends on data, and only one was recorded");
    pel_node *guard = pel_node_new(w->ctx, PEL_Assert);
    guard->Assert.test = truth ? test : pel_not(w->ctx, test);
    guard->Assert.msg = pel_make_text(w->ctx, pel_str_of(message));
    guard->lineno = at->lineno;
    w->effect = true; /* a call of this function must not go because its result is known: it holds on that condition */
    pel_nodes_push(w->ctx, w->out, guard);
}

/* ---- attributes that constructors must set ---- */

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
        if (values && values[i]) pel_map_set(w->ctx, &need->values, modules[i], values[i]);
    }
}

/* ---- one function per kind ---- */

static pel_val *eval_constant(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_new(w, front, pel_shallow(w, node));
    for (uint32_t i = 0; i < front.n; i++) { /* the compiler may have folded it into something larger */
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        if (!record || record->kind != PEL_R_PUSH || !pel_inside(pel_position_of(w, record), node)) continue;
        if (pel_insn_of(w, record)->op != PEL_OP_LOAD_CONST) continue;
        val->at[i] = record->value;
        lane->at++;
    }
    return val;
}

pel_node *pel_parts_text(pel_walk *w, const pel_parts *parts) {
    pel_node *node = pel_node_new(w->ctx, parts->keys ? PEL_Dict : PEL_Tuple);
    for (uint32_t i = 0; i < parts->n; i++) {
        if (parts->items[i]->optional) pel_map_set(w->ctx, &w->s->unwritable, PEL_KEY(node), 1); /* has it or not */
        pel_node *item = pel_copy(w->ctx, parts->items[i]->text);
        if (parts->keys) {
            const pel_const *key = pel_const_str(w->ctx, pel_name_str(parts->keys[i]));
            pel_nodes_push(w->ctx, &node->Dict.keys, pel_make_constant(w->ctx, key));
            pel_nodes_push(w->ctx, &node->Dict.values, item);
        } else {
            pel_nodes_push(w->ctx, &node->Tuple.elts, item);
        }
    }
    return node;
}

/* The items of a dict that has a name, as they are read from it: d["a"], ... */
const pel_parts *pel_parts_by_key(pel_walk *w, const pel_val *dict) {
    const pel_parts *from = dict->parts;
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ from->n, from->keys, pel_new_array(w->ctx, from->n + 1u, pel_val *) };
    for (uint32_t i = 0; i < from->n; i++) {
        pel_val *item = pel_new(w->ctx, pel_val);
        *item = *from->items[i];
        if (dict->text->kind == PEL_Name && item->text->kind != PEL_Constant) {
            pel_node *read = pel_node_new(w->ctx, PEL_Subscript);
            read->Subscript.value = pel_copy(w->ctx, dict->text);
            read->Subscript.slice = pel_make_text(w->ctx, pel_name_str(from->keys[i]));
            item->text = read;
        }
        made->items[i] = item;
    }
    return made;
}

static bool is_local(const pel_walk *w, pel_name name) {
    const pel_code_object *code = w->log->codes.at[w->author->code].code;
    for (uint32_t i = 0; i < code->varnames.n; i++)
        if (code->varnames.at[i] == name) return true;
    for (uint32_t i = 0; i < code->cellvars.n; i++)
        if (code->cellvars.at[i] == name) return true;
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (code->freevars.at[i] == name) return true;
    return false;
}

/* A free variable of a function that was made before the run: nothing in the output binds it. */
static bool is_outside_cell(const pel_walk *w, pel_name name) {
    if (w->group->in_place) return false;
    const pel_code_object *code = w->log->codes.at[w->group->code].code;
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (code->freevars.at[i] == name) return true;
    return false;
}

/* The text names a function of the author's. */
static void refer(pel_walk *w, pel_node **text, pel_id code) {
    if (pel_ran(w->s, code))
        pel_push(w->ctx, &w->s->references, ((pel_reference){ *text, code, NULL, false }));
    else
        *text = pel_stub_name(w->s);
}

/* A name of the file that the run binds anew. */
static bool is_written_global(pel_walk *w, pel_name name, pel_val *val) {
    uint64_t key = pel_key2(w->log->codes.at[w->author->code].file, PEL_KEY(name)), first;
    if (is_local(w, name) || !pel_map_get(&w->s->written_globals, key, &first)) return false;
    pel_node *text = first ? pel_global_expression(w->ctx, w->s->program, (pel_id)first, key, name) : NULL;
    if (!text) pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "the global variable `%s` has no literal", name->text);
    if (text->Name.id != name) pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "two files bind a global `%s`", name->text);
    if (val) {
        val->text = text;
        val->taint = &pel_tainted; /* what calls before this one did */
    }
    return true;
}

static pel_val *eval_name(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_new(w, front, pel_shallow(w, node));
    one(w, front, node, val->at);
    if (is_written_global(w, node->Name.id, val)) return val;
    if (is_local(w, node->Name.id)) {
        pel_slot *slot = pel_env_slot(w, node->Name.id);
        val->taint = slot->taint;
        val->parts = slot->parts;
    }
    bool in_cell = is_outside_cell(w, node->Name.id), from_outside = !is_local(w, node->Name.id) || in_cell;
    pel_node *known = in_cell ? pel_cell_text(w, front, node->Name.id, val->at) : NULL;
    if (known) {
        val->text = known;
        return pel_finish(w, front, node, val);
    }
    val->lost = in_cell && !pel_all_same(w, front, val->at);
    for (uint32_t i = 0; i < front.n && !val->lost; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (pel_is_static_object(w->s, val->at[i]))
            val->lost = true;
        else if (from_outside && value->kind == PEL_V_FUNCTION) {
            if (pel_all_same(w, front, val->at))
                refer(w, &val->text, value->code);
            else
                val->lost = true;
            break;
        } else if (from_outside && !pel_plain(w->s, val->at[i]))
            val->lost = true;
    }
    if (val->lost && from_outside) pel_map_set(w->ctx, &w->s->unwritable, PEL_KEY(val->text), 1);
    val = pel_finish(w, front, node, val);
    if (is_local(w, node->Name.id) && pel_env_slot(w, node->Name.id)->gone && val->text->kind == PEL_Name) {
        if (!val->parts) pel_lost(w, node, "what `%s` holds differs from path to path", node->Name.id->text);
        val->text = pel_parts_text(w, val->parts);
        for (uint32_t i = 0; i < val->parts->n; i++) val->lost |= val->parts->items[i]->lost;
    }
    return val;
}

/* Attributes of tensors that are as fixed as the fact that it is a tensor. */
static bool fixed_of_tensor(pel_name name) { return pel_name_is(name, "ndim") || pel_name_is(name, "is_sparse"); }

bool pel_has_slot(const pel_log_module *module, pel_name name) {
    for (uint32_t i = 0; i < module->child_names.n; i++)
        if (module->child_names.at[i] == name) return true;
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
    bool known = pel_map_has(&w->s->shared, first->object);
    if (!known && !base->lost) return false;
    for (uint32_t i = 1; i < front.n; i++)
        if (pel_value_at(w->log, val->at[i])->object != first->object) return false;
    pel_id before = pel_module_attribute(w->log, pel_value_at(w->log, base->at[0])->module, name);
    if (pel_value_at(w->log, before)->object != first->object) return false;
    pel_node *text = pel_global_expression(w->ctx, w->s->program, before, first->object, name);
    if (!text) return false;
    if (!known) w->s->changed = true;
    pel_map_set(w->ctx, &w->s->shared, first->object, 1);
    val->text = text;
    val->taint = &pel_tainted; /* what calls before this one did */
    val->fixed = true;
    val->lost = false;
    return true;
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
        if (val->at[i] && pel_plain(w->s, val->at[i])) pel_need(w, one, &modules[i], name, &val->at[i]);
    }
}

/* Reading an attribute of modules. */
static void read_module(pel_walk *w, pel_front front, pel_name name, const pel_val *base, pel_val *val) {
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    bool needed = false, written = false;
    for (uint32_t i = 0; i < front.n; i++) {
        modules[i] = pel_value_at(w->log, base->at[i])->module;
        const pel_log_module *row = pel_module_at(w->log, modules[i]);
        if (pel_map_has(&w->s->written, pel_key2(row->class, PEL_KEY(name)))) written = true;
        if (!pel_has_slot(row, name) && pel_module_attribute(w->log, modules[i], name)) needed = true;
    }
    if (pel_name_is(name, "training")) {
        val->fixed = true;
        w->s->asked_training = true;
        return;
    }
    if (written) {
        val->fixed = true;
        if (needed) pel_need(w, front, modules, name, NULL);
        need_class_attribute(w, front, modules, name, val);
        return;
    }
    if (is_shared(w, front, name, base, val)) return;
    bool plain_same = !val->taint && pel_all_same(w, front, val->at) && pel_plain(w->s, val->at[0]);
    if (plain_same && !base->effect) return; /* will be folded */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        bool named_tuple = value->kind == PEL_V_TUPLE && value->class && !pel_live(w->s, val->at[i]);
        if (pel_is_static_object(w->s, val->at[i]) || named_tuple) val->lost = true;
        if (value->kind == PEL_V_FUNCTION || value->kind == PEL_V_METHOD) needed = false;
        if (value->kind == PEL_V_MODULE && !pel_has_slot(pel_module_at(w->log, modules[i]), name)) needed = false;
    }
    if (val->lost) {
        pel_map_set(w->ctx, &w->s->unwritable, PEL_KEY(val->text), 1);
        return;
    }
    if (!needed && !pel_has_slot(pel_module_at(w->log, modules[0]), name) && pel_all_same(w, front, val->at) &&
        holds_constant_tensors(w, val->at[0], 0)) { /* an attribute of the class */
        write_as_global(w, val, pel_key2(PEL_V_CLASS, val->at[0]), name);
        return;
    }
    /* class attributes and properties that differ are set by the constructor as well */
    bool all_plain = true;
    for (uint32_t i = 0; i < front.n; i++) all_plain &= val->at[i] && pel_plain(w->s, val->at[i]);
    if (needed || all_plain) pel_need(w, front, modules, name, all_plain ? val->at : NULL);
}

bool pel_is_content_of_given(const pel_walk *w, pel_id object, pel_id value) {
    const pel_value *of = pel_value_at(w->log, object);
    if (of->kind != PEL_V_OBJECT || !pel_map_has(&w->s->given, of->object)) return false;
    switch (pel_value_at(w->log, value)->kind) {
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_DICT: return true;
    default: return false;
    }
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

/* Whether all lanes read one constant of a class by objects that the run made, which have nothing of that name. The
 * output's classes have methods alone, so the constant itself is written. */
static bool reads_class_constant(pel_walk *w, pel_front front, pel_name name, const pel_val *base, const pel_val *val) {
    if (!pel_all_same(w, front, val->at)) return false;
    if (!pel_plain(w->s, val->at[0]) && !holds_constant_tensors(w, val->at[0], 0)) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, base->at[i]);
        if (object->kind != PEL_V_OBJECT || object->truncated || pel_is_static_object(w->s, base->at[i])) return false;
        pel_id constant = pel_item_named(w->log, object, name) ? 0 : class_constant(w->log, object->class, name, 0);
        if (!constant || !pel_value_same(w->log, constant, val->at[i])) return false;
    }
    return true;
}

static pel_val *read_attribute(pel_walk *w, pel_front front, pel_node *node, pel_val *base, const pel_id *values,
                               const pel_kids *kids) {
    pel_node *text = pel_shallow(w, node);
    text->Attribute.value = base->text;
    pel_val *val = pel_val_new(w, front, text);
    memcpy(val->at, values, front.n * sizeof *values);
    take(val, base);
    pel_name name = node->Attribute.attr;
    if (!kids->n && reads_class_constant(w, front, name, base, val)) {
        if (!pel_plain(w->s, val->at[0])) write_as_global(w, val, pel_key2(PEL_V_CLASS, val->at[0]), name);
        return pel_finish(w, front, node, val);
    }
    uint32_t modules = 0, tensors = 0, objects = 0, others = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, base->at[i]);
        if (value->kind == PEL_V_MODULE)
            modules++;
        else if (value->kind == PEL_V_TENSOR)
            tensors++;
        else if (value->kind == PEL_V_OBJECT) {
            objects++;
            uint64_t taint = pel_map_find(&w->s->attribute_taint, pel_key2(value->class, PEL_KEY(name)), 0);
            val->taint = pel_taint_join(w->ctx, val->taint, (const pel_taint *)(uintptr_t)taint);
            if (!pel_is_static_object(w->s, base->at[i])) val->fixed = true;
            if (pel_is_content_of_given(w, base->at[i], val->at[i]))
                val->taint = pel_taint_join(w->ctx, val->taint, &pel_tainted);
        } else
            others++;
    }
    if (modules) {
        for (uint32_t i = 0; i < front.n; i++) {
            const pel_value *value = pel_value_at(w->log, base->at[i]);
            if (value->kind != PEL_V_MODULE) continue;
            uint64_t key = pel_key2(pel_module_at(w->log, value->module)->class, PEL_KEY(name));
            val->taint = pel_taint_join(w->ctx, val->taint, pel_map_pointer(&w->s->attribute_taint, key));
        }
        if (modules == front.n) read_module(w, front, name, base, val);
    } else if (!(tensors == front.n && fixed_of_tensor(name))) {
        if (base->taint || tensors) val->taint = computed(w, front, val, true);
    }
    /* objects that were there before the run, and __getattr__ hooks, only look things up */
    bool looked_up = (objects == front.n && base->lost) || pel_on_records(w, kids) || pel_looks_up(w, kids);
    if (looked_up)
        pel_forget_kids(w, kids);
    else if (kids->n)
        pel_link_property(w, kids, base, val, name);
    if (others && !tensors && !modules && !objects) {
        /* a function of a module, a class attribute: what can't be folded can't be written */
        for (uint32_t i = 0; i < front.n; i++) {
            const pel_value *value = pel_value_at(w->log, val->at[i]);
            const pel_value *owner = pel_value_at(w->log, base->at[i]);
            if (owner->kind == PEL_V_LIBRARY && value->kind == PEL_V_FUNCTION && pel_all_same(w, front, val->at)) {
                val->text = pel_make_name(w->ctx, name, PEL_Load);
                refer(w, &val->text, value->code);
                val->lost = false;
                break;
            }
        }
    }
    return pel_finish(w, front, node, val);
}

static pel_val *eval_attribute(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *base = pel_eval(w, front, node->Attribute.value);
    pel_id *values = pel_new_array(w->ctx, front.n + 1u, pel_id);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, values, &kids);
    return read_attribute(w, front, node, base, values, &kids);
}

static const pel_const *constant_of(const pel_walk *w, pel_front front, const pel_val *val) {
    if (val->text->kind == PEL_Constant) return val->text->Constant.value;
    if (front.n && val->at[0] && pel_value_at(w->log, val->at[0])->kind == PEL_V_CONST)
        return pel_value_at(w->log, val->at[0])->constant;
    return NULL;
}

/* An operator that the author's classes define. On what was there before the run it only looks things up. */
void pel_operator_calls(pel_walk *w, const pel_kids *kids, pel_val *val, bool looks_up) {
    if (looks_up || pel_on_records(w, kids))
        pel_forget_kids(w, kids);
    else if (kids->n) {
        val->effect = true;
        val->text->mark = 1;
    }
}

static pel_val *eval_subscript(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *base = pel_eval(w, front, node->Subscript.value);
    pel_val *slice = pel_eval(w, front, node->Subscript.slice);
    pel_node *text = pel_shallow(w, node);
    text->Subscript.value = base->text;
    text->Subscript.slice = slice->text;
    pel_val *val = pel_val_new(w, front, text);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    take(val, base);
    take(val, slice);
    const pel_const *index = slice->text->kind == PEL_Constant ? constant_of(w, front, slice) : NULL;
    if (base->parts && index && !base->effect) { /* an item of *args or **kwargs */
        for (uint32_t i = 0; i < base->parts->n; i++) {
            bool hit = base->parts->keys
                           ? index->kind == PEL_CONST_STR && pel_str_eq(index->text, pel_name_str(base->parts->keys[i]))
                           : index->kind == PEL_CONST_INT && index->integer.digits.len == 0 &&
                                 (index->integer.small == i || index->integer.small + base->parts->n == i);
            if (!hit) continue;
            val->taint = base->parts->items[i]->taint;
            if (base->text->kind != PEL_Name) {
                val->text = base->parts->items[i]->text;
                val->lost = base->parts->items[i]->lost;
            }
            return pel_finish(w, front, node, val);
        }
    }
    if (base->taint) {
        bool position = index && index->kind == PEL_CONST_INT && index->integer.digits.len == 0;
        if (position && index->integer.small >= 0)
            val->taint = pel_taint_item(base->taint, (uint32_t)index->integer.small);
        else if (position && base->taint->n && -index->integer.small <= base->taint->n)
            val->taint = pel_taint_item(base->taint, (uint32_t)(base->taint->n + index->integer.small));
        else
            val->taint = pel_taint_any(base->taint);
    }
    bool tensor = false;
    for (uint32_t i = 0; i < front.n; i++) tensor |= pel_value_at(w->log, base->at[i])->kind == PEL_V_TENSOR;
    if (tensor || pel_dynamic(w, front, slice))
        val->taint = pel_taint_join(w->ctx, val->taint, computed(w, front, val, true));
    for (uint32_t i = 0; i < front.n; i++) val->lost |= pel_is_static_object(w->s, val->at[i]);
    pel_operator_calls(w, &kids, val, base->lost && !pel_dynamic(w, front, slice));
    return pel_finish(w, front, node, val);
}

static pel_val *eval_operands(pel_walk *w, pel_front front, pel_node *node, pel_node *text, pel_val **operands,
                              uint32_t n) {
    pel_val *val = pel_val_new(w, front, text);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    bool dynamic = false;
    for (uint32_t i = 0; i < n; i++) {
        take(val, operands[i]);
        dynamic |= pel_dynamic(w, front, operands[i]);
    }
    val->taint = computed(w, front, val, dynamic);
    pel_operator_calls(w, &kids, val, !dynamic);
    return pel_finish(w, front, node, val);
}

static bool all_ints(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_INT) return false;
    }
    return true;
}

static bool is_neutral(pel_OPERATOR op, const pel_node *operand, int side) {
    if (operand->kind != PEL_Constant || operand->Constant.value->kind != PEL_CONST_INT ||
        operand->Constant.value->integer.digits.len)
        return false;
    int64_t value = operand->Constant.value->integer.small;
    switch (op) {
    case PEL_Add: return value == 0;
    case PEL_Sub: return value == 0 && side == 1;
    case PEL_Mult: return value == 1;
    case PEL_FloorDiv: return value == 1 && side == 1;
    default: return false;
    }
}

/* x.cos() * 1.0: what configurations scale by when they don't. x must be made here, or its user could change another's,
 * and be of floats already. */
static bool scales_by_one(pel_walk *w, pel_front front, pel_OPERATOR op, pel_val *const operands[2]) {
    const pel_node *one = operands[1]->text, *of = operands[0]->text;
    if (op != PEL_Mult || one->kind != PEL_Constant || (of->kind != PEL_Call && of->kind != PEL_BinOp)) return false;
    const pel_const *value = one->Constant.value;
    if (value->kind != PEL_CONST_FLOAT || value->real < 1.0 || value->real > 1.0) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *tensor = pel_value_at(w->log, operands[0]->at[i]);
        if (tensor->kind != PEL_V_TENSOR) return false;
        pel_str dtype = w->log->tensors.at[tensor->tensor].dtype;
        if (!pel_str_starts(dtype, PEL_STR("torch.float")) && !pel_str_is(dtype, "torch.bfloat16")) return false;
    }
    return front.n > 0;
}

static pel_val *eval_binop(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *operands[2];
    operands[0] = pel_eval(w, front, node->BinOp.left);
    operands[1] = pel_eval(w, front, node->BinOp.right);
    pel_node *text = pel_shallow(w, node);
    text->BinOp.left = operands[0]->text;
    text->BinOp.right = operands[1]->text;
    pel_val *val = eval_operands(w, front, node, text, operands, 2);
    if (val->text != text || operands[0]->effect || operands[1]->effect) return val;
    if (scales_by_one(w, front, node->BinOp.op, operands)) val->text = operands[0]->text;
    for (int i = 0; i < 2;
         i++) /* n + 0, 0 + n, n - 0, n * 1, 1 * n, n // 1: of ints only, for a tensor it makes a new one */
        if (is_neutral(node->BinOp.op, operands[i]->text, i) && all_ints(w, front, operands[1 - i]))
            val->text = operands[1 - i]->text;
    return val;
}

static pel_val *eval_unary(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *operand = pel_eval(w, front, node->UnaryOp.operand);
    pel_node *text = pel_shallow(w, node);
    text->UnaryOp.operand = operand->text;
    return eval_operands(w, front, node, text, &operand, 1);
}

/* Whether it could be None with other data: then even `is None` asks the data. */
static bool maybe_none(const pel_val *val) { return val->taint && val->taint != &pel_tainted_some; }

static bool are_whole_numbers(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_INT) return false;
    }
    return front.n > 0;
}

/* A dict whose keys are written out, as `**kwargs` is: what is in it does not hang on what the values are. */
static bool has_fixed_keys(const pel_node *text) {
    if (text->kind != PEL_Dict) return false;
    for (uint32_t i = 0; i < text->Dict.keys.n; i++)
        if (!text->Dict.keys.at[i] || text->Dict.keys.at[i]->kind != PEL_Constant) return false;
    return true;
}

/* By what is compared: since 3.13 a comparison that is tested has no other result than the outcome of the test. */
static bool compares_tensors(const pel_walk *w, pel_front front, uint8_t op, const pel_val *left,
                             const pel_val *right) {
    if (pel_is_identity(op) || pel_is_containment(op)) return false;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, left->at[i])->kind == PEL_V_TENSOR ||
            pel_value_at(w->log, right->at[i])->kind == PEL_V_TENSOR)
            return true;
    return false;
}

static pel_val *eval_compare(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *left = pel_eval(w, front, node->Compare.left);
    pel_node *text = pel_shallow(w, node);
    text->Compare.left = left->text;
    text->Compare.comparators = (pel_nodes){ 0 };
    pel_val *val = pel_val_new(w, front, text);
    take(val, left);
    bool dynamic = false, left_dynamic = pel_dynamic(w, front, left), left_tainted = maybe_none(left);
    pel_front going = front;
    for (uint32_t k = 0; k < node->Compare.comparators.n; k++) {
        if (k > 0) pel_own(w, going, node, node->Compare.comparators.at[k], NULL, NULL);
        pel_val *right = pel_eval(w, going, node->Compare.comparators.at[k]);
        take(val, right);
        pel_nodes_push(w->ctx, &text->Compare.comparators, right->text);
        if (node->Compare.ops.n == 1 && are_whole_numbers(w, going, left) && are_whole_numbers(w, going, right))
            pel_map_set(w->ctx, &w->s->whole_numbers, PEL_KEY(text), 1);
        bool right_dynamic = pel_dynamic(w, going, right), right_tainted = maybe_none(right);
        if (pel_is_containment(node->Compare.ops.at[k]) && has_fixed_keys(right->text)) right_dynamic = false;
        if (compares_tensors(w, going, node->Compare.ops.at[k], left, right)) text->mark = PEL_COMPARES_TENSORS;
        dynamic |=
            pel_is_identity(node->Compare.ops.at[k]) ? left_tainted || right_tainted : left_dynamic || right_dynamic;
        left_dynamic = right_dynamic;
        left_tainted = right_tainted;
        if (k + 1 == node->Compare.comparators.n) break;
        /* a < b < c as a value: the first that fails ends it. All lanes must agree, as for any path of an expression.
         */
        pel_own(w, going, node, node->Compare.comparators.at[k + 1], NULL, NULL);
        for (uint32_t i = 0; i < going.n; i++) {
            bool truth;
            if (!pel_take_jump(w, pel_lane_at(w, going, i), &truth)) pel_lost(w, node, "a comparison without its jump");
            if (!truth) pel_lost(w, node, "a chained comparison that ends early is not supported as a value");
        }
    }
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    val->taint = computed(w, front, val, dynamic);
    pel_operator_calls(w, &kids, val, !dynamic);
    return pel_finish(w, front, node, val);
}

static pel_val *eval_sequence(pel_walk *w, pel_front front, pel_node *node) {
    pel_nodes elts = node->Tuple.elts; /* List and Set have the same layout */
    pel_node *text = pel_shallow(w, node);
    pel_nodes *into = node->kind == PEL_Tuple  ? &text->Tuple.elts
                      : node->kind == PEL_List ? &text->List.elts
                                               : &text->Set.elts;
    if (node->kind == PEL_Set) elts = node->Set.elts;
    if (node->kind == PEL_List) elts = node->List.elts;
    *into = (pel_nodes){ 0 };
    pel_val *val = pel_val_new(w, front, text);
    pel_val **items = pel_new_array(w->ctx, elts.n + 1u, pel_val *);
    const pel_taint **taints = pel_new_array(w->ctx, elts.n + 1u, const pel_taint *);
    bool starred = false, sliced = false;
    for (uint32_t i = 0; i < elts.n; i++) {
        sliced |= elts.at[i]->kind == PEL_Slice;
        pel_own(w, front, node, elts.at[i], val->at, NULL);
        bool star = elts.at[i]->kind == PEL_Starred;
        items[i] = pel_eval(w, front, star ? elts.at[i]->Starred.value : elts.at[i]);
        take(val, items[i]);
        taints[i] = items[i]->taint;
        pel_node *item = items[i]->text;
        starred |= star;
        if (star) {
            item = pel_shallow(w, elts.at[i]);
            item->Starred.value = items[i]->text;
        }
        pel_nodes_push(w->ctx, into, item);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    const pel_taint *taint = pel_taint_tuple(w->ctx, taints, elts.n);
    if (starred || node->kind != PEL_Tuple)
        val->taint = pel_taint_any(taint);
    else {
        val->taint = taint;
        pel_parts *parts = pel_new(w->ctx, pel_parts);
        *parts = (pel_parts){ elts.n, NULL, items };
        val->parts = parts;
    }
    if (node->kind != PEL_Tuple || sliced) return val; /* a new object each time; x[a:b, c] as the author has it */
    return pel_finish(w, front, node, val);
}

static bool has_optional(const pel_parts *parts) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->items[i]->optional) return true;
    return false;
}

static void add_item(pel_walk *w, pel_node *dict, pel_name key, const pel_val *item) {
    pel_nodes_push(w->ctx, &dict->Dict.keys, pel_make_text(w->ctx, pel_name_str(key)));
    pel_nodes_push(w->ctx, &dict->Dict.values, item->text);
}

static pel_val *eval_dict(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    text->Dict.keys = text->Dict.values = (pel_nodes){ 0 };
    pel_val *val = pel_val_new(w, front, text);
    bool simple = true, tainted = false;
    PEL_VEC(pel_name) keys = { 0 };
    PEL_VEC(pel_val *) items = { 0 };
    for (uint32_t i = 0; i < node->Dict.values.n; i++) {
        pel_node *key = node->Dict.keys.at[i];
        pel_node pair = {
            .lineno = node->Dict.values.at[i]->lineno,
            .col_offset = node->Dict.values.at[i]->col_offset,
            .end_lineno = node->Dict.values.at[i]->end_lineno,
            .end_col_offset = node->Dict.values.at[i]->end_col_offset
        }; /* constant keys come all at once, in the end */
        if (key) {
            pair.lineno = key->lineno;
            pair.col_offset = key->col_offset;
        }
        pel_own(w, front, node, &pair, val->at, NULL);
        pel_val *name = key ? pel_eval(w, front, key) : NULL;
        pel_val *item = pel_eval(w, front, node->Dict.values.at[i]);
        take(val, item);
        if (name) take(val, name);
        tainted |= item->taint || (name && name->taint);
        if (!name && item->parts && item->parts->keys && !has_optional(item->parts)) { /* {**d, ...}: its items */
            const pel_parts *more = pel_parts_by_key(w, item);
            for (uint32_t k = 0; k < more->n; k++) {
                add_item(w, text, more->keys[k], more->items[k]);
                pel_push(w->ctx, &keys, more->keys[k]);
                pel_push(w->ctx, &items, more->items[k]);
            }
            continue;
        }
        const pel_const *constant = name && name->text->kind == PEL_Constant ? name->text->Constant.value : NULL;
        if (constant && constant->kind == PEL_CONST_STR) {
            pel_push(w->ctx, &keys, pel_intern_str(w->ctx, constant->text));
            pel_push(w->ctx, &items, item);
        } else
            simple = false;
        pel_nodes_push(w->ctx, &text->Dict.keys, name ? name->text : NULL);
        pel_nodes_push(w->ctx, &text->Dict.values, item->text);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    if (tainted) val->taint = &pel_tainted;
    if (simple) {
        pel_parts *parts = pel_new(w->ctx, pel_parts);
        *parts = (pel_parts){ keys.n, keys.at ? keys.at : pel_new_array(w->ctx, 1, pel_name), items.at };
        val->parts = parts;
    }
    return val;
}

static pel_val *eval_slice(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    pel_val *val = pel_val_new(w, front, text);
    pel_node *const from[3] = { node->Slice.lower, node->Slice.upper, node->Slice.step };
    pel_node **const to[3] = { &text->Slice.lower, &text->Slice.upper, &text->Slice.step };
    bool dynamic = false;
    for (int i = 0; i < 3; i++) {
        if (!from[i]) {
            if (i < 2) pel_own(w, front, node, from[i + 1] ? from[i + 1] : from[2], NULL, NULL);
            continue;
        }
        pel_val *part = pel_eval(w, front, from[i]);
        *to[i] = part->text;
        take(val, part);
        dynamic |= part->taint != NULL;
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    if (dynamic) val->taint = &pel_tainted;
    return val; /* stands only in brackets: a:b reads better than slice(a, b) */
}

static void eval_format(pel_walk *w, pel_front front, pel_node *node, pel_node **into, pel_val *val, bool *dynamic) {
    pel_node *text = pel_shallow(w, node);
    *into = text;
    if (node->kind == PEL_JoinedStr) {
        text->JoinedStr.values = (pel_nodes){ 0 };
        for (uint32_t i = 0; i < node->JoinedStr.values.n; i++) {
            pel_node *part = node->JoinedStr.values.at[i], *made = part;
            if (part->kind != PEL_Constant) eval_format(w, front, part, &made, val, dynamic);
            pel_nodes_push(w->ctx, &text->JoinedStr.values, made);
        }
    } else if (node->kind == PEL_FormattedValue) {
        pel_node *inner = node->FormattedValue.value;
        for (uint32_t i = 0; i < front.n; i++) {
            /* literal parts and formats of their own, up to the next value */
            pel_front single = { &front.at[i], 1 };
            pel_own(w, single, w->now, inner, NULL, NULL);
        }
        pel_val *value = pel_eval(w, front, inner);
        text->FormattedValue.value = value->text;
        take(val, value);
        *dynamic |= pel_dynamic(w, front, value);
        if (node->FormattedValue.format_spec)
            eval_format(w, front, node->FormattedValue.format_spec, &text->FormattedValue.format_spec, val, dynamic);
    }
}

static pel_val *eval_joined(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_new(w, front, NULL);
    bool dynamic = false;
    const pel_node *outer = w->now;
    w->now = node;
    eval_format(w, front, node, &val->text, val, &dynamic);
    w->now = outer;
    pel_own(w, front, node, NULL, val->at, NULL);
    val->taint = computed(w, front, val, dynamic);
    return pel_finish(w, front, node, val);
}

/* Lanes that a test sent one way. positions: their places in the front they came from. */
static pel_front chosen(pel_walk *w, pel_front front, const bool *truth, bool want, uint32_t *positions) {
    pel_front side = pel_front_new(w, front.n);
    side.n = 0;
    for (uint32_t i = 0; i < front.n; i++)
        if (truth[i] == want) {
            positions[side.n] = i;
            side.at[side.n++] = front.at[i];
        }
    return side;
}

static pel_val *eval_ifexp(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->IfExp.test);
    uint32_t *yes_at = pel_new_array(w->ctx, front.n + 1u, uint32_t),
             *no_at = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    pel_front yes = chosen(w, front, test.truth, true, yes_at), no = chosen(w, front, test.truth, false, no_at);
    if (yes.n == 0 || no.n == 0) {
        if (test.dynamic)
            pel_guard(w, node, test.text, yes.n > 0, "path not recorded");
        else if (test.effect)
            pel_lost(w, node, "a test with an effect inside of an expression");
        return pel_eval(w, front, yes.n ? node->IfExp.body : node->IfExp.orelse);
    }
    w->in_expression++; /* what one side needs must not be asserted for both */
    pel_val *a = pel_eval(w, yes, node->IfExp.body), *b = pel_eval(w, no, node->IfExp.orelse);
    w->in_expression--;
    pel_node *text = pel_shallow(w, node);
    text->IfExp.test = test.text;
    text->IfExp.body = a->text;
    text->IfExp.orelse = b->text;
    pel_val *val = pel_val_new(w, front, text);
    for (uint32_t i = 0; i < yes.n; i++) val->at[yes_at[i]] = a->at[i];
    for (uint32_t i = 0; i < no.n; i++) val->at[no_at[i]] = b->at[i];
    take(val, a);
    take(val, b);
    val->effect |= test.effect;
    val->lost |= test.lost;
    val->taint = pel_taint_join(w->ctx, a->taint, b->taint);
    if (test.dynamic) val->taint = computed(w, front, val, true);
    return pel_finish(w, front, node, val);
}

/* What certainly gives True or False: a comparison of tensors would give a tensor, but then it is not asked this. */
bool pel_gives_truth(const pel_node *node) {
    if (node->kind == PEL_Compare) return true;
    if (node->kind == PEL_UnaryOp) return node->UnaryOp.op == PEL_Not;
    return node->kind == PEL_Attribute && pel_name_is(node->Attribute.attr, "training");
}

/* Whether an operand decides the whole: False at the end of an `and` whose values are truths, True at that of an `or`.
 */
static bool always(pel_walk *w, pel_front front, const pel_node *last, bool is_and, const pel_val *val) {
    if (last->kind != PEL_Constant || val->effect) return false;
    pel_const_kind kind = is_and ? PEL_CONST_FALSE : PEL_CONST_TRUE;
    if (last->Constant.value->kind != kind) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != kind) return false;
    }
    return true;
}

/* Lanes of an `and` or `or` that are still going, and where they stand in the front that it began with. */
typedef struct going {
    pel_front front;
    uint32_t *places;
} going;

static going going_new(pel_walk *w, uint32_t n) {
    return (going){ pel_front_new(w, n), pel_new_array(w->ctx, n + 1u, uint32_t) };
}

/* Those that the operand does not decide. */
static going go_on(pel_walk *w, going from, pel_val *operand, const pel_node *node, uint32_t k) {
    bool is_and = node->BoolOp.op == PEL_And;
    const pel_node *part = node->BoolOp.values.at[k];
    going next = going_new(w, from.front.n);
    next.front.n = 0;
    pel_ask_truth(w, from.front, operand);
    for (uint32_t i = 0; i < from.front.n; i++) {
        bool truth;
        if (!pel_take_jump(w, pel_lane_at(w, from.front, i), &truth)) {
            if (part->kind == PEL_BoolOp) /* `a and b or c`: a jumps to c at once if it is false */
                truth = part->BoolOp.op == PEL_Or;
            else if (operand->text->kind == PEL_Constant)
                truth = is_and; /* a constant the compiler left out */
            else
                pel_lost(w, node, "an `and` or `or` without its jump");
        }
        if (truth != is_and) continue;
        next.front.at[next.front.n] = from.front.at[i];
        next.places[next.front.n++] = from.places[i];
    }
    return next;
}

static bool are_truths(const pel_walk *w, const pel_val *val, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST ||
            (value->constant->kind != PEL_CONST_TRUE && value->constant->kind != PEL_CONST_FALSE))
            return false;
    }
    return true;
}

/* Containers and objects are true by what they hold; that is not asserted. */
static bool may_hold(const pel_walk *w, const pel_val *val, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint8_t kind = pel_value_at(w->log, val->at[i])->kind;
        if (kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_OBJECT || kind == PEL_V_DICT) return true;
    }
    return false;
}

static bool is_truth(const pel_node *node, bool truth) {
    return node->kind == PEL_Constant && node->Constant.value->kind == pel_const_bool(truth)->kind;
}

/* and, or: as a value. Operands that all lanes passed by without data are left out. */
static pel_val *eval_boolop(pel_walk *w, pel_front front, pel_node *node) {
    bool is_and = node->BoolOp.op == PEL_And;
    going now = { front, pel_new_array(w->ctx, front.n + 1u, uint32_t) };
    for (uint32_t i = 0; i < front.n; i++) now.places[i] = i;
    pel_val *val = pel_val_new(w, front, NULL);
    pel_nodes kept = { 0 };
    bool dynamic = false, truths = false; /* the operand kept last gives nothing but truths */
    for (uint32_t k = 0; k < node->BoolOp.values.n && now.front.n; k++) {
        if (k > 0) w->in_expression++;
        pel_val *operand = pel_eval(w, now.front, node->BoolOp.values.at[k]);
        if (k > 0) w->in_expression--;
        for (uint32_t i = 0; i < now.front.n; i++) val->at[now.places[i]] = operand->at[i];
        bool last = k + 1 == node->BoolOp.values.n;
        going next = last ? going_new(w, 0) : go_on(w, now, operand, node, k);
        bool data = pel_dynamic(w, now.front, operand);
        take(val, operand);
        if (last || next.front.n < now.front.n || data || operand->effect) {
            if (last && truths && is_truth(operand->text, is_and)) break; /* `a > b and True` */
            pel_nodes_push(w->ctx, &kept, operand->text);
            val->taint = pel_taint_join(w->ctx, val->taint, operand->taint);
            dynamic |= data;
            truths = are_truths(w, operand, now.front.n);
        }
        if (!last && !next.front.n && data && !may_hold(w, operand, now.front.n))
            pel_guard(w, node, operand->text, !is_and, "path not recorded");
        now = next;
    }
    if (kept.n == 1) {
        val->text = kept.at[0];
    } else if (kept.n && always(w, front, kept.at[kept.n - 1], is_and, val)) {
        val->text = kept.at[kept.n - 1]; /* `a > b and False` is False whatever a and b are */
        val->taint = NULL;
    } else {
        val->text = pel_shallow(w, node);
        val->text->BoolOp.values = kept;
        if (dynamic) val->taint = pel_taint_join(w->ctx, val->taint, computed(w, front, val, true));
    }
    return pel_finish(w, front, node, val);
}

static pel_val *eval_named(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *value = pel_eval(w, front, node->NamedExpr.value);
    pel_node *text = pel_shallow(w, node);
    text->NamedExpr.value = value->text;
    pel_val *val = pel_val_new(w, front, text);
    memcpy(val->at, value->at, front.n * sizeof *val->at);
    take(val, value);
    val->taint = value->taint;
    val->effect = true; /* it binds a name */
    pel_own(w, front, node, node->NamedExpr.target, NULL, NULL);
    pel_store(w, front, node->NamedExpr.target, value->taint, value->parts, value, &text->NamedExpr.target);
    if (!w->in_expression) { /* a statement before this one says the same */
        pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, text->NamedExpr.target, value->text));
        w->effect |= value->effect;
        val->text = pel_make_name(w->ctx, node->NamedExpr.target->Name.id, PEL_Load);
        val->effect = false;
        return pel_finish(w, front, node->NamedExpr.target, val);
    }
    return val;
}

static pel_val *eval_yield(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    pel_val *val = pel_val_new(w, front, text);
    pel_node **into = node->kind == PEL_Yield ? &text->Yield.value : &text->YieldFrom.value;
    if (*into) {
        pel_val *value = pel_eval(w, front, *into);
        *into = value->text;
        take(val, value);
        w->result = pel_taint_join(w->ctx, w->result, value->taint);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    val->effect = true;
    return val;
}

pel_val *pel_eval(pel_walk *w, pel_front front, pel_node *node) {
    if (++w->depth > DEPTH_LIMIT) pel_lost(w, node, "the expression nests too deep");
    pel_val *val = NULL;
    switch (node->kind) {
    case PEL_Constant: val = eval_constant(w, front, node); break;
    case PEL_Name: val = eval_name(w, front, node); break;
    case PEL_Attribute: val = eval_attribute(w, front, node); break;
    case PEL_Subscript: val = eval_subscript(w, front, node); break;
    case PEL_BinOp: val = eval_binop(w, front, node); break;
    case PEL_UnaryOp: val = eval_unary(w, front, node); break;
    case PEL_Compare: val = eval_compare(w, front, node); break;
    case PEL_BoolOp: val = eval_boolop(w, front, node); break;
    case PEL_IfExp: val = eval_ifexp(w, front, node); break;
    case PEL_Tuple:
    case PEL_List:
    case PEL_Set: val = eval_sequence(w, front, node); break;
    case PEL_Dict: val = eval_dict(w, front, node); break;
    case PEL_Slice: val = eval_slice(w, front, node); break;
    case PEL_JoinedStr: val = eval_joined(w, front, node); break;
    case PEL_Call: val = pel_eval_call(w, front, node); break;
    case PEL_NamedExpr: val = eval_named(w, front, node); break;
    case PEL_Lambda: val = pel_eval_lambda(w, front, node); break;
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp:
    case PEL_GeneratorExp: val = pel_eval_comprehension(w, front, node); break;
    case PEL_Yield:
    case PEL_YieldFrom: val = eval_yield(w, front, node); break;
    default: pel_lost(w, node, "%s is not supported here", pel_kinds[node->kind].name);
    }
    w->depth--;
    return val;
}
