# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records a first session of `ompjit repl` as an SVG, whose rows appear one after
the other:

    python3 doc/record_session.py build/ompjit >doc/repl.svg

t/repl_recording_t.sh compares doc/repl.svg with what this makes."""
import os
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "t"))
sys.dont_write_bytecode = True
from terminal import Terminal

SESSION = """\
double x[64], y[64];
#pragma omp target teams distribute parallel for
for (int i = 0; i < 64; i++) {
    x[i] = i / 32.0 - 1;
    y[i] = x[i] * x[i] * x[i] - x[i];
}
y[16]
:plot x y
y[16] = z / 2;
y[16] = 7; // a mistake
:undo
y[16]
volatile int *p = 0;
*p = 1;
y[16] * 2 // the session goes on
"""
COLUMNS = 76
WIDTH, HEIGHT, BORDER = 8.4, 18, 16  # of a letter; around all
COLOURS = {
    31: "#ff7b72",
    32: "#7ee787",
    33: "#f2cc60",
    35: "#d2a8ff",
    36: "#76e3ea",
    90: "#8b949e",
    94: "#79c0ff",
}


def record(tool):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "2",
    }
    for name in ("OMPJIT_CACHE_DIR", "TMPDIR"):
        if name in os.environ:
            environment[name] = os.environ[name]
    terminal = Terminal(
        [tool, "repl", "--device", "host"], COLUMNS, environment
    )
    prompt = r"(ompjit|   \.\.\.)>\x1b\[0m "
    terminal.until(prompt)
    for line in SESSION.splitlines():
        terminal.wait_for_editor()
        terminal.type(line + "\r")
        if terminal.until(r"\n") is None or terminal.until(prompt) is None:
            sys.exit("no prompt behind: " + line)
    terminal.settle()
    rows = terminal.screen.rows
    terminal.wait_for_editor()
    rows = [list(row) for row in rows[:-1]]
    terminal.type("\x04")
    terminal.end()
    return rows


def runs(row):
    """(column, letters, colours) of letters that have the same."""
    found = []
    for column, (letter, colours) in enumerate(row):
        if found and found[-1][2] == colours:
            found[-1][1].append(letter)
        else:
            found.append((column, [letter], colours))
    return found


def draw_run(column, letters, colours):
    text = "".join(letters)
    if not text.strip():
        return ""
    fill = [COLOURS[n] for n in colours if n in COLOURS]
    style = f' fill="{fill[-1]}"' if fill else ""
    style += ' font-weight="bold"' if 1 in colours else ""
    style += ' opacity=".6"' if 2 in colours else ""
    return (
        f'<text x="{BORDER + column * WIDTH:.1f}"{style} '
        f'textLength="{len(text) * WIDTH:.1f}">{escape(text)}</text>'
    )


def is_typed(row):
    return "".join(cell[0] for cell in row[:7]) in ("ompjit>", "   ...>")


def draw(rows):
    width = round(COLUMNS * WIDTH + 2 * BORDER)
    height = len(rows) * HEIGHT + 2 * BORDER
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'xml:space="preserve">',
        "<style>",
        "text { font: 14px ui-monospace, 'DejaVu Sans Mono', monospace; "
        "white-space: pre }",
        "g g { animation: appear .1s backwards }",
        "@keyframes appear { from { opacity: 0 } }",
        "@media (prefers-reduced-motion) { g g { animation: none } }",
        "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        '<g fill="#e6edf3">',
    ]
    seconds = 0.0
    for number, row in enumerate(rows):
        seconds += 0.8 if is_typed(row) else 0.05
        texts = "".join(draw_run(*run) for run in runs(row))
        lines.append(
            f'<g transform="translate(0 {BORDER + number * HEIGHT + 13})" '
            f'style="animation-delay:{seconds:.2f}s">{texts}</g>'
        )
    return "\n".join(lines + ["</g>", "</svg>"])


if __name__ == "__main__":
    print(draw(record(os.path.abspath(sys.argv[1]))))
