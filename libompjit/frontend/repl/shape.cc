/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How the bytes of a value are to be shown, by its type (core/repl.h).
 */
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/RecordLayout.h>

#include "frontend/repl/repl.h"

using namespace clang;

namespace {

class Shape {
  public:
    using Symbol = std::function<std::string(QualType)>;

    Shape(ASTContext &c, ompjit__buf *out, Symbol symbol = nullptr)
        : c(c), out(out), symbol(std::move(symbol))
    {
    }

    /* By members and bases, if the class is the user's. */
    void add_members(QualType type)
    {
        const CXXRecordDecl *record = type->getAsCXXRecordDecl();
        record = record ? record->getDefinition() : nullptr;
        if (!record || record->isUnion() || !ompjit_repl::is_object(c, type))
            add(type);
        else if (record->isInvalidDecl() || record->getNumVBases() ||
                 is_of_system(record))
            add_kind(OMPJIT__SHAPE_OPAQUE, type);
        else
            add_whole_record(type, record);
    }

    void add(QualType written)
    {
        QualType type = written.getCanonicalType().getUnqualifiedType();
        if (const auto *atomic = type->getAs<AtomicType>())
            type = atomic->getValueType().getCanonicalType();
        if (const auto *array = c.getAsConstantArrayType(type))
            add_array(array);
        else if (type->isBooleanType())
            add_kind(OMPJIT__SHAPE_BOOL, type);
        else if (type->isAnyCharacterType())
            add_signed(OMPJIT__SHAPE_CHAR, type);
        else if (const auto *e = type->getAs<EnumType>())
            add_enum(type, e->getDecl()->getDefinitionOrSelf());
        else if (type->isIntegerType())
            add_signed(OMPJIT__SHAPE_INTEGER, type);
        else if (type->isRealFloatingType())
            add_float(type);
        else if (const auto *complex = type->getAs<ComplexType>())
            number(OMPJIT__SHAPE_COMPLEX), add(complex->getElementType());
        else if (type->isPointerType() || type->isNullPtrType() ||
                 type->isReferenceType())
            add_pointer(type);
        else if (const auto *vector = type->getAs<VectorType>())
            add_vector(vector);
        else if (symbol && type->getAsCXXRecordDecl() &&
                 ompjit_repl::is_object(c, type))
            add_object(type);
        else if (const RecordDecl *record = plain_record(type))
            add_record(type, record);
        else
            add_kind(OMPJIT__SHAPE_OPAQUE, type);
    }

  private:
    ASTContext &c;
    ompjit__buf *out;
    Symbol symbol; /* of the function that shows a member; null: none does */

    void number(uint64_t n) { ompjit__pack_number(out, n); }

    void string(llvm::StringRef s)
    {
        ompjit__pack_string(out, s.str().c_str());
    }

    uint64_t size_of(QualType type)
    {
        return type->isIncompleteType() || type->isFunctionType()
                   ? 0
                   : c.getTypeSizeInChars(type).getQuantity();
    }

    void add_kind(unsigned kind, QualType type)
    {
        number(kind);
        number(size_of(type));
    }

    void add_signed(unsigned kind, QualType type)
    {
        add_kind(kind, type);
        number(type->isSignedIntegerOrEnumerationType());
    }

    void add_float(QualType type)
    {
        const llvm::fltSemantics &format = c.getFloatTypeSemantics(type);
        unsigned bits = llvm::APFloat::semanticsSizeInBits(format);
        add_kind(OMPJIT__SHAPE_FLOAT, type);
        number(&format == &llvm::APFloat::BFloat() ? 17 : bits);
    }

    void add_enum(QualType type, const EnumDecl *e)
    {
        add_signed(OMPJIT__SHAPE_ENUM, type);
        number(std::distance(e->enumerator_begin(), e->enumerator_end()));
        for (const EnumConstantDecl *each : e->enumerators()) {
            string(each->getName());
            number((uint64_t)each->getInitVal().getExtValue());
        }
    }

    void add_pointer(QualType type)
    {
        QualType to = type->isNullPtrType() ? QualType(c.VoidTy)
                                            : type->getPointeeType();
        number(OMPJIT__SHAPE_POINTER);
        number(to->isAnyCharacterType()
                   ? OMPJIT__POINTEE_CHAR + size_of(to) - 1
               : to->isFunctionType() ? OMPJIT__POINTEE_FUNCTION
                                      : OMPJIT__POINTEE_OTHER);
    }

    void add_elements(uint64_t n, QualType element)
    {
        number(OMPJIT__SHAPE_ARRAY);
        number(n);
        number(size_of(element));
        add(element);
    }

    void add_array(const ConstantArrayType *array)
    {
        add_elements(array->getSize().getZExtValue(),
                     array->getElementType());
    }

    void add_vector(const VectorType *vector)
    {
        add_elements(vector->getNumElements(), vector->getElementType());
    }

    /* One whose members' places say all: no bases, no references. */
    const RecordDecl *plain_record(QualType type)
    {
        const RecordDecl *record = type->getAsRecordDecl();
        record = record ? record->getDefinition() : nullptr;
        const auto *cxx = llvm::dyn_cast_or_null<CXXRecordDecl>(record);
        if (!record || record->isInvalidDecl() ||
            (cxx && (cxx->getNumBases() || cxx->isPolymorphic())))
            return nullptr;
        for (const FieldDecl *field : record->fields())
            if (field->getType()->isReferenceType() ||
                field->getType()->isIncompleteArrayType())
                return nullptr;
        return record;
    }

    void add_record(QualType type, const RecordDecl *record)
    {
        const ASTRecordLayout &layout = c.getASTRecordLayout(record);
        number(record->isUnion() ? OMPJIT__SHAPE_UNION
                                 : OMPJIT__SHAPE_RECORD);
        number(size_of(type));
        number(std::distance(record->field_begin(), record->field_end()));
        for (const FieldDecl *field : record->fields())
            add_field(layout, field);
    }

    void add_field(const ASTRecordLayout &layout, const FieldDecl *field)
    {
        uint64_t at = layout.getFieldOffset(field->getFieldIndex());
        string(field->getName());
        number(at / 8);
        number(at % 8);
        number(field->isBitField() ? field->getBitWidthValue() : 0);
        add(field->getType());
    }

    static bool has_members(const CXXBaseSpecifier &base)
    {
        return !base.getType()->getAsCXXRecordDecl()->isEmpty();
    }

    /* Bases are members without a name. */
    void add_whole_record(QualType type, const CXXRecordDecl *record)
    {
        const ASTRecordLayout &layout = c.getASTRecordLayout(record);
        number(OMPJIT__SHAPE_RECORD);
        number(size_of(type));
        number(llvm::count_if(record->bases(), has_members) +
               std::distance(record->field_begin(), record->field_end()));
        for (const CXXBaseSpecifier &base : record->bases()) {
            if (!has_members(base))
                continue;
            string("");
            number(layout
                       .getBaseClassOffset(
                           base.getType()->getAsCXXRecordDecl())
                       .getQuantity());
            number(0);
            number(0);
            add(base.getType());
        }
        for (const FieldDecl *field : record->fields())
            add_field(layout, field);
    }

    void add_object(QualType type)
    {
        number(OMPJIT__SHAPE_OBJECT);
        number(size_of(type));
        number(0);
        string(symbol(type));
    }

    /* Is it a library's class? Its members are nobody else's business. */
    bool is_of_system(const CXXRecordDecl *record)
    {
        return c.getSourceManager().isInSystemHeader(record->getLocation());
    }
};

} // namespace

void ompjit_repl::add_shape(ASTContext &c, QualType type, ompjit__buf *out)
{
    Shape(c, out).add(type);
}

void ompjit_repl::add_members_shape(
    ASTContext &c, QualType type, std::function<std::string(QualType)> symbol,
    ompjit__buf *out)
{
    Shape(c, out, std::move(symbol)).add_members(type);
}
