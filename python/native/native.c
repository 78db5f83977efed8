/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libompjit-python.so: the fast way of a call of a function from Python. An
 * ompjit.Function (python/ompjit/_function.py) is of the type that is made here.
 * Its calls come to `call`: numbers are converted and arrays taken by the buffer
 * protocol, ompjit_function_call is called without the GIL, and the result is
 * made an object. Whatever is not usual, or not right, goes to the function's
 * Python method _call instead, before anything has run: it knows all types and
 * words all messages.
 *
 * It is no extension module, but a library that ctypes loads: it is for any
 * CPython from 3.9 on, and does not switch on the GIL of one that has none.
 */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "native.h"

/* ------------------------------------------------------------------- plans */

/* The way of a value. _native.py has the same numbers. */
enum way {
    WAY_OTHER,  /* by Python alone            */
    WAY_SIGNED, /* integers: bytes            */
    WAY_UNSIGNED,
    WAY_BOOL,
    WAY_FLOAT,
    WAY_DOUBLE,
    WAY_ARRAY,  /* formats, itemsize, writes  */
    WAY_POINTER,/* of results                 */
    WAY_VOID    /* likewise                   */
};

enum { MOST = 24, PLAIN_TYPES = 8 };

typedef struct param {
    uint32_t way, bytes;
    uint32_t writes;
    char formats[12]; /* letters of struct's; "": any */
} param;

/* Made by _native.py, which keeps it as long as the function. */
typedef struct plan {
    ompjit_function *function;
    ompjit_context *context;
    ompjit_module *module;
    ompjit_device *host; /* in whose memory ompjit.ndarrays may be; NULL: none */
    uint32_t ready;   /* 0: Python calls, as it does once for each function */
    uint32_t nparams;
    param result, params[MOST];
} plan;

static struct {
    ssize_t at; /* of a callable in its object */
    ompjit_status (*call)(ompjit_function *, const ompjit_value *, unsigned,
                          const uint64_t *, ompjit_value *, ompjit_error *);
    ompjit_status (*abort)(void);
    ompjit_status (*abort_kernel)(ompjit_kernel *, ompjit_error *);
    ompjit_status (*cancel_context)(ompjit_context *, ompjit_error *);
    unsigned (*kernel_count)(ompjit_module *);
    ompjit_kernel *(*kernel_at)(ompjit_module *, unsigned);
    object *raise;   /* raise(status, stage, text)                      */
    object *watches; /* () -> whether Ctrl-C raises KeyboardInterrupt   */
    object *is_plain; /* (type) -> whether buffers are all of its objects */
    object *plain[PLAIN_TYPES]; /* types for which it is, and which stay for ever; NULL:
                         there are no more                               */
    bool knows_main;
    pthread_t main;
    uint64_t asked;  /* milliseconds: when `watches` was called last    */
    struct sigaction before;
} state;

callable *ompjit__python_part(object *self)
{
    return (callable *)((char *)self + state.at);
}

/* ------------------------------------------------------------------ Ctrl-C */

/* The innermost stretch that the thread is in; NULL: Ctrl-C ends nothing. */
static _Thread_local const stretch *volatile current
    __attribute__((tls_model("initial-exec")));

/* A signal handler cannot cancel a compile, and an abort misses a launch that
 * has not begun yet. So a thread does both again and again, until the stretch
 * that Ctrl-C was for is over. It needs no GIL. */
static struct {
    sem_t wake;
    pthread_mutex_t lock;   /* held while `stretch` is used; it is over later */
    const stretch *stretch; /* NULL: Ctrl-C was for none that lasts           */
    bool started;
} ender = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Deferred target regions of the module run in other threads, for which the call
 * waits. They get the time to end by themselves. */
enum { PASSES_BEFORE_DEFERRED = 4 };

static void end(const target *t, unsigned pass)
{
    if (t->ctx)
        state.cancel_context(t->ctx, NULL);
    if (t->kernel)
        state.abort_kernel(t->kernel, NULL);
    if (!t->mod || pass < PASSES_BEFORE_DEFERRED)
        return;
    unsigned n = state.kernel_count(t->mod);
    for (unsigned i = 0; i < n; i++)
        state.abort_kernel(state.kernel_at(t->mod, i), NULL);
}

/* False: there is nothing to end any more. */
static bool end_interrupted(unsigned pass)
{
    pthread_mutex_lock(&ender.lock);
    const stretch *s = __atomic_load_n(&ender.stretch, __ATOMIC_ACQUIRE);
    if (s)
        end(&s->ends, pass);
    pthread_mutex_unlock(&ender.lock);
    return s;
}

static void *end_stretches(void *unused)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    for (;; unused = NULL) {
        while (sem_wait(&ender.wake))
            ;
        for (unsigned pass = 0; end_interrupted(pass); pass++)
            nanosleep(&pause, NULL);
    }
    return unused;
}

/* In the main thread. Without the thread Ctrl-C ends what runs already. */
static void start_ender(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (ender.started)
        return;
    sem_init(&ender.wake, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, end_stretches, NULL))
        ender.started = !pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The stretch ends: its kernel may be destroyed, and something else compiled. */
static void stop_ender(const stretch *s)
{
    if (__atomic_load_n(&ender.stretch, __ATOMIC_RELAXED) != s)
        return;
    pthread_mutex_lock(&ender.lock);
    __atomic_store_n(&ender.stretch, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&ender.lock);
}

/* Python is told first: the call may end before this returns. Another thread
 * gets the signal while the main one blocks it, to start a process, say. */
static void on_interrupt(int number, siginfo_t *info, void *context)
{
    if (!pthread_equal(pthread_self(), state.main)) {
        pthread_kill(state.main, number);
        return;
    }
    if (state.before.sa_flags & SA_SIGINFO)
        state.before.sa_sigaction(number, info, context);
    else if (state.before.sa_handler != SIG_DFL &&
             state.before.sa_handler != SIG_IGN)
        state.before.sa_handler(number);
    const stretch *s = current;
    if (!s)
        return;
    if (ender.started) {
        __atomic_store_n(&ender.stretch, s, __ATOMIC_RELEASE);
        sem_post(&ender.wake);
    } else if (s->ends.kernel) {
        state.abort_kernel(s->ends.kernel, NULL);
    }
    if (s->ends.mod)
        state.abort();
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Puts the handler before Python's, which the program may have set anew, if that
 * raises KeyboardInterrupt. */
static void install(void)
{
    struct sigaction ours = {.sa_sigaction = on_interrupt}, now;
    if (sigaction(SIGINT, NULL, &now) || now.sa_sigaction == on_interrupt ||
        (!(now.sa_flags & SA_SIGINFO) &&
         (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)))
        return;
    state.before = now;
    ours.sa_mask = now.sa_mask;
    ours.sa_flags = SA_SIGINFO | (now.sa_flags & (SA_ONSTACK | SA_RESTART));
    sigaction(SIGINT, &ours, NULL);
}

/* Every tenth of a second at most. *watched: Ctrl-C ends the thread's call.
 * False: it came meanwhile, and is Python's exception. */
static bool watch_interrupts(bool *watched)
{
    static bool last;
    uint64_t now = now_ms();
    *watched = last;
    if (now - state.asked < 100)
        return true;
    object *answer = PyObject_CallFunction(state.watches, NULL);
    if (!answer)
        return false;
    state.asked = now;
    *watched = last = answer == &_Py_TrueStruct;
    Py_DecRef(answer);
    if (last) {
        start_ender();
        install();
    }
    return true;
}

/* --------------------------------------------------------------- arguments */

static bool take_signed(const param *p, object *from, ompjit_value *to)
{
    int overflow;
    unsigned unused = 64 - 8 * p->bytes;
    object *number = PyNumber_Index(from);
    if (!number)
        return false;
    to->i = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DecRef(number);
    return !overflow &&
           (int64_t)((uint64_t)to->i << unused) >> unused == to->i;
}

static bool take_unsigned(const param *p, object *from, ompjit_value *to)
{
    object *number = PyNumber_Index(from);
    if (!number)
        return false;
    to->u = PyLong_AsUnsignedLongLong(number);
    Py_DecRef(number);
    if (to->u == UINT64_MAX && PyErr_Occurred())
        return false;
    return p->bytes == 8 || to->u >> 8 * p->bytes == 0;
}

static bool take_float(const param *p, object *from, ompjit_value *to)
{
    double d = PyFloat_AsDouble(from);
    if (d == -1 && PyErr_Occurred())
        return false;
    if (p->way == WAY_DOUBLE) {
        to->f64 = d;
        return true;
    }
    to->f32 = (float)d;
    return !isinf(to->f32) || isinf(d);
}

/* Of any elements those of ctypes' pointers are none: these are passed as what
 * they point to. */
static bool is_format(const param *p, const buffer *b)
{
    const char *format = b->format ? b->format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (!*p->formats)
        return !strchr("&PXO", *format);
    return (size_t)b->itemsize == p->bytes && *format && !format[1] &&
           strchr(p->formats, *format);
}

static bool learn_plain(object *type)
{
    object *answer = PyObject_CallFunction(state.is_plain, "O", type);
    if (!answer)
        return false;
    bool plain = answer == &_Py_TrueStruct;
    Py_DecRef(answer);
    if (!plain)
        return false;
    Py_IncRef(type);
    for (unsigned i = 0; i < PLAIN_TYPES; i++) {
        object *none = NULL;
        if (__atomic_compare_exchange_n(&state.plain[i], &none, type, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return true;
    }
    Py_DecRef(type);
    return true;
}

bool ompjit__python_plain(object *from)
{
    object *type = PyObject_Type(from), *known = type;
    bool plain = false;
    for (unsigned i = 0; !plain && known && i < PLAIN_TYPES; i++) {
        known = __atomic_load_n(&state.plain[i], __ATOMIC_ACQUIRE);
        plain = known == type;
    }
    plain = plain || learn_plain(type);
    Py_DecRef(type);
    return plain;
}

/* An ompjit.ndarray in host memory, which needs no buffer. */
static bool take_ours(const plan *how, const param *p, object *from,
                      ompjit_value *to, uint64_t *bytes)
{
    buffer b;
    if (!how->host || !ompjit__python_packed(from, how->host, p->writes, &b))
        return false;
    to->p = b.buf;
    *bytes = (uint64_t)b.len;
    return is_format(p, &b);
}

static bool take_array(const plan *how, const param *p, object *from,
                       ompjit_value *to, uint64_t *bytes, taken *held)
{
    if (from == &_Py_NoneStruct) {
        to->p = NULL;
        *bytes = 0;
        return true;
    }
    object *type = PyObject_Type(from);
    Py_DecRef(type); /* the object has it */
    if (type == ompjit__python_launcher.array)
        return take_ours(how, p, from, to, bytes);
    if (held->n == PYTHON_ARRAYS || !ompjit__python_plain(from))
        return false;
    buffer *b = &held->buffers[held->n];
    if (PyObject_GetBuffer(from, b,
                           C_CONTIGUOUS | FORMAT | (p->writes ? WRITABLE : 0)))
        return false;
    held->n++;
    to->p = b->buf;
    *bytes = (uint64_t)b->len;
    return is_format(p, b);
}

/* False: it is not usual, or not right; Python's exception may be set. */
static bool take(const plan *how, const param *p, object *from,
                 ompjit_value *to, uint64_t *bytes, taken *held)
{
    *bytes = OMPJIT_BYTES_UNKNOWN;
    switch (p->way) {
    case WAY_SIGNED: return take_signed(p, from, to);
    case WAY_UNSIGNED: return take_unsigned(p, from, to);
    case WAY_FLOAT:
    case WAY_DOUBLE: return take_float(p, from, to);
    case WAY_BOOL:
        to->u = from == &_Py_TrueStruct;
        return to->u || from == &_Py_FalseStruct;
    case WAY_ARRAY: return take_array(how, p, from, to, bytes, held);
    default: return false;
    }
}

void ompjit__python_release(taken *held)
{
    while (held->n)
        PyBuffer_Release(&held->buffers[--held->n]);
}

/* ------------------------------------------------------------------- calls */

static object *give(const param *result, const ompjit_value *value)
{
    object *constant = &_Py_NoneStruct;
    switch (result->way) {
    case WAY_SIGNED: return PyLong_FromLongLong(value->i);
    case WAY_UNSIGNED: return PyLong_FromUnsignedLongLong(value->u);
    case WAY_FLOAT: return PyFloat_FromDouble((double)value->f32);
    case WAY_DOUBLE: return PyFloat_FromDouble(value->f64);
    case WAY_BOOL:
        constant = value->u ? &_Py_TrueStruct : &_Py_FalseStruct;
        break;
    case WAY_POINTER:
        if (value->p)
            return PyLong_FromUnsignedLongLong(value->u);
        break;
    default: break;
    }
    Py_IncRef(constant);
    return constant;
}

/* As PyObject_Vectorcall: `names` are of the arguments behind the first ones. */
static object *call_by_tuple(object *method, object *const *args, size_t nargs,
                             object *names)
{
    ssize_t count = (ssize_t)ompjit__python_count(nargs);
    ssize_t nnames = names ? PyTuple_Size(names) : 0;
    object *all = PyTuple_New(count), *named = nnames ? PyDict_New() : NULL;
    object *result = NULL;
    bool good = all && (named || !nnames);
    for (ssize_t i = 0; good && i < count; i++) {
        Py_IncRef(args[i]);
        good = !PyTuple_SetItem(all, i, args[i]);
    }
    for (ssize_t i = 0; good && i < nnames; i++)
        good = !PyDict_SetItem(named, PyTuple_GetItem(names, i),
                               args[count + i]);
    if (good)
        result = PyObject_Call(method, all, named);
    if (all)
        Py_DecRef(all);
    if (named)
        Py_DecRef(named);
    return result;
}

object *ompjit__python_fail(ompjit_status status, const ompjit_error *err)
{
    if (status == OMPJIT_ERR_ABORTED && PyErr_CheckSignals())
        return NULL;
    object *none = PyObject_CallFunction(state.raise, "iiy", (int)err->status,
                                         (int)err->stage, err->text);
    if (none)
        Py_DecRef(none);
    return NULL;
}

object *ompjit__python_call(object *self, object *const *args, size_t nargs,
                            object *names)
{
    object *method = PyObject_GetAttrString(self, "_call");
    if (!method)
        return NULL;
    object *result = PyObject_Vectorcall
                         ? PyObject_Vectorcall(method, args, nargs, names)
                         : call_by_tuple(method, args, nargs, names);
    Py_DecRef(method);
    return result;
}

/* Ctrl-C ends the stretch from now on; with the GIL. A signal that came before
 * has only been noted by Python. */
static bool enter(stretch *s, target ends)
{
    bool watched = false;
    if (state.knows_main && pthread_equal(pthread_self(), state.main) &&
        !watch_interrupts(&watched))
        return false;
    s->ends = ends;
    s->outer = current;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current = watched ? s : NULL;
    if (!watched || !PyErr_CheckSignals())
        return true;
    s->thread = PyEval_SaveThread();
    ompjit__python_return(s);
    return false;
}

bool ompjit__python_leave(stretch *s, target ends)
{
    bool good = enter(s, ends);
    if (good)
        s->thread = PyEval_SaveThread();
    return good;
}

/* Waits for the ender without the GIL, which log functions may need that it
 * calls. */
void ompjit__python_return(const stretch *s)
{
    if (current == s) {
        current = NULL;
        stop_ender(s);
    }
    current = s->outer;
    PyEval_RestoreThread(s->thread);
}

int ompjit__python_finish(const stretch *s, ompjit_status status)
{
    ompjit__python_return(s);
    if (status == OMPJIT_ERR_ABORTED)
        PyErr_CheckSignals();
    return status;
}

/* work(), in which Python calls the library itself. */
object *ompjit_python_interruptible(ompjit_context *ctx, ompjit_kernel *kernel,
                                    ompjit_module *mod, object *work);
object *ompjit_python_interruptible(ompjit_context *ctx, ompjit_kernel *kernel,
                                    ompjit_module *mod, object *work)
{
    stretch s;
    if (!enter(&s, (target){ctx, kernel, mod}))
        return NULL;
    object *result = PyObject_CallFunction(work, NULL);
    s.thread = PyEval_SaveThread();
    ompjit__python_return(&s);
    return result;
}

static object *run(const plan *how, const ompjit_value *values,
                   const uint64_t *bytes, taken *held)
{
    ompjit_value result = {0};
    ompjit_error err;
    stretch s;
    if (!ompjit__python_leave(&s, (target){how->context, NULL, how->module})) {
        ompjit__python_release(held);
        return NULL;
    }
    ompjit_status status = state.call(how->function, values, how->nparams,
                                      bytes, &result, &err);
    ompjit__python_return(&s);
    ompjit__python_release(held);
    return status ? ompjit__python_fail(status, &err) : give(&how->result, &result);
}

static object *call(object *self, object *const *args, size_t nargsf,
                    object *names)
{
    const plan *how = ompjit__python_part(self)->how;
    size_t nargs = ompjit__python_count(nargsf);
    ompjit_value values[MOST];
    uint64_t bytes[MOST];
    taken held;
    if (!how->ready || names || nargs != how->nparams)
        return ompjit__python_call(self, args, nargsf, names);
    held.n = 0;
    for (unsigned i = 0; i < how->nparams; i++) {
        if (take(how, &how->params[i], args[i], &values[i], &bytes[i], &held))
            continue;
        PyErr_Clear();
        ompjit__python_release(&held);
        return ompjit__python_call(self, args, nargsf, names);
    }
    return run(how, values, bytes, &held);
}

/* --------------------------------------------------------------- interface */

/* The child has one thread, its main one. */
static void after_fork(void)
{
    pthread_mutex_init(&ender.lock, NULL);
    ender.stretch = NULL;
    ender.started = false;
    state.main = pthread_self();
    state.knows_main = true;
}

/* Once in the process: what is kept here are objects of one interpreter, to
 * which subinterpreters are others. */
static bool is_taken(void)
{
    static bool is;
    return __atomic_exchange_n(&is, true, __ATOMIC_SEQ_CST);
}

/* The type of functions; None where another interpreter has it. head: bytes of
 * an object of Python's own; functions: of the C library, in the order of
 * _native.py; main: the calling thread is Python's main one. With the GIL; once.
 * NULL: Python's exception is set. */
object *ompjit_python_type(ssize_t head, void *const *functions, object *raise,
                           object *watches, object *is_plain, int main);
object *ompjit_python_type(ssize_t head, void *const *functions, object *raise,
                           object *watches, object *is_plain, int main)
{
    static member members[] = {
        {"__vectorcalloffset__", MEMBER_SIZE, 0, MEMBER_READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static slot slots[] = {{SLOT_CALL, (void *)PyVectorcall_Call},
                           {SLOT_MEMBERS, members},
                           {0, NULL}};
    spec of_type = {"ompjit._native.Callable",
                    (int)(head + (ssize_t)sizeof(callable)), 0,
                    FLAG_BASE | FLAG_VECTORCALL, slots};
    if (is_taken()) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    members[0].offset = head;
    state.at = head;
    memcpy(&state.call, &functions[0], sizeof state.call);
    memcpy(&state.abort, &functions[1], sizeof state.abort);
    memcpy(&state.abort_kernel, &functions[2], sizeof state.abort_kernel);
    memcpy(&state.cancel_context, &functions[3], sizeof state.cancel_context);
    memcpy(&state.kernel_count, &functions[4], sizeof state.kernel_count);
    memcpy(&state.kernel_at, &functions[5], sizeof state.kernel_at);
    Py_IncRef(raise);
    Py_IncRef(watches);
    Py_IncRef(is_plain);
    state.raise = raise;
    state.watches = watches;
    state.is_plain = is_plain;
    state.main = pthread_self();
    state.knows_main = main;
    pthread_atfork(NULL, NULL, after_fork);
    return PyType_FromSpec(&of_type);
}

/* Gives an object of the type its plan, which must live as long. */
void ompjit_python_bind(object *self, const plan *how);
void ompjit_python_bind(object *self, const plan *how)
{
    *ompjit__python_part(self) = (callable){call, how};
}

/* For _native.py to compare: the sizes of its structs. */
size_t ompjit_python_plan_size(void);
size_t ompjit_python_plan_size(void)
{
    return sizeof(plan);
}
