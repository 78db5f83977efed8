# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rows of bench/runtime.sh to its table: a kernel, then six figures each of
# ours, of the peer's, and of ours for a geometry that is known, and the time of
# compiles, ours and the peer's. "worse" ends a row in which a figure of ours is
# above the peer's.
BEGIN {
    n = split("registers shared stack spills PTX SASS", title, " ")
    printf "%-11s", ""
    for (i = 1; i <= n; i++)
        printf "  %-15s", title[i]
    printf "  CPU ms\n%-11s", "kernel"
    for (i = 1; i <= n; i++)
        printf "  %4s %4s %5s", "ours", "LLVM", "known"
    printf "  %4s %4s %5s\n", "ours", "LLVM", "ratio"
}
{
    printf "%-11s", $1
    worse = ""
    for (i = 1; i <= n; i++) {
        ours = $(1 + i); theirs = $(1 + n + i)
        printf "  %4d %4d %5d", ours, theirs, $(1 + 2 * n + i)
        if (ours > theirs)
            worse = "  worse"
    }
    ours = $(2 + 3 * n); theirs = $(3 + 3 * n)
    printf "  %4d %4d %5.2f", ours, theirs, theirs ? ours / theirs : 0
    if (ours > theirs)
        worse = "  worse"
    print worse
}
END {
    print "\nours: for any geometry; known: ours for a launch of 1024 teams of 128 threads, folded."
    print "shared: static shared memory, in bytes, as are stack and spill stores; PTX, SASS: instructions."
    print "CPU ms: a compile from source to PTX, user and system time of all its processes."
}
