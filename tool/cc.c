/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `ompjit cc` and `ompjit c++`: clang, for build systems. Without -fopenmp it
 * is clang with the same words. With it, flags are put before the user's that
 * have device bitcode put into objects and device code registered in links, on
 * a machine that has neither CUDA nor LLVM's offload programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cc.h"
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
    LTO,
    NO_LTO
};

static const struct flag {
    const char *word;
    enum match match;
    enum meaning meaning;
} flags[] = {
#define FLAG(word, match, meaning) {word, match, meaning},
#include "tool/cc.def"
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

struct request {
    ompjit__args words; /* the user's, with response files expanded */
    bool openmp, no_link, host_only, lto, verbose;
    bool headers, sources, objects; /* kinds of inputs            */
    bool named_language;            /* -x, not the inputs' endings */
};

static bool ends_in_any(const char *word, const char *const *endings)
{
    for (; *endings; endings++)
        if (ends_in(word, *endings))
            return true;
    return false;
}

static void note_input(struct request *r, const char *word)
{
    static const char *const headers[] = {".h",   ".hh",  ".hpp", ".hxx",
                                          ".H",   ".h++", NULL};
    static const char *const objects[] = {".o", ".a", ".lo", ".obj", NULL};
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

static void read_words(struct request *r)
{
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

/* A link without -fopenmp, as CMake writes it, of objects that have device
 * code. */
static bool links_device_code(const struct request *r)
{
    struct device_inputs inputs = {0};
    if (r->words.failed || r->openmp || r->no_link || r->host_only ||
        r->sources)
        return false;
    inputs_find(&inputs, &r->words);
    return inputs.n > 0;
}

/* ------------------------------------------------------- clang's words */

#define DEVICE "-Xarch_device"
#define CC1 "-Xopenmp-target=nvptx64-nvidia-cuda"

/* Device code stays as clang's front end makes it, with the names of values, as
 * `ompjit run` has it (frontend/clang/command.c): the library folds values into
 * it and optimizes it for whatever device it runs on. The architecture decides
 * nothing and is taken off again; without one clang asks for a GPU. Places and
 * names of variables are for the library's messages; the user's -g overrides
 * them in host code. The host's half has all warnings, too. */
static const char *const offload[] = {
    "--start-no-unused-arguments",
    "--offload-arch=sm_90",
    "-foffload-lto",
    "-nogpulib",
    "-nogpuinc",
    "--cuda-feature=+ptx78",
    "-gline-directives-only",
    CC1, "-Xclang=-disable-llvm-passes",
    CC1, "-Xclang=-disable-O0-optnone",
    DEVICE, "-fno-discard-value-names",
    DEVICE, "-fvisibility=default",
    DEVICE, "-fomit-frame-pointer",
    DEVICE, "-gline-directives-only",
    DEVICE, "-gno-key-instructions",
    DEVICE, "-U__CUDA_ARCH__",
    DEVICE, "-U_FORTIFY_SOURCE",
    DEVICE, "-w",
    NULL,
};

/* Adds the flags, with the folder of clang's programs, where CUDA is not. */
static void add_offload(const struct request *r, const char *folder,
                        ompjit__args *out)
{
    char *programs = ompjit__format("-B%s", folder);
    char *cuda = ompjit__format("--cuda-path=%s", folder);
    for (size_t i = 0; offload[i]; i++)
        ompjit__args_add(out, offload[i]);
    ompjit__args_add(out, programs ? programs : "");
    ompjit__args_add(out, cuda ? cuda : "");
    if (r->lto) /* bitcode alone has no place for device code */
        ompjit__args_add(out, "-ffat-lto-objects");
    ompjit__args_add(out, "--end-no-unused-arguments");
    out->failed |= !programs || !cuda;
    free(programs);
    free(cuda);
}

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

/* Adds the flag at v[i], with its value; returns the index of its last word. */
static size_t add_flag(ompjit__args *out, const struct flag *flag,
                       char *const *v, size_t i)
{
    if (flag->meaning == OTHERS_OPENMP) {
        ompjit__args_add(out, "-fopenmp");
        return i;
    }
    bool pair = flag->match == PAIR || flag->meaning == TARGET;
    bool kept = flag->meaning != REPLACED &&
                (flag->meaning != TARGET || is_kept(v[i], v[i + 1]));
    if (flag->meaning == OF_HOST)
        ompjit__args_add(out, "-Xarch_host");
    if (kept)
        ompjit__args_add(out, flag->meaning == TARGET ? CC1 : v[i]);
    if (!pair || !v[i + 1])
        return i;
    if (kept)
        ompjit__args_add(out, v[i + 1]);
    return i + 1;
}

/* The user's words, but those that say how to offload. */
static void add_words(const struct request *r, ompjit__args *out)
{
    char *const *v = r->words.v;
    bool only_inputs = false;
    for (size_t i = 0; i < r->words.n; i++) {
        only_inputs |= !strcmp(v[i], "--");
        const struct flag *flag = only_inputs ? NULL : find(v[i]);
        if (flag)
            i = add_flag(out, flag, v, i);
        else
            ompjit__args_add(out, v[i]);
    }
}

static int make_words(const struct request *r, bool link, ompjit__args *out)
{
    char *folder = tools_folder();
    if (!folder)
        return EXIT_FAILED;
    add_offload(r, folder, out);
    free(folder);
    if (link)
        ompjit__args_add(out, "-fopenmp");
    add_words(r, out);
    return EXIT_OK;
}

/* ------------------------------------------------------------ the commands */

/* Adds the words of a clang that offloads, and runs it. */
static int run_offloading(const struct request *r, bool link,
                          ompjit__args *out)
{
    int status = make_words(r, link, out);
    if (!status && r->verbose && !out->failed)
        words_show(out);
    return status ? status : words_run(out);
}

/* argv: the user's words. `mode` tells clang to be clang++, or is NULL. */
static int compile(const char *mode, int argc, char **argv)
{
    struct request r = {0};
    ompjit__args out = {0};
    ompjit_error err;
    char *clang;
    int status;
    if (ompjit__clang_driver(&clang, &err))
        return failed(&err);
    words_expand(&r.words, argc, argv);
    if (!r.words.failed && r.words.n)
        read_words(&r);
    ompjit__args_add(&out, clang);
    if (mode)
        ompjit__args_add(&out, mode);
    const bool link = links_device_code(&r);
    if (link || (r.openmp && !r.host_only)) {
        status = run_offloading(&r, link, &out);
    } else {
        for (int i = 0; i < argc; i++)
            ompjit__args_add(&out, argv[i]);
        status = words_exec(&out);
    }
    ompjit__args_free(&out);
    ompjit__args_free(&r.words);
    free(clang);
    return status;
}

int tool_cc(int argc, char **argv)
{
    return compile(NULL, argc - 1, argv + 1);
}

int tool_cxx(int argc, char **argv)
{
    return compile("--driver-mode=g++", argc - 1, argv + 1);
}
