/* Loops whose count is not known. Their body runs once, for all passes: a variable that one pass hands to the next
 * has no single value there, nor after the loop, and becomes a symbol. */
#include "interp/code/ops.h"
#include "interp/machine/run.h"
#include "python/print.h"

#define MAX_ROUNDS 256 /* of a loop that the same answers keep going */

/* Values that a loop may count with. Objects stay: what they hold is marked where it is made. */
static bool is_plain(pel_val v, uint32_t depth) {
    if (pel_is_small(v) || pel_is_symbol(v)) return true;
    if (!v->type->is_native) return false;
    pel_vm_layout layout = v->type->layout;
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

static pel_val name_of(const pel_frame *f, const pel_vm_insn *store) {
    const pel_codeobj *code = f->code;
    variable_kind kind = written_by(store->op);
    return kind == FAST ? code->locals[store->b] : kind == DEREF ? code->cells[store->b] : code->names[store->b];
}

static pel_dict *names_of(const pel_frame *f) { return f->names ? f->names : f->globals; }

static pel_val value_of(const pel_frame *f, const pel_vm_insn *store) {
    switch (written_by(store->op)) {
    case FAST: return f->slots[store->b];
    case DEREF: return ((pel_cell *)f->slots[f->code->n_locals + store->b])->value;
    default: return f->names_object ? NULL : pel_dict_get_str(names_of(f), name_of(f, store));
    }
}

static void assign(pel_vm *vm, pel_frame *f, const pel_vm_insn *store, pel_val value) {
    switch (written_by(store->op)) {
    case FAST: f->slots[store->b] = value; break;
    case DEREF: ((pel_cell *)f->slots[f->code->n_locals + store->b])->value = value; break;
    default: pel_dict_set_str(vm, names_of(f), name_of(f, store), value);
    }
}

/* An attribute of an object, an item of a list or dict, or what a cell holds; NULL if there is none. */
static pel_val part_of(pel_vm *vm, pel_val owner, pel_val key) {
    int64_t at;
    pel_val found = NULL;
    if (pel_is(owner, PEL_L_CELL)) return ((pel_cell *)owner)->value;
    if (pel_is_list(owner) && owner->type->is_native)
        return pel_is_int(key) && pel_to_i64(key, &at) && at >= 0 && at < pel_list_at(owner)->n
                   ? pel_list_at(owner)->at[at]
                   : NULL;
    if (pel_is_dict(owner) && owner->type->is_native) {
        if (!pel_dict_get(vm, pel_dict_at(owner), key, &found)) pel_forget(vm);
        return found;
    }
    return owner->attrs && pel_is_str(key) ? pel_dict_get_str(owner->attrs, key) : NULL;
}

static void set_part(pel_vm *vm, pel_val owner, pel_val key, pel_val value) {
    int64_t at;
    if (pel_is(owner, PEL_L_CELL)) {
        ((pel_cell *)owner)->value = value;
    } else if (pel_is_list(owner) && owner->type->is_native) {
        if (pel_to_i64(key, &at) && at >= 0 && at < pel_list_at(owner)->n) pel_list_at(owner)->at[at] = value;
    } else if (pel_is_dict(owner) && owner->type->is_native) {
        if (!pel_dict_set(vm, pel_dict_at(owner), key, value)) pel_forget(vm);
    } else {
        pel_dict_set_str(vm, owner->attrs, key, value);
        pel_types_changed(vm);
    }
}

static pel_val carried_value(pel_vm *vm, const pel_frame *f, const pel_carried *row) {
    return row->store ? value_of(f, row->store) : part_of(vm, row->owner, row->key);
}

static void set_carried(pel_vm *vm, pel_frame *f, const pel_carried *row, pel_val value) {
    if (row->store)
        assign(vm, f, row->store, value);
    else
        set_part(vm, row->owner, row->key, value);
}

static pel_vm_loop *loop_of(pel_vm *vm, pel_val iter) {
    for (uint32_t i = vm->loops.n; i > 0; i--)
        if (vm->loops.at[i - 1].iter == iter) return &vm->loops.at[i - 1];
    return NULL;
}

static pel_val symbol_at(pel_vm *vm, pel_str name, pel_str pass) {
    return pel_symbol_of(vm, pel_format(vm->ctx, "%.*s[%.*s]", PEL_FMT(name), PEL_FMT(pass)), PEL_WHY_LOOP);
}

pel_val pel_index_symbol(pel_vm *vm, pel_str name) {
    return pel_symbol_of(vm, name, PEL_STR("index of a loop whose count is not known"));
}

/* ---- what is reached from the variables of a frame ---- */

typedef struct reached {
    pel_val variable, attribute, value;
    uint32_t at;
} reached;

static bool next_variable(const pel_frame *f, reached *r) {
    const pel_codeobj *code = f->code;
    uint32_t n_cells = code->n_cells + code->n_free;
    r->value = NULL;
    while (!r->value && r->at < code->n_locals + n_cells) {
        uint32_t i = r->at++;
        if (!f->slots[i]) continue;
        r->variable = i < code->n_locals ? code->locals[i] : code->cells[i - code->n_locals];
        r->value = i < code->n_locals ? f->slots[i] : ((pel_cell *)f->slots[i])->value;
    }
    return r->value != NULL;
}

static bool is_object(pel_val v) { return !pel_is_small(v) && v->attrs != NULL; }

/* variable or variable.attribute that is the owner. */
static bool find_owner(const pel_frame *f, pel_val owner, reached *r) {
    *r = (reached){ 0 };
    while (next_variable(f, r))
        if (r->value == owner) return true;
    *r = (reached){ 0 };
    while (next_variable(f, r)) {
        if (!is_object(r->value)) continue;
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(r->value->attrs, &at));)
            if (entry->value == owner && pel_is_str(entry->key)) {
                r->attribute = entry->key;
                return true;
            }
    }
    return false;
}

static pel_val owner_of(pel_vm *vm, const pel_frame *f, const pel_changing *row) {
    reached r = { 0 };
    while (next_variable(f, &r)) {
        if (!pel_str_eq(pel_text_of(r.variable), pel_text_of(row->variable))) continue;
        return row->attribute && is_object(r.value) ? part_of(vm, r.value, row->attribute) : r.value;
    }
    return NULL;
}

static pel_str part_name(pel_vm *vm, pel_val owner, pel_val variable, pel_val attribute, pel_val key) {
    if (pel_is(owner, PEL_L_CELL)) return pel_text_of(key);
    pel_str of = variable ? pel_text_of(variable) : pel_str_of(pel_type_text(vm, owner));
    if (attribute) of = pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(pel_text_of(attribute)));
    bool is_item = (pel_is_list(owner) || pel_is_dict(owner)) && owner->type->is_native;
    pel_str text = is_item ? pel_symbol_arg(vm, key) : pel_text_of(key);
    return pel_format(vm->ctx, is_item ? "%.*s[%.*s]" : "%.*s.%.*s", PEL_FMT(of), PEL_FMT(text));
}

/* ---- the loop begins ---- */

static void carry(pel_vm *vm, pel_frame *f, pel_vm_loop *loop, pel_carried row) {
    row.before = carried_value(vm, f, &row);
    if (!row.before || !is_plain(row.before, 0)) return;
    row.inside = symbol_at(vm, row.name, PEL_STR("i"));
    set_carried(vm, f, &row, row.inside);
    pel_push(vm->ctx, &loop->carried, row);
}

/* What a pass reads first and writes later goes to the next; so does what an earlier run has found to change. first:
 * the instruction that begins a pass, and knows where the loop ends. */
static void begin(pel_vm *vm, pel_frame *f, pel_vm_loop loop, const pel_vm_insn *first) {
    loop.count = vm->repeating.at[loop.outside].count;
    loop.serial = vm->repeating.at[loop.outside].serial;
    pel_map seen = { 0 }; /* variable -> 1: read; 2: written, or read and dealt with */
    const pel_vm_insn *end = f->code->insns + first->b;
    for (const pel_vm_insn *insn = first + 1; insn < end; insn++) {
        variable_kind read = read_by(insn->op), written = written_by(insn->op);
        if (!read && !written) continue;
        uint64_t key = ((uint64_t)(read ? read : written) << 32) | insn->b;
        uint64_t before = pel_map_find(&seen, key, 0);
        if (!before || written) pel_map_set(vm->ctx, &seen, key, read ? 1 : 2);
        if (written && before == 1)
            carry(vm, f, &loop, (pel_carried){ .store = insn, .name = pel_text_of(name_of(f, insn)) });
    }
    loop.line = pel_frame_line(f);
    for (uint32_t i = 0; i < vm->changing.n; i++) {
        const pel_changing *row = &vm->changing.at[i];
        pel_val owner = row->line == loop.line && pel_str_eq(row->file, f->code->file) ? owner_of(vm, f, row) : NULL;
        if (!owner || pel_is_small(owner)) continue;
        carry(vm, f, &loop,
              (pel_carried){ .owner = owner,
                             .key = row->key,
                             .name = part_name(vm, owner, row->variable, row->attribute, row->key) });
    }
    pel_push(vm->ctx, &vm->loops, loop);
}

void pel_run_loop_begins(pel_vm *vm, pel_frame *f, pel_val iter, uint32_t outside) {
    if (!loop_of(vm, iter)) begin(vm, f, (pel_vm_loop){ .iter = iter, .outside = outside }, f->next - 1);
}

/* The index of a loop is called as the variable that takes it. */
pel_val pel_run_loop_index(pel_vm *vm, const pel_frame *f, pel_val index) {
    if (!pel_is_symbol(index) || !pel_str_is(((pel_symbol *)index)->text, "i") || !written_by(f->next->op))
        return index;
    pel_str name = pel_text_of(name_of(f, f->next));
    return pel_str_is(name, "_") ? index : pel_index_symbol(vm, name);
}

/* ---- inside ---- */

/* Module.__setattr__ and its like write for the line that assigns; what our own models of libraries keep is theirs. */
static bool is_of_program(const pel_vm *vm) {
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub && pel_text_is(f->code->name, "__setattr__")) f = f->back;
    return f && !f->code->is_stub;
}

/* Of plain values: without a question about symbols. */
static bool is_same(pel_vm *vm, pel_val a, pel_val b) {
    pel_val x = a == b ? NULL : pel_repr(vm, a), y = x ? pel_repr(vm, b) : NULL;
    return a == b || (x && y && pel_str_eq(pel_text_of(x), pel_text_of(y)));
}

void pel_run_loop_writes(pel_vm *vm, pel_val owner, pel_val key) {
    if (!is_of_program(vm)) return;
    pel_val before = part_of(vm, owner, key);
    if (!before) {
        bool is_new_in_each = pel_is_symbol(key) || (pel_is_str(key) && pel_text_has_symbol(key));
        if (is_new_in_each && pel_is_dict(owner)) pel_resized(vm, owner);
        return;
    }
    if (!is_plain(before, 0)) return;
    uint32_t born = pel_born(vm, owner);
    for (uint32_t i = 0; i < vm->loops.n; i++) {
        pel_vm_loop *loop = &vm->loops.at[i];
        bool is_known = born >= loop->serial;
        for (uint32_t k = 0; k < loop->carried.n && !is_known; k++)
            is_known = loop->carried.at[k].owner == owner && is_same(vm, loop->carried.at[k].key, key);
        for (uint32_t k = 0; k < loop->written.n && !is_known; k++)
            is_known = loop->written.at[k].owner == owner && is_same(vm, loop->written.at[k].key, key);
        if (!is_known) pel_push(vm->ctx, &loop->written, (pel_carried){ .owner = owner, .key = key, .before = before });
    }
}

pel_val pel_run_loop_takes(pel_vm *vm, pel_val from, pel_val item) {
    if (!is_plain(item, 0) || pel_born(vm, from) >= vm->repeating.at[vm->repeating.n - 1].serial) return item;
    pel_str name = pel_is_list(from) ? PEL_STR("pop()") : PEL_STR("next()");
    pel_note_unknown(vm, name, PEL_STR("gives something else in each pass of a loop whose count is not known"));
    return symbol_at(vm, name, PEL_STR("i"));
}

/* ---- the loop ends ---- */

/* Does the value of a symbol depend on the pass? */
static bool depends(const pel_vm_loop *loop, pel_val v) {
    pel_str text = ((pel_symbol *)v)->text;
    for (uint32_t i = 0; i < loop->carried.n; i++) {
        if (!pel_is_symbol(loop->carried.at[i].inside)) continue;
        pel_str part = ((pel_symbol *)loop->carried.at[i].inside)->text;
        for (size_t at = 0; at + part.len <= text.len; at++)
            if (memcmp(text.ptr + at, part.ptr, part.len) == 0) return true;
    }
    return false;
}

static void end_carried(pel_vm *vm, pel_frame *f, const pel_vm_loop *loop, const pel_carried *row) {
    pel_val now = carried_value(vm, f, row);
    if (now == row->inside) { /* this run did not write it */
        set_carried(vm, f, row, row->before);
        return;
    }
    if (pel_is_symbol(row->inside)) pel_note_unknown(vm, ((pel_symbol *)row->inside)->text, PEL_WHY_LOOP);
    /* a value that does not depend on the pass is the same after each */
    if (now && pel_is_symbol(now) && depends(loop, now))
        set_carried(vm, f, row, symbol_at(vm, row->name, pel_symbol_arg(vm, loop->count)));
}

/* The next run will know that it changes; in this one it is unknown from here on. */
static void end_written(pel_vm *vm, pel_frame *f, const pel_vm_loop *loop, const pel_carried *row) {
    pel_val now = part_of(vm, row->owner, row->key);
    if (!now || (is_plain(now, 0) && is_same(vm, now, row->before))) return;
    reached r;
    pel_changing found = { .file = f->code->file, .line = loop->line, .key = row->key };
    if (!pel_is(row->owner, PEL_L_CELL) && find_owner(f, row->owner, &r)) {
        found.variable = r.variable;
        found.attribute = r.attribute;
        pel_push(vm->ctx, &vm->changing, found);
    }
    pel_str name = part_name(vm, row->owner, found.variable, found.attribute, row->key);
    pel_note_unknown(vm, name, PEL_WHY_LOOP);
    set_part(vm, row->owner, row->key, symbol_at(vm, name, pel_symbol_arg(vm, loop->count)));
}

static void end(pel_vm *vm, pel_frame *f, pel_vm_loop *found) {
    pel_vm_loop loop = *found;
    *found = vm->loops.at[--vm->loops.n];
    if (vm->repeating.n > loop.outside) vm->repeating.n = loop.outside;
    for (uint32_t i = 0; i < loop.carried.n; i++) end_carried(vm, f, &loop, &loop.carried.at[i]);
    for (uint32_t i = 0; i < loop.written.n; i++) end_written(vm, f, &loop, &loop.written.at[i]);
}

void pel_run_loop_ends(pel_vm *vm, pel_frame *f, pel_val iter) {
    pel_vm_loop *found = loop_of(vm, iter);
    if (found) end(vm, f, found);
}

/* ---- while ---- */

static pel_vm_loop *while_of(pel_vm *vm, const pel_frame *f, const pel_vm_insn *start) {
    for (uint32_t i = vm->loops.n; i > 0; i--)
        if (vm->loops.at[i - 1].frame == f && vm->loops.at[i - 1].start == start) return &vm->loops.at[i - 1];
    return NULL;
}

/* A loop that is left by what is not known (`while True: if input() == 'y': break`) hears the same answer for ever. */
static void count_rounds(pel_vm *vm, const pel_frame *f, const pel_vm_insn *start) {
    bool is_same_loop = vm->going_round.frame == f && vm->going_round.start == start;
    if (is_same_loop && vm->going_round.answers == vm->answers) return;
    vm->going_round.passes = is_same_loop ? vm->going_round.passes + 1 : 0;
    vm->going_round.frame = f;
    vm->going_round.start = start;
    vm->going_round.answers = vm->answers;
    if (vm->going_round.passes > MAX_ROUNDS) pel_over_budget(vm, "passes of a loop that something unknown ends");
}

void pel_run_while_begins(pel_vm *vm, const pel_frame *f, const pel_vm_insn *start) {
    pel_vm_loop *loop = while_of(vm, f, start);
    if (loop) loop->passes++;
    if (vm->answers) count_rounds(vm, f, start);
}

static const pel_vm_insn *body_of(const pel_frame *f, const pel_vm_insn *start) {
    const pel_vm_insn *body = start + 1, *end = f->code->insns + start->b;
    for (const pel_vm_insn *insn = start + 1; insn < end && insn->op != PEL_I_WHILE; insn++)
        if ((insn->op == PEL_I_POP_JUMP_IF_FALSE || insn->op == PEL_I_POP_JUMP_IF_TRUE) && insn->a) body = insn + 1;
    return body;
}

/* Which truth of a part of the test leads into the body, or out of the loop. */
static bool leads(const pel_frame *f, const pel_vm_insn *start, const pel_vm_insn *jump, bool inside) {
    const pel_vm_insn *target = f->code->insns + jump->b;
    bool jumps_if = jump->op == PEL_I_POP_JUMP_IF_TRUE;
    if (target == body_of(f, start)) return jumps_if == inside;
    if (jump->b == start->b) return jumps_if != inside;
    return inside; /* to another part */
}

static bool calls(const pel_vm_insn *from, const pel_vm_insn *to) {
    for (; from < to; from++)
        if (from->op == PEL_I_CALL || from->op == PEL_I_CALL_KW || from->op == PEL_I_CALL_EX) return true;
    return false;
}

static pel_val count_of(pel_vm *vm, const pel_frame *f, const pel_vm_insn *start, pel_val symbol) {
    pel_str test = ((pel_symbol *)symbol)->text;
    const pel_node *node = f->code->nodes ? f->code->nodes[start - f->code->insns] : NULL;
    if (node && node->kind == PEL_While) {
        pel_buf text = pel_buf_in(vm->ctx);
        pel_print(vm->ctx, node->While.test, &(pel_print_options){ .one_line = true }, &text);
        test = pel_buf_str(&text);
        while (test.len && test.ptr[test.len - 1] == '\n') test.len--;
    }
    pel_str text = pel_format(vm->ctx, "passes(%.*s)", PEL_FMT(test));
    return pel_symbol_of(vm, text, PEL_STR("how often a loop runs is not known"));
}

/* The test was `i < n`, and a pass adds one: there are n passes, less what i was before. The same backwards. */
static pel_val counted(pel_vm *vm, const pel_frame *f, const pel_vm_loop *loop) {
    pel_str test = ((pel_symbol *)loop->test)->text;
    for (uint32_t i = 0; i < loop->carried.n; i++) {
        const pel_carried *row = &loop->carried.at[i];
        pel_val now = carried_value(vm, f, row);
        if (!pel_is_symbol(row->inside) || !now || !pel_is_symbol(now)) continue;
        pel_str name = ((pel_symbol *)row->inside)->text, step = ((pel_symbol *)now)->text;
        if (!pel_str_starts(test, name) || !pel_str_starts(step, name)) continue;
        pel_str asks = pel_str_from(test, name.len), does = pel_str_from(step, name.len);
        bool up = pel_str_starts(asks, PEL_STR(" < ")) && pel_str_is(does, " + 1");
        bool down = pel_str_starts(asks, PEL_STR(" > ")) && pel_str_is(does, " - 1");
        if (!up && !down) continue;
        pel_str bound = pel_str_from(asks, 3);
        bool is_number = bound.len && bound.len < 10;
        for (size_t k = 0; k < bound.len; k++) is_number = is_number && bound.ptr[k] >= '0' && bound.ptr[k] <= '9';
        pel_val limit = is_number ? pel_int_from_text(vm, bound, 10) : pel_symbol_of(vm, bound, PEL_WHY_LOOP);
        if (pel_is_symbol(limit) && depends(loop, limit)) continue;
        return pel_binary(vm, PEL_Sub, up ? limit : row->before, up ? row->before : limit);
    }
    return NULL;
}

/* What was made in the loop has its count: from now on that says how many there were. */
static void end_while(pel_vm *vm, pel_frame *f, pel_vm_loop *loop) {
    pel_val count = pel_is_symbol(loop->count) ? counted(vm, f, loop) : NULL;
    if (count && pel_is_symbol(count)) {
        ((pel_symbol *)loop->count)->text = ((pel_symbol *)count)->text;
        ((pel_symbol *)loop->count)->level = ((pel_symbol *)count)->level;
    } else if (pel_is_symbol(loop->count)) {
        pel_note_unknown(vm, ((pel_symbol *)loop->count)->text, ((pel_symbol *)loop->count)->why);
    }
    end(vm, f, loop);
}

int pel_run_while_test(pel_vm *vm, pel_frame *f, pel_val symbol) {
    const pel_vm_insn *jump = f->next - 1, *start = jump;
    while (start->op != PEL_I_WHILE) start--;
    pel_vm_loop *loop = while_of(vm, f, start);
    if (!loop) {
        pel_vm_loop made = { .frame = f, .start = start, .test = symbol, .outside = vm->repeating.n, .passes = 1 };
        pel_push(vm->ctx, &vm->repeating, (pel_repeat){ count_of(vm, f, start, symbol), ++vm->loop_serial });
        begin(vm, f, made, start);
        if (calls(start, jump)) return leads(f, start, jump, true); /* who knows what it would do a second time */
        vm->loops.at[vm->loops.n - 1].passes = 0;
        f->next = start;
        return -1;
    }
    if (loop->passes <= 1) loop->test = symbol;
    return leads(f, start, jump, loop->passes <= 1);
}

void pel_run_while_ends(pel_vm *vm, pel_frame *f, const pel_vm_insn *start) {
    pel_vm_loop *loop = while_of(vm, f, start);
    if (loop) end_while(vm, f, loop);
}
