/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two private functions of clang's parser, which decides by the first and reads
 * by the second what is a statement. Arguments of an explicit instantiation are
 * not checked for access ([temp.spec] in C++), so a template can hand the
 * functions over.
 */
#ifndef OMPJIT_REPL_GRANTED_H
#define OMPJIT_REPL_GRANTED_H

#include <clang/Parse/Parser.h>

namespace ompjit_repl {

template <typename Name, auto Member> struct Grant {
    friend constexpr auto granted(Name) { return Member; }
};

struct IsDeclaration {
    friend constexpr auto granted(IsDeclaration);
};
struct ParseStatement {
    friend constexpr auto granted(ParseStatement);
};
template struct Grant<IsDeclaration, &clang::Parser::isDeclarationStatement>;
template struct Grant<ParseStatement,
                      &clang::Parser::ParseStatementOrDeclaration>;

/* Does a declaration begin at the parser's place, and no expression? */
inline bool is_declaration(clang::Parser &parser)
{
    return (parser.*granted(IsDeclaration()))(true);
}

/* The parameter that says where the statement stands has a private type. */
template <typename Parser, typename Result, typename List, typename Context,
          typename Place, typename Label>
Result call(Result (Parser::*f)(List &, Context, Place, Label),
            Parser &parser, List &list)
{
    enum { COMPOUND = 3 }; /* ParsedStmtContext::Compound */
    return (parser.*f)(list, static_cast<Context>(COMPOUND), nullptr, nullptr);
}

/* Reads the statement at the parser's place. Statements that come with it are
 * appended. */
inline clang::StmtResult parse_statement(clang::Parser &parser,
                                         clang::Parser::StmtVector &list)
{
    return call(granted(ParseStatement()), parser, list);
}

} // namespace ompjit_repl

#endif
