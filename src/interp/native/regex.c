/* Compiled patterns as values; src/python/regex.c does the matching. */
#include "python/regex.h"

#include "interp/native/native.h"

typedef struct compile_job {
    pel_str pattern;
    uint32_t flags;
    bool is_bytes;
    pel_regex *regex;
} compile_job;

static void compile_body(pel_ctx *ctx, void *arg) {
    compile_job *job = arg;
    job->regex = pel_regex_new(ctx, job->pattern, job->flags, job->is_bytes);
}

pel_val pel_regex_compile(pel_vm *vm, pel_val pattern, int64_t flags) {
    compile_job job = { pel_text_of(pattern), (uint32_t)flags, !pel_is_str(pattern), NULL };
    pel_err err;
    if (!pel_attempt(vm->ctx, compile_body, &job, &err))
        return pel_raise(vm, vm->types.ValueError, "%s at position %llu", err.what, (unsigned long long)err.at);
    pel_regex_object *object = pel_make_object(vm, vm->types.regex, sizeof *object);
    object->program = job.regex;
    object->pattern = pattern;
    object->flags = pel_int_of(vm, job.regex->flags);
    object->groupindex = pel_new_dict(vm);
    for (uint32_t i = 0; i < job.regex->names.n; i++)
        pel_dict_set_str(vm, pel_dict_at(object->groupindex), pel_name_val(vm, job.regex->names.at[i].name),
                         pel_from_small(job.regex->names.at[i].group));
    return &object->head;
}

/* Positions of Python count characters, those of the matcher bytes. */
static int64_t to_bytes(const pel_string *s, int64_t character) {
    if (s->is_ascii || s->head.type->layout == PEL_L_BYTES) return character;
    int64_t at = 0;
    while (character > 0 && at < s->len) {
        at++;
        while (at < s->len && ((unsigned char)s->text[at] & 0xC0) == 0x80) at++;
        character--;
    }
    return at;
}
static int64_t to_characters(const pel_string *s, int64_t byte) {
    if (s->is_ascii || s->head.type->layout == PEL_L_BYTES || byte < 0) return byte;
    int64_t count = 0;
    for (int64_t i = 0; i < byte; i++) count += ((unsigned char)s->text[i] & 0xC0) != 0x80;
    return count;
}

static pel_val match(pel_vm *vm, pel_val *args, uint32_t n, pel_regex_mode mode) {
    pel_regex_object *self = (pel_regex_object *)args[0];
    if (!pel_is_str(args[1]) && !pel_is(args[1], PEL_L_BYTES))
        return pel_raise(vm, vm->types.TypeError, "expected string or bytes-like object, got '%s'",
                         pel_type_text(vm, args[1]));
    pel_string *s = pel_string_at(args[1]);
    int64_t start = 0, end = s->chars;
    if (n > 2 && !pel_index(vm, args[2], &start)) return NULL;
    if (n > 3 && args[3] != vm->none && !pel_index(vm, args[3], &end)) return NULL;
    if (start < 0) start = 0;
    if (end > s->chars) end = s->chars;
    if (start > end) return vm->none;
    uint32_t count = 2 * (self->program->n_groups + 1);
    int64_t *spans = pel_new_array(vm->ctx, count, int64_t);
    uint64_t left = vm->max_steps > vm->steps ? vm->max_steps - vm->steps : 0, before = left;
    bool found = pel_regex_run(vm->ctx, self->program, pel_text_of(args[1]), (size_t)to_bytes(s, start),
                               (size_t)to_bytes(s, end), mode, spans, &left);
    vm->steps += before - left;
    if (!found) return vm->none;
    pel_val tuple = pel_tuple_of(vm, NULL, count);
    for (uint32_t i = 0; i < count; i++) pel_tuple_at(tuple)->at[i] = pel_int_of(vm, to_characters(s, spans[i]));
    return tuple;
}

static pel_val regex_search(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    return match(vm, args, n, PEL_RE_SEARCH);
}
static pel_val regex_match(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    return match(vm, args, n, PEL_RE_MATCH);
}
static pel_val regex_fullmatch(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    return match(vm, args, n, PEL_RE_FULLMATCH);
}
static pel_val get_groups(pel_vm *vm, pel_val self) {
    return pel_int_of(vm, ((pel_regex_object *)self)->program->n_groups);
}
static pel_val get_groupindex(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_regex_object *)self)->groupindex;
}
static pel_val get_pattern(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_regex_object *)self)->pattern;
}
static pel_val get_flags(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_regex_object *)self)->flags;
}

void pel_init_regex(pel_vm *vm) {
    static const pel_native_row rows[] = { { "search", regex_search, 2, 4 },
                                           { "match", regex_match, 2, 4 },
                                           { "fullmatch", regex_fullmatch, 2, 4 },
                                           { NULL } };
    pel_add_methods(vm, vm->types.regex, rows);
    pel_add_getset(vm, vm->types.regex, "groups", get_groups, NULL);
    pel_add_getset(vm, vm->types.regex, "groupindex", get_groupindex, NULL);
    pel_add_getset(vm, vm->types.regex, "pattern", get_pattern, NULL);
    pel_add_getset(vm, vm->types.regex, "flags", get_flags, NULL);
}
