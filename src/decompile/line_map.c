#include "decompile/line_map.h"

#include <stdlib.h>

#define MAX_DEPTH 2000

typedef struct pel_printed_statement {
    uint32_t first, last; /* lines, with all that is in it */
} pel_printed_statement;

typedef struct mapper {
    pel_ctx *ctx;
    const pel_decompiled *decompiled;
    pel_line_map *map;
    pel_map index_of;                 /* PEL_KEY(code) -> 1 + its index in codes */
    pel_mapped_code *code;            /* that marks count in here; NULL: unknown */
    pel_printed_statement *statement; /* around the node that is visited */
    int depth;
} mapper;

static void collect(mapper *m, const pel_code_object *code) {
    if (++m->depth > MAX_DEPTH) pel_throw(m->ctx, PEL_E_TOO_DEEP, 0, "code objects nest deeper than %d", MAX_DEPTH);
    pel_mapped_code mapped = { .code = code, .insns = pel_decode(m->ctx, code) };
    mapped.line_of = pel_new_array(m->ctx, mapped.insns->n, uint32_t);
    mapped.statement_of = pel_new_array(m->ctx, mapped.insns->n, const pel_printed_statement *);
    pel_push(m->ctx, &m->map->codes, mapped);
    pel_map_set(m->ctx, &m->index_of, PEL_KEY(code), m->map->codes.n);
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (code->consts[i]->kind == PEL_CONST_CODE) collect(m, code->consts[i]->code);
    m->depth--;
}

/* ---- from marks to lines ---- */

static uint32_t insn_at(const pel_insns *insns, uint32_t offset) {
    uint32_t low = 0, high = insns->n;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (insns->at[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void visit(void *arg, pel_node **slot);

/* What of a node belongs to the code object it stands for; the rest (decorators, defaults, bases, the first iterable)
 * runs in the code around it. */
static bool is_inside(const pel_node *node, pel_node **slot) {
    pel_nodes body = { 0 };
    switch (node->kind) {
    case PEL_FunctionDef: body = node->FunctionDef.body; break;
    case PEL_AsyncFunctionDef: body = node->AsyncFunctionDef.body; break;
    case PEL_ClassDef: body = node->ClassDef.body; break;
    case PEL_Lambda: return *slot == node->Lambda.body;
    default: return true;
    }
    return slot >= body.at && slot < body.at + body.n;
}

typedef struct inside {
    mapper *m;
    pel_node *node;
    pel_mapped_code *outer, *own;
} inside;

static void visit_part(void *arg, pel_node **slot) {
    inside *in = arg;
    in->m->code = is_inside(in->node, slot) ? in->own : in->outer;
    visit(in->m, slot);
}

/* A statement ends at the last line of anything inside of it, so its end is handed to the statement around it. Defaults
 * and decorators run in the code around a function: visit_part decides for each part whose instructions count. */
static void visit(void *arg, pel_node **slot) {
    mapper *m = arg;
    pel_node *node = *slot;
    if (++m->depth > MAX_DEPTH) pel_throw(m->ctx, PEL_E_TOO_DEEP, 0, "the tree nests deeper than %d", MAX_DEPTH);
    pel_mapped_code *outer = m->code;
    pel_printed_statement *around = m->statement;
    if (pel_kinds[node->kind].class == PEL_STMT) {
        m->statement = pel_new(m->ctx, pel_printed_statement);
        m->statement->first = m->statement->last = node->lineno;
    }
    if (m->statement && node->lineno > m->statement->last) m->statement->last = node->lineno;
    if (node->mark && outer && node->lineno) {
        uint32_t at = insn_at(outer->insns, node->mark - 1);
        outer->line_of[at] = node->lineno;
        outer->statement_of[at] = m->statement;
    }
    uint64_t code, index;
    if (pel_map_get(&m->decompiled->code_of, PEL_KEY(node), &code) && pel_map_get(&m->index_of, code, &index)) {
        inside in = { m, node, outer, &m->map->codes.at[index - 1] };
        pel_each_child(node, visit_part, &in);
    } else {
        pel_each_child(node, visit, m);
    }
    if (around && m->statement->last > around->last) around->last = m->statement->last;
    m->statement = around;
    m->code = outer;
    m->depth--;
}

/* Reads a name or a constant: when it runs makes no difference to who steps. */
static bool only_loads(const pel_insn *insn) {
    return insn->kind >= PEL_ARG_CONST && insn->kind <= PEL_ARG_FREE &&
           strncmp(pel_op_name(insn->op), "LOAD_", 5) == 0 && insn->op != PEL_OP_LOAD_ATTR &&
           insn->op != PEL_OP_LOAD_METHOD && insn->op != PEL_OP_LOAD_SUPER_ATTR;
}

/* Dynamo loads the arguments of a call, then runs other statements, then calls. Such a load belongs to the statement
 * that runs next, so that stepping goes forward; one inside the statement that goes on (an exit of `with`) stays. */
static void move_early_loads(pel_mapped_code *code) {
    const pel_printed_statement *next = NULL;
    uint32_t line = 0;
    for (uint32_t i = code->insns->n; i-- > 0;) {
        const pel_insn *insn = &code->insns->at[i];
        const pel_printed_statement *own = code->statement_of[i];
        if (pel_op_ends(insn->op)) next = NULL;
        if (own && next && only_loads(insn) && next->last < own->first) {
            code->line_of[i] = line;
            own = next;
        }
        if (own) {
            next = own;
            line = code->line_of[i];
        }
    }
}

/* The line of the first instruction of a block that has one; 0 if none has. */
static uint32_t line_of_block(const pel_mapped_code *code, uint32_t at) {
    do
        if (code->line_of[at]) return code->line_of[at];
    while (++at < code->insns->n && !code->insns->at[at].is_target);
    return 0;
}

/* Instructions that no node names (jumps, stack moves) belong to the line before them; where a way begins, to the line
 * that it leads to. */
static void fill_gaps(pel_mapped_code *code) {
    uint32_t line = 0;
    for (uint32_t i = 0; i < code->insns->n && !line; i++) line = code->line_of[i];
    for (uint32_t i = 0; i < code->insns->n; i++) {
        uint32_t begins = code->insns->at[i].is_target ? line_of_block(code, i) : 0;
        if (code->line_of[i])
            line = code->line_of[i];
        else if (begins)
            line = begins;
        code->line_of[i] = line;
    }
}

pel_line_map *pel_map_lines(pel_ctx *ctx, const pel_decompiled *decompiled, const pel_code_object *root) {
    mapper m = { .ctx = ctx, .decompiled = decompiled, .map = pel_new(ctx, pel_line_map) };
    collect(&m, root);
    pel_node *tree = decompiled->tree;
    visit(&m, &tree);
    for (uint32_t i = 0; i < m.map->codes.n; i++) {
        move_early_loads(&m.map->codes.at[i]);
        fill_gaps(&m.map->codes.at[i]);
    }
    return m.map;
}

/* ---- JSON ---- */

typedef struct row {
    uint32_t line, code, offset;
} row;

static int by_line(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The map is kept by instruction and readers ask by line, so the rows are sorted. One line may have instructions of
 * several code objects, such as a lambda and the code around it: each of them gets a row. */
void pel_line_map_json(pel_ctx *ctx, const pel_line_map *map, pel_json *json) {
    PEL_VEC(row) rows = { 0 };
    pel_json_key(json, "codes");
    pel_json_array(json);
    for (uint32_t c = 0; c < map->codes.n; c++) {
        const pel_mapped_code *code = &map->codes.at[c];
        pel_json_object(json);
        pel_json_key(json, "name");
        pel_json_str(json, pel_name_str(code->code->name));
        pel_json_key(json, "firstlineno");
        pel_json_int(json, code->code->firstlineno);
        pel_json_end_object(json);
        for (uint32_t i = 0; i < code->insns->n; i++)
            if (code->line_of[i]) pel_push(ctx, &rows, (row){ code->line_of[i], c, code->insns->at[i].offset });
    }
    pel_json_end_array(json);
    if (rows.n) qsort(rows.at, rows.n, sizeof *rows.at, by_line);
    pel_json_key(json, "lines");
    pel_json_array(json);
    for (uint32_t i = 0; i < rows.n;) {
        uint32_t line = rows.at[i].line, code = rows.at[i].code;
        pel_json_array(json);
        pel_json_int(json, line);
        pel_json_int(json, code);
        pel_json_array(json);
        for (; i < rows.n && rows.at[i].line == line && rows.at[i].code == code; i++)
            pel_json_int(json, rows.at[i].offset);
        pel_json_end_array(json);
        pel_json_end_array(json);
    }
    pel_json_end_array(json);
}
