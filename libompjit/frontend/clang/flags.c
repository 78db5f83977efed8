/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The user's compiler flags, which are the driver's, as cc1 takes them. A flag
 * that would change what is made, or where it goes, is refused with the reason
 * rather than ignored; which those are is in flags.def.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/clang/clang.h"

/* As the driver spells them out. */
#define FINITE_MATH "-menable-no-infs -menable-no-nans -ffinite-math-only"
#define UNSAFE_MATH                                                           \
    "-fapprox-func -funsafe-math-optimizations -fno-signed-zeros "            \
    "-mreassociate -freciprocal-math -ffp-contract=fast"
#define FAST_MATH "-ffast-math " UNSAFE_MATH " " FINITE_MATH
#define NO_TRAPS "-ffp-exception-behavior=ignore"
#define NO_TBAA "-relaxed-aliasing"
#define COUNTERS "-fprofile-instrument=clang -mllvm -enable-value-profiling"
#define LINES_HOST "-debug-info-kind=line-tables-only -dwarf-version=5"
/* The flags that ptxas takes without full debug information. */
#define LINES_DEVICE "-debug-info-kind=line-directives-only -dwarf-version=2"

static const ompjit__flag rows[] = {
#define PAIR(flag) {flag, OMPJIT__FLAG_PAIRED, NULL, NULL},
#define OTHERS(flag) {flag, OMPJIT__FLAG_OTHERS, NULL, NULL},
#define MEANS(flag, host, device) {flag, OMPJIT__FLAG_MEANS, host, device},
#define REFUSE(prefix, why) {prefix, OMPJIT__FLAG_REFUSED, why, NULL},
#include "frontend/clang/flags.def"
};
static const char *const families[] = {"-f", "-W", "-std=", "-pedantic", NULL};
const ompjit__flags ompjit__clang_flags = {rows, OMPJIT__COUNT(rows), families};

static bool starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* A translated flag is matched as a whole, the others by how they begin. */
static bool matches(const ompjit__flag *row, const char *flag)
{
    return row->kind == OMPJIT__FLAG_MEANS ? !strcmp(flag, row->flag)
                                   : starts(flag, row->flag);
}

static const ompjit__flag *find(const ompjit__flags *flags, const char *flag)
{
    for (size_t i = 0; i < flags->n; i++)
        if (matches(&flags->rows[i], flag))
            return &flags->rows[i];
    return NULL;
}

/* A flag of one of these families that has no row goes to the compiler as it
 * is, whose own message tells of one that it does not know. */
static bool is_passed(const ompjit__flags *flags, const char *flag)
{
    for (const char *const *family = flags->families; *family; family++)
        if (starts(flag, *family))
            return true;
    return !strcmp(flag, "-w") || !strcmp(flag, "-pthread");
}

static ompjit_status refuse(const char *flag, const char *why,
                            ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_FRONTEND,
                        "the compiler flag `%s` cannot be used: %s", flag,
                        why);
}

/* Words that blanks separate, each as an argument. */
static void add_words(ompjit__args *args, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        char *word = ompjit__format("%.*s", (int)n, words);
        if (word)
            ompjit__args_add(args, word);
        args->failed |= !word;
        free(word);
        words += n + (words[n] == ' ');
    }
}

static void add_both(ompjit__command *command, const char *option,
                     const char *value)
{
    ompjit__args_add(&command->host, option);
    ompjit__args_add(&command->host, value);
    ompjit__args_add(&command->device, option);
    ompjit__args_add(&command->device, value);
}

/* A relative -I counts from the working directory, as it does for clang, and
 * from the source's folder, where a source in memory seems to be. */
static void add_pair(ompjit__command *command, const char *option,
                     const char *value, const char *dir)
{
    add_both(command, option, value);
    if (!dir || strcmp(option, "-I") || *value == '/')
        return;
    char *beside = ompjit__format("%s%s", dir, value);
    command->host.failed |= !beside;
    if (beside)
        add_both(command, option, beside);
    free(beside);
}

/* The flag at *i, and its value if that is the next string; *i moves on. */
static ompjit_status add_flag(const ompjit__flags *flags,
                              const ompjit_module_options *options,
                              unsigned *i, const char *dir,
                              ompjit__command *command, ompjit_error *err)
{
    const char *flag = options->flags[(*i)++];
    const ompjit__flag *row = flag ? find(flags, flag) : NULL;
    if (!flag)
        return refuse("(null)", "it is no string", err);
    if (row && row->kind == OMPJIT__FLAG_REFUSED)
        return refuse(flag, row->host, err);
    if (row && row->kind <= OMPJIT__FLAG_OTHERS) {
        const char *value = flag + strlen(row->flag);
        if (!*value && *i < options->nflags)
            value = options->flags[(*i)++];
        if (!value || !*value)
            return refuse(flag, "its value is missing", err);
        if (row->kind == OMPJIT__FLAG_PAIRED)
            add_pair(command, row->flag, value, dir);
        return OMPJIT_OK;
    }
    if (row && row->kind == OMPJIT__FLAG_IGNORED)
        return OMPJIT_OK;
    if (!row && !is_passed(flags, flag))
        return refuse(flag, *flag == '-' ? "it is not known here"
                                         : "it is no flag",
                      err);
    if (!row) {
        ompjit__args_add(&command->host, flag);
        ompjit__args_add(&command->device, flag);
        return OMPJIT_OK;
    }
    add_words(&command->host, row->host);
    add_words(&command->device, row->device);
    return OMPJIT_OK;
}

ompjit_status ompjit__flags_add(const ompjit__flags *flags,
                                const ompjit_module_options *options,
                                const char *dir, ompjit__command *command,
                                ompjit_error *err)
{
    for (unsigned i = 0; i < options->nflags;) {
        ompjit_status status = add_flag(flags, options, &i, dir,
                                        command, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}
