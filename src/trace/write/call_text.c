/* The text of calls of functions of the output: which arguments are left, and which of them need their keywords. */
#include "trace/shrink/link.h"

/* Of how many items of `*whole` the text of an argument is one; 0 if it is not one. */
static uint32_t star_length(const pel_synth *s, const pel_node *text) {
    uint64_t n = 0;
    pel_map_get(&s->notes.star_items, PEL_KEY(text), &n);
    return (uint32_t)n;
}

/* f(x, pair[0], pair[1]) was f(x, *pair), and is that again if none of the items went. */
static void restore_stars(const pel_synth *s, pel_nodes *positional) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < positional->n;) {
        pel_node *first = positional->at[i];
        uint32_t n = star_length(s, first), k = 0;
        for (; k < n && i + k < positional->n; k++) {
            const pel_node *item = positional->at[i + k];
            if (star_length(s, item) != n || !pel_is_number(item->Subscript.slice, k) ||
                !pel_same(item->Subscript.value, first->Subscript.value))
                break;
        }
        bool whole = n > 1 && k == n;
        if (whole) {
            pel_node *star = pel_node_new(s->ctx, PEL_Starred);
            star->Starred.value = first->Subscript.value;
            first = star;
        }
        pel_nodes_push(s->ctx, &out, first);
        i += whole ? n : 1;
    }
    *positional = out;
}

/* An argument whose keyword says nothing that is not seen: the first one, or attention_mask=attention_mask. */
static bool speaks_for_itself(const pel_group *target, uint32_t param, uint32_t place, const pel_node *text) {
    bool is_first = place == (target->class && !target->is.without_self);
    return is_first || (text->kind == PEL_Name && text->Name.id == target->params[param].name);
}

static bool does_something(const pel_node *node) {
    if (node->kind == PEL_Attribute) return does_something(node->Attribute.value);
    return node->kind != PEL_Name && node->kind != PEL_Constant;
}

static bool comes_before(const pel_node *a, const pel_node *b) {
    if (!a->lineno || !b->lineno) return false;
    return a->lineno < b->lineno || (a->lineno == b->lineno && a->col_offset < b->col_offset);
}

/* f(b=g(x), a=h(x)): the order in which the author has the arguments is one in which something happens. */
static bool has_order(const pel_link *link) {
    const pel_node *last = NULL;
    for (uint32_t p = link->receiver; p < link->target->n_params; p++) {
        const pel_node *text = link->args[p];
        if (!text || link->target->params[p].dead || !link->by_keyword[p] || !does_something(text)) continue;
        if (last && comes_before(text, last)) return true;
        last = text;
    }
    return false;
}

static void sort_by_place(pel_nodes *keywords) {
    for (uint32_t i = 1; i < keywords->n; i++)
        for (uint32_t k = i; k > 0; k--) {
            pel_node **pair = &keywords->at[k - 1];
            if (!comes_before(pair[1]->keyword.value, pair[0]->keyword.value)) break;
            pel_node *later = pair[0];
            pair[0] = pair[1];
            pair[1] = later;
        }
}

/* What a call passes that the author's leaves out, where the signature has no default for it. */
static pel_node *left_out_argument(pel_synth *s, pel_group *target, uint32_t p) {
    pel_node *text = pel_default_text(s, target, p);
    if (text) return text;
    target->why = pel_format(s->ctx, "a call leaves out `%s`, which has no default", target->params[p].name->text).ptr;
    return pel_make_none(s->ctx);
}

static void write_callee(pel_synth *s, const pel_link *link) {
    pel_node *call = link->node;
    const pel_program_function *function = link->target->function; /* none if it is written in place */
    if (link->callee == PEL_CALLEE_NAME || link->callee == PEL_CALLEE_STATIC)
        call->Call.func = pel_make_name(s->ctx, function->name, PEL_Load);
    else if (link->callee == PEL_CALLEE_METHOD)
        call->Call.func->Attribute.attr = function->name;
    else if (link->implied && function->name != link->implied) /* one of several */
        call->Call.func = pel_make_attribute(s->ctx, call->Call.func, function->name, PEL_Load);
}

void pel_write_call(pel_synth *s, const pel_link *link, const pel_node *args) {
    if (link->node->kind != PEL_Call) return; /* a property */
    pel_group *target = link->target;
    pel_nodes positional = { 0 }, keywords = { 0 };
    uint32_t n_defaults = args->arguments.defaults.n, n_args = args->arguments.args.n, at = 0;
    bool by_name = false, ordered = has_order(link);
    for (uint32_t p = 0; p < target->n_params; p++) {
        if (target->params[p].dead) continue;
        if (target->rest && target->params[p].forwarded) {
            if (!link->args[p]) continue;
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].key, link->args[p]));
            by_name = true;
            continue;
        }
        uint32_t place = at++;
        if (p == 0 && link->receiver) continue;
        pel_node *text = link->args[p];
        if (!text && (place >= n_args - n_defaults || place >= n_args)) { /* its default serves */
            by_name = true;
            continue;
        }
        if (!text) text = left_out_argument(s, target, p);
        bool plain =
            !link->by_keyword[p] || (!target->is.root && !ordered && speaks_for_itself(target, p, place, text));
        if (by_name || !plain) {
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].name, text));
            by_name = true;
        } else {
            pel_nodes_push(s->ctx, &positional, text);
        }
    }
    restore_stars(s, &positional);
    if (ordered) sort_by_place(&keywords);
    link->node->Call.args = positional;
    link->node->Call.keywords = keywords;
    write_callee(s, link);
}
