# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OMPJIT_CUDA: finds a CUDA toolkit for the tests and benchmarks; the library
# itself opens what it needs at run time and is built without. Reads $with_cuda;
# sets CUDA_DIR, empty where there is none.
AC_DEFUN([OMPJIT_CUDA], [
AC_MSG_CHECKING([for a CUDA toolkit])
CUDA_DIR=
AS_CASE([$with_cuda],
    [no], [],
    [auto|yes], [
        for dir in "$CUDA_HOME" "$CUDA_PATH" /usr/local/cuda /opt/cuda; do
            AS_IF([test -z "$CUDA_DIR" && test -n "$dir" && test -x "$dir/bin/ptxas"],
                [CUDA_DIR=$dir])
        done],
    [AS_IF([test -x "$with_cuda/bin/ptxas"], [CUDA_DIR=$with_cuda])])
AC_MSG_RESULT([${CUDA_DIR:-no}])
AS_IF([test -z "$CUDA_DIR" && test "x$with_cuda" != xauto && test "x$with_cuda" != xno],
    [AC_MSG_ERROR([--with-cuda=$with_cuda: no CUDA toolkit (bin/ptxas) there])])
AC_SUBST([CUDA_DIR])
])
