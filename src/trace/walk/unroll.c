/* Loops over constants that are not worth a loop: their rounds one after the other. Comprehensions over constants whose
 * rounds have no text in common: their elements one after the other. */
#include "trace/walk/stmt.h"
#include "trace/depends/uses.h"

#define MAX_UNROLLED 32 /* rounds */
#define MAX_LISTED 128  /* elements */

typedef struct unrolling {
    pel_walk *w;
    pel_node *node;
    const pel_rounds *rounds;
    uint32_t n_front, n; /* lanes of the loop, and how often each goes round */
    pel_nodes written;
    bool broke;
} unrolling;

/* The lanes of one round. */
static pel_front round_front(const unrolling *u, uint32_t round) {
    pel_front front = pel_front_new(u->w, u->n_front);
    for (uint32_t i = 0; i < u->n_front; i++) front.at[i] = u->rounds->body.at[i * u->n + round];
    return front;
}

static void walk_unrolled(pel_ctx *ctx, void *arg) {
    (void)ctx;
    unrolling *u = arg;
    pel_walk *w = u->w;
    for (uint32_t k = 0; k < u->n && !u->broke; k++) {
        pel_front front = round_front(u, k);
        pel_lane_loop loop = { .outer = w->loop };
        w->loop = &loop;
        pel_nodes *outer = w->out;
        w->out = &u->written;
        pel_node *ignored;
        pel_store(w, front, u->node->For.target, &(pel_lane_stored){ .taint = pel_constant(PEL_WHY_PARTS) }, &ignored);
        front = pel_walk_body(w, front, u->node->For.body);
        w->out = outer;
        w->loop = loop.outer;
        u->broke = loop.has_break || loop.has_continue || front.n < u->n_front;
    }
}

static bool is_trivial_value(const pel_node *value) {
    if (value->kind == PEL_Constant || value->kind == PEL_Name) return true;
    if (value->kind == PEL_UnaryOp) return is_trivial_value(value->UnaryOp.operand);
    if (value->kind != PEL_List && value->kind != PEL_Tuple) return false;
    for (uint32_t i = 0; i < value->List.elts.n; i++)
        if (!is_trivial_value(value->List.elts.at[i])) return false;
    return true;
}

static bool is_trivial(const pel_node *node) { return pel_bound_name(node) && is_trivial_value(node->Assign.value); }

/* What the loop's variable is bound to in a round. */
static const pel_record *item_of(pel_walk *w, const pel_rounds *rounds, uint32_t round) {
    const pel_lane *lane = pel_lane_at(w, rounds->body, round);
    return &pel_lane_activation(w, lane)->records[lane->at - 1];
}

/* Whether all lanes go round equally often, and each round has one value for all of them: a plain one, or a table. */
static bool have_same_items(const unrolling *u, bool or_tables) {
    pel_walk *w = u->w;
    for (uint32_t i = 0; i < u->rounds->body.n; i++) {
        if (u->rounds->parent[i] != i / u->n) return false;
        const pel_record *item = item_of(w, u->rounds, i), *first = item_of(w, u->rounds, i % u->n);
        bool known =
            item->kind == PEL_R_PUSH && (pel_plain(w->s, item->value) || (or_tables && pel_is_table(w, item->value)));
        if (!known || !pel_value_same(w->log, item->value, first->value)) return false;
    }
    return true;
}

static bool are_few(pel_front front, const pel_rounds *rounds, uint32_t most) {
    return rounds->body.n % front.n == 0 && rounds->body.n / front.n <= most;
}

/* What an attempt linked is linked again, or not. */
static void forget_links(pel_walk *w, pel_front body) {
    for (uint32_t i = 0; i < body.n; i++) {
        const pel_lane *lane = pel_lane_at(w, body, i);
        const pel_record *records = pel_lane_activation(w, lane)->records;
        for (uint32_t r = lane->at; r < lane->end; r++)
            if (records[r].kind == PEL_R_CHILD) w->s->calls.linked[records[r].value] = false;
    }
}

pel_lane_place pel_remember(pel_walk *w, pel_front front) {
    pel_lane_place place = { *w,
                             pel_env_copy(w, &w->env),
                             front,
                             pel_save_places(w, front),
                             w->s->facts.changed,
                             w->s->regroup,
                             w->s->notes.folds.n };
    return place;
}

void pel_go_back(pel_walk *w, const pel_lane_place *to) {
    w->s->facts.changed = to->changed;
    w->s->regroup = to->regroup;
    w->s->notes.folds.n = to->n_folds;
    pel_walk before = to->walk;
    before.lanes = w->lanes; /* only grew */
    before.env = pel_env_copy(w, &to->env);
    *w = before;
    pel_restore_places(w, to->front, to->places);
    forget_links(w, to->front);
}

bool pel_unroll(pel_walk *w, pel_front front, pel_node *node, const pel_rounds *rounds) {
    if (!are_few(front, rounds, MAX_UNROLLED)) return false;
    unrolling u = { w, node, rounds, front.n, rounds->body.n / front.n, { 0 }, false };
    if (!have_same_items(&u, false)) return false;
    uint32_t *places = pel_save_places(w, rounds->body);
    pel_lane_place before = pel_remember(w, front);
    pel_err err;
    bool fine = pel_attempt(w->ctx, walk_unrolled, &u, &err) && !u.broke;
    for (uint32_t i = 0; i < u.written.n && fine && u.n > 1; i++) fine = is_trivial(u.written.at[i]);
    if (fine) {
        for (uint32_t i = 0; i < u.written.n; i++) pel_write_statement(w, u.written.at[i]);
        return true;
    }
    pel_go_back(w, &before);
    pel_restore_places(w, rounds->body, places);
    return false;
}

/* ---- comprehensions ---- */

typedef struct listing {
    unrolling u;
    pel_val *made; /* the list */
    uint32_t first_link;
} listing;

static const pel_parts *parts_of_table(pel_walk *w, pel_front front, pel_id id);

static pel_val *known_value(pel_walk *w, pel_front front, pel_id id) {
    pel_val *val = pel_val_constant(w, front, pel_value_expression(w->ctx, w->s->program, id), PEL_WHY_PARTS);
    for (uint32_t i = 0; i < front.n; i++) val->at[i] = id;
    val->parts = parts_of_table(w, front, id);
    return val;
}

/* What a sequence, or a dict that names its items, holds in all lanes; NULL for anything else. */
static const pel_parts *parts_of_table(pel_walk *w, pel_front front, pel_id id) {
    const pel_value *value = pel_value_at(w->log, id);
    bool is_dict = value->kind == PEL_V_DICT;
    if (!is_dict && value->kind != PEL_V_TUPLE && value->kind != PEL_V_LIST) return NULL;
    uint32_t step = is_dict ? 2 : 1;
    pel_parts *parts = pel_new(w->ctx, pel_parts);
    parts->items = pel_new_array(w->ctx, value->n + 1u, pel_val *);
    if (is_dict) parts->keys = pel_new_array(w->ctx, value->n + 1u, pel_name);
    for (uint32_t i = 0; i + step <= value->n; i += step) {
        if (is_dict) {
            const pel_value *key = pel_value_at(w->log, value->items[i]);
            if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) return NULL;
            parts->keys[parts->n] = pel_intern_str(w->ctx, key->constant->text);
        }
        parts->items[parts->n++] = known_value(w, front, value->items[i + step - 1]);
    }
    return parts;
}

static void walk_listed(pel_ctx *ctx, void *arg) {
    listing *l = arg;
    pel_walk *w = l->u.w;
    const pel_node *generator = l->u.node->ListComp.generators.at[0];
    l->made->taint = pel_constant(PEL_WHY_PARTS); /* no element so far */
    for (uint32_t k = 0; k < l->u.n; k++) {
        pel_front front = round_front(&l->u, k);
        pel_node *ignored;
        const pel_parts *parts = parts_of_table(w, front, item_of(w, l->u.rounds, k)->value);
        pel_store(w, front, generator->comprehension.target,
                  &(pel_lane_stored){ .taint = pel_constant(PEL_WHY_PARTS), .parts = parts }, &ignored);
        pel_val *element = pel_eval(w, front, l->u.node->ListComp.elt);
        pel_nodes_push(ctx, &l->made->text->List.elts, element->text);
        l->made->effect |= element->effect;
        l->made->lost |= element->lost;
        l->made->taint = pel_taint_join(ctx, l->made->taint, pel_taint_any(element->taint));
    }
}

/* Whether an element asks for what only a round of the author's has a name for. */
static bool mentions(const listing *l, const pel_node *target) {
    if (target->kind == PEL_Starred) return mentions(l, target->Starred.value);
    if (target->kind != PEL_Name) {
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
            if (mentions(l, target->Tuple.elts.at[i])) return true;
        return false;
    }
    if (pel_uses_at(NULL, l->made->text, target->Name.id).reads) return true;
    const pel_synth *s = l->u.w->s;
    for (uint32_t i = l->first_link; i < s->calls.links.n; i++)
        for (uint32_t p = 0; p < s->calls.links.at[i]->target->n_params; p++) {
            const pel_node *given = s->calls.links.at[i]->args[p];
            if (given && pel_uses_at(NULL, given, target->Name.id).reads) return true;
        }
    return false;
}

bool pel_list_rounds(pel_walk *w, pel_front front, pel_node *node, pel_val *val) {
    const pel_node *generator = node->ListComp.generators.at[0];
    pel_rounds rounds = pel_split_rounds(w, front, node);
    if (rounds.body.n == 0 || !are_few(front, &rounds, MAX_LISTED)) return false;
    listing l = { { w, node, &rounds, front.n, rounds.body.n / front.n, { 0 }, false }, val, w->s->calls.links.n };
    if (!have_same_items(&l.u, true)) return false;
    pel_lane_place before = pel_remember(w, front);
    uint32_t *places = pel_save_places(w, rounds.body);
    pel_val as_it_was = *val;
    val->text = pel_node_new(w->ctx, PEL_List);
    pel_err err;
    if (pel_attempt(w->ctx, walk_listed, &l, &err) && !val->lost && !mentions(&l, generator->comprehension.target))
        return true;
    *val = as_it_was;
    pel_go_back(w, &before);
    pel_restore_places(w, rounds.body, places);
    forget_links(w, rounds.body);
    return false;
}
