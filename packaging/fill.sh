#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# fill.sh TEMPLATE: prints it with the folders of the installation, which the
# variables prefix, libdir, includedir, pkgconfigdir and cmakedir hold, and with
# version and soname. What lies below the prefix is written relative to the
# file's own folder, so that the whole tree can be moved; what does not, in full.
set -eu

# up FOLDER SELF: the prefix, for a file in FOLDER that calls that folder SELF.
up() {
    case $1/ in
    "$prefix"/*) printf '%s%s' "$2" \
        "$(printf %s "${1#"$prefix"}" | sed 's|/[^/]*|/..|g')" ;;
    *) printf %s "$prefix" ;;
    esac
}

# below FOLDER PREFIX: the folder, for a file that calls the prefix PREFIX.
below() {
    case $1/ in
    "$prefix"/*) printf %s "$2${1#"$prefix"}" ;;
    *) printf %s "$1" ;;
    esac
}

pc='${prefix}'
cmake='${_ompjit_prefix}'
sed -e "s|@PC_PREFIX@|$(up "$pkgconfigdir" '${pcfiledir}')|" \
    -e "s|@PC_LIBDIR@|$(below "$libdir" "$pc")|" \
    -e "s|@PC_INCLUDEDIR@|$(below "$includedir" "$pc")|" \
    -e "s|@CMAKE_PREFIX@|$(up "$cmakedir" '${CMAKE_CURRENT_LIST_DIR}')|" \
    -e "s|@CMAKE_LIBDIR@|$(below "$libdir" "$cmake")|" \
    -e "s|@CMAKE_INCLUDEDIR@|$(below "$includedir" "$cmake")|" \
    -e "s|@VERSION@|$version|; s|@SONAME@|$soname|" "$1"
