/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CUDA sources of units, with NVRTC's options for them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "targets/cuda_files.h"
#include "core/cuda_source.h"

/* --------------------------------------------------------------- options */

/* flags.def's kinds of flags, as NVRTC takes them; it has no others. `value`:
 * one follows, in the same word or the next. */
static const struct {
    const char *flag, *nvrtc;
    bool value;
} flags[] = {
    /* flag               NVRTC's            value */
    {"-include",          "-include=",       true},
    {"-isystem",          "-I",              true},
    {"-iquote",           "-I",              true},
    {"-I",                "-I",              true},
    {"-D",                "-D",              true},
    {"-U",                "-U",              true},
    {"-std=gnu++",        "-std=c++",        true},
    {"-std=c++",          "-std=c++",        true},
    {"-ffast-math",       "--use_fast_math", false},
    {"-g",                "-lineinfo",       false},
    {"-g1",               "-lineinfo",       false},
    {"-gline-tables-only", "-lineinfo",      false},
};

static bool add_option(ompjit__cuda *cuda, const char *option,
                       const char *value)
{
    char *text = ompjit__format("%s%s", option, value);
    if (text)
        cuda->options[cuda->noptions++] = text;
    return text != NULL;
}

static bool add_flag(ompjit__cuda *cuda, const ompjit_module_options *o,
                     unsigned *i)
{
    const char *flag = o->flags[(*i)++];
    for (size_t k = 0; flag && k < OMPJIT__COUNT(flags); k++) {
        size_t n = strlen(flags[k].flag);
        if (strncmp(flag, flags[k].flag, n) || (!flags[k].value && flag[n]))
            continue;
        const char *value = flag + n;
        if (flags[k].value && !*value && *i < o->nflags)
            value = o->flags[(*i)++];
        return !value || add_option(cuda, flags[k].nvrtc, value);
    }
    return true;
}

/* The source's own folder, and the toolkit's headers where it has them. */
static bool add_folders(ompjit__cuda *cuda)
{
    const char *slash = strrchr(cuda->name, '/');
    int length = slash > cuda->name ? (int)(slash - cuda->name) : 1; /* "/" */
    char *own = slash ? ompjit__format("%.*s", length, cuda->name) : NULL;
    char *header = ompjit__cuda_find(OMPJIT__CUDA_HEADER, R_OK);
    bool added = !own || add_option(cuda, "-I", own);
    if (header) {
        *strrchr(header, '/') = 0;
        added &= add_option(cuda, "-I", header);
    }
    free(own);
    free(header);
    return added;
}

ompjit_status ompjit__cuda_new(const char *source,
                               const ompjit_module_options *options,
                               ompjit__cuda **out, ompjit_error *err)
{
    enum { OWN = 3 }; /* folders, and -rdc where it is needed */
    ompjit__cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    pthread_mutex_init(&cuda->lock, NULL);
    cuda->compiler = options->cuda_compiler;
    cuda->source = ompjit__strdup(source);
    cuda->name = ompjit__strdup(options->name);
    cuda->options = calloc(options->nflags + OWN, sizeof *cuda->options);
    bool made = cuda->source && cuda->name && cuda->options;
    for (unsigned i = 0; made && i < options->nflags;)
        made = add_flag(cuda, options, &i);
    if (made && add_folders(cuda)) {
        *out = cuda;
        return OMPJIT_OK;
    }
    ompjit__cuda_free(cuda);
    return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
}

void ompjit__cuda_free(ompjit__cuda *cuda)
{
    if (!cuda)
        return;
    while (cuda->made) {
        struct ompjit__cuda_made *made = cuda->made;
        cuda->made = made->next;
        ompjit__buf_free(&made->ptx);
        free(made->arch);
        free(made);
    }
    for (unsigned i = 0; i < cuda->noptions; i++)
        free(cuda->options[i]);
    free(cuda->options);
    free(cuda->source);
    free(cuda->name);
    free(cuda->why);
    pthread_mutex_destroy(&cuda->lock);
    free(cuda);
}

void ompjit__cuda_add_name(ompjit__buf *text, const char *name)
{
    ompjit__buf_add(text, "\"", 1);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            ompjit__buf_add(text, "\\", 1);
        ompjit__buf_add(text, name, 1);
    }
    ompjit__buf_add(text, "\"", 1);
}

void ompjit__cuda_pack(const ompjit__cuda *cuda, ompjit__buf *out)
{
    ompjit__pack_string(out, cuda->source);
    ompjit__pack_string(out, cuda->name);
    ompjit__pack_number(out, cuda->compiler);
    ompjit__pack_string(out, cuda->why ? cuda->why : "");
    ompjit__pack_number(out, cuda->noptions);
    for (unsigned i = 0; i < cuda->noptions; i++)
        ompjit__pack_string(out, cuda->options[i]);
}

ompjit__cuda *ompjit__cuda_unpack(ompjit__reader *r)
{
    ompjit__cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return NULL;
    pthread_mutex_init(&cuda->lock, NULL);
    cuda->source = ompjit__read_string(r);
    cuda->name = ompjit__read_string(r);
    cuda->compiler = (ompjit_cuda_compiler)ompjit__read_number(r);
    cuda->why = ompjit__read_string(r);
    size_t n = ompjit__read_count(r);
    cuda->options = calloc(n + 1, sizeof *cuda->options);
    r->bad |= !cuda->options;
    while (!r->bad && cuda->noptions < n)
        cuda->options[cuda->noptions++] = ompjit__read_string(r);
    if (!r->bad)
        return cuda;
    ompjit__cuda_free(cuda);
    return NULL;
}

ompjit_status ompjit__cuda_no_ir(const ompjit__cuda *cuda, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                        "%s was compiled by NVRTC, for GPUs alone; for "
                        "anything else clang has to, which said: %s",
                        cuda->name, cuda->why);
}

bool ompjit__cuda_by_nvrtc(const ompjit__unit *unit)
{
    return unit->cuda && unit->cuda->compiler != OMPJIT_CUDA_COMPILER_CLANG;
}
