/* The tables of the program in the making: classes by their author's, operators, names that are free. */
#include "trace/program.h"

/* What imports bind (write/emit.c), where a nested class or a function of the author's may have the same name. */
bool pel_is_bound_by_imports(pel_str name) {
    static const char *const names[] = { "F", "nn", "np", "torch", "math" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(name, names[i])) return true;
    return false;
}

static bool is_taken(const pel_program *program, pel_name name) {
    if (pel_is_bound_by_imports(pel_name_str(name))) return true;
    for (uint32_t i = 0; i < program->functions.n; i++)
        if (!program->functions.at[i]->class && program->functions.at[i]->name == name) return true;
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->name == name) return true;
    for (uint32_t i = 0; i < program->operators.n; i++)
        if (program->operators.at[i].name == name) return true;
    return false;
}

pel_name pel_unused_name(pel_ctx *ctx, const pel_program *program, pel_name wish) {
    pel_name name = wish;
    for (unsigned k = 2; is_taken(program, name); k++) {
        pel_str text = pel_format(ctx, "%s_%u", wish->text, k);
        name = pel_intern_str(ctx, text);
    }
    return name;
}

pel_program_class *pel_class_row(pel_ctx *ctx, pel_program *program, pel_id class) {
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->class == class) return program->classes.at[i];
    pel_program_class *row = pel_new(ctx, pel_program_class);
    row->class = class;
    row->name = pel_unused_name(ctx, program, pel_class_at(program->log, class)->name);
    pel_push(ctx, &program->classes, row);
    return row;
}

/* The next line of a text, which is cut off. */
static pel_str next_line(pel_str *text) {
    size_t n = 0;
    while (n < text->len && text->ptr[n] != '\n') n++;
    pel_str line = pel_str_cut(*text, 0, n);
    *text = pel_str_from(*text, n < text->len ? n + 1 : n);
    return line;
}

static uint32_t number_of(pel_str digits) {
    uint32_t number = 0;
    for (size_t i = 0; i < digits.len; i++) number = number * 10 + (uint32_t)(digits.ptr[i] - '0');
    return number;
}

pel_operator *pel_operator_row(pel_ctx *ctx, pel_program *program, pel_str path, pel_id code) {
    for (uint32_t i = 0; i < program->operators.n; i++)
        if (pel_str_eq(program->operators.at[i].path, path)) return &program->operators.at[i];
    pel_str wanted = pel_format(ctx, "operator %.*s", PEL_FMT(path));
    for (uint32_t i = 0; program->known && i < program->known->class_facts.n; i++) {
        pel_str fact = program->known->class_facts.at[i];
        if (!pel_str_eq(next_line(&fact), wanted)) continue;
        size_t dot = path.len;
        while (dot > 0 && path.ptr[dot - 1] != '.') dot--;
        pel_str last = pel_str_from(path, dot);
        pel_name wish = pel_intern_str(ctx, last);
        pel_operator row = { .path = path, .code = code, .schema = next_line(&fact) };
        row.name = pel_unused_name(ctx, program, wish);
        for (int part = 0; part < PEL_N_OPERATOR_PARTS; part++) row.lines[part] = number_of(next_line(&fact));
        pel_push(ctx, &program->operators, row);
        return &program->operators.at[program->operators.n - 1];
    }
    return NULL;
}
