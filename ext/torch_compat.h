/* All that touches torch. Found by asking torch what it has, never by its version. Recording plain Python
 * works without torch: then `present` is false and nothing is a tensor or a module. */
#ifndef PEL_EXT_TORCH_COMPAT_H
#define PEL_EXT_TORCH_COMPAT_H

#include "ext.h"

typedef struct pel_torch {
    bool present;
    PyObject *torch;
    PyTypeObject *tensor, *parameter, *module, *size, *device, *generator;
    PyObject *own_fields;  /* frozenset: what nn.Module puts into every instance's __dict__ */
    PyObject *disable;     /* torch._C.DisableTorchFunction */
    PyObject *count_modes; /* torch._C._len_torch_function_stack */
    PyObject *is_grad_enabled;
    PyObject *push_mode, *pop_mode;
    PyObject *generator_state;                  /* torch.default_generator.get_state */
    PyObject *call_code;                        /* of nn.Module.__call__ */
    PyGetSetDef *shape, *dtype, *requires_grad; /* of tensors: read without the attribute lookup */
} pel_torch;

/* Fills it; -1 with an exception if torch is there but lacks what is needed. */
int pel_torch_find(pel_torch *torch);
void pel_torch_release(pel_torch *torch);
int pel_torch_visit(pel_torch *torch, visitproc visit, void *arg);

static inline bool pel_is_tensor(const pel_torch *torch, PyObject *object) {
    return torch->present && PyObject_TypeCheck(object, torch->tensor);
}
static inline bool pel_is_module(const pel_torch *torch, PyObject *object) {
    return torch->present && PyObject_TypeCheck(object, torch->module);
}

/* What the log keeps of a tensor. New references; NULL where torch refuses to tell (the error is cleared). */
typedef struct pel_tensor_facts {
    PyObject *shape, *dtype;
    bool requires_grad, is_parameter;
} pel_tensor_facts;
void pel_tensor_look(const pel_torch *torch, PyObject *tensor, pel_tensor_facts *facts);

/* Runs what follows as if there were no function modes and no __torch_function__; NULL, harmless, if that can't be. */
PyObject *pel_disable_torch_function(const pel_torch *torch);
void pel_enable_torch_function(PyObject *guard);

bool pel_grad_enabled(const pel_torch *torch);

#endif
