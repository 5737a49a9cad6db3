/* Decoded instructions shown: basic blocks, where they are entered from, and where an exception goes. */
#ifndef PEL_BYTECODE_DIS_H
#define PEL_BYTECODE_DIS_H

#include "base/json.h"
#include "bytecode/decode.h"

/* A code object and, after it, those among its constants. Throws what pel_decode throws. */
void pel_dis_text(pel_ctx *ctx, const pel_code_object *code, pel_buf *out);
/* The blocks of one code object. */
void pel_dis_blocks(pel_ctx *ctx, const pel_code_object *code, pel_buf *out);
/* {"name", "qualname", "python", "firstlineno", "flags", ..., "blocks": [{"instructions", "from", "handler"}], "code":
 * [...]} */
void pel_dis_json(pel_ctx *ctx, const pel_code_object *code, pel_json *json);

/* "x", "'text'", "-> 12", "1": what the argument of an instruction says to a person. Nothing if it has none. */
void pel_put_argument(const pel_insns *insns, const pel_insn *insn, pel_buf *out);

#endif
