#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# figures.sh FILE.ptx...: what each file of one kernel costs on sm_90, a line
# of tab-separated figures for each:
#   registers, bytes of static shared memory, of stack and of spills, PTX
#   instructions, SASS instructions
# SASS is counted in the cubin: 16 bytes each, without the NOPs (operation
# 0x918) that fill the code's last 128 bytes. PTXAS names the assembler.
set -eu
: "${PTXAS:=ptxas}"
cubin=$(mktemp)
trap 'rm -f "$cubin"' EXIT

# A statement is an instruction unless it is a directive or a label; those in a
# group of parentheses or braces (a call's) count with it.
ptx_instructions() { # FILE
    awk '{ sub(/\/\/.*/, "") }
         /^[ \t]*(\.visible |\.weak |\.extern )*\.(entry|func)/ { head = 1 }
         /^{/ { head = 0; body = 1; next }
         /^}/ { body = 0 }
         body && /^[ \t]+(@!?%p[0-9]+ )?[a-z][a-z0-9]*[. \t;]/ { n++ }
         END { print n + 0 }' "$1"
}

sass_instructions() { # CUBIN
    readelf -SW "$1" | sed -n \
        's/^ *\[ *[0-9]*\] \.text\.[^ ]* *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p' |
        while read -r offset size; do
            od -An -v -tx4 -w16 -j $((0x$offset)) -N $((0x$size)) "$1"
        done | awk '{ if (substr($1, 6) == "918") pad++
                      else { n += pad + 1; pad = 0 } }
                    END { print n + 0 }'
}

for ptx in "$@"; do
    "$PTXAS" -v -arch=sm_90 -o "$cubin" "$ptx" 2>&1 |
        awk -v ptx="$(ptx_instructions "$ptx")" '
            /Compiling entry function/ { entry = 1 }
            /bytes stack frame/ {
                if (match($0, /[0-9]+ bytes stack/)) stack += substr($0, RSTART)
                if (match($0, /[0-9]+ bytes spill stores/)) spill += substr($0, RSTART)
            }
            /Used [0-9]+ registers/ {
                if (match($0, /Used [0-9]+/)) registers = substr($0, RSTART + 5) + 0
                if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART) + 0
            }
            END {
                if (!entry) exit 1
                printf "%d\t%d\t%d\t%d\t%d\t", registers, shared, stack, spill, ptx
            }' && sass_instructions "$cubin"
done
