/* What the author writes where a constructor sets an attribute: the names in it are the best that our constructors can
 * take for the same values. */
#include "trace/align.h"
#include "trace/program.h"

#define MAX_BASES 16 /* a class above a class above ... */

#define MAX_HELPERS 4 /* a helper that calls a helper ... */

typedef struct finding {
    pel_ctx *ctx;
    pel_name self, attribute;
    pel_nodes found; /* what is assigned to self.attribute, anywhere in the constructor */
} finding;

/* ---- helpers: conv3x3(inplanes, planes) is nn.Conv2d(inplanes, planes, 3, padding=1) ---- */

typedef struct expanding {
    pel_ctx *ctx;
    const pel_author *author;
    int depth;
} expanding;

static const pel_node *function_among(pel_nodes body, pel_name name) {
    for (uint32_t i = 0; i < body.n; i++)
        if (body.at[i]->kind == PEL_FunctionDef && body.at[i]->FunctionDef.name == name) return body.at[i];
    return NULL;
}

/* The function of the author's file, or the method of his class, that an expression calls. */
static const pel_node *helper_of(const expanding *e, const pel_node *func) {
    if (func->kind == PEL_Name)
        return e->author->file ? function_among(e->author->file->Module.body, func->Name.id) : NULL;
    if (func->kind != PEL_Attribute || func->Attribute.value->kind != PEL_Name) return NULL;
    return function_among(e->author->within->ClassDef.body, func->Attribute.attr);
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

static void see_assignment(void *arg, pel_node **slot) {
    finding *f = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Call) see_added(f, node);
    if (node->kind == PEL_Assign) {
        for (uint32_t i = 0; i < node->Assign.targets.n; i++)
            if (is_it(f, node->Assign.targets.at[i])) add_choices(f, node->Assign.value);
    } else if (node->kind == PEL_AnnAssign && node->AnnAssign.value && is_it(f, node->AnnAssign.target)) {
        add_choices(f, node->AnnAssign.value);
    }
    if (node->kind != PEL_Lambda && node->kind != PEL_ClassDef) pel_each_child(node, see_assignment, f);
}

const pel_author *pel_author_of_class(const pel_program *program, pel_id class) {
    for (pel_id code = 1; code < program->log->codes.n; code++) {
        const pel_author *author = &program->authors[code];
        if (program->log->codes.at[code].class == class && author->within && author->within->kind == PEL_ClassDef)
            return author;
    }
    return NULL;
}

static void look_in_class(finding *f, const pel_program *program, pel_id class) {
    const pel_author *author = pel_author_of_class(program, class);
    for (uint32_t i = 0; author && i < author->within->ClassDef.body.n; i++) {
        pel_node *def = author->within->ClassDef.body.at[i];
        if (def->kind != PEL_FunctionDef || !pel_name_is(def->FunctionDef.name, "__init__")) continue;
        const pel_node *args = def->FunctionDef.args;
        if (!args->arguments.args.n) continue;
        f->self = args->arguments.args.at[0]->arg.arg;
        for (uint32_t k = 0; k < def->FunctionDef.body.n; k++) see_assignment(f, &def->FunctionDef.body.at[k]);
    }
    expanding e = { f->ctx, author, 0 };
    for (uint32_t i = 0; author && i < f->found.n; i++) {
        f->found.at[i] = pel_copy(f->ctx, f->found.at[i]);
        expand(&e, &f->found.at[i]);
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
        const pel_log_class *row = pel_class_at(program->log, class);
        class = row->n_bases ? row->bases[0] : 0;
    }
    return fitting(f.found, ours);
}
