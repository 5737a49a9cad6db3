/* Is it a pickle? Protocols 0 and 1 have no mark, and any opcode may begin one: only reading the opcodes can tell. The
 * stack is counted, not kept, so numbers and texts that begin as pickles do fail within a few bytes. */
#include "io/bytes.h"
#include "io/pickle.h"

enum { TO_MARK = -1 }; /* takes all above the last mark, and the mark */
enum { LINE = 9, TWO_LINES, COUNT_1, COUNT_4, COUNT_8 };
enum { CALLS = 1 };

typedef struct opcode {
    unsigned char op, form; /* form: how many bytes follow, or one of the forms above */
    signed char pops, pushes;
    unsigned char needs; /* items that must lie below what is taken */
    unsigned char flags;
} opcode;

static const opcode opcodes[] = {
    { 0x80, 1, 0, 0, 0, 0 },                  /* PROTO */
    { 0x95, 8, 0, 0, 0, 0 },                  /* FRAME */
    { '0', 0, 1, 0, 0, 0 },                   /* POP */
    { '1', 0, TO_MARK, 0, 0, 0 },             /* POP_MARK */
    { '2', 0, 0, 1, 1, 0 },                   /* DUP */
    { 'N', 0, 0, 1, 0, 0 },                   /* NONE */
    { 0x88, 0, 0, 1, 0, 0 },                  /* NEWTRUE */
    { 0x89, 0, 0, 1, 0, 0 },                  /* NEWFALSE */
    { 'I', LINE, 0, 1, 0, 0 },                /* INT */
    { 'L', LINE, 0, 1, 0, 0 },                /* LONG */
    { 'J', 4, 0, 1, 0, 0 },                   /* BININT */
    { 'K', 1, 0, 1, 0, 0 },                   /* BININT1 */
    { 'M', 2, 0, 1, 0, 0 },                   /* BININT2 */
    { 0x8A, COUNT_1, 0, 1, 0, 0 },            /* LONG1 */
    { 0x8B, COUNT_4, 0, 1, 0, 0 },            /* LONG4 */
    { 'F', LINE, 0, 1, 0, 0 },                /* FLOAT */
    { 'G', 8, 0, 1, 0, 0 },                   /* BINFLOAT */
    { 'S', LINE, 0, 1, 0, 0 },                /* STRING */
    { 'V', LINE, 0, 1, 0, 0 },                /* UNICODE */
    { 'U', COUNT_1, 0, 1, 0, 0 },             /* SHORT_BINSTRING */
    { 0x8C, COUNT_1, 0, 1, 0, 0 },            /* SHORT_BINUNICODE */
    { 'T', COUNT_4, 0, 1, 0, 0 },             /* BINSTRING */
    { 'X', COUNT_4, 0, 1, 0, 0 },             /* BINUNICODE */
    { 0x8D, COUNT_8, 0, 1, 0, 0 },            /* BINUNICODE8 */
    { 'C', COUNT_1, 0, 1, 0, 0 },             /* SHORT_BINBYTES */
    { 'B', COUNT_4, 0, 1, 0, 0 },             /* BINBYTES */
    { 0x8E, COUNT_8, 0, 1, 0, 0 },            /* BINBYTES8 */
    { 0x96, COUNT_8, 0, 1, 0, 0 },            /* BYTEARRAY8 */
    { 0x97, 0, 0, 1, 0, 0 },                  /* NEXT_BUFFER */
    { 0x98, 0, 0, 0, 1, 0 },                  /* READONLY_BUFFER */
    { ')', 0, 0, 1, 0, 0 },                   /* EMPTY_TUPLE */
    { 't', 0, TO_MARK, 1, 0, 0 },             /* TUPLE */
    { 0x85, 0, 1, 1, 0, 0 },                  /* TUPLE1 */
    { 0x86, 0, 2, 1, 0, 0 },                  /* TUPLE2 */
    { 0x87, 0, 3, 1, 0, 0 },                  /* TUPLE3 */
    { ']', 0, 0, 1, 0, 0 },                   /* EMPTY_LIST */
    { 'l', 0, TO_MARK, 1, 0, 0 },             /* LIST */
    { '}', 0, 0, 1, 0, 0 },                   /* EMPTY_DICT */
    { 'd', 0, TO_MARK, 1, 0, 0 },             /* DICT */
    { 0x8F, 0, 0, 1, 0, 0 },                  /* EMPTY_SET */
    { 0x91, 0, TO_MARK, 1, 0, 0 },            /* FROZENSET */
    { 'a', 0, 1, 0, 1, 0 },                   /* APPEND */
    { 'e', 0, TO_MARK, 0, 1, 0 },             /* APPENDS */
    { 0x90, 0, TO_MARK, 0, 1, 0 },            /* ADDITEMS */
    { 's', 0, 2, 0, 1, 0 },                   /* SETITEM */
    { 'u', 0, TO_MARK, 0, 1, 0 },             /* SETITEMS */
    { 'p', LINE, 0, 0, 1, 0 },                /* PUT */
    { 'q', 1, 0, 0, 1, 0 },                   /* BINPUT */
    { 'r', 4, 0, 0, 1, 0 },                   /* LONG_BINPUT */
    { 0x94, 0, 0, 0, 1, 0 },                  /* MEMOIZE */
    { 'g', LINE, 0, 1, 0, 0 },                /* GET */
    { 'h', 1, 0, 1, 0, 0 },                   /* BINGET */
    { 'j', 4, 0, 1, 0, 0 },                   /* LONG_BINGET */
    { 'c', TWO_LINES, 0, 1, 0, 0 },           /* GLOBAL */
    { 0x93, 0, 2, 1, 0, 0 },                  /* STACK_GLOBAL */
    { 'i', TWO_LINES, TO_MARK, 1, 0, CALLS }, /* INST */
    { 'o', 0, TO_MARK, 1, 0, CALLS },         /* OBJ */
    { 'R', 0, 2, 1, 0, CALLS },               /* REDUCE */
    { 0x81, 0, 2, 1, 0, CALLS },              /* NEWOBJ */
    { 0x92, 0, 3, 1, 0, CALLS },              /* NEWOBJ_EX */
    { 'b', 0, 1, 0, 1, CALLS },               /* BUILD */
    { 0x82, 1, 0, 1, 0, 0 },                  /* EXT1 */
    { 0x83, 2, 0, 1, 0, 0 },                  /* EXT2 */
    { 0x84, 4, 0, 1, 0, 0 },                  /* EXT4 */
    { 'P', LINE, 0, 1, 0, 0 },                /* PERSID */
    { 'Q', 0, 1, 1, 0, 0 },                   /* BINPERSID */
};

#define MAX_MARKS 256 /* open at once; a pickle that has more is read by the machine, which has no such limit */

static const opcode *opcode_of(unsigned char op) {
    for (size_t i = 0; i < PEL_COUNT(opcodes); i++)
        if (opcodes[i].op == op) return &opcodes[i];
    return NULL;
}

static bool skip_line(pel_ctx *ctx, const pel_input *input, uint64_t *at) {
    while (*at < input->size) {
        uint64_t rest = input->size - *at;
        pel_str part = pel_input_view(ctx, input, *at, rest < PEL_INPUT_BLOCK ? rest : PEL_INPUT_BLOCK);
        const char *end = memchr(part.ptr, '\n', part.len);
        *at += end ? (uint64_t)(end - part.ptr) + 1 : part.len;
        if (end) return true;
    }
    return false;
}

/* Moves *at over the argument of an opcode; false if it goes beyond the bytes. */
static bool skip_argument(pel_ctx *ctx, const pel_input *input, unsigned form, uint64_t *at) {
    if (form == LINE) return skip_line(ctx, input, at);
    if (form == TWO_LINES) return skip_line(ctx, input, at) && skip_line(ctx, input, at);
    uint64_t width = form == COUNT_1 ? 1 : form == COUNT_4 ? 4 : form == COUNT_8 ? 8 : form, count = 0;
    if (!pel_input_has(input, *at, width)) return false;
    if (form >= COUNT_1) {
        const char *number = pel_input_view(ctx, input, *at, width).ptr;
        count = width == 1 ? (unsigned char)*number : width == 4 ? pel_le32(number) : pel_le64(number);
    }
    *at += width;
    if (!pel_input_has(input, *at, count)) return false;
    *at += count;
    return true;
}

typedef struct counted {
    uint64_t depth, marks[MAX_MARKS];
    uint32_t n_marks;
} counted;

/* What an opcode does to the height of the stack; false if it takes more than there is. */
static bool count(counted *c, const opcode *op) {
    uint64_t floor = c->n_marks ? c->marks[c->n_marks - 1] : 0;
    if (op->op == '0' && c->depth == floor) { /* POP takes a mark, too */
        if (!c->n_marks) return false;
        c->n_marks--;
        return true;
    }
    if (op->pops == TO_MARK) {
        if (!c->n_marks || (op->op == 'o' && c->depth == floor)) return false;
        c->depth = c->marks[--c->n_marks];
        floor = c->n_marks ? c->marks[c->n_marks - 1] : 0;
    } else {
        if (c->depth - floor < (uint64_t)op->pops) return false;
        c->depth -= (uint64_t)op->pops;
    }
    if (c->depth - floor < op->needs) return false;
    c->depth += (uint64_t)op->pushes;
    return true;
}

pel_pickle_look pel_pickle_scan(pel_ctx *ctx, const pel_input *input) {
    counted c = { 0 };
    bool calls = false;
    for (uint64_t at = 0; at < input->size;) {
        unsigned char op = (unsigned char)*pel_input_view(ctx, input, at++, 1).ptr;
        if (op == '.') { /* with nothing to return an unpickler fails, after all that it called */
            if (c.depth > (c.n_marks ? c.marks[c.n_marks - 1] : 0)) return PEL_PICKLE_WHOLE;
            break;
        }
        if (op == '(') {
            if (c.n_marks == MAX_MARKS) return PEL_PICKLE_CALLS; /* this scan can't say: the machine must look */
            c.marks[c.n_marks++] = c.depth;
            continue;
        }
        const opcode *row = opcode_of(op);
        if (!row || !skip_argument(ctx, input, row->form, &at) || !count(&c, row)) break;
        calls |= (row->flags & CALLS) != 0;
    }
    return calls ? PEL_PICKLE_CALLS : PEL_PICKLE_NONE;
}

bool pel_is_pickle_in(pel_ctx *ctx, const pel_input *input) {
    if (input->size < 2) return false;
    const unsigned char *mark = (const unsigned char *)pel_input_view(ctx, input, 0, 2).ptr;
    if (mark[0] == 0x80 && mark[1] <= 5) return true;
    return pel_pickle_scan(ctx, input) != PEL_PICKLE_NONE;
}

bool pel_is_pickle(pel_str bytes) {
    pel_input input = pel_input_of(bytes);
    return pel_is_pickle_in(NULL, &input); /* views of memory need no ctx */
}
