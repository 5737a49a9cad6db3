/* A code object -> def, lambda, class, comprehension, module. */
#include "bytecode/dis.h"
#include "decompile/flat.h"

/* ---- reading one code object ---- */

typedef struct reading {
    pel_lift *l;
    pel_nodes body;
} reading;

/* The innermost handler around both of two handlers. */
static uint32_t common_cover(const pel_canon *c, uint32_t a, uint32_t b) {
    for (; a != PEL_NONE; a = c->guards[a].outer)
        for (uint32_t g = b; g != PEL_NONE; g = c->guards[g].outer)
            if (g == a) return a;
    return PEL_NONE;
}

/* Where loops begin: jumps that come back. A jump from a handler counts as one from the end of what it covers. */
static void find_loops(pel_lift *l) {
    const pel_canon *c = l->c;
    size_t size = ((size_t)c->n + 1) * sizeof(uint32_t);
    l->back = pel_alloc_raw(l->ctx, size);
    memset(l->back, 0xff, size);
    l->back_cover = pel_alloc_raw(l->ctx, size);
    memset(l->back_cover, 0xff, size);
    l->only_handlers = pel_new_array(l->ctx, (size_t)c->n + 1, bool);
    for (uint32_t i = 0; i < c->n; i++) {
        const pel_ins *ins = &c->at[i];
        uint32_t to = ins->target, from = i;
        if (to == PEL_NONE) continue;
        while (c->at[from].level > c->at[to].level) {
            uint32_t g = c->at[from].within;
            if (g == PEL_NONE || c->guards[g].last == PEL_NONE) break;
            from = c->guards[g].last;
        }
        if (to > from || c->at[from].level != c->at[to].level) continue;
        bool is_first = l->back[to] == PEL_NONE;
        l->back_cover[to] = is_first ? ins->cover : common_cover(c, l->back_cover[to], ins->cover);
        l->only_handlers[to] = (is_first || l->only_handlers[to]) && from != i;
        if (is_first || l->back[to] < from) l->back[to] = from;
    }
}

static void read_all(pel_ctx *ctx, void *arg) {
    reading *job = arg;
    pel_lift *l = job->l;
    const pel_insns *insns = pel_decode(ctx, l->code);
    pel_stack_depths(ctx, insns); /* refuses unbalanced code */
    l->c = pel_normalise(ctx, insns, l->plainly);
    if (!l->plainly && pel_is_juggled(l->c)) l->c = pel_normalise(ctx, insns, true); /* its lines tell nothing */
    pel_canon_check(ctx, l->c);
    l->open = pel_new_array(ctx, (size_t)l->c->n_guards + 1, bool);
    l->head_open = pel_new_array(ctx, (size_t)l->c->n + 1, bool);
    l->unseen = pel_new_array(ctx, (size_t)l->c->n + 1, bool);
    if (pel_is_juggled(l->c)) {
        job->body = pel_read_flat(l);
        pel_decompile_tidy(l, &job->body);
        return;
    }
    find_loops(l);
    for (uint32_t i = 0; i < l->c->n; i++)
        if (l->c->at[i].op == PEL_I_FUNCTION && l->c->at[i].value && l->c->at[i].value->kind == PEL_CONST_STR)
            pel_map_set(ctx, l->places, PEL_KEY(l->code), PEL_KEY(l->c->at[i].value));
    region whole = { .end = l->c->n_main, .fall = PEL_NONE };
    stack s = { 0 };
    pel_region_begin(l, &whole, &s);
    pel_read_range(l, &whole, &s, 0);
    if (!l->is_lazy) pel_check_tree(l, whole.out);
    if (!l->is_notes) pel_decompile_tidy(l, &whole.out);
    job->body = whole.out;
}

/* The same for statements that are printed as they are: what no compiler would take must not get that far. */
static void read_checked(pel_ctx *ctx, void *arg) {
    reading *job = arg;
    read_all(ctx, arg);
    for (uint32_t i = 0; i < job->body.n; i++) pel_ast_check(ctx, job->body.at[i]);
}

static pel_lift *lift_for(pel_lift *outer, const pel_code_object *code) {
    pel_lift *l = pel_new(outer->ctx, pel_lift);
    l->ctx = outer->ctx;
    l->result = outer->result;
    l->code = code;
    l->outer = outer;
    l->class_name = outer->class_name;
    l->bodies = outer->bodies;
    l->places = outer->places;
    l->depth = outer->depth;
    l->copy_at = PEL_NONE;
    return l;
}

/* ---- what could not be read ---- */

#define MAX_SHOWN 110 /* characters of an instruction: constants can be long */

/* A line of a comment; names may hold anything, and some of it would end the comment. */
static pel_str comment_line(pel_lift *l, pel_str line) {
    pel_buf out = pel_buf_in(l->ctx);
    for (size_t i = 0; i < line.len; i++) {
        bool begins = ((unsigned char)line.ptr[i] & 0xc0) != 0x80; /* not inside a character */
        if (i >= MAX_SHOWN && begins) {
            pel_put_c(&out, " ...");
            break;
        }
        pel_put_byte(&out, (unsigned char)line.ptr[i] < ' ' ? '?' : line.ptr[i]);
    }
    return pel_buf_str(&out);
}

/* What it does, for want of statements: its instructions, as comments. */
static void show_instructions(pel_lift *l, pel_nodes *body) {
    pel_buf text = pel_buf_in(l->ctx);
    pel_dis_blocks(l->ctx, l->code, &text);
    pel_str rest = pel_buf_str(&text);
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t n = end ? (size_t)(end - rest.ptr) : rest.len;
        pel_nodes_push(l->ctx, body, pel_make_comment(l->ctx, comment_line(l, pel_str_cut(rest, 0, n))));
        rest = pel_str_cut(rest, end ? n + 1 : n, rest.len);
    }
}

/* Says in the text and in the result that these statements are not what somebody wrote. */
static pel_node *mark_incomplete(pel_lift *l, const pel_err *why, pel_str rest) {
    pel_incomplete report = { .code = l->code, .why = *why };
    pel_push(l->ctx, &l->result->incomplete, report);
    return pel_make_comment(l->ctx, pel_format(l->ctx, PEL_INCOMPLETE ": %s; %.*s", why->what, PEL_FMT(rest)));
}

/* The last resort that still does what the code does: its blocks as states of a loop. */
static void read_states(pel_ctx *ctx, void *arg) {
    reading *job = arg;
    pel_lift *l = job->l;
    l->is_states = true;
    const pel_insns *insns = pel_decode(ctx, l->code);
    pel_stack_depths(ctx, insns);
    l->c = pel_normalise_as_laid(ctx, insns);
    l->open = pel_new_array(ctx, (size_t)l->c->n_guards + 1, bool);
    l->head_open = pel_new_array(ctx, (size_t)l->c->n + 1, bool);
    l->unseen = pel_new_array(ctx, (size_t)l->c->n + 1, bool);
    job->body = pel_read_states(l);
    pel_decompile_tidy(l, &job->body);
    for (uint32_t i = 0; i < job->body.n; i++) pel_ast_check(ctx, job->body.at[i]);
}

static bool is_docstring(const pel_node *stmt) {
    return stmt->kind == PEL_Expr && stmt->Expr.value->kind == PEL_Constant &&
           stmt->Expr.value->Constant.value->kind == PEL_CONST_STR;
}

/* The statements of the states, with the mark after a docstring: nothing may be before that. */
static pel_nodes marked_states(pel_lift *l, const pel_err *why, pel_nodes states) {
    pel_nodes body = { 0 };
    uint32_t from = states.n && is_docstring(states.at[0]);
    if (from) pel_nodes_push(l->ctx, &body, states.at[0]);
    pel_str how = PEL_STR("its blocks are states of a loop, which does the same");
    pel_nodes_push(l->ctx, &body, mark_incomplete(l, why, how));
    for (uint32_t i = from; i < states.n; i++) pel_nodes_push(l->ctx, &body, states.at[i]);
    return body;
}

/* Keeps the names that the code takes from around it, so that the code around stays what it was. Running it raises:
 * nothing is left out in silence. */
static pel_nodes incomplete_body(pel_lift *l, const pel_err *why, const pel_err *no_states) {
    pel_nodes body = { 0 };
    pel_str rest = pel_format(l->ctx, "no states either: %s", no_states->what);
    pel_nodes_push(l->ctx, &body, mark_incomplete(l, why, rest));
    show_instructions(l, &body);
    for (uint32_t i = 0; i < l->code->freevars.n; i++) {
        pel_name name = pel_unmangle(l, l->code->freevars.at[i]);
        pel_nodes_push(l->ctx, &body, pel_make_expr(l->ctx, pel_make_name(l->ctx, name, PEL_Load)));
    }
    bool generates = l->code->flags & (PEL_CO_GENERATOR | PEL_CO_ASYNC_GENERATOR);
    if (generates) pel_nodes_push(l->ctx, &body, pel_make_expr(l->ctx, pel_node_new(l->ctx, PEL_Yield)));
    pel_node *raise = pel_node_new(l->ctx, PEL_Raise);
    raise->Raise.exc = pel_make_name(l->ctx, pel_intern_c(l->ctx, "NotImplementedError"), PEL_Load);
    pel_nodes_push(l->ctx, &body, raise);
    return body;
}

static bool read_as_states(pel_lift *l, reading *job, pel_err *why) {
    job->l = lift_for(l->outer, l->code);
    job->l->class_name = l->class_name;
    return pel_attempt(l->ctx, read_states, job, why);
}

/* The ways to read the same code. The first whose statements pass the check is taken, so those that follow more of what
 * the compiler left behind come first. */
typedef struct approach {
    bool plainly;      /* without what nothing reaches and without lines: in rewritten code they lead astray */
    bool repeats_ends; /* an end of a path that no statement leads to is written where it is jumped to, too */
    bool nests_loops;  /* two loops may begin at the same place: the inner one ends where several ways come back */
} approach;

static const approach approaches[] = {
    { false, false, false }, /* what a compiler laid out */
    { true, false, false },  { false, true, false }, { true, true, false }, { false, false, true },
    { true, false, true },   { false, true, true },  { true, true, true },
};

static bool read_by(pel_lift *l, reading *job, const approach *how, pel_err *why) {
    job->l = lift_for(l->outer, l->code);
    job->l->class_name = l->class_name;
    job->l->plainly = how->plainly;
    job->l->repeats_ends = how->repeats_ends;
    job->l->nests_loops = how->nests_loops;
    return pel_attempt(l->ctx, read_checked, job, why);
}

/* The statements of a def or a class; whatever goes wrong stays inside it. */
static pel_nodes read_body(pel_lift *l) {
    reading job = { .l = l };
    pel_err why = { 0 };
    bool as_states = l->result->as_states && read_as_states(l, &job, &why);
    if (as_states) return marked_states(l, &(pel_err){ .what = "as asked for" }, job.body);
    pel_str no = l->result->as_states ? pel_format(l->ctx, "pellucid: no states: %s", why.what) : PEL_STR("");
    for (size_t i = 0; i < PEL_COUNT(approaches); i++) {
        pel_err failed = { 0 };
        if (read_by(l, &job, &approaches[i], &failed)) {
            if (no.len) pel_nodes_push(l->ctx, &job.body, pel_make_comment(l->ctx, no));
            return job.body;
        }
        if (i == 0) why = failed;                                              /* what the mark says */
        bool is_broken = why.code == PEL_E_FORMAT || why.code == PEL_E_MEMORY; /* nothing to do with structure */
        if (is_broken) pel_throw(l->ctx, why.code, why.at, "%s", why.what);
    }
    pel_err no_states;
    if (read_as_states(l, &job, &no_states)) return marked_states(l, &why, job.body);
    return incomplete_body(l, &why, &no_states);
}

/* ---- arguments ---- */

static pel_node *arg_of(pel_lift *l, uint32_t i) {
    pel_node *arg = pel_node_new(l->ctx, PEL_arg);
    arg->arg.arg = pel_unmangle(l, l->code->varnames.at[i]);
    return arg;
}

static pel_node *arguments(pel_lift *l) {
    const pel_code_object *code = l->code;
    pel_node *node = pel_node_new(l->ctx, PEL_arguments);
    uint32_t n = code->argcount, k = code->kwonlyargcount, i = 0;
    bool star = code->flags & PEL_CO_VARARGS, stars = code->flags & PEL_CO_VARKEYWORDS;
    if (code->varnames.n < n + k + star + stars) pel_throw(l->ctx, PEL_E_FORMAT, 0, "more arguments than variables");
    for (; i < code->posonlyargcount && i < n; i++) pel_nodes_push(l->ctx, &node->arguments.posonlyargs, arg_of(l, i));
    for (; i < n; i++) pel_nodes_push(l->ctx, &node->arguments.args, arg_of(l, i));
    for (; i < n + k; i++) {
        pel_nodes_push(l->ctx, &node->arguments.kwonlyargs, arg_of(l, i));
        pel_nodes_push(l->ctx, &node->arguments.kw_defaults, NULL);
    }
    if (star) node->arguments.vararg = arg_of(l, i++);
    if (stars) node->arguments.kwarg = arg_of(l, i++);
    return node;
}

/* ---- comprehensions ---- */

/* What the innermost loop appends or yields; NULL if it is something else. */
static pel_node *element(pel_node *stmt, pel_kind kind) {
    if (stmt->kind != PEL_Expr) return NULL;
    pel_node *value = stmt->Expr.value;
    if (kind == PEL_GeneratorExp) return value->kind == PEL_Yield ? value : NULL;
    return value->kind == PEL_Tuple && value->parens == 0x40 ? value : NULL;
}

pel_node *pel_comp_of(pel_lift *l, pel_kind kind, pel_node *stmt, uint32_t at) {
    pel_nodes generators = { 0 };
    pel_node *generator = NULL, *elt = NULL;
    for (int depth = 0; !elt; depth++) {
        if (depth > 100) return NULL;
        pel_nodes body;
        if ((stmt->kind == PEL_For || stmt->kind == PEL_AsyncFor) && !stmt->For.orelse.n) {
            generator = pel_node_new(l->ctx, PEL_comprehension);
            generator->mark = stmt->mark;
            generator->comprehension.target = stmt->For.target;
            generator->comprehension.iter = stmt->For.iter;
            generator->comprehension.is_async = stmt->kind == PEL_AsyncFor;
            pel_nodes_push(l->ctx, &generators, generator);
            body = stmt->For.body;
        } else if (stmt->kind == PEL_If && generator && !stmt->If.orelse.n) {
            pel_nodes_push(l->ctx, &generator->comprehension.ifs, stmt->If.test);
            if (stmt->parens) generators.at[0]->parens = 1;
            body = stmt->If.body;
        } else if (generator && (elt = element(stmt, kind)))
            break;
        else
            return NULL;
        if (body.n != 1) return NULL;
        stmt = body.at[0];
    }
    pel_node *comp = pel_make(l, kind, at);
    switch (kind) {
    case PEL_DictComp:
        if (elt->Tuple.elts.n != 2) return NULL;
        comp->DictComp.key = elt->Tuple.elts.at[0];
        comp->DictComp.value = elt->Tuple.elts.at[1];
        comp->DictComp.generators = generators;
        break;
    case PEL_GeneratorExp:
        comp->GeneratorExp.elt = elt->Yield.value ? elt->Yield.value : pel_make_none(l->ctx);
        comp->GeneratorExp.generators = generators;
        break;
    default: /* ListComp and SetComp have the same fields */
        if (elt->Tuple.elts.n != 1) return NULL;
        comp->ListComp.elt = elt->Tuple.elts.at[0];
        comp->ListComp.generators = generators;
    }
    return comp;
}

bool pel_is_async_comp(const pel_lift *l, const pel_node *node) {
    if (node->kind != PEL_ListComp && node->kind != PEL_SetComp && node->kind != PEL_DictComp) return false;
    const pel_code_object *code =
        (const pel_code_object *)(uintptr_t)pel_map_find(&l->result->code_of, PEL_KEY(node), 0);
    return code && code->flags & PEL_CO_COROUTINE;
}

static pel_kind comp_kind(pel_name name) {
    if (pel_name_is(name, "<listcomp>")) return PEL_ListComp;
    if (pel_name_is(name, "<setcomp>")) return PEL_SetComp;
    if (pel_name_is(name, "<dictcomp>")) return PEL_DictComp;
    if (pel_name_is(name, "<genexpr>")) return PEL_GeneratorExp;
    return PEL_NO_KIND;
}

static pel_node *read_comp(pel_lift *l, pel_kind kind) {
    reading job = { .l = l };
    l->is_comp = true;
    read_all(l->ctx, &job);
    if (!job.body.n) pel_lift_fail(l, 0, "a comprehension of unknown shape");
    pel_node *comp = pel_comp_of(l, kind, job.body.at[0], 0);
    if (!comp) pel_lift_fail(l, 0, "a comprehension of unknown shape");
    pel_node *first = comp->ListComp.generators.at[0];
    if (kind == PEL_DictComp) first = comp->DictComp.generators.at[0];
    if (first->comprehension.iter->kind != PEL_Name || !pel_name_is(first->comprehension.iter->Name.id, ".0"))
        pel_lift_fail(l, 0, "a comprehension over something of its own");
    first->comprehension.iter = NULL; /* the code that calls the comprehension fills it in */
    return comp;
}

/* The variables that a comprehension saves are its own, even if a function around has some of that name. */
static void undeclare_saved(pel_lift *l, const stack *s, uint32_t n_before) {
    uint32_t kept = n_before;
    for (uint32_t i = n_before; i < l->declared.n; i++) {
        bool is_saved = false;
        for (uint32_t k = s->n - 2; k-- > 0 && s->at[k].kind == IT_SAVED;)
            is_saved |= l->c->at[s->at[k].at].name == l->declared.at[i];
        if (!is_saved) l->declared.at[kept++] = l->declared.at[i];
    }
    l->declared.n = kept;
}

uint32_t pel_read_inline_comp(pel_lift *l, stack *s, uint32_t at) {
    if (s->n < 3 || s->at[s->n - 1].kind != IT_EXPR || s->at[s->n - 2].kind != IT_EXPR ||
        s->at[s->n - 3].kind != IT_SAVED)
        return PEL_NONE;
    pel_node *display = s->at[s->n - 2].node;
    pel_kind kind;
    if (display->kind == PEL_List && !display->List.elts.n)
        kind = PEL_ListComp;
    else if (display->kind == PEL_Set && !display->Set.elts.n)
        kind = PEL_SetComp;
    else if (display->kind == PEL_Dict && !display->Dict.keys.n)
        kind = PEL_DictComp;
    else
        return PEL_NONE;
    uint32_t end = l->c->at[at].target;
    if (end <= at) return PEL_NONE;
    /* a loop of its own: what it makes becomes the value */
    int trial = l->trial;
    bool broken = l->broken, is_comp = l->is_comp;
    l->trial = 0;
    l->is_comp = true;
    region r = { .end = end, .fall = PEL_NONE };
    stack w = pel_stack_copy(l, s, s->n);
    r.base = s->n - 1;
    r.base_items = w.at;
    region *saved = l->region;
    l->region = &r;
    uint32_t n_declared = l->declared.n;
    uint32_t next = pel_read_for(l, &r, &w, at);
    undeclare_saved(l, s, n_declared);
    l->region = saved;
    l->trial = trial;
    l->broken = broken;
    l->is_comp = is_comp;
    if (r.out.n != 1) pel_lift_fail(l, at, "a comprehension of unknown shape");
    pel_node *comp = pel_comp_of(l, kind, r.out.at[0], at);
    if (!comp) pel_lift_fail(l, at, "a comprehension of unknown shape");
    s->n--;
    if (s->n - 1 < s->low) s->low = s->n - 1;
    s->at[s->n - 1].node = comp;
    return next;
}

/* ---- lambda ---- */

/* Statements that only return -> the expression that they return. */
static pel_node *returned(pel_lift *l, pel_nodes body, uint32_t from) {
    if (from >= body.n) return NULL;
    pel_node *stmt = body.at[from];
    if (stmt->kind == PEL_Return) return stmt->Return.value ? stmt->Return.value : pel_make_none(l->ctx);
    if (stmt->kind != PEL_If) return NULL;
    pel_node *yes = returned(l, stmt->If.body, 0);
    pel_node *no = stmt->If.orelse.n ? returned(l, stmt->If.orelse, 0) : returned(l, body, from + 1);
    if (!yes || !no) return NULL;
    pel_node *node = pel_node_new(l->ctx, PEL_IfExp);
    node->mark = stmt->mark;
    node->IfExp.test = stmt->If.test;
    node->IfExp.body = yes;
    node->IfExp.orelse = no;
    return node;
}

/* The name of a def: generated code has names like "resume_in_<lambda>". */
static pel_name def_name(pel_lift *l) {
    pel_name name = l->code->name;
    pel_buf text = pel_buf_in(l->ctx);
    for (uint32_t i = 0; i < name->len; i++) {
        char c = name->text[i];
        pel_put_byte(&text, c == '<' || c == '>' ? '_' : c);
    }
    return pel_intern(l->ctx, pel_buf_str(&text).ptr, pel_buf_str(&text).len);
}

static pel_node *def_of(pel_lift *l, pel_nodes body) {
    bool is_async = l->code->flags & (PEL_CO_COROUTINE | PEL_CO_ASYNC_GENERATOR);
    pel_node *node = pel_node_new(l->ctx, is_async ? PEL_AsyncFunctionDef : PEL_FunctionDef);
    node->FunctionDef.name = def_name(l);
    node->FunctionDef.body = body;
    return node;
}

static pel_node *read_lambda(pel_lift *l) {
    reading job = { .l = l };
    read_all(l->ctx, &job);
    pel_node *value = returned(l, job.body, 0);
    if (!value && job.body.n == 1 && job.body.at[0]->kind == PEL_Expr && l->code->flags & PEL_CO_GENERATOR)
        value = job.body.at[0]->Expr.value;                         /* a generator's value is thrown away */
    if (!value && pel_is_juggled(l->c)) return def_of(l, job.body); /* it was one, before it was rewritten */
    if (!value) pel_lift_fail(l, 0, "a lambda that is no expression");
    pel_node *node = pel_node_new(l->ctx, PEL_Lambda);
    node->Lambda.body = value;
    return node;
}

/* ---- all of them ---- */

/* A copy that can be filled in without changing the original: the code may be read on trial more than once. */
static pel_node *fresh(pel_lift *l, const pel_node *old) {
    pel_node *node = pel_node_new(l->ctx, old->kind);
    memcpy(node, old, pel_node_size(old->kind));
    pel_nodes *generators = NULL;
    switch (old->kind) {
    case PEL_ListComp: generators = &node->ListComp.generators; break;
    case PEL_SetComp: generators = &node->SetComp.generators; break;
    case PEL_GeneratorExp: generators = &node->GeneratorExp.generators; break;
    case PEL_DictComp: generators = &node->DictComp.generators; break;
    default: return node;
    }
    pel_nodes list = { 0 };
    for (uint32_t i = 0; i < generators->n; i++) {
        pel_node *copy = pel_node_new(l->ctx, PEL_comprehension);
        memcpy(copy, generators->at[i], pel_node_size(PEL_comprehension));
        pel_nodes_push(l->ctx, &list, copy);
    }
    *generators = list;
    return node;
}

typedef struct noting {
    pel_lift *l;
    pel_late_notes *notes;
} noting;

static void read_notes(pel_ctx *ctx, void *arg) {
    noting *n = arg;
    reading job = { .l = n->l };
    read_all(ctx, &job);
    n->notes = pel_notes_of(n->l, job.body);
}

pel_late_notes *pel_read_notes(pel_lift *outer, const pel_code_object *code) {
    uint64_t known = pel_map_find(outer->bodies, PEL_KEY(code), 0);
    if (known) return (pel_late_notes *)(uintptr_t)known;
    for (int way = 0; way < 2; way++) {
        noting n = { .l = lift_for(outer, code) };
        n.l->is_notes = true;
        n.l->plainly = way;
        pel_err why;
        if (!pel_attempt(outer->ctx, read_notes, &n, &why)) continue;
        pel_map_set(outer->ctx, outer->bodies, PEL_KEY(code), PEL_KEY(n.notes));
        return n.notes;
    }
    return NULL;
}

pel_node *pel_read_lazy(pel_lift *outer, const pel_code_object *code, uint32_t at) {
    uint64_t known = pel_map_find(outer->bodies, PEL_KEY(code), 0);
    if (known) return (pel_node *)(uintptr_t)known;
    pel_lift_enter(outer, at);
    pel_lift *l = lift_for(outer, code);
    reading job = { .l = l };
    l->is_lazy = true;
    read_all(l->ctx, &job);
    pel_node *value = returned(l, job.body, 0);
    if (!value) pel_lift_fail(outer, at, "a type that is no expression");
    pel_forget_marks(value);
    pel_lift_leave(outer);
    pel_map_set(outer->ctx, outer->bodies, PEL_KEY(code), PEL_KEY(value));
    return value;
}

/* The def, class or alias that a function makes and returns which holds its type parameters. */
static pel_node *read_generic(pel_lift *l) {
    reading job = { .l = l };
    l->is_lazy = true;
    read_all(l->ctx, &job);
    pel_node *value = job.body.n == 1 ? returned(l, job.body, 0) : NULL;
    bool made = value && (value->kind == PEL_FunctionDef || value->kind == PEL_AsyncFunctionDef ||
                          value->kind == PEL_ClassDef || value->kind == PEL_TypeAlias);
    if (!made) pel_lift_fail(l, 0, "type parameters of nothing");
    pel_forget_marks(value);
    value->parens = 0x10; /* until it is called */
    return value;
}

static pel_node *read_new(pel_lift *outer, const pel_code_object *code) {
    pel_lift *l = lift_for(outer, code);
    pel_kind kind = comp_kind(code->name);
    if (pel_is_generic(code)) return read_generic(l);
    if (kind) return read_comp(l, kind);
    if (pel_name_is(code->name, "<lambda>")) return read_lambda(l);
    if (!(code->flags & PEL_CO_OPTIMIZED)) {
        l->class_name = code->name;
        pel_node *node = pel_node_new(l->ctx, PEL_ClassDef);
        node->ClassDef.name = code->name;
        node->ClassDef.body = read_body(l);
        return node;
    }
    return def_of(l, read_body(l));
}

/* The body of a code object is read once, however many trials come across it. Each caller gets a copy with arguments of
 * its own, since defaults and annotations are written into them later. */
pel_node *pel_read_function(pel_lift *outer, const pel_code_object *code, uint32_t at) {
    uint64_t known = pel_map_find(outer->bodies, PEL_KEY(code), 0);
    if (!known) {
        pel_lift_enter(outer, at);
        pel_node *made = read_new(outer, code);
        pel_lift_leave(outer);
        known = PEL_KEY(made);
        pel_map_set(outer->ctx, outer->bodies, PEL_KEY(code), known);
    }
    pel_node *node = fresh(outer, (pel_node *)(uintptr_t)known);
    if (at < outer->c->n) node->mark = outer->c->at[at].offset + 1;
    if (pel_is_generic(code)) {
        uint64_t inner = pel_map_find(&outer->result->code_of, known, 0);
        if (inner) pel_map_set(outer->ctx, &outer->result->code_of, PEL_KEY(node), inner);
        return node;
    }
    pel_lift *l = lift_for(outer, code);
    switch (node->kind) {
    case PEL_FunctionDef: node->FunctionDef.args = arguments(l); break;
    case PEL_AsyncFunctionDef: node->AsyncFunctionDef.args = arguments(l); break;
    case PEL_Lambda: node->Lambda.args = arguments(l); break;
    default: break;
    }
    pel_map_set(outer->ctx, &outer->result->code_of, PEL_KEY(node), PEL_KEY(code));
    return node;
}

typedef struct search {
    const pel_code_object *code;
    bool found;
} search;

static void look_for_nonlocal(void *arg, pel_node **slot) {
    search *s = arg;
    if ((*slot)->kind == PEL_Nonlocal)
        for (uint32_t i = 0; i < s->code->freevars.n; i++)
            s->found |= s->code->freevars.at[i] == (*slot)->Nonlocal.names.at[0];
    if (!s->found) pel_each_child(*slot, look_for_nonlocal, arg);
}

/* A function that stores in variables of a function around it is only Python inside one. */
static pel_node *with_variables(pel_ctx *ctx, pel_node *def, const pel_code_object *code) {
    search s = { .code = code };
    look_for_nonlocal(&s, &def);
    if (!s.found) return def;
    pel_node *outer = pel_node_new(ctx, PEL_FunctionDef);
    pel_str name = pel_format(ctx, "%s_with_variables", def->FunctionDef.name->text);
    outer->FunctionDef.name = pel_intern_str(ctx, name);
    outer->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        pel_node *variable = pel_make_name(ctx, code->freevars.at[i], PEL_Store);
        pel_node *none = pel_make_none(ctx);
        pel_nodes_push(ctx, &outer->FunctionDef.body, pel_make_assign(ctx, variable, none));
    }
    pel_nodes_push(ctx, &outer->FunctionDef.body, def);
    pel_node *inner = pel_make_name(ctx, def->FunctionDef.name, PEL_Load);
    pel_nodes_push(ctx, &outer->FunctionDef.body, pel_make_return(ctx, inner));
    return outer;
}

pel_node *pel_read_root(pel_ctx *ctx, pel_decompiled *result, const pel_code_object *code) {
    pel_lift root = { .ctx = ctx, .result = result, .code = code };
    pel_canon none = { .code = code };
    root.c = &none;
    root.bodies = pel_new(ctx, pel_map);
    root.places = pel_new(ctx, pel_map);
    pel_node *module = pel_node_new(ctx, PEL_Module);
    if (code->flags & PEL_CO_NEWLOCALS) {
        pel_node *def = pel_read_function(&root, code, PEL_NONE);
        bool is_stmt = def->kind == PEL_FunctionDef || def->kind == PEL_AsyncFunctionDef || def->kind == PEL_ClassDef;
        module->Module.body = pel_nodes_one(ctx, is_stmt ? with_variables(ctx, def, code) : pel_make_expr(ctx, def));
        return module;
    }
    pel_lift *l = lift_for(&root, code);
    module->Module.body = read_body(l);
    pel_map_set(ctx, &result->code_of, PEL_KEY(module), PEL_KEY(code));
    return module;
}
