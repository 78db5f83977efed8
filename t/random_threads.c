/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prints a random OpenMP program whose threads communicate:
 *
 *     random_threads SEED > program.c
 *
 * The program has a target region and a serial model of the same, runs both
 * several times on the same data, and compares all that they have changed. It
 * prints "agrees", or each difference; its exit status is 0 or 1.
 *
 * A region is a sequence of phases. In a phase a thread writes only elements of
 * its own, reads only what nobody writes, and adds to what others add to by
 * operations whose order does not matter; between phases is a barrier of some
 * kind. So a phase may be run thread by thread, which is the model. Only what
 * the language orders further (ordered, locks in one phase after another) is
 * written in sequence.
 *
 * A slice is the data of one team, or of one iteration of a distributed loop:
 * teams have nothing in common but counters.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"

/* ------------------------------------------------------------------- texts */

enum { TEXT = 8000, NAME = 200 }; /* bytes: an expression, a name */

/* The target region and the model of it, written side by side. */
struct text {
    char *data;
    size_t size;
};
static struct text device, model;
static int depth = 1;

static void append(struct text *t, const char *line)
{
    size_t indent = (size_t)depth * 4, length = strlen(line);
    t->data = realloc(t->data, t->size + indent + length + 2);
    if (!t->data)
        abort();
    bool pragma = *line == '#';
    memset(t->data + t->size, ' ', pragma ? 0 : indent);
    t->size += pragma ? 0 : indent;
    memcpy(t->data + t->size, line, length);
    t->size += length;
    t->data[t->size++] = '\n';
    t->data[t->size] = '\0';
}

/* Into a buffer that is large enough. */
static void text_to(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void text_to(char *out, size_t size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (vsnprintf(out, size, format, list) >= (int)size)
        abort();
    va_end(list);
}

enum side { DEVICE = 1, MODEL = 2, BOTH = DEVICE | MODEL };

static void put(enum side side, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(enum side side, const char *format, ...)
{
    char line[2 * TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (side & DEVICE)
        append(&device, line);
    if (side & MODEL)
        append(&model, line);
}

static void open_block(enum side side, const char *format, const char *text)
{
    put(side, format, text);
    depth++;
}

static void close_block(enum side side)
{
    depth--;
    put(side, "}");
}

/* ------------------------------------------------------------------ program */

enum form {
    TARGET_PARALLEL,   /* SPMD                                            */
    TARGET,            /* sequential parts with regions in between        */
    TEAMS,             /* the same in several teams                       */
    DISTRIBUTE,        /* the same in a loop over slices                  */
    COMBINED,          /* distribute parallel for: iterations, no threads */
    FORMS
};
static enum form form;
static unsigned threads, teams, slices, launches;

/* A slice has arrays of one element for each of MOST threads, scalars, and
 * counters that all slices add to. */
enum { MOST = 128, ARRAYS = 4, SCALARS = 4, COUNTERS = 3, PRIVATES = 3 };

enum place {
    MAPPED,   /* a pointer's section                                     */
    GLOBAL,   /* a declare target variable                               */
    TEAM      /* a local variable outside of the parallel region         */
};
static enum place array_place[ARRAYS], scalar_place[SCALARS];

/* The threads' rights in the phase that is being written. */
enum access { READ, OWN, ADD, SEQUENCE, NOTHING };
static enum access array_access[ARRAYS], scalar_access[SCALARS];
static char scalar_operator[SCALARS];
static unsigned scalar_owner[SCALARS]; /* a thread's number, where OWN */

/* The place of an expression. */
static bool has_thread;   /* in a parallel region, outside of worksharing */
static bool has_index;    /* in a worksharing loop                        */

/* ------------------------------------------------------------- expressions */

static void name_array(char *out, size_t size, unsigned i, const char *index)
{
    static const char *const slice[] = {"S * MOST + ", "S * MOST + ", ""};
    static const char letter[] = {'a', 'g', 't'};
    text_to(out, size, "%c%u[%s%s]", letter[array_place[i]], i,
             slice[array_place[i]], index);
}

static void name_scalar(char *out, size_t size, unsigned i)
{
    static const char *const format[] = {"f%u[S]", "h%u[S]", "u%u"};
    text_to(out, size, format[scalar_place[i]], i);
}

/* "ME" or "i": what nobody else has in this phase. */
static const char *own_index(void)
{
    return has_index ? "i" : "ME";
}

static void expression(char *out, size_t size, int deep);

static bool leaf_of_array(char *out, size_t size)
{
    unsigned i = below(ARRAYS);
    char index[TEXT + 16], inner[TEXT];
    if (array_access[i] == READ) {
        expression(inner, sizeof inner, 0);
        text_to(index, sizeof index, "(%s) %% MOST", inner);
    } else if (array_access[i] == OWN && (has_thread || has_index)) {
        text_to(index, sizeof index, "%s", own_index());
    } else {
        return false;
    }
    name_array(out, size, i, index);
    return true;
}

static bool leaf_of_scalar(char *out, size_t size)
{
    unsigned i = below(SCALARS);
    if (scalar_access[i] != READ)
        return false;
    name_scalar(out, size, i);
    return true;
}

static void leaf(char *out, size_t size)
{
    switch (below(9)) {
    case 0:
    case 1:
        if (leaf_of_scalar(out, size))
            return;
        break;
    case 2:
        text_to(out, size, "c");
        return;
    case 3:
        text_to(out, size, "r");
        return;
    case 4:
    case 5:
        if (has_thread || has_index) {
            text_to(out, size, "%s", own_index());
            return;
        }
        break;
    case 6:
        if (has_thread) {
            text_to(out, size, "P(v%u)", below(PRIVATES));
            return;
        }
        break;
    default:
        break;
    }
    text_to(out, size, "%uu", 1 + below(99));
}

static void expression(char *out, size_t size, int deep)
{
    static const char *const operators[] = {"+", "-", "*", "^", "|", "&"};
    char a[TEXT], b[TEXT];
    if (deep > 0 && chance(25) && leaf_of_array(out, size))
        return;
    if (deep <= 0 || chance(25)) {
        leaf(out, size);
        return;
    }
    expression(a, sizeof a, deep - 1);
    expression(b, sizeof b, deep - 1);
    if (chance(10))
        text_to(out, size, "(%s > %s ? %s : %uu)", a, b, b, below(50));
    else if (chance(10))
        text_to(out, size, "(%s >> %u)", a, 1 + below(9));
    else
        text_to(out, size, "(%s %s %s)", a, operators[below(6)], b);
}

/* -------------------------------------------------------------- statements */

static void write_array(unsigned i)
{
    char to[NAME], value[TEXT];
    name_array(to, sizeof to, i, own_index());
    expression(value, sizeof value, 3);
    put(BOTH, "%s %s %s;", to, chance(50) ? "=" : "+=", value);
}

static void write_private(void)
{
    char value[TEXT];
    expression(value, sizeof value, 2);
    put(BOTH, "P(v%u) = %s;", below(PRIVATES), value);
}

/* One thread has the scalar to itself. */
static void own_scalar(unsigned i)
{
    char name[NAME], value[TEXT];
    name_scalar(name, sizeof name, i);
    expression(value, sizeof value, 2);
    put(BOTH, "if (ME == (%uu + r) %% N)", scalar_owner[i]);
    put(BOTH, "    %s = %s * 3 + (%s);", name, name, value);
}

/* All add by one operation, each way of exclusion for a whole phase. */
static void add_to_scalar(unsigned i, int way)
{
    char name[NAME], value[TEXT];
    name_scalar(name, sizeof name, i);
    expression(value, sizeof value, 2);
    if (way == 0)
        put(DEVICE, "#pragma omp atomic update%s",
            chance(30) ? " seq_cst" : "");
    else if (way == 1)
        put(DEVICE, "#pragma omp critical(c%u)", i);
    else
        put(DEVICE, "omp_set_lock(&lock%u);", i);
    if (way == 0)
        put(BOTH, "%s %c= %s;", name, scalar_operator[i], value);
    else
        put(BOTH, "{ %s %c= %s; }", name, scalar_operator[i], value);
    if (way == 2)
        put(DEVICE, "omp_unset_lock(&lock%u);", i);
}

static void count(void)
{
    char value[TEXT];
    unsigned i = below(COUNTERS);
    expression(value, sizeof value, 1);
    put(DEVICE, "#pragma omp atomic");
    put(BOTH, "k[%u] %c= %s;", i, "+^|"[i], value);
}

/* Chooses the use of each array and scalar in the next phase. */
static void deal_out(bool sequential)
{
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = chance(50) ? READ : OWN;
    for (unsigned i = 0; i < SCALARS; i++) {
        static const enum access way[] = {READ, READ, OWN, ADD};
        scalar_access[i] = sequential ? READ : way[below(4)];
        scalar_operator[i] = "+^|"[below(3)];
        scalar_owner[i] = below(threads);
    }
}

static int add_way[SCALARS];

static void statement(void)
{
    unsigned a = below(ARRAYS), s = below(SCALARS);
    switch (below(6)) {
    case 0:
    case 1:
        if (array_access[a] == OWN)
            write_array(a);
        break;
    case 2:
        if (has_thread)
            write_private();
        break;
    case 3:
        if (scalar_access[s] == OWN && has_thread)
            own_scalar(s);
        break;
    case 4:
        if (scalar_access[s] == ADD)
            add_to_scalar(s, add_way[s]);
        break;
    default:
        if (chance(30))
            count();
        break;
    }
}

static void statements(unsigned n)
{
    for (unsigned i = 0; i < SCALARS; i++)
        add_way[i] = (int)below(3);
    for (unsigned i = 0; i < n; i++) {
        bool conditional = chance(15);
        char condition[TEXT];
        if (conditional) {
            expression(condition, sizeof condition, 2);
            open_block(BOTH, "if ((%s) & 1) {", condition);
        }
        statement();
        if (conditional)
            close_block(BOTH);
    }
}

/* ------------------------------------------------------------------ phases */

/* Code of each thread, up to a barrier. */
static void thread_phase(void)
{
    deal_out(false);
    has_thread = true;
    open_block(MODEL, "for (unsigned ME = 0; ME < N; ME++) {%s", "");
    depth--;
    open_block(DEVICE, "{%s", "");
    statements(2 + below(6));
    close_block(BOTH);
    has_thread = false;
    put(DEVICE, "#pragma omp barrier");
}

static const char *schedule(void)
{
    static const char *const schedules[] = {
        "",
        "schedule(static)",
        "schedule(static, 1)",
        "schedule(static, 3)",
        "schedule(dynamic)",
        "schedule(dynamic, 4)",
        "schedule(guided)",
        "schedule(auto)",
    };
    return schedules[below(8)];
}

/* A loop whose iterations are on their own. */
static void loop_phase(const char *construct)
{
    unsigned bound = 1 + below(MOST);
    unsigned sum = below(SCALARS);
    char name[NAME], value[TEXT];
    deal_out(false);
    bool reduces = scalar_place[sum] == TEAM && chance(60);
    if (reduces)
        scalar_access[sum] = NOTHING;
    name_scalar(name, sizeof name, sum);
    has_index = true;
    if (reduces)
        put(DEVICE, "#pragma omp %s %s reduction(+:%s)", construct, schedule(),
            name);
    else
        put(DEVICE, "#pragma omp %s %s", construct, schedule());
    open_block(BOTH, "for (unsigned i = 0; i < %s; i++) {",
               (text_to(value, sizeof value, "%u", bound), value));
    statements(1 + below(4));
    if (reduces) {
        expression(value, sizeof value, 2);
        put(BOTH, "%s += %s;", name, value);
    }
    close_block(BOTH);
    has_index = false;
}

static void ordered_phase(void)
{
    unsigned s = below(SCALARS);
    char name[NAME], value[TEXT], bound[20];
    deal_out(false);
    for (unsigned i = 0; i < SCALARS; i++)
        if (scalar_access[i] == OWN)
            scalar_access[i] = READ;
    scalar_access[s] = SEQUENCE;
    name_scalar(name, sizeof name, s);
    text_to(bound, sizeof bound, "%u", 1 + below(MOST));
    has_index = true;
    put(DEVICE, "#pragma omp for ordered %s", schedule());
    open_block(BOTH, "for (unsigned i = 0; i < %s; i++) {", bound);
    statements(below(3));
    expression(value, sizeof value, 2);
    put(DEVICE, "#pragma omp ordered");
    put(BOTH, "{ %s = %s * 3 + (%s); }", name, name, value);
    close_block(BOTH);
    has_index = false;
}

/* Statements of one thread, without a number. */
static void alone(unsigned n)
{
    char to[NAME], name[NAME], value[TEXT];
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = READ;
    for (unsigned i = 0; i < SCALARS; i++)
        scalar_access[i] = READ;
    for (unsigned i = 0; i < n; i++) {
        expression(value, sizeof value, 3);
        if (chance(60)) {
            name_scalar(name, sizeof name, below(SCALARS));
            if (chance(30))
                put(BOTH, "if ((%s) & 2)", value);
            put(BOTH, "%s = %s * 5 + (%s);", name, name, value);
        } else if (chance(60)) {
            char index[20];
            text_to(index, sizeof index, "%u", below(MOST));
            name_array(to, sizeof to, below(ARRAYS), index);
            put(BOTH, "%s += %s;", to, value);
        } else {
            count();
        }
    }
}

static void single_phase(void)
{
    put(DEVICE, "#pragma omp single");
    open_block(BOTH, "{%s", "");
    alone(1 + below(3));
    close_block(BOTH);
}

static void masked_phase(void)
{
    put(DEVICE, "#pragma omp masked");
    open_block(BOTH, "{%s", "");
    alone(1 + below(3));
    close_block(BOTH);
    put(DEVICE, "#pragma omp barrier");
}

/* Each section has a scalar of its own. */
static void sections_phase(void)
{
    char name[NAME], value[TEXT];
    deal_out(true);
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = READ;
    for (unsigned i = 0; i < SCALARS; i++)
        scalar_access[i] = i < 2 ? NOTHING : READ;
    put(DEVICE, "#pragma omp sections");
    open_block(BOTH, "{%s", "");
    for (unsigned i = 0; i < 2; i++) {
        name_scalar(name, sizeof name, i);
        expression(value, sizeof value, 2);
        put(DEVICE, "#pragma omp section");
        put(BOTH, "{ %s = %s * 7 + (%s); }", name, name, value);
    }
    close_block(BOTH);
}

/* Tasks of one thread, which write elements of their own. */
static void task_phase(void)
{
    unsigned a = below(ARRAYS);
    char to[NAME], value[TEXT];
    deal_out(true);
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = i == a ? OWN : READ;
    name_array(to, sizeof to, a, "i");
    put(DEVICE, "#pragma omp single");
    open_block(BOTH, "{%s", "");
    open_block(BOTH, "for (unsigned i = 0; i < %s; i++) {",
               (text_to(value, sizeof value, "%u", 1 + below(20)), value));
    has_index = true;
    expression(value, sizeof value, 2);
    put(DEVICE, "#pragma omp task firstprivate(i)");
    put(BOTH, "{ %s += %s; }", to, value);
    has_index = false;
    close_block(BOTH);
    put(DEVICE, "#pragma omp taskwait");
    close_block(BOTH);
}

/* A thread's value goes through memory to another thread: written, a barrier,
 * read. */
static void pass_on_phase(void)
{
    unsigned a = below(ARRAYS);
    char mine[NAME], theirs[NAME], value[TEXT], index[NAME];
    deal_out(true);
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = i == a ? OWN : READ;
    has_thread = true;
    name_array(mine, sizeof mine, a, "ME");
    text_to(index, sizeof index, "(ME + %u) %% N", 1 + below(40));
    name_array(theirs, sizeof theirs, a, index);
    expression(value, sizeof value, 2);
    put(MODEL, "for (unsigned ME = 0; ME < N; ME++)");
    put(BOTH, "    %s = %s;", mine, value);
    put(DEVICE, "#pragma omp barrier");
    put(MODEL, "for (unsigned ME = 0; ME < N; ME++)");
    put(BOTH, "    P(v0) += %s;", theirs);
    put(DEVICE, "#pragma omp barrier");
    has_thread = false;
}

/* One thread after the other, the last first, each waiting for its turn. */
static void turns_phase(void)
{
    char name[NAME], value[TEXT];
    unsigned s = below(SCALARS);
    deal_out(true);
    for (unsigned i = 0; i < ARRAYS; i++)
        array_access[i] = READ;
    scalar_access[s] = SEQUENCE;
    name_scalar(name, sizeof name, s);
    has_thread = true;
    open_block(MODEL, "for (unsigned ME = N; ME-- > 0;) {%s", "");
    depth--;
    open_block(DEVICE, "{%s", "");
    put(DEVICE, "unsigned turn;");
    put(DEVICE, "do {");
    put(DEVICE, "#pragma omp atomic read acquire");
    put(DEVICE, "    turn = w[S];");
    put(DEVICE, "} while (turn != N - 1 - ME);");
    expression(value, sizeof value, 2);
    put(BOTH, "%s = %s * 3 + (%s);", name, name, value);
    put(DEVICE, "#pragma omp atomic write release");
    put(DEVICE, "w[S] = N - ME;");
    close_block(BOTH);
    has_thread = false;
    put(DEVICE, "#pragma omp barrier");
    put(DEVICE, "if (ME == 0) w[S] = 0;");
    put(DEVICE, "#pragma omp barrier");
}

static void phase(void)
{
    switch (below(11)) {
    case 0:
    case 1:
    case 2:
        thread_phase();
        break;
    case 3:
        loop_phase("for");
        break;
    case 4:
        ordered_phase();
        break;
    case 5:
        single_phase();
        break;
    case 6:
        masked_phase();
        break;
    case 7:
        sections_phase();
        break;
    case 8:
        task_phase();
        break;
    case 9:
        turns_phase();
        break;
    default:
        pass_on_phase();
        break;
    }
}

static void phases(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        bool repeats = chance(30);
        if (repeats)
            open_block(BOTH, "for (unsigned r%s = 0; r1 < 3; r1++) {", "1");
        phase();
        if (repeats)
            close_block(BOTH);
    }
}

/* ------------------------------------------------------------------ region */

static void declare_privates(void)
{
    for (unsigned i = 0; i < PRIVATES; i++) {
        put(DEVICE, "unsigned v%u = %u + c;", i, i);
        put(MODEL, "unsigned v%u[MOST];", i);
        put(MODEL, "for (unsigned ME = 0; ME < MOST; ME++)");
        put(MODEL, "    v%u[ME] = %u + c;", i, i);
    }
}

static void parallel(void)
{
    put(DEVICE, "#pragma omp parallel num_threads(%u)", threads);
    open_block(BOTH, "{%s", "");
    put(DEVICE, "const unsigned ME = (unsigned)omp_get_thread_num();");
    put(DEVICE, "const unsigned N = (unsigned)omp_get_num_threads();");
    put(DEVICE, "if (ME == 0) n[S] = N;");
    put(MODEL, "const unsigned N = n[S];");
    declare_privates();
    put(BOTH, "(void)v0, (void)v1, (void)v2;");
    phases(1 + below(5));
    close_block(BOTH);
}

static void declare_team(void)
{
    for (unsigned i = 0; i < ARRAYS; i++) {
        if (array_place[i] != TEAM)
            continue;
        put(BOTH, "unsigned t%u[MOST];", i);
        put(BOTH, "for (unsigned i = 0; i < MOST; i++)");
        put(BOTH, "    t%u[i] = i * %u + c;", i, 1 + below(9));
    }
    for (unsigned i = 0; i < SCALARS; i++)
        if (scalar_place[i] == TEAM)
            put(BOTH, "unsigned u%u = %u + c;", i, below(9));
}

/* Nothing of a team is left behind it but what it says here. */
static void tell_team(void)
{
    for (unsigned i = 0; i < ARRAYS; i++)
        if (array_place[i] == TEAM)
            put(BOTH, "e[S] += t%u[%u] + t%u[%u];", i, below(MOST), i,
                below(MOST));
    for (unsigned i = 0; i < SCALARS; i++)
        if (scalar_place[i] == TEAM)
            put(BOTH, "e[S] = e[S] * 3 + u%u;", i);
}

/* Sequential code and parallel regions in turn, in a loop now and then. */
static void sequence(void)
{
    for (unsigned i = 0, n = 1 + below(3); i < n; i++) {
        bool repeats = chance(40);
        if (repeats)
            open_block(BOTH, "for (unsigned r%s = 0; r2 < 4; r2++) {", "2");
        if (chance(70))
            alone(1 + below(3));
        if (chance(60))
            parallel();
        else
            loop_phase("parallel for");
        if (chance(70))
            alone(1 + below(3));
        if (repeats)
            close_block(BOTH);
    }
}

static void with_slice(const char *number)
{
    put(BOTH, "const unsigned S = %s;", number);
    declare_team();
    sequence();
    tell_team();
}

static const char maps[] =
    "map(tofrom: a0[:TOTAL], a1[:TOTAL], a2[:TOTAL], a3[:TOTAL], "
    "f0[:SLICES], f1[:SLICES], f2[:SLICES], f3[:SLICES], k[:3], e[:SLICES], "
    "n[:SLICES], w[:SLICES])";

static void region(void)
{
    switch (form) {
    case TARGET_PARALLEL:
        put(DEVICE, "#pragma omp target parallel num_threads(%u) %s", threads,
            maps);
        open_block(BOTH, "{%s", "");
        put(BOTH, "const unsigned S = 0;");
        put(DEVICE, "const unsigned ME = (unsigned)omp_get_thread_num();");
        put(DEVICE, "const unsigned N = (unsigned)omp_get_num_threads();");
        put(DEVICE, "if (ME == 0) n[0] = N;");
        put(MODEL, "const unsigned N = n[0];");
        declare_privates();
        put(BOTH, "(void)v0, (void)v1, (void)v2;");
        phases(2 + below(6));
        close_block(BOTH);
        break;
    case TARGET:
        put(DEVICE, "#pragma omp target thread_limit(%u) %s", threads, maps);
        open_block(BOTH, "{%s", "");
        with_slice("0");
        close_block(BOTH);
        break;
    case TEAMS:
        put(DEVICE, "#pragma omp target teams num_teams(%u) thread_limit(%u) %s",
            teams, threads, maps);
        put(MODEL, "for (unsigned s = 0; s < SLICES; s++)");
        open_block(BOTH, "{%s", "");
        put(DEVICE, "const unsigned s = (unsigned)omp_get_team_num();");
        with_slice("s");
        close_block(BOTH);
        break;
    case DISTRIBUTE:
        put(DEVICE,
            "#pragma omp target teams distribute num_teams(%u) "
            "thread_limit(%u) %s", teams, threads, maps);
        open_block(BOTH, "for (unsigned s = 0; s < SLICES; s++) {%s", "");
        with_slice("s");
        close_block(BOTH);
        break;
    default:
        put(BOTH, "const unsigned S = 0;");
        put(BOTH, "unsigned u0 = c;");
        scalar_place[0] = TEAM;
        loop_phase("target teams distribute parallel for map(tofrom: u0) MAPS");
        put(BOTH, "e[0] = e[0] * 3 + u0;");
        break;
    }
}

/* ------------------------------------------------------------------- whole */

static enum place place(void)
{
    bool has_team = form == TARGET || form == TEAMS || form == DISTRIBUTE;
    return has_team && chance(35) ? TEAM : chance(25) ? GLOBAL : MAPPED;
}

static void choose(void)
{
    static const unsigned counts[] = {1, 2, 3, 5, 8, 31, 32, 33, 64, 70, 128};
    form = (enum form)below(FORMS);
    threads = counts[below(11)];
    teams = form == TEAMS || form == DISTRIBUTE ? 1 + below(4) : 1;
    slices = form == DISTRIBUTE ? 1 + below(7) : teams;
    launches = 2 + below(8);
    for (unsigned i = 0; i < ARRAYS; i++)
        array_place[i] = place();
    for (unsigned i = 0; i < SCALARS; i++)
        scalar_place[i] = place();
}

static void print_parameters(void)
{
    printf("(");
    for (unsigned i = 0; i < ARRAYS; i++)
        printf("unsigned *a%u, ", i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("unsigned *f%u, ", i);
    printf("unsigned *k, unsigned *e, unsigned *n, unsigned *w, "
           "unsigned c, unsigned r)\n");
}

static void print_globals(void)
{
    printf("#pragma omp begin declare target\n");
    for (unsigned i = 0; i < ARRAYS; i++)
        printf("unsigned g%u[TOTAL];\n", i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("unsigned h%u[SLICES];\n", i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("omp_lock_t lock%u;\n", i);
    printf("#pragma omp end declare target\n\n"
           "static void start_locks(void)\n{\n#pragma omp target\n    {\n");
    for (unsigned i = 0; i < SCALARS; i++)
        printf("        omp_init_lock(&lock%u);\n", i);
    printf("    }\n}\n\n");
}

/* The host's copies of the data, and the model's. */
static void print_main(void)
{
    puts("enum { N_AT = 4 * TOTAL + 5 * SLICES + 3, WORDS = N_AT + 2 * SLICES };\n"
         "static unsigned mine[WORDS], models[WORDS];\n"
         "#define PARTS(w) w, w + TOTAL, w + 2 * TOTAL, w + 3 * TOTAL, \\\n"
         "    w + 4 * TOTAL, w + 4 * TOTAL + SLICES, \\\n"
         "    w + 4 * TOTAL + 2 * SLICES, w + 4 * TOTAL + 3 * SLICES, \\\n"
         "    w + 4 * TOTAL + 4 * SLICES, w + 4 * TOTAL + 4 * SLICES + 3, \\\n"
         "    w + N_AT, w + N_AT + SLICES\n"
         "static int different(const char *what, const unsigned *got,\n"
         "                     const unsigned *want, int words)\n"
         "{\n"
         "    for (int i = 0; i < words; i++)\n"
         "        if (got[i] != want[i])\n"
         "            return printf(\"%s[%d] is %u, not %u\\n\", what, i, got[i],\n"
         "                          want[i]), 1;\n"
         "    return 0;\n"
         "}\n"
         "\n"
         "int main(void)\n"
         "{\n"
         "    int bad = 0;\n"
         "    for (int i = 0; i < WORDS; i++)\n"
         "        mine[i] = models[i] =\n"
         "            i < N_AT ? (unsigned)i * 2654435761u >> 7 : 0;\n"
         "    start_locks();");
    printf("    for (unsigned r = 0; r < %u && !bad; r++) {\n"
           "        unsigned c = r * 2 / %u;\n"
           "        region(PARTS((mine)), c, r);\n"
           "        for (int i = 0; i < SLICES; i++)\n"
           "            models[N_AT + i] = mine[N_AT + i];\n",
           launches, launches);
    puts("        model(PARTS((models)), c, r);\n"
         "        bad |= different(\"data\", mine, models, WORDS);");
    for (unsigned i = 0; i < ARRAYS; i++)
        printf("#pragma omp target update from(g%u)\n"
               "        bad |= different(\"g%u\", g%u, model_g[%u], TOTAL);\n",
               i, i, i, i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("#pragma omp target update from(h%u)\n"
               "        bad |= different(\"h%u\", h%u, model_h[%u], SLICES);\n",
               i, i, i, i);
    puts("    }\n"
         "    for (int i = 0; i < SLICES; i++)\n"
         "        if (EXACT && mine[N_AT + i] && mine[N_AT + i] != THREADS)\n"
         "            bad |= printf(\"%u threads, not %u\\n\", mine[N_AT + i],\n"
         "                          THREADS);\n"
         "    puts(bad ? \"differs\" : \"agrees\");\n"
         "    return bad != 0;\n"
         "}");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: random_threads SEED\n"), 2;
    state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    choose();
    region();
    printf("#include <omp.h>\n#include <stdio.h>\n\n"
           "enum { MOST = %d, SLICES = %u, TOTAL = SLICES * MOST };\n"
           "#define THREADS %uu\n#define MAPS %s\n"
           "#ifndef EXACT\n#define EXACT 0\n#endif\n\n"
           "static unsigned model_g[4][TOTAL], model_h[4][SLICES];\n",
           MOST, slices, threads, maps);
    print_globals();
    printf("#define P(v) v\nstatic void region");
    print_parameters();
    printf("{\n%s}\n\n#undef P\n#define P(v) v[ME]\n", device.data);
    printf("static void model");
    print_parameters();
    printf("{\n");
    for (unsigned i = 0; i < ARRAYS; i++)
        printf("#define g%u model_g[%u]\n", i, i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("#define h%u model_h[%u]\n", i, i);
    printf("%s}\n", model.data);
    for (unsigned i = 0; i < ARRAYS; i++)
        printf("#undef g%u\n", i);
    for (unsigned i = 0; i < SCALARS; i++)
        printf("#undef h%u\n", i);
    print_main();
    free(device.data);
    free(model.data);
    return 0;
}
