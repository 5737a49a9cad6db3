/* Runs with different decisions -> one tree. What only some runs have is marked with the decision that tells them
 * apart. */
#include "interp/scan.h"

#define MAX_AT_A_PLACE 8

#define MAX_CONDITION 1000 /* bytes of decisions that are written out for one node */

typedef struct condition {
    uint64_t in; /* the runs in which it holds */
    pel_str text;
} condition;

typedef struct joiner {
    pel_ctx *ctx;
    const pel_scan_run *runs;
    uint32_t n;
    PEL_VEC(condition) made;
} joiner;

/* 1, 0, or -1 if the run was not asked. */
static int decision(const pel_scan_run *run, pel_str what) {
    for (uint32_t i = 0; i < run->n; i++)
        if (pel_str_eq(run->asked[i].what, what)) return run->decided[i];
    return -1;
}

/* All that a run decided. A script may ask hundreds of questions, each with a long text: those that don't fit into a
 * line that somebody would read are counted. */
static pel_str all_decided(joiner *j, const pel_scan_run *run) {
    pel_buf text = pel_buf_in(j->ctx);
    for (uint32_t i = 0; i < run->n; i++) {
        pel_str what = run->asked[i].what;
        if (text.len) pel_put(&text, PEL_STR(" and "));
        if (text.len && text.len + what.len > MAX_CONDITION) {
            pel_putf(&text, "%u more decisions", run->n - i);
            break;
        }
        pel_putf(&text, run->decided[i] ? "%.*s" : "not (%.*s)", PEL_FMT(what));
    }
    return pel_buf_str(&text);
}

/* The condition that holds in exactly the runs of the set; if no single one does, all that the first of them decided.
 */
static pel_str find_condition(joiner *j, uint64_t in) {
    for (uint32_t r = 0; r < j->n; r++)
        for (uint32_t i = 0; i < j->runs[r].n; i++) {
            pel_str what = j->runs[r].asked[i].what;
            bool when_true = true, when_false = true;
            for (uint32_t k = 0; k < j->n; k++) {
                if (j->runs[k].failed && !j->runs[k].root) continue;
                bool there = in >> k & 1;
                int decided = decision(&j->runs[k], what);
                when_true &= there == (decided == 1);
                when_false &= there == (decided == 0);
            }
            if (when_true) return what;
            if (when_false) return pel_format(j->ctx, "not (%.*s)", PEL_FMT(what));
        }
    for (uint32_t r = 0; r < j->n; r++)
        if (in >> r & 1) return all_decided(j, &j->runs[r]);
    return (pel_str){ "", 0 };
}

/* Many nodes are there in the same runs: the text is made once for all of them. */
static pel_str condition_of(joiner *j, uint64_t in) {
    for (uint32_t i = 0; i < j->made.n; i++)
        if (j->made.at[i].in == in) return j->made.at[i].text;
    pel_str text = find_condition(j, in);
    pel_push(j->ctx, &j->made, ((condition){ in, text }));
    return text;
}

static bool same_shape(const pel_shape *x, const pel_shape *y) {
    if (x->n != y->n) return false;
    for (uint32_t k = 0; k < x->n; k++)
        if (x->dims[k].size != y->dims[k].size || !pel_str_eq(x->dims[k].symbol, y->dims[k].symbol)) return false;
    return true;
}

static bool same_shapes(const pel_module *a, const pel_module *b) {
    if (a->tensors.n != b->tensors.n) return false;
    for (uint32_t i = 0; i < a->tensors.n; i++)
        if (!pel_str_eq(a->tensors.at[i].name, b->tensors.at[i].name) ||
            !same_shape(&a->tensors.at[i].shape, &b->tensors.at[i].shape))
            return false;
    return true;
}

/* "<Linear>", or a list of such: a module that is an argument. It is a child too, which has the details. */
static bool is_object(const pel_node *value) {
    if (value->kind == PEL_Name) return pel_name_str(value->Name.id).ptr[0] == '<';
    const pel_nodes *items = value->kind == PEL_List    ? &value->List.elts
                             : value->kind == PEL_Tuple ? &value->Tuple.elts
                                                        : NULL;
    for (uint32_t i = 0; items && i < items->n; i++)
        if (!is_object(items->at[i])) return false;
    return items && items->n;
}

static uint32_t count_plain(const pel_module *module) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < module->args.n; i++) n += !is_object(module->args.at[i].value);
    return n;
}

static bool same_args(const pel_module *a, const pel_module *b) {
    if (count_plain(a) != count_plain(b)) return false;
    for (uint32_t i = 0, k = 0; i < a->args.n; i++) {
        if (is_object(a->args.at[i].value)) continue;
        while (is_object(b->args.at[k].value)) k++;
        const pel_model_argument *x = &a->args.at[i], *y = &b->args.at[k++];
        if (!pel_str_eq(x->name, y->name) || !pel_same(x->value, y->value)) return false;
    }
    return true;
}

bool pel_same_but_children(const pel_module *a, const pel_module *b) {
    return pel_str_eq(a->class, b->class) && same_shapes(a, b) && same_args(a, b);
}

static pel_module *child_like(const pel_module *parent, const pel_module *wanted) {
    for (uint32_t i = 0; i < parent->children.n; i++)
        if (pel_str_eq(parent->children.at[i]->name, wanted->name) &&
            pel_same_but_children(parent->children.at[i], wanted))
            return parent->children.at[i];
    return NULL;
}

static bool has_tensor(const pel_module *module, const pel_model_tensor *wanted) {
    for (uint32_t i = 0; i < module->tensors.n; i++)
        if (pel_str_eq(module->tensors.at[i].name, wanted->name) &&
            same_shape(&module->tensors.at[i].shape, &wanted->shape))
            return true;
    return false;
}

/* Tensors that only some runs have exist under a condition. */
static void join_tensors(joiner *j, pel_module **nodes, pel_module *result, uint64_t in) {
    uint32_t own = result->tensors.n;
    for (uint32_t r = 0; r < j->n; r++)
        for (uint32_t i = 0; nodes[r] && nodes[r] != result && i < nodes[r]->tensors.n; i++)
            if (!has_tensor(result, &nodes[r]->tensors.at[i]))
                pel_push(j->ctx, &result->tensors, nodes[r]->tensors.at[i]);
    for (uint32_t i = 0; i < result->tensors.n; i++) {
        uint64_t with = 0;
        for (uint32_t r = 0; r < j->n; r++) {
            bool there = nodes[r] && nodes[r] != result && has_tensor(nodes[r], &result->tensors.at[i]);
            if (there || (nodes[r] == result && i < own)) with |= (uint64_t)1 << r;
        }
        if (with != in) result->tensors.at[i].condition = condition_of(j, with);
    }
}

/* nodes[r]: the module in run r, or NULL. The first that is there becomes the result. */
static pel_module *join(joiner *j, pel_module **nodes, uint64_t parents, uint32_t depth) {
    if (depth > 100) pel_throw(j->ctx, PEL_E_TOO_DEEP, 0, "modules nest too deep");
    pel_module *result = NULL;
    uint64_t in = 0;
    for (uint32_t r = 0; r < j->n; r++)
        if (nodes[r]) {
            in |= (uint64_t)1 << r;
            if (!result) result = nodes[r];
        }
    if (in != parents) result->condition = condition_of(j, in);
    join_tensors(j, nodes, result, in);
    PEL_VEC(pel_module *) children = { 0 };
    pel_module **row = pel_new_array(j->ctx, j->n, pel_module *);
    for (uint32_t r = 0; r < j->n; r++) {
        for (uint32_t c = 0; nodes[r] && c < nodes[r]->children.n; c++) {
            pel_module *child = nodes[r]->children.at[c];
            bool done = false;
            for (uint32_t before = 0; before < r && !done; before++)
                done = nodes[before] && child_like(nodes[before], child);
            if (done) continue;
            for (uint32_t k = 0; k < j->n; k++) row[k] = k < r || !nodes[k] ? NULL : child_like(nodes[k], child);
            pel_push(j->ctx, &children, join(j, row, in, depth + 1));
        }
    }
    result->children.n = 0;
    for (uint32_t i = 0; i < children.n; i++) pel_push(j->ctx, &result->children, children.at[i]);
    return result;
}

pel_module *pel_join_runs(pel_ctx *ctx, const pel_scan_run *runs, uint32_t n) {
    joiner j = { .ctx = ctx, .runs = runs, .n = n };
    pel_module **roots = pel_new_array(ctx, n, pel_module *);
    uint64_t all = 0, in = 0;
    for (uint32_t r = 0; r < n; r++) {
        roots[r] = runs[r].root;
        if (roots[r]) in |= (uint64_t)1 << r;
        if (roots[r] || !runs[r].failed) all |= (uint64_t)1 << r; /* one that stopped may have made it before */
    }
    if (!in) return NULL;
    return n == 1 ? roots[0] : join(&j, roots, all, 0);
}

/* ---- which questions matter ---- */

static bool mentions(pel_str text, pel_str part) {
    for (size_t at = 0; part.len && at + part.len <= text.len; at++)
        if (memcmp(text.ptr + at, part.ptr, part.len) == 0) return true;
    return false;
}

static bool depends_on(const pel_module *module, pel_str what) {
    if (mentions(module->condition, what)) return true;
    for (uint32_t i = 0; i < module->tensors.n; i++)
        if (mentions(module->tensors.at[i].condition, what)) return true;
    for (uint32_t i = 0; i < module->children.n; i++)
        if (depends_on(module->children.at[i], what)) return true;
    return false;
}

/* Some answers were not tried: what is there in every run that was made need not be there in the others. */
static void put_untried(pel_ctx *ctx, pel_network *network, const pel_scan_run *first, uint32_t n_runs) {
    pel_unknown row = { .what = pel_format(ctx, "answers to %u questions", first->n), .is_lost = true };
    row.why = pel_format(ctx, "not all were tried, %u runs were: another answer may build something else", n_runs);
    if (first->n) row.place = (pel_place){ .file = first->asked[0].file, .line = first->asked[0].line };
    pel_push(ctx, &network->unknown, row);
}

void pel_put_questions(pel_ctx *ctx, pel_network *network, const pel_scan_run *runs, uint32_t n, bool is_complete) {
    if (!is_complete && n && runs[0].n) put_untried(ctx, network, &runs[0], n);
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t i = 0; i < runs[r].n; i++) {
            const pel_note *note = &runs[r].asked[i];
            bool matters = !is_complete || runs[r].failed || (network->root && depends_on(network->root, note->what));
            uint32_t there = 0; /* a loop asks another question in each pass */
            for (uint32_t k = 0; k < network->unknown.n && matters; k++) {
                const pel_unknown *row = &network->unknown.at[k];
                there += row->place.line == note->line && pel_str_eq(row->place.file, note->file);
                matters = !pel_str_eq(row->what, note->what) && there < MAX_AT_A_PLACE;
            }
            pel_str why = note->why.len ? note->why : PEL_STR("a condition that is not known");
            if (matters && network->unknown.n < 1000)
                pel_push(ctx, &network->unknown,
                         (pel_unknown){ note->what, why, { .file = note->file, .line = note->line } });
        }
}
