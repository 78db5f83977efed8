#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# prepare.sh [FOLDER]: the device rows' kernels as IR, by default where t/gpu/run
# looks for them.
. "$srcdir/t/rt_build.sh"
kernels=${1:-$builddir/t/gpu/kernels}
mkdir -p "$kernels"
rt_compile_kernels "$kernels.bc" || exit 1
for k in $(sed -n 's/^ *K(\([a-z_]*\),.*/\1/p' "$srcdir/t/rt_kernels.h"); do
    rt_split "$kernels.bc" "rt_$k" "$kernels/$k.bc" || exit 1
done
rm -f "$kernels.bc"*
touch "$kernels/done"
