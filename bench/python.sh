#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# python.sh [WORD...]   the Python package beside Numba and numexpr, side by side
#                       in one run; only the parts whose names contain a WORD
#
# PEERS is a Python that has numpy, numba and numexpr; without it a virtual
# environment with them is made in build/bench-venv. BUILD is the build folder.
# CLOCK=cpu: kernels of one thread, by the CPU's time.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
BUILD=${BUILD:-$here/../build}
BUILD=$(cd "$BUILD" && pwd)
if [ -z "${PEERS-}" ]; then
    PEERS=$BUILD/bench-venv/bin/python3
    [ -x "$PEERS" ] || python3 -m venv "$BUILD/bench-venv"
    "$PEERS" -c 'import numba, numexpr' 2>/dev/null ||
        "$PEERS" -m pip install -q numpy numba numexpr
fi
PYTHONPATH=$here/../python OMPJIT_LIBRARY=$BUILD/.libs
export PYTHONPATH OMPJIT_LIBRARY
if [ "${CLOCK-}" = cpu ]; then
    export OMP_NUM_THREADS=1
fi
for part in start calls capi kernels; do
    case " ${*:-$part} " in *"$part"*) "$PEERS" "$here/python/$part.py" ;; esac
done
