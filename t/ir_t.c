#include "front.h"
int main(void){ (void)context_new; (void)context_free; (void)kernel_named; return done_testing();}
