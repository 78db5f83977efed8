/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The fast way of a call of an expression. A table, which Python makes and
 * keeps (python/ompjit/_direct.py), has launches: each for arguments of certain
 * types, shapes and strides. A call whose arguments are those of a launch sets
 * their addresses and values, launches without the GIL, and returns. Every other
 * call, and each that is not right, goes to the expression's method _call.
 */
#include <string.h>

#include "native.h"

enum { PARAMS = 12, LAUNCHES = 16, DIMS = 4, PAIRS = 16, ARGS = 64 };

/* The kinds of arguments. _direct.py has the same numbers. */
enum kind {
    KIND_NONE,  /* none is given: an output that the call makes, or no one */
    KIND_FLOAT, /* Python's                                                */
    KIND_INT,
    KIND_BOOL,
    KIND_BUFFER, /* an array of host memory                                */
    KIND_ARRAY   /* an ompjit.ndarray                                      */
};

/* One parameter of an expression. */
typedef struct operand {
    uint32_t kind, slot; /* slot: the kernel's argument               */
    uint32_t type;       /* that a number must fit, or of elements:   */
    uint32_t bytes;      /* 'b' 'i' 'u' 'f' 'c', and its bytes        */
    uint32_t writes, ndim;
    int64_t shape[DIMS], strides[DIMS];
    object *dtype; /* of an ompjit.ndarray */
    void *device;
} operand;

/* Two arrays, of which the first one is written: they may not overlap, but
 * where they are the same elements (`same`: their strides are). Bytes from the
 * first element. */
typedef struct pair {
    uint32_t first, second, same, unused;
    int64_t first_begin, first_end, second_begin, second_end;
} pair;

typedef struct launch {
    ompjit_context *context;
    ompjit_kernel *kernel;
    ompjit_device *device;
    const ompjit_launch *options;
    const ompjit_arg *args; /* with all that no call changes        */
    uint32_t nargs, room;   /* passed, and there                    */
    uint32_t npairs;
    uint32_t returned;      /* the parameter that is returned       */
    object *make;           /* () -> it, where none is given        */
    uint32_t total;         /* 1: a number is returned instead      */
    uint32_t total_slot, total_type, total_bytes;
    uint32_t rounded;       /* a double that is returned as a float */
    uint64_t neutral;       /* what the total is before             */
    operand operands[PARAMS];
    pair pairs[PAIRS];
} launch;

typedef struct table {
    uint32_t count, nparams;
    uint32_t out; /* the parameter that `out` is; nparams: none */
    uint32_t unused;
    object *names[PARAMS]; /* interned */
    const launch *launches[LAUNCHES];
} table;

launcher ompjit__python_launcher;

static struct {
    object *out;      /* "out"                                               */
    object *names[8]; /* "shape" "strides" "dtype" "device" "address" ...    */
} state;

/* An argument of a call. */
typedef struct given {
    uint32_t kind, type, bytes, ndim;
    bool readonly;
    object *from;
    char *address;
    const ssize_t *shape, *strides;
    ssize_t lengths[DIMS], steps[DIMS];
    object *dtype;
    void *device;
} given;

/* ---------------------------------------------------------------- arguments */

uint32_t ompjit__python_element(const char *format)
{
    if (!format)
        return 'u';
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    bool complex = *format == 'Z';
    format += complex;
    if (!*format || format[1])
        return 0;
    if (complex)
        return strchr("fd", *format) ? 'c' : 0;
    return *format == '?'                ? 'b'
           : strchr("efd", *format)      ? 'f'
           : strchr("bhilqn", *format)   ? 'i'
           : strchr("BHILQN", *format)   ? 'u'
                                         : 0;
}

/* Those of C's order, which ctypes leaves out for its arrays. */
static void set_strides(given *to)
{
    ssize_t step = to->bytes;
    for (uint32_t d = to->ndim; d-- > 0;) {
        to->steps[d] = step;
        step *= to->shape[d] ? to->shape[d] : 1;
    }
    to->strides = to->steps;
}

static bool see_buffer(object *from, given *to, taken *held)
{
    if (held->n == PYTHON_ARRAYS || !ompjit__python_plain(from))
        return false;
    buffer *b = &held->buffers[held->n];
    if (PyObject_GetBuffer(from, b, STRIDES | FORMAT))
        return false;
    held->n++;
    to->kind = KIND_BUFFER;
    to->type = ompjit__python_element(b->format);
    to->bytes = (uint32_t)b->itemsize;
    to->ndim = (uint32_t)b->ndim;
    to->readonly = b->readonly;
    to->address = b->buf;
    to->shape = b->shape;
    to->strides = b->strides;
    if (!to->type || to->ndim > DIMS)
        return false;
    if (!to->strides)
        set_strides(to);
    return true;
}

/* The integers of a tuple; false: too many. */
static bool see_tuple(object *array, object *name, ssize_t *to, uint32_t *count)
{
    object *tuple = PyObject_GetAttr(array, name);
    if (!tuple)
        return false;
    ssize_t n = PyTuple_Size(tuple);
    bool good = n >= 0 && n <= DIMS;
    for (ssize_t i = 0; good && i < n; i++) {
        int overflow;
        to[i] = (ssize_t)PyLong_AsLongLongAndOverflow(PyTuple_GetItem(tuple, i),
                                                      &overflow);
    }
    Py_DecRef(tuple);
    *count = (uint32_t)n;
    return good;
}

/* An address that is the attribute of an object. */
static void *address_of(object *owner)
{
    object *address = PyObject_GetAttr(owner, state.names[4]);
    void *found = address ? PyLong_AsVoidPtr(address) : NULL;
    if (address)
        Py_DecRef(address);
    return found;
}

/* An attribute that the array itself keeps. */
static object *attribute(object *array, int i)
{
    object *found = PyObject_GetAttr(array, state.names[i]);
    if (found)
        Py_DecRef(found);
    return found;
}

static bool see_array(object *from, given *to)
{
    uint32_t steps;
    to->kind = KIND_ARRAY;
    to->shape = to->lengths;
    to->strides = to->steps;
    if (!see_tuple(from, state.names[0], to->lengths, &to->ndim) ||
        !see_tuple(from, state.names[1], to->steps, &steps))
        return false;
    to->dtype = attribute(from, 2);
    object *device = attribute(from, 3), *readonly = attribute(from, 5);
    if (!to->dtype || !device || !readonly)
        return false;
    to->device = address_of(device);
    to->address = address_of(from);
    to->readonly = readonly != &_Py_FalseStruct;
    return steps == to->ndim;
}

/* Whether elements lie behind each other, in C's order or (from 0 on) in
 * Fortran's. */
static bool is_packed(const given *g, ssize_t step, bool c_order)
{
    for (uint32_t i = 0; i < g->ndim; i++) {
        uint32_t d = c_order ? g->ndim - 1 - i : i;
        if (g->lengths[d] == 0)
            return true;
        if (g->lengths[d] != 1 && g->steps[d] != step)
            return false;
        step *= g->lengths[d];
    }
    return true;
}

/* Bytes of an element; 0: Python has an exception. */
static ssize_t size_of(object *dtype)
{
    object *size = PyObject_GetAttr(dtype, state.names[6]);
    ssize_t bytes = size ? (ssize_t)PyLong_AsUnsignedLongLong(size) : 0;
    if (size)
        Py_DecRef(size);
    return bytes;
}

bool ompjit__python_pointer(object *array, const ompjit_device *device,
                            void **to)
{
    given g;
    if (!see_array(array, &g) || g.readonly || g.device != device)
        return false;
    ssize_t step = size_of(g.dtype);
    *to = g.address;
    return step > 0 && (is_packed(&g, step, true) || is_packed(&g, step, false));
}

bool ompjit__python_packed(object *array, const ompjit_device *device,
                           bool writes, buffer *to)
{
    given g;
    if (!see_array(array, &g) || (writes && g.readonly) || g.device != device)
        return false;
    ssize_t size = size_of(g.dtype);
    object *format = PyObject_GetAttr(g.dtype, state.names[7]);
    if (!format)
        return false;
    *to = (buffer){.buf = g.address, .len = size, .itemsize = size};
    to->format = (char *)PyUnicode_AsUTF8AndSize(format, NULL);
    Py_DecRef(format); /* the type has it */
    for (uint32_t d = 0; d < g.ndim; d++)
        to->len *= g.lengths[d];
    return size > 0 && to->format && is_packed(&g, size, true);
}

static bool see(object *from, given *to, taken *held)
{
    object *type = PyObject_Type(from);
    to->from = from;
    Py_DecRef(type); /* the object has it */
    to->kind = type == &PyFloat_Type  ? KIND_FLOAT
               : type == &PyLong_Type ? KIND_INT
               : type == &PyBool_Type ? KIND_BOOL
                                      : KIND_NONE;
    if (to->kind != KIND_NONE)
        return true;
    return type == ompjit__python_launcher.array ? see_array(from, to)
                               : see_buffer(from, to, held);
}

/* The parameter of a name; nparams: none. */
static uint32_t param_of(const table *t, object *name)
{
    for (uint32_t i = 0; i < t->nparams; i++)
        if (t->names[i] == name)
            return i;
    return name == state.out ? t->out : t->nparams;
}

/* Arguments by parameters. */
static bool see_all(const table *t, object *const *args, size_t nargs,
                    object *names, given *all, taken *held)
{
    ssize_t nnames = names ? PyTuple_Size(names) : 0;
    if (nargs + (size_t)nnames > t->nparams)
        return false;
    for (uint32_t i = 0; i < t->nparams; i++)
        all[i].kind = KIND_NONE;
    for (size_t i = 0; i < nargs; i++)
        if (!see(args[i], &all[i], held))
            return false;
    for (ssize_t i = 0; i < nnames; i++) {
        uint32_t p = param_of(t, PyTuple_GetItem(names, i));
        if (p == t->nparams || all[p].kind != KIND_NONE ||
            !see(args[nargs + (size_t)i], &all[p], held))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------- matching */

static bool fits(const operand *o, const given *g)
{
    if (o->kind != g->kind)
        return false;
    if (o->kind < KIND_BUFFER)
        return true;
    if (o->ndim != g->ndim || (o->writes && g->readonly))
        return false;
    if (o->kind == KIND_BUFFER ? o->type != g->type || o->bytes != g->bytes
                               : o->dtype != g->dtype || o->device != g->device)
        return false;
    for (uint32_t d = 0; d < o->ndim; d++)
        if (o->shape[d] != g->shape[d] || o->strides[d] != g->strides[d])
            return false;
    return true;
}

static const launch *find(const table *t, const given *all)
{
    uint32_t count = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const launch *how = __atomic_load_n(&t->launches[i], __ATOMIC_ACQUIRE);
        uint32_t p = 0;
        while (p < t->nparams && fits(&how->operands[p], &all[p]))
            p++;
        if (p == t->nparams)
            return how;
    }
    return NULL;
}

static bool overlap(const launch *how, const given *all)
{
    for (uint32_t i = 0; i < how->npairs; i++) {
        const pair *p = &how->pairs[i];
        const char *a = all[p->first].address, *b = all[p->second].address;
        if (a + p->first_end <= b + p->second_begin ||
            b + p->second_end <= a + p->first_begin)
            continue;
        if (a != b || !p->same)
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- launching */

static bool set_integer(const operand *o, const given *g, ompjit_arg *arg)
{
    int overflow;
    unsigned unused = 64 - 8 * o->bytes;
    int64_t value = PyLong_AsLongLongAndOverflow(g->from, &overflow);
    arg->value.i64 = value;
    if (o->type == 'u')
        return !overflow && value >= 0 &&
               (uint64_t)value << unused >> unused == (uint64_t)value;
    return !overflow &&
           (int64_t)((uint64_t)value << unused) >> unused == value;
}

bool ompjit__python_float(object *from, uint32_t bytes, ompjit_arg *to)
{
    double d = PyFloat_AsDouble(from);
    if (d == -1 && PyErr_Occurred())
        return false;
    if (bytes == 8)
        to->value.f64 = d;
    else
        to->value.f32 = (float)d;
    return true;
}

/* False: the value does not fit. */
static bool set(const operand *o, const given *g, ompjit_arg *arg)
{
    if (o->kind >= KIND_BUFFER)
        arg->value.p = g->address;
    else if (o->kind == KIND_BOOL)
        arg->value.i8 = g->from == &_Py_TrueStruct;
    else if (o->kind != KIND_NONE)
        return o->type == 'f' ? ompjit__python_float(g->from, o->bytes, arg)
                              : set_integer(o, g, arg);
    return true;
}

static object *number(const launch *how, const void *total)
{
    union {
        int64_t i;
        uint64_t u;
        double d;
        float f;
    } v = {0};
    unsigned unused = 64 - 8 * how->total_bytes;
    memcpy(&v, total, how->total_bytes);
    object *truth = v.u ? &_Py_TrueStruct : &_Py_FalseStruct;
    switch (how->total_type) {
    case 'i':
        return PyLong_FromLongLong((int64_t)(v.u << unused) >> unused);
    case 'u': return PyLong_FromUnsignedLongLong(v.u);
    case 'b': Py_IncRef(truth); return truth;
    default:
        if (how->total_bytes == 4)
            return PyFloat_FromDouble((double)v.f);
        return PyFloat_FromDouble(how->rounded ? (double)(float)v.d : v.d);
    }
}

/* Launches with the arguments, which fit; takes over `result`. */
static object *run(const launch *how, ompjit_arg *args, object *result,
                   taken *held)
{
    uint64_t total = how->neutral;
    ompjit_error err;
    if (how->total)
        args[how->total_slot].value.p = &total;
    stretch s;
    if (!ompjit__python_leave(&s, (target){how->context, how->kernel, NULL})) {
        ompjit__python_release(held);
        if (result)
            Py_DecRef(result);
        return NULL;
    }
    ompjit_status status = ompjit__python_launcher.launch(
        how->kernel, how->device, how->options, args, how->nargs, &err);
    ompjit__python_return(&s);
    ompjit__python_release(held);
    if (status) {
        if (result)
            Py_DecRef(result);
        return ompjit__python_fail(status, &err);
    }
    return how->total ? number(how, &total) : result;
}

/* The array that is returned: a new one, whose address is set here, or an
 * argument. */
static object *result_of(const launch *how, given *all, ompjit_arg *args,
                         taken *held)
{
    given *g = &all[how->returned];
    if (!how->make) {
        Py_IncRef(g->from);
        return g->from;
    }
    object *made = PyObject_CallFunction(how->make, NULL);
    if (!made)
        return NULL;
    if (see_buffer(made, g, held)) {
        args[how->operands[how->returned].slot].value.p = g->address;
        return made;
    }
    Py_DecRef(made);
    return NULL;
}

/* False: Python is to make the call. Else the result; NULL: an exception. */
static bool attempt(const table *t, given *all, taken *held, object **result)
{
    const launch *how = find(t, all);
    ompjit_arg args[ARGS];
    object *returned = NULL;
    if (!how || overlap(how, all))
        return false;
    memcpy(args, how->args, how->room * sizeof *args);
    for (uint32_t p = 0; p < t->nparams; p++)
        if (!set(&how->operands[p], &all[p], &args[how->operands[p].slot]))
            return false;
    if (!how->total) {
        returned = result_of(how, all, args, held);
        if (!returned)
            return false;
    }
    *result = run(how, args, returned, held);
    return true;
}

static object *call(object *self, object *const *args, size_t nargsf,
                    object *names)
{
    const table *t = ompjit__python_part(self)->how;
    given all[PARAMS];
    taken held;
    object *result;
    held.n = 0;
    const int *inside = ompjit__python_launcher.inside;
    if (t->count && !__atomic_load_n(inside, __ATOMIC_RELAXED)) {
        if (see_all(t, args, ompjit__python_count(nargsf), names, all, &held) &&
            attempt(t, all, &held, &result))
            return result;
        PyErr_Clear();
        ompjit__python_release(&held);
    }
    return ompjit__python_call(self, args, nargsf, names);
}

/* ---------------------------------------------------------------- interface */

/* Once, with the GIL. names: "shape", "strides", "dtype", "device", "address",
 * "readonly", "itemsize", "format", "out", "teams", "threads", interned. */
void ompjit_python_launches(void *function, const int *inside, object *array,
                            object *names);
void ompjit_python_launches(void *function, const int *inside, object *array,
                            object *names)
{
    launcher *l = &ompjit__python_launcher;
    l->inside = inside;
    memcpy(&l->launch, &function, sizeof l->launch);
    Py_IncRef(array);
    Py_IncRef(names);
    for (int i = 0; i < 8; i++)
        state.names[i] = PyTuple_GetItem(names, i);
    state.out = PyTuple_GetItem(names, 8);
    l->teams = PyTuple_GetItem(names, 9);
    l->threads = PyTuple_GetItem(names, 10);
    l->array = array;
}

/* Adds a `with` to *count, or takes it away. *cell: whether it is in there. */
void ompjit_python_inside(int *count, int *cell, int there);
void ompjit_python_inside(int *count, int *cell, int there)
{
    if (*cell != there)
        __atomic_fetch_add(count, there - *cell, __ATOMIC_SEQ_CST);
    *cell = there;
}

/* Gives an expression its table, which must live as long. */
void ompjit_python_bind_table(object *self, const table *how);
void ompjit_python_bind_table(object *self, const table *how)
{
    *ompjit__python_part(self) = (callable){call, how};
}

/* For _direct.py to compare: the sizes of its structs. */
size_t ompjit_python_table_size(void);
size_t ompjit_python_table_size(void)
{
    return sizeof(launch) + sizeof(table);
}
