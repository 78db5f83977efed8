#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# figures.sh [--ptx | --loop OPERATION] FILE.ptx: what a file of one kernel
# costs on sm_90, in a line: registers, bytes of static shared memory, of stack,
# of spill stores, PTX instructions, SASS instructions; with --ptx the PTX
# instructions only; with --loop registers, bytes of spill stores, and of the
# inner loop (loop.awk) instructions and how many of them are the operation.
# SASS is counted in the cubin: 16 bytes each, without the NOPs (operation
# 0x918) that fill the code's last 128 bytes. PTXAS names the assembler.
set -eu
: "${PTXAS:=ptxas}"
only='' operation=''
if [ "$1" = --ptx ]; then only=ptx; shift; fi
if [ "$1" = --loop ]; then operation=$2; shift 2; fi
ptx=$1
cubin=$(mktemp)
trap 'rm -f "$cubin"' EXIT

# A statement is an instruction unless it is a directive, a label, or one of
# the lines of a call's arguments.
ptx_instructions() {
    awk '{ sub(/\/\/.*/, "") }
         /^{/ { body = 1; next }
         /^}/ { body = 0 }
         body && /^[ \t]+(@!?%p[0-9]+ )?[a-z][a-z0-9]*[. \t;]/ { n++ }
         END { print n + 0 }' "$ptx"
}

# "OFFSET SIZE", in hexadecimal, of each section of code.
code_sections() {
    readelf -SW "$cubin" 2>/dev/null | sed -n \
        's/.*\] \.text\.[^ ]* *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p'
}
code() {
    code_sections | while read -r offset size; do
        od -An -v -tx4 -w16 -j $((0x$offset)) -N $((0x$size)) "$cubin"
    done
}
sass_instructions() {
    code | awk '{ if (substr($1, 6) == "918") pad++
                  else { n += pad + 1; pad = 0 } }
                END { print n + 0 }'
}

# resources PATTERN: the sum of the numbers before it in what ptxas says.
resources() {
    printf '%s\n' "$said" | grep -oE "$1" | grep -oE '[0-9]+' |
        awk '{ n += $1 } END { print n + 0 }'
}

if [ -n "$only" ]; then
    ptx_instructions
    exit 0
fi
said=$("$PTXAS" -v -arch=sm_90 -o "$cubin" "$ptx" 2>&1) || {
    printf '%s\n' "$said" >&2
    exit 1
}
if [ -n "$operation" ]; then
    printf '%s %s %s\n' "$(resources 'Used [0-9]+ registers')" \
        "$(resources '[0-9]+ bytes spill stores')" \
        "$(code | awk -v op="$operation" -f "$(dirname "$0")/loop.awk")"
    exit 0
fi
printf '%s %s %s %s %s %s\n' "$(resources 'Used [0-9]+ registers')" \
    "$(resources '[0-9]+ bytes smem')" "$(resources '[0-9]+ bytes stack')" \
    "$(resources '[0-9]+ bytes spill stores')" "$(ptx_instructions)" \
    "$(sass_instructions)"
