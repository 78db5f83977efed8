# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the C of expressions: statements and expressions as trees.

It is the C that a loop's body needs: numbers, variables, elements, calls,
operators, casts, declarations, if, for, while. `**` is a power. Trees are what
_emit.py makes types and C of.
"""
from __future__ import annotations

from . import TYPE_CHECKING
from ._dtype import (
    DType,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._errors import ArgumentError, CompileError

if TYPE_CHECKING:
    from typing import Any, Callable, NamedTuple, NoReturn, Union
else:
    from ._typing import Any, Callable, NamedTuple, NoReturn, Union


class Node(NamedTuple):
    """A part of an expression.

    kind     parts
    number   text
    name     the name
    element  name, Node for each index
    call     name, Node for each argument
    unary    operator, Node         (prefix)
    postfix  operator, Node
    binary   operator, Node, Node
    choice   Node, Node, Node       (?:)
    cast     DType, Node
    assign   operator, Node, Node
    """

    kind: str
    place: int  # in the text
    parts: tuple[Any, ...]


class Statement(NamedTuple):
    """A statement.

    kind      parts
    expression  Node
    declare     DType or None for auto, then (name, Node or None, place)...
    if          Node, Statement, Statement or None
    for         Statement or None, Node or None, Node or None, Statement
    while       Node, Statement
    block       Statement...
    jump        "break" or "continue"
    """

    kind: str
    place: int
    parts: tuple[Any, ...]


Tree = Union[Node, Statement]

# Longer ones first.
_OPERATORS = (
    ("<<=", ">>="),
    (
        "**", "++", "--", "&&", "||", "<<", ">>", "-=", "+=", "*=", "/=", "%=",
        "&=", "|=", "^=", "<=", ">=", "==", "!=",
    ),
    tuple("-+*/%&|^~!<>=?:;,.(){}[]"),
)  # fmt: skip
_HEX = frozenset("0123456789abcdefABCDEF")
_SUFFIX = frozenset("fFlLuU")
_IMAGINARY = frozenset("jJi")  # Python's, and GNU C's

# Binary operators by how strongly they bind.
_BINDING = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
    "**": 12,
}
ASSIGNMENTS = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
}  # fmt: skip
_WORDS = {"if", "else", "for", "while", "break", "continue"}

# Names of types in one word; those of several are counted in _type.
_TYPES: dict[str, DType] = {
    "bool": bool_,
    "_Bool": bool_,
    "_Float16": float16,
    "half": float16,
    "size_t": uint64,
    "ssize_t": int64,
    "intptr_t": int64,
    "ptrdiff_t": int64,
    "int8_t": int8,
    "int16_t": int16,
    "int32_t": int32,
    "int64_t": int64,
    "uint8_t": uint8,
    "uint16_t": uint16,
    "uint32_t": uint32,
    "uint64_t": uint64,
}
for _one in (
    int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, float32, float64, complex64, complex128,
):  # fmt: skip
    _TYPES[_one.name] = _one
_PARTS = {
    "const", "signed", "unsigned", "char", "short", "int", "long", "float",
    "double", "_Complex", "complex",
}  # fmt: skip


def located(text: str, place: int, message: str) -> str:
    """A message that shows the place in the text."""
    before = text[:place]
    line = before.count("\n") + 1
    column = place - (before.rfind("\n") + 1) + 1
    source = text.split("\n")[line - 1]
    return (
        f"expression:{line}:{column}: error: {message}\n"
        f"{line:5} | {source}\n      | {' ' * (column - 1)}^"
    )


def fail(text: str, place: int, message: str) -> NoReturn:
    raise CompileError(located(text, place, message))


def in_depth(text: str, work: Callable[..., Any], *args: Any) -> Any:
    """work(*args), which follows the tree of a text to its end."""
    try:
        return work(*args)
    except RecursionError:
        pass
    fail(
        text, 0,
        "nested too deeply for Python's stack: assign parts of it to variables",
    )


def _space(text: str, place: int) -> int:
    """The end of the spaces or the comment at a place, which has none if that
    is the place."""
    end = place
    while end < len(text) and text[end].isspace():
        end += 1
    if end > place:
        return end
    if text.startswith("//", place):
        end = text.find("\n", place)
        return len(text) if end < 0 else end
    if text.startswith("/*", place):
        end = text.find("*/", place + 2)
        return place if end < 0 else end + 2
    return place


def _digits(text: str, place: int) -> int:
    while place < len(text) and text[place].isdecimal():
        place += 1
    return place


def _number(text: str, place: int) -> int:
    """The end of the number at a place, likewise."""
    end = place + 2
    if text[place:end] in ("0x", "0X") and text[end : end + 1] in _HEX:
        while text[end : end + 1] in _HEX:
            end += 1
        while text[end : end + 1] in ("u", "U", "l", "L"):
            end += 1
        return end
    whole = end = _digits(text, place)
    if text[end : end + 1] == ".":
        end = _digits(text, end + 1)
        if end == whole + 1 and whole == place:  # a point alone
            return place
    if end == place:
        return place
    if text[end : end + 1] in ("e", "E"):
        sign = text[end + 1 : end + 2] in ("+", "-")
        power = _digits(text, end + 1 + sign)
        end = power if power > end + 1 + sign else end
    while text[end : end + 1] in _SUFFIX:
        half = text[end : end + 3] in ("f16", "F16")
        end += 3 if half else 1
    if text[end : end + 1] in _IMAGINARY:
        end += 1
    return end


def _name(text: str, place: int) -> int:
    """The end of the name at a place, likewise."""
    end, first = place, text[place]
    if first == "_" or (first.isascii() and first.isalpha()):
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
    return end


def _operator(text: str, place: int) -> int:
    """The end of the operator at a place, likewise."""
    for length, known in zip((3, 2, 1), _OPERATORS):
        if text[place : place + length] in known:
            return place + length
    return place


def tokens_of(text: str) -> list[tuple[str, str, int]]:
    """A kind, a text and a place each; the last one is an "end". Without re,
    which takes longer to import than all else that a first call needs."""
    kinds = (
        ("space", _space),
        ("number", _number),
        ("name", _name),
        ("operator", _operator),
    )
    found, place = [], 0
    while place < len(text):
        for kind, end_of in kinds:
            end = end_of(text, place)
            if end > place:
                break
        else:
            fail(text, place, f"{text[place]!r} is no C")
        if kind != "space":
            found.append((kind, text[place:end], place))
        place = end
    found.append(("end", "", len(text)))
    return found


# What C has where Python has these words.
_PYTHON = {
    "and": "C has && for 'and'",
    "or": "C has || for 'or'",
    "not": "C has ! for 'not'",
    "is": "C has == for 'is'",
    "if": "C has `condition ? a : b` for 'if' within an expression",
    "lambda": "a preamble has functions",
    ".": "functions stand alone: sin(x), real(x)",
}


class Parser:
    """One text. `statements()` reads all of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.next = 0

    # ---------------------------------------------------------------- tokens

    @property
    def kind(self) -> str:
        return self.tokens[self.next][0]

    @property
    def word(self) -> str:
        return self.tokens[self.next][1]

    @property
    def place(self) -> int:
        return self.tokens[self.next][2]

    def take(self) -> str:
        word = self.word
        self.next += 1
        return word

    def accept(self, word: str) -> bool:
        if self.kind in ("operator", "name") and self.word == word:
            self.next += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.wrong(f"expected '{word}'")

    def wrong(self, message: str) -> NoReturn:
        place = self.place
        if self.kind == "end":  # shown behind the last character
            place = len(self.text.rstrip())
        for _, word, _ in self.tokens[max(self.next - 1, 0) : self.next + 1]:
            if word in _PYTHON:
                message += f"; {_PYTHON[word]}"
        fail(self.text, place, message)

    # ------------------------------------------------------------ statements

    def statements(self) -> list[Statement]:
        """The whole text."""
        found = []
        while self.kind != "end":
            if not self.accept(";"):
                found.append(self.statement())
        return found

    def statement(self) -> Statement:
        place, word = self.place, self.word
        if self.accept("{"):
            inner = []
            while not self.accept("}"):
                if self.kind == "end":
                    self.wrong("expected '}'")
                if not self.accept(";"):
                    inner.append(self.statement())
            return Statement("block", place, tuple(inner))
        if word in ("break", "continue"):
            self.take()
            self.finish()
            return Statement("jump", place, (word,))
        if word in ("if", "while"):
            self.take()
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            body = self.statement()
            if word == "while":
                return Statement("while", place, (condition, body))
            other = self.statement() if self.accept("else") else None
            return Statement("if", place, (condition, body, other))
        if word == "for":
            return self.loop()
        found = self.declaration() or self.simple()
        self.finish()
        return found

    def finish(self) -> None:
        """The end of a statement; the last one may leave out its `;`."""
        if self.kind != "end" and self.word != "}":
            self.expect(";")

    def simple(self) -> Statement:
        place = self.place
        return Statement("expression", place, (self.expression(),))

    def loop(self) -> Statement:
        place = self.place
        self.take()
        self.expect("(")
        first = None
        if not self.accept(";"):
            first = self.declaration() or self.simple()
            self.expect(";")
        condition = None if self.word == ";" else self.expression()
        self.expect(";")
        step = None if self.word == ")" else self.expression()
        self.expect(")")
        return Statement(
            "for", place, (first, condition, step, self.statement())
        )

    def declaration(self) -> Statement | None:
        place, begin = self.place, self.next
        if self.accept("auto") or self.accept("__auto_type"):
            kind = None
        else:
            kind = self.type()
            if kind is None or self.word == "(":  # a cast like float32(x)
                self.next = begin
                return None
        names = []
        while True:
            at = self.place
            if self.kind != "name" or self.word in _WORDS:
                self.wrong("expected a name")
            name = self.take()
            value = self.assignment() if self.accept("=") else None
            if kind is None and value is None:
                fail(self.text, at, f"'{name}' needs a value or a type")
            names.append((name, value, at))
            if not self.accept(","):
                break
        return Statement("declare", place, (kind, *names))

    def type(self) -> DType | None:
        """A type's name, if one stands here."""
        words = []
        while self.kind == "name" and self.word in _PARTS:
            words.append(self.take())
        rest = [w for w in words if w != "const"]
        if not rest and self.kind == "name" and self.word in _TYPES:
            return _TYPES[self.take()]
        if not words:
            return None
        has = set(rest)
        sign = "u" if "unsigned" in has else "i"
        is_complex = bool(has & {"_Complex", "complex"})
        if "float" in has:
            return complex64 if is_complex else float32
        if "double" in has or is_complex:
            return complex128 if is_complex else float64
        size = 8 if "long" in has else 4
        size = 2 if "short" in has else 1 if "char" in has else size
        return dtype(f"{sign}{size}")

    # ----------------------------------------------------------- expressions

    def expression(self) -> Node:
        found = self.assignment()
        if self.word == ",":
            self.wrong("expected ';'")
        return found

    def assignment(self) -> Node:
        left = self.choice()
        place = self.place
        if self.kind != "operator" or self.word not in ASSIGNMENTS:
            return left
        if left.kind not in ("name", "element"):
            self.wrong("only a variable can be assigned to")
        operator = self.take()
        return Node("assign", place, (operator, left, self.assignment()))

    def choice(self) -> Node:
        condition = self.binary(0)
        place = self.place
        if not self.accept("?"):
            return condition
        yes = self.assignment()
        self.expect(":")
        return Node("choice", place, (condition, yes, self.choice()))

    def binary(self, above: int) -> Node:
        left = self.unary()
        while self.kind == "operator":
            operator, place = self.word, self.place
            binding = _BINDING.get(operator, 0)
            if binding <= above:
                break
            self.take()
            # ** binds to the right, all others to the left.
            right = self.binary(binding - (operator == "**"))
            left = Node("binary", place, (operator, left, right))
        return left

    def unary(self) -> Node:
        place, word = self.place, self.word
        if self.kind == "operator" and word in ("-", "+", "!", "~", "++", "--"):
            self.take()
            inner = self.binary(11) if word in "-+" else self.unary()
            return Node("unary", place, (word, inner))
        if word == "(":
            begin = self.next
            self.take()
            kind = self.type()
            if kind is not None and self.accept(")"):
                return Node("cast", place, (kind, self.unary()))
            self.next = begin
        return self.postfix()

    def postfix(self) -> Node:
        found = self.primary()
        while self.kind == "operator" and self.word in ("++", "--"):
            place = self.place
            found = Node("postfix", place, (self.take(), found))
        return found

    def primary(self) -> Node:
        place = self.place
        if self.accept("("):
            inner = self.assignment()
            self.expect(")")
            return inner
        if self.kind == "number":
            return Node("number", place, (self.take(),))
        if self.kind != "name" or self.word in _WORDS:
            self.wrong("expected an expression")
        begin, kind = self.next, self.type()
        if kind is not None:
            if not self.accept("("):
                self.next = begin
                self.wrong(f"expected an expression, not the type {kind.c}")
            inner = self.assignment()
            self.expect(")")
            return Node("cast", place, (kind, inner))
        name = self.take()
        if self.accept("("):
            return Node("call", place, (name, *self.list(")")))
        if self.accept("["):
            return Node("element", place, (name, *self.list("]")))
        return Node("name", place, (name,))

    def list(self, end: str) -> list[Node]:
        found: list[Node] = []
        if self.accept(end):
            return found
        while True:
            found.append(self.assignment())
            if self.accept(end):
                return found
            self.expect(",")


def parse(text: str) -> list[Statement]:
    """The statements of a text; CompileError with the place of what is wrong."""
    if not isinstance(text, str):
        raise ArgumentError(f"an expression is text, not {text!r}")
    found: list[Statement] = in_depth(text, Parser(text).statements)
    if not found:
        fail(text, 0, "nothing is computed")
    return found


class Names(NamedTuple):
    """The names that a text uses."""

    inputs: tuple[str, ...]  # read before they are all written, in order
    outputs: tuple[str, ...]  # written, in order
    partial: frozenset[str]  # written, but perhaps not for every element
    arrays: frozenset[str]  # used with an index
    functions: frozenset[str]


class _Scan:
    """Walks a tree and sees what it does with names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.read: list[str] = []
        self.written: list[str] = []
        self.local: set[str] = set()
        self.arrays: set[str] = set()
        self.functions: set[str] = set()
        self.partial: set[str] = set()
        self.maybe = 0  # within what may not run

    def statement(self, s: Statement) -> None:
        if s.kind == "declare":
            for name, value, _ in s.parts[1:]:
                if value is not None:
                    self.node(value)
                self.local.add(name)
        elif s.kind in ("expression", "block"):
            for part in s.parts:
                self.part(part)
        elif s.kind != "jump":
            inner = s.parts[1:] if s.kind in ("if", "while") else s.parts
            if s.kind in ("if", "while"):
                self.node(s.parts[0])
            self.maybe += 1
            for part in inner:
                self.part(part)
            self.maybe -= 1

    def part(self, part: Any) -> None:
        if isinstance(part, Statement):
            self.statement(part)
        elif isinstance(part, Node):
            self.node(part)

    def use(self, name: str) -> None:
        if name not in self.local and name not in self.written:
            if name not in self.read:
                self.read.append(name)

    def write(self, name: str, too: bool) -> None:
        if name in self.local:
            return
        if too:  # its old value counts
            self.use(name)
        if self.maybe and name not in self.written:
            self.partial.add(name)
        if name not in self.written:
            self.written.append(name)

    def node(self, n: Node) -> None:
        if n.kind == "name":
            self.use(n.parts[0])
        elif n.kind == "assign":
            operator, target, value = n.parts
            self.node(value)
            if target.kind == "element":
                for index in target.parts[1:]:
                    self.node(index)
                self.arrays.add(target.parts[0])
                self.write(target.parts[0], True)
            else:
                self.write(target.parts[0], operator != "=")
        elif n.kind in ("unary", "postfix") and n.parts[0] in ("++", "--"):
            if n.parts[1].kind != "name":
                fail(self.text, n.place, "only a variable can be changed")
            self.write(n.parts[1].parts[0], True)
        else:
            if n.kind == "element":
                self.arrays.add(n.parts[0])
                self.use(n.parts[0])
            if n.kind == "call":
                self.functions.add(n.parts[0])
            for part in n.parts:
                self.part(part)


def names_of(
    text: str, statements: list[Statement], known: frozenset[str]
) -> Names:
    """What a text reads and writes, without the names that are known."""
    scan = _Scan(text)
    for s in statements:
        in_depth(text, scan.statement, s)
    return Names(
        tuple(name for name in scan.read if name not in known),
        tuple(scan.written),
        frozenset(scan.partial),
        frozenset(scan.arrays),
        frozenset(scan.functions),
    )
