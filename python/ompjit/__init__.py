# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenMP target regions, compiled and run from Python.

Importing this package loads nothing: the C library is loaded by the first call
that needs it, and GPUs are looked for by the first that needs a device.
"""
from __future__ import annotations

# As typing's. typing is imported for checkers alone: it would take most of the
# time of a first call from the cache.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._array import ndarray as ndarray
    from ._bound import Bound as Bound
    from ._callback import Access as Access
    from ._callback import Report as Report
    from ._context import Context as Context
    from ._context import configure as configure
    from ._context import context as context
    from ._data import data as data
    from ._device import Device as Device
    from ._device import device as device
    from ._device import devices as devices
    from ._diagnostics import Diagnostic as Diagnostic
    from ._dtype import DType as DType
    from ._dtype import bool_ as bool_
    from ._dtype import complex64 as complex64
    from ._dtype import complex128 as complex128
    from ._dtype import dtype as dtype
    from ._dtype import float16 as float16
    from ._dtype import float32 as float32
    from ._dtype import float64 as float64
    from ._dtype import int8 as int8
    from ._dtype import int16 as int16
    from ._dtype import int32 as int32
    from ._dtype import int64 as int64
    from ._dtype import result_type as result_type
    from ._dtype import uint8 as uint8
    from ._dtype import uint16 as uint16
    from ._dtype import uint32 as uint32
    from ._dtype import uint64 as uint64
    from ._errors import Aborted as Aborted
    from ._errors import ArgumentError as ArgumentError
    from ._errors import Cancelled as Cancelled
    from ._errors import CompileError as CompileError
    from ._errors import CompileTimeout as CompileTimeout
    from ._errors import DeviceError as DeviceError
    from ._errors import FileError as FileError
    from ._errors import InternalError as InternalError
    from ._errors import LaunchError as LaunchError
    from ._errors import LaunchTimeout as LaunchTimeout
    from ._errors import MappingError as MappingError
    from ._errors import NotAvailable as NotAvailable
    from ._errors import NotFound as NotFound
    from ._errors import OmpjitError as OmpjitError
    from ._errors import OutOfMemory as OutOfMemory
    from ._errors import RangeError as RangeError
    from ._errors import TimeLimit as TimeLimit
    from ._event import Event as Event
    from ._event import timed as timed
    from ._expression import Elementwise as Elementwise
    from ._expression import elementwise as elementwise
    from ._function import Function as Function
    from ._graph import Graph as Graph
    from ._jupyter import load_ipython_extension as load_ipython_extension
    from ._jupyter import unload_ipython_extension as unload_ipython_extension
    from ._kernel import Kernel as Kernel
    from ._kernel import Kernels as Kernels
    from ._kernel import Param as Param
    from ._make import arange as arange
    from ._make import array as array
    from ._make import asarray as asarray
    from ._make import empty as empty
    from ._make import empty_like as empty_like
    from ._make import from_dlpack as from_dlpack
    from ._make import full as full
    from ._make import ones as ones
    from ._make import zeros as zeros
    from ._make import zeros_like as zeros_like
    from ._module import Module as Module
    from ._module import compile as compile
    from ._progress import progress as progress
    from ._queue import Queue as Queue
    from ._queue import Stream as Stream
    from ._reduce import Reduction as Reduction
    from ._reduce import reduction as reduction
    from ._scan import Scan as Scan
    from ._scan import scan as scan
    from ._stencil import Stencil as Stencil
    from ._stencil import stencil as stencil
    from ._target import target as target

__version__ = "0.1.0"

# The module in which each public name is; it is imported at the first use.
_HOME = {
    "_data": "data",
    "_reduce": "Reduction reduction",
    "_scan": "Scan scan",
    "_jupyter": "load_ipython_extension unload_ipython_extension",
    "_stencil": "Stencil stencil",
    "_target": "target",
    "_array": (
        "ndarray"
    ),
    "_bound": (
        "Bound"
    ),
    "_callback": (
        "Access Report"
    ),
    "_context": (
        "Context configure context"
    ),
    "_device": (
        "Device device devices"
    ),
    "_diagnostics": "Diagnostic",
    "_dtype": (
        "DType bool_ complex64 complex128 dtype float16 float32 "
        "float64 int8 int16 int32 int64 result_type uint8 uint16 "
        "uint32 uint64"
    ),
    "_errors": (
        "Aborted ArgumentError Cancelled CompileError CompileTimeout "
        "DeviceError FileError InternalError LaunchError "
        "LaunchTimeout MappingError NotAvailable NotFound OmpjitError "
        "OutOfMemory RangeError TimeLimit"
    ),
    "_event": (
        "Event timed"
    ),
    "_expression": (
        "Elementwise elementwise"
    ),
    "_function": (
        "Function"
    ),
    "_graph": (
        "Graph"
    ),
    "_kernel": (
        "Kernel Kernels Param"
    ),
    "_make": (
        "arange array asarray empty empty_like from_dlpack full ones "
        "zeros zeros_like"
    ),
    "_module": (
        "Module compile"
    ),
    "_progress": "progress",
    "_queue": (
        "Queue Stream"
    ),
}
_HOME_OF = {
    name: home for home, names in _HOME.items() for name in names.split()
}
__all__ = sorted(_HOME_OF)


if not TYPE_CHECKING:  # checkers know what is imported above, and no more

    def __getattr__(name):
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module 'ompjit' has no attribute '{name}'")
        from importlib import import_module

        value = getattr(import_module("." + home, __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
