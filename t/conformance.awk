# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# conformance.causes and conformance.tsv as a table on the terminal (page=0) or
# as doc/conformance.md (page=1). Exit status 1: a failure without a cause, or,
# of the whole suite (whole=yes), a cause without a failure.

BEGIN {
    FS = "\t"
    split("PASS FAIL SKIP NOCOMPILE", verdicts, " ")
}

# conformance.causes: device, test, cause
FNR == NR {
    if ($0 !~ /^#/ && ($1 == device || $1 == "all"))
        cause[$2] = $3
    next
}

{
    version = substr($2, 1, 3)
    language = $2 ~ /\.cpp$/ ? "C++" : "C"
    row = version " " language
    if (!(row in total))
        rows[++nrows] = row
    total[row]++
    count[row, $1]++
    all[language]++
    sum[language, $1]++
    verdict[$2] = $1
    reason[$2] = $3
    if ($1 != "PASS")
        failures[++nfailures] = $2
}

function line(name, n, key, table,    i, text) {
    text = sprintf(page ? "| %s | %d" : "%-10s %6d", name, n)
    for (i = 1; i <= 4; i++)
        text = text sprintf(page ? " | %d" : " %9d",
                            table[key, verdicts[i]])
    print text (page ? " |" : "")
}

function figures(    i) {
    if (page) {
        print "| tests | all | pass | fail | skipped by the test |" \
              " clang 22 refuses |"
        print "|---|---|---|---|---|---|"
    } else {
        printf "%-10s %6s %9s %9s %9s %9s\n", "tests", "all", "pass", "fail",
               "skipped", "refused"
    }
    for (i = 1; i <= nrows; i++)
        line(rows[i], total[rows[i]], rows[i], count)
    if (all["C"])
        line("all C", all["C"], "C", sum)
    if (all["C++"])
        line("all C++", all["C++"], "C++", sum)
}

function list(refused,    i, test) {
    print "\n| test | cause |\n|---|---|"
    for (i = 1; i <= nfailures; i++) {
        test = failures[i]
        if ((verdict[test] == "NOCOMPILE") != refused)
            continue
        printf "| `%s` | %s |\n", test,
               test in cause ? cause[test] : \
               refused ? reason[test] : "not known: " reason[test]
    }
}

function write_page() {
    print "# Conformance: OpenMP_VV\n"
    print "Made by `make check-vv VV=path VV_PAGE=doc/conformance.md`, on the " \
          (device == "host" ? "host device" : "emulated GPU") \
          (suite == "unknown" ? "" : ", with OpenMP_VV " suite) \
          ". Each test runs\nas `ompjit run` with the OpenMP version of" \
          " its folder and the environment that the suite gives it; it passes" \
          " when it exits\nwith 0 and does not say that it failed. LLVM 22's" \
          " own host plugin, with the same compiler and the same rule, passes" \
          " 423 of\nthe 483 C tests.\n"
    figures()
    print "\n## What fails, and why"
    list(0)
    print "\n## What clang 22 does not compile"
    print "\n`clang -fopenmp --offload-arch=sm_90` refuses these too, or does" \
          " not come to an end."
    list(1)
}

END {
    if (page)
        write_page()
    else
        figures()
    for (i = 1; i <= nfailures; i++)
        if (!(failures[i] in cause) && verdict[failures[i]] != "NOCOMPILE") {
            print "no cause known: " failures[i] ": " \
                  reason[failures[i]] >"/dev/stderr"
            bad = 1
        }
    for (test in cause)
        if (whole == "yes" && (!(test in verdict) || verdict[test] == "PASS")) {
            print "a cause, and no failure: " test >"/dev/stderr"
            bad = 1
        }
    exit bad
}
