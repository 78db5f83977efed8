#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs on a GPU (t/gpu/run starts this): the examples, as plain OpenMP,
# through the API and specialized, have the checksums that they have on the
# host device; mathematics, output, an assertion, a fatal error.
. "${srcdir:-.}/t/tap.sh"
ompjit=$builddir/t/gpu/ompjit
device=${OMPJIT_TEST_GPU:-cuda}
cd "$srcdir" || exit 1

size_of() {
    case ${GPU_SIZES-full}$1 in
    smallsaxpy | smalldot) echo 3000 ;;
    smalljacobi) echo 24 3 ;;
    small*) echo 20 ;;
    *) ;;
    esac
}

apis_of() {
    echo "${1}_api"
    case $1 in
    jacobi) echo jacobi_graph_api ;;
    matmul) echo matmul_cuda_api ;;
    esac
}

checksum() { printf '%s\n' "$1" | grep checksum; }

for name in saxpy dot jacobi mandelbrot matmul; do
    size=$(size_of $name)
    succeeds "$name on the host device" \
        "$ompjit" run --device=host examples/$name.c $size
    sum=$(checksum "$out")
    succeeds "$name on the GPU" \
        "$ompjit" run --device=$device examples/$name.c $size
    is "$(checksum "$out")" "$sum" "  the same checksum"
    succeeds "$name, specialized" env OMPJIT_SPECIALIZE=now \
        "$ompjit" run --device=$device examples/$name.c $size
    is "$(checksum "$out")" "$sum" "  the same checksum"
    for api in $(apis_of $name); do
        succeeds "$api" env OMPJIT_DEVICE=$device "$builddir/t/gpu/$api" $size
        is "$(checksum "$out")" "$sum" "  the same checksum"
    done
done

# as a user of the tool
on() { "$ompjit" run --device=$device "$@"; }
for options in -O0 -O3 "-O3 -ffast-math"; do
    # shellcheck disable=SC2086
    if out=$(on $options t/data/math.c 2>&1); then
        is "$out" "141 results, 0 wrong" "mathematics, $options"
    elif printf '%s\n' "$out" | grep -q libdevice; then
        pass "mathematics, $options # SKIP no libdevice, which is CUDA's"
    else
        fail "mathematics, $options" "$out"
    fi
done
succeeds "output" on t/data/output.c
like "$out" '^printed 1 words 0.5$' "  is printed"
fails_with 'kernel (is )?__omp_offloading.*main' "an assertion fails" \
    on t/data/output.c x
is "$(printf '%s\n' "$out" | grep -c after)" 0 "  which ends the program"
fails_with 'kernel (is )?__omp_offloading.*main' "a fatal error" \
    on t/data/output.c x y
like "$out" '^ompjit: error: the end$' "  is printed, too"
succeeds "device numbers" on t/data/device_numbers.c
like "$out" '^0 of ([0-9]+) \1 0, .*\1$' "  are right"
succeeds "a CUDA kernel" on t/data/kernels.cu vadd 4 64 1000 2 \
    f32:1000=1 f32:1000=0+1
like "$out" 'y: 2 3 4 5 6 7 8 9 ..., sum 501500' "  shows its buffers"
done_testing
