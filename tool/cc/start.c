/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `ompjit cc` links this into each executable, not into shared libraries: a
 * setting of libomp's, which reads its environment when the program first needs
 * it. The program's own constructors run later.
 */
#include <stdlib.h>

/* libomp gives a `teams` construct of the host no more teams than there are
 * processors, whatever num_teams demands. What the user has set stays. */
__attribute__((constructor(101))) static void allow_teams(void)
{
    setenv("KMP_TEAMS_THREAD_LIMIT", "4096", 0);
}
