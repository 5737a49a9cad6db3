/* What the subcommands share. The program uses the public header only: what it can't do with
 * pellucid.h, nobody can.
 *
 * A subcommand is one file cmd_<name>.c that defines one cli_command, and one line in the table of
 * main.c. Help, manual page and shell completions are made from these tables (help.c). */
#ifndef PEL_CLI_H
#define PEL_CLI_H

#include <pellucid.h>

#include <stdio.h>

/* The same for every subcommand; help.c explains them to users. */
enum {
    CLI_FINE = 0,
    CLI_BAD_USAGE = 1,
    CLI_BAD_INPUT = 2,
    CLI_INCOMPLETE = 3,
    CLI_FOUND = 4,
};

typedef struct cli_option {
    char letter;         /* 0: no short form */
    const char *name;    /* without the dashes */
    const char *value;   /* what it takes, as the help shows it ("FILE"); NULL for a switch */
    const char *help;    /* one sentence, small first letter, no full stop */
    const char *choices; /* the words that value can be, for completion: "bash zsh"; NULL: any */
} cli_option;

typedef struct cli_args cli_args;

typedef struct cli_command {
    const char *name;
    const char *operands;                /* "FILE...", as the help shows them */
    const char *summary;                 /* one line of the overview, small first letter */
    const char *about;                   /* paragraphs; lines under 80 columns */
    const char *example;                 /* "$ pellucid …" and what it prints */
    const cli_option *options;           /* ends with a row of zeros */
    const char *choices;                 /* words that operands can be; NULL: files */
    unsigned min_operands, max_operands; /* max 0: any number */
    int (*run)(const cli_args *args);    /* returns an exit code */
} cli_command;

/* Rows that many tables have. */
#define CLI_OPTION_JSON                                                                                                \
    { 0, "json", NULL, "print JSON, one line per input", NULL }
#define CLI_OPTION_PYTHON_VERSION                                                                                      \
    {                                                                                                                  \
        0, "python-version", "3.X", "the Python whose grammar is meant, 3.8 to 3.15 (default 3.15)",                   \
            "3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15"                                                                    \
    }
#define CLI_OPTION_MARSHAL                                                                                             \
    {                                                                                                                  \
        0, "marshal", "3.X", "the files are no .pyc: they hold marshalled code of that Python",                        \
            "3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15"                                                                    \
    }
/* Of the subcommands that build a live model. */
#define CLI_OPTION_MODEL                                                                                               \
    { 0, "input", "[NAME=]1x3x224x224[:DTYPE][<N]", "a tensor of random values; may be given several times", NULL },   \
        { 0, "inputs", "FILE.py:CALLABLE", "a callable that returns the inputs", NULL },                               \
        { 0, "json", NULL, "print a report for programs", NULL }, {                                                    \
        0, "python", "PATH", "the Python that has torch and the model's library", NULL                                 \
    }
/* Of the subcommands that read model files. */
#define CLI_OPTION_MEMORY                                                                                              \
    { 0, "memory", "MIB", "what the tables of a file may take (default 128, more for a large index)", NULL }
/* Of the subcommands that interpret source. */
#define CLI_OPTION_SOURCES                                                                                             \
    { 0, "root", "DIR", "a folder that modules are imported from; may be given several times", NULL },                 \
        { 0, "python", "PATH", "the Python whose site-packages are read, as text only", NULL }, {                      \
        0, "set", "NAME=VALUE", "a value for a parameter or another symbol; may be given several times", NULL          \
    }
#define CLI_OPTION_END                                                                                                 \
    { 0, NULL, NULL, NULL, NULL }

extern const cli_command *const cli_commands[]; /* ends with NULL */

/* ---- arguments (args.c) ---- */

typedef struct cli_given {
    const cli_option *option;
    const char *value;
} cli_given;

struct cli_args {
    const cli_command *command;
    const cli_given *given; /* in the order of the command line */
    size_t n_given;
    const char *const *operands;
    size_t n_operands;
    char *const *raw; /* the arguments after the subcommand's name, ending with NULL */
};

/* Splits argv (what follows the subcommand's name) by the command's table. On a mistake: says so, and
 * returns an exit code; else -1. */
int cli_parse_args(const cli_command *command, int argc, char **argv, cli_args *args);
bool cli_has(const cli_args *args, const char *name);
/* The value of an option, the last if it was given more than once; NULL if it was not given. */
const char *cli_value(const cli_args *args, const char *name);
/* --python-version as a minor number, 0 if not given. */
int cli_python_version(const cli_args *args);
/* --marshal likewise: 0 stands for .pyc files. */
int cli_marshal_version(const cli_args *args);
/* A number such as --width; *value stays as it is if it was not given. On a bad one: says so, returns an
 * exit code; else -1. */
int cli_number(const cli_args *args, const char *name, int least, int most, int *value);

/* "pellucid ast: MESSAGE" and where to read more. Returns CLI_BAD_USAGE. */
int cli_usage_error(const cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The word of a list that is nearest to what was typed, NULL if none is near. Words are given one by one. */
typedef struct cli_nearest {
    const char *typed, *best;
    size_t distance;
} cli_nearest;
void cli_consider(cli_nearest *nearest, const char *word);

/* ---- files (input.c) ---- */

typedef struct cli_input {
    const char *name; /* for messages: the path, or "<stdin>" */
    pel_text bytes;
    size_t mapped; /* bytes to unmap; 0 if bytes were read into memory */
} cli_input;

/* Reads or maps a whole file, "-" being standard input. Refuses directories and what is larger than limit.
 * On failure returns false with error filled; nothing is to be released then. */
bool cli_read(const char *path, size_t limit, cli_input *input, pel_error *error);
void cli_release(cli_input *input);

/* Calls one for each operand, with a ctx that is emptied in between. Returns what they come to. */
typedef int cli_each(const void *job, pel_ctx *ctx, const char *path);
int cli_each_operand(const cli_args *args, cli_each *one, const void *job);

/* ---- model files (model_file.c) ---- */

/* What reading model files may take, in MiB: their tables, never their tensors. --memory says otherwise. */
#define CLI_MODEL_MEMORY 128
#define CLI_INDEX_MEMORY 24 /* besides, for each MiB of an index */
#define CLI_INDEX_MIB 16    /* up to this size */

typedef struct cli_model {
    cli_input input;
    pel_model_file file;
    char *path; /* what a folder stands for; NULL if a file was named */
    struct cli_beside *beside;
    struct cli_remote *remote; /* NULL: a file of this machine */
} cli_model;

/* The names of the file in a folder that stands for the whole: what libraries look for, in their order. */
extern const char *const cli_folder_models[];

/* Maps a model file, or the file that stands for a folder. On failure as cli_read. */
bool cli_open_model(const char *path, cli_model *model, pel_error *error);
void cli_close_model(cli_model *model);
/* A pel_ctx with that limit. On a bad --memory, or without memory: says so and returns NULL. */
pel_ctx *cli_open_for_models(const cli_args *args);

/* ---- files with an address (remote.c) ---- */

/* Of the subcommands that read model files. */
#define CLI_OPTION_INSECURE                                                                                            \
    { 0, "insecure", NULL, "of a remote FILE: http:// is allowed, too", NULL }

bool cli_is_remote(const char *name); /* "hf://org/model/file", "https://..." */
void cli_set_insecure(bool is_insecure);
/* As cli_open_model does. A folder or a repository stands for one of its files. */
bool cli_remote_open(const char *uri, cli_model *model, pel_error *error);
void cli_remote_close(struct cli_remote *remote);
/* The files below an address; the caller frees names and list. None: it is the address of a file. */
bool cli_remote_list(const char *uri, char ***names, size_t *n, pel_error *error);

/* ---- source (source.c) ---- */

#define CLI_MAX_ROOTS 256
#define CLI_MAX_SNIPPETS 4096

typedef struct cli_sources {
    const char *roots[CLI_MAX_ROOTS + 1];
    char *real_roots[CLI_MAX_ROOTS]; /* the same, links followed; NULL: there is no such folder */
    const char *set[CLI_MAX_ROOTS + 1];
    const char *snippets[CLI_MAX_SNIPPETS]; /* -e */
    size_t n_roots, n_set, n_snippets;
    cli_input *inputs; /* files that were scanned */
    size_t n_inputs, inputs_cap;
    void **kept; /* what the scanner read besides */
    size_t n_kept, kept_cap;
    pel_ctx *ctx;
    pel_scanner *scanner;
    /* of an editor: */
    const pel_scan_target *open; /* texts that count instead of the files */
    size_t n_open;
    bool has_read_open;          /* one of them was read */
    bool notes_reads;            /* remember the files that are read */
    struct cli_read_note *notes; /* these */
    size_t n_notes, notes_cap;
    bool lacks_python; /* there is none where one was said to be */
} cli_sources;

/* What -e, --root, --python and --set of the command line say, and the folders of its operands. NULL: one of them is
 * not there, which was said, or no memory. */
cli_sources *cli_sources_new(const cli_args *args);
/* The same for one file of an editor, with the folders of its workspace (ended by NULL). */
cli_sources *cli_sources_for(const char *path, const char *const *folders);
/* Whether a file that was read has changed since. */
bool cli_sources_changed(const cli_sources *sources);
/* A folder that modules are imported from; a second time it changes nothing. The path is copied. */
void cli_add_root(cli_sources *sources, const char *path);
/* A file below the roots, which stays as long as the sources do; false: there is none, or it is too large. */
bool cli_read_source(cli_sources *sources, const char *path, pel_text *bytes);
/* The folders that an interpreter, or an environment, imports from (site.c). False: it has none. */
bool cli_add_python(cli_sources *sources, const char *python);
/* A scanner over them; files, roots and set of the options are filled in. */
bool cli_sources_open(cli_sources *sources, pel_scan_options options, pel_error *error);
void cli_sources_free(cli_sources *sources);
bool cli_scan_path(cli_sources *sources, const char *path, pel_text *out, pel_scan_result *result, pel_error *error);
/* Imports ahead what several of the files import. */
void cli_import_common(cli_sources *sources, char *const *paths, size_t n);
bool cli_is_source(const char *path); /* by its name: a .py file, or a package */
/* The entries of a folder, sorted; the caller frees names and list. */
size_t cli_folder_entries(const char *path, char ***names);

/* ---- results (output.c) ---- */

/* "FILE:LINE:COLUMN: message", the line and a caret, on stderr; with as_json also the JSON on stdout.
 * Every message about a file has this shape: 1:1 where the whole file is meant, and a file without lines
 * counts as one line, so that its column is the byte. Returns CLI_BAD_INPUT. */
int cli_report(pel_ctx *ctx, const cli_input *input, const pel_error *error, bool as_json);
/* Writes text to stdout or, if path is not NULL, to a file. Says so and returns CLI_BAD_INPUT if it can't. */
int cli_write(const char *path, pel_text text);
/* How many columns lines may have: those of the terminal, 0 if the output goes elsewhere. */
size_t cli_columns(void);
/* Writes text to stdout. On a terminal, lines that are longer than it is wide end with "…": the whole is one pipe away.
 */
int cli_write_fitted(pel_text text, bool coloured);
/* A line for people: on a terminal in that colour, and broken where the terminal ends, nothing of it left out. */
void cli_put_wrapped(pel_text line, size_t indent, const char *colour);
/* What several results come to: the first of 2, 4, 3, 0 that is among them. */
int cli_worse(int a, int b);
/* Whether to use colours: a terminal, and neither NO_COLOR nor TERM=dumb. */
bool cli_is_terminal(FILE *stream);

/* ---- two models (pair.c) ---- */

/* Opens the two operands (or what -e gives), files or sources, and hands them to a job; their names end with a NUL.
 * Returns an exit code. */
typedef int cli_pair_job(const cli_args *args, pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b);
int cli_with_pair(const cli_args *args, cli_pair_job *job);

/* ---- live Python (live.c) ---- */

/* Becomes a Python that runs pellucid._live with the same subcommand and arguments; returns only if it can't start. */
int cli_run_python(const cli_args *args);
bool cli_names_python(const char *word);
/* Whether that Python has the package and torch. */
bool cli_has_torch(const cli_args *args);
/* The Python that the package is in: $PELLUCID_PYTHON, the one beside this program, or python3. */
const char *cli_python(char *path, size_t size);

/* ---- help (help.c) ---- */

void cli_print_overview(FILE *out);
void cli_print_help(FILE *out, const cli_command *command);
void cli_print_man(FILE *out);
void cli_print_bash_completion(FILE *out);
void cli_print_zsh_completion(FILE *out);

/* ---- the subcommands ---- */

extern const cli_command cli_cmd_align;
extern const cli_command cli_cmd_ast;
extern const cli_command cli_cmd_audit;
extern const cli_command cli_cmd_compare;
extern const cli_command cli_cmd_completion;
extern const cli_command cli_cmd_convert;
extern const cli_command cli_cmd_decompile;
extern const cli_command cli_cmd_demo;
extern const cli_command cli_cmd_dis;
extern const cli_command cli_cmd_extract;
extern const cli_command cli_cmd_format;
extern const cli_command cli_cmd_help;
extern const cli_command cli_cmd_lsp;
extern const cli_command cli_cmd_scan;
extern const cli_command cli_cmd_skeleton;
extern const cli_command cli_cmd_explain;
extern const cli_command cli_cmd_sketch;
extern const cli_command cli_cmd_serve;
extern const cli_command cli_cmd_survey;
extern const cli_command cli_cmd_verify;
extern const cli_command cli_cmd_diff;
extern const cli_command cli_cmd_tree;
extern const cli_command cli_cmd_version;

#endif
