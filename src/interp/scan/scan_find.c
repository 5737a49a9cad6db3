/* The networks of a run: what the module's names, its lists and dicts hold; then what functions of the file made and
 * bound to a variable of theirs (a script's main). */
#include "interp/scan.h"

#define MAX_ITEMS 1000

static bool is_network(pel_scanner *scanner, pel_val v) {
    return !pel_is_small(v) && !v->type->is_native && pel_module_kind_of(scanner, v->type) &&
           pel_map_has(&scanner->births, PEL_KEY(v));
}

/* What something unknown made of a network: that one is inside. */
static bool is_wrapped(pel_scanner *scanner, pel_val v) {
    const pel_symbol *symbol = pel_is_symbol(v) ? (const pel_symbol *)v : NULL;
    if (!symbol || !symbol->made_of) return false;
    for (uint32_t k = 1; k < 4; k += 2) {
        const pel_tuple *given = pel_tuple_at(pel_tuple_at(symbol->made_of)->at[k]);
        for (uint32_t i = 0; i < given->n; i++)
            if (is_network(scanner, given->at[i])) return true;
    }
    return false;
}

static bool is_found(const pel_found_list *list, pel_val v) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].self == v) return true;
    return false;
}

static void add(pel_scanner *scanner, pel_found_list *out, pel_str name, pel_val v) {
    if ((is_network(scanner, v) || is_wrapped(scanner, v)) && !is_found(out, v))
        pel_push(scanner->vm->ctx, out, (pel_found){ name, v });
}

/* ---- names of the module ---- */

static bool is_whole(pel_scanner *scanner, const pel_map *parts, pel_val v) {
    return is_network(scanner, v) && !pel_map_has(parts, PEL_KEY(v));
}

/* The networks in a list or dict, but for those that are part of another one: layers that wait to be put together. */
static void add_items(pel_scanner *scanner, pel_found_list *out, const pel_map *parts, pel_found held) {
    pel_ctx *ctx = scanner->vm->ctx;
    pel_str name = held.name;
    pel_val v = held.self;
    uint32_t n, at = 0, seen = 0;
    if (!v->type->is_native) return;
    if (pel_is_list(v) || pel_is_tuple(v)) {
        pel_val *items = pel_items(v, &n);
        for (uint32_t i = 0; i < n && i < MAX_ITEMS; i++)
            if (is_whole(scanner, parts, items[i]))
                add(scanner, out, pel_format(ctx, "%.*s[%u]", PEL_FMT(name), i), items[i]);
    } else if (pel_is_dict(v)) {
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(v), &at)) && seen < MAX_ITEMS; seen++)
            if (is_whole(scanner, parts, entry->value))
                add(scanner, out,
                    pel_format(ctx, "%.*s[%.*s]", PEL_FMT(name), PEL_FMT(pel_symbol_arg(scanner->vm, entry->key))),
                    entry->value);
    }
}

/* ---- variables of functions ---- */

void pel_leave_function(pel_vm *vm, const pel_frame *frame) {
    pel_scanner *scanner = vm->scan;
    const pel_codeobj *code = frame->code;
    uint32_t n = code->n_locals + code->n_cells + code->n_free;
    /* what the methods of a module make becomes part of it */
    if (code->n_locals && frame->slots[0] && is_network(scanner, frame->slots[0]) &&
        pel_text_is(code->locals[0], "self"))
        return;
    for (uint32_t i = 0; i < n; i++) {
        pel_val v = frame->slots[i];
        if (v && i >= code->n_locals) v = ((pel_cell *)v)->value;
        if (!v || !is_network(scanner, v)) continue;
        pel_str name = pel_text_of(i < code->n_locals ? code->locals[i] : code->cells[i - code->n_locals]);
        uint32_t k = 0;
        while (k < scanner->locals.n && scanner->locals.at[k].self != v) k++;
        if (k == scanner->locals.n) pel_push(vm->ctx, &scanner->locals, (pel_found){ name, v });
        scanner->locals.at[k].name = name; /* the function that has it last knows it best */
    }
}

static pel_val ask(pel_vm *vm, pel_val v, const char *name) {
    bool failed;
    pel_val found = pel_find_attr(vm, v, pel_interned_c(vm, name), &failed);
    if (failed) pel_forget(vm);
    return found;
}

static void mark_parts(pel_scanner *scanner, pel_val self, pel_map *parts) {
    pel_vm *vm = scanner->vm;
    pel_val modules = self->attrs ? pel_dict_get_c(vm, self->attrs, "_modules") : NULL, *items;
    uint32_t at = 0, n;
    if (modules && pel_is_dict(modules)) {
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(modules), &at));)
            pel_map_set(vm->ctx, parts, PEL_KEY(entry->value), 1);
        return;
    }
    pel_val layers = ask(vm, self, "_layers_in_order");
    if (layers && pel_collect(vm, layers, &items, &n))
        for (uint32_t i = 0; i < n; i++)
            if (pel_is_tuple(items[i]) && pel_tuple_at(items[i])->n == 2)
                pel_map_set(vm->ctx, parts, PEL_KEY(pel_tuple_at(items[i])->at[1]), 1);
    pel_forget(vm);
}

static bool is_empty(pel_scanner *scanner, pel_val self) {
    pel_vm *vm = scanner->vm;
    if (pel_module_kind_of(scanner, self->type) != PEL_TORCH_MODULE || !self->attrs) return false;
    pel_val modules = pel_dict_get_c(vm, self->attrs, "_modules"), own = pel_dict_get_c(vm, self->attrs, "_parameters");
    return modules && pel_is_dict(modules) && !pel_dict_at(modules)->live && own && pel_is_dict(own) &&
           !pel_dict_at(own)->live;
}

void pel_find_networks(pel_scanner *scanner, pel_val module, pel_found_list *out) {
    if (!module || !pel_is(module, PEL_L_MODULE) || !module->attrs) return;
    uint32_t at = 0;
    pel_map parts = { 0 };
    for (uint32_t i = 0; i < scanner->order.n; i++) mark_parts(scanner, scanner->order.at[i]->self, &parts);
    for (pel_entry *entry; (entry = pel_dict_next(module->attrs, &at));) {
        if (!pel_is_str(entry->key) || pel_text_of(entry->key).ptr[0] == '.' || pel_is_small(entry->value)) continue;
        add(scanner, out, pel_text_of(entry->key), entry->value);
        add_items(scanner, out, &parts, (pel_found){ pel_text_of(entry->key), entry->value });
    }
    for (uint32_t i = 0; i < scanner->locals.n; i++) {
        const pel_found *one = &scanner->locals.at[i];
        if (!pel_map_has(&parts, PEL_KEY(one->self)) && !is_empty(scanner, one->self))
            add(scanner, out, one->name, one->self);
    }
}
