/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Eight kernels, whose entries are in one section.
 */
#include "rex.h"

#ifdef KERNELS
#define PLUS(name, number) \
    void name(int *x) \
    { \
        _Pragma("omp target map(tofrom: x[:1])") \
        x[0] += number; \
    }
PLUS(one, 1)
PLUS(two, 20)
PLUS(three, 300)
PLUS(four, 4000)
PLUS(five, 50000)
PLUS(six, 600000)
PLUS(seven, 7000000)
PLUS(eight, 80000000)
#else
KERNEL(one);
KERNEL(two);
KERNEL(three);
KERNEL(four);
KERNEL(five);
KERNEL(six);
KERNEL(seven);
KERNEL(eight);

static int test(void)
{
    int x = 0, wrong = 0;
    long entries = &__stop_omp_offloading_entries -
                   &__start_omp_offloading_entries;
    for (int round = 0; round < 2; round++) {
        wrong += LAUNCH(one, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(two, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(three, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(four, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(five, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(six, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(seven, ARRAY(&x, 1, TO | FROM)) != 0;
        wrong += LAUNCH(eight, ARRAY(&x, 1, TO | FROM)) != 0;
    }
    return wrong + (x != 2 * 87654321) + (entries != 8);
}
#endif
