/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The served functions (abi/entry_points.def). Each does and returns what
 * OpenMP 6.0 says of the routine, or libomptarget 22 does for the entry point,
 * of the name it has in the program. All may be called by any thread. None can
 * return an error to clang's code: a construct that fails goes to
 * ompjit__tgt_fail, a routine to the log, with the result that the standard has
 * for it.
 */
#ifndef OMPJIT_OFFLOAD_SERVED_H
#define OMPJIT_OFFLOAD_SERVED_H

#include "omptarget/program.h"

#define OMPJIT__INVALID_DEVICE (-2) /* omp_invalid_device */

/* The arguments of all mapping entry points: the number of entries and the
 * arrays of ompjit__kernel_args (abi/offload.h). `names` and `mappers` may be
 * NULL. */
#define OMPJIT__ARRAYS \
    int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *types, \
        void **names, void **mappers
/* The depend clauses of a task that a construct is: kmp_depend_info_t arrays,
 * of dependences and of those that are known not to alias (none, with clang).
 */
#define OMPJIT__DEPENDS \
    int32_t ndeps, void *deps, int32_t nnoalias, void *noalias

/* Those of omp_target_memcpy and omp_target_memcpy_rect, and what their _async
 * forms have behind them. */
#define OMPJIT__MEMCPY \
    void *dst, const void *src, size_t size, size_t dst_offset, \
        size_t src_offset, int dst_device, int src_device
#define OMPJIT__MEMCPY_RECT \
    void *dst, const void *src, size_t element, int dims, \
        const size_t *volume, const size_t *dst_offsets, \
        const size_t *src_offsets, const size_t *dst_dims, \
        const size_t *src_dims, int dst_device, int src_device
#define OMPJIT__DEPEND_OBJECTS int ndeps, void **deps

/* tgt_entry.c. `where` is the construct's place in the source, or NULL;
 * `device` is its number, -1 the default one. */
void ompjit__s_data_begin(ompjit_context *ctx, ompjit__ident *where,
                          int64_t device, OMPJIT__ARRAYS);
void ompjit__s_data_begin_issue(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, OMPJIT__ARRAYS,
                                ompjit__async_info *async);
void ompjit__s_data_begin_wait(ompjit_context *ctx, int64_t device,
                               ompjit__async_info *async);
void ompjit__s_data_begin_nowait(ompjit_context *ctx, ompjit__ident *where,
                                 int64_t device, OMPJIT__ARRAYS,
                                 OMPJIT__DEPENDS);
void ompjit__s_data_end(ompjit_context *ctx, ompjit__ident *where,
                        int64_t device, OMPJIT__ARRAYS);
void ompjit__s_data_end_nowait(ompjit_context *ctx, ompjit__ident *where,
                               int64_t device, OMPJIT__ARRAYS,
                               OMPJIT__DEPENDS);
void ompjit__s_data_update(ompjit_context *ctx, ompjit__ident *where,
                           int64_t device, OMPJIT__ARRAYS);
void ompjit__s_data_update_nowait(ompjit_context *ctx, ompjit__ident *where,
                                  int64_t device, OMPJIT__ARRAYS,
                                  OMPJIT__DEPENDS);
/* Kernels: 0, or else the caller runs the host's version. */
int32_t ompjit__s_target_kernel(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, int32_t teams, int32_t threads,
                                void *key, ompjit__kernel_args *args);
int32_t ompjit__s_target_kernel_nowait(ompjit_context *ctx,
                                       ompjit__ident *where, int64_t device,
                                       int32_t teams, int32_t threads,
                                       void *key, ompjit__kernel_args *args,
                                       OMPJIT__DEPENDS);
int32_t ompjit__s_target_mapper(ompjit_context *ctx, ompjit__ident *where,
                                int64_t device, void *key, OMPJIT__ARRAYS);
int32_t ompjit__s_target_nowait_mapper(ompjit_context *ctx,
                                       ompjit__ident *where, int64_t device,
                                       void *key, OMPJIT__ARRAYS,
                                       OMPJIT__DEPENDS);
int32_t ompjit__s_target_teams_mapper(ompjit_context *ctx,
                                      ompjit__ident *where, int64_t device,
                                      void *key, OMPJIT__ARRAYS, int32_t teams,
                                      int32_t threads);
int32_t ompjit__s_target_teams_nowait_mapper(ompjit_context *ctx,
                                             ompjit__ident *where,
                                             int64_t device, void *key,
                                             OMPJIT__ARRAYS, int32_t teams,
                                             int32_t threads, OMPJIT__DEPENDS);

/* before_mappers.c: the same, as LLVM 4 to 12 and tools of their time call them,
 * without places, names and mappers. */
#define OMPJIT__OLD_ARRAYS \
    int32_t n, void **bases, void **begins, int64_t *sizes, int64_t *types
void ompjit__s_push_tripcount_old(ompjit_context *ctx, int64_t device,
                                  uint64_t tripcount);
void ompjit__s_data_begin_old(ompjit_context *ctx, int64_t device,
                              OMPJIT__OLD_ARRAYS);
void ompjit__s_data_begin_nowait_old(ompjit_context *ctx, int64_t device,
                                     OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS);
void ompjit__s_data_end_old(ompjit_context *ctx, int64_t device,
                            OMPJIT__OLD_ARRAYS);
void ompjit__s_data_end_nowait_old(ompjit_context *ctx, int64_t device,
                                   OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS);
void ompjit__s_data_update_old(ompjit_context *ctx, int64_t device,
                               OMPJIT__OLD_ARRAYS);
void ompjit__s_data_update_nowait_old(ompjit_context *ctx, int64_t device,
                                      OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS);
int32_t ompjit__s_target_old(ompjit_context *ctx, int64_t device, void *key,
                             OMPJIT__OLD_ARRAYS);
int32_t ompjit__s_target_nowait_old(ompjit_context *ctx, int64_t device,
                                    void *key, OMPJIT__OLD_ARRAYS,
                                    OMPJIT__DEPENDS);
int32_t ompjit__s_target_teams_old(ompjit_context *ctx, int64_t device,
                                   void *key, OMPJIT__OLD_ARRAYS,
                                   int32_t teams, int32_t threads);
int32_t ompjit__s_target_teams_nowait_old(ompjit_context *ctx, int64_t device,
                                          void *key, OMPJIT__OLD_ARRAYS,
                                          int32_t teams, int32_t threads,
                                          OMPJIT__DEPENDS);

/* tgt_entry.c */
int64_t ompjit__s_mapper_num_components(ompjit_context *ctx, void *handle);
void ompjit__s_push_mapper_component(ompjit_context *ctx, void *handle,
                                     void *base, void *begin, int64_t size,
                                     int64_t type, void *name);
void ompjit__s_push_target_tripcount(ompjit_context *ctx, ompjit__ident *where,
                                     int64_t device, uint64_t tripcount);
void ompjit__s_init_all(ompjit_context *ctx);
void ompjit__s_register_lib(ompjit_context *ctx, ompjit__bin_desc *desc);
void ompjit__s_unregister_lib(ompjit_context *ctx, ompjit__bin_desc *desc);
void ompjit__s_register_requires(ompjit_context *ctx, int64_t flags);
int32_t ompjit__s_set_function_ptr_map(ompjit_context *ctx, int32_t device,
                                       uint64_t n,
                                       const ompjit__indirect_call *rows);
void ompjit__s_set_info_flag(ompjit_context *ctx, uint32_t flags);
int32_t ompjit__s_print_device_info(ompjit_context *ctx, int64_t device);
void ompjit__s_dump_mapping_tables(ompjit_context *ctx);

/* omp_routines.c: OpenMP 6.0, chapters 24 and 25, and LLVM's extensions */
int ompjit__s_get_num_devices(ompjit_context *ctx);
int ompjit__s_get_initial_device(ompjit_context *ctx);
int ompjit__s_is_initial_device(void);
const char *ompjit__s_get_uid_from_device(ompjit_context *ctx, int device);
int ompjit__s_get_device_from_uid(ompjit_context *ctx, const char *uid);
void *ompjit__s_target_alloc(ompjit_context *ctx, size_t size, int device);
void *ompjit__s_target_alloc_host(ompjit_context *ctx, size_t size,
                                  int device);
void *ompjit__s_target_alloc_shared(ompjit_context *ctx, size_t size,
                                    int device);
void ompjit__s_target_free_host(ompjit_context *ctx, void *ptr, int device);
void ompjit__s_target_free_shared(ompjit_context *ctx, void *ptr, int device);
void ompjit__s_target_free(ompjit_context *ctx, void *ptr, int device);
void *ompjit__s_dynamic_shared(void);
int ompjit__s_target_is_present(ompjit_context *ctx, const void *ptr,
                                int device);
int ompjit__s_target_is_accessible(ompjit_context *ctx, const void *ptr,
                                   size_t size, int device);
void *ompjit__s_get_mapped_ptr(ompjit_context *ctx, const void *ptr,
                               int device);
int ompjit__s_target_associate_ptr(ompjit_context *ctx, const void *host,
                                   const void *device_ptr, size_t size,
                                   size_t offset, int device);
int ompjit__s_target_disassociate_ptr(ompjit_context *ctx, const void *host,
                                      int device);
int ompjit__s_target_memcpy(ompjit_context *ctx, OMPJIT__MEMCPY);
int ompjit__s_target_memcpy_async(ompjit_context *ctx, OMPJIT__MEMCPY,
                                  OMPJIT__DEPEND_OBJECTS);
int ompjit__s_target_memcpy_rect(ompjit_context *ctx, OMPJIT__MEMCPY_RECT);
int ompjit__s_target_memcpy_rect_async(ompjit_context *ctx,
                                       OMPJIT__MEMCPY_RECT,
                                       OMPJIT__DEPEND_OBJECTS);
void *ompjit__s_target_memset(ompjit_context *ctx, void *ptr, int value,
                              size_t size, int device);
void *ompjit__s_target_memset_async(ompjit_context *ctx, void *ptr, int value,
                                    size_t size, int device,
                                    OMPJIT__DEPEND_OBJECTS);

/* omp_alloc_device.c */
void *ompjit__s_aligned_alloc(ompjit_context *ctx, size_t align, size_t size,
                              uint64_t allocator);
void *ompjit__s_aligned_calloc(ompjit_context *ctx, size_t align, size_t n,
                               size_t size, uint64_t allocator);
void *ompjit__s_alloc(ompjit_context *ctx, size_t size, uint64_t allocator);
void *ompjit__s_calloc(ompjit_context *ctx, size_t n, size_t size,
                       uint64_t allocator);
void ompjit__s_free(ompjit_context *ctx, void *ptr, uint64_t allocator);
void *ompjit__s_realloc(ompjit_context *ctx, void *ptr, size_t size,
                        uint64_t allocator, uint64_t free_allocator);

/* interop.c */
void ompjit__s_interop_init(ompjit_context *ctx, ompjit__ident *where,
                            int32_t thread, ompjit__interop **interop,
                            int32_t type, int32_t device, int32_t ndeps,
                            void *deps, int32_t nowait);
void ompjit__s_interop_use(ompjit_context *ctx, ompjit__ident *where,
                           int32_t thread, ompjit__interop **interop,
                           int32_t device, int32_t ndeps, void *deps,
                           int32_t nowait);
void ompjit__s_interop_destroy(ompjit_context *ctx, ompjit__ident *where,
                               int32_t thread, ompjit__interop **interop,
                               int32_t device, int32_t ndeps, void *deps,
                               int32_t nowait);
int ompjit__s_get_num_interop_properties(const ompjit__interop *interop);
intptr_t ompjit__s_get_interop_int(const ompjit__interop *interop,
                                   int property, int *rc);
void *ompjit__s_get_interop_ptr(const ompjit__interop *interop, int property,
                                int *rc);
const char *ompjit__s_get_interop_str(const ompjit__interop *interop,
                                      int property, int *rc);
const char *ompjit__s_get_interop_name(const ompjit__interop *interop,
                                       int property);
const char *ompjit__s_get_interop_type_desc(const ompjit__interop *interop,
                                            int property);
const char *ompjit__s_get_interop_rc_desc(const ompjit__interop *interop,
                                          int rc);
#endif
