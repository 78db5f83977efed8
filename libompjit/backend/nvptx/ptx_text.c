/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PTX as text. NVRTC's is regular: one statement a line, and the value of a
 * parameter is read by `ld.param`, once, at the start of a kernel. Other text
 * is left as it is, which is right too: a launch passes all arguments and the
 * geometry is the launch's.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/nvptx/ptx_text.h"

/* ---------------------------------------------------------------- reading */

/* PTX ISA, "Identifiers"; the point is of registers and directives. */
static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* Past white space, line breaks included. */
static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\n");
}

/* Behind the name at p; p where there is none. */
static const char *name_end(const char *p)
{
    while (is_name(*p))
        p++;
    return p;
}

/* Is the piece this word? */
static bool is(ompjit__span s, const char *word)
{
    return strlen(word) == s.size && !memcmp(s.at, word, s.size);
}

/* Behind the bracket that closes the one at p, or NULL. */
static const char *behind(const char *p, char open, char close)
{
    unsigned depth = 0;
    for (; *p; p++) {
        if (p[0] == '/' && p[1] == '/')
            p += strcspn(p, "\n");
        depth += *p == open;
        if (*p == close && !--depth)
            return p + 1;
    }
    return NULL;
}

/* The beginning of the line that p stands in. */
static const char *line_start(const char *text, const char *p)
{
    while (p > text && p[-1] != '\n')
        p--;
    return p;
}

/* The beginning of the next line. */
static const char *next_line(const char *p)
{
    p += strcspn(p, "\n");
    return *p ? p + 1 : p;
}

/*   .visible .entry _Z1kPi(          whole, from ".visible"; name
 *       .param .u64 _Z1kPi_param_0   params, in parentheses
 *   )
 *   .maxntid 128                     directives
 *   { ... }                          body, without the braces
 */
bool ompjit__ptx_next(const char *from, ompjit__ptx_entry *out)
{
    static const char word[] = ".entry ";
    const char *p = strstr(from, word);
    if (!p)
        return false;
    const char *name = skip_blanks(p + sizeof word - 1);
    const char *end = name_end(name);
    const char *params = skip_blanks(end);
    const char *after = *params == '(' ? behind(params, '(', ')') : params;
    const char *open = after ? strchr(after, '{') : NULL;
    const char *close = open ? behind(open, '{', '}') : NULL;
    if (!close)
        return false;
    const char *start = line_start(from, p);
    *out = (ompjit__ptx_entry){
        .whole = {start, (size_t)(close - start)},
        .name = {name, (size_t)(end - name)},
        .params = {params, (size_t)(after - params)},
        .directives = {after, (size_t)(open - after)},
        .body = {open + 1, (size_t)(close - open - 2)},
    };
    return true;
}

void ompjit__ptx_externs(const char *ptx, ompjit__buf *names)
{
    static const char word[] = "\n.extern .func";
    for (const char *p = ptx; (p = strstr(p, word));) {
        p = skip_blanks(p + sizeof word - 1);
        if (*p == '(') /* the result */
            p = behind(p, '(', ')');
        if (!p)
            return;
        p = skip_blanks(p);
        const char *end = name_end(p);
        ompjit__buf_printf(names, "%.*s\n", (int)(end - p), p);
        p = end;
    }
}

/* ------------------------------------------------------------- describing */

/* ".u32" and its kin: a letter, and bits. */
static void read_type(ompjit__span word, ompjit__param *p)
{
    if (word.size < 3 || !strchr("usbf", word.at[1]) ||
        !isdigit((unsigned char)word.at[2]))
        return;
    unsigned long bits = strtoul(word.at + 2, NULL, 10);
    p->kind = word.at[1] == 'f' ? OMPJIT__PARAM_FLOAT : OMPJIT__PARAM_INTEGER;
    p->bytes = (uint8_t)(bits / 8);
}

/* ".param .u64 .ptr .align 1 NAME", ".param .align 4 .b8 NAME[8]" */
static ompjit_status describe_param(ompjit__span text, unsigned i,
                                    ompjit__kernel_desc *k, ompjit_error *err)
{
    ompjit__param *p = &k->params[i];
    bool pointer = false;
    const char *end = text.at + text.size;
    for (const char *at = skip_blanks(text.at); at < end;) {
        ompjit__span word = {at, strcspn(at, " \t\n,)")};
        pointer |= is(word, ".ptr");
        read_type(word, p);
        at = skip_blanks(at + word.size + !word.size);
    }
    if (pointer)
        p->kind = OMPJIT__PARAM_POINTER;
    p->name = ompjit__strdup("");
    k->nparams++;
    if (!p->name)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    if (!memchr(text.at, '[', text.size))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_FRONTEND,
                        "kernel %s: parameter %u is a structure, but a launch "
                        "passes pointers and numbers; pass a pointer to it",
                        k->name, i);
}

/* `all` is the list in parentheses, or empty. */
static ompjit_status describe_params(ompjit__span all, ompjit__kernel_desc *k,
                                     ompjit_error *err)
{
    unsigned n = 1;
    for (size_t i = 0; i < all.size; i++)
        n += all.at[i] == ',';
    k->params = calloc(n, sizeof *k->params);
    if (!k->params)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    const char *p = all.at, *end = all.at + all.size;
    ompjit_status status = OMPJIT_OK;
    while (p < end && !status) {
        size_t size = strcspn(p, ",)");
        ompjit__span one = {p, size};
        if (memmem(one.at, one.size, ".param", 6))
            status = describe_param(one, k->nparams, k, err);
        p += size + 1;
    }
    return status;
}

/* ".maxntid 256, 1, 1" or ".maxntid 256" */
static int32_t bound_of(ompjit__span directives)
{
    static const char word[] = ".maxntid";
    const char *p = memmem(directives.at, directives.size, word,
                           sizeof word - 1);
    unsigned n[3] = {1, 1, 1};
    if (!p ||
        sscanf(p + sizeof word - 1, "%u, %u, %u", &n[0], &n[1], &n[2]) < 1)
        return 0;
    return (int32_t)(n[0] * n[1] * n[2]);
}

/* Adds a kernel to the unit, which owns it from then on. */
static ompjit_status describe_entry(const ompjit__ptx_entry *e,
                                    ompjit__unit *unit, ompjit_error *err)
{
    ompjit__kernel_desc *k = realloc(
        unit->kernels, (unit->nkernels + 1) * sizeof *unit->kernels);
    if (!k)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    unit->kernels = k;
    k = &unit->kernels[unit->nkernels++];
    *k = (ompjit__kernel_desc){
        .symbol = ompjit__format("%.*s", (int)e->name.size, e->name.at),
        .cuda = true,
        .max_threads = bound_of(e->directives)};
    k->name = k->symbol ? ompjit__kernel_name(k->symbol, &k->line) : NULL;
    if (!k->name)
        return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    return describe_params(e->params, k, err);
}

/* The name of the variable whose definition begins at p: the last word before
 * its dimension, its value or the end. */
static ompjit__span variable_name(const char *p)
{
    const char *end = p + strcspn(p, "[;=");
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    const char *name = end;
    while (name > p && is_name(name[-1]))
        name--;
    return (ompjit__span){name, (size_t)(end - name)};
}

/* Is the variable the program's? NVRTC names literals $str, __unnamed_1 and so
 * on; nothing writes them. The device runtime's own variables, which may have
 * been linked (backend/cuda/cuda_runtime.c), are each image's. */
static bool is_programs(ompjit__span name)
{
    static const char *const others[] = {"$", "__unnamed_", "ompjit_rt"};
    for (size_t i = 0; i < OMPJIT__COUNT(others); i++)
        if (!strncmp(name.at, others[i], strlen(others[i])))
            return false;
    return true;
}

/* Does a definition in global memory begin here, where a line does? NVRTC says
 * .visible only of code that is to be linked with other code. */
static bool defines_variable(const char *line)
{
    static const char visible[] = ".visible ", global[] = ".global ";
    if (!strncmp(line, visible, sizeof visible - 1))
        line += sizeof visible - 1;
    return !strncmp(line, global, sizeof global - 1);
}

/* Variables that a kernel may change. A module with any stays one image on a
 * GPU: each further image, as of a variant, would have variables of its own. */
static ompjit_status describe_variables(const char *ptx, ompjit__unit *unit,
                                        ompjit_error *err)
{
    for (const char *p = ptx; *p; p = next_line(p)) {
        ompjit__span name = variable_name(p);
        if (!defines_variable(p) || !is_programs(name))
            continue;
        ompjit__global_desc *g = realloc(
            unit->globals, (unit->nglobals + 1) * sizeof *unit->globals);
        if (!g)
            return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
        unit->globals = g;
        g[unit->nglobals] = (ompjit__global_desc){
            .symbol = ompjit__format("%.*s", (int)name.size, name.at)};
        if (!g[unit->nglobals++].symbol)
            return ompjit__no_memory(err, OMPJIT_STAGE_FRONTEND);
    }
    unit->stays_generic = unit->nglobals != 0;
    return OMPJIT_OK;
}

ompjit_status ompjit__ptx_describe(const char *ptx, ompjit__unit *unit,
                                   ompjit_error *err)
{
    ompjit__ptx_entry e;
    ompjit_status status = OMPJIT_OK;
    for (const char *p = ptx; !status && ompjit__ptx_next(p, &e);
         p = e.whole.at + e.whole.size)
        status = describe_entry(&e, unit, err);
    return status ? status : describe_variables(ptx, unit, err);
}

/* ------------------------------------------------------------ specializing */

/* The values that are written into one kernel, or into the text between
 * kernels. */
struct writing {
    const ompjit__kernel_desc *kernel; /* NULL: a function's body */
    const ompjit__facts *facts;
    uint32_t threads[3], teams[3];     /* 0: not known */
};

/* Bits of the registers that are called so; 0: not known. */
static unsigned register_bits(ompjit__span r)
{
    static const struct {
        const char *prefix;
        unsigned bits;
    } kinds[] = {{"%rs", 16}, {"%rd", 64}, {"%fd", 64}, {"%r", 32}, {"%f", 32}};
    for (size_t i = 0; i < OMPJIT__COUNT(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);
        if (r.size > n && !memcmp(r.at, kinds[i].prefix, n) &&
            isdigit((unsigned char)r.at[n]))
            return kinds[i].bits;
    }
    return 0;
}

/* The value as `ld.param` of that type would have it in a register. */
static uint64_t extended(uint64_t value, ompjit__span type, unsigned bits)
{
    unsigned from = (unsigned)strtoul(type.at + 1, NULL, 10);
    if (from < 64 && type.at[0] == 's')
        value = (uint64_t)((int64_t)(value << (64 - from)) >> (64 - from));
    else if (from < 64)
        value &= (UINT64_C(1) << from) - 1;
    return bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

/* "NAME_param_I" is parameter I; false for another name. */
static bool param_number(ompjit__span name, const char *symbol, unsigned *i)
{
    static const char middle[] = "_param_";
    size_t n = strlen(symbol), m = sizeof middle - 1;
    if (name.size <= n + m || memcmp(name.at, symbol, n) ||
        memcmp(name.at + n, middle, m))
        return false;
    char *end;
    *i = (unsigned)strtoul(name.at + n + m, &end, 10);
    return end == name.at + name.size;
}

/* "ld.param.u32 %r1, [NAME_param_0];" becomes "mov.b32 %r1, 0x2a;". False, and
 * nothing is written, for any other line: an address with an offset, a vector,
 * a parameter that is not folded. */
static bool write_literal(const struct writing *w, const char *p,
                          ompjit__buf *out)
{
    static const char word[] = "ld.param.";
    unsigned i;
    if (!w->kernel || strncmp(p, word, sizeof word - 1))
        return false;
    ompjit__span type = {p + sizeof word - 1, 0};
    type.size = (size_t)(name_end(type.at) - type.at);
    ompjit__span reg = {skip_blanks(type.at + type.size), 0};
    reg.size = strcspn(reg.at, ", \t\n");
    const char *open = skip_blanks(reg.at + reg.size);
    open = *open == ',' ? skip_blanks(open + 1) : open;
    ompjit__span name = {open + 1, strcspn(open + 1, "]+ \n")};
    unsigned bits = register_bits(reg);
    if (*open != '[' || !bits || name.at[name.size] != ']' ||
        !param_number(name, w->kernel->symbol, &i) || i >= 64 ||
        !(w->facts->literals.mask >> i & 1))
        return false;
    ompjit__buf_printf(
        out, "mov.b%u %.*s, 0x%llx;", bits, (int)reg.size, reg.at,
        (unsigned long long)extended(w->facts->literals.values[i], type, bits));
    return true;
}

/* The number that a register of the machine is known to have: with one thread
 * in a direction the thread's number there is 0. */
static bool known_register(const struct writing *w, ompjit__span r,
                           uint32_t *value)
{
    static const char *const names[] = {"%ntid.", "%tid.", "%nctaid.",
                                        "%ctaid."};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (r.size != n + 1 || memcmp(r.at, names[i], n))
            continue;
        unsigned d = (unsigned)(r.at[n] - 'x');
        if (d > 2)
            return false;
        uint32_t count = (i < 2 ? w->threads : w->teams)[d];
        *value = i % 2 ? 0 : count;
        return i % 2 ? count == 1 : count != 0;
    }
    return false;
}

/* "mov.u32 %r1, %ntid.x;" becomes "mov.u32 %r1, 256;" */
static bool write_register(const struct writing *w, const char *p,
                           ompjit__buf *out)
{
    static const char word[] = "mov.u32";
    uint32_t value;
    if (strncmp(p, word, sizeof word - 1))
        return false;
    const char *comma = p + strcspn(p, ",;\n");
    if (*comma != ',')
        return false;
    ompjit__span from = {skip_blanks(comma + 1), 0};
    from.size = strcspn(from.at, ";\n");
    if (!known_register(w, from, &value))
        return false;
    ompjit__buf_printf(out, "%.*s, %u;", (int)(comma - p), p, value);
    return true;
}

/* Line by line, each with its indentation and its line break. */
static void write_lines(const struct writing *w, ompjit__span text,
                        ompjit__buf *out)
{
    const char *p = text.at, *end = text.at + text.size;
    while (p < end) {
        const char *next = next_line(p);
        const char *stop = next < end ? next : end;
        const char *word = p + strspn(p, " \t");
        ompjit__buf_add(out, p, (size_t)(word - p));
        if (write_literal(w, word, out) || write_register(w, word, out))
            ompjit__buf_add(out, "\n", 1);
        else
            ompjit__buf_add(out, word, (size_t)(stop - word));
        p = next;
    }
}

/* The end of the declarations of a body, which come first in PTX: ".reg" and
 * its kin, comments, empty lines. A call may stand behind them. */
static size_t declarations(ompjit__span body)
{
    const char *p = body.at;
    while (p < body.at + body.size) {
        const char *word = p + strspn(p, " \t");
        if (*word != '.' && *word != '\n' && *word != '/')
            break;
        p = next_line(p);
    }
    return (size_t)(p - body.at);
}

/* If the team's size is known it replaces the bound, and so do the teams
 * that shall be resident. */
static void write_directives(const struct writing *w, ompjit__span text,
                             ompjit__buf *out)
{
    static const char most[] = ".maxntid", least[] = ".minnctapersm";
    const char *end = text.at + text.size;
    if (!w->threads[0]) {
        ompjit__buf_add(out, text.at, text.size);
        return;
    }
    ompjit__buf_printf(out, "\n.reqntid %u, %u, %u\n", w->threads[0],
                       w->threads[1], w->threads[2]);
    if (w->facts->resident_teams)
        ompjit__buf_printf(out, "%s %u\n", least, w->facts->resident_teams);
    for (const char *p = text.at, *next; p < end; p = next) {
        const char *word = p + strspn(p, " \t");
        next = next_line(p) < end ? next_line(p) : end;
        if (strncmp(word, most, sizeof most - 1) &&
            (!w->facts->resident_teams ||
             strncmp(word, least, sizeof least - 1)))
            ompjit__buf_add(out, p, (size_t)(next - p));
    }
}

/* One kernel, with the values where w->kernel is set. */
static void write_entry(struct writing *w, const ompjit__ptx_entry *e,
                        ompjit__buf *out)
{
    size_t head = declarations(e->body);
    ompjit__span rest = {e->body.at + head, e->body.size - head};
    ompjit__buf_add(out, e->whole.at,
                    (size_t)(e->directives.at - e->whole.at));
    write_directives(w, e->directives, out);
    ompjit__buf_add(out, "{", 1);
    ompjit__buf_add(out, e->body.at, head);
    if (w->kernel && w->kernel->openmp)
        ompjit__buf_printf(out, "\tcall.uni %s, ();\n", OMPJIT__CUDA_BEGIN);
    write_lines(w, rest, out);
    ompjit__buf_add(out, "}", 1);
}

/* NULL: the unit does not have it. */
static const ompjit__kernel_desc *kernel_of(const ompjit__unit *unit,
                                            ompjit__span name)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (is(name, unit->kernels[i].symbol))
            return &unit->kernels[i];
    return NULL;
}

/* Functions between the kernels get the geometry only: they may be called by
 * any of them. */
void ompjit__ptx_specialize(const char *ptx, const ompjit__unit *unit,
                            const ompjit__spec *spec, ompjit__buf *out)
{
    struct writing w = {.facts = &spec->facts};
    ompjit__ptx_entry e;
    const char *p = ptx;
    ompjit__extent_numbers(&w.facts->threads, w.threads);
    ompjit__extent_numbers(&w.facts->teams, w.teams);
    while (ompjit__ptx_next(p, &e)) {
        w.kernel = NULL;
        write_lines(&w, (ompjit__span){p, (size_t)(e.whole.at - p)}, out);
        w.kernel = kernel_of(unit, e.name);
        if (!spec->kernel || is(e.name, spec->kernel))
            write_entry(&w, &e, out);
        p = e.whole.at + e.whole.size;
    }
    w.kernel = NULL;
    write_lines(&w, (ompjit__span){p, strlen(p)}, out);
}

/* ---------------------------------------------------------------- joining */

void ompjit__ptx_rename(const char *ptx, const char *from, const char *to,
                        ompjit__buf *out)
{
    size_t length = strlen(from);
    const char *rest = ptx;
    for (const char *p = ptx; (p = strstr(p, from)); p += length) {
        if ((p > ptx && is_name(p[-1])) || is_name(p[length]))
            continue;
        ompjit__buf_add(out, rest, (size_t)(p - rest));
        ompjit__buf_printf(out, "%s", to);
        rest = p + length;
    }
    ompjit__buf_add(out, rest, strlen(rest));
}

/* Behind ".version 9.0 .target sm_90 .address_size 64"; NULL: no header. */
static const char *behind_header(const char *ptx)
{
    const char *p = strstr(ptx, "\n.address_size ");
    return p ? next_line(p + 1) : NULL;
}

unsigned ompjit__ptx_text_version(const char *ptx)
{
    const char *p = strstr(ptx, ".version ");
    unsigned major = 0, minor = 0;
    if (p)
        sscanf(p, ".version %u.%u", &major, &minor);
    return 10 * major + minor;
}

/* Tells whether the text defines or declares the function. */
static bool has_function(const char *ptx, ompjit__span name)
{
    for (const char *p = ptx; (p = memmem(p, strlen(p), name.at, name.size));
         p += name.size) {
        const char *line = line_start(ptx, p);
        if (p > ptx && !is_name(p[-1]) && !is_name(p[name.size]) &&
            memmem(line, (size_t)(p - line), ".func", 5))
            return true;
    }
    return false;
}

/* The program's text without declarations of what the library has. */
static void add_without(const char *library, const char *p, ompjit__buf *out)
{
    static const char word[] = ".extern .func";
    for (const char *next; (next = strstr(p, word)); ) {
        ompjit__buf_add(out, p, (size_t)(next - p));
        const char *name = skip_blanks(next + sizeof word - 1);
        if (*name == '(')
            name = behind(name, '(', ')');
        name = name ? skip_blanks(name) : "";
        const char *end = next + strcspn(next, ";");
        ompjit__span it = {name, (size_t)(name_end(name) - name)};
        if (!has_function(library, it))
            ompjit__buf_add(out, next, (size_t)(end - next + (*end == ';')));
        p = end + (*end == ';');
    }
    ompjit__buf_add(out, p, strlen(p));
}

/*     header                     the newer one
 *     library, without its own   definitions first
 *     program, without its own   and without declarations of those
 *
 * PTX wants a function to be declared or defined before it is called, and not
 * to be declared as external where it is defined. */
ompjit_status ompjit__ptx_join(const char *library, const char *program,
                               ompjit__buf *out, ompjit_error *err)
{
    const char *first = behind_header(library);
    const char *second = behind_header(program);
    if (!first || !second)
        return ompjit__fail(err, OMPJIT_ERR_INTERNAL, OMPJIT_STAGE_LINK,
                            "PTX without a header does not link");
    bool newer = ompjit__ptx_text_version(library) >
                 ompjit__ptx_text_version(program);
    ompjit__buf_add(out, newer ? library : program,
                    (size_t)(newer ? first - library : second - program));
    ompjit__buf_add(out, first, strlen(first));
    add_without(first, second, out);
    return OMPJIT_OK;
}
