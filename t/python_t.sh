#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Python package: python/tests/test_*.py. WORDS="array lib" runs those whose
# names contain one of the words. The Python is PYTHON, else the one of the
# virtual environment in build/venv, else python3.
. "${srcdir:-.}/t/tap.sh"

python=$builddir/venv/bin/python3
[ -x "$python" ] || python=python3
python=${PYTHON:-$python}
if lacks "$python" "the Python package"; then
    done_testing
    exit
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    skip_all "$python is older than 3.9"

PYTHONPATH=$(cd "$srcdir/python" && pwd)${PYTHONPATH:+:$PYTHONPATH}
OMPJIT_LIBRARY=$(cd "$builddir" && pwd)/.libs
PYTHONPYCACHEPREFIX=$(cd "$builddir" && pwd)/pycache
# Sources that several tests compile are compiled once.
unset OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export PYTHONPATH OMPJIT_LIBRARY PYTHONPYCACHEPREFIX OMPJIT_CACHE_DIR
"$python" "$srcdir/python/tests/run.py" ${WORDS-}
status=$?
exit $status
