/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads the CUDA driver, once in a process, and says what its codes mean.
 */
#include <pthread.h>
#include <string.h>

#include "device/cuda/driver.h"

/* --------------------------------------------------------------- loading */

/* The names that dlsym knows. None is required here: what is missing is found
 * out below, when the driver has been asked in its own way. A symbol with a
 * suffix is the form that CUDA's header means since that suffix: the name
 * without it is the old form, with other types. */
static const ompjit__symbol symbols[] = {
#define CU_FUNCTION(name, suffix, version, required, args) \
    {#name suffix, offsetof(ompjit__cuda, name), false},
#include "device/cuda/driver.def"
};

/* The rest of each row: the plain name, for cuGetProcAddress. */
static const struct entry {
    const char *name;
    int version;
    bool required;
} entries[] = {
#define CU_FUNCTION(name, suffix, version, required, args) \
    {#name, version, required},
#include "device/cuda/driver.def"
};

/* Written once, under `once`. */
static struct {
    pthread_once_t once;
    ompjit__cuda cuda;
    ompjit_error err; /* status 0: loaded */
} driver = {.once = PTHREAD_ONCE_INIT};

/* Rows of `symbols` and `entries` are those of driver.def, in its order. */
static void **slot(size_t i)
{
    return (void **)((char *)&driver.cuda + symbols[i].offset);
}

/* Drivers since 12.0 tell by release which form of a function they give, which
 * is surer than a symbol's suffix. The asked release is the one that brought
 * the form declared here, so a newer driver gives the same form, whatever it
 * has beside. A function that is not given is not there, even if dlsym has
 * found something. */
static void ask(const ompjit__cuda *cu)
{
    for (size_t i = 0; i < OMPJIT__COUNT(entries); i++) {
        const struct entry *e = &entries[i];
        void *function = NULL;
        unsigned found = OMPJIT__CU_GET_PROC_ADDRESS_SUCCESS;
        if (!strcmp(e->name, "cuGetProcAddress"))
            continue;
        cu_result r =
            cu->cuGetProcAddress(e->name, &function, e->version,
                                 OMPJIT__CU_GET_PROC_ADDRESS_DEFAULT, &found);
        bool got = !r && found == OMPJIT__CU_GET_PROC_ADDRESS_SUCCESS;
        *slot(i) = got ? function : NULL;
    }
}

/* Runs once. A failure stays in driver.err, which each call of
 * ompjit__cuda_load copies: the driver is not looked for again. */
static void load(void)
{
    static const char *const paths[] = {OMPJIT__CUDA_LIBRARY, NULL};
    if (ompjit__load_library("the CUDA driver, " OMPJIT__CUDA_LIBRARY ",",
                             paths, symbols,
                             OMPJIT__COUNT(symbols), &driver.cuda, &driver.err))
        return;
    if (driver.cuda.cuGetProcAddress)
        ask(&driver.cuda);
    for (size_t i = 0; i < OMPJIT__COUNT(entries); i++) {
        const struct entry *e = &entries[i];
        if (*slot(i) || !e->required)
            continue;
        ompjit__fail(&driver.err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_LOAD,
                     "the CUDA driver, " OMPJIT__CUDA_LIBRARY ", has no %s of "
                     "CUDA %d.%d: it is too old",
                     e->name, e->version / 1000, e->version % 1000 / 10);
        return;
    }
}

ompjit_status ompjit__cuda_load(const ompjit__cuda **out, ompjit_error *err)
{
    pthread_once(&driver.once, load);
    if (driver.err.status) {
        if (err)
            *err = driver.err;
        return driver.err.status;
    }
    *out = &driver.cuda;
    return OMPJIT_OK;
}

/* ----------------------------------------------------------------- codes */

static const struct code {
    cu_result value;
    ompjit_status status;
    enum ompjit__cuda_effect effect;
} codes[] = {
#define CU_CODE(name, value, status, effect) \
    {value, OMPJIT_ERR_##status, OMPJIT__CUDA_EFFECT_##effect},
#include "device/cuda/driver.def"
};

/* NULL: the library has no opinion about the code. */
static const struct code *find(cu_result value)
{
    for (size_t i = 0; i < OMPJIT__COUNT(codes); i++)
        if (codes[i].value == value)
            return &codes[i];
    return NULL;
}

ompjit_status ompjit__cuda_status(cu_result value)
{
    const struct code *code = find(value);
    return code ? code->status : OMPJIT_ERR_DRIVER;
}

enum ompjit__cuda_effect ompjit__cuda_effect(cu_result value)
{
    const struct code *code = find(value);
    return code ? code->effect : OMPJIT__CUDA_EFFECT_NONE;
}

void ompjit__cuda_describe(const ompjit__cuda *cu, const char *function,
                           cu_result code, ompjit__buf *out)
{
    const char *name = NULL, *text = NULL;
    if (cu->cuGetErrorName(code, &name) || !name)
        name = "a code that this driver does not know";
    if (cu->cuGetErrorString(code, &text) || !text)
        text = "no description";
    ompjit__buf_printf(out, "%s: %s (%u, %s)", function, name, code, text);
}
