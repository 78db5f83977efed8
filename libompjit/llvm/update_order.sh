#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make update-order: writes order.txt and order_program.txt, the functions of
# LLVM and clang that are called when a few programs are compiled and run, for
# the host and for a GPU, and at the prompt. Takes some minutes. Needs valgrind.
set -e
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
command -v valgrind >/dev/null || { echo "update-order: needs valgrind" >&2; exit 1; }
# valgrind cannot read the debug information of Debian's LLVM.
"$MAKE" -s -C "$builddir" install DESTDIR="$tmp/root" >"$tmp/log" 2>&1 ||
    { cat "$tmp/log" >&2; exit 1; }
find "$tmp/root" -type f \( -name '*.so*' -o -name 'ompjit*' \) \
    -exec strip -g {} + 2>/dev/null || :
ompjit=$(find "$tmp/root" -type f -name ompjit -perm -u+x | head -n 1)

cat >"$tmp/loops.c" <<'END'
#include <math.h>
#include <stdio.h>
int main(void)
{
    enum { N = 1000 };
    static double x[N], sum;
    #pragma omp target teams distribute parallel for map(from : x)
    for (int i = 0; i < N; i++)
        x[i] = sin(0.5 * i) + sqrt(i);
    #pragma omp target teams distribute parallel for reduction(+ : sum) \
        map(to : x)
    for (int i = 0; i < N; i++)
        sum += x[i];
    printf("%g\n", sum);
}
END
cat >"$tmp/objects.cpp" <<'END'
#include <algorithm>
#include <cstdio>
#include <vector>
template <typename T> struct point {
    T x, y;
    point operator+(const point &o) const { return {x + o.x, y + o.y}; }
};
int main()
{
    std::vector<double> a(1000, 1.5), b(1000);
    double *p = a.data(), *q = b.data(), most = 0;
    int n = a.size();
    #pragma omp target data map(to : p[:n]) map(tofrom : q[:n])
    {
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++) {
            point<double> v{p[i], 1.0 * i}, w = v + v;
            q[i] = w.x * w.y;
        }
        #pragma omp target teams distribute parallel for reduction(max : most)
        for (int i = 0; i < n; i++)
            most = std::max(most, q[i]);
    }
    #pragma omp target parallel for schedule(dynamic) map(tofrom : q[:n])
    for (int i = 0; i < n; i++) {
        #pragma omp critical
        q[0] += 1;
    }
    std::printf("%g %g\n", most, q[0]);
}
END
cat >"$tmp/prompt.c" <<'END'
double a[100], s;
for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target teams distribute parallel for map(tofrom : a)
for (int i = 0; i < 100; i++) a[i] *= 2;
a[7]
int f(int n) { return n ? n + f(n - 1) : 0; }
f(10)
END

# Processes are killed when they are no longer wanted: they write what they have
# called again and again.
traced() {
    OMPJIT_CACHE=0 valgrind -q --tool=callgrind --trace-children=yes \
        --demangle=no --compress-strings=no --dump-every-bb=20000000 \
        --callgrind-out-file="$tmp/calls.%p" "$ompjit" "$@" >/dev/null
}
cd "$tmp"
traced run loops.c
traced run objects.cpp
traced compile --emit ptx loops.c -o loops.ptx
traced compile --emit ptx objects.cpp -o objects.ptx
traced repl --device host prompt.c

# functions OBJECT: those of it that were called
functions() {
    cat "$tmp"/calls.* | awk -v object="$1" '
        /^ob=/ { here = index($0, object) > 0 }
        /^fn=/ && here { name = substr($0, 4); sub(/\x27[0-9]+$/, "", name); print name }' |
        sort -u
}
functions /libompjit-compiler.so |
    "$builddir/libompjit/llvm/order" >"$srcdir/libompjit/llvm/order.txt"
functions /ompjitc |
    "$builddir/libompjit/llvm/order" >"$srcdir/libompjit/llvm/order_program.txt"
