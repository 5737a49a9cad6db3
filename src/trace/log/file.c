/* The trace file.
 *
 *   file   = magic version string-or-row...       magic: "peltrace"
 *   number = 7 bits a byte, low ones first, high bit: more follow; signed ones zig-zag
 *   text   = 0 (no text) | 1 number bytes (a new one) | k (the text that came as number k - 2)
 *
 * One description of the rows serves both ways: each row_* function moves its fields between the row and
 * the bytes, in the direction that the wire says. So writer and reader cannot disagree. Every count
 * that is read must fit into the bytes that are left, since no element takes less than one. */
#include "trace/log/log.h"

static const char MAGIC[8] = { 'p', 'e', 'l', 't', 'r', 'a', 'c', 'e' };
#define VERSION 3
#define MAX_CODE_DEPTH 100 /* code objects and tuples inside constants */

typedef struct wire {
    pel_ctx *ctx;
    bool reading;
    pel_buf *out;                          /* writing */
    pel_map known;                         /* writing: name -> its number */
    const unsigned char *at, *end, *start; /* reading */
    PEL_VEC(pel_name) texts;
    int depth;
} wire;

static _Noreturn void broken(wire *w, const char *what) {
    pel_throw(w->ctx, PEL_E_FORMAT, (uint64_t)(w->at - w->start), "trace file: %s", what);
}

/* ---- numbers ---- */

static uint64_t read_number(wire *w) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (w->at == w->end) broken(w, "ends too early");
        uint64_t bits = *w->at & 0x7f;
        if (shift == 63 && bits > 1) broken(w, "a number is too long");
        value |= bits << shift;
        if (!(*w->at++ & 0x80)) return value;
    }
    broken(w, "a number is too long");
}

static void write_number(wire *w, uint64_t value) {
    for (; value >= 0x80; value >>= 7) pel_put_byte(w->out, (char)(value | 0x80));
    pel_put_byte(w->out, (char)value);
}

static void wire_u64(wire *w, uint64_t *value) {
    if (w->reading)
        *value = read_number(w);
    else
        write_number(w, *value);
}

static void wire_u32(wire *w, uint32_t *value) {
    uint64_t wide = *value;
    wire_u64(w, &wide);
    if (wide > UINT32_MAX) broken(w, "a number is too large");
    *value = (uint32_t)wide;
}

static void wire_u8(wire *w, uint8_t *value) {
    uint32_t wide = *value;
    wire_u32(w, &wide);
    if (wide > UINT8_MAX) broken(w, "a number is too large");
    *value = (uint8_t)wide;
}

static void wire_bool(wire *w, bool *value) {
    uint8_t wide = *value;
    wire_u8(w, &wide);
    if (wide > 1) broken(w, "neither yes nor no");
    *value = wide;
}

static void wire_i64(wire *w, int64_t *value) {
    uint64_t folded = ((uint64_t)*value << 1) ^ (*value < 0 ? UINT64_MAX : 0);
    wire_u64(w, &folded);
    *value = (int64_t)((folded >> 1) ^ (folded & 1 ? UINT64_MAX : 0));
}

static void wire_double(wire *w, double *value) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    if (!w->reading) {
        for (int i = 0; i < 8; i++) pel_put_byte(w->out, (char)(bits >> (8 * i)));
        return;
    }
    if (w->end - w->at < 8) broken(w, "ends too early");
    bits = 0;
    for (int i = 0; i < 8; i++) bits |= (uint64_t)*w->at++ << (8 * i);
    memcpy(value, &bits, sizeof bits);
}

static void wire_count(wire *w, uint32_t *n) {
    wire_u32(w, n);
    if (w->reading && *n > (uint64_t)(w->end - w->at)) broken(w, "a count is larger than the file");
}

/* ---- texts ---- */

static pel_str read_bytes(wire *w) {
    uint64_t len = read_number(w);
    if (len > (uint64_t)(w->end - w->at)) broken(w, "a text is longer than the file");
    pel_str s = { (const char *)w->at, (size_t)len };
    w->at += len;
    return s;
}

/* A long text that occurs once: no table. */
static void wire_blob(wire *w, pel_str *s) {
    if (w->reading) {
        *s = pel_str_copy(w->ctx, read_bytes(w));
        return;
    }
    write_number(w, s->len);
    pel_put(w->out, *s);
}

static void wire_name(wire *w, pel_name *name) {
    if (w->reading) {
        uint64_t number = read_number(w);
        if (number == 0) {
            *name = NULL;
        } else if (number == 1) {
            pel_str s = read_bytes(w);
            *name = pel_intern_str(w->ctx, s);
            pel_push(w->ctx, &w->texts, *name);
        } else if (number - 2 < w->texts.n) {
            *name = w->texts.at[number - 2];
        } else {
            broken(w, "no such text");
        }
        return;
    }
    uint64_t number;
    /* The log may live in another ctx, with names of its own. */
    pel_name ours = *name ? pel_intern_hashed(w->ctx, (*name)->text, (*name)->len, (*name)->hash) : NULL;
    if (!ours) {
        write_number(w, 0);
    } else if (pel_map_get(&w->known, PEL_KEY(ours), &number)) {
        write_number(w, number);
    } else {
        pel_map_set(w->ctx, &w->known, PEL_KEY(ours), w->known.n + 2);
        write_number(w, 1);
        write_number(w, (*name)->len);
        pel_put_name(w->out, *name);
    }
}

static void wire_str(wire *w, pel_str *s) {
    pel_name name = w->reading || !s->len ? NULL : pel_intern(w->ctx, s->ptr, s->len);
    wire_name(w, &name);
    if (w->reading) *s = name ? pel_name_str(name) : PEL_STR("");
}

static void wire_names(wire *w, pel_name_list *list) {
    wire_count(w, &list->n);
    if (w->reading) list->at = pel_new_array(w->ctx, list->n, pel_name);
    for (uint32_t i = 0; i < list->n; i++) {
        wire_name(w, &list->at[i]);
        if (w->reading && !list->at[i]) broken(w, "a name is missing");
    }
}

static void wire_ids(wire *w, pel_id **ids, uint32_t *n) {
    wire_count(w, n);
    if (w->reading) *ids = pel_new_array(w->ctx, *n, pel_id);
    for (uint32_t i = 0; i < *n; i++) wire_u32(w, &(*ids)[i]);
}

static void wire_attributes(wire *w, pel_log_attribute **at, uint32_t *n) {
    wire_count(w, n);
    if (w->reading) *at = pel_new_array(w->ctx, *n, pel_log_attribute);
    for (uint32_t i = 0; i < *n; i++) {
        wire_name(w, &(*at)[i].name);
        wire_u32(w, &(*at)[i].value);
    }
}

/* ---- constants and code objects ---- */

static void wire_code_object(wire *w, pel_code_object *code);

/* One text for reading and writing keeps the two from drifting apart. A file is not trusted: the switch relies on the
 * kind, and the recursion on the depth, so both are checked before. */
static void wire_const(wire *w, const pel_const **slot) {
    pel_const value = w->reading ? (pel_const){ .kind = PEL_CONST_NONE } : **slot;
    uint8_t kind = (uint8_t)value.kind;
    wire_u8(w, &kind);
    if (kind > PEL_CONST_SLICE) broken(w, "unknown kind of constant");
    value.kind = (pel_const_kind)kind;
    if (++w->depth > MAX_CODE_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "trace file: constants nest too deep");
    switch (value.kind) {
    case PEL_CONST_NONE:
    case PEL_CONST_FALSE:
    case PEL_CONST_TRUE:
    case PEL_CONST_ELLIPSIS: break;
    case PEL_CONST_INT:
        wire_i64(w, &value.integer.small);
        wire_str(w, &value.integer.digits);
        break;
    case PEL_CONST_FLOAT: wire_double(w, &value.real); break;
    case PEL_CONST_COMPLEX:
        wire_double(w, &value.real);
        wire_double(w, &value.imag);
        break;
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: wire_str(w, &value.text); break;
    case PEL_CONST_TUPLE:
    case PEL_CONST_FROZENSET:
    case PEL_CONST_SLICE:
        wire_count(w, &value.n);
        if (w->reading) value.items = pel_new_array(w->ctx, value.n, const pel_const *);
        for (uint32_t i = 0; i < value.n; i++) wire_const(w, &value.items[i]);
        break;
    case PEL_CONST_CODE:
        if (w->reading) value.code = pel_new(w->ctx, pel_code_object);
        wire_code_object(w, value.code);
        break;
    case PEL_CONST_OBJECT:
        wire_u64(w, &value.object);
        wire_str(w, &value.repr);
        break;
    }
    w->depth--;
    if (!w->reading) return;
    pel_const *made = pel_new(w->ctx, pel_const);
    *made = value;
    *slot = made;
}

static void wire_code_object(wire *w, pel_code_object *code) {
    uint32_t version = (uint32_t)code->version;
    wire_u32(w, &version);
    if (version < PEL_VERSION_MIN || version > PEL_VERSION_MAX) broken(w, "code of an unknown Python");
    code->version = (pel_version)version;
    uint32_t *numbers[] = { &code->argcount,  &code->posonlyargcount, &code->kwonlyargcount,
                            &code->stacksize, &code->flags,           &code->firstlineno };
    for (size_t i = 0; i < PEL_COUNT(numbers); i++) wire_u32(w, numbers[i]);
    wire_name(w, &code->name);
    wire_name(w, &code->qualname);
    if (!code->name) broken(w, "code without a name");
    wire_str(w, &code->filename);
    wire_blob(w, &code->code);
    wire_count(w, &code->n_consts);
    if (w->reading) code->consts = pel_new_array(w->ctx, code->n_consts, const pel_const *);
    for (uint32_t i = 0; i < code->n_consts; i++) wire_const(w, &code->consts[i]);
    wire_names(w, &code->names);
    wire_names(w, &code->varnames);
    wire_names(w, &code->cellvars);
    wire_names(w, &code->freevars);
    wire_blob(w, &code->linetable);
    wire_blob(w, &code->exceptiontable);
    if (w->reading) pel_code_finish(w->ctx, code, 0);
}

/* ---- rows ---- */

static void row_file(wire *w, pel_log_file *row) {
    wire_str(w, &row->path);
    wire_blob(w, &row->source);
}

static void row_code(wire *w, pel_log_code *row) {
    pel_code_object *code = w->reading ? pel_new(w->ctx, pel_code_object) : (pel_code_object *)row->code;
    wire_code_object(w, code);
    row->code = code;
    wire_u32(w, &row->file);
    wire_u32(w, &row->class);
    wire_str(w, &row->module);
}

static void row_class(wire *w, pel_log_class *row) {
    uint32_t kind = row->kind;
    wire_u32(w, &kind);
    if (kind > PEL_CLASS_AUTHOR) broken(w, "unknown kind of class");
    row->kind = (pel_class_kind)kind;
    wire_name(w, &row->name);
    wire_str(w, &row->qualname);
    wire_str(w, &row->module);
    wire_str(w, &row->path);
    wire_u32(w, &row->file);
    wire_u32(w, &row->line);
    wire_ids(w, &row->bases, &row->n_bases);
    wire_names(w, &row->fields);
    wire_attributes(w, &row->constants, &row->n_constants);
}

enum { VALUE_TRUNCATED = 2, VALUE_OBJECT = 4 }; /* flags of a value in the file */

static void row_value(wire *w, pel_value *row) {
    wire_u8(w, &row->kind);
    uint8_t flags = (uint8_t)((row->truncated ? VALUE_TRUNCATED : 0) | (row->object ? VALUE_OBJECT : 0));
    wire_u8(w, &flags);
    if (flags & ~(VALUE_TRUNCATED | VALUE_OBJECT)) broken(w, "unknown flags of a value");
    row->truncated = (flags & VALUE_TRUNCATED) != 0;
    if (flags & VALUE_OBJECT) wire_u64(w, &row->object);
    if (row->kind == PEL_V_CONST) {
        wire_const(w, &row->constant);
    } else if (pel_value_has_text(row->kind)) {
        wire_str(w, &row->text);
    } else {
        wire_u32(w, &row->class); /* or tensor, module, code: one union */
        if (pel_value_has_items(row->kind)) wire_ids(w, &row->items, &row->n);
    }
}

static void wire_order(wire *w, pel_log_tensor *row) {
    bool is_permuted = row->order != NULL;
    wire_bool(w, &is_permuted);
    if (!is_permuted) return;
    if (w->reading) row->order = pel_new_array(w->ctx, row->n_dims, uint32_t);
    bool *seen = pel_new_array(w->ctx, row->n_dims, bool);
    for (uint32_t i = 0; i < row->n_dims; i++) {
        wire_u32(w, &row->order[i]);
        if (row->order[i] >= row->n_dims || seen[row->order[i]]) broken(w, "dimensions are no permutation");
        seen[row->order[i]] = true;
    }
}

static void row_tensor(wire *w, pel_log_tensor *row) {
    wire_u64(w, &row->serial);
    wire_str(w, &row->dtype);
    wire_count(w, &row->n_dims);
    if (w->reading) row->shape = pel_new_array(w->ctx, row->n_dims, int64_t);
    for (uint32_t i = 0; i < row->n_dims; i++) wire_i64(w, &row->shape[i]);
    wire_order(w, row);
    wire_bool(w, &row->requires_grad);
    wire_bool(w, &row->is_parameter);
    wire_u32(w, &row->owner);
    wire_name(w, &row->name);
    wire_str(w, &row->formula);
    wire_blob(w, &row->data);
}

static void wire_slots(wire *w, pel_log_slot **slots, uint32_t *n) {
    wire_count(w, n);
    if (w->reading) *slots = pel_new_array(w->ctx, *n, pel_log_slot);
    for (uint32_t i = 0; i < *n; i++) {
        pel_log_slot *slot = &(*slots)[i];
        wire_name(w, &slot->name);
        wire_u32(w, &slot->tensor);
        wire_bool(w, &slot->persistent);
    }
}

static void wire_arguments(wire *w, pel_log_module *row) {
    wire_count(w, &row->n_arguments);
    if (w->reading) row->arguments = pel_new_array(w->ctx, row->n_arguments, pel_log_argument);
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        pel_log_argument *argument = &row->arguments[i];
        wire_name(w, &argument->name);
        wire_u32(w, &argument->value);
        wire_bool(w, &argument->positional);
        wire_bool(w, &argument->is_default);
    }
}

static void row_module(wire *w, pel_log_module *row) {
    wire_u32(w, &row->class);
    wire_str(w, &row->path);
    wire_bool(w, &row->in_tree);
    wire_bool(w, &row->training);
    wire_bool(w, &row->has_hooks);
    wire_names(w, &row->child_names);
    if (w->reading) row->children = pel_new_array(w->ctx, row->child_names.n, pel_id);
    for (uint32_t i = 0; i < row->child_names.n; i++) wire_u32(w, &row->children[i]);
    wire_slots(w, &row->parameters, &row->n_parameters);
    wire_slots(w, &row->buffers, &row->n_buffers);
    wire_attributes(w, &row->attributes, &row->n_attributes);
    wire_bool(w, &row->has_arguments);
    wire_arguments(w, row);
    wire_names(w, &row->made_by_base);
}

static void wire_records(wire *w, pel_activation *row) {
    wire_count(w, &row->n_records);
    if (w->reading) row->records = pel_new_array(w->ctx, row->n_records, pel_record);
    uint32_t before = 0; /* most instructions follow the one before: the distance is a small number */
    for (uint32_t i = 0; i < row->n_records; i++) {
        pel_record *record = &row->records[i];
        int64_t distance = (int64_t)record->at - before;
        wire_i64(w, &distance);
        if (distance < -(int64_t)before || distance > (1 << 28) - 1 - (int64_t)before) broken(w, "a record is far off");
        before = (uint32_t)(before + distance);
        uint8_t kind = record->kind;
        wire_u8(w, &kind);
        if (kind > PEL_R_YIELD) broken(w, "unknown kind of record");
        record->at = before & 0xfffffff;
        record->kind = (uint32_t)kind & 0xfu;
        if (kind != PEL_R_STEP) wire_u32(w, &record->value);
    }
}

static void wire_known_ids(wire *w, pel_id **ids, uint32_t n) {
    if (w->reading) *ids = pel_new_array(w->ctx, n, pel_id);
    for (uint32_t i = 0; i < n; i++) wire_u32(w, &(*ids)[i]);
}

static void row_activation(wire *w, pel_activation *row, const pel_log *log) {
    wire_u32(w, &row->code);
    if (row->code == 0 || row->code >= log->codes.n) broken(w, "an activation without code");
    wire_u32(w, &row->parent);
    wire_u32(w, &row->parent_at);
    wire_bool(w, &row->direct);
    wire_u32(w, &row->run);
    wire_u32(w, &row->function);
    const pel_code_object *code = log->codes.at[row->code].code;
    wire_known_ids(w, &row->locals, code->varnames.n);
    wire_known_ids(w, &row->cells, code->cellvars.n + code->freevars.n);
    wire_records(w, row);
}

static void row_event(wire *w, pel_event *row) {
    wire_u32(w, &row->activation);
    wire_u32(w, &row->record);
    wire_u32(w, &row->function);
    wire_ids(w, &row->args, &row->n_args);
    wire_attributes(w, &row->kwargs, &row->n_kwargs);
    wire_u32(w, &row->result);
    wire_bool(w, &row->draws_random);
}

static void row_run(wire *w, pel_log_run *row) {
    wire_u32(w, &row->root);
    wire_ids(w, &row->args, &row->n_args);
    wire_attributes(w, &row->kwargs, &row->n_kwargs);
    wire_u32(w, &row->result);
    wire_u32(w, &row->activation);
    wire_bool(w, &row->training);
    wire_bool(w, &row->grad_enabled);
    wire_str(w, &row->label);
}

/* A table: the number of its rows, then those from `first`; the reader has made row 0 already. */
#define WIRE_TABLE(w, table, first, type, move)                                                                        \
    do {                                                                                                               \
        uint32_t n_rows = (table)->n - (first);                                                                        \
        wire_count(w, &n_rows);                                                                                        \
        for (uint32_t row_ = 0; row_ < n_rows; row_++) {                                                               \
            if ((w)->reading) pel_push((w)->ctx, table, (type){ 0 });                                                  \
            type *row = &(table)->at[row_ + (first)];                                                                  \
            move;                                                                                                      \
        }                                                                                                              \
    } while (0)

static void wire_log(wire *w, pel_log *log) {
    wire_str(w, &log->origin);
    wire_str(w, &log->versions);
    WIRE_TABLE(w, &log->files, 1, pel_log_file, row_file(w, row));
    WIRE_TABLE(w, &log->codes, 1, pel_log_code, row_code(w, row));
    WIRE_TABLE(w, &log->classes, 1, pel_log_class, row_class(w, row));
    WIRE_TABLE(w, &log->values, 1, pel_value, row_value(w, row));
    WIRE_TABLE(w, &log->tensors, 1, pel_log_tensor, row_tensor(w, row));
    WIRE_TABLE(w, &log->modules, 1, pel_log_module, row_module(w, row));
    WIRE_TABLE(w, &log->activations, 1, pel_activation, row_activation(w, row, log));
    WIRE_TABLE(w, &log->events, 1, pel_event, row_event(w, row));
    WIRE_TABLE(w, &log->runs, 0, pel_log_run, row_run(w, row));
    wire_u32(w, &log->root);
}

void pel_log_write(pel_ctx *ctx, const pel_log *log, pel_buf *out) {
    wire w = { .ctx = ctx, .out = out };
    pel_put(out, (pel_str){ MAGIC, sizeof MAGIC });
    write_number(&w, VERSION);
    wire_log(&w, (pel_log *)log); /* writing changes nothing in it */
}

pel_log *pel_log_read(pel_ctx *ctx, pel_str bytes) {
    const unsigned char *start = (const unsigned char *)bytes.ptr;
    wire w = { .ctx = ctx, .reading = true, .start = start, .at = start, .end = start + bytes.len };
    if (bytes.len < sizeof MAGIC || memcmp(start, MAGIC, sizeof MAGIC) != 0) broken(&w, "not a trace file");
    w.at += sizeof MAGIC;
    uint64_t version = read_number(&w);
    if (version != VERSION)
        pel_throw(ctx, PEL_E_UNSUPPORTED, sizeof MAGIC, "trace file: version %llu, only %d is known",
                  (unsigned long long)version, VERSION);
    pel_log *log = pel_log_new(ctx);
    wire_log(&w, log);
    if (w.at != w.end) broken(&w, "goes on after its end");
    pel_log_check(ctx, log);
    return log;
}

bool pel_log_is_file(pel_str bytes) { return bytes.len >= sizeof MAGIC && memcmp(bytes.ptr, MAGIC, sizeof MAGIC) == 0; }
