/* Rows of rates: what the blocks of a deep network are left out with, from 0 on in equal steps.
 *
 * An author writes one formula; a run shows numbers of sixteen digits. Python found the formula, with the bits of each
 * number (_rates.py). Here the row gets a name in the constructors that have numbers of it, and calls that differ in
 * nothing but the next rate become a comprehension. */
#include "python/parse.h"
#include "trace/build/init.h"
#include "trace/depends/uses.h"
#include "trace/program.h"

/* What blocks are left out with, from 0 on in equal steps: the formula that gives the row, and where in one statement
 * numbers of it stand. A place is an argument of a function, or one of the items of a tuple: others keep their numbers,
 * though a dropout may be as large as one of the row. */
typedef struct rates {
    pel_ctx *ctx;
    pel_program *program;
    pel_node *formula;
    pel_nodes row;
    pel_map places;      /* of computed numbers of the row -> 1 */
    pel_name name, each; /* of the row, and of one of it; each is NULL where the name is taken */
    uint64_t place;      /* of what is looked at; 0: none */
    uint32_t n_computed, n_replaced;
} rates;

enum {
    FEWEST_RATES = 2,
    FEWEST_JOINED = 3,
    MOST_PARTS = 4, /* of a table that is written as calls */
};

/* Where in the row a number stands; -1: it does not. */
static int64_t rate_at(const rates *r, const pel_node *node) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_FLOAT) return -1;
    for (uint32_t i = 0; i < r->row.n; i++)
        if (r->row.at[i]->Constant.value->real == node->Constant.value->real) return i;
    return -1;
}

static uint64_t place_named(const rates *r, const char *of, const char *argument, uint32_t i) {
    return PEL_KEY(pel_intern_str(r->ctx, pel_format(r->ctx, "%s %s %u", of, argument, i)));
}

/* Goes to each number with its place. */
static void each_placed(rates *r, pel_node *node, pel_visit *visit) {
    const char *callee = node->kind != PEL_Call                   ? ""
                         : node->Call.func->kind == PEL_Name      ? node->Call.func->Name.id->text
                         : node->Call.func->kind == PEL_Attribute ? node->Call.func->Attribute.attr->text
                                                                  : "";
    pel_nodes items = node->kind == PEL_Call    ? node->Call.args
                      : node->kind == PEL_Tuple ? node->Tuple.elts
                                                : (pel_nodes){ 0 };
    for (uint32_t i = 0; i < items.n; i++) {
        r->place = place_named(r, callee, node->kind == PEL_Call ? "by place" : "item", i);
        visit(r, &items.at[i]);
    }
    for (uint32_t i = 0; node->kind == PEL_Call && i < node->Call.keywords.n; i++) {
        pel_node *keyword = node->Call.keywords.at[i];
        r->place = keyword->keyword.arg ? place_named(r, callee, keyword->keyword.arg->text, 0) : 0;
        visit(r, &keyword->keyword.value);
    }
    r->place = 0;
    if (node->kind == PEL_Call) visit(r, &node->Call.func);
    if (node->kind != PEL_Call && node->kind != PEL_Tuple) pel_each_child(node, visit, r);
}

static void see_rate(void *arg, pel_node **slot) {
    rates *r = arg;
    if (r->place && rate_at(r, *slot) >= 0 && pel_is_computed(r->ctx, *slot)) {
        pel_map_set(r->ctx, &r->places, r->place, 1);
        r->n_computed++;
    }
    each_placed(r, *slot, see_rate);
}

static void replace_rate(void *arg, pel_node **slot) {
    rates *r = arg;
    int64_t at = r->place && pel_map_has(&r->places, r->place) ? rate_at(r, *slot) : -1;
    if (at < 0) {
        each_placed(r, *slot, replace_rate);
        return;
    }
    pel_node *read = pel_node_new(r->ctx, PEL_Subscript);
    read->Subscript.value = pel_make_name(r->ctx, r->name, PEL_Load);
    read->Subscript.slice = pel_make_int(r->ctx, at);
    *slot = read;
    r->n_replaced++;
}

/* ---- calls in a row ---- */

typedef struct one_rate { /* of an element: the number of the rate that it has */
    rates *r;
    int64_t at; /* -1: none so far, -2: several */
} one_rate;

static void take_rate(void *arg, pel_node **slot) {
    one_rate *one = arg;
    const pel_node *node = *slot;
    bool is_rate = node->kind == PEL_Subscript && node->Subscript.value->kind == PEL_Name &&
                   node->Subscript.value->Name.id == one->r->name;
    if (!is_rate) {
        pel_each_child(*slot, take_rate, one);
        return;
    }
    one->at = one->at == -1 ? node->Subscript.slice->Constant.value->integer.small : -2;
    *slot = pel_make_name(one->r->ctx, one->r->each, PEL_Load);
}

/* Block(dim, rates[4])  ->  Block(dim, rate), 4; NULL if it is no call, or has none or several. */
static pel_node *with_each(rates *r, const pel_node *call, int64_t *at) {
    if (call->kind != PEL_Call) return NULL;
    pel_node *copy = pel_copy(r->ctx, call);
    one_rate one = { r, -1 };
    take_rate(&one, &copy);
    *at = one.at;
    return one.at >= 0 ? copy : NULL;
}

/* *[Block(dim, rate) for rate in rates[2:8]] */
static pel_node *for_each_rate(const rates *r, pel_node *element, int64_t first, int64_t n) {
    pel_node *all = pel_make_name(r->ctx, r->name, PEL_Load), *list = pel_node_new(r->ctx, PEL_ListComp);
    pel_node *loop = pel_node_new(r->ctx, PEL_comprehension), *star = pel_node_new(r->ctx, PEL_Starred);
    if (first || n < r->row.n) {
        pel_node *some = pel_node_new(r->ctx, PEL_Subscript), *slice = pel_node_new(r->ctx, PEL_Slice);
        if (first) slice->Slice.lower = pel_make_int(r->ctx, first);
        if (first + n < r->row.n) slice->Slice.upper = pel_make_int(r->ctx, first + n);
        some->Subscript.value = all;
        some->Subscript.slice = slice;
        all = some;
    }
    loop->comprehension.target = pel_make_name(r->ctx, r->each, PEL_Store);
    loop->comprehension.iter = all;
    list->ListComp.elt = element;
    list->ListComp.generators = pel_nodes_one(r->ctx, loop);
    star->Starred.value = list;
    return star;
}

/* Calls that differ in nothing but the next rate of the row. */
static void join_calls(rates *r, pel_nodes *items) {
    uint32_t n = 0;
    for (uint32_t i = 0, end; i < items->n; i = end) {
        int64_t first, at;
        pel_node *element = with_each(r, items->at[i], &first);
        for (end = i + 1; element && end < items->n; end++) {
            const pel_node *next = with_each(r, items->at[end], &at);
            if (!next || at != first + (end - i) || !pel_same(next, element)) break;
        }
        if (end - i >= FEWEST_JOINED) {
            items->at[n++] = for_each_rate(r, element, first, end - i);
        } else {
            for (uint32_t k = i; k < end; k++) items->at[n++] = items->at[k];
        }
    }
    items->n = n;
}

/* Without a keyword that says what the class has as a default: rows of a table have all of them. */
static void drop_default(const rates *r, pel_node *call) {
    const pel_node *init = NULL;
    for (uint32_t i = 0; i < r->program->classes.n && call->Call.func->kind == PEL_Name; i++)
        if (r->program->classes.at[i]->name == call->Call.func->Name.id) init = r->program->classes.at[i]->init;
    if (!init || init->kind != PEL_FunctionDef) return;
    const pel_node *args = init->FunctionDef.args;
    uint32_t n = 0, first = args->arguments.args.n - args->arguments.defaults.n;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i];
        bool is_default = false;
        for (uint32_t k = first; k < args->arguments.args.n; k++)
            is_default |= args->arguments.args.at[k]->arg.arg == keyword->keyword.arg &&
                          pel_same(args->arguments.defaults.at[k - first], keyword->keyword.value);
        if (!is_default) call->Call.keywords.at[n++] = keyword;
    }
    call->Call.keywords.n = n;
}

/* [Block(a, p) for a, p in ((16, rates[2]), (32, rates[3]), ...)]  ->  the calls one by one; nothing: it is no such
 * table. */
static pel_nodes rows_as_calls(const rates *r, const pel_node *list) {
    pel_nodes calls = { 0 };
    const pel_node *loop = list->ListComp.generators.at[0];
    const pel_node *target = loop->comprehension.target, *rows = loop->comprehension.iter;
    bool is_table = list->ListComp.generators.n == 1 && !loop->comprehension.ifs.n && target->kind == PEL_Tuple &&
                    rows->kind == PEL_Tuple && list->ListComp.elt->kind == PEL_Call;
    for (uint32_t i = 0; is_table && i < rows->Tuple.elts.n; i++) {
        const pel_node *row = rows->Tuple.elts.at[i];
        if (row->kind != PEL_Tuple || row->Tuple.elts.n != target->Tuple.elts.n) return (pel_nodes){ 0 };
        pel_node *call = pel_copy(r->ctx, list->ListComp.elt);
        for (uint32_t k = 0; k < row->Tuple.elts.n; k++) {
            if (target->Tuple.elts.at[k]->kind != PEL_Name) return (pel_nodes){ 0 };
            pel_replace_name(&call, target->Tuple.elts.at[k]->Name.id, row->Tuple.elts.at[k]);
        }
        drop_default(r, call);
        pel_nodes_push(r->ctx, &calls, call);
    }
    return calls;
}

static void join_inside(void *arg, pel_node **slot) {
    rates *r = arg;
    pel_node *node = *slot;
    pel_each_child(node, join_inside, r);
    if (node->kind == PEL_Call) join_calls(r, &node->Call.args);
    if (node->kind == PEL_ListComp) {
        pel_nodes calls = rows_as_calls(r, node);
        uint32_t n = calls.n;
        join_calls(r, &calls);
        if (calls.n == n || calls.n > MOST_PARTS) return;
        *slot = node = pel_node_new(r->ctx, PEL_List);
        node->List.elts = calls;
    }
    if (node->kind != PEL_List) return;
    join_calls(r, &node->List.elts);
    if (node->List.elts.n == 1 && node->List.elts.at[0]->kind == PEL_Starred)
        *slot = node->List.elts.at[0]->Starred.value;
}

/* f(*[a, b])  ->  f(a, b) */
static void open_lists(void *arg, pel_node **slot) {
    pel_each_child(*slot, open_lists, arg);
    if ((*slot)->kind != PEL_Call || (*slot)->Call.args.n != 1) return;
    const pel_node *star = (*slot)->Call.args.at[0];
    if (star->kind == PEL_Starred && star->Starred.value->kind == PEL_List)
        (*slot)->Call.args = star->Starred.value->List.elts;
}

/* FusedMBConv(48, 192, stochastic_depth_prob=0.015000000000000003)  ->  rates[3], after a line with the formula. */
static void name_rates(rates *r, pel_node *init) {
    r->places = (pel_map){ 0 };
    r->n_computed = r->n_replaced = 0;
    r->name = pel_intern_c(r->ctx, "rates");
    pel_nodes *body = &init->FunctionDef.body;
    for (uint32_t i = 0; i < body->n; i++) see_rate(r, &body->at[i]);
    pel_uses uses = pel_uses_in(NULL, *body, r->name);
    if (r->n_computed < FEWEST_RATES || uses.reads || uses.binds) return;
    r->each = pel_intern_c(r->ctx, "rate");
    uses = pel_uses_in(NULL, pel_nodes_one(r->ctx, init), r->each);
    if (uses.reads || uses.binds) r->each = NULL;
    pel_nodes made = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        uint32_t before = r->n_replaced;
        replace_rate(r, &body->at[i]);
        if (!before && r->n_replaced)
            pel_nodes_push(r->ctx, &made,
                           pel_make_assign(r->ctx, pel_make_name(r->ctx, r->name, PEL_Store), r->formula));
        pel_nodes_push(r->ctx, &made, body->at[i]);
    }
    *body = made;
    if (r->each)
        for (uint32_t i = 0; i < body->n; i++) {
            join_inside(r, &body->at[i]);
            open_lists(NULL, &body->at[i]);
        }
}

/* torch and math are imported by the names that the text has for them. */
static void import_names(void *arg, pel_node **slot) {
    rates *r = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Attribute && node->Attribute.value->kind == PEL_Name &&
        pel_name_is(node->Attribute.value->Name.id, "torch"))
        *slot = pel_library_expression(r->ctx, r->program, pel_format(r->ctx, "torch.%s", node->Attribute.attr->text));
    else
        pel_each_child(node, import_names, arg);
}

void pel_write_rates(pel_ctx *ctx, pel_program *program, pel_str fact) {
    pel_source source = { PEL_STR("<rates>"), pel_str_cut(fact, PEL_STR("rates\n").len, fact.len) };
    pel_nodes lines = pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body;
    if (lines.n != 2 || lines.at[1]->kind != PEL_Expr || lines.at[1]->Expr.value->kind != PEL_List) return;
    rates r = {
        .ctx = ctx, .program = program, .formula = lines.at[0]->Expr.value, .row = lines.at[1]->Expr.value->List.elts
    };
    import_names(&r, &r.formula);
    for (uint32_t i = 0; i < program->classes.n; i++) {
        pel_program_class *class = program->classes.at[i];
        if (class->init && class->init->kind == PEL_FunctionDef) name_rates(&r, class->init);
    }
}
