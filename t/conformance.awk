# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# conformance.causes and conformance.tsv as a table on the terminal (page=0) or
# as doc/conformance.md (page=1). Exit status 1: a failure without a cause, one
# of the whole suite (whole=yes) that has a cause and passes, or a verdict that
# is another under another schedule.
#
# conformance.tsv: verdict, test, reason, schedule, seconds of processor time.
# The first schedule's tests make the tables; later ones are compared with it.

BEGIN {
    FS = "\t"
    split("PASS FAIL SKIP NOCOMPILE", verdicts, " ")
}

# conformance.causes: device, test, cause, and whether its verdict is chance
FNR == NR {
    if ($0 !~ /^#/ && ($1 == device || $1 == "all")) {
        cause[$2] = $3
        chance[$2] = $4 == "chance"
    }
    next
}

{
    if (!($4 in tests))
        schedules[++nschedules] = $4
    tests[$4]++
    by[$4, $1]++
    took[$4] += $5
}

$4 != schedules[1] {
    if ($1 != verdict[$2] && !chance[$2])
        differs[$4] = differs[$4] (differs[$4] ? ", " : "") "`" $2 "`: " $1 \
                      ($3 ? " (" $3 ")" : "")
    next
}

{
    version = substr($2, 1, 3)
    language = $2 ~ /\.cpp$/ ? "C++" : $2 ~ /\.F90$/ ? "Fortran" : "C"
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
    text = sprintf(page ? "| %s | %d" : "%-12s %6d", name, n)
    for (i = 1; i <= 4; i++)
        text = text sprintf(page ? " | %d" : " %9d",
                            table[key, verdicts[i]])
    print text (page ? " |" : "")
}

function figures(    i) {
    if (page) {
        print "| tests | all | pass | fail | skipped by the test |" \
              " the compiler refuses |"
        print "|---|---|---|---|---|---|"
    } else {
        printf "%-12s %6s %9s %9s %9s %9s\n", "tests", "all", "pass", "fail",
               "skipped", "refused"
    }
    for (i = 1; i <= nrows; i++)
        line(rows[i], total[rows[i]], rows[i], count)
    if (all["C"])
        line("all C", all["C"], "C", sum)
    if (all["C++"])
        line("all C++", all["C++"], "C++", sum)
    if (all["Fortran"])
        line("all Fortran", all["Fortran"], "Fortran", sum)
}

# What the schedules are, and the heads of their table's columns.
function schedules_are() {
    if (device == "host")
        print "\n## Built ahead of time\n\n" \
              "`exec`: what the compilers compile, as executables that" \
              " `ompjit exec` runs (`VV_SCHEDULES=\"host exec\"`).\n" \
              "clang 22's own driver builds C and C++ (`-O2 -fopenmp" \
              " --offload-arch=sm_90 -fopenmp-target-jit`), linked\nwith" \
              " LLVM's libomptarget. `ompjit fc` builds Fortran, because" \
              " flang's driver embeds no bitcode. `host` is\n`ompjit run`.\n\n" \
              "| way | pass | fail | skipped by the test |" \
              " processor seconds | verdicts that differ |\n" \
              "|---|---|---|---|---|---|"
    else
        print "\n## Schedules\n\n" \
              "The C and C++ tests that clang compiles were run in each of these" \
              " schedules of" \
              " the emulated GPU: `SLICE=n` lets a warp run n\ninstructions" \
              " before the next has its turn, `SEED=n` takes warps in random" \
              " order with random slices.\n\n" \
              "| schedule | pass | fail | skipped by the test |" \
              " processor seconds | verdicts that differ |\n" \
              "|---|---|---|---|---|---|"
}

# How each schedule went, and where its verdicts are not the first one's.
function compare(    i, s) {
    if (page)
        schedules_are()
    else
        print ""
    for (i = 1; i <= nschedules; i++) {
        s = schedules[i]
        printf page ? "| `%s%s` | %d | %d | %d | %d | %s |\n" : \
               "%s%-14s %5d pass %5d fail %5d skipped %6d s; other verdicts: %s\n",
               page && device == "ptx" ? "PTXI_" : "", s, by[s, "PASS"],
               by[s, "FAIL"], by[s, "SKIP"], took[s],
               i == 1 ? "-" : differs[s] ? differs[s] : "none"
        if (differs[s])
            bad = 1
    }
    for (s in chance)
        if (chance[s] && page)
            print "\nNot counted as different: `" s "`, whose verdict is" \
                  " chance. " cause[s]
}

# refused: 0 for tests that fail, else a pattern of the names of those that the
# compiler refuses
function list(refused,    i, test) {
    print "\n| test | cause |\n|---|---|"
    for (i = 1; i <= nfailures; i++) {
        test = failures[i]
        if ((verdict[test] == "NOCOMPILE") != (refused != 0) ||
            (refused && test !~ refused))
            continue
        printf "| `%s` | %s |\n", test,
               test in cause ? cause[test] : \
               refused ? reason[test] : "not known: " reason[test]
    }
}

function how() {
    if (device == "ptx") {
        print "Made by `make check-vv VV=path VV_DEVICE=ptx VV_PAGE=...`: the" \
              " tests that have target\nregions run as PTX on an" \
              " emulated GPU (`PTXI`), 4 teams of 32 threads where the program" \
              " says nothing,\nin the schedules below, of which the first" \
              " makes the tables. Programs that require unified shared" \
              " memory,\nwhich the emulated GPU has not, have no" \
              " device there: their regions run on the host.\n"
        return
    }
    print "Made by `make check-vv VV=path VV_PAGE=doc/conformance.md`, on the " \
          "host device" \
          (suite == "unknown" ? "" : ", with OpenMP_VV " suite) \
          ". Each test runs\nas `ompjit run` with the OpenMP version of" \
          " its folder and the environment that the suite gives it; it passes" \
          " when it exits\nwith 0 and does not say that it failed. LLVM 22's" \
          " own host plugin, with the same compiler and the same rule, passes" \
          " 423 of\nthe 483 C tests.\n"
}

function write_page() {
    print "# Conformance: OpenMP_VV" (device == "ptx" ? " as PTX" : "") "\n"
    how()
    figures()
    if (nschedules > 1)
        compare()
    print "\n## What fails, and why"
    list(0)
    print "\n## Tests that clang 22 does not compile"
    print "\n`clang -fopenmp --offload-arch=sm_90` refuses these too, or does" \
          " not come to an end."
    list("[.]c(pp)?$")
    if (!all["Fortran"])
        return
    print "\n## Tests that flang 22 does not compile"
    list("[.]F90$")
}

END {
    if (page)
        write_page()
    else {
        figures()
        if (nschedules > 1)
            compare()
    }
    for (i = 1; i <= nfailures; i++)
        if (!(failures[i] in cause) && verdict[failures[i]] != "NOCOMPILE") {
            print "no cause known: " failures[i] ": " \
                  reason[failures[i]] >"/dev/stderr"
            bad = 1
        }
    for (test in cause)
        if (whole == "yes" && !chance[test] &&
            (!(test in verdict) || verdict[test] == "PASS")) {
            print "a cause, and no failure: " test >"/dev/stderr"
            bad = 1
        }
    exit bad
}
