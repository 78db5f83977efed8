! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Uses a module of another source, and a device function in C.
program uses
    use numbers
    implicit none
    integer :: a(4), i
    !$omp target teams distribute parallel do map(from: a)
    do i = 1, 4
        a(i) = thrice(i) + twice(i)
    end do
    print '(4i5)', a
end program
