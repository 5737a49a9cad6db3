/* What one analysis finds, as the protocol wants it. Only what is known is said: an error that depends on the answer
 * to an open question is none. */
#include "lsp/lsp.h"

#include "python/parse.h"

typedef enum severity { IS_ERROR = 1, IS_WARNING, IS_INFORMATION, IS_HINT } severity;

typedef struct finding {
    severity how;
    const char *code;
    size_t from, to; /* in the text */
    pel_str message;
    pel_unknown row; /* with its other places; none: lines are 0 */
} finding;

typedef struct analysis {
    pel_scanner *scanner;
    pel_ctx *ctx;
    const pel_lsp_job *job;
    pel_str path, text;
    PEL_VEC(finding) findings;
    pel_str log;
} analysis;

/* ---- places ---- */

/* A line without its indentation and what is after its last letter. */
static void line_range(const analysis *a, uint32_t line, finding *out) {
    size_t start;
    pel_str text = pel_line_at(a->text, line ? line - 1 : 0, &start);
    size_t from = 0, to = text.len;
    while (from < to && strchr(" \t\f", text.ptr[from])) from++;
    while (to > from && strchr(" \t\r\f", text.ptr[to - 1])) to--;
    out->from = start + from;
    out->to = start + to;
}

/* The same, but of a word in it where the word is there. */
static void word_range(const analysis *a, uint32_t line, pel_str word, finding *out) {
    line_range(a, line, out);
    const char *at = word.len ? pel_str_find(pel_str_cut(a->text, out->from, out->to), word) : NULL;
    if (!at) return;
    out->from = (size_t)(at - a->text.ptr);
    out->to = out->from + word.len;
}

/* ---- findings ---- */

static void add(analysis *a, finding found) {
    for (uint32_t i = 0; i < a->findings.n; i++) {
        const finding *other = &a->findings.at[i];
        if (other->from == found.from && other->code == found.code && pel_str_eq(other->message, found.message)) return;
    }
    if (a->findings.n < 1000) pel_push(a->ctx, &a->findings, found);
}

static bool is_here(const analysis *a, const pel_place *place) {
    return place->line && pel_str_eq(place->file, a->path);
}

/* The line of this text that an error belongs to: its own, or the one that made what does not fit. */
static uint32_t line_of(const analysis *a, const pel_unknown *row) {
    if (is_here(a, &row->place)) return row->place.line;
    if (is_here(a, &row->made)) return row->made.line;
    return is_here(a, &row->also) ? row->also.line : 0;
}

/* assumed: "config = GPTConfig()", of which the network was made; empty: of what is written. */
static void add_error(analysis *a, const pel_unknown *row, pel_str assumed) {
    bool is_shape = pel_str_starts(row->what, PEL_STR("ShapeError: "));
    finding found = { .how = is_shape && assumed.len ? IS_WARNING
                             : is_shape              ? IS_ERROR
                                                     : IS_INFORMATION,
                      .code = is_shape ? "shape" : "not-run",
                      .row = *row };
    pel_str what = is_shape ? pel_str_from(row->what, 12) : row->what;
    found.message = is_shape ? pel_format(a->ctx, "%.*s: %.*s", PEL_FMT(what), PEL_FMT(row->why))
                             : pel_format(a->ctx, "forward was not followed further: %.*s", PEL_FMT(what));
    if (assumed.len) found.message = pel_format(a->ctx, "%.*s (with %.*s)", PEL_FMT(found.message), PEL_FMT(assumed));
    uint32_t line = line_of(a, row);
    if (!line) return; /* another file's */
    line_range(a, line, &found);
    add(a, found);
}

static void add_unknown(analysis *a, const pel_unknown *row) {
    bool is_budget = pel_str_starts(row->what, PEL_WHAT_SPENT) || pel_str_eq(row->why, PEL_WHY_SPENT);
    bool is_missing = pel_str_eq(row->why, PEL_WHY_MISSING);
    finding found = { .row = { .what = row->what } };
    if (is_budget) {
        found.how = IS_INFORMATION;
        found.code = "budget";
        found.message =
            pel_format(a->ctx, "the analysis was cut short: %.*s; %.*s", PEL_FMT(row->what), PEL_FMT(row->why));
        line_range(a, is_here(a, &row->place) ? row->place.line : 1, &found);
        add(a, found);
    } else if (is_missing && is_here(a, &row->place)) {
        found.how = IS_HINT;
        found.code = "unknown-import";
        found.message =
            pel_format(a->ctx, "%.*s: no such module in the roots; its names are not known", PEL_FMT(row->what));
        word_range(a, row->place.line, row->what, &found);
        add(a, found);
    }
}

/* ---- the text itself ---- */

typedef struct parse_job {
    pel_str path, text;
    pel_node *root;
} parse_job;

static void parse_body(pel_ctx *ctx, void *arg) {
    parse_job *job = arg;
    pel_source source = pel_source_text(ctx, job->path, job->text);
    job->root = pel_parse(ctx, &source, PEL_VERSION_MAX);
}

static pel_node *parse(analysis *a) {
    parse_job job = { a->path, a->text, NULL };
    pel_err err;
    if (pel_attempt(a->ctx, parse_body, &job, &err)) return job.root;
    finding found = { .how = IS_ERROR, .code = "syntax", .message = pel_str_copy(a->ctx, pel_str_of(err.what)) };
    size_t start;
    pel_str line = pel_line_at(a->text, err.line ? err.line - 1 : 0, &start);
    size_t column = err.column < line.len ? err.column : line.len;
    found.from = found.to = start + column;
    while (found.to < start + line.len && !strchr(" \t()[]{},:;", a->text.ptr[found.to])) found.to++;
    if (found.to == found.from && column < line.len) found.to++;
    add(a, found);
    return NULL;
}

/* ---- writing ---- */

static void put_position(pel_json *json, const char *key, pel_text_position at) {
    pel_json_key(json, key);
    pel_json_object(json);
    pel_json_key(json, "line");
    pel_json_int(json, at.line);
    pel_json_key(json, "character");
    pel_json_int(json, at.character);
    pel_json_end_object(json);
}

static void put_range(const analysis *a, pel_json *json, size_t from, size_t to) {
    pel_json_key(json, "range");
    pel_json_object(json);
    put_position(json, "start", pel_position_at(a->text, from));
    put_position(json, "end", pel_position_at(a->text, to));
    pel_json_end_object(json);
}

static void put_related(const analysis *a, pel_json *json, const pel_place *place, const char *message) {
    if (!place->line) return;
    pel_json_object(json);
    pel_json_key(json, "location");
    pel_json_object(json);
    pel_json_key(json, "uri");
    pel_json_str(json, pel_uri_of_path(a->ctx, place->file));
    if (is_here(a, place)) {
        finding line = { 0 };
        line_range(a, place->line, &line);
        put_range(a, json, line.from, line.to);
    } else {
        pel_json_key(json, "range");
        pel_json_object(json);
        put_position(json, "start", (pel_text_position){ place->line - 1, 0 });
        put_position(json, "end", (pel_text_position){ place->line, 0 });
        pel_json_end_object(json);
    }
    pel_json_end_object(json);
    pel_json_key(json, "message");
    pel_json_c(json, message);
    pel_json_end_object(json);
}

static void put_finding(const analysis *a, pel_json *json, const finding *found) {
    pel_json_object(json);
    put_range(a, json, found->from, found->to);
    pel_json_key(json, "severity");
    pel_json_int(json, found->how);
    pel_json_key(json, "code");
    pel_json_c(json, found->code);
    pel_json_key(json, "source");
    pel_json_c(json, "pellucid");
    pel_json_key(json, "message");
    pel_json_str(json, found->message);
    pel_json_key(json, "relatedInformation");
    pel_json_array(json);
    put_related(a, json, &found->row.also, "this gave the shape");
    put_related(a, json, &found->row.made, "the layer was made here");
    if (!is_here(a, &found->row.place)) put_related(a, json, &found->row.place, "it fails here");
    pel_json_end_array(json);
    pel_json_end_object(json);
}

/* ---- what a scan found ---- */

static void look_at(analysis *a, const pel_network *network) {
    pel_str assumed = { "", 0 };
    for (uint32_t i = 0; i < network->unknown.n; i++)
        if (pel_str_eq(network->unknown.at[i].why, PEL_WHY_ASSUMED)) assumed = network->unknown.at[i].what;
    for (uint32_t i = 0; i < network->errors.n; i++) add_error(a, &network->errors.at[i], assumed);
    for (uint32_t i = 0; i < network->unknown.n; i++) add_unknown(a, &network->unknown.at[i]);
}

/* ---- inputs that the user gives ---- */

/* The class that an offset is in, by the text alone: the last one that begins above it; of a comment that is a line
 * above a class, that one. */
static pel_str class_of_line(const analysis *a, size_t offset) {
    pel_str found = { "", 0 };
    for (size_t at = 0; at < a->text.len;) {
        const char *newline = memchr(a->text.ptr + at, '\n', a->text.len - at);
        size_t end = newline ? (size_t)(newline - a->text.ptr) : a->text.len;
        pel_str line = pel_str_cut(a->text, at, end);
        while (line.len && strchr(" \t", line.ptr[0])) line = pel_str_from(line, 1);
        bool is_comment = offset >= at && offset <= end && line.len && line.ptr[0] == '#';
        if (pel_str_starts(line, PEL_STR("class "))) {
            size_t len = 6;
            while (len < line.len && !strchr(" (:\r", line.ptr[len])) len++;
            found = pel_str_cut(line, 6, len);
        }
        at = end + 1;
        if (offset > end) continue;
        pel_str next = pel_str_from(a->text, at);
        if (!is_comment || !pel_str_starts(next, PEL_STR("class "))) return found;
        offset = at; /* the class below */
    }
    return found;
}

/* "# pellucid: input BxTx16" on the line of a class, above it or inside of it. */
static pel_str input_in_text(const analysis *a, pel_str class) {
    static const char mark[] = "# pellucid: input ";
    for (pel_str rest = a->text; rest.len;) {
        const char *at = pel_str_find(rest, PEL_STR(mark));
        if (!at) break;
        rest = pel_str_from(rest, (size_t)(at - rest.ptr) + sizeof mark - 1);
        size_t len = 0;
        while (len < rest.len && !strchr(" \t\r\n", rest.ptr[len])) len++;
        if (pel_str_eq(class_of_line(a, (size_t)(at - a->text.ptr)), class)) return pel_str_cut(rest, 0, len);
    }
    return (pel_str){ "", 0 };
}

static pel_str given_input(const void *arg, pel_str class, pel_str network) {
    const analysis *a = arg;
    const pel_json_value *inputs = a->job->inputs;
    pel_str found = input_in_text(a, class);
    for (uint32_t i = 0; inputs && inputs->kind == PEL_J_OBJECT && i + 1 < inputs->items.n && !found.len; i += 2) {
        pel_str name = inputs->items.at[i]->text;
        if (pel_str_eq(name, class) || pel_str_eq(name, network)) found = pel_json_text(inputs->items.at[i + 1]);
    }
    return found;
}

/* ---- one analysis ---- */

static void scan(analysis *a, pel_node *root, pel_json *json) {
    pel_networks networks = { 0 };
    pel_network *problems;
    pel_watch watch = { .file = a->path, .input = given_input, .arg = a };
    pel_scan_request request = { .path = a->path, .text = a->text, .classes = true };
    a->scanner->watch = &watch;
    pel_scan(a->scanner, &request, &networks, &problems);
    a->scanner->watch = NULL;
    for (uint32_t i = 0; i < networks.n; i++) look_at(a, networks.at[i]);
    look_at(a, problems);
    pel_lsp_notes(a->ctx, &(pel_lsp_seen){ a->path, a->text, root, &networks, &watch }, json);
}

void pel_lsp_analyse(pel_scanner *scanner, const pel_lsp_job *job, pel_buf *out) {
    analysis a = { .scanner = scanner, .ctx = scanner->vm->ctx, .job = job };
    a.path = pel_str_of(job->path);
    a.text = (pel_str){ job->source.ptr, job->source.len };
    pel_json json = pel_json_to(out);
    pel_json_object(&json);
    pel_node *root = parse(&a);
    if (root) scan(&a, root, &json);
    pel_json_key(&json, "diagnostics");
    pel_json_array(&json);
    for (uint32_t i = 0; i < a.findings.n; i++) put_finding(&a, &json, &a.findings.at[i]);
    pel_json_end_array(&json);
    pel_json_end_object(&json);
}
