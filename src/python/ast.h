/* The Python AST: the first of the two hubs. The parser, the decompiler and the skeleton synthesiser
 * make it; one printer prints it; one interpreter runs it. Kinds and fields are CPython's (ast.def).
 *
 * node->BinOp.left reads a field. A node is allocated only as large as its kind needs, so a kind may
 * change only to one that pel_node_size says is no larger. */
#ifndef PEL_PYTHON_AST_H
#define PEL_PYTHON_AST_H

#include "base/buf.h"
#include "python/constant.h"

typedef struct pel_node pel_node;

typedef enum pel_kind {
    PEL_NO_KIND,
#define NODE(kind, class, fields) PEL_##kind,
#include "python/ast.def"
#undef NODE
    PEL_KIND_COUNT
} pel_kind;

/* clang-format off */
/* Where a node may stand. */
typedef enum pel_class {
    PEL_MOD, PEL_STMT, PEL_EXPR, PEL_COMPREHENSION, PEL_EXCEPTHANDLER, PEL_ARGUMENTS, PEL_ARG, PEL_KEYWORD,
    PEL_ALIAS, PEL_WITHITEM, PEL_MATCH_CASE, PEL_PATTERN, PEL_TYPE_PARAM,
} pel_class;

/* Operators, in CPython's order; X(name, text). */
#define PEL_OPERATORS(X)                                                                                               \
    X(Add, "+") X(Sub, "-") X(Mult, "*") X(MatMult, "@") X(Div, "/") X(Mod, "%") X(Pow, "**") X(LShift, "<<")          \
    X(RShift, ">>") X(BitOr, "|") X(BitXor, "^") X(BitAnd, "&") X(FloorDiv, "//")
#define PEL_UNARYOPS(X) X(Invert, "~") X(Not, "not ") X(UAdd, "+") X(USub, "-")
#define PEL_BOOLOPS(X) X(And, "and") X(Or, "or")
#define PEL_CMPOPS(X)                                                                                                  \
    X(Eq, "==") X(NotEq, "!=") X(Lt, "<") X(LtE, "<=") X(Gt, ">") X(GtE, ">=") X(Is, "is") X(IsNot, "is not")          \
    X(In, "in") X(NotIn, "not in")
#define PEL_CTXS(X) X(Load, "") X(Store, "") X(Del, "")

#define X(name, text) PEL_##name,
typedef enum pel_OPERATOR { PEL_OPERATORS(X) } pel_OPERATOR;
typedef enum pel_UNARYOP { PEL_UNARYOPS(X) } pel_UNARYOP;
typedef enum pel_BOOLOP { PEL_BOOLOPS(X) } pel_BOOLOP;
typedef enum pel_CMPOP { PEL_CMPOPS(X) } pel_CMPOP;
typedef enum pel_CTX { PEL_CTXS(X) } pel_CTX;
#undef X
/* clang-format on */

typedef struct pel_nodes {
    pel_node **at;
    uint32_t n;
} pel_nodes;

typedef struct pel_name_list {
    pel_name *at;
    uint32_t n;
} pel_name_list;

typedef struct pel_cmpops {
    uint8_t *at; /* enum pel_CMPOP */
    uint32_t n;
} pel_cmpops;

struct pel_node {
    uint8_t kind;   /* enum pel_kind */
    uint8_t parens; /* parser: how many parentheses of its own the expression stood in */
    uint32_t mark;  /* what made a generated node: instruction offset + 1, or a row of its stage's table; 0: none */
    uint32_t lineno, col_offset, end_lineno, end_col_offset; /* as CPython: lines from 1, UTF-8 bytes from 0 */
    union {
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
#define NODE(kind, class, fields) struct { fields } kind;
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
    };
};

/* ---- what the list says about a kind, for passes that treat all nodes alike ---- */

/* clang-format off */
typedef enum pel_field_type {
    PEL_FIELD_ONE, PEL_FIELD_OPT, PEL_FIELD_LIST, PEL_FIELD_HOLES, PEL_FIELD_NAME, PEL_FIELD_NAME_OPT, PEL_FIELD_NAMES,
    PEL_FIELD_CONST, PEL_FIELD_ENUM, PEL_FIELD_CMPOPS, PEL_FIELD_INT, PEL_FIELD_STR_OPT,
} pel_field_type;
/* clang-format on */

typedef enum pel_enum_type { PEL_ENUM_CTX, PEL_ENUM_BOOLOP, PEL_ENUM_OPERATOR, PEL_ENUM_UNARYOP } pel_enum_type;

typedef struct pel_field {
    const char *name;
    pel_field_type type;
    uint16_t offset;
    uint8_t of; /* enum pel_class of a child, enum pel_enum_type of an ENUM */
} pel_field;

typedef struct pel_kind_info {
    const char *name;
    pel_class class;
    uint16_t size;
    const pel_field *(*fields)(void); /* ends with a row whose name is NULL */
} pel_kind_info;

extern const pel_kind_info pel_kinds[PEL_KIND_COUNT];

#define pel_field_at(node, field, type) ((type *)(void *)((char *)(node) + (field)->offset))

const char *pel_operator_text(pel_OPERATOR op);
const char *pel_unaryop_text(pel_UNARYOP op);
const char *pel_boolop_text(pel_BOOLOP op);
const char *pel_cmpop_text(pel_CMPOP op);
/* The name of an operator's class: "Add", "Load". */
const char *pel_enum_name(pel_enum_type type, int value);
const char *pel_cmpop_name(pel_CMPOP op);

/* ---- making nodes ---- */

pel_node *pel_node_new(pel_ctx *ctx, pel_kind kind);
static inline size_t pel_node_size(pel_kind kind) { return pel_kinds[kind].size; }
pel_nodes pel_nodes_of(pel_ctx *ctx, pel_node *const *at, uint32_t n);
pel_nodes pel_nodes_one(pel_ctx *ctx, pel_node *node);
void pel_nodes_push(pel_ctx *ctx, pel_nodes *list, pel_node *node); /* grows by doubling; for lists built in passing */

/* Short hands for generated code. Names are Load unless said otherwise. */
pel_node *pel_make_name(pel_ctx *ctx, pel_name id, pel_CTX use);
pel_node *pel_make_attribute(pel_ctx *ctx, pel_node *value, pel_name attr, pel_CTX use);
pel_node *pel_make_constant(pel_ctx *ctx, const pel_const *value);
pel_node *pel_make_none(pel_ctx *ctx);
pel_node *pel_make_int(pel_ctx *ctx, int64_t value);
pel_node *pel_make_text(pel_ctx *ctx, pel_str value);
pel_node *pel_make_subscript(pel_ctx *ctx, pel_node *value, pel_node *slice, pel_CTX use);
pel_node *pel_make_compare(pel_ctx *ctx, pel_node *left, pel_CMPOP op, pel_node *right);
pel_node *pel_make_chain(pel_ctx *ctx, pel_nodes operands, pel_CMPOP op); /* a is b is c; two or more */
pel_node *pel_make_boolop(pel_ctx *ctx, pel_BOOLOP op, pel_nodes values);
pel_node *pel_make_starred(pel_ctx *ctx, pel_node *value);
pel_node *pel_make_binop(pel_ctx *ctx, pel_node *left, pel_OPERATOR op, pel_node *right);
pel_node *pel_make_keyword(pel_ctx *ctx, pel_name name, pel_node *value); /* no name: **value */
pel_node *pel_make_call(pel_ctx *ctx, pel_node *func, pel_nodes args, pel_nodes keywords);
pel_node *pel_make_assign(pel_ctx *ctx, pel_node *target, pel_node *value);
pel_node *pel_make_expr(pel_ctx *ctx, pel_node *value);
pel_node *pel_make_assert(pel_ctx *ctx, pel_node *test, pel_node *message);
pel_node *pel_make_return(pel_ctx *ctx, pel_node *value);
pel_node *pel_make_comment(pel_ctx *ctx, pel_str text);

/* ---- asking nodes ---- */

static inline bool pel_is_none(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_NONE;
}
static inline bool pel_is_truth(const pel_node *node, bool truth) { /* True, or False */
    return node->kind == PEL_Constant && node->Constant.value->kind == (truth ? PEL_CONST_TRUE : PEL_CONST_FALSE);
}
/* Whether node is that whole number, as a literal. */
static inline bool pel_is_number(const pel_node *node, int64_t value) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_INT &&
           !node->Constant.value->integer.digits.len && node->Constant.value->integer.small == value;
}

/* ---- names ---- */

/* What a name or a dotted name ends with: the attr of nn.Linear; NULL for other expressions. */
static inline pel_name pel_last_name(const pel_node *node) {
    return node->kind == PEL_Name ? node->Name.id : node->kind == PEL_Attribute ? node->Attribute.attr : NULL;
}

/* The name that `name = value` binds; NULL for other statements. */
static inline pel_name pel_bound_name(const pel_node *node) {
    bool is_one = node->kind == PEL_Assign && node->Assign.targets.n == 1;
    return is_one && node->Assign.targets.at[0]->kind == PEL_Name ? node->Assign.targets.at[0]->Name.id : NULL;
}

static inline bool pel_names_have(pel_name_list names, pel_name name) {
    for (uint32_t i = 0; i < names.n; i++)
        if (names.at[i] == name) return true;
    return false;
}
bool pel_is_keyword(pel_str name);    /* of every Python 3; not `match` and its like */
bool pel_is_identifier(pel_str name); /* and no keyword */

/* ---- treating all nodes alike ---- */

/* Calls visit for each child of node, in the order of the fields; NULL children are passed over.
 * slot is where the child hangs: visit may put another node there. */
typedef void pel_visit(void *arg, pel_node **slot);
void pel_each_child(pel_node *node, pel_visit *visit, void *arg);
/* The blocks of statements that a statement has: its body, what stands behind else. NULL: not so many. */
pel_nodes *pel_block_at(pel_node *node, uint32_t i);

/* Hangs `by` in the place of every Name of that name below slot, whatever it does there. */
void pel_replace_name(pel_node **slot, pel_name name, pel_node *by);

/* A deep copy. Constants and names are shared. */
pel_node *pel_copy(pel_ctx *ctx, const pel_node *node);
/* The node alone; what is below it is shared. A node is only as large as its kind: `*a = *b` reads beyond it. */
pel_node *pel_copy_node(pel_ctx *ctx, const pel_node *node);

/* Whether two trees are the same program; positions, marks and parentheses don't count. */
bool pel_same(const pel_node *a, const pel_node *b);
bool pel_same_list(pel_nodes a, pel_nodes b);

/* The tree as indented text, one line per node with its position. */
void pel_ast_text(pel_ctx *ctx, const pel_node *root, pel_buf *out);

/* Throws PEL_E_INCOMPLETE if the tree is not one that CPython's compiler would accept as a tree:
 * missing children, wrong classes, Store where Load must be, lists of unequal length, names that are no
 * identifiers. Throws PEL_E_TOO_DEEP at depth 10,000. Subtrees may be shared. */
void pel_ast_check(pel_ctx *ctx, const pel_node *root);

#endif
