/* The tree as indented text, for people who look for one node: a line per node, leaves on it. */
#include "python/ast.h"

#include <stdio.h>

static void put_node(pel_buf *out, const char *label, const pel_node *node, size_t depth);

static void put_children(pel_buf *out, const char *label, const pel_nodes *list, size_t depth) {
    for (uint32_t i = 0; i < list->n; i++) {
        char indexed[64];
        snprintf(indexed, sizeof indexed, "%s[%u]", label, i);
        put_node(out, indexed, list->at[i], depth);
    }
}

static void put_leaf(pel_buf *out, const pel_node *node, const pel_field *field) {
    const char *at = (const char *)node + field->offset;
    switch (field->type) {
    case PEL_FIELD_NAME:
    case PEL_FIELD_NAME_OPT: {
        pel_name name = *(const pel_name *)(const void *)at;
        if (name) pel_putf(out, " %s=%s", field->name, name->text);
        break;
    }
    case PEL_FIELD_NAMES: {
        const pel_name_list *names = (const void *)at;
        for (uint32_t i = 0; i < names->n; i++)
            pel_putf(out, "%s%s", i ? "," : " names=", names->at[i] ? names->at[i]->text : "None");
        break;
    }
    case PEL_FIELD_CONST:
        pel_putf(out, " %s=", field->name);
        pel_put_repr(out, *(const pel_const *const *)(const void *)at);
        break;
    case PEL_FIELD_ENUM:
        if (field->of != PEL_ENUM_CTX || *(const int *)(const void *)at != PEL_Load)
            pel_putf(out, " %s=%s", field->name,
                     pel_enum_name((pel_enum_type)field->of, *(const int *)(const void *)at));
        break;
    case PEL_FIELD_CMPOPS: {
        const pel_cmpops *ops = (const void *)at;
        for (uint32_t i = 0; i < ops->n; i++)
            pel_putf(out, "%s%s", i ? "," : " ops=", pel_cmpop_name((pel_CMPOP)ops->at[i]));
        break;
    }
    case PEL_FIELD_INT: {
        int value = *(const int *)(const void *)at;
        bool is_rare = strcmp(field->name, "is_lazy") == 0; /* said where it is so, as Load is left out */
        if (value || !is_rare) pel_putf(out, " %s=%d", field->name, value);
        break;
    }
    case PEL_FIELD_STR_OPT: {
        const pel_str *text = (const void *)at;
        if (text->ptr) {
            pel_putf(out, " %s=", field->name);
            pel_put_str_repr(out, *text);
        }
        break;
    }
    case PEL_FIELD_ONE:
    case PEL_FIELD_OPT:
    case PEL_FIELD_LIST:
    case PEL_FIELD_HOLES: break;
    }
}

/* As CPython has it: modules, arguments and the like stand nowhere by themselves. */
static bool has_position(const pel_node *node) {
    switch (pel_kinds[node->kind].class) {
    case PEL_STMT:
    case PEL_EXPR:
    case PEL_EXCEPTHANDLER:
    case PEL_ARG:
    case PEL_KEYWORD:
    case PEL_ALIAS:
    case PEL_PATTERN:
    case PEL_TYPE_PARAM: return node->lineno != 0;
    default: return false;
    }
}

/* The depth has a bound: the parser and pel_ast_check refuse deeper trees. */
static void put_node(pel_buf *out, const char *label, const pel_node *node, size_t depth) {
    pel_put_spaces(out, depth * 2);
    if (label) pel_putf(out, "%s: ", label);
    if (!node) {
        pel_put_c(out, "None\n");
        return;
    }
    pel_put_c(out, pel_kinds[node->kind].name);
    const pel_field *fields = pel_kinds[node->kind].fields();
    for (const pel_field *field = fields; field->name; field++) put_leaf(out, node, field);
    if (has_position(node))
        pel_putf(out, "  %u:%u-%u:%u", node->lineno, node->col_offset, node->end_lineno, node->end_col_offset);
    pel_put_byte(out, '\n');
    for (const pel_field *field = fields; field->name; field++) {
        const char *at = (const char *)node + field->offset;
        if (field->type == PEL_FIELD_ONE || field->type == PEL_FIELD_OPT) {
            const pel_node *child = *(pel_node *const *)(const void *)at;
            if (child) put_node(out, field->name, child, depth + 1);
        } else if (field->type == PEL_FIELD_LIST || field->type == PEL_FIELD_HOLES) {
            put_children(out, field->name, (const pel_nodes *)(const void *)at, depth + 1);
        }
    }
}

void pel_ast_text(pel_ctx *ctx, const pel_node *root, pel_buf *out) {
    (void)ctx;
    put_node(out, NULL, root, 0);
}
