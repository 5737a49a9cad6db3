/* What a graph of TensorFlow would do when it runs. Operators that are known to compute pass; all others are said.
 *
 * Every SavedModel brings functions that save and restore its variables. They pass if the name of the file is what they
 * are given, and if only the graph itself calls them, with a name that it is given. */
#include "load/audit/tensorflow_ops.h"

#define MAX_STEPS 8 /* from the operator that opens a file back to what names it */

typedef struct function {
    pel_str name;
    pel_proto body;
    pel_map nodes;     /* interned name -> pel_proto * */
    pel_map arguments; /* interned name -> 1 */
} function;

typedef struct auditor {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_map said;      /* interned operators */
    pel_map functions; /* interned names of those that open files -> 1 */
    function *at;      /* the function at hand; of the graph itself, without arguments */
} auditor;

static uint64_t key_of(auditor *a, pel_str name) { return PEL_KEY(pel_intern_str(a->ctx, name)); }

static pel_str text_of(auditor *a, pel_proto message, uint32_t number) {
    pel_proto_field field;
    return pel_proto_find(a->ctx, message, number, &field) && field.wire == PEL_WIRE_BYTES ? field.bytes
                                                                                           : (pel_str){ "", 0 };
}

/* ---- where the name of a file comes from ---- */

/* Input i of a node, by the name of the node or argument that gives it. */
static pel_str input_of(auditor *a, pel_proto node, uint32_t i) {
    pel_proto_field field;
    while (pel_proto_next(a->ctx, &node, &field)) {
        if (field.number != 3 || field.wire != PEL_WIRE_BYTES || i--) continue;
        const char *colon = field.bytes.len ? memchr(field.bytes.ptr, ':', field.bytes.len) : NULL;
        return colon ? pel_str_cut(field.bytes, 0, (size_t)(colon - field.bytes.ptr)) : field.bytes;
    }
    return (pel_str){ "", 0 };
}

static bool is_given(auditor *a, pel_str name, int steps) {
    static const char *const first[] = { "Identity", "StringJoin", "ShardedFilename" };
    uint64_t found;
    if (!name.len || steps > MAX_STEPS) return false;
    if (pel_map_has(&a->at->arguments, key_of(a, name))) return true;
    if (!pel_map_get(&a->at->nodes, key_of(a, name), &found)) return false;
    pel_proto node = *(const pel_proto *)(uintptr_t)found;
    pel_str op = text_of(a, node, 2);
    if (pel_str_is(op, "Placeholder") || pel_str_is(op, "PlaceholderWithDefault")) return true;
    for (size_t i = 0; i < PEL_COUNT(first); i++)
        if (pel_str_is(op, first[i])) return is_given(a, input_of(a, node, 0), steps + 1);
    if (!pel_str_is(op, "Pack")) return false;
    for (uint32_t i = 0;; i++) {
        pel_str input = input_of(a, node, i);
        if (!input.len || input.ptr[0] == '^') return i > 0;
        if (!is_given(a, input, steps + 1)) return false;
    }
}

/* ---- operators ---- */

static bool is_one_of(pel_str op, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(op, words[i])) return true;
    return false;
}

static bool is_checkpoint_op(pel_str op) {
    static const char *const ops[] = { "SaveV2", "RestoreV2", "MergeV2Checkpoints" };
    return is_one_of(op, ops, PEL_COUNT(ops));
}

/* Every SavedModel has the operators of checkpoints, so these are judged by the origin of their file name, each one
 * anew. Any other operator is reported once, at its first node. An operator that no list has is suspect. */
static void judge_op(auditor *a, pel_proto node, pel_str op, pel_str name) {
    static const char *const far[] = { "ReadFile",
                                       "WriteFile",
                                       "PyFunc",
                                       "PyFuncStateless",
                                       "EagerPyFunc",
                                       "MatchingFiles",
                                       "Save",
                                       "SaveSlices",
                                       "FileSystemSetConfiguration",
                                       "DumpTensor",
                                       "TextLineDataset",
                                       "TFRecordDataset",
                                       "SqlDataset",
                                       "LMDBDataset",
                                       "RemoteCall" };
    if (is_checkpoint_op(op)) {
        bool is_fine = is_given(a, input_of(a, node, 0), 0) &&
                       (!pel_str_is(op, "MergeV2Checkpoints") || is_given(a, input_of(a, node, 1), 0));
        if (!is_fine)
            pel_find(a->ctx, &a->out->findings, PEL_DANGER, "operator", name, node.base,
                     pel_format(a->ctx, "the operator %.*s opens a file that the graph itself names", PEL_FMT(op)));
        return;
    }
    if (pel_is_computing_op(op) || !pel_map_set(a->ctx, &a->said, key_of(a, op), 1)) return;
    bool is_far = is_one_of(op, far, PEL_COUNT(far));
    pel_find(a->ctx, &a->out->findings, is_far ? PEL_DANGER : PEL_SUSPECT, "operator", name, node.base,
             pel_format(a->ctx,
                        is_far ? "the operator %.*s reads or writes files, or runs Python"
                               : "the operator %.*s is not known to compute and nothing else",
                        PEL_FMT(op)));
}

/* The functions that a node's attributes name, as one or in a list. */
static bool names_file_function(auditor *a, pel_proto value) {
    pel_proto_field field;
    while (pel_proto_next(a->ctx, &value, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 10 && pel_map_has(&a->functions, key_of(a, text_of(a, pel_proto_of(&field), 1))))
            return true;
        pel_proto list = pel_proto_of(&field);
        pel_proto_field item;
        while (field.number == 1 && pel_proto_next(a->ctx, &list, &item))
            if (item.number == 9 && item.wire == PEL_WIRE_BYTES &&
                pel_map_has(&a->functions, key_of(a, text_of(a, pel_proto_of(&item), 1))))
                return true;
    }
    return false;
}

static void judge_node(auditor *a, pel_proto node, pel_str where) {
    pel_proto_field field, value;
    pel_proto again = node;
    pel_str op = text_of(a, node, 2), name = text_of(a, node, 1);
    judge_op(a, node, op, where.len ? where : name);
    while (pel_proto_next(a->ctx, &again, &field)) {
        if (field.number != 5 || field.wire != PEL_WIRE_BYTES ||
            !pel_proto_find(a->ctx, pel_proto_of(&field), 2, &value) || value.wire != PEL_WIRE_BYTES ||
            !names_file_function(a, pel_proto_of(&value)))
            continue;
        if (where.len || !is_given(a, input_of(a, node, 0), 0))
            pel_find(
                a->ctx, &a->out->findings, PEL_SUSPECT, "operator", where.len ? where : name, node.base,
                pel_format(a->ctx, "%.*s calls a function that opens files, and names the file itself", PEL_FMT(name)));
    }
}

/* ---- graphs ---- */

/* nodes: the number of the field that has them. */
static void note_nodes(auditor *a, function *f, uint32_t nodes) {
    pel_proto body = f->body;
    pel_proto_field field, argument;
    bool opens_files = false;
    while (pel_proto_next(a->ctx, &body, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        pel_proto part = pel_proto_of(&field);
        if (field.number == nodes) {
            pel_proto *kept = pel_new(a->ctx, pel_proto);
            *kept = part;
            pel_map_set(a->ctx, &f->nodes, key_of(a, text_of(a, part, 1)), PEL_KEY(kept));
            opens_files |= nodes == 3 && is_checkpoint_op(text_of(a, part, 2));
        }
        while (nodes == 3 && field.number == 1 && pel_proto_next(a->ctx, &part, &argument)) { /* the signature */
            if (argument.number == 1) f->name = argument.bytes;
            if (argument.number == 2 && argument.wire == PEL_WIRE_BYTES)
                pel_map_set(a->ctx, &f->arguments, key_of(a, text_of(a, pel_proto_of(&argument), 1)), 1);
        }
    }
    if (opens_files) pel_map_set(a->ctx, &a->functions, key_of(a, f->name), 1);
}

static void judge_nodes(auditor *a, function *f, uint32_t nodes, pel_str where) {
    pel_proto body = f->body;
    pel_proto_field field;
    a->at = f;
    while (pel_proto_next(a->ctx, &body, &field))
        if (field.number == nodes && field.wire == PEL_WIRE_BYTES) judge_node(a, pel_proto_of(&field), where);
}

void pel_audit_graphdef(pel_ctx *ctx, pel_loaded *out, pel_proto graph) {
    auditor a = { .ctx = ctx, .out = out };
    function whole = { .body = graph };
    PEL_VEC(function) functions = { 0 };
    pel_proto_field library, field;
    pel_proto parts = graph;
    while (pel_proto_next(ctx, &parts, &library)) {
        pel_proto list = pel_proto_of(&library);
        while (library.number == 2 && library.wire == PEL_WIRE_BYTES && pel_proto_next(ctx, &list, &field))
            if (field.number == 1 && field.wire == PEL_WIRE_BYTES)
                pel_push(ctx, &functions, (function){ .body = pel_proto_of(&field) });
    }
    note_nodes(&a, &whole, 1);
    for (uint32_t i = 0; i < functions.n; i++) note_nodes(&a, &functions.at[i], 3);
    judge_nodes(&a, &whole, 1, (pel_str){ "", 0 });
    for (uint32_t i = 0; i < functions.n; i++)
        judge_nodes(&a, &functions.at[i], 3, pel_format(ctx, "function %.*s", PEL_FMT(functions.at[i].name)));
}

/* ---- as text ---- */

static bool is_word_byte(char c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* The text in quotes after a key; false: the key has none, or it is a part of a longer word. */
static bool quoted_value(pel_str text, size_t key, size_t size, pel_str *value, bool *is_plain) {
    size_t at = key + size;
    if (key && is_word_byte(text.ptr[key - 1])) return false;
    while (at < text.len && strchr(" \t\r\n:", text.ptr[at])) at++;
    char quote = at < text.len ? text.ptr[at] : 0;
    if (quote != '"' && quote != '\'') return false;
    size_t start = ++at;
    *is_plain = true;
    for (; at < text.len && text.ptr[at] != quote; at++)
        if (text.ptr[at] == '\\') *is_plain = false, at++;
    *value = pel_str_cut(text, start, at < text.len ? at : text.len);
    for (at++; at < text.len && strchr(" \t\r\n", text.ptr[at]);) at++;
    if (at < text.len && (text.ptr[at] == '"' || text.ptr[at] == '\'')) *is_plain = false; /* it goes on */
    return true;
}

static void judge_text(pel_ctx *ctx, pel_loaded *out, pel_str text, const char *key, bool (*is_fine)(pel_str value)) {
    size_t size = strlen(key);
    const char *found;
    for (size_t at = 0; (found = pel_str_find(pel_str_from(text, at), pel_str_of(key))); at += size) {
        pel_str value;
        bool is_plain;
        at = (size_t)(found - text.ptr);
        if (!quoted_value(text, at, size, &value, &is_plain) || (is_plain && is_fine(value))) continue;
        pel_find(ctx, &out->findings, PEL_SUSPECT, "operator", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "%s: %.*s is not known to compute and nothing else", key,
                            (int)(value.len < 100 ? value.len : 100), value.ptr));
    }
}

static bool is_fine_op(pel_str op) { return pel_is_computing_op(op) || is_checkpoint_op(op); }

/* Layers of Caffe that are Python: their module is imported. */
static bool is_fine_type(pel_str type) { return !pel_str_is(type, "Python"); }

void pel_load_graph_text(pel_ctx *ctx, pel_loaded *out, pel_str text) {
    out->format = PEL_STR("protocol buffers as text");
    judge_text(ctx, out, text, "op", is_fine_op);
    judge_text(ctx, out, text, "type", is_fine_type);
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "protocol buffers as text: only the operators that it names are looked at");
}
