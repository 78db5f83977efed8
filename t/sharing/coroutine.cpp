// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A coroutine reads mapped data where it is resumed.
// options: -std=c++20
// expect: 1
// in shared memory: 2
#include <coroutine>
#include <cstdio>
#include <cstdlib>

enum { N = 1000 };

struct task {
    struct promise_type {
        task get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

static task look(const double *a)
{
    co_await std::suspend_always{};
    printf("%g\n", a[0]);
}

int main()
{
    double *a = static_cast<double *>(malloc(N * sizeof *a));
    for (int i = 0; i < N; i++)
        a[i] = 1;
    task t = look(a);
#pragma omp target data map(to: a[:N])
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            a[i] = 2;
        t.handle.resume();
    }
    t.handle.destroy();
    free(a);
}
