#!/usr/bin/env perl
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# t/images/make.pl FOLDER   writes hostile device images, and `expected`: a line
# of each name and what the error must say. t/images_t reads them all, and
# compares this folder with what the script makes.
use strict;
use warnings;

my $folder = shift or die "usage: make.pl FOLDER\n";
my $most = ~0;
open(my $expected, '>', "$folder/expected") or die "$folder: $!\n";

# A file, which 4 KiB bound.
sub image {
    my ($name, $bytes, $words) = @_;
    die "$name: " . length($bytes) . " bytes\n" if length($bytes) > 4096;
    open(my $file, '>:raw', "$folder/$name.img") or die "$name: $!\n";
    print $file $bytes;
    close($file);
    print $expected "$name\t$words\n";
}

# ------------------------------------------------------------------- makers

sub header { # offload binary: version, size, entries' offset, number
    return "\x10\xff\x10\xad" . pack('L<Q<Q<Q<', @_);
}

sub entry { # strings' offset, number; image's offset, size
    return pack('S<S<L<Q<Q<Q<Q<', 2, 1, 0, @_);
}

# Sections are [name, type, data, link, info, entry size, size if another].
sub elf {
    my ($type, $machine, $abi, @sections) = @_;
    my ($body, $table, $names) = ('', "\0" x 64, "\0");
    for (@sections, ['.names', 3, undef]) {
        my ($name, $kind, $data, $link, $info, $each, $size) = @$_;
        my $at = length($names);
        $names .= "$name\0";
        $data = $names if !defined $data;
        $table .= pack('L<L<Q<Q<Q<Q<L<L<Q<Q<', $at, $kind, 0, 0,
            64 + length($body), $size // length($data), $link // 0, $info // 0,
            1, $each // 0);
        $body .= $data;
    }
    my $flags = $abi == 7 ? 0x5a055a : 0x6005a04;
    return "\x7fELF\2\1\1" . chr(0x33) . chr($abi) . "\0" x 7
        . pack('S<S<L<Q<Q<Q<L<S<S<S<S<S<S<', $type, $machine, 1, 0, 0,
            64 + length($body), $flags, 64, 56, 0, 64, @sections + 2,
            @sections + 1) . $body . $table;
}

sub symbol { # name, info, other, section, value, size
    return pack('L<CCS<Q<Q<', @_);
}

# A cubin of symbols, and sections behind code (3).
sub cubin {
    my ($symbols, $strings, @more) = @_;
    return elf(2, 190, 7, ['.strtab', 3, $strings],
        ['.symtab', 2, symbol((0) x 6) . $symbols, 1, 0, 24],
        ['.text.k', 1, "\0" x 16], @more);
}

sub info {
    return ['.nv.info.k', 0x70000000, shift, 2, 3];
}

sub fat { # size of all behind the header, entries
    return "\x50\xed\x55\xba" . pack('S<S<Q<', 1, 16, shift) . join('', @_);
}

sub fat_entry { # kind, header, size, compressed, flags, decompressed
    my ($kind, $header, $size, $compressed, $flags, $whole) = @_;
    return pack('S<S<L<Q<L<L<S<S<L<L<L<Q<Q<Q<', $kind, 0x101, $header, $size,
        $compressed, 0, 8, 1, 90, 0, 0, $flags, 0, $whole);
}

sub member { # name, size as text, data
    return sprintf("%-16s%-12s%-6s%-6s%-8s%-10s`\n%s", $_[0], 0, 0, 0, 644,
        $_[1], $_[2]);
}

sub ccob { # version, method, rest of the header, content
    return 'CCOB' . pack('S<S<', shift, shift) . join('', @_);
}

# --------------------------------------------------------- offload binaries

image('offload-size-wraps', header(1, $most, 32, 40) . entry(0, 0, 0, 0),
    'byte 8: the offload binary\'s size is 18446744073709551615 bytes');
image('offload-entries-wrap', header(2, 112, 32, 1 << 60) . "\0" x 80,
    'byte 16: 1152921504606846976 entries');
image('offload-holds-itself', header(1, 72, 32, 40) . entry(0, 0, 0, 72),
    'containers are nested deeper than 8');
image('offload-same-image', header(2, 32 + 40 * 90, 32, 90)
    . entry(0, 0, 0, 32 + 40 * 90) x 90, 'containers are nested deeper than 8');
image('offload-strings-wrap', header(1, 72, 32, 40)
    . entry($most - 15, 2, 0, 0), 'byte 40: 2 strings from offset');
image('offload-string-outside', header(1, 88, 32, 40)
    . entry(72, 1, 0, 0) . pack('Q<Q<', 88, 89), 'byte 72: a string is not');
image('offload-value-wraps', header(2, 96, 32, 1) . entry(72, 1, 0, 0)
    . pack('Q<Q<Q<', 0, 72, $most), 'byte 72: a string is not within');
image('offload-image-wraps', header(1, 72, 32, 40) . entry(0, 0, 72, $most),
    'byte 56: the image of 18446744073709551615 bytes');

# ---------------------------------------------------------------- ELF files

my $host = elf(1, 62, 0, ['.text', 1, "\xc3"]);
my $wraps = $host;
substr($wraps, 40, 8) = pack('Q<', $most - 63);
image('elf-sections-wrap', $wraps, 'byte 40: an ELF file that is cut');
image('elf-section-wraps', elf(1, 62, 0, ['.a', 1, 'x', 0, 0, 0, $most]),
    'a section reaches past the end');
my $none = $host;
substr($none, 60, 2) = "\0\0";
image('elf-no-sections', $none, 'no section table');
my $self = elf(1, 62, 0, ['.nv_fatbin', 1, 'x']);
substr($self, -104, 16) = pack('Q<Q<', 0, length($self));
image('elf-holds-itself', $self, 'containers are nested deeper than 8');
image('elf-names-without-end', elf(1, 62, 0, ['.a', 1, 'x'])
    =~ s/\0\.names\0/\0.namesx/r, '');
my $packed = elf(1, 62, 0, ['.nv_fatbin', 1, 'x']);
substr($packed, -120, 8) = pack('Q<', 0x800); # SHF_COMPRESSED
image('elf-compressed-section', $packed, 'is compressed');

# ------------------------------------------------------------------- cubins

my $k = symbol(1, 0x12, 0x10, 3, 0, 16);
image('cubin-no-symbols', elf(2, 190, 7, ['.text.k', 1, 'x']),
    'a cubin that is spoilt: no symbols');
image('cubin-abi', elf(2, 190, 9, ['.text.k', 1, 'x']),
    'byte 8: a cubin that is of an ELF ABI version');
image('cubin-no-section', cubin(symbol(1, 0x12, 0x10, 0xff00, 0, 16), "\0k\0"),
    'a kernel has no name or no section');
image('cubin-name-outside', cubin(symbol($most & 0xffffffff, 0x12, 0x10, 3, 0,
    16), "\0k\0"), 'a kernel has no name or no section');
image('cubin-two-infos', cubin($k, "\0k\0", info(''), info('')),
    'a kernel has two info sections');
image('cubin-attribute-cut', cubin($k, "\0k\0", info("\4\x17\xff\xff....")),
    "an attribute's value is cut");
image('cubin-parameter-number', cubin($k, "\0k\0",
    info("\4\x17\x0c\0" . pack('L<S<S<L<', 0, 9, 0, 8 << 18))),
    'a parameter has no number, a taken one or no size');
image('cubin-parameter-twice', cubin($k, "\0k\0",
    info(join('', ("\4\x17\x0c\0" . pack('L<S<S<L<', 0, 0, 0, 8 << 18)) x 2))),
    'a parameter has no number, a taken one or no size');
image('cubin-environment-outside', cubin($k . symbol(3, 0x11, 0, 4, $most - 7,
    48), "\0k\0k_kernel_environment\0", ['.nv.global.init', 1, "\0" x 48]),
    'a variable is not within its section');
image('cubin-same-info', cubin($k x 1, "\0k\0",
    ['.nv.info.k', 0x70000000, "\1\0\0\0", 2, $most & 0xffffffff]), '');
image('cubin-names-overlap', cubin(symbol(1, 0x11, 0, 3, 0, 1) x 100,
    "\0" . 'x' x 1000 . "\0"), 'names or sections overlap');

# ---------------------------------------------------------------------- PTX

my $ptx = ".version 7.8\n.target sm_80\n";
image('ptx-comment', "$ptx/* .entry k", '');
image('ptx-braces', $ptx . '{' x 4000, 'a brace is not closed');
image('ptx-values', $ptx . '.global .b8 x_exec_mode[] = {' . '1,(' x 1000, '');
image('ptx-number', "$ptx.global .b8 x[18446744073709551616];",
    'a dimension that is no number');
image('ptx-alignment', "$ptx.global .align 0 .b8 x;", 'an alignment that is');
image('ptx-parameters', $ptx . '.entry k(' . '.param .b8 x[4294967295],' x 2,
    'parameters of more than 4 GiB');
image('ptx-string', "$ptx.file 1 \"k", '');
image('ptx-nul', ".version 7\n.target sm_80\n\0.entry k() {}", 'a NUL within');

# ------------------------------------------------------------- fat binaries

image('fat-header-of-0', fat(64, fat_entry(2, 0, 0, 0, 0x11, 0)),
    "the header of a fat binary's entry has 0 bytes");
image('fat-entry-wraps', fat(64, fat_entry(2, 64, $most - 63, 0, 0x11, 0)),
    "the data of a fat binary's entry has 18446744073709551552 bytes");
image('fat-wraps', fat($most - 15, fat_entry(2, 64, 0, 0, 0x11, 0)),
    'byte 8: the fat binary has 18446744073709551600');
image('fat-compressed-more', fat(72, fat_entry(2, 64, 8, 9, 0x2011, 20),
    "\0" x 8), 'has 8 bytes of data, of which 9 are compressed');
image('fat-lz4-offset', fat(72, fat_entry(1, 64, 8, 8, 0x2011, 20),
    "\x10x\0\0\0\0\0\0"), 'compressed by LZ4 are damaged');
image('fat-lz4-behind', fat(72, fat_entry(1, 64, 8, 8, 0x2011, 20),
    "\x1fx\xff\xff\xff\xff\xff\xff"), 'compressed by LZ4 are damaged');
image('fat-lz4-bomb', fat(72, fat_entry(1, 64, 8, 8, 0x2011, 1 << 30),
    "\xff" x 8), 'compressed by LZ4 are said to become 1073741824');
image('fat-zstd-bomb', fat(72, fat_entry(1, 64, 8, 8, 0x8011, 1 << 40),
    "\x28\xb5\x2f\xfd\0\0\0\0"), 'and all together more than 1 GiB');
image('fat-lto', fat(72, fat_entry(8, 64, 8, 8, 0x8011, 40), "\0" x 8),
    'an entry of the fat binary is of kind 8, LTO-IR of nvcc -dlto');

# ------------------------------------------------------------------ bundles

my $magic = '__CLANG_OFFLOAD_BUNDLE__';
image('bundle-entries', $magic . pack('Q<', $most), 'byte 24: the number');
image('bundle-id-wraps', $magic . pack('Q<Q<Q<Q<', 1, 0, 0, $most - 8),
    'byte 48: an identifier of 18446744073709551607 bytes');
image('bundle-content-wraps', $magic . pack('Q<Q<Q<Q<', 1, $most, 2, 0),
    'byte 32: the content of 2 bytes from offset 18446744073709551615');
image('bundle-holds-itself', $magic . pack('Q<Q<Q<Q<', 1, 0, 56, 0),
    'containers are nested deeper than 8');
image('bundle-triple', $magic . pack('Q<Q<Q<Q<', 1, 4, 9, 900) . '-' x 900,
    'it has no code that can be used');
image('ccob-empty', ccob(1, 1, pack('L<Q<', 0, 0)), 'said to become 0');
image('ccob-bomb', ccob(1, 0, pack('L<Q<', 1 << 30, 0), 'x' x 64),
    '64 bytes compressed by zlib are said to become 1073741824');
image('ccob-size-wraps', ccob(3, 1, pack('Q<Q<Q<', $most, 9, 0), 'x'),
    "byte 8: the compressed offload bundle's size is 18446744073709551615");
image('ccob-size-small', ccob(2, 1, pack('L<L<Q<', 4, 9, 0), 'x'),
    "byte 8: the compressed offload bundle's size is 4 bytes");
image('ccob-cut', ccob(3, 1, pack('Q<', 20)), 'a compressed offload bundle is');

# ----------------------------------------------------------------- archives

my $arch = "!<arch>\n";
image('archive-cut', $arch . 'x' x 59, "byte 8: an archive member's header is");
image('archive-negative', $arch . member('a/', '-1', ''),
    "byte 56: an archive member's header has no size");
image('archive-size', $arch . member('a/', '9999999999', 'x'),
    'byte 56: an archive member has 9999999999 bytes, 1 are left');
image('archive-bsd-name', $arch . member('#1/9', '8', 'name.bc.'),
    "byte 8: an archive member's name is longer than the member");
image('archive-long-name', $arch . member('//', '2', "a/")
    . member('/999999999999999', '2', "hi"), 'byte 130: member ');
image('archive-holds-itself', $arch . member('a/', '8', $arch) x 20,
    'it has no code that can be used');
close($expected);
