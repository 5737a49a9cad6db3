#include "bytecode/decode.h"

typedef struct decoder {
    pel_ctx *ctx;
    const pel_code_object *code;
    pel_insns *out;
    uint32_t *index_at; /* by code unit: the instruction that begins there, NO_INSN in the middle of one */
    uint32_t n_units;
} decoder;

#define NO_INSN UINT32_MAX

static _Noreturn void bad(decoder *d, uint32_t offset, const char *what, uint64_t value) {
    pel_throw(d->ctx, PEL_E_FORMAT, offset, "code of %.*s, offset %u: %s %llu", PEL_FMT(pel_name_str(d->code->name)),
              offset, what, (unsigned long long)value);
}

/* ---- instructions ---- */

static uint8_t byte_at(const decoder *d, uint32_t offset) { return (uint8_t)d->code->code.ptr[offset]; }

static pel_name name_at(decoder *d, const pel_insn *insn, pel_name_list list, const char *what, uint64_t index) {
    if (index >= list.n) bad(d, insn->offset, what, index);
    return list.at[index];
}

static pel_name local_at(decoder *d, const pel_insn *insn, uint32_t index) {
    pel_name_list list = d->code->version >= 11 ? d->code->localsplus : d->code->varnames;
    return name_at(d, insn, list, "no local variable", index);
}

static pel_name free_at(decoder *d, const pel_insn *insn, uint32_t index) {
    const pel_code_object *code = d->code;
    if (code->version >= 11) return name_at(d, insn, code->localsplus, "no cell or free variable", index);
    if (index < code->cellvars.n) return code->cellvars.at[index];
    return name_at(d, insn, code->freevars, "no cell or free variable", (uint64_t)index - code->cellvars.n);
}

/* Puts what the argument refers to into the instruction. */
static void resolve(decoder *d, pel_insn *insn) {
    const pel_code_object *code = d->code;
    switch ((pel_arg_kind)insn->kind) {
    case PEL_ARG_CONST:
        if (insn->arg >= code->n_consts) bad(d, insn->offset, "no constant", insn->arg);
        insn->value = code->consts[insn->arg];
        break;
    case PEL_ARG_NAME: insn->name = name_at(d, insn, code->names, "no name", insn->arg); break;
    case PEL_ARG_NAME2: insn->name = name_at(d, insn, code->names, "no name", insn->arg >> 1); break;
    case PEL_ARG_NAME4: insn->name = name_at(d, insn, code->names, "no name", insn->arg >> 2); break;
    case PEL_ARG_LOCAL: insn->name = local_at(d, insn, insn->arg); break;
    case PEL_ARG_LOCAL2:
        insn->name = local_at(d, insn, insn->arg >> 4);
        insn->name2 = local_at(d, insn, insn->arg & 15);
        break;
    case PEL_ARG_FREE: insn->name = free_at(d, insn, insn->arg); break;
    case PEL_ARG_NONE:
    case PEL_ARG_INT:
    case PEL_ARG_COMPARE:
    case PEL_ARG_JREL:
    case PEL_ARG_JBACK:
    case PEL_ARG_JABS: break;
    }
}

/* Reads the instruction at *offset and moves after it and its caches. */
static pel_insn read_insn(decoder *d, const pel_opinfo *ops, uint32_t *offset) {
    const uint32_t size = d->n_units * 2;
    pel_insn insn = { .offset = *offset, .target = PEL_NO_TARGET };
    uint64_t arg = 0;
    const pel_opinfo *info;
    for (;;) {
        info = &ops[byte_at(d, *offset)];
        arg = arg << 8 | byte_at(d, *offset + 1);
        *offset += 2;
        if (info->op == PEL_OP_NONE) bad(d, *offset - 2, "no instruction with the code", byte_at(d, *offset - 2));
        if (info->op != PEL_OP_EXTENDED_ARG) break;
        if (*offset == size) bad(d, insn.offset, "the code ends inside an instruction, after", size);
        if (arg > UINT32_MAX >> 8) bad(d, insn.offset, "an argument of more than 32 bits:", arg);
    }
    if (info->caches * 2u > size - *offset) bad(d, insn.offset, "the inline cache goes beyond the end at", size);
    *offset += info->caches * 2u;
    insn.op = info->op;
    insn.code = (uint8_t)(info - ops);
    insn.kind = info->kind;
    insn.arg = info->kind == PEL_ARG_NONE ? 0 : (uint32_t)arg;
    insn.end = *offset;
    return insn;
}

static void read_insns(decoder *d) {
    const pel_opinfo *ops = pel_optab(d->code->version);
    PEL_VEC(pel_insn) insns = { 0 };
    pel_reserve(d->ctx, &insns, d->n_units);
    for (uint32_t offset = 0; offset < d->n_units * 2;) {
        pel_insn insn = read_insn(d, ops, &offset);
        resolve(d, &insn);
        d->index_at[insn.offset / 2] = insns.n;
        pel_push(d->ctx, &insns, insn);
    }
    d->index_at[d->n_units] = insns.n;
    d->out->at = insns.at;
    d->out->n = insns.n;
}

/* The byte offset that a jump goes to. Distances count from the next instruction: bytes up to 3.9, code units since. */
static int64_t target_of(const decoder *d, const pel_insn *insn) {
    int64_t unit = d->code->version >= 10 ? 2 : 1;
    int64_t distance = (int64_t)insn->arg * unit;
    switch ((pel_arg_kind)insn->kind) {
    case PEL_ARG_JREL: return insn->end + distance;
    case PEL_ARG_JBACK: return insn->end - distance;
    default: return distance;
    }
}

static void resolve_jumps(decoder *d) {
    for (uint32_t i = 0; i < d->out->n; i++) {
        pel_insn *insn = &d->out->at[i];
        if (insn->kind != PEL_ARG_JREL && insn->kind != PEL_ARG_JBACK && insn->kind != PEL_ARG_JABS) continue;
        int64_t target = target_of(d, insn);
        if (target < 0 || target >= (int64_t)d->n_units * 2)
            bad(d, insn->offset, "a jump out of the code, by", insn->arg);
        uint32_t index = target % 2 == 0 ? d->index_at[target / 2] : NO_INSN;
        if (index == NO_INSN) bad(d, insn->offset, "a jump into the middle of an instruction, to", (uint64_t)target);
        insn->target = index;
        d->out->at[index].is_target = true;
    }
}

/* ---- tables of variable-length numbers ---- */

typedef struct reader {
    decoder *d;
    pel_str bytes;
    size_t at;
    const char *table;
} reader;

static _Noreturn void bad_table(const reader *r, const char *what) {
    pel_throw(r->d->ctx, PEL_E_FORMAT, r->at, "%s of %.*s, byte %zu: %s", r->table,
              PEL_FMT(pel_name_str(r->d->code->name)), r->at, what);
}

static uint8_t next_byte(reader *r) {
    if (r->at >= r->bytes.len) bad_table(r, "it ends inside an entry");
    return (uint8_t)r->bytes.ptr[r->at++];
}

/* Six bits a byte, most significant first; bit 6 says that more follow. */
static uint32_t next_big_endian(reader *r) {
    uint32_t value = 0;
    for (uint8_t byte = 64; byte & 64;) {
        byte = next_byte(r);
        if (value > UINT32_MAX >> 6) bad_table(r, "a number of more than 32 bits");
        value = value << 6 | (byte & 63);
    }
    return value;
}

/* The same, least significant first. */
static uint32_t next_little_endian(reader *r) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (uint8_t byte = 64; byte & 64; shift += 6) {
        byte = next_byte(r);
        if (shift > 30) bad_table(r, "a number of more than 32 bits");
        value |= (uint64_t)(byte & 63) << shift;
    }
    if (value > UINT32_MAX) bad_table(r, "a number of more than 32 bits");
    return (uint32_t)value;
}

static int64_t next_signed(reader *r) {
    uint32_t value = next_little_endian(r);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* ---- the exception table ---- */

/* The instruction at a code unit that the table names; n units in is after the last one. */
static uint32_t index_of(reader *r, uint64_t unit) {
    if (unit > r->d->n_units) bad_table(r, "a range beyond the end of the code");
    uint32_t index = r->d->index_at[unit];
    if (index == NO_INSN) bad_table(r, "a range that cuts an instruction in two");
    return index;
}

static void read_handlers(decoder *d) {
    reader r = { .d = d, .bytes = d->code->exceptiontable, .table = "exception table" };
    PEL_VEC(pel_handler) handlers = { 0 };
    uint32_t covered = 0;
    while (r.at < r.bytes.len) {
        uint64_t start = next_big_endian(&r), length = next_big_endian(&r), target = next_big_endian(&r);
        uint32_t depth = next_big_endian(&r);
        pel_handler handler = { .start = index_of(&r, start),
                                .end = index_of(&r, start + length),
                                .target = index_of(&r, target),
                                .depth = depth >> 1,
                                .lasti = depth & 1 };
        if (handler.start >= handler.end) bad_table(&r, "an empty range");
        if (handler.start < covered) bad_table(&r, "ranges overlap or go backwards");
        if (handler.target == d->out->n) bad_table(&r, "a handler after the end of the code");
        if (handler.depth > d->code->stacksize) bad_table(&r, "a handler deeper than the stack");
        covered = handler.end;
        d->out->at[handler.target].is_target = true;
        pel_push(d->ctx, &handlers, handler);
    }
    d->out->handlers = handlers.at;
    d->out->n_handlers = handlers.n;
}

/* ---- the line table ---- */

/* Gives the instructions that begin in [start, end) the line. */
static void set_lines(decoder *d, uint32_t *next, uint64_t end, int64_t line) {
    pel_insns *out = d->out;
    for (; *next < out->n && out->at[*next].offset < end; ++*next)
        out->at[*next].line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Up to 3.9: pairs (bytes to go on, lines to add), where a line takes effect after its byte step. */
static void read_lnotab(decoder *d) {
    pel_str table = d->code->linetable;
    uint32_t next = 0;
    uint64_t offset = 0;
    int64_t line = d->code->firstlineno;
    for (size_t i = 0; i + 1 < table.len; i += 2) {
        offset += (uint8_t)table.ptr[i];
        set_lines(d, &next, offset, line);
        line += (int8_t)table.ptr[i + 1];
    }
    set_lines(d, &next, UINT64_MAX, line);
}

/* 3.10: pairs (bytes of a range, lines to add before it); -128: a range without a line. */
static void read_linetable(decoder *d) {
    pel_str table = d->code->linetable;
    uint32_t next = 0;
    uint64_t offset = 0;
    int64_t line = d->code->firstlineno;
    for (size_t i = 0; i + 1 < table.len; i += 2) {
        int8_t delta = (int8_t)table.ptr[i + 1];
        if (delta != -128) line += delta;
        offset += (uint8_t)table.ptr[i];
        set_lines(d, &next, offset, delta == -128 ? 0 : line);
    }
}

enum { /* codes of an entry of the location table; 0 to 9 are the short forms */
       LOCATION_ONE_LINE_0 = 10,
       LOCATION_ONE_LINE_2 = 12,
       LOCATION_NO_COLUMNS = 13,
       LOCATION_LONG = 14,
       LOCATION_NONE = 15,
};

/* One entry of the location table of 3.11 and later: a run of code units and where it came from. */
static uint32_t next_location(reader *r, int64_t *line, pel_position *out) {
    uint8_t first = next_byte(r);
    if (!(first & 128)) bad_table(r, "no entry begins here");
    uint8_t code = first >> 3 & 15;
    int64_t end_line, col = -1, end_col = -1;
    if (code == LOCATION_NONE) {
        *out = (pel_position){ -1, -1, -1, -1 };
        return (first & 7u) + 1;
    }
    if (code == LOCATION_LONG) {
        *line += next_signed(r);
        end_line = *line + next_little_endian(r);
        col = (int64_t)next_little_endian(r) - 1;
        end_col = (int64_t)next_little_endian(r) - 1;
    } else if (code == LOCATION_NO_COLUMNS) {
        *line += next_signed(r);
        end_line = *line;
    } else if (code >= LOCATION_ONE_LINE_0 && code <= LOCATION_ONE_LINE_2) {
        *line += code - LOCATION_ONE_LINE_0;
        end_line = *line;
        col = next_byte(r);
        end_col = next_byte(r);
    } else {
        uint8_t second = next_byte(r);
        end_line = *line;
        col = code << 3 | second >> 4;
        end_col = col + (second & 15);
    }
    if (*line < INT32_MIN || *line > INT32_MAX || end_line > INT32_MAX || col > INT32_MAX || end_col > INT32_MAX)
        bad_table(r, "a position of more than 31 bits");
    *out = (pel_position){ (int32_t)*line, (int32_t)end_line, (int32_t)col, (int32_t)end_col };
    return (first & 7u) + 1;
}

/* Walks the location table; positions has a row per instruction. */
static void read_locations(decoder *d, pel_position *positions) {
    reader r = { .d = d, .bytes = d->code->linetable, .table = "location table" };
    uint64_t offset = 0;
    uint32_t next = 0;
    int64_t line = d->code->firstlineno;
    while (r.at < r.bytes.len) {
        pel_position position;
        offset += 2 * next_location(&r, &line, &position);
        for (; next < d->out->n && d->out->at[next].offset < offset; next++) positions[next] = position;
    }
}

static void read_lines(decoder *d) {
    if (d->code->version >= 11) {
        pel_position *positions = pel_positions(d->ctx, d->out);
        for (uint32_t i = 0; i < d->out->n; i++)
            d->out->at[i].line = positions[i].line > 0 ? (uint32_t)positions[i].line : 0;
    } else if (d->code->version == 10) {
        read_linetable(d);
    } else {
        read_lnotab(d);
    }
}

/* ---- one name for one meaning ---- */

static const pel_const empty_text = { .kind = PEL_CONST_STR };

/* What LOAD_COMMON_CONSTANT pushes, if a constant; NULL: a class or a function. */
static const pel_const *common_constant(decoder *d, uint32_t index) {
    switch (index) {
    case 7: return &pel_none;
    case 8: return &empty_text;
    case 9: return &pel_true;
    case 10: return &pel_false;
    case 11: return pel_const_int(d->ctx, -1);
    default: return NULL;
    }
}

static void become_constant(pel_insn *insn, const pel_const *value) {
    insn->op = PEL_OP_LOAD_CONST;
    insn->kind = PEL_ARG_CONST;
    insn->value = value;
}

static void unify_names(decoder *d) {
    for (uint32_t i = 0; i < d->out->n; i++) {
        pel_insn *insn = &d->out->at[i];
        switch ((pel_op)insn->op) {
        case PEL_OP_LOAD_FAST_BORROW: insn->op = PEL_OP_LOAD_FAST; break;
        case PEL_OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW: insn->op = PEL_OP_LOAD_FAST_LOAD_FAST; break;
        case PEL_OP_LOAD_SMALL_INT: become_constant(insn, pel_const_int(d->ctx, insn->arg)); break;
        case PEL_OP_LOAD_COMMON_CONSTANT: {
            const pel_const *value = common_constant(d, insn->arg);
            if (value) become_constant(insn, value);
            if (insn->arg == 0) insn->op = PEL_OP_LOAD_ASSERTION_ERROR;
            break;
        }
        default: break;
        }
    }
}

/* How many instructions can run: compilers that keep what nothing reaches may end with it, as with the END_FINALLY
 * after a `finally` that returns. */
static uint32_t n_reached(const pel_insns *out) {
    uint32_t n = out->n;
    while (out->code->version <= 9 && n > 1 && !pel_op_ends(out->at[n - 1].op) && !out->at[n - 1].is_target) n--;
    return pel_op_ends(out->at[n - 1].op) ? n : out->n;
}

pel_insns *pel_decode(pel_ctx *ctx, const pel_code_object *code) {
    pel_insns *insns = pel_decode_as_named(ctx, code);
    decoder d = { .ctx = ctx, .code = code, .out = insns };
    unify_names(&d);
    insns->n = n_reached(insns);
    return insns;
}

pel_insns *pel_decode_as_named(pel_ctx *ctx, const pel_code_object *code) {
    decoder d = { .ctx = ctx, .code = code, .out = pel_new(ctx, pel_insns) };
    d.out->code = code;
    if (code->code.len % 2) bad(&d, 0, "the code has an odd number of bytes:", code->code.len);
    if (code->code.len > INT32_MAX) bad(&d, 0, "the code has more than 2 GiB:", code->code.len);
    if (!code->code.len) bad(&d, 0, "the code is empty, bytes:", 0);
    d.n_units = (uint32_t)(code->code.len / 2);
    d.index_at = pel_new_array(ctx, (size_t)d.n_units + 1, uint32_t);
    memset(d.index_at, 0xff, ((size_t)d.n_units + 1) * sizeof *d.index_at);
    read_insns(&d);
    resolve_jumps(&d);
    const pel_insn *last = &d.out->at[d.out->n - 1];
    if (!pel_op_ends(last->op) && n_reached(d.out) == d.out->n)
        bad(&d, last->offset, "execution runs off the end at", code->code.len);
    if (code->version >= 11) read_handlers(&d);
    read_lines(&d);
    return d.out;
}

pel_position *pel_positions(pel_ctx *ctx, const pel_insns *insns) {
    pel_position *positions = pel_new_array(ctx, insns->n, pel_position);
    for (uint32_t i = 0; i < insns->n; i++) {
        int32_t line = insns->at[i].line ? (int32_t)insns->at[i].line : -1;
        positions[i] = (pel_position){ line, line, -1, -1 };
    }
    if (insns->code->version >= 11) {
        pel_insns readable = *insns;
        decoder d = { .ctx = ctx, .code = insns->code, .out = &readable };
        read_locations(&d, positions);
    }
    return positions;
}

/* ---- checking ---- */

static void promise(pel_ctx *ctx, const pel_insns *insns, bool kept, uint32_t index, const char *what) {
    if (!kept)
        pel_throw(ctx, PEL_E_INCOMPLETE, index, "decode of %.*s, instruction %u: %s",
                  PEL_FMT(pel_name_str(insns->code->name)), index, what);
}

void pel_insns_check(pel_ctx *ctx, const pel_insns *insns) {
    uint32_t offset = 0;
    for (uint32_t i = 0; i < insns->n; i++) {
        const pel_insn *insn = &insns->at[i];
        bool is_name = (insn->kind >= PEL_ARG_NAME && insn->kind <= PEL_ARG_FREE);
        bool is_jump = insn->kind >= PEL_ARG_JREL;
        promise(ctx, insns, insn->op > PEL_OP_NONE && insn->op < PEL_OP_COUNT, i, "not an opcode");
        promise(ctx, insns, insn->offset == offset && insn->end > offset, i, "offsets leave a gap");
        promise(ctx, insns, is_name == (insn->name != NULL), i, "a name too many or too few");
        promise(ctx, insns, (insn->kind == PEL_ARG_LOCAL2) == (insn->name2 != NULL), i, "a second name");
        promise(ctx, insns, (insn->kind == PEL_ARG_CONST) == (insn->value != NULL), i,
                "a constant too many or too few");
        promise(ctx, insns, is_jump == (insn->target < insns->n), i, "a jump without target");
        promise(ctx, insns, !is_jump || insns->at[insn->target].is_target, i, "a target that is not marked");
        offset = insn->end;
    }
    uint32_t covered = 0;
    for (uint32_t i = 0; i < insns->n_handlers; i++) {
        const pel_handler *handler = &insns->handlers[i];
        promise(ctx, insns, handler->start >= covered && handler->start < handler->end, i, "handlers out of order");
        promise(ctx, insns, handler->end <= insns->n && handler->target < insns->n, i, "a handler out of range");
        promise(ctx, insns, insns->at[handler->target].is_target, i, "a handler that is not marked");
        covered = handler->end;
    }
}
