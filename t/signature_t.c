/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Names, types and maps of a module's functions: of C and C++, with signatures
 * and without, from the cache, of several sources.
 */
#include <unistd.h>

#include "function.h"

static const char c_source[] =
    "#include <stddef.h>\n"
    "typedef double real;\n"
    "enum color { RED, GREEN = 5, BLUE = -1 };\n"
    "struct node { struct node *next; real v[3]; unsigned flag : 3, rest : 5;\n"
    "              union { int i; float f; } u; };\n"
    "static int hidden(int n) { return n; }\n"
    "void saxpy(long n, float a, const float *x, float *restrict y) {\n"
    "#pragma omp target teams distribute parallel for map(to: x[:n]) map(y[:n])\n"
    "  for (long i = 0; i < n; i++) y[i] += a * x[i];\n"
    "}\n"
    "real *walk(struct node *n, enum color c, _Bool b, char *const *names) {\n"
    "  return b ? n->next->v : n->v + c;\n"
    "}\n"
    "int call(int (*f)(double, void *), size_t k, unsigned char u) {\n"
    "  return f(k, &u) + hidden(u);\n"
    "}\n"
    "double _Complex turn(double _Complex z, int m, double a[][m]) { return z; }\n"
    "void nothing(void) {}\n"
    "void moved(int n, double *restrict from, double *to, double *scratch) {\n"
    "#pragma omp target enter data map(to: from[:n]) map(alloc: scratch[:n])\n"
    "#pragma omp target update to(from[0:n])\n"
    "#pragma omp target exit data map(from: to[2:n]) map(delete: scratch[:n])\n"
    "}\n";

static const struct {
    const char *name, *prototype;
    unsigned line, nparams;
} functions[] = {
    {"saxpy",
     "void saxpy(long n, float a, const float *x, float *restrict y)", 7, 4},
    {"walk",
     "real *walk(struct node *n, enum color c, _Bool b, char *const *names)",
     11, 4},
    {"call",
     "int call(int (*f)(double, void *), size_t k, unsigned char u)", 14, 3},
    {"turn",
     "_Complex double turn(_Complex double z, int m, double (*a)[])", 17, 3},
    {"nothing", "void nothing(void)", 18, 0},
    {"moved",
     "void moved(int n, double *restrict from, double *to, double *scratch)",
     19, 4},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void try_functions(ompjit_module *mod)
{
    unsigned n = 0;
    ok(!ompjit_module_function_count(mod, &n, &err) && n == FUNCTIONS,
       "functions that others may call");
    for (unsigned i = 0; i < n && i < FUNCTIONS; i++) {
        ompjit_function *fn = NULL;
        ompjit_module_function_at(mod, i, &fn, &err);
        ompjit_function_info info = info_of(fn);
        ok_string(info.prototype, functions[i].prototype, "%s",
                  functions[i].name);
        ok(!strcmp(info.name, functions[i].name) &&
               !strcmp(info.symbol, functions[i].name) &&
               info.line == functions[i].line &&
               info.nparams == functions[i].nparams && info.from_source &&
               !info.refused && !strcmp(info.file, "types.c"),
           "%s: its name, its place, and that it can be called",
           functions[i].name);
    }
    ompjit_function *fn;
    ok(ompjit_module_function_at(mod, n, &fn, &err) == OMPJIT_ERR_NOT_FOUND,
       "there is none behind the last");
    ok(ompjit_module_function_find(mod, "saxpi", &fn, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "no such name");
    ok_contains(err.text, "saxpi; it has: saxpy, walk", "lists those there are");
}

/* A parameter's type, and those that it leads to. */
static const ompjit_type *type_of(ompjit_module *mod, const char *function,
                                  unsigned param)
{
    return param_of(function_of(mod, function), param).type;
}

static int is(const ompjit_type *type, ompjit_type_kind kind, uint64_t bytes,
              const char *text)
{
    return type && type->kind == kind && type->bytes == bytes &&
           !strcmp(type->text, text);
}

static void try_types(ompjit_module *mod)
{
    const ompjit_type *x = type_of(mod, "saxpy", 2);
    ok(is(x, OMPJIT_TYPE_POINTER, 8, "const float *") &&
           is(x->target, OMPJIT_TYPE_FLOAT, 4, "const float") &&
           x->target->flags == OMPJIT_TYPE_CONST,
       "a pointer to constants");
    ok(type_of(mod, "saxpy", 3)->flags == OMPJIT_TYPE_RESTRICT,
       "a restrict pointer");
    const ompjit_type *node = type_of(mod, "walk", 0)->target;
    ok(is(node, OMPJIT_TYPE_STRUCT, 40, "struct node") && node->count == 4 + 1,
       "a struct");
    ok(node->members[0].type->target == node, "that leads to itself");
    ok(is(node->members[1].type, OMPJIT_TYPE_ARRAY, 24, "real [3]") &&
           node->members[1].type->count == 3 && node->members[1].offset == 8 &&
           is(node->members[1].type->target, OMPJIT_TYPE_FLOAT, 8, "real"),
       "an array in it");
    ok(node->members[3].bits == 5 && node->members[3].bit == 3 &&
           node->members[3].offset == 32,
       "a bit-field");
    ok(node->members[4].type->kind == OMPJIT_TYPE_UNION &&
           node->members[4].type->count == 2,
       "a union");
    const ompjit_type *color = type_of(mod, "walk", 1);
    ok(is(color, OMPJIT_TYPE_ENUM, 4, "enum color") && color->count == 3 &&
           color->members[1].value == 5 && color->members[2].value == -1 &&
           !strcmp(color->members[2].name, "BLUE") && !color->members[2].type,
       "an enumeration");
    ok(is(type_of(mod, "walk", 2), OMPJIT_TYPE_BOOL, 1, "_Bool"), "a bool");
    const ompjit_type *f = type_of(mod, "call", 0);
    ok(is(f, OMPJIT_TYPE_POINTER, 8, "int (*)(double, void *)") &&
           f->target->kind == OMPJIT_TYPE_FUNCTION && f->target->count == 2 &&
           is(f->target->target, OMPJIT_TYPE_SIGNED, 4, "int") &&
           is(f->target->members[1].type, OMPJIT_TYPE_POINTER, 8, "void *"),
       "a pointer to a function");
    ok(is(type_of(mod, "call", 1), OMPJIT_TYPE_UNSIGNED, 8, "size_t") &&
           is(type_of(mod, "call", 2), OMPJIT_TYPE_UNSIGNED, 1, "unsigned char"),
       "unsigned numbers, by the source's name");
    const ompjit_type *z = type_of(mod, "turn", 0);
    ok(is(z, OMPJIT_TYPE_COMPLEX, 16, "_Complex double") &&
           is(z->target, OMPJIT_TYPE_FLOAT, 8, "double"),
       "a complex number");
    ok(info_of(function_of(mod, "nothing")).type->target->kind ==
           OMPJIT_TYPE_VOID,
       "no result");
}

static void try_maps(ompjit_module *mod)
{
    static const struct {
        const char *function;
        unsigned param;
        const char *name, *sections;
        uint32_t mapped;
    } rows[] = {
        {"saxpy", 0, "n", "", 0},
        {"saxpy", 2, "x", "x[:n]", OMPJIT_MAPPED_TO},
        {"saxpy", 3, "y", "y[:n]", OMPJIT_MAPPED_TO | OMPJIT_MAPPED_FROM},
        {"moved", 1, "from", "from[:n], from[0:n]", OMPJIT_MAPPED_TO},
        {"moved", 2, "to", "to[2:n]", OMPJIT_MAPPED_FROM},
        {"moved", 3, "scratch", "scratch[:n]", OMPJIT_MAPPED_ALLOC},
        {"walk", 0, "n", "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ompjit_function_param_info p =
            param_of(function_of(mod, rows[i].function), rows[i].param);
        ok(!strcmp(p.name, rows[i].name) && p.mapped == rows[i].mapped,
           "%s: what is mapped of %s", rows[i].function, rows[i].name);
        ok_string(p.sections, rows[i].sections, "and in which words");
    }
    ompjit_function_param_info info = OMPJIT_FUNCTION_PARAM_INFO_INIT;
    ok(ompjit_function_param(function_of(mod, "saxpy"), 4, &info, &err) ==
           OMPJIT_ERR_NOT_FOUND,
       "there is no fifth parameter");
}

/* ------------------------------------------------------------------- C++ */

static const char cxx_source[] =
    "#include <complex>\n"
    "namespace ns {\n"
    "template <class T> void axpy(int n, T a, T *x) {\n"
    "#pragma omp target teams distribute parallel for map(x[0:n])\n"
    "  for (int i = 0; i < n; i++) x[i] *= a;\n"
    "}\n"
    "struct P { float x, y; };\n"
    "P turn(P p) { return {p.y, p.x}; }\n"
    "int over(int i) { return i; }\n"
    "int over(double d) { return 2 * (int)d; }\n"
    "}\n"
    "template void ns::axpy<float>(int, float, float *);\n"
    "struct Q { int z; int get(int k) const; };\n"
    "int Q::get(int k) const { return z + k; }\n"
    "int &refer(int &r) { return r; }\n"
    "typedef float v8 __attribute__((vector_size(32)));\n"
    "v8 wide(v8 a) { return a; }\n"
    "int any(const char *f, ...) { return *f; }\n";

static void try_cxx(void)
{
    ompjit_module *mod = module_named("types.cpp", cxx_source, 1);
    ompjit_function *fn = NULL;
    static const char *const names[] = {
        "ns::axpy<float>", "_ZN2ns4axpyIfEEviT_PS1_",
        "ns::axpy<float>(int, float, float*)"};
    for (int i = 0; i < 3; i++)
        ok(!ompjit_module_function_find(mod, names[i], &fn, &err), "%s",
           names[i]);
    ok_string(info_of(fn).prototype,
              "void ns::axpy<float>(int n, float a, float *x)", "a template");
    ok_string(param_of(fn, 2).sections, "x[0:n]", "its map");
    ok_string(info_of(function_of(mod, "ns::turn")).prototype,
              "ns::P ns::turn(ns::P p)", "a struct in a namespace");
    ok_string(info_of(function_of(mod, "Q::get")).prototype,
              "int Q::get(const Q *this, int k)", "a member");
    ok_string(info_of(function_of(mod, "refer")).prototype,
              "int &refer(int &r)", "references");
    ok(ompjit_module_function_find(mod, "ns::over", &fn, &err) ==
           OMPJIT_ERR_INVALID,
       "a name that two functions have");
    ok_contains(err.text, "int ns::over(double d)", "and which they are");
    ok(!ompjit_module_function_find(mod, "ns::over(double)", &fn, &err),
       "with its parameters it is one");
    ok_contains(info_of(function_of(mod, "wide")).refused, "registers",
                "vectors are refused");
    ok_contains(info_of(function_of(mod, "any")).refused, "any number",
                "so are variadic functions");
    ompjit_module_destroy(mod);
}

/* ------------------------------------------------- other ways to a module */

static void try_untyped(void)
{
    ompjit_module *mod = module_named("plain.c", c_source, 0);
    ompjit_function *fn = function_of(mod, "saxpy");
    ompjit_function_info info = info_of(fn);
    ok_string(info.prototype, "void saxpy(int64_t n, float a, void *x, void *y)",
              "without signatures the code tells what it can");
    ok(!info.from_source && !info.line, "and says so");
    ok_string(param_of(fn, 2).sections, "x[:n]", "maps are in the code, too");
    ompjit_module_destroy(mod);
}

static void try_ir(void)
{
    ompjit_module *mod = module_named("ir.c", c_source, 0), *again;
    void *device, *host;
    size_t n, m;
    unsigned count;
    ompjit_module_emit(mod, OMPJIT_FORMAT_BC, NULL, &device, &n, &err);
    ompjit_module_emit(mod, OMPJIT_FORMAT_HOST_LL, NULL, &host, &m, &err);
    ok(!ompjit_module_from_ir(ctx, device, n, host, m, NULL, &again, &err) &&
           !ompjit_module_function_count(again, &count, &err) &&
           count == FUNCTIONS,
       "functions of IR");
    ompjit_module_destroy(again);
    ok(!ompjit_module_from_ir(ctx, device, n, NULL, 0, NULL, &again, &err) &&
           !ompjit_module_function_count(again, &count, &err) && count == 0,
       "none of a device half alone");
    ompjit_module_destroy(again);
    ompjit_bytes_free(device);
    ompjit_bytes_free(host);
    ompjit_module_destroy(mod);
}

static void try_sources(void)
{
    static const char *const sources[] = {
        "struct s { int a; }; int one(struct s *p) { return p->a; }\n",
        "struct s { double d; };\n"
        "extern \"C\" double two(struct s *p) { return p->d; }\n"};
    static const char *const names[] = {"one.c", "two.cpp"};
    ompjit_module_options options = OMPJIT_MODULE_OPTIONS_INIT;
    ompjit_module *mod;
    options.signatures = 1;
    for (int round = 0; round < 2; round++) {
        ok(!ompjit_module_from_sources(ctx, sources, names, 2, &options, &mod,
                                       &err),
           "a program of two sources, %s",
           round ? "from the cache" : "compiled");
        ok_string(info_of(function_of(mod, "one")).prototype,
                  "int one(struct s *p)", "one's");
        ok_string(info_of(function_of(mod, "two")).prototype,
                  "double two(s *p)", "the other's, of another struct");
        ok(type_of(mod, "one", 0)->target->bytes == 4 &&
               type_of(mod, "two", 0)->target->bytes == 8,
           "each with its own types");
        ompjit_module_destroy(mod);
    }
}

/* The code is the same as without signatures, so the host half is, too. */
static void try_code(void)
{
    void *text[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        ompjit_module *mod = module_named("code.c", c_source, i);
        ompjit_module_emit(mod, OMPJIT_FORMAT_HOST_LL, NULL, &text[i], &size[i],
                           &err);
        ompjit_module_destroy(mod);
    }
    ok(!strstr(text[1], "DILocalVariable") && !strstr(text[1], "dbg_declare"),
       "debug information does not stay in the host half");
    ompjit_bytes_free(text[0]);
    ompjit_bytes_free(text[1]);
}

int main(void)
{
    char folder[] = "/tmp/signature_t.XXXXXX";
    if (mkdtemp(folder))
        setenv("OMPJIT_CACHE_DIR", folder, 1);
    open_context();
    for (int round = 0; round < 2; round++) {
        ompjit_module *mod = module_named("types.c", c_source, 1);
        try_functions(mod);
        try_types(mod);
        try_maps(mod);
        ompjit_module_destroy(mod);
        ompjit_context_destroy(ctx); /* the next one asks the disk */
        open_context();
    }
    try_cxx();
    try_untyped();
    try_ir();
    try_sources();
    try_code();
    ompjit_context_destroy(ctx);
    char remove[64];
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (system(remove))
        fprintf(stderr, "# cannot remove %s\n", folder);
    done_testing();
}
