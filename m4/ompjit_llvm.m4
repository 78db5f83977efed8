# OMPJIT_LLVM: finds LLVM 22 and clang 22; sets LLVM_CPPFLAGS LLVM_LIBS
# LLVM_LDFLAGS CLANG LLVM_BINDIR LIBOMP.
AC_DEFUN([OMPJIT_LLVM], [
AS_CASE([$with_llvm],
    [auto|yes], [AC_PATH_PROGS([LLVM_CONFIG], [llvm-config-22 llvm-config], [no],
        [$PATH:/usr/lib/llvm-22/bin:/opt/llvm-22/bin])],
    [AS_IF([test -d "$with_llvm"], [LLVM_CONFIG=$with_llvm/bin/llvm-config],
        [LLVM_CONFIG=$with_llvm])])
AS_IF([test "x$LLVM_CONFIG" = xno || ! "$LLVM_CONFIG" --version >/dev/null 2>&1],
    [AC_MSG_ERROR([llvm-config of LLVM 22 not found; install llvm-22-dev or give --with-llvm=DIR])])
llvm_version=`$LLVM_CONFIG --version`
AS_CASE([$llvm_version], [22.*], [],
    [AC_MSG_ERROR([$LLVM_CONFIG is LLVM $llvm_version; LLVM 22 is needed])])
LLVM_BINDIR=`$LLVM_CONFIG --bindir`
LLVM_CPPFLAGS=`$LLVM_CONFIG --includedir`
LLVM_CPPFLAGS="-isystem $LLVM_CPPFLAGS"
llvm_libdir=`$LLVM_CONFIG --libdir`
llvm_components="nvptx native orcjit passes bitreader bitwriter irreader linker analysis ipo"
AS_IF([test "x$enable_shared_llvm" = xyes],
    [LLVM_LIBS="-L$llvm_libdir "`$LLVM_CONFIG --link-shared --libs $llvm_components`
     LLVM_LDFLAGS="-Wl,-rpath,$llvm_libdir"],
    [LLVM_LIBS="-L$llvm_libdir "`$LLVM_CONFIG --link-static --libs $llvm_components`" -Wl,--as-needed -lz -lzstd"
     LLVM_LDFLAGS="-Wl,--exclude-libs,ALL -Wl,--gc-sections"])
AC_PATH_PROG([CLANG], [clang-22], [$LLVM_BINDIR/clang], [$LLVM_BINDIR:$PATH])
AS_IF([! "$CLANG" --version 2>/dev/null | grep -q 'version 22'],
    [AC_MSG_ERROR([clang 22 not found beside $LLVM_CONFIG; install clang-22])])
CLANG_RESOURCE_DIR=`$CLANG -print-resource-dir`
LIBOMP=
for d in "$llvm_libdir" /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu; do
    AS_IF([test -z "$LIBOMP" && test -e "$d/libomp.so.5"], [LIBOMP=$d/libomp.so.5])
    AS_IF([test -z "$LIBOMP" && test -e "$d/libomp.so"], [LIBOMP=$d/libomp.so])
done
AS_IF([test -z "$LIBOMP"], [LIBOMP=libomp.so.5])
AC_SUBST([LLVM_BINDIR]) AC_SUBST([LLVM_CPPFLAGS]) AC_SUBST([LLVM_LIBS])
AC_SUBST([LLVM_LDFLAGS]) AC_SUBST([CLANG]) AC_SUBST([CLANG_RESOURCE_DIR]) AC_SUBST([LIBOMP])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_CLANG], ["$CLANG"], [clang found at configure time])
AC_DEFINE_UNQUOTED([OMPJIT_CONFIG_LIBOMP], ["$LIBOMP"], [libomp found at configure time])
])
