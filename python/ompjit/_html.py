# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTML for notebooks."""
from __future__ import annotations

import html

from . import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence
else:
    from ._typing import Any, Mapping, Sequence


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same columns as a table."""
    if not rows:
        return "<p>nothing</p>"
    columns = list(rows[0])
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(row.get(name)) for name in columns) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align:right">{value:.6g}</td>'
    if isinstance(value, int):
        return f'<td style="text-align:right">{value}</td>'
    return f'<td style="text-align:left">{html.escape(str(value))}</td>'


def preformatted(text: str) -> str:
    """Text with its lines and columns."""
    return f"<pre>{html.escape(text)}</pre>"
