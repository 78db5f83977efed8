! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Parts of numbers and norms, which flang calls its library for: as bits, on a GPU
! the same as on the host.
program parts
    use, intrinsic :: ieee_arithmetic
    implicit none
    integer, parameter :: n = 26, m = 5
    real(4) :: x(n), r(n, 7), b(m, m), s(m)
    real(8) :: y(n), q(n, 7), a(m, m), t(m)
    integer :: e(n, 2), i, j
    x = [0.0, -0.0, 1.0, -1.0, 0.5, 3.1415927, -2.7182817, 1e-38, &
         1.17549435e-38, 1e-40, -1.4e-45, 3.4028235e38, 7.0, 8.0, 1e10, &
         -1e-10, 123456.789, 2.0, 0.46, 3e-39, 4.5, 12.0, -3.0, -30.0, 0.0, 0.0]
    y = [0d0, -0d0, 1d0, -1d0, .5d0, 3.14159265358979d0, -2.7d0, 1d-308, &
         2.2250738585072014d-308, 1d-310, -4.9d-324, &
         1.7976931348623157d308, 7d0, 8d0, 1d10, -1d-10, 123456.789d0, 2d0, &
         .46d0, 3d-309, 4.5d0, 12d0, -3d0, -30d0, 0d0, 0d0]
    x(n - 1) = ieee_value(x(1), ieee_positive_inf)
    y(n - 1) = ieee_value(y(1), ieee_negative_inf)
    x(n) = ieee_value(x(1), ieee_quiet_nan)
    y(n) = ieee_value(y(1), ieee_quiet_nan)
    do j = 1, m
        do i = 1, m
            a(i, j) = i * 1d200 + j
            b(i, j) = i + 10 * j
        end do
    end do
    !$omp target teams distribute parallel do map(to: x, y) map(from: r, q, e)
    do i = 1, n
        e(i, :) = [exponent(x(i)), exponent(y(i))]
        r(i, 1) = fraction(x(i)); q(i, 1) = fraction(y(i))
        r(i, 2) = scale(x(i), 3); q(i, 2) = scale(y(i), -3)
        r(i, 3) = spacing(x(i)); q(i, 3) = spacing(y(i))
        r(i, 4) = nearest(x(i), 1.0); q(i, 4) = nearest(y(i), -1.0)
        r(i, 5) = scale(x(i), -300); q(i, 5) = scale(y(i), 2099)
        r(i, 6) = set_exponent(x(i), -130); q(i, 6) = set_exponent(y(i), -1030)
        r(i, 7) = rrspacing(x(i)); q(i, 7) = rrspacing(y(i))
    end do
    !$omp target teams distribute parallel do map(to: a, b) map(from: s, t)
    do i = 1, m
        t(i) = norm2(a(:, i)) + norm2(a(i, 2:))
        s(i) = norm2(b(i, 1:m:2)) + norm2(b(2:1, i))
    end do
    do i = 1, n
        print '(2i12)', e(i, :)
        ! NaNs have any bits.
        where (r(i, :) /= r(i, :)) r(i, :) = -99
        where (q(i, :) /= q(i, :)) q(i, :) = -99
        print '(7z9.8)', r(i, :)
        print '(7z17.16)', q(i, :)
    end do
    print '(5es12.4)', t
    print '(5f9.3)', s
end program
