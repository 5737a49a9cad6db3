#include "cli.h"

#include <string.h>

/* A trace file needs no Python: the skeleton is written from what was recorded. */
static int skeleton_of_trace(const cli_args *args, pel_ctx *ctx, const cli_input *input) {
    pel_skeleton_options how = { .as_json = cli_has(args, "json"),
                                 .dump = cli_value(args, "dump"),
                                 .check = cli_has(args, "check-passes") };
    pel_error error;
    pel_text text;
    if (!pellucid_skeleton(ctx, input->bytes, &how, &text, &error)) return cli_report(ctx, input, &error, how.as_json);
    int result = cli_write(cli_value(args, "output"), text);
    if (result == CLI_FINE && how.as_json && !cli_has(args, "output")) putchar('\n');
    if (result != CLI_FINE || how.dump) return result;
    fputs("pellucid: not verified: a trace has no model to compare the skeleton with\n", stderr);
    return CLI_INCOMPLETE;
}

/* A model file that holds a program: its source, compared with nothing. */
static int skeleton_of_file(const cli_args *args, pel_ctx *ctx, const cli_input *input) {
    cli_model model;
    pel_error error;
    pel_text text;
    if (!cli_open_model(args->operands[0], &model, &error))
        return cli_report(ctx, input, &error, cli_has(args, "json"));
    int result = CLI_FINE;
    bool is_written = pellucid_recover(ctx, &model.file, &text, &error);
    if (is_written)
        result = cli_write(cli_value(args, "output"), text);
    else
        result = cli_report(ctx, input, &error, cli_has(args, "json"));
    cli_close_model(&model);
    if (!is_written) return result;
    if (!cli_has(args, "no-verify"))
        fputs("pellucid: not verified: there is no Python with pellucid and torch; --python names one\n", stderr);
    return result == CLI_FINE && !cli_has(args, "no-verify") ? CLI_INCOMPLETE : result;
}

/* What a zip archive, an HDF5 file or an ONNX model (the version of its format, a small number) begins with: no SPEC is
 * the name of a file that does. */
static bool is_model(pel_text bytes) {
    bool is_onnx = bytes.len > 4 && bytes.ptr[0] == 8 && bytes.ptr[1] > 0 && bytes.ptr[1] < 32;
    return is_onnx || (bytes.len > 4 && (memcmp(bytes.ptr, "PK\3\4", 4) == 0 || memcmp(bytes.ptr, "\x89HDF", 4) == 0));
}

static bool is_python_file(const char *path) {
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

/* A colon in the operand decides nothing: a trace file may have one in its name, as `script.py:callable` does. So the
 * file is read first, and Python starts only if it is no trace. */
static int run(const cli_args *args) {
    const char *spec = args->operands[0];
    if (args->n_operands > 1) {
        if (cli_names_python(spec)) return cli_run_python(args);
        return cli_usage_error(&cli_cmd_skeleton, "one operand too many: '%s'; a script is -- python SCRIPT.py",
                               args->operands[1]);
    }
    if (is_python_file(spec)) return cli_usage_error(&cli_cmd_skeleton, "which model of it? Write %s:callable", spec);
    cli_input input;
    pel_error error;
    bool is_read = cli_read(spec, PEL_TRACE_MAX, &input, &error);
    bool is_ours = is_read && (pellucid_is_trace(input.bytes) || is_model(input.bytes));
    bool is_compared = is_ours && is_model(input.bytes) && !cli_has(args, "no-verify") && cli_has_torch(args);
    if (is_compared || (strchr(spec, ':') && !is_ours)) {
        if (is_read) cli_release(&input);
        return cli_run_python(args);
    }
    pel_ctx *ctx = pellucid_open(NULL);
    if (!ctx) {
        fputs("pellucid: out of memory\n", stderr);
        return CLI_BAD_INPUT;
    }
    int result = is_read ? (pellucid_is_trace(input.bytes) ? skeleton_of_trace : skeleton_of_file)(args, ctx, &input)
                         : cli_report(ctx, &input, &error, cli_has(args, "json"));
    if (is_read) cli_release(&input);
    pellucid_close(ctx);
    return result;
}

static const cli_option options[] = {
    { 'o', "output", "FILE", "where the source goes (default standard output)", NULL },
    CLI_OPTION_MODEL,
    { 0, "html", "FILE", "write a page: the hierarchy with the skeleton's classes beside it", NULL },
    { 0, "call", "METHOD(INPUT, ...)", "record this call of a method; may be given several times", NULL },
    { 0, "module", "PATH", "only this part of the model, as encoder.layer.0", NULL },
    { 0, "leaf", "PACKAGE.CLASS", "a class to keep as it is; the skeleton imports it", NULL },
    { 0, "list", NULL, "of a script: only list the models that it calls", NULL },
    { 0, "pick", "NAME", "of a script: the model with this name (default the largest)", NULL },
    { 0, "calls", "N", "of a script: watch the first N calls; it goes on unwatched", NULL },
    { 0, "stop", NULL, "of a script: end it after --calls N", NULL },
    { 0, "no-more", NULL, "record the given call alone, make no further runs", NULL },
    { 0, "no-verify", NULL, "don't compare the skeleton with the model", NULL },
    { 0, "verify", "default|full", "which checks are made; full: every one of the table", NULL },
    { 0, "prove", NULL, "compare the ATen calls of both forwards for all sizes, too", NULL },
    { 0, "device", "meta", "of a model too large to run: without values, compared by its ATen calls", NULL },
    { 0, "config", NULL, "build it in other sizes, too: those that can change become fields of a Config", NULL },
    { 0, "also", "SPEC", "with --config: another model that the file must be, too", NULL },
    { 0, "init", NULL, "build it again, and write how its parameters get their first values", NULL },
    { 0, "shapes", "none|few|all", "shapes in comments, as every run showed them (default none)", "none few all" },
    { 0, "origins", "none|line", "line: above each class and function, the file and line that it is from",
      "none line" },
    { 0, "map", "FILE", "write a table, as JSON: lines of the skeleton and the lines that they are from", NULL },
    { 0, "no-strict", NULL, "write the skeleton even if it differs from the model", NULL },
    { 'v', "verbose", NULL, "show every check, not one line for all", NULL },
    { 0, "save-trace", "FILE", "keep the log of the runs", NULL },
    { 0, "dump", "PASS", "of a trace: log, passes (their list), or the program after one; of a SPEC: config", NULL },
    { 0, "check-passes", NULL, "of a trace: check the program after every pass", NULL },
    { 0, "given-only", NULL, "old name of --no-more", NULL },
    { 0, "anyway", NULL, "old name of --no-strict", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_skeleton = {
    .name = "skeleton",
    .operands = "SPEC|TRACE|FILE|-- python SCRIPT [ARG...]",
    .summary = "record a running model and write the program that ran",
    .about = "Builds the model that SPEC names, runs it under a recorder and writes one file that\n"
             "imports torch alone: the author's classes and names, without what did not run.\n"
             "The file is then compared with the model in a process that can't import the\n"
             "model's library: outputs bit by bit on the recorded input, on other data, another\n"
             "batch size and length, in train mode, gradients too. The file's header\n"
             "lists what was equal. A skeleton that differs from its model is not written.\n"
             "\n"
             "SPEC is file.py:callable, package.module:callable(arguments), timm:NAME,\n"
             "hf:CONFIG.json or hf:MODEL_TYPE. The callable returns a module, or a module with its\n"
             "inputs. Inputs are random tensors of the given shapes, what a callable returns, or\n"
             "what the model says of itself. Exit 3: equal in every required check,\n"
             "not in every optional one.\n"
             "\n"
             "--config puts a Config at the top of the file. The model is built again with each number of\n"
             "its configuration changed (hf: the fields of the configuration; otherwise the arguments of\n"
             "the model's constructor). Sizes that follow such a number are written as cfg.NAME; Model()\n"
             "is still the model of SPEC. A field is kept only if the original and the skeleton,\n"
             "both built in other sizes, are bit-equal; the header lists these sizes. All others stay numbers.\n"
             "--also SPEC names another model of the same class: the header says with which Config the file\n"
             "is bit-equal to that one, or why it is not (exit 3).\n"
             "\n"
             "--call records methods other than forward, as encode_image(2x3x32x32): the file has these\n"
             "methods, and each of them is compared. An input is a tensor as for --input, or a literal:\n"
             "'encode_text(ids=2x12:int64<100, normalize=True)'. Several calls of one method are one\n"
             "method in the file. With --input, forward is recorded, too.\n"
             "\n"
             "--init builds the model once more and watches which calls of torch.nn.init, in-place\n"
             "methods and factories give its parameters their first values. The file gets a function\n"
             "init_weights(model) that makes the same calls where torch's modules make others. The\n"
             "header says for how many parameters, and which are left; random numbers are not compared.\n"
             "\n"
             "--device meta is for models that don't fit into memory: SPEC is built without the numbers of\n"
             "its parameters and recorded on tensors without values. The skeleton is compared by structure:\n"
             "both make the same ATen calls with the same arguments, at several sizes, in train mode and\n"
             "with gradients too. Where the model can be built smaller, values are compared at that size. The\n"
             "header says so, and that no value was computed at the full size.\n"
             "\n"
             "--shapes=few writes the shapes of tensors into comments: of inputs, after reshapes and\n"
             "products, of results; all: wherever they are known. The skeleton runs on all recorded inputs.\n"
             "A size that never changed is a number. One that did is a symbol that was right every\n"
             "time: a name of the author's, a size of the model's inputs (B; T; H, W), or a size that the function\n"
             "was given (small letters). H/8 says that 8 divides H. In --shapes=all, * is a size with no name.\n"
             "\n"
             "--origins=line puts a comment above each class and function: the author's file, from the root of\n"
             "its package on, the line, and the first sentence of the docstring. --map FILE writes a table: of each\n"
             "class and function its first and last line here (lines) and there (original), and pairs of lines, here\n"
             "and there, that have the same statement or bind the same names.\n"
             "\n"
             "-- python SCRIPT.py runs a script as it is and watches which models it calls. The\n"
             "skeleton is of the largest one, with the inputs that the script gave it; --list shows\n"
             "them all. The script is executed: give only one that you would run. If it fails after\n"
             "it called a model, the skeleton is still made, and the exit code is 3 at best.\n"
             "\n"
             "TRACE is a file that --save-trace kept: the skeleton is written from it without Python\n"
             "and without torch, unverified (exit 3).\n"
             "\n"
             "FILE.pt2 is an archive of torch.export, FILE.pt one of TorchScript, scripted or traced: its\n"
             "nn.Module classes are written from the file alone, nothing of it is executed. Of a scripted\n"
             "one they have their author's functions, which such files keep. Where Python has torch, and the\n"
             "audit calls the file harmless, the source is then compared with torch.export.load or\n"
             "torch.jit.load of the file, bit by bit, on its example inputs, or inputs that it takes; else\n"
             "its header says that it is not verified (exit 3). An operator that has no place in a source is\n"
             "an error that names it. Weights: pellucid convert FILE.\n"
             "\n"
             "FILE.onnx is a graph of operators: its modules are those that torch's exporters name, or those\n"
             "of its weights' names. Where Python has onnxruntime, results are compared within 1e-5 of the\n"
             "largest number. Weights: pellucid convert FILE --for-source, which turns what the graph has\n"
             "turned. FILE.keras and FILE.h5 are Keras models of its own layers: the same, with Keras.",
    .example = "$ pellucid skeleton timm:resnet18 -o resnet18.py\n"
               "$ pellucid skeleton net.py:build --input ids=2x12:int64<100 -o net_skeleton.py\n"
               "$ pellucid skeleton 'hf:bert(num_hidden_layers=2)' --config -o bert.py\n"
               "$ pellucid skeleton -o model.py -- python quickstart.py --steps 2\n"
               "$ pellucid skeleton exported.pt2 -o net.py",
    .options = options,
    .min_operands = 1,
    .run = run,
};
