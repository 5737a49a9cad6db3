/* Going on after an exception that nobody would catch.
 *
 * The program would end there, but a scan wants the networks of the rest, too. The statement that can't
 * be run is left: what it assigns becomes a symbol with the exception as its reason, a test becomes a question, a
 * decorator gives what it got. Each is listed as unknown, with its place. A `raise` of a function leaves that function:
 * it is the caller's value that is not known. */
#include "interp/machine/run.h"
#include "python/print.h"

#include "interp/code/ops.h"

#define MAX_RECOVERED 2000 /* statements of one run */
#define MAX_DEEP 50        /* frames; a recursion without end is left near its beginning, not two thousand times */
#define MAX_TEXT 100

/* ---- would anybody catch it? ---- */

/* The class that an except clause names; NULL: that takes running it. */
static pel_val class_named(pel_vm *vm, const pel_frame *f, const pel_node *type) {
    if (type->kind == PEL_Name) {
        pel_val name = pel_interned(vm, pel_name_str(type->Name.id));
        pel_val found = pel_dict_get_str(f->globals, name);
        return found ? found : pel_dict_get_str(vm->builtins, name);
    }
    if (type->kind != PEL_Attribute) return NULL;
    pel_val of = class_named(vm, f, type->Attribute.value);
    if (!of || pel_is_small(of) || !of->attrs) return NULL;
    return pel_dict_get_str(of->attrs, pel_interned(vm, pel_name_str(type->Attribute.attr)));
}

static bool may_match(pel_vm *vm, const pel_frame *f, const pel_node *type) {
    if (!type) return true;
    if (type->kind == PEL_Tuple) {
        for (uint32_t i = 0; i < type->Tuple.elts.n; i++)
            if (may_match(vm, f, type->Tuple.elts.at[i])) return true;
        return false;
    }
    pel_val class = class_named(vm, f, type);
    return !class || !pel_is_type(class) || pel_is_a(vm, vm->raised, pel_as_type(class));
}

/* contextlib.suppress may catch it; other managers only clean up. */
static bool manager_may_catch(pel_vm *vm, const pel_frame *f, const pel_vm_handler *handler) {
    pel_val exit = handler->depth >= 2 ? f->stack[handler->depth - 2] : NULL;
    pel_val self = exit && pel_is(exit, PEL_L_METHOD) ? ((pel_method *)exit)->self : NULL;
    return self && pel_lookup(vm, pel_type_of(vm, self), pel_interned_c(vm, "_may_suppress")) != NULL;
}

static void look_for_way_out(void *arg, pel_node **slot) {
    bool *found = arg;
    const pel_node *node = *slot;
    if (!node || *found) return;
    *found |= node->kind == PEL_Return || node->kind == PEL_Break || node->kind == PEL_Continue;
    if (node->kind != PEL_FunctionDef && node->kind != PEL_AsyncFunctionDef && node->kind != PEL_Lambda)
        pel_each_child(*slot, look_for_way_out, arg);
}

/* `except Exception as e: log(e); raise`: it only looks at what it catches. */
static bool raises_again(const pel_node *handler) {
    const pel_nodes *body = &handler->ExceptHandler.body;
    const pel_node *last = body->n ? body->at[body->n - 1] : NULL;
    if (!last || last->kind != PEL_Raise) return false;
    const pel_node *what = last->Raise.exc;
    bool is_same = !what || (what->kind == PEL_Name && handler->ExceptHandler.name == what->Name.id);
    bool has_way_out = false;
    for (uint32_t i = 0; i < body->n; i++) look_for_way_out(&has_way_out, &body->at[i]);
    return is_same && !has_way_out;
}

static bool may_catch(pel_vm *vm, const pel_frame *f, const pel_vm_handler *handler) {
    if (handler->setup->a == PEL_SETS_CLEANUP) return false;
    if (handler->setup->a == PEL_SETS_WITH) return manager_may_catch(vm, f, handler);
    const pel_node *node = f->code->nodes ? f->code->nodes[handler->setup - f->code->insns] : NULL;
    if (!node || node->kind != PEL_Try) return true;
    bool is_swallowed = false;
    for (uint32_t i = 0; i < node->Try.finalbody.n; i++) look_for_way_out(&is_swallowed, &node->Try.finalbody.at[i]);
    for (uint32_t i = 0; i < node->Try.handlers.n && !is_swallowed; i++)
        if (may_match(vm, f, node->Try.handlers.at[i]->ExceptHandler.type))
            return !raises_again(node->Try.handlers.at[i]);
    return is_swallowed;
}

bool pel_is_caught(pel_vm *vm, const pel_frame *f) {
    for (; f; f = f->back)
        for (uint32_t i = 0; i < f->n_blocks; i++)
            if (may_catch(vm, f, &f->blocks[i])) return true;
    return false;
}

static bool is_gap(pel_vm *vm) {
    const pel_exception *e = (const pel_exception *)vm->raised;
    if (e->is_gap || pel_raised_is(vm, vm->types.RecursionError)) return true;
    if (e->is_meant || !e->trace.n || !e->trace.at[0].code->is_stub) return false;
    return pel_raised_is(vm, vm->types.TypeError) || pel_raised_is(vm, vm->types.AttributeError) ||
           pel_raised_is(vm, vm->types.NameError);
}

void pel_note_caught(pel_vm *vm, const pel_frame *f, const pel_vm_handler *handler) {
    if (handler->setup->a == PEL_SETS_CLEANUP || !is_gap(vm) || !may_catch(vm, f, handler)) return;
    pel_str what = pel_exception_text(vm, vm->raised);
    pel_str why = PEL_STR("pellucid's model of a library raised it, and the program goes on from there");
    pel_note_lost(vm, what, why);
}

/* Exceptions by which objects answer: a native that asked takes them. */
static bool is_answer(pel_vm *vm) {
    return vm->catching && (pel_raised_is(vm, vm->types.AttributeError) || pel_raised_is(vm, vm->types.StopIteration) ||
                            pel_raised_is(vm, vm->types.LookupError));
}

/* ---- the statement ---- */

static const pel_statement *statement_of(const pel_codeobj *code, uint32_t at) {
    for (uint32_t i = 0; i < code->n_statements; i++) {
        const pel_statement *row = &code->statements[i];
        if (row->start <= at && at < row->end) return row->depth < 0 ? NULL : row;
    }
    return NULL;
}

static bool may_be_left(pel_vm *vm, const pel_frame *f, const pel_statement *row) {
    if (!row || vm->n_recovered >= MAX_RECOVERED) return false;
    bool is_end = pel_raised_is(vm, vm->types.KeyboardInterrupt) || pel_raised_is(vm, vm->types.GeneratorExit);
    if (is_end || is_answer(vm)) return false;
    if (pel_raised_is(vm, vm->types.RecursionError) && vm->depth > MAX_DEEP) return false;
    if (row->node->kind == PEL_Raise && f->function) return false;
    return !pel_is_caught(vm, f);
}

/* Loops of an unknown count that were entered inside the statement are over. */
static void leave_loops(pel_vm *vm, const pel_frame *f, const pel_statement *row) {
    uint32_t keep = f->loops < vm->loops.n ? f->loops : vm->loops.n;
    uint32_t repeating = f->repeating < vm->repeating.n ? f->repeating : vm->repeating.n;
    for (uint32_t i = keep; i < vm->loops.n; i++) {
        const pel_vm_loop *loop = &vm->loops.at[i];
        bool is_around = false;
        if (loop->frame == f && loop->start)
            is_around = loop->start < f->code->insns + row->start || loop->start >= f->code->insns + row->end;
        for (int32_t k = 0; k < row->depth && loop->iter; k++) is_around |= f->stack[k] == loop->iter;
        if (!is_around) continue;
        keep = i + 1;
        if (loop->outside + 1 > repeating && loop->outside < vm->repeating.n) repeating = loop->outside + 1;
    }
    vm->loops.n = keep;
    vm->repeating.n = repeating;
}

/* ---- what it gives ---- */

static pel_node *value_node_of(const pel_node *node) {
    switch (node->kind) {
    case PEL_Assign: return node->Assign.value;
    case PEL_AnnAssign: return node->AnnAssign.value;
    case PEL_AugAssign: return node->AugAssign.target;
    case PEL_Return: return node->Return.value;
    case PEL_For:
    case PEL_AsyncFor: return node->For.iter;
    case PEL_If: return node->If.test;
    case PEL_With:
    case PEL_AsyncWith: return node->With.items.at[0]->withitem.context_expr;
    default: return NULL;
    }
}

static pel_str expression_text(pel_vm *vm, pel_node *node) {
    pel_buf text = pel_buf_in(vm->ctx);
    pel_print_options options = { .one_line = true };
    pel_print(vm->ctx, node, &options, &text);
    pel_str all = pel_buf_str(&text);
    while (all.len && (all.ptr[all.len - 1] == '\n' || all.ptr[all.len - 1] == ' ')) all.len--;
    return all.len > MAX_TEXT ? pel_format(vm->ctx, "%.*s…", MAX_TEXT, all.ptr) : all;
}

static pel_val lost_symbol(pel_vm *vm, pel_str text, pel_str why) {
    pel_val made = pel_symbol_of(vm, text, why);
    if (pel_is_symbol(made)) ((pel_symbol *)made)->is_missing = true;
    return made;
}

/* Names that the rest of a statement would bind: an import, a definition. */
static void bind_names(pel_vm *vm, pel_frame *f, uint32_t from, const pel_statement *row, pel_str why) {
    const pel_codeobj *code = f->code;
    for (uint32_t i = from; i < row->end; i++) {
        const pel_vm_insn *insn = &code->insns[i];
        if (insn->op == PEL_I_STORE_FAST) {
            f->slots[insn->b] = lost_symbol(vm, pel_text_of(code->locals[insn->b]), why);
        } else if (insn->op == PEL_I_STORE_DEREF) {
            pel_cell *cell = (pel_cell *)f->slots[code->n_locals + insn->b];
            cell->value = lost_symbol(vm, pel_text_of(code->cells[insn->b]), why);
        } else if (insn->op == PEL_I_STORE_NAME || insn->op == PEL_I_STORE_GLOBAL) {
            pel_val name = code->names[insn->b], symbol = lost_symbol(vm, pel_text_of(name), why);
            pel_dict *into = insn->op == PEL_I_STORE_NAME && f->names && !f->names_object ? f->names : f->globals;
            pel_dict_set_str(vm, into, name, symbol);
        }
    }
}

/* A decorator that can't be run gives what it got. at: the instruction that failed. */
static const pel_vm_insn *without_decorator(pel_vm *vm, pel_frame *f, uint32_t at, const pel_statement *row,
                                            pel_str why) {
    const pel_codeobj *code = f->code;
    if (row->node->kind != PEL_FunctionDef && row->node->kind != PEL_ClassDef &&
        row->node->kind != PEL_AsyncFunctionDef)
        return NULL;
    if (code->insns[at].op == PEL_I_CALL && code->nodes[at] == row->node) {
        pel_val given = f->stack[f->sp + 2];
        f->stack[f->sp++] = given;
        return &code->insns[at + 1];
    }
    uint32_t before = 0;
    for (uint32_t i = row->start; i < row->end; i++) {
        if (code->insns[i].op == PEL_I_MAKE_FUNCTION) return NULL;
        if (code->insns[i].op != PEL_I_PUSH_NULL || code->nodes[i] != row->node) continue;
        if (i > at) {
            f->sp = (uint32_t)row->depth + 2 * before;
            f->stack[f->sp++] = lost_symbol(vm, PEL_STR("decorator"), why);
            return &code->insns[i];
        }
        before++;
    }
    return NULL;
}

static const pel_vm_insn *go_on(pel_vm *vm, pel_frame *f, uint32_t at, const pel_statement *row, pel_str why) {
    const pel_vm_insn *insns = f->code->insns;
    const pel_vm_insn *decorated = without_decorator(vm, f, at, row, why);
    if (decorated) return decorated;
    pel_node *value = value_node_of(row->node);
    f->sp = (uint32_t)row->depth;
    if (value && row->value != UINT32_MAX && at < row->value) {
        pel_val symbol = lost_symbol(vm, expression_text(vm, value), why);
        if (pel_is_symbol(symbol)) ((pel_symbol *)symbol)->made_by = value;
        if (row->node->kind == PEL_If) return insns + (pel_truth(vm, symbol) > 0 ? row->value : row->other);
        f->stack[f->sp++] = symbol;
        return insns + row->value;
    }
    int kind = row->node->kind;
    bool is_plain = kind == PEL_Import || kind == PEL_ImportFrom || kind == PEL_FunctionDef || kind == PEL_ClassDef ||
                    kind == PEL_AsyncFunctionDef || kind == PEL_Assign;
    if (is_plain) bind_names(vm, f, at, row, why);
    return insns + row->end;
}

pel_val pel_lost_name(pel_vm *vm, pel_val module, pel_val name) {
    pel_val own = ((pel_module_object *)module)->name;
    pel_str of = pel_is_str(own) ? pel_text_of(own) : PEL_STR("module");
    pel_val made = lost_symbol(vm, pel_format(vm->ctx, "%.*s.%s", PEL_FMT(of), pel_string_at(name)->text),
                               pel_format(vm->ctx, "some lines of %.*s can't be run", PEL_FMT(of)));
    if (pel_is_symbol(made)) ((pel_symbol *)made)->is_named = true;
    pel_dict_set_str(vm, pel_attrs(vm, module), name, made);
    return made;
}

static void mark_module(pel_vm *vm, const pel_frame *f) {
    if (f->function || f->code->is_class || f->names != f->globals) return;
    pel_val name = pel_dict_get_str(f->globals, vm->names.s_name);
    pel_val module = name && pel_is_str(name) ? pel_dict_get_str(vm->modules, name) : NULL;
    if (module && pel_is(module, PEL_L_MODULE)) ((pel_module_object *)module)->is_leaky = true;
}

pel_str pel_library_of(pel_vm *vm, pel_str file) {
    for (uint32_t i = 0; i < vm->roots.n; i++) {
        pel_str root = vm->roots.at[i];
        bool is_library =
            pel_str_ends(root, PEL_STR("/site-packages")) || pel_str_ends(root, PEL_STR("/dist-packages"));
        if (!is_library || !pel_str_starts(file, root) || file.len <= root.len + 1) continue;
        pel_str inside = pel_str_from(file, root.len + 1);
        const char *slash = memchr(inside.ptr, '/', inside.len);
        return slash ? pel_str_cut(inside, 0, (size_t)(slash - inside.ptr)) : inside;
    }
    return (pel_str){ "", 0 };
}

/* "KeyError: 3" and "KeyError: 5": a line in a loop would be listed once for each pass. */
static bool is_of_kind(pel_str a, pel_str b) {
    const char *colon = memchr(a.ptr, ':', a.len);
    return colon && pel_str_starts(b, pel_str_cut(a, 0, (size_t)(colon - a.ptr) + 1));
}

/* A statement that only binds names: if it is left, they are symbols, and nothing else is changed. */
static bool only_binds(const pel_node *statement) {
    switch ((int)statement->kind) {
    case PEL_Import:
    case PEL_ImportFrom:
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef: return true;
    case PEL_Assign: return statement->Assign.targets.at[0]->kind == PEL_Name;
    case PEL_AnnAssign: return statement->AnnAssign.target->kind == PEL_Name;
    default: return false;
    }
}

/* Each line of the program's own is listed, of a library the first one: what is lost of it, nobody asked for by name.
 */
static void note(pel_vm *vm, const pel_frame *f, const pel_statement *statement, pel_str what) {
    uint32_t at = (uint32_t)(f->next - f->code->insns);
    bool in_value = statement->value != UINT32_MAX && at <= statement->value;
    const pel_exception *e = (const pel_exception *)vm->raised;
    pel_note row = { .what = what,
                     .why = PEL_STR("that line can't be run: what it gives is not known"),
                     .file = f->code->file,
                     .line = pel_frame_line(f),
                     .is_lost = !pel_is_contained(vm, f, statement->node, in_value) };
    pel_str library = pel_library_of(vm, f->code->file);
    if (library.len && pel_is_importing(vm, f)) row.library = pel_str_copy(vm->ctx, library);
    row.may_change = row.library.len && !only_binds(statement->node);
    for (uint32_t i = 0; i < vm->unknown.n && library.len; i++) {
        if (vm->unknown.at[i].is_premise || !pel_str_eq(vm->unknown.at[i].what, library)) continue;
        vm->unknown.at[i].is_lost |= row.is_lost;
        if (!row.library.len) vm->unknown.at[i].library = row.library;
        vm->unknown.at[i].may_change |= row.may_change;
        return;
    }
    if (library.len) {
        row.what = pel_str_copy(vm->ctx, library);
        row.why = pel_format(vm->ctx, "some of its lines can't be run, the first: %.*s", PEL_FMT(what));
    }
    for (uint32_t i = 0; i < e->trace.n; i++)
        if (!e->trace.at[i].code->is_stub) {
            row.file = e->trace.at[i].code->file;
            row.line = e->trace.at[i].line;
            break;
        }
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        pel_note *there = &vm->unknown.at[i];
        if (there->line != row.line || !pel_str_eq(there->file, row.file)) continue;
        if (pel_str_eq(there->what, what) || is_of_kind(there->what, what)) {
            there->is_lost |= row.is_lost;
            return;
        }
    }
    if (vm->unknown.n < 1000)
        pel_push(vm->ctx, &vm->unknown, row);
    else
        vm->unknown.at[999].is_lost |= row.is_lost;
}

const pel_vm_insn *pel_recover(pel_vm *vm, pel_frame *f) {
    if (f->code->is_stub || !f->code->n_statements) return NULL;
    if (vm->recovers_imports_only && !pel_is_importing(vm, f)) return NULL;
    uint32_t at = (uint32_t)(f->next - f->code->insns);
    at -= at > 0;
    const pel_statement *row = statement_of(f->code, at);
    if (!may_be_left(vm, f, row)) return NULL;
    pel_str what = pel_exception_text(vm, vm->raised);
    note(vm, f, row, what);
    if (!vm->n_recovered++) vm->asked_before = vm->asked.n;
    pel_forget(vm);
    mark_module(vm, f);
    leave_loops(vm, f, row);
    f->n_blocks = row->blocks;
    if (!f->n_blocks) vm->handled = f->handled;
    return go_on(vm, f, at, row, what);
}
