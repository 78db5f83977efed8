# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Enumerations and structs of the headers beside ompjit.h and ompjit_function.h,
in their order; as in _abi.py, which has them, too."""
from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

from ._abi import Enum, Sized, ompjit_stage

# ---------------------------------------------------------- ompjit_cache.h


class ompjit_cache_stats(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("hits_memory", c_uint64),
        ("hits_callback", c_uint64),
        ("hits_disk", c_uint64),
        ("misses", c_uint64),
        ("stored", c_uint64),
        ("rejected", c_uint64),
        ("waited", c_uint64),
        ("evicted", c_uint64),
        ("bytes_read", c_uint64),
        ("bytes_written", c_uint64),
        ("limit", c_uint64),
    ]


class ompjit_cache_entry(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("key", c_char * 72),
        ("kind", c_char * 16),
        ("bytes", c_uint64),
        ("used", c_int64),
        ("text", c_char_p),
    ]


# ---------------------------------------------------------- ompjit_debug.h


class ompjit_check_kind(Enum):
    PREFIX = "OMPJIT_CHECK_"
    BOUNDS = 1
    UNMAPPED = 2
    NULL = 3
    FREED = 4
    UNINITIALIZED = 5
    RACE = 6
    LOST = 7
    FUNCTION = 8


class ompjit_check_access(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("file", c_char_p),
        ("function", c_char_p),
        ("line", c_uint32),
        ("column", c_uint32),
        ("thread", c_uint32),
        ("write", c_int),
        ("bytes", c_uint64),
    ]


class ompjit_check_report(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("text", c_char_p),
        ("kernel", c_char_p),
        ("kind", c_uint),
        ("kernel_line", c_uint32),
        ("team", c_uint32),
        ("unused", c_uint32),
        ("access", POINTER(ompjit_check_access)),
        ("other", POINTER(ompjit_check_access)),
    ]


class ompjit_stage_times(Structure):
    _fields_ = [("ns", c_uint64), ("count", c_uint64)]


class ompjit_times(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("stage", ompjit_stage_times * ompjit_stage.COUNT),
    ]


class ompjit_profile_format(Enum):
    PREFIX = "OMPJIT_PROFILE_"
    TABLE = 0
    TRACE = 1


class ompjit_count_kind(Enum):
    PREFIX = "OMPJIT_COUNT_"
    LINE = 0
    PROFILE = 1
    VALUE = 2
    OTHERS = 3


class ompjit_count(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_uint),
        ("line", c_uint32),
        ("number", c_uint32),
        ("unused", c_uint32),
        ("count", c_uint64),
        ("function", c_char_p),
        ("file", c_char_p),
        ("value", c_uint64),
        ("target", c_char_p),
    ]


# ----------------------------------------------------------- ompjit_tune.h


class ompjit_variant_stats(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("live", c_uint64),
        ("builds", c_uint64),
        ("failures", c_uint64),
        ("evictions", c_uint64),
        ("pending", c_uint64),
    ]


class ompjit_launch_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("teams", c_uint32),
        ("threads", c_uint32),
        ("folded_teams", c_int),
        ("folded_threads", c_int),
        ("folded_args", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_foldable(Enum):
    PREFIX = "OMPJIT_FOLDABLE_"
    FOLDABLE = 0
    POINTER = 1
    COPY_BACK = 2
    SECTION = 3
    TOO_LARGE = 4
    STORAGE = 5
    TOO_MANY = 6


class ompjit_param_state(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("foldable", c_uint),
        ("given_up", c_int),
        ("why", c_char * 128),
        ("storage", c_uint64),
        ("launches", c_uint32),
        ("changes", c_uint32),
    ]


class ompjit_variant_param(Structure):
    _fields_ = [
        ("facts", c_uint32),
        ("unused", c_uint32),
        ("value", c_uint64),
        ("bytes", c_uint64),
    ]


class ompjit_variant_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("device", c_void_p),
        ("generic", c_int),
        ("teams", c_uint32),
        ("threads", c_uint32),
        ("resident_teams", c_uint32),
        ("unused", c_uint32),
        ("nparams", c_uint32),
        ("params", POINTER(ompjit_variant_param)),
    ]


class ompjit_resources(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("registers", c_uint32),
        ("shared_static", c_uint32),
        ("local", c_uint32),
        ("spill_stores", c_uint32),
        ("spill_loads", c_uint32),
        ("constant", c_uint32),
        ("max_threads", c_uint32),
        ("code", c_uint32),
        ("instructions", c_uint32),
        ("ptx", c_uint32),
    ]


class ompjit_arch_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("warps", c_uint32),
        ("teams", c_uint32),
        ("threads", c_uint32),
        ("registers", c_uint32),
        ("shared", c_uint32),
        ("team_shared", c_uint32),
        ("team_reserved", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_limit(Enum):
    PREFIX = "OMPJIT_LIMIT_"
    WARPS = 1
    TEAMS = 2
    REGISTERS = 4
    SHARED = 8


class ompjit_occupancy(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("teams", c_uint32),
        ("warps", c_uint32),
        ("most_warps", c_uint32),
        ("limits", c_uint32),
    ]


class ompjit_region(Structure):
    _fields_ = [("device", c_void_p), ("size", c_size_t)]


class ompjit_geometry(Structure):
    _fields_ = [("teams", c_uint32), ("threads", c_uint32)]


class ompjit_tune_options(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("tries", POINTER(ompjit_geometry)),
        ("saved", POINTER(ompjit_region)),
        ("ntries", c_uint),
        ("nsaved", c_uint),
        ("repeats", c_uint),
        ("unused", c_uint32),
    ]


class ompjit_tuned(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("teams", c_uint32),
        ("threads", c_uint32),
        ("ns", c_uint64),
        ("default_ns", c_uint64),
        ("tried", c_uint32),
        ("failed", c_uint32),
    ]


# ------------------------------------------------------------ ompjit_opt.h


class ompjit_opt_info(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("help", c_char_p),
        ("most", c_uint32),
        ("ordinary", c_uint32),
    ]


class ompjit_remark_kind(Enum):
    PREFIX = "OMPJIT_REMARK_"
    PASSED = 0
    MISSED = 1
    ANALYSIS = 2


class ompjit_remark(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_uint),
        ("line", c_uint32),
        ("column", c_uint32),
        ("unused", c_uint32),
        ("id", c_char_p),
        ("pass", c_char_p),
        ("kernel", c_char_p),
        ("function", c_char_p),
        ("symbol", c_char_p),
        ("variable", c_char_p),
        ("file", c_char_p),
        ("what", c_char_p),
        ("why", c_char_p),
        ("advice", c_char_p),
    ]


class ompjit_remark_format(Enum):
    PREFIX = "OMPJIT_REMARKS_"
    YAML = 0
    JSON = 1


# ------------------------------------------------------------ ompjit_rtl.h


class ompjit_rtl_row(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("index", c_uint),
        ("since", c_uint),
        ("until", c_uint),
        ("successor", c_int),
        ("name", c_char_p),
        ("type", c_char * 128),
        ("attributes", c_char_p),
        ("category", c_char_p),
        ("where", c_char_p),
        ("note", c_char * 192),
        ("meaning", c_char_p),
        ("cost", c_char_p),
        ("instructions", c_uint),
        ("unused", c_uint32),
    ]


class ompjit_rtl_kind(Enum):
    PREFIX = "OMPJIT_RTL_KIND_"
    VOID = ord("v")
    POINTER = ord("p")
    I64 = ord("l")
    I32 = ord("i")
    I16 = ord("s")
    I8 = ord("c")
    I1 = ord("b")
    FLOAT = ord("f")
    DOUBLE = ord("d")
    I32_ARRAY = ord("3")
    CONFIGURATION = ord("E")


class ompjit_rtl_signature(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("params", c_char_p),
        ("nparams", c_uint32),
        ("result", c_char),
        ("variadic", c_uint8),
        ("unused", c_uint8 * 2),
    ]


class ompjit_rtl_attribute(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("old_name", c_char_p),
        ("value", c_uint64),
        ("index", c_int32),
        ("unused", c_uint32),
    ]


class ompjit_rtl_declaration(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", ompjit_rtl_signature),
        ("attributes", POINTER(ompjit_rtl_attribute)),
        ("callback", POINTER(c_int32)),
        ("nattributes", c_uint32),
        ("ncallback", c_uint32),
        ("callback_variadic", c_uint32),
        ("since", c_uint32),
        ("until", c_uint32),
        ("successor", c_int32),
        ("previous", c_int32),
        ("next", c_int32),
    ]


class ompjit_rtl_old(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", ompjit_rtl_signature),
        ("release", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_rtl_layout(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("fields", c_char_p),
        ("nfields", c_uint32),
        ("unused", c_uint32),
    ]


class ompjit_rtl_table(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("declarations", POINTER(ompjit_rtl_declaration)),
        ("olds", POINTER(ompjit_rtl_old)),
        ("layouts", POINTER(ompjit_rtl_layout)),
        ("ndeclarations", c_uint32),
        ("nolds", c_uint32),
        ("nlayouts", c_uint32),
        ("oldest", c_uint32),
        ("newest", c_uint32),
        ("calling_convention", c_uint32),
        ("address_space", c_uint32),
        ("unused", c_uint32),
    ]
