# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches by the native library (python/native): those that C makes alone, and
those whose arguments Python has set. In all of them Ctrl-C ends the kernel.

Without the native library these are the C library's own, which a signal only
reaches when they return.
"""
from __future__ import annotations

import ctypes
import sys
from ctypes import addressof, c_void_p

from . import TYPE_CHECKING, _native
from ._array import ndarray
from ._lib import _inside, library

if TYPE_CHECKING:
    from functools import partial
    from typing import Any
else:
    from _functools import partial

    from ._typing import Any

_NAMES = (
    "shape",
    "strides",
    "dtype",
    "device",
    "address",
    "readonly",
    "itemsize",
    "format",
    "out",
    "teams",
    "threads",
)


def _load() -> Any:
    """The native library, ready to launch; None where there is none."""
    found = _native.Library
    if found is None:
        return None
    start = found.ompjit_python_launches
    start.restype = None
    start.argtypes = (c_void_p, c_void_p, ctypes.py_object, ctypes.py_object)
    function = ctypes.cast(library().raw("kernel_launch"), c_void_p)
    names = tuple(map(sys.intern, _NAMES))
    start(function, addressof(_inside), ndarray, names)
    return found


native = _load()


def binder(what: str, size: int) -> Any:
    """The function that gives a callable its form or table, of `size` bytes;
    None where C makes no calls, or has another idea of their size."""
    if native is None:
        return None
    measure = native[f"ompjit_python_{what}_size"]
    measure.restype = ctypes.c_size_t
    if measure() != size:
        return None
    bind = native[f"ompjit_python_bind_{what}"]
    bind.restype = None
    bind.argtypes = (ctypes.py_object, c_void_p)
    return bind


def raw_launch(context: int) -> Any:
    """ompjit_kernel_launch of a context's kernels without a check of its
    arguments: all are ctypes objects, or numbers of 32 bits."""
    if native is None:
        return library().raw("kernel_launch")
    return partial(native["ompjit_python_launch"], c_void_p(context))


def runner(context: int, kernel: int, bound: int) -> Any:
    """run(error) of a bound launch of a context's kernel."""
    if native is None:
        return partial(library().bound_run, bound)
    run = native["ompjit_python_run"]
    function = ctypes.cast(library().bound_run, c_void_p)
    return partial(
        run, c_void_p(context), function, c_void_p(kernel), c_void_p(bound)
    )
