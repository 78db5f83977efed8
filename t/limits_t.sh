#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A process that may write no files, and one that is interrupted.
. "${srcdir:-.}/t/tap.sh"

cat >"$tmp/one.c" <<'END'
int main(void) {
  int x = 0;
#pragma omp target map(tofrom: x)
  x++;
  return x != 1;
}
END

# no_files NAME=VALUE...: the program runs where a file may have 0 bytes.
no_files() {
    (ulimit -f 0 && env "$@" KMP_WARNINGS=0 "$ompjit" run --device=host \
        "$tmp/one.c" >/dev/null)
}
mkdir "$tmp/cache"
succeeds "no files: a new cache" no_files OMPJIT_CACHE=1 \
    OMPJIT_CACHE_DIR="$tmp/cache"
succeeds "no files: no cache" no_files OMPJIT_CACHE=0
succeeds "no files: a record" no_files OMPJIT_CACHE=0 \
    OMPJIT_RECORD="$tmp/record"
like "$(no_files OMPJIT_CACHE=0 OMPJIT_PROFILE="$tmp/trace" 2>&1)" \
    'cannot write .*trace: File too large' "no files: a trace"
(ulimit -f 0; "$ompjit" compile "$tmp/one.c" -o "$tmp/one.ll" 2>/dev/null)
is $? 2 "no files: an output is an error"

# Ctrl-C ends a kernel that does not end, and with it the process; what clang
# processes there were are gone.
cat >"$tmp/loop.c" <<'END'
#include <stdio.h>
int main(void) {
  int x = 0;
  fputs("begun\n", stderr);
#pragma omp target map(tofrom: x)
  { volatile int on = 1; while (on) ; x = 1; }
  puts("after the kernel");
  return 0;
}
END
for memory in shared separate; do
    # A shell starts what is in the background with SIGINT ignored.
    env --default-signal=INT "$ompjit" run --device=host \
        --host-memory=$memory "$tmp/loop.c" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    tries=0
    until grep -q begun "$tmp/err" || [ $tries -gt 300 ]; do
        tries=$((tries + 1)); sleep 0.1
    done
    children=$(ps -o pid= --ppid $pid)
    kill -INT $pid
    wait $pid
    is "$?:$(cat "$tmp/out")" 130: "$memory memory: SIGINT ends a kernel"
    sleep 0.2
    left=
    for child in $children; do
        case $(ps -o stat= -p "$child") in
        '' | Z*) ;;
        *) left="$left $child" ;;
        esac
    done
    is "$left" '' "$memory memory: and no child is left"
done
done_testing
