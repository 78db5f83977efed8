# Structs lose their last fields.
/^    \/\* What is looked at\. \*\/$/,/^    } debug;$/d
/^    \/\* What is folded into the kernel, and when\. \*\/$/,/^    } specialize;$/d
/^    ompjit_cuda_compiler cuda_compiler;/d
/^    ompjit_opt_level opt_level;/d
/^    unsigned repeats; /d
/^    uint32_t unused;             \/\* 0  *\*\/$/d
/^    uint32_t warp_size;/d
/^    uint32_t driver_version;/d
/^    uint32_t instructions;  \/\* of the machine/d
/^    uint32_t ptx;           \/\* instructions/,/not known/d
/^    uint64_t bytes_read, bytes_written;/d
/^    uint64_t limit;         \/\* bytes that/d
/^    uint64_t pending; /d
/^    uint32_t tried, failed;/,/where it was found/d
