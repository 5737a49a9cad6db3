/* Constructor calls as people write them: no defaults, the first arguments without their names. */
#include "trace/build/unify.h"

static bool is_list_of_pairs(const pel_node *node) {
    if (node->kind != PEL_List || !node->List.elts.n) return false;
    for (uint32_t i = 0; i < node->List.elts.n; i++) {
        const pel_node *pair = node->List.elts.at[i];
        if (pair->kind != PEL_Tuple || pair->Tuple.elts.n != 2) return false;
    }
    return true;
}

static bool is_parameter_dict(const pel_node *call) {
    return call->Call.func->kind == PEL_Attribute && pel_name_is(call->Call.func->Attribute.attr, "ParameterDict");
}

/* nn.ParameterDict sorts what it gets as a dict; a list of pairs it leaves in its order. */
static bool would_be_sorted(const pel_node *call, const pel_node *list) {
    if (!is_parameter_dict(call)) return false;
    for (uint32_t i = 1; i < list->List.elts.n; i++) {
        const pel_node *before = list->List.elts.at[i - 1]->Tuple.elts.at[0],
                       *key = list->List.elts.at[i]->Tuple.elts.at[0];
        if (pel_str_cmp(before->Constant.value->text, key->Constant.value->text) > 0) return true;
    }
    return false;
}

static pel_node *dict_of_pairs(pel_ctx *ctx, const pel_node *list) {
    pel_node *dict = pel_node_new(ctx, PEL_Dict);
    for (uint32_t i = 0; i < list->List.elts.n; i++) {
        const pel_nodes pair = list->List.elts.at[i]->Tuple.elts;
        pel_nodes_push(ctx, &dict->Dict.keys, pair.at[0]);
        pel_nodes_push(ctx, &dict->Dict.values, pair.at[1]);
    }
    return dict;
}

/* {name: module for ...}, of (name, module) for ... */
static pel_node *dict_of_comprehension(pel_ctx *ctx, const pel_node *list) {
    const pel_nodes pair = list->ListComp.elt->Tuple.elts;
    pel_node *dict = pel_node_new(ctx, PEL_DictComp);
    dict->DictComp.key = pair.at[0];
    dict->DictComp.value = pair.at[1];
    dict->DictComp.generators = list->ListComp.generators;
    return dict;
}

static bool makes_names(const pel_node *node) {
    return node->kind == PEL_ListComp && node->ListComp.elt->kind == PEL_Tuple &&
           node->ListComp.elt->Tuple.elts.n == 2 && node->ListComp.elt->Tuple.elts.at[0]->kind == PEL_JoinedStr;
}

static void polish_call(pel_ctx *ctx, pel_node *call) {
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t i = 0; i < call->Call.args.n; i++) {
        pel_node *arg = call->Call.args.at[i];
        if (arg->kind == PEL_Starred && arg->Starred.value->kind == PEL_List) {
            const pel_nodes elements = arg->Starred.value->List.elts;
            for (uint32_t k = 0; k < elements.n; k++) pel_nodes_push(ctx, &args, elements.at[k]);
        } else if (call->mark & PEL_CALL_BUILDS && arg->kind == PEL_List && !arg->List.elts.n) {
            continue; /* nn.ModuleList() */
        } else if (call->mark & PEL_CALL_BUILDS && is_list_of_pairs(arg) && !would_be_sorted(call, arg)) {
            pel_nodes_push(ctx, &args, dict_of_pairs(ctx, arg));
        } else if (call->mark & PEL_CALL_BUILDS && makes_names(arg) && !is_parameter_dict(call)) {
            pel_nodes_push(ctx, &args, dict_of_comprehension(ctx, arg));
        } else {
            pel_nodes_push(ctx, &args, arg);
        }
    }
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i];
        uint32_t mark = keyword->mark;
        keyword->mark = 0;
        if (mark & PEL_ARG_DEFAULT) continue;
        if (mark & PEL_ARG_POSITIONAL && !keywords.n)
            pel_nodes_push(ctx, &args, keyword->keyword.value);
        else
            pel_nodes_push(ctx, &keywords, keyword);
    }
    call->Call.args = args;
    call->Call.keywords = keywords;
    call->mark = 0;
}

static void polish(void *arg, pel_node **slot) {
    pel_each_child(*slot, polish, arg);
    if ((*slot)->kind == PEL_Call && (*slot)->mark) polish_call(arg, *slot);
}

void pel_unify_polish(pel_ctx *ctx, pel_node **slot) { polish(ctx, slot); }
