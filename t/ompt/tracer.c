/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A tool that traces devices, and writes what their buffers have to standard
 * output, a line each. BUFFER is the size of a buffer in bytes, and ONLY a type of
 * event; without it all are traced. It has no function of its own for events. With
 * NO_DEVICE it says NULL for the device, as APEX does. With BUSY it calls functions
 * of the trace while it is asked for a buffer.
 */
#include <omp-tools.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static ompt_start_trace_t start;
static ompt_stop_trace_t stop;
static ompt_flush_trace_t flush_trace;
static ompt_pause_trace_t pause_trace;
static ompt_set_trace_ompt_t set_trace;
static ompt_set_trace_native_t set_native;
static ompt_advance_buffer_cursor_t advance;
static ompt_get_record_type_t type_of;
static ompt_get_record_ompt_t record_of;
static ompt_get_device_time_t device_time;
static ompt_translate_time_t translate;
static ompt_device_t *device;
static ompt_device_time_t before; /* all records are younger */
static int buffers;

/* The program's, for a trace that rests. */
void rest(int begin);

static void request(int n, ompt_buffer_t **buffer, size_t *bytes)
{
    const char *size = getenv("BUFFER");
    *bytes = size ? strtoul(size, NULL, 10) : 65536;
    *buffer = malloc(*bytes);
    if (getenv("BUSY")) {
        pause_trace(device, 0);
        flush_trace(device);
    }
}

static void show_op(const ompt_record_ompt_t *r)
{
    static const char *const names[] = {"?", "alloc", "to", "from", "delete",
                                        "associate", "disassociate"};
    const ompt_record_target_data_op_t *op = &r->record.target_data_op;
    printf("%s %d %d %zu%s%s\n", names[op->optype % 7], op->src_device_num,
           op->dest_device_num, op->bytes,
           op->host_op_id ? "" : ", without id",
           op->end_time >= r->time ? "" : ", ends before it begins");
}

static void show(const ompt_record_ompt_t *r)
{
    const char *place = r->target_id ? "" : " outside,";
    if (r->time < before || !r->thread_id)
        printf("wrong head: ");
    switch (r->type) {
    case ompt_callback_target:
    case ompt_callback_target_emi:
        printf("target %d %s %d%s\n", r->record.target.kind,
               r->record.target.endpoint == ompt_scope_begin ? "begin" : "end",
               r->record.target.device_num,
               r->record.target.target_id == r->target_id &&
                       r->record.target.codeptr_ra
                   ? "" : ", wrong");
        break;
    case ompt_callback_target_data_op:
    case ompt_callback_target_data_op_emi:
        printf("%s", place);
        show_op(r);
        break;
    case ompt_callback_target_submit:
    case ompt_callback_target_submit_emi:
        printf("%ssubmit %u%s\n", place,
               r->record.target_kernel.requested_num_teams,
               r->record.target_kernel.end_time >= r->time ? "" : ", wrong");
        break;
    default:
        printf("a record of type %d\n", r->type);
    }
}

static void complete(int n, ompt_buffer_t *buffer, size_t bytes,
                     ompt_buffer_cursor_t begin, int owned)
{
    ompt_buffer_cursor_t at = begin;
    buffers++;
    do {
        if (type_of(buffer, at) == ompt_record_ompt)
            show(record_of(buffer, at));
        else if (record_of(buffer, at))
            puts("a record that is none");
    } while (advance(device, buffer, bytes, at, &at));
    if (owned)
        free(buffer);
}

static void device_initialize(int n, const char *type, ompt_device_t *handle,
                              ompt_function_lookup_t lookup, const char *text)
{
    const char *only = getenv("ONLY");
    start = (ompt_start_trace_t)lookup("ompt_start_trace");
    stop = (ompt_stop_trace_t)lookup("ompt_stop_trace");
    flush_trace = (ompt_flush_trace_t)lookup("ompt_flush_trace");
    pause_trace = (ompt_pause_trace_t)lookup("ompt_pause_trace");
    set_trace = (ompt_set_trace_ompt_t)lookup("ompt_set_trace_ompt");
    set_native = (ompt_set_trace_native_t)lookup("ompt_set_trace_native");
    advance = (ompt_advance_buffer_cursor_t)lookup("ompt_advance_buffer_cursor");
    type_of = (ompt_get_record_type_t)lookup("ompt_get_record_type");
    record_of = (ompt_get_record_ompt_t)lookup("ompt_get_record_ompt");
    device_time = (ompt_get_device_time_t)lookup("ompt_get_device_time");
    translate = (ompt_translate_time_t)lookup("ompt_translate_time");
    device = handle = getenv("NO_DEVICE") ? NULL : handle;
    before = device_time(handle);
    printf("%d %d %d %d %d\n", lookup("ompt_no_such_function") != NULL,
           set_native(handle, 1, 0), set_trace(handle, 1, 3),
           set_trace(handle, 1, only ? atoi(only) : 0),
           start(handle, NULL, complete));
    int first = start(handle, request, complete);
    printf("started %d %d\n", first, start(handle, request, complete));
}

static void device_finalize(int n)
{
    int first = flush_trace(device), before_stop = stop(device);
    double now = translate(device, device_time(device));
    printf("stopped %d %d %d, %d buffers%s\n", first, before_stop, stop(device),
           buffers, now > 0 && translate(device, before) < now ? "" : ", no time");
}

void rest(int begin)
{
    if (pause_trace)
        pause_trace(device, begin);
}

static int initialize(ompt_function_lookup_t lookup, int initial,
                      ompt_data_t *data)
{
    ompt_set_callback_t set =
        (ompt_set_callback_t)lookup("ompt_set_callback");
    set(ompt_callback_device_initialize, (ompt_callback_t)device_initialize);
    set(ompt_callback_device_finalize, (ompt_callback_t)device_finalize);
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
