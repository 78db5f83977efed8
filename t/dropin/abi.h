/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The ABI of libomptarget as a source-to-source compiler writes it into its
 * programs: entries of 32 bytes, images and kernel arguments. A program's own
 * declarations, so that the library's are tested against them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct __tgt_offload_entry {
    void *addr;
    char *name;
    size_t size;
    int32_t flags, reserved;
};

struct __tgt_device_image {
    void *ImageStart, *ImageEnd;
    struct __tgt_offload_entry *EntriesBegin, *EntriesEnd;
};

struct __tgt_bin_desc {
    int32_t NumDeviceImages;
    struct __tgt_device_image *DeviceImages;
    struct __tgt_offload_entry *HostEntriesBegin, *HostEntriesEnd;
};

struct __tgt_kernel_arguments {
    uint32_t Version, NumArgs;
    void **ArgsBase, **Args;
    int64_t *ArgSizes, *ArgTypes;
    void **ArgNames, **ArgMappers;
    uint64_t Tripcount, Flags;
    uint32_t Teams[3], Threads[3], DynCGroupMem;
};

enum { TO = 1, FROM = 2, PARAM = 0x20, LITERAL = 0x100 };

#ifdef __cplusplus
extern "C" {
#endif
extern struct __tgt_offload_entry __start_omp_offloading_entries,
    __stop_omp_offloading_entries;
void __tgt_register_lib(struct __tgt_bin_desc *);
void __tgt_unregister_lib(struct __tgt_bin_desc *);
int __tgt_target_kernel(void *, int64_t, int32_t, int32_t, void *,
                        struct __tgt_kernel_arguments *);
int __tgt_target_teams(int64_t, void *, int32_t, void **, void **, int64_t *,
                       int64_t *, int32_t, int32_t);
void __tgt_target_data_begin(int64_t, int32_t, void **, void **, int64_t *,
                             int64_t *);
void __tgt_target_data_end(int64_t, int32_t, void **, void **, int64_t *,
                           int64_t *);
#ifdef __cplusplus
}
#endif

#define ENTRY(key, kernel) \
    struct __tgt_offload_entry key##entry__ \
        __attribute__((section("omp_offloading_entries"))) = {&key, kernel, 0, \
                                                              0, 0}
