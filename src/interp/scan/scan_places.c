/* Whose lines a forward runs: which operation of the author's gave a tensor its shape, and where an error is the
 * author's. Lines of torch and of libraries that only help (einops) are nobody's fault. */
#include "interp/record/record.h"

/* ---- the author's files ---- */

/* Whether a file is torch's own, by the root that it was found in. */
static bool is_of_torch(pel_vm *vm, pel_str file) { return pel_str_is(pel_library_of(vm, file), "torch"); }

/* The libraries whose modules have others inside, or parameters: their authors built something. The program's own files
 * are an author's always. */
static bool builds_modules(pel_scanner *scanner, pel_str library) {
    pel_vm *vm = scanner->vm;
    for (uint32_t i = 0; i < scanner->order.n; i++) {
        pel_val self = scanner->order.at[i]->self;
        pel_val inner = self->attrs ? pel_dict_get_c(vm, self->attrs, "_modules") : NULL;
        const pel_codeobj *body = self->type->made_by;
        pel_val weights = self->attrs ? pel_dict_get_c(vm, self->attrs, "_parameters") : NULL;
        bool is_builder = inner && pel_is_dict(inner) && pel_dict_at(inner)->live;
        is_builder |= weights && pel_is_dict(weights) && pel_dict_at(weights)->live;
        if (body && !body->is_stub && is_builder && pel_str_eq(pel_library_of(vm, body->file), library)) return true;
    }
    return false;
}

bool pel_is_author(pel_scanner *scanner, const pel_codeobj *code) {
    pel_vm *vm = scanner->vm;
    if (code->is_stub) return false;
    uint64_t known = pel_map_find(&scanner->authors, PEL_KEY(code), 0);
    if (known) return known == 2;
    pel_str library = pel_library_of(vm, code->file);
    bool is_author = !library.len || (!is_of_torch(vm, code->file) && builds_modules(scanner, library));
    pel_map_set(vm->ctx, &scanner->authors, PEL_KEY(code), is_author ? 2 : 1);
    return is_author;
}

pel_place pel_author_place(pel_scanner *scanner) {
    for (const pel_frame *frame = scanner->vm->frame; frame; frame = frame->back)
        if (pel_is_author(scanner, frame->code))
            return (pel_place){ .file = frame->code->file, .line = pel_frame_line(frame) };
    return (pel_place){ 0 };
}

/* ---- what gives a shape ---- */

/* __matmul__ -> matmul */
static pel_str plain_name(pel_str name) {
    while (name.len && name.ptr[0] == '_') name = pel_str_from(name, 1);
    while (name.len && name.ptr[name.len - 1] == '_') name.len--;
    return name;
}

/* A module of torch's is called by its name in the network; else it is the function that the author's line calls. */
static pel_val name_here(pel_scanner *scanner) {
    pel_vm *vm = scanner->vm;
    const pel_frame *called = vm->frame;
    while (called && called->back && !pel_is_author(scanner, called->back->code)) called = called->back;
    if (scanner->running.n) {
        pel_val module = scanner->running.at[scanner->running.n - 1].module;
        const pel_codeobj *body = module->type->made_by;
        uint64_t at = pel_map_find(&scanner->names, PEL_KEY(module), UINT64_MAX);
        bool is_own = body && !body->is_stub && pel_is_author(scanner, body);
        if (!is_own && at != UINT64_MAX) return pel_new_text(vm, scanner->paths.at[at]);
    }
    return called ? pel_new_text(vm, plain_name(pel_text_of(called->code->name))) : vm->empty_str;
}

/* (name, file, line) of the operation that runs now. */
pel_val pel_shaped_here(pel_vm *vm) {
    pel_scanner *scanner = vm->scan;
    pel_place place = pel_author_place(scanner);
    if (!place.line && scanner->running.n) { /* a Sequential that nobody calls: where its layer was made */
        const pel_birth *birth = pel_birth_of(scanner, scanner->running.at[scanner->running.n - 1].module);
        if (birth) place = (pel_place){ .file = birth->file, .line = birth->line };
    }
    if (!place.line) return vm->none;
    pel_val parts[] = { name_here(vm->scan), pel_new_text(vm, place.file), pel_int_of(vm, place.line) };
    return pel_tuple_of(vm, parts, PEL_COUNT(parts));
}

bool pel_shaped_by(pel_scanner *scanner, pel_val tensor, pel_str *name, pel_place *place) {
    pel_val by = tensor->attrs ? pel_dict_get_c(scanner->vm, tensor->attrs, "_shaped_by") : NULL;
    int64_t line;
    if (!by || !pel_is_tuple(by) || pel_tuple_at(by)->n != 3) return false;
    const pel_val *parts = pel_tuple_at(by)->at;
    if (!pel_is_str(parts[0]) || !pel_is_str(parts[1]) || !pel_to_i64(parts[2], &line)) return false;
    *name = pel_text_of(parts[0]);
    *place = (pel_place){ .file = pel_text_of(parts[1]), .line = (uint32_t)line };
    return true;
}
