/* What single instructions do, when that is more than a few lines. NULL or false: raised. */
#ifndef PEL_INTERP_RUN_H
#define PEL_INTERP_RUN_H

#include "interp/vm.h"

pel_val pel_run_format(pel_vm *vm, pel_val value, uint32_t conversion, pel_val spec);
/* Whether a comprehension has taken so much that the rest of the program would go without: raised, as an exception that
 * loses its statement alone. */
bool pel_takes_too_much(pel_vm *vm, const pel_frame *f);
bool pel_run_merge(pel_vm *vm, pel_dict *into, pel_val from, bool no_doubles);
bool pel_run_unpack(pel_vm *vm, pel_val from, uint32_t n, pel_val *out); /* the first is written last */
bool pel_run_unpack_ex(pel_vm *vm, pel_val from, uint32_t before, uint32_t after, pel_val *out);
/* parts: defaults, kwdefaults, closure, closure of annotations */
pel_val pel_run_make_function(pel_vm *vm, pel_frame *frame, pel_codeobj *code, pel_val *parts);
pel_val pel_run_class(pel_vm *vm, pel_val *parts); /* body, name, bases, keywords */
pel_val pel_run_send(pel_vm *vm, pel_val iter, pel_val sent, bool *ended);
pel_val pel_run_get_awaitable(pel_vm *vm, pel_val v, int op);
void pel_run_raise(pel_vm *vm, pel_val what, pel_val cause);
int pel_run_match_exception(pel_vm *vm, pel_val exception, pel_val type);
bool pel_run_match_group(pel_vm *vm, pel_val *at);
bool pel_run_enter(pel_vm *vm, pel_val manager, bool is_async, pel_val *exit, pel_val *entered);
pel_val pel_run_import(pel_vm *vm, pel_frame *frame, pel_val name, uint32_t level, bool wants_last);
bool pel_run_import_star(pel_vm *vm, pel_dict *into, pel_val module);
pel_val pel_run_type_param(pel_vm *vm, pel_val name, uint32_t kind);
int pel_run_match_kind(pel_vm *vm, pel_val v, bool mapping);
pel_val pel_run_match_keys(pel_vm *vm, pel_val subject, pel_val keys);
pel_val pel_run_match_class(pel_vm *vm, pel_val *at, uint32_t positional);
pel_val pel_run_dict_rest(pel_vm *vm, pel_val subject, pel_val keys);

/* run_loop.c: a loop whose count is not known starts (outside: how many were running before), or is left. */
void pel_run_loop_begins(pel_vm *vm, pel_frame *f, pel_val iter, uint32_t outside);
pel_val pel_run_loop_index(pel_vm *vm, const pel_frame *f, pel_val index);
void pel_run_loop_ends(pel_vm *vm, pel_frame *f, pel_val iter);
/* Of while loops; start: their WHILE. A pass begins; the test is a symbol; the loop is left. */
void pel_run_while_begins(pel_vm *vm, const pel_frame *f, const pel_vm_insn *start);
/* Whether that counts as true; -1: variables have become symbols, the test is to be made again from f->next on. */
int pel_run_while_test(pel_vm *vm, pel_frame *f, pel_val symbol);
void pel_run_while_ends(pel_vm *vm, pel_frame *f, const pel_vm_insn *start);

#endif
