/* pellucid: sees through PyTorch models and the Python they are written in.
 *
 * This is the only public header, and the manual. Functions begin with pellucid_, types with pel_.
 *
 *     pel_ctx *ctx = pellucid_open(NULL);
 *     pel_text json;
 *     pel_error error;
 *     if (pellucid_ast(ctx, source, NULL, &json, &error))
 *         fwrite(json.ptr, 1, json.len, stdout);
 *     else
 *         fprintf(stderr, "%u:%u: %s\n", error.line, error.column, error.message);
 *     pellucid_close(ctx);
 *
 * Lifetimes. A pel_ctx is one analysis. Every pel_text that a call gives back lives in the pel_ctx of
 * that call, until pellucid_close() or pellucid_reset(); nothing else is to be freed. What you pass in
 * is only read, and only during the call.
 *
 * Errors. A call that can fail returns false and fills the pel_error, which holds everything it says: it
 * outlives the pel_ctx. After an error the pel_ctx can be used again. Passing NULL as error is allowed.
 *
 * Manners. The library never prints, never exits, starts no thread and no process, opens no file and
 * keeps no global state. It reads hostile input: depth, size and memory are bounded.
 *
 * Threads. Different pel_ctx can be used at the same time by different threads; one pel_ctx only by one.
 *
 * Options. An options struct whose fields are all zero asks for the defaults, and so does NULL. Later
 * versions add fields at the end, so initialise it with = { 0 } or by naming fields. */
#ifndef PELLUCID_H
#define PELLUCID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the shared library these functions are all that can be seen from outside. */
#if defined(PELLUCID_SHARED) && defined(__GNUC__)
#define PEL_API __attribute__((visibility("default")))
#else
#define PEL_API
#endif

#define PELLUCID_VERSION "0.1.0"

/* The version of the library that is running, as "1.2.3". */
PEL_API const char *pellucid_version(void);

/* ---- text ---- */

/* Bytes that somebody else owns. No final NUL is meant; NULs may be inside. */
typedef struct pel_text {
    const char *ptr;
    size_t len;
} pel_text;

/* ---- errors ---- */

/* X(number, name, meaning). Numbers and names are stable; --json output and Python exceptions have the names. */
#define PEL_CODES(X)                                                                                                   \
    X(0, OK, "no error")                                                                                               \
    X(1, MEMORY, "out of memory, or over the memory limit")                                                            \
    X(2, TOO_DEEP, "nests too deep")                                                                                   \
    X(3, TOO_BIG, "larger than the limit")                                                                             \
    X(4, SYNTAX, "not valid Python")                                                                                   \
    X(5, ENCODING, "bytes do not fit the encoding")                                                                    \
    X(6, FORMAT, "bytes do not fit the file format")                                                                   \
    X(7, UNSUPPORTED, "valid, but of a kind that is not supported")                                                    \
    X(8, INCOMPLETE, "a part could not be done")                                                                       \
    X(9, USAGE, "wrong arguments")                                                                                     \
    X(10, READ, "cannot be read")

typedef enum pel_code {
#define X(number, name, text) PEL_E_##name = number,
    PEL_CODES(X)
#undef X
} pel_code;

#define PEL_MESSAGE_MAX 480

typedef struct pel_error {
    pel_code code;
    uint64_t offset; /* in bytes, from the start of the input */
    uint32_t line;   /* from 1; 0 where the input has no lines */
    uint32_t column; /* from 1, in characters; 0 where the input has no lines */
    char message[PEL_MESSAGE_MAX];
} pel_error;

/* What a code means, in a few words: "not valid Python". */
PEL_API const char *pellucid_code_text(pel_code code);
/* The name of a code without its prefix: "TOO_DEEP". */
PEL_API const char *pellucid_code_name(pel_code code);

/* ---- an analysis ---- */

typedef struct pel_ctx pel_ctx;

typedef struct pel_limits {
    size_t memory; /* bytes that the analysis may hold at once; 0: 4 GiB, or 1 GiB on 32 bits */
} pel_limits;

/* NULL only if there is no memory at all. */
PEL_API pel_ctx *pellucid_open(const pel_limits *limits);
/* Forgets everything made in ctx: its texts become invalid, its memory is given back. */
PEL_API void pellucid_reset(pel_ctx *ctx);
PEL_API void pellucid_close(pel_ctx *ctx);

/* ---- Python source ---- */

/* Source comes as bytes: a byte order mark or a coding comment names the encoding, else it is UTF-8.
 * Versions of Python are given by their minor number, 8 for Python 3.8; 0 means the newest. */
#define PEL_PYTHON_MIN 8
#define PEL_PYTHON_MAX 15
#define PEL_SOURCE_MAX ((size_t)64 << 20) /* larger source is refused with PEL_E_TOO_BIG */

typedef enum pel_ast_format {
    PEL_AST_JSON,  /* as docs/ast-json.md has it: one line, CPython's names */
    PEL_AST_TEXT,  /* an indented tree, for people */
    PEL_AST_CHECK, /* nothing: only says whether the source is valid */
} pel_ast_format;

typedef struct pel_ast_options {
    int python; /* whose grammar */
    pel_ast_format format;
    bool is_utf8; /* the source is UTF-8, whatever a coding comment in it says */
} pel_ast_options;

/* The syntax tree of a file. */
PEL_API bool pellucid_ast(pel_ctx *ctx, pel_text source, const pel_ast_options *options, pel_text *out,
                          pel_error *error);

typedef struct pel_format_options {
    int python;   /* whose grammar, for reading and for writing */
    int width;    /* columns that lines are broken to fit; 0: 100 */
    bool is_utf8; /* as above */
} pel_format_options;

/* The file again, laid out as a good programmer would. The tree stays the same; comments are not in it. */
PEL_API bool pellucid_format(pel_ctx *ctx, pel_text source, const pel_format_options *options, pel_text *out,
                             pel_error *error);

/* The given line of source as UTF-8 without its line end, for showing where an error is. Empty if there is none. */
PEL_API pel_text pellucid_source_line(pel_ctx *ctx, pel_text source, uint32_t line);

/* ---- bytecode ---- */

#define PEL_BYTECODE_MAX ((size_t)256 << 20) /* larger files are refused with PEL_E_TOO_BIG */

typedef struct pel_decompile_options {
    int python;   /* 0: the bytes are a .pyc file; else marshalled code of that Python */
    int width;    /* columns that lines are broken to fit; 0: 100 */
    bool as_json; /* {"python", "source", "incomplete", "codes", "lines"}, docs/decompile-json.md: with the line map */
    const char *dump; /* instead of source, what this pass makes of the code; NULL: source */
} pel_decompile_options;

/* Python source for the code of a module. What could not be given a structure is in the source as comment lines,
 * the first of which begins with "# pellucid: incomplete"; *incomplete is how many code objects that concerns. */
PEL_API bool pellucid_decompile(pel_ctx *ctx, pel_text bytes, const pel_decompile_options *options, pel_text *out,
                                unsigned *incomplete, pel_error *error);
/* The passes that can be dumped, in their order; ends with NULL. */
PEL_API const char *const *pellucid_decompile_passes(void);

typedef struct pel_dis_options {
    int python;      /* as above */
    bool as_json;    /* docs/dis-json.md */
    bool normalised; /* as the decompiler reads them, the same for every Python; only as text */
} pel_dis_options;

/* The instructions of a module's code and of all code in it: basic blocks, jumps, where exceptions go. */
PEL_API bool pellucid_dis(pel_ctx *ctx, pel_text bytes, const pel_dis_options *options, pel_text *out,
                          pel_error *error);

/* {"error": {"file", "line", "column", "offset", "code", "message"}}, as --json prints it. */
PEL_API pel_text pellucid_error_json(pel_ctx *ctx, pel_text file, const pel_error *error);

/* ---- recorded runs ---- */

#define PEL_TRACE_MAX ((size_t)2 << 30) /* larger files are refused with PEL_E_TOO_BIG */

/* Whether the bytes begin as a trace file does. */
PEL_API bool pellucid_is_trace(pel_text bytes);

typedef struct pel_skeleton_options {
    const char *dump; /* instead of the skeleton, as text for people: "log", or the program after one of its passes
                         (an unknown name is an error that lists them); NULL: the skeleton */
    bool check;       /* run the checker of every pass: a failure is a mistake of the library's */
    bool as_json;     /* {"root": name, "source": text, "functions": n, "from_source": n} */
} pel_skeleton_options;

/* The skeleton of the runs that a trace file holds: the source of one Python file. It has not been compared with
 * the model: that needs the model. */
PEL_API bool pellucid_skeleton(pel_ctx *ctx, pel_text trace, const pel_skeleton_options *options, pel_text *out,
                               pel_error *error);

/* ---- verdicts on model files ---- */

/* In the order of the worst: of several files, or of several parts of a file, the greatest decides. */
typedef enum pel_verdict {
    PEL_HARMLESS,   /* every effect of opening it is known, and none leaves memory; notes may say what it needs */
    PEL_UNREADABLE, /* unknown: no reader knows it, or a part of it */
    PEL_BROKEN,     /* it can't be read as what it claims to be */
    PEL_SUSPICIOUS, /* something that would be called is not known, or readers may see two different files in it */
    PEL_DANGEROUS,  /* a known way to files, processes, the network, code; or it does harm to its reader */
} pel_verdict;

/* ---- model trees ---- */

typedef enum pel_view {
    PEL_VIEW_TREE,  /* text: names, classes, arguments, tensors */
    PEL_VIEW_TABLE, /* text: output shapes, parameters, multiply-adds */
    PEL_VIEW_SVG,   /* a picture: boxes, and what flows between them */
    PEL_VIEW_HTML,  /* one page to open, search and walk through, that needs nothing else */
    PEL_VIEW_JSON,  /* docs/model-json.md */
} pel_view;

typedef struct pel_view_options {
    pel_view view;
    int depth;            /* levels to show below the root; 0: all */
    bool unfolded;        /* every repeated block, not one for all */
    const char *filter;   /* only the tensors whose full names fit this pattern of *, ? and [a-z]; NULL: all */
    pel_text source;      /* HTML: Python source, whose classes are shown beside the modules; may be empty */
    bool coloured;        /* text: with the colours of terminals */
    int width;            /* tables: columns to fit into, by shorter names; 0: as many as it takes */
    pel_verdict *verdict; /* of a file: set to what an audit says of it; NULL: of no interest */
} pel_view_options;

/* ---- model files ---- */

/* A file that is read piece by piece: one in an object store, in another process, or too large to map. The library
 * asks for the ranges it needs, in multiples of 64 KiB, each at most once (but for the content of tensors), all from
 * the thread of the call. */
typedef struct pel_model_source {
    uint64_t size;
    /* Writes bytes [offset, offset + length) to `to`: all of them, or it returns false. The range lies within size. */
    bool (*read_at)(void *arg, uint64_t offset, char *to, size_t length);
    void *arg;
    pel_text etag;      /* names a version of the content. If it changes between two reads, the call fails */
    uint64_t max_bytes; /* a call that would read more than this fails with PEL_E_TOO_BIG; 0: no limit */
    /* Nobody wants to know where the bytes of tensors lie: what says only that is not read (in a PyTorch archive a
     * header before each tensor, hundreds of requests), and a note says so. The tree then has no places. */
    bool without_places;
    /* Counted by the library; they start at 0 and are never reset. */
    uint64_t n_bytes, n_requests;
} pel_model_source;

/* A file that holds a model or its weights. The content decides the format, not the name. Map it rather than read it:
 * of a file of many gigabytes only the tables are looked at. Nothing in it is executed. */
typedef struct pel_model_file {
    pel_text name;  /* for messages */
    pel_text bytes; /* must stay as they are as long as the pel_ctx is used */
    /* Gives the bytes of a file that lies beside this one: the shards of an index, the variables of a SavedModel.
     * The name has been checked: it is relative and leads nowhere else. Returns false if there is none. NULL: there
     * are none at all. */
    bool (*beside)(void *arg, pel_text name, pel_text *bytes);
    void *arg;
    /* Where the bytes come from, instead of `bytes`; NULL: bytes has them. It must live as long as the pel_ctx. */
    pel_model_source *source;
    /* Like beside, but gives a source; asked first. NULL: there are none. The source must live as long as the pel_ctx.
     */
    bool (*source_beside)(void *arg, pel_text name, pel_model_source **source);
} pel_model_file;

/* The hierarchy of the models in a file. */
PEL_API bool pellucid_tree(pel_ctx *ctx, const pel_model_file *file, const pel_view_options *options, pel_text *out,
                           pel_error *error);

/* The source of one Python file with the nn.Module classes of a model file that holds a program (torch.export's
 * archives). Nothing of the file is executed, and nothing has compared the source with it. */
PEL_API bool pellucid_recover(pel_ctx *ctx, const pel_model_file *file, pel_text *out, pel_error *error);

#define PEL_TREE_MAX ((size_t)256 << 20) /* larger files are refused with PEL_E_TOO_BIG */

/* The same of the model tree that JSON holds, as every command with --json writes it. */
PEL_API bool pellucid_view(pel_ctx *ctx, pel_text json, const pel_view_options *options, pel_text *out,
                           pel_error *error);

/* Findings that somebody has looked at and allows (docs/audit.md). It lives in its pel_ctx; several threads may use it
 * at the same time. */
typedef struct pel_baseline pel_baseline;
PEL_API bool pellucid_baseline(pel_ctx *ctx, pel_text json, const pel_baseline **out, pel_error *error);
/* How many of its entries have allowed nothing so far: findings that are gone. */
PEL_API size_t pellucid_baseline_unused(const pel_baseline *baseline);

typedef struct pel_audit_options {
    bool as_json; /* {"file", "format", "verdict", "answer", "findings", "calls", ...}, one line; docs/audit.md */
    bool allows_unknown;          /* of a summary: files that no reader knows don't count */
    const char *unread;           /* why nobody opens the file (a link that leads away); NULL: it is opened */
    const char *unopened;         /* why it can't be opened; NULL: it can */
    bool for_report;              /* as_json: also what pellucid_audit_report() needs: the file's SHA-256, its sizes */
    const pel_baseline *baseline; /* what is allowed; NULL: nothing */
    bool *allowed;                /* set to whether the baseline allows all that was found; NULL: of no interest */
    const char *const *also;      /* other names of the same file, ended by NULL; NULL: none */
    /* Gives the bytes of "foo/bar.py" of the folders that modules are imported from; false: none has it. With it the
     * source of names that no table knows is read, and findings say what it does. May be called by several threads. */
    bool (*source)(void *arg, pel_text path, pel_text *bytes);
    void *source_arg;
} pel_audit_options;

/* What would run if the file were opened by its usual reader: every call with its arguments, embedded bytecode as
 * source, ambiguities of the container. Fails only for want of memory, or if a source can't be read: a broken file has
 * a verdict, too. */
PEL_API bool pellucid_audit(pel_ctx *ctx, const pel_model_file *file, const pel_audit_options *options, pel_text *out,
                            pel_verdict *verdict, pel_error *error);
typedef struct pel_audited {
    pel_text name;
    pel_verdict verdict;
    bool is_allowed; /* it does not count for the worst */
} pel_audited;

/* What several files come to: how many there are of each verdict, which were not understood, and the worst. No file
 * at all is unknown. */
PEL_API bool pellucid_audit_summary(pel_ctx *ctx, const pel_audited *rows, size_t n, const pel_audit_options *options,
                                    pel_text *out, pel_verdict *worst, pel_error *error);
typedef enum pel_audit_form {
    PEL_FORM_SARIF,     /* SARIF 2.1.0, for code scanning */
    PEL_FORM_CYCLONEDX, /* CycloneDX 1.6, a bill of materials of models */
    PEL_FORM_BASELINE,  /* every finding, to be allowed from now on */
} pel_audit_form;

/* One document from what pellucid_audit() wrote (as_json and for_report) for each of several files. */
PEL_API bool pellucid_audit_report(pel_ctx *ctx, pel_audit_form form, const pel_text *rows, size_t n, pel_text *out,
                                   pel_error *error);

/* The kinds of findings: what each means, and what to do. Returns the id; NULL if there are no more. */
PEL_API const char *pellucid_rule(size_t i, const char **title, const char **text);

/* "harmless", "unknown", "broken", "suspicious", "dangerous". */
PEL_API const char *pellucid_verdict_name(pel_verdict verdict);
/* What a program should end with: 0, 2 for unknown and broken, 4 for suspicious and dangerous. */
PEL_API int pellucid_verdict_exit(pel_verdict verdict);

/* Takes what is to be written, piece by piece; returns false to stop. Pieces that lie in a model file as they are
 * point there. */
typedef bool pel_write(void *arg, pel_text bytes);

/* One tensor, by its full name, as a .npy file. */
PEL_API bool pellucid_extract(pel_ctx *ctx, const pel_model_file *file, pel_text name, pel_write *write, void *arg,
                              pel_error *error);
typedef struct pel_convert_options {
    const char *prefix; /* only tensors whose names begin with it, without it; NULL: all */
    /* those that no state dict has, too: buffers that are not persistent, constants of a program */
    bool with_constants;
    bool for_source; /* those of the source that pellucid_recover writes: its names, orders and shapes */
    pel_text
        map; /* what pellucid_align wrote as JSON: the tensors of its B, made of those of this file; may be empty */
} pel_convert_options;

/* All tensors as a safetensors file. Fails before anything is written if a tensor can't be converted. n_left (may be
 * NULL): tensors that are not in it because no state dict has them. */
PEL_API bool pellucid_convert(pel_ctx *ctx, const pel_model_file *file, const pel_convert_options *options,
                              pel_write *write, void *arg, size_t *n_left, pel_error *error);

typedef struct pel_compare_options {
    /* {"a", "b", "prefix_a", "prefix_b", "lost_a", "lost_b", "equal", "differences": [{"kind", "name", "a", "b"}],
     * "open", "load_state_dict": {"strict": "loads", "raises" or "unknown", "missing", "unexpected", "mismatched",
     * "renames", "tied", "load", "aligned": tensors that pellucid_align finds a source for}}; the last where one side
     * is a model: a source or a run */
    bool as_json;
    bool ignore_dtype;
} pel_compare_options;

typedef struct pel_compare_result {
    unsigned differences; /* a file whose tensors can't all be read counts as one */
    unsigned open;        /* what fits only if something that is not known does: sizes, layers, branches of a source */
} pel_compare_result;

/* Which tensors only one of two files has, and which differ in shape or dtype. Files may hold the model trees that
 * --json writes: those of scans, of recorded runs, of live models. result: NULL if of no interest. */
PEL_API bool pellucid_compare(pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b,
                              const pel_compare_options *options, pel_text *out, pel_compare_result *result,
                              pel_error *error);

typedef struct pel_align_options {
    bool as_json;        /* docs/align.md; it is also the map that pellucid_convert takes */
    bool without_values; /* by names, shapes and order alone */
    pel_text *python;    /* set to a module with `convert(state_dict)`; NULL: not wanted */
} pel_align_options;

typedef struct pel_align_result {
    unsigned rows;      /* tensors of b that have their source */
    unsigned ambiguous; /* that fit several of a */
    unsigned missing;   /* that have none */
    unsigned unused;    /* of a, that nothing of b needs */
    unsigned equal;     /* rows that are bit-equal and not constant */
    unsigned lost;      /* of either, that could not be read */
} pel_align_result;

/* Which tensor of a is which of b: two implementations, or two layouts of a checkpoint. By values where both have some,
 * by names, shapes and order else; what these leave open is said to be ambiguous. Files are those of pellucid_compare.
 * result: NULL if of no interest. */
PEL_API bool pellucid_align(pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b,
                            const pel_align_options *options, pel_text *out, pel_align_result *result,
                            pel_error *error);

/* ---- networks from source, nothing executed ---- */

/* The only way to the outside that the interpreted program has. Paths are inside the roots; what is read must stay as
 * long as the pel_ctx. */
typedef struct pel_scan_files {
    void *arg;
    bool (*read)(void *arg, pel_text path, pel_text *bytes); /* false: there is no such file */
    int (*kind)(void *arg, pel_text path);                   /* 0: nothing, 1: a file, 2: a folder */
    bool (*list)(void *arg, pel_text path, pel_text *names); /* sorted, each ended by a newline */
} pel_scan_files;

typedef struct pel_scan_options {
    pel_scan_files files;
    const char *const *roots;   /* folders that modules are imported from, in their order; ends with NULL */
    const char *const *set;     /* "name=value": values for what is not known; ends with NULL */
    const char *forward;        /* "2x3x224x224", several with a comma between: shapes through forward; NULL: none */
    bool as_json;               /* docs/model-json.md, one line per source */
    bool classes;               /* also the classes that no network was made of, their parameters as symbols */
    bool as_source;             /* instead: a program that needs only torch and builds the network */
    const char *network;        /* of as_source: which, by the name it is bound to; NULL: the only one */
    const pel_model_file *with; /* a checkpoint or a trace that says what the source leaves open; NULL: none */
    uint64_t steps;             /* that one source may take; 0: a thousand million */
    bool is_one_of_many;        /* classes whose configuration would have to be assumed are left, and say so */
} pel_scan_options;

typedef struct pel_scan_result {
    unsigned networks, unknown, errors;
    pel_text rows; /* what pellucid_scan_summary makes a view of; lives in the scanner's ctx */
} pel_scan_result;

/* A machine that keeps what it has imported. Everything it makes lives in ctx. */
typedef struct pel_scanner pel_scanner;
PEL_API bool pellucid_scan_open(pel_ctx *ctx, const pel_scan_options *options, pel_scanner **scanner, pel_error *error);
typedef struct pel_scan_target {
    const char *path; /* NULL: a snippet */
    pel_text source;
} pel_scan_target;
/* Imports what at least so many of the sources import, ahead of them: who forks afterwards shares it. */
PEL_API void pellucid_scan_import(pel_scanner *scanner, const pel_scan_target *targets, size_t n, size_t wanted_by);
/* The import statements of a source, each as one that can be given to pellucid_scan_import() as a snippet, on a line of
 * its own. Fails for source that can't be parsed. */
PEL_API bool pellucid_scan_imports(pel_scanner *scanner, const pel_scan_target *target, pel_text *out,
                                   pel_error *error);
/* The networks of one source. path: its file, or NULL for a snippet, whose last expression counts as a network. */
PEL_API bool pellucid_scan(pel_scanner *scanner, const char *path, pel_text source, pel_text *out,
                           pel_scan_result *result, pel_error *error);
/* Several sources in one view: the networks that are built and where, classes that nothing builds, what was not
 * understood by reason. rows: those of the results, one after the other. Text, or an object of JSON. */
PEL_API bool pellucid_scan_summary(pel_ctx *ctx, pel_text rows, bool as_json, pel_text *out, pel_error *error);

/* SARIF 2.1.0 from what pellucid_scan() wrote with as_json, or pellucid_error_json(): source is that line, path its
 * file.
 */
PEL_API bool pellucid_scan_sarif(pel_ctx *ctx, const pel_scan_target *lines, size_t n, pel_text *out, pel_error *error);

/* ---- a language server, without its wires ---- */

/* One client's session of the language server protocol (3.17). The host moves the bytes, keeps the time and runs the
 * analyses, in this process or in another one:
 *
 *     feed what the client sent; write what output() has, and say so to sent();
 *     while due(): give the request to job() and analyse(), wherever; done() takes what they made.
 *
 * Times are milliseconds of a clock that only goes forward. */
typedef struct pel_lsp pel_lsp;
PEL_API pel_lsp *pellucid_lsp_open(void); /* NULL: no memory */
PEL_API void pellucid_lsp_close(pel_lsp *server);
PEL_API void pellucid_lsp_feed(pel_lsp *server, pel_text bytes, uint64_t now);
PEL_API pel_text pellucid_lsp_output(const pel_lsp *server); /* valid until the next call but sent() */
PEL_API void pellucid_lsp_sent(pel_lsp *server, size_t n);
/* Whether the client has ended the session, and what the program should end with. */
PEL_API bool pellucid_lsp_is_over(const pel_lsp *server, int *exit_code);
/* The analysis that is to begin now; one that is under way is no longer wanted then. False: none; *wait: how long until
 * the next one is due, 0: nobody waits. */
PEL_API bool pellucid_lsp_due(pel_lsp *server, uint64_t now, uint64_t *wait, pel_text *request, uint64_t *number);
/* The end of an analysis: what analyse() gave, or why there is nothing (failed; NULL: there is). */
PEL_API void pellucid_lsp_done(pel_lsp *server, uint64_t number, pel_text result, const char *failed);
/* A line for the client's log. */
PEL_API void pellucid_lsp_say(pel_lsp *server, pel_text text);

typedef struct pel_lsp_job { /* a request, read */
    const char *path;
    pel_text source;
    const char *python;          /* whose site-packages are read; NULL: nobody said */
    const char *const *roots;    /* folders of the workspace and of the settings; ends with NULL */
    const pel_scan_target *open; /* every text that the editor has open, this one first: it counts, not the file */
    size_t n_open;
    const void *inputs; /* of the library's */
} pel_lsp_job;
PEL_API bool pellucid_lsp_job(pel_ctx *ctx, pel_text request, pel_lsp_job *job, pel_error *error);
/* The scanner's files must give the open texts. */
PEL_API bool pellucid_lsp_analyse(pel_scanner *scanner, const pel_lsp_job *job, pel_text *out, pel_error *error);

#ifdef __cplusplus
}
#endif

#endif
