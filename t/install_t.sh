#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The library as other projects find it: installed into a prefix that is then
# moved, by make with pkg-config, CMake, and Meson.
. "${srcdir:-.}/t/tap.sh"
unset PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH DESTDIR MAKEFLAGS \
    MFLAGS MAKELEVEL CFLAGS LDFLAGS
export OMPJIT_DEVICE=host

if [ -n "${SANITIZER_REPORTS-}" ]; then
    skip_all "programs without sanitizers cannot use a library with them"
fi

prefix=$(sed -n 's/^prefix = //p' "$builddir/Makefile")
succeeds "make install" make -s -C "$builddir" install DESTDIR="$tmp/dest"
moved=$tmp/moved
mv "$tmp/dest$prefix" "$moved"
is "$(find "$tmp/dest" -type f)" "" "all of it is below the prefix"
libdir=$(cd "$moved" && find . -name ompjit.pc)
libdir=${libdir%/pkgconfig/*}
is "$(cd "$moved/$libdir" && grep -rlF "$prefix" pkgconfig cmake)" "" \
    "no file for developers names the prefix"

succeeds "the tool runs there" "$moved/bin/ompjit" run "$srcdir/examples/saxpy.c"
like "$out" '^saxpy: ok$' "  and computes"

# libomptarget, by its names.
succeeds "ompjit exec" "$moved/bin/ompjit" exec env
like "$out" "^LD_LIBRARY_PATH=$tmp/moved/[^:]*/ompjit$" "  finds the folder"
for name in $(cat "$builddir/libompjit/dropin/names"); do
    like "$(ldd "$moved/$libdir/ompjit/$name")" \
        "libompjit.so.0 => $tmp/moved/.*libompjit.so.0" "$name is this library"
done

succeeds "so does the compiler" "$moved/bin/ompjit-cc" -O2 -fopenmp \
    "$srcdir/examples/saxpy.c" -o "$tmp/saxpy" -lm
succeeds "  whose program runs" "$tmp/saxpy"
like "$out" '^saxpy: ok$' "  and computes"
like "$(ldd "$tmp/saxpy")" "libompjit-omptarget.so.0 => $moved/" \
    "  with the moved library"

# No clang but ours, where that is a part of the compiler.
if grep -q '^#define OMPJIT_CONFIG_CC1 1' "$builddir/config.h"; then
    cat >"$tmp/headers.c" <<'EOF'
#include <immintrin.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <tgmath.h>
int main(void)
{
    double x = 0;
#pragma omp target map(x)
    x = sqrt(omp_get_num_teams() + 15.0);
    printf("%g\n", x);
}
EOF
    sed 's/printf("%g.n", x)/std::cout << x << std::endl/
        s/<stdatomic.h>/<complex>/; s/<tgmath.h>/<iostream>/' \
        "$tmp/headers.c" >"$tmp/headers.cpp"
    for file in headers.c headers.cpp; do
        OMPJIT_CACHE=0 succeeds "$file" env -u OMPJIT_CLANG \
            "$moved/bin/ompjit" run -v "$tmp/$file"
        is "$out" 4 "  computes"
        like "$(cat "$tmp/stderr")" \
            "clang is $tmp.*/ompjitc; its headers are in $tmp.*/clang$" \
            "  by the installed front end, with the installed headers"
    done
    OMPJIT_COMPILER=inprocess OMPJIT_CACHE=0 succeeds \
        "in this process" env -u OMPJIT_CLANG \
        "$moved/bin/ompjit" run -v "$tmp/headers.c"
    like "$(cat "$tmp/stderr")" "clang is $tmp.*/ompjitc;" \
        "  the front end is a process all the same"
    rm -rf "$tmp/dest"
    succeeds "make install-strip" make -s -C "$builddir" install-strip \
        DESTDIR="$tmp/dest"
    size=$(du -sm --apparent-size "$tmp/dest" | cut -f 1)
    if [ "$size" -le 150 ]; then pass "all of it takes $size MB"
    else fail "all of it takes $size MB"; fi
    succeeds "make uninstall" make -s -C "$builddir" uninstall \
        DESTDIR="$tmp/dest"
    is "$(find "$tmp/dest" ! -type d)" "" "  leaves nothing"
    rm -rf "$tmp/dest"
fi

# A project of three build systems.
mkdir "$tmp/project"
cd "$tmp/project" || exit 1
cp "$srcdir/examples/readme.c" app.c
cat >Makefile <<'EOF'
CFLAGS = $(shell pkg-config --cflags ompjit)
LDLIBS = $(shell pkg-config --libs ompjit)
app: app.c
EOF
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.10)
project(app C CXX)
if(NOT WANTED)
    set(WANTED 0.1)
endif()
find_package(ompjit ${WANTED} REQUIRED)
find_package(ompjit)
message(STATUS "found ompjit ${ompjit_VERSION}")
add_executable(app app.c)
target_link_libraries(app PRIVATE ompjit::ompjit)
EOF
cat >meson.build <<'EOF'
project('app', 'c')
executable('app', 'app.c', dependencies: dependency('ompjit', version: '>=0.1'))
EOF

# runs NAME COMMAND...: the program, which prints what the README says.
runs() {
    succeeds "$@"
    is "$out" "12 24 36" "  and prints what it should"
}
# linked PROGRAM: the library that it is run with is the moved one.
linked() {
    like "$(ldd "$1")" "libompjit.so.0 => $tmp/.*/libompjit.so.0" \
        "  with the moved library"
}

# ------------------------------------------------------------ make, pkg-config

if ! lacks pkg-config "pkg-config"; then
    PKG_CONFIG_PATH=$moved/$libdir/pkgconfig
    export PKG_CONFIG_PATH
    is "$(pkg-config --modversion ompjit)" \
        "$(sed -n 's/^PACKAGE_VERSION = //p' "$builddir/Makefile")" \
        "pkg-config knows the version"
    succeeds "plain make" make -s app
    runs "  runs" env LD_LIBRARY_PATH="$moved/$libdir" ./app
fi

# ----------------------------------------------------------------------- CMake

# version WANTED: whether CMake takes this library for it
version() {
    cmake -S . -B "$tmp/version" -DCMAKE_PREFIX_PATH="$moved" -DWANTED="$1" \
        >"$tmp/cmake" 2>&1 && echo yes || echo no
    rm -rf "$tmp/version"
}
if ! lacks cmake "CMake"; then
    succeeds "CMake configures" cmake -S . -B "$tmp/cmake.build" \
        -DCMAKE_PREFIX_PATH="$moved"
    like "$out" 'found ompjit 0\.1\.[0-9]+$' "  with the version"
    succeeds "  builds" cmake --build "$tmp/cmake.build"
    linked "$tmp/cmake.build/app"
    runs "  runs" "$tmp/cmake.build/app"
    while read -r wanted answer; do
        is "$(version "$wanted")" "$answer" "  version $wanted: $answer"
    done <<EOF
0 yes
0.1 yes
0.1.0 yes
0.0 no
0.2 no
1 no
1.0 no
0.1;EXACT yes
0.1.7;EXACT no
0.1...0.3 yes
0.2...0.3 no
0.0...<0.1 no
EOF
    mv "$moved/$libdir/libompjit.so" "$moved/$libdir/hidden.so"
    is "$(version 0.1)" no "  without the library it is not found"
    like "$(cat "$tmp/cmake")" '/libompjit.so is$|/libompjit.so is missing' \
        "  and CMake says so"
    mv "$moved/$libdir/hidden.so" "$moved/$libdir/libompjit.so"
fi

# ----------------------------------------------------------------------- Meson

if ! lacks meson "Meson" && ! lacks ninja "Meson"; then
    succeeds "Meson configures" meson setup "$tmp/meson.build" .
    succeeds "  builds" meson compile -C "$tmp/meson.build"
    linked "$tmp/meson.build/app"
    runs "  runs" "$tmp/meson.build/app"
fi

# A folder of libraries two below the prefix, and one that is not below it.
for dirs in "lib/x86_64-linux-gnu:\${pcfiledir}/../../..:\${prefix}/lib/x86_64-linux-gnu" \
    "/elsewhere:/usr:/elsewhere"; do
    lib=${dirs%%:*}
    case $lib in /*) ;; *) lib=/usr/$lib ;; esac
    env prefix=/usr libdir="$lib" includedir=/usr/include version=1 soname=x \
        pkgconfigdir="$lib/pkgconfig" cmakedir="$lib/cmake/ompjit" \
        sh "$srcdir/packaging/fill.sh" "$srcdir/packaging/ompjit.pc.in" \
        >"$tmp/pc"
    is "$(sed -n 's/^prefix=//p; s/^libdir=//p' "$tmp/pc" | tr '\n' ':')" \
        "${dirs#*:}:" "libraries in $lib"
done
cd / || exit 1
done_testing
