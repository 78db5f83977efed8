# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C library: where it is, its functions with their types, its errors.

`call("ompjit_queue_wait", queue)` calls a function that has an error as its
last parameter, and raises what it returns. All calls give up the GIL.
tests/test_abi.py compares CHECKED, PLAIN and CALLBACKS with the headers.
"""
from __future__ import annotations

import os
import sys
from _thread import _local as thread_local, allocate_lock
from ctypes import (
    ArgumentError as ctypes_error,
    CDLL,
    CFUNCTYPE,
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)

from . import TYPE_CHECKING, _abi as abi

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

# Types of parameters. All objects of the library are void pointers. A text is
# the name of a callback, or of the struct that the parameter points to:
# type_of() makes the type when a function is asked for that has it.
_object = c_void_p
_objects = POINTER(c_void_p)
_text = c_char_p
_texts = POINTER(c_char_p)
_char_pp = POINTER(c_char_p)
_int_p = POINTER(c_int)
_uint_p = POINTER(c_uint)
_size_p = POINTER(c_size_t)
_u64_p = POINTER(c_uint64)
_double_p = POINTER(c_double)
_error = "ompjit_error"
_module_options = "ompjit_module_options"
_launch = "ompjit_launch"
_arg = "ompjit_arg"
_value = "ompjit_value"

# Callbacks: result, then parameters.
CALLBACKS: dict[str, tuple[Any, ...]] = {
    "ompjit_log_fn": (None, c_void_p, _text),
    "ompjit_failure_fn": (None, c_void_p, _error),
    "ompjit_check_fn": (None, c_void_p, "ompjit_check_report"),
    "ompjit_callback_fn": (c_int, c_void_p, _value, _value, _error),
    "ompjit_cache_give_fn": (None, c_void_p, c_void_p, c_size_t),
    "ompjit_cache_get_fn": (None, c_void_p, "Key", c_void_p, c_void_p),
    "ompjit_cache_put_fn": (None, c_void_p, "Key", c_void_p, c_size_t),
    "ompjit_cache_entry_fn": (c_int, c_void_p, "ompjit_cache_entry"),
    "ompjit_count_fn": (c_int, c_void_p, "ompjit_count"),
    "ompjit_remark_fn": (c_int, c_void_p, "ompjit_remark"),
    "ompjit_variant_fn": (c_int, c_void_p, "ompjit_variant_info"),
    "ompjit_warm_fn": (None, c_void_p, c_uint, _text),
}


def type_of(kind: Any) -> Any:
    """The ctypes type of a result or a parameter in these tables."""
    if not isinstance(kind, str):
        return kind
    if kind in CALLBACKS:
        return CFUNCTYPE(*map(type_of, CALLBACKS[kind]))
    return POINTER(getattr(abi, kind))


# Functions that return a status and have an error as their last parameter: the
# parameters before that.
CHECKED: dict[str, tuple[Any, ...]] = {
    # ompjit.h
    "context_create": ("ompjit_context_options", _objects),
    "context_failure": (_object,),
    "context_device_count": (_object, _uint_p),
    "context_device": (_object, c_uint, _objects),
    "context_cancel": (_object,),
    "device_alloc": (_object, c_size_t, _objects),
    "device_free": (_object, c_void_p),
    "device_upload": (_object, c_void_p, c_void_p, c_size_t),
    "device_download": (_object, c_void_p, c_void_p, c_size_t),
    "device_info_get": (_object, "ompjit_device_info"),
    "device_mapped": (_object, c_void_p, _objects),
    "device_abort": (_object,),
    "module_from_c": (_object, _text, _module_options, _objects),
    "module_from_ir": (
        _object,
        c_void_p,
        c_size_t,
        c_void_p,
        c_size_t,
        _module_options,
        _objects,
    ),
    "module_from_sources": (
        _object,
        _texts,
        _texts,
        c_uint,
        _module_options,
        _objects,
    ),
    "module_from_cuda": (_object, _text, _module_options, _objects),
    "module_from_fortran": (_object, _text, _module_options, _objects),
    "module_from_image": (
        _object,
        c_void_p,
        c_size_t,
        _module_options,
        _objects,
    ),
    "module_function": (_object, _text, _objects),
    "module_kernel": (_object, _text, _objects),
    "module_emit": (_object, c_uint, _text, _objects, _size_p),
    "kernel_launch": (_object, _object, _launch, _arg, c_uint),
    "kernel_info_get": (_object, "ompjit_kernel_info"),
    "kernel_param": (_object, c_uint, "ompjit_param_info"),
    "kernel_abort": (_object,),
    "kernel_bind": (_object, _object, _launch, _arg, c_uint, _objects),
    "bound_run": (_object,),
    "bound_start": (_object, _object),
    "bound_set": (_object, c_uint, _arg),
    "process_context": (_objects,),
    "queue_create": (_object, _objects),
    "queue_wait": (_object,),
    "queue_upload": (_object, c_void_p, c_void_p, c_size_t),
    "queue_download": (_object, c_void_p, c_void_p, c_size_t),
    "queue_copy": (_object, c_void_p, c_void_p, c_size_t),
    # ompjit_graph.h
    "queue_adopt": (_object, c_void_p, _objects),
    "queue_stream": (_object, _objects),
    "queue_after": (_object, _object),
    "queue_update_to": (_object, c_void_p, c_size_t),
    "queue_update_from": (_object, c_void_p, c_size_t),
    "event_create": (_object, _objects),
    "event_adopt": (_object, c_void_p, _objects),
    "event_native": (_object, _objects),
    "event_record": (_object, _object),
    "event_wait": (_object,),
    "event_query": (_object, _int_p),
    "event_elapsed": (_object, _object, _double_p),
    "queue_after_event": (_object, _object),
    "graph_begin": (_object,),
    "graph_end": (_object, _objects),
    "graph_run": (_object, _object),
    # ompjit_cache.h
    "cache_stats_get": (_object, "ompjit_cache_stats"),
    "cache_walk": (_object, _text, "ompjit_cache_entry_fn", c_void_p),
    "cache_prune": (_object, c_uint64, _u64_p),
    "cache_verify": (_object, _u64_p, _u64_p),
    "cache_export": (_object, c_int, _objects, _size_p),
    "cache_import": (_object, c_void_p, c_size_t, _u64_p),
    # ompjit_debug.h
    "context_times": (_object, "ompjit_times"),
    "context_profile": (_object, c_uint, _objects, _size_p),
    "module_counts": (_object, _object, "ompjit_count_fn", c_void_p),
    # ompjit_function.h
    "module_function_count": (_object, _uint_p),
    "module_function_at": (_object, c_uint, _objects),
    "module_function_find": (_object, _text, _objects),
    "function_info_get": (_object, "ompjit_function_info"),
    "function_param": (
        _object,
        c_uint,
        "ompjit_function_param_info",
    ),
    "function_extents": (_object, _value, c_uint, _u64_p),
    "function_call": (_object, _value, c_uint, _u64_p, _value),
    "callback_create": (
        "ompjit_type",
        "ompjit_callback_fn",
        c_void_p,
        _objects,
    ),
    # ompjit_tune.h
    "kernel_prepare": (_object, _object, _launch, _arg, c_uint),
    "kernel_ready": (_object, _object, _launch, _arg, c_uint, _int_p),
    "kernel_fold_contents": (_object, _text),
    "module_variants": (_object, "ompjit_variant_stats"),
    "kernel_last_launch": (
        _object,
        _object,
        "ompjit_launch_info",
    ),
    "kernel_param_state": (_object, c_uint, "ompjit_param_state"),
    "kernel_variants": (_object, "ompjit_variant_fn", c_void_p),
    "kernel_explain": (_object, _objects),
    "kernel_resources": (_object, _text, "ompjit_resources"),
    "kernel_code": (
        _object,
        _text,
        _launch,
        _arg,
        c_uint,
        "ompjit_resources",
    ),
    "arch_info_get": (_text, "ompjit_arch_info"),
    "occupancy_get": (
        _text,
        "ompjit_resources",
        c_uint32,
        c_uint32,
        "ompjit_occupancy",
    ),
    "module_warm": (_object, _object, _text, "ompjit_warm_fn", c_void_p, _uint_p),
    "kernel_tune": (
        _object,
        _object,
        _launch,
        _arg,
        c_uint,
        "ompjit_tune_options",
        "ompjit_tuned",
    ),
    "kernel_tuned": (_object, _object, c_uint64, "ompjit_tuned"),
    # ompjit_offload.h
    "offload_create": (_object, _object, _launch, c_uint, _objects),
    "offload_key": (_object, _object, _objects),
    # ompjit_opt.h
    "opt_at": (c_uint, "ompjit_opt_info"),
    "module_remarks": (_object, _text, "ompjit_remark_fn", c_void_p),
    "module_remarks_text": (_object, _text, c_uint, _objects, _size_p),
    # ompjit_rtl.h
    "rtl_row_at": (c_uint, "ompjit_rtl_row"),
    "rtl_row_named": (_text, "ompjit_rtl_row"),
}

# All others: the result, then the parameters.
PLAIN: dict[str, tuple[Any, ...]] = {
    "context_destroy": (None, _object),
    "module_destroy": (None, _object),
    "queue_destroy": (None, _object),
    "bound_destroy": (None, _object),
    "event_destroy": (None, _object),
    "graph_destroy": (None, _object),
    "offload_destroy": (None, _object),
    "offload_descriptor": (c_void_p, _object),
    "bytes_free": (None, c_void_p),
    "version": (c_char_p,),
    "status_name": (c_char_p, c_int),
    "stage_name": (c_char_p, c_uint),
    "process_function": (c_void_p, _text),
    "module_kernel_count": (c_uint, _object),
    "module_kernel_at": (c_void_p, _object, c_uint),
    "cache_path": (c_char_p, _object),
    "function_abort": (c_int,),
    "callback_destroy": (None, c_void_p),
    "kernel_cancel": (None, _object),
    "opt_count": (c_uint,),
    "rtl_count": (c_uint,),
    "rtl_table_get": ("ompjit_rtl_table",),
}

# ------------------------------------------------------------------ loading

_NAME = "libompjit.so.0"
_HERE = os.path.dirname(os.path.abspath(__file__))


def _candidates() -> list[str]:
    """Where the library may be, the best place first."""
    tree = os.path.dirname(os.path.dirname(_HERE))
    places = [os.path.join(_HERE, "lib", _NAME)]  # a wheel
    if os.path.exists(os.path.join(tree, "include", "ompjit.h")):
        places.append(os.path.join(tree, "build", ".libs", _NAME))
    try:
        from ._built import LIBRARY  # type: ignore[import-not-found, unused-ignore]

        places.append(LIBRARY)
    except ImportError:
        pass
    for prefix in (sys.prefix, "/usr/local"):
        for folder in ("lib", "lib64"):
            places.append(os.path.join(prefix, folder, _NAME))
    return places


def find_library() -> str:
    """The path of libompjit.so, or its name where the loader has to find it.

    OMPJIT_LIBRARY, a file or the folder that it is in, goes first.
    """
    given = os.environ.get("OMPJIT_LIBRARY")
    if given:
        return os.path.join(given, _NAME) if os.path.isdir(given) else given
    for path in _candidates():
        if os.path.exists(path):
            return path
    return _NAME


def _own_libomp() -> None:
    """Names the libomp of a wheel to the library, which takes it where the
    process has none."""
    path = os.path.join(_HERE, "lib", "libomp.so.5")
    if os.path.exists(path):
        os.environ.setdefault("OMPJIT_LIBOMP", path)


def _cuda_wheels() -> None:
    """Names the folders to the library where pip has put NVIDIA's wheels:
    nvJitLink and NVRTC of ompjit[cuda]. Those that the user names go first."""
    name = "OMPJIT_CUDA_WHEELS"
    folders = list(filter(None, os.environ.get(name, "").split(":")))
    for path in sys.path:
        if path and path not in folders and ":" not in path:
            if os.path.isdir(os.path.join(path, "nvidia")):
                folders.append(path)
    if folders:
        os.environ[name] = ":".join(folders)


def system_flags() -> list[str]:
    """Flags for the C library's headers of a wheel, on machines that have
    none."""
    path = os.path.join(_HERE, "libexec", "ompjit", "libc")
    if os.path.exists("/usr/include/stdio.h") or not os.path.exists(path):
        return []
    return ["-idirafter", path]


class Library:
    """The loaded library. Its functions are attributes without "ompjit_"."""

    def __init__(self, path: str) -> None:
        from ._errors import NotAvailable

        _own_libomp()
        _cuda_wheels()
        try:
            self._dll = CDLL(path)
        except OSError as error:
            if path == _NAME:
                raise NotAvailable(
                    f"{_NAME} is not found ({error}); OMPJIT_LIBRARY can "
                    "name it or its folder"
                ) from None
            raise NotAvailable(f"{path} does not load: {error}") from None
        self.path = path
        version = self.version().decode()
        if version.split(".")[:2] != ["0", "1"]:
            raise NotAvailable(
                f"{path} is of version {version}; this package needs 0.1"
            )

    def __getattr__(self, name: str) -> Any:
        if name in CHECKED:
            result, params = c_int, (*CHECKED[name], _error)
        elif name in PLAIN:
            result, *rest = PLAIN[name]
            params = tuple(rest)
        else:
            raise AttributeError(name)
        try:
            function = getattr(self._dll, "ompjit_" + name)
        except AttributeError:
            from ._errors import NotAvailable

            raise NotAvailable(
                f"{self.path} has no ompjit_{name}: it is older than this "
                "package"
            ) from None
        function.restype = type_of(result)
        function.argtypes = tuple(map(type_of, params))
        setattr(self, name, function)
        return function


    def raw(self, name: str) -> Any:
        """A function without a check of its arguments, three times as fast: all
        are ctypes objects, or numbers of 32 bits."""
        return self._dll["ompjit_" + name]


_library: Library | None = None
# How many `with` of a queue, a device or a context are under way, in all threads:
# with any, C makes no calls.
_inside = c_int()
_loading = allocate_lock()


def library() -> Library:
    """The library, loaded at the first call."""
    global _library
    if _library is None:
        with _loading:
            if _library is None:
                _library = Library(find_library())
    return _library


class _Local(thread_local):
    """An error for each thread, and what its calls have brought about."""

    def __init__(self) -> None:
        self.error = abi.ompjit_error()
        self.pointer = byref(self.error)
        self.depth = 0  # calls under way
        self.raised: BaseException | None = None  # by a callback


_local = _Local()


def failed_callback(error: BaseException) -> bool:
    """Keeps an exception of a callback for the call that is under way in this
    thread; False if none is."""
    if not _local.depth:
        return False
    _local.raised = error
    return True


def call(name: str, *args: Any) -> None:
    """Calls a function of CHECKED. Raises its error, or what a callback has
    raised meanwhile."""
    local = _local
    local.depth += 1
    try:
        status = getattr(_library or library(), name)(
            *args, local.pointer
        )
    except ctypes_error as error:
        from ._errors import ArgumentError

        raise ArgumentError(f"{name}: {error}") from None
    finally:
        local.depth -= 1
    if local.raised is not None:
        raised, local.raised = local.raised, None
        raise raised
    if status:
        from ._errors import from_error

        raise from_error(local.error)
