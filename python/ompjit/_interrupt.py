# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C while C code runs in the main thread: it ends the call of a function,
and cancels a compile.

Python's own handler only notes the signal, and the C code would go on to its
end. So a call has the library's function that ends calls as its handler; a
compile goes on in another thread, and this one waits.
"""
from __future__ import annotations

import ctypes
import signal
import threading
from typing import Any, Callable

from ._lib import library

_SIGACTION = 256  # bytes, more than struct sigaction has on Linux
_sigaction = ctypes.CDLL(None).sigaction
_sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def is_ours() -> bool:
    """Is this the main thread, in which Ctrl-C raises KeyboardInterrupt?"""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


class Guard:
    """The handler, around a call."""

    __slots__ = ("_ours", "_before")

    def __init__(self) -> None:
        self._ours = ctypes.create_string_buffer(_SIGACTION)
        self._before = ctypes.create_string_buffer(_SIGACTION)
        handler = ctypes.cast(library().function_abort, ctypes.c_void_p)
        ctypes.c_void_p.from_buffer(self._ours).value = handler.value

    def __enter__(self) -> None:
        _sigaction(signal.SIGINT, self._ours, self._before)

    def __exit__(self, *error: Any) -> None:
        _sigaction(signal.SIGINT, self._before, None)


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

    thread = threading.Thread(target=run, name="ompjit compile")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        from ._lib import call

        while thread.is_alive():
            call("context_cancel", context.address)
            thread.join(0.05)
        raise
    if failed:
        raise failed[0]
