/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The parts of the device runtime's state that do not stay in kernels:
 * team-shared variables that hold one constant (passes/sharing/fold_shared.c), the
 * kinds of tasks, and the lists of tasks with events.
 */
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "door/door.h"
#include "launch/module.h"
#include "passes/sharing/sharing.h"
#include "tap.h"

static ompjit_error err;

/* ------------------------------------------------- team-shared variables */

#define G "@g = internal addrspace(3) global i32 undef\n"
#define H "@h = internal addrspace(3) global i32 undef\n"
#define STORE(value) "define void @s" #value "() {\n" \
    "  store i32 " #value ", ptr addrspace(3) @g\n  ret void\n}\n"
#define LOAD "define i32 @l() {\n" \
    "  %v = load i32, ptr addrspace(3) @g\n  ret i32 %v\n}\n"

static const struct row {
    const char *name, *ir;
    bool folded;
    const char *has; /* afterwards */
} rows[] = {
    {"one constant", G STORE(7) LOAD, 1, "ret i32 7"},
    {"the same twice", G STORE(7) "define void @again() {\n"
     "  store i32 7, ptr addrspace(3) @g\n  ret void\n}\n" LOAD, 1,
     "ret i32 7"},
    {"stored and never loaded", G STORE(7), 1, "define void @s7() {\n  ret"},
    {"two constants", G STORE(7) STORE(8) LOAD, 0, "store i32 8"},
    {"no store", G LOAD, 0, "load i32"},
    {"a value that is no constant", G "define void @s(i32 %x) {\n"
     "  store i32 %x, ptr addrspace(3) @g\n  ret void\n}\n" LOAD, 0,
     "store i32 %x"},
    {"a volatile store", G "define void @s() {\n"
     "  store volatile i32 7, ptr addrspace(3) @g\n  ret void\n}\n" LOAD, 0,
     "store volatile"},
    {"an atomic load", G STORE(7) "define i32 @a() {\n"
     "  %v = load atomic i32, ptr addrspace(3) @g monotonic, align 4\n"
     "  ret i32 %v\n}\n", 0, "load atomic"},
    {"an atomic addition", G STORE(7) LOAD "define void @a() {\n"
     "  %v = atomicrmw add ptr addrspace(3) @g, i32 1 monotonic\n"
     "  ret void\n}\n", 0, "atomicrmw"},
    {"a load of half of it", G STORE(7) "define i16 @half() {\n"
     "  %v = load i16, ptr addrspace(3) @g\n  ret i16 %v\n}\n", 0, "load i16"},
    {"a store of half of it", G STORE(7) LOAD "define void @half() {\n"
     "  store i16 7, ptr addrspace(3) @g\n  ret void\n}\n", 0, "store i16"},
    {"its address in a call", G STORE(7) LOAD
     "declare void @f(ptr addrspace(3))\ndefine void @c() {\n"
     "  call void @f(ptr addrspace(3) @g)\n  ret void\n}\n", 0,
     "call void @f(ptr addrspace(3) @g)"},
    {"its address stored", "@g = internal addrspace(3) global ptr addrspace(3) "
     "undef\ndefine void @s() {\n"
     "  store ptr addrspace(3) @g, ptr addrspace(3) @g\n  ret void\n}\n", 0,
     "store ptr"},
    {"its address in a variable", G STORE(7) LOAD
     "@p = global ptr addrspace(3) @g\n", 0, "load i32"},
    {"a value at the start", "@g = internal addrspace(3) global i32 1\n"
     STORE(7) LOAD, 0, "load i32"},
    {"seen by others", "@g = addrspace(3) global i32 undef\n" STORE(7) LOAD, 0,
     "load i32"},
    {"device memory", "@g = internal addrspace(1) global i32 undef\n"
     "define void @s() {\n  store i32 7, ptr addrspace(1) @g\n  ret void\n}\n"
     "define i32 @l() {\n  %v = load i32, ptr addrspace(1) @g\n"
     "  ret i32 %v\n}\n", 0, "load i32"},
    {"one of two", G H STORE(7) LOAD "define i32 @o(i32 %x) {\n"
     "  store i32 %x, ptr addrspace(3) @h\n"
     "  %v = load i32, ptr addrspace(3) @h\n  ret i32 %v\n}\n", 1,
     "load i32, ptr addrspace(3) @h"},
};

static LLVMModuleRef parse(LLVMContextRef context, const char *ir)
{
    LLVMModuleRef m;
    char *message;
    LLVMMemoryBufferRef memory =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "row");
    if (!LLVMParseIRInContext2(context, memory, &m, &message)) {
        LLVMDisposeMemoryBuffer(memory);
        return m;
    }
    printf("Bail out! %s\n%s\n", message, ir);
    exit(1);
}

static void shared_row(const struct row *row)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef m = parse(context, row->ir);
    ok(ompjit__fold_shared(m) == row->folded, "%s: %s", row->name,
       row->folded ? "folds" : "stays");
    char *text = LLVMPrintModuleToString(m);
    ok_contains(text, row->has, "%s: what is left", row->name);
    bool gone = !strstr(text, "@g =");
    ok(gone == row->folded, "%s: the variable", row->name);
    LLVMDisposeMessage(text);
    LLVMDisposeModule(m);
    LLVMContextDispose(context);
}

/* ----------------------------------------------------------------- tasks */

static const struct source {
    const char *name, *text;
    bool kinds, events; /* does a kernel keep these? */
} sources[] = {
    {"tasks of which nobody asks",
     "void f(int *p) {\n"
     "#pragma omp target map(p[:9])\n"
     "#pragma omp parallel\n"
     "#pragma omp task\n"
     "  p[1]++;\n"
     "}\n", 0, 0},
    {"a kernel that asks for its task's kind",
     "int omp_in_final(void);\n"
     "__attribute__((noinline)) int ask(void) { return omp_in_final(); }\n"
     "void f(int *p) {\n"
     "#pragma omp target map(p[:9])\n"
     "#pragma omp parallel\n"
     "#pragma omp task final(p[0])\n"
     "  p[1] += ask();\n"
     "}\n", 1, 0},
    {"another way to ask",
     "int omp_in_explicit_task(void);\n"
     "__attribute__((noinline)) int ask(void) {\n"
     "  return omp_in_explicit_task();\n"
     "}\n"
     "void f(int *p) {\n"
     "#pragma omp target map(p[:9])\n"
     "#pragma omp parallel\n"
     "#pragma omp task\n"
     "  p[1] += ask();\n"
     "}\n", 1, 0},
    {"a task with an event",
     "#include <omp.h>\n"
     "void f(int *p) {\n"
     "#pragma omp target map(p[:9])\n"
     "#pragma omp parallel\n"
     "  {\n"
     "    omp_event_handle_t event;\n"
     "#pragma omp task detach(event)\n"
     "    p[1]++;\n"
     "    omp_fulfill_event(event);\n"
     "  }\n"
     "}\n", 0, 1},
};

static void source_row(ompjit_context *ctx, const struct source *s)
{
    ompjit_module *mod = NULL;
    ompjit__image image = {0};
    ompjit__spec spec = {0};
    ompjit_status status =
        ompjit_module_from_c(ctx, s->text, NULL, &mod, &err);
    if (!status)
        spec.kernel = mod->unit.kernels[0].symbol;
    if (!status)
        status = ompjit__door_build(&ctx->compiler, &mod->unit, "sm_90",
                                    OMPJIT_FORMAT_PTX, &spec, &image, &err);
    if (ok(!status, "%s: compiles", s->name)) {
        bool kinds = strstr(image.bytes.data, "task_kinds");
        bool events = strstr(image.bytes.data, "all_waiting");
        ok(kinds == s->kinds, "%s: %s kinds of tasks", s->name,
           s->kinds ? "has" : "no");
        ok(events == s->events, "%s: %s lists of events", s->name,
           s->events ? "has" : "no");
    } else {
        printf("# %s\n", err.text);
    }
    ompjit__image_free(&image);
    ompjit_module_destroy(mod);
}

int main(void)
{
    ompjit_context *ctx;
    ompjit_context_options options = OMPJIT_CONTEXT_OPTIONS_INIT;
    options.devices = "host";
    if (ompjit_context_create(&options, &ctx, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        shared_row(&rows[i]);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        source_row(ctx, &sources[i]);
    ompjit_context_destroy(ctx);
    return done_testing();
}
