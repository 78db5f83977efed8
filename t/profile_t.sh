#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Profiles (t/profiled.sh) on the host device and on ptxi's driver, there in its
# three modes with the device's own times, on tracks of their own. How long these
# are only a GPU says: here they are there, and lie inside of their launches.
. "${srcdir:-.}/t/tap.sh"
. "${srcdir:-.}/t/profiled.sh"
program=$srcdir/t/data/profiled.c

for stream in sync async lazy; do
    [ -e "${PTXI:-}/libcuda.so.1" ] || break
    succeeds "$stream streams" env PTXI_STREAM=$stream OMPJIT_PROFILE=1 \
        LD_LIBRARY_PATH="$PTXI" OMPJIT_ASSEMBLER=driver \
        PTXI_LOG="$tmp/log.$stream" OMPJIT_DEVICE=cuda \
        "$builddir/examples/saxpy_api" 3000
    like "$(cat "$tmp/stderr")" '^kernel +[1-9][0-9]* .* saxpy$' \
        "  have their kernels timed"
    like "$(cat "$tmp/log.$stream")" '^exit: 0 leaks' "  and nothing is left"
done

devices=host
if [ -e "${PTXI:-}/libcuda.so.1" ]; then devices="host cuda"; fi
for device in $devices; do
    profiled $device
done
# Copies from one GPU to another and fills are copies like others.
if [ "$devices" != host ]; then
    cat >"$tmp/peers.c" <<'EOF'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int sum = 0, got[1000], host = omp_get_initial_device();
    void *a = omp_target_alloc(sizeof got, 0);
    void *b = omp_target_alloc(sizeof got, 1);
    omp_target_memset(a, 1, sizeof got, 0);
    omp_target_memcpy(b, a, sizeof got, 0, 0, 1, 0);
    omp_target_memcpy(got, b, sizeof got, 0, 0, host, 1);
    for (int i = 0; i < 1000; i++)
        sum += got[i] == 0x01010101;
    omp_target_free(a, 0);
    omp_target_free(b, 1);
    printf("%d\n", sum);
}
EOF
    profiled=$program
    program=$tmp/peers.c
    PTXI_DEVICES=2
    export PTXI_DEVICES
    succeeds "two GPUs: a table" on cuda --profile=-
    is "$out" 1000 "  of a program that is right"
    table=$(cat "$tmp/stderr")
    for kind in copy transfer; do
        like "$table" "^$kind +1 .* fill, +[0-9.]+ GB/s\$" \
            "  $kind: a fill"
        like "$table" "^$kind +1 .* from another device, +[0-9.]+ GB/s\$" \
            "  $kind: from one to the other"
    done
    succeeds "two GPUs: a trace" on cuda --profile="$tmp/trace.json"
    if perl -MJSON::PP -e 1 2>/dev/null; then
        said=$(perl "$tmp/check.pl" <"$tmp/trace.json" 2>&1)
        like "$said" '^OK .*copy=3 .*transfer=3 .*tracks=2' \
            "  each is there, on tracks of the GPUs: $said"
    fi
    NVTX_INJECTION64_PATH=$builddir/t/.libs/fake_nvtx.so \
        FAKE_NVTX_LOG=$tmp/nvtx
    export NVTX_INJECTION64_PATH FAKE_NVTX_LOG
    succeeds "two GPUs: with a profiler that listens" on cuda
    is "$(sed -n 's/^push 0 //p' "$tmp/nvtx" | grep -v '^from the device')" \
        "fill
from another device" "  each is a range"
    unset NVTX_INJECTION64_PATH PTXI_DEVICES
    program=$profiled
fi

if [ "$devices" = host ]; then
    pass "on a GPU # SKIP PTXI names no emulated libcuda.so.1"
fi

succeeds "OMPJIT_PROFILE=1 of an application" env OMPJIT_DEVICE=host \
    OMPJIT_PROFILE=1 "$builddir/examples/saxpy_api" 3000
like "$(cat "$tmp/stderr")" '^(launch|queued) .* saxpy$' "  is told in the end"
fails_with 'cannot write /nonexistent/x' "a file that cannot be written" \
    sh -c 'OMPJIT_LOG=1 OMPJIT_DEVICE=host OMPJIT_PROFILE=/nonexistent/x \
        "$1" 3000 && exit 1' sh "$builddir/examples/saxpy_api"
fails_with 'OMPJIT_COMPILER=nobody: not one of' "a context that is not made" \
    env OMPJIT_COMPILER=nobody OMPJIT_PROFILE="$tmp/none" \
    "$builddir/examples/saxpy_api" 3000
succeeds "  writes no profile" test ! -e "$tmp/none"

# --sass needs CUDA's programs: ones of our own show what they are asked.
program() { # FILE TEXT: a shell script
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
sass() { # NAME=VALUE...
    env "$@" "$ompjit" inspect --sass "$srcdir/examples/saxpy.c"
}
shows='echo "disassembled $1, $(head -c 4 "$2" | tail -c 3)"'
if "$ompjit" compile "$srcdir/examples/saxpy.c" -o "$tmp/x.cubin" 2>/dev/null
then
    # An assembler of ours, too, where no toolkit may be found.
    program "$tmp/wheels/nvidia/cu13/bin/ptxas" "for a; do
        [ \"\${last-}\" != -o ] || cp '$tmp/x.cubin' \"\$a\"
        last=\$a
    done"
    alone="OMPJIT_CUDA_HOME=/nonexistent OMPJIT_ASSEMBLER=ptxas"
    alone="$alone OMPJIT_CUDA_WHEELS=$tmp/wheels"
    fails_with 'nvdisasm or cuobjdump: on PATH.* nvidia-cuda-nvdisasm of PyPI' \
        "inspect --sass without a disassembler" sass $alone
    program "$tmp/wheels/nvidia/cu13/bin/nvdisasm" "$shows"
    succeeds "  with PyPI's" sass $alone
    like "$out" '^disassembled -c, ELF$' "  which gets a cubin"
    like "$out" 'occupancy   [0-9]+ teams of 128 threads .*limited by' \
        "  and the occupancy"
    program "$tmp/home/bin/cuobjdump" "$shows"
    program "$tmp/home/bin/nvdisasm" 'exit 3'
    fails_with "$tmp/home/bin/nvdisasm ended with status 3" \
        "  with a toolkit's, which fails" sass CUDA_HOME="$tmp/home"
    rm "$tmp/home/bin/nvdisasm" "$tmp/wheels/nvidia/cu13/bin/nvdisasm"
    succeeds "  with cuobjdump" sass $alone OMPJIT_CUDA_HOME="$tmp/home"
    like "$out" '^disassembled -sass, ELF$' "  as that wants to be asked"
    program "$tmp/bin/nvdisasm" "$shows"
    succeeds "  with PATH's" sass PATH="$tmp/bin:$PATH"
    succeeds "inspect --threads" "$ompjit" inspect --threads=64 --arch=sm_80 \
        "$srcdir/examples/saxpy.c"
    like "$out" 'occupancy   32 teams of 64 threads .*, 64 of 64 warps \(100%\)' \
        "  is for so many"
else
    pass "inspect --sass # SKIP no assembler here makes cubins"
fi

if [ "$devices" != host ]; then
    succeeds "devices -v" env LD_LIBRARY_PATH="$PTXI" "$ompjit" devices -v
    like "$out" 'runs 2048 threads in 64 warps and 32 teams' \
        "  what a multiprocessor runs"
    like "$out" '65536 registers, 233472 bytes of shared memory' "  and has"
    succeeds "inspect --device" env LD_LIBRARY_PATH="$PTXI" PTXI_CC=8.6 \
        "$ompjit" inspect --quiet --device=cuda "$srcdir/examples/saxpy.c"
    like "$out" 'on sm_86 ' "  is for that device"
fi
done_testing
