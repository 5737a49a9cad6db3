#include "python/ast.h"

/* ---- tables, expanded from ast.def ---- */

#define ONE(field, class) pel_node *field;
#define OPT(field, class) pel_node *field;
#define LIST(field, class) pel_nodes field;
#define HOLES(field, class) pel_nodes field;
#define NAME(field) pel_name field;
#define NAME_OPT(field) pel_name field;
#define NAMES(field) pel_name_list field;
#define CONST(field) const pel_const *field;
#define ENUM(field, type) pel_##type field;
#define CMPOPS(field) pel_cmpops field;
#define INT(field) int field;
#define STR_OPT(field) pel_str field;
/* clang-format off */
#define NODE(kind, class, fields) struct layout_##kind { fields };
/* clang-format on */
#include "python/ast.def"
#undef NODE
#undef ONE
#undef OPT
#undef LIST
#undef HOLES
#undef NAME
#undef NAME_OPT
#undef NAMES
#undef CONST
#undef ENUM
#undef CMPOPS
#undef INT
#undef STR_OPT

/* A function per kind, so that each has a THIS to take offsets in. */
#define HEADER offsetof(pel_node, Module)
#define ROW(field, type, of) { #field, PEL_FIELD_##type, (uint16_t)(HEADER + offsetof(THIS, field)), of },
#define ONE(field, class) ROW(field, ONE, PEL_##class)
#define OPT(field, class) ROW(field, OPT, PEL_##class)
#define LIST(field, class) ROW(field, LIST, PEL_##class)
#define HOLES(field, class) ROW(field, HOLES, PEL_##class)
#define NAME(field) ROW(field, NAME, 0)
#define NAME_OPT(field) ROW(field, NAME_OPT, 0)
#define NAMES(field) ROW(field, NAMES, 0)
#define CONST(field) ROW(field, CONST, 0)
#define ENUM(field, type) ROW(field, ENUM, PEL_ENUM_##type)
#define CMPOPS(field) ROW(field, CMPOPS, 0)
#define INT(field) ROW(field, INT, 0)
#define STR_OPT(field) ROW(field, STR_OPT, 0)
#define NODE(kind, class, fields)                                                                                      \
    static const pel_field *fields_of_##kind(void) {                                                                   \
        typedef struct layout_##kind THIS __attribute__((unused));                                                     \
        static const pel_field table[] = { fields{ .name = NULL } };                                                   \
        return table;                                                                                                  \
    }
#include "python/ast.def"
#undef NODE

const pel_kind_info pel_kinds[PEL_KIND_COUNT] = {
#define NODE(kind, class, fields)                                                                                      \
    [PEL_##kind] = { #kind, PEL_##class, (uint16_t)(HEADER + sizeof(struct layout_##kind)), fields_of_##kind },
#include "python/ast.def"
#undef NODE
};

#define X(name, text) text,
static const char *const operator_texts[] = { PEL_OPERATORS(X) };
static const char *const unaryop_texts[] = { PEL_UNARYOPS(X) };
static const char *const boolop_texts[] = { PEL_BOOLOPS(X) };
static const char *const cmpop_texts[] = { PEL_CMPOPS(X) };
#undef X
#define X(name, text) #name,
static const char *const operator_names[] = { PEL_OPERATORS(X) };
static const char *const unaryop_names[] = { PEL_UNARYOPS(X) };
static const char *const boolop_names[] = { PEL_BOOLOPS(X) };
static const char *const cmpop_names[] = { PEL_CMPOPS(X) };
static const char *const ctx_names[] = { PEL_CTXS(X) };
#undef X

const char *pel_operator_text(pel_OPERATOR op) { return operator_texts[op]; }
const char *pel_unaryop_text(pel_UNARYOP op) { return unaryop_texts[op]; }
const char *pel_boolop_text(pel_BOOLOP op) { return boolop_texts[op]; }
const char *pel_cmpop_text(pel_CMPOP op) { return cmpop_texts[op]; }
const char *pel_cmpop_name(pel_CMPOP op) { return cmpop_names[op]; }

const char *pel_enum_name(pel_enum_type type, int value) {
    switch (type) {
    case PEL_ENUM_CTX: return ctx_names[value];
    case PEL_ENUM_BOOLOP: return boolop_names[value];
    case PEL_ENUM_OPERATOR: return operator_names[value];
    case PEL_ENUM_UNARYOP: return unaryop_names[value];
    }
    PEL_BUG("unknown enum");
}

/* ---- making nodes ---- */

pel_node *pel_node_new(pel_ctx *ctx, pel_kind kind) {
    pel_node *node = pel_alloc(ctx, pel_kinds[kind].size);
    node->kind = (uint8_t)kind;
    return node;
}

pel_nodes pel_nodes_of(pel_ctx *ctx, pel_node *const *at, uint32_t n) {
    pel_nodes list = { n ? pel_alloc_raw(ctx, n * sizeof *at) : NULL, n };
    if (n) memcpy(list.at, at, n * sizeof *at);
    return list;
}

pel_nodes pel_nodes_one(pel_ctx *ctx, pel_node *node) { return pel_nodes_of(ctx, &node, 1); }

void pel_nodes_push(pel_ctx *ctx, pel_nodes *list, pel_node *node) {
    /* The capacity is implied: a list of n has room for the next power of two. */
    if ((list->n & (list->n - 1)) == 0) {
        pel_node **moved = pel_alloc_array(ctx, list->n ? list->n * 2u : 1u, sizeof *moved);
        if (list->n) memcpy(moved, list->at, list->n * sizeof *moved);
        list->at = moved;
    }
    list->at[list->n++] = node;
}

pel_node *pel_make_name(pel_ctx *ctx, pel_name id, pel_CTX use) {
    pel_node *node = pel_node_new(ctx, PEL_Name);
    node->Name.id = id;
    node->Name.ctx = use;
    return node;
}

pel_node *pel_make_keyword(pel_ctx *ctx, pel_name name, pel_node *value) {
    pel_node *node = pel_node_new(ctx, PEL_keyword);
    node->keyword.arg = name;
    node->keyword.value = value;
    return node;
}

pel_node *pel_make_attribute(pel_ctx *ctx, pel_node *value, pel_name attr, pel_CTX use) {
    pel_node *node = pel_node_new(ctx, PEL_Attribute);
    node->Attribute.value = value;
    node->Attribute.attr = attr;
    node->Attribute.ctx = use;
    return node;
}

pel_node *pel_make_constant(pel_ctx *ctx, const pel_const *value) {
    pel_node *node = pel_node_new(ctx, PEL_Constant);
    node->Constant.value = value;
    return node;
}

pel_node *pel_make_none(pel_ctx *ctx) { return pel_make_constant(ctx, &pel_none); }

pel_node *pel_make_int(pel_ctx *ctx, int64_t value) { return pel_make_constant(ctx, pel_const_int(ctx, value)); }

pel_node *pel_make_text(pel_ctx *ctx, pel_str value) { return pel_make_constant(ctx, pel_const_str(ctx, value)); }

pel_node *pel_make_subscript(pel_ctx *ctx, pel_node *value, pel_node *slice, pel_CTX use) {
    pel_node *node = pel_node_new(ctx, PEL_Subscript);
    node->Subscript.value = value;
    node->Subscript.slice = slice;
    node->Subscript.ctx = use;
    return node;
}

pel_node *pel_make_chain(pel_ctx *ctx, pel_nodes operands, pel_CMPOP op) {
    pel_node *node = pel_node_new(ctx, PEL_Compare);
    uint32_t n = operands.n - 1;
    node->Compare.left = operands.at[0];
    node->Compare.ops = (pel_cmpops){ pel_alloc_raw(ctx, n), n };
    memset(node->Compare.ops.at, (int)op, n);
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(ctx, &node->Compare.comparators, operands.at[i + 1]);
    return node;
}

pel_node *pel_make_compare(pel_ctx *ctx, pel_node *left, pel_CMPOP op, pel_node *right) {
    pel_nodes operands = pel_nodes_one(ctx, left);
    pel_nodes_push(ctx, &operands, right);
    return pel_make_chain(ctx, operands, op);
}

pel_node *pel_make_boolop(pel_ctx *ctx, pel_BOOLOP op, pel_nodes values) {
    pel_node *node = pel_node_new(ctx, PEL_BoolOp);
    node->BoolOp.op = op;
    node->BoolOp.values = values;
    return node;
}

pel_node *pel_make_starred(pel_ctx *ctx, pel_node *value) {
    pel_node *node = pel_node_new(ctx, PEL_Starred);
    node->Starred.value = value;
    return node;
}

pel_node *pel_make_binop(pel_ctx *ctx, pel_node *left, pel_OPERATOR op, pel_node *right) {
    pel_node *node = pel_node_new(ctx, PEL_BinOp);
    node->BinOp.left = left;
    node->BinOp.op = op;
    node->BinOp.right = right;
    return node;
}

pel_node *pel_make_call(pel_ctx *ctx, pel_node *func, pel_nodes args, pel_nodes keywords) {
    pel_node *node = pel_node_new(ctx, PEL_Call);
    node->Call.func = func;
    node->Call.args = args;
    node->Call.keywords = keywords;
    return node;
}

pel_node *pel_make_assign(pel_ctx *ctx, pel_node *target, pel_node *value) {
    pel_node *node = pel_node_new(ctx, PEL_Assign);
    node->Assign.targets = pel_nodes_one(ctx, target);
    node->Assign.value = value;
    return node;
}

pel_node *pel_make_expr(pel_ctx *ctx, pel_node *value) {
    pel_node *node = pel_node_new(ctx, PEL_Expr);
    node->Expr.value = value;
    return node;
}

pel_node *pel_make_assert(pel_ctx *ctx, pel_node *test, pel_node *message) {
    pel_node *node = pel_node_new(ctx, PEL_Assert);
    node->Assert.test = test;
    node->Assert.msg = message;
    return node;
}

pel_node *pel_make_return(pel_ctx *ctx, pel_node *value) {
    pel_node *node = pel_node_new(ctx, PEL_Return);
    node->Return.value = value;
    return node;
}

pel_node *pel_make_comment(pel_ctx *ctx, pel_str text) {
    pel_node *node = pel_node_new(ctx, PEL_Comment);
    node->Comment.text = text;
    return node;
}

/* ---- treating all nodes alike ---- */

pel_nodes *pel_block_at(pel_node *node, uint32_t i) {
    for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
        if (field->type == PEL_FIELD_LIST && field->of == PEL_STMT && !i--) return pel_field_at(node, field, pel_nodes);
    return NULL;
}

void pel_each_child(pel_node *node, pel_visit *visit, void *arg) {
    for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++) {
        if (field->type == PEL_FIELD_ONE || field->type == PEL_FIELD_OPT) {
            pel_node **slot = pel_field_at(node, field, pel_node *);
            if (*slot) visit(arg, slot);
        } else if (field->type == PEL_FIELD_LIST || field->type == PEL_FIELD_HOLES) {
            pel_nodes *list = pel_field_at(node, field, pel_nodes);
            for (uint32_t i = 0; i < list->n; i++)
                if (list->at[i]) visit(arg, &list->at[i]);
        }
    }
}

typedef struct replacement {
    pel_name name;
    pel_node *by;
} replacement;

static void replace(void *arg, pel_node **slot) {
    const replacement *r = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == r->name)
        *slot = r->by;
    else
        pel_each_child(*slot, replace, arg);
}

void pel_replace_name(pel_node **slot, pel_name name, pel_node *by) {
    replacement r = { name, by };
    replace(&r, slot);
}

pel_node *pel_copy_node(pel_ctx *ctx, const pel_node *node) {
    pel_node *copy = pel_alloc_raw(ctx, pel_kinds[node->kind].size);
    return memcpy(copy, node, pel_kinds[node->kind].size);
}

pel_node *pel_copy(pel_ctx *ctx, const pel_node *node) {
    if (!node) return NULL;
    pel_node *copy = pel_copy_node(ctx, node);
    for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++) {
        if (field->type == PEL_FIELD_ONE || field->type == PEL_FIELD_OPT) {
            pel_node **slot = pel_field_at(copy, field, pel_node *);
            *slot = pel_copy(ctx, *slot);
        } else if (field->type == PEL_FIELD_LIST || field->type == PEL_FIELD_HOLES) {
            pel_nodes *list = pel_field_at(copy, field, pel_nodes);
            *list = pel_nodes_of(ctx, list->at, list->n);
            for (uint32_t i = 0; i < list->n; i++) list->at[i] = pel_copy(ctx, list->at[i]);
        }
    }
    return copy;
}

bool pel_same_list(pel_nodes a, pel_nodes b) {
    if (a.n != b.n) return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (!pel_same(a.at[i], b.at[i])) return false;
    return true;
}

static bool same_names(pel_name_list a, pel_name_list b) {
    if (a.n != b.n) return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (a.at[i] != b.at[i]) return false;
    return true;
}

static bool same_name(pel_name a, pel_name b) {
    /* Trees of two analyses have names of two tables. */
    return a == b || (a && b && pel_str_eq(pel_name_str(a), pel_name_str(b)));
}

/* Positions and marks don't count, so that a text of ours can equal the author's. The table of fields says what does: a
 * new kind of node needs no rule here. */
bool pel_same(const pel_node *a, const pel_node *b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind) return false;
    for (const pel_field *field = pel_kinds[a->kind].fields(); field->name; field++) {
#define BOTH(type) *pel_field_at(a, field, type), *pel_field_at(b, field, type)
        bool same = false;
        switch (field->type) {
        case PEL_FIELD_ONE:
        case PEL_FIELD_OPT: same = pel_same(BOTH(pel_node *)); break;
        case PEL_FIELD_LIST:
        case PEL_FIELD_HOLES: same = pel_same_list(BOTH(pel_nodes)); break;
        case PEL_FIELD_NAME:
        case PEL_FIELD_NAME_OPT: same = same_name(BOTH(pel_name)); break;
        case PEL_FIELD_NAMES: same = same_names(BOTH(pel_name_list)); break;
        case PEL_FIELD_CONST: same = pel_const_same(BOTH(const pel_const *)); break;
        case PEL_FIELD_ENUM:
        case PEL_FIELD_INT: same = *pel_field_at(a, field, int) == *pel_field_at(b, field, int); break;
        case PEL_FIELD_STR_OPT: same = pel_str_eq(BOTH(pel_str)); break;
        case PEL_FIELD_CMPOPS: {
            const pel_cmpops *x = pel_field_at(a, field, pel_cmpops), *y = pel_field_at(b, field, pel_cmpops);
            same = x->n == y->n && (x->n == 0 || memcmp(x->at, y->at, x->n) == 0);
            break;
        }
        }
#undef BOTH
        if (!same) return false;
    }
    return true;
}
