/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sets LLVM's options of openmp-opt for one thread at a time. C++ because
 * LLVM's C API can only parse a command line, once.
 */
#include <pthread.h>

#include <llvm/Support/CommandLine.h>

extern "C" {
#include "llvm/options.h"
}

using namespace llvm;

namespace {

/* Held for reading while openmp-opt runs with the defaults, for writing while
 * it runs with other values. */
pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* This thread has no run; one with the defaults; one with other values. */
enum class Run { NONE, ORDINARY, OWN };
thread_local Run run = Run::NONE;

/* The rows of opt.def that are LLVM's, as bits of `given`. The passes of this
 * library read theirs from the unit, and nothing waits for those. */
constexpr uint32_t of_llvm = 0
#define LLVM(id, name, kind, most, ordinary, help) | 1u << OMPJIT__OPT_##id
#define OURS(id, name, kind, most, ordinary, help)
#include "optimizer/opt.def"
    ;

template <typename T> void set(cl::Option *option, T value)
{
    static_cast<cl::opt<T> *>(option)->setValue(value);
}

/* NULL for the defaults. */
void set_all(const ompjit__opts *opts)
{
    const ompjit__opts none = {};
    const auto &known = cl::getRegisteredOptions();
    for (unsigned i = 0; i < OMPJIT__OPT_COUNT; i++) {
        auto id = static_cast<ompjit__opt_id>(i);
        const ompjit__opt_row *row = ompjit__opt_at(id);
        cl::Option *option = known.lookup(row->name);
        uint32_t value = ompjit__opt(opts ? opts : &none, id);
        if (option && row->kind == OMPJIT__OPT_SWITCH)
            set<bool>(option, value != 0);
        else if (option && row->kind == OMPJIT__OPT_NUMBER)
            set<unsigned>(option, value);
    }
}

} // namespace

void ompjit__llvm_options_begin(const ompjit__opts *opts)
{
    if (!(opts->given & of_llvm)) {
        pthread_rwlock_rdlock(&lock);
        run = Run::ORDINARY;
        return;
    }
    pthread_rwlock_wrlock(&lock);
    run = Run::OWN;
    set_all(opts);
}

void ompjit__llvm_options_end(void)
{
    if (run == Run::NONE)
        return;
    if (run == Run::OWN)
        set_all(nullptr);
    run = Run::NONE;
    pthread_rwlock_unlock(&lock);
}
