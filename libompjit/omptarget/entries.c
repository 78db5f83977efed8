/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host entries of a registered library, in the layouts of clang 18 and 19
 * (32 bytes) and of clang 20 on (56 bytes). Nothing but the bytes tells which:
 * an entry of the newer layout begins with 0, a version and a kind.
 */
#include <inttypes.h>
#include <string.h>

#include "omptarget/library.h"

/* All flags that an entry of OpenMP's may have (abi/offload.h). */
enum {
    FLAGS = OMPJIT__ENTRY_LINK | OMPJIT__ENTRY_CTOR | OMPJIT__ENTRY_DTOR |
            OMPJIT__ENTRY_INDIRECT | OMPJIT__ENTRY_REQUIRES |
            OMPJIT__ENTRY_INDIRECT_VTABLE
};

static size_t size_of(bool old)
{
    return old ? sizeof(ompjit__offload_entry_old)
               : sizeof(ompjit__offload_entry);
}

/* The first 16 bytes of an old entry are an address and a pointer to a name:
 * those are no 0 and no version. A requirement has no address, but a name. */
static bool is_new(const char *entry)
{
    ompjit__offload_entry e;
    memcpy(&e, entry, offsetof(ompjit__offload_entry, address));
    return !e.reserved && e.version == OMPJIT__ENTRY_VERSION &&
           e.kind <= OMPJIT__OFFLOAD_SYCL;
}

ompjit__offload_entry ompjit__entry_at(const ompjit__entries *entries,
                                       size_t i)
{
    const char *at = entries->begin + i * size_of(entries->old);
    ompjit__offload_entry e;
    if (!entries->old) {
        memcpy(&e, at, sizeof e);
        return e;
    }
    ompjit__offload_entry_old o;
    memcpy(&o, at, sizeof o);
    return (ompjit__offload_entry){
        .version = OMPJIT__ENTRY_VERSION, .kind = OMPJIT__OFFLOAD_OPENMP,
        .flags = (uint32_t)o.flags, .address = o.address, .name = o.name,
        .size = o.size, .data = (uint64_t)(int64_t)o.data};
}

/* clang gives variables a size, and flags to all that are not regions. */
bool ompjit__entry_is_kernel(const ompjit__offload_entry *e)
{
    return !e->size && !e->flags;
}

/* What is wrong with an entry of OpenMP's; NULL: nothing. */
static const char *fault(const ompjit__offload_entry *e)
{
    if (e->flags & ~(uint32_t)FLAGS)
        return "has flags that no compiler sets";
    if (e->flags & OMPJIT__ENTRY_REQUIRES)
        return NULL;
    if (e->flags & (OMPJIT__ENTRY_CTOR | OMPJIT__ENTRY_DTOR))
        return "is a constructor or destructor, as clang 16 and before made "
               "them: build the program with a newer clang";
    if (!e->address)
        return "has no host address";
    return e->name && *e->name ? NULL : "has no name";
}

/* Entries of other languages (CUDA, HIP, SYCL) are not looked at further: they
 * may lie in the same section. `begin` equal to `end` is a library without
 * entries. */
ompjit_status ompjit__entries_read(const void *begin, const void *end,
                                   ompjit__entries *out, ompjit_error *err)
{
    uintptr_t from = (uintptr_t)begin, to = (uintptr_t)end;
    size_t bytes = to - from;
    *out = (ompjit__entries){.begin = begin};
    if (from == to)
        return OMPJIT_OK;
    out->old = to > from && bytes >= sizeof(ompjit__offload_entry_old) &&
               !(bytes >= sizeof(ompjit__offload_entry) && is_new(begin));
    size_t size = size_of(out->old);
    if (!from || to < from || from % sizeof(void *) || bytes % size)
        return ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                            "the offload entries from %p to %p are no array "
                            "of entries of %zu bytes, as clang 20 and later "
                            "make them, nor of %zu, as before", begin, end,
                            sizeof(ompjit__offload_entry),
                            sizeof(ompjit__offload_entry_old));
    out->n = bytes / size;
    for (size_t i = 0; i < out->n; i++) {
        ompjit__offload_entry e = ompjit__entry_at(out, i);
        bool valid = out->old || is_new(out->begin + i * size);
        if (valid && e.kind != OMPJIT__OFFLOAD_OPENMP)
            continue;
        const char *what = valid ? fault(&e)
                                 : "is not of the same layout as the first";
        if (what)
            return ompjit__fail(err, OMPJIT_ERR_ABI, OMPJIT_STAGE_LOAD,
                                "offload entry %zu of %zu (%s, %s, flags 0x%"
                                PRIx32 ") %s", i, out->n,
                                valid && e.name ? e.name : "no name",
                                out->old ? "32 bytes" : "56 bytes", e.flags,
                                what);
    }
    return OMPJIT_OK;
}
