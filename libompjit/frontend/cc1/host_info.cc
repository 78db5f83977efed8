/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host half's target regions, without which the device half cannot be made.
 * clang reads them before it parses anything, and so waits for the whole host
 * half. Here is the same function of LLVM's, which can wait until the first
 * OpenMP directive: both halves parse the headers at the same time. The linker
 * takes the first definition that it sees (local.am).
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Frontend/OpenMP/OMPIRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "frontend/cc1/host_info.h"

using namespace llvm;

namespace {

/* A list that is to be read later. The code generator owns builder and files. */
struct Deferred {
    bool wanted;
    OpenMPIRBuilder *builder;
    vfs::FileSystem *files;
    std::string path;
} deferred;

/* In clang's words. */
[[noreturn]] void fail(const char *what, const std::string &why)
{
    report_fatal_error(Twine("error ") + what +
                       " inside of OpenMPIRBuilder: " + why);
}

void read(OpenMPIRBuilder &builder, vfs::FileSystem &files, StringRef path)
{
    auto text = files.getBufferForFile(path);
    if (!text)
        fail("opening host file from host file path", text.getError().message());
    LLVMContext context;
    auto half = parseBitcodeFile((*text)->getMemBufferRef(), context);
    if (!half)
        fail("parsing host file", toString(half.takeError()));
    builder.loadOffloadInfoMetadata(**half);
}

} // namespace

void OpenMPIRBuilder::loadOffloadInfoMetadata(vfs::FileSystem &files,
                                              StringRef path)
{
    if (path.empty())
        return;
    if (!deferred.wanted)
        return read(*this, files, path);
    deferred.wanted = false;
    deferred.builder = this;
    deferred.files = &files;
    deferred.path = path.str();
}

void ompjit_cc1::defer_host_info()
{
    deferred.wanted = true;
}

void ompjit_cc1::take_host_info()
{
    if (OpenMPIRBuilder *builder = deferred.builder) {
        deferred.builder = nullptr;
        read(*builder, *deferred.files, deferred.path);
    }
}
