/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words that can go on with an OpenMP directive: those of LLVM's tables, and the
 * clauses that these allow.
 */
#include <cctype>
#include <set>

#include <llvm/Frontend/OpenMP/OMP.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;
namespace omp = llvm::omp;

namespace {

bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The directive's text behind `#pragma omp`, on one line; false: the text does not
 * end within a directive. */
bool find_directive(llvm::StringRef text, std::string &out)
{
    std::string line;
    for (;;) {
        auto [before, last] = text.rsplit('\n');
        const bool only = before.size() == text.size();
        line = (only ? text : last).str() + line;
        if (only || !before.ends_with("\\"))
            break;
        text = before.drop_back();
        line = " " + line;
    }
    llvm::StringRef rest = llvm::StringRef(line).ltrim();
    for (llvm::StringRef word : {"#", "pragma", "omp"}) {
        if (!rest.consume_front(word))
            return false;
        if (word == "omp" && (rest.empty() || is_word(rest[0])))
            return false;
        rest = rest.ltrim();
    }
    out = rest.str();
    return true;
}

/* Words outside of brackets; `last` is the one that the text ends with, or empty.
 * False: the text ends in brackets. */
bool split(llvm::StringRef text, std::vector<std::string> &words,
           std::string &last)
{
    int depth = 0;
    for (char c : text) {
        depth += (c == '(') - (c == ')');
        if (!depth && is_word(c)) {
            last += c;
        } else if (!last.empty()) {
            words.push_back(last);
            last.clear();
        }
    }
    return depth == 0;
}

std::string join(const std::vector<std::string> &words, size_t n)
{
    std::string text;
    for (size_t i = 0; i < n; i++)
        text += (i ? " " : "") + words[i];
    return text;
}

/* Next words of directives that begin with all these. */
void add_directives(const std::string &begin, unsigned version,
                    std::set<std::string> &out)
{
    for (size_t i = 0; i < omp::Directive_enumSize; i++) {
        llvm::StringRef name =
            omp::getOpenMPDirectiveName((omp::Directive)i, version);
        if (!name.consume_front(begin) ||
            (!begin.empty() && !name.consume_front(" ")))
            continue;
        llvm::StringRef next = name.split(' ').first;
        if (!next.empty() && next != "unknown")
            out.insert(next.str());
    }
}

/* The longest directive that the words begin with. */
omp::Directive find_kind(const std::vector<std::string> &words)
{
    for (size_t n = words.size(); n; n--) {
        omp::Directive kind =
            omp::getOpenMPDirectiveKindAndVersions(join(words, n)).first;
        if (kind != omp::OMPD_unknown)
            return kind;
    }
    return omp::OMPD_unknown;
}

void add_clauses(omp::Directive kind, unsigned version,
                 std::set<std::string> &out)
{
    for (size_t i = 0; i < omp::Clause_enumSize; i++)
        if (omp::isAllowedClauseForDirective(kind, (omp::Clause)i, version))
            out.insert(
                omp::getOpenMPClauseName((omp::Clause)i, version).str());
}

} // namespace

bool ompjit_repl::pragma_names(const std::string &text, unsigned version,
                               std::vector<Completion> &names)
{
    std::string directive, last;
    std::vector<std::string> words;
    std::set<std::string> found, clauses;
    if (!find_directive(text, directive) || !split(directive, words, last))
        return false;
    add_directives(join(words, words.size()), version, found);
    omp::Directive kind = find_kind(words);
    if (kind != omp::OMPD_unknown)
        add_clauses(kind, version, clauses);
    for (const std::string &each : found)
        if (llvm::StringRef(each).starts_with(last))
            names.push_back({each, "directive"});
    for (const std::string &each : clauses)
        if (llvm::StringRef(each).starts_with(last))
            names.push_back({each, "clause"});
    return true;
}
