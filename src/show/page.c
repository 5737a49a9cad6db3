/* One HTML page: the template, the model tree as JSON and the source, as data that its script reads. */
#include "show/page.h"

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

/* Puts the template up to the mark, and gives what is after it. */
static pel_str put_until(pel_buf *out, pel_str rest, const char *mark) {
    size_t len = strlen(mark), at = 0;
    while (at + len <= rest.len && memcmp(rest.ptr + at, mark, len) != 0) at++;
    if (at + len > rest.len) PEL_BUG("page.html has lost a mark");
    pel_put(out, pel_str_cut(rest, 0, at));
    return pel_str_from(rest, at + len);
}

void pel_show_page(pel_ctx *ctx, const pel_networks *networks, pel_str source, pel_str audit, pel_buf *out) {
    pel_buf model = pel_buf_in(ctx), text = pel_buf_in(ctx), said = pel_buf_in(ctx);
    pel_networks_json(ctx, networks, &model);
    pel_json json = pel_json_to(&text);
    pel_json_str(&json, source);
    pel_str rest = put_until(out, pel_str_of(pel_pages[0].text), "@MODEL@");
    put_as_data(out, pel_buf_str(&model));
    rest = put_until(out, rest, "@SOURCE@");
    put_as_data(out, pel_buf_str(&text));
    json = pel_json_to(&said);
    pel_json_str(&json, audit);
    rest = put_until(out, rest, "@AUDIT@");
    put_as_data(out, pel_buf_str(&said));
    pel_put(out, rest);
}
