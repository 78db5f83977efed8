/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Words that can go on with an OpenMP directive: those of LLVM's tables, the
 * clauses that these allow, and the words that clang knows in clauses.
 */
#include <algorithm>
#include <cctype>
#include <set>

#include <clang/Basic/OpenMPKinds.h>
#include <llvm/Frontend/OpenMP/OMP.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;
namespace omp = llvm::omp;

namespace {

bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The text's last line, with those that it goes on from. */
std::string last_line(llvm::StringRef text)
{
    std::string line;
    for (;;) {
        auto [before, last] = text.rsplit('\n');
        const bool only = before.size() == text.size();
        line = (only ? text : last).str() + line;
        if (only || !before.ends_with("\\"))
            return line;
        text = before.drop_back();
        line = " " + line;
    }
}

/* Does the text end in the word behind `#pragma`? */
bool names_pragma(llvm::StringRef text, std::string &last)
{
    const std::string line = last_line(text);
    llvm::StringRef rest = llvm::StringRef(line).ltrim();
    if (!rest.consume_front("#") ||
        !(rest = rest.ltrim()).consume_front("pragma") || rest.empty() ||
        is_word(rest[0]))
        return false;
    rest = rest.ltrim();
    if (!std::all_of(rest.begin(), rest.end(), is_word))
        return false;
    last = rest.str();
    return true;
}

/* The directive's text behind `#pragma omp`, on one line; false: the text does not
 * end within a directive. */
bool find_directive(llvm::StringRef text, std::string &out)
{
    const std::string line = last_line(text);
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
 * False: the text ends in brackets, whose text is `inner`. */
bool split(llvm::StringRef text, std::vector<std::string> &words,
           std::string &last, llvm::StringRef &inner)
{
    int depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (c == '(' && !depth)
            inner = text.substr(i + 1);
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

/* Words of clauses, in clang's order, but those that are not written so. */
struct ClauseWord {
    omp::Clause clause;
    const char *word;
} const clause_words[] = {
#define WORD(clause, name) {omp::OMPC_##clause, #name},
#define OPENMP_MAP_KIND(name) WORD(map, name)
#define OPENMP_MAP_MODIFIER_KIND(name) WORD(map, name)
#define OPENMP_MOTION_MODIFIER_KIND(name) WORD(to, name) WORD(from, name)
#define OPENMP_SCHEDULE_KIND(name) WORD(schedule, name)
#define OPENMP_SCHEDULE_MODIFIER(name) WORD(schedule, name)
#define OPENMP_DIST_SCHEDULE_KIND(name) WORD(dist_schedule, name)
#define OPENMP_DEFAULTMAP_KIND(name) WORD(defaultmap, name)
#define OPENMP_DEFAULTMAP_MODIFIER(name) WORD(defaultmap, name)
#define OPENMP_DEVICE_MODIFIER(name) WORD(device, name)
#define OPENMP_DEVICE_TYPE_KIND(name) WORD(device_type, name)
#define OPENMP_LASTPRIVATE_KIND(name) WORD(lastprivate, name)
#define OPENMP_LINEAR_KIND(name) WORD(linear, name)
#define OPENMP_ORDER_KIND(name) WORD(order, name)
#define OPENMP_ORDER_MODIFIER(name) WORD(order, name)
#define OPENMP_REDUCTION_MODIFIER(name) WORD(reduction, name)
#define OPENMP_BIND_KIND(name) WORD(bind, name)
#define OPENMP_AT_KIND(name) WORD(at, name)
#define OPENMP_SEVERITY_KIND(name) WORD(severity, name)
#define OPENMP_ATOMIC_FAIL_MODIFIER(name) WORD(fail, name)
#define OPENMP_ATOMIC_DEFAULT_MEM_ORDER_KIND(name)                             \
    WORD(atomic_default_mem_order, name)
#define OPENMP_GRAINSIZE_MODIFIER(name) WORD(grainsize, name)
#define OPENMP_NUMTASKS_MODIFIER(name) WORD(num_tasks, name)
#define OPENMP_ALLOCATE_MODIFIER(name) WORD(allocate, name)
#include <clang/Basic/OpenMPKinds.def>
    /* These are not in that file, or not all of them are words. */
    WORD(default, none) WORD(default, shared) WORD(default, private)
    WORD(default, firstprivate) WORD(proc_bind, primary)
    WORD(proc_bind, close) WORD(proc_bind, spread) WORD(depend, in)
    WORD(depend, out) WORD(depend, inout) WORD(depend, mutexinoutset)
    WORD(depend, inoutset) WORD(depend, depobj) WORD(doacross, source)
    WORD(doacross, sink) WORD(reduction, +) WORD(reduction, *)
    WORD(reduction, &) WORD(reduction, |) WORD(reduction, ^)
    WORD(reduction, &&) WORD(reduction, ||) WORD(reduction, min)
    WORD(reduction, max) WORD(in_reduction, +) WORD(task_reduction, +)
#undef WORD
};

/* Can nothing but words stand in the clause's brackets? */
bool is_of_words(omp::Clause kind, llvm::StringRef inner)
{
    switch (kind) {
    case omp::OMPC_at:
    case omp::OMPC_atomic_default_mem_order:
    case omp::OMPC_bind:
    case omp::OMPC_default:
    case omp::OMPC_defaultmap:
    case omp::OMPC_device_type:
    case omp::OMPC_fail:
    case omp::OMPC_order:
    case omp::OMPC_proc_bind:
    case omp::OMPC_severity:
        return true;
    case omp::OMPC_schedule:
    case omp::OMPC_dist_schedule:
        return !inner.contains(',');
    default:
        return false;
    }
}

/* Words that can stand before the colon in a clause's brackets, or alone. False:
 * something else can stand there, too. */
bool add_words(const std::string &clause, llvm::StringRef inner,
               std::vector<Completion> &names)
{
    const omp::Clause kind = omp::getOpenMPClauseKind(clause);
    size_t begin = inner.size();
    while (begin && is_word(inner[begin - 1]))
        begin--;
    if (inner.contains(':') && kind != omp::OMPC_schedule &&
        kind != omp::OMPC_defaultmap && kind != omp::OMPC_order)
        return false;
    for (const ClauseWord &each : clause_words)
        if (each.clause == kind &&
            llvm::StringRef(each.word).starts_with(inner.substr(begin)))
            names.push_back({each.word, clause});
    return is_of_words(kind, inner);
}

std::string join(const std::vector<std::string> &words, size_t n)
{
    std::string text;
    for (size_t i = 0; i < n; i++)
        text += (i ? " " : "") + words[i];
    return text;
}

/* Is it a directive of C that clang 22 reads? It has the name of one that it
 * refuses. */
bool is_read_in_c(omp::Directive kind)
{
    return kind != omp::OMPD_declare_induction &&
           (unsigned)omp::getDirectiveLanguages(kind) &
               (unsigned)omp::SourceLanguage::C;
}

/* Next words of directives that begin with all these. */
void add_directives(const std::string &begin, unsigned version,
                    std::set<std::string> &out)
{
    for (size_t i = 0; i < omp::Directive_enumSize; i++) {
        llvm::StringRef name =
            omp::getOpenMPDirectiveName((omp::Directive)i, version);
        if (!is_read_in_c((omp::Directive)i) || !name.consume_front(begin) ||
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
    llvm::StringRef inner;
    if (names_pragma(text, last)) {
        if (llvm::StringRef("omp").starts_with(last))
            names.push_back({"omp", "OpenMP"});
        return true;
    }
    if (!find_directive(text, directive))
        return false;
    if (!split(directive, words, last, inner))
        return !words.empty() && add_words(words.back(), inner, names);
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
