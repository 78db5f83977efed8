/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Public structs of other versions. A program that was compiled with an older
 * header has smaller structs: what they lack is 0. One that was compiled with a
 * newer header has larger ones: their end must be 0 in options, and becomes 0 in
 * results.
 */
#include <string.h>

#include "base/structs.h"
#include "ompjit_cache.h"
#include "ompjit_debug.h"
#include "ompjit_function.h"
#include "ompjit_opt.h"
#include "ompjit_rtl.h"
#include "ompjit_tune.h"

static const struct {
    const char *name, *initializer;
    size_t size;
} structs[OMPJIT__STRUCTS] = {
#define STRUCT(name, initializer) \
    {"ompjit_" #name, "OMPJIT_" #initializer "_INIT", sizeof(ompjit_##name)},
#include "base/structs.def"
};

enum { MOST_SIZE = 1 << 14 }; /* larger ones were never initialized */

/* The values that a field of options may have. */
static const struct field {
    enum ompjit__struct of;
    enum { ENUM_FIELD, BITS_FIELD, ZERO_FIELD } kind;
    const char *name;
    size_t offset, size;
    int most;
} fields[] = {
#define FIELD(of, kind, field, most)                                      \
    {OMPJIT__STRUCT_##of, kind, #field, offsetof(ompjit_##of, field),     \
     sizeof ((ompjit_##of *)NULL)->field, most},
#define ENUM(of, field, most) FIELD(of, ENUM_FIELD, field, most)
#define BITS(of, field, all) FIELD(of, BITS_FIELD, field, all)
#define ZERO(of, field) FIELD(of, ZERO_FIELD, field, 0)
#include "base/structs.def"
};

static ompjit_status check_size(enum ompjit__struct which, size_t size,
                                ompjit_error *err)
{
    if (size >= sizeof size && size <= MOST_SIZE)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: size is %zu; initialize with %s",
                        structs[which].name, size, structs[which].initializer);
}

static bool is_zero(const void *bytes, size_t size)
{
    const char *p = bytes;
    uint64_t word, any = 0;
    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        any |= word;
    }
    for (; size; size--)
        any |= (unsigned char)*p++;
    return !any;
}

ompjit_status ompjit__enum_check(const char *where, const char *field,
                                 int value, int most, ompjit_error *err)
{
    if (value >= 0 && value <= most)
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: %s is %d, but its values are 0 to %d", where,
                        field, value, most);
}

ompjit_status ompjit__bits_check(const char *where, const char *field,
                                 uint32_t value, uint32_t all,
                                 ompjit_error *err)
{
    if (!(value & ~all))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: %s is %#x, but its bits are %#x", where, field,
                        value, all);
}

static ompjit_status check_field(const struct field *f, const char *options,
                                 ompjit_error *err)
{
    const char *where = structs[f->of].name;
    int value = 0;
    if (f->kind != ZERO_FIELD)
        memcpy(&value, options + f->offset, sizeof value);
    if (f->kind == ENUM_FIELD)
        return ompjit__enum_check(where, f->name, value, f->most, err);
    if (f->kind == BITS_FIELD)
        return ompjit__bits_check(where, f->name, (uint32_t)value,
                                  (uint32_t)f->most, err);
    if (is_zero(options + f->offset, f->size))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: %s is not 0; this version of libompjit does not "
                        "know what that asks for", where, f->name);
}

static ompjit_status check_fields(enum ompjit__struct which,
                                  const void *options, ompjit_error *err)
{
    ompjit_status status = OMPJIT_OK;
    size_t i = 0;
    while (i < OMPJIT__COUNT(fields) && fields[i].of < which)
        i++;
    for (; !status && i < OMPJIT__COUNT(fields) && fields[i].of == which; i++)
        status = check_field(&fields[i], options, err);
    return status;
}

static ompjit_status check_end(enum ompjit__struct which, const void *options,
                               size_t size, ompjit_error *err)
{
    size_t known = structs[which].size;
    if (size <= known || is_zero((const char *)options + known, size - known))
        return OMPJIT_OK;
    return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                        "%s: its %zu bytes are %zu more than this version of "
                        "libompjit knows, and these are not all 0",
                        structs[which].name, size, size - known);
}

const void *ompjit__options(enum ompjit__struct which, const void *options,
                            void *room, ompjit_error *err)
{
    size_t known = structs[which].size, size = known;
    const void *found = options;
    if (options)
        memcpy(&size, options, sizeof size);
    if (check_size(which, size, err) ||
        (options && check_end(which, options, size, err)))
        return NULL;
    if (!options || size != known) {
        memset(room, 0, known);
        if (options)
            memcpy(room, options, size < known ? size : known);
        memcpy(room, &known, sizeof known);
        found = room;
    }
    return check_fields(which, found, err) ? NULL : found;
}

ompjit_status ompjit__result_check(enum ompjit__struct which,
                                   const void *result, ompjit_error *err)
{
    size_t size;
    if (!result)
        return ompjit__fail(err, OMPJIT_ERR_INVALID, OMPJIT_STAGE_API,
                            "there is no %s to fill", structs[which].name);
    memcpy(&size, result, sizeof size);
    return check_size(which, size, err);
}

void ompjit__result_fill(enum ompjit__struct which, const void *full,
                         void *result)
{
    size_t known = structs[which].size, size, head = sizeof size;
    memcpy(&size, result, sizeof size);
    size_t filled = size < known ? size : known;
    memcpy((char *)result + head, (const char *)full + head, filled - head);
    memset((char *)result + filled, 0, size - filled);
}
