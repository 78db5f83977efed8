/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The calls of the compiler wing that need no more than its table.
 */
#include "door/door.h"

void ompjit__door_release(ompjit__compiler *compiler)
{
    const ompjit__door *door = ompjit__door_if_open();
    if (door)
        door->release(compiler);
}

ompjit_status ompjit__door_build(ompjit__compiler *compiler,
                                 const ompjit__unit *unit, const char *arch,
                                 ompjit_format format, const ompjit__spec *spec,
                                 ompjit__image *out, ompjit_error *err)
{
    const ompjit__door *door;
    ompjit_status status = ompjit__door_open(&door, err);
    return status ? status
                  : door->build(compiler, unit, arch, format, spec, out, err);
}

ompjit_status ompjit__door_half(ompjit__compiler *compiler,
                                const ompjit__unit *unit,
                                ompjit__host_half *out, ompjit_error *err)
{
    const ompjit__door *door;
    ompjit_status status = ompjit__door_open(&door, err);
    return status ? status : door->half(compiler, unit, out, err);
}

ompjit_status ompjit__door_print(const ompjit__buf *bc, const char *name,
                                 ompjit__buf *text, ompjit_error *err)
{
    const ompjit__door *door;
    ompjit_status status = ompjit__door_open(&door, err);
    return status ? status : door->print_ir(bc, name, text, err);
}
