/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OMPT's tracing of devices: records of events in buffers of the tool's, for tools
 * that would rather read many at once than be called for each. ompt.c makes the
 * records.
 */
#ifndef OMPJIT_OMPT_TRACE_H
#define OMPJIT_OMPT_TRACE_H

#include "abi/ompt.h"

/* The address by which tools know a device (ompt_device_t), made when it is first
 * asked for; NULL: no memory, or a number that tools do not know. It is never
 * freed, as tools may keep it. Any thread. */
void *ompjit__trace_device(int device);
/* The functions for tracing that a tool may look up; NULL: there is none of that
 * name. */
ompjit__ompt_fn *ompjit__trace_function(const char *name);

/* Appends a record of the device, where the tool traces events of that type. The
 * type of the record is that of the older kind, and becomes what the tool has asked
 * for. Calls the tool when a buffer is full. Any thread. */
void ompjit__trace_add(int device, const ompjit__ompt_record *record);
/* Hands over what there is so far. */
void ompjit__trace_flush(int device);
/* Hands the last buffer over, and ends the trace. */
void ompjit__trace_end(int device);

#endif
