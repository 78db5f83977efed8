/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DWARF's types as those of include/ompjit_function.h. A type gets its number
 * before its parts are looked at, so that it may lead to itself.
 */
#include "frontend/signature/types.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>

using namespace llvm;

namespace signature {

using Counts = SmallVector<uint64_t, 4>;

/* ------------------------------------------------------------------ texts */

static bool is_qualifier(const DIType *type)
{
    switch (type ? type->getTag() : 0) {
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_atomic_type: return true;
    default: return false;
    }
}

static const DIType *base_of(const DIType *type)
{
    return cast<DIDerivedType>(type)->getBaseType();
}

/* The mark of a pointer or reference in a declaration; nullptr: the type is
 * neither. */
static const char *pointer_mark(const DIType *type)
{
    switch (type ? type->getTag() : 0) {
    case dwarf::DW_TAG_pointer_type: return "*";
    case dwarf::DW_TAG_reference_type: return "&";
    case dwarf::DW_TAG_rvalue_reference_type: return "&&";
    default: return nullptr;
    }
}

/* Vectors are arrays in DWARF, but not in C. */
static bool is_array(const DIType *type)
{
    return type && type->getTag() == dwarf::DW_TAG_array_type &&
           !type->isVector();
}

/* "const volatile" of a chain of qualifiers; *type becomes what they qualify. */
static std::string take_qualifiers(const DIType **type)
{
    std::string text;
    while (is_qualifier(*type)) {
        unsigned tag = (*type)->getTag();
        const char *word = tag == dwarf::DW_TAG_const_type      ? "const"
                           : tag == dwarf::DW_TAG_volatile_type ? "volatile"
                           : tag == dwarf::DW_TAG_restrict_type ? "restrict"
                                                                : "_Atomic";
        text += (text.empty() ? "" : " ") + std::string(word);
        *type = base_of(*type);
    }
    return text;
}

/* Joins two texts by a blank, unless one is empty. */
static std::string spaced(const std::string &a, const std::string &b)
{
    return a.empty() || b.empty() ? a + b : a + " " + b;
}

/* "ns::" for what is declared in namespaces or classes. */
static std::string scope_of(const DIType *type)
{
    std::string text;
    for (const DIScope *s = type->getScope(); s; s = s->getScope()) {
        if (!isa<DINamespace>(s) && !isa<DICompositeType>(s))
            break;
        std::string name = s->getName().str();
        text = (name.empty() ? "(anonymous namespace)" : name) + "::" + text;
    }
    return text;
}

/* The name of a complex number's parts; its own is "complex" in all sizes. */
static const char *part_of(const DIBasicType *basic)
{
    switch (basic->getSizeInBits()) {
    case 64: return "float";
    case 128: return "double";
    default: return "long double";
    }
}

/* The words of a type that is no pointer, array or function. */
std::string Types::name(const DIType *type) const
{
    std::string text = type->getName().str();
    const char *word = "";
    if (auto *basic = dyn_cast<DIBasicType>(type))
        if (basic->getEncoding() == dwarf::DW_ATE_complex_float &&
            language != Language::FORTRAN)
            return std::string("_Complex ") + part_of(basic);
    if (auto *c = dyn_cast<DICompositeType>(type)) {
        word = c->getTag() == dwarf::DW_TAG_union_type         ? "union "
               : c->getTag() == dwarf::DW_TAG_enumeration_type ? "enum "
               : c->getTag() == dwarf::DW_TAG_array_type       ? ""
                                                               : "struct ";
        if (text.empty())
            text = "(unnamed)";
        else if (language != Language::C)
            word = "";
    }
    return word + scope_of(type) + text;
}

/* The lengths of an array's dimensions; 0: not known. */
static Counts counts_of(const DICompositeType *array)
{
    Counts counts;
    for (DINode *e : array->getElements()) {
        auto *range = dyn_cast<DISubrange>(e);
        auto *n = range
                      ? dyn_cast_if_present<ConstantInt *>(range->getCount())
                      : nullptr;
        counts.push_back(n && n->getSExtValue() > 0 ? n->getZExtValue() : 0);
    }
    return counts;
}

/* "[2][3]", Fortran's "(2,3)"; a length that is not known is left out, or a
 * colon. */
std::string Types::extents(ArrayRef<uint64_t> counts) const
{
    bool fortran = language == Language::FORTRAN;
    std::string text;
    for (uint64_t n : counts) {
        std::string length = n ? std::to_string(n) : fortran ? ":" : "";
        text += fortran ? (text.empty() ? "(" : ",") + length
                        : "[" + length + "]";
    }
    return text + (fortran && !text.empty() ? ")" : "");
}

/* The declarator grows from the name outwards. */
std::string Types::declare(const DIType *type, std::string inner) const
{
    const DIType *base = type;
    std::string qualifiers = take_qualifiers(&base);
    if (!base)
        return spaced(spaced(qualifiers, "void"), inner);
    if (const char *mark = pointer_mark(base)) {
        const DIType *target = base_of(base);
        std::string pointer = mark + spaced(qualifiers, inner);
        if (is_array(target) || isa_and_nonnull<DISubroutineType>(target))
            pointer = "(" + pointer + ")";
        return declare(target, pointer);
    }
    if (is_array(base)) {
        auto *array = cast<DICompositeType>(base);
        inner += extents(counts_of(array));
        if (inner[0] == '(' && language == Language::FORTRAN)
            return declare(array->getBaseType(), "") + inner;
        return declare(array->getBaseType(), spaced(qualifiers, inner));
    }
    if (auto *function = dyn_cast<DISubroutineType>(base)) {
        DITypeRefArray types = function->getTypeArray();
        std::string params;
        for (unsigned i = 1; i < types.size(); i++)
            params += (i > 1 ? ", " : "") +
                      (types[i] ? declare(types[i], "") : std::string("..."));
        inner += "(" + (params.empty() && language == Language::C ? "void" : params) + ")";
        return declare(types.size() ? types[0] : nullptr, inner);
    }
    return spaced(spaced(qualifiers, name(base)), inner);
}

/* ------------------------------------------------------------------ types */

unsigned Types::add(Type type)
{
    all.push_back(std::move(type));
    return (unsigned)all.size();
}

/* Encodings that C and Fortran do not have leave the kind UNKNOWN, with its
 * size. */
void Types::make_basic(const DIBasicType *basic, Type &out)
{
    out.bytes = basic->getSizeInBits() / 8;
    switch (basic->getEncoding()) {
    case dwarf::DW_ATE_boolean: out.kind = OMPJIT_TYPE_BOOL; break;
    case dwarf::DW_ATE_float: out.kind = OMPJIT_TYPE_FLOAT; break;
    case dwarf::DW_ATE_signed:
    case dwarf::DW_ATE_signed_char: out.kind = OMPJIT_TYPE_SIGNED; break;
    case dwarf::DW_ATE_unsigned:
    case dwarf::DW_ATE_unsigned_char:
    case dwarf::DW_ATE_UTF: out.kind = OMPJIT_TYPE_UNSIGNED; break;
    case dwarf::DW_ATE_complex_float:
        out.kind = OMPJIT_TYPE_COMPLEX;
        out.target = simple(OMPJIT_TYPE_FLOAT, out.bytes / 2, part_of(basic));
        break;
    }
}

static uint32_t flag_of(unsigned tag)
{
    switch (tag) {
    case dwarf::DW_TAG_const_type: return OMPJIT_TYPE_CONST;
    case dwarf::DW_TAG_volatile_type: return OMPJIT_TYPE_VOLATILE;
    case dwarf::DW_TAG_restrict_type: return OMPJIT_TYPE_RESTRICT;
    case dwarf::DW_TAG_atomic_type: return OMPJIT_TYPE_ATOMIC;
    default: return 0;
    }
}

/* A typedef or a qualified type names its base by `same`; `settle` copies the
 * rest when all types are known. Other derived types have a size and a text
 * alone. */
void Types::make_derived(const DIDerivedType *derived, Type &out)
{
    if (pointer_mark(derived)) {
        out.kind = OMPJIT_TYPE_POINTER;
        out.bytes = sizeof(void *);
        out.target = of(derived->getBaseType());
    } else if (is_qualifier(derived) ||
               derived->getTag() == dwarf::DW_TAG_typedef) {
        out.flags = flag_of(derived->getTag());
        out.same = of(derived->getBaseType());
    } else {
        out.bytes = derived->getSizeInBits() / 8;
    }
}

/* A bit-field's offset is that of its storage unit, from which its first bit
 * counts. */
Member Types::member(const DIDerivedType *m)
{
    Member out;
    uint64_t bit = m->getOffsetInBits();
    out.name = m->getName().str();
    out.type = of(m->getBaseType());
    out.offset = bit / 8;
    if (m->isBitField()) {
        uint64_t unit = 0;
        if (auto *c = dyn_cast_or_null<ConstantInt>(m->getStorageOffsetInBits()))
            unit = c->getZExtValue();
        out.offset = unit / 8;
        out.bit = (uint32_t)(bit - unit);
        out.bits = (uint32_t)m->getSizeInBits();
    }
    return out;
}

/* Dimensions from the last one on: int [2][3] is two arrays of three. */
void Types::make_array(const DICompositeType *array, Type &out)
{
    Counts counts = counts_of(array);
    unsigned element = of(array->getBaseType());
    for (size_t i = counts.size(); i-- > 1;) {
        Type inner;
        settle(all[element - 1]);
        inner.kind = OMPJIT_TYPE_ARRAY;
        inner.target = element;
        inner.count = counts[i];
        inner.bytes = counts[i] * all[element - 1].bytes;
        inner.text = declare(array->getBaseType(),
                             extents(ArrayRef(counts).drop_front(i)));
        element = add(inner);
    }
    out.kind = OMPJIT_TYPE_ARRAY;
    out.target = element;
    out.count = counts.empty() ? 0 : counts[0];
    settle(all[element - 1]);
    out.bytes = out.count * all[element - 1].bytes;
}

/* Base classes are members; static members and functions are not. */
void Types::make_composite(const DICompositeType *composite, Type &out)
{
    unsigned tag = composite->getTag();
    out.bytes = composite->getSizeInBits() / 8;
    if (is_array(composite))
        return make_array(composite, out);
    if (tag == dwarf::DW_TAG_enumeration_type) {
        out.kind = OMPJIT_TYPE_ENUM;
        out.target = of(composite->getBaseType());
    } else if (tag == dwarf::DW_TAG_structure_type ||
               tag == dwarf::DW_TAG_class_type) {
        out.kind = OMPJIT_TYPE_STRUCT;
    } else if (tag == dwarf::DW_TAG_union_type) {
        out.kind = OMPJIT_TYPE_UNION;
    } else {
        return;
    }
    for (DINode *e : composite->getElements()) {
        if (auto *c = dyn_cast<DIEnumerator>(e)) {
            Member constant;
            constant.name = c->getName().str();
            constant.value = c->getValue().getSExtValue();
            out.members.push_back(constant);
        } else if (auto *m = dyn_cast<DIDerivedType>(e)) {
            if ((m->getTag() == dwarf::DW_TAG_member && !m->isStaticMember()) ||
                m->getTag() == dwarf::DW_TAG_inheritance)
                out.members.push_back(member(m));
        }
    }
    out.count = out.members.size();
}

/* A missing type in the list is C's "...". */
void Types::make_function(const DISubroutineType *function, Type &out)
{
    DITypeRefArray types = function->getTypeArray();
    out.kind = OMPJIT_TYPE_FUNCTION;
    out.target = of(types.size() ? types[0] : nullptr);
    for (unsigned i = 1; i < types.size(); i++) {
        Member param;
        if (!types[i]) {
            out.flags |= OMPJIT_TYPE_VARIADIC;
            continue;
        }
        param.type = of(types[i]);
        out.members.push_back(param);
    }
    out.count = out.members.size();
}

Type Types::make(const DIType *type)
{
    Type out;
    if (auto *basic = dyn_cast<DIBasicType>(type))
        make_basic(basic, out);
    else if (auto *derived = dyn_cast<DIDerivedType>(type))
        make_derived(derived, out);
    else if (auto *composite = dyn_cast<DICompositeType>(type))
        make_composite(composite, out);
    else if (auto *function = dyn_cast<DISubroutineType>(type))
        make_function(function, out);
    out.text = declare(type, "");
    return out;
}

/* `all` may move while the type's parts are made, so the result is stored by
 * number. */
unsigned Types::of(const DIType *type)
{
    if (!type)
        return simple(OMPJIT_TYPE_VOID, 0, "void");
    auto found = known.find(type);
    if (found != known.end())
        return found->second;
    unsigned number = add(Type());
    known[type] = number;
    Type made = make(type);
    all[number - 1] = std::move(made);
    return number;
}

/* Found by kind, size and text, or added. */
unsigned Types::simple(ompjit_type_kind kind, uint64_t bytes, const char *text)
{
    for (size_t i = 0; i < all.size(); i++)
        if (all[i].kind == kind && all[i].bytes == bytes &&
            !all[i].same && all[i].text == text)
            return (unsigned)i + 1;
    Type type;
    type.kind = kind;
    type.bytes = bytes;
    type.text = text;
    return add(type);
}

/* ------------------------------------------------------------ of IR alone */

static const char *integer_text(unsigned bits, bool is_unsigned)
{
    switch (bits) {
    case 8: return is_unsigned ? "uint8_t" : "int8_t";
    case 16: return is_unsigned ? "uint16_t" : "int16_t";
    case 32: return is_unsigned ? "uint32_t" : "int32_t";
    case 64: return is_unsigned ? "uint64_t" : "int64_t";
    default: return "(unknown)";
    }
}

/* IR has no names of types and no targets of pointers; integers are signed
 * unless they are extended with zeros. */
unsigned Types::of(llvm::Type *type, bool is_unsigned, const DataLayout &layout)
{
    if (type->isVoidTy())
        return simple(OMPJIT_TYPE_VOID, 0, "void");
    uint64_t bytes = layout.getTypeAllocSize(type).getKnownMinValue();
    if (type->isIntegerTy(1))
        return simple(OMPJIT_TYPE_BOOL, 1, "_Bool");
    if (type->isIntegerTy() && type->getIntegerBitWidth() == bytes * 8)
        return simple(is_unsigned ? OMPJIT_TYPE_UNSIGNED : OMPJIT_TYPE_SIGNED,
                      bytes, integer_text((unsigned)bytes * 8, is_unsigned));
    if (type->isFloatTy() || type->isDoubleTy())
        return simple(OMPJIT_TYPE_FLOAT, bytes,
                      type->isFloatTy() ? "float" : "double");
    if (!type->isPointerTy())
        return simple(OMPJIT_TYPE_UNKNOWN, bytes, "(unknown)");
    unsigned target = simple(OMPJIT_TYPE_UNKNOWN, 0, "(unknown)");
    unsigned pointer = simple(OMPJIT_TYPE_POINTER, bytes, "void *");
    all[pointer - 1].target = target;
    return pointer;
}

unsigned Types::reference(unsigned target)
{
    Type type;
    type.kind = OMPJIT_TYPE_POINTER;
    type.bytes = sizeof(void *);
    type.target = target;
    type.text = all[target - 1].text;
    return add(type);
}

unsigned Types::function(unsigned result, std::vector<Member> params,
                         bool variadic)
{
    Type type;
    type.kind = OMPJIT_TYPE_FUNCTION;
    type.target = result;
    type.count = params.size();
    type.members = std::move(params);
    type.flags = variadic ? OMPJIT_TYPE_VARIADIC : 0;
    return add(type);
}

/* ------------------------------------------------------------------- pack */

/* Takes from the type that it is another name of. A chain of names ends. */
void Types::settle(Type &type) const
{
    uint32_t flags = type.flags;
    unsigned at = type.same;
    if (!at)
        return;
    for (; all[at - 1].same; at = all[at - 1].same)
        flags |= all[at - 1].flags;
    const Type &base = all[at - 1];
    type.kind = base.kind;
    type.flags = flags | base.flags;
    type.bytes = base.bytes;
    type.count = base.count;
    type.target = base.target;
    type.members = base.members;
}

uint64_t Types::bytes(unsigned number) const
{
    while (all[number - 1].same)
        number = all[number - 1].same;
    return all[number - 1].bytes;
}

static void pack_text(ompjit__buf *out, const std::string &text)
{
    ompjit__pack_bytes(out, text.data(), text.size());
}

/* In the order of core/signature.h. */
void Types::pack(ompjit__buf *out)
{
    for (Type &type : all)
        settle(type);
    ompjit__pack_number(out, all.size());
    for (const Type &type : all) {
        ompjit__pack_number(out, type.kind);
        ompjit__pack_number(out, type.flags);
        ompjit__pack_number(out, type.bytes);
        ompjit__pack_number(out, type.count);
        ompjit__pack_number(out, type.target);
        pack_text(out, type.text);
        ompjit__pack_number(out, type.members.size());
        for (const Member &m : type.members) {
            pack_text(out, m.name);
            ompjit__pack_number(out, m.type);
            ompjit__pack_number(out, m.offset);
            ompjit__pack_number(out, m.bit);
            ompjit__pack_number(out, m.bits);
            ompjit__pack_number(out, (uint64_t)m.value);
        }
    }
}

} // namespace signature
