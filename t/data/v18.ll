; Device IR as clang 18 types it: no ptx_kernel, lifetime intrinsics with a
; size, __kmpc_parallel_51.
source_filename = "add.c"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.ident_t = type { i32, i32, i32, i32, ptr }
%struct.DynamicEnvironmentTy = type { i16 }
%struct.KernelEnvironmentTy = type { %struct.ConfigurationEnvironmentTy, ptr, ptr }
%struct.ConfigurationEnvironmentTy = type { i8, i8, i8, i32, i32, i32, i32, i32, i32 }

@0 = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00", align 1
@1 = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 22, ptr @0 }, align 8
@__omp_offloading_10_ab_add_l2_dynamic_environment = weak_odr protected global %struct.DynamicEnvironmentTy zeroinitializer
@__omp_offloading_10_ab_add_l2_kernel_environment = weak_odr protected constant %struct.KernelEnvironmentTy { %struct.ConfigurationEnvironmentTy { i8 1, i8 1, i8 1, i32 1, i32 64, i32 2, i32 16, i32 8, i32 1024 }, ptr @1, ptr @__omp_offloading_10_ab_add_l2_dynamic_environment }

define weak_odr protected void @__omp_offloading_10_ab_add_l2(ptr noalias noundef %dyn_ptr, i64 noundef %n, ptr noundef %a, double %s) #0 {
entry:
  %args = alloca [1 x ptr], align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr %args)
  %0 = call i32 @__kmpc_target_init(ptr @__omp_offloading_10_ab_add_l2_kernel_environment, ptr %dyn_ptr)
  %exec_user_code = icmp eq i32 %0, -1
  br i1 %exec_user_code, label %user_code.entry, label %worker.exit

user_code.entry:
  %1 = call i32 @__kmpc_global_thread_num(ptr @1)
  store ptr %a, ptr %args, align 8
  call void @__kmpc_parallel_51(ptr @1, i32 %1, i32 1, i32 -1, i32 -1, ptr @outlined, ptr null, ptr %args, i64 1) #1
  call void @__kmpc_target_deinit()
  call void @llvm.lifetime.end.p0(i64 8, ptr %args)
  ret void

worker.exit:
  ret void
}

define internal void @outlined(ptr noalias noundef %.global_tid., ptr noalias noundef %.bound_tid., ptr noundef %a) #2 {
entry:
  store i32 1, ptr %a, align 4
  ret void
}

declare i32 @__kmpc_target_init(ptr, ptr)
declare void @__kmpc_target_deinit()
declare i32 @__kmpc_global_thread_num(ptr) #1
declare void @__kmpc_parallel_51(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64) #3
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture)

attributes #0 = { convergent noinline norecurse nounwind "kernel" "target-cpu"="sm_70" "target-features"="+ptx60,+sm_70" }
attributes #1 = { nounwind }
attributes #2 = { convergent noinline norecurse nounwind "target-cpu"="sm_70" "target-features"="+ptx60,+sm_70" }
attributes #3 = { alwaysinline }

!llvm.module.flags = !{!0, !1, !2}
!llvm.ident = !{!3}
!nvvm.annotations = !{!4, !5}
!omp_offload.info = !{!6}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 7, !"openmp", i32 51}
!2 = !{i32 7, !"openmp-device", i32 51}
!3 = !{!"clang version 18.1.8"}
!4 = !{ptr @__omp_offloading_10_ab_add_l2, !"kernel", i32 1}
!5 = !{ptr @__omp_offloading_10_ab_add_l2, !"maxntidx", i32 64}
!6 = !{i32 0, i32 16, i32 171, !"add", i32 2, i32 0, i32 0}
