/* Code objects meet their trees: by kind and first line, then by where their instructions lie. */
#include "trace/log/align.h"

#include "python/parse.h"

typedef struct candidate {
    pel_node *node, *within;
    uint32_t first_line; /* as co_firstlineno has it: the first decorator's */
} candidate;

typedef struct search {
    pel_ctx *ctx;
    PEL_VEC(candidate) found;
    pel_node *within, *tree;
    uint32_t depth;
} search;

#define DEPTH_LIMIT 1000

static void collect(void *arg, pel_node **slot) {
    search *s = arg;
    pel_node *node = *slot, *outer = s->within;
    if (++s->depth > DEPTH_LIMIT)
        pel_throw_at(s->ctx, PEL_E_TOO_DEEP, 0, node->lineno, node->col_offset, "source nests too deep");
    candidate row = { node, outer, node->lineno };
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
        if (node->FunctionDef.decorator_list.n) row.first_line = node->FunctionDef.decorator_list.at[0]->lineno;
        pel_push(s->ctx, &s->found, row);
        s->within = node;
        break;
    case PEL_Lambda:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp:
    case PEL_GeneratorExp: pel_push(s->ctx, &s->found, row); break;
    case PEL_ClassDef: s->within = node; break;
    default: break;
    }
    pel_each_child(node, collect, s);
    s->within = outer;
    s->depth--;
}

static pel_kind kind_of(const pel_code_object *code) {
    static const struct {
        const char *name;
        pel_kind kind;
    } special[] = { { "<lambda>", PEL_Lambda },
                    { "<listcomp>", PEL_ListComp },
                    { "<setcomp>", PEL_SetComp },
                    { "<dictcomp>", PEL_DictComp },
                    { "<genexpr>", PEL_GeneratorExp } };
    for (size_t i = 0; i < PEL_COUNT(special); i++)
        if (pel_name_is(code->name, special[i].name)) return special[i].kind;
    return PEL_FunctionDef;
}

static const pel_node *arguments_of(const pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: return node->FunctionDef.args;
    case PEL_Lambda: return node->Lambda.args;
    default: return NULL;
    }
}

/* The same parameters, by count and by name. Private names are mangled in the code, so only their ends are compared. */
static bool same_parameters(const pel_node *node, const pel_code_object *code) {
    const pel_node *args = arguments_of(node);
    if (!args) return true;
    uint32_t plain = args->arguments.posonlyargs.n + args->arguments.args.n;
    if (plain != code->argcount || args->arguments.kwonlyargs.n != code->kwonlyargcount) return false;
    for (uint32_t i = 0; i < plain && i < code->varnames.n; i++) {
        uint32_t positional = args->arguments.posonlyargs.n;
        const pel_node *arg =
            i < positional ? args->arguments.posonlyargs.at[i] : args->arguments.args.at[i - positional];
        if (!pel_str_ends(pel_name_str(code->varnames.at[i]), pel_name_str(arg->arg.arg))) return false;
    }
    return true;
}

static bool holds_all(const pel_node *node, const pel_author *author) {
    for (uint32_t i = 0; i < author->insns->n; i++) {
        const pel_position *at = &author->positions[i];
        if (at->line < 0 || at->col < 0 || (at->line == at->end_line && at->col == at->end_col))
            continue; /* a whole line */
        if (!pel_inside(at, node)) return false;
    }
    return true;
}

static bool smaller(const pel_node *a, const pel_node *b) {
    if (a->lineno != b->lineno) return a->lineno > b->lineno;
    return a->col_offset > b->col_offset;
}

static void find_node(pel_author *author, const pel_code_object *code, const search *s) {
    pel_kind kind = kind_of(code);
    const candidate *best = NULL;
    for (uint32_t i = 0; i < s->found.n; i++) {
        const candidate *c = &s->found.at[i];
        bool is_def = c->node->kind == PEL_FunctionDef || c->node->kind == PEL_AsyncFunctionDef;
        if (c->first_line != code->firstlineno || (kind == PEL_FunctionDef ? !is_def : c->node->kind != kind)) continue;
        if (is_def && !pel_str_ends(pel_name_str(code->name), pel_name_str(c->node->FunctionDef.name))) continue;
        if (!same_parameters(c->node, code) || (!is_def && !holds_all(c->node, author))) continue;
        if (!best || smaller(c->node, best->node)) best = c;
    }
    if (best) {
        author->node = best->node;
        author->within = best->within;
        author->file = s->tree;
    } else {
        author->why = "its source does not contain it";
    }
}

static const uint32_t *units(pel_ctx *ctx, const pel_insns *insns, uint32_t *n_units) {
    uint32_t n = (uint32_t)(insns->code->code.len / 2);
    for (uint32_t i = 0; i < insns->n; i++)
        if (insns->at[i].end / 2 > n) n = insns->at[i].end / 2; /* a second half */
    uint32_t *index = pel_new_array(ctx, n + 1u, uint32_t);
    for (uint32_t i = 0; i < n; i++) index[i] = PEL_NO_TARGET;
    for (uint32_t i = 0; i < insns->n; i++)
        /* EXTENDED_ARGs belong to the instruction that they extend, whichever of them the recorder names */
        for (uint32_t unit = insns->at[i].offset / 2; unit < insns->at[i].end / 2 && unit < n; unit++) index[unit] = i;
    *n_units = n;
    return index;
}

typedef struct parse_job {
    const pel_log_file *file;
    pel_version version;
    search *found;
} parse_job;

static void parse_file(pel_ctx *ctx, void *arg) {
    parse_job *job = arg;
    pel_source source = pel_source_decode(ctx, job->file->path, job->file->source);
    job->found->tree = pel_parse(ctx, &source, job->version);
    collect(job->found, &job->found->tree);
}

/* A code without source keeps its instructions: lines that are written from records need them. Fused ones are split
 * before the units are numbered, and second halves get their positions only when the node is known. */
pel_author *pel_align(pel_ctx *ctx, const pel_log *log) {
    pel_author *authors = pel_new_array(ctx, log->codes.n, pel_author);
    search **files = pel_new_array(ctx, log->files.n, search *);
    const char **trouble = pel_new_array(ctx, log->files.n, const char *);
    bool *ran = pel_new_array(ctx, log->codes.n, bool);
    for (uint32_t i = 1; i < log->activations.n; i++) ran[log->activations.at[i].code] = true;
    for (pel_id id = 1; id < log->codes.n; id++) {
        const pel_log_code *row = &log->codes.at[id];
        pel_author *author = &authors[id];
        author->code = id;
        if (!ran[id]) continue;
        author->insns = pel_decode(ctx, row->code);
        author->positions = pel_positions(ctx, author->insns);
        pel_split_fused(ctx, author);
        author->index = units(ctx, author->insns, &author->n_units);
        if (!row->file || log->files.at[row->file].source.len == 0) {
            author->why = "it has no source";
            continue;
        }
        if (!files[row->file]) {
            search *s = pel_new(ctx, search);
            s->ctx = ctx;
            pel_err err;
            parse_job job = { &log->files.at[row->file], row->code->version, s };
            if (!pel_attempt(ctx, parse_file, &job, &err))
                trouble[row->file] = pel_format(ctx, "its source cannot be read: %s", err.what).ptr;
            files[row->file] = s;
        }
        if (trouble[row->file])
            author->why = trouble[row->file];
        else
            find_node(author, row->code, files[row->file]);
        if (row->code->version >= 12) pel_align_later(ctx, author);
    }
    return authors;
}

const pel_insn *pel_author_insn(const pel_author *author, const pel_record *record) {
    uint32_t index = record->at < author->n_units ? author->index[record->at] : PEL_NO_TARGET;
    return index == PEL_NO_TARGET ? NULL : &author->insns->at[index];
}

bool pel_inside(const pel_position *at, const pel_node *node) {
    if (at->line < 0 || at->col < 0) return false;
    uint32_t line = (uint32_t)at->line, end = (uint32_t)at->end_line;
    if (line < node->lineno || (line == node->lineno && (uint32_t)at->col < node->col_offset)) return false;
    return end < node->end_lineno || (end == node->end_lineno && (uint32_t)at->end_col <= node->end_col_offset);
}
