/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lambdas in the names of target regions. clang numbers the lambdas of a
 * function in the order in which a half first needs their names, so that the
 * region of template<class F> void each(F f) has the name each<$_0> in one half
 * and each<$_1> in the other: the device half leaves it out, or has another
 * region of that name. Both halves agree on the places of the lambdas that a
 * region calls. If names do not agree, the device half is compiled once
 * more, with each number there may be in the list of the host half's regions,
 * and its kernels are renamed. Types without a name get numbers of the same row,
 * where a half names them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "llvm/llvm.h"
#include "frontend/describe/describe.h"
#include "frontend/dialect/dialect.h"
#include "frontend/describe/reach.h"

/* How the name of every target region begins: REGION, then
 * DEVICE_FILE_FUNCTION_lLINE, e.g. __omp_offloading_fe00_ae40_each3$_0_l12. */
#define REGION "__omp_offloading_"

/* ----------------------------------------------------------------- names */

/* The first "$_" with a number behind it at or after `s`, or NULL. */
static const char *find_number(const char *s)
{
    while (s && (s = strstr(s, "$_")) && (s[2] < '0' || s[2] > '9'))
        s += 2;
    return s;
}

/* Behind the digits at `s`. */
static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

/* The name with "$_" in place of each "3$_1", which begins with its length. */
static void add_pattern(ompjit__buf *out, const char *name)
{
    const char *at;
    while ((at = find_number(name))) {
        const char *end = at;
        while (end > name && end[-1] >= '0' && end[-1] <= '9')
            end--;
        ompjit__buf_add(out, name, (size_t)(end - name));
        ompjit__buf_printf(out, "$_");
        name = skip_digits(at + 2);
    }
    ompjit__buf_printf(out, "%s", name);
}

/* _ZZ4mainENK3$_0clEd: the lambda's operator () */
static bool is_call_operator(const char *name)
{
    const char *at = name;
    if (!strncmp(name, REGION, sizeof REGION - 1))
        return false;
    while ((at = find_number(at))) {
        at = skip_digits(at + 2);
        if (!strncmp(at, "cl", 2))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- places */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is it code of the source, and the same in both halves? A device half shares
 * variables by calls of its own, and its functions return elsewhere. */
static bool is_of_source(LLVMValueRef i)
{
    if (LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) {
        size_t n;
        LLVMValueRef f = LLVMGetCalledValue(i);
        const char *name = LLVMGetValueName2(f, &n);
        return strncmp(name, "__kmpc_", 7) != 0 && !LLVMGetIntrinsicID(f);
    }
    return LLVMIsALoadInst(i) || LLVMIsAGetElementPtrInst(i) ||
           LLVMIsABinaryOperator(i) || LLVMIsACmpInst(i);
}

/* A place in a file; line 0: nobody knows it. */
struct place {
    unsigned line, column;
};

/* The lesser of the two; one without a line is none. */
static struct place first_of(struct place a, struct place b)
{
    if (!a.line || !b.line)
        return a.line ? a : b;
    return a.line < b.line || (a.line == b.line && a.column < b.column) ? a : b;
}

/* "file:line line:column": where the function begins, and its first code, which
 * tells two in one line apart; malloc'd. NULL: it has no lines. */
static char *place_of(LLVMValueRef f)
{
    LLVMMetadataRef program = LLVMGetSubprogram(f);
    struct place first = {0, 0};
    unsigned n = 0;
    if (!program)
        return NULL;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (is_of_source(i))
                first = first_of(first, (struct place){
                                            LLVMGetDebugLocLine(i),
                                            LLVMGetDebugLocColumn(i)});
    LLVMMetadataRef in = LLVMDIScopeGetFile(program); /* NULL: nobody said */
    const char *file = in ? LLVMDIFileGetFilename(in, &n) : NULL;
    return ompjit__format("%.*s:%u %u:%u\n", (int)n, file ? file : "",
                          LLVMDISubprogramGetLine(program), first.line,
                          first.column);
}

/* The places of all lambdas that a region calls by name, sorted; "" for none.
 * Functions whose address is taken are others in each half. */
static char *places_of(LLVMValueRef region)
{
    ompjit__reached r = ompjit__named_by(region);
    char **places = calloc(r.n + 1, sizeof *places);
    ompjit__buf text = {.failed = !places || r.failed};
    size_t n = 0, length;
    for (size_t i = 0; places && i < r.n; i++)
        if (!LLVMIsDeclaration(r.functions[i]) &&
            is_call_operator(LLVMGetValueName2(r.functions[i], &length)) &&
            (places[n] = place_of(r.functions[i])))
            n++;
    if (places)
        qsort(places, n, sizeof *places, by_text);
    ompjit__buf_printf(&text, "%s", "");
    for (size_t i = 0; i < n; i++) {
        ompjit__buf_printf(&text, "%s", places[i]);
        free(places[i]);
    }
    free(places);
    free(r.functions);
    return text.data;
}

/* --------------------------------------------------------------- regions */

/* Adds the region `f` of that name; `failed` where memory runs out. */
static void add_region(ompjit__lambda_regions *all, LLVMValueRef f,
                       const char *name)
{
    ompjit__lambda_region *v =
        realloc(all->v, (all->n + 1) * sizeof *all->v);
    if ((all->failed |= !v))
        return;
    all->v = v;
    ompjit__buf pattern = {0};
    add_pattern(&pattern, name);
    v[all->n++] = (ompjit__lambda_region){.symbol = ompjit__strdup(name),
                                          .pattern = pattern.data,
                                          .places = places_of(f)};
    all->failed |= pattern.failed || !v[all->n - 1].symbol ||
                   !v[all->n - 1].places;
}

/* The host half has an id for each region, the device half a kernel. */
static bool is_region(LLVMModuleRef m, LLVMValueRef f, const char *name)
{
    if (strncmp(name, REGION, sizeof REGION - 1) || LLVMIsDeclaration(f))
        return false;
    char *id = ompjit__format(".%s.region_id", name);
    bool host = id && LLVMGetNamedGlobal(m, id);
    free(id);
    return host || ompjit__is_kernel(f);
}

void ompjit__lambda_regions_find(LLVMModuleRef m, ompjit__lambda_regions *out)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        const char *at = name;
        while ((at = find_number(at))) {
            unsigned number = (unsigned)strtoul(at + 2, NULL, 10);
            if (number >= out->numbers)
                out->numbers = number + 1;
            at = skip_digits(at + 2);
        }
        if (find_number(name) && is_region(m, f, name))
            add_region(out, f, name);
    }
}

void ompjit__lambda_regions_free(ompjit__lambda_regions *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->v[i].symbol);
        free(all->v[i].pattern);
        free(all->v[i].places);
    }
    free(all->v);
    *all = (ompjit__lambda_regions){0};
}

/* ----------------------------------------------------------- comparison */

/* Are the places the same but for where the first code is? A source may have
 * other code for a device. */
static bool same_lines(const char *a, const char *b)
{
    while (*a || *b) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        while (n && a[n] != ' ')
            n--;
        while (m && b[m] != ' ')
            m--;
        if (n != m || strncmp(a, b, n))
            return false;
        a += strcspn(a, "\n") + (*a != 0);
        b += strcspn(b, "\n") + (*b != 0);
    }
    return true;
}

/* How sure it is that two regions are one. */
enum likeness {
    UNLIKE,     /* another name, or lambdas on other lines          */
    LIKE_LINES, /* lambdas on the same lines, with other first code */
    LIKE        /* the same lambdas                                 */
};

/* Names decide first: only what differs in the numbers can be one. */
static enum likeness likeness(const ompjit__lambda_region *a,
                              const ompjit__lambda_region *b)
{
    if (strcmp(a->pattern, b->pattern))
        return UNLIKE;
    return !strcmp(a->places, b->places)       ? LIKE
           : same_lines(a->places, b->places) ? LIKE_LINES
                                               : UNLIKE;
}

/* The only one that is most like the region, or NULL. */
static ompjit__lambda_region *most_like(const ompjit__lambda_regions *all,
                                        const ompjit__lambda_region *region)
{
    enum likeness best = UNLIKE;
    ompjit__lambda_region *found = NULL;
    for (size_t i = 0; i < all->n; i++) {
        enum likeness is = likeness(&all->v[i], region);
        if (is == UNLIKE || is < best)
            continue;
        found = is > best ? &all->v[i] : NULL;
        best = is;
    }
    return found;
}

/* Has the other half a region of that name, and none that is more like it? */
static bool has(const ompjit__lambda_regions *all,
                const ompjit__lambda_region *region)
{
    enum likeness best = UNLIKE, named = UNLIKE;
    for (size_t i = 0; i < all->n; i++) {
        enum likeness is = likeness(&all->v[i], region);
        if (is > best)
            best = is;
        if (!strcmp(all->v[i].symbol, region->symbol))
            named = is;
    }
    return named != UNLIKE && named == best;
}

/* Arguments and result of compare(). */
struct comparison {
    const ompjit__lambda_regions *host;
    const ompjit__buf *device;
    bool agree;
};

/* In a guard, and in a context of its own: the half is read once more when the
 * unit is made of it. */
static ompjit_status compare(void *arg, ompjit_error *err)
{
    struct comparison *c = arg;
    ompjit__buf messages = {0};
    ompjit__lambda_regions device = {0};
    LLVMModuleRef m;
    LLVMContextRef context = ompjit__llvm_context(&messages);
    ompjit_status status =
        ompjit__parse_ir(context, c->device->data, c->device->size,
                         "device half", &messages, &m, err);
    if (!status) {
        ompjit__lambda_regions_find(m, &device);
        c->agree = !device.failed;
        for (size_t i = 0; c->agree && i < c->host->n; i++)
            c->agree = has(&device, &c->host->v[i]);
        ompjit__lambda_regions_free(&device);
        LLVMDisposeModule(m);
    }
    LLVMContextDispose(context);
    ompjit__buf_free(&messages);
    return status;
}

bool ompjit__lambda_regions_agree(const ompjit__lambda_regions *host,
                                  const ompjit__buf *device)
{
    struct comparison c = {host, device, false};
    return !host->n || ompjit__guard(compare, &c, OMPJIT_STAGE_READ, NULL) ||
           c.agree;
}

/* ------------------------------------------------- the list of all numbers */

enum { MOST_ROWS = 8192 };
#define INFO "omp_offload.info"

/* The rows of the host half's list, which clang writes as the named metadata
 * "omp_offload.info" (OffloadEntriesInfoManager), with more. */
struct list {
    LLVMModuleRef m;
    char **keys;          /* of all rows; clang ends where one is there twice */
    LLVMValueRef *fields; /* of the row that is repeated */
    unsigned rows, numbers;
};

/* kind, device, file, function, line, number in the line, order */
enum field { KIND, DEVICE, FILE_ID, FUNCTION, LINE, COUNT, ORDER, FIELDS };

/* The text that tells a row from all others; malloc'd. */
static char *row_key(LLVMValueRef *fields, const char *function)
{
    static const enum field numbers[] = {KIND, DEVICE, FILE_ID, LINE, COUNT};
    ompjit__buf key = {0};
    for (size_t i = 0; i < OMPJIT__COUNT(numbers); i++) {
        LLVMValueRef v = fields[numbers[i]];
        ompjit__buf_printf(&key, "%llu ",
                           v && LLVMIsAConstantInt(v)
                               ? LLVMConstIntGetZExtValue(v)
                               : 0);
    }
    ompjit__buf_printf(&key, "%s", function);
    return key.data;
}

/* Takes over a row's key. False: there is such a row, and the key is freed. */
static bool take_key(struct list *list, char *key)
{
    for (unsigned i = 0; key && i < list->rows; i++)
        if (list->keys[i] && !strcmp(list->keys[i], key)) {
            free(key);
            return false;
        }
    list->keys[list->rows] = key;
    return true;
}

/* Adds a row like list->fields for a region of that function. */
static void add_row(struct list *list, const char *function)
{
    LLVMContextRef c = LLVMGetModuleContext(list->m);
    LLVMMetadataRef row[FIELDS];
    if (!take_key(list, row_key(list->fields, function)))
        return;
    for (unsigned i = 0; i < FIELDS; i++)
        row[i] = LLVMValueAsMetadata(list->fields[i]);
    row[FUNCTION] = LLVMMDStringInContext2(c, function, strlen(function));
    row[ORDER] = LLVMValueAsMetadata(
        LLVMConstInt(LLVMTypeOf(list->fields[ORDER]), list->rows++, 0));
    LLVMAddNamedMetadataOperand(
        list->m, INFO,
        LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, row, FIELDS)));
}

/* Adds a row for each choice of numbers behind `done`, which is a part of a
 * name; `name` is its rest. */
static void add_rows(struct list *list, const char *done, const char *name)
{
    const char *at = find_number(name);
    if (list->rows >= MOST_ROWS)
        return;
    if (!at) {
        char *all = ompjit__format("%s%s", done, name);
        if (all)
            add_row(list, all);
        free(all);
        return;
    }
    const char *end = at; /* of what is before the length */
    while (end > name && end[-1] >= '0' && end[-1] <= '9')
        end--;
    for (unsigned i = 0; i < list->numbers; i++) {
        char number[16];
        int n = snprintf(number, sizeof number, "$_%u", i);
        char *more = ompjit__format("%s%.*s%d%s", done, (int)(end - name),
                                    name, n, number);
        if (more)
            add_rows(list, more, skip_digits(at + 2));
        free(more);
    }
}

/* The function of a row of a region, malloc'd; NULL: it is another row. */
static char *row_function(LLVMValueRef row, LLVMValueRef fields[FIELDS])
{
    unsigned n;
    if (LLVMGetMDNodeNumOperands(row) != FIELDS)
        return NULL;
    LLVMGetMDNodeOperands(row, fields);
    const char *function =
        fields[FUNCTION] ? LLVMGetMDString(fields[FUNCTION], &n) : NULL;
    bool region = fields[KIND] && LLVMIsAConstantInt(fields[KIND]) &&
                  !LLVMConstIntGetZExtValue(fields[KIND]);
    return region && function ? ompjit__format("%.*s", (int)n, function)
                              : NULL;
}

/* First the keys of the rows that are there, so that none is added twice. */
static void fill(struct list *list, const LLVMValueRef *rows, unsigned n)
{
    LLVMValueRef fields[FIELDS];
    char *name;
    for (unsigned i = 0; i < n; i++, free(name))
        if ((name = row_function(rows[i], fields)))
            list->keys[i] = row_key(fields, name);
    for (unsigned i = 0; i < n; i++, free(name)) {
        name = row_function(rows[i], fields);
        list->fields = fields;
        if (name && find_number(name))
            add_rows(list, "", name);
    }
}

/* As ompjit__lambda_info, for numbers below that one alone. */
static bool list_below(LLVMModuleRef host, unsigned numbers, ompjit__buf *out)
{
    unsigned n = LLVMGetNamedMetadataNumOperands(host, INFO);
    LLVMValueRef *rows = calloc(n + 1, sizeof *rows);
    struct list list = {.m = LLVMCloneModule(host),
                        .keys = calloc(n + MOST_ROWS, sizeof(char *)),
                        .rows = n,
                        .numbers = numbers};
    out->failed |= !rows || !list.keys;
    if (!out->failed) {
        LLVMGetNamedMetadataOperands(list.m, INFO, rows);
        fill(&list, rows, n);
    }
    const bool few = list.rows < MOST_ROWS;
    if (!out->failed && few)
        ompjit__offload_info(list.m, out);
    for (unsigned i = 0; list.keys && i < list.rows; i++)
        free(list.keys[i]);
    LLVMDisposeModule(list.m);
    free(list.keys);
    free(rows);
    return few;
}

/* For the row of each<$_0> and numbers below 2 the list gets each<$_0> and
 * each<$_1>, in a copy of the module: the host half itself is compiled later.
 * Types without a name are left out where the list would be too long. */
bool ompjit__lambda_info(LLVMModuleRef host, unsigned numbers,
                         ompjit__buf *out)
{
    const unsigned unnamed = ompjit__unnamed_types(host);
    return (unnamed && list_below(host, numbers + unnamed, out)) ||
           list_below(host, numbers, out);
}

/* ---------------------------------------------------------------- renaming */

/* How many regions have the pattern. */
static size_t count(const ompjit__lambda_regions *all, const char *pattern)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        n += !strcmp(all->v[i].pattern, pattern);
    return n;
}

/* The device half's kernel for the host half's region. NULL: it has none; with
 * `unclear` it may have one, but which is not known. */
static ompjit__lambda_region *kernel_for(ompjit__lambda_regions *device,
                                         const ompjit__lambda_regions *host,
                                         const ompjit__lambda_region *region,
                                         bool *unclear)
{
    ompjit__lambda_region *found = most_like(device, region);
    size_t kernels = count(device, region->pattern);
    bool alone = kernels == 1 && count(host, region->pattern) == 1;
    for (size_t i = 0; i < device->n && alone && !found; i++)
        if (!strcmp(device->v[i].pattern, region->pattern))
            found = &device->v[i];
    *unclear = kernels && !found;
    return found;
}

/* Renames the function or variable `old` + suffix, if the module has it. */
static void rename_value(LLVMModuleRef m, const char *old, const char *new,
                         const char *suffix)
{
    char *from = ompjit__format("%s%s", old, suffix);
    char *to = ompjit__format("%s%s", new, suffix);
    LLVMValueRef v = from ? LLVMGetNamedFunction(m, from) : NULL;
    if (from && !v)
        v = LLVMGetNamedGlobal(m, from);
    if (v && to)
        LLVMSetValueName2(v, to, strlen(to));
    free(from);
    free(to);
}

/* A kernel and the variables that are found by its name. */
static void rename_kernel(LLVMModuleRef m, const char *old, const char *new)
{
    static const char *const suffixes[] = {"", "_kernel_environment",
                                           "_dynamic_environment",
                                           "_exec_mode"};
    for (size_t i = 0; i < OMPJIT__COUNT(suffixes); i++)
        rename_value(m, old, new, suffixes[i]);
}

/* Two lambdas that one macro makes stand at one place. */
static ompjit_status unclear_kernel(const ompjit__lambda_region *region,
                                    ompjit_error *err)
{
    return ompjit__fail(err, OMPJIT_ERR_SOURCE, OMPJIT_STAGE_READ,
                        "%s: clang's host and device halves number lambdas "
                        "differently, and which kernel is this region's "
                        "cannot be told by the lines in which lambdas stand",
                        region->symbol);
}

/* Marks the kernels that got a name as taken. */
static ompjit_status rename_all(LLVMModuleRef m, ompjit__lambda_regions *device,
                                const ompjit__lambda_regions *host,
                                ompjit_error *err)
{
    for (size_t i = 0; i < host->n; i++) {
        bool unclear;
        ompjit__lambda_region *kernel =
            kernel_for(device, host, &host->v[i], &unclear);
        if (unclear)
            return unclear_kernel(&host->v[i], err);
        if (!kernel)
            continue;
        rename_kernel(m, kernel->apart, host->v[i].symbol);
        kernel->taken = true;
    }
    return OMPJIT_OK;
}

/* By way of names that nobody has, since two kernels may exchange theirs. The
 * kernels that are left over were compiled for numbers that no lambda of the
 * host half has, and go. */
ompjit_status ompjit__lambda_regions_rename(LLVMModuleRef m,
                                            const ompjit__lambda_regions *host,
                                            ompjit_error *err)
{
    ompjit__lambda_regions device = {0};
    ompjit__lambda_regions_find(m, &device);
    bool failed = device.failed || host->failed;
    for (size_t i = 0; i < device.n && !failed; i++) {
        ompjit__lambda_region *kernel = &device.v[i];
        snprintf(kernel->apart, sizeof kernel->apart, "ompjit.lambda.%zu", i);
        rename_kernel(m, kernel->symbol, kernel->apart);
    }
    ompjit_status status = failed ? ompjit__no_memory(err, OMPJIT_STAGE_READ)
                                  : rename_all(m, &device, host, err);
    for (size_t i = 0; i < device.n && !status; i++)
        if (!device.v[i].taken)
            LLVMDeleteFunction(LLVMGetNamedFunction(m, device.v[i].apart));
    ompjit__lambda_regions_free(&device);
    return status;
}
