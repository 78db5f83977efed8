# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""@ompjit.target: a Python function whose text is C."""
from __future__ import annotations

import __future__
import functools
import textwrap
import types

from . import TYPE_CHECKING
from ._dtype import DType, dtype
from ._errors import ArgumentError
from ._module import Module
from ._parse import Parser
from ._function import Function

if TYPE_CHECKING:
    from typing import Any, Callable
else:
    from ._typing import Any, Callable

_PYTHON = {int: "long", float: "double", bool: "_Bool", None: "void"}


def _annotation(function: Any, name: str) -> Any:
    found = function.__annotations__.get(name)
    later = __future__.annotations.compiler_flag
    if isinstance(found, str) and function.__code__.co_flags & later:
        return eval(found, function.__globals__)  # as Python would have
    return found


def _declared(kind: Any, name: str) -> str:
    """The C of a parameter, of its annotation."""
    if isinstance(kind, DType):
        return f"{kind.c} {name}"
    if isinstance(kind, type) or kind is None:
        if kind not in _PYTHON or name and kind is None:
            raise ArgumentError(f"{name} is annotated with {kind!r}, no C type")
        return f"{_PYTHON[kind]} {name}"
    if not isinstance(kind, str):
        return f"{dtype(kind).c} {name}"
    text, array, _ = kind.partition("[:]")
    const = "const " if text.split()[:1] == ["const"] else ""
    parser = Parser(text)
    number = parser.type()
    if number is not None and parser.kind == "end":  # numpy's names, too
        text = const + number.c
    return f"{text} *{name}" if array else f"{text} {name}"


class Target:
    """A function of C that looks like one of Python; @ompjit.target makes it.
    It is pickled as its C and its options, but the context.

    Attributes:
        source: the C.
        module: compiled when it is first needed.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise ArgumentError(
                f"a {type(function).__name__} is no function of Python"
            )
        functools.update_wrapper(self, function)
        body = function.__doc__
        if not body:
            raise ArgumentError(
                f"{function.__name__} has no text (python -OO removes it); "
                "its docstring is the C"
            )
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        preamble = options.pop("preamble", "")
        result = _declared(_annotation(function, "return"), "").strip()
        params = []
        for name in names:
            if name not in function.__annotations__:
                raise ArgumentError(f"{name} has no annotation with its C type")
            params.append(_declared(_annotation(function, name), name))
        body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        self.source = (
            f"{preamble}{result} {function.__name__}"
            f"({', '.join(params) or 'void'})\n{{\n{body}\n}}\n"
        )
        self._start(function.__name__, options)

    def _start(self, name: str, options: dict[str, Any]) -> None:
        self._name = name
        self._options = options
        self._module: Module | None = None
        self._function: Function | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        names = "source", *functools.WRAPPER_ASSIGNMENTS
        shown = {n: getattr(self, n) for n in names if hasattr(self, n)}
        shown.pop("__annotations__", None)  # of any types
        options = {n: v for n, v in self._options.items() if n != "context"}
        return _again, (self._name, options, shown)

    @property
    def module(self) -> Module:
        if self._module is None:
            self._module = Module(self.source, **self._options)
        return self._module

    def compile(self) -> None:
        """Compiles it now."""
        self._ready()

    def _ready(self) -> Function:
        if self._function is None:
            self._function = self.module[self._name]
        return self._function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._ready()(*args, **named)

    def __repr__(self) -> str:
        return f"<ompjit.target {self._name}>"


def _again(name: str, options: dict[str, Any], shown: dict[str, Any]) -> Target:
    """A function that was pickled."""
    made = Target.__new__(Target)
    made.__dict__.update(shown)
    made._start(name, options)
    return made


def target(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a C function of a Python function whose docstring is C.

        @ompjit.target
        def saxpy(n: int, a: "float", x: "const float[:]", y: "float[:]"):
            '''
            #pragma omp target teams distribute parallel for \\
                map(to: x[:n]) map(y[:n])
            for (long i = 0; i < n; i++) y[i] += a * x[i];
            '''

        saxpy(1000, 2.0, x, y)

    Annotations are C types as texts ("const float *", "unsigned"), numpy's names
    ("float32"), with [:] for arrays, or int (long), float (double), bool, and
    DTypes. It is compiled when it is first called.

    Args:
        preamble: C before the function: headers, other functions.
        options: of ompjit.compile: flags, context, ...
    """
    if function is not None:
        return Target(function, options)
    return lambda inner: Target(inner, dict(options))
