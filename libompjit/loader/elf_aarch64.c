/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Relocations of AArch64 (ELF for the Arm 64-bit Architecture, 5.7): those of
 * position-independent code in the small code model.
 */
#include <elf.h>
#include <string.h>

#include "loader/elf.h"

#ifdef __aarch64__

const unsigned ompjit__elf_machine = EM_AARCH64;

/* `value`, signed, into `bits` of the instruction from bit `at` on. False: it
 * does not fit, and the place is unchanged. The other bits of the instruction
 * stay. */
static bool put_signed(unsigned char *place, int64_t value, unsigned bits,
                       unsigned at)
{
    uint32_t insn, mask = (UINT32_C(1) << bits) - 1;
    int64_t limit = INT64_C(1) << (bits - 1);
    if (value < -limit || value >= limit)
        return false;
    memcpy(&insn, place, sizeof insn);
    insn = (insn & ~(mask << at)) | (((uint32_t)value & mask) << at);
    memcpy(place, &insn, sizeof insn);
    return true;
}

/* A distance in instructions. `distance` is in bytes; the instruction counts
 * words of 4. */
static bool put_branch(unsigned char *place, int64_t distance, unsigned bits,
                       unsigned at)
{
    return distance % 4 == 0 && put_signed(place, distance / 4, bits, at);
}

/* adr and adrp: 21 bits, of which the lower two stand apart. The upper 19 bits
 * stand at bit 5, the lower two at bit 29. */
static bool put_adr(unsigned char *place, int64_t value)
{
    int64_t low = value & 3;
    return put_signed(place, (value - low) / 4, 19, 5) &&
           put_signed(place, low & 2 ? low - 4 : low, 2, 29);
}

/* The distance of the pages of 4 KiB, which adrp counts by whatever the size of
 * the machine's pages is. So adrp reaches 4 GiB in either direction. */
static int64_t pages(uint64_t from, uint64_t to)
{
    return (int64_t)((to & ~UINT64_C(4095)) - (from & ~UINT64_C(4095))) / 4096;
}

/* The place in its page, in units of what is loaded. An unscaled place is an
 * error: the instruction cannot express it. No bound is checked, as the names
 * of these types say (_NC): the adrp before it has been. */
static bool put_low(unsigned char *place, uint64_t address, unsigned unit)
{
    uint32_t insn, low = address & 4095;
    if (low % unit)
        return false;
    memcpy(&insn, place, sizeof insn);
    insn = (insn & ~(UINT32_C(4095) << 10)) | low / unit << 10;
    memcpy(place, &insn, sizeof insn);
    return true;
}

/* The slot's address: what the GOT's entry of the symbol would be. */
static uint64_t put_slot(const ompjit__relocation *r)
{
    memcpy(r->slot, &r->symbol, sizeof r->symbol);
    return (uint64_t)(uintptr_t)r->slot + (uint64_t)r->addend;
}

/* The stub is `ldr x16, slot` and `br x16`. ldr takes a literal within 1 MiB;
 * slots lie right behind stubs. */
static bool put_stub(const ompjit__relocation *r)
{
    static const uint32_t jump[] = {0x58000010, 0xd61f0200};
    put_slot(r);
    memcpy(r->stub, jump, sizeof jump);
    return put_branch(r->stub, r->slot - r->stub, 19, 5);
}

/* A branch reaches 128 MiB in either direction; farther by the stub, which may
 * use x16 (IP0), as a linker's veneer. */
static bool put_call(const ompjit__relocation *r, int64_t distance)
{
    return put_branch(r->place, distance, 26, 0) ||
           (!r->addend && put_stub(r) &&
            put_branch(r->place, r->stub - r->place, 26, 0));
}

/* False: it does not fit into 32 bits, signed. */
static bool put32(unsigned char *place, int64_t value)
{
    int32_t low = (int32_t)value;
    memcpy(place, &low, sizeof low);
    return value == low;
}

/* elf.c has checked for 4 bytes of room only. */
static bool put64(const ompjit__relocation *r, uint64_t value)
{
    if (r->room < sizeof value)
        return false;
    memcpy(r->place, &value, sizeof value);
    return true;
}

/* The names S, A, P and G in the ABI's formulas are `symbol`, `addend`, `place`
 * and the slot. A type that is missing here makes elf.c refuse the object, and
 * ORC links it. */
bool ompjit__elf_relocate(const ompjit__relocation *r)
{
    uint64_t value = r->symbol + (uint64_t)r->addend;
    uint64_t place = (uint64_t)(uintptr_t)r->place;
    int64_t distance = (int64_t)(value - place);
    switch (r->type) {
    case R_AARCH64_ABS64:
        return put64(r, value);
    case R_AARCH64_PREL64:
        return put64(r, (uint64_t)distance);
    case R_AARCH64_PREL32:
        return put32(r->place, distance);
    case R_AARCH64_LD_PREL_LO19:
    case R_AARCH64_CONDBR19:
        return put_branch(r->place, distance, 19, 5);
    case R_AARCH64_TSTBR14:
        return put_branch(r->place, distance, 14, 5);
    case R_AARCH64_ADR_PREL_LO21:
        return put_adr(r->place, distance);
    case R_AARCH64_ADR_PREL_PG_HI21:
        return put_adr(r->place, pages(place, value));
    case R_AARCH64_ADR_GOT_PAGE:
        return put_adr(r->place, pages(place, put_slot(r)));
    case R_AARCH64_LD64_GOT_LO12_NC:
        return put_low(r->place, put_slot(r), 8);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return put_low(r->place, value, 1);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return put_low(r->place, value, 2);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return put_low(r->place, value, 4);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return put_low(r->place, value, 8);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return put_low(r->place, value, 16);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        return put_call(r, distance);
    default:
        return false;
    }
}

#endif
