#include "io/source.h"

#include "base/map.h"

#define MOST_AHEAD 16 /* blocks: a megabyte */

typedef struct extent {
    uint64_t first; /* block */
    uint64_t size;  /* in bytes */
    char *at;
} extent;

struct pel_input_cache {
    pel_model_source *source;
    char *etag; /* as it was at the first read; NULL: nothing was read */
    size_t etag_len;
    pel_map by_block; /* block -> index of the extent that has it, the largest so far */
    PEL_VEC(extent) extents;
    uint64_t next, run; /* the last block of the last request, and how many it had */
    bool has_failed;
    pel_err failure; /* the first */
};

pel_input pel_input_from(pel_ctx *ctx, pel_model_source *source) {
    if (source->size > INT64_MAX) pel_throw(ctx, PEL_E_TOO_BIG, 0, "no file is that large");
    pel_input_cache *cache = pel_new(ctx, pel_input_cache);
    cache->source = source;
    return (pel_input){ .size = source->size, .cache = cache };
}

const pel_input *pel_input_of_file(pel_ctx *ctx, const pel_model_file *file) {
    pel_input *input = pel_new(ctx, pel_input);
    *input =
        file->source ? pel_input_from(ctx, file->source) : pel_input_of((pel_str){ file->bytes.ptr, file->bytes.len });
    return input;
}

_Noreturn static void fail(pel_ctx *ctx, pel_input_cache *cache, pel_code code, uint64_t at, const char *what) {
    if (!cache->has_failed) {
        cache->has_failed = true;
        cache->failure = (pel_err){ .code = code, .at = at };
        memcpy(cache->failure.what, what, strlen(what) + 1); /* all of them are short, and our own */
    }
    pel_throw(ctx, cache->failure.code, cache->failure.at, "%s", cache->failure.what);
}

void pel_input_check(pel_ctx *ctx, const pel_input *input) {
    if (input->cache && input->cache->has_failed)
        fail(ctx, input->cache, input->cache->failure.code, input->cache->failure.at, input->cache->failure.what);
}

/* A file that is written anew while it is read must not be two files in one answer. */
static void check_version(pel_ctx *ctx, pel_input_cache *cache, uint64_t at) {
    const pel_text *now = &cache->source->etag;
    if (!cache->etag) {
        cache->etag = pel_alloc_raw(ctx, now->len + 1);
        if (now->len) memcpy(cache->etag, now->ptr, now->len);
        cache->etag_len = now->len;
    }
    if (!pel_str_eq((pel_str){ cache->etag, cache->etag_len }, (pel_str){ now->ptr, now->len }))
        fail(ctx, cache, PEL_E_READ, at, "the file changed while it was read");
}

/* One request. at: from the start of what the callback reads. */
static void ask(pel_ctx *ctx, pel_input_cache *cache, uint64_t at, char *to, size_t size) {
    pel_model_source *source = cache->source;
    if (cache->has_failed) fail(ctx, cache, PEL_E_READ, at, "");
    if (source->max_bytes && (source->n_bytes > source->max_bytes || size > source->max_bytes - source->n_bytes))
        fail(ctx, cache, PEL_E_TOO_BIG, at, "this needs more bytes of the file than the limit allows");
    source->n_requests++;
    source->n_bytes += size;
    if (!source->read_at(source->arg, at, to, size)) fail(ctx, cache, PEL_E_READ, at, "the file can't be read here");
    check_version(ctx, cache, at);
}

/* Who reads on where the last request ended will read on: each time twice as much, up to a limit. */
static uint64_t read_ahead(pel_input_cache *cache, uint64_t last) {
    uint64_t end = (cache->source->size - 1) / PEL_INPUT_BLOCK;
    bool goes_on = cache->run && last == cache->next + 1;
    cache->run = !goes_on ? 1 : cache->run < MOST_AHEAD ? 2 * cache->run : MOST_AHEAD;
    last = end - last < cache->run - 1 ? end : last + cache->run - 1;
    cache->next = last;
    return last;
}

/* The blocks from first to last side by side: those that are known are copied, each run of others is one request. */
static const extent *gather(pel_ctx *ctx, pel_input_cache *cache, uint64_t first, uint64_t last) {
    uint64_t begin = first * PEL_INPUT_BLOCK, end = (last + 1) * PEL_INPUT_BLOCK, found;
    if (end > cache->source->size) end = cache->source->size;
    extent made = { .first = first, .size = end - begin, .at = pel_alloc_raw(ctx, end - begin) };
    for (uint64_t block = first; block <= last;) {
        uint64_t at = block * PEL_INPUT_BLOCK, stop = block;
        if (pel_map_get(&cache->by_block, block, &found)) {
            const extent *known = &cache->extents.at[found];
            uint64_t size = end - at < PEL_INPUT_BLOCK ? end - at : PEL_INPUT_BLOCK;
            memcpy(made.at + (at - begin), known->at + (block - known->first) * PEL_INPUT_BLOCK, (size_t)size);
            block++;
            continue;
        }
        while (stop <= last && !pel_map_has(&cache->by_block, stop)) stop++;
        uint64_t until = stop * PEL_INPUT_BLOCK < end ? stop * PEL_INPUT_BLOCK : end;
        ask(ctx, cache, at, made.at + (at - begin), (size_t)(until - at));
        block = stop;
    }
    for (uint64_t block = first; block <= last; block++) pel_map_set(ctx, &cache->by_block, block, cache->extents.n);
    pel_push(ctx, &cache->extents, made);
    return &cache->extents.at[cache->extents.n - 1];
}

_Noreturn static void fail_outside(pel_ctx *ctx, uint64_t offset) {
    pel_throw(ctx, PEL_E_FORMAT, offset, "truncated: bytes are needed that lie after the end of the file");
}

pel_str pel_input_view(pel_ctx *ctx, const pel_input *input, uint64_t offset, uint64_t size) {
    if (!pel_input_has(input, offset, size)) fail_outside(ctx, offset);
    if (input->near) return (pel_str){ input->near + offset, (size_t)size };
    if (!size) return (pel_str){ "", 0 };
    pel_input_cache *cache = input->cache;
    uint64_t at = input->start + offset, first = at / PEL_INPUT_BLOCK, last = (at + size - 1) / PEL_INPUT_BLOCK, found;
    const extent *where = NULL;
    if (pel_map_get(&cache->by_block, first, &found)) where = &cache->extents.at[found];
    if (!where || at + size > where->first * PEL_INPUT_BLOCK + where->size)
        where = gather(ctx, cache, first, read_ahead(cache, last));
    return (pel_str){ where->at + (at - where->first * PEL_INPUT_BLOCK), (size_t)size };
}

pel_str pel_input_head(pel_ctx *ctx, const pel_input *input) {
    return pel_input_view(ctx, input, 0, input->size < PEL_INPUT_BLOCK ? input->size : PEL_INPUT_BLOCK);
}

bool pel_input_without_places(const pel_input *input) { return input->cache && input->cache->source->without_places; }

pel_str pel_input_whole(pel_ctx *ctx, const pel_input *input) { return pel_input_view(ctx, input, 0, input->size); }

pel_input pel_input_part(pel_ctx *ctx, const pel_input *input, uint64_t offset, uint64_t size) {
    if (!pel_input_has(input, offset, size)) fail_outside(ctx, offset);
    if (input->near) return (pel_input){ .size = size, .near = input->near + offset };
    return (pel_input){ .size = size, .start = input->start + offset, .cache = input->cache };
}

void pel_input_copy(pel_ctx *ctx, const pel_input *input, uint64_t offset, char *to, size_t size) {
    if (!pel_input_has(input, offset, size)) fail_outside(ctx, offset);
    if (!size) return;
    if (input->near)
        memcpy(to, input->near + offset, size);
    else
        ask(ctx, input->cache, input->start + offset, to, size);
}
