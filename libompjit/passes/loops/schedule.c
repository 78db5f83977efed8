/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The schedule, on each device, of loops whose schedule the program leaves
 * open. clang deals them out, on any device, in chunks of one iteration a
 * thread, for the sake of coalescing.
 *
 * A CPU's teams and threads get one block each.
 *
 * A GPU's threads go by strides from iteration to iteration, as one writes it
 * in CUDA. clang goes from chunk to chunk in a loop of its own: `for` in two
 * nested loops, of which the inner has one round, which LLVM does not see;
 * `distribute parallel for` in a loop over parallel regions, each with the cost
 * of one and its barrier. Here the inner loop of `for` goes by the stride, and
 * a team's part of `distribute parallel for` is the whole loop, of which the
 * threads of all teams take turns. Each thread has the iterations that it had,
 * in the same order.
 *
 * Only what clang writes before it is optimized is recognized.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "passes/loops/loops.h"

/* Arguments of the runtime's functions, and schedules (runtime-bc/loops/loop.h). */
enum { SCHEDULE = 2, LOWER = 4, UPPER, STRIDE, INCREMENT, CHUNK, INIT_ARGS };
enum { IF_TRUE = 2, NUM_THREADS, REGION = 5, VALUES = 7 };
enum { REGION_UPPER = 3 }; /* of a region's parameters */
enum { STATIC_CHUNKED = 33, STATIC = 34, DISTRIBUTE_CHUNKED = 91,
       DISTRIBUTE = 92, DISTRIBUTE_FOR_CHUNK_ONE = 93, DISTRIBUTE_ALL = 94,
       STATIC_STRIDED = 95 };

#define INIT(which)                                                            \
    {"__kmpc_" which "_static_init_4", "__kmpc_" which "_static_init_4u",      \
     "__kmpc_" which "_static_init_8", "__kmpc_" which "_static_init_8u"}
enum { KINDS = 4 };
static const char *const inits_for[KINDS] = INIT("for");
static const char *const inits_distribute[KINDS] = INIT("distribute");

/* -------------------------------------------------------------- patterns */

/* Is the value loaded right from that variable? */
static bool is_load(LLVMValueRef v, LLVMValueRef from)
{
    return LLVMIsALoadInst(v) && LLVMGetOperand(v, 0) == from;
}

static bool is_int(LLVMValueRef v, int64_t value)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) == value;
}

/* The next store to a variable, from use *u on; NULL: there is none. */
static LLVMValueRef next_store(LLVMValueRef variable, LLVMUseRef *u)
{
    while (*u) {
        LLVMValueRef user = LLVMGetUser(*u);
        *u = LLVMGetNextUse(*u);
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == variable)
            return user;
    }
    return NULL;
}

/* The store that adds to a variable what stands in another (or, where that is
 * NULL, one); NULL: not exactly one does. */
static LLVMValueRef find_advance(LLVMValueRef variable, LLVMValueRef by)
{
    LLVMValueRef found = NULL, store;
    LLVMUseRef u = LLVMGetFirstUse(variable);
    while ((store = next_store(variable, &u))) {
        LLVMValueRef sum = LLVMGetOperand(store, 0);
        if (!LLVMIsABinaryOperator(sum) ||
            LLVMGetInstructionOpcode(sum) != LLVMAdd ||
            !is_load(LLVMGetOperand(sum, 0), variable))
            continue;
        LLVMValueRef step = LLVMGetOperand(sum, 1);
        if (by ? !is_load(step, by) : !is_int(step, 1))
            continue;
        if (found)
            return NULL;
        found = store;
    }
    return found;
}

/* The variable that gets what stands in another, to count on from there. */
static LLVMValueRef find_counter(LLVMValueRef lower)
{
    for (LLVMUseRef u = LLVMGetFirstUse(lower); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMUseRef its = is_load(load, lower) ? LLVMGetFirstUse(load) : NULL;
        LLVMValueRef store = its ? LLVMGetUser(its) : NULL;
        if (store && LLVMIsAStoreInst(store) &&
            LLVMGetOperand(store, 0) == load &&
            LLVMIsAAllocaInst(LLVMGetOperand(store, 1)))
            return LLVMGetOperand(store, 1);
    }
    return NULL;
}

/* The chunk that clang passes where the program gave none: the number of
 * threads in the team, maybe widened. */
static bool is_team_width(LLVMValueRef v)
{
    while (LLVMIsASExtInst(v) || LLVMIsAZExtInst(v))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsACallInst(v))
        return false;
    LLVMValueRef callee = LLVMGetCalledValue(v);
    size_t n;
    return LLVMIsAFunction(callee) &&
           !strcmp(LLVMGetValueName2(callee, &n),
                   "__kmpc_get_hardware_num_threads_in_block");
}

/* A call that divides a loop whose bounds are variables that are nobody
 * else's. */
static bool is_init(LLVMValueRef call, LLVMValueRef f, int64_t schedule)
{
    if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != f ||
        LLVMGetNumArgOperands(call) < INIT_ARGS ||
        !is_int(LLVMGetOperand(call, SCHEDULE), schedule) ||
        !is_int(LLVMGetOperand(call, INCREMENT), 1))
        return false;
    LLVMValueRef chunk = LLVMGetOperand(call, CHUNK);
    if (schedule == STATIC_CHUNKED ? !is_int(chunk, 1) : !is_team_width(chunk))
        return false;
    for (unsigned i = LOWER; i <= STRIDE; i++)
        if (!LLVMIsAAllocaInst(LLVMGetOperand(call, i)))
            return false;
    return true;
}

/* The schedules above 92 are the runtime's own (runtime-bc/loops/loop.h). */
static void set_schedule(LLVMValueRef call, unsigned schedule)
{
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(call, SCHEDULE));
    LLVMSetOperand(call, SCHEDULE, LLVMConstInt(type, schedule, 0));
}

/* The variable's value, loaded before the instruction `at`. */
static LLVMValueRef load_before(LLVMValueRef at, LLVMValueRef variable)
{
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(variable)));
    LLVMPositionBuilderBefore(b, at);
    LLVMValueRef load =
        LLVMBuildLoad2(b, LLVMGetAllocatedType(variable), variable, "");
    LLVMDisposeBuilder(b);
    return load;
}

/* ---------------------------------------------------------------- blocks */

/* Each team gets one block of iterations. */
static void block_distribute(LLVMValueRef call)
{
    set_schedule(call, DISTRIBUTE);
}

/* A loop goes from chunk to chunk, unless it is a combined construct's, which
 * moves single iterations by the stride. */
static void block_for(LLVMValueRef call)
{
    if (find_advance(LLVMGetOperand(call, LOWER), LLVMGetOperand(call, STRIDE)))
        set_schedule(call, STATIC);
}

/* ------------------------------------------------------------------- for */

/* clang's loop has lower += stride, upper += stride, and counter++ between the
 * two. It becomes counter += stride, with an upper that stays; lower takes over
 * the counter, which is behind the end then, so that the outer loop ends. */
static void stride_for(LLVMValueRef call)
{
    LLVMValueRef lower = LLVMGetOperand(call, LOWER);
    LLVMValueRef upper = LLVMGetOperand(call, UPPER);
    LLVMValueRef stride = LLVMGetOperand(call, STRIDE);
    LLVMValueRef counter = find_counter(lower);
    LLVMValueRef next_lower = find_advance(lower, stride);
    LLVMValueRef next_upper = find_advance(upper, stride);
    LLVMValueRef next = counter ? find_advance(counter, NULL) : NULL;
    if (!next || !next_lower || !next_upper ||
        LLVMGetAllocatedType(counter) != LLVMGetAllocatedType(lower))
        return;
    set_schedule(call, STATIC_STRIDED);
    LLVMSetOperand(LLVMGetOperand(next, 0), 1,
                   load_before(LLVMGetOperand(next, 0), stride));
    LLVMSetOperand(next_lower, 0, load_before(next_lower, counter));
    LLVMSetOperand(next_upper, 0, load_before(next_upper, upper));
}

/* ----------------------------------------------------- distribute and for */

/* The call of a parallel region whose array of values begins at a place. */
static LLVMValueRef find_use(LLVMValueRef place, LLVMValueRef parallel)
{
    bool is_first = LLVMIsAGetElementPtrInst(place) &&
                    LLVMGetNumOperands(place) == 3 &&
                    is_int(LLVMGetOperand(place, 2), 0);
    LLVMValueRef array = is_first ? LLVMGetOperand(place, 0) : place;
    for (LLVMUseRef u = LLVMGetFirstUse(array); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == parallel &&
            LLVMGetOperand(call, VALUES) == array)
            return call;
    }
    return NULL;
}

/* The call of a parallel region that is told where a team's chunk begins:
 * lower, maybe widened, is the first of its values. */
static LLVMValueRef find_parallel(LLVMValueRef lower, LLVMValueRef parallel)
{
    for (LLVMUseRef u = LLVMGetFirstUse(lower); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef v = LLVMGetUser(u);
        if (!is_load(v, lower))
            continue;
        for (LLVMUseRef its; (its = LLVMGetFirstUse(v));) {
            v = LLVMGetUser(its);
            if (!LLVMIsACastInst(v))
                break;
        }
        LLVMValueRef call = LLVMIsAStoreInst(v)
                                ? find_use(LLVMGetOperand(v, 1), parallel)
                                : NULL;
        if (call)
            return call;
    }
    return NULL;
}

/* The call in a region that divides the team's chunk among its threads; NULL:
 * there is not one, or it is not for single iterations. */
static LLVMValueRef find_for(LLVMValueRef region)
{
    LLVMValueRef found = NULL;
    LLVMModuleRef m = LLVMGetGlobalParent(region);
    for (size_t i = 0; i < OMPJIT__COUNT(inits_for); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, inits_for[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u)) {
            LLVMValueRef call = LLVMGetUser(u);
            if (!LLVMIsACallInst(call) ||
                LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) !=
                    region)
                continue;
            if (found || !is_init(call, f, STATIC_CHUNKED))
                return NULL;
            found = call;
        }
    }
    return found;
}

static bool is_called_once(LLVMValueRef region)
{
    LLVMUseRef u = LLVMGetFirstUse(region);
    return u && !LLVMGetNextUse(u);
}

/* Is it read from the variable that keeps where the team's chunk ends? */
static bool is_upper(LLVMValueRef v, LLVMValueRef region)
{
    LLVMValueRef variable = LLVMIsALoadInst(v) ? LLVMGetOperand(v, 0) : NULL;
    LLVMUseRef u = variable ? LLVMGetFirstUse(variable) : NULL;
    LLVMValueRef store = next_store(variable, &u);
    return store && !next_store(variable, &u) &&
           LLVMGetOperand(store, 0) == LLVMGetParam(region, REGION_UPPER);
}

static LLVMValueRef only_user(LLVMValueRef v)
{
    LLVMUseRef u = LLVMGetFirstUse(v);
    return u && !LLVMGetNextUse(u) ? LLVMGetUser(u) : NULL;
}

/* The counter has 32 bits and is compared with the chunk's end by 64, unsigned:
 * one that is negative, having overflown, is behind all ends, which are not. So
 * it is by 32 bits. */
static void narrow_compare(LLVMValueRef region, LLVMValueRef counter)
{
    for (LLVMUseRef u = LLVMGetFirstUse(counter); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef load = LLVMGetUser(u);
        LLVMValueRef wide = is_load(load, counter) ? only_user(load) : NULL;
        LLVMValueRef compare = wide && (LLVMIsASExtInst(wide) ||
                                        LLVMIsAZExtInst(wide))
                                   ? only_user(wide)
                                   : NULL;
        if (!compare || !LLVMIsAICmpInst(compare) ||
            LLVMGetICmpPredicate(compare) != LLVMIntULE ||
            LLVMGetOperand(compare, 0) != wide ||
            !is_upper(LLVMGetOperand(compare, 1), region))
            continue;
        LLVMBuilderRef b =
            LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(load)));
        LLVMPositionBuilderBefore(b, compare);
        LLVMValueRef upper = LLVMBuildTrunc(b, LLVMGetOperand(compare, 1),
                                            LLVMTypeOf(load), "");
        LLVMReplaceAllUsesWith(
            compare, LLVMBuildICmp(b, LLVMIntULE, load, upper, ""));
        LLVMDisposeBuilder(b);
    }
}

/* The region has all threads of the team, and nothing else calls it. */
static void stride_distribute(LLVMValueRef call)
{
    LLVMValueRef parallel = LLVMGetNamedFunction(
        LLVMGetGlobalParent(LLVMGetCalledValue(call)), "__kmpc_parallel_60");
    LLVMValueRef lower = LLVMGetOperand(call, LOWER);
    LLVMValueRef upper = LLVMGetOperand(call, UPPER);
    LLVMValueRef stride = LLVMGetOperand(call, STRIDE);
    LLVMValueRef next_upper = find_advance(upper, stride);
    LLVMValueRef fork = parallel ? find_parallel(lower, parallel) : NULL;
    if (!next_upper || !find_advance(lower, stride) || !fork ||
        !is_int(LLVMGetOperand(fork, IF_TRUE), 1) ||
        !is_int(LLVMGetOperand(fork, NUM_THREADS), -1))
        return;
    LLVMValueRef region = LLVMGetOperand(fork, REGION);
    LLVMValueRef divide = LLVMIsAFunction(region) && is_called_once(region)
                              ? find_for(region)
                              : NULL;
    LLVMValueRef counter =
        divide ? find_counter(LLVMGetOperand(divide, LOWER)) : NULL;
    if (!counter || !find_advance(counter, LLVMGetOperand(divide, STRIDE)))
        return;
    set_schedule(call, DISTRIBUTE_ALL);
    set_schedule(divide, DISTRIBUTE_FOR_CHUNK_ONE);
    LLVMSetOperand(next_upper, 0, load_before(next_upper, upper));
    narrow_compare(region, counter);
}

/* -------------------------------------------------------------- the whole */

/* Each call of a kind of function, of a schedule that clang chose. */
static void for_each(LLVMModuleRef m, const char *const names[KINDS],
                     int64_t schedule, void (*change)(LLVMValueRef call))
{
    for (size_t i = 0; i < KINDS; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(m, names[i]);
        for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL; u;
             u = LLVMGetNextUse(u))
            if (is_init(LLVMGetUser(u), f, schedule))
                change(LLVMGetUser(u));
    }
}

void ompjit__stride_loops(LLVMModuleRef m)
{
    for_each(m, inits_distribute, DISTRIBUTE_CHUNKED, stride_distribute);
    for_each(m, inits_for, STATIC_CHUNKED, stride_for);
}

void ompjit__block_loops(LLVMModuleRef m, bool chunk_is_default)
{
    for_each(m, inits_distribute, DISTRIBUTE_CHUNKED, block_distribute);
    if (chunk_is_default)
        for_each(m, inits_for, STATIC_CHUNKED, block_for);
}
