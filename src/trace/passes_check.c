/* The checkers of the passes: what the next pass may rely on. A checker that throws has found a mistake of ours. */
#include "python/parse.h"
#include "trace/depends/uses.h"
#include "trace/passes.h"

_Noreturn static void found(const pel_synth *s, const char *what, uint32_t which) {
    pel_throw(s->ctx, PEL_E_INCOMPLETE, 0, "checker: %s (%u)", what, which);
}

/* A function whose cells became parameters got something for each of them in every call, and its author's text names
 * them first. */
static void check_lifted(pel_synth *s, pel_id code, uint32_t n_lifted) {
    const pel_code_object *object = s->log->codes.at[code].code;
    const pel_node *node = s->authors[code].node;
    if (object->argcount < n_lifted || !node) found(s, "a cell became no parameter", code);
    const pel_node *args = node->kind == PEL_Lambda ? node->Lambda.args : node->FunctionDef.args;
    const pel_nodes named = args->arguments.posonlyargs.n ? args->arguments.posonlyargs : args->arguments.args;
    for (uint32_t i = 0; i < n_lifted; i++)
        if (i >= named.n || named.at[i]->arg.arg != object->varnames.at[i])
            found(s, "a parameter that was a cell has another name in the text", code);
    for (pel_id id = 1; id < s->log->activations.n; id++)
        for (uint32_t i = 0; s->log->activations.at[id].code == code && i < n_lifted; i++)
            if (!s->log->activations.at[id].locals[i]) found(s, "a call does not pass what was in a cell", id);
}

void pel_check_closures(pel_synth *s) {
    for (pel_id code = 1; code < s->log->codes.n; code++) {
        uint64_t n_lifted;
        if (pel_map_get(&s->lifted, code, &n_lifted)) check_lifted(s, code, (uint32_t)n_lifted);
    }
}

/* Tensors are live, and so is what holds something live. Functions and methods hold, but are no data. */
void pel_check_live(pel_synth *s) {
    for (pel_id id = 1; id < s->log->values.n; id++) {
        const pel_value *value = pel_value_at(s->log, id);
        if (value->kind == PEL_V_TENSOR && !s->objects.live[id]) found(s, "a tensor is not live", id);
        if (!pel_value_has_items(value->kind) || value->kind == PEL_V_FUNCTION || value->kind == PEL_V_METHOD) continue;
        for (uint32_t i = 0; i < value->n; i++)
            if (s->objects.live[value->items[i]] && !s->objects.live[id])
                found(s, "a value holds a live one and is not live", id);
    }
}

/* Each hook is found by its activation, and by the forward that it stands before or behind. */
void pel_check_hooks(pel_synth *s) {
    for (uint32_t i = 0; i < s->hooks.all.n; i++) {
        const pel_hook *hook = s->hooks.all.at[i];
        if (pel_map_pointer(&s->hooks.of_activation, hook->activation) != hook)
            found(s, "a hook is not found by its activation", i);
        if (!hook->module || hook->module >= s->log->modules.n) found(s, "a hook of no module", i);
        if (!hook->forward || hook->owner) continue;
        if (hook->before != (hook->activation < hook->forward)) found(s, "a hook stands on the wrong side", i);
        const pel_hook_list *list = pel_map_pointer(&s->hooks.of_forward, hook->forward);
        uint32_t times = 0;
        for (uint32_t k = 0; list && k < list->n; k++) times += list->at[k] == hook;
        if (times != 1) found(s, "a forward does not know its hook, or knows it twice", i);
    }
}

/* What an activation led to lies inside what its caller led to. */
void pel_check_extents(pel_synth *s) {
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        const pel_extent *extent = &s->extents[id];
        if (extent->end <= id || extent->end > s->log->activations.n)
            found(s, "an activation ends before it began", id);
        if (extent->first_event > extent->end_event) found(s, "the events of an activation are no range", id);
        pel_id parent = s->log->activations.at[id].parent;
        if (parent >= id) found(s, "an activation comes before its caller", id);
        if (parent && s->extents[parent].end < extent->end) found(s, "an activation ends after its caller", id);
    }
}

/* Every activation that has a group is one of its lanes, once. */
void pel_check_groups(pel_synth *s) {
    uint32_t grouped = 0, lanes = 0;
    for (pel_id id = 1; id < s->log->activations.n; id++) grouped += s->group_of[id] != NULL;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        lanes += group->n_lanes;
        if (group->number != i) found(s, "a group has another number than its place", i);
        for (uint32_t k = 0; k < group->n_lanes; k++) {
            if (s->group_of[group->lanes[k]] != group) found(s, "a lane belongs to another group", group->lanes[k]);
            if (s->log->activations.at[group->lanes[k]].code != group->code)
                found(s, "a lane runs another function than its group", group->lanes[k]);
        }
    }
    if (grouped != lanes) found(s, "an activation is a lane of no group, or of two", grouped);
}

void pel_check_statements(pel_ctx *ctx, pel_node **statements, uint32_t n) {
    pel_node *module = pel_node_new(ctx, PEL_Module);
    module->Module.body = (pel_nodes){ .at = statements, .n = n };
    pel_ast_check(ctx, module);
}

/* Functions in the making have statements, or they say why they have none; no two parameters have one name. */
void pel_check_bodies(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        for (uint32_t p = 0; p < group->n_params; p++)
            for (uint32_t q = p + 1; q < group->n_params; q++)
                if (group->params[p].name == group->params[q].name && !group->params[p].dead && !group->params[q].dead)
                    found(s, "two parameters of a function have one name", i);
        if (group->why && !*group->why) found(s, "a function failed without a reason", i);
        for (uint32_t k = 0; k < group->body.n; k++)
            if (!group->body.at[k]) found(s, "a body has a hole", i);
    }
}

/* Every expression of the author's that became a value is a constant for a reason; and what was read before any path to
 * it was walked has got a fact since, which is a constant too, or the walk would go on. */
void pel_check_depends(pel_synth *s) {
    pel_check_bodies(s);
    for (uint32_t i = 0; i < s->notes.folds.n && !s->facts.changed; i++) {
        const pel_fold *fold = &s->notes.folds.at[i];
        if (!pel_is_constant(fold->taint)) found(s, "something that is no constant was folded", i);
    }
    for (uint32_t i = 0; i < s->groups.n && !s->facts.changed; i++) {
        const pel_group *group = s->groups.at[i];
        if (group->why || group->is.root) continue;
        if (!group->facts.result) found(s, "nothing says what a function gives", i);
        for (uint32_t p = group->class != 0; p < group->n_params; p++)
            if (!group->params[p].taint) found(s, "nothing says what a parameter gets", i);
    }
}

/* Calls between functions: each is a call, or the reading of a property, and has a place for every parameter of its
 * target. */
void pel_check_links(pel_synth *s) {
    pel_check_bodies(s);
    for (uint32_t i = 0; i < s->calls.links.n; i++) {
        const pel_link *link = s->calls.links.at[i];
        if (!link->node || (link->node->kind != PEL_Call && link->node->kind != PEL_Attribute))
            found(s, "a link without a call", i);
        if (!link->caller || !link->target) found(s, "a link without a caller or a target", i);
        if (link->target->n_params && !link->args) found(s, "a link without arguments", i);
        const pel_group *end = link->target;
        for (uint32_t steps = 0; end->instead; end = end->instead)
            if (++steps > s->groups.n) found(s, "functions take each other's place in a circle", i);
    }
}

static pel_str function_key(const pel_synth *s, const pel_program_function *function) {
    return pel_format(s->ctx, "%u.%s", function->class, function->name->text);
}

const char *pel_why_no_text(const pel_synth *s, const pel_program_function *function) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->function == function && s->groups.at[i]->why) return s->groups.at[i]->why;
    return NULL;
}

/* Until the pass `lines` names helpers, calls have names for them that are no identifiers: those they wish for pass. */
static void name_as_wished(void *arg, pel_node **slot) {
    const pel_synth *s = arg;
    for (uint32_t i = 0; (*slot)->kind == PEL_Name && i < s->helpers.n; i++)
        if ((*slot)->Name.id == s->helpers.at[i].function->name) (*slot)->Name.id = s->helpers.at[i].wish;
    pel_each_child(*slot, name_as_wished, arg);
}

static void check_definition(pel_synth *s, pel_node *def, bool is_draft) {
    if (is_draft && s->helpers.n) {
        def = pel_copy(s->ctx, def);
        name_as_wished(s, &def);
    }
    pel_check_statements(s->ctx, &def, 1);
}

/* Each name once in its class or in the file, and whole trees. Only a function that failed may lack a text, and only
 * until the pass `texts` has split or refused it. */
static void check_functions(pel_synth *s, bool is_draft) {
    pel_map names = { 0 };
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        const pel_program_function *function = s->program->functions.at[i];
        if (function->dead || !function->def) continue;
        if (function->def->kind != PEL_FunctionDef) found(s, "a function that is no definition", i);
        if (!pel_why_no_text(s, function))
            check_definition(s, function->def, is_draft);
        else if (!is_draft)
            found(s, "a function that failed was not refused", i);
        pel_str text = function_key(s, function);
        pel_name key = pel_intern(s->ctx, text.ptr, text.len);
        if (!pel_map_set(s->ctx, &names, PEL_KEY(key), 1) && !function->is_property)
            pel_throw(s->ctx, PEL_E_INCOMPLETE, 0, "checker: two functions are called %s", function->name->text);
    }
}

void pel_check_drafts(pel_synth *s) { check_functions(s, true); }

void pel_check_functions(pel_synth *s) { check_functions(s, false); }

/* Classes whose instances the file builds have a constructor that Python would take. */
void pel_check_classes(pel_synth *s) {
    pel_check_functions(s);
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        const pel_program_class *class = s->program->classes.at[i];
        pel_node *def = class->def ? class->def : class->init;
        if (def) pel_check_statements(s->ctx, &def, 1);
    }
}

/* ---- the file ---- */

static bool is_of_python(pel_ctx *ctx, pel_name name) {
    static const char names[] =
        " ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError "
        "BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError "
        "ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning "
        "EnvironmentError Exception ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError "
        "FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError "
        "InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError "
        "ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError "
        "OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError "
        "RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration "
        "StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError "
        "UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError "
        "UnicodeWarning UserWarning ValueError Warning ZeroDivisionError __build_class__ __class__ __debug__ "
        "__file__ __import__ __name__ abs aiter all anext any ascii bin bool breakpoint bytearray bytes "
        "callable chr classmethod compile complex delattr dict dir divmod enumerate eval exec filter float "
        "format frozenset getattr globals hasattr hash hex id input int isinstance issubclass iter len list "
        "locals map max memoryview min next object oct open ord pow print property range repr reversed round "
        "set setattr slice sorted staticmethod str sum super tuple type vars zip ";
    return strstr(names, pel_format(ctx, " %s ", name->text).ptr);
}

typedef struct meanings {
    pel_synth *s;
    pel_map file; /* names that the file binds -> 1 */
    pel_map own;  /* names that one statement of it, a function or a class, binds anywhere inside -> 1 */
} meanings;

static void note_of_file(void *arg, const pel_name_use *use) {
    meanings *m = arg;
    bool binds = !use->within && use->kind == PEL_USE_BINDS;
    if (!binds && use->kind != PEL_USE_DECLARES) return;
    pel_str name = pel_name_str(use->name);
    const char *dot = memchr(name.ptr, '.', name.len); /* `import a.b` binds a */
    if (dot) name.len = (size_t)(dot - name.ptr);
    pel_map_set(m->s->ctx, &m->file, PEL_KEY(pel_intern_str(m->s->ctx, name)), 1);
}

static void note_own(void *arg, const pel_name_use *use) {
    meanings *m = arg;
    if (use->kind == PEL_USE_BINDS) pel_map_set(m->s->ctx, &m->own, PEL_KEY(use->name), 1);
}

static void note_parameters(void *arg, pel_node **slot) {
    meanings *m = arg;
    if ((*slot)->kind == PEL_arg) pel_map_set(m->s->ctx, &m->own, PEL_KEY((*slot)->arg.arg), 1);
    pel_each_child(*slot, note_parameters, m);
}

static void need_meaning(void *arg, const pel_name_use *use) {
    meanings *m = arg;
    if (use->kind != PEL_USE_READS || pel_map_has(&m->file, PEL_KEY(use->name)) ||
        pel_map_has(&m->own, PEL_KEY(use->name)) || is_of_python(m->s->ctx, use->name))
        return;
    pel_throw(m->s->ctx, PEL_E_INCOMPLETE, 0, "checker: the file reads `%s` and nobody binds it", use->name->text);
}

/* The file is Python, defines the class of the root, and reads no name that nothing binds. */
void pel_check_file(pel_synth *s) {
    const pel_source source = { PEL_STR("the skeleton"), s->program->text };
    const pel_nodes body = pel_parse(s->ctx, &source, PEL_VERSION_MAX)->Module.body;
    meanings m = { .s = s };
    pel_each_use_in(NULL, body, note_of_file, &m);
    if (!pel_map_has(&m.file, PEL_KEY(s->program->root))) found(s, "the file does not define the root", 0);
    for (uint32_t i = 0; i < body.n; i++) {
        m.own = (pel_map){ 0 };
        pel_each_use(NULL, &body.at[i], note_own, &m);
        note_parameters(&m, &body.at[i]);
        pel_each_use(NULL, &body.at[i], need_meaning, &m);
    }
}
