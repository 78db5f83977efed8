#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Ten programs of a source-to-source compiler's kind, t/dropin/rex: entries and
# keys of their own, a stand-alone image, a generic helper that registers it.
# They are built by the system's compiler, clang 19 and clang 22, run as
# executables on both devices and under ompjit run, and the identity of their
# kernels is proved in the source, in the object, in the executable, and at run
# time.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE OMPJIT_TEAMS OMPJIT_THREADS OMPJIT_HOST_MEMORY OMPJIT_CACHE
OMPJIT_CACHE_DIR=$tmp/cache
export OMPJIT_CACHE_DIR

# NAME:COMMAND
compilers="cc:${CC:-cc} clang22:$CLANG"
lacks clang-19 "programs by clang 19" || compilers="$compilers clang19:clang-19"

# right NAME COMMAND...
right() {
    succeeds "$@"
    is "$out" "wrong 0" "  right"
}
for source in "$from"/rex/*.c; do
    name=$(basename "$source" .c)
    succeeds "$name: device code" "$ompjit" compile -DKERNELS "$source" \
        -o "$tmp/k.bc"
    "$ompjit" inspect -DKERNELS "$source" | sed -n \
        's/^ *symbol *\(__omp_offloading_[0-9a-f]*_[0-9a-f]*_\(.*\)_l[0-9]*\)$/#define K_\2 "\1"/p' \
        >"$tmp/kernels.h"
    kernels=$(grep -c '' "$tmp/kernels.h")

    # The source: one entry a kernel, in the section, each with a key of its own
    # that is launched, and with the name of a kernel of the device code.
    "${CC:-cc}" -E -P "-DSYMBOLS=\"$tmp/kernels.h\"" "$source" | tr '\n' ' ' |
        tr ';' '\n' >"$tmp/lines"
    grep 'section("omp_offloading_entries")' "$tmp/lines" |
        sed -n 's/.*{&\(OUT__[a-z]*__id__\), "\([^"]*\)", 0, *0, *0}.*/\1 \2/p' \
        >"$tmp/entries"
    is "$(grep -c '' "$tmp/entries")" "$kernels" \
        "  one entry for each kernel, in the section"
    is "$(cut -d' ' -f2 "$tmp/entries" | sort)" \
        "$(sed 's/.*"\(.*\)"/\1/' "$tmp/kernels.h" | sort)" \
        "  with the kernels' names"
    is "$(grep -o 'launch(&OUT__[a-z]*__id__\|teams(-1, &OUT__[a-z]*__id__' \
        "$tmp/lines" | sed 's/.*&//' | sort -u)" \
        "$(cut -d' ' -f1 "$tmp/entries" | sort -u)" \
        "  and keys that are launched"

    for compiler in $compilers; do
        by=${compiler%%:*} program=$tmp/$name.${compiler%%:*}
        "${compiler#*:}" -O1 "-DSYMBOLS=\"$tmp/kernels.h\"" -c "$source" \
            -o "$tmp/host.o"
        # shellcheck disable=SC2086 # several words
        succeeds "$name by $by" "${compiler#*:}" -O1 "$tmp/host.o" \
            "$from/register.c" -o "$program" $dropin -lm
        for built in host.o "$name.$by"; do
            succeeds "  doctor" "$ompjit" doctor "$tmp/$built" "$tmp/k.bc"
            like "$out" "^entries +$kernels: $kernels kernels?$" \
                "  an entry for each kernel of $built"
        done
        right "  runs" env OMPJIT_DEVICE=host OMP_TARGET_OFFLOAD=mandatory \
            OMPJIT_HOST_MEMORY=separate "$program" "$tmp/k.bc"
        [ -e "${PTXI:-}/libcuda.so.1" ] || continue
        [ "$by" = cc ] || continue
        right "  as PTX" emulated OMP_TARGET_OFFLOAD=mandatory timeout 120 \
            "$program" "$tmp/k.bc"
    done
    right "  under ompjit run" "$ompjit" run --device=host \
        "-DSYMBOLS=\"$tmp/kernels.h\"" "$source" "$from/register.c" -- "$tmp/k.bc"
done
done_testing
