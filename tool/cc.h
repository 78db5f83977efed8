/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler commands. `ompjit cc` runs clang with flags that make it put
 * device bitcode into objects, or becomes clang where there is no -fopenmp.
 * clang finds two programs in a folder of ours, which are this tool by other
 * names:
 *
 *   ompjit cc              cc.c        runs clang (cc_run.c)
 *   llvm-offload-binary    cc_pack.c   device bitcode into its container
 *   clang-linker-wrapper   cc_link.c   registers the device code (cc_inputs.c),
 *                                      becomes the linker
 *
 * Of the library's internals they use the search for clang, growing lists and
 * buffers, and the readers of ELF files and device images.
 */
#ifndef OMPJIT_TOOL_CC_H
#define OMPJIT_TOOL_CC_H

#include "frontend/clang/clang.h"

/* --------------------------------------------------------------- commands */

/* Become clang, or return an exit status after a message. argv[0] is the
 * command's name. */
int tool_cc(int argc, char **argv);
int tool_cxx(int argc, char **argv);
/* What clang calls by the names of LLVM's programs; argv[0] is any. */
int tool_link(int argc, char **argv);
int tool_pack(int argc, char **argv);

/* -------------------------------------------------------------- cc_words.c */

/* Appends words, with those of response files (@FILE) in their place, as GNU
 * programs read them. A file that cannot be read stays a word. */
void words_expand(ompjit__args *out, int argc, char *const *argv);
/* One line on stderr, as clang -v shows commands. */
void words_show(const ompjit__args *words);
/* This process becomes the program that is the first word. Returns only with
 * an exit status, after a message. */
int words_exec(const ompjit__args *words);
/* The same program with a response file in memory, where the words are too many
 * for the kernel. False: no memory. */
bool words_shorten(const ompjit__args *words, ompjit__args *out);
/* A descriptor that the next program inherits, of a file in memory with these
 * bytes; -1 with errno. */
int memory_file(const ompjit__buf *content);
/* The folder of clang's two programs, malloc'd; NULL after a message. */
char *tools_folder(void);

/* --------------------------------------------------------------- cc_run.c */

/* Runs clang with a folder for its temporary files, and removes that. Returns
 * clang's exit status, or ends by the same signal. */
int words_run(const ompjit__args *words);

/* --------------------------------------------------------------- cc_pack.c */

/* Appends an image in LLVM's offload binary, OpenMP's, of 8-byte alignment. */
void pack_image(ompjit__buf *out, const char *triple, const char *arch,
                const void *image, size_t size);
/* An ELF object for this CPU with the bytes and two hidden symbols,
 * ompjit_images_begin and ompjit_images_end. */
void pack_object(ompjit__buf *out, const ompjit__buf *bytes);

/* ------------------------------------------------------------- cc_inputs.c */

/* An object or a member of an archive that has device code. */
struct device_input {
    char *file;   /* as the linker is to name it               */
    char *member; /* NULL: of no archive                       */
    bool thin;    /* the member is a file of its own           */
    bool linked;  /* the host link takes it                    */
    const unsigned char *bytes; /* mapped for good             */
    size_t size;
};
struct device_inputs {
    struct device_input *list;
    size_t n, capacity;
    bool any_member; /* which are linked, the linker must say */
    bool all;        /* also what has no device code is taken */
    size_t damaged;  /* where an archive ends early; 0: none  */
    bool failed;     /* no memory                             */
};

/* Adds those of a linker's words, or clang's: files, and -l by -L. */
void inputs_find(struct device_inputs *inputs, const ompjit__args *words);
/* Adds a file, or the members of an archive. */
void inputs_add(struct device_inputs *inputs, const char *file);
/* Marks what a linker's trace (-t -t) names, which is changed; NULL: all. */
void inputs_mark(struct device_inputs *inputs, char *trace);
/* All linked inputs' code in one image of LLVM's containers, one for each
 * source, in the order of the link; empty: there is none. EXIT_OK or, after a
 * message, another status. */
int inputs_image(const struct device_inputs *inputs, ompjit__buf *out);

#endif
