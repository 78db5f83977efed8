! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Optional dummies in target regions, present and absent. flang 22 maps a
! descriptor of an absent one that it has not filled, and present(x) is true in
! the region.
module work
  implicit none
  type pair
    integer :: i, j
  end type
contains
  subroutine clause(a, b, c, d, e, f, g, h)
    integer, optional :: a, b(4), c(:)
    integer, optional, allocatable :: d(:), f
    integer, optional, pointer :: e(:), g
    type(pair), optional :: h(:)
    integer :: n
    n = 0
    !$omp target map(tofrom: a, b, c, d, e, f, g, h, n)
    if (present(a)) then; n = n + 1; a = a + 1; end if
    if (present(b)) then; n = n + 10; b(2) = b(2) + 1; end if
    if (present(c)) then; n = n + 100; c(2) = c(2) + 1; end if
    if (present(d)) then; n = n + 1000; d(2) = d(2) + 1; end if
    if (present(e)) then; n = n + 10000; e(2) = e(2) + 1; end if
    if (present(f)) then; n = n + 100000; f = f + 1; end if
    if (present(g)) then; n = n + 1000000; g = g + 1; end if
    if (present(h)) then; n = n + 10000000; h(2)%j = h(2)%j + 1; end if
    !$omp end target
    print '(i0)', n
  end subroutine
  subroutine none(c, d, yes)     ! no clause, in two ways
    integer, optional :: c(:)
    integer, optional, allocatable :: d(:)
    logical :: yes
    integer :: n
    n = 0
    !$omp target map(tofrom: n) if(yes)
    if (present(c)) then; n = n + 1; c(1) = c(1) + 1; end if
    if (present(d)) n = n + 10
    !$omp end target
    print '(i0)', n
  end subroutine
  subroutine held(c, d)
    integer, optional :: c(:)
    integer, optional, allocatable :: d(:)
    integer :: i, k, n
    do k = 1, 2
      n = 0
      !$omp target data map(tofrom: c) map(to: d)
      !$omp target teams distribute parallel do reduction(+: n)
      do i = 1, 3
        if (present(c)) then; n = n + 1; c(i) = c(i) + 1; end if
        if (present(d)) n = n + d(i)
      end do
      !$omp target update from(c)
      !$omp end target data
      !$omp target enter data map(to: c)
      !$omp target exit data map(from: c)
      print '(i0)', n
    end do
  end subroutine
  subroutine outer(c)
    integer, optional :: c(:)
    call inner
  contains
    subroutine inner
      integer :: n
      n = 0
      !$omp target map(tofrom: c, n)
      if (present(c)) then; n = 1; c(1) = 7; end if
      !$omp end target
      print '(i0)', n
    end subroutine
  end subroutine
end module
program optional
  use work
  implicit none
  integer :: a, b(4), c(4)
  integer, allocatable :: d(:), f
  integer, pointer :: e(:), g
  type(pair) :: h(2)
  allocate (d(3), e(3), f, g)
  a = 1; b = 2; c = 3; d = 4; e = 5; f = 6; g = 7; h = pair(8, 9)
  call clause(a, b, c, d, e, f, g, h)
  call clause
  call clause(a=a, c=c, e=e, g=g)
  call clause(b=b, d=d, f=f, h=h)
  print '(24i3)', a, b, c, d, e, f, g, h
  call none(c, d, .true.)
  call none(c, d, .false.)
  call none(yes=.true.)
  call none(yes=.false.)
  call held(c, d)
  call held(d=d)
  call held(c=c)
  call held
  call outer(c)
  call outer
  print '(4i3)', c
end program
