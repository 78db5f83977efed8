/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a linker of offloading adds to a program: the device images, which are
 * in the file that IMAGE names, with the entries of the program, which are in
 * the section ENTRIES.
 */
#include <stdint.h>
#include <stdlib.h>

#ifndef ENTRIES
#define ENTRIES "llvm_offload_entries"
#endif

__asm__(".section .rodata\n"
        "image_begin: .incbin \"" IMAGE "\"\n"
        "image_end: .byte 0\n"
        ".previous\n");
extern char image_begin, image_end;
extern char begin __asm__("__start_" ENTRIES)
    __attribute__((visibility("hidden")));
extern char end __asm__("__stop_" ENTRIES)
    __attribute__((visibility("hidden")));

struct image {
    void *begin, *end, *entries_begin, *entries_end;
};

struct descriptor {
    int32_t n;
    struct image *images;
    void *entries_begin, *entries_end;
};

void __tgt_register_lib(struct descriptor *);
void __tgt_unregister_lib(struct descriptor *);

static struct image images[] = {{&image_begin, &image_end, &begin, &end}};
static struct descriptor descriptor = {1, images, &begin, &end};

static void leave(void)
{
    __tgt_unregister_lib(&descriptor);
}

/* As early as LLVM's own wrapper does it. */
__attribute__((constructor(101))) static void enter(void)
{
    __tgt_register_lib(&descriptor);
    atexit(leave);
}
