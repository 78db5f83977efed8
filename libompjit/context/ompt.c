/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls of a tool's functions. Like LLVM's libomptarget, it calls the function of
 * the newer kind (_emi) where the tool has that, at both ends of an operation,
 * and else the older one, once, when the operation is done. The same events become
 * records of traces (ompt_trace.c).
 */
#include <string.h>

#include "base/base.h"
#include "context/ompt.h"
#include "context/ompt_trace.h"

/* Filled before the flag is set, and never changed. */
static struct tool {
#define CALLBACK(name, number) ompjit__ompt_##name *name;
#include "abi/ompt.def"
    ompjit__ompt_data *(*task_data)(void);
    ompjit__ompt_data *(*target_task_data)(void);
} tool;

atomic_int ompjit__ompt_is;
/* The number that tools know the host by, and the next id of a construct or
 * operation. */
static atomic_int host_number;
static _Atomic uint64_t ids = 1;

/* The construct that this thread is in. Set from construct_begin to
 * construct_end; the code also before that. */
static _Thread_local struct current {
    void *code;
    ompjit__ompt_data target;
    ompjit__ompt_data *target_task;
    int device;
    uint64_t operation, operation_began;
} current;

void ompjit__ompt_set(ompjit__ompt_lookup *lookup)
{
    typedef int get_callback(int number, ompjit__ompt_fn **out);
    get_callback *get = (get_callback *)lookup("ompt_get_callback");
    if (!get)
        return;
    ompjit__ompt_fn *f;
#define CALLBACK(name, number)                                                 \
    f = NULL;                                                                  \
    tool.name = get(number, &f) && f ? (ompjit__ompt_##name *)f : NULL;
#include "abi/ompt.def"
    tool.task_data = (ompjit__ompt_data * (*)(void))
        lookup("ompt_get_task_data");
    tool.target_task_data = (ompjit__ompt_data * (*)(void))
        lookup("ompt_get_target_task_data");
    atomic_store(&ompjit__ompt_is, OMPJIT__OMPT_ON);
}

void ompjit__ompt_end(void)
{
    atomic_store(&ompjit__ompt_is, OMPJIT__OMPT_NONE);
}

/* Ids are the library's where the tool has functions of the older kind; those
 * of the newer kind choose their own. */
static uint64_t new_id(void)
{
    return atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed);
}

void ompjit__ompt_host(int number)
{
    atomic_store_explicit(&host_number, number, memory_order_relaxed);
}

/* The number of a device as tools have it; -1 is the host. */
static int number_of(int device)
{
    return device >= 0 ? device
                       : atomic_load_explicit(&host_number,
                                              memory_order_relaxed);
}

/* ------------------------------------------------------------------- caller */

/* See ompt.h: libompjit-omptarget.so sets it before it calls. */
void **ompjit__ompt_caller(void)
{
    return &current.code;
}

void ompjit__ompt_called(const void *code)
{
    if (!current.code)
        current.code = (void *)(uintptr_t)code;
}

/* ------------------------------------------------------------------ devices */

/* `type` is the kind of the device ("cuda", "host"), with no documentation. */
void ompjit__ompt_device_begin(int device, const char *type)
{
    if (tool.device_initialize)
        tool.device_initialize(device, type, ompjit__trace_device(device),
                               ompjit__trace_function, NULL);
}

void ompjit__ompt_device_end(int device)
{
    ompjit__trace_flush(device);
    if (tool.device_finalize)
        tool.device_finalize(device);
    ompjit__trace_end(device);
}

/* The image has no file and no offset there (-1): it was in memory. */
void ompjit__ompt_device_loaded(int device, const void *image, size_t size)
{
    if (tool.device_load)
        tool.device_load(device, NULL, -1, NULL, size, (void *)(uintptr_t)image,
                         NULL, new_id());
}

/* --------------------------------------------------------------- constructs */

/* `kind` and `endpoint` are ompt_target_t and ompt_scope_endpoint_t. */
static void tell_construct(int kind, int endpoint, int device)
{
    ompjit__ompt_data *task = tool.task_data ? tool.task_data() : NULL;
    if (tool.target_emi)
        tool.target_emi(kind, endpoint, device, task, current.target_task,
                        &current.target, current.code);
    else if (tool.target)
        tool.target(kind, endpoint, device, task, current.target.value,
                    current.code);
    ompjit__trace_add(device, &(ompjit__ompt_record){
                                  OMPJIT__OMPT_RECORD_TARGET,
                                  ompjit__now(), 0, current.target.value,
                                  .of.construct = {kind, endpoint, device,
                                                   task ? task->value : 0,
                                                   current.target.value,
                                                   current.code}});
}

/* Only deferred constructs have tasks of their own. */
void ompjit__ompt_construct_begin(int kind, int device)
{
    current.device = device;
    current.target.value = tool.target_emi ? 0 : new_id();
    current.target_task = kind > OMPJIT__OMPT_NOWAIT && tool.target_task_data
                              ? tool.target_task_data()
                              : NULL;
    tell_construct(kind, OMPJIT__OMPT_BEGIN, device);
}

/* Also forgets where the program has called from. */
void ompjit__ompt_construct_end(int kind, int device)
{
    tell_construct(kind, OMPJIT__OMPT_END, device);
    current = (struct current){0};
}

/* --------------------------------------------------------------- operations */

/* The tool chooses the id with the newer function. */
static void begin_operation(bool tool_has_newer)
{
    current.operation = tool_has_newer ? 0 : new_id();
    current.operation_began = ompjit__now();
}

/* A copy between two devices is in the trace of its target. */
static void trace_op(const ompjit__ompt_op *op)
{
    int device = op->dst_device >= 0 ? op->dst_device : op->src_device;
    ompjit__trace_add(
        device, &(ompjit__ompt_record){
                    OMPJIT__OMPT_RECORD_DATA_OP, current.operation_began, 0,
                    current.target.value,
                    .of.op = {current.operation, op->type, op->src,
                              number_of(op->src_device), op->dst,
                              number_of(op->dst_device), op->bytes,
                              ompjit__now(), current.code}});
}

/* An operation by the newer function, which the tool has. */
static void tell_op(int endpoint, const ompjit__ompt_op *op)
{
    tool.data_op_emi(endpoint, current.target_task, &current.target,
                     &current.operation, op->type, (void *)(uintptr_t)op->src,
                     number_of(op->src_device), (void *)(uintptr_t)op->dst,
                     number_of(op->dst_device), op->bytes, current.code);
}

void ompjit__ompt_op_begin(const ompjit__ompt_op *op)
{
    begin_operation(tool.data_op_emi != NULL);
    if (tool.data_op_emi)
        tell_op(OMPJIT__OMPT_BEGIN, op);
}

void ompjit__ompt_op_end(const ompjit__ompt_op *op)
{
    if (tool.data_op_emi)
        tell_op(OMPJIT__OMPT_END, op);
    else if (tool.data_op)
        tool.data_op(current.target.value, current.operation, op->type,
                     (void *)(uintptr_t)op->src, number_of(op->src_device),
                     (void *)(uintptr_t)op->dst, number_of(op->dst_device),
                     op->bytes, current.code);
    trace_op(op);
}

/* The older function is called once, before the kernel. */
void ompjit__ompt_submit_begin(unsigned teams)
{
    begin_operation(tool.submit_emi != NULL);
    if (tool.submit_emi)
        tool.submit_emi(OMPJIT__OMPT_BEGIN, &current.target,
                        &current.operation, teams);
    else if (tool.submit)
        tool.submit(current.target.value, current.operation, teams);
}

void ompjit__ompt_submit_end(unsigned teams)
{
    if (tool.submit_emi)
        tool.submit_emi(OMPJIT__OMPT_END, &current.target, &current.operation,
                        teams);
    ompjit__trace_add(current.device,
                      &(ompjit__ompt_record){
                          OMPJIT__OMPT_RECORD_KERNEL, current.operation_began, 0,
                          current.target.value,
                          .of.kernel = {current.operation, teams, teams,
                                        ompjit__now()}});
}
