/* The builtin functions. */
#include "interp/vm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

METHOD(fn_print) {
    pel_val sep = vm->chars[' '], end = vm->chars['\n'];
    for (uint32_t i = 0; kw && i < kw->n; i++) {
        if (pel_text_is(kw->names[i], "sep") && pel_is_str(kw->values[i])) sep = kw->values[i];
        if (pel_text_is(kw->names[i], "end") && pel_is_str(kw->values[i])) end = kw->values[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i && vm->out) pel_put(vm->out, pel_text_of(sep));
        pel_val text = pel_str_val(vm, args[i]);
        if (!text) return NULL;
        if (vm->out) pel_put(vm->out, pel_text_of(text));
    }
    if (vm->out) pel_put(vm->out, pel_text_of(end));
    return vm->none;
}

METHOD(fn_len) {
    IGNORE();
    if (pel_is_symbol(args[0])) {
        pel_symbol *s = (pel_symbol *)args[0];
        return pel_symbol_of(vm, pel_format(vm->ctx, "len(%.*s)", PEL_FMT(s->text)), s->why);
    }
    if (!pel_is_small(args[0]) && !args[0]->type->is_native) {
        pel_val special = pel_lookup(vm, args[0]->type, vm->names.s_len);
        if (special && pel_is(special, PEL_L_FUNCTION)) {
            pel_val made = pel_call1(vm, special, args[0]);
            if (!made || pel_is_symbol(made) || pel_is_small(made)) return made;
        }
    }
    if (pel_is(args[0], PEL_L_RANGE) && ((pel_vm_range *)args[0])->count) return ((pel_vm_range *)args[0])->count;
    pel_val unknown = pel_unknown_len(vm, args[0]);
    if (unknown) return unknown;
    int64_t len = pel_len(vm, args[0]);
    return len < 0 ? NULL : pel_int_of(vm, len);
}
METHOD(fn_repr) {
    IGNORE();
    return pel_repr(vm, args[0]);
}
METHOD(fn_ascii) {
    IGNORE();
    return pel_repr(vm, args[0]);
}
METHOD(fn_format) {
    IGNORE();
    return pel_format_val(vm, args[0], n > 1 && pel_is_str(args[1]) ? pel_text_of(args[1]) : (pel_str){ "", 0 });
}
METHOD(fn_id) {
    IGNORE();
    return pel_int_of(vm, (int64_t)(PEL_KEY(args[0]) & INT64_MAX));
}
METHOD(fn_hash) {
    IGNORE();
    uint64_t hash;
    return pel_hash_of(vm, args[0], &hash)
               ? pel_int_of(vm, pel_is_small(args[0]) ? pel_small(args[0]) : (int64_t)(hash & (INT64_MAX >> 2)))
               : NULL;
}
METHOD(fn_callable) {
    IGNORE();
    pel_vm_layout layout = pel_type_of(vm, args[0])->layout;
    bool is = layout == PEL_L_FUNCTION || layout == PEL_L_NATIVE || layout == PEL_L_METHOD || layout == PEL_L_TYPE ||
              layout == PEL_L_SYMBOL || pel_special(vm, args[0], vm->names.s_call) != NULL;
    return pel_bool_of(vm, is);
}
METHOD(fn_isinstance) {
    IGNORE();
    int is = pel_isinstance(vm, args[0], args[1]);
    return is < 0 ? NULL : pel_bool_of(vm, is);
}
METHOD(fn_issubclass) {
    IGNORE();
    int is = pel_issubclass(vm, args[0], args[1]);
    return is < 0 ? NULL : pel_bool_of(vm, is);
}

static pel_val attr_name(pel_vm *vm, pel_val name) {
    if (pel_is_str(name)) return pel_intern_val(vm, name);
    return pel_raise(vm, vm->types.TypeError, "attribute name must be string, not '%s'", pel_type_text(vm, name));
}
METHOD(fn_getattr) {
    (void)kw;
    pel_val name = attr_name(vm, args[1]);
    if (!name) return NULL;
    if (n < 3) return pel_getattr(vm, args[0], name);
    bool failed;
    pel_val found = pel_find_attr(vm, args[0], name, &failed);
    return found ? found : failed ? NULL : args[2];
}
METHOD(fn_hasattr) {
    IGNORE();
    pel_val name = attr_name(vm, args[1]);
    bool failed;
    if (!name) return NULL;
    pel_val found = pel_find_attr(vm, args[0], name, &failed);
    return failed ? NULL : pel_bool_of(vm, found != NULL);
}
METHOD(fn_setattr) {
    IGNORE();
    pel_val name = attr_name(vm, args[1]);
    return name && pel_setattr(vm, args[0], name, args[2]) ? vm->none : NULL;
}
METHOD(fn_delattr) {
    IGNORE();
    pel_val name = attr_name(vm, args[1]);
    return name && pel_setattr(vm, args[0], name, NULL) ? vm->none : NULL;
}

static pel_val next_until(pel_vm *vm, pel_iter *iter) {
    pel_val v = pel_call0(vm, iter->a);
    if (!v) return NULL;
    int equal = pel_equal(vm, v, iter->b);
    return equal ? NULL : v;
}
METHOD(fn_iter) {
    (void)kw;
    if (n == 1) return pel_iter_of(vm, args[0]);
    pel_val made = pel_new_iter(vm, vm->types.iter, next_until, args[0], 0);
    ((pel_iter *)made)->b = args[1];
    return made;
}
METHOD(fn_next) {
    (void)kw;
    if (pel_is_symbol(args[0]))
        return pel_symbol_of(vm, pel_format(vm->ctx, "next(%.*s)", PEL_FMT(((pel_symbol *)args[0])->text)),
                             ((pel_symbol *)args[0])->why);
    pel_val v = pel_next_of(vm, args[0]);
    if (v) return vm->repeating.n ? pel_run_loop_takes(vm, args[0], v) : v;
    if (vm->raised) return v;
    return n > 1 ? args[1] : pel_raise_with(vm, vm->types.StopIteration, vm->stop_value);
}

static pel_val any_or_all(pel_vm *vm, pel_val iterable, bool stop_at) {
    pel_val iter = pel_iter_of(vm, iterable);
    if (!iter) return NULL;
    for (pel_val v; (v = pel_next_of(vm, iter));) {
        int truth = pel_truth(vm, v);
        if (truth < 0) return NULL;
        if ((truth != 0) == stop_at) return pel_bool_of(vm, stop_at);
    }
    return vm->raised ? NULL : pel_bool_of(vm, !stop_at);
}
METHOD(fn_any) {
    IGNORE();
    return any_or_all(vm, args[0], true);
}
METHOD(fn_all) {
    IGNORE();
    return any_or_all(vm, args[0], false);
}

METHOD(fn_sum) {
    pel_val p[2];
    if (!pel_args(vm, "sum", "iterable,start", args, n, kw, 1, p)) return NULL;
    pel_val total = p[1] ? p[1] : pel_from_small(0), iter = pel_iter_of(vm, p[0]);
    if (!iter) return NULL;
    uint32_t outside = vm->repeating.n;
    for (pel_val v; (v = pel_next_of(vm, iter));) {
        for (uint32_t i = outside; i < vm->repeating.n; i++) { /* so many of them */
            pel_str text = pel_format(vm->ctx, "sum(%.*s for %.*s)", PEL_FMT(pel_symbol_arg(vm, v)),
                                      PEL_FMT(pel_symbol_arg(vm, vm->repeating.at[i].count)));
            v = pel_symbol_of(vm, text, PEL_WHY_LOOP);
        }
        total = pel_binary(vm, PEL_Add, total, v);
        if (!total) return NULL;
    }
    return vm->raised ? NULL : total;
}

/* One unknown item makes the result unknown: `max(a, 3)` is then a symbol with that text. With a key, only what the key
 * gives is compared; an unknown answer is then settled like any condition. */
static pel_val extreme(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw, bool largest) {
    pel_val key = NULL, fallback = NULL, *items = args;
    const char *name = largest ? "max" : "min";
    for (uint32_t i = 0; kw && i < kw->n; i++) {
        if (pel_text_is(kw->names[i], "key"))
            key = kw->values[i] == vm->none ? NULL : kw->values[i];
        else if (pel_text_is(kw->names[i], "default"))
            fallback = kw->values[i];
    }
    uint32_t count = n;
    if (n == 1 && !pel_collect(vm, args[0], &items, &count)) return NULL;
    if (!count)
        return fallback ? fallback : pel_raise(vm, vm->types.ValueError, "%s() iterable argument is empty", name);
    for (uint32_t i = 0; i < count; i++)
        if (pel_is_symbol(items[i]) && !key && count > 1) {
            pel_buf text = pel_buf_in(vm->ctx);
            pel_putf(&text, "%s(", name);
            for (uint32_t k = 0; k < count; k++)
                pel_putf(&text, "%s%.*s", k ? ", " : "", PEL_FMT(pel_symbol_arg(vm, items[k])));
            pel_put_c(&text, ")");
            return pel_symbol_of(vm, pel_buf_str(&text), ((pel_symbol *)items[i])->why);
        }
    pel_val best = NULL, best_key = NULL;
    for (uint32_t i = 0; i < count; i++) {
        pel_val by = key ? pel_call1(vm, key, items[i]) : items[i];
        if (!by) return NULL;
        int better = best ? (largest ? pel_less(vm, best_key, by) : pel_less(vm, by, best_key)) : 1;
        if (better < 0) return NULL;
        if (better) best = items[i], best_key = by;
    }
    return best;
}
METHOD(fn_max) { return extreme(vm, args, n, kw, true); }
METHOD(fn_min) { return extreme(vm, args, n, kw, false); }

METHOD(fn_abs) {
    IGNORE();
    pel_val v = args[0];
    if (!pel_is_small(v) && !v->type->is_native && pel_lookup(vm, v->type, vm->names.s_abs) &&
        !pel_is(pel_lookup(vm, v->type, vm->names.s_abs), PEL_L_NATIVE))
        return pel_call_special(vm, v, vm->names.s_abs, NULL, 0);
    if (pel_is_int(v)) return pel_int_sign(v) < 0 ? pel_int_negate(vm, pel_int_plain(vm, v)) : pel_int_plain(vm, v);
    if (pel_is_float(v)) return pel_float_of(vm, fabs(((pel_float *)v)->value));
    if (pel_is(v, PEL_L_COMPLEX)) return pel_float_of(vm, hypot(((pel_float *)v)->value, ((pel_float *)v)->imag));
    if (pel_is_symbol(v))
        return pel_symbol_of(vm, pel_format(vm->ctx, "abs(%.*s)", PEL_FMT(((pel_symbol *)v)->text)),
                             ((pel_symbol *)v)->why);
    return pel_raise(vm, vm->types.TypeError, "bad operand type for abs(): '%s'", pel_type_text(vm, v));
}

/* As CPython: correctly rounded through the decimal text. */
static double round_to(double d, int64_t digits) {
    char text[400];
    if (digits > 300 || !isfinite(d)) return d;
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, d);
        return strtod(text, NULL);
    }
    if (digits < -300) return 0;
    double scale = pow(10, (double)-digits);
    return rint(d / scale) * scale;
}
METHOD(fn_round) {
    pel_val p[2];
    if (!pel_args(vm, "round", "number,ndigits", args, n, kw, 1, p)) return NULL;
    pel_val v = p[0];
    bool whole = !p[1] || p[1] == vm->none;
    if (pel_is_symbol(v))
        return pel_symbol_of(vm, pel_format(vm->ctx, "round(%.*s)", PEL_FMT(((pel_symbol *)v)->text)),
                             ((pel_symbol *)v)->why);
    if (pel_is_float(v)) {
        double d = ((pel_float *)v)->value;
        if (whole) return pel_int_from_double(vm, rint(d));
        int64_t digits;
        return pel_index(vm, p[1], &digits) ? pel_float_of(vm, round_to(d, digits)) : NULL;
    }
    if (pel_is_int(v)) {
        int64_t digits = 0;
        if (!whole && !pel_index(vm, p[1], &digits)) return NULL;
        if (digits >= 0) return pel_int_plain(vm, v);
        return pel_int_from_double(vm, round_to(pel_int_to_double(v), digits));
    }
    pel_val made = pel_call_special(vm, v, vm->names.s_round, whole ? NULL : &p[1], whole ? 0 : 1);
    if (!made && !vm->raised)
        pel_raise(vm, vm->types.TypeError, "type %s doesn't define __round__ method", pel_type_text(vm, v));
    return made;
}
METHOD(fn_divmod) {
    IGNORE();
    pel_val q = pel_binary(vm, PEL_FloorDiv, args[0], args[1]);
    pel_val r = q ? pel_binary(vm, PEL_Mod, args[0], args[1]) : NULL;
    return r ? pel_tuple2(vm, q, r) : NULL;
}
METHOD(fn_pow) {
    (void)kw;
    if (n < 3 || args[2] == vm->none) return pel_binary(vm, PEL_Pow, args[0], args[1]);
    int64_t exponent;
    if (!pel_index(vm, args[1], &exponent) || !pel_is_int(args[0]) || !pel_is_int(args[2])) return NULL;
    pel_val result = pel_from_small(1), base = args[0];
    for (; exponent > 0 && result && base; exponent >>= 1) {
        if (exponent & 1) result = pel_binary(vm, PEL_Mod, pel_binary(vm, PEL_Mult, result, base), args[2]);
        base = pel_binary(vm, PEL_Mod, pel_binary(vm, PEL_Mult, base, base), args[2]);
    }
    return result;
}

static pel_val in_base(pel_vm *vm, pel_val v, unsigned base, const char *prefix) {
    int64_t ignored;
    if (!pel_is_int(v) && !pel_index(vm, v, &ignored)) return NULL;
    pel_val whole = pel_is_int(v) ? v : pel_int_of(vm, ignored);
    pel_buf digits = pel_buf_in(vm->ctx);
    pel_put_int_val(vm, &digits, whole, base);
    pel_str text = pel_buf_str(&digits);
    bool negative = text.ptr[0] == '-';
    return pel_new_text(
        vm, pel_format(vm->ctx, "%s%s%.*s", negative ? "-" : "", prefix, PEL_FMT(pel_str_from(text, negative))));
}
METHOD(fn_hex) {
    IGNORE();
    return in_base(vm, args[0], 16, "0x");
}
METHOD(fn_oct) {
    IGNORE();
    return in_base(vm, args[0], 8, "0o");
}
METHOD(fn_bin) {
    IGNORE();
    return in_base(vm, args[0], 2, "0b");
}
METHOD(fn_ord) {
    IGNORE();
    if ((!pel_is_str(args[0]) && !pel_is(args[0], PEL_L_BYTES)) || pel_string_at(args[0])->chars != 1)
        return pel_raise(vm, vm->types.TypeError, "ord() expected a character");
    size_t at = 0;
    return pel_int_of(vm, pel_text_next(pel_text_of(args[0]), &at));
}
METHOD(fn_chr) {
    IGNORE();
    int64_t point;
    if (!pel_index(vm, args[0], &point)) return NULL;
    if (point < 0 || point > 0x10FFFF) return pel_raise(vm, vm->types.ValueError, "chr() arg not in range(0x110000)");
    pel_buf out = pel_buf_in(vm->ctx);
    pel_put_utf8(&out, (uint32_t)point);
    return pel_new_text(vm, pel_buf_str(&out));
}

/* ---- namespaces ---- */

static pel_dict *frame_locals(pel_vm *vm, pel_frame *frame) {
    if (frame->names) return frame->names;
    pel_dict *dict = pel_dict_at(pel_new_dict(vm));
    const pel_codeobj *code = frame->code;
    for (uint32_t i = 0; i < code->n_locals; i++)
        if (frame->slots[i] && pel_text_of(code->locals[i]).ptr[0] != '.')
            pel_dict_set_str(vm, dict, code->locals[i], frame->slots[i]);
    for (uint32_t i = 0; i < code->n_cells + code->n_free; i++) {
        pel_val cell = frame->slots[code->n_locals + i];
        if (cell && ((pel_cell *)cell)->value && code->cells[i] != vm->names.s_class)
            pel_dict_set_str(vm, dict, code->cells[i], ((pel_cell *)cell)->value);
    }
    return dict;
}
METHOD(fn_globals) {
    IGNORE();
    (void)args;
    return &vm->frame->globals->head;
}
METHOD(fn_locals) {
    IGNORE();
    (void)args;
    return &frame_locals(vm, vm->frame)->head;
}
METHOD(fn_vars) {
    (void)kw;
    if (!n) return &frame_locals(vm, vm->frame)->head;
    return pel_getattr(vm, args[0], vm->names.s_dict);
}
METHOD(fn_dir) {
    (void)kw;
    pel_val list;
    if (!n) {
        list = pel_list_of(vm, NULL, 0);
        if (!pel_extend(vm, list, &frame_locals(vm, vm->frame)->head)) return NULL;
    } else {
        pel_val found = pel_is_type(args[0]) ? pel_lookup(vm, args[0]->type, vm->names.s_dir)
                                             : pel_special(vm, args[0], vm->names.s_dir);
        if (pel_is(args[0], PEL_L_MODULE) && args[0]->attrs) {
            pel_val own = pel_dict_get_str(args[0]->attrs, vm->names.s_dir);
            list = own ? pel_call0(vm, own) : pel_call1(vm, found, args[0]);
        } else {
            list = pel_call1(vm, found, args[0]);
        }
    }
    if (!list) return NULL;
    return pel_call1(vm, pel_dict_get_c(vm, vm->builtins, "sorted"), list);
}

pel_val pel_frame_picture(pel_vm *vm, uint32_t depth) {
    pel_frame *frame = vm->frame;
    while (frame && depth--) frame = frame->back;
    if (!frame) return pel_raise(vm, vm->types.ValueError, "call stack is not deep enough");
    pel_val outer = NULL, innermost = NULL;
    pel_frame_object *last = NULL;
    for (int i = 0; frame && i < 50; frame = frame->back, i++) {
        pel_frame_object *made = pel_make_object(vm, vm->types.frame, sizeof *made);
        made->code = frame->code;
        made->globals = frame->globals;
        made->locals = frame_locals(vm, frame);
        made->line = pel_frame_line(frame);
        if (last) last->back = &made->head;
        last = made;
        if (!innermost) innermost = &made->head;
    }
    (void)outer;
    return innermost;
}

/* ---- code from text ---- */

METHOD(fn_compile) {
    pel_val p[6];
    if (!pel_args(vm, "compile", "source,filename,mode,flags,dont_inherit,optimize", args, n, kw, 3, p)) return NULL;
    if (pel_is(p[0], PEL_L_CODE)) return p[0];
    if (!pel_is_str(p[0])) return pel_raise(vm, vm->types.TypeError, "compile() arg 1 must be a string");
    pel_str name = pel_is_str(p[1]) ? pel_text_of(p[1]) : PEL_STR("<string>");
    pel_codeobj *code = pel_compile_source(vm, name, pel_text_of(p[0]), false, pel_text_is(p[2], "eval"));
    return code ? &code->head : NULL;
}
static pel_val run_text(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw, bool is_eval) {
    pel_val p[3];
    if (!pel_args(vm, is_eval ? "eval" : "exec", "source,globals,locals", args, n, kw, 1, p)) return NULL;
    pel_codeobj *code;
    if (pel_is(p[0], PEL_L_CODE)) {
        code = (pel_codeobj *)p[0];
    } else if (pel_is_str(p[0])) {
        pel_str text = pel_text_of(p[0]);
        while (is_eval && text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text = pel_str_from(text, 1);
        code = pel_compile_source(vm, PEL_STR("<string>"), text, false, is_eval);
    } else {
        return pel_raise(vm, vm->types.TypeError, "%s() arg 1 must be a string or code object",
                         is_eval ? "eval" : "exec");
    }
    if (!code) return NULL;
    pel_dict *globals = p[1] && pel_is_dict(p[1]) ? pel_dict_at(p[1]) : vm->frame->globals;
    pel_dict *names = p[2] && pel_is_dict(p[2])   ? pel_dict_at(p[2])
                      : p[1] && pel_is_dict(p[1]) ? globals
                                                  : frame_locals(vm, vm->frame);
    pel_val result = pel_run_code(vm, code, globals, names, names->head.type == vm->types.dict ? NULL : &names->head);
    return !result ? NULL : is_eval ? result : vm->none;
}
METHOD(fn_exec) { return run_text(vm, args, n, kw, false); }
METHOD(fn_eval) { return run_text(vm, args, n, kw, true); }

METHOD(fn_import) {
    pel_val p[5];
    if (!pel_args(vm, "__import__", "name,globals,locals,fromlist,level", args, n, kw, 1, p)) return NULL;
    if (!pel_is_str(p[0])) return pel_raise(vm, vm->types.TypeError, "module name must be a string");
    int64_t level = 0;
    if (p[4] && !pel_index(vm, p[4], &level)) return NULL;
    pel_str name = pel_text_of(p[0]);
    if (level > 0) {
        pel_dict *globals = p[1] && pel_is_dict(p[1]) ? pel_dict_at(p[1]) : vm->frame->globals;
        return pel_import_relative(vm, globals, name, (uint32_t)level);
    }
    pel_val module = pel_import(vm, name);
    if (!module) return NULL;
    int whole = p[3] ? pel_truth(vm, p[3]) : 0;
    const char *dot = memchr(name.ptr, '.', name.len);
    if (whole || !dot) return module;
    pel_val first = pel_dict_get_str(vm->modules, pel_interned(vm, pel_str_cut(name, 0, (size_t)(dot - name.ptr))));
    return first ? first : module;
}

METHOD(fn_open) {
    (void)kw;
    pel_val io = pel_import(vm, PEL_STR("io"));
    pel_val open = io ? pel_getattr_c(vm, io, "open") : NULL;
    return open ? pel_call(vm, open, args, n, kw) : NULL;
}
METHOD(fn_input) {
    IGNORE();
    (void)args;
    return pel_symbol_of(vm, PEL_STR("input()"), PEL_STR("what is typed is not known"));
}

/* Not all builtins are in this table: pel_vm_new adds the types, and `sorted` is with the sequences. A row without
 * keywords refuses them before its function runs. */
void pel_init_functions(pel_vm *vm) {
    static const pel_native_row rows[] = {
        { "print", fn_print, 0, -1, true },
        { "len", fn_len, 1, 1 },
        { "repr", fn_repr, 1, 1 },
        { "ascii", fn_ascii, 1, 1 },
        { "format", fn_format, 1, 2 },
        { "id", fn_id, 1, 1 },
        { "hash", fn_hash, 1, 1 },
        { "callable", fn_callable, 1, 1 },
        { "isinstance", fn_isinstance, 2, 2 },
        { "issubclass", fn_issubclass, 2, 2 },
        { "getattr", fn_getattr, 2, 3 },
        { "hasattr", fn_hasattr, 2, 2 },
        { "setattr", fn_setattr, 3, 3 },
        { "delattr", fn_delattr, 2, 2 },
        { "iter", fn_iter, 1, 2 },
        { "next", fn_next, 1, 2 },
        { "any", fn_any, 1, 1 },
        { "all", fn_all, 1, 1 },
        { "sum", fn_sum, 1, 2, true },
        { "max", fn_max, 1, -1, true },
        { "min", fn_min, 1, -1, true },
        { "abs", fn_abs, 1, 1 },
        { "round", fn_round, 1, 2, true },
        { "divmod", fn_divmod, 2, 2 },
        { "pow", fn_pow, 2, 3, true },
        { "hex", fn_hex, 1, 1 },
        { "oct", fn_oct, 1, 1 },
        { "bin", fn_bin, 1, 1 },
        { "ord", fn_ord, 1, 1 },
        { "chr", fn_chr, 1, 1 },
        { "globals", fn_globals, 0, 0 },
        { "locals", fn_locals, 0, 0 },
        { "vars", fn_vars, 0, 1 },
        { "dir", fn_dir, 0, 1 },
        { "compile", fn_compile, 3, 6, true },
        { "exec", fn_exec, 1, 3, true },
        { "eval", fn_eval, 1, 3, true },
        { "__import__", fn_import, 1, 5, true },
        { "open", fn_open, 1, -1, true },
        { "input", fn_input, 0, 1 },
        { NULL },
    };
    pel_add_functions(vm, vm->builtins, rows);
}
