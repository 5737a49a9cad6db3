/* Functions that were made before the run keep things in their cells: self.act = lambda x: self.linear(x) * scale. The
 * output makes no such functions. Modules, and constants that differ from function to function, become their first
 * parameters, so that whoever calls them passes them; a function with `self` in a cell is a method. So is one that was
 * set as the forward of a module, which it may know by a cell only. Log, code and tree are changed alike: nobody sees
 * that it was otherwise. */
#include "trace/passes.h"
#include "trace/synth.h"

typedef PEL_VEC(pel_id) id_list;

typedef struct closure {
    pel_id code;
    id_list calls;
    bool has_owner;  /* it is the forward of instances that does not get its module */
    bool *is_lifted; /* by free variable */
    uint32_t n;      /* of those */
} closure;

/* ---- the forward of an instance: module.forward = wrapper ---- */

static pel_id function_in(const pel_log *log, pel_id id) {
    for (int depth = 0; depth < 8; depth++) {
        const pel_value *value = pel_value_at(log, id);
        if (value->kind == PEL_V_FUNCTION) return id;
        if (value->kind == PEL_V_PARTIAL && value->n)
            id = value->items[0];
        else if (value->kind == PEL_V_METHOD && value->n > 1)
            id = value->items[1];
        else
            return 0;
    }
    return 0;
}

/* Activations that are the forward of a module because somebody set it on the instance. */
static void find_owners(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map module_of = { 0 }; /* function -> module; 0: several, each of which it gets as its first argument */
    pel_name forward = pel_intern_c(s->ctx, "forward");
    for (pel_id m = 1; m < log->modules.n; m++) {
        pel_id function = function_in(log, pel_module_attribute(log, m, forward));
        if (!function || !log->modules.at[m].in_tree) continue;
        pel_map_set(s->ctx, &module_of, function, pel_map_has(&module_of, function) ? 0 : m);
    }
    for (pel_id id = 1; id < log->activations.n && module_of.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        uint64_t module;
        if (activation->direct || !pel_map_get(&module_of, activation->function, &module)) continue;
        const pel_code_object *code = log->codes.at[activation->code].code;
        const pel_value *first = pel_value_at(log, code->argcount ? activation->locals[0] : 0);
        if (first->kind == PEL_V_MODULE) module = first->module;
        if (module) pel_map_set(s->ctx, &s->hooks.owner_of, id, module);
    }
}

static bool gets_owner(const pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    const pel_value *first = pel_value_at(s->log, code->argcount ? activation->locals[0] : 0);
    return first->kind == PEL_V_MODULE && first->module == pel_map_find(&s->hooks.owner_of, id, 0);
}

static pel_id value_of_module(const pel_log *log, uint64_t module) {
    for (pel_id id = 1; id < log->values.n; id++)
        if (log->values.at[id].kind == PEL_V_MODULE && log->values.at[id].module == module) return id;
    return 0;
}

/* ---- cells ---- */

static bool is_module(const pel_log *log, pel_id cell) {
    const pel_value *value = pel_value_at(log, cell);
    return value->kind == PEL_V_MODULE && pel_module_at(log, value->module)->in_tree;
}

static bool is_constant(const pel_log *log, pel_id cell) {
    uint8_t kind = pel_value_at(log, cell)->kind;
    return kind == PEL_V_CONST || kind == PEL_V_LIBRARY;
}

/* A decorator's wrapper: each function that it wraps has a text of its own, where what the cells hold is constant. */
static bool wraps(const pel_log *log, const pel_code_object *code, const pel_activation *activation) {
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (pel_value_at(log, activation->cells[code->cellvars.n + i])->kind == PEL_V_FUNCTION) return true;
    return false;
}

/* A module in all calls, or constants that are not the same in all. */
static bool is_lifted(const pel_log *log, const id_list *calls, uint32_t cell) {
    bool modules = true, constants = true, differ = false;
    pel_id first = log->activations.at[calls->at[0]].cells[cell];
    for (uint32_t i = 0; i < calls->n; i++) {
        pel_id held = log->activations.at[calls->at[i]].cells[cell];
        modules &= is_module(log, held);
        constants &= is_constant(log, held);
        differ |= !pel_value_same(log, held, first);
    }
    return modules || (constants && differ);
}

/* Nothing if something other than a call in the text calls it: torch does, and passes what it passes. */
static closure look_at(pel_synth *s, pel_id code) {
    const pel_log *log = s->log;
    const pel_code_object *object = log->codes.at[code].code;
    const pel_node *node = s->authors[code].node;
    closure out = { .code = code };
    if (!object->freevars.n && !s->hooks.owner_of.n) return out;
    if (!node || (node->kind != PEL_FunctionDef && node->kind != PEL_Lambda) || pel_made_in_run(s, &s->authors[code]))
        return out;
    bool direct = true, owned = true;
    for (pel_id id = 1; id < log->activations.n; id++) {
        if (log->activations.at[id].code != code) continue;
        direct &= log->activations.at[id].direct;
        owned &= pel_map_has(&s->hooks.owner_of, id) && !gets_owner(s, id);
        pel_push(s->ctx, &out.calls, id);
    }
    if (!out.calls.n) return out;
    out.has_owner = owned;
    out.is_lifted = pel_new_array(s->ctx, object->freevars.n + 1u, bool);
    direct &= !wraps(log, object, &log->activations.at[out.calls.at[0]]);
    for (uint32_t i = 0; i < object->freevars.n && direct; i++) {
        bool is_written =
            pel_map_has(&s->objects.written_cells, pel_key2(log->codes.at[code].file, PEL_KEY(object->freevars.at[i])));
        out.is_lifted[i] = !is_written && is_lifted(log, &out.calls, object->cellvars.n + i);
        out.n += out.is_lifted[i];
    }
    return out;
}

/* What becomes a parameter, in order: the owner, or else a cell that is called `self`, is the first. */
typedef struct parameter {
    pel_name name;
    uint32_t cell; /* UINT32_MAX: the owner */
} parameter;
typedef PEL_VEC(parameter) parameter_list;

static parameter_list parameters_of(pel_ctx *ctx, const closure *c, const pel_code_object *code) {
    parameter_list out = { 0 };
    if (c->has_owner) pel_push(ctx, &out, ((parameter){ pel_intern_c(ctx, "self"), UINT32_MAX }));
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < code->freevars.n; i++)
            if (c->is_lifted[i] && pel_name_is(code->freevars.at[i], "self") == (pass == 0))
                pel_push(ctx, &out, ((parameter){ code->freevars.at[i], code->cellvars.n + i }));
    return out;
}

static pel_code_object *with_parameters(pel_ctx *ctx, const closure *c, const pel_code_object *code,
                                        const parameter_list *added) {
    pel_code_object *made = pel_new(ctx, pel_code_object);
    *made = *code;
    made->argcount += added->n;
    made->varnames = (pel_name_list){ pel_new_array(ctx, added->n + code->varnames.n, pel_name), 0 };
    made->freevars = (pel_name_list){ pel_new_array(ctx, code->freevars.n + 1u, pel_name), 0 };
    for (uint32_t i = 0; i < added->n; i++) made->varnames.at[made->varnames.n++] = added->at[i].name;
    for (uint32_t i = 0; i < code->varnames.n; i++) made->varnames.at[made->varnames.n++] = code->varnames.at[i];
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (!c->is_lifted[i]) made->freevars.at[made->freevars.n++] = code->freevars.at[i];
    return made;
}

static void give_arguments(pel_synth *s, const closure *c, const pel_code_object *code, const parameter_list *added,
                           pel_activation *activation, uint64_t owner) {
    pel_id *locals = pel_new_array(s->ctx, added->n + code->varnames.n, pel_id);
    pel_id *cells = pel_new_array(s->ctx, code->cellvars.n + code->freevars.n + 1u, pel_id);
    for (uint32_t i = 0; i < added->n; i++)
        locals[i] =
            added->at[i].cell == UINT32_MAX ? value_of_module(s->log, owner) : activation->cells[added->at[i].cell];
    if (code->varnames.n) memcpy(locals + added->n, activation->locals, code->varnames.n * sizeof *locals);
    uint32_t n = code->cellvars.n;
    if (n) memcpy(cells, activation->cells, n * sizeof *cells);
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (!c->is_lifted[i]) cells[n++] = activation->cells[code->cellvars.n + i];
    activation->locals = locals;
    activation->cells = cells;
}

static void name_parameters(pel_synth *s, pel_author *authors, pel_id code, const parameter_list *added) {
    pel_node *old = authors[code].node, *node = pel_copy_node(s->ctx, old);
    pel_node **slot = node->kind == PEL_Lambda ? &node->Lambda.args : &node->FunctionDef.args;
    pel_node *args = *slot = pel_copy_node(s->ctx, *slot);
    pel_nodes *first = args->arguments.posonlyargs.n ? &args->arguments.posonlyargs : &args->arguments.args;
    pel_nodes all = { 0 };
    for (uint32_t i = 0; i < added->n; i++) {
        pel_node *arg = pel_node_new(s->ctx, PEL_arg);
        arg->arg.arg = added->at[i].name;
        pel_nodes_push(s->ctx, &all, arg);
    }
    for (uint32_t i = 0; i < first->n; i++) pel_nodes_push(s->ctx, &all, first->at[i]);
    *first = all;
    authors[code].node = node;
    for (pel_id id = 1; id < s->log->codes.n; id++)
        if (authors[id].within == old) authors[id].within = node;
}

/* A log and authors of its own, whose rows can be changed. */
static pel_log *copy_tables(pel_synth *s, pel_author **authors) {
    pel_log *log = pel_new(s->ctx, pel_log);
    *log = *s->log;
    log->codes.at = pel_new_array(s->ctx, log->codes.n, pel_log_code);
    memcpy(log->codes.at, s->log->codes.at, log->codes.n * sizeof *log->codes.at);
    log->activations.at = pel_new_array(s->ctx, log->activations.n, pel_activation);
    memcpy(log->activations.at, s->log->activations.at, log->activations.n * sizeof *log->activations.at);
    log->codes.cap = log->codes.n;
    log->activations.cap = log->activations.n;
    *authors = pel_new_array(s->ctx, log->codes.n, pel_author);
    memcpy(*authors, s->authors, log->codes.n * sizeof **authors);
    return log;
}

static void lift_closures(pel_synth *s) {
    pel_log *log = NULL;
    pel_author *authors = NULL;
    find_owners(s);
    for (pel_id code = 1; code < s->log->codes.n; code++) {
        closure c = look_at(s, code);
        if (!c.n && !c.has_owner) continue;
        if (!log) {
            log = copy_tables(s, &authors);
            s->log = s->program->log = log;
            s->authors = s->program->authors = authors;
        }
        const pel_code_object *object = log->codes.at[code].code;
        const parameter_list added = parameters_of(s->ctx, &c, object);
        log->codes.at[code].code = with_parameters(s->ctx, &c, object, &added);
        for (uint32_t i = 0; i < c.calls.n; i++)
            give_arguments(s, &c, object, &added, &log->activations.at[c.calls.at[i]],
                           pel_map_find(&s->hooks.owner_of, c.calls.at[i], 0));
        name_parameters(s, authors, code, &added);
        pel_map_set(s->ctx, &s->lifted, code, added.n);
    }
}

bool pel_pass_closures(pel_synth *s) {
    const pel_log *before = s->log;
    pel_find_written_cells(s);
    lift_closures(s);
    s->group_of = pel_new_array(s->ctx, s->log->activations.n, pel_group *);
    s->calls.linked = pel_new_array(s->ctx, s->log->activations.n, bool);
    s->objects.live = pel_new_array(s->ctx, s->log->values.n, bool);
    return s->log != before;
}
