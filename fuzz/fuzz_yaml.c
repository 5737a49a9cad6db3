/* YAML: any bytes end in values or in an error that says where, within the budget; the audit reads them, too. */
#include "fuzz_reader.h"

#include "interp/vm.h"
#include "interp/native/yaml.h"
#include "load/load.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_vm *vm = pel_vm_new(ctx);
    vm->max_steps = 1000000;
    pel_str text = *(pel_str *)arg;
    pel_loaded loaded = { 0 };
    pel_load_repository_text(ctx, &loaded, PEL_STR("a.yaml"), text);
    if (pel_yaml_documents(vm, text, false)) pel_yaml_documents(vm, text, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
