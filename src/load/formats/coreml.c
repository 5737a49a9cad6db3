/* Core ML: its networks are not read, but what they make a program load beside them is found. The numbers are those of
 * the fields of Model.proto and NeuralNetwork.proto. */
#include "io/protobuf.h"
#include "load/load.h"

#define MAX_DEPTH 32 /* models inside of pipelines */

enum {
    PIPELINE_CLASSIFIER = 200,
    PIPELINE_REGRESSOR = 201,
    PIPELINE = 202,
    NETWORK_REGRESSOR = 303,
    NETWORK_CLASSIFIER = 403,
    NETWORK = 500,
    CUSTOM_MODEL = 555,
    LINKED_MODEL = 556,
    LAYER_CUSTOM = 500, /* of a layer */
    CLASS_NAME = 10,    /* of a custom layer or model */
};

static void judge_model(pel_ctx *ctx, pel_loaded *out, pel_proto model, int depth);

static void need_class(pel_ctx *ctx, pel_loaded *out, const pel_proto_field *custom, const char *what) {
    pel_proto_field name;
    bool is_named = pel_proto_find(ctx, pel_proto_of(custom), CLASS_NAME, &name) && name.wire == PEL_WIRE_BYTES;
    pel_str class = is_named ? name.bytes : PEL_STR("a class without a name");
    pel_find(ctx, &out->findings, PEL_SUSPECT, "native-code", (pel_str){ "", 0 }, custom->at,
             pel_format(ctx, "%s is %.*s, native code of the program that loads the model", what, PEL_FMT(class)));
}

static void judge_layers(pel_ctx *ctx, pel_loaded *out, pel_proto network) {
    pel_proto_field layer, custom;
    while (pel_proto_next(ctx, &network, &layer))
        if (layer.number == 1 && layer.wire == PEL_WIRE_BYTES &&
            pel_proto_find(ctx, pel_proto_of(&layer), LAYER_CUSTOM, &custom))
            need_class(ctx, out, &custom, "a layer");
}

static void judge_pipeline(pel_ctx *ctx, pel_loaded *out, pel_proto pipeline, int depth) {
    pel_proto_field model;
    while (pel_proto_next(ctx, &pipeline, &model))
        if (model.number == 1 && model.wire == PEL_WIRE_BYTES) judge_model(ctx, out, pel_proto_of(&model), depth + 1);
}

static void judge_model(pel_ctx *ctx, pel_loaded *out, pel_proto model, int depth) {
    pel_proto_field field, pipeline;
    if (depth > MAX_DEPTH)
        pel_throw(ctx, PEL_E_TOO_DEEP, model.base, "Core ML: pipelines nest deeper than %d", MAX_DEPTH);
    while (pel_proto_next(ctx, &model, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        bool is_network =
            field.number == NETWORK || field.number == NETWORK_CLASSIFIER || field.number == NETWORK_REGRESSOR;
        bool is_wrapped = field.number == PIPELINE_CLASSIFIER || field.number == PIPELINE_REGRESSOR;
        if (is_network) judge_layers(ctx, out, pel_proto_of(&field));
        if (field.number == PIPELINE) judge_pipeline(ctx, out, pel_proto_of(&field), depth);
        if (is_wrapped && pel_proto_find(ctx, pel_proto_of(&field), 1, &pipeline))
            judge_pipeline(ctx, out, pel_proto_of(&pipeline), depth);
        if (field.number == CUSTOM_MODEL) need_class(ctx, out, &field, "the model");
        if (field.number == LINKED_MODEL)
            pel_find(ctx, &out->findings, PEL_SUSPECT, "external", (pel_str){ "", 0 }, field.at,
                     PEL_STR("the model is another file, which this one names"));
    }
}

#define FIRST_KIND 200 /* of the fields that hold the model itself */

/* A version, and one of the fields that hold a model. */
bool pel_is_core_ml(pel_ctx *ctx, const pel_input *input) {
    pel_proto_top top;
    return pel_proto_scan(ctx, input, &top) && top.kinds[PEL_WIRE_NUMBER] >> 1 & 1 && top.highest >= FIRST_KIND;
}

void pel_load_core_ml(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    (void)name;
    out->format = PEL_STR("Core ML model");
    judge_model(ctx, out, (pel_proto){ .bytes = bytes }, 0);
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "a Core ML model: its layers are not read");
}
