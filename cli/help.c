/* Everything that explains the program, made from the tables of the subcommands. */
#include "cli.h"

#include <string.h>

static const char summary[] = "see through PyTorch models and the Python they are written in";

static const struct {
    int code;
    const char *meaning;
} exit_codes[] = {
    { CLI_FINE, "fine" },
    { CLI_BAD_USAGE, "bad usage: the command line was not understood" },
    { CLI_BAD_INPUT, "bad input: something could not be read, or is not what it should be" },
    { CLI_INCOMPLETE, "done but incomplete: the result says what is missing" },
    { CLI_FOUND, "done, and something was found: a danger, a difference, a shape error" },
};
#define N_EXIT_CODES (sizeof exit_codes / sizeof *exit_codes)
static const char several_inputs[] =
    "With several inputs: the first of 2, 4, 3 that happened; audit: the worst verdict decides.";

/* What needs objects of a running Python has no subcommand. */
static const char in_python[] = "In Python every subcommand but lsp, demo, help, version and completion is a "
                                "function of the same name: pellucid.tree(model). "
                                "What needs objects of a running program is there alone: record (calls that a program "
                                "makes), prepare_debug, debug, link and install (what torch.compile made), "
                                "decompile_map and recompile (code objects).";

static const cli_option help_option = { 'h', "help", NULL, "show this help", NULL };

/* ---- --help ---- */

#define COLUMNS 79 /* no line of the help is longer, but for examples */

/* Words of a text, from column `at` on; the lines after the first begin at column `indent`. */
static void print_words(FILE *out, const char *text, size_t len, size_t at, size_t indent) {
    bool is_first = true;
    for (size_t i = 0; i < len;) {
        while (i < len && (text[i] == ' ' || text[i] == '\n')) i++;
        size_t end = i;
        while (end < len && text[end] != ' ' && text[end] != '\n') end++;
        if (end == i) break;
        if (!is_first && at + 1 + (end - i) > COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
            is_first = true;
        }
        fprintf(out, "%s%.*s", is_first ? "" : " ", (int)(end - i), text + i);
        at += (end - i) + !is_first;
        is_first = false;
        i = end;
    }
    fputc('\n', out);
}

/* Whether the line after this one goes on with it: in a paragraph any line without spaces before it, in a list one with
 * more of them. */
static bool goes_on(const char *end, size_t spaces) {
    if (!*end || !end[1] || end[1] == '\n') return false;
    size_t next = strspn(end + 1, " ");
    return spaces ? next > spaces : next == 0;
}

/* Paragraphs are filled; a line that begins with spaces is an item of a list. */
static void print_filled(FILE *out, const char *text) {
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n"), spaces = strspn(at, " ");
        while (n && goes_on(at + n, spaces)) n += 1 + strcspn(at + n + 1, "\n");
        fprintf(out, "%*s", (int)spaces, "");
        print_words(out, at + spaces, n - spaces, spaces, spaces ? spaces + 3 : 0);
        at += n + (at[n] == '\n');
    }
}

static void print_option(FILE *out, const cli_option *option) {
    char left[64];
    int n = option->letter ? snprintf(left, sizeof left, "-%c, --%s", option->letter, option->name)
                           : snprintf(left, sizeof left, "    --%s", option->name);
    if (option->value) snprintf(left + n, sizeof left - (size_t)n, " %s", option->value);
    if (strlen(left) > 24)
        fprintf(out, "  %s\n  %-24s ", left, "");
    else
        fprintf(out, "  %-24s ", left);
    print_words(out, option->help, strlen(option->help), 27, 27);
}

static void print_indented(FILE *out, const char *text) {
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        if (n)
            fprintf(out, "  %.*s\n", (int)n, at);
        else
            fputc('\n', out);
        at += n + (at[n] == '\n');
    }
}

static void print_usage_line(FILE *out, const cli_command *command) {
    fprintf(out, "pellucid %s%s%s%s", command->name, command->options->name ? " [OPTION]..." : "",
            *command->operands ? " " : "", command->operands);
}

void cli_print_help(FILE *out, const cli_command *command) {
    fputs("usage: ", out);
    print_usage_line(out, command);
    fputs("\n\n", out);
    print_filled(out, command->about);
    fputs("\noptions:\n", out);
    for (const cli_option *option = command->options; option->name; option++) print_option(out, option);
    print_option(out, &help_option);
    fputs("\nexample:\n", out);
    print_indented(out, command->example);
}

void cli_print_overview(FILE *out) {
    fprintf(out, "pellucid %s: %s\n\nusage: pellucid SUBCOMMAND [OPTION]... [OPERAND]...\n\nsubcommands:\n",
            pellucid_version(), summary);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        const char *summed = (*command)->summary;
        fprintf(out, "  %-12s ", (*command)->name);
        print_words(out, summed, strlen(summed), 15, 15);
    }
    fputs("\n'pellucid help SUBCOMMAND' teaches one of them with an example.\n\nexit codes:\n", out);
    for (size_t i = 0; i < N_EXIT_CODES; i++) fprintf(out, "  %d  %s\n", exit_codes[i].code, exit_codes[i].meaning);
    print_words(out, several_inputs, strlen(several_inputs), 0, 0);
    fputc('\n', out);
    print_words(out, in_python, strlen(in_python), 0, 0);
}

/* ---- the manual page ---- */

/* Text for roff: backslashes and dashes escaped, a line never starting with a control character. */
static void put_roff(FILE *out, const char *text) {
    bool at_line_start = true;
    for (const char *at = text; *at; at++) {
        if (at_line_start && (*at == '.' || *at == '\'')) fputs("\\&", out);
        if (*at == '\\')
            fputs("\\e", out);
        else if (*at == '-')
            fputs("\\-", out);
        else
            fputc(*at, out);
        at_line_start = *at == '\n';
    }
}

static void put_roff_paragraphs(FILE *out, const char *text) {
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        char line[512];
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        if (n)
            put_roff(out, line);
        else
            fputs(".PP", out);
        fputc('\n', out);
        at += n + (at[n] == '\n');
    }
}

static void print_man_option(FILE *out, const cli_option *option) {
    fputs(".TP\n", out);
    if (option->letter) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    put_roff(out, option->name);
    fputs("\\fR", out);
    if (option->value) {
        fputs(" \\fI", out);
        put_roff(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_roff(out, option->help);
    fputc('\n', out);
}

/* The page comes from the tables that --help prints, so no option can be missing in one of them. Their texts go
 * through put_roff: roff would take a dot at the start of a line for a command. */
void cli_print_man(FILE *out) {
    fprintf(out, ".\\\" Made by 'pellucid help --man'; do not edit.\n.TH PELLUCID 1 \"\" \"pellucid %s\"\n.SH NAME\n",
            pellucid_version());
    fputs("pellucid \\- ", out);
    put_roff(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, "%s\\fBpellucid %s\\fR", command == cli_commands ? "" : ".br\n", (*command)->name);
        if ((*command)->options->name) fputs(" [\\fIOPTION\\fR]...", out);
        if (*(*command)->operands) {
            fputs(" \\fI", out);
            put_roff(out, (*command)->operands);
            fputs("\\fR", out);
        }
        fputc('\n', out);
    }
    fputs(".SH SUBCOMMANDS\n", out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, ".SS %s\n", (*command)->name);
        put_roff_paragraphs(out, (*command)->about);
        for (const cli_option *option = (*command)->options; option->name; option++) print_man_option(out, option);
        fputs(".PP\nExample:\n.PP\n.nf\n", out);
        put_roff(out, (*command)->example);
        fputs("\n.fi\n", out);
    }
    fputs(".PP\nEvery subcommand also takes ", out);
    fputs("\\fB\\-h\\fR, \\fB\\-\\-help\\fR.\n", out);
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < N_EXIT_CODES; i++) {
        fprintf(out, ".TP\n%d\n", exit_codes[i].code);
        put_roff(out, exit_codes[i].meaning);
        fputc('\n', out);
    }
    fputs(".PP\n", out);
    put_roff(out, several_inputs);
    fputs("\n.SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colours, even on a terminal\n", out);
}

/* ---- shell completion ---- */

static void put_option_words(FILE *out, const cli_command *command) {
    for (const cli_option *option = command->options; option->name; option++) fprintf(out, "--%s ", option->name);
    fputs("--help", out);
}

/* In the shell's `case` the first pattern that fits wins, and `subcommand,*` fits everything: options with a value must
 * come before it. A pattern that leaves `words` empty asks for file names. */
void cli_print_bash_completion(FILE *out) {
    fputs("# bash completion for pellucid: source <(pellucid completion bash)\n"
          "_pellucid() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        words='",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++)
        fprintf(out, "%s%s", command == cli_commands ? "" : " ", (*command)->name);
    fputs("'\n    else\n        case ${COMP_WORDS[1]},$previous in\n", out);
    for (const cli_command *const *command = cli_commands; *command; command++)
        for (const cli_option *option = (*command)->options; option->name; option++) {
            if (!option->value) continue;
            if (option->choices)
                fprintf(out, "        %s,--%s) words='%s' ;;\n", (*command)->name, option->name, option->choices);
            else if (option->letter)
                fprintf(out, "        %s,--%s|%s,-%c) ;;\n", (*command)->name, option->name, (*command)->name,
                        option->letter);
            else
                fprintf(out, "        %s,--%s) ;;\n", (*command)->name, option->name);
        }
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, "        %s,*)\n            if [[ $word == -* ]]; then words='", (*command)->name);
        put_option_words(out, *command);
        fprintf(out, "'; else words='%s'; fi ;;\n", (*command)->choices ? (*command)->choices : "");
    }
    fputs("        esac\n"
          "    fi\n"
          "    if [[ $words ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    else\n"
          "        compopt -o filenames\n"
          "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "    fi\n"
          "}\n"
          "complete -F _pellucid pellucid\n",
          out);
}

/* For single quotes inside _arguments: quotes, colons and brackets have a meaning there. */
static void put_zsh(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void put_zsh_option(FILE *out, const cli_option *option) {
    fputs("            ", out);
    if (option->letter) fprintf(out, "{-%c,--%s}", option->letter, option->name);
    fputc('\'', out);
    if (!option->letter) fprintf(out, "--%s", option->name);
    fputc('[', out);
    put_zsh(out, option->help);
    fputc(']', out);
    if (option->value) {
        fputc(':', out);
        put_zsh(out, option->value);
        if (option->choices)
            fprintf(out, ":(%s)", option->choices);
        else
            fputs(strcmp(option->value, "DIR") == 0 ? ":_files -/" : ":_files", out);
    }
    fputs("' \\\n", out);
}

/* The script shifts `pellucid` away before _arguments runs: _arguments takes the first word for the command, and the
 * subcommand must be that word. */
void cli_print_zsh_completion(FILE *out) {
    fputs("#compdef pellucid\n"
          "# zsh completion for pellucid: put it as _pellucid into a folder of $fpath\n"
          "_pellucid() {\n"
          "    local -a commands=(\n",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, "        '%s:", (*command)->name);
        put_zsh(out, (*command)->summary);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe subcommand commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n",
          out);
    for (const cli_command *const *command = cli_commands; *command; command++) {
        fprintf(out, "    %s)\n        _arguments \\\n", (*command)->name);
        for (const cli_option *option = (*command)->options; option->name; option++) put_zsh_option(out, option);
        put_zsh_option(out, &help_option);
        if ((*command)->choices)
            fprintf(out, "            '*:operand:(%s)' ;;\n", (*command)->choices);
        else
            fputs("            '*:file:_files' ;;\n", out);
    }
    fputs("    esac\n"
          "}\n"
          "_pellucid \"$@\"\n",
          out);
}
