# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Which source files of the library call which: by ROOMS, and what `nm -A`
# prints of the objects. Prints "upward FILE FILE SYMBOL" for each call into a
# room that is higher in ROOMS, "circle FILE..." for each set of files that call
# each other round about, and "cycle N FILE..." for the largest, with "rooms"
# before it where they are of several.

function room(file) { sub("/[^/]*$", "", file); return file }

NR == FNR { if (/^[a-z]/) at[$2] = NR; next }

# DIR/.libs/LIBRARY_la-NAME.o:ADDRESS TYPE NAME, without address where undefined
{
    split($1, path, ":")
    file = path[1]
    sub(".*libompjit/", "", file)
    sub("[.]libs/[a-z_]*_la-", "", file)
    sub("[.]o$", "", file)
    name = $NF
    type = $(NF - 1)
    if (type == "U")
        needs[++n] = file " " name
    else if (type ~ /^[TDBRC]$/)
        has[name] = file
    files[file]
}

# How many files are in `from`'s cycle: those that it reaches and that reach it.
function reach(from, edges, seen,    queue, head, tail, list, k, i) {
    delete seen
    seen[from]
    queue[tail = 1] = from
    for (head = 1; head <= tail; head++) {
        k = split(edges[queue[head]], list, " ")
        for (i = 1; i <= k; i++)
            if (!(list[i] in seen)) {
                seen[list[i]]
                queue[++tail] = list[i]
            }
    }
}

END {
    for (i = 1; i <= n; i++) {
        split(needs[i], need, " ")
        to = has[need[2]]
        if (to == "" || to == need[1])
            continue
        if (!((need[1], to) in call)) {
            call[need[1], to]
            calls[need[1]] = calls[need[1]] " " to
            callers[to] = callers[to] " " need[1]
        }
        if (at[room(to)] > at[room(need[1])])
            print "upward", need[1], to, need[2]
    }
    for (file in files) {
        if (file in counted)
            continue
        reach(file, calls, below)
        reach(file, callers, above)
        size = 0
        list = ""
        several = ""
        for (other in below)
            if (other in above) {
                counted[other]
                size++
                list = list " " other
                if (room(other) != room(file))
                    several = "rooms "
            }
        if (size > 1)
            print "circle" list
        if (several || size > largest) {
            largest = size
            cycle = several "cycle " size list
        }
        if (several)
            break
    }
    print cycle
}
