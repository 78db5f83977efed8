#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# IR that other front ends and other flags make: what is wrong with it is said,
# and what is only unusual runs. Units are tested in t/ir_t.c.
. "${srcdir:-.}/t/tap.sh"
: "${CLANG:=clang-22}"
program=$srcdir/t/programs/generic_region.c
right='25 25 25 25 25 25 25 25 0 4'

# runs NAME DEVICE-IR HOST-IR: on the host device and as PTX.
runs() {
    succeeds "$1: runs" "$ompjit" run --device=host --host-ir "$3" "$2"
    is "$out" "$right" "$1: is right"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        succeeds "$1: runs as PTX" emulated "$ompjit" run --host-ir "$3" "$2"
        is "$out" "$right" "$1: is right as PTX"
    else
        pass "$1: as PTX # SKIP PTXI names no emulated libcuda.so.1"
    fi
}

# ------------------------------------------------- regions without wrappers
"$ompjit" compile "$program" -o "$tmp/device.ll" &&
    "$ompjit" compile "$program" --emit host-ll -o "$tmp/host.ll"
sed 's/ptr @[A-Za-z0-9_]*_wrapper,/ptr null,/' "$tmp/device.ll" \
    >"$tmp/unwrapped.ll"
like "$(cat "$tmp/unwrapped.ll")" 'kmpc_parallel_60.*omp_outlined, ptr null,' \
    "a region of a generic kernel without the workers' function"
runs "region without a wrapper" "$tmp/unwrapped.ll" "$tmp/host.ll"

# ---------------------------------------------- addresses in the host half
sed 's/^\( *\)store ptr \(@.offload_maptypes\), \(.*\)/\1%types = getelementptr [9 x i64], ptr \2, i64 0, i64 0\n\1store ptr %types, \3/' \
    "$tmp/host.ll" >"$tmp/types.ll"
like "$(cat "$tmp/types.ll")" '%types = getelementptr' \
    "a host half takes the address of a global array in an instruction"
runs "such a host half" "$tmp/device.ll" "$tmp/types.ll"

# ------------------------------------------------------- code that nothing runs
# A value that is made of itself is valid there.
circle() {
    sed "/^define .*$1/,/^}/s/^}\$/dead:\n  %self = getelementptr i8, ptr %self, i64 8\n  store ptr $2, ptr %self\n  br label %dead\n}/" "$3"
}
circle ptx_kernel %a "$tmp/device.ll" >"$tmp/circle.ll"
circle 'i32 @main' %a "$tmp/host.ll" >"$tmp/circle-host.ll"
is "$(cat "$tmp/circle.ll" "$tmp/circle-host.ll" | grep -c 'ptr %self, i64')" 2 \
    "blocks that nothing leads to, with circles"
runs "such code" "$tmp/circle.ll" "$tmp/circle-host.ll"

# ------------------------------------------------- regions of another module
sed 's/\(@__kmpc_parallel_60.* ptr \)@[A-Za-z0-9_]*omp_outlined, ptr @[A-Za-z0-9_]*,/\1@elsewhere, ptr null,/
    $a declare void @elsewhere(ptr, ptr, ptr, ptr, ptr, ptr)' \
    "$tmp/device.ll" >"$tmp/elsewhere.ll"
like "$(cat "$tmp/elsewhere.ll")" 'kmpc_parallel_60.*ptr @elsewhere, ptr null' \
    "a region that another module defines"
fails_with 'undefined.*elsewhere|elsewhere.*undefined' "  is said to be missing" \
    "$ompjit" run --device=host --host-ir "$tmp/host.ll" "$tmp/elsewhere.ll"

# ----------------------------------------- lambdas in code without source files
{
    sed '/^!llvm.dbg.cu/d' "$tmp/host.ll"
    cat <<'EOF'
@".__omp_offloading_1_2_each3$_0_l3.region_id" = weak constant i8 0
define void @"__omp_offloading_1_2_each3$_0_l3"() {
  call void @"_ZZ4mainENK3$_0clEd"()
  ret void
}
define void @"_ZZ4mainENK3$_0clEd"() !dbg !99901 {
  ret void
}
!llvm.dbg.cu = !{!99902}
!99901 = distinct !DISubprogram(name: "x", unit: !99902, spFlags: DISPFlagDefinition)
!99902 = distinct !DICompileUnit(language: DW_LANG_C11, file: !99903, emissionKind: LineTablesOnly)
!99903 = !DIFile(filename: "a.c", directory: "/")
EOF
} >"$tmp/lambda.ll"
runs "a lambda without a source file" "$tmp/device.ll" "$tmp/lambda.ll"

# ------------------------------------------------------- locals that are shared
right='7 8 9 10 11 12 13 14 99 27 6'
"$ompjit" compile "$srcdir/t/programs/shared_locals.c" -o "$tmp/locals.ll" &&
    "$ompjit" compile "$srcdir/t/programs/shared_locals.c" --emit host-ll \
        -o "$tmp/locals-host.ll"
sed 's/call align 16 ptr @__kmpc_alloc_shared(i64 \([0-9]*\))/alloca [\1 x i8]/
    /call void @__kmpc_free_shared/d' "$tmp/locals.ll" >"$tmp/plain.ll"
is "$(grep -c 'alloc_shared(i64 [0-9]' "$tmp/locals.ll") \
$(grep -c 'alloc_shared(i64 [0-9]' "$tmp/plain.ll")" "4 0" \
    "shared locals become plain allocas"
"$ompjit" compile "$tmp/plain.ll" -o "$tmp/mended.ll"
is "$(grep -c 'call align 16 ptr @__kmpc_alloc_shared' "$tmp/mended.ll") \
$(grep -c 'call ptr @__kmpc_alloc_shared' "$tmp/mended.ll")" "4 0" \
    "they come from shared memory with its alignment"
runs "shared locals as plain allocas" "$tmp/plain.ll" "$tmp/locals-host.ll"
sed 's/alloca \[\(.*\) x i8\]/&, align 64/' "$tmp/plain.ll" >"$tmp/wide.ll"
"$ompjit" compile "$tmp/wide.ll" -o "$tmp/mended.ll"
is "$(grep -c 'alloca .*, align 64' "$tmp/wide.ll") \
$(grep -c ' = and i64 .*, 63' "$tmp/mended.ll")" "4 4" \
    "locals of more alignment than shared memory has keep it"
runs "shared locals of more alignment" "$tmp/wide.ll" "$tmp/locals-host.ll"
sed '/%n = /s/alloca .*/alloca i32, i32 %limit/' "$tmp/plain.ll" \
    >"$tmp/long.ll"
runs "a shared local whose size is known when it runs" "$tmp/long.ll" \
    "$tmp/locals-host.ll"
sed '/%n = /s/.*alloca .*/  br i1 true, label %later, label %later\
later:\
&/' "$tmp/plain.ll" >"$tmp/later.ll"
fails_with 'counted: .*a parallel region refers to the local variable n of' \
    "a shared local of unknown place" \
    "$ompjit" compile "$tmp/later.ll" -o "$tmp/later.ptx"
right='1011 2011 3011 4011 5011 6011 7011 8011'
"$ompjit" compile "$srcdir/t/programs/shared_detours.c" -o "$tmp/locals.ll" &&
    "$ompjit" compile "$srcdir/t/programs/shared_detours.c" --emit host-ll \
        -o "$tmp/locals-host.ll"
sed 's/call align 16 ptr @__kmpc_alloc_shared(i64 \([0-9]*\))/alloca [\1 x i8], align 8/
    /call void @__kmpc_free_shared/d' "$tmp/locals.ll" >"$tmp/plain.ll"
runs "locals whose addresses take detours" "$tmp/plain.ll" \
    "$tmp/locals-host.ll"
right='25 25 25 25 25 25 25 25 0 4'

# ------------------------------------------------- full debug information
# half TRIPLE OPTION... -o FILE
half() {
    triple=$1; shift
    $CLANG -cc1 -triple "$triple" -fopenmp -fopenmp-version=51 -O2 \
        -disable-llvm-passes -debug-info-kind=constructor -dwarf-version=2 \
        -internal-isystem "$($CLANG -print-resource-dir)/include" \
        -internal-isystem "$(dirname "$(echo '#include <omp.h>' |
            $CLANG -fopenmp -E - | sed -n 's/^# 1 "\(.*omp.h\)".*/\1/p' |
            head -1)")" \
        -internal-externc-isystem "/usr/include/$(uname -m)-linux-gnu" \
        -internal-externc-isystem /usr/include "$@" "$program"
}
machine=$($CLANG -print-target-triple)
if half "$machine" -fopenmp-targets=nvptx64-nvidia-cuda -emit-llvm-bc \
        -o "$tmp/debug-host.bc" &&
    half nvptx64-nvidia-cuda -aux-triple "$machine" \
        -fopenmp-is-target-device -fcuda-is-device -target-cpu sm_75 \
        -fopenmp-host-ir-file-path "$tmp/debug-host.bc" -emit-llvm-bc \
        -o "$tmp/debug.bc"; then
    runs "kernel with full debug information" "$tmp/debug.bc" \
        "$tmp/debug-host.bc"
else
    fail "clang compiles with full debug information"
fi

# ------------------------------------------------------------ wrong kernels
# refused REGEX NAME SED-EXPRESSION
refused() {
    sed "$3" "$tmp/device.ll" >"$tmp/wrong.ll"
    fails_with "$1" "$2" "$ompjit" compile "$tmp/wrong.ll" -o "$tmp/wrong.ptx"
}
kernel='__omp_offloading_[0-9a-f_]*main_l[0-9]*'
refused "@${kernel}_kernel_environment has the unknown mode 7; it has to be" \
    "an environment with an unknown mode" \
    '/_kernel_environment = /s/{ i8 1, i8 1, i8 1, /{ i8 1, i8 1, i8 7, /'
refused "^    @${kernel}_kernel_environment = weak_odr protected constant \{ \{ \
i8, i8, i8, i32, i32, i32, i32, i32, i32 \}, ptr, ptr \} \{ .*, ptr @[0-9]+, \
ptr @${kernel}_dynamic_environment \}$" \
    "the error has one to be pasted" \
    '/_kernel_environment = /s/{ i8 1, i8 1, i8 1, /{ i8 1, i8 1, i8 7, /'
refused "is of another type, \{ \{ i8, i8, i8, i32, i32, i32, i32, i32, i64 \}" \
    "an environment of another size" \
    's/^%struct.Conf.*/%struct.ConfigurationEnvironmentTy = type { i8, i8, i8, i32, i32, i32, i32, i32, i64 }/
     /_kernel_environment = /s/i32 \([0-9]*\) }, ptr/i64 \1 }, ptr/'
refused "generic_region.c:13:1: $kernel: the kernel $kernel does not hand on \
its parameter 0" "another launch environment" \
    's/\(@__kmpc_target_init.*\), ptr %dyn_ptr)/\1, ptr %a)/'
refused "generic_region.c:16:1: $kernel: argument 8 of __kmpc_parallel_60 says \
that there are 9 arguments" "a region with fewer arguments than its call says" \
    's/\(@__kmpc_parallel_60.*\), i64 4, i32 0)/\1, i64 9, i32 0)/'
# Kernels of CUDA have no launch environment, and so no buffer of reductions.
cat >"$tmp/buffer.cu" <<'EOF'
extern "C" __global__ void k(void **p)
{
    p[0] = __kmpc_reduction_get_fixed_buffer();
}
EOF
fails_with 'get_fixed_buffer needs a launch environment, which kernels of CUDA' \
    "CUDA: a reduction's buffer" \
    "$ompjit" compile --cuda-compiler clang "$tmp/buffer.cu" -o "$tmp/b.ptx"

done_testing
