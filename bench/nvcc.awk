# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rows of bench/nvcc.sh to its table: a kernel, how many operations an element
# has, then four times registers, spills, instructions and operations: ours and
# nvcc's of what is specialized, and of what is not.
BEGIN {
    printf "%-13s %-46s %s\n", "", "specialized", "for any arguments"
    printf "%-13s %-22s %-23s %-22s %s\n", "kernel", "registers", "instructions",
           "registers", "instructions"
    printf "%-13s", ""
    for (i = 0; i < 4; i++)
        printf " %6s %6s %6s  ", "ours", "nvcc", "ratio"
    printf "\n"
}
function pair(format, ours, theirs) {
    printf " " format " " format " %6.2f  ", ours, theirs, ours / theirs
}
{
    printf "%-13s", $1
    for (i = 3; i < 19; i += 8) {
        pair("%6d", $i, $(i + 4))
        pair("%6.2f", $(i + 2) / $(i + 3) * $2, $(i + 6) / $(i + 7) * $2)
        spills += $(i + 1)
    }
    printf "\n"
}
END {
    print "\nspecialized: geometry and scalar arguments are constants, in CUDA as macros, and pointers stand apart;"
    print "instructions: of the inner loop, for an element; of the whole kernel where it has no loop."
    printf "Bytes that our kernels spill: %d.\n", spills
}
