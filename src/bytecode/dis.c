#include "bytecode/dis.h"

#define MAX_DEPTH 200 /* of code objects in code objects */

/* ---- basic blocks ---- */

typedef struct block {
    uint32_t first, last;       /* instructions, last inclusive */
    const pel_handler *handler; /* where an exception in it goes; NULL: out of the function */
    PEL_VEC(uint32_t) from;     /* blocks that lead here without an exception */
} block;

typedef struct blocks {
    pel_ctx *ctx;
    const pel_insns *insns;
    uint32_t *block_of; /* by instruction */
    PEL_VEC(block) at;
} blocks;

static const pel_handler **handlers_by_insn(pel_ctx *ctx, const pel_insns *insns) {
    const pel_handler **by_insn = pel_new_array(ctx, insns->n, const pel_handler *);
    for (uint32_t h = 0; h < insns->n_handlers; h++)
        for (uint32_t i = insns->handlers[h].start; i < insns->handlers[h].end; i++) by_insn[i] = &insns->handlers[h];
    return by_insn;
}

static bool ends_block(const pel_insn *insn) { return insn->target != PEL_NO_TARGET || pel_op_ends(insn->op); }

static void cut(blocks *b) {
    const pel_insns *insns = b->insns;
    const pel_handler **handlers = handlers_by_insn(b->ctx, insns);
    for (uint32_t i = 0; i < insns->n; i++) {
        bool begins =
            i == 0 || insns->at[i].is_target || ends_block(&insns->at[i - 1]) || handlers[i] != handlers[i - 1];
        if (begins) pel_push(b->ctx, &b->at, (block){ .first = i, .handler = handlers[i] });
        b->at.at[b->at.n - 1].last = i;
        b->block_of[i] = b->at.n - 1;
    }
}

static void connect(blocks *b) {
    for (uint32_t i = 0; i < b->at.n; i++) {
        const pel_insn *last = &b->insns->at[b->at.at[i].last];
        if (!pel_op_ends(last->op) && i + 1 < b->at.n) pel_push(b->ctx, &b->at.at[i + 1].from, i);
        if (last->target != PEL_NO_TARGET) pel_push(b->ctx, &b->at.at[b->block_of[last->target]].from, i);
    }
}

static blocks find_blocks(pel_ctx *ctx, const pel_insns *insns) {
    blocks b = { .ctx = ctx, .insns = insns, .block_of = pel_new_array(ctx, insns->n, uint32_t) };
    cut(&b);
    connect(&b);
    return b;
}

/* ---- arguments ---- */

static const char *const comparisons[] = {
    "<", "<=", "==", "!=", ">", ">=", "in", "not in", "is", "is not", "exception match", "BAD"
};
static const char *const binary_operators[] = { "+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^" };

/* Since 3.14; those from `list` on since 3.15. */
static const char *const common_constants[] = {
    "AssertionError", "NotImplementedError", "tuple", "all", "any", "list", "set", "None", "''", "True", "False", "-1"
};
static const char *const special_methods[] = { "__enter__", "__exit__", "__aenter__", "__aexit__" };

static void put_comparison(const pel_insns *insns, uint32_t arg, pel_buf *out) {
    int version = insns->code->version;
    uint32_t index = version >= 13 ? arg >> 5 : version == 12 ? arg >> 4 : arg;
    if (index < PEL_COUNT(comparisons))
        pel_put_c(out, comparisons[index]);
    else
        pel_putf(out, "%u", arg);
}

static void put_int(const pel_insn *insn, pel_buf *out) {
    uint32_t n = PEL_COUNT(binary_operators);
    if (insn->op == PEL_OP_LOAD_COMMON_CONSTANT && insn->arg < PEL_COUNT(common_constants))
        pel_put_c(out, common_constants[insn->arg]);
    else if (insn->op == PEL_OP_LOAD_SPECIAL && insn->arg < PEL_COUNT(special_methods))
        pel_put_c(out, special_methods[insn->arg]);
    else if (insn->op == PEL_OP_BINARY_OP && insn->arg == 2 * n)
        pel_put_c(out, "[]");
    else if (insn->op == PEL_OP_BINARY_OP && insn->arg < 2 * n)
        pel_putf(out, "%s%s", binary_operators[insn->arg % n], insn->arg >= n ? "=" : "");
    else
        pel_putf(out, "%u", insn->arg);
}

static void put_value(const pel_const *value, pel_buf *out) {
    if (value->kind == PEL_CONST_CODE)
        pel_putf(out, "<code of %.*s>", PEL_FMT(pel_name_str(value->code->name)));
    else
        pel_put_repr(out, value);
}

void pel_put_argument(const pel_insns *insns, const pel_insn *insn, pel_buf *out) {
    switch ((pel_arg_kind)insn->kind) {
    case PEL_ARG_NONE: break;
    case PEL_ARG_INT: put_int(insn, out); break;
    case PEL_ARG_CONST: put_value(insn->value, out); break;
    case PEL_ARG_NAME:
    case PEL_ARG_LOCAL:
    case PEL_ARG_FREE: pel_put_name(out, insn->name); break;
    case PEL_ARG_NAME2: /* the bit: a NULL is pushed too, or a method is loaded */
        pel_put_name(out, insn->name);
        if (insn->arg & 1) pel_put_c(out, insn->op == PEL_OP_LOAD_GLOBAL ? " + NULL" : " + self");
        break;
    case PEL_ARG_NAME4:
        pel_put_name(out, insn->name);
        if (insn->op == PEL_OP_IMPORT_NAME)
            pel_put_c(out, insn->arg & 1 ? " lazily" : insn->arg & 2 ? " eagerly" : "");
        else if (insn->arg & 1)
            pel_put_c(out, " + self");
        break;
    case PEL_ARG_LOCAL2:
        pel_put_name(out, insn->name);
        pel_put_c(out, ", ");
        pel_put_name(out, insn->name2);
        break;
    case PEL_ARG_COMPARE: put_comparison(insns, insn->arg, out); break;
    case PEL_ARG_JREL:
    case PEL_ARG_JBACK:
    case PEL_ARG_JABS: pel_putf(out, "-> %u", insns->at[insn->target].offset); break;
    }
}

/* ---- text ---- */

static void put_code_head(const pel_code_object *code, pel_buf *out) {
    pel_name name = code->qualname ? code->qualname : code->name;
    pel_putf(out, "code %.*s, Python 3.%d, line %u", PEL_FMT(pel_name_str(name)), code->version, code->firstlineno);
    struct {
        const char *what;
        pel_name_list names;
    } lists[] = { { "locals", code->varnames }, { "cells", code->cellvars }, { "free", code->freevars } };
    for (size_t i = 0; i < PEL_COUNT(lists); i++) {
        for (uint32_t k = 0; k < lists[i].names.n; k++) {
            pel_put_c(out, k ? " " : i ? "; " : "\n  ");
            if (!k) pel_putf(out, "%s: ", lists[i].what);
            pel_put_name(out, lists[i].names.at[k]);
        }
    }
    pel_put_byte(out, '\n');
}

static void put_block_head(const blocks *b, uint32_t index, pel_buf *out) {
    const block *at = &b->at.at[index];
    pel_putf(out, "block %u", index);
    for (uint32_t i = 0; i < at->from.n; i++) pel_putf(out, "%s%u", i ? ", " : " from ", at->from.at[i]);
    if (at->handler)
        pel_putf(out, "; an exception goes to %u, depth %u%s", b->block_of[at->handler->target], at->handler->depth,
                 at->handler->lasti ? ", lasti" : "");
    pel_put_byte(out, '\n');
}

static void put_insn(const pel_insns *insns, const pel_insn *insn, uint32_t *line, pel_buf *out) {
    if (insn->line != *line && insn->line)
        pel_putf(out, "%5u", insn->line);
    else
        pel_put_spaces(out, 5);
    *line = insn->line;
    pel_putf(out, " %6u  ", insn->offset);
    const char *name = pel_op_name(insn->op);
    pel_put_c(out, name);
    if (insn->kind != PEL_ARG_NONE) {
        size_t width = strlen(name);
        pel_put_spaces(out, width < 24 ? 25 - width : 1);
        pel_put_argument(insns, insn, out);
    }
    pel_put_byte(out, '\n');
}

void pel_dis_blocks(pel_ctx *ctx, const pel_code_object *code, pel_buf *out) {
    const pel_insns *insns = pel_decode_as_named(ctx, code);
    blocks b = find_blocks(ctx, insns);
    uint32_t line = 0;
    for (uint32_t i = 0; i < b.at.n; i++) {
        put_block_head(&b, i, out);
        for (uint32_t k = b.at.at[i].first; k <= b.at.at[i].last; k++) put_insn(insns, &insns->at[k], &line, out);
    }
}

static void dis_text(pel_ctx *ctx, const pel_code_object *code, pel_buf *out, int depth) {
    if (depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, 0, "code objects nest deeper than %d", MAX_DEPTH);
    put_code_head(code, out);
    pel_dis_blocks(ctx, code, out);
    for (uint32_t i = 0; i < code->n_consts; i++) {
        if (code->consts[i]->kind != PEL_CONST_CODE) continue;
        pel_put_byte(out, '\n');
        dis_text(ctx, code->consts[i]->code, out, depth + 1);
    }
}

void pel_dis_text(pel_ctx *ctx, const pel_code_object *code, pel_buf *out) { dis_text(ctx, code, out, 0); }

/* ---- JSON ---- */

static void json_int(pel_json *json, const char *key, int64_t value) {
    pel_json_key(json, key);
    pel_json_int(json, value);
}

static void json_names(pel_json *json, const char *key, pel_name_list names) {
    pel_json_key(json, key);
    pel_json_array(json);
    for (uint32_t i = 0; i < names.n; i++) pel_json_str(json, pel_name_str(names.at[i]));
    pel_json_end_array(json);
}

static void json_code_head(pel_json *json, const pel_code_object *code) {
    pel_json_key(json, "name");
    pel_json_str(json, pel_name_str(code->name));
    if (code->qualname) {
        pel_json_key(json, "qualname");
        pel_json_str(json, pel_name_str(code->qualname));
    }
    pel_json_key(json, "filename");
    pel_json_str(json, code->filename);
    json_int(json, "firstlineno", code->firstlineno);
    json_int(json, "argcount", code->argcount);
    json_int(json, "posonlyargcount", code->posonlyargcount);
    json_int(json, "kwonlyargcount", code->kwonlyargcount);
    json_int(json, "stacksize", code->stacksize);
    json_int(json, "flags", code->flags);
    json_names(json, "varnames", code->varnames);
    json_names(json, "cellvars", code->cellvars);
    json_names(json, "freevars", code->freevars);
}

/* A negative depth means that no way leads to the instruction; then the key is missing. Parts of a position that the
 * table does not have are null, as in co_positions(). */
static void json_insn(pel_json *json, const pel_insns *insns, const pel_insn *insn, const pel_position *position,
                      int32_t depth) {
    pel_json_object(json);
    json_int(json, "offset", insn->offset);
    pel_json_key(json, "op");
    pel_json_c(json, pel_op_name(insn->op));
    if (insn->kind != PEL_ARG_NONE) {
        pel_buf text = pel_buf_in(json->out->ctx);
        pel_put_argument(insns, insn, &text);
        json_int(json, "arg", insn->arg);
        pel_json_key(json, "says");
        pel_json_str(json, pel_buf_str(&text));
    }
    if (insn->target != PEL_NO_TARGET) json_int(json, "target", insns->at[insn->target].offset);
    if (depth >= 0) json_int(json, "depth", depth);
    const int32_t positions[] = { position->line, position->end_line, position->col, position->end_col };
    pel_json_key(json, "position");
    pel_json_array(json);
    for (size_t i = 0; i < PEL_COUNT(positions); i++) {
        if (positions[i] < 0)
            pel_json_null(json);
        else
            pel_json_int(json, positions[i]);
    }
    pel_json_end_array(json);
    pel_json_end_object(json);
}

static void json_block(pel_json *json, const blocks *b, const block *at, const pel_position *positions,
                       const int32_t *depths) {
    pel_json_object(json);
    pel_json_key(json, "from");
    pel_json_array(json);
    for (uint32_t i = 0; i < at->from.n; i++) pel_json_int(json, at->from.at[i]);
    pel_json_end_array(json);
    pel_json_key(json, "handler");
    if (at->handler) {
        pel_json_object(json);
        json_int(json, "block", b->block_of[at->handler->target]);
        json_int(json, "depth", at->handler->depth);
        pel_json_key(json, "lasti");
        pel_json_bool(json, at->handler->lasti);
        pel_json_end_object(json);
    } else {
        pel_json_null(json);
    }
    pel_json_key(json, "instructions");
    pel_json_array(json);
    for (uint32_t i = at->first; i <= at->last; i++)
        json_insn(json, b->insns, &b->insns->at[i], &positions[i], depths[i]);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

static void dis_json(pel_ctx *ctx, const pel_code_object *code, pel_json *json, int depth) {
    if (depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, 0, "code objects nest deeper than %d", MAX_DEPTH);
    const pel_insns *insns = pel_decode_as_named(ctx, code);
    const pel_position *positions = pel_positions(ctx, insns);
    const int32_t *depths = pel_stack_depths(ctx, insns);
    blocks b = find_blocks(ctx, insns);
    pel_json_object(json);
    json_code_head(json, code);
    pel_json_key(json, "blocks");
    pel_json_array(json);
    for (uint32_t i = 0; i < b.at.n; i++) json_block(json, &b, &b.at.at[i], positions, depths);
    pel_json_end_array(json);
    pel_json_key(json, "code");
    pel_json_array(json);
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (code->consts[i]->kind == PEL_CONST_CODE) dis_json(ctx, code->consts[i]->code, json, depth + 1);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

void pel_dis_json(pel_ctx *ctx, const pel_code_object *code, pel_json *json) { dis_json(ctx, code, json, 0); }
