/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * threads KERNEL RUNS: seconds of the best run of a kernel that is written as
 * one writes it in CUDA: `teams` with a thread_limit, a bare `parallel`, and
 * work by thread number. Each is right whatever number of teams and threads it
 * gets, so that the same source is its own peer where clang compiles it for the
 * host. Says on stderr how many threads a team had, and a checksum.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20, T = 256, ROW = 64, BODIES = 2048, BINS = 256, SIDE = 256,
       TILE = 16 };

static float x[N], y[N], z[N];
static int keys[N], bins[BINS];
static int threads[1];

#define ME (omp_get_team_num() * omp_get_num_threads() + omp_get_thread_num())
#define ALL (omp_get_num_teams() * omp_get_num_threads())
#define TELL                                                                   \
    if (omp_get_team_num() == 0 && omp_get_thread_num() == 0)                  \
        threads[0] = omp_get_num_threads();

/* A thread for each element. */
static double map(void)
{
    #pragma omp target teams num_teams(N / T) thread_limit(T)
    {
        #pragma omp parallel
        {
            for (int i = ME; i < N; i += ALL)
                z[i] = 2.5f * x[i] + y[i];
            TELL
        }
    }
    return z[N / 3];
}

/* Few teams, whose threads go by strides. */
static double stride(void)
{
    #pragma omp target teams num_teams(8) thread_limit(T)
    {
        #pragma omp parallel
        {
            for (int i = ME; i < N; i += ALL)
                z[i] = 2.5f * x[i] + y[i];
            TELL
        }
    }
    return z[N / 3];
}

/* A thread for each row. */
static double rows(void)
{
    #pragma omp target teams num_teams(N / ROW / T) thread_limit(T)
    {
        #pragma omp parallel
        {
            for (int i = ME; i < N / ROW; i += ALL) {
                float sum = 0;
                for (int k = 0; k < ROW; k++)
                    sum += x[i * ROW + k] * y[k];
                z[i] = sum;
            }
            TELL
        }
    }
    return z[N / ROW / 3];
}

static double bodies(void)
{
    #pragma omp target teams num_teams(BODIES / T) thread_limit(T)
    {
        #pragma omp parallel
        {
            for (int i = ME; i < BODIES; i += ALL) {
                float force = 0, at = x[i];
                for (int k = 0; k < BODIES; k++) {
                    float d = x[k] - at;
                    force += d / (d * d + 0.01f);
                }
                z[i] = force;
            }
            TELL
        }
    }
    return z[BODIES / 3];
}

/* A sum of each team's part by halves, with a barrier for each. */
static double reduce(void)
{
    double all = 0;
    #pragma omp target teams num_teams(N / T / 4) thread_limit(T)              \
        map(tofrom : all)
    {
        float part[T];
        #pragma omp parallel
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            float sum = 0;
            for (int i = ME; i < N; i += ALL)
                sum += x[i];
            part[me] = sum;
            int width = 1;
            while (width < n)
                width *= 2;
            for (int half = width / 2; half > 0; half /= 2) {
                #pragma omp barrier
                if (me < half && me + half < n)
                    part[me] += part[me + half];
            }
            if (me == 0) {
                #pragma omp atomic
                all += part[0];
            }
            TELL
        }
    }
    return all;
}

/* A matrix product by tiles that the team loads together. */
static double tiles(void)
{
    #pragma omp target teams num_teams(SIDE / TILE * SIDE / TILE)              \
        thread_limit(TILE * TILE)
    {
        float a[TILE * TILE], b[TILE * TILE];
        #pragma omp parallel
        for (int t = omp_get_team_num(); t < SIDE / TILE * SIDE / TILE;
             t += omp_get_num_teams()) {
            int row = t / (SIDE / TILE) * TILE, col = t % (SIDE / TILE) * TILE;
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            for (int i = me; i < TILE * TILE; i += n)
                z[(row + i / TILE) * SIDE + col + i % TILE] = 0;
            for (int k = 0; k < SIDE; k += TILE) {
                #pragma omp barrier
                for (int i = me; i < TILE * TILE; i += n) {
                    a[i] = x[(row + i / TILE) * SIDE + k + i % TILE];
                    b[i] = y[(k + i / TILE) * SIDE + col + i % TILE];
                }
                #pragma omp barrier
                for (int i = me; i < TILE * TILE; i += n) {
                    float sum = 0;
                    for (int j = 0; j < TILE; j++)
                        sum += a[i / TILE * TILE + j] * b[j * TILE + i % TILE];
                    z[(row + i / TILE) * SIDE + col + i % TILE] += sum;
                }
            }
            TELL
        }
    }
    return z[SIDE * SIDE / 3];
}

/* Bins of each team's own, added to those of all. */
static double histogram(void)
{
    memset(bins, 0, sizeof bins);
    #pragma omp target teams num_teams(64) thread_limit(T) map(bins)
    {
        int own[BINS];
        #pragma omp parallel
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            for (int i = me; i < BINS; i += n)
                own[i] = 0;
            #pragma omp barrier
            for (int i = ME; i < N; i += ALL) {
                #pragma omp atomic
                own[keys[i]]++;
            }
            #pragma omp barrier
            for (int i = me; i < BINS; i += n) {
                #pragma omp atomic
                bins[i] += own[i];
            }
            TELL
        }
    }
    return bins[BINS / 3];
}

static const struct {
    const char *name;
    double (*run)(void);
} kernels[] = {{"map", map},       {"stride", stride}, {"rows", rows},
               {"bodies", bodies}, {"reduce", reduce}, {"tiles", tiles},
               {"histogram", histogram}};

static double measure(double (*run)(void), int runs)
{
    double best = 1e30;
    #pragma omp target data map(to : x, y, keys) map(from : z) map(threads)
    for (int i = 0; i < runs; i++) {
        double start = omp_get_wtime();
        run();
        double took = omp_get_wtime() - start;
        best = took < best ? took : best;
    }
    fprintf(stderr, "%d threads a team, %g\n", threads[0], run());
    return best;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 1000) * 0.001f;
        y[i] = (float)(i % 77) * 0.01f;
        keys[i] = (int)((i * 2654435761u) >> 20) % BINS;
    }
    for (size_t k = 0; argc == 3 && k < sizeof kernels / sizeof *kernels; k++)
        if (!strcmp(kernels[k].name, argv[1]))
            return printf("%.9f\n", measure(kernels[k].run, atoi(argv[2]))) < 0;
    return 2;
}
