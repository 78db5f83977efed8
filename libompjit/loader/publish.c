/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * gdb finds the list of objects that are debugged, and stops for a moment in
 * the function that is called for each change of it, by their names. perf reads
 * its file when it reports: one line for each function, "BEGIN SIZE NAME" in
 * hexadecimal.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "loader/publish.h"

/* ------------------------------------------------------------------- gdb */

/* The layout is gdb's ("JIT Compilation Interface"). A debugger reads both
 * structs and the object out of the stopped process: they are ABI, and stay at
 * their place while they are in the list. */
struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const char *object;
    uint64_t size;
};

enum jit_action { NOTHING, REGISTER, UNREGISTER };

struct jit_descriptor {
    uint32_t version;
    uint32_t action;
    struct jit_code_entry *relevant, *first;
};

/* Weak: in the unit tests LLVM's ORC, which has both too, is in the same
 * library. gdb sets a breakpoint in the function, so it must be neither inlined
 * nor empty enough to be merged or dropped. */
__attribute__((weak)) struct jit_descriptor __jit_debug_descriptor = {
    .version = 1};
__attribute__((weak, noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

/* gdb's entry and the copy of the object that it points to, in one allocation.
 */
struct ompjit__published {
    struct jit_code_entry entry;
    char object[];
};

/* Guards gdb's list, as its documentation wants: gdb reads it while the process
 * stands still in the function below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
OMPJIT__FORK_TAKES(lock)

/* `relevant` and `action` mean something only during the call. */
static void tell_debugger(struct jit_code_entry *entry, enum jit_action action)
{
    struct jit_descriptor *all = &__jit_debug_descriptor;
    pthread_mutex_lock(&lock);
    if (action == REGISTER) {
        entry->next = all->first;
        if (entry->next)
            entry->next->prev = entry;
        all->first = entry;
    } else {
        if (entry->next)
            entry->next->prev = entry->prev;
        if (entry->prev)
            entry->prev->next = entry->next;
        else
            all->first = entry->next;
    }
    all->relevant = entry;
    all->action = action;
    __jit_debug_register_code();
    all->action = NOTHING;
    all->relevant = NULL;
    pthread_mutex_unlock(&lock);
}

/* Has the object, which was linked and so is sound, line tables? One with so
 * many sections that their number is elsewhere (ELF, e_shnum) counts as one
 * without. */
static bool has_lines(const char *object)
{
    const Elf64_Ehdr *head = (const void *)object;
    const Elf64_Shdr *s = (const void *)(object + head->e_shoff);
    if (head->e_shstrndx >= head->e_shnum)
        return false;
    const char *names = object + s[head->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (!strcmp(names + s[i].sh_name, ".debug_line"))
            return true;
    return false;
}

/* gdb takes the sections' addresses from the object. So the copy gets them in
 * sh_addr, which a relocatable object has 0 in. NULL: no line tables, with
 * which gdb could do nothing, or no memory. */
static ompjit__published *publish_object(const void *object, size_t size,
                                         const uint64_t *addresses)
{
    ompjit__published *p =
        has_lines(object) ? calloc(1, sizeof *p + size) : NULL;
    if (!p)
        return NULL;
    memcpy(p->object, object, size);
    const Elf64_Ehdr *head = (const void *)p->object;
    Elf64_Shdr *sections = (void *)(p->object + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++)
        sections[i].sh_addr = addresses[i];
    p->entry.object = p->object;
    p->entry.size = size;
    tell_debugger(&p->entry, REGISTER);
    return p;
}

/* ------------------------------------------------------------------ perf */

bool ompjit__publish_wanted(void)
{
    const char *text = getenv("OMPJIT_PERF");
    return text && !strcmp(text, "1");
}

/* Appends the functions of a symbol table that are loaded. Offsets within the
 * symbol and string tables are the linker's to have checked; names and section
 * numbers are checked here. */
static void list_functions(const char *object, const Elf64_Shdr *table,
                           const Elf64_Shdr *names, const uint64_t *addresses,
                           ompjit__buf *text)
{
    const Elf64_Ehdr *head = (const void *)object;
    const Elf64_Sym *s = (const void *)(object + table->sh_offset);
    for (size_t n = table->sh_size / sizeof *s; n; n--, s++) {
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_size ||
            s->st_shndx >= head->e_shnum || !addresses[s->st_shndx] ||
            s->st_name >= names->sh_size)
            continue;
        ompjit__buf_printf(text, "%" PRIx64 " %" PRIx64 " %s\n",
                           addresses[s->st_shndx] + s->st_value, s->st_size,
                           object + names->sh_offset + s->st_name);
    }
}

/* The file is this user's, and no link is followed. /tmp is everybody's: the
 * name can be guessed, and another user may have put a link or a file there. */
static int open_map(void)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                  0600);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
                    st.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A write that fails costs the report some lines, and nothing else. One write
 * appends all lines, so that threads do not mix theirs. */
static void publish_functions(const char *object, const uint64_t *addresses)
{
    const Elf64_Ehdr *head = (const void *)object;
    const Elf64_Shdr *sections = (const void *)(object + head->e_shoff);
    ompjit__buf text = {0};
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB &&
            sections[i].sh_link < head->e_shnum)
            list_functions(object, &sections[i], &sections[sections[i].sh_link],
                           addresses, &text);
    int fd = text.failed || !text.size ? -1 : open_map();
    if (fd >= 0) {
        ssize_t n = write(fd, text.data, text.size);
        (void)n;
        close(fd);
    }
    ompjit__buf_free(&text);
}

/* ------------------------------------------------------------------ whole */

ompjit__published *ompjit__publish(const void *object, size_t size,
                                   const uint64_t *addresses, bool debugger)
{
    if (ompjit__publish_wanted())
        publish_functions(object, addresses);
    return debugger ? publish_object(object, size, addresses) : NULL;
}

void ompjit__unpublish(ompjit__published *published)
{
    if (published)
        tell_debugger(&published->entry, UNREGISTER);
    free(published);
}
