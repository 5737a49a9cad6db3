/* Symbols: values that are not known, named by the expression that made them. */
#include "interp/vm.h"

#define MAX_TEXT 400       /* longer expressions are cut: they only name the value */
#define MAX_QUESTIONS 1000 /* of one run: `while i < n` asks another one in each pass */

pel_val pel_symbol_of(pel_vm *vm, pel_str text, pel_str why) {
    if (vm->assigned) {
        pel_val given = pel_dict_get_str(vm->assigned, pel_interned(vm, text));
        if (given) return given;
    }
    pel_symbol *symbol = pel_make_object(vm, vm->types.symbol, sizeof *symbol);
    if (text.len > MAX_TEXT) text = pel_format(vm->ctx, "%.*s…", MAX_TEXT, text.ptr);
    symbol->text = text;
    symbol->why = why;
    symbol->code = vm->frame ? vm->frame->code : NULL;
    symbol->line = vm->frame ? pel_frame_line(vm->frame) : 0;
    return &symbol->head;
}

pel_val pel_symbol_from(pel_vm *vm, pel_str text, pel_val parent) {
    pel_val made = pel_symbol_of(vm, text, ((pel_symbol *)parent)->why);
    if (pel_is_symbol(made)) {
        ((pel_symbol *)made)->is_parameter = ((pel_symbol *)parent)->is_parameter;
        ((pel_symbol *)made)->is_missing = ((pel_symbol *)parent)->is_missing;
    }
    return made;
}

/* Inside a text a symbol is between two letters that nobody else uses, so that it is known for one later on. */
#define OPEN "\xEE\x80\x80"
#define CLOSE "\xEE\x80\x81"

pel_str pel_symbol_in_text(pel_vm *vm, pel_val symbol) {
    return pel_format(vm->ctx, OPEN "%.*s" CLOSE, PEL_FMT(((pel_symbol *)symbol)->text));
}

static bool has_at(pel_str text, size_t at, const char *mark) {
    return at + 3 <= text.len && memcmp(text.ptr + at, mark, 3) == 0;
}

/* The known letters before the first symbol and after the last one; false: there is none. */
static bool known_ends(pel_val text, pel_str *before, pel_str *behind) {
    pel_str s = pel_text_of(text);
    if (pel_string_at(text)->is_ascii) return false;
    size_t first = 0, last = s.len;
    while (first < s.len && !has_at(s, first, OPEN)) first++;
    while (last >= 3 && !has_at(s, last - 3, CLOSE)) last--;
    *before = pel_str_cut(s, 0, first);
    *behind = pel_str_from(s, last < first ? first : last);
    return first < s.len;
}

/* What a symbol stands for is not empty: nobody makes names of nothing. */
static bool may_be(pel_val unknown, pel_val text) {
    pel_str before, behind, s = pel_text_of(text);
    if (!known_ends(unknown, &before, &behind)) return true;
    return s.len > before.len + behind.len && pel_str_starts(s, before) && pel_str_ends(s, behind);
}

bool pel_text_has_symbol(pel_val text) {
    pel_str before, behind;
    return known_ends(text, &before, &behind);
}

bool pel_texts_may_be_equal(pel_val a, pel_val b) {
    pel_str before, behind;
    bool is_known = !known_ends(a, &before, &behind), is_other_known = !known_ends(b, &before, &behind);
    if (is_known && is_other_known) return false;
    if (is_known) return may_be(b, a);
    return is_other_known ? may_be(a, b) : true;
}

pel_str pel_readable(pel_vm *vm, pel_str text) {
    pel_buf out = pel_buf_in(vm->ctx);
    for (size_t i = 0; i < text.len; i++) {
        bool opens = has_at(text, i, OPEN), closes = has_at(text, i, CLOSE);
        pel_put_byte(&out, opens ? '{' : closes ? '}' : text.ptr[i]);
        if (opens || closes) i += 2;
    }
    return pel_buf_str(&out);
}

/* The row that a library has already takes it in. False: it has none, or this is no row of a library's import. */
static bool joins_library(pel_vm *vm, pel_note *note) {
    if (!note->library.len || pel_str_eq(note->why, PEL_WHY_COSTLY)) return false;
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        if (vm->unknown.at[i].is_premise || !pel_str_eq(vm->unknown.at[i].what, note->library)) continue;
        vm->unknown.at[i].is_lost |= note->is_lost;
        return true;
    }
    note->why = pel_format(vm->ctx, "some of its lines can't be run, the first: %.*s%s%.*s", PEL_FMT(note->what),
                           note->why.len ? ": " : "", PEL_FMT(note->why));
    note->what = note->library;
    return false;
}

static void put_note(pel_vm *vm, pel_note note) {
    if (joins_library(vm, &note)) return;
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        pel_note *there = &vm->unknown.at[i];
        if (there->line != note.line || !pel_str_eq(there->file, note.file) || !pel_str_eq(there->what, note.what))
            continue;
        there->is_lost |= note.is_lost;
        return;
    }
    if (vm->unknown.n < 1000)
        pel_push(vm->ctx, &vm->unknown, note);
    else
        vm->unknown.at[999].is_lost |= note.is_lost; /* the list is full: that something was lost is not */
}

static void add_note(pel_vm *vm, pel_note note) {
    bool is_importing = pel_is_importing(vm, vm->frame);
    note.is_lost &= !is_importing;
    pel_here(vm, true, &note.file, &note.line);
    for (const pel_frame *f = vm->frame; f && is_importing && !note.is_premise && !note.library.len; f = f->back)
        note.library = pel_str_copy(vm->ctx, pel_library_of(vm, f->code->file));
    put_note(vm, note);
}

void pel_note_costly(pel_vm *vm, pel_str name) {
    const char *dot = memchr(name.ptr, '.', name.len);
    pel_str top = dot ? pel_str_cut(name, 0, (size_t)(dot - name.ptr)) : name;
    pel_note note = { .what = name, .why = PEL_WHY_COSTLY, .library = top };
    pel_here(vm, true, &note.file, &note.line);
    put_note(vm, note);
}

void pel_note_unknown(pel_vm *vm, pel_str what, pel_str why) { add_note(vm, (pel_note){ .what = what, .why = why }); }

void pel_note_lost(pel_vm *vm, pel_str what, pel_str why) {
    add_note(vm, (pel_note){ .what = what, .why = why, .is_lost = true });
}

void pel_note_premise(pel_vm *vm, pel_str what, pel_str why) {
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub) f = f->back;
    if (!f || pel_library_of(vm, f->code->file).len) return;
    add_note(vm, (pel_note){ .what = what, .why = why, .is_premise = true });
}

/* "fakelib.Linear" is a class, "fakelib.DEPTH" and "fakelib.depth" may be numbers. */
static bool is_class_name(pel_str text) {
    size_t at = text.len;
    bool has_small = false;
    while (at > 0 && text.ptr[at - 1] != '.') {
        at--;
        has_small |= text.ptr[at] >= 'a' && text.ptr[at] <= 'z';
    }
    return has_small && text.ptr[at] >= 'A' && text.ptr[at] <= 'Z';
}

bool pel_is_apart(pel_val v) {
    const pel_symbol *symbol = pel_is_small(v) || !pel_is_symbol(v) ? NULL : (const pel_symbol *)v;
    return symbol && symbol->is_named && (!symbol->is_missing || is_class_name(symbol->text));
}

void pel_note_escape(pel_vm *vm, pel_val symbol, pel_val given, uint32_t depth) {
    if (pel_is_small(given) || !vm->is_network || depth > 2) return;
    uint32_t n = 0, at = 0;
    bool is_native = given->type->is_native;
    if (!is_native && vm->is_network(vm, given)) {
        const pel_symbol *callee = (const pel_symbol *)symbol;
        pel_str what = pel_format(vm->ctx, "%s given to %.*s", pel_type_text(vm, given), PEL_FMT(callee->text));
        pel_note_lost(vm, what, PEL_STR("what that does to it is not known"));
    } else if (is_native && (pel_is_list(given) || pel_is_tuple(given))) {
        pel_val *items = pel_items(given, &n);
        for (uint32_t i = 0; i < n && i < 100; i++) pel_note_escape(vm, symbol, items[i], depth + 1);
    } else if (is_native && pel_is_dict(given)) {
        for (pel_entry *entry; n++ < 100 && (entry = pel_dict_next(pel_dict_at(given), &at));)
            pel_note_escape(vm, symbol, entry->value, depth + 1);
    } else if (pel_is(given, PEL_L_METHOD)) {
        pel_note_escape(vm, symbol, ((pel_method *)given)->self, depth + 1);
    }
}

pel_str pel_symbol_arg(pel_vm *vm, pel_val v) {
    if (pel_is_symbol(v)) return ((pel_symbol *)v)->text;
    pel_vm_layout layout = pel_type_of(vm, v)->layout;
    if (pel_is_type(v)) return pel_text_of(pel_as_type(v)->name);
    if (layout == PEL_L_FUNCTION) return pel_text_of(((pel_function *)v)->name);
    if (layout == PEL_L_MODULE && pel_is_str(((pel_module_object *)v)->name))
        return pel_text_of(((pel_module_object *)v)->name);
    bool is_plain = layout == PEL_L_INT || layout == PEL_L_BOOL || layout == PEL_L_FLOAT || layout == PEL_L_STR ||
                    layout == PEL_L_NONE || layout == PEL_L_TUPLE || layout == PEL_L_LIST || layout == PEL_L_DICT;
    if (!is_plain || !pel_type_of(vm, v)->is_native) return pel_format(vm->ctx, "<%s>", pel_type_text(vm, v));
    if (layout == PEL_L_LIST || layout == PEL_L_TUPLE) {
        uint32_t n;
        pel_items(v, &n);
        if (n > 8) return PEL_STR("[…]");
    }
    if (layout == PEL_L_DICT) return PEL_STR("{…}");
    if (layout == PEL_L_STR) v = pel_new_text(vm, pel_readable(vm, pel_text_of(v)));
    pel_val saved = vm->raised;
    pel_val text = pel_repr(vm, v);
    vm->raised = saved;
    return text ? pel_text_of(text) : PEL_STR("…");
}

static uint8_t level_of(const char *op) {
    if (pel_str_is(pel_str_of(op), "**")) return 1;
    if (strchr("*/%@", op[0])) return 2;
    if (op[1] == 0 && strchr("+-", op[0])) return 3;
    return 9;
}

static pel_str operand(pel_vm *vm, pel_val v, uint8_t level, bool is_right) {
    pel_str text = pel_symbol_arg(vm, v);
    uint8_t own = pel_is_symbol(v) ? ((pel_symbol *)v)->level : 0;
    if (own > level || (is_right && own == level && own)) return pel_format(vm->ctx, "(%.*s)", PEL_FMT(text));
    return text;
}

/* What a comparison gives if the symbol is a positive number: 1, -1, or 0 if that does not say. */
static int8_t if_number(pel_vm *vm, const char *op, pel_val a, pel_val b) {
    if (!pel_is_symbol(a)) return 0;
    bool is_zero = b == vm->none || b == pel_from_small(0);
    pel_str text = pel_str_of(op);
    if (is_zero && (pel_str_is(text, "is") || pel_str_is(text, "=="))) return -1;
    if (is_zero && (pel_str_is(text, "is not") || pel_str_is(text, "!="))) return 1;
    if (b == pel_from_small(0)) return pel_str_is(text, ">") || pel_str_is(text, ">=") ? 1 : op[0] == '<' ? -1 : 0;
    return 0;
}

pel_val pel_symbol_binary(pel_vm *vm, const char *op, pel_val a, pel_val b) {
    pel_symbol *known = (pel_symbol *)(pel_is_symbol(a) ? a : b);
    uint8_t level = level_of(op);
    /* what arithmetic says without knowing the value */
    int64_t i;
    if (pel_is_int(b) && pel_to_i64(b, &i)) {
        if (i == 1 && (pel_str_is(pel_str_of(op), "*") || pel_str_is(pel_str_of(op), "//"))) return a;
        if (i == 0 && (op[0] == '+' || op[0] == '-') && op[1] == 0) return a;
    }
    if (pel_is_int(a) && pel_to_i64(a, &i)) {
        if (i == 1 && pel_str_is(pel_str_of(op), "*")) return b;
        if (i == 0 && pel_str_is(pel_str_of(op), "+")) return b;
    }
    pel_str text = pel_format(vm->ctx, "%.*s %s %.*s", PEL_FMT(operand(vm, a, level, false)), op,
                              PEL_FMT(operand(vm, b, level, true)));
    pel_val made = pel_symbol_of(vm, text, known->why);
    if (pel_is_symbol(made)) {
        ((pel_symbol *)made)->level = level;
        ((pel_symbol *)made)->if_number = if_number(vm, op, a, b);
        ((pel_symbol *)made)->about = known->text;
    }
    return made;
}

/* What a decorator may be given: functions and classes that have a source, not `x.astype(float32)`. */
static bool may_be_decorated(pel_val v) {
    if (pel_is(v, PEL_L_FUNCTION)) return !((pel_function *)v)->code->is_stub;
    if (pel_is_type(v)) return pel_as_type(v)->made_by && !pel_as_type(v)->made_by->is_stub;
    return pel_is(v, PEL_L_WRAPPER);
}

/* A symbol that is called with one function or class is a decorator that we don't know: it gives what it got. */
pel_val pel_symbol_call(pel_vm *vm, pel_val symbol, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (n == 1 && !kw && may_be_decorated(args[0])) {
        bool may_call = pel_is(args[0], PEL_L_FUNCTION) && ((pel_symbol *)symbol)->is_missing;
        if (may_call) ((pel_function *)args[0])->decorator = symbol;
        return args[0];
    }
    pel_buf text = pel_buf_in(vm->ctx);
    pel_symbol *s = (pel_symbol *)symbol;
    if (s->is_unmodelled) pel_note_unknown(vm, s->text, s->why);
    for (uint32_t i = 0; i < n && s->is_missing; i++) pel_note_escape(vm, symbol, args[i], 0);
    for (uint32_t i = 0; kw && i < kw->n && s->is_missing; i++) pel_note_escape(vm, symbol, kw->values[i], 0);
    pel_putf(&text, s->level ? "(%.*s)(" : "%.*s(", PEL_FMT(s->text));
    for (uint32_t i = 0; i < n; i++) {
        if (i) pel_put_c(&text, ", ");
        pel_put(&text, pel_symbol_arg(vm, args[i]));
    }
    for (uint32_t i = 0; kw && i < kw->n; i++) {
        if (n || i) pel_put_c(&text, ", ");
        pel_putf(&text, "%s=%.*s", pel_string_at(kw->names[i])->text, PEL_FMT(pel_symbol_arg(vm, kw->values[i])));
    }
    pel_put_c(&text, ")");
    pel_val made = pel_symbol_from(vm, pel_buf_str(&text), symbol);
    if (pel_is_symbol(made) && s->is_missing) {
        pel_val parts[] = { symbol, pel_tuple_of(vm, args, n), pel_tuple_of(vm, kw ? kw->names : NULL, kw ? kw->n : 0),
                            pel_tuple_of(vm, kw ? kw->values : NULL, kw ? kw->n : 0) };
        ((pel_symbol *)made)->made_of = pel_tuple_of(vm, parts, PEL_COUNT(parts));
    }
    return made;
}

/* What a library asks about the machine while it is imported: it is imported once, so there is one answer. Loops that
 * ask go on until the library's share is spent. */
static void note_import(pel_vm *vm) {
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub) f = f->back;
    pel_str library = f ? pel_library_of(vm, f->code->file) : PEL_STR("");
    pel_spend(vm, 1000000);
    for (uint32_t i = 0; i < vm->unknown.n; i++)
        if (vm->unknown.at[i].is_premise && pel_str_eq(vm->unknown.at[i].what, library)) return;
    add_note(vm, (pel_note){ .what = pel_str_copy(vm->ctx, library),
                             .why = PEL_STR("what it asks about the machine while it is imported is taken to be so"),
                             .is_premise = true });
}

/* A branch on something unknown. The decision of this run is looked up, or made and written down; scan.c runs the
 * construction again for the other one, and joins what the runs made. */
int pel_symbol_truth(pel_vm *vm, pel_val symbol) {
    pel_symbol *s = (pel_symbol *)symbol;
    if (s->if_number && vm->own_file.len) {
        pel_str file;
        uint32_t line;
        pel_here(vm, true, &file, &line);
        if (!pel_str_eq(file, vm->own_file)) {
            for (uint32_t i = 0; i < vm->unknown.n; i++)
                if (pel_str_eq(vm->unknown.at[i].what, s->about)) return s->if_number > 0;
            pel_note_unknown(vm, s->about, PEL_STR("what libraries ask about it is answered as for a positive number"));
            return s->if_number > 0;
        }
    }
    if (pel_is_importing(vm, vm->frame)) {
        note_import(vm);
        return true;
    }
    for (uint32_t i = 0; i < vm->asked.n; i++)
        if (pel_str_eq(vm->asked.at[i].what, s->text)) {
            vm->answers++;
            return vm->decided.at[i];
        }
    if (vm->asked.n >= (vm->max_asked ? vm->max_asked : MAX_QUESTIONS))
        pel_over_budget(vm, "conditions that are not known");
    pel_note note = { s->text, s->why, { "", 0 }, 0 };
    pel_here(vm, true, &note.file, &note.line);
    bool decision = vm->asked.n < vm->planned.n ? vm->planned.at[vm->asked.n] : true;
    pel_push(vm->ctx, &vm->asked, note);
    pel_push(vm->ctx, &vm->decided, decision);
    return decision;
}
