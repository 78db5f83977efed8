/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a unit's IR says of its kernels and variables, so that nobody has to
 * look into IR for it again. Requires the inner dialect.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "frontend/frontend.h"
#include "ir/ir.h"
#include "offload/abi.h"

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

/* Parameters stand for those of the host's arguments that say so. */
static ompjit_status add_host_args(LLVMModuleRef host, ompjit__kernel_desc *k,
                                   ompjit_error *err)
{
    ompjit__host_args args;
    ompjit_status status =
        ompjit__host_args_find(host, k->symbol, &args, err);
    if (status)
        return status;
    if (args.known)
        k->teams = args.teams;
    unsigned at = 0;
    for (unsigned i = 0; i < args.n && at < k->nparams; i++) {
        if (!(args.types[i] & MAP_TARGET_PARAM))
            continue;
        k->params[at].map_type = args.types[i];
        k->params[at++].size = (uint32_t)args.sizes[i];
    }
    free(args.types);
    free(args.sizes);
    return OMPJIT_OK;
}

/* Every kernel with an environment takes the launch environment first; of one
 * without (ompx_bare) only the name tells. */
static bool takes_launch_env(LLVMValueRef fn, LLVMValueRef env)
{
    size_t n;
    if (env || !LLVMCountParams(fn))
        return env != NULL;
    return !strcmp(LLVMGetValueName2(LLVMGetParam(fn, 0), &n), "dyn_ptr");
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
           !strncmp(name, "__kmpc_nvptx_teams_reduce", 25) ||
           !strcmp(name, "omp_get_team_num") ||
           !strcmp(name, "omp_get_num_teams");
}

static bool begins_region(const char *name)
{
    return !strncmp(name, "__kmpc_parallel_", 16) &&
           strchr("56", name[sizeof "__kmpc_parallel_" - 1]);
}

/* Is a function such a one, or does it call one or hand one on? `depth` bounds
 * recursion. */
static bool reaches(LLVMValueRef fn, bool (*is)(const char *name),
                    unsigned depth)
{
    size_t n;
    if (is(LLVMGetValueName2(fn, &n)))
        return true;
    LLVMBasicBlockRef block = depth ? LLVMGetFirstBasicBlock(fn) : NULL;
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef i = LLVMGetFirstInstruction(block);
        for (; i; i = LLVMGetNextInstruction(i))
            for (int k = 0; LLVMIsACallInst(i) && k < LLVMGetNumOperands(i);
                 k++) {
                LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
                if (LLVMIsAFunction(v) && v != fn &&
                    reaches(v, is, depth - 1))
                    return true;
            }
    }
    return false;
}

/* What a call of __kmpc_parallel_51 or _60 asks for. */
static uint32_t asked_threads(LLVMValueRef call)
{
    enum { NUM_THREADS = 3 };
    LLVMValueRef n = LLVMGetNumArgOperands(call) > NUM_THREADS
                         ? LLVMGetOperand(call, NUM_THREADS)
                         : NULL;
    if (!n || !LLVMIsAConstantInt(n))
        return OMPJIT__ANY_THREADS;
    long long value = LLVMConstIntGetSExtValue(n);
    return value > 0 ? (uint32_t)value : 0;
}

/* The most that a region asks for in fn and what it calls or hands on. */
static uint32_t most_asked_threads(LLVMValueRef fn, unsigned depth)
{
    size_t n;
    uint32_t most = 0;
    LLVMBasicBlockRef block = depth ? LLVMGetFirstBasicBlock(fn) : NULL;
    for (; block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef i = LLVMGetFirstInstruction(block);
        for (; i; i = LLVMGetNextInstruction(i))
            for (int k = 0; LLVMIsACallInst(i) && k < LLVMGetNumOperands(i);
                 k++) {
                LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
                if (!LLVMIsAFunction(v) || v == fn)
                    continue;
                uint32_t asked = v == LLVMGetCalledValue(i) &&
                                         begins_region(LLVMGetValueName2(v, &n))
                                     ? asked_threads(i)
                                     : most_asked_threads(v, depth - 1);
                most = asked > most ? asked : most;
            }
    }
    return most;
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
    k->teams = reaches(fn, shares_among_teams, 8) ? 0 : 1;
    k->parallel = k->teams == 1 && reaches(fn, begins_region, 8);
    k->num_threads = k->parallel ? most_asked_threads(fn, 8) : 0;
    ompjit_status status = describe_params(fn, k, err);
    return status || !host ? status : add_host_args(host, k, err);
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

static const char *text_of(LLVMValueRef name)
{
    size_t n;
    LLVMValueRef v = name && LLVMIsAGlobalVariable(name)
                         ? LLVMGetInitializer(name)
                         : NULL;
    return v && LLVMIsConstantString(v) ? LLVMGetAsString(v, &n) : NULL;
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

/* ---------------------------------------------------------------- variables */

static bool has_variables(LLVMModuleRef m)
{
    LLVMValueRef g = LLVMGetFirstGlobal(m);
    while (g && !ompjit__is_shared_variable(g))
        g = LLVMGetNextGlobal(g);
    return g != NULL;
}

static bool has_indirect(const ompjit__unit *unit)
{
    for (unsigned i = 0; i < unit->nglobals; i++)
        if (unit->globals[i].flags & OMPJIT__ENTRY_INDIRECT)
            return true;
    return false;
}

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

static bool stores_functions(LLVMValueRef f)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsAStoreInst(i) && has_function(LLVMGetOperand(i, 0)))
                return true;
    return false;
}

/* In a variable or a constant, or stored anywhere. */
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
        if (stores_functions(f))
            return true;
    return false;
}

ompjit_status ompjit__describe(LLVMModuleRef device, LLVMModuleRef host,
                               ompjit__unit *unit, ompjit_error *err)
{
    ompjit_status status = describe_kernels(device, host, unit, err);
    if (!status && host)
        status = describe_globals(host, unit, err);
    unit->chunk_is_default = host && !asks_for_chunk_one(host);
    unit->stays_generic =
        has_variables(device) &&
        (has_indirect(unit) || holds_functions(device));
    return status;
}
