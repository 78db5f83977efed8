/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In the device half: inputs whose code lacks functions that are declared, but
 * not defined. Modules of devices are not linked with each other. So when a
 * later input defines such a function, the code of the earlier one is made
 * again, of what the recorder had of it, and then has the function.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <clang/AST/Mangle.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

/* Libraries' functions are not defined by inputs. */
std::set<std::string> Generator::lacks()
{
    const clang::SourceManager &sources = session.compiler.getSourceManager();
    std::set<std::string> found;
    for (const llvm::Function &f : *module) {
        if (!f.isDeclaration() || f.isIntrinsic())
            continue;
        const clang::Decl *decl = generator->GetDeclForMangledName(f.getName());
        if (decl && !sources.isInSystemHeader(decl->getLocation()))
            found.insert(f.getName().str());
    }
    return found;
}

/* Without the symbol table of WriteBitcodeToFile, which linkers read. */
std::string ompjit_repl::bitcode_of(const llvm::Module &module)
{
    llvm::SmallVector<char, 0> code;
    llvm::BitcodeWriter writer(code);
    writer.writeModule(module);
    writer.writeStrtab();
    return {code.begin(), code.end()};
}

bool ompjit_repl::take_host_half(Session &session, const std::string &host)
{
    int file = memfd_create("host", 0);
    if (file < 0 ||
        write(file, host.data(), host.size()) != (ssize_t)host.size())
        return false;
    session.compiler.getLangOpts().OMPHostIRFile =
        "/proc/self/fd/" + std::to_string(file);
    return true;
}

/* Called before the input's variables are the session's. */
Earlier ompjit_repl::remember(Session &session, std::string host)
{
    Earlier earlier;
    earlier.host = std::move(host);
    earlier.events = session.recorder.events;
    earlier.late = late_variables(session);
    earlier.variables = session.device_variables.size();
    return earlier;
}

/* Does the input that was read define one of these? */
static bool defines(Session &session, const std::set<std::string> &symbols)
{
    clang::ASTNameGenerator names(session.context());
    bool found = false;
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            visit(decl, [&](clang::NamedDecl *each) {
                auto *f = llvm::dyn_cast<clang::FunctionDecl>(each);
                found |= f && f->isThisDeclarationADefinition() &&
                         !f->isTemplated() && symbols.count(names.getName(f));
            });
    return found;
}

/* With the session's state of that input: only its own variables are defined.
 */
static void make(Session &session, unsigned number, const Earlier &earlier,
                 std::vector<Remade> &out)
{
    const std::vector<clang::VarDecl *> all = session.device_variables;
    session.device_variables.erase(
        session.device_variables.begin() + earlier.variables,
        session.device_variables.begin() + earlier.variables_end);
    session.host_variables = earlier.late;
    session.recorder.events = earlier.events;
    if (take_host_half(session, earlier.host)) {
        Generator generator(session);
        if (llvm::Module *module = generator.generate(number))
            out.push_back({number, bitcode_of(*module), generator.lacks()});
    }
    session.device_variables = all;
}

std::vector<Remade> ompjit_repl::make_again(Session &session)
{
    std::vector<Remade> out;
    std::vector<unsigned> numbers;
    for (const auto &[number, earlier] : session.earlier)
        if (defines(session, earlier.lacks))
            numbers.push_back(number);
    if (!numbers.empty())
        keep_device_variables(session);
    for (unsigned number : numbers)
        make(session, number, session.earlier[number], out);
    return out;
}
