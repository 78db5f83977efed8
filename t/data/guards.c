/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sequential parts of a team, in pieces and in a function, before, between and
 * behind two parallel regions. t/data_sharing_t.sh counts its barriers.
 */
#include <omp.h>
#include <stdio.h>

struct box {
    int *p;
};

#pragma omp begin declare target
static void put(struct box *b, int *p)
{
    b->p = p;
}
static int work(struct box *b, int n)
{
    int sum = n;
#pragma omp parallel num_threads(32)
#pragma omp atomic
    sum += *b->p;
    return sum;
}
#pragma omp end declare target

int main(int argc, char **argv)
{
    int r[4] = {0};
#pragma omp target teams num_teams(2) thread_limit(64) map(tofrom : r)
    {
        int x = 3, y = 4;
        struct box b;
        put(&b, argc > 1 ? &x : &y);
        int sum = work(&b, 1);
        int list[40];
        for (int i = 0; i < 40; i++)
            list[i] = i;
#pragma omp parallel num_threads(32)
        {
            int me = omp_get_thread_num();
            list[me] += me;
            if (me == 5)
                x = sum;
        }
        if (omp_get_team_num() == 1) {
            r[0] = sum;
            r[1] = list[31] + list[32];
            r[2] = x;
            r[3] = *b.p;
        }
    }
    printf("%d\n", r[0] != 129 || r[1] != 94 || r[2] != 129 || r[3] != 4);
}
