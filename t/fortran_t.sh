#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fortran: programs of t/fortran on the host device and as PTX, source forms,
# modules, errors, and what the cache takes for a change.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY \
    OMPJIT_CACHE OMPJIT_FLANG
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
from=$srcdir/t/fortran
TMPDIR=$tmp/folders
export TMPDIR
mkdir "$TMPDIR"

source() { # FILE LINE...
    source_file=$tmp/$1; shift
    printf '%s\n' "$@" >"$source_file"
}

# Without flang the error says what to install.
source hello.f90 'program hello' 'print "(a)", "hello"' 'end'
fails_with 'OMPJIT_FLANG.* flang 22 is needed' "a flang that is not there" \
    env OMPJIT_FLANG=/nonexistent "$ompjit" run "$tmp/hello.f90"
fails_with 'does not say that it is flang' "a program that is no flang" \
    env OMPJIT_FLANG=/bin/echo "$ompjit" run "$tmp/hello.f90"
lacks flang-22 "Fortran" && { done_testing; exit; }

# prints WHAT OPTION...
prints() {
    prints_what=$1; shift
    succeeds "$prints_what" timeout 120 "$ompjit" run "$@"
    is "$out" "$expect" "  prints what it must"
}
# prints_with_libdevice PROGRAM: the same as PTX.
prints_with_libdevice() {
    if [ -z "$PTXI" ]; then
        skip "  as PTX" "PTXI names no emulated libcuda.so.1"
    elif ! has_libdevice; then
        skip "  as PTX" "no libdevice"
    else
        LD_LIBRARY_PATH=$PTXI prints "  as PTX" -q --device=cuda --teams=4 \
            --threads=32 "$1"
    fi
}
expect='total   1001000.0
most  2030639330 T'
sum=$from/sum.f90
prints "a program" --device=host --host-memory=separate "$sum"
prints "from the cache" --device=host --host-memory=separate "$sum"
prints "in automatic memory" --device=host "$sum"
prints "without optimization" -O0 --device=host "$sum"
prints "with line tables" -g --device=host "$sum"
prints "under --check" --check -q --device=host "$sum"
prints "without the cache" --no-cache --device=host "$sum"
OMPJIT_SPECIALIZE=now prints "specialized" --device=host "$sum"
OMPJIT_COMPILER=inprocess prints "compiled in this process" --no-cache \
    --device=host "$sum"
prints "do concurrent as a region" -fdo-concurrent-to-openmp=host \
    --device=host "$sum"
if [ -n "$PTXI" ]; then
    for specialize in off now; do
        LD_LIBRARY_PATH=$PTXI OMPJIT_SPECIALIZE=$specialize \
            prints "as PTX, specialize $specialize" --device=cuda --teams=4 \
            --threads=32 "$sum"
    done
else
    pass "as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi

# What flang gets wrong, corrected.
expect=' dummy 610 1340
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
 stored 5 8'
faults=$from/faults.f90
prints "sections, tasks and an unused region" -q --device=host \
    --host-memory=separate "$faults"
prints "  without optimization" -q -O0 --device=host "$faults"
prints "  under --check" -q --check --device=host "$faults"
if [ -n "$PTXI" ]; then
    LD_LIBRARY_PATH=$PTXI prints "  as PTX" -q --device=cuda --teams=4 \
        --threads=32 "$faults"
else
    pass "  as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi

# A region with nothing of the kind around it is for all threads, as flang says.
cat >"$tmp/all.f90" <<'END'
real :: a(64, 64) = 1, b(64, 64) = 0
integer :: j, k
!$omp target teams distribute private(k) map(to: a) map(b)
do j = 1, 64
    !$omp parallel do
    do k = 1, j
        b(k, j) = a(j, k) * j
    end do
end do
print '(i0)', int(sum(b))
end
END
succeeds "code for all threads" "$ompjit" run -q --explain --device=host \
    "$tmp/all.f90"
is "$out" 89440 "  its result"
like "$(cat "$tmp/stderr")" 'SPMD' "  its mode"

# Intrinsic functions that flang would call a library for.
expect='  3 -3  7 -7  1 -4  6 -8
           3 -3500000000
  0.50 -0.50  1.25 -1.25 -1.50 -0.50 -0.75 -1.25
  0.50 -1.00  1.00 -0.50  0.50  0.50  0.00  0.00
  0.5199 -1.5646  0.2974 -1.1903  0.9608 -0.6505  0.9054
 -1.4058  1.5840 -0.8066  0.6066 -0.3279  1.3463  0.0000
 -0.1966  0.4295  0.7589  1.9296  0.8325  1.2012  2.7528
  2.4722 -0.0364  0.9967  0.7522 -0.2832  2.1360  0.0000'
intrinsics=$from/intrinsics.f90
prints "nint, mod and complex functions" -q --device=host "$intrinsics"
prints_with_libdevice "$intrinsics"

expect='   -0.088    0.016      0.011    0.010     -1.024   -5.632      0.125    0.000
    1.000    2.000     15.000   -8.000     -0.031    0.172     16.000    0.000
   -0.223    0.101     -5.726    3.537      0.000    0.003      0.367    1.966
   -1.000    1.000      1.000    4.000      0.750   -0.500      1.000    2.000
    1.000    2.000     15.000   -8.000     -0.031    0.172     16.000    0.000
   -0.208   -0.144      9.875    0.375      0.049   -0.187      1.020   -0.735
    6.000    8.000      0.500    1.500      4.000    0.000'
complex=$from/complex.f90
prints "functions with complex results" -q --device=host "$complex"
prints_with_libdevice "$complex"

# Those of its library that a GPU has, too.
succeeds "parts of numbers, and norms" timeout 120 "$ompjit" run -q \
    --device=host "$from/parts.f90"
expect=$out
like "$expect" '9\.4162\+200  1\.1416\+201' "  norms"
like "$expect" '60\.688   62\.225' "  of single precision"
if [ -n "$PTXI" ]; then
    LD_LIBRARY_PATH=$PTXI prints "  as PTX" -q --device=cuda --teams=4 \
        --threads=32 "$from/parts.f90"
else
    skip "  as PTX" "PTXI names no emulated libcuda.so.1"
fi

# prints_everywhere WHAT FILE: a program prints on the host device what `expect`
# says, and as PTX the same, also where flang inlines no function.
prints_everywhere() {
    prints "$1" -q --device=host "$from/$2"
    for level in 3 0; do
        if [ -n "$PTXI" ]; then
            LD_LIBRARY_PATH=$PTXI prints "  as PTX, -O$level" -q -O$level \
                --device=cuda --teams=4 --threads=32 "$from/$2"
        else
            skip "  as PTX, -O$level" "PTXI names no emulated libcuda.so.1"
        fi
    done
}
expect='  2  5  1  9  2  8  1  6  6  6
  0  0  1  9  1  8  5  7  7  5
  0  0  1  9  1  8  0  0  0  0
  0  0  1  9  3  6  1  8  8  8
  0  0  1  9  2  8  1  7  7  7
 F T T F T T
 T T T F T T
 T T T F T F
 F T F T T T
 T T T F T T
<abcabc  ><b a c   ><        ><zyxzyxzy><a b c d >
<  abcabc><   b a c><        ><zyxzyxzy>< a b c d>
<    b   ><    b   ><        ><    b   ><    b   >
<abcabc| ><  b a c|><|       ><zyxzyxzy><a b c d|>
<abc         ><  b  b      ><            ><zyxzyxzyxzyx><a ba ba ba b>'
prints_everywhere "functions on characters" text.f90
expect='  6.0  7.0  3.0  4.0  5.0  6.0
  4.0  4.0  4.0  3.0  4.0  5.0
   0  12   3   6  11  11 T F T T F F
<Base add><abcde ><abc   ><abc   >
 12.0 15.0 13.0 18.0 18.0 16.0 24.0 21.0 19.0 30.0
 18.0 16.0 14.0  6.0  5.0  4.0  3.0  2.0  1.0  1.0
  8  4  2  4  2  1  4  1  0
 24  4  4  6  2  1  5  2  1
  8  2.0  2.0  2.0  7  1.0  1.0  1.0  9  3.0  3.0  3.0
  32'
prints_everywhere "allocatables, pointers and assignments" allocate.f90
expect='          46      297675           9          -2           0          -1
           6           0          46          46           9          -2
      230000       45000           0           8           6 -2147483648
  2147483647          17           2           2           3           1
           2           2           4           1           2           3
           0           2           0           2           2           0
           2           3           2           1           3           2
           2          -1          -1          15           4           1
           3           9          -3           1           4          -2
          20         315         189           5           9           9
   7  19  20  -2   1   0  -2
  2  4  1  4  2  4  3  2  2  4  3  4  3  1  5  5
  9.2500E+00 -2.4609E+00  2.2500E+00 -5.0000E-01  1.1500E+01 -3.4028E+38
  1.7854E+00  5.8125E+00  1.7500E+00  1.2500E+00  1.7500E+00  2.2500E+00
  1.7678E+00  1.7500E+00  1.7500E+00  2.7500E+00  2.5000E+00  4.5000E+00
  4.6000E+04 -5.6000E+10  9.0000E+03  1.0000E+03  1.8547E+04 -1.0000E+06
  6.7082E+03  1.2610E+04  1.1832E+04 -2.0000E+03 -2.0000E+03  1.0000E+03
  2.0000E+07  3.1500E+11  1.8900E+14
 F T F T T T T F F F T T
       46.00      -34.00      -24.00      -12.00      -81.00       73.00
     2581.00      107.00     -155.00     -376.00
  4.6000E+04  0.0000E+00 -5.6000E+10  6.0000E+06'
prints_everywhere "values and places of arrays" reduce.f90
expect='   1   3   5   2   4   6   1   1   2   2   3   3
   4   4   5   5   6   6   1   1   2   2   3   3
   4   4   5   5   6   6   1   5   2   6   3   8
   4   9   2   4   6   2  22  23  24   5   6  17
  18   1  20   2  40   3  60   5   6   1   2   3
   4   3   6   5   2   1   4   3  -8   5   2  -7
   4   0   0   1   2   3   4   1   2   3   4  99
  99  35  44  44  56
   13.25   17.00   15.50   20.00   15.50   20.00
   17.00   20.00   13.25   17.00   15.50   20.00
   53.00   68.00   62.00   80.00
   -2.00    7.00   13.00    9.00   -4.00    3.00    1.00   11.00
   -4.00    4.00    3.00    7.00    3.00    7.00    8.00    2.00
 F T F F <ab> <ab> <cd> <cd> <ef> <ef> <ef> <ab> <  >
 1 2.0 1 2.0 1 2.0 3 4.0 3 4.0 3 4.0'
prints_everywhere "arrays arranged anew, and matrix products" transform.f90
expect='  29.0  14.0   1.0  35.0   8.0  15.0
   1.0   2.0   4.0   3.0   1.0   2.0
 3F800000 40000000 72616570 6C707061   1   2   2   1   2   4   2   1 111 quinc fig   apple'
prints_everywhere "components of components, and classes" derived.f90
expect='    0.511828    0.557937    0.232088    0.060964    0.011768
    0.382449   -0.412309   -0.932194   -2.073541   -7.361972
       0.067       0.008       0.001       0.000
      -2.630     -12.988    -101.272   -1067.247
   1.000   0.000   0.000  -2.074   0.205   0.042  0
 T T T T T'
prints_everywhere "Bessel functions of many orders, and the date" bessel.f90
expect='   23   17   -7    5   25   61   34   52  1234  4321  7.25  2.50 -1.00  7.25  3.00  0.00'
prints_everywhere "REDUCE by the program's functions" user_reduce.f90
expect='  1234,568  0,1235E+04  1234.568
 1234.57 1234,57    0,50
 1234.57
000000000000003FFFFFFFFFFFFFFFFF
FFFFFFFFFFFFFC400000000000000000
00000000000000400000000000000000
FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFB
FFFFFFFFFFFFFD800000000000000006
00000000000000000000000000000000
FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFB
FFFFFFFFFFFFFFBFFFFFFFFFFFFFFFF9
FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
000000000000001043561A8829300000
0000000000000025F273933DB5700000
000000000000003BA1910BF341B00000
  2  3  4  3  3'
prints_everywhere "integers of 16 bytes, and a decimal comma" wide.f90
if [ -n "$PTXI" ]; then
    printf '%s\n' '!$omp target' "print '(ex12.4)', 1.5" '!$omp end target' \
        end >"$tmp/unknown_edit.f90"
    fails_with 'unknown_edit.f90:2: .*a GPU has no edit descriptor EX' \
        "an edit descriptor that a GPU does not have" \
        env LD_LIBRARY_PATH="$PTXI" "$ompjit" run -q --device=cuda --teams=4 \
        --threads=32 "$tmp/unknown_edit.f90"
else
    skip "an edit descriptor that a GPU does not have" \
        "PTXI names no emulated libcuda.so.1"
fi
expect='  11.0  11.0  26.0  21.0
  13.0   2.0  13.0
  13.0   2.0  13.0
  28.0   2.0  28.0
  23.0   2.0  23.0'
prints_everywhere "dummies of assumed shape beside COMMON" boxes.f90
expect='hello  2.  2.  2.  2.helloxyz  1.  2.  3
   7.   8.   9.  10.  15'
prints_everywhere "an internal procedure's host" host_variables.f90
expect='   -8   -8  -12   -8   -8    4   -4   -1
    1    8    1   10    4   12
    14.0    15.0    16.0  1300.0
    10.0    11.0  1500.0  1400.0
     6.0  1000.0  1400.0  1500.0
   500.0   900.0  1300.0    16.0
  2 abcd  3 abcd  4 abcd  5 abcd  6 abcd  6 abcd
   111 11222 22333 33444 44555 55666
   6   5   4   3   2   1
  1102216'
prints_everywhere "FORALL, WHERE and assumed ranks" forall.f90
expect='   935  1435     0  1763    88     4
 54321'
prints_everywhere "types with components of themselves" own_types.f90
expect=' T T T T T T T T T T'
prints_everywhere "random numbers and clocks" random.f90
expect='  80
 128
 116
  101  102  103    0  105  101
  105
  101  102    0  105  101  105
  2818
  5610  5610'
prints_everywhere "sections that are not contiguous" sections.f90
prints "  copied" -q --device=host --host-memory=separate "$from/sections.f90"
expect='   -50   -47   -48   -49    99   100    98
 -2047  4080     3840      945   55
 T F T F
   47   87    7    7   87
   408.0   425.0   442.0   204.0   212.5   221.0
   551.0   501.0   551.0   501.0   551.0   501.0
   220.0   190.0   200.0   210.0   420.0   -20.0   400.0   -20.0
    12.0    12.0    12.0    12.0
    42.0    42.0    42.0    42.0'
prints_everywhere "reductions of arrays" array_reductions.f90
prints "  by teams of many threads" -q --device=host --threads=16 --teams=3 \
    "$from/array_reductions.f90"
expect=' 5 hEllO, dEvIcE
 3 5 6 #ne    #hree  #welve
abcdefghijklm!opqrstuvwxyz0123
hEllO, dEvIc?'
prints_everywhere "characters of deferred length" deferred.f90
prints "  copied" -q --device=host --host-memory=separate "$from/deferred.f90"
expect='  2160.0   205.0
   1   4   9  16'
prints_everywhere "a main program in the device half" left_host.f90
expect='46.0 T
48.0 T
156.0 T
17.5 T
5.0 T
103.0 T
3.0 T'
prints_everywhere "COMMON and EQUIVALENCE" common.f90
prints "  copied" -q --device=host --host-memory=separate "$from/common.f90"
expect='    10.500    -5.375     4.875    17.125     4.875
    21.000   -23.000     6.000    37.000     6.000
    35.500   -36.625    11.125    60.875    11.125
    46.000   -54.250    12.250    80.750    12.250
    60.500   -67.875    17.375   104.625    17.375
    71.000   -85.500    18.500   124.500    18.500
 thr two one   7   3   7  -4.0   3.0  -2.0   1.0
   16   15'
prints_everywhere "constant arrays, and internal procedures" constants.f90
prints "  with line tables" -q -g --device=host "$from/constants.f90"
expect='  10.0  19.0  28.0  37.0  46.0  55.0  64.0  73.0
   2.0   3.0   4.0   5.0   6.0   7.0   8.0   9.0
  10.0  19.0  28.0  37.0  46.0'
prints_everywhere "automatic arrays of procedures" automatic.f90
prints "  under --check" -q --check --device=host "$from/automatic.f90"
expect=55
prints_everywhere "a function that calls itself" recursive.f90
expect='shaped 2 4 6 8 10 12 14 16 18 20
section 2 4 12 16 20 12 14 16 18 20
held 4 8 24 32 40 48 56 32 36 40
dummy 8 16 48 64 80 96 112 64 72 80
main 16 32 96 64 80 96 112 64 72 80
allocatable 16 32 96 144 80 96 112 64 72 80
pointer 17 33 96 144 80 96 112 64 72 80
planes 1 1 1 2 2 2 34 66 192 288 160 192 224 128 144 160
mapped 68 132 384 288 160 192 224 128 144 160
explicit 2 2 2 2
target 10 10 10
inner 11 12 13
small 4 5 5 7 4 2 2 2 9
some 22 24 26
none -22 -24 -26'
prints_everywhere "arrays at their device addresses" device_addresses.f90
prints "  copied" -q --device=host --host-memory=separate \
    "$from/device_addresses.f90"
prints "  shared" -q --device=host --host-memory=shared \
    "$from/device_addresses.f90"
expect='11111111
0
1010101
10101010
  3  2  4  2  2  3  5  3  3  4  6  4  5  7  5  8  9  8  9  8 11
11
11
0
0
17
17
14
14
3
3
0
0
1
0
  7  9  7  3'
prints_everywhere "optional dummies" optional.f90
prints "  copied" -q --device=host --host-memory=separate "$from/optional.f90"
prints "  shared" -q --device=host --host-memory=shared "$from/optional.f90"
expect=' 0 27 -21'
prints_everywhere "what is not allocated" unallocated.f90
prints "  copied" -q --device=host --host-memory=separate "$from/unallocated.f90"
expect='8270527
1
0
200009
3
2000324
90000'
prints_everywhere "optional scalars" optional_scalars.f90
expect='   6   2   2   3   9  15   2
   7   2   2   4  11  18   2
   4'
prints_everywhere "variables of link" link.f90
expect='bounds 27
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
ptr 26'
prints_everywhere "components of objects beside allocatable ones" objects.F90
prints "  copied" -q --device=host --host-memory=separate "$from/objects.F90"
prints "  do concurrent" -q -fdo-concurrent-to-openmp=device --device=host \
    "$from/objects.F90"
prints "  beside COMMON" -q -DCOMMON_BLOCK --device=host "$from/objects.F90"
prints "  beside a constant array" -q -g -DCONSTANTS --device=host \
    "$from/objects.F90"
mkdir "$tmp/lone"
printf '#!/bin/sh\nexec flang-22 "$@"\n' >"$tmp/lone/flang"
chmod +x "$tmp/lone/flang"
fails_with 'constants.f90: .*fir-opt, which is not at .*/lone/fir-opt' \
    "  without flang's tool" env OMPJIT_FLANG="$tmp/lone/flang" "$ompjit" run \
    --no-cache --device=host "$from/constants.f90"
printf '      COMMON /far/ first, other(3)\n' >far.inc
cat >far.f <<'END'
      module m
      include 'far.inc'
      end module
END
cat >near.f <<'END'
      program p
      use m
      first = 1
      other = 2
!$omp target map(from: x)
      x = first + other(2)
!$omp end target
      print *, x
      end
END
expect=' 3.'
prints "  in a file that a module includes" -q --device=host far.f near.f --
expect=' 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345
 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345 12345
 12345 12345 12345 12345
 ab -7 c 2 T F d
 0. -0. 1. 1.5 .1 123456.7 1.E+06 9.999999E+06 1.E+07 1.2345678E-03 1.E+30
 -2.5E-20
 0. 1.E+15 100000000000000. .1 1.E-03 123456789.125 1.E+300
 1.2345678901234568E+16 2.2250738585072014E-308
 (1.5,-2.) (1.E+20,.25) (1.E+20,.25)
 abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabc
 deabcdeabcdeabcdeabcde
 x = abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcd
 eab 5
 -12345678901 0 -7 2147483647 -7 -7 T 1.5 .1 (1.E+20,.25)
 T F T F T F F F

 
  5
 abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdea 5
 abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeab
 5
 abcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeabcdeaba
 bcde
 NaN -Inf 1. Inf 
 team 5
 team 5'
prints_everywhere "list-directed output" print.f90
expect='  T 7abc   1.500     it'\''s q'\''qxyz  zy
 1, 2, 3,
x
 4, 5, 6,
x
 7,
  1
   2    3   4    5
   6    7
7,1.5,a,T,-123456789012345
  0.1500E+01 -0.2250E+01  0.1000E+11  0.1000E-09  0.0000E+00
   1.500      -2.250      0.1000E+11  0.1000E-09   0.000    
  1.5000E+00 -2.2500E+00  1.0000E+10  1.0000E-10  0.0000E+00
   1.500E+00  -2.250E+00  10.000E+09 100.000E-12   0.000E+00
     1.50    -2.25*********     0.00     0.00
  1.50000E+00 -2.25000E+00  1.00000E+10  1.00000E-10  0.00000E+00
   1500.00000  -2250.00000*************      0.00000      0.00000
      0.01500     -0.02250*************      0.00000      0.00000
  0.00150E+03 -0.00225E+03  0.00100E+13  0.00100E-07  0.00000E+00
  0.3333333333E+0000 -0.1000000000E+0101  0.1000000000E-0299  0.1234567890E+0006
  0.3333333333333333D+00 -0.1000000000000000+101  0.1000000000000000-299  0.1234567890000000D+06
.3333333333333333 -.1E+101 .1E-299 123456.789
.3333 -.1000E+101 .1000E-299 .1235E+6
3.333E-01 -1.000+100 1.000-300 1.235E+05
  0.1000      0.9999E-01  0.1000E+06  0.1000E+05   1000.    
   0.   0.   2.   2.-0.00 1.00***** -0.0
   +7  +1.5    7*********      Inf     -Inf      NaN
     111    0007FFFF8FB779F22087 -123456789012345  007   **abcd  ab xyz
          1.50**************
 1.50 -250.00E+08
    7   1.500
-1000000000000000000000000  -0000999999999999999999999993 FFFFFFFFFFFF2C3DE43133125F000000
 4 5 xyz 2.5 4 5 xyz 4 5 xyz 2.5 4 5 xyz -1000000000000000000000000
  4  5xyz  2.5 4 5xyz
  4  5xyz  2.5 4 5xyz
on   one line
   7  |Excessive output to fixed-size|abc  x     7 7 | 1002 0 1004
  7   |Data edit descriptor '\''F'\'' may n| 1005
 .1 .09999 99999. 9999.5 999.95 3.4028234E+38 -1.7976931348623157E+308
 2.5000001E-03 (1.5,-2.5E+10) (1.5,-2.5E+10) (1.5,-2.5E+10)'
prints_everywhere "output by formats" format.f90

# A GPU cannot end the program: the kernel fails, and says why.
source stop.f90 'program p' 'integer :: n = 3' '!$omp target map(tofrom: n)' \
    'block; real, allocatable :: x(:); real :: y(n)' 'y = 1' \
    'if (n > 3) allocate (x, source=y)' 'if (n > 3) allocate (x, source=y)' \
    'if (n == 3) stop 27' 'if (n == 1) error stop "one"' 'end block' \
    '!$omp end target' 'end'
status_is 27 "STOP in a region" "$ompjit" run -q --device=host "$tmp/stop.f90"
# gpu_fails TEXT WHAT
gpu_fails() {
    if [ -n "$PTXI" ]; then
        LD_LIBRARY_PATH=$PTXI fails_with "$1" "$2" "$ompjit" run -q \
            --device=cuda "$tmp/stop.f90"
    else
        skip "$2" "PTXI names no emulated libcuda.so.1"
    fi
}
gpu_fails "device-side assert triggered.: Fortran: .STOP 27'" "  as PTX"
sed -i 's/:: n = 3/:: n = 1/' "$tmp/stop.f90"
gpu_fails "Fortran: .ERROR STOP one'" "  ERROR STOP"
sed -i 's/:: n = 1/:: n = 4/' "$tmp/stop.f90"
gpu_fails "stop.f90:7: Fortran: .Base address is not null'" \
    "  ALLOCATE of what is allocated"

expect='        Inf  1.676E+00  7.346E-01  2.554E-01  1.128E-02
  1.798+308  1.089E+02  7.346E-01  1.225E-01  5.642E-09'
prints "erfc_scaled" -q --device=host "$from/erfc.f90"
prints_with_libdevice "$from/erfc.f90"

status_is 3 "fixed form" "$ompjit" run -q --device=host "$from/fixed.f"
is "$out" " 20" "  prints what it must"
source arguments.f90 'program p' 'character(9) :: word' \
    'call get_command_argument(1, word)' 'print "(a)", trim(word)' 'end'
expect=second
prints "arguments" -q "$tmp/arguments.f90" second

# Macros, included files, modules in a folder, and what of them the cache
# notices.
mkdir "$tmp/inc"
source inc/number.inc '  integer, parameter :: number = 1'
source inc/number.h '#define TWICE (2 * number)'
source numbers.F90 'module numbers' "  include 'number.inc'" \
    '  integer :: kept = 7' 'end module'
source main.F90 'program p' '  use numbers' '#include "number.h"' \
    '  print "(4i3)", number, TWICE, MACRO, kept' 'end'
# shellcheck disable=SC2086 # several words
numbers() { # what the program prints, and how many sources were compiled
    "$ompjit" run -q --time $folder -I "$tmp/inc" -DMACRO=5 --device=host \
        "$tmp/numbers.F90" "$tmp/main.F90" -- 2>"$tmp/stderr"
    compiles=$(sed -n 's/^ompjit: front end *\([0-9]*\) .*/\1/p' "$tmp/stderr")
    echo "${compiles:-0}"
}
folder=
is "$(numbers)" "  1  2  5  7
2" "a module of another source"
is "$(numbers)" "  1  2  5  7
0" "  from the cache"
sed -i 's/MACRO,/MACRO + 1,/' "$tmp/main.F90"
is "$(numbers)" "  1  2  6  7
1" "  with a module that comes from the cache"
sed -i 's/= 1/= 4/' "$tmp/inc/number.inc"
is "$(numbers)" "  4  8  6  7
2" "  with another included file, which both depend on"
sed -i 's/2 \*/3 */' "$tmp/inc/number.h"
is "$(numbers)" "  4 12  6  7
1" "  with another header"
is "$(cd "$tmp" && ls ./*.mod inc/*.mod 2>/dev/null)" "" "no .mod file is left"
mkdir "$tmp/mods"
folder="-J $tmp/mods"
out=$(numbers)
is "$(cd "$tmp" && ls mods/* ./*.mod 2>/dev/null)" mods/numbers.mod \
    "-J keeps the .mod file"
fails_with "cannot write $tmp/none/numbers.mod: No such file" \
    "a folder that is not there" "$ompjit" run -J"$tmp/none" -I "$tmp/inc" \
    -DMACRO=5 "$tmp/numbers.F90" "$tmp/main.F90" --
mv "$tmp/main.F90" "$tmp/inc"
fails_with 'undefined symbols: _QMnumbersEkept' \
    "the module of an earlier run, without its source" "$ompjit" run -q \
    -J "$tmp/mods" -I "$tmp/inc" -DMACRO=1 --device=host "$tmp/inc/main.F90"

# Modules that a compiler has left: flang looks in the working directory and
# behind -I first, and a module of the program's own sources wins.
mkdir "$tmp/left" "$tmp/left/inc"
source left/m.f90 'module m' 'integer, parameter :: n = 7' 'end'
source left/other.f90 'module other' 'integer, parameter :: three = 3' 'end'
source left/inc/k.inc 'integer, parameter :: k = three'
source left/main.f90 'use m' 'use other' "include 'inc/k.inc'" "include 'l.inc'" \
    'integer :: a(k)' '!$omp target teams distribute parallel do' 'do i = 1, k' \
    'a(i) = n * i + l' 'end do' 'print "(3i4)", a' 'end'
source left/inc/l.inc 'integer, parameter :: l = 100'
in_left() { (cd "$tmp/left" && "$ompjit" run -q --device=host "$@" 2>&1); }
expect=' 107 114 121'
sed 's/= 7/= 5/' "$tmp/left/m.f90" >"$tmp/left/inc/old.f90"
leave() { (cd "$tmp/left" && cd "$1" && "$ompjit" fc -c "$2" -o "$2.o"); }
succeeds "a module of a library" leave . other.f90
succeeds "  and an old one" leave inc old.f90
cp "$tmp/left/inc/m.mod" "$tmp/left/m.mod"
is "$(in_left -Iinc m.f90 main.f90 --)" "$expect" \
    "a module that was another one when a compiler left it"
rm "$tmp/left/m.mod"
is "$(in_left -Iinc m.f90 main.f90 --)" "$expect" "  behind -I"
echo nonsense >"$tmp/left/m.mod"
is "$(in_left -Iinc m.f90 main.f90 --)" "$expect" "  that is no module"
is "$(cat "$tmp/left/m.mod")" nonsense "  which stays"
is "$(cd "$tmp/left" && ls *.mod inc/*.mod)" "inc/m.mod
m.mod
other.mod" "  and no other is left"

# A program of Fortran and C, whose device code calls each other's.
uses="$from/numbers.F90 $from/twice.c $from/uses.f90"
expect='   12   17   22   27'
# shellcheck disable=SC2086
prints "Fortran and C" -q --device=host $uses --
if [ -n "$PTXI" ]; then
    # shellcheck disable=SC2086
    LD_LIBRARY_PATH=$PTXI prints "  as PTX" -q --device=cuda $uses --
else
    pass "  as PTX # SKIP PTXI names no emulated libcuda.so.1"
fi
fails_with 'uses.f90:5:.* .numbers.mod. was not found' \
    "a module of a source that comes later" "$ompjit" run -q "$from/uses.f90" \
    "$from/numbers.F90" "$from/twice.c" --

# Errors.
source wrong.f90 'program wrong' '  implicit none' '  x = 4' 'end'
fails_with '^ompjit: .*/wrong.f90:3:3: error: No explicit type' \
    "a mistake has its file and line" "$ompjit" run "$tmp/wrong.f90"
source wrong.for '      PROGRAM WRONG' '      X = = 4' '      END'
fails_with '/wrong.for:2:' "  in fixed form, too" "$ompjit" run "$tmp/wrong.for"
source missing.f90 'program p' 'call nowhere(1)' 'end'
fails_with 'undefined symbols: nowhere_' "a procedure that is not there" \
    "$ompjit" run "$tmp/missing.f90"
source unknown.f90 'program p' 'integer :: a(9), n' 'n = 3' \
    '!$omp target map(tofrom: a(n)) firstprivate(n)' 'a(n) = n' \
    '!$omp end target' 'end'
fails_with '/unknown.f90:4:7: error: flang 22 does not implement: ' \
    "a clause that flang does not have" "$ompjit" run "$tmp/unknown.f90"
fails_with '`-include` cannot be used: flang has no such flag' "-include" \
    "$ompjit" run -include x.h "$tmp/hello.f90"
fails_with '`-J` cannot be used: its value' "-J alone" "$ompjit" run -J "" \
    "$tmp/hello.f90"
expect=hello
prints "flags that mean nothing here" -q -fPIC -Wall -fopenmp \
    -ffree-line-length-none "$tmp/hello.f90"
source macro.f90 '#define N 7' 'program p' 'print "(i0)", N' 'end'
expect=7
prints "-cpp" -q -cpp "$tmp/macro.f90"
source locks.f '      program p' "      include 'omp_lib.h'" \
    '      integer n' '!$omp target map(from: n)' '      n = omp_get_num_teams()' \
    '!$omp end target' '      print "(i0)", n' '      end'
expect=1
prints "omp_lib.h" -q --device=host "$tmp/locks.f"
succeeds "  by ompjit fc" "$ompjit" fc -fopenmp "$tmp/locks.f" -o "$tmp/locks"

source beyond.f90 'program p' 'integer :: a(10), i' 'a = 0' \
    '!$omp target map(tofrom: a(1:5))' 'do i = 1, 6' 'a(i) = i' 'end do' \
    '!$omp end target' 'end'
fails_with 'out-of-bounds write of 4 bytes at beyond.f90:6:' \
    "--check finds a write" "$ompjit" run --check --device=host \
    "$tmp/beyond.f90"
like "$(cat "$tmp/stderr")" 'after the end of a\(1:5\) \(.*beyond.f90:2\)' \
    "  beside what is mapped, by its name"

# Device code may call all of flang's runtime library on the host device only.
source library.f90 'program library' 'real :: a(2)' 'character(3) :: s' \
    's = "4.5"' '!$omp target map(a, s)' 'read (s, *) a(1)' \
    '!$omp end target' 'print "(f4.1)", a(1)' 'end'
expect=' 4.5'
prints "input in device code" -q --device=host "$tmp/library.f90"
fails_with 'InternalListInput [(][^ ]*/library.f90:6[)], ' \
    "  is refused by name and line for a GPU" "$ompjit" compile "$tmp/library.f90" \
    -o "$tmp/library.ptx"

# Sums of do concurrent are refused where flang would lose them.
device=-fdo-concurrent-to-openmp=device
refused() {
    fails_with "$2: error: a reduce clause of do concurrent has no effect" \
        "reduce on a device: $1" "$ompjit" run --device=host $device "$tmp/$3"
}
source reduce.f90 'integer :: i' 'real :: s = 1' \
    '! do concurrent (i = 1:9) reduce(+: s)' \
    'do &' 'concurrent (i = 1:100) & ! of' '  ' ' &  REDUCE &' ' ( +: s)' \
    's = s + i' 'end do' 'print "(f7.1)", s' 'end'
refused "in several lines" reduce.f90:5 reduce.f90
expect=' 5051.0'
prints "  on the host" -q --device=host -fdo-concurrent-to-openmp=host \
    "$tmp/reduce.f90"
source loop.inc 'do concurrent (i = 1:100) reduce(+: s)' 's = s + i' 'end do'
source include.f90 'integer :: i' 'real :: s = 1' "include 'loop.inc'" \
    'print "(f7.1)", s' 'end'
refused "in an included file" loop.inc:1 include.f90
source reduce.F90 '#define SUM reduce(+: s)' 'integer :: i' 'real :: s = 1' \
    'do concurrent (i = 1:100) SUM' 's = s + i' 'end do' 'print "(f7.1)", s' \
    'end'
refused "of a macro" reduce.F90 reduce.F90
fails_with 'reduce.F90: error: a reduce clause of do concurrent' \
    "  by ompjit fc" "$ompjit" fc -fopenmp $device -c "$tmp/reduce.F90" \
    -o "$tmp/reduce.o"
source reduce.f '      integer i' '      real s' '      s = 1' \
    '      do concurrent (i = 1:100)' 'c     a comment' \
    '     +   reduce(+: s)' '      s = s + i' '      end do' '      end'
refused "in fixed form" reduce.f:4 reduce.f
fails_with 'reduce.f90:5: error: a reduce clause of do concurrent' \
    "  by ompjit fc" "$ompjit" fc -fopenmp $device -c "$tmp/reduce.f90" \
    -o "$tmp/reduce.o"

# flang passes a region's threads to the function that divides its loop, and
# gives each kernel a bound of 128 threads. A team has one thread nevertheless,
# whose loop is vectorized, also in a reduction.
succeeds "a loop by ompjit fc" "$ompjit" fc -fopenmp "$sum" -o "$tmp/sum"
is "$(LIBOMPTARGET_INFO=16 OMPJIT_DEVICE=host "$tmp/sum" 2>&1 |
    grep -c 'blocks and \[1,1,1\] threads')" 4 "  has teams of one thread"
source others.f90 'integer :: i, concurrent, reduce(100)' 'concurrent = 1' \
    'do concurrent (i = 1:100); reduce(i) = i' 'end do' \
    'print "(i0,1x,a)", reduce(100), "do concurrent reduce(x)"' 'end'
expect='100 do concurrent reduce(x)'
prints "other uses of the words" -q --device=host $device "$tmp/others.f90"
is "$(ls "$TMPDIR")" "" "no folder is left"
done_testing
