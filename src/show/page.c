/* One HTML page: the template, its style and scripts, and as data that they read: the model tree as JSON, the layers of
 * its flow, the source and what the audit says. */
#include "show/page.h"

#include "show/graph.h"
#include "show/show.h"

/* JSON inside <script>: "<" could end the element or begin a comment, so it is written as an escape. */
static void put_as_data(pel_buf *out, pel_str json) {
    for (;;) {
        const char *found = json.len ? memchr(json.ptr, '<', json.len) : NULL;
        if (!found) break;
        size_t before = (size_t)(found - json.ptr);
        pel_put(out, pel_str_cut(json, 0, before));
        pel_put_c(out, "\\u003c");
        json = pel_str_from(json, before + 1);
    }
    pel_put(out, json);
}

static pel_str file_of(const char *path) {
    for (const pel_embedded *file = pel_pages; file->path; file++)
        if (strcmp(file->path, path) == 0) return pel_str_of(file->text);
    PEL_BUG("a file of the page is missing");
}

static pel_str as_json(pel_ctx *ctx, pel_str text) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_json_str(&json, text);
    return pel_buf_str(&out);
}

static pel_str graphs_of(pel_ctx *ctx, const pel_networks *networks) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_json_array(&json);
    for (uint32_t i = 0; i < networks->n; i++) pel_graphs_json(ctx, networks->at[i], &json);
    pel_json_end_array(&json);
    return pel_buf_str(&out);
}

/* Fills the template's marks in their order. */
void pel_show_page(pel_ctx *ctx, const pel_networks *networks, pel_str source, pel_str audit, pel_buf *out) {
    pel_buf model = pel_buf_in(ctx);
    pel_networks_json(ctx, networks, &model);
    const struct {
        const char *mark;
        pel_str text;
        bool is_data;
    } parts[] = {
        { "@STYLE@", file_of("page.css"), false },      { "@MODEL@", pel_buf_str(&model), true },
        { "@GRAPHS@", graphs_of(ctx, networks), true }, { "@SOURCE@", as_json(ctx, source), true },
        { "@AUDIT@", as_json(ctx, audit), true },       { "@GRAPH_SCRIPT@", file_of("graph.js"), false },
        { "@SCRIPT@", file_of("page.js"), false },
    };
    pel_str rest = file_of("page.html");
    for (size_t i = 0; i < PEL_COUNT(parts); i++) {
        const char *mark = pel_str_find(rest, pel_str_of(parts[i].mark));
        if (!mark) PEL_BUG("page.html has lost a mark");
        pel_put(out, pel_str_cut(rest, 0, (size_t)(mark - rest.ptr)));
        if (parts[i].is_data)
            put_as_data(out, parts[i].text);
        else
            pel_put(out, parts[i].text);
        rest = pel_str_from(rest, (size_t)(mark - rest.ptr) + strlen(parts[i].mark));
    }
    pel_put(out, rest);
}
