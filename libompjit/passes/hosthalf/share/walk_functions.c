/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that are walked through: memos of what they do, and recursion.
 *
 * Each call is walked through with its own arguments, which keeps apart what a
 * summary for all calls would mix:
 *
 *   static void set(double *p) { p[0] = 1; }
 *   #pragma omp target data map(tofrom: x[:n])
 *   { kernel(x); set(y); }            set() writes y here, and not x
 *
 * That would take time exponential in the depth of calls. So a memo remembers
 * the state behind a function by all that it depends on: the function, where
 * its arguments lead, the state before it, and on behalf of whom it runs (the
 * flags of its frame). A memo is kept only if the walk through it has
 *
 *   - learnt of no new store or call (the walk will go round again),
 *   - assumed nothing of a function that is still being walked through, and
 *   - used no number made of the arguments of calls further out.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "passes/hosthalf/share/walk_state.h"

enum { DEEP = 24, MOST_MEMOS = 256 };

/* A function that is being walked through. A recursive call of it has the
 * effect that is known so far, and the walk through it is repeated until that
 * effect does not grow any more. */
struct running {
    struct running *outer;
    const ompjit__frame *frame;
    ompjit__state in, out, thrown;
    bool returns, called_again;
};

/* The effect on a state of a function that was walked through. */
struct memo {
    LLVMValueRef f;
    ompjit__place args[OMPJIT__PLACE_ARGS];
    bool called_back, ends, forks;
    ompjit__state in, out, thrown;
    bool returns;
};

/* Allocates the memory only; there are no memos in it yet. */
bool ompjit__walk_make_memos(ompjit__walk *w)
{
    w->memos = malloc(MOST_MEMOS * sizeof *w->memos);
    return w->memos != NULL;
}

/* A memo of that function with those arguments from that very state; NULL:
 * none. Places are compared byte by byte: a difference in bytes that mean
 * nothing costs another walk, and no wrong answer. */
static struct memo *find_memo(const ompjit__walk *w, const ompjit__frame *frame,
                              const ompjit__state *s)
{
    for (unsigned i = 0; i < w->nmemos; i++) {
        struct memo *m = &w->memos[i];
        if (m->f == frame->f && m->called_back == frame->called_back &&
            m->ends == frame->ends && m->forks == frame->forks &&
            !memcmp(m->in.of, s->of, w->n) &&
            !memcmp(m->args, frame->args, sizeof m->args))
            return m;
    }
    return NULL;
}

/* Keeps a memo; beyond MOST_MEMOS in place of the oldest one. */
static void note_memo(ompjit__walk *w, const ompjit__frame *frame,
                      const struct running *r)
{
    struct memo *m = &w->memos[w->next_memo++ % MOST_MEMOS];
    if (w->nmemos < MOST_MEMOS)
        w->nmemos++;
    m->f = frame->f;
    m->called_back = frame->called_back;
    m->ends = frame->ends;
    m->forks = frame->forks;
    memcpy(m->args, frame->args, sizeof m->args);
    m->in = r->in;
    m->out = r->out;
    m->thrown = r->thrown;
    m->returns = r->returns;
}

void ompjit__walk_forget(ompjit__walk *w)
{
    w->nmemos = w->next_memo = 0;
}

bool ompjit__state_merge(ompjit__state *into, const ompjit__state *s,
                         unsigned n)
{
    bool news = false;
    for (unsigned i = 0; i < n; i++) {
        news |= (s->of[i] & ~into->of[i]) != 0;
        into->of[i] |= s->of[i];
    }
    return news;
}

void ompjit__walk_throw(ompjit__walk *w, const ompjit__state *s)
{
    for (unsigned i = 0; i < w->n; i++)
        w->thrown[i] |= s->of[i];
}

static bool includes(const ompjit__state *all, const ompjit__state *s,
                            unsigned n)
{
    ompjit__state both = *all;
    return !ompjit__state_merge(&both, s, n);
}

/* Is the function being walked through already, by a caller of the frame? */
static bool is_walked(const ompjit__frame *frame, LLVMValueRef f)
{
    for (; frame; frame = frame->caller)
        if (frame->f == f)
            return true;
    return false;
}

/* The same function with the same arguments in a caller. Its state before must
 * include this one, so that its effect holds for this call, too. NULL: none;
 * then the recursive call is walked through like another function. */
static struct running *find_running(const ompjit__walk *w,
                                    const ompjit__frame *frame,
                                    const ompjit__state *s)
{
    for (struct running *r = w->running; r; r = r->outer)
        if (r->frame->f == frame->f &&
            r->frame->called_back == frame->called_back &&
            r->frame->ends == frame->ends && r->frame->forks == frame->forks &&
            includes(&r->in, s, w->n) &&
            !memcmp(r->frame->args, frame->args, sizeof frame->args))
            return r;
    return NULL;
}

/* A function that calls itself gets other arguments each time: p, p + 1, p + 2.
 * Somewhere in the object of p holds for all of them, so that the recursion
 * finds its own arguments again and ends. A place that is reached by a load
 * becomes unknown: p->next->next is no single object. */
ompjit__place ompjit__walk_widened(ompjit__place p)
{
    if (p.loads)
        return (ompjit__place){0};
    p.at[0] = 0;
    p.exact = false;
    return p;
}

/* The outermost of two depths; UINT_MAX stands for none. */
static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Walks through a function until it does what its calls of itself do. In round
 * one a recursive call has no effect and does not return; in the next one it
 * has the effect of round one, and so on until a round adds nothing. A size
 * from further out that such a function has used may differ from one call of it
 * to the next, which the rounds cannot show. */
static void run_function(ompjit__walk *w, struct running *r)
{
    bool news = true;
    r->outer = w->running;
    w->running = r;
    while (news) {
        ompjit__state s = r->in;
        r->called_again = false;
        bool returns = ompjit__walk_function(w, r->frame, NULL, &s);
        news = ompjit__state_merge(&r->out, &s, w->n) || returns != r->returns;
        for (unsigned i = 0; i < w->n; i++) {
            news |= (w->thrown[i] & ~r->thrown.of[i]) != 0;
            r->thrown.of[i] |= w->thrown[i];
        }
        news = news && r->called_again;
        r->returns |= returns;
    }
    w->running = r->outer;
    if (r->called_again && w->reach < r->frame->depth)
        ompjit__walk_spoil_all(w, "a function calls itself with a size");
}

/* Takes the effect from a memo, or from a call that is being walked through, or
 * walks. w->assumed and w->reach are measured for this function alone and then
 * merged with the caller's: an assumption of this very function is settled when
 * run_function ends, but one of a caller's is not. */
bool ompjit__walk_enter_frame(ompjit__walk *w, const ompjit__frame *frame,
                              ompjit__state *s)
{
    struct memo *known = find_memo(w, frame, s);
    if (known) {
        *s = known->out;
        ompjit__walk_throw(w, &known->thrown);
        return known->returns;
    }
    struct running *again = find_running(w, frame, s);
    if (again) {
        again->called_again = true;
        w->assumed = least(w->assumed, again->frame->depth);
        *s = again->out;
        ompjit__walk_throw(w, &again->thrown);
        return again->returns;
    }
    struct running r = {.frame = frame, .in = *s};
    unsigned knowledge = ompjit__walk_knowledge(w);
    unsigned assumed = w->assumed, reach = w->reach;
    unsigned char thrown[OMPJIT__WALK_ENTRIES];
    memcpy(thrown, w->thrown, sizeof thrown);
    memset(w->thrown, 0, sizeof w->thrown);
    w->assumed = w->reach = UINT_MAX;
    run_function(w, &r);
    *s = r.out;
    memcpy(w->thrown, thrown, sizeof thrown);
    ompjit__walk_throw(w, &r.thrown);
    if (w->assumed >= frame->depth)
        w->assumed = UINT_MAX;
    if (knowledge == ompjit__walk_knowledge(w) && w->assumed == UINT_MAX &&
        w->reach >= frame->depth)
        note_memo(w, frame, &r);
    w->assumed = least(w->assumed, assumed);
    w->reach = least(w->reach, reach);
    return r.returns;
}

/* The frame of a function that the frame's one calls. Nothing is known of its
 * arguments until the caller sets inner.args. The flags (called_back, ends,
 * forks) go on inwards. `call` NULL: its operands are not the function's
 * arguments. */
ompjit__frame ompjit__walk_frame_in(const ompjit__frame *frame, LLVMValueRef f,
                                    LLVMValueRef call)
{
    ompjit__frame inner = *frame;
    inner.caller = frame;
    inner.f = f;
    inner.call = call;
    inner.depth = frame->depth + 1;
    memset(inner.args, 0, sizeof inner.args);
    return inner;
}

/* Parameters of `f` from the param-th on are the call's arguments from the
 * first on: 0 and 0 for a plain call, 3 and 2 for __kmpc_fork_call. A call of
 * the outermost function spoils all: its places are those of one call of it. */
bool ompjit__walk_enter_function(ompjit__walk *w, const ompjit__frame *frame,
                                 ompjit__state *s, LLVMValueRef call,
                                 LLVMValueRef f, unsigned first, unsigned param)
{
    unsigned n = LLVMGetNumArgOperands(call);
    bool again = is_walked(frame, f);
    ompjit__frame inner =
        ompjit__walk_frame_in(frame, f, first || param ? NULL : call);
    if (inner.depth > DEEP || f == w->top) {
        ompjit__walk_spoil_all(w, "functions call each other deeply");
        return false;
    }
    for (; first < n && param < OMPJIT__PLACE_ARGS; first++, param++) {
        ompjit__place p = ompjit__place_of(frame, LLVMGetOperand(call, first));
        inner.args[param] = again ? ompjit__walk_widened(p) : p;
    }
    return ompjit__walk_enter_frame(w, &inner, s);
}
