#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How prove runs one test, script or program.

# For a build with sanitizers. Fibers and stacks of returned functions exclude
# each other; a test may define what the library does; a crash is the test's to
# see; and libsanitizer misreads where glibc keeps the thread-local variables of
# libraries loaded later, so lsan.supp names what only these hold. Asking for
# more memory than there is has its answer.
ASAN_OPTIONS=detect_stack_use_after_return=0:handle_segv=0:${ASAN_OPTIONS-}
ASAN_OPTIONS=allocator_may_return_null=1:$ASAN_OPTIONS
ASAN_OPTIONS=detect_odr_violation=0:$ASAN_OPTIONS
here=$(cd "$(dirname "$0")" && pwd)
ASAN_OPTIONS=suppressions=$here/asan.supp:$ASAN_OPTIONS
LSAN_OPTIONS=suppressions=$here/lsan.supp:${LSAN_OPTIONS-}
LSAN_OPTIONS=use_tls=0:print_suppressions=0:$LSAN_OPTIONS
# The child of a fork starts threads, which ThreadSanitizer cannot watch there.
# libomp and LLVM are not instrumented; what libomp's threads wait for is told by
# its tool for the purpose, Archer.
TSAN_OPTIONS=ignore_noninstrumented_modules=1:handle_segv=0:die_after_fork=0:${TSAN_OPTIONS-}
TSAN_OPTIONS=suppressions=$here/tsan.supp:allocator_may_return_null=1:$TSAN_OPTIONS
# .ci/sanitize collects what is found.
if [ -n "${SANITIZER_REPORTS-}" ]; then
    ASAN_OPTIONS=log_path=$SANITIZER_REPORTS:$ASAN_OPTIONS
    UBSAN_OPTIONS=log_path=$SANITIZER_REPORTS:print_stacktrace=1
    TSAN_OPTIONS=log_path=$SANITIZER_REPORTS:$TSAN_OPTIONS
    export UBSAN_OPTIONS
fi
export ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS

# Tests compile what they are about; those of the cache say where it is.
export OMPJIT_CACHE=0

case $1 in
*.sh) exec sh "$@" ;;
*) exec "$@" ;;
esac
