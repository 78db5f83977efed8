/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module's kernels as offload entries and a device image, for LLVM's
 * libomptarget, whose plugin of the host CPU loads the image and calls its
 * functions: those come back here and launch.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/offload.h"
#include "api/offload_image.h"
#include "launch/module.h"
#include "ompjit_offload.h"
#include "omptarget/offload.h"

/* One kernel: its address is the host pointer of its launches, too. */
typedef struct bridge {
    ompjit_kernel *kernel;
    ompjit_device *dev;
    ompjit__request request;
} bridge;

/* The descriptor that libomptarget gets, with all that it points to. */
struct ompjit_offload {
    ompjit_module *mod;
    bridge *bridges; /* one for each of the module's kernels */
    void *entries;
    ompjit__buf image;
    ompjit__device_image images[1];
    ompjit__bin_desc descriptor;
};

/* ---------------------------------------------------------------- launches */

/* The plugin passes the launch environment, which is not ours, and then the
 * arguments. */
static void launch(void *data, const uint64_t *in_registers,
                   const uint64_t *on_stack)
{
    const bridge *b = data;
    unsigned n = ompjit__desc_of(b->kernel)->nparams;
    uint64_t values[n + 1];
    ompjit_error err;
    for (unsigned i = 0; i < n; i++) {
        unsigned word = i + 1;
        values[i] = word < OMPJIT__WORDS_IN_REGISTERS
                        ? in_registers[word]
                        : on_stack[word - OMPJIT__WORDS_IN_REGISTERS];
    }
    if (ompjit__run(b->kernel->mod, b->kernel->index, b->dev, &b->request,
                    values, n, NULL, &err))
        ompjit__tgt_fail(b->dev->ctx->tgt, &err);
}

/* ----------------------------------------------------------------- entries */

/* `old`: in the layout of clang 19 and before. */
static void set_entry(ompjit_offload *o, unsigned i, bool old)
{
    bridge *b = &o->bridges[i];
    char *symbol = ompjit__desc_of(b->kernel)->symbol;
    if (old)
        ((ompjit__offload_entry_old *)o->entries)[i] =
            (ompjit__offload_entry_old){.address = b, .name = symbol};
    else
        ((ompjit__offload_entry *)o->entries)[i] = (ompjit__offload_entry){
            .version = OMPJIT__ENTRY_VERSION, .kind = OMPJIT__OFFLOAD_OPENMP,
            .address = b, .name = symbol};
}

/* The same options for each kernel. */
static ompjit_status fill(ompjit_offload *o, ompjit_device *dev,
                          const ompjit_launch *launch_options,
                          ompjit_error *err)
{
    for (unsigned i = 0; i < o->mod->unit.nkernels; i++) {
        bridge *b = &o->bridges[i];
        b->kernel = &o->mod->kernels[i];
        b->dev = dev;
        ompjit_status status = ompjit__kernel_request(
            b->kernel, launch_options, &b->request, err);
        if (status)
            return status;
        if (b->request.queue)
            return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                                "ompjit_offload_create: launches by "
                                "libomptarget have no queue");
    }
    return OMPJIT_OK;
}

/* The image has a function for each kernel, by the kernel's symbol. */
static ompjit_status write_image(ompjit_offload *o, ompjit_error *err)
{
    unsigned n = o->mod->unit.nkernels;
    ompjit__stub *stubs = calloc(n, sizeof *stubs);
    if (!stubs)
        return ompjit__no_memory(err, OMPJIT_STAGE_API);
    for (unsigned i = 0; i < n; i++)
        stubs[i] = (ompjit__stub){ompjit__desc_of(o->bridges[i].kernel)->symbol,
                                  &o->bridges[i]};
    ompjit__stub_library(stubs, n, launch, &o->image);
    free(stubs);
    return o->image.failed ? ompjit__no_memory(err, OMPJIT_STAGE_API)
                           : OMPJIT_OK;
}

/* ------------------------------------------------------------------ public */

/* UNAVAILABLE where the device cannot read libomptarget's memory, which is the
 * host's. */
static ompjit_status check(ompjit_module *mod, ompjit_device *dev,
                           ompjit_error *err)
{
    if (!mod->unit.nkernels)
        return ompjit__fail(err, OMPJIT_ERR_NOT_FOUND, OMPJIT_STAGE_API,
                            "%s has no kernels", mod->unit.name);
    if (dev->ctx != mod->ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_offload_create: the device is another "
                            "context's than the module");
    ompjit_status status = ompjit__device_ready(dev, err);
    if (!status && !dev->reads_host)
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                              "device %u does not read the memory of "
                              "libomptarget's host device", dev->number);
    if (!status && mod->ctx->check)
        status = ompjit__fail(err, OMPJIT_ERR_UNAVAILABLE, OMPJIT_STAGE_API,
                              "a context that checks kernels knows nothing of "
                              "libomptarget's memory");
    return status;
}

/* `llvm` is the major version of the libomptarget that will read the entries;
 * 0: a new one. Nothing is registered here. */
ompjit_status ompjit_offload_create(ompjit_module *mod, ompjit_device *dev,
                                    const ompjit_launch *launch_options,
                                    unsigned llvm, ompjit_offload **offload,
                                    ompjit_error *err)
{
    if (!mod || !dev || !offload)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_offload_create: module, device and a "
                            "place for the result are needed");
    ompjit_status status = check(mod, dev, err);
    if (status)
        return status;
    unsigned n = mod->unit.nkernels;
    bool old = llvm && llvm < 20;
    size_t size = n * (old ? sizeof(ompjit__offload_entry_old)
                           : sizeof(ompjit__offload_entry));
    ompjit_offload *o = calloc(1, sizeof *o);
    if (o) {
        o->mod = mod;
        o->bridges = calloc(n, sizeof *o->bridges);
        o->entries = calloc(1, size);
    }
    status = o && o->bridges && o->entries
                 ? fill(o, dev, launch_options, err)
                 : ompjit__no_memory(err, OMPJIT_STAGE_API);
    if (!status)
        status = write_image(o, err);
    if (status) {
        ompjit_offload_destroy(o);
        return status;
    }
    for (unsigned i = 0; i < n; i++)
        set_entry(o, i, old);
    char *end = (char *)o->entries + size;
    o->images[0] = (ompjit__device_image){
        o->image.data, o->image.data + o->image.size, o->entries, end};
    o->descriptor = (ompjit__bin_desc){1, o->images, o->entries, end};
    *offload = o;
    return OMPJIT_OK;
}

/* NULL for NULL. Valid as long as the offload. */
void *ompjit_offload_descriptor(ompjit_offload *offload)
{
    return offload ? &offload->descriptor : NULL;
}

/* The host pointer by which a launch names the kernel. */
ompjit_status ompjit_offload_key(ompjit_offload *offload,
                                 const ompjit_kernel *kernel, void **key,
                                 ompjit_error *err)
{
    if (!offload || !kernel || !key || kernel->mod != offload->mod)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_offload_key: the result of "
                            "ompjit_offload_create, a kernel of its module "
                            "and a place for the key are needed");
    *key = &offload->bridges[kernel->index];
    return OMPJIT_OK;
}

/* Accepts NULL. libomptarget has forgotten the entries by then. */
void ompjit_offload_destroy(ompjit_offload *offload)
{
    if (!offload)
        return;
    ompjit__buf_free(&offload->image);
    free(offload->entries);
    free(offload->bridges);
    free(offload);
}
