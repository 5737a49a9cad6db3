/* What the author writes where a constructor sets an attribute: the names in it are the best that our constructors can
 * take for the same values. */
#include "trace/log/align.h"
#include "trace/program.h"
#include "trace/build/unify.h"

#define MAX_BASES 16 /* a class above a class above ... */

#define MAX_HELPERS 4 /* a helper that calls a helper ... */

typedef struct finding {
    pel_ctx *ctx;
    pel_name self, attribute; /* no attribute: what is wanted is super().__init__(...) */
    pel_nodes found;          /* what is assigned to self.attribute, anywhere in the constructor */
} finding;

/* ---- the statement of a class ---- */

typedef struct statement {
    const pel_node *def, *file; /* NULL: not known */
} statement;

const pel_author *pel_author_of_class(const pel_program *program, pel_id class) {
    for (pel_id code = 1; code < program->log->codes.n; code++) {
        const pel_author *author = &program->authors[code];
        if (program->log->codes.at[code].class == class && author->within && author->within->kind == PEL_ClassDef)
            return author;
    }
    return NULL;
}

/* Of a class without a method that ran: the file is known if something else in it did. */
static statement statement_of(const pel_program *program, pel_id class) {
    const pel_author *author = pel_author_of_class(program, class);
    if (author) return (statement){ author->within, author->file };
    const pel_log_class *row = pel_class_at(program->log, class);
    for (pel_id code = 1; code < program->log->codes.n && row->file; code++) {
        const pel_node *file = program->authors[code].file;
        if (program->log->codes.at[code].file != row->file || !file) continue;
        for (uint32_t i = 0; i < file->Module.body.n; i++) {
            const pel_node *def = file->Module.body.at[i];
            if (def->kind == PEL_ClassDef && def->ClassDef.name == row->name) return (statement){ def, file };
        }
        break;
    }
    return (statement){ 0 };
}

const pel_node *pel_author_class(const pel_program *program, pel_id class) { return statement_of(program, class).def; }

static const pel_node *function_among(pel_nodes body, pel_name name) {
    for (uint32_t i = 0; i < body.n; i++)
        if (body.at[i]->kind == PEL_FunctionDef && body.at[i]->FunctionDef.name == name) return body.at[i];
    return NULL;
}

static const pel_node *constructor_of(pel_ctx *ctx, statement of) {
    const pel_node *def = of.def ? function_among(of.def->ClassDef.body, pel_intern_c(ctx, "__init__")) : NULL;
    return def && def->FunctionDef.args->arguments.args.n ? def : NULL;
}

static pel_id base_of(const pel_program *program, pel_id class) {
    const pel_log_class *row = pel_class_at(program->log, class);
    return row->n_bases ? row->bases[0] : 0;
}

const pel_node *pel_author_parameters(pel_ctx *ctx, const pel_program *program, pel_id class) {
    for (uint32_t up = 0; class && program->authors && up < MAX_BASES; up++) {
        const pel_node *def = constructor_of(ctx, statement_of(program, class));
        if (def) return def->FunctionDef.args;
        class = base_of(program, class);
    }
    return NULL;
}

/* ---- helpers: conv3x3(inplanes, planes) is nn.Conv2d(inplanes, planes, 3, padding=1) ---- */

typedef struct expanding {
    pel_ctx *ctx;
    statement of;
    int depth;
} expanding;

/* The function of the author's file, or the method of his class, that an expression calls. */
static const pel_node *helper_of(const expanding *e, const pel_node *func) {
    if (func->kind == PEL_Name) return e->of.file ? function_among(e->of.file->Module.body, func->Name.id) : NULL;
    if (func->kind != PEL_Attribute || func->Attribute.value->kind != PEL_Name) return NULL;
    return function_among(e->of.def->ClassDef.body, func->Attribute.attr);
}

typedef struct passing {
    pel_ctx *ctx;
    const pel_node *call;
    pel_nodes params;
    uint32_t first; /* 1 where the first parameter is self */
} passing;

static const pel_node *argument_for(const passing *p, pel_name name) {
    for (uint32_t i = 0; i < p->call->Call.keywords.n; i++)
        if (p->call->Call.keywords.at[i]->keyword.arg == name) return p->call->Call.keywords.at[i]->keyword.value;
    for (uint32_t i = p->first; i < p->params.n; i++)
        if (p->params.at[i]->arg.arg == name && i - p->first < p->call->Call.args.n)
            return p->call->Call.args.at[i - p->first];
    return NULL;
}

static void put_arguments(void *arg, pel_node **slot) {
    const passing *p = arg;
    const pel_node *given = (*slot)->kind == PEL_Name ? argument_for(p, (*slot)->Name.id) : NULL;
    if (given)
        *slot = pel_copy(p->ctx, given);
    else
        pel_each_child(*slot, put_arguments, arg);
}

static void expand(void *arg, pel_node **slot) {
    expanding *e = arg;
    if ((*slot)->kind == PEL_Call && e->depth < MAX_HELPERS) {
        const pel_node *def = helper_of(e, (*slot)->Call.func);
        const pel_nodes body = def ? def->FunctionDef.body : (pel_nodes){ 0 };
        const pel_node *last = body.n ? body.at[body.n - 1] : NULL;
        if (last && last->kind == PEL_Return && last->Return.value && last->Return.value->kind == PEL_Call) {
            passing p = { e->ctx, *slot, def->FunctionDef.args->arguments.args, (*slot)->Call.func->kind != PEL_Name };
            pel_node *made = pel_copy(e->ctx, last->Return.value);
            put_arguments(&p, &made);
            *slot = made;
            e->depth++;
            expand(e, slot);
            e->depth--;
            return;
        }
    }
    pel_each_child(*slot, expand, e);
}

/* ---- what a constructor says ---- */

/* a if c else b may be either. */
static void add_choices(finding *f, pel_node *value) {
    if (value->kind == PEL_IfExp) {
        add_choices(f, value->IfExp.body);
        add_choices(f, value->IfExp.orelse);
    } else {
        pel_nodes_push(f->ctx, &f->found, value);
    }
}

static bool is_it(const finding *f, const pel_node *target) {
    return target->kind == PEL_Attribute && target->Attribute.attr == f->attribute &&
           target->Attribute.value->kind == PEL_Name && target->Attribute.value->Name.id == f->self;
}

/* self.add_module("attribute", made) */
static void see_added(finding *f, const pel_node *call) {
    const pel_node *func = call->Call.func, *name = call->Call.args.n == 2 ? call->Call.args.at[0] : NULL;
    if (!name || name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR ||
        func->kind != PEL_Attribute || func->Attribute.value->kind != PEL_Name ||
        func->Attribute.value->Name.id != f->self)
        return;
    static const char *const adding[] = { "add_module", "register_module", "register_parameter", "register_buffer" };
    for (size_t i = 0; i < PEL_COUNT(adding); i++)
        if (pel_name_is(func->Attribute.attr, adding[i]) &&
            pel_str_eq(name->Constant.value->text, pel_name_str(f->attribute)))
            add_choices(f, call->Call.args.at[1]);
}

static bool is_super_init(const pel_node *node) {
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Attribute) return false;
    const pel_node *of = node->Call.func->Attribute.value;
    return pel_name_is(node->Call.func->Attribute.attr, "__init__") && of->kind == PEL_Call &&
           of->Call.func->kind == PEL_Name && pel_name_is(of->Call.func->Name.id, "super");
}

static void see_assignment(void *arg, pel_node **slot) {
    finding *f = arg;
    pel_node *node = *slot;
    if (!f->attribute) {
        if (is_super_init(node)) pel_nodes_push(f->ctx, &f->found, node);
        pel_each_child(node, see_assignment, f);
        return;
    }
    if (node->kind == PEL_Call) see_added(f, node);
    if (node->kind == PEL_Assign) {
        for (uint32_t i = 0; i < node->Assign.targets.n; i++)
            if (is_it(f, node->Assign.targets.at[i])) add_choices(f, node->Assign.value);
    } else if (node->kind == PEL_AnnAssign && node->AnnAssign.value && is_it(f, node->AnnAssign.target)) {
        add_choices(f, node->AnnAssign.value);
    }
    if (node->kind != PEL_Lambda && node->kind != PEL_ClassDef) pel_each_child(node, see_assignment, f);
}

/* ---- lists that the constructor fills: layers = [a]; layers.append(b); nn.Sequential(*layers) ---- */

typedef struct filling {
    pel_ctx *ctx;
    pel_name list;
    pel_nodes elements;
} filling;

static bool names(const pel_node *node, pel_name name) { return node->kind == PEL_Name && node->Name.id == name; }

static void add_elements(filling *f, const pel_node *more) {
    if (more && more->kind == PEL_IfExp) { /* [a] if there else [] */
        add_elements(f, more->IfExp.body);
        add_elements(f, more->IfExp.orelse);
    }
    if (!more || more->kind != PEL_List) return;
    for (uint32_t i = 0; i < more->List.elts.n; i++) pel_nodes_push(f->ctx, &f->elements, more->List.elts.at[i]);
}

static void see_filling(void *arg, pel_node **slot) {
    filling *f = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Assign && names(node->Assign.targets.at[0], f->list)) add_elements(f, node->Assign.value);
    if (node->kind == PEL_AnnAssign && names(node->AnnAssign.target, f->list)) add_elements(f, node->AnnAssign.value);
    if (node->kind == PEL_AugAssign && names(node->AugAssign.target, f->list)) add_elements(f, node->AugAssign.value);
    if (node->kind == PEL_Call && node->Call.args.n == 1 && node->Call.func->kind == PEL_Attribute &&
        names(node->Call.func->Attribute.value, f->list)) {
        if (pel_name_is(node->Call.func->Attribute.attr, "append"))
            pel_nodes_push(f->ctx, &f->elements, node->Call.args.at[0]);
        if (pel_name_is(node->Call.func->Attribute.attr, "extend")) add_elements(f, node->Call.args.at[0]);
    }
    pel_each_child(*slot, see_filling, f);
}

/* Of nn.Sequential(*layers) what is in the list. */
static void put_elements(pel_ctx *ctx, const pel_node *constructor, pel_node *call) {
    if (call->kind != PEL_Call || call->Call.args.n != 1 || call->Call.args.at[0]->kind != PEL_Starred) return;
    pel_node *list = call->Call.args.at[0]->Starred.value;
    if (list->kind != PEL_Name) return;
    filling f = { .ctx = ctx, .list = list->Name.id };
    for (uint32_t i = 0; i < constructor->FunctionDef.body.n; i++) {
        pel_node *line = constructor->FunctionDef.body.at[i];
        see_filling(&f, &line);
    }
    if (f.elements.n) call->Call.args = f.elements;
}

/* ---- what he calls by a name of his own ---- */

static bool is_parameter(const pel_node *constructor, pel_name name) {
    const pel_node *args = constructor->FunctionDef.args;
    const pel_nodes kinds[] = { args->arguments.args, args->arguments.kwonlyargs };
    for (size_t k = 0; k < PEL_COUNT(kinds); k++)
        for (uint32_t i = 0; i < kinds[k].n; i++)
            if (kinds[k].at[i]->arg.arg == name) return true;
    return false;
}

typedef struct noting {
    pel_ctx *ctx;
    pel_note_table *notes;
    const pel_node *constructor;
} noting;

/* A class that he was given: whatever it is, it is what we call there. */
static void note_given(void *arg, pel_node **slot) {
    const noting *to = arg;
    if ((*slot)->kind == PEL_Call) {
        const pel_node *func = (*slot)->Call.func;
        bool is_given = func->kind == PEL_Name && is_parameter(to->constructor, func->Name.id);
        pel_set_notes(to->ctx, to->notes, *slot, is_given ? PEL_NOTE_GIVEN : 0u);
    }
    pel_each_child(*slot, note_given, arg);
}

static void look_in_class(finding *f, const pel_program *program, pel_id class) {
    statement of = statement_of(program, class);
    const pel_node *constructor = constructor_of(f->ctx, of);
    if (!constructor) return;
    f->self = constructor->FunctionDef.args->arguments.args.at[0]->arg.arg;
    for (uint32_t k = 0; k < constructor->FunctionDef.body.n; k++)
        see_assignment(f, &constructor->FunctionDef.body.at[k]);
    expanding e = { f->ctx, of, 0 };
    noting to = { f->ctx, program->notes, constructor };
    for (uint32_t i = 0; i < f->found.n; i++) {
        pel_node **found = &f->found.at[i];
        *found = pel_copy(f->ctx, *found);
        put_elements(f->ctx, constructor, *found);
        *found = pel_copy(f->ctx, *found);
        note_given(&to, found);
        expand(&e, found);
    }
}

/* Of several the one that calls what we call; one alone may call it by another name. */
static const pel_node *fitting(pel_nodes found, const pel_node *ours) {
    for (uint32_t i = 0; i < found.n && ours->kind == PEL_Call; i++)
        if (found.at[i]->kind == PEL_Call && pel_last_name(found.at[i]->Call.func) == pel_last_name(ours->Call.func))
            return found.at[i];
    return found.n == 1 ? found.at[0] : NULL;
}

const pel_node *pel_author_builds(pel_ctx *ctx, const pel_program *program, pel_id class, pel_name attribute,
                                  const pel_node *ours) {
    if (!program->authors) return NULL;
    finding f = { .ctx = ctx, .attribute = attribute };
    for (uint32_t up = 0; class && !f.found.n && up < MAX_BASES; up++) {
        look_in_class(&f, program, class);
        class = base_of(program, class);
    }
    return fitting(f.found, ours);
}

const pel_node *pel_author_inherits(pel_ctx *ctx, const pel_program *program, pel_id class) {
    if (!program->authors) return NULL;
    for (uint32_t up = 0; up < MAX_BASES; up++) { /* the class that torch's is the base of */
        pel_id base = base_of(program, class);
        if (!base || pel_class_at(program->log, base)->kind != PEL_CLASS_MODULE) break;
        class = base;
    }
    finding f = { .ctx = ctx };
    look_in_class(&f, program, class);
    return f.found.n == 1 ? f.found.at[0] : NULL;
}
