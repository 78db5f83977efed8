! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! A function that calls itself around a parallel region. openmp-opt of LLVM 22
! makes invalid IR of it, in which a sum comes before its summand is loaded.
module functions
  implicit none
contains
  recursive function depth(n) result(s)
    !$omp declare target
    integer, value :: n
    integer :: a(5), s, i
    s = 0
    if (n == 0) return
    a = n
    !$omp parallel do reduction(+: s)
    do i = 1, n
      s = s + a(i)
    end do
    s = s + depth(n - 1)
  end function
end module
program recursive
  use functions
  implicit none
  integer :: s
  !$omp target map(from: s)
  s = depth(5)
  !$omp end target
  print '(i0)', s
end program
