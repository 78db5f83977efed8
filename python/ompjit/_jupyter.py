# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For notebooks: `%load_ext ompjit`, then `%%ompjit` and `%ompjit`."""
from __future__ import annotations

import importlib
import shlex

from . import TYPE_CHECKING
from ._context import context
from ._errors import ArgumentError, CompileError
from ._html import preformatted, table
from ._module import Module, _LANGUAGES

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

_HELP = """\
%%ompjit [NAME] [-l LANGUAGE] [-O LEVEL] [FLAG...]
    compiles the cell. Its functions become variables; the module becomes NAME.
%ompjit devices | cache | times | profile
    tells of the current context."""


class _Cell:
    """What a line after %%ompjit says."""

    def __init__(self, line: str) -> None:
        self.name = ""
        self.language: str | None = None
        self.level: int | None = None
        self.flags: list[str] = []
        words = shlex.split(line)
        while words:
            word = words.pop(0)
            if word in ("-l", "-O") and words:
                if word == "-l":
                    self.language = words.pop(0)
                else:
                    self.level = int(words.pop(0))
            elif word.startswith("-"):
                self.flags.append(word)
            elif word.isidentifier() and not self.name:
                self.name = word
            else:
                raise ArgumentError(f"{word!r} is not understood\n{_HELP}")
        if self.language not in (None, *_LANGUAGES):
            raise ArgumentError(f"language {self.language!r}\n{_HELP}")


def compile_cell(line: str, cell: str, names: dict[str, Any]) -> Module:
    """Compiles a cell, and gives its functions to the notebook's names."""
    what = _Cell(line)
    module = Module(
        cell,
        language=what.language,
        opt_level=what.level,
        flags=what.flags,
        name=None,
    )
    for name in module.functions:
        if name.isidentifier():
            names[name] = module[name]
    if what.name:
        names[what.name] = module
    return module


def show(line: str) -> Any:
    """What `%ompjit` displays."""
    current = context()
    word = line.strip()
    if word in ("", "devices"):
        rows = [
            {
                "number": d.number,
                "kind": d.kind,
                "name": d.name,
                "arch": d.arch,
                "memory (GB)": d.memory / 1e9,
                "multiprocessors": d.multiprocessors,
            }
            for d in current.devices
        ]
        return Html(table(rows), repr(current.devices))
    if word == "cache":
        stats = {"path": current.cache.path, **current.cache.stats()}
        rows = [{"what": name, "value": value} for name, value in stats.items()]
        return Html(table(rows), repr(stats))
    if word == "times":
        return Html(table(current.times()), repr(current.times()))
    if word == "profile":
        return current.profile
    raise ArgumentError(_HELP)


class Html:
    """Something to display: HTML, and text for terminals."""

    def __init__(self, html: str, text: str) -> None:
        self._html = html
        self._text = text

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._text


def error_html(error: CompileError) -> str:
    """A compiler's messages, their places marked."""
    return f'<div style="color: #b00">{preformatted(str(error))}</div>'


def _show_error(
    shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any = None
) -> None:
    """A CompileError in a notebook is the compiler's text, not a traceback."""
    display = importlib.import_module("IPython.display").display

    display(Html(error_html(error), str(error)))


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext ompjit`."""

    def cell(line: str, cell: str | None = None) -> Any:
        if cell is None:
            return show(line)
        compile_cell(line, cell, shell.user_ns)
        return None

    shell.register_magic_function(cell, "line_cell", "ompjit")
    shell.set_custom_exc((CompileError,), _show_error)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext ompjit`."""
    shell.set_custom_exc((), None)
