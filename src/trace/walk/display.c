/* Displays: tuples, lists, sets, dicts, slices and f-strings, of which the parts are known one by one. */
#include "trace/walk/expr.h"

pel_node *pel_parts_text(pel_walk *w, const pel_parts *parts) {
    pel_node *node = pel_node_new(w->ctx, parts->keys ? PEL_Dict : PEL_Tuple);
    for (uint32_t i = 0; i < parts->n; i++) {
        if (parts->items[i]->optional)
            pel_map_set(w->ctx, &w->s->notes.unwritable, PEL_KEY(node), 1); /* has it or not */
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

const pel_parts *pel_parts_by_key(pel_walk *w, const pel_val *dict) {
    const pel_parts *from = dict->parts;
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ from->n, from->keys, pel_new_array(w->ctx, from->n + 1u, pel_val *) };
    for (uint32_t i = 0; i < from->n; i++) {
        pel_val *item = pel_new(w->ctx, pel_val);
        *item = *from->items[i];
        if (dict->text->kind == PEL_Name && item->text->kind != PEL_Constant) {
            pel_node *key = pel_make_text(w->ctx, pel_name_str(from->keys[i]));
            item->text = pel_make_subscript(w->ctx, pel_copy(w->ctx, dict->text), key, PEL_Load);
        }
        made->items[i] = item;
    }
    return made;
}

/* How many items a starred value adds, if that is the same in all lanes. */
static bool has_one_length(const pel_walk *w, pel_front front, const pel_val *val, uint32_t *length) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        bool is_sequence = value->kind == PEL_V_TUPLE || value->kind == PEL_V_LIST || value->kind == PEL_V_SIZE;
        if (!is_sequence || value->truncated || (i && value->n != *length)) return false;
        *length = value->n;
    }
    return front.n > 0;
}

/* b, n, device, eps = *x.shape, x.device, self.eps: what the star does not bring depends on nothing that it holds. */
static const pel_taint *taint_of_spread(pel_walk *w, pel_front front, pel_nodes elts, pel_val *const *items) {
    PEL_VEC(const pel_taint *) taints = { 0 };
    uint32_t n_stars = 0;
    for (uint32_t i = 0; i < elts.n; i++) {
        uint32_t n = 1;
        bool star = elts.at[i]->kind == PEL_Starred;
        n_stars += star;
        if (star && (n_stars > 1 || !has_one_length(w, front, items[i], &n))) return NULL; /* two can trade items */
        for (uint32_t k = 0; k < n; k++)
            pel_push(w->ctx, &taints, star ? pel_taint_any(items[i]->taint) : items[i]->taint);
    }
    return pel_taint_tuple(w->ctx, taints.at, taints.n);
}

pel_val *pel_eval_sequence(pel_walk *w, pel_front front, pel_node *node) {
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
        pel_take_over(val, items[i]);
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
    if (starred || node->kind != PEL_Tuple) {
        val->taint = pel_taint_any(taint);
        val->spread = starred && node->kind == PEL_Tuple ? taint_of_spread(w, front, elts, items) : NULL;
    } else {
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

/* A dict that is built here. */
typedef struct dict_walk {
    pel_walk *w;
    pel_node *text;
    PEL_VEC(pel_name) keys;
    PEL_VEC(pel_val *) items;
    bool is_known; /* all keys are constants, which keys and items are then */
} dict_walk;

/* Nothing happens where these are evaluated, so that it does not matter when. */
static bool is_still(const pel_node *text) { return text->kind == PEL_Constant || text->kind == PEL_Name; }

/* {**d, 'k': n}, where d has a k: the later value in the earlier place. A text never has a key twice, for those who
 * look for a key's value take the first. */
static bool replaces_item(dict_walk *d, const pel_node *key, pel_val *item) {
    pel_nodes keys = d->text->Dict.keys, values = d->text->Dict.values;
    uint32_t at = 0;
    while (at < keys.n && (!keys.at[at] || keys.at[at]->kind != PEL_Constant ||
                           !pel_const_same(keys.at[at]->Constant.value, key->Constant.value)))
        at++;
    if (at == keys.n) return false;
    bool is_moved = !is_still(item->text);
    for (uint32_t i = at; i < values.n; i++)
        if ((i == at || is_moved) && (!keys.at[i] || !is_still(values.at[i])))
            pel_lost(d->w, d->text, "a dict gets one key twice");
    values.at[at] = item->text;
    for (uint32_t i = 0; i < d->keys.n; i++)
        if (key->Constant.value->kind == PEL_CONST_STR &&
            pel_str_eq(pel_name_str(d->keys.at[i]), key->Constant.value->text))
            d->items.at[i] = item;
    return true;
}

static void add_item(dict_walk *d, pel_node *key, pel_val *item) {
    pel_ctx *ctx = d->w->ctx;
    const pel_const *constant = key && key->kind == PEL_Constant ? key->Constant.value : NULL;
    if (constant && replaces_item(d, key, item)) return;
    pel_nodes_push(ctx, &d->text->Dict.keys, key);
    pel_nodes_push(ctx, &d->text->Dict.values, item->text);
    if (!constant || constant->kind != PEL_CONST_STR) {
        d->is_known = false;
        return;
    }
    pel_push(ctx, &d->keys, pel_intern_str(ctx, constant->text));
    pel_push(ctx, &d->items, item);
}

/* {**d, ...}: its items, if they are known. */
static bool add_items_of(dict_walk *d, const pel_val *dict) {
    if (!dict->parts || !dict->parts->keys || has_optional(dict->parts)) return false;
    const pel_parts *more = pel_parts_by_key(d->w, dict);
    for (uint32_t i = 0; i < more->n; i++)
        add_item(d, pel_make_text(d->w->ctx, pel_name_str(more->keys[i])), more->items[i]);
    return true;
}

/* Where a key and its value stand. Constant keys come all at once, in the end. */
static pel_node pair_at(const pel_node *dict, uint32_t i) {
    const pel_node *key = dict->Dict.keys.at[i], *value = dict->Dict.values.at[i], *first = key ? key : value;
    return (pel_node){ .lineno = first->lineno,
                       .col_offset = first->col_offset,
                       .end_lineno = value->end_lineno,
                       .end_col_offset = value->end_col_offset };
}

pel_val *pel_eval_dict(pel_walk *w, pel_front front, pel_node *node) {
    dict_walk d = { .w = w, .text = pel_shallow(w, node), .is_known = true };
    d.text->Dict.keys = d.text->Dict.values = (pel_nodes){ 0 };
    pel_val *val = pel_val_constant(w, front, d.text, PEL_WHY_PARTS);
    for (uint32_t i = 0; i < node->Dict.values.n; i++) {
        pel_node pair = pair_at(node, i);
        pel_own(w, front, node, &pair, val->at, NULL);
        pel_val *key = node->Dict.keys.at[i] ? pel_eval(w, front, node->Dict.keys.at[i]) : NULL;
        pel_val *item = pel_eval(w, front, node->Dict.values.at[i]);
        pel_take_over(val, item);
        if (key) pel_take_over(val, key);
        if (pel_varies(item->taint) || (key && pel_varies(key->taint))) val->taint = &pel_tainted;
        if (!key && pel_is_noted(w->s, item->text, PEL_NOTE_KEYWORDS)) pel_note_node(w->s, d.text, PEL_NOTE_KEYWORDS);
        if (key || !add_items_of(&d, item)) add_item(&d, key ? key->text : NULL, item);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    if (!d.is_known) return val;
    pel_parts *parts = pel_new(w->ctx, pel_parts);
    *parts = (pel_parts){ d.keys.n, d.keys.at ? d.keys.at : pel_new_array(w->ctx, 1, pel_name), d.items.at };
    val->parts = parts;
    return val;
}

pel_val *pel_eval_slice(pel_walk *w, pel_front front, pel_node *node) {
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
        pel_take_over(val, part);
        dynamic |= pel_varies(part->taint);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    val->taint = dynamic ? &pel_tainted : pel_constant(PEL_WHY_PARTS);
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
        pel_take_over(val, value);
        *dynamic |= pel_dynamic(w, front, value);
        if (node->FormattedValue.format_spec)
            eval_format(w, front, node->FormattedValue.format_spec, &text->FormattedValue.format_spec, val, dynamic);
    }
}

pel_val *pel_eval_joined(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_new(w, front, NULL);
    bool dynamic = false;
    const pel_node *outer = w->now;
    w->now = node;
    eval_format(w, front, node, &val->text, val, &dynamic);
    w->now = outer;
    pel_own(w, front, node, NULL, val->at, NULL);
    val->taint = pel_computed_taint(w, front, val, dynamic);
    return pel_finish(w, front, node, val);
}
