! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Integers of 16 bytes in functions on arrays, and a decimal comma.
program wide
    implicit none
    integer(16) :: h(4) = [1_16, 2_16**70, -5_16, 3_16], r(9), n(3), m(2, 3)
    integer :: i, places(5)
    real(8) :: x = 1234.5678d0
    m = reshape([(int(i, 16)*10_16**20, i=1, 6)], [2, 3])
    r = 0
    !$omp target map(tofrom: r) map(to: h, m, x) map(from: n, places)
    r(1) = sum(h)
    r(2) = product(h)
    r(3) = maxval(h)
    r(4) = minval(h)
    r(5) = dot_product(h, h(4:1:-1))
    r(6) = iall(h)
    r(7) = iany(h)
    r(8) = iparity(h)
    r(9) = sum(h, mask=h < 10)
    n = sum(m, 1)
    places = [maxloc(h), minloc(h), findloc(h, 3_16), maxloc(m, 2)]
    print '(dc, f10.3, e12.4, dp, f10.3)', x, x, x
    print '(f8.2, dc, 2f8.2)', x, x, 0.5d0
    print '(f8.2)', x
    !$omp end target
    print '(z32.32)', r, n
    print '(5i3)', places
end program
