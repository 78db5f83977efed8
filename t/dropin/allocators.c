/* Host code that libomp answers by an abort, or by fewer teams: omp.h of LLVM 22
 * has numbers for memory spaces that libomp up to LLVM 19 does not know, and
 * libomp gives no more teams than there are processors. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 64}};
    omp_allocator_handle_t a =
        omp_init_allocator(omp_default_mem_space, 1, traits);
    int *x = omp_alloc(40, a), teams = 0, found = 0;
    printf("%d %d\n", a != omp_null_allocator, (int)((size_t)x % 64));
    omp_free(x, a);
    omp_destroy_allocator(a);
#pragma omp teams num_teams(100)
    {
        if (omp_get_team_num() == 0)
            teams = omp_get_num_teams();
    }
#pragma omp target map(tofrom: found)
    found = 1;
    printf("%d %d\n", teams, found);
}
