# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs built ahead of time by clang 22, without a linker of offloading: source
# it after tap.sh.
from=$srcdir/t/dropin
lib=$builddir/.libs
dropin="-L$lib -lompjit-omptarget -Wl,-rpath,$lib"

# objects OUT OPTION... -- FILE...: compiles the files with the options, and puts
# the objects' names into $objects; one more registers the images of all.
objects() {
    objects_out=$1 objects_flags= objects=; shift
    : >"$tmp/$objects_out.images"
    while [ "$1" != -- ]; do
        objects_flags="$objects_flags $1"; shift
    done
    shift
    for objects_file; do
        objects_name=$tmp/$objects_out-$(basename "$objects_file").o
        # shellcheck disable=SC2086 # several words
        "$CLANG" -fopenmp --offload-arch=sm_90 -foffload-lto -nogpulib \
            -O2 $objects_flags -c "$objects_file" -o "$objects_name" &&
            objcopy -O binary --only-section=.llvm.offloading \
                --set-section-flags .llvm.offloading=alloc "$objects_name" \
                "$tmp/image" &&
            cat "$tmp/image" >>"$tmp/$objects_out.images" || return
        objects="$objects $objects_name"
    done
    "$CLANG" -fPIC "-DIMAGE=\"$tmp/$objects_out.images\"" \
        -c "$from/image.c" -o "$tmp/$objects_out.image.o" &&
        objects="$objects $tmp/$objects_out.image.o"
}

# built OUT OPTION... -- FILE...: the executable $tmp/OUT, with this library
# shellcheck disable=SC2086
built() {
    objects "$@" && "${CXX:-c++}" $objects -o "$tmp/$1" $dropin "$LIBOMP" -lm
}
