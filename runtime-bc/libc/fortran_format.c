/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * FORMAT of Fortran on a GPU: goes through a format from one data edit
 * descriptor to the next, and does on the way what stands between them. Formats
 * of constants have been checked by flang.
 */
#include "fortran_io.h"

#ifdef __NVPTX__

static void wrong(struct statement *s, const char *message)
{
    ompjit_fortran_error(s, ERROR_FORMAT, message);
}

/* Names the edit descriptor. */
static void unknown(struct statement *s, char letter, char variation)
{
    static const char text[] = "a GPU has no edit descriptor ";
    enum { N = sizeof text - 1 };
    __builtin_memcpy(s->own_message, text, N);
    s->own_message[N] = letter;
    s->own_message[N + 1] = variation;
    s->own_message[N + 2] = 0;
    wrong(s, s->own_message);
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_letter(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next character that is no blank, as a capital; 0 at the end. */
static char peek(struct format *f)
{
    while (f->at < f->n && (f->text[f->at] == ' ' || f->text[f->at] == '\t'))
        f->at++;
    return f->at < f->n ? upper(f->text[f->at]) : 0;
}

static bool skip(struct format *f, char c)
{
    if (peek(f) != c)
        return false;
    f->at++;
    return true;
}

/* Without digits it is `otherwise`. */
static int number(struct format *f, int otherwise)
{
    enum { TOO_LARGE = 100000000 };
    if (!is_digit(peek(f)))
        return otherwise;
    int x = 0;
    for (; is_digit(peek(f)); f->at++)
        x = x < TOO_LARGE ? 10 * x + (f->text[f->at] - '0') : x;
    return x;
}

/* --------------------------------------------------- data edit descriptors */

/* Behind the letters. */
static void read_edit(struct format *f, struct edit *e)
{
    e->width = number(f, NONE);
    e->digits = skip(f, '.') ? number(f, 0) : NONE;
    e->exponent = NONE;
    if ((e->letter == 'E' || e->letter == 'G' || e->letter == 'D') &&
        e->digits != NONE && skip(f, 'E'))
        e->exponent = number(f, NONE);
}

static bool is_data(char letter, char variation)
{
    switch (letter) {
    case 'A': case 'B': case 'D': case 'F': case 'G': case 'I': case 'L':
    case 'O': case 'Z':
        return !variation;
    case 'E':
        return !variation || variation == 'N' || variation == 'S';
    default:
        return false;
    }
}

/* ------------------------------------------------------------ other ones */

/* The place may be behind the record's end, or before its beginning, which is
 * then its place. */
static void move(struct statement *s, int64_t to)
{
    s->position = to > 0 ? (size_t)to : 0;
}

static void tab(struct statement *s, char variation)
{
    const int n = number(&s->format, 1);
    const int64_t here = (int64_t)s->position;
    move(s, !variation ? n - 1 : variation == 'L' ? here - n : here + n);
}

static bool is_pair(char a, char b, const char *pair)
{
    return a == pair[0] && b == pair[1];
}

/* `count` stands before it. False: there is none of these letters. */
static bool control(struct statement *s, char letter, char variation, int count)
{
    struct format *f = &s->format;
    if (letter == 'P' && !variation)
        f->scale = count;
    else if (letter == 'X' && !variation)
        move(s, (int64_t)s->position + count);
    else if (letter == 'T' && (!variation || variation == 'L' ||
                               variation == 'R'))
        tab(s, variation);
    else if (letter == 'S' && (!variation || variation == 'P' ||
                               variation == 'S'))
        f->plus = variation == 'P';
    else if (letter == 'D' && (variation == 'C' || variation == 'P'))
        f->comma = variation == 'C';
    else
        return is_pair(letter, variation, "BN") ||
               is_pair(letter, variation, "BZ") ||
               is_pair(letter, variation, "RN") ||
               is_pair(letter, variation, "RP");
    return true;
}

/* A quote twice is one of the text: the second begins another text. */
static void quoted(struct statement *s, char quote)
{
    struct format *f = &s->format;
    const int begin = f->at;
    while (f->at < f->n && f->text[f->at] != quote)
        f->at++;
    if (f->at >= f->n) {
        wrong(s, "FORMAT lacks a closing quote");
        return;
    }
    f->at++;
    const bool twice = f->at < f->n && f->text[f->at] == quote;
    ompjit_fortran_put(s, f->text + begin, (size_t)(f->at - begin - !twice));
}

static void hollerith(struct statement *s, int n)
{
    struct format *f = &s->format;
    if (n < 1 || n > f->n - f->at) {
        wrong(s, "FORMAT has a wrong number before H");
        return;
    }
    ompjit_fortran_put(s, f->text + f->at, (size_t)n);
    f->at += n;
}

/* ----------------------------------------------------------- parentheses */

/* `from`: where it begins, with the count before it. */
static void open_group(struct statement *s, int count, int from)
{
    struct format *f = &s->format;
    if (f->level == LEVELS) {
        wrong(s, "FORMAT has too many parentheses");
        return;
    }
    if (f->level == 0)
        f->again = f->at;
    if (f->level == 1 && !f->ended)
        f->again = from;
    if (count == UNLIMITED)
        f->edits = false;
    f->levels[f->level].begin = f->at;
    f->levels[f->level].left = count == UNLIMITED ? UNLIMITED : count - 1;
    f->level++;
}

/* False: without an item it ends here, or it is wrong. */
static bool close_group(struct statement *s, bool item)
{
    struct format *f = &s->format;
    const int level = f->level - 1;
    const bool is_end = level == 0;
    if (is_end && !item)
        return false;
    if (is_end || f->levels[level].left == UNLIMITED) {
        if (!f->edits) {
            wrong(s, "FORMAT has no edit descriptor for an item");
            return false;
        }
        f->edits = false;
    }
    if (is_end) {
        f->ended = true;
        ompjit_fortran_end_record(s);
        f->at = f->again;
    } else if (f->levels[level].left == UNLIMITED) {
        f->at = f->levels[level].begin;
    } else if (f->levels[level].left > 0) {
        f->levels[level].left--;
        f->at = f->levels[level].begin;
    } else {
        f->level--;
    }
    return true;
}

/* --------------------------------------------------------------- the format */

/* Two letters are one descriptor where the first has such ones. */
static char second_letter(struct format *f, char letter)
{
    const char c = peek(f);
    if (!is_letter(c) || (letter != 'B' && letter != 'D' && letter != 'E' &&
                          letter != 'R' && letter != 'S' && letter != 'T'))
        return 0;
    f->at++;
    return c;
}

/* False: it is a data edit descriptor, or wrong. */
static bool letters(struct statement *s, char letter, int count)
{
    struct format *f = &s->format;
    const char variation = second_letter(f, letter);
    if (is_data(letter, variation)) {
        f->edits = true;
        f->edit.letter = letter;
        f->edit.variation = variation;
        f->same = count > 0 ? count : 1;
        return false;
    }
    if (!control(s, letter, variation, count)) {
        unknown(s, letter, variation);
        return false;
    }
    return true;
}

/* One element of the format. False: it is a data edit descriptor, the end, or
 * wrong. */
static bool element(struct statement *s, bool item)
{
    struct format *f = &s->format;
    const int from = f->at;
    const bool minus = skip(f, '-'), sign = minus || skip(f, '+');
    const int count = minus ? -number(f, 1) : number(f, 1);
    const char c = peek(f);
    f->at++;
    if ((sign && c != 'P') || (f->level == 0 && c != '(')) {
        wrong(s, "FORMAT begins without (, or has a sign and no P");
        return false;
    }
    switch (c) {
    case ',': return true;
    case ':': return item;
    case '(': open_group(s, count, from); break;
    case ')': return close_group(s, item);
    case '*':
        if (!skip(f, '('))
            wrong(s, "FORMAT has * where no parenthesis follows");
        else
            open_group(s, UNLIMITED, from);
        break;
    case '/':
        for (int i = 0; i < count; i++)
            ompjit_fortran_end_record(s);
        break;
    case '\'':
    case '"': quoted(s, c); break;
    case 'H': hollerith(s, count); break;
    case '$':
    case '\\': s->stay = true; break;
    default:
        if (is_letter(c))
            return letters(s, c, count);
        wrong(s, "FORMAT ends early, or has an unknown character");
    }
    return !s->status;
}

EXPORT NOINLINE bool ompjit_fortran_next_edit(struct statement *s, bool item)
{
    struct format *f = &s->format;
    if (s->status || (item && f->same && f->same--))
        return !s->status;
    while (element(s, item))
        ;
    if (!item || s->status)
        return false;
    f->same--;
    read_edit(f, &f->edit);
    return true;
}

#endif
