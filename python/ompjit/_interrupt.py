# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C while C code runs in the main thread: it ends calls and launches, and
cancels compiles.

Python's own handler only notes the signal, and the C code would go on to its
end. The native library (python/native/native.c) has a handler before it. Where
there is none, a call has the library's function that ends calls as its handler,
and a compile goes on in another thread, while this one waits.
"""
from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock, get_native_id, start_new_thread

from . import TYPE_CHECKING
from ._errors import Aborted
from ._lib import call, library

if TYPE_CHECKING:
    from signal import SIGINT, default_int_handler, getsignal
    from typing import Any, Callable

    from ._context import Context
else:  # without the enumerations of `signal`, and what they import
    from _signal import SIGINT, default_int_handler, getsignal
    from ._typing import Any, Callable, Context

_SIGACTION = 256  # bytes, more than struct sigaction has on Linux
_sigaction = ctypes.CDLL(None).sigaction
_sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def is_main() -> bool:
    """Is this the process's main thread, which Python's handlers run in?"""
    return get_native_id() == os.getpid()


def is_ours() -> bool:
    """Is this the main thread, in which Ctrl-C raises KeyboardInterrupt?"""
    return is_main() and getsignal(SIGINT) is default_int_handler


class Guard:
    """The handler, around a call."""

    __slots__ = ("_ours", "_before")

    def __init__(self) -> None:
        self._ours = ctypes.create_string_buffer(_SIGACTION)
        self._before = ctypes.create_string_buffer(_SIGACTION)
        handler = ctypes.cast(library().function_abort, ctypes.c_void_p)
        ctypes.c_void_p.from_buffer(self._ours).value = handler.value

    def __enter__(self) -> None:
        _sigaction(SIGINT, self._ours, self._before)

    def __exit__(self, *error: Any) -> None:
        _sigaction(SIGINT, self._before, None)


def interruptible(
    work: Callable[[], None],
    context: Context,
    kernel: int | None = None,
    module: int | None = None,
) -> None:
    """Does the work, which Ctrl-C ends: what the context compiles, launches of
    the kernel, or the call of a function of the module, by their addresses."""
    from ._native import Library

    if Library is not None:
        Library.ompjit_python_interruptible(
            context.address, kernel, module, work
        )
    elif not is_ours() or kernel is not None:
        work()
    elif module is not None:
        _guarded(work)
    else:
        _elsewhere(context, work)


def _guarded(work: Callable[[], None]) -> None:
    try:
        with Guard():
            work()
    except Aborted:
        raise KeyboardInterrupt from None


def _elsewhere(context: Context, work: Callable[[], None]) -> None:
    """Does it in another thread, and waits."""
    failed: list[BaseException] = []
    begun: list[bool] = []
    given_up: list[bool] = []
    ended: list[bool] = []

    def run() -> None:
        begun.append(True)
        try:
            if not given_up:
                work()
        except BaseException as error:
            failed.append(error)
        finally:
            ended.append(True)
            working.release()

    working = allocate_lock()
    working.acquire()
    try:
        start_new_thread(run, ())
        working.acquire()
    except KeyboardInterrupt:
        given_up.append(True)
        while begun and not ended:
            call("context_cancel", context.address)
            working.acquire(timeout=0.05)
        raise
    if failed:
        raise failed[0]
