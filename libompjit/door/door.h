/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface between the runtime wing, which is not linked with LLVM, and
 * the compiler wing, which knows no device. Requests and replies are bytes: the
 * compiler wing carries requests out in a process of its own, a worker, or in
 * the application's. A process that takes all its code from the cache starts
 * neither.
 */
#ifndef OMPJIT_DOOR_H
#define OMPJIT_DOOR_H

#include <signal.h>

#include "core/core.h"
#include "core/halves.h"
#include "core/host_half.h"

/* The kinds of requests. A request has its kind, the context's settings
 * (door/request.c packs them; PREPARE has none), and its arguments; a reply has
 * an error, whose status may be OK, and the results. Arguments and results are
 * in the order in which door/calls.c and door/early.c pack and read them, and
 * serve/session.c reads and packs. Both wings are of one build, so there are no
 * versions. */
enum ompjit__op {
    OMPJIT__OP_PREPARE,        /* read the device runtime ahead; no reply   */
    OMPJIT__OP_UNIT_READ,      /* bitcode of both halves -> a unit          */
    OMPJIT__OP_UNIT_READ_CUDA, /* bitcode of a CUDA source -> a unit        */
    OMPJIT__OP_UNITS_JOIN,     /* units of several sources -> a unit        */
    /* These four go to one compiler, which keeps the host half until the unit is
     * read or EARLY_FREE comes: */
    OMPJIT__OP_EARLY_READ,     /* bitcode of a host half -> what the device
                                  half reads of it                          */
    OMPJIT__OP_EARLY_AGREES,   /* a device half -> has it the same regions? */
    OMPJIT__OP_EARLY_NUMBERS,  /* -> as READ, with all numbers of lambdas   */
    OMPJIT__OP_EARLY_FREE,
    OMPJIT__OP_UNIT_KEEP,      /* a unit, which later requests only name    */
    OMPJIT__OP_BUILD,          /* a unit and a spec -> an image             */
    OMPJIT__OP_HALF,           /* a unit -> its host half as an object, or a
                                  part of it                                */
    OMPJIT__OP_HALF_REMARKS,   /* a unit -> the remarks on its host half    */
    OMPJIT__OP_CUDA_CHECK,     /* a CUDA source -> does NVRTC compile it?   */
    OMPJIT__OP_CUDA_KERNELS,   /* a CUDA source that only NVRTC compiles -> a
                                  unit                                      */
    OMPJIT__OP_CUDA_HEADER,    /* -> the text of runtime-bc/cuda.h          */
    OMPJIT__OP_OBJECT_LINE,    /* an address in an object -> its source line */
    OMPJIT__OP_HOST_CPU,       /* -> the CPU's name in LLVM                 */
    OMPJIT__OP_PRINT_IR,       /* bitcode -> text                           */
    OMPJIT__OP_HALF_REPAIR,    /* a host half's bitcode -> it, corrected    */
    OMPJIT__OP_HALVES_MATCH,   /* two halves -> both, with equal names     */
    OMPJIT__OP_SIGNATURES,     /* a host half -> its functions' signatures  */
    OMPJIT__OP_COUNT
};

/* The compiler's messages while it carries out a request, and at its end. */
enum ompjit__frame {
    OMPJIT__FRAME_HELLO,     /* a worker's first: its OMPJIT__SOURCES       */
    OMPJIT__FRAME_LOG,       /* a message for the log                       */
    OMPJIT__FRAME_STAGE,     /* a stage has ended: its number, start, end   */
    OMPJIT__FRAME_NEED_UNIT, /* instead of a reply: the unit is not known;
                                send OP_UNIT_KEEP and the request again     */
    OMPJIT__FRAME_REPLY,     /* an error, maybe OK, and the results         */
    OMPJIT__FRAME_LAST,      /* a reply, after which the worker ends        */
    OMPJIT__FRAME_DYING      /* a worker's last: the cause, a text          */
};
/* Receives a frame. `bytes` are valid during the call and followed by a NUL. */
typedef void ompjit__tell_fn(void *data, enum ompjit__frame kind,
                          const void *bytes, size_t size);

/* Through a socket a frame or request goes with its size before it. */
typedef struct ompjit__frame_head {
    uint32_t kind; /* enum ompjit__frame; of a request 0 */
    uint32_t unused;
    uint64_t size; /* of what follows */
} ompjit__frame_head;

/* The state that a compiler keeps between requests, such as the units that it
 * knows. One thread at a time. */
typedef struct ompjit__session ompjit__session;

/* An LLJIT for objects that the plain linker does not take. */
typedef struct ompjit__orc ompjit__orc;
/* The address of a name that the objects lack; NULL: not known. */
typedef void *ompjit__orc_find(void *data, const char *name);

/* Functions of the runtime wing that the compiler wing calls: those of
 * device/engine/fault.h. */
typedef struct ompjit__services {
    bool (*fault_guard)(void (*f)(void *arg), void *arg, char *text,
                        size_t size);
    void (*fault_hold)(void);
    void (*fault_drop)(void);
    int (*fault_signal)(void);
    /* Has the handler of faults ask `taken` first. */
    void (*fault_ask)(bool (*taken)(const siginfo_t *info, uintptr_t pc));
} ompjit__services;

/* The compiler wing's table of operations. */
typedef struct ompjit__door {
    const char *sources; /* OMPJIT__SOURCES, the same in both wings */
    /* Hands over the services. Called once, before any call that guards LLVM.
     */
    void (*attach)(const ompjit__services *services);
    /* serve/ */
    ompjit__session *(*session_new)(void); /* NULL: no memory */
    void (*session_free)(ompjit__session *session);
    /* Carries out a request; `tell` gets all frames, the reply last. */
    void (*serve)(ompjit__session *session, const void *request, size_t size,
                  ompjit__tell_fn *tell, void *data);
    /* The main loop of a worker: serves requests from the socket until it is
     * closed, and dies when the other end of the pipe `life` is closed. Does
     * not return. */
    void (*work)(int socket, int life);
    /* backend/host/orc.c: in the application's process always. One thread at a
     * time for each; loader/jit.c locks. */
    ompjit_status (*orc_new)(const char *name, const char *advice,
                             ompjit__orc_find *find, void *data,
                             ompjit__orc **out, ompjit_error *err);
    ompjit_status (*orc_define)(ompjit__orc *orc, const ompjit__absolute *defs,
                                size_t n, ompjit_error *err);
    ompjit_status (*orc_add)(ompjit__orc *orc, const void *object, size_t size,
                             ompjit_error *err);
    ompjit_status (*orc_lookup)(ompjit__orc *orc, const char *name,
                                void **address, ompjit_error *err);
    void (*orc_free)(ompjit__orc *orc);
} ompjit__door;

/* ------------------------------------------------------- loading: load.c */

/* Sets the services that the compiler wing gets when it is loaded. `services`
 * stays valid. Only the first call counts. */
void ompjit__door_offer(const ompjit__services *services);
/* The table, in this process; loaded when first asked for. UNAVAILABLE where
 * the library cannot be loaded. Any thread. */
ompjit_status ompjit__door_open(const ompjit__door **out, ompjit_error *err);
/* The folder of this library, or of the program that holds it, with the slash,
 * behind all links; malloc'd. NULL: not known. */
char *ompjit__own_folder(void);
/* The program ompjitc: beside this library in its build tree, or where it was
 * installed; malloc'd. NULL: no memory. process.c */
char *ompjit__compiler_program(void);

/* ------------------------------------------- the pool of compilers: pool.c */

/* Counts contexts. With the last release all workers end. A context releases
 * when none of its requests is under way any more. */
void ompjit__door_hold(void);
void ompjit__door_release(void);
/* Ends the workers that work for this context: their calls return ABORTED. Also
 * increments compiler->cancels, by which waiting threads see it. Any thread. */
void ompjit__door_cancel(ompjit__compiler *compiler);

/* --------------------------------------------------------- calls: calls.c */

/* Any thread may call these functions. They block until a compiler is free, and
 * then until the reply has come. If a worker dies of the request, they return
 * an IR or COMPILE error; if a stage takes longer than the limit, TIMEOUT; if
 * the context's compiles are cancelled, ABORTED. `out` is set on success only,
 * and the caller frees it. The calling thread calls the compiler's log and
 * stage_done meanwhile, without a lock. */

/* Tells that something will be built soon: an idle worker, or a new one if the
 * limit allows it, reads the device runtime. Does not wait for a busy one. */
void ompjit__door_prepare(ompjit__compiler *compiler);

/* A host half that is read while the device half is still being compiled. It
 * holds a compiler until it is freed, and refers to `host` and `name`. Its unit
 * is read once. */
typedef struct ompjit__door_early ompjit__door_early;
/* how: enum ompjit__half_flag, together. Appends to `info` as
 * ompjit__early_info does. NULL: it cannot be read. */
ompjit__door_early *ompjit__door_early_read(ompjit__compiler *compiler,
                                            const ompjit__buf *host,
                                            const char *name, unsigned how,
                                            ompjit__buf *info);
/* As ompjit__early_agrees and _numbers of frontend/frontend.h. */
bool ompjit__door_early_agrees(ompjit__door_early *early,
                               const ompjit__buf *device);
bool ompjit__door_early_numbers(ompjit__door_early *early, ompjit__buf *info);
void ompjit__door_early_free(ompjit__door_early *early); /* accepts NULL */

/* As ompjit__unit_read and _cuda of frontend/frontend.h. */
ompjit_status ompjit__door_unit_read(ompjit__compiler *compiler,
                                     const ompjit__buf *device,
                                     const ompjit__buf *host, const char *name,
                                     unsigned opt_level, unsigned how,
                                     ompjit__door_early *early,
                                     ompjit__unit *out, ompjit_error *err);
ompjit_status ompjit__door_unit_read_cuda(ompjit__compiler *compiler,
                                          const ompjit__buf *device,
                                          const char *name, unsigned opt_level,
                                          ompjit__unit *out, ompjit_error *err);
/* As ompjit__units_join of frontend/frontend.h. */
ompjit_status ompjit__door_units_join(ompjit__compiler *compiler,
                                      const ompjit__unit *units, unsigned n,
                                      const char *name, unsigned opt_level,
                                      ompjit__unit *out, ompjit_error *err);
/* As ompjit__build of backend/backend.h. A worker begins spec->next meanwhile,
 * in a copy of its process (serve/ahead.c), and has the image ready when it is
 * asked for. */
ompjit_status ompjit__door_build(ompjit__compiler *compiler,
                                 const ompjit__unit *unit, const char *arch,
                                 ompjit_format format, const ompjit__spec *spec,
                                 ompjit__image *out, ompjit_error *err);
/* An image to be built. */
typedef struct ompjit__image_order {
    char arch[32];
    ompjit_format format;
    ompjit__spec spec;
} ompjit__image_order;
/* A unit's host half as an object for this CPU. `divide`: it may be the core
 * alone, whose parts are asked for when they are called. `next`: the image of
 * the unit that will most likely be asked for behind it, or NULL. */
ompjit_status ompjit__door_half(ompjit__compiler *compiler,
                                const ompjit__unit *unit, bool divide,
                                const ompjit__image_order *next,
                                ompjit__host_half *out, ompjit_error *err);
/* Part `part` of the half, from 1 on, appended. */
ompjit_status ompjit__door_half_part(ompjit__compiler *compiler,
                                     const ompjit__unit *unit, size_t part,
                                     ompjit__buf *object, ompjit_error *err);
/* Appends the remarks of openmp-opt on the unit's host half
 * (optimizer/remark.h), which is compiled for that alone. */
ompjit_status ompjit__door_half_remarks(ompjit__compiler *compiler,
                                        const ompjit__unit *unit,
                                        ompjit__buf *remarks,
                                        ompjit_error *err);
/* As ompjit__cuda_check and ompjit__cuda_kernels_of of
 * backend/cuda/cuda_image.h. */
ompjit_status ompjit__door_cuda_check(ompjit__compiler *compiler,
                                      struct ompjit__cuda *cuda,
                                      ompjit_error *err);
ompjit_status ompjit__door_cuda_kernels(ompjit__compiler *compiler,
                                        struct ompjit__cuda *cuda,
                                        const char *clang, ompjit__unit *out,
                                        ompjit_error *err);
/* Appends runtime-bc/cuda.h, which clang reads before a CUDA source. */
ompjit_status ompjit__door_cuda_header(ompjit__compiler *compiler,
                                       ompjit__buf *text, ompjit_error *err);
/* Appends " (FILE:LINE)" of the code at `offset` in the section of `symbol`;
 * nothing where that is not known. */
void ompjit__door_object_line(ompjit__compiler *compiler, const void *object,
                              size_t size, const char *symbol, uint64_t offset,
                              ompjit__buf *text);
/* The CPU that code is generated for, as LLVM calls it ("znver3"). */
ompjit_status ompjit__door_host_cpu(ompjit__compiler *compiler, char *name,
                                    size_t size, ompjit_error *err);
/* As ompjit__half_signatures of frontend/frontend.h. */
ompjit_status ompjit__door_signatures(ompjit__compiler *compiler,
                                      const ompjit__buf *host, const char *name,
                                      ompjit__buf *out, ompjit_error *err);
/* Bitcode as text, appended. */
ompjit_status ompjit__door_print(ompjit__compiler *compiler,
                                 const ompjit__buf *bc, const char *name,
                                 ompjit__buf *text, ompjit_error *err);
/* As ompjit__halves_match of frontend/frontend.h. */
ompjit_status ompjit__door_halves_match(ompjit__compiler *compiler,
                                        const ompjit__halves *in,
                                        ompjit__matched *out,
                                        ompjit_error *err);
/* As ompjit__half_repair of passes/hosthalf/hosthalf.h; `out` is empty before.
 */
ompjit_status ompjit__door_half_repair(ompjit__compiler *compiler,
                                       const ompjit__halves *in,
                                       ompjit__buf *out, ompjit_error *err);

#endif
