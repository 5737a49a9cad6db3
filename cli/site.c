/* The folders that an installed Python imports from, found by its files alone: site-packages, what *.pth files there
 * add (editable installs), and the system's where an environment includes it. Nothing is run: of a line of code in a
 * .pth only the finder of setuptools is understood, by its table. */
#include "cli.h"

#include "base/os.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PATH 4096
#define MAX_TABLE ((size_t)4 << 20) /* of a .pth or a finder */

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The file as a text that ends with a NUL; NULL: it can't be read. The caller frees it. */
static char *read_text(const char *path) {
    cli_input input = { 0 };
    pel_error error;
    if (!cli_read(path, MAX_TABLE, &input, &error)) return NULL;
    char *text = malloc(input.bytes.len + 1);
    if (text && input.bytes.len) memcpy(text, input.bytes.ptr, input.bytes.len);
    if (text) text[input.bytes.len] = '\0';
    cli_release(&input);
    return text;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- editable installs of setuptools: MAPPING = {'package': '/folder/of/it'} ---- */

/* The next quoted text from *at on, before `end`; false: there is none. */
static bool next_quoted(const char **at, const char *end, char *out) {
    const char *open = *at;
    while (open < end && *open != '\'' && *open != '"') open++;
    if (open >= end) return false;
    size_t n = 0;
    const char *c = open + 1;
    for (; c < end && *c != *open && n + 1 < MAX_PATH; c++) {
        if (*c == '\\' && c + 1 < end) c++;
        out[n++] = *c;
    }
    out[n] = '\0';
    *at = c + 1;
    return c < end;
}

/* a.b in /x/a/b is found below /x. False: the folder is called otherwise, so no root makes it that package. */
static bool root_of(const char *package, char *folder) {
    for (const char *end = package + strlen(package); end > package;) {
        const char *dot = end;
        while (dot > package && dot[-1] != '.') dot--;
        char *slash = strrchr(folder, '/');
        size_t len = (size_t)(end - dot);
        if (!slash || strlen(slash + 1) != len || strncmp(slash + 1, dot, len) != 0) return false;
        *slash = '\0';
        end = dot > package ? dot - 1 : dot;
    }
    return true;
}

static void add_finder(cli_sources *sources, const char *file) {
    char *text = read_text(file), package[MAX_PATH], folder[MAX_PATH];
    const char *at = text ? strstr(text, "\nMAPPING") : NULL, *end = at ? strchr(at, '}') : NULL;
    if (at) at = strchr(at, '{');
    while (at && end && at < end && next_quoted(&at, end, package) && next_quoted(&at, end, folder)) {
        char root[MAX_PATH];
        memcpy(root, folder, sizeof root);
        if (ends_with(root, ".py")) root[strlen(root) - 3] = '\0';
        if (root_of(package, root))
            cli_add_root(sources, root);
        else
            fprintf(stderr, "pellucid scan: %s: the package %s lies in %s, which is called otherwise: not read\n", file,
                    package, folder);
    }
    free(text);
}

/* ---- *.pth ---- */

static void add_line(cli_sources *sources, const char *site, char *line) {
    size_t len = strlen(line);
    while (len && (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t')) line[--len] = '\0';
    if (!len || *line == '#') return;
    char path[2 * MAX_PATH];
    if (strncmp(line, "import ", 7) == 0 || strncmp(line, "import\t", 7) == 0) {
        size_t name = strspn(line + 7, " \t");
        const char *module = line + 7 + name;
        int n = (int)strcspn(module, " ;\t,.");
        if (snprintf(path, sizeof path, "%s/%.*s.py", site, n, module) >= (int)sizeof path) return;
        if (strncmp(module, "__editable__", 12) == 0) add_finder(sources, path);
        return;
    }
    int n = *line == '/' ? snprintf(path, sizeof path, "%s", line) : snprintf(path, sizeof path, "%s/%s", site, line);
    char *real = n < (int)sizeof path && is_folder(path) ? pel_os_real_path(path) : NULL;
    if (real) cli_add_root(sources, real);
    free(real);
}

static void add_pth(cli_sources *sources, const char *site, const char *name) {
    char path[2 * MAX_PATH];
    if (snprintf(path, sizeof path, "%s/%s", site, name) >= (int)sizeof path) return;
    char *text = read_text(path);
    for (char *line = text, *next; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = '\0';
        add_line(sources, site, line);
    }
    free(text);
}

static bool add_site(cli_sources *sources, const char *site) {
    char **names;
    if (!is_folder(site)) return false;
    cli_add_root(sources, site);
    size_t n = cli_folder_entries(site, &names);
    for (size_t i = 0; i < n; i++) {
        if (ends_with(names[i], ".pth")) add_pth(sources, site, names[i]);
        free(names[i]);
    }
    free(names);
    return true;
}

/* ---- where an interpreter is ---- */

static bool add_prefix(cli_sources *sources, const char *prefix, int depth);

/* pyvenv.cfg of an environment that also has what the Python has that it was made by. */
static bool add_outer(cli_sources *sources, const char *prefix, int depth) {
    char path[MAX_PATH];
    if (snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix) >= (int)sizeof path) return false;
    char *text = read_text(path), *home = text ? strstr(text, "home = ") : NULL;
    bool is_asked = text && strstr(text, "include-system-site-packages = true"), any = false;
    if (home && is_asked) {
        home += 7;
        home[strcspn(home, "\r\n")] = '\0';
        char *slash = strrchr(home, '/');
        if (slash) *slash = '\0';
        any = add_prefix(sources, home, depth + 1);
    }
    free(text);
    return any;
}

static bool add_prefix(cli_sources *sources, const char *prefix, int depth) {
    char lib[MAX_PATH], path[2 * MAX_PATH], **names;
    if (depth > 4 || snprintf(lib, sizeof lib, "%s/lib", prefix) >= (int)sizeof lib) return false;
    size_t n = cli_folder_entries(lib, &names);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2 && strncmp(names[i], "python3", 7) == 0; k++) {
            const char *kind = k ? "dist" : "site"; /* Debian's own packages are in dist-packages */
            if (snprintf(path, sizeof path, "%s/%s/%s-packages", lib, names[i], kind) < (int)sizeof path)
                any |= add_site(sources, path);
        }
        free(names[i]);
    }
    free(names);
    return add_outer(sources, prefix, depth) || any;
}

bool cli_add_python(cli_sources *sources, const char *python) {
    char path[MAX_PATH];
    if (snprintf(path, sizeof path, "%s", python) >= (int)sizeof path) return false;
    if (is_folder(path)) return add_prefix(sources, path, 0);
    struct stat info;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash || stat(python, &info) != 0) return false;
        *slash = '\0';
    }
    return add_prefix(sources, path, 0);
}
