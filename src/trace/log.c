#include "trace/log.h"

#define MAX_DEPTH 64        /* of values inside values: the recorder stops far earlier */
#define MAX_COMPARED 100000 /* values that share their parts can unfold to any size */

pel_log *pel_log_new(pel_ctx *ctx) {
    pel_log *log = pel_new(ctx, pel_log);
    pel_push(ctx, &log->files, (pel_log_file){ .path = PEL_STR("") });
    pel_push(ctx, &log->codes, (pel_log_code){ .code = NULL });
    pel_push(ctx, &log->classes, (pel_log_class){ .kind = PEL_CLASS_AUTHOR });
    pel_push(ctx, &log->values, (pel_value){ .kind = PEL_V_NONE_YET });
    pel_push(ctx, &log->tensors, (pel_log_tensor){ .serial = 0 });
    pel_push(ctx, &log->modules, (pel_log_module){ .class = 0 });
    pel_push(ctx, &log->activations, (pel_activation){ .code = 0 });
    pel_push(ctx, &log->events, (pel_event){ .activation = 0 });
    return log;
}

/* ---- what a value holds, by kind ---- */

pel_id pel_result_of(const pel_log *log, pel_id activation) {
    const pel_activation *row = &log->activations.at[activation];
    const pel_record *last = row->n_records ? &row->records[row->n_records - 1] : NULL;
    return last && last->kind == PEL_R_RETURN ? last->value : 0;
}

bool pel_value_is_number(const pel_value *value) {
    return value->kind == PEL_V_CONST &&
           (value->constant->kind == PEL_CONST_INT || value->constant->kind == PEL_CONST_FLOAT);
}

bool pel_value_has_items(pel_value_kind kind) {
    switch (kind) {
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL:
    case PEL_V_OBJECT: return true;
    default: return false;
    }
}

pel_id pel_item_named(const pel_log *log, const pel_value *whole, pel_name name) {
    for (uint32_t i = 0; i + 1 < whole->n; i += 2) {
        const pel_value *key = pel_value_at(log, whole->items[i]);
        if (key->kind == PEL_V_CONST && key->constant->kind == PEL_CONST_STR &&
            pel_str_eq(key->constant->text, pel_name_str(name)))
            return whole->items[i + 1];
    }
    return 0;
}

bool pel_value_has_text(pel_value_kind kind) {
    return kind == PEL_V_LIBRARY || kind == PEL_V_LITERAL || kind == PEL_V_OPAQUE;
}

const char *pel_value_kind_name(pel_value_kind kind) {
    static const char *const names[] = {
        [PEL_V_NONE_YET] = "nothing",    [PEL_V_CONST] = "const",     [PEL_V_TUPLE] = "tuple",
        [PEL_V_SIZE] = "size",           [PEL_V_LIST] = "list",       [PEL_V_SET] = "set",
        [PEL_V_FROZENSET] = "frozenset", [PEL_V_DICT] = "dict",       [PEL_V_SLICE] = "slice",
        [PEL_V_RANGE] = "range",         [PEL_V_TENSOR] = "tensor",   [PEL_V_MODULE] = "module",
        [PEL_V_FUNCTION] = "function",   [PEL_V_METHOD] = "method",   [PEL_V_PARTIAL] = "partial",
        [PEL_V_CLASS] = "class",         [PEL_V_LIBRARY] = "library", [PEL_V_LITERAL] = "literal",
        [PEL_V_OBJECT] = "object",       [PEL_V_OPAQUE] = "opaque",
    };
    return (size_t)kind < PEL_COUNT(names) ? names[kind] : "?";
}

/* ---- short hands ---- */

pel_id pel_module_attribute(const pel_log *log, pel_id module, pel_name name) {
    const pel_log_module *row = pel_module_at(log, module);
    for (uint32_t i = 0; i < row->n_attributes; i++)
        if (row->attributes[i].name == name) return row->attributes[i].value;
    return 0;
}

pel_id pel_child_named(const pel_log_module *row, const char *name) {
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (pel_name_is(row->child_names.at[i], name)) return row->children[i];
    return 0;
}

static bool same_at(const pel_log *log, pel_id a, pel_id b, int depth, uint32_t *compared) {
    if (a == b) return true;
    const pel_value *x = pel_value_at(log, a), *y = pel_value_at(log, b);
    if (x->kind != y->kind || depth > MAX_DEPTH || ++*compared > MAX_COMPARED) return false;
    switch ((pel_value_kind)x->kind) {
    case PEL_V_NONE_YET: return true;
    case PEL_V_CONST: return pel_const_same(x->constant, y->constant);
    case PEL_V_TENSOR: return x->tensor == y->tensor;
    case PEL_V_MODULE: return x->module == y->module;
    case PEL_V_CLASS: return x->class == y->class;
    case PEL_V_LIBRARY:
    case PEL_V_LITERAL: return pel_str_eq(x->text, y->text);
    case PEL_V_OPAQUE: return false;
    case PEL_V_OBJECT: return x->object && x->object == y->object;
    case PEL_V_FUNCTION:
        if (x->code != y->code) return false;
        break;
    case PEL_V_TUPLE:
    case PEL_V_DICT:
        if (x->class != y->class) return false;
        break;
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL: break;
    }
    if (x->n != y->n || x->truncated || y->truncated) return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (!same_at(log, x->items[i], y->items[i], depth + 1, compared)) return false;
    return true;
}

bool pel_value_same(const pel_log *log, pel_id a, pel_id b) {
    uint32_t compared = 0;
    return same_at(log, a, b, 0, &compared);
}

bool pel_is_member(const pel_log *log, const pel_value *value, pel_id *name, pel_id *content) {
    if (value->kind != PEL_V_OBJECT || pel_class_at(log, value->class)->kind != PEL_CLASS_ENUM) return false;
    *name = *content = 0;
    for (uint32_t i = 0; i + 1 < value->n; i += 2) {
        const pel_value *key = pel_value_at(log, value->items[i]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) continue;
        if (pel_str_is(key->constant->text, "_name_")) *name = value->items[i + 1];
        if (pel_str_is(key->constant->text, "_value_")) *content = value->items[i + 1];
    }
    for (pel_id code = 1; code < log->codes.n; code++) /* what its own methods do is not looked at */
        if (log->codes.at[code].class == value->class) return false;
    const pel_value *text = pel_value_at(log, *name), *held = pel_value_at(log, *content);
    return text->kind == PEL_V_CONST && text->constant->kind == PEL_CONST_STR && held->kind == PEL_V_CONST;
}

/* ---- the checker ---- */

static void refuse(pel_ctx *ctx, const char *table, uint32_t row, const char *what) {
    pel_throw(ctx, PEL_E_FORMAT, row, "trace: row %u of %s: %s", row, table, what);
}

static void need(pel_ctx *ctx, bool fine, const char *table, uint32_t row, const char *what) {
    if (!fine) refuse(ctx, table, row, what);
}

static void check_ids(pel_ctx *ctx, const pel_id *ids, uint32_t n, uint32_t below, const char *table, uint32_t row,
                      const char *what) {
    for (uint32_t i = 0; i < n; i++) need(ctx, ids[i] < below, table, row, what);
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
    check_ids(ctx, row->bases, row->n_bases, log->classes.n, "classes", id, "no such base");
    check_attributes(ctx, log, row->constants, row->n_constants, "classes", id);
}

/* What a value refers to inside of itself. Items of plain containers come before them, so that walking
 * a value ends; objects and closures may lead back to themselves. */
static void check_value(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_value *row = pel_value_at(log, id);
    const char *table = "values";
    bool cyclic = row->kind == PEL_V_OBJECT || row->kind == PEL_V_FUNCTION;
    if (pel_value_has_items(row->kind))
        check_ids(ctx, row->items, row->n, cyclic ? log->values.n : id, table, id, "no such item");
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
    check_ids(ctx, row->children, row->child_names.n, log->modules.n, "modules", id, "no such child");
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
    check_ids(ctx, row->locals, code->varnames.n, log->values.n, "activations", id, "no such value");
    check_ids(ctx, row->cells, code->cellvars.n + code->freevars.n, log->values.n, "activations", id, "no such value");
    check_records(ctx, log, id);
}

static void check_event(pel_ctx *ctx, const pel_log *log, pel_id id) {
    const pel_event *row = &log->events.at[id];
    need(ctx, row->activation < log->activations.n && row->record <= log->activations.at[row->activation].n_records,
         "events", id, "no such place");
    need(ctx, row->function < log->values.n && row->result < log->values.n, "events", id, "no such value");
    check_ids(ctx, row->args, row->n_args, log->values.n, "events", id, "no such argument");
    check_attributes(ctx, log, row->kwargs, row->n_kwargs, "events", id);
}

static void check_run(pel_ctx *ctx, const pel_log *log, uint32_t id) {
    const pel_log_run *row = &log->runs.at[id];
    need(ctx, row->root < log->modules.n && row->activation < log->activations.n && row->result < log->values.n, "runs",
         id, "refers to nothing");
    check_ids(ctx, row->args, row->n_args, log->values.n, "runs", id, "no such argument");
    check_attributes(ctx, log, row->kwargs, row->n_kwargs, "runs", id);
}

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
}
