/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device runtime's bitcode, built from runtime-bc/ and embedded by
 * runtime-bc/embed.S.
 */
#include "backend/backend.h"

#define HIDDEN __attribute__((visibility("hidden")))
extern const char ompjit__rt_nvptx_begin[] HIDDEN;
extern const char ompjit__rt_nvptx_end[] HIDDEN;
extern const char ompjit__rt_host_begin[] HIDDEN;
extern const char ompjit__rt_host_end[] HIDDEN;
extern const char ompjit__cuda_h[] HIDDEN;

const void *ompjit__runtime_bc(bool host, size_t *size)
{
    const char *begin = host ? ompjit__rt_host_begin : ompjit__rt_nvptx_begin;
    const char *end = host ? ompjit__rt_host_end : ompjit__rt_nvptx_end;
    *size = (size_t)(end - begin);
    return begin;
}

const char *ompjit__cuda_header(void)
{
    return ompjit__cuda_h;
}
