# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OMPJIT_LLVM: finds LLVM 22, clang 22 and LLVM's OpenMP runtime. Reads
# $with_llvm, $enable_shared_llvm and $enable_static_clang; sets LLVM_CPPFLAGS
# LLVM_LIBS LLVM_LDFLAGS LLVM_LIBDIR LLVM_BINDIR LLVM_TEST_LIBS CLANG CLANG_RESOURCE_DIR
# CLANG_LIBS CLANG_LDFLAGS LIBOMP RT_CPUS.

# OMPJIT_LLVM_CONFIG: llvm-config, by the order user's choice, PATH, known places.
AC_DEFUN([OMPJIT_LLVM_CONFIG], [
AS_CASE([$with_llvm],
    [no], [AC_MSG_ERROR([libompjit is built on LLVM 22; --without-llvm cannot be])],
    [auto|yes], [AC_PATH_PROGS([LLVM_CONFIG], [llvm-config-22 llvm-config], [no],
        [$PATH:/usr/lib/llvm-22/bin:/opt/llvm-22/bin:/opt/homebrew/opt/llvm@22/bin])],
    [AS_IF([test -d "$with_llvm"], [LLVM_CONFIG=$with_llvm/bin/llvm-config],
        [LLVM_CONFIG=$with_llvm])])
AS_IF([test "x$LLVM_CONFIG" = xno || ! "$LLVM_CONFIG" --version >/dev/null 2>&1],
    [AC_MSG_ERROR([llvm-config of LLVM 22 not found; install llvm-22-dev or give --with-llvm=DIR])])
llvm_version=`$LLVM_CONFIG --version`
AS_CASE([$llvm_version], [22.*], [],
    [AC_MSG_ERROR([$LLVM_CONFIG is LLVM $llvm_version; LLVM 22 is needed])])
])

# OMPJIT_CPU(NAME, LLVM's component, VARIABLE): a row of libompjit/base/cpu.def.
# This host's is needed; others serve host objects that run elsewhere.
AC_DEFUN([OMPJIT_CPU], [
have=0
AS_IF([test "$host_cpu" = $1], [have=1],
    [test "x$enable_cross_objects" != xno], [
        AS_CASE([" `$LLVM_CONFIG --targets-built | tr A-Z a-z` "],
            [*" $2 "*], [have=1],
            [AS_IF([test "x$enable_cross_objects" = xyes], [AC_MSG_ERROR(
                [--enable-cross-objects: LLVM was built without $2])])])])
AS_IF([test $have = 1], [
    llvm_components="$llvm_components $2"
    RT_CPUS="$RT_CPUS $1"
])
AC_DEFINE_UNQUOTED([$3], [$have], [the back end for $1 is there])
])

# OMPJIT_LLVM_LINK: static libraries with hidden symbols, or the shared one.
# Of LLVM's system libraries only what the used components need is linked, so
# that neither z3 nor libxml2 has to be there.
AC_DEFUN([OMPJIT_LLVM_LINK], [
LIBSTDCXX=-lstdc++
llvm_libdir=`$LLVM_CONFIG --libdir`
llvm_components="nvptx orcjit passes bitreader bitwriter irreader linker analysis ipo"
RT_CPUS=
OMPJIT_CPU([x86_64], [x86], [OMPJIT_CONFIG_X86_64])
OMPJIT_CPU([aarch64], [aarch64], [OMPJIT_CONFIG_AARCH64])
AS_CASE([" $RT_CPUS "], [*" $host_cpu "*], [],
    [AC_MSG_ERROR([the host device knows x86_64 and aarch64, not $host_cpu])])
AC_SUBST([RT_CPUS])
AS_IF([test "x$enable_shared_llvm" = xyes], [
    LLVM_LIBS=`$LLVM_CONFIG --link-shared --libs $llvm_components 2>/dev/null`
    AS_IF([test -z "$LLVM_LIBS"],
        [AC_MSG_ERROR([--enable-shared-llvm: no shared libLLVM in $llvm_libdir])])
    LLVM_LIBS="-L$llvm_libdir $LLVM_LIBS"
    LLVM_LDFLAGS="-Wl,-rpath,$llvm_libdir"
    LLVM_TEST_LIBS=$LLVM_LIBS
    DIGEST_LIBS="$LLVM_LIBS $LLVM_LDFLAGS"
], [
    LLVM_LIBS=`$LLVM_CONFIG --link-static --libs $llvm_components 2>/dev/null`
    AS_IF([test -z "$LLVM_LIBS"], [AC_MSG_ERROR([no static LLVM libraries in
        $llvm_libdir; install llvm-22-dev or give --enable-shared-llvm])])
    AC_CHECK_LIB([z], [inflate], [:],
        [AC_MSG_ERROR([LLVM needs zlib; install zlib1g-dev])], [-lm])
    AC_CHECK_LIB([zstd], [ZSTD_decompress], [:],
        [AC_MSG_ERROR([LLVM needs libzstd; install libzstd-dev])], [-lm])
    DIGEST_LIBS="-L$llvm_libdir -lLLVMSupport"
    LLVM_LIBS="-L$llvm_libdir $LLVM_LIBS -Wl,--as-needed -lz -lzstd"
    LLVM_LDFLAGS="-Wl,--gc-sections"
    LLVM_TEST_LIBS=
    OMPJIT_FAST_START
])
])

# OMPJIT_SHARED_FLAG(VARIABLE, WHAT, FLAG, FLAG IN MAKE): appends it where a
# shared library links with it.
AC_DEFUN([OMPJIT_SHARED_FLAG], [
AC_MSG_CHECKING([for $2])
ompjit_saved_ldflags=$LDFLAGS ompjit_saved_cflags=$CFLAGS
CFLAGS="$CFLAGS -fPIC" LDFLAGS="$LDFLAGS -shared $3"
AC_LINK_IFELSE([AC_LANG_SOURCE([[extern int x; int *p = &x; int x = 1;]])],
    [$1="$$1 $4"; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
LDFLAGS=$ompjit_saved_ldflags CFLAGS=$ompjit_saved_cflags
])

# OMPJIT_WAITING(VARIABLE): LLVM's and clang's constructors run when they are
# asked to.
AC_DEFUN([OMPJIT_WAITING], [
OMPJIT_SHARED_FLAG([$1], [constructors that wait],
    [-Wl,-T,$srcdir/libompjit/llvm/start.ld],
    [-Wl,-T,\$(top_srcdir)/libompjit/llvm/start.ld])
])

# OMPJIT_FAST_START: what makes a process start fast that LLVM is linked to:
# its constructors run later, its relocations are packed, and the 2,000 symbols
# that it takes from libstdc++ are not looked up.
AC_DEFUN([OMPJIT_FAST_START], [
OMPJIT_WAITING([LLVM_LDFLAGS])
OMPJIT_SHARED_FLAG([LLVM_LDFLAGS], [packed relative relocations],
    [-Wl,-z,pack-relative-relocs], [-Wl,-z,pack-relative-relocs])
ompjit_stdcxx=
OMPJIT_SHARED_FLAG([ompjit_stdcxx], [a static libstdc++],
    [-Wl,--whole-archive,-l:libstdc++.a,--no-whole-archive],
    [-Wl,-l:libstdc++.a])
AS_IF([test -n "$ompjit_stdcxx"], [LIBSTDCXX=$ompjit_stdcxx])
])

# OMPJIT_ORDER: the functions of LLVM's and clang's static libraries that most
# compiles use stand next to each other. Only where the linker is GNU's: LLVM's
# takes half a minute over so long a script.
AC_DEFUN([OMPJIT_ORDER], [
AC_MSG_CHECKING([whether LLVM's functions can be ordered])
ordered=no
AS_IF([test "x$cross_compiling" != xyes && test "x$enable_shared_llvm" != xyes &&
    $CC $LDFLAGS -Wl,--version 2>/dev/null | grep -q '^GNU ld'],
    [ordered=yes])
AC_MSG_RESULT([$ordered])
AM_CONDITIONAL([ORDERED], [test $ordered = yes])
LLVM_LIBDIR=$llvm_libdir
AC_SUBST([LLVM_LIBDIR])
])

# OMPJIT_CLANG: the C front end. It runs at run time too: `clang` of the library's
# options and OMPJIT_CLANG in the environment win over what is found here.
AC_DEFUN([OMPJIT_CLANG], [
AC_ARG_VAR([CLANG], [clang 22, the front end for C and C++])
AC_PATH_PROGS([CLANG], [clang-22 clang], [$LLVM_BINDIR/clang], [$LLVM_BINDIR:$PATH])
AS_IF([! "$CLANG" --version 2>/dev/null | grep -q 'version 22'],
    [AC_MSG_ERROR([clang 22 not found beside $LLVM_CONFIG; install clang-22])])
CLANG_RESOURCE_DIR=`$CLANG -print-resource-dir`
])

# OMPJIT_STATIC_CLANG: clang's front end for ompjitc, from static libraries of
# the same LLVM. Of LLVM's that clang needs Polly is left out (cc1.cc).
AC_DEFUN([OMPJIT_STATIC_CLANG], [
CLANG_LIBS= CLANG_LDFLAGS= static_clang=no
AS_IF([test "x$enable_static_clang" != xno && test "x$enable_shared_llvm" != xyes], [
    for lib in Frontend CodeGen Driver Options Serialization Parse Sema \
        APINotes Edit Analysis AnalysisLifetimeSafety ASTMatchers AST Lex \
        Support Basic; do
        CLANG_LIBS="$CLANG_LIBS -lclang$lib"
    done
    clang_llvm=`$LLVM_CONFIG --link-static --libs coverage frontenddriver \
        frontendhlsl frontendoffloading frontendopenmp hipstdpar lto option \
        profiledata windowsdriver 2>/dev/null | sed 's/-lPolly[[A-Z]]*//g'`
    CLANG_LIBS="-L$llvm_libdir -Wl,--start-group $CLANG_LIBS -Wl,--end-group $clang_llvm -lz -lzstd"
    AC_MSG_CHECKING([for clang's static libraries])
    AC_LANG_PUSH([C++])
    ompjit_saved_cppflags=$CPPFLAGS ompjit_saved_libs=$LIBS
    CPPFLAGS="$CPPFLAGS $LLVM_CPPFLAGS" LIBS="$CLANG_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <clang/Basic/Stack.h>
        #include <clang/Basic/Version.h>]],
        [[clang::noteBottomOfStack();
          return clang::getClangFullVersion().empty();]])],
        [static_clang=yes], [CLANG_LIBS=])
    CPPFLAGS=$ompjit_saved_cppflags LIBS=$ompjit_saved_libs
    AC_LANG_POP([C++])
    AC_MSG_RESULT([$static_clang])
    AS_IF([test "x$enable_static_clang$static_clang" = xyesno],
        [AC_MSG_ERROR([--enable-static-clang: install libclang-22-dev])])
])
for flag in -no-pie "-XCClinker -static-libstdc++" "-XCClinker -static-libgcc"; do
    AC_MSG_CHECKING([for ${flag@%:@-XCClinker }])
    ompjit_saved_ldflags=$LDFLAGS LDFLAGS="$LDFLAGS ${flag@%:@-XCClinker }"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [CLANG_LDFLAGS="$CLANG_LDFLAGS $flag"; AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])])
    LDFLAGS=$ompjit_saved_ldflags
done
OMPJIT_WAITING([CLANG_LDFLAGS])
AM_CONDITIONAL([STATIC_CLANG], [test "$static_clang" = yes])
AS_IF([test "$static_clang" = yes], [AC_DEFINE([OMPJIT_CONFIG_CC1], [1],
    [clang's front end is a part of ompjitc])])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_RESOURCES], ["$CLANG_RESOURCE_DIR"],
    [clang's own headers, found at configure time])
AC_SUBST([CLANG_LIBS]) AC_SUBST([CLANG_LDFLAGS])
])

# OMPJIT_LIBOMP: the host device's threads.
AC_DEFUN([OMPJIT_LIBOMP], [
AC_MSG_CHECKING([for LLVM's OpenMP runtime])
LIBOMP=
AS_IF([test "x$cross_compiling" != xyes], [
    for dir in "$llvm_libdir" "/usr/lib/$host_cpu-linux-gnu" /usr/lib64; do
        for lib in libomp.so.5 libomp.so; do
            AS_IF([test -z "$LIBOMP" && test -e "$dir/$lib"],
                [LIBOMP=$dir/$lib])
        done
    done
])
AC_MSG_RESULT([${LIBOMP:-libomp.so.5 will be looked for at run time}])
: ${LIBOMP:=libomp.so.5}
])

AC_DEFUN([OMPJIT_LLVM], [
OMPJIT_LLVM_CONFIG
LLVM_BINDIR=`$LLVM_CONFIG --bindir`
LLVM_CPPFLAGS="-isystem "`$LLVM_CONFIG --includedir`
OMPJIT_LLVM_LINK
OMPJIT_ORDER
OMPJIT_CLANG
OMPJIT_STATIC_CLANG
OMPJIT_LIBOMP
AC_SUBST([LLVM_BINDIR]) AC_SUBST([LLVM_CPPFLAGS]) AC_SUBST([LLVM_LIBS]) AC_SUBST([DIGEST_LIBS])
AC_SUBST([LLVM_LDFLAGS]) AC_SUBST([LIBSTDCXX]) AC_SUBST([LLVM_TEST_LIBS]) AC_SUBST([CLANG_RESOURCE_DIR]) AC_SUBST([LIBOMP])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_LLVM], ["$llvm_version"], [LLVM's version])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_TRIPLE], ["`$LLVM_CONFIG --host-target`"], [the triple of this machine's programs])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_CLANG], ["$CLANG"], [clang found at configure time])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_LIBOMP], ["$LIBOMP"], [libomp found at configure time])
])
