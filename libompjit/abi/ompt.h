/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The part of OMPT (OpenMP 5.2, 19) that the runtime for devices serves: what a
 * tool may register for target constructs, by libomp's ompt_set_callback, and
 * what libomp hands on to us by ompt_libomp_connect. Names and numbers are those
 * of the standard's omp-tools.h.
 */
#ifndef OMPJIT_OMPT_ABI_H
#define OMPJIT_OMPT_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef union ompjit__ompt_data {
    uint64_t value;
    void *ptr;
} ompjit__ompt_data;

enum ompjit__ompt_endpoint { OMPJIT__OMPT_BEGIN = 1, OMPJIT__OMPT_END = 2 };

enum ompjit__ompt_kind { /* and 8 more where it is deferred */
    OMPJIT__OMPT_TARGET = 1,
    OMPJIT__OMPT_ENTER_DATA = 2,
    OMPJIT__OMPT_EXIT_DATA = 3,
    OMPJIT__OMPT_UPDATE = 4,
    OMPJIT__OMPT_NOWAIT = 8
};

enum ompjit__ompt_op_type {
    OMPJIT__OMPT_ALLOC = 1,
    OMPJIT__OMPT_TO_DEVICE = 2,
    OMPJIT__OMPT_FROM_DEVICE = 3,
    OMPJIT__OMPT_DELETE = 4,
    OMPJIT__OMPT_ASSOCIATE = 5,
    OMPJIT__OMPT_DISASSOCIATE = 6
};

typedef void ompjit__ompt_fn(void);
typedef ompjit__ompt_fn *ompjit__ompt_lookup(const char *name);

/* ompt_start_tool_result_t: what each of the two runtimes gives the other. */
typedef struct ompjit__ompt_result {
    int (*initialize)(ompjit__ompt_lookup *lookup, int initial_device,
                      ompjit__ompt_data *tool);
    void (*finalize)(ompjit__ompt_data *tool);
    ompjit__ompt_data tool;
} ompjit__ompt_result;

/* The callbacks (ompt.def). Those with _emi have the tool's own data and come at
 * both ends of an operation; a tool registers one of the two kinds. */
typedef void ompjit__ompt_device_initialize(int device, const char *type,
                                            void *handle,
                                            ompjit__ompt_lookup *lookup,
                                            const char *documentation);
typedef void ompjit__ompt_device_finalize(int device);
typedef void ompjit__ompt_device_load(int device, const char *file,
                                      int64_t offset, void *address_in_file,
                                      size_t bytes, void *host, void *device_at,
                                      uint64_t module);
typedef void ompjit__ompt_target_emi(int kind, int endpoint, int device,
                                     ompjit__ompt_data *task,
                                     ompjit__ompt_data *target_task,
                                     ompjit__ompt_data *target,
                                     const void *code);
typedef void ompjit__ompt_target(int kind, int endpoint, int device,
                                 ompjit__ompt_data *task, uint64_t target,
                                 const void *code);
typedef void ompjit__ompt_data_op_emi(int endpoint,
                                      ompjit__ompt_data *target_task,
                                      ompjit__ompt_data *target,
                                      uint64_t *operation, int type, void *src,
                                      int src_device, void *dst, int dst_device,
                                      size_t bytes, const void *code);
typedef void ompjit__ompt_data_op(uint64_t target, uint64_t operation, int type,
                                  void *src, int src_device, void *dst,
                                  int dst_device, size_t bytes,
                                  const void *code);
typedef void ompjit__ompt_submit_emi(int endpoint, ompjit__ompt_data *target,
                                     uint64_t *operation, unsigned teams);
typedef void ompjit__ompt_submit(uint64_t target, uint64_t operation,
                                 unsigned teams);

/* A record of a device's trace (ompt_record_ompt_t), of the events of these
 * numbers, or of their newer kind's. */
enum ompjit__ompt_record_type {
    OMPJIT__OMPT_RECORD_TARGET = 8,
    OMPJIT__OMPT_RECORD_DATA_OP = 9,
    OMPJIT__OMPT_RECORD_KERNEL = 10
};
typedef struct ompjit__ompt_record {
    int type;
    uint64_t time, thread, target;
    union {
        struct {
            int kind, endpoint, device;
            uint64_t task, target;
            const void *code;
        } construct;
        struct {
            uint64_t id;
            int type;
            const void *src;
            int src_device;
            const void *dst;
            int dst_device;
            size_t bytes;
            uint64_t end_time;
            const void *code;
        } op;
        struct {
            uint64_t id;
            unsigned requested_teams, granted_teams;
            uint64_t end_time;
        } kernel;
    } of;
} ompjit__ompt_record;
_Static_assert(sizeof(ompjit__ompt_record) == 104, "omp-tools.h");

#endif
