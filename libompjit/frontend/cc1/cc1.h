/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * clang's front end as a part of ompjitc.
 */
#ifndef OMPJIT_CC1_H
#define OMPJIT_CC1_H

#ifdef __cplusplus
extern "C" {
#endif

/* A process's whole work: `ompjitc -cc1 ARGUMENTS` makes bitcode as `clang -cc1
 * -emit-llvm-bc ARGUMENTS` does. Ends the process. Weak: ompjitc was built
 * where clang's static libraries are missing. */
int ompjit__cc1(int argc, const char *const *argv) __attribute__((weak));
/* The same of `ompjitc -repl ARGUMENTS`, which reads one input after the other
 * (frontend/repl/). Weak, too. */
int ompjit__repl(int argc, const char *const *argv) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
