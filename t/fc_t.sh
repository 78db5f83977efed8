#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit fc: what it has built runs, on the host device and as PTX; objects,
# modules, archives, shared libraries, Fortran beside C; messages and statuses
# are flang's; make and CMake.
. "${srcdir:-.}/t/tap.sh"
unset TMPDIR MAKEFLAGS MFLAGS MAKELEVEL OMPJIT_CC_RPATH OMPJIT_FLANG \
    OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
fc=$(cd "$builddir" && pwd)/ompjit-fc
cc=$(cd "$builddir" && pwd)/ompjit-cc
from=$(cd "$srcdir" && pwd)/t/fortran
mkdir "$tmp/work" "$tmp/temporary"
TMPDIR=$tmp/temporary
OMP_TARGET_OFFLOAD=mandatory
export TMPDIR OMP_TARGET_OFFLOAD
cd "$tmp/work" || exit 1

fails_with 'OMPJIT_FLANG.* flang 22 is needed' "a flang that is not there" \
    env OMPJIT_FLANG=/nonexistent "$fc" -c x.f90
like "$("$ompjit" help fc)" "flang-22's, which flang-22 --help lists" \
    "help is the tool's"
lacks flang-22 "Fortran" && { done_testing; exit; }

# runs NAME TEXT PROGRAM: on both devices
runs() {
    succeeds "$1, host" timeout 120 env OMPJIT_DEVICE=host \
        OMPJIT_HOST_MEMORY=separate "$3"
    is "$out" "$2" "  prints what it must"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        succeeds "$1, PTX" emulated OMPJIT_TEAMS=4 \
            OMPJIT_THREADS=32 timeout 120 "$3"
        is "$out" "$2" "  prints what it must"
    else
        skip "$1, PTX" "PTXI names no emulated libcuda.so.1"
    fi
}

# ------------------------------------------------------------- compile and link
total='total   1001000.0
most  2030639330 T'
succeeds "a compile" "$fc" -fopenmp -O2 -c "$from/sum.f90"
is "$(cat "$tmp/stderr")" "" "  says nothing"
is "$(ls)" "shapes.mod
sum.o" "  an object and its module"
like "$(readelf -SW sum.o)" '\.llvm\.offloading .* E ' "  has device code"
succeeds "a link" "$fc" -fopenmp sum.o -o sum
runs "the program" "$total" ./sum
succeeds "  again, from the cache" env OMPJIT_DEVICE=host LD_DEBUG=files \
    OMPJIT_CACHE=1 OMPJIT_CACHE_DIR="$tmp/cache" ./sum
succeeds "  again" env OMPJIT_DEVICE=host LD_DEBUG=files OMPJIT_CACHE=1 \
    OMPJIT_CACHE_DIR="$tmp/cache" ./sum
is "$(grep -c 'file=.*ompjit-compiler' "$tmp/stderr")" 0 "  without a compiler"
succeeds "doctor" "$ompjit" doctor sum
succeeds "without optimization, in one command" "$ompjit" fc -fopenmp -g \
    "$from/sum.f90" -o sum0
runs "  the program" "$total" ./sum0
# flang brings constant arrays, and what internal procedures need, into no region.
succeeds "constant arrays" "$fc" -fopenmp -O2 "$from/constants.f90" -o constants
is "$(cat "$tmp/stderr")" "" "  says nothing"
succeeds "  the program" timeout 120 env OMPJIT_DEVICE=host ./constants
like "$out" ' thr two one   7   3   7  -4\.0   3\.0  -2\.0   1\.0' \
    "  prints what it must"
like "$out" '^   16   15$' "  to its end"
succeeds "optional scalars" "$fc" -fopenmp -O2 "$from/optional_scalars.f90" \
    -o "$tmp/optional"
is "$(OMPJIT_DEVICE=host "$tmp/optional" | tr '\n' ' ')" \
    "8270527 1 0 200009 3 2000324 90000 " "  present and absent"
# It maps an allocatable component in place of its object.
succeeds "components of objects" "$fc" -fopenmp -O2 "$from/objects.F90" \
    -o objects
is "$(cat "$tmp/stderr")" "" "  says nothing"
runs "  beside allocatable ones" 'bounds 27
scalars 72
writes 18 5 3 9 5
poly 26
viaptr 24
pointers 20
named 54
nested 136
wider 28 16
array 26
module 26
passed 60
concurrently 32
held 26
ptr 26' ./objects
# flang's mappers divide a size, exactly, by what is no divisor of it.
succeeds "programs that flang gets wrong" "$fc" -fopenmp -O2 "$from/faults.f90" \
    -o faults
runs "  corrected" ' dummy 610 1340
 explicit 175 1685
 two -20
 middle 745
 tasks 55
 scalar 272136
 tiles 256
 called 23850
 recursion 33
 rows 360080
 in order 7872
 around 68
 stored 5 8' ./faults
succeeds "complex functions of a device" "$fc" -fopenmp -O2 -c \
    "$from/intrinsics.f90"
succeeds "do concurrent" "$fc" -fopenmp -fdo-concurrent-to-openmp=host \
    "$from/sum.f90" -o sum
runs "  the program" "$total" ./sum
succeeds "-S" "$fc" -fopenmp -O1 -S "$from/sum.f90"
succeeds "  assembled" "${CC:-cc}" -c sum.s -o assembled.o
succeeds "  linked" "$fc" -fopenmp assembled.o -o assembled
runs "  the program" "$total" ./assembled
succeeds "flags of other compilers' offloading" "$fc" -fopenmp \
    -fopenmp-targets=nvptx64-nvidia-cuda -Xopenmp-target -march=sm_80 \
    --offload-arch=sm_90 -foffload-lto -c "$from/sum.f90"
# flang 22 cannot read this module of its own for a GPU: by way of HLFIR it can.
cat >normal.f90 <<'END'
use, intrinsic :: ieee_arithmetic
real :: x = 2
print '(L1)', ieee_is_normal(x)
end
END
succeeds "a source without directives" "$fc" -fopenmp normal.f90 -o normal
runs "  the program" T ./normal
succeeds "  its object" "$fc" -fopenmp -c normal.f90
is "$(readelf -SW normal.o | grep -c llvm.offloading)" 0 "  has no device code"
cat >not_finite.f90 <<'END'
use, intrinsic :: ieee_arithmetic
real(selected_real_kind(18)) :: longer = 3
real(8) :: x(100) = 1
integer :: i, n = 0
x(7) = ieee_value(x(7), ieee_quiet_nan)
!$omp target teams distribute parallel do reduction(+: n) map(to: x)
do i = 1, 100
    if (.not. ieee_is_finite(x(i))) n = n + i
end do
print '(i0, l2)', n, ieee_is_normal(longer)
end
END
succeeds "  with directives" "$fc" -fopenmp not_finite.f90 -o not_finite
runs "  the program" "7 T" ./not_finite
succeeds "complex results" "$fc" -fopenmp "$from/complex.f90" -o complex
succeeds "  the program" env OMPJIT_DEVICE=host ./complex
like "$out" '^ *6.000 *8.000 *0.500 *1.500 *4.000 *0.000$' "  its last line"
# The host half may be the slower one.
cat >slow <<END
#!/bin/sh
case " \$* " in *' -fopenmp-is-target-device '*) ;; *) sleep 1 ;; esac
exec "$LLVM_BINDIR/flang" "\$@"
END
chmod +x slow
ln -s "$LLVM_BINDIR/../lib" ../lib
is "$(OMPJIT_FLANG=$PWD/slow "$ompjit" run -q --device=host not_finite.f90 \
    2>&1)" "7 T" "  without an executable"
succeeds "without -fopenmp" "$fc" -c "$from/numbers.F90" -o plain.o
is "$(readelf -SW plain.o | grep -c llvm.offloading)" 0 "  as flang"
rm -f ./*

# -------------------------------------------------- modules, archives, with C
mkdir mods
uses='   12   17   22   27'
succeeds "-J" "$fc" -fopenmp -J mods -c "$from/numbers.F90"
is "$(echo mods/* ./*.mod)" "mods/numbers.mod ./*.mod" "  says where modules go"
fails_with "numbers.mod.* was not found" "a module that is not found" \
    "$fc" -fopenmp -c "$from/uses.f90"
succeeds "-I" "$fc" -fopenmp -I mods -c "$from/uses.f90"
succeeds "C" "$cc" -fopenmp -O2 -c "$from/twice.c"
ar rc libparts.a numbers.o twice.o
succeeds "an archive, C in it" "$fc" -fopenmp uses.o -L. -lparts -o uses
runs "  the program" "$uses" ./uses
succeeds "a link without -fopenmp" "$fc" uses.o numbers.o twice.o -o uses
runs "  the program" "$uses" ./uses
cat >library.f90 <<'END'
subroutine triple(n, x) bind(c)
    use, intrinsic :: iso_c_binding
    integer(c_int), value :: n
    integer(c_int) :: x(n)
    integer :: i
    !$omp target teams distribute parallel do map(tofrom: x)
    do i = 1, n
        x(i) = 3 * x(i)
    end do
end subroutine
END
cat >main.c <<'END'
#include <stdio.h>
void triple(int n, int *x);
int main(void)
{
    int x[3] = {1, 2, 3};
    triple(3, x);
    printf("%d %d %d\n", x[0], x[1], x[2]);
    return 0;
}
END
succeeds "a shared library" "$fc" -fopenmp -shared -fPIC library.f90 \
    -o liblibrary.so
succeeds "  for C" "$cc" main.c -L. -llibrary -Wl,-rpath,. -o main
runs "  the program" "3 6 9" ./main

# --------------------------------------------------------------------- messages
printf 'program p\n  x = y +\nend\n' >wrong.f90
status_is 1 "a mistake" "$fc" -fopenmp -c wrong.f90
is "$(grep -c 'wrong.f90:2:.*error' "$tmp/stderr")" 1 "  is told once"
is "$(ls wrong.o 2>/dev/null)" "" "  leaves no object"
fails_with "unknown argument: '-fno-such'" "an unknown flag is flang's to refuse" \
    "$fc" -fopenmp -fno-such -c library.f90
fails_with "no such file.*missing.f90" "no file" "$fc" -fopenmp -c missing.f90
fails_with "undefined reference|undefined symbol" "what is missing in a link" \
    "$fc" -fopenmp uses.o -o missing
succeeds "a warning of flang's" "$fc" -fopenmp -fopenmp-version=51 -c library.f90
is "$(grep -c 'version 51' "$tmp/stderr")" 1 "  is told once"
succeeds "-v" "$fc" -v -fopenmp -c library.f90
like "$(cat "$tmp/stderr")" '^ "[^"]*flang" .*"-fopenmp-is-target-device"' \
    "  shows what is run"
rm -f library.o
succeeds "-###" "$fc" -### -fopenmp -c library.f90
is "$(ls library.o 2>/dev/null)" "" "  runs nothing"
mkfifo never.inc
printf 'program p\n  include "never.inc"\nend\n' >waits.f90
timeout 2 "$fc" -fopenmp -c waits.f90 2>/dev/null
is $? 124 "a compile that is stopped"
is "$(ls -A "$TMPDIR")" "" "no files are left over"

# ---------------------------------------------------------------- build systems
cat >Makefile <<END
FFLAGS = -O1 -fopenmp
VPATH = $from
uses: uses.o numbers.o twice.o
	\$(FC) \$(FFLAGS) \$^ -o \$@
uses.o: numbers.o
%.o: %.f90
	\$(FC) \$(FFLAGS) -c \$< -o \$@
%.o: %.F90
	\$(FC) \$(FFLAGS) -c \$< -o \$@
%.o: %.c
	\$(CC) \$(FFLAGS) -c \$< -o \$@
END
rm -f ./*.o uses
succeeds "make" make FC="$ompjit fc" CC="$ompjit cc"
runs "  the program" "$uses" ./uses
if ! lacks cmake "CMake"; then
    mkdir project
    cp "$from/sum.f90" project
    cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(p Fortran)
find_package(OpenMP REQUIRED)
add_executable(p sum.f90)
target_link_libraries(p PRIVATE OpenMP::OpenMP_Fortran)
END
    succeeds "CMake" cmake -S project -B project/build \
        -DCMAKE_Fortran_COMPILER="$fc"
    succeeds "  builds" cmake --build project/build
    runs "  the program" "$total" project/build/p
fi
done_testing
