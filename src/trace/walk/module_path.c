/* Ways from a module down to its parts, and the expressions that go them. */
#include "trace/synth.h"

#include <stdlib.h>

typedef struct search {
    pel_ctx *ctx;
    const pel_log *log;
    pel_part_test *is_it;
    void *arg;
    pel_map seen; /* modules that were no use: one that stands in many places is looked at once */
    pel_way *way;
} search;

static bool find_below(search *s, pel_id module) {
    if (s->is_it(s->log, module, s->arg)) return true;
    if (s->way->n == PEL_DEEPEST_MODULE || pel_map_has(&s->seen, module)) return false;
    pel_map_set(s->ctx, &s->seen, module, 1);
    const pel_log_module *row = pel_module_at(s->log, module);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        if (!row->children[i]) continue;
        s->way->steps[s->way->n++] = row->child_names.at[i];
        if (find_below(s, row->children[i])) return true;
        s->way->n--;
    }
    return false;
}

bool pel_find_way(pel_ctx *ctx, const pel_log *log, pel_id from, pel_part_test *is_it, void *arg, pel_way *out) {
    search s = { .ctx = ctx, .log = log, .is_it = is_it, .arg = arg, .way = out };
    return find_below(&s, from);
}

pel_id pel_go_way(const pel_log *log, pel_id from, const pel_way *way) {
    for (uint32_t i = 0; i < way->n && from; i++) from = pel_child_named(pel_module_at(log, from), way->steps[i]->text);
    return from;
}

pel_node *pel_part_text(pel_ctx *ctx, const pel_log *log, pel_node *whole, pel_id module, pel_name name) {
    pel_container kind = pel_container_kind(log, pel_module_at(log, module)->class);
    bool is_number = name->text[0] >= '0' && name->text[0] <= '9';
    if (is_number && (kind == PEL_MODULE_LIST || kind == PEL_SEQUENTIAL || kind == PEL_PARAMETER_LIST))
        return pel_make_subscript(ctx, whole, pel_make_int(ctx, strtol(name->text, NULL, 10)), PEL_Load);
    if (kind == PEL_MODULE_DICT || kind == PEL_PARAMETER_DICT)
        return pel_make_subscript(ctx, whole, pel_make_text(ctx, pel_name_str(name)), PEL_Load);
    return pel_is_identifier(pel_name_str(name)) ? pel_make_attribute(ctx, whole, name, PEL_Load) : NULL;
}

pel_node *pel_way_text(pel_ctx *ctx, const pel_log *log, const pel_node *from, pel_id module, const pel_way *way) {
    pel_node *text = pel_copy(ctx, from);
    for (uint32_t i = 0; i < way->n && text; i++) {
        text = pel_part_text(ctx, log, text, module, way->steps[i]);
        module = pel_child_named(pel_module_at(log, module), way->steps[i]->text);
    }
    return text;
}

static bool is_module(const pel_log *log, pel_id module, void *arg) {
    (void)log;
    return module == *(const pel_id *)arg;
}

pel_node *pel_module_text(pel_ctx *ctx, const pel_log *log, const pel_node *from, const pel_id *modules,
                          const pel_id *wanted, uint32_t n) {
    pel_way way = { .n = 0 };
    pel_id first = wanted[0];
    if (!pel_find_way(ctx, log, modules[0], is_module, &first, &way)) return NULL;
    for (uint32_t i = 1; i < n; i++)
        if (pel_go_way(log, modules[i], &way) != wanted[i]) return NULL;
    return pel_way_text(ctx, log, from, modules[0], &way);
}
