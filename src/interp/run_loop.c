/* Loops whose count is not known. Their body runs once, for all passes: a variable that one pass hands to the next
 * has no single value there, nor behind the loop, and becomes a symbol. */
#include "interp/ops.h"
#include "interp/run.h"

#define WHY PEL_STR("changes in a loop whose count is not known")

/* Values that a loop may count with. Objects stay: what they hold is marked where it is made. */
static bool is_plain(pel_val v, uint32_t depth) {
    if (pel_is_small(v) || pel_is_symbol(v)) return true;
    if (!v->type->is_native) return false;
    pel_layout layout = v->type->layout;
    if (layout == PEL_L_TUPLE && depth < 4) {
        const pel_tuple *tuple = pel_tuple_at(v);
        for (uint32_t i = 0; i < tuple->n; i++)
            if (!is_plain(tuple->at[i], depth + 1)) return false;
        return tuple->n > 0;
    }
    return layout == PEL_L_INT || layout == PEL_L_BOOL || layout == PEL_L_FLOAT || layout == PEL_L_STR ||
           layout == PEL_L_NONE;
}

typedef enum variable_kind { NO_VARIABLE, FAST, DEREF, NAMED } variable_kind;

static variable_kind read_by(uint8_t op) {
    switch (op) {
    case PEL_I_LOAD_FAST: return FAST;
    case PEL_I_LOAD_DEREF:
    case PEL_I_LOAD_CLOSURE: return DEREF;
    case PEL_I_LOAD_NAME: return NAMED;
    default: return NO_VARIABLE;
    }
}

static variable_kind written_by(uint8_t op) {
    switch (op) {
    case PEL_I_STORE_FAST: return FAST;
    case PEL_I_STORE_DEREF: return DEREF;
    case PEL_I_STORE_NAME: return NAMED;
    default: return NO_VARIABLE;
    }
}

static pel_val name_of(const pel_frame *f, const pel_insn *store) {
    const pel_codeobj *code = f->code;
    variable_kind kind = written_by(store->op);
    return kind == FAST ? code->locals[store->b] : kind == DEREF ? code->cells[store->b] : code->names[store->b];
}

static pel_dict *names_of(const pel_frame *f) { return f->names ? f->names : f->globals; }

static pel_val value_of(const pel_frame *f, const pel_insn *store) {
    switch (written_by(store->op)) {
    case FAST: return f->slots[store->b];
    case DEREF: return ((pel_cell *)f->slots[f->code->n_locals + store->b])->value;
    default: return f->names_object ? NULL : pel_dict_get_str(names_of(f), name_of(f, store));
    }
}

static void assign(pel_vm *vm, pel_frame *f, const pel_insn *store, pel_val value) {
    switch (written_by(store->op)) {
    case FAST: f->slots[store->b] = value; break;
    case DEREF: ((pel_cell *)f->slots[f->code->n_locals + store->b])->value = value; break;
    default: pel_dict_set_str(vm, names_of(f), name_of(f, store), value);
    }
}

static pel_loop *loop_of(pel_vm *vm, pel_val iter) {
    for (uint32_t i = vm->loops.n; i > 0; i--)
        if (vm->loops.at[i - 1].iter == iter) return &vm->loops.at[i - 1];
    return NULL;
}

static pel_val symbol_at(pel_vm *vm, pel_val name, pel_str pass) {
    return pel_symbol_of(vm, pel_format(vm->ctx, "%.*s[%.*s]", PEL_FMT(pel_text_of(name)), PEL_FMT(pass)), WHY);
}

/* What the body reads first and writes later goes from one pass to the next. f->next is the body's begin. */
void pel_run_loop_begins(pel_vm *vm, pel_frame *f, pel_val iter, uint32_t outside) {
    if (loop_of(vm, iter)) return;
    pel_loop loop = { .iter = iter, .outside = outside, .count = vm->repeating.at[outside] };
    pel_map seen = { 0 }; /* variable -> 1: read; 2: written, or read and dealt with */
    const pel_insn *end = f->code->insns + f->next[-1].b;
    for (const pel_insn *insn = f->next; insn < end; insn++) {
        variable_kind read = read_by(insn->op), written = written_by(insn->op);
        if (!read && !written) continue;
        uint64_t key = ((uint64_t)(read ? read : written) << 32) | insn->b;
        uint64_t before = pel_map_find(&seen, key, 0);
        if (!before || written) pel_map_set(vm->ctx, &seen, key, read ? 1 : 2);
        pel_val value = written && before == 1 ? value_of(f, insn) : NULL;
        if (!value || !is_plain(value, 0)) continue;
        pel_carried row = { insn, value, symbol_at(vm, name_of(f, insn), PEL_STR("i")) };
        assign(vm, f, insn, row.inside);
        pel_push(vm->ctx, &loop.carried, row);
    }
    pel_push(vm->ctx, &vm->loops, loop);
}

/* Does the value of a symbol depend on the pass? */
static bool depends(const pel_loop *loop, pel_val v) {
    pel_str text = ((pel_symbol *)v)->text;
    for (uint32_t i = 0; i < loop->carried.n; i++) {
        if (!pel_is_symbol(loop->carried.at[i].inside)) continue;
        pel_str part = ((pel_symbol *)loop->carried.at[i].inside)->text;
        for (size_t at = 0; at + part.len <= text.len; at++)
            if (memcmp(text.ptr + at, part.ptr, part.len) == 0) return true;
    }
    return false;
}

void pel_run_loop_ends(pel_vm *vm, pel_frame *f, pel_val iter) {
    pel_loop *found = loop_of(vm, iter);
    if (!found) return;
    pel_loop loop = *found;
    *found = vm->loops.at[--vm->loops.n];
    if (vm->repeating.n > loop.outside) vm->repeating.n = loop.outside;
    for (uint32_t i = 0; i < loop.carried.n; i++) {
        const pel_carried *row = &loop.carried.at[i];
        pel_val now = value_of(f, row->store);
        if (now == row->inside) { /* this run did not write it */
            assign(vm, f, row->store, row->before);
            continue;
        }
        if (pel_is_symbol(row->inside)) pel_note_unknown(vm, ((pel_symbol *)row->inside)->text, WHY);
        /* a value that does not depend on the pass is the same after each */
        if (now && pel_is_symbol(now) && depends(&loop, now))
            assign(vm, f, row->store, symbol_at(vm, name_of(f, row->store), pel_symbol_arg(vm, loop.count)));
    }
}
