#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "FILE", "where the source goes (default standard output)", NULL },
    CLI_OPTION_MODEL,
    { 0, "module", "PATH", "only this part of the model, as encoder.layer.0", NULL },
    { 0, "leaf", "PACKAGE.CLASS", "a class to keep as it is; the skeleton imports it", NULL },
    { 0, "given-only", NULL, "record the given call alone, make no further runs", NULL },
    { 0, "no-verify", NULL, "don't compare the skeleton with the model", NULL },
    { 0, "anyway", NULL, "write the skeleton even if it differs from the model", NULL },
    { 0, "save-trace", "FILE", "keep the log of the runs", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_skeleton = {
    .name = "skeleton",
    .operands = "SPEC",
    .summary = "record a running model and write the program that ran",
    .about = "Builds the model that SPEC names, runs it under a recorder and writes one file that\n"
             "imports torch alone: the author's classes and names, without what did not run.\n"
             "The file is then compared with the model in a process that can't import the\n"
             "model's library: outputs bit by bit on the recorded input, on other data, another\n"
             "batch size and length, in train mode, gradients too. What was equal stands in the\n"
             "file's header. A skeleton that differs from its model is not written.\n"
             "\n"
             "SPEC is file.py:callable, package.module:callable(arguments), timm:NAME,\n"
             "hf:CONFIG.json or hf:MODEL_TYPE. The callable returns a module, or a module with its\n"
             "inputs. Inputs are random tensors of the given shapes, what a callable returns, or\n"
             "what the model says of itself. Exit 3: equal where it must be, not everywhere.",
    .example = "$ pellucid skeleton timm:resnet18 -o resnet18.py\n"
               "$ pellucid skeleton net.py:build --input ids=2x12:int64<100 -o net_skeleton.py",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_python,
};
