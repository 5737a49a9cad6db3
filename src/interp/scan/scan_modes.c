/* Which classes have a train() of their own that does what torch's does, found without running anything.
 *
 * Libraries override train() for cases that most models never meet: kernels to be chosen again, a part to be frozen.
 * The machine runs it in both modes, from both modes, and looks at each instruction. It does what torch's does if it
 * calls that once, for the same module and mode, returns the module, asks nothing that is not known, and executes
 * nothing else that could leave something: there is a list of what may run, and whatever is not on it counts as
 * something. */
#include "interp/code/ops.h"
#include "interp/record/record.h"
#include "trace/program.h"

#define DEEPEST 200 /* of modules in modules */

struct pel_mode_trial {
    pel_val self, mode;
    pel_val torchs_train, torchs_getattr; /* nn.Module's own */
    uint32_t n_calls;                     /* of torch's train() by the one that is tried */
    bool leaves;                          /* something that torch's does not */
};

static bool is_builtin_that_reads(pel_vm *vm, pel_val callee) {
    static const char *const names[] = { "super", "getattr", "hasattr", "isinstance", "len", "bool" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_dict_get_c(vm, vm->builtins, names[i]) == callee) return true;
    return false;
}

/* Functions are looked at when they run; of what is not one only a few are known. */
static bool may_call(pel_vm *vm, pel_val callee) {
    if (!callee || pel_is_small(callee)) return false;
    if (pel_is(callee, PEL_L_METHOD)) callee = ((pel_method *)callee)->func;
    return (!pel_is_small(callee) && pel_is(callee, PEL_L_FUNCTION)) || is_builtin_that_reads(vm, callee);
}

/* Instructions that change nothing but the variables of their function. */
static bool may_run(pel_vm *vm, const pel_frame *f, const pel_vm_insn *insn, uint32_t sp) {
    pel_val top = sp ? f->stack[sp - 1] : NULL;
    if (top && !pel_is_small(top) && pel_is_symbol(top)) return false; /* what it leads to is not known */
    switch ((pel_vm_op)insn->op) {
    case PEL_I_NOP:
    case PEL_I_POP:
    case PEL_I_COPY:
    case PEL_I_SWAP:
    case PEL_I_PUSH_NULL:
    case PEL_I_LOAD_CONST:
    case PEL_I_LOAD_FAST:
    case PEL_I_STORE_FAST:
    case PEL_I_LOAD_DEREF:
    case PEL_I_LOAD_CLOSURE:
    case PEL_I_LOAD_GLOBAL:
    case PEL_I_LOAD_ATTR:
    case PEL_I_LOAD_METHOD:
    case PEL_I_COMPARE:
    case PEL_I_UNARY:
    case PEL_I_JUMP:
    case PEL_I_POP_JUMP_IF_FALSE:
    case PEL_I_POP_JUMP_IF_TRUE:
    case PEL_I_JUMP_IF_FALSE_OR_POP:
    case PEL_I_JUMP_IF_TRUE_OR_POP:
    case PEL_I_POP_JUMP_IF_NOT_NONE:
    case PEL_I_BUILD_TUPLE:
    case PEL_I_RETURN: return true;
    case PEL_I_CALL:
    case PEL_I_CALL_KW: return sp >= (uint32_t)insn->b + 2 && may_call(vm, f->stack[sp - (uint32_t)insn->b - 2]);
    default: return false;
    }
}

static void on_step(pel_vm *vm, pel_frame *f, const pel_vm_insn *at, uint32_t sp) {
    struct pel_mode_trial *trial = ((pel_scanner *)vm->scan)->trial;
    for (const pel_frame *back = f->back; back; back = back->back)
        if ((pel_val)back->function == trial->torchs_train) return; /* torch's would do that, too */
    if ((pel_val)f->function == trial->torchs_train) {
        if (at != f->code->insns) return;
        trial->n_calls++;
        trial->leaves |= f->slots[0] != trial->self || f->slots[1] != trial->mode;
    } else if (f->code->is_stub) {
        trial->leaves |= (pel_val)f->function != trial->torchs_getattr;
    } else {
        trial->leaves |= !may_run(vm, f, at, sp);
    }
}

/* Whether train(mode) does what torch's does, with the module in the mode that it is in. */
static bool is_plain(pel_scanner *scanner, struct pel_mode_trial *trial, pel_val self, bool mode) {
    pel_vm *vm = scanner->vm;
    uint32_t asked = vm->asked.n, unknown = vm->unknown.n, errors = vm->errors.n, recovered = vm->n_recovered;
    trial->self = self;
    trial->mode = mode ? vm->true_ : vm->false_;
    trial->n_calls = 0;
    trial->leaves = false;
    vm->on_step = on_step;
    pel_val result = pel_call_method(vm, self, "train", &trial->mode, 1);
    vm->on_step = NULL;
    if (!result) pel_forget(vm);
    bool is_sure = asked == vm->asked.n && unknown == vm->unknown.n && recovered == vm->n_recovered;
    vm->asked.n = vm->decided.n = asked;
    vm->unknown.n = unknown;
    vm->errors.n = errors;
    return result == self && trial->n_calls == 1 && !trial->leaves && is_sure;
}

typedef struct modes_job {
    pel_recording *rec;
    pel_val root;
    pel_known *known;
    struct pel_mode_trial trial;
    pel_map seen;   /* modules */
    pel_map others; /* class -> 1: train() does something, 2: eval mode does, too */
    PEL_VEC(pel_id) classes;
} modes_job;

static void try_module(modes_job *job, pel_val self) {
    pel_scanner *scanner = job->rec->scanner;
    pel_val found = pel_lookup(scanner->vm, self->type, pel_interned_c(scanner->vm, "train"));
    if (!found || found == job->trial.torchs_train) return;
    pel_id class = pel_logged_class(job->rec, self->type);
    uint64_t before = 0;
    if (!pel_map_get(&job->others, class, &before)) pel_push(job->rec->ctx, &job->classes, class);
    /* the forward left it in eval mode: from there to there, to train mode, again, and back */
    bool in_eval = is_plain(scanner, &job->trial, self, false), in_train = is_plain(scanner, &job->trial, self, true);
    in_train &= is_plain(scanner, &job->trial, self, true);
    in_eval &= is_plain(scanner, &job->trial, self, false);
    uint64_t now = !in_eval ? 2 : !in_train ? 1 : 0;
    pel_map_set(job->rec->ctx, &job->others, class, now > before ? now : before);
}

static void try_below(modes_job *job, pel_val self, int depth) {
    pel_vm *vm = job->rec->vm;
    if (pel_is_small(self) || !self->attrs || pel_map_has(&job->seen, PEL_KEY(self))) return;
    if (depth > DEEPEST) pel_throw(job->rec->ctx, PEL_E_TOO_DEEP, 0, "modules nest too deep");
    pel_map_set(job->rec->ctx, &job->seen, PEL_KEY(self), 1);
    pel_val children = pel_dict_get_c(vm, self->attrs, "_modules");
    uint32_t at = 0;
    if (children && !pel_is_small(children) && pel_is_dict(children))
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(children), &at));)
            if (entry->value != vm->none) try_below(job, entry->value, depth + 1);
    try_module(job, self);
}

static void modes_body(pel_ctx *ctx, void *arg) {
    modes_job *job = arg;
    pel_vm *vm = job->rec->vm;
    pel_val torch = pel_dict_get_c(vm, vm->modules, "torch.nn"),
            module = torch && torch->attrs ? pel_dict_get_c(vm, torch->attrs, "Module") : NULL;
    if (!module || pel_is_small(module) || !pel_is_type(module)) return;
    job->trial.torchs_train = pel_lookup(vm, pel_as_type(module), pel_interned_c(vm, "train"));
    job->trial.torchs_getattr = pel_lookup(vm, pel_as_type(module), pel_interned_c(vm, "__getattr__"));
    job->rec->scanner->trial = &job->trial;
    try_below(job, job->root, 0);
    for (uint32_t i = 0; i < job->classes.n; i++) {
        const pel_log_class *row = pel_class_at(job->rec->log, job->classes.at[i]);
        uint64_t other = pel_map_find(&job->others, job->classes.at[i], 2);
        pel_str name = pel_format(ctx, "%.*s.%.*s", PEL_FMT(row->module), PEL_FMT(row->qualname));
        if (other < 1) pel_push(ctx, &job->known->class_facts, name);
        if (other < 2) pel_push(ctx, &job->known->class_facts, pel_format(ctx, "eval %.*s", PEL_FMT(name)));
    }
}

void pel_try_modes(pel_recording *rec, pel_val root, pel_known *known) {
    modes_job job = { .rec = rec, .root = root, .known = known };
    pel_vm *vm = rec->vm;
    const pel_vm before = *vm;
    pel_err err;
    if (!pel_attempt(rec->ctx, modes_body, &job, &err)) { /* then of none anything is known, and each refuses */
        known->class_facts.n = 0;
        vm->frame = before.frame;
        vm->depth = before.depth;
        vm->c_depth = before.c_depth;
        vm->asked.n = vm->decided.n = before.asked.n;
        vm->unknown.n = before.unknown.n;
        pel_forget(vm);
    }
    vm->on_step = NULL;
    rec->scanner->trial = NULL;
}
