/* The modules of a file: the tree that its loader made, as parts that methods can hang at. */
#include "source/source.h"

pel_node *pel_name_node(pel_ctx *ctx, const char *text) {
    return pel_make_name(ctx, pel_intern_c(ctx, text), PEL_Load);
}

pel_node *pel_dotted(pel_ctx *ctx, const char *text) {
    pel_str rest = pel_str_of(text);
    pel_node *node = NULL;
    for (size_t start = 0, i = 0; i <= rest.len; i++) {
        if (i < rest.len && rest.ptr[i] != '.') continue;
        pel_name name = pel_intern(ctx, rest.ptr + start, i - start);
        node = node ? pel_make_attribute(ctx, node, name, PEL_Load) : pel_make_name(ctx, name, PEL_Load);
        start = i + 1;
    }
    return node;
}

static size_t last_dot(pel_str path) {
    size_t dot = path.len;
    while (dot && path.ptr[dot - 1] != '.') dot--;
    return dot;
}

pel_part *pel_part_at(pel_recovery *r, pel_str path) {
    return pel_map_pointer(&r->by_path, PEL_KEY(pel_intern_str(r->ctx, path)));
}

pel_part *pel_part_make(pel_recovery *r, pel_str path) {
    pel_part *part = pel_part_at(r, path);
    if (part) return part;
    size_t dot = last_dot(path);
    part = pel_new(r->ctx, pel_part);
    part->path = path;
    part->name = pel_str_from(path, dot);
    pel_map_set(r->ctx, &r->by_path, PEL_KEY(pel_intern_str(r->ctx, path)), PEL_KEY(part));
    if (path.len) {
        part->parent = pel_part_make(r, pel_str_cut(path, 0, dot ? dot - 1 : 0));
        pel_push(r->ctx, &part->parent->children, part);
    }
    pel_push(r->ctx, &r->parts, part);
    return part;
}

bool pel_part_holds(pel_str path, pel_str of) {
    if (!path.len) return true;
    return pel_str_starts(of, path) && (of.len == path.len || of.ptr[path.len] == '.');
}

static bool is_index(pel_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    return text.len && text.len < 7;
}

pel_node *pel_part_access(pel_ctx *ctx, pel_str from, pel_str path) {
    pel_node *node = pel_name_node(ctx, "self");
    pel_str rest = pel_str_from(path, from.len + (from.len && path.len > from.len));
    for (size_t start = 0; start < rest.len;) {
        size_t end = start;
        while (end < rest.len && rest.ptr[end] != '.') end++;
        pel_str word = pel_str_cut(rest, start, end);
        if (is_index(word)) {
            int64_t index = 0;
            for (size_t i = 0; i < word.len; i++) index = index * 10 + (word.ptr[i] - '0');
            node = pel_make_subscript(ctx, node, pel_make_int(ctx, index), PEL_Load);
        } else if (pel_is_identifier(word)) {
            node = pel_make_attribute(ctx, node, pel_intern_str(ctx, word), PEL_Load);
        } else {
            pel_nodes args = { 0 };
            pel_nodes_push(ctx, &args, node);
            pel_nodes_push(ctx, &args, pel_make_text(ctx, word));
            node = pel_make_call(ctx, pel_name_node(ctx, "getattr"), args, (pel_nodes){ 0 });
        }
        start = end + 1;
    }
    return node;
}

static void add_part(void *arg, const pel_module *module, pel_str path) {
    pel_recovery *r = arg;
    pel_part *part = pel_part_make(r, pel_str_copy(r->ctx, path));
    part->class = module->class;
    part->origin = module->origin.file;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        r->n_constants += module->tensors.at[i].role == PEL_VOLATILE_BUFFER;
        pel_push(r->ctx, &part->held,
                 (pel_held){ pel_intern_str(r->ctx, module->tensors.at[i].name), &module->tensors.at[i] });
    }
}

void pel_recover_parts(pel_recovery *r) {
    if (r->loaded->networks.n != 1)
        pel_throw(r->ctx, PEL_E_UNSUPPORTED, 0, "the file holds %u networks, not one", r->loaded->networks.n);
    pel_each_module(r->ctx, r->loaded->networks.at[0], add_part, r);
    r->root = pel_part_make(r, (pel_str){ "", 0 });
}
