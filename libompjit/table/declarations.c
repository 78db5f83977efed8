/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The runtime table as a header of CUDA C++: the functions that a kernel may
 * call. Each of them is declared by its letters:
 *
 *   "i:"    omp_get_thread_num   __device__ int omp_get_thread_num();
 *   "v:pi"  __kmpc_barrier       __device__ void __kmpc_barrier(void *, int);
 */
#include <string.h>

#include "table/rows.h"

/* Other names are compilers' own and C's. */
static bool is_for_programs(const char *name)
{
    static const char *const prefixes[] = {"omp_", "ompx_", "__kmpc_",
                                           "llvm_omp_"};
    for (size_t i = 0; i < OMPJIT__COUNT(prefixes); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* C++'s name of a type's letter. A pointer of the table may be one to anything.
 */
static const char *type_name(char letter)
{
    static const struct {
        char letter;
        const char *name;
    } types[] = {
        {'v', "void"},      {'p', "void *"}, {'l', "long long"},
        {'i', "int"},       {'s', "short"},  {'c', "signed char"},
        {'b', "bool"},      {'f', "float"},  {'d', "double"},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(types); i++)
        if (types[i].letter == letter)
            return types[i].name;
    return NULL;
}

/* The name's newest row counts: D and B are functions of the device runtime. */
bool ompjit__table_device_function(const char *name)
{
    int row = ompjit__rtl_newest(name);
    return row >= 0 && is_for_programs(name) &&
           strchr("DB", ompjit__rtl_rows[row].where);
}

/* Appends one declaration. Variadic functions are left out. */
static void declare(ompjit__buf *out, const ompjit__rtl *row)
{
    const char *params = row->type + 2;
    if (strchr(row->type, '.'))
        return;
    ompjit__buf_printf(out, "__device__ %s %s(", type_name(row->type[0]),
                       row->name);
    for (size_t i = 0; params[i]; i++)
        ompjit__buf_printf(out, "%s%s", i ? ", " : "", type_name(params[i]));
    ompjit__buf_printf(out, ");\n");
}

void ompjit__table_header(ompjit__buf *out)
{
    ompjit__buf_printf(out, "extern \"C\" {\n");
    for (int i = 0; i < OMPJIT_RTL_COUNT; i++) {
        const ompjit__rtl *row = &ompjit__rtl_rows[i];
        if (ompjit__table_device_function(row->name) &&
            ompjit__rtl_newest(row->name) == i)
            declare(out, row);
    }
    ompjit__buf_printf(
        out,
        "}\n"
        "#define OMPJIT_KERNEL(name) extern \"C\" __global__ void name\n"
        "#define OMPJIT_FOR_ALL(i, n) \\\n"
        "    for (long long i = (long long)blockIdx.x * blockDim.x + "
        "threadIdx.x, \\\n"
        "                   i##_end = (n), \\\n"
        "                   i##_step = (long long)gridDim.x * blockDim.x; \\\n"
        "         i < i##_end; i += i##_step)\n");
}
