/* Classes that are a layer of torch's: SiLUActivation, whose forward is `return F.silu(input)`, is nn.SiLU(). They hold
 * nothing, so weights load as before. */
#include "trace/build/init.h"
#include "trace/program.h"

/* Functions of one tensor, and the layers that call them with nothing else. */
static const struct {
    const char *function, *layer;
} layers[] = {
    { "F.celu", "CELU" },
    { "F.elu", "ELU" },
    { "F.gelu", "GELU" },
    { "F.hardsigmoid", "Hardsigmoid" },
    { "F.hardswish", "Hardswish" },
    { "F.hardtanh", "Hardtanh" },
    { "F.leaky_relu", "LeakyReLU" },
    { "F.logsigmoid", "LogSigmoid" },
    { "F.mish", "Mish" },
    { "F.relu", "ReLU" },
    { "F.relu6", "ReLU6" },
    { "F.selu", "SELU" },
    { "F.silu", "SiLU" },
    { "F.softplus", "Softplus" },
    { "F.softsign", "Softsign" },
    { "torch.relu", "ReLU" },
    { "torch.sigmoid", "Sigmoid" },
    { "torch.tanh", "Tanh" },
};

static bool is_approximate(const pel_node *call) {
    return call->Call.keywords.n == 1 && pel_name_is(call->Call.keywords.at[0]->keyword.arg, "approximate") &&
           call->Call.keywords.at[0]->keyword.value->kind == PEL_Constant;
}

/* What a class's forward says: nn.GELU(approximate="tanh"); NULL: something else, or more than that. */
static pel_node *layer_said(pel_ctx *ctx, pel_program *program, const pel_node *forward) {
    const pel_node *args = forward->FunctionDef.args, *call = NULL;
    const pel_nodes body = forward->FunctionDef.body, names = args->arguments.args;
    bool is_plain = names.n == 2 && !args->arguments.defaults.n && !args->arguments.kwonlyargs.n &&
                    !args->arguments.posonlyargs.n && !args->arguments.vararg && !args->arguments.kwarg &&
                    !forward->FunctionDef.decorator_list.n && body.n == 1 && body.at[0]->kind == PEL_Return;
    if (is_plain) call = body.at[0]->Return.value;
    if (!call || call->kind != PEL_Call || call->Call.func->kind != PEL_Attribute || call->Call.args.n != 1)
        return NULL;
    const pel_node *of = call->Call.func->Attribute.value, *input = call->Call.args.at[0];
    if (of->kind != PEL_Name || input->kind != PEL_Name || input->Name.id != names.at[1]->arg.arg) return NULL;
    pel_str text = pel_format(ctx, "%s.%s", of->Name.id->text, call->Call.func->Attribute.attr->text);
    for (size_t i = 0; i < PEL_COUNT(layers); i++) {
        if (!pel_str_is(text, layers[i].function)) continue;
        bool is_gelu = strcmp(layers[i].layer, "GELU") == 0;
        if (call->Call.keywords.n && !(is_gelu && is_approximate(call))) return NULL;
        pel_node *layer = pel_library_expression(ctx, program, pel_format(ctx, "torch.nn.%s", layers[i].layer));
        return pel_make_call(ctx, layer, (pel_nodes){ 0 }, call->Call.keywords);
    }
    return NULL;
}

typedef struct use {
    pel_ctx *ctx;
    pel_name class;
    pel_node *by; /* NULL: only look */
    uint32_t n_names, n_made;
} use;

static void see_use(void *arg, pel_node **slot) {
    use *u = arg;
    pel_node *node = *slot;
    u->n_names += node->kind == PEL_Name && node->Name.id == u->class;
    bool makes = node->kind == PEL_Call && node->Call.func->kind == PEL_Name && node->Call.func->Name.id == u->class &&
                 !node->Call.args.n && !node->Call.keywords.n;
    u->n_made += makes;
    if (makes && u->by)
        *slot = pel_copy(u->ctx, u->by);
    else
        pel_each_child(node, see_use, u);
}

static void each_text(pel_program *program, use *u) {
    for (uint32_t i = 0; i < program->functions.n; i++) /* methods, too */
        if (program->functions.at[i]->def) see_use(u, &program->functions.at[i]->def);
    for (uint32_t i = 0; i < program->classes.n; i++) {
        pel_program_class *class = program->classes.at[i];
        if (class->init) see_use(u, &class->init);
        if (class->def) see_use(u, &class->def);
        for (uint32_t k = 0; k < class->modes.n; k++) see_use(u, &class->modes.at[k]);
    }
    for (uint32_t i = 0; i < program->globals.n; i++)
        if (program->globals.at[i].value) see_use(u, &program->globals.at[i].value);
}

void pel_use_torchs_layer(pel_ctx *ctx, pel_program *program, const pel_program_class *class) {
    pel_id base = pel_torch_base(program->log, class->class);
    const pel_node *forward = class->methods.at[0]->def;
    if (!base || !pel_str_is(pel_class_at(program->log, base)->path, "torch.nn.Module")) return;
    pel_node *layer = forward && forward->kind == PEL_FunctionDef ? layer_said(ctx, program, forward) : NULL;
    if (!layer) return;
    use u = { .ctx = ctx, .class = class->name };
    each_text(program, &u);
    if (!u.n_made || u.n_names > u.n_made) return; /* it is handed on as a class, or is a base */
    u.by = layer;
    each_text(program, &u);
}
