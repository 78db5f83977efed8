/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Clocks of flang's runtime library, for a GPU: CPU_TIME, SYSTEM_CLOCK and
 * DATE_AND_TIME.
 */
#include "fortran.h"

#ifdef __NVPTX__

EXPORT double _FortranACpuTime(void)
{
    return (double)plat_nanoseconds() * 1e-9;
}

enum { WIDE = 8 }; /* kinds less than that count milliseconds */

EXPORT int64_t _FortranASystemClockCountRate(int kind)
{
    return kind >= WIDE ? 1000000000 : 1000;
}

EXPORT int64_t _FortranASystemClockCountMax(int kind)
{
    return INT64_MAX >> (kind >= WIDE ? 0 : 64 - 8 * kind);
}

EXPORT int64_t _FortranASystemClockCount(int kind)
{
    const int64_t tick = 1000000000 / _FortranASystemClockCountRate(kind);
    const int64_t count = (int64_t)plat_nanoseconds() / tick;
    const int64_t most = _FortranASystemClockCountMax(kind);
    return most == INT64_MAX ? count : count % (most + 1);
}

/* ------------------------------------------------------------- date and time */

struct date {
    int year, month, day;
};

/* The calendar is the Gregorian one. A year begins in March here, so that the
 * day that not all years have is its last; `cycle` has 400 years. */
static struct date date_of(int64_t days_since_1970)
{
    enum { CYCLE = 146097, CENTURY = 36524, LEAP = 1461, TO_1970 = 719468 };
    const int64_t days = days_since_1970 + TO_1970;
    const int cycle = (int)(days / CYCLE), day = (int)(days % CYCLE);
    const int year =
        (day - day / (LEAP - 1) + day / CENTURY - day / (CYCLE - 1)) / 365;
    const int rest = day - (365 * year + year / 4 - year / 100);
    const int march = (5 * rest + 2) / 153;
    const int month = march < 10 ? march + 3 : march - 9;
    return (struct date){400 * cycle + year + (month <= 2), month,
                         rest - (153 * march + 2) / 5 + 1};
}

/* Writes so many digits of a number, as far as there is room, and moves *to
 * behind them. */
static void put_digits(char **to, char *end, int n, int digits)
{
    int unit = 1;
    for (int i = 1; i < digits; i++)
        unit *= 10;
    for (; unit && *to < end; unit /= 10)
        *(*to)++ = (char)('0' + n / unit % 10);
}

static void put_char(char **to, char *end, char c)
{
    if (*to < end)
        *(*to)++ = c;
}

static void fill(char *to, char *end)
{
    while (to < end)
        *to++ = ' ';
}

/* DATE_AND_TIME of UTC: a GPU knows no time zone. */
EXPORT void _FortranADateAndTime(char *date, size_t date_n, char *time,
                                 size_t time_n, char *zone, size_t zone_n,
                                 const char *file, int line,
                                 const struct descriptor *values)
{
    enum { DAY = 86400 };
    const int64_t all = (int64_t)(plat_nanoseconds() / 1000000);
    const int64_t seconds = all / 1000;
    const struct date d = date_of(seconds / DAY);
    const int s = (int)(seconds % DAY);
    const int now[] = {d.year,    d.month,     d.day,  0,
                       s / 3600,  s / 60 % 60, s % 60, (int)(all % 1000)};
    char *to = date, *end = date + date_n;
    put_digits(&to, end, d.year, 4);
    put_digits(&to, end, d.month, 2);
    put_digits(&to, end, d.day, 2);
    fill(to, end);
    to = time, end = time + time_n;
    put_digits(&to, end, now[4], 2);
    put_digits(&to, end, now[5], 2);
    put_digits(&to, end, now[6], 2);
    put_char(&to, end, '.');
    put_digits(&to, end, now[7], 3);
    fill(to, end);
    to = zone, end = zone + zone_n;
    put_char(&to, end, '+');
    put_digits(&to, end, 0, 4);
    fill(to, end);
    for (int i = 0; values && values->base && i < 8; i++)
        put_integer(values->base + i * values->dims[0].stride, values->element,
                    now[i]);
}

#endif
