/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Says what a newcomer may have meant: commands without their colon, and OpenMP's
 * functions without their header.
 */
#include <string.h>

#include "tool/repl/session/engine.h"

/* The text without blanks around it, and without "()" at its end. */
static bool is_word(const struct input *in, const char *word)
{
    static const char blanks[] = " \t\r\n", call[] = "()";
    const char *begin = in->text + strspn(in->text, blanks);
    const size_t n = strlen(word);
    if (strncmp(begin, word, n))
        return false;
    begin += n;
    if (!strncmp(begin, call, sizeof call - 1))
        begin += sizeof call - 1;
    return begin[strspn(begin, blanks)] == '\0';
}

static bool is_command(const struct input *in)
{
    static const char *const words[] = {"help", "quit", "exit"};
    for (size_t i = 0; i < OMPJIT__COUNT(words); i++)
        if (is_word(in, words[i]))
            return true;
    return false;
}

static bool says(const struct outcome *out, const char *a, const char *b)
{
    for (size_t i = 0; i < out->nmessages; i++)
        if (strstr(out->messages[i].text, a) ||
            strstr(out->messages[i].text, b))
            return true;
    return false;
}

/* `exit` is a function, whose address is shown. */
void hint(const struct input *in, struct outcome *out)
{
    if (is_command(in) && (out->kind == OUTCOME_BAD || is_word(in, "exit")))
        outcome_tell(out, "note: :help lists the commands, and :quit leaves");
    if (out->kind != OUTCOME_BAD)
        return;
    if (says(out, "undeclared function 'omp_", "undeclared identifier 'omp_"))
        outcome_tell(out, "note: include the header <omp.h>");
    if (says(out, "non-local lambda expression",
             "cannot be captured because it does not have automatic"))
        outcome_tell(out, "note: a lambda uses variables of the session "
                          "without capturing them: []");
}
