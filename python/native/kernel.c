/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The fast way of kernel(n, a, x, y): numbers are set, arrays are looked at, and
 * the kernel is launched without the GIL. A form, which Python makes and keeps
 * (python/ompjit/_form.py), says what each parameter is. Calls with names, or
 * with options other than teams=n and threads=n, and arguments that are not usual
 * or not right, go to the kernel's method _call.
 *
 * Further, launches whose arguments Python has set: in them, too, Ctrl-C ends
 * the kernel.
 */
#include <string.h>

#include "native.h"

enum { MOST_PARAMS = 32 };

/* The types of parameters. _form.py has the same numbers. */
enum type { TYPE_POINTER, TYPE_INTEGER, TYPE_FLOAT };

typedef struct form {
    ompjit_context *context;
    ompjit_kernel *kernel;
    ompjit_device *device;
    const ompjit_launch *options;
    uint32_t nparams;
    uint32_t buffers; /* 1: arrays in host memory are the device's */
    struct {
        uint32_t type, bytes;
        uint32_t slot; /* the C API's number of the parameter */
    } params[MOST_PARAMS];
    ompjit_arg args[MOST_PARAMS]; /* with their types */
} form;

/* -------------------------------------------------------------- arguments */

static bool set_integer(uint32_t bytes, object *from, ompjit_arg *to)
{
    int overflow;
    unsigned bits = 8 * bytes;
    to->value.i64 = PyLong_AsLongLongAndOverflow(from, &overflow);
    return !overflow &&
           (bits == 64 || (to->value.i64 >= -(INT64_C(1) << (bits - 1)) &&
                           to->value.i64 < INT64_C(1) << bits));
}

/* An array of numbers of any type, in C's order or Fortran's. */
static bool set_buffer(object *from, ompjit_arg *to, taken *held)
{
    if (held->n == PYTHON_ARRAYS || !ompjit__python_plain(from))
        return false;
    buffer *b = &held->buffers[held->n];
    if (PyObject_GetBuffer(from, b, ANY_CONTIGUOUS | FORMAT | WRITABLE))
        return false;
    held->n++;
    to->value.p = b->buf;
    return ompjit__python_element(b->format) != 0;
}

static bool set(const form *f, uint32_t i, object *from, ompjit_arg *args,
                taken *held)
{
    ompjit_arg *to = &args[f->params[i].slot];
    object *type = PyObject_Type(from);
    Py_DecRef(type); /* the object has it */
    switch (f->params[i].type) {
    case TYPE_INTEGER:
        return (type == &PyLong_Type || type == &PyBool_Type) &&
               set_integer(f->params[i].bytes, from, to);
    case TYPE_FLOAT:
        return (type == &PyFloat_Type || type == &PyLong_Type) &&
               ompjit__python_float(from, f->params[i].bytes, to);
    default:
        if (type == ompjit__python_launcher.array)
            return ompjit__python_pointer(from, f->device, &to->value.p);
        return f->buffers && set_buffer(from, to, held);
    }
}

/* ------------------------------------------------------------------- calls */

static object *run(const form *f, const ompjit_launch *options,
                   const ompjit_arg *args, taken *held)
{
    ompjit_error err;
    stretch s;
    if (!ompjit__python_leave(&s, (target){f->context, f->kernel, NULL})) {
        ompjit__python_release(held);
        return NULL;
    }
    ompjit_status status = ompjit__python_launcher.launch(
        f->kernel, f->device, options, args, f->nparams, &err);
    ompjit__python_return(&s);
    ompjit__python_release(held);
    if (status)
        return ompjit__python_fail(status, &err);
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static bool is_usual(const form *f, size_t nargs)
{
    const int *inside = ompjit__python_launcher.inside;
    return nargs == f->nparams && !__atomic_load_n(inside, __ATOMIC_RELAXED);
}

/* teams=n and threads=n behind the arguments. False: another option, or no
 * number. */
static bool set_geometry(object *const *values, object *names,
                         ompjit_launch *to)
{
    const launcher *l = &ompjit__python_launcher;
    ssize_t count = PyTuple_Size(names);
    for (ssize_t i = 0; i < count; i++) {
        object *name = PyTuple_GetItem(names, i), *type = PyObject_Type(values[i]);
        int overflow;
        Py_DecRef(type); /* the object has it */
        if (type != &PyLong_Type || (name != l->teams && name != l->threads))
            return false;
        long long n = PyLong_AsLongLongAndOverflow(values[i], &overflow);
        if (overflow || n < 0 || n > UINT32_MAX)
            return false;
        if (name == l->teams) {
            to->teams = (uint32_t)n;
            to->teams_y = to->teams_z = 0;
        } else {
            to->threads = (uint32_t)n;
            to->threads_y = to->threads_z = 0;
        }
    }
    return true;
}

static object *call(object *self, object *const *args, size_t nargsf,
                    object *names)
{
    const form *f = __atomic_load_n(&ompjit__python_part(self)->how,
                                    __ATOMIC_ACQUIRE);
    ompjit_arg made[MOST_PARAMS];
    ompjit_launch options;
    taken held;
    uint32_t i = 0;
    held.n = 0;
    if (!f || !is_usual(f, ompjit__python_count(nargsf)))
        return ompjit__python_call(self, args, nargsf, names);
    options = *f->options;
    if (names && !set_geometry(&args[f->nparams], names, &options))
        return ompjit__python_call(self, args, nargsf, names);
    memcpy(made, f->args, f->nparams * sizeof *made);
    while (i < f->nparams && set(f, i, args[i], made, &held))
        i++;
    if (i == f->nparams)
        return run(f, &options, made, &held);
    PyErr_Clear();
    ompjit__python_release(&held);
    return ompjit__python_call(self, args, nargsf, names);
}

/* --------------------------------------------------------------- interface */

/* Gives a kernel its form, which must live as long; NULL: it has none yet. */
void ompjit_python_bind_form(object *self, const form *how);
void ompjit_python_bind_form(object *self, const form *how)
{
    callable *part = ompjit__python_part(self);
    part->call = call;
    __atomic_store_n(&part->how, how, __ATOMIC_RELEASE);
}

/* For _form.py to compare. */
size_t ompjit_python_form_size(void);
size_t ompjit_python_form_size(void)
{
    return sizeof(form);
}

/* A launch whose arguments Python has set; it has the GIL. `ctx`: the
 * kernel's. */
int ompjit_python_launch(ompjit_context *ctx, ompjit_kernel *kernel,
                         ompjit_device *device, const ompjit_launch *options,
                         const ompjit_arg *args, unsigned nargs,
                         ompjit_error *err);
int ompjit_python_launch(ompjit_context *ctx, ompjit_kernel *kernel,
                         ompjit_device *device, const ompjit_launch *options,
                         const ompjit_arg *args, unsigned nargs,
                         ompjit_error *err)
{
    stretch s;
    if (!ompjit__python_leave(&s, (target){ctx, kernel, NULL}))
        return OMPJIT_ERR_ABORTED;
    return ompjit__python_finish(
        &s, ompjit__python_launcher.launch(kernel, device, options, args, nargs,
                                           err));
}

/* Likewise by ompjit_bound_run, a bound launch of `kernel`. */
typedef ompjit_status run_bound(ompjit_bound *, ompjit_error *);
int ompjit_python_run(ompjit_context *ctx, run_bound *function,
                      ompjit_kernel *kernel, ompjit_bound *bound,
                      ompjit_error *err);
int ompjit_python_run(ompjit_context *ctx, run_bound *function,
                      ompjit_kernel *kernel, ompjit_bound *bound,
                      ompjit_error *err)
{
    stretch s;
    if (!ompjit__python_leave(&s, (target){ctx, kernel, NULL}))
        return OMPJIT_ERR_ABORTED;
    return ompjit__python_finish(&s, function(bound, err));
}
