/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For a GPU, how functions of flang's runtime library fail, and those that have
 * to do with more than their arguments: STOP, ERROR STOP and EXIT,
 * RANDOM_NUMBER and RANDOM_SEED.
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
_Noreturn static void stop(const char *statement, const char *what, size_t n)
{
    char text[STOP_TEXT];
    size_t at = 0;
    for (const char *s = statement; *s; s++)
        text[at++] = *s;
    for (size_t i = 0; i < n && at < sizeof text - 1; i++)
        text[at++] = what[i];
    text[at] = 0;
    fail_at("", 0, text);
}

_Noreturn static void stop_with_code(const char *statement, int code)
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
    stop(statement, text + at, sizeof text - at);
}

static const char *statement_of(bool is_error)
{
    return is_error ? "ERROR STOP " : "STOP ";
}

_Noreturn EXPORT void _FortranAStopStatement(int code, bool is_error,
                                             bool quiet)
{
    stop_with_code(statement_of(is_error), code);
}

_Noreturn EXPORT void _FortranAStopStatementText(const char *text, size_t n,
                                                 bool is_error, bool quiet)
{
    stop(statement_of(is_error), text, n);
}

_Noreturn EXPORT void _FortranAExit(int code)
{
    stop_with_code("EXIT ", code);
}

/* flang calls it for what it finds wrong, such as bounds. */
_Noreturn EXPORT void _FortranAReportFatalUserError(const char *message,
                                                    const char *file, int line)
{
    fail_at(file, line, message);
}

/* ------------------------------------------------------------ RANDOM_NUMBER */

/* An image's state, which all threads share, and whether RANDOM_SEED has set
 * it. The numbers are mixed from what it has been. */
static uint64_t random_state;
static int random_is_set;

enum { SEED_SIZE = 2, SEED_BITS = 32 }; /* integers, and the bits of each */

static uint64_t mixed(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27;
    x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Threads have no states of their own. Without a seed the time is a part of the
 * numbers, too, since each image has a state. */
EXPORT void _FortranARandomNumber(const struct descriptor *a, const char *file,
                                  int line)
{
    enum { REAL4_BITS = 24, REAL8_BITS = 53 };
    const uint64_t step = 0x9e3779b97f4a7c15;
    struct place p;
    const int64_t n = count_of(a);
    if (n <= 0)
        return;
    uint64_t state = __atomic_fetch_add(&random_state, (uint64_t)n * step,
                                        __ATOMIC_RELAXED);
    if (!__atomic_load_n(&random_is_set, __ATOMIC_RELAXED))
        state += mixed(plat_nanoseconds());
    for (begin(&p, a); p.at; next(&p, a)) {
        const uint64_t x = mixed(state += step);
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

static void set_state(uint64_t state)
{
    __atomic_store_n(&random_state, state, __ATOMIC_RELAXED);
    __atomic_store_n(&random_is_set, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------- RANDOM_SEED */

static char *seed_at(const struct descriptor *a, int i, const char *file,
                     int line)
{
    if (a->rank != 1 || a->dims[0].extent < SEED_SIZE)
        fail_at(file, line, "RANDOM_SEED has an array that is too small");
    return a->base + i * a->dims[0].stride;
}

EXPORT void _FortranARandomSeedSize(const struct descriptor *a,
                                    const char *file, int line)
{
    if (a && a->base)
        put_integer(a->base, a->element, SEED_SIZE);
}

EXPORT void _FortranARandomSeedPut(const struct descriptor *a,
                                   const char *file, int line)
{
    uint64_t state = 0;
    if (!a || !a->base)
        return;
    for (int i = 0; i < SEED_SIZE; i++)
        state |= (uint64_t)(uint32_t)integer_at(seed_at(a, i, file, line),
                                                a->element)
                 << (i * SEED_BITS);
    set_state(state);
}

/* The values that it gives make the numbers that follow: a seed is set now. */
EXPORT void _FortranARandomSeedGet(const struct descriptor *a,
                                   const char *file, int line)
{
    if (!a || !a->base)
        return;
    uint64_t state = __atomic_load_n(&random_state, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&random_is_set, __ATOMIC_RELAXED))
        set_state(state += mixed(plat_nanoseconds()));
    for (int i = 0; i < SEED_SIZE; i++)
        put_integer(seed_at(a, i, file, line), a->element,
                    (int32_t)(state >> (i * SEED_BITS)));
}

EXPORT void _FortranARandomSeedDefaultPut(void)
{
    __atomic_store_n(&random_is_set, 0, __ATOMIC_RELAXED);
}

EXPORT void _FortranARandomSeed(const struct descriptor *size,
                                const struct descriptor *put,
                                const struct descriptor *get, const char *file,
                                int line)
{
    if (!(size && size->base) && !(put && put->base) && !(get && get->base))
        _FortranARandomSeedDefaultPut();
    _FortranARandomSeedSize(size, file, line);
    _FortranARandomSeedPut(put, file, line);
    _FortranARandomSeedGet(get, file, line);
}

EXPORT void _FortranARandomInit(bool repeatable, bool is_distinct)
{
    if (repeatable)
        set_state(0);
    else
        _FortranARandomSeedDefaultPut();
}

#endif
