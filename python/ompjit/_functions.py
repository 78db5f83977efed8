# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that expressions can call, by name.

Those of <math.h> take and return the type of their arguments: float32 calls
sqrtf, complex128 csqrt. Integers become float64, as numpy has it.
"""
from __future__ import annotations

from ._dtype import DType, float32, float64

# Functions of <math.h> on floating-point numbers: how many arguments.
MATH = {
    name: count
    for count, names in (
        (
            1,
            "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin "
            "acos atan sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma "
            "floor ceil trunc round rint nearbyint fabs",
        ),
        (2, "pow atan2 fmod remainder hypot fmin fmax fdim copysign nextafter"),
        (3, "fma"),
    )
    for name in names.split()
}

# numpy's names, and others, for functions of C.
ALIASES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "power": "pow",
    "gamma": "tgamma",
    "absolute": "abs",
    "minimum": "min",
    "maximum": "max",
    "select": "where",
    "conjugate": "conj",
    "arg": "angle",
}

# Those that <complex.h> has, too.
COMPLEX = frozenset(
    "sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "pow".split()
)

# Of floating-point numbers to bool.
TESTS = {
    "isnan": "__builtin_isnan",
    "isinf": "__builtin_isinf",
    "isfinite": "__builtin_isfinite",
    "signbit": "__builtin_signbit",
}

# Of numbers of one type to the same: parameters, and C. {T} is the type. A
# float's minimum is NaN where either is, as numpy has it.
SAME = {
    "min": ("a b", "a < b || a != a ? a : b"),
    "max": ("a b", "a > b || a != a ? a : b"),
    "abs": ("a", "a < 0 ? ({T})-a : a"),
    "sign": ("a", "a != a ? a : ({T})((a > 0) - (a < 0))"),
    "clip": ("a b c", "a < b ? b : a > c ? c : a"),
    "square": ("a", "a * a"),
    "rsqrt": ("a", "1 / ({T})__builtin_sqrt(a)"),
}

# Names that stand for numbers.
CONSTANTS = {
    "M_PI": "3.14159265358979323846",
    "pi": "3.14159265358979323846",
    "M_E": "2.71828182845904523536",
    "INFINITY": "__builtin_inf()",
    "NAN": '__builtin_nan("")',
    "inf": "__builtin_inf()",
    "nan": '__builtin_nan("")',
    "true": "1",
    "false": "0",
    "True": "1",
    "False": "0",
}


def real_of(kind: DType) -> DType:
    """The type of a complex number's parts."""
    return float32 if kind.itemsize == 8 else float64


def helper(name: str, kind: DType) -> tuple[str, str]:
    """The name and the C of a function of SAME for a type."""
    params, body = SAME[name]
    if kind.kind in "bu" and name in ("abs", "sign"):
        body = "a" if name == "abs" else "a != 0"
    elif kind.kind in "iu" and name in ("min", "max"):
        body = body.replace(" || a != a", "")
    elif kind.kind == "i" and name == "sign":
        body = "(a > 0) - (a < 0)"
    called = f"ompjit_{name}_{kind.name}"
    arguments = ", ".join(f"{kind.c} {p}" for p in params.split())
    text = body.format(T=kind.c)
    return called, (
        f"static inline {kind.c} {called}({arguments})\n"
        f"{{\n    return {text};\n}}\n"
    )


def declared(preamble: str) -> dict[str, str]:
    """The functions that a preamble defines, with the C of their results."""
    if not preamble:
        return {}
    import re

    found = re.findall(
        r"^[ \t]*((?:[A-Za-z_][\w ]*?[ *]+)+)([A-Za-z_]\w*)\s*\([^;{)]*\)\s*\{",
        preamble,
        re.MULTILINE,
    )
    skip = {"static", "inline", "const", "extern", "constexpr"}
    return {
        name: " ".join(w for w in kind.split() if w not in skip)
        for kind, name in found
    }
