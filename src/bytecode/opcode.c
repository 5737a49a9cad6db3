#include "bytecode/opcode.h"

#include "base/ctx.h"
#include "bytecode/optab.inc"

const pel_opinfo *pel_optab(pel_version version) {
    PEL_ASSERT(version >= PEL_VERSION_MIN && version <= PEL_VERSION_MAX);
    return ops_by_version[version];
}

const char *pel_op_name(pel_op op) {
    static const char *const names[PEL_OP_COUNT] = {
        [PEL_OP_NONE] = "?",
#define OP(name) [PEL_OP_##name] = #name,
#include "bytecode/ops.inc"
#undef OP
    };
    return names[op];
}

int64_t pel_stack_count(pel_stack_sum sum, uint32_t arg) {
    int64_t term = 0;
    switch ((pel_term)sum.term) {
    case PEL_TERM_0: break;
    case PEL_TERM_N: term = arg; break;
    case PEL_TERM_2N: term = 2 * (int64_t)arg; break;
    case PEL_TERM_ODD: term = arg & 1; break;
    case PEL_TERM_LOHI: term = (int64_t)(arg & 255) + (arg >> 8); break;
    case PEL_TERM_FLAGS: term = __builtin_popcount(arg & 15); break;
    case PEL_TERM_THREE: term = arg == 3; break;
    case PEL_TERM_SPEC: term = (arg & 12) == 4; break;
    }
    return sum.base + sum.sign * term;
}

bool pel_op_ends(pel_op op) {
    switch (op) {
    case PEL_OP_RETURN_VALUE:
    case PEL_OP_RETURN_CONST:
    case PEL_OP_RAISE_VARARGS:
    case PEL_OP_RERAISE:
    case PEL_OP_JUMP_FORWARD:
    case PEL_OP_JUMP_ABSOLUTE:
    case PEL_OP_JUMP_BACKWARD:
    case PEL_OP_JUMP_BACKWARD_NO_INTERRUPT: return true;
    default: return false;
    }
}

bool pel_op_halves(pel_op op, pel_op halves[2]) {
    static const struct {
        uint8_t whole, first, second;
    } fused[] = {
        { PEL_OP_LOAD_FAST_LOAD_FAST, PEL_OP_LOAD_FAST, PEL_OP_LOAD_FAST },
        { PEL_OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW, PEL_OP_LOAD_FAST_BORROW, PEL_OP_LOAD_FAST_BORROW },
        { PEL_OP_STORE_FAST_LOAD_FAST, PEL_OP_STORE_FAST, PEL_OP_LOAD_FAST },
        { PEL_OP_STORE_FAST_STORE_FAST, PEL_OP_STORE_FAST, PEL_OP_STORE_FAST },
        { PEL_OP_LOAD_SUPER_ATTR, PEL_OP_CALL, PEL_OP_LOAD_ATTR },
        { PEL_OP_BINARY_SLICE, PEL_OP_BUILD_SLICE, PEL_OP_BINARY_SUBSCR },
        { PEL_OP_STORE_SLICE, PEL_OP_BUILD_SLICE, PEL_OP_STORE_SUBSCR },
    };
    for (size_t i = 0; i < PEL_COUNT(fused); i++) {
        if (fused[i].whole != op) continue;
        halves[0] = fused[i].first;
        halves[1] = fused[i].second;
        return true;
    }
    return false;
}
