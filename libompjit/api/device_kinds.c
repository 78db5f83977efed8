/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The kinds of devices, and the rooms that keep state in each device: here the
 * device room, which is below all of them, learns of them.
 */
#include "device/device.h"
#include "launch/request.h"
#include "launch/variant_table.h"
#include "mapping/mapping.h"

/* "auto" takes the first kind that has a device: a GPU before the CPU. */
static const ompjit__device_kind kinds[] = {
    {.name = "cuda",
     .numbered = true,
     .find = ompjit__cuda_devices,
     .starts_driver = ompjit__cuda_starts},
    {.name = "host", .find = ompjit__host_devices},
};

/* The present table of mapping/ hangs from each device. Called by
 * ompjit__device_add; false: out of memory. */
static bool make_present(ompjit_device *dev)
{
    dev->present = ompjit__present_new();
    return dev->present;
}

/* Called when the context ends, before the device is closed: entries have
 * memory there. */
static void free_present(ompjit_device *dev)
{
    ompjit__present_free(dev, dev->present);
}

/* Launch environments and tables of calls need no making: there is none at
 * first. */
static const ompjit__device_part parts[] = {
    {make_present, free_present},
    {NULL, ompjit__environments_free},
    {NULL, ompjit__device_calls_free},
};

const ompjit__device_registry ompjit__device_registry_all = {
    .kinds = kinds,
    .nkinds = OMPJIT__COUNT(kinds),
    .parts = parts,
    .nparts = OMPJIT__COUNT(parts),
};
