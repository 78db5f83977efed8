/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The parts of a reply, in the order of core/repl.h.
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/Mangle.h>
#include <clang/Basic/SourceManager.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

namespace {

void string(const std::string &s, ompjit__buf *out)
{
    ompjit__pack_string(out, s.c_str());
}

/* The names that an input declares. */
class Names {
  public:
    explicit Names(Session &session)
        : session(session), names(session.context())
    {
    }

    void add_all(ompjit__buf *out)
    {
        for (clang::DeclGroupRef group : session.recorder.groups)
            for (clang::Decl *decl : group)
                add_group(decl);
        for (const Macro &macro : session.macros)
            add(OMPJIT__REPL_MACRO, macro.name, "", "", 0, macro.line, {});
        ompjit__pack_number(out, n);
        ompjit__buf_add(out, list.data, list.size);
        ompjit__buf_free(&list);
    }

  private:
    Session &session;
    clang::ASTNameGenerator names;
    ompjit__buf list = {};
    uint64_t n = 0;

    void add(unsigned kind, const std::string &name, const std::string &symbol,
             const std::string &type, uint64_t size, unsigned line,
             clang::QualType shape)
    {
        ompjit__buf form = {};
        if (!shape.isNull())
            add_shape(session.context(), shape, &form);
        ompjit__pack_number(&list, kind);
        string(name, &list);
        string(symbol, &list);
        string(type, &list);
        ompjit__pack_number(&list, size);
        ompjit__pack_number(&list, line);
        ompjit__pack_bytes(&list, form.data, form.size);
        ompjit__pack_number(&list, !shape.isNull() &&
                                       is_object(session.context(), shape));
        ompjit__buf_free(&form);
        n++;
    }

    unsigned line_of(const clang::NamedDecl *decl)
    {
        const clang::SourceManager &sources =
            session.compiler.getSourceManager();
        return sources.getPresumedLineNumber(
            sources.getFileLoc(decl->getLocation()));
    }

    std::string print(clang::QualType type)
    {
        return type.getAsString(session.context().getPrintingPolicy());
    }

    void add_group(clang::Decl *decl)
    {
        if (auto *type = llvm::dyn_cast<clang::TypedefNameDecl>(decl)) {
            if (session.is_own(type->getLocation()))
                add(OMPJIT__REPL_TYPE, type->getNameAsString(), "",
                    print(type->getUnderlyingType()), 0, line_of(type), {});
            return;
        }
        visit(decl, [&](clang::NamedDecl *each) {
            if (session.is_own(each->getLocation()) && !each->isImplicit())
                add_decl(each);
        });
    }

    void add_decl(clang::NamedDecl *decl)
    {
        if (auto *f = llvm::dyn_cast<clang::FunctionDecl>(decl))
            add_function(f);
        else if (auto *v = llvm::dyn_cast<clang::VarDecl>(decl))
            add_variable(v);
        else
            add_tag(llvm::cast<clang::TagDecl>(decl));
    }

    void add_function(clang::FunctionDecl *f)
    {
        if (f->isTemplated())
            return;
        add(f->isThisDeclarationADefinition() ? OMPJIT__REPL_FUNCTION
                                              : OMPJIT__REPL_PROTOTYPE,
            f->getQualifiedNameAsString(), names.getName(f),
            print(f->getType()), 0, line_of(f), {});
    }

    void add_variable(clang::VarDecl *v)
    {
        clang::ASTContext &c = session.context();
        clang::QualType type = v->getType();
        const bool defined = v->isThisDeclarationADefinition() !=
                             clang::VarDecl::DeclarationOnly;
        const bool complete = !type->isIncompleteType() &&
                              !type->isDependentType() &&
                              !type->isReferenceType();
        const std::string symbol = names.getName(v);
        add(defined ? OMPJIT__REPL_VARIABLE : OMPJIT__REPL_EXTERN,
            v->getQualifiedNameAsString(),
            v->getTLSKind() != clang::VarDecl::TLS_None
                ? OMPJIT__THREAD_LOCAL + symbol
                : symbol,
            print(type),
            complete ? c.getTypeSizeInChars(type).getQuantity() : 0,
            line_of(v), complete ? type : clang::QualType());
    }

    void add_tag(clang::TagDecl *tag)
    {
        std::string name = tag->getNameAsString();
        if (!name.empty() && tag->isThisDeclarationADefinition())
            add(OMPJIT__REPL_TYPE, tag->getKindName().str() + " " + name, "",
                "", 0, line_of(tag), {});
        if (auto *e = llvm::dyn_cast<clang::EnumDecl>(tag))
            for (clang::EnumConstantDecl *each : e->enumerators())
                add(OMPJIT__REPL_CONSTANT, each->getNameAsString(), "",
                    llvm::toString(each->getInitVal(), 10), 0, line_of(each),
                    {});
    }
};

} // namespace

void ompjit_repl::reply_head(const Report &report, unsigned verdict,
                             ompjit__buf *out)
{
    ompjit__pack_number(out, verdict);
    string(report.text, out);
    ompjit__pack_number(out, report.messages.size());
    for (const Message &message : report.messages) {
        ompjit__pack_number(out, message.severity);
        string(message.file, out);
        ompjit__pack_number(out, message.line);
        ompjit__pack_number(out, message.column);
        string(message.text, out);
    }
}

void ompjit_repl::reply_again(const std::vector<Range> &blanks,
                              const std::vector<Place> &hidden,
                              ompjit__buf *out)
{
    ompjit__pack_number(out, blanks.size());
    for (Range blank : blanks) {
        ompjit__pack_number(out, blank.begin);
        ompjit__pack_number(out, blank.end);
    }
    ompjit__pack_number(out, hidden.size());
    for (const Place &place : hidden) {
        ompjit__pack_number(out, place.input);
        ompjit__pack_number(out, place.offset);
        string(place.name, out);
    }
}

/* A type that is named after a member of a class, as value_type of a vector, says
 * nothing: what it stands for. An iterator is a class, and has that name. */
static clang::QualType without_members(clang::ASTContext &c,
                                       clang::QualType type)
{
    for (;;) {
        auto *alias = llvm::dyn_cast<clang::TypedefType>(type.getTypePtr());
        if (!alias || !alias->getDecl()->getDeclContext()->isRecord() ||
            type->isRecordType())
            return type;
        type = c.getQualifiedType(alias->desugar(), type.getLocalQualifiers());
    }
}

/* Has it a name that is a library's own, as _NonArray or __type? */
static bool has_reserved_name(llvm::StringRef text)
{
    for (size_t i = 0; i + 1 < text.size(); i++)
        if (text[i] == '_' && (text[i + 1] == '_' || llvm::isUpper(text[i + 1])) &&
            (!i || !llvm::isAlnum(text[i - 1])))
            return true;
    return false;
}

/* Strings are not told by what their template's arguments are. */
static std::string with_strings(std::string name)
{
    for (const std::string letter : {"char", "wchar_t"})
        for (const std::string &end :
             {", std::char_traits<" + letter + ">, std::allocator<" + letter +
                  ">>",
              std::string(">")}) {
            const std::string text = "basic_string<" + letter + end;
            for (size_t at; (at = name.find(text)) != std::string::npos;)
                name.replace(at, text.size(),
                             letter == "char" ? "string" : "wstring");
        }
    return name;
}

/* The name of a value's type: a class's with all its scopes. */
static std::string name_of(clang::ASTContext &c, clang::QualType type)
{
    clang::PrintingPolicy policy = c.getPrintingPolicy();
    policy.FullyQualifiedName = type->getAsCXXRecordDecl() != nullptr;
    policy.SuppressUnwrittenScope = true;
    const std::string name = without_members(c, type).getAsString(policy);
    return policy.FullyQualifiedName && has_reserved_name(name)
               ? type.getCanonicalType().getAsString(policy)
               : name;
}

void ompjit_repl::reply_good(Session &session, const Result &result,
                             ompjit__buf *out)
{
    ompjit__buf shape = {};
    ompjit__pack_number(out, result.items.size());
    for (const Item &item : result.items) {
        ompjit__pack_number(out, item.kind);
        ompjit__pack_number(out, item.range.begin);
        ompjit__pack_number(out, item.range.end);
    }
    Names(session).add_all(out);
    ompjit__pack_number(out, result.runs.size());
    for (const std::string &run : result.runs)
        string(run, out);
    ompjit__pack_number(out, session.shapes.size());
    for (const TypeShape &each : session.shapes) {
        string(each.type, out);
        ompjit__pack_bytes(out, each.bytes.data(), each.bytes.size());
    }
    ompjit__pack_number(out, session.members.size());
    for (const auto &[symbol, type] : session.members) {
        string(symbol, out);
        string(type, out);
    }
    ompjit__pack_number(out, session.symbols_for_all.size());
    for (const auto &[symbol, function] : session.symbols_for_all) {
        string(symbol, out);
        ompjit__pack_number(out, function);
    }
    const Value &value = result.value;
    ompjit__pack_number(out, value.form);
    if (value.form == OMPJIT__REPL_NO_VALUE)
        return;
    clang::ASTContext &c = session.context();
    string(value.symbol, out);
    string(with_strings(name_of(c, value.type)), out);
    ompjit__pack_number(
        out, value.type->isIncompleteType() || value.type->isFunctionType()
                 ? 0
                 : c.getTypeSizeInChars(value.type).getQuantity());
    add_shape(c, value.type, &shape);
    ompjit__pack_bytes(out, shape.data, shape.size);
    ompjit__pack_number(out, is_object(c, value.type));
    ompjit__buf_free(&shape);
}

void ompjit_repl::reply_symbols(const std::set<std::string> &symbols,
                                ompjit__buf *out)
{
    if (symbols.empty())
        return;
    ompjit__pack_number(out, symbols.size());
    for (const std::string &each : symbols)
        string(each, out);
}

void ompjit_repl::reply_again_made(const std::vector<Remade> &remade,
                                   ompjit__buf *out)
{
    ompjit__pack_number(out, remade.size());
    for (const Remade &each : remade) {
        ompjit__buf lacks = {};
        ompjit__pack_number(out, each.number);
        reply_symbols(each.lacks, &lacks);
        ompjit__pack_bytes(out, lacks.data, lacks.size);
        ompjit__pack_bytes(out, each.code.data(), each.code.size());
        ompjit__buf_free(&lacks);
    }
}

void ompjit_repl::reply_names(const std::vector<Completion> &names,
                              ompjit__buf *out)
{
    ompjit__pack_number(out, names.size());
    for (const Completion &each : names) {
        string(each.name, out);
        string(each.detail, out);
    }
}
