# Structs that begin with their size get fields at their end that no library
# knows.
/^\(typedef \)\{0,1\}struct ompjit_[a-z_]* {$/{
    n
    s/^    size_t size;/&/
    t sized
    b
    :sized
    n
    s/^}/    uint64_t future[3];\n}/
    t
    b sized
}
