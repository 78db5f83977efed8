/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A session as a program. In C the declarations stand in the file, in the
 * session's order, and the statements in main. A variable whose initializer is
 * not constant is set there, too. In C++ the statements of an input are a
 * function which the initializer of a variable calls, so that all run in their
 * order.
 *
 * A name that a session declares once more is NAME__N from input N on. Values
 * are printed by the session's own functions, which the program begins with.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool/repl/commands.h"
#include "tool/repl/saved.h"
#include "tool/repl/session/object.h"

/* A name, and what the program calls it. */
struct renamed {
    const char *name;
    unsigned input; /* 0: it is main, which the program has of its own */
};

struct program {
    bool cxx;
    ompjit__buf file, main, names;
    struct renamed *renamed;
    size_t nrenamed;
    bool shows; /* values that are no integers */
    /* The text that visits objects: how often it stands there, whether it knows
     * what was included, and the types that have a shape for it. */
    unsigned visitors;
    bool visits;
    char **shaped;
    size_t nshaped;
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

/* -------------------------------------------------------------------- names */

static const struct renamed *find_renamed(const struct program *p,
                                          const char *name, size_t size)
{
    for (size_t i = p->nrenamed; i; i--) {
        const struct renamed *r = &p->renamed[i - 1];
        if (strlen(r->name) == size && !memcmp(r->name, name, size))
            return r;
    }
    return NULL;
}

static void rename_from(struct program *p, const char *name, unsigned input)
{
    struct renamed *more =
        realloc(p->renamed, (p->nrenamed + 1) * sizeof *more);
    if (!more)
        return;
    p->renamed = more;
    p->renamed[p->nrenamed++] = (struct renamed){name, input};
}

/* A letter of a word. */
static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does the text before `at` end as the access of a member does? */
static bool is_member(const char *begin, const char *at)
{
    while (at > begin && isspace((unsigned char)at[-1]))
        at--;
    const char last = at > begin ? at[-1] : ' ';
    const char before = at - 1 > begin ? at[-2] : ' ';
    return (last == '.' && before != '.') || (last == '>' && before == '-');
}

/* The end of a string or a letter that begins there. */
static const char *end_of_literal(const char *at, const char *end)
{
    const char quote = *at++;
    while (at < end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* The braces that are open in a text: a bit of each, the innermost one the
 * lowest, which says whether it is that of a structure, union or class. */
struct braces {
    uint64_t records;
    bool record; /* the next one is */
};

static void see_letter(struct braces *b, char c)
{
    if (c == '{') {
        b->records = b->records << 1 | b->record;
        b->record = false;
    } else if (c == '}') {
        b->records >>= 1;
    } else if (strchr(";()=", c)) {
        b->record = false;
    }
}

static void see_word(struct braces *b, struct text word)
{
    static const char *const heads[] = {"struct", "union", "class"};
    const size_t n = (size_t)(word.end - word.begin);
    for (size_t i = 0; i < OMPJIT__COUNT(heads); i++)
        if (strlen(heads[i]) == n && !memcmp(heads[i], word.begin, n))
            b->record = true;
}

/* Does the word declare a member, or does it follow an object? */
static bool is_of_object(const struct braces *b, struct text all,
                         struct text word)
{
    const char *next = word.end;
    while (next < all.end && isspace((unsigned char)*next))
        next++;
    return is_member(all.begin, word.begin) ||
           (b->records & 1 && next < all.end && strchr(";,[:=", *next));
}

static void add_word(const struct program *p, ompjit__buf *out,
                     const struct braces *b, struct text all, struct text word)
{
    const size_t n = (size_t)(word.end - word.begin);
    const struct renamed *r = is_of_object(b, all, word)
                                  ? NULL
                                  : find_renamed(p, word.begin, n);
    if (r && !r->input)
        ompjit__buf_printf(out, "session_");
    ompjit__buf_add(out, word.begin, n);
    if (r && r->input)
        ompjit__buf_printf(out, "__%u", r->input);
}

/* The end of the word, or of the number, that begins there. */
static const char *end_of_word(const char *at, const char *end)
{
    const bool number = isdigit((unsigned char)*at);
    /* 1'000 is a number of C++ */
    while (at < end && (is_word(*at) || (number && *at == '\'')))
        at++;
    return at;
}

/* The text with the program's names. */
static void add_text(const struct program *p, ompjit__buf *out, struct text t)
{
    struct braces braces = {0};
    for (const char *at = t.begin, *next; at < t.end; at = next) {
        next = at + 1;
        if (is_word(*at)) {
            next = end_of_word(at, t.end);
            add_word(p, out, &braces, t, (struct text){at, next});
            see_word(&braces, (struct text){at, next});
            continue;
        }
        see_letter(&braces, *at);
        if (*at == '"' || *at == '\'')
            next = end_of_literal(at, t.end);
        ompjit__buf_add(out, at, (size_t)(next - at));
    }
}

static void add_string(const struct program *p, ompjit__buf *out,
                       const char *text)
{
    add_text(p, out, (struct text){text, text + strlen(text)});
}

static void add(const struct program *p, ompjit__buf *out, struct text t)
{
    t = trim(t);
    if (t.begin == t.end)
        return;
    add_text(p, out, t);
    ompjit__buf_printf(out, "\n");
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
        ompjit__buf own = {0};
        add_string(p, &own, name->name);
        ompjit__buf_printf(&p->file, "__typeof_unqual__(");
        add_string(p, &p->file, name->type);
        ompjit__buf_printf(&p->file, ") %s;\n", own.data);
        if (equals < one.end) {
            ompjit__buf_printf(&p->main,
                               "__builtin_memcpy(&%s, (__typeof__(%s)[1]){",
                               own.data, own.data);
            add_text(p, &p->main, (struct text){equals + 1, one.end});
            ompjit__buf_printf(&p->main, "}, sizeof %s);\n", own.data);
        }
        ompjit__buf_free(&own);
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

/* As a literal of C. */
static void add_bytes(ompjit__buf *out, const char *bytes, size_t size)
{
    ompjit__buf_printf(out, "\"");
    for (size_t i = 0; i < size; i++)
        if (isalnum((unsigned char)bytes[i]) || bytes[i] == ' ' ||
            bytes[i] == '_')
            ompjit__buf_add(out, &bytes[i], 1);
        else
            ompjit__buf_printf(out, "\\%03o", (unsigned char)bytes[i]);
    ompjit__buf_printf(out, "\"");
}

/* Can the program write all types that are shown? */
static bool is_written(const struct object *o)
{
    for (size_t i = 0; i < o->answer.nshapes; i++)
        if (!*o->answer.shapes[i].type)
            return false;
    for (size_t i = 0; i < o->answer.nmembers; i++)
        if (!*o->answer.members[i].type)
            return false;
    return true;
}

static void forget_shaped(struct program *p)
{
    while (p->nshaped)
        free(p->shaped[--p->nshaped]);
}

/* The text in namespaces of its own, so that a later one has streams, tuples and
 * such that were included meanwhile. */
static void add_visitor(struct program *p)
{
    if (p->visits)
        return;
    p->visits = true;
    forget_shaped(p);
    ompjit__buf_printf(&p->file,
                       "#undef ompjit_object\n"
                       "#define ompjit_object ompjit_object_%u\n%s",
                       ++p->visitors, object_source);
}

/* False: the type has a shape. Takes the text. */
static bool note_shaped(struct program *p, char *type)
{
    for (size_t i = 0; i < p->nshaped; i++)
        if (!strcmp(p->shaped[i], type)) {
            free(type);
            return false;
        }
    char **more = realloc(p->shaped, (p->nshaped + 1) * sizeof *more);
    if (!more) {
        free(type);
        return true;
    }
    p->shaped = more;
    p->shaped[p->nshaped++] = type;
    return true;
}

/* Its size in 8 bytes is in front, as in the session. */
static void add_shape(struct program *p, const struct type_shape *each)
{
    const uint64_t size = each->shape.size;
    ompjit__buf type = {0}, bytes = {0};
    add_string(p, &type, each->type);
    if (type.data && note_shaped(p, type.data)) {
        ompjit__buf_add(&bytes, (const char *)&size, sizeof size);
        ompjit__buf_add(&bytes, each->shape.data, size);
        ompjit__buf_printf(
            &p->file,
            "template <> const unsigned char ompjit_object::Shape<");
        add_string(p, &p->file, each->type);
        ompjit__buf_printf(&p->file, ">::bytes[] = ");
        add_bytes(&p->file, bytes.data, bytes.size);
        ompjit__buf_printf(&p->file, ";\n");
        ompjit__buf_free(&bytes);
    }
}

#define VISIT "(ompjit_show_visit_function *)(ompjit_object::At *)"           \
              "&ompjit_object::at<"

/* Statements that print the object. */
static void add_print_object(struct program *p, ompjit__buf *out,
                             const struct unit *u, const char *object)
{
    const struct answer *a = &u->object->answer;
    p->shows = true;
    for (size_t i = 0; i < a->nmembers; i++) {
        ompjit__buf_printf(out, "ompjit_show_know(\"%s\", " VISIT,
                           a->members[i].symbol);
        add_string(p, out, a->members[i].type);
        ompjit__buf_printf(out, ">);\n");
    }
    ompjit__buf_printf(out, "ompjit_show_print_object(");
    add_bytes(out, u->answer.value.type, strlen(u->answer.value.type));
    ompjit__buf_printf(out,
                       ", " VISIT "ompjit_object::Bare<decltype((%s))>::Type>, "
                       "__builtin_addressof(%s), ompjit_show_name_at);\n",
                       object, object);
}

/* A statement that prints the object. */
static void add_print(struct program *p, ompjit__buf *out,
                      const struct value *v, const char *object)
{
    const char *format = format_of(v->type);
    if (format) {
        ompjit__buf_printf(out, "__builtin_printf(\"(%s) %s\\n\", %s);\n",
                           v->type, format, object);
        return;
    }
    p->shows = true;
    ompjit__buf_printf(out, "ompjit_show_print_value(");
    add_bytes(out, v->type, strlen(v->type));
    ompjit__buf_printf(out, ", ");
    add_bytes(out, v->shape.data, v->shape.size);
    ompjit__buf_printf(out, ", %zu, %s(%s), ompjit_show_name_at);\n",
                       v->shape.size, p->cxx ? "__builtin_addressof" : "&",
                       object);
}

static void add_value(struct program *p, const struct unit *u, struct text t)
{
    const unsigned n = u->in.number;
    const struct value *v = &u->answer.value;
    const bool object = v->form == OMPJIT__REPL_POINTER;
    ompjit__buf expression = {0}, name = {0};
    add_text(p, &expression, trim(t));
    if (p->cxx)
        ompjit__buf_printf(&p->file, "static auto %svalue_%u = %s;\n",
                           object ? "&&" : "", n, expression.data);
    else if (object)
        ompjit__buf_printf(&p->main, "__typeof__(%s) *value_%u = &(%s);\n",
                           expression.data, n, expression.data);
    else
        ompjit__buf_printf(&p->main, "__auto_type value_%u = %s;\n", n,
                           expression.data);
    ompjit__buf_printf(&name, object && !p->cxx ? "(*value_%u)" : "value_%u",
                       n);
    const bool visits = p->cxx && u->object && is_written(u->object);
    if (visits) {
        add_visitor(p);
        for (size_t i = 0; i < u->object->answer.nshapes; i++)
            add_shape(p, &u->object->answer.shapes[i]);
    }
    if (p->cxx)
        ompjit__buf_printf(&p->file, "static const int shown_%u = [] {\n", n);
    if (visits)
        add_print_object(p, &p->file, u, name.data);
    else
        add_print(p, p->cxx ? &p->file : &p->main, v, name.data);
    if (p->cxx)
        ompjit__buf_printf(&p->file, "return 0;\n}();\n");
    ompjit__buf_printf(p->cxx ? &p->file : &p->main,
                       "#undef _\n#define _ %s\n", name.data);
    ompjit__buf_free(&expression);
    ompjit__buf_free(&name);
}

/* Adds what a pointer to a function or variable of the input shows. */
static void add_names(struct program *p, const struct answer *a)
{
    for (size_t i = 0; i < a->nnames; i++) {
        const struct name *name = &a->names[i];
        const size_t n = strlen(name->name);
        if ((name->kind != OMPJIT__REPL_FUNCTION &&
             name->kind != OMPJIT__REPL_VARIABLE) ||
            strncmp(name->symbol, name->name, n) ||
            (name->symbol[n] && name->symbol[n] != '$'))
            continue; /* of a class or a namespace, or overloaded */
        ompjit__buf_printf(&p->names, "if (at == (const void *)&");
        add_string(p, &p->names, name->name);
        ompjit__buf_printf(&p->names, ")\nreturn \"%s\";\n", name->symbol);
    }
}

/* ------------------------------------------------------------------ program */

static bool is_blank(const struct input *in, struct range range)
{
    for (size_t i = 0; i < in->nblanks; i++)
        if (in->blanks[i].begin == range.begin)
            return true;
    return false;
}

static void add_statement(struct program *p, const struct unit *u, size_t i,
                          struct text t, const char *end)
{
    if (!p->cxx) {
        add(p, &p->main, t);
        ompjit__buf_printf(&p->main, "%s", end);
        return;
    }
    ompjit__buf_printf(&p->file, "static void input_%u_%zu()\n{\n",
                       u->in.number, i);
    add(p, &p->file, t);
    ompjit__buf_printf(&p->file,
                       "%s}\nstatic const int run_%u_%zu = "
                       "(input_%u_%zu(), 0);\n",
                       end, u->in.number, i, u->in.number, i);
}

/* A text of the preprocessor's may include more. */
static void add_between(struct program *p, struct text t)
{
    if (memchr(t.begin, '#', (size_t)(t.end - t.begin)))
        p->visits = false;
    add(p, &p->file, t);
}

static void add_item(struct program *p, const struct unit *u, size_t i)
{
    const struct answer *a = &u->answer;
    const struct item *item = &a->items[i];
    struct text t = {u->in.text + item->range.begin,
                     u->in.text + item->range.end};
    const bool last = i + 1 == a->nitems;
    const bool value = last && (a->value.form == OMPJIT__REPL_DIRECT ||
                                a->value.form == OMPJIT__REPL_POINTER);
    if (item->kind == OMPJIT__REPL_ASSIGNED)
        add_assigned(p, a, t);
    else if (item->kind != OMPJIT__REPL_STATEMENT)
        add_between(p, t);
    else if (value)
        add_value(p, u, t);
    else
        add_statement(p, u, i, t,
                      last && a->value.form == OMPJIT__REPL_VOID ? ";\n" : "");
}

/* Between items stand comments and the preprocessor's lines. */
static void add_unit(struct program *p, const struct unit *u)
{
    unsigned at = 0;
    for (size_t i = 0; i < u->in.nhidden; i++)
        rename_from(p, u->in.hidden[i].name, u->in.number);
    for (size_t i = 0; i < u->answer.nitems; i++) {
        struct range range = u->answer.items[i].range;
        if (range.begin > at)
            add_between(p, (struct text){u->in.text + at,
                                         u->in.text + range.begin});
        if (!is_blank(&u->in, range))
            add_item(p, u, i);
        at = range.end > at ? range.end : at;
    }
    if (at < u->in.size)
        add_between(p,
                    (struct text){u->in.text + at, u->in.text + u->in.size});
    add_names(p, &u->answer);
}

/* Tells what a pointer points to. */
#define NAME_AT                                                                \
    "static const char *ompjit_show_name_at(void *data, const void *at)"

void save_program(const engine *e, bool cxx, ompjit__buf *program)
{
    struct program p = {.cxx = cxx};
    rename_from(&p, "main", 0);
    for (size_t i = 0; i < e->nunits; i++)
        add_unit(&p, e->units[i]);
    if (p.shows)
        ompjit__buf_printf(program, "%s%s;\n", show_text, NAME_AT);
    ompjit__buf_printf(program, "%s", p.file.data ? p.file.data : "");
    if (p.shows)
        ompjit__buf_printf(program,
                           "%s\n{\n(void)data;\n(void)at;\n%sreturn 0;\n}\n",
                           NAME_AT, p.names.data ? p.names.data : "");
    ompjit__buf_printf(program, "\nint main(void)\n{\n%sreturn 0;\n}\n",
                       p.main.data ? p.main.data : "");
    ompjit__buf_free(&p.names);
    ompjit__buf_free(&p.file);
    ompjit__buf_free(&p.main);
    forget_shaped(&p);
    free(p.shaped);
    free(p.renamed);
}
