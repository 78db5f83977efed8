# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program at a terminal, for tests and recordings: what it has written, and the
screen that this makes, with its colours. The terminal knows what xterm-256color's
entry of terminfo makes libedit write, and SGR; it never scrolls anything away."""
import ctypes
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

LIMIT = 120  # seconds


def has_libedit():
    try:
        ctypes.CDLL("libedit.so.2")
    except OSError:
        return False
    return True


class Screen:
    """Rows of cells, each a letter and the parameters of its colours."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.row = self.column = 0
        self.colours = ()
        self.saved = (0, 0)
        self.left = ""  # the begin of a sequence that is not whole yet

    def text(self):
        """The rows, without blanks at their ends."""
        return ["".join(cell[0] for cell in row).rstrip() for row in self.rows]

    def feed(self, text):
        text = self.left + text
        self.left = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
                continue
            found = re.compile(
                r"\x1b(?:\[([?>0-9;]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|"
                r"[()][A-Z0-9]|([=>78A-Z]))"
            ).match(text, at)
            if not found:
                self.left = text[at:]
                return
            if found[2]:
                self.control(found[1], found[2])
            elif found[3] == "7":
                self.saved = (self.row, self.column)
            elif found[3] == "8":
                self.row, self.column = self.saved
            at = found.end()

    def line(self):
        while len(self.rows) <= self.row:
            self.rows.append([])
        row = self.rows[self.row]
        while len(row) < self.column:
            row.append((" ", ()))
        return row

    def put(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
            self.line()
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif letter >= " ":
            if self.column >= self.columns:
                self.row += 1
                self.column = 0
            self.line()[self.column : self.column + 1] = [(letter, self.colours)]
            self.column += 1
            if unicodedata.east_asian_width(letter) in "WF":
                self.line()[self.column : self.column + 1] = [("", ())]
                self.column += 1

    def control(self, parameters, kind):
        numbers = [int(n) for n in re.findall(r"\d+", parameters)]
        n = numbers[0] if numbers else 0
        many = max(n, 1)
        row = self.line()
        if kind == "m":
            self.style(numbers)
        elif kind == "A":
            self.row = max(0, self.row - many)
        elif kind == "B":
            self.row += many
        elif kind == "C":
            self.column = min(self.columns - 1, self.column + many)
        elif kind == "D":
            self.column = max(0, self.column - many)
        elif kind == "G":
            self.column = many - 1
        elif kind == "K" and n == 0:
            del row[self.column :]
        elif kind == "J" and n == 0:
            del row[self.column :]
            del self.rows[self.row + 1 :]
        elif kind == "P":
            del row[self.column : self.column + many]
        elif kind == "@":
            row[self.column : self.column] = [(" ", ())] * many
        elif kind == "X":
            row[self.column : self.column + many] = [(" ", ())] * many

    def style(self, numbers):
        for n in numbers or [0]:
            self.colours = self.colours + (n,) if n else ()


class Terminal:
    """The program behind a pseudo-terminal."""

    def __init__(self, argv, columns=100, environment=None):
        self.screen = Screen(columns)
        self.seen = ""  # what `until` has not looked at yet
        self.partial = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(argv[0], argv, environment or dict(os.environ))
        size = struct.pack("HHHH", 50, columns, 0, 0)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)

    def read(self, seconds):
        """False: nothing has come, or the program has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = self.partial + os.read(self.fd, 65536)
        except OSError:
            return False
        text = data.decode("utf-8", "surrogateescape")
        whole = len(text) - len(re.search("[\udc80-\udcff]{0,3}$", text)[0])
        self.partial = text[whole:].encode("utf-8", "surrogateescape")
        self.seen += text[:whole]
        self.screen.feed(text[:whole])
        return bool(data)

    def until(self, pattern):
        """What has come up to the pattern; None: it does not come."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            found = re.search(pattern, self.seen)
            if found:
                text = self.seen[: found.end()]
                self.seen = self.seen[found.end() :]
                return text
            if not self.read(1) and os.waitpid(self.pid, os.WNOHANG)[0]:
                self.pid = 0
                return None
        return None

    def wait_for_editor(self):
        """libedit shows its prompt before it takes the terminal's letters."""
        end = time.monotonic() + LIMIT
        while (
            termios.tcgetattr(self.fd)[3] & termios.ICANON
            and time.monotonic() < end
        ):
            time.sleep(0.002)

    def settle(self, seconds=0.05):
        while self.read(seconds):
            pass

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The exit status."""
        if not self.pid:
            return None
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
        os.kill(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]
