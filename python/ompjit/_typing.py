# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names that annotations have, without an import of typing.

Checkers see typing's own names and the package's classes, which modules import
under TYPE_CHECKING. In their place this module has strings that evaluate to
them, so that typing.get_type_hints() finds what a name means, and nothing is
imported before. NamedTuple is as typing's.
"""
from __future__ import annotations

from . import TYPE_CHECKING, _HOME_OF

if TYPE_CHECKING:
    from typing import Any, Callable

    def _getter(place: int, doc: str) -> Any: ...
else:
    try:  # as collections has it
        from _collections import _tuplegetter as _getter
    except ImportError:
        from operator import itemgetter

        def _getter(place, doc):
            return property(itemgetter(place), doc=doc)

# Names of the package that are not public, and their modules.
_HOME = {
    "Cache": "_cache",
    "Code": "_code",
    "Geometry": "_launch",
    "Profile": "_profile",
    "Shape": "_array",
    **_HOME_OF,
}
_meant: list[Callable[[], Any]] = []


class Later(str):
    """A name or a type that is found when typing evaluates the string, as it
    does with all in annotations."""

    __slots__ = ()

    def __getitem__(self, items: Any) -> Later:
        return later(lambda: eval(self)[items])

    def __call__(self, *args: Any) -> Later:
        return later(lambda: eval(self)(*args))

    def __or__(self, other: Any) -> Later:
        return later(lambda: _union(self, other))

    def __ror__(self, other: Any) -> Later:
        return later(lambda: _union(other, self))


def _union(*types: Any) -> Any:
    from typing import Union

    return Union[types]


def later(find: Callable[[], Any]) -> Later:
    """What find() returns, when it is asked for."""
    _meant.append(find)
    module = f"__import__({__name__!r}, fromlist=['_meant'])"
    return Later(f"{module}._meant[{len(_meant) - 1}]()")


def _find(name: str) -> Any:
    from importlib import import_module

    home = _HOME.get(name)
    module = import_module("." + home, __package__) if home else None
    return getattr(module or import_module("typing"), name)


class _Tuple(tuple):  # type: ignore[type-arg]
    """What all named tuples have: as collections.namedtuple's, which compiles a
    function for each and takes four times as long to make one."""

    __slots__ = ()
    _fields = ()  # type: tuple[str, ...]
    _field_defaults = {}  # type: dict[str, Any]

    def __new__(cls, *args: Any, **named: Any) -> Any:
        if named or len(args) != len(cls._fields):
            args = cls._complete(args, named)
        return tuple.__new__(cls, args)

    @classmethod
    def _complete(
        cls, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, ...]:
        """All fields: named ones and defaults behind those that are there."""
        rest = cls._fields[len(args) :]
        missing = [
            name
            for name in rest
            if name not in named and name not in cls._field_defaults
        ]
        if missing or len(args) > len(cls._fields) or set(named).difference(rest):
            raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}")
        values = {**cls._field_defaults, **named}
        return args + tuple(values[name] for name in rest)

    @classmethod
    def _make(cls, values: Any) -> Any:
        return cls(*values)

    def _replace(self, **named: Any) -> Any:
        return type(self)(**{**self._asdict(), **named})

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in self._asdict().items())
        return f"{type(self).__name__}({fields})"


class _Record(type):
    """Makes a named tuple of a class with annotations."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any]
    ) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body["__annotations__"])
        body["_field_defaults"] = {f: body.pop(f) for f in fields if f in body}
        for place, field in enumerate(fields):
            body[field] = _getter(place, f"Field {place}")
        body["_fields"] = body["__match_args__"] = fields
        body["__slots__"] = ()
        return type(name, (_Tuple,), body)


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Record):
        """As typing's."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = globals()[name] = later(lambda: _find(name))
        return found
