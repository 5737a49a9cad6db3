/* Objects of the author's that modules hold and whose constants don't say enough: the run changes them (the
 * distribution of a policy, the state of a sampler), or goes through a list of them.
 *
 * Their methods are written like those of objects that the run makes. What is missing is what made them, so their class
 * gets an `__init__` that sets the attributes they had before the run: what all of them share stands in it, what
 * differs, or is made of modules, becomes an argument. */
#include "trace/build/init.h"

typedef struct held_class {
    pel_program_class *row;
    PEL_VEC(pel_id) objects;     /* of this class, before the run */
    PEL_VEC(pel_name) arguments; /* of its constructor: attributes of the same name */
} held_class;

static void collect_objects(const pel_builder *b, held_class *of, pel_id id, int depth) {
    const pel_value *value = pel_value_at(b->log, id);
    if (value->kind == PEL_V_OBJECT && value->class == of->row->class) pel_push(b->ctx, &of->objects, id);
    if (value->kind != PEL_V_LIST && value->kind != PEL_V_TUPLE && value->kind != PEL_V_DICT) return;
    for (uint32_t i = 0; i < value->n && depth < PEL_DEEPEST_TREE; i++)
        collect_objects(b, of, value->items[i], depth + 1);
}

/* One expression for an attribute of all objects of a class; NULL: they differ, or it is made of modules. */
static pel_node *shared_text(const pel_builder *b, const held_class *of, pel_name name) {
    pel_id first = pel_item_named(b->log, pel_value_at(b->log, of->objects.at[0]), name);
    for (uint32_t i = 1; i < of->objects.n; i++) {
        pel_id other = pel_item_named(b->log, pel_value_at(b->log, of->objects.at[i]), name);
        if (!other || !pel_value_same(b->log, first, other)) return NULL;
    }
    return pel_value_expression(b->ctx, b->program, first);
}

static void write_init(const pel_builder *b, held_class *of) {
    pel_ctx *ctx = b->ctx;
    pel_node *init = pel_node_new(ctx, PEL_FunctionDef), *arguments = pel_node_new(ctx, PEL_arguments);
    init->FunctionDef.name = pel_intern_c(ctx, "__init__");
    init->FunctionDef.args = arguments;
    pel_add_argument(ctx, arguments, pel_intern_c(ctx, "self"), NULL);
    const pel_value *first = pel_value_at(b->log, of->objects.at[0]);
    for (uint32_t i = 0; i + 1 < first->n; i += 2) {
        pel_name name = pel_intern_str(ctx, pel_value_at(b->log, first->items[i])->constant->text);
        if (!pel_is_read(b, of->row->class, name)) continue;
        pel_node *value = shared_text(b, of, name);
        if (!value) {
            pel_push(ctx, &of->arguments, name);
            pel_add_argument(ctx, arguments, name, NULL);
            value = pel_make_name(ctx, name, PEL_Load);
        }
        pel_node *set = pel_make_assign(ctx, pel_self_attribute(ctx, name, PEL_Store), value);
        pel_nodes_push(ctx, &init->FunctionDef.body, set);
    }
    if (init->FunctionDef.body.n) of->row->init = init;
}

/* NULL where the run makes such objects, too, by a constructor that the class already has. */
static held_class *class_of(pel_builder *b, pel_id class) {
    held_class *made = pel_map_pointer(&b->held_classes, class);
    if (made) return made;
    made = pel_new(b->ctx, held_class);
    made->row = pel_class_for(b, class);
    for (uint32_t i = 0; i < made->row->methods.n; i++)
        if (pel_name_is(made->row->methods.at[i]->name, "__init__")) return NULL;
    for (uint32_t m = 1; m < b->log->modules.n; m++)
        for (uint32_t i = 0; i < b->log->modules.at[m].n_attributes; i++)
            collect_objects(b, made, b->log->modules.at[m].attributes[i].value, 0);
    if (!made->objects.n) return NULL;
    pel_map_set(b->ctx, &b->held_classes, class, PEL_KEY(made));
    write_init(b, made);
    return made;
}

pel_node *pel_held_object(pel_builder *b, const pel_log_module *instance, pel_id id, int depth) {
    const pel_value *object = pel_value_at(b->log, id);
    bool is_author = object->class && pel_class_at(b->log, object->class)->kind == PEL_CLASS_AUTHOR;
    if (!is_author || object->truncated || depth > PEL_DEEPEST_TREE) return NULL;
    /* what is held twice and changed would have to be one object, and no place in the text makes it for both */
    bool is_second = !pel_map_set(b->ctx, &b->held_objects, object->object, 1);
    if (is_second && pel_map_has(&b->program->changed, object->class)) return NULL;
    const held_class *of = class_of(b, object->class);
    if (!of) return NULL;
    pel_node *made = pel_call_of(b->ctx, pel_make_name(b->ctx, of->row->name, PEL_Load), (pel_nodes){ 0 });
    pel_set_notes(b->ctx, b->program->notes, made, PEL_NOTE_BUILDS);
    for (uint32_t i = 0; i < of->arguments.n; i++) {
        pel_id held = pel_item_named(b->log, object, of->arguments.at[i]);
        pel_node *value = held ? pel_held_text(b, instance, held, depth + 1) : NULL;
        if (!value) return NULL;
        pel_add_noted(b, made, of->arguments.at[i], value, i < 3 ? PEL_NOTE_POSITIONAL : 0u);
    }
    return made;
}
