/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Units that are remembered: of C, under the source, the command lines and the
 * compiler, as long as the included files are what they were; of IR, under the
 * IR; of several sources, under their units. clang's warnings are remembered
 * with the unit.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/clang/unit_cache.h"

/* ---------------------------------------------------------------- C: key */

/* Does every #include (and what else has that word) name its file in angle
 * brackets? The others are looked for in the source's own folder. */
static bool includes_by_brackets(const char *source)
{
    static const char word[] = "include";
    for (const char *p = source; (p = strstr(p, word));) {
        p += sizeof word - 1;
        const char *name = p + strspn(p, " \t(");
        if (*name != '<')
            return false;
    }
    return !strstr(source, "embed");
}

/* The path that a flag names in the same string, as "-isystemDIR"; "": none. */
static const char *joined_path(const char *flag)
{
    static const char *const names[] = {"-I",       "-include", "-imacros",
                                        "-isystem", "-iquote",  "-idirafter"};
    for (size_t i = 0; i < OMPJIT__COUNT(names); i++)
        if (!strncmp(flag, names[i], strlen(names[i])))
            return flag + strlen(names[i]);
    return "";
}

/* The working directory counts where a relative name may be looked up: the
 * files that were found are checked (deps.c), but not those that another
 * directory has and this one had not. */
static bool needs_folder(const char *source,
                         const ompjit_module_options *options)
{
    const char *name = ompjit__source_name(options);
    for (unsigned i = 0; i < options->nflags; i++) {
        const char *flag = options->flags[i];
        const char *path = *flag == '-' ? joined_path(flag) : flag;
        if (*path && *path != '/')
            return true;
    }
    return *name != '/' && !includes_by_brackets(source);
}

/* One half's command line, a line each. */
static void add_args(ompjit__key *key, const char *half,
                     const ompjit__args *args)
{
    for (size_t i = 0; i < args->n; i++)
        ompjit__buf_printf(&key->text, "%s %s\n", half, args->v[i]);
}

/* False: the source is not to be remembered, since its meaning changes with the
 * time, or its folder is unknown. */
static bool c_key(const ompjit__snippet *s, ompjit__key *key)
{
    uint8_t digest[OMPJIT__DIGEST];
    char here[PATH_MAX];
    size_t size = strlen(s->source);
    if (ompjit__tells_time(s->source, size))
        return false;
    ompjit__digest(s->source, size, digest);
    ompjit__key_begin(key, "source");
    ompjit__key_digest(key, "text", digest);
    ompjit__buf_printf(&key->text, "name %s\n",
                       ompjit__source_name(s->options));
    ompjit__key_file(key, "clang", s->clang->path);
    if (needs_folder(s->source, s->options)) {
        if (!getcwd(here, sizeof here))
            return false;
        ompjit__buf_printf(&key->text, "folder %s\n", here);
    }
    add_args(key, "host", &s->command->host);
    add_args(key, "device", &s->command->device);
    return ompjit__key_end(key);
}

/* -------------------------------------------------------------- C: entry */

/* Payload: the files, the warnings, the unit. */
static bool take_c(void *data, const void *payload, size_t size)
{
    ompjit__recall *r = data;
    ompjit__reader reader = {payload, size, false};
    if (!ompjit__deps_check(&reader))
        return false;
    ompjit__read_buf(&reader, &r->warnings);
    if (!reader.bad && ompjit__unit_unpack(&reader, &r->unit))
        return true;
    ompjit__buf_free(&r->warnings);
    return false;
}

bool ompjit__recall_c(ompjit_context *ctx, const ompjit__snippet *s,
                      ompjit__recall *r)
{
    *r = (ompjit__recall){.claim = {.fd = -1}};
    clock_gettime(CLOCK_REALTIME_COARSE, &r->began);
    r->use = ctx->cache && c_key(s, &r->key);
    return r->use &&
           ompjit__cache_enter(ctx->cache, &r->key, take_c, r, &r->claim);
}

void ompjit__remember_c(ompjit_context *ctx, const ompjit__snippet *s,
                        const char *rules, const ompjit__unit *unit,
                        ompjit__recall *r)
{
    ompjit__buf payload = {0};
    if (!r->use || !rules ||
        !ompjit__deps_pack(rules, ompjit__source_name(s->options), &r->began,
                           &payload)) {
        ompjit__buf_free(&payload);
        return;
    }
    ompjit__pack_bytes(&payload, r->warnings.data, r->warnings.size);
    ompjit__unit_pack(unit, &payload);
    ompjit__cache_put(ctx->cache, &r->key, &payload);
    ompjit__buf_free(&payload);
}

void ompjit__recall_end(ompjit__recall *r)
{
    ompjit__claim_end(&r->claim);
    ompjit__key_free(&r->key);
    ompjit__buf_free(&r->warnings);
}

/* -------------------------------------------------------------------- IR */

/* The IR itself, by its digests, and what else its unit depends on. */
static bool ir_key(const ompjit__buf *device, const ompjit__buf *host,
                   const char *name, unsigned opt_level, ompjit__key *key)
{
    uint8_t digest[OMPJIT__DIGEST];
    ompjit__key_begin(key, "ir");
    ompjit__digest(device->data, device->size, digest);
    ompjit__key_digest(key, "device", digest);
    ompjit__digest(host->data, host->size, digest);
    ompjit__key_digest(key, "host", digest);
    ompjit__buf_printf(&key->text, "opt %u\nname %s\n", opt_level, name);
    return ompjit__key_end(key);
}

/* The cache's callback: `data` is the unit. False: the entry is damaged. */
static bool take_ir(void *data, const void *payload, size_t size)
{
    ompjit__reader reader = {payload, size, false};
    return ompjit__unit_unpack(&reader, data);
}

/* By the compiler wing, with its time told. */
static ompjit_status read_ir(ompjit_context *ctx, const ompjit__buf *device,
                             const ompjit__buf *host, const char *name,
                             unsigned opt_level, ompjit__unit *out,
                             ompjit_error *err)
{
    uint64_t start = ompjit__now();
    ompjit_status status = ompjit__door_unit_read(
        &ctx->compiler, device, host, name, opt_level, 0, NULL, out, err);
    ompjit__stage_done(ctx, OMPJIT_STAGE_READ, start);
    return status;
}

/* By the cache where it has the unit. */
static ompjit_status recall_ir(ompjit_context *ctx, const ompjit__buf *device,
                               const ompjit__buf *host, const char *name,
                               unsigned opt_level, ompjit__unit *out,
                               ompjit_error *err)
{
    ompjit__key key = {0};
    bool use = ctx->cache && ir_key(device, host, name, opt_level, &key);
    ompjit_status status = OMPJIT_OK;
    if (!use || !ompjit__cache_get(ctx->cache, &key, take_ir, out)) {
        status = read_ir(ctx, device, host, name, opt_level, out, err);
        ompjit__buf payload = {0};
        if (!status && use) {
            ompjit__unit_pack(out, &payload);
            ompjit__cache_put(ctx->cache, &key, &payload);
        }
        ompjit__buf_free(&payload);
    }
    ompjit__key_free(&key);
    return status;
}

ompjit_status ompjit__frontend_ir(ompjit_context *ctx, const void *device,
                                  size_t device_size, const void *host,
                                  size_t host_size,
                                  const ompjit_module_options *options,
                                  ompjit__unit *out, ompjit_error *err)
{
    const char *name = options && options->name ? options->name : "module";
    unsigned opt_level = options ? options->opt_level : 0;
    /* Borrowed, not changed. */
    ompjit__buf d = {.data = (char *)device, .size = device_size};
    ompjit__buf h = {.data = (char *)host, .size = host_size};
    return recall_ir(ctx, &d, &h, name, opt_level, out, err);
}

/* --------------------------------------------------------- several sources */

static bool join_key(const ompjit__unit *units, unsigned n, const char *name,
                     unsigned opt_level, ompjit__key *key)
{
    uint8_t identity[OMPJIT__DIGEST];
    ompjit__key_begin(key, "join");
    for (unsigned i = 0; i < n; i++) {
        ompjit__unit_identity(&units[i], identity);
        ompjit__key_digest(key, "unit", identity);
    }
    ompjit__buf_printf(&key->text, "opt %u\nname %s\n", opt_level, name);
    return ompjit__key_end(key);
}

/* By the compiler wing, and remembered; `key` is NULL where nothing is. */
static ompjit_status join(ompjit_context *ctx, const ompjit__unit *units,
                          unsigned n, const char *name, unsigned opt_level,
                          const ompjit__key *key, ompjit__unit *out,
                          ompjit_error *err)
{
    uint64_t start = ompjit__now();
    ompjit__buf payload = {0};
    ompjit_status status = ompjit__door_units_join(&ctx->compiler, units, n,
                                                   name, opt_level, out, err);
    ompjit__stage_done(ctx, OMPJIT_STAGE_READ, start);
    if (status || !key)
        return status;
    ompjit__unit_pack(out, &payload);
    ompjit__cache_put(ctx->cache, key, &payload);
    ompjit__buf_free(&payload);
    return OMPJIT_OK;
}

/* One string behind the other, of both texts. */
static ompjit_status join_signatures(const ompjit__unit *units, unsigned n,
                                     ompjit__unit *out, ompjit_error *err)
{
    for (unsigned i = 0; i < n; i++) {
        ompjit__buf_add(&out->signatures, units[i].signatures.data,
                        units[i].signatures.size);
        ompjit__buf_add(&out->passing, units[i].passing.data,
                        units[i].passing.size);
    }
    if (!out->signatures.failed && !out->passing.failed)
        return OMPJIT_OK;
    ompjit__unit_free(out);
    return ompjit__no_memory(err, OMPJIT_STAGE_READ);
}

ompjit_status ompjit__frontend_join(ompjit_context *ctx,
                                    const ompjit__unit *units, unsigned n,
                                    const ompjit_module_options *options,
                                    ompjit__unit *out, ompjit_error *err)
{
    const char *name = options->name ? options->name : units[0].name;
    unsigned opt_level = options->opt_level;
    ompjit__key key = {0};
    bool use = ctx->cache && join_key(units, n, name, opt_level, &key);
    ompjit_status status = OMPJIT_OK;
    if (!use || !ompjit__cache_get(ctx->cache, &key, take_ir, out))
        status = join(ctx, units, n, name, opt_level, use ? &key : NULL, out,
                      err);
    ompjit__key_free(&key);
    if (!status) {
        out->from_source = true;
        out->own_lines = units[0].own_lines;
        status = join_signatures(units, n, out, err);
    }
    return status;
}
