// Kernels for an interpreter of PTX, with all that a CUDA source may have.

__global__ void __launch_bounds__(256)
vadd(int n, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        y[i] += a * x[i];
}

template <class T, int lanes> __device__ T warp_sum(T v)
{
    for (int d = lanes / 2; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

// One block: warps by shuffles, then the warps' sums in shared memory.
extern "C" __global__ void total(const double *x, int n, double *out)
{
    __shared__ double part[32];
    double v = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        v += x[i];
    v = warp_sum<double, 32>(v);
    if (threadIdx.x % warpSize == 0)
        part[threadIdx.x / warpSize] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / warpSize; w++)
            v += part[w];
        *out = v;
    }
}

namespace grid {
// The mean of four neighbours, by tiles with a rim; a block is 8 by 4.
__global__ void stencil(int w, int h, const float *in, float *out)
{
    __shared__ float tile[6][10];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [&](int i, int j) {
        return i < 0 || j < 0 || i >= w || j >= h ? 0.0f : in[j * w + i];
    };
    tile[ty][tx] = at(x, y);
    if (tx == 1)
        tile[ty][0] = at(x - 1, y);
    if (tx == (int)blockDim.x)
        tile[ty][tx + 1] = at(x + 1, y);
    if (ty == 1)
        tile[0][tx] = at(x, y - 1);
    if (ty == (int)blockDim.y)
        tile[ty + 1][tx] = at(x, y + 1);
    __syncthreads();
    if (x < w && y < h)
        out[y * w + x] = (tile[ty][tx - 1] + tile[ty][tx + 1] +
                          tile[ty - 1][tx] + tile[ty + 1][tx]) / 4;
}
}

// The place of each thread of a launch in three dimensions.
__global__ void place(unsigned *out)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x +
                      blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    dim3 b = blockIdx;
    out[block * n + thread] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 |
                              b.x << 12 | b.y << 16 | b.z << 20;
}

__global__ void atomics(int n, int *bins, float *sum, unsigned *turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicAdd(&bins[i % 4], 1);
    atomicMax(&bins[4], i);
    atomicMin(&bins[5], -i);
    atomicOr(&bins[6], 1 << i % 8);
    atomicAdd(sum, 0.5f);
    atomicInc(turns, 9);
    int old = bins[7], seen;
    while ((seen = atomicCAS(&bins[7], old, old + 2)) != old)
        old = seen;
}

// Scalars of every width, of both signs.
__global__ void scalars(signed char c, unsigned char uc, short s,
                        unsigned short us, int i, unsigned u, long long l,
                        bool b, float f, double d, double *out)
{
    double all[] = {(double)c, (double)uc, (double)s, (double)us, (double)i,
                    (double)u, (double)l, (double)b, (double)f, d};
    if (threadIdx.x < 10)
        out[threadIdx.x] = all[threadIdx.x];
}

extern __shared__ int dynamic[];
__global__ void reverse(int *v)
{
    dynamic[threadIdx.x] = v[threadIdx.x];
    __syncthreads();
    v[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

__global__ void votes(unsigned *out)
{
    bool odd = threadIdx.x % 2;
    unsigned ballot = __ballot_sync(0xffffffffu, odd);
    int any = __any_sync(0xffffffffu, threadIdx.x == 3);
    int all = __all_sync(0xffffffffu, threadIdx.x < 64);
    int count = __syncthreads_count(odd);
    int or_ = __syncthreads_or(threadIdx.x == 40);
    int and_ = __syncthreads_and(odd);
    int up = __shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1);
    int swapped = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, 1, 16);
    if (threadIdx.x == 34) {
        out[0] = ballot;
        out[1] = any | all << 1 | or_ << 2 | and_ << 3;
        out[2] = count;
        out[3] = up;
        out[4] = swapped;
        out[5] = __popc(ballot) + __clz(1) + __ffs(8);
        out[6] = __float_as_int(sqrtf(16.0f)) == __float_as_int(4.0f);
    }
}

// The OpenMP runtime, as in a parallel region of the block's threads.
OMPJIT_KERNEL(openmp)(int n, int *who, double *time)
{
    OMPJIT_FOR_ALL(i, n)
        who[i] = omp_get_team_num() * 1000 + omp_get_thread_num();
    if (omp_get_team_num() == 0 && omp_get_thread_num() == 0) {
        time[0] = omp_get_wtime();
        time[1] = omp_get_num_devices() * 1000 + omp_get_num_threads() * 100 +
                  omp_get_num_teams() * 10 + omp_in_parallel();
    }
    __kmpc_barrier(nullptr, 0);
}
