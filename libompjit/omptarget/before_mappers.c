/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The entry points without mappers, which clang called up to LLVM 12 and
 * source-to-source compilers call to this day: those of tgt_entry.c without a
 * place in the source, names and mappers.
 */
#include "context/ompt.h"
#include "omptarget/entry_points.h"

/* The forms with mappers take NULL for the names and mappers that these lack.
 */
#define ARRAYS n, bases, begins, sizes, types, NULL, NULL
#define DEPENDS ndeps, deps, nnoalias, noalias

/* A hint that the kernel's arguments carry since LLVM 15; without effect here.
 */
void ompjit__s_push_tripcount_old(ompjit_context *ctx, int64_t device,
                                  uint64_t tripcount)
{
    ompjit__s_push_target_tripcount(ctx, NULL, device, tripcount);
}

void ompjit__s_data_begin_old(ompjit_context *ctx, int64_t device,
                              OMPJIT__OLD_ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_begin(ctx, NULL, device, ARRAYS);
}

void ompjit__s_data_begin_nowait_old(ompjit_context *ctx, int64_t device,
                                     OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_begin_nowait(ctx, NULL, device, ARRAYS, DEPENDS);
}

void ompjit__s_data_end_old(ompjit_context *ctx, int64_t device,
                            OMPJIT__OLD_ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_end(ctx, NULL, device, ARRAYS);
}

void ompjit__s_data_end_nowait_old(ompjit_context *ctx, int64_t device,
                                   OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_end_nowait(ctx, NULL, device, ARRAYS, DEPENDS);
}

void ompjit__s_data_update_old(ompjit_context *ctx, int64_t device,
                               OMPJIT__OLD_ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_update(ctx, NULL, device, ARRAYS);
}

void ompjit__s_data_update_nowait_old(ompjit_context *ctx, int64_t device,
                                      OMPJIT__OLD_ARRAYS, OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    ompjit__s_data_update_nowait(ctx, NULL, device, ARRAYS, DEPENDS);
}

int32_t ompjit__s_target_old(ompjit_context *ctx, int64_t device, void *key,
                             OMPJIT__OLD_ARRAYS)
{
    OMPJIT__OMPT_CALLED();
    return ompjit__s_target_mapper(ctx, NULL, device, key, ARRAYS);
}

int32_t ompjit__s_target_nowait_old(ompjit_context *ctx, int64_t device,
                                    void *key, OMPJIT__OLD_ARRAYS,
                                    OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    return ompjit__s_target_nowait_mapper(ctx, NULL, device, key, ARRAYS,
                                          DEPENDS);
}

int32_t ompjit__s_target_teams_old(ompjit_context *ctx, int64_t device,
                                   void *key, OMPJIT__OLD_ARRAYS,
                                   int32_t teams, int32_t threads)
{
    OMPJIT__OMPT_CALLED();
    return ompjit__s_target_teams_mapper(ctx, NULL, device, key, ARRAYS,
                                         teams, threads);
}

int32_t ompjit__s_target_teams_nowait_old(ompjit_context *ctx, int64_t device,
                                          void *key, OMPJIT__OLD_ARRAYS,
                                          int32_t teams, int32_t threads,
                                          OMPJIT__DEPENDS)
{
    OMPJIT__OMPT_CALLED();
    return ompjit__s_target_teams_nowait_mapper(ctx, NULL, device, key, ARRAYS,
                                                teams, threads, DEPENDS);
}
