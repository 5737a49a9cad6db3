/* Loops over constants that are not worth a loop: their rounds one after the other. */
#include "trace/lanes_stmt.h"

#define MAX_UNROLLED 32 /* rounds */

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
        pel_loop loop = { .outer = w->loop };
        w->loop = &loop;
        pel_nodes *outer = w->out;
        w->out = &u->written;
        pel_node *ignored;
        pel_store(w, front, u->node->For.target, NULL, NULL, NULL, &ignored);
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

static bool is_trivial(const pel_node *node) {
    return node->kind == PEL_Assign && node->Assign.targets.n == 1 && node->Assign.targets.at[0]->kind == PEL_Name &&
           is_trivial_value(node->Assign.value);
}

/* What the loop's variable is bound to in a round. */
static const pel_record *item_of(pel_walk *w, const pel_rounds *rounds, uint32_t round) {
    const pel_lane *lane = pel_lane_at(w, rounds->body, round);
    return &pel_lane_activation(w, lane)->records[lane->at - 1];
}

/* Whether all lanes go round equally often, and each round has one plain value for all of them. */
static bool have_same_items(const unrolling *u) {
    pel_walk *w = u->w;
    for (uint32_t i = 0; i < u->rounds->body.n; i++) {
        if (u->rounds->parent[i] != i / u->n) return false;
        const pel_record *item = item_of(w, u->rounds, i), *first = item_of(w, u->rounds, i % u->n);
        if (item->kind != PEL_R_PUSH || !pel_plain(w->s, item->value) ||
            !pel_value_same(w->log, item->value, first->value))
            return false;
    }
    return true;
}

bool pel_unroll(pel_walk *w, pel_front front, pel_node *node, const pel_rounds *rounds) {
    if (rounds->body.n % front.n || rounds->body.n / front.n > MAX_UNROLLED) return false;
    unrolling u = { w, node, rounds, front.n, rounds->body.n / front.n, { 0 }, false };
    if (!have_same_items(&u)) return false;
    pel_env before = pel_env_copy(w, &w->env);
    uint32_t *places = pel_save_places(w, rounds->body), *front_places = pel_save_places(w, front);
    pel_walk saved = *w;
    bool changed = w->s->changed, regroup = w->s->regroup;
    pel_err err;
    bool fine = pel_attempt(w->ctx, walk_unrolled, &u, &err) && !u.broke;
    for (uint32_t i = 0; i < u.written.n && fine && u.n > 1; i++) fine = is_trivial(u.written.at[i]);
    if (fine) {
        for (uint32_t i = 0; i < u.written.n; i++) pel_write_statement(w, u.written.at[i]);
        return true;
    }
    w->s->changed = changed;
    w->s->regroup = regroup;
    saved.lanes = w->lanes; /* only grew */
    saved.env = before;
    *w = saved;
    pel_restore_places(w, front, front_places);
    pel_restore_places(w, rounds->body, places);
    return false;
}
