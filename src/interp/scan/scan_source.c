/* Networks as programs: what the machine made, written by the synthesis that writes recorded models. */
#include "interp/record/record.h"
#include "trace/program.h"

typedef struct source_job {
    pel_scanner *scanner;
    pel_network *network;
    pel_val self;
    pel_str forward; /* empty: constructors only */
} source_job;

/* A module that stands for a number of them that is not known is no program. */
static void check_counts(pel_scanner *scanner) {
    for (uint32_t i = 0; i < scanner->order.n; i++) {
        const pel_birth *birth = scanner->order.at[i];
        const pel_tuple *counts = pel_tuple_at(birth->repeating);
        if (!counts->n) continue;
        pel_str count = pel_symbol_arg(scanner->vm, counts->at[0]), class = pel_text_of(birth->self->type->name);
        pel_throw(scanner->vm->ctx, PEL_E_INCOMPLETE, 0, "a %.*s is made %.*s times (%.*s:%u)", PEL_FMT(class),
                  PEL_FMT(count), PEL_FMT(birth->file), birth->line);
    }
}

static void put_assumed(pel_vm *vm, pel_log *log) {
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        const pel_note *note = &vm->unknown.at[i];
        if (pel_str_eq(note->why, PEL_WHY_ASSUMED))
            pel_push(vm->ctx, &log->assumed,
                     pel_format(vm->ctx, "%.*s  (%.*s:%u)", PEL_FMT(note->what), PEL_FMT(note->file), note->line));
        if (note->is_premise)
            pel_push(vm->ctx, &log->assumed,
                     pel_format(vm->ctx, "%.*s: %.*s  (%.*s:%u)", PEL_FMT(note->what), PEL_FMT(note->why),
                                PEL_FMT(note->file), note->line));
        if (pel_str_eq(note->why, PEL_WHY_COSTLY))
            pel_push(vm->ctx, &log->assumed,
                     pel_format(vm->ctx, "importing %.*s changes nothing else  (%.*s:%u)", PEL_FMT(note->what),
                                PEL_FMT(note->file), note->line));
    }
    for (uint32_t i = 0; i < vm->asked.n; i++) {
        const pel_note *note = &vm->asked.at[i];
        pel_str text = pel_format(vm->ctx, "%s%.*s%s  (%.*s:%u)", vm->decided.at[i] ? "" : "not (", PEL_FMT(note->what),
                                  vm->decided.at[i] ? "" : ")", PEL_FMT(note->file), note->line);
        pel_push(vm->ctx, &log->assumed, text);
    }
}

static _Noreturn void throw_unfinished(pel_ctx *ctx, const pel_network *network) {
    const pel_unknown *row = network->errors.n    ? &network->errors.at[network->errors.n - 1]
                             : network->unknown.n ? &network->unknown.at[network->unknown.n - 1]
                                                  : NULL;
    if (!row) pel_throw(ctx, PEL_E_INCOMPLETE, 0, "forward could not run to its end");
    pel_throw(ctx, PEL_E_INCOMPLETE, 0, "forward could not run to its end: %.*s (%.*s:%u)", PEL_FMT(row->what),
              PEL_FMT(row->place.file), row->place.line);
}

static void source_body(pel_ctx *ctx, void *arg) {
    source_job *job = arg;
    check_counts(job->scanner);
    pel_recording *rec = pel_recording_of(job->scanner, job->self);
    rec->log->origin = job->network->name;
    put_assumed(job->scanner->vm, rec->log);
    pel_skeleton made;
    if (job->forward.len && !pel_scan_forward(job->scanner, job->network, job->self, job->forward, rec))
        throw_unfinished(ctx, job->network);
    pel_log_check(ctx, rec->log);
    pel_known known = { 0 };
    if (job->forward.len) {
        pel_try_modes(rec, job->self, &known);
        pel_synthesise_knowing(ctx, rec->log, &known, &made);
    } else
        pel_write_construction(ctx, rec->log, &made);
    job->network->source = made.source;
}

void pel_scan_source(pel_scanner *scanner, pel_network *network, pel_val self, pel_str forward) {
    source_job job = { scanner, network, self, forward };
    pel_vm *vm = scanner->vm;
    pel_err err;
    if (pel_attempt(vm->ctx, source_body, &job, &err)) return;
    vm->frame = NULL;
    vm->on_call = NULL;
    pel_recording_stop(scanner);
    vm->depth = vm->c_depth = 0;
    pel_forget(vm);
    const pel_birth *birth = pel_birth_of(scanner, self);
    pel_unknown row = { .what = pel_str_copy(vm->ctx, pel_str_of(err.what)), .why = PEL_WHY_UNWRITTEN };
    if (birth) row.place = (pel_place){ .file = birth->file, .line = birth->line };
    pel_push(vm->ctx, &network->unknown, row);
}

static const pel_module *conditional(const pel_module *module) {
    if (module->condition.len) return module;
    for (uint32_t i = 0; i < module->children.n; i++) {
        const pel_module *found = conditional(module->children.at[i]);
        if (found) return found;
    }
    return NULL;
}

void pel_drop_conditional_source(pel_ctx *ctx, pel_network *network) {
    const pel_module *found = network->source.len && network->root ? conditional(network->root) : NULL;
    if (!found) return;
    network->source = (pel_str){ "", 0 };
    pel_str what = pel_format(ctx, "%.*s exists only if %.*s", PEL_FMT(found->name), PEL_FMT(found->condition));
    pel_unknown row = { .what = what, .why = PEL_WHY_UNWRITTEN, .place = found->origin };
    pel_push(ctx, &network->unknown, row);
}
