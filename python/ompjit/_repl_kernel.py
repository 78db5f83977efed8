# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Jupyter kernel for C with OpenMP: `ompjit-kernel install`."""
from __future__ import annotations

import argparse
import html
import importlib
import json
import os
import re
import sys
import tempfile
import time
import uuid

from . import TYPE_CHECKING
from ._repl import Session

if TYPE_CHECKING:
    from typing import Any
else:
    from ._typing import Any

_SPEC = {
    "argv": [sys.executable, "-m", "ompjit._repl_kernel", "-f", "{connection_file}"],
    "display_name": "C with OpenMP (ompjit)",
    "language": "c",
}


def byte_cursor(code: str, cursor: int) -> int:
    """Jupyter counts characters, a session bytes."""
    return len(code[:cursor].encode())


def character_cursor(code: str, cursor: int) -> int:
    return len(code.encode()[:cursor].decode(errors="ignore"))


def plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def plotted(code: str) -> str | None:
    """The arrays of a :plot that names no file."""
    found = re.fullmatch(r"\s*:plot\s+(\S.*?)\s*", code)
    return found[1] if found and not found[1].endswith((".svg", ".png")) else None


def table_html(table: dict[str, Any]) -> str:
    """Rows of an array, each with its index."""
    def row(cells: list[str], kind: str) -> str:
        words = "".join(f"<{kind}>{html.escape(each)}</{kind}>" for each in cells)
        return f"<tr>{words}</tr>"

    lines = [
        row([f"[{i}]", *cells], "td") for i, cells in enumerate(table["rows"])
    ]
    if table["count"] > len(lines):
        lines.append(row(["...", f"{table['count']} rows"], "td"))
    return f"<table>{row(['', *table['columns']], 'th')}{''.join(lines)}</table>"


def kernel_class() -> Any:
    base: Any = importlib.import_module("ipykernel.kernelbase").Kernel

    class OpenMPKernel(base):  # type: ignore[misc]
        implementation = "ompjit"
        language_info = {
            "name": "c",
            "mimetype": "text/x-csrc",
            "file_extension": ".c",
            "codemirror_mode": "clike",
            "pygments_lexer": "c",
        }

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.session_of_code = Session("--color=always")
            self._progress_id = ""
            self._told = False

        @property
        def implementation_version(self) -> str:
            return str(self.session_of_code.greeting["version"])

        @property
        def banner(self) -> str:
            return f"ompjit {self.implementation_version}, C with OpenMP"

        def _stream(self, name: str, text: str) -> None:
            self.send_response(
                self.iopub_socket, "stream", {"name": name, "text": text}
            )

        def _display(self, kind: str, text: str) -> None:
            """A text that the next one replaces."""
            content = {
                "data": {"text/plain": text},
                "metadata": {},
                "transient": {"display_id": self._progress_id},
            }
            self.send_response(self.iopub_socket, kind, content)

        def _progress(self, stage: str, seconds: float) -> None:
            kind = "update_display_data" if self._told else "display_data"
            self._told = True
            self._display(kind, f"{stage}, {seconds:.0f} s")

        def _begin_anew(self, error: EOFError) -> dict[str, Any]:
            self.session_of_code = Session("--color=always")
            return {"status": "error", "text": f"{error}; a new one has begun"}

        def do_execute(
            self,
            code: str,
            silent: bool,
            store_history: bool = True,
            user_expressions: Any = None,
            allow_stdin: bool = False,
            **unused: Any,
        ) -> dict[str, Any]:
            with self.session_of_code.interruptible():
                return self._execute(code, silent)

        def _execute(self, code: str, silent: bool) -> dict[str, Any]:
            arrays = plotted(code)
            if arrays and not silent:
                answer = self._plot(arrays)
            else:
                answer = self._ask(code, silent)
            if answer["status"] != "ok":
                return self._failed(answer, silent)
            text = answer.get("text")
            if text and not silent:
                self._stream("stderr", text)
            if "value" in answer and not silent:
                self._show(answer)
            return {
                "status": "ok",
                "execution_count": self.execution_count,
                "payload": [],
                "user_expressions": {},
            }

        def _ask(self, code: str, silent: bool) -> dict[str, Any]:
            self._progress_id = uuid.uuid4().hex
            self._told = False
            begin = time.monotonic()
            try:
                return self.session_of_code.ask(
                    "execute",
                    None if silent else self._stream,
                    None if silent else self._progress,
                    code=code,
                )
            except EOFError as error:
                return self._begin_anew(error)
            finally:
                if self._told:
                    seconds = time.monotonic() - begin
                    self._display("update_display_data", f"{seconds:.1f} s")

        def _plot(self, arrays: str) -> dict[str, Any]:
            """The picture is a part of the cell's output."""
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "plot.svg")
                answer = self._ask(f":plot {arrays} {path}", False)
                if answer["status"] != "ok":
                    return answer
                with open(path) as file:
                    data = {"image/svg+xml": file.read()}
            data["text/plain"] = f"a plot of {arrays}"
            content = {"data": data, "metadata": {}, "transient": {}}
            self.send_response(self.iopub_socket, "display_data", content)
            return answer

        def _show(self, answer: dict[str, Any]) -> None:
            data = {"text/plain": f"({answer['type']}) {answer['value']}"}
            if "table" in answer:
                data["text/html"] = table_html(answer["table"])
            self.send_response(
                self.iopub_socket,
                "execute_result",
                {
                    "execution_count": self.execution_count,
                    "data": data,
                    "metadata": {},
                },
            )

        def _failed(self, answer: dict[str, Any], silent: bool) -> dict[str, Any]:
            text = answer.get("text", "").rstrip("\n")
            error = {
                "ename": answer["status"],
                "evalue": plain(text).split("\n")[0],
                "traceback": text.split("\n"),
            }
            if not silent:
                self.send_response(self.iopub_socket, "error", error)
            return {
                "status": "error",
                "execution_count": self.execution_count,
                **error,
            }

        def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
            answer = self.session_of_code.ask(
                "complete", code=code, cursor=byte_cursor(code, cursor_pos)
            )
            return {
                "status": "ok",
                "matches": [each["name"] for each in answer.get("matches", [])],
                "cursor_start": character_cursor(code, answer.get("begin", 0)),
                "cursor_end": cursor_pos,
                "metadata": {},
            }

        def do_inspect(
            self,
            code: str,
            cursor_pos: int,
            detail_level: int = 0,
            omit_sections: Any = (),
        ) -> dict[str, Any]:
            answer = self.session_of_code.ask(
                "inspect", code=code, cursor=byte_cursor(code, cursor_pos)
            )
            found = bool(answer.get("found"))
            data = {"text/plain": answer["text"]} if found else {}
            return {"status": "ok", "found": found, "data": data, "metadata": {}}

        def do_is_complete(self, code: str) -> dict[str, Any]:
            answer = self.session_of_code.ask("is_complete", code=code)
            return {
                "status": answer["status"],
                "indent": answer.get("indent", ""),
            }

        def do_shutdown(self, restart: bool) -> dict[str, Any]:
            self.session_of_code.close()
            return {"status": "ok", "restart": restart}

    return OpenMPKernel


def install(prefix: str | None, user: bool) -> str:
    """Writes the kernel's specification; where it is now."""
    specs: Any = importlib.import_module("jupyter_client.kernelspec")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w") as file:
            json.dump(_SPEC, file)
        return str(
            specs.KernelSpecManager().install_kernel_spec(
                folder, "ompjit", user=user, prefix=prefix
            )
        )


def main(arguments: list[str] | None = None) -> None:
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["install"]:
        parser = argparse.ArgumentParser(prog="ompjit-kernel install")
        parser.add_argument("--prefix", help="below this folder")
        parser.add_argument(
            "--user", action="store_true", help="for this user alone"
        )
        options = parser.parse_args(words[1:])
        user = options.user or not options.prefix
        print(install(options.prefix, user and not options.prefix))
        return
    app: Any = importlib.import_module("ipykernel.kernelapp").IPKernelApp
    app.launch_instance(argv=words, kernel_class=kernel_class())


if __name__ == "__main__":
    main()
