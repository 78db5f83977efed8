/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Tells whether a section of unwind information (.eh_frame) may be registered
 * with libgcc. Since GCC 13 libgcc reads all records when a section is
 * registered, and keeps the range of code in a tree of all of the process's
 * ranges, so a damaged record would end the process. Known is the form that
 * LLVM writes; the format is that of the Linux Standard Base, "Exception
 * Frames".
 */
#include <string.h>

#include "loader/elf.h"

/* Encodings of pointers: relative to their own place, 4 or 8 bytes. A
 * personality function is moreover found through a slot. */
enum { PCREL_4 = 0x1b, PCREL_8 = 0x1c, INDIRECT = 0x80 };

/* Reads a record from `at` on. After a failure every read gives 0 or NULL, so
 * that callers may check once, at the end. */
struct reader {
    const unsigned char *at, *end;
    bool failed;
};

/* The next n bytes; NULL where the record has fewer. */
static const unsigned char *take(struct reader *r, size_t n)
{
    const unsigned char *at = r->at;
    if (r->failed || n > (size_t)(r->end - at)) {
        r->failed = true;
        return NULL;
    }
    r->at += n;
    return at;
}

static uint32_t take_word(struct reader *r)
{
    uint32_t word = 0;
    const unsigned char *at = take(r, sizeof word);
    if (at)
        memcpy(&word, at, sizeof word);
    return word;
}

static unsigned take_byte(struct reader *r)
{
    const unsigned char *at = take(r, 1);
    return at ? *at : 0;
}

/* A number in LEB128, whose value does not matter. */
static void skip_number(struct reader *r)
{
    enum { MORE = 0x80 };
    while (take_byte(r) & MORE)
        ;
}

/* Bytes of an address in that encoding; 0: an encoding that is not known. */
static size_t pointer_size(unsigned encoding)
{
    unsigned plain = encoding & ~(unsigned)INDIRECT;
    return plain == PCREL_4 ? 4 : plain == PCREL_8 ? 8 : 0;
}

/* A personality function's address is not checked: it is read only when an
 * exception is thrown through the code. */
static void skip_personality(struct reader *r)
{
    size_t size = pointer_size(take_byte(r));
    r->failed |= !size || !take(r, size);
}

/* Reads a common record behind its id: the encoding of its functions'
 * addresses. The letters are the augmentation: z begins it, R is the encoding
 * looked for, P a personality function, L the encoding of language data, S a
 * signal frame. Any other letter has a length that is not known here. */
static unsigned common_encoding(struct reader *r)
{
    enum { FORMAT = 1 };
    unsigned encoding = 0;
    r->failed |= take_byte(r) != FORMAT || take_byte(r) != 'z';
    const unsigned char *letters = r->at;
    while (take_byte(r))
        ;
    skip_number(r); /* alignment of code    */
    skip_number(r); /* alignment of data    */
    take_byte(r);   /* the return address's register */
    skip_number(r); /* bytes that the letters stand for */
    for (; !r->failed && *letters; letters++) {
        if (*letters == 'R')
            encoding = take_byte(r);
        else if (*letters == 'P')
            skip_personality(r);
        else if (*letters == 'L')
            take_byte(r);
        else
            r->failed |= *letters != 'S';
    }
    r->failed |= encoding != PCREL_4 && encoding != PCREL_8;
    return encoding;
}

/* Reads an address relative to its place, and with it the size of the code:
 * both within `code`. libgcc keeps that range in its tree, and would end the
 * process for one that overlaps another's. */
static void check_range(struct reader *r, size_t pointer,
                        const ompjit__code_range *code)
{
    uintptr_t place = (uintptr_t)r->at;
    const unsigned char *begin = take(r, pointer), *size = take(r, pointer);
    int64_t distance = 0, n = 0;
    if (r->failed)
        return;
    if (pointer == sizeof(int32_t)) {
        int32_t word;
        memcpy(&word, begin, sizeof word);
        distance = word;
        memcpy(&word, size, sizeof word);
        n = (uint32_t)word;
    } else {
        memcpy(&distance, begin, sizeof distance);
        memcpy(&n, size, sizeof n);
    }
    uintptr_t address = place + (uintptr_t)distance;
    r->failed |= address < code->begin || address > code->end ||
                 (uint64_t)n > code->end - address;
}

/* The next record of the section; one of length 0 ends it. A record of 64-bit
 * DWARF has length 0xffffffff here, which no section has: it counts as damaged.
 */
static bool next_record(struct reader *section, struct reader *record)
{
    uint32_t length = take_word(section);
    record->at = section->at;
    record->failed = false;
    if (!length || !take(section, length))
        return false;
    record->end = section->at;
    return true;
}

/* A record that begins with 0 is common to functions behind it (a CIE); any
 * other begins with the distance back to its common one (an FDE). A section in
 * another order than LLVM's is refused, and ORC registers it. */
bool ompjit__elf_frames_sound(const unsigned char *frames, size_t size,
                              const ompjit__code_range *code)
{
    struct reader section = {frames, frames + size, false}, record;
    const unsigned char *common = NULL; /* the last one; LLVM's come before
                                           the functions that use them */
    unsigned encoding = 0;
    while (section.at < section.end && next_record(&section, &record)) {
        const unsigned char *start = record.at;
        uint32_t back = take_word(&record);
        if (!back) {
            common = start - sizeof back;
            encoding = common_encoding(&record);
        } else {
            record.failed |= !common || back != (size_t)(start - common);
            check_range(&record, pointer_size(encoding), code);
        }
        if (record.failed)
            return false;
    }
    return !section.failed;
}
