#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Costs grow with the work and no faster: counts, which are the same on every
# machine. `make bench-growth` has the times.
. "$(dirname "$0")/tap.sh"

OMPJIT_CACHE=0
OMPJIT_DEVICE=host
export OMPJIT_CACHE OMPJIT_DEVICE
make_program() { # WHAT N CALLED
    awk -v what="$1" -v n="$2" -v called="$3" \
        -f "$srcdir/bench/growth/make.awk" >"$tmp/$1-$2.c"
}
# How often a stage ran: `ompjit run --time` tells it of each.
runs() { # FILE STAGE
    "$ompjit" run --time "$1" 2>&1 >/dev/null |
        sed -n "s/^ompjit: $2  *\([0-9]*\) .*/\1/p"
}

# One of n functions with a region each is called: its host code and main's, its
# kernel, and the template of that.
for n in 12 48; do
    make_program regions $n 1
    is "$(runs "$tmp/regions-$n.c" "code generation")" 4 \
        "$n regions, one called: code is generated 4 times"
done
# All are called: three times for each, and main's host code.
make_program regions 12 12
is "$(runs "$tmp/regions-12.c" "code generation")" 37 \
    "12 regions, all called: code is generated 37 times"
# As many arrays are one construct.
for n in 10 100; do
    make_program arrays $n 0
    is "$(runs "$tmp/arrays-$n.c" "code generation")" 2 \
        "$n arrays of a construct: code is generated twice"
done

# Instructions of all that a compile takes but clang's processes. Valgrind does not
# read all debug information that there is. Most of its time is for making its
# own code of LLVM's, which is the same for a large program as for a small one.
instructions() { # COMMAND ARGUMENT...
    OMPJIT_COMPILER=inprocess OMPJIT_WARM=0 valgrind --tool=exp-bbv \
        --instr-count-only=yes --bb-out-file=/dev/null \
        --pc-out-file=/dev/null "$tmp/plain/ompjit" "$@" 2>&1 |
        awk '/Total instructions:/ { n += $NF } END { if (n) print n }'
}
mkdir "$tmp/plain"
cp "$builddir/ompjit" "$builddir/ompjitc" "$tmp/plain"
cp "$builddir/.libs/libompjit-compiler.so.0" "$tmp/plain" 2>/dev/null
strip -g "$tmp"/plain/* 2>/dev/null
if command -v valgrind >/dev/null && [ -e "$tmp/plain/libompjit-compiler.so.0" ]; then
    for n in 1 20 39; do make_program regions $n 1; done
    a=$(instructions run "$tmp/regions-1.c")
    b=$(instructions run "$tmp/regions-20.c")
    c=$(instructions run "$tmp/regions-39.c")
    # In proportion both steps are the same, with the square the second is 2.9
    # times the first one.
    [ -n "$a" ] && is "$(awk -v a="$a" -v b="$b" -v c="$c" 'BEGIN {
        print (b > a && c - b < 1.15 * (b - a)) }')" 1 \
        "instructions for 1, 20, 39 regions, one called, grow evenly"
    # A small loop is linked with the plain runtime, whose functions are inlined
    # before LLVM's pipeline begins: 148 million, and 159 if the pipeline does it.
    [ -n "$a" ] && is "$(awk -v n="$a" 'BEGIN { print n < 155e6 }')" 1 \
        "a small program takes $a instructions, less than 155 million"
    # So is a sum, which the whole runtime made 232 million.
    cat >"$tmp/sum.c" <<'END'
#include <stdio.h>
int main(void)
{
    int s = 0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(tofrom : s)
    for (int i = 0; i < 100; i++)
        s += i;
    printf("%d\n", s);
}
END
    sum=$(instructions run "$tmp/sum.c")
    [ -n "$a" ] && is "$(awk -v n="$sum" 'BEGIN { print n < 140e6 }')" 1 \
        "a sum takes $sum instructions, less than 140 million"
    # As PTX a small loop takes 52 million, most of what its cubin costs beside
    # nvJitLink.
    ptx=$(instructions compile "$srcdir/bench/nvcc/saxpy.c" -o "$tmp/saxpy.ptx")
    [ -n "$a" ] && is "$(awk -v n="$ptx" 'BEGIN { print n < 56e6 }')" 1 \
        "a small loop as PTX takes $ptx instructions, less than 56 million"
    # Passes for a GPU that compare addresses of a block do not see all of a long
    # one: 3645 million if they do.
    make_program accesses 300 0
    accesses=$(instructions compile "$tmp/accesses-300.c" -o "$tmp/accesses.ptx")
    [ -n "$a" ] && is "$(awk -v n="$accesses" 'BEGIN { print n < 1400e6 }')" 1 \
        "300 loads take $accesses instructions, less than 1400 million"
    # Stores by one thread are guarded together: 5434 million when each join of
    # two guards had a new dominator tree, and openmp-opt a block of all of them.
    make_program serial 150 0
    serial=$(instructions compile "$tmp/serial-150.c" -o "$tmp/serial.ptx")
    [ -n "$a" ] && is "$(awk -v n="$serial" 'BEGIN { print n < 600e6 }')" 1 \
        "150 sequential stores take $serial instructions, less than 600 million"
    # The runtime is inlined into a kernel of many regions: 8731 million when
    # openmp-opt followed its calls.
    make_program parallel 40 0
    parallel=$(instructions compile "$tmp/parallel-40.c" -o "$tmp/parallel.ptx")
    [ -n "$a" ] && is "$(awk -v n="$parallel" 'BEGIN { print n < 2400e6 }')" 1 \
        "40 parallel regions take $parallel instructions, less than 2400 million"
    # The whole runtime is inlined before the pipeline, too: 204 million if not.
    sed 's/reduction(+ : s)/schedule(dynamic)/' "$tmp/sum.c" >"$tmp/dynamic.c"
    dynamic=$(instructions run "$tmp/dynamic.c")
    [ -n "$a" ] && is "$(awk -v n="$dynamic" 'BEGIN { print n < 187e6 }')" 1 \
        "a dynamic loop takes $dynamic instructions, less than 187 million"
    # Statements and the host version, which hardly ever run, are not optimized:
    # 181 million if they are.
    prompt=$(instructions repl -O3 --lang c++ -e 'int f() { int s = 0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(tofrom : s)
for (int i = 0; i < 100; i++) s += i; return s; }
f();')
    [ -n "$a" ] && is "$(awk -v n="$prompt" 'BEGIN { print n < 163e6 }')" 1 \
        "a region at the prompt takes $prompt instructions, less than 163 million"
    # A region that is called has its launch's code, a template and a kernel: 94
    # million each, 108 when each part of the host half set up LLVM's code generator
    # and the pipeline inlined the runtime.
    make_program regions 9 9
    called=$(instructions run "$tmp/regions-9.c")
    [ -n "$a" ] && is "$(awk -v n="$called" 'BEGIN { print n < 938e6 }')" 1 \
        "9 regions, all called, take $called instructions, less than 938 million"
    # The block of a construct with 300 arrays is put into order piece by piece: 1540
    # million, and 2600 all at once.
    make_program arrays 300 0
    block=$(instructions run "$tmp/arrays-300.c")
    [ -n "$a" ] && is "$(awk -v n="$block" 'BEGIN { print n < 2e9 }')" 1 \
        "300 arrays take $block instructions, less than 2000 million"
    # Each address that use_device_ptr gives is looked up where it is mapped: with
    # the square of the arrays the second step would be 1.6 times the first one.
    cat >"$tmp/given.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), wrong = 0;
    char *all = malloc(128 * (size_t)n);
    for (int i = 0; i < n; i++) {
        char *p = all + 128 * (size_t)i;
#pragma omp target enter data map(to: p[:64])
    }
    for (int i = 0; i < n; i++) {
        char *p = all + 128 * (size_t)i, *given = 0;
#pragma omp target data use_device_ptr(p)
        given = p;
#pragma omp target data map(tofrom: given[:64]) use_device_ptr(given)
        wrong += given == p;
    }
    printf("%d\n", wrong);
}
END
    given() { OMPJIT_HOST_MEMORY=separate instructions run "$tmp/given.c" "$1"; }
    given_a=$(given 2000) given_b=$(given 6000) given_c=$(given 10000)
    [ -n "$a" ] && is "$(awk -v a="$given_a" -v b="$given_b" -v c="$given_c" \
        'BEGIN { print (b > a && c - b < 1.15 * (b - a)) }')" 1 \
        "instructions for 2000, 6000, 10000 given addresses grow evenly"
    echo "# $given_a $given_b $given_c"
    [ -n "$a" ] || skip "instructions" "valgrind does not run this build"
    echo "# $a $b $c"
else
    skip "instructions for 1, 20, 39 regions" "no valgrind"
fi
done_testing
