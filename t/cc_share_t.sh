#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Data regions in objects of ompjit cc share the program's storage with the host
# device where no program can tell, as with `ompjit run`: the profile counts what
# is copied. Where another object can tell, each gets its copy.
. "${srcdir:-.}/t/tap.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY
cached
export OMP_TARGET_OFFLOAD=mandatory OMPJIT_DEVICE=host
cd "$tmp" || exit 1
cc=$builddir/ompjit-cc
cxx=$builddir/ompjit-c++
case $builddir in
/*) ;;
*) fail "the build tree has no absolute name"; done_testing; exit ;;
esac

# copies: how many copies the last program's profile has
copies() {
    awk '/^copy/ {n += $2} END {print n + 0}' "$tmp/stderr"
}
# shares NAME OUTPUT COPIES PROGRAM: in auto memory; in separate memory it says
# the same
shares() {
    succeeds "$1" env OMPJIT_PROFILE=1 OMPJIT_HOST_MEMORY=auto "$4"
    is "$out" "$2" "  prints what it must"
    is "$(copies)" "$3" "  copies: $3"
    succeeds "  separate" env OMPJIT_HOST_MEMORY=separate "$4"
    is "$out" "$2" "  prints the same"
}

# ------------------------------------------------------------ nobody can tell
cat >region.c <<'END'
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
static double *x;
double *z;
int main(void)
{
    double *y = malloc(N * sizeof *y), sum = 0;
    x = malloc(N * sizeof *x), z = malloc(N * sizeof *z);
    for (int i = 0; i < N; i++)
        x[i] = i, z[i] = 1;
#pragma omp target data map(to: x[:N], z[:N]) map(from: y[:N])
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            y[i] = x[i] * 3 + z[i];
#ifdef LOOK
        LOOK;
#endif
    }
    for (int i = 0; i < N; i++)
        sum += y[i];
    printf("%.0f\n", sum);
    free(x), free(y), free(z);
    return 0;
}
END
cat >region.cpp <<'END'
#include <cstdio>
#include <vector>
static void run(std::vector<float> &v, float by)
{
    float *p = v.data();
    const int n = v.size();
#pragma omp target data map(tofrom : p[ : n])
    for (int k = 0; k < 2; k++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++)
            p[i] += by;
    }
}
int main()
{
    std::vector<float> v(1 << 16, 1.0f);
    auto add = [&](float by) { run(v, by); };
    add(2);
    std::printf("%g %g\n", v[0], v[(1 << 16) - 1]);
}
END
for way in "-O0" "-O2" "-O2 -g" "-O2 -fPIC" "-O2 -flto"; do
    # shellcheck disable=SC2086
    succeeds "C, $way" "$cc" $way -fopenmp region.c -o region
    shares "  the program" 6442418176 0 ./region
done
succeeds "C, two steps, the files saved" "$cc" -O2 -fopenmp -save-temps \
    -c region.c -o saved.o
succeeds "  and linked" "$cc" -fopenmp saved.o -o region
shares "  the program" 6442418176 0 ./region
succeeds "C++" "$cxx" -O2 -fopenmp region.cpp -o region
shares "  the program" "5 5" 0 ./region

# ---------------------------------------------------------- the source can tell
succeeds "the host writes in the region" env OMPJIT_EXPLAIN=1 "$cc" -O2 \
    -fopenmp -DLOOK='y[0] = 5, x[0] = 7' region.c -o region
like "$(cat "$tmp/stderr")" \
    '^ompjit: entry 5 of the 6 that main maps is copied: .*\(main\)$' "  told"
shares "  the program" 6442418176 1 ./region

# --------------------------------------------------------- another object can tell
# two NAME OUTPUT COPIES: one.c and two.c
two() {
    succeeds "$1" "$cc" -O2 -fopenmp one.c two.c -o two
    shares "  the program" "$2" "$3" ./two
}
# In all of them a kernel of one.c adds 1 to x, which is mapped.
cat >one.h <<'END'
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
double *x;
static void add(double *x)
{
#pragma omp target teams distribute parallel for
    for (int i = 0; i < N; i++)
        x[i] += 1;
}
END
cat >two.h <<'END'
#include <stdio.h>
extern double *x;
END
# one FUNCTION DECLARATIONS: a source that calls the function while x is mapped.
one() {
    cat one.h
    printf '%s\n' "$2"
    cat <<END
int main(void)
{
    x = calloc(N, sizeof *x);
#pragma omp target data map(tofrom: x[:N])
    {
        add(x);
        $1();
    }
    printf("%g\\n", x[0]);
    return 0;
}
END
}
one look 'void look(void);' >one.c
{
    cat two.h
    cat <<'END'
void look(void) { printf("%g ", x[0]); }
END
} >two.c
two "a function of another object reads" "0 1" 2
one look '__attribute__((weak)) void look(void) { }' >one.c
two "another object replaces a weak function" "0 1" 2
one other 'void other(void);
void look(void) { printf("%g ", x[0]); }' |
    sed 's/^double \*x/static double *x/' >one.c
echo 'void look(void); void other(void) { look(); }' >two.c
two "another object calls a function of this one" "0 1" 2
{
    cat one.h
    cat <<'END'
void at_end(void);
int main(void)
{
    x = calloc(N, sizeof *x);
    at_end();
#pragma omp target data map(tofrom: x[:N])
    {
        add(x);
        exit(0);
    }
    return 0;
}
END
} >one.c
{
    cat two.h
    cat <<'END'
#include <stdlib.h>
static void look(void) { printf("%g\n", x[0]); }
void at_end(void) { atexit(look); }
END
} >two.c
two "a handler of another object runs at exit" "0" 1
{
    cat one.h
    cat <<'END'
#pragma omp declare target
void keep(double *x);
void touch(void);
#pragma omp end declare target
int main(void)
{
    double seen, *x = calloc(N, sizeof *x);
#pragma omp target data map(tofrom: x[:N])
    {
#pragma omp target
        keep(x);
#pragma omp target update from(x[:N])
#pragma omp target
        touch();
        seen = x[0];
    }
    printf("%g %g\n", seen, x[0]);
    return 0;
}
END
} >one.c
{
    cat two.h
    cat <<'END'
#pragma omp declare target
double *kept;
void keep(double *x) { kept = x; }
void touch(void) { kept[0] += 1; }
#pragma omp end declare target
END
} >two.c
two "a function of another object writes on the device" "0 1" 3
# --------------------------------------------------- mapped until the program ends
# Behind main only handlers and destructors run, those of other objects too.
cat >until.cpp <<'END'
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
KIND double *x;
static void work(void)
{
#pragma omp target enter data map(to: x[:N])
#pragma omp target teams distribute parallel for
    for (int i = 0; i < N; i++)
        x[i] += 1;
}
int main()
{
    x = (double *)calloc(N, sizeof *x);
    work();
    puts("done");
    return 0;
}
END
cp until.cpp until.c
cat >end.cpp <<'END'
#include <stdio.h>
extern double *x;
static struct end { ~end() { printf("%g\n", x[5]); } } at_end;
END
succeeds "C++, mapped when main ends" "$cxx" -O2 -fopenmp -DKIND=static \
    until.cpp -o until
shares "  the program" "done" 0 ./until
succeeds "C++, a destructor of another object reads" "$cxx" -O2 -fopenmp -DKIND= \
    until.cpp end.cpp -o until
shares "  the program" "done
0" 1 ./until
# In C another object may call main.
succeeds "C, mapped when main ends" "$cc" -O2 -fopenmp -DKIND=static until.c \
    -o until
shares "  the program" "done" 1 ./until
# ------------------------------------------------------- two sources of one name
mkdir a b
sed 's/int main/int first/' region.c >a/region.c
sed 's/int main/int second/' region.c | sed 's/^double \*z/static double *z/' \
    >b/region.c
echo 'int first(void), second(void);
int main(void) { return first() + second(); }' >both.c
succeeds "two sources of one name" "$cc" -O2 -fopenmp a/region.c b/region.c \
    both.c -o both
succeeds "  the program" ./both
is "$out" "6442418176
6442418176" "  prints what it must"
done_testing
