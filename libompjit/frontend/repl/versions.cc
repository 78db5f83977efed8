/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Names that are declared once more. clang says that an earlier declaration is
 * in the way. The input is then read again, by another process, in which that
 * declaration cannot be seen: what earlier inputs have compiled stays as it is,
 * and later ones see the new. Functions and variables get a symbol of their
 * own, NAME$NUMBER. A type that is declared in the same words as before is the
 * old one: its declaration is left out, as long as all the names in it mean
 * what they meant.
 */
#include <cctype>

#include <clang/AST/DeclContextInternals.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Mangle.h>
#include <clang/Sema/Scope.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

namespace {

/* ------------------------------------------------------------------ hiding */

/* Declarations of that name outside of functions. */
std::vector<clang::NamedDecl *> named(Session &session,
                                      const std::string &name)
{
    std::vector<clang::NamedDecl *> all;
    clang::DeclarationName key(&session.context().Idents.get(name));
    clang::IdentifierResolver &names = session.sema.IdResolver;
    for (auto at = names.begin(key); at != names.end(); ++at)
        all.push_back(*at);
    auto *file = session.context().getTranslationUnitDecl();
    for (clang::NamedDecl *decl : file->lookup(key))
        all.push_back(decl);
    return all;
}

bool is_at(Session &session, const clang::NamedDecl *decl, const Place &place)
{
    for (const clang::Decl *each : decl->redecls()) {
        Place at;
        if (session.place_of(each->getLocation(), at) &&
            at.input == place.input && at.offset == place.offset)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------- type items */

/* The text with one blank for each run of blanks. */
std::string plain(const Input &input, Range range)
{
    std::string text;
    for (unsigned i = range.begin; i < range.end && i < input.text.size();
         i++) {
        const bool blank = isspace((unsigned char)input.text[i]);
        if (!blank)
            text += input.text[i];
        else if (!text.empty() && text.back() != ' ')
            text += ' ';
    }
    return text;
}

/* Was no word of it declared anew since that input? */
bool means_the_same(const Session &session, const std::string &text,
                    unsigned since)
{
    std::string word;
    for (char c : text + " ") {
        if (isalnum((unsigned char)c) || c == '_') {
            word += c;
            continue;
        }
        auto known = session.redeclared.find(word);
        if (known != session.redeclared.end() && known->second > since)
            return false;
        word.clear();
    }
    return true;
}

bool says_the_same(const Session &session, const Input &input,
                   const Item &item)
{
    std::string text = plain(input, item.range);
    auto known = session.type_items.find(text);
    return known != session.type_items.end() &&
           means_the_same(session, text, known->second);
}

/* ---------------------------------------------------------------- symbols */

bool is_hidden(const Input &input, const std::string &name)
{
    for (const Place &place : input.hidden)
        if (place.name == name)
            return true;
    return false;
}

/* Has it symbols besides its own? Those of a class's members; what an inline
 * function or a template has in all modules; a guard, or a thread's initializer. */
bool has_symbols(Session &session, const clang::NamedDecl *decl)
{
    auto *f = llvm::dyn_cast<clang::FunctionDecl>(decl);
    auto *v = llvm::dyn_cast<clang::VarDecl>(decl);
    if (f || v)
        return decl->isTemplated() || (f && f->isInlined()) ||
               (v && is_made(session, v) &&
                (v->getTLSKind() != clang::VarDecl::TLS_None ||
                 v->getType().isConstant(session.context())));
    return llvm::isa<clang::TagDecl>(decl);
}

/* What C++ declares with the name of an earlier declaration: so that none of its
 * symbols are the earlier one's. */
void tag(Session &session, const Input &input, clang::NamedDecl *decl)
{
    clang::ASTContext &c = session.context();
    if (!c.getLangOpts().CPlusPlus ||
        !is_hidden(input, decl->getNameAsString()) ||
        !has_symbols(session, decl))
        return;
    std::string text = "v" + std::to_string(input.number);
    llvm::StringRef tags[] = {
        llvm::StringRef(text).copy(c.getAllocator())};
    decl->addAttr(clang::AbiTagAttr::CreateImplicit(c, tags, 1));
}

void tag_all(Session &session, const Input &input, clang::Decl *decl)
{
    auto *of = llvm::dyn_cast<clang::TemplateDecl>(decl);
    if (of && of->getTemplatedDecl())
        tag(session, input, of->getTemplatedDecl());
    visit(decl, [&](clang::NamedDecl *found) {
        tag(session, input, found);
    });
}

void label(Session &session, const Input &input, clang::NamedDecl *decl,
           clang::ASTNameGenerator &names)
{
    if (llvm::isa<clang::TagDecl>(decl) || decl->getPreviousDecl() ||
        decl->isImplicit() || decl->hasAttr<clang::AsmLabelAttr>() ||
        decl->isTemplated())
        return;
    std::string symbol = names.getName(decl);
    if (symbol.empty())
        return;
    auto known = session.symbols.find(symbol);
    if (known == session.symbols.end() || known->second == input.number) {
        session.symbols[symbol] = input.number;
        return;
    }
    symbol += "$" + std::to_string(input.number);
    decl->addAttr(
        clang::AsmLabelAttr::CreateImplicit(session.context(), symbol));
}

} // namespace

void ompjit_repl::remove(Session &session, clang::NamedDecl *decl)
{
    clang::Sema &sema = session.sema;
    clang::DeclarationName key = decl->getDeclName();
    for (auto at = sema.IdResolver.begin(key); at != sema.IdResolver.end();
         ++at)
        if (*at == decl) {
            sema.IdResolver.RemoveDecl(decl);
            break;
        }
    if (sema.TUScope && sema.TUScope->isDeclScope(decl))
        sema.TUScope->RemoveDecl(decl);
    auto *file = session.context().getTranslationUnitDecl();
    clang::StoredDeclsMap *map = file->getPrimaryContext()->getLookupPtr();
    auto list = map ? map->find(key) : clang::StoredDeclsMap::iterator();
    if (map && list != map->end()) {
        auto found = list->second.getLookupResult();
        if (std::find(found.begin(), found.end(), decl) != found.end())
            list->second.remove(decl);
        if (list->second.isNull())
            map->erase(list);
    }
}

void ompjit_repl::visit(clang::Decl *decl,
           const std::function<void(clang::NamedDecl *)> &found)
{
    if (auto *named = llvm::dyn_cast<clang::NamedDecl>(decl))
        if (llvm::isa<clang::FunctionDecl, clang::VarDecl, clang::TagDecl>(
                named))
            found(named);
    if (llvm::isa<clang::LinkageSpecDecl, clang::NamespaceDecl>(decl))
        for (clang::Decl *inner :
             llvm::cast<clang::DeclContext>(decl)->decls())
            visit(inner, found);
}

void ompjit_repl::hide(Session &session, const Input &input)
{
    for (const Place &place : input.hidden)
        for (clang::NamedDecl *decl : named(session, place.name))
            if (is_at(session, decl, place))
                remove(session, decl);
}

/* C has nothing against `int x;` behind `int x = 1;`: here it is a new variable,
 * as every definition is. */
void ompjit_repl::find_more_conflicts(Session &session, const Input &input)
{
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group) {
            auto *v = llvm::dyn_cast<clang::VarDecl>(decl);
            if (!v || v->isImplicit() ||
                v->isThisDeclarationADefinition() ==
                    clang::VarDecl::DeclarationOnly)
                continue;
            Place place;
            for (clang::VarDecl *before = v->getPreviousDecl(); before;
                 before = before->getPreviousDecl())
                if (before->isThisDeclarationADefinition() !=
                        clang::VarDecl::DeclarationOnly &&
                    session.place_of(before->getLocation(), place) &&
                    place.input != input.number) {
                    session.report.conflicts.insert(place);
                    session.report.bad = true;
                }
        }
}

void ompjit_repl::settle_symbols(Session &session, const Input &input,
                                 const Result &result)
{
    clang::ASTNameGenerator names(session.context());
    share_device_variables(session);
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            tag_all(session, input, decl);
    for (clang::DeclGroupRef group : session.recorder.groups)
        for (clang::Decl *decl : group)
            visit(decl, [&](clang::NamedDecl *found) {
                label(session, input, found, names);
            });
    for (const Place &place : input.hidden)
        session.redeclared[place.name] = input.number;
    for (const Item &item : result.items)
        if (!item.types.empty())
            session.type_items[plain(input, item.range)] = input.number;
}

void ompjit_repl::resolve(Session &session, const Input &input,
                          const Result &result, std::vector<Range> &blanks,
                          std::vector<Place> &hidden)
{
    blanks = input.blanks;
    hidden = input.hidden;
    for (const Item &item : result.items)
        if (says_the_same(session, input, item))
            blanks.push_back(item.range);
    if (blanks.size() > input.blanks.size())
        return; /* what is in the way then is seen the next time */
    for (const Place &place : session.report.conflicts)
        hidden.push_back(place);
}
