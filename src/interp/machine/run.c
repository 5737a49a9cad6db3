/* The machine's loop. A call of an interpreted function from interpreted code pushes a frame and goes on in the same
 * loop; only natives that call back enter it again. */
#include "interp/code/ops.h"
#include "interp/machine/run.h"

#define MAX_TRACE 200

#define MAX_FRAMES 1000

uint32_t pel_frame_line(const pel_frame *frame) {
    size_t at = (size_t)(frame->next - frame->code->insns);
    return frame->code->n_insns ? frame->code->lines[at ? at - 1 : 0] : 0;
}

static pel_val unbound(pel_vm *vm, pel_val name, bool is_free) {
    return pel_raise(vm, is_free ? vm->types.NameError : vm->types.UnboundLocalError,
                     is_free
                         ? "cannot access free variable '%s' where it is not associated with a value in enclosing scope"
                         : "cannot access local variable '%s' where it is not associated with a value",
                     pel_string_at(name)->text);
}

/* A script that was a notebook calls what only a notebook has; a script that catches the exception asks whether it is
 * there. */
static pel_val of_notebook(pel_vm *vm, const pel_frame *f, pel_val name) {
    bool is_target = f->code->source && f->code->source->is_target;
    if (!is_target || f->n_blocks || !(pel_text_is(name, "get_ipython") || pel_text_is(name, "display"))) return NULL;
    return pel_symbol_of(vm, pel_text_of(name), PEL_STR("a notebook gives it"));
}

static pel_val load_global(pel_vm *vm, const pel_frame *f, pel_val name) {
    pel_val found = pel_dict_get_str(f->globals, name);
    if (!found) found = pel_dict_get_str(vm->builtins, name);
    if (!found) found = of_notebook(vm, f, name);
    if (!found) pel_raise(vm, vm->types.NameError, "name '%s' is not defined", pel_string_at(name)->text);
    return found;
}

static pel_val load_name(pel_vm *vm, const pel_frame *f, pel_val name) {
    if (f->names_object) {
        vm->catching++;
        pel_val found = pel_getitem(vm, f->names_object, name);
        vm->catching--;
        if (found) return found;
        if (!pel_raised_is(vm, vm->types.KeyError)) return NULL;
        pel_forget(vm);
    } else if (f->names) {
        pel_val found = pel_dict_get_str(f->names, name);
        if (found) return found;
    }
    return load_global(vm, f, name);
}

static bool store_name(pel_vm *vm, pel_frame *f, pel_val name, pel_val value) {
    if (f->names_object) return pel_setitem(vm, f->names_object, name, value);
    pel_dict_set_str(vm, f->names ? f->names : f->globals, name, value);
    return true;
}

/* Puts place and context into the exception that leaves this frame. */
static bool is_target(const pel_frame *f) { return f->function && f->code->source && f->code->source->is_target; }

/* An operation of ours that raised without saying on what: its first operand has the place that made it. */
static void note_operand(pel_vm *vm, pel_exception *e, const pel_frame *f) {
    if (e->head.attrs && pel_dict_get_c(vm, e->head.attrs, "given")) return;
    for (uint32_t i = 0; i < f->code->n_args; i++) {
        pel_val v = f->slots[i];
        if (!v || pel_is_small(v) || !v->attrs || !pel_dict_get_c(vm, v->attrs, "_shape")) continue;
        if (!pel_dict_get_c(vm, v->attrs, "_given_by") && !pel_dict_get_c(vm, v->attrs, "_shaped_by")) continue;
        pel_dict_set_c(vm, pel_attrs(vm, &e->head), "given", v);
        return;
    }
}

static void add_trace(pel_vm *vm, const pel_frame *f) {
    pel_exception *e = (pel_exception *)vm->raised;
    pel_trace_row row = { f->code, pel_frame_line(f) };
    if (e->trace.n < MAX_TRACE)
        pel_push(vm->ctx, &e->trace, row);
    else if (e->trace.at[MAX_TRACE - 1].code->is_stub) /* of a deep one, at least one place of the program itself */
        e->trace.at[MAX_TRACE - 1] = row;
    if (vm->on_shape && f->code->is_stub) note_operand(vm, e, f);
}

/* A method call without making a method: finds the function on the type. */
static bool load_method(pel_vm *vm, pel_val v, pel_val name, pel_val *func, pel_val *self) {
    pel_type *type = pel_type_of(vm, v);
    if (!type->has_getattr && type->layout != PEL_L_TYPE && type->layout != PEL_L_MODULE &&
        type->layout != PEL_L_SUPER && type->layout != PEL_L_SYMBOL) {
        pel_val found = pel_lookup(vm, type, name);
        if (found &&
            (pel_is(found, PEL_L_FUNCTION) || (pel_is(found, PEL_L_NATIVE) && ((pel_native *)found)->is_method)) &&
            (pel_is_small(v) || !v->attrs || !pel_dict_get_str(v->attrs, name))) {
            *func = found;
            *self = v;
            return true;
        }
    }
    if (type->layout == PEL_L_OBJECT && type->has_getattr && !type->has_attribute) {
        pel_val found = pel_lookup(vm, type, name);
        if (found && pel_is(found, PEL_L_FUNCTION) && (!v->attrs || !pel_dict_get_str(v->attrs, name))) {
            *func = found;
            *self = v;
            return true;
        }
    }
    pel_val found = pel_getattr(vm, v, name);
    if (!found) return false;
    *func = found;
    *self = NULL;
    if (pel_is(found, PEL_L_METHOD) && found->type == vm->types.method) {
        *func = ((pel_method *)found)->func;
        *self = ((pel_method *)found)->self;
    }
    return true;
}

/* What a call does next: a frame to go on in, or a value, or neither: raised. */
typedef struct outcome {
    pel_frame *frame;
    pel_val value;
} outcome;

static outcome start_function(pel_vm *vm, pel_function *fn, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (vm->depth >= MAX_FRAMES) {
        pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
        return (outcome){ 0 };
    }
    pel_frame *frame = pel_bind_args(vm, fn, args, n, kw);
    if (!frame) return (outcome){ 0 };
    if (fn->code->is_generator || fn->code->is_coroutine) return (outcome){ .value = pel_make_generator(vm, frame) };
    return (outcome){ .frame = frame };
}

/* A class of plain objects with an interpreted __init__: its frame runs in this loop, and gives self. */
static outcome start_type(pel_vm *vm, pel_type *type, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (type->head.type != vm->types.type) {
        pel_val call = pel_lookup(vm, type->head.type, vm->names.s_call);
        if (call && !pel_is(call, PEL_L_NATIVE)) return (outcome){ .value = pel_call(vm, &type->head, args, n, kw) };
    }
    pel_val new = pel_lookup(vm, type, vm->names.s_new), init = pel_lookup(vm, type, vm->names.s_init);
    pel_val object_new = pel_dict_get_str(vm->types.object->head.attrs, vm->names.s_new);
    if (type->layout != PEL_L_OBJECT || new != object_new || !pel_is(init, PEL_L_FUNCTION) ||
        ((pel_function *)init)->code->is_generator)
        return (outcome){ .value = pel_type_call(vm, type, args, n, kw) };
    pel_val room[16];
    pel_val *all = n < 16 ? room : pel_new_array(vm->ctx, n + 1, pel_val);
    all[0] = pel_call1(vm, new, &type->head);
    if (!all[0]) return (outcome){ 0 };
    if (n) memcpy(all + 1, args, n * sizeof *args);
    if (vm->on_construct) vm->on_construct(vm, all[0], args, n, kw);
    outcome out = start_function(vm, (pel_function *)init, all, n + 1, kw);
    if (out.frame) out.frame->self = all[0];
    return out;
}

/* An interpreted callee gets a frame that the loop of pel_run goes on with, so programs nest deeper than the C stack.
 * Only what pel_call takes recurses. The frame copies its arguments, so `room` may go out of scope. */
static outcome start_call(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw) {
    for (int hops = 0; hops < 3; hops++) {
        if (pel_is_small(callee)) break;
        switch (callee->type->layout) {
        case PEL_L_FUNCTION: return start_function(vm, (pel_function *)callee, args, n, kw);
        case PEL_L_TYPE: return start_type(vm, pel_as_type(callee), args, n, kw);
        case PEL_L_OBJECT: {
            pel_val call = pel_lookup(vm, callee->type, vm->names.s_call);
            if (!call || !pel_is(call, PEL_L_FUNCTION)) goto plain;
            pel_val room[16];
            pel_val *all = n < 16 ? room : pel_new_array(vm->ctx, n + 1, pel_val);
            all[0] = callee;
            if (n) memcpy(all + 1, args, n * sizeof *args);
            outcome out = start_function(vm, (pel_function *)call, all, n + 1, kw);
            if (out.frame && vm->on_call && vm->on_call(vm, callee, args, n, kw)) out.frame->watched = callee;
            return out;
        }
        case PEL_L_METHOD: {
            pel_method *method = (pel_method *)callee;
            if (!pel_is(method->func, PEL_L_FUNCTION)) goto plain;
            pel_val room[16];
            pel_val *all = n < 16 ? room : pel_new_array(vm->ctx, n + 1, pel_val);
            all[0] = method->self;
            if (n) memcpy(all + 1, args, n * sizeof *args);
            return start_function(vm, (pel_function *)method->func, all, n + 1, kw);
        }
        default: goto plain;
        }
    }
plain:
    return (outcome){ .value = pel_call(vm, callee, args, n, kw) };
}

/* DICT_MERGE has refused names that two dicts give, and has noted an unknown ** as lost; keys that are no str are found
 * only here. The names are interned because the binding of arguments compares pointers first. */
static outcome call_ex(pel_vm *vm, pel_val callee, pel_val self, pel_val positional, pel_val keywords) {
    pel_val *args;
    uint32_t n;
    if (pel_is_tuple(positional) || pel_is_list(positional)) {
        args = pel_items(positional, &n);
    } else if (!pel_collect(vm, positional, &args, &n)) {
        return (outcome){ 0 };
    }
    if (self) {
        pel_val *all = pel_new_array(vm->ctx, n + 1, pel_val);
        all[0] = self;
        if (n) memcpy(all + 1, args, n * sizeof *args);
        args = all;
        n++;
    }
    if (!keywords) return start_call(vm, callee, args, n, NULL);
    pel_dict *dict = pel_dict_at(keywords);
    pel_kw kw = { 0 };
    pel_val *names = pel_new_array(vm->ctx, dict->live + 1, pel_val);
    kw.values = pel_new_array(vm->ctx, dict->live + 1, pel_val);
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(dict, &at));) {
        if (!pel_is_str(entry->key)) {
            pel_raise(vm, vm->types.TypeError, "keywords must be strings");
            return (outcome){ 0 };
        }
        names[kw.n] = pel_intern_val(vm, entry->key);
        kw.values[kw.n++] = entry->value;
    }
    kw.names = names;
    return start_call(vm, callee, args, n, kw.n ? &kw : NULL);
}

/* Binary operators on small ints and floats, without asking types. NULL: not of that kind. */
static inline pel_val fast_binary(pel_vm *vm, uint32_t op, pel_val a, pel_val b) {
    if (pel_is_small(a) && pel_is_small(b)) {
        int64_t x = pel_small(a), y = pel_small(b), r;
        switch (op) {
        case PEL_Add: return pel_int_of(vm, x + y);
        case PEL_Sub: return pel_int_of(vm, x - y);
        case PEL_Mult: return __builtin_mul_overflow(x, y, &r) ? NULL : pel_int_of(vm, r);
        case PEL_BitAnd: return pel_from_small(x & y);
        case PEL_FloorDiv:
            if (y <= 0) return NULL;
            r = x / y;
            return pel_from_small(r - (x % y < 0));
        case PEL_Mod:
            if (y <= 0) return NULL;
            r = x % y;
            return pel_from_small(r < 0 ? r + y : r);
        default: return NULL;
        }
    }
    return NULL;
}

static inline pel_val fast_compare(pel_vm *vm, uint32_t op, pel_val a, pel_val b) {
    if (op == PEL_Is || op == PEL_IsNot) {
        if (a != b && (pel_is_symbol(a) || pel_is_symbol(b))) return NULL;
        return pel_bool_of(vm, (a == b) == (op == PEL_Is));
    }
    if (pel_is_small(a) && pel_is_small(b)) {
        int64_t x = pel_small(a), y = pel_small(b);
        switch (op) {
        case PEL_Eq: return pel_bool_of(vm, x == y);
        case PEL_NotEq: return pel_bool_of(vm, x != y);
        case PEL_Lt: return pel_bool_of(vm, x < y);
        case PEL_LtE: return pel_bool_of(vm, x <= y);
        case PEL_Gt: return pel_bool_of(vm, x > y);
        case PEL_GtE: return pel_bool_of(vm, x >= y);
        default: break;
        }
    }
    return NULL;
}

#define PUSH(v) (stack[sp++] = (v))
#define POP() (stack[--sp])
#define TOP() (stack[sp - 1])
#define FAIL()                                                                                                         \
    do {                                                                                                               \
        f->sp = sp;                                                                                                    \
        goto failed;                                                                                                   \
    } while (0)
/* Before anything that may look at the frame from outside. */
#define SAVE() (f->next = next, f->sp = sp, vm->steps = steps)
#define LOAD_FRAME() (next = f->next, stack = f->stack, sp = f->sp, code = f->code)

pel_val pel_run(pel_vm *vm, pel_frame *entry) {
    pel_frame *f = entry;
    const pel_vm_insn *next;
    pel_val *stack;
    uint32_t sp;
    pel_codeobj *code;
    uint64_t steps = vm->steps;
    const bool recorded = vm->on_step != NULL;
    f->is_entry = true;
    f->back = vm->frame;
    f->handled = vm->handled;
    vm->frame = f;
    vm->depth++;
    vm->c_depth++;
    LOAD_FRAME();
    if (vm->raised) goto failed; /* thrown into a generator */

    for (;;) {
        if (recorded && vm->on_step) {
            SAVE();
            vm->on_step(vm, f, next, sp);
            steps = vm->steps;
        }
        const pel_vm_insn insn = *next++;
        steps++;
        switch ((pel_vm_op)insn.op) {
        case PEL_I_NOP: break;
        case PEL_I_POP: sp--; break;
        case PEL_I_COPY: {
            pel_val v = stack[sp - insn.b];
            PUSH(v);
            break;
        }
        case PEL_I_SWAP: {
            pel_val v = stack[sp - insn.b];
            stack[sp - insn.b] = TOP();
            TOP() = v;
            break;
        }
        case PEL_I_PUSH_NULL: PUSH(NULL); break;
        case PEL_I_LOAD_CONST: PUSH(code->consts[insn.b]); break;
        case PEL_I_LOAD_FAST: {
            pel_val v = f->slots[insn.b];
            if (!v) {
                SAVE();
                unbound(vm, code->locals[insn.b], false);
                FAIL();
            }
            PUSH(v);
            break;
        }
        case PEL_I_STORE_FAST: f->slots[insn.b] = POP(); break;
        case PEL_I_DELETE_FAST:
            if (!f->slots[insn.b]) {
                SAVE();
                unbound(vm, code->locals[insn.b], false);
                FAIL();
            }
            f->slots[insn.b] = NULL;
            break;
        case PEL_I_LOAD_DEREF: {
            pel_val v = ((pel_cell *)f->slots[code->n_locals + insn.b])->value;
            if (!v) {
                SAVE();
                unbound(vm, code->cells[insn.b], true);
                FAIL();
            }
            PUSH(v);
            break;
        }
        case PEL_I_STORE_DEREF: {
            pel_val cell = f->slots[code->n_locals + insn.b];
            if (vm->repeating.n && insn.b >= code->n_cells) pel_run_loop_writes(vm, cell, code->cells[insn.b]);
            ((pel_cell *)cell)->value = POP();
            break;
        }
        case PEL_I_DELETE_DEREF: ((pel_cell *)f->slots[code->n_locals + insn.b])->value = NULL; break;
        case PEL_I_LOAD_CLOSURE: PUSH(f->slots[code->n_locals + insn.b]); break;
        case PEL_I_LOAD_CLASS_DEREF: {
            pel_val v = f->names ? pel_dict_get_str(f->names, code->cells[insn.b]) : NULL;
            if (!v) v = ((pel_cell *)f->slots[code->n_locals + insn.b])->value;
            if (!v) {
                SAVE();
                unbound(vm, code->cells[insn.b], true);
                FAIL();
            }
            PUSH(v);
            break;
        }
        case PEL_I_LOAD_GLOBAL: {
            SAVE();
            pel_val v = load_global(vm, f, code->names[insn.b]);
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_STORE_GLOBAL:
            if (vm->repeating.n) pel_run_loop_writes(vm, &f->globals->head, code->names[insn.b]);
            pel_dict_set_str(vm, f->globals, code->names[insn.b], stack[--sp]);
            break;
        case PEL_I_DELETE_GLOBAL:
            SAVE();
            if (!pel_dict_del_str(vm, f->globals, code->names[insn.b])) {
                pel_raise(vm, vm->types.NameError, "name '%s' is not defined",
                          pel_string_at(code->names[insn.b])->text);
                FAIL();
            }
            break;
        case PEL_I_LOAD_NAME: {
            SAVE();
            pel_val v = load_name(vm, f, code->names[insn.b]);
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_STORE_NAME:
            SAVE();
            if (!store_name(vm, f, code->names[insn.b], stack[--sp])) FAIL();
            break;
        case PEL_I_DELETE_NAME:
            SAVE();
            if (!pel_dict_del_str(vm, f->names ? f->names : f->globals, code->names[insn.b])) {
                pel_raise(vm, vm->types.NameError, "name '%s' is not defined",
                          pel_string_at(code->names[insn.b])->text);
                FAIL();
            }
            break;
        case PEL_I_LOAD_ATTR: {
            SAVE();
            pel_val v = pel_getattr(vm, TOP(), code->names[insn.b]);
            if (!v) FAIL();
            steps = vm->steps;
            TOP() = v;
            break;
        }
        case PEL_I_STORE_ATTR: {
            SAVE();
            bool fine = pel_setattr(vm, stack[sp - 1], code->names[insn.b], stack[sp - 2]);
            steps = vm->steps;
            if (!fine) FAIL();
            sp -= 2;
            break;
        }
        case PEL_I_DELETE_ATTR:
            SAVE();
            if (!pel_setattr(vm, TOP(), code->names[insn.b], NULL)) FAIL();
            steps = vm->steps;
            sp--;
            break;
        case PEL_I_LOAD_METHOD: {
            SAVE();
            pel_val func, self;
            if (!load_method(vm, TOP(), code->names[insn.b], &func, &self)) FAIL();
            steps = vm->steps;
            TOP() = func;
            PUSH(self);
            break;
        }
        case PEL_I_LOAD_SUBSCR: {
            SAVE();
            pel_val v = pel_getitem(vm, stack[sp - 2], stack[sp - 1]);
            steps = vm->steps;
            if (!v) FAIL();
            sp--;
            TOP() = v;
            break;
        }
        case PEL_I_STORE_SUBSCR: {
            SAVE();
            bool fine = pel_setitem(vm, stack[sp - 2], stack[sp - 1], stack[sp - 3]);
            steps = vm->steps;
            if (!fine) FAIL();
            sp -= 3;
            break;
        }
        case PEL_I_DELETE_SUBSCR:
            SAVE();
            if (!pel_setitem(vm, stack[sp - 2], stack[sp - 1], NULL)) FAIL();
            steps = vm->steps;
            sp -= 2;
            break;
        case PEL_I_BINARY: {
            pel_val v = fast_binary(vm, insn.b, stack[sp - 2], stack[sp - 1]);
            if (!v) {
                SAVE();
                v = (insn.a ? pel_inplace : pel_binary)(vm, (pel_OPERATOR)insn.b, stack[sp - 2], stack[sp - 1]);
                steps = vm->steps;
                if (!v) FAIL();
            }
            sp--;
            TOP() = v;
            break;
        }
        case PEL_I_UNARY: {
            SAVE();
            pel_val v = pel_unary(vm, (pel_UNARYOP)insn.b, TOP());
            steps = vm->steps;
            if (!v) FAIL();
            TOP() = v;
            break;
        }
        case PEL_I_COMPARE: {
            pel_val v = fast_compare(vm, insn.b, stack[sp - 2], stack[sp - 1]);
            if (!v) {
                SAVE();
                v = pel_compare(vm, (pel_CMPOP)insn.b, stack[sp - 2], stack[sp - 1]);
                steps = vm->steps;
                if (!v) FAIL();
            }
            sp--;
            TOP() = v;
            break;
        }
        case PEL_I_JUMP: next = code->insns + insn.b; break;
        case PEL_I_JUMP_BACK:
            if (steps > vm->max_steps) {
                SAVE();
                pel_over_budget(vm, "steps");
            }
            next = code->insns + insn.b;
            break;
        case PEL_I_POP_JUMP_IF_FALSE:
        case PEL_I_POP_JUMP_IF_TRUE: {
            pel_val v = POP();
            int truth = v == vm->true_ ? 1 : v == vm->false_ || v == vm->none ? 0 : -2;
            if (truth == -2) {
                SAVE();
                bool is_of_while = insn.a && pel_is_symbol(v);
                truth = is_of_while ? pel_run_while_test(vm, f, v) : pel_truth(vm, v);
                steps = vm->steps;
                if (truth < 0 && !is_of_while) FAIL();
                if (truth < 0) {
                    next = f->next;
                    break;
                }
            }
            if (truth == (insn.op == PEL_I_POP_JUMP_IF_TRUE)) next = code->insns + insn.b;
            break;
        }
        case PEL_I_JUMP_IF_FALSE_OR_POP:
        case PEL_I_JUMP_IF_TRUE_OR_POP: {
            SAVE();
            int truth = pel_truth(vm, TOP());
            steps = vm->steps;
            if (truth < 0) FAIL();
            if (truth == (insn.op == PEL_I_JUMP_IF_TRUE_OR_POP))
                next = code->insns + insn.b;
            else
                sp--;
            break;
        }
        case PEL_I_POP_JUMP_IF_NOT_NONE:
            if (stack[--sp] != vm->none) next = code->insns + insn.b;
            break;
        case PEL_I_BUILD_TUPLE: {
            pel_val v = insn.b == 2 ? pel_pair_of(vm, stack + sp - 2) : pel_tuple_of(vm, stack + sp - insn.b, insn.b);
            sp -= insn.b;
            PUSH(v);
            break;
        }
        case PEL_I_BUILD_LIST: {
            pel_val v = pel_list_of(vm, stack + sp - insn.b, insn.b);
            sp -= insn.b;
            PUSH(v);
            break;
        }
        case PEL_I_BUILD_SET: {
            SAVE();
            pel_val v = pel_new_set(vm, vm->types.set);
            for (uint32_t i = sp - insn.b; i < sp; i++)
                if (!pel_dict_set(vm, pel_dict_at(v), stack[i], vm->none)) FAIL();
            sp -= insn.b;
            PUSH(v);
            break;
        }
        case PEL_I_BUILD_MAP: {
            SAVE();
            pel_val v = pel_new_dict(vm);
            for (uint32_t i = sp - 2 * insn.b; i < sp; i += 2)
                if (!pel_dict_set(vm, pel_dict_at(v), stack[i], stack[i + 1])) FAIL();
            sp -= 2 * insn.b;
            PUSH(v);
            break;
        }
        case PEL_I_BUILD_SLICE: {
            pel_val step = insn.b == 3 ? POP() : vm->none;
            pel_val stop = POP();
            TOP() = pel_new_slice(vm, TOP(), stop, step);
            break;
        }
        case PEL_I_BUILD_STRING: {
            pel_buf text = pel_buf_in(vm->ctx);
            for (uint32_t i = sp - insn.b; i < sp; i++) pel_put(&text, pel_text_of(stack[i]));
            sp -= insn.b;
            PUSH(pel_new_text_buf(vm, &text));
            break;
        }
        case PEL_I_FORMAT: {
            SAVE();
            pel_val v = pel_run_format(vm, stack[sp - 1 - insn.b], insn.a, insn.b ? stack[sp - 1] : NULL);
            if (!v) FAIL();
            steps = vm->steps;
            sp -= insn.b;
            TOP() = v;
            break;
        }
        case PEL_I_LIST_APPEND: {
            pel_val v = POP();
            pel_list_push(vm, stack[sp - insn.b], v);
            if (pel_takes_too_much(vm, f)) {
                SAVE();
                FAIL();
            }
            break;
        }
        case PEL_I_SET_ADD: {
            SAVE();
            pel_val v = POP();
            if (!pel_dict_set(vm, pel_dict_at(stack[sp - insn.b]), v, vm->none)) FAIL();
            steps = vm->steps;
            break;
        }
        case PEL_I_MAP_ADD: {
            SAVE();
            pel_val value = POP(), key = POP();
            if (!pel_dict_set(vm, pel_dict_at(stack[sp - insn.b]), key, value)) FAIL();
            break;
        }
        case PEL_I_LIST_EXTEND: {
            SAVE();
            pel_val v = POP();
            if (!pel_extend(vm, stack[sp - insn.b], v)) FAIL();
            steps = vm->steps;
            break;
        }
        case PEL_I_SET_UPDATE: {
            SAVE();
            pel_val v = POP(), *items;
            uint32_t n;
            if (!pel_collect(vm, v, &items, &n)) FAIL();
            for (uint32_t i = 0; i < n; i++)
                if (!pel_dict_set(vm, pel_dict_at(stack[sp - insn.b]), items[i], vm->none)) FAIL();
            steps = vm->steps;
            break;
        }
        case PEL_I_DICT_UPDATE:
        case PEL_I_DICT_MERGE: {
            SAVE();
            pel_val v = POP();
            if (!pel_run_merge(vm, pel_dict_at(stack[sp - insn.b]), v, insn.op == PEL_I_DICT_MERGE)) FAIL();
            steps = vm->steps;
            break;
        }
        case PEL_I_LIST_TO_TUPLE: TOP() = pel_tuple_of(vm, pel_list_at(TOP())->at, pel_list_at(TOP())->n); break;
        case PEL_I_UNPACK: {
            SAVE();
            pel_val v = POP();
            if (!pel_run_unpack(vm, v, insn.b, stack + sp)) FAIL();
            steps = vm->steps;
            sp += insn.b;
            break;
        }
        case PEL_I_UNPACK_EX: {
            SAVE();
            pel_val v = POP();
            if (!pel_run_unpack_ex(vm, v, insn.a, insn.b, stack + sp)) FAIL();
            steps = vm->steps;
            sp += insn.a + insn.b + 1;
            break;
        }
        case PEL_I_GET_ITER: {
            SAVE();
            pel_val v = pel_iter_of(vm, TOP());
            steps = vm->steps;
            if (!v) FAIL();
            TOP() = v;
            break;
        }
        case PEL_I_FOR_ITER: {
            SAVE();
            uint32_t outside = vm->repeating.n;
            pel_val v = pel_next_of(vm, TOP());
            steps = vm->steps;
            if (v) {
                if (vm->repeating.n > outside) {
                    pel_run_loop_begins(vm, f, TOP(), outside);
                    v = pel_run_loop_index(vm, f, v);
                }
                PUSH(v);
            } else if (vm->raised) {
                FAIL();
            } else {
                sp--;
                if (vm->loops.n) pel_run_loop_ends(vm, f, stack[sp]);
                next = code->insns + insn.b;
            }
            break;
        }
        case PEL_I_LEAVE_FOR:
            sp--;
            SAVE();
            if (vm->loops.n) pel_run_loop_ends(vm, f, stack[sp]);
            break;
        case PEL_I_WHILE:
            if (!vm->loops.n && !vm->asked.n) break;
            SAVE();
            pel_run_while_begins(vm, f, next - 1);
            break;
        case PEL_I_LEAVE_WHILE:
            SAVE();
            if (vm->loops.n) pel_run_while_ends(vm, f, code->insns + insn.b);
            break;
        case PEL_I_CALL:
        case PEL_I_CALL_KW:
        case PEL_I_CALL_EX: {
            SAVE();
            if (steps > vm->max_steps) pel_over_budget(vm, "steps");
            outcome out;
            if (insn.op == PEL_I_CALL_EX) {
                pel_val keywords = insn.b ? POP() : NULL;
                pel_val positional = POP();
                sp -= 2;
                out = call_ex(vm, stack[sp], stack[sp + 1], positional, keywords);
            } else {
                uint32_t n = insn.b;
                pel_val *args = stack + sp - n;
                pel_val callee = args[-2];
                sp -= n + 2;
                pel_kw kw = { 0 }, *given = NULL;
                if (insn.op == PEL_I_CALL_KW) {
                    pel_tuple *names = pel_tuple_at(code->consts[insn.a]);
                    n -= names->n;
                    kw = (pel_kw){ names->n, names->at, args + n };
                    given = &kw;
                }
                if (args[-1]) {
                    args--;
                    n++;
                }
                out = start_call(vm, callee, args, n, given);
            }
            steps = vm->steps;
            if (out.frame) {
                f->sp = sp;
                out.frame->back = f;
                out.frame->handled = vm->handled;
                f = out.frame;
                vm->frame = f;
                vm->depth++;
                LOAD_FRAME();
            } else if (out.value) {
                PUSH(out.value);
            } else {
                FAIL();
            }
            break;
        }
        case PEL_I_MAKE_FUNCTION: {
            pel_val parts[4] = { 0 };
            for (int i = 3; i >= 0; i--)
                if (insn.a >> i & 1) parts[i] = POP();
            PUSH(pel_run_make_function(vm, f, (pel_codeobj *)code->consts[insn.b], parts));
            break;
        }
        case PEL_I_BUILD_CLASS: {
            SAVE();
            pel_val v = pel_run_class(vm, stack + sp - 4);
            steps = vm->steps;
            if (!v) FAIL();
            sp -= 3;
            TOP() = v;
            break;
        }
        case PEL_I_RETURN: {
            pel_val v = POP();
            pel_frame *done = f;
            if (done->self) {
                if (v != vm->none && !pel_is_symbol(v)) {
                    SAVE();
                    pel_raise(vm, vm->types.TypeError, "__init__() should return None, not '%s'", pel_type_text(vm, v));
                    FAIL();
                }
                v = done->self;
            }
            if (done->watched) vm->on_return(vm, done->watched, v);
            if (is_target(done)) vm->on_leave(vm, done);
            vm->handled = done->handled;
            vm->frame = done->back;
            vm->depth--;
            vm->steps = steps;
            bool is_entry = done->is_entry;
            f = done->back;
            if (done->generator) {
                done->generator->frame = NULL;
                pel_free_frame(vm, done);
                vm->c_depth--;
                vm->generator_result = v;
                return NULL; /* ended: nothing is raised */
            }
            pel_free_frame(vm, done);
            if (is_entry) {
                vm->c_depth--;
                return v;
            }
            LOAD_FRAME();
            PUSH(v);
            break;
        }
        case PEL_I_YIELD: {
            pel_val v = POP();
            SAVE();
            vm->handled = f->handled;
            vm->frame = f->back;
            vm->depth--;
            vm->c_depth--;
            return v;
        }
        case PEL_I_YIELD_FROM: {
            SAVE();
            pel_val sent = POP();
            bool ended = false;
            pel_val v = pel_run_send(vm, TOP(), sent, &ended);
            steps = vm->steps;
            if (!v) FAIL();
            if (ended) {
                TOP() = v;
                break;
            }
            f->next = next - 1; /* again, with what is sent next */
            f->sp = sp;
            vm->handled = f->handled;
            vm->frame = f->back;
            vm->depth--;
            vm->c_depth--;
            return v;
        }
        case PEL_I_GET_YIELD_FROM:
        case PEL_I_GET_AWAITABLE:
        case PEL_I_GET_AITER: {
            SAVE();
            pel_val v = pel_run_get_awaitable(vm, TOP(), insn.op);
            steps = vm->steps;
            if (!v) FAIL();
            TOP() = v;
            break;
        }
        case PEL_I_GET_ANEXT: {
            SAVE();
            pel_val v = pel_run_get_awaitable(vm, TOP(), insn.op);
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_SETUP_TRY:
            f->blocks[f->n_blocks++] =
                (pel_vm_handler){ insn.b, sp, vm->handled, vm->loops.n, vm->repeating.n, next - 1 };
            break;
        case PEL_I_POP_TRY: f->n_blocks--; break;
        case PEL_I_POP_EXCEPT: vm->handled = POP(); break;
        case PEL_I_END_ASYNC_FOR: {
            SAVE();
            pel_val e = POP(), before = POP();
            if (!pel_is_a(vm, e, vm->types.StopAsyncIteration)) {
                vm->raised = e;
                FAIL();
            }
            vm->handled = before;
            sp--;
            break;
        }
        case PEL_I_RAISE: {
            SAVE();
            pel_val cause = insn.b == 2 ? POP() : NULL;
            pel_val what = insn.b ? POP() : NULL;
            pel_run_raise(vm, what, cause);
            steps = vm->steps;
            FAIL();
        }
        case PEL_I_RERAISE:
            SAVE();
            vm->raised = POP();
            FAIL();
        case PEL_I_MATCH_EXCEPTION: {
            SAVE();
            int match = pel_run_match_exception(vm, stack[sp - 2], stack[sp - 1]);
            steps = vm->steps;
            if (match < 0) FAIL();
            TOP() = pel_bool_of(vm, match);
            break;
        }
        case PEL_I_MATCH_GROUP:
            SAVE();
            if (!pel_run_match_group(vm, stack + sp - 2)) FAIL();
            break;
        case PEL_I_BEFORE_WITH: {
            SAVE();
            pel_val exit, entered;
            if (!pel_run_enter(vm, TOP(), insn.a != 0, &exit, &entered)) FAIL();
            steps = vm->steps;
            TOP() = exit;
            PUSH(NULL);
            PUSH(entered);
            break;
        }
        case PEL_I_WITH_EXCEPT: {
            SAVE();
            pel_val e = TOP();
            pel_val args[] = { &e->type->head, e, vm->none };
            pel_val v = pel_call(vm, stack[sp - 4], args, 3, NULL);
            steps = vm->steps;
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_IMPORT_NAME: {
            SAVE();
            pel_val v = pel_run_import(vm, f, code->names[insn.b], insn.a, insn.small != 0);
            steps = vm->steps;
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_IMPORT_FROM: {
            SAVE();
            pel_val v = pel_import_from(vm, TOP(), code->names[insn.b]);
            steps = vm->steps;
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_IMPORT_STAR: {
            SAVE();
            pel_val v = POP();
            if (!pel_run_import_star(vm, f->names ? f->names : f->globals, v)) FAIL();
            steps = vm->steps;
            break;
        }
        case PEL_I_SETUP_ANNOTATIONS:
            SAVE();
            if (f->names_object) {
                if (!pel_setitem(vm, f->names_object, vm->names.s_annotations, pel_new_dict(vm))) FAIL();
            } else if (!pel_dict_get_str(f->names, vm->names.s_annotations)) {
                pel_dict_set_str(vm, f->names, vm->names.s_annotations, pel_new_dict(vm));
            }
            break;
        case PEL_I_LOAD_ASSERTION_ERROR: PUSH(&vm->types.AssertionError->head); break;
        case PEL_I_LOAD_TYPE_PARAM: {
            SAVE();
            pel_val v = pel_run_type_param(vm, code->names[insn.b], insn.a);
            steps = vm->steps;
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_GET_LEN: {
            SAVE();
            int64_t len = pel_len(vm, TOP());
            if (len < 0) FAIL();
            PUSH(pel_int_of(vm, len));
            break;
        }
        case PEL_I_MATCH_SEQUENCE:
        case PEL_I_MATCH_MAPPING: {
            SAVE();
            int match = pel_run_match_kind(vm, TOP(), insn.op == PEL_I_MATCH_MAPPING);
            if (match < 0) FAIL();
            PUSH(pel_bool_of(vm, match));
            break;
        }
        case PEL_I_MATCH_KEYS: {
            SAVE();
            pel_val v = pel_run_match_keys(vm, stack[sp - 2], stack[sp - 1]);
            if (!v) FAIL();
            PUSH(v);
            break;
        }
        case PEL_I_MATCH_CLASS: {
            SAVE();
            pel_val v = pel_run_match_class(vm, stack + sp - 3, insn.b);
            steps = vm->steps;
            if (!v) FAIL();
            sp -= 2;
            TOP() = v;
            break;
        }
        case PEL_I_DICT_REST: {
            SAVE();
            pel_val v = pel_run_dict_rest(vm, stack[sp - 2], stack[sp - 1]);
            if (!v) FAIL();
            sp--;
            TOP() = v;
            break;
        }
        case PEL_OP_COUNT_INTERP: PEL_BUG("no instruction");
        }
        continue;

    failed:
        steps = vm->steps;
        PEL_ASSERT(vm->raised);
        for (;;) {
            add_trace(vm, f);
            if (recorded && vm->on_fail) vm->on_fail(vm, f);
            if (vm->recovers && (next = pel_recover(vm, f))) {
                stack = f->stack;
                sp = f->sp;
                code = f->code;
                steps = vm->steps;
                break;
            }
            if (f->n_blocks) {
                pel_vm_handler handler = f->blocks[--f->n_blocks];
                if (vm->recovers && !f->code->is_stub) pel_note_caught(vm, f, &handler);
                stack = f->stack;
                code = f->code;
                sp = handler.depth;
                PUSH(handler.handled);
                PUSH(vm->raised);
                vm->handled = vm->raised;
                vm->raised = NULL;
                if (vm->loops.n > handler.loops) vm->loops.n = handler.loops;
                if (vm->repeating.n > handler.repeating) vm->repeating.n = handler.repeating;
                next = code->insns + handler.target;
                break;
            }
            pel_frame *done = f;
            if (is_target(done)) vm->on_leave(vm, done);
            vm->handled = done->handled;
            vm->frame = done->back;
            vm->depth--;
            f = done->back;
            bool is_entry = done->is_entry;
            if (done->generator) done->generator->frame = NULL;
            if (done->watched) vm->on_return(vm, done->watched, NULL);
            pel_free_frame(vm, done);
            if (is_entry) {
                vm->c_depth--;
                return NULL;
            }
        }
    }
}

pel_val pel_run_code(pel_vm *vm, pel_codeobj *code, pel_dict *globals, pel_dict *names, pel_val names_object) {
    pel_frame *frame = pel_new_frame(vm, code);
    frame->globals = globals;
    frame->names = names ? names : globals;
    frame->names_object = names_object;
    for (uint32_t i = 0; i < code->n_cells; i++) frame->slots[code->n_locals + i] = pel_new_cell(vm, NULL);
    return pel_run(vm, frame);
}
