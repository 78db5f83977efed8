/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Templates: a kernel's code with nothing folded, made by the pipeline once, in
 * which the builds of its variants begin.
 */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <stdlib.h>

#include "backend/build.h"
#include "core/template.h"
#include "llvm/llvm.h"

/* A template's image is its bitcode. */
ompjit_status ompjit__build_write(struct build *b, ompjit_error *err)
{
    LLVMMemoryBufferRef bc = LLVMWriteBitcodeToMemoryBuffer(b->m);
    ompjit__buf_add(&b->image->bytes, LLVMGetBufferStart(bc),
                    LLVMGetBufferSize(bc));
    LLVMDisposeMemoryBuffer(bc);
    return b->image->bytes.failed ? ompjit__no_memory(err, OMPJIT_STAGE_LINK)
                                  : OMPJIT_OK;
}

/* For a build `like`, but with nothing folded except a team of one thread. */
static ompjit_status make_template(void *arg, ompjit__template *t,
                                   ompjit_error *err)
{
    struct build *like = arg;
    ompjit__image image = {0};
    ompjit__spec spec = {.kernel = t->kernel,
                         .facts.threads.all = t->alone ? 1 : 0,
                         .ptx = t->ptx,
                         .import_globals = t->import_globals};
    struct build b = {.compiler = like->compiler,
                      .unit = like->unit,
                      .arch = like->arch,
                      .spec = &spec,
                      .host = like->host,
                      .route = OMPJIT__TEMPLATE,
                      .image = &image,
                      .stage_start = ompjit__now()};
    ompjit_status status =
        ompjit__guard(ompjit__build_compile, &b, OMPJIT_STAGE_LINK, err);
    ompjit__buf_free(&b.messages);
    like->stage_start = ompjit__now();
    if (status) {
        ompjit__image_free(&image);
        return status;
    }
    t->spmd = b.spmd;
    t->plain = b.plain;
    t->any_gpu = b.any_gpu;
    t->bc = image.bytes;
    t->remarks = image.remarks;
    t->constructors = image.constructors;
    t->globals = image.globals;
    t->nglobals = image.nglobals;
    return OMPJIT_OK;
}

/* The template's remarks are the variant's, too. The variables that it exports
 * or imports are those of each image made of it: they were listed when it was
 * lowered, and are not looked for again. */
static ompjit_status copy_globals(struct build *b, const ompjit__template *t,
                                  ompjit_error *err)
{
    ompjit__image *image = b->image;
    image->imports_globals = t->import_globals;
    image->constructors = t->constructors;
    ompjit__buf_add(&image->remarks, t->remarks.data, t->remarks.size);
    image->globals = calloc(t->nglobals + 1, sizeof *image->globals);
    for (unsigned i = 0; image->globals && i < t->nglobals; i++) {
        image->globals[i] = (ompjit__variable){
            ompjit__strdup(t->globals[i].name), t->globals[i].size};
        if (!image->globals[i].name)
            return ompjit__no_memory(err, OMPJIT_STAGE_LINK);
        image->nglobals++;
    }
    return image->globals ? OMPJIT_OK
                          : ompjit__no_memory(err, OMPJIT_STAGE_LINK);
}

/* Reads the template's bitcode into the shared context, if the stock has not
 * got it, and clones that: a clone takes a fraction of the time of reading. */
static ompjit_status copy_module(struct build *b, const ompjit__template *t,
                                 ompjit_error *err)
{
    ompjit__stock *stock = b->machine->stock;
    LLVMModuleRef m = ompjit__stock_find(stock, t->number);
    if (!m) {
        ompjit_status status = ompjit__build_parse(b, &t->bc, &m, err);
        if (status)
            return status;
        ompjit__stock_keep(stock, t->number, m);
    }
    b->m = LLVMCloneModule(m);
    return OMPJIT_OK;
}

/* The key has what a template is made for. Other facts of the spec are folded
 * into the copy by the passes that follow. */
ompjit_status ompjit__build_from_template(struct build *b, ompjit_error *err)
{
    ompjit__template key = {.kernel = (char *)b->spec->kernel,
                            .arch = (char *)b->arch->name,
                            .ptx = ompjit__ptx_version(b->arch, b->spec->ptx),
                            .alone = b->spec->facts.threads.all == 1,
                            .import_globals = b->spec->import_globals};
    const ompjit__template *t;
    ompjit_status status = ompjit__template_get(b->unit->templates, &key,
                                                make_template, b, &t, err);
    if (!status)
        status = copy_module(b, t, err);
    if (!status)
        status = copy_globals(b, t, err);
    if (status)
        return status;
    b->spmd = t->spmd;
    b->plain = t->plain;
    return OMPJIT_OK;
}
