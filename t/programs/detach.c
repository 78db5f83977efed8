// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// options: -fopenmp-version=52
// expect: 0
// A task with a detach clause is over when its event is fulfilled, by whoever
// does that, and what depends on it runs after that and not before.
#include <omp.h>
#include <stdio.h>

int wrong[8];
#pragma omp declare target(wrong)

#define CHECK(i, condition) (wrong[i] += !(condition))

// The thread that created the tasks fulfills their events, in the other order.
#pragma omp begin declare target
static void chain(int i)
{
    omp_event_handle_t first, second;
    int x = 0, y = 0, z = 0, done = 0;
#pragma omp task detach(first) depend(out: x) shared(x)
    x = 1;
#pragma omp task detach(second) depend(in: x) depend(out: y) shared(x, y, done)
    y = x + done;
#pragma omp task depend(in: y) shared(y, z, done)
    z = y + done;
#pragma omp task depend(in: x) depend(inout: done) shared(x, done)
    done += x * 100;
    int other = 5;
#pragma omp task depend(inout: other) shared(other)
    other = 6;
    CHECK(i, x == 1 && y == 0 && z == 0 && done == 0 && other == 6);
    done = 10;
    omp_fulfill_event(first);
#pragma omp taskwait depend(in: done)
    CHECK(i, y == 11 && z == 0 && done == 110);
    omp_fulfill_event(second);
#pragma omp taskwait
    CHECK(i, z == 121);
}

// A taskwait does not wait for the children of children.
static void grandchildren(int i)
{
    omp_event_handle_t event;
    int x = 0;
#pragma omp task shared(event, x)
    {
#pragma omp task detach(event) shared(x)
        x++;
    }
#pragma omp taskwait
    CHECK(i, x == 1);
#pragma omp taskgroup
    {
#pragma omp task shared(x)
        x++;
    }
    int alone = 0;
#pragma omp parallel num_threads(1) shared(alone)
    {
#pragma omp barrier
        alone = 1;
    }
    CHECK(i, alone);
    omp_fulfill_event(event);
}

// Another thread fulfills the event, where there is one.
static void hand_over(int i, int way)
{
    static omp_event_handle_t event;
    static int published, data;
    int me = omp_get_thread_num();
    int last = omp_get_num_threads() - 1;
    if (me == 0) {
        published = data = 0;
    }
#pragma omp barrier
    if (me == 0) {
        omp_event_handle_t own;
        if (way == 0) {
#pragma omp task detach(own)
            ;
        } else if (way == 1) {
#pragma omp task shared(own)
            {
#pragma omp task detach(own)
                ;
            }
        }
#pragma omp taskgroup
        {
            if (way == 2) {
#pragma omp task shared(own)
                {
#pragma omp task detach(own)
                    ;
                }
            }
            event = own;
#pragma omp atomic write release
            published = 1;
            if (last == 0) {
                data = 7;
                omp_fulfill_event(own);
            }
        }
        if (way == 0) {
#pragma omp taskwait
        }
        if (way != 1)
            CHECK(i, data == 7);
    } else if (me == last) {
        for (int seen = 0; !seen;) {
#pragma omp taskyield
#pragma omp atomic read acquire
            seen = published;
        }
        data = 7;
        omp_fulfill_event(event);
    }
#pragma omp barrier
#pragma omp critical
    CHECK(i, data == 7);
#pragma omp barrier
}
#pragma omp end declare target

int main(void)
{
#pragma omp target
    {
        omp_event_handle_t event;
        chain(0);
        grandchildren(1);
#pragma omp task detach(event)
        ;
#pragma omp parallel
        {
#pragma omp critical
            chain(2);
#pragma omp critical
            grandchildren(3);
            for (int way = 0; way < 3; way++)
                hand_over(4 + way, way);
        }
        omp_fulfill_event(event);
    }
#pragma omp target update from(wrong)
    int sum = 0;
    for (int i = 0; i < 8; i++) {
        if (wrong[i])
            printf("%d: %d wrong\n", i, wrong[i]);
        sum += wrong[i];
    }
    printf("%d\n", sum);
}
