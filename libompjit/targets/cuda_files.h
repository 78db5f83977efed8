/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds the pieces of a CUDA toolkit.
 */
#ifndef OMPJIT_CUDA_FILES_H
#define OMPJIT_CUDA_FILES_H

#include "base/base.h"

enum ompjit__cuda_file {
    OMPJIT__CUDA_NVJITLINK,
    OMPJIT__CUDA_NVRTC,
    OMPJIT__CUDA_PTXAS,
    OMPJIT__CUDA_LIBDEVICE,
    OMPJIT__CUDA_HEADER, /* one of those that CUDA sources include */
    OMPJIT__CUDA_NVDISASM,
    OMPJIT__CUDA_CUOBJDUMP,
    OMPJIT__CUDA_DRIVER
};

/* Paths to try, best first, ended by NULL; whether they are there is not looked
 * at. The toolkit of OMPJIT_CUDA_HOME and no other where that is set; else
 * those of CUDA_HOME, CUDA_PATH, /usr/local/cuda and /usr/local/cuda-* (newest
 * first), then what the system finds by itself; in both cases then the folders
 * of OMPJIT_CUDA_WHEELS, which a colon separates. The driver is the system's in
 * any case. NULL when memory runs out. Free with ompjit__cuda_paths_free. */
char **ompjit__cuda_paths(enum ompjit__cuda_file kind);
void ompjit__cuda_paths_free(char **paths);

/* The first of those paths that access() grants `mode`; malloc'd, NULL where
 * there is none. For files, not for libraries. */
char *ompjit__cuda_find(enum ompjit__cuda_file kind, int mode);
#endif
