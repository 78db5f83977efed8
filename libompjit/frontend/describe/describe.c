/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Describes a unit's kernels and variables by its IR, so that nobody has to
 * look into IR for it again. Requires the inner dialect.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/describe/describe.h"
#include "frontend/describe/reach.h"
#include "abi/offload.h"

enum { CC_PTX_KERNEL = 71, MAP_TARGET_PARAM = 0x20, ENTRY_REQUIRES = 0x10 };

bool ompjit__is_kernel(LLVMValueRef fn)
{
    return !LLVMIsDeclaration(fn) &&
           LLVMGetFunctionCallConv(fn) == CC_PTX_KERNEL;
}

LLVMValueRef ompjit__environment_variable(LLVMModuleRef m, LLVMValueRef fn)
{
    size_t n;
    char *name = ompjit__format("%s_kernel_environment",
                                LLVMGetValueName2(fn, &n));
    LLVMValueRef env = name ? LLVMGetNamedGlobal(m, name) : NULL;
    free(name);
    return env;
}

/* ----------------------------------------------------------- environment */

/* ConfigurationEnvironmentTy, the first field of KernelEnvironmentTy. */
enum config_field {
    EXEC_MODE = 2,
    MIN_THREADS,
    MAX_THREADS,
    MIN_TEAMS,
    MAX_TEAMS,
    REDUCTION_SIZE,
    REDUCTION_LENGTH
};

/* The field's value; 0 where it is no constant. kernel_check.c has refused
 * environments of another form by now. */
static int32_t config(LLVMValueRef env, enum config_field field)
{
    LLVMValueRef v = LLVMGetInitializer(env);
    v = v ? LLVMGetAggregateElement(v, 0) : NULL;
    v = v ? LLVMGetAggregateElement(v, field) : NULL;
    return v && LLVMIsAConstantInt(v) ? (int32_t)LLVMConstIntGetSExtValue(v)
                                      : 0;
}

/* 6 is 2 with a promise that has no part in how it is launched. */
uint8_t ompjit__environment_mode(LLVMValueRef env)
{
    return config(env, EXEC_MODE) & 3;
}

static uint32_t positive(int32_t n)
{
    return n > 0 ? (uint32_t)n : 0;
}

static void read_environment(LLVMValueRef env, ompjit__kernel_desc *k)
{
    k->mode = ompjit__environment_mode(env);
    k->min_threads = config(env, MIN_THREADS);
    k->max_threads = config(env, MAX_THREADS);
    k->min_teams = config(env, MIN_TEAMS);
    k->max_teams = config(env, MAX_TEAMS);
    k->reduction_size = config(env, REDUCTION_SIZE);
    k->reduction_length = config(env, REDUCTION_LENGTH);
}

/* ------------------------------------------------------------- parameters */

/* Kind and bytes as the kernel takes them. A launch passes eight bytes at most
 * for each parameter, so anything larger is an error. */
static ompjit_status describe_param(LLVMValueRef param, const char *kernel,
                                    ompjit__param *out, ompjit_error *err)
{
    LLVMTypeRef type = LLVMTypeOf(param);
    size_t n;
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind:
        out->kind = OMPJIT__PARAM_POINTER;
        out->bytes = 8;
        break;
    case LLVMIntegerTypeKind:
        out->kind = OMPJIT__PARAM_INTEGER;
        out->bytes = (uint8_t)((LLVMGetIntTypeWidth(type) + 7) / 8);
        break;
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        out->kind = OMPJIT__PARAM_FLOAT;
        out->bytes = LLVMGetTypeKind(type) == LLVMFloatTypeKind ? 4 : 8;
        break;
    default:
        out->bytes = 0;
    }
    if (!out->bytes || out->bytes > 8)
        return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                            "the kernel %s has a parameter that is neither a "
                            "pointer nor a number of at most 64 bits: %s",
                            kernel, LLVMGetValueName2(param, &n));
    out->name = ompjit__strdup(LLVMGetValueName2(param, &n));
    return out->name ? OMPJIT_OK : ompjit__no_memory(err, OMPJIT_STAGE_READ);
}

/* Parameters stand, in order, for those of the host's arguments whose map type
 * has OMP_MAP_TARGET_PARAM; the others are parts of structures and attached
 * pointers. */
static ompjit_status add_host_args(LLVMModuleRef host, LLVMValueRef fn,
                                   ompjit__kernel_desc *k, ompjit_error *err)
{
    ompjit__host_args args;
    ompjit_status status =
        ompjit__host_args_find(host, k->symbol, &args, err);
    if (status)
        return status;
    if (args.known) {
        k->teams = args.teams;
        k->thread_limit = args.threads;
    }
    unsigned at = 0;
    for (unsigned i = 0; i < args.n && at < k->nparams; i++) {
        if (!(args.types[i] & MAP_TARGET_PARAM))
            continue;
        args.passed[at] = args.passed[i];
        k->params[at].map_type = args.types[i];
        k->params[at++].size = (uint32_t)args.sizes[i];
    }
    status = ompjit__param_types(fn, at == k->nparams ? args.passed : NULL, k,
                                 err);
    ompjit__host_args_free(&args);
    return status;
}

/* Every kernel with an environment takes the launch environment first; of one
 * without (ompx_bare) only names tell: the parameter's, or where a clang that
 * drops those has made the IR, the kernel's. */
static bool takes_launch_env(LLVMValueRef fn, LLVMValueRef env)
{
    static const char prefix[] = "__omp_offloading_";
    size_t n, length;
    if (env || !LLVMCountParams(fn))
        return env != NULL;
    const char *name = LLVMGetValueName2(LLVMGetParam(fn, 0), &n);
    return n ? !strcmp(name, "dyn_ptr")
             : !strncmp(LLVMGetValueName2(fn, &length), prefix,
                        sizeof prefix - 1);
}

static ompjit_status describe_params(LLVMValueRef fn, ompjit__kernel_desc *k,
                                     ompjit_error *err)
{
    unsigned n = LLVMCountParams(fn), skip = k->launch_env;
    if (n < skip)
        return ompjit__fail(err, OMPJIT_ERR_IR, OMPJIT_STAGE_READ,
                            "the kernel %s has no parameter for the launch "
                            "environment",
                            k->symbol);
    k->params = calloc(n - skip + 1, sizeof *k->params);
    if (!k->params)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    for (unsigned i = skip; i < n; i++) {
        ompjit__param *p = &k->params[k->nparams];
        ompjit_status status =
            describe_param(LLVMGetParam(fn, i), k->symbol, p, err);
        if (status)
            return status;
        k->nparams++;
    }
    return OMPJIT_OK;
}

/* ------------------------------------------------------- teams, regions */

/* Can only a teams construct call it? */
static bool shares_among_teams(const char *name)
{
    return !strncmp(name, "__kmpc_distribute", 17) ||
           !strncmp(name, "__kmpc_nvptx_teams_reduce", 25);
}

/* Is it of more use with several teams than with one? */
static bool asks_for_team(const char *name)
{
    return !strcmp(name, "omp_get_team_num") ||
           !strcmp(name, "omp_get_num_teams");
}

/* __kmpc_parallel_51, _60 and _spmd, but not __kmpc_parallel_level. */
static bool begins_region(const char *name)
{
    static const char prefix[] = "__kmpc_parallel_";
    return !strncmp(name, prefix, sizeof prefix - 1) &&
           strchr("56s", name[sizeof prefix - 1]);
}

static bool sets_threads(const char *name)
{
    return !strcmp(name, "omp_set_num_threads");
}

static LLVMValueRef function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

/* How many threads a call that begins a region asks for; 0: none, which clang
 * passes as -1. __kmpc_parallel_spmd has fewer operands than
 * __kmpc_parallel_51 and 60. */
static uint32_t asked_threads(LLVMValueRef call)
{
    enum { NUM_THREADS = 3, OF_SPMD = 1, SPMD_ARGUMENTS = 5 };
    unsigned args = LLVMGetNumArgOperands(call);
    unsigned at = args <= SPMD_ARGUMENTS ? OF_SPMD : NUM_THREADS;
    LLVMValueRef n = args > at ? LLVMGetOperand(call, at) : NULL;
    if (!n || !LLVMIsAConstantInt(n))
        return OMPJIT__ANY_THREADS;
    long long value = LLVMConstIntGetSExtValue(n);
    return value > 0 ? (uint32_t)value : 0;
}

/* One region of the kernel. num_threads is the most that any asks for;
 * free_region says that one leaves it to the device. */
static void add_region(LLVMValueRef call, ompjit__kernel_desc *k)
{
    uint32_t asked = asked_threads(call);
    k->free_region |= !asked;
    if (asked > k->num_threads)
        k->num_threads = asked;
}

/* The threads that the kernel's regions ask for. */
static void describe_regions(const ompjit__reached *r, ompjit__kernel_desc *k)
{
    size_t n;
    for (size_t i = 0; i < r->n; i++) {
        LLVMValueRef f = r->functions[i];
        if (!begins_region(LLVMGetValueName2(f, &n)))
            continue;
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f &&
                ompjit__is_reached(r, function_of(call)))
                add_region(call, k);
        }
    }
    if (ompjit__reaches(r, sets_threads))
        k->num_threads = OMPJIT__ANY_THREADS;
}

/* If there is no teams construct, the kernel environment bounds the teams
 * by 1 or -1. */
static bool may_have_teams(const ompjit__reached *r,
                           const ompjit__kernel_desc *k)
{
    return ompjit__reaches(r, shares_among_teams) ||
           (ompjit__reaches(r, asks_for_team) &&
            (k->max_teams == 0 || k->max_teams > 1));
}

/* ----------------------------------------------------------------- chunks */

/* Does a loop of the host half ask for chunks of one iteration? On a device
 * clang also chooses them itself; for the host it never does. */
static bool asks_for_chunk_one(LLVMModuleRef host)
{
    static const char *const names[] = {
        "__kmpc_for_static_init_4", "__kmpc_for_static_init_4u",
        "__kmpc_for_static_init_8", "__kmpc_for_static_init_8u"};
    enum { SCHEDULE = 2, CHUNK = 8, STATIC_CHUNKED = 33, KIND = 0xff };
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(host, names[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (!LLVMIsACallInst(call) || LLVMGetNumArgOperands(call) <= CHUNK)
                continue;
            LLVMValueRef schedule = LLVMGetOperand(call, SCHEDULE);
            LLVMValueRef chunk = LLVMGetOperand(call, CHUNK);
            if (LLVMIsAConstantInt(schedule) &&
                (LLVMConstIntGetZExtValue(schedule) & KIND) == STATIC_CHUNKED &&
                LLVMIsAConstantInt(chunk) &&
                LLVMConstIntGetZExtValue(chunk) == 1)
                return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ unit */

static ompjit_status describe_kernel(LLVMModuleRef device, LLVMModuleRef host,
                                     LLVMValueRef fn, ompjit__kernel_desc *k,
                                     ompjit_error *err)
{
    size_t n;
    LLVMValueRef env = ompjit__environment_variable(device, fn);
    k->symbol = ompjit__strdup(LLVMGetValueName2(fn, &n));
    k->name = k->symbol ? ompjit__kernel_name(k->symbol, &k->line) : NULL;
    if (!k->name)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    if (env)
        read_environment(env, k);
    k->launch_env = takes_launch_env(fn, env);
    k->thread_limit = positive(k->max_threads);
    ompjit__reached r = ompjit__reached_by(fn);
    bool shares = ompjit__reaches(&r, shares_among_teams);
    k->teams = may_have_teams(&r, k) ? 0 : 1;
    ompjit_status status = describe_params(fn, k, err);
    if (!status)
        status = host ? add_host_args(host, fn, k, err)
                      : ompjit__param_types(fn, NULL, k, err);
    k->parallel =
        k->teams == 1 && !shares && ompjit__reaches(&r, begins_region);
    describe_regions(&r, k);
    k->observes_threads = ompjit__observes_threads(fn, k->mode);
    ompjit__find_writes(fn, &r, k);
    if (r.failed && !status)
        status = ompjit__no_memory(err, OMPJIT_STAGE_READ);
    free(r.functions);
    return status;
}

static unsigned count_kernels(LLVMModuleRef m)
{
    unsigned n = 0;
    LLVMValueRef f = LLVMGetFirstFunction(m);
    for (; f; f = LLVMGetNextFunction(f))
        n += ompjit__is_kernel(f);
    return n;
}

static ompjit_status describe_kernels(LLVMModuleRef device, LLVMModuleRef host,
                                      ompjit__unit *unit, ompjit_error *err)
{
    unit->kernels = calloc(count_kernels(device) + 1, sizeof *unit->kernels);
    if (!unit->kernels)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    LLVMValueRef f = LLVMGetFirstFunction(device);
    for (; f; f = LLVMGetNextFunction(f)) {
        if (!ompjit__is_kernel(f))
            continue;
        ompjit__kernel_desc *k = &unit->kernels[unit->nkernels++];
        ompjit_status status = describe_kernel(device, host, f, k, err);
        if (status)
            return status;
    }
    return OMPJIT_OK;
}

/* The text that an entry's name points to; NULL: it is none. */
static const char *text_of(LLVMValueRef name)
{
    size_t n;
    LLVMValueRef v = name && LLVMIsAGlobalVariable(name)
                         ? LLVMGetInitializer(name)
                         : NULL;
    return v && LLVMIsAConstantDataSequential(v) && LLVMIsConstantString(v)
               ? LLVMGetAsString(v, &n)
               : NULL;
}

static bool is_kernel_symbol(const ompjit__unit *unit, const char *symbol)
{
    for (unsigned i = 0; i < unit->nkernels; i++)
        if (!strcmp(unit->kernels[i].symbol, symbol))
            return true;
    return false;
}

static unsigned count_globals(LLVMModuleRef m)
{
    unsigned n = 0;
    LLVMValueRef g = LLVMGetFirstGlobal(m);
    for (; g; g = LLVMGetNextGlobal(g))
        n++;
    return n;
}

/* Entries whose names are kernels' are regions; all others are variables,
 * functions or requirements. The data of a requirement takes the place of its
 * size, which it does not have. */
static ompjit_status describe_globals(LLVMModuleRef host, ompjit__unit *unit,
                                      ompjit_error *err)
{
    unit->globals = calloc(count_globals(host) + 1, sizeof *unit->globals);
    if (!unit->globals)
        return ompjit__no_memory(err, OMPJIT_STAGE_READ);
    LLVMValueRef g = LLVMGetFirstGlobal(host);
    for (; g; g = LLVMGetNextGlobal(g)) {
        ompjit__entry entry;
        const char *symbol;
        if (!ompjit__entry_read(g, &entry) ||
            !(symbol = text_of(entry.name)) || is_kernel_symbol(unit, symbol))
            continue;
        ompjit__global_desc *desc = &unit->globals[unit->nglobals];
        desc->symbol = ompjit__strdup(symbol);
        if (!desc->symbol)
            return ompjit__no_memory(err, OMPJIT_STAGE_READ);
        desc->size = entry.flags & ENTRY_REQUIRES ? entry.data : entry.size;
        desc->flags = entry.flags;
        unit->nglobals++;
    }
    return OMPJIT_OK;
}

/* --------------------------------------------------------------- variables */

/* Has the module variables that all of its images have to share? */
static bool has_variables(LLVMModuleRef m)
{
    LLVMValueRef g = LLVMGetFirstGlobal(m);
    while (g && !ompjit__is_shared_variable(g))
        g = LLVMGetNextGlobal(g);
    return g != NULL;
}

/* A `declare target indirect` function: the host has its address. */
static bool has_indirect(const ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nglobals; i++)
        if (unit->globals[i].flags & OMPJIT__ENTRY_CALLED)
            return true;
    return false;
}

/* Is a function's address in the constant? Other variables that it names have
 * constants of their own. */
static bool has_function(LLVMValueRef constant)
{
    if (LLVMIsAFunction(constant))
        return true;
    if (!LLVMIsAConstant(constant) || LLVMIsAGlobalValue(constant))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(constant); i++)
        if (has_function(LLVMGetOperand(constant, (unsigned)i)))
            return true;
    return false;
}

static bool is_call(LLVMValueRef i)
{
    return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i);
}

/* Calls of the runtime hand it regions, tasks and reductions, which it calls
 * and does not keep. */
static bool calls_runtime(LLVMValueRef i)
{
    LLVMValueRef f = is_call(i) ? LLVMGetCalledValue(i) : NULL;
    size_t n;
    return f && LLVMIsAFunction(f) &&
           !strncmp(LLVMGetValueName2(f, &n), "__kmpc_", 7);
}

/* Does the instruction make a function's address a value, which code may store:
 * an operand of a store, a phi or a select, a call's argument, a result? A
 * call's last operand is the function that it calls. */
static bool takes_function(LLVMValueRef i)
{
    int n = LLVMGetNumOperands(i) - is_call(i);
    if (LLVMIsACmpInst(i) || calls_runtime(i))
        return false;
    for (int k = 0; k < n; k++)
        if (has_function(LLVMGetOperand(i, (unsigned)k)))
            return true;
    return false;
}

static bool takes_functions(LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (takes_function(i))
                return true;
    return false;
}

/* May a variable hold a function's address: by an initializer, or because code
 * has the address as a value? */
static bool holds_functions(LLVMModuleRef m)
{
    size_t n;
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g)) {
        LLVMValueRef value = LLVMGetInitializer(g);
        if (value && strncmp(LLVMGetValueName2(g, &n), "llvm.", 5) &&
            has_function(value))
            return true;
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (takes_functions(f))
            return true;
    return false;
}

/* stays_generic: on a GPU, images cannot have functions in common. A pointer to
 * a function that one image has stored into a variable would be another code's
 * in the next, and so is what the table of indirect calls has. */
ompjit_status ompjit__describe(LLVMModuleRef device, LLVMModuleRef host,
                               ompjit__unit *unit, ompjit_error *err)
{
    ompjit_status status = describe_kernels(device, host, unit, err);
    if (!status && host)
        status = describe_globals(host, unit, err);
    unit->chunk_is_default = host && !asks_for_chunk_one(host);
    unit->stays_generic =
        has_indirect(unit) || (has_variables(device) && holds_functions(device));
    return status;
}
