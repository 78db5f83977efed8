// expect: 40 41 8 9 -1 -1
// A program that gives the table of calls through pointers rows of its own, in
// place of what the library knows or beside it, and takes them back.
#include <stdint.h>
#include <stdio.h>
#pragma omp begin declare target indirect
int square(int x) { return x * x; }
#pragma omp end declare target
#pragma omp begin declare target
int tenfold(int x) { return 10 * x; }
#pragma omp end declare target
int host_only(int x) { return -x; }
struct row { void *host, *device; };
int __tgt_rtl_set_function_ptr_map(int32_t device, uint64_t n,
                                   const struct row *rows);
#pragma omp begin declare target device_type(nohost)
void *__kmpc_target_translate_fptr(void *host);
#pragma omp end declare target
#pragma omp begin declare target
static int has_row(void *host)
{
#ifdef __NVPTX__
    return __kmpc_target_translate_fptr(host) != host ? 1 : -1;
#endif
    return 0;
}
#pragma omp end declare target
static int call(int (*f)(int), int x)
{
    int r = 0;
#pragma omp target map(tofrom: r)
    r = f(x);
    return r;
}
static int is_known(void *host)
{
    int r = 0;
#pragma omp target map(tofrom: r)
    r = has_row(host);
    return r;
}
int main(void)
{
    struct row rows[2] = {{(void *)square}, {(void *)host_only}};
    void *device = 0;
#pragma omp target map(from: device)
    device = (void *)tenfold;
    rows[0].device = rows[1].device = device;
    if (__tgt_rtl_set_function_ptr_map(0, 2, rows))
        return 1;
    printf("%d", call(square, 4));
    printf(" %d", call(host_only, 4) + is_known((void *)host_only));
    if (__tgt_rtl_set_function_ptr_map(0, 0, 0))
        return 1;
    printf(" %d %d %d %d\n", call(square, 3) + is_known((void *)host_only),
           call(square, 3), is_known((void *)host_only), is_known(&device));
}
