#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The compiler in the application's own process: tests of what LLVM can do to
# it, and programs. Other tests have it in a worker, which survives more:
# bitcode 20 of broken_ir_t has LLVM use memory that is not its own, and what
# comes of that is another thing each time.
# runs t/cramped_t t/memory_t t/broken_ir_t t/stock_t
. "${srcdir:-.}/t/tap.sh"

OMPJIT_COMPILER=inprocess
export OMPJIT_COMPILER
for program in cramped memory broken_ir stock; do
    BROKEN_IR="21 40" succeeds "$program" "$builddir/t/${program}_t"
    is "$(printf '%s\n' "$out" | grep '^not ok')" "" "  all of it"
done
for program in saxpy jacobi; do
    succeeds "$program" "$ompjit" run "$srcdir/examples/$program.c"
done
done_testing
