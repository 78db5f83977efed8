/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Growing byte buffers, copies, files, and the clock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"

static bool grow(ompjit__buf *b, size_t more)
{
    if (b->failed || more > SIZE_MAX - b->size - 1) {
        b->failed = true;
        return false;
    }
    size_t need = b->size + more + 1;
    if (need <= b->capacity)
        return true;
    size_t capacity = b->capacity ? b->capacity : 64;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void ompjit__buf_add(ompjit__buf *b, const void *data, size_t size)
{
    if (!grow(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
}

void ompjit__buf_printf(ompjit__buf *b, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0 || !grow(b, (size_t)n))
        return;
    va_start(ap, format);
    vsnprintf(b->data + b->size, (size_t)n + 1, format, ap);
    va_end(ap);
    b->size += (size_t)n;
}

void ompjit__buf_free(ompjit__buf *b)
{
    free(b->data);
    *b = (ompjit__buf){0};
}

void *ompjit__memdup(const void *data, size_t size)
{
    if (!data)
        return NULL;
    void *copy = malloc(size ? size : 1);
    if (copy)
        memcpy(copy, data, size);
    return copy;
}

char *ompjit__strdup(const char *s)
{
    return s ? ompjit__memdup(s, strlen(s) + 1) : NULL;
}

char *ompjit__format(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *s = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!s)
        return NULL;
    va_start(ap, format);
    vsnprintf(s, (size_t)n + 1, format, ap);
    va_end(ap);
    return s;
}

ompjit_status ompjit__read_file(const char *path, ompjit__buf *out,
                                ompjit_error *err)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                            "cannot open %s: %s", path, strerror(errno));
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        ompjit__buf_add(out, chunk, n);
    int cause = ferror(f) ? errno : 0;
    fclose(f);
    if (cause)
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                            "cannot read %s: %s", path, strerror(cause));
    if (out->failed)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    return OMPJIT_OK;
}

uint64_t ompjit__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
