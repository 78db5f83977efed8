#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# size.sh RUNTIME.bc: how many PTX instructions each function of the device
# runtime is on its own, at -O3 for sm_90, as libompjit/table/size.def. Rounded
# up to a power of 4, so that it says the order and not the compiler's version.
: "${LLVM_BINDIR:=/usr/lib/llvm-22/bin}"
cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Made by runtime-bc/size.sh (make update-sizes): the most PTX instructions that
 * a function of the device runtime is on its own, rounded up to a power of 4.
 */
END
"$LLVM_BINDIR/llvm-dis" "$1" -o - |
    sed 's/^define linkonce_odr hidden /define /' |
    "$LLVM_BINDIR/opt" -passes='default<O3>' -openmp-opt-disable |
    "$LLVM_BINDIR/llc" -O3 -mcpu=sm_90 -mattr=+ptx78 |
    awk '
        /^\.(visible |weak )?\.?func|\.func / { name = ""; head = 1 }
        head && name == "" && match($0, /[A-Za-z_][A-Za-z_0-9]*\($/) {
            name = substr($0, RSTART, RLENGTH - 1)
        }
        head && /;$/ && !body { head = 0 }
        /^{/ { body = 1; n = 0 }
        body && /^\t[@a-z]/ { n++ }
        /^}/ {
            for (top = 4; top < n; top *= 4)
                ;
            if (name != "") print "RTL_SIZE(\"" name "\", " top ")"
            body = head = 0
        }' | 
    grep -E '"(__kmpc|__llvm|__assert|llvm_omp|ompx?_)' | LC_ALL=C sort
