/* Whether a tree is one that Python's compiler would take: run on every tree that was not parsed. */
#include "base/map.h"
#include "python/ast.h"
#include "python/unicode.h"

/* Where an expression stands, beyond what its field's class says. */
typedef enum place {
    VALUE,          /* any expression that is read */
    ELEMENT,        /* … or one with a star */
    INDEX,          /* … or a slice, or a tuple with slices */
    TARGET,         /* is assigned to */
    TARGET_ELEMENT, /* … as part of a tuple or list, with a star perhaps */
    SIMPLE_TARGET,  /* a name, attribute or subscript that is assigned to */
    NAME_TARGET,    /* a name that is assigned to */
    DELETED,
    FIELD,          /* a part of an f-string */
    TEMPLATE_FIELD, /* a part of a t-string */
    PATTERN_VALUE,
    PATTERN,
    PATTERN_ELEMENT, /* … or one with a star */
} place;

#define ANY_DEPTH 10000 /* of trees that can be written down */

typedef struct item {
    const pel_node *node;
    uint8_t place; /* enum place */
    uint32_t depth;
} item;

typedef struct checker {
    pel_ctx *ctx;
    PEL_VEC(item) work;
    pel_map seen; /* node -> places where it was found well, as bits */
} checker;

_Noreturn static void refuse(const checker *c, const pel_node *node, const char *what, const char *detail) {
    pel_throw_at(c->ctx, PEL_E_INCOMPLETE, node->mark, node->lineno, node->col_offset, "%s: %s%s",
                 pel_kinds[node->kind].name, what, detail);
}

/* ---- what differs from field to field ---- */

/* Places other than VALUE and PATTERN. */
static const struct {
    uint8_t kind;
    const char *field;
    uint8_t place;
} places[] = {
    { PEL_Assign, "targets", TARGET },
    { PEL_AugAssign, "target", SIMPLE_TARGET },
    { PEL_AnnAssign, "target", SIMPLE_TARGET },
    { PEL_For, "target", TARGET },
    { PEL_AsyncFor, "target", TARGET },
    { PEL_comprehension, "target", TARGET },
    { PEL_withitem, "optional_vars", TARGET },
    { PEL_NamedExpr, "target", NAME_TARGET },
    { PEL_TypeAlias, "name", NAME_TARGET },
    { PEL_Delete, "targets", DELETED },
    { PEL_ClassDef, "bases", ELEMENT },
    { PEL_Call, "args", ELEMENT },
    { PEL_Set, "elts", ELEMENT },
    { PEL_ListComp, "elt", ELEMENT }, /* [*x for x in xs], since 3.15 */
    { PEL_SetComp, "elt", ELEMENT },
    { PEL_GeneratorExp, "elt", ELEMENT },
    { PEL_arg, "annotation", ELEMENT },             /* def f(*args: *Ts) */
    { PEL_TypeVarTuple, "default_value", ELEMENT }, /* type X[*Ts = *tuple[int]] */
    { PEL_Subscript, "slice", INDEX },
    { PEL_JoinedStr, "values", FIELD },
    { PEL_TemplateStr, "values", TEMPLATE_FIELD },
    { PEL_MatchValue, "value", PATTERN_VALUE },
    { PEL_MatchMapping, "keys", PATTERN_VALUE },
    { PEL_MatchSequence, "patterns", PATTERN_ELEMENT },
};

static const struct {
    uint8_t kind;
    const char *field;
    uint32_t least;
} least_lengths[] = {
    { PEL_FunctionDef, "body", 1 },
    { PEL_AsyncFunctionDef, "body", 1 },
    { PEL_ClassDef, "body", 1 },
    { PEL_For, "body", 1 },
    { PEL_AsyncFor, "body", 1 },
    { PEL_While, "body", 1 },
    { PEL_If, "body", 1 },
    { PEL_With, "body", 1 },
    { PEL_AsyncWith, "body", 1 },
    { PEL_Try, "body", 1 },
    { PEL_TryStar, "body", 1 },
    { PEL_ExceptHandler, "body", 1 },
    { PEL_match_case, "body", 1 },
    { PEL_Delete, "targets", 1 },
    { PEL_Assign, "targets", 1 },
    { PEL_With, "items", 1 },
    { PEL_AsyncWith, "items", 1 },
    { PEL_Match, "cases", 1 },
    { PEL_Import, "names", 1 },
    { PEL_ImportFrom, "names", 1 },
    { PEL_Global, "names", 1 },
    { PEL_Nonlocal, "names", 1 },
    { PEL_BoolOp, "values", 2 },
    { PEL_Compare, "comparators", 1 },
    { PEL_ListComp, "generators", 1 },
    { PEL_SetComp, "generators", 1 },
    { PEL_DictComp, "generators", 1 },
    { PEL_GeneratorExp, "generators", 1 },
    { PEL_MatchOr, "patterns", 2 },
    { PEL_TryStar, "handlers", 1 },
};

static place place_of(const pel_node *node, const pel_field *field, place around) {
    if (node->kind == PEL_Tuple || node->kind == PEL_List) {
        if (around == DELETED) return DELETED;
        if (around == INDEX && node->kind == PEL_Tuple) return INDEX;
        return around == TARGET || around == TARGET_ELEMENT ? TARGET_ELEMENT : ELEMENT;
    }
    if (node->kind == PEL_Starred) return around == TARGET_ELEMENT ? TARGET : VALUE;
    for (size_t i = 0; i < PEL_COUNT(places); i++)
        if (places[i].kind == node->kind && strcmp(places[i].field, field->name) == 0) return (place)places[i].place;
    return field->of == PEL_PATTERN ? PATTERN : VALUE;
}

static void check_length(const checker *c, const pel_node *node, const char *field, uint32_t n) {
    for (size_t i = 0; i < PEL_COUNT(least_lengths); i++)
        if (least_lengths[i].kind == node->kind && strcmp(least_lengths[i].field, field) == 0 &&
            n < least_lengths[i].least)
            refuse(c, node, "too few ", field);
}

/* ---- names ---- */

bool pel_is_keyword(pel_str name) {
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };
    for (size_t i = 0; i < PEL_COUNT(keywords) && name.len; i++) /* most names begin with another letter */
        if (name.ptr[0] == keywords[i][0] && pel_str_is(name, keywords[i])) return true;
    return false;
}

static bool is_name_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool pel_is_identifier(pel_str name) {
    size_t plain = 0; /* letters that need no table */
    while (plain < name.len && is_name_start(name.ptr[plain])) plain++;
    for (size_t i = plain; i < name.len;) {
        bool is_first = i == 0;
        uint32_t point = pel_text_next(name, &i);
        if (!(is_first ? pel_is_xid_start(point) : pel_is_xid_continue(point))) return false;
    }
    return name.len && !pel_is_keyword(name);
}

static bool is_dotted(pel_str name) {
    for (;;) {
        const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
        size_t end = dot ? (size_t)(dot - name.ptr) : name.len;
        if (!pel_is_identifier(pel_str_cut(name, 0, end))) return false;
        if (!dot) return true;
        name = pel_str_from(name, end + 1);
    }
}

static void check_name(const checker *c, const pel_node *node, const pel_field *field, pel_name name) {
    if (!name) refuse(c, node, "no ", field->name);
    pel_str text = pel_name_str(name);
    bool dots = node->kind == PEL_ImportFrom || (node->kind == PEL_alias && strcmp(field->name, "name") == 0);
    bool star = dots && node->kind == PEL_alias && pel_str_is(text, "*");
    if (!star && !(dots ? is_dotted(text) : pel_is_identifier(text)))
        refuse(c, node, "a name that is no identifier: ", field->name);
}

/* ---- what differs from kind to kind ---- */

static void check_arguments(const checker *c, const pel_node *node) {
    if (node->arguments.defaults.n > node->arguments.posonlyargs.n + node->arguments.args.n)
        refuse(c, node, "more defaults than parameters", "");
    if (node->arguments.kw_defaults.n != node->arguments.kwonlyargs.n)
        refuse(c, node, "kw_defaults and kwonlyargs differ in length", "");
}

static void check_try(const checker *c, const pel_node *node) {
    /* Try and TryStar have the same fields. */
    pel_nodes handlers = node->Try.handlers;
    if (!handlers.n && !node->Try.finalbody.n) refuse(c, node, "neither handlers nor finalbody", "");
    if (!handlers.n && node->Try.orelse.n) refuse(c, node, "orelse without handlers", "");
    for (uint32_t i = 0; i < handlers.n; i++) {
        const pel_node *handler = handlers.at[i];
        if (!handler || handler->kind != PEL_ExceptHandler || handler->ExceptHandler.type) continue;
        if (node->kind == PEL_TryStar) refuse(c, node, "except* without a type", "");
        if (i + 1 < handlers.n) refuse(c, node, "a bare except that is not the last", "");
    }
}

static void check_import_from(const checker *c, const pel_node *node) {
    if (node->ImportFrom.level < 0 || (!node->ImportFrom.level && !node->ImportFrom.module))
        refuse(c, node, "no module", "");
}

static void check_alias(const checker *c, const pel_node *node) {
    if (pel_name_is(node->alias.name, "*") && node->alias.asname) refuse(c, node, "a star with a name", "");
}

static void check_constant(const checker *c, const pel_node *node) {
    const pel_const *value = node->Constant.value;
    bool is_code = value && value->kind == PEL_CONST_CODE;
    bool is_opaque =
        value && value->kind == PEL_CONST_OBJECT && !(value->repr.len && is_name_start(value->repr.ptr[0]));
    if (is_code || is_opaque) refuse(c, node, "a value that no source can express", "");
    if (value && node->Constant.kind.len && (value->kind != PEL_CONST_STR || !pel_str_is(node->Constant.kind, "u")))
        refuse(c, node, "unknown kind", "");
}

static void check_formatted(const checker *c, const pel_node *node, int conversion, const pel_node *spec) {
    if (conversion != -1 && conversion != 's' && conversion != 'r' && conversion != 'a')
        refuse(c, node, "unknown conversion", "");
    if (spec && spec->kind != PEL_JoinedStr) refuse(c, node, "format_spec is no JoinedStr", "");
}

static void check_singleton(const checker *c, const pel_node *node) {
    const pel_const *value = node->MatchSingleton.value;
    if (value && value->kind != PEL_CONST_NONE && value->kind != PEL_CONST_TRUE && value->kind != PEL_CONST_FALSE)
        refuse(c, node, "a value that is no singleton", "");
}

/* Rules between the fields of one node, which the table of fields can't state. A field that must be there may still be
 * NULL here: check_field refuses it later. */
static void check_kind(const checker *c, const pel_node *node) {
    switch (node->kind) {
    case PEL_arguments: check_arguments(c, node); break;
    case PEL_Try:
    case PEL_TryStar: check_try(c, node); break;
    case PEL_ImportFrom: check_import_from(c, node); break;
    case PEL_alias: check_alias(c, node); break;
    case PEL_Constant: check_constant(c, node); break;
    case PEL_FormattedValue:
        check_formatted(c, node, node->FormattedValue.conversion, node->FormattedValue.format_spec);
        break;
    case PEL_Interpolation:
        check_formatted(c, node, node->Interpolation.conversion, node->Interpolation.format_spec);
        if (node->Interpolation.str && node->Interpolation.str->kind != PEL_CONST_STR)
            refuse(c, node, "str is no text", "");
        break;
    case PEL_MatchSingleton: check_singleton(c, node); break;
    case PEL_AnnAssign:
        if (node->AnnAssign.simple && node->AnnAssign.target && node->AnnAssign.target->kind != PEL_Name)
            refuse(c, node, "simple, but the target is no name", "");
        break;
    case PEL_Raise:
        if (node->Raise.cause && !node->Raise.exc) refuse(c, node, "cause without exc", "");
        break;
    case PEL_ExceptHandler:
        if (node->ExceptHandler.name && !node->ExceptHandler.type) refuse(c, node, "name without type", "");
        break;
    case PEL_Dict:
        if (node->Dict.keys.n != node->Dict.values.n) refuse(c, node, "keys and values differ in length", "");
        break;
    case PEL_Compare:
        if (node->Compare.ops.n != node->Compare.comparators.n)
            refuse(c, node, "ops and comparators differ in length", "");
        break;
    case PEL_MatchMapping:
        if (node->MatchMapping.keys.n != node->MatchMapping.patterns.n)
            refuse(c, node, "keys and patterns differ in length", "");
        break;
    case PEL_MatchClass:
        if (node->MatchClass.kwd_attrs.n != node->MatchClass.kwd_patterns.n)
            refuse(c, node, "kwd_attrs and kwd_patterns differ in length", "");
        break;
    case PEL_MatchAs:
        if (node->MatchAs.pattern && !node->MatchAs.name) refuse(c, node, "pattern without name", "");
        break;
    default: break;
    }
}

/* ---- places ---- */

static bool has_use(const pel_node *node, pel_CTX *use) {
    switch (node->kind) {
    case PEL_Attribute: *use = node->Attribute.ctx; return true;
    case PEL_Subscript: *use = node->Subscript.ctx; return true;
    case PEL_Starred: *use = node->Starred.ctx; return true;
    case PEL_Name: *use = node->Name.ctx; return true;
    case PEL_List: *use = node->List.ctx; return true;
    case PEL_Tuple: *use = node->Tuple.ctx; return true;
    default: return false;
    }
}

static uint32_t count_stars(pel_nodes elements) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < elements.n; i++) n += elements.at[i] && elements.at[i]->kind == PEL_Starred;
    return n;
}

static bool is_simple_target(const pel_node *node) {
    return node->kind == PEL_Name || node->kind == PEL_Attribute || node->kind == PEL_Subscript;
}

static void check_target(const checker *c, const pel_node *node, place where) {
    if (where == NAME_TARGET && node->kind != PEL_Name) refuse(c, node, "is assigned to where only names are", "");
    if ((where == SIMPLE_TARGET || where == DELETED) && !is_simple_target(node) &&
        (where == SIMPLE_TARGET || (node->kind != PEL_Tuple && node->kind != PEL_List)))
        refuse(c, node, where == DELETED ? "is deleted" : "is assigned to", "");
    if (node->kind == PEL_Starred && where != TARGET_ELEMENT) refuse(c, node, "a star out of place", "");
    bool is_row = node->kind == PEL_Tuple || node->kind == PEL_List;
    /* Tuple and List have the same fields. */
    if (is_row && count_stars(node->Tuple.elts) > 1) refuse(c, node, "more than one star in a target", "");
}

/* 1, -1, +1, 1 + 2j, 'a', a.b */
static bool is_pattern_value(const pel_node *node) {
    if (node->kind == PEL_BinOp && (node->BinOp.op == PEL_Add || node->BinOp.op == PEL_Sub))
        return node->BinOp.left && node->BinOp.right && node->BinOp.right->kind == PEL_Constant &&
               (node->BinOp.left->kind == PEL_Constant || node->BinOp.left->kind == PEL_UnaryOp);
    if (node->kind == PEL_UnaryOp)
        return (node->UnaryOp.op == PEL_USub || node->UnaryOp.op == PEL_UAdd) && node->UnaryOp.operand &&
               node->UnaryOp.operand->kind == PEL_Constant;
    return node->kind == PEL_Constant || node->kind == PEL_Attribute;
}

static void check_place(const checker *c, const pel_node *node, place where) {
    bool is_target = where == TARGET || where == TARGET_ELEMENT || where == SIMPLE_TARGET || where == NAME_TARGET;
    pel_CTX use = PEL_Load, wanted = is_target ? PEL_Store : where == DELETED ? PEL_Del : PEL_Load;
    if (!has_use(node, &use) && wanted != PEL_Load) refuse(c, node, "can't be assigned to or deleted", "");
    if (use != wanted) refuse(c, node, "has the context ", pel_enum_name(PEL_ENUM_CTX, (int)use));
    if (wanted != PEL_Load) check_target(c, node, where);
    if (node->kind == PEL_Starred && where != ELEMENT && where != INDEX && where != TARGET_ELEMENT)
        refuse(c, node, "a star out of place", "");
    if (node->kind == PEL_Slice && where != INDEX) refuse(c, node, "a slice out of place", "");
    if (node->kind == PEL_FormattedValue && where != FIELD) refuse(c, node, "a field outside of an f-string", "");
    bool is_text = node->kind == PEL_Constant && node->Constant.value && node->Constant.value->kind == PEL_CONST_STR;
    if (where == FIELD && node->kind != PEL_FormattedValue && !is_text) refuse(c, node, "a part of an f-string", "");
    bool is_template = where == TEMPLATE_FIELD;
    if (node->kind == PEL_Interpolation && !is_template) refuse(c, node, "a field outside of a t-string", "");
    if (is_template && node->kind != PEL_Interpolation && !is_text) refuse(c, node, "a part of a t-string", "");
    if (where == PATTERN_VALUE && !is_pattern_value(node)) refuse(c, node, "a value to match", "");
    if (node->kind == PEL_MatchStar && where != PATTERN_ELEMENT) refuse(c, node, "a star out of place", "");
}

/* ---- walking ---- */

static void push(checker *c, const pel_node *parent, const pel_node *node, const pel_field *field, place where,
                 uint32_t depth) {
    if (!node) refuse(c, parent, "no ", field->name);
    if (node->kind == PEL_NO_KIND || node->kind >= PEL_KIND_COUNT) PEL_BUG("a node without a kind");
    if (pel_kinds[node->kind].class != field->of) refuse(c, parent, "wrong class of ", field->name);
    if (depth > ANY_DEPTH) pel_throw(c->ctx, PEL_E_TOO_DEEP, 0, "the tree is deeper than %d", ANY_DEPTH);
    uint64_t bit = 1u << where, seen = pel_map_find(&c->seen, PEL_KEY(node), 0);
    if (seen & bit) return; /* a shared subtree */
    pel_map_set(c->ctx, &c->seen, PEL_KEY(node), seen | bit);
    pel_push(c->ctx, &c->work, (item){ node, (uint8_t)where, depth });
}

/* Children go onto a list of work, because trees that passes make may be too deep for the C stack. Enums, numbers and
 * texts have no rule by field; check_kind has those that need one. */
static void check_field(checker *c, item at, const pel_field *field) {
    const pel_node *node = at.node;
    place where = place_of(node, field, (place)at.place);
    switch (field->type) {
    case PEL_FIELD_ONE: push(c, node, *pel_field_at(node, field, pel_node *), field, where, at.depth + 1); break;
    case PEL_FIELD_OPT: {
        const pel_node *child = *pel_field_at(node, field, pel_node *);
        if (child) push(c, node, child, field, where, at.depth + 1);
        break;
    }
    case PEL_FIELD_LIST:
    case PEL_FIELD_HOLES: {
        const pel_nodes *list = pel_field_at(node, field, pel_nodes);
        check_length(c, node, field->name, list->n);
        for (uint32_t i = 0; i < list->n; i++)
            if (list->at[i] || field->type == PEL_FIELD_LIST) push(c, node, list->at[i], field, where, at.depth + 1);
        break;
    }
    case PEL_FIELD_NAME: check_name(c, node, field, *pel_field_at(node, field, pel_name)); break;
    case PEL_FIELD_NAME_OPT:
        if (*pel_field_at(node, field, pel_name)) check_name(c, node, field, *pel_field_at(node, field, pel_name));
        break;
    case PEL_FIELD_NAMES: {
        const pel_name_list *names = pel_field_at(node, field, pel_name_list);
        check_length(c, node, field->name, names->n);
        for (uint32_t i = 0; i < names->n; i++) check_name(c, node, field, names->at[i]);
        break;
    }
    case PEL_FIELD_CONST:
        if (!*pel_field_at(node, field, const pel_const *)) refuse(c, node, "no ", field->name);
        break;
    case PEL_FIELD_ENUM:
    case PEL_FIELD_CMPOPS:
    case PEL_FIELD_INT:
    case PEL_FIELD_STR_OPT: break;
    }
}

void pel_ast_check(pel_ctx *ctx, const pel_node *root) {
    checker c = { .ctx = ctx };
    pel_push(ctx, &c.work, (item){ root, VALUE, 1 });
    while (c.work.n) {
        item at = c.work.at[--c.work.n];
        pel_class class = pel_kinds[at.node->kind].class;
        if (class == PEL_EXPR || class == PEL_PATTERN) check_place(&c, at.node, (place)at.place);
        check_kind(&c, at.node);
        for (const pel_field *field = pel_kinds[at.node->kind].fields(); field->name; field++)
            check_field(&c, at, field);
    }
}
