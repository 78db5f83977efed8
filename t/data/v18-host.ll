; The host half of v18.ll as clang 18 types it: offload entries of 32 bytes,
; version 2 of the kernel arguments, a declare target variable.
source_filename = "add.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.ident_t = type { i32, i32, i32, i32, ptr }
%struct.__tgt_offload_entry = type { ptr, ptr, i64, i32, i32 }
%struct.__tgt_kernel_arguments = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, [3 x i32], [3 x i32], i32 }

@0 = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00", align 1
@1 = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 22, ptr @0 }, align 8
@table = global [4 x float] zeroinitializer, align 16
@.__omp_offloading_10_ab_add_l2.region_id = weak constant i8 0
@.offload_sizes = private unnamed_addr constant [4 x i64] [i64 4, i64 0, i64 4, i64 8]
@.offload_maptypes = private unnamed_addr constant [4 x i64] [i64 800, i64 35, i64 3, i64 800]
@.omp_offloading.entry_name = internal unnamed_addr constant [30 x i8] c"__omp_offloading_10_ab_add_l2\00"
@.omp_offloading.entry.__omp_offloading_10_ab_add_l2 = weak constant %struct.__tgt_offload_entry { ptr @.__omp_offloading_10_ab_add_l2.region_id, ptr @.omp_offloading.entry_name, i64 0, i32 0, i32 0 }, section "omp_offloading_entries", align 1
@.omp_offloading.entry_name.1 = internal unnamed_addr constant [6 x i8] c"table\00"
@.omp_offloading.entry.table = weak constant %struct.__tgt_offload_entry { ptr @table, ptr @.omp_offloading.entry_name.1, i64 16, i32 1, i32 7 }, section "omp_offloading_entries", align 1
@llvm.compiler.used = appending global [1 x ptr] [ptr @.omp_offloading.entry.table], section "llvm.metadata"

define dso_local void @add(ptr noundef %a) #0 {
entry:
  %kernel_args = alloca %struct.__tgt_kernel_arguments, align 8
  %.offload_sizes = alloca [4 x i64], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %.offload_sizes, ptr align 8 @.offload_sizes, i64 32, i1 false)
  %0 = getelementptr inbounds [4 x i64], ptr %.offload_sizes, i32 0, i32 1
  store i64 40, ptr %0, align 8
  %1 = getelementptr inbounds [4 x i64], ptr %.offload_sizes, i32 0, i32 0
  %2 = getelementptr inbounds %struct.__tgt_kernel_arguments, ptr %kernel_args, i32 0, i32 0
  store i32 2, ptr %2, align 4
  %3 = getelementptr inbounds %struct.__tgt_kernel_arguments, ptr %kernel_args, i32 0, i32 1
  store i32 4, ptr %3, align 4
  %4 = getelementptr inbounds i8, ptr %kernel_args, i64 24
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds %struct.__tgt_kernel_arguments, ptr %kernel_args, i32 0, i32 5
  store ptr @.offload_maptypes, ptr %5, align 8
  %6 = call i32 @__tgt_target_kernel(ptr @1, i64 -1, i32 0, i32 0, ptr @.__omp_offloading_10_ab_add_l2.region_id, ptr %kernel_args)
  ret void
}

declare i32 @__tgt_target_kernel(ptr, i64, i32, i32, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)

attributes #0 = { nounwind "target-cpu"="x86-64" "target-features"="+cx8,+sse2" "tune-cpu"="generic" }

!llvm.module.flags = !{!0}
!llvm.ident = !{!1}

!0 = !{i32 7, !"openmp", i32 51}
!1 = !{!"clang version 18.1.8"}
