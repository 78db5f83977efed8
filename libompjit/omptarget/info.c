/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lines about constructs and their arguments, for LIBOMPTARGET_INFO.
 */
#include <inttypes.h>

#include "omptarget/info.h"

/* How the program maps an argument, as libomptarget calls it. */
static const char *kind_of(uint64_t type, int64_t size)
{
    bool to = type & OMPJIT__MAP_TO, from = type & OMPJIT__MAP_FROM;
    return to && from                   ? "tofrom"
           : to                         ? "to"
           : from                       ? "from"
           : type & OMPJIT__MAP_PRIVATE ? "private"
           : type & OMPJIT__MAP_LITERAL ? "firstprivate"
           : size                       ? "alloc"
                                        : "use_address";
}

/* The form of the lines is libomptarget's, which tools read. */
void ompjit__info_construct(ompjit_device *dev, const ompjit__ident *where,
                            const char *what, const ompjit__maps *maps)
{
    ompjit__info_place at;
    ompjit__info_place_read(where ? where->source : NULL, true, &at);
    ompjit__info_line(dev->ctx, dev->number, "%s at %s:%u:%u with %d arguments:",
                      what, at.file, at.line, at.column, maps->n);
    for (int32_t i = 0; i < maps->n; i++) {
        ompjit__info_place name;
        uint64_t type = (uint64_t)maps->types[i];
        ompjit__info_place_read(maps->names ? maps->names[i] : NULL, false,
                                &name);
        ompjit__info_line(dev->ctx, dev->number, "%s(%s)[%" PRId64 "] %s",
                          kind_of(type, maps->sizes[i]), name.name,
                          maps->sizes[i],
                          type & OMPJIT__MAP_IMPLICIT ? "(implicit)" : "");
    }
}

/* From here on the flags are the program's, not LIBOMPTARGET_INFO's. */
void ompjit__s_set_info_flag(ompjit_context *ctx, uint32_t flags)
{
    atomic_store_explicit(&ctx->info, flags, memory_order_relaxed);
}
