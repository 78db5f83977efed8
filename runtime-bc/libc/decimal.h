/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All decimal digits of a number, on a GPU. The place of a digit is its power
 * of ten.
 */
#ifndef OMPJIT_RT_DECIMAL_H
#define OMPJIT_RT_DECIMAL_H

#include "plat.h"

/* A number in words of nine digits: `AHEAD` of them before the point. A double
 * has at most 309 digits before it and 1074 behind. */
enum { AHEAD = 36, WORDS = AHEAD + 120, NINE = 1000000000 };
typedef struct decimal {
    int32_t first, end; /* words outside of these are 0 */
    uint32_t words[WORDS];
} decimal;

/* mantissa * 2**exponent; the exponent is -1076 or more. */
void ompjit_decimal_set(decimal *d, uint64_t mantissa, int exponent);

int ompjit_decimal_digit(const decimal *d, int64_t place);

/* The place of the first digit that is not 0; of zero, 0. */
int64_t ompjit_decimal_top(const decimal *d);

/* Are all digits behind `place` 0? */
bool ompjit_decimal_ends(const decimal *d, int64_t place);

/* To the nearest with no digit behind `place`, and of two to the even one. */
void ompjit_decimal_round(decimal *d, int64_t place);

#endif
