# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit maps: host arrays that have a counterpart on a device for a while, as
by OpenMP's `target data`, `target enter data` and `target update`."""
from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_void_p

from . import TYPE_CHECKING, _host
from ._device import Device, chosen
from ._errors import ArgumentError
from ._lib import call, library

if TYPE_CHECKING:
    from typing import Any, Sequence
else:
    from ._typing import Any, Sequence

_TO, _FROM = 1, 2
_TYPE = ctypes.CFUNCTYPE(
    None,
    *(c_void_p, c_void_p, c_int64, c_int32),
    *(c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
)


def _arrays(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _view(array: Any, written: bool) -> _host.HostView:
    host = _host.view(array)
    if host is None:
        raise ArgumentError(f"a {type(array).__name__} is no host array")
    shape, size = host.shape, host.dtype.itemsize
    if not (
        _host.is_packed(shape, host.strides, size)
        or _host.is_packed(shape[::-1], host.strides[::-1], size)
    ):
        raise ArgumentError("an array that is mapped is not contiguous")
    if written and host.readonly:
        raise ArgumentError("an array that is mapped from the device is read-only")
    return host


def _run(
    function: str, device: Device, views: Sequence[_host.HostView], kinds: Any
) -> None:
    """Calls a function of clang's code for such arrays."""
    if not views:
        return
    count = len(views)
    places = (c_void_p * count)(*(v.address for v in views))
    sizes = (c_int64 * count)(*(v.nbytes for v in views))
    types = (c_int64 * count)(*kinds)
    address = library().process_function(function.encode())
    ctx = device.context
    _TYPE(address)(
        ctx.address,
        None,
        device.number,
        count,
        ctypes.addressof(places),
        ctypes.addressof(places),
        ctypes.addressof(sizes),
        ctypes.addressof(types),
        None,
        None,
    )
    call("context_failure", ctx.address)


class data:
    """Maps host arrays to a device, for a `with` block or until exit().

        with ompjit.data(to=x, tofrom=y):
            kernel(n, a, x, y)       # on the device's copies of x and y
        # y is copied back

    Inside, kernels that are launched explicitly take the host arrays, and
    target regions of functions find them present. On the host device the arrays
    themselves are used unless host_memory of the context says otherwise.

    Args:
        to: arrays that are copied to the device in the beginning.
        from_: arrays that are copied back in the end.
        tofrom: both.
        alloc: neither.
        device: Default: the current one.

    Arrays are contiguous; each of the four is one array or a list. A map counts
    like OpenMP's: data that is present already is not copied.
    """

    def __init__(
        self,
        to: Any = None,
        from_: Any = None,
        tofrom: Any = None,
        alloc: Any = None,
        device: Device | None = None,
    ) -> None:
        self.device = chosen(device)
        self._views: list[_host.HostView] = []
        self._kinds: list[int] = []
        for given, kind in (
            (to, _TO),
            (from_, _FROM),
            (tofrom, _TO | _FROM),
            (alloc, 0),
        ):
            for one in _arrays(given):
                self._views.append(_view(one, bool(kind & _FROM)))
                self._kinds.append(kind)
        self._entered = False

    def enter(self) -> data:
        """As `target enter data`."""
        if self._entered:
            raise ArgumentError("the data is mapped already")
        _run(
            "__tgt_target_data_begin_mapper",
            self.device,
            self._views,
            self._kinds,
        )
        self._entered = True
        return self

    def exit(self) -> None:
        """As `target exit data`."""
        if not self._entered:
            raise ArgumentError("the data is not mapped")
        self._entered = False
        _run(
            "__tgt_target_data_end_mapper",
            self.device,
            self._views,
            self._kinds,
        )

    def __enter__(self) -> data:
        return self.enter()

    def __exit__(self, *error: object) -> None:
        self.exit()

    def update_to(self, *arrays: Any) -> None:
        """As `target update to`: copies host arrays, or contiguous parts of
        them, to the device."""
        self._update(arrays, _TO)

    def update_from(self, *arrays: Any) -> None:
        """As `target update from`."""
        self._update(arrays, _FROM)

    def _update(self, arrays: Sequence[Any], kind: int) -> None:
        views = [_view(one, kind == _FROM) for one in arrays]
        _run(
            "__tgt_target_data_update_mapper",
            self.device,
            views,
            [kind] * len(views),
        )
