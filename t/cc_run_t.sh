#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What ompjit cc has built runs, with libompjit-omptarget: the programs of
# t/programs, which say what they print (program_t.sh), on the host device and
# as PTX; a program of several sources, one of which is C++, with an archive; two
# shared libraries with kernels of the same name; and, from the cache, without
# any compile.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
cc=$builddir/ompjit-cc
cxx=$builddir/ompjit-c++
export OMP_TARGET_OFFLOAD=mandatory

# on NAME EXPECTED HOST|CUDA COMMAND...: prints what it must
on() {
    on_name=$1 on_text=$2 on_device=$3; shift 3
    if [ "$on_device" = host ]; then
        succeeds "$on_name, host" timeout 120 env OMPJIT_DEVICE=host "$@"
    elif [ -e "${PTXI:-}/libcuda.so.1" ]; then
        succeeds "$on_name, PTX" emulated OMPJIT_TEAMS=4 OMPJIT_THREADS=32 \
            PTXI_LOG="$tmp/ptxi.log" timeout 120 "$@"
    else
        skip "$on_name, PTX" "PTXI names no emulated libcuda.so.1"
        return
    fi
    is "$out" "$on_text" "  prints what it must"
}

# ------------------------------------------------------------- whole programs
# says PROGRAM WORD: what follows "// WORD: " in it
says() { sed -n "s,^// $2: ,,p" "$1"; }
# A GPU without unified memory is none for programs that require it.
for program in "$srcdir"/t/programs/*.c "$srcdir"/t/programs/*.cpp; do
    name=${program##*/}
    case $name in
    *.cpp) compiler=$cxx ;;
    *) compiler=$cc ;;
    esac
    expect=$(says "$program" expect)
    expect_cuda=$(says "$program" "expect cuda")
    options=$(says "$program" options)
    settings=
    case $options in
    --threads=*) settings=OMPJIT_THREADS=${options#--threads=} options= ;;
    esac
    case $name in
    unified*) settings="-u OMP_TARGET_OFFLOAD" ;;
    esac
    # shellcheck disable=SC2086
    succeeds "$name" "$compiler" -O2 -fopenmp $options "$program" \
        -o "$tmp/program" -lm
    # shellcheck disable=SC2086
    on "$name" "$expect" host env $settings "$tmp/program" host
    if [ "$(says "$program" needs)" = libdevice ] && ! has_libdevice; then
        skip "$name, PTX" "no libdevice, which is CUDA's"
    else
        # shellcheck disable=SC2086
        on "$name" "${expect_cuda:-$expect}" cuda env $settings \
            "$tmp/program" cuda
    fi
done

# The host half is repaired wherever clang has put it: by the name of the source
# and, with -save-temps, that of the target.
mkdir "$tmp/halves"
cd "$tmp/halves" || exit 1
cp "$srcdir/t/programs/strided_sections.c" ./"a b-sm_90-.c"
expect=$(says "a b-sm_90-.c" expect)
for option in -O0 -save-temps -flto; do
    succeeds "a host half, $option" "$cc" -fopenmp $option -c "a b-sm_90-.c" \
        -o half.o
    succeeds "  is linked" "$cc" -fopenmp half.o -o half
    on "  repaired" "$expect" host ./half
done

# The halves number lambdas differently: the device half is compiled once more, by
# the command that clang's driver has for it, also where two sources have one name.
expect=$(says "$srcdir/t/programs/lambdas.cpp" expect)
for option in "-O0 -g" -g0 -flto -save-temps; do
    # shellcheck disable=SC2086 # several words
    succeeds "lambdas, $option" "$cxx" -fopenmp -std=c++17 $option \
        "$srcdir/t/programs/lambdas.cpp" -o lambdas
    on "  agree" "$expect" host ./lambdas
done
mkdir one two
for n in one two; do
    cat >$n/lambdas.cpp <<END
template <class F> static int on_device(F f)
{
    int r = 0;
#pragma omp target map(tofrom: r) firstprivate(f)
    r = f(r);
    return r;
}
int $n()
{
    auto only_on_the_host = [](int k) { return k + 10; };
    int k = only_on_the_host(0);
    auto shift = [k](int r) { return r + k; };
    return on_device(shift) + on_device([](int r) { return r + ${#n}00; });
}
END
done
sed -i 's/00; /2; /' two/lambdas.cpp
cat >both.cpp <<'END'
#include <cstdio>
int one(), two();
int main() { printf("%d %d\n", one(), two()); }
END
succeeds "two sources of one name, in one command" "$cxx" -fopenmp one/lambdas.cpp two/lambdas.cpp \
    both.cpp -o both
on "  agree" "310 42" host ./both

# An allocator of the host, which a libomp of another release than omp.h's does
# not know, is ours wherever libomp stands: CMake names it as a file. The host's
# teams are as many as the program asks for, and as the user allows.
for libomp in "" "$LIBOMP"; do
    succeeds "allocators, ${libomp:-by -fopenmp}" "$cc" -fopenmp \
        "$srcdir/t/dropin/allocators.c" $libomp -o allocators
    on "  work" "1 0
100 1" host ./allocators
    on "  within a limit of the user's" "1 0
5 1" host env KMP_TEAMS_THREAD_LIMIT=5 ./allocators
done
cat >teams.c <<'END'
#include <omp.h>
#include <stdio.h>
int main(void)
{
#pragma omp teams num_teams(100)
    if (omp_get_team_num() == 99)
        printf("%d teams\n", omp_get_num_teams());
}
END
succeeds "no device code" "$cc" -fopenmp teams.c -o teams
on "  the host's teams" "100 teams" host ./teams
succeeds "a shared library" "$cc" -fopenmp -shared -fPIC teams.c -o teams.so
succeeds "  leaves the process's environment alone" sh -c \
    '! nm teams.so | grep -q setenv'

# -------------------------------------------------------------- several sources
mkdir "$tmp/parts"
cd "$tmp/parts" || exit 1
cat >parts.h <<'END'
#ifdef __cplusplus
extern "C" {
#endif
#pragma omp begin declare target
extern int shift;
int add(int a, int b);
#pragma omp end declare target
int sum(int n), squares(int n);
#ifdef __cplusplus
}
#endif
END
cat >add.c <<'END'
#include "parts.h"
int shift = 1;
static int twice(int x) { return 2 * x; }
int add(int a, int b) { return twice(a) + b + shift - a; }
END
cat >sum.c <<'END'
#include "parts.h"
static int twice(int x) { return x; }
int sum(int n)
{
    int s = 0;
#pragma omp target teams distribute parallel for reduction(+: s)
    for (int i = 0; i < n; i++)
        s += add(twice(i), i);
    return s;
}
END
cat >squares.cpp <<'END'
#include "parts.h"
template <typename T> static T square(T x) { return x * x; }
int squares(int n)
{
    int s = 0;
#pragma omp target map(tofrom: s)
    for (int i = 0; i < n; i++)
        s += square(i);
    return s;
}
END
echo 'int sum(int n) { (void)n; return -1; }' >other.c
sed 's/a + b/a - b/' add.c >unused.c
cat >main.c <<'END'
#include <stdio.h>
#include "parts.h"
int main(void)
{
    shift = 3;
#pragma omp target update to(shift)
    printf("%d %d\n", sum(10), squares(4));
}
END
succeeds "objects of C" "$cc" -O2 -fopenmp -c add.c sum.c main.c other.c unused.c
succeeds "an object of C++" "$cxx" -O2 -fopenmp -c squares.cpp
ar rc libparts.a sum.o add.o squares.o unused.o other.o
succeeds "a program of objects" "$cxx" -fopenmp main.o add.o sum.o squares.o \
    -o objects
succeeds "a program of an archive, some of which defines the same again" \
    "$cxx" -fopenmp main.o -L. -lparts -o archive
for program in objects archive; do
    on "$program" "120 14" host "./$program"
    on "$program" "120 14" cuda "./$program"
done
unset OMPJIT_CACHE
for device in host cuda; do
    OMPJIT_CACHE_DIR=$tmp/cache on "into the cache" "120 14" $device ./objects
done
cp -R "$builddir/.libs" "$tmp/libs"
rm -f "$tmp"/libs/libompjit-compiler*
for device in host cuda; do
    OMPJIT_CACHE_DIR=$tmp/cache on "with no compiler there" "120 14" $device \
        env OMPJIT_COMPILER=inprocess LD_LIBRARY_PATH="$tmp/libs:$PTXI" ./objects
done
fails_with 'libompjit-compiler.so.0, cannot be loaded' \
    "which another cache needs" env OMPJIT_CACHE_DIR="$tmp/empty" \
    OMPJIT_DEVICE=host OMPJIT_COMPILER=inprocess LD_LIBRARY_PATH="$tmp/libs" \
    ./objects
OMPJIT_CACHE=0
export OMPJIT_CACHE

# Regions of functions that each object has for itself, under one name.
for part in main.cpp other.cpp c.c; do
    case $part in
    *.c) with=$cc ;;
    *) with=$cxx ;;
    esac
    # shellcheck disable=SC2086
    succeeds "own regions: own_$part" $with -O2 -fopenmp -c \
        "$srcdir/t/sources/own_$part" -o "own_$part.o"
done
# shellcheck disable=SC2086
succeeds "  linked" $cxx -fopenmp own_main.cpp.o own_other.cpp.o own_c.c.o -o own
for device in host cuda; do
    on "  and run" "2 30 400
55045 35450" $device ./own
done

# ------------------------------------------------------------ shared libraries
for n in 1 2; do
    mkdir lib$n
    cat >lib$n/kernel.c <<END
#pragma omp declare target
static int here = $n;
#pragma omp end declare target
int kernel(int n)
{
    int s = 0;
#pragma omp target teams distribute parallel for reduction(+: s)
    for (int i = 0; i < n; i++)
        s += here;
    return s;
}
END
    succeeds "a shared library" "$cc" -O2 -fopenmp -shared -fPIC \
        lib$n/kernel.c -o lib$n.so
done
cat >load.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        int (*kernel)(int) = library ? (int (*)(int))dlsym(library, "kernel")
                                     : NULL;
        printf("%d ", kernel ? kernel(100) : -1);
        if (i % 2)
            dlclose(library);
    }
}
END
succeeds "a program that loads them" "$cc" load.c -ldl -o load
for device in host cuda; do
    on "kernels of the same name" "100 200 100 200 " $device ./load ./lib1.so \
        ./lib2.so ./lib1.so ./lib2.so
done

# A header's variable has one address in a program and its library, whose device
# code has one each.
cat >both.hpp <<'END'
#pragma omp declare target
inline constexpr int table[4] = {1, 20, 300, 4000};
#ifdef CHANGES
inline int changes = 5;
#endif
#pragma omp end declare target
inline int in_table(int i)
{
    int r = 0;
#pragma omp target map(from: r)
    r = table[i];
    return r;
}
END
printf '#include "both.hpp"\nint library(int i) { return in_table(i); }\n' \
    >both_library.cpp
printf '#include "both.hpp"\n#include <cstdio>\nint library(int i);\n%s\n' \
    'int main() { std::printf("%d", in_table(1) + library(2)); }' >both.cpp
for define in CONSTANT CHANGES; do
    succeeds "a library with a header's variables, $define" "$cxx" -fopenmp \
        -D$define -shared -fPIC both_library.cpp -o libboth.so
    succeeds "  and the program" "$cxx" -fopenmp -D$define both.cpp ./libboth.so \
        -o "both_$define"
done
for device in host cuda; do
    on "a header's constants in both" 320 $device ./both_CONSTANT
done
fails_with 'variable changes, which can change, is in .* two libraries' \
    "what can change" env OMPJIT_DEVICE=host ./both_CHANGES
done_testing
