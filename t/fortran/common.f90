! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Variables of COMMON and EQUIVALENCE in target regions, by constant subscripts:
! flang 22 takes such an element for a part of the block's first variable.
block data
  real more
  common /set/ first, more(3)
  data first /1.0/, more /2.0, 3.0, 4.0/
end block data

subroutine host_side
  common /blk/ a, b, r(4), m(2, 2)
  r = r * 2
end subroutine

program main
  implicit none
  real :: a, b, r(4), o(8), x, first, more(3)
  integer :: m(2, 2), i
  real(8), save :: u(4)
  integer(8), save :: v(4)
  common /blk/ a, b, r, m
  common /set/ first, more
  equivalence (u(2), v(1))
  a = 1.5; b = 2.5; r = [1., 2., 3., 4.]; m = reshape([1, 2, 3, 4], [2, 2])

  !$omp target map(from: x)
  x = a + b + r(4) * 10 + m(2, 1)
  !$omp end target
  call check(x, 46.)

  !$omp target map(tofrom: x)
  x = x + r(2)
  !$omp end target
  call check(x, 48.)

  !$omp target teams distribute parallel do map(from: o)
  do i = 1, 8
    o(i) = a + r(4) + r(mod(i, 4) + 1) * i + m(1, 2)
  end do
  call check(sum(o), 8 * 8.5 + 88)

  !$omp target map(tofrom: r, m)
  r(3) = b
  m(2, 2) = m(1, 2) * 5
  !$omp end target
  call check(r(3) + m(2, 2), 17.5)
  call host_side
  call check(r(3), 5.)

  !$omp target map(from: x)
  x = first * 100 + more(2)
  !$omp end target
  call check(x, 103.)

  u = [1, 2, 3, 4]
  !$omp target map(tofrom: v)
  v(1) = v(2)
  !$omp end target
  call check(real(u(2)), 3.)
contains
  subroutine check(is, wants)
    real, intent(in) :: is, wants
    print '(f0.1, 1x, l1)', is, abs(is - wants) < 1e-3
  end subroutine
end program
