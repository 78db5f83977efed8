/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Data mapping, for devices and target constructs.
 */
#ifndef OMPJIT_MAPPING_H
#define OMPJIT_MAPPING_H

#include "device/device.h"

/* -------------------------------------------- present table (present_table.c)
 * Which host storage has a counterpart on a device. Reference counts as the
 * OpenMP specification has them (5.2, 5.8.3 map clause). One lock per table. */

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

ompjit_status ompjit__map_begin(ompjit_device *dev, const ompjit__maps *maps,
                                ompjit_error *err);
ompjit_status ompjit__map_end(ompjit_device *dev, const ompjit__maps *maps,
                              ompjit_error *err);
ompjit_status ompjit__map_update(ompjit_device *dev, const ompjit__maps *maps,
                                 ompjit_error *err);

#endif
