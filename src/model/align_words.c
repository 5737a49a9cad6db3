/* What names say. Few words have a meaning here: those of the parts of a transformer's block, which everybody calls
 * by a letter or a word of a short list, and those that say which of two norms comes first. docs/align.md has them. */
#include "model/align_inside.h"

#include <stdlib.h>

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_same(pel_str a, const char *b) {
    size_t n = strlen(b);
    if (a.len != n) return false;
    for (size_t i = 0; i < n; i++)
        if (lower(a.ptr[i]) != b[i]) return false;
    return true;
}

/* ---- leaves ---- */

/* gamma and beta are a norm's weight and bias only if both are there: a gamma alone scales a layer. */
align_kind pel_align_kind(pel_str last, bool has_beta) {
    static const struct {
        const char *word;
        align_kind kind;
    } rows[] = {
        { "weight", ALIGN_WEIGHT },
        { "kernel", ALIGN_WEIGHT },
        { "embedding", ALIGN_WEIGHT },
        { "bias", ALIGN_BIAS },
        { "running_mean", ALIGN_MEAN },
        { "moving_mean", ALIGN_MEAN },
        { "running_var", ALIGN_VARIANCE },
        { "moving_variance", ALIGN_VARIANCE },
        { "num_batches_tracked", ALIGN_COUNT },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(last, rows[i].word)) return rows[i].kind;
    if (has_beta && pel_str_is(last, "gamma")) return ALIGN_WEIGHT;
    if (has_beta && pel_str_is(last, "beta")) return ALIGN_BIAS;
    return ALIGN_OTHER;
}

/* ---- words ---- */

/* Splits "selfAttn_q_proj2" into self, Attn, q, proj, 2. */
static uint32_t split(pel_str part, pel_str *words) {
    uint32_t n = 0;
    size_t start = 0;
    for (size_t i = 1; i <= part.len && n < ALIGN_WORDS; i++) {
        bool is_end = i == part.len || part.ptr[i] == '_' || part.ptr[i] == '.' || part.ptr[i] == '/';
        char c = i < part.len ? part.ptr[i] : '\0', before = part.ptr[i - 1];
        bool is_cut =
            is_end || (is_digit(c) != is_digit(before)) || (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z');
        if (!is_cut) continue;
        if (i > start && part.ptr[start] != '_' && part.ptr[start] != '.' && part.ptr[start] != '/')
            words[n++] = pel_str_cut(part, start, i);
        start = is_end ? i + 1 : i;
    }
    return n;
}

/* Words that say nothing of what a layer is for. */
static bool is_filler(pel_str word) {
    static const char *const rows[] = { "proj", "projection", "layer", "linear", "lin",   "dense",
                                        "to",   "weight",     "bias",  "attn",   "self",  "conv",
                                        "fc",   "base",       "heads", "states", "module" };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (is_same(word, rows[i])) return true;
    return false;
}

typedef struct meaning {
    const char *word;
    uint8_t role;
} meaning;

static uint8_t role_in(const meaning *rows, size_t n, pel_str word) {
    for (size_t i = 0; i < n; i++)
        if (is_same(word, rows[i].word)) return rows[i].role;
    return 0;
}

/* Of one part of a path: whole, or by its words, all of which must mean something. */
static uint8_t role_of_part(pel_str part) {
    static const meaning whole[] = {
        { "in_proj", ROLE_Q | ROLE_K | ROLE_V },
        { "c_attn", ROLE_Q | ROLE_K | ROLE_V },
        { "w1", ROLE_GATE },
        { "w3", ROLE_UP },
        { "w2", ROLE_DOWN },
        { "fc1_g", ROLE_GATE },
        { "fc1_x", ROLE_UP },
        { "wi_0", ROLE_GATE },
        { "wi_1", ROLE_UP },
        { "w13", ROLE_GATE | ROLE_UP },
    };
    static const meaning words[] = {
        { "q", ROLE_Q },
        { "query", ROLE_Q },
        { "queries", ROLE_Q },
        { "wq", ROLE_Q },
        { "k", ROLE_K },
        { "key", ROLE_K },
        { "keys", ROLE_K },
        { "wk", ROLE_K },
        { "v", ROLE_V },
        { "value", ROLE_V },
        { "values", ROLE_V },
        { "wv", ROLE_V },
        { "o", ROLE_OUT },
        { "wo", ROLE_OUT },
        { "out", ROLE_OUT },
        { "gate", ROLE_GATE },
        { "up", ROLE_UP },
        { "down", ROLE_DOWN },
        { "qkv", ROLE_Q | ROLE_K | ROLE_V },
        { "kv", ROLE_K | ROLE_V },
        { "wqkv", ROLE_Q | ROLE_K | ROLE_V | ROLE_UNORDERED },
    };
    uint8_t role = role_in(whole, PEL_COUNT(whole), part);
    if (role) return role;
    pel_str list[ALIGN_WORDS];
    uint32_t n = split(part, list), n_meant = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint8_t one = role_in(words, PEL_COUNT(words), list[i]);
        if (!one && !is_filler(list[i])) return 0;
        n_meant += one != 0;
        role |= one;
    }
    /* query_key_value lies in blocks of heads in one library and one after the other in the next */
    if (n_meant == 3) role |= ROLE_UNORDERED;
    return role;
}

/* Of the last part that is no number and no filler alone: "query.dense" is a query. */
uint8_t pel_align_role(pel_str path, pel_str *holder) {
    for (int tried = 0; tried < 3 && path.len; tried++) {
        size_t start = path.len;
        while (start && path.ptr[start - 1] != '.' && path.ptr[start - 1] != '/') start--;
        pel_str part = pel_str_from(path, start), words[ALIGN_WORDS];
        uint8_t role = role_of_part(part);
        *holder = pel_str_cut(path, 0, start ? start - 1 : 0);
        if (role) return role;
        uint32_t n = split(part, words);
        for (uint32_t i = 0; i < n; i++)
            if (!is_filler(words[i]) && !is_digit(words[i].ptr[0])) return 0;
        path = pel_str_cut(path, 0, start ? start - 1 : 0);
    }
    return 0;
}

/* ---- numbers ---- */

pel_str pel_align_shape_of(pel_ctx *ctx, pel_str path, pel_str *numbers) {
    pel_buf shape = pel_buf_in(ctx), found = pel_buf_in(ctx);
    for (size_t i = 0; i < path.len;) {
        if (!is_digit(path.ptr[i])) {
            pel_put_byte(&shape, path.ptr[i++]);
            continue;
        }
        if (found.len) pel_put_byte(&found, '.');
        while (i < path.len && is_digit(path.ptr[i])) pel_put_byte(&found, path.ptr[i++]);
        pel_put_byte(&shape, '#');
    }
    *numbers = pel_buf_str(&found);
    return pel_buf_str(&shape);
}

/* Of "1.10" and "1.9" the second is first. */
int pel_align_by_numbers(pel_str a, pel_str b) {
    size_t i = 0, k = 0;
    while (i < a.len && k < b.len) {
        size_t from = i, start = k;
        while (i < a.len && a.ptr[i] != '.') i++;
        while (k < b.len && b.ptr[k] != '.') k++;
        while (from < i && a.ptr[from] == '0') from++;
        while (start < k && b.ptr[start] == '0') start++;
        if (i - from != k - start) return i - from < k - start ? -1 : 1;
        int order = memcmp(a.ptr + from, b.ptr + start, i - from);
        if (order) return order;
        i++;
        k++;
    }
    return (i < a.len) - (k < b.len);
}

/* ---- first and last ---- */

/* What comes after the last part that has a number alone, or that ends with one. */
static pel_str below_block(pel_str path) {
    size_t at = 0;
    for (size_t i = 1; i < path.len; i++)
        if ((path.ptr[i] == '.' || path.ptr[i] == '/') && is_digit(path.ptr[i - 1]) && pel_str_find(path, PEL_STR(".")))
            at = i + 1;
    return pel_str_from(path, at);
}

typedef struct place_words {
    int half; /* 1: attention, 2: attention to another sequence, 3: the rest */
    int side; /* of it: 10 before, 20 after */
} place_words;

static place_words places_of(pel_str path) {
    static const struct {
        const char *word;
        int half, side;
    } rows[] = {
        { "attention", 1, 0 }, { "attn", 1, 0 },    { "sa", 1, 0 },          { "mha", 1, 0 },     { "cross", 2, 0 },
        { "encdec", 2, 0 },    { "encoder", 2, 0 }, { "mlp", 3, 0 },         { "ffn", 3, 0 },     { "ff", 3, 0 },
        { "ffw", 3, 0 },       { "forward", 3, 0 }, { "feedforward", 3, 0 }, { "input", 0, 10 },  { "before", 0, 10 },
        { "first", 0, 10 },    { "pre", 0, 10 },    { "after", 0, 20 },      { "final", 0, 20 },  { "output", 0, 20 },
        { "out", 0, 20 },      { "last", 0, 20 },   { "post", 0, 20 },       { "second", 0, 20 },
    };
    pel_str words[ALIGN_WORDS];
    place_words found = { 0 };
    uint32_t n = split(below_block(path), words);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < PEL_COUNT(rows); k++) {
            if (!is_same(words[i], rows[k].word)) continue;
            if (rows[k].side) found.side = rows[k].side;
            if (rows[k].half > found.half) found.half = rows[k].half;
        }
    return found;
}

int pel_align_half(pel_str path) { return places_of(path).half; }

/* Where in a block something is; -1: its words do not say. A word before or after the name of a half
 * ("post_attention") stands beside that half. */
static int place_in_block(pel_str path) {
    place_words p = places_of(path);
    if (!p.half && !p.side) return -1;
    if (!p.half) return p.side == 10 ? 0 : 100;
    return p.half * 10 + (p.side == 10 ? -1 : p.side == 20 ? 1 : 0);
}

int pel_align_place(pel_str path) {
    static const char *const first[] = { "before", "input", "first" }, *const later[] = { "after", "final", "second" };
    pel_str words[ALIGN_WORDS];
    size_t start = path.len;
    while (start && path.ptr[start - 1] != '.' && path.ptr[start - 1] != '/') start--;
    uint32_t n = split(pel_str_from(path, start), words);
    if (n < 2) return 0; /* a number alone is a place in a list, not a name */
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < PEL_COUNT(first); k++) {
            if (is_same(words[i], first[k])) return 1;
            if (is_same(words[i], later[k])) return 2;
        }
    if (!is_digit(words[n - 1].ptr[0])) return 0;
    return pel_str_is(words[n - 1], "1") ? 1 : 2;
}

typedef struct placed {
    pel_str numbers;
    int place;
    uint32_t at;
} placed;

static int by_place(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    int order = pel_align_by_numbers(x->numbers, y->numbers);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Either all names are the same but for numbers, or all are of vectors and have words for their place; two of one place
 * have no order. */
bool pel_align_ranks(pel_ctx *ctx, const align_side *side, const align_list *units, uint32_t *ranks) {
    placed *list = pel_new_array(ctx, units->n + 1, placed);
    bool one_shape = true;
    for (uint32_t i = 0; i < units->n; i++)
        one_shape &= pel_str_eq(side->units.at[units->at[i]].shape, side->units.at[units->at[0]].shape);
    for (uint32_t i = 0; i < units->n; i++) {
        const align_unit *unit = &side->units.at[units->at[i]];
        list[i] = (placed){ .numbers = unit->scope, .at = i };
        if (one_shape) continue;
        list[i].place = unit->is_flat ? place_in_block(unit->path) : -1;
        list[i].numbers = (pel_str){ "", 0 };
        if (list[i].place < 0) return false;
    }
    qsort(list, units->n, sizeof *list, by_place);
    for (uint32_t i = 0; i < units->n; i++) {
        if (i && list[i].place == list[i - 1].place && !pel_align_by_numbers(list[i].numbers, list[i - 1].numbers))
            return false;
        ranks[i] = list[i].at;
    }
    return true;
}

/* Case does not count; "layer_norm" and "LayerNorm" have the same words, "layernorm" has others. */
bool pel_align_same_words(pel_str a, pel_str b) {
    pel_str x[ALIGN_WORDS], y[ALIGN_WORDS];
    uint32_t n = split(below_block(a), x), m = split(below_block(b), y);
    if (n != m || !n) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (x[i].len != y[i].len) return false;
        for (size_t c = 0; c < x[i].len; c++)
            if (lower(x[i].ptr[c]) != lower(y[i].ptr[c])) return false;
    }
    return true;
}
