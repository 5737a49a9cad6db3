/* Generators and coroutines: frames that outlive a call. */
#include "interp/code/ops.h"
#include "interp/machine/run.h"

pel_val pel_make_generator(pel_vm *vm, pel_frame *frame) {
    bool is_coroutine = frame->code->is_coroutine, yields = frame->code->is_generator;
    pel_type *type = is_coroutine ? (yields ? vm->types.async_generator : vm->types.coroutine) : vm->types.generator;
    pel_generator *gen = pel_make_object(vm, type, sizeof *gen);
    gen->frame = frame;
    gen->name = frame->code->name;
    gen->qualname = frame->code->qualname;
    gen->kind = is_coroutine ? (yields ? PEL_ASYNC_GENERATOR : PEL_COROUTINE) : PEL_GENERATOR;
    frame->generator = gen;
    if (vm->on_generator) vm->on_generator(vm, frame);
    return &gen->head;
}

/* Goes on; NULL and *ended when it returned: vm->generator_result is what it returned. */
static pel_val resume(pel_vm *vm, pel_generator *gen, bool *ended) {
    pel_frame *frame = gen->frame;
    gen->is_running = true;
    gen->is_started = true;
    vm->generator_result = NULL;
    pel_val value = pel_run(vm, frame);
    gen->is_running = false;
    *ended = !value && !vm->raised;
    if (!value && vm->raised && pel_raised_is(vm, vm->types.StopIteration)) {
        pel_val cause = vm->raised;
        vm->raised = NULL;
        pel_raise(vm, vm->types.RuntimeError, "generator raised StopIteration");
        ((pel_exception *)vm->raised)->cause = cause;
    }
    return value;
}

pel_val pel_generator_resume(pel_vm *vm, pel_generator *gen, pel_val sent, bool *ended) {
    *ended = false;
    pel_spend(vm, 4);
    if (gen->is_running) return pel_raise(vm, vm->types.ValueError, "generator already executing");
    if (!gen->frame) {
        *ended = true;
        vm->generator_result = vm->none;
        return NULL;
    }
    if (vm->depth >= 1000 || vm->c_depth >= 600)
        return pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
    if (gen->is_started) gen->frame->stack[gen->frame->sp++] = sent;
    return resume(vm, gen, ended);
}

/* The iterator that a frame waits for in a `yield from`; NULL if it waits for nothing. */
static pel_val waits_for(const pel_generator *gen) {
    const pel_frame *frame = gen->frame;
    if (!gen->is_started || frame->next->op != PEL_I_YIELD_FROM) return NULL;
    return frame->stack[frame->sp - 1];
}

pel_val pel_generator_throw(pel_vm *vm, pel_generator *gen, pel_val exception) {
    if (!gen->frame) return pel_raise_val(vm, exception);
    if (gen->is_running) return pel_raise(vm, vm->types.ValueError, "generator already executing");
    pel_val inner = waits_for(gen);
    bool ended;
    if (inner) {
        pel_val value = NULL;
        if (pel_is(inner, PEL_L_GENERATOR)) {
            gen->is_running = true;
            value = pel_generator_throw(vm, (pel_generator *)inner, exception);
            gen->is_running = false;
            if (value) return value;
        } else {
            pel_raise_val(vm, exception);
        }
        if (pel_raised_is(vm, vm->types.StopIteration)) { /* the inner one returned: go on after it */
            pel_tuple *args = pel_tuple_at(((pel_exception *)vm->raised)->args);
            pel_val result = args->n ? args->at[0] : vm->none;
            pel_forget(vm);
            gen->frame->next++;
            gen->frame->stack[gen->frame->sp - 1] = result;
        }
    } else {
        pel_raise_val(vm, exception);
        if (!gen->is_started) {
            gen->frame = NULL;
            return NULL;
        }
    }
    pel_val value = resume(vm, gen, &ended);
    if (ended) return pel_raise_with(vm, vm->types.StopIteration, vm->generator_result);
    return value;
}

pel_val pel_run_send(pel_vm *vm, pel_val iter, pel_val sent, bool *ended) {
    *ended = false;
    if (pel_is(iter, PEL_L_GENERATOR)) {
        pel_val value = pel_generator_resume(vm, (pel_generator *)iter, sent, ended);
        return *ended ? vm->generator_result : value;
    }
    pel_val value = sent == vm->none ? pel_next_of(vm, iter) : pel_call_method(vm, iter, "send", &sent, 1);
    if (value) return value;
    if (!vm->raised) {
        *ended = true;
        return vm->stop_value ? vm->stop_value : vm->none;
    }
    if (!pel_raised_is(vm, vm->types.StopIteration)) return NULL;
    pel_tuple *args = pel_tuple_at(((pel_exception *)vm->raised)->args);
    value = args->n ? args->at[0] : vm->none;
    pel_forget(vm);
    *ended = true;
    return value;
}

pel_val pel_run_get_awaitable(pel_vm *vm, pel_val v, int op) {
    if (op == PEL_I_GET_YIELD_FROM) return pel_is(v, PEL_L_GENERATOR) ? v : pel_iter_of(vm, v);
    if (pel_is_symbol(v)) return pel_iter_of(vm, pel_tuple_of(vm, &v, 0));
    if (op == PEL_I_GET_AITER) {
        if (v->type == vm->types.async_generator) return v;
        pel_val made = pel_call_special(vm, v, vm->names.s_aiter, NULL, 0);
        if (!made && !vm->raised) pel_raise(vm, vm->types.TypeError, "'async for' requires an object with __aiter__");
        return made;
    }
    if (op == PEL_I_GET_ANEXT) {
        pel_val made = pel_call_special(vm, v, vm->names.s_anext, NULL, 0);
        if (!made && !vm->raised) pel_raise(vm, vm->types.TypeError, "'async for' requires an iterator with __anext__");
        return made ? pel_run_get_awaitable(vm, made, PEL_I_GET_AWAITABLE) : NULL;
    }
    if (pel_is(v, PEL_L_GENERATOR)) return v;
    pel_val made = pel_call_special(vm, v, vm->names.s_await, NULL, 0);
    if (!made && !vm->raised)
        pel_raise(vm, vm->types.TypeError, "object %s can't be used in 'await' expression", pel_type_text(vm, v));
    return made;
}

/* ---- methods ---- */

static pel_val gen_next(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    bool ended;
    pel_val value = pel_generator_resume(vm, (pel_generator *)args[0], vm->none, &ended);
    return ended ? pel_raise_with(vm, vm->types.StopIteration, vm->generator_result) : value;
}

static pel_val gen_send(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    bool ended;
    pel_generator *gen = (pel_generator *)args[0];
    if (!gen->is_started && args[1] != vm->none)
        return pel_raise(vm, vm->types.TypeError, "can't send non-None value to a just-started generator");
    pel_val value = pel_generator_resume(vm, gen, args[1], &ended);
    return ended ? pel_raise_with(vm, vm->types.StopIteration, vm->generator_result) : value;
}

static pel_val gen_throw(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_val what = n > 2 && args[2] != vm->none && pel_is_type(args[1]) ? args[2] : args[1];
    pel_val exception = pel_make_exception(vm, what);
    return exception ? pel_generator_throw(vm, (pel_generator *)args[0], exception) : NULL;
}

static pel_val gen_close(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_generator *gen = (pel_generator *)args[0];
    if (!gen->frame || !gen->is_started) {
        gen->frame = NULL;
        return vm->none;
    }
    pel_val exception = pel_make_exception(vm, &vm->types.GeneratorExit->head);
    if (pel_generator_throw(vm, gen, exception))
        return pel_raise(vm, vm->types.RuntimeError, "generator ignored GeneratorExit");
    if (pel_raised_is(vm, vm->types.GeneratorExit) || pel_raised_is(vm, vm->types.StopIteration)) {
        pel_forget(vm);
        return vm->none;
    }
    return NULL;
}

static pel_val gen_self(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)vm, (void)n, (void)kw;
    return args[0];
}

static pel_val gen_name(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_generator *)self)->name;
}

void pel_init_generators(pel_vm *vm) {
    static const pel_native_row rows[] = {
        { "__iter__", gen_self, 1, 1 },
        { "__next__", gen_next, 1, 1 },
        { "send", gen_send, 2, 2 },
        { "throw", gen_throw, 2, 4 },
        { "close", gen_close, 1, 1 },
        { "__await__", gen_self, 1, 1 },
        { NULL },
    };
    pel_type *types[] = { vm->types.generator, vm->types.coroutine, vm->types.async_generator };
    for (int i = 0; i < 3; i++) {
        pel_add_methods(vm, types[i], rows);
        pel_add_getset(vm, types[i], "__name__", gen_name, NULL);
    }
}
