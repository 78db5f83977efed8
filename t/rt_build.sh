# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles target regions against the device runtime, for its tests. Source it
# after tap.sh. RT_OBJECTS is where make put the runtime.
: "${CLANG:=clang-22}" "${LLVM_BINDIR:=/usr/lib/llvm-22/bin}"
RT_OBJECTS=$builddir/runtime-bc
rt_resources=$($CLANG -print-resource-dir)
rt_host_triple=$($CLANG -print-target-triple)
rt_multiarch=$(${CC:-cc} -print-multiarch 2>/dev/null)

# rt_compile SOURCE OUT.bc: the source's device IR as the front end leaves it.
rt_compile() {
    rt_flags="-emit-llvm-bc -O2 -disable-llvm-passes -fopenmp -I $srcdir/t
        -resource-dir $rt_resources -internal-isystem $rt_resources/include
        -internal-isystem /usr/lib/llvm-22/lib/clang/22/include
        -internal-isystem /usr/include/$rt_multiarch
        -internal-isystem /usr/include"
    # shellcheck disable=SC2086
    $CLANG -cc1 -triple "$rt_host_triple" $rt_flags \
        -fopenmp-targets=nvptx64-nvidia-cuda "$1" -o "$2.host" &&
    $CLANG -cc1 -triple nvptx64-nvidia-cuda -aux-triple "$rt_host_triple" \
        $rt_flags -fopenmp-is-target-device -fcuda-is-device \
        -fopenmp-host-ir-file-path "$2.host" -target-cpu sm_90 \
        -target-feature +ptx78 "$1" -o "$2"
}

# rt_compile_kernels OUT.bc: all test kernels in one module.
rt_compile_kernels() {
    rt_modules=
    for rt_source in "$srcdir"/t/rt_*kernels.c; do
        rt_module=$1.$(basename "$rt_source" .c)
        rt_compile "$rt_source" "$rt_module" || return 1
        rt_modules="$rt_modules $rt_module"
    done
    # shellcheck disable=SC2086
    "$LLVM_BINDIR/llvm-link" $rt_modules -o "$1"
}

# rt_names IN.bc [FUNCTION]: the kernels, of that function only; their
# environments with rt_environments. Separated by commas.
rt_list() {
    "$LLVM_BINDIR/llvm-nm" --defined-only "$1" | awk '{print $3}' |
        grep -E "$2" | tr '\n' ','
}
rt_names() { rt_list "$1" "^__omp_offloading_.*_${2-.*}_l[0-9]+$"; }
rt_environments() {
    rt_list "$1" "^__omp_offloading_.*_${2-.*}_l[0-9]+_kernel_environment$"
}

# rt_choose IN.bc FUNCTION: one function's kernels become $rt_public.
rt_choose() {
    rt_public=$(rt_names "$1" "$2")$(rt_environments "$1" "$2")
}

# rt_split IN.bc FUNCTION OUT.bc: one function's kernels, without the runtime.
rt_split() {
    rt_choose "$1" "$2"
    "$LLVM_BINDIR/opt" -passes=internalize,globaldce \
        --internalize-public-api-list="$rt_public" "$1" -o "$3"
}

# rt_runtime RUNTIME OUT.bc: with its calls of outlined regions inlined, as they
# are where the library defines ompjit_invoke for a module. Once for each.
rt_runtime() {
    [ -e "$2" ] || "$LLVM_BINDIR/opt" -S -passes=no-op-module "$1" -o - |
        sed '/^define.*@ompjit_invoke(/s/ {$/ alwaysinline {/' |
        "$LLVM_BINDIR/llvm-as" -o "$2"
}

# rt_link IN.bc FUNCTION RUNTIME.bc PASSES OUT.bc: one function's kernels with
# the runtime, which are linked once for several PASSES. Nothing of the runtime
# may go before openmp-opt has seen it.
rt_link() {
    rt_inlined=$tmp/$(basename "$3").inlined
    if [ -e "$5.linked" ]; then
        rt_choose "$1" "$2"
    else
        rt_split "$1" "$2" "$5.user" &&
        rt_runtime "$3" "$rt_inlined" &&
        "$LLVM_BINDIR/llvm-link" "$5.user" "$rt_inlined" -o "$5.linked" ||
            return 1
    fi
    "$LLVM_BINDIR/opt" -passes="$4" \
        --internalize-public-api-list="$rt_public" "$5.linked" -o "$5"
}

# rt_ptx IN.bc OUT.ptx
rt_ptx() {
    "$LLVM_BINDIR/llc" -O3 -mcpu=sm_90 -mattr=+ptx78 "$1" -o "$2"
}

# rt_retarget IN.bc OUT.ll: device IR for the host, as far as these tests need
# it; `distribute` divides the loop by the teams rather than by blocks.
rt_retarget() {
    rt_layout=$(echo 'int x;' | $CLANG -x c - -S -emit-llvm -o - |
        grep '^target datalayout')
    "$LLVM_BINDIR/llvm-dis" "$1" -o - | sed -E \
        "s/^target datalayout.*/$rt_layout/
        s/^target triple.*/target triple = \"$rt_host_triple\"/
        s/ptx_kernel //; s/ (hidden|protected) / /
        s/ \"(target-cpu|target-features)\"=\"[^\"]*\"//g
        s/(distribute_static_init_[48]u?\(ptr [^,]*, i32 [^,]*, i32 )91/\192/" \
        >"$2"
}

# rt_fold THREADS OUT.ll: the host runtime for blocks of that many threads.
rt_fold() {
    "$LLVM_BINDIR/llvm-dis" "$RT_OBJECTS/ompjit_rt_${rt_host_triple%%-*}.bc" -o - | sed -E \
        "s/^@ompjit_fold_threads = weak (dso_local )?constant i32 0/@ompjit_fold_threads = internal constant i32 $1/" \
        >"$2"
}
