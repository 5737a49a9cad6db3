/* Annotations that are computed when somebody asks for them: since 3.14 a function `__annotate__` beside each function,
 * class or module that has some.
 *
 * The normaliser brings its body to the form of statements that store in `__annotations__`, each of them under a test
 * of
 * `__conditional_annotations__` where the annotation is in a nested block. Those statements are read and checked
 * like all others, taken apart here, and written where they were: with the arguments of a function, at the statement
 * that adds its number, or, where nothing tells the place, at the first store of the name after the one before. */
#include "decompile/lift.h"

/* ---- reading ---- */

static bool is_name(const pel_node *e, const char *name) {
    return e->kind == PEL_Name && pel_name_is(e->Name.id, name);
}

static const pel_const *constant_of(const pel_node *e, pel_const_kind kind) {
    return e->kind == PEL_Constant && e->Constant.value->kind == kind ? e->Constant.value : NULL;
}

static _Noreturn void fail(pel_lift *l) { pel_lift_fail(l, 0, "annotations of unknown shape"); }

static void add(pel_lift *l, pel_late_notes *notes, int64_t index, const pel_node *key, pel_node *value) {
    const pel_const *text = key ? constant_of(key, PEL_CONST_STR) : NULL;
    if (!text) fail(l);
    pel_forget_marks(value);
    pel_late_note note = { .index = index, .name = pel_intern_str(l->ctx, text->text), .value = value };
    pel_push(l->ctx, notes, note);
}

/* __annotations__[name] = value */
static void take_store(pel_lift *l, pel_late_notes *notes, int64_t index, const pel_node *stmt) {
    if (stmt->kind != PEL_Assign || stmt->Assign.targets.n != 1) fail(l);
    const pel_node *target = stmt->Assign.targets.at[0];
    if (target->kind != PEL_Subscript || !is_name(target->Subscript.value, "__annotations__")) fail(l);
    add(l, notes, index, target->Subscript.slice, stmt->Assign.value);
}

/* if index in __conditional_annotations__: ... */
static bool is_conditional(const pel_node *stmt, int64_t *index) {
    if (stmt->kind != PEL_If || stmt->If.orelse.n || stmt->If.body.n != 1) return false;
    const pel_node *asked = stmt->If.test;
    if (asked->kind != PEL_Compare || asked->Compare.ops.n != 1 || asked->Compare.ops.at[0] != PEL_In) return false;
    const pel_const *number = constant_of(asked->Compare.left, PEL_CONST_INT);
    if (!number || !is_name(asked->Compare.comparators.at[0], "__conditional_annotations__")) return false;
    *index = number->integer.small;
    return true;
}

/* if format > 2: raise NotImplementedError */
static bool refuses_format(const pel_node *stmt) {
    return stmt->kind == PEL_If && stmt->If.body.n == 1 && stmt->If.body.at[0]->kind == PEL_Raise &&
           stmt->If.test->kind == PEL_Compare;
}

pel_late_notes *pel_notes_of(pel_lift *l, pel_nodes body) {
    pel_late_notes *notes = pel_new(l->ctx, pel_late_notes);
    if (!body.n || !refuses_format(body.at[0])) fail(l);
    if (body.at[0]->If.orelse.n) {
        if (body.n != 1) fail(l);
        body = body.at[0]->If.orelse;
    } else
        body = pel_nodes_of(l->ctx, body.at + 1, body.n - 1);
    for (uint32_t i = 0; i < body.n; i++) {
        pel_node *stmt = body.at[i];
        int64_t index = -1;
        if (is_conditional(stmt, &index))
            take_store(l, notes, index, stmt->If.body.at[0]);
        else if (stmt->kind != PEL_Return)
            take_store(l, notes, -1, stmt);
        else if (stmt->Return.value && stmt->Return.value->kind == PEL_Dict) {
            pel_node *dict = stmt->Return.value;
            for (uint32_t k = 0; k < dict->Dict.keys.n; k++)
                add(l, notes, -1, dict->Dict.keys.at[k], dict->Dict.values.at[k]);
        } else if (i + 1 != body.n || (stmt->Return.value && !pel_is_none(stmt->Return.value)))
            fail(l);
    }
    return notes;
}

bool pel_is_annotate(const pel_code_object *code) {
    return pel_name_is(code->name, "__annotate__") && code->argcount == 1 && code->posonlyargcount == 1;
}

/* ---- functions ---- */

void pel_annotate_later(pel_lift *l, pel_node *def, const pel_late_notes *notes) {
    pel_push(l->ctx, &l->result->late, ((pel_late){ l, def, notes }));
}

static void give(pel_node *arg, pel_name name, pel_node *value) {
    if (arg && arg->arg.arg == name) arg->arg.annotation = value;
}

static void give_list(pel_nodes args, pel_name name, pel_node *value) {
    for (uint32_t i = 0; i < args.n; i++) give(args.at[i], name, value);
}

/* When everything has been checked: their code is not that of the statements around. */
void pel_annotate_functions(pel_decompiled *result) {
    for (uint32_t i = 0; i < result->late.n; i++) {
        pel_late *late = &result->late.at[i];
        pel_node *def = late->def;
        pel_node *args = def->kind == PEL_Lambda ? def->Lambda.args : def->FunctionDef.args;
        for (uint32_t k = 0; k < late->notes->n; k++) {
            const pel_late_note *note = &late->notes->at[k];
            pel_name name = pel_unmangle(late->l, note->name);
            if (pel_name_is(name, "return") && def->kind != PEL_Lambda) {
                def->FunctionDef.returns = note->value;
                continue;
            }
            give_list(args->arguments.posonlyargs, name, note->value);
            give_list(args->arguments.args, name, note->value);
            give_list(args->arguments.kwonlyargs, name, note->value);
            give(args->arguments.vararg, name, note->value);
            give(args->arguments.kwarg, name, note->value);
        }
    }
}

/* ---- modules and classes ---- */

static pel_node *annotated(pel_lift *l, const pel_late_note *note, const pel_node *stmt) {
    pel_node *made = pel_node_new(l->ctx, PEL_AnnAssign);
    if (stmt) made->mark = stmt->mark;
    made->AnnAssign.target = pel_make_name(l->ctx, pel_unmangle(l, note->name), PEL_Store);
    made->AnnAssign.annotation = note->value;
    made->AnnAssign.simple = 1;
    return made;
}

static bool assigns(const pel_node *stmt, pel_name name) {
    return stmt->kind == PEL_Assign && stmt->Assign.targets.n == 1 && stmt->Assign.targets.at[0]->kind == PEL_Name &&
           stmt->Assign.targets.at[0]->Name.id == name;
}

/* The annotation whose number a statement adds: __conditional_annotations__[number] = None. */
static pel_late_note *numbered(pel_lift *l, const pel_node *stmt) {
    if (stmt->kind != PEL_Assign || stmt->Assign.targets.n != 1 || stmt->Assign.targets.at[0]->kind != PEL_Subscript)
        return NULL;
    const pel_node *target = stmt->Assign.targets.at[0];
    if (!is_name(target->Subscript.value, "__conditional_annotations__")) return NULL;
    const pel_const *number = constant_of(target->Subscript.slice, PEL_CONST_INT);
    for (uint32_t i = 0; number && l->notes && i < l->notes->n; i++)
        if (l->notes->at[i].index == number->integer.small) return &l->notes->at[i];
    fail(l);
}

void pel_place_numbered(pel_lift *l, pel_nodes *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        pel_late_note *note = numbered(l, body->at[i]);
        if (!note) continue;
        note->written = true;
        pel_node *made = annotated(l, note, body->at[i]);
        if (i && assigns(body->at[i - 1], made->AnnAssign.target->Name.id)) {
            made->AnnAssign.value = body->at[i - 1]->Assign.value;
            made->mark = body->at[i - 1]->mark;
            body->at[i - 1] = made;
            memmove(&body->at[i], &body->at[i + 1], (body->n - i - 1) * sizeof *body->at);
            body->n--;
            i--;
        } else
            body->at[i] = made;
    }
}

void pel_place_notes(pel_lift *l, pel_nodes *body) {
    uint32_t at = body->n && assigns(body->at[0], pel_intern_c(l->ctx, "__doc__"));
    for (uint32_t k = 0; k < l->notes->n; k++) {
        pel_late_note *note = &l->notes->at[k];
        if (note->index >= 0 && !note->written) fail(l);
        if (note->index >= 0) {
            for (uint32_t i = at; i < body->n; i++)
                if (body->at[i]->kind == PEL_AnnAssign && body->at[i]->AnnAssign.annotation == note->value) at = i + 1;
            continue;
        }
        pel_node *made = annotated(l, note, NULL);
        uint32_t i = at;
        while (i < body->n && !assigns(body->at[i], made->AnnAssign.target->Name.id)) i++;
        if (i < body->n) {
            made->mark = body->at[i]->mark;
            made->AnnAssign.value = body->at[i]->Assign.value;
            body->at[i] = made;
            at = i + 1;
            continue;
        }
        pel_nodes_push(l->ctx, body, made);
        memmove(&body->at[at + 1], &body->at[at], (body->n - at - 1) * sizeof *body->at);
        body->at[at++] = made;
    }
}
