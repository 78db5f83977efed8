/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Code that holds nothing else: LLVM bitcode, IR as text, and PTX. Only what
 * tells them apart is read; the compiler wing and the driver read them whole.
 */
#include <stdio.h>
#include <string.h>

#include "images/reader.h"

static const char gpu_triple[] = "nvptx64-nvidia-cuda";

/* ------------------------------------------------------------------ texts */

static bool begins(ompjit__bytes b, const char *word)
{
    size_t n = strlen(word);
    return b.n >= n && !memcmp(b.p, word, n);
}

/* Drops n bytes, of which there are as many. */
static void drop(ompjit__bytes *b, size_t n)
{
    b->p += n;
    b->n -= n;
}

/* Past the end of the line, or of the bytes. */
static void drop_line(ompjit__bytes *b)
{
    const unsigned char *end = b->n ? memchr(b->p, '\n', b->n) : NULL;
    drop(b, end ? (size_t)(end + 1 - b->p) : b->n);
}

static void drop_blanks(ompjit__bytes *b)
{
    while (b->n && memchr(" \t\r\n", *b->p, 4))
        drop(b, 1);
}

/* Past a comment of C that has begun. */
static void drop_block(ompjit__bytes *b)
{
    while (b->n && !begins(*b, "*/"))
        drop(b, 1);
    drop(b, b->n ? 2 : 0);
}

/* Behind white space and comments, of C or those that begin with `line`. */
static ompjit__bytes first_word(ompjit__bytes b, const char *line)
{
    for (;;) {
        drop_blanks(&b);
        if (begins(b, line))
            drop_line(&b);
        else if (begins(b, "/*"))
            drop_block(&b);
        else
            return b;
    }
}

/* Copies the name at the beginning of b. */
static void name(ompjit__bytes b, char *to, size_t room)
{
    size_t n = 0;
    while (n < b.n && n < room &&
           (b.p[n] == '_' || b.p[n] == '-' || b.p[n] == '.' ||
            (b.p[n] >= '0' && b.p[n] <= '9') ||
            (b.p[n] >= 'a' && b.p[n] <= 'z') ||
            (b.p[n] >= 'A' && b.p[n] <= 'Z')))
        n++;
    ompjit__image_copy(to, room, b.p, n);
}

/* ------------------------------------------------------------------- kinds */

/* The wrapper has its magic as a little-endian number. */
static bool is_bitcode(ompjit__bytes b)
{
    return begins(b, "BC\xC0\xDE") || begins(b, "\xDE\xC0\x17\x0B");
}

/* PTX begins with .version (PTX ISA, "PTX Module Directives"). */
static bool is_ptx(ompjit__bytes b)
{
    return begins(first_word(b, "//"), ".version");
}

/* The first words of top-level entities that LLVM prints first. */
static bool is_ir(ompjit__bytes b)
{
    static const char *const words[] = {
        "source_filename", "target ", "define ", "declare ", "module asm",
        "attributes ", "@", "%", "$", "!"};
    b = first_word(b, ";");
    for (size_t i = 0; i < OMPJIT__COUNT(words); i++)
        if (begins(b, words[i]))
            return true;
    return false;
}

/* Bitcode is known by its magic; texts are tried after that. Every other format
 * has been asked before: a leaf is the last one. */
bool ompjit__leaf_is(ompjit__bytes b)
{
    return is_bitcode(b) || is_ptx(b) || is_ir(b);
}

/* Text ends before the NULs that many producers put behind it, and has none
 * itself. */
static ompjit_status text(ompjit__image_reader *r, ompjit__content *content,
                          const char *what)
{
    ompjit__bytes *b = &content->bytes;
    while (b->n && !b->p[b->n - 1])
        b->n--;
    const unsigned char *nul = b->n ? memchr(b->p, 0, b->n) : NULL;
    return nul ? ompjit__image_bad(r, nul, "a NUL within %s", what) : OMPJIT_OK;
}

/* ".target sm_90a, texmode_independent": the directive behind .version. */
static ompjit_status read_ptx(ompjit__image_reader *r, ompjit__content *content)
{
    char arch[sizeof content->arch] = "";
    ompjit_status status = text(r, content, "PTX");
    ompjit__bytes b = first_word(content->bytes, "//");
    if (status)
        return status;
    drop_line(&b);
    b = first_word(b, "//");
    if (!begins(b, ".target"))
        return ompjit__image_bad(r, b.p, "PTX without .target behind .version");
    drop(&b, strlen(".target"));
    drop_blanks(&b);
    name(b, arch, sizeof arch);
    return ompjit__piece_add(r, content, OMPJIT__PIECE_PTX, gpu_triple, arch);
}

/* `target triple = "nvptx64-nvidia-cuda"`, a line of its own. */
static ompjit_status read_ir(ompjit__image_reader *r, ompjit__content *content)
{
    static const char directive[] = "target triple = \"";
    char triple[sizeof content->triple] = "";
    ompjit_status status = text(r, content, "IR");
    ompjit__bytes b = content->bytes;
    while (b.n && !begins(b, directive))
        drop_line(&b);
    if (b.n) {
        drop(&b, strlen(directive));
        name(b, triple, sizeof triple);
    }
    return status ? status
                  : ompjit__piece_add(r, content, OMPJIT__PIECE_IR_TEXT, triple,
                                      "");
}

/* Bitcode's triple is the compiler wing's to read. */
ompjit_status ompjit__leaf_read(ompjit__image_reader *r,
                                const ompjit__content *content)
{
    ompjit__content own = *content;
    if (is_bitcode(content->bytes))
        return ompjit__piece_add(r, content, OMPJIT__PIECE_BITCODE, "", "");
    return is_ptx(content->bytes) ? read_ptx(r, &own) : read_ir(r, &own);
}
