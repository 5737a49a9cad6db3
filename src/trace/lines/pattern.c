/* Functions that are told what to do by a pattern, 'b c h w -> b (h w) c' as einops has it: the line is written from
 * the pattern, so that it holds for all sizes, and needs no example. What it gives is compared with the sizes that each
 * lane saw; where that is something else, there is no such line. */
#include "trace/lines/line.h"

enum { MOST_AXES = 16 };

typedef struct axis {
    pel_str name;
    pel_node *length;      /* as the call says it; NULL: the tensor says it */
    const int64_t *values; /* that the call says, per lane */
    int64_t anonymous;     /* 'b c 3': the number itself */
    bool is_left, is_right;
} axis;

typedef struct dim { /* of the tensor that is given, or of the result: axes in parentheses are one */
    uint32_t at[MOST_AXES];
    uint32_t n;
} dim;

typedef struct side {
    dim dims[MOST_AXES];
    uint32_t n;
} side;

typedef struct pattern {
    pel_straight *x;
    const pel_straight_pattern *call;
    axis axes[MOST_AXES];
    uint32_t n_axes, n_left; /* those of the tensor come first */
    uint32_t n_hidden;       /* dimensions that '...' stands for */
    side left, right;
    pel_nodes tests;
} pattern;

/* ---- reading it ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static uint32_t find_axis(const pattern *p, pel_str name) {
    for (uint32_t i = 0; i < p->n_axes; i++)
        if (pel_str_eq(p->axes[i].name, name)) return i;
    return MOST_AXES;
}

/* An axis of a side; false: there are too many, or one comes twice. */
static bool add_axis(pattern *p, bool is_left, pel_str name, int64_t anonymous, dim *to) {
    uint32_t at = anonymous ? MOST_AXES : find_axis(p, name);
    if (at == MOST_AXES) {
        if (p->n_axes == MOST_AXES) return false;
        at = p->n_axes++;
        p->axes[at] = (axis){ .name = name, .anonymous = anonymous };
    }
    axis *own = &p->axes[at];
    if (to->n == MOST_AXES || (is_left ? own->is_left : own->is_right)) return false;
    if (is_left)
        own->is_left = true;
    else
        own->is_right = true;
    to->at[to->n++] = at;
    return true;
}

static bool add_hidden(pattern *p, bool is_left, side *out, dim *open) {
    for (uint32_t i = 0; i < p->n_hidden; i++) {
        if (!open && out->n == MOST_AXES) return false;
        dim *to = open ? open : &out->dims[out->n++];
        if (!open) to->n = 0;
        if (!add_axis(p, is_left, pel_format(p->x->ctx, "...%u", i), 0, to)) return false;
    }
    return true;
}

/* One word of a side: a name, or a number. A 1 is a dimension without axes. */
static bool add_word(pattern *p, bool is_left, side *out, dim *open, pel_str word) {
    int64_t number = 0;
    for (size_t i = 0; i < word.len && word.ptr[0] >= '0' && word.ptr[0] <= '9'; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9' || number > 1000000) return false;
        number = number * 10 + (word.ptr[i] - '0');
    }
    bool is_number = word.ptr[0] >= '0' && word.ptr[0] <= '9';
    if (is_number && number < 1) return false;
    if (open) return number == 1 || add_axis(p, is_left, word, number, open);
    if (out->n == MOST_AXES) return false;
    dim *to = &out->dims[out->n++];
    to->n = 0;
    return number == 1 || add_axis(p, is_left, word, number, to);
}

/* False: einops would refuse it, or we don't follow it; then the line is written from what ran. The tensor's side must
 * be read first, so that its axes have the first numbers. n_hidden is 0 while count_hidden measures. */
static bool read_side(pattern *p, pel_str text, bool is_left, side *out) {
    dim *open = NULL;
    for (size_t i = 0; i < text.len;) {
        char c = text.ptr[i];
        if (c == ' ') {
            i++;
        } else if (c == '(') {
            if (open || out->n == MOST_AXES) return false;
            open = &out->dims[out->n++];
            open->n = 0;
            i++;
        } else if (c == ')') {
            if (!open) return false;
            open = NULL;
            i++;
        } else if (pel_str_starts(pel_str_from(text, i), PEL_STR("..."))) {
            if (!add_hidden(p, is_left, out, open)) return false;
            i += 3;
        } else {
            size_t end = i;
            while (end < text.len && is_word(text.ptr[end])) end++;
            if (end == i || !add_word(p, is_left, out, open, pel_str_cut(text, i, end))) return false;
            i = end;
        }
    }
    return !open;
}

static size_t find_text(pel_str text, pel_str part) {
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (pel_str_starts(pel_str_from(text, i), part)) return i;
    return text.len;
}

/* How many dimensions '...' stands for; false: the pattern does not fit. */
static bool count_hidden(pattern *p, pel_str left, uint32_t rank) {
    if (find_text(left, PEL_STR("...")) == left.len) return true;
    pattern *trial = pel_new(p->x->ctx, pattern);
    *trial = (pattern){ .x = p->x, .call = p->call };
    if (!read_side(trial, left, true, &trial->left)) return false;
    size_t open = find_text(left, PEL_STR("(")), dots = find_text(left, PEL_STR("...")), close;
    for (close = dots; close < left.len && left.ptr[close] != ')' && left.ptr[close] != '(';) close++;
    if (open < dots && close < left.len && left.ptr[close] == ')') return false; /* '(...)' of the tensor */
    if (trial->left.n > rank) return false;
    p->n_hidden = rank - trial->left.n;
    return true;
}

static bool take_lengths(pattern *p) {
    const pel_straight_pattern *call = p->call;
    for (uint32_t k = 0; k < call->n_axes; k++) {
        uint32_t at = find_axis(p, pel_name_str(call->axes[k].name));
        if (at == MOST_AXES) return false;
        p->axes[at].length = call->axes[k].length;
        p->axes[at].values = call->axes[k].values;
    }
    for (uint32_t i = 0; i < p->n_axes; i++) {
        axis *own = &p->axes[i];
        if (own->anonymous) own->length = pel_make_int(p->x->ctx, own->anonymous);
        if (!own->is_left && !own->length) return false;
    }
    return true;
}

static bool read_pattern(pattern *p, uint32_t rank) {
    pel_str text = p->call->text, arrow = PEL_STR("->");
    size_t at = find_text(text, arrow);
    if (at == text.len) return false;
    pel_str left = pel_str_cut(text, 0, at), right = pel_str_from(text, at + arrow.len);
    if (!count_hidden(p, left, rank) || !read_side(p, left, true, &p->left)) return false;
    p->n_left = p->n_axes;
    return p->left.n == rank && read_side(p, right, false, &p->right) && take_lengths(p);
}

/* ---- whether it is what the lanes saw ---- */

/* How long the axes are in a lane; false: the tensor does not fit. */
static bool measure(const pattern *p, uint32_t lane, const int64_t *shape, int64_t *lengths) {
    for (uint32_t i = 0; i < p->n_axes; i++)
        lengths[i] = p->axes[i].anonymous ? p->axes[i].anonymous : p->axes[i].length ? p->axes[i].values[lane] : 0;
    for (uint32_t d = 0; d < p->left.n; d++) {
        const dim *own = &p->left.dims[d];
        int64_t known = 1;
        uint32_t unknown = MOST_AXES;
        for (uint32_t i = 0; i < own->n; i++) {
            if (p->axes[own->at[i]].length)
                known *= lengths[own->at[i]];
            else if (unknown != MOST_AXES)
                return false;
            else
                unknown = own->at[i];
        }
        if (known <= 0 || (unknown == MOST_AXES ? shape[d] != known : shape[d] % known != 0)) return false;
        if (unknown != MOST_AXES) lengths[unknown] = shape[d] / known;
    }
    return true;
}

static bool fits_lanes(const pattern *p) {
    const pel_straight *x = p->x;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        int64_t lengths[MOST_AXES];
        const pel_value *result = pel_straight_at(x, p->call->results[i]);
        if (result->kind != PEL_V_TENSOR || !measure(p, i, p->call->shapes[i], lengths)) return false;
        const pel_log_tensor *made = &x->log->tensors.at[result->tensor];
        if (made->n_dims != p->right.n) return false;
        for (uint32_t d = 0; d < p->right.n; d++) {
            int64_t size = 1;
            for (uint32_t k = 0; k < p->right.dims[d].n; k++) size *= lengths[p->right.dims[d].at[k]];
            if (size != made->shape[d]) return false;
        }
    }
    return true;
}

/* Whether a call of permute gave the dimensions this order. */
static bool permutes_to(const pel_straight *x, const pel_event *event, const uint32_t *order, uint32_t n) {
    const pel_value *list = event->n_args == 2 ? pel_straight_at(x, event->args[1]) : NULL;
    bool is_list = list && (list->kind == PEL_V_LIST || list->kind == PEL_V_TUPLE);
    const pel_id *items = is_list ? list->items : event->args + 1;
    if ((is_list ? list->n : event->n_args - 1) != n) return false;
    for (uint32_t i = 0; i < n; i++) {
        const pel_value *item = pel_straight_at(x, items[i]);
        if (item->kind != PEL_V_CONST || item->constant->kind != PEL_CONST_INT ||
            item->constant->integer.small != (int64_t)order[i])
            return false;
    }
    return true;
}

/* Whether the lanes did that: reshaping keeps the order of elements, and so does what adds dimensions. */
static bool did_that(const pattern *p, const uint32_t *order, uint32_t n, bool reduces) {
    static const char *const keeping[] = { "reshape", "view", "unsqueeze", "expand",  "squeeze", "flatten", "unflatten",
                                           "stack",   "size", "dim",       "__len__", "numel",   "__hash__" };
    static const char *const reducing[] = { "mean", "sum", "amax", "amin", "prod", "any", "all" };
    const pel_straight *x = p->x;
    bool moves = false;
    for (uint32_t i = 0; i < n; i++) moves |= order[i] != i;
    for (uint32_t lane = 0; lane < x->n_lanes; lane++) {
        const pel_extent *extent = &x->w->s->extents[x->above[lane]];
        uint32_t n_permuted = 0;
        for (uint32_t e = extent->first_event; e < extent->end_event; e++) {
            const pel_event *event = &x->log->events.at[e];
            if (!pel_is_below(x->log, event->activation, x->above[lane])) continue;
            const pel_value *function = pel_straight_at(x, event->function);
            if (function->kind != PEL_V_LIBRARY) return false;
            pel_str name = function->text;
            while (find_text(name, PEL_STR(".")) < name.len)
                name = pel_str_from(name, find_text(name, PEL_STR(".")) + 1);
            bool known = false;
            for (size_t k = 0; k < PEL_COUNT(keeping); k++) known |= pel_str_is(name, keeping[k]);
            for (size_t k = 0; k < PEL_COUNT(reducing) && reduces; k++) known |= pel_str_is(name, reducing[k]);
            if (!known && (!pel_str_is(name, "permute") || n_permuted++ || !permutes_to(x, event, order, n)))
                return false;
        }
        if (moves && !n_permuted) return false;
    }
    return true;
}

/* ---- writing it ---- */

static pel_node *method(const pattern *p, pel_node *of, const char *name, pel_nodes args) {
    pel_node *bound = pel_make_attribute(p->x->ctx, of, pel_intern_c(p->x->ctx, name), PEL_Load);
    return pel_make_call(p->x->ctx, bound, args, (pel_nodes){ 0 });
}

static void push_int(const pattern *p, pel_nodes *to, int64_t value) {
    pel_nodes_push(p->x->ctx, to, pel_make_int(p->x->ctx, value));
}

static void test_size(pattern *p, uint32_t d, pel_node *size) {
    pel_ctx *ctx = p->x->ctx;
    pel_node *shape = pel_make_attribute(ctx, pel_copy(ctx, p->call->tensor), pel_intern_c(ctx, "shape"), PEL_Load);
    pel_node *own = pel_make_subscript(ctx, shape, pel_make_int(ctx, d), PEL_Load);
    pel_nodes_push(ctx, &p->tests, pel_make_compare(ctx, own, PEL_Eq, size));
}

/* Each axis a dimension of its own. */
static pel_node *take_apart(pattern *p, pel_node *text) {
    pel_ctx *ctx = p->x->ctx;
    for (uint32_t d = p->left.n; d--;) {
        const dim *own = &p->left.dims[d];
        pel_nodes args = pel_nodes_one(ctx, pel_make_int(ctx, d));
        if (own->n == 0) {
            test_size(p, d, pel_make_int(ctx, 1));
            text = method(p, text, "squeeze", args);
        } else if (own->n == 1) {
            pel_node *length = p->axes[own->at[0]].length;
            if (length) test_size(p, d, pel_copy(ctx, length));
        } else {
            pel_node *sizes = pel_node_new(ctx, PEL_Tuple);
            for (uint32_t i = 0; i < own->n; i++) {
                pel_node *length = p->axes[own->at[i]].length;
                pel_nodes_push(ctx, &sizes->Tuple.elts, length ? pel_copy(ctx, length) : pel_make_int(ctx, -1));
            }
            pel_nodes_push(ctx, &args, sizes);
            text = method(p, text, "unflatten", args);
        }
    }
    return text;
}

/* order: which dimension comes where. */
static pel_node *permute(const pattern *p, pel_node *text, const uint32_t *order, uint32_t n) {
    uint32_t moved[2] = { 0, 0 }, n_moved = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] == i) continue;
        if (n_moved < 2) moved[n_moved] = i;
        n_moved++;
    }
    pel_nodes args = { 0 };
    if (n_moved == 0) return text;
    for (uint32_t i = 0; i < n && n_moved > 2; i++) push_int(p, &args, order[i]);
    for (uint32_t i = 0; i < 2 && n_moved == 2; i++) push_int(p, &args, moved[i]);
    return method(p, text, n_moved == 2 ? "transpose" : "permute", args);
}

static pel_node *flatten(const pattern *p, pel_node *text, uint32_t from, uint32_t n, uint32_t n_dims) {
    pel_nodes args = { 0 };
    push_int(p, &args, from);
    if (from + n < n_dims) push_int(p, &args, from + n - 1);
    return method(p, text, "flatten", args);
}

static pel_node *reduced(const pattern *p, pel_node *text, uint32_t n_kept, uint32_t n) {
    static const struct {
        const char *name, *method;
        bool one_by_one;
    } rows[] = { { "mean", "mean", false }, { "sum", "sum", false }, { "max", "amax", false }, { "min", "amin", false },
                 { "prod", "prod", true },  { "any", "any", true },  { "all", "all", true } };
    for (size_t r = 0; r < PEL_COUNT(rows); r++) {
        if (!pel_str_is(p->call->reduction, rows[r].name)) continue;
        pel_node *dims = pel_node_new(p->x->ctx, PEL_Tuple);
        for (uint32_t d = n_kept; d < n && !rows[r].one_by_one; d++) push_int(p, &dims->Tuple.elts, d);
        for (uint32_t d = n; rows[r].one_by_one && d-- > n_kept;)
            text = method(p, text, rows[r].method, pel_nodes_one(p->x->ctx, pel_make_int(p->x->ctx, d)));
        if (rows[r].one_by_one) return text;
        pel_node *which = dims->Tuple.elts.n == 1 ? dims->Tuple.elts.at[0] : dims;
        return method(p, text, rows[r].method, pel_nodes_one(p->x->ctx, which));
    }
    return NULL;
}

/* text[:, None], with a None for each new dimension. */
static pel_node *with_new(const pattern *p, pel_node *text, const bool *is_new, uint32_t n) {
    uint32_t last = 0, n_new = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_new[i]) {
            last = i;
            n_new++;
        }
    if (!n_new) return text;
    pel_node *index = pel_node_new(p->x->ctx, PEL_Tuple);
    for (uint32_t i = 0; i <= last; i++)
        pel_nodes_push(p->x->ctx, &index->Tuple.elts,
                       is_new[i] ? pel_make_none(p->x->ctx) : pel_node_new(p->x->ctx, PEL_Slice));
    return pel_make_subscript(p->x->ctx, text, last ? index : index->Tuple.elts.at[0], PEL_Load);
}

/* Axes that only the result has. */
static pel_node *repeated(const pattern *p, pel_node *text) {
    bool is_new[MOST_AXES];
    uint32_t n = 0, n_new = 0;
    pel_nodes sizes = { 0 };
    for (uint32_t d = 0; d < p->right.n; d++)
        for (uint32_t k = 0; k < p->right.dims[d].n; k++) {
            const axis *own = &p->axes[p->right.dims[d].at[k]];
            is_new[n++] = !own->is_left;
            n_new += !own->is_left;
            pel_nodes_push(p->x->ctx, &sizes,
                           own->is_left ? pel_make_int(p->x->ctx, -1) : pel_copy(p->x->ctx, own->length));
        }
    return n_new ? method(p, with_new(p, text, is_new, n), "expand", sizes) : text;
}

/* What stands in parentheses becomes one dimension, a 1 a new one. */
static pel_node *put_together(const pattern *p, pel_node *text) {
    uint32_t n = 0;
    bool is_new[MOST_AXES];
    for (uint32_t d = 0; d < p->right.n; d++) {
        n += p->right.dims[d].n;
        is_new[d] = p->right.dims[d].n == 0;
    }
    uint32_t n_dims = n;
    for (uint32_t d = p->right.n; d--;) {
        uint32_t own = p->right.dims[d].n;
        n -= own;
        if (own < 2) continue;
        text = flatten(p, text, n, own, n_dims);
        n_dims -= own - 1;
    }
    return with_new(p, text, is_new, p->right.n);
}

/* x.flatten(2).transpose(1, 2) for 'b c h w -> b (h w) c': what comes together is together already. NULL: it is not. */
static pel_node *flattened_first(const pattern *p, pel_node *text) {
    uint32_t order[MOST_AXES], start[MOST_AXES], n = 0, n_dims = p->n_left;
    for (uint32_t d = 0; d < p->right.n; d++) {
        const dim *own = &p->right.dims[d];
        for (uint32_t k = 1; k < own->n; k++)
            if (own->at[k] != own->at[0] + k) return NULL;
        if (own->n) start[n++] = own->at[0];
    }
    for (uint32_t from = p->n_left; from--;)
        for (uint32_t d = 0; d < p->right.n; d++) {
            const dim *own = &p->right.dims[d];
            if (own->n < 2 || own->at[0] != from) continue;
            text = flatten(p, text, from, own->n, n_dims);
            n_dims -= own->n - 1;
        }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = 0;
        for (uint32_t k = 0; k < n; k++) order[i] += start[k] < start[i];
    }
    bool is_new[MOST_AXES];
    for (uint32_t d = 0; d < p->right.n; d++) is_new[d] = p->right.dims[d].n == 0;
    return with_new(p, permute(p, text, order, n), is_new, p->right.n);
}

static pel_node *pattern_text(pattern *p) {
    pel_node *text = take_apart(p, pel_copy(p->x->ctx, p->call->tensor));
    uint32_t order[MOST_AXES], n = 0, n_kept;
    bool repeats = false;
    for (uint32_t d = 0; d < p->right.n; d++)
        for (uint32_t k = 0; k < p->right.dims[d].n; k++) {
            uint32_t at = p->right.dims[d].at[k];
            if (p->axes[at].is_left) order[n++] = at;
            repeats |= !p->axes[at].is_left;
        }
    n_kept = n;
    for (uint32_t i = 0; i < p->n_left; i++)
        if (!p->axes[i].is_right) order[n++] = i;
    if (!did_that(p, order, n, n_kept < n)) return NULL;
    pel_node *simple = n_kept == p->n_left && !repeats ? flattened_first(p, pel_copy(p->x->ctx, text)) : NULL;
    if (simple) return simple;
    text = permute(p, text, order, n);
    if (n_kept < n && !(text = reduced(p, text, n_kept, n))) return NULL;
    return put_together(p, repeated(p, text));
}

bool pel_straight_from_pattern(pel_straight *x, const pel_straight_pattern *call) {
    pattern *p = pel_new(x->ctx, pattern);
    *p = (pattern){ .x = x, .call = call };
    if (!read_pattern(p, call->rank) || !fits_lanes(p)) return false;
    if (x->w->s->asked.is_rank_open) {
        pel_node *rank =
            pel_make_attribute(x->ctx, pel_copy(x->ctx, call->tensor), pel_intern_c(x->ctx, "ndim"), PEL_Load);
        pel_nodes_push(x->ctx, &p->tests, pel_make_compare(x->ctx, rank, PEL_Eq, pel_make_int(x->ctx, call->rank)));
    }
    pel_node *text = pattern_text(p);
    if (!text) return false;
    if (p->tests.n) {
        pel_node *all = p->tests.n == 1 ? p->tests.at[0] : pel_make_boolop(x->ctx, PEL_And, p->tests);
        pel_node *message = pel_make_text(x->ctx, PEL_STR("sizes that the pattern does not allow"));
        pel_nodes_push(x->ctx, &x->body, pel_make_assert(x->ctx, all, message));
        x->has_effect = true;
    }
    pel_nodes_push(x->ctx, &x->body, pel_make_return(x->ctx, text));
    return true;
}
