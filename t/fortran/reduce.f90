! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Values and places of arrays, and of their lines: the functions for which flang
! calls its library, all of them without optimization.
program reduce
    use, intrinsic :: ieee_arithmetic
    implicit none
    integer, parameter :: m = 3, n = 4
    integer :: a(m, n) = reshape([4, -2, 7, 5, 5, 1, 0, 7, 3, -2, 9, 9], [m, n])
    integer(1) :: a1(m, n)
    integer(2) :: a2(m, n)
    integer(8) :: a8(m, n)
    real :: x(m, n)
    real(8) :: y(m, n)
    complex :: c(m, n), z(2), zs(m)
    complex(8) :: w(2)
    logical :: mask(m, n)
    integer :: i(60), j(m), k(n), two(2, 8), none = 0
    real :: r(14), rs(n)
    real(8) :: q(12), qs(m)
    logical :: l(9), ls(m)
    a1 = int(a, 1)
    a2 = int(a, 2)
    a8 = a * 5000000000_8
    x = a / 4.
    y = a * 1d3
    x(1, 1) = ieee_value(x(1, 1), ieee_quiet_nan)
    c = cmplx(a, -a + 1)
    mask = mod(a, 2) == 1
    !$omp target map(to: a, a1, a2, a8, x, y, c, mask, none) &
    !$omp map(from: i, j, k, two, r, rs, q, qs, l, ls, z, zs, w)
    i(1:4) = [sum(a), product(a, mask), maxval(a), minval(a)]
    i(5:8) = [iall(a), iany(a), iparity(a), sum(a, .false.)]
    i(9:12) = [int(sum(a1)), int(sum(a2)), int(maxval(a1)), int(minval(a2))]
    i(13:15) = int([sum(a8), maxval(a8), iany(a8)] / 1000000)
    i(16:19) = [count(mask), count(a > 4), maxval(a(:, 1:none)), &
                minval(a, mask=a > 99)]
    i(20:22) = [dot_product(a(:, 1), a(:, 2)), findloc(a(1, :), 5, 1), &
                findloc(a(2, :), 5, 1, back=.true.)]
    i(23:26) = maxloc(a, 1, mask)
    i(27:29) = minloc(a, 2, back=.true.)
    i(30:33) = findloc(a, 7, dim=1)
    i(34:36) = findloc(a, 5., dim=2, mask=mask)
    i(37:39) = [maxloc(x(1, :), 1), minloc(y(:, 2), 1), maxloc(a1(:, 4), 1)]
    i(40:43) = count(mask, 1)
    i(44:46) = iany(a, 2)
    i(47:50) = iall(a, 1, a > 0)
    i(51:54) = iparity(a, 1)
    i(55:57) = product(a, 2, a > 1)
    i(58:60) = maxval(a, 2, mask)
    j = sum(a, 2)
    k = minval(a, 1)
    two(:, 1) = maxloc(a)
    two(:, 2) = minloc(a, back=.true.)
    two(:, 3) = maxloc(x)
    two(:, 4) = minloc(y, mask=mask)
    two(:, 5) = findloc(a, 9)
    two(:, 6) = findloc(a, 9, back=.true.)
    two(:, 7) = findloc(mask, .true.)
    two(:, 8) = findloc(c, (7., -6.)) + maxloc(a8) - minloc(a2, mask=.false.)
    r(1:4) = [sum(x(:, 2:)), product(x(2, :)), maxval(x(:, 2:)), minval(x)]
    r(5:8) = [sum(x, mask), maxval(x(:, 1:none)), norm2(x(:, 2)), &
              dot_product(x(2, :), x(3, :))]
    r(9:12) = maxval(x, 1)
    r(13:14) = norm2(x(1:2, 2:3), 1)
    rs = sum(x, 1, mask)
    q(1:4) = [sum(y), product(y(:, 1)), maxval(y), minval(y, mask)]
    q(5:6) = [norm2(y), dot_product(y(1, :), y(2, :))]
    q(7:9) = norm2(y, 2)
    q(10:12) = minval(y, 2)
    qs = product(y, 2, y > 1)
    l(1:5) = [all(mask), any(mask), parity(mask), all(a > -3), any(a > 99)]
    l(6:9) = parity(mask, 1)
    ls = all(mask(:, 1:2), 2) .or. any(mask(:, 3:), 2)
    z = [sum(c), dot_product(c(1, :), c(2, :))]
    zs = sum(c, 2, mask) + product(c, 2)
    w = [sum(cmplx(y, kind=8)), product(cmplx(y(:, 1), 1, 8))]
    l(5) = l(5) .or. dot_product(mask(1, :), mask(2, :))
    !$omp end target
    print '(6i12)', i
    print '(7i4)', j, k
    print '(16i3)', two
    print '(6es12.4)', r, rs, q, qs
    print '(12l2)', l, ls
    print '(6f12.2)', z, zs
    print '(4es12.4)', w
end program
