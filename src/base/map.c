#include "base/map.h"

static uint32_t slot_of(uint64_t key, uint32_t cap) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(key >> 32) & (cap - 1);
}

static pel_map_slot *probe(pel_map_slot *slots, uint32_t cap, uint64_t key) {
    uint32_t slot = slot_of(key, cap);
    while (slots[slot].used && slots[slot].key != key) slot = (slot + 1) & (cap - 1);
    return &slots[slot];
}

static void grow(pel_ctx *ctx, pel_map *map) {
    if (map->cap > UINT32_MAX / 2) pel_throw(ctx, PEL_E_TOO_BIG, 0, "a map has more than %u keys", map->n);
    uint32_t cap = map->cap ? map->cap * 2 : 16;
    pel_map_slot *slots = pel_new_array(ctx, cap, pel_map_slot);
    for (uint32_t i = 0; i < map->cap; i++)
        if (map->slots[i].used) *probe(slots, cap, map->slots[i].key) = map->slots[i];
    map->slots = slots;
    map->cap = cap;
}

bool pel_map_set(pel_ctx *ctx, pel_map *map, uint64_t key, uint64_t value) {
    if (map->n * 4 >= map->cap * 3) grow(ctx, map);
    pel_map_slot *slot = probe(map->slots, map->cap, key);
    bool is_new = !slot->used;
    *slot = (pel_map_slot){ key, value, true };
    if (is_new) map->n++;
    return is_new;
}

bool pel_map_get(const pel_map *map, uint64_t key, uint64_t *value) {
    if (!map->cap) return false;
    const pel_map_slot *slot = probe(map->slots, map->cap, key);
    if (!slot->used) return false;
    *value = slot->value;
    return true;
}

uint64_t pel_map_find(const pel_map *map, uint64_t key, uint64_t fallback) {
    pel_map_get(map, key, &fallback);
    return fallback;
}
