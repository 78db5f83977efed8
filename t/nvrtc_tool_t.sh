#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tool with CUDA sources: run, compile and inspect, and its own mistakes.
. "${srcdir:-.}/t/tap.sh"
kernels=$srcdir/t/data/kernels.cu
unset OMPJIT_DEVICE OMPJIT_ASSEMBLER OMPJIT_SPECIALIZE

# usage REGEX NAME COMMAND...: exit status 2
usage() {
    fails_with "$@"
    is "$tap_status" 2 "  is a mistake of the command line"
}
has_nvrtc() {
    "$ompjit" compile --cuda-compiler=nvrtc "$kernels" -o "$tmp/nvrtc.ptx" \
        2>/dev/null
}
run="$ompjit run --device=host"

for policy in off now; do
    export OMPJIT_SPECIALIZE=$policy
    succeeds "run, specialize $policy" $run "$kernels" vadd 4 64 1000 2 \
        f32:1000=1 f32:1000=0+1
    is "$out" "x: 1 1 1 1 1 1 1 1 ..., sum 1000
y: 2 3 4 5 6 7 8 9 ..., sum 501500" "  shows its buffers"
    succeeds "run in two dimensions" $run "$kernels" stencil 1x1 4x2 4 2 \
        f32:8=1 f32:8
    is "$out" "in: 1 1 1 1 1 1 1 1, sum 8
out: 0.5 0.75 0.75 0.5 0.5 0.75 0.75 0.5, sum 5" "  finds the neighbours"
done
unset OMPJIT_SPECIALIZE

cat >"$tmp/say.cu" <<'EOF'
__global__ void say(short s, double d, long long *p)
{
    printf("thread %d of %d: %d %g %lld\n", threadIdx.x, blockDim.x, s, d,
           p[threadIdx.x]);
    assert(p[threadIdx.x] > 0);
    p[threadIdx.x] = -p[threadIdx.x];
}
EOF
succeeds "printf" $run "$tmp/say.cu" say 1 2 -3 1e-3 i64:2=7+1
# Threads print in no order.
is "$(echo "$out" | sort)" "p: -7 -8, sum -15
thread 0 of 2: -3 0.001 7
thread 1 of 2: -3 0.001 8" "  and negative numbers"
fails_with "assertion failed: .*say.cu:5: say: .p" "assert, with its place" \
    $run "$tmp/say.cu" say 1 1 0 0 i64:1

printf '__global__ void one(int *p) { p[0] = __LINE__; }\n' \
    >"$tmp/we\"ird\\.cu"
succeeds "a source with a quote in its name" $run "$tmp/we\"ird\\.cu" one 1 1 i32:1
is "$out" "p: 1, sum 1" "  begins with line 1"

cat >"$tmp/circle.cu" <<'EOF'
extern "C" int omp_get_num_teams(void);
struct node { node *next; int (*f)(void); };
__device__ node first = {&first, omp_get_num_teams};
__global__ void circle(int *p) { p[blockIdx.x] = first.next->f(); }
EOF
succeeds "a variable with its own address and a runtime function's" \
    $run "$tmp/circle.cu" circle 2 1 i32:2
is "$out" "p: 2 2, sum 4" "  calls it"

# On a GPU by each compiler.
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    for compiler in nvrtc clang; do
        if [ $compiler = nvrtc ] && ! has_nvrtc; then
            skip "assert, with its place, by nvrtc" "no NVRTC"
            continue
        fi
        fails_with "ASSERT .*say.cu:5: .*say.*: .p" \
            "assert, with its place, by $compiler" env OMPJIT_ASSEMBLER=driver \
            LD_LIBRARY_PATH="$PTXI" "$ompjit" run --device=cuda \
            --cuda-compiler=$compiler "$tmp/say.cu" say 1 1 0 0 i64:1
        succeeds "  one that holds" env OMPJIT_ASSEMBLER=driver \
            LD_LIBRARY_PATH="$PTXI" "$ompjit" run --device=cuda \
            --cuda-compiler=$compiler "$tmp/say.cu" say 1 1 0 0 i64:1=5
        like "$out" 'p: -5, sum -5' "  is none"
    done
else
    pass "assert on a GPU # SKIP PTXI names no emulated libcuda.so.1"
fi

if "$ompjit" compile "$kernels" -o "$tmp/k.cubin" 2>/dev/null; then
    succeeds "assertions in a cubin" "$ompjit" compile "$tmp/say.cu" \
        -o "$tmp/say.cubin"
    like "$(grep -ac ompjit_assertion_at "$tmp/say.cubin")" "^[1-9]" \
        "  which the loader will find"
else
    pass "assertions in a cubin # SKIP no assembler here makes cubins"
fi

usage "KERNEL TEAMS THREADS" "no launch" $run "$kernels"
usage "KERNEL TEAMS THREADS" "half a launch" $run "$kernels" vadd 4
usage "threads .0.: N, NxN" "no threads" $run "$kernels" vadd 4 0
usage "teams .1x2x3x4.: N, NxN" "four dimensions" $run "$kernels" vadd 1x2x3x4 1
usage "argument .x.: an integer" "no integer" $run "$kernels" vadd 4 64 x
usage "argument .1k.: a number" "no number" $run "$kernels" vadd 4 64 1 1k
for word in f16:4 f32 f32:0 f32:4=x f32:4=1+ :4; do
    usage "buffer .$(echo "$word" | sed 's/+/./').: TYPE:COUNT" "a buffer $word" \
        $run "$kernels" vadd 4 64 1 1 "$word"
done
usage "takes 4 arguments" "too many" $run "$kernels" vadd 1 1 1 1 f32:1 f32:1 1
fails_with "takes 4 arguments, got 1" "too few" $run "$kernels" vadd 4 64 1
fails_with "no kernel nobody; there are vadd, total" "no kernel" \
    $run "$kernels" nobody 1 1
fails_with "at most 256" "too many threads" $run "$kernels" vadd 1 512 1 1 \
    f32:1 f32:1
usage "did you mean clang" "a compiler that there is not" \
    "$ompjit" inspect --cuda-compiler=clnag "$kernels"
echo 'int main(void) { return 0; }' >"$tmp/wrong.cu"
echo '__global__ void k() { int x = }' >>"$tmp/wrong.cu"
fails_with "wrong.cu[:(]2" "a mistake in the source" $run "$tmp/wrong.cu" k 1 1

fails_with "out-of-bounds read of 4 bytes at .*kernels.cu:8" "a kernel is checked" \
    "$ompjit" run --device=host --check "$kernels" vadd 4 64 1001 2 \
    f32:1000 f32:1000
succeeds "  and found right" "$ompjit" run --device=host --check "$kernels" \
    total 1 96 f64:100=1 100 f64:1

export OMPJIT_SPECIALIZE=now
succeeds "run --explain --record" $run --explain --record="$tmp/variants" \
    "$kernels" stencil 1x1 4x2 4 2 f32:8=1 f32:8
like "$(cat "$tmp/stderr")" "specialized, 8 threads, 1 teams, w=0x4" "  tells the variants"
succeeds "  and in one dimension" $run --record="$tmp/variants" "$kernels" \
    vadd 4 64 1000 2 f32:1000 f32:1000
like "$(cat "$tmp/variants")" "vadd.* threads=64 teams=4 n=0x3e8" \
    "  whose variant is recorded"
is "$(grep -c . "$tmp/variants")" 1 "  and no other"
unset OMPJIT_SPECIALIZE
succeeds "explain" "$ompjit" explain --arch=host --set n=64 "$kernels" vadd
like "$out" "instructions .*%" "  needs no geometry"

for ending in ll bc ptx o; do
    succeeds "compile to .$ending" "$ompjit" compile --cuda-compiler=clang \
        "$kernels" -o "$tmp/k.$ending"
done
like "$(cat "$tmp/k.ll")" 'define .*ptx_kernel void @total' ".ll is device IR"
like "$(cat "$tmp/k.ptx")" '^.visible .entry total' ".ptx has the kernels"
succeeds "inspect" "$ompjit" inspect --arch=sm_80 "$kernels"
like "$out" '^stencil$' "  the kernels"
like "$out" 'parameters  n 4 bytes, a 4 bytes, x pointer, y pointer' \
    "  their parameters"
like "$out" 'geometry    teams free, threads at most 256' "  their bounds"
done_testing
