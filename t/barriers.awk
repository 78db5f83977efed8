# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Reads PTX and prints for each kernel its barriers, and how many of them are in
# a loop: "KERNEL BARRIERS IN-LOOPS". Where none is, a thread executes each of
# them once at most.

function block(name) {
    at = name
    order[++n] = name
}
function edge(to) { edges[at] = edges[at] " " to }
# Is `to` reached from the block? `seen` is local.
function reaches(from, to, seen,    todo, i, k, next_, m) {
    m = 1
    todo[1] = from
    while (m > 0) {
        from = todo[m--]
        k = split(edges[from], next_, " ")
        for (i = 1; i <= k; i++) {
            if (next_[i] == to)
                return 1
            if (!(next_[i] in seen)) {
                seen[next_[i]] = 1
                todo[++m] = next_[i]
            }
        }
    }
    return 0
}
function tell(    i, all, looped) {
    for (i = 1; i <= n; i++) {
        all += barriers[order[i]]
        delete seen
        if (barriers[order[i]] && reaches(order[i], order[i], seen))
            looped += barriers[order[i]]
    }
    print kernel, all + 0, looped + 0
}
/\.entry / {
    kernel = $0
    sub(/.*\.entry /, "", kernel)
    sub(/\(.*/, "", kernel)
}
/^{/ && kernel != "" {
    n = 0
    delete edges
    delete barriers
    block("entry")
    open = 1
}
!open { next }
/^\$[A-Za-z_0-9]*:/ {
    name = $1
    sub(/:.*/, "", name)
    if (!ended)
        edge(name)
    block(name)
    ended = 0
}
/^\t.*bra(\.uni)?[ \t]/ {
    to = $NF
    sub(/;/, "", to)
    edge(to)
    ended = !/^\t@/
    if (!ended) { # what follows is a block of its own
        name = at "+" n
        edge(name)
        block(name)
    }
}
/^\t(ret|exit|trap);/ { ended = 1 }
/bar(rier)?\.sync/ { barriers[at]++ }
/^}/ {
    tell()
    open = 0
    kernel = ""
}
