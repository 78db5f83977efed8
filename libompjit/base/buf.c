/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Growing byte buffers, copies, files, and the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

/* Many buffers get all of a long content at once. */
static bool grow(ompjit__buf *b, size_t more)
{
    enum { LEAST = 64, LONG = 4096 };
    if (b->failed || more > SIZE_MAX - b->size - 1) {
        b->failed = true;
        return false;
    }
    size_t need = b->size + more + 1;
    if (need <= b->capacity)
        return true;
    size_t capacity = b->capacity ? b->capacity : need < LONG ? LEAST : need;
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

/* The file's end comes as OK with *n 0. Another thing than a file may have no
 * writer, or one that writes nothing. */
static ompjit_status read_some(int fd, const char *path, char *to, size_t room,
                               size_t *n, ompjit_error *err)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    ssize_t got;
    do {
        int there = poll(&input, 1, OMPJIT__INPUT_WAIT * 1000);
        if (!there)
            return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                                "cannot read %s: nothing came for %d seconds",
                                path, OMPJIT__INPUT_WAIT);
        got = there < 0 ? -1 : read(fd, to, room);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                            "cannot read %s: %s", path, strerror(errno));
    *n = (size_t)got;
    return OMPJIT_OK;
}

ompjit_status ompjit__read_most(const char *path, size_t most, ompjit__buf *out,
                                ompjit_error *err)
{
    char chunk[16384];
    size_t n, all = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                            "cannot open %s: %s", path, strerror(errno));
    ompjit_status status =
        read_some(fd, path, chunk, sizeof chunk, &n, err);
    for (; !status && n && (all += n) <= most && !out->failed;
         status = read_some(fd, path, chunk, sizeof chunk, &n, err))
        ompjit__buf_add(out, chunk, n);
    close(fd);
    if (!status && all > most)
        status = ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                              "%s has more than %zu MiB", path, most >> 20);
    if (!status && out->failed)
        status = ompjit__no_memory(err, OMPJIT_STAGE_API);
    return status;
}

ompjit_status ompjit__read_file(const char *path, ompjit__buf *out,
                                ompjit_error *err)
{
    return ompjit__read_most(path, (size_t)1 << 30, out, err);
}

uint64_t ompjit__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
