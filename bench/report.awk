# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Samples (group, name, side, value, unit; tab-separated) to a table of medians
# and ratios ours/peer, and to JSON in the file `json`. `machine`, `commit` and
# `date` go into its head.
function median(key,    n, i, j, t, v) {
    n = split(samples[key], v, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) {
            t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
        }
    return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

BEGIN { FS = "\t" }

{
    row = $1 FS $2
    if (!(row in unit)) { rows[++nrows] = row; unit[row] = $5 }
    if ($3 != "ours") peer[row] = $3
    samples[row FS $3] = samples[row FS $3] " " $4
}

END {
    printf "{\n  \"machine\": \"%s\",\n  \"commit\": \"%s\",\n", machine, commit >json
    printf "  \"date\": \"%s\",\n  \"results\": [", date >json
    for (i = 1; i <= nrows; i++) {
        row = rows[i]
        split(row, part, FS)
        if (part[1] != group) {
            group = part[1]
            printf "\n%-34s %10s %10s %8s\n", group, "ours", "peer", "ratio"
        }
        ours = median(row FS "ours")
        printf "%s\n    {\"group\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", \"ours\": %.6g",
            (i > 1 ? "," : ""), part[1], part[2], unit[row], ours >json
        printf "  %-32s %10.4g", part[2], ours
        if (row in peer) {
            other = median(row FS peer[row])
            printf " %10.4g %8.3f  %s, peer: %s\n", other, ours / other,
                unit[row], peer[row]
            printf ", \"peer\": \"%s\", \"theirs\": %.6g, \"ratio\": %.4g",
                peer[row], other, ours / other >json
        } else
            printf " %10s %8s  %s\n", "-", "-", unit[row]
        printf "}" >json
    }
    printf "\n  ]\n}\n" >json
}
