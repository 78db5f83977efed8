/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A source-to-source compiler's helper: registers a stand-alone image with all
 * entries of the program.
 */
#include "abi.h"

static struct __tgt_device_image image;
static struct __tgt_bin_desc desc;

void rex_offload_init(const char *path);
void rex_offload_init(const char *path)
{
    enum { MOST = 1 << 22 };
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(MOST);
    size_t n = f && bytes ? fread(bytes, 1, MOST, f) : 0;
    if (!n) {
        perror(path);
        exit(2);
    }
    fclose(f);
    image.ImageStart = bytes;
    image.ImageEnd = bytes + n;
    image.EntriesBegin = desc.HostEntriesBegin = &__start_omp_offloading_entries;
    image.EntriesEnd = desc.HostEntriesEnd = &__stop_omp_offloading_entries;
    desc.NumDeviceImages = 1;
    desc.DeviceImages = &image;
    __tgt_register_lib(&desc);
}

void rex_offload_fini(void);
void rex_offload_fini(void)
{
    __tgt_unregister_lib(&desc);
    free(image.ImageStart);
}
