/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The parts of libompjit-python.so share this: the functions of Python's stable
 * ABI that they use, by declarations here, so that no headers of Python's are
 * needed; the type of callable objects; and calls without the GIL.
 */
#ifndef OMPJIT_PYTHON_NATIVE_H
#define OMPJIT_PYTHON_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ompjit_function.h"

/* --------------------------------------------------- Python's stable ABI */

typedef struct object object;

typedef struct buffer { /* Py_buffer */
    void *buf;
    object *obj;
    ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    ssize_t *shape, *strides, *suboffsets;
    void *internal;
} buffer;
enum {
    WRITABLE = 1,
    FORMAT = 4,
    STRIDES = 0x18,
    C_CONTIGUOUS = 0x38,
    ANY_CONTIGUOUS = 0x98
};

typedef object *vectorcall(object *self, object *const *args, size_t nargs,
                           object *names);

typedef struct slot { /* PyType_Slot */
    int slot;
    void *value;
} slot;
enum { SLOT_CALL = 50, SLOT_MEMBERS = 72 };

typedef struct spec { /* PyType_Spec */
    const char *name;
    int size, item_size;
    unsigned flags;
    slot *slots;
} spec;
enum { FLAG_BASE = 1 << 10, FLAG_VECTORCALL = 1 << 11 };

typedef struct member { /* PyMemberDef */
    const char *name;
    int type;
    ssize_t offset;
    int flags;
    const char *doc;
} member;
enum { MEMBER_SIZE = 19, MEMBER_READONLY = 1 };

extern object _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct, PyFloat_Type,
    PyLong_Type, PyBool_Type;
extern void Py_IncRef(object *), Py_DecRef(object *);
extern object *PyNumber_Index(object *), *PyLong_FromLongLong(long long),
    *PyLong_FromUnsignedLongLong(unsigned long long),
    *PyFloat_FromDouble(double), *PyErr_Occurred(void);
extern long long PyLong_AsLongLongAndOverflow(object *, int *);
extern unsigned long long PyLong_AsUnsignedLongLong(object *);
extern double PyFloat_AsDouble(object *);
extern void *PyLong_AsVoidPtr(object *);
extern void PyErr_Clear(void), *PyEval_SaveThread(void),
    PyEval_RestoreThread(void *), PyBuffer_Release(buffer *);
extern int PyErr_CheckSignals(void), PyObject_GetBuffer(object *, buffer *, int);
extern object *PyObject_GetAttrString(object *, const char *),
    *PyObject_GetAttr(object *, object *), *PyObject_Type(object *),
    *PyObject_Call(object *, object *, object *), *PyTuple_New(ssize_t),
    *PyTuple_GetItem(object *, ssize_t), *PyDict_New(void),
    *PyObject_CallFunction(object *, const char *, ...),
    *PyType_FromSpec(spec *), *PyVectorcall_Call(object *, object *, object *);
extern const char *PyUnicode_AsUTF8AndSize(object *, ssize_t *);
extern ssize_t PyTuple_Size(object *);
extern int PyTuple_SetItem(object *, ssize_t, object *),
    PyDict_SetItem(object *, object *, object *);
/* Inline before Python 3.11. */
extern object *PyObject_Vectorcall(object *, object *const *, size_t, object *)
    __attribute__((weak));

/* ----------------------------------------------------------------- callables */

/* The part of an object of the type that is behind Python's own. `how` belongs
 * to Python, which keeps it as long as the object. */
typedef struct callable {
    vectorcall *call;
    const void *how;
} callable;

callable *ompjit__python_part(object *self);

/* The number in Python's argument count, which also has a flag. */
static inline size_t ompjit__python_count(size_t nargsf)
{
    return nargsf & ~((size_t)1 << (8 * sizeof nargsf - 1));
}

/* Calls the object's method _call, which knows all arguments. */
object *ompjit__python_call(object *self, object *const *args, size_t nargsf,
                            object *names);

/* Raises; a call that Ctrl-C has ended raises that. NULL. */
object *ompjit__python_fail(ompjit_status status, const ompjit_error *err);

/* Ctrl-C ends these: compiles of the context, and launches of the kernel, or the
 * thread's call of a function of the module. Each may be NULL. */
typedef struct target {
    ompjit_context *ctx;
    ompjit_kernel *kernel;
    ompjit_module *mod;
} target;

/* A stretch without the GIL, in which Ctrl-C ends its target. It is on the
 * caller's stack, as are those that it is within. */
typedef struct stretch {
    target ends;
    const struct stretch *outer;
    void *thread;
} stretch;

/* False: Ctrl-C has come before, and is Python's exception; no stretch begins.
 */
bool ompjit__python_leave(stretch *s, target ends);
void ompjit__python_return(const stretch *s);

/* As _return; then raises that Ctrl-C has ended what was done. `status`. */
int ompjit__python_finish(const stretch *s, ompjit_status status);

/* Buffers that are held during a call. */
enum { PYTHON_ARRAYS = 12 };
typedef struct taken {
    buffer buffers[PYTHON_ARRAYS];
    unsigned n;
} taken;

void ompjit__python_release(taken *held);

/* Whether an object is all that its buffer has: none of numpy's masked arrays,
 * say. False also where Python has an exception. */
bool ompjit__python_plain(object *from);

/* -------------------------------------------------------------------- arrays */

/* Python gives launch.c these once, with the GIL. */
typedef struct launcher {
    ompjit_status (*launch)(ompjit_kernel *, ompjit_device *,
                            const ompjit_launch *, const ompjit_arg *, unsigned,
                            ompjit_error *);
    object *array;     /* the type ompjit.ndarray                             */
    object *teams, *threads; /* "teams", "threads"                             */
    const int *inside; /* how many `with` of a queue, device or context are;
                          with any, Python makes all calls                    */
} launcher;
extern launcher ompjit__python_launcher;

/* The type of a buffer's elements, 'b' 'i' 'u' 'f' 'c'; 0: not a usual one. */
uint32_t ompjit__python_element(const char *format);

/* A number as a float of 4 or 8 bytes. False: it is none, or too large, and
 * Python has an exception. */
bool ompjit__python_float(object *from, uint32_t bytes, ompjit_arg *to);

/* The address of an ompjit.ndarray for a kernel, which takes a pointer. False:
 * it is read-only, on another device, or has gaps between elements. */
bool ompjit__python_pointer(object *array, const ompjit_device *device,
                            void **to);

/* Likewise buf, len, itemsize and format of one in C's order, which is the
 * array's own memory. `writes`: it may not be read-only. */
bool ompjit__python_packed(object *array, const ompjit_device *device,
                           bool writes, buffer *to);

#endif
