/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stands in for libompjit-omptarget.so where t/cc_t.sh looks at what
 * `ompjit cc` has linked: tells on stderr what is registered, and runs no
 * region, so that programs run their own versions for the host.
 */
#include <stdio.h>
#include <string.h>

#include "abi/offload.h"

/* Containers of LLVM's in an image; -1: it has something else. */
static int containers(const char *at, const char *end)
{
    int n = 0;
    for (uint64_t size; at < end; at += size, n++) {
        if (end - at < 32 || memcmp(at, "\x10\xff\x10\xad", 4) ||
            (uintptr_t)at % 8)
            return -1;
        memcpy(&size, at + 8, sizeof size);
    }
    return at == end ? n : -1;
}

void __tgt_register_lib(ompjit__bin_desc *d)
{
    const ompjit__device_image *image = d->images;
    size_t bytes = (size_t)((char *)d->entries_end - (char *)d->entries_begin);
    if (d->num_images != 1 || image->entries_begin != d->entries_begin ||
        image->entries_end != d->entries_end)
        fprintf(stderr, "a wrong descriptor\n");
    else
        fprintf(stderr, "registered: %d images, %zu entries\n",
                containers(image->image_begin, image->image_end),
                bytes / sizeof(ompjit__offload_entry));
}

void __tgt_unregister_lib(ompjit__bin_desc *d)
{
    fprintf(stderr, "unregistered: %d\n", d->num_images);
}

int __tgt_target_kernel(void *loc, int64_t device, int32_t teams,
                        int32_t threads, void *host, void *args)
{
    (void)loc, (void)device, (void)teams, (void)threads, (void)host, (void)args;
    return 1;
}
