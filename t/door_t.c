/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Requests to the compiler, as the runtime wing makes them.
 */
#include "door/door.h"
#include "program.h"

/* The compiler does not know the unit, and its request cannot be packed. */
static void too_large(void)
{
    ompjit__unit large = mod->unit;
    ompjit__spec spec = {.kernel = mod->unit.kernels[0].symbol};
    ompjit__image image = {0};
    large.digest[0] ^= 1;
    large.device_bc.size = SIZE_MAX / 4;
    ompjit_status st =
        ompjit__door_build(&ctx->compiler, &large, "sm_90", OMPJIT_FORMAT_PTX,
                           &spec, &image, &err);
    ok(st == OMPJIT_ERR_NO_MEMORY,
       "a unit that does not fit into memory: %s", err.text);
}

int main(void)
{
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    open_program(&options, "void f(int *x) {\n"
                           "#pragma omp target map(x[:1])\n"
                           "  x[0] = 1;\n"
                           "}\n");
    too_large();
    close_module();
    done_testing();
}
