/* Whose a node and its constants are: torch's exporters say it in metadata or in the names of nodes, others at least in
 * the names of weights. */
#include "source/onnx.h"

/* ---- the modules of a node ---- */

static void push_frame(pel_onnx *o, pel_str key, pel_str path) {
    pel_str above = o->step.stack.n ? o->step.stack.at[o->step.stack.n - 1].path : (pel_str){ "", 0 };
    if (o->step.stack.n && (!pel_part_holds(above, path) || path.len == above.len || o->step.stack.n >= 90)) return;
    pel_push(o->ctx, &o->step.stack, (pel_frame){ pel_intern_str(o->ctx, key), path });
}

/* A list of texts, as Python writes it; NULL: it is none. */
static const pel_nodes *text_list(pel_onnx *o, pel_str text) {
    if (!text.len || text.len > 20000 || text.ptr[0] != '[') return NULL;
    pel_source source = pel_source_text(o->ctx, PEL_STR("metadata"), text);
    pel_node *list = pel_parse_newest_expression(o->ctx, &source)->Expression.body;
    if (list->kind != PEL_List) return NULL;
    for (uint32_t i = 0; i < list->List.elts.n; i++) {
        const pel_node *item = list->List.elts.at[i];
        if (item->kind != PEL_Constant || item->Constant.value->kind != PEL_CONST_STR) return NULL;
    }
    return &list->List.elts;
}

/* torch's own modules are found by their operator: its exporter says BatchNorm of a convolution that it has fused with
 * one. An author's class keeps its name. */
static void name_class(pel_onnx *o, pel_str path, pel_str class) {
    size_t dot = class.len;
    while (dot && class.ptr[dot - 1] != '.') dot--;
    if (pel_str_starts(class, PEL_STR("torch.nn.")) || !dot) return;
    pel_part *part = pel_part_make(o->r, path);
    part->class = pel_str_from(class, dot);
    part->origin = pel_str_cut(class, 0, dot - 1);
}

/* ['', 'layer1', 'layer1.0', 'conv2d_1']: the last one is the node's own name. A second call has `@1`. */
static bool stack_of_metadata(pel_onnx *o) {
    const pel_nodes *scopes = text_list(o, o->now->scopes), *classes = text_list(o, o->now->classes);
    if (!scopes || !scopes->n) return false;
    for (uint32_t i = 0; i + 1 < scopes->n; i++) {
        pel_str key = scopes->at[i]->Constant.value->text, path = key;
        const char *at = memchr(path.ptr, '@', path.len);
        if (at) path.len = (size_t)(at - path.ptr);
        uint32_t before = o->step.stack.n;
        push_frame(o, key, path);
        if (o->step.stack.n > before && classes && i < classes->n)
            name_class(o, path, classes->at[i]->Constant.value->text);
    }
    return true;
}

/* "/layer1/layer1.0/conv1/Conv": a member of a list is named with the list. */
static void stack_of_name(pel_onnx *o) {
    pel_str name = o->now->name, path = { "", 0 }, before = { "", 0 };
    if (name.len < 2 || name.ptr[0] != '/' || name.len > 2000) return;
    for (size_t start = 1, end; start < name.len; start = end + 1) {
        for (end = start; end < name.len && name.ptr[end] != '/';) end++;
        if (end == name.len) return; /* the operator */
        pel_str part = pel_str_cut(name, start, end);
        bool is_member =
            before.len && part.len > before.len + 1 && pel_str_starts(part, before) && part.ptr[before.len] == '.';
        if (is_member)
            path = pel_format(o->ctx, "%.*s%.*s", PEL_FMT(path), PEL_FMT(pel_str_from(part, before.len)));
        else
            path = path.len ? pel_format(o->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(part)) : part;
        if (!part.len || path.ptr[path.len - 1] == '.' || path.ptr[0] == '.' || pel_str_find(path, PEL_STR("..")))
            return;
        push_frame(o, path, path);
        before = part;
    }
}

static pel_str parent_of(pel_str label) {
    size_t dot = label.len;
    while (dot && label.ptr[dot - 1] != '.') dot--;
    return pel_str_cut(label, 0, dot ? dot - 1 : 0);
}

/* A graph without scopes has them in the names of weights: all that an operator reads lie in conv1. */
static void stack_of_weights(pel_onnx *o) {
    pel_str found = { "", 0 };
    for (uint32_t i = 0; i < o->now->in.n; i++) {
        const pel_onnx_value *value = pel_onnx_in(o, i);
        if (!value || !value->tensor || !pel_onnx_is_named(value->label)) continue;
        pel_str parent = parent_of(value->label);
        if (!parent.len || (found.len && !pel_str_eq(found, parent))) return;
        found = parent;
    }
    if (found.len && pel_part_holds(pel_onnx_scope(o), found)) push_frame(o, found, found);
}

void pel_onnx_stack(pel_onnx *o) {
    o->step = (pel_step){ .at = o->now->at };
    push_frame(o, PEL_STR(""), (pel_str){ "", 0 });
    if (!stack_of_metadata(o)) stack_of_name(o);
    stack_of_weights(o);
}

pel_str pel_onnx_scope(const pel_onnx *o) { return o->step.stack.at[o->step.stack.n - 1].path; }

/* ---- tensors ---- */

static bool is_number(pel_str word) {
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] < '0' || word.ptr[i] > '9') return false;
    return word.len && word.len < 6;
}

bool pel_onnx_is_named(pel_str label) {
    bool any_dot = false;
    for (size_t start = 0, end; start <= label.len; start = end + 1) {
        for (end = start; end < label.len && label.ptr[end] != '.';) end++;
        pel_str word = pel_str_cut(label, start, end);
        bool is_last = end == label.len;
        any_dot |= !is_last;
        if (!pel_is_identifier(word) && (is_last || !is_number(word))) return false;
    }
    /* val_15 and the like are the exporter's own */
    return any_dot || (!pel_str_starts(label, PEL_STR("val_")) && !pel_str_starts(label, PEL_STR("_")));
}

/* What nn.Module has itself can't be the name of a tensor. */
static bool is_of_module(pel_str word) {
    static const char *const names[] = {
        "forward", "training",   "type",    "to",           "half",      "float",      "double",     "bfloat16",
        "cpu",     "cuda",       "eval",    "train",        "apply",     "children",   "modules",    "parameters",
        "buffers", "state_dict", "compile", "share_memory", "zero_grad", "extra_repr", "add_module",
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(word, names[i])) return true;
    return false;
}

static pel_str full_name(pel_onnx *o, pel_str path, pel_str word) {
    return path.len ? pel_format(o->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(word)) : word;
}

static uint64_t text_key(pel_onnx *o, pel_str text) { return PEL_KEY(pel_intern_str(o->ctx, text)); }

/* Its name in the module of the file if that is below or above the user's; else the user has a copy. */
static pel_str state_name(pel_onnx *o, const pel_onnx_value *value, const char *role, bool is_turned) {
    pel_str scope = pel_onnx_scope(o), parent = parent_of(value->label);
    pel_str word = pel_str_from(value->label, parent.len + (parent.len > 0));
    bool is_named = pel_onnx_is_named(value->label) && !is_turned && !is_of_module(word);
    if (is_named && (pel_part_holds(scope, parent) || pel_part_holds(parent, scope))) return value->label;
    return full_name(o, scope, *role ? pel_str_of(role) : is_named ? word : PEL_STR("constant"));
}

static const pel_model_tensor *turned(pel_onnx *o, const pel_model_tensor *tensor) {
    pel_model_tensor *out = pel_new(o->ctx, pel_model_tensor);
    *out = *tensor;
    int64_t sizes[2] = { tensor->shape.dims[1].size, tensor->shape.dims[0].size };
    out->shape = pel_shape_of(o->ctx, sizes, 2);
    if (tensor->stored) {
        pel_stored *stored = pel_new(o->ctx, pel_stored);
        int64_t *strides = pel_new_array(o->ctx, 2, int64_t);
        *stored = *tensor->stored;
        strides[0] = 1;
        strides[1] = sizes[0];
        stored->strides = strides;
        out->stored = stored;
    }
    return out;
}

static void hold(pel_onnx *o, pel_str full, const pel_model_tensor *tensor) {
    pel_model_tensor *own = pel_new(o->ctx, pel_model_tensor);
    pel_str parent = parent_of(full);
    *own = *tensor;
    own->name = pel_str_from(full, parent.len + (parent.len > 0));
    own->full = full;
    bool is_real = pel_str_find(tensor->dtype, PEL_STR("float")) || pel_str_starts(tensor->dtype, PEL_STR("complex"));
    bool is_running = pel_str_starts(own->name, PEL_STR("running_")) || pel_str_starts(own->name, PEL_STR("constant"));
    own->role = is_real && !is_running ? PEL_PARAMETER : PEL_BUFFER;
    pel_part *part = pel_part_make(o->r, parent);
    pel_push(o->ctx, &part->held, (pel_held){ pel_intern_str(o->ctx, own->name), own });
}

pel_node *pel_onnx_weight(pel_onnx *o, const pel_onnx_value *value, const char *role, bool is_turned) {
    if (pel_str_is(value->tensor->dtype, "string") || !pel_dtype_size(value->tensor->dtype))
        pel_onnx_refuse(o, "a constant of a dtype that torch does not have");
    pel_str full = state_name(o, value, role, is_turned), base = full;
    for (unsigned i = 2;; i++) {
        pel_str key = pel_format(o->ctx, "%.*s\n%.*s%s", PEL_FMT(value->label), PEL_FMT(full), is_turned ? "\nT" : "");
        pel_name known = pel_map_pointer(&o->copies, text_key(o, key));
        if (known) return pel_make_name(o->ctx, known, PEL_Load);
        if (pel_map_set(o->ctx, &o->taken, text_key(o, full), 1)) {
            pel_name name = pel_intern_str(o->ctx, pel_format(o->ctx, "w%u", o->copies.n));
            pel_str *kept = pel_new(o->ctx, pel_str);
            *kept = full;
            pel_map_set(o->ctx, &o->copies, text_key(o, key), PEL_KEY(name));
            pel_map_set(o->ctx, &o->e.weights, PEL_KEY(name), PEL_KEY(kept));
            hold(o, full, is_turned ? turned(o, value->tensor) : value->tensor);
            return pel_make_name(o->ctx, name, PEL_Load);
        }
        full = pel_format(o->ctx, "%.*s_%u", PEL_FMT(base), i);
    }
}

void pel_onnx_counter(pel_onnx *o, pel_str path) {
    static const char zeros[8];
    pel_part *part = pel_part_make(o->r, path);
    pel_str name = PEL_STR("num_batches_tracked");
    if (!pel_map_set(o->ctx, &o->taken, text_key(o, full_name(o, path, name)), 1)) return;
    pel_model_tensor *tensor = pel_new(o->ctx, pel_model_tensor);
    pel_stored *stored = pel_new(o->ctx, pel_stored);
    stored->bytes = (pel_str){ zeros, sizeof zeros };
    *tensor = (pel_model_tensor){ .name = name,
                                  .full = full_name(o, path, name),
                                  .role = PEL_BUFFER,
                                  .dtype = PEL_STR("int64"),
                                  .shape = pel_shape_of(o->ctx, NULL, 0),
                                  .stored = stored };
    pel_push(o->ctx, &part->held, (pel_held){ pel_intern_str(o->ctx, name), tensor });
}
