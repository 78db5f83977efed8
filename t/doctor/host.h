/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Host code with offload entries of both layouts, as sources of doctor_t.sh
 * begin. It needs no headers, so that it is compiled for other CPUs, too.
 */
typedef __SIZE_TYPE__ size;

struct old_entry {
    void *address;
    const char *name;
    size bytes;
    int flags, reserved;
};

struct new_entry {
    unsigned long long reserved;
    unsigned short version, kind;
    unsigned flags;
    void *address;
    const char *name;
    unsigned long long bytes, data;
    void *aux;
};

int __tgt_target_kernel(void *, long long, int, int, void *, void *);
void __tgt_register_lib(void *);

#define IN(section_name) __attribute__((used, section(section_name)))
#define OLD IN("omp_offloading_entries") struct old_entry
/* GCC aligns large objects to 32 bytes, which would leave gaps. */
#define NEW \
    IN("llvm_offload_entries") __attribute__((aligned(8))) struct new_entry
#define NEW_KERNEL(key, name) {0, 1, 1, 0, &key, name, 0, 0, 0}

static char a, b;

/* Launches the kernels of both keys. */
int launch(void);
int launch(void)
{
    return __tgt_target_kernel(0, -1, 0, 0, &a, 0) +
           __tgt_target_kernel(0, -1, 0, 0, &b, 0);
}
