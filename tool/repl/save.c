/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A session as a C program: what the front end has read as declarations stands in
 * the file, in the session's order, and its statements in main. A variable whose
 * initializer is not constant is set there, too. The last expression of an input
 * is a variable there; an integer is printed as the session prints it.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/commands.h"

struct program {
    ompjit__buf file, main;
};

struct text {
    const char *begin, *end;
};

static struct text trim(struct text t)
{
    while (t.begin < t.end && isspace((unsigned char)*t.begin))
        t.begin++;
    while (t.begin < t.end && isspace((unsigned char)t.end[-1]))
        t.end--;
    return t;
}

static void add(ompjit__buf *out, struct text t)
{
    t = trim(t);
    if (t.begin < t.end)
        ompjit__buf_printf(out, "%.*s\n", (int)(t.end - t.begin), t.begin);
}

/* ------------------------------------------------------------- declarators */

/* The first of these characters outside of brackets and quotes; else the end. */
static const char *find(struct text t, const char *any)
{
    int depth = 0;
    for (const char *p = t.begin; p < t.end; p++) {
        if (!depth && strchr(any, *p))
            return p;
        if (*p == '"' || *p == '\'') {
            const char quote = *p++;
            while (p < t.end && *p != quote)
                p += *p == '\\' ? 2 : 1;
        } else if (strchr("([{", *p)) {
            depth++;
        } else if (strchr(")]}", *p)) {
            depth--;
        }
    }
    return t.end;
}

/* The name that a declarator declares, of those of the input: its last word that
 * is one. */
static const struct name *declared(const struct answer *a, struct text t)
{
    const struct name *found = NULL;
    while (t.begin < t.end) {
        size_t n = 0;
        while (t.begin + n < t.end && (isalnum((unsigned char)t.begin[n]) ||
                                       t.begin[n] == '_'))
            n++;
        for (size_t i = 0; n && i < a->nnames; i++)
            if (a->names[i].kind == OMPJIT__REPL_VARIABLE &&
                strlen(a->names[i].name) == n &&
                !memcmp(a->names[i].name, t.begin, n))
                found = &a->names[i];
        t.begin += n ? n : 1;
    }
    return found;
}

/* const would be in memory that cannot be written. */
static void add_assigned(struct program *p, const struct answer *a,
                         struct text t)
{
    while (t.begin < t.end && *t.begin != ';') {
        struct text one = {t.begin, find(t, ",;")};
        const char *equals = find(one, "=");
        const struct name *name =
            declared(a, (struct text){one.begin, equals});
        t.begin = one.end < t.end && *one.end == ',' ? one.end + 1 : t.end;
        if (!name)
            continue;
        ompjit__buf_printf(&p->file, "__typeof_unqual__(%s) %s;\n",
                           name->type, name->name);
        if (equals < one.end)
            ompjit__buf_printf(
                &p->main,
                "__builtin_memcpy(&%s, (__typeof__(%s)[1]){%.*s}, "
                "sizeof %s);\n",
                name->name, name->name, (int)(one.end - equals - 1),
                equals + 1, name->name);
    }
}

/* ------------------------------------------------------------------- values */

/* Behind the session's lists of types and formats. */
static const char *format_of(const char *type)
{
    static const struct {
        const char *type, *format;
    } formats[] = {{"int", "%d"},
                   {"unsigned int", "%u"},
                   {"short", "%d"},
                   {"unsigned short", "%u"},
                   {"long", "%ld"},
                   {"unsigned long", "%lu"},
                   {"long long", "%lld"},
                   {"unsigned long long", "%llu"}};
    for (size_t i = 0; i < OMPJIT__COUNT(formats); i++)
        if (!strcmp(formats[i].type, type))
            return formats[i].format;
    return NULL;
}

static void add_value(struct program *p, const struct unit *u, struct text t)
{
    const unsigned n = u->in.number;
    const char *format = format_of(u->answer.value.type);
    t = trim(t);
    ompjit__buf_printf(&p->main, "__auto_type value_%u = %.*s;\n", n,
                       (int)(t.end - t.begin), t.begin);
    if (format)
        ompjit__buf_printf(&p->main,
                           "__builtin_printf(\"(%s) %s\\n\", value_%u);\n",
                           u->answer.value.type, format, n);
    ompjit__buf_printf(&p->main, "#undef _\n#define _ value_%u\n", n);
}

/* ------------------------------------------------------------------ program */

static bool is_blank(const struct input *in, struct range range)
{
    for (size_t i = 0; i < in->nblanks; i++)
        if (in->blanks[i].begin == range.begin)
            return true;
    return false;
}

static void add_item(struct program *p, const struct unit *u, size_t i)
{
    const struct answer *a = &u->answer;
    const struct item *item = &a->items[i];
    struct text t = {u->in.text + item->range.begin,
                     u->in.text + item->range.end};
    const bool value = i + 1 == a->nitems &&
                       (a->value.form == OMPJIT__REPL_DIRECT ||
                        a->value.form == OMPJIT__REPL_POINTER);
    if (item->kind == OMPJIT__REPL_ASSIGNED)
        add_assigned(p, a, t);
    else if (item->kind != OMPJIT__REPL_STATEMENT)
        add(&p->file, t);
    else if (value)
        add_value(p, u, t);
    else
        add(&p->main, t);
    if (item->kind == OMPJIT__REPL_STATEMENT && i + 1 == a->nitems &&
        a->value.form == OMPJIT__REPL_VOID)
        ompjit__buf_printf(&p->main, ";\n");
}

/* Between items stand comments and the preprocessor's lines. */
static void add_unit(struct program *p, const struct unit *u)
{
    unsigned at = 0;
    for (size_t i = 0; i < u->answer.nitems; i++) {
        struct range range = u->answer.items[i].range;
        if (range.begin > at)
            add(&p->file, (struct text){u->in.text + at,
                                        u->in.text + range.begin});
        if (!is_blank(&u->in, range))
            add_item(p, u, i);
        at = range.end > at ? range.end : at;
    }
    if (at < u->in.size)
        add(&p->file, (struct text){u->in.text + at, u->in.text + u->in.size});
}

/* A C program has one declaration of each name. */
static const char *declared_twice(const engine *e)
{
    for (size_t i = 0; i < e->nunits; i++) {
        const struct unit *u = e->units[i];
        if (u->in.nhidden)
            return u->in.hidden[0].name;
        for (size_t k = 0; k < u->answer.nnames; k++)
            if (!strcmp(u->answer.names[k].name, "main"))
                return "main";
    }
    return NULL;
}

const char *save_program(const engine *e, ompjit__buf *program)
{
    struct program p = {0};
    const char *twice = declared_twice(e);
    if (twice)
        return twice;
    for (size_t i = 0; i < e->nunits; i++)
        add_unit(&p, e->units[i]);
    ompjit__buf_printf(program,
                       "/* A session of ompjit repl. */\n%s\nint main(void)\n"
                       "{\n%sreturn 0;\n}\n",
                       p.file.data ? p.file.data : "",
                       p.main.data ? p.main.data : "");
    ompjit__buf_free(&p.file);
    ompjit__buf_free(&p.main);
    return NULL;
}
