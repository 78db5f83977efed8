/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Buffers of trace records, and the functions by which a tool starts a trace and
 * reads it (OpenMP 5.2, 19.6). A cursor is a record's address, or 0 for none;
 * all records have one size. The thread that fills a buffer calls the tool. Times
 * are the host's, at the ends of an operation as the library sees them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "context/ompt_trace.h"

/* Devices beyond have no events either (omptarget/ompt_connect.c). */
enum { MOST_DEVICES = 64 };

enum { RECORD_INVALID = 0, RECORD_OMPT = 1 }; /* ompt_record_t     */
enum { SET_NEVER = 1, SET_ALWAYS = 5 };       /* ompt_set_result_t */
enum { EMI = 25 };                            /* from the older number to it */

typedef void request_fn(int device, void **buffer, size_t *bytes);
typedef void complete_fn(int device, void *buffer, size_t bytes, uint64_t begin,
                         int owned);

struct buffer {
    char *bytes; /* NULL: none */
    size_t size, used;
    complete_fn *complete; /* of the trace that has asked for it */
};

struct trace {
    pthread_mutex_t lock; /* of all but `types` */
    int device;
    _Atomic uint64_t types; /* the events that are traced, bits by their numbers */
    bool runs, rests;       /* started; between the two calls of pause           */
    request_fn *request;
    complete_fn *complete;
    struct buffer buffer;
};

static _Atomic(struct trace *) traces[MOST_DEVICES];

/* ------------------------------------------------------------------ records */

static struct trace *trace_of(int device)
{
    return device >= 0 && device < MOST_DEVICES
               ? atomic_load_explicit(&traces[device], memory_order_acquire)
               : NULL;
}

void *ompjit__trace_device(int device)
{
    struct trace *t = trace_of(device), *none = NULL;
    if (t || device < 0 || device >= MOST_DEVICES)
        return t;
    t = calloc(1, sizeof *t);
    if (!t || pthread_mutex_init(&t->lock, NULL)) {
        free(t);
        return NULL;
    }
    t->device = device;
    if (atomic_compare_exchange_strong(&traces[device], &none, t))
        return t;
    pthread_mutex_destroy(&t->lock);
    free(t);
    return none;
}

/* OMPT's number of this thread, from 1 on. */
static uint64_t own_id(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t id;
    if (!id)
        id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return id;
}

/* Hands a buffer to the tool, which owns it from then on. Without the lock. */
static void hand_over(const struct trace *t, const struct buffer *b)
{
    const uint64_t first = b->used ? (uintptr_t)b->bytes : 0;
    if (b->bytes)
        b->complete(t->device, b->bytes, b->used, first, 1);
}

/* Room for a record; NULL: there is none, and `full` gets the buffer, if there is
 * one, that is to be handed over. Under the lock. */
static char *room(struct trace *t, struct buffer *full)
{
    struct buffer *b = &t->buffer;
    if (!b->bytes || b->size - b->used < sizeof(ompjit__ompt_record)) {
        *full = *b;
        *b = (struct buffer){0};
        return NULL;
    }
    b->used += sizeof(ompjit__ompt_record);
    return b->bytes + b->used - sizeof(ompjit__ompt_record);
}

/* Writes the record, if the trace runs. False: it wants another buffer. */
static bool write_record(struct trace *t, const ompjit__ompt_record *record)
{
    struct buffer full = {0};
    pthread_mutex_lock(&t->lock);
    const bool runs = t->runs && !t->rests;
    char *at = runs ? room(t, &full) : NULL;
    if (at)
        memcpy(at, record, sizeof *record);
    pthread_mutex_unlock(&t->lock);
    hand_over(t, &full);
    return at || !runs;
}

/* Asks the tool for a buffer, without the lock: it may call any function of the
 * trace. One that is not wanted any more, since the trace has ended or another
 * thread was faster, goes back empty. */
static void ask_for_buffer(struct trace *t)
{
    void *bytes = NULL;
    pthread_mutex_lock(&t->lock);
    request_fn *request = t->runs ? t->request : NULL;
    struct buffer b = {.complete = t->complete};
    pthread_mutex_unlock(&t->lock);
    if (!request)
        return;
    request(t->device, &bytes, &b.size);
    b.bytes = bytes;
    pthread_mutex_lock(&t->lock);
    if (t->runs && !t->buffer.bytes) {
        t->buffer = b;
        b.bytes = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    hand_over(t, &b);
}

void ompjit__trace_add(int device, const ompjit__ompt_record *record)
{
    static _Thread_local bool asks; /* then a tool must have no events */
    struct trace *t = trace_of(device);
    const uint64_t types =
        t ? atomic_load_explicit(&t->types, memory_order_relaxed) : 0;
    const int number = record->type + (types >> (record->type + EMI) & 1 ? EMI : 0);
    if (asks || !(types >> number & 1))
        return;
    ompjit__ompt_record whole = *record;
    whole.type = number;
    whole.thread = own_id();
    if (write_record(t, &whole))
        return;
    asks = true;
    ask_for_buffer(t);
    asks = false;
    write_record(t, &whole);
}

/* ------------------------------------------------------- functions for tools */

/* Tools that know one device say NULL for it (APEX). NULL: there is no device. */
static struct trace *chosen(void *device)
{
    return device ? device : trace_of(0);
}

/* A tool asks for one type of event, or, by 0, for all. */
static int set_trace_ompt(void *device, unsigned enable, unsigned type)
{
    const uint64_t older = UINT64_C(1) << OMPJIT__OMPT_RECORD_TARGET |
                           UINT64_C(1) << OMPJIT__OMPT_RECORD_DATA_OP |
                           UINT64_C(1) << OMPJIT__OMPT_RECORD_KERNEL;
    const uint64_t known = older | older << EMI;
    struct trace *t = chosen(device);
    uint64_t wanted = type ? known & (type < 64 ? UINT64_C(1) << type : 0)
                           : older;
    if (!t || !wanted)
        return SET_NEVER;
    if (enable)
        atomic_fetch_or(&t->types, wanted);
    else
        atomic_fetch_and(&t->types, ~(type ? wanted : known));
    return SET_ALWAYS;
}

/* There are no records of the device's own. */
static int set_trace_native(void *device, int enable, int flags)
{
    (void)device;
    (void)enable;
    (void)flags;
    return SET_NEVER;
}

static int start_trace(void *device, request_fn *request, complete_fn *complete)
{
    struct trace *t = chosen(device);
    if (!t || !request || !complete)
        return 0;
    pthread_mutex_lock(&t->lock);
    const bool starts = !t->runs;
    if (starts) {
        t->request = request;
        t->complete = complete;
        t->runs = true;
        t->rests = false;
    }
    pthread_mutex_unlock(&t->lock);
    return starts;
}

static int pause_trace(void *device, int begin)
{
    struct trace *t = chosen(device);
    if (!t)
        return 0;
    pthread_mutex_lock(&t->lock);
    const bool runs = t->runs;
    t->rests = begin != 0;
    pthread_mutex_unlock(&t->lock);
    return runs;
}

/* Hands the buffer over; with `stop`, the trace ends. Did the trace run? */
static bool take(struct trace *t, bool stop)
{
    pthread_mutex_lock(&t->lock);
    const bool runs = t->runs;
    const struct buffer b = t->buffer;
    t->buffer = (struct buffer){0};
    t->runs = runs && !stop;
    pthread_mutex_unlock(&t->lock);
    hand_over(t, &b);
    return runs;
}

static int flush_trace(void *device)
{
    struct trace *t = chosen(device);
    return t && take(t, false);
}

static int stop_trace(void *device)
{
    struct trace *t = chosen(device);
    return t && take(t, true);
}

void ompjit__trace_flush(int device)
{
    struct trace *t = trace_of(device);
    if (t)
        take(t, false);
}

void ompjit__trace_end(int device)
{
    struct trace *t = trace_of(device);
    if (t)
        take(t, true);
}

/* 0: there is no record behind it. */
static int advance_buffer_cursor(void *device, void *buffer, size_t size,
                                 uint64_t current, uint64_t *next)
{
    (void)device;
    const uint64_t behind = current ? current + sizeof(ompjit__ompt_record) : 0;
    const uint64_t end = (uintptr_t)buffer + size;
    const bool more = behind && behind + sizeof(ompjit__ompt_record) <= end;
    *next = more ? behind : 0;
    return more;
}

static int get_record_type(void *buffer, uint64_t current)
{
    (void)buffer;
    return current ? RECORD_OMPT : RECORD_INVALID;
}

static void *get_record_ompt(void *buffer, uint64_t current)
{
    (void)buffer;
    return (void *)(uintptr_t)current;
}

static uint64_t get_device_time(void *device)
{
    (void)device;
    return ompjit__now();
}

/* As omp_get_wtime has it, in the process's libomp: that of the tool. */
static double translate_time(void *device, uint64_t time)
{
    static const double nanoseconds = 1e-9;
    double (*wtime)(void) = NULL;
    void *at = dlsym(RTLD_DEFAULT, "omp_get_wtime");
    (void)device;
    memcpy(&wtime, &at, sizeof wtime);
    const int64_t ago = (int64_t)(ompjit__now() - time);
    return wtime ? wtime() - (double)ago * nanoseconds
                 : (double)time * nanoseconds;
}

static const struct {
    const char *name;
    ompjit__ompt_fn *function;
} functions[] = {
    {"ompt_advance_buffer_cursor", (ompjit__ompt_fn *)advance_buffer_cursor},
    {"ompt_flush_trace", (ompjit__ompt_fn *)flush_trace},
    {"ompt_get_device_time", (ompjit__ompt_fn *)get_device_time},
    {"ompt_get_record_ompt", (ompjit__ompt_fn *)get_record_ompt},
    {"ompt_get_record_type", (ompjit__ompt_fn *)get_record_type},
    {"ompt_pause_trace", (ompjit__ompt_fn *)pause_trace},
    {"ompt_set_trace_native", (ompjit__ompt_fn *)set_trace_native},
    {"ompt_set_trace_ompt", (ompjit__ompt_fn *)set_trace_ompt},
    {"ompt_start_trace", (ompjit__ompt_fn *)start_trace},
    {"ompt_stop_trace", (ompjit__ompt_fn *)stop_trace},
    {"ompt_translate_time", (ompjit__ompt_fn *)translate_time},
};

ompjit__ompt_fn *ompjit__trace_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            return functions[i].function;
    return NULL;
}
