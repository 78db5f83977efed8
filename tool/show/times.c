/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * --time: what each stage took, all threads together; --profile: what was done
 * and when.
 */
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"
#include "ompjit_debug.h"

void times_print(ompjit_context *ctx)
{
    ompjit_times times = OMPJIT_TIMES_INIT;
    uint64_t total = 0;
    ompjit_context_times(ctx, &times, NULL);
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++)
        total += times.stage[i].ns;
    fprintf(stderr, "ompjit: %-16s %8s %12s %6s\n", "stage", "runs", "ms",
            "%");
    for (int i = 0; i < OMPJIT_STAGE_COUNT; i++) {
        if (!times.stage[i].count)
            continue;
        fprintf(stderr, "ompjit: %-16s %8llu %12.3f %6.1f\n",
                ompjit_stage_name((ompjit_stage)i),
                (unsigned long long)times.stage[i].count,
                times.stage[i].ns / 1e6,
                total ? 100.0 * times.stage[i].ns / total : 0.0);
    }
    fprintf(stderr, "ompjit: %-16s %8s %12.3f\n", "all stages", "",
            total / 1e6);
}

void profile_write(const struct options *o, ompjit_context *ctx)
{
    bool table = !strcmp(o->profile, "-");
    char *text;
    size_t size;
    ompjit_error err;
    if (ompjit_context_profile(ctx, table ? OMPJIT_PROFILE_TABLE
                                          : OMPJIT_PROFILE_TRACE,
                               &text, &size, &err)) {
        failed(&err);
        return;
    }
    if (table)
        write_stderr(text, size);
    else
        write_output(o->profile, text, size);
    ompjit_bytes_free(text);
}
