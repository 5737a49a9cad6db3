/* Containers that were filled in a loop whose count is not known: each item that the loop put in stands for as many as
 * the loop has passes. How often is kept beside the container (vm->times), so that nothing is paid where there are no
 * such loops. */
#include "interp/vm.h"

uint32_t pel_born(pel_vm *vm, pel_val v) {
    return pel_is_small(v) ? 0 : (uint32_t)pel_map_find(&vm->born, PEL_KEY(v), 0);
}

static pel_val product(pel_vm *vm, pel_val a, pel_val b) {
    if (!a || a == vm->none) return b;
    if (!b || b == vm->none) return a;
    return pel_symbol_binary(vm, "*", a, b);
}

/* How often the loops that we are in do what is being done to v: only those that began after v was made. */
static pel_val passes(pel_vm *vm, pel_val v) {
    uint32_t born = pel_born(vm, v);
    pel_val result = NULL;
    for (uint32_t i = 0; i < vm->repeating.n; i++)
        if (vm->repeating.at[i].serial > born) result = product(vm, result, vm->repeating.at[i].count);
    return result;
}

pel_val pel_times_of(pel_vm *vm, pel_val container) {
    return vm->times.n ? pel_val_of(pel_map_pointer(&vm->times, PEL_KEY(container))) : NULL;
}

static uint32_t count_items(pel_val v) {
    uint32_t n;
    pel_items(v, &n);
    return n;
}

static void keep(pel_vm *vm, pel_val container, pel_val times) {
    pel_map_set(vm->ctx, &vm->times, PEL_KEY(container), PEL_KEY(times));
}

void pel_pushed(pel_vm *vm, pel_val list, pel_val item_times) {
    pel_val times = pel_times_of(vm, list), now = product(vm, passes(vm, list), item_times);
    uint32_t n = count_items(list);
    if (!times && !now) return;
    if (times == vm->ellipsis && n > 1) return; /* which items stand for several is not known any more */
    if (!times || n == 1) {
        times = pel_make_object(vm, vm->types.list, sizeof(pel_list));
        keep(vm, list, times);
    }
    pel_list *row = pel_list_at(times);
    while (row->n + 1 < n) pel_list_append(vm, row, vm->none);
    pel_list_append(vm, row, now ? now : vm->none);
}

void pel_resized(pel_vm *vm, pel_val container) {
    if (pel_times_of(vm, container) || passes(vm, container)) keep(vm, container, vm->ellipsis);
}

/* The times of a copy of all the items; each of the two may grow on its own. */
void pel_copy_times(pel_vm *vm, pel_val from, pel_val to) {
    pel_val times = pel_times_of(vm, from);
    if (times && times != vm->ellipsis && count_items(to) == count_items(from))
        keep(vm, to, pel_list_of(vm, pel_list_at(times)->at, pel_list_at(times)->n));
    else if (times)
        keep(vm, to, vm->ellipsis);
}

void pel_fill_set(pel_vm *vm, pel_val set, pel_val from) {
    if (pel_times_of(vm, from)) keep(vm, set, vm->ellipsis);
}

pel_val pel_item_times(pel_vm *vm, pel_val container, uint32_t at) {
    pel_val times = pel_times_of(vm, container);
    if (!times || times == vm->ellipsis || at >= pel_list_at(times)->n) return NULL;
    pel_val one = pel_list_at(times)->at[at];
    return one == vm->none ? NULL : one;
}

/* ---- how many ---- */

typedef struct tally {
    pel_vm *vm;
    uint64_t plain;
    pel_val counts[8]; /* of items that stand for several: the count, and how many items have it */
    uint64_t items[8];
    uint32_t n;
} tally;

static void count_one(tally *t, pel_val times) {
    if (!times) {
        t->plain++;
        return;
    }
    uint32_t i = 0;
    while (i < t->n && !pel_str_eq(pel_symbol_arg(t->vm, t->counts[i]), pel_symbol_arg(t->vm, times))) i++;
    if (i == PEL_COUNT(t->counts)) i--; /* more kinds of loops than anybody writes: named by the last */
    if (i == t->n) t->counts[t->n++] = times;
    t->items[i]++;
}

static pel_val sum_up(tally *t) {
    pel_val sum = NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        pel_val part = pel_symbol_binary(t->vm, "*", pel_int_of(t->vm, (int64_t)t->items[i]), t->counts[i]);
        sum = sum ? pel_symbol_binary(t->vm, "+", sum, part) : part;
    }
    return t->plain ? pel_symbol_binary(t->vm, "+", sum, pel_int_of(t->vm, (int64_t)t->plain)) : sum;
}

static pel_val times_of_member(pel_vm *vm, pel_val item) { return vm->on_count ? vm->on_count(vm, item) : NULL; }

pel_val pel_unknown_len(pel_vm *vm, pel_val v) {
    if (!vm->loop_serial) return NULL; /* there was no such loop */
    tally t = { .vm = vm };
    pel_val times = pel_times_of(vm, v);
    if (times == vm->ellipsis)
        return pel_symbol_of(vm, pel_format(vm->ctx, "len(<%s>)", pel_type_text(vm, v)), PEL_WHY_LOOP);
    if (pel_is_list(v) || pel_is_tuple(v)) {
        for (uint32_t i = 0, n = count_items(v); i < n; i++) {
            uint32_t now;
            count_one(&t, times ? pel_item_times(vm, v, i) : times_of_member(vm, pel_items(v, &now)[i]));
        }
    } else if (pel_is_dict(v) || pel_is(v, PEL_L_VIEW)) {
        const pel_dict *dict = pel_is_dict(v) ? pel_dict_at(v) : ((pel_dict_view *)v)->dict;
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(dict, &at));) count_one(&t, times_of_member(vm, entry->value));
    }
    return t.n ? sum_up(&t) : NULL;
}
