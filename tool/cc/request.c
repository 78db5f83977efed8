/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The user's words to `ompjit cc`, `c++` and `fc`: what they ask for, by
 * cc.def, and those that the compiler's driver gets.
 */
#include <string.h>

#include "tool/cc/cc.h"
#include "tool/tool.h"

/* ------------------------------------------------------------- the flags */

enum match { EXACT, PREFIX, PAIR };
enum meaning {
    OTHER,
    OPENMP,
    OTHERS_OPENMP,
    NO_OPENMP,
    NO_LINK,
    HOST_ONLY,
    LANGUAGE,
    REPLACED,
    TARGET,
    OF_HOST,
    NO_LINES,
    LTO,
    NO_LTO
};

static const struct flag {
    const char *word;
    enum match match;
    enum meaning meaning;
} flags[] = {
#define FLAG(word, match, meaning) {word, match, meaning},
#include "tool/cc/cc.def"
};

static const struct flag *find(const char *word)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].match == PREFIX
                ? !strncmp(word, flags[i].word, strlen(flags[i].word))
                : !strcmp(word, flags[i].word))
            return &flags[i];
    return NULL;
}

/* -------------------------------------------------------- what is asked for */

static bool ends_in_any(const char *word, const char *const *endings)
{
    for (; *endings; endings++)
        if (ends_in(word, *endings))
            return true;
    return false;
}

static const char *const objects[] = {".o", ".a", ".lo", ".obj", NULL};

static void note_input(struct request *r, const char *word)
{
    static const char *const headers[] = {".h",   ".hh",  ".hpp", ".hxx",
                                          ".H",   ".h++", NULL};
    static const char *const others[] = {".cu", ".hip", NULL};
    if (r->named_language)
        r->sources = true;
    else if (ends_in_any(word, headers))
        r->headers = true;
    else if (ends_in_any(word, objects) || strstr(word, ".so"))
        r->objects = true;
    else
        r->sources = true;
    r->host_only |= !r->named_language && ends_in_any(word, others);
}

/* A header is precompiled for the host; CUDA has its own way to offload. */
static void note_language(struct request *r, const char *language)
{
    if (!strcmp(language, "cuda") || !strcmp(language, "hip") ||
        strstr(language, "header"))
        r->host_only = true;
    r->named_language = strcmp(language, "none") != 0;
}

static void note_flag(struct request *r, const struct flag *flag,
                      const char *value)
{
    switch (flag->meaning) {
    case OPENMP:
    case OTHERS_OPENMP:
    case NO_OPENMP:
        r->openmp = flag->meaning != NO_OPENMP;
        break;
    case LTO:
    case NO_LTO:
        r->lto = flag->meaning == LTO;
        break;
    case NO_LINK:
        r->no_link = true;
        break;
    case HOST_ONLY:
        r->host_only = true;
        break;
    case LANGUAGE:
        note_language(r, value);
        break;
    default:
        break;
    }
}

void request_read(struct request *r, int argc, char *const *argv)
{
    words_expand(&r->words, argc, argv);
    if (r->words.failed || !r->words.n)
        return;
    char *const *v = r->words.v;
    bool only_inputs = false;
    for (size_t i = 0; i < r->words.n; i++) {
        const struct flag *flag = only_inputs ? NULL : find(v[i]);
        if (flag && flag->match == PAIR)
            i += v[i + 1] != NULL;
        if (flag)
            note_flag(r, flag,
                      flag->match == PAIR ? v[i] : v[i] + strlen(flag->word));
        else if (only_inputs || v[i][0] != '-')
            note_input(r, v[i]);
        else if (!strcmp(v[i], "--"))
            only_inputs = true;
        else if (!strcmp(v[i], "-v") || !strcmp(v[i], "-###"))
            r->verbose = true;
    }
    if (r->headers && !r->sources && !r->objects)
        r->host_only = true;
}

bool request_links_device_code(const struct request *r)
{
    struct device_inputs inputs = {0};
    if (r->words.failed || r->openmp || r->no_link || r->host_only ||
        r->sources)
        return false;
    inputs_find(&inputs, &r->words);
    return inputs.n > 0;
}

/* ------------------------------------------------------- the driver's words */

/* -Xopenmp-target[=TRIPLE] WORD: kept where it is not about another target or
 * an architecture. */
static bool is_kept(const char *flag, const char *word)
{
    static const char *const replaced[] = {"-march=", "-mcpu=", "--cuda-",
                                           "--offload-arch="};
    const char *triple = strchr(flag, '=');
    if (!word || (triple && strncmp(triple, "=nvptx", 6)))
        return false;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (!strncmp(word, replaced[i], strlen(replaced[i])))
            return false;
    return true;
}

static bool file_has(const char *file, const char *word)
{
    ompjit__buf text = {0};
    ompjit_error err;
    bool has = !ompjit__read_file(file, &text, &err) &&
               memmem(text.data, text.size, word, strlen(word));
    ompjit__buf_free(&text);
    return has;
}

bool request_sources_have(const struct request *r, const char *word)
{
    char *const *v = r->words.v;
    bool has = false, only_inputs = false;
    for (size_t i = 0; i < r->words.n && !has; i++) {
        const struct flag *flag = only_inputs ? NULL : find(v[i]);
        if (flag)
            i += flag->match == PAIR && v[i + 1];
        else if (!only_inputs && !strcmp(v[i], "--"))
            only_inputs = true;
        else if (only_inputs || v[i][0] != '-')
            has = !ends_in_any(v[i], objects) && file_has(v[i], word);
    }
    return has;
}

/* Adds the flag at v[i], with its value; returns the index of its last word. */
static size_t add_flag(ompjit__args *out, const struct flag *flag,
                       char *const *v, size_t i, bool fortran)
{
    if (flag->meaning == OTHERS_OPENMP) {
        ompjit__args_add(out, "-fopenmp");
        return i;
    }
    if (flag->meaning == NO_LINES && !fortran) {
        ompjit__args_add(out, "-gline-directives-only");
        return i;
    }
    bool pair = flag->match == PAIR || flag->meaning == TARGET;
    bool kept = flag->meaning != REPLACED &&
                (flag->meaning != TARGET ||
                 (!fortran && is_kept(v[i], v[i + 1])));
    if (flag->meaning == OF_HOST && !fortran)
        ompjit__args_add(out, "-Xarch_host");
    if (kept)
        ompjit__args_add(out, flag->meaning == TARGET ? DEVICE_CC1 : v[i]);
    if (!pair || !v[i + 1])
        return i;
    if (kept)
        ompjit__args_add(out, v[i + 1]);
    return i + 1;
}

void request_add_words(const struct request *r, ompjit__args *out)
{
    char *const *v = r->words.v;
    bool only_inputs = false;
    for (size_t i = 0; i < r->words.n; i++) {
        only_inputs |= !strcmp(v[i], "--");
        const struct flag *flag = only_inputs ? NULL : find(v[i]);
        if (flag)
            i = add_flag(out, flag, v, i, r->fortran);
        else
            ompjit__args_add(out, v[i]);
    }
}

