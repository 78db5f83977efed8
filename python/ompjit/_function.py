# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of modules, called as in C: m.saxpy(n, 2.0, x, y)."""
from __future__ import annotations

import ctypes
import keyword
from ctypes import byref, c_uint, c_void_p

from . import TYPE_CHECKING, _abi as abi, _native
from ._errors import ArgumentError, NotAvailable, utf8
from ._interrupt import interruptible
from ._lib import call, library
from ._signature import CType, converter, kinds, reader

if TYPE_CHECKING:
    from typing import Any

    from ._kernel import Kernel
    from ._module import Module
else:
    from ._typing import Any, Kernel, Module


@_native.by_vector
class Function(_native.Callable or object):  # type: ignore[misc]
    """A C function of a module.

    Its arguments are numbers, which must fit their types, and arrays in host
    memory: numpy's, or anything with the buffer protocol,
    __array_interface__ or DLPack, of the elements' own type, contiguous, and as long as
    the function's map clauses say for the other arguments. None is a null
    pointer, a Python function a callback; structs are ctypes.Structure or
    bytes. What is wrong raises ArgumentError before anything runs. What goes
    wrong in the function raises too: a target region that fails, a fault of
    its own code, exit(), a C++ exception, an exception of a callback.

    It can be pickled, and keeps its module alive.

    Attributes:
        name: "saxpy", "ns::axpy<float>".
        symbol: the linker's name.
        prototype: of C.
        file, line: where it is; "" and 0 where that is not known.
        module: it is of.
    """

    def __init__(self, module: Module, address: int) -> None:
        info = abi.ompjit_function_info()
        call("function_info_get", address, byref(info))
        self.module = module
        self._address = address
        self.name = self.__name__ = info.name.decode()
        self.__qualname__ = self.name
        self.symbol: str = info.symbol.decode()
        self.prototype: str = info.prototype.decode("utf-8", "replace")
        self.file: str = info.file.decode("utf-8", "replace")
        self.line: int = info.line
        self._refused = info.refused and info.refused.decode()
        self._ready = False
        self._host: Any = None  # whose arrays C takes
        kinds = self._read_params(info)
        result = CType(info.type).target
        self._read_result(result)
        self._fill_extents()
        self._describe()
        self._plan = _native.plan(address, module, result, kinds)
        if _native.Callable is not None:
            self._bound = self._plan or _native.Plan()  # which is never ready
            _native.bind(self, self._bound)

    def _read_params(self, info: Any) -> list[tuple[CType, int]]:
        kinds = []
        self.params: list[tuple[str, str, str, int]] = []
        self._names, self._converters = [], []
        for i in range(info.nparams):
            param = abi.ompjit_function_param_info()
            call("function_param", self._address, i, byref(param))
            name = param.name.decode()
            kind = CType(param.type)
            said = name or f"argument {i + 1}"
            kinds.append((kind, param.mapped))
            self.params.append(
                (name, kind.text, param.sections.decode(), param.mapped)
            )
            self._names.append(name or f"arg{i + 1}")
            self._converters.append(
                converter(f"{self.name}: {said}", kind, param.mapped)
            )
        count = max(info.nparams, 1)
        self._values = abi.ompjit_value * count
        self._bytes = ctypes.c_uint64 * count
        return kinds

    def _read_result(self, kind: CType) -> None:
        number = kind.number()
        self._size = 0  # of a result that comes in memory
        self._read: Any = None
        if number.kind == kinds.VOID:
            return
        if number.kind == kinds.COMPLEX and number.bytes <= 16:
            part = ctypes.c_float if number.bytes == 8 else ctypes.c_double
            self._size = kind.bytes
            self._read = lambda data: complex(*(part * 2).from_buffer(data))
        elif kind.bytes > 8 or kind.kind in (
            kinds.STRUCT, kinds.UNION, kinds.UNKNOWN, kinds.COMPLEX
        ):
            self._size = kind.bytes
            self._read = bytes
        else:
            self._read = reader(kind)

    def _fill_extents(self) -> None:
        """Shows the lengths of rows that no constant is."""
        sources = self.module._how["sources"]
        if "[]" not in self.prototype or len(sources) > 1:
            return
        source = sources[0][2]
        if not isinstance(source, str):
            return
        from ._declared import with_extents

        names = [name for name, *_ in self.params]
        self.prototype = with_extents(
            self.prototype, source, self.line, self.name, names
        )
        for i, (name, text, sections, mapped) in enumerate(self.params):
            named = text.replace("(*", f"(*{name}", 1)
            named = with_extents(named, source, self.line, self.name, [name])
            text = named.replace(f"(*{name}", "(*", 1)
            self.params[i] = name, text, sections, mapped

    def _describe(self) -> None:
        place = f"\n\n{self.file}, line {self.line}" if self.line else ""
        lines = []
        for name, text, sections, mapped in self.params:
            words = [
                word
                for word, bit in (("to", 1), ("from", 2), ("alloc", 4))
                if mapped & bit
            ]
            if words:
                lines.append(
                    f"    {name or text}: mapped {' and '.join(words)}"
                    f"{': ' if sections else ''}{sections}"
                )
        maps = "\n\n" + "\n".join(lines) if lines else ""
        self.__doc__ = self.prototype + place + maps
        taken = [
            name if name.isidentifier() and not keyword.iskeyword(name)
            else f"arg{i + 1}"
            for i, name in enumerate(self._names)
        ]
        self._names = taken

    @property
    def __signature__(self) -> Any:
        """What inspect.signature() and help() ask for. The module is loaded
        then only: it takes a third of a first call's time in Python."""
        import inspect

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [
                inspect.Parameter(name, kind, annotation=param[1])
                for name, param in zip(self._names, self.params)
            ]
        )

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of its own target regions, in the source's order."""
        known = self.module.kernels
        return [k for k in map(known.at, range(len(known))) if k.name == self.name]

    @property
    def ir(self) -> str:
        """The device IR of its module, before the runtime is linked."""
        return self.module.ir

    def ptx(self, arch: str | None = None) -> str:
        """The PTX of its module for an architecture of GPUs."""
        return self.module.ptx(arch)

    def sass(self, arch: str | None = None) -> str:
        """The machine code of its module for an architecture of GPUs,
        disassembled. Needs an assembler and CUDA's nvdisasm."""
        return self.module.sass(arch)

    def explain(self) -> str:
        """What is and what can be compiled into its kernels, as text."""
        return "\n".join(kernel.explain() for kernel in self.kernels)

    def resources(self, arch: str = "sm_90") -> list[dict[str, int]]:
        """What each of its kernels takes on a GPU's architecture; as of
        Kernel.resources."""
        return [kernel.resources(arch) for kernel in self.kernels]

    def occupancy(
        self, arch: str = "sm_90", threads: int = 128, dynamic_shared: int = 0
    ) -> list[dict[str, Any]]:
        """How much of a GPU's multiprocessor launches of each of its kernels
        fill; as of Kernel.occupancy."""
        options = arch, threads, dynamic_shared
        return [kernel.occupancy(*options) for kernel in self.kernels]

    def __repr__(self) -> str:
        return f"<ompjit function {self.prototype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.module, self.symbol)

    def _ordered(self, args: Any, named: dict[str, Any]) -> Any:
        """All arguments in their order."""
        names = self._names
        if len(args) > len(names):
            raise ArgumentError(
                f"{self.name}: {len(args)} arguments; it takes {len(names)}: "
                f"{self.prototype}"
            )
        found = list(args)
        for name in names[len(args):]:
            if name not in named:
                raise ArgumentError(
                    f"{self.name}: {name} is missing: {self.prototype}"
                )
            found.append(named.pop(name))
        for name in named:
            what = "given twice" if name in names else "no parameter"
            raise ArgumentError(f"{self.name}: {name} is {what}")
        return found

    def _prepare(self) -> None:
        """Compiles the host's code of the function, once."""
        if self._refused:
            raise NotAvailable(f"{self.name} cannot be called: {self._refused}")
        module = self.module

        def find() -> None:
            pointer = c_void_p()
            call("module_function", module.address, self.symbol.encode(),
                 byref(pointer))

        interruptible(find, module.context)
        self._ready = True
        if self._plan is not None:
            self._plan.ready = 1

    def _call(self, *args: Any, **named: Any) -> Any:
        """The call, for all types."""
        count = len(self._converters)
        if named or len(args) != count:
            args = self._ordered(args, named)
        values, sizes = self._values(), self._bytes()
        keep: list[Any] = []
        for i, convert in enumerate(self._converters):
            sizes[i] = convert(args[i], values[i], keep)
        if self._plan is not None and self._host is None:
            self._host = _native.host_of(self._plan, args)
        if not self._ready:
            self._prepare()
        result = abi.ompjit_value()
        data = None
        if self._size:
            data = ctypes.create_string_buffer(self._size)
            result.p = ctypes.addressof(data)
        self._run(values, count, sizes, result)
        if self._read is None:
            return None
        return self._read(data if self._size else result)

    def _run(self, values: Any, count: int, sizes: Any, result: Any) -> None:
        arguments = self._address, values, count, sizes, byref(result)
        module = self.module
        interruptible(
            lambda: call("function_call", *arguments),
            module.context,
            module=module.address,
        )


if _native.Callable is None:
    Function.__call__ = Function._call


def find(module: Module, name: str) -> Function:
    """The function of that name; NotFound lists those there are."""
    address = c_void_p()
    call("module_function_find", module.address, utf8("name", name), byref(address))
    return Function(module, address.value or 0)


def names(module: Module) -> list[str]:
    """The names of the module's functions."""
    count = c_uint()
    call("module_function_count", module.address, byref(count))
    found = []
    for i in range(count.value):
        address = c_void_p()
        info = abi.ompjit_function_info()
        call("module_function_at", module.address, i, byref(address))
        call("function_info_get", address.value, byref(info))
        found.append(info.name.decode())
    return found


def _again(module: Module, symbol: str) -> Function:
    """A function that was pickled."""
    return module[symbol]
