/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A construct with two arrays, which others bring to the device and away: what
 * bench/gpu.c gives to us, and bench/construct.c to LLVM's libomptarget.
 */
void two(float *x, float *y)
{
    #pragma omp target teams distribute parallel for num_teams(1) \
        thread_limit(32) map(to : x[:256]) map(tofrom : y[:256])
    for (int i = 0; i < 32; i++)
        y[i] += x[i];
}

void enter(float *x, float *y)
{
    #pragma omp target enter data map(to : x[:256], y[:256])
}

void leave(float *x, float *y)
{
    #pragma omp target exit data map(delete : x[:256], y[:256])
}
