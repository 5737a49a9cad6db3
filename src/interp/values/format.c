/* Text of values: repr, str, format specs, % and str.format. */
#include "interp/vm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WIDTH 1000000

#define MAX_NESTING 100

/* ---- repr ---- */

static bool put_repr(pel_vm *vm, pel_buf *out, pel_val v, uint32_t depth);

static bool put_items(pel_vm *vm, pel_buf *out, pel_val v, const char *open, const char *close, uint32_t depth) {
    uint32_t n;
    pel_items(v, &n);
    pel_put_c(out, open);
    for (uint32_t i = 0; i < n; i++) {
        if (i) pel_put_c(out, ", ");
        if (!put_repr(vm, out, pel_items(v, &n)[i], depth + 1)) return false;
    }
    if (n == 1 && pel_is_tuple(v)) pel_put_byte(out, ',');
    pel_put_c(out, close);
    return true;
}

static bool put_entries(pel_vm *vm, pel_buf *out, pel_dict *dict, int what, uint32_t depth) {
    uint32_t at = 0, i = 0;
    for (pel_entry *entry; (entry = pel_dict_next(dict, &at)); i++) {
        pel_entry copy = *entry;
        if (i) pel_put_c(out, ", ");
        if (what == 2) pel_put_c(out, "(");
        if (what != 1 && !put_repr(vm, out, copy.key, depth + 1)) return false;
        if (what == 2) pel_put_c(out, ", ");
        if (what == 3) pel_put_c(out, ": ");
        if (what && !put_repr(vm, out, copy.value, depth + 1)) return false;
        if (what == 2) pel_put_c(out, ")");
    }
    return true;
}

static void put_complex(pel_buf *out, double real, double imag) {
    bool both = real != 0 || signbit(real);
    if (both) pel_put_c(out, "(");
    pel_buf part = pel_buf_in(out->ctx);
    if (both) {
        pel_put_float_repr(&part, real);
        if (pel_str_ends(pel_buf_str(&part), PEL_STR(".0"))) part.len -= 2;
        pel_put(out, pel_buf_str(&part));
        if (!signbit(imag)) pel_put_byte(out, '+');
    }
    part.len = 0;
    pel_put_float_repr(&part, imag);
    if (pel_str_ends(pel_buf_str(&part), PEL_STR(".0"))) part.len -= 2;
    pel_put(out, pel_buf_str(&part));
    pel_put_c(out, both ? "j)" : "j");
}

static void put_type_name(pel_vm *vm, pel_buf *out, const pel_type *type) {
    pel_val module = type->head.attrs ? pel_dict_get_str(type->head.attrs, vm->names.s_module) : NULL;
    if (module && pel_is_str(module) && !pel_text_is(module, "builtins"))
        pel_putf(out, "%.*s.", PEL_FMT(pel_text_of(module)));
    pel_put(out, pel_text_of(type->qualname));
}

static bool put_alias(pel_vm *vm, pel_buf *out, pel_alias *alias, uint32_t depth) {
    if (alias->origin) {
        if (pel_is_type(alias->origin))
            put_type_name(vm, out, pel_as_type(alias->origin));
        else if (!put_repr(vm, out, alias->origin, depth + 1))
            return false;
    }
    pel_put_c(out, alias->origin ? "[" : "");
    for (uint32_t i = 0; i < pel_tuple_at(alias->args)->n; i++) {
        pel_val arg = pel_tuple_at(alias->args)->at[i];
        if (i) pel_put_c(out, alias->origin ? ", " : " | ");
        if (arg == &vm->types.none->head)
            pel_put_c(out, "None");
        else if (pel_is_type(arg))
            put_type_name(vm, out, pel_as_type(arg));
        else if (arg == vm->ellipsis)
            pel_put_c(out, "...");
        else if (!put_repr(vm, out, arg, depth + 1))
            return false;
    }
    pel_put_c(out, alias->origin ? "]" : "");
    return true;
}

/* No address is in any text, so that two runs give the same. put_repr limits the depth: a list that contains itself
 * ends there. False: the __repr__ of something inside has raised. */
static bool put_native_repr(pel_vm *vm, pel_buf *out, pel_val v, uint32_t depth) {
    pel_type *type = pel_type_of(vm, v);
    switch (type->layout) {
    case PEL_L_NONE:
        pel_put_c(out, v == vm->none ? "None" : v == vm->ellipsis ? "Ellipsis" : "NotImplemented");
        return true;
    case PEL_L_BOOL: pel_put_c(out, v == vm->true_ ? "True" : "False"); return true;
    case PEL_L_INT: pel_put_int_val(vm, out, v, 10); return true;
    case PEL_L_FLOAT: pel_put_float_repr(out, ((pel_float *)v)->value); return true;
    case PEL_L_COMPLEX: put_complex(out, ((pel_float *)v)->value, ((pel_float *)v)->imag); return true;
    case PEL_L_STR: pel_put_str_repr(out, pel_text_of(v)); return true;
    case PEL_L_BYTES: pel_put_bytes_repr(out, pel_text_of(v)); return true;
    case PEL_L_TUPLE: return put_items(vm, out, v, "(", ")", depth);
    case PEL_L_LIST: return put_items(vm, out, v, "[", "]", depth);
    case PEL_L_DICT:
        pel_put_c(out, "{");
        if (!put_entries(vm, out, pel_dict_at(v), 3, depth)) return false;
        pel_put_c(out, "}");
        return true;
    case PEL_L_SET: {
        bool frozen = pel_is_subtype(type, vm->types.frozenset), empty = !pel_dict_at(v)->live;
        bool named = frozen || !type->is_native;
        if (named || empty) pel_putf(out, "%s(", pel_string_at(type->name)->text);
        if (!empty) {
            pel_put_c(out, "{");
            if (!put_entries(vm, out, pel_dict_at(v), 0, depth)) return false;
            pel_put_c(out, "}");
        }
        if (named || empty) pel_put_c(out, ")");
        return true;
    }
    case PEL_L_VIEW: {
        int what = type == vm->types.dict_values ? 1 : type == vm->types.dict_items ? 2 : 0;
        if (type == vm->types.mappingproxy) what = 3;
        pel_putf(out, what == 3 ? "%s({" : "%s([", pel_string_at(type->name)->text);
        if (!put_entries(vm, out, ((pel_dict_view *)v)->dict, what, depth)) return false;
        pel_put_c(out, what == 3 ? "})" : "])");
        return true;
    }
    case PEL_L_RANGE: {
        pel_vm_range *r = (pel_vm_range *)v;
        if (r->count)
            pel_putf(out, "range(%.*s)", PEL_FMT(pel_symbol_arg(vm, r->count)));
        else if (r->step == 1)
            pel_putf(out, "range(%lld, %lld)", (long long)r->start, (long long)r->stop);
        else
            pel_putf(out, "range(%lld, %lld, %lld)", (long long)r->start, (long long)r->stop, (long long)r->step);
        return true;
    }
    case PEL_L_SLICE: {
        pel_slice *s = (pel_slice *)v;
        pel_put_c(out, "slice(");
        if (!put_repr(vm, out, s->start, depth + 1)) return false;
        pel_put_c(out, ", ");
        if (!put_repr(vm, out, s->stop, depth + 1)) return false;
        pel_put_c(out, ", ");
        if (!put_repr(vm, out, s->step, depth + 1)) return false;
        pel_put_c(out, ")");
        return true;
    }
    case PEL_L_TYPE: {
        pel_put_c(out, "<class '");
        put_type_name(vm, out, pel_as_type(v));
        pel_put_c(out, "'>");
        return true;
    }
    case PEL_L_FUNCTION:
        pel_putf(out, "<function %s>", pel_string_at(((pel_function *)v)->qualname)->text);
        return true;
    case PEL_L_NATIVE:
        if (((pel_native *)v)->is_method)
            pel_putf(out, "<method '%s' of '%s' objects>", ((pel_native *)v)->name,
                     pel_string_at(((pel_native *)v)->owner->name)->text);
        else
            pel_putf(out, "<built-in function %s>", ((pel_native *)v)->name);
        return true;
    case PEL_L_METHOD: {
        pel_put_c(out, "<bound method ");
        pel_val func = ((pel_method *)v)->func;
        if (pel_is(func, PEL_L_FUNCTION)) pel_put(out, pel_text_of(((pel_function *)func)->qualname));
        pel_put_c(out, ">");
        return true;
    }
    case PEL_L_MODULE:
        pel_putf(out, "<module '%s'>",
                 pel_is_str(((pel_module_object *)v)->name) ? pel_string_at(((pel_module_object *)v)->name)->text
                                                            : "?");
        return true;
    case PEL_L_SYMBOL: pel_put(out, ((pel_symbol *)v)->text); return true;
    case PEL_L_ALIAS: return put_alias(vm, out, (pel_alias *)v, depth);
    case PEL_L_GENERATOR:
        pel_putf(out, "<%s object %s>", pel_string_at(type->name)->text,
                 pel_string_at(((pel_generator *)v)->qualname)->text);
        return true;
    default: {
        pel_put_c(out, "<");
        put_type_name(vm, out, type);
        pel_put_c(out, " object>");
        return true;
    }
    }
}

static bool put_repr(pel_vm *vm, pel_buf *out, pel_val v, uint32_t depth) {
    if (depth > MAX_NESTING) {
        pel_put_c(out, "...");
        return true;
    }
    pel_type *type = pel_type_of(vm, v);
    if (++vm->steps > vm->max_steps) pel_over_budget(vm, "steps");
    bool ask = !type->is_native || type->layout == PEL_L_EXCEPTION || type->layout == PEL_L_TYPE;
    pel_val found = ask ? pel_lookup(vm, type, vm->names.s_repr) : NULL;
    bool is_object = found && pel_is(found, PEL_L_NATIVE) && ((pel_native *)found)->owner != vm->types.BaseException;
    if (!found || is_object) return put_native_repr(vm, out, v, depth);
    pel_val text = pel_call_special(vm, v, vm->names.s_repr, NULL, 0);
    if (!text) return false;
    if (pel_is_symbol(text)) {
        pel_put(out, pel_symbol_in_text(vm, text));
        return true;
    }
    if (!pel_is_str(text)) {
        pel_raise(vm, vm->types.TypeError, "__repr__ returned non-string (type %s)", pel_type_text(vm, text));
        return false;
    }
    pel_put(out, pel_text_of(text));
    return true;
}

pel_val pel_repr(pel_vm *vm, pel_val v) {
    pel_buf out = pel_buf_in(vm->ctx);
    return put_repr(vm, &out, v, 0) ? pel_new_text_buf(vm, &out) : NULL;
}

pel_val pel_str_val(pel_vm *vm, pel_val v) {
    pel_type *type = pel_type_of(vm, v);
    if (type == vm->types.str) return v;
    if (type->layout == PEL_L_SYMBOL) return pel_new_text(vm, pel_symbol_in_text(vm, v));
    pel_val found = type->is_native && type->layout != PEL_L_EXCEPTION && type->layout != PEL_L_TYPE
                        ? NULL
                        : pel_lookup(vm, type, vm->names.s_str);
    if (found && !(pel_is(found, PEL_L_NATIVE) && ((pel_native *)found)->owner == vm->types.object)) {
        pel_val text = pel_call_special(vm, v, vm->names.s_str, NULL, 0);
        if (!text || pel_is_str(text)) return text;
        if (pel_is_symbol(text)) return pel_new_text(vm, pel_symbol_in_text(vm, text));
        return pel_raise(vm, vm->types.TypeError, "__str__ returned non-string (type %s)", pel_type_text(vm, text));
    }
    if (type->layout == PEL_L_STR) {
        pel_val repr = pel_lookup(vm, type, vm->names.s_repr);
        (void)repr;
        return pel_new_text_own(vm, pel_text_of(v));
    }
    return pel_repr(vm, v);
}

/* ---- format specs ---- */

typedef struct spec {
    uint32_t fill;
    char align, sign, kind, grouping;
    bool alternate, zero;
    int64_t width, precision;
} spec;

/* A width or a precision. A text of that width is made: there is a limit to it. */
static bool read_digits(pel_vm *vm, pel_str text, size_t *at, int64_t *out) {
    for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; ++*at) {
        *out = *out * 10 + (text.ptr[*at] - '0');
        if (*out > MAX_WIDTH) {
            pel_raise(vm, vm->types.ValueError, "too many decimal digits in format string");
            return false;
        }
    }
    return true;
}

/* The fill may be any character, even one that aligns (`<<5`) or one of several bytes, so the second character is
 * looked at first. */
static bool parse_spec(pel_vm *vm, pel_str text, spec *out) {
    *out = (spec){ .fill = ' ', .precision = -1 };
    size_t at = 0, after = 0;
    if (text.len) {
        uint32_t first = pel_text_next(text, &after);
        if (after < text.len && strchr("<>=^", text.ptr[after])) {
            out->fill = first;
            out->align = text.ptr[after];
            at = after + 1;
        } else if (strchr("<>=^", text.ptr[0])) {
            out->align = text.ptr[0];
            at = 1;
        }
    }
    if (at < text.len && strchr("+- ", text.ptr[at])) out->sign = text.ptr[at++];
    if (at < text.len && text.ptr[at] == 'z') at++;
    if (at < text.len && text.ptr[at] == '#') out->alternate = true, at++;
    if (at < text.len && text.ptr[at] == '0') {
        if (!out->align) out->fill = '0', out->align = '=';
        out->zero = true;
        at++;
    }
    if (!read_digits(vm, text, &at, &out->width)) return false;
    if (at < text.len && (text.ptr[at] == ',' || text.ptr[at] == '_')) out->grouping = text.ptr[at++];
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        out->precision = 0;
        if (!read_digits(vm, text, &at, &out->precision)) return false;
    }
    if (at < text.len) out->kind = text.ptr[at++];
    if (at == text.len) return true;
    pel_raise(vm, vm->types.ValueError, "Invalid format specifier '%.*s'", PEL_FMT(text));
    return false;
}

static uint32_t characters(pel_str s) {
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* sign_len: how much of text is before the padding of '='. */
static void put_padded(pel_buf *out, const spec *s, pel_str text, size_t sign_len, char fallback) {
    int64_t missing = s->width - characters(text);
    char align = s->align ? s->align : fallback;
    int64_t left = missing <= 0 ? 0 : align == '>' || align == '=' ? missing : align == '^' ? missing / 2 : 0;
    int64_t right = missing <= 0 ? 0 : missing - left;
    if (align == '=') pel_put(out, pel_str_cut(text, 0, sign_len));
    for (int64_t i = 0; i < left; i++) pel_put_utf8(out, s->fill);
    pel_put(out, align == '=' ? pel_str_from(text, sign_len) : text);
    for (int64_t i = 0; i < right; i++) pel_put_utf8(out, s->fill);
}

static void put_grouped(pel_buf *out, pel_str digits, char separator, uint32_t every) {
    for (size_t i = 0; i < digits.len; i++) {
        if (i && (digits.len - i) % every == 0) pel_put_byte(out, separator);
        pel_put_byte(out, digits.ptr[i]);
    }
}

static void format_int(pel_vm *vm, pel_buf *out, pel_val v, const spec *s) {
    pel_buf digits = pel_buf_in(vm->ctx), text = pel_buf_in(vm->ctx);
    unsigned base = s->kind == 'b' ? 2 : s->kind == 'o' ? 8 : s->kind == 'x' || s->kind == 'X' ? 16 : 10;
    pel_put_int_val(vm, &digits, v, base);
    pel_str body = pel_buf_str(&digits);
    bool negative = body.len && body.ptr[0] == '-';
    if (negative) body = pel_str_from(body, 1);
    if (negative)
        pel_put_byte(&text, '-');
    else if (s->sign == '+' || s->sign == ' ')
        pel_put_byte(&text, s->sign);
    if (s->alternate && base != 10) pel_putf(&text, "0%c", s->kind);
    size_t sign_len = text.len;
    size_t start = text.len;
    if (s->grouping)
        put_grouped(&text, body, s->grouping, base == 10 ? 3 : 4);
    else
        pel_put(&text, body);
    if (s->kind == 'X')
        for (size_t i = start; i < text.len; i++)
            if (text.at[i] >= 'a' && text.at[i] <= 'f') text.at[i] = (char)(text.at[i] - 32);
    put_padded(out, s, pel_buf_str(&text), sign_len, '>');
}

/* The room is for 200 digits before the point and 300 after it, hence the limits on both. snprintf gets the letter of
 * the spec as it is: callers have refused those that are not for floats. */
static void format_float(pel_vm *vm, pel_buf *out, double d, const spec *s) {
    char room[512];
    char kind = s->kind ? s->kind : (s->precision >= 0 ? 'g' : 'r');
    int precision = s->precision >= 0 ? (int)(s->precision > 300 ? 300 : s->precision) : 6;
    pel_buf text = pel_buf_in(vm->ctx);
    double size = fabs(d);
    if (signbit(d) && !isnan(d))
        pel_put_byte(&text, '-');
    else if (s->sign == '+' || s->sign == ' ')
        pel_put_byte(&text, s->sign);
    size_t sign_len = text.len;
    if (!isfinite(d)) {
        pel_put_c(&text, isnan(d) ? "nan" : "inf");
    } else if (kind == 'r' || (kind == 'n' && s->precision < 0)) {
        pel_put_float_repr(&text, size);
    } else {
        if (kind == '%') size *= 100;
        char format[] = { '%', '.', '*', kind == '%' || kind == 'F' ? 'f' : kind == 'n' ? 'g' : kind, 0 };
        if (kind == 'g' || kind == 'n' || kind == 'G') {
            if (precision == 0) precision = 1;
        }
        if (size > 1e200 && (kind == 'f' || kind == 'F' || kind == '%'))
            snprintf(room, sizeof room, "%g", size);
        else
            snprintf(room, sizeof room, format, precision, size);
        pel_str digits = pel_str_of(room);
        if (s->grouping) {
            size_t whole = 0;
            while (whole < digits.len && digits.ptr[whole] >= '0' && digits.ptr[whole] <= '9') whole++;
            put_grouped(&text, pel_str_cut(digits, 0, whole), s->grouping, 3);
            pel_put(&text, pel_str_from(digits, whole));
        } else {
            pel_put(&text, digits);
        }
        if (!s->kind && s->precision >= 0 && !strpbrk(room, ".en")) pel_put_c(&text, ".0");
        if (kind == '%') pel_put_byte(&text, '%');
    }
    put_padded(out, s, pel_buf_str(&text), sign_len, '>');
}

static pel_str cut_chars(pel_str text, int64_t n) {
    size_t at = 0;
    while (n > 0 && at < text.len) {
        at++;
        while (at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80) at++;
        n--;
    }
    return pel_str_cut(text, 0, at);
}

/* A symbol ignores its spec: the width of what nobody knows can't be known. A subclass of int
 * with `s` is written as text. */
pel_val pel_format_val(pel_vm *vm, pel_val v, pel_str text) {
    pel_type *type = pel_type_of(vm, v);
    pel_val found = type->is_native ? NULL : pel_lookup(vm, type, vm->names.s_format);
    if (found && !pel_is(found, PEL_L_NATIVE)) {
        pel_val arg = pel_new_text(vm, text);
        pel_val made = pel_call_special(vm, v, vm->names.s_format, &arg, 1);
        if (made && !pel_is_str(made)) return pel_raise(vm, vm->types.TypeError, "__format__ must return a str");
        return made;
    }
    if (!text.len) return pel_str_val(vm, v);
    if (pel_is_symbol(v)) return pel_new_text(vm, pel_symbol_in_text(vm, v));
    spec s;
    if (!parse_spec(vm, text, &s)) return NULL;
    const char *known = pel_is_float(v)   ? "eEfFgGn%"
                        : !pel_is_int(v)  ? NULL
                        : type->is_native ? "bcdoxXneEfFgG%"
                                          : "bcdoxXneEfFgG%s";
    if (s.kind && known && !strchr(known, s.kind))
        return pel_raise(vm, vm->types.ValueError, "Unknown format code '%c' for object of type '%s'", s.kind,
                         pel_type_text(vm, v));
    pel_buf out = pel_buf_in(vm->ctx);
    bool as_float = s.kind && strchr("eEfFgG%", s.kind);
    if (pel_is_int(v) && as_float) {
        format_float(vm, &out, pel_int_to_double(v), &s);
    } else if (pel_is_int(v) && s.kind != 's') {
        if (s.kind == 'c') {
            int64_t point;
            if (!pel_to_i64(v, &point) || point < 0 || point > 0x10FFFF)
                return pel_raise(vm, vm->types.OverflowError, "%%c arg not in range(0x110000)");
            pel_buf one = pel_buf_in(vm->ctx);
            pel_put_utf8(&one, (uint32_t)point);
            put_padded(&out, &s, pel_buf_str(&one), 0, '<');
        } else {
            format_int(vm, &out, v, &s);
        }
    } else if (pel_is_float(v)) {
        format_float(vm, &out, ((pel_float *)v)->value, &s);
    } else if (pel_is_str(v) || (!type->is_native && pel_is_int(v))) {
        pel_val as_text = pel_is_str(v) ? v : pel_str_val(vm, v);
        if (!as_text) return NULL;
        if (s.kind && s.kind != 's')
            return pel_raise(vm, vm->types.ValueError, "Unknown format code '%c' for object of type 'str'", s.kind);
        if (s.grouping || s.sign)
            return pel_raise(vm, vm->types.ValueError, "Cannot specify '%c' with 's'",
                             s.grouping ? s.grouping : s.sign);
        pel_str body = pel_text_of(as_text);
        if (s.precision >= 0) body = cut_chars(body, s.precision);
        put_padded(&out, &s, body, 0, '<');
    } else {
        return pel_raise(vm, vm->types.TypeError, "unsupported format string passed to %s.__format__",
                         pel_type_text(vm, v));
    }
    return pel_new_text_buf(vm, &out);
}

/* ---- % ---- */

/* A named key sets n to 0, so that no positional value counts as left over. Where a number is due, a symbol goes in
 * with its marks and without padding: nobody knows how wide its digits are. Widths have a limit because a hostile
 * source may choose them. */
pel_val pel_percent(pel_vm *vm, pel_val format, pel_val args) {
    pel_str text = pel_text_of(format);
    pel_buf out = pel_buf_in(vm->ctx);
    uint32_t used = 0, n = pel_is_tuple(args) ? pel_tuple_at(args)->n : 1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            pel_put_byte(&out, text.ptr[i]);
            continue;
        }
        i++;
        pel_val value = NULL;
        if (i < text.len && text.ptr[i] == '%') {
            pel_put_byte(&out, '%');
            continue;
        }
        if (i < text.len && text.ptr[i] == '(') {
            size_t end = i;
            while (end < text.len && text.ptr[end] != ')') end++;
            value = pel_getitem(vm, args, pel_new_text(vm, pel_str_cut(text, i + 1, end)));
            if (!value) return NULL;
            i = end + 1;
            n = 0;
        }
        spec s = { .fill = ' ', .precision = -1 };
        for (; i < text.len && strchr("-+ #0", text.ptr[i]); i++) {
            if (text.ptr[i] == '-') s.align = '<';
            if (text.ptr[i] == '+' || text.ptr[i] == ' ') s.sign = text.ptr[i];
            if (text.ptr[i] == '#') s.alternate = true;
            if (text.ptr[i] == '0' && !s.align) s.fill = '0', s.align = '=';
        }
        for (int part = 0; part < 2; part++) {
            int64_t *field = part ? &s.precision : &s.width;
            if (part) {
                if (i >= text.len || text.ptr[i] != '.') break;
                i++;
                *field = 0;
            }
            if (i < text.len && text.ptr[i] == '*') {
                if (used >= n || !pel_index(vm, pel_is_tuple(args) ? pel_tuple_at(args)->at[used] : args, field))
                    return NULL;
                if (*field > 100000) return pel_raise(vm, vm->types.ValueError, "width or precision is too big");
                used++;
                i++;
            }
            while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && *field < 100000)
                *field = *field * 10 + (text.ptr[i++] - '0');
        }
        while (i < text.len && strchr("hlL", text.ptr[i])) i++;
        if (i >= text.len) return pel_raise(vm, vm->types.ValueError, "incomplete format");
        if (!value) {
            if (used >= n) return pel_raise(vm, vm->types.TypeError, "not enough arguments for format string");
            value = pel_is_tuple(args) ? pel_tuple_at(args)->at[used] : args;
            used++;
        }
        char kind = text.ptr[i];
        if (!s.align) s.align = '>';
        if (kind == 's' || kind == 'r' || kind == 'a') {
            pel_val as_text = kind == 's' ? pel_str_val(vm, value) : pel_repr(vm, value);
            if (!as_text) return NULL;
            pel_str body = pel_text_of(as_text);
            if (s.precision >= 0) body = cut_chars(body, s.precision);
            if (s.align == '=') s.align = '>', s.fill = ' ';
            put_padded(&out, &s, body, 0, '>');
        } else if (pel_is_symbol(value)) {
            pel_put(&out, pel_symbol_in_text(vm, value));
        } else if (strchr("diuxXo", kind)) {
            if (pel_is_float(value)) value = pel_int_from_double(vm, ((pel_float *)value)->value);
            if (!value) return NULL;
            if (!pel_is_int(value))
                return pel_raise(vm, vm->types.TypeError, "%%%c format: a real number is required, not %s", kind,
                                 pel_type_text(vm, value));
            s.kind = strchr("diu", kind) ? 'd' : kind;
            format_int(vm, &out, value, &s);
        } else if (strchr("eEfFgG", kind)) {
            double d;
            if (!pel_to_double(vm, value, &d)) return NULL;
            s.kind = kind;
            format_float(vm, &out, d, &s);
        } else if (kind == 'c') {
            pel_val as_text = pel_is_str(value) ? value : pel_format_val(vm, value, PEL_STR("c"));
            if (!as_text) return NULL;
            put_padded(&out, &s, pel_text_of(as_text), 0, '>');
        } else {
            return pel_raise(vm, vm->types.ValueError, "unsupported format character '%c'", kind);
        }
    }
    if (pel_is_tuple(args) && used < n)
        return pel_raise(vm, vm->types.TypeError, "not all arguments converted during string formatting");
    return pel_new_text_buf(vm, &out);
}

/* ---- str.format ---- */

typedef struct formatter {
    pel_val *args;
    uint32_t n, next;
    const pel_kw *kw;
    pel_val mapping;
} formatter;

/* The grammar is CPython's: digits in [...] are an int index, all else there is a str key, quotes included. Mixing "{}"
 * with "{0}" is an error in CPython and passes here; only empty names move the counter. */
static pel_val field_value(pel_vm *vm, formatter *f, pel_str name) {
    size_t end = 0;
    while (end < name.len && name.ptr[end] != '.' && name.ptr[end] != '[') end++;
    pel_str first = pel_str_cut(name, 0, end);
    pel_val v = NULL;
    bool is_number = first.len > 0;
    for (size_t i = 0; i < first.len; i++) is_number &= first.ptr[i] >= '0' && first.ptr[i] <= '9';
    if (!first.len || is_number) {
        uint32_t at =
            first.len ? (uint32_t)strtoul(pel_format(vm->ctx, "%.*s", PEL_FMT(first)).ptr, NULL, 10) : f->next++;
        if (at >= f->n)
            return pel_raise(vm, vm->types.IndexError, "Replacement index %u out of range for positional args tuple",
                             at);
        v = f->args[at];
    } else if (f->mapping) {
        v = pel_getitem(vm, f->mapping, pel_interned(vm, first));
        if (!v) return NULL;
    } else {
        for (uint32_t i = 0; f->kw && i < f->kw->n; i++)
            if (pel_str_eq(pel_text_of(f->kw->names[i]), first)) v = f->kw->values[i];
        if (!v) return pel_raise_with(vm, vm->types.KeyError, pel_new_text(vm, first));
    }
    while (end < name.len && v) {
        size_t start = end + 1;
        if (name.ptr[end] == '.') {
            end = start;
            while (end < name.len && name.ptr[end] != '.' && name.ptr[end] != '[') end++;
            v = pel_getattr(vm, v, pel_interned(vm, pel_str_cut(name, start, end)));
        } else {
            end = start;
            while (end < name.len && name.ptr[end] != ']') end++;
            pel_str key = pel_str_cut(name, start, end);
            bool digits = key.len > 0;
            for (size_t i = 0; i < key.len; i++) digits &= key.ptr[i] >= '0' && key.ptr[i] <= '9';
            v = pel_getitem(vm, v, digits ? pel_int_from_text(vm, key, 10) : pel_new_text(vm, key));
            end++;
        }
    }
    return v;
}

/* The value is taken before its spec is formatted: automatic numbers count in that order. Inside a spec `}}` closes two
 * fields and is no escaped brace. A `!` or `:` in [...] ends the name here; CPython reads on to the `]`. */
static bool put_format(pel_vm *vm, pel_buf *out, formatter *f, pel_str text, uint32_t depth) {
    if (depth > 2) {
        pel_raise(vm, vm->types.ValueError, "Max string recursion exceeded");
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c == '{' || c == '}') && i + 1 < text.len && text.ptr[i + 1] == c && !(depth && c == '}')) {
            pel_put_byte(out, c);
            i++;
            continue;
        }
        if (c != '{') {
            if (c == '}') {
                pel_raise(vm, vm->types.ValueError, "Single '}' encountered in format string");
                return false;
            }
            pel_put_byte(out, c);
            continue;
        }
        size_t end = i + 1;
        uint32_t nested = 1;
        for (; end < text.len; end++) {
            if (text.ptr[end] == '{') nested++;
            if (text.ptr[end] == '}' && --nested == 0) break;
        }
        if (end >= text.len) {
            pel_raise(vm, vm->types.ValueError, "expected '}' before end of string");
            return false;
        }
        pel_str field = pel_str_cut(text, i + 1, end);
        size_t at = 0;
        while (at < field.len && field.ptr[at] != '!' && field.ptr[at] != ':')
            at += field.ptr[at] == '[' ? (size_t)1 : 1;
        pel_val v = field_value(vm, f, pel_str_cut(field, 0, at));
        if (!v) return false;
        if (at < field.len && field.ptr[at] == '!') {
            char how = at + 1 < field.len ? field.ptr[at + 1] : 's';
            v = how == 's' ? pel_str_val(vm, v) : pel_repr(vm, v);
            if (!v) return false;
            at += 2;
        }
        pel_buf spec_text = pel_buf_in(vm->ctx);
        if (at < field.len && field.ptr[at] == ':' &&
            !put_format(vm, &spec_text, f, pel_str_from(field, at + 1), depth + 1))
            return false;
        v = pel_format_val(vm, v, pel_buf_str(&spec_text));
        if (!v) return false;
        pel_put(out, pel_text_of(v));
        i = end;
    }
    return true;
}

pel_val pel_str_format(pel_vm *vm, pel_str format, pel_val *args, uint32_t n, const pel_kw *kw, pel_val mapping) {
    formatter f = { args, n, 0, kw, mapping };
    pel_buf out = pel_buf_in(vm->ctx);
    return put_format(vm, &out, &f, format, 0) ? pel_new_text_buf(vm, &out) : NULL;
}
