/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The plain linker: a relocatable ELF object, as LLVM makes of one kernel or
 * one host half, into this process, without LLVM. It refuses what it does not
 * know, and ORC links that: thread-local storage, indirect functions, common
 * symbols, relocations beyond a handful.
 */
#ifndef OMPJIT_ELF_H
#define OMPJIT_ELF_H

#include "base/base.h"

typedef struct ompjit__elf ompjit__elf; /* code and data of one object */

/* The address of a name that the object lacks; NULL: not known. */
typedef void *ompjit__elf_find(void *data, const char *name);

/* Asks `find` for each undefined name but weak ones that it does not know,
 * which become 0. NULL where the object is not for this linker, a name is not
 * known, or memory ran out: nothing says which, since ORC is asked next.
 * `object` is aligned to 8 bytes and not needed afterwards. `undefined` gets all
 * names that are not known, where it was linked but for them; NULL: nobody asks.
 */
ompjit__elf *ompjit__elf_link(const void *object, size_t size,
                              ompjit__elf_find *find, void *data,
                              ompjit__buf *undefined);
/* A global symbol that the object defines; NULL: it does not. The address lives
 * as long as `elf`. Any thread. NULL for `elf` is allowed here and in
 * ompjit__elf_name, and finds nothing. */
void *ompjit__elf_symbol(const ompjit__elf *elf, const char *name);
/* The name of a global symbol that is exactly at the address; NULL: there is
 * none. The text is the elf's. */
const char *ompjit__elf_name(const ompjit__elf *elf, const void *address);
/* The address of a section of the object; 0: it is not loaded. */
uint64_t ompjit__elf_section(const ompjit__elf *elf, unsigned section);
/* The range of whole pages that can be executed. */
void ompjit__elf_extent(const ompjit__elf *elf, uintptr_t *begin,
                        uintptr_t *end);
/* Unmaps it; nobody runs it any more. Accepts NULL. */
void ompjit__elf_free(ompjit__elf *elf);

/* The address range of the whole section that has `symbol`, in an object where
 * that symbol was linked at `address`. False where the object has no such
 * symbol. The offsets of the object are checked. elf_code.c */
bool ompjit__elf_code(const void *object, size_t size, const char *symbol,
                      uintptr_t address, uintptr_t *begin, uintptr_t *end);

/* ------------------------------------------------------ elf_frames.c */

typedef struct ompjit__code_range {
    uintptr_t begin, end;
} ompjit__code_range;

/* Tells whether libgcc can read those frames, and all are of code in that
 * range: it aborts the process otherwise. Reads no byte behind `size`. */
bool ompjit__elf_frames_sound(const unsigned char *frames, size_t size,
                              const ompjit__code_range *code);

/* -------------------------------------------- one file per architecture */

/* One relocation at `place`. `slot` is 8 bytes that may become the symbol's
 * address, `stub` OMPJIT__ELF_STUB bytes of code that may jump to it; both lie
 * near the place. */
enum { OMPJIT__ELF_STUB = 16 };
typedef struct ompjit__relocation {
    uint32_t type;
    unsigned char *place; /* with `room` bytes, 4 or more */
    size_t room;
    uint64_t symbol; /* address */
    int64_t addend;
    unsigned char *slot, *stub;
} ompjit__relocation;

/* e_machine of what can be linked here; 0: nothing. */
extern const unsigned ompjit__elf_machine;
/* False: the type is not known, or the symbol is too far away. */
bool ompjit__elf_relocate(const ompjit__relocation *r);
#endif
