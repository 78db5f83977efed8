/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A CUDA source through NVRTC to the PTX of an image.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arch.h"
#include "backend/cuda/cuda_files.h"
#include "backend/cuda/cuda_image.h"
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/ptx_text.h"
#include "table/table.h"

/* Linked with the runtime, nothing written in. */
struct ompjit__cuda_made {
    struct ompjit__cuda_made *next;
    char *arch;
    ompjit__buf ptx;
};

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
    char *own = slash ? ompjit__format("%.*s", (int)(slash - cuda->name),
                                       cuda->name)
                      : NULL;
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

/* --------------------------------------------------------------- compiling */

static ompjit_status compile(ompjit_context *ctx, const ompjit__cuda *cuda,
                             const char *arch, ompjit__buf *ptx,
                             ompjit_error *err)
{
    ompjit__buf text = {0};
    ompjit__table_header(&text);
    ompjit__buf_printf(&text, "#line 1 \"%s\"\n%s", cuda->name, cuda->source);
    ompjit_status status =
        text.failed ? ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND)
                    : ompjit__nvrtc_compile(ctx, text.data, cuda->name, arch,
                                            (const char *const *)cuda->options,
                                            cuda->noptions, ptx, err);
    ompjit__buf_free(&text);
    return status;
}

/* The driver tells of a failed assertion that there was one. Ours tells the
 * place first, and then calls the driver's. */
#define DRIVERS_ASSERT "__assertfail"
#define OUR_ASSERT "ompjit_assertfail"

/* Which of the undefined functions are the device runtime's? */
static void find_needed(ompjit__buf *names, bool *openmp, bool *asserts)
{
    *openmp = *asserts = false;
    for (char *p = names->data; p && *p;) {
        char *end = strchr(p, '\n');
        *end = 0;
        *openmp |= ompjit__table_device_function(p);
        *asserts |= !strcmp(p, DRIVERS_ASSERT);
        *end = '\n';
        p = end + 1;
    }
    if (*openmp)
        ompjit__buf_printf(names, "%s\n", OMPJIT__CUDA_BEGIN);
    if (*asserts)
        ompjit__buf_printf(names, "%s\n", OUR_ASSERT);
}

static ompjit_status link_runtime(const char *arch, ompjit__buf *ptx,
                                  ompjit_error *err)
{
    ompjit__buf names = {0}, library = {0}, program = {0}, whole = {0};
    ompjit_status status = OMPJIT_OK;
    bool openmp, asserts;
    ompjit__ptx_externs(ptx->data, &names);
    find_needed(&names, &openmp, &asserts);
    if (openmp || asserts) {
        ompjit__ptx_rename(ptx->data, DRIVERS_ASSERT, OUR_ASSERT, &program);
        status = names.failed || program.failed
                     ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                     : ompjit__cuda_runtime(arch, names.data, &library, err);
        if (!status)
            status = ompjit__ptx_join(library.data, program.data, &whole, err);
        if (!status) {
            ompjit__buf_free(ptx);
            *ptx = whole;
        }
    }
    ompjit__buf_free(&names);
    ompjit__buf_free(&library);
    ompjit__buf_free(&program);
    return status;
}

static ompjit_status make(ompjit_context *ctx, ompjit__cuda *cuda,
                          const char *arch, struct ompjit__cuda_made **out,
                          ompjit_error *err)
{
    struct ompjit__cuda_made *made = calloc(1, sizeof *made);
    if (!made || !(made->arch = ompjit__strdup(arch))) {
        free(made);
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    ompjit_status status = compile(ctx, cuda, arch, &made->ptx, err);
    if (!status)
        status = link_runtime(arch, &made->ptx, err);
    if (!status && made->ptx.failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_LINK);
    if (status) {
        ompjit__buf_free(&made->ptx);
        free(made->arch);
        free(made);
        return status;
    }
    made->next = cuda->made;
    cuda->made = *out = made;
    return OMPJIT_OK;
}

/* The PTX for `arch`, which lives as long as the unit. */
static ompjit_status get(ompjit_context *ctx, ompjit__cuda *cuda,
                         const char *arch, const char **ptx,
                         ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    pthread_mutex_lock(&cuda->lock);
    struct ompjit__cuda_made *made = cuda->made;
    while (made && strcmp(made->arch, arch))
        made = made->next;
    if (!made)
        status = make(ctx, cuda, arch, &made, err);
    pthread_mutex_unlock(&cuda->lock);
    if (!status)
        *ptx = made->ptx.data;
    return status;
}

/* ------------------------------------------------------ for the front end */

/* For the newest architecture that NVRTC knows: its PTX tells most. */
static ompjit_status get_newest(ompjit_context *ctx, ompjit__cuda *cuda,
                                const char **ptx, ompjit_error *err)
{
    unsigned version;
    const char *arch = "sm_75";
    ompjit_status status = ompjit__nvrtc_version(&version, err);
    if (status)
        return status;
    for (size_t i = 0; ompjit__arch_at(i); i++) {
        const ompjit__arch *row = ompjit__arch_at(i);
        if (row->ptx_given && row->cuda <= version)
            arch = row->name;
    }
    return get(ctx, cuda, arch, ptx, err);
}

ompjit_status ompjit__cuda_check(ompjit_context *ctx, ompjit__cuda *cuda,
                                 ompjit_error *err)
{
    const char *ptx;
    return get_newest(ctx, cuda, &ptx, err);
}

ompjit_status ompjit__cuda_kernels_of(ompjit_context *ctx, ompjit__cuda *cuda,
                                      const char *clang, ompjit__unit *out,
                                      ompjit_error *err)
{
    const char *ptx;
    ompjit_status status = get_newest(ctx, cuda, &ptx, err);
    if (status)
        return status;
    ompjit__unit unit = {.name = ompjit__strdup(cuda->name)};
    cuda->why = ompjit__strdup(clang);
    status = unit.name && cuda->why
                 ? ompjit__ptx_describe(ptx, &unit, err)
                 : ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    bool openmp = strstr(ptx, OMPJIT__CUDA_BEGIN) != NULL;
    for (unsigned i = 0; i < unit.nkernels; i++)
        unit.kernels[i].openmp = openmp;
    if (status)
        ompjit__unit_free(&unit);
    else
        *out = unit;
    return status;
}

ompjit_status ompjit__cuda_no_ir(const ompjit__cuda *cuda, ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                        "%s was compiled by NVRTC, for GPUs alone; for "
                        "anything else clang has to, which said: %s",
                        cuda->name, cuda->why);
}

/* ----------------------------------------------------------- for the build */

bool ompjit__cuda_by_nvrtc(const ompjit__unit *unit)
{
    return unit->cuda && unit->cuda->compiler != OMPJIT_CUDA_COMPILER_CLANG;
}

ompjit_status ompjit__cuda_ptx(ompjit_context *ctx, const ompjit__unit *unit,
                               const char *arch, const ompjit__spec *spec,
                               ompjit__buf *ptx, ompjit_error *err)
{
    const char *generic;
    uint64_t start = ompjit__now();
    ompjit_status status = get(ctx, unit->cuda, arch, &generic, err);
    ompjit__stage_done(ctx, OMPJIT_STAGE_FRONTEND, start);
    if (status)
        return status;
    start = ompjit__now();
    ompjit__ptx_specialize(generic, unit, spec, ptx);
    ompjit__stage_done(ctx, OMPJIT_STAGE_SPECIALIZE, start);
    return ptx->failed ? ompjit__no_memory(err, OMPJIT_STAGE_SPECIALIZE)
                       : OMPJIT_OK;
}
