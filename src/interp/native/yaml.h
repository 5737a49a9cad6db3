/* YAML of configuration files -> values. */
#ifndef PEL_INTERP_YAML_H
#define PEL_INTERP_YAML_H

#include "interp/vm.h"

/* A list of the documents; NULL: ValueError was raised. plain_exponents: 1e-3 is a number, as OmegaConf reads it, not
 * a text, as PyYAML does. */
pel_val pel_yaml_documents(pel_vm *vm, pel_str text, bool plain_exponents);

#endif
