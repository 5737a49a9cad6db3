/* Groups the activations by function, and walks each group's tree with all its lanes until nothing new is learnt. */
#include "trace/lanes.h"

#include <stdio.h>

/* ---- failing ---- */

void pel_lost(pel_walk *w, const pel_node *node, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(w->ctx, PEL_E_INCOMPLETE, 0, node ? node->lineno : 0, node ? node->col_offset : 0, format, args);
}

bool pel_ran(const pel_synth *s, pel_id code) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->code == code) return true;
    return false;
}

/* ---- values ---- */

bool pel_live(const pel_synth *s, pel_id id) { return s->live[id]; }

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

bool pel_all_same(pel_walk *w, pel_front front, const pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!values[i] || (values[i] != values[0] && !pel_value_same(w->log, values[i], values[0]))) return false;
    return front.n > 0;
}

bool pel_dynamic(pel_walk *w, pel_front front, const pel_val *val) {
    if (val->taint) return true;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_live(w->s, val->at[i])) return true;
    return false;
}

bool pel_is_static_object(const pel_synth *s, pel_id id) {
    return pel_value_at(s->log, id)->kind == PEL_V_OBJECT && !s->live[id] && !pel_plain(s, id);
}

pel_id pel_self_of(const pel_walk *w, const pel_lane *lane) {
    const pel_activation *activation = &w->log->activations.at[lane->owner];
    const pel_group *group = w->group;
    if (!group->class || group->n_params == 0) return 0;
    pel_id id = activation->locals[group->params[0].local];
    const pel_value *value = pel_value_at(w->log, id);
    if (group->params[0].kind == PEL_PARAM_STAR_ITEM && value->kind == PEL_V_TUPLE && value->n)
        value = pel_value_at(w->log, value->items[0]);
    return value->kind == PEL_V_MODULE ? value->module : 0;
}

/* ---- records ---- */

const pel_activation *pel_lane_activation(const pel_walk *w, const pel_lane *lane) {
    return &w->log->activations.at[lane->activation];
}

const pel_insn *pel_insn_of(const pel_walk *w, const pel_record *record) {
    const pel_insn *insn = pel_author_insn(w->author, record);
    if (!insn) pel_throw(w->ctx, PEL_E_FORMAT, record->at, "a record lies between instructions");
    return insn;
}

const pel_position *pel_position_of(const pel_walk *w, const pel_record *record) {
    return &w->author->positions[pel_insn_of(w, record) - w->author->insns->at];
}

bool pel_is_conditional(uint16_t op) {
    switch (op) {
    case PEL_OP_JUMP_IF_FALSE_OR_POP:
    case PEL_OP_JUMP_IF_TRUE_OR_POP:
    case PEL_OP_POP_JUMP_BACKWARD_IF_FALSE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_FORWARD_IF_FALSE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_IF_FALSE:
    case PEL_OP_POP_JUMP_IF_NONE:
    case PEL_OP_POP_JUMP_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_IF_TRUE: return true;
    default: return false;
    }
}

/* Whether the jump is taken when the tested value is true; for the None tests: when it is not None. */
static bool jumps_if_true(uint16_t op) {
    switch (op) {
    case PEL_OP_JUMP_IF_TRUE_OR_POP:
    case PEL_OP_POP_JUMP_BACKWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_FORWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_IF_TRUE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_IF_NOT_NONE: return true;
    default: return false;
    }
}

/* Instructions that only move the stack or the program counter about. */
static bool is_bookkeeping(uint16_t op) {
    switch (op) {
    case PEL_OP_NOP:
    case PEL_OP_RESUME:
    case PEL_OP_EXTENDED_ARG:
    case PEL_OP_MAKE_CELL:
    case PEL_OP_COPY_FREE_VARS:
    case PEL_OP_PRECALL:
    case PEL_OP_KW_NAMES:
    case PEL_OP_PUSH_NULL:
    case PEL_OP_POP_TOP:
    case PEL_OP_JUMP_FORWARD:
    case PEL_OP_JUMP_BACKWARD:
    case PEL_OP_JUMP_BACKWARD_NO_INTERRUPT:
    case PEL_OP_JUMP_ABSOLUTE:
    case PEL_OP_GEN_START:
    case PEL_OP_RETURN_GENERATOR:
    case PEL_OP_POP_BLOCK:
    case PEL_OP_SWAP:
    case PEL_OP_COPY:
    case PEL_OP_DUP_TOP:
    case PEL_OP_ROT_TWO:
    case PEL_OP_ROT_THREE:
    case PEL_OP_ROT_FOUR:
    case PEL_OP_TO_BOOL:
    case PEL_OP_PUSH_EXC_INFO:
    case PEL_OP_POP_EXCEPT:
    case PEL_OP_END_FOR: return true;
    default: return false;
    }
}

const pel_record *pel_next_record(pel_walk *w, pel_lane *lane) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (; lane->at < lane->end; lane->at++) {
        const pel_record *record = &activation->records[lane->at];
        if (record->kind != PEL_R_STEP && record->kind != PEL_R_PUSH) return record;
        const pel_insn *insn = pel_insn_of(w, record);
        if (is_bookkeeping(insn->op)) continue;
        if (w->author->positions[insn - w->author->insns->at].line < 0) continue;
        return record;
    }
    return NULL;
}

bool pel_take_jump(pel_walk *w, pel_lane *lane, bool *truth) {
    const pel_record *record = pel_next_record(w, lane);
    if (!record || record->kind != PEL_R_STEP) return false;
    const pel_insn *insn = pel_insn_of(w, record);
    if (!pel_is_conditional(insn->op)) return false;
    const pel_activation *activation = pel_lane_activation(w, lane);
    uint32_t next = lane->at + 1;
    bool taken = next < activation->n_records &&
                 pel_insn_of(w, &activation->records[next]) == &w->author->insns->at[insn->target];
    /* a jump to the next instruction tells nothing; the compiler makes none */
    *truth = taken == jumps_if_true(insn->op);
    lane->at++;
    return true;
}

pel_front pel_front_new(pel_walk *w, uint32_t n) { return (pel_front){ pel_new_array(w->ctx, n + 1u, uint32_t), n }; }

/* ---- what is known of local names ---- */

pel_slot *pel_env_slot(pel_walk *w, pel_name name) {
    for (uint32_t i = 0; i < w->env.n; i++)
        if (w->env.at[i].name == name) return &w->env.at[i];
    pel_slot *moved = pel_new_array(w->ctx, w->env.n + 8u, pel_slot);
    if (w->env.n) memcpy(moved, w->env.at, w->env.n * sizeof *moved);
    w->env.at = moved;
    moved[w->env.n].name = name;
    return &moved[w->env.n++];
}

pel_env pel_env_copy(pel_walk *w, const pel_env *env) {
    pel_env copy = { pel_new_array(w->ctx, env->n + 8u, pel_slot), env->n };
    if (env->n) memcpy(copy.at, env->at, env->n * sizeof *env->at);
    return copy;
}

static const pel_slot *find_slot(const pel_env *env, pel_name name) {
    for (uint32_t i = 0; i < env->n; i++)
        if (env->at[i].name == name) return &env->at[i];
    return NULL;
}

static const pel_parts *join_parts(pel_walk *w, const pel_parts *a, const pel_parts *b) {
    if (a == b) return a;
    if (!a || !b || a->n != b->n || !a->keys != !b->keys) return NULL;
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ a->n, a->keys, pel_new_array(w->ctx, a->n + 1u, pel_val *) };
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->keys && a->keys[i] != b->keys[i]) return NULL;
        if (!pel_same(a->items[i]->text, b->items[i]->text)) return NULL;
        pel_val *item = pel_new(w->ctx, pel_val);
        *item = *a->items[i];
        item->taint = pel_taint_join(w->ctx, item->taint, b->items[i]->taint);
        if (!item->optional) item->optional = b->items[i]->optional;
        made->items[i] = item;
    }
    return made;
}

static bool same_parts(const pel_parts *a, const pel_parts *b) {
    if (a == b) return true;
    if (!a || !b || a->n != b->n || !a->keys != !b->keys) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if ((a->keys && a->keys[i] != b->keys[i]) || !pel_taint_same(a->items[i]->taint, b->items[i]->taint) ||
            !pel_same(a->items[i]->text, b->items[i]->text))
            return false;
    return true;
}

void pel_env_join(pel_walk *w, pel_env *into, const pel_env *from) {
    pel_env saved = w->env, with = *from; /* from may be the walk's own */
    w->env = *into;
    for (uint32_t i = 0; i < with.n; i++) {
        bool known = find_slot(&w->env, with.at[i].name) != NULL;
        pel_slot *slot = pel_env_slot(w, with.at[i].name);
        slot->taint = pel_taint_join(w->ctx, slot->taint, with.at[i].taint);
        if (!known) {
            slot->parts = with.at[i].parts;
            slot->own = with.at[i].own;
        } else {
            slot->parts = join_parts(w, slot->parts, with.at[i].parts);
            slot->own &= with.at[i].own;
        }
        slot->gone |= with.at[i].gone;
        slot->varies |= with.at[i].varies;
        if (!known || slot->level > with.at[i].level) slot->level = with.at[i].level;
    }
    for (uint32_t i = 0; i < w->env.n; i++)
        if (!find_slot(&with, w->env.at[i].name)) w->env.at[i].parts = NULL;
    *into = w->env;
    if (into != &w->env) w->env = saved;
}

static void taint_name(pel_walk *w, const pel_node *target) {
    switch (target->kind) {
    case PEL_Name: pel_env_slot(w, target->Name.id)->taint = &pel_tainted; break;
    case PEL_Starred: taint_name(w, target->Starred.value); break;
    case PEL_Subscript: taint_name(w, target->Subscript.value); break;
    case PEL_Tuple:
    case PEL_List:
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) taint_name(w, target->Tuple.elts.at[i]);
        break;
    default: break;
    }
}

static void taint_stores(void *arg, pel_node **slot) {
    pel_walk *w = arg;
    pel_node *node = *slot;
    switch (node->kind) {
    case PEL_Assign:
        for (uint32_t i = 0; i < node->Assign.targets.n; i++) taint_name(w, node->Assign.targets.at[i]);
        break;
    case PEL_AugAssign: taint_name(w, node->AugAssign.target); break;
    case PEL_For: taint_name(w, node->For.target); break;
    case PEL_NamedExpr: taint_name(w, node->NamedExpr.target); break;
    case PEL_Expr: /* lst.append(x) */
        if (node->Expr.value->kind == PEL_Call && node->Expr.value->Call.func->kind == PEL_Attribute)
            taint_name(w, node->Expr.value->Call.func->Attribute.value);
        break;
    case PEL_FunctionDef:
    case PEL_Lambda: return;
    default: break;
    }
    pel_each_child(node, taint_stores, w);
}

void pel_taint_stored(pel_walk *w, pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++) taint_stores(w, &body.at[i]);
}

bool pel_env_same(const pel_env *a, const pel_env *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const pel_slot *other = find_slot(b, a->at[i].name);
        if (!other || !pel_taint_same(other->taint, a->at[i].taint) || !same_parts(other->parts, a->at[i].parts) ||
            other->own != a->at[i].own)
            return false;
    }
    return true;
}

/* ---- one function ---- */

pel_id pel_argument(const pel_log *log, pel_id activation, const pel_param *param) {
    pel_id id = log->activations.at[activation].locals[param->local];
    const pel_value *whole = pel_value_at(log, id);
    if (param->kind == PEL_PARAM_PLAIN) return id;
    if (param->kind == PEL_PARAM_STAR_ITEM) return param->item < whole->n ? whole->items[param->item] : 0;
    return pel_item_named(log, whole, param->key);
}

static void enter(pel_walk *w, pel_front front) {
    pel_group *group = w->group;
    const pel_code_object *code = w->log->codes.at[group->code].code;
    PEL_VEC(pel_val *) star = { 0 }, keys = { 0 };
    PEL_VEC(pel_name) key_names = { 0 };
    for (uint32_t p = 0; p < group->n_params; p++) {
        pel_param *param = &group->params[p];
        pel_val *item = pel_val_new(w, front, pel_make_name(w->ctx, param->name, PEL_Load));
        item->taint = param->taint;
        if (param->optional) item->optional = param;
        for (uint32_t i = 0; i < front.n; i++)
            item->at[i] = pel_argument(w->log, pel_lane_at(w, front, i)->activation, param);
        pel_slot *bound = pel_env_slot(w, param->name);
        bound->taint = param->taint;
        pel_bind_lanes(w, front, bound, item->at);
        if (param->kind == PEL_PARAM_PLAIN) continue;
        if (param->kind == PEL_PARAM_STAR_ITEM) {
            pel_push(w->ctx, &star, item);
        } else {
            pel_push(w->ctx, &keys, item);
            pel_push(w->ctx, &key_names, param->key);
        }
    }
    uint32_t next = code->argcount + code->kwonlyargcount;
    if (code->flags & PEL_CO_VARARGS) {
        pel_parts *parts = pel_new(w->ctx, pel_parts);
        *parts = (pel_parts){ star.n, NULL, star.at };
        pel_slot *slot = pel_env_slot(w, code->varnames.at[next++]);
        slot->parts = parts;
        slot->gone = true;
    }
    if (code->flags & PEL_CO_VARKEYWORDS) {
        pel_parts *parts = pel_new(w->ctx, pel_parts);
        *parts = (pel_parts){ keys.n, key_names.at ? key_names.at : pel_new_array(w->ctx, 1, pel_name), keys.at };
        pel_slot *slot = pel_env_slot(w, code->varnames.at[next++]);
        slot->parts = parts;
        slot->gone = true;
    }
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        uint64_t key = pel_key2(group->code, PEL_KEY(code->freevars.at[i]));
        pel_slot *slot = pel_env_slot(w, code->freevars.at[i]);
        slot->taint = pel_map_pointer(&w->s->cell_taint, key);
    }
}

/* *args that a function inside of this one reads: it must be there under its own name. */
static void bind_captured(pel_walk *w) {
    const pel_code_object *code = w->log->codes.at[w->group->code].code;
    for (uint32_t i = 0; i < code->cellvars.n; i++) {
        pel_slot *slot = pel_env_slot(w, code->cellvars.at[i]);
        if (!slot->gone) continue;
        pel_node *whole = pel_parts_text(w, slot->parts);
        pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, pel_make_name(w->ctx, slot->name, PEL_Store), whole));
        slot->gone = false;
    }
}

static void walk_function(pel_ctx *ctx, void *arg) {
    pel_walk *w = arg;
    pel_group *group = w->group;
    pel_node *node = group->author->node;
    pel_front front = pel_front_new(w, group->n_lanes);
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_activation *activation = &w->log->activations.at[group->lanes[i]];
        front.at[i] = w->lanes.n;
        pel_push(ctx, &w->lanes,
                 ((pel_lane){ group->lanes[i], group->lanes[i], 0, activation->n_records, PEL_LANE_RUNS }));
    }
    w->level = group->chosen;
    enter(w, front);
    pel_nodes body = { 0 };
    w->out = &body;
    bind_captured(w);
    if (node->kind == PEL_Lambda) {
        pel_val *val = pel_eval(w, front, node->Lambda.body);
        w->result = val->taint;
        w->effect |= val->effect;
        pel_nodes_push(ctx, &body, pel_make_return(ctx, val->text));
    } else {
        pel_front rest = pel_walk_body(w, front, node->FunctionDef.body);
        group->falls_off = rest.n > 0;
        for (uint32_t i = 0; i < rest.n; i++) {
            pel_lane *lane = pel_lane_at(w, rest, i);
            const pel_record *record = pel_next_record(w, lane);
            /* an implicit `return None` has the position of the last statement */
            while (record && record->kind == PEL_R_PUSH && pel_insn_of(w, record)->op == PEL_OP_LOAD_CONST) {
                lane->at++;
                record = pel_next_record(w, lane);
            }
            if (record && record->kind != PEL_R_RETURN)
                pel_lost(w, w->now, "the walk ends before the log of activation %u does", lane->activation);
        }
    }
    group->body = body;
    if (pel_taint_grow(ctx, &group->result_taint, w->result)) w->s->changed = true;
    if (w->effect && !group->has_effect) {
        group->has_effect = true;
        w->s->changed = true;
    }
}

static void walk_group(pel_synth *s, pel_group *group) {
    pel_walk w = { .ctx = s->ctx, .s = s, .log = s->log, .group = group, .author = group->author };
    pel_err err;
    group->why = NULL;
    if (pel_map_has(&s->program->straight, group->code)) {
        pel_walk_straight(s, group);
        if (!group->why) pel_insert_hooks(s, group);
    } else if (!group->author->node) {
        group->why = group->author->why;
        group->why_line = s->log->codes.at[group->code].code->firstlineno;
    } else if (!pel_attempt(s->ctx, walk_function, &w, &err)) {
        group->why = pel_format(s->ctx, "%s", err.what).ptr;
        group->why_line = err.line;
    } else {
        pel_insert_hooks(s, group);
    }
}

/* ---- grouping ---- */

static const pel_value *first_argument(const pel_log *log, const pel_activation *activation) {
    const pel_code_object *code = log->codes.at[activation->code].code;
    if (code->argcount > 0) return pel_value_at(log, activation->locals[0]);
    if (code->flags & PEL_CO_VARARGS) {
        const pel_value *star = pel_value_at(log, activation->locals[code->kwonlyargcount]);
        if (star->kind == PEL_V_TUPLE && star->n) return pel_value_at(log, star->items[0]);
    }
    return NULL;
}

/* Whether a function keeps a method in a cell: what a decorator made of it, whatever it calls its first parameter. */
static bool wraps_method(const pel_log *log, const pel_activation *activation) {
    const pel_code_object *code = log->codes.at[activation->code].code;
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        const pel_value *cell = pel_value_at(log, activation->cells[code->cellvars.n + i]);
        if (cell->kind == PEL_V_FUNCTION && log->codes.at[cell->code].class) return true;
    }
    return false;
}

/* The class that a function is a method of in this activation, or 0. */
static pel_id class_of_self(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_hook *hook = pel_map_pointer(&s->hook_of, id);
    if (hook && !hook->first) return 0; /* a function, whatever its first parameter is called */
    const pel_log_code *row = &s->log->codes.at[activation->code];
    const pel_value *first = first_argument(s->log, activation);
    if (!first) return 0;
    bool named_self = row->code->argcount > 0 && pel_name_is(row->code->varnames.at[0], "self");
    bool wraps = (row->code->flags & PEL_CO_NESTED) &&
                 (row->code->argcount == 0 || (!named_self && wraps_method(s->log, activation)));
    if (!row->class && !named_self && !wraps && !pel_map_has(&s->owner_of, id)) return 0;
    if (first->kind == PEL_V_MODULE) return pel_module_at(s->log, first->module)->class;
    bool instance = first->kind == PEL_V_OBJECT || first->kind == PEL_V_DICT || first->kind == PEL_V_LIST ||
                    first->kind == PEL_V_TUPLE || first->kind == PEL_V_SET;
    return instance && !wraps ? first->class : 0;
}

bool pel_made_in_run(const pel_synth *s, const pel_author *author) {
    if (!author->node) return false;
    if (!author->within || author->within->kind == PEL_ClassDef) return false;
    for (pel_id id = 1; id < s->log->codes.n; id++)
        if (s->authors[id].node == author->within) return true;
    return false;
}

static uint64_t key_of(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    uint64_t key = pel_key2(1, activation->code);
    if (pel_made_in_run(s, &s->authors[activation->code])) return key;
    key = pel_key2(key, class_of_self(s, id));
    bool wraps = false; /* wrappers: one for each function that they wrap */
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        pel_id id_of_cell = activation->cells[code->cellvars.n + i];
        const pel_value *cell = pel_value_at(s->log, id_of_cell);
        if (pel_map_has(&s->hook_of, id) && pel_plain(s, id_of_cell))
            key = pel_key2(key, id_of_cell); /* one per text */
        if (cell->kind != PEL_V_FUNCTION) continue;
        key = pel_key2(key, cell->code);
        wraps = true;
    }
    uint32_t next = code->argcount + code->kwonlyargcount;
    if (code->flags & PEL_CO_VARARGS) key = pel_key2(key, pel_value_at(s->log, activation->locals[next++])->n);
    if (code->flags & PEL_CO_VARKEYWORDS && wraps) { /* others get the keys of all calls as parameters */
        const pel_value *dict = pel_value_at(s->log, activation->locals[next]);
        uint64_t sum = 0; /* the order of the keys does not matter */
        for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
            const pel_value *name = pel_value_at(s->log, dict->items[i]);
            if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR)
                sum += pel_hash(name->constant->text.ptr, name->constant->text.len);
        }
        key = pel_key2(key, sum);
    }
    return pel_key2(key, pel_map_find(&s->split, id, 0));
}

static pel_node *default_of(const pel_node *args, uint32_t index) {
    uint32_t plain = args->arguments.posonlyargs.n + args->arguments.args.n, first = plain - args->arguments.defaults.n;
    if (index < plain) return index >= first ? args->arguments.defaults.at[index - first] : NULL;
    return args->arguments.kw_defaults.at[index - plain];
}

pel_name pel_free_name(pel_synth *s, const pel_code_object *code, pel_name key) {
    bool taken = false;
    for (uint32_t i = 0; i < code->localsplus.n; i++) taken |= code->localsplus.at[i] == key;
    if (!taken) return key;
    pel_str text = pel_format(s->ctx, "%s_", key->text);
    return pel_intern_str(s->ctx, text);
}

typedef PEL_VEC(pel_param) param_list;

static const pel_node *arguments_of(const pel_node *function) {
    if (!function) return NULL;
    if (function->kind == PEL_Lambda) return function->Lambda.args;
    bool has_arguments = function->kind == PEL_FunctionDef || function->kind == PEL_AsyncFunctionDef;
    return has_arguments ? function->FunctionDef.args : NULL;
}

/* Each item of *args, which all calls have as many of; `local` is the variable that holds them. */
static void add_star_items(pel_synth *s, const pel_group *group, uint32_t local, param_list *params) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    pel_str star = pel_name_str(code->varnames.at[local]);
    uint32_t n = pel_value_at(s->log, s->log->activations.at[group->lanes[0]].locals[local])->n;
    for (uint32_t i = 0; i < n; i++) {
        pel_str text = pel_format(s->ctx, "%s_%u", star.ptr, i);
        if (i == 0 && group->class && code->argcount == 0)
            text = PEL_STR("self");
        else if (n == 1 && star.len > 1)
            text = pel_str_cut(star, 0, star.len - (star.ptr[star.len - 1] == 's'));
        pel_push(s->ctx, params,
                 ((pel_param){
                     .name = pel_intern_str(s->ctx, text), .local = local, .kind = PEL_PARAM_STAR_ITEM, .item = i }));
    }
}

/* Each key of **kwargs that any call passes. */
static void add_keys(pel_synth *s, const pel_group *group, uint32_t local, param_list *params) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    pel_map count = { 0 }; /* key -> calls that pass it */
    uint32_t first = params->n;
    for (uint32_t l = 0; l < group->n_lanes; l++) {
        const pel_value *dict = pel_value_at(s->log, s->log->activations.at[group->lanes[l]].locals[local]);
        for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
            const pel_value *text = pel_value_at(s->log, dict->items[i]);
            if (text->kind != PEL_V_CONST || text->constant->kind != PEL_CONST_STR) continue;
            pel_name key = pel_intern_str(s->ctx, text->constant->text);
            uint64_t before = pel_map_find(&count, PEL_KEY(key), 0);
            pel_map_set(s->ctx, &count, PEL_KEY(key), before + 1);
            if (before) continue;
            pel_push(s->ctx, params,
                     ((pel_param){ .name = pel_free_name(s, code, key),
                                   .local = local,
                                   .kind = PEL_PARAM_KEY_ITEM,
                                   .key = key,
                                   .keyword_only = true }));
        }
    }
    for (uint32_t p = first; p < params->n; p++)
        params->at[p].optional = pel_map_find(&count, PEL_KEY(params->at[p].key), 0) < group->n_lanes;
}

static void make_params(pel_synth *s, pel_group *group) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    const pel_node *args = arguments_of(group->author->node);
    param_list params = { 0 };
    uint32_t n_plain = code->argcount + code->kwonlyargcount;
    for (uint32_t i = 0; i < n_plain; i++) {
        pel_node *fallback = args ? default_of(args, i) : NULL;
        pel_push(s->ctx, &params,
                 ((pel_param){ .name = code->varnames.at[i],
                               .local = i,
                               .keyword_only = i >= code->argcount,
                               .fallback = fallback,
                               .author_default = fallback }));
    }
    bool has_star = code->flags & PEL_CO_VARARGS;
    if (has_star) add_star_items(s, group, n_plain, &params);
    if (code->flags & PEL_CO_VARKEYWORDS) add_keys(s, group, n_plain + has_star, &params);
    group->params = params.at;
    group->n_params = params.n;
}

bool pel_runs_module(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    const pel_value *self = first_argument(s->log, activation);
    bool is_forward =
        pel_name_is(code->name, "forward") || (code->flags & PEL_CO_NESTED) || pel_map_has(&s->owner_of, id);
    return !activation->direct && is_forward && class_of_self(s, id) && self && self->kind == PEL_V_MODULE &&
           pel_module_at(s->log, self->module)->in_tree;
}

/* Activations that a straight line above them tells. */
static bool *find_told(pel_synth *s) {
    const pel_log *log = s->log;
    uint8_t *level = pel_new_array(s->ctx, log->activations.n, uint8_t); /* of the line that an activation is in */
    bool *told = pel_new_array(s->ctx, log->activations.n, bool);
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        uint8_t above = level[activation->parent];
        told[id] = above == PEL_STRAIGHT_FLAT || (above && !pel_runs_module(s, id));
        level[id] = told[id] ? above : (uint8_t)pel_map_find(&s->program->straight, activation->code, 0);
    }
    return told;
}

static void group_activations(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map by_key = { 0 };
    const bool *told = find_told(s);
    s->groups.n = 0;
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_author *author = &s->authors[activation->code];
        s->group_of[id] = NULL;
        if (told[id]) continue;
        bool comprehension = author->node && author->node->kind != PEL_FunctionDef &&
                             author->node->kind != PEL_AsyncFunctionDef && author->node->kind != PEL_Lambda;
        if (comprehension) continue; /* part of the function around it */
        if (activation->run < log->runs.n && !log->runs.at[activation->run].result) continue; /* the run failed */
        uint64_t key = key_of(s, id), number;
        if (!pel_map_get(&by_key, key, &number)) {
            pel_group *group = pel_new(s->ctx, pel_group);
            number = s->groups.n;
            pel_map_set(s->ctx, &by_key, key, number);
            *group = (pel_group){ .number = (uint32_t)number, .code = activation->code, .author = author };
            group->in_place = pel_made_in_run(s, author);
            if (!group->in_place) group->class = class_of_self(s, id);
            /* callers may pass an object whose methods are the author's */
            group->pinned = group->class && pel_map_has(&s->given, pel_given_class(group->class)) &&
                            !pel_name_is(log->codes.at[activation->code].code->name, "__init__");
            group->is_init = group->class && pel_name_is(log->codes.at[group->code].code->name, "__init__");
            group->is_generator = (log->codes.at[group->code].code->flags & PEL_CO_GENERATOR) != 0;
            pel_push(s->ctx, &s->groups, group);
        }
        pel_group *group = s->groups.at[number];
        s->group_of[id] = group;
        if (group->n_lanes == group->cap_lanes)
            group->lanes = pel_grow(s->ctx, group->lanes, group->n_lanes, &group->cap_lanes, sizeof *group->lanes);
        group->lanes[group->n_lanes++] = id;
        for (uint32_t r = 0; r < log->runs.n; r++)
            if (log->runs.at[r].activation == id) group->is_root = true;
    }
    for (uint32_t i = 0; i < s->groups.n; i++) make_params(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->is_root) pel_mark_given(s, s->groups.at[i]);
}

#define ROUNDS 40
#define SPLITS 100

/* Walks all functions until nothing new is learnt. */
static void settle(pel_synth *s, uint32_t *splits) {
    uint32_t round = 0;
    do {
        if (s->regroup && ++*splits > SPLITS) pel_throw(s->ctx, PEL_E_TOO_BIG, 0, "functions split without end");
        if (s->regroup) {
            group_activations(s);
            round = 0;
        }
        if (++round > ROUNDS)
            pel_throw(s->ctx, PEL_E_TOO_BIG, 0, "the taint of %u functions does not settle", s->groups.n);
        s->changed = s->regroup = false;
        s->links.n = 0;
        s->references.n = 0;
        s->program->held = (pel_map){ 0 };
        s->helpers.n = 0;
        s->link_of = (pel_map){ 0 };
        memset(s->linked, 0, s->log->activations.n * sizeof *s->linked);
        for (uint32_t i = 0; i < s->program->classes.n; i++) s->program->classes.at[i]->needs.n = 0;
        for (uint32_t i = 0; i < s->groups.n; i++) walk_group(s, s->groups.at[i]);
    } while (s->changed || s->regroup);
}

void pel_lanes(pel_ctx *ctx, pel_program *program) {
    const pel_log *log = program->log;
    pel_synth *s = pel_new(ctx, pel_synth);
    *s = (pel_synth){ .ctx = ctx, .log = log, .program = program };
    s->authors = program->authors = pel_align(ctx, log);
    pel_lift_closures(s);
    log = s->log;
    s->group_of = pel_new_array(ctx, log->activations.n, pel_group *);
    s->linked = pel_new_array(ctx, log->activations.n, bool);
    s->live = pel_new_array(ctx, log->values.n, bool);
    for (uint32_t r = 0; r < log->runs.n; r++) {
        s->trained |= log->runs.at[r].training;
        s->evaluated |= !log->runs.at[r].training;
    }
    pel_find_live(s);
    pel_find_hooks(s);
    uint32_t splits = 0;
    s->regroup = true;
    for (;;) {
        settle(s, &splits);
        if (pel_link_all(s)) return;
        program->functions.n = program->classes.n = program->remarks.n = program->globals.n = 0;
        program->hooked = (pel_map){ 0 };
        s->regroup = true;
    }
}
