/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The map clause on a device that counts: each map type's allocations, copies
 * and reference counts; the entries that clang 18 to 22 emit for structs,
 * pointers and private variables; every device call failed once; threads.
 */
#include "tap.h"
#include "fake.h"
#include "abi/offload.h"
#include "mapping/construct.h"

enum {
    NONE = OMPJIT__MAP_NONE, TO = OMPJIT__MAP_TO, FROM = OMPJIT__MAP_FROM,
    TOFROM = TO | FROM, ALWAYS = OMPJIT__MAP_ALWAYS,
    DELETE = OMPJIT__MAP_DELETE, POINTER = OMPJIT__MAP_PTR_AND_OBJ,
    PARAM = OMPJIT__MAP_TARGET_PARAM, RETURN = OMPJIT__MAP_RETURN_PARAM,
    PRIVATE = OMPJIT__MAP_PRIVATE, LITERAL = OMPJIT__MAP_LITERAL,
    IMPLICIT = OMPJIT__MAP_IMPLICIT, CLOSE = OMPJIT__MAP_CLOSE,
    PRESENT = OMPJIT__MAP_PRESENT, HOLD = OMPJIT__MAP_HOLD,
    ATTACH = OMPJIT__MAP_ATTACH
};
#define MEMBER(parent) ((int64_t)((uint64_t)((parent) + 1) << 48))
#define MAX_ENTRIES 24

/* Map arrays being written. */
typedef struct arrays {
    ompjit__maps m;
    void *bases[MAX_ENTRIES], *begins[MAX_ENTRIES], *names[MAX_ENTRIES];
    void *mappers[MAX_ENTRIES];
    int64_t sizes[MAX_ENTRIES], types[MAX_ENTRIES];
} arrays;

static void add(arrays *a, void *base, void *begin, int64_t size, int64_t type)
{
    int32_t i = a->m.n++;
    a->bases[i] = base;
    a->begins[i] = begin;
    a->sizes[i] = size;
    a->types[i] = type;
    a->m.bases = a->bases;
    a->m.begins = a->begins;
    a->m.sizes = a->sizes;
    a->m.types = a->types;
}

static ompjit__mapped *entry_of(ompjit_device *dev, const void *host)
{
    ompjit__mapped *e;
    ompjit__present_find(dev->present, host, 1, &e);
    return e;
}

static uint64_t count_of(ompjit_device *dev, const void *host)
{
    ompjit__mapped *e = entry_of(dev, host);
    return e ? ompjit__mapped_count(e) : 0;
}

static ompjit_status one(ompjit_device *dev,
                         ompjit_status (*f)(ompjit_device *,
                                            const ompjit__maps *,
                                            ompjit_error *),
                         void *begin, int64_t size, int64_t type,
                         ompjit_error *err)
{
    arrays a = {0};
    add(&a, begin, begin, size, type);
    return f(dev, &a.m, err);
}

/* ------------------------------------------------------------- map types */

enum { BYTES = 32 };

typedef struct row {
    const char *name;
    int64_t enter, leave; /* map types of begin and end                 */
    int before;           /* how often it is mapped already             */
    int at, size;         /* of the 32 bytes                            */
    ompjit_status status; /* of begin                                   */
    int allocs, to, from; /* by begin and end                           */
    int inside, after;    /* counts                                     */
} row;

static const row rows[] = {
    /* name              enter          leave  before at size status */
    {"alloc",            NONE,          NONE,       0, 0, 32, 0, 1, 0, 0, 1, 0},
    {"to",               TO,            TO,         0, 0, 32, 0, 1, 1, 0, 1, 0},
    {"from",             FROM,          FROM,       0, 0, 32, 0, 1, 0, 1, 1, 0},
    {"tofrom",           TOFROM,        TOFROM,     0, 0, 32, 0, 1, 1, 1, 1, 0},
    {"close",            TO | CLOSE,    TO,         0, 0, 32, 0, 1, 1, 0, 1, 0},
    {"implicit",         TO | IMPLICIT, NONE,       0, 0, 32, 0, 1, 1, 0, 1, 0},
    {"hold",             TO | HOLD,     FROM | HOLD,
                                                    0, 0, 32, 0, 1, 1, 1, 1, 0},
    {"literal",          LITERAL,       LITERAL,    0, 0, 32, 0, 0, 0, 0, 0, 0},
    {"private",          PRIVATE | TO,  PRIVATE,    0, 0, 32, 0, 0, 0, 0, 0, 0},
    {"empty",            TOFROM,        TOFROM,     0, 0,  0, 0, 0, 0, 0, 0, 0},
    {"to again",         TO,            TO,         1, 0, 32, 0, 0, 0, 0, 2, 1},
    {"from again",       FROM,          FROM,       1, 0, 32, 0, 0, 0, 0, 2, 1},
    {"part again",       TOFROM,        TOFROM,     1, 8,  8, 0, 0, 0, 0, 2, 1},
    {"empty again",      NONE,          NONE,       1, 8,  0, 0, 0, 0, 0, 2, 1},
    {"always to",        TO | ALWAYS,   NONE,       1, 0, 32, 0, 0, 1, 0, 2, 1},
    {"always from",      NONE,          FROM | ALWAYS,
                                                    1, 8,  8, 0, 0, 0, 1, 2, 1},
    {"always part",      TO | ALWAYS,   NONE,       2, 8,  8, 0, 0, 1, 0, 3, 2},
    {"delete",           NONE,          DELETE,     3, 0, 32, 0, 0, 0, 0, 4, 0},
    {"delete, held",     NONE | HOLD,   DELETE,     3, 0, 32, 0, 0, 0, 0, 4, 1},
    {"hold, not let go", HOLD,          NONE,       0, 0, 32, 0, 1, 0, 0, 1, 1},
    {"present",          PRESENT | TO,  PRESENT,    1, 0, 32, 0, 0, 0, 0, 2, 1},
    {"present, absent",  PRESENT | TO,  NONE,       0, 0, 32,
     OMPJIT_ERR_MAPPING, 0, 0, 0, 0, 0},
    {"negative",         TO,            NONE,       0, 0, -8,
     OMPJIT_ERR_MAPPING, 0, 0, 0, 0, 0},
};

static void map_type(const row *r, bool shares)
{
    char x[BYTES];
    ompjit_device *dev = fake_new(shares);
    fake *f = dev->state;
    ompjit_error err = {0};
    memset(x, 1, sizeof x);
    for (int i = 0; i < r->before; i++)
        one(dev, ompjit__map_begin, x, BYTES, NONE, &err);
    fake_reset(dev);
    ompjit_status st = one(dev, ompjit__map_begin, x + r->at, r->size,
                           r->enter, &err);
    int good = st == r->status && f->allocs == (shares ? 0 : r->allocs) &&
               f->to == (shares ? 0 : r->to) &&
               count_of(dev, x) == (uint64_t)r->inside;
    good = good && f->bytes_to == (size_t)(f->to * r->size);
    if (!st)
        good = good && !one(dev, ompjit__map_end, x + r->at, r->size, r->leave,
                            &err);
    good = good && f->from == (shares ? 0 : r->from) &&
           count_of(dev, x) == (uint64_t)r->after;
    /* Either the device's 0xA5 came back, or the value that went in. */
    char want = !shares && r->from && !r->to ? (char)0xA5 : 1;
    int changed = x[r->at] != want;
    int clean = f->live == (!shares && r->after > 0);
    ok(good && !changed && clean && !fake_delete(dev), "%s%s: allocs %d, to "
       "%d, from %d", r->name, shares ? ", shared memory" : "", r->allocs,
       r->to, r->from);
}

/* ---------------------------------------------------- overlaps and absence */

static void overlaps(bool shares)
{
    static char x[100];
    ompjit_device *dev = fake_new(shares);
    ompjit_error err = {0};
    arrays a = {0};
    static char name_a[] = ";first;f.c;3;1;;", name_b[] = ";second;g.c;9;1;;";
    a.m.names = a.names;
    a.names[0] = name_a;
    add(&a, x + 10, x + 10, 20, TO);
    ok(!ompjit__map_begin(dev, &a.m, &err), "[10,30) is mapped");
    static const struct {
        int at, size, type;
        ompjit_status want;
    } cases[] = {
        {10, 21, TO, OMPJIT_ERR_MAPPING}, {0, 11, TO, OMPJIT_ERR_MAPPING},
        {5, 50, TO, OMPJIT_ERR_MAPPING}, {29, 2, FROM, OMPJIT_ERR_MAPPING},
        {0, 10, TO, OMPJIT_OK}, {30, 5, TO, OMPJIT_OK},
        {5, 50, TO | IMPLICIT, OMPJIT_OK},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(cases); i++) {
        arrays b = {0};
        b.m.names = b.names;
        b.names[0] = name_b;
        add(&b, x + cases[i].at, x + cases[i].at, cases[i].size,
            cases[i].type);
        size_t before = dev->present->count;
        ompjit_status st = ompjit__map_begin(dev, &b.m, &err);
        ok(st == cases[i].want, "[%d,%d)", cases[i].at,
           cases[i].at + cases[i].size);
        if (st) {
            ok_contains(err.text, "first (f.c:3), 20 bytes at",
                        "names what is there");
            ok_contains(err.text, "second (g.c:9)", "and what was wanted");
            ok(dev->present->count == before && count_of(dev, x + 10) == 1,
               "and changes nothing");
        } else {
            ok(!ompjit__map_end(dev, &b.m, &err), "and away");
        }
    }
    fake *f = dev->state;
    int copies = f->to + f->from;
    ok(!one(dev, ompjit__map_end, x + 10, 21, FROM, &err),
       "an end of what is present in part does nothing");
    ok(count_of(dev, x + 10) == 1, "and leaves the count");
    ok(!one(dev, ompjit__map_update, x, 11, TOFROM, &err),
       "an update of what is present in part does nothing");
    ok(f->to + f->from == copies, "and nothing is copied");
    ok(one(dev, ompjit__map_end, x + 10, 21, FROM | PRESENT, &err) ==
           OMPJIT_ERR_MAPPING, "an end, unless all has to be present");
    ok_contains(err.text, "only a part", "as the text says");
    ok(one(dev, ompjit__map_update, x, 11, TO | PRESENT, &err) ==
           OMPJIT_ERR_MAPPING, "an update, too");
    ok_contains(err.text, "only a part", "as the text says");
    ok(!one(dev, ompjit__map_update, x, 5, TOFROM, &err),
       "an update of what is absent does nothing");
    ok(one(dev, ompjit__map_update, x, 5, TO | PRESENT, &err) ==
           OMPJIT_ERR_MAPPING, "unless it has to be present");
    ok_contains(err.text, "must be present", "as the text says");
    ok(!one(dev, ompjit__map_end, x, 5, TOFROM, &err),
       "an end of what is absent does nothing");
    ok(one(dev, ompjit__map_end, x, 5, FROM | PRESENT, &err) ==
           OMPJIT_ERR_MAPPING, "unless it has to be present");
    ok(!fake_delete(dev), "nothing leaked");
}

/* to and from of one array in two clauses of one construct: the copy back is
 * made although the last count goes with the other. */
static void two_clauses(void)
{
    char x[8] = {0};
    for (int order = 0; order < 2; order++) {
        ompjit_device *dev = fake_new(false);
        fake *f = dev->state;
        arrays a = {0};
        add(&a, x, x, 8, order ? TO : FROM);
        add(&a, x, x, 8, order ? FROM : TO);
        ok(!ompjit__map_begin(dev, &a.m, NULL) && f->to == 1 &&
               f->allocs == 1 && count_of(dev, x) == 2, "one copy in");
        memset(ompjit__present_lookup(dev, x), 7 + order, 8);
        ok(!ompjit__map_end(dev, &a.m, NULL) && f->from == 1 &&
               x[3] == 7 + order && !f->live, "one copy out");
        ok(!fake_delete(dev), "nothing leaked");
    }
}

/* ---------------------------------------------------------------- kernels */

static uint64_t seen[32];
static unsigned nseen;

static void note_values(const uint64_t *values, unsigned n)
{
    nseen = n;
    memcpy(seen, values, n * sizeof *values);
}

static const ompjit__request any; /* the device's choice */

/* target map(tofrom: x[2:4]) with literals around it, as clang emits it. */
static void kernel_values(bool shares)
{
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *p = x;
    ompjit_device *dev = fake_new(shares);
    fake *f = dev->state;
    arrays a = {0};
    add(&a, (void *)42, (void *)42, 4, LITERAL | IMPLICIT | PARAM);
    add(&a, x, x + 2, 32, TOFROM | PARAM);
    add(&a, &p, x + 2, 8, ATTACH);
    add(&a, NULL, NULL, 0, TOFROM | PARAM);
    add(&a, x + 7, x + 7, 0, IMPLICIT | PARAM);
    fake_kernel_fn = note_values;
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) && nseen == 4,
       "four parameters");
    ok(seen[0] == 42, "a literal");
    if (shares)
        ok(seen[1] == (uintptr_t)x, "the base of the array");
    else
        ok(f->allocs == 1 && f->to == 1 && f->bytes_to == 32 && f->from == 1 &&
               seen[1] % 128 == 128 - 16, "the base lies below the storage");
    ok(seen[2] == 0, "a null pointer");
    ok(seen[3] == (uintptr_t)(x + 7), "an unmapped pointer keeps its value");
    ok(!dev->present->count && !fake_delete(dev), "all is gone");
}

static void write_privates(const uint64_t *values, unsigned n)
{
    note_values(values, n);
    int *fp = (int *)values[1];
    seen[20] = (uint64_t)(fp[0] * 1000 + fp[1]);
    fp[0] = fp[1] = -1;
    memset((void *)values[2], 9, 64);
    memcpy(&seen[21], (void *)values[3], 8);
}

/* firstprivate and private arrays, and a private pointer to mapped data. */
static void privates(bool shares)
{
    int fp[2] = {4, 7};
    char pr[64] = {0};
    double room[5] = {0}, *x = room + 1, *p = room;
    ompjit_device *dev = fake_new(shares);
    fake *f = dev->state;
    arrays a = {0};
    add(&a, x, x, 32, TO);
    add(&a, (void *)5, (void *)5, 4, LITERAL | PARAM);
    add(&a, fp, fp, 8, PRIVATE | TO | PARAM);
    add(&a, pr, pr, 64, PRIVATE | PARAM);
    add(&a, &p, x, 8, PRIVATE | ATTACH | PARAM);
    fake_kernel_fn = write_privates;
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) && nseen == 4,
       "four parameters");
    ok(seen[20] == 4007 && fp[0] == 4 && fp[1] == 7 && pr[5] == 0,
       "initialised, and not written back");
    ok(shares ? seen[21] == (uintptr_t)p : seen[21] % 128 == 120,
       "the private pointer points to the mapped data");
    ok(f->allocs == (shares ? 1 : 2) && f->to == (shares ? 1 : 2) &&
           f->from == 0 && !f->live, "one allocation and copy for all");
    ok(!fake_delete(dev), "nothing leaked");
}

/* struct { int a, b; double *p; int c; } t; map(tofrom: t.b, t.p[0:4]) as
 * clang 18 to 21 emit it: a combined entry and members. */
typedef struct thing {
    int a, b;
    double *p;
    int c;
} thing;

static void use_thing(const uint64_t *values, unsigned n)
{
    thing *t = (thing *)values[0];
    note_values(values, n);
    t->b += 1;
    t->p[1] += t->b;
}

static void thing_maps(arrays *a, thing *t)
{
    add(a, t, &t->b, 12 /* b and p */, PARAM);
    add(a, t, &t->b, 4, TOFROM | MEMBER(0));
    add(a, &t->p, t->p, 32, TOFROM | POINTER | MEMBER(0));
}

static void struct_members(bool shares)
{
    double x[4] = {1, 2, 3, 4};
    thing t = {1, 10, x, 3};
    ompjit_device *dev = fake_new(shares);
    fake *f = dev->state;
    arrays a = {0};
    thing_maps(&a, &t);
    fake_kernel_fn = use_thing;
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL), "run");
    ok(t.b == 11 && x[1] == 13 && t.p == x && t.a == 1 && t.c == 3,
       "the members came back, the pointer as it was");
    if (!shares) {
        ok(f->allocs == 2 && f->to == 3 && f->from == 2,
           "two allocations; b, x and the pointer in, b and x out");
        ok((seen[0] + 8) % 8 == 0, "the pointer is aligned");
    }
    ok(!dev->present->count && !fake_delete(dev), "all is gone");

    dev = fake_new(shares);
    f = dev->state;
    ok(!ompjit__map_begin(dev, &a.m, NULL) && count_of(dev, &t.b) == 1 &&
           count_of(dev, x) == 1, "enter data: members count once");
    fake_reset(dev);
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) && f->to == 0 &&
           f->from == 0 && f->allocs == 0, "a region inside moves nothing");
    ok(t.b == (shares ? 12 : 11), "b is%s written back",
       shares ? "" : " not");
    ok(!one(dev, ompjit__map_update, &t.b, 12, TO, NULL) &&
           (shares || f->to == 2), "update to restores the pointer");
    ok(!one(dev, ompjit__map_update, &t.b, 12, FROM, NULL) && t.p == x,
       "update from keeps the host's pointer");
    ok(!ompjit__map_end(dev, &a.m, NULL) && t.p == x, "exit data");
    ok(!dev->present->count && !fake_delete(dev), "all is gone");
}

/* ------------------------------------------------------------- attachment */

static double *device_pointer(ompjit_device *dev, void *host)
{
    double *p;
    memcpy(&p, ompjit__present_lookup(dev, host), sizeof p);
    return p;
}

static void attachment(void)
{
    double x[4] = {0}, y[4] = {0}, *p = x;
    ompjit_device *dev = fake_new(false);
    fake *f = dev->state;
    arrays data = {0}, pointer = {0}, always = {0};
    add(&data, x, x + 1, 16, TO);
    add(&data, &p, x + 1, 8, ATTACH);
    add(&pointer, &p, &p, 8, TOFROM);
    add(&always, &p, y, 8, ATTACH | ALWAYS);

    ok(!ompjit__map_begin(dev, &data.m, NULL) && f->to == 1,
       "no pointer on the device, nothing to attach");
    ok(!ompjit__map_begin(dev, &pointer.m, NULL) &&
           device_pointer(dev, &p) == x, "a mapped pointer is just copied");
    fake_reset(dev);
    ok(!ompjit__map_begin(dev, &data.m, NULL) && f->to == 0,
       "neither is new: nothing to attach");
    ok(!ompjit__map_end(dev, &data.m, NULL) &&
           !ompjit__map_end(dev, &data.m, NULL) && count_of(dev, x + 1) == 0,
       "the data is gone");
    ok(!ompjit__map_begin(dev, &data.m, NULL) &&
           device_pointer(dev, &p) + 1 == ompjit__present_lookup(dev, x + 1),
       "new data is attached to the old pointer");
    double *attached = device_pointer(dev, &p);
    ok(!one(dev, ompjit__map_begin, &p, 8, TO | ALWAYS, NULL) &&
           device_pointer(dev, &p) == attached,
       "a copy to the pointer leaves it attached");
    ok(!one(dev, ompjit__map_begin, y, 32, TO, NULL), "y is mapped");
    p = y;
    ok(!ompjit__map_begin(dev, &always.m, NULL) &&
           (void *)device_pointer(dev, &p) == ompjit__present_lookup(dev, y),
       "attach always moves the pointer");
    ok(!one(dev, ompjit__map_end, &p, 8, NONE, NULL) &&
           !ompjit__map_end(dev, &pointer.m, NULL) && p == y,
       "the host's pointer survives the copy back");
    ok(!count_of(dev, &p), "and is gone from the device");
    ok(!ompjit__map_end(dev, &data.m, NULL) &&
           !one(dev, ompjit__map_end, y, 32, NONE, NULL), "ends");
    ok(!dev->present->count && !fake_delete(dev), "all is gone");
}

/* A Fortran pointer: the address, and bounds that change with the section that
 * it is associated with. */
static void descriptor(void)
{
    double x[4] = {0};
    struct {
        double *base;
        int64_t bound;
    } d = {x, 4}, seen;
    ompjit_device *dev = fake_new(false);
    arrays enter = {0}, always = {0}, leave = {0};
    add(&enter, x, x, sizeof x, TO);
    add(&enter, &d, &d, sizeof d, TO);
    add(&enter, &d, x, sizeof d, ATTACH);
    add(&always, &d, x, sizeof d, ATTACH | ALWAYS);
    add(&leave, x, x, sizeof x, NONE);
    add(&leave, &d, &d, sizeof d, NONE);

    ok(!ompjit__map_begin(dev, &enter.m, NULL), "a descriptor is attached");
    d.bound = 2;
    ok(!ompjit__map_begin(dev, &always.m, NULL), "and again, with always");
    memcpy(&seen, ompjit__present_lookup(dev, &d), sizeof seen);
    ok((void *)seen.base == ompjit__present_lookup(dev, x) && seen.bound == 2,
       "the device has the new bounds of the same storage");
    ok(!ompjit__map_end(dev, &leave.m, NULL) && d.base == x &&
           !dev->present->count && !fake_delete(dev), "all is gone");
}

/* use_device_ptr. */
static void return_param(void)
{
    double x[4], y[4];
    ompjit_device *dev = fake_new(false);
    arrays a = {0};
    add(&a, x, x + 1, 16, TO | RETURN);
    add(&a, y, y, 0, RETURN);
    ok(!ompjit__map_begin(dev, &a.m, NULL), "begin");
    ok((double *)a.bases[0] + 1 == ompjit__present_lookup(dev, x + 1),
       "the base's device address is returned");
    ok(a.bases[1] == y, "what is absent keeps its address");
    ok(!ompjit__map_end(dev, &a.m, NULL) && !dev->present->count, "end");
    ok(!fake_delete(dev), "nothing leaked");
}

/* A program maps an array where use_device_addr has given it the device's
 * address: that is the device's array, not one to be copied there. */
static void given_address(void)
{
    double x[4] = {1, 2, 3, 4}, y[4] = {0};
    ompjit_device *dev = fake_new(false);
    arrays a = {0};
    add(&a, x, x, 32, RETURN);
    ok(!one(dev, ompjit__map_begin, x, 32, TO | FROM, NULL) &&
           !ompjit__map_begin(dev, &a.m, NULL), "begin");
    double *given = a.bases[0];
    fake *f = dev->state;
    int copies = f->to + f->from, allocs = f->allocs;
    ok(given != x && !one(dev, ompjit__map_begin, given + 1, 16, TO | FROM,
                          NULL), "a part of it is mapped");
    ok(ompjit__present_lookup(dev, given + 1) == given + 1,
       "it is its own counterpart");
    ok(f->to + f->from == copies && f->allocs == allocs,
       "nothing is copied or allocated");
    given[1] = 7;
    ok(!one(dev, ompjit__map_end, given + 1, 16, FROM, NULL) &&
           f->to + f->from == copies && dev->present->count == 1,
       "nor at the end");
    ok(!one(dev, ompjit__map_begin, y, 32, TO, NULL) &&
           ompjit__present_lookup(dev, y) != y &&
           !one(dev, ompjit__map_end, y, 32, NONE, NULL), "others are copied");
    ok(!ompjit__map_end(dev, &a.m, NULL) &&
           !one(dev, ompjit__map_end, x, 32, FROM, NULL) && x[1] == 7 &&
           !dev->present->count, "the array comes back");
    ok(!fake_delete(dev), "nothing leaked");
}

/* A variable that a lambda captured: its device address goes into the device's
 * copy of the lambda. */
static void captures(void)
{
    int x = 1;
    struct {
        int *x, *absent;
    } lambda = {&x, NULL};
    ompjit_device *dev = fake_new(false);
    arrays a = {0};
    add(&a, &lambda, &lambda, 16, PRIVATE | TO | PARAM);
    add(&a, &lambda.x, &x, 4, POINTER | LITERAL | IMPLICIT | MEMBER(0));
    add(&a, &lambda.absent, &dev, 4, POINTER | LITERAL | IMPLICIT | MEMBER(0));
    ok(!one(dev, ompjit__map_begin, &x, 4, TO, NULL), "x is mapped");
    fake_kernel_fn = NULL;
    fake *f = dev->state;
    fake_reset(dev);
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) && f->to == 2,
       "the lambda and one pointer are copied");
    ok(!one(dev, ompjit__map_end, &x, 4, NONE, NULL), "end");
    ok(!fake_delete(dev), "nothing leaked");
}

/* ----------------------------------------------------------------- mappers */

static void push(void *handle, void *base, void *begin, int64_t size,
                 int64_t type)
{
    ompjit__components_add(handle, (ompjit__component){
        .base = base, .begin = begin, .size = size, .type = type});
}

/* clang 22's code for declare mapper(thing t) map(t.b, t.p, t.p[0:4]). */
static void thing_mapper(void *handle, void *base, void *begin, int64_t size,
                         int64_t type, void *name)
{
    int64_t n = size / (int64_t)sizeof(thing), moves = type & TOFROM;
    ompjit__components *c = handle;
    if (n > 1 && !(type & DELETE))
        push(handle, base, begin, size, (type & ~TOFROM) | IMPLICIT);
    for (thing *t = begin; n-- > 0; t++) {
        int64_t parent = (int64_t)((uint64_t)c->n << 48);
        push(handle, t, &t->b, 12, parent);
        push(handle, t, &t->b, 4, (parent + MEMBER(0)) | moves);
        push(handle, &t->p, t->p, 32,
             (parent + MEMBER(0)) | POINTER | moves);
    }
}

static void use_things(const uint64_t *values, unsigned n)
{
    thing *t = (thing *)values[0];
    for (int i = 0; i < 2; i++) {
        t[i].b += 5;
        t[i].p[i] += 1;
    }
}

static void mappers(bool shares)
{
    double x[4] = {0}, y[4] = {0};
    thing t[2] = {{0, 1, x, 0}, {0, 2, y, 0}};
    ompjit_device *dev = fake_new(shares);
    arrays a = {0};
    a.m.mappers = a.mappers;
    a.mappers[0] = (void *)(uintptr_t)thing_mapper;
    add(&a, t, t, sizeof t, TOFROM | PARAM);
    fake_kernel_fn = use_things;
    ok(!ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) && t[0].b == 6 &&
           t[1].b == 7 && x[0] == 1 && y[1] == 1 && t[1].p == y,
       "an array of two with a mapper");
    ok(!dev->present->count, "all is gone");
    ok(!ompjit__map_begin(dev, &a.m, NULL) && count_of(dev, &t[0].b) == 1,
       "enter data");
    ok(!ompjit__map_update(dev, &a.m, NULL), "update");
    ok(!ompjit__map_end(dev, &a.m, NULL) && !dev->present->count, "exit data");
    a.sizes[0] = sizeof t[0];
    ok(!ompjit__map_begin(dev, &a.m, NULL) && count_of(dev, &t[0].b) == 1 &&
           !ompjit__map_begin(dev, &a.m, NULL) && count_of(dev, x) == 2,
       "a single one, twice");
    ok(!ompjit__map_end(dev, &a.m, NULL) && !ompjit__map_end(dev, &a.m, NULL)
           && !dev->present->count, "and back");
    ok(!fake_delete(dev), "nothing leaked");
}

/* ------------------------------------------------------------------ update */

/* As clang 22 emits a stride's dimensions; the last is the element. */
typedef struct {
    uint64_t offset, count, stride;
} dim;

/* Clang does not say where a member with strides is: it begins where all does
 * that is updated of the structure, if nothing else does. */
static void in_structures(ompjit_device *dev)
{
    static struct {
        int before, many[20], after;
    } s;
    static const dim d[] = {{2, 3, 8}, {0, 1, 4}};
    int64_t strided = FROM | (int64_t)OMPJIT__MAP_NON_CONTIG | MEMBER(0);
    ompjit_error err = {0};
    one(dev, ompjit__map_begin, &s, sizeof s, NONE, NULL);
    int *there = ompjit__present_lookup(dev, s.many);
    for (int i = 0; i < 20; i++)
        there[i] = 1;
    arrays a = {0};
    add(&a, &s, &s.many[2], 5 * sizeof(int), NONE);
    add(&a, &s, (void *)d, 2, strided);
    add(&a, &s, &s.after, sizeof s.after, FROM | MEMBER(0));
    int n = 0;
    ok(!ompjit__map_update(dev, &a.m, &err), "of a structure: %s", err.text);
    for (int i = 0; i < 20; i++)
        n += s.many[i];
    ok(n == 3 && s.many[2] && s.many[4] && s.many[6], "with its stride");
    arrays b = {0};
    add(&b, &s, &s.before, sizeof s, NONE);
    add(&b, &s, &s.before, sizeof s.before, FROM | MEMBER(0));
    add(&b, &s, (void *)d, 2, strided);
    ok(ompjit__map_update(dev, &b.m, &err) == OMPJIT_ERR_MAPPING,
       "beside what begins before it");
    ok_contains(err.text, "the compiler tells only if", "it is an error");
    one(dev, ompjit__map_end, &s, sizeof s, NONE, NULL);
}

static void sections(void)
{
    static double x[100]; /* [10][10] */
    static const struct {
        const char *name;
        int n, copies;
        dim d[3];
        int first, last, elements; /* touched, in elements */
        const char *text;          /* as clang gives it with -g */
    } cases[] = {
        {"x[0:5:2][1:3]", 3, 5, {{0, 5, 160}, {1, 3, 8}, {0, 1, 8}}, 1, 83,
         15},
        {"x[3:2][0:10]", 3, 1, {{3, 2, 80}, {0, 10, 8}, {0, 1, 8}}, 30, 49,
         20},
        {"x[0][1:4:3]", 2, 4, {{1, 4, 24}, {0, 1, 8}}, 1, 10, 4},
        /* A number of bytes, as clang has it where lengths are variables. */
        {"x[0:5:2][1:3], 24 bytes", 24, 5,
         {{0, 5, 160}, {1, 3, 8}, {0, 1, 8}}, 1, 83, 15},
        {"x[0:5:2][1:1], 8 bytes", 8, 5,
         {{0, 5, 160}, {1, 1, 8}, {0, 1, 8}}, 1, 81, 5},
        /* Where an outer dimension begins is in its text, if at all. */
        {"x[1:3:2][2:2:3]", 3, 6, {{1, 3, 160}, {2, 2, 24}, {0, 1, 8}}, 12, 55,
         6, ";x[1:3:2][2:2:3];f.c;4;6;;"},
        {"x[1:3][2:2:3]", 3, 6, {{1, 3, 80}, {2, 2, 24}, {0, 1, 8}}, 12, 35,
         6, ";x[1:3][2:2:3];f.c;4;6;;"},
        {"x[n[2]:3: 2][4]", 3, 3, {{1, 3, 160}, {4, 1, 8}, {0, 1, 8}}, 14,
         54, 3, ";x[n[2]:3: 2][4];f.c;4;6;;"},
        {"x[0:2:n][1:2]", 3, 2, {{0, 2, 240}, {1, 2, 8}, {0, 1, 8}}, 1, 32, 4,
         ";x[0:2:n][1:2];f.c;4;6;;"},
        {"x[2:2:2]", 2, 2, {{2, 2, 160}, {0, 1, 80}}, 20, 49, 20,
         ";x[2:2:2];f.c;4;6;;"},
        {"x[1:2:2][0:1], untold", 3, 2, {{1, 2, 160}, {0, 1, 8}, {0, 1, 8}},
         20, 40, 2, ";(n ? x : y)[1:2:2][0:1];f.c;4;6;;"},
        {"x[0][1:2:3], 16 bytes", 16, 2, {{1, 2, 24}, {0, 1, 8}}, 1, 4, 2},
        {"x[0][4:1], 8 bytes", 8, 1, {{4, 1, 8}, {0, 1, 8}}, 4, 4, 1},
    };
    ompjit_device *dev = fake_new(false);
    fake *f = dev->state;
    one(dev, ompjit__map_begin, x, sizeof x, NONE, NULL);
    double *there = ompjit__present_lookup(dev, x);
    for (size_t k = 0; k < OMPJIT__COUNT(cases); k++) {
        for (int i = 0; i < 100; i++) {
            x[i] = 0;
            there[i] = 1;
        }
        arrays a = {0};
        dim d[16] = {0};
        memcpy(d, cases[k].d, sizeof cases[k].d);
        add(&a, x, d, cases[k].n,
            FROM | (int64_t)OMPJIT__MAP_NON_CONTIG);
        a.names[0] = (void *)(uintptr_t)cases[k].text;
        a.m.names = a.names;
        fake_reset(dev);
        int st = ompjit__map_update(dev, &a.m, NULL), n = 0;
        for (int i = 0; i < 100; i++)
            n += x[i] == 1;
        ok(!st && n == cases[k].elements && f->from == cases[k].copies &&
               x[cases[k].first] == 1 && x[cases[k].last] == 1,
           "update from(%s): %d copies", cases[k].name, f->from);
    }
    ompjit_error err;
    arrays a = {0};
    add(&a, x, x, 17, FROM | (int64_t)OMPJIT__MAP_NON_CONTIG);
    ok(ompjit__map_update(dev, &a.m, &err) == OMPJIT_ERR_MAPPING,
       "17 dimensions are too many");
    static const struct {
        const char *text;
        dim d[3];
    } untold[] = {{";x[1:3:n][2:2];f.c;4;6;;",
                   {{1, 3, 160}, {2, 2, 8}, {0, 1, 8}}},
                  {";x[1:3:7][2:2];f.c;4;6;;",
                   {{1, 3, 160}, {2, 2, 8}, {0, 1, 8}}},
                  /* [1:5:2], taken for [1:5] of rows of 160 bytes */
                  {NULL, {{1, 5, 160}, {2, 2, 8}, {0, 1, 8}}}};
    for (size_t k = 0; k < OMPJIT__COUNT(untold); k++) {
        arrays b = {0};
        add(&b, x, (void *)(uintptr_t)untold[k].d, 3,
            FROM | (int64_t)OMPJIT__MAP_NON_CONTIG);
        b.names[0] = (void *)(uintptr_t)untold[k].text;
        b.m.names = b.names;
        ok(ompjit__map_update(dev, &b.m, &err) == OMPJIT_ERR_MAPPING,
           "a stride that is not told: %s", err.text);
        ok_contains(err.text, "does not tell where a section begins", "why");
    }
    in_structures(dev);
    one(dev, ompjit__map_end, x, sizeof x, NONE, NULL);
    ok(!fake_delete(dev), "nothing leaked");
}

/* ---------------------------------------------------------------- failures */

static int without_attached;

static void describe_entry(void *data, const ompjit__mapped *e)
{
    ompjit__buf_printf(data, "%lx-%lx at %p: %lu %lu", e->begin, e->end,
                       (void *)e->device, e->dynamic, e->hold);
    for (const ompjit__attached *a = e->attached; a && !without_attached;
         a = a->next) {
        void *value;
        memcpy(&value, a->value, sizeof value);
        ompjit__buf_printf(data, " %p=%p", (void *)a->host, value);
    }
    ompjit__buf_printf(data, "\n");
}

static char *table_text(ompjit_device *dev)
{
    ompjit__buf b = {0};
    ompjit__buf_printf(&b, "%zu entries\n", dev->present->count);
    ompjit__present_each(dev->present, describe_entry, &b);
    return b.data;
}

/* A construct with something of everything. */
typedef struct world {
    double x[4], y[4], z[4], *p;
    thing t;
    char fp[100];
    arrays before, a;
} world;

static void world_init(world *w, ompjit_device *dev)
{
    memset(w, 0, sizeof *w);
    w->p = w->x;
    w->t = (thing){1, 2, w->y, 3};
    add(&w->before, &w->p, &w->p, 8, TO);
    add(&w->before, w->z, w->z, 32, TO);
    add(&w->a, w->x, w->x, 32, TOFROM | PARAM);
    add(&w->a, &w->p, w->x, 8, ATTACH);
    add(&w->a, &w->t, &w->t.b, 12, PARAM);
    add(&w->a, &w->t, &w->t.b, 4, TOFROM | MEMBER(2));
    add(&w->a, &w->t.p, w->y, 32, TOFROM | POINTER | MEMBER(2));
    add(&w->a, w->fp, w->fp, 100, PRIVATE | TO | PARAM);
    add(&w->a, w->z, w->z, 32, TOFROM | ALWAYS | PARAM);
    add(&w->a, w->z, w->z, 32, HOLD | PARAM);
    add(&w->a, &w->p, w->z, 8, ATTACH | ALWAYS);
    ompjit__map_begin(dev, &w->before.m, NULL);
}

enum op { BEGIN, END, UPDATE, RUN, OPS };
static const char *const op_names[OPS] = {"begin", "end", "update", "run"};

static ompjit_status perform(ompjit_device *dev, enum op op, world *w,
                             ompjit_error *err)
{
    switch (op) {
    case BEGIN: return ompjit__map_begin(dev, &w->a.m, err);
    case END: return ompjit__map_end(dev, &w->a.m, err);
    case UPDATE: return ompjit__map_update(dev, &w->a.m, err);
    default: return ompjit__map_run(dev, &w->a.m, NULL, 0, &any, err);
    }
}

/* Fails each device call of an operation: the table is as before, nothing is
 * left over. A failing free is the exception: what is freed is gone. A run
 * that got as far as its kernel leaves pointers of older storage attached. */
static void failures(enum op op)
{
    fake_kernel_fn = NULL;
    int n = 0, kept = 0, texts = 0, strays = 0;
    without_attached = op == RUN;
    for (int at = 1;; at++) {
        world w;
        ompjit_device *dev = fake_new(false);
        fake *f = dev->state;
        ompjit_error err = {0};
        world_init(&w, dev);
        if (op == END || op == UPDATE)
            ompjit__map_begin(dev, &w.a.m, NULL);
        char *before = table_text(dev);
        int live = f->live;
        fake_reset(dev);
        f->fail_at = at;
        ompjit_status st = perform(dev, op, &w, &err);
        char *after = table_text(dev);
        if (st) {
            n++;
            int freed = strstr(err.text, "free") != NULL;
            kept += (!strcmp(before, after) && f->live == live) ||
                    (freed && op == END && !strstr(after, before));
            texts += !strncmp(err.text, "fake: ", 6);
        }
        free(before);
        free(after);
        strays += fake_delete(dev);
        if (!st)
            break;
    }
    ok(n > 3 && kept == n && texts == n && !strays,
       "%s: each of %d device calls failed once", op_names[op], n);
}

static void kernel_failure(void)
{
    world w;
    ompjit_device *dev = fake_new(false);
    fake *f = dev->state;
    ompjit_error err = {0};
    world_init(&w, dev);
    fake_reset(dev);
    fake_run_status = OMPJIT_ERR_DEVICE;
    ok(ompjit__map_run(dev, &w.a.m, NULL, 0, &any, &err) ==
           OMPJIT_ERR_DEVICE, "the kernel's failure is returned");
    fake_run_status = OMPJIT_OK;
    ok(f->from == 0, "and nothing is copied back");
    ok(dev->present->count == 2 && count_of(dev, w.z) == 1 && f->live == 2,
       "all that the construct mapped is released");
    ok(!fake_delete(dev), "nothing leaked");
}

/* ----------------------------------------------------------------- threads */

static void *hammer(void *arg)
{
    ompjit_device *dev = arg;
    static char shared[64];
    char own[64];
    uintptr_t bad = 0;
    for (int i = 0; i < 300; i++) {
        arrays a = {0};
        add(&a, own, own, 64, TOFROM | PARAM);
        add(&a, shared, shared, 64, TO | PARAM);
        memset(own, i, sizeof own);
        bad += ompjit__map_run(dev, &a.m, NULL, 0, &any, NULL) != 0;
        bad += ompjit__map_begin(dev, &a.m, NULL) != 0;
        bad += ompjit__present_lookup(dev, shared) == NULL;
        bad += ompjit__map_end(dev, &a.m, NULL) != 0;
        bad += own[7] != (char)i;
    }
    return (void *)bad;
}

/* On a device that borrows: how many allocations a kernel's maps cost. */
static int borrowed(ompjit_device *dev, const arrays *a)
{
    fake_reset(dev);
    ompjit_status st = ompjit__map_run(dev, &a->m, NULL, 0,
                                       &(ompjit__request){0}, NULL);
    return st ? -1 : ((fake *)dev->state)->allocs;
}

static void borrowing(void)
{
    struct { char *p; char rest[24]; } s = {0};
    char x[32] = {0}, y[32] = {0};
    ompjit_device *dev = fake_new(false);
    fake *f = dev->state;
    dev->borrows = true;
    fake_kernel_fn = NULL;
    arrays out = {0}, in = {0}, near = {0}, holds = {0}, apart = {0};
    add(&out, x, x, 32, TOFROM | PARAM);
    add(&out, y, y, 32, FROM | PARAM);
    ok(borrowed(dev, &out) == 0, "tofrom and from stay where they are");
    ok(f->to + f->from == 0, "  without copies");
    add(&in, x, x, 32, TO | PARAM);
    add(&in, y, y, 32, NONE | PARAM);
    ok(borrowed(dev, &in) == 2, "to and alloc do not");
    add(&near, x, x, 32, TOFROM | CLOSE | PARAM);
    ok(borrowed(dev, &near) == 1, "nor does close");

    add(&holds, &s, &s, sizeof s, TOFROM | PARAM);
    add(&holds, x, x, 32, TO | PARAM);
    add(&holds, &s.p, x, 8, ATTACH);
    s.p = x;
    ok(borrowed(dev, &holds) == 2, "nor what a pointer is attached in");
    ok(s.p == x, "  and the pointer is as it was");
    add(&apart, &s, &s, sizeof s, TOFROM | PARAM);
    add(&apart, &s.p, x, 32, TOFROM | POINTER | MEMBER(0));
    ok(borrowed(dev, &apart) == 2, "nor a struct with members");

    fake_reset(dev);
    one(dev, ompjit__map_begin, x, 32, TOFROM, NULL);
    ok(f->allocs == 1, "nor the data of a data region");
    ok(borrowed(dev, &out) == 0, "  which later kernels use");
    one(dev, ompjit__map_end, x, 32, TOFROM, NULL);
    ok(f->from == 1, "  until it ends");
    ok(!fake_delete(dev), "nothing leaked");
}

static void threads(bool shares)
{
    pthread_t t[4];
    ompjit_device *dev = fake_new(shares);
    uintptr_t bad = 0;
    fake_kernel_fn = NULL;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, hammer, dev);
    for (int i = 0; i < 4; i++) {
        void *r;
        pthread_join(t[i], &r);
        bad += (uintptr_t)r;
    }
    ok(!bad && !dev->present->count, "four threads");
    ok(!fake_delete(dev), "nothing leaked");
}

int main(void)
{
    for (int shares = 0; shares < 2; shares++) {
        for (size_t i = 0; i < OMPJIT__COUNT(rows); i++)
            map_type(&rows[i], shares);
        overlaps(shares);
        kernel_values(shares);
        privates(shares);
        struct_members(shares);
        mappers(shares);
        threads(shares);
    }
    two_clauses();
    borrowing();
    attachment();
    descriptor();
    return_param();
    given_address();
    captures();
    sections();
    for (enum op op = 0; op < OPS; op++)
        failures(op);
    kernel_failure();
    return done_testing();
}
