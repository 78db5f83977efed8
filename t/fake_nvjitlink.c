/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An nvJitLink such as CUDA 12.0 might have had: names with a version only, no
 * nvJitLinkVersion, and it assembles nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char words[] = "words of nvJitLink";

int __nvJitLinkCreate_12_0(void **h, uint32_t n, const char **options);
int __nvJitLinkDestroy_12_0(void **h);
int __nvJitLinkAddData_12_0(void *h, int type, const void *data, size_t size,
                            const char *name);
int __nvJitLinkComplete_12_0(void *h);
int __nvJitLinkGetLinkedCubinSize_12_0(void *h, size_t *size);
int __nvJitLinkGetLinkedCubin_12_0(void *h, void *data);
int __nvJitLinkGetErrorLogSize_12_0(void *h, size_t *size);
int __nvJitLinkGetErrorLog_12_0(void *h, char *text);
int __nvJitLinkGetInfoLogSize_12_0(void *h, size_t *size);
int __nvJitLinkGetInfoLog_12_0(void *h, char *text);

int __nvJitLinkCreate_12_0(void **h, uint32_t n, const char **options)
{
    *h = n == 2 && !strncmp(options[0], "-arch=sm_", 9) ? malloc(1) : NULL;
    return *h == NULL;
}

int __nvJitLinkDestroy_12_0(void **h)
{
    free(*h);
    return 0;
}

/* Takes PTX, and no other. */
int __nvJitLinkAddData_12_0(void *h, int type, const void *data, size_t size,
                            const char *name)
{
    return type != 2 || ((const char *)data)[size - 1];
}

int __nvJitLinkComplete_12_0(void *h)
{
    return 4;
}

int __nvJitLinkGetLinkedCubinSize_12_0(void *h, size_t *size)
{
    return 7;
}

int __nvJitLinkGetLinkedCubin_12_0(void *h, void *data)
{
    return 7;
}

int __nvJitLinkGetErrorLogSize_12_0(void *h, size_t *size)
{
    *size = sizeof words;
    return 0;
}

int __nvJitLinkGetErrorLog_12_0(void *h, char *text)
{
    memcpy(text, words, sizeof words);
    return 0;
}

int __nvJitLinkGetInfoLogSize_12_0(void *h, size_t *size)
{
    *size = 0;
    return 0;
}

int __nvJitLinkGetInfoLog_12_0(void *h, char *text)
{
    return 1;
}
