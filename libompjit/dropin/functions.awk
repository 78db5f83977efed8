# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# abi/entry_points.def to the functions of libompjit-omptarget.so, in C, each of
# which finds its own function of libompjit's by its name:
#
#   C(omp_target_free, target_free, "v:pi")
#
#   static void *omp_target_free_at;
#   void omp_target_free(void *a0, int32_t a1)
#   {
#       ompjit_context *ctx = ompjit__dropin_context();
#       if (!ctx) return;
#       ((void (*)(ompjit_context *, void *, int32_t))omp_target_free_at)(...);
#   }
#
# libomp exports allocators, too. The program gets this library's where it finds
# them first, as under `ompjit exec`: these know the numbers of a newer omp.h
# (hosthalf/omp_alloc.c) and memory of devices (omptarget/omp_alloc_device.c). They
# call libomp's for all other memory, without a context. Without a context a kernel
# is not launched, which is 1, and everything else gives 0 or NULL.

# "int32_t " or "void *": what a name follows.
function ctype(letter) {
    return letter in types_of ? types_of[letter] " " : "void *"
}

# The items that are there, with commas.
function list(a, b) {
    return a == "" || b == "" ? a b : a ", " b
}

BEGIN {
    types_of["v"] = "void"
    types_of["i"] = "int32_t"
    types_of["l"] = "int64_t"
    types_of["s"] = "size_t"
    print "/* Made by functions.awk. */"
    print "#include \"dropin/dropin.h\"\n"
    define("P", "__kmpc_init_allocator", "l:ilip")
    define("P", "omp_init_allocator", "l:lip")
}

/^[CP]\(/ {
    split($0, part, /[(,")]+ */)
    if (part[2] != "omp_is_initial_device")
        define(part[1], part[2], part[5])
}

function is_allocation(name) {
    return name ~ /^omp_(aligned_)?(alloc|calloc|free|realloc)$/
}

# The parameter that has the allocator of new memory; -1: there is no new memory.
function allocator(name, signature) {
    return name == "omp_free" ? -1 : \
        "a" (name == "omp_realloc" ? 5 : length(signature))
}

function define(kind, name, signature,    result, types, values, parameters,
                i, type, failure, head) {
    result = ctype(substr(signature, 1, 1))
    types = kind == "C" ? "ompjit_context *" : ""
    values = kind == "C" ? "ctx" : ""
    parameters = ""
    for (i = 3; i <= length(signature); i++) {
        type = ctype(substr(signature, i, 1))
        types = list(types, type)
        values = list(values, "a" i)
        parameters = list(parameters, type "a" i)
    }
    failure = name ~ /^__tgt_target/ ? " 1" : " 0"
    head = result name "(" (parameters == "" ? "void" : parameters) ")"
    print "static void *" name "_at;\n" head ";\n" head "\n{"
    if (name ~ /^(__tgt_target|omp_target_(alloc|free|memcpy))/)
        print "    *ompjit__dropin_caller() = __builtin_return_address(0);"
    if (is_allocation(name))
        print "    ompjit_context *ctx = ompjit__dropin_allocates(" \
            allocator(name, signature) ");"
    else if (kind == "C")
        print "    ompjit_context *ctx = ompjit__dropin_context();\n" \
            "    if (!ctx)\n        return" \
            (result == "void " ? "" : failure) ";"
    print "    " (result == "void " ? "" : "return ") "((" result "(*)(" \
        (types == "" ? "void" : types) "))" name "_at)(" values ");\n}\n"
    names[++n] = name
}

END {
    print "void **(*ompjit__dropin_caller)(void);"
    print "__attribute__((constructor)) static void find(void)\n{"
    print "    ompjit__dropin_caller = ompjit_process_function(\"ompjit_caller\");"
    for (i = 1; i <= n; i++)
        print "    " names[i] "_at = ompjit_process_function(\"" names[i] "\");"
    print "}"
}
