/* The tree as JSON, in the shape that CPython's `ast` of a version has (docs/ast-json.md). What differs
 * between versions, and between our tree and theirs, is in this file alone. */
#include "base/json.h"
#include "python/parse.h"
#include "python/unicode.h"

typedef struct pel_ast_writer {
    pel_json json;
    pel_version version;
} pel_ast_writer;

static void write_node(pel_ast_writer *w, const pel_node *node);

static void write_type(pel_ast_writer *w, const char *name) {
    pel_json_object(&w->json);
    pel_json_key(&w->json, "_type");
    pel_json_c(&w->json, name);
}

/* An operator or context: a node without fields. */
static void write_bare(pel_ast_writer *w, const char *name) {
    write_type(w, name);
    pel_json_end_object(&w->json);
}

static void write_list(pel_ast_writer *w, pel_nodes list) {
    pel_json_array(&w->json);
    for (uint32_t i = 0; i < list.n; i++) {
        if (list.at[i])
            write_node(w, list.at[i]);
        else
            pel_json_null(&w->json);
    }
    pel_json_end_array(&w->json);
}

static void write_name(pel_ast_writer *w, pel_name name) {
    if (name)
        pel_json_str(&w->json, pel_name_str(name));
    else
        pel_json_null(&w->json);
}

/* A repr, in which the Python of the version escapes characters that were not assigned in its time. */
static pel_str older_repr(pel_ast_writer *w, pel_str repr) {
    pel_buf out = pel_buf_in(w->json.out->ctx);
    for (size_t i = 0, len; i < repr.len; i += len) {
        uint32_t point = pel_utf8_point(repr.ptr + i, &len);
        if (point < 0x80 || pel_is_printable_in(point, w->version))
            pel_put(&out, pel_str_cut(repr, i, i + len));
        else
            pel_putf(&out, point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
    }
    return pel_buf_str(&out);
}

static void write_constant(pel_ast_writer *w, const pel_const *value) {
    pel_buf repr = pel_buf_in(w->json.out->ctx);
    pel_put_repr(&repr, value);
    pel_str text = pel_buf_str(&repr);
    if (value->kind == PEL_CONST_STR && w->version < PEL_VERSION_MAX) text = older_repr(w, text);
    pel_json_object(&w->json);
    pel_json_key(&w->json, "t");
    pel_json_c(&w->json, pel_const_type_name(value));
    pel_json_key(&w->json, "v");
    pel_json_str(&w->json, text);
    pel_json_end_object(&w->json);
}

/* Python 3.8 has Index and ExtSlice around what is subscripted. */
static void write_old_slice(pel_ast_writer *w, const pel_node *slice) {
    bool is_extended = false;
    if (slice->kind == PEL_Tuple)
        for (uint32_t i = 0; i < slice->Tuple.elts.n; i++) is_extended |= slice->Tuple.elts.at[i]->kind == PEL_Slice;
    if (is_extended) {
        write_type(w, "ExtSlice");
        pel_json_key(&w->json, "dims");
        pel_json_array(&w->json);
        for (uint32_t i = 0; i < slice->Tuple.elts.n; i++) write_old_slice(w, slice->Tuple.elts.at[i]);
        pel_json_end_array(&w->json);
        pel_json_end_object(&w->json);
    } else if (slice->kind == PEL_Slice) {
        write_node(w, slice);
    } else {
        write_type(w, "Index");
        pel_json_key(&w->json, "value");
        write_node(w, slice);
        pel_json_end_object(&w->json);
    }
}

static pel_node *empty_constant(pel_ctx *ctx, uint32_t line, uint32_t column) {
    pel_node *empty = pel_make_constant(ctx, pel_const_str(ctx, PEL_STR("")));
    empty->lineno = empty->end_lineno = line;
    empty->col_offset = empty->end_col_offset = column;
    return empty;
}

/* Whether the expression of a field starts with a brace, and no space before it. */
static bool starts_with_brace(const pel_node *field) {
    const pel_node *value = field->FormattedValue.value;
    bool has_braces =
        value->kind == PEL_Set || value->kind == PEL_Dict || value->kind == PEL_SetComp || value->kind == PEL_DictComp;
    return has_braces && value->lineno == field->lineno && value->col_offset == field->col_offset + 1;
}

/* Python 3.12.1 leaves empty constants in a format specification: at its end, if that is a field, and before a
 * field that looks like a doubled brace. */
static void write_format_spec_312(pel_ast_writer *w, const pel_node *spec) {
    pel_ctx *ctx = w->json.out->ctx;
    pel_nodes values = { 0 };
    bool after_constant = false;
    for (uint32_t i = 0; i < spec->JoinedStr.values.n; i++) {
        pel_node *value = spec->JoinedStr.values.at[i];
        bool is_constant = value->kind == PEL_Constant;
        if (!is_constant && !after_constant && starts_with_brace(value))
            pel_nodes_push(ctx, &values, empty_constant(ctx, value->lineno, value->col_offset));
        pel_nodes_push(ctx, &values, value);
        after_constant = is_constant;
    }
    if (values.n && !after_constant)
        pel_nodes_push(ctx, &values, empty_constant(ctx, spec->end_lineno, spec->end_col_offset));
    pel_node copy = { 0 };
    memcpy(&copy, spec, pel_node_size(PEL_JoinedStr));
    copy.JoinedStr.values = values;
    write_node(w, &copy);
}

/* The result must equal what CPython's own ast gives in that version, so the shapes of older versions are made here. An
 * empty text is None there: no constant has an empty kind. */
static void write_field(pel_ast_writer *w, const pel_node *node, const pel_field *field) {
    pel_json *json = &w->json;
    pel_json_key(json, field->name);
    switch (field->type) {
    case PEL_FIELD_ONE:
    case PEL_FIELD_OPT: {
        const pel_node *child = *pel_field_at(node, field, pel_node *);
        if (!child)
            pel_json_null(json);
        else if (w->version == 8 && node->kind == PEL_Subscript && child == node->Subscript.slice)
            write_old_slice(w, child);
        else if (w->version == 12 && node->kind == PEL_FormattedValue && child == node->FormattedValue.format_spec)
            write_format_spec_312(w, child);
        else
            write_node(w, child);
        break;
    }
    case PEL_FIELD_LIST:
    case PEL_FIELD_HOLES: write_list(w, *pel_field_at(node, field, pel_nodes)); break;
    case PEL_FIELD_NAME:
    case PEL_FIELD_NAME_OPT: write_name(w, *pel_field_at(node, field, pel_name)); break;
    case PEL_FIELD_NAMES: {
        const pel_name_list *names = pel_field_at(node, field, pel_name_list);
        pel_json_array(json);
        for (uint32_t i = 0; i < names->n; i++) write_name(w, names->at[i]);
        pel_json_end_array(json);
        break;
    }
    case PEL_FIELD_CONST: write_constant(w, *pel_field_at(node, field, const pel_const *)); break;
    case PEL_FIELD_ENUM: write_bare(w, pel_enum_name(field->of, *pel_field_at(node, field, int))); break;
    case PEL_FIELD_CMPOPS: {
        const pel_cmpops *ops = pel_field_at(node, field, pel_cmpops);
        pel_json_array(json);
        for (uint32_t i = 0; i < ops->n; i++) write_bare(w, pel_cmpop_name(ops->at[i]));
        pel_json_end_array(json);
        break;
    }
    case PEL_FIELD_INT: pel_json_int(json, *pel_field_at(node, field, int)); break;
    case PEL_FIELD_STR_OPT: {
        pel_str text = *pel_field_at(node, field, pel_str);
        if (text.len)
            pel_json_str(json, text);
        else
            pel_json_null(json);
        break;
    }
    }
}

static bool has_field(const pel_ast_writer *w, const pel_field *field) {
    if (strcmp(field->name, "type_params") == 0) return w->version >= 12;
    if (strcmp(field->name, "default_value") == 0) return w->version >= 13;
    if (strcmp(field->name, "is_lazy") == 0) return w->version >= 15;
    return true;
}

/* Where CPython's node ends with a type comment, which we never fill. */
static bool has_type_comment(const pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_Assign:
    case PEL_For:
    case PEL_AsyncFor:
    case PEL_With:
    case PEL_AsyncWith:
    case PEL_arg: return true;
    default: return false;
    }
}

static bool has_position(const pel_ast_writer *w, const pel_node *node) {
    switch (pel_kinds[node->kind].class) {
    case PEL_EXPR: return node->kind != PEL_Slice || w->version >= 9;
    case PEL_KEYWORD: return w->version >= 9;
    case PEL_ALIAS: return w->version >= 10;
    case PEL_STMT:
    case PEL_EXCEPTHANDLER:
    case PEL_ARG:
    case PEL_PATTERN:
    case PEL_TYPE_PARAM: return true;
    default: return false;
    }
}

static void write_position(pel_ast_writer *w, const pel_node *node) {
    const struct {
        const char *key;
        uint32_t value;
    } rows[] = { { "lineno", node->lineno },
                 { "col_offset", node->col_offset },
                 { "end_lineno", node->end_lineno },
                 { "end_col_offset", node->end_col_offset } };
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        pel_json_key(&w->json, rows[i].key);
        pel_json_int(&w->json, rows[i].value);
    }
}

static void write_node(pel_ast_writer *w, const pel_node *node) {
    write_type(w, pel_kinds[node->kind].name);
    for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
        if (has_field(w, field)) write_field(w, node, field);
    if (has_type_comment(node)) {
        pel_json_key(&w->json, "type_comment");
        pel_json_null(&w->json);
    }
    if (node->kind == PEL_Module) {
        pel_json_key(&w->json, "type_ignores");
        pel_json_array(&w->json);
        pel_json_end_array(&w->json);
    }
    if (has_position(w, node)) write_position(w, node);
    pel_json_end_object(&w->json);
}

void pel_ast_json(pel_ctx *ctx, const pel_node *root, pel_version version, pel_buf *out) {
    (void)ctx;
    pel_ast_writer w = { .json = pel_json_to(out), .version = version };
    write_node(&w, root);
}
