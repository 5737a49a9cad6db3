/* Tensors that no state_dict holds: a program that makes the network has to make them, too. */
#include "base/deflate.h"
#include "interp/record/record.h"

#define MAX_LITERAL 64 /* elements that are written as a list */

typedef enum how_exact { NOT_KNOWN, ROUNDED, EXACT } how_exact;

/* Our arithmetic is in double precision: a number that a float does not hold was rounded otherwise in torch. */
static how_exact exactness(pel_vm *vm, const pel_list *items) {
    how_exact found = EXACT;
    for (uint32_t i = 0; i < items->n; i++) {
        pel_val v = items->at[i];
        if (pel_is_float(v)) {
            double x = ((pel_float *)v)->value;
            if (x != x) return NOT_KNOWN;
            if (x != (double)(float)x) found = ROUNDED;
        } else if (!pel_is_int(v) && v != vm->true_ && v != vm->false_) {
            return NOT_KNOWN;
        }
    }
    return found;
}

static bool is_finite(const pel_list *items) {
    for (uint32_t i = 0; i < items->n; i++)
        if (pel_is_float(items->at[i]) && ((pel_float *)items->at[i])->value - ((pel_float *)items->at[i])->value != 0)
            return false;
    return true;
}

/* ---- as text ---- */

static bool set_literal(pel_recording *rec, pel_id id, pel_val tensor) {
    pel_vm *vm = rec->vm;
    pel_val nested = pel_call_method(vm, tensor, "tolist", NULL, 0);
    pel_val text = nested ? pel_repr(vm, nested) : NULL;
    if (vm->raised) pel_forget(vm);
    if (!text) return false;
    pel_log_tensor *row = &rec->log->tensors.at[id];
    row->formula =
        pel_format(rec->ctx, "torch.tensor(%.*s, dtype=%.*s)", PEL_FMT(pel_text_of(text)), PEL_FMT(row->dtype));
    return true;
}

/* ---- as bytes ---- */

static uint64_t bits_of(double x, uint8_t size) {
    float narrow = (float)x;
    uint64_t bits;
    uint32_t low;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&low, &narrow, sizeof low);
    return size == 8 ? bits : low;
}

/* False for a number that the type does not hold: a fraction, or one that is too large. */
static bool put_element(pel_buf *out, pel_vm *vm, pel_val v, uint8_t size, bool is_float) {
    int64_t whole = v == vm->true_;
    uint64_t bits;
    if (pel_is_float(v)) {
        if (!is_float) return false;
        bits = bits_of(((pel_float *)v)->value, size);
    } else {
        if (v != vm->true_ && v != vm->false_ && !pel_index(vm, v, &whole)) {
            pel_forget(vm);
            return false;
        }
        bits = is_float ? bits_of((double)whole, size) : (uint64_t)whole;
    }
    for (unsigned i = 0; i < size; i++) pel_put_byte(out, (char)(bits >> (8 * i) & 0xFF));
    return true;
}

static bool set_data(pel_recording *rec, pel_id id, const pel_list *items) {
    static const struct {
        const char *name;
        uint8_t size;
        bool is_float;
    } dtypes[] = {
        { "torch.float32", 4, true }, { "torch.float64", 8, true }, { "torch.int64", 8, false },
        { "torch.int32", 4, false },  { "torch.int16", 2, false },  { "torch.int8", 1, false },
        { "torch.uint8", 1, false },  { "torch.bool", 1, false },
    };
    pel_log_tensor *row = &rec->log->tensors.at[id];
    for (size_t i = 0; i < PEL_COUNT(dtypes); i++) {
        if (!pel_str_is(row->dtype, dtypes[i].name)) continue;
        pel_buf bytes = pel_buf_in(rec->ctx);
        for (uint32_t k = 0; k < items->n; k++)
            if (!put_element(&bytes, rec->vm, items->at[k], dtypes[i].size, dtypes[i].is_float)) return false;
        row->data = pel_zlib_base64(rec->ctx, pel_buf_str(&bytes));
        return true;
    }
    return false;
}

void pel_log_elements(pel_recording *rec, pel_id id, pel_val tensor) {
    pel_vm *vm = rec->vm;
    const pel_log_tensor *row = &rec->log->tensors.at[id];
    if (!row->dtype.len || row->formula.len || row->data.len) return;
    pel_val flat = pel_call_method(vm, tensor, "known", NULL, 0);
    if (vm->raised) pel_forget(vm);
    if (!flat || !pel_is_list(flat)) return;
    const pel_list *items = pel_list_at(flat);
    how_exact exact = exactness(vm, items);
    if (exact == NOT_KNOWN) return;
    bool is_short = items->n <= MAX_LITERAL && exact == EXACT && is_finite(items);
    bool is_set = is_short ? set_literal(rec, id, tensor) : set_data(rec, id, items);
    if (!is_set || exact == EXACT) return;
    row = &rec->log->tensors.at[id];
    pel_str path = pel_module_at(rec->log, row->owner)->path;
    pel_push(vm->ctx, &rec->log->assumed,
             pel_format(vm->ctx, "the elements of %.*s%s%s, which torch may round otherwise in the last place",
                        PEL_FMT(path), path.len ? "." : "", row->name ? row->name->text : "a tensor"));
}
