# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The binding has all that the headers declare, with the same types.

clang reads the headers; what it says of functions, callbacks, structs and
enumerations is compared with _abi.py and _lib.py, and the layouts of structs
with _Static_assert.
"""
import ctypes
import json
import os
import re
import shutil
import subprocess
import unittest

from ompjit import _abi as abi
from ompjit import _abi_more
from ompjit import _lib
from ompjit._lib import call

INCLUDE = os.path.join(os.path.dirname(__file__), "..", "..", "include")
CLANG = os.environ.get("CLANG") or shutil.which("clang-22")

# ompjit_llvm.h is inline functions over an application's own LLVM.
HEADERS = sorted(
    name
    for name in os.listdir(INCLUDE)
    if name.endswith(".h") and name != "ompjit_llvm.h"
)
# Rows are looked up by name, and structs of the table are numbers of layouts.
NOT_BOUND = {"ompjit_rtl", "ompjit_rtl_struct"}

SIMPLE = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "char": ctypes.c_char,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "void": None,
    "ompjit_status": ctypes.c_int,
    "unsigned": ctypes.c_uint,
}


def run_clang(source, *flags):
    command = [CLANG, "-x", "c", "-std=c11", "-fsyntax-only", "-I", INCLUDE]
    return subprocess.run(
        [*command, *flags, "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )


INCLUDES = "".join(f"#include <{name}>\n" for name in HEADERS)


class Headers:
    """The declarations of the headers."""

    def __init__(self):
        done = run_clang(INCLUDES, "-Xclang", "-ast-dump=json")
        assert done.returncode == 0, done.stderr
        self.functions, self.callbacks = {}, {}
        self.structs, self.enums = {}, {}
        self.opaque = set()
        for node in json.loads(done.stdout)["inner"]:
            name = node.get("name", "")
            if not name.startswith("ompjit"):
                continue
            getattr(self, "read_" + node["kind"], lambda node: None)(node)
        self.opaque -= set(self.structs)

    def read_FunctionDecl(self, node):
        if node.get("storageClass") != "static":
            self.functions[node["name"]] = node["type"]["qualType"]

    def read_TypedefDecl(self, node):
        if node["name"].endswith("_fn"):
            self.callbacks[node["name"]] = node["type"]["qualType"]

    def read_RecordDecl(self, node):
        if "completeDefinition" not in node:
            self.opaque.add(node["name"])
            return
        self.structs[node["name"]] = [
            (field["name"], field["type"])
            for field in node["inner"]
            if field["kind"] == "FieldDecl"
        ]

    def read_EnumDecl(self, node):
        found, value = {}, -1
        for one in node["inner"]:
            value = int(one["inner"][0]["value"]) if "inner" in one else value + 1
            found[one["name"]] = value
        self.enums[node["name"]] = found

    def expected(self, text):
        """The ctypes type for a C type."""
        text = text.strip()
        if "(**)" in text:
            return ctypes.POINTER(ctypes.c_void_p)
        if "(*)" in text:
            return ctypes.c_void_p
        array = re.match(r"(.*?)\s*\[(\d+)\]$", text)
        if array:
            return self.expected(array[1]) * int(array[2])
        constant = text.startswith("const ")
        text = re.sub(r"\bconst\b *", "", text).strip()
        base = text.rstrip("* ")
        stars = text.count("*")
        if base in self.callbacks and stars == 1:
            return _lib.type_of(base)
        if base == "unsigned char" and stars:
            return ctypes.POINTER(abi.Key)
        if base == "char" and stars == 1:
            return ctypes.c_char_p
        if base == "char" and stars == 2:
            kind = ctypes.c_char_p if constant else ctypes.c_void_p
            return ctypes.POINTER(kind)
        if stars and (base in self.opaque or base in ("void", "CUstream")):
            kind = ctypes.c_void_p
            stars -= 1
        elif base in SIMPLE:
            kind = SIMPLE[base]
        elif base in self.enums:
            kind = ctypes.c_uint
        else:
            kind = getattr(abi, base)
        for _ in range(stars):
            kind = ctypes.POINTER(kind)
        return kind

    def signature(self, text):
        """Result and parameters of a function type."""
        result, params = re.match(r"(.*?)\s*\((.*)\)$", text).groups()
        found, depth, last = [], 0, ""
        for char in params + ",":
            depth += {"(": 1, ")": -1}.get(char, 0)
            if char == "," and not depth:
                found.append(last)
                last = ""
            else:
                last += char
        found = [] if params == "void" else found
        return [self.expected(result), *map(self.expected, found)]


@unittest.skipUnless(CLANG, "no clang")
class Abi(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.headers = Headers()

    def bound(self, name):
        name = name[len("ompjit_") :]
        if name in _lib.CHECKED:
            all = [ctypes.c_int, *_lib.CHECKED[name], "ompjit_error"]
        else:
            all = _lib.PLAIN[name]
        return list(map(_lib.type_of, all))

    def test_functions(self):
        names = {"ompjit_" + name for name in (*_lib.CHECKED, *_lib.PLAIN)}
        self.assertEqual(names, set(self.headers.functions))
        for name, text in self.headers.functions.items():
            with self.subTest(name):
                self.assertEqual(
                    self.bound(name), self.headers.signature(text)
                )

    def test_callbacks(self):
        self.assertEqual(set(_lib.CALLBACKS), set(self.headers.callbacks))
        callbacks = list(map(_lib.type_of, _lib.CALLBACKS))
        for name, text in self.headers.callbacks.items():
            bound = _lib.type_of(name)
            with self.subTest(name):
                self.assertEqual(
                    [bound._restype_, *bound._argtypes_],
                    [
                        ctypes.c_void_p if kind in callbacks else kind
                        for kind in self.headers.signature(text)
                    ],
                )

    def test_structs(self):
        for name, fields in self.headers.structs.items():
            with self.subTest(name):
                self.compare(getattr(abi, name), fields)
        bound = {
            name
            for name, value in {**vars(abi), **vars(_abi_more)}.items()
            if name.startswith("ompjit_")
            and issubclass(value, (ctypes.Structure, ctypes.Union))
        }
        self.assertEqual(bound, set(self.headers.structs))

    def compare(self, struct, fields):
        bound = struct._fields_
        self.assertEqual([f[0] for f in bound], [f[0] for f in fields])
        for (name, kind), (_, written) in zip(bound, fields):
            text = written.get("desugaredQualType", written["qualType"])
            if "unnamed" in text:
                self.assertTrue(kind.__name__.startswith("_"), name)
                continue
            want = self.headers.expected(written["qualType"])
            if want in map(_lib.type_of, _lib.CALLBACKS):
                want = ctypes.c_void_p
            self.assertEqual(kind, want, f"{struct.__name__}.{name}")

    def layout(self, struct, access, base, out):
        """Assertions on a struct, and on the unnamed ones in it."""
        for name, kind in struct._fields_:
            path = f"{access}{name}"
            offset = base + getattr(struct, name).offset
            out.append((f"offsetof(T, {path})", offset))
            out.append((f"sizeof(((T *)0)->{path})", ctypes.sizeof(kind)))
            if kind.__name__.startswith("_") and hasattr(kind, "_fields_"):
                self.layout(kind, path + ".", offset, out)

    def test_layouts(self):
        source = INCLUDES
        for name in self.headers.structs:
            struct = getattr(abi, name)
            claims = [("sizeof(T)", ctypes.sizeof(struct))]
            self.layout(struct, "", 0, claims)
            for text, value in claims:
                text = text.replace("T", name, 1)
                source += f'_Static_assert({text} == {value}, "{name}");\n'
        done = run_clang(source)
        self.assertEqual(done.stderr, "")

    def test_unnamed_structs_have_the_same_fields(self):
        """Structs that grow have no padding, so none can be missing."""
        for name in ("ompjit_context_options", "ompjit_launch", "ompjit_arg"):
            struct = getattr(abi, name)
            self.assertEqual(self.filled(struct), ctypes.sizeof(struct), name)

    def filled(self, struct):
        """Bytes of all fields, without what may be between them."""
        size = 0
        for _, kind in struct._fields_:
            nested = kind.__name__.startswith("_")
            if nested and issubclass(kind, ctypes.Structure):
                size += self.filled(kind)
            else:
                size += ctypes.sizeof(kind)
        return size

    def test_enumerations(self):
        for name, written in self.headers.enums.items():
            if name in NOT_BOUND:
                continue
            enum = getattr(abi, name)
            found = {
                key: value
                for key, value in vars(enum).items()
                if isinstance(value, int) and not key.startswith("_")
            }
            short = {}
            for full, value in written.items():
                prefix = enum.PREFIX
                if not full.startswith(prefix):
                    prefix = "OMPJIT_"
                short[full[len(prefix) :]] = value
            with self.subTest(name):
                self.assertEqual(found, short)

    def test_rows_of_the_runtime_table(self):
        row = abi.ompjit_rtl_row()
        for full, index in self.headers.enums["ompjit_rtl"].items():
            name = full[len("OMPJIT_RTL_") :]
            if name == "COUNT":
                self.assertEqual(_lib.library().rtl_count(), index)
                continue
            call("rtl_row_at", index, row)
            self.assertEqual(row.name.decode(), name.replace("_v22", ""))

    def test_constants(self):
        for name in ("ERROR_TEXT", "CONTENTS_MAX"):
            claim = f"OMPJIT_{name} == {getattr(abi, name)}"
            done = run_clang(f'{INCLUDES}_Static_assert({claim}, "");')
            self.assertEqual(done.stderr, "")

    def test_sized_structs(self):
        """A struct has `size` set where the header has a macro for that."""
        text = ""
        for name in HEADERS:
            with open(os.path.join(INCLUDE, name), encoding="utf-8") as file:
                text += file.read()
        macros = re.findall(r"OMPJIT_\w+_INIT OMPJIT_SIZED\((\w+)\)", text)
        for name in self.headers.structs:
            made = getattr(abi, name)()
            size = ctypes.sizeof(made)
            sized = name in macros
            self.assertEqual(isinstance(made, abi.Sized), sized, name)
            if sized:
                self.assertEqual(made.size, size)


if __name__ == "__main__":
    unittest.main()
