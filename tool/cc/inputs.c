/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Device code in a linker's inputs: objects, and members of archives, of which
 * the linker itself says which it takes. Files are mapped and never unmapped:
 * the process becomes the linker.
 */
#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/elf_file.h"
#include "images/images.h"
#include "tool/cc/cc.h"
#include "tool/tool.h"

/* All bitcode is said to be of one target, so that it is linked to one program;
 * it has none. */
#define TRIPLE "nvptx64-nvidia-cuda"
#define ARCH "sm_90"

static bool map(const char *path, ompjit__bytes *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    void *at = MAP_FAILED;
    if (fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size > 0)
        at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return false;
    *out = (ompjit__bytes){at, (size_t)s.st_size};
    return true;
}

/* Is it an object with a section of LLVM's containers? */
static bool has_device_code(ompjit__bytes file)
{
    ompjit__elf_file f = {.file = file};
    Elf64_Shdr s;
    if (ompjit__elf_head(&f) || f.head.e_type != ET_REL ||
        ompjit__elf_tables(&f) || ompjit__elf_sections(&f))
        return false;
    for (unsigned i = 0; ompjit__elf_file_section(&f, i, &s); i++)
        if (s.sh_size && !strcmp(ompjit__elf_section_name(&f, &s),
                                 ".llvm.offloading"))
            return true;
    return false;
}

/* Adds an object where it has device code. Takes `member`, which is malloc'd or
 * NULL. */
static void add(struct device_inputs *inputs, const char *file, char *member,
                bool thin, ompjit__bytes bytes)
{
    if (!inputs->all && !has_device_code(bytes)) {
        free(member);
        return;
    }
    if (inputs->n == inputs->capacity) {
        size_t capacity = inputs->capacity ? inputs->capacity * 2 : 16;
        struct device_input *list =
            realloc(inputs->list, capacity * sizeof *list);
        inputs->failed |= !list;
        if (!list) {
            free(member);
            return;
        }
        inputs->list = list;
        inputs->capacity = capacity;
    }
    char *name = ompjit__strdup(file);
    inputs->failed |= !name;
    inputs->any_member |= member != NULL;
    inputs->list[inputs->n++] = (struct device_input){
        name, member, thin, !member, bytes.p, bytes.n};
}

/* ---------------------------------------------------------------- archives */

struct archive {
    const char *path;
    ompjit__bytes file, long_names;
    bool thin;
};

/* The number in a field of blanks behind digits. */
static size_t number(const char *field, size_t width)
{
    size_t n = 0;
    for (size_t i = 0; i < width && field[i] >= '0' && field[i] <= '9'; i++)
        n = n * 10 + (size_t)(field[i] - '0');
    return n;
}

/* A name up to one of the characters that end it, malloc'd. */
static char *copy_name(const unsigned char *at, size_t most, const char *ends)
{
    size_t n = 0;
    while (n < most && at[n] && !strchr(ends, at[n]))
        n++;
    return ompjit__format("%.*s", (int)n, (const char *)at);
}

/* A member's name, malloc'd: "/N" points into the list of long ones, "#1/N"
 * says that N bytes of the content are the name, which are taken off. */
static char *member_name(const struct archive *a, const struct ar_hdr *head,
                         ompjit__bytes *content)
{
    const char *name = head->ar_name;
    if (!strncmp(name, "#1/", 3)) {
        size_t n = number(name + 3, sizeof head->ar_name - 3);
        n = n < content->n ? n : content->n;
        char *copy = copy_name(content->p, n, "");
        *content = (ompjit__bytes){content->p + n, content->n - n};
        return copy;
    }
    if (name[0] != '/')
        return copy_name((const unsigned char *)name, sizeof head->ar_name,
                         "/");
    size_t at = number(name + 1, sizeof head->ar_name - 1);
    if (at >= a->long_names.n)
        return NULL;
    return copy_name(a->long_names.p + at, a->long_names.n - at,
                     a->thin ? "\n" : "/\n");
}

/* A thin archive's member: a file that is named from the archive's folder. */
static bool map_member(const struct archive *a, char **name, ompjit__bytes *out)
{
    size_t n = strlen(*name);
    const char *slash = strrchr(a->path, '/');
    if (n && (*name)[n - 1] == '/')
        (*name)[n - 1] = 0;
    if (**name != '/' && slash) {
        char *path = ompjit__format("%.*s/%s", (int)(slash - a->path), a->path,
                                    *name);
        free(*name);
        *name = path;
    }
    return *name && map(*name, out);
}

/* One member; returns where the next one begins, or 0 at the end. */
static size_t add_member(struct device_inputs *inputs, struct archive *a,
                         size_t at)
{
    struct ar_hdr head;
    if (!ompjit__bytes_read(a->file, at, &head, sizeof head) ||
        memcmp(head.ar_fmag, ARFMAG, sizeof head.ar_fmag))
        return 0;
    size_t size = number(head.ar_size, sizeof head.ar_size);
    const bool index = head.ar_name[0] == '/' &&
                       (head.ar_name[1] == ' ' || head.ar_name[1] == 'S');
    const bool long_names = !strncmp(head.ar_name, "//", 2);
    const bool elsewhere = a->thin && !index && !long_names;
    ompjit__bytes content = {0};
    at += sizeof head;
    if (!elsewhere && !ompjit__bytes_slice(a->file, at, size, &content))
        return 0;
    if (long_names)
        a->long_names = content;
    char *name = index || long_names ? NULL : member_name(a, &head, &content);
    if (name && (!elsewhere || map_member(a, &name, &content)))
        add(inputs, a->path, name, elsewhere, content);
    else
        free(name);
    return elsewhere ? at : at + size + (size & 1);
}

/* Adds what has device code of a file; nothing where it is no object or
 * archive, or cannot be read, which is the linker's to say. */
void inputs_add(struct device_inputs *inputs, const char *file)
{
    struct archive a = {.path = file};
    if (!map(file, &a.file))
        return;
    a.thin = a.file.n >= SARMAG && !memcmp(a.file.p, "!<thin>\n", SARMAG);
    if (!a.thin && (a.file.n < SARMAG || memcmp(a.file.p, ARMAG, SARMAG))) {
        add(inputs, file, NULL, false, a.file);
        return;
    }
    for (size_t next, at = SARMAG; at < a.file.n; at = next) {
        next = add_member(inputs, &a, at);
        if (!next) {
            inputs->damaged = at;
            return;
        }
    }
}

/* ----------------------------------------------------------- command lines */

/* The value of the option at v[*i], in the same word or the next one, to which
 * *i moves; NULL: it is another option. */
static const char *value(char *const *v, size_t *i, const char *option)
{
    size_t n = strlen(option);
    if (strncmp(v[*i], option, n))
        return NULL;
    return v[*i][n] || !v[*i + 1] ? v[*i] + n : v[++*i];
}

/* Adds folder/libNAME.a, or folder/NAME for -l:NAME, if it is what the linker
 * would take. */
static bool add_from(struct device_inputs *inputs, const char *folder,
                     const char *name, bool only_static)
{
    const bool exact = name[0] == ':';
    char *shared = ompjit__format("%s/lib%s.so", folder, name);
    char *archive = exact ? ompjit__format("%s/%s", folder, name + 1)
                          : ompjit__format("%s/lib%s.a", folder, name);
    inputs->failed |= !shared || !archive;
    bool found = !inputs->failed && !exact && !only_static &&
                 !access(shared, F_OK);
    if (!inputs->failed && !found && !access(archive, F_OK)) {
        inputs_add(inputs, archive);
        found = true;
    }
    free(shared);
    free(archive);
    return found;
}

/* The words for and against shared libraries hold for what follows them. */
static void note_static(const char *word, bool *only_static)
{
    static const struct {
        const char *word;
        bool is_static;
    } rows[] = {{"-static", true},       {"-Bstatic", true},
                {"-dn", true},           {"-non_shared", true},
                {"-Bdynamic", false},    {"-dy", false},
                {"-call_shared", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(word, rows[i].word))
            *only_static = rows[i].is_static;
}

void inputs_find(struct device_inputs *inputs, const ompjit__args *words)
{
    char *const *v = words->v;
    ompjit__args folders = {0};
    bool only_static = false;
    for (size_t i = 0; i < words->n; i++) {
        const char *folder = value(v, &i, "-L");
        if (folder)
            ompjit__args_add(&folders, folder);
    }
    for (size_t i = 0; i < words->n; i++) {
        const char *name = value(v, &i, "-l");
        note_static(v[i], &only_static);
        if (!name && !value(v, &i, "-L") && !value(v, &i, "-o") &&
            v[i][0] != '-')
            inputs_add(inputs, v[i]);
        for (size_t k = 0; name && k < folders.n; k++)
            if (add_from(inputs, folders.v[k], name, only_static))
                break;
    }
    inputs->failed |= folders.failed;
    ompjit__args_free(&folders);
}

/* ------------------------------------------------------------------- trace */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Does a line of a trace name the member? Linkers write "libx.a(m.o)" or
 * "(libx.a)m.o", and a thin archive's member as that or as a file. */
static bool is_named(const struct device_input *input, const char *line)
{
    const char *archive = base_name(input->file);
    const char *member = base_name(input->member);
    const char *open = strrchr(line, '('), *close = strrchr(line, ')');
    size_t n = strlen(archive);
    if (!open || !close || close < open)
        return input->thin && !strcmp(base_name(line), member);
    if (close[1]) /* (libx.a)m.o */
        return (size_t)(close - open - 1) >= n &&
               !strncmp(close - n, archive, n) &&
               !strcmp(base_name(close + 1), member);
    const char *name = close - strlen(member);
    return (size_t)(open - line) >= n && !strncmp(open - n, archive, n) &&
           name > open && !strncmp(name, member, strlen(member)) &&
           (name[-1] == '(' || name[-1] == '/');
}

void inputs_mark(struct device_inputs *inputs, char *trace)
{
    for (size_t i = 0; !trace && i < inputs->n; i++)
        inputs->list[i].linked = true;
    for (char *next, *line = trace; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        for (size_t i = 0; i < inputs->n; i++) {
            struct device_input *input = &inputs->list[i];
            if (input->member && is_named(input, line))
                input->linked = true;
        }
    }
}

/* ------------------------------------------------------------------- image */

static bool is_device_ir(const ompjit__piece *piece)
{
    return (piece->kind == OMPJIT__PIECE_BITCODE ||
            piece->kind == OMPJIT__PIECE_IR_TEXT) &&
           !strncmp(piece->triple, "nvptx64", 7);
}

/* How many pieces of IR there are for an architecture. */
static unsigned count(const ompjit__pieces *pieces, const char *arch)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pieces->n; i++) {
        const ompjit__piece *p = &pieces->list[i];
        n += is_device_ir(p) && !strcmp(p->arch, arch);
    }
    return n;
}

/* An object of another compiler may have the same source for several
 * architectures: the one that has most, and of these the first, is taken. */
static const char *choose_arch(const ompjit__pieces *pieces)
{
    const char *best = NULL;
    for (unsigned i = 0; i < pieces->n; i++) {
        const ompjit__piece *p = &pieces->list[i];
        if (is_device_ir(p) &&
            (!best || count(pieces, p->arch) > count(pieces, best)))
            best = p->arch;
    }
    return best;
}

static int add_code(const struct device_input *input, ompjit__buf *out)
{
    ompjit__pieces pieces;
    ompjit_error err;
    if (ompjit__pieces_read(input->bytes, input->size, &pieces, &err)) {
        complain("%s%s%s%s: %s", input->file, input->member ? "(" : "",
                 input->member ? input->member : "", input->member ? ")" : "",
                 err.text);
        return EXIT_FAILED;
    }
    const char *arch = choose_arch(&pieces);
    for (unsigned i = 0; arch && i < pieces.n; i++) {
        const ompjit__piece *p = &pieces.list[i];
        if (is_device_ir(p) && !strcmp(p->arch, arch))
            pack_image(out, TRIPLE, ARCH, p->data, p->size);
    }
    ompjit__pieces_free(&pieces);
    if (arch)
        return EXIT_OK;
    complain("%s: its device code is no LLVM IR for nvptx64, and cannot be "
             "linked; compile it with ompjit cc, or with clang -fopenmp "
             "--offload-arch=sm_90 -foffload-lto",
             input->member ? input->member : input->file);
    return EXIT_FAILED;
}

int inputs_image(const struct device_inputs *inputs, ompjit__buf *out)
{
    int status = EXIT_OK;
    for (size_t i = 0; i < inputs->n && !status; i++)
        if (inputs->list[i].linked)
            status = add_code(&inputs->list[i], out);
    if (!status && (inputs->failed || out->failed)) {
        complain("out of memory");
        status = EXIT_FAILED;
    }
    return status;
}
