; A kernel without the OpenMP runtime: ompx_bare, or written by hand.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @scale(ptr %x, float %a, i16 %k) {
entry:
  store float %a, ptr %x, align 4
  ret void
}
