/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The checker of the host device: a context that checks has one. Instrumented
 * kernels ask it before every access (engine.c); it knows the memory that
 * the device has (memory.c), and who of a team touched what when
 * (race.c), and reports each wrong place once (report.c). A team's lock may be
 * held when the reports' is taken; no others are held together.
 */
#ifndef OMPJIT_CHECK_H
#define OMPJIT_CHECK_H

#include "loader/jit.h"
#include "abi/check.h"
#include "device/device.h"
#include "ompjit_debug.h"
#include "runtime-bc/host_abi.h"

typedef struct ompjit__check ompjit__check;
typedef struct ompjit__lost ompjit__lost; /* a write; lost_writes.c */

/* `report` gets each report, one at a time, on the thread of the kernel and
 * under the checker's lock; NULL: the context's log does. NULL: out of memory.
 */
ompjit__check *ompjit__check_new(ompjit_context *ctx, ompjit_check_fn *report,
                                 void *data);
/* When no device has code any more; accepts NULL. */
void ompjit__check_free(ompjit__check *check);

/* The program requires unified shared memory: device code may use all of the
 * host's, so mapped data is the original and nothing is unmapped. Nothing in a
 * context that does not check. Takes ctx->lock. */
void ompjit__check_unify(ompjit_context *ctx);

/* ------------------------------------------------ memory: memory.c */

enum ompjit__memory {
    OMPJIT__MEMORY_DEVICE,  /* the device's alloc: mapped data and others   */
    OMPJIT__MEMORY_HEAP,    /* malloc in a kernel                           */
    OMPJIT__MEMORY_VARIABLE /* of an image                                  */
};

/* Memory that kernels may touch, [begin, end). */
typedef struct ompjit__range {
    uintptr_t begin, end;
    uintptr_t red;          /* bytes beside it, on both sides, that are its
                               own and nobody else's                        */
    void *block;            /* to free; NULL: not ours                      */
    char *name;             /* for people, or NULL                          */
    uintptr_t host, host_end; /* of mapped data: the original               */
    unsigned char *written; /* of DEVICE memory: 1 for each byte that has a
                               value; NULL: all have                        */
    enum ompjit__memory kind;
    bool freed;
    bool to;                /* mapped only `to`                             */
    ompjit__lost *lost;     /* a kernel's first write since something was
                               copied back; NULL: none, or not `to`         */
    struct ompjit__range *next; /* freed after this one                     */
} ompjit__range;

/* All that kernels may touch. Accesses take the lock to read, changes to write.
 */
typedef struct ompjit__memory_map {
    pthread_rwlock_t lock;         /* of all that follows                     */
    ompjit__range **ranges;        /* by begin; disjoint with their red zones */
    size_t n, capacity;
    size_t kept, kept_bytes;       /* freed blocks that are still there       */
    ompjit__range *oldest, *newest; /* of these                               */
    _Atomic uint64_t removals;     /* what was looked up before is void; read
                                      without the lock                        */
} ompjit__memory_map;

/* False: there is no lock to be had. */
bool ompjit__memory_open(ompjit__memory_map *map);
/* Frees all blocks, freed or not. */
void ompjit__memory_close(ompjit__memory_map *map);

/* A block between red zones, aligned to 128 bytes; NULL: out of memory. */
void *ompjit__memory_new(ompjit__memory_map *map, size_t size,
                         enum ompjit__memory kind);
/* Ends it; the block stays for a while, so that later uses are found. False:
 * no such block. */
bool ompjit__memory_end(ompjit__memory_map *map, void *begin);
/* Variables of an image; false: out of memory, and none was added. */
bool ompjit__memory_add(ompjit__memory_map *map,
                        const ompjit__check_variable *v, size_t n);
/* Before the image is unloaded. */
void ompjit__memory_remove(ompjit__memory_map *map,
                           const ompjit__check_variable *v, size_t n);

/* Says what a block holds: the original [host, host+size), and a text. */
void ompjit__memory_name(ompjit__memory_map *map, void *begin,
                         const void *host, uint64_t size, const char *text);

/* A block is mapped only `to`: a kernel's write to it is kept as `lost`, which
 * the map owns then (true), until something is copied back. */
void ompjit__memory_is_to(ompjit__memory_map *map, void *begin);
bool ompjit__memory_lose(ompjit__memory_map *map, const void *p,
                         ompjit__lost *lost);
void ompjit__memory_copied(ompjit__memory_map *map, const void *p);
/* The write that was kept for the block that begins there, or NULL. The caller
 * owns it then. */
ompjit__lost *ompjit__memory_take_lost(ompjit__memory_map *map,
                                       const void *begin);

/* The range from `p` on has values now, as far as it is a block's; with size 0
 * all of the block that p is in. */
void ompjit__memory_written(ompjit__memory_map *map, const void *p,
                            uint64_t size);

/* The range that p is in or beside, a copy whose name is malloc'd; false where
 * there is none. */
bool ompjit__memory_find(ompjit__memory_map *map, const void *p,
                         ompjit__range *out);
/* The same by an address in the original; what is mapped comes first. */
bool ompjit__memory_find_host(ompjit__memory_map *map, const void *host,
                              ompjit__range *out);
/* Is all of it in one range? Fills *out (without name) then. */
bool ompjit__memory_holds(ompjit__memory_map *map, const void *p,
                          uint64_t size, ompjit__range *out);

/* ---------------------------------------------------- races: race.c */

typedef struct ompjit__shadow ompjit__shadow;

/* The state of one team of n threads; NULL: out of memory. Callers lock: its
 * functions are for one thread at a time. */
ompjit__shadow *ompjit__shadow_new(uint32_t n);
void ompjit__shadow_free(ompjit__shadow *s);

/* An access that meets another which nothing orders with it. */
typedef struct ompjit__conflict {
    const ompjit__site *site; /* of the earlier one */
    uint32_t thread;          /* its thread         */
    bool write;               /* it wrote           */
} ompjit__conflict;

/* Notes the access; true where it is a race with the one in *other. */
bool ompjit__shadow_access(ompjit__shadow *s, uint32_t thread, uintptr_t at,
                           uint64_t size, const ompjit__site *site,
                           ompjit__conflict *other);
/* Forgets what was done to memory that is new now. */
void ompjit__shadow_fresh(ompjit__shadow *s, uintptr_t at, uint64_t size);

/* A place where threads leave their past, and take others' from. */
enum ompjit__sync {
    OMPJIT__SYNC_BARRIER, /* 0: of all threads; else of some, number `id`    */
    OMPJIT__SYNC_WARP,    /* number `id`                                     */
    OMPJIT__SYNC_OBJECT   /* at the address `id`                             */
};
/* The thread's past is there for others from now on, and it has another time:
 * what it does next is not part of that. */
void ompjit__shadow_release(ompjit__shadow *s, uint32_t thread,
                            enum ompjit__sync kind, uint64_t id);
/* All that was left there is before what the thread does next. */
void ompjit__shadow_acquire(ompjit__shadow *s, uint32_t thread,
                            enum ompjit__sync kind, uint64_t id);

/* ------------------------------------------------ reports: report.c */

/* An access, or a call, as its thread knows it. */
typedef struct ompjit__touch {
    bool unwritten;         /* what is read has no value: that is wrong */
    bool local;             /* and is a variable that the team shares   */
    const char *kernel;     /* symbol */
    uint32_t team, thread;
    const void *at;
    uint64_t size;
    const ompjit__site *site;
} ompjit__touch;

/* Each tells of one fault, if its place in the source was not told before. Any
 * thread; takes the checker's lock. */
void ompjit__report_memory(ompjit__check *check, const ompjit__touch *t);
void ompjit__report_race(ompjit__check *check, const ompjit__touch *t,
                         const ompjit__conflict *other);
/* `at` is called, and no function of the device. */
void ompjit__report_call(ompjit__check *check, const ompjit__touch *t);

/* A copy of the write's words; NULL: out of memory. lost_writes.c */
ompjit__lost *ompjit__lost_new(const ompjit__touch *t);
void ompjit__lost_free(ompjit__lost *lost);
/* The block's mapping ends: tells of a write that is lost with it. */
void ompjit__lost_report(ompjit__check *check, const void *begin);
/* report.c */
void ompjit__report_lost(ompjit__check *check, const ompjit__touch *t,
                         const ompjit__range *r);

/* ------------------------------------------------- engine: engine.c */

/* One launch: what goes to its threads' `check`. */
typedef struct ompjit__check_launch {
    ompjit__check *check;
    const char *kernel;      /* symbol */
    pthread_mutex_t lock;    /* of teams, and of what they count */
    struct ompjit__check_team **teams; /* by number: those that run */
    uint32_t nteams;
} ompjit__check_launch;

/* Around a launch, by its thread. `kernel` must live as long. False: out of
 * memory, and there is nothing to end. */
bool ompjit__check_begin(ompjit__check_launch *launch, ompjit__check *check,
                         const char *kernel, uint32_t nteams);
void ompjit__check_end(ompjit__check_launch *launch);

/* The functions that instrumented kernels call; of `engine` all that it does
 * not replace. */
ompjit_status ompjit__check_define(ompjit__jit *jit,
                                   const ompjit__absolute *engine, size_t n,
                                   ompjit_error *err);

/* An image's variables are memory of the device from now on, or no more. */
ompjit_status ompjit__check_load(ompjit__check *check, ompjit__jit *jit,
                                 ompjit_error *err);
void ompjit__check_unload(ompjit__check *check, ompjit__jit *jit);

/* The functions of which an image has pointers, up to NULL. */
typedef void *const *ompjit__callees_of;

struct ompjit__check {
    ompjit_context *ctx;
    ompjit_check_fn *report; /* the application's; NULL: the log */
    void *data;              /* of report's                      */
    ompjit__memory_map memory;
    _Atomic bool unified;    /* host memory is no fault          */
    pthread_mutex_t lock;    /* reports one by one, and what follows */
    char **seen;             /* those made */
    size_t nseen;
    ompjit__callees_of *callees; /* of the images */
    size_t nimages;
};

#endif
