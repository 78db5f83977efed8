/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Interrupts: SIGINT, or a request that means the same, ends what is under way
 * and never the session.
 */
#ifndef OMPJIT_REPL_INTERRUPT_H
#define OMPJIT_REPL_INTERRUPT_H

#include "tool/repl/session/engine.h"

/* The calling thread is the one that executes inputs. From now on SIGINT is an
 * interrupt. `give_up` is called by another thread where the session's code does
 * not end, in a parallel region of the host or elsewhere, and ends the process.
 * False: out of memory or threads. */
bool interrupt_begin(void (*give_up)(void *data, bool parallel), void *data);
void interrupt_end(void);
/* The engine that executes from now on; NULL: none, and interrupts do nothing. */
void interrupt_engine(engine *e);
/* Interrupts the engine in so many milliseconds; 0: never. Nothing, where there
 * are no interrupts. The engine is told that it is over its limit. */
void interrupt_after(unsigned milliseconds);
void interrupt_not_after(void);
/* From any thread. */
void interrupt_now(void);

#endif
