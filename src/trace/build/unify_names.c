/* Holes of unified expressions: what they are called, and which values need no hole of their own. */
#include "trace/build/unifier.h"

/* What constructors use by these names. */
static const char *const reserved[] = { "self", "nn", "torch", "F", "math", "super", "range", "functools", "np" };

/* Variables of comprehensions are theirs alone: others may be called the same, but not what is named in them from
 * outside, which is of their own level. */
static bool is_taken(const pel_unifier *unifier, pel_name name) {
    for (const pel_unifier *u = unifier; u; u = u->around)
        for (uint32_t i = 0; i < u->holes.n; i++)
            if (u->holes.at[i].name == name) return true;
    for (uint32_t i = 0; i < unifier->busy.n; i++)
        if (unifier->busy.at[i] == name) return true;
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        if (pel_name_is(name, reserved[i])) return true;
    return pel_is_keyword(pel_name_str(name));
}

/* Whether a name can be made of it: a keyword becomes one with something added. */
static bool is_wordlike(pel_str s) { return pel_is_identifier(s) || pel_is_keyword(s); }

/* Some of torch's names say little outside of their constructor. */
static const struct {
    const char *torch, *better;
} better_names[] = {
    { "normalized_shape", "dim" },
    { "embedding_dim", "dim" },
    { "num_channels", "channels" },
    { "num_features", "channels" },
};

pel_name pel_hole_name(const pel_unifier *unifier, pel_name hint) {
    for (size_t i = 0; i < PEL_COUNT(better_names); i++)
        if (pel_name_is(hint, better_names[i].torch)) hint = pel_intern_c(unifier->ctx, better_names[i].better);
    if (!hint || !is_wordlike(pel_name_str(hint))) hint = pel_intern_c(unifier->ctx, "value");
    if (!is_taken(unifier, hint)) return hint;
    if (unifier->prefix && is_wordlike(pel_str_of(unifier->prefix)) && !pel_name_is(hint, unifier->prefix)) {
        pel_str longer = pel_format(unifier->ctx, "%s_%.*s", unifier->prefix, PEL_FMT(pel_name_str(hint)));
        pel_name name = pel_intern_str(unifier->ctx, longer);
        if (!is_taken(unifier, name)) return name;
    }
    for (int i = 2;; i++) {
        pel_str numbered = pel_format(unifier->ctx, "%.*s_%d", PEL_FMT(pel_name_str(hint)), i);
        pel_name name = pel_intern_str(unifier->ctx, numbered);
        if (!is_taken(unifier, name)) return name;
    }
}

pel_hole *pel_hole_named(pel_unifier *unifier, pel_name name) {
    for (uint32_t h = 0; h < unifier->holes.n; h++)
        if (unifier->holes.at[h].name == name) return &unifier->holes.at[h];
    return NULL;
}

static bool is_open(const pel_hole *hole, uint32_t lane) { return hole->open && hole->open[lane]; }

static bool same_values(const pel_hole *hole, pel_column l) {
    for (uint32_t i = 0; i < l.n; i++)
        if (!is_open(hole, i) && !pel_same(l.at[i], hole->values[i])) return false;
    return true;
}

/* The values of l are those of the hole wherever it has some: it takes the others. */
static void fill_open(pel_hole *hole, pel_column l) {
    for (uint32_t i = 0; i < l.n; i++)
        if (is_open(hole, i)) {
            hole->values[i] = l.at[i];
            hole->open[i] = false;
        }
}

bool pel_positive_int(const pel_node *node, int64_t *value) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT ||
        node->Constant.value->integer.digits.len)
        return false;
    *value = node->Constant.value->integer.small;
    return *value > 0;
}

/* How often the values of l are those of the hole: k with l = k * hole, -k with l = hole // k; 0 if neither.
 * Two sizes are in some ratio by accident; three in the same one are not. */
static int64_t ratio_to(const pel_hole *hole, pel_column l, bool is_size) {
    int64_t ratio = 0, distinct = 0, last = -1;
    for (uint32_t i = 0; i < l.n; i++) {
        int64_t whole, part;
        if (!pel_positive_int(l.at[i], &whole) || !pel_positive_int(hole->values[i], &part)) return 0;
        int64_t here = whole >= part && whole % part == 0 ? whole / part : part % whole == 0 ? -(part / whole) : 0;
        if (!here || (ratio && here != ratio)) return 0;
        ratio = here;
        distinct += whole != last;
        last = whole;
    }
    int64_t size = ratio < 0 ? -ratio : ratio;
    bool is_usual = ratio > 0 || !is_size || (size & (size - 1)) == 0; /* 6 * x is usual, x // 6 is not */
    return size >= 2 && (size <= 4 || (distinct >= 3 && is_usual)) ? ratio : 0;
}

static pel_node *multiple(pel_ctx *ctx, pel_name name, int64_t ratio) {
    pel_node *base = pel_make_name(ctx, name, PEL_Load);
    if (ratio < 0) return pel_make_binop(ctx, base, PEL_FloorDiv, pel_make_int(ctx, -ratio));
    return pel_make_binop(ctx, pel_make_int(ctx, ratio), PEL_Mult, base);
}

pel_node *pel_multiple_of(const pel_unifier *unifier, const pel_hole *hole, pel_column l) {
    int64_t ratio = ratio_to(hole, l, unifier->is_size);
    return ratio ? multiple(unifier->ctx, hole->name, ratio) : NULL;
}

/* (dim, dim), where the hole is dim in every lane; NULL if l is something else. */
static pel_node *pair_of(pel_ctx *ctx, const pel_hole *hole, pel_column l) {
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i]->kind != PEL_Tuple || l.at[i]->Tuple.elts.n != 2) return NULL;
        for (uint32_t e = 0; e < 2; e++)
            if (!pel_same(l.at[i]->Tuple.elts.at[e], hole->values[i])) return NULL;
    }
    pel_node *pair = pel_node_new(ctx, PEL_Tuple);
    for (uint32_t e = 0; e < 2; e++) pel_nodes_push(ctx, &pair->Tuple.elts, pel_make_name(ctx, hole->name, PEL_Load));
    return pair;
}

/* dim, config.dim, config["dim"]: the author's name for what differs. */
static pel_name name_in(pel_ctx *ctx, const pel_node *author) {
    if (!author) return NULL;
    switch (author->kind) {
    case PEL_Name: return author->Name.id;
    case PEL_Attribute: return author->Attribute.attr;
    case PEL_Subscript: {
        const pel_node *key = author->Subscript.slice;
        if (key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) return NULL;
        pel_str text = key->Constant.value->text;
        return is_wordlike(text) ? pel_intern_str(ctx, text) : NULL;
    }
    default: return NULL;
    }
}

pel_node *pel_make_hole(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    if (!pel_any_has_note(unifier, l, PEL_NOTE_BUILDS)) { /* a module must not be shared: two would become one */
        for (uint32_t h = 0; h < unifier->holes.n; h++)
            if (same_values(&unifier->holes.at[h], l)) {
                fill_open(&unifier->holes.at[h], l);
                return pel_make_name(ctx, unifier->holes.at[h].name, PEL_Load);
            }
        for (uint32_t h = 0; h < unifier->holes.n; h++) {
            pel_node *multiple_of_it = unifier->begins_part ? NULL : pel_multiple_of(unifier, &unifier->holes.at[h], l);
            if (multiple_of_it) return multiple_of_it;
            pel_node *pair = pair_of(ctx, &unifier->holes.at[h], l);
            if (pair) return pair;
        }
        for (uint32_t k = 0; k < unifier->known.n; k++)
            if (same_values(&unifier->known.at[k], l)) {
                hint = unifier->known.at[k].name;
                break;
            }
        pel_name authors = name_in(ctx, unifier->author);
        if (authors) hint = authors;
    }
    pel_hole hole = { pel_hole_name(unifier, hint), pel_nodes_of(ctx, l.at, l.n).at, NULL, unifier->is_size };
    pel_push(ctx, &unifier->holes, hole);
    return pel_make_name(ctx, hole.name, PEL_Load);
}
