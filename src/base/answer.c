#include "base/answer.h"

static const struct {
    const char *name;
    int exit_code;
} kinds[] = {
    [PEL_PROVED] = { "proved", 0 },
    [PEL_CHECKED] = { "checked", 0 },
    [PEL_UNDECIDED] = { "unknown", 3 },
    [PEL_CONTRADICTED] = { "wrong", 4 },
};

/* A claim without evidence is no claim. */
static pel_answer answer(pel_ctx *ctx, pel_answer_kind kind, pel_evidence evidence) {
    pel_answer made = { .kind = kind };
    if (!evidence.what.len) {
        if (made.kind < PEL_UNDECIDED) made.kind = PEL_UNDECIDED;
        evidence.what = PEL_STR("no evidence was given");
    }
    pel_push(ctx, &made.evidence, evidence);
    return made;
}

pel_answer pel_proved(pel_ctx *ctx, pel_evidence condition) { return answer(ctx, PEL_PROVED, condition); }
pel_answer pel_checked(pel_ctx *ctx, pel_evidence run) { return answer(ctx, PEL_CHECKED, run); }
pel_answer pel_undecided(pel_ctx *ctx, pel_evidence reason) { return answer(ctx, PEL_UNDECIDED, reason); }
pel_answer pel_contradicted(pel_ctx *ctx, pel_evidence difference) { return answer(ctx, PEL_CONTRADICTED, difference); }

pel_answer pel_answer_join(pel_ctx *ctx, const pel_answer *a, const pel_answer *b) {
    if (a->kind != b->kind) return a->kind > b->kind ? *a : *b;
    pel_answer both = { .kind = a->kind };
    for (uint32_t i = 0; i < a->evidence.n; i++) pel_push(ctx, &both.evidence, a->evidence.at[i]);
    for (uint32_t i = 0; i < b->evidence.n; i++) pel_push(ctx, &both.evidence, b->evidence.at[i]);
    return both;
}

const char *pel_answer_name(pel_answer_kind kind) { return kinds[kind].name; }

int pel_answer_exit(pel_answer_kind kind) { return kinds[kind].exit_code; }

void pel_answer_json(pel_json *json, const pel_answer *made) {
    pel_json_object(json);
    pel_json_key(json, "answer"), pel_json_c(json, pel_answer_name(made->kind));
    pel_json_key(json, "evidence");
    pel_json_array(json);
    for (uint32_t i = 0; i < made->evidence.n; i++) {
        const pel_evidence *row = &made->evidence.at[i];
        pel_json_object(json);
        pel_json_key(json, "what"), pel_json_str(json, row->what);
        pel_json_key(json, "where"), pel_json_str(json, row->where);
        pel_json_key(json, "at"), pel_json_int(json, (int64_t)row->at);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_end_object(json);
}
