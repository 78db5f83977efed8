#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# doc/data-sharing.md: tables 2 to 8 of "Implementing implicit OpenMP data sharing
# on GPUs" (LLVM-HPC 2017) with this library's figures beside the paper's, and
# what CUDA's arithmetic makes of both. `make update-sharing`. Needs an
# assembler; registers are those of sm_75.
: "${srcdir:=.}" "${builddir:=build}"
ompjit=$builddir/ompjit
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# the programs, as the test has them
sed -n '/^scalars() {/,/^}/p; /^arrays() {/,/^}/p; /^figures() {/,/^}/p
    /^teams() {/,/^}/p' \
    "$srcdir/t/data_sharing_t.sh" >"$tmp/programs.sh"
. "$tmp/programs.sh"

# ours KIND N: "N REGISTERS SHARED CODE REGISTERS SHARED CODE", SPMD and generic
ours() {
    "$1" "$2" "" >"$tmp/p.c"
    spmd=$(figures "$tmp/p.c")
    "$1" "$2" generic >"$tmp/p.c"
    echo "$2 $spmd $(figures "$tmp/p.c")"
}
for n in 1 2 4 8 16 32 64; do ours scalars $n; done >"$tmp/scalars"
for n in 1 2 3 4; do ours arrays $n; done >"$tmp/arrays"

# rows GPU FILE: of the paper on standard input "N SHARED REGISTERS TEAMS"
rows() {
    while read -r n shared registers theirs; do
        read -r _ r1 s1 _ r2 s2 _ <<END
$(grep "^$n " "$2")
END
        echo "| $n | $shared | $registers | $theirs |" \
            "$(teams "$1" "$registers" "$shared") |" \
            "$s1 | $r1 | $(teams "$1" "$r1" "$s1") |" \
            "$s2 | $r2 | $(teams "$1" "$r2" "$s2") |"
    done
}
head_row() {
    cat <<'END'
| | paper | | | | ours, SPMD | | | ours, kept generic | | |
|---|---|---|---|---|---|---|---|---|---|---|
| variables | shared bytes | registers | teams/SM | by CUDA's rules | shared bytes | registers | teams/SM | shared bytes | registers | teams/SM |
END
}
cat <<'END'
# Data sharing: the paper's tables, and ours

"Implementing implicit OpenMP data sharing on GPUs" (Bercea et al., LLVM-HPC 2017) shares 1 to 64 scalars and 1 to 4 arrays of 96 `int` between
a target region's main thread and its parallel region. Here are its tables 2 to 8 with the figures of this library for the same programs, once as
kernels in SPMD mode, which they become, and once kept generic by a call with inline assembly. `make update-sharing` writes this page.

Teams have 128 threads. Registers of ours are those of sm_75 code: no assembler knows sm_35 (K40) and sm_60 (P100) any more, so they are an
estimate. Shared bytes are the kernel's own, as the assembler counts them. Some of the paper's teams are more than CUDA's own rules allow: 36
registers are given out as 40, which leaves room for 12 teams and not 14, and 17 teams of 128 threads exceed a multiprocessor's 2048. The column "by CUDA's
rules" has what these make of the paper's registers and shared bytes; ours are counted by the same rules.

END
echo "## Scalars (table 4: K40 with 16 KB; the shared bytes are table 2's)"; echo
head_row
printf '%s\n' "1 233 36 14" "2 241 36 14" "4 257 36 14" "8 289 36 14" \
    "16 353 40 12" "32 481 72 7" "64 737 136 3" | rows K40 "$tmp/scalars"
echo; echo "## Scalars (table 5: P100)"; echo
head_row
printf '%s\n' "1 233 31 16" "2 241 31 16" "4 257 31 16" "8 289 31 16" \
    "16 353 40 12" "32 481 71 7" "64 737 135 3" | rows P100 "$tmp/scalars"
echo; echo "## Arrays (table 6: K40 with 16 KB; the shared bytes are table 3's)"
echo; head_row
printf '%s\n' "1 617 36 14" "2 1001 36 14" "3 1385 36 11" "4 1769 36 9" |
    rows K40 "$tmp/arrays"
echo; echo "## Arrays (table 7: P100)"; echo
head_row
printf '%s\n' "1 617 30 17" "2 1001 30 17" "3 1385 30 17" "4 1769 30 17" |
    rows P100 "$tmp/arrays"
cat <<'END'

The paper allocates 256 and 512 bytes of device memory in each parallel region for its lists of 32 and 64 references. Ours has room for 32 in shared
memory, and for more allocates once for each kernel and team.

## Variables that fit (table 8: K40 with 16 KB)

A variable that regions only read takes no shared memory in SPMD mode. Kept generic it takes 8 bytes of the list, up to 32 of them.

| teams/SM | 16 | 15 | 14 | 13 | 12 | 8 | 4 | 2 | 1 |
|---|---|---|---|---|---|---|---|---|---|
| registers at most, paper | 32 | 34 | 36 | 39 | 42 | 64 | 128 | 255 | 255 |
END
awk 'function up(n, unit) { return int((n + unit - 1) / unit) * unit }
    BEGIN {
        split("16 15 14 13 12 8 4 2 1", teams)
        split("98 106 116 128 140 226 482 994 2018", paper)
        printf "| registers at most, by the rules of CUDA |"
        for (i = 1; i <= 9; i++) {
            for (r = 255; int(int(16384 / up(r * 32, 256)) * 4 / 4) < teams[i]; r--);
            printf " %d |", r
        }
        printf "\n| variables, paper |"
        for (i = 1; i <= 9; i++) printf " %d |", paper[i]
        printf "\n| 4-byte variables that regions write, ours (calculated) |"
        for (i = 1; i <= 9; i++) {
            left = int(16384 / teams[i] / 256) * 256
            # 16 bytes of the runtime, a reference for each of the first 32
            n = int((left - 16 - 8 * 32) / 4)
            printf " %d |", n
        }
        print ""
    }'
