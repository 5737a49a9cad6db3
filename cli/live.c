/* The subcommands that need a live Python: they start one with pellucid._live and become it. */
#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The python3 that is beside this program, as it is where pip installed both. */
static const char *python_beside(char *path, size_t size) {
    if (!pel_os_program_path(path, size)) return NULL;
    char *slash = strrchr(path, '/');
    static const char name[] = "/python3";
    if (!slash || (size_t)(slash - path) + sizeof name > size) return NULL;
    memcpy(slash, name, sizeof name);
    return access(path, X_OK) == 0 ? path : NULL;
}

/* A Python that was named need not have the package: it then says what to type. One that is too old for it says what
 * can be done instead, in words that Python 2 reads as well. */
static const char start[] =
    "import sys\n"
    "if sys.version_info < (3, 10):\n"
    "    sys.stderr.write('pellucid: %s is Python %d.%d. The package needs 3.10, and recording '\n"
    "        '3.11. A file can come from there: torch.jit.script(model).save(\"model.pt\"), or '\n"
    "        'torch.export.save, then pellucid skeleton FILE\\n' % ((sys.executable,) +\n"
    "        tuple(sys.version_info[:2])))\n"
    "    sys.exit(2)\n"
    "try:\n"
    "    from pellucid import _live\n"
    "except ModuleNotFoundError as error:\n"
    "    if (error.name or '').split('.')[0] != 'pellucid': raise\n"
    "    sys.stderr.write('pellucid: %s does not have the package pellucid. Type: '\n"
    "                     '%s -m pip install CHECKOUT_OR_WHEEL\\n' % ((sys.executable,) * 2))\n"
    "    sys.exit(2)\n"
    "sys.exit(_live.main())\n";

const char *cli_python(char *path, size_t size) {
    const char *python = getenv("PELLUCID_PYTHON");
    if (!python) python = python_beside(path, size);
    return python ? python : "python3";
}

bool cli_has_torch(const cli_args *args) {
    static const char ask[] = "from importlib.util import find_spec as find\n"
                              "print('yes' if find('pellucid') and find('torch') else 'no')\n";
    char beside[4096], answer[8] = "";
    const char *python = cli_value(args, "python");
    if (!python) python = cli_python(beside, sizeof beside);
    char *argv[] = { (char *)(uintptr_t)python, (char *)(uintptr_t) "-c", (char *)(uintptr_t)ask, NULL };
    int to, from;
    if (!pel_os_start(python, argv, &to, &from)) return false;
    close(to);
    size_t n = 0;
    for (ptrdiff_t got = 1; got > 0; n += got > 0 ? (size_t)got : 0) /* to its end: it must not write into nothing */
        got = read(from, answer + (n < 4 ? n : 4), n < 4 ? 4 - n : sizeof answer - 5);
    close(from);
    return n > 2 && strncmp(answer, "yes", 3) == 0;
}

/* `python`, `python3.12`, a path to one: what a command that runs a script begins with. */
bool cli_names_python(const char *word) {
    const char *slash = strrchr(word, '/');
    return strncmp(slash ? slash + 1 : word, "python", 6) == 0;
}

int cli_run_python(const cli_args *args) {
    char beside[4096];
    const char *python = cli_value(args, "python");
    if (!python) python = cli_python(beside, sizeof beside);

    size_t n_raw = 0;
    while (args->raw[n_raw]) n_raw++;
    char **argv = calloc(n_raw + 5, sizeof *argv);
    if (!argv) {
        fputs("pellucid: out of memory\n", stderr);
        return CLI_BAD_INPUT;
    }
    /* execvp wants pointers to char that it never writes through */
    size_t n = 0;
    argv[n++] = (char *)(uintptr_t)python;
    argv[n++] = (char *)(uintptr_t) "-c";
    argv[n++] = (char *)(uintptr_t)start;
    argv[n++] = (char *)(uintptr_t)args->command->name;
    for (size_t i = 0; i < n_raw; i++) {
        if (strcmp(args->raw[i], "--python") == 0)
            i++; /* and its value */
        else if (strncmp(args->raw[i], "--python=", 9) != 0)
            argv[n++] = args->raw[i];
    }
    fflush(stdout);
    pel_os_become(python, argv);
    fprintf(stderr, "pellucid %s: cannot start %s: %s; --python says which Python to use\n", args->command->name,
            python, strerror(errno));
    free(argv);
    return CLI_BAD_INPUT;
}
