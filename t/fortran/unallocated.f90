! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Arrays and scalars that are not allocated are not allocated in a region
! either, whatever their map, and after it; the device's memory has had other
! contents before.
program unallocated
    implicit none
    integer, allocatable :: scalar, array(:), kept(:)
    integer :: wrong, i, filled(64)

    wrong = 0
    allocate (kept(4))
    kept = 7
    filled = -1
    do i = 1, 20
        !$omp target map(tofrom: filled)
        filled = filled - 1
        !$omp end target
        !$omp target map(from: scalar, array) map(tofrom: wrong, kept)
        if (allocated(scalar)) wrong = wrong + 1
        if (allocated(array)) wrong = wrong + 1
        if (.not. allocated(kept)) wrong = wrong + 1
        kept(2) = kept(2) + 1
        !$omp end target
        if (allocated(scalar) .or. allocated(array)) wrong = wrong + 1
        !$omp target map(alloc: scalar, array) map(tofrom: wrong)
        if (allocated(scalar) .or. allocated(array)) wrong = wrong + 1
        !$omp end target
        if (allocated(scalar) .or. allocated(array)) wrong = wrong + 1
    end do
    print *, wrong, kept(2), filled(64)
end program unallocated
