/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The processor's identity and features, as it tells them itself: code that is
 * compiled for this one suits another only where all of that is the same.
 * Every processor of the machine is taken to be alike.
 */
#include <pthread.h>
#include <string.h>

#include "base/base.h"

static ompjit__buf text;

/* As OpenMP's additional definitions number vendors, for interop objects. */
enum { VENDOR_UNKNOWN = 0, VENDOR_AMD = 1, VENDOR_ARM = 2, VENDOR_INTEL = 8 };

#if defined(__x86_64__)
#include <cpuid.h>

/* eax, ebx, ecx and edx of a leaf. */
typedef struct registers {
    unsigned a, b, c, d;
} registers;

/* Bytes of the widest vector registers. */
static unsigned vectors = 16;
static int vendor = VENDOR_UNKNOWN;

/* A virtual machine traps each of these: 6 us where 60 cycles were. */
static registers query(unsigned leaf, unsigned subleaf)
{
    registers r;
    __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
    return r;
}

static int vendor_of(const registers *r)
{
    const unsigned name[] = {r->b, r->d, r->c};
    return !memcmp(name, "GenuineIntel", sizeof name)   ? VENDOR_INTEL
           : !memcmp(name, "AuthenticAMD", sizeof name) ? VENDOR_AMD
                                                        : VENDOR_UNKNOWN;
}

/* Registers that the system keeps for a thread, of those that there are. */
static unsigned kept_registers(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void note_vectors(const registers *basic, const registers *extended,
                         unsigned kept)
{
    enum { YMM = 0x6, ZMM = 0xe6 };
    if (basic->c & bit_AVX && (kept & YMM) == YMM)
        vectors = extended->b & bit_AVX512F && (kept & ZMM) == ZMM ? 64 : 32;
}

/* Intel SDM 2A, CPUID; AMD APM 3, E. Registers that differ from core to core
 * (the APIC's number in ebx of leaf 1) or that say no feature are left out. A
 * leaf beyond the last of its range counts as zero. */
static void ask(void)
{
    enum { BASIC, FEATURES, MORE_FEATURES, ROWS = 7 };
    static const struct {
        unsigned leaf, subleaf;
        bool a, b, c, d;
    } rows[ROWS] = {
        /* leaf     subleaf  a      b      c     d */
        {0,         0,       false, true,  true, true},  /* vendor         */
        {1,         0,       true,  false, true, true},  /* family, model  */
        {7,         0,       false, true,  true, true},  /* AVX2, AVX-512  */
        {7,         1,       true,  true,  true, true},  /* AVX-VNNI, ...  */
        {0xd,       1,       true,  false, false, false}, /* XSAVE          */
        {0x80000001, 0,      false, false, true, true},  /* AMD's          */
        {0x80000008, 0,      false, true,  false, false},
    };
    enum { EXTENDED = 0x80000000u };
    registers r[ROWS] = {query(0, 0)};
    const unsigned last = r[BASIC].a, last_extended = query(EXTENDED, 0).a;
    for (size_t i = 0; i < ROWS; i++) {
        if (i && rows[i].leaf <= (rows[i].leaf < EXTENDED ? last
                                                          : last_extended))
            r[i] = query(rows[i].leaf, rows[i].subleaf);
        ompjit__buf_printf(&text, "cpuid %x.%u %x %x %x %x\n", rows[i].leaf,
                           rows[i].subleaf, rows[i].a ? r[i].a : 0,
                           rows[i].b ? r[i].b : 0, rows[i].c ? r[i].c : 0,
                           rows[i].d ? r[i].d : 0);
    }
    vendor = vendor_of(&r[BASIC]);
    if (r[FEATURES].c & bit_OSXSAVE) {
        const unsigned kept = kept_registers();
        ompjit__buf_printf(&text, "xcr0 %x\n", kept);
        note_vectors(&r[FEATURES], &r[MORE_FEATURES], kept);
    }
}

int ompjit__cpu_vendor(void)
{
    ompjit__cpu_identity();
    return vendor;
}

unsigned ompjit__cpu_vectors(void)
{
    ompjit__cpu_identity();
    return vectors;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

int ompjit__cpu_vendor(void)
{
    return VENDOR_ARM; /* the architecture's; cores have makers of their own */
}

/* Linux, Documentation/arch/arm64/cpu-feature-registers.rst: where HWCAP_CPUID
 * is set the kernel answers reads of MIDR_EL1. */
static void ask(void)
{
    enum { CPUID = 1 << 11 };
    unsigned long features = getauxval(AT_HWCAP);
    unsigned long midr = 0;
    if (features & CPUID)
        __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
    ompjit__buf_printf(&text, "midr %lx\nhwcap %lx %lx\n", midr, features,
                       getauxval(AT_HWCAP2));
}
#endif

const ompjit__buf *ompjit__cpu_identity(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask);
    return &text;
}
