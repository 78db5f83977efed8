/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A session of clang's front end: inputs are read one after the other into one
 * AST, and each becomes a module of its own. The way of an input:
 *
 *   server.cc     a process for each try; the session goes on if it was good
 *   session.cc    clang's objects, set up once
 *   parse.cc      declarations, and statements into functions
 *   body.cc       such a function
 *   assigned.cc   variables of C with initializers that are not constant
 *   versions.cc   names that are declared once more
 *   value.cc      the expression at the end (shape.cc: how it is shown;
 *                 object.cc: the same of objects of C++)
 *   generate.cc   the module (once.cc: is it worth being optimized?
 *                 brief.cc: before it has run? continued.cc: while it runs?)
 *   instances.cc  what inputs share that files would each define
 *   thread_local.cc      thread-local variables
 *   device_variable.cc   variables of `declare target` that others use
 *   again.cc      code of earlier inputs that lacks functions of this one
 *   reply.cc      the answer (report.cc: diagnostics in it)
 *   complete.cc   names that go on with a text (pragma.cc: directives)
 */
#ifndef OMPJIT_FRONTEND_REPL_H
#define OMPJIT_FRONTEND_REPL_H

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <clang/AST/ASTConsumer.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Parse/Parser.h>
#include <clang/Sema/Sema.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallPtrSet.h>

extern "C" {
#include "base/pack.h"
#include "core/repl.h"
}

namespace ompjit_repl {

/* A pragma behind the text of each input. */
constexpr char INPUT_END[] = "ompjit_input_end";
/* The end of the name of a variable whose initializer runs statements. */
constexpr char INITIALIZED[] = "_done";

/* A range of bytes in an input's text. */
struct Range {
    unsigned begin, end;
};

/* A declaration of an earlier input, by its place. */
struct Place {
    unsigned input, offset;
    std::string name;
    bool operator<(const Place &other) const
    {
        return std::tie(input, offset, name) <
               std::tie(other.input, other.offset, other.name);
    }
};

/* One request INPUT. */
struct Input {
    unsigned number = 0, line = 1;
    std::string name, text;
    unsigned mode = OMPJIT__REPL_CODE;
    bool colours = false;
    std::vector<Range> blanks;
    std::vector<Place> hidden;
};

struct Item {
    unsigned kind;
    Range range;
    /* Its declarations, where it declares nothing but types; else empty. */
    std::vector<std::string> types;
};

/* The shape of a type that the text of OMPJIT__REPL_SHOW uses. */
struct TypeShape {
    std::string symbol, type, bytes;
};

struct Message {
    unsigned severity, line, column;
    std::string file, text;
};

/* A name that may stand at the text's end, and how it is declared. */
struct Completion {
    std::string name, detail;
    unsigned order = 0; /* those with lower numbers come first */
    bool operator<(const Completion &other) const
    {
        return std::tie(order, name, detail) <
               std::tie(other.order, other.name, other.detail);
    }
};

/* ------------------------------------------------------------- report.cc */

/* Collects what clang says of one input. */
class Report : public clang::DiagnosticConsumer {
  public:
    std::string text; /* as clang prints it */
    std::vector<Message> messages;
    bool at_end = false; /* the first error is that the text ends too early */
    bool bad = false;    /* there are errors that count */
    bool not_constant = false; /* an initializer of C was no constant */
    bool returned = false;     /* statements return a value           */
    std::set<Place> conflicts; /* earlier declarations in the way */
    unsigned left = 0; /* errors without a declaration in the way */
    clang::FileID reading; /* the input's text */

    /* Set once: whether the parser is at the text's end; the place of a
     * location in an earlier input; and a call when something is missing at the
     * end, which need not return. */
    std::function<bool()> is_at_end;
    std::function<bool(clang::SourceLocation, Place &)> place_of;
    std::function<void()> on_end;
    /* Gets the names when the parser is at the end of a text that is to be
     * completed. */
    std::function<void(const std::vector<Completion> &)> on_names;

    explicit Report(clang::CompilerInstance &compiler);
    void begin(bool colours);
    void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                          const clang::Diagnostic &info) override;

  private:
    clang::CompilerInstance &compiler;
    bool open = false;  /* the last error may be of an earlier declaration */
    bool drops = false; /* the last diagnostic was dropped, and so are its
                           notes */
    bool redefines(const clang::Diagnostic &info) const;
    bool is_dropped(const clang::Diagnostic &info);
    clang::SourceLocation location_of(const clang::Diagnostic &info) const;
    void list(clang::DiagnosticsEngine::Level level, clang::SourceLocation at,
              llvm::StringRef message);
    void print(clang::DiagnosticsEngine::Level level,
               clang::SourceLocation at, const clang::Diagnostic &info);
    void note_conflict(const clang::Diagnostic &info);
    void note_error(unsigned id);
};

/* --------------------------------------------------------------- body.cc */

/* A function that is filled with the statements of an input. */
class Body {
  public:
    Body(clang::Parser &parser, const std::string &name);
    bool active() const { return function != nullptr; }
    void add(clang::Stmt *statement) { statements.push_back(statement); }
    clang::Parser::StmtVector &list() { return statements; }
    /* Enters the function, at the parser's place. */
    void begin();
    /* Leaves it. The function, or null where it was not active. */
    clang::FunctionDecl *end();

  private:
    clang::Parser &parser;
    std::string name;
    unsigned n = 0;
    clang::FunctionDecl *function = nullptr;
    clang::SourceLocation start;
    clang::Parser::StmtVector statements;
};

/* ------------------------------------------------------------- session.cc */

/* Keeps the declarations that the parser hands over, in their order, until code
 * is made of them. */
class Recorder : public clang::ASTConsumer {
  public:
    std::vector<std::function<void(clang::ASTConsumer &)>> events;
    std::vector<clang::DeclGroupRef> groups;
    std::vector<clang::VarDecl *> instances; /* of variables */

    void begin();
    bool HandleTopLevelDecl(clang::DeclGroupRef group) override;
    void HandleInlineFunctionDefinition(clang::FunctionDecl *f) override;
    void HandleInterestingDecl(clang::DeclGroupRef group) override;
    void HandleTagDeclDefinition(clang::TagDecl *tag) override;
    void HandleTagDeclRequiredDefinition(const clang::TagDecl *tag) override;
    void
    HandleCXXImplicitFunctionInstantiation(clang::FunctionDecl *f) override;
    void CompleteTentativeDefinition(clang::VarDecl *v) override;
    void CompleteExternalDeclaration(clang::DeclaratorDecl *d) override;
    void AssignInheritanceModel(clang::CXXRecordDecl *record) override;
    void HandleCXXStaticMemberVarInstantiation(clang::VarDecl *v) override;
    void HandleVTable(clang::CXXRecordDecl *record) override;

  private:
    std::set<const clang::VarDecl *> completed;
    llvm::DenseSet<const clang::Decl *> declared; /* variables, functions */
};

/* A symbol that each module may define, and one does. */
struct SymbolForAll {
    std::string name;
    bool function;
};

/* A macro of an input. */
struct Macro {
    std::string name;
    unsigned line;
};

/* The value of an input's last expression. */
struct Value {
    unsigned form = OMPJIT__REPL_NO_VALUE;
    std::string symbol;
    clang::QualType type;
};

/* An input whose device code lacks functions: again.cc. */
struct Earlier {
    std::set<std::string> lacks; /* their symbols */
    std::string host;            /* the host half's bitcode */
    std::vector<std::function<void(clang::ASTConsumer &)>> events;
    std::vector<clang::VarDecl *> late; /* of earlier ones, that it defines */
    /* Its own ones among the session's device_variables. */
    size_t variables = 0, variables_end = 0;
};

/* The code that it has then. */
struct Remade {
    unsigned number;
    std::string code;
    std::set<std::string> lacks; /* all the same */
};

/* The result of one input. */
struct Result {
    std::vector<Item> items;
    std::vector<std::string> runs; /* functions to call, in this order */
    Value value;
};

class Session {
  public:
    clang::CompilerInstance &compiler;
    clang::Preprocessor &pp;
    clang::Sema &sema;
    clang::Parser &parser;
    Recorder &recorder;
    Report &report;
    bool device; /* the half */
    /* These belong to the input that is read. */
    std::vector<Macro> macros;
    std::vector<TypeShape> shapes; /* object.cc */
    std::vector<std::pair<std::string, std::string>> members; /* symbols that
                                          shapes have, and the types' texts */
    std::vector<SymbolForAll> symbols_for_all; /* instances.cc */
    clang::VarDecl *last_value = nullptr;
    /* Variables with another type until their code is made, and their own. */
    std::vector<std::pair<clang::VarDecl *, clang::QualType>> declared;
    /* These belong to the inputs of the session. */
    std::map<unsigned, clang::FileID> files;
    std::vector<clang::DeclGroupRef> requirements; /* requires directives */
    /* Lines that include the files of -include, until an input has done so. */
    std::string includes;
    std::map<unsigned, unsigned> prefix; /* bytes before the input's own text */
    std::map<std::string, unsigned> symbols; /* and the input that defines it */
    std::map<std::string, unsigned> redeclared; /* names, and by which input */
    /* Texts of items that declare types alone, and their input. */
    std::map<std::string, unsigned> type_items;
    std::vector<clang::VarDecl *> device_variables; /* of `declare target` */
    std::vector<clang::VarDecl *> host_variables;   /* others              */
    std::map<unsigned, Earlier> earlier; /* inputs of the device half */
    std::set<std::string> inline_variables;           /* instances.cc */
    std::set<std::string> thread_inits;               /* thread_local.cc */
    /* Static functions and variables, and those variables among them that code
     * initializes or destroys: generate.cc. */
    llvm::DenseSet<const clang::Decl *> statics;
    std::vector<clang::VarDecl *> made_statics;
    /* In the device half: such variables, by their names for later inputs, and
     * the input whose code has them. */
    std::map<std::string, unsigned> device_statics;
    std::vector<clang::VarDecl *> variable_instances; /* so, of templates */
    std::set<clang::FunctionDecl *> lacking_instances; /* so */

    Session(clang::CompilerInstance &compiler, clang::Parser &parser,
            Recorder &recorder, Report &report);
    /* In C: identifiers that were lexed since the last call. */
    llvm::SmallPtrSet<clang::IdentifierInfo *, 32> take_lexed();
    /* The place of a location in an earlier input. */
    bool place_of(clang::SourceLocation location, Place &out);
    /* Does it stand in the text of the input that is read? */
    bool is_own(clang::SourceLocation location);
    clang::ASTContext &context() { return sema.getASTContext(); }

  private:
    std::vector<clang::IdentifierInfo *> lexed;
};

/* parse.cc: reads the input. What is wrong with it stands in the report. */
void read_input(Session &session, const Input &input, Result &result);

/* assigned.cc: moves initializers of the group that C would not take into
 * assignments of the body. */
bool assign(Session &session, clang::DeclGroupRef group, Body &body);
/* When the input's code is made: variables have the types again that they were
 * declared with. */
void restore_types(Session &session);
/* A reference to the variable. */
clang::Expr *reference(Session &session, clang::VarDecl *variable);
/* variable = value; without a check. */
clang::Stmt *assignment(Session &session, clang::VarDecl *variable,
                        clang::Expr *value);

/* value.cc: has the expression's value kept. */
void keep_value(Session &session, const Input &input, clang::Expr *expression,
                Body &body, Value &value);
void look_at_value(clang::Expr *expression, Value &value);
/* The value that was kept last is `_` from now on. */
void name_value(Session &session);

/* shape.cc */
void add_shape(clang::ASTContext &context, clang::QualType type,
               ompjit__buf *out);
/* The shape by members and bases, of which each that has a class is shown by the
 * function that `symbol` names. */
void add_members_shape(clang::ASTContext &context, clang::QualType type,
                       std::function<std::string(clang::QualType)> symbol,
                       ompjit__buf *out);

/* object.cc: is it an object of C++, or an array of them, that add_shape does not
 * do? */
bool is_object(clang::ASTContext &context, clang::QualType type);
/* When a text of OMPJIT__REPL_SHOW has been read: the shapes that it uses. */
void find_shapes(Session &session);
/* Its module has them. */
void define_shapes(const Session &session, llvm::Module &module);

/* versions.cc: makes earlier declarations invisible, or one. */
void hide(Session &session, const Input &input);
void remove(Session &session, clang::NamedDecl *decl);
/* Calls for each function, variable and type that is declared, within
 * namespaces, too. */
void visit(clang::Decl *decl,
           const std::function<void(clang::NamedDecl *)> &found);
/* Names that are to be hidden although clang has nothing against them:
 * variables that are defined once more. */
void find_more_conflicts(Session &session, const Input &input);
/* Gives new symbols to what has the name of an earlier definition, and notes
 * the names. Before code is made. */
void settle_symbols(Session &session, const Input &input,
                    const Result &result);
/* Divides the conflicts into items that say what an earlier one said, which are
 * left out, and names. */
void resolve(Session &session, const Input &input, const Result &result,
             std::vector<Range> &blanks, std::vector<Place> &hidden);

/* complete.cc: for Sema, which owns it. Calls the report's on_names. */
clang::CodeCompleteConsumer *new_consumer(Report &report);
/* pragma.cc: words that can stand at the end of an OpenMP directive. False: the
 * text does not end in one, or within brackets of one, where others can stand,
 * too. */
bool pragma_names(const std::string &text, unsigned version,
                  std::vector<Completion> &names);

/* device_variable.cc: static variables of `declare target` become external.
 * Before code is made. */
void share_device_variables(Session &session);
/* Variables of earlier inputs that are on the device from this input on. */
std::vector<clang::VarDecl *> late_variables(const Session &session);
/* The input's code has those, if there are any. */
bool add_late_variables(Session &session, clang::CodeGenerator &generator);
/* The module defines a variable of an earlier input. */
void define_late(clang::CodeGenerator &generator, clang::VarDecl *v);
/* In the host half, whose earlier module has them. */
void undefine_late_variables(Session &session,
                             clang::CodeGenerator &generator);
/* The session has the input's variables. */
void keep_device_variables(Session &session);
/* While code is made, earlier inputs' variables have other attributes. */
class Detached {
  public:
    explicit Detached(Session &session);
    ~Detached();

  private:
    std::vector<std::pair<clang::VarDecl *, clang::Attr *>> detached;
};
/* In the device half: the pointers to earlier inputs' variables say which these
 * are. */
void mark_pointers(Session &session, clang::CodeGenerator &generator);

/* instances.cc */
/* The module declares variables that an earlier one defines. */
void share_inline_variables(Session &session, llvm::Module &module);
/* In the device half: the code of that input reads those of earlier ones through
 * pointers, and later ones can read its own. */
void share_on_device(Session &session, llvm::Module &module, unsigned number);
/* The session knows the instances that the module lacks. */
void note_lacking_instances(Session &session, clang::CodeGenerator &generator,
                            const llvm::Module &module);
/* When the input was read: it has those whose templates it defines. */
void complete_instances(Session &session);
/* They belong to the session. */
void keep_instances(Session &session);

/* thread_local.cc */
/* The name that the tool knows the value by. */
std::string linked_name(const llvm::GlobalValue &value);
/* The module uses initializers of earlier inputs, and the session knows those of
 * its own variables. */
void link_thread_locals(Session &session, clang::CodeGenerator &generator);
/* Variables of earlier inputs that are thread-local from this input on, which
 * defines them. */
std::vector<clang::VarDecl *> late_thread_locals(const Session &session);

/* generate.cc */
/* Does code of C++ initialize or destroy it? */
bool is_made(Session &session, const clang::VarDecl *v);
/* The session has the input's static functions and variables. */
void keep_statics(Session &session);
/* While code is made, static variables of earlier inputs have no initializers and
 * no destructors: clang would have them made and destroyed once more. */
class Made {
  public:
    explicit Made(Session &session);
    ~Made();

  private:
    std::vector<std::pair<clang::VarDecl *, clang::Expr *>> initializers;
    std::vector<clang::VarDecl *> destroyed;
};
/* A definition that is used is not left out. False: it was used before. */
bool use(Session &session, clang::NamedDecl *decl);
class Generator {
  public:
    /* Ready for the input with this number. */
    explicit Generator(Session &session);
    ~Generator();
    /* The module of what was recorded; null after an error, which is in the
     * report. Lives as long as the generator has no other. */
    llvm::Module *generate(unsigned number);
    /* Ready for the next input. */
    void next(unsigned number);
    /* Functions that the last module declares, and that a later input may
     * define: again.cc. */
    std::set<std::string> lacks();
    /* Is the last module to be loaded at once? It has constructors, or variables
     * that the device is to have. */
    bool constructs = false;

  private:
    Session &session;
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<clang::CodeGenerator> generator;
    std::unique_ptr<llvm::Module> module;
    void share();
    bool is_earlier_static(const llvm::GlobalValue &value);
    void add_included();
    void leave_earlier_statics();
};

/* once.cc: do the instructions of that input's module run once at most, so that
 * they are not worth being optimized? */
bool runs_once(const llvm::Module &module, unsigned number);
/* once.cc: may the module be thrown away when it has run? */
bool leaves_nothing(const llvm::Module &module, unsigned number);
/* once.cc: leaves out the variables whose initializers run statements. */
void drop_marks(llvm::Module &module);
/* once.cc: marks functions of a host half that are not worth it. */
void leave_rare_code(llvm::Module &module, unsigned number);
/* once.cc: does some of its code compile only where it is optimized? */
bool wants_optimizer(const llvm::Module &module);
/* once.cc: is it one of the functions that are that input's statements? */
bool is_statements(const llvm::Function &f, unsigned number);

/* brief.cc: does the code of the input that was read take less time to run once
 * than to be optimized, and may the session have a second copy of it? */
enum class Brief { NO, YES, IF_CONTINUED };
Brief is_brief(Session &session, llvm::Module &module);
/* brief.cc: a second copy of the module can use its variables. */
void share_variables(Session &session, llvm::Module &module, unsigned number);

/* continued.cc: can each loop be left for optimized code? */
bool may_be_continued(llvm::Module &module);
/* continued.cc: they are, when they have run for long. */
void continue_loops(Session &session, llvm::Module &module, unsigned number);

/* again.cc: what the device half keeps of the input that was read, before its
 * variables are the session's. */
Earlier remember(Session &session, std::string host);
/* In a child, which has made the input's own code: makes the code of those
 * earlier inputs again that lack a function of it. What is wrong with it stands
 * in the report. */
std::vector<Remade> make_again(Session &session);
std::string bitcode_of(const llvm::Module &module);
/* Has device code made for that host half. */
bool take_host_half(Session &session, const std::string &host);

/* reply.cc: the parts of a reply. */
void reply_head(const Report &report, unsigned verdict, ompjit__buf *out);
void reply_again(const std::vector<Range> &blanks,
                 const std::vector<Place> &hidden, ompjit__buf *out);
void reply_good(Session &session, const Result &result, ompjit__buf *out);
void reply_names(const std::vector<Completion> &names, ompjit__buf *out);
void reply_again_made(const std::vector<Remade> &remade, ompjit__buf *out);
void reply_symbols(const std::set<std::string> &symbols, ompjit__buf *out);

/* server.cc: serves requests until there are no more. */
void serve(Session &session);

} // namespace ompjit_repl

#endif
