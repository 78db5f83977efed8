# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Enumerations and structs of include/ompjit.h and ompjit_function.h, in the
headers' order; those of the other headers are in _abi_more.py, which is imported
when one of them is asked for here: a struct takes as long as a file to make.

An enumeration is a class whose attributes are the enumerators without their
PREFIX, or without "OMPJIT_" where an enumerator has another. A struct has the
C struct's name, and is made with `size` set and all else 0, as by the macros
_INIT.
tests/test_abi.py compares all of it with the headers.
"""
from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    Union,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int8,
    c_int16,
    c_int32,
    c_int64,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)

from . import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ._abi_more import ompjit_cache_stats as ompjit_cache_stats
    from ._abi_more import ompjit_cache_entry as ompjit_cache_entry
    from ._abi_more import ompjit_check_kind as ompjit_check_kind
    from ._abi_more import ompjit_check_access as ompjit_check_access
    from ._abi_more import ompjit_check_report as ompjit_check_report
    from ._abi_more import ompjit_stage_times as ompjit_stage_times
    from ._abi_more import ompjit_times as ompjit_times
    from ._abi_more import ompjit_profile_format as ompjit_profile_format
    from ._abi_more import ompjit_count_kind as ompjit_count_kind
    from ._abi_more import ompjit_count as ompjit_count
    from ._abi_more import ompjit_variant_stats as ompjit_variant_stats
    from ._abi_more import ompjit_launch_info as ompjit_launch_info
    from ._abi_more import ompjit_foldable as ompjit_foldable
    from ._abi_more import ompjit_param_state as ompjit_param_state
    from ._abi_more import ompjit_variant_param as ompjit_variant_param
    from ._abi_more import ompjit_variant_info as ompjit_variant_info
    from ._abi_more import ompjit_resources as ompjit_resources
    from ._abi_more import ompjit_arch_info as ompjit_arch_info
    from ._abi_more import ompjit_limit as ompjit_limit
    from ._abi_more import ompjit_occupancy as ompjit_occupancy
    from ._abi_more import ompjit_region as ompjit_region
    from ._abi_more import ompjit_geometry as ompjit_geometry
    from ._abi_more import ompjit_tune_options as ompjit_tune_options
    from ._abi_more import ompjit_tuned as ompjit_tuned
    from ._abi_more import ompjit_opt_info as ompjit_opt_info
    from ._abi_more import ompjit_remark_kind as ompjit_remark_kind
    from ._abi_more import ompjit_remark as ompjit_remark
    from ._abi_more import ompjit_remark_format as ompjit_remark_format
    from ._abi_more import ompjit_rtl_row as ompjit_rtl_row
    from ._abi_more import ompjit_rtl_kind as ompjit_rtl_kind
    from ._abi_more import ompjit_rtl_signature as ompjit_rtl_signature
    from ._abi_more import ompjit_rtl_attribute as ompjit_rtl_attribute
    from ._abi_more import ompjit_rtl_declaration as ompjit_rtl_declaration
    from ._abi_more import ompjit_rtl_old as ompjit_rtl_old
    from ._abi_more import ompjit_rtl_layout as ompjit_rtl_layout
    from ._abi_more import ompjit_rtl_table as ompjit_rtl_table
else:
    from ._typing import Any

# A callback of C is a pointer like any other here; _lib.py has their types.
_callback = c_void_p


class Enum:
    """A C enumeration: values as class attributes."""

    PREFIX = ""


def name_of(enum: type[Enum], value: int) -> str:
    """The enumerator of that value in lower case, "source" for ERR_SOURCE."""
    for name, number in vars(enum).items():
        if number == value and name.isupper() and name != "PREFIX":
            return name.lower()
    return str(value)


def values(enum: type[Enum]) -> dict[str, int]:
    """All enumerators but DEFAULT and COUNT, by their names in lower case."""
    return {
        name.lower(): number
        for name, number in vars(enum).items()
        if name.isupper() and name not in ("PREFIX", "DEFAULT", "COUNT")
    }


class Sized(Structure):
    """A struct that grows: its `size` is set."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.size = sizeof(self)


# ---------------------------------------------------------------- ompjit.h


class ompjit_status(Enum):
    PREFIX = "OMPJIT_ERR_"
    OK = 0
    INVALID = -1
    NO_MEMORY = -2
    SOURCE = -3
    IR = -4
    ABI = -5
    NOT_FOUND = -6
    ARGUMENT = -7
    GEOMETRY = -8
    TARGET = -9
    COMPILE = -10
    ASSEMBLE = -11
    LINK = -12
    UNAVAILABLE = -13
    DRIVER = -14
    MAPPING = -15
    DEVICE = -16
    TIMEOUT = -17
    IO = -18
    INTERNAL = -19
    ABORTED = -20


class ompjit_stage(Enum):
    PREFIX = "OMPJIT_STAGE_"
    API = 0
    FRONTEND = 1
    READ = 2
    SPECIALIZE = 3
    LINK = 4
    OPTIMIZE = 5
    CODEGEN = 6
    ASSEMBLE = 7
    LOAD = 8
    MAP = 9
    LAUNCH = 10
    CACHE = 11
    COUNT = 12


ERROR_TEXT = 4096


class ompjit_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("stage", c_uint),
        ("text", c_char * ERROR_TEXT),
    ]


class ompjit_format(Enum):
    PREFIX = "OMPJIT_FORMAT_"
    LL = 0
    BC = 1
    PTX = 2
    CUBIN = 3
    OBJECT = 4
    HOST_LL = 5
    OPT_LL = 6
    COUNT = 7


class ompjit_assembler(Enum):
    PREFIX = "OMPJIT_ASSEMBLER_"
    AUTO = 0
    NVJITLINK = 1
    PTXAS = 2
    DRIVER = 3


class ompjit_compiler_process(Enum):
    PREFIX = "OMPJIT_COMPILER_"
    DEFAULT = 0
    WORKER = 1
    INPROCESS = 2


class ompjit_host_memory(Enum):
    PREFIX = "OMPJIT_HOST_MEMORY_"
    DEFAULT = 0
    SHARED = 1
    SEPARATE = 2
    AUTO = 3


class ompjit_specialize(Enum):
    PREFIX = "OMPJIT_SPECIALIZE_"
    DEFAULT = 0
    NOW = 1
    AUTO = 2
    OFF = 3


class ompjit_after_failure(Enum):
    PREFIX = "OMPJIT_AFTER_FAILURE_"
    DEFAULT = 0
    KEEP = 1
    END = 2


class ompjit_cache_mode(Enum):
    PREFIX = "OMPJIT_CACHE_"
    DEFAULT = 0
    OFF = 1
    MEMORY = 2
    DISK = 3


class _compiler_options(Structure):
    _fields_ = [
        ("clang", c_char_p),
        ("assembler", c_uint),
        ("time_limit_ms", c_uint32),
        ("process", c_uint),
        ("nopts", c_uint32),
        ("memory_limit", c_uint64),
        ("opts", POINTER(c_char_p)),
        ("reserved", c_uint64 * 1),
    ]


class _context_specialize(Structure):
    _fields_ = [
        ("mode", c_uint),
        ("launches_before_variant", c_uint32),
        ("max_variants", c_uint32),
        ("tune", c_int),
        ("record", c_char_p),
        ("reserved", c_uint64 * 4),
    ]


class _cache_options(Structure):
    _fields_ = [
        ("mode", c_uint),
        ("unused", c_uint32),
        ("dir", c_char_p),
        ("limit", c_uint64),
        ("get", _callback),
        ("put", _callback),
        ("data", c_void_p),
        ("reserved", c_uint64 * 4),
    ]


class _debug_options(Structure):
    _fields_ = [
        ("check", c_int),
        ("profile", c_int),
        ("on_report", _callback),
        ("on_report_data", c_void_p),
        ("explain", c_int),
        ("unused", c_uint32),
        ("reserved", c_uint64 * 4),
    ]


class ompjit_context_options(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("devices", c_char_p),
        ("log", _callback),
        ("log_data", c_void_p),
        ("on_failure", _callback),
        ("on_failure_data", c_void_p),
        ("after_failure", c_uint),
        ("host_memory", c_uint),
        ("device_heap", c_uint64),
        ("device_stack", c_uint64),
        ("time_limit_ms", c_uint32),
        ("keep_signals", c_int),
        ("reserved", c_uint64 * 4),
        ("compiler", _compiler_options),
        ("specialize", _context_specialize),
        ("cache", _cache_options),
        ("debug", _debug_options),
    ]


class ompjit_cuda_compiler(Enum):
    PREFIX = "OMPJIT_CUDA_COMPILER_"
    AUTO = 0
    NVRTC = 1
    CLANG = 2


class ompjit_opt_level(Enum):
    PREFIX = "OMPJIT_"
    O_DEFAULT = 0
    O0 = 1
    O1 = 2
    O2 = 3
    O3 = 4


class ompjit_module_options(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("flags", POINTER(c_char_p)),
        ("nflags", c_uint),
        ("openmp_version", c_uint),
        ("opt_level", c_uint),
        ("cuda_compiler", c_uint),
        ("opts", POINTER(c_char_p)),
        ("nopts", c_uint),
        ("signatures", c_int),
    ]


class ompjit_fold(Enum):
    PREFIX = "OMPJIT_FOLD_"
    LITERALS = 1
    TEAMS = 2
    THREADS = 4
    ALIGNMENT = 8
    NOALIAS = 16
    CONTENTS = 32
    SIZES = 64
    ALL = 127


class _launch_specialize(Structure):
    _fields_ = [
        ("mode", c_uint),
        ("fold", c_uint32),
        ("time_limit_ms", c_uint32),
        ("resident_teams", c_uint32),
        ("reserved", c_uint64 * 4),
    ]


class ompjit_launch(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("teams", c_uint32),
        ("threads", c_uint32),
        ("teams_y", c_uint32),
        ("teams_z", c_uint32),
        ("threads_y", c_uint32),
        ("threads_z", c_uint32),
        ("dynamic_shared", c_uint32),
        ("time_limit_ms", c_uint32),
        ("tripcount", c_uint64),
        ("queue", c_void_p),
        ("cooperative", c_int),
        ("unused", c_uint32),
        ("reserved", c_uint64 * 4),
        ("specialize", _launch_specialize),
    ]


class ompjit_arg_type(Enum):
    PREFIX = "OMPJIT_ARG_"
    POINTER = 0
    I8 = 1
    I16 = 2
    I32 = 3
    I64 = 4
    F32 = 5
    F64 = 6


class ompjit_arg_flags(Enum):
    PREFIX = "OMPJIT_ARG_"
    NOALIAS = 1
    VARIES = 2


CONTENTS_MAX = 4096


class _arg_value(Union):
    _fields_ = [
        ("p", c_void_p),
        ("i8", c_int8),
        ("i16", c_int16),
        ("i32", c_int32),
        ("i64", c_int64),
        ("f32", c_float),
        ("f64", c_double),
    ]


class ompjit_arg(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_uint),
        ("flags", c_uint32),
        ("value", _arg_value),
        ("bytes", c_uint64),
        ("contents", c_void_p),
        ("reserved", c_uint64 * 2),
    ]


class ompjit_device_kind(Enum):
    PREFIX = "OMPJIT_DEVICE_"
    HOST = 0
    CUDA = 1


class ompjit_device_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_uint),
        ("multiprocessors", c_uint32),
        ("name", c_char * 128),
        ("arch", c_char * 32),
        ("memory", c_uint64),
        ("max_threads", c_uint32),
        ("max_shared", c_uint32),
        ("warp_size", c_uint32),
        ("driver_version", c_uint32),
    ]


class ompjit_mode(Enum):
    PREFIX = "OMPJIT_MODE_"
    BARE = 0
    GENERIC = 1
    SPMD = 2
    GENERIC_SPMD = 3


class ompjit_kernel_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("symbol", c_char * 256),
        ("name", c_char * 128),
        ("line", c_uint32),
        ("mode", c_uint),
        ("nparams", c_uint32),
        ("max_threads", c_uint32),
        ("max_teams", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_param_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char * 64),
        ("bytes", c_uint32),
        ("is_pointer", c_int),
        ("is_float", c_int),
        ("source_order", c_uint32),
    ]


# ------------------------------------------------------- ompjit_function.h


class ompjit_type_kind(Enum):
    PREFIX = "OMPJIT_TYPE_"
    UNKNOWN = 0
    VOID = 1
    BOOL = 2
    SIGNED = 3
    UNSIGNED = 4
    FLOAT = 5
    COMPLEX = 6
    ENUM = 7
    POINTER = 8
    FUNCTION = 9
    ARRAY = 10
    STRUCT = 11
    UNION = 12


class ompjit_type_flags(Enum):
    PREFIX = "OMPJIT_TYPE_"
    CONST = 1
    VOLATILE = 2
    RESTRICT = 4
    ATOMIC = 8
    VARIADIC = 16


class ompjit_mapped(Enum):
    PREFIX = "OMPJIT_MAPPED_"
    TO = 1
    FROM = 2
    ALLOC = 4


class ompjit_type(Structure):
    pass


class ompjit_member(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", POINTER(ompjit_type)),
        ("offset", c_uint64),
        ("bit", c_uint32),
        ("bits", c_uint32),
        ("value", c_int64),
        ("reserved", c_uint64),
    ]


ompjit_type._fields_ = [
    ("size", c_size_t),
    ("kind", c_uint),
    ("flags", c_uint32),
    ("bytes", c_uint64),
    ("text", c_char_p),
    ("target", POINTER(ompjit_type)),
    ("members", POINTER(ompjit_member)),
    ("count", c_uint64),
]


class ompjit_function_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("symbol", c_char_p),
        ("prototype", c_char_p),
        ("file", c_char_p),
        ("type", POINTER(ompjit_type)),
        ("refused", c_char_p),
        ("line", c_uint32),
        ("nparams", c_uint32),
        ("from_source", c_int),
        ("unused", c_uint32),
    ]


class ompjit_function_param_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("type", POINTER(ompjit_type)),
        ("sections", c_char_p),
        ("mapped", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_value(Union):
    _fields_ = [
        ("i", c_int64),
        ("u", c_uint64),
        ("f32", c_float),
        ("f64", c_double),
        ("p", c_void_p),
        ("f", _callback),
    ]


Key = c_ubyte * 32


if not TYPE_CHECKING:

    def __getattr__(name):
        if not name.startswith("ompjit_"):
            raise AttributeError(name)
        from . import _abi_more

        found = globals()[name] = getattr(_abi_more, name)
        return found
