# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rows "LINE\tSIZE\tOURS\tPEER\tUNIT", in order of sizes, to a table: the ratio, and
# the exponent with which ours has grown since the row before. PEER may be "-".
BEGIN { FS = "\t" }
$1 != line { printf "\n%-34s %9s %10s %10s %7s %8s\n", $1, "size", "ours", "peer",
                 "ratio", "exponent" }
{
    ratio = $4 == "-" || !($4 > 0) ? "-" : sprintf("%.2f", $3 / $4)
    exponent = $1 != line || !(before > 0) || !($3 > 0) ? "-" : \
        sprintf("%.2f", log($3 / before) / log($2 / size))
    printf "%-34s %9s %10.4g %10s %7s %8s  %s\n", "", $2, $3,
        $4 == "-" ? "-" : sprintf("%.4g", $4), ratio, exponent, $5
    line = $1; size = $2; before = $3
}
