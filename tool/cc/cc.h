/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler commands. `ompjit cc` runs clang with flags that make it put
 * device bitcode into objects, or becomes clang where there is no -fopenmp.
 * clang finds two programs in a folder of ours, which are this tool by other
 * names:
 *
 *   ompjit cc              cc.c     runs clang (run.c)
 *   llvm-offload-binary    pack.c   device bitcode into its container
 *   clang-linker-wrapper   link.c   registers the device code (inputs.c),
 *                                   becomes the linker
 *
 * flang's driver has no such places: `ompjit fc` (fc.c) asks it for its commands
 * and runs those, with more of them for sources.
 *
 * Both have host halves corrected (repair.c), and clang's halves made to agree
 * (match.c).
 *
 * Of the library's internals they use the search for clang, growing lists and
 * buffers, the readers of ELF files and device images, and the repair of host
 * halves.
 */
#ifndef OMPJIT_TOOL_CC_H
#define OMPJIT_TOOL_CC_H

#include <signal.h>

#include "frontend/clang/clang.h"

/* --------------------------------------------------------------- commands */

/* Become clang, or return an exit status after a message. argv[0] is the
 * command's name. */
int tool_cc(int argc, char **argv);
int tool_cxx(int argc, char **argv);
int tool_fc(int argc, char **argv); /* flang */
/* What clang calls by the names of LLVM's programs; argv[0] is any. */
int tool_link(int argc, char **argv);
int tool_pack(int argc, char **argv);

/* ---------------------------------------------------------------- request.c */

/* It stands before a word for the device's half alone. */
#define DEVICE_CC1 "-Xopenmp-target=nvptx64-nvidia-cuda"

/* The user's request. `words` is freed by the caller. */
struct request {
    ompjit__args words; /* the user's, with response files expanded */
    bool openmp, no_link, host_only, lto, verbose;
    bool headers, sources, objects; /* kinds of inputs             */
    bool named_language;            /* -x, not the inputs' endings */
    bool fortran;                   /* the driver is flang's, which knows no words
                                       for one half; set by the caller */
};
void request_read(struct request *r, int argc, char *const *argv);
/* Is it a link without -fopenmp, as CMake writes it, of objects that have device
 * code? */
bool request_links_device_code(const struct request *r);
/* Has the text of a source that word? */
bool request_sources_have(const struct request *r, const char *word);
/* Adds the user's words, but those that say how to offload. */
void request_add_words(const struct request *r, ompjit__args *out);

/* ------------------------------------------------------------------ words.c */

/* Appends the words of a text, which is changed: quotes and backslashes are taken
 * off. */
void words_split(ompjit__args *out, char *text);
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

/* -------------------------------------------------------------------- run.c */

/* Programs that run one after the other, with a folder for temporary files that
 * TMPDIR names. Signals are blocked between them. */
struct steps {
    char *folder;
    sigset_t mask; /* of signals, as this process has been started with */
    int how;       /* the last one has ended, as waitpid has it         */
    bool crashed;  /* one has left files about a fault of its own       */
};

/* EXIT_OK, or another status after a message. */
int steps_begin(struct steps *s);
/* Runs a program; its exit status, or 128 and the signal that has ended it.
 * `errors` is the descriptor of its standard error; -1: this one's. */
int steps_run(struct steps *s, const ompjit__args *words, int errors);
/* Removes the folder. Returns the status, or ends by the signal that the last
 * program has ended by. */
int steps_end(struct steps *s, int status);
/* As steps_run, and appends what the program writes to its standard error, with a
 * NUL behind it. */
int steps_run_for_text(struct steps *s, const ompjit__args *words,
                       ompjit__buf *text);
/* All of that for one program. */
int words_run(const ompjit__args *words);

/* ------------------------------------------------------------------- pack.c */

/* Appends an image in LLVM's offload binary, OpenMP's, of 8-byte alignment. */
void pack_image(ompjit__buf *out, const char *triple, const char *arch,
                const void *image, size_t size);
/* An ELF object for this CPU with the bytes and two hidden symbols,
 * ompjit_images_begin and ompjit_images_end. */
void pack_object(ompjit__buf *out, const ompjit__buf *bytes);

/* ---------------------------------------------------------------- bitcode.c */

/* Has bitcode no symbol at all, as of a source without device code? */
bool bitcode_is_empty(const ompjit__buf *bitcode);
/* Refers it to a variable that it does not define? False where that is not known. */
bool bitcode_lacks_variable(const ompjit__buf *bitcode);
/* Do both halves define a variable, or a constant, that the host half hides from
 * other files, or that is a function's own? False where that is not known. */
bool bitcode_share_unseen(const ompjit__buf *host, const ompjit__buf *device);
/* Is a target region of the device half in a function that the host half hides
 * from other files? False where that is not known. */
bool bitcode_has_own_region(const ompjit__buf *host, const ompjit__buf *device);

/* ----------------------------------------------------------------- repair.c */

/* Corrects a host half in its file, and marks data regions of it by the device
 * half in another; NULL: none are marked. `*ctx` is made when it is NULL, and is
 * the caller's to destroy. EXIT_OK or, after a message, another status. */
int half_repair(ompjit_context **ctx, const char *host, const char *device);
/* Corrects the host half of which clang has made the device half in that file, and
 * has the halves agree, where they need it. */
int halves_repair(const char *device);

/* ------------------------------------------------------------------ match.c */

/* Has the two halves of a source agree, in their files; `may_differ`: where they
 * are of one source. EXIT_OK or, after a message, another status. */
int halves_match(const char *host, const char *device, bool may_differ);

/* ----------------------------------------------------------------- inputs.c */

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
