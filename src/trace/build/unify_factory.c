/* Calls of several classes with the same arguments: the class comes in by a name, act_layer(inplace=True).
 *
 * A class can be given to several parts, and a module can't; so blocks that differ by their activation have one
 * argument for it, not one for each place where it stands. */
#include "trace/build/unifier.h"

/* nn.ReLU, Attention; not nn.Linear(4, 8).requires_grad_ */
static bool is_class(const pel_node *func) {
    pel_name name = pel_last_name(func);
    while (func->kind == PEL_Attribute) func = func->Attribute.value;
    return func->kind == PEL_Name && name && name->text[0] >= 'A' && name->text[0] <= 'Z';
}

static bool builds_module(const pel_unifier *unifier, const pel_node *node) {
    return node->kind == PEL_Call && pel_node_notes(unifier->notes, node) & PEL_NOTE_BUILDS &&
           is_class(node->Call.func);
}

/* The call with the arguments that will be written, all by name: those by place have the names of the first lane's, so
 * that two classes which call their first argument differently fit. NULL if that can't be said. */
static pel_node *as_written(pel_unifier *unifier, const pel_node *call, const pel_node *first) {
    pel_ctx *ctx = unifier->ctx;
    if (call->Call.args.n) return NULL;
    pel_node *made = pel_make_call(ctx, first->Call.func, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    pel_set_notes(ctx, unifier->notes, made, PEL_NOTE_BUILDS);
    bool by_place = true;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i];
        uint32_t notes = pel_node_notes(unifier->notes, keyword);
        if (notes & PEL_NOTE_DEFAULT) continue;
        by_place &= (notes & PEL_NOTE_POSITIONAL) != 0;
        pel_name name = keyword->keyword.arg;
        if (by_place && first != call && made->Call.keywords.n < first->Call.keywords.n)
            name = first->Call.keywords.at[made->Call.keywords.n]->keyword.arg;
        pel_node *written = pel_make_keyword(ctx, name, keyword->keyword.value);
        pel_set_notes(ctx, unifier->notes, written, notes);
        pel_nodes_push(ctx, &made->Call.keywords, written);
    }
    return made;
}

/* Modules that differ in nothing but their class, or are nn.Identity, which takes any arguments. */
static bool find_written(pel_unifier *unifier, pel_some *some) {
    const pel_node *first = some->at[0];
    for (uint32_t i = 0; i < some->n; i++) {
        pel_node *written = as_written(unifier, some->at[i], first);
        if (!written) return false;
        some->at[i] = written;
        if (i == 0) first = written;
    }
    return pel_calls_fit((pel_column){ some->at, some->n });
}

/* What the author calls the class that he is given: act_layer, of act_layer(inplace=True). */
static pel_name authors_name(const pel_node *author) {
    if (!author || author->kind != PEL_Call) return NULL;
    const pel_node *func = author->Call.func;
    pel_name name = pel_last_name(func);
    bool is_variable =
        func->kind == PEL_Name || (func->kind == PEL_Attribute && func->Attribute.value->kind == PEL_Name &&
                                   !pel_name_is(func->Attribute.value->Name.id, "nn"));
    return is_variable && name && name->text[0] >= 'a' && name->text[0] <= 'z' ? name : NULL;
}

static pel_name factory_name(pel_ctx *ctx, const pel_node *author, pel_name hint) {
    pel_name authors = authors_name(author);
    if (authors) return authors;
    pel_str part = pel_name_str(hint);
    while (part.len && part.ptr[part.len - 1] >= '0' && part.ptr[part.len - 1] <= '9') part.len--;
    if (!part.len || pel_str_ends(part, PEL_STR("layer"))) return hint;
    return pel_intern_str(ctx, pel_format(ctx, "%.*s_layer", PEL_FMT(part)));
}

pel_node *pel_unify_factory(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    if (author && author->kind == PEL_Name) return NULL; /* he is given the module itself */
    for (uint32_t i = 0; i < l.n; i++)
        if (!builds_module(unifier, l.at[i]) || l.n != unifier->n_lanes) return NULL;
    pel_some some = pel_some_lanes(ctx, l, pel_is_no_identity);
    if (!some.n || !find_written(unifier, &some)) return NULL;
    pel_node *made = some.n < l.n ? pel_unify_some(unifier, &some, hint)
                                  : pel_unify_call(unifier, (pel_column){ some.at, some.n }, hint);
    if (!made) return NULL;
    pel_node **classes = pel_new_array(ctx, l.n, pel_node *);
    for (uint32_t i = 0; i < l.n; i++) classes[i] = l.at[i]->Call.func;
    unifier->author = NULL;
    made->Call.func = pel_make_hole(unifier, (pel_column){ classes, l.n }, factory_name(ctx, author, hint));
    unifier->author = author;
    return made;
}
