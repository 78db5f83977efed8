# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# LLVM 19's compiler and device runtime, the peer. Source it with srcdir,
# builddir and CUDA_DIR set. LLVM19 names the installation (what Debian's
# clang-19, llvm-19 and libomp-19-dev put into /usr/lib/llvm-19), PTXAS the
# assembler. Leaves with success, and a reason, where something is not there.
: "${srcdir:?}" "${builddir:?}" "${CUDA_DIR:?}"
: "${LLVM19:=/usr/lib/llvm-19}"
: "${PTXAS:=$CUDA_DIR/bin/ptxas}"
export PTXAS
bitcode=$LLVM19/lib/libomptarget-nvptx-sm_90.bc
# shellcheck disable=SC2034 # for who sources this
out=$builddir/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

note() { printf 'bench: %s\n' "$*" >&2; }
llvm19() { # TOOL ARGUMENT...
    llvm19_tool=$LLVM19/bin/$1; shift
    LD_LIBRARY_PATH="$LLVM19/lib:$LLVM19/../x86_64-linux-gnu" \
        "$llvm19_tool" "$@"
}

# Functions that clang 19's passes call after what it did not use of the
# runtime has been dropped; from the static library a linker adds them.
add_missing() { # FILE.ptx [ARCH]
    [ -e "$work/has" ] || llvm19 llvm-nm --defined-only "$bitcode" |
        awk '{ print $3 }' | sort >"$work/has"
    missing=$(sed -n '/^\.extern \.func/{s/.*) *//
        s/^\.extern \.func *//;s/[ (].*//;p}' "$1" | sort -u |
        comm -12 - "$work/has")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2046 # one argument each
    llvm19 llvm-extract -recursive "$bitcode" -o "$work/missing.bc" \
        $(echo "$missing" | sed 's/^/-func=/')
    llvm19 opt '-passes=default<O3>' "$work/missing.bc" -o "$work/missing.opt"
    llvm19 llc -O3 -mcpu="${2:-sm_90}" -mattr=+ptx85 "$work/missing.opt" \
        -o "$work/missing.ptx"
    for symbol in $missing; do
        sed -i "/^\.extern \.func.*\b$symbol\b/s/^\.extern/.visible/" "$1"
    done
    grep -vE '^\.(version|target|address_size)' "$work/missing.ptx" >>"$1"
}

if [ ! -e "$bitcode" ] || [ ! -x "$LLVM19/bin/clang" ]; then
    note "LLVM 19's device runtime left out: no $bitcode and clang beside it" \
        "(Debian: libomp-19-dev, clang-19, llvm-19; LLVM19=folder)"
    exit 0
fi
if [ ! -x "$PTXAS" ]; then
    note "LLVM 19's device runtime left out: no ptxas at $PTXAS"
    exit 0
fi
# shellcheck disable=SC2034
version=$(llvm19 clang --version | sed -n '1s/.*version \([^ ]*\).*/\1/p')
# shellcheck disable=SC2034
assembler=$("$PTXAS" --version | sed -n 's/.*\(V[0-9.]*\)$/ptxas \1/p')
