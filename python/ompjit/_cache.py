# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled code: what is in it, and its entries as bytes."""
from __future__ import annotations

from ctypes import byref, c_size_t, c_uint64, c_void_p, string_at

from . import TYPE_CHECKING, _abi as abi
from ._callback import guarded, text
from ._errors import ArgumentError, utf8
from ._lib import call, library

if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from ._context import Context
else:
    from ._typing import Any, Context, NamedTuple


class Entry(NamedTuple):
    """One entry of the cache on disk."""

    key: str  # 64 hexadecimal digits
    kind: str  # "source", "ir", "host", "image", "tune" or "damaged"
    bytes: int  # on disk
    used: int  # last use, seconds since 1970, to the hour
    text: str  # all that the entry depends on, a line each


class Cache:
    """The cache of a context: `context.cache`.

    It is never an error: an entry that cannot be read is compiled anew.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def path(self) -> str | None:
        """The folder on disk, whether or not it exists yet; None: none."""
        found = library().cache_path(self.context.address)
        return None if found is None else text(found)

    def stats(self) -> dict[str, int]:
        """Counts so far: "hits_memory", "hits_disk", "misses", "stored",
        "rejected", "waited", "evicted", "bytes_read", "bytes_written", and
        "limit", the bytes that there may be on disk."""
        stats = abi.ompjit_cache_stats()
        call("cache_stats_get", self.context.address, byref(stats))
        names = [f[0] for f in abi.ompjit_cache_stats._fields_[1:]]
        return {name: int(getattr(stats, name)) for name in names}

    def entries(self, key: str = "") -> list[Entry]:
        """The entries on disk whose keys begin with `key`, the one that was
        used last first. Each is read and checked. NotAvailable where the
        context has no folder."""
        found: list[Entry] = []

        def add(data: int | None, pointer: Any) -> int:
            e = pointer.contents
            found.append(
                Entry(text(e.key), text(e.kind), e.bytes, e.used, text(e.text))
            )
            return 0

        callback = guarded("ompjit_cache_entry_fn", add, 1)
        call("cache_walk", self.context.address, utf8("key", key), callback, None)
        return found

    def prune(self, size: int = 0) -> int:
        """Removes entries from disk, those not used for longest first, until
        at most `size` bytes are left. Returns how many."""
        removed = c_uint64()
        call("cache_prune", self.context.address, size, byref(removed))
        return removed.value

    def clear(self) -> int:
        """Removes all entries from disk. Returns how many."""
        return self.prune(0)

    def verify(self) -> tuple[int, int]:
        """Removes damaged entries from disk; the numbers of good and of
        damaged ones."""
        good, damaged = c_uint64(), c_uint64()
        call("cache_verify", self.context.address, byref(good), byref(damaged))
        return good.value, damaged.value

    def export(self, all: bool = False) -> bytes:
        """Entries as bytes, for one MPI rank to compile and broadcast: those
        that this context has used, or all on disk."""
        data, size = c_void_p(), c_size_t()
        call("cache_export", self.context.address, int(all), byref(data), byref(size))
        try:
            return string_at(data.value or 0, size.value)
        finally:
            library().bytes_free(data)

    def take(self, exported: bytes) -> int:
        """Takes exported entries in. Returns how many. They hold machine code:
        take only what you trust as you trust a program."""
        count = c_uint64()
        try:
            data = memoryview(exported).tobytes()
        except (TypeError, ValueError):
            raise ArgumentError(
                f"exported is a {type(exported).__name__}; it is bytes"
            ) from None
        call("cache_import", self.context.address, data, len(data), byref(count))
        return count.value

    def __repr__(self) -> str:
        return f"<ompjit cache in {self.path}>"
