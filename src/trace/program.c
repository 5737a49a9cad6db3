/* The tables of the program in the making: classes by their author's, names that are free. */
#include "trace/program.h"

static bool is_taken(const pel_program *program, pel_name name) {
    for (uint32_t i = 0; i < program->functions.n; i++)
        if (!program->functions.at[i]->class && program->functions.at[i]->name == name) return true;
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->name == name) return true;
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
