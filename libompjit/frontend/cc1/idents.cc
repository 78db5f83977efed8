/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Source locations of calls of the OpenMP runtime. LLVM 22 compares each new one
 * with all global variables of the module, though it remembers those that it has
 * made: for a thousand target regions that was most of the front end. Here are the
 * same functions without the comparison. The linker takes the first definition
 * that it sees (local.am).
 */
#undef PIC /* libtool's; LLVM has a parameter of that name */
#include <llvm/Frontend/OpenMP/OMPIRBuilder.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

using namespace llvm;

Constant *OpenMPIRBuilder::getOrCreateIdent(Constant *location, uint32_t size,
                                            omp::IdentFlag flags,
                                            unsigned reserved)
{
    flags = flags | omp::OMP_IDENT_FLAG_KMPC;
    Constant *&known =
        IdentMap[{location, static_cast<uint64_t>(flags) << 31 | reserved}];
    if (!known) {
        Constant *fields[] = {
            ConstantInt::get(Int32, 0),
            ConstantInt::get(Int32, static_cast<uint32_t>(flags)),
            ConstantInt::get(Int32, reserved), ConstantInt::get(Int32, size),
            ConstantExpr::getPointerBitCastOrAddrSpaceCast(
                location, Ident->getElementType(4))};
        auto *made = new GlobalVariable(
            M, Ident, true, GlobalValue::PrivateLinkage,
            ConstantStruct::get(Ident, fields), "", nullptr,
            GlobalValue::NotThreadLocal,
            M.getDataLayout().getDefaultGlobalsAddressSpace());
        made->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
        made->setAlignment(Align(8));
        known = made;
    }
    return ConstantExpr::getPointerBitCastOrAddrSpaceCast(known, IdentPtr);
}

Constant *OpenMPIRBuilder::getOrCreateSrcLocStr(StringRef text, uint32_t &size)
{
    size = text.size();
    Constant *&known = SrcLocStrMap[text];
    if (!known)
        known = Builder.CreateGlobalString(
            text, "", M.getDataLayout().getDefaultGlobalsAddressSpace(), &M);
    return known;
}

Constant *OpenMPIRBuilder::getOrCreateSrcLocStr(StringRef function,
                                                StringRef file, unsigned line,
                                                unsigned column, uint32_t &size)
{
    std::string text = (";" + file + ";" + function + ";" + Twine(line) + ";" +
                        Twine(column) + ";;")
                           .str();
    return getOrCreateSrcLocStr(text, size);
}
