/* Mutations for the targets that read logs: rows are made to say something else that a row may say. Bytes that are
 * changed at random are mostly refused by the first checks, and the passes behind these never see them. */
#include "trace/log/log.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define MAX_CHANGES 4

typedef struct mutation {
    pel_str bytes;
    uint64_t state; /* of the random numbers */
    pel_buf out;
} mutation;

/* Below n, which may be 0. */
static uint32_t draw(mutation *m, uint32_t n) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(m->state >> 33) % n : 0;
}

static void change_value(mutation *m, pel_log *log) {
    pel_id id = draw(m, log->values.n);
    pel_value *row = &log->values.at[id];
    if (!id || row->kind == PEL_V_CONST || pel_value_has_text(row->kind)) return;
    bool may_be_later = row->kind == PEL_V_OBJECT || row->kind == PEL_V_FUNCTION;
    if (pel_value_has_items(row->kind) && row->n)
        row->items[draw(m, row->n)] = draw(m, may_be_later ? log->values.n : id);
    else if (row->kind == PEL_V_TENSOR)
        row->tensor = draw(m, log->tensors.n);
    else if (row->kind == PEL_V_MODULE)
        row->module = draw(m, log->modules.n);
    if (draw(m, 4) == 0 && (row->kind == PEL_V_OBJECT || row->kind == PEL_V_CLASS || row->kind == PEL_V_TUPLE))
        row->class = draw(m, log->classes.n);
    if (draw(m, 8) == 0) row->truncated = !row->truncated;
}

static void change_record(mutation *m, pel_log *log) {
    pel_activation *row = &log->activations.at[draw(m, log->activations.n)];
    if (!row->n_records) return;
    pel_record *record = &row->records[draw(m, row->n_records)];
    const pel_record *other = &row->records[draw(m, row->n_records)];
    if (record->kind == PEL_R_CHILD || other->kind == PEL_R_CHILD) return;
    switch (draw(m, 5)) {
    case 0: record->value = draw(m, log->values.n); break;
    case 1: record->at = other->at; break;
    case 2: record->kind = other->kind; break;
    case 3: *record = *other; break;
    default:
        if (row->records[row->n_records - 1].kind != PEL_R_CHILD) row->n_records--;
    }
}

static void change_activation(mutation *m, pel_log *log) {
    pel_activation *row = &log->activations.at[draw(m, log->activations.n)];
    const pel_code_object *code = log->codes.at[row->code].code;
    if (!code) return;
    uint32_t n_cells = code->cellvars.n + code->freevars.n;
    if (code->varnames.n && draw(m, 2)) row->locals[draw(m, code->varnames.n)] = draw(m, log->values.n);
    if (n_cells && draw(m, 2)) row->cells[draw(m, n_cells)] = draw(m, log->values.n);
    if (draw(m, 4) == 0) row->function = draw(m, log->values.n);
    if (draw(m, 4) == 0) row->direct = !row->direct;
}

static void change_module(mutation *m, pel_log *log) {
    pel_log_module *row = &log->modules.at[draw(m, log->modules.n)];
    switch (draw(m, 6)) {
    case 0: row->class = draw(m, log->classes.n); break;
    case 1:
        if (row->child_names.n) row->children[draw(m, row->child_names.n)] = draw(m, log->modules.n);
        break;
    case 2:
        if (row->n_parameters) row->parameters[draw(m, row->n_parameters)].tensor = draw(m, log->tensors.n);
        break;
    case 3:
        if (row->n_attributes) row->attributes[draw(m, row->n_attributes)].value = draw(m, log->values.n);
        break;
    case 4:
        if (row->n_arguments) row->arguments[draw(m, row->n_arguments)].value = draw(m, log->values.n);
        break;
    default: row->has_hooks = !row->has_hooks;
    }
}

static void change_class(mutation *m, pel_log *log) {
    pel_log_class *row = &log->classes.at[draw(m, log->classes.n)];
    if (row->n_bases && draw(m, 2)) row->bases[draw(m, row->n_bases)] = draw(m, log->classes.n);
    if (draw(m, 2)) row->kind = (pel_class_kind)draw(m, PEL_CLASS_AUTHOR + 1);
    if (log->codes.n > 1 && draw(m, 2)) log->codes.at[1 + draw(m, log->codes.n - 1)].class = draw(m, log->classes.n);
}

static void change_log(pel_ctx *ctx, void *arg) {
    static void (*const changes[])(mutation * m, pel_log * log) = { change_value, change_record, change_activation,
                                                                    change_module, change_class };
    mutation *m = arg;
    pel_log *log = pel_log_read(ctx, m->bytes);
    for (uint32_t n = 1 + draw(m, MAX_CHANGES); n > 0; n--) changes[draw(m, PEL_COUNT(changes))](m, log);
    m->out = pel_buf_in(ctx);
    pel_log_write(ctx, log, &m->out);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    mutation m = { .bytes = { (const char *)data, size }, .state = seed };
    pel_ctx *ctx = seed % 8 ? pel_ctx_new((size_t)1 << 29) : NULL;
    pel_err ignored;
    size_t made = 0;
    if (ctx && pel_attempt(ctx, change_log, &m, &ignored) && m.out.len <= max_size) {
        made = m.out.len;
        memcpy(data, m.out.at, made);
    }
    pel_ctx_free(ctx);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}
