/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * PNG (ISO/IEC 15948): four colours, two bits a pixel, and one block of zlib's
 * format that is stored as it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/terminal/png.h"

/* ------------------------------------------------------------------ drawing */

static void set(struct png *p, int x, int y, enum png_colour colour)
{
    if (x >= 0 && x < PNG_WIDTH && y >= 0 && y < PNG_HEIGHT)
        p->at[y][x] = (unsigned char)colour;
}

void png_dot(struct png *p, int x, int y, enum png_colour colour)
{
    for (int i = 0; i < 4; i++)
        set(p, x + i % 2, y + i / 2, colour);
}

void png_line(struct png *p, int x, int y, int to_x, int to_y,
              enum png_colour colour)
{
    const int across = to_x - x, down = to_y - y;
    const int steps = abs(across) > abs(down) ? abs(across) : abs(down);
    for (int i = 0; i <= steps; i++)
        png_dot(p, x + (steps ? across * i / steps : 0),
                y + (steps ? down * i / steps : 0), colour);
}

/* Rows from the top, five bits each. */
static const struct glyph {
    char letter;
    unsigned char rows[7];
} glyphs[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},     {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},       {'e', {0, 0, 14, 17, 31, 16, 14}}};

enum { LETTER = 6 }; /* with a blank column */

int png_number_width(const char *number)
{
    return LETTER * (int)strlen(number) - 1;
}

void png_number(struct png *p, int x, int y, const char *number)
{
    for (; *number; number++, x += LETTER)
        for (size_t i = 0; i < OMPJIT__COUNT(glyphs); i++)
            for (int at = 0; glyphs[i].letter == *number && at < 35; at++)
                if (glyphs[i].rows[at / 5] >> (4 - at % 5) & 1)
                    set(p, x + at % 5, y + at / 5, PNG_BLACK);
}

/* --------------------------------------------------------------------- file */

static void add_number(ompjit__buf *out, uint32_t n)
{
    const unsigned char bytes[] = {
        (unsigned char)(n >> 24), (unsigned char)(n >> 16),
        (unsigned char)(n >> 8), (unsigned char)n};
    ompjit__buf_add(out, bytes, sizeof bytes);
}

static uint32_t crc(const char *data, size_t size)
{
    uint32_t sum = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        sum ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum;
}

static void add_chunk(ompjit__buf *out, const char *type, const void *data,
                      size_t size)
{
    add_number(out, (uint32_t)size);
    const size_t begin = out->size;
    ompjit__buf_add(out, type, 4);
    ompjit__buf_add(out, data, size);
    if (!out->failed)
        add_number(out, crc(out->data + begin, out->size - begin));
}

static uint32_t adler(const unsigned char *data, size_t size)
{
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < size; i++) {
        low = (low + data[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

/* A byte before each row says that it is as it is. */
enum { ROW = 1 + PNG_WIDTH / 4, ROWS = ROW * PNG_HEIGHT };
_Static_assert(ROWS < 65536, "one stored block holds all");

static void add_pixels(ompjit__buf *out, const struct png *p)
{
    static const unsigned char begin[] = {
        0x78, 1, 1, ROWS & 255, ROWS >> 8, ~ROWS & 255, ~ROWS >> 8 & 255};
    unsigned char *rows = calloc(ROWS, 1);
    ompjit__buf data = {0};
    for (int i = 0; rows && i < PNG_WIDTH * PNG_HEIGHT; i++) {
        const int x = i % PNG_WIDTH, y = i / PNG_WIDTH;
        rows[y * ROW + 1 + x / 4] |=
            (unsigned char)(p->at[y][x] << (6 - 2 * (x % 4)));
    }
    ompjit__buf_add(&data, begin, sizeof begin);
    if (rows) {
        ompjit__buf_add(&data, rows, ROWS);
        add_number(&data, adler(rows, ROWS));
    }
    add_chunk(out, "IDAT", data.data, data.size);
    out->failed |= !rows || data.failed;
    ompjit__buf_free(&data);
    free(rows);
}

void png_write(const struct png *p, ompjit__buf *out)
{
    static const unsigned char palette[] = {255, 255, 255, 128, 128, 128,
                                            0, 0, 0, 31, 119, 180};
    ompjit__buf head = {0};
    add_number(&head, PNG_WIDTH);
    add_number(&head, PNG_HEIGHT);
    ompjit__buf_add(&head, "\2\3\0\0\0", 5); /* two bits, by a palette */
    ompjit__buf_add(out, "\211PNG\r\n\032\n", 8);
    add_chunk(out, "IHDR", head.data, head.size);
    add_chunk(out, "PLTE", palette, sizeof palette);
    add_pixels(out, p);
    add_chunk(out, "IEND", "", 0);
    out->failed |= head.failed;
    ompjit__buf_free(&head);
}
