/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The omp_ functions that ask for, or set, what a thread, a team or the device
 * is. Settings made outside of parallel regions are the team's; a region's
 * threads inherit them and may change their own.
 */
#include "device_environment.h"
#include "rt.h"

/* ------------------------------------------------------ threads and levels */

EXPORT int32_t omp_get_level(void)
{
    return (int32_t)context_level(context_of_state());
}
EXPORT int32_t omp_get_active_level(void)
{
    return ompjit_level && team_threads() != 1;
}
EXPORT int32_t omp_in_parallel(void)
{
    return omp_get_active_level();
}
EXPORT int32_t omp_get_thread_num(void)
{
    return (int32_t)context_thread(context_of_state());
}
EXPORT int32_t omp_get_num_threads(void)
{
    return (int32_t)context_threads(context_of_state());
}

/* Only the region at level 1 can have more than one thread. */
EXPORT int32_t omp_get_ancestor_thread_num(int32_t level)
{
    if (level < 0 || level > omp_get_level())
        return -1;
    return level == 1 && team_threads() != 1 ? (int32_t)plat_tid() : 0;
}
EXPORT int32_t omp_get_team_size(int32_t level)
{
    if (level < 0 || level > omp_get_level())
        return -1;
    if (level != 1)
        return 1;
    return (int32_t)team_threads();
}
EXPORT int32_t omp_get_thread_limit(void)
{
    return (int32_t)max_threads();
}
EXPORT int32_t omp_get_num_procs(void)
{
    return (int32_t)max_threads();
}
EXPORT int32_t omp_get_num_teams(void)
{
    return (int32_t)plat_teams();
}
EXPORT int32_t omp_get_team_num(void)
{
    return (int32_t)plat_team();
}

/* Bounds of a teams region: of no use here, where there is none to come, but
 * kept. 0 teams are no bound, as on the host where nobody set one. */
static SHARED uint32_t nteams_var, teams_limit_var;

EXPORT void ompjit_teams_init(void)
{
    nteams_var = 0;
    teams_limit_var = 0;
}
EXPORT void omp_set_num_teams(int32_t n)
{
    if (n > 0)
        nteams_var = (uint32_t)n;
}
EXPORT int32_t omp_get_max_teams(void)
{
    return (int32_t)nteams_var;
}
EXPORT void omp_set_teams_thread_limit(int32_t n)
{
    if (n > 0)
        teams_limit_var = (uint32_t)n;
}
EXPORT int32_t omp_get_teams_thread_limit(void)
{
    return (int32_t)(teams_limit_var ? teams_limit_var : max_threads());
}

/* --------------------------------------------------------------- settings */

/* The caller's own settings; NULL: the team's hold. */
INLINE thread_state *own_settings(void)
{
    thread_state *s = ompjit_level ? thread_state_if_any() : NULL;
    return s && s->own_icv ? s : NULL;
}
/* The settings that the caller may change; NULL: the team's. */
static thread_state *settings_to_change(void)
{
    if (!ompjit_level)
        return NULL;
    thread_state *s = ompjit_thread_state();
    if (!s->own_icv) {
        s->own_icv = 1;
        ompjit_save_settings(s);
    }
    return s;
}

EXPORT void ompjit_save_settings(thread_state *s)
{
    s->nthreads_var = ompjit_nthreads_var;
    s->sched_var = ompjit_sched_var;
    s->chunk_var = ompjit_chunk_var;
    s->levels_var = ompjit_levels_var;
    s->allocator_var = ompjit_allocator_var;
}
EXPORT void ompjit_restore_settings(const thread_state *s)
{
    ompjit_nthreads_var = s->nthreads_var;
    ompjit_sched_var = s->sched_var;
    ompjit_chunk_var = s->chunk_var;
    ompjit_levels_var = s->levels_var;
    ompjit_allocator_var = s->allocator_var;
}

EXPORT void omp_set_num_threads(int32_t n)
{
    if (n <= 0)
        return;
    thread_state *s = settings_to_change();
    if (s)
        s->nthreads_var = (uint32_t)n;
    else
        ompjit_nthreads_var = (uint32_t)n;
}
EXPORT int32_t omp_get_max_threads(void)
{
    thread_state *s = own_settings();
    uint32_t n = s ? s->nthreads_var : ompjit_nthreads_var;
    return (int32_t)(n ? n : max_threads());
}
EXPORT void omp_set_schedule(int32_t kind, int32_t chunk)
{
    thread_state *s = settings_to_change();
    if (s) {
        s->sched_var = (uint32_t)kind;
        s->chunk_var = chunk;
    } else {
        ompjit_sched_var = (uint32_t)kind;
        ompjit_chunk_var = chunk;
    }
}
EXPORT void omp_get_schedule(int32_t *kind, int32_t *chunk)
{
    thread_state *s = own_settings();
    *kind = (int32_t)(s ? s->sched_var : ompjit_sched_var);
    *chunk = s ? s->chunk_var : ompjit_chunk_var;
}

/* One level of a team's regions can be active, as there is hardware for one;
 * where the program asks for none, none is. */
EXPORT int32_t omp_get_max_active_levels(void)
{
    thread_state *s = own_settings();
    return (int32_t)(s ? s->levels_var : ompjit_levels_var);
}
EXPORT void omp_set_max_active_levels(int32_t levels)
{
    if (levels < 0)
        return;
    thread_state *s = settings_to_change();
    if (s)
        s->levels_var = levels > 0;
    else
        ompjit_levels_var = levels > 0;
}
EXPORT uint64_t omp_get_default_allocator(void)
{
    thread_state *s = own_settings();
    return s ? s->allocator_var : ompjit_allocator_var;
}
EXPORT void omp_set_default_allocator(uint64_t handle)
{
    if (!handle)
        return;
    thread_state *s = settings_to_change();
    if (s)
        s->allocator_var = handle;
    else
        ompjit_allocator_var = handle;
}
EXPORT int32_t omp_get_supported_active_levels(void)
{
    return 1;
}
EXPORT void omp_set_nested(int32_t on)
{
}
EXPORT int32_t omp_get_nested(void)
{
    return 0;
}
EXPORT void omp_set_dynamic(int32_t on)
{
}
EXPORT int32_t omp_get_dynamic(void)
{
    return 0;
}

/* ------------------------------------------------ places: there are none */

EXPORT int32_t omp_get_proc_bind(void)
{
    return 0;
}
EXPORT int32_t omp_get_num_places(void)
{
    return 0;
}
EXPORT int32_t omp_get_place_num_procs(int32_t place)
{
    return 0;
}
EXPORT void omp_get_place_proc_ids(int32_t place, int32_t *ids)
{
}
EXPORT int32_t omp_get_place_num(void)
{
    return -1;
}
EXPORT int32_t omp_get_partition_num_places(void)
{
    return 0;
}
EXPORT void omp_get_partition_place_nums(int32_t *places)
{
}

/* ------------------------------------------------------- devices and time */

/* The library fills it in a GPU's image when it loads that. On the host the
 * engine has the variable. */
#ifdef __NVPTX__
DEVICE_CONSTANT device_environment __omp_rtl_device_environment WEAK = {
    .num_devices = 1};
#endif

EXPORT int32_t omp_is_initial_device(void)
{
    return 0;
}
EXPORT int32_t omp_get_device_num(void)
{
    return (int32_t)__omp_rtl_device_environment.device_num;
}
EXPORT int32_t omp_get_num_devices(void)
{
    return (int32_t)__omp_rtl_device_environment.num_devices;
}
/* The host comes after the devices. */
EXPORT int32_t omp_get_initial_device(void)
{
    return omp_get_num_devices();
}
EXPORT int32_t omp_get_default_device(void)
{
    return omp_get_device_num();
}
EXPORT void omp_set_default_device(int32_t device)
{
}

/* A device is known by its number; the names are the host's. */
EXPORT const char *omp_get_uid_from_device(int32_t device)
{
    return NULL;
}
EXPORT int32_t omp_get_device_from_uid(const char *uid)
{
    enum { INVALID_DEVICE = -2 };
    return INVALID_DEVICE;
}
EXPORT double omp_get_wtime(void)
{
    return plat_wtime();
}
EXPORT double omp_get_wtick(void)
{
    return 1e-9;
}

/* A function's address on the host to its address here. What is not in the
 * table is a device address already. */
EXPORT void *__llvm_omp_indirect_call_lookup(void *host)
{
    const indirect_call *rows = __omp_rtl_device_environment.indirect_calls;
    uint64_t n = __omp_rtl_device_environment.num_indirect_calls;
    if (!n)
        return host;
    return __omp_rtl_device_environment.debug_kind & CALL_INDEX_BIT
               ? call_index_find(rows, n, host)
               : call_rows_find(rows, n, host);
}
EXPORT void *__kmpc_target_translate_fptr(void *host)
{
    return __llvm_omp_indirect_call_lookup(host);
}
