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

/* Intel SDM 2A, CPUID; AMD APM 3, E. Registers that differ from core to core
 * (the APIC's number in ebx of leaf 1) or that say no feature are left out. */
static void ask(void)
{
    static const struct {
        unsigned leaf, subleaf;
        bool a, b, c, d;
    } rows[] = {
        /* leaf     subleaf  a      b      c     d */
        {0,         0,       false, true,  true, true},  /* vendor         */
        {1,         0,       true,  false, true, true},  /* family, model  */
        {7,         0,       false, true,  true, true},  /* AVX2, AVX-512  */
        {7,         1,       true,  true,  true, true},  /* AVX-VNNI, ...  */
        {0xd,       1,       true,  false, false, false}, /* XSAVE          */
        {0x80000001, 0,      false, false, true, true},  /* AMD's          */
        {0x80000008, 0,      false, true,  false, false},
    };
    for (size_t i = 0; i < OMPJIT__COUNT(rows); i++) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        __get_cpuid_count(rows[i].leaf, rows[i].subleaf, &a, &b, &c, &d);
        ompjit__buf_printf(&text, "cpuid %x.%u %x %x %x %x\n", rows[i].leaf,
                           rows[i].subleaf, rows[i].a ? a : 0,
                           rows[i].b ? b : 0, rows[i].c ? c : 0,
                           rows[i].d ? d : 0);
    }
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE)) {
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        ompjit__buf_printf(&text, "xcr0 %x\n", low);
    }
}

int ompjit__cpu_vendor(void)
{
    unsigned a, name[3];
    if (!__get_cpuid(0, &a, &name[0], &name[2], &name[1]))
        return VENDOR_UNKNOWN;
    if (!memcmp(name, "GenuineIntel", sizeof name))
        return VENDOR_INTEL;
    return memcmp(name, "AuthenticAMD", sizeof name) ? VENDOR_UNKNOWN
                                                     : VENDOR_AMD;
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
