/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * DLPack's C exchange API for ompjit.ndarray (dlpack.h 1.3): a table of
 * functions by which other extensions take and make arrays without a call of
 * __dlpack__. Python (_dlpack.py) makes the structs, and hands over four
 * functions once:
 *   lend(array)      address of a DLManagedTensorVersioned, the caller's
 *   borrow(array)    address of a DLTensor that lives as long as the array
 *   take(address)    an array of a DLManagedTensorVersioned, which it owns
 *   make(address)    likewise lend, of a new array as the DLTensor there
 * Everything but `allocate` is called with the GIL.
 */
#include <stdint.h>
#include <string.h>

typedef struct object object;

extern object *PyObject_CallFunction(object *, const char *, ...);
extern void *PyLong_AsVoidPtr(object *);
extern object *PyErr_Occurred(void);
extern void PyErr_Clear(void), Py_IncRef(object *), Py_DecRef(object *);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int);

/* A DLTensor's bytes, all that is looked at here. */
enum { TENSOR_BYTES = 48 };

typedef void set_error(void *data, const char *kind, const char *text);

typedef struct exchange { /* DLPackExchangeAPI */
    uint32_t major, minor;
    struct exchange *previous;
    int (*allocate)(void *prototype, void **out, void *data, set_error *set);
    int (*from_object)(object *array, void **out);
    int (*to_object)(void *managed, object **out);
    int (*borrow)(object *array, void *out);
    int (*stream)(int type, int32_t device, void **out);
} exchange;

static struct {
    object *lend, *borrow, *take, *make;
} python;

/* The address that a Python function returns, NULL with an exception. */
static void *address_of(object *result)
{
    void *address = result ? PyLong_AsVoidPtr(result) : NULL;
    if (result)
        Py_DecRef(result);
    return address;
}

static int from_object(object *array, void **out)
{
    void *made = address_of(PyObject_CallFunction(python.lend, "(O)", array));
    if (!made)
        return -1;
    *out = made;
    return 0;
}

static int to_object(void *managed, object **out)
{
    object *made = PyObject_CallFunction(python.take, "(K)",
                                         (unsigned long long)(uintptr_t)managed);
    if (!made)
        return -1;
    *out = made;
    return 0;
}

static int borrow(object *array, void *out)
{
    void *found = address_of(PyObject_CallFunction(python.borrow, "(O)", array));
    if (!found)
        return -1;
    memcpy(out, found, TENSOR_BYTES);
    return 0;
}

static int allocate(void *prototype, void **out, void *data, set_error *set)
{
    int state = PyGILState_Ensure();
    void *made = address_of(PyObject_CallFunction(
        python.make, "(K)", (unsigned long long)(uintptr_t)prototype));
    if (!made) {
        PyErr_Clear();
        set(data, "MemoryError", "ompjit: no array of this kind can be made");
    } else {
        *out = made;
    }
    PyGILState_Release(state);
    return made ? 0 : -1;
}

/* What is called without a queue is done when the call returns: the default
 * stream. */
static int stream(int type, int32_t device, void **out)
{
    *out = NULL;
    return 0;
}

static exchange table = {1, 3, NULL, allocate, from_object,
                         to_object, borrow, stream};

/* The table, which lives as long as the process, for PyCapsule_New. The four
 * functions are kept for ever. */
void *ompjit_python_exchange(object *lend, object *borrowing, object *take,
                             object *make)
{
    object *all[] = {lend, borrowing, take, make};
    for (unsigned i = 0; i < 4; i++)
        Py_IncRef(all[i]);
    python.lend = lend;
    python.borrow = borrowing;
    python.take = take;
    python.make = make;
    return &table;
}
