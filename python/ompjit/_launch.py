# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a kernel is launched: geometry, queue, what is compiled in."""
from __future__ import annotations

from . import TYPE_CHECKING, _abi as abi
from ._context import choice, milliseconds
from ._errors import ArgumentError, expect, integers, unsigned

if TYPE_CHECKING:
    from typing import Iterable, Sequence, Union

    from ._queue import Queue
else:
    from ._typing import Iterable, Queue, Sequence, Union

Geometry = Union[int, Sequence[int], None]


def _dimensions(name: str, value: Geometry) -> tuple[int, int, int]:
    given = (0,) if value is None else integers(name, value) or (0,)
    if len(given) > 3 or not all(0 <= n < 1 << 32 for n in given):
        raise ArgumentError(
            f"{name} is {value!r}; it is a number, or up to three of them"
        )
    x, y, z = (*given, 0, 0)[:3]
    return x, y, z


def folds(names: Iterable[str] | None) -> int:
    """OMPJIT_FOLD_... together; 0 is all."""
    if names is None:
        return 0
    if isinstance(names, str):
        names = names.split()
    known, fold = abi.values(abi.ompjit_fold), 0
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"fold has {name!r}; there are {', '.join(known)}"
            )
        fold |= known[name]
    return fold


def launch_options(
    teams: Geometry = None,
    threads: Geometry = None,
    *,
    queue: Queue | None = None,
    tripcount: int = 0,
    dynamic_shared: int = 0,
    time_limit: float | None = None,
    cooperative: bool = False,
    specialize: str | None = None,
    fold: Iterable[str] | None = None,
    resident_teams: int = 0,
    specialize_time_limit: float | None = None,
) -> abi.ompjit_launch:
    """The struct for these options; those of Kernel.launch describe them."""
    launch = abi.ompjit_launch()
    launch.teams, launch.teams_y, launch.teams_z = _dimensions("teams", teams)
    launch.threads, launch.threads_y, launch.threads_z = _dimensions(
        "threads", threads
    )
    launch.tripcount = unsigned("tripcount", tripcount, 64)
    launch.dynamic_shared = unsigned("dynamic_shared", dynamic_shared)
    launch.time_limit_ms = milliseconds("time_limit", time_limit)
    launch.cooperative = cooperative
    if queue is not None:
        from ._queue import Queue

        launch.queue = expect(Queue, "queue", queue).address
    special = launch.specialize
    special.mode = choice("specialize", specialize, abi.ompjit_specialize)
    special.fold = folds(fold)
    special.resident_teams = unsigned("resident_teams", resident_teams)
    special.time_limit_ms = milliseconds(
        "specialize_time_limit", specialize_time_limit
    )
    return launch
