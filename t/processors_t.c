/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Where children begin to run (base/processors.h). The children here work, and
 * so does their parent, as the kernel would have no reason to keep them together
 * otherwise. On a busy machine it may move them at any time, so most tries count.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/processors.h"
#include "t/tap.h"

enum { TRIES = 20, MOST = TRIES * 3 / 4 };

/* Memory that a child shares with its parent, to tell where it began. */
struct seen {
    volatile int processor; /* where it began; -1: it has not yet */
};
static struct seen *seen;

/* Children that work from the beginning, or when they have read a byte. */
static pid_t start(struct seen *of, const int *from)
{
    char byte;
    of->processor = -1;
    pid_t child = fork();
    if (child)
        return child;
    if (from && read(from[0], &byte, 1) != 1)
        _exit(1);
    of->processor = sched_getcpu();
    for (;;)
        ;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Works until the children have begun. */
static void await(const struct seen *a, const struct seen *b)
{
    uint64_t limit = ompjit__now() + OMPJIT__MS(1000);
    while ((a->processor < 0 || b->processor < 0) && ompjit__now() < limit)
        ;
}

static bool has_mask(pid_t child, const ompjit__processor_set *mask)
{
    ompjit__processor_set is = {0};
    sched_getaffinity(child, sizeof is, is.part);
    return !memcmp(&is, mask, sizeof is);
}

/* A new child runs elsewhere, and may go anywhere. */
static bool is_moved(const ompjit__processor_set *all)
{
    pid_t child = start(&seen[0], NULL);
    int here = sched_getcpu();
    ompjit__run_elsewhere(child);
    bool free = has_mask(child, all);
    await(&seen[0], &seen[0]);
    end(child);
    return free && seen[0].processor >= 0 && seen[0].processor != here;
}

/* Two children that were on one processor are woken on two. */
static bool are_apart(const ompjit__processor_set *all)
{
    int pipes[2][2];
    pid_t children[2];
    ompjit__processor_set was[2];
    bool good = true;
    for (int i = 0; i < 2; i++) {
        good &= !pipe(pipes[i]);
        children[i] = start(&seen[i], pipes[i]);
    }
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    good &= ompjit__place(children[0], OMPJIT__ELSEWHERE, &was[0]);
    good &= ompjit__place(children[1], OMPJIT__HERE, &was[1]);
    for (int i = 0; i < 2; i++)
        good &= write(pipes[i][1], "x", 1) == 1;
    for (int i = 0; i < 2; i++) {
        ompjit__place_end(children[i], &was[i]);
        good &= has_mask(children[i], all);
    }
    await(&seen[0], &seen[1]);
    for (int i = 0; i < 2; i++) {
        end(children[i]);
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
    return good && seen[0].processor != seen[1].processor;
}

int main(void)
{
    ompjit__processor_set all = {0}, here = {0}, was;
    int moved = 0, apart = 0;
    if (ompjit__processors() < 2)
        skip_all("there is one processor");
    seen = mmap(NULL, 2 * sizeof *seen, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sched_getaffinity(0, sizeof all, all.part);
    for (int i = 0; i < TRIES; i++) {
        moved += is_moved(&all);
        apart += are_apart(&all);
    }
    ok(moved > MOST, "a child begins on another processor: %d of %d", moved,
       TRIES);
    ok(apart > MOST, "two that wait begin on different ones: %d of %d", apart,
       TRIES);

    ok(!ompjit__place(0, OMPJIT__ELSEWHERE, &was), "no child has no place");
    ompjit__place_end(0, &here);
    ok(has_mask(0, &all), "  and the calling thread stays as it is");
    CPU_SET(sched_getcpu(), here.part);
    pid_t child = start(&seen[0], NULL);
    sched_setaffinity(child, sizeof here, here.part);
    ok(!ompjit__place(child, OMPJIT__ELSEWHERE, &was) &&
           has_mask(child, &here),
       "a child that has one processor keeps it");
    end(child);
    return done_testing();
}
