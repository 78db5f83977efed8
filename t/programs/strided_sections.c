// expect: 0 wrong
// not ahead of time: the host half is mended, passes/hosthalf
// Sections with strides in a target update: lower bounds in every dimension,
// subscripts in front, members, pointers, lengths that are no constants or 0,
// and updates by tasks, also of a function that has returned.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 8, COLUMNS = 9, N = ROWS * COLUMNS };
static int wrong, shared;

// The section's elements are the device's, -1; the others are the host's.
static void check(const char *what, const int *x, int n, const char *in)
{
    for (int i = 0; i < n; i++) {
        int device = !shared && in[i];
        if (x[i] != (device ? -1 : i)) {
            printf("%s: element %d is %d\n", what, i, x[i]);
            wrong++;
            return;
        }
    }
}

static void fill(int *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = i;
}

#define UPDATE(array, clauses, section, n, condition)                          \
    do {                                                                       \
        char in[N] = {0};                                                      \
        for (int i = 0; i < n; i++) {                                          \
            int r = i / COLUMNS, c = i % COLUMNS;                              \
            (void)r, (void)c;                                                  \
            in[i] = condition;                                                 \
        }                                                                      \
        int *first = (void *)(array);                                          \
        fill(first, n);                                                        \
        PRAGMA(omp target update from(section) clauses)                        \
        PRAGMA(omp taskwait)                                                   \
        check(#section " " #clauses, first, n, in);                            \
    } while (0)
#define PRAGMA(text) _Pragma(#text)
#define ROWS_1_3_5 (r == 1 || r == 3 || r == 5)
#define COLUMNS_2_5 (c == 2 || c == 5)

static int global[ROWS][COLUMNS];
static struct { int before; int m[ROWS][COLUMNS]; int *p; int t[3][4][5]; } s;

static void set(int *x, int n)
{
#pragma omp target map(tofrom: x[:n])
    for (int i = 0; i < n; i++)
        x[i] = -1;
}

static void arrays(int one)
{
    int m[ROWS][COLUMNS], v[20], two = 2 * one, none = one - 1;
    int(*rows)[COLUMNS] = global;
    int *p = &global[0][0], k = COLUMNS * one, vla[ROWS][k];
    void *all[] = {m, v, global, vla};
#pragma omp target enter data map(alloc: m, v, global, vla)
    for (int i = 0; i < 4; i++)
        set(all[i], i == 1 ? 20 : N);
    UPDATE(m, , m[1:3:2][2:2:3], N, ROWS_1_3_5 && COLUMNS_2_5);
    UPDATE(m, , m[2:2:2], N, r == 2 || r == 4);
    UPDATE(m, , m[2][1:3:2], N, r == 2 && (c == 1 || c == 3 || c == 5));
    UPDATE(m, , m[1:3:2][4], N, ROWS_1_3_5 && c == 4);
    UPDATE(m, , m[1:3][2:4], N, r >= 1 && r < 4 && c >= 2 && c < 6);
    UPDATE(m, , m[one:two:2][2:none:3], N, 0);
    UPDATE(v, , v[3:4:5], 20, i >= 3 && (i - 3) % 5 == 0);
    UPDATE(v, , v[two:none:5], 20, 0);
    UPDATE(v, nowait, v[1:3:4], 20, i == 1 || i == 5 || i == 9);
    UPDATE(v, nowait, v[one:two:4], 20, i == 1 || i == 5);
    UPDATE(v, depend(inout: v), v[one:two:4], 20, i == 1 || i == 5);
    UPDATE(v, if (one), v[one:two:4], 20, i == 1 || i == 5);
    UPDATE(global, , global[1:3:2][2:2:3], N, ROWS_1_3_5 && COLUMNS_2_5);
    UPDATE(global, , rows[1:3:2][2:2:3], N, ROWS_1_3_5 && COLUMNS_2_5);
    UPDATE(global, , p[two:two:7], N, i == 2 || i == 9);
    UPDATE(vla, , vla[one:3:2][2:2:3], N, ROWS_1_3_5 && COLUMNS_2_5);
    UPDATE(vla, , vla[1:2:2][3], N, (r == 1 || r == 3) && c == 3);
#pragma omp target exit data map(delete: m, v, global, vla)
}

static void members(void)
{
    s.p = malloc(N * sizeof *s.p);
#pragma omp target enter data map(alloc: s) map(alloc: s.p[:N])
    set(&s.m[0][0], N);
    set(&s.t[0][0][0], 60);
    set(s.p, N);
    UPDATE(s.m, , s.m[1:3:2][2:2:3], N, ROWS_1_3_5 && COLUMNS_2_5);
    UPDATE(s.t, , s.t[1:2:1][1:2:2][1:2:2], 60,
           i >= 20 && (i / 5 % 4 == 1 || i / 5 % 4 == 3) &&
               (i % 5 == 1 || i % 5 == 3));
    UPDATE(s.p, , s.p[1:3:2], N, i == 1 || i == 3 || i == 5);
    char t[60] = {[20] = 1, [22] = 1, [24] = 1}, m[N] = {[6] = 1, [33] = 1};
    fill(&s.m[0][0], N);
    fill(&s.t[0][0][0], 60);
#pragma omp target update from(s.t[1:1][0:1][0:3:2], s.m[0:2:3][6:1])
    check("s.t with s.m", &s.t[0][0][0], 60, t);
    check("s.m with s.t", &s.m[0][0], N, m);
#pragma omp target exit data map(delete: s.p[:N]) map(delete: s)
    free(s.p);
}

// The update is done when this function's variables are gone.
__attribute__((noinline)) static void update_later(int *v, int one)
{
#pragma omp task depend(out: v[0])
    usleep(20000);
#pragma omp target update from(v[one:3:4]) nowait depend(inout: v[0])
}

__attribute__((noinline)) static void overwrite_stack(void)
{
    volatile char bytes[20000];
    for (int i = 0; i < 20000; i++)
        bytes[i] = 0x55;
}

static void task(int one)
{
    int v[20];
    char in[20] = {[1] = 1, [5] = 1, [9] = 1};
#pragma omp target enter data map(alloc: v)
    set(v, 20);
    fill(v, 20);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        update_later(v, one);
        overwrite_stack();
#pragma omp taskwait
    }
    check("by a task", v, 20, in);
#pragma omp target exit data map(delete: v)
}

int main(int argc, char **argv)
{
    int x = 0, device = omp_get_default_device(), one = argv[argc] == NULL;
#pragma omp target enter data map(to: x)
    shared = omp_get_mapped_ptr(&x, device) == &x;
#pragma omp target exit data map(release: x)
    arrays(one);
    members();
    task(one);
    printf("%d wrong\n", wrong);
}
