/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Reads and writes JSON (RFC 8259).
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/json.h"

enum { DEPTH = 64 };

struct text {
    const char *at, *end;
    unsigned depth;
};

static json *read_value(struct text *t);

/* ------------------------------------------------------------------- reading */

static void skip_blanks(struct text *t)
{
    while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
        t->at++;
}

static bool take(struct text *t, char c)
{
    skip_blanks(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n))
        return false;
    t->at += n;
    return true;
}

static json *new_value(enum json_kind kind)
{
    json *value = calloc(1, sizeof *value);
    if (value)
        value->kind = kind;
    return value;
}

void json_free(json *value)
{
    while (value) {
        json *next = value->next;
        json_free(value->first);
        free(value->name);
        free(value->text);
        free(value);
        value = next;
    }
}

static void add_code(ompjit__buf *out, unsigned code)
{
    char bytes[4];
    unsigned n;
    if (code < 0x80) {
        bytes[0] = (char)code;
        n = 1;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        n = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        n = 3;
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        n = 4;
    }
    for (unsigned i = 1; i < n; i++)
        bytes[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3f));
    ompjit__buf_add(out, bytes, n);
}

static bool read_hex(struct text *t, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, t->at++) {
        if (t->at == t->end || !isxdigit((unsigned char)*t->at))
            return false;
        char c = (char)tolower((unsigned char)*t->at);
        *code = *code << 4 | (unsigned)(c >= 'a' ? c - 'a' + 10 : c - '0');
    }
    return true;
}

/* Behind \u: half of a pair alone is no letter. */
static bool read_unicode(struct text *t, ompjit__buf *out)
{
    unsigned code, low;
    if (!read_hex(t, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && t->end - t->at >= 6 &&
        t->at[0] == '\\' && t->at[1] == 'u') {
        struct text pair = {t->at + 2, t->end, 0};
        if (read_hex(&pair, &low) && low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            t->at = pair.at;
        }
    }
    add_code(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    return true;
}

static bool read_escape(struct text *t, ompjit__buf *out)
{
    static const char letters[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
    if (t->at == t->end)
        return false;
    char c = *t->at++;
    if (c == 'u')
        return read_unicode(t, out);
    const char *known = c ? strchr(letters, c) : NULL;
    if (known)
        ompjit__buf_add(out, &codes[known - letters], 1);
    return known != NULL;
}

/* Behind the quote. */
static bool read_string(struct text *t, ompjit__buf *out)
{
    ompjit__buf_add(out, "", 0);
    while (t->at < t->end && *t->at != '"') {
        char c = *t->at++;
        if (c == '\\' ? !read_escape(t, out) : (unsigned char)c < ' ')
            return false;
        if (c != '\\')
            ompjit__buf_add(out, &c, 1);
    }
    return take(t, '"') && !out->failed;
}

static json *read_text(struct text *t)
{
    ompjit__buf text = {0};
    json *value = read_string(t, &text) ? new_value(JSON_STRING) : NULL;
    if (!value) {
        ompjit__buf_free(&text);
        return NULL;
    }
    value->text = text.data;
    value->size = text.size;
    return value;
}

static json *read_number(struct text *t)
{
    char digits[64];
    size_t n = 0;
    while (t->at + n < t->end && n < sizeof digits - 1 &&
           strchr("+-0123456789.eE", t->at[n]) && t->at[n])
        n++;
    memcpy(digits, t->at, n);
    digits[n] = '\0';
    char *end;
    double number = strtod(digits, &end);
    json *value = n && !*end ? new_value(JSON_NUMBER) : NULL;
    if (value) {
        value->number = number;
        t->at += n;
    }
    return value;
}

/* Elements or members up to the bracket. */
static json *read_list(struct text *t, enum json_kind kind, char close)
{
    json *list = new_value(kind), **last = list ? &list->first : NULL;
    if (!list || take(t, close))
        return list;
    do {
        ompjit__buf name = {0};
        bool named = kind == JSON_OBJECT;
        bool good = !named || (take(t, '"') && read_string(t, &name) &&
                               take(t, ':'));
        json *value = good ? read_value(t) : NULL;
        if (!value) {
            ompjit__buf_free(&name);
            json_free(list);
            return NULL;
        }
        value->name = name.data;
        *last = value;
        last = &value->next;
    } while (take(t, ','));
    if (take(t, close))
        return list;
    json_free(list);
    return NULL;
}

static json *read_value(struct text *t)
{
    json *value = NULL;
    skip_blanks(t);
    if (t->depth++ == DEPTH)
        return NULL;
    if (take(t, '"'))
        value = read_text(t);
    else if (take(t, '['))
        value = read_list(t, JSON_ARRAY, ']');
    else if (take(t, '{'))
        value = read_list(t, JSON_OBJECT, '}');
    else if (take_word(t, "null"))
        value = new_value(JSON_NULL);
    else if (take_word(t, "true"))
        value = new_value(JSON_TRUE);
    else if (take_word(t, "false"))
        value = new_value(JSON_FALSE);
    else
        value = read_number(t);
    t->depth--;
    return value;
}

json *json_read(const char *text, size_t size, size_t *wrong)
{
    struct text t = {text, text + size, 0};
    json *value = read_value(&t);
    skip_blanks(&t);
    if (value && t.at == t.end)
        return value;
    json_free(value);
    *wrong = (size_t)(t.at - text);
    return NULL;
}

/* ------------------------------------------------------------------- members */

const json *json_member(const json *object, const char *name)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const json *each = object->first; each; each = each->next)
        if (!strcmp(each->name, name))
            return each;
    return NULL;
}

const char *json_text(const json *object, const char *name, const char *none)
{
    const json *member = json_member(object, name);
    return member && member->kind == JSON_STRING ? member->text : none;
}

double json_number(const json *object, const char *name, double none)
{
    const json *member = json_member(object, name);
    return member && member->kind == JSON_NUMBER ? member->number : none;
}

bool json_true(const json *object, const char *name)
{
    const json *member = json_member(object, name);
    return member && member->kind == JSON_TRUE;
}

/* ------------------------------------------------------------------- writing */

/* The bytes of the letter that begins there; 0: it is no UTF-8. */
static size_t letter_size(const unsigned char *p, size_t left)
{
    size_t n = *p < 0x80                  ? 1
               : *p >= 0xc2 && *p < 0xe0  ? 2
               : (*p & 0xf0) == 0xe0      ? 3
               : *p >= 0xf0 && *p <= 0xf4 ? 4
                                          : 0;
    if (n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((n == 3 && *p == 0xe0 && p[1] < 0xa0) ||
        (n == 3 && *p == 0xed && p[1] >= 0xa0) ||
        (n == 4 && *p == 0xf0 && p[1] < 0x90) ||
        (n == 4 && *p == 0xf4 && p[1] >= 0x90))
        return 0;
    return n;
}

static void add_letter(ompjit__buf *out, unsigned char c)
{
    static const char codes[] = "btn?fr";
    if (c == '"' || c == '\\')
        ompjit__buf_printf(out, "\\%c", c);
    else if (c >= '\b' && c <= '\r' && c != '\v')
        ompjit__buf_printf(out, "\\%c", codes[c - '\b']);
    else if (c < ' ' || c == 0x7f)
        ompjit__buf_printf(out, "\\u%04x", c);
    else
        ompjit__buf_add(out, &c, 1);
}

void json_add_string(ompjit__buf *out, const char *text, size_t size)
{
    ompjit__buf_add(out, "\"", 1);
    for (size_t i = 0; i < size;) {
        const unsigned char *p = (const unsigned char *)text + i;
        size_t n = letter_size(p, size - i);
        if (n == 1)
            add_letter(out, *p);
        else if (n)
            ompjit__buf_add(out, p, n);
        else
            ompjit__buf_add(out, "\\ufffd", 6);
        i += n ? n : 1;
    }
    ompjit__buf_add(out, "\"", 1);
}

void json_add_comma(ompjit__buf *out)
{
    if (out->size && !strchr("{[", out->data[out->size - 1]))
        ompjit__buf_add(out, ",", 1);
}

void json_add_member(ompjit__buf *out, const char *name, const char *text)
{
    if (!text)
        return;
    json_add_comma(out);
    ompjit__buf_printf(out, "\"%s\":", name);
    json_add_string(out, text, strlen(text));
}

void json_add_raw(ompjit__buf *out, const char *name, const char *format, ...)
{
    va_list ap;
    json_add_comma(out);
    ompjit__buf_printf(out, "\"%s\":", name);
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (text) {
        va_start(ap, format);
        vsnprintf(text, (size_t)n + 1, format, ap);
        va_end(ap);
        ompjit__buf_add(out, text, (size_t)n);
    } else {
        out->failed = true;
    }
    free(text);
}
