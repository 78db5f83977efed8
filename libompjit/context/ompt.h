/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OMPT's events of target constructs, for tools such as Score-P, TAU and APEX.
 * omptarget/ompt_connect.c finds out whether the process has a tool; then these
 * call its functions. Everything is the calling thread's: a construct begins and
 * ends in one thread, and so do its operations.
 */
#ifndef OMPJIT_OMPT_H
#define OMPJIT_OMPT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "abi/ompt.h"

/* Is there a tool? One relaxed load. */
enum ompjit__ompt_state {
    OMPJIT__OMPT_UNKNOWN, /* nobody has asked so far */
    OMPJIT__OMPT_NONE,
    OMPJIT__OMPT_ON
};
extern atomic_int ompjit__ompt_is;
static inline bool ompjit__ompt(void)
{
    return atomic_load_explicit(&ompjit__ompt_is, memory_order_relaxed) ==
           OMPJIT__OMPT_ON;
}

/* Takes the tool's functions from libomp: from now on there are events. Once. */
void ompjit__ompt_set(ompjit__ompt_lookup *lookup);
/* There is no tool, or no longer. */
void ompjit__ompt_end(void);

/* Where the program has called the runtime, for events until the construct ends;
 * the outermost function counts. Does nothing without a tool. */
#define OMPJIT__OMPT_CALLED()                                                  \
    do {                                                                       \
        if (atomic_load_explicit(&ompjit__ompt_is, memory_order_relaxed) !=    \
            OMPJIT__OMPT_NONE)                                                 \
            ompjit__ompt_called(__builtin_return_address(0));                  \
    } while (0)
void ompjit__ompt_called(const void *code);
/* The program goes on. Does nothing without a tool. */
static inline void ompjit__ompt_left(void);
/* The thread's place for that, which libompjit-omptarget.so fills: the program
 * has called that. */
void **ompjit__ompt_caller(void);
static inline void ompjit__ompt_left(void)
{
    if (ompjit__ompt())
        *ompjit__ompt_caller() = NULL;
}

/* All but the last are called where there is a tool only. `type` is as messages
 * have it. A device is initialized once. */
void ompjit__ompt_device_begin(int device, const char *type);
void ompjit__ompt_device_end(int device);
void ompjit__ompt_device_loaded(int device, const void *image, size_t size);
/* A construct: enum ompjit__ompt_kind, and its device. */
void ompjit__ompt_construct_begin(int kind, int device);
void ompjit__ompt_construct_end(int kind, int device);

/* An operation on data. A device number that is -1 is the host's. */
typedef struct ompjit__ompt_op {
    enum ompjit__ompt_op_type type;
    const void *src, *dst;
    int src_device, dst_device;
    size_t bytes;
} ompjit__ompt_op;
void ompjit__ompt_op_begin(const ompjit__ompt_op *op);
void ompjit__ompt_op_end(const ompjit__ompt_op *op);
/* The construct's kernel; teams 0: as many as the runtime likes. */
void ompjit__ompt_submit_begin(unsigned teams);
void ompjit__ompt_submit_end(unsigned teams);

/* The number that tools know the host by: that of devices. */
void ompjit__ompt_host(int number);

#endif
