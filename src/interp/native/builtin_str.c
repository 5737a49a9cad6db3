/* str and bytes. Both are slices of bytes; most methods are the same for both. */
#include "interp/vm.h"

#include <ctype.h>

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

static pel_val like(pel_vm *vm, pel_val model, pel_str text) {
    return pel_is_str(model) ? pel_new_text(vm, text) : pel_bytes_of(vm, text);
}

static bool text_arg(pel_vm *vm, pel_val self, pel_val arg, pel_str *out) {
    if (pel_type_of(vm, arg)->layout == self->type->layout) {
        *out = pel_text_of(arg);
        return true;
    }
    pel_raise(vm, vm->types.TypeError, "expected %s, got %s", pel_is_str(self) ? "str" : "bytes",
              pel_type_text(vm, arg));
    return false;
}

static const char *find_in(pel_str text, pel_str part) { return pel_str_find(text, part); }

static const char *rfind_in(pel_str text, pel_str part) {
    if (part.len > text.len) return NULL;
    for (size_t at = text.len - part.len + 1; at > 0; at--)
        if (!part.len || memcmp(text.ptr + at - 1, part.ptr, part.len) == 0) return text.ptr + at - 1;
    return NULL;
}

static int64_t chars_before(pel_val self, const char *at) {
    const pel_string *s = pel_string_at(self);
    if (s->is_ascii || !pel_is_str(self)) return at - s->text;
    int64_t count = 0;
    for (const char *p = s->text; p < at; p++) count += ((unsigned char)*p & 0xC0) != 0x80;
    return count;
}

/* ---- making ---- */

METHOD(str_new) {
    pel_val p[3];
    if (!pel_args(vm, "str", "object,encoding,errors", args + 1, n - 1, kw, 0, p)) return NULL;
    pel_val text = vm->empty_str;
    if (p[0] && p[1] && pel_is(p[0], PEL_L_BYTES))
        text = pel_new_text(vm, pel_text_of(p[0]));
    else if (p[0])
        text = pel_str_val(vm, p[0]);
    if (!text || args[0] == &vm->types.str->head) return text;
    pel_string *copy = pel_make_object(vm, pel_as_type(args[0]), sizeof *copy);
    pel_object head = copy->head;
    *copy = *pel_string_at(text);
    copy->head = head;
    copy->is_interned = false;
    return &copy->head;
}

/* Text is UTF-8 inside, and its bytes are taken as they are: the encoding is ignored, and a missing one is no error.
 * The write of the type is safe because pel_bytes_of never shares an object. */
METHOD(bytes_new) {
    (void)kw;
    pel_val made;
    if (n < 2) {
        made = pel_bytes_of(vm, (pel_str){ "", 0 });
    } else if (pel_is_str(args[1]) || pel_is(args[1], PEL_L_BYTES)) {
        made = pel_bytes_of(vm, pel_text_of(args[1]));
    } else if (pel_is_int(args[1])) {
        int64_t len;
        if (!pel_index(vm, args[1], &len)) return NULL;
        if (len < 0 || len > (1 << 24)) return pel_raise(vm, vm->types.ValueError, "negative or too large count");
        char *zeros = pel_alloc(vm->ctx, (size_t)len + 1);
        made = pel_bytes_of(vm, (pel_str){ zeros, (size_t)len });
    } else {
        pel_val *items;
        uint32_t count;
        if (!pel_collect(vm, args[1], &items, &count)) return NULL;
        pel_buf out = pel_buf_in(vm->ctx);
        for (uint32_t i = 0; i < count; i++) {
            int64_t byte;
            if (!pel_index(vm, items[i], &byte)) return NULL;
            if (byte < 0 || byte > 255) return pel_raise(vm, vm->types.ValueError, "bytes must be in range(0, 256)");
            pel_put_byte(&out, (char)byte);
        }
        made = pel_bytes_of(vm, pel_buf_str(&out));
    }
    made->type = pel_as_type(args[0]);
    return made;
}

METHOD(bytes_fromhex) {
    IGNORE();
    pel_str text;
    if (!text_arg(vm, vm->empty_str, args[0], &text)) return NULL;
    pel_buf out = pel_buf_in(vm->ctx);
    int high = -1;
    for (size_t i = 0; i < text.len; i++) {
        int c = tolower((unsigned char)text.ptr[i]);
        if (isspace(c)) continue;
        if (!isxdigit(c)) return pel_raise(vm, vm->types.ValueError, "non-hexadecimal number found in fromhex() arg");
        int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            pel_put_byte(&out, (char)(high * 16 + digit));
            high = -1;
        }
    }
    return pel_bytes_of(vm, pel_buf_str(&out));
}

METHOD(bytes_hex) {
    IGNORE();
    pel_buf out = pel_buf_in(vm->ctx);
    pel_str text = pel_text_of(args[0]);
    for (size_t i = 0; i < text.len; i++) pel_putf(&out, "%02x", (unsigned char)text.ptr[i]);
    return pel_new_text(vm, pel_buf_str(&out));
}
METHOD(str_encode) {
    IGNORE();
    return pel_bytes_of(vm, pel_text_of(args[0]));
}
METHOD(bytes_decode) {
    IGNORE();
    return pel_new_text(vm, pel_text_of(args[0]));
}

/* ---- case and classes of characters: ASCII, other letters stay as they are ---- */

static pel_val map_case(pel_vm *vm, pel_val self, int how) {
    pel_str text = pel_text_of(self);
    char *out = pel_alloc_raw(vm->ctx, text.len + 1);
    bool at_start = true;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool lower = how == 0 || (how == 2 && i > 0) || (how == 3 && !at_start) || (how == 4 && isupper(c));
        out[i] = (char)(c >= 128 ? c : lower ? tolower(c) : toupper(c));
        at_start = !isalpha(c);
    }
    out[text.len] = 0;
    return like(vm, self, (pel_str){ out, text.len });
}
METHOD(str_lower) {
    IGNORE();
    return map_case(vm, args[0], 0);
}
METHOD(str_upper) {
    IGNORE();
    return map_case(vm, args[0], 1);
}
METHOD(str_capitalize) {
    IGNORE();
    return map_case(vm, args[0], 2);
}
METHOD(str_title) {
    IGNORE();
    return map_case(vm, args[0], 3);
}
METHOD(str_swapcase) {
    IGNORE();
    return map_case(vm, args[0], 4);
}

static pel_val all_chars(pel_vm *vm, pel_val self, int how) {
    pel_str text = pel_text_of(self);
    bool cased = false;
    if (!text.len) return vm->false_;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool fine = true;
        switch (how) {
        case 0: fine = isdigit(c); break;
        case 1: fine = isalpha(c) || c >= 128; break;
        case 2: fine = isalnum(c) || c >= 128; break;
        case 3: fine = isspace(c); break;
        case 4: fine = !isupper(c), cased |= islower(c) != 0; break;
        case 5: fine = !islower(c), cased |= isupper(c) != 0; break;
        case 6: fine = isalpha(c) || c == '_' || c >= 128 || (i && isdigit(c)); break;
        case 7: fine = c >= 32 && c != 127; break;
        default: break;
        }
        if (!fine) return vm->false_;
    }
    return pel_bool_of(vm, (how != 4 && how != 5) || cased);
}
METHOD(str_isdigit) {
    IGNORE();
    return all_chars(vm, args[0], 0);
}
METHOD(str_isalpha) {
    IGNORE();
    return all_chars(vm, args[0], 1);
}
METHOD(str_isalnum) {
    IGNORE();
    return all_chars(vm, args[0], 2);
}
METHOD(str_isspace) {
    IGNORE();
    return all_chars(vm, args[0], 3);
}
METHOD(str_islower) {
    IGNORE();
    return all_chars(vm, args[0], 4);
}
METHOD(str_isupper) {
    IGNORE();
    return all_chars(vm, args[0], 5);
}
METHOD(str_isidentifier) {
    IGNORE();
    return all_chars(vm, args[0], 6);
}
METHOD(str_isprintable) {
    IGNORE();
    return pel_text_of(args[0]).len ? all_chars(vm, args[0], 7) : vm->true_;
}
METHOD(str_isascii) {
    IGNORE();
    return pel_bool_of(vm, pel_string_at(args[0])->is_ascii);
}

/* ---- searching ---- */

/* The bytes between the characters start and end, as find and count have them. */
static bool part_between(pel_vm *vm, pel_val *args, uint32_t n, uint32_t first, pel_str *out) {
    *out = pel_text_of(args[0]);
    if (n <= first) return true;
    pel_val slice = pel_new_slice(vm, args[first], n > first + 1 ? args[first + 1] : vm->none, vm->none);
    int64_t start, step, count;
    if (!pel_slice_range(vm, slice, pel_string_at(args[0])->chars, &start, &step, &count)) return false;
    if (pel_string_at(args[0])->is_ascii || !pel_is_str(args[0])) {
        *out = pel_str_cut(*out, (size_t)start, (size_t)(start + count));
        return true;
    }
    pel_val from = pel_getitem(vm, args[0], pel_new_slice(vm, vm->none, pel_int_of(vm, start), vm->none));
    pel_val part = pel_getitem(vm, args[0], slice);
    if (!from || !part) return false;
    size_t at = pel_text_of(from).len;
    *out = pel_str_cut(*out, at, at + pel_text_of(part).len);
    return true;
}

static pel_val find_from(pel_vm *vm, pel_val *args, uint32_t n, bool last, bool raise) {
    pel_str where, part;
    if (!part_between(vm, args, n, 2, &where) || !text_arg(vm, args[0], args[1], &part)) return NULL;
    const char *at = last ? rfind_in(where, part) : find_in(where, part);
    if (at) return pel_int_of(vm, chars_before(args[0], at));
    return raise ? pel_raise(vm, vm->types.ValueError, "substring not found") : pel_from_small(-1);
}
METHOD(str_find) {
    (void)kw;
    return find_from(vm, args, n, false, false);
}
METHOD(str_rfind) {
    (void)kw;
    return find_from(vm, args, n, true, false);
}
METHOD(str_index) {
    (void)kw;
    return find_from(vm, args, n, false, true);
}
METHOD(str_rindex) {
    (void)kw;
    return find_from(vm, args, n, true, true);
}

METHOD(str_count) {
    (void)kw;
    pel_str where, part;
    if (!part_between(vm, args, n, 2, &where) || !text_arg(vm, args[0], args[1], &part)) return NULL;
    if (!part.len) return pel_int_of(vm, pel_string_at(args[0])->chars + 1);
    int64_t count = 0;
    for (const char *at; (at = find_in(where, part)); count++)
        where = pel_str_from(where, (size_t)(at - where.ptr) + part.len);
    return pel_int_of(vm, count);
}

static pel_val starts_or_ends(pel_vm *vm, pel_val *args, uint32_t n, bool ends) {
    pel_str where;
    if (!part_between(vm, args, n, 2, &where)) return NULL;
    uint32_t count = 1;
    pel_val *parts = &args[1];
    if (pel_is_tuple(args[1])) parts = pel_items(args[1], &count);
    for (uint32_t i = 0; i < count; i++) {
        pel_str part;
        if (!text_arg(vm, args[0], parts[i], &part)) return NULL;
        if (ends ? pel_str_ends(where, part) : pel_str_starts(where, part)) return vm->true_;
    }
    return vm->false_;
}
METHOD(str_startswith) {
    (void)kw;
    return starts_or_ends(vm, args, n, false);
}
METHOD(str_endswith) {
    (void)kw;
    return starts_or_ends(vm, args, n, true);
}

METHOD(str_removeprefix) {
    IGNORE();
    pel_str part, text = pel_text_of(args[0]);
    if (!text_arg(vm, args[0], args[1], &part)) return NULL;
    return pel_str_starts(text, part) ? like(vm, args[0], pel_str_from(text, part.len)) : args[0];
}
METHOD(str_removesuffix) {
    IGNORE();
    pel_str part, text = pel_text_of(args[0]);
    if (!text_arg(vm, args[0], args[1], &part)) return NULL;
    return part.len && pel_str_ends(text, part) ? like(vm, args[0], pel_str_cut(text, 0, text.len - part.len))
                                                : args[0];
}

/* ---- splitting and joining ---- */

static pel_val strip_with(pel_vm *vm, pel_val *args, uint32_t n, bool left, bool right) {
    pel_str text = pel_text_of(args[0]), set = PEL_STR(" \t\n\r\f\v");
    if (n > 1 && args[1] != vm->none && !text_arg(vm, args[0], args[1], &set)) return NULL;
    size_t start = 0, end = text.len;
    /* characters beyond ASCII are compared whole */
    while (left && start < end) {
        size_t next = start + 1;
        while (next < end && ((unsigned char)text.ptr[next] & 0xC0) == 0x80) next++;
        if (!find_in(set, pel_str_cut(text, start, next))) break;
        start = next;
    }
    while (right && end > start) {
        size_t from = end - 1;
        while (from > start && ((unsigned char)text.ptr[from] & 0xC0) == 0x80) from--;
        if (!find_in(set, pel_str_cut(text, from, end))) break;
        end = from;
    }
    return start == 0 && end == text.len ? args[0] : like(vm, args[0], pel_str_cut(text, start, end));
}
METHOD(str_strip) {
    (void)kw;
    return strip_with(vm, args, n, true, true);
}
METHOD(str_lstrip) {
    (void)kw;
    return strip_with(vm, args, n, true, false);
}
METHOD(str_rstrip) {
    (void)kw;
    return strip_with(vm, args, n, false, true);
}

/* Only a limit makes the side matter: without one, the right side goes the same way as the left. What comes from the
 * right is found last part first, so the list is turned round. Spaces beyond ASCII do not split. */
static pel_val split_white(pel_vm *vm, pel_val self, int64_t most, bool from_right) {
    pel_str text = pel_text_of(self);
    pel_val list = pel_list_of(vm, NULL, 0);
    if (from_right && most >= 0) {
        size_t end = text.len;
        while (end > 0) {
            while (end > 0 && isspace((unsigned char)text.ptr[end - 1])) end--;
            if (!end) break;
            size_t start = end;
            if (most-- == 0)
                start = 0;
            else
                while (start > 0 && !isspace((unsigned char)text.ptr[start - 1])) start--;
            pel_list_push(vm, list, like(vm, self, pel_str_cut(text, start, end)));
            end = start;
        }
        pel_list *l = pel_list_at(list);
        for (uint32_t i = 0; i < l->n / 2; i++) {
            pel_val v = l->at[i];
            l->at[i] = l->at[l->n - 1 - i];
            l->at[l->n - 1 - i] = v;
        }
        return list;
    }
    size_t at = 0;
    for (;;) {
        while (at < text.len && isspace((unsigned char)text.ptr[at])) at++;
        if (at == text.len) return list;
        size_t start = at;
        if (most >= 0 && pel_list_at(list)->n == (uint64_t)most) {
            at = text.len;
            while (at > start && isspace((unsigned char)text.ptr[at - 1])) at--;
            pel_list_push(vm, list, like(vm, self, pel_str_cut(text, start, at)));
            return list;
        }
        while (at < text.len && !isspace((unsigned char)text.ptr[at])) at++;
        pel_list_push(vm, list, like(vm, self, pel_str_cut(text, start, at)));
    }
}

/* Without a limit rsplit goes the way of split. In Python the two differ where separators overlap (`aaa` by `aa`). With
 * a limit the parts come last first, so the list is turned round. */
static pel_val split_with(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw, bool from_right) {
    pel_val p[2];
    if (!pel_args(vm, "split", "sep,maxsplit", args + 1, n - 1, kw, 0, p)) return NULL;
    int64_t most = -1;
    if (p[1] && !pel_index(vm, p[1], &most)) return NULL;
    if (!p[0] || p[0] == vm->none) return split_white(vm, args[0], most, from_right);
    pel_str text = pel_text_of(args[0]), sep;
    if (!text_arg(vm, args[0], p[0], &sep)) return NULL;
    if (!sep.len) return pel_raise(vm, vm->types.ValueError, "empty separator");
    pel_val list = pel_list_of(vm, NULL, 0);
    if (!from_right || most < 0) {
        for (const char *at; most != 0 && (at = find_in(text, sep)); most--) {
            size_t len = (size_t)(at - text.ptr);
            pel_list_push(vm, list, like(vm, args[0], pel_str_cut(text, 0, len)));
            text = pel_str_from(text, len + sep.len);
        }
        pel_list_push(vm, list, like(vm, args[0], text));
        return list;
    }
    for (const char *at; most != 0 && (at = rfind_in(text, sep)); most--) {
        size_t len = (size_t)(at - text.ptr);
        pel_list_push(vm, list, like(vm, args[0], pel_str_from(text, len + sep.len)));
        text = pel_str_cut(text, 0, len);
    }
    pel_list_push(vm, list, like(vm, args[0], text));
    pel_list *l = pel_list_at(list);
    for (uint32_t i = 0; i < l->n / 2; i++) {
        pel_val v = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = v;
    }
    return list;
}
METHOD(str_split) { return split_with(vm, args, n, kw, false); }
METHOD(str_rsplit) { return split_with(vm, args, n, kw, true); }

METHOD(str_splitlines) {
    pel_val p[1];
    if (!pel_args(vm, "splitlines", "keepends", args + 1, n - 1, kw, 0, p)) return NULL;
    int keep = p[0] ? pel_truth(vm, p[0]) : 0;
    if (keep < 0) return NULL;
    pel_str text = pel_text_of(args[0]);
    pel_val list = pel_list_of(vm, NULL, 0);
    size_t at = 0;
    while (at < text.len) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') end++;
        size_t next = end < text.len ? end + 1 : end;
        if (end + 1 < text.len && text.ptr[end] == '\r' && text.ptr[end + 1] == '\n') next++;
        pel_list_push(vm, list, like(vm, args[0], pel_str_cut(text, at, keep ? next : end)));
        at = next;
    }
    return list;
}

static pel_val partition_with(pel_vm *vm, pel_val *args, bool last) {
    pel_str text = pel_text_of(args[0]), sep;
    if (!text_arg(vm, args[0], args[1], &sep)) return NULL;
    if (!sep.len) return pel_raise(vm, vm->types.ValueError, "empty separator");
    const char *at = last ? rfind_in(text, sep) : find_in(text, sep);
    pel_val empty = like(vm, args[0], (pel_str){ "", 0 });
    if (!at)
        return pel_tuple_of(vm, last ? (pel_val[]){ empty, empty, args[0] } : (pel_val[]){ args[0], empty, empty }, 3);
    size_t len = (size_t)(at - text.ptr);
    pel_val parts[] = { like(vm, args[0], pel_str_cut(text, 0, len)), args[1],
                        like(vm, args[0], pel_str_from(text, len + sep.len)) };
    return pel_tuple_of(vm, parts, 3);
}
METHOD(str_partition) {
    IGNORE();
    return partition_with(vm, args, false);
}
METHOD(str_rpartition) {
    IGNORE();
    return partition_with(vm, args, true);
}

METHOD(str_join) {
    IGNORE();
    pel_val *items;
    uint32_t count;
    if (!pel_collect(vm, args[1], &items, &count)) return NULL;
    pel_buf out = pel_buf_in(vm->ctx);
    for (uint32_t i = 0; i < count; i++) {
        if (i) pel_put(&out, pel_text_of(args[0]));
        if (pel_is_symbol(items[i])) {
            pel_put(&out, pel_symbol_in_text(vm, items[i]));
            continue;
        }
        if (pel_type_of(vm, items[i])->layout != args[0]->type->layout)
            return pel_raise(vm, vm->types.TypeError, "sequence item %u: expected str instance, %s found", i,
                             pel_type_text(vm, items[i]));
        pel_put(&out, pel_text_of(items[i]));
    }
    return like(vm, args[0], pel_buf_str(&out));
}

METHOD(str_replace) {
    pel_val p[3];
    if (!pel_args(vm, "replace", "old,new,count", args + 1, n - 1, kw, 2, p)) return NULL;
    pel_str text = pel_text_of(args[0]), old, new;
    int64_t most = -1;
    if (!text_arg(vm, args[0], p[0], &old) || !text_arg(vm, args[0], p[1], &new)) return NULL;
    if (p[2] && !pel_index(vm, p[2], &most)) return NULL;
    pel_buf out = pel_buf_in(vm->ctx);
    if (!old.len) {
        for (size_t i = 0; i <= text.len; i++) {
            if (most != 0) pel_put(&out, new), most--;
            if (i < text.len) pel_put_byte(&out, text.ptr[i]);
        }
        return like(vm, args[0], pel_buf_str(&out));
    }
    for (const char *at; most != 0 && (at = find_in(text, old)); most--) {
        pel_put(&out, pel_str_cut(text, 0, (size_t)(at - text.ptr)));
        pel_put(&out, new);
        text = pel_str_from(text, (size_t)(at - text.ptr) + old.len);
    }
    pel_put(&out, text);
    return like(vm, args[0], pel_buf_str(&out));
}

/* ---- padding ---- */

static pel_val pad(pel_vm *vm, pel_val *args, uint32_t n, int how) {
    int64_t width;
    if (!pel_index(vm, args[1], &width)) return NULL;
    pel_str fill = PEL_STR(" "), text = pel_text_of(args[0]);
    if (n > 2 && !text_arg(vm, args[0], args[2], &fill)) return NULL;
    int64_t missing = width - pel_string_at(args[0])->chars;
    if (missing <= 0) return args[0];
    if (missing > (1 << 20)) pel_over_budget(vm, "memory");
    int64_t left = how == 0 ? 0 : how == 1 ? missing : missing / 2 + (missing & width & 1);
    pel_buf out = pel_buf_in(vm->ctx);
    for (int64_t i = 0; i < left; i++) pel_put(&out, fill);
    pel_put(&out, text);
    for (int64_t i = left; i < missing; i++) pel_put(&out, fill);
    return like(vm, args[0], pel_buf_str(&out));
}
METHOD(str_ljust) {
    (void)kw;
    return pad(vm, args, n, 0);
}
METHOD(str_rjust) {
    (void)kw;
    return pad(vm, args, n, 1);
}
METHOD(str_center) {
    (void)kw;
    return pad(vm, args, n, 2);
}
METHOD(str_zfill) {
    IGNORE();
    int64_t width;
    if (!pel_index(vm, args[1], &width)) return NULL;
    pel_str text = pel_text_of(args[0]);
    pel_buf out = pel_buf_in(vm->ctx);
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+')) {
        pel_put_byte(&out, text.ptr[0]);
        text = pel_str_from(text, 1);
        width--;
    }
    for (int64_t i = (int64_t)text.len; i < width && i < 100000; i++) pel_put_byte(&out, '0');
    pel_put(&out, text);
    return like(vm, args[0], pel_buf_str(&out));
}
METHOD(str_expandtabs) {
    IGNORE();
    pel_str text = pel_text_of(args[0]);
    pel_buf out = pel_buf_in(vm->ctx);
    size_t column = 0;
    int64_t size = 8;
    if (n > 1 && !pel_index(vm, args[1], &size)) return NULL;
    if (size > 1000) return pel_raise(vm, vm->types.OverflowError, "tabs are too wide");
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\t') {
            do pel_put_byte(&out, ' '), column++;
            while (size > 0 && column % (size_t)size);
        } else {
            pel_put_byte(&out, text.ptr[i]);
            column = text.ptr[i] == '\n' ? 0 : column + 1;
        }
    }
    return like(vm, args[0], pel_buf_str(&out));
}

/* ---- formatting and others ---- */

METHOD(str_format) { return pel_str_format(vm, pel_text_of(args[0]), args + 1, n - 1, kw, NULL); }
METHOD(str_format_map) {
    IGNORE();
    return pel_str_format(vm, pel_text_of(args[0]), NULL, 0, NULL, args[1]);
}

METHOD(str_translate) {
    IGNORE();
    pel_str text = pel_text_of(args[0]);
    pel_buf out = pel_buf_in(vm->ctx);
    for (size_t at = 0; at < text.len;) {
        uint32_t point = pel_text_next(text, &at);
        pel_val found = NULL;
        if (pel_is_dict(args[1]) && !pel_dict_get(vm, pel_dict_at(args[1]), pel_int_of(vm, point), &found)) return NULL;
        if (!found)
            pel_put_utf8(&out, point);
        else if (pel_is_str(found))
            pel_put(&out, pel_text_of(found));
        else if (pel_is_small(found))
            pel_put_utf8(&out, (uint32_t)pel_small(found));
    }
    return pel_new_text(vm, pel_buf_str(&out));
}
/* The native is no method, so args[0] is the first argument and not self. Keys are code points, which is what
 * str_translate looks up; None deletes. Of two texts of different length the rest of the longer is left out. */
METHOD(str_maketrans) {
    (void)kw;
    pel_val table = pel_new_dict(vm);
    if (n == 1 && pel_is_dict(args[0])) {
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(args[0]), &at));) {
            pel_val key = entry->key;
            if (pel_is_str(key)) {
                size_t from = 0;
                key = pel_int_of(vm, pel_text_next(pel_text_of(key), &from));
            }
            if (!pel_dict_set(vm, pel_dict_at(table), key, entry->value)) return NULL;
        }
        return table;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!pel_is_str(args[i])) return pel_raise(vm, vm->types.TypeError, "maketrans arguments must be strings");
    size_t a = 0, b = 0;
    while (n > 1 && a < pel_text_of(args[0]).len && b < pel_text_of(args[1]).len) {
        uint32_t from = pel_text_next(pel_text_of(args[0]), &a), to = pel_text_next(pel_text_of(args[1]), &b);
        if (!pel_dict_set(vm, pel_dict_at(table), pel_int_of(vm, from), pel_int_of(vm, to))) return NULL;
    }
    for (size_t c = 0; n > 2 && c < pel_text_of(args[2]).len;)
        if (!pel_dict_set(vm, pel_dict_at(table), pel_int_of(vm, pel_text_next(pel_text_of(args[2]), &c)), vm->none))
            return NULL;
    return table;
}

METHOD(str_contains) {
    IGNORE();
    int found = pel_contains(vm, args[0], args[1]);
    return found < 0 ? NULL : pel_bool_of(vm, found);
}
METHOD(str_getitem) {
    IGNORE();
    return pel_getitem(vm, pel_is_str(args[0]) ? pel_new_text_own(vm, pel_text_of(args[0])) : args[0], args[1]);
}
METHOD(str_len) {
    IGNORE();
    return pel_int_of(vm, pel_string_at(args[0])->chars);
}
METHOD(str_iter) {
    IGNORE();
    return pel_iter_of(vm, pel_is_str(args[0]) ? pel_new_text_own(vm, pel_text_of(args[0])) : args[0]);
}
METHOD(str_add) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    return pel_binary(vm, PEL_Add, like(vm, args[0], pel_text_of(args[0])), like(vm, args[0], pel_text_of(args[1])));
}
METHOD(str_mod) {
    IGNORE();
    return pel_percent(vm, args[0], args[1]);
}
METHOD(str_mul) {
    IGNORE();
    return pel_binary(vm, PEL_Mult, like(vm, args[0], pel_text_of(args[0])), args[1]);
}
METHOD(str_str) {
    IGNORE();
    return pel_new_text_own(vm, pel_text_of(args[0]));
}
METHOD(str_repr) {
    IGNORE();
    return pel_repr(vm, like(vm, args[0], pel_text_of(args[0])));
}
METHOD(str_eq) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    return pel_bool_of(vm, pel_str_eq(pel_text_of(args[0]), pel_text_of(args[1])));
}
METHOD(str_lt) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    return pel_bool_of(vm, pel_str_cmp(pel_text_of(args[0]), pel_text_of(args[1])) < 0);
}
METHOD(str_hash) {
    IGNORE();
    return pel_int_of(vm, pel_string_at(args[0])->hash);
}

/* str and bytes have the same structure, so `both` serves them. bytearray has the rows of bytes and none that changes
 * it. maketrans and fromhex are added by hand: as natives that are no methods they get no self. */
void pel_init_str(pel_vm *vm) {
    static const pel_native_row both[] = {
        { "lower", str_lower, 1, 1 },
        { "upper", str_upper, 1, 1 },
        { "casefold", str_lower, 1, 1 },
        { "capitalize", str_capitalize, 1, 1 },
        { "title", str_title, 1, 1 },
        { "swapcase", str_swapcase, 1, 1 },
        { "isdigit", str_isdigit, 1, 1 },
        { "isnumeric", str_isdigit, 1, 1 },
        { "isdecimal", str_isdigit, 1, 1 },
        { "isalpha", str_isalpha, 1, 1 },
        { "isalnum", str_isalnum, 1, 1 },
        { "isspace", str_isspace, 1, 1 },
        { "islower", str_islower, 1, 1 },
        { "isupper", str_isupper, 1, 1 },
        { "isidentifier", str_isidentifier, 1, 1 },
        { "isprintable", str_isprintable, 1, 1 },
        { "isascii", str_isascii, 1, 1 },
        { "find", str_find, 2, 4 },
        { "rfind", str_rfind, 2, 4 },
        { "index", str_index, 2, 4 },
        { "rindex", str_rindex, 2, 4 },
        { "count", str_count, 2, 4 },
        { "startswith", str_startswith, 2, 4 },
        { "endswith", str_endswith, 2, 4 },
        { "removeprefix", str_removeprefix, 2, 2 },
        { "removesuffix", str_removesuffix, 2, 2 },
        { "strip", str_strip, 1, 2 },
        { "lstrip", str_lstrip, 1, 2 },
        { "rstrip", str_rstrip, 1, 2 },
        { "split", str_split, 1, 3, true },
        { "rsplit", str_rsplit, 1, 3, true },
        { "splitlines", str_splitlines, 1, 2, true },
        { "partition", str_partition, 2, 2 },
        { "rpartition", str_rpartition, 2, 2 },
        { "join", str_join, 2, 2 },
        { "replace", str_replace, 3, 4, true },
        { "ljust", str_ljust, 2, 3 },
        { "rjust", str_rjust, 2, 3 },
        { "center", str_center, 2, 3 },
        { "zfill", str_zfill, 2, 2 },
        { "expandtabs", str_expandtabs, 1, 2, true },
        { "__contains__", str_contains, 2, 2 },
        { "__getitem__", str_getitem, 2, 2 },
        { "__len__", str_len, 1, 1 },
        { "__iter__", str_iter, 1, 1 },
        { "__add__", str_add, 2, 2 },
        { "__mul__", str_mul, 2, 2 },
        { "__eq__", str_eq, 2, 2 },
        { "__lt__", str_lt, 2, 2 },
        { "__hash__", str_hash, 1, 1 },
        { "__repr__", str_repr, 1, 1 },
        { NULL },
    };
    static const pel_native_row texts[] = {
        { "format", str_format, 1, -1, true },
        { "format_map", str_format_map, 2, 2 },
        { "translate", str_translate, 2, 2 },
        { "encode", str_encode, 1, 3, true },
        { "__mod__", str_mod, 2, 2 },
        { "__str__", str_str, 1, 1 },
        { NULL },
    };
    static const pel_native_row bytes[] = { { "decode", bytes_decode, 1, 3, true },
                                            { "hex", bytes_hex, 1, 3 },
                                            { NULL } };
    pel_add_methods(vm, vm->types.str, both);
    pel_add_methods(vm, vm->types.str, texts);
    pel_type *like_bytes[] = { vm->types.bytes, vm->types.bytearray };
    for (int i = 0; i < 2; i++) {
        pel_add_methods(vm, like_bytes[i], both);
        pel_add_methods(vm, like_bytes[i], bytes);
        pel_dict_set_str(vm, pel_attrs(vm, &like_bytes[i]->head), vm->names.s_new,
                         pel_new_native(vm, "__new__", bytes_new, 1, 4, true));
        pel_dict_set_c(vm, pel_attrs(vm, &like_bytes[i]->head), "fromhex",
                       pel_new_native(vm, "fromhex", bytes_fromhex, 1, 1, false));
    }
    pel_dict_set_str(vm, pel_attrs(vm, &vm->types.str->head), vm->names.s_new,
                     pel_new_native(vm, "__new__", str_new, 1, 4, true));
    pel_dict_set_c(vm, pel_attrs(vm, &vm->types.str->head), "maketrans",
                   pel_new_native(vm, "maketrans", str_maketrans, 1, 3, false));
}
