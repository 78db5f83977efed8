/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What CUDA C++ has without being asked, for clang: the front end puts this
 * text, which the library embeds, before a CUDA source. It stands in for the
 * headers of a CUDA toolkit, so that none is needed, and has only what can be
 * lowered for both devices: LLVM's own operations, the NVVM intrinsics of
 * backend/host/nvvm.def, and functions of the C library. threadIdx and its kin
 * are clang's own header's.
 */
#ifndef OMPJIT_CUDA_H
#define OMPJIT_CUDA_H

#define __CUDACC__ 1
#define CUDART_VERSION 12000
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)

#define OMPJIT_DEVICE static __device__ __forceinline__

typedef __SIZE_TYPE__ size_t;
#ifndef NULL
#define NULL __null
#endif

/* ------------------------------------------------------------- vectors */

#define OMPJIT_VECTOR(T, name, a2, a4)                                         \
    struct name##1 {                                                           \
        T x;                                                                   \
    };                                                                         \
    struct __align__(a2) name##2 {                                             \
        T x, y;                                                                \
    };                                                                         \
    struct name##3 {                                                           \
        T x, y, z;                                                             \
    };                                                                         \
    struct __align__(a4) name##4 {                                             \
        T x, y, z, w;                                                          \
    };                                                                         \
    OMPJIT_DEVICE name##1 make_##name##1(T x) { return {x}; }                  \
    OMPJIT_DEVICE name##2 make_##name##2(T x, T y) { return {x, y}; }          \
    OMPJIT_DEVICE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }  \
    OMPJIT_DEVICE name##4 make_##name##4(T x, T y, T z, T w)                   \
    {                                                                          \
        return {x, y, z, w};                                                   \
    }
OMPJIT_VECTOR(signed char, char, 2, 4)
OMPJIT_VECTOR(unsigned char, uchar, 2, 4)
OMPJIT_VECTOR(short, short, 4, 8)
OMPJIT_VECTOR(unsigned short, ushort, 4, 8)
OMPJIT_VECTOR(int, int, 8, 16)
OMPJIT_VECTOR(unsigned, uint, 8, 16)
OMPJIT_VECTOR(long, long, 16, 16)
OMPJIT_VECTOR(unsigned long, ulong, 16, 16)
OMPJIT_VECTOR(long long, longlong, 16, 16)
OMPJIT_VECTOR(unsigned long long, ulonglong, 16, 16)
OMPJIT_VECTOR(float, float, 8, 16)
OMPJIT_VECTOR(double, double, 16, 16)
#undef OMPJIT_VECTOR

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1,
                                       unsigned z = 1)
        : x(x), y(y), z(z)
    {
    }
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};

#include <__clang_cuda_builtin_vars.h>

#define OMPJIT_TRIPLE(name)                                                    \
    __device__ inline __cuda_builtin_##name##_t::operator dim3() const         \
    {                                                                          \
        return dim3(x, y, z);                                                  \
    }                                                                          \
    __device__ inline __cuda_builtin_##name##_t::operator uint3() const        \
    {                                                                          \
        return {x, y, z};                                                      \
    }
OMPJIT_TRIPLE(threadIdx)
OMPJIT_TRIPLE(blockIdx)
OMPJIT_TRIPLE(blockDim)
OMPJIT_TRIPLE(gridDim)
#undef OMPJIT_TRIPLE

/* ------------------------------------------------- barriers and fences */

OMPJIT_DEVICE void __syncwarp(unsigned mask = 0xffffffffu)
{
    __nvvm_bar_warp_sync(mask);
}
OMPJIT_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
OMPJIT_DEVICE void __threadfence() { __nvvm_membar_gl(); }
OMPJIT_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
OMPJIT_DEVICE void __nanosleep(unsigned ns) { __nvvm_nanosleep(ns); }
OMPJIT_DEVICE void __trap() { __builtin_trap(); }
OMPJIT_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }

/* --------------------------------------------------- shuffles and votes */

/* A value of 4 or 8 bytes, in words. */
#define OMPJIT_SHUFFLE(name, intrinsic, second, T2, clamp)                     \
    template <class T>                                                         \
    OMPJIT_DEVICE T name(unsigned mask, T value, T2 second,                    \
                         int width = warpSize)                                 \
    {                                                                          \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8,                        \
                      #name " takes values of 4 or 8 bytes");                  \
        int words[sizeof(T) / 4];                                              \
        __builtin_memcpy(words, &value, sizeof value);                         \
        for (int &word : words)                                                \
            word = intrinsic(mask, word, (int)second,                          \
                             (warpSize - width) << 8 | (clamp));               \
        __builtin_memcpy(&value, words, sizeof value);                         \
        return value;                                                          \
    }
OMPJIT_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, lane, int, 31)
OMPJIT_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, delta, unsigned, 0)
OMPJIT_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, delta, unsigned, 31)
OMPJIT_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, lanes, int, 31)
#undef OMPJIT_SHUFFLE

OMPJIT_DEVICE unsigned __ballot_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
OMPJIT_DEVICE int __any_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_any_sync(mask, predicate != 0);
}
OMPJIT_DEVICE int __all_sync(unsigned mask, int predicate)
{
    return __nvvm_vote_all_sync(mask, predicate != 0);
}
OMPJIT_DEVICE unsigned __activemask() { return __nvvm_activemask(); }

/* -------------------------------------------------------------- atomics */

#define OMPJIT_ATOMIC(T, name, op)                                             \
    OMPJIT_ATOMIC_IN(T, name, op, __MEMORY_SCOPE_DEVICE)                       \
    OMPJIT_ATOMIC_IN(T, name##_block, op, __MEMORY_SCOPE_WRKGRP)               \
    OMPJIT_ATOMIC_IN(T, name##_system, op, __MEMORY_SCOPE_SYSTEM)
#define OMPJIT_ATOMIC_IN(T, name, op, scope)                                   \
    OMPJIT_DEVICE T name(T *at, T value)                                       \
    {                                                                          \
        return __scoped_atomic_##op(at, value, __ATOMIC_RELAXED, scope);       \
    }
#define OMPJIT_ATOMIC_WORDS(name, op)                                          \
    OMPJIT_ATOMIC(int, name, op)                                               \
    OMPJIT_ATOMIC(unsigned, name, op)                                          \
    OMPJIT_ATOMIC(unsigned long long, name, op)
OMPJIT_ATOMIC_WORDS(atomicAdd, fetch_add)
OMPJIT_ATOMIC(float, atomicAdd, fetch_add)
OMPJIT_ATOMIC(double, atomicAdd, fetch_add)
OMPJIT_ATOMIC(int, atomicSub, fetch_sub)
OMPJIT_ATOMIC(unsigned, atomicSub, fetch_sub)
OMPJIT_ATOMIC_WORDS(atomicExch, exchange_n)
OMPJIT_ATOMIC_WORDS(atomicMin, fetch_min)
OMPJIT_ATOMIC(long long, atomicMin, fetch_min)
OMPJIT_ATOMIC_WORDS(atomicMax, fetch_max)
OMPJIT_ATOMIC(long long, atomicMax, fetch_max)
OMPJIT_ATOMIC_WORDS(atomicAnd, fetch_and)
OMPJIT_ATOMIC_WORDS(atomicOr, fetch_or)
OMPJIT_ATOMIC_WORDS(atomicXor, fetch_xor)
#undef OMPJIT_ATOMIC_IN
#undef OMPJIT_ATOMIC_WORDS

#define OMPJIT_ATOMIC_IN(T, name, op, scope)                                   \
    OMPJIT_DEVICE T name(T *at, T value)                                       \
    {                                                                          \
        T old;                                                                 \
        __scoped_atomic_##op(at, &value, &old, __ATOMIC_RELAXED, scope);       \
        return old;                                                            \
    }
OMPJIT_ATOMIC(float, atomicExch, exchange)
#undef OMPJIT_ATOMIC_IN

/* The old value; `compare` has it where it was another. */
#define OMPJIT_ATOMIC_IN(T, name, op, scope)                                   \
    OMPJIT_DEVICE T name(T *at, T compare, T value)                            \
    {                                                                          \
        __scoped_atomic_##op(at, &compare, value, false, __ATOMIC_RELAXED,     \
                             __ATOMIC_RELAXED, scope);                         \
        return compare;                                                        \
    }
OMPJIT_ATOMIC(int, atomicCAS, compare_exchange_n)
OMPJIT_ATOMIC(unsigned, atomicCAS, compare_exchange_n)
OMPJIT_ATOMIC(unsigned long long, atomicCAS, compare_exchange_n)
OMPJIT_ATOMIC(unsigned short, atomicCAS, compare_exchange_n)
#undef OMPJIT_ATOMIC_IN

/* Counters that wrap round at a limit: the value that follows `old`. */
#define OMPJIT_ATOMIC_IN(T, name, next, scope)                                 \
    OMPJIT_DEVICE T name(T *at, T limit)                                       \
    {                                                                          \
        T old = __scoped_atomic_load_n(at, __ATOMIC_RELAXED, scope);           \
        while (!__scoped_atomic_compare_exchange_n(                            \
            at, &old, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope)) \
            ;                                                                  \
        return old;                                                            \
    }
OMPJIT_ATOMIC(unsigned, atomicInc, (old >= limit ? 0 : old + 1))
OMPJIT_ATOMIC(unsigned, atomicDec, (old == 0 || old > limit ? limit : old - 1))
#undef OMPJIT_ATOMIC_IN
#undef OMPJIT_ATOMIC

/* A barrier that also tells how many threads have a predicate. The first of its
 * own barriers keeps two calls that follow each other apart. */
OMPJIT_DEVICE int __syncthreads_count(int predicate)
{
    static __shared__ int count;
    __syncthreads();
    if (!threadIdx.x && !threadIdx.y && !threadIdx.z)
        count = 0;
    __syncthreads();
    if (predicate)
        atomicAdd_block(&count, 1);
    __syncthreads();
    return count;
}
OMPJIT_DEVICE int __syncthreads_or(int predicate)
{
    return __syncthreads_count(predicate) != 0;
}
OMPJIT_DEVICE int __syncthreads_and(int predicate)
{
    return __syncthreads_count(!predicate) == 0;
}

/* ------------------------------------------------------- bits and memory */

OMPJIT_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
OMPJIT_DEVICE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
OMPJIT_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
OMPJIT_DEVICE int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
OMPJIT_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
OMPJIT_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
OMPJIT_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
OMPJIT_DEVICE unsigned long long __brevll(unsigned long long x)
{
    return __builtin_bitreverse64(x);
}
OMPJIT_DEVICE int __mulhi(int a, int b) { return (long long)a * b >> 32; }
OMPJIT_DEVICE unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned long long)a * b >> 32;
}
OMPJIT_DEVICE unsigned long long __umul64hi(unsigned long long a,
                                            unsigned long long b)
{
    return (unsigned __int128)a * b >> 64;
}

template <class T> OMPJIT_DEVICE T __ldg(const T *at) { return *at; }

#define OMPJIT_BITS(name, from, to)                                            \
    OMPJIT_DEVICE to name(from x) { return __builtin_bit_cast(to, x); }
OMPJIT_BITS(__float_as_int, float, int)
OMPJIT_BITS(__float_as_uint, float, unsigned)
OMPJIT_BITS(__int_as_float, int, float)
OMPJIT_BITS(__uint_as_float, unsigned, float)
OMPJIT_BITS(__double_as_longlong, double, long long)
OMPJIT_BITS(__longlong_as_double, long long, double)
#undef OMPJIT_BITS

/* ----------------------------------------------------------- mathematics */

#define OMPJIT_MATH1(name)                                                     \
    OMPJIT_DEVICE double name(double x) { return __builtin_##name(x); }        \
    OMPJIT_DEVICE float name##f(float x) { return __builtin_##name##f(x); }    \
    OMPJIT_DEVICE float name(float x) { return __builtin_##name##f(x); }
#define OMPJIT_MATH2(name)                                                     \
    OMPJIT_DEVICE double name(double x, double y)                              \
    {                                                                          \
        return __builtin_##name(x, y);                                         \
    }                                                                          \
    OMPJIT_DEVICE float name##f(float x, float y)                              \
    {                                                                          \
        return __builtin_##name##f(x, y);                                      \
    }                                                                          \
    OMPJIT_DEVICE float name(float x, float y)                                 \
    {                                                                          \
        return __builtin_##name##f(x, y);                                      \
    }
OMPJIT_MATH1(acos)
OMPJIT_MATH1(acosh)
OMPJIT_MATH1(asin)
OMPJIT_MATH1(asinh)
OMPJIT_MATH1(atan)
OMPJIT_MATH1(atanh)
OMPJIT_MATH1(cbrt)
OMPJIT_MATH1(ceil)
OMPJIT_MATH1(cos)
OMPJIT_MATH1(cosh)
OMPJIT_MATH1(erf)
OMPJIT_MATH1(erfc)
OMPJIT_MATH1(exp)
OMPJIT_MATH1(exp10)
OMPJIT_MATH1(exp2)
OMPJIT_MATH1(expm1)
OMPJIT_MATH1(fabs)
OMPJIT_MATH1(floor)
OMPJIT_MATH1(lgamma)
OMPJIT_MATH1(log)
OMPJIT_MATH1(log10)
OMPJIT_MATH1(log1p)
OMPJIT_MATH1(log2)
OMPJIT_MATH1(logb)
OMPJIT_MATH1(nearbyint)
OMPJIT_MATH1(rint)
OMPJIT_MATH1(round)
OMPJIT_MATH1(sin)
OMPJIT_MATH1(sinh)
OMPJIT_MATH1(sqrt)
OMPJIT_MATH1(tan)
OMPJIT_MATH1(tanh)
OMPJIT_MATH1(tgamma)
OMPJIT_MATH1(trunc)
OMPJIT_MATH2(atan2)
OMPJIT_MATH2(copysign)
OMPJIT_MATH2(fdim)
OMPJIT_MATH2(fmax)
OMPJIT_MATH2(fmin)
OMPJIT_MATH2(fmod)
OMPJIT_MATH2(hypot)
OMPJIT_MATH2(nextafter)
OMPJIT_MATH2(pow)
OMPJIT_MATH2(remainder)
#undef OMPJIT_MATH1
#undef OMPJIT_MATH2

OMPJIT_DEVICE double fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
OMPJIT_DEVICE float fmaf(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
OMPJIT_DEVICE float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
OMPJIT_DEVICE double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
OMPJIT_DEVICE float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
OMPJIT_DEVICE double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
OMPJIT_DEVICE float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
OMPJIT_DEVICE float rsqrt(float x) { return rsqrtf(x); }
OMPJIT_DEVICE void sincos(double x, double *s, double *c)
{
    *s = __builtin_sin(x);
    *c = __builtin_cos(x);
}
OMPJIT_DEVICE void sincosf(float x, float *s, float *c)
{
    *s = __builtin_sinf(x);
    *c = __builtin_cosf(x);
}

/* Fast on a GPU and less exact; here they are the exact ones. */
#define OMPJIT_FAST1(name)                                                     \
    OMPJIT_DEVICE float __##name##f(float x) { return __builtin_##name##f(x); }
OMPJIT_FAST1(cos)
OMPJIT_FAST1(exp)
OMPJIT_FAST1(exp10)
OMPJIT_FAST1(log)
OMPJIT_FAST1(log10)
OMPJIT_FAST1(log2)
OMPJIT_FAST1(sin)
OMPJIT_FAST1(tan)
#undef OMPJIT_FAST1
OMPJIT_DEVICE float __powf(float x, float y) { return __builtin_powf(x, y); }
OMPJIT_DEVICE float __fdividef(float x, float y) { return x / y; }
OMPJIT_DEVICE float __frsqrt_rn(float x) { return 1 / __builtin_sqrtf(x); }
OMPJIT_DEVICE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
OMPJIT_DEVICE float __fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
OMPJIT_DEVICE double __fma_rn(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
OMPJIT_DEVICE float __saturatef(float x)
{
    return __builtin_fminf(__builtin_fmaxf(x, 0), 1);
}

#define OMPJIT_MINMAX(T)                                                       \
    OMPJIT_DEVICE T min(T a, T b) { return b < a ? b : a; }                    \
    OMPJIT_DEVICE T max(T a, T b) { return a < b ? b : a; }
OMPJIT_MINMAX(int)
OMPJIT_MINMAX(unsigned)
OMPJIT_MINMAX(long)
OMPJIT_MINMAX(unsigned long)
OMPJIT_MINMAX(long long)
OMPJIT_MINMAX(unsigned long long)
#undef OMPJIT_MINMAX
OMPJIT_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
OMPJIT_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
OMPJIT_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
OMPJIT_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }
OMPJIT_DEVICE int abs(int x) { return x < 0 ? -x : x; }
OMPJIT_DEVICE long abs(long x) { return x < 0 ? -x : x; }
OMPJIT_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
OMPJIT_DEVICE float abs(float x) { return __builtin_fabsf(x); }
OMPJIT_DEVICE double abs(double x) { return __builtin_fabs(x); }

/* ---------------------------------------------------- the C library's own */

extern "C" {
__device__ int printf(const char *format, ...);
__device__ void *malloc(size_t size);
__device__ void free(void *p);
__device__ void __assert_fail(const char *expression, const char *file,
                              unsigned line, const char *function) noexcept;
}
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                      \
    ((condition) ? (void)0                                                     \
                 : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#endif

#undef OMPJIT_DEVICE
#endif
