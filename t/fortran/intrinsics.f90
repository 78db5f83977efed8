! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Intrinsic functions for which flang 22 calls a library that no GPU has: its
! own (mod), the C library (nint), or one with complex values, which flang
! refuses to pass on a GPU.
program intrinsics
    implicit none
    real :: x(4) = [2.5, -2.5, 7.25, -7.25], r(8)
    double precision :: y(4) = [0.5d0, -3.5d0, 6d0, -8d0], d(8)
    complex :: c = (0.5, -1.25), z(7)
    complex(8) :: w = (-0.75d0, 2d0), v(7)
    integer :: k, n(8)
    integer(8) :: l(2)
    !$omp target map(from: r, d, z, v, n, l)
    do k = 1, 4
        n(k) = nint(x(k))
        n(k + 4) = nint(y(k))
        r(k) = mod(x(k), 2.)
        r(k + 4) = modulo(x(k), -2.)
        d(k) = mod(y(k), 2.5d0)
        d(k + 4) = modulo(y(k), 2d0)
    end do
    l = [nint(x(1), 8), nint(y(2) * 1d9, 8)]
    z = [exp(c), log(c), sqrt(c), sin(c), tanh(c), c / (c + 1), &
         cmplx(abs(c))]
    v = [exp(w), log(w), sqrt(w), cos(w), tan(w), w / (w - 1), &
         cmplx(abs(w), kind=8)]
    !$omp end target
    print '(8i3)', n
    print '(2i12)', l
    print '(8f6.2)', r, d
    print '(7f8.4)', z, v
end program
