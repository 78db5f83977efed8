/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Interop objects (OpenMP 6.0, 16): what other software, such as the CUDA
 * driver API, knows a device and a queue on it by.
 */
#include <stdlib.h>

#include "omptarget/entry_points.h"

/* The object that clang asks for. */
enum type { TYPE_TARGET = 1, TYPE_TARGETSYNC = 2 };

/* An object is the program's until it destroys it, or the context's end does.
 * Nothing protects one that two threads use at once. */
struct ompjit__interop {
    ompjit__interop *next; /* of all that the context has, under tgt->lock */
    ompjit_device *dev;
    ompjit__queue *queue;  /* targetsync; may be NULL     */
    bool has_native;       /* the next is filled          */
    ompjit__native native;
};

/* omp_interop_rc_t */
enum rc {
    RC_NO_VALUE = 1, RC_SUCCESS = 0, RC_EMPTY = -1, RC_OUT_OF_RANGE = -2,
    RC_TYPE_INT = -3, RC_TYPE_PTR = -4, RC_TYPE_STR = -5, RC_OTHER = -6
};

/* omp_interop_property_t: -1 to -9, in this order. `type` is the code that a
 * routine for another type returns. */
enum property {
    FR_ID, FR_NAME, VENDOR, VENDOR_NAME, DEVICE_NUM, PLATFORM, DEVICE,
    DEVICE_CONTEXT, TARGETSYNC, PROPERTIES
};

/* Each property's name in OpenMP, and the type of its value. */
static const struct {
    const char *name;
    enum rc type;
} properties[PROPERTIES] = {
    [FR_ID] = {"fr_id", RC_TYPE_INT},
    [FR_NAME] = {"fr_name", RC_TYPE_STR},
    [VENDOR] = {"vendor", RC_TYPE_INT},
    [VENDOR_NAME] = {"vendor_name", RC_TYPE_STR},
    [DEVICE_NUM] = {"device_num", RC_TYPE_INT},
    [PLATFORM] = {"platform", RC_TYPE_PTR},
    [DEVICE] = {"device", RC_TYPE_PTR},
    [DEVICE_CONTEXT] = {"device_context", RC_TYPE_PTR},
    [TARGETSYNC] = {"targetsync", RC_TYPE_PTR},
};

/* OpenMP's additional definitions. */
static const char *const runtime_names[] = {
    "none", "cuda", "cuda_driver", "opencl", "sycl", "hip", "level_zero"};
static const char *const vendor_names[] = {
    "unknown", "amd", "arm", "bsc", "fujitsu", "gnu", "hpe", "ibm", "intel",
    "llvm", "nec", "nvidia", "ti"};

/* names[0], "none" or "unknown", for a number that is not in the table. */
static const char *name_of(const char *const *names, size_t n, int i)
{
    return i >= 0 && (size_t)i < n ? names[i] : names[0];
}

/* ---------------------------------------------------------------- lifetime */

/* Ends the object's queue, if it has one. */
static void queue_end(const ompjit__interop *i)
{
    if (i->queue)
        i->dev->ops->queues->destroy(i->dev, i->queue);
}

void ompjit__interop_free_all(ompjit__interop *list)
{
    for (ompjit__interop *next; list; list = next) {
        next = list->next;
        queue_end(list);
        free(list);
    }
}

/* A device without handles of other software's (the host) has an object all the
 * same, whose properties have no value but its number and its vendor, which is
 * the processor's. */
static ompjit_status make(ompjit_device *dev, int32_t type,
                          ompjit__interop **out, ompjit_error *err)
{
    ompjit__interop *i = calloc(1, sizeof *i);
    ompjit_status st = OMPJIT_OK;
    if (!i)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    i->dev = dev;
    if (!dev->ops->native)
        i->native.vendor = ompjit__cpu_vendor();
    if (type == TYPE_TARGETSYNC && dev->ops->queues)
        st = dev->ops->queues->create(dev, &i->queue, err);
    if (!st && dev->ops->native) {
        i->has_native = true;
        st = dev->ops->native->describe(dev, i->queue, &i->native, err);
    }
    if (st) {
        queue_end(i);
        free(i);
        return st;
    }
    *out = i;
    return OMPJIT_OK;
}

/* A failure leaves omp_interop_none, which the standard allows; it is logged.
 */
void ompjit__s_interop_init(ompjit_context *ctx, ompjit__ident *where,
                            int32_t thread, ompjit__interop **interop,
                            int32_t type, int32_t device, int32_t ndeps,
                            void *deps, int32_t nowait)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    ompjit_device *dev;
    ompjit_error err;
    ompjit__interop *made = NULL;
    *interop = NULL; /* omp_interop_none */
    ompjit__tgt_wait(tgt, where, ndeps, deps, 0, NULL);
    if (ompjit__tgt_construct_device(tgt, device, &dev) != OMPJIT__ON_DEVICE)
        return;
    if (make(dev, type, &made, &err)) {
        ompjit__log(ctx, "interop: %s", err.text);
        return;
    }
    pthread_mutex_lock(&tgt->lock);
    made->next = tgt->interops;
    tgt->interops = made;
    pthread_mutex_unlock(&tgt->lock);
    *interop = made;
}

/* The work that other software has put into the queue ends before the construct
 * does: `nowait` is not made use of. */
static void settle(ompjit_context *ctx, const ompjit__interop *i)
{
    ompjit_error err;
    if (i->queue && i->dev->ops->queues->wait(i->dev, i->queue, &err))
        ompjit__log(ctx, "interop: %s", err.text);
}

/* The dependences are waited for first; `device` and `thread` are not needed.
 */
void ompjit__s_interop_use(ompjit_context *ctx, ompjit__ident *where,
                           int32_t thread, ompjit__interop **interop,
                           int32_t device, int32_t ndeps, void *deps,
                           int32_t nowait)
{
    ompjit__tgt_wait(ctx->tgt, where, ndeps, deps, 0, NULL);
    if (*interop)
        settle(ctx, *interop);
}

/* The list is searched before the object is freed; one that is in no list is
 * freed all the same. */
void ompjit__s_interop_destroy(ompjit_context *ctx, ompjit__ident *where,
                               int32_t thread, ompjit__interop **interop,
                               int32_t device, int32_t ndeps, void *deps,
                               int32_t nowait)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    ompjit__interop *i = *interop;
    ompjit__tgt_wait(tgt, where, ndeps, deps, 0, NULL);
    if (!i)
        return;
    settle(ctx, i);
    pthread_mutex_lock(&tgt->lock);
    ompjit__interop **link = &tgt->interops;
    while (*link && *link != i)
        link = &(*link)->next;
    if (*link)
        *link = i->next;
    pthread_mutex_unlock(&tgt->lock);
    queue_end(i);
    free(i);
    *interop = NULL;
}

/* -------------------------------------------------------------- properties */

/* The property, or PROPERTIES with *rc saying why not. `rc` may be NULL. */
static enum property check(const ompjit__interop *i, int property,
                           enum rc type, int *rc)
{
    int answer = RC_SUCCESS;
    unsigned p = (unsigned)(-1 - property);
    if (!i)
        answer = RC_EMPTY;
    else if (p >= PROPERTIES)
        answer = RC_OUT_OF_RANGE;
    else if (properties[p].type != type)
        answer = properties[p].type;
    else if (!i->has_native && p != DEVICE_NUM && p != VENDOR &&
             p != VENDOR_NAME)
        answer = RC_NO_VALUE;
    if (rc)
        *rc = answer;
    return answer == RC_SUCCESS ? (enum property)p : PROPERTIES;
}

int ompjit__s_get_num_interop_properties(const ompjit__interop *interop)
{
    return 0; /* of our own; the standard's are negative */
}

/* *rc is set where it is not NULL, and the result is 0 where that is no
 * success. */
intptr_t ompjit__s_get_interop_int(const ompjit__interop *interop,
                                   int property, int *rc)
{
    switch (check(interop, property, RC_TYPE_INT, rc)) {
    case FR_ID: return interop->native.runtime;
    case VENDOR: return interop->native.vendor;
    case DEVICE_NUM: return (intptr_t)interop->dev->number;
    default: return 0;
    }
}

const char *ompjit__s_get_interop_str(const ompjit__interop *interop,
                                      int property, int *rc)
{
    switch (check(interop, property, RC_TYPE_STR, rc)) {
    case FR_NAME:
        return name_of(runtime_names, OMPJIT__COUNT(runtime_names),
                       interop->native.runtime);
    case VENDOR_NAME:
        return name_of(vendor_names, OMPJIT__COUNT(vendor_names),
                       interop->native.vendor);
    default: return NULL;
    }
}

/* TARGETSYNC is a queue's handle, which only an object of that type has. No
 * platform is known for any device. */
void *ompjit__s_get_interop_ptr(const ompjit__interop *interop, int property,
                                int *rc)
{
    enum property p = check(interop, property, RC_TYPE_PTR, rc);
    bool missing = p == PLATFORM || (p == TARGETSYNC && !interop->queue);
    if (missing && rc)
        *rc = RC_NO_VALUE;
    switch (p) {
    case DEVICE: return interop->native.device;
    case DEVICE_CONTEXT: return interop->native.context;
    case TARGETSYNC: return missing ? NULL : interop->native.stream;
    default: return NULL;
    }
}

/* NULL: there is no such property. */
const char *ompjit__s_get_interop_name(const ompjit__interop *interop,
                                       int property)
{
    unsigned p = (unsigned)(-1 - property);
    return p < PROPERTIES ? properties[p].name : NULL;
}

const char *ompjit__s_get_interop_type_desc(const ompjit__interop *interop,
                                            int property)
{
    unsigned p = (unsigned)(-1 - property);
    if (p >= PROPERTIES)
        return NULL;
    switch (properties[p].type) {
    case RC_TYPE_INT: return "intptr_t";
    case RC_TYPE_STR: return "const char *";
    default: return "void *";
    }
}

const char *ompjit__s_get_interop_rc_desc(const ompjit__interop *interop,
                                          int rc)
{
    switch ((enum rc)rc) {
    case RC_NO_VALUE: return "the property has no value";
    case RC_SUCCESS: return "success";
    case RC_EMPTY: return "the interop object is omp_interop_none";
    case RC_OUT_OF_RANGE: return "there is no such property";
    case RC_TYPE_INT: return "the property is an integer";
    case RC_TYPE_PTR: return "the property is a pointer";
    case RC_TYPE_STR: return "the property is a string";
    case RC_OTHER: return "another error";
    }
    return NULL;
}
