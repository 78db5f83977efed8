/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The chance of programs that write random programs: the same numbers from the
 * same `state` on every machine.
 */
#ifndef T_CHANCE_H
#define T_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t state;

/* A number below n. */
static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state ^ state >> 29;
    return (uint32_t)((x * 0x9e3779b97f4a7c15u >> 32) % n);
}

static bool chance(uint32_t percent)
{
    return below(100) < percent;
}

#endif
