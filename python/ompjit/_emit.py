# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of expressions, by numpy's rules, and the C for them.

Every value has a DType, or is weak: a constant, or a number of Python's, that
takes the type of what it meets ("i", "f" or "c"). Operands of different types
are converted to the type of the result before the operation. Integers are
divided as C does it.
"""
from __future__ import annotations

import math

from . import TYPE_CHECKING, _functions as functions, _weak as weak
from ._dtype import (
    DType,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int32,
    int64,
    result_type,
    uint32,
    uint64,
)
from ._errors import ArgumentError, RangeError
from ._numbers import pack, unpack
from ._parse import Node, Statement, fail, in_depth, located

if TYPE_CHECKING:
    from typing import Callable, Mapping, NamedTuple, Union
else:
    from ._typing import Callable, Mapping, NamedTuple, Union

Kind = Union[DType, str]  # a str is weak
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
# Comparisons, by what those of a signed and an unsigned number are called.
_SIGNED = {
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}
_MIRRORED = str.maketrans("<>", "><")


def strong(kind: Kind, by: DType | None = None) -> DType:
    """The type that a weak value has beside values of type `by`."""
    if isinstance(kind, DType):
        return kind
    if kind == "i":
        return int64
    if by is not None and by.kind in "fc":
        if kind == "f":
            return functions.real_of(by) if by.is_complex else by
        single = by.itemsize <= 4 or by is complex64
        return complex64 if single else complex128
    return float64 if kind == "f" else complex128


def is_whole(kind: Kind) -> bool:
    """Whether it is a weak integer's. The type int32 is equal to its letter."""
    return isinstance(kind, str) and kind == "i"


def promote(a: Kind, b: Kind) -> Kind:
    """The type of an operation on two values."""
    if isinstance(a, DType) and isinstance(b, DType):
        return result_type(a, b)
    if isinstance(b, DType):
        a, b = b, a
    if not isinstance(a, DType):
        return max(a, str(b), key=lambda kind: _RANK[kind])
    if _RANK[a.kind] >= _RANK[str(b)]:
        return a
    return strong(b, a)


class C(NamedTuple):
    """C for a value, and its type. `weak`: what an integer of weak type can be;
    nothing where that is not known."""

    text: str
    kind: Kind
    weak: tuple[weak.Weak, ...] = ()


def constant_of(kind: DType, value: complex) -> str:
    """The C of an element; RangeError where the type has no such number."""
    (found,) = unpack(kind, pack(kind, [value]))
    if isinstance(found, complex):
        part = functions.real_of(kind).c
        real, imaginary = map(_floating, (found.real, found.imag))
        return f"__builtin_complex(({part}){real}, ({part}){imaginary})"
    if isinstance(found, float):
        return f"({kind.c}){_floating(found)}"
    if found < 0:
        return f"({kind.c})({found + 1}l - 1)"
    return f"({kind.c}){int(found)}{'ul' if kind is uint64 else 'l'}"


def _floating(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    sign = "-" if value < 0 else ""
    return '__builtin_nan("")' if value != value else f"{sign}__builtin_inf()"


Element = Callable[["Emitter", Node], C]


class Emitter:
    """Makes C of the statements of a text.

    Args:
        text: for messages.
        types: of variables that have values before.
        by: the type that weak values take.
        element: makes C of an element, `x[...]`.
        preamble: C that defines further functions.
    """

    def __init__(
        self,
        text: str,
        types: Mapping[str, Kind],
        by: DType | None,
        element: Element | None = None,
        preamble: str = "",
    ) -> None:
        self.text = text
        self.types: dict[str, Kind] = dict(types)
        self.integers = {n for n, kind in types.items() if is_whole(kind)}
        self.by = by
        self.element = element
        self.declared = functions.declared(preamble) if preamble else {}
        self.assigned: dict[str, Kind] = {}  # outputs
        self.helpers: dict[str, str] = {}
        self.headers: set[str] = set()
        self.bounds = weak.Bounds()
        self.locals: set[str] = set()

    def head(self, preamble: str) -> str:
        """What stands before the kernel."""
        includes = [f"#include <{name}>" for name in sorted(self.headers)]
        parts = [*includes, preamble, *self.helpers.values()]
        return "".join(f"{part}\n" for part in parts if part)

    # ------------------------------------------------------------ statements

    def statements(self, statements: list[Statement], indent: str) -> str:
        texts = [in_depth(self.text, self.statement, s, indent) for s in statements]
        return "".join(texts)

    def statement(self, s: Statement, indent: str) -> str:
        if s.kind == "expression":
            return f"{indent}{self.effect(s.parts[0])};\n"
        if s.kind == "declare":
            return f"{indent}{self.declaration(s)};\n"
        if s.kind == "jump":
            return f"{indent}{s.parts[0]};\n"
        if s.kind == "block":
            inner = self.statements(list(s.parts), indent + "    ")
            return f"{indent}{{\n{inner}{indent}}}\n"
        if s.kind == "for":
            return self.loop(s, indent)
        condition = self.condition(s.parts[0])
        text = f"{indent}{s.kind} ({condition})\n"
        text += self.statement(self.braced(s.parts[1]), indent)
        if s.kind == "if" and s.parts[2] is not None:
            text += f"{indent}else\n"
            text += self.statement(self.braced(s.parts[2]), indent)
        return text

    @staticmethod
    def braced(s: Statement) -> Statement:
        return s if s.kind == "block" else Statement("block", s.place, (s,))

    def loop(self, s: Statement, indent: str) -> str:
        first, condition, step, body = s.parts
        text = ""
        if first is not None:
            text = (
                self.declaration(first)
                if first.kind == "declare"
                else self.effect(first.parts[0])
            )
        middle = self.condition(condition) if condition else ""
        last = self.effect(step) if step else ""
        inner = self.statement(self.braced(body), indent)
        return f"{indent}for ({text}; {middle}; {last})\n{inner}"

    def declaration(self, s: Statement) -> str:
        kind, texts = s.parts[0], []
        for name, value, place in s.parts[1:]:
            if value is None:
                texts.append(f"v_{name}")
            else:
                found = self.value(value)
                kind = kind or strong(found.kind, self.by)
                texts.append(f"v_{name} = {self.converted(found, kind)}")
            self.types[name] = kind
            self.locals.add(name)
        return f"{kind.c} {', '.join(texts)}"

    def effect(self, n: Node) -> str:
        """An expression for what it does."""
        if n.kind == "assign":
            return self.assign(n)
        return self.value(n).text

    def assign(self, n: Node) -> str:
        operator, target, value = n.parts
        if value.kind == "assign":
            fail(self.text, value.place, "one assignment a statement")
        found = self.value(value)
        if target.kind == "element":
            place = self.value(target)
            assert isinstance(place.kind, DType)
            return self.stored(operator, place.text, place.kind, found, n)
        name = target.parts[0]
        if operator != "=":
            before = self.value(target)
            found = self.operation(operator[:-1], before, found, n.place)
        known = self.types.get(name)
        if isinstance(known, DType) and known.kind != "c":
            self.refuse_complex(found, n)
        self.meet(found, known if isinstance(known, DType) else int64, n.place)
        if name not in self.locals:
            seen = self.assigned.get(name)
            kind = found.kind if seen is None else promote(seen, found.kind)
            self.assigned[name] = kind
            if name not in self.types:
                self.types[name] = kind
        to = f"(__typeof__(v_{name}))"
        return f"v_{name} = {to}({found.text})"

    def stored(
        self, operator: str, place: str, kind: DType, found: C, n: Node
    ) -> str:
        if operator != "=":
            found = self.operation(
                operator[:-1], C(place, kind), found, n.place
            )
        if not kind.is_complex:
            self.refuse_complex(found, n)
        self.meet(found, kind, n.place)
        return f"{place} = ({kind.c})({found.text})"

    def refuse_complex(self, found: C, n: Node) -> None:
        if strong(found.kind).is_complex:
            fail(self.text, n.place, "a complex number becomes a real one")

    # ----------------------------------------------------------- expressions

    def converted(self, c: C, kind: DType) -> str:
        return c.text if c.kind is kind else f"({kind.c}){c.text}"

    def meet(self, c: C, kind: DType, place: int) -> None:
        """A value takes a type: a weak integer must be one of its numbers."""
        if kind.kind not in "iu":
            return
        try:
            self.bounds.add(c.weak, kind)
        except RangeError as error:
            raise RangeError(located(self.text, place, error.text)) from None

    def condition(self, n: Node) -> str:
        return self.value(n).text

    def value(self, n: Node) -> C:
        found: C = getattr(self, "of_" + n.kind)(n)
        return found

    def of_number(self, n: Node) -> C:
        text = n.parts[0].lower()
        if text.startswith("0x"):
            digits = text.rstrip("ul")
            suffix = text[len(digits) :]
            return self.integer(int(digits, 16), suffix, n)
        if text[-1] in "ji":
            try:
                return C(f"__builtin_complex(0.0, {float(text[:-1])})", "c")
            except ValueError:
                fail(self.text, n.place, f"{text[:-1]!r} cannot be imaginary")
        digits = text
        suffix = ""
        for end in ("f16", "ul", "lu", "f", "l", "u"):
            if text.endswith(end):
                digits, suffix = text[: -len(end)], end
                break
        if digits.isdigit() and "f" not in suffix:
            base = 8 if len(digits) > 1 and digits[0] == "0" else 10
            return self.integer(int(digits, base), suffix, n)
        if suffix == "f16":
            return C(f"(_Float16){digits}f", float16)
        if suffix == "f":
            return C(digits + "f", float32)
        if suffix == "l":
            fail(self.text, n.place, "long double is not supported")
        return C(self.floating(digits), "f")

    def integer(self, value: int, suffix: str, n: Node) -> C:
        if value >= 1 << 64:
            fail(self.text, n.place, "too large a number")
        if "u" in suffix:
            wide = "l" in suffix or value >= 1 << 32
            kind = uint64 if wide else uint32
            return C(f"{value}u{'l' if wide else ''}", kind)
        if "l" in suffix:
            return C(f"{value}l", int64)
        if value >= 1 << 63:
            if self.by is not None and self.by.kind in "fc":
                return C(self.floating(f"{value}.0"), "f")
            return C(f"{value}ul", uint64)
        return self.literal(value)

    def literal(self, value: int) -> C:
        """An integer of weak type."""
        text = f"{abs(value)}{'l' if abs(value) >= 1 << 31 else ''}"
        if value < 0:
            text = f"(-{text})"
        return C(text, "i", (weak.constant(value),))

    def floating(self, digits: str) -> str:
        """A weak constant in the type that it takes."""
        by = strong("f", self.by)
        if by is float64:
            return digits
        text = f"{digits}f" if digits[-1].isdigit() or "." in digits else digits
        return f"(_Float16){text}" if by is float16 else text

    def of_name(self, n: Node) -> C:
        name = n.parts[0]
        kind = self.types.get(name)
        if kind is not None:
            value = (weak.argument(name),) if name in self.integers else ()
            return C(f"v_{name}", kind, value)
        if name == "I":
            return C("__builtin_complex(0.0, 1.0)", "c")
        text = functions.CONSTANTS.get(name)
        if text is None:
            fail(self.text, n.place, f"'{name}' has no value here")
        if text.isdigit():
            return C(text, bool_)
        if text[0].isdigit():
            return C(self.floating(text), "f")
        by = strong("f", self.by)
        return C(f"({by.c}){text}", "f")

    def of_element(self, n: Node) -> C:
        if self.element is None:
            fail(self.text, n.place, "no elements here")
        return self.element(self, n)

    def of_cast(self, n: Node) -> C:
        kind, inner = n.parts
        found = self.value(inner)
        if not kind.is_complex:
            self.refuse_complex(found, n)
        return C(f"(({kind.c}){found.text})", kind)

    def of_assign(self, n: Node) -> C:
        fail(self.text, n.place, "an assignment within an expression")

    def of_unary(self, n: Node) -> C:
        operator, inner = n.parts
        found = self.value(inner)
        if operator in ("++", "--"):
            return C(f"({operator}{found.text})", found.kind)
        if operator == "!":
            return C(f"(!{found.text})", bool_)
        kind = found.kind
        if operator == "~":
            if strong(kind).kind not in "iub":
                fail(self.text, n.place, "~ of a number that is no integer")
            if kind is bool_:
                return C(f"(!{found.text})", bool_)
        if kind is bool_:
            kind = int32
        value = weak.unary(operator, found.weak)
        return self.folded(C(f"({operator}{found.text})", kind, value))

    def folded(self, c: C) -> C:
        """A constant as such: C would calculate it in 32 bits."""
        value = weak.known(c.weak)
        if value is None or not -(1 << 63) < value < 1 << 63:
            return c
        return self.literal(value)

    def of_postfix(self, n: Node) -> C:
        operator, inner = n.parts
        found = self.value(inner)
        return C(f"({found.text}{operator})", found.kind)

    def of_choice(self, n: Node) -> C:
        condition, yes, no = map(self.value, n.parts)
        return self.chosen(condition, yes, no, n.place)

    def chosen(self, condition: C, yes: C, no: C, place: int) -> C:
        kind = promote(yes.kind, no.kind)
        if isinstance(kind, DType):
            a, b = self.converted(yes, kind), self.converted(no, kind)
            self.meet(yes, kind, place)
            self.meet(no, kind, place)
        else:
            a, b = yes.text, no.text
        text = f"({condition.text} ? {a} : {b})"
        return C(text, kind, self.either([yes, no]))

    def either(self, values: list[C]) -> tuple[weak.Weak, ...]:
        """The alternatives of a value that is one of several."""
        if not all(v.weak for v in values):
            return ()
        return tuple(one for v in values for one in v.weak)

    def of_binary(self, n: Node) -> C:
        operator, left, right = n.parts
        if operator == "**" and right.kind == "number":
            power = self.small_power(left, right.parts[0])
            if power:
                return power
        return self.operation(
            operator, self.value(left), self.value(right), n.place
        )

    def small_power(self, left: Node, digits: str) -> C | None:
        if digits not in ("1", "2", "3", "4"):
            return None
        found = self.value(left)
        kind = strong(found.kind, self.by)
        name = f"ompjit_power{digits}_{kind.name}"
        product = {"1": "a", "2": "a * a", "3": "a * a * a"}.get(
            digits, "(a * a) * (a * a)"
        )
        self.helpers[name] = (
            f"static inline {kind.c} {name}({kind.c} a)\n"
            f"{{\n    return {product};\n}}\n"
        )
        return C(f"{name}({found.text})", found.kind)

    def operation(self, operator: str, a: C, b: C, place: int) -> C:
        if operator in ("&&", "||"):
            return C(f"({a.text} {operator} {b.text})", bool_)
        kind = promote(a.kind, b.kind)
        if operator == "**":
            return self.call("pow", [a, b], place)
        code = strong(kind).kind
        if operator in ("<", ">", "<=", ">=") and code == "c":
            fail(self.text, place, "complex numbers have no order")
        if operator in ("&", "|", "^", "<<", ">>", "%") and code in "fc":
            if operator == "%" and code == "f":
                return self.call("fmod", [a, b], place)
            fail(self.text, place, f"{operator} of numbers that are no integers")
        if operator in _SIGNED:
            return C(self.compared(operator, a, b, kind), bool_)
        x, y = a.text, b.text
        if isinstance(kind, DType) and kind is not bool_:
            x, y = self.operand(a, kind), self.operand(b, kind)
            self.meet(a, kind, place)
            self.meet(b, kind, place)
        if kind is bool_ and operator not in ("&", "|", "^"):
            kind = int32  # as in C
        value = weak.binary(operator, a.weak, b.weak)
        return self.folded(C(f"({x} {operator} {y})", kind, value))

    def compared(self, operator: str, a: C, b: C, kind: Kind) -> str:
        """A comparison. Integers are compared by their values: C makes a
        negative number unsigned where the other one is."""
        kinds = strong(a.kind), strong(b.kind)
        weaks = [c for c in (a, b) if is_whole(c.kind)]
        values = [weak.known(c.weak) for c in weaks]
        # A constant from 0 on becomes unsigned as it is.
        simple = len(values) == 1 and values[0] is not None and values[0] >= 0
        if {k.kind for k in kinds} == {"i", "u"} and not simple:
            if weaks and uint32 in kinds:
                return f"((long){a.text} {operator} (long){b.text})"
            if uint64 in kinds:
                return self.compared_64(operator, a, b)
        x, y = a.text, b.text
        if isinstance(kind, DType) and kind is not bool_:
            x, y = self.operand(a, kind), self.operand(b, kind)
        return f"({x} {operator} {y})"

    def compared_64(self, operator: str, a: C, b: C) -> str:
        """That of a uint64 and a signed integer."""
        if a.kind is uint64:
            a, b = b, a
            operator = operator.translate(_MIRRORED)
        name = f"ompjit_{_SIGNED[operator]}"
        test = "a < 0 ||" if operator in ("<", "<=", "!=") else "a >= 0 &&"
        self.helpers[name] = (
            f"static inline _Bool {name}(long a, unsigned long b)\n"
            f"{{\n    return {test} (unsigned long)a {operator} b;\n}}\n"
        )
        return f"{name}({a.text}, {b.text})"

    def operand(self, c: C, kind: DType) -> str:
        """A strong operand is converted; C does it for weak ones."""
        if not isinstance(c.kind, DType) or c.kind is kind:
            return c.text
        return f"({kind.c}){c.text}"

    # -------------------------------------------------------------- functions

    def of_call(self, n: Node) -> C:
        name, *arguments = n.parts
        return self.call(name, [self.value(a) for a in arguments], n.place)

    def call(self, name: str, values: list[C], place: int) -> C:
        if name in self.declared:
            return self.own(name, values)
        name = functions.ALIASES.get(name, name)
        if name == "where":
            self.count(name, values, 3, place)
            condition, yes, no = values
            return self.chosen(condition, yes, no, place)
        if name in functions.TESTS:
            self.count(name, values, 1, place)
            kind = self.floating_type(values)
            text = self.converted(values[0], float32 if kind is float16 else kind)
            return C(f"(_Bool){functions.TESTS[name]}({text})", bool_)
        if name in ("real", "imag", "conj", "angle", "creal", "cimag", "cabs"):
            self.count(name, values, 1, place)
            c = {"creal": "real", "cimag": "imag", "cabs": "abs"}
            return self.complex_part(c.get(name, name), values[0])
        if name in functions.SAME:
            return self.same(name, values, place)
        if name in functions.MATH:
            return self.math(name, values, place)
        fail(
            self.text,
            place,
            f"no function '{name}'; `preamble` can define one",
        )

    def count(self, name: str, values: list[C], want: int, place: int) -> None:
        if len(values) != want:
            fail(
                self.text,
                place,
                f"{name} takes {want} arguments, not {len(values)}",
            )

    def own(self, name: str, values: list[C]) -> C:
        try:
            kind: Kind = dtype(self.declared[name])
        except ArgumentError:
            kind = float64
        arguments = ", ".join(v.text for v in values)
        return C(f"{name}({arguments})", kind)

    def common(self, values: list[C]) -> Kind:
        kind = values[0].kind
        for v in values[1:]:
            kind = promote(kind, v.kind)
        return kind

    def floating_type(self, values: list[C]) -> DType:
        kind = self.common(values)
        found = strong(kind, self.by)
        if found.kind in "fc":
            return found
        if isinstance(kind, str):  # a weak integer
            return strong("f", self.by)
        least = {1: float16, 2: float32}.get(found.itemsize, float64)
        return float64 if found.kind == "b" or least is float16 else least

    def same(self, name: str, values: list[C], place: int) -> C:
        self.count(name, values, len(functions.SAME[name][0].split()), place)
        kind = self.common(values)
        found = strong(kind, self.by)
        if found.is_complex:
            if name == "abs":
                return self.complex_part("abs", values[0])
            if name != "square":
                fail(self.text, place, f"{name} of complex numbers")
        if name == "rsqrt":
            found = kind = self.floating_type(values)
        if name == "abs" and found.kind == "f":
            return self.math("fabs", values, place)
        called, text = functions.helper(name, found)
        self.helpers[called] = text
        arguments = ", ".join(self.converted(v, found) for v in values)
        for v in values:
            self.meet(v, found, place)
        one_of = self.either(values) if name in ("min", "max") else ()
        return C(f"{called}({arguments})", kind, one_of)

    def complex_part(self, name: str, value: C) -> C:
        kind = strong(value.kind, self.by)
        if not kind.is_complex:
            if name in ("real", "conj"):
                return value
            if name == "imag":
                return C(f"({kind.c})0", value.kind)
            if name == "abs":
                return self.same("abs", [value], 0)
            kind = complex64 if kind is float32 else complex128
        self.headers.add("complex.h")
        part = functions.real_of(kind)
        end = "f" if part is float32 else ""
        function = {"angle": "carg"}.get(name, "c" + name)
        if name == "conj":
            return C(f"conj{end}({value.text})", value.kind)
        text = self.converted(value, kind)
        return C(f"{function}{end}({text})", part)

    def math(self, name: str, values: list[C], place: int) -> C:
        self.count(name, values, functions.MATH[name], place)
        kind = self.floating_type(values)
        weak = isinstance(self.common(values), str)
        if kind.is_complex:
            if name not in functions.COMPLEX:
                fail(self.text, place, f"{name} of complex numbers")
            self.headers.add("complex.h")
            called = f"c{name}{'f' if kind is complex64 else ''}"
        else:
            self.headers.add("math.h")
            called = name if kind is float64 else f"{name}f"
        inner = float32 if kind is float16 else kind
        arguments = ", ".join(self.converted(v, inner) for v in values)
        text = f"{called}({arguments})"
        if kind is float16:
            text = f"(_Float16){text}"
        return C(text, "f" if weak and kind.kind == "f" else kind)
