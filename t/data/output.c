/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device code that prints; with one argument it fails an assertion, with two it
 * meets a fatal error directive.
 */
#include <assert.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int x = argc;
#pragma omp target map(to : x)
    {
        printf("printed %d %s %g\n", x, "words", 0.5);
#pragma omp error at(execution) severity(warning) message("a warning")
        assert(x != 2);
        if (x == 3) {
#pragma omp error at(execution) severity(fatal) message("the end")
        }
    }
    printf("after\n");
}
