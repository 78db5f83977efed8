# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The type of objects whose calls are made by C (python/native/native.c):
functions of modules, and expressions (_direct.py).

`Callable` is that type, or None where libompjit-python.so is not beside
libompjit.so, this Python does not have what it needs, or another interpreter of
the process has it: then functions are called by Python alone, which takes ten
times as long and is otherwise the same.
"""
from __future__ import annotations

import ctypes
import os
import sys

from . import TYPE_CHECKING, _abi as abi
from ._array import ndarray
from ._errors import from_parts
from ._host import is_plain
from ._interrupt import is_main, is_ours
from ._lib import library
from ._signature import CType, kinds

if TYPE_CHECKING:
    from typing import Any, Sequence, TypeVar

    from ._device import Device
    from ._module import Module

    Class = TypeVar("Class", bound=type)
else:
    from ._typing import Any, Class, Device, Module, Sequence

_NAME = "libompjit-python.so"
_MOST = 24
_VECTORCALL = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
_OFFSET, _FLAGS = 5, 19  # words: tp_vectorcall_offset, tp_flags
OTHER, SIGNED, UNSIGNED, BOOL, FLOAT, DOUBLE, ARRAY, POINTER, VOID = range(9)


class _Param(ctypes.Structure):
    _fields_ = [
        ("way", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("writes", ctypes.c_uint32),
        ("formats", ctypes.c_char * 12),
    ]


class Plan(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("module", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("ready", ctypes.c_uint32),
        ("nparams", ctypes.c_uint32),
        ("result", _Param),
        ("params", _Param * _MOST),
    ]


# Letters of the struct module for elements, by kind and bytes.
_FORMATS = {
    (kinds.BOOL, 1): "?bB",
    (kinds.SIGNED, 1): "bBc?",
    (kinds.SIGNED, 2): "h",
    (kinds.SIGNED, 4): "il",
    (kinds.SIGNED, 8): "lqn",
    (kinds.UNSIGNED, 1): "bBc?",
    (kinds.UNSIGNED, 2): "H",
    (kinds.UNSIGNED, 4): "IL",
    (kinds.UNSIGNED, 8): "LQN",
    (kinds.FLOAT, 2): "e",
    (kinds.FLOAT, 4): "f",
    (kinds.FLOAT, 8): "d",
}


def _array(kind: CType, mapped: int) -> tuple[int, int, int, str]:
    """The way of an array, as _signature.py has it."""
    element = kind.element()
    number = element.number()
    formats = _FORMATS.get((number.kind, number.bytes))
    if number.kind in (kinds.VOID, kinds.UNKNOWN):
        formats = ""
    if kind.target.kind == kinds.FUNCTION or formats is None:
        return OTHER, 0, 0, ""
    writes = bool(mapped & abi.ompjit_mapped.FROM) or not (
        mapped or kind.target.const or element.const
    )
    return ARRAY, number.bytes, writes, formats


def _way(kind: CType, mapped: int, result: bool) -> tuple[int, int, int, str]:
    number = kind.number()
    if number.kind == kinds.VOID:
        return VOID, 0, 0, ""
    if number.kind == kinds.POINTER:
        return (POINTER, 8, 0, "") if result else _array(kind, mapped)
    if number.kind == kinds.FLOAT and number.bytes in (4, 8):
        return (FLOAT if number.bytes == 4 else DOUBLE), number.bytes, 0, ""
    simple = {
        kinds.BOOL: BOOL,
        kinds.SIGNED: SIGNED,
        kinds.UNSIGNED: UNSIGNED,
    }
    if number.kind in simple and number.bytes <= 8:
        return simple[number.kind], number.bytes, 0, ""
    return OTHER, 0, 0, ""


def plan(
    address: int,
    module: Module,
    result: CType,
    params: list[tuple[CType, int]],
) -> Plan | None:
    """The plan of a function; None: only Python can call it."""
    if Callable is None or len(params) > _MOST:
        return None
    made = Plan(
        function=address,
        context=module.context.address,
        module=module.address,
        nparams=len(params),
    )
    ways = [_way(kind, mapped, False) for kind, mapped in params]
    places = [made.result, *made.params]
    for place, found in zip(places, [_way(result, 0, True), *ways]):
        if found[0] == OTHER:
            return None
        place.way, place.bytes, place.writes = found[:3]
        place.formats = found[3].encode()
    return made


def host_of(made: Plan, args: Sequence[Any]) -> Device | None:
    """Has C take ompjit's arrays in host memory, too, once there is one among
    the arguments of a call. The device must live as long as the plan."""
    for value in args:
        if type(value) is ndarray and value.device.is_host:
            from . import _launcher  # by which C knows the class

            made.host = value.device.address if _launcher.native else None
            return value.device
    return None


def bind(function: object, made: Plan) -> None:
    """Gives a function its plan, which must live as long."""
    _bind(function, ctypes.byref(made))


def _raise(status: int, stage: int, text: bytes) -> None:
    raise from_parts(status, stage, text.decode("utf-8", "replace"))


def _load() -> Any:
    """The type, the function that binds, and the library; None where there is
    none."""
    path = os.path.join(os.path.dirname(library().path), _NAME)
    main = is_main()
    if not os.path.exists(path):
        return None, None, None
    try:
        native = ctypes.PyDLL(path)
        make = native.ompjit_python_type
        size = native.ompjit_python_plan_size
    except (OSError, AttributeError):
        return None, None, None
    size.restype = ctypes.c_size_t
    if size() != ctypes.sizeof(Plan):
        return None, None, None
    make.restype = ctypes.py_object
    make.argtypes = (
        ctypes.c_ssize_t,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.py_object,
        ctypes.py_object,
        ctypes.py_object,
        ctypes.c_int,
    )
    found = library()
    functions = (
        found.function_call,
        found.function_abort,
        found.kernel_abort,
        found.context_cancel,
        found.module_kernel_count,
        found.module_kernel_at,
    )
    made = make(
        object.__basicsize__,
        (ctypes.c_void_p * len(functions))(
            *(ctypes.cast(each, ctypes.c_void_p).value for each in functions)
        ),
        _raise,
        is_ours,
        is_plain,
        main,
    )
    if made is None:
        return None, None, None
    interruptible = native.ompjit_python_interruptible
    interruptible.restype = ctypes.py_object
    interruptible.argtypes = (*[ctypes.c_void_p] * 3, ctypes.py_object)
    bind = native.ompjit_python_bind
    bind.restype = None
    bind.argtypes = (ctypes.py_object, ctypes.c_void_p)
    return made, bind, native


Callable, _bind, Library = _load()


def _word(cls: type, i: int) -> ctypes.c_size_t:
    """Word i behind the head of a class's PyTypeObject."""
    place = i * ctypes.sizeof(ctypes.c_size_t) + object.__basicsize__
    return ctypes.c_size_t.from_address(id(cls) + place)


def by_vector(cls: Class) -> Class:
    """Has objects of a class called without a tuple and a dictionary of the
    arguments (PEP 590).

    Before Python 3.12 a class that is written in Python does not inherit the
    flag for that. It is set here, where all else is as it has to be.
    """
    if Callable is None or sys.version_info >= (3, 12):
        return cls
    flags, offset = _word(cls, _FLAGS), _word(cls, _OFFSET).value
    if flags.value == cls.__flags__ and offset == _word(Callable, _OFFSET).value:
        flags.value |= _VECTORCALL
    return cls
