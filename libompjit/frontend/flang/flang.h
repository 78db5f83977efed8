/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fortran to units by flang's processes, and flang's runtime library.
 *
 *   do_concurrent.c   which loops flang gets wrong on a device
 *   find_flang.c      which flang, and its files
 *   flang_command.c   the two command lines
 *   hlfir.c           device halves by way of HLFIR; the loops of a source
 *   complex_results.c functions with complex results in them
 *   common_blocks.c   COMMON blocks and EQUIVALENCE in them
 *   box_arguments.c   arguments of target regions that are boxes
 *   outside_values.c  constant arrays in target regions
 *   whole_objects.c   objects of which a region uses more than flang maps
 *   optional_scalars.c  optional dummies that a region has by value
 *   fortran_inputs.c  the files that a source may read, for the cache's key
 *   modules.c         folders of .mod files, which are kept with the unit
 *   flang.c           one compile, by the cache or in a pair of processes
 *   flang_runtime.c   _FortranA... functions as code of this process
 */
#ifndef OMPJIT_FRONTEND_FLANG_H
#define OMPJIT_FRONTEND_FLANG_H

#include "cache/cache.h"
#include "frontend/clang/clang.h"

/* ---------------------------------------------------------------- flang.c */

/* Fortran to a unit, by flang in its own processes, or by the cache. The last
 * flag -J names the folder of .mod files; without one those of this source are
 * not kept. options->name is not NULL. All is borrowed. The unit is the caller's,
 * on success. Any thread, several at a time; sources that use each other's
 * modules one after the other. SOURCE error with flang's diagnostics, INVALID
 * for flags, UNAVAILABLE without flang, IO, TIMEOUT, ABORTED. */
ompjit_status ompjit__frontend_fortran(ompjit_context *ctx, const char *source,
                                       const ompjit_module_options *options,
                                       ompjit__unit *out, ompjit_error *err);

/* ----------------------------------------------------------- find_flang.c */

typedef struct ompjit__flang {
    char *path;         /* of the executable            */
    char *resource_dir; /* of its runtime library       */
    char *include_dir;  /* of omp_lib.h and its modules */
    char *fir_opt;      /* flang's tool for its own IR  */
} ompjit__flang;

/* OMPJIT_FLANG, the one beside configure's clang, flang-22 on PATH. UNAVAILABLE
 * error that says how to get it; NO_MEMORY. The caller frees `out`, which is set
 * on success only. */
ompjit_status ompjit__flang_find(ompjit__flang *out, ompjit_error *err);
void ompjit__flang_free(ompjit__flang *flang);

/* -------------------------------------------------------- flang_command.c */

/* A device half is compiled with these words, up to NULL: without calls of cexp,
 * __divsc3 and the like, since flang cannot return complex values on a GPU. */
extern const char *const ompjit__flang_complex[];

/* The command lines, which the caller frees, without the folders that modules
 * are written to. `dirs` gets the folders in which flang looks for files, and
 * *modules what -J names, malloc'd, or NULL. INVALID error as for C. */
ompjit_status ompjit__flang_command(const ompjit__flang *flang,
                                    const ompjit_module_options *options,
                                    ompjit__command *out, ompjit__args *dirs,
                                    char **modules, ompjit_error *err);

/* ---------------------------------------------------------------- hlfir.c */

/* Has flang refused a type that it has for x86-64, and not for a GPU, or a
 * function with a complex result? */
bool ompjit__flang_needs_hlfir(const ompjit__buf *diag);
/* A half's command, changed so that it writes HLFIR for the host's triple; and
 * so that it reads HLFIR. Words are appended to *out, which the
 * caller frees. */
void ompjit__hlfir_command(const ompjit__args *half, const char *triple,
                           ompjit__args *out);
void ompjit__hlfir_code_command(const ompjit__args *half, ompjit__args *out);
/* Is the flag to be left out where loops are to be seen as the source has them?
 */
bool ompjit__hlfir_turns_loops(const char *flag);
/* A host half's command, changed so that it writes HLFIR with the loops of the
 * source. Words are appended to *out. */
void ompjit__hlfir_loops_command(const ompjit__args *host, ompjit__args *out);
/* Has the HLFIR a `do concurrent` with a clause reduce, however that came into
 * the source? */
bool ompjit__hlfir_reduces(const ompjit__buf *hlfir);
/* Appends the text as HLFIR for a GPU. False: it is not as flang 22 writes it.
 */
bool ompjit__hlfir_for_gpu(const ompjit__buf *hlfir, ompjit__buf *out);

/* ------------------------------------------------------ complex_results.c */

/* Appends the HLFIR with tuples as complex results. */
void ompjit__hlfir_complex(const ompjit__buf *hlfir, ompjit__buf *out);

/* -------------------------------------------------------- common_blocks.c */

/* Appends the HLFIR with local variables in place of COMMON blocks and of
 * EQUIVALENCE in functions of the host's. */
void ompjit__hlfir_storage(const ompjit__buf *hlfir, ompjit__buf *out);

/* --------------------------------------------------------- box_arguments.c */

/* Appends the HLFIR with references in place of boxes among the arguments of
 * target regions: flang reads what it has written then. */
void ompjit__hlfir_boxes(const ompjit__buf *hlfir, ompjit__buf *out);

/* ------------------------------------------------------- outside_values.c */

/* Has flang refused a target region for a value from outside of it? */
bool ompjit__flang_uses_outside(const ompjit__buf *diag);
/* Words for flang, up to NULL, and the start of the value of -mmlir that names
 * the file, with which it writes the HLFIR of its failure. */
extern const char *const ompjit__outside_words[];
#define OMPJIT__OUTSIDE_FILE "--mlir-pass-pipeline-crash-reproducer="
/* A half's command, changed so that flang writes that HLFIR to standard output.
 * Words are appended to *out. */
void ompjit__outside_command(const ompjit__args *half, ompjit__args *out);
/* Appends that HLFIR with the values that its regions need, and the option of
 * fir-opt for the passes that flang has not run. False: a value can be made in
 * no region, or it is not such HLFIR. */
bool ompjit__outside_repair(const ompjit__buf *reproducer, ompjit__buf *out,
                            ompjit__buf *pipeline);
/* Appends fir-opt's command, from standard input to standard output. */
void ompjit__outside_passes(const ompjit__flang *flang,
                            const ompjit__buf *pipeline, ompjit__args *out);

/* -------------------------------------------------------- whole_objects.c */

/* Has a host half's HLFIR map all of each object of which a target region uses
 * more than flang maps. False: there is none, and the text is as before. */
bool ompjit__hlfir_whole_objects(ompjit__buf *hlfir);

/* ----------------------------------------------------- optional_scalars.c */

/* Has a half's HLFIR pass private copies of optional scalars that a target region
 * has without a clause. False: there is none, and the text is as before. */
bool ompjit__hlfir_optional_scalars(ompjit__buf *hlfir);

/* ------------------------------------------------------- fortran_inputs.c */

/* Adds to a key the contents of all files that the source may read: modules
 * and included files in `dirs`. False where its meaning changes with the time.
 */
bool ompjit__fortran_inputs(const char *source, const ompjit__args *dirs,
                            ompjit__key *key);

/* INVALID error where the source, or a file that it includes, has a
 * `do concurrent` loop with a `reduce` clause, and `flags` make target regions
 * of such loops: flang's result would be wrong. */
ompjit_status ompjit__fortran_check(const char *source, const char *name,
                                    const char *const *flags, size_t nflags,
                                    const ompjit__args *dirs,
                                    ompjit_error *err);

/* The words that a source, a file that it includes, or a module of it has. They
 * may stand in a comment. */
struct ompjit__fortran_names {
    bool storage; /* COMMON or EQUIVALENCE                             */
    bool objects; /* regions, or `concurrent`, and components, or OPTIONAL, in
                     one text                                          */
};

/* All are true where memory is short. */
struct ompjit__fortran_names ompjit__fortran_look(const char *source,
                                                  const ompjit__args *dirs);

/* Do the flags make target regions of `do concurrent`? */
bool ompjit__fortran_loops_are_regions(const char *const *flags, size_t n);
/* The error of ompjit__fortran_check at a place. */
ompjit_status ompjit__fortran_reduce_fail(const char *place, ompjit_error *err);

/* -------------------------------------------------------- do_concurrent.c */

/* The line of the text's first `do concurrent` with a `reduce` clause; 0: there
 * is none. */
unsigned ompjit__fortran_reduces(const char *text, bool fixed);

/* -------------------------------------------------------------- modules.c */

/* Makes a private folder under TMPDIR; *path is malloc'd. IO error. */
ompjit_status ompjit__folder_new(char **path, ompjit_error *err);
/* Removes the folder with all that is in it, and frees `path`, which may be
 * NULL. */
void ompjit__folder_free(char *path);
/* Has another one of `dirs` a .mod file of the name of one in the folder? */
bool ompjit__modules_hidden(const char *folder, const ompjit__args *dirs);
/* Appends the .mod files of a folder. IO error. */
ompjit_status ompjit__modules_pack(const char *folder, ompjit__buf *out,
                                   ompjit_error *err);
/* Writes them into a folder, but for those that are there already. IO error
 * that names the file. Bytes that are no modules set r->bad. */
ompjit_status ompjit__modules_install(ompjit__reader *r, const char *folder,
                                      ompjit_error *err);

/* -------------------------------------------------------- flang_runtime.c */

/* Is the name one of flang's runtime library? */
bool ompjit__flang_runtime_has(const char *name);
/* The address of one of its functions. It is loaded once for the process and
 * stays; where flang has it as an archive only, a shared library is linked of
 * that, which the cache keeps. NULL with an error in *err (not NULL) where there
 * is none, NULL with OK where it lacks the name. Any thread. */
void *ompjit__flang_runtime(ompjit_context *ctx, const char *name,
                            ompjit_error *err);

#endif
