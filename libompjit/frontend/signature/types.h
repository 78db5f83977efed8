/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The types of a host half's functions, by its debug information or by its IR,
 * each once, and their texts as C has them.
 */
#ifndef OMPJIT_FRONTEND_SIGNATURE_TYPES_H
#define OMPJIT_FRONTEND_SIGNATURE_TYPES_H

#include <string>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>

extern "C" {
#include "base/pack.h"
}
#include "ompjit_function.h"

namespace signature {

struct Member {
    std::string name;
    unsigned type = 0; /* 0: none */
    uint64_t offset = 0;
    uint32_t bit = 0, bits = 0;
    int64_t value = 0;
};

struct Type {
    ompjit_type_kind kind = OMPJIT_TYPE_UNKNOWN;
    uint32_t flags = 0;
    uint64_t bytes = 0, count = 0;
    std::string text;
    unsigned target = 0;
    unsigned same = 0; /* the type of which this is another name, or which it
                          qualifies: all but flags and text are its         */
    std::vector<Member> members;
};

/* That of the source, and of the texts. */
enum class Language { C, CXX, FORTRAN };

/* Numbers of types begin with 1; 0 is none. */
class Types
{
  public:
    explicit Types(Language language) : language(language) {}
    /* NULL is void. */
    unsigned of(const llvm::DIType *type);
    /* What IR tells of a value's type. */
    unsigned of(llvm::Type *type, bool is_unsigned, const llvm::DataLayout &layout);
    /* A function's, whose parameters have names. */
    unsigned function(unsigned result, std::vector<Member> params,
                      bool variadic);
    /* Fortran's arguments are references to what is declared. */
    unsigned reference(unsigned target);
    const Type &operator[](unsigned number) const { return all[number - 1]; }
    /* sizeof; 0: not known. */
    uint64_t bytes(unsigned number) const;
    /* "float *x", with or without a name. */
    std::string declare(const llvm::DIType *type, std::string name) const;
    void pack(ompjit__buf *out);

  private:
    unsigned add(Type type);
    unsigned simple(ompjit_type_kind kind, uint64_t bytes, const char *text);
    Type make(const llvm::DIType *type);
    void make_basic(const llvm::DIBasicType *basic, Type &out);
    void make_derived(const llvm::DIDerivedType *derived, Type &out);
    void make_composite(const llvm::DICompositeType *composite, Type &out);
    void make_array(const llvm::DICompositeType *array, Type &out);
    void make_function(const llvm::DISubroutineType *function, Type &out);
    Member member(const llvm::DIDerivedType *member);
    void settle(Type &type) const;
    std::string name(const llvm::DIType *type) const;
    std::string extents(llvm::ArrayRef<uint64_t> counts) const;

    Language language;
    std::vector<Type> all;
    llvm::DenseMap<const llvm::DIType *, unsigned> known;
};

} // namespace signature

#endif
