/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * TAP for the unit tests: ok() a line each, done_testing() at the end. A test
 * that cannot run here says skip_all() with the reason. The details of a
 * failure go to standard error, which prove shows.
 */
#ifndef OMPJIT_T_TAP_H
#define OMPJIT_T_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

#define ok(condition, ...) tap_ok(!!(condition), #condition, __LINE__, __VA_ARGS__)
#define ok_string(got, want, ...) \
    tap_ok_string(got, want, __LINE__, __VA_ARGS__)
/* An error's text must contain the words. */
#define ok_contains(text, words, ...) \
    tap_ok_contains(text, words, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static inline int
tap_ok(int pass, const char *what, int line, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
    fflush(stdout);
    if (!pass) {
        tap_failed++;
        fprintf(stderr, "# line %d: %s\n", line, what);
    }
    return pass;
}

__attribute__((format(printf, 4, 5))) static inline int
tap_ok_string(const char *got, const char *want, int line, const char *format,
              ...)
{
    char name[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    int pass = got && want ? !strcmp(got, want) : got == want;
    tap_ok(pass, "strings differ", line, "%s", name);
    if (!pass)
        fprintf(stderr, "# got:  %s\n# want: %s\n", got ? got : "(null)",
                want ? want : "(null)");
    return pass;
}

__attribute__((format(printf, 4, 5))) static inline int
tap_ok_contains(const char *text, const char *words, int line,
                const char *format, ...)
{
    char name[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    int pass = text && strstr(text, words);
    tap_ok(pass, "text lacks the words", line, "%s", name);
    if (!pass)
        fprintf(stderr, "# text:  %s\n# words: %s\n", text ? text : "(null)",
                words);
    return pass;
}

static inline int done_testing(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

/* Ends the test: what is left of it cannot run. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void
skip_all(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (tap_count)
        printf("ok %d # SKIP ", ++tap_count);
    else
        printf("1..0 # SKIP ");
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
    exit(tap_count ? done_testing() : 0);
}

/* May a process with several threads fork? ThreadSanitizer does not hold all of
 * its own locks over a fork: the child may wait for one forever. */
static inline int may_fork(void)
{
#if defined(__SANITIZE_THREAD__)
    return 0;
#else
    return 1;
#endif
}

/* Growth of the process in KiB must stay below a limit. Sanitizers keep what is
 * freed for a while, and an emulator (EMULATED) its translated code. */
static inline void tap_ok_growth(long grown, long limit)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const char *why = "a sanitizer keeps memory";
#else
    const char *why = getenv("EMULATED") ? "an emulator takes memory" : NULL;
#endif
    if (why)
        tap_ok(1, "", 0, "without growth # SKIP %s", why);
    else
        tap_ok(grown < limit, "grown < limit", __LINE__,
               "without growth (%ld KiB)", grown);
}

#endif
