/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * JSON, as much as the protocol needs: one value is read, or written, at a time.
 */
#ifndef OMPJIT_REPL_JSON_H
#define OMPJIT_REPL_JSON_H

#include "base/base.h"

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* A value; of an object's members `name` is set, too. */
typedef struct json {
    enum json_kind kind;
    char *name;
    double number;
    char *text; /* of a string, in UTF-8, with a NUL behind it */
    size_t size;
    struct json *first, *next; /* elements, members */
} json;

/* Reads a whole text. NULL: it is none, or there is no memory; then *wrong says
 * where it is none, in bytes from its begin. */
json *json_read(const char *text, size_t size, size_t *wrong);
/* Accepts NULL. */
void json_free(json *value);

/* A member of an object; NULL: it has none of that name, or is no object. */
const json *json_member(const json *object, const char *name);
/* The same of a string, a number, or true; else the default. */
const char *json_text(const json *object, const char *name, const char *none);
double json_number(const json *object, const char *name, double none);
bool json_true(const json *object, const char *name);

/* Appends a string with its quotes. What is no UTF-8 becomes U+FFFD. */
void json_add_string(ompjit__buf *out, const char *text, size_t size);
/* Appends  "NAME":STRING  with a comma where the object has members. NULL:
 * nothing. */
void json_add_member(ompjit__buf *out, const char *name, const char *text);
/* The same of any value that is JSON already. */
void json_add_raw(ompjit__buf *out, const char *name, const char *format, ...)
    OMPJIT__PRINTF(3, 4);
/* A comma, unless nothing but a bracket is before it. */
void json_add_comma(ompjit__buf *out);

#endif
