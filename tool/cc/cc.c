/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * `ompjit cc` and `ompjit c++`: clang, for build systems. Without -fopenmp it
 * is clang with the same words. With it, flags are put before the user's that
 * have device bitcode put into objects and device code registered in links, on
 * a machine that has neither CUDA nor LLVM's offload programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cc/cc.h"
#include "tool/tool.h"

/* ------------------------------------------------------- clang's words */

#define DEVICE "-Xarch_device"

/* Device code stays as clang's front end makes it, with the names of values, as
 * `ompjit run` has it (frontend/clang/command.c): the library folds values into
 * it and optimizes it for whatever device it runs on. The architecture decides
 * nothing and is taken off again; without one clang asks for a GPU. Places and
 * names of variables are for the library's messages; the user's -g overrides
 * them in host code. The host's half has all warnings, too. */
static const char *const offload[] = {
    "--start-no-unused-arguments",
    "--offload-arch=sm_90",
    "-foffload-lto",
    "-nogpulib",
    "-nogpuinc",
    "--cuda-feature=+ptx78",
    "-gline-directives-only",
    DEVICE_CC1, "-Xclang=-disable-llvm-passes",
    DEVICE_CC1, "-Xclang=-disable-O0-optnone",
    DEVICE, "-fno-discard-value-names",
    DEVICE, "-fvisibility=default",
    DEVICE, "-fomit-frame-pointer",
    DEVICE, "-gline-directives-only",
    DEVICE, "-gno-key-instructions",
    DEVICE, "-U__CUDA_ARCH__",
    DEVICE, "-U_FORTIFY_SOURCE",
    DEVICE, "-w",
    NULL,
};

/* Adds the flags, with the folder of clang's programs, where CUDA is not. */
static void add_offload(const struct request *r, const char *folder,
                        ompjit__args *out)
{
    char *programs = ompjit__format("-B%s", folder);
    char *cuda = ompjit__format("--cuda-path=%s", folder);
    for (size_t i = 0; offload[i]; i++)
        ompjit__args_add(out, offload[i]);
    /* clang 22 makes an entry for each `indirect` function and no code for those
     * that the device's half does not call, which is an error. */
    if (request_sources_have(r, "indirect")) {
        ompjit__args_add(out, DEVICE);
        ompjit__args_add(out, "-femit-all-decls");
    }
    ompjit__args_add(out, programs ? programs : "");
    ompjit__args_add(out, cuda ? cuda : "");
    if (r->lto) /* bitcode alone has no place for device code */
        ompjit__args_add(out, "-ffat-lto-objects");
    ompjit__args_add(out, "--end-no-unused-arguments");
    out->failed |= !programs || !cuda;
    free(programs);
    free(cuda);
}

static int make_words(const struct request *r, bool link, ompjit__args *out)
{
    char *folder = tools_folder();
    if (!folder)
        return EXIT_FAILED;
    add_offload(r, folder, out);
    free(folder);
    if (link)
        ompjit__args_add(out, "-fopenmp");
    request_add_words(r, out);
    return EXIT_OK;
}

/* ------------------------------------------------------------ the commands */

/* Adds the words of a clang that offloads, and runs it. */
static int run_offloading(const struct request *r, bool link,
                          ompjit__args *out)
{
    int status = make_words(r, link, out);
    if (!status && r->verbose && !out->failed)
        words_show(out);
    return status ? status : words_run(out);
}

/* argv: the user's words. `mode` tells clang to be clang++, or is NULL. */
static int compile(const char *mode, int argc, char **argv)
{
    struct request r = {0};
    ompjit__args out = {0};
    ompjit_error err;
    char *clang;
    int status;
    if (ompjit__clang_driver(&clang, &err))
        return failed(&err);
    request_read(&r, argc, argv);
    ompjit__args_add(&out, clang);
    if (mode)
        ompjit__args_add(&out, mode);
    const bool link = request_links_device_code(&r);
    if (link || (r.openmp && !r.host_only)) {
        status = run_offloading(&r, link, &out);
    } else {
        for (int i = 0; i < argc; i++)
            ompjit__args_add(&out, argv[i]);
        status = words_exec(&out);
    }
    ompjit__args_free(&out);
    ompjit__args_free(&r.words);
    free(clang);
    return status;
}

int tool_cc(int argc, char **argv)
{
    return compile(NULL, argc - 1, argv + 1);
}

int tool_cxx(int argc, char **argv)
{
    return compile("--driver-mode=g++", argc - 1, argv + 1);
}
