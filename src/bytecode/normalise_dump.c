/* The canonical form as text, and its checker. */
#include "bytecode/normalise.h"

typedef enum says { says_none, says_arg, says_name, says_value, says_jump } says;

static const struct {
    const char *name;
    says says;
} ops[PEL_I_COUNT] = {
#define X(name, what) [PEL_I_##name] = { #name, says_##what },
    PEL_IOPS(X)
#undef X
};

void pel_canon_check(pel_ctx *ctx, const pel_canon *canon) {
    for (uint32_t i = 0; i < canon->n; i++) {
        const pel_ins *ins = &canon->at[i];
        bool jumps = ins->op < PEL_I_COUNT && ops[ins->op].says == says_jump;
        const char *wrong = NULL;
        if (ins->op >= PEL_I_COUNT)
            wrong = "no such instruction";
        else if (jumps && ins->target >= canon->n)
            wrong = "a jump out of the code";
        else if (!jumps && ins->target != PEL_NONE)
            wrong = "a target without a jump";
        else if (ins->cover != PEL_NONE && ins->cover >= canon->n_guards)
            wrong = "covered by no handler";
        else if (i + 1 == canon->n && !pel_ends(ins))
            wrong = "the end is reached";
        else if (i + 1 == canon->n_main && !pel_ends(ins))
            wrong = "the main path runs into handlers";
        if (wrong) pel_throw(ctx, PEL_E_INCOMPLETE, ins->offset, "normalise: instruction %u: %s", i, wrong);
    }
}

/* Somebody who looks for a fault compares two dumps, so every member that later passes read has to show here. */
void pel_canon_dump(const pel_canon *canon, pel_buf *out) {
    static const char *const scopes[] = { "", " (cell)", " (class, cell)", " (global)", " (name)" };
    static const char *const kinds[] = { "except", "except*", "finally", "with" };
    for (uint32_t i = 0; i < canon->n; i++) {
        const pel_ins *ins = &canon->at[i];
        if (i == canon->n_main) pel_put_c(out, "handlers\n");
        for (uint32_t g = 0; g < canon->n_guards; g++)
            if (canon->guards[g].target == i) pel_putf(out, "  handler %u, %s\n", g, kinds[canon->guards[g].kind]);
        pel_putf(out, "%c%4u ", ins->is_target ? '>' : ' ', i);
        if (ins->cover != PEL_NONE) pel_putf(out, "[%u] ", ins->cover);
        pel_put_c(out, ops[ins->op].name);
        if (ins->sub) pel_putf(out, ".%u", ins->sub);
        if (ins->flag) pel_put_c(out, "!");
        if (ins->dead) pel_put_c(out, " (dead)");
        switch (ops[ins->op].says) {
        case says_none: break;
        case says_arg: pel_putf(out, " %u", ins->arg); break;
        case says_name: pel_putf(out, " %.*s", PEL_FMT(pel_name_str(ins->name))); break;
        case says_value:
            pel_put_byte(out, ' ');
            if (ins->value->kind == PEL_CONST_CODE)
                pel_put_c(out, "<code>");
            else
                pel_put_repr(out, ins->value);
            break;
        case says_jump: pel_putf(out, " -> %u", ins->target); break;
        }
        if (ops[ins->op].says == says_name && ins->op >= PEL_I_LOAD && ins->op <= PEL_I_DELETE)
            pel_put_c(out, scopes[ins->sub]);
        pel_put_byte(out, '\n');
    }
    for (uint32_t g = 0; g < canon->n_guards; g++)
        if (canon->guards[g].kind == PEL_G_WITH)
            pel_putf(out, "with %u goes on at %d\n", g, (int)canon->guards[g].exit);
}
