#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit exec: executables that ask for libomptarget by each of its names, and by
# a folder of their own, find this library; what cannot is told.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE \
    OMPJIT_SPECIALIZE OMPJIT_LOG OMPJIT_PROFILE LD_PRELOAD LD_LIBRARY_PATH
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR
exec_on_host() { "$ompjit" exec --device=host "$@"; }

# --------------------------------------------------------------- the command
status_is 127 "no such program" "$ompjit" exec ompjit-no-such-program
like "$(cat "$tmp/stderr")" "ompjit-no-such-program: not found in PATH" \
    "  is told"
status_is 127 "no such file" "$ompjit" exec ./no-such-file
status_is 126 "a folder" "$ompjit" exec "$tmp"
: >"$tmp/plain"
status_is 126 "a file that is no program" "$ompjit" exec "$tmp/plain"
mkdir "$tmp/bin"
cp "$tmp/plain" "$tmp/bin/shadowed"
status_is 126 "one in PATH" env PATH="$tmp/bin" "$ompjit" exec shadowed
status_is 2 "no program" "$ompjit" exec
status_is 2 "a device that is none" "$ompjit" exec --device=hots true
status_is 2 "a mode that is none" "$ompjit" exec --specialize=nov true
like "$(cat "$tmp/stderr")" "did you mean now" "  with what is meant"
status_is 7 "the program's status" exec_on_host sh -c 'exit 7'
status_is 143 "the program's signal" exec_on_host sh -c 'kill $$'
succeeds "arguments and standard input" sh -c \
    "echo in | '$ompjit' exec -q sh -c 'read x; echo \$x \"\$1\" \$2' - 'a b' -v"
is "$out" "in a b -v" "  are the program's"
succeeds "options" "$ompjit" exec --device=host --host-memory separate \
    --teams 3 --threads=5 --specialize=now --explain --no-cache -v env
for variable in DEVICE=host HOST_MEMORY=separate TEAMS=3 THREADS=5 \
    SPECIALIZE=now EXPLAIN=1 CACHE=0 LOG=1; do
    like "$out" "^OMPJIT_$variable\$" "  are variables: $variable"
done
succeeds "what is set" env LD_PRELOAD=libc.so.6 LD_LIBRARY_PATH=/here \
    "$ompjit" exec env
like "$out" '^LD_LIBRARY_PATH=[^:]*/omptarget:/here$' "  comes behind"
like "$out" '^LD_PRELOAD=[^:]*/libompjit-omptarget.so.*:libc.so.6$' "  likewise"

# A tree whose name the dynamic linker would split.
mkdir -p "$tmp/a b/.libs"
cp "$ompjit" "$tmp/a b"
cp -P "$lib"/libompjit-omptarget.so* "$tmp/a b/.libs"
mkdir "$tmp/a b/.libs/omptarget"
fails_with "takes no library below" "a blank in a folder's name" \
    "$tmp/a b/ompjit" exec true

# ---------------------------------------------------- programs without regions
succeeds "a program without libomptarget" exec_on_host -v true
like "$(cat "$tmp/stderr")" "true: is not linked with libomptarget" "  -v says so"
succeeds "  is one" exec_on_host true
is "$(cat "$tmp/stderr")" "" "  like others"
echo 'int main(void) { return 0; }' >"$tmp/nothing.c"
if "${CC:-cc}" -static "$tmp/nothing.c" -o "$tmp/static" 2>"$tmp/log"; then
    succeeds "a static one" exec_on_host "$tmp/static"
    like "$(cat "$tmp/stderr")" "static: statically linked" "  is told"
    succeeds "  runs" exec_on_host -q "$tmp/static"
    is "$(cat "$tmp/stderr")" "" "  quietly, too"
else
    skip "a static one" "no static libraries"
fi
su=$(command -v su)
if [ -n "$su" ] && [ -u "$su" ] && [ "$(id -u)" != 0 ]; then
    "$ompjit" exec "$su" --version >"$tmp/log" 2>"$tmp/stderr"
    like "$(cat "$tmp/stderr")" "gets another user's" "a setuid program is told"
else
    skip "a setuid program" "root, or no su"
fi

# ------------------------------------------------------- programs with regions
if lacks objcopy "programs with regions"; then
    done_testing
    exit
fi
# Strides of outer dimensions, by the names that -g gives; without them they are
# taken for 1, unless the section then ends behind the array.
no_stride="no stride: 1,2 1,5 2,2 2,5"
untold="does not tell where a section begins"
if built strides -g -- "$from/strides.c" 2>"$tmp/stderr"; then
    succeeds "strided sections" "$tmp/strides"
    is "$out" "$no_stride
1:3:2: 1,2 1,5 3,2 3,5 5,2 5,5
1:4:2: 1,2 1,5 3,2 3,5 5,2 5,5 7,2 7,5" "  are where they should be"
    fails_with "update of m.1:3:two.* $untold" "a stride that is no number" \
        "$tmp/strides" two
    is "$(grep -c "in front of it" "$tmp/stderr")" 0 "  without a guess"
    succeeds "a subscript in front" "$tmp/strides" front
    like "$out" "^two, 1:3:2: 0,1 0,3 0,5$" "  counts as 0"
    is "$(grep -c 'm.two..1:3:2., .* in front of it counts as 0' \
        "$tmp/stderr")" 1 "  which is told"
else
    fail "strided sections" "$(cat "$tmp/stderr")"
fi
if built strides -- "$from/strides.c" 2>"$tmp/stderr"; then
    fails_with "update of a section, .* $untold" "  without -g" "$tmp/strides"
    is "$out" "$no_stride
1:3:2: 2,2 2,5 4,2 4,5 6,2 6,5" "  rows as in LLVM's runtime"
    like "$(cat "$tmp/stderr")" "taken to have no stride.* compile with -g" \
        "  told before the error"
fi

# Host code that a libomp of another release aborts, or gives fewer teams.
# The program is linked with libomp first, as by clang: only what exec loads
# before it can help.
if objects allocators -- "$from/allocators.c" 2>"$tmp/stderr" &&
    "${CXX:-c++}" $objects -o "$tmp/allocators" "$LIBOMP" $dropin \
        2>"$tmp/stderr"; then
    succeeds "allocators and teams of the host" exec_on_host "$tmp/allocators"
    is "$out" "1 0
100 1" "  are what the program asks for"
else
    fail "allocators and teams of the host" "$(cat "$tmp/stderr")"
fi

if objects program -- "$from/program.c" "$from/other.c" 2>"$tmp/stderr"; then
    pass "objects of clang's"
else
    fail "objects of clang's" "$(cat "$tmp/stderr")"
fi

# clang's own way to programs that bring their bitcode, -fopenmp-target-jit, with
# LLVM's linker wrapper and libomptarget, which has no JIT in LLVM's packages.
wrapper=$(dirname "$CLANG")/clang-linker-wrapper
if [ -x "$wrapper" ] && [ -e "$(dirname "$CLANG")/../lib/libomptarget.so" ]; then
    succeeds "-fopenmp-target-jit" env PATH="$(dirname "$CLANG"):$PATH" "$CLANG" \
        -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_90 \
        -fopenmp-target-jit -nogpulib "$from/program.c" "$from/other.c" \
        -o "$tmp/jit" -lm
    succeeds "  runs" exec_on_host "$tmp/jit"
    is "$out" "1000 41 42, host 0, devices 1" "  offloaded"
    succeeds "  doctor" "$ompjit" doctor "$tmp/jit"
    if [ -e "${PTXI:-}/libcuda.so.1" ]; then
        succeeds "  as PTX" env LD_LIBRARY_PATH="$PTXI" "$ompjit" exec \
            --device=cuda --assembler=driver "$tmp/jit"
        is "$out" "1000 41 42, host 0, devices 1" "  offloaded"
    fi
else
    skip "-fopenmp-target-jit" "no clang-linker-wrapper (clang-tools-22) or \
libomptarget (liboffload-22-dev)"
fi

# real NAME: a libomptarget by that name that offloads nothing, in $tmp/real
nm -D --defined-only "$lib/libompjit-omptarget.so" |
    sed -n 's/.* T \([a-z_]*\)@.*/int \1(void) { return 1; }/p' >"$tmp/real.c"
mkdir "$tmp/real"
real() {
    "${CC:-cc}" -w -shared -fPIC "-Wl,-soname,$1" \
        "-Wl,--version-script=$srcdir/libompjit/dropin/libompjit-omptarget.map" \
        "$tmp/real.c" -o "$tmp/real/$1"
}
# linked NAME OPTION...: with the libomptarget of that name
linked() {
    linked_name=$1; shift
    # shellcheck disable=SC2086 # a list of files
    "${CC:-cc}" $objects "$tmp/real/$linked_name" "$LIBOMP" -o "$tmp/program" \
        "-Wl,-rpath,$(dirname "$LIBOMP")" "$@"
}
offloaded="1000 41 42, host 0, devices 1"
for name in $(cat "$builddir/libompjit/dropin/names"); do
    real "$name" && linked "$name"
    [ -e "$tmp/first" ] || {
        : >"$tmp/first"
        succeeds "first, without a cache" exec_on_host --no-cache "$tmp/program"
        is "$out" "$offloaded" "  offloaded"
    }
    succeeds "linked with $name" exec_on_host "$tmp/program"
    is "$out" "$offloaded" "  offloaded"
done
linked libomptarget.so.22.1 "-Wl,-rpath,$tmp/real" -Wl,--disable-new-dtags
succeeds "one with RPATH" "$tmp/program"
like "$out" "host 1" "  takes its own libomptarget"
succeeds "  under exec" exec_on_host -v "$tmp/program"
is "$out" "$offloaded" "  takes this one"
like "$(cat "$tmp/stderr")" "is linked with libomptarget.so.22.1" "  -v says so"
succeeds "a script that runs it" exec_on_host sh -c "cd / && '$tmp/program'"
is "$out" "$offloaded" "  has it offloaded"
cp "$tmp/program" "$tmp/bin/ours"
succeeds "from PATH" env PATH="$tmp/bin:$PATH" "$ompjit" exec --device=host ours
is "$out" "$offloaded" "  offloaded"
cd "$tmp" || exit 1
succeeds "reports" exec_on_host --explain --profile trace.json --record list \
    --specialize=now "$tmp/program"
like "$(cat "$tmp/stderr")" "main:[0-9]+ \(SPMD" "  --explain"
like "$(cat trace.json)" '"traceEvents"' "  --profile"
like "$(cat list)" "^main_l[0-9]+ " "  --record"
succeeds "a table" exec_on_host --profile - "$tmp/program"
like "$(cat "$tmp/stderr")" "^launch +[0-9]" "  on standard error"
fails_with "cannot write" "a file that cannot be written" exec_on_host \
    --profile /no/such/folder/x "$tmp/program"
if [ -e "${PTXI:-}/libcuda.so.1" ]; then
    succeeds "as PTX" env LD_LIBRARY_PATH="$PTXI" "$ompjit" exec --device=cuda \
        --assembler=driver "$tmp/program"
    is "$out" "$offloaded" "  offloaded"
else
    skip "as PTX" "no PTXI"
fi
done_testing
