# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functools.lru_cache does, without an import of functools, which would
take a part of an expression's first call."""
from __future__ import annotations

from . import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar
else:
    from ._typing import Any, Callable, TypeVar

_T = TypeVar("_T")
_MOST = 1024


def once(make: Callable[..., _T]) -> Callable[..., _T]:
    """Calls the function once for arguments of the same values and types. Its
    results are forgotten when there are very many."""
    known: dict[Any, _T] = {}

    def found(*args: Any) -> _T:
        key = args, tuple(map(type, args))
        result = known.get(key)
        if result is None:
            if len(known) >= _MOST:
                known.clear()
            # Two threads may both make it; one stays.
            result = known.setdefault(key, make(*args))
        return result

    return found
