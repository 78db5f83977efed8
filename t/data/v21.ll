; Device IR as clang 21 types it: ptx_kernel, workshare loops of the runtime
; without the flag that LLVM 22 added.
source_filename = "loop.c"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.ident_t = type { i32, i32, i32, i32, ptr }
%struct.DynamicEnvironmentTy = type { i16 }
%struct.KernelEnvironmentTy = type { %struct.ConfigurationEnvironmentTy, ptr, ptr }
%struct.ConfigurationEnvironmentTy = type { i8, i8, i8, i32, i32, i32, i32, i32, i32 }

@0 = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00", align 1
@1 = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 22, ptr @0 }, align 8
@__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_dynamic_environment = weak_odr protected global %struct.DynamicEnvironmentTy zeroinitializer
@__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_kernel_environment = weak_odr protected constant %struct.KernelEnvironmentTy { %struct.ConfigurationEnvironmentTy { i8 0, i8 0, i8 6, i32 1, i32 128, i32 0, i32 0, i32 0, i32 0 }, ptr @1, ptr @__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_dynamic_environment }

define weak_odr protected ptx_kernel void @__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1(ptr noalias noundef %dyn_ptr, ptr noundef %a, i32 noundef %n) #0 {
entry:
  %0 = call i32 @__kmpc_target_init(ptr @__omp_offloading_10_ab__ZN2ns4loopIfEEvPT_i_l7_1_kernel_environment, ptr %dyn_ptr)
  %exec_user_code = icmp eq i32 %0, -1
  br i1 %exec_user_code, label %user_code.entry, label %worker.exit

user_code.entry:
  %n64 = zext i32 %n to i64
  call void @__kmpc_for_static_loop_4u(ptr @1, ptr @body, ptr %a, i32 %n, i32 0, i32 0)
  call void @__kmpc_distribute_static_loop_4u(ptr @1, ptr @body, ptr %a, i32 %n, i32 0)
  call void @__kmpc_distribute_for_static_loop_8u(ptr @1, ptr @body64, ptr %a, i64 %n64, i64 0, i64 0, i64 0)
  call void @__kmpc_target_deinit()
  ret void

worker.exit:
  ret void
}

define internal void @body(i32 %i, ptr %a) #1 {
entry:
  store i32 %i, ptr %a, align 4
  ret void
}

define internal void @body64(i64 %i, ptr %a) #1 {
entry:
  store i64 %i, ptr %a, align 4
  ret void
}

declare i32 @__kmpc_target_init(ptr, ptr)
declare void @__kmpc_target_deinit()
declare void @__kmpc_for_static_loop_4u(ptr, ptr, ptr, i32, i32, i32)
declare void @__kmpc_distribute_static_loop_4u(ptr, ptr, ptr, i32, i32)
declare void @__kmpc_distribute_for_static_loop_8u(ptr, ptr, ptr, i64, i64, i64, i64)

attributes #0 = { convergent noinline norecurse nounwind "kernel" "target-cpu"="sm_90" }
attributes #1 = { convergent noinline norecurse nounwind }

!llvm.module.flags = !{!0, !1}
!llvm.ident = !{!2}

!0 = !{i32 7, !"openmp", i32 51}
!1 = !{i32 7, !"openmp-device", i32 51}
!2 = !{!"clang version 21.1.8"}
