# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles: compiles, launches and copies of a context, with their times."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, string_at

from . import TYPE_CHECKING, _abi as abi
from ._lib import call, library

if TYPE_CHECKING:
    from typing import Any

    from ._context import Context
else:
    from ._typing import Any, Context


class Profile:
    """What was done when, of a context with profile=True:
    `context.profile`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def _get(self, format: int) -> str:
        data, size = c_void_p(), c_size_t()
        call("context_profile", self.context.address, format, byref(data), byref(size))
        try:
            return string_at(data.value or 0, size.value).decode()
        finally:
            library().bytes_free(data)

    @property
    def text(self) -> str:
        """A table for people."""
        return self._get(abi.ompjit_profile_format.TABLE)

    @property
    def trace(self) -> str:
        """JSON for Chrome's tracing page and Perfetto."""
        return self._get(abi.ompjit_profile_format.TRACE)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.trace)

    def events(self) -> list[dict[str, Any]]:
        """A row for each compile, launch and copy: "name", "category", "start"
        and "seconds" (from the first event on), and what the trace says
        beside."""
        import json

        trace = json.loads(self.trace)
        found = trace["traceEvents"] if isinstance(trace, dict) else trace
        return _rows(found)

    def table(self) -> list[dict[str, Any]]:
        """A row for each name: "name", "category", "count", "seconds", "min"
        and "max", the longest in total first."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for event in self.events():
            key = event["category"], event["name"]
            seconds = event["seconds"]
            row = rows.setdefault(
                key,
                {
                    "name": event["name"],
                    "category": event["category"],
                    "count": 0,
                    "seconds": 0.0,
                    "min": seconds,
                    "max": seconds,
                },
            )
            row["count"] += 1
            row["seconds"] += seconds
            row["min"] = min(row["min"], seconds)
            row["max"] = max(row["max"], seconds)
        return sorted(rows.values(), key=lambda row: -row["seconds"])

    def frame(self) -> Any:
        """The table as a pandas DataFrame; ImportError without pandas."""
        import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return pandas.DataFrame(self.table())

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self.table())


def _rows(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows, begun = [], {}
    for e in events:
        phase = e.get("ph")
        key = e.get("cat"), e.get("id"), e.get("name")
        if phase == "b":
            begun[key] = e
        elif phase == "e" and key in begun:
            first = begun.pop(key)
            rows.append(_row(first, e["ts"] - first["ts"]))
        elif phase == "X":
            rows.append(_row(e, e.get("dur", 0.0)))
    return sorted(rows, key=lambda row: float(row["start"]))


def _row(event: dict[str, Any], microseconds: float) -> dict[str, Any]:
    return {
        "name": event["name"],
        "category": event.get("cat", ""),
        "start": event["ts"] * 1e-6,
        "seconds": microseconds * 1e-6,
        **event.get("args", {}),
    }
