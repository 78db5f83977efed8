# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of a compiled module, in all its forms."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, string_at

from . import _abi as abi
from ._context import Context, choice
from ._device import device as current_device
from ._errors import InternalError, NotAvailable, utf8
from ._handle import Owned
from ._interrupt import interruptible
from ._lib import call, library


def arch_of(context: Context, format: str) -> str:
    """The architecture of the current device; for PTX and cubins a GPU's."""
    with context:
        found = current_device()
    if format in ("ptx", "cubin") and found.is_host:
        return "sm_90"
    return "host" if found.is_host else found.arch


def _disassembler() -> str:
    """nvdisasm: on PATH, in a toolkit, or in NVIDIA's wheels."""
    import shutil
    from glob import iglob

    folders = [os.environ.get("OMPJIT_CUDA_HOME", "/usr/local/cuda")]
    wheels = os.environ.get("OMPJIT_CUDA_WHEELS", "").split(":")
    for root in filter(None, wheels):
        folders += iglob(os.path.join(root, "nvidia", "*"))
    found = shutil.which("nvdisasm")
    for folder in folders:
        found = found or shutil.which("nvdisasm", path=os.path.join(folder, "bin"))
    if not found:
        raise NotAvailable(
            "SASS needs CUDA's nvdisasm: on PATH, in a toolkit, or "
            "`pip install nvidia-cuda-nvdisasm`"
        )
    return found


class Code(Owned):
    """What can be said of compiled code. Module is one."""

    __slots__ = ()
    context: Context

    def emit(self, format: str, arch: str | None = None) -> bytes:
        """The module as bytes.

        Args:
            format: "ll" or "bc", device IR before the runtime is linked;
                "opt_ll", IR that is optimized for the architecture; "ptx",
                "cubin"; "object", for a CPU; "host_ll", the host's half.
            arch: "sm_75" to "sm_120", "host", "x86-64", "x86-64-v3",
                "aarch64" or "neoverse-v2". Default: that of the current
                device. Needs no such device.
        """
        kind = choice("format", format, abi.ompjit_format)
        if arch is None and format not in ("ll", "bc", "host_ll"):
            arch = arch_of(self.context, format)
        data, size = c_void_p(), c_size_t()
        name = None if arch is None else utf8("arch", arch)

        def emit() -> None:
            call("module_emit", self.address, kind, name, byref(data),
                 byref(size))

        interruptible(emit, self.context)
        try:
            return string_at(data.value or 0, size.value)
        finally:
            library().bytes_free(data)

    @property
    def ir(self) -> str:
        """The device half's IR as text."""
        return self.emit("ll").decode()

    @property
    def host_ir(self) -> str:
        """The host half's IR as text."""
        return self.emit("host_ll").decode()

    def optimized(self, arch: str | None = None) -> str:
        """The device half's IR, linked and optimized for an architecture."""
        return self.emit("opt_ll", arch).decode()

    def ptx(self, arch: str | None = None) -> str:
        """The PTX for a GPU's architecture; "sm_90" where there is no GPU."""
        return self.emit("ptx", arch).decode()

    def sass(self, arch: str | None = None) -> str:
        """The machine code for a GPU's architecture, disassembled. Needs an
        assembler and CUDA's nvdisasm, but no GPU."""
        import subprocess
        import tempfile

        program = _disassembler()
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(self.emit("cubin", arch))
            file.flush()
            done = subprocess.run(
                [program, "-c", file.name],
                capture_output=True, text=True, errors="replace",
            )
        if done.returncode:
            raise InternalError(f"{program}: {done.stderr.strip()}")
        return done.stdout
