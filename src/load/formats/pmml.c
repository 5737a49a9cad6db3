/* PMML: models as XML. They have no tensors; what matters is what their reader would fetch or unfold. */
#include "io/xml.h"
#include "load/load.h"

#define MAX_MODELS 1000

static void find(pel_ctx *ctx, pel_loaded *out, pel_severity severity, uint64_t at, const char *text) {
    pel_find(ctx, &out->findings, severity, "entity", (pel_str){ "", 0 }, at, pel_str_of(text));
}

/* A document that declares entities makes its reader fetch what they name, or unfold them without end. */
static void judge_doctype(pel_ctx *ctx, pel_loaded *out, const pel_xml_token *token) {
    bool is_far = pel_str_find(token->text, PEL_STR("SYSTEM")) || pel_str_find(token->text, PEL_STR("PUBLIC"));
    bool has_entities = pel_str_find(token->text, PEL_STR("<!ENTITY")) != NULL;
    if (is_far)
        find(ctx, out, PEL_DANGER, token->at, "the document makes its reader fetch a file or an address (SYSTEM)");
    else if (has_entities)
        find(ctx, out, PEL_SUSPECT, token->at, "the document declares entities, which may unfold without end");
    else
        find(ctx, out, PEL_SUSPECT, token->at, "the document has declarations of its own, as no model needs them");
}

/* &amp; and its like, and characters by their numbers. */
static void judge_text(pel_ctx *ctx, pel_loaded *out, const pel_xml_token *token) {
    static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#" };
    for (size_t i = 0; i < token->text.len; i++) {
        if (token->text.ptr[i] != '&') continue;
        bool is_known = false;
        for (size_t k = 0; k < PEL_COUNT(known); k++)
            is_known = is_known || pel_str_starts(pel_str_from(token->text, i), pel_str_of(known[k]));
        if (is_known) continue;
        find(ctx, out, PEL_SUSPECT, token->at, "the text refers to an entity");
        return;
    }
}

static bool is_word(pel_str text, const char *word) { return text.len == strlen(word) && pel_ends_folded(text, word); }

static void judge_instruction(pel_ctx *ctx, pel_loaded *out, const pel_xml_token *token) {
    pel_str encoding;
    if (!pel_str_is(token->name, "xml")) {
        find(ctx, out, PEL_SUSPECT, token->at, "an instruction to the reader, as no model needs them");
    } else if (pel_xml_attribute(token->text, "encoding", &encoding) && !is_word(encoding, "utf-8") &&
               !is_word(encoding, "us-ascii") && !is_word(encoding, "iso-8859-1")) {
        pel_find(ctx, &out->findings, PEL_SUSPECT, "encoding", (pel_str){ "", 0 }, token->at,
                 pel_format(ctx, "another encoding, %.*s: readers see another text", PEL_FMT(encoding)));
    }
}

static bool is_model(pel_str name) {
    return pel_str_ends(name, PEL_STR("Model")) || pel_str_is(name, "NeuralNetwork") || pel_str_is(name, "Scorecard") ||
           pel_str_is(name, "MiningModel");
}

/* Other XML is read to its end before it is refused, since entities and includes are findings in any document.
 * xml.depth counts a tag that was just opened, but not an empty one: 2 means a child of the root. */
void pel_load_xml(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    pel_xml xml = { .bytes = bytes };
    pel_xml_token token;
    pel_tree_builder builder = { 0 };
    uint32_t n_models = 0;
    uint64_t root_at = 0;
    bool has_root = false, is_pmml = false;
    out->format = PEL_STR("XML");
    while ((token = pel_xml_next(ctx, &xml)).kind != PEL_XML_END) {
        if (token.kind == PEL_XML_DOCTYPE) judge_doctype(ctx, out, &token);
        if (token.kind == PEL_XML_INSTRUCTION) judge_instruction(ctx, out, &token);
        if (token.kind == PEL_XML_TEXT || token.kind == PEL_XML_OPEN) judge_text(ctx, out, &token);
        if (token.kind != PEL_XML_OPEN) continue;
        if (pel_str_ends(token.name, PEL_STR(":include")))
            find(ctx, out, PEL_DANGER, token.at, "the document includes another one");
        if (!has_root) {
            has_root = true;
            root_at = token.at;
            is_pmml = pel_str_is(token.name, "PMML");
            if (is_pmml) out->format = PEL_STR("PMML");
            builder = is_pmml ? pel_build(ctx, out, name, '.') : builder;
        } else if (is_pmml && xml.depth + token.is_empty == 2 && is_model(token.name)) {
            pel_str title = token.name;
            pel_xml_attribute(token.text, "modelName", &title);
            if (++n_models > MAX_MODELS) continue;
            pel_build_module(&builder, pel_format(ctx, "%u %.*s", n_models, PEL_FMT(title)))->class = token.name;
        }
    }
    if (!is_pmml) pel_throw(ctx, PEL_E_UNSUPPORTED, root_at, "XML, but of no model format that is known");
    pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("PMML has no tensors: its numbers are not read"));
    if (n_models > MAX_MODELS)
        pel_build_unknown(&builder, PEL_STR("models"), pel_format(ctx, "%u more", n_models - MAX_MODELS));
}
