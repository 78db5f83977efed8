! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Reductions of arrays of a fixed shape: flang refuses others on a device.
module counters
    implicit none
contains
    subroutine histogram(x, bins, n)
        integer, intent(in) :: n, x(:)
        integer, intent(inout) :: bins(5)
        integer :: i
        !$omp target teams distribute parallel do reduction(+: bins) map(to: x)
        do i = 1, n
            bins(x(i)) = bins(x(i)) + 1
        end do
    end subroutine

    subroutine sized(n, sums)
        integer, intent(in) :: n
        real(8), intent(inout) :: sums(3, 2)
        integer :: i
        !$omp target parallel do reduction(+: sums) map(tofrom: sums)
        do i = 1, 50
            sums(mod(i, n) + 1, :) = sums(mod(i, n) + 1, :) + [1d0, 0.5d0] * i
        end do
    end subroutine
end module

program arrays
    use counters
    implicit none
    integer :: i, j, low(-1:2), high(3), bits(2), x(200), total, bins(5)
    integer(8) :: product_of(2)
    real(8) :: sums(3, 2), plane(2, 3)
    logical :: all_of(2), any_of(2)
    real :: heap(4)
    complex :: z(2)
    low = 1000
    high = -1000
    !$omp target teams distribute parallel do reduction(min: low) &
    !$omp reduction(max: high)
    do i = 1, 100
        low(mod(i, 4) - 1) = min(low(mod(i, 4) - 1), 50 - i)
        high(mod(i, 3) + 1) = max(high(mod(i, 3) + 1), i)
    end do
    print '(7i6)', low, high
    bits = -1
    product_of = 1
    total = 0
    !$omp target teams distribute parallel do reduction(iand: bits) &
    !$omp reduction(*: product_of) reduction(+: total)
    do i = 1, 10
        bits(1) = iand(bits(1), not(ishft(1, i)))
        bits(2) = iand(bits(2), 4095 - i)
        product_of(mod(i, 2) + 1) = product_of(mod(i, 2) + 1) * i
        total = total + i
    end do
    print '(2i6, 2i9, i5)', bits, product_of, total
    all_of = .true.
    any_of = .false.
    !$omp target teams distribute parallel do reduction(.and.: all_of) &
    !$omp reduction(.or.: any_of)
    do i = 1, 64
        all_of(1) = all_of(1) .and. i > 0
        all_of(2) = all_of(2) .and. i /= 33
        any_of(1) = any_of(1) .or. i == 64
        any_of(2) = any_of(2) .or. i == 65
    end do
    print '(4l2)', all_of, any_of
    x = [(mod(i * i, 5) + 1, i = 1, 200)]
    bins = 7
    call histogram(x, bins, 200)
    print '(5i5)', bins
    sums = 0
    call sized(3, sums)
    print '(6f8.1)', sums
    plane = 1
    !$omp target teams distribute parallel do collapse(2) reduction(+: plane)
    do j = 1, 30
        do i = 1, 20
            plane(mod(i, 2) + 1, mod(j, 3) + 1) = &
                plane(mod(i, 2) + 1, mod(j, 3) + 1) + i * 0.5d0
        end do
    end do
    print '(6f8.1)', plane
    heap = 0
    z = 0
    !$omp target map(tofrom: heap, z)
    !$omp parallel do reduction(+: heap, z)
    do i = 1, 40
        heap(mod(i, 4) + 1) = heap(mod(i, 4) + 1) + i
        z(mod(i, 2) + 1) = z(mod(i, 2) + 1) + cmplx(i, -1)
    end do
    !$omp end target
    print '(8f8.1)', heap, z
    heap = 2
    !$omp target teams distribute reduction(+: heap)
    do i = 1, 40
        heap(mod(i, 4) + 1) = heap(mod(i, 4) + 1) + 1
    end do
    print '(4f8.1)', heap
    heap = 0
    !$omp target teams reduction(+: heap) num_teams(2) map(tofrom: heap)
    !$omp distribute
    do j = 1, 6
        !$omp parallel do reduction(+: heap)
        do i = 1, 8
            heap(mod(i, 4) + 1) = heap(mod(i, 4) + 1) + j
        end do
    end do
    !$omp end target teams
    print '(4f8.1)', heap
end program
