#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "FILE", "the table: .parquet (needs pyarrow) or .jsonl", NULL },
    { 0, "tensors", "FILE", "a second table: name, dtype and shape of every tensor", NULL },
    { 0, "match", "GLOB", "only files whose names fit, as '*.safetensors'; may be given several times", NULL },
    { 0, "fits", "SOURCE.py", "a column: whether the tensors are those of the network that SOURCE.py builds", NULL },
    { 0, "engine", "NAME", "local, or ray for a cluster (default local)", "local ray" },
    { 0, "workers", "N", "requests at the same time, in each process (default 32)", NULL },
    { 0, "processes", "N", "of this machine, or batches at the same time on a cluster (default 1)", NULL },
    { 0, "seconds", "N", "that the requests for one file may take (default 120)", NULL },
    CLI_OPTION_INSECURE,
    { 0, "json", NULL, "print a report for programs", NULL },
    { 0, "python", "PATH", "the Python that has the package", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_survey = {
    .name = "survey",
    .operands = "FILE|FOLDER|ADDRESS...",
    .summary = "look at many model files, wherever they are: a table with a row each",
    .about = "Writes one row for each file: format, verdict of the audit, findings, a hash of the\n"
             "architecture, parameters, dtypes, and what looking cost (bytes, requests, seconds). A file that\n"
             "can't be read is a row with an error.\n"
             "\n"
             "Operands are files, folders and addresses (docs/remote.md); @LIST.txt is a file of them. A run\n"
             "that was interrupted goes on where it was: rows are kept in FILE.journal until the table is\n"
             "written. A second run over a finished table looks again only at files that have changed.\n"
             "\n"
             "Exit status: 0 every file is harmless, 4 one is dangerous or suspicious, 2 one is broken, unknown,\n"
             "or could not be read, or no file was found.",
    .example = "$ pellucid survey hf://org/model s3://bucket/models @more.txt -o models.parquet\n"
               "$ pellucid survey checkpoints --match '*.pt' -o models.jsonl --fits model.py",
    .options = options,
    .min_operands = 1,
    .run = cli_run_python,
};
