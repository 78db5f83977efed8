/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Colours of code, values and messages. Code is read by tokens: a word has its
 * colour by a table, and words of a pragma that stand outside of parentheses are
 * its directive and clauses.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/repl/terminal/colour.h"
#include "tool/tool.h"

bool colour_wanted(const struct options *o, int fd)
{
    const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
    if (o->color && strcmp(o->color, "auto"))
        return !strcmp(o->color, "always");
    return !o->json && isatty(fd) && terminal && strcmp(terminal, "dumb") &&
           (!none || !*none);
}

/* -------------------------------------------------------------------- words */

/* As parameters of the sequence  ESC [ ... m . */
#define PLAIN NULL
#define KEYWORD "35"
#define TYPE "36"
#define NUMBER "33"
#define STRING "32"
#define COMMENT "90"
#define DIRECTIVE "94"

static const char *const keywords[] = {
    "alignas", "alignof", "asm", "break", "case", "catch", "class", "concept",
    "const", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "delete", "do", "else", "enum", "explicit", "extern", "false",
    "final", "for", "friend", "goto", "if", "inline", "mutable", "namespace",
    "new", "noexcept", "nullptr", "operator", "override", "private",
    "protected", "public", "register", "requires", "restrict", "return",
    "sizeof", "static", "static_assert", "struct", "switch", "template",
    "this", "thread_local", "throw", "true", "try", "typedef", "typename",
    "typeof", "union", "using", "virtual", "volatile", "while", "_Alignas",
    "_Alignof", "_Atomic", "_Generic", "_Noreturn", "_Pragma",
    "_Static_assert", "_Thread_local"};

static const char *const types[] = {
    "auto", "bool", "char", "char16_t", "char32_t", "char8_t", "double",
    "float", "int", "int16_t", "int32_t", "int64_t", "int8_t", "intptr_t",
    "long", "ptrdiff_t", "short", "signed", "size_t", "ssize_t", "uint16_t",
    "uint32_t", "uint64_t", "uint8_t", "uintptr_t", "unsigned", "void",
    "wchar_t", "_Bool", "_Complex", "_Float16"};

static bool is_among(const char *const *list, size_t n, const char *word,
                     size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == size && !memcmp(list[i], word, size))
            return true;
    return false;
}

static const char *colour_of(const struct colour *s, const char *word,
                             size_t size)
{
    if (s->pragma && !s->depth)
        return DIRECTIVE;
    if (is_among(keywords, OMPJIT__COUNT(keywords), word, size))
        return KEYWORD;
    return is_among(types, OMPJIT__COUNT(types), word, size) ? TYPE : PLAIN;
}

/* ------------------------------------------------------------------- tokens */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

/* The size of what `size` bytes of text begin with, from its quote on. */
static size_t quoted(const char *text, size_t size, char quote)
{
    size_t n = 1;
    for (; n < size && text[n] != quote && text[n] != '\n'; n++)
        if (text[n] == '\\' && n + 1 < size)
            n++;
    return n < size && text[n] == quote ? n + 1 : n < size ? n : size;
}

static size_t comment(struct colour *s, const char *text, size_t size,
                      size_t opened)
{
    const char *end = size > opened
                          ? memmem(text + opened, size - opened, "*/", 2)
                          : NULL;
    s->comment = !end;
    return end ? (size_t)(end - text) + 2 : size;
}

static size_t to_line_end(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return end ? (size_t)(end - text) : size;
}

/* 1, 0x1fu, 1.5e-3f, 1'000 */
static size_t digits(const char *text, size_t size)
{
    size_t n = 1;
    for (; n < size; n++)
        if (!(is_word(text[n]) || text[n] == '.' ||
              (text[n] == '\'' && n + 1 < size && is_word(text[n + 1])) ||
              (strchr("+-", text[n]) && strchr("eEpP", text[n - 1]) &&
               text[n])))
            break;
    return n;
}

static size_t word(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && is_word(text[n]))
        n++;
    return n;
}

/* The # of a directive, and its first word. */
static size_t directive(struct colour *s, const char *text, size_t size)
{
    size_t n = 1;
    while (n < size && isblank((unsigned char)text[n]))
        n++;
    size_t name = word(text + n, size - n);
    s->pragma = name == 6 && !memcmp(text + n, "pragma", 6);
    s->include = name == 7 && !memcmp(text + n, "include", 7);
    s->depth = 0;
    return n + name;
}

/* A number's first letter, which no word is before. */
static bool is_number(const char *text, size_t size)
{
    if (size > 1 && *text == '.')
        return isdigit((unsigned char)text[1]);
    return size && isdigit((unsigned char)*text);
}

/* The size of the token that the text begins with, and its colour. `begins`: it
 * is the first one of its line. */
static size_t token(struct colour *s, const char *text, size_t size,
                    bool begins, const char **how)
{
    *how = PLAIN;
    if (s->comment || (size > 1 && !memcmp(text, "/*", 2))) {
        *how = COMMENT;
        return comment(s, text, size, s->comment ? 0 : 2);
    }
    if (size > 1 && !memcmp(text, "//", 2)) {
        *how = COMMENT;
        return to_line_end(text, size);
    }
    if (*text == '"' || *text == '\'' || (*text == '<' && s->include)) {
        *how = STRING;
        return quoted(text, size, *text == '<' ? '>' : *text);
    }
    if (*text == '#' && begins) {
        *how = DIRECTIVE;
        return directive(s, text, size);
    }
    if (s->value && *text == '[' && begins) {
        *how = COMMENT; /* an index */
        return quoted(text, size, ']');
    }
    if (is_number(text, size) ||
        (s->value && *text == '-' && is_number(text + 1, size - 1))) {
        *how = NUMBER;
        return digits(text, size);
    }
    if (is_word(*text)) {
        size_t n = word(text, size);
        *how = colour_of(s, text, n);
        return n;
    }
    s->depth += (*text == '(') - (*text == ')');
    return 1;
}

/* A line break ends a pragma and the name of a header. */
static void end_line(struct colour *s, bool continued)
{
    s->continued = continued && (s->pragma || s->include);
    if (!s->continued)
        s->pragma = s->include = false;
}

/* A colour ends before a line does: what shows lines may look at one alone. */
static void add(ompjit__buf *out, const char *how, const char *text,
                size_t size)
{
    while (how && size) {
        size_t n = to_line_end(text, size);
        if (n)
            ompjit__buf_printf(out, "\033[%sm%.*s\033[0m", how, (int)n, text);
        if (n < size)
            ompjit__buf_add(out, "\n", 1);
        n += n < size;
        text += n;
        size -= n;
    }
    ompjit__buf_add(out, text, size);
}

void colour_code(struct colour *s, const char *text, size_t size,
                 ompjit__buf *out)
{
    bool begins = !s->continued;
    for (size_t at = 0; at < size;) {
        const char *how;
        size_t n = token(s, text + at, size - at, begins, &how);
        add(out, how, text + at, n);
        if (text[at] == '\n') {
            end_line(s, at && text[at - 1] == '\\');
            begins = !s->continued;
        } else if (!isspace((unsigned char)text[at])) {
            begins = false;
        }
        at += n;
    }
}

/* ------------------------------------------------------------------- output */

void colour_value(FILE *file, bool colours, const char *type,
                  const char *value)
{
    struct colour state = {.value = true};
    ompjit__buf out = {0};
    if (colours) {
        colour_code(&state, value, strlen(value), &out);
        fprintf(file, "\033[2m(%s)\033[0m ", type);
        fwrite(out.data, 1, out.size, file);
        fputc('\n', file);
    } else {
        fprintf(file, "(%s) %s\n", type, value);
    }
    ompjit__buf_free(&out);
}

/* PLACE: error: TEXT, as clang has it. */
static void message(FILE *file, const char *line, size_t size)
{
    static const struct {
        const char *name, *how;
    } severities[] = {{": error: ", "1;31"},
                      {": warning: ", "1;35"},
                      {": note: ", "1;36"},
                      {": interrupted", "1;33"}};
    for (size_t i = 0; i < OMPJIT__COUNT(severities); i++) {
        const char *name = severities[i].name;
        const char *at = memmem(line, size, name, strlen(name));
        size_t place = at ? (size_t)(at - line) + 2 : 0;
        size_t behind = at ? place + strlen(name) - 2 : 0;
        if (!at || memchr(line, '\033', size))
            continue;
        fprintf(file, "\033[1m%.*s\033[%sm%.*s\033[0m\033[1m%.*s\033[0m",
                (int)place, line, severities[i].how, (int)(behind - place),
                line + place, (int)(size - behind), line + behind);
        return;
    }
    fwrite(line, 1, size, file);
}

void colour_messages(FILE *file, bool colours, const char *text)
{
    while (colours && *text) {
        size_t n = to_line_end(text, strlen(text));
        message(file, text, n);
        if (text[n])
            fputc('\n', file);
        text += n + (text[n] != '\0');
    }
    fputs(text, file);
}
