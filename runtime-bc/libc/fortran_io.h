/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An output statement of Fortran on a GPU: PRINT and WRITE to the standard
 * output or to characters, list-directed or with a format. Its text is made in
 * memory and goes out at its end.
 *
 *   fortran_print.c    statements, records and items
 *   fortran_format.c   the format: which edit descriptor an item has
 *   fortran_edit.c     items as texts
 */
#ifndef OMPJIT_RT_FORTRAN_IO_H
#define OMPJIT_RT_FORTRAN_IO_H

#include "decimal.h"
#include "fortran.h"


/* flang's values of IOSTAT= */
enum {
    ERROR_RECORD = 1002,
    ERROR_UNIT = 1004,
    ERROR_FORMAT = 1005,
    ERROR_SCALE = 1031,
};

enum { LIST = '*' };                        /* letter: of list-directed items */
enum { REAL_PART = 'R', IMAGINARY = 'I' };  /* variation: of them */

/* A data edit descriptor, "EN12.4E3"; widths and numbers of digits are NONE
 * where it does not say them. */
enum { NONE = -1 };
struct edit {
    char letter, variation; /* the N of EN; 0: none */
    int width, digits, exponent;
};

enum { LEVELS = 16 }; /* of parentheses in a format */
enum { UNLIMITED = -1 };

struct format {
    const char *text; /* NULL: list-directed */
    char *owned;      /* NULL, or `text` where the statement made it */
    int n, at;
    int level;             /* how many parentheses are open */
    struct {
        int begin, left; /* behind the parenthesis; repetitions, or UNLIMITED */
    } levels[LEVELS];
    int again;       /* where it goes on behind its end */
    bool ended;      /* it has been at its end */
    bool edits;      /* an item since then, or in an unlimited repetition */
    int same;        /* how many more items have this edit descriptor: */
    struct edit edit;
    int scale;
    bool plus;
    bool comma; /* in place of a decimal point */
};

struct statement {
    char *text;
    size_t n, capacity;
    size_t record, position; /* where the record begins, and the place in it */
    bool after_text, stay;   /* stay: ADVANCE='NO' */
    bool internal;
    struct descriptor unit;  /* of an internal unit: its elements are records */
    int64_t records;         /* of it that are full */
    bool handled;            /* errors are values of IOSTAT=, or go to ERR= */
    int status;
    const char *message; /* of that status */
    char own_message[80];
    const char *file;
    int line;
    struct format format;
    decimal number;
};

/* Keeps the first error, or ends the kernel where the program handles none. */
void ompjit_fortran_error(struct statement *s, int status, const char *message);

/* Writes n characters, or n times one, at the place in the record. */
void ompjit_fortran_put(struct statement *s, const char *text, size_t n);
void ompjit_fortran_repeat(struct statement *s, char c, int64_t n);

void ompjit_fortran_end_record(struct statement *s);

/* Room for a list-directed item of n characters, with what stands before. */
void ompjit_fortran_separate(struct statement *s, size_t n, bool is_text);
/* The same where nothing stands before. */
void ompjit_fortran_fit(struct statement *s, size_t n);

/* Goes on to the edit descriptor of the next item. Without one it stops where
 * the format does: `item` is false behind the last item. False: it stopped, or
 * the format is wrong. */
bool ompjit_fortran_next_edit(struct statement *s, bool item);

void ompjit_fortran_edit_integer(struct statement *s, const struct edit *e,
                                 int_wide x, size_t size);
void ompjit_fortran_edit_real(struct statement *s, const struct edit *e,
                              double x, bool single);
void ompjit_fortran_edit_logical(struct statement *s, const struct edit *e,
                                 bool x);
void ompjit_fortran_edit_text(struct statement *s, const struct edit *e,
                              const char *text, size_t n);

#endif
