// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C library's strings, characters and numbers from text in device code.
// expect: 0 wrong of 104
// not ahead of time: it needs libdevice
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#pragma omp begin declare target
static int checks(int *wrong, const char *text, char *room)
{
    int n = 0, bad = 0;
#define IS(condition) (n++, bad += !(condition))
    /* strings; `text` is "hello, world" */
    IS(strlen(text) == 12 && strnlen(text, 5) == 5);
    IS(!strcmp(text, "hello, world") && strcmp(text, "hello") > 0);
    IS(!strncmp(text, "help", 3) && strncmp(text, "help", 4) < 0);
    IS(!strcasecmp(text, "HELLO, World") && strncasecmp(text, "HELP", 4) < 0);
    IS(strcpy(room, text) == room && !strcmp(room, text));
    IS(strcat(room, "!") == room && room[12] == '!' && !room[13]);
    IS(strncat(room, "abc", 2) == room && !strcmp(room + 12, "!ab"));
    IS(strncpy(room, "ab", 5) == room && !room[2] && !room[4] &&
       room[5] == ',');
    IS(stpcpy(room, text) == room + 12);
    IS(strchr(text, 'o') == text + 4 && strrchr(text, 'o') == text + 8);
    IS(!strchr(text, 'x') && strchr(text, 0) == text + 12);
    IS(strstr(text, "wor") == text + 7 && !strstr(text, "word"));
    IS(strstr(text, "") == text);
    IS(strspn(text, "ehl") == 4 && strcspn(text, ",w") == 5);
    IS(strpbrk(text, "w,") == text + 5 && !strpbrk(text, "x"));
    char *rest, *word = strtok_r(room, ", ", &rest);
    IS(word == room && !strcmp(word, "hello"));
    word = strtok_r(NULL, ", ", &rest);
    IS(!strcmp(word, "world") && !strtok_r(NULL, ", ", &rest));
    char *copy = strdup(text);
    IS(copy != text && !strcmp(copy, text));
    free(copy);
    /* memory */
    IS(memchr(text, ',', 12) == text + 5 && !memchr(text, ',', 5));
    IS(memcpy(room, text, 13) == room && !memcmp(room, text, 13));
    IS(memmove(room + 1, room, 5) == room + 1 && !memcmp(room, "hhello ", 7));
    IS(memset(room, 'x', 3) == room && !memcmp(room, "xxxllo", 6));
    /* characters */
    IS(isalpha('a') && isalpha('Z') && !isalpha('1') && !isalpha('_'));
    IS(isdigit('0') && isdigit('9') && !isdigit('a') && !isdigit(0));
    IS(isspace(' ') && isspace('\t') && !isspace('x') && isblank('\t'));
    IS(isxdigit('f') && isxdigit('A') && !isxdigit('g') && isalnum('g'));
    IS(isupper('A') && !isupper('a') && islower('z') && !islower('Z'));
    IS(ispunct('!') && ispunct('~') && !ispunct('a') && !ispunct(' '));
    IS(isprint(' ') && !isgraph(' ') && isgraph('~') && iscntrl(127));
    IS(toupper('a') == 'A' && tolower('Z') == 'z' && toupper('{') == '{');
    /* numbers */
    char *end;
    IS(atoi(" -42x") == -42 && atol("12345678901") == 12345678901);
    IS(strtol("0x7fg", &end, 0) == 127 && *end == 'g');
    IS(strtol("077", &end, 0) == 63 && strtol("zz", &end, 36) == 1295);
    IS(strtol("99999999999999999999", &end, 10) == 0x7fffffffffffffff);
    IS(strtol("x", &end, 10) == 0 && *end == 'x');
    IS(strtoul("18446744073709551615", &end, 10) == ~0ul && !*end);
    IS(atof("0.1") == 0.1 && atof("-1.5e3") == -1500 && atof("1e23") == 1e23);
    IS(strtod("9007199254740993", &end) == 9007199254740992.0 && !*end);
    IS(strtod("9007199254740993.00000000000000000000000000000001", &end) ==
       9007199254740994.0);
    IS(strtod("4.9406564584124654e-324", &end) == 4.9406564584124654e-324);
    IS(strtod("1.7976931348623157e308", &end) == 1.7976931348623157e308);
    IS(strtod("1e400", &end) == INFINITY && strtod("1e-400", &end) == 0);
    IS(strtod("0x1.8p1;", &end) == 3 && *end == ';');
    IS(strtof("16777217", &end) == 16777216 && strtof("0.1", &end) == 0.1f);
    IS(isnan(strtod("nan", &end)) && strtod("-inf", &end) == -INFINITY);
    IS(isnan(nan("")) && isnan(nanf("1")) && isnan(nan(text)));
    IS(abs(-5) == 5 && labs(-5L) == 5 && div(7, 2).rem == 1 &&
       ldiv(-7, 2).quot == -3);
    /* text of numbers */
    IS(snprintf(room, 8, "%d-%s", 12345, "abc") == 9 &&
       !strcmp(room, "12345-a"));
    IS(sprintf(room, "%*d|%-6.2f|%#x", 5, 42, 3.14159, 255) == 17 &&
       !strcmp(room, "   42|3.14  |0xff"));
    IS(sprintf(room, "%.20g %a", 0.1, 1.0) == 29 &&
       !strcmp(room, "0.10000000000000000555 0x1p+0"));
    IS(sprintf(room, "%e %G %.0f", 12345.678, 1e-10, 2.5) == 20 &&
       !strcmp(room, "1.234568e+04 1E-10 2"));
    IS(sprintf(room, "%zu %hhd %+ld %05d %c%%", (size_t)7, 300, 8L, -42, 'c') ==
           16 && !strcmp(room, "7 44 +8 -0042 c%"));
    *wrong += bad;
    return n;
}
#pragma omp end declare target

int main(void)
{
    int wrong = 0, n = 0;
    char text[] = "hello, world", room[64];
#pragma omp target map(tofrom: wrong, n) map(to: text) map(alloc: room)
    for (int i = 0; i < 2; i++)
        n += checks(&wrong, text, room);
    printf("%d wrong of %d\n", wrong, n);
}
