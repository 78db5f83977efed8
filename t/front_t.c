#include "front.h"
static const char src[] = "void saxpy(int n, float a, float *x, float *y) {\n#pragma omp target teams distribute parallel for map(to: x[0:n]) map(tofrom: y[0:n])\n  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];\n}\n";
int main(int argc, char **argv){
    ompjit_context *ctx = context_new(NULL, 10);
    ompjit_error err;
    for (int i = 0; i < 25; i++) {
        ompjit__unit u;
        uint64_t t = ompjit__now(), f0 = ctx->stage_ns[1], r0 = ctx->stage_ns[2];
        int rc = ompjit__frontend_c(ctx, src, NULL, &u, &err);
        t = ompjit__now() - t;
        printf("%d %.2f ms, front %.2f read %.2f %s\n", rc, t/1e6, (ctx->stage_ns[1]-f0)/1e6, (ctx->stage_ns[2]-r0)/1e6, rc ? err.text : "");
        if (rc) break;
        for (unsigned k = 0; k < u.nkernels; k++) {
            ompjit__kernel_desc *d = &u.kernels[k];
            if (!i) printf("%s %s %u mode %d env %d thr %d %d\n", d->symbol, d->name, d->line, d->mode, d->launch_env, d->min_threads, d->max_threads);
            for (unsigned p = 0; p < d->nparams && !i; p++) printf("  %s kind %d bytes %d size %u map %lx\n", d->params[p].name, d->params[p].kind, d->params[p].bytes, d->params[p].size, d->params[p].map_type);
        }
        ompjit__unit_free(&u);
        struct timespec ts = {0, 150000000}; nanosleep(&ts, NULL);
    }
    context_free(ctx);
    return 0;
}
