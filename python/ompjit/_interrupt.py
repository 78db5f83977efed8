# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C while C code runs in the main thread: it ends the call of a function,
and cancels a compile.

Python's own handler only notes the signal, and the C code would go on to its
end. So a call has the library's function that ends calls as its handler; a
compile goes on in another thread, and this one waits.
"""
from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock, get_native_id, start_new_thread

from . import TYPE_CHECKING
from ._lib import library

if TYPE_CHECKING:
    from signal import SIGINT, default_int_handler, getsignal
    from typing import Any, Callable
else:  # without the enumerations of `signal`, and what they import
    from _signal import SIGINT, default_int_handler, getsignal

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


def cancellable(context: Any, work: Callable[[], None]) -> None:
    """Does the work, in which the context compiles; Ctrl-C cancels that."""
    if not is_ours():
        work()
        return
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)
        finally:
            working.release()

    working = allocate_lock()
    working.acquire()
    start_new_thread(run, ())
    try:
        working.acquire()
    except KeyboardInterrupt:
        from ._lib import call

        call("context_cancel", context.address)
        while not working.acquire(timeout=0.05):
            call("context_cancel", context.address)
        raise
    if failed:
        raise failed[0]
