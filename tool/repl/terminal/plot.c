/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pictures of numbers: in braille, whose letters have two by four dots each,
 * as SVG, and as PNG.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/terminal/plot.h"
#include "tool/repl/terminal/png.h"

enum {
    COLUMNS = 60, /* letters */
    LINES = 12,
    ACROSS = COLUMNS * 2, /* dots */
    UP = LINES * 4,
    WIDTH = PNG_WIDTH, /* also of the SVG, with a border */
    HEIGHT = PNG_HEIGHT,
    BORDER = 40
};

struct range {
    double low, high;
};

static double x_of(const struct plot *p, size_t i)
{
    return p->x ? p->x[i] : (double)i;
}

static bool is_there(const struct plot *p, size_t i)
{
    return isfinite(x_of(p, i)) && isfinite(p->y[i]);
}

/* False: there is no point. */
static bool find_ranges(const struct plot *p, struct range *x, struct range *y)
{
    *x = *y = (struct range){INFINITY, -INFINITY};
    for (size_t i = 0; i < p->n; i++) {
        if (!is_there(p, i))
            continue;
        x->low = fmin(x->low, x_of(p, i));
        x->high = fmax(x->high, x_of(p, i));
        y->low = fmin(y->low, p->y[i]);
        y->high = fmax(y->high, p->y[i]);
    }
    return x->low <= x->high;
}

/* 0 to 1; halves first, since the difference may be infinite. */
static double part_of(struct range r, double value)
{
    double all = r.high / 2 - r.low / 2;
    return all > 0 ? (value / 2 - r.low / 2) / all : 0.5;
}

/* ----------------------------------------------------------------- braille */

struct dots {
    unsigned char at[LINES][COLUMNS];
};

/* From the lower left. */
static void set_dot(struct dots *d, int across, int up)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int down = UP - 1 - up;
    d->at[down / 4][across / 2] |= bits[down % 4][across % 2];
}

static void join(struct dots *d, int from_x, int from_y, int to_x, int to_y)
{
    int across = to_x - from_x, up = to_y - from_y;
    int steps = abs(across) > abs(up) ? abs(across) : abs(up);
    for (int i = 1; i < steps; i++)
        set_dot(d, from_x + across * i / steps, from_y + up * i / steps);
}

static void draw(const struct plot *p, struct range x, struct range y,
                 struct dots *d)
{
    int before_x = -1, before_y = -1;
    for (size_t i = 0; i < p->n; i++) {
        if (!is_there(p, i)) {
            before_x = -1;
            continue;
        }
        int across = (int)lround(part_of(x, x_of(p, i)) * (ACROSS - 1));
        int up = (int)lround(part_of(y, p->y[i]) * (UP - 1));
        set_dot(d, across, up);
        if (!p->x && before_x >= 0)
            join(d, before_x, before_y, across, up);
        before_x = across;
        before_y = up;
    }
}

/* U+2800 and the dots' bits, as UTF-8. */
static void add_line(ompjit__buf *out, const unsigned char *dots)
{
    for (int i = 0; i < COLUMNS; i++)
        ompjit__buf_printf(out, "\xe2%c%c", 0xa0 | dots[i] >> 6,
                           0x80 | (dots[i] & 0x3f));
}

bool plot_braille(const struct plot *p, ompjit__buf *out)
{
    struct range x, y;
    struct dots d = {0};
    char low[32], high[32];
    if (!find_ranges(p, &x, &y))
        return false;
    draw(p, x, y, &d);
    snprintf(low, sizeof low, "%.6g", y.low);
    snprintf(high, sizeof high, "%.6g", y.high);
    int width = (int)(strlen(low) > strlen(high) ? strlen(low) : strlen(high));
    for (int i = 0; i < LINES; i++) {
        const char *label = i == 0 ? high : i == LINES - 1 ? low : "";
        ompjit__buf_printf(out, "%*s |", width, label);
        add_line(out, d.at[i]);
        ompjit__buf_printf(out, "\n");
    }
    snprintf(low, sizeof low, "%.6g", x.low);
    snprintf(high, sizeof high, "%.6g", x.high);
    ompjit__buf_printf(out, "%*s  %-*s%s\n", width, "",
                       COLUMNS - (int)strlen(high), low, high);
    return true;
}

/* The place of a point in the pictures below, from the upper left. */
static double across_of(const struct plot *p, struct range x, size_t i)
{
    return BORDER + part_of(x, x_of(p, i)) * (WIDTH - 2 * BORDER);
}

static double down_of(const struct plot *p, struct range y, size_t i)
{
    return HEIGHT - BORDER - part_of(y, p->y[i]) * (HEIGHT - 2 * BORDER);
}

/* --------------------------------------------------------------------- SVG */

static void add_points(const struct plot *p, struct range x, struct range y,
                       ompjit__buf *out)
{
    bool open = false;
    for (size_t i = 0; i < p->n; i++) {
        if (!is_there(p, i)) {
            ompjit__buf_printf(out, "%s", open ? "\"/>\n" : "");
            open = false;
            continue;
        }
        double across = across_of(p, x, i), down = down_of(p, y, i);
        if (p->x)
            ompjit__buf_printf(out,
                               "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2\"/>\n",
                               across, down);
        else
            ompjit__buf_printf(out, "%s%.2f,%.2f",
                               open ? " " : "<polyline points=\"", across,
                               down);
        open = !p->x;
    }
    ompjit__buf_printf(out, "%s", open ? "\"/>\n" : "");
}

static void add_label(ompjit__buf *out, int x, int y, const char *anchor,
                      double value)
{
    ompjit__buf_printf(
        out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%.6g</text>\n", x, y,
        anchor, value);
}

bool plot_svg(const struct plot *p, ompjit__buf *out)
{
    struct range x, y;
    if (!find_ranges(p, &x, &y))
        return false;
    ompjit__buf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
        "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"gray\"/>\n"
        "<g %s=\"#1f77b4\"%s>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, BORDER, BORDER,
        HEIGHT - BORDER, WIDTH - BORDER, p->x ? "fill" : "stroke",
        p->x ? "" : " fill=\"none\"");
    add_points(p, x, y, out);
    ompjit__buf_printf(out, "</g>\n");
    add_label(out, BORDER, BORDER - 6, "middle", y.high);
    add_label(out, BORDER - 4, HEIGHT - BORDER, "end", y.low);
    add_label(out, BORDER, HEIGHT - BORDER + 16, "middle", x.low);
    add_label(out, WIDTH - BORDER, HEIGHT - BORDER + 16, "middle", x.high);
    ompjit__buf_printf(out, "</svg>\n");
    return true;
}

/* --------------------------------------------------------------------- PNG */

static void add_curve(const struct plot *p, struct range x, struct range y,
                      struct png *out)
{
    for (size_t i = 0; i < p->n; i++) {
        if (!is_there(p, i))
            continue;
        const size_t before = !p->x && i && is_there(p, i - 1) ? i - 1 : i;
        png_line(out, (int)across_of(p, x, before), (int)down_of(p, y, before),
                 (int)across_of(p, x, i), (int)down_of(p, y, i), PNG_BLUE);
    }
}

/* `right` and `top` are those of the number. */
static void add_number(struct png *out, int right, int top, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    int x = right - png_number_width(text);
    png_number(out, x > 0 ? x : 0, top, text);
}

bool plot_png(const struct plot *p, ompjit__buf *out)
{
    struct range x, y;
    struct png *picture = find_ranges(p, &x, &y)
                              ? calloc(1, sizeof *picture)
                              : NULL;
    if (!picture)
        return false;
    png_line(picture, BORDER, BORDER, BORDER, HEIGHT - BORDER, PNG_GRAY);
    png_line(picture, BORDER, HEIGHT - BORDER, WIDTH - BORDER,
             HEIGHT - BORDER, PNG_GRAY);
    add_curve(p, x, y, picture);
    add_number(picture, BORDER + 20, BORDER - 12, y.high);
    add_number(picture, BORDER - 4, HEIGHT - BORDER - 3, y.low);
    add_number(picture, BORDER + 20, HEIGHT - BORDER + 8, x.low);
    add_number(picture, WIDTH - BORDER, HEIGHT - BORDER + 8, x.high);
    png_write(picture, out);
    free(picture);
    return true;
}
