# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OMPJIT_SANITIZE: --enable-asan, --enable-ubsan, --enable-tsan add the flags of
# the compiler's sanitizers; sets ompjit_sanitizers for the summary. What they
# find ends the program, else a test would pass over it.

# OMPJIT_SANITIZER(OPTION, NAME)
AC_DEFUN([OMPJIT_SANITIZER], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build with -fsanitize=$2])])
AS_IF([test "x$enable_$1" = xyes], [
    ompjit_sanitizers="$ompjit_sanitizers $2"
    ompjit_flags="-fsanitize=$2 -fno-sanitize-recover=$2"
    AS_IF([test $2 = thread], [ompjit_flags="-fsanitize=$2"])
    CFLAGS="$CFLAGS $ompjit_flags -fno-omit-frame-pointer"
    CXXFLAGS="$CXXFLAGS $ompjit_flags -fno-omit-frame-pointer"
    LDFLAGS="$LDFLAGS -fsanitize=$2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
        [AC_MSG_ERROR([--enable-$1: $CC cannot link with -fsanitize=$2])])
])
])

AC_DEFUN([OMPJIT_SANITIZE], [
ompjit_sanitizers=
OMPJIT_SANITIZER([asan], [address])
OMPJIT_SANITIZER([ubsan], [undefined])
OMPJIT_SANITIZER([tsan], [thread])
AS_IF([test "x$enable_asan$enable_tsan" = xyesyes],
    [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
])
