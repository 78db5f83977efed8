! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Allocatable arrays, a derived type with a mapper, reductions and do concurrent.
module shapes
    implicit none
    type :: field
        integer :: n
        real(8), allocatable :: x(:)
    end type
    !$omp declare mapper(field :: f) map(f%n, f%x)
contains
    subroutine scale(f, by)
        type(field), intent(inout) :: f
        real(8), intent(in) :: by
        integer :: i
        !$omp target teams distribute parallel do map(tofrom: f)
        do i = 1, f%n
            f%x(i) = f%x(i) * by
        end do
    end subroutine
end module

program sums
    use shapes
    use omp_lib
    implicit none
    type(field) :: f
    integer :: i, j, most
    integer, allocatable :: a(:, :)
    real(8) :: total
    logical :: on_device
    f%n = 1000
    allocate(f%x(f%n), a(30, 20))
    f%x = [(real(i, 8), i = 1, f%n)]
    call scale(f, 2.0d0)
    total = 0
    !$omp target teams distribute parallel do reduction(+: total) map(to: f)
    do i = 1, f%n
        total = total + f%x(i)
    end do
    print '(a, f12.1)', 'total', total
    a = 0
    most = 0
    on_device = .false.
    !$omp target map(tofrom: a) map(from: on_device)
    on_device = .not. omp_is_initial_device()
    !$omp end target
    !$omp target teams distribute parallel do collapse(2) reduction(max: most) &
    !$omp& map(tofrom: a)
    do j = 1, 20
        do i = 1, 30
            a(i, j) = 100 * j + i
            most = max(most, a(i, j))
        end do
    end do
    do concurrent (i = 1:30)
        a(i, 1) = a(i, 1) + 1
    end do
    print '(a, 2i6, l2)', 'most', most, sum(a), on_device
end program
