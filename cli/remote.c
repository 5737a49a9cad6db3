/* Model files with an address (hf://, https://, s3://): a Python beside this program reads them, for the program itself
 * has no network. Requests and answers are lines through two pipes (python/pellucid/_remote_pipe.py). */
#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 16384
#define MAX_LISTED ((unsigned long)1 << 20) /* files of one repository */

typedef struct remote_file {
    pel_model_source source;
    unsigned long id;
    char *etag;
    struct remote_file *next;
} remote_file;

struct cli_remote {
    remote_file *files; /* the first is the last: what was opened beside it precedes it */
};

/* One reader serves the whole program: its connections and credentials are kept. */
static struct {
    pthread_mutex_t lock;
    FILE *to, *from;
    bool is_insecure;
} reader = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char start[] = "import sys\n"
                            "try:\n"
                            "    from pellucid import _remote_pipe\n"
                            "except ModuleNotFoundError as error:\n"
                            "    print(f'no {sys.executable} can not read remote files: {error}', flush=True)\n"
                            "    sys.exit(2)\n"
                            "sys.exit(_remote_pipe.main())\n";

/* "hf://": a name with a scheme of letters, digits, +, - and dots. A Windows path has one slash after its colon. */
bool cli_is_remote(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    size_t n = strspn(name, allowed);
    return n > 1 && strncmp(name + n, "://", 3) == 0;
}

void cli_set_insecure(bool is_insecure) { reader.is_insecure = is_insecure; }

static bool fail(pel_error *error, const char *what) {
    *error = (pel_error){ .code = PEL_E_READ, .line = 1, .column = 1 };
    snprintf(error->message, sizeof error->message, "%s", what);
    return false;
}

static bool start_reader(pel_error *error) {
    if (reader.to) return true;
    char beside[4096], said[PEL_MESSAGE_MAX];
    const char *python = cli_python(beside, sizeof beside);
    char *argv[] = { (char *)(uintptr_t)python, "-c", (char *)(uintptr_t)start,
                     reader.is_insecure ? "--insecure" : NULL, NULL };
    int to, from;
    if (!pel_os_start(python, argv, &to, &from)) {
        snprintf(said, sizeof said, "remote files need Python, and %.100s can't be started: %.60s", python,
                 strerror(errno));
        return fail(error, said);
    }
    reader.to = fdopen(to, "wb");
    reader.from = fdopen(from, "rb");
    return (reader.to && reader.from) || fail(error, "out of memory");
}

static void stop_reader(void) {
    fclose(reader.to);
    fclose(reader.from);
    reader.to = reader.from = NULL;
}

/* Writes a word with everything but letters, digits and -._~/:@ as %XX. */
static void put_quoted(const char *text, size_t len) {
    static const char plain[] = "-._~/:@";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(plain, c));
        if (is_plain)
            fputc(c, reader.to);
        else
            fprintf(reader.to, "%%%02X", c);
    }
}

/* The next line without its end. */
static bool get_line(char *line, pel_error *error) {
    fflush(reader.to);
    if (!fgets(line, LINE_MAX_BYTES, reader.from)) return fail(error, "the reader of remote files ended");
    size_t len = strlen(line);
    if (!len || line[len - 1] != '\n') return fail(error, "the reader of remote files gave a line that is too long");
    line[len - 1] = 0;
    return strncmp(line, "no ", 3) != 0 || fail(error, line + 3);
}

static bool read_remote(void *arg, uint64_t offset, char *to, size_t length);

/* The file that the reader has just opened. The lock is held. */
static remote_file *take_file(struct cli_remote *remote, const char *line, pel_error *error) {
    unsigned long id;
    unsigned long long size;
    int at = 0;
    if (sscanf(line, "ok %lu %llu %n", &id, &size, &at) != 2 || !at) {
        fail(error, "the reader of remote files gave no answer that makes sense");
        return NULL;
    }
    remote_file *file = calloc(1, sizeof *file);
    char *etag = strdup(line + at);
    if (!file || !etag) {
        free(file);
        free(etag);
        fail(error, "out of memory");
        return NULL;
    }
    *file = (remote_file){ .id = id, .etag = etag, .next = remote->files };
    file->source =
        (pel_model_source){ .size = size, .read_at = read_remote, .arg = file, .etag = { etag, strlen(etag) } };
    remote->files = file;
    return file;
}

/* What failed is known to the library as "can't be read here"; the reason goes to stderr, once for each file. */
static bool read_remote(void *arg, uint64_t offset, char *to, size_t length) {
    remote_file *file = arg;
    char line[LINE_MAX_BYTES];
    pel_error error = { .code = PEL_E_READ };
    unsigned long long n = 0;
    pthread_mutex_lock(&reader.lock);
    fprintf(reader.to, "read %lu %llu %llu\n", file->id, (unsigned long long)offset, (unsigned long long)length);
    bool fine = get_line(line, &error) && sscanf(line, "ok %llu", &n) == 1 && n == length &&
                fread(to, 1, length, reader.from) == length;
    pthread_mutex_unlock(&reader.lock);
    if (!fine) fprintf(stderr, "pellucid: %s\n", error.message[0] ? error.message : "the reader of remote files ended");
    return fine;
}

/* A file that may be there and can't be opened must not count as absent: it fails when it is read. */
static bool read_nothing(void *arg, uint64_t offset, char *to, size_t length) {
    (void)offset, (void)to, (void)length;
    fprintf(stderr, "pellucid: %s\n", (const char *)arg);
    return false;
}

static bool open_beside(void *arg, pel_text name, pel_model_source **source) {
    struct cli_remote *remote = arg;
    char line[LINE_MAX_BYTES];
    pel_error error;
    remote_file *first = remote->files, *made = NULL;
    while (first && first->next) first = first->next;
    if (!first) return false;
    pthread_mutex_lock(&reader.lock);
    fprintf(reader.to, "beside %lu ", first->id);
    put_quoted(name.ptr, name.len);
    fputc('\n', reader.to);
    bool fine = get_line(line, &error), is_none = fine && strcmp(line, "none") == 0;
    if (fine && !is_none) made = take_file(remote, line, &error);
    pthread_mutex_unlock(&reader.lock);
    if (is_none) return false;
    if (!made && (made = calloc(1, sizeof *made))) {
        made->etag = strdup(error.message);
        made->source = (pel_model_source){ .size = 1, .read_at = read_nothing, .arg = made->etag };
        made->next = remote->files;
        remote->files = made;
    }
    if (made) *source = &made->source;
    return made != NULL;
}

/* Which of the names a folder has: the first of the table that libraries look for. */
static bool choose(const char *folder, char *chosen, size_t size, pel_error *error) {
    char **names;
    size_t n;
    if (!cli_remote_list(folder, &names, &n, error)) return false;
    chosen[0] = 0;
    for (const char *const *wanted = cli_folder_models; *wanted && !chosen[0]; wanted++) {
        for (size_t i = 0; i < n && !chosen[0]; i++) {
            const char *slash = strrchr(names[i], '/');
            if (slash && strcmp(slash + 1, *wanted) == 0) snprintf(chosen, size, "%s", names[i]);
        }
    }
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
    return n == 0 || chosen[0] || fail(error, "it has no file with a usual name of a model: name one of its files");
}

/* choose() comes first because it also starts the reader. Requests on the pipe have no numbers, so the lock covers a
 * request together with its answer. The query of an address is no part of the file's name. */
bool cli_remote_open(const char *uri, cli_model *model, pel_error *error) {
    char chosen[LINE_MAX_BYTES] = "", line[LINE_MAX_BYTES];
    *model = (cli_model){ .input = { .name = uri } };
    if (!choose(uri, chosen, sizeof chosen, error)) return false;
    const char *address = chosen[0] ? chosen : uri;
    struct cli_remote *remote = calloc(1, sizeof *remote);
    remote_file *file = NULL;
    if (!remote) return fail(error, "out of memory");
    pthread_mutex_lock(&reader.lock);
    fputs("open ", reader.to);
    put_quoted(address, strlen(address));
    fputc('\n', reader.to);
    if (get_line(line, error)) file = take_file(remote, line, error);
    pthread_mutex_unlock(&reader.lock);
    if (!file) {
        free(remote);
        return false;
    }
    const char *slash = strrchr(address, '/');
    model->path = strdup(address);
    model->remote = remote;
    model->file = (pel_model_file){ .source = &file->source, .source_beside = open_beside, .arg = remote };
    const char *name = model->path && slash ? model->path + (slash + 1 - address) : uri;
    model->file.name = (pel_text){ name, strcspn(name, "?") };
    return true;
}

void cli_remote_close(struct cli_remote *remote) {
    if (!remote) return;
    for (remote_file *file = remote->files, *next; file; file = next) {
        next = file->next;
        free(file->etag);
        free(file);
    }
    free(remote);
}

/* Undoes %XX, in place. */
static void unquote(char *text) {
    char *to = text;
    for (const char *at = text; *at; at++) {
        unsigned value;
        if (*at == '%' && sscanf(at + 1, "%2x", &value) == 1) {
            *to++ = (char)value;
            at += 2;
        } else
            *to++ = *at;
    }
    *to = 0;
}

/* The lock covers every line of the answer: a line that stays in the pipe would be the answer to the next request.
 * After a failure the caller has nothing to free. */
bool cli_remote_list(const char *uri, char ***names, size_t *n, pel_error *error) {
    char line[LINE_MAX_BYTES];
    unsigned long count = 0;
    *names = NULL;
    *n = 0;
    pthread_mutex_lock(&reader.lock);
    bool fine = start_reader(error);
    if (fine) {
        fputs("list ", reader.to);
        put_quoted(uri, strlen(uri));
        fputc('\n', reader.to);
        fine = get_line(line, error);
    }
    if (fine && strcmp(line, "file") != 0) {
        if (sscanf(line, "ok %lu", &count) != 1 || count > MAX_LISTED) {
            fine = fail(error, "a repository of more files than the limit");
            stop_reader(); /* its answer is still in the pipe: the next one would be taken for it */
        }
        *names = fine ? calloc(count + 1, sizeof **names) : NULL;
        fine = fine && (*names || fail(error, "out of memory"));
        for (; fine && *n < count; ++*n) {
            fine = get_line(line, error);
            if (fine) unquote(line);
            if (fine && !((*names)[*n] = strdup(line))) fine = fail(error, "out of memory");
        }
        if (fine && !count) fine = fail(error, "a folder without files");
    }
    pthread_mutex_unlock(&reader.lock);
    for (size_t i = 0; !fine && *names && i < *n; i++) free((*names)[i]);
    if (!fine) free(*names), *names = NULL;
    return fine;
}
