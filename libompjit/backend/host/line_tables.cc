/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C++ because LLVM's C API neither reads line tables nor reduces debug
 * information to them. Tells which line of the source an address of a host
 * object is of.
 */
#include <cstdint>
#include <string>

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

extern "C" {
#include <llvm-c/Core.h>

#include "base/base.h"
void ompjit__llvm_init(void);
void ompjit__line_tables(LLVMModuleRef m);
void ompjit__entry_lines(LLVMValueRef kernel, LLVMValueRef entry,
                         LLVMValueRef call);
void ompjit__object_line(const void *object, size_t size, const char *symbol,
                         uint64_t offset, ompjit__buf *text);
}

using llvm::object::ObjectFile;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

/* Has each compile unit line directives and nothing more? Then LLVM would emit
 * no table. */
static bool has_directives_only(const llvm::Module &m)
{
    for (const llvm::DICompileUnit *unit : m.debug_compile_units())
        if (unit->getEmissionKind() !=
            llvm::DICompileUnit::DebugDirectivesOnly)
            return false;
    return true;
}

/* The same unit, whose code gets a line table. How much a unit emits cannot be
 * changed once it is made. */
static llvm::DICompileUnit *with_tables(const llvm::DICompileUnit *u)
{
    return llvm::DICompileUnit::getDistinct(
        u->getContext(), u->getSourceLanguage(), u->getFile(),
        u->getProducer(), u->isOptimized(), u->getFlags(),
        u->getRuntimeVersion(), u->getSplitDebugFilename(),
        llvm::DICompileUnit::LineTablesOnly, u->getEnumTypes(),
        u->getRetainedTypes(), u->getGlobalVariables(),
        u->getImportedEntities(), u->getMacros(), u->getDWOId(),
        u->getSplitDebugInlining(), u->getDebugInfoForProfiling(),
        u->getNameTableKind(), u->getRangesBaseAddress(), u->getSysRoot(),
        u->getSDK());
}

/* LLVM's own reduction takes from a line of an included file its file. */
static void directives_to_tables(llvm::Module &m)
{
    llvm::DebugInfoFinder finder;
    finder.processModule(m);
    llvm::NamedMDNode *units = m.getNamedMetadata("llvm.dbg.cu");
    for (unsigned i = 0; units && i < units->getNumOperands(); i++) {
        auto *old = llvm::cast<llvm::DICompileUnit>(units->getOperand(i));
        llvm::DICompileUnit *unit = with_tables(old);
        units->setOperand(i, unit);
        for (llvm::DISubprogram *f : finder.subprograms())
            if (f->getUnit() == old)
                f->replaceUnit(unit);
    }
}

/* Line directives, the least that IR can have, make no table by themselves. */
void ompjit__line_tables(LLVMModuleRef m)
{
    if (has_directives_only(*llvm::unwrap(m)))
        directives_to_tables(*llvm::unwrap(m));
    else
        llvm::stripNonLineTableDebugInfo(*llvm::unwrap(m));
}

/* Code that is inlined where no subprogram is loses its lines. So the entry,
 * into which the kernel is inlined, gets a copy of the kernel's subprogram. */
void ompjit__entry_lines(LLVMValueRef kernel, LLVMValueRef entry,
                         LLVMValueRef call)
{
    llvm::DISubprogram *from =
        llvm::unwrap<llvm::Function>(kernel)->getSubprogram();
    if (!from)
        return;
    llvm::DISubprogram *own =
        llvm::MDNode::replaceWithDistinct(from->clone());
    llvm::unwrap<llvm::Function>(entry)->setSubprogram(own);
    llvm::unwrap<llvm::Instruction>(call)->setDebugLoc(
        llvm::DILocation::get(own->getContext(), from->getLine(), 0, own));
}

/* NULL: the bytes are no object file. They are borrowed. */
static std::unique_ptr<ObjectFile> read_object(const void *object, size_t size)
{
    llvm::StringRef bytes(static_cast<const char *>(object), size);
    llvm::Expected<std::unique_ptr<ObjectFile>> file =
        ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernels"));
    if (file)
        return std::move(*file);
    llvm::consumeError(file.takeError());
    return nullptr;
}

/* The section that a symbol is in, and its place there. */
static bool find_symbol(const ObjectFile &file, const char *name,
                        SectionRef &section, uint64_t &offset)
{
    for (const SymbolRef &symbol : file.symbols()) {
        llvm::Expected<llvm::StringRef> its = symbol.getName();
        if (!its) {
            llvm::consumeError(its.takeError());
            continue;
        }
        if (*its != name)
            continue;
        llvm::Expected<llvm::object::section_iterator> in =
            symbol.getSection();
        llvm::Expected<uint64_t> at = symbol.getValue();
        bool good = in && at && *in != file.section_end();
        if (good) {
            section = **in;
            offset = *at;
        }
        llvm::consumeError(in.takeError());
        llvm::consumeError(at.takeError());
        if (good) /* else it may be the source file's, of the same name */
            return true;
    }
    return false;
}

extern "C" void ompjit__object_line(const void *object, size_t size,
                                    const char *symbol, uint64_t offset,
                                    ompjit__buf *text)
{
    ompjit__llvm_init();
    std::unique_ptr<ObjectFile> file = read_object(object, size);
    SectionRef section;
    uint64_t unused;
    if (!file || !find_symbol(*file, symbol, section, unused))
        return;
    std::unique_ptr<llvm::DWARFContext> dwarf =
        llvm::DWARFContext::create(*file);
    auto quiet = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    const llvm::DWARFObject &parts = dwarf->getDWARFObj();
    llvm::DWARFDataExtractor data(parts, parts.getLineSection(),
                                  file->isLittleEndian(), sizeof(void *));
    llvm::DWARFDebugLine::SectionParser tables(data, *dwarf,
                                               dwarf->normal_units());
    /* Tables by themselves: with line directives alone no unit names them. */
    while (!tables.done()) {
        llvm::DWARFDebugLine::LineTable table = tables.parseNext(quiet, quiet);
        llvm::DILineInfo line;
        if (!table.getFileLineInfoForAddress(
                {offset, section.getIndex()}, false, "",
                llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue, line) ||
            !line.Line)
            continue;
        ompjit__buf_printf(text, " (%s:%u)", line.FileName.c_str(), line.Line);
        return;
    }
}
