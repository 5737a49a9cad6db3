/* Whether the tables of a log fit each other: everything read is hostile. */
#include "trace/log/log.h"

static void refuse(pel_ctx *ctx, const char *table, uint32_t row, const char *what) {
    pel_throw(ctx, PEL_E_FORMAT, row, "trace: row %u of %s: %s", row, table, what);
}

static void need(pel_ctx *ctx, bool fine, const char *table, uint32_t row, const char *what) {
    if (!fine) refuse(ctx, table, row, what);
}

typedef struct place {
    pel_ctx *ctx;
    const char *table;
    uint32_t row;
} place;

static void check_ids(place of, const pel_id *ids, uint32_t n, uint32_t below, const char *what) {
    for (uint32_t i = 0; i < n; i++) need(of.ctx, ids[i] < below, of.table, of.row, what);
}

static void check_attributes(pel_ctx *ctx, const pel_log *log, const pel_log_attribute *at, uint32_t n,
                             const char *table, uint32_t row) {
    for (uint32_t i = 0; i < n; i++)
        need(ctx, at[i].value < log->values.n && at[i].name, table, row, "a named value is missing");
}

static void check_code(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_log_code *row = &log->codes.at[id];
    need(ctx, row->code && row->code->name && row->code->code.len % 2 == 0, "codes", id, "no code object");
    need(ctx, row->file < log->files.n && row->class < log->classes.n, "codes", id, "no such file or class");
}

static void check_class(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_log_class *row = &log->classes.at[id];
    need(ctx, row->kind <= PEL_CLASS_AUTHOR && row->name, "classes", id, "no kind or no name");
    need(ctx, row->file < log->files.n, "classes", id, "no such file");
    check_ids((place){ ctx, "classes", id }, row->bases, row->n_bases, log->classes.n, "no such base");
    check_attributes(ctx, log, row->constants, row->n_constants, "classes", id);
}

static bool may_be_cyclic(uint8_t kind) { return kind == PEL_V_OBJECT || kind == PEL_V_FUNCTION; }

/* What a value refers to inside of itself. Items of plain containers come before them, so that walking
 * a value ends; objects and closures may lead back to themselves. */
static void check_value(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_value *row = pel_value_at(log, id);
    const char *table = "values";
    if (pel_value_has_items(row->kind))
        check_ids((place){ ctx, table, id }, row->items, row->n, may_be_cyclic(row->kind) ? log->values.n : id,
                  "no such item");
    switch ((pel_value_kind)row->kind) {
    case PEL_V_NONE_YET: refuse(ctx, table, id, "has no kind"); break;
    case PEL_V_CONST:
        need(ctx, row->constant && row->constant->kind <= PEL_CONST_BYTES, table, id, "no constant");
        break;
    case PEL_V_TENSOR: need(ctx, row->tensor && row->tensor < log->tensors.n, table, id, "no such tensor"); break;
    case PEL_V_MODULE: need(ctx, row->module && row->module < log->modules.n, table, id, "no such module"); break;
    case PEL_V_FUNCTION: need(ctx, row->code && row->code < log->codes.n, table, id, "no such code"); break;
    case PEL_V_CLASS:
    case PEL_V_OBJECT: need(ctx, row->class && row->class < log->classes.n, table, id, "no such class"); break;
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT: need(ctx, row->class < log->classes.n, table, id, "no such class"); break;
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_PARTIAL: need(ctx, row->n == 3, table, id, "needs three items"); break;
    case PEL_V_METHOD: need(ctx, row->n == 2, table, id, "needs two items"); break;
    case PEL_V_LIBRARY:
    case PEL_V_LITERAL:
    case PEL_V_OPAQUE: need(ctx, row->text.len > 0, table, id, "no text"); break;
    default: refuse(ctx, table, id, "unknown kind"); break;
    }
    if (row->kind == PEL_V_DICT || row->kind == PEL_V_OBJECT)
        need(ctx, row->n % 2 == 0, table, id, "a key without value");
}

static void check_slots(pel_ctx *ctx, const pel_log *log, const pel_log_slot *slots, uint32_t n, pel_id id) {
    for (uint32_t i = 0; i < n; i++)
        need(ctx, slots[i].name && slots[i].tensor < log->tensors.n, "modules", id, "no such tensor");
}

static void check_module(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_log_module *row = pel_module_at(log, id);
    need(ctx, row->class && row->class < log->classes.n, "modules", id, "no class");
    check_ids((place){ ctx, "modules", id }, row->children, row->child_names.n, log->modules.n, "no such child");
    check_slots(ctx, log, row->parameters, row->n_parameters, id);
    check_slots(ctx, log, row->buffers, row->n_buffers, id);
    check_attributes(ctx, log, row->attributes, row->n_attributes, "modules", id);
    for (uint32_t i = 0; i < row->n_arguments; i++)
        need(ctx, row->arguments[i].name && row->arguments[i].value < log->values.n, "modules", id,
             "an argument is missing");
}

static void check_records(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_activation *row = &log->activations.at[id];
    const pel_code_object *code = log->codes.at[row->code].code;
    uint32_t units = (uint32_t)(code->code.len / 2), halves = code->version >= 12 ? units : 0;
    for (uint32_t i = 0; i < row->n_records; i++) {
        const pel_record *record = &row->records[i];
        need(ctx, record->at < units + halves, "activations", id, "a record lies outside of its code");
        if (record->kind == PEL_R_CHILD) {
            bool fits = record->value > id && record->value < log->activations.n &&
                        log->activations.at[record->value].parent == id &&
                        log->activations.at[record->value].parent_at == i;
            need(ctx, fits, "activations", id, "a child does not fit its parent");
        } else {
            need(ctx, record->kind <= PEL_R_YIELD && record->value < log->values.n, "activations", id,
                 "a record without value");
        }
    }
}

static void check_activation(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_activation *row = &log->activations.at[id];
    need(ctx, row->code && row->code < log->codes.n, "activations", id, "no code");
    need(ctx, row->parent < id && row->run < log->runs.n, "activations", id, "no such parent or run");
    if (row->parent) {
        const pel_activation *parent = &log->activations.at[row->parent];
        need(ctx,
             row->parent_at < parent->n_records && parent->records[row->parent_at].kind == PEL_R_CHILD &&
                 parent->records[row->parent_at].value == id,
             "activations", id, "its parent does not know it");
    }
    const pel_code_object *code = log->codes.at[row->code].code;
    need(ctx, row->function < log->values.n, "activations", id, "no such function");
    check_ids((place){ ctx, "activations", id }, row->locals, code->varnames.n, log->values.n, "no such value");
    check_ids((place){ ctx, "activations", id }, row->cells, code->cellvars.n + code->freevars.n, log->values.n,
              "no such value");
    check_records(ctx, log, id);
}

static void check_event(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_event *row = &log->events.at[id];
    need(ctx, row->activation < log->activations.n && row->record <= log->activations.at[row->activation].n_records,
         "events", id, "no such place");
    need(ctx, row->function < log->values.n && row->result < log->values.n, "events", id, "no such value");
    check_ids((place){ ctx, "events", id }, row->args, row->n_args, log->values.n, "no such argument");
    check_attributes(ctx, log, row->kwargs, row->n_kwargs, "events", id);
}

static void check_run(pel_ctx *ctx, const pel_log *log, uint32_t id) {
    const pel_log_run *row = &log->runs.at[id];
    need(ctx, row->root < log->modules.n && row->activation < log->activations.n && row->result < log->values.n, "runs",
         id, "refers to nothing");
    check_ids((place){ ctx, "runs", id }, row->args, row->n_args, log->values.n, "no such argument");
    check_attributes(ctx, log, row->kwargs, row->n_kwargs, "runs", id);
}

/* ---- what holds what ---- */

#define MAX_DEPTH 200           /* of bases, children and items, one inside of the other */
#define MAX_UNFOLDED 100000000u /* rows, where what is shared counts once for each place that has it */

/* Rows of a table that refer to others of the same table, which passes follow without marking where they have been. */
typedef struct unfolding {
    pel_ctx *ctx;
    const pel_log *log;
    const char *table;
    uint32_t (*parts)(const pel_log *log, pel_id id, const pel_id **at); /* how many rows a row holds, and which */
    uint32_t *depth, *size;                                              /* per row; 0: not yet known */
} unfolding;

static uint32_t bases_of(const pel_log *log, pel_id id, const pel_id **at) {
    *at = log->classes.at[id].bases;
    return log->classes.at[id].n_bases;
}

static uint32_t children_of(const pel_log *log, pel_id id, const pel_id **at) {
    *at = log->modules.at[id].children;
    return log->modules.at[id].child_names.n;
}

static uint32_t items_of(const pel_log *log, pel_id id, const pel_id **at) {
    const pel_value *value = pel_value_at(log, id);
    *at = value->items;
    return pel_value_has_items(value->kind) && !may_be_cyclic(value->kind) ? value->n : 0;
}

static void unfold(unfolding *u, pel_id id, uint32_t below) {
    if (u->depth[id]) return;
    need(u->ctx, below <= MAX_DEPTH, u->table, id, "nests too deep, or holds itself");
    const pel_id *parts;
    uint32_t n = u->parts(u->log, id, &parts), depth = 0, size = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!parts[i]) continue;
        unfold(u, parts[i], below + 1);
        if (u->depth[parts[i]] > depth) depth = u->depth[parts[i]];
        size += u->size[parts[i]];
        need(u->ctx, size <= MAX_UNFOLDED, u->table, id, "holds too much");
    }
    need(u->ctx, depth <= MAX_DEPTH, u->table, id, "nests too deep");
    u->depth[id] = depth + 1;
    u->size[id] = size;
}

/* Without this a small file could hold what takes longer to walk than anyone lives. */
static void check_unfolding(pel_ctx *ctx, const pel_log *log, const char *table, uint32_t n_rows,
                            uint32_t (*parts)(const pel_log *log, pel_id id, const pel_id **at)) {
    unfolding u = {
        ctx, log, table, parts, pel_new_array(ctx, n_rows, uint32_t), pel_new_array(ctx, n_rows, uint32_t)
    };
    for (pel_id id = 1; id < n_rows; id++) unfold(&u, id, 0);
}

/* ---- all tables ---- */

void pel_log_check(pel_ctx *ctx, const pel_log *log) {
    need(ctx,
         log->files.n && log->codes.n && log->classes.n && log->values.n && log->tensors.n && log->modules.n &&
             log->activations.n && log->events.n,
         "tables", 0, "row 0 is missing");
    need(ctx, log->root < log->modules.n, "modules", log->root, "is to be the root, and is not there");
    for (pel_id i = 1; i < log->classes.n; i++) check_class(ctx, log, i);
    for (pel_id i = 1; i < log->codes.n; i++) check_code(ctx, log, i);
    for (pel_id i = 1; i < log->values.n; i++) check_value(ctx, log, i);
    for (pel_id i = 1; i < log->tensors.n; i++)
        need(ctx, log->tensors.at[i].owner < log->modules.n, "tensors", i, "no such owner");
    for (pel_id i = 1; i < log->modules.n; i++) check_module(ctx, log, i);
    for (pel_id i = 1; i < log->activations.n; i++) check_activation(ctx, log, i);
    for (pel_id i = 1; i < log->events.n; i++) check_event(ctx, log, i);
    for (uint32_t i = 0; i < log->runs.n; i++) check_run(ctx, log, i);
    check_unfolding(ctx, log, "classes", log->classes.n, bases_of);
    check_unfolding(ctx, log, "modules", log->modules.n, children_of);
    check_unfolding(ctx, log, "values", log->values.n, items_of);
}
