/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A picture of pixels, and its file.
 */
#ifndef OMPJIT_REPL_PNG_H
#define OMPJIT_REPL_PNG_H

#include "base/base.h"

/* The same size for all: its rows fit into one block of the file. */
enum { PNG_WIDTH = 640, PNG_HEIGHT = 360 };
enum png_colour { PNG_WHITE, PNG_GRAY, PNG_BLACK, PNG_BLUE };

/* White where it is zeroed. */
struct png {
    unsigned char at[PNG_HEIGHT][PNG_WIDTH]; /* colours */
};

/* A square of 2 by 2 pixels; what is outside of the picture is left out. */
void png_dot(struct png *p, int x, int y, enum png_colour colour);
void png_line(struct png *p, int x, int y, int to_x, int to_y,
              enum png_colour colour);
/* A number (%g), whose letters are 5 by 7 pixels; `x` is its left end, and `y` its
 * top. */
void png_number(struct png *p, int x, int y, const char *number);
int png_number_width(const char *number);
/* Appends the file. */
void png_write(const struct png *p, ompjit__buf *out);

#endif
