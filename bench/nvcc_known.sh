# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# write_known FORM TEAMS THREADS [NAME=VALUE]...: what the CUDA sources of
# bench/nvcc include as known.h. Source this file.
write_known() {
    loop='for (int i = from; i < to; i += step)'
    [ "$1" = stride ] || loop='if (int i = from; i < to)'
    printf '#define EACH(i, from, to, step) %s\n' "$loop"
    printf '#define TEAMS %s\n#define THREADS %s\n' "$2" "$3"
    shift 3
    for constant; do
        printf '#define %s %s\n' "${constant%%=*}" "${constant#*=}"
    done
}
