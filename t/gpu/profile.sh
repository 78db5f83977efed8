#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Profiles on a GPU (t/gpu/run starts this), by the tool and by an application.
. "${srcdir:-.}/t/tap.sh"
. "${srcdir:-.}/t/profiled.sh"
ompjit=$builddir/t/gpu/ompjit
device=${OMPJIT_TEST_GPU:-cuda}
program=t/data/profiled.c
cd "$srcdir" || exit 1
profiled "$device"
succeeds "OMPJIT_PROFILE=1 of an application" env OMPJIT_DEVICE="$device" \
    OMPJIT_PROFILE=1 "$builddir/t/gpu/saxpy_api" 3000
like "$(cat "$tmp/stderr")" '^(launch|queued) .* saxpy$' "  is told in the end"
if [ "$device" = cuda ]; then
    like "$(cat "$tmp/stderr")" '^kernel +[1-9][0-9]* .* saxpy$' \
        "  with the GPU's own times"
fi
done_testing
