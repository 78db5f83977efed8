/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words of command lines: response files, a line to show them, the program that
 * this process becomes, and the folder of the programs that clang finds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool/cc/cc.h"
#include "tool/tool.h"

/* --------------------------------------------------------- response files */

enum { MOST = 1 << 26, DEPTH = 20 }; /* bytes of a file; files in files */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' ||
           c == '\v';
}

/* One word from *text, which is not blank, in place: quotes and backslashes are
 * taken off. Moves *text behind it. */
static char *take_word(char **text)
{
    char *from = *text, *to = from, *word = from, quote = 0;
    for (; *from && (quote || !is_blank(*from)); from++) {
        if (quote ? *from == quote : *from == '"' || *from == '\'')
            quote = quote ? 0 : *from;
        else if (*from == '\\' && from[1] && quote != '\'')
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *text = from + (*from != 0);
    *to = 0;
    return word;
}

void words_split(ompjit__args *out, char *text)
{
    while (*text) {
        if (is_blank(*text))
            text++;
        else
            ompjit__args_add(out, take_word(&text));
    }
}

static void expand(ompjit__args *out, const char *word, unsigned depth)
{
    ompjit__buf text = {0};
    if (word[0] != '@' || depth == DEPTH ||
        ompjit__read_most(word + 1, MOST, &text, NULL) || !text.data) {
        ompjit__args_add(out, word);
        ompjit__buf_free(&text);
        return;
    }
    for (char *at = text.data; *at;) {
        if (is_blank(*at))
            at++;
        else
            expand(out, take_word(&at), depth + 1);
    }
    ompjit__buf_free(&text);
}

void words_expand(ompjit__args *out, int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++)
        expand(out, argv[i], 0);
}

/* Quoted, as response files and clang -v have it. */
static void add_quoted(ompjit__buf *out, const char *word)
{
    ompjit__buf_add(out, "\"", 1);
    for (; *word; word++) {
        if (strchr("\"\\", *word))
            ompjit__buf_add(out, "\\", 1);
        ompjit__buf_add(out, word, 1);
    }
    ompjit__buf_add(out, "\"", 1);
}

void words_show(const ompjit__args *words)
{
    ompjit__buf line = {0};
    for (size_t i = 0; i < words->n; i++) {
        ompjit__buf_add(&line, " ", 1);
        add_quoted(&line, words->v[i]);
    }
    ompjit__buf_add(&line, "\n", 1);
    if (!line.failed)
        fwrite(line.data, 1, line.size, stderr);
    ompjit__buf_free(&line);
}

/* ---------------------------------------------------------------- programs */

int memory_file(const ompjit__buf *content)
{
    int fd = memfd_create("ompjit", 0);
    for (size_t done = 0; fd >= 0 && done < content->size;) {
        ssize_t n = write(fd, content->data + done, content->size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int cause = errno;
            close(fd);
            errno = cause;
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

bool words_shorten(const ompjit__args *words, ompjit__args *out)
{
    ompjit__buf text = {0};
    char file[64];
    for (size_t i = 1; i < words->n; i++) {
        add_quoted(&text, words->v[i]);
        ompjit__buf_add(&text, "\n", 1);
    }
    int fd = text.failed ? -1 : memory_file(&text);
    ompjit__buf_free(&text);
    snprintf(file, sizeof file, "@/proc/self/fd/%d", fd);
    ompjit__args_add(out, words->v[0]);
    ompjit__args_add(out, file);
    return fd >= 0 && !out->failed;
}

int words_exec(const ompjit__args *words)
{
    ompjit__args fewer = {0};
    if (words->failed) {
        complain("out of memory");
        return EXIT_FAILED;
    }
    execv(words->v[0], words->v);
    if (errno == E2BIG && words_shorten(words, &fewer))
        execv(fewer.v[0], fewer.v);
    complain("%s does not start: %s", words->v[0], strerror(errno));
    return EXIT_FAILED;
}

char *tools_folder(void)
{
    char *compiler = ompjit__compiler_program();
    char *slash = compiler ? strrchr(compiler, '/') : NULL;
    char *folder = NULL, *program = NULL;
    if (slash)
        folder = ompjit__format("%.*s/clang-tools", (int)(slash - compiler),
                                compiler);
    if (folder)
        program = ompjit__format("%s/clang-linker-wrapper", folder);
    if (!program) {
        complain("out of memory");
    } else if (access(program, X_OK)) {
        complain("%s, which links device code, is not there: %s", program,
                 strerror(errno));
        free(program);
        program = NULL;
    }
    if (!program) {
        free(folder);
        folder = NULL;
    }
    free(program);
    free(compiler);
    return folder;
}
