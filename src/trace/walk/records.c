/* The records of a lane: which of them mean something, and what a jump says of what it tested. */
#include "trace/walk/walk.h"

const pel_activation *pel_lane_activation(const pel_walk *w, const pel_lane *lane) {
    return &w->log->activations.at[lane->activation];
}

const pel_insn *pel_insn_of(const pel_walk *w, const pel_record *record) {
    const pel_insn *insn = pel_author_insn(w->author, record);
    if (!insn) pel_throw(w->ctx, PEL_E_FORMAT, record->at, "a record lies between instructions");
    return insn;
}

const pel_position *pel_position_of(const pel_walk *w, const pel_record *record) {
    return &w->author->positions[pel_insn_of(w, record) - w->author->insns->at];
}

bool pel_is_conditional(uint16_t op) {
    switch (op) {
    case PEL_OP_JUMP_IF_FALSE_OR_POP:
    case PEL_OP_JUMP_IF_TRUE_OR_POP:
    case PEL_OP_POP_JUMP_BACKWARD_IF_FALSE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_FORWARD_IF_FALSE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_IF_FALSE:
    case PEL_OP_POP_JUMP_IF_NONE:
    case PEL_OP_POP_JUMP_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_IF_TRUE: return true;
    default: return false;
    }
}

/* Whether the jump is taken when the tested value is true; for the None tests: when it is not None. */
static bool jumps_if_true(uint16_t op) {
    switch (op) {
    case PEL_OP_JUMP_IF_TRUE_OR_POP:
    case PEL_OP_POP_JUMP_BACKWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_FORWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_IF_TRUE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_IF_NOT_NONE: return true;
    default: return false;
    }
}

/* Instructions that only move the stack or the program counter about. */
static bool is_bookkeeping(uint16_t op) {
    switch (op) {
    case PEL_OP_NOP:
    case PEL_OP_RESUME:
    case PEL_OP_EXTENDED_ARG:
    case PEL_OP_MAKE_CELL:
    case PEL_OP_COPY_FREE_VARS:
    case PEL_OP_PRECALL:
    case PEL_OP_KW_NAMES:
    case PEL_OP_PUSH_NULL:
    case PEL_OP_POP_TOP:
    case PEL_OP_JUMP_FORWARD:
    case PEL_OP_JUMP_BACKWARD:
    case PEL_OP_JUMP_BACKWARD_NO_INTERRUPT:
    case PEL_OP_JUMP_ABSOLUTE:
    case PEL_OP_GEN_START:
    case PEL_OP_RETURN_GENERATOR:
    case PEL_OP_POP_BLOCK:
    case PEL_OP_SWAP:
    case PEL_OP_COPY:
    case PEL_OP_DUP_TOP:
    case PEL_OP_ROT_TWO:
    case PEL_OP_ROT_THREE:
    case PEL_OP_ROT_FOUR:
    case PEL_OP_TO_BOOL:
    case PEL_OP_PUSH_EXC_INFO:
    case PEL_OP_POP_EXCEPT:
    case PEL_OP_NOT_TAKEN:
    case PEL_OP_POP_ITER:
    case PEL_OP_END_FOR: return true;
    default: return false;
    }
}

const pel_record *pel_next_record(pel_walk *w, pel_lane *lane) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (; lane->at < lane->end; lane->at++) {
        const pel_record *record = &activation->records[lane->at];
        if (record->kind != PEL_R_STEP && record->kind != PEL_R_PUSH) return record;
        const pel_insn *insn = pel_insn_of(w, record);
        if (is_bookkeeping(insn->op)) continue;
        if (w->author->positions[insn - w->author->insns->at].line < 0) continue;
        return record;
    }
    return NULL;
}

bool pel_take_jump(pel_walk *w, pel_lane *lane, bool *truth) {
    const pel_record *record = pel_next_record(w, lane);
    if (!record || record->kind != PEL_R_STEP) return false;
    const pel_insn *insn = pel_insn_of(w, record);
    if (!pel_is_conditional(insn->op)) return false;
    const pel_activation *activation = pel_lane_activation(w, lane);
    uint32_t next = lane->at + 1;
    bool taken = next < activation->n_records &&
                 pel_insn_of(w, &activation->records[next]) == &w->author->insns->at[insn->target];
    /* a jump to the next instruction tells nothing; the compiler makes none */
    *truth = taken == jumps_if_true(insn->op);
    lane->at++;
    return true;
}
