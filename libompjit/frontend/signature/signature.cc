/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions of a host half: names, types, how they are passed (pieces.cc), what
 * is mapped of them (sections.cc).
 */
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/Module.h>

#include "frontend/signature/pieces.h"
#include "frontend/signature/sections.h"
#include "frontend/signature/types.h"

extern "C" {
#include "frontend/signature/signature.h"
}

using namespace llvm;
using namespace signature;

static void pack_text(ompjit__buf *out, StringRef text)
{
    ompjit__pack_bytes(out, text.data(), text.size());
}

/* Those that ompjit_module_function finds (passes/hosthalf/rewrite.c). */
static bool is_callable(const Function &f)
{
    return !f.isDeclaration() &&
           (f.hasExternalLinkage() || f.hasWeakAnyLinkage() ||
            f.hasWeakODRLinkage());
}

/* One function, before it is packed. */
struct Signature {
    std::string name, prototype, file, refused;
    unsigned line = 0, type = 0;
    bool from_source = false;
    std::vector<uint64_t> sizes; /* of its parameters */
};

/* "ns::axpy<float>"; Fortran's are those of the source without the module. */
static std::string source_name(const Function &f, const DISubprogram *sub,
                               bool fortran)
{
    if (sub && fortran)
        return sub->getName().str();
    std::string symbol = f.getName().str();
    ItaniumPartialDemangler demangler;
    if (!demangler.partialDemangle(symbol.c_str())) {
        size_t n = 0;
        char *text = demangler.isFunction()
                         ? demangler.getFunctionName(nullptr, &n)
                         : nullptr;
        if (text) {
            symbol = text;
            free(text);
        }
        return symbol;
    }
    return sub && !sub->getName().empty() && sub->getLinkageName().empty()
               ? sub->getName().str()
               : symbol;
}

/* The names of the parameters, by their numbers. */
static std::vector<std::string> param_names(const Function &f, size_t n)
{
    std::vector<std::string> names(n);
    for (const BasicBlock &block : f)
        for (const Instruction &i : block)
            for (const DbgVariableRecord &r :
                 filterDbgVars(i.getDbgRecordRange())) {
                unsigned arg = r.getVariable()->getArg();
                if (arg && arg <= n && !r.getDebugLoc().getInlinedAt())
                    names[arg - 1] = r.getVariable()->getName().str();
            }
    return names;
}

/* Is Fortran's parameter i passed by reference? */
static bool is_reference(const Function &f, size_t i, const signature::Type &type)
{
    return i < f.arg_size() && f.getArg((unsigned)i)->getType()->isPointerTy() &&
           type.kind != OMPJIT_TYPE_POINTER;
}

/* Is it one of Fortran's arrays that know their own bounds? */
static bool has_descriptor(const DIType *type)
{
    auto *c = dyn_cast<DICompositeType>(type);
    return c && c->getRawDataLocation();
}

/* The types that the source declares: a parameter of array type is a pointer
 * there. */
static void read_source(const Function &f, bool fortran, Types &types,
                        Signature &s)
{
    const DISubprogram *sub = f.getSubprogram();
    DITypeRefArray list = sub->getType()->getTypeArray();
    std::vector<Member> params;
    std::string text;
    bool variadic = false;
    size_t n = list.size() ? list.size() - 1 : 0;
    std::vector<std::string> names = param_names(f, n);
    for (size_t i = 0; i < n; i++) {
        const DIType *type = list[(unsigned)i + 1];
        text += i ? ", " : "";
        if (!type) {
            variadic = true;
            text += "...";
            continue;
        }
        Member param;
        param.name = names[i];
        param.type = types.of(type);
        if (has_descriptor(type) && s.refused.empty())
            s.refused = "its parameter " + names[i] +
                        " is passed by a descriptor of an array";
        if (fortran && is_reference(f, i, types[param.type]))
            param.type = types.reference(param.type);
        text += types.declare(type, names[i]);
        params.push_back(param);
    }
    const DIType *result = list.size() ? list[0] : nullptr;
    s.from_source = true;
    s.line = sub->getLine();
    s.file = sub->getFilename().str();
    text = s.name + "(" + (text.empty() && !fortran ? "void" : text) + ")";
    s.prototype = !fortran ? types.declare(result, text)
                  : result ? types.declare(result, "function " + text)
                           : "subroutine " + text;
    s.type = types.function(types.of(result), params, variadic);
}

/* Without debug information: names as far as the IR has them. */
static void read_ir(Function &f, Types &types, Signature &s)
{
    const DataLayout &layout = f.getParent()->getDataLayout();
    std::vector<Member> params;
    std::string text;
    for (Argument &a : f.args()) {
        if (a.hasStructRetAttr())
            continue;
        Member param;
        param.name = a.getName().str();
        param.type = types.of(a.getType(), a.hasZExtAttr(), layout);
        std::string type = types[param.type].text;
        text += (text.empty() ? "" : ", ") + type +
                (type.back() == '*' || param.name.empty() ? "" : " ") +
                param.name;
        params.push_back(param);
    }
    unsigned result = types.of(f.getReturnType(),
                               f.hasRetAttribute(Attribute::ZExt), layout);
    std::string type = types[result].text;
    s.prototype = type + (type.back() == '*' ? "" : " ") + s.name + "(" +
                  (text.empty() ? "void" : text) + ")";
    s.type = types.function(result, params, f.isVarArg());
}

/* Line tables alone have no types: only name and place are the source's then.
 */
static Signature read(Function &f, bool fortran, Types &types)
{
    Signature s;
    const DISubprogram *sub = f.getSubprogram();
    s.name = source_name(f, sub, fortran);
    bool typed = sub && sub->getUnit() &&
                 sub->getUnit()->getEmissionKind() == DICompileUnit::FullDebug;
    if (typed)
        read_source(f, fortran, types, s);
    else
        read_ir(f, types, s);
    if (!typed && sub) {
        s.line = sub->getLine();
        s.file = sub->getFilename().str();
    }
    return s;
}

/* ------------------------------------------------------------------- pack */

/* Each piece as the bytes that it is in memory; function/signature.c copies
 * them back. */
static void pack_pieces(const std::vector<ompjit__piece> &pieces,
                        ompjit__buf *out)
{
    ompjit__pack_number(out, pieces.size());
    ompjit__buf_add(out, pieces.data(),
                    pieces.size() * sizeof(ompjit__piece));
}

/* A place for the result is no parameter, and has no sections. */
static void pack_sections(const std::vector<Section> &sections,
                          const Passing &passing, ompjit__buf *out)
{
    size_t n = 0;
    for (const Section &s : sections)
        n += passing.param_of.count(s.argument);
    ompjit__pack_number(out, n);
    for (const Section &s : sections) {
        auto param = passing.param_of.find(s.argument);
        if (param == passing.param_of.end())
            continue;
        ompjit__pack_number(out, param->second);
        ompjit__pack_number(out, s.maps);
        ompjit__pack_number(out, s.line);
        pack_text(out, s.text);
        pack_text(out, s.condition);
        pack_text(out, s.offset);
        pack_text(out, s.size);
    }
}

/* In the order of core/signature.h. */
static void pack_function(Function &f, const Signature &s, Types &types,
                          ompjit__buf *out)
{
    std::vector<uint64_t> sizes;
    for (const Member &m : types[s.type].members)
        sizes.push_back(types.bytes(m.type));
    Passing passing = find_passing(f, s.from_source, sizes);
    pack_text(out, s.name);
    pack_text(out, f.getName());
    pack_text(out, s.prototype);
    pack_text(out, s.file);
    ompjit__pack_number(out, s.line);
    ompjit__pack_number(out, s.type);
    ompjit__pack_number(out, s.from_source);
    pack_text(out, s.refused.empty() ? passing.refused : s.refused);
    pack_pieces(passing.params, out);
    pack_pieces(passing.result, out);
    pack_sections(find_sections(f, passing.whole), passing, out);
}

/* C, unless a compile unit is of C++ or Fortran: the first such one decides. */
static Language language_of(const Module &m)
{
    for (const DICompileUnit *unit : m.debug_compile_units()) {
        auto language = (dwarf::SourceLanguage)unit->getSourceLanguage()
                            .getUnversionedName();
        if (dwarf::isCPlusPlus(language))
            return Language::CXX;
        if (dwarf::isFortran(language))
            return Language::FORTRAN;
    }
    return Language::C;
}

void ompjit__signatures(LLVMModuleRef host, ompjit__buf *out)
{
    Module &m = *unwrap(host);
    Language language = language_of(m);
    Types types(language);
    std::vector<Function *> functions;
    ompjit__buf list = {}, text = {};
    for (Function &f : m)
        if (is_callable(f))
            functions.push_back(&f);
    for (Function *f : functions)
        pack_function(*f, read(*f, language == Language::FORTRAN, types), types,
                      &list);
    types.pack(&text);
    ompjit__pack_number(&text, functions.size());
    ompjit__buf_add(&text, list.data, list.size);
    ompjit__pack_bytes(out, text.data, text.size);
    out->failed |= list.failed || text.failed;
    ompjit__buf_free(&list);
    ompjit__buf_free(&text);
}

/* Bytes of a result that is written to the caller's memory; 0: it is not. */
static uint64_t result_bytes(const Function &f)
{
    for (const Argument &a : f.args())
        if (a.hasStructRetAttr())
            return f.getParent()->getDataLayout().getTypeAllocSize(
                a.getParamStructRetType());
    return 0;
}

void ompjit__passing(LLVMModuleRef host, ompjit__buf *out)
{
    size_t n = 0;
    ompjit__buf list = {}, text = {};
    for (Function &f : *unwrap(host)) {
        if (!is_callable(f) || f.isVarArg())
            continue;
        Passing passing = find_passing(f, false, {});
        if (!passing.refused.empty())
            continue;
        n++;
        pack_text(&list, f.getName());
        ompjit__pack_number(&list, result_bytes(f));
        pack_pieces(passing.params, &list);
        pack_pieces(passing.result, &list);
    }
    ompjit__pack_number(&text, n);
    ompjit__buf_add(&text, list.data, list.size);
    ompjit__pack_bytes(out, text.data, text.size);
    out->failed |= list.failed || text.failed;
    ompjit__buf_free(&list);
    ompjit__buf_free(&text);
}

void ompjit__strip_types(LLVMModuleRef host)
{
    stripNonLineTableDebugInfo(*unwrap(host));
}
