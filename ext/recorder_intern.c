/* Values of the log by their content: equal ones are one row. */
#include "recorder.h"

#if PEL_CAN_RECORD

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_str(uint64_t hash, pel_str s) {
    return mix(hash, pel_hash(s.ptr, s.len) + ((uint64_t)s.len << 32));
}

static uint64_t hash_const(uint64_t hash, const pel_const *c) {
    hash = mix(hash, (uint64_t)c->kind);
    uint64_t bits;
    switch (c->kind) {
    case PEL_CONST_INT: return hash_str(mix(hash, (uint64_t)c->integer.small), c->integer.digits);
    case PEL_CONST_COMPLEX:
        memcpy(&bits, &c->imag, sizeof bits);
        hash = mix(hash, bits);
        /* fall through */
    case PEL_CONST_FLOAT: memcpy(&bits, &c->real, sizeof bits); return mix(hash, bits);
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: return hash_str(hash, c->text);
    default: return hash;
    }
}

static uint64_t hash_value(const pel_value *v) {
    uint64_t hash = mix(v->kind, v->object + v->truncated);
    if (v->kind == PEL_V_CONST) return hash_const(hash, v->constant);
    if (pel_value_has_text(v->kind)) return hash_str(hash, v->text);
    hash = mix(hash, v->class);
    if (pel_value_has_items(v->kind))
        for (uint32_t i = 0; i < v->n; i++) hash = mix(hash, v->items[i]);
    return hash;
}

static bool const_equal(const pel_const *a, const pel_const *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) { /* floats by their bits: the payload of a NaN and the sign of a zero count */
    case PEL_CONST_COMPLEX:
        if (memcmp(&a->imag, &b->imag, sizeof a->imag) != 0) return false; /* fall through */
    case PEL_CONST_FLOAT: return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    default: return pel_const_same(a, b);
    }
}

static bool value_equal(const pel_value *a, const pel_value *b) {
    if (a->kind != b->kind || a->object != b->object || a->truncated != b->truncated) return false;
    if (a->kind == PEL_V_CONST) return const_equal(a->constant, b->constant);
    if (pel_value_has_text(a->kind)) return pel_str_eq(a->text, b->text);
    if (a->class != b->class) return false;
    if (!pel_value_has_items(a->kind)) return true;
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof *a->items) == 0);
}

pel_id pel_add_value(pel_recorder *rec, const pel_value *value) {
    pel_push(rec->ctx, &rec->log->values, *value);
    return rec->log->values.n - 1;
}

static const pel_const *copy_const(pel_ctx *ctx, const pel_const *constant) {
    pel_const *copy = pel_new(ctx, pel_const);
    *copy = *constant;
    if (copy->kind == PEL_CONST_STR || copy->kind == PEL_CONST_BYTES) copy->text = pel_str_copy(ctx, copy->text);
    return copy;
}

pel_id pel_intern_value(pel_recorder *rec, const pel_value *value) {
    uint64_t hash = hash_value(value);
    pel_id first = (pel_id)pel_map_find(&rec->values, hash, 0);
    for (pel_id id = first; id; id = rec->next_same_hash.at[id])
        if (value_equal(&rec->log->values.at[id], value)) return id;
    pel_value copy = *value;
    if (value->kind == PEL_V_CONST) {
        copy.constant = copy_const(rec->ctx, value->constant);
    } else if (pel_value_has_items(value->kind) && value->n) {
        copy.items = pel_alloc_raw(rec->ctx, value->n * sizeof *value->items);
        memcpy(copy.items, value->items, value->n * sizeof *value->items);
    } else if (pel_value_has_text(value->kind)) {
        copy.text = pel_str_copy(rec->ctx, value->text);
    }
    pel_id id = pel_add_value(rec, &copy);
    while (rec->next_same_hash.n <= id) pel_push(rec->ctx, &rec->next_same_hash, 0);
    rec->next_same_hash.at[id] = first;
    pel_map_set(rec->ctx, &rec->values, hash, id);
    return id;
}

pel_id pel_intern_const(pel_recorder *rec, const pel_const *constant) {
    return pel_intern_value(rec, &(pel_value){ .kind = PEL_V_CONST, .constant = constant });
}

pel_id pel_intern_value_text(pel_recorder *rec, pel_value_kind kind, pel_str text) {
    return pel_intern_value(rec, &(pel_value){ .kind = (uint8_t)kind, .text = text });
}

#endif
