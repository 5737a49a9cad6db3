#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "FILE", "the table: .parquet (needs pyarrow) or .jsonl", NULL },
    { 0, "tensors", "FILE", "a second table: name, dtype and shape of every tensor", NULL },
    { 0, "match", "GLOB", "only files whose names match, as '*.safetensors'; may be given several times", NULL },
    { 0, "fits", "SOURCE.py", "a column: whether the tensors are those of the network that SOURCE.py builds", NULL },
    { 0, "engine", "NAME", "local, or ray or dask for a cluster (default local)", "local ray dask" },
    { 0, "workers", "N", "concurrent requests of each process (default 32)", NULL },
    { 0, "processes", "N", "processes of this machine, or concurrent batches on a cluster (default 1)", NULL },
    { 0, "seconds", "N", "time limit for the requests of one file (default 120)", NULL },
    CLI_OPTION_INSECURE,
    { 0, "json", NULL, "print a report for programs", NULL },
    { 0, "python", "PATH", "the Python that has the package", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_survey = {
    .name = "survey",
    .operands = "FILE|FOLDER|ADDRESS...",
    .summary = "audit many model files, local or remote, into one table",
    .about = "Writes a table with one row for each file: format, verdict of the audit, findings, a hash of\n"
             "the architecture, parameters, dtypes, and the cost of reading (bytes, requests, seconds). A file\n"
             "that could not be fetched gets a row with an error and no verdict. Nothing is executed, and of a remote\n"
             "file only the ranges that are needed are read. docs/scale.md lists the columns.\n"
             "\n"
             "Operands are files, folders and addresses (docs/remote.md). hf://ORG is every file of an organisation's\n"
             "repositories on the hub, hf://?search=WORD&limit=N of those that a query finds (author, search, filter,\n"
             "sort, limit). @LIST.txt names a file that lists more operands, one per line.\n"
             "\n"
             "Type an interrupted command again and it continues: rows are\n"
             "kept in FILE.journal until the table is written. A run over a finished table reads only files\n"
             "that have changed.\n"
             "\n"
             "Exit status: 0 every file is harmless, 4 one is dangerous or suspicious, else 2 if one is broken,\n"
             "unknown or could not be read, or if no file was found.",
    .example = "$ pellucid survey hf://org/model s3://bucket/dir @more.txt -o models.parquet\n"
               "$ pellucid survey 'hf://?search=bert&limit=500' -o bert.parquet\n"
               "$ pellucid survey checkpoints --match '*.pt' -o models.jsonl --fits model.py",
    .options = options,
    .min_operands = 1,
    .run = cli_run_python,
};
