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

#define SIZE "size:"

/* Is the parameter's name of use in a list? */
static bool has_own_name(const ompjit__kernel_desc *k, unsigned i)
{
    const char *name = k->params[i].name;
    static const char *const words[] = {"threads", "teams", "residents",
                                        "aligned", "noalias"};
    bool own = *name && !strpbrk(name, "=: \t\n#") && (*name < '0' ||
                                                      *name > '9');
    for (size_t w = 0; w < OMPJIT__COUNT(words); w++)
        own = own && strcmp(name, words[w]) != 0;
    for (unsigned j = 0; j < i; j++)
        own = own && strcmp(name, k->params[j].name) != 0;
    return own;
}

static void add_number(ompjit__buf *line, const char *name, uint32_t value)
{
    if (value)
        ompjit__buf_printf(line, " %s=%u", name, value);
}

static void add_mask(ompjit__buf *line, const char *name, uint64_t mask)
{
    if (mask)
        ompjit__buf_printf(line, " %s=0x%" PRIx64, name, mask);
}

static void add_param(ompjit__buf *line, const ompjit__kernel_desc *k,
                      const char *what, unsigned i, uint64_t value)
{
    if (has_own_name(k, i))
        ompjit__buf_printf(line, " %s%s=", what, k->params[i].name);
    else
        ompjit__buf_printf(line, " %s%u=", what, i);
    ompjit__buf_printf(line, "0x%" PRIx64, value);
}

static void write_key(const ompjit_module *mod, const ompjit__variant_key *key,
                      ompjit__buf *line)
{
    const ompjit__kernel_desc *k = key->kernel == OMPJIT__ALL_KERNELS
                                       ? NULL
                                       : &mod->unit.kernels[key->kernel];
    ompjit__buf_printf(line, "%s", k ? short_symbol(k->symbol) : "*");
    add_number(line, "threads", key->threads);
    add_number(line, "teams", key->teams);
    add_number(line, "residents", key->residents);
    for (uint64_t rest = key->literal_mask; k && rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        add_param(line, k, "", i, key->values[i]);
    }
    for (uint64_t rest = key->sized; k && rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        add_param(line, k, SIZE, i, key->sizes[i]);
    }
    add_mask(line, "aligned", key->aligned);
    add_mask(line, "noalias", key->noalias);
    ompjit__buf_printf(line, "\n");
}

/* A line has no place for the bytes of contents, nor for a second dimension. */
static bool can_record(const ompjit__variant_key *key)
{
    static const ompjit__shape line;
    return !key->ncontents && !memcmp(&key->shape, &line, sizeof line);
}

/* A file that cannot be written is told to the log, and else nobody's loss. */
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

struct entry {
    ompjit__variant_key key;
    uint64_t values[64], sizes[64];
    const ompjit__kernel_desc *k; /* NULL: all kernels */
    char why[256];                /* it is wrong; "": it is not */
};

static void wrong(struct entry *e, const char *format, ...)
    OMPJIT__PRINTF(2, 3);

static void wrong(struct entry *e, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->why, sizeof e->why, format, ap);
    va_end(ap);
}

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

static void set_argument(const ompjit_module *mod, struct entry *e,
                         const char *name, uint64_t value)
{
    unsigned i = e->k ? find_param(e->k, name) : 0;
    if (!e->k || i == e->k->nparams) {
        wrong(e, "%s is neither an argument nor one of threads, teams, "
                 "residents, aligned and noalias", name);
        return;
    }
    const ompjit__param *p = &e->k->params[i];
    unsigned bytes = p->size && p->size < p->bytes ? p->size : p->bytes;
    if (i >= 64 || !(mod->kernels[e->key.kernel].eligible >> i & 1))
        wrong(e, "%s is a pointer: its value is not folded", name);
    else if (bytes < 8 && value >> 8 * bytes)
        wrong(e, "%s has %u bytes, 0x%" PRIx64 " does not fit", name, bytes,
              value);
    else {
        e->values[i] = value;
        e->key.literal_mask |= UINT64_C(1) << i;
    }
}

static void set_size(const ompjit_module *mod, struct entry *e,
                     const char *name, uint64_t value)
{
    unsigned i = e->k ? find_param(e->k, name) : 0;
    if (!e->k || i == e->k->nparams || i >= 64 || !value ||
        mod->kernels[e->key.kernel].eligible >> i & 1) {
        wrong(e, SIZE "%s=%" PRIu64 ": there is no such pointer, or no such "
                      "size", name, value);
        return;
    }
    e->sizes[i] = value;
    e->key.sized |= UINT64_C(1) << i;
}

static void set_count(struct entry *e, const char *name, uint64_t value,
                      uint32_t *to)
{
    if (value > UINT32_MAX)
        wrong(e, "%s=%" PRIu64 " is too large", name, value);
    else
        *to = (uint32_t)value;
}

/* Bits of parameters that are not pointers are of no use, and would make the
 * variant one that no launch asks for. */
static void set_pointers(const ompjit_module *mod, struct entry *e,
                         const char *name, uint64_t mask, uint64_t *to)
{
    unsigned n = e->k ? e->k->nparams : 0;
    uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
    if (!e->k || mask & (~all | mod->kernels[e->key.kernel].eligible))
        wrong(e, "%s=0x%" PRIx64 ": not all of these parameters are pointers",
              name, mask);
    else
        *to = mask;
}

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
    else if (!strcmp(word, "threads"))
        set_count(e, word, value, &e->key.threads);
    else if (!strcmp(word, "teams"))
        set_count(e, word, value, &e->key.teams);
    else if (!strcmp(word, "residents"))
        set_count(e, word, value, &e->key.residents);
    else if (!strcmp(word, "aligned"))
        set_pointers(mod, e, word, value, &e->key.aligned);
    else if (!strcmp(word, "noalias"))
        set_pointers(mod, e, word, value, &e->key.noalias);
    else if (!strncmp(word, SIZE, sizeof SIZE - 1))
        set_size(mod, e, word + sizeof SIZE - 1, value);
    else
        set_argument(mod, e, word, value);
}

/* A variant that no launch on the device would ask for is not built. */
static void check_entry(const ompjit_module *mod, const ompjit_device *dev,
                        struct entry *e)
{
    bool host = dev->limits.kind == OMPJIT_DEVICE_HOST;
    const ompjit__variant_key *key = &e->key;
    if (*e->why)
        return;
    if (!e->k && (key->teams || key->residents ||
                  key->threads > (host ? 1 : 0)))
        wrong(e, host ? "code for all kernels has threads=1 or nothing folded"
                      : "code for all kernels has nothing folded");
    else if (e->k && !ompjit__can_specialize(mod, dev))
        wrong(e, "a program whose variables may hold addresses of functions is "
                 "not specialized for a GPU");
    else if (key->residents && (host || !key->threads))
        wrong(e, "residents=%u needs a GPU and threads=", key->residents);
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
    e->key.values = e->values;
    e->key.sizes = e->sizes;
    e->key.hash = ompjit__variant_hash(&e->key);
    return true;
}

/* ------------------------------------------------------------------- warm */

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
