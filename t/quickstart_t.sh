#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# quickstart on machines that are not there: PATH holds the programs of this
# test, which note how they were called and fail where a file says so. The
# script is the real one but for the folders of the system that it looks into,
# and for its pulse, once a second here. .ci/debian-13 runs it for real.
. "${srcdir:-.}/t/tap.sh"

bin=$tmp/bin
tree=$tmp/tree
real="sh env date tail tr sed cut wc grep awk df nproc mkdir rm dirname sleep tee
cat ls chmod cp mv"

# program NAME TEXT: a fake one. $tmp/broken/NAME makes it fail.
program() {
    cat >"$bin/$1" <<EOF
#!$(command -v sh)
echo "$1 \$*" >>"$tmp/calls"
[ ! -e "$tmp/broken/$1" ] || { echo "$1 is broken"; exit 3; }
$2
EOF
    chmod +x "$bin/$1"
}

# Everything that quickstart installs appears with the installation.
install_all="mkdir -p '$tmp/llvm/bin' '$tmp/llvm/lib'
for f in '$tmp/llvm/bin/llvm-config' '$tmp/llvm/bin/clang' '$tmp/llvm/lib/libomp.so' \
    '$tmp/llvm/lib/libclangFrontend.a'
do : >\$f; chmod +x \$f; done
: >'$tmp/headers'
for f in cc g++ make autoreconf autoconf automake libtoolize prove pkg-config
do cp '$tmp/later/'\$f '$bin/'; done"

# A machine with nothing on it: Debian, root. Arguments: its os-release.
machine() {
    rm -rf "$tree" "$bin" "$tmp/later" "$tmp/llvm" "$tmp/broken" "$tmp/headers" \
        "$tmp/calls"
    mkdir -p "$tree" "$bin" "$tmp/later" "$tmp/broken"
    for p in $real; do ln -s "$(command -v $p)" "$bin/$p"; done
    printf '%s\n' "$@" >"$tmp/os-release"
    : >"$tmp/calls"
    sed -e "s|/usr/lib/llvm-22|$tmp/llvm|; s|/opt/llvm-22|$tmp/none|" \
        -e "s|/etc/os-release|$tmp/os-release|; s|/usr/local/cuda|$tmp/cuda|" \
        -e 's/sleep 10/sleep 1/' "$srcdir/quickstart" >"$tree/quickstart"
    program id "echo \${FAKE_ID-0}"
    program cc "[ -e '$tmp/headers' ]"
    for p in g++ autoconf automake libtoolize prove pkg-config; do
        program $p ""
    done
    program autoreconf "cp '$bin/configure' ."
    program configure ': >Makefile'
    program make "case \$* in
        *check*) echo 't/a_t .. ok'; echo 'Files=2, Tests=30, 1 wallclock' ;;
        *) sleep \${FAKE_COMPILE-0}; mkdir -p build/examples
            for f in ompjit examples/saxpy_api; do
                printf '#!%s\necho \"\$0 ran\"\n' '$(command -v sh)' >build/\$f
                [ ! -e '$tmp/broken/saxpy_api' ] || echo exit 7 >>build/\$f
                chmod +x build/\$f
            done ;;
        esac"
    mv "$bin"/cc "$bin"/g++ "$bin"/make "$bin"/autoreconf "$bin"/autoconf \
        "$bin"/automake "$bin"/libtoolize "$bin"/prove "$bin"/pkg-config \
        "$tmp/later"
    program apt-cache ""
    program apt-get "case \$* in
        *--assume-no*)
            echo '0 upgraded, 125 newly installed, 0 to remove.'
            echo 'Need to get 100 MB/259 MB of archives.'
            echo 'After this operation, 1350 MB of additional disk space will be used.'
            exit 1 ;;
        *install*) [ ! -e '$tmp/broken/install' ] ||
                { echo 'E: no space left'; exit 100; }
            $install_all ;;
        esac"
    program python3 "case \$* in
        *download*) [ ! -e '$tmp/broken/pypi' ] || exit 1
            mkdir -p build/cuda-wheels/nvidia/cu13/bin
            : >build/cuda-wheels/nvidia/cu13/bin/nvdisasm
            : >build/cuda-wheels/x.whl ;;
        esac"
}

trixie() { machine ID=debian VERSION_CODENAME=trixie; }
broken() { : >"$tmp/broken/$1"; }
everything_installed() {
    (PATH=$bin; eval "$install_all")
}

# quickstart ARGUMENT...: its output, both streams, in $out
quickstart() {
    out=$(cd "$tree" && env -i PATH="$bin" ${set-} sh ./quickstart "$@" 2>&1)
}
# fails_at STEP NAME [ARGUMENT...]: and the last line says so.
fails_at() {
    at=$1 name=$2
    shift 2
    if quickstart "$@"; then fail "$name: fails" "$out"; else
        like "$(printf '%s\n' "$out" | tail -n 1)" \
            "^quickstart: failed at $at.*\([0-9]+ s\)\$" "$name"
    fi
}
# line REGEX: its number in the output.
line() { printf '%s\n' "$out" | grep -nE -- "$1" | head -n 1 | cut -d: -f1; }

# --------------------------------------------------------------- what works

trixie
if quickstart; then pass "a fresh Debian"; else fail "a fresh Debian" "$out"; fi
like "$out" '^quickstart: done' "  to the end"
like "$out" '125 packages, 100 MB to download, 1350 MB on the disk' \
    "  apt's sizes are told"
like "$out" 'PyPI: 185 MB to download' "  and PyPI's"
like "$out" 'free: [0-9.]+ GB in /usr, [0-9.]+ GB here' "  and what is free"
is "$([ "$(line 'MB to download')" -lt "$(line '^quickstart: installing ')" ] &&
    echo before)" before "  before it starts"
like "$(cat "$tmp/calls")" 'apt-get .*install .*python3-pip|python3 .*--version' \
    "  pip is looked for"
like "$out" 'build/examples/saxpy_api ran' "  the example runs"
quickstart
like "$out" '^quickstart: done' "a second call"
if printf '%s\n' "$out" | grep -q installing; then fail "  installs nothing" "$out"
else pass "  installs nothing"; fi
quickstart check
like "$out" '^quickstart: passed: 30 tests in 2 files' "check"

trixie
everything_installed
set="FAKE_COMPILE=4"
quickstart
set=
like "$out" '^quickstart: compiling: [0-9]+ s; ' "a long step is alive"

trixie
broken pypi
quickstart
like "$out" '^quickstart: done' "without PyPI, too"

trixie
set="QUICKSTART_WHEELS=no"
quickstart
set=
like "$out" '^quickstart: done' "QUICKSTART_WHEELS=no"
if grep -q download "$tmp/calls"; then fail "  fetches nothing" "$(cat "$tmp/calls")"
else pass "  fetches nothing"; fi

# --------------------------------------------------------------- what fails

trixie
fails_at 'reading the command line: chekc is none of these' "a word not known" chekc

machine ID=fedora
fails_at 'looking for what is missing: missing: llvm-22-dev clang-22' \
    "a system that is no Debian"
like "$out" '--with-llvm=DIR' "  what to do"

trixie
set=FAKE_ID=1000
fails_at 'looking for what is missing: missing: ' "neither root nor sudo"
set=
like "$out" 'sudo apt-get install llvm-22-dev' "  the command is there"

trixie
broken install
fails_at "installing packages: 'apt_get -y install" "an installation that fails"
like "$out" '^E: no space left' "  with apt's words"

trixie
program apt-get ''
fails_at 'installing packages: still missing after the installation: llvm' \
    "an installation that installs nothing"

machine ID=debian VERSION_CODENAME=bookworm
broken apt-cache
fails_at "reading Debian's lists.*: this system has no package llvm-22-dev" \
    "Debian 12 without its security suite"
like "$out" 'debian-security bookworm-security main \| sudo tee' \
    "  the line for it is there"

machine ID=ubuntu ID_LIKE=debian VERSION_CODENAME=noble
broken apt-cache
fails_at "reading Debian's lists.*: this system has no package llvm-22-dev" "Ubuntu"
like "$out" 'https://apt.llvm.org' "  LLVM's own packages"

for step in "autoreconf:generating configure" "configure:configuring" \
    "make:compiling" "saxpy_api:the example examples/saxpy_api.c"; do
    trixie
    everything_installed
    broken "${step%%:*}"
    fails_at "${step#*:}: " "${step%%:*} that fails"
done

trixie
everything_installed
sed -i 's/exit 3/case $* in *check) exit 3 ;; esac/' "$bin/make"
broken make
fails_at 'testing: tests failed; see build/check.log' "tests that fail" check

# --------------------------------------------------- an end from outside

trixie
everything_installed
(
    cd "$tree" || exit
    exec env -i PATH="$bin" FAKE_COMPILE=3 sh ./quickstart >"$tmp/out" 2>&1
) &
quick=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
    ! grep -q compiling "$tmp/out" 2>/dev/null || break
    sleep 0.2
done
kill "$quick"
wait "$quick"
is $? 143 "SIGTERM"
like "$(tail -n 1 "$tmp/out")" \
    '^quickstart: failed at compiling: terminated \([0-9]+ s\)$' "  is told"
done_testing
