/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The decimal digits of numbers m * 2**e, all of them, for what writes floating
 * numbers on a GPU.
 */
#include "decimal.h"

#ifdef __NVPTX__

static void multiply(decimal *d, int by)
{
    uint64_t carry = 0;
    for (int i = AHEAD - 1; i >= d->first; i--) {
        uint64_t x = ((uint64_t)d->words[i] << by) + carry;
        d->words[i] = (uint32_t)(x % NINE);
        carry = x / NINE;
    }
    if (carry)
        d->words[--d->first] = (uint32_t)carry;
}

static void divide(decimal *d, int by)
{
    uint32_t carry = 0;
    for (int i = d->first; i < d->end; i++) {
        uint32_t rest = d->words[i] & ((1u << by) - 1);
        d->words[i] = (d->words[i] >> by) + carry;
        carry = rest * ((uint32_t)NINE >> by);
    }
    if (carry)
        d->words[d->end++] = carry;
}

EXPORT NOINLINE void ompjit_decimal_set(decimal *d, uint64_t mantissa,
                                        int exponent)
{
    enum { UP = 29, DOWN = 9 };
    for (int i = 0; i < WORDS; i++)
        d->words[i] = 0;
    d->first = d->end = AHEAD;
    for (; mantissa; mantissa /= NINE)
        d->words[--d->first] = (uint32_t)(mantissa % NINE);
    for (int e = exponent; e > 0; e -= UP)
        multiply(d, e < UP ? e : UP);
    for (int e = -exponent; e > 0; e -= DOWN)
        divide(d, e < DOWN ? e : DOWN);
}

/* The word that has the digit of 10^place, and 10^x in it. */
static int word_of(int64_t place, uint32_t *unit)
{
    int64_t word = place >= 0 ? place / 9 : -((8 - place) / 9);
    *unit = 1;
    for (int64_t i = place - 9 * word; i > 0; i--)
        *unit *= 10;
    return (int)(AHEAD - 1 - word);
}

EXPORT NOINLINE int ompjit_decimal_digit(const decimal *d, int64_t place)
{
    uint32_t unit;
    if (place >= 9 * AHEAD || place < -9 * (WORDS - AHEAD))
        return 0;
    int word = word_of(place, &unit);
    return (int)(d->words[word] / unit % 10);
}

EXPORT NOINLINE int64_t ompjit_decimal_top(const decimal *d)
{
    for (int i = 0; i < WORDS; i++)
        if (d->words[i]) {
            int64_t place = 9 * (AHEAD - 1 - i);
            for (uint32_t w = d->words[i]; w >= 10; w /= 10)
                place++;
            return place;
        }
    return 0;
}

EXPORT NOINLINE bool ompjit_decimal_ends(const decimal *d, int64_t place)
{
    uint32_t unit;
    if (place < -9 * (WORDS - AHEAD))
        return true;
    const int word = word_of(place, &unit);
    bool more = d->words[word] % unit != 0;
    for (int i = word + 1; i < WORDS; i++)
        more |= d->words[i] != 0;
    return !more;
}

EXPORT NOINLINE void ompjit_decimal_round(decimal *d, int64_t place)
{
    uint32_t unit;
    if (place < -9 * (WORDS - AHEAD) || place > 9 * (AHEAD - 1))
        return;
    int word = word_of(place, &unit);
    bool odd = d->words[word] / unit & 1, more = false;
    int half = ompjit_decimal_digit(d, place - 1);
    uint32_t below;
    int at = word_of(place - 1, &below);
    if (at < WORDS)
        more = d->words[at] % below != 0;
    for (int i = at + 1; i < WORDS; i++) {
        more |= d->words[i] != 0;
        d->words[i] = 0;
    }
    for (int i = word + 1; i < WORDS; i++)
        d->words[i] = 0;
    d->words[word] -= d->words[word] % unit;
    if (half < 5 || (half == 5 && !more && !odd))
        return;
    d->words[word] += unit;
    for (; word > 0 && d->words[word] >= NINE; word--) {
        d->words[word] -= NINE;
        d->words[word - 1]++;
    }
}

#endif
