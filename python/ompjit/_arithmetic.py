# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and methods of arrays, each a kernel made of an expression.

Types of results are numpy's. numpy's own functions, such as numpy.sqrt(a), are
taken, too, where there is an expression for them.
"""
from __future__ import annotations

from . import TYPE_CHECKING
from ._dtype import DType, dtype as dtype_of
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any, Sequence, Union

    from ._array import ndarray
else:
    from ._typing import Any, Sequence, Union, ndarray

Axis = Union[int, Sequence[int], None]


# Expressions by numpy's names; those that are functions of the same name have
# none.
_TEXTS = {
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "power": "a ** b",
    "equal": "a == b",
    "not_equal": "a != b",
    "less": "a < b",
    "less_equal": "a <= b",
    "greater": "a > b",
    "greater_equal": "a >= b",
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "left_shift": "a << b",
    "right_shift": "a >> b",
    "logical_and": "a && b",
    "logical_or": "a || b",
    "logical_not": "!a",
    "negative": "-a",
    "positive": "+a",
    "invert": "~a",
    "floor_divide": "floor(a / b)",
    "remainder": "a - floor(a / b) * b",
}
_ONE = frozenset(
    "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos "
    "arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint fabs "
    "absolute sign square isnan isinf isfinite signbit conjugate".split()
)
_TWO = frozenset(
    "minimum maximum fmin fmax arctan2 hypot fmod copysign nextafter".split()
)
# Of integers: quotients as numpy has them, 0 where the divisor is.
_INTEGER = {
    "floor_divide": (
        "b == 0 ? 0 : b == -1 ? -a : "
        "a / b - (a % b != 0 && (a < 0) != (b < 0))"
    ),
    "remainder": (
        "b == 0 || b == -1 ? 0 : "
        "a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0)"
    ),
}
_UNSIGNED = {
    "floor_divide": "b == 0 ? 0 : a / b",
    "remainder": "b == 0 ? 0 : a % b",
}


def _kind(value: Any) -> str:
    """The kind of a value's type: "i", "f", ..."""
    if isinstance(value, bool):
        return "b"
    if isinstance(value, (int, float, complex)):
        return {int: "i", float: "f"}.get(type(value), "c")
    return _type(value).kind


def _type(value: Any) -> DType:
    """That of an array's elements, which some libraries name in their own
    way."""
    try:
        return dtype_of(value.dtype)
    except ArgumentError:
        from ._make import asarray

        return asarray(value).dtype


def _text(name: str, values: Sequence[Any]) -> str:
    """The expression for an operation on such values."""
    kinds = "".join(_kind(v) for v in values)
    whole = not set(kinds) & set("fc")
    if name in ("true_divide", "divide"):
        return "float64(a) / float64(b)" if whole else "a / b"
    if whole and name in _INTEGER:
        signed = "i" in kinds
        return (_INTEGER if signed else _UNSIGNED)[name]
    if set(kinds) == {"b"}:
        if name == "add":
            return "a | b"
        if name == "multiply":
            return "a & b"
    if name in _TEXTS:
        return _TEXTS[name]
    return f"{name}(a)" if name in _ONE else f"{name}(a, b)"


def operate(name: str, *values: Any, out: Any = None) -> Any:
    """An operation by numpy's name on arrays and numbers."""
    from ._expression import elementwise

    if name == "subtract" and all(_kind(v) == "b" for v in values):
        raise ArgumentError("boolean arrays have no difference; use ^")
    if name == "negative" and _kind(values[0]) == "b":
        raise ArgumentError("boolean arrays have no negative; use ~")
    return elementwise(_text(name, values))(out=out, **dict(zip("ab", values)))


def _usable(value: Any) -> bool:
    """Whether an operand is one that operators take."""
    if isinstance(value, (int, float, complex)):
        return True
    return hasattr(value, "dtype") and hasattr(value, "shape")


def refuse_out(name: str, out: object) -> None:
    if out is not None:
        raise ArgumentError(f"{name} takes no out; assign its result")


class Arithmetic:
    """Operators of ndarray, and its reductions."""

    __slots__ = ()

    if TYPE_CHECKING:
        dtype: DType
        shape: tuple[int, ...]

        @property
        def size(self) -> int: ...
        def astype(self, dtype: object, copy: bool = True) -> ndarray: ...
        def set(self, value: Any) -> None: ...

    __hash__ = None  # type: ignore[assignment]

    def _two(self, name: str, other: Any) -> Any:
        if not _usable(other):
            return NotImplemented
        return operate(name, self, other)

    def _back(self, name: str, other: Any) -> Any:
        if not _usable(other):
            return NotImplemented
        return operate(name, other, self)

    def _in_place(self, name: str, other: Any) -> Any:
        if not _usable(other):
            return NotImplemented
        from ._dtype import result_type

        fits = self.dtype.kind in "fc" or name not in ("true_divide",)
        kind = _kind(other)
        if isinstance(other, (int, float, complex)):
            rank = "bifc"
            fits = fits and rank.index(kind) <= rank.index(
                self.dtype.kind.replace("u", "i")
            )
        else:
            both = result_type(self.dtype, _type(other))
            fits = fits and both.kind in (self.dtype.kind, "i", "u")[
                : 3 if self.dtype.kind in "iu" else 1
            ]
        if not fits:
            raise ArgumentError(
                f"the result of {name} does not fit into {self.dtype}"
            )
        self.set(operate(name, self, other))
        return self

    def __add__(self, other: Any) -> Any:
        return self._two("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._back("add", other)

    def __iadd__(self, other: Any) -> Any:
        return self._in_place("add", other)

    def __sub__(self, other: Any) -> Any:
        return self._two("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._back("subtract", other)

    def __isub__(self, other: Any) -> Any:
        return self._in_place("subtract", other)

    def __mul__(self, other: Any) -> Any:
        return self._two("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._back("multiply", other)

    def __imul__(self, other: Any) -> Any:
        return self._in_place("multiply", other)

    def __truediv__(self, other: Any) -> Any:
        return self._two("true_divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._back("true_divide", other)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place("true_divide", other)

    def __floordiv__(self, other: Any) -> Any:
        return self._two("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._back("floor_divide", other)

    def __mod__(self, other: Any) -> Any:
        return self._two("remainder", other)

    def __rmod__(self, other: Any) -> Any:
        return self._back("remainder", other)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 1 <= other <= 4:
            from ._expression import elementwise

            return elementwise(f"a ** {other}")(self)
        return self._two("power", other)

    def __rpow__(self, other: Any) -> Any:
        return self._back("power", other)

    def __and__(self, other: Any) -> Any:
        return self._two("bitwise_and", other)

    def __rand__(self, other: Any) -> Any:
        return self._back("bitwise_and", other)

    def __or__(self, other: Any) -> Any:
        return self._two("bitwise_or", other)

    def __ror__(self, other: Any) -> Any:
        return self._back("bitwise_or", other)

    def __xor__(self, other: Any) -> Any:
        return self._two("bitwise_xor", other)

    def __rxor__(self, other: Any) -> Any:
        return self._back("bitwise_xor", other)

    def __lshift__(self, other: Any) -> Any:
        return self._two("left_shift", other)

    def __rshift__(self, other: Any) -> Any:
        return self._two("right_shift", other)

    def __eq__(self, other: Any) -> Any:
        return self._two("equal", other)

    def __ne__(self, other: Any) -> Any:
        return self._two("not_equal", other)

    def __lt__(self, other: Any) -> Any:
        return self._two("less", other)

    def __le__(self, other: Any) -> Any:
        return self._two("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._two("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._two("greater_equal", other)

    def __neg__(self) -> Any:
        return operate("negative", self)

    def __pos__(self) -> Any:
        return operate("positive", self)

    def __invert__(self) -> Any:
        return operate("invert", self)

    def __abs__(self) -> Any:
        return operate("absolute", self)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """numpy's functions of elements, on the device."""
        name = ufunc.__name__
        known = name in _TEXTS or name in _ONE or name in _TWO
        known = known or name in ("true_divide", "divide")
        out = options.pop("out", None)
        if method != "__call__" or not known or options:
            return NotImplemented
        if out is not None and len(out) == 1:
            (out,) = out
        return operate(name, *inputs, out=out)

    # ------------------------------------------------------------ reductions

    def _reduce(
        self, text: str, op: str, axis: Axis, options: dict[str, Any]
    ) -> Any:
        from ._reduce import reduction

        return reduction(text, op)(self, axis=axis, **options)

    def sum(self, axis: Axis = None, **options: Any) -> Any:
        """The sum over all dimensions, a number, or over some, an array. Takes
        `keepdims`, `dtype` and `out`, as the reductions below do."""
        return self._reduce("a", "+", axis, options)

    def prod(self, axis: Axis = None, **options: Any) -> Any:
        """The product."""
        return self._reduce("a", "*", axis, options)

    def min(self, axis: Axis = None, **options: Any) -> Any:
        """The least element; NaN where one is."""
        return self._reduce("a", "min", axis, options)

    def max(self, axis: Axis = None, **options: Any) -> Any:
        """The largest element; NaN where one is."""
        return self._reduce("a", "max", axis, options)

    def any(self, axis: Axis = None, **options: Any) -> Any:
        """Whether one is not 0."""
        return self._reduce("a != 0", "||", axis, options)

    def all(self, axis: Axis = None, **options: Any) -> Any:
        """Whether none is 0."""
        return self._reduce("a != 0", "&&", axis, options)

    # numpy.mean(a) and the like pass `dtype` and `out`.

    def mean(
        self,
        axis: Axis = None,
        keepdims: bool = False,
        *,
        dtype: object = None,
        out: None = None,
    ) -> Any:
        """The mean, calculated in `dtype`; of integers in float64."""
        refuse_out("mean", out)
        whole = self.dtype.kind in "iub" and dtype is None
        options = {"keepdims": keepdims, "dtype": dtype}
        text = "float64(a)" if whole else "a"
        return self._reduce(text, "+", axis, options) / self._count(axis)

    def var(
        self,
        axis: Axis = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        dtype: object = None,
        out: None = None,
    ) -> Any:
        """The variance, in two passes; divided by the count less `ddof`."""
        refuse_out("var", out)
        if dtype is not None:
            return self.astype(dtype).var(axis, ddof, keepdims)
        from ._reduce import reduction

        mean = self.mean(axis, keepdims=True)
        total = reduction("square(abs(a - m))", "+")(
            self, mean, axis=axis, keepdims=keepdims
        )
        return total / (self._count(axis) - ddof)

    def std(
        self,
        axis: Axis = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        dtype: object = None,
        out: None = None,
    ) -> Any:
        """The standard deviation."""
        refuse_out("std", out)
        return self.var(axis, ddof, keepdims, dtype=dtype) ** 0.5

    def dot(self, other: Any) -> Any:
        """The sum of the products of two arrays of one dimension."""
        from ._reduce import reduction

        if len(self.shape) != 1 or tuple(other.shape) != self.shape:
            raise ArgumentError(
                f"dot of shapes {self.shape} and {tuple(other.shape)}; both "
                "have one dimension of the same length"
            )
        return reduction("a * b", "+")(self, other)

    def _count(self, axis: Axis) -> int:
        if axis is None:
            return self.size
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
        count = 1
        for a in axes:
            count *= self.shape[a]
        return count

    def clip(self, low: Any, high: Any) -> Any:
        """The elements, not below `low` and not above `high`."""
        from ._expression import elementwise

        return elementwise("clip(a, low, high)")(self, low, high)

    def conj(self) -> Any:
        """Complex conjugates."""
        from ._expression import elementwise

        return elementwise("conj(a)")(self)

    @property
    def real(self) -> Any:
        """The real parts, copied."""
        from ._expression import elementwise

        return elementwise("real(a)")(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts, copied."""
        from ._expression import elementwise

        return elementwise("imag(a)")(self)
