# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs whose size is a number: awk -v what=WHAT -v n=N [-v called=K] -f make.awk
#
#   regions     n functions with a target region each, of which main calls K
#   arrays      a construct that maps n arrays
#   statements  a loop of n statements
#   accesses    a loop of n statements that each load from another place
#   serial      a region of n stores by one thread, and a parallel loop
#   parallel    a region of n parallel loops, with a store before each
function pragma(text) { print "#pragma omp target " text }

function regions(    i) {
    for (i = 0; i < n; i++) {
        printf "void f%d(int n, float a, const float *x, float *y)\n{\n", i
        pragma("teams distribute parallel for map(to:x[:n]) map(y[:n])")
        printf "    for (int i = 0; i < n; i++)\n" \
            "        y[i] += a * x[i] * %d + %d;\n}\n", i + 1, i
    }
    print "int main(void)\n{\n    float x[100], y[100];"
    print "    for (int i = 0; i < 100; i++)\n        x[i] = i, y[i] = 1;"
    for (i = 0; i < called; i++)
        printf "    f%d(100, 2, x, y);\n", i
    print "    printf(\"%g\\n\", y[7]);\n}"
}

function arrays(    i, maps) {
    print "int main(void)\n{\n    int s = 0;"
    for (i = 0; i < n; i++) {
        printf "    static int a%d[4];\n", i
        maps = maps " map(a" i "[0:4])"
    }
    pragma("map(s)" maps)
    print "    {"
    for (i = 0; i < n; i++)
        printf "        a%d[1] += %d;\n", i, i
    print "        s = 1;\n    }\n    printf(\"%d %d\\n\", s, a5[1]);\n}"
}

function statements(    i) {
    print "void f(int n, const float *x, float *y)\n{"
    pragma("teams distribute parallel for map(to:x[:n]) map(y[:n])")
    print "    for (int i = 0; i < n; i++) {\n        float a = x[i], b = y[i];"
    for (i = 0; i < n; i++)
        if (i % 2)
            printf "        a = a * b + %d.5f;\n", i
        else
            printf "        b = b * a - %d.25f;\n", i
    print "        y[i] = a + b;\n    }\n}\nint main(void) { return 0; }"
}

function accesses(    i) {
    print "void f(int n, const float *x, float *y)\n{"
    pragma("teams distribute parallel for map(to:x[:n]) map(y[:n])")
    print "    for (int i = 0; i < n; i++) {"
    for (i = 0; i < n; i++)
        printf "        y[i] += x[(i + %d) %% n] * %d.5f;\n", i, i
    print "    }\n}\nint main(void) { return 0; }"
}

function serial(    i) {
    print "void f(int n, const float *x, float *y)\n{"
    pragma("map(to:x[:n]) map(y[:n])")
    print "    {"
    for (i = 0; i < n; i++)
        printf "        y[%d] = y[%d] * x[%d] + %d;\n", i, int(i / 2), i, i
    print "#pragma omp parallel for\n        for (int i = 0; i < n; i++)\n" \
        "            y[i] += x[i];\n    }\n}\nint main(void) { return 0; }"
}

function parallel(    i) {
    print "void f(int n, const float *x, float *y)\n{"
    pragma("map(to:x[:n]) map(y[:n])")
    print "    {"
    for (i = 0; i < n; i++)
        printf "        y[%d] = 0;\n#pragma omp parallel for\n" \
            "        for (int i = 0; i < n; i++)\n" \
            "            y[i] += x[i] * %d;\n", i, i
    print "    }\n}\nint main(void) { return 0; }"
}

BEGIN {
    print "#include <stdio.h>"
    if (what == "regions") regions()
    else if (what == "arrays") arrays()
    else if (what == "accesses") accesses()
    else if (what == "serial") serial()
    else if (what == "parallel") parallel()
    else statements()
}
