! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Automatic arrays of a procedure, and expressions as its arguments, which its
! parallel regions share: flang 22 puts them on the stack of one thread, and
! promises that nothing keeps an argument's address.
module procedures
  implicit none
contains
  subroutine work(n, r)
    !$omp declare target
    integer, intent(in) :: n
    real, intent(out) :: r(n)
    real :: a(n), b(n)
    real(8) :: c(2 * n)
    integer :: i, k
    a = 1
    c = 3
    b = [(real(i), i = 1, n)]
    do k = 1, 3
      !$omp parallel do
      do i = 1, n
        a(i) = a(i) + b(i) * real(c(n + i))
      end do
    end do
    r = a
  end subroutine
  subroutine fixed(n, r)
    !$omp declare target
    integer, intent(in) :: n
    real, intent(out) :: r(n)
    real :: a(8)
    integer :: i
    a = 1
    !$omp parallel do
    do i = 1, n
      a(i) = a(i) + i
    end do
    r = a(:n)
  end subroutine
end module
program automatic
  use procedures
  use omp_lib
  implicit none
  real :: r(8)
  integer :: m
  m = 5
  !$omp target map(from: r)
  call work(8, r)
  !$omp end target
  print '(8f6.1)', r
  !$omp target map(from: r)
  call fixed(m + 3, r)
  !$omp end target
  print '(8f6.1)', r
  !$omp target teams num_teams(3) map(from: r)
  block
    real :: q(5)
    call work(5, q)
    if (omp_get_team_num() == 0) r(:5) = q
  end block
  !$omp end target teams
  print '(8f6.1)', r(:5)
end program
