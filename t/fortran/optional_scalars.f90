! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Optional scalars that a region has without a clause, present and absent. flang
! 22 passes their values, which may not be there, and present(x) is true.
module work
  implicit none
  type pair
    integer :: i, j
  end type
contains
  subroutine scalars(i, r, l, z, v, p)
    integer, optional :: i
    real(8), optional :: r
    logical, optional :: l
    complex, optional :: z
    integer, optional, value :: v
    type(pair), optional :: p
    integer :: n, k
    n = 0
    !$omp target map(tofrom: n)
    if (present(i)) then; n = n + i; i = 9; end if
    if (present(r)) n = n + 10 * int(r)
    if (present(v)) n = n + 100 * v
    if (present(p)) n = n + 10000 * p%j
    !$omp end target
    !$omp target data map(to: i)
    !$omp target teams distribute parallel do reduction(+: n) map(to: r)
    do k = 1, 2
      if (present(l)) then
        if (l) n = n + 100000
      end if
      if (present(z)) n = n + 1000000 * int(aimag(z))
      if (present(i)) n = n + i
      if (present(r)) n = n + int(r)
    end do
    !$omp end target data
    print '(i0)', n
    if (present(i)) print '(i0)', i
  end subroutine
end module
program optional_scalars
  use work
  implicit none
  integer :: a
  a = 3
  call scalars(1, 2d0, .true., (3., 4.), 5, pair(6, 7))
  call scalars
  call scalars(i=a, l=.true.)
  call scalars(r=2d0, z=(0., 1.), v=3)
  call scalars(p=pair(8, 9))
end program
