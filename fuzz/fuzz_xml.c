/* XML, and PMML on top of it: any bytes give tokens, or an error. */
#include "fuzz_reader.h"

#include "io/xml.h"
#include "load/load.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_str bytes = *(pel_str *)arg, value;
    pel_loaded out = { 0 };
    pel_is_xml(bytes);
    pel_xml_attribute(bytes, "name", &value);
    pel_load_xml(ctx, &out, PEL_STR("model"), bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
