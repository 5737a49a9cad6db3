#include "base/os.h"
#include "cli.h"

#include <string.h>

/* In the order of the overview. */
const cli_command *const cli_commands[] = {
    &cli_cmd_skeleton, &cli_cmd_verify,  &cli_cmd_diff,    &cli_cmd_sketch,    &cli_cmd_tree,       &cli_cmd_serve,
    &cli_cmd_scan,     &cli_cmd_lsp,     &cli_cmd_explain, &cli_cmd_audit,     &cli_cmd_survey,     &cli_cmd_compare,
    &cli_cmd_align,    &cli_cmd_convert, &cli_cmd_extract, &cli_cmd_decompile, &cli_cmd_dis,        &cli_cmd_ast,
    &cli_cmd_format,   &cli_cmd_demo,    &cli_cmd_help,    &cli_cmd_version,   &cli_cmd_completion, NULL,
};

static const cli_command *find_command(const char *name) {
    for (const cli_command *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0) return *command;
    return NULL;
}

static int unknown_command(const char *name) {
    cli_nearest nearest = { .typed = name };
    for (const cli_command *const *command = cli_commands; *command; command++)
        cli_consider(&nearest, (*command)->name);
    if (nearest.best)
        return cli_usage_error(NULL, "there is no subcommand '%s'; did you mean '%s'?", name, nearest.best);
    return cli_usage_error(NULL, "there is no subcommand '%s'", name);
}

int main(int argc, char **argv) {
    pel_os_plain_streams();
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_BAD_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    const cli_command *command = find_command(name);
    if (!command) return unknown_command(name);

    cli_args args;
    int mistake = cli_parse_args(command, argc - 2, argv + 2, &args);
    if (mistake >= 0) return mistake;
    int result = command->run(&args);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("pellucid: cannot write the output");
        return CLI_BAD_INPUT;
    }
    return result;
}
