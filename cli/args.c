/* Command lines by table: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, operands anywhere, "--" ends options. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int cli_usage_error(const cli_command *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "pellucid%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry: pellucid help%s%s\n", command ? " " : "", command ? command->name : "");
    return CLI_BAD_USAGE;
}

/* ---- suggestions ---- */

/* Levenshtein's distance, or any larger number if it is more than fits the row. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[64];
    size_t len_a = strlen(a), len_b = strlen(b);
    if (len_b >= sizeof row / sizeof *row) return len_a + len_b;
    for (size_t j = 0; j <= len_b; j++) row[j] = j;
    for (size_t i = 1; i <= len_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[len_b];
}

void cli_consider(cli_nearest *nearest, const char *word) {
    size_t len = strlen(nearest->typed);
    bool is_start = len >= 2 && strncmp(word, nearest->typed, len) == 0;
    size_t distance = is_start ? 1 : edit_distance(nearest->typed, word);
    if (distance * 2 > strlen(word)) return; /* not near */
    if (nearest->best && distance >= nearest->distance) return;
    nearest->best = word;
    nearest->distance = distance;
}

static int unknown_option(const cli_command *command, const char *name, size_t len) {
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(len < sizeof typed ? len : sizeof typed - 1), name);
    cli_nearest nearest = { .typed = typed };
    for (const cli_option *option = command->options; option->name; option++) cli_consider(&nearest, option->name);
    if (nearest.best)
        return cli_usage_error(command, "there is no option '--%s'; did you mean '--%s'?", typed, nearest.best);
    return cli_usage_error(command, "there is no option '--%s'", typed);
}

/* ---- splitting ---- */

static const cli_option *find_option(const cli_command *command, const char *name, size_t len) {
    for (const cli_option *option = command->options; option->name; option++)
        if (strlen(option->name) == len && memcmp(option->name, name, len) == 0) return option;
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter) {
    for (const cli_option *option = command->options; option->name; option++)
        if (option->letter == letter) return option;
    return NULL;
}

static bool is_one_of(const char *word, const char *choices) {
    size_t len = strlen(word);
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, " ");
        if (n == len && memcmp(at, word, n) == 0) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

typedef struct splitter {
    const cli_command *command;
    char **argv;
    int argc, next;
    cli_given *given;
    size_t n_given;
} splitter;

/* Notes an option. attached: the value that stood in the same argument, or NULL. */
static int note_option(splitter *s, const cli_option *option, const char *attached) {
    const char *value = attached;
    if (!option->value && attached)
        return cli_usage_error(s->command, "the option '--%s' takes no value", option->name);
    if (option->value && !value) {
        if (s->next == s->argc)
            return cli_usage_error(s->command, "the option '--%s' needs a value: %s", option->name, option->value);
        value = s->argv[s->next++];
    }
    if (option->choices && !is_one_of(value, option->choices))
        return cli_usage_error(s->command, "'%s' is no value for '--%s'; there are: %s", value, option->name,
                               option->choices);
    s->given[s->n_given++] = (cli_given){ option, value };
    return -1;
}

static int split_long(splitter *s, const char *argument) {
    size_t len = strcspn(argument, "=");
    if (len == 4 && memcmp(argument, "help", 4) == 0) {
        cli_print_help(stdout, s->command);
        return CLI_FINE;
    }
    const cli_option *option = find_option(s->command, argument, len);
    if (!option) return unknown_option(s->command, argument, len);
    return note_option(s, option, argument[len] == '=' ? argument + len + 1 : NULL);
}

static int split_letters(splitter *s, const char *letters) {
    for (const char *at = letters; *at; at++) {
        const cli_option *option = find_letter(s->command, *at);
        if (!option && *at == 'h') {
            cli_print_help(stdout, s->command);
            return CLI_FINE;
        }
        if (!option) return cli_usage_error(s->command, "there is no option '-%c'", *at);
        bool takes_rest = option->value && at[1];
        int mistake = note_option(s, option, takes_rest ? at + 1 : NULL);
        if (mistake >= 0) return mistake;
        if (takes_rest) break;
    }
    return -1;
}

int cli_parse_args(const cli_command *command, int argc, char **argv, cli_args *args) {
    /* An argument holds at most as many options as it has letters. */
    size_t room = 1;
    for (int i = 0; i < argc; i++) room += strlen(argv[i]) + 1;
    static const char **operands; /* these two live as long as the process */
    static cli_given *given;
    operands = calloc((size_t)argc + 1, sizeof *operands);
    given = calloc(room, sizeof *given);
    splitter s = { .command = command, .argv = argv, .argc = argc, .given = given };
    if (!operands || !given) {
        fputs("pellucid: out of memory\n", stderr);
        return CLI_BAD_INPUT;
    }
    size_t n_operands = 0;
    bool only_operands = false;
    while (s.next < argc) {
        const char *argument = argv[s.next++];
        int mistake = -1;
        if (only_operands || argument[0] != '-' || !argument[1])
            operands[n_operands++] = argument;
        else if (strcmp(argument, "--") == 0)
            only_operands = true;
        else if (argument[1] == '-')
            mistake = split_long(&s, argument + 2);
        else
            mistake = split_letters(&s, argument + 1);
        if (mistake >= 0) return mistake;
    }
    *args = (cli_args){ command, s.given, s.n_given, operands, n_operands, argv };
    if (n_operands < command->min_operands) return cli_usage_error(command, "missing operand: %s", command->operands);
    if (command->max_operands && n_operands > command->max_operands)
        return cli_usage_error(command, "one operand too many: '%s'", operands[command->max_operands]);
    for (size_t i = 0; command->choices && i < n_operands; i++)
        if (!is_one_of(operands[i], command->choices))
            return cli_usage_error(command, "'%s' is not among: %s", operands[i], command->choices);
    return -1;
}

/* ---- reading what was given ---- */

const char *cli_value(const cli_args *args, const char *name) {
    for (size_t i = args->n_given; i-- > 0;)
        if (strcmp(args->given[i].option->name, name) == 0) return args->given[i].value ? args->given[i].value : "";
    return NULL;
}

bool cli_has(const cli_args *args, const char *name) { return cli_value(args, name) != NULL; }

int cli_python_version(const cli_args *args) {
    const char *value = cli_value(args, "python-version");
    return value ? atoi(value + 2) : 0; /* the table's choices let only the supported ones through */
}

int cli_marshal_version(const cli_args *args) {
    const char *value = cli_value(args, "marshal");
    return value ? atoi(value + 2) : 0;
}

int cli_number(const cli_args *args, const char *name, int least, int most, int *value) {
    const char *text = cli_value(args, name);
    if (!text) return -1;
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < least || number > most)
        return cli_usage_error(args->command, "'--%s' is a number from %d to %d, not '%s'", name, least, most, text);
    *value = (int)number;
    return -1;
}
