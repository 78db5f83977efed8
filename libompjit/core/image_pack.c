/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Images as bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

void ompjit__image_pack(const ompjit__image *image, ompjit__buf *out)
{
    ompjit__pack_number(out, image->kind);
    ompjit__pack_number(out, image->imports_globals);
    ompjit__pack_number(out, image->environment);
    ompjit__pack_number(out, image->constructors);
    ompjit__pack_number(out, image->lines);
    ompjit__pack_string(out, image->arch);
    ompjit__pack_bytes(out, image->bytes.data, image->bytes.size);
    ompjit__pack_bytes(out, image->ptx.data, image->ptx.size);
    ompjit__pack_bytes(out, image->modes.data, image->modes.size);
    ompjit__pack_bytes(out, image->remarks.data, image->remarks.size);
    ompjit__pack_number(out, image->nusage);
    for (unsigned i = 0; i < image->nusage; i++) {
        ompjit__pack_string(out, image->usage[i].symbol);
        ompjit__pack_bytes(out, &image->usage[i].res,
                           sizeof image->usage[i].res);
    }
    ompjit__pack_number(out, image->nglobals);
    for (unsigned i = 0; i < image->nglobals; i++) {
        ompjit__pack_string(out, image->globals[i].name);
        ompjit__pack_number(out, image->globals[i].size);
    }
}

static void unpack_usage(ompjit__reader *r, ompjit__usage *out)
{
    size_t size;
    out->symbol = ompjit__read_string(r);
    const void *res = ompjit__read_bytes(r, &size);
    if (size == sizeof out->res)
        memcpy(&out->res, res, size);
    else
        r->bad = true;
}

static void unpack_lists(ompjit__reader *r, ompjit__image *image)
{
    size_t n = ompjit__read_count(r);
    image->usage = calloc(n + 1, sizeof *image->usage);
    r->bad |= !image->usage;
    while (!r->bad && image->nusage < n)
        unpack_usage(r, &image->usage[image->nusage++]);
    n = ompjit__read_count(r);
    image->globals = calloc(n + 1, sizeof *image->globals);
    r->bad |= !image->globals;
    while (!r->bad && image->nglobals < n) {
        ompjit__variable *v = &image->globals[image->nglobals++];
        v->name = ompjit__read_string(r);
        v->size = ompjit__read_number(r);
    }
}

bool ompjit__image_unpack(ompjit__reader *r, ompjit__image *out)
{
    ompjit__image image = {0};
    image.kind = (enum ompjit__image_kind)ompjit__read_number(r);
    image.imports_globals = ompjit__read_number(r);
    image.environment = ompjit__read_number(r);
    image.constructors = ompjit__read_number(r);
    image.lines = ompjit__read_number(r);
    char *arch = ompjit__read_string(r);
    snprintf(image.arch, sizeof image.arch, "%s", arch ? arch : "");
    free(arch);
    ompjit__read_buf(r, &image.bytes);
    ompjit__read_buf(r, &image.ptx);
    ompjit__read_buf(r, &image.modes);
    ompjit__read_buf(r, &image.remarks);
    unpack_lists(r, &image);
    if (r->bad) {
        ompjit__image_free(&image);
        return false;
    }
    *out = image;
    return true;
}
