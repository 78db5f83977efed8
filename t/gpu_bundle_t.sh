#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `make gpu-bundle`, unpacked and run whole with nothing of the build machine's
# LLVM, CUDA or build tree in sight: without a driver it says so, and on ptxi's
# driver all passes and the results are as described.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEST_GPU MAKEFLAGS MFLAGS MAKELEVEL
case $(uname -m) in x86_64) ;; *) skip_all "a bundle is for x86-64" ;; esac
if [ -n "${SANITIZER_REPORTS-}" ]; then
    skip_all "a bundle with sanitizers would need their libraries"
fi
if grep -q '^LLVM_LIBS = .*-lLLVM-[0-9]' "$builddir/Makefile"; then
    skip_all "all of LLVM, as a shared library, is too large for a bundle"
fi
succeeds "make gpu-bundle" make -s -C "$builddir" gpu-bundle \
    GPU_BUNDLE=t/gpu/test.tar.gz
bundle=$builddir/t/gpu/test.tar.gz
like "$(wc -c <"$bundle")" '^ *([0-9]{1,7}|[1-5][0-9]{7})$' "below 60 MB"
tar -C "$tmp" -xzf "$bundle" && rm -f "$bundle"
b=$tmp/ompjit-gpu
like "$(find "$b" -name '*.bc' | wc -l)" '^ *[5-9][0-9]$' "kernels as IR"
is "$(find "$b" -name '*nvJitLink*' -o -name 'ptxas*' -o -name 'libdevice*')" \
    "" "nothing of NVIDIA's"

# What the programs and libraries want of the C library, highest last.
wanted() {
    find "$b" -type f -print0 | xargs -0 readelf -VW 2>/dev/null |
        grep -oE 'GLIBC_[A-Z0-9._]+' | sort -uV
}
# Headers of glibc 2.38 and later name functions of 2.38 for strtol and others.
case $(getconf GNU_LIBC_VERSION) in
*' 2.3'[4-7]) is "$(wanted | tail -n 1)" GLIBC_2.34 "runs with glibc 2.34" ;;
*) like "$(wanted | tail -n 1)" '^GLIBC_2.3[48]$' "runs with glibc 2.38" ;;
esac
is "$(wanted | grep -v '^GLIBC_2')" "" "  and needs nothing special of it"

# bare COMMAND...: where mounting is allowed, without LLVM, CUDA and the trees.
cat >"$tmp/hide" <<EOF2
for d in /usr/lib/llvm-* /usr/local/cuda* "$srcdir" "$builddir"; do
    if [ -d "\$d" ]; then mount -t tmpfs none "\$d" || exit 1; fi
done
exec env -i PATH=/usr/bin:/bin HOME="$tmp" "\$@"
EOF2
bare() {
    if unshare -rm true 2>/dev/null; then
        unshare -rm sh "$tmp/hide" "$@"
    else
        env -i PATH=/usr/bin:/bin HOME="$tmp" "$@"
    fi
}
cd "$tmp" || exit 1

# With ptxas and libdevice of the machine's toolkit, which assemble there. A ptxas
# on the PATH may be a script that starts the toolkit's.
is_program() { head -c 4 "$1" 2>/dev/null | grep -q ELF; }
for ptxas in $(command -v ptxas) /usr/local/cuda/bin/ptxas; do
    toolkit=$(dirname "$(dirname "$(readlink -f "$ptxas")")")
    if is_program "$ptxas"; then break; fi
done
mkdir -p "$tmp/scripts/bin"
echo "exec $ptxas" >"$tmp/scripts/bin/ptxas"
for folder in scripts none; do
    fails_with "/$folder/bin/ptxas is no program itself" "BUNDLE_CUDA=$folder" \
        make -s -C "$builddir" gpu-bundle GPU_BUNDLE=t/gpu/with.tar.gz \
        BUNDLE_CUDA="$tmp/$folder" RECORDED="$b/recorded"
done
if is_program "$ptxas" && [ -e "$toolkit/nvvm/libdevice/libdevice.10.bc" ]; then
    with=$builddir/t/gpu/with.tar.gz
    succeeds "make gpu-bundle BUNDLE_CUDA" make -s -C "$builddir" gpu-bundle \
        GPU_BUNDLE=t/gpu/with.tar.gz BUNDLE_CUDA="$toolkit" \
        RECORDED="$b/recorded"
    mkdir "$tmp/with"
    tar -C "$tmp/with" -xzf "$with" && rm -f "$with"
    w=$tmp/with/ompjit-gpu
    like "$(cd "$w/cuda" && find . -type f | sort | tr '\n' ' ')" \
        '^./bin/ptxas ./nvvm/libdevice/libdevice.10.bc $' "  has both"
    kernel=$(find "$w/t/gpu/kernels" -name '*.bc' | sort | head -n 1)
    succeeds "  which assemble where no toolkit is" bare \
        LD_LIBRARY_PATH="$w/lib" OMPJIT_CUDA_HOME="$w/cuda" \
        "$w/t/gpu/ompjit" compile --no-cache --assembler=ptxas \
        --arch=sm_80 "$kernel" -o "$tmp/with.cubin"
    like "$(od -An -c -N4 "$tmp/with.cubin")" 'E +L +F' "  a cubin"
    rm -rf "$tmp/with"
else
    pass "BUNDLE_CUDA # SKIP no toolkit with ptxas and libdevice"
fi

out=$(bare LD_LIBRARY_PATH="$tmp/none" "$b/run" all "$tmp/none" 2>&1)
status=$?
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    is $status 3 "without a driver the status is 3"
    like "$out" "no GPU to run on: .*libcuda.so.1, not found" "  and it is said"
    is "$(cat "$tmp/none/summary.txt")" "$out" "  in the results, too"
    cp "$PTXI/libcuda.so.1" "$tmp/"
    succeeds "on the emulated driver" bare LD_LIBRARY_PATH="$tmp" \
        PTXI_DEVICES=2 GPU_SIZES=small GPU_LIMIT=300 "$b/run" all \
        "$tmp/results"
    cat "$tmp/results/summary.txt" | sed 's/^/# /'
    like "$(cat "$tmp/results/summary.txt")" \
        'check-gpu: [4-9][0-9][0-9] tests passed, 0 failed' "  all passes"
    is "$(grep -c SKIP "$tmp/results/log/cuda")" 0 "  also what needs two GPUs"
    like "$(cat "$tmp/results/device.txt")" 'ptxi emulated' "  names the device"
    like "$(cat "$tmp/results/bench.txt")" '^EMULATED' "  and that it is none"
    for group in launch construct bandwidth compile products; do
        like "$(cat "$tmp/results/bench.txt")" "^$group" "  measures $group"
    done
    b_out=$(cat "$tmp/results/bench.txt")
    # Where nothing can be hidden a clang is found, but no GPU for it.
    why='(no clang here|clang.*: error: .*)'
    like "$b_out" "^left out: constructs by LLVM's libomptarget: $why$" \
        "  and says what has no peer"
    if [ -e "$b/t/gpu/nvcc/version" ]; then
        is "$(printf '%s\n' "$b_out" | grep -c 'us, peer: nvcc$')" 9 \
            "  has each specialized kernel beside nvcc's"
        # 3, for 2, times x
        sed -i s/0f40000000/0f40400000/ "$b/t/gpu/nvcc/small/saxpy.ptx"
    else
        like "$b_out" "^left out: specialized kernels beside nvcc's: no nvcc" \
            "  and that no nvcc was there"
    fi
    for json in tests bench; do
        if command -v python3 >/dev/null; then
            succeeds "  $json.json is JSON" \
                python3 -m json.tool "$tmp/results/$json.json"
        fi
    done
    for name in queue events cuda_map map_fault gather variables nvrtc_cuda \
        cuda programs profile row-saxpy row-tasks; do
        like "$(cat "$tmp/results/tests.json")" \
            "\"name\": \"$name\", \"passed\": [1-9][0-9]*, \"failed\": 0" \
            "  $name is in tests.json"
    done
    # With the host plugin of this machine's clang, if it has one.
    host=-fopenmp-targets=$(uname -m)-pc-linux-gnu
    wrong=$(env -i PATH=/usr/bin:/bin HOME="$tmp" LD_LIBRARY_PATH="$tmp" \
        GPU_SIZES=small ROUNDS=1 PEER_CLANG="$(command -v "$CLANG")" \
        PEER_FLAGS="$host" "$b/run" bench "$tmp/wrong")
    status=$?
    if [ -e "$b/t/gpu/nvcc/version" ]; then
        is $status 1 "results that are not nvcc's fail"
        like "$wrong" "^FAILED bench_nvcc: saxpy: our results are not nvcc's$" \
            "  and are named"
    fi
    if printf '%s\n' "$wrong" | grep -q '^left out.*libomptarget'; then
        pass "constructs beside libomptarget's # SKIP no plugin for the host"
    else
        is "$(printf '%s\n' "$wrong" | grep -c 'us, peer: libomptarget$')" 2 \
            "constructs are beside libomptarget's"
    fi
    echo 'exit 1' >"$b/t/gpu/programs.sh"
    bare LD_LIBRARY_PATH="$tmp" GPU_LIMIT=300 GPU_ONLY="cuda programs" \
        "$b/run" tests "$tmp/failed" >"$tmp/said" 2>&1
    is $? 1 "a program that fails makes the status 1"
    like "$(grep SKIP "$tmp/failed/log/cuda")" \
        'two GPUs # SKIP this machine has 1$' "where there is one GPU it is said"
    is "$(grep -o '"name": "[a-z]*"' "$tmp/failed/tests.json" | tr '\n' ' ')" \
        '"name": "cuda" "name": "programs" ' "GPU_ONLY names the tests to run"
    like "$(cat "$tmp/failed/summary.txt")" '^FAILED programs: see .*/log/programs' \
        "  and named"
else
    pass "a run # SKIP PTXI names no emulated libcuda.so.1"
fi
done_testing
