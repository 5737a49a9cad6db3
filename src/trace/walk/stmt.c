/* Statements: which of them stay, and which lanes go on behind them. */
#include "trace/walk/stmt.h"

void pel_write_statement(pel_walk *w, pel_node *statement) { pel_nodes_push(w->ctx, w->out, statement); }

pel_front pel_running(pel_walk *w, pel_front front) {
    pel_front rest = pel_front_new(w, front.n);
    rest.n = 0;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_lane_at(w, front, i)->state == PEL_LANE_RUNS) rest.at[rest.n++] = front.at[i];
    return rest;
}

void pel_stop_lanes(pel_walk *w, pel_front front, pel_lane_state state) {
    for (uint32_t i = 0; i < front.n; i++) pel_lane_at(w, front, i)->state = state;
}

pel_front pel_walk_body(pel_walk *w, pel_front front, pel_nodes body) {
    for (uint32_t i = 0; i < body.n && front.n; i++) front = pel_walk_statement(w, front, body.at[i]);
    return front;
}

void pel_skip(pel_walk *w, pel_front front, const pel_node *node) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN && record->kind != PEL_R_RAISE &&
               pel_inside(pel_position_of(w, record), node)) {
            if (record->kind == PEL_R_CHILD) w->s->calls.linked[record->value] = true;
            lane->at++;
        }
    }
}

pel_nodes pel_walk_side(pel_walk *w, pel_front front, pel_nodes body, pel_front *rest) {
    pel_nodes written = { 0 }, *outer = w->out;
    w->out = &written;
    *rest = pel_walk_body(w, front, body);
    w->out = outer;
    return written;
}

/* ---- simple statements ---- */

/* Puts something into a list, dict or set that the function made itself: that concerns no caller. */
static bool fills_own_container(pel_walk *w, const pel_node *author, const pel_node *text) {
    if (author->kind != PEL_Call || author->Call.func->kind != PEL_Attribute || text->kind != PEL_Call ||
        author->Call.func->Attribute.value->kind != PEL_Name || pel_link_at(w->s, text) ||
        !pel_env_slot(w, author->Call.func->Attribute.value->Name.id)->own)
        return false;
    for (uint32_t i = 0; i < text->Call.args.n; i++)
        if (!pel_pure(w->s, text->Call.args.at[i])) return false;
    for (uint32_t i = 0; i < text->Call.keywords.n; i++)
        if (!pel_pure(w->s, text->Call.keywords.at[i]->keyword.value)) return false;
    return true;
}

/* Behind a yield: generators that nobody asked for more. Their log ends there, or with the exit that closed them, and
 * what would have come is not known. */
static pel_front leave_abandoned(pel_walk *w, pel_front front) {
    bool any = false;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, lane);
        bool closed = lane->at + 1 == activation->n_records && activation->records[lane->at].kind == PEL_R_RAISE;
        if (lane->at < activation->n_records && !closed) continue;
        lane->state = PEL_LANE_LEFT;
        any = true;
    }
    for (pel_lane_loop *loop = w->loop; any && loop; loop = loop->outer) loop->left_by_data = true;
    pel_front rest = pel_running(w, front);
    if (!rest.n) pel_write_statement(w, pel_stub_body(w->ctx).at[0]);
    return rest;
}

static pel_front walk_expr(pel_walk *w, pel_front front, pel_node *node) {
    if (node->Expr.value->kind == PEL_Constant) return front; /* docstrings leave no instruction */
    pel_val *val = pel_eval(w, front, node->Expr.value);
    bool may_raise =
        w->tried && pel_dynamic(w, front, val) &&
        (val->text->kind == PEL_Subscript || val->text->kind == PEL_BinOp || val->text->kind == PEL_Compare);
    if (val->effect || may_raise) {
        if (!fills_own_container(w, node->Expr.value, val->text)) w->effect = true;
        pel_node *text = pel_shallow(w, node);
        text->Expr.value = val->text;
        pel_write_statement(w, text);
    }
    return node->Expr.value->kind == PEL_Yield ? leave_abandoned(w, front) : front;
}

/* a, b = ...: takes so many items, or raises. */
static bool is_unpacking(const pel_node *target) {
    if (target->kind != PEL_Tuple) return false;
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (target->Tuple.elts.at[i]->kind == PEL_Starred) return false;
    return true;
}

static pel_front walk_assign(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_eval(w, front, node->Assign.value);
    w->effect |= val->effect;
    pel_node *text = pel_shallow(w, node);
    text->Assign.value = val->text;
    text->Assign.targets = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
        pel_node *target;
        const pel_taint *taint = val->spread && is_unpacking(node->Assign.targets.at[i]) ? val->spread : val->taint;
        pel_store(w, front, node->Assign.targets.at[i],
                  &(pel_lane_stored){ .taint = taint, .parts = val->parts, .value = val }, &target);
        if (target->kind == PEL_Name && pel_is_new_container(val->text)) pel_env_slot(w, target->Name.id)->own = true;
        if (target->kind == PEL_Name && val->at[0] && pel_is_constant(val->taint) && pel_all_same(w, front, val->at))
            pel_env_slot(w, target->Name.id)->is_size = pel_plain(w->s, val->at[0]) && pel_is_size(w, val->text);
        pel_nodes_push(w->ctx, &text->Assign.targets, target);
    }
    pel_write_statement(w, text);
    return front;
}

static pel_front walk_annotated(pel_walk *w, pel_front front, pel_node *node) {
    if (!node->AnnAssign.value) return front;
    pel_val *val = pel_eval(w, front, node->AnnAssign.value);
    w->effect |= val->effect;
    pel_node *target;
    pel_store(w, front, node->AnnAssign.target,
              &(pel_lane_stored){ .taint = val->taint, .parts = val->parts, .value = val }, &target);
    pel_node *text = pel_make_assign(w->ctx, target, val->text);
    text->lineno = node->lineno;
    pel_write_statement(w, text);
    return front;
}

static pel_front walk_augmented(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *target = node->AugAssign.target, *text = pel_shallow(w, node), *made = pel_shallow(w, target);
    pel_val *old = pel_eval(w, front, target);
    if (target->kind == PEL_Attribute && old->text->kind == PEL_Attribute)
        made->Attribute.value = old->text->Attribute.value;
    else if (target->kind == PEL_Subscript && old->text->kind == PEL_Subscript) {
        made->Subscript.value = old->text->Subscript.value;
        made->Subscript.slice = old->text->Subscript.slice;
    } else if (target->kind != PEL_Name)
        pel_lost(w, node, "this cannot be changed in place");
    pel_val *value = pel_eval(w, front, node->AugAssign.value);
    pel_id *results = pel_new_array(w->ctx, front.n + 1u, pel_id);
    pel_kids kids = { 0 };
    pel_own(w, front, node, target->kind == PEL_Name ? target : NULL, results, &kids);
    bool dynamic = pel_dynamic(w, front, old) || pel_dynamic(w, front, value), shows = true;
    for (uint32_t i = 0; i < front.n; i++) shows &= results[i] && pel_live(w->s, results[i]);
    const pel_taint *taint = !dynamic ? pel_constant(PEL_WHY_COMPUTED)
                             : shows  ? pel_constant(PEL_WHY_TENSOR)
                                      : &pel_tainted;
    w->effect |= value->effect || target->kind != PEL_Name || kids.n > 0;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, old->at[i])->kind;
        bool is_changed = kind == PEL_V_TENSOR || kind == PEL_V_LIST || kind == PEL_V_DICT || kind == PEL_V_SET;
        if (is_changed) { /* in place, whoever holds it */
            w->effect = true;
            pel_note_node(w->s, text, PEL_NOTE_EFFECT);
        }
    }
    pel_fill(w, front, target, old->at, pel_varies(value->taint));
    if (target->kind == PEL_Subscript && old->owner)
        pel_fill(w, front, target->Subscript.value, old->owner, pel_varies(taint));
    if (target->kind == PEL_Attribute && old->owner) pel_refuse_class_store(w, front, target, old->owner);
    if (target->kind == PEL_Attribute && old->owner)
        pel_tell_readers(w, front, target->Attribute.attr, old->owner, taint);
    if (target->kind == PEL_Name) {
        pel_node *ignored;
        pel_store(w, front, target, &(pel_lane_stored){ .taint = taint }, &ignored);
    } else if (target->kind == PEL_Subscript && pel_varies(taint) && target->Subscript.value->kind == PEL_Name) {
        pel_env_slot(w, target->Subscript.value->Name.id)->taint = &pel_tainted;
    }
    text->AugAssign.target = made;
    text->AugAssign.value = value->text;
    pel_write_statement(w, text);
    return front;
}

/* What runs between the value of a return statement and the return. */
static void walk_finally(pel_walk *w, pel_front front, const pel_node *node, pel_node *text) {
    const pel_finally *around = w->finally;
    pel_nodes *out = w->out, after = { 0 };
    w->out = &after;
    for (; w->finally; w->finally = w->finally->outer) {
        const pel_finally *inner = w->finally;
        w->finally = inner->outer;
        if (pel_walk_body(w, front, inner->body).n != front.n) pel_lost(w, node, "a finally leaves in its own way");
        w->finally = inner;
    }
    w->finally = around;
    w->out = out;
    if (!after.n) return;
    if (text->Return.value && text->Return.value->kind != PEL_Constant) { /* its value is that of before */
        const pel_code_object *code = w->log->codes.at[w->group->code].code;
        pel_name name = pel_free_name(w->s, code, pel_intern_c(w->ctx, "result"));
        pel_write_statement(w, pel_make_assign(w->ctx, pel_make_name(w->ctx, name, PEL_Store), text->Return.value));
        text->Return.value = pel_make_name(w->ctx, name, PEL_Load);
    }
    for (uint32_t i = 0; i < after.n; i++) pel_write_statement(w, after.at[i]);
}

static pel_front walk_return(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    if (node->Return.value) {
        pel_val *val = pel_eval(w, front, node->Return.value);
        w->effect |= val->effect;
        w->result = pel_taint_join(w->ctx, w->result, val->taint);
        text->Return.value = val->text;
    } else {
        w->result = pel_taint_join(w->ctx, w->result, pel_constant(PEL_WHY_LITERAL));
    }
    if (w->finally) walk_finally(w, front, node, text);
    pel_write_statement(w, text);
    pel_stop_lanes(w, front, PEL_LANE_LEFT);
    return pel_running(w, front);
}

/* del self.cache: constructors must have set it. */
static pel_node *deleted_from(pel_walk *w, pel_front front, const pel_node *target) {
    pel_val *base = pel_eval(w, front, target->Attribute.value);
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, base->at[i]);
        if (value->kind != PEL_V_MODULE) return base->text;
        modules[i] = value->module;
        if (pel_has_slot(pel_module_at(w->log, modules[i]), target->Attribute.attr))
            pel_lost(w, target, "a module, a parameter or a buffer is deleted");
    }
    pel_need(w, front, modules, target->Attribute.attr, NULL);
    return base->text;
}

/* del rows[n]: what is left depends on data if n does, and is known by name no more. */
static void take_item_out(pel_walk *w, pel_front front, const pel_node *holder, const pel_val *base, bool by_data) {
    pel_refuse_item_of_modules(w, front, holder, base->at);
    pel_fill(w, front, holder, base->at, by_data);
    if (holder->kind != PEL_Name) return;
    pel_slot *slot = pel_env_slot(w, holder->Name.id);
    if (slot->gone) pel_lost(w, holder, "a keyword argument is deleted");
    if (by_data) slot->taint = &pel_tainted;
    slot->parts = NULL;
}

/* A deleted name has no text, because no later statement reads it. Any other target gets a statement of its own: some
 * of the targets may be names. */
static pel_front walk_delete(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = 0; i < node->Delete.targets.n; i++) {
        pel_node *target = node->Delete.targets.at[i];
        if (target->kind == PEL_Name) {
            pel_skip(w, front, target);
            continue;
        }
        pel_node *made = pel_shallow(w, target);
        if (target->kind == PEL_Attribute)
            made->Attribute.value = deleted_from(w, front, target);
        else if (target->kind == PEL_Subscript) {
            pel_val *base = pel_eval(w, front, target->Subscript.value);
            pel_val *slice = pel_eval(w, front, target->Subscript.slice);
            made->Subscript.value = base->text;
            made->Subscript.slice = slice->text;
            take_item_out(w, front, target->Subscript.value, base, pel_dynamic(w, front, slice));
        } else
            pel_lost(w, node, "deleting %s is not supported", pel_kinds[target->kind].name);
        pel_skip(w, front, target);
        pel_node *text = pel_node_new(w->ctx, PEL_Delete);
        text->Delete.targets = pel_nodes_one(w->ctx, made);
        w->effect = true;
        pel_write_statement(w, text);
    }
    return front;
}

static pel_front walk_assert(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->Assert.test);
    for (uint32_t i = 0; i < front.n; i++)
        if (!test.truth[i]) pel_lost(w, node, "the assertion fails here");
    if (!test.dynamic || !test.text || test.lost) return front;
    pel_node *text = pel_shallow(w, node);
    text->Assert.test = test.text;
    if (node->Assert.msg && node->Assert.msg->kind != PEL_Constant) text->Assert.msg = NULL; /* was never evaluated */
    w->effect = true;
    pel_write_statement(w, text);
    return front;
}

static pel_front walk_import(pel_walk *w, pel_front front, pel_node *node) {
    pel_skip(w, front, node); /* what the names hold is written by its path wherever it is used */
    const pel_nodes names = node->kind == PEL_Import ? node->Import.names : node->ImportFrom.names;
    for (uint32_t i = 0; i < names.n; i++) {
        pel_name name = names.at[i]->alias.asname ? names.at[i]->alias.asname : names.at[i]->alias.name;
        const char *dot = strchr(name->text, '.'); /* import a.b binds a */
        if (dot) name = pel_intern(w->ctx, name->text, (size_t)(dot - name->text));
        pel_env_slot(w, name)->taint = pel_constant(PEL_WHY_LIBRARY);
    }
    return front;
}

/* @wraps(function) in a function: decorators stand before what they are called with, and are called after it is made.
 * What they give is taken for the function itself, which holds of the library's. */
static void apply_decorators(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = node->FunctionDef.decorator_list.n; i > 0; i--) {
        pel_kids kids = { 0 };
        pel_own(w, front, node->FunctionDef.decorator_list.at[i - 1], NULL, NULL, &kids);
        if (kids.n) pel_lost(w, node, "`%s` is decorated by a function of the author's", node->FunctionDef.name->text);
    }
    pel_skip(w, front, node);
}

static pel_front walk_nested(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = 0; i < node->FunctionDef.decorator_list.n; i++)
        pel_skip(w, front, node->FunctionDef.decorator_list.at[i]);
    pel_eval_defaults(w, front, node, node->FunctionDef.args);
    pel_skip(w, front, node);
    apply_decorators(w, front, node);
    bool ran = false;
    for (pel_id code = 1; code < w->log->codes.n; code++) {
        if (w->s->authors[code].node != node || !pel_ran(w->s, code)) continue;
        ran = true;
        pel_node *text = pel_node_new(w->ctx, PEL_FunctionDef);
        text->FunctionDef.name = node->FunctionDef.name;
        text->FunctionDef.args = pel_node_new(w->ctx, PEL_arguments);
        text->lineno = node->lineno;
        pel_push(w->ctx, &w->s->references, ((pel_reference){ text, code, NULL, false }));
        pel_write_statement(w, text);
    }
    if (!ran) pel_write_statement(w, pel_stub_def(w->ctx, node));
    pel_slot *slot = pel_env_slot(w, node->FunctionDef.name);
    slot->taint = pel_constant(PEL_WHY_MADE);
    slot->parts = NULL;
    return front;
}

/* ---- if ---- */

pel_sides pel_part(pel_walk *w, pel_front front, const bool *truth) {
    pel_sides s = { pel_front_new(w, front.n), pel_front_new(w, front.n) };
    s.yes.n = s.no.n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        if (truth[i])
            s.yes.at[s.yes.n++] = front.at[i];
        else
            s.no.at[s.no.n++] = front.at[i];
    }
    return s;
}

pel_front pel_both(pel_walk *w, pel_front a, pel_front b) {
    pel_front all = pel_front_new(w, a.n + b.n);
    /* in the order of the lanes, so that the first lane stays the first */
    for (uint32_t i = 0, k = 0, n = 0; n < all.n; n++)
        all.at[n] = k >= b.n || (i < a.n && a.at[i] < b.at[k]) ? a.at[i++] : b.at[k++];
    return all;
}

/* What the author says when the other side is a mere `raise`. */
static const char *own_message(pel_walk *w, pel_nodes body) {
    if (body.n == 0 || body.at[body.n - 1]->kind != PEL_Raise) return NULL;
    const pel_node *exc = body.at[body.n - 1]->Raise.exc;
    if (!exc || exc->kind != PEL_Call || exc->Call.args.n == 0) return NULL;
    const pel_node *arg = exc->Call.args.at[0];
    if (arg->kind != PEL_Constant || arg->Constant.value->kind != PEL_CONST_STR) return NULL;
    return pel_format(w->ctx, "%.*s", PEL_FMT(arg->Constant.value->text)).ptr;
}

/* Lanes that a test on data made leave a loop, or the function: the rounds, or the calls, could have been more. */
void pel_note_exits(pel_walk *w, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane_state state = pel_lane_at(w, front, i)->state;
        if (state == PEL_LANE_BROKE && w->loop) w->loop->left_by_data = true;
        if (state == PEL_LANE_CONTINUED && w->loop) w->loop->skips_by_data = true;
        if (state != PEL_LANE_LEFT) continue;
        for (pel_lane_loop *loop = w->loop; loop; loop = loop->outer) loop->left_by_data = true;
        if (!w->group->facts.left_by_data) w->s->facts.changed = w->group->facts.left_by_data = true;
    }
}

static pel_front walk_if(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->If.test);
    pel_sides s = pel_part(w, front, test.truth);
    w->effect |= test.effect;
    if (s.yes.n == 0 || s.no.n == 0) {
        bool yes = s.yes.n > 0;
        if (test.dynamic && test.text) {
            const char *message = own_message(w, yes ? node->If.orelse : node->If.body);
            pel_guard(w, node, test.text, yes, message ? message : "path not recorded");
        } else if (test.effect && test.text) {
            pel_write_statement(w, pel_make_expr(w->ctx, test.text));
        }
        return pel_walk_body(w, front, yes ? node->If.body : node->If.orelse);
    }
    pel_env before = pel_env_copy(w, &w->env);
    pel_node *text = pel_shallow(w, node);
    text->If.test = test.text;
    pel_front rest_yes, rest_no;
    uint32_t inside = w->level + test.dynamic;
    w->level = inside;
    text->If.body = pel_walk_side(w, s.yes, node->If.body, &rest_yes);
    pel_env after = w->env;
    uint32_t left_yes = w->level - inside; /* data made lanes leave the function there, or the round */
    w->env = before;
    w->level = inside;
    text->If.orelse = pel_walk_side(w, s.no, node->If.orelse, &rest_no);
    w->level += left_yes;
    if (test.dynamic && rest_yes.n + rest_no.n == front.n) w->level--; /* all are here again */
    if (rest_no.n == 0)
        w->env = after;
    else if (rest_yes.n)
        pel_env_join(w, &w->env, &after);
    if (test.dynamic) {
        pel_taint_stored(w, text->If.body);
        pel_taint_stored(w, text->If.orelse);
        pel_note_exits(w, front);
    }
    pel_write_statement(w, text);
    return pel_both(w, rest_yes, rest_no);
}

/* ---- all kinds ---- */

#define MAX_DEPTH 200

/* A kind without a rule loses the whole function: half a text would be a wrong one. Each rule must eat all records of
 * its statement, or the next one takes them for its own. Declared names are an effect, as they outlive the call. */
pel_front pel_walk_statement(pel_walk *w, pel_front front, pel_node *node) {
    if (++w->depth > MAX_DEPTH) pel_lost(w, node, "statements nest too deep");
    w->now = node;
    switch (node->kind) {
    case PEL_Expr: front = walk_expr(w, front, node); break;
    case PEL_Assign: front = walk_assign(w, front, node); break;
    case PEL_AnnAssign: front = walk_annotated(w, front, node); break;
    case PEL_AugAssign: front = walk_augmented(w, front, node); break;
    case PEL_Return: front = walk_return(w, front, node); break;
    case PEL_Delete: front = walk_delete(w, front, node); break;
    case PEL_Assert: front = walk_assert(w, front, node); break;
    case PEL_Import:
    case PEL_ImportFrom: front = walk_import(w, front, node); break;
    case PEL_FunctionDef: front = walk_nested(w, front, node); break;
    case PEL_If: front = walk_if(w, front, node); break;
    case PEL_For: front = pel_walk_for(w, front, node); break;
    case PEL_While: front = pel_walk_while(w, front, node); break;
    case PEL_Break:
    case PEL_Continue: front = pel_walk_jump(w, front, node); break;
    case PEL_With: front = pel_walk_with(w, front, node); break;
    case PEL_Try: front = pel_walk_try(w, front, node); break;
    case PEL_Match: front = pel_walk_match(w, front, node); break;
    case PEL_Pass: pel_skip(w, front, node); break; /* it leaves an instruction where another statement begins */
    case PEL_Nonlocal:
        if (!w->group->is.nested) pel_lost(w, node, "it binds a variable of a closure that was made before the run");
        w->effect = true;
        pel_write_statement(w, pel_shallow(w, node));
        break;
    case PEL_Global:
        w->effect = true;
        pel_write_statement(w, pel_shallow(w, node));
        break;
    case PEL_Raise: pel_lost(w, node, "an exception is raised here");
    default: pel_lost(w, node, "%s is not supported", pel_kinds[node->kind].name);
    }
    w->depth--;
    return front;
}
