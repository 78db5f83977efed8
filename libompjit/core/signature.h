/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The signatures of a host half's functions, as bytes: frontend/signature/ in
 * the compiler wing writes them, function/signature.c reads them. A unit has
 * one such text for each of its sources (ompjit__unit.signatures), each a
 * packed string of bytes:
 *
 *   number of types, then for each
 *     kind flags bytes count target text
 *     number of members, then for each: name type offset bit bits value
 *   number of functions, then for each
 *     name symbol prototype file line type from_source refused
 *     number of pieces, then for each: ompjit__piece
 *     number of result pieces, then for each: ompjit__piece
 *     number of sections, then for each
 *       param maps line text condition offset size
 *
 * Types are named by their numbers and one, 0 is none. The last three are
 * programs of ompjit__expression_op.
 *
 * Every unit of source code or with a host half has a shorter text of each
 * source, too (ompjit__unit.passing), for functions that any call can be handed
 * on to:
 *
 *   number of functions, then for each
 *     symbol bytes (of a result in memory)
 *     number of pieces, then for each: ompjit__piece
 *     number of result pieces, then for each: ompjit__piece
 */
#ifndef OMPJIT_CORE_SIGNATURE_H
#define OMPJIT_CORE_SIGNATURE_H

#include "base/pack.h"

/* How one value of the ABI is passed. */
enum ompjit__piece_how {
    OMPJIT__PIECE_INTEGER,  /* in an integer register, or on the stack       */
    OMPJIT__PIECE_FLOAT,    /* in a floating-point register, or on the stack */
    OMPJIT__PIECE_STACK,    /* a copy on the stack                           */
    OMPJIT__PIECE_ADDRESS,  /* as an integer: the address of a copy          */
    OMPJIT__PIECE_PLACE,    /* as an integer: the address that the result
                               goes to                                       */
    OMPJIT__PIECE_X87,      /* a result in st(0)                             */
    OMPJIT__PIECE_HOWS
};

enum ompjit__extend {
    OMPJIT__EXTEND_ZERO,
    OMPJIT__EXTEND_SIGN
};

/* A part of a parameter's value, or of the result. Those of one IR parameter
 * (`group`) stand together: they are all in registers, or all on the stack. */
typedef struct ompjit__piece {
    uint32_t param;  /* number of the parameter                     */
    uint32_t offset; /* bytes, in its value                         */
    uint32_t bytes;
    uint16_t group;
    uint8_t how;     /* enum ompjit__piece_how                      */
    uint8_t extend;  /* enum ompjit__extend, to a register's width  */
    uint32_t align;  /* STACK: bytes                                */
} ompjit__piece;

/* Operations of a program, which computes one number of the arguments, on a
 * stack of 64-bit words. A word of w bits is extended with zeros. An operation
 * is a byte, then w as a byte, then for those marked # a word of 8 bytes. */
enum ompjit__expression_op {
    OMPJIT__EXPR_CONSTANT = 1, /* # it                                      */
    OMPJIT__EXPR_PIECE,        /* # the value of that piece                 */
    OMPJIT__EXPR_DOUBLE,       /* # likewise, of a float or double, as double */
    OMPJIT__EXPR_TRUNCATE,
    OMPJIT__EXPR_SIGN_EXTEND,  /* # from so many bits                       */
    OMPJIT__EXPR_ADD,
    OMPJIT__EXPR_SUB,
    OMPJIT__EXPR_MUL,
    OMPJIT__EXPR_SCALE, /* as MUL of signed numbers; what is too large becomes
                         the largest, or the least                        */
    OMPJIT__EXPR_SDIV,
    OMPJIT__EXPR_UDIV,
    OMPJIT__EXPR_SREM,
    OMPJIT__EXPR_UREM,
    OMPJIT__EXPR_SHL,
    OMPJIT__EXPR_LSHR,
    OMPJIT__EXPR_ASHR,
    OMPJIT__EXPR_AND,
    OMPJIT__EXPR_OR,
    OMPJIT__EXPR_XOR,
    OMPJIT__EXPR_EQ,
    OMPJIT__EXPR_ULT,
    OMPJIT__EXPR_ULE,
    OMPJIT__EXPR_SLT,
    OMPJIT__EXPR_SLE,
    OMPJIT__EXPR_FEQ, /* of doubles, false with a NaN */
    OMPJIT__EXPR_FLT,
    OMPJIT__EXPR_FLE,
    OMPJIT__EXPR_SELECT, /* condition, then, else */
    OMPJIT__EXPRS
};
/* The most words that a program may have on the stack, and its most bytes. */
enum { OMPJIT__EXPRESSION_DEPTH = 32, OMPJIT__EXPRESSION_BYTES = 1024 };

#endif
