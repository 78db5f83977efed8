/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * LLVM's remarks as records. C++ because LLVM's C API tells of a remark nothing
 * but its text.
 *
 * openmp-opt does not say which variable or call a remark is about. It is the
 * instruction of the remark's block that stands at the remark's place and is of
 * the kind that the remark is about.
 */
#include <cstdlib>
#include <memory>
#include <string>

#include <llvm-c/Core.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ValueSymbolTable.h>

extern "C" {
#include "llvm/remarks.h"
/* core/core.h is C. */
char *ompjit__kernel_name(const char *symbol, unsigned *line);
}

using namespace llvm;

namespace {

/* --------------------------------------------------------------- variables */

/* "x" of "x2.i", where another value of the function is "x": LLVM makes names
 * unique by numbers, and inlining adds ".i". */
std::string sourceName(StringRef name, const Function *f)
{
    size_t dot = name.find('.');
    std::string whole = name.take_front(dot).str();
    const ValueSymbolTable *table = f ? f->getValueSymbolTable() : nullptr;
    StringRef stem = StringRef(whole).rtrim("0123456789");
    for (size_t n = stem.size(); table && n && n < whole.size(); n++)
        if (table->lookup(StringRef(whole).take_front(n)) ||
            table->lookup((StringRef(whole).take_front(n) + ".addr").str()))
            return whole.substr(0, n);
    return whole;
}

bool isSharedAllocation(const Instruction &i)
{
    auto *call = dyn_cast<CallBase>(&i);
    const Function *f = call ? call->getCalledFunction() : nullptr;
    return f && (f->getName() == "__kmpc_alloc_shared" ||
                 f->getName() == "ompjit_alloc_recursive");
}

/* The variables that are taken from the runtime and handed to a call. */
std::string handedOver(const CallBase &call)
{
    std::string names;
    for (const Value *argument : call.args()) {
        if (!argument->getType()->isPointerTy())
            continue;
        auto *from = dyn_cast<Instruction>(getUnderlyingObject(argument));
        if (from && isSharedAllocation(*from))
            names += (names.empty() ? "" : ", ") +
                     sourceName(from->getName(), from->getFunction());
    }
    return names;
}

/* The function that is called, for people. */
std::string sourceName(const Function &f)
{
    unsigned line;
    char *name = ompjit__kernel_name(f.getName().str().c_str(), &line);
    std::string own = name ? name : "";
    free(name);
    return own;
}

std::string calledName(const CallBase &call)
{
    if (call.isInlineAsm())
        return "inline assembly";
    auto *f = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
    return f ? sourceName(*f) : "a function that is called by its address";
}

/* ------------------------------------------------------------------ places */

/* The kind of instruction that a remark is about. */
enum Kind { ALLOCATION, CALL, NONE };

Kind kindOf(enum ompjit__remark_id id)
{
    switch (id) {
    case OMPJIT__REMARK_OMP110:
    case OMPJIT__REMARK_OMP111:
    case OMPJIT__REMARK_OMP112:
        return ALLOCATION;
    case OMPJIT__REMARK_OMP113:
    case OMPJIT__REMARK_OMP121:
    case OMPJIT__REMARK_OMP133:
    case OMPJIT__REMARK_OMP170:
    case OMPJIT__REMARK_OMP180:
    case OMPJIT__REMARK_HeapToStack:
        return CALL;
    default:
        return NONE;
    }
}

/* The runtime's, or one of the marks that passes leave for openmp-opt. */
bool isOfRuntime(const CallBase &call)
{
    const Function *f = call.getCalledFunction();
    return f && (f->getName().starts_with("__kmpc_") ||
                 f->getName().starts_with("omp_") ||
                 f->getName().starts_with("ompjit_"));
}

bool isOutlined(const CallBase &call)
{
    const Function *f = call.getCalledFunction();
    return f && f->getName().contains("omp_outlined");
}

bool isOf(enum ompjit__remark_id id, Kind kind, const Instruction &i)
{
    auto *call = dyn_cast<CallBase>(&i);
    if (kind == ALLOCATION)
        return isSharedAllocation(i);
    if (!call || isa<IntrinsicInst>(i))
        return false;
    if (id == OMPJIT__REMARK_OMP121 || id == OMPJIT__REMARK_OMP133)
        return !isOfRuntime(*call);
    return id != OMPJIT__REMARK_OMP113 || !handedOver(*call).empty() ||
           isOutlined(*call);
}

bool isAt(const Instruction &i, const DiagnosticLocation &at)
{
    const DebugLoc &loc = i.getDebugLoc();
    return loc && at.isValid() && loc.getLine() == at.getLine() &&
           loc.getCol() == at.getColumn();
}

/* NULL: none, or without lines several. */
const Instruction *find(const BasicBlock *block, enum ompjit__remark_id id,
                        Kind kind, const DiagnosticLocation &at)
{
    const Instruction *only = nullptr;
    unsigned n = 0;
    for (const Instruction &i : *block) {
        if (!isOf(id, kind, i))
            continue;
        if (isAt(i, at))
            return &i;
        only = &i;
        n++;
    }
    return n == 1 && !at.isValid() ? only : nullptr;
}

/* ---------------------------------------------------------------- handlers */

/* LLVM's text without " [OMP120]", which is the record's id, its last full
 * stop, a place that is not known, and the advice that is not what this clang
 * takes. */
std::string plainText(const std::string &text)
{
    StringRef s(text);
    s = s.take_front(s.rfind(" [OMP"));
    s = s.take_front(s.find(" Add `["));
    s = s.take_front(s.find(" Use `["));
    s = s.take_front(s.find(" Mark parameter"));
    s = s.take_front(s.find(" at <UNKNOWN LOCATION>"));
    return s.rtrim(" .").str();
}

/* Where there is no declaration that could be marked. nullptr: there is one. */
const char *adviceOn(const CallBase *call)
{
    return !call || call->isInlineAsm() ? ""
           : call->getCalledFunction()  ? nullptr
                                        : "call the function by its name";
}

class Collector : public DiagnosticHandler {
  public:
    Collector(ompjit__buf *out, DiagnosticHandlerTy callback, void *data)
        : DiagnosticHandler(data), list(out), callback(callback)
    {
        DiagHandlerCallback = callback; /* the C API asks for it */
    }
    bool handleDiagnostics(const DiagnosticInfo &info) override
    {
        if (auto *remark = dyn_cast<DiagnosticInfoIROptimization>(&info))
            add(*remark);
        else if (callback)
            callback(&info, DiagnosticContext);
        return true;
    }
    bool isAnalysisRemarkEnabled(StringRef pass) const override
    {
        return isOurs(pass);
    }
    bool isMissedOptRemarkEnabled(StringRef pass) const override
    {
        return isOurs(pass);
    }
    bool isPassedOptRemarkEnabled(StringRef pass) const override
    {
        return isOurs(pass);
    }
    bool isAnyRemarkEnabled() const override { return true; }

  private:
    ompjit__buf *list;
    DiagnosticHandlerTy callback;

    static bool isOurs(StringRef pass) { return pass == "openmp-opt"; }

    void add(const DiagnosticInfoIROptimization &remark)
    {
        auto id = ompjit__remark_named(remark.getRemarkName().str().c_str());
        if (!isOurs(remark.getPassName()) || id == OMPJIT__REMARK_COUNT)
            return;
        const DiagnosticLocation at = remark.getLocation();
        auto *block = dyn_cast_or_null<BasicBlock>(remark.getCodeRegion());
        const Kind kind = kindOf(id);
        const Instruction *i =
            block && kind != NONE ? find(block, id, kind, at) : nullptr;
        auto *call = dyn_cast_or_null<CallBase>(i);
        if (id == OMPJIT__REMARK_OMP121 && block && !call)
            return; /* a store is guarded, and prevents nothing */
        if (remark.getFunction().getName().starts_with("ompjit_"))
            return; /* of the runtime, which the program cannot change */
        if (id == OMPJIT__REMARK_OMP113 && call && isOutlined(*call))
            return; /* clang's own code, which nobody can mark */
        const std::string variable =
            kind == ALLOCATION && i ? sourceName(i->getName(), i->getFunction())
            : id == OMPJIT__REMARK_OMP113 && call ? handedOver(*call)
                                                  : "";
        const std::string called =
            call && kind == CALL ? calledName(*call) : variable;
        const std::string symbol = remark.getFunction().getName().str();
        const std::string file = at.isValid() ? at.getRelativePath().str() : "";
        const std::string what = plainText(remark.getMsg());
        ompjit__remark r = {};
        r.id = id;
        r.pass = "openmp-opt";
        r.symbol = symbol.c_str();
        r.file = file.c_str();
        r.what = what.c_str();
        r.variable = variable.c_str();
        r.subject = id == OMPJIT__REMARK_OMP113 && !variable.empty()
                        ? variable.c_str()
                    : called.empty() ? nullptr
                                     : called.c_str();
        if (id == OMPJIT__REMARK_OMP121 || id == OMPJIT__REMARK_OMP133)
            r.advice = adviceOn(call);
        if (at.isValid()) {
            r.line = at.getLine();
            r.column = at.getColumn();
        }
        ompjit__remark_add(list, &r);
    }
};

} // namespace

/* ------------------------------------------------------------- interface */

void ompjit__remarks_begin(LLVMContextRef ref, ompjit__buf *list)
{
    LLVMContext &context = *unwrap(ref);
    context.setDiagnosticHandler(std::make_unique<Collector>(
        list, context.getDiagnosticHandlerCallBack(),
        context.getDiagnosticContext()));
}

void ompjit__remarks_end(LLVMContextRef ref)
{
    LLVMContext &context = *unwrap(ref);
    auto callback = context.getDiagnosticHandlerCallBack();
    void *data = context.getDiagnosticContext();
    context.setDiagnosticHandler(std::make_unique<DiagnosticHandler>());
    context.setDiagnosticHandlerCallBack(callback, data);
}

char *ompjit__remark_variable(LLVMValueRef allocation)
{
    auto *i = dyn_cast<Instruction>(unwrap(allocation));
    const std::string name =
        sourceName(unwrap(allocation)->getName(), i ? i->getFunction() : nullptr);
    return strdup(name.c_str());
}

void ompjit__remark_at(ompjit__buf *list, LLVMValueRef at,
                       const ompjit__remark *given)
{
    ompjit__remark r = *given;
    auto *i = dyn_cast<Instruction>(unwrap(at));
    const Function *f = i ? i->getFunction() : dyn_cast<Function>(unwrap(at));
    const std::string symbol = f ? f->getName().str() : "";
    std::string file;
    if (const DILocation *loc = i ? i->getDebugLoc().get() : nullptr) {
        file = loc->getFilename().str();
        r.line = loc->getLine();
        r.column = loc->getColumn();
    }
    r.symbol = symbol.c_str();
    r.file = file.c_str();
    ompjit__remark_add(list, &r);
}

char *ompjit__remark_function(LLVMValueRef function)
{
    return strdup(sourceName(*cast<Function>(unwrap(function))).c_str());
}

char *ompjit__remark_called(LLVMValueRef call)
{
    return strdup(calledName(*cast<CallBase>(unwrap(call))).c_str());
}
