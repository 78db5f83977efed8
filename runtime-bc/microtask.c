/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls of outlined regions with any number of arguments, for modules that the
 * pipeline has not given their own ompjit_invoke
 * (libompjit/passes/execution/region_invoke.c).
 */
#include "microtask.h"

/* A0..A64: 0 to 64 arguments, each list made from the one before. */
#define OMPJIT_MICROTASK_MAX 64
#define MT_P0
#define MT_A0
#define MT_P1 MT_P0, void *
#define MT_A1 MT_A0, args[0]
#define MT_P2 MT_P1, void *
#define MT_A2 MT_A1, args[1]
#define MT_P3 MT_P2, void *
#define MT_A3 MT_A2, args[2]
#define MT_P4 MT_P3, void *
#define MT_A4 MT_A3, args[3]
#define MT_P5 MT_P4, void *
#define MT_A5 MT_A4, args[4]
#define MT_P6 MT_P5, void *
#define MT_A6 MT_A5, args[5]
#define MT_P7 MT_P6, void *
#define MT_A7 MT_A6, args[6]
#define MT_P8 MT_P7, void *
#define MT_A8 MT_A7, args[7]
#define MT_P9 MT_P8, void *
#define MT_A9 MT_A8, args[8]
#define MT_P10 MT_P9, void *
#define MT_A10 MT_A9, args[9]
#define MT_P11 MT_P10, void *
#define MT_A11 MT_A10, args[10]
#define MT_P12 MT_P11, void *
#define MT_A12 MT_A11, args[11]
#define MT_P13 MT_P12, void *
#define MT_A13 MT_A12, args[12]
#define MT_P14 MT_P13, void *
#define MT_A14 MT_A13, args[13]
#define MT_P15 MT_P14, void *
#define MT_A15 MT_A14, args[14]
#define MT_P16 MT_P15, void *
#define MT_A16 MT_A15, args[15]
#define MT_P17 MT_P16, void *
#define MT_A17 MT_A16, args[16]
#define MT_P18 MT_P17, void *
#define MT_A18 MT_A17, args[17]
#define MT_P19 MT_P18, void *
#define MT_A19 MT_A18, args[18]
#define MT_P20 MT_P19, void *
#define MT_A20 MT_A19, args[19]
#define MT_P21 MT_P20, void *
#define MT_A21 MT_A20, args[20]
#define MT_P22 MT_P21, void *
#define MT_A22 MT_A21, args[21]
#define MT_P23 MT_P22, void *
#define MT_A23 MT_A22, args[22]
#define MT_P24 MT_P23, void *
#define MT_A24 MT_A23, args[23]
#define MT_P25 MT_P24, void *
#define MT_A25 MT_A24, args[24]
#define MT_P26 MT_P25, void *
#define MT_A26 MT_A25, args[25]
#define MT_P27 MT_P26, void *
#define MT_A27 MT_A26, args[26]
#define MT_P28 MT_P27, void *
#define MT_A28 MT_A27, args[27]
#define MT_P29 MT_P28, void *
#define MT_A29 MT_A28, args[28]
#define MT_P30 MT_P29, void *
#define MT_A30 MT_A29, args[29]
#define MT_P31 MT_P30, void *
#define MT_A31 MT_A30, args[30]
#define MT_P32 MT_P31, void *
#define MT_A32 MT_A31, args[31]
#define MT_P33 MT_P32, void *
#define MT_A33 MT_A32, args[32]
#define MT_P34 MT_P33, void *
#define MT_A34 MT_A33, args[33]
#define MT_P35 MT_P34, void *
#define MT_A35 MT_A34, args[34]
#define MT_P36 MT_P35, void *
#define MT_A36 MT_A35, args[35]
#define MT_P37 MT_P36, void *
#define MT_A37 MT_A36, args[36]
#define MT_P38 MT_P37, void *
#define MT_A38 MT_A37, args[37]
#define MT_P39 MT_P38, void *
#define MT_A39 MT_A38, args[38]
#define MT_P40 MT_P39, void *
#define MT_A40 MT_A39, args[39]
#define MT_P41 MT_P40, void *
#define MT_A41 MT_A40, args[40]
#define MT_P42 MT_P41, void *
#define MT_A42 MT_A41, args[41]
#define MT_P43 MT_P42, void *
#define MT_A43 MT_A42, args[42]
#define MT_P44 MT_P43, void *
#define MT_A44 MT_A43, args[43]
#define MT_P45 MT_P44, void *
#define MT_A45 MT_A44, args[44]
#define MT_P46 MT_P45, void *
#define MT_A46 MT_A45, args[45]
#define MT_P47 MT_P46, void *
#define MT_A47 MT_A46, args[46]
#define MT_P48 MT_P47, void *
#define MT_A48 MT_A47, args[47]
#define MT_P49 MT_P48, void *
#define MT_A49 MT_A48, args[48]
#define MT_P50 MT_P49, void *
#define MT_A50 MT_A49, args[49]
#define MT_P51 MT_P50, void *
#define MT_A51 MT_A50, args[50]
#define MT_P52 MT_P51, void *
#define MT_A52 MT_A51, args[51]
#define MT_P53 MT_P52, void *
#define MT_A53 MT_A52, args[52]
#define MT_P54 MT_P53, void *
#define MT_A54 MT_A53, args[53]
#define MT_P55 MT_P54, void *
#define MT_A55 MT_A54, args[54]
#define MT_P56 MT_P55, void *
#define MT_A56 MT_A55, args[55]
#define MT_P57 MT_P56, void *
#define MT_A57 MT_A56, args[56]
#define MT_P58 MT_P57, void *
#define MT_A58 MT_A57, args[57]
#define MT_P59 MT_P58, void *
#define MT_A59 MT_A58, args[58]
#define MT_P60 MT_P59, void *
#define MT_A60 MT_A59, args[59]
#define MT_P61 MT_P60, void *
#define MT_A61 MT_A60, args[60]
#define MT_P62 MT_P61, void *
#define MT_A62 MT_A61, args[61]
#define MT_P63 MT_P62, void *
#define MT_A63 MT_A62, args[62]
#define MT_P64 MT_P63, void *
#define MT_A64 MT_A63, args[63]

#define MT_CASE(n)                                                             \
    case n:                                                                    \
        ((void (*)(int32_t *, int32_t * MT_P##n))fn)(gtid, zero MT_A##n);    \
        return;

WEAK void ompjit_invoke(void *fn, int32_t *gtid, int32_t *zero, void **args,
                        int64_t nargs)
{
    switch (nargs) {
    MT_CASE(0) MT_CASE(1) MT_CASE(2) MT_CASE(3)
    MT_CASE(4) MT_CASE(5) MT_CASE(6) MT_CASE(7)
    MT_CASE(8) MT_CASE(9) MT_CASE(10) MT_CASE(11)
    MT_CASE(12) MT_CASE(13) MT_CASE(14) MT_CASE(15)
    MT_CASE(16) MT_CASE(17) MT_CASE(18) MT_CASE(19)
    MT_CASE(20) MT_CASE(21) MT_CASE(22) MT_CASE(23)
    MT_CASE(24) MT_CASE(25) MT_CASE(26) MT_CASE(27)
    MT_CASE(28) MT_CASE(29) MT_CASE(30) MT_CASE(31)
    MT_CASE(32) MT_CASE(33) MT_CASE(34) MT_CASE(35)
    MT_CASE(36) MT_CASE(37) MT_CASE(38) MT_CASE(39)
    MT_CASE(40) MT_CASE(41) MT_CASE(42) MT_CASE(43)
    MT_CASE(44) MT_CASE(45) MT_CASE(46) MT_CASE(47)
    MT_CASE(48) MT_CASE(49) MT_CASE(50) MT_CASE(51)
    MT_CASE(52) MT_CASE(53) MT_CASE(54) MT_CASE(55)
    MT_CASE(56) MT_CASE(57) MT_CASE(58) MT_CASE(59)
    MT_CASE(60) MT_CASE(61) MT_CASE(62) MT_CASE(63)
    MT_CASE(64)
    }
    plat_fail("a parallel region has more than 64 arguments");
}
