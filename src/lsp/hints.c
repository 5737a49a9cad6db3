/* What an editor shows beside the text: shapes of variables, parameters of constructors and classes. */
#include "lsp/lsp.h"

#include "python/parse.h"

#define MAX_TREE 400 /* modules, or nodes, inside of each other */

typedef struct made { /* a line that makes modules */
    uint32_t line;
    pel_str class;
    bool is_exact;        /* least and most are of modules whose parameters are all known */
    uint64_t least, most; /* parameters of one */
    uint32_t siblings;    /* that one parent has of it; 1: no loop */
    bool is_inner;        /* inside of what the same line makes */
    const pel_module *one;
    const pel_network *network; /* that it was counted in */
} made;

typedef struct statement { /* an assignment */
    const pel_node *node;
    const pel_node *target; /* a name in it */
} statement;

typedef struct best { /* what the most telling run saw of a place */
    const pel_seen *seen;
    const pel_seen_run *run;
} best;

typedef struct notes {
    pel_ctx *ctx;
    pel_str path, text;
    const pel_networks *networks;
    const pel_watch *watch;
    PEL_VEC(size_t) starts; /* of lines */
    PEL_VEC(made) made;
    PEL_VEC(statement) targets;
    PEL_VEC(const pel_node *) calls;
    PEL_VEC(const pel_node *) classes;
    pel_map seen; /* line and column -> index into best, from 1 */
    PEL_VEC(best) best;
    const pel_node *around; /* the assignment that is being walked; NULL: none */
    uint32_t depth;
    pel_json *out;
} notes;

/* ---- places ---- */

static void find_lines(notes *n) {
    pel_push(n->ctx, &n->starts, (size_t)0);
    for (size_t i = 0; i < n->text.len; i++) {
        bool is_end =
            n->text.ptr[i] == '\n' || (n->text.ptr[i] == '\r' && !(i + 1 < n->text.len && n->text.ptr[i + 1] == '\n'));
        if (is_end) pel_push(n->ctx, &n->starts, i + 1);
    }
}

/* A node's place, which counts lines from 1 and bytes, as the protocol counts. */
static pel_text_position place_of(const notes *n, uint32_t line, uint32_t column) {
    pel_text_position out = { line - 1, 0 };
    if (!line || line > n->starts.n) return (pel_text_position){ 0, 0 };
    size_t start = n->starts.at[line - 1], end = line < n->starts.n ? n->starts.at[line] : n->text.len;
    out.character = pel_position_at(pel_str_cut(n->text, start, end), column).character;
    return out;
}

/* The text is parsed twice, by the machine and for this: a node is known by where it begins and ends. */
static uint64_t key_of(const pel_node *node) {
    uint64_t begins = (uint64_t)node->lineno * 65599u + node->col_offset;
    uint64_t ends = (uint64_t)node->end_lineno * 65599u + node->end_col_offset;
    return (begins << 32 ^ ends) + 1;
}

/* ---- what the text has ---- */

static void walk(notes *n, pel_node *node);

static void visit(void *arg, pel_node **slot) {
    if (*slot) walk(arg, *slot);
}

static void walk(notes *n, pel_node *node) {
    const pel_node *around = n->around;
    if (n->depth >= MAX_TREE) return;
    if (node->kind == PEL_Assign || node->kind == PEL_AugAssign || node->kind == PEL_AnnAssign) n->around = node;
    if (node->kind == PEL_Lambda || node->kind == PEL_ListComp) n->around = NULL;
    if (node->kind == PEL_Call) pel_push(n->ctx, &n->calls, node);
    if (node->kind == PEL_ClassDef) pel_push(n->ctx, &n->classes, node);
    if (node->kind == PEL_Name && node->Name.ctx == PEL_Store && n->around)
        pel_push(n->ctx, &n->targets, ((statement){ n->around, node }));
    n->depth++;
    pel_each_child(node, visit, n);
    n->depth--;
    n->around = around;
}

/* ---- parameters ---- */

typedef struct sum {
    uint64_t n;
    bool is_exact;
} sum;

/* Not exact: a size has no number, or a part exists only under a condition. A tied tensor and a shared child count
 * once, where they come first; a layer without children that is asked about alone counts its tied weights, too. */
static void count(const pel_module *module, sum *out, uint32_t depth) {
    if (module->is_opaque || module->condition.len || depth > MAX_TREE) out->is_exact = false;
    if (depth > MAX_TREE) return;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        uint64_t size;
        bool is_counted = tensor->tied_to.len && (depth || module->children.n);
        if (tensor->role != PEL_PARAMETER || is_counted) continue;
        bool is_known = pel_shape_count(&tensor->shape, &size) && !tensor->condition.len;
        if (is_known && out->n + size >= out->n)
            out->n += size;
        else
            out->is_exact = false;
    }
    for (uint32_t i = 0; i < module->children.n; i++) {
        const pel_module *child = module->children.at[i];
        sum inner = { 0, true };
        uint64_t all;
        if (child->shared_with.len) continue;
        count(child, &inner, depth + 1);
        bool is_number = !child->repeat.symbol.len && child->repeat.size >= 0 &&
                         !__builtin_mul_overflow(inner.n, (uint64_t)child->repeat.size, &all);
        out->is_exact &= inner.is_exact && is_number;
        if (is_number) out->n += all;
    }
}

static sum count_of(const pel_module *module) {
    sum out = { 0, true };
    count(module, &out, 0);
    return out;
}

/* siblings: 0 for what is inside of what the same line makes. */
static void note_made(notes *n, const pel_network *network, const pel_module *module, uint32_t siblings) {
    sum s = count_of(module);
    for (uint32_t i = 0; i < n->made.n; i++) {
        made *m = &n->made.at[i];
        if (m->line != module->origin.line || !pel_str_eq(m->class, module->class)) continue;
        if (siblings > m->siblings) m->siblings = siblings;
        m->is_inner &= !siblings;
        if (m->is_exact && !s.is_exact) return;
        if (s.is_exact && !m->is_exact) m->least = m->most = s.n, m->one = module, m->network = network;
        m->is_exact |= s.is_exact;
        if (s.n < m->least) m->least = s.n;
        if (s.n > m->most) m->most = s.n;
        return;
    }
    made row = { module->origin.line, module->class, s.is_exact, s.n, s.n, siblings, !siblings, module, network };
    pel_push(n->ctx, &n->made, row);
}

/* If one line makes a module inside of another, the two share one hint. */
static void walk_modules(notes *n, const pel_network *network, const pel_module *parent, uint32_t depth) {
    for (uint32_t i = 0; i < parent->children.n && depth < MAX_TREE; i++) {
        const pel_module *child = parent->children.at[i];
        bool is_here = child->origin.line && pel_str_eq(child->origin.file, n->path);
        bool is_inner =
            is_here && parent->origin.line == child->origin.line && pel_str_eq(parent->origin.file, child->origin.file);
        uint32_t siblings = 0;
        for (uint32_t k = 0; k < parent->children.n && is_here; k++)
            siblings += parent->children.at[k]->origin.line == child->origin.line &&
                        !parent->children.at[k]->condition.len &&
                        pel_str_eq(parent->children.at[k]->class, child->class);
        if (is_here && child->class.len) note_made(n, network, child, is_inner ? 0 : siblings ? siblings : 1);
        walk_modules(n, network, child, depth + 1);
    }
}

/* ---- words ---- */

static void put_number(pel_buf *out, uint64_t value) {
    if (value >= 1000) {
        put_number(out, value / 1000);
        pel_putf(out, ",%03u", (unsigned)(value % 1000));
        return;
    }
    pel_putf(out, "%u", (unsigned)value);
}

static void put_parameters(pel_buf *out, bool is_exact, uint64_t least, uint64_t most) {
    if (!is_exact && !most) {
        pel_put_c(out, "parameters of unknown size");
        return;
    }
    put_number(out, least);
    if (most != least) pel_put_c(out, " to ");
    if (most != least) put_number(out, most);
    pel_put_c(out, least == 1 && most == 1 ? " parameter" : " parameters");
    if (!is_exact) pel_put_c(out, " and those of unknown size");
}

static void put_shape(pel_buf *out, const pel_shape *shape) {
    if (!shape->is_known) pel_put_c(out, "?");
    if (shape->is_known && !shape->n) pel_put_c(out, "scalar");
    for (uint32_t i = 0; shape->is_known && i < shape->n; i++) {
        if (i) pel_put_c(out, "×");
        if (shape->dims[i].symbol.len)
            pel_put_visible(out, shape->dims[i].symbol);
        else
            pel_put_int(out, shape->dims[i].size);
    }
}

static bool has_star(const pel_shape *shape) {
    for (uint32_t i = 0; i < shape->n; i++)
        if (pel_str_is(shape->dims[i].symbol, "*")) return true;
    return false;
}

/* Where the sizes come from: nobody is to take an assumption for a fact. */
static void put_origin(pel_buf *out, const pel_seen_run *run) {
    pel_putf(out, "`%.*s` on an input of `%.*s`", PEL_FMT(run->network), PEL_FMT(run->input));
    pel_put_c(out, run->is_given ? ", as given" : ", taken from the first layer");
    if (run->n_asked) pel_putf(out, "; %u conditions that are not known were taken one way", run->n_asked);
    if (!run->is_done) pel_put_c(out, "; forward was not followed to its end");
}

static void put_flops(pel_buf *out, double flops) {
    if (flops < 0 || flops >= 1e18) return;
    pel_put_c(out, ", ");
    put_number(out, (uint64_t)flops);
    pel_put_c(out, " multiply-adds");
}

/* What the numbers were made of where nobody gave it. */
static void put_assumed(pel_buf *out, const pel_network *network) {
    for (uint32_t i = 0; network && i < network->unknown.n; i++)
        if (pel_str_eq(network->unknown.at[i].why, PEL_WHY_ASSUMED))
            pel_putf(out, ", %.*s assumed", PEL_FMT(network->unknown.at[i].what));
}

static void put_tensors(pel_buf *out, const pel_module *module) {
    for (uint32_t i = 0; i < module->tensors.n && i < 12; i++) {
        pel_putf(out, "%s%.*s ", i ? ", " : "\n\n", PEL_FMT(module->tensors.at[i].name));
        put_shape(out, &module->tensors.at[i].shape);
    }
    if (module->tensors.n > 12) pel_putf(out, " and %u more", module->tensors.n - 12);
}

/* ---- rows ---- */

static void put_hint(notes *n, uint32_t line, uint32_t column, pel_str label, pel_str tooltip) {
    pel_text_position at = place_of(n, line, column);
    pel_json_object(n->out);
    pel_json_key(n->out, "line");
    pel_json_int(n->out, at.line);
    pel_json_key(n->out, "character");
    pel_json_int(n->out, at.character);
    pel_json_key(n->out, "label");
    pel_json_str(n->out, label);
    pel_json_key(n->out, "tooltip");
    pel_json_str(n->out, tooltip);
    pel_json_end_object(n->out);
}

/* A row over a part of one line. */
static void put_span(notes *n, const pel_node *node, uint32_t from, uint32_t to, pel_str text, const char *key) {
    pel_text_position start = place_of(n, node->lineno, from), end = place_of(n, node->lineno, to);
    pel_json_object(n->out);
    pel_json_key(n->out, "line");
    pel_json_int(n->out, start.line);
    pel_json_key(n->out, "from");
    pel_json_int(n->out, start.character);
    pel_json_key(n->out, "to");
    pel_json_int(n->out, end.character);
    pel_json_key(n->out, key);
    pel_json_str(n->out, text);
    pel_json_end_object(n->out);
}

/* ---- shapes of variables ---- */

static const best *best_at(const notes *n, const pel_node *node) {
    uint64_t at = pel_map_find(&n->seen, key_of(node), 0);
    return at ? &n->best.at[at - 1] : NULL;
}

static bool is_better(const best *now, const best *before) {
    if (now->run->is_given != before->run->is_given) return now->run->is_given;
    return now->run->n_calls > before->run->n_calls;
}

/* The run of the largest network tells most: there a block gets what it gets in use. */
static void choose(notes *n) {
    for (uint32_t r = 0; r < n->watch->runs.n; r++) {
        const pel_seen_run *run = n->watch->runs.at[r];
        for (uint32_t i = 0; i < run->seen.n; i++) {
            best now = { &run->seen.at[i], run };
            uint64_t key = key_of(now.seen->node), at = pel_map_find(&n->seen, key, 0);
            if (at && is_better(&now, &n->best.at[at - 1])) n->best.at[at - 1] = now;
            if (at) continue;
            pel_push(n->ctx, &n->best, now);
            pel_map_set(n->ctx, &n->seen, key, n->best.n);
        }
    }
}

static void put_shape_hints(notes *n) {
    for (uint32_t i = 0, next; i < n->targets.n; i = next) {
        const pel_node *node = n->targets.at[i].node;
        pel_buf label = pel_buf_in(n->ctx), tooltip = pel_buf_in(n->ctx);
        bool any = false, starred = false;
        const pel_seen_run *run = NULL;
        pel_put_c(&label, "# ");
        for (next = i; next < n->targets.n && n->targets.at[next].node == node; next++) {
            const best *b = best_at(n, n->targets.at[next].target);
            if (next > i) pel_put_c(&label, ", ");
            if (b && b->seen->shape.is_known)
                put_shape(&label, &b->seen->shape);
            else
                pel_put_c(&label, "_");
            if (!b || !b->seen->shape.is_known) continue;
            any = true;
            starred |= has_star(&b->seen->shape);
            run = b->run;
        }
        if (!any) continue;
        put_origin(&tooltip, run);
        if (starred) pel_put_c(&tooltip, "; sizes marked * are not the same in each call");
        put_hint(n, node->end_lineno, node->end_col_offset, pel_buf_str(&label), pel_buf_str(&tooltip));
    }
}

/* ---- calls ---- */

static const pel_node *call_of(const notes *n, const made *m) {
    for (uint32_t i = 0; i < n->calls.n; i++) {
        const pel_node *call = n->calls.at[i];
        pel_name name = call->lineno == m->line ? pel_last_name(call->Call.func) : NULL;
        if (name && pel_str_eq(pel_name_str(name), m->class)) return call;
    }
    return NULL;
}

static void put_parameter_hints(notes *n) {
    for (uint32_t i = 0; i < n->made.n; i++) {
        const made *m = &n->made.at[i];
        const pel_node *call = call_of(n, m);
        pel_buf label = pel_buf_in(n->ctx);
        if (!call || !m->most || m->is_inner) continue;
        pel_put_c(&label, "# ");
        if (m->siblings > 1) pel_putf(&label, "%u × ", m->siblings);
        put_parameters(&label, m->is_exact, m->least, m->most);
        pel_buf tip = pel_buf_in(n->ctx);
        pel_putf(&tip, "`%.*s` in `%.*s`", PEL_FMT(m->class), PEL_FMT(m->network->name));
        put_assumed(&tip, m->network);
        put_hint(n, call->end_lineno, call->end_col_offset, pel_buf_str(&label), pel_buf_str(&tip));
    }
}

static const pel_module *module_at(const pel_module *module, pel_str path) {
    while (module && path.len) {
        const char *dot = memchr(path.ptr, '.', path.len);
        size_t len = dot ? (size_t)(dot - path.ptr) : path.len;
        const pel_module *child = NULL;
        for (uint32_t i = 0; i < module->children.n && !child; i++)
            if (pel_str_eq(module->children.at[i]->name, pel_str_cut(path, 0, len))) child = module->children.at[i];
        module = child;
        path = pel_str_from(path, dot ? len + 1 : len);
    }
    return module;
}

static const pel_module *root_of(const notes *n, pel_str network) {
    for (uint32_t i = 0; i < n->networks->n; i++)
        if (n->networks->at[i]->root && pel_str_eq(n->networks->at[i]->name, network)) return n->networks->at[i]->root;
    return NULL;
}

static void put_call_hover(notes *n, const pel_node *call, const best *b) {
    pel_buf text = pel_buf_in(n->ctx);
    const pel_seen_call *seen = &b->seen->call;
    pel_put_c(&text, "**");
    pel_put_visible(&text, seen->path.len ? seen->path : b->run->network);
    pel_putf(&text, "**: `%.*s` → ", PEL_FMT(seen->class.len ? seen->class : PEL_STR("of several classes")));
    put_shape(&text, &b->seen->shape);
    if (b->seen->times > 1) pel_putf(&text, " (%u calls)", b->seen->times);
    const pel_module *module = b->seen->times == 1 ? module_at(root_of(n, b->run->network), seen->path) : NULL;
    if (module) {
        sum s = count_of(module);
        pel_put_c(&text, "\n\n");
        put_parameters(&text, s.is_exact, s.n, s.n);
        put_flops(&text, seen->flops);
        put_tensors(&text, module);
    } else if (seen->flops >= 0) {
        pel_put_c(&text, "\n\nall together");
        put_flops(&text, seen->flops);
    }
    pel_put_c(&text, "\n\n");
    put_origin(&text, b->run);
    const pel_node *func = call->Call.func;
    uint32_t to = func->end_lineno == call->lineno ? func->end_col_offset : call->col_offset + 1;
    put_span(n, call, call->col_offset, to, pel_buf_str(&text), "text");
}

static void put_maker_hover(notes *n, const made *m) {
    const pel_node *call = call_of(n, m);
    pel_buf text = pel_buf_in(n->ctx);
    if (!call || call->Call.func->end_lineno != call->lineno) return;
    pel_putf(&text, "`%.*s`: ", PEL_FMT(m->class));
    if (m->siblings > 1) pel_putf(&text, "%u × ", m->siblings);
    put_parameters(&text, m->is_exact, m->least, m->most);
    put_assumed(&text, m->network);
    if (m->least == m->most) put_tensors(&text, m->one);
    put_span(n, call, call->col_offset, call->Call.func->end_col_offset, pel_buf_str(&text), "text");
}

/* ---- classes ---- */

static const pel_seen_run *run_of(const notes *n, pel_str class) {
    for (uint32_t i = 0; i < n->watch->runs.n; i++)
        if (pel_str_eq(n->watch->runs.at[i]->class, class)) return n->watch->runs.at[i];
    return NULL;
}

/* Parameters of a class, by the networks that are one and by the modules that the text makes of it. */
static bool find_class(const notes *n, pel_str class, made *out, const pel_network **of) {
    bool any = false;
    for (uint32_t i = 0; i < n->networks->n; i++) {
        const pel_module *root = n->networks->at[i]->root;
        if (!root || !pel_str_eq(root->class, class)) continue;
        sum s = count_of(root);
        for (uint32_t u = 0; u < n->networks->at[i]->unknown.n; u++)
            s.is_exact &= !n->networks->at[i]->unknown.at[u].is_lost;
        if (any && out->is_exact && !s.is_exact) continue;
        if (!any || (s.is_exact && !out->is_exact)) *out = (made){ .least = s.n, .most = s.n, .is_exact = s.is_exact };
        if (!any) *of = n->networks->at[i];
        if (s.n < out->least) out->least = s.n;
        if (s.n > out->most) out->most = s.n;
        any = true;
    }
    for (uint32_t i = 0; i < n->made.n; i++) {
        const made *m = &n->made.at[i];
        if (!pel_str_eq(m->class, class) || (any && out->is_exact && !m->is_exact)) continue;
        if (!any || (m->is_exact && !out->is_exact)) *out = *m, *of = m->network;
        if (m->least < out->least) out->least = m->least;
        if (m->most > out->most) out->most = m->most;
        any = true;
    }
    return any;
}

/* The name of a class in its line; false: it is not there. */
static bool name_span(const notes *n, const pel_node *class, uint32_t *from, uint32_t *to) {
    pel_str name = pel_name_str(class->ClassDef.name);
    if (!class->lineno || class->lineno > n->starts.n) return false;
    pel_str line = pel_str_from(n->text, n->starts.at[class->lineno - 1]);
    const char *at = pel_str_find(pel_str_cut(line, class->col_offset + 5u, class->col_offset + name.len + 64u), name);
    if (!at) return false;
    *from = (uint32_t)(at - line.ptr);
    *to = *from + (uint32_t)name.len;
    return true;
}

static void put_class(notes *n, const pel_node *class, bool as_lens) {
    made found = { 0 };
    const pel_network *network = NULL;
    pel_str name = pel_name_str(class->ClassDef.name);
    pel_buf text = pel_buf_in(n->ctx);
    uint32_t from, to;
    if (!find_class(n, name, &found, &network) || !name_span(n, class, &from, &to)) return;
    if (as_lens && !found.is_exact && !found.most) return;
    const pel_seen_run *run = run_of(n, name);
    if (!as_lens) pel_putf(&text, "class **%.*s**: ", PEL_FMT(name));
    put_parameters(&text, found.is_exact, found.least, found.most);
    put_assumed(&text, network);
    if (run && run->is_done && run->flops >= 0) {
        put_flops(&text, run->flops);
        pel_putf(&text, " on %.*s", PEL_FMT(run->input));
    }
    if (run && !as_lens) {
        pel_put_c(&text, "\n\n");
        put_origin(&text, run);
        if (run->is_done) pel_put_c(&text, " → ");
        if (run->is_done) put_shape(&text, &run->output);
    }
    put_span(n, class, from, to, pel_buf_str(&text), as_lens ? "title" : "text");
}

/* ---- all of it ---- */

static void begin_list(notes *n, const char *key) {
    pel_json_key(n->out, key);
    pel_json_array(n->out);
}

void pel_lsp_notes(pel_ctx *ctx, const pel_lsp_seen *seen, pel_json *out) {
    notes n = { .ctx = ctx, .path = seen->path, .text = seen->text, .networks = seen->networks, .watch = seen->watch };
    n.out = out;
    find_lines(&n);
    walk(&n, seen->root);
    choose(&n);
    for (uint32_t i = 0; i < n.networks->n; i++)
        if (n.networks->at[i]->root) walk_modules(&n, n.networks->at[i], n.networks->at[i]->root, 0);
    begin_list(&n, "hints");
    put_shape_hints(&n);
    put_parameter_hints(&n);
    pel_json_end_array(out);
    begin_list(&n, "lenses");
    for (uint32_t i = 0; i < n.classes.n; i++) put_class(&n, n.classes.at[i], true);
    pel_json_end_array(out);
    begin_list(&n, "hovers");
    for (uint32_t i = 0; i < n.classes.n; i++) put_class(&n, n.classes.at[i], false);
    for (uint32_t i = 0; i < n.made.n; i++) put_maker_hover(&n, &n.made.at[i]);
    for (uint32_t i = 0; i < n.calls.n; i++) {
        const best *b = best_at(&n, n.calls.at[i]);
        if (b && b->seen->node->kind == PEL_Call) put_call_hover(&n, n.calls.at[i], b);
    }
    pel_json_end_array(out);
}
