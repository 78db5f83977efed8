! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Regions with dummies of assumed shape that call an internal procedure, whose
! host has variables of many kinds.
program host_variables
  implicit none
  real, allocatable :: a(:)
  character(5) :: name = 'hello'
  character(:), allocatable :: t
  complex :: z = (1., 2.)
  integer :: k
  class(*), allocatable :: u
  allocate(a(4), source=2.)
  t = 'xyz'
  k = 3
  call outer(a, name)
contains
  subroutine outer(x, c)
    real, intent(inout) :: x(:)
    character(*), intent(in) :: c
    integer :: r
    print '(a, 4f4.0, a, a, 2f4.0, i3)', c, x, name, t, z, k
    if (allocated(u)) print *, size(a)
    !$omp target teams distribute parallel do map(tofrom: x)
    do r = 1, size(x)
      x(r) = triple(x(r)) + r
    end do
    !$omp target map(from: r)
    r = nint(triple(2.) + triple(triple(1.)))
    !$omp end target
    print '(4f5.0, i4)', a, r
  end subroutine
  real function triple(v)
    !$omp declare target
    real, intent(in) :: v
    triple = 3*v
  end function
end program
