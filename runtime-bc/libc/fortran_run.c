/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For a GPU, how functions of flang's runtime library fail, and those that have
 * to do with more than their arguments: STOP and ERROR STOP, RANDOM_NUMBER,
 * CPU_TIME and SYSTEM_CLOCK.
 */
#include "fortran.h"

#ifdef __NVPTX__

_Noreturn EXPORT NOINLINE void ompjit_fortran_fail(const char *file, int line,
                                                   const char *message)
{
    plat_assert_failed(message, file, (uint32_t)line, "Fortran");
    __builtin_trap();
}

/* --------------------------------------------------------------------- STOP */

enum { STOP_TEXT = 128 };

/* A GPU cannot end the program: the kernel fails, and says which statement it
 * was. */
_Noreturn static void stop(bool is_error, const char *what, size_t n)
{
    static const char normal[] = "STOP ", error[] = "ERROR STOP ";
    char text[STOP_TEXT];
    size_t at = 0;
    for (const char *s = is_error ? error : normal; *s; s++)
        text[at++] = *s;
    for (size_t i = 0; i < n && at < sizeof text - 1; i++)
        text[at++] = what[i];
    text[at] = 0;
    fail_at("", 0, text);
}

_Noreturn EXPORT void _FortranAStopStatement(int code, bool is_error,
                                             bool quiet)
{
    enum { DIGITS = 10 };
    char text[DIGITS + 1];
    size_t at = sizeof text;
    uint32_t rest = code < 0 ? 0u - (uint32_t)code : (uint32_t)code;
    do
        text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (code < 0)
        text[--at] = '-';
    stop(is_error, text + at, sizeof text - at);
}

_Noreturn EXPORT void _FortranAStopStatementText(const char *text, size_t n,
                                                 bool is_error, bool quiet)
{
    stop(is_error, text, n);
}

/* flang calls it for what it finds wrong, such as bounds. */
_Noreturn EXPORT void _FortranAReportFatalUserError(const char *message,
                                                    const char *file, int line)
{
    fail_at(file, line, message);
}

/* ------------------------------------------------------------ RANDOM_NUMBER */

/* How many numbers an image has given, to all threads. */
static uint64_t random_numbers;

static uint64_t mixed(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Threads have no states of their own: the numbers are mixed from a count and
 * the time, since each image counts for itself. */
EXPORT void _FortranARandomNumber(const struct descriptor *a, const char *file,
                                  int line)
{
    enum { REAL4_BITS = 24, REAL8_BITS = 53 };
    const uint64_t step = 0x9e3779b97f4a7c15;
    struct place p;
    const int64_t n = count_of(a);
    if (n <= 0)
        return;
    uint64_t count = __atomic_fetch_add(&random_numbers, (uint64_t)n,
                                        __ATOMIC_RELAXED);
    const uint64_t key = mixed(plat_nanoseconds());
    for (begin(&p, a); p.at; next(&p, a)) {
        const uint64_t x = mixed(key + ++count * step);
        if (a->type == TYPE_REAL4)
            *(float *)p.at = (float)(x >> (64 - REAL4_BITS)) *
                             (1.0f / (1 << REAL4_BITS));
        else if (a->type == TYPE_REAL8)
            *(double *)p.at = (double)(x >> (64 - REAL8_BITS)) *
                              (1.0 / ((int64_t)1 << REAL8_BITS));
        else
            fail_at(file, line, "a GPU has no random numbers of this type");
    }
}

/* ------------------------------------------------------------------- clocks */

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

#endif
