# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules: sources, IR and device images, compiled."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_size_t, c_uint, c_void_p

from . import TYPE_CHECKING, _abi as abi
from ._code import Code, arch_of
from ._context import Context, choice, context as current_context, text_of
from ._device import Device
from ._errors import (
    ArgumentError, FileError, NotFound, expect, from_error, string, utf8,
)
# With the module: a process that is forked while another thread imports cannot.
from ._function import find, names
from ._handle import Handle, ending
from ._interrupt import interruptible
from ._lib import _local, call, library, system_flags

if TYPE_CHECKING:
    import weakref
    from typing import Any, Callable, Iterable, Sequence, Union

    from ._function import Function
    from ._kernel import Kernels
else:
    from ._typing import (
        Any,
        Callable,
        Function,
        Iterable,
        Kernels,
        Sequence,
        Union,
    )

Source = Union[
    str, bytes, "os.PathLike[str]", Mapping[str, str], Sequence[Any]
]


_ENDINGS = {
    ".cu": "cuda",
    ".ll": "ir",
    ".bc": "ir",
    ".ptx": "image",
    ".cubin": "image",
    ".o": "image",
    ".a": "image",
    ".f90": "fortran",
    ".f95": "fortran",
    ".f03": "fortran",
    ".f08": "fortran",
    ".f18": "fortran",
    ".f": "fortran",
    ".for": "fortran",
    ".ftn": "fortran",
    ".fpp": "fortran",
}
_LANGUAGES = ("c", "c++", "cuda", "fortran", "ir", "image")
_NAMES = {"c++": "snippet.cpp"}


class Module(Code):
    """Compiled sources: kernels and functions. ompjit.compile() makes one.

    Its functions are attributes, m.saxpy(n, 2.0, x, y), or items by any name,
    m["ns::axpy<float>"].

    A module lives as long as anything of it is used. It is pickled as its
    source and options, and compiled again, or taken from the cache, where it is
    unpickled.

    Attributes:
        context: it was compiled in.
        name: of the source, as diagnostics have it.
    """

    __slots__ = ("context", "name", "_how", "_functions", "__dict__")

    def __init__(
        self,
        source: Source,
        *,
        language: str | None = None,
        name: str | None = None,
        flags: Iterable[str] = (),
        openmp_version: float | None = None,
        opt_level: int | None = None,
        opts: Iterable[str] = (),
        cuda_compiler: str | None = None,
        host: str | bytes | None = None,
        debug: bool = False,
        context: Context | None = None,
    ) -> None:
        self.context = (
            current_context()
            if context is None
            else expect(Context, "context", context)
        )
        sources = _read(source, language, name)
        if debug:
            flags = [*flags, "-g"]
            sources = [_kept(self.context, *one) for one in sources]
        self._how: dict[str, Any] = {
            "sources": sources,
            "flags": tuple(flags),
            "openmp_version": openmp_version,
            "opt_level": opt_level,
            "opts": tuple(opts),
            "cuda_compiler": cuda_compiler,
            "host": host,
        }
        self.name: str = sources[0][1] or "snippet"
        self._compile()

    def _compile(self) -> None:
        self._functions: dict[str, Any] = {}
        self._kernels: dict[str, Any] = {}  # what is known of them
        interruptible(self._compile_now, self.context)

    def __getitem__(self, name: str) -> Function:
        """A function by its name in the source, or the linker's."""
        found = self._functions.get(string("a function's name", name))
        if found is None:
            found = self._functions.setdefault(name, find(self, name))
        return found  # type: ignore[no-any-return]

    __iter__ = None  # `functions` and `kernels` are what one goes through

    def __getattr__(self, name: str) -> Function:
        """A function as an attribute: module.saxpy(n, a, x, y)."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            found = self[name]
        except NotFound as error:
            raise AttributeError(error.text) from None
        self.__dict__[name] = found  # the next time it is an attribute
        return found

    @property
    def functions(self) -> list[str]:
        """The names of its functions."""
        return names(self)

    def __dir__(self) -> list[str]:
        own = [name for name in self.functions if name.isidentifier()]
        return [*super().__dir__(), *own]

    def _compile_now(self) -> None:
        how = self._how
        options, keep = _options(how)
        handle = Handle(
            ending(library().module_destroy), self.context._handle
        )
        sources: list[tuple[str, str, Any]] = how["sources"]
        ctx = self.context.address
        if len(sources) > 1:
            _several(ctx, sources, options, handle.place)
        else:
            _one(ctx, sources[0], how["host"], options, handle.place)
        del keep
        self._handle = handle

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._how,)

    def __repr__(self) -> str:
        return f"<ompjit.Module {self.name}>"

    @property
    def source(self) -> str:
        """The text that was compiled; of several sources, all of them."""
        return "\n".join(
            text if isinstance(text, str) else ""
            for _, _, text in self._how["sources"]
        )

    @property
    def kernels(self) -> Kernels:
        """The kernels by name: module.kernels["saxpy"]."""
        from ._kernel import Kernels

        return Kernels(self, self._kernels)

    def function(
        self, name: str, result: Any = None, params: Sequence[Any] = ()
    ) -> Callable[..., Any]:
        """A C function of the module with a type of ctypes' own: its target
        regions map their data and run on the current context's device.

        Args:
            name: of the function.
            result: the ctypes type of what it returns; None: nothing.
            params: ctypes types of its parameters. A pointer parameter is a
                c_void_p, which takes addresses (x.ctypes.data).

        What fails in a target region is raised when the function returns.
        """
        pointer = c_void_p()
        call("module_function", self.address, utf8("name", name), byref(pointer))
        found = ctypes.CFUNCTYPE(result, *params)(pointer.value or 0)
        failure = library().context_failure

        def run(*args: Any) -> Any:
            value = found(*args)
            if failure(self.context.address, _local.pointer):
                raise from_error(_local.error)
            return value

        run.__name__ = name
        return run

    # ------------------------------------------------------------------ code

    def remarks(self, arch: str | None = None) -> list[dict[str, Any]]:
        """What the optimizer did to the device half for an architecture, and
        what it could not do: a row each with "kind" ("passed", "missed",
        "analysis"), "id", "kernel", "file", "line", "what", "why", "advice"
        and more."""
        import json

        data, size = c_void_p(), c_size_t()
        given = (
            utf8("arch", arch or arch_of(self.context, "ptx")),
            abi.ompjit_remark_format.JSON,
            byref(data),
            byref(size),
        )
        interruptible(
            lambda: call("module_remarks_text", self.address, *given),
            self.context,
        )
        rows: list[dict[str, Any]] = json.loads(text_of(data.value))
        return rows

    # --------------------------------------------------------------- variants

    def variants(self) -> dict[str, int]:
        """Counts of specialized and generic code: "live" (loaded now),
        "builds", "failures", "evictions", "pending"."""
        stats = abi.ompjit_variant_stats()
        call("module_variants", self.address, byref(stats))
        names = [f[0] for f in abi.ompjit_variant_stats._fields_[1:]]
        return {name: int(getattr(stats, name)) for name in names}

    def warm(
        self, path: str | os.PathLike[str], device: Device | None = None
    ) -> tuple[int, list[str]]:
        """Has the variants of a list (`record` of Context) built in the
        background. Returns how many, and what is wrong with other lines."""
        from ._callback import guarded, text

        wrong: list[str] = []

        def bad(data: int | None, line: int, why: bytes | None) -> None:
            wrong.append(f"line {line}: {text(why)}")

        requested = c_uint()
        where = (
            self.context.device(0)
            if device is None
            else expect(Device, "device", device)
        )
        call(
            "module_warm",
            self.address,
            where.address,
            os.fsencode(path),
            guarded("ompjit_warm_fn", bad),
            None,
            byref(requested),
        )
        return requested.value, wrong


def _options(how: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The struct, and what it points to."""
    options = abi.ompjit_module_options()
    options.signatures = 1
    name = how["sources"][0][1]
    encoded = [utf8("a flag", flag) for flag in (*how["flags"], *system_flags())]
    flags = (c_char_p * max(len(encoded), 1))(*encoded)
    options.name = utf8("name", name) if name else None
    options.flags = flags
    options.nflags = len(encoded)
    version = how["openmp_version"]
    if version is not None:
        options.openmp_version = round(version * 10 if version < 10 else version)
    level = how["opt_level"]
    if level is not None:
        if level not in (0, 1, 2, 3):
            raise ArgumentError(f"opt_level is {level!r}; it is 0 to 3")
        options.opt_level = level + abi.ompjit_opt_level.O0
    options.cuda_compiler = choice(
        "cuda_compiler", how["cuda_compiler"], abi.ompjit_cuda_compiler
    )
    names = [utf8("an option", one) for one in how["opts"]]
    opts = (c_char_p * max(len(names), 1))(*names)
    options.opts, options.nopts = opts, len(names)
    return options, [flags, opts]


def _one(
    ctx: int, source: Any, host: Any, options: Any, address: c_void_p
) -> None:
    language, _, text = source
    data = text.encode() if isinstance(text, str) else bytes(text)
    out = byref(address)
    if language == "ir":
        half = host.encode() if isinstance(host, str) else host or b""
        sizes = len(data), half or None, len(half)
        call("module_from_ir", ctx, data, *sizes, byref(options), out)
    elif language == "image":
        call("module_from_image", ctx, data, len(data), byref(options), out)
    else:
        if b"\0" in data:
            raise ArgumentError("the source has a zero character in it")
        maker = {"cuda": "cuda", "fortran": "fortran"}.get(language, "c")
        call(f"module_from_{maker}", ctx, data, byref(options), out)


def _several(
    ctx: int, sources: list[Any], options: Any, address: c_void_p
) -> None:
    count = len(sources)
    texts = (c_char_p * count)(*(text.encode() for _, _, text in sources))
    names = (c_char_p * count)(*(name.encode() for _, name, _ in sources))
    call(
        "module_from_sources",
        ctx,
        texts,
        names,
        count,
        byref(options),
        byref(address),
    )


# ---------------------------------------------------------------- sources


def _read(
    source: Source, language: str | None, name: str | None
) -> list[tuple[str, str | None, Any]]:
    """Language, name and text of each source."""
    if language is not None and language not in _LANGUAGES:
        raise ArgumentError(
            f"language is {language!r}; it can be {', '.join(_LANGUAGES)}"
        )
    if isinstance(source, Mapping):
        return [_text(text, language, key) for key, text in source.items()]
    if isinstance(source, (list, tuple)):
        if not source:
            raise ArgumentError("no sources")
        return [_text(one, language, None) for one in source]
    return [_text(source, language, name)]


def _text(
    source: Any, language: str | None, name: str | None
) -> tuple[str, str | None, Any]:
    if isinstance(source, os.PathLike):
        name = name or os.fspath(source)
        language = language or _language(name)
        try:
            with open(source, "rb") as file:
                data: Any = file.read()
        except OSError as error:
            raise FileError(f"{name}: {error.strerror}") from None
        if language not in ("ir", "image"):
            data = data.decode("utf-8", "replace")
        return language, name, data
    if not isinstance(source, (str, bytes, bytearray)):
        raise ArgumentError(
            f"a {type(source).__name__} is no source: text, a pathlib.Path, "
            "bytes of IR or of an image, or several of them"
        )
    if isinstance(source, str) and _is_path(source):
        raise ArgumentError(
            f"{source!r} is no program; the one in that file is "
            f"ompjit.compile(pathlib.Path({source!r}))"
        )
    if language is None:
        language = _language(name) if name else _guess(source)
    return language, name or _NAMES.get(language), source


def _is_path(text: str) -> bool:
    """Whether it is the name of a source, which is a program in no language."""
    ending = os.path.splitext(text)[1].lower()
    known = ending in _ENDINGS or ending in (".c", ".cc", ".cpp", ".cxx")
    return known and not set(text) & set("\n{};=!")


def _language(name: str) -> str:
    ending = os.path.splitext(name)[1].lower()
    return _ENDINGS.get(ending, "c")


def _guess(source: str | bytes | bytearray) -> str:
    """Text is C; bytes are bitcode, or an image."""
    if isinstance(source, str):
        return "c"
    return "ir" if source[:4] in (b"BC\xc0\xde", b"\xde\xc0\x17\x0b") else "image"


def _kept(
    context: Context, language: str, name: str | None, text: Any
) -> tuple[str, str | None, Any]:
    """A source in a file of its own, for debuggers, where it is in none."""
    if not isinstance(text, str) or (name and os.path.exists(name)):
        return language, name, text
    folder = context.cache.path or os.path.join(
        os.environ.get("TMPDIR", "/tmp"), f"ompjit-{os.getuid()}"
    )
    folder = os.path.join(folder, "sources")
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    end = {"c++": ".cpp", "cuda": ".cu", "fortran": ".f90"}.get(language, ".c")
    path = os.path.join(folder, digest + end)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return language, path, text


def compile(source: Source, **options: Any) -> Module:
    """Compiles sources, or takes them from the cache.

        m = ompjit.compile(text)                       # C with OpenMP pragmas
        m = ompjit.compile(pathlib.Path("saxpy.c"))
        m = ompjit.compile({"a.c": text, "b.cpp": more})

    Args:
        source: text; a pathlib.Path, whose ending says the language; bytes of
            LLVM bitcode or of a device image; or several, as a list of paths
            or a dict of texts by names.
        language: "c", "c++", "cuda", "fortran", "ir" or "image". Default: by
            the name's ending, else C for text.
        name: of the source in diagnostics.
        flags: of clang's: "-I...", "-D...", "-O..." has its own option.
        openmp_version: 4.5 to 6.0. Default: 5.1.
        opt_level: 0 to 3. Default: 3.
        opts: options of the optimizer of device code, "NAME=VALUE".
        cuda_compiler: "nvrtc" or "clang".
        host: the host's half, where `source` is device IR.
        debug: keep line tables, and the source in a file for debuggers.
        context: Default: the current one.

    Raises CompileError, with the compiler's text and the place of what is
    wrong.
    """
    return Module(source, **options)


# Those that were unpickled, as long as somebody uses them.
_unpickled: weakref.WeakValueDictionary[Any, Module] | None = None


def _again(how: dict[str, Any]) -> Module:
    """A module that was pickled, in the current context: the same each time."""
    global _unpickled
    if _unpickled is None:
        from weakref import WeakValueDictionary

        _unpickled = WeakValueDictionary()
    key = id(current_context()), repr(sorted(how.items()))
    found = _unpickled.get(key)
    if found is None:
        found = _unpickled.setdefault(key, _made(how))
    return found


def _made(how: dict[str, Any]) -> Module:
    made = Module.__new__(Module)
    made.context = current_context()
    made._how = how
    made.name = how["sources"][0][1] or "snippet"
    made._compile()
    return made
