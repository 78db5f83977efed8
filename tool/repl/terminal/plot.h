/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Numbers as a picture.
 */
#ifndef OMPJIT_REPL_PLOT_H
#define OMPJIT_REPL_PLOT_H

#include "base/base.h"

/* n points; x NULL: their indices, and the points are joined by lines. Points
 * that are not finite are left out. */
struct plot {
    const double *x, *y;
    size_t n;
};

/* Appends lines of braille, with the smallest and the largest values. False:
 * there is no point. */
bool plot_braille(const struct plot *p, ompjit__buf *out);
/* The same as a file of SVG. */
bool plot_svg(const struct plot *p, ompjit__buf *out);
/* And of PNG. */
bool plot_png(const struct plot *p, ompjit__buf *out);

#endif
