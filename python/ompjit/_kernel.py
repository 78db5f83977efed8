# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a module by name, and explicit launches of them."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from ctypes import byref, c_void_p

from . import TYPE_CHECKING, _abi as abi, _native
from ._device import Device, device as current_device
from ._errors import ArgumentError, NotFound, expect, utf8
from ._form import bind, form
from ._handle import Handle, Shown
from ._inspect import Inspected
from ._interrupt import interruptible
from ._launch import launch_options
from ._lib import call, library
from ._pointer import device_pointer, scalar_kind, scalar_value
from ._queue import Queue, current_queue

if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from ._bound import Bound
    from ._context import Context
    from ._launch import Geometry
else:
    from ._typing import Any, Bound, Context, Geometry, Iterable, Iterator


_GEOMETRIES = 64  # whose forms a kernel keeps


class Param(namedtuple("Param", "name bytes is_pointer is_float")):
    """One parameter of a kernel."""

    __slots__ = ()

    name: str  # "": not known
    bytes: int  # of the value that is passed
    is_pointer: bool
    is_float: bool

    @property
    def kind(self) -> str:
        """ "pointer", "i32", "f64", ..."""
        if self.is_pointer:
            return "pointer"
        return f"{'f' if self.is_float else 'i'}{8 * self.bytes}"

    def __str__(self) -> str:
        return f"{self.name or '?'}: {self.kind}"


class Known:
    """What is known of a kernel, without its module.

    Attributes:
        handle: of the kernel, which is its module's.
        indices: the C API's numbers of the parameters, in the source's order.
        params, info, names, kinds: of the parameters in that order, and others.
        forms: for C's calls, by geometry.
    """

    __slots__ = (
        "handle",
        "info",
        "indices",
        "params",
        "names",
        "kinds",
        "forms",
    )

    def __init__(self, address: int, module: Any) -> None:
        self.handle = Handle(None, module._handle, place=c_void_p(address))
        self.info = info = abi.ompjit_kernel_info()
        call("kernel_info_get", address, byref(info))
        params, indices = [], []
        for i in range(info.nparams):
            p = abi.ompjit_param_info()
            call("kernel_param", address, i, byref(p))
            name = p.name.decode("utf-8", "replace")
            params.append(
                Param(name, p.bytes, bool(p.is_pointer), bool(p.is_float))
            )
            indices.append((p.source_order, i))
        self.indices = [i for _, i in sorted(indices)]
        self.params = tuple(params[i] for i in self.indices)
        self.names = {p.name: i for i, p in enumerate(self.params) if p.name}
        self.kinds = [scalar_kind(p.bytes, p.is_float) for p in self.params]
        self.forms: dict[Any, Any] = {}

    def keep_form(self, geometry: tuple[Geometry, Geometry], form: Any) -> None:
        """For the next kernel with the geometry."""
        if len(self.forms) >= _GEOMETRIES:
            self.forms.clear()
        try:
            self.forms[geometry] = form
        except TypeError:  # it cannot be hashed
            pass


@_native.by_vector
class Kernel(Inspected, _native.Callable or Shown):  # type: ignore[misc]
    """One target region of a module, to be launched with arguments of one's
    own.

    kernel(...) and kernel.launch(...) run it and wait; kernel[teams, threads]
    is the kernel with a geometry. Pointers are arrays of the device: ompjit's,
    or any that lies in its memory. Nothing is mapped or copied.

    Attributes:
        name: the function that the region stands in.
        symbol: the kernel's own name.
        line: of the region; 0 if unknown.
        mode: "spmd", "generic", "generic_spmd", or "bare" for CUDA.
        params: its parameters, in the order of the source: parameters of the
            enclosing function, its locals, other variables.
        max_threads, max_teams: that a launch may have; 0: no bound.
        context: of its module.
    """

    __slots__ = (
        "context",
        "params",
        "_code",
        "_form",
        "_handle",
        "_indices",
        "_info",
        "_kinds",
        "_known",
        "_names",
        "__weakref__",
    )

    def __init__(self, known: Known, module: Any) -> None:
        self._handle = known.handle
        self.context: Context = module.context
        self._code = module
        self._info = known.info
        self._indices = known.indices
        self.params = known.params
        self._names = known.names
        self._kinds = known.kinds
        self._known = known
        # None: there is none yet; () where C cannot make the calls.
        self._form = known.forms.get((None, None))
        bind(self, self._form[0] if self._form else None)

    @property
    def name(self) -> str:
        return str(self._info.name.decode("utf-8", "replace"))

    @property
    def __signature__(self) -> Any:
        """What inspect.signature() and help() ask for: parameters, then
        options."""
        import inspect

        taken = inspect.Parameter.POSITIONAL_OR_KEYWORD
        found = [
            inspect.Parameter(p.name or f"arg{i + 1}", taken, annotation=p.kind)
            for i, p in enumerate(self.params)
        ]
        options = inspect.signature(self.launch).parameters.values()
        found += [o for o in options if o.kind is o.KEYWORD_ONLY]
        return inspect.Signature(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_module, (self._code, self.symbol)

    @property
    def symbol(self) -> str:
        return str(self._info.symbol.decode("utf-8", "replace"))

    @property
    def line(self) -> int:
        return int(self._info.line)

    @property
    def mode(self) -> str:
        return abi.name_of(abi.ompjit_mode, self._info.mode)

    @property
    def max_threads(self) -> int:
        return int(self._info.max_threads)

    @property
    def max_teams(self) -> int:
        return int(self._info.max_teams)

    def __repr__(self) -> str:
        params = ", ".join(map(str, self.params))
        place = f" line {self.line}" if self.line else ""
        return f"<ompjit.Kernel {self.name}({params}){place}>"

    # ------------------------------------------------------------- arguments

    def _values(
        self, args: tuple[Any, ...], named: Mapping[str, Any], partial: bool
    ) -> dict[int, Any]:
        """Arguments by their places."""
        if len(args) > len(self.params):
            raise ArgumentError(
                f"{self.name} has {len(self.params)} parameters, and "
                f"{len(args)} arguments are given"
            )
        values = dict(enumerate(args))
        for name, value in named.items():
            place = self._names.get(name)
            if place is None:
                raise ArgumentError(
                    f"{self.name} has no parameter {name!r}; there are "
                    f"{', '.join(self._names)}"
                )
            if place in values:
                raise ArgumentError(f"{name} is given twice")
            values[place] = value
        missing = [
            p.name or f"number {i}"
            for i, p in enumerate(self.params)
            if i not in values
        ]
        if missing and not partial:
            raise ArgumentError(f"{self.name}: no value for {missing[0]}")
        return values

    def _fill(
        self, arg: abi.ompjit_arg, place: int, value: Any, device: Device
    ) -> object:
        """One argument; returns what must live as long as it is used."""
        p, kind = self.params[place], self._kinds[place]
        name = p.name or f"argument {place}"
        if p.is_pointer:
            address, keep = device_pointer(value, device, name)
            arg.type = abi.ompjit_arg_type.POINTER
            arg.value.p = address
            return keep
        if kind is None:
            raise ArgumentError(f"{name} has {p.bytes} bytes: not supported")
        arg.type = kind[0]
        member = scalar_value(value, p.bytes, p.is_float, name)
        setattr(arg.value, kind[1], member)
        return None

    def arguments(
        self,
        args: tuple[Any, ...],
        named: Mapping[str, Any],
        device: Device,
        partial: bool = False,
    ) -> tuple[Any, list[object]]:
        """The array of ompjit_arg for a call, and what must live meanwhile.
        With `partial`, arguments may be missing, and stand by their names."""
        values = self._values(args, named, partial)
        array = (abi.ompjit_arg * max(len(values), 1))()
        keep = []
        complete = len(values) == len(self.params)
        for i, (place, value) in enumerate(values.items()):
            arg = array[self._indices[place] if complete else i]
            keep.append(self._fill(arg, place, value, device))
            if not complete:
                arg.name = self.params[place].name.encode()
        return array, keep

    def apart(self, array: Any) -> None:
        """Says of all pointers of a call that they share nothing."""
        for place, p in enumerate(self.params):
            if p.is_pointer:
                arg = array[self._indices[place]]
                arg.flags |= abi.ompjit_arg_flags.NOALIAS

    # -------------------------------------------------------------- launches

    def launch(
        self,
        *args: Any,
        teams: Geometry = None,
        threads: Geometry = None,
        queue: Queue | None = None,
        device: Device | None = None,
        tripcount: int = 0,
        dynamic_shared: int = 0,
        time_limit: float | None = None,
        cooperative: bool = False,
        specialize: str | None = None,
        fold: Iterable[str] | None = None,
        resident_teams: int = 0,
        noalias: bool = False,
        **named: Any,
    ) -> None:
        """Runs the kernel and waits for it, unless it is put into a queue.

        Args:
            args, named: one argument for each parameter, in the order of
                `params` or by name. Pointers are contiguous arrays on the
                device, or addresses.
            teams, threads: the geometry; up to three numbers each for CUDA
                kernels. Default: the device's choice.
            queue: the launch is put into it, and the call may return before
                it has ended. Default: that of the innermost `with queue:`,
                else the call waits.
            device: Default: the queue's, else the current one.
            tripcount: iterations of the loop, where the geometry is open.
            dynamic_shared: bytes of team-shared memory beside the static.
            time_limit: seconds that it may run on the host device.
            cooperative: all teams must run at the same time.
            specialize: "off", "auto" or "now": when the values of arguments
                and geometry are compiled in. Default: the context's.
            fold: the facts that are compiled in, of "literals", "teams",
                "threads", "alignment", "noalias", "contents" and "sizes".
            resident_teams: that shall fit on a multiprocessor at once.
            noalias: the caller promises that the arrays share no memory; the
                kernel is compiled for that where values are compiled in.

        Raises ArgumentError for arguments that do not fit, LaunchError for a
        geometry that cannot be, DeviceError where the kernel fails.
        """
        if queue is None:
            queue = current_queue(device)
        else:
            expect(Queue, "queue", queue)
        if device is None and queue is not None:
            device = queue.device
        where = self._device(device)
        array, keep = self.arguments(args, named, where)
        if noalias:
            self.apart(array)
        options = launch_options(
            teams,
            threads,
            queue=queue,
            tripcount=tripcount,
            dynamic_shared=dynamic_shared,
            time_limit=time_limit,
            cooperative=cooperative,
            specialize=specialize,
            fold=fold,
            resident_teams=resident_teams,
        )
        given = byref(options), array, len(self.params)
        interruptible(
            lambda: call("kernel_launch", self.address, where.address, *given),
            self.context,
            self.address,
        )
        if queue is not None:
            queue.keep(keep, self)
        elif self._form is None:
            self._usual_calls_by_c()

    # C makes most calls, and leaves the others to this.
    if TYPE_CHECKING or _native.Callable is None:
        __call__ = launch
    _call = launch

    def _usual_calls_by_c(self) -> None:
        self._form = form(self) or ()
        self._known.keep_form((None, None), self._form)
        if self._form:
            bind(self, self._form[0])

    def _device(self, given: Device | None) -> Device:
        if given is not None:
            return expect(Device, "device", given)
        chosen = current_device()
        if chosen.context is self.context:
            return chosen
        return Device(self.context, 0)

    def __getitem__(self, geometry: Any) -> Configured:
        """The kernel with a geometry: kernel[teams] or kernel[teams, threads],
        where each is a number or a tuple of up to three."""
        if not isinstance(geometry, tuple) or len(geometry) > 2:
            geometry = (geometry,)
        return Configured(self, *geometry)

    __iter__ = None  # every geometry would be one of its elements

    def bind(
        self,
        *args: Any,
        teams: Geometry = None,
        threads: Geometry = None,
        device: Device | None = None,
        **options: Any,
    ) -> Bound:
        """A launch that is prepared once and run many times: geometry, variant
        and arguments are chosen now. Takes what `launch` does, but a queue."""
        from ._bound import Bound

        return Bound(self, args, teams, threads, device, options)


@_native.by_vector
class Configured(_native.Callable or object):  # type: ignore[misc]
    """A kernel with a geometry, as `kernel[teams, threads]` makes it."""

    __slots__ = ("kernel", "teams", "threads", "_form")

    def __init__(
        self, kernel: Kernel, teams: Geometry, threads: Geometry = None
    ) -> None:
        self.kernel = kernel
        self.teams = teams
        self.threads = threads
        # None: not known yet; () where C cannot make the calls.
        self._form: Any = None
        try:
            self._form = kernel._known.forms.get((teams, threads))
        except TypeError:  # it cannot be hashed
            pass
        bind(self, self._form[0] if self._form else None)

    def launch(self, *args: Any, **options: Any) -> None:
        """As Kernel.launch."""
        self.kernel.launch(*args, **{**self._geometry(), **options})
        if self._form is None:
            geometry = self.teams, self.threads
            self._form = form(self.kernel, *geometry) or ()
            self.kernel._known.keep_form(geometry, self._form)
            if self._form:
                bind(self, self._form[0])

    if TYPE_CHECKING or _native.Callable is None:
        __call__ = launch
    _call = launch

    def __reduce__(self) -> tuple[Any, ...]:
        return Configured, (self.kernel, self.teams, self.threads)

    def bind(self, *args: Any, **options: Any) -> Bound:
        return self.kernel.bind(*args, **{**self._geometry(), **options})

    def _geometry(self) -> dict[str, Any]:
        return {"teams": self.teams, "threads": self.threads}


class Kernels(Mapping[str, Kernel]):
    """The kernels of a module, by name: the function that a region stands in
    ("saxpy"), with its line where a function has several ("saxpy:12"), or the
    kernel's symbol. Iterating gives the symbols."""

    def __init__(
        self, module: Any, known: dict[str, Known] | None = None
    ) -> None:
        self._module = module
        self._known = {} if known is None else known

    def __len__(self) -> int:
        return int(library().module_kernel_count(self._module.address))

    def __getitem__(self, name: str) -> Kernel:
        known = self._known.get(name) if isinstance(name, str) else None
        if known is None:
            known = self._known.setdefault(name, self._find(name))
        return Kernel(known, self._module)

    def _find(self, name: str) -> Known:
        address = c_void_p()
        try:
            call(
                "module_kernel",
                self._module.address,
                utf8("name", name),
                byref(address),
            )
        except NotFound as error:
            raise _NoKernel(str(error)) from None
        return Known(address.value or 0, self._module)

    def at(self, number: int) -> Kernel:
        """The kernel of that number, in the order of the source."""
        if not isinstance(number, int) or number < 0:
            raise NotFound(f"{number!r} is no number of a kernel, from 0 on")
        address = library().module_kernel_at(self._module.address, number)
        if not address:
            raise NotFound(f"no kernel {number}; there are {len(self)}")
        return Kernel(Known(address, self._module), self._module)

    def __iter__(self) -> Iterator[str]:
        return (self.at(i).symbol for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<kernels {', '.join(self)}>"


def _of_module(module: Any, symbol: str) -> Kernel:
    return Kernels(module)[symbol]


class _NoKernel(NotFound, KeyError):
    """As mappings raise it."""
