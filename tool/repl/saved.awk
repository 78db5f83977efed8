# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes saved.in with the functions that show values, as a text in C (save.c).
# Arguments: saved.in, then the sources that the types and functions come from.
# A definition is taken whole, from its first line to the brace in column 1.

function add(line) {
    # C++ converts no void pointer by itself.
    gsub(/ malloc\(/, " (char *)malloc(", line)
    gsub(/ calloc\(/, " (char **)calloc(", line)
    gsub(/ realloc\(/, " (char *)realloc(", line)
    code[++lines] = line
}

function literal(line) {
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\\&", line)
    print "    \"" line "\\n\""
}

function rename(name) {
    if (!(name in known)) {
        known[name] = 1
        names[++count] = name
    }
}

BEGIN {
    split("grow take ompjit__buf_add ompjit__buf_printf ompjit__buf_free " \
          "ompjit__read_number ompjit__read_count ompjit__read_bytes " \
          "ompjit__read_string ompjit__pack_number ompjit__pack_bytes " \
          "ompjit__pack_string", list, " ")
    for (i in list)
        wanted[list[i]] = 1
    split("memcpy strlen strnlen strcspn strpbrk strtod strtof malloc " \
          "realloc free printf snprintf vsnprintf getpid process_vm_readv " \
          "size_t int64_t uint32_t uint64_t uintptr_t ssize_t iovec " \
          "show row show_name show_how show_object show_value print_value " \
          "calloc visit visit_function shown show_by LIST_MOST LIST_SHORT " \
          "PLAIN_MOST known know all_known show_known print_object " \
          "grow take LINE ROWS TEXT_MOST DEPTH MOST SHORT PAGE PROBE", fixed, " ")
    for (i = 1; i in fixed; i++)
        rename(fixed[i])
}

FILENAME ~ /saved\.in$/ { frame[++size] = $0; next }
/^#/ || /^ \*/ || /^\/\*/ { next }

# Programs of C have no objects.
FILENAME ~ /object_show\.c$/ && !objects++ {
    add("#ifdef __cplusplus")
    add("static void show_by(const show_how *how, visit_function *f,")
    add("                    const void *at, ompjit__buf *out);")
}
FILENAME ~ /show\.c$/ {
    if (match($0, /^static [a-z0-9_ ]*[ *][a-z_]+\(/)) {
        name = substr($0, 1, RLENGTH - 1)
        sub(/.*[ *]/, "", name)
        rename(name)
    }
    sub(/^void show_(value|by)/, "static &")
    if (NF)
        add($0)
    next
}

FILENAME ~ /(show|visit)\.h$/ {
    if (/^typedef|^struct/)
        within = /^struct/ ? "^}" : ";$"
    if (within)
        add($0)
    if (within && $0 ~ within)
        within = 0
    next
}

# Types, and the functions that are wanted.
!within && (/^typedef struct ompjit__(buf|reader) / ||
            /^enum ompjit__repl_(shape|pointee) /) {
    within = 1
}
!within && FILENAME ~ /\.c$/ && match($0, /[a-z_]+\(/) && /^[a-z]/ {
    name = substr($0, RSTART, RLENGTH - 1)
    if (name in wanted && !/;$/) {
        within = 1
        if (!/^static/)
            $0 = "static " $0
    }
}
within {
    add($0)
    if (/^}/)
        within = 0
}

END {
    print "static const char show_text[] ="
    for (i = 1; i <= size; i++) {
        if (frame[i] == "@DEFINE@") {
            for (k = 1; k <= count; k++)
                literal("#define " names[k] " ompjit_show_" names[k])
        } else if (frame[i] == "@UNDEF@") {
            for (k = 1; k <= count; k++)
                literal("#undef " names[k])
            split("bool false true NULL SIZE_MAX UINT64_MAX INFINITY NAN " \
                  "PRId64 PRIu64 PRIxPTR ldexp va_list va_start va_end", own, " ")
            for (k = 1; k in own; k++)
                literal("#undef " own[k])
        } else if (frame[i] == "@SHOW@") {
            for (k = 1; k <= lines; k++)
                literal(code[k])
            literal("#endif")
        } else {
            literal(frame[i])
        }
    }
    print "    ;"
}
