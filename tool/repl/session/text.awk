# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes a file as a text in C (object.c), without comments at a line's begin.

BEGIN { print "static const char object_text[] =" }
/^\/\*/ || /^ \*/ { next }
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    print "    \"" $0 "\\n\""
}
END { print "    ;" }
