! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Arrays whose elements are arranged anew, and matrix products: functions for
! which flang calls its library, all of them without optimization.
program transform
    implicit none
    type point
        integer :: a
        real :: b
    end type
    integer :: v(6) = [1, 2, 3, 4, 5, 6], a(2, 3), b(3, 2), s(2, 6, 2), t(2, 4)
    integer :: p(3), q(8), u(2, 3), e(2, 3, 5), m(2, 2), by(2) = [1, -1]
    integer :: order(2) = [2, 1], n = 2
    real :: x(2, 3), y(3, 2), xy(2, 2), xv(2), vy(2)
    real(8) :: d(2, 3), g(3, 2), dg(2, 2), dx(2, 2)
    complex :: c(2, 2), cc(2, 2)
    complex(8) :: z(2, 2)
    logical :: f(2, 3), h(3, 2), fh(2, 2)
    character(2) :: w(3) = ['ab', 'cd', 'ef'], w2(2, 3), w3(3)
    type(point) :: ps(2), pm(2, 3)
    integer :: i
    a = reshape(v, [2, 3])
    x = a / 2.
    y = transpose(x) + 1
    d = x
    g = y
    c = reshape([(1, 2), (3, -1), (0, 1), (2, 2)], [2, 2])
    f = mod(a, 2) == 0
    h = transpose(.not. f)
    ps = [point(1, 2.), point(3, 4.)]
    !$omp target map(to: v, a, by, order, n, x, y, d, g, c, f, h, w, ps) &
    !$omp map(from: b, s, t, p, q, u, e, m, xy, xv, vy, dg, dx, cc, z, fh, w2) &
    !$omp map(from: w3, pm)
    b = transpose(a)
    s = spread(spread(v, 1, n), 3, n)
    t = reshape(v, [n, 4], pad=[8, 9], order=order)
    p = pack(a, f)
    q = pack(v, .true., [11, 12, 13, 14, 15, 16, 17, 18])
    q(1:n + 2) = pack(v(1:n), v(1:n) > 1, [21, 22, 23, 24])
    u = unpack(v, .not. f, a * 10)
    e(:, :, 1) = cshift(a, n, 2)
    e(:, :, 2) = cshift(a, by, 2)
    e(:, :, 3) = eoshift(a, by, boundary=[-7, -8], dim=2)
    e(:, :, 4) = eoshift(a, -1, dim=2)
    e(:, :, 5) = reshape(eoshift(cshift(v, -n), n, 99), [2, 3])
    m = matmul(a, b)
    xy = matmul(x, y)
    xv = matmul(x, y(:, n))
    vy = matmul(x(n, :), y)
    dg = matmul(d, g)
    dx = matmul(a, g) + matmul(x, g) + matmul(d, y)
    cc = matmul(c, c)
    z = matmul(cmplx(c, kind=8), transpose(cmplx(c, kind=8)))
    fh = matmul(f, h)
    w2 = spread(w, 1, n)
    w3 = eoshift(cshift(w, 1), 1)
    pm = spread(ps, n, 3)
    !$omp end target
    print '(12i4)', b, s, t, p, q, u, e, m
    print '(6f8.2)', xy, xv, vy, dg, dx
    print '(8f8.2)', cc, z
    print '(4l2, 9(1x, "<", a, ">"))', fh, w2, w3
    print '(6(i2, f4.1))', ((pm(n, i), i=1, 3), n=1, 2)
end program
