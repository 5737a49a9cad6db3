/* From a loaded file to text: the readers in turn, the passes, the header. */
#include "source/source.h"

static void find_functional(void *arg, pel_node **slot) {
    bool *found = arg;
    if ((*slot)->kind == PEL_Name && pel_name_is((*slot)->Name.id, "F")) *found = true;
    pel_each_child(*slot, find_functional, found);
}

typedef struct import_row {
    const char *name, *module;
} import_row;
static const import_row imports[] = {
#define IMPORT(name, module) { name, module },
#include "source/imports.def"
#undef IMPORT
};

static pel_node *import_as(pel_ctx *ctx, const char *module, const char *as) {
    pel_node *import = pel_node_new(ctx, PEL_Import), *alias = pel_node_new(ctx, PEL_alias);
    alias->alias.name = pel_intern_c(ctx, module);
    if (as) alias->alias.asname = pel_intern_c(ctx, as);
    import->Import.names = pel_nodes_one(ctx, alias);
    return import;
}

/* from typing import List, Optional: the rows of one module that the text uses. */
static void import_from(pel_recovery *r, const char *module, pel_nodes *body) {
    pel_node *import = pel_node_new(r->ctx, PEL_ImportFrom);
    import->ImportFrom.module = pel_intern_c(r->ctx, module);
    for (size_t i = 0; i < PEL_COUNT(imports); i++) {
        pel_name name = pel_intern_c(r->ctx, imports[i].name);
        if (!imports[i].module || strcmp(imports[i].module, module) != 0 || !pel_map_has(&r->imports, PEL_KEY(name)))
            continue;
        pel_node *alias = pel_node_new(r->ctx, PEL_alias);
        alias->alias.name = name;
        pel_nodes_push(r->ctx, &import->ImportFrom.names, alias);
    }
    if (import->ImportFrom.names.n) pel_nodes_push(r->ctx, body, import);
}

static void write_imports(pel_recovery *r, pel_nodes *body) {
    bool has_functional = pel_map_has(&r->imports, PEL_KEY(pel_intern_c(r->ctx, "F")));
    for (uint32_t i = 0; i < r->classes.n; i++) find_functional(&has_functional, &r->classes.at[i]);
    for (uint32_t i = 0; i < r->functions.n; i++) find_functional(&has_functional, &r->functions.at[i]);
    for (size_t i = 0; i < PEL_COUNT(imports); i++)
        if (imports[i].module && !*imports[i].module &&
            pel_map_has(&r->imports, PEL_KEY(pel_intern_c(r->ctx, imports[i].name))))
            pel_nodes_push(r->ctx, body, import_as(r->ctx, imports[i].name, NULL));
    import_from(r, "collections", body);
    import_from(r, "typing", body);
    pel_nodes_push(r->ctx, body, import_as(r->ctx, "torch", NULL));
    if (has_functional) pel_nodes_push(r->ctx, body, import_as(r->ctx, "torch.nn.functional", "F"));
    pel_nodes_push(r->ctx, body, import_as(r->ctx, "torch.nn", "nn"));
    import_from(r, "torch", body);
}

/* The first line is what a check replaces by its verdict. */
static pel_str header(pel_recovery *r, pel_str name) {
    pel_buf out = pel_buf_in(r->ctx);
    pel_putf(&out, "Verification: not verified: nothing compared this with the file.\n");
    pel_put_c(&out, "From ");
    pel_put_visible(&out, name);
    pel_putf(&out, " (%.*s, %.*s). Nothing of the file was executed.\n", PEL_FMT(r->loaded->format),
             PEL_FMT(r->producer));
    pel_put_c(&out, "Weights by name, in eval mode:\n    pellucid convert ");
    pel_put_visible(&out, name);
    pel_put_c(&out, " -o weights.safetensors");
    if (r->needs_conversion)
        pel_put_c(&out, " --for-source");
    else if (r->n_constants)
        pel_put_c(&out, " --constants");
    pel_putf(&out, "\n    model = %s().eval()\n", r->root_class->text);
    pel_put_c(&out, "    model.load_state_dict(safetensors.torch.load_file(\"weights.safetensors\"))\n");
    if (r->is_fixed)
        pel_put_c(&out, "Sizes are those of the exported example: other batch sizes and lengths may fail.\n");
    for (uint32_t i = 0; i < r->notes.n; i++) {
        pel_put_visible(&out, r->notes.at[i]);
        pel_put_byte(&out, '\n');
    }
    if (r->unspelled) pel_putf(&out, "%u calls of operators have no other spelling than torch.ops.\n", r->unspelled);
    pel_str text = pel_buf_str(&out);
    return pel_str_cut(text, 0, text.len - 1);
}

/* The tensors of the parts as a tree, so that convert can write them. */
static pel_network *tensors_of(pel_recovery *r) {
    pel_network *network = pel_network_new(r->ctx, PEL_STR("source"));
    network->separator = '.';
    network->root = pel_module_new(r->ctx, PEL_STR(""), PEL_STR(""));
    for (uint32_t i = 0; i < r->parts.n; i++)
        for (uint32_t k = 0; k < r->parts.at[i]->held.n; k++) {
            const pel_held *held = &r->parts.at[i]->held.at[k];
            pel_model_tensor tensor = *held->tensor;
            pel_str path = r->parts.at[i]->path;
            tensor.name = tensor.full =
                path.len ? pel_format(r->ctx, "%.*s.%s", PEL_FMT(path), held->name->text) : pel_name_str(held->name);
            pel_push(r->ctx, &network->root->tensors, tensor);
        }
    return network;
}

/* Long because it is the order of the passes; the tree is checked before it is printed, so that nothing that no table
 * spelled gets into a file. */
void pel_recover_file(pel_ctx *ctx, const pel_model_file *file, pel_recovered *out) {
    pel_recovery r = { .ctx = ctx, .loaded = pel_new(ctx, pel_loaded) };
    pel_load(ctx, file, r.loaded);
    if (!pel_recover_onnx(&r) && !pel_recover_keras(&r)) {
        pel_recover_parts(&r);
        bool is_zip = pel_is_zip(pel_input_head(ctx, r.loaded->input));
        const pel_zip *zip = is_zip ? pel_zip_read(ctx, r.loaded->input, &r.loaded->findings) : NULL;
        if (!zip || (!pel_recover_export(&r, zip) && !pel_recover_script(&r, zip)))
            pel_throw(ctx, PEL_E_UNSUPPORTED, 0,
                      "source from a file: a %.*s has no program that could be written; archives of torch.export "
                      "(.pt2), TorchScript, ONNX and whole Keras models have",
                      PEL_FMT(r.loaded->format));
    }
    pel_part functions = { .methods = r.functions };
    pel_spell(&r, &functions);
    pel_tidy(&r, &functions);
    pel_recover_modules(&r);
    pel_recover_classes(&r);
    pel_node *module = pel_node_new(ctx, PEL_Module);
    pel_str name = { file->name.ptr, file->name.len };
    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] == '/') {
            name = pel_str_from(name, i + 1);
            break;
        }
    pel_nodes_push(ctx, &module->Module.body, pel_make_comment(ctx, header(&r, name)));
    write_imports(&r, &module->Module.body);
    for (uint32_t i = 0; i < r.functions.n; i++) pel_nodes_push(ctx, &module->Module.body, r.functions.at[i]);
    for (uint32_t i = 0; i < r.classes.n; i++) pel_nodes_push(ctx, &module->Module.body, r.classes.at[i]);
    pel_ast_check(ctx, module);
    pel_buf text = pel_buf_in(ctx);
    pel_print_options how = { .width = 110 };
    pel_print(ctx, module, &how, &text);
    *out = (pel_recovered){ pel_buf_str(&text), r.root_class, r.operators,   r.unspelled,
                            r.is_fixed,         r.loaded,     tensors_of(&r) };
}
