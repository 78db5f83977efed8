/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompjit occupancy: how many teams of a kernel run on a multiprocessor of a GPU,
 * what limits it, and what would be if the kernel had other threads, registers
 * or shared memory; as tables, and as a plot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets/occupancy.h"
#include "tool/tool.h"

enum { WARP = 32, MOST_THREADS = 1024, USUAL = 128 };

/* A kernel's code on a GPU. */
struct use {
    const char *device, *arch, *code_arch;
    ompjit_arch_info info;
    ompjit_resources res;
    unsigned threads;
    const char *title;
};

/* One of the three things that change in a table and in a panel. */
static const struct axis {
    const char *name;
    unsigned first, step, last, column; /* every column-th step in tables */
} axes[] = {
    {"threads a team", 32, 32, 1024, 4},
    {"registers a thread", 8, 8, 248, 3},
    {"bytes of shared memory a team", 0, 1024, 65536, 8},
};
enum { THREADS, REGISTERS, SHARED, AXES };

/* With `value` on an axis; all 0 where a team does not fit. */
static ompjit_occupancy at(const struct use *u, unsigned axis, unsigned value)
{
    ompjit_occupancy o = OMPJIT_OCCUPANCY_INIT;
    ompjit_resources res = u->res;
    unsigned threads = axis == THREADS ? value : u->threads;
    if (axis == REGISTERS)
        res.registers = value;
    if (axis == SHARED)
        res.shared_static = value;
    ompjit_occupancy_get(u->device, &res, threads, 0, &o, NULL);
    return o;
}

static unsigned now(const struct use *u, unsigned axis)
{
    return axis == THREADS     ? u->threads
           : axis == REGISTERS ? u->res.registers
                               : u->res.shared_static;
}

static void print_limits(uint32_t limits)
{
    static const char *const names[] = {"warps", "teams", "registers",
                                        "shared memory"};
    const char *comma = "limited by ";
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (limits & 1u << i) {
            printf("%s%s", comma, names[i]);
            comma = ", ";
        }
    putchar('\n');
}

static void print_axis(const struct use *u, unsigned axis)
{
    const struct axis *a = &axes[axis];
    printf("  if it had other %s:\n    %-8s %6s %6s %5s\n", a->name, "", "teams",
           "warps", "");
    for (unsigned v = a->first; v <= a->last; v += a->step * a->column) {
        ompjit_occupancy o = at(u, axis, v);
        printf("    %-8u %6u %6u %4u%%\n", v, o.teams, o.warps,
               o.most_warps ? 100 * o.warps / o.most_warps : 0);
    }
}

static void print_kernel(const struct use *u)
{
    ompjit_occupancy o = at(u, THREADS, u->threads);
    bool estimated = strcmp(u->arch, u->code_arch) != 0;
    printf("%s on %s (%s), %u threads a team\n", u->title, u->device,
           u->arch, u->threads);
    printf("  %u registers%s%s%s, %u bytes shared memory\n",
           u->res.registers, estimated ? " (estimated: those of " : "",
           estimated ? u->code_arch : "", estimated ? ")" : "",
           u->res.shared_static);
    printf("  %u teams, %u of %u warps (%u%%); ", o.teams, o.warps,
           o.most_warps, o.most_warps ? 100 * o.warps / o.most_warps : 0);
    print_limits(o.limits);
    for (unsigned axis = 0; axis < AXES; axis++)
        print_axis(u, axis);
}

/* -------------------------------------------------------------------- plot */

enum { WIDTH = 300, HEIGHT = 160, LEFT = 46, TOP = 50, GAP = 40 };

static double x_of(const struct axis *a, unsigned panel, unsigned v)
{
    return LEFT + panel * (WIDTH + GAP + LEFT) +
           (double)WIDTH * (v - a->first) / (a->last - a->first);
}
static double y_of(unsigned warps, unsigned most)
{
    return TOP + HEIGHT - (double)HEIGHT * warps / (most ? most : 1);
}

static void plot_panel(FILE *out, const struct use *u, unsigned panel)
{
    const struct axis *a = &axes[panel];
    unsigned most = u->info.warps, here = now(u, panel);
    double left = x_of(a, panel, a->first), right = x_of(a, panel, a->last);
    fprintf(out, "<rect x='%.1f' y='%d' width='%d' height='%d' fill='none' "
                 "stroke='#999'/>\n<polyline fill='none' stroke='#06c' "
                 "stroke-width='2' points='", left, TOP, WIDTH, HEIGHT);
    for (unsigned v = a->first; v <= a->last; v += a->step)
        fprintf(out, "%.1f,%.1f ", x_of(a, panel, v),
                y_of(at(u, panel, v).warps, most));
    fprintf(out, "'/>\n<text x='%.1f' y='%d'>%u</text>\n"
                 "<text x='%.1f' y='%d' text-anchor='end'>%u</text>\n"
                 "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n"
                 "<text x='%.1f' y='%d' text-anchor='end'>%u</text>\n"
                 "<text x='%.1f' y='%d' text-anchor='end'>0</text>\n",
            left, TOP + HEIGHT + 15, a->first, right, TOP + HEIGHT + 15,
            a->last, (left + right) / 2, TOP + HEIGHT + 30, a->name, left - 4,
            TOP + 10, most, left - 4, TOP + HEIGHT);
    if (here >= a->first && here <= a->last)
        fprintf(out, "<circle cx='%.1f' cy='%.1f' r='4' fill='#c00'/>\n",
                x_of(a, panel, here), y_of(at(u, panel, here).warps, most));
}

static void text(FILE *out, const char *s)
{
    for (; *s; s++)
        if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '&')
            fputs("&amp;", out);
        else
            fputc(*s, out);
}

static int plot(const struct use *u, const char *path)
{
    char *data = NULL;
    size_t size;
    FILE *out = open_memstream(&data, &size);
    if (!out)
        return complain("out of memory"), EXIT_FAILED;
    fprintf(out, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' "
                 "height='%d' font-family='sans-serif' font-size='12'>\n"
                 "<rect width='100%%' height='100%%' fill='white'/>\n"
                 "<text x='%d' y='22' font-size='15'>",
            AXES * (WIDTH + GAP + LEFT), TOP + HEIGHT + 45, LEFT);
    text(out, u->title);
    fprintf(out, " on %s: warps on a multiprocessor</text>\n", u->device);
    for (unsigned panel = 0; panel < AXES; panel++)
        plot_panel(out, u, panel);
    fputs("</svg>\n", out);
    int status = fclose(out) ? EXIT_FAILED : write_output(path, data, size);
    free(data);
    return status;
}

/* ------------------------------------------------------------------- whole */

/* By --threads, else as a launch that says nothing would have them. A generic
 * kernel's main thread has a warp of its own. */
static unsigned threads_of(const struct options *o,
                           const ompjit_kernel_info *info)
{
    unsigned threads = o->threads          ? o->threads
                       : info->max_threads ? info->max_threads
                                           : USUAL;
    if (info->mode == OMPJIT_MODE_GENERIC && threads + WARP <= MOST_THREADS)
        threads += WARP;
    return threads > MOST_THREADS ? MOST_THREADS : threads;
}

static int show(const struct options *o, ompjit_kernel *kernel, struct use *u)
{
    ompjit_kernel_info info = OMPJIT_KERNEL_INFO_INIT;
    ompjit_error err;
    u->res = (ompjit_resources)OMPJIT_RESOURCES_INIT;
    if (ompjit_kernel_resources(kernel, u->code_arch, &u->res, &err) ||
        ompjit_kernel_info_get(kernel, &info, &err))
        return failed(&err);
    u->threads = threads_of(o, &info);
    u->title = info.name;
    print_kernel(u);
    return o->svg ? plot(u, o->svg) : EXIT_OK;
}

static int show_all(const struct options *o, ompjit_module *mod, struct use *u)
{
    unsigned n = ompjit_module_kernel_count(mod);
    int status = EXIT_OK;
    if (!n)
        printf("%s has no target regions\n", o->file);
    if (n > 1 && o->svg) {
        complain("--svg: %s has %u kernels; name one", o->file, n);
        return EXIT_USAGE;
    }
    for (unsigned i = 0; i < n && !status; i++)
        status = show(o, ompjit_module_kernel_at(mod, i), u);
    return status;
}

/* A name that is none is answered with those there are. */
static int choose_device(const struct options *o, struct use *u)
{
    ompjit_error err;
    u->device = o->device ? o->device : "H100";
    u->info = (ompjit_arch_info)OMPJIT_ARCH_INFO_INIT;
    if (!ompjit__gpu_archs(u->device, &u->arch, &u->code_arch, &err) &&
        !ompjit_arch_info_get(u->device, &u->info, &err))
        return EXIT_OK;
    char names[256] = "";
    for (size_t i = 0; ompjit__gpu_at(i); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
                 ompjit__gpu_at(i));
    complain("--device %s: not known; there are%s, and architectures from "
             "sm_35 on", u->device, names);
    return EXIT_USAGE;
}

int tool_occupancy(struct options *o)
{
    ompjit_context *ctx = NULL;
    ompjit_module *mod = NULL;
    ompjit_kernel *kernel;
    ompjit_error err;
    struct use u;
    int status = choose_device(o, &u);
    if (!status) /* no GPU is looked for */
        status = session_open(o, "host", &ctx);
    if (!status)
        status = session_module(o, ctx, &mod);
    if (!status && !o->kernel)
        status = show_all(o, mod, &u);
    else if (!status && ompjit_module_kernel(mod, o->kernel, &kernel, &err))
        status = failed(&err);
    else if (!status)
        status = show(o, kernel, &u);
    ompjit_module_destroy(mod);
    ompjit_context_destroy(ctx);
    return status;
}
