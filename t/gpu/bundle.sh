#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# bundle.sh OUTPUT.tar.gz: all that t/gpu/run needs on a machine with nothing
# but CUDA's driver. clang's part is recorded while the tests run on the host
# device. BUNDLE_CUDA=FOLDER copies ptxas and libdevice from that toolkit: for
# your own machines, by NVIDIA's licence. RECORDED=FOLDER is the `recorded` of
# another bundle of these sources, in place of another run.
set -eu
: "${srcdir:?}" "${builddir:?}" "${CLANG:?}" "${LIBOMP:?}"
output=$1
most=67108864 # 64 MiB
if [ -n "${BUNDLE_CUDA-}" ] &&
    ! head -c 4 "$BUNDLE_CUDA/bin/ptxas" | grep -q ELF; then
    echo "bundle.sh: $BUNDLE_CUDA/bin/ptxas is no program itself;" \
        "BUNDLE_CUDA names the folder of a CUDA toolkit" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=ompjit-gpu
b=$work/$name
mkdir -p "$b/lib" "$b/recorded" "$b/t/gpu" "$b/t/.libs" "$b/t/data" "$b/examples" \
    "$b/bench/nvcc"

# What libtool keeps behind its wrappers.
program() { # FROM TO
    from=$builddir/$1
    real=$(dirname "$from")/.libs/$(basename "$from")
    if [ -e "$real" ]; then from=$real; fi
    cp "$from" "$b/$2"
    strip "$b/$2"
}
for p in $PROGRAMS; do program "$p" "$p"; done
program t/fake_nvtx.so t/.libs/fake_nvtx.so
cp -L "$builddir/.libs/libompjit_internals.so.0" "$b/lib/"
strip "$b/lib/libompjit_internals.so.0"
# zlib and zstd of the build, and the C++ library where it is not part of ours;
# the C library and libgcc_s, which every C library brings along, are the
# machine's: a newer gcc's wants a newer C library.
ldd "$b/lib/libompjit_internals.so.0" | awk '$3 ~ /^\// { print $3 }' |
    grep -Ev '/lib(c|m|dl|pthread|rt|gcc_s)\.so' | while read -r lib; do
    cp -L "$lib" "$b/lib/"
done
cp -L "$LIBOMP" "$b/lib/libomp.so.5"
if [ -n "${BUNDLE_CUDA-}" ]; then
    for f in bin/ptxas nvvm/libdevice/libdevice.10.bc; do
        mkdir -p "$b/cuda/$(dirname $f)"
        cp -L "$BUNDLE_CUDA/$f" "$b/cuda/$f"
    done
fi
cd "$srcdir"
cp t/gpu/run t/gpu/clang LICENSE "$b/"
cp t/gpu/programs.sh t/gpu/profile.sh t/gpu/known "$b/t/gpu/"
cp t/tap.sh t/profiled.sh t/rt_kernels.h "$b/t/"
cp t/data/math.c t/data/output.c t/data/device_numbers.c t/data/kernels.cu \
    t/data/profiled.c \
    "$b/t/data/"
cp examples/*.c examples/*.h "$b/examples/"
cp bench/report.awk bench/two_arrays.c bench/construct.c "$b/bench/"
cp bench/nvcc/cases bench/nvcc/small bench/nvcc/*.c "$b/bench/nvcc/"
cp -r "$builddir/t/gpu/kernels" "$builddir/t/gpu/nvcc" "$b/t/gpu/"
git rev-parse --short HEAD >"$b/commit" 2>/dev/null || echo unknown >"$b/commit"

# Each program hands its sources to the stand-in, which asks the real clang.
echo "recording what clang makes of the tests' sources" >&2
if [ -n "${RECORDED-}" ]; then
    cp -r "$RECORDED/." "$b/recorded"
elif ! OMPJIT_TEST_GPU=host OMPJIT_RECORD_CLANG=$(command -v "$CLANG") \
    GPU_SIZES=small ROUNDS=1 \
    "$b/run" all "$work/recording" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    echo "bundle.sh: the tests do not pass on the host device" >&2
    exit 1
fi
tar -C "$work" -cf - "$name" | gzip -6 >"$output.part"
size=$(wc -c <"$output.part")
if [ "$size" -gt "$most" ]; then
    echo "bundle.sh: $size bytes, more than $most" >&2
    rm -f "$output.part"
    exit 1
fi
mv "$output.part" "$output"
echo "$output: $((size / 1024)) KiB; unpack it and run $name/run" >&2
