#include "io/xml.h"

#define MAX_DEPTH 1000

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool ends_name(char c) { return is_space(c) || c == '>' || c == '/' || c == '=' || c == '?' || c == '<'; }

static uint64_t after_spaces(pel_str bytes, uint64_t at) {
    while (at < bytes.len && is_space(bytes.ptr[at])) at++;
    return at;
}

bool pel_is_xml(pel_str bytes) {
    uint64_t at = pel_str_starts(bytes, PEL_STR("\xef\xbb\xbf")) ? 3 : 0;
    at = after_spaces(bytes, at);
    if (bytes.len - at < 3 || bytes.ptr[at] != '<') return false;
    pel_str rest = pel_str_from(bytes, at);
    bool is_letter = (rest.ptr[1] | 32) >= 'a' && (rest.ptr[1] | 32) <= 'z';
    if (is_letter) /* a tag, and not the beginning of a page of HTML */
        return memchr(rest.ptr, '>', rest.len) != NULL;
    return pel_str_starts(rest, PEL_STR("<?xml")) || pel_str_starts(rest, PEL_STR("<!DOCTYPE")) ||
           pel_str_starts(rest, PEL_STR("<!--"));
}

static bool is_at(const pel_xml *xml, const char *text) {
    return pel_str_starts(pel_str_from(xml->bytes, xml->at), pel_str_of(text));
}

/* The place of a text from xml->at on; throws if it is not there. */
static uint64_t find(pel_ctx *ctx, const pel_xml *xml, const char *text, const char *what) {
    const char *found = pel_str_find(pel_str_from(xml->bytes, xml->at), pel_str_of(text));
    if (!found) pel_throw(ctx, PEL_E_FORMAT, xml->at, "XML: %s does not end", what);
    return (uint64_t)(found - xml->bytes.ptr);
}

/* Where a tag or a declaration ends: at a '>' outside of quotes, and outside of brackets if it may have them. */
static uint64_t end_of(pel_ctx *ctx, const pel_xml *xml, bool has_brackets) {
    int brackets = 0;
    char quote = 0;
    for (uint64_t at = xml->at; at < xml->bytes.len; at++) {
        char c = xml->bytes.ptr[at];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (has_brackets && (c == '[' || c == ']')) {
            brackets += c == '[' ? 1 : -1;
        } else if (c == '>' && brackets <= 0) {
            return at;
        } else if (c == '<' && !has_brackets && at > xml->at) {
            break;
        }
    }
    pel_throw(ctx, PEL_E_FORMAT, xml->at, "XML: a tag does not end");
}

static pel_str name_at(pel_str bytes, uint64_t at) {
    uint64_t end = at;
    while (end < bytes.len && !ends_name(bytes.ptr[end])) end++;
    return pel_str_cut(bytes, at, end);
}

static pel_xml_token take_tag(pel_ctx *ctx, pel_xml *xml) {
    bool is_close = xml->at + 1 < xml->bytes.len && xml->bytes.ptr[xml->at + 1] == '/';
    uint64_t end = end_of(ctx, xml, false), start = xml->at + 1 + is_close;
    pel_xml_token token = { .kind = is_close ? PEL_XML_CLOSE : PEL_XML_OPEN, .at = xml->at };
    token.name = name_at(pel_str_cut(xml->bytes, 0, end), start);
    if (!token.name.len) pel_throw(ctx, PEL_E_FORMAT, xml->at, "XML: a tag without a name");
    token.is_empty = !is_close && xml->bytes.ptr[end - 1] == '/';
    token.text = pel_str_cut(xml->bytes, start + token.name.len, end - token.is_empty);
    xml->depth += is_close ? -1 : !token.is_empty;
    if (xml->depth < 0) pel_throw(ctx, PEL_E_FORMAT, xml->at, "XML: a tag is closed that was not opened");
    if (xml->depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, xml->at, "XML: tags nest deeper than %d", MAX_DEPTH);
    xml->at = end + 1;
    return token;
}

/* Comments and CDATA begin with `<!` like declarations, so they are asked for first. The token of a CDATA section has
 * no text: nothing in it is an entity, so there is nothing to judge. */
pel_xml_token pel_xml_next(pel_ctx *ctx, pel_xml *xml) {
    if (!xml->at && pel_str_starts(xml->bytes, PEL_STR("\xef\xbb\xbf"))) xml->at = 3;
    while (is_at(xml, "<!--")) xml->at = find(ctx, xml, "-->", "a comment") + 3;
    pel_xml_token token = { .kind = PEL_XML_END, .at = xml->at };
    if (xml->at >= xml->bytes.len) {
        if (xml->depth) pel_throw(ctx, PEL_E_FORMAT, xml->at, "XML: truncated: %d tags are open", xml->depth);
        return token;
    }
    if (is_at(xml, "<![CDATA[")) {
        xml->at = find(ctx, xml, "]]>", "a CDATA section") + 3;
        return (pel_xml_token){ .kind = PEL_XML_TEXT, .at = token.at };
    }
    if (is_at(xml, "<?")) {
        uint64_t end = find(ctx, xml, "?>", "an instruction");
        token.kind = PEL_XML_INSTRUCTION;
        token.name = name_at(pel_str_cut(xml->bytes, 0, end), xml->at + 2);
        token.text = pel_str_cut(xml->bytes, xml->at + 2 + token.name.len, end);
        xml->at = end + 2;
        return token;
    }
    if (is_at(xml, "<!")) {
        uint64_t end = end_of(ctx, xml, true);
        token.kind = PEL_XML_DOCTYPE;
        token.text = pel_str_cut(xml->bytes, xml->at, end);
        xml->at = end + 1;
        return token;
    }
    if (xml->bytes.ptr[xml->at] == '<') return take_tag(ctx, xml);
    uint64_t end = xml->at;
    while (end < xml->bytes.len && xml->bytes.ptr[end] != '<') end++;
    token.kind = PEL_XML_TEXT;
    token.text = pel_str_cut(xml->bytes, xml->at, end);
    xml->at = end;
    return token;
}

bool pel_xml_attribute(pel_str attributes, const char *name, pel_str *value) {
    for (uint64_t at = after_spaces(attributes, 0); at < attributes.len; at = after_spaces(attributes, at)) {
        pel_str key = name_at(attributes, at);
        at = after_spaces(attributes, at + key.len);
        if (!key.len || at >= attributes.len || attributes.ptr[at] != '=') return false;
        at = after_spaces(attributes, at + 1);
        if (at >= attributes.len || (attributes.ptr[at] != '"' && attributes.ptr[at] != '\'')) return false;
        uint64_t start = at + 1, end = start;
        while (end < attributes.len && attributes.ptr[end] != attributes.ptr[at]) end++;
        *value = pel_str_cut(attributes, start, end);
        if (pel_str_is(key, name)) return true;
        at = end + 1;
    }
    return false;
}
