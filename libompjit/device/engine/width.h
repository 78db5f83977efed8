/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How many OS threads run a launch. The geometry is fixed by now, so the choice
 * changes no result, only the time.
 */
#ifndef OMPJIT_HOST_WIDTH_H
#define OMPJIT_HOST_WIDTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The calling OS thread runs all teams; OS threads share the teams; several OS
 * threads share each team. */
enum ompjit__width {
    OMPJIT__WIDTH_ONE,
    OMPJIT__WIDTH_TEAMS,
    OMPJIT__WIDTH_THREADS,
    OMPJIT__WIDTHS
};

/* libomp's threads spin for a while behind a parallel region, then sleep. */
enum { OMPJIT__AWAKE, OMPJIT__ASLEEP };

/* Launches of one function with about the same work. Times are nanoseconds; 0:
 * not measured. */
typedef struct ompjit__pace {
    _Atomic uint32_t size; /* what they have in common; 0: none yet */
    _Atomic uint32_t launches;
    _Atomic bool alone;    /* too little for several, asleep or awake */
    _Atomic float work;    /* of all OS threads together */
    struct {
        _Atomic float ns[OMPJIT__WIDTHS];
        _Atomic float since; /* spent since another width was tried */
    } when[2];
} ompjit__pace;

/* The measurements of one function. Zero-initialised: nothing. */
enum { OMPJIT__PACES = 16 };
typedef struct ompjit__paces {
    _Atomic float work_per_trip;
    ompjit__pace paces[OMPJIT__PACES];
} ompjit__paces;

/* The cost of beginning and ending a parallel region, learned by all launches.
 * */
typedef struct ompjit__fork_costs {
    _Atomic float ns[2];
} ompjit__fork_costs;

void ompjit__fork_costs_init(ompjit__fork_costs *costs);

/* A launch that could run on one OS thread or on several. */
typedef struct ompjit__width_choice {
    ompjit__paces *paces;
    ompjit__fork_costs *costs;
    uint64_t trips;    /* iterations of its loop, 0: unknown           */
    uint32_t size;     /* a digest of whatever else tells its work     */
    uint32_t instructions; /* of an iteration, at most; 0: not known   */
    uint32_t crew[OMPJIT__WIDTHS]; /* OS threads; 0: is no choice      */
    enum ompjit__width first; /* where nothing is known                */
    /* Filled by ompjit__width_choose: */
    enum ompjit__width width;
    ompjit__pace *pace;
    int when;
    uint32_t weight;   /* launches that it stands for; 0: is not timed */
} ompjit__width_choice;

void ompjit__width_choose(ompjit__width_choice *c);

/* Is it known that one OS thread runs it, without a choice that is timed? */
bool ompjit__width_alone(ompjit__paces *paces, uint64_t trips, uint32_t size);

/* The time of the launch: from begin to end, the OS threads' work together, and
 * the one's that had most. For a launch that is not timed: zeros. */
void ompjit__width_note(const ompjit__width_choice *c, uint64_t ns,
                        uint64_t work, uint64_t longest);

#endif
