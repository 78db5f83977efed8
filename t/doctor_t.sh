#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompjit doctor: sound programs of both kinds, each way in which the identity of
# their kernels breaks, and damaged files.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/dropin/built.sh"
unset OMPJIT_DEVICE
lacks objcopy "broken programs" && { done_testing; exit; }
# A build with sanitizers ends with another status than the tool's own.
ASAN_OPTIONS=exitcode=99:${ASAN_OPTIONS-}
UBSAN_OPTIONS=halt_on_error=1:exitcode=99:${UBSAN_OPTIONS-}
export ASAN_OPTIONS UBSAN_OPTIONS
cd "$tmp" || exit 1

doctor() { "$ompjit" doctor "$@"; }
# sound NAME FILE...: nothing is wrong; the summary is in $out
sound() {
    sound_name=$1; shift
    succeeds "$sound_name" doctor "$@"
    like "$out" "^sound: " "  is sound"
}
# broken REGEX NAME FILE...: the doctor says so
broken() {
    broken_regex=$1 broken_name=$2; shift 2
    status_is 1 "$broken_name" doctor "$@"
    like "$(cat "$tmp/stderr")" "^ompjit: .*$broken_regex" "  is told"
}
# noted REGEX: the last one had a note
noted() { like "$(cat "$tmp/stderr")" "^ompjit: note: .*$1" "  with a note"; }
# untold REGEX: the last one said no such thing
untold() { is "$(grep -cE "$1" "$tmp/stderr")" 0 "  and no more"; }

# object NAME [OPTION...]: an object of host.h and standard input
object() {
    object_name=$1; shift
    { echo '#include "t/doctor/host.h"'; cat; } >"$object_name.c"
    ${CC:-cc} -I"$srcdir" -fPIC -O1 "$@" -c "$object_name.c" \
        -o "$object_name.o" || fail "$object_name.c"
}
# ptx NAME ARCH KERNEL "PARAM..." ...: PTX with kernels and their parameters
ptx() {
    ptx_out=$1.ptx ptx_arch=$2; shift 2
    printf '.version 7.8\n.target %s\n.address_size 64\n' "$ptx_arch" >"$ptx_out"
    while [ $# -gt 0 ]; do
        ptx_comma='' ptx_n=0
        echo ".visible .entry $1("
        for ptx_type in $2; do
            echo "$ptx_comma .param .$ptx_type $1_param_$ptx_n"
            ptx_comma=, ptx_n=$((ptx_n + 1))
        done
        printf ')\n{\n ret;\n}\n'
        shift 2
    done >>"$ptx_out"
}
ptx code sm_75 scale "u32 u64" add "u32 u64 u64"

# ------------------------------------------------------------------- sound
object old <<'END'
OLD one = {&a, "scale", 0, 0, 0}, two = {&b, "add", 0, 0, 0};
END
object new <<'END'
static int table[4];
NEW one = NEW_KERNEL(a, "scale"), two = NEW_KERNEL(b, "add"),
    three = {0, 1, 1, 0, table, "table", sizeof table, 0, 0},
    four = {0, 1, 1, 0x10, 0, "", 0, 1, 0};
END
# A registering file, so that executables and libraries are whole.
cat >whole.c <<'END'
void __tgt_register_lib(void *x) { (void)x; }
int __tgt_target_kernel(void *a, long long b, int c, int d, void *e, void *f)
{
    (void)a; (void)b; (void)c; (void)d; (void)e; (void)f;
    return 0;
}
END
echo 'int launch(void); void __tgt_register_lib(void *);
int main(void) { __tgt_register_lib(0); return launch(); }' >main.c
${CC:-cc} -shared -fPIC whole.c -o libwhole.so || fail "libwhole.so"
# linked OUT OPTION...
linked() {
    linked_out=$1; shift
    ${CC:-cc} main.c "$@" -o "$linked_out" -L. -lwhole -Wl,-rpath,. ||
        fail "$linked_out"
}
sound "an object of 32-byte entries" old.o code.ptx
like "$out" "^entries  2: 2 kernels$" "  has two kernels"
like "$out" "^images   1: 1 PTX for sm_75$" "  and an image"
noted "no image is for the CPU"
sound "an object of 56-byte entries" new.o code.ptx
like "$out" "^entries  4: 2 kernels, 1 variable, 1 requirement$" "  by roles"
for kind in old new; do
    linked $kind $kind.o
    sound "an executable, $kind" $kind code.ptx
    linked $kind.exec -no-pie $kind.o
    sound "one of fixed addresses, $kind" $kind.exec code.ptx
    if linked $kind.relr -Wl,-z,pack-relative-relocs $kind.o 2>/dev/null; then
        sound "packed relocations, $kind" $kind.relr code.ptx
    fi
    ${CC:-cc} -shared -fPIC main.c $kind.o -o lib$kind.so -L. -lwhole || fail "lib$kind.so"
    sound "a shared library, $kind" lib$kind.so code.ptx
    strip -o $kind.stripped $kind
    sound "a stripped one, $kind" $kind.stripped code.ptx
done
"$CLANG" --target=aarch64-linux-gnu -I"$srcdir" -c old.c -o arm.o &&
    sound "an object for AArch64" arm.o code.ptx
ar rc lib.a old.o
sound "an archive" lib.a code.ptx
succeeds "an image alone" doctor code.ptx
noted "no file has entries"
succeeds "quiet" doctor -q old.o code.ptx
is "$out$(cat stderr)" "" "  has no words"
object template <<'END'
OLD one = {&a, "scale", 0, 0, 0}, two = {&b, "add", 0, 0, 0};
OLD again = {&a, "scale", 0, 0, 0};
END
sound "an entry twice, of templates" template.o code.ptx

# -------------------------------------------------------------- missing entries
object none </dev/null
broken "none.o launches .* no offload entries" "no section" none.o code.ptx
object half <<'END'
OLD one = {&a, "scale", 0, 0, 0};
END
broken "code.ptx: kernel add has no entry" "a kernel without one" half.o code.ptx
echo 'int nothing;' >plain.c
${CC:-cc} -c plain.c -o plain.o
broken "code.ptx: kernel scale has no entry: no file has a section" \
    "host code without offloading" plain.o code.ptx
broken "compiled without offloading" "nothing of offloading at all" plain.o
objcopy --remove-section omp_offloading_entries old.o removed.o
broken "no offload entries" "a section that was removed" removed.o code.ptx
broken "old has entries for 2 kernels, but there is no device image" \
    "no image" old
cat >register.c <<'END'
extern char __start_omp_offloading_entries, __stop_omp_offloading_entries;
void __tgt_register_lib(void *);
void enroll(void);
void enroll(void) { __tgt_register_lib(&__start_omp_offloading_entries); }
END
${CC:-cc} -c register.c -o register.o
broken "register.o refers to __start_omp_offloading_entries, but .* no section" \
    "a helper for the other layout" new.o register.o code.ptx
sound "the helper and its entries" old.o register.o code.ptx
${CC:-cc} -shared old.o -o unregistered.so
broken "unregistered.so: nobody calls __tgt_register_lib" "no registration" \
    unregistered.so code.ptx

# -------------------------------------------------------------------- wrong ABI
object short <<'END'
struct __attribute__((packed)) cut { void *address; const char *name; size n;
    int flags; };
IN("omp_offloading_entries") struct cut one = {&a, "scale", 0, 0};
END
broken "short.o: section omp_offloading_entries has 28 bytes, no multiple of 32" \
    "an incomplete struct" short.o code.ptx
object padded <<'END'
IN("llvm_offload_entries") struct new_entry one __attribute__((aligned(32))) =
    NEW_KERNEL(a, "scale");
NEW two __attribute__((aligned(32))) = NEW_KERNEL(b, "add");
END
broken "llvm_offload_entries has 120 bytes, no multiple of 56, .*aligned\(8\)" \
    "entries with an alignment" padded.o code.ptx
# entry REGEX NAME ENTRY: beside a sound one
entry() {
    printf '%s\n' "$3" | object entry
    broken "entry.o: .*$1" "$2" entry.o code.ptx
}
entry "entry 0 of omp_offloading_entries \(scale, flags 0x400\) has flags" \
    "flags nobody knows" 'OLD x = {&a, "scale", 0, 0x400, 0};'
entry "\(scale, flags 0x2\) is a constructor" "a constructor's entry" \
    'OLD x = {&a, "scale", 0, 2, 0};'
entry "\(scale, flags 0x0\) has no host address" "no address" \
    'OLD x = {0, "scale", 0, 0, 0};'
entry "\(scale, flags 0x0\) has no host address" "no address, new" \
    'NEW x = {0, 1, 1, 0, 0, "scale", 0, 0, 0};'
entry "\(no name, flags 0x0\) has no name" "no name" 'OLD x = {&a, 0, 0, 0, 0};'
entry "\(no name, flags 0x0\) has no name" "an empty name" \
    'OLD x = {&a, "", 0, 0, 0};'
entry "has version 2 and kind 1; LLVM" "a version to come" \
    'NEW x = {0, 2, 1, 0, &a, "scale", 0, 0, 0};'
entry "has version 1 and kind 0; LLVM" "no kind" \
    'NEW x = {0, 1, 0, 0, &a, "scale", 0, 0, 0};'
entry "has entries of 56 bytes, as LLVM 20" "new ones in the old section" \
    'IN("omp_offloading_entries") struct new_entry x = NEW_KERNEL(a, "scale");'
entry "entry 0 of llvm_offload_entries is none of 56 bytes" \
    "old ones in the new section" \
    'IN("llvm_offload_entries") struct old_entry x[7] = {{&a, "scale", 0, 0, 0}};'
broken "new.o has entries in llvm_offload_entries and old.o in omp_" \
    "both layouts" new.o old.o code.ptx

# ------------------------------------------------------------------- identities
object drifted <<'END'
OLD one = {&a, "scale", 0, 0, 0}, two = {&b, "addx", 0, 0, 0};
END
broken "entry for kernel addx, but no image .* most similar one is add:" \
    "a name that has drifted" drifted.o code.ptx
linked drifted drifted.o
broken "drifted: .* kernel addx" "the same of an executable" drifted code.ptx
object one_key <<'END'
OLD one = {&a, "scale", 0, 0, 0}, two = {&a, "add", 0, 0, 0};
END
broken "entries of kernels add and scale have one host address" "one key" \
    one_key.o code.ptx
linked one_key one_key.o
broken "have one host address, one_key:0x" "  of an executable" one_key code.ptx
object one_name <<'END'
OLD one = {&a, "scale", 0, 0, 0}, two = {&b, "scale", 0, 0, 0};
OLD three = {&b + 1, "add", 0, 0, 0};
END
broken "kernel scale has two entries, with host addresses" "one name" \
    one_name.o code.ptx

# -------------------------------------------------------------- stale artifacts
ptx stale sm_75 main_l10 "u64" main_l20 "u64"
broken "stale.ptx: none of its 2 kernels has an entry: .* another build" \
    "an image of another build" old stale.ptx
broken "stale.ptx: none of its 2 kernels" "  beside the right one" \
    old code.ptx stale.ptx
untold "entry for kernel"
ptx more sm_90 scale "u32 u64 u64" add "u32 u64 u64"
broken "kernel scale takes 2 arguments in code.ptx, but 3 in more.ptx" \
    "one parameter more" old code.ptx more.ptx
ptx wide sm_90 scale "u64 u64" add "u32 u64 u64"
broken "parameter 0 of kernel scale has 4 bytes in code.ptx, but 8 in wide.ptx" \
    "a wider parameter" old code.ptx wide.ptx
ptx less sm_90 scale "u32 u64"
broken "less.ptx: the PTX for sm_90 has no kernel add, which other images have" \
    "an image that lacks a kernel" old code.ptx less.ptx

# ---------------------------------------------------------------- wrong section
objcopy --set-section-flags omp_offloading_entries=contents,readonly old.o \
    unloaded.o
broken "section omp_offloading_entries is not loaded" "no SHF_ALLOC" \
    unloaded.o code.ptx
objcopy --rename-section omp_offloading_entries=.omp_offload_entries old.o \
    renamed.o
broken "section .omp_offload_entries is read by nobody" "another name" \
    renamed.o code.ptx
entry "entry OUT__x__omp_offload_entry__ is in section .data" "no section" \
    'struct old_entry OUT__x__omp_offload_entry__ = {&a, "scale", 0, 0, 0};'

# ----------------------------------------------------------------------- images
objcopy --add-section .llvm.offloading=code.ptx old.o image.o
sound "an image in the object" image.o
head -c 60 /dev/urandom >noise
objcopy --add-section .llvm.offloading=noise old.o noise.o
broken "noise.o, section .llvm.offloading: device image, byte|no known format" \
    "bytes that are none" noise.o
broken "noise: .*no known format" "a FILE that is no image" old noise
printf '\020\377\020\255\001\0\0\0\0\020\0\0\0\0\0\0\040\0\0\0\0\0\0\0' >cut
cat >cut.c <<'END'
__asm__(".section .rodata\n.byte 1\n.incbin \"cut\"\n.zero 16\n.previous\n");
END
${CC:-cc} -c cut.c -o cut.o
linked with_cut old.o cut.o
broken "with_cut, byte [0-9]* of section .rodata: device image, byte 8: .*size" \
    "a container that is cut, in an executable" with_cut code.ptx
# An ELF header for machine 224, AMDGPU.
{
    printf '\177ELF\002\001\001\100\001\0\0\0\0\0\0\0\003\0\340\0\001\0\0\0'
    head -c 40 /dev/zero
} >amd.elf
sound "an image for another vendor's GPU" old code.ptx amd.elf
noted "amd.elf: an image for no device of this library"

# ------------------------------------------------------------------------ files
status_is 2 "no FILE" doctor
status_is 2 "no such file" doctor old.o missing
like "$(cat stderr)" "cannot read missing: No such file" "  is told"
status_is 2 "a folder" doctor "$tmp"
: >empty
status_is 2 "an empty file" doctor old.o empty
head -c 500 old.o >cut.o
broken "cut.o: an ELF file that is cut or spoilt: no section table \(byte 40\)" \
    "an object that is cut" cut.o code.ptx
head -c 1000 lib.a >cut.a
broken "cut.a: an archive that is damaged or cut at byte" \
    "an archive that is cut" cut.a code.ptx

# An executable with an image of its own, with an ELF file in its data.
cat >elf.c <<'END'
__asm__(".section .rodata\n.incbin \"plain.o\"\n.previous\n");
END
${CC:-cc} -c elf.c -o elf.o
linked whole new.o elf.o
objcopy --add-section .llvm.offloading=code.ptx whole
sound "an executable with an image" whole
for file in image.o whole; do
    cp $file hostile
    succeeds "$file, damaged 2000 times" "$builddir/t/doctor/mutate" \
        hostile 2000 1 "$ompjit" doctor hostile
    like "$out" "^[1-9][0-9]* [1-9][0-9]* " "  which is found or harmless: $out"
done

# ------------------------------------------- as compilers and their users do it
from=$srcdir/t/dropin
succeeds "device code" "$ompjit" compile "$from/kernels.c" -o k.bc
succeeds "  as PTX" "$ompjit" compile "$from/kernels.c" --arch sm_75 -o k.ptx
"$ompjit" inspect "$from/kernels.c" >inspect
symbol() { sed -n "s/^ *symbol *\(.*_$1_l[0-9]*\)\$/\1/p" inspect; }
# rex NAME ADD
rex() {
    # shellcheck disable=SC2086 # several words
    succeeds "$1 is linked" "${CC:-cc}" -DSCALE="\"$(symbol scale)\"" \
        "-DADD=\"$2\"" "$from/rex.c" "$from/register.c" -o "$1" $dropin
}
rex program "$(symbol add)"
sound "a source-to-source compiler's program" program k.bc
sound "  with all its images" program k.bc k.ptx
rex rex_drifted "$(symbol add)x"
broken "entry for kernel $(symbol add)x, .* most similar one is $(symbol add):" \
    "a name that has drifted, against bitcode" rex_drifted k.bc
sed 's/^\(\t.param .u64 .*_add_l[0-9]*_param_3\),$/&\n\t.param .u64 another,/' \
    k.ptx >k_more.ptx
broken "kernel $(symbol add) takes 4 arguments in k.bc, but 5 in k_more.ptx" \
    "bitcode against PTX" program k.bc k_more.ptx
head -c 3000 k.bc >k_cut.bc
broken "k_cut.bc: " "bitcode that is cut" program k_cut.bc
succeeds "clang's program" built built -- "$from/program.c" "$from/other.c"
sound "it" built
noted "no image has kernel .*_main_l[0-9]*: its region runs as the host's own"
like "$out" "^entries  [0-9]*: [2-9] kernels, 2 variables, 1 function$" "  with all entries"
like "$out" "^images   2: 2 bitcode for sm_90$" "  and all images"
broken "k.bc: none of its 2 kernels has an entry" "with a stale image" built k.bc
succeeds "ompjit cc's" "$ompjit" cc -fopenmp "$from/program.c" "$from/other.c" \
    -o by_cc
sound "it" by_cc
is "$out" "$(doctor built 2>stderr)" "  like clang's"
done_testing
