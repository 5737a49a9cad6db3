/* What the author writes where a constructor sets an attribute: the names in it are the best that our constructors can
 * take for the same values. */
#include "trace/align.h"
#include "trace/program.h"

#define MAX_BASES 16 /* a class above a class above ... */

typedef struct finding {
    pel_ctx *ctx;
    pel_name self, attribute;
    pel_nodes found; /* what is assigned to self.attribute, anywhere in the constructor */
} finding;

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

static void see_assignment(void *arg, pel_node **slot) {
    finding *f = arg;
    pel_node *node = *slot;
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
