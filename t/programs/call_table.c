// expect: 1 1 6
// The table of indirect calls by the names that device code may look pointers up
// with itself.
#include <stdio.h>
#pragma omp begin declare target indirect
int square(int x) { return x * x; }
int twice(int x) { return 2 * x; }
#pragma omp end declare target
struct pair { const void *host; void *device; };
#pragma omp begin declare target device_type(nohost)
extern struct pair *__omp_offloading_fptr_map_p;
extern unsigned long __omp_offloading_fptr_map_size;
#pragma omp end declare target
#pragma omp begin declare target
static int find(const void *host)
{
#ifdef __NVPTX__
    for (unsigned long i = 0; i < __omp_offloading_fptr_map_size; i++)
        if (__omp_offloading_fptr_map_p[i].host == host)
            return __omp_offloading_fptr_map_p[i].device != 0;
    return -(int)__omp_offloading_fptr_map_size;
#endif
    return 0;
}
#pragma omp end declare target
int main(void)
{
    int (*f[2])(int) = {square, twice};
    int r[3] = {0};
#pragma omp target map(to: f) map(tofrom: r)
    {
        r[0] = find((void *)f[0]);
        r[1] = find((void *)f[1]);
        r[2] = find(r) + f[1](4);
    }
    printf("%d %d %d\n", r[0], r[1], r[2]);
}
