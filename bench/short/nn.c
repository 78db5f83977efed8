/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The kernel of Rodinia's nn: distances of records to a place, whose coordinates
 * are scalars. MAP names a clause for them.
 */
#include <math.h>

#include "short.h"

#ifndef MAP
#define MAP
#endif
enum { RECORDS = 64, LAUNCHES = 10 };

int main(void)
{
    static float lat[RECORDS], lng[RECORDS], d[RECORDS];
    float here = 30, there = 90;
    double best = 1e9, sum = 0;
    for (int i = 0; i < RECORDS; i++) {
        lat[i] = 0.1f * (float)i;
        lng[i] = 0.2f * (float)i;
    }
#pragma omp target data map(to : lat, lng) map(from : d)
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (int k = 0; k < LAUNCHES; k++) {
#pragma omp target teams distribute parallel for MAP
            for (int i = 0; i < RECORDS; i++)
                d[i] = sqrtf((lat[i] - here) * (lat[i] - here) +
                             (lng[i] - there) * (lng[i] - there));
        }
        double took = now() - begin;
        if (took < best)
            best = took;
    }
    for (int i = 0; i < RECORDS; i++)
        sum += (double)d[i];
    tell(best, LAUNCHES, sum);
}
