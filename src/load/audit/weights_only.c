#include "load/audit/weights_only.h"

#include "base/json.h"

#define MAX_REFUSED 100

/* What torch 2.13 lets through, in the order of the names; a test compares the list with the torch that is there. */
static const char *const allowed[] = {
    "_codecs.encode",
    "builtins.bytearray",
    "builtins.complex",
    "builtins.set",
    "collections.Counter",
    "collections.OrderedDict",
    "torch.BFloat16Storage",
    "torch.BFloat16Tensor",
    "torch.BoolStorage",
    "torch.BoolTensor",
    "torch.ByteStorage",
    "torch.ByteTensor",
    "torch.CharStorage",
    "torch.CharTensor",
    "torch.ComplexDoubleStorage",
    "torch.ComplexFloatStorage",
    "torch.DoubleStorage",
    "torch.DoubleTensor",
    "torch.FloatStorage",
    "torch.FloatTensor",
    "torch.HalfStorage",
    "torch.HalfTensor",
    "torch.IntStorage",
    "torch.IntTensor",
    "torch.LongStorage",
    "torch.LongTensor",
    "torch.QInt32Storage",
    "torch.QInt8Storage",
    "torch.QUInt2x4Storage",
    "torch.QUInt4x2Storage",
    "torch.QUInt8Storage",
    "torch.ShortStorage",
    "torch.ShortTensor",
    "torch.Size",
    "torch.Tensor",
    "torch._tensor._rebuild_from_type_v2",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor",
    "torch._utils._rebuild_device_tensor_from_numpy",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_wrapper_subclass",
    "torch.bfloat16",
    "torch.bits16",
    "torch.bits1x8",
    "torch.bits2x4",
    "torch.bits4x2",
    "torch.bits8",
    "torch.bool",
    "torch.complex128",
    "torch.complex32",
    "torch.complex64",
    "torch.cuda.BFloat16Storage",
    "torch.cuda.BFloat16Tensor",
    "torch.cuda.BoolStorage",
    "torch.cuda.BoolTensor",
    "torch.cuda.ByteStorage",
    "torch.cuda.ByteTensor",
    "torch.cuda.CharStorage",
    "torch.cuda.CharTensor",
    "torch.cuda.ComplexDoubleStorage",
    "torch.cuda.ComplexFloatStorage",
    "torch.cuda.DoubleStorage",
    "torch.cuda.DoubleTensor",
    "torch.cuda.FloatStorage",
    "torch.cuda.FloatTensor",
    "torch.cuda.HalfStorage",
    "torch.cuda.HalfTensor",
    "torch.cuda.IntStorage",
    "torch.cuda.IntTensor",
    "torch.cuda.LongStorage",
    "torch.cuda.LongTensor",
    "torch.cuda.ShortStorage",
    "torch.cuda.ShortTensor",
    "torch.cuda.sparse.BFloat16Tensor",
    "torch.cuda.sparse.ByteTensor",
    "torch.cuda.sparse.CharTensor",
    "torch.cuda.sparse.DoubleTensor",
    "torch.cuda.sparse.FloatTensor",
    "torch.cuda.sparse.HalfTensor",
    "torch.cuda.sparse.IntTensor",
    "torch.cuda.sparse.LongTensor",
    "torch.cuda.sparse.ShortTensor",
    "torch.device",
    "torch.float16",
    "torch.float32",
    "torch.float4_e2m1fn_x2",
    "torch.float64",
    "torch.float8_e4m3fn",
    "torch.float8_e4m3fnuz",
    "torch.float8_e5m2",
    "torch.float8_e5m2fnuz",
    "torch.float8_e8m0fnu",
    "torch.int1",
    "torch.int16",
    "torch.int2",
    "torch.int3",
    "torch.int32",
    "torch.int4",
    "torch.int5",
    "torch.int6",
    "torch.int64",
    "torch.int7",
    "torch.int8",
    "torch.nn.parameter.Parameter",
    "torch.per_channel_affine",
    "torch.per_channel_affine_float_qparams",
    "torch.per_channel_symmetric",
    "torch.per_tensor_affine",
    "torch.per_tensor_symmetric",
    "torch.qint32",
    "torch.qint8",
    "torch.quint2x4",
    "torch.quint4x2",
    "torch.quint8",
    "torch.serialization._get_layout",
    "torch.sparse.BFloat16Tensor",
    "torch.sparse.ByteTensor",
    "torch.sparse.CharTensor",
    "torch.sparse.DoubleTensor",
    "torch.sparse.FloatTensor",
    "torch.sparse.HalfTensor",
    "torch.sparse.IntTensor",
    "torch.sparse.LongTensor",
    "torch.sparse.ShortTensor",
    "torch.storage.TypedStorage",
    "torch.storage.UntypedStorage",
    "torch.uint1",
    "torch.uint16",
    "torch.uint2",
    "torch.uint3",
    "torch.uint32",
    "torch.uint4",
    "torch.uint5",
    "torch.uint6",
    "torch.uint64",
    "torch.uint7",
    "torch.uint8",
};

/* Never let through, whatever the caller allows. */
static const char *const blocked[] = { "sys", "os", "posix", "nt" };

typedef struct finder {
    pel_ctx *ctx;
    pel_audit *audit;
    pel_weights_refused *out;
    pel_map seen;    /* interned name -> 1 */
    pel_buf imports; /* "argparse, numpy" */
    pel_buf names;   /* of the line that helps */
    bool is_odd;     /* a name that no Python expression has */
} finder;

static bool is_allowed(pel_str name) {
    size_t low = 0, high = PEL_COUNT(allowed);
    while (low < high) {
        size_t middle = low + (high - low) / 2, len = strlen(allowed[middle]);
        int order = memcmp(allowed[middle], name.ptr, len < name.len ? len : name.len);
        if (!order) order = len < name.len ? -1 : len > name.len;
        if (!order) return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool is_blocked(pel_str module) {
    for (size_t i = 0; i < PEL_COUNT(blocked); i++)
        if (pel_str_is(module, blocked[i])) return true;
    return false;
}

/* Names of Python 2, which torch maps as pickle does. */
static pel_str module_of(const pel_pickled_global *global) {
    if (pel_str_is(global->module, "__builtin__")) return PEL_STR("builtins");
    if (pel_str_is(global->module, "copy_reg")) return PEL_STR("copyreg");
    return global->module;
}

static bool is_dotted_name(pel_str text) {
    bool at_start = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && (at_start || !(c == '.' || (c >= '0' && c <= '9')))) return false;
        at_start = c == '.';
    }
    return !at_start;
}

static void need_module(finder *f, pel_str module) {
    pel_str key = pel_format(f->ctx, "import %.*s", PEL_FMT(module));
    if (!pel_map_set(f->ctx, &f->seen, PEL_KEY(pel_intern_str(f->ctx, key)), 1)) return;
    if (f->imports.len) pel_put_c(&f->imports, ", ");
    pel_put(&f->imports, module);
}

/* The worst that the file does with a name. */
static pel_severity severity_of(const pel_audit *audit, pel_str name) {
    pel_severity worst = PEL_NOTE;
    for (uint32_t i = 0; i < audit->uses.n; i++)
        if (pel_str_eq(audit->uses.at[i].name, name) && audit->uses.at[i].severity > worst)
            worst = audit->uses.at[i].severity;
    return audit->dropped_uses && worst < PEL_UNREAD ? PEL_UNREAD : worst;
}

static void add_reason(finder *f, pel_str reason) {
    if (pel_map_set(f->ctx, &f->seen, PEL_KEY(pel_intern_str(f->ctx, reason)), 1) && f->out->reasons.n < MAX_REFUSED)
        pel_push(f->ctx, &f->out->reasons, reason);
}

static void refuse_name(finder *f, const pel_pickled_global *global) {
    pel_str module = module_of(global), name = pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(module), PEL_FMT(global->name));
    pel_str raw = pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(global->module), PEL_FMT(global->name));
    if (is_allowed(name) || !pel_map_set(f->ctx, &f->seen, PEL_KEY(pel_intern_str(f->ctx, name)), 1)) return;
    if (f->out->names.n == MAX_REFUSED) {
        f->out->n_left_out++;
        return;
    }
    pel_push(f->ctx, &f->out->names, (pel_weights_name){ name, severity_of(f->audit, raw) });
    if (is_blocked(module)) add_reason(f, pel_format(f->ctx, "torch never lets %.*s through", PEL_FMT(name)));
    f->is_odd = f->is_odd || !is_dotted_name(name);
    if (!pel_str_is(module, "builtins")) need_module(f, module);
    if (f->names.len) pel_put_c(&f->names, ", ");
    pel_putf(&f->names, "(%.*s, \"%.*s\")", PEL_FMT(pel_str_is(module, "builtins") ? global->name : name),
             PEL_FMT(name));
}

/* The state of a dtype goes to an object of a class of its own, which torch wants to know, too. */
static void add_dtype(finder *f, const pel_pickled *object) {
    const pel_pickled *code = pel_pickled_argument(object, 0);
    if (!code || code->kind != PEL_P_STR || !is_dotted_name(code->text)) return;
    pel_str text = pel_format(f->ctx, "type(numpy.dtype(\"%.*s\"))", PEL_FMT(code->text));
    if (!pel_map_set(f->ctx, &f->seen, PEL_KEY(pel_intern_str(f->ctx, text)), 1)) return;
    if (f->names.len) pel_put_c(&f->names, ", ");
    pel_put(&f->names, text);
}

static const pel_pickled *callable_of(const pel_pickled *object) {
    return object->kind == PEL_P_CALL || object->kind == PEL_P_NEW ? object->call->callable : NULL;
}

static void look_at(finder *f, const pel_pickle *pickle) {
    if (pickle->protocol > 3)
        add_reason(f, pel_format(f->ctx, "its unpickler knows no opcodes of protocol %d", pickle->protocol));
    if (pickle->failed) add_reason(f, PEL_STR("the pickle is broken"));
    for (uint32_t i = 0; i < pickle->globals.n; i++)
        if (pickle->globals.at[i]->global->is_computed)
            add_reason(f, PEL_STR("the pickle computes names"));
        else
            refuse_name(f, pickle->globals.at[i]->global);
    for (uint32_t i = 0; i < pickle->calls.n; i++)
        if (callable_of(pickle->calls.at[i])->kind != PEL_P_GLOBAL)
            add_reason(f, PEL_STR("the pickle calls what it computes"));
    for (uint32_t i = 0; i < pickle->builds.n; i++)
        if (callable_of(pickle->builds.at[i]) &&
            pel_pickled_is_global(callable_of(pickle->builds.at[i]), "numpy", "dtype"))
            add_dtype(f, pickle->builds.at[i]);
    for (uint32_t i = 0; i < pickle->filled.n; i++) {
        const pel_pickled *class = callable_of(pickle->filled.at[i]);
        if (!class || (!pel_pickled_is_global(class, "collections", "OrderedDict") &&
                       !pel_pickled_is_global(class, "collections", "Counter")))
            add_reason(f, PEL_STR("it puts things into dict, OrderedDict, Counter and list only"));
    }
}

static bool has_tensors(const pel_module *module, int depth) {
    if (module->tensors.n) return true;
    for (uint32_t i = 0; depth < 64 && i < module->children.n; i++)
        if (has_tensors(module->children.at[i], depth + 1)) return true;
    return false;
}

/* The line that makes torch take the file, if all that it refuses is harmless and can be allowed; else what gives the
 * tensors without unpickling. */
static pel_str advice_of(finder *f) {
    bool all = !f->out->reasons.n && !f->out->n_left_out && !f->is_odd && f->audit->verdict == PEL_HARMLESS;
    if (all)
        return pel_format(f->ctx, "import %.*s%storch; torch.serialization.add_safe_globals([%.*s])",
                          PEL_FMT(pel_buf_str(&f->imports)), f->imports.len ? ", " : "",
                          PEL_FMT(pel_buf_str(&f->names)));
    for (uint32_t i = 0; i < f->audit->loaded.networks.n; i++)
        if (has_tensors(f->audit->loaded.networks.at[i]->root, 0))
            return PEL_STR("pellucid convert FILE -o FILE.safetensors   # its tensors; nothing is unpickled");
    return (pel_str){ "", 0 };
}

void pel_weights_only(pel_ctx *ctx, pel_audit *audit) {
    const pel_loaded *loaded = &audit->loaded;
    if (!loaded->pickles.n || !loaded->is_torch) return;
    finder f = { .ctx = ctx,
                 .audit = audit,
                 .out = pel_new(ctx, pel_weights_refused),
                 .imports = pel_buf_in(ctx),
                 .names = pel_buf_in(ctx) };
    for (uint32_t i = 0; i < loaded->pickles.n; i++) {
        if (loaded->pickles.at[i].is_script)
            return; /* torch.load refuses all of those, and torch.jit.load has no list */
        look_at(&f, loaded->pickles.at[i].pickle);
    }
    audit->weights_only = f.out;
    if (f.out->names.n || f.out->reasons.n) f.out->advice = advice_of(&f);
}

/* ---- showing ---- */

static const char *judged(pel_severity severity) {
    return severity == PEL_NOTE ? "harmless" : severity == PEL_DANGER ? "dangerous" : "not known";
}

void pel_weights_only_text(const pel_audit *audit, pel_buf *out) {
    const pel_weights_refused *refused = audit->weights_only;
    if (!refused || (!refused->names.n && !refused->reasons.n)) return;
    pel_put_c(out, "  torch.load(weights_only=True) refuses it: ");
    for (uint32_t i = 0; i < refused->names.n; i++) {
        if (i) pel_put_c(out, ", ");
        pel_put_visible(out, refused->names.at[i].name);
        pel_putf(out, " (%s)", judged(refused->names.at[i].severity));
    }
    if (refused->n_left_out) pel_putf(out, " and %llu more", (unsigned long long)refused->n_left_out);
    for (uint32_t i = 0; i < refused->reasons.n; i++) {
        pel_put_c(out, i || refused->names.n ? "; " : "");
        pel_put_visible(out, refused->reasons.at[i]);
    }
    pel_put_byte(out, '\n');
    if (!refused->advice.len) return;
    pel_put_c(out, "    ");
    pel_put_visible(out, refused->advice);
    pel_put_byte(out, '\n');
}

void pel_weights_only_json(const pel_audit *audit, pel_json *json) {
    const pel_weights_refused *refused = audit->weights_only;
    if (!refused) return;
    pel_json_key(json, "weights_only");
    pel_json_object(json);
    pel_json_key(json, "loads"), pel_json_bool(json, !refused->names.n && !refused->reasons.n);
    pel_json_key(json, "refused");
    pel_json_array(json);
    for (uint32_t i = 0; i < refused->names.n; i++) {
        pel_json_object(json);
        pel_json_key(json, "name"), pel_json_str(json, refused->names.at[i].name);
        pel_json_key(json, "harmless"), pel_json_bool(json, refused->names.at[i].severity == PEL_NOTE);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_key(json, "left_out"), pel_json_int(json, (int64_t)refused->n_left_out);
    pel_json_key(json, "reasons");
    pel_json_array(json);
    for (uint32_t i = 0; i < refused->reasons.n; i++) pel_json_str(json, refused->reasons.at[i]);
    pel_json_end_array(json);
    pel_json_key(json, "advice"), pel_json_str(json, refused->advice);
    pel_json_end_object(json);
}
