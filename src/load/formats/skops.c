/* skops: a zip archive with schema.json, which says object by object what its loader makes, and arrays beside it.
 *
 * The schema is turned into the pickle that would do the same, object by object: what that would call, make and fill is
 * then judged as in any pickle, by the same tables. skops asks the user to trust each type that it does not know; the
 * audit does not rely on the answer. */
#include "base/json_read.h"
#include "io/pickle.h"
#include "load/audit/audit.h"
#include "load/load.h"

#define MAX_SCHEMA ((uint64_t)64 << 20)
#define MAX_LEVELS 200

typedef struct writer {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_str member;
    pel_buf to;
    pel_map ids; /* __id__ + 1 -> index in the memo */
    uint64_t n_memo;
    int depth;
} writer;

static void put_node(writer *w, const pel_json_value *node);

static void put_text(writer *w, pel_str text) {
    pel_put_byte(&w->to, 'X');
    for (unsigned i = 0; i < 4; i++) pel_put_byte(&w->to, (char)(text.len >> 8 * i & 255));
    pel_put(&w->to, text);
}

static void put_name(writer *w, pel_str module, pel_str name) {
    put_text(w, module);
    put_text(w, name);
    pel_put_byte(&w->to, (char)0x93); /* STACK_GLOBAL */
}

static void put_class(writer *w, const pel_json_value *node) {
    put_name(w, pel_json_text(pel_json_get(node, "__module__")), pel_json_text(pel_json_get(node, "__class__")));
}

static bool is_class(const pel_json_value *node, const char *module, const char *name) {
    return pel_str_is(pel_json_text(pel_json_get(node, "__module__")), module) &&
           pel_str_is(pel_json_text(pel_json_get(node, "__class__")), name);
}

/* Values that are nodes; what is none of them is left where it is. */
static void put_values(writer *w, const pel_json_value *content) {
    bool is_object = content && content->kind == PEL_J_OBJECT;
    for (uint32_t i = is_object ? 1 : 0; content && content->kind >= PEL_J_ARRAY && i < content->items.n;
         i += is_object ? 2 : 1)
        put_node(w, content->items.at[i]);
}

/* ---- a function per kind of node ---- */

static void put_dict(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content"), *types = pel_json_get(node, "key_types");
    if (types) {
        put_node(w, types); /* it is made as well, and dropped here */
        pel_put_byte(&w->to, '0');
    }
    if (is_class(node, "builtins", "dict")) {
        pel_put_byte(&w->to, '}');
    } else {
        put_class(w, node);
        pel_put_c(&w->to, ")R");
    }
    pel_put_byte(&w->to, '(');
    for (uint32_t i = 0; content && content->kind == PEL_J_OBJECT && i + 1 < content->items.n; i += 2) {
        put_text(w, pel_json_text(content->items.at[i]));
        put_node(w, content->items.at[i + 1]);
    }
    pel_put_byte(&w->to, 'u');
}

static void put_items(writer *w, const pel_json_value *node, const char *begin, const char *end) {
    pel_put_c(&w->to, begin);
    put_values(w, pel_json_get(node, "content"));
    pel_put_c(&w->to, end);
}

/* A list of its items, given to its class if that is another. */
static void put_list(writer *w, const pel_json_value *node) {
    bool is_list = is_class(node, "builtins", "list");
    if (!is_list) {
        put_class(w, node);
        pel_put_byte(&w->to, '(');
    }
    put_items(w, node, "](", "e");
    if (!is_list) pel_put_c(&w->to, "tR");
}

/* Of a named tuple, the items are the arguments. */
static void put_tuple(writer *w, const pel_json_value *node) {
    bool is_tuple = is_class(node, "builtins", "tuple");
    if (!is_tuple) put_class(w, node);
    put_items(w, node, "(", is_tuple ? "t" : "tR");
}

static void put_object(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content");
    put_class(w, node);
    pel_put_c(&w->to, ")\x81"); /* NEWOBJ */
    if (!content || content->kind == PEL_J_NULL) return;
    put_node(w, content);
    pel_put_byte(&w->to, 'b');
}

static void put_constructor(writer *w, const pel_json_value *node) {
    put_class(w, node);
    put_node(w, pel_json_get(node, "content"));
    pel_put_byte(&w->to, 'R');
}

/* TreeNode, LossNode: the arguments are in __reduce__; skops made trees by a fixed class, older versions by the named
 * one. */
static void put_reduce(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content");
    put_class(w, node);
    put_node(w, pel_json_get(pel_json_get(node, "__reduce__"), "args"));
    pel_put_byte(&w->to, 'R');
    if (!content) return;
    put_node(w, content);
    pel_put_byte(&w->to, 'b');
}

/* Of older files the name is in the content: both are imported here, as either may be. */
static void put_function(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content"), *function = pel_json_get(content, "function");
    if (function && function->kind == PEL_J_STR) {
        put_name(w, pel_json_text(pel_json_get(content, "module_path")), function->text);
        pel_put_byte(&w->to, '0');
    }
    put_class(w, node);
}

static void put_partial(writer *w, const pel_json_value *node) {
    put_name(w, PEL_STR("functools"), PEL_STR("partial"));
    put_items(w, node, "(", "tR");
}

static void put_method(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content");
    put_name(w, PEL_STR("builtins"), PEL_STR("getattr"));
    pel_put_byte(&w->to, '(');
    put_node(w, pel_json_get(content, "obj"));
    put_text(w, pel_json_text(pel_json_get(content, "func")));
    pel_put_c(&w->to, "tR");
}

static void put_operator(writer *w, const pel_json_value *node) {
    put_class(w, node);
    put_node(w, pel_json_get(node, "attrs"));
    pel_put_byte(&w->to, 'R');
}

/* An array is read from its member, without objects, and given to its class if that is another: a scalar, say. */
static void put_array(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content"), *shape = pel_json_get(node, "shape");
    if (content) {
        pel_put_c(&w->to, "](");
        put_values(w, content);
        if (shape) put_node(w, shape);
        pel_put_byte(&w->to, 'e');
        return;
    }
    bool is_scalar = pel_is_constant_name(pel_json_text(pel_json_get(node, "__module__")),
                                          pel_json_text(pel_json_get(node, "__class__")));
    put_class(w, node);
    pel_put_c(&w->to, is_scalar || is_class(node, "numpy", "ndarray") ? "0N" : "(NtR");
}

static void put_json(writer *w, const pel_json_value *node) {
    put_text(w, pel_json_text(pel_json_get(node, "content")));
}

static void put_nothing(writer *w, const pel_json_value *node) {
    (void)node;
    pel_put_byte(&w->to, 'N');
}

/* A tuple of the nodes that are its content, or that its content has. */
static void put_parts(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content");
    pel_put_byte(&w->to, '(');
    if (content && pel_json_get(content, "__loader__"))
        put_node(w, content);
    else
        put_values(w, content);
    pel_put_byte(&w->to, 't');
}

/* The class is called, and what it makes gets numbers. numpy's own seed themselves, and then take the numbers. */
static void put_generator(writer *w, const pel_json_value *node) {
    bool is_own =
        is_class(node, "numpy.random.mtrand", "RandomState") || is_class(node, "numpy.random._generator", "Generator");
    put_parts(w, node);
    pel_put_byte(&w->to, '0');
    put_class(w, node);
    pel_put_c(&w->to, is_own ? "0N" : ")R");
}

static void put_cached(writer *w, const pel_json_value *node) {
    const pel_json_value *id = pel_json_get(node, "__id__");
    uint64_t index;
    if (!id || !id->is_integer || !pel_map_get(&w->ids, (uint64_t)id->integer + 1, &index))
        pel_throw(w->ctx, PEL_E_FORMAT, node->at, "skops: a node refers to one that was not there yet");
    pel_put_byte(&w->to, 'j'); /* LONG_BINGET */
    for (unsigned i = 0; i < 4; i++) pel_put_byte(&w->to, (char)(index >> 8 * i & 255));
}

/* Always collections.defaultdict, whatever class the node names: what matters is the factory. */
static void put_default_dict(writer *w, const pel_json_value *node) {
    const pel_json_value *content = pel_json_get(node, "content");
    put_node(w, pel_json_get(content, "main"));
    pel_put_byte(&w->to, '0');
    put_name(w, PEL_STR("collections"), PEL_STR("defaultdict"));
    pel_put_byte(&w->to, '(');
    put_node(w, pel_json_get(content, "default_factory"));
    pel_put_c(&w->to, "tR");
}

static const struct {
    const char *loader;
    void (*put)(writer *w, const pel_json_value *node);
} loaders[] = {
    { "DictNode", put_dict },
    { "ListNode", put_list },
    { "SetNode", put_list },
    { "TupleNode", put_tuple },
    { "ObjectNode", put_object },
    { "ConstructorFromReduceNode", put_constructor },
    { "TreeNode", put_reduce },
    { "LossNode", put_reduce },
    { "QuantileForestNode", put_reduce },
    { "FunctionNode", put_function },
    { "TypeNode", put_function },
    { "PartialNode", put_partial },
    { "MethodNode", put_method },
    { "OperatorFuncNode", put_operator },
    { "NdArrayNode", put_array },
    { "JsonNode", put_json },
    { "BytesNode", put_nothing },
    { "BytearrayNode", put_nothing },
    { "SliceNode", put_nothing },
    { "MaskedArrayNode", put_parts },
    { "RandomStateNode", put_generator },
    { "RandomGeneratorNode", put_generator },
    { "DTypeNode", put_parts },
    { "SparseMatrixNode", put_parts },
    { "DefaultDictNode", put_default_dict },
    { "CachedNode", put_cached },
};

/* A node leaves one value on the stack, which the memo keeps by its id. A loader that is in no list may do anything
 * with the class that it names. */
static void put_node(writer *w, const pel_json_value *node) {
    if (!node || node->kind != PEL_J_OBJECT || !pel_json_get(node, "__loader__")) {
        pel_put_byte(&w->to, 'N'); /* a plain value of JSON */
        return;
    }
    if (++w->depth > MAX_LEVELS)
        pel_throw(w->ctx, PEL_E_TOO_DEEP, node->at, "skops: nodes nest deeper than %d", MAX_LEVELS);
    pel_str loader = pel_json_text(pel_json_get(node, "__loader__"));
    const pel_json_value *id = pel_json_get(node, "__id__");
    size_t i = 0;
    while (i < PEL_COUNT(loaders) && !pel_str_is(loader, loaders[i].loader)) i++;
    if (i < PEL_COUNT(loaders)) {
        loaders[i].put(w, node);
    } else {
        pel_find(w->ctx, &w->out->findings, PEL_SUSPECT, "calls-unknown", w->member, node->at,
                 pel_format(w->ctx, "a node for %.*s, of which nobody knows what it does", PEL_FMT(loader)));
        put_constructor(w, node);
    }
    if (id && id->is_integer && pel_map_set(w->ctx, &w->ids, (uint64_t)id->integer + 1, w->n_memo)) {
        pel_put_byte(&w->to, (char)0x94); /* MEMOIZE */
        w->n_memo++;
    }
    w->depth--;
}

bool pel_load_skops(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    const pel_zip_member *member = pel_zip_find(zip, PEL_STR("schema.json"));
    if (!member) return false;
    const pel_json_value *root =
        pel_json_read(ctx, pel_zip_content(ctx, zip, member, MAX_SCHEMA, &out->findings), member->offset);
    if (!pel_json_get(root, "__loader__")) return false;
    out->format = PEL_STR("skops archive");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    writer w = { .ctx = ctx, .out = out, .member = member->name, .to = pel_buf_in(ctx) };
    pel_put_c(&w.to, "\x80\x04");
    put_node(&w, root);
    pel_put_byte(&w.to, '.');
    pel_pickle *pickle = pel_pickle_read(ctx, pel_buf_str(&w.to), member->offset, member->name, &out->findings);
    pel_push(ctx, &out->pickles, (pel_loaded_pickle){ pickle, member->name, false });
    if (pickle->failed) pel_throw(ctx, pickle->fault.code, pickle->fault.at, "%s", pickle->fault.what);
    pel_map_set(ctx, &out->read, member->offset, 1);
    pel_add_arrays(&builder, out, zip);
    return true;
}
