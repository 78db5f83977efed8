/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * IR that is damaged at random, of a device half or a host half, is refused with
 * a text or compiles, within its time; the process lives, nothing is printed, and
 * what is right compiles afterwards.
 *
 * BROKEN_IR="FIRST COUNT" in the environment runs other inputs than CI's; `make
 * fuzz` goes on until it is stopped.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "program.h"

static const char source[] =
    "double dot(int n, const double *x, const double *y) {\n"
    "  double sum = 0;\n"
    "#pragma omp target teams distribute parallel for reduction(+: sum) "
    "map(to: x[:n], y[:n])\n"
    "  for (int i = 0; i < n; i++) sum += x[i] * y[i];\n"
    "  return sum;\n"
    "}\n"
    "void scale(int n, float a, float *x) {\n"
    "#pragma omp target map(tofrom: x[:n])\n"
    "  { int last = n - 1;\n"
    "#pragma omp parallel for\n"
    "    for (int i = 0; i < n; i++) x[i] = a * x[i] + last; }\n"
    "}\n";

/* ---------------------------------------------------------------- damage */

static uint64_t state;

static unsigned below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? (unsigned)(state % n) : 0;
}

static void damage_bytes(char *b, size_t *n)
{
    size_t at = below(*n), words = 4 * (1 + below(8));
    switch (below(5)) {
    case 0: b[at] ^= (char)(1 << below(8)); break;
    case 1: b[at] = (char)below(256); break;
    case 2: memset(b + at, below(2) ? 0xff : 0, *n - at < 4 ? *n - at : 4); break;
    case 3: /* some words are missing */
        at &= ~(size_t)3;
        if (at + words < *n) {
            memmove(b + at, b + at + words, *n - at - words);
            *n -= words;
        }
        break;
    case 4:
        memmove(b + at, b + below(*n - (*n - at < 16 ? *n - at : 16)),
                *n - at < 16 ? *n - at : 16);
        break;
    }
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || strchr("_.%@!#$-", c);
}

/* A word becomes another one of the text, or one of these. */
static void damage_words(char *b, size_t *n, size_t room)
{
    static const char *const words[] = {
        "i1", "i8388607", "ptr addrspace(3)", "void", "token", "metadata", "0",
        "-1", "4294967296", "18446744073709551615", "null", "undef", "poison",
        "zeroinitializer", "<4 x float>", "[4294967295 x i64]", "ptr", "i64"};
    char word[64];
    size_t at = below(*n), end, from = below(*n), to;
    while (at && in_word(b[at - 1]))
        at--;
    for (end = at; end < *n && in_word(b[end]);)
        end++;
    while (from && in_word(b[from - 1]))
        from--;
    for (to = from; to < *n && in_word(b[to]) && to - from < sizeof word - 1;)
        to++;
    snprintf(word, sizeof word, "%.*s", (int)(to - from), b + from);
    if (below(2))
        snprintf(word, sizeof word, "%s",
                 words[below(sizeof words / sizeof *words)]);
    size_t size = strlen(word);
    if (*n - (end - at) + size >= room)
        return;
    memmove(b + at + size, b + end, *n - end);
    memcpy(b + at, word, size);
    *n = *n - (end - at) + size;
}

static void damage(bool text, unsigned number, char *b, size_t *n, size_t room)
{
    state = 0x9e3779b97f4a7c15u * (number + 1u);
    for (unsigned i = 0; i < 5; i++)
        below(1);
    for (unsigned i = 1 + below(2); i; i--) {
        if (text)
            damage_words(b, n, room);
        else
            damage_bytes(b, n);
    }
}

/* ----------------------------------------------------------------- inputs */

enum { LIMIT = 10, CALLS = 5 }; /* seconds of a stage; stages of an input */

static unsigned taken, refused, silent, late;
static void *whole_device;
static size_t whole_size;

static void link_host_half(const void *ir, size_t size)
{
    ompjit_module *m;
    void (*f)(void);
    ompjit_status status = ompjit_module_from_ir(
        ctx, whole_device, whole_size, ir, size, NULL, &m, &err);
    if (!status) {
        status = ompjit_module_function(m, "dot", &f, &err);
        ompjit_module_destroy(m);
    }
    taken += !status;
    refused += status != OMPJIT_OK;
}

static void compile_both(const void *ir, size_t size)
{
    static const struct {
        ompjit_format format;
        const char *arch;
    } forms[] = {{OMPJIT_FORMAT_OBJECT, "host"}, {OMPJIT_FORMAT_PTX, "sm_90"}};
    ompjit_module *m;
    bool whole = !ompjit_module_from_ir(ctx, ir, size, NULL, 0, NULL, &m, &err);
    if (!whole) {
        refused++;
        return;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        void *data;
        size_t n;
        if (!ompjit_module_emit(m, forms[i].format, forms[i].arch, &data, &n,
                                &err))
            ompjit_bytes_free(data);
    }
    ompjit_module_destroy(m);
    taken++;
}

static void inputs(ompjit_format format, const char *name, unsigned first,
                   unsigned count)
{
    void *ir, *ptx;
    size_t size;
    must(ompjit_module_emit(mod, format, NULL, &ir, &size, &err));
    size_t room = size + 4096;
    char *broken = malloc(room);
    taken = refused = 0;
    for (unsigned i = first; i < first + count; i++) {
        size_t n = size;
        memcpy(broken, ir, size);
        damage(format != OMPJIT_FORMAT_BC, i, broken, &n, room);
        unsigned before = refused;
        double start = seconds();
        err.text[0] = 0;
        if (format == OMPJIT_FORMAT_HOST_LL)
            link_host_half(broken, n);
        else
            compile_both(broken, n);
        silent += refused > before && !*err.text;
        late += seconds() - start > CALLS * LIMIT;
    }
    ok(taken + refused == count && taken && refused,
       "%s, damaged %u times: %u taken, %u refused", name, count, taken,
       refused);
    ok(!silent && !late, "all in time and with a text");
    free(broken);
    ompjit_bytes_free(ir);
    must(ompjit_module_emit(mod, OMPJIT_FORMAT_PTX, "sm_90", &ptx, &size, &err));
    ompjit_bytes_free(ptx);
}

int main(void)
{
    unsigned first = 1, count = 120;
    const char *asked = getenv("BROKEN_IR");
    if (asked && sscanf(asked, "%u %u", &first, &count) != 2)
        return 2;
    char printed[] = "/tmp/broken-ir-XXXXXX";
    int file = mkstemp(printed), before = dup(2);
    dup2(file, 2);
    unlink(printed);
    struct rlimit limit = {.rlim_cur = 8ul << 30, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    options.cache.mode = OMPJIT_CACHE_OFF;
    options.compiler.time_limit_ms = LIMIT * 1000;
    open_program(&options, source);
    must(ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &whole_device,
                            &whole_size, &err));
    inputs(OMPJIT_FORMAT_BC, "bitcode", first, count);
    inputs(OMPJIT_FORMAT_LL, "text", first, count);
    inputs(OMPJIT_FORMAT_HOST_LL, "host half", first, count);
    ompjit_bytes_free(whole_device);
    close_module();
    dup2(before, 2);
    ok(lseek(file, 0, SEEK_END) == 0, "nothing is printed");
    return done_testing();
}
