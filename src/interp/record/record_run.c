/* A forward of the machine -> activations of the log: what every instruction of an author's function left. */
#include "interp/code/ops.h"
#include "interp/record/record.h"

typedef struct live { /* an activation that is running */
    pel_id id;
    pel_logged *code;
    PEL_VEC(pel_record) records;
    uint32_t pending; /* the instruction that runs */
    bool has_pending;
    struct live *older;
} live;

static char foreign; /* what frames that are not the author's have instead */

static void add_record(pel_recording *rec, live *l, pel_record_kind kind, uint32_t insn, uint32_t value) {
    pel_push(rec->ctx, &l->records,
             (pel_record){ .at = l->code->unit_of[insn] & 0xfffffff, .kind = (uint32_t)kind & 0xf, .value = value });
}

/* ---- what an instruction leaves, as ext/frames.c has it ---- */

typedef enum leaves { NOTHING, TOP, METHOD, ITEM } leaves;

/* The synthesis expects the values that the recorder of CPython keeps: ext/units.c has the same table, and the two must
 * agree. An update leaves its container on top if that is next on the stack (b == 1), not in a comprehension. */
static leaves leaves_of(const pel_vm_insn *insn) {
    switch ((pel_vm_op)insn->op) {
    case PEL_I_LOAD_CONST:
    case PEL_I_LOAD_FAST:
    case PEL_I_LOAD_NAME:
    case PEL_I_LOAD_GLOBAL:
    case PEL_I_LOAD_DEREF:
    case PEL_I_LOAD_CLASS_DEREF:
    case PEL_I_LOAD_ATTR:
    case PEL_I_LOAD_SUBSCR:
    case PEL_I_LOAD_ASSERTION_ERROR:
    case PEL_I_UNARY:
    case PEL_I_BINARY:
    case PEL_I_COMPARE:
    case PEL_I_BUILD_TUPLE:
    case PEL_I_BUILD_LIST:
    case PEL_I_BUILD_SET:
    case PEL_I_BUILD_MAP:
    case PEL_I_BUILD_SLICE:
    case PEL_I_BUILD_STRING:
    case PEL_I_FORMAT:
    case PEL_I_LIST_TO_TUPLE:
    case PEL_I_MAKE_FUNCTION:
    case PEL_I_CALL:
    case PEL_I_CALL_KW:
    case PEL_I_CALL_EX:
    case PEL_I_IMPORT_NAME:
    case PEL_I_IMPORT_FROM:
    case PEL_I_BEFORE_WITH:
    case PEL_I_MATCH_EXCEPTION:
    case PEL_I_MATCH_MAPPING:
    case PEL_I_MATCH_SEQUENCE:
    case PEL_I_GET_LEN:
    case PEL_I_YIELD: return TOP;
    case PEL_I_LIST_EXTEND:
    case PEL_I_SET_UPDATE:
    case PEL_I_DICT_UPDATE:
    case PEL_I_DICT_MERGE: return insn->b == 1 ? TOP : NOTHING;
    case PEL_I_LOAD_METHOD: return METHOD;
    case PEL_I_FOR_ITER: return ITEM;
    default: return NOTHING;
    }
}

/* The name that an instruction asks for. */
static pel_str name_asked(const pel_codeobj *code, const pel_vm_insn *insn) {
    switch ((pel_vm_op)insn->op) {
    case PEL_I_LOAD_ATTR:
    case PEL_I_LOAD_METHOD:
    case PEL_I_LOAD_GLOBAL:
    case PEL_I_LOAD_NAME:
    case PEL_I_IMPORT_FROM: return pel_text_of(code->names[insn->b]);
    default: return (pel_str){ "", 0 };
    }
}

static pel_id value_left(pel_recording *rec, const live *l, const pel_frame *f, uint32_t next, uint32_t sp) {
    pel_val top = sp ? f->stack[sp - 1] : NULL;
    switch (leaves_of(&f->code->insns[l->pending])) {
    case TOP: return pel_logged_value(rec, top);
    case METHOD: {
        pel_val function = sp > 1 ? f->stack[sp - 2] : NULL;
        return top ? pel_logged_value(rec, pel_new_method(rec->vm, function, top)) : pel_logged_value(rec, function);
    }
    case ITEM: return next == l->pending + 1 ? pel_logged_value(rec, top) : 0;
    case NOTHING: return 0;
    }
    return 0;
}

static void finish_pending(pel_recording *rec, live *l, const pel_frame *f, uint32_t next, uint32_t sp) {
    if (!l->has_pending) return;
    rec->hint = name_asked(f->code, &f->code->insns[l->pending]);
    pel_id value = value_left(rec, l, f, next, sp);
    rec->hint = (pel_str){ "", 0 };
    add_record(rec, l, value ? PEL_R_PUSH : PEL_R_STEP, l->pending, value);
    l->has_pending = false;
}

/* ---- activations ---- */

static bool is_author(const pel_recording *rec, const pel_frame *f) {
    if (f->code->is_stub || f->code->is_class || !f->function || !f->code->nodes) return false;
    pel_val name = pel_dict_get_str(f->globals, rec->vm->names.s_name);
    return !name || !pel_is_str(name) || pel_is_author_module(pel_text_of(name));
}

/* The class in whose body a function was written: by its qualified name, among those of its first argument. */
static pel_id class_of(pel_recording *rec, const pel_frame *f) {
    pel_str path = pel_text_of(f->code->qualname);
    while (path.len && path.ptr[path.len - 1] != '.') path.len--;
    if (!path.len || !f->code->n_args || !f->slots[0]) return 0;
    path.len--;
    pel_val module = pel_dict_get_str(f->globals, rec->vm->names.s_name);
    pel_type *type = pel_is_type(f->slots[0]) ? pel_as_type(f->slots[0]) : pel_type_of(rec->vm, f->slots[0]);
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        pel_type *base = pel_as_type(mro->at[i]);
        pel_val of = base->head.attrs ? pel_dict_get_str(base->head.attrs, rec->vm->names.s_module) : NULL;
        bool same_module =
            of && module && pel_is_str(of) && pel_is_str(module) && pel_str_eq(pel_text_of(of), pel_text_of(module));
        if (same_module && pel_str_eq(pel_text_of(base->qualname), path)) return pel_logged_class(rec, base);
    }
    return 0;
}

static void set_variables(pel_recording *rec, pel_activation *row, const pel_frame *f) {
    const pel_codeobj *code = f->code;
    row->locals = pel_new_array(rec->ctx, code->n_locals + 1u, pel_id);
    for (uint32_t i = 0; i < code->n_locals; i++) row->locals[i] = pel_logged_value(rec, f->slots[i]);
    uint32_t n = code->n_cells + code->n_free;
    row->cells = pel_new_array(rec->ctx, n + 1u, pel_id);
    for (uint32_t i = 0; i < n; i++) {
        const pel_cell *cell = (const pel_cell *)f->slots[code->n_locals + i];
        row->cells[i] = cell ? pel_logged_value(rec, cell->value) : 0;
    }
}

static void begin(pel_recording *rec, pel_frame *f, const pel_frame *caller) {
    if (!is_author(rec, f)) {
        f->activation = &foreign;
        return;
    }
    live *parent = NULL;
    for (const pel_frame *back = caller; back && !parent; back = back->back)
        if (back->activation && back->activation != &foreign) parent = back->activation;
    pel_activation row = { .direct = caller && caller->activation == parent };
    live *l = pel_new(rec->ctx, live);
    l->code = pel_logged_codeobj(rec, f->code, f->globals, class_of(rec, f));
    row.code = l->code->row;
    row.function = pel_logged_value(rec, &f->function->head);
    set_variables(rec, &row, f);
    pel_push(rec->ctx, &rec->log->activations, row);
    l->id = rec->log->activations.n - 1;
    l->older = rec->lives;
    rec->lives = l;
    f->activation = l;
    if (!parent) return;
    rec->log->activations.at[l->id].parent = parent->id;
    rec->log->activations.at[l->id].parent_at = parent->records.n;
    add_record(rec, parent, PEL_R_CHILD, parent->pending, l->id);
}

/* ---- hooks of the machine ---- */

static void on_step(pel_vm *vm, pel_frame *f, const pel_vm_insn *at, uint32_t sp) {
    pel_recording *rec = ((pel_scanner *)vm->scan)->recording;
    if (rec->is_busy || f->activation == &foreign) return;
    rec->is_busy = true; /* looking at values may run code */
    if (!f->activation) begin(rec, f, f->back);
    if (f->activation != &foreign) {
        live *l = f->activation;
        uint32_t index = (uint32_t)(at - f->code->insns);
        finish_pending(rec, l, f, index, sp);
        l->pending = index;
        l->has_pending = at->op != PEL_I_RETURN;
        if (at->op == PEL_I_RETURN) add_record(rec, l, PEL_R_RETURN, index, pel_logged_value(rec, f->stack[sp - 1]));
        if (at->op == PEL_I_YIELD) add_record(rec, l, PEL_R_YIELD, index, pel_logged_value(rec, f->stack[sp - 1]));
    }
    rec->is_busy = false;
}

static void on_fail(pel_vm *vm, pel_frame *f) {
    pel_recording *rec = ((pel_scanner *)vm->scan)->recording;
    live *l = f->activation;
    if (rec->is_busy || !l || f->activation == &foreign || !l->has_pending) return;
    rec->is_busy = true;
    pel_val raised = vm->raised;
    vm->raised = NULL;
    add_record(rec, l, PEL_R_RAISE, l->pending, pel_logged_value(rec, &raised->type->head));
    vm->raised = raised;
    l->has_pending = false;
    rec->is_busy = false;
}

static void on_generator(pel_vm *vm, pel_frame *f) {
    pel_recording *rec = ((pel_scanner *)vm->scan)->recording;
    if (rec->is_busy) return;
    rec->is_busy = true;
    begin(rec, f, vm->frame);
    rec->is_busy = false;
}

void pel_recording_begin(pel_recording *rec, const pel_val *args, uint32_t n) {
    pel_log_run run = { .root = rec->log->root, .n_args = n, .label = PEL_STR("given") };
    run.args = pel_new_array(rec->ctx, n + 1u, pel_id);
    for (uint32_t i = 0; i < n; i++) run.args[i] = pel_logged_value(rec, args[i]);
    pel_push(rec->ctx, &rec->log->runs, run);
    rec->scanner->recording = rec;
    rec->vm->on_step = on_step;
    rec->vm->on_fail = on_fail;
    rec->vm->on_generator = on_generator;
}

void pel_recording_stop(pel_scanner *scanner) {
    pel_vm *vm = scanner->vm;
    vm->on_step = NULL;
    vm->on_fail = NULL;
    vm->on_generator = NULL;
    scanner->recording = NULL;
}

void pel_recording_end(pel_recording *rec, pel_val result) {
    pel_recording_stop(rec->scanner);
    pel_log_run *run = &rec->log->runs.at[rec->log->runs.n - 1];
    run->result = pel_logged_value(rec, result);
    for (const live *l = rec->lives; l; l = l->older) {
        pel_activation *row = &rec->log->activations.at[l->id];
        row->records = l->records.at;
        row->n_records = l->records.n;
        const pel_log_code *code = &rec->log->codes.at[row->code];
        const pel_value *self = code->code->varnames.n ? pel_value_at(rec->log, row->locals[0]) : NULL;
        bool on_root = self && self->kind == PEL_V_MODULE && self->module == rec->log->root;
        if (!row->parent && on_root && pel_name_is(code->code->name, "forward")) run->activation = l->id;
    }
}
