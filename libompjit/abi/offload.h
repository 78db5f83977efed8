/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The offloading ABI between clang's code and an OpenMP runtime, as C: the
 * structs that compiled programs and kernels share with us, and the numbers in
 * them. Same in LLVM 18 to 22 where no release is named. The same structs as
 * LLVM types come from ompjit_rtl_type() in ompjit_llvm.h; t/table_t.c holds
 * the two against each other. 64-bit targets only.
 */
#ifndef OMPJIT_OFFLOAD_ABI_H
#define OMPJIT_OFFLOAD_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OMPJIT__ABI_ASSERT static_assert
#else
#define OMPJIT__ABI_ASSERT _Static_assert
#endif
#define OMPJIT__ABI_SIZE(type, bytes) \
    OMPJIT__ABI_ASSERT(sizeof(struct type) == (bytes), "size of " #type)
#define OMPJIT__ABI_OFFSET(type, field, bytes) \
    OMPJIT__ABI_ASSERT(offsetof(struct type, field) == (bytes), \
                   "offset of " #type "." #field)

/* ------------------------------------------------------ source locations */

enum ompjit__ident_flag {
    OMPJIT__IDENT_IMB = 0x01,
    OMPJIT__IDENT_KMPC = 0x02, /* clang sets it in every ident */
    OMPJIT__IDENT_AUTOPAR = 0x08,
    OMPJIT__IDENT_ATOMIC_REDUCE = 0x10,
    OMPJIT__IDENT_BARRIER_EXPLICIT = 0x20,
    OMPJIT__IDENT_BARRIER_FOR = 0x40, /* implicit, at the end of: */
    OMPJIT__IDENT_BARRIER_SECTIONS = 0xC0,
    OMPJIT__IDENT_BARRIER_SINGLE = 0x140,
    OMPJIT__IDENT_BARRIER_WORKSHARE = 0x1C0, /* also the mask of the four */
    OMPJIT__IDENT_WORK_LOOP = 0x200,
    OMPJIT__IDENT_WORK_SECTIONS = 0x400,
    OMPJIT__IDENT_WORK_DISTRIBUTE = 0x800
};

/* ident_t. `source` is ";file;function;line;column;;" and source_length its
 * length. */
typedef struct ompjit__ident {
    int32_t reserved_1;
    int32_t flags; /* enum ompjit__ident_flag */
    int32_t reserved_2;
    int32_t source_length;
    const char *source;
} ompjit__ident;
OMPJIT__ABI_SIZE(ompjit__ident, 24);
OMPJIT__ABI_OFFSET(ompjit__ident, flags, 4);
OMPJIT__ABI_OFFSET(ompjit__ident, reserved_2, 8);
OMPJIT__ABI_OFFSET(ompjit__ident, source_length, 12);
OMPJIT__ABI_OFFSET(ompjit__ident, source, 16);

/* ---------------------------------------------------- kernel environment */

/* OMPTgtExecModeFlags. Clang writes GENERIC and SPMD; openmp-opt turns
 * GENERIC into GENERIC_SPMD where it can. */
enum ompjit__exec_mode {
    OMPJIT__EXEC_BARE = 0, /* LLVM 21 on */
    OMPJIT__EXEC_GENERIC = 1,
    OMPJIT__EXEC_SPMD = 2,
    OMPJIT__EXEC_GENERIC_SPMD = 3,
    OMPJIT__EXEC_SPMD_NO_LOOP = 6 /* LLVM 22 on */
};

/* The value that __kmpc_target_init returns to a thread that runs the user's
 * code; any other value is a worker that must return from the kernel. */
#define OMPJIT__TARGET_INIT_USER_CODE (-1)

/* ConfigurationEnvironmentTy. A bound of 0 or less is no bound. */
typedef struct ompjit__configuration_environment {
    uint8_t use_generic_state_machine;
    uint8_t may_use_nested_parallelism;
    uint8_t exec_mode; /* enum ompjit__exec_mode */
    int32_t min_threads, max_threads;
    int32_t min_teams, max_teams;
    int32_t reduction_data_size; /* bytes of one team's record */
    int32_t reduction_buffer_length; /* records */
} ompjit__configuration_environment;
OMPJIT__ABI_SIZE(ompjit__configuration_environment, 28);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment,
                   may_use_nested_parallelism, 1);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, exec_mode, 2);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, min_threads, 4);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, max_threads, 8);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, min_teams, 12);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, max_teams, 16);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, reduction_data_size, 20);
OMPJIT__ABI_OFFSET(ompjit__configuration_environment, reduction_buffer_length,
                   24);

/* DynamicEnvironmentTy. */
typedef struct ompjit__dynamic_environment {
    uint16_t debug_indentation;
} ompjit__dynamic_environment;
OMPJIT__ABI_SIZE(ompjit__dynamic_environment, 2);

/* KernelEnvironmentTy: the constant <kernel>_kernel_environment, and the first
 * argument of __kmpc_target_init. */
typedef struct ompjit__kernel_environment {
    ompjit__configuration_environment configuration;
    ompjit__ident *ident;
    ompjit__dynamic_environment *dynamic;
} ompjit__kernel_environment;
OMPJIT__ABI_SIZE(ompjit__kernel_environment, 48);
OMPJIT__ABI_OFFSET(ompjit__kernel_environment, ident, 32);
OMPJIT__ABI_OFFSET(ompjit__kernel_environment, dynamic, 40);

/* KernelLaunchEnvironmentTy: a kernel's parameter 0 (kernel arguments of
 * version 3). LLVM's own IR type has only the two counters; the third field
 * is there all the same. */
typedef struct ompjit__launch_environment {
    uint32_t reduction_count;
    uint32_t reduction_iteration_count;
    void *reduction_buffer;
} ompjit__launch_environment;
OMPJIT__ABI_SIZE(ompjit__launch_environment, 16);
OMPJIT__ABI_OFFSET(ompjit__launch_environment, reduction_iteration_count, 4);
OMPJIT__ABI_OFFSET(ompjit__launch_environment, reduction_buffer, 8);

/* The structure that libomptarget passes as launch environment to a kernel that
 * reduces nothing across teams. */
#define OMPJIT__NO_LAUNCH_ENVIRONMENT \
    ((ompjit__launch_environment *)~(uintptr_t)0)

/* DeviceEnvironmentTy: the device variable __omp_rtl_device_environment. */
#define OMPJIT__DEVICE_ENVIRONMENT "__omp_rtl_device_environment"
typedef struct ompjit__device_environment {
    uint32_t debug_kind;
    uint32_t num_devices;
    uint32_t device_num;
    uint32_t dynamic_shared; /* bytes */
    uint64_t clock_frequency; /* Hz */
    uint64_t indirect_call_table;
    uint64_t indirect_call_table_size;
    uint64_t hardware_parallelism;
} ompjit__device_environment;
OMPJIT__ABI_SIZE(ompjit__device_environment, 48);
OMPJIT__ABI_OFFSET(ompjit__device_environment, num_devices, 4);
OMPJIT__ABI_OFFSET(ompjit__device_environment, device_num, 8);
OMPJIT__ABI_OFFSET(ompjit__device_environment, dynamic_shared, 12);
OMPJIT__ABI_OFFSET(ompjit__device_environment, clock_frequency, 16);
OMPJIT__ABI_OFFSET(ompjit__device_environment, indirect_call_table, 24);
OMPJIT__ABI_OFFSET(ompjit__device_environment, indirect_call_table_size, 32);
OMPJIT__ABI_OFFSET(ompjit__device_environment, hardware_parallelism, 40);

/* The elements of its indirect_call_table, ordered by `host`. */
typedef struct ompjit__indirect_call {
    const void *host;
    void *device;
} ompjit__indirect_call;
OMPJIT__ABI_SIZE(ompjit__indirect_call, 16);

/* ------------------------------------------------------ kernel arguments */

/* Version of the block that __tgt_target_kernel gets. LLVM 18 writes 2, 19 on
 * write 3. From 3 on the kernel's parameter 0 is the launch environment. */
enum ompjit__kernel_args_version {
    OMPJIT__KERNEL_ARGS_V1 = 1, /* LLVM 15 and before: ends with tripcount */
    OMPJIT__KERNEL_ARGS_V2 = 2,
    OMPJIT__KERNEL_ARGS_V3 = 3
};

enum ompjit__kernel_args_flag {
    OMPJIT__KERNEL_NOWAIT = 0x1,
    OMPJIT__KERNEL_IS_CUDA = 0x2, /* LLVM 21 on */
    OMPJIT__KERNEL_DYN_FALLBACK_MASK = 0xC /* LLVM 22's dyn_groupprivate */
};

/* KernelArgsTy, __tgt_kernel_arguments: versions 2 and 3. In teams and
 * thread_limit [0] is what a num_teams or thread_limit clause says, 0 is the
 * runtime's choice; [1] and [2] may be 0 and then mean 1. */
typedef struct ompjit__kernel_args {
    uint32_t version;
    uint32_t num_args;
    void **bases;  /* num_args each: base pointers, */
    void **begins; /* where the mapped storage begins, */
    int64_t *sizes; /* its bytes, */
    int64_t *types; /* enum ompjit__map_flag */
    void **names;   /* ";x;file;line;column;;", or NULL */
    void **mappers; /* or NULL */
    uint64_t tripcount; /* 0: unknown */
    uint64_t flags;     /* enum ompjit__kernel_args_flag */
    uint32_t teams[3];
    uint32_t thread_limit[3];
    uint32_t dynamic_shared; /* bytes a team */
} ompjit__kernel_args;
OMPJIT__ABI_SIZE(ompjit__kernel_args, 104);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, num_args, 4);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, bases, 8);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, begins, 16);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, sizes, 24);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, types, 32);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, names, 40);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, mappers, 48);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, tripcount, 56);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, flags, 64);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, teams, 72);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, thread_limit, 84);
OMPJIT__ABI_OFFSET(ompjit__kernel_args, dynamic_shared, 96);

/* Version 1. */
typedef struct ompjit__kernel_args_v1 {
    uint32_t version;
    uint32_t num_args;
    void **bases, **begins;
    int64_t *sizes, *types;
    void **names, **mappers;
    uint64_t tripcount;
} ompjit__kernel_args_v1;
OMPJIT__ABI_SIZE(ompjit__kernel_args_v1, 64);
OMPJIT__ABI_OFFSET(ompjit__kernel_args_v1, mappers, 48);
OMPJIT__ABI_OFFSET(ompjit__kernel_args_v1, tripcount, 56);

/* __tgt_async_info: only the first field is the same in all releases (the
 * rest is C++, 56 bytes to LLVM 21, 96 from 22 on). */
typedef struct ompjit__async_info {
    void *queue;
} ompjit__async_info;
OMPJIT__ABI_SIZE(ompjit__async_info, 8);

/* --------------------------------------------------------------- mapping */

/* tgt_map_type: one bit each, but for MEMBER_OF. 0x320 (800) is a scalar that
 * is passed by value. The last two are macros: they do not fit an int. */
enum ompjit__map_flag {
    OMPJIT__MAP_NONE = 0,
    OMPJIT__MAP_TO = 0x1,
    OMPJIT__MAP_FROM = 0x2,
    OMPJIT__MAP_ALWAYS = 0x4,
    OMPJIT__MAP_DELETE = 0x8,
    OMPJIT__MAP_PTR_AND_OBJ = 0x10,
    OMPJIT__MAP_TARGET_PARAM = 0x20,
    OMPJIT__MAP_RETURN_PARAM = 0x40,
    OMPJIT__MAP_PRIVATE = 0x80,
    OMPJIT__MAP_LITERAL = 0x100,
    OMPJIT__MAP_IMPLICIT = 0x200,
    OMPJIT__MAP_CLOSE = 0x400,
    OMPJIT__MAP_PRESENT = 0x1000,
    OMPJIT__MAP_HOLD = 0x2000,  /* ompx_hold, OpenACC */
    OMPJIT__MAP_ATTACH = 0x4000 /* LLVM 22 on */
};
#define OMPJIT__MAP_NON_CONTIG UINT64_C(0x100000000000)
#define OMPJIT__MAP_MEMBER_OF UINT64_C(0xffff000000000000)

/* Ours, in bits that LLVM 18 to 22 do not use: no program can tell the entry's
 * storage from a copy (passes/hosthalf/share/share.c). */
#define OMPJIT__MAP_UNSEEN UINT64_C(0x10000000000)
/* The same where nothing but the host half itself calls other functions of its
 * than main. */
#define OMPJIT__MAP_UNSEEN_IN_MAIN UINT64_C(0x20000000000)

/* Ours: the offset of a strided section's first dimension is this and the
 * number of dimensions where repair.c has been; the offset of the last one is
 * the address at which the section begins then, and others say nothing.
 * IS_COPY: the descriptor has been allocated by malloc for one update. */
#define OMPJIT__SECTION_BEGINS UINT64_C(0x8f6d706a69740000)
#define OMPJIT__SECTION_IS_COPY UINT64_C(0x8000)

/* Index of the entry that a map type is a member of; -1: of none. */
static inline int ompjit__map_parent(uint64_t type)
{
    return (int)(type >> 48) - 1;
}

/* ------------------------------------------------------- offload entries */

/* The bits of an entry's `flags`; 0 is a kernel or a `to` variable. */
enum ompjit__entry_flag {
    OMPJIT__ENTRY_LINK = 0x01,
    OMPJIT__ENTRY_CTOR = 0x02, /* LLVM 18 */
    OMPJIT__ENTRY_DTOR = 0x04, /* LLVM 18 */
    OMPJIT__ENTRY_INDIRECT = 0x08,
    OMPJIT__ENTRY_REQUIRES = 0x10,       /* LLVM 19 on: flags in `data` */
    OMPJIT__ENTRY_INDIRECT_VTABLE = 0x20, /* LLVM 22 on */
    /* Functions that are called through pointers, and tables of such. */
    OMPJIT__ENTRY_CALLED = OMPJIT__ENTRY_INDIRECT | OMPJIT__ENTRY_INDIRECT_VTABLE
};

/* The requirements that an OMPJIT__ENTRY_REQUIRES entry, or
 * __tgt_register_requires, says. */
enum ompjit__requires_flag {
    OMPJIT__REQUIRES_UNDEFINED = 0,
    OMPJIT__REQUIRES_NONE = 0x1,
    OMPJIT__REQUIRES_REVERSE_OFFLOAD = 0x2,
    OMPJIT__REQUIRES_UNIFIED_ADDRESS = 0x4,
    OMPJIT__REQUIRES_UNIFIED_SHARED_MEMORY = 0x8,
    OMPJIT__REQUIRES_DYNAMIC_ALLOCATORS = 0x10,
    OMPJIT__REQUIRES_AUTO_ZERO_COPY = 0x20
};

/* object::OffloadKind of LLVM 22; before, HIP was 3. */
enum ompjit__offload_kind {
    OMPJIT__OFFLOAD_NONE = 0,
    OMPJIT__OFFLOAD_OPENMP = 1,
    OMPJIT__OFFLOAD_CUDA = 2,
    OMPJIT__OFFLOAD_HIP = 4,
    OMPJIT__OFFLOAD_SYCL = 8
};

/* The place of entries in a program. */
#define OMPJIT__ENTRY_SECTION "llvm_offload_entries"
#define OMPJIT__ENTRY_SECTION_OLD "omp_offloading_entries"
#define OMPJIT__ENTRY_VERSION 1

/* llvm::offloading::EntryTy, LLVM 20 or 21 on. */
typedef struct ompjit__offload_entry {
    uint64_t reserved; /* 0, which no old entry has here */
    uint16_t version;  /* OMPJIT__ENTRY_VERSION          */
    uint16_t kind;     /* enum ompjit__offload_kind      */
    uint32_t flags;    /* enum ompjit__entry_flag        */
    void *address;
    char *name;
    uint64_t size;     /* 0: a kernel */
    uint64_t data;
    void *aux;
} ompjit__offload_entry;
OMPJIT__ABI_SIZE(ompjit__offload_entry, 56);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, version, 8);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, kind, 10);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, flags, 12);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, address, 16);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, name, 24);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, size, 32);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, data, 40);
OMPJIT__ABI_OFFSET(ompjit__offload_entry, aux, 48);

/* __tgt_offload_entry of LLVM 18 and 19. */
typedef struct ompjit__offload_entry_old {
    void *address;
    char *name;
    uint64_t size; /* 0: a kernel */
    int32_t flags; /* enum ompjit__entry_flag */
    int32_t data;  /* reserved in LLVM 18 */
} ompjit__offload_entry_old;
OMPJIT__ABI_SIZE(ompjit__offload_entry_old, 32);
OMPJIT__ABI_OFFSET(ompjit__offload_entry_old, name, 8);
OMPJIT__ABI_OFFSET(ompjit__offload_entry_old, size, 16);
OMPJIT__ABI_OFFSET(ompjit__offload_entry_old, flags, 24);
OMPJIT__ABI_OFFSET(ompjit__offload_entry_old, data, 28);

/* __tgt_device_image. The entries are of either layout: the first eight bytes
 * tell which (see ompjit__offload_entry.reserved). */
typedef struct ompjit__device_image {
    void *image_begin, *image_end;
    void *entries_begin, *entries_end;
} ompjit__device_image;
OMPJIT__ABI_SIZE(ompjit__device_image, 32);
OMPJIT__ABI_OFFSET(ompjit__device_image, image_end, 8);
OMPJIT__ABI_OFFSET(ompjit__device_image, entries_begin, 16);
OMPJIT__ABI_OFFSET(ompjit__device_image, entries_end, 24);

/* __tgt_bin_desc, the argument of __tgt_register_lib. */
typedef struct ompjit__bin_desc {
    int32_t num_images;
    ompjit__device_image *images;
    void *entries_begin, *entries_end; /* the host's */
} ompjit__bin_desc;
OMPJIT__ABI_SIZE(ompjit__bin_desc, 32);
OMPJIT__ABI_OFFSET(ompjit__bin_desc, images, 8);
OMPJIT__ABI_OFFSET(ompjit__bin_desc, entries_begin, 16);
OMPJIT__ABI_OFFSET(ompjit__bin_desc, entries_end, 24);

/* ----------------------------------------------------- numbers in calls */

/* Last argument of __kmpc_cancel and __kmpc_cancellationpoint. */
enum ompjit__cancel_kind {
    OMPJIT__CANCEL_PARALLEL = 1,
    OMPJIT__CANCEL_LOOP = 2,
    OMPJIT__CANCEL_SECTIONS = 3,
    OMPJIT__CANCEL_TASKGROUP = 4
};

/* proc_bind argument of __kmpc_push_proc_bind and __kmpc_parallel_60. */
enum ompjit__proc_bind {
    OMPJIT__PROC_BIND_MASTER = 2,
    OMPJIT__PROC_BIND_CLOSE = 3,
    OMPJIT__PROC_BIND_SPREAD = 4,
    OMPJIT__PROC_BIND_PRIMARY = 5,
    OMPJIT__PROC_BIND_DEFAULT = 6,
    OMPJIT__PROC_BIND_UNKNOWN = 7
};

#endif
