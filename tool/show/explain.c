/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit explain: what can be folded into the kernels of a file, and what that
 * changes in their code.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

/* ------------------------------------------------------------------ --set */

/* One NAME=VALUE of --set. */
struct setting {
    char name[64];
    const char *value;
    bool used;
};

static int bad_setting(const char *item, const char *why)
{
    complain("--set %s: %s", item, why);
    return EXIT_USAGE;
}

static int read_setting(const char *item, struct setting *s)
{
    const char *equals = strchr(item, '=');
    if (!equals || equals == item || !equals[1])
        return bad_setting(item, "NAME=VALUE is expected");
    if ((size_t)(equals - item) >= sizeof s->name)
        return bad_setting(item, "no argument has so long a name");
    *s = (struct setting){.value = equals + 1};
    memcpy(s->name, item, (size_t)(equals - item));
    return EXIT_OK;
}

static bool is_hex(const char *text)
{
    return strstr(text, "0x") || strstr(text, "0X");
}

static bool is_float_text(const char *text)
{
    return strpbrk(text, is_hex(text) ? ".pP" : ".eE") ||
           strstr(text, "inf") || strstr(text, "nan");
}

static int set_float(const struct setting *s, unsigned size, ompjit_arg *arg)
{
    char *end;
    double value = strtod(s->value, &end);
    if (*end && strcmp(end, "f"))
        return bad_setting(s->name, "not a number");
    if (size == 4) {
        arg->type = OMPJIT_ARG_F32;
        arg->value.f32 = strtof(s->value, NULL);
    } else if (size == 8) {
        arg->type = OMPJIT_ARG_F64;
        arg->value.f64 = value;
    } else {
        return bad_setting(s->name,
                           "has neither 4 nor 8 bytes: give its bits, 0x...");
    }
    return EXIT_OK;
}

static int set_integer(const struct setting *s, unsigned size,
                       ompjit_arg *arg)
{
    static const ompjit_arg_type types[] = {
        [1] = OMPJIT_ARG_I8, [2] = OMPJIT_ARG_I16, [4] = OMPJIT_ARG_I32,
        [8] = OMPJIT_ARG_I64};
    bool negative = *s->value == '-';
    unsigned bits = 8 * size;
    char *end;
    errno = 0;
    uint64_t value = strtoull(s->value, &end, 0);
    if (*end || end == s->value)
        return bad_setting(s->name, "not a number");
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return bad_setting(s->name, "not 1, 2, 4 or 8 bytes large");
    bool fits = negative ? (int64_t)value < 0 &&
                               (int64_t)value >= -1 - (INT64_MAX >>
                                                       (64 - bits))
                         : bits == 64 || !(value >> bits);
    if (errno || (negative && value && !fits) || (!negative && !fits))
        return bad_setting(s->name, "does not fit into the argument");
    arg->type = types[size];
    memcpy(&arg->value, &value, size);
    return EXIT_OK;
}

/* The number of bytes that a pointer points to. */
static int set_size(const struct setting *s, uint64_t *size)
{
    char *end;
    errno = 0;
    *size = strtoull(s->value, &end, 0);
    if (*end || end == s->value || errno || *s->value == '-' || !*size)
        return bad_setting(s->name, "is a pointer: how many bytes it points to "
                                    "is expected");
    return EXIT_OK;
}

static int set_arg(const struct setting *s, const ompjit_param_info *param,
                   ompjit_arg *arg)
{
    bool fraction = is_float_text(s->value);
    arg->name = s->name;
    if (fraction || (param->is_float && !is_hex(s->value)))
        return set_float(s, param->bytes, arg);
    int status = set_integer(s, param->bytes, arg);
    if (param->is_float) /* its bits */
        arg->type = param->bytes == 4 ? OMPJIT_ARG_F32 : OMPJIT_ARG_F64;
    return status;
}

/* ----------------------------------------------------------------- --fold */

/* Words of a list with commas. */
static int read_fold(const char *list, unsigned *fold)
{
    static const struct {
        const char *word;
        unsigned bits;
    } words[] = {{"literals", OMPJIT_FOLD_LITERALS},
                 {"teams", OMPJIT_FOLD_TEAMS},
                 {"threads", OMPJIT_FOLD_THREADS},
                 {"alignment", OMPJIT_FOLD_ALIGNMENT},
                 {"noalias", OMPJIT_FOLD_NOALIAS},
                 {"sizes", OMPJIT_FOLD_SIZES},
                 {"all", OMPJIT_FOLD_ALL}};
    *fold = list ? 0
                 : OMPJIT_FOLD_LITERALS | OMPJIT_FOLD_TEAMS |
                       OMPJIT_FOLD_THREADS | OMPJIT_FOLD_SIZES;
    for (const char *p = list; p && *p; p += *p == ',') {
        size_t n = strcspn(p, ","), i = 0;
        while (i < sizeof words / sizeof *words &&
               (strlen(words[i].word) != n || strncmp(words[i].word, p, n)))
            i++;
        if (i == sizeof words / sizeof *words) {
            complain("--fold %.*s: not one of literals, teams, threads, "
                     "alignment, noalias, sizes and all", (int)n, p);
            return EXIT_USAGE;
        }
        *fold |= words[i].bits;
        p += n;
    }
    if (!*fold) {
        complain("--fold needs a list");
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* ----------------------------------------------------------------- kernel */

struct plan {
    const struct options *o;
    const char *arch;
    struct setting *settings;
    unsigned fold;
};

/* A kernel's arguments, with room for their names. */
struct arguments {
    ompjit_arg *args;
    char (*names)[64];
    unsigned n;
    bool set; /* some by the command line */
};

/* Applies what --set says of one parameter. */
static int set_param(const struct plan *plan, const ompjit_param_info *param,
                     ompjit_arg *pointer, struct arguments *to)
{
    int status = EXIT_OK;
    for (unsigned j = 0; j < plan->o->settings.n && !status; j++) {
        struct setting *s = &plan->settings[j];
        if (strcmp(s->name, param->name))
            continue;
        s->used = to->set = true;
        if (param->is_pointer) {
            status = set_size(s, &pointer->bytes);
        } else {
            to->args[to->n] = (ompjit_arg){0};
            status = set_arg(s, param, &to->args[to->n++]);
        }
    }
    return status;
}

/* The arguments that are set, and all pointers, which are null: as aligned as
 * can be. */
static int make_args(const struct plan *plan, ompjit_kernel *kernel,
                     unsigned nparams, struct arguments *to)
{
    int status = EXIT_OK;
    for (unsigned i = 0; i < nparams && !status; i++) {
        ompjit_param_info param = OMPJIT_PARAM_INFO_INIT;
        ompjit_error err;
        if (ompjit_kernel_param(kernel, i, &param, &err))
            return failed(&err);
        snprintf(to->names[i], sizeof to->names[i], "%s", param.name);
        ompjit_arg pointer = ompjit_arg_pointer(to->names[i], NULL);
        pointer.flags = OMPJIT_ARG_NOALIAS;
        status = set_param(plan, &param, &pointer, to);
        if (param.is_pointer && *param.name)
            to->args[to->n++] = pointer;
    }
    return status;
}

static void show_row(const char *what, unsigned before, unsigned after,
                     bool both)
{
    if (!before && !after)
        return;
    printf("  %-24s %10u", what, before);
    if (both)
        printf(" %10u", after);
    if (both && before)
        printf(" %+5.0f%%", 100.0 * ((double)after - before) / before);
    putchar('\n');
}

static void show_code(const struct plan *plan, const ompjit_resources *b,
                      const ompjit_resources *a, bool both)
{
    printf("  %-24s %10s%s\n", plan->arch, "generic",
           both ? " specialized" : "");
    show_row("instructions", b->instructions, a->instructions, both);
    show_row("PTX instructions", b->ptx, a->ptx, both);
    show_row("registers", b->registers, a->registers, both);
    show_row("bytes spilled, stores", b->spill_stores, a->spill_stores, both);
    show_row("bytes spilled, loads", b->spill_loads, a->spill_loads, both);
    show_row("bytes shared memory", b->shared_static, a->shared_static, both);
    show_row("bytes stack", b->local, a->local, both);
    show_row("bytes constant memory", b->constant, a->constant, both);
    show_row("bytes code", b->code, a->code, both);
}

/* A machine that cannot make a cubin still shows the rest. */
static int no_code(const struct plan *plan, const ompjit_error *err)
{
    if (err->status != OMPJIT_ERR_UNAVAILABLE)
        return failed(err);
    printf("  on %-8s not known\n", plan->arch);
    if (!plan->o->quiet)
        failed(err);
    return EXIT_OK;
}

static int compare(const struct plan *plan, ompjit_kernel *kernel,
                   unsigned nparams)
{
    ompjit_arg args[nparams + plan->o->settings.n + 1];
    char names[nparams + 1][64];
    struct arguments given = {.args = args, .names = names};
    ompjit_launch launch = OMPJIT_LAUNCH_INIT;
    ompjit_resources before = OMPJIT_RESOURCES_INIT;
    ompjit_resources after = OMPJIT_RESOURCES_INIT;
    ompjit_error err;
    launch.teams = plan->o->teams;
    launch.threads = plan->o->threads;
    launch.specialize.resident_teams = plan->o->residents;
    launch.specialize.fold = plan->fold;
    int status = make_args(plan, kernel, nparams, &given);
    if (status)
        return status;
    bool pointers = plan->fold & (OMPJIT_FOLD_ALIGNMENT | OMPJIT_FOLD_NOALIAS);
    bool both = given.set || pointers || launch.teams || launch.threads;
    if (ompjit_kernel_code(kernel, plan->arch, NULL, NULL, 0, &before, &err) ||
        (both && ompjit_kernel_code(kernel, plan->arch, &launch, args, given.n,
                                    &after, &err)))
        return no_code(plan, &err);
    show_code(plan, &before, &after, both);
    return EXIT_OK;
}

static int explain_kernel(const struct plan *plan, ompjit_module *mod,
                          ompjit_kernel *kernel)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_error err;
    char *text;
    if (ompjit_kernel_explain(kernel, &text, &err))
        return failed(&err);
    fputs(text, stdout);
    ompjit_bytes_free(text);
    ompjit_kernel_info_get(kernel, &info, NULL);
    int status = compare(plan, kernel, info.nparams);
    return status ? status : remarks_show(mod, plan->arch, info.symbol);
}

/* ------------------------------------------------------------------ whole */

static int explain_all(const struct plan *plan, ompjit_module *mod)
{
    unsigned n = ompjit_module_kernel_count(mod);
    int status = EXIT_OK;
    if (!n)
        printf("%s has no target regions\n", plan->o->file);
    for (unsigned i = 0; i < n && !status; i++)
        status = explain_kernel(plan, mod, ompjit_module_kernel_at(mod, i));
    return status;
}

static int explain(const struct plan *plan, ompjit_module *mod)
{
    ompjit_kernel *kernel;
    ompjit_error err;
    int status;
    modes_settle(mod, plan->arch);
    if (!plan->o->kernel)
        status = explain_all(plan, mod);
    else if (ompjit_module_kernel(mod, plan->o->kernel, &kernel, &err))
        status = failed(&err);
    else
        status = explain_kernel(plan, mod, kernel);
    if (!status)
        status = remarks_write(plan->o, mod, plan->arch);
    for (unsigned i = 0; i < plan->o->settings.n && !status; i++)
        if (!plan->settings[i].used) {
            complain("--set %s: no argument has that name",
                     plan->settings[i].name);
            status = EXIT_USAGE;
        }
    return status;
}

static int read_plan(const struct options *o, struct plan *plan)
{
    *plan = (struct plan){.o = o, .arch = o->arch ? o->arch : "sm_90"};
    plan->settings = calloc(o->settings.n + 1, sizeof *plan->settings);
    int status = plan->settings ? read_fold(o->fold, &plan->fold)
                                : EXIT_FAILED;
    if (!plan->settings)
        complain("out of memory");
    for (unsigned i = 0; i < o->settings.n && !status; i++)
        status = read_setting(o->settings.items[i], &plan->settings[i]);
    if (!status && o->residents && !o->threads) {
        complain("--residents needs --threads");
        status = EXIT_USAGE;
    }
    return status;
}

int tool_explain(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    struct plan plan;
    int status = read_plan(o, &plan);
    if (!status) /* no GPU is looked for */
        status = session_open(o, "host", &ctx);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status)
        status = explain(&plan, mod);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    free(plan.settings);
    return status;
}
