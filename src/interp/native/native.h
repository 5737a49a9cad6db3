/* What the native modules share. */
#ifndef PEL_INTERP_NATIVE_H
#define PEL_INTERP_NATIVE_H

#include "interp/vm.h"

pel_val pel_frame_picture(pel_vm *vm, uint32_t depth); /* as sys._getframe */
pel_val pel_regex_compile(pel_vm *vm, pel_val pattern, int64_t flags);
pel_val pel_json_value(pel_vm *vm, pel_str text);
pel_val pel_hash_text(pel_vm *vm, pel_str text, pel_str name);
void pel_init_regex(pel_vm *vm);

#endif
