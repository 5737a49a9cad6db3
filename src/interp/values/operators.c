/* Operators, subscripts, iteration, truth. */
#include "interp/vm.h"

#include <math.h>

/* ---- truth and length ---- */

/* The truth of a symbol is a question: a plan answers it, and another run tries the other answer. C code must ask only
 * where the program would, or the runs multiply for nothing. */
int pel_truth(pel_vm *vm, pel_val v) {
    if (v == vm->true_) return 1;
    if (v == vm->false_ || v == vm->none) return 0;
    if (pel_is_small(v)) return pel_small(v) != 0;
    pel_type *type = v->type;
    if (type->is_native) {
        switch (type->layout) {
        case PEL_L_STR:
        case PEL_L_BYTES: return pel_string_at(v)->len != 0;
        case PEL_L_TUPLE: return pel_tuple_at(v)->n != 0;
        case PEL_L_LIST: return pel_list_at(v)->n != 0;
        case PEL_L_DICT:
        case PEL_L_SET: return pel_dict_at(v)->live != 0;
        case PEL_L_VIEW: return ((pel_dict_view *)v)->dict->live != 0;
        case PEL_L_INT:
        case PEL_L_BOOL: return pel_int_sign(v) != 0;
        case PEL_L_FLOAT: return ((pel_float *)v)->value != 0;
        case PEL_L_COMPLEX: return ((pel_float *)v)->value != 0 || ((pel_float *)v)->imag != 0;
        case PEL_L_SYMBOL: return pel_symbol_truth(vm, v);
        case PEL_L_RANGE: {
            int64_t len = pel_len(vm, v);
            return len < 0 ? -1 : len != 0;
        }
        case PEL_L_NONE: return v != vm->none;
        default: return 1;
        }
    }
    if (pel_lookup(vm, type, vm->names.s_bool)) {
        pel_val result = pel_call_special(vm, v, vm->names.s_bool, NULL, 0);
        if (!result) return -1;
        if (result == vm->true_ || result == vm->false_) return result == vm->true_;
        if (pel_is_symbol(result)) return pel_symbol_truth(vm, result);
        pel_raise(vm, vm->types.TypeError, "__bool__ should return bool, returned %s", pel_type_text(vm, result));
        return -1;
    }
    if (pel_lookup(vm, type, vm->names.s_len)) {
        int64_t len = pel_len(vm, v);
        return len < 0 ? -1 : len != 0;
    }
    if (type->layout == PEL_L_INT) return pel_int_sign(v) != 0;
    if (type->layout == PEL_L_FLOAT) return ((pel_float *)v)->value != 0;
    return 1;
}

static pel_val symbol_fails(pel_vm *vm, pel_val v, const char *what) {
    pel_symbol *symbol = (pel_symbol *)v;
    pel_str text = pel_format(vm->ctx, "%s of %.*s", what, PEL_FMT(symbol->text));
    pel_note_unknown(vm, text, symbol->why.len ? symbol->why : PEL_STR("its value is not known"));
    return pel_raise(vm, vm->types.TypeError, "%.*s is not known", PEL_FMT(text));
}

/* An int64_t has no room for an unknown length, so a symbol raises and leaves a note; len() of the program takes
 * symbols before it comes here (fn_len). A list that a loop of unknown count filled gives the items it holds, not the
 * count. */
int64_t pel_len(pel_vm *vm, pel_val v) {
    pel_type *type = pel_type_of(vm, v);
    if (type->is_native || !pel_lookup(vm, type, vm->names.s_len) ||
        pel_is(pel_lookup(vm, type, vm->names.s_len), PEL_L_NATIVE)) {
        switch (type->layout) {
        case PEL_L_STR:
        case PEL_L_BYTES: return pel_string_at(v)->chars;
        case PEL_L_TUPLE: return pel_tuple_at(v)->n;
        case PEL_L_LIST: return pel_list_at(v)->n;
        case PEL_L_DICT:
        case PEL_L_SET: return pel_dict_at(v)->live;
        case PEL_L_VIEW: return ((pel_dict_view *)v)->dict->live;
        case PEL_L_RANGE: {
            pel_vm_range *r = (pel_vm_range *)v;
            if (r->count) {
                symbol_fails(vm, r->count, "length");
                return -1;
            }
            if (r->step > 0 ? r->start >= r->stop : r->start <= r->stop) return 0;
            return r->step > 0 ? (r->stop - r->start - 1) / r->step + 1 : (r->start - r->stop - 1) / -r->step + 1;
        }
        case PEL_L_SYMBOL: symbol_fails(vm, v, "length"); return -1;
        default: break;
        }
    }
    pel_val result = pel_call_special(vm, v, vm->names.s_len, NULL, 0);
    if (!result) {
        if (!vm->raised) pel_raise(vm, vm->types.TypeError, "object of type '%s' has no len()", pel_type_text(vm, v));
        return -1;
    }
    if (pel_is_symbol(result)) {
        symbol_fails(vm, result, "length");
        return -1;
    }
    int64_t len;
    if (!pel_index(vm, result, &len)) return -1;
    if (len < 0) {
        pel_raise(vm, vm->types.ValueError, "__len__() should return >= 0");
        return -1;
    }
    return len;
}

bool pel_index(pel_vm *vm, pel_val v, int64_t *out) {
    if (pel_is_small(v)) {
        *out = pel_small(v);
        return true;
    }
    if (pel_is_int(v)) {
        if (pel_to_i64(v, out)) return true;
        pel_raise(vm, vm->types.OverflowError, "cannot fit 'int' into an index-sized integer");
        return false;
    }
    if (pel_is_symbol(v)) {
        symbol_fails(vm, v, "the number");
        return false;
    }
    pel_val result = pel_call_special(vm, v, vm->names.s_index, NULL, 0);
    if (result && pel_is_int(result)) return pel_index(vm, result, out);
    if (result && pel_is_symbol(result)) return pel_index(vm, result, out);
    if (!vm->raised)
        pel_raise(vm, vm->types.TypeError, "'%s' object cannot be interpreted as an integer", pel_type_text(vm, v));
    return false;
}

bool pel_to_double(pel_vm *vm, pel_val v, double *out) {
    if (pel_is_int(v)) {
        *out = pel_int_to_double(v);
        return true;
    }
    if (pel_is_float(v)) {
        *out = ((pel_float *)v)->value;
        return true;
    }
    if (pel_is_symbol(v)) {
        symbol_fails(vm, v, "the number");
        return false;
    }
    pel_val result = pel_call_special(vm, v, vm->names.s_float, NULL, 0);
    if (!result && !vm->raised) result = pel_call_special(vm, v, vm->names.s_index, NULL, 0);
    if (result && (pel_is_float(result) || pel_is_int(result) || pel_is_symbol(result)))
        return pel_to_double(vm, result, out);
    if (!vm->raised) pel_raise(vm, vm->types.TypeError, "must be real number, not %s", pel_type_text(vm, v));
    return false;
}

/* ---- arithmetic ---- */

/* The steps are CPython's, so that the last bit and the sign of a zero agree with it: sizes of layers come from // and
 * %. NULL without an exception means that floats lack the operator. */
static pel_val float_binary(pel_vm *vm, pel_OPERATOR op, double x, double y) {
    switch (op) {
    case PEL_Add: return pel_float_of(vm, x + y);
    case PEL_Sub: return pel_float_of(vm, x - y);
    case PEL_Mult: return pel_float_of(vm, x * y);
    case PEL_Div:
        if (y == 0) return pel_raise(vm, vm->types.ZeroDivisionError, "float division by zero");
        return pel_float_of(vm, x / y);
    case PEL_FloorDiv:
    case PEL_Mod: {
        if (y == 0) return pel_raise(vm, vm->types.ZeroDivisionError, "float floor division by zero");
        double mod = fmod(x, y), quotient = (x - mod) / y;
        if (mod != 0 && (y < 0) != (mod < 0)) {
            mod += y;
            quotient -= 1;
        } else if (mod == 0) {
            mod = copysign(0, y);
        }
        if (op == PEL_Mod) return pel_float_of(vm, mod);
        double whole = floor(quotient);
        if (quotient - whole > 0.5) whole += 1;
        return pel_float_of(vm, quotient != 0 ? whole : copysign(0, x / y));
    }
    case PEL_Pow:
        if (x == 0 && y < 0)
            return pel_raise(vm, vm->types.ZeroDivisionError, "0.0 cannot be raised to a negative power");
        if (x < 0 && y != floor(y) && isfinite(y)) {
            double size = pow(-x, y), angle = 3.14159265358979323846 * y;
            return pel_complex_of(vm, size * cos(angle), size * sin(angle));
        }
        return pel_float_of(vm, pow(x, y));
    default: return NULL;
    }
}

/* CPython scales a division first and survives huge parts; here their squares overflow. NULL without an exception means
 * that complex numbers lack the operator (// and %). */
static pel_val complex_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    double ar, ai = 0, br, bi = 0;
    if (pel_is(a, PEL_L_COMPLEX))
        ar = ((pel_float *)a)->value, ai = ((pel_float *)a)->imag;
    else if (!pel_to_double(vm, a, &ar))
        return NULL;
    if (pel_is(b, PEL_L_COMPLEX))
        br = ((pel_float *)b)->value, bi = ((pel_float *)b)->imag;
    else if (!pel_to_double(vm, b, &br))
        return NULL;
    double size = br * br + bi * bi;
    switch (op) {
    case PEL_Add: return pel_complex_of(vm, ar + br, ai + bi);
    case PEL_Sub: return pel_complex_of(vm, ar - br, ai - bi);
    case PEL_Mult: return pel_complex_of(vm, ar * br - ai * bi, ar * bi + ai * br);
    case PEL_Div:
        if (size == 0) return pel_raise(vm, vm->types.ZeroDivisionError, "complex division by zero");
        return pel_complex_of(vm, (ar * br + ai * bi) / size, (ai * br - ar * bi) / size);
    case PEL_Pow: {
        if (br == 0 && bi == 0) return pel_complex_of(vm, 1, 0);
        double length = hypot(ar, ai), angle = atan2(ai, ar);
        if (length == 0) return pel_complex_of(vm, 0, 0);
        double new_length = pow(length, br) * exp(-bi * angle), new_angle = br * angle + bi * log(length);
        return pel_complex_of(vm, new_length * cos(new_angle), new_length * sin(new_angle));
    }
    default: return NULL;
    }
}

static pel_val repeat(pel_vm *vm, pel_val sequence, pel_val count) {
    int64_t times;
    if (pel_is_symbol(count)) return NULL;
    if (!pel_index(vm, count, &times)) return NULL;
    if (times < 0) times = 0;
    if (pel_is_str(sequence) || pel_is(sequence, PEL_L_BYTES)) {
        pel_str text = pel_text_of(sequence);
        if (text.len && (uint64_t)times > (1u << 28) / text.len) pel_over_budget(vm, "memory");
        pel_buf out = pel_buf_in(vm->ctx);
        for (int64_t i = 0; i < times; i++) pel_put(&out, text);
        return pel_is_str(sequence) ? pel_new_text_buf(vm, &out) : pel_bytes_of(vm, pel_buf_str(&out));
    }
    uint32_t n;
    pel_val *items = pel_items(sequence, &n);
    if (n && (uint64_t)times > (1u << 26) / n) pel_over_budget(vm, "memory");
    uint32_t total = n * (uint32_t)times;
    pel_val made = pel_is_tuple(sequence) ? pel_tuple_of(vm, NULL, total) : pel_list_of(vm, NULL, total);
    uint32_t ignored;
    pel_val *out = pel_items(made, &ignored);
    for (uint32_t i = 0; i < total; i++) out[i] = items[i % n];
    return made;
}

static pel_val concatenate(pel_vm *vm, pel_val a, pel_val b) {
    if (pel_is_str(a) || pel_is(a, PEL_L_BYTES)) {
        pel_str x = pel_text_of(a), y = pel_text_of(b);
        char *text = pel_alloc_raw(vm->ctx, x.len + y.len + 1);
        if (x.len) memcpy(text, x.ptr, x.len);
        if (y.len) memcpy(text + x.len, y.ptr, y.len);
        text[x.len + y.len] = 0;
        pel_str both = { text, x.len + y.len };
        return pel_is_str(a) ? pel_new_text_own(vm, both) : pel_bytes_of(vm, both);
    }
    uint32_t n, m;
    pel_val *x = pel_items(a, &n), *y = pel_items(b, &m);
    pel_val made = pel_is_tuple(a) ? pel_tuple_of(vm, NULL, n + m) : pel_list_of(vm, NULL, n + m);
    uint32_t ignored;
    pel_val *out = pel_items(made, &ignored);
    if (n) memcpy(out, x, n * sizeof *x);
    if (m) memcpy(out + n, y, m * sizeof *y);
    return made;
}

static pel_val set_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    /* pairs are no keys of the dict: a set of them is made first */
    if (pel_is(a, PEL_L_VIEW) && a->type == vm->types.dict_items) a = pel_call1(vm, &vm->types.set->head, a);
    if (a && pel_is(b, PEL_L_VIEW) && b->type == vm->types.dict_items) b = pel_call1(vm, &vm->types.set->head, b);
    if (!a || !b) return NULL;
    pel_dict *x = pel_is(a, PEL_L_VIEW) ? ((pel_dict_view *)a)->dict : pel_dict_at(a);
    pel_dict *y = pel_is(b, PEL_L_VIEW) ? ((pel_dict_view *)b)->dict : pel_dict_at(b);
    pel_type *type =
        pel_is_set(a) && pel_is_subtype(a->type, vm->types.frozenset) ? vm->types.frozenset : vm->types.set;
    pel_val made = pel_new_set(vm, type);
    for (int side = 0; side < 2; side++) {
        pel_dict *from = side ? y : x, *other = side ? x : y;
        if (side && (op == PEL_Sub || op == PEL_BitAnd)) break;
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(from, &at));) {
            pel_val there = NULL;
            if (op != PEL_BitOr && !pel_dict_get(vm, other, entry->key, &there)) return NULL;
            if (op == PEL_BitOr || (op == PEL_BitAnd ? there != NULL : there == NULL))
                if (!pel_dict_set(vm, pel_dict_at(made), entry->key, vm->none)) return NULL;
        }
    }
    return made;
}

static bool is_keys_or_items(pel_vm *vm, pel_val v) {
    return !pel_is_small(v) && (v->type == vm->types.dict_keys || v->type == vm->types.dict_items);
}

static bool is_set_like(pel_vm *vm, pel_val v) { return pel_is_set(v) || is_keys_or_items(vm, v); }

static bool is_number(pel_val v) { return pel_is_int(v) || pel_is_float(v); }

/* Types and None: X | Y makes a union. */
static bool is_union_part(pel_vm *vm, pel_val v) { return pel_is_type(v) || v == vm->none || pel_is(v, PEL_L_ALIAS); }

static pel_val make_union(pel_vm *vm, pel_val a, pel_val b) {
    pel_val list = pel_list_of(vm, NULL, 0), both[] = { a, b };
    for (int i = 0; i < 2; i++) {
        pel_alias *alias = (pel_alias *)both[i];
        bool is_union = pel_is(both[i], PEL_L_ALIAS) && !alias->origin;
        uint32_t n = is_union ? pel_tuple_at(alias->args)->n : 1;
        for (uint32_t k = 0; k < n; k++) {
            pel_val item = is_union ? pel_tuple_at(alias->args)->at[k] : both[i];
            if (item == vm->none) item = &vm->types.none->head;
            bool again = false;
            for (uint32_t j = 0; j < pel_list_at(list)->n; j++) again |= pel_list_at(list)->at[j] == item;
            if (!again) pel_list_push(vm, list, item);
        }
    }
    pel_alias *made = pel_make_object(vm, vm->types.union_, sizeof *made);
    made->args = pel_tuple_of(vm, pel_list_at(list)->at, pel_list_at(list)->n);
    return &made->head;
}

/* What natives do; NULL without exception: they don't. */
static pel_val native_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    if (pel_is_int(a) && pel_is_int(b)) {
        if (op == PEL_Div) {
            if (pel_int_sign(b) == 0) return pel_raise(vm, vm->types.ZeroDivisionError, "division by zero");
            return pel_float_of(vm, pel_int_to_double(a) / pel_int_to_double(b));
        }
        bool both_bool = pel_is(a, PEL_L_BOOL) && pel_is(b, PEL_L_BOOL);
        if (both_bool && (op == PEL_BitAnd || op == PEL_BitOr || op == PEL_BitXor)) {
            bool x = a == vm->true_, y = b == vm->true_;
            return pel_bool_of(vm, op == PEL_BitAnd ? x && y : op == PEL_BitOr ? x || y : x != y);
        }
        return pel_int_binary(vm, op, a, b);
    }
    if (is_number(a) && is_number(b)) {
        double x, y;
        if (!pel_to_double(vm, a, &x) || !pel_to_double(vm, b, &y)) return NULL;
        return float_binary(vm, op, x, y);
    }
    if ((pel_is(a, PEL_L_COMPLEX) && (is_number(b) || pel_is(b, PEL_L_COMPLEX))) ||
        (pel_is(b, PEL_L_COMPLEX) && is_number(a)))
        return complex_binary(vm, op, a, b);
    if (pel_is_str(a) && op == PEL_Mod) return pel_percent(vm, a, b);
    bool sequence_a = pel_is_str(a) || pel_is(a, PEL_L_BYTES) || pel_is_tuple(a) || pel_is_list(a);
    bool sequence_b = pel_is_str(b) || pel_is(b, PEL_L_BYTES) || pel_is_tuple(b) || pel_is_list(b);
    if (op == PEL_Add && sequence_a && sequence_b && a->type->layout == b->type->layout) return concatenate(vm, a, b);
    if (op == PEL_Mult && sequence_a && pel_is_int(b)) return repeat(vm, a, b);
    if (op == PEL_Mult && sequence_b && pel_is_int(a)) return repeat(vm, b, a);
    bool set_op = op == PEL_Sub || op == PEL_BitAnd || op == PEL_BitOr || op == PEL_BitXor;
    if (set_op && is_set_like(vm, a) && is_set_like(vm, b)) return set_binary(vm, op, a, b);
    if (set_op && (is_keys_or_items(vm, a) || is_keys_or_items(vm, b))) { /* such a view takes any iterable */
        pel_val x = is_set_like(vm, a) ? a : pel_call1(vm, &vm->types.set->head, a);
        pel_val y = !x || is_set_like(vm, b) ? b : pel_call1(vm, &vm->types.set->head, b);
        return x && y ? set_binary(vm, op, x, y) : NULL;
    }
    if (op == PEL_BitOr && pel_is_dict(a) && pel_is_dict(b)) {
        pel_val made = pel_new_dict(vm);
        if (!pel_dict_update(vm, pel_dict_at(made), a) || !pel_dict_update(vm, pel_dict_at(made), b)) return NULL;
        return made;
    }
    if (op == PEL_BitOr && is_union_part(vm, a) && is_union_part(vm, b)) return make_union(vm, a, b);
    return NULL;
}

static pel_val try_operator(pel_vm *vm, pel_val a, pel_val name, pel_val b, bool *done) {
    *done = false;
    pel_type *type = pel_type_of(vm, a);
    pel_val found = pel_lookup(vm, type, name);
    if (!found || pel_is(found, PEL_L_NATIVE)) return NULL;
    pel_val result = pel_call_special(vm, a, name, &b, 1);
    *done = !result || result != vm->not_implemented;
    return *done ? result : NULL;
}

static bool has_interpreted(pel_vm *vm, pel_val v, pel_val name) {
    pel_type *type = pel_type_of(vm, v);
    if (type->is_native && type->layout != PEL_L_TYPE) return false;
    pel_val found = pel_lookup(vm, type, name);
    return found && !pel_is(found, PEL_L_NATIVE);
}

/* The order matters: a subclass's reflected method, a's own, natives, and symbols last, since a class may define its
 * operators for values that nobody knows. Natives wait until b's reflected method declined: b may derive from a type
 * that they would take. */
pel_val pel_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    pel_type *type_a = pel_type_of(vm, a), *type_b = pel_type_of(vm, b);
    pel_val forward = vm->op_names[op][0], reflected = vm->op_names[op][1];
    bool done;
    pel_val result;
    bool b_first = type_a != type_b && pel_is_subtype(type_b, type_a) && has_interpreted(vm, b, reflected) &&
                   pel_lookup(vm, type_b, reflected) != pel_lookup(vm, type_a, reflected);
    if (b_first) {
        result = try_operator(vm, b, reflected, a, &done);
        if (done) return result;
    }
    if (has_interpreted(vm, a, forward)) {
        result = try_operator(vm, a, forward, b, &done);
        if (done) return result;
    }
    if (!pel_is_symbol(a) && !pel_is_symbol(b) && !has_interpreted(vm, b, reflected)) {
        result = native_binary(vm, op, a, b);
        if (result || vm->raised) return result;
    }
    if (!b_first && type_a != type_b && has_interpreted(vm, b, reflected)) {
        result = try_operator(vm, b, reflected, a, &done);
        if (done) return result;
        result = native_binary(vm, op, a, b);
        if (result || vm->raised) return result;
    }
    if (pel_is_str(a) && op == PEL_Mod && pel_is_symbol(b)) return pel_percent(vm, a, b);
    if (pel_is_symbol(a) || pel_is_symbol(b)) return pel_symbol_binary(vm, pel_operator_text(op), a, b);
    return pel_raise(vm, vm->types.TypeError, "unsupported operand type(s) for %s: '%s' and '%s'",
                     op == PEL_Pow ? "** or pow()" : pel_operator_text(op), pel_type_text(vm, a), pel_type_text(vm, b));
}

/* Every other holder of a list, dict or set has to see the change, so the object stays and only its contents are new. A
 * set gets its head back afterwards: the copy brings the type and the attributes of the temporary one. */
pel_val pel_inplace(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    if (has_interpreted(vm, a, vm->op_names[op][2])) {
        bool done;
        pel_val result = try_operator(vm, a, vm->op_names[op][2], b, &done);
        if (done) return result;
    }
    if (op == PEL_Add && pel_is_list(a)) return pel_extend(vm, a, b) ? a : NULL;
    if (op == PEL_BitOr && pel_is_dict(a) && pel_is_dict(b)) return pel_dict_update(vm, pel_dict_at(a), b) ? a : NULL;
    if (pel_is_set(a) && a->type == vm->types.set && is_set_like(vm, b) &&
        (op == PEL_BitOr || op == PEL_BitAnd || op == PEL_Sub || op == PEL_BitXor)) {
        pel_val made = set_binary(vm, op, a, b);
        if (!made) return NULL;
        pel_object head = *a;
        *pel_dict_at(a) = *pel_dict_at(made);
        *a = head;
        return a;
    }
    if (op == PEL_Mult && pel_is_list(a) && pel_is_int(b)) {
        pel_val made = repeat(vm, a, b);
        if (!made) return NULL;
        pel_list_at(a)->at = pel_list_at(made)->at;
        pel_list_at(a)->n = pel_list_at(made)->n;
        pel_list_at(a)->cap = pel_list_at(made)->cap;
        return a;
    }
    return pel_binary(vm, op, a, b);
}

/* `not` of a symbol stays a symbol: the question is asked only where a branch needs the answer. The level is the
 * precedence of the text and decides on parentheses. A bool becomes a plain int first, so that -True is -1. */
pel_val pel_unary(pel_vm *vm, pel_UNARYOP op, pel_val a) {
    if (op == PEL_Not) {
        if (pel_is_symbol(a)) {
            pel_symbol *s = (pel_symbol *)a;
            pel_val made = pel_symbol_of(
                vm, pel_format(vm->ctx, s->level > 3 ? "not (%.*s)" : "not %.*s", PEL_FMT(s->text)), s->why);
            if (pel_is_symbol(made)) ((pel_symbol *)made)->level = 9;
            return made;
        }
        int truth = pel_truth(vm, a);
        return truth < 0 ? NULL : pel_bool_of(vm, !truth);
    }
    pel_val name = op == PEL_USub ? vm->names.s_neg : op == PEL_UAdd ? vm->names.s_pos : vm->names.s_invert;
    if (has_interpreted(vm, a, name)) return pel_call_special(vm, a, name, NULL, 0);
    if (pel_is_int(a)) {
        if (op == PEL_USub) return pel_int_negate(vm, pel_int_plain(vm, a));
        if (op == PEL_UAdd) return pel_int_plain(vm, a);
        return pel_int_binary(vm, PEL_Sub, pel_int_negate(vm, pel_int_plain(vm, a)), pel_from_small(1));
    }
    if (pel_is_float(a) && op != PEL_Invert)
        return pel_float_of(vm, op == PEL_USub ? -((pel_float *)a)->value : ((pel_float *)a)->value);
    if (pel_is(a, PEL_L_COMPLEX) && op == PEL_USub)
        return pel_complex_of(vm, -((pel_float *)a)->value, -((pel_float *)a)->imag);
    if (pel_is_symbol(a)) {
        pel_symbol *s = (pel_symbol *)a;
        return pel_symbol_of(
            vm, pel_format(vm->ctx, s->level ? "%s(%.*s)" : "%s%.*s", pel_unaryop_text(op), PEL_FMT(s->text)), s->why);
    }
    return pel_raise(vm, vm->types.TypeError, "bad operand type for unary %s: '%s'", pel_unaryop_text(op),
                     pel_type_text(vm, a));
}

/* ---- comparing ---- */

static int compare_items(pel_vm *vm, pel_val a, pel_val b, uint32_t *differs) {
    uint32_t n, m;
    pel_val *x = pel_items(a, &n), *y = pel_items(b, &m);
    *differs = UINT32_MAX;
    if (!pel_enter_c(vm)) return -1;
    int equal = 1;
    uint32_t i = 0;
    while (equal == 1 && i < n && i < m) {
        equal = x[i] == y[i] ? 1 : pel_equal(vm, x[i], y[i]);
        if (equal == 0) *differs = i;
        i++;
        x = pel_items(a, &n); /* comparing may have changed a list */
        y = pel_items(b, &m);
    }
    pel_leave_c(vm);
    pel_spend(vm, i);
    return equal == 1 ? n == m : equal;
}

static int equal_dicts(pel_vm *vm, pel_dict *x, pel_dict *y, bool values) {
    if (x->live != y->live) return 0;
    if (!pel_enter_c(vm)) return -1;
    uint32_t at = 0;
    int equal = 1;
    for (pel_entry *entry; equal == 1 && (entry = pel_dict_next(x, &at));) {
        pel_val there;
        if (!pel_dict_get(vm, y, entry->key, &there))
            equal = -1;
        else if (!there)
            equal = 0;
        else if (values && entry->value != there)
            equal = pel_equal(vm, entry->value, there);
    }
    pel_leave_c(vm);
    return equal;
}

/* 1, 0, -1: raised, -2: natives don't know. */
static int native_equal(pel_vm *vm, pel_val a, pel_val b) {
    if (pel_is_int(a) && pel_is_int(b)) return pel_int_compare(a, b) == 0;
    if (is_number(a) && is_number(b)) {
        double x, y;
        return pel_to_double(vm, a, &x) && pel_to_double(vm, b, &y) ? x == y : -1;
    }
    if (pel_is_small(a) || pel_is_small(b)) return a == b ? 1 : -2;
    pel_vm_layout layout = a->type->layout;
    if (layout == PEL_L_COMPLEX || b->type->layout == PEL_L_COMPLEX) {
        pel_float *x = (pel_float *)a, *y = (pel_float *)b;
        if (layout == PEL_L_COMPLEX && b->type->layout == PEL_L_COMPLEX)
            return x->value == y->value && x->imag == y->imag;
        return -2;
    }
    if (is_set_like(vm, a) && is_set_like(vm, b) && (pel_is_set(a) || a->type != vm->types.mappingproxy))
        return equal_dicts(vm, pel_is(a, PEL_L_VIEW) ? ((pel_dict_view *)a)->dict : pel_dict_at(a),
                           pel_is(b, PEL_L_VIEW) ? ((pel_dict_view *)b)->dict : pel_dict_at(b), false);
    if (layout != b->type->layout) return -2;
    uint32_t differs;
    switch (layout) {
    case PEL_L_STR:
    case PEL_L_BYTES:
        return pel_string_at(a)->hash == pel_string_at(b)->hash && pel_str_eq(pel_text_of(a), pel_text_of(b));
    case PEL_L_TUPLE:
    case PEL_L_LIST: return compare_items(vm, a, b, &differs);
    case PEL_L_DICT: return equal_dicts(vm, pel_dict_at(a), pel_dict_at(b), true);
    case PEL_L_RANGE: {
        pel_vm_range *x = (pel_vm_range *)a, *y = (pel_vm_range *)b;
        return x->start == y->start && x->stop == y->stop && x->step == y->step;
    }
    case PEL_L_SLICE: {
        pel_slice *x = (pel_slice *)a, *y = (pel_slice *)b;
        pel_val pairs[][2] = { { x->start, y->start }, { x->stop, y->stop }, { x->step, y->step } };
        for (int i = 0; i < 3; i++) {
            int equal = pel_equal(vm, pairs[i][0], pairs[i][1]);
            if (equal <= 0) return equal;
        }
        return 1;
    }
    case PEL_L_METHOD:
        return ((pel_method *)a)->func == ((pel_method *)b)->func && ((pel_method *)a)->self == ((pel_method *)b)->self;
    case PEL_L_ALIAS: {
        pel_alias *x = (pel_alias *)a, *y = (pel_alias *)b;
        if (x->origin != y->origin) return 0;
        return pel_equal(vm, x->args, y->args);
    }
    default: return a == b ? 1 : -2;
    }
}

static pel_val compare_name(pel_vm *vm, pel_CMPOP op) {
    const pel_val names[] = { vm->names.s_eq, vm->names.s_ne, vm->names.s_lt,
                              vm->names.s_le, vm->names.s_gt, vm->names.s_ge };
    return names[op];
}

/* -2: natives don't know. */
static int native_order(pel_vm *vm, pel_CMPOP op, pel_val a, pel_val b) {
    int order;
    if (pel_is_int(a) && pel_is_int(b)) {
        order = pel_int_compare(a, b);
    } else if (is_number(a) && is_number(b)) {
        double x, y;
        if (!pel_to_double(vm, a, &x) || !pel_to_double(vm, b, &y)) return -1;
        return op == PEL_Lt ? x < y : op == PEL_LtE ? x <= y : op == PEL_Gt ? x > y : x >= y;
    } else if (pel_is_small(a) || pel_is_small(b)) {
        return -2;
    } else if (is_set_like(vm, a) && is_set_like(vm, b)) {
        pel_dict *x = pel_is(a, PEL_L_VIEW) ? ((pel_dict_view *)a)->dict : pel_dict_at(a);
        pel_dict *y = pel_is(b, PEL_L_VIEW) ? ((pel_dict_view *)b)->dict : pel_dict_at(b);
        pel_dict *small = op == PEL_Lt || op == PEL_LtE ? x : y, *large = small == x ? y : x;
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(small, &at));) {
            pel_val there;
            if (!pel_dict_get(vm, large, entry->key, &there)) return -1;
            if (!there) return 0;
        }
        return op == PEL_LtE || op == PEL_GtE || small->live < large->live;
    } else if (a->type->layout != b->type->layout) {
        return -2;
    } else if (pel_is_str(a) || pel_is(a, PEL_L_BYTES)) {
        order = pel_str_cmp(pel_text_of(a), pel_text_of(b));
    } else if (pel_is_tuple(a) || pel_is_list(a)) {
        uint32_t differs, n, m;
        int equal = compare_items(vm, a, b, &differs);
        if (equal < 0) return -1;
        pel_val *x = pel_items(a, &n), *y = pel_items(b, &m);
        if (differs != UINT32_MAX) {
            pel_val result = pel_compare(vm, op, x[differs], y[differs]);
            return result ? pel_truth(vm, result) : -1;
        }
        order = (n > m) - (n < m);
    } else {
        return -2;
    }
    return op == PEL_Lt ? order < 0 : op == PEL_LtE ? order <= 0 : op == PEL_Gt ? order > 0 : order >= 0;
}

/* Two values that certainly differ, although one is not interpreted. */
static bool has_name(pel_val a, pel_val b) {
    if (pel_is_symbol(a) != pel_is_symbol(b)) {
        pel_val known = pel_is_symbol(a) ? b : a;
        bool is_plain = pel_is_int(known) || pel_is_float(known) || pel_is_str(known);
        if (is_plain && !pel_is_apart(a) && !pel_is_apart(b)) return false;
    }
    return pel_is_named(a) ? !pel_is_symbol(b) || pel_is_named(b) : pel_is_named(b) && !pel_is_symbol(a);
}

/* The table `mirrored` and the tests `op <= PEL_NotEq` rely on the order of pel_CMPOP. Methods of the program come
 * first, then symbols, then natives, which would call a symbol different from everything. Two texts that may be equal,
 * as one has a hole, make a question as well. */
static pel_val rich_compare(pel_vm *vm, pel_CMPOP op, pel_val a, pel_val b) {
    static const pel_CMPOP mirrored[] = { PEL_Eq, PEL_NotEq, PEL_Gt, PEL_GtE, PEL_Lt, PEL_LtE };
    pel_type *type_a = pel_type_of(vm, a), *type_b = pel_type_of(vm, b);
    pel_val name = compare_name(vm, op), other = compare_name(vm, mirrored[op]);
    bool done;
    pel_val result;
    bool b_first = type_a != type_b && pel_is_subtype(type_b, type_a) && has_interpreted(vm, b, other);
    if (b_first) {
        result = try_operator(vm, b, other, a, &done);
        if (done) return result;
    }
    if (has_interpreted(vm, a, name)) {
        result = try_operator(vm, a, name, b, &done);
        if (done) return result;
    }
    if (!b_first && has_interpreted(vm, b, other)) {
        result = try_operator(vm, b, other, a, &done);
        if (done) return result;
    }
    if (op == PEL_NotEq && (has_interpreted(vm, a, vm->names.s_eq) || has_interpreted(vm, b, vm->names.s_eq))) {
        result = rich_compare(vm, PEL_Eq, a, b);
        if (!result) return NULL;
        int truth = pel_truth(vm, result);
        return truth < 0 ? NULL : pel_bool_of(vm, !truth);
    }
    if (op <= PEL_NotEq && has_name(a, b)) {
        bool same =
            pel_is_symbol(a) && pel_is_symbol(b) && pel_str_eq(((pel_symbol *)a)->text, ((pel_symbol *)b)->text);
        return pel_bool_of(vm, same == (op == PEL_Eq));
    }
    if (pel_is_symbol(a) || pel_is_symbol(b)) {
        if (a == b && (op == PEL_Eq || op == PEL_LtE || op == PEL_GtE)) return vm->true_;
        if (op <= PEL_NotEq && (a == vm->none || b == vm->none))
            return pel_symbol_binary(vm, op == PEL_Eq ? "is" : "is not", a, b);
        return pel_symbol_binary(vm, pel_cmpop_text(op), a, b);
    }
    if (op == PEL_Eq || op == PEL_NotEq) {
        int equal = native_equal(vm, a, b);
        if (equal == -1) return NULL;
        if (!equal && pel_is_str(a) && pel_is_str(b) && pel_texts_may_be_equal(a, b)) {
            pel_val text = pel_symbol_of(vm, pel_symbol_arg(vm, a), PEL_STR("a part of the text is not known"));
            return pel_symbol_binary(vm, pel_cmpop_text(op), text, b);
        }
        if (equal == -2) equal = a == b;
        return pel_bool_of(vm, op == PEL_Eq ? equal : !equal);
    }
    int order = native_order(vm, op, a, b);
    if (order == -1) return NULL;
    if (order >= 0) return pel_bool_of(vm, order);
    return pel_raise(vm, vm->types.TypeError, "'%s' not supported between instances of '%s' and '%s'",
                     pel_cmpop_text(op), pel_type_text(vm, a), pel_type_text(vm, b));
}

pel_val pel_compare(pel_vm *vm, pel_CMPOP op, pel_val a, pel_val b) {
    switch (op) {
    case PEL_Is:
    case PEL_IsNot: {
        pel_val symbol = pel_is_symbol(a) ? a : b;
        if (a != b && pel_is_symbol(symbol) && ((pel_symbol *)symbol)->is_parameter)
            return pel_symbol_binary(vm, pel_cmpop_text(op), a, b);
        return pel_bool_of(vm, (a == b) == (op == PEL_Is));
    }
    case PEL_In:
    case PEL_NotIn: {
        if (pel_is_symbol(b) || (pel_is_symbol(a) && !pel_type_of(vm, b)->is_native))
            return pel_symbol_binary(vm, pel_cmpop_text(op), a, b);
        if (pel_is_symbol(a) && !pel_is_apart(a)) return pel_symbol_binary(vm, pel_cmpop_text(op), a, b);
        int found = pel_contains(vm, b, a);
        return found < 0 ? NULL : pel_bool_of(vm, op == PEL_In ? found : !found);
    }
    default: return rich_compare(vm, op, a, b);
    }
}

int pel_equal(pel_vm *vm, pel_val a, pel_val b) {
    if (a == b) return 1;
    if (pel_is_small(a) && pel_is_small(b)) return 0;
    if (pel_is_str(a) && pel_is_str(b) && a->type->is_native && b->type->is_native) return native_equal(vm, a, b);
    pel_val result = rich_compare(vm, PEL_Eq, a, b);
    return result ? pel_truth(vm, result) : -1;
}

int pel_less(pel_vm *vm, pel_val a, pel_val b) {
    pel_val result = rich_compare(vm, PEL_Lt, a, b);
    return result ? pel_truth(vm, result) : -1;
}
