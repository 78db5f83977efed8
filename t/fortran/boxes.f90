! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! A dummy of assumed shape that a region maps, beside COMMON.
program boxes
    implicit none
    integer :: n
    common /block/ n
    real :: y(4) = 1, z(3, 4) = 2
    n = 5
    call add(y)
    call add(y(::2))
    call add_to_all(z(1:3:2, :), y)
    print '(4f6.1)', y
    print '(3f6.1)', z
contains
    subroutine add(x)
        real, intent(inout) :: x(:)
        integer :: i
        !$omp target teams distribute parallel do map(tofrom: x) map(to: n)
        do i = 1, size(x)
            x(i) = x(i) + i*n
        end do
    end subroutine
    subroutine add_to_all(x, by)
        real, intent(inout) :: x(:, 0:)
        real, intent(in) :: by(:)
        integer :: j
        !$omp target map(to: by) map(tofrom: x)
        do j = 0, ubound(x, 2)
            x(:, j) = x(:, j) + by(j + 1)
        end do
        !$omp end target
    end subroutine
end program
