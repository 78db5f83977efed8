/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A module: the unit that a front end made, and what was made of it since.
 */
#ifndef OMPJIT_API_MODULE_H
#define OMPJIT_API_MODULE_H

#include "core.h"

struct ompjit_module {
    ompjit_context *ctx;
    ompjit__unit unit;
};

#endif
