/* What a straight line can name: what its function was given, what its steps made, and what the modules that it was
 * given own; and numbers, by example. */
#include "trace/lines/line.h"

enum { MOST_SIZES = 256, MOST_FACTORS = 24, DEEPEST = 5, LONGEST = 64 };

/* ---- values over lanes ---- */

bool pel_straight_all(const pel_straight *x, const pel_id *values, pel_value_kind kind) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (!values[i] || pel_straight_at(x, values[i])->kind != kind) return false;
    return true;
}

bool pel_straight_same(const pel_straight *x, const pel_id *values) {
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (!pel_value_same(x->log, values[i], values[0])) return false;
    return values[0] != 0;
}

bool pel_straight_sequences(const pel_straight *x, const pel_id *values, uint32_t *n) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = pel_straight_at(x, values[i]);
        if (value->kind != PEL_V_TUPLE && value->kind != PEL_V_LIST && value->kind != PEL_V_SIZE) return false;
        if (value->truncated || (i && value->n != *n)) return false;
        *n = value->n;
    }
    return true;
}

pel_id *pel_straight_items(pel_straight *x, const pel_id *values, uint32_t item) {
    pel_id *out = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) out[i] = pel_straight_at(x, values[i])->items[item];
    return out;
}

/* ---- adding names ---- */

static void add(pel_straight *x, pel_straight_names *to, const pel_node *text, const pel_id *values) {
    pel_straight_named made = { pel_copy(x->ctx, text), pel_new_array(x->ctx, x->n_lanes, pel_id) };
    memcpy(made.values, values, x->n_lanes * sizeof *values);
    pel_push(x->ctx, to, made);
}

static void add_shape(pel_straight *x, const pel_node *text, const pel_id *tensors) {
    const pel_log_tensor *first = &x->log->tensors.at[tensors[0]];
    for (uint32_t d = 0; d < first->n_dims && x->known.sizes.n < MOST_SIZES; d++) {
        int64_t *values = pel_new_array(x->ctx, x->n_lanes, int64_t);
        for (uint32_t i = 0; i < x->n_lanes; i++) {
            const pel_log_tensor *row = &x->log->tensors.at[tensors[i]];
            if (row->n_dims != first->n_dims) return;
            values[i] = row->shape[d];
        }
        pel_node *shape = pel_make_attribute(x->ctx, pel_copy(x->ctx, text), pel_intern_c(x->ctx, "shape"), PEL_Load);
        pel_node *size = pel_make_subscript(x->ctx, shape, pel_make_int(x->ctx, d), PEL_Load);
        pel_push(x->ctx, &x->known.sizes, ((pel_straight_size){ size, values }));
    }
}

static bool is_int(const pel_value *value) {
    return value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_INT && !value->constant->integer.digits.len;
}

static void add_number(pel_straight *x, const pel_node *text, const pel_id *values) {
    pel_straight_size made = { pel_copy(x->ctx, text), pel_new_array(x->ctx, x->n_lanes, int64_t), x->known.is_open };
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (!is_int(pel_straight_at(x, values[i]))) return;
        made.values[i] = pel_straight_at(x, values[i])->constant->integer.small;
    }
    pel_push(x->ctx, &x->known.sizes, made);
}

static pel_node *subscript(pel_straight *x, const pel_node *whole, pel_node *key) {
    return pel_make_subscript(x->ctx, pel_copy(x->ctx, whole), key, PEL_Load);
}

static void add_value(pel_straight *x, const pel_node *text, const pel_id *values, bool made, int depth);

/* The parts that have the same key in all lanes: of dicts by subscript, of objects by attribute. */
static void add_keyed(pel_straight *x, const pel_node *text, const pel_id *values, bool made, int depth) {
    const pel_value *first = pel_straight_at(x, values[0]);
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        const pel_value *key = pel_straight_at(x, first->items[k]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) continue;
        pel_id *items = pel_new_array(x->ctx, x->n_lanes, pel_id);
        bool all = true;
        for (uint32_t i = 0; i < x->n_lanes && all; i++) {
            const pel_value *value = pel_straight_at(x, values[i]);
            all = k + 1 < value->n && pel_value_same(x->log, value->items[k], first->items[k]);
            if (all) items[i] = value->items[k + 1];
        }
        if (!all) continue;
        pel_str name = key->constant->text;
        pel_node *part = first->kind == PEL_V_DICT ? subscript(x, text, pel_make_text(x->ctx, name))
                                                   : pel_make_attribute(x->ctx, pel_copy(x->ctx, text),
                                                                        pel_intern_str(x->ctx, name), PEL_Load);
        add_value(x, part, items, made, depth + 1);
    }
}

static pel_id *rows_of(pel_straight *x, const pel_id *values) { /* tensors or modules */
    pel_id *rows = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) rows[i] = pel_straight_at(x, values[i])->tensor;
    return rows;
}

static bool is_written_record(const pel_straight *x, const pel_value *value) {
    pel_class_kind kind = pel_class_at(x->log, value->class)->kind;
    return kind == PEL_CLASS_DATACLASS || kind == PEL_CLASS_NAMEDTUPLE;
}

/* Whether add_value looks into each part: what lanes have under other keys, or more or less of, it can't name. */
static bool has_parts(const pel_straight *x, const pel_id *values) {
    const pel_value *first = pel_straight_at(x, values[0]);
    bool is_keyed = first->kind == PEL_V_DICT || (first->kind == PEL_V_OBJECT && is_written_record(x, first));
    uint32_t n = 0;
    if (!is_keyed) return pel_straight_sequences(x, values, &n) && n <= LONGEST;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = pel_straight_at(x, values[i]);
        if (value->kind != first->kind || value->class != first->class || value->n != first->n || value->truncated)
            return false;
        for (uint32_t k = 0; k + 1 < value->n; k += 2) {
            const pel_value *key = pel_straight_at(x, value->items[k]);
            if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR ||
                !pel_value_same(x->log, value->items[k], first->items[k]))
                return false;
        }
    }
    return true;
}

/* Runs vary sizes on purpose, but what callers and data give once or twice at most. Whatever differs there leaves open
 * what numbers were computed from. */
void pel_straight_note(pel_straight *x, const pel_id *values) {
    if (pel_straight_all(x, values, PEL_V_TENSOR) || pel_straight_all(x, values, PEL_V_MODULE)) return;
    for (uint32_t i = 0; i < x->n_lanes; i++)
        x->known.some_data |= !values[i] != !values[0] || !pel_value_same(x->log, values[i], values[0]);
}

/* Names a value and each of its parts, by what it is in all lanes. */
static void add_value(pel_straight *x, const pel_node *text, const pel_id *values, bool made, int depth) {
    uint32_t n = 0;
    if (x->known.is_open && (depth > DEEPEST || !has_parts(x, values))) pel_straight_note(x, values);
    if (depth > DEEPEST || !values[0]) return;
    const pel_value *first = pel_straight_at(x, values[0]);
    if (pel_straight_all(x, values, PEL_V_TENSOR)) {
        pel_id *tensors = rows_of(x, values);
        add(x, &x->known.tensors, text, tensors);
        add_shape(x, text, tensors);
    } else if (pel_straight_all(x, values, PEL_V_MODULE)) {
        add(x, &x->known.modules, text, rows_of(x, values));
    } else if (pel_straight_sequences(x, values, &n) && n <= LONGEST) {
        for (uint32_t k = 0; k < n; k++)
            add_value(x, subscript(x, text, pel_make_int(x->ctx, k)), pel_straight_items(x, values, k), made,
                      depth + 1);
    } else if (pel_straight_all(x, values, PEL_V_DICT) ||
               (pel_straight_all(x, values, PEL_V_OBJECT) && is_written_record(x, first))) {
        add_keyed(x, text, values, made, depth);
    } else if (pel_straight_all(x, values, PEL_V_CONST)) {
        if (!pel_straight_same(x, values)) {
            add_number(x, text, values);
            add(x, &x->known.scalars, text, values);
        }
    }
    if (!made && first->object) add(x, &x->known.objects, text, values);
}

void pel_straight_give(pel_straight *x, pel_node *text, const pel_id *values, bool is_open) {
    x->known.is_open = is_open;
    add_value(x, text, values, false, 0);
    x->known.n_given = x->known.sizes.n;
    x->reads.n_given = x->known.tensors.n;
}

void pel_straight_make(pel_straight *x, pel_node *text, const pel_id *values) {
    x->known.is_open = true;
    add_value(x, text, values, true, 0);
}

/* ---- parts of modules ---- */

pel_node *pel_straight_module(pel_straight *x, const pel_id *modules) {
    for (uint32_t b = 0; b < x->known.modules.n; b++) {
        const pel_straight_named *from = &x->known.modules.at[b];
        pel_node *text = pel_module_text(x->ctx, x->log, from->text, from->values, modules, x->n_lanes);
        if (text) return text;
    }
    return NULL;
}

/* The tensor that a module has under a name: as parameter, buffer or plain attribute. */
static pel_id tensor_named(const pel_log *log, pel_id id, pel_name name, bool *is_attribute) {
    const pel_log_module *module = pel_module_at(log, id);
    for (uint32_t i = 0; i < module->n_parameters; i++)
        if (module->parameters[i].name == name) return module->parameters[i].tensor;
    for (uint32_t i = 0; i < module->n_buffers; i++)
        if (module->buffers[i].name == name) return module->buffers[i].tensor;
    const pel_value *value = pel_value_at(log, pel_module_attribute(log, id, name));
    *is_attribute = value->kind == PEL_V_TENSOR;
    return *is_attribute ? value->tensor : 0;
}

static pel_name name_of_tensor(const pel_log *log, pel_id id, pel_id tensor) {
    const pel_log_module *module = pel_module_at(log, id);
    for (uint32_t i = 0; i < module->n_parameters; i++)
        if (module->parameters[i].tensor == tensor) return module->parameters[i].name;
    for (uint32_t i = 0; i < module->n_buffers; i++)
        if (module->buffers[i].tensor == tensor) return module->buffers[i].name;
    for (uint32_t i = 0; i < module->n_attributes; i++) {
        const pel_value *value = pel_value_at(log, module->attributes[i].value);
        if (value->kind == PEL_V_TENSOR && value->tensor == tensor) return module->attributes[i].name;
    }
    return NULL;
}

typedef struct wanted_tensor {
    pel_id tensor;
    pel_name name; /* that its owner has for it */
} wanted_tensor;

static bool owns_tensor(const pel_log *log, pel_id module, void *arg) {
    wanted_tensor *wanted = arg;
    wanted->name = name_of_tensor(log, module, wanted->tensor);
    return wanted->name != NULL;
}

static pel_node *owned_tensor(pel_straight *x, const pel_straight_named *from, const pel_id *tensors) {
    pel_way way = { .n = 0 };
    wanted_tensor wanted = { .tensor = tensors[0] };
    if (!pel_find_way(x->ctx, x->log, from->values[0], owns_tensor, &wanted, &way)) return NULL;
    pel_name name = wanted.name;
    pel_id *owners = pel_new_array(x->ctx, x->n_lanes, pel_id);
    bool is_attribute = false;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        owners[i] = pel_go_way(x->log, from->values[i], &way);
        if (!owners[i] || tensor_named(x->log, owners[i], name, &is_attribute) != tensors[i]) return NULL;
    }
    pel_node *text = pel_way_text(x->ctx, x->log, from->text, from->values[0], &way);
    text = text ? pel_part_text(x->ctx, x->log, text, owners[0], name) : NULL;
    if (text && is_attribute) pel_need(x->w, (pel_front){ NULL, x->n_lanes }, owners, name, NULL);
    return text;
}

pel_node *pel_straight_tensor(pel_straight *x, const pel_id *values) {
    pel_id *tensors = rows_of(x, values);
    for (uint32_t k = x->known.tensors.n; k--;)
        if (!memcmp(x->known.tensors.at[k].values, tensors, x->n_lanes * sizeof *tensors))
            return pel_copy(x->ctx, x->known.tensors.at[k].text);
    for (uint32_t b = 0; b < x->known.modules.n; b++) {
        pel_node *text = owned_tensor(x, &x->known.modules.at[b], tensors);
        if (text) return text;
    }
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (tensors[i] != tensors[0]) return NULL;
    return pel_tensor_expression(x->ctx, x->w->s->program, tensors[0]);
}

/* ---- what the constructor sets ---- */

pel_node *pel_straight_setting(pel_straight *x, const pel_id *values) {
    if (!x->known.modules.n || x->known.modules.at[0].text->kind != PEL_Name) return NULL;
    const pel_straight_named *self = &x->known.modules.at[0];
    const pel_log_module *first = pel_module_at(x->log, self->values[0]);
    for (uint32_t a = 0; a < first->n_attributes; a++) {
        pel_name name = first->attributes[a].name;
        bool fits = true;
        for (uint32_t i = 0; i < x->n_lanes && fits; i++) {
            pel_id value = pel_module_attribute(x->log, self->values[i], name);
            fits = value && pel_plain(x->w->s, value) && pel_value_same(x->log, value, values[i]) &&
                   !pel_map_has(&x->w->s->objects.written,
                                pel_key2(pel_module_at(x->log, self->values[i])->class, PEL_KEY(name)));
        }
        if (!fits) continue;
        pel_need(x->w, (pel_front){ NULL, x->n_lanes }, self->values, name, NULL);
        return pel_make_attribute(x->ctx, pel_copy(x->ctx, self->text), name, PEL_Load);
    }
    return NULL;
}

/* ---- numbers by example ---- */

enum { MOST_TOGETHER = 3, MOST_UNDER = 2 };

typedef struct term { /* a * b * c * times // (d * e * by) + plus */
    const pel_straight_size *factors[MOST_TOGETHER];
    uint32_t n;
    int64_t times, by, plus;
    const pel_straight_size *under[MOST_UNDER];
    uint32_t n_under;
} term;

static bool product_at(const pel_straight_size *const *factors, uint32_t n, uint32_t lane, int64_t *out) {
    for (uint32_t k = 0; k < n; k++)
        if (__builtin_mul_overflow(*out, factors[k]->values[lane], out)) return false;
    return true;
}

/* A number that data or callers gave stands for itself alone. Where there is any, another number may be computed from
 * it, so that a fit to sizes shows nothing, and sizes stand for themselves alone, too. */
static bool is_guess(const pel_straight *x, const term *t) {
    bool is_data = false;
    for (uint32_t i = 0; i < t->n; i++) is_data |= t->factors[i]->is_data;
    for (uint32_t i = 0; i < t->n_under; i++) is_data |= t->under[i]->is_data;
    bool is_computed = t->n > 1 || t->n_under || t->times != 1 || t->by != 1 || t->plus;
    return is_computed && (is_data || x->known.some_data);
}

static bool fits(const pel_straight *x, const int64_t *wanted, const term *t) {
    if (is_guess(x, t)) return false;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        int64_t value = t->times, by = t->by;
        if (!product_at(t->factors, t->n, i, &value) || !product_at(t->under, t->n_under, i, &by)) return false;
        if (by <= 0 || value % by) return false;
        if (__builtin_add_overflow(value / by, t->plus, &value) || value != wanted[i]) return false;
    }
    return true;
}

static pel_node *binary(pel_straight *x, pel_node *left, uint8_t op, pel_node *right) {
    return pel_make_binop(x->ctx, left, op, right);
}

static pel_node *number(pel_straight *x, int64_t value) { return pel_make_int(x->ctx, value); }

/* Sizes that were equal in all runs need not be one: height and width. In the sizes of one shape each is used once,
 * in the order in which they are known. */
static const pel_straight_size *not_used(pel_straight *x, const pel_straight_size *size) {
    if (!x->in_shape) return size;
    for (uint32_t i = 0; i < x->known.sizes.n; i++) {
        const pel_straight_size *other = &x->known.sizes.at[i];
        if (memcmp(other->values, size->values, x->n_lanes * sizeof *size->values)) continue;
        bool used = false;
        for (uint32_t k = 0; k < x->used.n && !used; k++) used = x->used.at[k] == i;
        if (used) continue;
        pel_push(x->ctx, &x->used, i);
        return other;
    }
    return size;
}

static pel_node *term_text(pel_straight *x, const term *t) {
    const pel_straight_size *factors[MOST_TOGETHER]; /* in the order in which they are known, whatever was not used */
    for (uint32_t k = 0; k < t->n; k++) {
        const pel_straight_size *size = not_used(x, t->factors[k]);
        uint32_t at = k;
        for (; at > 0 && factors[at - 1] > size; at--) factors[at] = factors[at - 1];
        factors[at] = size;
    }
    pel_node *text = pel_copy(x->ctx, factors[0]->text);
    for (uint32_t k = 1; k < t->n; k++) text = binary(x, text, PEL_Mult, pel_copy(x->ctx, factors[k]->text));
    if (t->times > 1) text = binary(x, text, PEL_Mult, number(x, t->times));
    pel_node *by = t->by > 1 ? number(x, t->by) : NULL;
    for (uint32_t k = 0; k < t->n_under; k++) {
        pel_node *size = pel_copy(x->ctx, t->under[k]->text);
        by = by ? binary(x, by, PEL_Mult, size) : size;
    }
    if (by) text = binary(x, text, PEL_FloorDiv, by);
    if (t->plus > 0) text = binary(x, text, PEL_Add, number(x, t->plus));
    if (t->plus < 0) text = binary(x, text, PEL_Sub, number(x, -t->plus));
    return text;
}

/* The product of the factors, if it may be with what the first lane says it must be multiplied with or divided by. */
static pel_node *try_product(pel_straight *x, const int64_t *wanted, term *t, bool with_constant) {
    int64_t own = 1;
    if (!product_at(t->factors, t->n, 0, &own) || own <= 0 || wanted[0] <= 0) return NULL;
    t->times = with_constant && wanted[0] % own == 0 ? wanted[0] / own : 1;
    t->by = with_constant && wanted[0] % own != 0 ? own / wanted[0] : 1;
    return t->by > 0 && fits(x, wanted, t) ? term_text(x, t) : NULL;
}

typedef struct products {
    const int64_t *wanted; /* per lane */
    uint32_t n_factors;
    uint32_t among; /* the first sizes */
    bool with_constant;
} products;

/* Products of so many factors, t among them, of the sizes from `from` on. */
static pel_node *try_products(pel_straight *x, const products *p, term *t, uint32_t from) {
    if (t->n == p->n_factors) return try_product(x, p->wanted, t, p->with_constant);
    pel_node *text = NULL;
    for (uint32_t i = from; i < p->among && !text; i++) {
        t->factors[t->n++] = &x->known.sizes.at[i];
        text = try_products(x, p, t, i);
        t->n--;
    }
    return text;
}

static pel_node *try_quotient(pel_straight *x, const int64_t *wanted, term *t) {
    int64_t under = 1;
    if (!product_at(t->under, t->n_under, 0, &under) || under <= 0 || wanted[0] <= 0) return NULL;
    t->by = t->factors[0]->values[0] / under / wanted[0];
    return t->by > 0 && fits(x, wanted, t) ? term_text(x, t) : NULL;
}

/* A size divided by one or two others: how axes come out whose length nobody gives, '(h w) -> h w' with h known. */
static pel_node *try_quotients(pel_straight *x, const int64_t *wanted, uint32_t n_under, uint32_t n) {
    pel_node *text = NULL;
    for (uint32_t i = 0; i < n && !text; i++)
        for (uint32_t k = 0; k < n && !text; k++)
            for (uint32_t m = 1; m <= (n_under > 1 ? n : 1) && !text; m++) { /* twice the same comes last */
                term t = { .factors = { &x->known.sizes.at[i] },
                           .n = 1,
                           .times = 1,
                           .under = { &x->known.sizes.at[k], &x->known.sizes.at[(k + m) % n] },
                           .n_under = n_under };
                text = try_quotient(x, wanted, &t);
            }
    return text;
}

static pel_node *try_sums(pel_straight *x, const int64_t *wanted, bool with_constant, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const pel_straight_size *size = &x->known.sizes.at[i];
        term t = { .factors = { size }, .n = 1, .times = 1, .by = 1 };
        if (with_constant) t.plus = wanted[0] - size->values[0];
        if (fits(x, wanted, &t)) return term_text(x, &t);
    }
    return NULL;
}

/* The simplest expression of the first n sizes that gives these numbers in all lanes. */
static pel_node *number_of(pel_straight *x, const int64_t *wanted, uint32_t n, uint32_t most_factors) {
    bool varies = false; /* else any size and a constant would do */
    for (uint32_t i = 1; i < x->n_lanes; i++) varies |= wanted[i] != wanted[0];
    pel_node *text = try_sums(x, wanted, false, n);
    for (uint32_t k = 1; k <= most_factors && !text; k++) {
        term t = { .times = 1, .by = 1 };
        products p = { wanted, k, k > 1 && n > MOST_FACTORS ? MOST_FACTORS : n, false };
        text = try_products(x, &p, &t, 0);
        p.with_constant = true;
        if (!text) text = try_products(x, &p, &t, 0);
        if (!text && k == 1 && varies) text = try_sums(x, wanted, true, n);
    }
    for (uint32_t k = 1; k <= MOST_UNDER && varies && !text; k++)
        text = try_quotients(x, wanted, k, n > MOST_FACTORS ? MOST_FACTORS : n);
    return text;
}

/* By what the function was given, if that is simple: then its steps need no names. */
pel_node *pel_straight_number(pel_straight *x, const int64_t *wanted) {
    pel_node *text = number_of(x, wanted, x->known.n_given, 1);
    return text ? text : number_of(x, wanted, x->known.sizes.n, MOST_TOGETHER);
}

static bool is_among(const pel_straight_names *names, pel_name name) {
    for (uint32_t i = 0; i < names->n; i++)
        if (names->at[i].text->kind == PEL_Name && names->at[i].text->Name.id == name) return true;
    return false;
}

bool pel_straight_is_given(const pel_straight *x, pel_name name) {
    for (uint32_t i = 0; i < x->known.sizes.n; i++)
        if (x->known.sizes.at[i].text->kind == PEL_Name && x->known.sizes.at[i].text->Name.id == name) return true;
    return is_among(&x->known.tensors, name) || is_among(&x->known.modules, name) ||
           is_among(&x->known.objects, name) || is_among(&x->known.scalars, name);
}
