/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loops whose iterations are divided once and for all: the static schedules of
 * `for` and `distribute`, and the loops whose body the runtime calls.
 */
#include "loop.h"

/* The threads that share a loop of this schedule: the teams, a team's threads,
 * or all threads of all teams. */
INLINE share share_of(int32_t schedule, int32_t gtid)
{
    switch (schedule) {
    case DISTRIBUTE_CHUNKED:
    case DISTRIBUTE:
    case DISTRIBUTE_ALL:
        return (share){plat_team(), plat_teams()};
    }
    uint32_t c = context_of(gtid);
    share s = {context_thread(c), context_threads(c)};
    if (schedule == DISTRIBUTE_FOR_CHUNK_ONE) {
        s.id += plat_team() * s.n;
        s.n *= plat_teams();
    }
    return s;
}

#define T int32_t
#define U uint32_t
#define S int32_t
#define NAME(x) x##_4
#include "loop_static.inc"

#define T uint32_t
#define U uint32_t
#define S int32_t
#define NAME(x) x##_4u
#include "loop_static.inc"

#define T int64_t
#define U uint64_t
#define S int64_t
#define NAME(x) x##_8
#include "loop_static.inc"

#define T uint64_t
#define U uint64_t
#define S int64_t
#define NAME(x) x##_8u
#include "loop_static.inc"

EXPORT void __kmpc_for_static_fini(ident *loc, int32_t gtid)
{
}
EXPORT void __kmpc_distribute_static_fini(ident *loc, int32_t gtid)
{
}
