#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The recording in the README is what ompjit repl shows, with its colours.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/repl.sh"
HOME=$tmp
export HOME
if lacks python3 "the recording"; then
    done_testing
    exit
fi
python3 -c "import sys; sys.path.insert(0, '$srcdir/t')
sys.dont_write_bytecode = True
import terminal; sys.exit(not terminal.has_libedit())" 2>stderr ||
    skip_all "no libedit, or no pseudo-terminals in Python"
succeeds "a session is recorded" python3 "$srcdir/doc/record_session.py" "$ompjit"
printf '%s\n' "$out" | sed 's/^<g transform.*">\(.*\)<.g>$/\1/' >got
sed 's/^<g transform.*">\(.*\)<.g>$/\1/' "$srcdir/doc/repl.svg" >want
diff want got >difference
is "$(head -20 difference)" "" "doc/repl.svg is that session"
like "$out" '#79c0ff.*>#pragma</text>' "directives have a colour"
like "$out" '#ff7b72.*>error: </text>' "and so have errors"
done_testing
