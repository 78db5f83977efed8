# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A text with its names, and the arguments of a call bound to them."""
from __future__ import annotations

from . import TYPE_CHECKING, _native
from ._direct import Direct
from ._errors import ArgumentError
from ._functions import CONSTANTS
from ._parse import Node, Statement, fail, names_of, parse

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

_KNOWN = frozenset(CONSTANTS) | {"i", "I"}


class Expression(_native.Callable or object):  # type: ignore[misc]
    """What expressions of all kinds have in common. They are pickled as their
    texts.

    Attributes:
        text: the statements.
        inputs: the names that it reads, in the order of arguments.
        outputs: the names that it writes.
        params: inputs, then outputs that are not read.
    """

    def __init__(self, text: str, preamble: str = "") -> None:
        self.text = text
        self.preamble = preamble
        self.statements = parse(text)
        found = names_of(text, self.statements, _KNOWN)
        if not found.outputs:
            self._name_result()
            found = names_of(text, self.statements, _KNOWN)
        self.inputs = found.inputs
        self.outputs = found.outputs
        self._pure = tuple(n for n in found.outputs if n not in found.inputs)
        self.params = found.inputs + self._pure
        self._partial = found.partial
        self._indexed = found.arrays
        self._functions = found.functions
        self._places = {name: i for i, name in enumerate(self.params)}
        self._direct = Direct(self, self.params, self._out())

    def _out(self) -> str | None:
        """The parameter that `out` is, where it is one."""
        return self._pure[0] if len(self._pure) == 1 else None

    def _call(self, *args: Any, **named: Any) -> Any:
        """The call, for all types."""
        raise NotImplementedError

    @property
    def __signature__(self) -> Any:
        """What inspect.signature() and help() ask for."""
        import inspect

        return inspect.signature(self._call)

    def __repr__(self) -> str:
        return f"ompjit.{type(self).__name__.lower()}({self.text!r})"

    def _name_result(self) -> None:
        """`a + b` is `result = a + b`."""
        last = self.statements[-1]
        if last.kind != "expression" or last.parts[0].kind == "assign":
            fail(self.text, last.place, "nothing is assigned")
        target = Node("name", last.place, ("result",))
        node = Node("assign", last.place, ("=", target, last.parts[0]))
        self.statements[-1] = Statement("expression", last.place, (node,))

    def _plain(self) -> set[str]:
        """Names that are used without an index."""
        found: set[str] = set()

        def walk(part: Any) -> None:
            if isinstance(part, Node) and part.kind == "name":
                found.add(part.parts[0])
            if isinstance(part, (Node, Statement)):
                for inner in part.parts:
                    walk(inner)

        for s in self.statements:
            walk(s)
        return found

    def _bind(
        self, args: tuple[Any, ...], out: Any, named: dict[str, Any]
    ) -> list[Any]:
        """A value for each of `params`; None for an output that is missing."""
        count = len(self.params)
        if len(args) > count:
            raise ArgumentError(
                f"{self!r} takes {', '.join(self.params)}, and {len(args)} "
                "arguments are given"
            )
        values = [*args, *[None] * (count - len(args))]
        for name, value in named.items():
            place = self._places.get(name)
            if place is None:
                raise ArgumentError(
                    f"{self!r} has no {name!r}; it takes "
                    f"{', '.join(self.params)}"
                )
            if place < len(args):
                raise ArgumentError(f"{name} is given twice")
            values[place] = value
        if out is not None:
            self._bind_out(values, out)
        for place in range(len(self.inputs)):
            if values[place] is None:
                raise ArgumentError(
                    f"{self!r}: no value for {self.params[place]}"
                )
        return values

    def _bind_out(self, values: list[Any], out: Any) -> None:
        outs = out if isinstance(out, tuple) else (out,)
        missing = [n for n in self._pure if values[self._places[n]] is None]
        if len(outs) > len(missing):
            raise ArgumentError(
                f"out has {len(outs)} arrays, and {self!r} makes "
                f"{len(missing)}"
            )
        for name, value in zip(missing, outs):
            values[self._places[name]] = value


if _native.Callable is None:

    def _call_by_python(self: Expression, *args: Any, **named: Any) -> Any:
        return self._call(*args, **named)

    Expression.__call__ = _call_by_python
