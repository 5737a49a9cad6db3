/* Objects that were seen: numbered, kept alive where possible, and not confused with later ones at their address. */
#include "recorder.h"

#if PEL_CAN_RECORD

static pel_seen *slot_for(const pel_seen_table *table, PyObject *object) {
    size_t mask = table->cap - 1;
    size_t at = (size_t)(((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (table->slots[at].object && table->slots[at].object != object) at = (at + 1) & mask;
    return &table->slots[at];
}

static void grow_seen(pel_recorder *rec) {
    pel_seen_table *table = &rec->objects, larger = { .n = table->n, .cap = table->cap ? table->cap * 2 : 1024 };
    larger.slots = PyMem_Calloc(larger.cap, sizeof *larger.slots);
    if (!larger.slots) pel_throw(rec->ctx, PEL_E_MEMORY, 0, "out of memory");
    for (size_t i = 0; i < table->cap; i++)
        if (table->slots[i].object) *slot_for(&larger, table->slots[i].object) = table->slots[i];
    PyMem_Free(table->slots);
    *table = larger;
}

/* Whether the entry is about the object that is at its address now. */
static bool is_current(const pel_seen *seen) {
    if (!seen->keeper || seen->keeper == seen->object) return true;
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *alive = NULL;
    if (PyWeakref_GetRef(seen->keeper, &alive) < 0) PyErr_Clear();
    Py_XDECREF(alive);
    return alive == seen->object;
#else
    return PyWeakref_GET_OBJECT(seen->keeper) == seen->object;
#endif
}

pel_seen *pel_seen_find(pel_recorder *rec, PyObject *object) {
    if (!rec->objects.cap) return NULL;
    pel_seen *seen = slot_for(&rec->objects, object);
    return seen->object && is_current(seen) ? seen : NULL;
}

pel_seen *pel_seen_entry(pel_recorder *rec, PyObject *object, bool *is_new) {
    if (rec->objects.n * 4 >= rec->objects.cap * 3) grow_seen(rec);
    pel_seen *seen = slot_for(&rec->objects, object);
    *is_new = !seen->object || !is_current(seen);
    if (!*is_new) return seen;
    if (!seen->object) rec->objects.n++;
    PyObject *old = seen->keeper;
    *seen = (pel_seen){ .object = object };
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) {
        seen->keeper = PyWeakref_NewRef(object, NULL);
        if (!seen->keeper) PyErr_Clear();
    }
    Py_XDECREF(old);
    return seen;
}

void pel_seen_keep(pel_seen *seen) {
    PyObject *old = seen->keeper;
    seen->keeper = Py_NewRef(seen->object);
    Py_XDECREF(old);
}

void pel_keep(pel_recorder *rec, PyObject *object) { pel_push(rec->ctx, &rec->kept, Py_NewRef(object)); }

void pel_forget_all(pel_recorder *rec) {
    pel_seen_table table = rec->objects;
    rec->objects = (pel_seen_table){ .slots = NULL };
    for (size_t i = 0; i < table.cap; i++) Py_XDECREF(table.slots[i].keeper);
    PyMem_Free(table.slots);
    uint32_t n = rec->kept.n;
    rec->kept.n = 0;
    for (uint32_t i = 0; i < n; i++) Py_DECREF(rec->kept.at[i]);
}

int pel_visit_seen(pel_recorder *rec, visitproc visit, void *arg) {
    for (size_t i = 0; i < rec->objects.cap; i++) Py_VISIT(rec->objects.slots[i].keeper);
    for (uint32_t i = 0; i < rec->kept.n; i++) Py_VISIT(rec->kept.at[i]);
    return 0;
}

uint64_t pel_seen_number(pel_recorder *rec, pel_seen *seen) {
    if (!seen->number) seen->number = ++rec->last_number;
    return seen->number;
}

uint64_t pel_number_of(pel_recorder *rec, PyObject *object) {
    bool is_new;
    return pel_seen_number(rec, pel_seen_entry(rec, object, &is_new));
}

pel_id pel_remember_value(pel_recorder *rec, PyObject *object, pel_id id) {
    bool is_new;
    pel_seen *seen = pel_seen_entry(rec, object, &is_new);
    pel_seen_keep(seen);
    seen->value = id;
    return id;
}

void pel_seen_anew(pel_recorder *rec, PyObject *object) {
    if (!rec->objects.cap) return;
    pel_seen *seen = slot_for(&rec->objects, object);
    if (seen->object && !seen->keeper) seen->number = 0;
}

#endif
