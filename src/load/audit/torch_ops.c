#include "load/audit/torch_ops.h"

#include "base/map.h"

#include <stdlib.h>

/* ---- operators ---- */

static const char *const computing[] = {
#include "load/audit/script_ops.inc"
};

typedef struct name_key {
    const char *ptr;
    size_t len;
} name_key;

static int by_name(const void *key, const void *row) {
    const name_key *k = key;
    const char *name = *(const char *const *)row;
    int order = strncmp(k->ptr, name, k->len);
    return order ? order : name[k->len] ? -1 : 0;
}

static bool has_word(const char *words, pel_str word) {
    if (!word.len || memchr(word.ptr, ' ', word.len) || memchr(word.ptr, 0, word.len)) return false;
    for (const char *at = words; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, word.ptr, word.len) == 0 && at[1 + word.len] == ' ') return true;
    return false;
}

pel_severity pel_judge_torch_op(pel_str name) {
    static const char on_files[] = " aten::from_file aten::save aten::_save aten::load image::read_file "
                                   "image::write_file video::read_video_from_file debugprims::load_tensor "
                                   "prim::PythonOp prim::rpc_sync prim::rpc_async prim::rpc_remote ";
    name_key key = { name.ptr, name.len };
    if (!name.len || memchr(name.ptr, 0, name.len)) return PEL_SUSPECT;
    if (has_word(on_files, name)) return PEL_DANGER;
    return bsearch(&key, computing, PEL_COUNT(computing), sizeof *computing, by_name) ? PEL_NOTE : PEL_SUSPECT;
}

/* ---- torch.export ---- */

/* "torch.ops.aten.add.Tensor" -> "aten::add"; an overload is not looked at. */
static pel_str op_of_target(pel_ctx *ctx, pel_str path) {
    size_t dots[3], n = 0;
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] != '.') continue;
        if (n == 2) return (pel_str){ "", 0 };
        dots[n++] = i;
    }
    if (!n) return (pel_str){ "", 0 };
    pel_str op = pel_str_cut(path, dots[0] + 1, n == 2 ? dots[1] : path.len);
    return pel_format(ctx, "%.*s::%.*s", PEL_FMT(pel_str_cut(path, 0, dots[0])), PEL_FMT(op));
}

pel_severity pel_judge_torch_target(pel_ctx *ctx, pel_str target) {
    static const char numbers[] =
        " _operator.abs _operator.add _operator.and_ _operator.eq _operator.floordiv _operator.ge _operator.getitem "
        "_operator.gt _operator.index _operator.inv _operator.invert _operator.le _operator.lshift _operator.lt "
        "_operator.mod _operator.mul _operator.ne _operator.neg _operator.not_ _operator.or_ _operator.pos "
        "_operator.pow _operator.rshift _operator.sub _operator.truediv _operator.xor math.ceil math.floor math.trunc "
        "math.sqrt math.fabs builtins.max builtins.min builtins.pow torch.sym_float torch.sym_int torch.sym_ite "
        "torch.sym_max torch.sym_min torch.sym_not torch.sym_sqrt torch.sym_sum torch._sym_sqrt torch._sym_cos "
        "torch._sym_sin torch._sym_log2 ";
    static const char higher[] = " cond while_loop map_impl scan associative_scan wrap_with_set_grad_enabled "
                                 "wrap_with_autocast wrap strict_mode flex_attention run_const_graph "
                                 "auto_functionalized auto_functionalized_v2 with_effects ";
    pel_str ops = PEL_STR("torch.ops."), own = PEL_STR("torch.ops.higher_order.");
    if (has_word(numbers, target)) return PEL_NOTE;
    if (pel_str_starts(target, own)) return has_word(higher, pel_str_from(target, own.len)) ? PEL_NOTE : PEL_SUSPECT;
    if (!pel_str_starts(target, ops)) return PEL_DANGER; /* any attribute of torch: torch.os.system */
    return pel_judge_torch_op(op_of_target(ctx, pel_str_from(target, ops.len)));
}

static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* 's77': the name of a symbol in quotes; returns where it ends, 0: it is something else. */
static size_t quoted_name(pel_str text, size_t at) {
    size_t i = at + 1;
    while (i < text.len && (is_letter(text.ptr[i]) || is_digit(text.ptr[i]) || text.ptr[i] == '_')) i++;
    return i < text.len && text.ptr[i] == '\'' && i > at + 1 ? i + 1 : 0;
}

/* Numbers, names, operators, and calls of the functions that torch's sizes are made of: no attributes, no texts but the
 * names of symbols. */
bool pel_is_torch_size(pel_str text) {
    static const char functions[] =
        " Abs Add AlignedMod And BitwiseFn_bitwise_and BitwiseFn_bitwise_or CeilDiv CeilToInt CleanDiv Eq FloatPow "
        "FloatTrueDiv Float FloorDiv FloorToInt Ge Gt Identity IntTrueDiv Integer IsNonOverlappingAndDenseIndicator "
        "LShift Le Lt Max Min Mod ModularIndexing Mul Ne Not Or Piecewise Pow PowByNatural PythonMod RShift Rational "
        "RoundDecimal RoundToInt Symbol ToFloat TruncToFloat TruncToInt Where ceiling floor sqrt "
        "OpaqueUnaryFn_sqrt OpaqueUnaryFn_cos OpaqueUnaryFn_cosh OpaqueUnaryFn_sin OpaqueUnaryFn_sinh "
        "OpaqueUnaryFn_tan OpaqueUnaryFn_tanh OpaqueUnaryFn_asin OpaqueUnaryFn_acos OpaqueUnaryFn_atan "
        "OpaqueUnaryFn_exp OpaqueUnaryFn_log OpaqueUnaryFn_asinh OpaqueUnaryFn_log2 ";
    for (size_t i = 0; i < text.len;) {
        char c = text.ptr[i];
        size_t start = i;
        if (is_letter(c) || c == '_') {
            while (i < text.len && (is_letter(text.ptr[i]) || is_digit(text.ptr[i]) || text.ptr[i] == '_')) i++;
            pel_str name = pel_str_cut(text, start, i);
            bool is_called = i < text.len && text.ptr[i] == '(';
            if (pel_str_starts(name, PEL_STR("__")) || (is_called && !has_word(functions, name))) return false;
            if (pel_str_is(name, "lambda") || pel_str_is(name, "import")) return false;
            continue;
        }
        if (c == '\'') {
            i = quoted_name(text, i);
            if (!i) return false;
            continue;
        }
        bool is_point = c == '.' && i && is_digit(text.ptr[i - 1]);
        if (!is_point && !is_digit(c) && (!c || !strchr(" +-*/(),<>=!&|~%", c))) return false;
        i++;
    }
    return true;
}

/* ---- TorchScript ---- */

typedef struct script {
    pel_ctx *ctx;
    pel_str member;
    uint64_t at;
    pel_findings *findings;
    pel_map bound; /* names that the source itself gives to values */
} script;

static void say(script *s, pel_severity severity, pel_str text) {
    pel_find(s->ctx, s->findings, severity, "operator", s->member, s->at, text);
}

static void judge_op(script *s, pel_str space, pel_str name) {
    pel_str op = pel_format(s->ctx, "%.*s::%.*s", PEL_FMT(space), PEL_FMT(name));
    pel_severity severity = pel_judge_torch_op(op);
    if (severity == PEL_NOTE) return;
    say(s, severity,
        pel_format(s->ctx, "the code has %.*s%s", PEL_FMT(op),
                   severity == PEL_DANGER ? ", which leaves memory: it reads or writes files, or runs something else"
                                          : ", which is not known to compute and nothing else"));
}

/* "a.b.c" -> the name at its root and the parts after it, as far as they fit; 0: it has no name at its root. */
static size_t chain_of(const pel_node *node, pel_name *root, pel_name parts[8]) {
    size_t n = 0;
    pel_name reversed[8];
    for (; node->kind == PEL_Attribute; node = node->Attribute.value) {
        if (n == 8) return 0;
        reversed[n++] = node->Attribute.attr;
    }
    if (node->kind != PEL_Name || !n) return 0;
    *root = node->Name.id;
    for (size_t i = 0; i < n; i++) parts[i] = reversed[n - 1 - i];
    return n;
}

static bool is_space(const script *s, pel_name name) {
    return (pel_name_is(name, "torch") || pel_name_is(name, "ops")) && !pel_map_has(&s->bound, PEL_KEY(name));
}

/* torch.relu is aten::relu, ops.prim.NumToTensor is what it says. */
static void judge_chain(script *s, pel_name root, pel_name *parts, size_t n) {
    bool is_ops = pel_name_is(root, "ops");
    if (is_ops && n >= 2) {
        judge_op(s, pel_name_str(parts[0]), pel_name_str(parts[1]));
    } else if (!is_ops && n == 1) {
        judge_op(s, PEL_STR("aten"), pel_name_str(parts[0]));
    } else if (!is_ops && n == 3 && pel_name_is(parts[0], "_C") && pel_name_is(parts[1], "_nn")) {
        judge_op(s, PEL_STR("aten"), pel_name_str(parts[2]));
    } else {
        say(s, PEL_SUSPECT, pel_format(s->ctx, "the code has %s.%s, which is no operator", root->text, parts[0]->text));
    }
}

/* Classes that a library brings along, in native code. */
static void judge_class(script *s, pel_name *parts, size_t n) {
    static const char own[] = " quantized sparse rnn xnnpack ";
    if (n < 3 || !pel_name_is(parts[0], "torch") || !pel_name_is(parts[1], "classes")) return;
    if (!has_word(own, pel_name_str(parts[2])))
        say(s, PEL_SUSPECT,
            pel_format(s->ctx, "the code needs a class of %s, which somebody's library must provide", parts[2]->text));
}

static void judge_call(script *s, const pel_node *function) {
    static const char builtins[] =
        " annotate unchecked_cast uninitialized int float bool complex str getattr hasattr "
        "print range rangelist len tuple list dict isinstance fork wait awaitable "
        "awaitable_wait awaitable_nowait min max abs all any sum sorted round divmod pow zip "
        "enumerate ord chr hex oct bin id iter reversed super type_as _to_tensor ";
    const pel_node *owner = function;
    while (owner->kind == PEL_Attribute) owner = owner->Attribute.value;
    if (owner->kind != PEL_Name) return; /* a method of a value: its own methods, which are in the archive */
    pel_name root = owner->Name.id;
    bool is_known = pel_map_has(&s->bound, PEL_KEY(root)) || pel_name_is(root, "__torch__") ||
                    pel_name_is(root, "CONSTANTS") || is_space(s, root);
    if (function->kind == PEL_Name) is_known = is_known || has_word(builtins, pel_name_str(root));
    if (!is_known) say(s, PEL_SUSPECT, pel_format(s->ctx, "the code calls %s, which it does not define", root->text));
}

static void visit(void *arg, pel_node **slot) {
    script *s = arg;
    pel_node *node = *slot;
    pel_name root, parts[8];
    size_t n = node->kind == PEL_Attribute ? chain_of(node, &root, parts) : 0;
    if (n && is_space(s, root)) {
        judge_chain(s, root, parts, n);
        return; /* the names in it are judged */
    }
    if (n && pel_name_is(root, "__torch__")) judge_class(s, parts, n);
    if (node->kind == PEL_Call) judge_call(s, node->Call.func);
    if (node->kind == PEL_Name && is_space(s, node->Name.id))
        say(s, PEL_SUSPECT,
            pel_format(s->ctx, "the code uses %s as a value: any operator may be meant", node->Name.id->text));
    if (node->kind == PEL_Import || node->kind == PEL_ImportFrom)
        say(s, PEL_SUSPECT, PEL_STR("the code imports something, which TorchScript never writes"));
    pel_each_child(node, visit, arg);
}

/* Arguments and what is assigned. An assignment to torch or ops hides nothing: its reader knows them by their names. */
static void bind(void *arg, pel_node **slot) {
    script *s = arg;
    const pel_node *node = *slot;
    pel_name name = NULL;
    if (node->kind == PEL_Name && node->Name.ctx == PEL_Store) name = node->Name.id;
    if (node->kind == PEL_arg) name = node->arg.arg;
    if (name && !pel_name_is(name, "torch") && !pel_name_is(name, "ops"))
        pel_map_set(s->ctx, &s->bound, PEL_KEY(name), 1);
    pel_each_child(*slot, bind, arg);
}

void pel_judge_script(pel_ctx *ctx, pel_node *tree, pel_str member, uint64_t at, pel_findings *findings) {
    script s = { .ctx = ctx, .member = member, .at = at, .findings = findings };
    pel_each_child(tree, bind, &s);
    pel_each_child(tree, visit, &s);
}
