/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit doctor: entries against kernels. Each entry of a kernel has one in the
 * code for each architecture, each kernel has an entry, keys and names are
 * unique, and all forms of a kernel take the same arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/doctor/doctor.h"

/* ----------------------------------------------------------------- program */

static size_t count(const struct doctor *d, enum entry_role role)
{
    size_t n = 0;
    for (size_t i = 0; i < d->nentries; i++)
        n += d->entries[i].role == role;
    return n;
}

/* Kernels that no other registration than OpenMP's can name. */
static const struct doctor_kernel *first_certain(const struct doctor *d)
{
    for (size_t i = 0; i < d->nkernels; i++)
        if (d->kernels[i].certain && !d->images[d->kernels[i].image].cuda)
            return &d->kernels[i];
    return NULL;
}

static void check_sections(struct doctor *d)
{
    if (d->filled[NEW] && d->filled[OLD])
        doctor_fault(d, "%s has entries in " OMPJIT__ENTRY_SECTION " and %s in "
                     OMPJIT__ENTRY_SECTION_OLD ": one program registers one of "
                     "the two; build all of it with one compiler",
                     d->filled[NEW], d->filled[OLD]);
    for (unsigned i = 0; i < LAYOUTS; i++)
        if (d->refers[i] && !d->has[i])
            doctor_fault(d, "%s refers to %s, but there is no section %s: the "
                         "linker makes no such symbol; put the entries there",
                         d->refers[i], doctor_layouts[i].start,
                         doctor_layouts[i].section);
}

/* What must be there at all. */
static void check_presence(struct doctor *d)
{
    const bool entries = d->filled[NEW] || d->filled[OLD];
    const struct doctor_kernel *k = first_certain(d);
    const size_t kernels = count(d, ENTRY_KERNEL);
    if (!d->host)
        return;
    if (d->launches && !entries)
        doctor_fault(d, "%s launches target regions, but there are no offload "
                     "entries: neither section " OMPJIT__ENTRY_SECTION " nor "
                     OMPJIT__ENTRY_SECTION_OLD " has any; emit one for each "
                     "kernel", d->launches);
    else if (k && !entries)
        doctor_fault(d, "%s: kernel %s has no entry: no file has a section of "
                     "offload entries; give the program's host files, too",
                     d->images[k->image].place, k->symbol);
    if (kernels && !d->nimages && !d->unread)
        doctor_fault(d, "%s has entries for %zu kernels, but there is no "
                     "device image; give a stand-alone one as a further FILE",
                     d->host, kernels);
    if (d->linked && entries && !d->registers)
        doctor_fault(d, "%s: nobody calls __tgt_register_lib, so its entries "
                     "stay unknown: link it with ompjit cc or clang -fopenmp "
                     "--offload-arch=..., or call it", d->linked);
    if (!entries && !d->launches && !k && !d->nimages && !d->unread)
        doctor_fault(d, "%s: has neither entries nor device images nor calls "
                     "of libomptarget: it was compiled without offloading",
                     d->host);
}

/* -------------------------------------------------------------- duplicates */

static const char *text(const char *s)
{
    return s ? s : "";
}

static int by_key(const void *a, const void *b)
{
    const struct doctor_entry *x = a, *y = b;
    int order = strcmp(text(x->key), text(y->key));
    return order ? order : strcmp(text(x->name), text(y->name));
}

static int by_name(const void *a, const void *b)
{
    const struct doctor_entry *x = a, *y = b;
    int order = strcmp(text(x->name), text(y->name));
    return order ? order : strcmp(text(x->key), text(y->key));
}

static bool is_kernel(const struct doctor_entry *e)
{
    return e->role == ENTRY_KERNEL;
}

/* Entries that are wholly equal are templates' of several sources. */
static void check_duplicates(struct doctor *d)
{
    struct doctor_entry *e = d->entries;
    if (d->nentries)
        qsort(e, d->nentries, sizeof *e, by_key);
    for (size_t i = 1; i < d->nentries; i++)
        if (is_kernel(&e[i - 1]) && is_kernel(&e[i]) &&
            !strcmp(e[i - 1].key, e[i].key) &&
            strcmp(e[i - 1].name, e[i].name))
            doctor_fault(d, "%s: the entries of kernels %s and %s have one "
                         "host address, %s: a launch finds one of them only; "
                         "give each a key of its own", e[i].file, e[i - 1].name,
                         e[i].name, e[i].key);
    if (d->nentries)
        qsort(e, d->nentries, sizeof *e, by_name);
    for (size_t i = 1; i < d->nentries; i++)
        if (is_kernel(&e[i - 1]) && is_kernel(&e[i]) &&
            !strcmp(e[i - 1].name, e[i].name) &&
            strcmp(e[i - 1].key, e[i].key))
            doctor_fault(d, "%s: kernel %s has two entries, with host "
                         "addresses %s and %s: keep the one that "
                         "launches pass, or name the other's own kernel",
                         e[i].file, e[i].name, e[i - 1].key, e[i].key);
}

/* ----------------------------------------------------------------- kernels */

static int by_symbol(const void *a, const void *b)
{
    const struct doctor_kernel *x = a, *y = b;
    int order = strcmp(x->symbol, y->symbol);
    return order ? order : (x->image > y->image) - (x->image < y->image);
}

/* The first kernel of a name; they are sorted. */
static struct doctor_kernel *find(const struct doctor *d, const char *name)
{
    size_t from = 0, to = d->nkernels;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(d->kernels[middle].symbol, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < d->nkernels && !strcmp(d->kernels[from].symbol, name)
               ? &d->kernels[from]
               : NULL;
}

static bool has_entry(const struct doctor *d, const char *symbol)
{
    const struct doctor_entry wanted = {.name = (char *)symbol};
    size_t from = 0, to = d->nentries;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(text(d->entries[middle].name), wanted.name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < d->nentries && !strcmp(text(d->entries[from].name), symbol);
         from++)
        if (is_kernel(&d->entries[from]) ||
            d->entries[from].role == ENTRY_OTHER)
            return true;
    return false;
}

static const char *most_like(const struct doctor *d, const char *name)
{
    const char *best = NULL;
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < d->nkernels; i++) {
        unsigned n = d->kernels[i].certain
                         ? ompjit__distance(d->kernels[i].symbol, name)
                         : UINT32_MAX;
        if (n < least) {
            least = n;
            best = d->kernels[i].symbol;
        }
    }
    return best;
}

/* A metadirective may make clang see a region in the host half alone, which
 * runs there: the rule of omptarget/library.c. */
static bool has_host_version(const struct doctor *d,
                             const struct doctor_entry *e)
{
    static const char clangs[] = "__omp_offloading_";
    bool found = false;
    for (size_t i = 0; i < d->nimages; i++)
        found |= d->images[i].matched > 0;
    return found && !e->old && !strncmp(e->name, clangs, sizeof clangs - 1);
}

static void check_entry(struct doctor *d, const struct doctor_entry *e)
{
    if (find(d, e->name))
        return;
    if (has_host_version(d, e)) {
        doctor_note(d, "%s: no image has kernel %s: its region runs as the "
                    "host's own code", e->file, e->name);
        return;
    }
    const char *like = doctor_tells(d) ? most_like(d, e->name) : NULL;
    doctor_fault(d, "%s: there is an entry for kernel %s, but no image has "
                 "such a kernel%s%s: make both names by one rule, and build "
                 "host and device code together", e->file, e->name,
                 like ? "; the most similar one is " : ", nor any other",
                 text(like));
}

const char *doctor_kind(unsigned kind)
{
    static const char *const names[] = {
        [OMPJIT__PIECE_BITCODE] = "bitcode",
        [OMPJIT__PIECE_IR_TEXT] = "IR text",
        [OMPJIT__PIECE_PTX] = "PTX",
        [OMPJIT__PIECE_CUBIN] = "cubin",
        [OMPJIT__PIECE_HOST_OBJECT] = "host object",
        [OMPJIT__PIECE_HOST_LIBRARY] = "host library"};
    return names[kind];
}

bool doctor_is_same_target(const struct doctor_image *a,
                           const struct doctor_image *b)
{
    return a->kind == b->kind && !strcmp(a->arch, b->arch);
}

/* Of the images for one target, which make one program, the first. */
bool doctor_is_first(const struct doctor *d, size_t image)
{
    for (size_t i = 0; i < image; i++)
        if (doctor_is_same_target(&d->images[i], &d->images[image]))
            return false;
    return true;
}

static bool target_matches(const struct doctor *d, size_t image)
{
    for (size_t i = image; i < d->nimages; i++)
        if (d->images[i].matched &&
            doctor_is_same_target(&d->images[i], &d->images[image]))
            return true;
    return false;
}

static bool target_has(const struct doctor *d, size_t image, const char *name)
{
    const struct doctor_kernel *k = find(d, name);
    for (; k && k < d->kernels + d->nkernels && !strcmp(k->symbol, name); k++)
        if (doctor_is_same_target(&d->images[k->image], &d->images[image]))
            return true;
    return false;
}

/* What the code for one target lacks and that for another has. */
static void check_target(struct doctor *d, size_t image)
{
    const struct doctor_image *of = &d->images[image];
    for (size_t i = 0; i < d->nentries && doctor_tells(d); i++) {
        const struct doctor_entry *e = &d->entries[i];
        if (is_kernel(e) && find(d, e->name) && !target_has(d, image, e->name))
            doctor_fault(d, "%s: the %s%s%s has no kernel %s, which other "
                         "images have: build all images from the same sources",
                         of->place, doctor_kind(of->kind),
                         *of->arch ? " for " : "", of->arch, e->name);
    }
}

static void check_image(struct doctor *d, size_t image)
{
    const struct doctor_image *of = &d->images[image];
    if (of->certain && !of->matched && !of->cuda)
        doctor_fault(d, "%s: none of its %u kernels has an entry: the image is "
                     "of another build than the host's files; build both again",
                     of->place, of->nkernels);
}

static void check_kernel(struct doctor *d, const struct doctor_kernel *k)
{
    const struct doctor_image *of = &d->images[k->image];
    if (k->certain && of->matched && !of->cuda && !has_entry(d, k->symbol))
        doctor_fault(d, "%s: kernel %s has no entry: emit one for it, or build "
                     "host and device code together", of->place, k->symbol);
}

/* --------------------------------------------------------------- arguments */

static void check_arguments(struct doctor *d, const struct doctor_kernel *a,
                            const struct doctor_kernel *b)
{
    const char *x = d->images[a->image].place, *y = d->images[b->image].place;
    if (a->nargs < 0 || b->nargs < 0)
        return;
    if (a->nargs != b->nargs) {
        doctor_fault(d, "kernel %s takes %d arguments in %s, but %d in %s: the "
                     "images are of different builds; build both again",
                     a->symbol, a->nargs, x, b->nargs, y);
        return;
    }
    for (unsigned i = 0; i < a->nparams && i < b->nparams; i++)
        if (a->params[i].size != b->params[i].size) {
            doctor_fault(d, "parameter %u of kernel %s has %u bytes in %s, but "
                         "%u in %s: the images are of different builds; build "
                         "both again", i, a->symbol, a->params[i].size, x,
                         b->params[i].size, y);
            return;
        }
}

/* Each form of a kernel against the one before it. */
static void check_forms(struct doctor *d)
{
    for (size_t i = 1; i < d->nkernels; i++)
        if (!strcmp(d->kernels[i - 1].symbol, d->kernels[i].symbol))
            check_arguments(d, &d->kernels[i - 1], &d->kernels[i]);
}

/* --------------------------------------------------------------- interface */

/* Which targets there is code for. */
static void note_devices(struct doctor *d)
{
    bool host = false, gpu = false;
    for (size_t i = 0; i < d->nimages; i++) {
        unsigned kind = d->images[i].kind;
        bool ir = kind == OMPJIT__PIECE_BITCODE ||
                  kind == OMPJIT__PIECE_IR_TEXT;
        bool cpu = kind == OMPJIT__PIECE_HOST_OBJECT ||
                   kind == OMPJIT__PIECE_HOST_LIBRARY;
        host |= ir || cpu;
        gpu |= !cpu;
    }
    if (d->nimages && !host)
        doctor_note(d, "no image is for the CPU: target regions run on GPUs, "
                    "or as the host's own code");
    if (d->nimages && !gpu)
        doctor_note(d, "no image is for GPUs: target regions run on the CPU");
    if (!d->host)
        doctor_note(d, "no file has entries: images alone are not compared "
                    "with a program");
}

void doctor_match(struct doctor *d)
{
    check_sections(d);
    check_presence(d);
    check_duplicates(d);
    if (d->nkernels)
        qsort(d->kernels, d->nkernels, sizeof *d->kernels, by_symbol);
    for (size_t i = 0; i < d->nkernels; i++) {
        struct doctor_image *of = &d->images[d->kernels[i].image];
        of->certain += d->kernels[i].certain;
        of->matched += has_entry(d, d->kernels[i].symbol);
    }
    for (size_t i = 0; i < d->nentries && d->nimages; i++)
        if (is_kernel(&d->entries[i]))
            check_entry(d, &d->entries[i]);
    const bool entries = count(d, ENTRY_KERNEL) > 0;
    for (size_t i = 0; entries && i < d->nimages; i++) {
        check_image(d, i);
        if (doctor_is_first(d, i) && target_matches(d, i))
            check_target(d, i);
    }
    for (size_t i = 0; entries && i < d->nkernels; i++)
        check_kernel(d, &d->kernels[i]);
    check_forms(d);
    note_devices(d);
}
