/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * State behind the functions that served programs call, and what those
 * functions (tgt_entry.c, omp_routines.c, interop.c) share. "tgt" is the prefix
 * of libomptarget's entry points, __tgt_*, which most of them are.
 */
#ifndef OMPJIT_OFFLOAD_TGT_H
#define OMPJIT_OFFLOAD_TGT_H

#include "abi/offload.h"
#include "mapping/present_table.h"
#include "omptarget/offload.h"

/* OMP_TARGET_OFFLOAD, read when the context is made. */
enum ompjit__policy {
    OMPJIT__OFFLOAD_DEFAULT,
    OMPJIT__OFFLOAD_MANDATORY,
    OMPJIT__OFFLOAD_DISABLED
};

/* kmp_depend_info_t: what a depend clause or object says. */
typedef struct ompjit__depend {
    intptr_t address;
    size_t length;
    uint64_t flags;
} ompjit__depend;

/* The functions that are asked of libomp, beyond what device/engine/libomp.h
 * has. Any may be missing. */
typedef struct ompjit__tgt_omp {
    int (*default_device)(void);
    int32_t (*thread)(const ompjit__ident *where);
    void (*wait_deps)(const ompjit__ident *where, int32_t thread, int32_t n,
                      const ompjit__depend *list, int32_t n_noalias,
                      const ompjit__depend *noalias);
} ompjit__tgt_omp;

typedef struct ompjit__kernels ompjit__kernels;
typedef struct ompjit__interop ompjit__interop;
struct ompjit__library; /* library.c */

/* A declare-target variable, or function that is called through a pointer. */
typedef struct ompjit__global {
    char *host;         /* its address in the program          */
    uint64_t size;      /* bytes                               */
    uint32_t flags;     /* enum ompjit__entry_flag             */
    ompjit_module *mod; /* NULL: forgotten                     */
    char *symbol;       /* of its counterpart on the device    */
    bool is_others;     /* another library's entry has entered it */
    bool waits;         /* ompjit__tgt_exchanged enters it */
} ompjit__global;

/* The programs of one context. The lock is taken before that of a present
 * table. It is held while a module is built and loaded for its variables, and
 * not while the application's hook is called. */
struct ompjit__tgt {
    ompjit_context *ctx;
    enum ompjit__policy policy;
    pthread_mutex_t lock;          /* all but the atomics                 */
    ompjit__fork_lock at_fork;
    _Atomic(ompjit__kernels *) kernels; /* read without the lock          */
    ompjit__global *globals;       /* only ever grows                     */
    size_t globals_capacity;
    _Atomic size_t nglobals;
    _Atomic bool unmet_told;       /* that no device meets them           */
    _Atomic bool omp_known;
    ompjit__tgt_omp omp;           /* after ompjit__tgt_get_omp           */
    ompjit_error first;            /* status OK: none                     */
    ompjit__tgt_fatal_fn *fatal;
    void *fatal_data;
    ompjit_after_failure after;    /* DEFAULT is as KEEP                  */
    ompjit__interop *interops;     /* all there are                       */
    const ompjit__module_maker *maker;
    pthread_mutex_t libraries_lock; /* of the list; taken before `lock`   */
    ompjit__fork_lock libraries_at_fork;
    pthread_cond_t library_made;    /* under libraries_lock               */
    bool devices_used;              /* perhaps, by a library; likewise    */
    struct ompjit__library *libraries; /* as they were registered         */
    _Atomic size_t waiting;        /* libraries without a module so far   */
    _Atomic bool no_code;          /* a library has none for the devices  */
    ompjit_error why_no_code;      /* set before that                     */
    struct ompjit__omp_block *memory; /* omp_alloc_device.c; under the lock */
    char **uids;                   /* of each device, made when asked for */
    struct ompjit__function_map *maps; /* indirect.c; under the lock      */
};

/* Which kernel a host address names; false: none. */
bool ompjit__tgt_find(struct ompjit__tgt *tgt, const void *key,
                      ompjit_module **mod, unsigned *kernel);

/* The module whose kernel the table of host addresses has behind number *at,
 * which is 0 at first; NULL: none is left. A module comes once for each of its
 * kernels. */
ompjit_module *ompjit__tgt_next_module(struct ompjit__tgt *tgt, size_t *at);

/* Makes the program's declare-target variables present on the device, those
 * that are not yet: before any construct there. One comparison where all are.
 * May build and load the module. A construct with a kernel calls
 * ompjit__libraries_ready for it and the second, others the first. */
ompjit_status ompjit__tgt_globals(struct ompjit__tgt *tgt, ompjit_device *dev,
                                  ompjit_error *err);
ompjit_status ompjit__tgt_ready_globals(struct ompjit__tgt *tgt,
                                        ompjit_device *dev, ompjit_error *err);

/* Under the lock: of all indirect functions up to this entry, once the last one
 * of its module comes. indirect.c */
ompjit_status ompjit__indirect_enter(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, size_t index,
                                     ompjit_error *err);

/* Under the lock: those that are left when a module has been forgotten.
 * indirect.c */
ompjit_status ompjit__indirect_leave(struct ompjit__tgt *tgt,
                                     ompjit_device *dev, ompjit_error *err);

/* Frees the list, not the memory. omp_alloc_device.c */
void ompjit__omp_blocks_free(struct ompjit__omp_block *list);

/* Loads libomp where it is not there yet; never NULL, its functions may be. */
const ompjit__tgt_omp *ompjit__tgt_get_omp(struct ompjit__tgt *tgt);
/* Tells a tool that watches the process by OMPT of a device that is used, once.
 * The first call, for which there has to be a context, finds out whether there
 * is one. ompt_connect.c */
void ompjit__ompt_meet(const ompjit_device *dev);
/* Waits, in libomp, for the tasks that these depend on. */
void ompjit__tgt_wait(struct ompjit__tgt *tgt, const ompjit__ident *where,
                      int32_t n, const void *list, int32_t n_noalias,
                      const void *noalias);

/* The place that a device number stands for; *dev is set for ON_DEVICE alone.
 * The number of devices, as omp_get_initial_device, is the host. */
enum ompjit__where { OMPJIT__ON_HOST, OMPJIT__ON_DEVICE, OMPJIT__NOWHERE };

/* omp_get_num_devices; 0 where offloading is disabled or the devices cannot
 * be found, and where a library that the program has registered has no code for
 * one of them, which the log says. */
int ompjit__tgt_num_devices(struct ompjit__tgt *tgt);
/* A device number as constructs have it: -1 is the default device. */
enum ompjit__where ompjit__tgt_construct_device(struct ompjit__tgt *tgt,
                                                int64_t number,
                                                ompjit_device **dev);
/* A device number as API routines have it: -1 is the initial device. */
enum ompjit__where ompjit__tgt_routine_device(struct ompjit__tgt *tgt,
                                              int64_t number,
                                              ompjit_device **dev);

/* What __tgt_rtl_set_function_ptr_map has given. indirect.c */
void ompjit__function_maps_free(struct ompjit__tgt *tgt);
/* Those that the program has not destroyed. interop.c */
void ompjit__interop_free_all(ompjit__interop *list);

#endif
