/* What an editor shows of a forward: the shapes of variables where they are assigned, and what calls of modules give.
 */
#include "interp/code/ops.h"
#include "interp/record/record.h"

static pel_shape copy_of(pel_ctx *ctx, const pel_shape *shape) {
    pel_shape out = { pel_new_array(ctx, shape->n ? shape->n : 1, pel_dim), shape->n, shape->is_known };
    if (shape->n) memcpy(out.dims, shape->dims, shape->n * sizeof *out.dims);
    return out;
}

/* A place that is passed several times: sizes that are not the same each time are a star. */
static void join(pel_shape *shape, const pel_shape *other) {
    if (!shape->is_known || !other->is_known || shape->n != other->n) {
        shape->is_known = false;
        return;
    }
    for (uint32_t i = 0; i < shape->n; i++)
        if (shape->dims[i].size != other->dims[i].size || !pel_str_eq(shape->dims[i].symbol, other->dims[i].symbol))
            shape->dims[i] = (pel_dim){ .symbol = PEL_STR("*") };
}

static pel_seen *see(pel_scanner *scanner, const pel_node *node, const pel_shape *shape) {
    pel_ctx *ctx = scanner->vm->ctx;
    pel_seen_run *run = scanner->watch->run;
    uint64_t at = pel_map_find(&run->places, PEL_KEY(node), 0);
    if (!at) {
        pel_push(ctx, &run->seen, ((pel_seen){ .node = node, .shape = copy_of(ctx, shape), .times = 1 }));
        pel_map_set(ctx, &run->places, PEL_KEY(node), run->seen.n);
        return &run->seen.at[run->seen.n - 1];
    }
    pel_seen *seen = &run->seen.at[at - 1];
    join(&seen->shape, shape);
    seen->times++;
    return seen;
}

static bool is_watched(const pel_scanner *scanner, const pel_codeobj *code) {
    return code->nodes && pel_str_eq(code->file, scanner->watch->file);
}

/* Before each instruction of a forward: a tensor that is about to be assigned. */
static void on_step(pel_vm *vm, pel_frame *f, const pel_vm_insn *at, uint32_t sp) {
    pel_scanner *scanner = vm->scan;
    if ((at->op != PEL_I_STORE_FAST && at->op != PEL_I_STORE_DEREF) || !is_watched(scanner, f->code)) return;
    pel_val value = f->stack[sp - 1];
    const pel_node *node = f->code->nodes[at - f->code->insns];
    bool is_tensor = !pel_is_small(value) && value->attrs && pel_dict_get_c(vm, value->attrs, "_shape");
    if (!is_tensor || !node) return;
    pel_shape shape = pel_shape_of_val(scanner, value);
    see(scanner, node, &shape);
}

void pel_watch_begin(pel_scanner *scanner) {
    pel_watch *watch = scanner->watch;
    watch->run = pel_new(scanner->vm->ctx, pel_seen_run);
    scanner->vm->on_step = on_step;
}

pel_seen_run *pel_watch_end(pel_scanner *scanner) {
    pel_seen_run *run = scanner->watch->run;
    scanner->vm->on_step = NULL;
    scanner->watch->run = NULL;
    return run;
}

/* The call that runs now, if it is written in the watched file; NULL: it is not. */
const pel_node *pel_watched_call(pel_scanner *scanner) {
    const pel_frame *f = scanner->vm->frame;
    if (!scanner->watch || !scanner->watch->run || !f || !is_watched(scanner, f->code)) return NULL;
    if (f->next <= f->code->insns) return NULL;
    return f->code->nodes[f->next - 1 - f->code->insns];
}

void pel_watch_return(pel_scanner *scanner, const pel_node *node, const pel_seen_call *call) {
    pel_seen_run *run = scanner->watch ? scanner->watch->run : NULL;
    if (!run) return;
    run->n_calls++;
    run->output = call->output; /* the last to return is the network itself */
    run->flops = call->flops;
    if (!node) return;
    pel_seen *seen = see(scanner, node, &call->output);
    if (seen->times == 1) {
        seen->call = *call;
        return;
    }
    if (!pel_str_eq(seen->call.class, call->class)) seen->call.class = (pel_str){ "", 0 };
    seen->call.flops = seen->call.flops < 0 || call->flops < 0 ? -1 : seen->call.flops + call->flops;
}
