# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names that annotations have, without an import of typing.

Checkers see typing's own names and the package's classes, which modules import
under TYPE_CHECKING. In their place this module has strings that evaluate to
them, so that typing.get_type_hints() finds what a name means, and nothing is
imported before. NamedTuple is as typing's.
"""
from __future__ import annotations

from collections import namedtuple

from . import TYPE_CHECKING, _HOME_OF

if TYPE_CHECKING:
    from typing import Any, Callable

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


class _Record(type):
    """Makes a named tuple of a class with annotations."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any]
    ) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = body["__annotations__"]
        defaults = [body.pop(field) for field in fields if field in body]
        made: Any = namedtuple(name, fields)  # type: ignore[misc]
        made.__new__.__defaults__ = tuple(defaults)
        for key, value in body.items():
            setattr(made, key, value)
        return made


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Record):
        """As typing's."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = globals()[name] = later(lambda: _find(name))
        return found
