# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# TAP for shell tests. Source it; then: is, like, succeeds, fails_with, emulated,
# has_libdevice, cached, skip, lacks, done_testing.
# What a failure is about goes to standard error, which prove shows.
# $ompjit is the tool, $srcdir the source tree, $builddir the build tree, $tmp a
# folder of the test's own that is removed at the end; $PTXI the folder of an
# emulated libcuda.so.1, or empty.
tap_count=0
tap_failed=0
: "${srcdir:=.}" "${builddir:=.}"
[ -e "${PTXI-}/libcuda.so.1" ] || PTXI=
ompjit=$builddir/ompjit
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

pass() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1"; }
fail() {
    tap_count=$((tap_count + 1)); tap_failed=1
    echo "not ok $tap_count - $1"
    [ -z "${2-}" ] || printf '%s\n' "$2" | head -40 | sed 's/^/# /' >&2
}
# is GOT WANT NAME
is() { if [ "$1" = "$2" ]; then pass "$3"; else fail "$3" "got: $1
want: $2"; fi; }
# like TEXT EXTENDED-REGEX NAME
like() {
    if printf '%s\n' "$1" | grep -Eq -- "$2"; then pass "$3"
    else fail "$3" "text: $1
regex: $2"; fi
}
# succeeds NAME COMMAND...: exit status 0; standard output in $out
succeeds() {
    tap_name=$1; shift
    if out=$("$@" 2>"$tmp/stderr"); then pass "$tap_name"
    else fail "$tap_name" "exit $?: $* $(cat "$tmp/stderr")"; fi
}
# fails_with REGEX NAME COMMAND...: non-zero, not killed, and stderr matches
fails_with() {
    tap_regex=$1 tap_name=$2; shift 2
    out=$("$@" 2>"$tmp/stderr"); tap_status=$?
    if [ $tap_status -gt 0 ] && [ $tap_status -lt 126 ] &&
        grep -Eq -- "$tap_regex" "$tmp/stderr"; then pass "$tap_name"
    else fail "$tap_name" "exit $tap_status: $(cat "$tmp/stderr")"; fi
}
# status_is N NAME COMMAND...: the exit status, also of a signal
status_is() {
    tap_want=$1 tap_name=$2; shift 2
    exec 3>&2 2>/dev/null # the shell tells of signals
    out=$("$@" 2>"$tmp/stderr")
    tap_got=$?
    exec 2>&3 3>&-
    is "$tap_got" "$tap_want" "$tap_name"
    [ "$tap_got" = "$tap_want" ] || sed 's/^/# /' "$tmp/stderr"
}
# emulated [NAME=VALUE]... COMMAND...: on the GPU that the libcuda.so.1 in $PTXI is,
# or not at all.
emulated() {
    env LD_LIBRARY_PATH="$PTXI" OMPJIT_DEVICE=cuda OMPJIT_ASSEMBLER=driver \
        OMP_TARGET_OFFLOAD=mandatory "$@"
}
# has_libdevice: kernels for GPUs can call all of <math.h> here.
has_libdevice() {
    printf '%s\n' '#include <math.h>' 'void f(double *x) {' \
        '_Pragma("omp target map(x[:1])") x[0] = acos(x[0]); }' >"$tmp/acos.c"
    "$ompjit" compile "$tmp/acos.c" -o "$tmp/acos.ptx" 2>/dev/null
}
# cached: what the test has compiled once, its further runs take from a cache of
# its own.
cached() { export OMPJIT_CACHE=1 OMPJIT_CACHE_DIR="$tmp/cache"; }
skip() { pass "$1 # SKIP $2"; }
# lacks PROGRAM WHAT: it is not there, and the tests of WHAT are skipped. Where
# OMPJIT_TEST_NEEDS names it, as in CI, that is a failure.
lacks() {
    ! command -v "$1" >/dev/null 2>&1 || return 1
    case " ${OMPJIT_TEST_NEEDS-} " in
    *" $1 "*) fail "$2: no $1, which OMPJIT_TEST_NEEDS names" ;;
    *) skip "$2" "no $1" ;;
    esac
}
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
done_testing() { echo "1..$tap_count"; exit $tap_failed; }
