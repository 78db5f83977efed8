/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A worker's thread for nvJitLink (backend/nvptx/nvjitlink_thread.c): it gives the
 * same cubins and errors as the caller itself, and is not there for large texts,
 * for copies of the process, and where nobody has asked for it.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/nvptx/assemble.h"
#include "t/tap.h"

static const char kernel[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry kernel(.param .u64 p)\n{\n"
                             "    .reg .b64 %rd<3>;\n"
                             "    ld.param.u64 %rd1, [p];\n"
                             "    cvta.to.global.u64 %rd2, %rd1;\n"
                             "    st.global.u32 [%rd2], 1;\n"
                             "    ret;\n}\n";

static const ompjit__arch *arch;

static ompjit_status here(const ompjit__buf *ptx, ompjit__buf *cubin,
                          ompjit_error *err)
{
    ompjit__assembly a = {.arch = arch, .ptx = ptx};
    ompjit_status status = ompjit__nvjitlink_here(&a, err);
    *cubin = a.cubin;
    ompjit__buf_free(&a.log);
    return status;
}

/* False: there is no thread for it. */
static bool there(const ompjit__buf *ptx, ompjit__buf *cubin,
                  ompjit_status *status, ompjit_error *err)
{
    ompjit__assembly a = {.arch = arch, .ptx = ptx};
    bool taken = ompjit__nvjitlink_there(&a, status, err);
    *cubin = a.cubin;
    ompjit__buf_free(&a.log);
    return taken;
}

/* The text, with spaces up to `size` behind it. */
static ompjit__buf text(const char *of, size_t size)
{
    ompjit__buf ptx = {0};
    ompjit__buf_add(&ptx, of, strlen(of));
    while (ptx.size < size)
        ompjit__buf_add(&ptx, " ", 1);
    ompjit__buf_printf(&ptx, "\n");
    return ptx;
}

static bool is_absent(const ompjit__buf *ptx)
{
    ompjit__buf cubin;
    ompjit_status status;
    bool taken = there(ptx, &cubin, &status, NULL);
    ompjit__buf_free(&cubin);
    return !taken;
}

/* In a copy of the process, which can assemble all the same. */
static bool copy_has_none(const ompjit__buf *ptx)
{
    int status = 1;
    pid_t child = fork();
    if (!child) {
        ompjit__buf cubin;
        alarm(30);
        ompjit__nvjitlink_end();
        _exit(!is_absent(ptx) || here(ptx, &cubin, NULL));
    }
    waitpid(child, &status, 0);
    return !status;
}

static void same_cubin(const ompjit__buf *ptx)
{
    ompjit__buf own, other;
    ompjit_status status = OMPJIT_ERR_INTERNAL;
    ompjit_status wants = here(ptx, &own, NULL);
    ok(there(ptx, &other, &status, NULL) && !status && !wants, "it assembles");
    ok(own.size && own.size == other.size &&
           !memcmp(own.data, other.data, own.size),
       "  the same cubin");
    ompjit__buf_free(&own);
    ompjit__buf_free(&other);
}

static void same_error(const ompjit__buf *ptx)
{
    ompjit__buf own, other;
    ompjit_error here_err, there_err;
    ompjit_status status = OMPJIT_OK;
    ompjit_status wants = here(ptx, &own, &here_err);
    ok(there(ptx, &other, &status, &there_err) && status == wants && wants,
       "it fails as the caller does");
    ok_string(there_err.text, here_err.text, "  with the same words");
}

int main(void)
{
    ompjit__buf cubin, small = text(kernel, 0), large = text(kernel, 64 << 10);
    ompjit__buf bad = text(".version 8.0\n.target sm_90\nnothing", 0);
    ompjit_error err;
    if (ompjit__arch_find("sm_90", &arch, &err) || ompjit__processors() < 2)
        skip_all("there is one processor");
    if (here(&small, &cubin, &err))
        skip_all("%s", err.text);
    ompjit__buf_free(&cubin);
    ok(is_absent(&small), "nobody has asked for a thread");
    ompjit__nvjitlink_begin(arch);
    ompjit__nvjitlink_end();
    same_cubin(&small);
    same_error(&bad);
    ok(is_absent(&large), "it is not for large texts");
    ok(copy_has_none(&small), "a copy of the process has none");
    ompjit__nvjitlink_begin(NULL);
    ok(is_absent(&small), "it is not for builds that leave it alone");
    ompjit__nvjitlink_begin(arch);
    ompjit__nvjitlink_end();
    ok(!is_absent(&small), "  and is for the next again");
    ompjit__buf_free(&small);
    ompjit__buf_free(&large);
    ompjit__buf_free(&bad);
    return done_testing();
}
