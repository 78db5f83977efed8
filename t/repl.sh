# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For tests of ompjit repl, behind tap.sh: the environment, and the test's own
# folder as the current one. All is skipped where clang is no part of ompjitc.
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE \
    OMPJIT_SPECIALIZE OMPJIT_LOG OMPJIT_PROFILE LD_PRELOAD LD_LIBRARY_PATH
OMPJIT_CACHE_DIR=$tmp/cache
OMP_NUM_THREADS=2
export OMPJIT_CACHE_DIR OMP_NUM_THREADS
srcdir=$(cd "$srcdir" && pwd)
cd "$tmp" || exit 1
"$ompjit" repl -e '1' >/dev/null 2>stderr
if grep -q 'needs the clang that is a part of ompjitc' stderr; then
    skip_all "clang is not a part of ompjitc"
fi
