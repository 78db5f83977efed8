/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * NVIDIA's assemblers keep a kernel's registers so few that more teams share a
 * multiprocessor, also where some must then be spilled. A multiprocessor with
 * half of its teams hides what the memory takes about as well, and spills are
 * more of it. So such a kernel is told to make room for half of the teams only
 * (PTX ISA, "Performance-Tuning Directives: .minnctapersm").
 */
#include <string.h>

#include "backend/nvptx/assemble.h"
#include "backend/nvptx/ptx_text.h"
#include "targets/occupancy.h"

/* Teams of the kernel on a multiprocessor as it is; 0: nobody knows. */
static uint32_t teams_of(const char *arch, const ompjit_resources *use)
{
    ompjit_occupancy now;
    bool known = use->max_threads &&
                 !ompjit__occupancy(arch, use, use->max_threads, 0, &now, NULL);
    return known ? now.teams : 0;
}

uint32_t ompjit__roomier_teams(const char *arch, const ompjit_resources *use)
{
    return use->spill_stores ? teams_of(arch, use) / 2 : 0;
}

/* Is the word in the text, at any place? */
static bool has(ompjit__span text, const char *word)
{
    return memmem(text.at, text.size, word, strlen(word)) != NULL;
}

/* A request of the kernel's author or of the launch stays. */
static bool is_free(const ompjit__ptx_entry *e)
{
    return !has(e->directives, ".minnctapersm") &&
           !has(e->directives, ".maxnreg");
}

static bool any(const uint32_t *teams, unsigned n)
{
    unsigned i = 0;
    while (i < n && !teams[i])
        i++;
    return i < n;
}

/*     .visible .entry k(...)
 *     .minnctapersm 4              added, where teams[i] of k is 4
 *     .maxntid 128
 *     { ... }
 */
bool ompjit__roomier(const char *ptx, ompjit__usage *usage,
                     const uint32_t *teams, unsigned n, ompjit__buf *out)
{
    ompjit__ptx_entry e;
    bool changed = false;
    const char *done = ptx;
    if (!any(teams, n))
        return false;
    while (ompjit__ptx_next(done, &e)) {
        ompjit__usage *u =
            ompjit__usage_find(usage, n, e.name.at, e.name.size);
        uint32_t least = u && is_free(&e) ? teams[u - usage] : 0;
        ompjit__buf_add(out, done, (size_t)(e.directives.at - done));
        if (least)
            ompjit__buf_printf(out, "\n.minnctapersm %u", least);
        changed |= least != 0;
        done = e.directives.at;
        ompjit__buf_add(out, done, (size_t)(e.whole.at + e.whole.size - done));
        done = e.whole.at + e.whole.size;
    }
    ompjit__buf_add(out, done, strlen(done));
    return changed && !out->failed;
}
