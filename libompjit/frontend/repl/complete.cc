/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Names that can go on with an input's text, as clang's parser knows them at the
 * text's end. The child process that reads the text answers from within the
 * parser, and ends.
 */
#include <algorithm>

#include <clang/Sema/CodeCompleteConsumer.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

namespace {

clang::CodeCompleteOptions all_names()
{
    clang::CodeCompleteOptions options;
    options.IncludeMacros = true;
    options.IncludeGlobals = true;
    options.IncludeCodePatterns = true; /* statements' keywords */
    return options;
}

class Consumer : public clang::CodeCompleteConsumer {
  public:
    explicit Consumer(Report &report)
        : CodeCompleteConsumer(all_names()), report(report),
          info(std::make_shared<clang::GlobalCodeCompletionAllocator>())
    {
    }

    void ProcessCodeCompleteResults(clang::Sema &sema,
                                    clang::CodeCompletionContext context,
                                    clang::CodeCompletionResult *results,
                                    unsigned n) override
    {
        llvm::StringRef filter = sema.PP.getCodeCompletionFilter();
        std::vector<Completion> list;
        for (unsigned i = 0; i < n; i++) {
            const clang::CodeCompletionString *text =
                results[i].CreateCodeCompletionString(
                    sema, context, info.getAllocator(), info, false);
            std::string name = text ? text->getAllTypedText() : "";
            if (!name.empty() && llvm::StringRef(name).starts_with(filter) &&
                !is_internal(name, filter))
                list.push_back({name, detail_of(*text),
                                order_of(sema, results[i])});
        }
        std::sort(list.begin(), list.end());
        if (report.on_names)
            report.on_names(list);
    }

    clang::CodeCompletionAllocator &getAllocator() override
    {
        return info.getAllocator();
    }

    clang::CodeCompletionTUInfo &getCodeCompletionTUInfo() override
    {
        return info;
    }

  private:
    Report &report;
    clang::CodeCompletionTUInfo info;

    /* Names of the implementation, and of the session's own functions, are for
     * those alone who ask for them. */
    static bool is_internal(llvm::StringRef name, llvm::StringRef filter)
    {
        return filter.empty() ? name.starts_with("__") ||
                                    name.starts_with("input_")
                              : name.starts_with("input_") &&
                                    !filter.starts_with("input_");
    }

    static bool is_of_session(const clang::SourceManager &sources,
                              clang::SourceLocation location)
    {
        const clang::FileID file =
            sources.getFileID(sources.getFileLoc(location));
        const clang::SourceLocation parent = sources.getIncludeLoc(file);
        return parent.isValid() &&
               sources.getFileID(parent) == sources.getMainFileID();
    }

    /* Names of the session come first, and macros of headers last. */
    static unsigned order_of(clang::Sema &sema,
                             const clang::CodeCompletionResult &result)
    {
        enum { OWN, OTHER, MACRO };
        const bool macro =
            result.Kind == clang::CodeCompletionResult::RK_Macro;
        const clang::MacroInfo *info =
            macro ? sema.PP.getMacroInfo(result.Macro) : nullptr;
        clang::SourceLocation location;
        if (info)
            location = info->getDefinitionLoc();
        else if (!macro && result.Declaration)
            location = result.Declaration->getLocation();
        if (location.isValid() &&
            is_of_session(sema.getSourceManager(), location))
            return OWN;
        return macro ? MACRO : OTHER;
    }

    /* A declaration: int f(int n) */
    static std::string detail_of(const clang::CodeCompletionString &text)
    {
        std::string detail;
        for (const auto &chunk : text) {
            if (chunk.Text)
                detail += chunk.Text;
            if (chunk.Kind == clang::CodeCompletionString::CK_ResultType)
                detail += ' ';
        }
        return detail;
    }
};

} // namespace

clang::CodeCompleteConsumer *ompjit_repl::new_consumer(Report &report)
{
    return new Consumer(report);
}
