/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What `ompjit cc` links into each program and shared library that has device
 * code: registers it before other constructors, as LLVM's own wrapper does, and
 * takes it back when the program ends or the library is closed. All symbols but
 * the library's two are hidden: each program and library has its own.
 */
#include <stdlib.h>

#include "abi/offload.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The section of clang's entries, which the linker puts together. */
extern char __start_llvm_offload_entries[] HIDDEN;
extern char __stop_llvm_offload_entries[] HIDDEN;
/* LLVM's containers, one for each source; in an object of pack.c's. */
extern char ompjit_images_begin[] HIDDEN, ompjit_images_end[] HIDDEN;

void __tgt_register_lib(ompjit__bin_desc *desc);
void __tgt_unregister_lib(ompjit__bin_desc *desc);

/* Where no object has entries, there is such a section all the same. */
static char none[0]
    __attribute__((used, section("llvm_offload_entries"), aligned(8)));

static ompjit__device_image image = {
    ompjit_images_begin, ompjit_images_end, __start_llvm_offload_entries,
    __stop_llvm_offload_entries};
static ompjit__bin_desc library = {
    1, &image, __start_llvm_offload_entries, __stop_llvm_offload_entries};

static void leave(void)
{
    __tgt_unregister_lib(&library);
}

__attribute__((constructor(101))) static void enter(void)
{
    __tgt_register_lib(&library);
    atexit(leave);
}
