/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OpenMP's device memory and device information routines (6.0, 24 and 25).
 * They log what they cannot do, and return as each routine says.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "context/ompt.h"
#include "omptarget/entry_points.h"

#define HOST_UID "HOST" /* of omp_get_uid_from_device */

/* ----------------------------------------------------------------- devices */

int ompjit__s_get_num_devices(ompjit_context *ctx)
{
    return ompjit__tgt_num_devices(ctx->tgt);
}

/* Also omp_get_device_num, which only host code calls here. */
int ompjit__s_get_initial_device(ompjit_context *ctx)
{
    return ompjit__tgt_num_devices(ctx->tgt);
}

/* Host code is the initial device's: device code has its own version of this.
 */
int ompjit__s_is_initial_device(void)
{
    return 1;
}

/* "cuda:1": the same device has the same in every process, as long as the
 * driver numbers them alike. The text lives as long as the context. */
const char *ompjit__s_get_uid_from_device(ompjit_context *ctx, int device)
{
    struct ompjit__tgt *tgt = ctx->tgt;
    ompjit_device *dev;
    switch (ompjit__tgt_routine_device(tgt, device, &dev)) {
    case OMPJIT__ON_HOST: return HOST_UID;
    case OMPJIT__NOWHERE: return NULL;
    case OMPJIT__ON_DEVICE: break;
    }
    const char *uid = NULL;
    pthread_mutex_lock(&tgt->lock);
    if (!tgt->uids)
        tgt->uids = calloc(ctx->ndevices, sizeof *tgt->uids);
    if (tgt->uids) {
        char **at = &tgt->uids[dev->number];
        if (!*at)
            *at = ompjit__format("%s:%u", dev->ops->name, dev->ordinal);
        uid = *at;
    }
    pthread_mutex_unlock(&tgt->lock);
    return uid;
}

/* The host's number is the number of devices. omp_invalid_device for NULL, too.
 */
int ompjit__s_get_device_from_uid(ompjit_context *ctx, const char *uid)
{
    int n = ompjit__tgt_num_devices(ctx->tgt);
    for (int i = 0; uid && i <= n; i++) {
        const char *one = ompjit__s_get_uid_from_device(ctx, i);
        if (one && !strcmp(one, uid))
            return i;
    }
    return OMPJIT__INVALID_DEVICE;
}

/* ------------------------------------------------------------------ memory */

/* Tells a tool of an operation that was done outside of constructs. */
static void tell_op(ompjit__ompt_op op)
{
    if (!ompjit__ompt())
        return;
    ompjit__ompt_op_begin(&op);
    ompjit__ompt_op_end(&op);
}

/* NULL and a line in the log where there is no memory. */
static void *device_alloc(ompjit_context *ctx, ompjit_device *dev, size_t size)
{
    void *ptr;
    ompjit_error err;
    if (ompjit__allocate(dev, size, &ptr, &err)) {
        ompjit__log(ctx, "omp_target_alloc: %s", err.text);
        return NULL;
    }
    tell_op((ompjit__ompt_op){OMPJIT__OMPT_ALLOC, NULL, ptr, -1,
                              (int)dev->number, size});
    return ptr;
}

/* Frees device memory; errors are logged. */
static void device_free(ompjit_context *ctx, ompjit_device *dev, void *ptr)
{
    ompjit_error err;
    tell_op((ompjit__ompt_op){OMPJIT__OMPT_DELETE, ptr, NULL,
                              (int)dev->number, -1, 0});
    if (ompjit__deallocate(dev, ptr, &err))
        ompjit__log(ctx, "omp_target_free: %s", err.text);
}

/* NULL for 0 bytes, and for a device that there is not. Memory of the host is
 * malloc's. */
void *ompjit__s_target_alloc(ompjit_context *ctx, size_t size, int device)
{
    ompjit_device *dev;
    void *ptr = NULL;
    if (!size)
        return NULL;
    OMPJIT__OMPT_CALLED();
    switch (ompjit__tgt_routine_device(ctx->tgt, device, &dev)) {
    case OMPJIT__ON_HOST:
        ptr = malloc(size);
        break;
    case OMPJIT__ON_DEVICE:
        ptr = device_alloc(ctx, dev, size);
        break;
    case OMPJIT__NOWHERE:
        ompjit__log(ctx, "omp_target_alloc: no device %d", device);
        break;
    }
    ompjit__ompt_left();
    return ptr;
}

/* `device` has to be the one that it was allocated on. NULL is allowed. */
void ompjit__s_target_free(ompjit_context *ctx, void *ptr, int device)
{
    ompjit_device *dev;
    if (!ptr)
        return;
    OMPJIT__OMPT_CALLED();
    switch (ompjit__tgt_routine_device(ctx->tgt, device, &dev)) {
    case OMPJIT__ON_HOST:
        free(ptr);
        break;
    case OMPJIT__ON_DEVICE:
        device_free(ctx, dev, ptr);
        break;
    case OMPJIT__NOWHERE:
        ompjit__log(ctx, "omp_target_free: no device %d", device);
        break;
    }
    ompjit__ompt_left();
}

/* Memory that host and device can both use. `dev` gets the device whose own
 * operations it takes; NULL: it is memory as any other is there. */
static bool finds_common(ompjit_context *ctx, int device, ompjit_device **dev)
{
    bool away = ompjit__tgt_routine_device(ctx->tgt, device, dev) ==
                OMPJIT__ON_DEVICE;
    bool own = away && (*dev)->ops->host_memory;
    bool none = away && !own && !ompjit__host_usable(*dev);
    if (none)
        ompjit__log(ctx, "device %d shares no memory with the host", device);
    if (!own)
        *dev = NULL;
    return !none;
}

/* Memory that the host can reach: `managed` memory moves to where it is used,
 * the other is page-locked on the host. NULL as omp_target_alloc. */
static void *alloc_common(ompjit_context *ctx, size_t size, int device,
                          bool managed)
{
    ompjit_device *dev;
    void *ptr = NULL;
    ompjit_error err;
    if (!size || !finds_common(ctx, device, &dev))
        return NULL;
    if (!dev)
        return ompjit__s_target_alloc(ctx, size, device);
    if (dev->ops->host_memory->alloc(dev, size, managed, &ptr, &err))
        ompjit__log(ctx, "llvm_omp_target_alloc_%s: %s",
                    managed ? "shared" : "host", err.text);
    return ptr;
}

/* As it was allocated: the same device and `managed`. */
static void free_common(ompjit_context *ctx, void *ptr, int device,
                        bool managed)
{
    ompjit_device *dev;
    ompjit_error err;
    if (!ptr || !finds_common(ctx, device, &dev))
        return;
    if (!dev)
        ompjit__s_target_free(ctx, ptr, device);
    else if (dev->ops->host_memory->free(dev, ptr, managed, &err))
        ompjit__log(ctx, "llvm_omp_target_free_%s: %s",
                    managed ? "shared" : "host", err.text);
}

/* LLVM's extensions: llvm_omp_target_alloc_host and the three that follow. */
void *ompjit__s_target_alloc_host(ompjit_context *ctx, size_t size, int device)
{
    return alloc_common(ctx, size, device, false);
}

void *ompjit__s_target_alloc_shared(ompjit_context *ctx, size_t size,
                                    int device)
{
    return alloc_common(ctx, size, device, true);
}

void ompjit__s_target_free_host(ompjit_context *ctx, void *ptr, int device)
{
    free_common(ctx, ptr, device, false);
}

void ompjit__s_target_free_shared(ompjit_context *ctx, void *ptr, int device)
{
    free_common(ctx, ptr, device, true);
}

/* Dynamic shared memory is a kernel's; the host has none. */
void *ompjit__s_dynamic_shared(void)
{
    return NULL;
}

/* ---------------------------------------------------------------- presence */

/* The counterpart, with the program's variables made present first. */
static void *lookup(ompjit_context *ctx, ompjit_device *dev, const void *ptr)
{
    ompjit_error err;
    if (ompjit__tgt_globals(ctx->tgt, dev, &err))
        ompjit__log(ctx, "device %u: %s", dev->number, err.text);
    return ompjit__present_lookup(dev, ptr);
}

/* NULL: it is not mapped there, or there is no such device. On the host each
 * address is its own counterpart. */
void *ompjit__s_get_mapped_ptr(ompjit_context *ctx, const void *ptr,
                               int device)
{
    ompjit_device *dev;
    if (!ptr)
        return NULL;
    switch (ompjit__tgt_routine_device(ctx->tgt, device, &dev)) {
    case OMPJIT__ON_HOST: return (void *)(uintptr_t)ptr;
    case OMPJIT__ON_DEVICE: return lookup(ctx, dev, ptr);
    case OMPJIT__NOWHERE: break;
    }
    return NULL;
}

/* 1 where any mapped range has the address. */
int ompjit__s_target_is_present(ompjit_context *ctx, const void *ptr,
                                int device)
{
    return ompjit__s_get_mapped_ptr(ctx, ptr, device) != NULL;
}

/* Does a device that reads all of the host's memory reach it? `size` makes no
 * difference. */
int ompjit__s_target_is_accessible(ompjit_context *ctx, const void *ptr,
                                   size_t size, int device)
{
    ompjit_device *dev;
    if (!ptr)
        return 0;
    switch (ompjit__tgt_routine_device(ctx->tgt, device, &dev)) {
    case OMPJIT__ON_HOST: return 1;
    case OMPJIT__ON_DEVICE: return ompjit__host_usable(dev);
    case OMPJIT__NOWHERE: break;
    }
    return 0;
}

/* The routines' result: 0, or 1 and a line in the log. */
static int association(ompjit_context *ctx, const char *routine,
                       ompjit_status st, const ompjit_error *err)
{
    if (st)
        ompjit__log(ctx, "%s: %s", routine, err->text);
    return st != OMPJIT_OK;
}

/* The counterpart begins `offset` bytes behind device_ptr, which the program
 * has allocated. Only omp_target_disassociate_ptr ends the mapping. */
int ompjit__s_target_associate_ptr(ompjit_context *ctx, const void *host,
                                   const void *device_ptr, size_t size,
                                   size_t offset, int device)
{
    ompjit_device *dev;
    ompjit_error err;
    ompjit_status st;
    char *there = (char *)(uintptr_t)device_ptr + offset;
    if (!host || !device_ptr || !size ||
        ompjit__tgt_routine_device(ctx->tgt, device, &dev) !=
            OMPJIT__ON_DEVICE)
        st = ompjit__fail(&err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                          "%p with %p, %zu bytes, on device %d", host,
                          device_ptr, size, device);
    else if (!(st = ompjit__tgt_globals(ctx->tgt, dev, &err)))
        st = ompjit__present_associate(dev, host, there, size, &err);
    return association(ctx, "omp_target_associate_ptr", st, &err);
}

/* The device's memory stays allocated. */
int ompjit__s_target_disassociate_ptr(ompjit_context *ctx, const void *host,
                                      int device)
{
    ompjit_device *dev;
    ompjit_error err;
    ompjit_status st;
    if (!host || ompjit__tgt_routine_device(ctx->tgt, device, &dev) !=
                     OMPJIT__ON_DEVICE)
        st = ompjit__fail(&err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_MAP,
                          "%p on device %d", host, device);
    else
        st = ompjit__present_disassociate(dev, host, &err);
    return association(ctx, "omp_target_disassociate_ptr", st, &err);
}

/* ------------------------------------------------------------------ copies */

/* One end of a copy: device NULL is the host. */
typedef struct end {
    ompjit_device *dev;
    char *at;
} end;

/* False: there is no such device. */
static bool find_end(ompjit_context *ctx, end *e, const void *at, int device)
{
    e->dev = NULL;
    e->at = (char *)(uintptr_t)at;
    return ompjit__tgt_routine_device(ctx->tgt, device, &e->dev) !=
           OMPJIT__NOWHERE;
}

/* Through the host, in pieces. */
static ompjit_status bounce(end dst, end src, size_t size, ompjit_error *err)
{
    size_t piece = size < (size_t)4 << 20 ? size : (size_t)4 << 20;
    char *buffer = malloc(piece);
    ompjit_status st = buffer ? OMPJIT_OK
                              : ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    for (size_t at = 0; !st && at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        st = src.dev->ops->copy(src.dev, OMPJIT__COPY_FROM, buffer,
                                src.at + at, n, NULL, err);
        if (!st)
            st = dst.dev->ops->copy(dst.dev, OMPJIT__COPY_TO, dst.at + at,
                                    buffer, n, NULL, err);
    }
    free(buffer);
    return st;
}

/* Between a device and the host, on one device, or between two devices:
 * directly where they are of one kind that can do that. */
static ompjit_status copy_device(end dst, end src, size_t size,
                                 ompjit_error *err)
{
    if (dst.dev && src.dev && dst.dev != src.dev)
        return dst.dev->ops == src.dev->ops && dst.dev->ops->copy_peer
                   ? dst.dev->ops->copy_peer(dst.dev, dst.at, src.dev, src.at,
                                             size, err)
                   : bounce(dst, src, size, err);
    ompjit_device *dev = dst.dev ? dst.dev : src.dev;
    enum ompjit__copy direction = !src.dev ? OMPJIT__COPY_TO
                                : !dst.dev ? OMPJIT__COPY_FROM
                                           : OMPJIT__COPY_ON;
    return dev->ops->copy(dev, direction, dst.at, src.at, size, NULL, err);
}

/* As OMPT numbers it: -1 is the host. */
static int number_of(const ompjit_device *dev)
{
    return dev ? (int)dev->number : -1;
}

/* Between any two ends. Returns when it is done. */
static ompjit_status copy(end dst, end src, size_t size, ompjit_error *err)
{
    if (!dst.dev && !src.dev) {
        memcpy(dst.at, src.at, size);
        return OMPJIT_OK;
    }
    if (!ompjit__ompt())
        return copy_device(dst, src, size, err);
    const ompjit__ompt_op op = {
        dst.dev ? OMPJIT__OMPT_TO_DEVICE : OMPJIT__OMPT_FROM_DEVICE,
        src.at, dst.at, number_of(src.dev), number_of(dst.dev), size};
    ompjit__ompt_op_begin(&op);
    ompjit_status st = copy_device(dst, src, size, err);
    ompjit__ompt_op_end(&op);
    return st;
}

/* As `association`. */
static int copied(ompjit_context *ctx, ompjit_status st,
                  const ompjit_error *err)
{
    if (st)
        ompjit__log(ctx, "omp_target_memcpy: %s", err->text);
    return st != OMPJIT_OK;
}

/* 0, or 1 and a line in the log. A copy of 0 bytes succeeds wherever it is. */
int ompjit__s_target_memcpy(ompjit_context *ctx, OMPJIT__MEMCPY)
{
    end to, from;
    ompjit_error err;
    if (!size)
        return 0;
    if (!dst || !src || !find_end(ctx, &to, dst, dst_device) ||
        !find_end(ctx, &from, src, src_device)) {
        ompjit__log(ctx, "omp_target_memcpy: %p on device %d from %p on "
                    "device %d", dst, dst_device, src, src_device);
        return 1;
    }
    to.at += dst_offset;
    from.at += src_offset;
    OMPJIT__OMPT_CALLED();
    ompjit_status st = copy(to, from, size, &err);
    ompjit__ompt_left();
    return copied(ctx, st, &err);
}

/* The shape of a rectangular copy, in elements, the outermost dimension first.
 */
typedef struct rectangle {
    const size_t *volume, *dst_offsets, *src_offsets, *dst_dims, *src_dims;
    int dims;
} rectangle;

/* Copies what is left of r's dimensions in runs of `run` bytes. */
static ompjit_status copy_runs(end dst, end src, size_t element, size_t run,
                               rectangle r, int contiguous, ompjit_error *err)
{
    size_t dst_step = element, src_step = element;
    for (int i = 1; i < r.dims; i++) {
        dst_step *= r.dst_dims[i];
        src_step *= r.src_dims[i];
    }
    dst.at += r.dst_offsets[0] * dst_step;
    src.at += r.src_offsets[0] * src_step;
    if (r.dims == contiguous)
        return copy(dst, src, run, err);
    rectangle inner = {r.volume + 1, r.dst_offsets + 1, r.src_offsets + 1,
                       r.dst_dims + 1, r.src_dims + 1, r.dims - 1};
    ompjit_status st = OMPJIT_OK;
    for (size_t i = 0; i < r.volume[0] && !st; i++) {
        st = copy_runs(dst, src, element, run, inner, contiguous, err);
        dst.at += dst_step;
        src.at += src_step;
    }
    return st;
}

/* The innermost dimension is one run, and so are those around it while what
 * lies inside them is copied whole. */
static ompjit_status copy_rectangle(end dst, end src, size_t element,
                                    rectangle r, ompjit_error *err)
{
    int contiguous = 1, i = r.dims - 1;
    size_t run = element * r.volume[i];
    while (i > 0 && r.volume[i] == r.dst_dims[i] &&
           r.volume[i] == r.src_dims[i]) {
        run *= r.volume[--i];
        contiguous++;
    }
    return run ? copy_runs(dst, src, element, run, r, contiguous, err)
               : OMPJIT_OK;
}

/* Do `n` elements from `offset` on lie in a dimension? Their sum may be more
 * than a size_t. */
static bool is_within(size_t offset, size_t n, size_t dimension)
{
    return n <= dimension && offset <= dimension - n;
}

/* Do both rectangles lie within their arrays? */
static bool rectangle_fits(const rectangle *r)
{
    for (int i = 0; i < r->dims; i++)
        if (!is_within(r->dst_offsets[i], r->volume[i], r->dst_dims[i]) ||
            !is_within(r->src_offsets[i], r->volume[i], r->src_dims[i]))
            return false;
    return true;
}

/* With two NULLs it asks how many dimensions there may be. Otherwise as
 * omp_target_memcpy. */
int ompjit__s_target_memcpy_rect(ompjit_context *ctx, OMPJIT__MEMCPY_RECT)
{
    end to, from;
    ompjit_error err;
    rectangle r = {volume, dst_offsets, src_offsets, dst_dims, src_dims, dims};
    if (!dst && !src)
        return INT_MAX; /* how many dimensions there may be */
    if (!dst || !src || !element || dims < 1 || !volume || !dst_offsets ||
        !src_offsets || !dst_dims || !src_dims || !rectangle_fits(&r) ||
        !find_end(ctx, &to, dst, dst_device) ||
        !find_end(ctx, &from, src, src_device)) {
        ompjit__log(ctx, "omp_target_memcpy_rect: %p on device %d from %p on "
                    "device %d, %d dimensions of %zu bytes", dst, dst_device,
                    src, src_device, dims, element);
        return 1;
    }
    return copied(ctx, copy_rectangle(to, from, element, r, &err), &err);
}

/* ------------------------------------------------------------------ memset */

/* A device that cannot fill gets copies of a block, of 1 MiB at most. */
static ompjit_status fill(ompjit_device *dev, char *at, int value, size_t size,
                          ompjit_error *err)
{
    if (dev->ops->fill)
        return dev->ops->fill(dev, at, value, size, err);
    size_t piece = size < (size_t)1 << 20 ? size : (size_t)1 << 20;
    char *buffer = malloc(piece);
    if (!buffer)
        return ompjit__no_memory(err, OMPJIT_STAGE_MAP);
    memset(buffer, value, piece);
    ompjit_status st = OMPJIT_OK;
    for (size_t done = 0; !st && done < size; done += piece)
        st = dev->ops->copy(dev, OMPJIT__COPY_TO, at + done, buffer,
                            size - done < piece ? size - done : piece, NULL,
                            err);
    free(buffer);
    return st;
}

/* Always returns ptr, as the standard has it; what cannot be filled is logged.
 */
void *ompjit__s_target_memset(ompjit_context *ctx, void *ptr, int value,
                              size_t size, int device)
{
    end e;
    ompjit_error err;
    if (!ptr || !size)
        return ptr;
    if (!find_end(ctx, &e, ptr, device)) {
        ompjit__log(ctx, "omp_target_memset: no device %d", device);
        return ptr;
    }
    if (!e.dev || e.dev->shares_memory)
        memset(ptr, value, size);
    else if (fill(e.dev, ptr, value, size, &err))
        ompjit__log(ctx, "omp_target_memset: %s", err.text);
    return ptr;
}

/* --------------------------------------------------------- _async routines
 * Done when they return, after what they depend on: the task that the
 * standard has them make is an included one. */

/* A depend object of clang's points at its records, and the record before them
 * has their number as address. */
static void wait_objects(ompjit_context *ctx, int n, void **objects)
{
    for (int i = 0; i < n; i++) {
        const ompjit__depend *list = objects[i];
        if (list)
            ompjit__tgt_wait(ctx->tgt, NULL, (int32_t)list[-1].address, list,
                             0, NULL);
    }
}

int ompjit__s_target_memcpy_async(ompjit_context *ctx, OMPJIT__MEMCPY,
                                  OMPJIT__DEPEND_OBJECTS)
{
    wait_objects(ctx, ndeps, deps);
    return ompjit__s_target_memcpy(ctx, dst, src, size, dst_offset, src_offset,
                                   dst_device, src_device);
}

int ompjit__s_target_memcpy_rect_async(ompjit_context *ctx,
                                       OMPJIT__MEMCPY_RECT,
                                       OMPJIT__DEPEND_OBJECTS)
{
    wait_objects(ctx, ndeps, deps);
    return ompjit__s_target_memcpy_rect(ctx, dst, src, element, dims, volume,
                                        dst_offsets, src_offsets, dst_dims,
                                        src_dims, dst_device, src_device);
}

void *ompjit__s_target_memset_async(ompjit_context *ctx, void *ptr, int value,
                                    size_t size, int device,
                                    OMPJIT__DEPEND_OBJECTS)
{
    wait_objects(ctx, ndeps, deps);
    return ompjit__s_target_memset(ctx, ptr, value, size, device);
}
