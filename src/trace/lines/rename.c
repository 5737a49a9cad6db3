/* The author's names for the steps of a straight line. While a line is written each step has a name of its own; here it
 * gets that of the variable which held its result, if what has this name by then is not read any more. What no variable
 * held is called as what is made of it, or as what it was made of. */
#include "trace/lines/line.h"

static pel_str package_of(const pel_log *log, pel_id activation) {
    pel_str module = log->codes.at[log->activations.at[activation].code].module;
    size_t end = 0;
    while (end < module.len && module.ptr[end] != '.') end++;
    return pel_str_cut(module, 0, end);
}

/* Names of local variables by the tensors that were read from them in lane 0: the function's own, then those of
 * functions of its package that it calls. What einops calls its tensors says nothing here. */
void pel_straight_find_names(pel_straight *x) {
    const pel_log *log = x->log;
    pel_str package = package_of(log, x->above[0]);
    for (pel_id id = x->above[0]; id < x->w->s->extents[x->above[0]].end; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_author *author = &x->w->s->authors[activation->code];
        if (!author->insns || !pel_is_below(log, id, x->above[0]) || !pel_str_eq(package_of(log, id), package))
            continue;
        for (uint32_t i = 0; i < activation->n_records; i++) {
            const pel_record *record = &activation->records[i];
            const pel_value *value = record->kind == PEL_R_PUSH ? pel_value_at(log, record->value) : NULL;
            if (!value || value->kind != PEL_V_TENSOR || pel_map_has(&x->held_by, value->tensor)) continue;
            const pel_insn *insn = pel_author_insn(author, record);
            bool is_local = insn && (insn->kind == PEL_ARG_LOCAL || insn->kind == PEL_ARG_FREE);
            if (is_local && pel_is_identifier(pel_name_str(insn->name)) && !pel_name_is(insn->name, "self"))
                pel_map_set(x->ctx, &x->held_by, value->tensor, PEL_KEY(insn->name));
        }
    }
}

pel_name pel_straight_held_by(const pel_straight *x, pel_id value) {
    const pel_value *row = pel_straight_at(x, value);
    return row->kind == PEL_V_TENSOR ? pel_map_pointer(&x->held_by, row->tensor) : NULL;
}

/* Whether a name is a parameter's, which may be bound again; in a nested function it may be of the one around. */
static bool is_parameter(const pel_straight *x, pel_name name) {
    return pel_straight_is_given(x, name) && (x->is_helper || !x->w->group->is.nested);
}

/* ---- how a line uses its names ---- */

typedef struct web { /* what a step gave, or what the function got */
    pel_name name, wish, final;
    uint32_t made, last; /* statements: that which binds it, and the last one that reads it */
    bool is_step;
} web;

typedef struct renamer {
    pel_straight *x;
    PEL_VEC(web) webs;
    pel_map web_of; /* name -> its number, from 1 */
    uint32_t at;    /* the statement that is looked at */
    pel_name first; /* of a step or of what the function got, in the statement that is looked at */
} renamer;

static web *web_named(const renamer *r, pel_name name) {
    uint64_t number = pel_map_find(&r->web_of, PEL_KEY(name), 0);
    return number ? &r->webs.at[number - 1] : NULL;
}

static web *add_web(renamer *r, pel_name name) {
    web *known = web_named(r, name);
    if (known) return known;
    pel_push(r->x->ctx, &r->webs, ((web){ .name = name, .final = name }));
    pel_map_set(r->x->ctx, &r->web_of, PEL_KEY(name), r->webs.n);
    return &r->webs.at[r->webs.n - 1];
}

static void see_read(void *arg, const pel_name_use *use) {
    renamer *r = arg;
    if (use->kind != PEL_USE_READS) return;
    web *w = add_web(r, use->name);
    if (w->last < r->at) w->last = r->at;
    if (!r->first && !pel_name_is(use->name, "self")) r->first = use->name;
}

static pel_nodes targets_of(const pel_node *statement) {
    if (statement->kind != PEL_Assign) return (pel_nodes){ 0 };
    const pel_node *target = statement->Assign.targets.at[0];
    return target->kind == PEL_Tuple ? target->Tuple.elts : statement->Assign.targets;
}

static void find_webs(renamer *r) {
    const pel_nodes body = r->x->body;
    for (r->at = 0; r->at < body.n; r->at++) {
        pel_each_use(r->x->w->s, &body.at[r->at], see_read, r);
        pel_nodes targets = targets_of(body.at[r->at]);
        for (uint32_t i = 0; i < targets.n; i++) {
            if (targets.at[i]->kind != PEL_Name) continue;
            web *w = add_web(r, targets.at[i]->Name.id);
            w->made = r->at;
            w->is_step = true;
            w->wish = pel_map_pointer(&r->x->wishes, PEL_KEY(w->name));
        }
    }
}

/* ---- what no variable held ---- */

static pel_name bound_by(const pel_node *statement) {
    pel_nodes targets = targets_of(statement);
    return targets.n == 1 && targets.at[0]->kind == PEL_Name ? targets.at[0]->Name.id : NULL;
}

static void wish_as_used(renamer *r) {
    for (uint32_t i = r->webs.n; i--;) {
        web *w = &r->webs.at[i];
        pel_name later = w->is_step && !w->wish && w->last > w->made ? bound_by(r->x->body.at[w->last]) : NULL;
        if (later) w->wish = web_named(r, later)->wish;
    }
}

static void wish_as_made(renamer *r) {
    for (r->at = 0; r->at < r->x->body.n; r->at++) {
        pel_name name = bound_by(r->x->body.at[r->at]);
        web *w = name ? web_named(r, name) : NULL;
        if (!w || w->wish) continue;
        r->first = NULL;
        pel_each_use(r->x->w->s, &r->x->body.at[r->at]->Assign.value, see_read, r);
        const web *from = r->first ? web_named(r, r->first) : NULL;
        if (from && (from->is_step || is_parameter(r->x, from->name)))
            w->wish = from->is_step ? from->wish : from->name;
    }
}

/* ---- who gets a name ---- */

/* Whether a name is free from a statement on: what has it is read no more, and is no name of the file. */
static bool is_free(const renamer *r, pel_name name, uint32_t from) {
    const web *own = web_named(r, name);
    if (own && !own->is_step && (own->last > from || !is_parameter(r->x, name))) return false;
    for (uint32_t i = 0; i < r->webs.n; i++) {
        const web *w = &r->webs.at[i];
        if (w->is_step && w->final == name && w->made <= from && (w->last > from || w->made == from)) return false;
    }
    return true;
}

static void choose_names(renamer *r) {
    for (uint32_t at = 0; at < r->x->body.n; at++) {
        pel_nodes targets = targets_of(r->x->body.at[at]);
        for (uint32_t i = 0; i < targets.n; i++) {
            web *w = targets.at[i]->kind == PEL_Name ? web_named(r, targets.at[i]->Name.id) : NULL;
            if (!w) continue;
            w->final = NULL; /* its own name is in nobody's way */
            bool unread = targets.n > 1 && w->last <= w->made;
            if (unread)
                w->final = pel_intern_c(r->x->ctx, "_");
            else
                w->final = w->wish && is_free(r, w->wish, at) ? w->wish : w->name;
        }
    }
}

static void put_name(void *arg, const pel_name_use *use) {
    const renamer *r = arg;
    const web *w = (*use->slot)->kind == PEL_Name ? web_named(r, use->name) : NULL;
    if (w && w->is_step && w->final != w->name) *use->slot = pel_make_name(r->x->ctx, w->final, (*use->slot)->Name.ctx);
}

void pel_straight_rename(pel_straight *x) {
    renamer r = { .x = x };
    find_webs(&r);
    wish_as_used(&r);
    wish_as_made(&r);
    choose_names(&r);
    pel_each_use_in(x->w->s, x->body, put_name, &r);
}
