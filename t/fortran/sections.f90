! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Arguments that stand for elements which are apart.
module sweeps
    implicit none
contains
    subroutine sweep(a, mask)
        real(8), intent(inout) :: a(:, :)
        logical, intent(in), optional :: mask(:)
        integer :: j
        if (.not. present(mask)) return
        !$omp target teams distribute parallel do map(tofrom: a) map(to: mask)
        do j = 1, size(a, 2)
            if (mask(j)) a(:, j) = -a(:, j)
        end do
    end subroutine

    ! Between the two regions the data stays, and some is brought to the host.
    subroutine stay(x, first)
        integer, intent(inout) :: x(:)
        integer, intent(out) :: first(2)
        integer :: i
        !$omp target data map(tofrom: x)
        !$omp target teams distribute parallel do
        do i = 1, size(x)
            x(i) = x(i) + i
        end do
        !$omp target update from(x)
        first = [x(1), x(size(x))]
        !$omp target
        x(size(x) - 1) = 0
        !$omp end target
        !$omp end target data
    end subroutine

    integer function total(b)
        integer, intent(in) :: b(:, :, :)
        total = 0
        !$omp target map(to: b) map(from: total)
        total = sum(b) + size(b) * b(1, 1, size(b, 3))
        !$omp end target
    end function
end module

program sections
    use sweeps
    implicit none
    real(8) :: big(10, 20)
    logical :: mask(20)
    integer :: i, first(2), x(30), b(4, 5, 6)
    big = 1
    mask = [(mod(i, 3) == 0, i = 1, 20)]
    call sweep(big, mask)
    print '(i4)', int(sum(big))
    call sweep(big(2:9:2, :), mask)
    print '(i4)', int(sum(big))
    call sweep(big(9:1:-4, 20:1:-3), mask)
    print '(i4)', int(sum(big))
    call sweep(big(::3, :))
    x = 100
    call stay(x(2:30:7), first)
    print '(6i5)', x(2:30:7), first
    call stay(x(29:1:-9), first)
    print '(6i5)', x(29:1:-9), first
    print '(i6)', sum(x)
    b = reshape([(i, i = 1, 120)], [4, 5, 6])
    print '(2i6)', total(b(::2, 5:1:-2, 2:)), &
        sum(b(::2, 5:1:-2, 2:)) + size(b(::2, 5:1:-2, 2:)) * b(1, 5, 6)
end program
