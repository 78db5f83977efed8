/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lists of variants as text: written line by line while a program runs, and
 * read to have the same ones built ahead of their launches. ompjit.h says what
 * a line is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hold.h"
#include "launch/launch.h"

/* "saxpy_l3" of "__omp_offloading_fe00_a7200e_saxpy_l3": the numbers are those
 * of the file that clang has read, and change with it. */
static const char *short_symbol(const char *symbol)
{
    static const char prefix[] = "__omp_offloading_";
    size_t n = sizeof prefix - 1;
    if (strncmp(symbol, prefix, n))
        return symbol;
    const char *p = symbol + n;
    for (int i = 0; i < 2 && p; i++)
        p = (p = strchr(p, '_')) ? p + 1 : NULL;
    return p && *p ? p : symbol;
}

/* ---------------------------------------------------------------- writing */

/* A line's words in the order of facts.def. */
enum kind { NUMBER, EXTENT, POINTERS, SCALAR_VALUES, POINTER_VALUES, CONTENTS };
static const struct word {
    const char *word;
    enum kind kind;
    size_t offset; /* in ompjit__facts */
} words[] = {
#define FACT(name, kind, fold, word, said) \
    {word, kind, offsetof(ompjit__facts, name)},
#include "core/facts.def"
};

/* Is it one of the words that stand for themselves? */
static bool is_whole(const struct word *w)
{
    return w->kind == NUMBER || w->kind == EXTENT || w->kind == POINTERS;
}

/* Is the parameter's name of use in a list? */
static bool has_own_name(const ompjit__kernel_desc *k, unsigned i)
{
    const char *name = k->params[i].name;
    bool own = *name && !strpbrk(name, "=: \t\n#") && (*name < '0' ||
                                                      *name > '9');
    for (size_t w = 0; w < OMPJIT__COUNT(words); w++)
        own = own && !(is_whole(&words[w]) && !strcmp(name, words[w].word));
    for (unsigned j = 0; j < i; j++)
        own = own && strcmp(name, k->params[j].name) != 0;
    return own;
}

/* A list has no place for the bytes of contents, nor for a second dimension. */
#define is_listed_NUMBER(fact) true
#define is_listed_EXTENT(fact) ((fact)->y == 0)
#define is_listed_POINTERS is_listed_NUMBER
#define is_listed_SCALAR_VALUES is_listed_NUMBER
#define is_listed_POINTER_VALUES is_listed_NUMBER
#define is_listed_CONTENTS(fact) ((fact)->n == 0)

static bool can_record(const ompjit__variant_key *key)
{
    bool listed = true;
#define FACT(name, kind, fold, word, said) \
    listed &= is_listed_##kind(&key->facts.name);
#include "core/facts.def"
    return listed;
}

static void add_NUMBER(ompjit__buf *line, const ompjit__kernel_desc *k,
                       const char *word, const uint32_t *fact)
{
    if (*fact)
        ompjit__buf_printf(line, " %s=%" PRIu32, word, *fact);
}

static void add_POINTERS(ompjit__buf *line, const ompjit__kernel_desc *k,
                         const char *word, const uint64_t *fact)
{
    if (*fact)
        ompjit__buf_printf(line, " %s=0x%" PRIx64, word, *fact);
}

static void add_SCALAR_VALUES(ompjit__buf *line, const ompjit__kernel_desc *k,
                              const char *word,
                              const ompjit__param_values *fact)
{
    for (uint64_t rest = fact->mask; k && rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        if (has_own_name(k, i))
            ompjit__buf_printf(line, " %s%s=", word, k->params[i].name);
        else
            ompjit__buf_printf(line, " %s%u=", word, i);
        ompjit__buf_printf(line, "0x%" PRIx64, fact->values[i]);
    }
}
#define add_POINTER_VALUES add_SCALAR_VALUES
#define add_EXTENT(line, k, word, fact) \
    add_NUMBER(line, k, word, &(fact)->all)
#define add_CONTENTS(line, k, word, fact)

/* "KERNEL NAME=VALUE ...", or "*" for an image of all kernels. */
static void write_key(const ompjit_module *mod, const ompjit__variant_key *key,
                      ompjit__buf *line)
{
    const ompjit__kernel_desc *k = key->kernel == OMPJIT__ALL_KERNELS
                                       ? NULL
                                       : &mod->unit.kernels[key->kernel];
    ompjit__buf_printf(line, "%s", k ? short_symbol(k->symbol) : "*");
#define FACT(name, kind, fold, word, said) \
    add_##kind(line, k, word, &key->facts.name);
#include "core/facts.def"
    ompjit__buf_printf(line, "\n");
}

/* If the file cannot be written, the log says so, and nothing else fails. A
 * line is one write to a file opened to append, so that processes may share it.
 */
void ompjit__record_variant(ompjit_module *mod, const ompjit__variant_key *key)
{
    const char *path = mod->ctx->record;
    ompjit__buf line = {0};
    if (!path || !can_record(key))
        return;
    write_key(mod, key, &line);
    ompjit__held held;
    ompjit__hold(&held, SIGXFSZ);
    int fd = line.failed ? -1
                         : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                0666);
    if (fd < 0 || write(fd, line.data, line.size) != (ssize_t)line.size)
        ompjit__log(mod->ctx, "cannot record variants in %s: %s", path,
                    strerror(errno));
    ompjit__release(&held);
    if (fd >= 0)
        close(fd);
    ompjit__buf_free(&line);
}

/* ---------------------------------------------------------------- reading */

/* A line as it is read. The key's arrays are `values`. */
struct entry {
    ompjit__variant_key key;
    uint64_t values[OMPJIT__COUNT(words)][64]; /* of facts that have some */
    const ompjit__kernel_desc *k; /* NULL: all kernels */
    char why[256];                /* it is wrong; "": it is not */
};

/* A later reason replaces an earlier one. */
static void wrong(struct entry *e, const char *format, ...)
    OMPJIT__PRINTF(2, 3);

static void wrong(struct entry *e, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->why, sizeof e->why, format, ap);
    va_end(ap);
}

static void *fact_of(struct entry *e, const struct word *w)
{
    return (char *)&e->key.facts + w->offset;
}

/* A kernel by its symbol, or its short one. */
static void find_kernel(const ompjit_module *mod, const char *word,
                        struct entry *e)
{
    e->key.kernel = OMPJIT__ALL_KERNELS;
    if (!strcmp(word, "*"))
        return;
    for (unsigned i = 0; i < mod->unit.nkernels && !e->k; i++) {
        const ompjit__kernel_desc *k = &mod->unit.kernels[i];
        if (strcmp(word, k->symbol) && strcmp(word, short_symbol(k->symbol)))
            continue;
        e->k = k;
        e->key.kernel = i;
    }
    if (!e->k)
        wrong(e, "%s has no kernel %s", mod->unit.name, word);
}

/* A parameter by name or number. */
static unsigned find_param(const ompjit__kernel_desc *k, const char *name)
{
    char *end;
    for (unsigned i = 0; i < k->nparams; i++)
        if (has_own_name(k, i) && !strcmp(k->params[i].name, name))
            return i;
    unsigned long n = strtoul(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && n < k->nparams
               ? (unsigned)n
               : k->nparams;
}

/* Is parameter i of the entry's kernel one whose value is not folded? */
static bool is_pointer(const ompjit_module *mod, const struct entry *e,
                       unsigned i)
{
    return i < 64 && !(mod->kernels[e->key.kernel].eligible >> i & 1);
}

/* "threads, teams, residents, aligned and noalias" */
static void whole_words(char *text, size_t size)
{
    const struct word *last = &words[OMPJIT__COUNT(words) - 1], *w = words;
    size_t n = 0;
    while (!is_whole(last))
        last--;
    for (; w <= last && n < size; w++)
        if (is_whole(w))
            n += (size_t)snprintf(text + n, size - n, "%s%s",
                                  !n ? "" : w == last ? " and " : ", ",
                                  w->word);
}

/* The entry's facts refer to its own arrays. */
static void set_value(struct entry *e, const struct word *w, unsigned n,
                      uint64_t value)
{
    ompjit__param_values *fact = fact_of(e, w);
    e->values[w - words][n] = value;
    fact->values = e->values[w - words];
    fact->mask |= UINT64_C(1) << n;
}

/* A scalar's value; `name` names the parameter. */
static void set_scalar(const ompjit_module *mod, struct entry *e,
                       const struct word *w, const char *name, uint64_t value)
{
    unsigned i = e->k ? find_param(e->k, name) : 0;
    if (!e->k || i == e->k->nparams) {
        char list[128];
        whole_words(list, sizeof list);
        wrong(e, "%s is neither an argument nor one of %s", name, list);
        return;
    }
    const ompjit__param *p = &e->k->params[i];
    unsigned bytes = p->size && p->size < p->bytes ? p->size : p->bytes;
    if (i >= 64 || is_pointer(mod, e, i))
        wrong(e, "%s is a pointer: its value is not folded", name);
    else if (bytes < 8 && value >> 8 * bytes)
        wrong(e, "%s has %u bytes, 0x%" PRIx64 " does not fit", name, bytes,
              value);
    else
        set_value(e, w, i, value);
}

/* A number about a pointer, such as a size; 0 is none. */
static void set_of_pointer(const ompjit_module *mod, struct entry *e,
                           const struct word *w, const char *name,
                           uint64_t value)
{
    unsigned i = e->k ? find_param(e->k, name) : 0;
    if (!e->k || i == e->k->nparams || !is_pointer(mod, e, i) || !value)
        wrong(e, "%s%s=%" PRIu64 ": there is no such pointer, or no such "
                 "number", w->word, name, value);
    else
        set_value(e, w, i, value);
}

/* For an extent it is the first field, `all`. */
static void set_number(struct entry *e, const struct word *w, uint64_t value)
{
    _Static_assert(offsetof(ompjit__extent, all) == 0, "where it is set");
    uint32_t *to = fact_of(e, w);
    if (value > UINT32_MAX)
        wrong(e, "%s=%" PRIu64 " is too large", w->word, value);
    else
        *to = (uint32_t)value;
}

/* Bits of parameters that are not pointers are of no use, and would make the
 * variant one that no launch asks for. */
static void set_pointers(const ompjit_module *mod, struct entry *e,
                         const struct word *w, uint64_t mask)
{
    uint64_t *to = fact_of(e, w);
    unsigned n = e->k ? e->k->nparams : 0;
    uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
    if (!e->k || mask & (~all | mod->kernels[e->key.kernel].eligible))
        wrong(e, "%s=0x%" PRIx64 ": not all of these parameters are pointers",
              w->word, mask);
    else
        *to = mask;
}

/* The word that `name` is, else the longest that it begins with and a parameter
 * follows. */
static const struct word *find_word(const char *name)
{
    const struct word *best = NULL;
    for (size_t i = 0; i < OMPJIT__COUNT(words); i++) {
        const struct word *w = &words[i];
        size_t n = strlen(w->word);
        bool fits = w->kind == SCALAR_VALUES || w->kind == POINTER_VALUES
                        ? !strncmp(w->word, name, n)
                        : is_whole(w) && !strcmp(w->word, name);
        if (fits && (!best || n > strlen(best->word)))
            best = w;
    }
    return best;
}

/* find_word always finds one: the word of SCALAR_VALUES is empty, and every
 * name begins with it. */
static void set_fact(const ompjit_module *mod, struct entry *e,
                     const char *name, uint64_t value)
{
    const struct word *w = find_word(name);
    const char *param = name + strlen(w->word);
    switch (w->kind) {
    case NUMBER:
    case EXTENT: set_number(e, w, value); break;
    case POINTERS: set_pointers(mod, e, w, value); break;
    case POINTER_VALUES: set_of_pointer(mod, e, w, param, value); break;
    default: set_scalar(mod, e, w, param, value); break;
    }
}

/* Reads NAME=VALUE, which it cuts in two. */
static void read_word(const ompjit_module *mod, struct entry *e, char *word)
{
    char *text = strchr(word, '='), *end;
    if (!text) {
        wrong(e, "%s: NAME=VALUE is expected", word);
        return;
    }
    *text++ = 0;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || end == text || *end || *text == '-')
        wrong(e, "%s=%s: not a number that is not negative", word, text);
    else
        set_fact(mod, e, word, value);
}

/* A variant that no launch on the device would ask for is not built. */
static void check_entry(const ompjit_module *mod, const ompjit_device *dev,
                        struct entry *e)
{
    bool lone = dev->caps.lone_threads;
    uint32_t residents = e->key.facts.resident_teams;
    if (*e->why)
        return;
    if (!e->k && !ompjit__variant_is_generic(&e->key))
        wrong(e, lone ? "code for all kernels has threads=1 or nothing folded"
                      : "code for all kernels has nothing folded");
    else if (e->k && !ompjit__can_specialize(mod, dev))
        wrong(e, "a program whose variables may hold addresses of functions is "
                 "not specialized for a GPU");
    else if (residents && (!dev->caps.warps || !e->key.facts.threads.all))
        wrong(e, "residents=%u needs a GPU and threads=", residents);
}

/* False for a line that says nothing. */
static bool read_line(const ompjit_module *mod, ompjit_device *dev, char *line,
                      struct entry *e)
{
    char *rest, *word;
    line[strcspn(line, "#")] = 0;
    word = strtok_r(line, " \t\r", &rest);
    if (!word)
        return false;
    *e = (struct entry){.key = {.dev = dev}};
    find_kernel(mod, word, e);
    while (!*e->why && (word = strtok_r(NULL, " \t\r", &rest)))
        read_word(mod, e, word);
    check_entry(mod, dev, e);
    e->key.hash = ompjit__variant_hash(&e->key);
    return true;
}

/* ------------------------------------------------------------------- warm */

/* Requests the variants of a list; `text` is cut into lines. A line that is
 * wrong is told to `bad`, and the others go on. */
static ompjit_status warm(ompjit_module *mod, ompjit_device *dev, char *text,
                          ompjit_warm_fn *bad, void *data, unsigned *n,
                          ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    unsigned number = 0;
    for (char *line = text, *next; line && !status; line = next) {
        struct entry e;
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        number++;
        if (!read_line(mod, dev, line, &e))
            continue;
        if (*e.why) {
            if (bad)
                bad(data, number, e.why);
            continue;
        }
        status = ompjit__variant_request(mod, &e.key, err);
        *n += !status;
    }
    return status;
}

/* Returns when the builds are queued, not when they are done. */
ompjit_status ompjit_module_warm(ompjit_module *mod, ompjit_device *dev,
                                 const char *path, ompjit_warm_fn *bad,
                                 void *data, unsigned *requested,
                                 ompjit_error *err)
{
    enum { MOST = 64 << 20 };
    ompjit__buf text = {0};
    unsigned n = 0;
    if (!mod || !dev || !path)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_warm: a module, a device and a "
                            "path are needed");
    if (mod->ctx != dev->ctx)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "ompjit_module_warm: device %u is of another "
                            "context than module %s", dev->number,
                            mod->unit.name);
    ompjit_status status = ompjit__read_most(path, MOST, &text, err);
    if (!status && text.size && strlen(text.data) != text.size)
        status = ompjit__fail(err, OMPJIT_ERR_IO, OMPJIT_STAGE_API,
                              "%s has NUL bytes: is it a list of variants?",
                              path);
    if (!status)
        status = ompjit__device_ready(dev, err);
    if (!status && text.size)
        status = warm(mod, dev, text.data, bad, data, &n, err);
    ompjit__buf_free(&text);
    if (!status && requested)
        *requested = n;
    return status;
}
