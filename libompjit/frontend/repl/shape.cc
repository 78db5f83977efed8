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
    Shape(ASTContext &c, ompjit__buf *out) : c(c), out(out) {}

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
        else if (type->isPointerType() || type->isNullPtrType())
            add_pointer(type);
        else if (const auto *vector = type->getAs<VectorType>())
            add_vector(vector);
        else if (const RecordDecl *record = plain_record(type))
            add_record(type, record);
        else
            add_kind(OMPJIT__SHAPE_OPAQUE, type);
    }

  private:
    ASTContext &c;
    ompjit__buf *out;

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
        QualType to = type->isPointerType() ? type->getPointeeType()
                                            : QualType(c.VoidTy);
        number(OMPJIT__SHAPE_POINTER);
        number(to->isCharType()       ? OMPJIT__POINTEE_CHAR
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
        for (const FieldDecl *field : record->fields()) {
            uint64_t at = layout.getFieldOffset(field->getFieldIndex());
            string(field->getName());
            number(at / 8);
            number(at % 8);
            number(field->isBitField() ? field->getBitWidthValue() : 0);
            add(field->getType());
        }
    }
};

} // namespace

void ompjit_repl::add_shape(ASTContext &c, QualType type, ompjit__buf *out)
{
    Shape(c, out).add(type);
}
