/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libedit, loaded when there is a terminal: a tool that only runs programs does
 * without it. What is declared here is libedit.so.2's <histedit.h>.
 */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/base.h"
#include "tool/repl/terminal/edit.h"

/* <histedit.h> */
enum {
    EL_EDITOR = 2,
    EL_SIGNAL = 3,
    EL_BIND = 4,
    EL_ADDFN = 9,
    EL_HIST = 10,
    EL_GETCFN = 13,
    EL_PROMPT_ESC = 21
};
enum { H_SETSIZE = 1, H_ENTER = 10, H_LOAD = 17, H_SAVE = 18, H_SETUNIQUE = 20 };
enum { CC_REFRESH = 4, CC_ERROR = 6, CC_REDISPLAY = 8 };
typedef struct editline editline;
typedef struct history history_list;
typedef struct {
    int number;
    const char *text;
} history_event;
typedef struct {
    const char *buffer, *cursor, *last;
} line_info;

/* All are required. */
#define FUNCTIONS(F)                                                           \
    F(editline *, el_init, (const char *, FILE *, FILE *, FILE *))             \
    F(void, el_end, (editline *))                                              \
    F(const char *, el_gets, (editline *, int *))                              \
    F(int, el_set, (editline *, int, ...))                                     \
    F(const line_info *, el_line, (editline *))                                \
    F(int, el_insertstr, (editline *, const char *))                           \
    F(history_list *, history_init, (void))                                    \
    F(void, history_end, (history_list *))                                     \
    F(int, history, (history_list *, history_event *, int, ...))

struct edit {
    void *library; /* NULL: there is none */
    editline *el;
    history_list *past;
    char *file;
    const char *prompt;
    char shown[64]; /* the same with its colours */
    bool interrupted;
    edit_complete *complete;
    edit_paint *paint; /* NULL: no colours */
    void *data;
#define MEMBER(type, name, arguments) type(*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

/* -------------------------------------------------------------- completion */

static size_t common(const struct edit_names *names)
{
    size_t n = strlen(names->names[0]);
    for (size_t i = 1; i < names->n; i++) {
        size_t same = 0;
        while (same < n && names->names[i][same] == names->names[0][same])
            same++;
        n = same;
    }
    return n;
}

static void list(const struct edit_names *names)
{
    enum { MOST = 100, WIDTH = 76 };
    size_t column = 0;
    fputc('\n', stdout);
    for (size_t i = 0; i < names->n && i < MOST; i++) {
        size_t n = strlen(names->names[i]) + 2;
        if (column && column + n > WIDTH) {
            fputc('\n', stdout);
            column = 0;
        }
        printf("%s  ", names->names[i]);
        column += n;
    }
    printf(names->n > MOST ? "... (%zu names)\n" : "\n", names->n);
    fflush(stdout);
}

/* libedit calls with its own object alone, and its functions are the edit's. */
static edit *_Atomic only;

static edit *edit_of(editline *el)
{
    edit *e = atomic_load(&only);
    return e && e->el == el ? e : NULL;
}

/* At a line's begin Tab indents: all names would be no help there. */
static bool is_indentation(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i == size;
}

/* Tab: as much as all names have in common, or a list of them. */
static unsigned char on_tab(editline *el, int key)
{
    edit *e = edit_of(el);
    struct edit_names names = {0};
    (void)key;
    if (!e)
        return CC_ERROR;
    const line_info *line = e->el_line(el);
    size_t size = (size_t)(line->cursor - line->buffer);
    unsigned char how = CC_ERROR;
    if (is_indentation(line->buffer, size))
        return e->el_insertstr(el, "    ") ? CC_ERROR : CC_REFRESH;
    e->complete(e->data, line->buffer, size, &names);
    if (names.n) {
        size_t typed = size - names.begin, n = common(&names);
        char *more = n > typed ? strndup(names.names[0] + typed, n - typed)
                               : NULL;
        if (more && !e->el_insertstr(el, more))
            how = CC_REFRESH;
        free(more);
        if (n <= typed && names.n > 1) {
            list(&names);
            how = CC_REDISPLAY;
        }
    }
    for (size_t i = 0; i < names.n; i++)
        free(names.names[i]);
    free(names.names);
    return how;
}

/* ------------------------------------------------------------------ libedit */

/* Encloses what takes no place on the screen. */
enum { NOT_SHOWN = 1 };
#define PROMPT_BEGINS "\033[1;32m"
#define PROMPT_ENDS "\033[0m"

static const char *give_prompt(editline *el)
{
    const edit *e = edit_of(el);
    return e ? e->shown : "";
}

/* libedit writes what is not shown before the next letter: the last one, a blank,
 * has to be behind all of it. */
static void set_prompt(edit *e, const char *prompt)
{
    e->prompt = prompt;
    if (e->paint)
        snprintf(e->shown, sizeof e->shown,
                 "\1" PROMPT_BEGINS "\1%.*s\1" PROMPT_ENDS "\1 ",
                 (int)strlen(prompt) - 1, prompt);
    else
        snprintf(e->shown, sizeof e->shown, "%s", prompt);
}

/* Columns of the screen that a text takes; -1: that is not known. */
static int columns_of(const char *text, size_t size)
{
    mbstate_t state = {0};
    int columns = 0;
    while (size) {
        wchar_t c;
        size_t n = mbrtowc(&c, text, size, &state);
        int width = n && n <= size ? wcwidth(c) : -1;
        if (width < 0)
            return -1;
        columns += width;
        text += n;
        size -= n;
    }
    return columns;
}

static int screen_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col
               ? 80
               : size.ws_col;
}

/* Writes the line that libedit shows once more, in colours: equal letters at
 * equal places, so that what libedit knows of the screen stays true. A line that
 * goes on in the next row of the screen stays as it is. */
static void paint_line(edit *e)
{
    const line_info *line = e->el_line(e->el);
    const size_t size = (size_t)(line->last - line->buffer);
    const size_t before = (size_t)(line->cursor - line->buffer);
    const int prompt = (int)strlen(e->prompt);
    const int all = columns_of(line->buffer, size);
    const int cursor = columns_of(line->buffer, before);
    ompjit__buf text = {0};
    if (all <= 0 || cursor < 0 || prompt + all >= screen_columns())
        return;
    e->paint(e->data, line->buffer, size, &text);
    if (!text.failed) {
        printf("\r\033[%dC", prompt);
        fwrite(text.data, 1, text.size, stdout);
        printf("\r\033[%dC", prompt + cursor);
        fflush(stdout);
    }
    ompjit__buf_free(&text);
}

/* Waits for what the terminal gives. SIGINT is blocked but meanwhile, so that
 * none is missed. Where letters are there, too, they were typed behind it: the
 * terminal drops those before. False: an interrupt. */
static bool wait_for_terminal(edit *e)
{
    static const struct timespec none = {0};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t open, interrupt;
    sigprocmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGINT);
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    if (ppoll(&input, 1, NULL, &open) < 0)
        e->interrupted = errno == EINTR;
    else if (sigtimedwait(&interrupt, NULL, &none) == SIGINT)
        e->interrupted = true;
    else
        return true;
    return false;
}

static int get_letter(editline *el, wchar_t *out)
{
    mbstate_t state = {0};
    edit *e = edit_of(el);
    if (e->paint)
        paint_line(e);
    for (;;) {
        char c;
        if (!wait_for_terminal(e))
            return -1;
        if (read(STDIN_FILENO, &c, 1) <= 0)
            return 0;
        size_t n = mbrtowc(out, &c, 1, &state);
        if (n == (size_t)-1)
            *out = (unsigned char)c;
        if (n != (size_t)-2)
            return 1;
    }
}

static bool load_library(edit *e)
{
    e->library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!e->library)
        return false;
#define LOAD(type, name, arguments)                                            \
    *(void **)&e->name = dlsym(e->library, #name);                             \
    if (!e->name)                                                              \
        return false;
    FUNCTIONS(LOAD)
#undef LOAD
    return true;
}

/* False: lines come as the terminal gives them. */
static bool begin(edit *e)
{
    enum { LINES = 5000 };
    history_event event;
    if (!load_library(e))
        return false;
    setlocale(LC_CTYPE, ""); /* by which libedit reads letters */
    e->el = e->el_init("ompjit", stdin, stdout, stderr);
    e->past = e->history_init();
    if (!e->el || !e->past)
        return false;
    atomic_store(&only, e);
    e->el_set(e->el, EL_PROMPT_ESC, give_prompt, NOT_SHOWN);
    e->el_set(e->el, EL_EDITOR, "emacs");
    e->el_set(e->el, EL_SIGNAL, 0);
    e->el_set(e->el, EL_GETCFN, get_letter);
    e->history(e->past, &event, H_SETSIZE, LINES);
    e->history(e->past, &event, H_SETUNIQUE, 1);
    if (e->file)
        e->history(e->past, &event, H_LOAD, e->file);
    e->el_set(e->el, EL_HIST, e->history, e->past);
    e->el_set(e->el, EL_ADDFN, "ompjit-complete", "names that fit", on_tab);
    e->el_set(e->el, EL_BIND, "^I", "ompjit-complete", NULL);
    e->el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    return true;
}

static void end(edit *e)
{
    history_event event;
    if (e->past && e->file && e->el)
        e->history(e->past, &event, H_SAVE, e->file);
    if (e->el)
        e->el_end(e->el);
    if (e->past)
        e->history_end(e->past);
    if (e->library)
        dlclose(e->library);
    e->el = NULL;
    e->past = NULL;
    e->library = NULL;
    atomic_store(&only, NULL);
}

edit *edit_new(const char *history, edit_complete *complete, edit_paint *paint,
               void *data)
{
    edit *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->complete = complete;
    e->paint = paint;
    e->data = data;
    e->file = history ? ompjit__strdup(history) : NULL;
    if (!begin(e))
        end(e);
    return e;
}

void edit_free(edit *e)
{
    if (!e)
        return;
    end(e);
    free(e->file);
    free(e);
}

/* -------------------------------------------------------------------- lines */

/* A terminal gives one line at a time, so that no other one is in a buffer when
 * this waits for it. */
static enum edit_end plain_line(edit *e, const char *prompt, char **line)
{
    size_t room = 0;
    printf(e->paint ? PROMPT_BEGINS "%s" PROMPT_ENDS : "%s", prompt);
    fflush(stdout);
    if (!wait_for_terminal(e))
        return e->interrupted ? EDIT_INTERRUPTED : EDIT_EOF;
    if (getline(line, &room, stdin) >= 0) {
        (*line)[strcspn(*line, "\n")] = '\0';
        return EDIT_LINE;
    }
    free(*line);
    *line = NULL;
    return EDIT_EOF;
}

static enum edit_end edited_line(edit *e, const char *prompt, char **line)
{
    int n = 0;
    set_prompt(e, prompt);
    const char *text = e->el_gets(e->el, &n);
    if (!text || n <= 0)
        return e->interrupted ? EDIT_INTERRUPTED : EDIT_EOF;
    *line = strndup(text, (size_t)n - (text[n - 1] == '\n'));
    return *line ? EDIT_LINE : EDIT_EOF;
}

enum edit_end edit_line(edit *e, const char *prompt, char **line)
{
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    *line = NULL;
    e->interrupted = false;
    enum edit_end how = e->el ? edited_line(e, prompt, line)
                              : plain_line(e, prompt, line);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return how;
}

void edit_remember(edit *e, const char *text, size_t size)
{
    history_event event;
    while (size && strchr(" \t\n", text[size - 1]))
        size--;
    char *entry = size && e->past ? strndup(text, size) : NULL;
    if (entry)
        e->history(e->past, &event, H_ENTER, entry);
    free(entry);
}
