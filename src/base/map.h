/* A hash map from 64-bit keys (numbers, pointers, interned names) to 64-bit values, in the arena. */
#ifndef PEL_BASE_MAP_H
#define PEL_BASE_MAP_H

#include "base/ctx.h"

typedef struct pel_map_slot {
    uint64_t key, value;
    bool used;
} pel_map_slot;

typedef struct pel_map {
    pel_map_slot *slots;
    uint32_t n, cap;
} pel_map;

/* Sets key to value and returns true if key was new. */
bool pel_map_set(pel_ctx *ctx, pel_map *map, uint64_t key, uint64_t value);
bool pel_map_get(const pel_map *map, uint64_t key, uint64_t *value);
static inline bool pel_map_has(const pel_map *map, uint64_t key) {
    uint64_t ignored;
    return pel_map_get(map, key, &ignored);
}
/* The value of a key that may be absent: fallback then. */
uint64_t pel_map_find(const pel_map *map, uint64_t key, uint64_t fallback);
/* The same where values are pointers (PEL_KEY): NULL then. */
static inline void *pel_map_pointer(const pel_map *map, uint64_t key) {
    return (void *)(uintptr_t)pel_map_find(map, key, 0);
}

#define PEL_KEY(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
