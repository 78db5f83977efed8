/* Strided sections in an executable of clang's, whose descriptors do not tell
 * where an outer dimension with a stride begins: its name does, with -g. */
#include <stdio.h>
#include <string.h>

enum { ROWS = 8, COLUMNS = 12 };
static int m[ROWS][COLUMNS];

static void show(const char *what)
{
    printf("%s", what);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            if (m[i][j])
                printf(" %d,%d", i, j);
    puts("");
    memset(m, 0, sizeof m);
}

int main(int argc, char **argv)
{
    int two = argv[argc] == NULL ? 2 : 0;
#pragma omp target enter data map(alloc: m)
#pragma omp target map(present, alloc: m)
    for (int i = 0; i < ROWS * COLUMNS; i++)
        (&m[0][0])[i] = 1;
#pragma omp target update from(m[1:2][2:two:3])
    show("no stride:");
#pragma omp target update from(m[1:3:2][2:2:3])
    show("1:3:2:");
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "front")) {
#pragma omp target update from(m[two][1:3:2])
        show("two, 1:3:2:");
#pragma omp target update from(m[0][1:3:2])
        show("0, 1:3:2:");
    } else if (argc > 1) {
#pragma omp target update from(m[1:3:two][2:2:3])
        show("1:3:two:");
    } else {
#pragma omp target update from(m[1:4:2][2:2:3])
        show("1:4:2:");
    }
#pragma omp target exit data map(delete: m)
}
