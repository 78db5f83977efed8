/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A tool that writes OMPT's events of target constructs to standard output, a
 * line each. With OLD_KIND it registers the callbacks without _emi.
 */
#include <omp-tools.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static ompt_set_callback_t set;
static uintptr_t program; /* where it calls from, first */
static unsigned long ids = 100;

static const char *end_name(ompt_scope_endpoint_t endpoint)
{
    return endpoint == ompt_scope_begin ? "begin" : "end";
}

static const char *op_name(ompt_target_data_op_t type)
{
    static const char *const names[] = {"?", "alloc", "to", "from", "delete",
                                        "associate", "disassociate"};
    return (unsigned)type < 7 ? names[type] : "?";
}

/* Calls come from one small program: all within 64 KB. */
static const char *caller(const void *code)
{
    uintptr_t at = (uintptr_t)code;
    program = program ? program : at;
    return at && at - program + 65536 < 131072 ? "" : ", wrong caller";
}

static void device_initialize(int n, const char *type, ompt_device_t *device,
                              ompt_function_lookup_t lookup, const char *text)
{
    printf("device %d %s begin\n", n, type);
}

static void device_finalize(int n)
{
    printf("device %d end\n", n);
}

static void device_load(int n, const char *file, int64_t offset, void *vma,
                        size_t bytes, void *host, void *device, uint64_t module)
{
    printf("load %d%s\n", n, bytes && host ? "" : ", of nothing");
}

static void target_emi(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int n,
                       ompt_data_t *task, ompt_data_t *target_task,
                       ompt_data_t *target, const void *code)
{
    if (endpoint == ompt_scope_begin)
        target->value = ++ids;
    printf("target %d %s %d, %s task%s, data %lu%s\n", kind, end_name(endpoint),
           n, task ? "a" : "no", target_task ? " of its own" : "",
           (unsigned long)target->value, caller(code));
}

static void data_op_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *task,
                        ompt_data_t *target, ompt_id_t *id,
                        ompt_target_data_op_t type, void *src, int src_device,
                        void *dst, int dst_device, size_t bytes,
                        const void *code)
{
    if (endpoint == ompt_scope_begin)
        *id = ++ids;
    printf("%s %s %d %d %zu, %lu in %lu%s\n", op_name(type), end_name(endpoint),
           src_device, dst_device, bytes, (unsigned long)*id,
           (unsigned long)target->value, caller(code));
}

static void submit_emi(ompt_scope_endpoint_t endpoint, ompt_data_t *target,
                       ompt_id_t *id, unsigned teams)
{
    if (endpoint == ompt_scope_begin)
        *id = ++ids;
    printf("submit %s %u, %lu in %lu\n", end_name(endpoint), teams,
           (unsigned long)*id, (unsigned long)target->value);
}

static void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int n,
                   ompt_data_t *task, ompt_id_t id, const void *code)
{
    printf("old target %d %s %d%s%s\n", kind, end_name(endpoint), n,
           id ? "" : ", without id", caller(code));
}

static void data_op(ompt_id_t target_id, ompt_id_t id, ompt_target_data_op_t type,
                    void *src, int src_device, void *dst, int dst_device,
                    size_t bytes, const void *code)
{
    printf("old %s %d %d %zu%s%s\n", op_name(type), src_device, dst_device,
           bytes, id ? "" : ", without id", caller(code));
}

static void submit(ompt_id_t target_id, ompt_id_t id, unsigned teams)
{
    printf("old submit %u%s\n", teams, target_id && id ? "" : ", without ids");
}

#define SET(name) set(ompt_callback_##name, (ompt_callback_t)name)

static int initialize(ompt_function_lookup_t lookup, int device,
                      ompt_data_t *data)
{
    set = (ompt_set_callback_t)lookup("ompt_set_callback");
    SET(device_initialize);
    SET(device_finalize);
    SET(device_load);
    if (getenv("OLD_KIND")) {
        SET(target);
        set(ompt_callback_target_data_op, (ompt_callback_t)data_op);
        set(ompt_callback_target_submit, (ompt_callback_t)submit);
    } else {
        SET(target_emi);
        set(ompt_callback_target_data_op_emi, (ompt_callback_t)data_op_emi);
        set(ompt_callback_target_submit_emi, (ompt_callback_t)submit_emi);
    }
    return 1;
}

static void finalize(ompt_data_t *data)
{
    puts("tool end");
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
