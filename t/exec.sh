#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How prove runs one test, script or program.
case $1 in
*.sh) exec sh "$@" ;;
*) exec "$@" ;;
esac
