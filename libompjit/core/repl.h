/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The conversation between `ompjit repl` and the two processes of clang's front
 * end that know its session, one for each half (frontend/repl/README.md). Both
 * ends are of one build, so there are no versions.
 *
 *   INPUT   number, name, first line, text, mode, blanks, hidden
 *                                  -> BEGUN, REPLY | LOST
 *   HOST    bitcode of the host's half, for the device's process while it works
 *           on an input; none: it need make no code, and does not answer
 *   AGAIN_ONLY  instead of HOST without bitcode: it answers, since code of
 *           earlier inputs lacks functions
 *   DROP    instead of that: the host's half is not good
 *   KEEP    lacking: the last input belongs to the session now, if it was good;
 *           no answer
 *   REPLAY  as INPUT, lacking: it belongs to the session at once; no answer but
 *           UNFIT
 *
 * Lacking: inputs whose device code was made with the last input, and lacks, or
 * lacked, functions: how many there are; of each number, functions (bytes: a
 * number of symbols, and these; none: empty), and of the last input its host
 * half's bitcode. Behind them a number, and symbols that the last input's device
 * code defines for all (frontend/repl/instances.cc).
 *
 * A request is a head and its bytes (base/pack.h). An answer comes in pieces of
 * OMPJIT__REPL_PIECE bytes at most, head included: a process that is killed
 * leaves no part of one, since the system writes as much at once.
 */
#ifndef OMPJIT_REPL_H
#define OMPJIT_REPL_H

#include <stdint.h>

/* Names of locks, which belong to the session, begin so; each is 8 integers. */
#define OMPJIT__REPL_LOCK ".gomp_critical_user_"
/* Named metadata of an input's module that is compiled twice, of which the second
 * one uses the variables of the first. */
#define OMPJIT__REPL_SHARES "ompjit.shares"
/* In code that goes on in optimized code (frontend/repl/continued.cc): the
 * attribute of functions that others go on in; the function that says when; what
 * has run of an input, of which that is enough. */
#define OMPJIT__REPL_CONTINUES "ompjit-continues"
#define OMPJIT__REPL_ENOUGH "ompjit.enough"
#define OMPJIT__REPL_ROUNDS "ompjit.rounds"
enum { OMPJIT__REPL_MOST = 1000000 }; /* instructions of LLVM's */

enum ompjit__repl_request {
    OMPJIT__REPL_INPUT,
    OMPJIT__REPL_HOST,
    OMPJIT__REPL_AGAIN_ONLY,
    OMPJIT__REPL_DROP,
    OMPJIT__REPL_KEEP,
    OMPJIT__REPL_REPLAY
};

typedef struct ompjit__repl_head {
    uint32_t kind; /* enum ompjit__repl_request */
    uint32_t size; /* of the bytes that follow  */
    uint32_t serial; /* answers have it, too    */
    uint32_t unused;
} ompjit__repl_head;

enum ompjit__repl_answer {
    OMPJIT__REPL_BEGUN, /* `process` works on the request                 */
    OMPJIT__REPL_PART,  /* a part of its reply                            */
    OMPJIT__REPL_REPLY, /* the last part                                  */
    OMPJIT__REPL_LOST,  /* it ended without a reply; `size`: wait's status */
    OMPJIT__REPL_UNFIT  /* the device half cannot have a part of the session: a
                           text of clang's                                  */
};

typedef struct ompjit__repl_piece {
    uint32_t kind; /* enum ompjit__repl_answer */
    uint32_t process;
    uint32_t size; /* of the bytes that follow; of LOST see there */
    uint32_t serial; /* the request's */
} ompjit__repl_piece;

enum { OMPJIT__REPL_PIECE = 4096 }; /* PIPE_BUF of Linux */

/* An input's modes. */
enum ompjit__repl_mode {
    OMPJIT__REPL_CODE, /* is compiled                                  */
    OMPJIT__REPL_LOOK, /* is read only: the type of its expression     */
    OMPJIT__REPL_SHOW, /* is compiled for the host alone, and never kept: the
                          text shows an object (frontend/repl/object.cc) */
    OMPJIT__REPL_COMPLETE /* is read only: what can stand at its end   */
};

/* A reply begins with a verdict, the diagnostics as clang prints them, and a
 * list of them: a number, then severity, file, line, column, message of each.
 * It goes on by the verdict:
 *
 *   GOOD     items, names, runs, shapes, members, symbols that no name has
 *            (frontend/repl/instances.cc; and whether each is a function's),
 *            value, whether there are offload entries, code that runs when the
 *            module is loaded, none that runs more than once, and only code that
 *            takes less time than optimizing it (frontend/repl/brief.cc); the
 *            half's bitcode; of the device half
 *            functions that it lacks (bytes as above), and of earlier inputs
 *            that have lacked one number, functions, bitcode
 *   AGAIN    blanks and hidden, to be sent with the same input once more
 *   UNDONE   nothing: the input is not complete
 *   BAD      nothing
 *   NAMES    a number, then name and declaration of each that can stand at the
 *            text's end
 */
enum ompjit__repl_verdict {
    OMPJIT__REPL_GOOD,
    OMPJIT__REPL_AGAIN,
    OMPJIT__REPL_UNDONE,
    OMPJIT__REPL_BAD,
    OMPJIT__REPL_NAMES
};

enum ompjit__repl_severity {
    OMPJIT__REPL_NOTE,
    OMPJIT__REPL_REMARK,
    OMPJIT__REPL_WARNING,
    OMPJIT__REPL_ERROR
};

/* A part of the input's text: kind, begin, end. */
enum ompjit__repl_item {
    OMPJIT__REPL_DECLARATION, /* stands outside of functions in C    */
    OMPJIT__REPL_STATEMENT,
    OMPJIT__REPL_ASSIGNED,    /* a variable whose initializer C has no
                                 constant for: declared, then assigned */
    OMPJIT__REPL_DIRECTIVE    /* of the preprocessor                 */
};

/* A name that the input declares: kind, name, symbol ("": none), type, size
 * (0: none), line, the shape of a variable (shape.cc; else empty), and whether it
 * is an object of C++ that the shape does not do. */
enum ompjit__repl_name {
    OMPJIT__REPL_FUNCTION,   /* defined       */
    OMPJIT__REPL_PROTOTYPE,  /* declared only */
    OMPJIT__REPL_VARIABLE,   /* defined       */
    OMPJIT__REPL_EXTERN,     /* declared only */
    OMPJIT__REPL_TYPE,
    OMPJIT__REPL_CONSTANT,   /* of an enumeration */
    OMPJIT__REPL_MACRO
};

/* The value of the expression that ends the input: form; unless NONE its
 * symbol, type, size, shape, and whether it is an object of C++ that the shape
 * does not do. */
enum ompjit__repl_value {
    OMPJIT__REPL_NO_VALUE,
    OMPJIT__REPL_DIRECT,  /* the symbol is a variable that holds it     */
    OMPJIT__REPL_POINTER, /* the symbol is a pointer to it              */
    OMPJIT__REPL_VOID,    /* an expression without a value              */
    OMPJIT__REPL_TYPE_ONLY /* LOOK: there is no symbol                  */
};

/* SHOW: a shape for each type that the text uses one of, which is a type's text,
 * "" where a program cannot write it, and bytes; and the functions that shapes
 * have: symbol, and the text of the type that it visits. Else there are none. */

/* How the bytes of a value are shown. A shape is a kind, and then, a number each
 * unless it says otherwise: */
enum ompjit__repl_shape {
    OMPJIT__SHAPE_OPAQUE,   /* size                                        */
    OMPJIT__SHAPE_BOOL,     /* size                                        */
    OMPJIT__SHAPE_CHAR,     /* size, whether it is signed                  */
    OMPJIT__SHAPE_INTEGER,  /* size, whether it is signed                  */
    OMPJIT__SHAPE_FLOAT,    /* size, bits of the format: 16, 32, 64, 80, 128;
                               17: bfloat16                                */
    OMPJIT__SHAPE_COMPLEX,  /* the shape of a part                         */
    OMPJIT__SHAPE_ENUM,     /* size, signed, n, n times name (string), value */
    OMPJIT__SHAPE_POINTER,  /* enum ompjit__repl_pointee                   */
    OMPJIT__SHAPE_ARRAY,    /* n, size of an element, shape of an element  */
    OMPJIT__SHAPE_RECORD,   /* size, n, n times name, byte offset, bit, bits
                               (0: no bit-field), shape                    */
    OMPJIT__SHAPE_UNION,    /* the same                                    */
    OMPJIT__SHAPE_OBJECT,   /* size, address of a function that shows it, its
                               symbol (string) where the address is 0      */
    OMPJIT__SHAPE_TEXT      /* nothing: a pointer to what is shown         */
};

enum ompjit__repl_pointee {
    OMPJIT__POINTEE_OTHER,
    OMPJIT__POINTEE_FUNCTION,
    OMPJIT__POINTEE_CHAR /* shown as a string; more: its size less 1 */
};

#endif
