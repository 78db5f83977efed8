/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The device half needs one thing of the host half: where the program's target
 * regions are, by function and line, and its variables. While somebody works on
 * a snippet that stays the same from compile to compile, though the code
 * changes; so what the last host half of such a source said is told to the
 * device half at once, both run at the same time, and the two are compared in
 * the end. A source is such a one if all lines are the same in which functions
 * or directives begin, and have the same numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "frontend/clang/clang.h"

/* Does the line begin a function, or have a directive? A mark that is missed
 * here is found in the comparison. */
static bool is_mark(const char *line, size_t n)
{
    size_t blank = strspn(line, " \t");
    bool letter = (line[0] >= 'a' && line[0] <= 'z') ||
                  (line[0] >= 'A' && line[0] <= 'Z') || line[0] == '_';
    if (letter || (blank < n && line[blank] == '#'))
        return true;
    for (const char *p = line; (p = memchr(p, '_', n - (size_t)(p - line)));
         p++)
        if (!strncmp(p, "_Pragma", 7))
            return true;
    return false;
}

char *ompjit__source_marks(const char *source)
{
    ompjit__buf marks = {0};
    for (unsigned number = 1; *source; number++) {
        size_t n = strcspn(source, "\n");
        if (n && is_mark(source, n))
            ompjit__buf_printf(&marks, "%u %.*s\n", number, (int)n, source);
        source += n + (source[n] == '\n');
    }
    if (!marks.failed && marks.data)
        return marks.data;
    ompjit__buf_free(&marks);
    return NULL;
}

/* ---------------------------------------------------------------- the list */

/* Leaves an unused place. */
static void guess_free(ompjit__guess *guess)
{
    free(guess->key);
    free(guess->marks);
    ompjit__buf_free(&guess->info);
    *guess = (ompjit__guess){0};
}

void ompjit__guesses_free(ompjit__guess *all)
{
    for (unsigned i = 0; i < OMPJIT__GUESSES; i++)
        guess_free(&all[i]);
}

/* NULL: there is none for these command lines and marks. */
static ompjit__guess *find(ompjit__guess *all, const char *key,
                           const char *marks)
{
    for (unsigned i = 0; i < OMPJIT__GUESSES && all[i].key; i++)
        if (!strcmp(all[i].key, key) && !strcmp(all[i].marks, marks))
            return &all[i];
    return NULL;
}

void ompjit__guess_take(ompjit__guess *all, const char *key, const char *marks,
                        ompjit__buf *info)
{
    ompjit__guess *guess = key && marks ? find(all, key, marks) : NULL;
    if (guess)
        ompjit__buf_add(info, guess->info.data, guess->info.size);
}

void ompjit__guess_put(ompjit__guess *all, const char *key, const char *marks,
                       const ompjit__buf *info)
{
    if (!key || !marks || info->failed)
        return;
    ompjit__guess new = {.key = ompjit__strdup(key),
                         .marks = ompjit__strdup(marks)};
    ompjit__guess *old = find(all, key, marks);
    ompjit__buf_add(&new.info, info->data, info->size);
    if (!new.key || !new.marks || new.info.failed) {
        guess_free(&new);
        return;
    }
    if (!old)
        old = &all[OMPJIT__GUESSES - 1];
    guess_free(old);
    memmove(all + 1, all, (size_t)(old - all) * sizeof *all);
    all[0] = new;
}
