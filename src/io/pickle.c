#include "io/pickle.h"

#include "io/bytes.h"

#include <stdlib.h>

#define MAX_STEPS ((uint64_t)64 << 20) /* opcodes; a checkpoint of 10,000 tensors has half a million */
#define MAX_HONEST_MEMO (16u << 20)    /* nobody has memo indexes beyond this; unpicklers allocate as much */

typedef struct machine {
    pel_ctx *ctx;
    pel_str bytes;
    pel_str member;
    uint64_t base, at; /* at: within bytes, of the current opcode */
    uint64_t next;     /* after what has been read */
    PEL_VEC(pel_pickled *) stack;
    PEL_VEC(uint32_t) marks; /* how high the stack was */
    pel_map memo;            /* index -> object */
    pel_pickled *none, *yes, *no, *small[256];
    pel_pickle *result;
    pel_findings *findings;
    bool is_plain; /* as pickle.load reads: arrays of joblib are not taken out */
    int depth;     /* of pickles that arrays of objects are */
    uint64_t steps;
} machine;

static void read_joblib_array(machine *m, const pel_pickled *wrapper);

_Noreturn static void fail(machine *m, const char *what) {
    pel_throw(m->ctx, PEL_E_FORMAT, m->base + m->at, "pickle: %s", what);
}

/* ---- bytes ---- */

static const char *take(machine *m, uint64_t size) {
    if (!pel_within(m->bytes, m->next, size))
        fail(m, "truncated: it ends inside of an opcode, or a length goes beyond its end");
    const char *at = m->bytes.ptr + m->next;
    m->next += size;
    return at;
}

static uint64_t take_number(machine *m, unsigned size) {
    const char *at = take(m, size);
    return size == 1 ? (unsigned char)*at : size == 2 ? pel_le16(at) : size == 4 ? pel_le32(at) : pel_le64(at);
}

/* Bytes after their length, which takes `width` bytes itself. */
static pel_str take_counted(machine *m, unsigned width) {
    uint64_t size = take_number(m, width);
    const char *at = take(m, size);
    return pel_str_at(at, size);
}

static pel_str take_line(machine *m) {
    const char *start = m->bytes.ptr + m->next;
    const char *end = m->next < m->bytes.len ? memchr(start, '\n', m->bytes.len - (size_t)m->next) : NULL;
    if (!end) fail(m, "a line does not end");
    m->next += (uint64_t)(end - start) + 1;
    return (pel_str){ start, (size_t)(end - start) };
}

/* ---- stack ---- */

static pel_pickled *make(machine *m, pel_pickle_kind kind) {
    pel_pickled *object = pel_new(m->ctx, pel_pickled);
    object->kind = (uint8_t)kind;
    object->at = m->base + m->at;
    return object;
}

static void push(machine *m, pel_pickled *object) { pel_push(m->ctx, &m->stack, object); }

static uint32_t floor_of(const machine *m) { return m->marks.n ? m->marks.at[m->marks.n - 1] : 0; }

static pel_pickled *top(machine *m) {
    if (m->stack.n <= floor_of(m)) fail(m, "the stack is empty");
    return m->stack.at[m->stack.n - 1];
}

static pel_pickled *pop(machine *m) {
    pel_pickled *object = top(m);
    m->stack.n--;
    return object;
}

/* The objects above the last mark, taken off with it. */
static pel_pickled **pop_to_mark(machine *m, uint32_t *n) {
    if (!m->marks.n) fail(m, "there is no mark on the stack");
    uint32_t at = m->marks.at[--m->marks.n];
    *n = m->stack.n - at;
    m->stack.n = at;
    return m->stack.at + at;
}

/* Scalars are shared, and an unpickler could put nothing into them. */
static void append(machine *m, pel_pickled *to, pel_pickled *const *items, uint32_t n) {
    if (to->is_used || to->kind == PEL_P_BYTES) to->is_changed = true; /* bytearrays can grow */
    if (to->kind < PEL_P_TUPLE) return;
    pel_reserve(m->ctx, &to->items, n);
    for (uint32_t i = 0; i < n; i++) to->items.at[to->items.n++] = items[i];
}

static void note_key(machine *m, pel_pickled *key) {
    if (key->kind == PEL_P_CALL || key->kind == PEL_P_NEW || (key->kind == PEL_P_TUPLE && key->items.n))
        pel_push(m->ctx, &m->result->keys, key);
}

/* Of a set each, of a dict every second. */
static void note_keys(machine *m, pel_pickled *const *items, uint32_t n, uint32_t step) {
    for (uint32_t i = 0; i < n; i += step) note_key(m, items[i]);
}

static void note_filled(machine *m, pel_pickled *to) {
    if (to->kind >= PEL_P_GLOBAL && !to->items.n) pel_push(m->ctx, &m->result->filled, to);
}

static void append_pairs(machine *m, pel_pickled *to, pel_pickled *const *items, uint32_t n) {
    if (n % 2) fail(m, "a key without its value");
    note_keys(m, items, n, 2);
    note_filled(m, to);
    if (to->kind == PEL_P_DICT && !to->items.n && n) pel_push(m->ctx, &m->result->dicts, to);
    if (to->kind == PEL_P_LIST || to->kind == PEL_P_BYTES) to->is_changed = true; /* sets items by their numbers */
    append(m, to, items, n);
}

static pel_pickled *collection(machine *m, pel_pickle_kind kind, pel_pickled *const *items, uint32_t n) {
    pel_pickled *object = make(m, kind);
    append(m, object, items, n);
    return object;
}

static void push_marked(machine *m, pel_pickle_kind kind) {
    uint32_t n;
    pel_pickled **items = pop_to_mark(m, &n);
    if (kind == PEL_P_DICT && n % 2) fail(m, "a key without its value");
    if (kind == PEL_P_DICT || kind == PEL_P_FROZENSET) note_keys(m, items, n, kind == PEL_P_DICT ? 2 : 1);
    push(m, collection(m, kind, items, n));
    if (kind == PEL_P_DICT && n) pel_push(m->ctx, &m->result->dicts, top(m));
}

static void push_tuple(machine *m, uint32_t n) {
    pel_pickled *items[3];
    for (uint32_t i = n; i-- > 0;) items[i] = pop(m);
    push(m, collection(m, PEL_P_TUPLE, items, n));
}

static void push_text(machine *m, pel_pickle_kind kind, pel_str text) {
    pel_pickled *object = make(m, kind);
    object->text = text;
    push(m, object);
}

static void push_integer(machine *m, int64_t value) {
    bool is_small = value >= 0 && value < 256;
    if (is_small && m->small[value]) {
        push(m, m->small[value]);
        return;
    }
    pel_pickled *object = make(m, PEL_P_INT);
    object->integer = value;
    if (is_small) m->small[value] = object;
    push(m, object);
}

static pel_pickled *constant(machine *m, pel_pickled **kept, pel_pickle_kind kind, int64_t value) {
    if (!*kept) {
        *kept = make(m, kind);
        (*kept)->integer = value;
    }
    return *kept;
}

static void push_bool(machine *m, bool value) { push(m, constant(m, value ? &m->yes : &m->no, PEL_P_BOOL, value)); }

/* ---- numbers and texts ---- */

static void push_decimal(machine *m, pel_str line) {
    if (pel_str_is(line, "00") || pel_str_is(line, "01")) {
        push_bool(m, line.ptr[1] == '1');
        return;
    }
    if (line.len && line.ptr[line.len - 1] == 'L') line.len--;
    char digits[24], *end;
    if (line.len && line.len < 19) {
        memcpy(digits, line.ptr, line.len);
        digits[line.len] = 0;
        int64_t value = strtoll(digits, &end, 0);
        if (!*end) {
            push_integer(m, value);
            return;
        }
    }
    push_text(m, PEL_P_INT, line);
    top(m)->is_big = top(m)->is_text = true;
}

static void push_binary_long(machine *m, pel_str raw) {
    if (raw.len > 8) {
        push_text(m, PEL_P_INT, raw);
        top(m)->is_big = true;
        return;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < raw.len; i++) value |= (uint64_t)(unsigned char)raw.ptr[i] << 8 * i;
    bool negative = raw.len && (unsigned char)raw.ptr[raw.len - 1] & 0x80;
    if (negative && raw.len < 8) value |= UINT64_MAX << 8 * raw.len;
    push_integer(m, (int64_t)value);
}

static void push_float(machine *m, double value) {
    pel_pickled *object = make(m, PEL_P_FLOAT);
    object->real = value;
    push(m, object);
}

static void push_float_line(machine *m) {
    pel_str line = take_line(m);
    char text[64], *end;
    if (!line.len || line.len >= sizeof text) fail(m, "a float is not a number");
    memcpy(text, line.ptr, line.len);
    text[line.len] = 0;
    double value = strtod(text, &end);
    push_float(m, value);
}

static void push_binary_float(machine *m) {
    const unsigned char *raw = (const unsigned char *)take(m, 8);
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < 8; i++) bits = bits << 8 | raw[i];
    memcpy(&value, &bits, sizeof bits);
    push_float(m, value);
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The number of `n` hexadecimal digits at text[at]; -1 if there are fewer. */
static int64_t hex_number(pel_str text, size_t at, size_t n) {
    int64_t value = 0;
    if (!pel_within(text, at, n)) return -1;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_digit(text.ptr[at + i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool is_ascii(pel_str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80) return false;
    return true;
}

/* UNICODE of protocol 0: only \u and \U mean something, and bytes beyond ASCII are Latin-1. They can hide a name, so
 * they are undone. */
static void push_raw_unicode(machine *m) {
    pel_str line = take_line(m);
    if (!line.len || (!memchr(line.ptr, '\\', line.len) && is_ascii(line))) {
        push_text(m, PEL_P_STR, line);
        return;
    }
    pel_buf text = pel_buf_in(m->ctx);
    for (size_t i = 0; i < line.len; i++) {
        char kind = line.ptr[i] == '\\' && i + 1 < line.len ? line.ptr[i + 1] : 0;
        size_t n = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        int64_t point = n ? hex_number(line, i + 2, n) : -1;
        if (point < 0 || point > 0x10FFFF) {
            pel_put_utf8(&text, (unsigned char)line.ptr[i]);
            if (kind && !n) pel_put_utf8(&text, (unsigned char)line.ptr[++i]); /* a second backslash begins nothing */
            continue;
        }
        pel_put_utf8(&text, (uint32_t)point);
        i += 1 + n;
    }
    push_text(m, PEL_P_STR, pel_buf_str(&text));
}

/* STRING of protocol 0: 'text' with the escapes of Python's byte strings. */
static void push_quoted(machine *m) {
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    pel_str line = take_line(m);
    if (line.len < 2 || (line.ptr[0] != '\'' && line.ptr[0] != '"') || line.ptr[line.len - 1] != line.ptr[0])
        fail(m, "a string has no quotes");
    line = pel_str_cut(line, 1, line.len - 1);
    pel_buf text = pel_buf_in(m->ctx);
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != '\\' || i + 1 == line.len) {
            pel_put_byte(&text, line.ptr[i]);
            continue;
        }
        char c = line.ptr[++i];
        const char *known = c ? strchr(from, c) : NULL;
        int64_t byte = c == 'x' ? hex_number(line, i + 1, 2) : -1;
        if (byte >= 0) {
            pel_put_byte(&text, (char)byte);
            i += 2;
        } else if (c >= '0' && c <= '7') {
            unsigned value = 0;
            size_t end = i + 3;
            for (; i < end && i < line.len && line.ptr[i] >= '0' && line.ptr[i] <= '7'; i++)
                value = value * 8 + (unsigned)(line.ptr[i] - '0');
            pel_put_byte(&text, (char)value);
            i--;
        } else if (known) {
            pel_put_byte(&text, to[known - from]);
        } else {
            if (c != '\\' && c != '\'' && c != '"') pel_put_byte(&text, '\\');
            pel_put_byte(&text, c);
        }
    }
    push_text(m, PEL_P_STR, pel_buf_str(&text));
}

/* ---- memo ---- */

static void remember(machine *m, uint64_t index) {
    if (index > MAX_HONEST_MEMO && index > m->memo.n)
        pel_find(m->ctx, m->findings, PEL_DANGER, "memo-index", m->member, m->base + m->at,
                 pel_format(m->ctx, "memo index %llu: an unpickler would allocate %llu MiB for it",
                            (unsigned long long)index, (unsigned long long)(index >> 16)));
    pel_map_set(m->ctx, &m->memo, index, PEL_KEY(top(m)));
}

/* What is at another place, too: a state that it gets from here on changes it there. */
static void push_again(machine *m, pel_pickled *object) {
    if (object->kind == PEL_P_CALL || object->kind == PEL_P_NEW) object->is_used = true;
    push(m, object);
}

static void recall(machine *m, uint64_t index) {
    uint64_t object;
    if (!pel_map_get(&m->memo, index, &object)) fail(m, "the memo has nothing at that index");
    push_again(m, (pel_pickled *)(uintptr_t)object);
}

static uint64_t line_number(machine *m) {
    pel_str line = take_line(m);
    char digits[24], *end;
    if (!line.len || line.len >= sizeof digits) fail(m, "a memo index is not a number");
    memcpy(digits, line.ptr, line.len);
    digits[line.len] = 0;
    uint64_t value = strtoull(digits, &end, 10);
    if (*end && *end != '\r') fail(m, "a memo index is not a number");
    return value;
}

/* ---- names and calls ---- */

static pel_pickled *make_global(machine *m, pel_str module, pel_str name, bool is_computed) {
    pel_pickled *object = make(m, PEL_P_GLOBAL);
    pel_pickled_global *global = pel_new(m->ctx, pel_pickled_global);
    *global = (pel_pickled_global){ module, name, is_computed, NULL };
    object->global = global;
    pel_push(m->ctx, &m->result->globals, object);
    return object;
}

static pel_pickled *named_global(machine *m) {
    pel_str module = take_line(m), name = take_line(m);
    return make_global(m, module, name, false);
}

/* An object that can't be exactly a str, which is what the name of a global must be: a container, or, where arrays of
 * joblib are taken for opcodes, an object that a class makes of nothing. */
static bool is_no_text(const machine *m, const pel_pickled *object) {
    if (object->kind >= PEL_P_TUPLE && object->kind < PEL_P_GLOBAL) return true;
    return m->is_plain && object->kind == PEL_P_NEW && object->call->args->kind == PEL_P_TUPLE &&
           !object->call->args->items.n && !object->call->kwargs;
}

/* STACK_GLOBAL: the names come from the stack, however they got there. */
static void push_stack_global(machine *m) {
    pel_pickled *name = pop(m), *module = pop(m);
    bool is_computed = module->kind > PEL_P_BUFFER || name->kind > PEL_P_BUFFER; /* by str(b"os", "ascii"), say */
    if (is_no_text(m, name) || is_no_text(m, module)) fail(m, "the name of a global is not text");
    if (!is_computed && (module->kind != PEL_P_STR || name->kind != PEL_P_STR))
        fail(m, "the name of a global is not text");
    pel_str unknown = PEL_STR("?");
    push(m, make_global(m, module->kind == PEL_P_STR ? module->text : unknown,
                        name->kind == PEL_P_STR ? name->text : unknown, is_computed));
}

static void use_lists(pel_pickled *tuple) {
    for (uint32_t i = 0; i < tuple->items.n; i++)
        if (tuple->items.at[i]->kind == PEL_P_LIST) tuple->items.at[i]->is_used = true;
}

static pel_pickled_call *push_call(machine *m, pel_pickle_kind kind, pel_pickled *callable, pel_pickled *args,
                                   pel_pickled *kwargs) {
    /* Arrays of joblib are full of chance: what can't be called ends such a reading, as it ends Python's. */
    if (m->is_plain && callable->kind < PEL_P_GLOBAL) fail(m, "it calls a value that can't be called");
    pel_pickled *object = make(m, kind);
    pel_pickled_call *call = pel_new(m->ctx, pel_pickled_call);
    *call = (pel_pickled_call){ callable, args, kwargs, false };
    for (uint32_t i = 0; args->kind == PEL_P_TUPLE && i < args->items.n; i++) {
        pel_pickled *used = args->items.at[i];
        if (used->kind == PEL_P_LIST || used->kind == PEL_P_BYTES) used->is_used = true;
        if (used->kind == PEL_P_TUPLE) use_lists(used);
    }
    object->call = call;
    pel_push(m->ctx, &m->result->calls, object);
    push(m, object);
    return call;
}

static void push_instance(machine *m, pel_pickled *callable, pel_pickled *args) {
    push_call(m, PEL_P_CALL, callable, args, NULL)->may_be_new = !args->items.n;
}

static void build(machine *m) {
    pel_pickled *state = pop(m), *object = top(m);
    if (object->kind < PEL_P_TUPLE) return;
    if (object->is_used) object->is_changed = true;
    if (state->kind == PEL_P_TUPLE) use_lists(state);
    if (!object->states) {
        object->states = pel_new(m->ctx, pel_pickled_states);
        pel_push(m->ctx, &m->result->builds, object);
    }
    pel_push(m->ctx, &object->states->list, state);
    if (!m->is_plain) read_joblib_array(m, object);
}

static void push_persistent(machine *m, pel_pickled *id) {
    pel_pickled *object = make(m, PEL_P_PERSISTENT);
    object->id = id;
    pel_push(m->ctx, &m->result->persistents, object);
    push(m, object);
}

/* ---- opcodes ---- */

static void step(machine *m, unsigned char op) {
    uint32_t n;
    pel_pickled **items, *a, *b, *c;
    switch (op) {
    case 0x80: m->result->protocol = (int)take_number(m, 1); break; /* PROTO */
    case 0x95: take(m, 8); break;                                   /* FRAME: only a hint for buffering */
    case '(': pel_push(m->ctx, &m->marks, m->stack.n); break;
    case '0': /* POP takes a mark, too */
        if (m->stack.n > floor_of(m))
            m->stack.n--;
        else
            pop_to_mark(m, &n);
        break;
    case '1': pop_to_mark(m, &n); break;
    case '2': push_again(m, top(m)); break; /* DUP */

    case 'N': push(m, constant(m, &m->none, PEL_P_NONE, 0)); break;
    case 0x88: push_bool(m, true); break;
    case 0x89: push_bool(m, false); break;
    case 'I':
    case 'L': push_decimal(m, take_line(m)); break;
    case 'J': push_integer(m, (int32_t)take_number(m, 4)); break;
    case 'K': push_integer(m, (int64_t)take_number(m, 1)); break;
    case 'M': push_integer(m, (int64_t)take_number(m, 2)); break;
    case 0x8A: push_binary_long(m, take_counted(m, 1)); break;
    case 0x8B: push_binary_long(m, take_counted(m, 4)); break;
    case 'F': push_float_line(m); break;
    case 'G': push_binary_float(m); break;

    case 'S': push_quoted(m); break;
    case 'V': push_raw_unicode(m); break;
    case 0x8C:
    case 'U': push_text(m, PEL_P_STR, take_counted(m, 1)); break;
    case 'T':
    case 'X': push_text(m, PEL_P_STR, take_counted(m, 4)); break;
    case 0x8D: push_text(m, PEL_P_STR, take_counted(m, 8)); break;
    case 'B': push_text(m, PEL_P_BYTES, take_counted(m, 4)); break;
    case 'C': push_text(m, PEL_P_BYTES, take_counted(m, 1)); break;
    case 0x8E:
    case 0x96: push_text(m, PEL_P_BYTES, take_counted(m, 8)); break;
    case 0x97: push(m, make(m, PEL_P_BUFFER)); break;
    case 0x98: top(m); break; /* READONLY_BUFFER */

    case ')': push(m, make(m, PEL_P_TUPLE)); break;
    case 't': push_marked(m, PEL_P_TUPLE); break;
    case 0x85: push_tuple(m, 1); break;
    case 0x86: push_tuple(m, 2); break;
    case 0x87: push_tuple(m, 3); break;
    case ']': push(m, make(m, PEL_P_LIST)); break;
    case 'l': push_marked(m, PEL_P_LIST); break;
    case '}': push(m, make(m, PEL_P_DICT)); break;
    case 'd': push_marked(m, PEL_P_DICT); break;
    case 0x8F: push(m, make(m, PEL_P_SET)); break;
    case 0x91: push_marked(m, PEL_P_FROZENSET); break;
    case 'a': a = pop(m), note_filled(m, top(m)), append(m, top(m), &a, 1); break;
    case 'e': items = pop_to_mark(m, &n), note_filled(m, top(m)), append(m, top(m), items, n); break;
    case 0x90: /* ADDITEMS */
        items = pop_to_mark(m, &n);
        note_keys(m, items, n, 1);
        note_filled(m, top(m));
        append(m, top(m), items, n);
        break;
    case 's': {
        b = pop(m), a = pop(m);
        pel_pickled *pair[] = { a, b };
        append_pairs(m, top(m), pair, 2);
        break;
    }
    case 'u': items = pop_to_mark(m, &n), append_pairs(m, top(m), items, n); break;

    case 'p': remember(m, line_number(m)); break;
    case 'q': remember(m, take_number(m, 1)); break;
    case 'r': remember(m, take_number(m, 4)); break;
    case 0x94: remember(m, m->memo.n); break; /* MEMOIZE */
    case 'g': recall(m, line_number(m)); break;
    case 'h': recall(m, take_number(m, 1)); break;
    case 'j': recall(m, take_number(m, 4)); break;

    case 'c': push(m, named_global(m)); break;
    case 0x93: push_stack_global(m); break;
    case 'i': /* INST: call of a global with what is above the mark */
        a = named_global(m);
        push_marked(m, PEL_P_TUPLE);
        push_instance(m, a, pop(m));
        break;
    case 'o': /* OBJ: the same, the class being the first above the mark */
        items = pop_to_mark(m, &n);
        if (!n) fail(m, "OBJ without a class");
        a = items[0], b = collection(m, PEL_P_TUPLE, items + 1, n - 1);
        push_instance(m, a, b);
        break;
    case 'R': b = pop(m), a = pop(m), push_call(m, PEL_P_CALL, a, b, NULL); break;
    case 0x81: b = pop(m), a = pop(m), push_call(m, PEL_P_NEW, a, b, NULL); break;
    case 0x92: c = pop(m), b = pop(m), a = pop(m), push_call(m, PEL_P_NEW, a, b, c); break;
    case 'b': build(m); break;
    case 0x82:
    case 0x83:
    case 0x84: /* EXT: a global by a number of the copyreg registry */
        take(m, op == 0x82 ? 1 : op == 0x83 ? 2 : 4);
        push(m, make_global(m, PEL_STR("copyreg"), PEL_STR("?"), true));
        break;
    case 'P': push_text(m, PEL_P_STR, take_line(m)), push_persistent(m, pop(m)); break;
    case 'Q': push_persistent(m, pop(m)); break;
    default: fail(m, "an unknown opcode");
    }
}

static void run(pel_ctx *ctx, void *arg) {
    machine *m = arg;
    pel_reserve(ctx, &m->stack, 64); /* never NULL: places in it are computed */
    for (;;) {
        m->at = m->next;
        if (m->steps++ > MAX_STEPS)
            pel_throw(ctx, PEL_E_TOO_BIG, m->base + m->at, "pickle: more than %llu opcodes",
                      (unsigned long long)MAX_STEPS);
        unsigned char op = (unsigned char)*take(m, 1);
        if (op == '.') break;
        step(m, op);
    }
    m->result->root = pop(m);
    m->result->end = m->next;
}

/* ---- joblib ---- */

#define MAX_ARRAYS_INSIDE 16 /* arrays of objects inside of arrays of objects */

/* The bytes of an element: "f8" has 8, "U5" five letters of four. is_object: each is a pickled object. */
static bool element_size(const pel_pickled *dtype, uint64_t *size, bool *is_object) {
    const pel_pickled *name = dtype ? pel_pickled_argument(dtype, 0) : NULL;
    if (!name || name->kind != PEL_P_STR || name->text.len < 2 || dtype->kind != PEL_P_CALL ||
        !pel_pickled_is_global(dtype->call->callable, "numpy", "dtype"))
        return false;
    size_t i = strchr("<>|=", name->text.ptr[0]) ? 1 : 0;
    char kind = name->text.ptr[i++];
    *size = 0;
    for (; i < name->text.len; i++) {
        if (name->text.ptr[i] < '0' || name->text.ptr[i] > '9' || *size > UINT32_MAX) return false;
        *size = *size * 10 + (uint64_t)(name->text.ptr[i] - '0');
    }
    if (kind == 'U') *size *= 4;
    const pel_pickled *state = dtype->states && dtype->states->list.n ? dtype->states->list.at[0] : NULL;
    if (state && strchr("SUV", kind)) { /* numpy believes the size in the state, whatever the code says */
        const pel_pickled *n = state->kind == PEL_P_TUPLE && state->items.n > 5 ? state->items.at[5] : NULL;
        if (dtype->states->list.n > 1 || !n || n->kind != PEL_P_INT || n->is_big || n->integer < 0) return false;
        *size = (uint64_t)n->integer;
    }
    bool has_fields = state && state->kind == PEL_P_TUPLE && state->items.n > 4 &&
                      state->items.at[4]->kind != PEL_P_NONE; /* one of them may be an object */
    *is_object = kind == 'O';
    return strchr("biufcmMSUVOB?", kind) && !(kind == 'V' && has_fields && state->items.n > 7 &&
                                              state->items.at[7]->kind == PEL_P_INT && state->items.at[7]->integer & 1);
}

static bool array_size(const pel_pickled *state, uint64_t *size, bool *is_object) {
    const pel_pickled *shape = pel_pickled_get(state, "shape"), *dtype = pel_pickled_get(state, "dtype");
    if (!shape || shape->kind != PEL_P_TUPLE || !element_size(dtype, size, is_object)) return false;
    for (uint32_t i = 0; i < shape->items.n; i++) {
        const pel_pickled *n = shape->items.at[i];
        if (n->kind != PEL_P_INT || n->is_big || n->integer < 0 ||
            __builtin_mul_overflow(*size, (uint64_t)n->integer, size))
            return false;
    }
    return true;
}

/* A whole pickle between the opcodes, with stack and memo of its own. */
static void read_inner_pickle(machine *m) {
    machine inner = { .ctx = m->ctx, .bytes = m->bytes, .member = m->member, .base = m->base, .findings = m->findings };
    pel_pickle kept = *m->result;
    inner.next = m->next;
    inner.result = m->result;
    inner.depth = m->depth + 1;
    inner.steps = m->steps;
    if (inner.depth > MAX_ARRAYS_INSIDE)
        pel_throw(m->ctx, PEL_E_TOO_DEEP, m->base + m->at, "pickle: arrays of objects nest deeper than %d",
                  MAX_ARRAYS_INSIDE);
    run(m->ctx, &inner);
    m->next = inner.next;
    m->steps = inner.steps;
    m->result->root = kept.root;
}

/* What joblib's unpickler does after it gave a wrapper its state: it reads the array that follows. */
static void read_joblib_array(machine *m, const pel_pickled *wrapper) {
    const pel_pickled *class =
        wrapper->kind == PEL_P_CALL || wrapper->kind == PEL_P_NEW ? wrapper->call->callable : NULL;
    if (class && (pel_pickled_is_global(class, "copy_reg", "_reconstructor") ||
                  pel_pickled_is_global(class, "copyreg", "_reconstructor")))
        class = pel_pickled_argument(wrapper, 0);
    const pel_pickled *state = wrapper->states->list.n == 1 ? wrapper->states->list.at[0] : NULL;
    if (!class || class->kind != PEL_P_GLOBAL || !pel_str_is(class->global->name, "NumpyArrayWrapper") ||
        !pel_str_ends(class->global->module, PEL_STR("joblib.numpy_pickle")))
        return;
    uint64_t size;
    bool is_object;
    if (!state || state->kind != PEL_P_DICT || !array_size(state, &size, &is_object)) {
        pel_find(m->ctx, m->findings, PEL_SUSPECT, "unusual-type", m->member, m->base + m->at,
                 PEL_STR("joblib reads an array of a type or shape that it never writes: where it ends is not known"));
        fail(m, "joblib: an array of unknown size");
    }
    const pel_pickled *alignment = pel_pickled_get(state, "numpy_array_alignment_bytes");
    pel_pickled_array row = { .wrapper = wrapper };
    if (is_object) {
        row.offset = m->base + m->next;
        pel_push(m->ctx, &m->result->arrays, row);
        read_inner_pickle(m);
        return;
    }
    if (alignment && alignment->kind != PEL_P_NONE) take(m, take_number(m, 1));
    row.offset = m->base + m->next;
    row.size = size;
    take(m, size);
    pel_push(m->ctx, &m->result->arrays, row);
}

/* pickle.load takes the bytes of joblib's arrays for opcodes: what it would call must be known, too. */
static void read_plainly(machine *m, pel_pickle *result) {
    machine plain = { .ctx = m->ctx, .bytes = m->bytes, .base = m->base, .member = m->member, .is_plain = true };
    pel_findings ignored = { 0 };
    pel_err why;
    plain.findings = &ignored;
    plain.result = pel_new(m->ctx, pel_pickle);
    plain.result->failed = !pel_attempt(m->ctx, run, &plain, &why);
    if (plain.result->failed && why.code == PEL_E_MEMORY) pel_throw(m->ctx, why.code, why.at, "%s", why.what);
    if (plain.result->failed) plain.result->fault = why;
    result->plainly = plain.result;
}

pel_pickle *pel_pickle_read(pel_ctx *ctx, pel_str bytes, uint64_t base, pel_str member, pel_findings *findings) {
    machine m = { .ctx = ctx, .bytes = bytes, .base = base, .member = member, .findings = findings };
    pel_pickle *result = m.result = pel_new(ctx, pel_pickle);
    bool is_read = pel_attempt(ctx, run, &m, &result->fault);
    if (!is_read && result->fault.code != PEL_E_FORMAT)
        pel_throw(ctx, result->fault.code, result->fault.at, "%s", result->fault.what);
    if (!is_read) {
        result->root = NULL;
        result->failed = true;
        result->end = m.at;
    }
    if (result->arrays.n) read_plainly(&m, result);
    return result;
}

/* ---- reading the graph ---- */

bool pel_pickled_is_global(const pel_pickled *object, const char *module, const char *name) {
    return object && object->kind == PEL_P_GLOBAL && pel_str_is(object->global->module, module) &&
           pel_str_is(object->global->name, name);
}

pel_pickled *pel_pickled_get(const pel_pickled *dict, const char *key) {
    for (uint32_t i = dict->items.n / 2; i-- > 0;)
        if (dict->items.at[2 * i]->kind == PEL_P_STR && pel_str_is(dict->items.at[2 * i]->text, key))
            return dict->items.at[2 * i + 1];
    return NULL;
}

pel_pickled *pel_pickled_state(const pel_pickled *object) {
    for (uint32_t i = 0; object->states && i < object->states->list.n; i++) {
        pel_pickled *state = object->states->list.at[i];
        if (state->kind == PEL_P_TUPLE && state->items.n) state = state->items.at[0]; /* (dict, slots) */
        if (state->kind == PEL_P_DICT) return state;
    }
    return NULL;
}

pel_pickled *pel_pickled_argument(const pel_pickled *call, uint32_t i) {
    if (call->kind != PEL_P_CALL && call->kind != PEL_P_NEW) return NULL;
    const pel_pickled *args = call->call->args;
    return args->kind == PEL_P_TUPLE && i < args->items.n ? args->items.at[i] : NULL;
}

/* ---- showing ---- */

#define SHOW_DEPTH 8
#define SHOW_ITEMS 12
#define SHOW_TEXT 160
#define SHOW_TOTAL 1200 /* bytes that one object may take */

typedef struct shower {
    pel_buf *out;
    size_t limit; /* of out's length */
} shower;

static void show(shower *s, const pel_pickled *object, int depth);

static void show_quoted(shower *s, pel_str text, bool is_bytes) {
    bool is_cut = text.len > SHOW_TEXT;
    pel_put_c(s->out, is_bytes ? "b'" : "'");
    for (size_t i = 0; i < (is_cut ? SHOW_TEXT : text.len); i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\n')
            pel_put_c(s->out, "\\n");
        else if (c == '\'' || c == '\\')
            pel_putf(s->out, "\\%c", c);
        else if (c < 0x20 || c == 0x7F || c > 0x7E)
            pel_putf(s->out, "\\x%02x", c);
        else
            pel_put_byte(s->out, (char)c);
    }
    pel_put_c(s->out, is_cut ? "…'" : "'");
}

static void show_list(shower *s, const pel_pickled *object, const char *open, const char *close, bool pairs,
                      int depth) {
    pel_put_c(s->out, open);
    uint32_t step_size = pairs ? 2 : 1;
    for (uint32_t i = 0; i + step_size <= object->items.n; i += step_size) {
        if (i) pel_put_c(s->out, ", ");
        if (i >= SHOW_ITEMS || s->out->len > s->limit) {
            pel_put_c(s->out, "…");
            break;
        }
        show(s, object->items.at[i], depth + 1);
        if (pairs) pel_put_c(s->out, ": "), show(s, object->items.at[i + 1], depth + 1);
    }
    pel_put_c(s->out, close);
}

/* Names come from the file: what is no plain letter must not reach a terminal. */
static void show_name(shower *s, pel_str name) {
    for (size_t i = 0; i < name.len && i < SHOW_TEXT; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        pel_put_byte(s->out, c > 0x20 && c < 0x7F ? (char)c : '?');
    }
}

static void show_call(shower *s, const pel_pickled *object, int depth) {
    const pel_pickled_call *call = object->call;
    show(s, call->callable, depth + 1);
    if (object->kind == PEL_P_NEW) pel_put_c(s->out, ".__new__");
    if (call->args->kind == PEL_P_TUPLE)
        show_list(s, call->args, "(", call->kwargs ? "" : ")", false, depth);
    else
        pel_put_c(s->out, "(*"), show(s, call->args, depth + 1), pel_put_c(s->out, call->kwargs ? "" : ")");
    if (call->kwargs) pel_put_c(s->out, ", **"), show(s, call->kwargs, depth + 1), pel_put_c(s->out, ")");
}

/* Objects may hold themselves, and few bytes of a pickle can make a tree of millions of items by its memo. So depth and
 * total length are both limited. */
static void show(shower *s, const pel_pickled *object, int depth) {
    if (depth > SHOW_DEPTH || s->out->len > s->limit) {
        pel_put_c(s->out, "…");
        return;
    }
    switch ((pel_pickle_kind)object->kind) {
    case PEL_P_NONE: pel_put_c(s->out, "None"); break;
    case PEL_P_BOOL: pel_put_c(s->out, object->integer ? "True" : "False"); break;
    case PEL_P_INT:
        if (object->is_big)
            pel_putf(s->out, "<integer of %zu %s>", object->text.len, object->is_text ? "digits" : "bytes");
        else
            pel_put_int(s->out, object->integer);
        break;
    case PEL_P_FLOAT: pel_putf(s->out, "%.17g", object->real); break;
    case PEL_P_STR: show_quoted(s, object->text, false); break;
    case PEL_P_BYTES: show_quoted(s, object->text, true); break;
    case PEL_P_BUFFER: pel_put_c(s->out, "<buffer>"); break;
    case PEL_P_TUPLE: show_list(s, object, "(", object->items.n == 1 ? ",)" : ")", false, depth); break;
    case PEL_P_LIST: show_list(s, object, "[", "]", false, depth); break;
    case PEL_P_DICT: show_list(s, object, "{", "}", true, depth); break;
    case PEL_P_SET:
    case PEL_P_FROZENSET: show_list(s, object, "{", "}", false, depth); break;
    case PEL_P_GLOBAL:
        show_name(s, object->global->module);
        pel_put_byte(s->out, '.');
        show_name(s, object->global->name);
        break;
    case PEL_P_CALL:
    case PEL_P_NEW: show_call(s, object, depth); break;
    case PEL_P_PERSISTENT:
        pel_put_c(s->out, "<persistent "), show(s, object->id, depth + 1), pel_put_c(s->out, ">");
        break;
    }
}

void pel_pickled_show(pel_buf *out, const pel_pickled *object) {
    shower s = { out, out->len + SHOW_TOTAL };
    show(&s, object, 0);
}
