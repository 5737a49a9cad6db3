/* Functions that were taken out of where they had been defined.
 *
 * Where functions carry their qualified name as a constant, what is defined within a function says where that function
 * stood: "Class.function.<locals>.inner". If that is not where it is found, somebody has moved its code object. To give
 * what is within it its name again, the function is defined in classes and functions of the right names, and then bound
 * to the name that it has here:
 *
 *   class Class:
 *       def function(): ...
 *   function = Class.function
 *   del Class
 */
#include "decompile/lift.h"

#define MAX_DEPTH 4

/* One step of a qualified name. */
typedef struct step {
    pel_str name;
    bool is_function; /* what follows is local to it */
} step;

typedef PEL_VEC(step) path;

/* Takes the last step off a qualified name. */
static step last_step(pel_str *text, bool is_function) {
    size_t at = text->len;
    while (at > 0 && text->ptr[at - 1] != '.') at--;
    step s = { pel_str_from(*text, at), is_function };
    text->len = at > 0 ? at - 1 : 0;
    return s;
}

static bool take_suffix(pel_str *text, pel_str suffix) {
    if (!pel_str_ends(*text, suffix)) return false;
    text->len -= suffix.len;
    return true;
}

/* The steps of a qualified name but for the first `inner` ones from its end, which are checked to be those names;
 * false if they are not. names: from inside out. */
static bool split(pel_lift *l, pel_str text, const pel_name *names, uint32_t inner, path *out) {
    pel_str locals = PEL_STR(".<locals>");
    for (uint32_t i = 0; text.len; i++) {
        bool is_function = take_suffix(&text, locals);
        step s = last_step(&text, is_function);
        if (!s.name.len) return false;
        if (i >= inner)
            pel_push(l->ctx, out, s);
        else if (!pel_str_eq(s.name, pel_name_str(names[i])))
            return false;
    }
    return out->n > 0;
}

/* Looks in a definition for a function that says that it stood elsewhere; fills the path of the definition itself, last
 * step first. */
static bool find_path(pel_lift *l, const pel_node *def, pel_name *names, uint32_t depth, path *out) {
    bool is_class = def->kind == PEL_ClassDef;
    if (!is_class && def->kind != PEL_FunctionDef && def->kind != PEL_AsyncFunctionDef) return false;
    names[depth] = is_class ? def->ClassDef.name : def->FunctionDef.name;
    uint64_t code = pel_map_find(&l->result->code_of, PEL_KEY(def), 0);
    const pel_const *place = code && !is_class ? pel_map_pointer(l->places, code) : NULL;
    if (place) {
        pel_str text = place->text;
        last_step(&text, false); /* what is defined within */
        pel_name inside_out[MAX_DEPTH] = { 0 };
        for (uint32_t i = 0; i < depth; i++) inside_out[i] = names[depth - i];
        bool is_known = split(l, text, inside_out, depth, out);
        bool is_here = out->n == 1 && pel_str_eq(out->at[0].name, pel_name_str(names[0]));
        if (is_known && !is_here) return true;
        out->n = 0;
    }
    pel_nodes body = is_class ? def->ClassDef.body : def->FunctionDef.body;
    for (uint32_t i = 0; i < body.n && depth + 1 < MAX_DEPTH; i++)
        if (find_path(l, body.at[i], names, depth + 1, out)) return true;
    return false;
}

static pel_node *wrapped(pel_lift *l, pel_node *inner, pel_name inner_name, step around) {
    bool is_class = !around.is_function;
    pel_node *node = pel_node_new(l->ctx, is_class ? PEL_ClassDef : PEL_FunctionDef);
    pel_name name = pel_intern_str(l->ctx, around.name);
    node->mark = inner->mark;
    if (is_class) {
        node->ClassDef.name = name;
        node->ClassDef.body = pel_nodes_one(l->ctx, inner);
        return node;
    }
    node->FunctionDef.name = name;
    node->FunctionDef.args = pel_node_new(l->ctx, PEL_arguments);
    node->FunctionDef.body = pel_nodes_one(l->ctx, inner);
    pel_node *result = pel_make_return(l->ctx, pel_make_name(l->ctx, inner_name, PEL_Load));
    pel_nodes_push(l->ctx, &node->FunctionDef.body, result);
    return node;
}

/* Definition and path -> the definition where it stood, *reach the expression that gets it. */
static pel_node *put_back(pel_lift *l, pel_node *def, const path *steps, pel_node **reach) {
    pel_name name = pel_intern(l->ctx, steps->at[0].name.ptr, steps->at[0].name.len);
    if (def->kind == PEL_ClassDef)
        def->ClassDef.name = name;
    else
        def->FunctionDef.name = name;
    pel_name inner = name;
    for (uint32_t i = 1; i < steps->n; i++) {
        def = wrapped(l, def, inner, steps->at[i]);
        inner = pel_intern(l->ctx, steps->at[i].name.ptr, steps->at[i].name.len);
    }
    *reach = pel_make_name(l->ctx, inner, PEL_Load);
    for (uint32_t i = steps->n; i-- > 1;) {
        if (steps->at[i].is_function) {
            pel_node *call = pel_node_new(l->ctx, PEL_Call);
            call->Call.func = *reach;
            *reach = call;
        } else {
            pel_name attr = pel_intern(l->ctx, steps->at[i - 1].name.ptr, steps->at[i - 1].name.len);
            *reach = pel_make_attribute(l->ctx, *reach, attr, PEL_Load);
        }
    }
    return def;
}

void pel_put_in_place(pel_lift *l, pel_nodes *body) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *def = body->at[i];
        pel_name names[MAX_DEPTH];
        path steps = { 0 };
        if (!find_path(l, def, names, 0, &steps)) {
            pel_nodes_push(l->ctx, &out, def);
            continue;
        }
        pel_name name = names[0];
        pel_node *reach;
        pel_node *made = put_back(l, def, &steps, &reach);
        pel_name outermost = made->kind == PEL_ClassDef ? made->ClassDef.name : made->FunctionDef.name;
        pel_nodes_push(l->ctx, &out, made);
        pel_nodes_push(l->ctx, &out, pel_make_assign(l->ctx, pel_make_name(l->ctx, name, PEL_Store), reach));
        if (outermost == name) continue;
        pel_node *del = pel_node_new(l->ctx, PEL_Delete);
        del->Delete.targets = pel_nodes_one(l->ctx, pel_make_name(l->ctx, outermost, PEL_Del));
        pel_nodes_push(l->ctx, &out, del);
    }
    *body = out;
}
