! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Variables of `declare target link` in procedures, where flang 22 names one that
! nothing maps; and a task that shares nothing, whose function has one parameter.
module work
  implicit none
  integer :: a, b(6), counter = 0
  !$omp declare target link(a, b)
  !$omp declare target(counter)
contains
  subroutine add(n)
    !$omp declare target
    integer, value :: n
    integer :: i
    a = a + n
    b(3) = b(3) + 1
    do i = 4, 5
      b(i) = b(i - 1) + a
    end do
  end subroutine
end module
program link
  use work
  implicit none
  a = 1; b = 2
  !$omp target map(tofrom: a, b)
  call add(5)
  !$omp end target
  print '(7i4)', a, b
  !$omp target enter data map(to: a, b)
  !$omp target
  call add(1)
  !$omp end target
  !$omp target exit data map(from: a, b)
  print '(7i4)', a, b
  !$omp target
  !$omp task
  counter = counter + 4
  !$omp end task
  !$omp end target
  !$omp target update from(counter)
  print '(i4)', counter
end program
