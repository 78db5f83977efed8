// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What device code prints, as C has it, and how many characters those are.
// expect: [     42][abc][3.25      |x|abcdef][%d]
// expect: [1099511627776 7 44 0x1.8p+1 inf -0042]
// expect: [                                                                                                                              1]
// expect: plain 7 %
// expect: puts
// expect: fputs; fwrite; fprintf 5; xy
// expect: 40 40 130 0 4 -1
#include <stdio.h>

int main(void)
{
    int n[6] = {0}, chars = 0;
#pragma omp target map(tofrom: n, chars)
    {
        int width = 7, three = 3;
        double x = 3.25, zero = chars;
        const char *volatile text = "abcdef";
        n[0] = printf("[%*d][%.*s][%-*.*f|%c|%s][%%d]\n", width, 42, three,
                      text, width + 3, three - 1, x, 'x', text);
        n[1] = printf("[%lld %zu %hhd %a %g %05d]\n", 1ll << 40, (size_t)7, 300,
                      3.0, 1 / zero, -42);
        n[2] = printf("[%127d]%n\n", 1, &chars);
        n[3] = printf("%s", "");
        printf("plain %d %%\n", width);
        puts("puts");
        fputs("fputs; ", stdout);
        n[4] = (int)fwrite("fwrite; ", 2, 4, stdout);
        fprintf(stdout, "fprintf %d; ", 5);
        putchar('x');
        fputc('y', stdout);
        putc('\n', stdout);
        n[5] = chars == 129 ? -1 : chars;
        fflush(stdout);
    }
    fflush(stdout);
    printf("%d %d %d %d %d %d\n", n[0], n[1], n[2], n[3], n[4], n[5]);
}
