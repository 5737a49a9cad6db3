/* The log as text, for people: `pellucid skeleton --dump=log`. */
#include "trace/log/log.h"

#define MAX_SHOWN_DEPTH 4
#define MAX_SHOWN_ITEMS 12

static void put_value(pel_buf *out, const pel_log *log, pel_id id, int depth);

static void put_items(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    for (uint32_t i = 0; i < value->n && i < MAX_SHOWN_ITEMS; i++) {
        if (i) pel_put_c(out, ", ");
        put_value(out, log, value->items[i], depth + 1);
    }
    if (value->n > MAX_SHOWN_ITEMS || value->truncated) pel_put_c(out, ", ...");
}

static void put_pairs(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    for (uint32_t i = 0; i + 1 < value->n && i < MAX_SHOWN_ITEMS; i += 2) {
        if (i) pel_put_c(out, ", ");
        put_value(out, log, value->items[i], depth + 1);
        pel_put_c(out, ": ");
        put_value(out, log, value->items[i + 1], depth + 1);
    }
    if (value->n > MAX_SHOWN_ITEMS || value->truncated) pel_put_c(out, ", ...");
}

static void put_tensor(pel_buf *out, const pel_log *log, pel_id id) {
    const pel_log_tensor *tensor = &log->tensors.at[id];
    pel_putf(out, "t%llu", (unsigned long long)tensor->serial);
    if (tensor->name) {
        pel_str path = pel_module_at(log, tensor->owner)->path;
        pel_putf(out, "=%.*s%s%s", PEL_FMT(path), path.len ? "." : "", tensor->name->text);
    }
    pel_str dtype = tensor->dtype;
    if (pel_str_starts(dtype, PEL_STR("torch."))) dtype = pel_str_from(dtype, 6);
    pel_putf(out, ":%.*s[", PEL_FMT(dtype));
    for (uint32_t i = 0; i < tensor->n_dims; i++) pel_putf(out, i ? ",%lld" : "%lld", (long long)tensor->shape[i]);
    pel_put_c(out, "]");
}

static void put_class_name(pel_buf *out, const pel_log *log, pel_id id) {
    const pel_log_class *row = pel_class_at(log, id);
    if (row->name) pel_put_name(out, row->name);
}

static void put_module(pel_buf *out, const pel_log *log, pel_id id) {
    const pel_log_module *row = pel_module_at(log, id);
    put_class_name(out, log, row->class);
    if (row->path.len) pel_putf(out, "@%.*s", PEL_FMT(row->path));
    if (!row->in_tree) pel_putf(out, "#%u", id);
}

static void put_object(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    put_class_name(out, log, value->class);
    pel_putf(out, "#%llu", (unsigned long long)value->object);
    if (depth) return;
    pel_put_c(out, "{");
    put_pairs(out, log, value, depth + 2);
    pel_put_c(out, "}");
}

static void put_function(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    const pel_code_object *code = log->codes.at[value->code].code;
    pel_putf(out, "def %s", (code->qualname ? code->qualname : code->name)->text);
    if (!value->n) return;
    pel_put_c(out, "<");
    put_items(out, log, value, depth + 1);
    pel_put_c(out, ">");
}

static void put_method(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    put_value(out, log, value->items[0], depth + 1);
    pel_put_c(out, " . ");
    put_value(out, log, value->items[1], depth + 1);
}

static void put_collection(pel_buf *out, const pel_log *log, const pel_value *value, int depth) {
    switch (value->kind) {
    case PEL_V_TUPLE:
        if (value->class) put_class_name(out, log, value->class);
        pel_put_c(out, "(");
        put_items(out, log, value, depth);
        pel_put_c(out, value->n == 1 ? ",)" : ")");
        return;
    case PEL_V_DICT:
        if (value->class) put_class_name(out, log, value->class);
        pel_put_c(out, "{");
        put_pairs(out, log, value, depth);
        pel_put_c(out, "}");
        return;
    case PEL_V_LIST:
        pel_put_c(out, "[");
        put_items(out, log, value, depth);
        pel_putf(out, "]#%llu", (unsigned long long)value->object);
        return;
    default:
        pel_putf(out, "%s(", pel_value_kind_name(value->kind));
        put_items(out, log, value, depth);
        pel_put_c(out, ")");
    }
}

/* Values share parts and could unfold to any size, so the deep ones are shown by their number. A `-` is no None: there
 * is no value at all. */
static void put_value(pel_buf *out, const pel_log *log, pel_id id, int depth) {
    const pel_value *value = pel_value_at(log, id);
    if (depth > MAX_SHOWN_DEPTH) {
        pel_putf(out, "v%u", id);
        return;
    }
    switch ((pel_value_kind)value->kind) {
    case PEL_V_NONE_YET: pel_put_c(out, "-"); return;
    case PEL_V_CONST: pel_put_repr(out, value->constant); return;
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_PARTIAL: put_collection(out, log, value, depth); return;
    case PEL_V_OBJECT: put_object(out, log, value, depth); return;
    case PEL_V_TENSOR: put_tensor(out, log, value->tensor); return;
    case PEL_V_MODULE: put_module(out, log, value->module); return;
    case PEL_V_FUNCTION: put_function(out, log, value, depth); return;
    case PEL_V_METHOD: put_method(out, log, value, depth); return;
    case PEL_V_CLASS:
        pel_put_c(out, "class ");
        put_class_name(out, log, value->class);
        return;
    case PEL_V_LIBRARY:
    case PEL_V_LITERAL: pel_put(out, value->text); return;
    case PEL_V_OPAQUE: pel_putf(out, "<%.*s>", PEL_FMT(value->text)); return;
    }
}

static void put_attributes(pel_buf *out, const pel_log *log, const pel_log_attribute *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        pel_put_c(out, i ? ", " : "");
        if (at[i].name) pel_putf(out, "%s=", at[i].name->text);
        put_value(out, log, at[i].value, 1);
    }
}

static void put_slots(pel_buf *out, const pel_log *log, const char *what, const pel_log_slot *slots, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        pel_putf(out, "    %s %s = ", what, slots[i].name->text);
        if (slots[i].tensor)
            put_tensor(out, log, slots[i].tensor);
        else
            pel_put_c(out, "None");
        if (!slots[i].persistent) pel_put_c(out, " (not persistent)");
        pel_str formula = log->tensors.at[slots[i].tensor].formula;
        if (formula.len) pel_putf(out, " = %.*s", PEL_FMT(formula));
        pel_put_c(out, "\n");
    }
}

/* Parentheses are there only where the recorder found arguments that build an equal module of a torch class: `()` means
 * that none are needed, not that none are known. */
static void dump_modules(pel_buf *out, const pel_log *log) {
    for (pel_id id = 1; id < log->modules.n; id++) {
        const pel_log_module *row = pel_module_at(log, id);
        pel_putf(out, "module %u ", id);
        put_module(out, log, id);
        if (row->training) pel_put_c(out, " training");
        if (row->has_hooks) pel_put_c(out, " hooks");
        if (row->has_arguments) {
            pel_put_c(out, " (");
            for (uint32_t i = 0; i < row->n_arguments; i++) {
                const pel_log_argument *argument = &row->arguments[i];
                pel_putf(out, "%s%s%s", i ? ", " : "", argument->name->text, argument->is_default ? "=default " : "=");
                put_value(out, log, argument->value, 1);
            }
            pel_put_c(out, ")");
        }
        pel_put_c(out, "\n");
        put_slots(out, log, "parameter", row->parameters, row->n_parameters);
        put_slots(out, log, "buffer", row->buffers, row->n_buffers);
        for (uint32_t i = 0; i < row->child_names.n; i++)
            pel_putf(out, "    child %s = %u\n", row->child_names.at[i]->text, row->children[i]);
        for (uint32_t i = 0; i < row->n_attributes; i++) {
            pel_putf(out, "    %s = ", row->attributes[i].name->text);
            put_value(out, log, row->attributes[i].value, 0);
            pel_put_c(out, "\n");
        }
    }
}

static void dump_classes(pel_buf *out, const pel_log *log) {
    static const char *const kinds[] = {
        [PEL_CLASS_TORCH_MODULE] = "torch module", [PEL_CLASS_MODULE] = "module",
        [PEL_CLASS_AUTOGRAD] = "autograd",         [PEL_CLASS_DATACLASS] = "dataclass",
        [PEL_CLASS_NAMEDTUPLE] = "namedtuple",     [PEL_CLASS_ENUM] = "enum",
        [PEL_CLASS_LIBRARY] = "library",           [PEL_CLASS_AUTHOR] = "author's",
    };
    for (pel_id id = 1; id < log->classes.n; id++) {
        const pel_log_class *row = pel_class_at(log, id);
        pel_putf(out, "class %u %s %.*s.%.*s", id, kinds[row->kind], PEL_FMT(row->module), PEL_FMT(row->qualname));
        if (row->path.len) pel_putf(out, " = %.*s", PEL_FMT(row->path));
        for (uint32_t i = 0; i < row->n_bases; i++) {
            pel_put_c(out, i ? ", " : " < ");
            put_class_name(out, log, row->bases[i]);
        }
        if (row->fields.n) pel_put_c(out, " fields");
        for (uint32_t i = 0; i < row->fields.n; i++) pel_putf(out, " %s", row->fields.at[i]->text);
        pel_put_c(out, "\n");
    }
}

static void dump_codes(pel_buf *out, const pel_log *log) {
    for (pel_id id = 1; id < log->codes.n; id++) {
        const pel_log_code *row = &log->codes.at[id];
        const pel_code_object *code = row->code;
        pel_putf(out, "code %u %.*s:%s at %.*s:%u", id, PEL_FMT(row->module),
                 (code->qualname ? code->qualname : code->name)->text, PEL_FMT(log->files.at[row->file].path),
                 code->firstlineno);
        if (row->class) {
            pel_put_c(out, " of ");
            put_class_name(out, log, row->class);
        }
        if (!log->files.at[row->file].source.len) pel_put_c(out, " (no source)");
        pel_put_c(out, "\n");
    }
}

static void put_named(pel_buf *out, const pel_log *log, const pel_name_list *names, const pel_id *values) {
    for (uint32_t i = 0; i < names->n; i++) {
        if (!values[i]) continue;
        pel_putf(out, " %s=", names->at[i]->text);
        put_value(out, log, values[i], 1);
    }
}

static void dump_activation(pel_buf *out, const pel_log *log, pel_id id) {
    static const char *const kinds[] = { "", "=", "call", "raise", "return", "yield" };
    const pel_activation *row = &log->activations.at[id];
    const pel_code_object *code = log->codes.at[row->code].code;
    pel_putf(out, "activation %u run %u code %u %s", id, row->run, row->code,
             (code->qualname ? code->qualname : code->name)->text);
    if (row->parent) pel_putf(out, " in %u at %u%s", row->parent, row->parent_at, row->direct ? " direct" : "");
    pel_put_c(out, "\n   ");
    put_named(out, log, &code->varnames, row->locals);
    put_named(out, log, &code->cellvars, row->cells);
    put_named(out, log, &code->freevars, row->cells + code->cellvars.n);
    pel_put_c(out, "\n");
    for (uint32_t i = 0; i < row->n_records; i++) {
        const pel_record *record = &row->records[i];
        pel_putf(out, "    %4u", record->at);
        if (record->kind == PEL_R_CHILD) {
            pel_putf(out, " call %u", record->value);
        } else if (record->kind != PEL_R_STEP) {
            pel_putf(out, " %s ", kinds[record->kind]);
            put_value(out, log, record->value, 0);
        }
        pel_put_c(out, "\n");
    }
}

/* "(a, b, ", to be followed by the keyword arguments. */
static void put_arguments(pel_buf *out, const pel_log *log, const pel_id *args, uint32_t n, uint32_t n_kwargs) {
    pel_put_c(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) pel_put_c(out, ", ");
        put_value(out, log, args[i], 1);
    }
    if (n && n_kwargs) pel_put_c(out, ", ");
}

static void dump_events(pel_buf *out, const pel_log *log) {
    for (pel_id id = 1; id < log->events.n; id++) {
        const pel_event *row = &log->events.at[id];
        pel_putf(out, "event %u in %u after %u: ", id, row->activation, row->record);
        put_value(out, log, row->function, 1);
        put_arguments(out, log, row->args, row->n_args, row->n_kwargs);
        put_attributes(out, log, row->kwargs, row->n_kwargs);
        pel_put_c(out, ") = ");
        put_value(out, log, row->result, 1);
        if (row->draws_random) pel_put_c(out, " (draws random numbers)");
        pel_put_c(out, "\n");
    }
}

static void dump_runs(pel_buf *out, const pel_log *log) {
    for (uint32_t id = 0; id < log->runs.n; id++) {
        const pel_log_run *row = &log->runs.at[id];
        pel_putf(out, "run %u \"%.*s\"%s%s activation %u: ", id, PEL_FMT(row->label), row->training ? " training" : "",
                 row->grad_enabled ? " grad" : "", row->activation);
        put_module(out, log, row->root);
        put_arguments(out, log, row->args, row->n_args, row->n_kwargs);
        put_attributes(out, log, row->kwargs, row->n_kwargs);
        pel_put_c(out, ") = ");
        put_value(out, log, row->result, 1);
        pel_put_c(out, "\n");
    }
}

void pel_log_dump(pel_ctx *ctx, const pel_log *log, pel_buf *out) {
    (void)ctx;
    pel_putf(out, "origin %.*s\nversions %.*s\n", PEL_FMT(log->origin), PEL_FMT(log->versions));
    dump_runs(out, log);
    dump_classes(out, log);
    dump_codes(out, log);
    dump_modules(out, log);
    for (pel_id id = 1; id < log->activations.n; id++) dump_activation(out, log, id);
    dump_events(out, log);
}
