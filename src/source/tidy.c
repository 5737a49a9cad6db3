/* Methods as they come from a graph, one operator a line, become what people write: calls of the members of a list are
 * a loop, values that are used once are written where they are used, and variables get names. */
#include "source/source.h"

#define MOST_NODES 40 /* of an expression that another one is written into */

typedef struct tidy {
    pel_recovery *r;
    pel_ctx *ctx;
    pel_part *part;
    pel_node *method;
    pel_map bound_twice; /* names of loops */
} tidy;

/* ---- asking ---- */

typedef struct counter {
    pel_name name;
    uint32_t uses, nodes;
} counter;

static void count(void *arg, pel_node **slot) {
    counter *c = arg;
    c->nodes++;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == c->name && (*slot)->Name.ctx == PEL_Load) c->uses++;
    pel_each_child(*slot, count, c);
}

static uint32_t uses_in(pel_node *node, pel_name name) {
    counter c = { .name = name };
    count(&c, &node);
    return c.uses;
}

static uint32_t uses_from(const pel_nodes *body, uint32_t start, pel_name name) {
    uint32_t n = 0;
    for (uint32_t i = start; i < body->n; i++) n += uses_in(body->at[i], name);
    return n;
}

/* ---- loops ---- */

typedef struct member { /* v = self.blocks[2](a, b) */
    pel_node *list;
    int64_t index;
    pel_node *call;
    pel_name target;
} member;

static bool is_member(const pel_node *line, member *m) {
    m->target = pel_bound_name(line);
    m->call = m->target ? line->Assign.value : NULL;
    if (!m->call || m->call->kind != PEL_Call || m->call->Call.func->kind != PEL_Subscript || m->call->Call.keywords.n)
        return false;
    m->list = m->call->Call.func->Subscript.value;
    const pel_node *index = m->call->Call.func->Subscript.slice;
    if (m->list->kind != PEL_Attribute || index->kind != PEL_Constant) return false;
    m->index = index->Constant.value->integer.small;
    return true;
}

/* Whether b follows a: the next member of the list, called with a's result in one place and the same in all others. */
static bool follows(const member *a, const member *b, int *place) {
    if (!pel_same(a->list, b->list) || b->index != a->index + 1 || a->call->Call.args.n != b->call->Call.args.n)
        return false;
    int found = -1;
    for (uint32_t i = 0; i < b->call->Call.args.n; i++) {
        const pel_node *arg = b->call->Call.args.at[i];
        if (arg->kind == PEL_Name && arg->Name.id == a->target && found < 0)
            found = (int)i;
        else if (!pel_same(arg, a->call->Call.args.at[i]))
            return false;
    }
    if (found < 0 || (*place >= 0 && *place != found)) return false;
    *place = found;
    return true;
}

static void put_path(pel_buf *out, const pel_node *node) {
    if (node->kind != PEL_Attribute) return;
    put_path(out, node->Attribute.value);
    if (out->len) pel_put_byte(out, '.');
    pel_put_name(out, node->Attribute.attr);
}

static pel_name singular(pel_ctx *ctx, const pel_node *list) {
    pel_str name = pel_name_str(list->Attribute.attr);
    bool is_plural = name.len > 2 && name.ptr[name.len - 1] == 's' && name.ptr[name.len - 2] != 's';
    pel_str one = pel_str_cut(name, 0, name.len - is_plural);
    return is_plural && pel_is_identifier(one) ? pel_intern_str(ctx, one) : pel_intern_c(ctx, "member");
}

/* for block in self.blocks: x = block(x, mask) */
static pel_node *loop_of(tidy *t, const member *first, int64_t n, int place, pel_name value) {
    pel_ctx *ctx = t->ctx;
    pel_buf path = pel_buf_in(ctx);
    pel_put(&path, t->part->path);
    put_path(&path, first->list);
    const pel_part *list = pel_part_at(t->r, pel_buf_str(&path));
    pel_node *iter = first->list;
    if (first->index || !list || list->children.n != (uint64_t)n) {
        pel_node *slice = pel_node_new(ctx, PEL_Slice);
        if (first->index) slice->Slice.lower = pel_make_int(ctx, first->index);
        slice->Slice.upper = pel_make_int(ctx, first->index + n);
        iter = pel_make_subscript(ctx, iter, slice, PEL_Load);
    }
    pel_node *loop = pel_node_new(ctx, PEL_For), *call = pel_copy(ctx, first->call);
    pel_name each = singular(ctx, first->list);
    loop->For.target = pel_make_name(ctx, each, PEL_Store);
    loop->For.iter = iter;
    call->Call.func = pel_make_name(ctx, each, PEL_Load);
    call->Call.args.at[place] = pel_make_name(ctx, value, PEL_Load);
    loop->For.body = pel_nodes_one(ctx, pel_make_assign(ctx, pel_make_name(ctx, value, PEL_Store), call));
    return loop;
}

/* Rows of calls become loops. What comes in is written over if nobody else reads it, else copied first. */
static void make_loops(tidy *t) {
    pel_nodes *body = &t->method->FunctionDef.body, out = { 0 };
    for (uint32_t i = 0; i < body->n;) {
        member first, last, next;
        int place = -1;
        uint32_t n = 1;
        if (is_member(body->at[i], &first)) {
            for (last = first; i + n < body->n && is_member(body->at[i + n], &next) && follows(&last, &next, &place) &&
                               uses_from(body, 0, last.target) == 1;
                 n++)
                last = next;
        }
        pel_node *in = n > 1 ? first.call->Call.args.at[place] : NULL;
        if (!in || in->kind != PEL_Name) {
            pel_nodes_push(t->ctx, &out, body->at[i++]);
            continue;
        }
        bool is_free = uses_from(body, i, in->Name.id) == 1;
        pel_name value = is_free ? in->Name.id : last.target;
        if (!is_free)
            pel_nodes_push(t->ctx, &out, pel_make_assign(t->ctx, pel_make_name(t->ctx, value, PEL_Store), in));
        pel_nodes_push(t->ctx, &out, loop_of(t, &first, n, place, value));
        pel_map_set(t->ctx, &t->bound_twice, PEL_KEY(value), 1);
        for (uint32_t k = i + n; k < body->n; k++)
            pel_replace_name(&body->at[k], last.target, pel_make_name(t->ctx, value, PEL_Load));
        i += n;
    }
    *body = out;
}

/* ---- values used once ---- */

static void find_effect(void *arg, pel_node **slot) {
    tidy *t = arg;
    if ((*slot)->kind == PEL_Call) {
        pel_name last = pel_last_name((*slot)->Call.func);
        if (last && last->len > 1 && last->text[last->len - 1] == '_' && last->text[last->len - 2] != '_')
            t->part->mutates = true;
    }
    if ((*slot)->kind == PEL_keyword && pel_name_is((*slot)->keyword.arg, "inplace")) t->part->mutates = true;
    pel_each_child(*slot, find_effect, t);
}

/* Whether a line may change a tensor: then nothing moves over it. */
static bool has_effect(tidy *t, pel_node *line) {
    bool before = t->part->mutates;
    t->part->mutates = false;
    find_effect(t, &line);
    bool found = t->part->mutates;
    t->part->mutates = before || found;
    return found;
}

/* The value of a line hangs where the next line reads it, if nobody else does. */
static void write_into_users(tidy *t) {
    pel_nodes *body = &t->method->FunctionDef.body, out = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *line = body->at[i];
        while (out.n && line->kind != PEL_For && line->kind != PEL_If && line->kind != PEL_While) {
            pel_node *before = out.at[out.n - 1];
            pel_name name = pel_bound_name(before);
            counter size = { 0 };
            if (!name || pel_map_has(&t->bound_twice, PEL_KEY(name)) || has_effect(t, before)) break;
            if (uses_in(line, name) != 1 || uses_from(body, 0, name) != 1) break;
            count(&size, &before->Assign.value);
            count(&size, &line);
            if (size.nodes > MOST_NODES && before->Assign.value->kind != PEL_Name) break;
            pel_replace_name(&line, name, before->Assign.value);
            out.n--;
        }
        body->at[i] = line;
        pel_nodes_push(t->ctx, &out, line);
    }
    *body = out;
}

/* ---- names ---- */

typedef struct namer {
    tidy *t;
    pel_map names; /* made -> final */
    pel_map taken; /* final -> 1 */
} namer;

static bool is_made(pel_name name) { return name->len > 2 && name->text[0] == 'v' && name->text[1] == '.'; }

static pel_name fresh(namer *n, pel_str base) {
    pel_ctx *ctx = n->t->ctx;
    if (!pel_is_identifier(base) || base.len > 24) base = PEL_STR("value");
    pel_name name = pel_intern_str(ctx, base);
    for (unsigned i = 2; !pel_map_set(ctx, &n->taken, PEL_KEY(name), 1); i++)
        name = pel_intern_str(ctx, pel_format(ctx, "%.*s_%u", PEL_FMT(base), i));
    return name;
}

typedef struct first_dead {
    namer *n;
    const pel_nodes *body;
    uint32_t at;
    pel_name found;
} first_dead;

static void find_dead(void *arg, pel_node **slot) {
    first_dead *d = arg;
    pel_name name = (*slot)->kind == PEL_Name ? (*slot)->Name.id : NULL;
    if (!d->found && name && pel_map_has(&d->n->names, PEL_KEY(name)) && !uses_from(d->body, d->at + 1, name))
        d->found = name;
    pel_each_child(*slot, find_dead, d);
}

/* The author's name for a value, which a reader of files keeps in the name that it makes: "v.3.out"; else empty. */
static pel_str hint_of(pel_name made) {
    const char *dot = memchr(made->text + 2, '.', made->len - 2);
    return dot ? pel_str_from(pel_name_str(made), (size_t)(dot + 1 - made->text)) : (pel_str){ "", 0 };
}

/* What a value is called after: the module or function that gave it. */
static pel_str word_for(pel_node *value) {
    while (value->kind == PEL_Subscript) value = value->Subscript.value;
    pel_name last = value->kind == PEL_Call ? pel_last_name(value->Call.func) : NULL;
    static const char *const plain[] = { "torch", "nn", "F", "self", "float", "getattr", "size" };
    if (!last || last->text[last->len - 1] == '_') return PEL_STR("y");
    for (size_t i = 0; i < PEL_COUNT(plain); i++)
        if (pel_name_is(last, plain[i])) return PEL_STR("n");
    return pel_name_str(last);
}

static void bind(namer *n, pel_name made, pel_name final) {
    pel_map_set(n->t->ctx, &n->names, PEL_KEY(made), PEL_KEY(final));
}

/* A variable that nobody reads after this line gives its name to the result: x = self.norm(x). */
static void name_line(namer *n, const pel_nodes *body, uint32_t at) {
    pel_node *line = body->at[at];
    if (line->kind != PEL_Assign) return;
    pel_node *target = line->Assign.targets.at[0];
    if (target->kind == PEL_Name && is_made(target->Name.id) && !pel_map_has(&n->names, PEL_KEY(target->Name.id))) {
        first_dead dead = { n, body, at, NULL };
        find_dead(&dead, &line->Assign.value);
        pel_name old = dead.found ? pel_map_pointer(&n->names, PEL_KEY(dead.found)) : NULL;
        pel_str hint = hint_of(target->Name.id), known = old ? pel_name_str(old) : hint;
        bool is_same =
            !hint.len || (pel_str_starts(known, hint) && (known.len == hint.len || known.ptr[hint.len] == '_'));
        bind(n, target->Name.id, old && is_same ? old : fresh(n, hint.len ? hint : word_for(line->Assign.value)));
    }
    for (uint32_t i = 0; target->kind == PEL_Tuple && i < target->Tuple.elts.n; i++) {
        pel_name made = target->Tuple.elts.at[i]->Name.id;
        pel_str hint = is_made(made) ? hint_of(made) : (pel_str){ "", 0 };
        if (is_made(made)) bind(n, made, fresh(n, hint.len ? hint : word_for(line->Assign.value)));
    }
}

static void rename_below(void *arg, pel_node **slot) {
    namer *n = arg;
    if ((*slot)->kind == PEL_Name && pel_map_has(&n->names, PEL_KEY((*slot)->Name.id))) {
        pel_name final = pel_map_pointer(&n->names, PEL_KEY((*slot)->Name.id));
        if (final) *slot = pel_make_name(n->t->ctx, final, (*slot)->Name.ctx);
        return;
    }
    pel_each_child(*slot, rename_below, n);
}

static void name_values(tidy *t) {
    static const char *const reserved[] = { "self", "torch", "nn", "F", "float", "getattr", "range", "member", "_" };
    namer n = { .t = t };
    pel_nodes *args = &t->method->FunctionDef.args->arguments.args, *body = &t->method->FunctionDef.body;
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        pel_map_set(t->ctx, &n.taken, PEL_KEY(pel_intern_c(t->ctx, reserved[i])), 1);
    for (uint32_t i = 0; i < body->n; i++)
        if (body->at[i]->kind == PEL_For) pel_map_set(t->ctx, &n.taken, PEL_KEY(body->at[i]->For.target->Name.id), 1);
    bool has_self = args->n && pel_name_is(args->at[0]->arg.arg, "self"); /* free functions have none */
    for (uint32_t i = has_self; i < args->n; i++) {
        static const char *const letters[] = { "x", "x", "y", "z" };
        pel_name made = args->at[i]->arg.arg;
        pel_str hint = is_made(made) ? hint_of(made) : pel_name_str(made);
        bind(&n, made, fresh(&n, hint.len ? hint : pel_str_of(i <= 3 ? letters[i] : "value")));
        args->at[i]->arg.arg = pel_map_pointer(&n.names, PEL_KEY(made));
    }
    for (uint32_t i = 0; i < body->n; i++) name_line(&n, body, i);
    for (uint32_t i = 0; i < body->n; i++) rename_below(&n, &body->at[i]);
}

void pel_tidy(pel_recovery *r, pel_part *part) {
    for (uint32_t i = 0; i < part->methods.n; i++) {
        if (part->methods.at[i]->mark != PEL_FROM_GRAPH) continue;
        tidy t = { .r = r, .ctx = r->ctx, .part = part, .method = part->methods.at[i] };
        make_loops(&t);
        write_into_users(&t);
        name_values(&t);
    }
}
