#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ompjit cc and ompjit c++: command lines, objects and links. The library that
# programs are linked with is a stub here, which tells what is registered.
. "${srcdir:-.}/t/tap.sh"
unset TMPDIR MAKEFLAGS MFLAGS MAKELEVEL OMPJIT_CC_RPATH

# A tree as it would be installed, with the stub.
tree=$tmp/tree
tools=$tree/libexec/ompjit/clang-tools
mkdir -p "$tree/bin" "$tree/lib" "$tools" "$tmp/work" "$tmp/temporary"
cp "$builddir/ompjit" "$tree/bin/ompjit"
for name in ompjit-cc ompjit-c++; do ln -s ompjit "$tree/bin/$name"; done
for name in clang-linker-wrapper llvm-offload-binary; do
    ln -s ../../../bin/ompjit "$tools/$name"
done
cp "$builddir/clang-tools/register.o" "$builddir/clang-tools/start.o" "$tools"
ln -s "$(cd "$builddir" && pwd)/ompjitc" "$tree/libexec/ompjit/ompjitc"
"$CLANG" -shared -fPIC -Wl,-soname,libompjit-omptarget.so.0 \
    -I "$srcdir/libompjit" "$srcdir/t/cc_stub.c" \
    -o "$tree/lib/libompjit-omptarget.so.0" || exit 1
ln -s libompjit-omptarget.so.0 "$tree/lib/libompjit-omptarget.so"
cc=$tree/bin/ompjit-cc
cxx=$tree/bin/ompjit-c++
TMPDIR=$tmp/temporary
export TMPDIR
cd "$tmp/work" || exit 1

# source NAME FUNCTION N: FUNCTION returns N, by a target region
source() {
    cat >"$1" <<END
#ifdef __cplusplus
extern "C"
#endif
int $2(void)
{
    int x = 0;
#pragma omp target map(tofrom: x)
    x = $3;
    return x;
}
END
}
# registers PROGRAM IMAGES ENTRIES OUTPUT NAME
registers() {
    succeeds "$5" "$1"
    is "$out" "$4" "  runs"
    is "$(cat "$tmp/stderr")" "registered: $2 images, $3 entries
unregistered: 1" "  registers $2 images, $3 entries, and takes them back"
}
for n in 1 2 3 4; do source f$n.c f$n $n; done
cat >main.c <<'END'
#include <stdio.h>
int f1(void), f2(void);
int main(void)
{
    printf("%d %d\n", f1(), f2());
    return 0;
}
END

# ---------------------------------------------------------------- compile, link
succeeds "two objects by one command" "$cc" -O2 -fopenmp -c f1.c f2.c
succeeds "one with -o" "$cc" -fopenmp -c main.c -o m.o
like "$(readelf -SW f1.o)" '\.llvm\.offloading .* E ' \
    "an object has device code, which a link leaves out"
succeeds "a link of objects" "$cc" -fopenmp m.o f1.o f2.o -o objects
registers ./objects 2 2 "1 2" "  the program"
succeeds "a link that compiles" "$tree/bin/ompjit" cc -O1 -fopenmp main.c f1.c \
    f2.o -o mixed
registers ./mixed 2 2 "1 2" "  the program"
like "$(readelf -d mixed)" 'RUNPATH.*\['"$tree/lib\]" \
    "a program finds the library"
like "$(readelf -d mixed)" 'NEEDED.*\[libompjit-omptarget.so.0\]' "  by its name"
succeeds "OMPJIT_CC_RPATH=0" env OMPJIT_CC_RPATH=0 "$cc" -fopenmp m.o f1.o \
    f2.o -o norpath
is "$(readelf -d norpath | grep -c RUNPATH)" 0 "  leaves that to the user"
succeeds "a program without device code" "$cc" -fopenmp -x c - -o plain <<'END'
int main(void) { return 0; }
END
is "$(readelf -d plain | grep -c ompjit-omptarget)" 0 "  has no such library"
succeeds "a link without -fopenmp, as CMake writes it" "$cc" m.o f1.o f2.o \
    -o cmake_like
registers ./cmake_like 2 2 "1 2" "  the program"
for way in -O2 -E -S "-c -O1"; do
    # shellcheck disable=SC2086
    "$cc" $way main.c f1.c f2.c -o ours >ours.text 2>&1
    mv ours ours.file 2>/dev/null
    # shellcheck disable=SC2086
    "$CLANG" $way main.c f1.c f2.c -o ours >clangs.text 2>&1
    mv ours clangs.file 2>/dev/null
    is "$(cat ours.text)" "$(cat clangs.text)" "without -fopenmp, $way: as clang"
    for file in ours.file clangs.file; do
        [ ! -e $file ] || md5sum <$file >$file.sum
    done
    is "$(cat ours.file.sum 2>/dev/null)" "$(cat clangs.file.sum 2>/dev/null)" \
        "  the same file"
    rm -f ours.* clangs.*
done

# -------------------------------------------------- what makes something else
succeeds "-E" "$cc" -fopenmp -E f1.c
like "$out" '^#pragma omp target' "  is the source"
succeeds "-M" "$cc" -fopenmp -M f1.c
is "$out" "f1.o: f1.c" "  is the rule"
succeeds "-fsyntax-only" "$cc" -fopenmp -fsyntax-only f1.c
succeeds "-MMD -MF" "$cc" -fopenmp -MMD -MF f3.dep -MT f3 -c f3.c
is "$(cat f3.dep)" "f3: f3.c" "  is the rule of one compile"
succeeds "-S" "$cc" -O1 -fopenmp -S f1.c f2.c
succeeds "  assembled" "$cc" -fopenmp f1.s f2.s main.c -o assembled
registers ./assembled 2 2 "1 2" "  the program"
mkdir headers
echo 'static int two(void) { return 2; }' >headers/two.h
succeeds "a header precompiled" "$cc" -fopenmp -x c-header headers/two.h \
    -o headers/two.h.pch
like "$("$cc" -dumpversion)" '^22\.' "-dumpversion is clang's"
like "$("$cc" --version)" 'clang version 22\.' "--version, too"
like "$("$tree/bin/ompjit" help c++)" '^usage: ompjit c\+\+' "help is the tool's"

# -------------------------------------------------------------------- archives
"$cc" -fopenmp -c f3.c f4.c && ar rc libf.a f1.o f2.o f3.o f4.o &&
    ar rcT thin.a f1.o f2.o f3.o f4.o 2>/dev/null
for linker in bfd gold lld; do
    command -v ld.$linker >/dev/null || continue
    for way in libf.a thin.a "-L. -lf" "-L . -l f" "-L. -l:libf.a"; do
        # shellcheck disable=SC2086
        succeeds "ld.$linker, $way" "$cc" -fopenmp -fuse-ld=$linker m.o $way \
            -o archive
        registers ./archive 2 2 "1 2" "  the program"
    done
    succeeds "ld.$linker, all members" "$cc" -fopenmp -fuse-ld=$linker m.o \
        -Wl,--whole-archive libf.a -Wl,--no-whole-archive -o archive
    registers ./archive 4 4 "1 2" "  the program"
    succeeds "ld.$linker, unused sections left out" "$cc" -fopenmp \
        -fuse-ld=$linker -Wl,--gc-sections m.o f1.o f2.o -o archive
    registers ./archive 2 2 "1 2" "  the program"
done
succeeds "objects made one" "$cc" -fopenmp -r -nostdlib f1.o f2.o -o both.o
succeeds "  linked" "$cc" -fopenmp m.o both.o -o joined
registers ./joined 2 2 "1 2" "  the program"
succeeds "-flto" "$cc" -O2 -flto -fopenmp -c f1.c f2.c main.c
succeeds "  linked as objects" "$cc" -fopenmp main.o f1.o f2.o -o lto
registers ./lto 2 2 "1 2" "  the program"

# ------------------------------------------------------------ shared libraries
for n in 1 2; do
    mkdir same$n
    source same$n/kernel.c kernel $n
    succeeds "a shared library" "$cc" -fopenmp -shared -fPIC same$n/kernel.c \
        -o same$n.so
done
cat >load.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library[2];
    for (int i = 1; i < argc; i++) {
        library[i - 1] = dlopen(argv[i], RTLD_NOW);
        int (*kernel)(void) = library[i - 1]
                                  ? (int (*)(void))dlsym(library[i - 1], "kernel")
                                  : NULL;
        fprintf(stderr, "%d\n", kernel ? kernel() : -1);
    }
    dlclose(library[0]);
    fprintf(stderr, "closed\n");
    return 0;
}
END
succeeds "a program that loads them" "$cc" load.c -ldl -o load
succeeds "  runs" ./load ./same1.so ./same2.so
is "$(cat "$tmp/stderr")" "registered: 1 images, 1 entries
1
registered: 1 images, 1 entries
2
unregistered: 1
closed
unregistered: 1" "  each has its own range, until it is closed"

# ----------------------------------------------------------------- C++, names
cat >main.cpp <<'END'
#include <iostream>
#include <vector>
extern "C" int f1(void);
template <typename T> T twice(T x)
{
#pragma omp target map(tofrom: x)
    x += x;
    return x;
}
int main()
{
    std::vector<int> all{f1(), twice(21)};
    try {
        throw all[1];
    } catch (int n) {
        std::cout << all[0] << " " << n << std::endl;
    }
}
END
cp main.cpp main.cu
succeeds "C++ in a file of another ending" "$cxx" -x c++ -fopenmp main.cu \
    -x none f1.o -o cpp
registers ./cpp 2 2 "1 42" "  the program"
succeeds "C++ and C" "$cxx" -std=c++17 -O2 -fopenmp main.cpp f1.o -o cpp
registers ./cpp 2 2 "1 42" "  the program"
strange="a b'c\"d,e@f"
mkdir "$strange"
cp f1.c f2.c main.c "$strange"
succeeds "a folder with a strange name" "$cc" -fopenmp -I"$strange" \
    "$strange/main.c" "$strange/f1.c" f2.o -o "$strange/p q"
mv "$strange/p q" strange
registers ./strange 2 2 "1 2" "  the program"
printf '%s\n' '-fopenmp -DX="a \"b\""' "m.o 'f1.o'" '@more' >words
echo 'f2.o -o resp\onse' >more
succeeds "response files" "$cc" @words
registers ./response 2 2 "1 2" "  the program"
succeeds "a value that looks like a flag" "$cc" -fopenmp -c f1.c -MMD -MF -E

# ---------------------------------------------- flags that say how to offload
for flags in "-fopenmp-targets=nvptx64-nvidia-cuda" "--offload-arch=sm_70" \
    "-fopenmp-targets=nvptx64 -Xopenmp-target -march=sm_80" \
    "-fopenmp-targets=amdgcn-amd-amdhsa -Xopenmp-target=amdgcn-amd-amdhsa -march=gfx90a" \
    "-fopenmp-targets=x86_64-pc-linux-gnu" "-foffload=nvptx-none" \
    "-fiopenmp -fopenmp-targets=spir64" "-qopenmp" \
    "--offload-arch=native -foffload-lto" "-fopenmp=libomp -march=native" \
    "-fveclib=libmvec -D_FORTIFY_SOURCE=2 -fstack-protector-strong" \
    "-g -gdwarf-4 -O0 -fcf-protection=full" "-finstrument-functions" \
    "-fsanitize=undefined" \
    "-Xopenmp-target=nvptx64-nvidia-cuda -DDEVICE=1" "--coverage"; do
    # shellcheck disable=SC2086
    succeeds "$flags" "$cc" -O2 -Werror -fopenmp $flags -c f1.c -o flagged.o
    case $flags in
    *sanitize* | *coverage*) continue ;; # need libraries of clang's
    esac
    # shellcheck disable=SC2086
    succeeds "  linked" "$cc" -fopenmp $flags m.o flagged.o f2.o -o flagged
    registers ./flagged 2 2 "1 2" "  the program"
done
if "$CLANG" -O2 -fopenmp --offload-arch=sm_80 -foffload-lto -nogpulib \
    -nogpuinc --cuda-path=/nonexistent --cuda-feature=+ptx78 -c f1.c \
    -o clangs.o 2>/dev/null; then
    succeeds "an object of clang's, for another GPU" "$cc" -fopenmp m.o \
        clangs.o f2.o -o flagged
    registers ./flagged 2 2 "1 2" "  the program"
else
    skip "an object of clang's" "clang has no llvm-offload-binary"
fi
succeeds "-v" "$cc" -v -fopenmp m.o f1.o f2.o -o verbose
like "$(cat "$tmp/stderr")" '^ "[^"]*clang[^"]*" .*"-fopenmp"' "  shows clang"
like "$(cat "$tmp/stderr")" '^ "[^"]*ld" .*register.o"' "  and the linker"
succeeds "-###" "$cc" -### -fopenmp f1.c
like "$(cat "$tmp/stderr")" '"-fopenmp-is-target-device"' "  shows it all"

# ---------------------------------------------------------------------- faults
fails_with 'unknown argument.*-fno-such' "an unknown flag is clang's to refuse" \
    "$cc" -fopenmp -fno-such -c f1.c
fails_with 'no input files' "no words" "$cc"
fails_with 'no such file.*missing.c' "no file" "$cc" -fopenmp -c missing.c
echo 'int broken(void) { return x; }' >broken.c
fails_with "broken.c:1:.*undeclared identifier" "a mistake" \
    "$cc" -fopenmp -c broken.c
cat >device_only.c <<'END'
#pragma omp declare target
_Float16 *wrong(void) { __asm__("nosuch %0" : : "Yq"(1)); return 0; }
#pragma omp end declare target
END
fails_with 'device_only.c:2:' "a mistake of the device's half" \
    "$cc" -fopenmp -c device_only.c
fails_with "undefined reference to .f2'|undefined symbol: f2" "a missing function" \
    "$cc" -fopenmp m.o f1.o -o missing
fails_with 'linker command failed' "one beside an archive" \
    "$cc" -fopenmp m.o f1.o -L. -l:nothing.a -o missing
is "$(ls missing 2>&1 | grep -c '^missing$')" 0 "  leaves no program"
fails_with 'f1.c.*is not an executable file' "a clang that is none" \
    env OMPJIT_CLANG="$tmp/work/f1.c" "$cc" -c f1.c
fails_with 'spoilt/f1.o: device image, byte ' "an object whose device code is spoilt" sh -c '
    objcopy --dump-section .llvm.offloading=part f1.o /dev/null &&
    printf "\377\377" | dd of=part bs=1 seek=8 conv=notrunc 2>/dev/null &&
    objcopy --update-section .llvm.offloading=part f1.o spoilt/f1.o 2>/dev/null ||
    { mkdir -p spoilt && objcopy --update-section .llvm.offloading=part \
        f1.o spoilt/f1.o; }
    exec "$0" -fopenmp m.o spoilt/f1.o f2.o -o spoilt/p' "$cc"
mv "$tools" "$tools.away"
fails_with 'clang-linker-wrapper, which links device code, is not there' \
    "an incomplete installation" "$cc" -fopenmp -c f1.c
succeeds "  which compiles without OpenMP" "$cc" -c main.c
mv "$tools.away" "$tools"
mv "$tree/lib" "$tree/away"
fails_with 'libompjit-omptarget.so is neither in' "no library" \
    "$cc" -fopenmp m.o f1.o f2.o -o missing
mv "$tree/away" "$tree/lib"
mkfifo never.h
echo '#include "never.h"' >waits.c
cat f1.c >>waits.c
timeout 2 "$cc" -fopenmp -c f2.c waits.c 2>/dev/null
is $? 124 "a compile that is stopped"
is "$(ls -A "$TMPDIR")" "" "no files are left over"

# -------------------------------------------------------------- build systems
for n in 1 2 3 4 5 6 7 8; do source part$n.c p$n $n; done
cat >Makefile <<'END'
CFLAGS = -O1 -fopenmp -MMD
OBJECTS = all.o part1.o part2.o part3.o part4.o part5.o part6.o part7.o part8.o
all: $(OBJECTS)
	$(CC) $(CFLAGS) $(OBJECTS) -o $@
-include $(OBJECTS:.o=.d)
END
cat >all.c <<'END'
#include <stdio.h>
int p1(void), p2(void), p3(void), p4(void), p5(void), p6(void), p7(void), p8(void);
int main(void)
{
    printf("%d\n", p1() + p2() + p3() + p4() + p5() + p6() + p7() + p8());
}
END
succeeds "make -j" make -j4 CC="$tree/bin/ompjit cc"
registers ./all 8 8 36 "  the program"
sleep 1
source part5.c p5 50
succeeds "one file is changed" make CC="$tree/bin/ompjit cc"
is "$(printf '%s\n' "$out" | grep -c -- ' -c ')" 1 "  and one is compiled"
registers ./all 8 8 81 "  the program"

if ! lacks cmake "CMake"; then
    mkdir project
    cp main.cpp f1.c f3.c project
    cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(p C CXX)
find_package(OpenMP REQUIRED)
add_library(f STATIC f1.c f3.c)
target_link_libraries(f PRIVATE OpenMP::OpenMP_C)
add_executable(p main.cpp)
target_link_libraries(p PRIVATE f OpenMP::OpenMP_CXX)
END
    succeeds "CMake" cmake -S project -B project/build \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
    like "$out" 'C compiler identification is Clang 22' "  finds clang"
    succeeds "  builds" cmake --build project/build
    registers project/build/p 2 2 "1 42" "  the program"
fi
is "$(ls -A "$TMPDIR")" "" "no files are left over"
done_testing
