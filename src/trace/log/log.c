/* What is asked of the log by many: values, members, attributes. */
#include "trace/log/log.h"

#define MAX_DEPTH 64        /* of values inside values: the recorder stops far earlier */
#define MAX_COMPARED 100000 /* values that share their parts can unfold to any size */

pel_log *pel_log_new(pel_ctx *ctx) {
    pel_log *log = pel_new(ctx, pel_log);
    const pel_str none = PEL_STR("");
    pel_push(ctx, &log->files, (pel_log_file){ .path = none });
    pel_push(ctx, &log->codes, (pel_log_code){ .code = NULL });
    pel_push(ctx, &log->classes,
             ((pel_log_class){ .kind = PEL_CLASS_AUTHOR, .qualname = none, .module = none, .path = none }));
    pel_push(ctx, &log->values, (pel_value){ .kind = PEL_V_NONE_YET });
    pel_push(ctx, &log->tensors, (pel_log_tensor){ .serial = 0 });
    pel_push(ctx, &log->modules, ((pel_log_module){ .class = 0, .path = none }));
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

pel_id pel_class_with_attributes(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_MODULE: return pel_module_at(log, value->module)->class;
    case PEL_V_OBJECT:
    case PEL_V_DICT:
    case PEL_V_TUPLE: return value->class;
    default: return 0;
    }
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

/* False also means unknown: opaque values, those that were cut short, comparisons that grow too long. Objects are
 * compared by identity, because equal attributes may change apart. */
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

/* Which classes inherit from which. */

#define MAX_BASES 200 /* one above the other */

static bool inherits(const pel_log *log, pel_id class, pel_id from, int depth) {
    if (class == from) return true;
    const pel_log_class *row = pel_class_at(log, class);
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++)
        if (inherits(log, row->bases[i], from, depth + 1)) return true;
    return false;
}

bool pel_inherits(const pel_log *log, pel_id class, pel_id from) { return inherits(log, class, from, 0); }

static bool inherits_path(const pel_log *log, pel_id class, const char *path, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    if (pel_str_is(row->path, path)) return true;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++)
        if (inherits_path(log, row->bases[i], path, depth + 1)) return true;
    return false;
}

bool pel_is_mapping(const pel_log *log, pel_id class) {
    return inherits_path(log, class, "collections.OrderedDict", 0) || inherits_path(log, class, "dict", 0);
}

static pel_id torch_base(const pel_log *log, pel_id class, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    if (row->kind == PEL_CLASS_TORCH_MODULE) return class;
    pel_id plain = 0;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++) {
        pel_id found = torch_base(log, row->bases[i], depth + 1);
        if (found && !pel_str_is(pel_class_at(log, found)->path, "torch.nn.Module")) return found;
        if (found) plain = found;
    }
    return plain;
}

pel_id pel_torch_base(const pel_log *log, pel_id class) { return torch_base(log, class, 0); }

static pel_id library_base(const pel_log *log, pel_id class, int depth) {
    static const char *const for_the_author[] = { "object", "abc.", "typing.", "collections.abc." };
    const pel_log_class *row = pel_class_at(log, class);
    if (row->kind == PEL_CLASS_LIBRARY) {
        for (size_t i = 0; i < PEL_COUNT(for_the_author); i++)
            if (pel_str_starts(row->path, pel_str_of(for_the_author[i]))) return 0;
        return class;
    }
    pel_id found = 0;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES && !found; i++)
        found = library_base(log, row->bases[i], depth + 1);
    return found;
}

pel_id pel_library_base(const pel_log *log, pel_id class) { return library_base(log, class, 0); }

pel_container pel_container_kind(const pel_log *log, pel_id class) {
    static const struct {
        const char *path;
        pel_container kind;
    } rows[] = {
        { "torch.nn.Sequential", PEL_SEQUENTIAL },        { "torch.nn.ModuleList", PEL_MODULE_LIST },
        { "torch.nn.ModuleDict", PEL_MODULE_DICT },       { "torch.nn.ParameterList", PEL_PARAMETER_LIST },
        { "torch.nn.ParameterDict", PEL_PARAMETER_DICT },
    };
    pel_str path = pel_class_at(log, pel_torch_base(log, class))->path;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(path, rows[i].path)) return rows[i].kind;
    return PEL_NO_CONTAINER;
}

bool pel_is_below(const pel_log *log, pel_id activation, pel_id above) {
    while (activation > above) activation = log->activations.at[activation].parent;
    return activation == above;
}

bool pel_is_field(const pel_log *log, pel_name name) {
    for (pel_id i = 1; i < log->classes.n; i++)
        for (uint32_t k = 0; k < log->classes.at[i].fields.n; k++)
            if (log->classes.at[i].fields.at[k] == name) return true;
    return false;
}
