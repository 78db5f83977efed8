#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How prove runs one test, script or program.

# For a build with sanitizers. Fibers and stacks of returned functions exclude
# each other; a test may define what the library does; a crash is the test's to
# see; and libsanitizer misreads where glibc keeps the thread-local variables of
# libraries loaded later, so lsan.supp names what only these hold.
ASAN_OPTIONS=detect_stack_use_after_return=0:handle_segv=0:${ASAN_OPTIONS-}
ASAN_OPTIONS=detect_odr_violation=0:$ASAN_OPTIONS
LSAN_OPTIONS=suppressions=$(cd "$(dirname "$0")" && pwd)/lsan.supp:${LSAN_OPTIONS-}
LSAN_OPTIONS=use_tls=0:print_suppressions=0:$LSAN_OPTIONS
export ASAN_OPTIONS LSAN_OPTIONS

# Tests compile what they are about; those of the cache say where it is.
export OMPJIT_CACHE=0

case $1 in
*.sh) exec sh "$@" ;;
*) exec "$@" ;;
esac
