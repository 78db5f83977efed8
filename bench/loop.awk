# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The innermost loop that does most, in machine code of sm_70 and later: lines
# of a code section's words, `od -An -v -tx4 -w16`. With op, an operation's
# lowest nine bits in hexadecimal, prints how many instructions the loop has and
# how many of them are that operation. Code without a loop that has any counts
# as a whole, as far as its last EXIT.
#
# A branch's distance in units of 4 bytes from the instruction behind it stands
# in bits 16 to 23, its higher part from bit 34 on.
function number(hex,    n, i) {
    for (i = 1; i <= length(hex); i++)
        n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n
}
BEGIN { BRA = number("147"); EXIT = number("14d"); NOP = number("118") }
{
    low = number($1)
    operation[NR] = low % 512
    if (operation[NR] == EXIT)
        end = NR
    if (operation[NR] != BRA)
        next
    high = number($2)
    if (high >= 2 ^ 31)
        high -= 2 ^ 32
    distance = (high - (high % 4 + 4) % 4) / 4 * 256 + int(low / 65536) % 256
    target = NR + 1 + distance / 4
    if (target < NR && !(target in last && last[target] > NR))
        last[target] = NR
}
function count(from, to,    i) {
    instructions = elements = 0
    for (i = from; i <= to; i++) {
        instructions += operation[i] != NOP
        elements += operation[i] == wanted
    }
}
function is_innermost(first,    other) {
    for (other in last)
        if (other + 0 > first + 0 && last[other] <= last[first])
            return 0
    return 1
}
END {
    wanted = number(op)
    for (first in last) {
        if (!is_innermost(first))
            continue
        count(first + 0, last[first])
        if (elements > most || elements == most && elements &&
            instructions < least) {
            most = elements
            least = instructions
        }
    }
    if (!most) {
        count(1, end)
        most = elements
        least = instructions
    }
    print least, most
}
