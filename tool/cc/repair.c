/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Corrects what clang and flang get wrong in a host half, in its file, before
 * they make an object of it, and marks what may be shared with the device, as
 * `ompjit run` does (passes/hosthalf/repair_bitcode.c); and has clang's halves
 * agree (match.c).
 *
 * clang makes the halves of a source in this order, and calls the second of
 * them by the tool's own program:
 *
 *   host half, bitcode without LLVM's passes    NAME-a1b2c3.bc
 *   device half                                 NAME-sm_90-d4e5f6.o
 *   llvm-offload-binary (pack.c)
 *   object of the host half
 *
 * With -save-temps the halves are NAME-host-TRIPLE.bc and
 * NAME-openmp-TRIPLE-sm_90.o.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "door/door.h"
#include "tool/cc/cc.h"
#include "tool/tool.h"

/* What OMPJIT_EXPLAIN=1 asks for; of this context's log nothing else. */
static void tell_copied(void *data, const char *message)
{
    (void)data;
    if (strstr(message, " is copied: "))
        complain("%s", message);
}

static int repair(ompjit_context **ctx, const ompjit__halves *halves)
{
    ompjit_context_options o = OMPJIT_CONTEXT_OPTIONS_INIT;
    ompjit__buf after = {0};
    ompjit_error err;
    ompjit_status st = OMPJIT_OK;
    o.devices = "host";
    o.log = tell_copied;
    if (!*ctx)
        st = ompjit_context_create(&o, ctx, &err);
    if (!st)
        st = ompjit__door_half_repair(&(*ctx)->compiler, halves, &after, &err);
    int status = st ? failed(&err)
                    : write_output(halves->name, after.data, after.size);
    ompjit__buf_free(&after);
    return status;
}

int half_repair(ompjit_context **ctx, const char *host, const char *device)
{
    ompjit__halves halves = {.name = host};
    ompjit_error err;
    int status = ompjit__read_file(host, &halves.host, &err) ||
                         (device &&
                          ompjit__read_file(device, &halves.device, &err))
                     ? failed(&err)
                     : repair(ctx, &halves);
    ompjit__buf_free(&halves.host);
    ompjit__buf_free(&halves.device);
    return status;
}

/* ------------------------------------------------------------ clang's halves */

/* Bitcode has the names of functions as they are. */
static bool calls(const ompjit__buf *bitcode, const char *name)
{
    return memmem(bitcode->data, bitcode->size, name, strlen(name)) != NULL;
}

/* clang errs in updates of data alone, and only data regions are marked.
 * `device` NULL: not known. */
static int repair_data(const char *host, const char *device)
{
    ompjit_context *ctx = NULL;
    ompjit__buf bitcode = {0};
    ompjit_error err;
    int status = EXIT_OK;
    if (ompjit__read_file(host, &bitcode, &err))
        status = failed(&err);
    else if (calls(&bitcode, "__tgt_target_data_update_") ||
             (device && calls(&bitcode, "__tgt_target_data_begin_")))
        status = half_repair(&ctx, host, device);
    ompjit__buf_free(&bitcode);
    ompjit_context_destroy(ctx);
    return status;
}

/* The host half's name is `stem` and what stands before ".bc": six characters
 * that clang chose, or a triple, where the files are saved. */
static bool is_host_half(const char *file, const char *stem, size_t n,
                         bool saved)
{
    enum { CHOSEN = 6, ENDING = 3 };
    static const char host[] = "host-";
    if (strncmp(file, stem, n) || file[n] != '-')
        return false;
    const char *rest = file + n + 1;
    const size_t size = strlen(rest);
    if (size < ENDING || strcmp(rest + size - ENDING, ".bc"))
        return false;
    return saved ? !strncmp(rest, host, sizeof host - 1)
                 : size == CHOSEN + ENDING;
}

/* Paths of the host halves of that name in the folder: two, where two sources have
 * one name. False after a message. */
static bool list_halves(const char *folder, const char *stem, size_t n,
                        bool saved, ompjit__args *out)
{
    DIR *files = opendir(folder);
    for (struct dirent *e; files && (e = readdir(files));)
        if (is_host_half(e->d_name, stem, n, saved)) {
            char *path = ompjit__format("%s/%s", folder, e->d_name);
            ompjit__args_add(out, path ? path : "");
            out->failed |= !path;
            free(path);
        }
    if (files)
        closedir(files);
    if (out->failed)
        complain("out of memory");
    return !out->failed;
}

/* Where two sources have one name, the first one's object is made when the
 * second one's half is there: changing the first one's half has no effect. Of
 * which of them the device half is, is not known. Kernels are known by their
 * names, so the halves agree first. */
static int repair_in(const char *folder, const char *stem, size_t n, bool saved,
                     const char *device)
{
    ompjit__args halves = {0};
    int status = list_halves(folder, stem, n, saved, &halves) ? EXIT_OK
                                                              : EXIT_FAILED;
    for (size_t i = 0; i < halves.n && !status; i++) {
        status = halves_match(halves.v[i], device, halves.n > 1);
        if (!status)
            status = repair_data(halves.v[i], halves.n > 1 ? NULL : device);
    }
    ompjit__args_free(&halves);
    return status;
}

/* The last `word` of the text; NULL: it has none. */
static const char *last(const char *text, const char *word)
{
    const char *found = NULL;
    while ((text = strstr(text, word)))
        found = text++;
    return found;
}

int halves_repair(const char *device)
{
    static const char arch[] = "-sm_90-", chosen[] = "a1b2c3.o";
    const char *slash = strrchr(device, '/');
    const char *name = slash ? slash + 1 : device;
    const char *end = last(name, arch);
    bool saved = !end || strlen(end) != sizeof arch + sizeof chosen - 2;
    if (saved)
        end = last(name, "-openmp-");
    if (!end)
        return EXIT_OK;
    char *folder = slash ? ompjit__format("%.*s", (int)(slash - device), device)
                         : ompjit__strdup(".");
    int status = folder ? repair_in(folder, name, (size_t)(end - name), saved,
                                device)
                        : EXIT_FAILED;
    if (!folder)
        complain("out of memory");
    free(folder);
    return status;
}
