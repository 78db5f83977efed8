/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Source of two kernels: one whose loops only store, and one that reduces.
 */
#ifndef OMPJIT_T_AXPY_SUM_H
#define OMPJIT_T_AXPY_SUM_H

#define AXPY_AND_SUM                                                           \
    "void axpy(int n, double a, double *x, double *y) {\n"                     \
    "#pragma omp target teams distribute parallel for map(to: x[:n]) "         \
    "map(y[:n])\n"                                                             \
    "  for (int i = 0; i < n; i++) y[i] += a * x[i];\n"                        \
    "}\n"                                                                      \
    "void sum(int n, double *x, double *s) {\n"                                \
    "  double t = 0;\n"                                                        \
    "#pragma omp target teams distribute parallel for map(to: x[:n]) "         \
    "map(tofrom: t) reduction(+: t)\n"                                         \
    "  for (int i = 0; i < n; i++) t += x[i];\n"                               \
    "  *s = t;\n"                                                              \
    "}\n"

#endif
