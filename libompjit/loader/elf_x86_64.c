/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Relocations of x86-64 (System V ABI, AMD64 supplement, 4.4.1): those of
 * position-independent code.
 */
#include <elf.h>
#include <string.h>

#include "loader/elf.h"

#ifdef __x86_64__

const unsigned ompjit__elf_machine = EM_X86_64;

/* False: it does not fit into a signed displacement of 32 bits. LLVM's code is
 * for the small code model: it expects every symbol within 2 GiB. Symbols of
 * the process need not be that near the mapping, hence slots and stubs. */
static bool put32(unsigned char *place, uint64_t value)
{
    int32_t low = (int32_t)value;
    if ((int64_t)value != low)
        return false;
    memcpy(place, &low, sizeof low);
    return true;
}

/* elf.c has checked for 4 bytes of room only. */
static bool put64(const ompjit__relocation *r, uint64_t value)
{
    if (r->room < sizeof value)
        return false;
    memcpy(r->place, &value, sizeof value);
    return true;
}

/* Makes the slot what the symbol's entry in a global offset table would be. */
static void put_slot(const ompjit__relocation *r)
{
    memcpy(r->slot, &r->symbol, sizeof r->symbol);
}

/* jmp *slot(%rip), whose displacement counts from its own end, 6 bytes on. */
static bool put_stub(const ompjit__relocation *r)
{
    static const unsigned char jump[] = {0xff, 0x25};
    put_slot(r);
    memcpy(r->stub, jump, sizeof jump);
    return put32(r->stub + 2, (uint64_t)(r->slot - (r->stub + 6)));
}

/* The ABI's formulas, with S, A, P and G as `symbol`, `addend`, `place` and the
 * slot. A type that is missing here makes elf.c refuse the object, and ORC
 * links it. */
bool ompjit__elf_relocate(const ompjit__relocation *r)
{
    uint64_t value = r->symbol + (uint64_t)r->addend;
    uint64_t place = (uint64_t)(uintptr_t)r->place;
    switch (r->type) {
    case R_X86_64_64:
        return put64(r, value);
    case R_X86_64_PC64:
        return put64(r, value - place);
    case R_X86_64_PC32:
        return put32(r->place, value - place);
    case R_X86_64_PLT32: /* directly where that is near, else by the stub */
        return put32(r->place, value - place) ||
               (put_stub(r) &&
                put32(r->place, (uint64_t)(uintptr_t)r->stub +
                                    (uint64_t)r->addend - place));
    case R_X86_64_GOTPCREL: /* the X forms allow shorter code, not made here */
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        put_slot(r);
        return put32(r->place, (uint64_t)(uintptr_t)r->slot +
                                   (uint64_t)r->addend - place);
    default:
        return false;
    }
}

#endif
