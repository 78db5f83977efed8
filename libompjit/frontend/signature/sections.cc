/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * From the arrays of a function's constructs to sections of its parameters.
 */
#include "frontend/signature/sections.h"

#include "abi/offload.h"
#include "frontend/signature/body.h"
#include "frontend/signature/reach.h"
#include "ompjit_function.h"

using namespace llvm;

namespace signature {

/* OMPJIT_MAPPED_... of a map type; ALLOC: neither direction. */
static uint32_t maps_of(uint64_t type)
{
    uint32_t maps = 0;
    if (type & OMPJIT__MAP_TO)
        maps |= OMPJIT_MAPPED_TO;
    if (type & OMPJIT__MAP_FROM)
        maps |= OMPJIT_MAPPED_FROM;
    return maps ? maps : (uint32_t)OMPJIT_MAPPED_ALLOC;
}

static bool is_null(const Value *v)
{
    auto *c = dyn_cast_or_null<Constant>(v);
    return c && c->isNullValue();
}

/* Is it memory that the construct maps? Not a pointer that is attached, a number
 * that is passed, or a pointer of which no clause says anything. */
static bool is_section(const Entry &entry)
{
    if (entry.type & (OMPJIT__MAP_ATTACH | OMPJIT__MAP_LITERAL) || !entry.begin)
        return false;
    return !(entry.type & OMPJIT__MAP_IMPLICIT && is_null(entry.size));
}

/* "x[:n]" of ";x[:n];file;line;column;;", whose line is the variable's; flang 22
 * puts the file first, an absolute path (passes/hosthalf/map_names.c). */
static std::string text_of(StringRef name)
{
    SmallVector<StringRef, 8> parts;
    name.split(parts, ';');
    enum { TEXT = 1, FILE, PARTS };
    if (parts.size() < PARTS)
        return "";
    StringRef text = parts[TEXT].starts_with("/") ? parts[FILE] : parts[TEXT];
    return text == "unknown" ? "" : text.str();
}

static bool same(const Section &a, const Section &b)
{
    return a.argument == b.argument && a.maps == b.maps && a.line == b.line &&
           a.text == b.text && a.condition == b.condition &&
           a.offset == b.offset && a.size == b.size;
}

/* Each section once, and at most so many of a function. */
static void add(std::vector<Section> &all, Section section)
{
    enum { MOST = 256 };
    for (const Section &known : all)
        if (same(known, section))
            return;
    if (all.size() < MOST)
        all.push_back(std::move(section));
}

std::vector<Section> find_sections(Function &f,
                                   const DenseMap<unsigned, unsigned> &pieces)
{
    std::vector<Section> all;
    if (!has_constructs(f))
        return all;
    Body body(f);
    std::vector<Construct> constructs = body.constructs();
    DominatorTree tree(body.function());
    Expressions expressions(body.function(), tree, pieces);
    Reach reach(body.function(), tree, expressions);
    for (const Construct &construct : constructs) {
        BasicBlock *block = construct.call->getParent();
        if (!tree.isReachableFromEntry(block))
            continue;
        std::string condition = reach.certain(block);
        for (const Entry &entry : construct.entries) {
            if (!is_section(entry))
                continue;
            Address address = expressions.address(entry.begin);
            if (!address.base)
                continue;
            Section section;
            section.argument = address.base->getArgNo();
            section.maps = maps_of(entry.type);
            section.condition = condition;
            section.offset = address.offset.value_or("");
            if (entry.size && !(entry.type & OMPJIT__MAP_NON_CONTIG))
                section.size = expressions.value(entry.size).value_or("");
            section.text = text_of(entry.name);
            section.line = construct.line;
            add(all, std::move(section));
        }
    }
    return all;
}

} // namespace signature
