/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data mapping, for devices and target constructs. README.md has the terms.
 */
#ifndef OMPJIT_MAPPING_H
#define OMPJIT_MAPPING_H

#include "device/device.h"

/* -------------------------------------------- present table (present_table.c)
 * The host storage that has a counterpart on a device, with reference counts as
 * in the OpenMP specification (5.2, 5.8.3 map clause). One lock per table. */

typedef struct ompjit__present ompjit__present;

ompjit__present *ompjit__present_new(void);
/* Frees the table and, through the device, all device memory it owns. */
void ompjit__present_free(ompjit_device *dev, ompjit__present *table);

/* ----------------------------------------------------------- mapping (map.c)
 * The arrays are those of __tgt_target_data_begin_mapper: `n` entries of base
 * pointer, begin pointer, size, map type, name (or NULL), mapper (or NULL). */

typedef struct ompjit__maps {
    int32_t n;
    void **bases, **begins;
    int64_t *sizes, *types;
    void **names, **mappers;
} ompjit__maps;

/* target data and target enter data: copies to the device. After a failure
 * nothing is mapped. Any thread; takes the table's lock. */
ompjit_status ompjit__map_begin(ompjit_device *dev, const ompjit__maps *maps,
                                ompjit_error *err);
/* The end of target data, and target exit data: copies to the host. */
ompjit_status ompjit__map_end(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_error *err);
/* target update. */
ompjit_status ompjit__map_update(ompjit_device *dev, const ompjit__maps *maps,
                                 ompjit_error *err);

#endif
