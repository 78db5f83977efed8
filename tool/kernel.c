/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit run FILE.cu KERNEL TEAMS THREADS [ARGUMENT]...: one launch of one
 * kernel, its numbers and buffers as words:
 *   TEAMS, THREADS  64, 8x8 or 4x4x4
 *   a number        as C has it
 *   a buffer        TYPE:COUNT[=FIRST[+STEP]], TYPE one of i8 to i64, f32, f64
 * What stands in the buffers afterwards is printed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

enum { MAX_ARGS = 64, SHOWN = 8 };

/* Types of buffers' elements, and how one is written and read. */
static const struct type {
    const char *name;
    size_t size;
    ompjit_arg_type arg;
} types[] = {
    {"i8", 1, OMPJIT_ARG_I8},   {"i16", 2, OMPJIT_ARG_I16},
    {"i32", 4, OMPJIT_ARG_I32}, {"i64", 8, OMPJIT_ARG_I64},
    {"f32", 4, OMPJIT_ARG_F32}, {"f64", 8, OMPJIT_ARG_F64},
};
#define NTYPES (sizeof types / sizeof types[0])

struct buffer {
    const struct type *type;
    size_t count;
    char *data;
    void *there; /* on the device */
};

struct launch {
    ompjit_device *dev;
    ompjit_kernel *kernel;
    ompjit_launch how;
    ompjit_arg args[MAX_ARGS];
    struct buffer buffers[MAX_ARGS]; /* by argument; data NULL: none */
    unsigned nargs;
};

/* ------------------------------------------------------------------ words */

static int bad_word(const char *what, const char *word, const char *form)
{
    complain("%s `%s`: %s is expected", what, word, form);
    return EXIT_USAGE;
}

/* "8x8" */
static int read_box(const char *what, const char *word, uint32_t n[3])
{
    const char *p = word;
    for (int d = 0; d < 3; d++) {
        char *end;
        unsigned long value = strtoul(p, &end, 10);
        bool number = *p >= '1' && *p <= '9' && value <= UINT32_MAX;
        if (!number || (*end && *end != 'x') || (*end && d == 2))
            return bad_word(what, word, "N, NxN or NxNxN");
        n[d] = (uint32_t)value;
        if (!*end)
            return EXIT_OK;
        p = end + 1;
    }
    return EXIT_OK;
}

static void set_element(const struct type *type, void *at, double value)
{
    ompjit_arg arg = {0};
    switch (type->arg) {
    case OMPJIT_ARG_F32:
        arg.value.f32 = (float)value;
        break;
    case OMPJIT_ARG_F64:
        arg.value.f64 = value;
        break;
    default: /* the low bytes, as all CPUs here have them first */
        arg.value.i64 = (int64_t)value;
    }
    memcpy(at, &arg.value, type->size);
}

static double element(const struct buffer *b, size_t i)
{
    ompjit_arg arg;
    memcpy(&arg.value, b->data + i * b->type->size, b->type->size);
    switch (b->type->arg) {
    case OMPJIT_ARG_I8:
        return arg.value.i8;
    case OMPJIT_ARG_I16:
        return arg.value.i16;
    case OMPJIT_ARG_I32:
        return arg.value.i32;
    case OMPJIT_ARG_I64:
        return (double)arg.value.i64;
    case OMPJIT_ARG_F32:
        return arg.value.f32;
    default:
        return arg.value.f64;
    }
}

/* "=FIRST+STEP" at `p`, or nothing; false: something else. */
static bool read_values(const char *p, double *first, double *step)
{
    char *end;
    if (!*p)
        return true;
    *first = strtod(p + 1, &end);
    if (*p != '=' || end == p + 1 || (*end && *end != '+'))
        return false;
    if (!*end)
        return true;
    p = end + 1;
    *step = strtod(p, &end);
    return end > p && !*end;
}

static int read_buffer(const char *word, struct buffer *b)
{
    static const char form[] = "TYPE:COUNT[=FIRST[+STEP]], TYPE i8 i16 i32 "
                               "i64 f32 or f64,";
    size_t n = strcspn(word, ":");
    double first = 0, step = 0;
    for (size_t i = 0; i < NTYPES; i++)
        if (strlen(types[i].name) == n && !strncmp(word, types[i].name, n))
            b->type = &types[i];
    char *end = NULL;
    b->count = b->type && word[n] ? strtoull(word + n + 1, &end, 10) : 0;
    if (!b->count || b->count > SIZE_MAX / 16 ||
        !read_values(end, &first, &step))
        return bad_word("buffer", word, form);
    b->data = malloc(b->count * b->type->size);
    if (!b->data) {
        complain("no memory for `%s`", word);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < b->count; i++)
        set_element(b->type, b->data + i * b->type->size,
                    first + step * (double)i);
    return EXIT_OK;
}

static int read_number(const char *word, const ompjit_param_info *param,
                       ompjit_arg *arg)
{
    char *end;
    errno = 0;
    if (param->is_float) {
        double value = strtod(word, &end);
        arg->type = param->bytes == 4 ? OMPJIT_ARG_F32 : OMPJIT_ARG_F64;
        if (param->bytes == 4)
            arg->value.f32 = (float)value;
        else
            arg->value.f64 = value;
    } else {
        arg->value.i64 = strtoll(word, &end, 0);
        for (size_t i = 0; i < NTYPES; i++)
            if (types[i].size == param->bytes && types[i].name[0] == 'i')
                arg->type = types[i].arg;
    }
    if (!*word || *end || (errno && !param->is_float))
        return bad_word("argument", word, param->is_float ? "a number"
                                                          : "an integer");
    return EXIT_OK;
}

/* ----------------------------------------------------------------- launch */

static int read_arg(struct launch *l, unsigned i, const char *word)
{
    ompjit_error err;
    ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
    if (ompjit_kernel_param(l->kernel, i, &param, &err))
        return failed(&err);
    if (!param.is_pointer)
        return read_number(word, &param, &l->args[i]);
    struct buffer *b = &l->buffers[i];
    int status = read_buffer(word, b);
    if (status)
        return status;
    size_t size = b->count * b->type->size;
    if (ompjit_device_alloc(l->dev, size, &b->there, &err) ||
        ompjit_device_upload(l->dev, b->there, b->data, size, &err))
        return failed(&err);
    l->args[i].type = OMPJIT_ARG_POINTER;
    l->args[i].value.p = b->there;
    return EXIT_OK;
}

static int read_words(struct launch *l, ompjit_module *mod, char **words)
{
    ompjit_error err;
    uint32_t teams[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
    if (!words[0] || !words[1] || !words[2]) {
        complain("a CUDA source is run by KERNEL TEAMS THREADS [ARGUMENT]...");
        return EXIT_USAGE;
    }
    if (ompjit_module_kernel(mod, words[0], &l->kernel, &err))
        return failed(&err);
    int status = read_box("teams", words[1], teams);
    if (!status)
        status = read_box("threads", words[2], threads);
    for (words += 3; !status && words[l->nargs]; l->nargs++) {
        ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
        ompjit_kernel_info_get(l->kernel, &info, NULL);
        if (l->nargs == MAX_ARGS || l->nargs == info.nparams) {
            complain("kernel %s takes %u arguments", info.name, info.nparams);
            return EXIT_USAGE;
        }
        status = read_arg(l, l->nargs, words[l->nargs]);
    }
    l->how = (ompjit_launch){.size = sizeof l->how,
                             .teams = teams[0],
                             .teams_y = teams[1],
                             .teams_z = teams[2],
                             .threads = threads[0],
                             .threads_y = threads[1],
                             .threads_z = threads[2]};
    return status;
}

static void show_buffer(const struct launch *l, unsigned i)
{
    const struct buffer *b = &l->buffers[i];
    ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
    double sum = 0;
    ompjit_kernel_param(l->kernel, i, &param, NULL);
    if (*param.name)
        printf("%s:", param.name);
    else
        printf("%u:", i);
    for (size_t k = 0; k < b->count; k++) {
        if (k < SHOWN)
            printf(" %.10g", element(b, k));
        sum += element(b, k);
    }
    printf("%s, sum %.10g\n", b->count > SHOWN ? " ..." : "", sum);
}

static int run(struct launch *l)
{
    ompjit_error err;
    if (ompjit_kernel_launch(l->kernel, l->dev, &l->how, l->args, l->nargs,
                             &err))
        return failed(&err);
    for (unsigned i = 0; i < l->nargs; i++) {
        struct buffer *b = &l->buffers[i];
        if (!b->data)
            continue;
        if (ompjit_device_download(l->dev, b->data, b->there,
                                   b->count * b->type->size, &err))
            return failed(&err);
        show_buffer(l, i);
    }
    return EXIT_OK;
}

int kernel_run(ompjit_context *ctx, ompjit_module *mod, char **words)
{
    struct launch l = {0};
    ompjit_error err;
    if (ompjit_context_device(ctx, 0, &l.dev, &err))
        return failed(&err);
    int status = read_words(&l, mod, words);
    if (!status)
        status = run(&l);
    for (unsigned i = 0; i < MAX_ARGS; i++) {
        if (l.buffers[i].there)
            ompjit_device_free(l.dev, l.buffers[i].there, NULL);
        free(l.buffers[i].data);
    }
    return status;
}
