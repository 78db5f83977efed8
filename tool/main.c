/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The ompjit command: finds the command, reads its options, runs it.
 */
#include <stdio.h>
#include <string.h>

#include "ompjit_opt.h"
#include "tool/cc/cc.h"
#include "tool/show/table.h"
#include "tool/tool.h"

/* A command has options by options.def, or reads its words itself. */
static const struct command {
    const char *name;
    unsigned bit;
    int (*function)(struct options *o);
    int (*words)(int argc, char **argv);
    const char *arguments, *summary;
} commands[] = {
#define COMMAND(name, bit, function, arguments, summary) \
    {name, bit, function, NULL, arguments, summary},
#define COMPILER(name, function, arguments, summary) \
    {name, 0, NULL, function, arguments, summary},
#include "tool/commands.def"
};
#define NCOMMANDS (sizeof commands / sizeof commands[0])

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    static const char *const others[] = {"table", "version", "help"};
    const char *names[NCOMMANDS + 4] = {NULL};
    size_t n = 0;
    for (; n < NCOMMANDS; n++)
        names[n] = commands[n].name;
    for (size_t i = 0; i < 3; i++)
        names[n++] = others[i];
    const char *like = nearest(name, names);
    if (like)
        complain("no command %s; did you mean %s?", name, like);
    else if (strchr(name, '.') || strchr(name, '/'))
        complain("no command %s; did you mean ompjit run %s?", name, name);
    else
        complain("no command %s; see ompjit help", name);
    return EXIT_USAGE;
}

static void overview(FILE *out)
{
    fputs("usage: ompjit COMMAND ...\n\n", out);
    for (size_t i = 0; i < NCOMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("  table      show the table of OpenMP runtime functions\n"
          "  version    show versions\n"
          "  help       show this, or the options of one COMMAND\n\n"
          "ompjit help COMMAND and ompjit COMMAND --help list options; the\n"
          "manual page ompjit(1) has examples.\n", out);
}

static const char *compiler_of(const struct command *command)
{
    return command->words == tool_fc ? "flang" : "clang";
}

static int help_command(const struct command *command)
{
    printf("usage: ompjit %s %s\n\n%s\n\n", command->name, command->arguments,
           command->summary);
    if (command->words)
        printf("The options are %s-22's, which %s-22 --help lists. With "
               "-fopenmp,\ntarget regions run on this library's devices.\n",
               compiler_of(command), compiler_of(command));
    options_help(command->bit);
    return EXIT_OK;
}

static int help_opt(void)
{
    ompjit_opt_info info = OMPJIT_OPT_INFO_INIT;
    puts("--opt=NAME=VALUE sets an option of the optimizer of OpenMP device "
         "code, and\n--opt=NAME a switch. These and their defaults are known:\n");
    for (unsigned i = 0; !ompjit_opt_at(i, &info, NULL); i++)
        if (info.most)
            printf("  %s=%u\n      %s\n", info.name, info.ordinary, info.help);
        else
            printf("  %s=FUNCTION\n      %s\n", info.name, info.help);
    return EXIT_OK;
}

static int tool_help(int argc, char **argv)
{
    static char *const table_help[] = {"table", "--help", NULL};
    if (argc == 0) {
        overview(stdout);
        return EXIT_OK;
    }
    if (!strcmp(argv[0], "table"))
        return tool_table(2, (char **)table_help);
    if (!strcmp(argv[0], "opt"))
        return help_opt();
    const struct command *command = find(argv[0]);
    return command ? help_command(command) : unknown(argv[0]);
}

static int tool_version(void)
{
    printf("ompjit %s, LLVM %s\n", ompjit_version(), OMPJIT_CONFIG_LLVM);
    return EXIT_OK;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct options o = {0};
    if (command->words)
        return command->words(argc + 1, argv - 1);
    int status = options_read(&o, command->bit, argc, argv);
    if (!status && o.help) {
        status = help_command(command);
    } else if (!status && !o.file &&
               !(command->bit & (DEVICES | REPL))) {
        complain("%s needs %s; usage: ompjit %s %s", command->name,
                 command->bit == CACHE  ? "a command"
                 : command->bit == EXEC ? "a PROGRAM"
                                        : "a FILE",
                 command->name, command->arguments);
        status = EXIT_USAGE;
    } else if (!status) {
        session_variables(&o);
        status = command->function(&o);
    }
    options_free(&o);
    return status;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    const struct command *command = find(name);
    if (command)
        return run_command(command, argc - 2, argv + 2);
    if (!strcmp(name, "table"))
        return tool_table(argc - 1, argv + 1);
    if (!strcmp(name, "version") || !strcmp(name, "--version"))
        return tool_version();
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return tool_help(argc - 2, argv + 2);
    return unknown(name);
}

/* What the tool does where it has been started by another name: NULL for its
 * own. */
static int (*by_name(const char *path))(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*function)(int argc, char **argv);
    } names[] = {{"ompjit-cc", tool_cc},
                 {"ompjit-c++", tool_cxx},
                 {"ompjit-fc", tool_fc},
                 {"clang-linker-wrapper", tool_link},
                 {"llvm-offload-binary", tool_pack}};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(slash ? slash + 1 : path, names[i].name))
            return names[i].function;
    return NULL;
}

int main(int argc, char **argv)
{
    int (*function)(int, char **) = argc ? by_name(argv[0]) : NULL;
    return outputs_finish(function ? function(argc, argv)
                                   : dispatch(argc, argv));
}
