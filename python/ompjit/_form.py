# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels that C makes (python/native/kernel.c).

A kernel gets its form when Python has launched it for the first time. Without
the native library Python makes all calls.
"""
from __future__ import annotations

import ctypes
from ctypes import addressof, c_uint32, c_void_p, sizeof

from . import TYPE_CHECKING, _abi as abi, _launcher
from ._device import Device
from ._launch import launch_options

if TYPE_CHECKING:
    from typing import Any

    from ._kernel import Kernel
    from ._launch import Geometry
else:
    from ._typing import Any, Geometry, Kernel

_MOST = 32
_POINTER, _INTEGER, _FLOAT = range(3)


class _Param(ctypes.Structure):
    _fields_ = [
        ("type", c_uint32),
        ("bytes", c_uint32),
        ("slot", c_uint32),
    ]


class Form(ctypes.Structure):
    """What C needs to know of a kernel to launch it."""

    _fields_ = [
        ("context", c_void_p),
        ("kernel", c_void_p),
        ("device", c_void_p),
        ("options", c_void_p),
        ("nparams", c_uint32),
        ("buffers", c_uint32),
        ("params", _Param * _MOST),
        ("args", abi.ompjit_arg * _MOST),
    ]


def _type(kernel: Kernel, place: int) -> int | None:
    """The type of a parameter; None: only Python can convert to it."""
    p = kernel.params[place]
    if p.is_pointer:
        return _POINTER
    if p.is_float:
        return _FLOAT if p.bytes in (4, 8) else None
    return _INTEGER if kernel._kinds[place] else None


def form(
    kernel: Kernel, teams: Geometry = None, threads: Geometry = None
) -> tuple[Form, object] | None:
    """The form of a kernel for calls without further options, and what it
    points to; None: Python makes all calls."""
    device = Device(kernel.context, 0)
    options = kernel.context.options
    # A call raises the exceptions of these functions, which Python alone does.
    calls_back = "log" in options or "on_report" in options
    if _bind is None or calls_back or len(kernel.params) > _MOST:
        return None
    made = Form(
        kernel.context.address,
        kernel.address,
        device.address,
        nparams=len(kernel.params),
    )
    launch = launch_options(teams, threads)
    made.options = addressof(launch)
    made.buffers = device.is_host and "host_memory" not in options
    for place, to in enumerate(made.params[: made.nparams]):
        kind = _type(kernel, place)
        if kind is None:
            return None
        to.type, to.bytes = kind, kernel.params[place].bytes
        to.slot = kernel._indices[place]
        arg = made.args[to.slot]
        scalar = kernel._kinds[place]
        arg.type = abi.ompjit_arg_type.POINTER
        if kind != _POINTER and scalar is not None:
            arg.type = scalar[0]
    return made, launch


def bind(kernel: object, made: Form | None) -> None:
    """Gives a kernel, or one with a geometry, its form, which must live as
    long; None: it has none."""
    if _bind is not None:
        _bind(kernel, None if made is None else addressof(made))


_bind = _launcher.binder("form", sizeof(Form))
