! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Random numbers and clocks in regions.
program random
    implicit none
    integer, parameter :: n = 64
    real :: x(n)
    real(8) :: y(4, n), t(2), u
    integer(8) :: c(2), rate, most
    integer :: i, j, same = 0, seed(64), seed_size
    real :: z(3, 2)
    !$omp target teams distribute parallel do map(from: x, y)
    do i = 1, n
        call random_number(x(i))
        call random_number(y(:, i))
    end do
    !$omp target map(from: t, c, rate, most, z)
    call random_seed(size=seed_size)
    call random_seed(get=seed(1:seed_size))
    call random_number(z(:, 1))
    call random_seed(put=seed(1:seed_size))
    call random_number(z(:, 2))
    call cpu_time(t(1))
    call system_clock(c(1), rate, most)
    call system_clock(c(2))
    call cpu_time(t(2))
    !$omp end target
    do i = 1, n
        do j = 1, i - 1
            if (x(i) == x(j) .or. any(y(:, i) == y(:, j))) same = same + 1
        end do
    end do
    u = sum(y) / size(y)
    print '(10l2)', all(x >= 0 .and. x < 1), all(y >= 0 .and. y < 1), same < 3, &
        abs(u - .5) < .1, maxval(x) - minval(x) > .5, t(2) >= t(1), &
        c(2) >= c(1), rate > 0 .and. most > c(2), all(z(:, 1) == z(:, 2)), &
        z(1, 1) /= z(2, 1)
end program
