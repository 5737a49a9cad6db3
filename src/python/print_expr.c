#include "python/printer.h"

/* ---- levels ---- */

static pel_level level_of_operator(pel_OPERATOR op) {
    static const uint8_t levels[] = {
        [PEL_Add] = PEL_LEVEL_ARITH,     [PEL_Sub] = PEL_LEVEL_ARITH,     [PEL_Mult] = PEL_LEVEL_TERM,
        [PEL_MatMult] = PEL_LEVEL_TERM,  [PEL_Div] = PEL_LEVEL_TERM,      [PEL_Mod] = PEL_LEVEL_TERM,
        [PEL_Pow] = PEL_LEVEL_POWER,     [PEL_LShift] = PEL_LEVEL_SHIFT,  [PEL_RShift] = PEL_LEVEL_SHIFT,
        [PEL_BitOr] = PEL_LEVEL_BITOR,   [PEL_BitXor] = PEL_LEVEL_BITXOR, [PEL_BitAnd] = PEL_LEVEL_BITAND,
        [PEL_FloorDiv] = PEL_LEVEL_TERM,
    };
    return (pel_level)levels[op];
}

static pel_level level_of(const pel_node *node) {
    switch (node->kind) {
    case PEL_Yield:
    case PEL_YieldFrom: return PEL_LEVEL_YIELD;
    case PEL_NamedExpr: return PEL_LEVEL_NAMED;
    case PEL_Lambda:
    case PEL_IfExp: return PEL_LEVEL_TEST;
    case PEL_BoolOp: return node->BoolOp.op == PEL_Or ? PEL_LEVEL_OR : PEL_LEVEL_AND;
    case PEL_UnaryOp: return node->UnaryOp.op == PEL_Not ? PEL_LEVEL_NOT : PEL_LEVEL_FACTOR;
    case PEL_Compare: return PEL_LEVEL_COMPARE;
    case PEL_BinOp: return level_of_operator(node->BinOp.op);
    case PEL_Await: return PEL_LEVEL_AWAIT;
    case PEL_Constant: return pel_constant_level(node->Constant.value);
    default: return PEL_LEVEL_ATOM;
    }
}

/* ---- rows in brackets ---- */

pel_row pel_row_open(pel_printer *p, const char *bracket, bool display) {
    pel_row row = { .brackets = pel_lay_open(&p->lay, PEL_GROUP_BRACKETS), .inner = PEL_NO_GROUP };
    pel_lay_c(&p->lay, bracket);
    pel_lay_indent(&p->lay);
    pel_lay_soft(&p->lay);
    if (!display) row.inner = pel_lay_open(&p->lay, PEL_GROUP_CHAIN);
    return row;
}

void pel_row_next(pel_printer *p, pel_row *row) {
    if (row->n++) {
        pel_lay_c(&p->lay, ",");
        pel_lay_line(&p->lay);
    }
}

void pel_row_close(pel_printer *p, pel_row *row, const char *bracket) {
    if (row->n > 1) pel_lay_if_broken(&p->lay, ",");
    pel_lay_close(&p->lay, row->inner);
    pel_lay_dedent(&p->lay);
    pel_lay_soft(&p->lay);
    pel_lay_c(&p->lay, bracket);
    pel_lay_close(&p->lay, row->brackets);
}

/* An element of a row of n: a sole one needs no parentheses of its own to break. */
static void print_element(pel_printer *p, pel_node *node, uint32_t n) {
    if (n > 1)
        pel_print_loose(p, node, PEL_LEVEL_TEST);
    else
        pel_print_expr(p, node, PEL_LEVEL_TEST);
}

static bool is_number(const pel_node *node) {
    if (node->kind == PEL_UnaryOp && node->UnaryOp.op != PEL_Not) node = node->UnaryOp.operand;
    if (node->kind != PEL_Constant) return false;
    pel_const_kind kind = node->Constant.value->kind;
    return kind == PEL_CONST_INT || kind == PEL_CONST_FLOAT || kind == PEL_CONST_COMPLEX;
}

/* Tables of numbers share lines. */
#define TABLE_SIZE 8
static bool is_table(pel_nodes elements) {
    for (uint32_t i = 0; i < elements.n; i++)
        if (!is_number(elements.at[i])) return false;
    return elements.n >= TABLE_SIZE;
}

static void print_display(pel_printer *p, const char *open, pel_nodes elements, const char *close) {
    if (!elements.n) {
        pel_lay_c(&p->lay, open);
        pel_lay_c(&p->lay, close);
        return;
    }
    pel_row row = pel_row_open(p, open, true);
    if (is_table(elements)) row.inner = pel_lay_open(&p->lay, PEL_GROUP_FILL);
    for (uint32_t i = 0; i < elements.n; i++) {
        pel_row_next(p, &row);
        print_element(p, elements.at[i], elements.n);
    }
    bool is_tuple = *open == '(';
    if (is_tuple && elements.n == 1) pel_lay_c(&p->lay, ",");
    pel_row_close(p, &row, close);
}

static void print_dict(pel_printer *p, pel_node *node) {
    pel_nodes keys = node->Dict.keys, values = node->Dict.values;
    if (!values.n) {
        pel_lay_c(&p->lay, "{}");
        return;
    }
    pel_row row = pel_row_open(p, "{", true);
    for (uint32_t i = 0; i < values.n; i++) {
        pel_row_next(p, &row);
        if (keys.at[i]) {
            pel_print_expr(p, keys.at[i], PEL_LEVEL_TEST);
            pel_lay_c(&p->lay, ": ");
            pel_print_loose(p, values.at[i], PEL_LEVEL_TEST);
        } else {
            pel_lay_c(&p->lay, "**");
            pel_print_loose(p, values.at[i], PEL_LEVEL_BITOR);
        }
    }
    pel_row_close(p, &row, "}");
}

/* ---- comprehensions ---- */

static void print_clauses(pel_printer *p, pel_nodes generators) {
    for (uint32_t i = 0; i < generators.n; i++) {
        pel_node *clause = generators.at[i];
        if (clause->parens) pel_lay_apart(&p->lay); /* the decompiler knows that it stood on a line of its own */
        pel_lay_line(&p->lay);
        pel_lay_start(&p->lay, clause);
        pel_lay_c(&p->lay, clause->comprehension.is_async ? "async for " : "for ");
        pel_print_target(p, clause->comprehension.target);
        pel_lay_c(&p->lay, " in ");
        pel_print_loose(p, clause->comprehension.iter, PEL_LEVEL_OR);
        for (uint32_t k = 0; k < clause->comprehension.ifs.n; k++) {
            pel_lay_line(&p->lay);
            pel_lay_c(&p->lay, "if ");
            pel_print_loose(p, clause->comprehension.ifs.at[k], PEL_LEVEL_OR);
        }
        pel_lay_end(&p->lay, clause);
    }
}

static void print_comprehension(pel_printer *p, const char *open, pel_node *key, pel_node *elt, pel_nodes generators,
                                const char *close) {
    pel_row row = pel_row_open(p, open, false);
    if (key) {
        if (!elt) pel_lay_c(&p->lay, "**");
        pel_print_expr(p, key, PEL_LEVEL_TEST);
        if (elt) pel_lay_c(&p->lay, ": ");
    }
    if (elt) pel_print_loose(p, elt, PEL_LEVEL_TEST);
    print_clauses(p, generators);
    pel_row_close(p, &row, close);
}

/* ---- operators ---- */

/* Breaks before the operator; says where that is. */
static uint32_t print_operator(pel_printer *p, const char *text) {
    uint32_t here = pel_lay_here(&p->lay);
    pel_lay_line(&p->lay);
    pel_lay_c(&p->lay, text);
    pel_lay_c(&p->lay, " ");
    return here;
}

static void close_chain(pel_printer *p, uint32_t chain, uint32_t last_operator) {
    p->lay.last_operator = last_operator;
    pel_lay_close(&p->lay, chain);
}

/* Operands of `**` that are written close to it: x**-2, but f(x) ** 2 and (-x) ** 2. */
static bool is_simple_operand(const pel_node *node, bool is_left) {
    if (is_left && level_of(node) < PEL_LEVEL_AWAIT) return false;
    if (node->kind == PEL_UnaryOp && node->UnaryOp.op != PEL_Not) node = node->UnaryOp.operand;
    while (node->kind == PEL_Attribute) node = node->Attribute.value;
    return node->kind == PEL_Name || is_number(node);
}

static void print_power(pel_printer *p, pel_node *node) {
    bool close = is_simple_operand(node->BinOp.left, true) && is_simple_operand(node->BinOp.right, false);
    uint32_t chain = pel_lay_open(&p->lay, PEL_GROUP_CHAIN);
    pel_print_expr(p, node->BinOp.left, PEL_LEVEL_AWAIT);
    if (close)
        pel_lay_c(&p->lay, "**");
    else
        print_operator(p, "**");
    pel_print_expr(p, node->BinOp.right, PEL_LEVEL_FACTOR);
    pel_lay_close(&p->lay, chain);
}

/* a + b - c is a list as the reader sees it; as a tree it is as deep as it is long. */
static void print_binop(pel_printer *p, pel_node *node) {
    if (node->BinOp.op == PEL_Pow) {
        print_power(p, node);
        return;
    }
    pel_level level = level_of_operator(node->BinOp.op);
    PEL_VEC(pel_node *) spine = { 0 };
    for (pel_node *at = node; at->kind == PEL_BinOp && level_of_operator(at->BinOp.op) == level; at = at->BinOp.left)
        pel_push(p->ctx, &spine, at);
    uint32_t chain = pel_lay_open(&p->lay, PEL_GROUP_CHAIN);
    for (uint32_t i = 1; i < spine.n; i++) pel_lay_start(&p->lay, spine.at[i]);
    pel_print_loose(p, spine.at[spine.n - 1]->BinOp.left, level);
    uint32_t last_operator = 0;
    for (uint32_t i = spine.n; i-- > 0;) {
        last_operator = print_operator(p, pel_operator_text(spine.at[i]->BinOp.op));
        pel_print_loose(p, spine.at[i]->BinOp.right, level + 1);
        if (i) pel_lay_end(&p->lay, spine.at[i]);
    }
    close_chain(p, chain, last_operator);
}

/* a is b is c is None: names share lines, as the numbers of a table do. */
static bool compares_names(const pel_node *node) {
    if (node->kind != PEL_Compare) return false;
    const pel_nodes operands = node->Compare.comparators;
    for (uint32_t i = 0; i < operands.n; i++)
        if (operands.at[i]->kind != PEL_Name && operands.at[i]->kind != PEL_Constant) return false;
    return operands.n > 2 && node->Compare.left->kind == PEL_Name;
}

/* An operand that shares lines with the names before it: of a short one nothing goes to the next line. */
static void print_filling(pel_printer *p, pel_node *node, pel_level level) {
    enum { SHORT = 40 };
    uint32_t from = pel_lay_here(&p->lay);
    pel_print_expr(p, node, level);
    uint32_t to = pel_lay_here(&p->lay);
    if (pel_lay_width(&p->lay, from, to) <= SHORT) pel_lay_freeze(&p->lay, from, to);
}

static void print_boolop(pel_printer *p, pel_node *node) {
    pel_level level = level_of(node);
    bool fills = compares_names(node->BoolOp.values.at[0]);
    uint32_t chain = pel_lay_open(&p->lay, fills ? PEL_GROUP_FILL : PEL_GROUP_CHAIN);
    uint32_t last_operator = 0;
    for (uint32_t i = 0; i < node->BoolOp.values.n; i++) {
        if (i) last_operator = print_operator(p, pel_boolop_text(node->BoolOp.op));
        if (fills)
            print_filling(p, node->BoolOp.values.at[i], level + 1);
        else
            pel_print_loose(p, node->BoolOp.values.at[i], level + 1);
    }
    close_chain(p, chain, last_operator);
}

static void print_compare(pel_printer *p, pel_node *node) {
    uint32_t chain = pel_lay_open(&p->lay, compares_names(node) ? PEL_GROUP_FILL : PEL_GROUP_CHAIN);
    pel_print_loose(p, node->Compare.left, PEL_LEVEL_BITOR);
    uint32_t last_operator = 0;
    for (uint32_t i = 0; i < node->Compare.comparators.n; i++) {
        last_operator = print_operator(p, pel_cmpop_text((pel_CMPOP)node->Compare.ops.at[i]));
        pel_print_loose(p, node->Compare.comparators.at[i], PEL_LEVEL_BITOR);
    }
    close_chain(p, chain, last_operator);
}

/* a if b else c if d else e: one list, too. */
static void print_ifexp(pel_printer *p, pel_node *node) {
    PEL_VEC(pel_node *) spine = { 0 };
    uint32_t chain = pel_lay_open(&p->lay, PEL_GROUP_CHAIN);
    pel_node *at = node;
    for (; at->kind == PEL_IfExp; at = at->IfExp.orelse) {
        if (at != node) {
            pel_lay_start(&p->lay, at);
            pel_push(p->ctx, &spine, at);
        }
        pel_print_loose(p, at->IfExp.body, PEL_LEVEL_OR);
        print_operator(p, "if");
        pel_print_loose(p, at->IfExp.test, PEL_LEVEL_OR);
        print_operator(p, "else");
    }
    pel_print_loose(p, at, PEL_LEVEL_TEST);
    for (uint32_t i = spine.n; i-- > 0;) pel_lay_end(&p->lay, spine.at[i]);
    pel_lay_close(&p->lay, chain);
}

/* ---- primaries: a.b[c](d) ---- */

static bool is_breakable_index(const pel_node *index) {
    switch (index->kind) {
    case PEL_Name:
    case PEL_Attribute:
    case PEL_Constant:
    case PEL_UnaryOp:
    case PEL_Slice: return false;
    default: return true;
    }
}

/* x[a:b], but x[a + 1 : b]: the colon binds looser than any operator. */
static bool is_simple_bound(const pel_node *node) {
    if (!node) return true;
    if (node->kind == PEL_UnaryOp && node->UnaryOp.op != PEL_Not) node = node->UnaryOp.operand;
    return node->kind == PEL_Name || node->kind == PEL_Constant;
}

static void print_bound(pel_printer *p, pel_node *bound, bool wide, bool is_first) {
    if (!is_first) pel_lay_c(&p->lay, ":");
    if (!bound) return;
    if (wide && !is_first) pel_lay_c(&p->lay, " ");
    pel_print_loose(p, bound, PEL_LEVEL_TEST);
}

static void print_slice(pel_printer *p, pel_node *node) {
    pel_node *lower = node->Slice.lower, *upper = node->Slice.upper, *step = node->Slice.step;
    bool wide = !(is_simple_bound(lower) && is_simple_bound(upper) && is_simple_bound(step));
    print_bound(p, lower, wide, true);
    if (wide && lower) pel_lay_c(&p->lay, " ");
    print_bound(p, upper, wide, false);
    if (!step) return;
    if (wide && upper) pel_lay_c(&p->lay, " ");
    print_bound(p, step, wide, false);
}

static bool has_starred(pel_nodes elements) {
    for (uint32_t i = 0; i < elements.n; i++)
        if (elements.at[i]->kind == PEL_Starred) return true;
    return false;
}

static bool has_slice(pel_nodes elements) {
    for (uint32_t i = 0; i < elements.n; i++)
        if (elements.at[i]->kind == PEL_Slice) return true;
    return false;
}

/* x[a, b]: whether the tuple may go without parentheses. */
static bool is_bare_index(const pel_printer *p, const pel_node *index) {
    if (index->kind == PEL_Constant && index->Constant.value->kind == PEL_CONST_TUPLE) return false;
    if (index->kind != PEL_Tuple || !index->Tuple.elts.n) return false;
    if (has_slice(index->Tuple.elts)) return true;
    return index->Tuple.elts.n > 1 && (p->version >= 11 || !has_starred(index->Tuple.elts));
}

static void print_index(pel_printer *p, pel_node *index) {
    bool frozen = !is_breakable_index(index);
    if (frozen) p->lay.nobreak++;
    pel_row row = pel_row_open(p, "[", false);
    if (is_bare_index(p, index)) {
        pel_lay_start(&p->lay, index);
        for (uint32_t i = 0; i < index->Tuple.elts.n; i++) {
            pel_row_next(p, &row);
            print_element(p, index->Tuple.elts.at[i], index->Tuple.elts.n);
        }
        if (row.n == 1)
            pel_lay_c(&p->lay, ",");
        else
            pel_lay_if_broken(&p->lay, ",");
        row.n = 0; /* the comma is the tuple's */
        pel_lay_end(&p->lay, index);
    } else {
        pel_print_expr(p, index, PEL_LEVEL_TEST);
    }
    pel_row_close(p, &row, "]");
    if (frozen) p->lay.nobreak--;
}

/* f([…]) breaks inside the list, not around it; so does f(g([…])). */
static bool is_hugged(const pel_node *argument) {
    if (argument->kind == PEL_Starred) argument = argument->Starred.value;
    while (argument->kind == PEL_Call && argument->Call.args.n == 1 && !argument->Call.keywords.n)
        argument = argument->Call.args.at[0];
    switch (argument->kind) {
    case PEL_List: return argument->List.elts.n > 0;
    case PEL_Dict: return argument->Dict.values.n > 0;
    case PEL_Set:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp: return true;
    default: return false;
    }
}

static void print_keyword(pel_printer *p, pel_node *keyword, bool is_sole) {
    pel_lay_start(&p->lay, keyword);
    if (keyword->keyword.arg) {
        pel_lay_name(&p->lay, keyword->keyword.arg);
        pel_lay_c(&p->lay, "=");
        pel_print_loose(p, keyword->keyword.value, PEL_LEVEL_TEST);
    } else {
        pel_lay_c(&p->lay, "**");
        if (is_sole)
            pel_print_expr(p, keyword->keyword.value, PEL_LEVEL_BITOR);
        else
            pel_print_loose(p, keyword->keyword.value, PEL_LEVEL_BITOR);
    }
    pel_lay_end(&p->lay, keyword);
}

static void print_sole_argument(pel_printer *p, pel_node *argument) {
    if (argument->kind == PEL_NamedExpr)
        pel_print_expr(p, argument, PEL_LEVEL_NAMED);
    else
        print_element(p, argument, 1);
}

/* A name, a number, self.scale, x[0]: nothing that would have to be looked into. */
static bool is_word(const pel_node *node) {
    switch (node->kind) {
    case PEL_Name:
    case PEL_Constant: return true;
    case PEL_Attribute: return is_word(node->Attribute.value);
    case PEL_UnaryOp: return is_word(node->UnaryOp.operand);
    case PEL_Subscript: return is_word(node->Subscript.value) && is_word(node->Subscript.slice);
    default: return false;
    }
}

/* 4 * dim, kernel_size // 2 * dilation, (1, 2, 2): a size that is computed, or several. */
static bool is_size(const pel_node *node) {
    if (is_word(node)) return true;
    if (node->kind == PEL_BinOp) {
        const pel_node *left = node->BinOp.left, *right = node->BinOp.right;
        return is_size(left) && is_word(right) && (is_number(left) || is_number(right) || left->kind == PEL_BinOp);
    }
    if (node->kind != PEL_Tuple || !node->Tuple.elts.n || node->Tuple.elts.n > 3) return false;
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
        if (!is_number(node->Tuple.elts.at[i])) return false;
    return true;
}

static bool is_small_call(const pel_node *node) {
    return node->kind == PEL_Call && is_word(node->Call.func) && !node->Call.keywords.n &&
           (!node->Call.args.n || (node->Call.args.n == 1 && is_word(node->Call.args.at[0])));
}

/* Arguments that share lines, like those of a definition: many, nothing but words and sizes, with a DropPath(0.1) among
 * them. */
#define MANY_ARGUMENTS 4
static bool are_words(pel_nodes args, pel_nodes keywords) {
    bool begins_plain = !args.n || is_size(args.at[0]);
    for (uint32_t i = 0; i < args.n + keywords.n; i++) {
        if (i >= args.n && !keywords.at[i - args.n]->keyword.arg) return false;
        const pel_node *value = i < args.n ? args.at[i] : keywords.at[i - args.n]->keyword.value;
        if (!is_size(value) && !(begins_plain && is_small_call(value))) return false;
    }
    return args.n + keywords.n >= MANY_ARGUMENTS;
}

void pel_print_arguments(pel_printer *p, pel_nodes args, pel_nodes keywords) {
    uint32_t n = args.n + keywords.n;
    bool sole_positional = n == 1 && args.n == 1;
    bool sole_unpacked = n == 1 && keywords.n == 1 && !keywords.at[0]->keyword.arg;
    if (!n) {
        pel_lay_c(&p->lay, "()");
    } else if (sole_positional && args.at[0]->kind == PEL_GeneratorExp) {
        pel_print_expr(p, args.at[0], PEL_LEVEL_ATOM); /* its parentheses are the call's */
    } else if (sole_positional && is_hugged(args.at[0])) {
        pel_lay_c(&p->lay, "(");
        pel_print_expr(p, args.at[0], PEL_LEVEL_TEST);
        pel_lay_c(&p->lay, ")");
    } else if (sole_unpacked && is_hugged(keywords.at[0]->keyword.value)) {
        pel_lay_c(&p->lay, "(");
        print_keyword(p, keywords.at[0], true);
        pel_lay_c(&p->lay, ")");
    } else {
        bool fills = are_words(args, keywords);
        pel_row row = pel_row_open(p, "(", fills);
        if (fills) row.inner = pel_lay_open(&p->lay, PEL_GROUP_FILL);
        for (uint32_t i = 0; i < args.n; i++) {
            pel_row_next(p, &row);
            bool whole = fills && is_size(args.at[i]);
            p->lay.nobreak += whole;
            if (n == 1)
                print_sole_argument(p, args.at[i]);
            else
                print_element(p, args.at[i], n);
            p->lay.nobreak -= whole;
        }
        for (uint32_t i = 0; i < keywords.n; i++) {
            pel_row_next(p, &row);
            bool whole = fills && is_size(keywords.at[i]->keyword.value);
            p->lay.nobreak += whole;
            print_keyword(p, keywords.at[i], n == 1);
            p->lay.nobreak -= whole;
        }
        pel_row_close(p, &row, ")");
    }
}

static bool is_primary(const pel_node *node) {
    return node->kind == PEL_Attribute || node->kind == PEL_Subscript || node->kind == PEL_Call;
}

static pel_node *inner_primary(const pel_node *node) {
    return node->kind == PEL_Attribute   ? node->Attribute.value
           : node->kind == PEL_Subscript ? node->Subscript.value
                                         : node->Call.func;
}

/* Calls of methods on the result of a call, such as the `.b()` in `self.a().b()`. */
static uint32_t count_links(const pel_node *node) {
    uint32_t links = 0;
    for (; is_primary(node); node = inner_primary(node))
        if (node->kind == PEL_Call && node->Call.func->kind == PEL_Attribute) {
            const pel_node *on = node->Call.func->Attribute.value;
            while (on->kind == PEL_Attribute || on->kind == PEL_Subscript) on = inner_primary(on);
            links += on->kind == PEL_Call;
        }
    return links;
}

static bool is_int(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_INT &&
           pel_constant_level(node->Constant.value) == PEL_LEVEL_ATOM;
}

static void print_trailer(pel_printer *p, pel_node *node) {
    if (node->kind == PEL_Attribute) {
        pel_lay_c(&p->lay, ".");
        pel_lay_name(&p->lay, node->Attribute.attr);
    } else if (node->kind == PEL_Subscript) {
        print_index(p, node->Subscript.slice);
    } else {
        pel_print_arguments(p, node->Call.args, node->Call.keywords);
    }
}

/* Behind longer brackets these don't break: f(a, long, list).view(-1) */
#define SHORT_TRAILER 16

/* dotted: there are brackets around, so that the chain may break before its methods' dots. */
static void print_primary(pel_printer *p, pel_node *node, bool dotted) {
    PEL_VEC(pel_node *) spine = { 0 };
    pel_node *base = node;
    for (; is_primary(base); base = inner_primary(base)) pel_push(p->ctx, &spine, base);
    uint32_t chain = dotted ? pel_lay_open(&p->lay, PEL_GROUP_CHAIN) : PEL_NO_GROUP;
    for (uint32_t i = 1; i < spine.n; i++) pel_lay_start(&p->lay, spine.at[i]);
    if (is_int(base) && spine.at[spine.n - 1]->kind == PEL_Attribute) { /* 1.real would be a float */
        pel_lay_c(&p->lay, "(");
        pel_print_expr(p, base, PEL_LEVEL_ATOM);
        pel_lay_c(&p->lay, ")");
    } else {
        pel_print_expr(p, base, PEL_LEVEL_ATOM);
    }
    uint32_t widest = 0;
    bool seen_call = false;
    for (uint32_t i = spine.n; i-- > 0;) {
        pel_node *trailer = spine.at[i];
        if (dotted && seen_call && trailer->kind == PEL_Attribute && i && spine.at[i - 1]->kind == PEL_Call)
            pel_lay_soft(&p->lay);
        seen_call |= trailer->kind == PEL_Call;
        uint32_t from = pel_lay_here(&p->lay), brackets = p->lay.last_brackets, lines = p->lay.lines_at_brackets;
        print_trailer(p, trailer);
        uint32_t width = pel_lay_width(&p->lay, from, pel_lay_here(&p->lay));
        if (trailer->kind != PEL_Attribute && width <= SHORT_TRAILER && width < widest) {
            pel_lay_freeze(&p->lay, from, pel_lay_here(&p->lay));
            p->lay.last_brackets = brackets;
            p->lay.lines_at_brackets = lines;
        }
        if (trailer->kind != PEL_Attribute && width > widest) widest = width;
        if (i) pel_lay_end(&p->lay, trailer);
    }
    pel_lay_close(&p->lay, chain);
}

/* ---- functions ---- */

static void print_parameter(pel_printer *p, const char *stars, pel_node *parameter, pel_node *fallback) {
    pel_node *annotation = parameter->arg.annotation;
    pel_lay_c(&p->lay, stars);
    pel_lay_start(&p->lay, parameter);
    pel_lay_name(&p->lay, parameter->arg.arg);
    if (annotation) {
        pel_lay_c(&p->lay, ": ");
        pel_print_expr(p, annotation, PEL_LEVEL_TEST);
    }
    pel_lay_end(&p->lay, parameter);
    if (fallback) {
        pel_lay_c(&p->lay, annotation ? " = " : "=");
        pel_print_loose(p, fallback, PEL_LEVEL_TEST);
    }
}

/* Bare names are short: many fit on a line. */
static bool has_annotations(const pel_node *arguments) {
    const pel_nodes rows[] = { arguments->arguments.posonlyargs, arguments->arguments.args,
                               arguments->arguments.kwonlyargs };
    for (size_t r = 0; r < PEL_COUNT(rows); r++)
        for (uint32_t i = 0; i < rows[r].n; i++)
            if (rows[r].at[i]->arg.annotation) return true;
    return false;
}

/* defaults belong to the last parameters of posonlyargs and args together, while kw_defaults has a NULL for each
 * keyword without one. A lambda has no brackets of its own, so no line may break in its parameters. */
void pel_print_parameters(pel_printer *p, pel_node *arguments, bool in_lambda) {
    pel_nodes posonly = arguments->arguments.posonlyargs, args = arguments->arguments.args;
    pel_nodes kwonly = arguments->arguments.kwonlyargs, defaults = arguments->arguments.defaults;
    uint32_t without_default = posonly.n + args.n - defaults.n;
    pel_row row = { .brackets = PEL_NO_GROUP, .inner = PEL_NO_GROUP };
    if (in_lambda)
        p->lay.nobreak++;
    else
        row = pel_row_open(p, "(", !has_annotations(arguments));
    if (!in_lambda && row.inner == PEL_NO_GROUP) row.inner = pel_lay_open(&p->lay, PEL_GROUP_FILL);
    pel_lay_start(&p->lay, arguments);
    for (uint32_t i = 0; i < posonly.n + args.n; i++) {
        pel_row_next(p, &row);
        pel_node *fallback = i >= without_default ? defaults.at[i - without_default] : NULL;
        print_parameter(p, "", i < posonly.n ? posonly.at[i] : args.at[i - posonly.n], fallback);
        if (i + 1 == posonly.n) {
            pel_row_next(p, &row);
            pel_lay_c(&p->lay, "/");
        }
    }
    if (arguments->arguments.vararg) {
        pel_row_next(p, &row);
        print_parameter(p, "*", arguments->arguments.vararg, NULL);
    } else if (kwonly.n) {
        pel_row_next(p, &row);
        pel_lay_c(&p->lay, "*");
    }
    for (uint32_t i = 0; i < kwonly.n; i++) {
        pel_row_next(p, &row);
        print_parameter(p, "", kwonly.at[i], arguments->arguments.kw_defaults.at[i]);
    }
    if (arguments->arguments.kwarg) {
        pel_row_next(p, &row);
        print_parameter(p, "**", arguments->arguments.kwarg, NULL);
    }
    pel_lay_end(&p->lay, arguments);
    if (in_lambda)
        p->lay.nobreak--;
    else
        pel_row_close(p, &row, ")");
}

static void print_lambda(pel_printer *p, pel_node *node) {
    const pel_node *arguments = node->Lambda.args;
    bool has_parameters = arguments->arguments.posonlyargs.n || arguments->arguments.args.n ||
                          arguments->arguments.vararg || arguments->arguments.kwonlyargs.n ||
                          arguments->arguments.kwarg;
    pel_lay_c(&p->lay, has_parameters ? "lambda " : "lambda");
    if (has_parameters) pel_print_parameters(p, node->Lambda.args, true);
    pel_lay_c(&p->lay, ": ");
    pel_print_loose(p, node->Lambda.body, PEL_LEVEL_TEST);
}

/* ---- the rest ---- */

static void print_unary(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, pel_unaryop_text(node->UnaryOp.op));
    /* not (a in b): the parentheses are for the reader, who would look for `not in`. */
    bool denies = node->UnaryOp.op == PEL_Not && node->UnaryOp.operand->kind == PEL_Compare;
    pel_print_expr(p, node->UnaryOp.operand, denies ? PEL_LEVEL_ATOM : level_of(node));
}

static void print_yield(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, "yield");
    if (!node->Yield.value) return;
    pel_lay_c(&p->lay, " ");
    pel_print_values(p, node->Yield.value);
}

static void print_bare(pel_printer *p, pel_node *node) {
    switch (node->kind) {
    case PEL_BoolOp: print_boolop(p, node); break;
    case PEL_NamedExpr:
        pel_print_expr(p, node->NamedExpr.target, PEL_LEVEL_ATOM);
        pel_lay_c(&p->lay, " := ");
        pel_print_expr(p, node->NamedExpr.value, PEL_LEVEL_TEST);
        break;
    case PEL_BinOp: print_binop(p, node); break;
    case PEL_UnaryOp: print_unary(p, node); break;
    case PEL_Lambda: print_lambda(p, node); break;
    case PEL_IfExp: print_ifexp(p, node); break;
    case PEL_Dict: print_dict(p, node); break;
    case PEL_Set:
        if (node->Set.elts.n)
            print_display(p, "{", node->Set.elts, "}");
        else
            pel_lay_c(&p->lay, "{*()}"); /* no display is an empty set */
        break;
    case PEL_ListComp: print_comprehension(p, "[", NULL, node->ListComp.elt, node->ListComp.generators, "]"); break;
    case PEL_SetComp: print_comprehension(p, "{", NULL, node->SetComp.elt, node->SetComp.generators, "}"); break;
    case PEL_DictComp:
        print_comprehension(p, "{", node->DictComp.key, node->DictComp.value, node->DictComp.generators, "}");
        break;
    case PEL_GeneratorExp:
        print_comprehension(p, "(", NULL, node->GeneratorExp.elt, node->GeneratorExp.generators, ")");
        break;
    case PEL_Await:
        pel_lay_c(&p->lay, "await ");
        pel_print_expr(p, node->Await.value, PEL_LEVEL_ATOM);
        break;
    case PEL_Yield: print_yield(p, node); break;
    case PEL_YieldFrom:
        pel_lay_c(&p->lay, "yield from ");
        pel_print_loose(p, node->YieldFrom.value, PEL_LEVEL_TEST);
        break;
    case PEL_Compare: print_compare(p, node); break;
    case PEL_Attribute:
    case PEL_Subscript:
    case PEL_Call: print_primary(p, node, false); break;
    case PEL_FormattedValue:
    case PEL_JoinedStr:
    case PEL_Interpolation:
    case PEL_TemplateStr: pel_print_fstring(p, node); break;
    case PEL_Constant: pel_print_constant(p, node->Constant.value, node->Constant.kind, false); break;
    case PEL_Starred:
        pel_lay_c(&p->lay, "*");
        pel_print_expr(p, node->Starred.value, PEL_LEVEL_BITOR);
        break;
    case PEL_Name: pel_lay_name(&p->lay, node->Name.id); break;
    case PEL_List: print_display(p, "[", node->List.elts, "]"); break;
    case PEL_Tuple: print_display(p, "(", node->Tuple.elts, ")"); break;
    case PEL_Slice: print_slice(p, node); break;
    default: PEL_BUG("not an expression");
    }
}

void pel_print_expr(pel_printer *p, pel_node *node, pel_level level) {
    pel_print_enter(p);
    bool parens = level_of(node) < level;
    pel_row row;
    if (parens) row = pel_row_open(p, "(", false);
    pel_lay_start(&p->lay, node);
    print_bare(p, node);
    pel_lay_end(&p->lay, node);
    if (parens) pel_row_close(p, &row, ")");
    pel_print_leave(p);
}

/* ---- optional parentheses ---- */

static uint32_t count_operators(const pel_node *node) {
    pel_level level = level_of(node);
    uint32_t n = 0;
    for (; node->kind == PEL_BinOp && level_of(node) == level; node = node->BinOp.left) n++;
    return n;
}

static bool is_format(const pel_node *node) { /* "…" % (a, b) */
    return node->kind == PEL_BinOp && node->BinOp.op == PEL_Mod && node->BinOp.left->kind == PEL_Constant &&
           node->BinOp.left->Constant.value->kind == PEL_CONST_STR;
}

static pel_group group_for(const pel_node *node) {
    for (;;) switch (node->kind) {
        case PEL_BoolOp: return node->BoolOp.values.n == 2 ? PEL_GROUP_OPERATOR : PEL_GROUP_PARENS;
        case PEL_IfExp: return PEL_GROUP_PARENS;
        case PEL_BinOp:
            if (is_format(node)) return PEL_GROUP_HUG;
            return count_operators(node) == 1 ? PEL_GROUP_OPERATOR : PEL_GROUP_PARENS;
        case PEL_Compare: return node->Compare.comparators.n == 1 ? PEL_GROUP_OPERATOR : PEL_GROUP_PARENS;
        case PEL_Subscript: return PEL_GROUP_INDEX;
        case PEL_UnaryOp: node = node->UnaryOp.operand; break;
        case PEL_Await: node = node->Await.value; break;
        case PEL_NamedExpr: node = node->NamedExpr.value; break;
        default: return PEL_GROUP_HUG;
        }
}

/* Names, literals and displays have nothing that optional parentheses would help to break. */
static bool is_atom(const pel_node *node) {
    switch (node->kind) {
    case PEL_Name:
    case PEL_Starred:
    case PEL_Slice:
    case PEL_Yield:
    case PEL_YieldFrom:
    case PEL_Lambda: return true;
    case PEL_Constant: return node->Constant.value->kind != PEL_CONST_STR;
    case PEL_TemplateStr:
    case PEL_JoinedStr: return false;
    default: return level_of(node) == PEL_LEVEL_ATOM && !is_primary(node);
    }
}

void pel_print_loose(pel_printer *p, pel_node *node, pel_level level) {
    if (is_atom(node) || level_of(node) < level) {
        pel_print_expr(p, node, level);
        return;
    }
    uint32_t parens = pel_lay_open_parens(&p->lay);
    pel_print_expr(p, node, level);
    pel_lay_close_parens(&p->lay, parens, group_for(node));
}

void pel_print_value(pel_printer *p, pel_node *node) {
    bool dotted = is_primary(node) && count_links(node) >= 2;
    if (!dotted && node->kind != PEL_Name) {
        pel_print_loose(p, node, PEL_LEVEL_TEST);
        return;
    }
    uint32_t parens = pel_lay_open_parens(&p->lay);
    if (dotted) {
        pel_print_enter(p);
        pel_lay_start(&p->lay, node);
        print_primary(p, node, true);
        pel_lay_end(&p->lay, node);
        pel_print_leave(p);
    } else {
        pel_print_expr(p, node, PEL_LEVEL_TEST);
    }
    pel_lay_close_parens(&p->lay, parens, PEL_GROUP_PARENS);
}

static void print_bare_tuple(pel_printer *p, pel_node *node) {
    pel_print_enter(p);
    pel_lay_start(&p->lay, node);
    uint32_t parens = pel_lay_open_parens(&p->lay);
    pel_row row = { .n = 0 };
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++) {
        pel_row_next(p, &row);
        print_element(p, node->Tuple.elts.at[i], node->Tuple.elts.n);
    }
    pel_lay_if_broken(&p->lay, ",");
    pel_lay_close_parens(&p->lay, parens, PEL_GROUP_PARENS);
    pel_lay_end(&p->lay, node);
    pel_print_leave(p);
}

void pel_print_values(pel_printer *p, pel_node *node) {
    if (node->kind == PEL_Tuple && node->Tuple.elts.n > 1)
        print_bare_tuple(p, node);
    else
        pel_print_value(p, node);
}

void pel_print_target(pel_printer *p, pel_node *node) {
    if (node->kind == PEL_Tuple && node->Tuple.elts.n > 1)
        print_bare_tuple(p, node);
    else
        pel_print_expr(p, node, PEL_LEVEL_ATOM);
}
