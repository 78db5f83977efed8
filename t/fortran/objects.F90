! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Objects of which a target region names an allocatable component and others: in
! its statements, or only in the bounds of its loops. flang 22 maps the
! allocatable one alone. With COMMON_BLOCK the device half is made by way of
! HLFIR, and with CONSTANTS both halves are repaired.
module grids
  implicit none
  type dims
    integer :: nx, ny, off(2), chunk
  end type
  type grid
    type(dims) :: d
    real(8) :: scale
    real(8), allocatable :: u(:,:)
    real(8) :: w(3)
    real(8), pointer :: v(:,:)
    type(dims), pointer :: p
    integer :: hits
  end type
  type, extends(grid) :: wide
    integer :: more
    real(8), allocatable :: z(:)
  end type
  type outer
    integer :: first
    type(grid) :: g
    integer :: last
  end type
  type(grid) :: shared
contains
  subroutine show(what, values)
    character(*), intent(in) :: what
    real(8), intent(in) :: values(:)
    print '(a, *(1x, i0))', what, nint(values)
  end subroutine
  subroutine fill(g)
    class(grid), intent(inout) :: g
    g%d%nx = 4
    g%d%ny = 3
    g%d%off = [2, 1]
    g%d%chunk = 2
    g%scale = 2
    g%w = [3, 4, 5]
    g%hits = 0
    if (.not. allocated(g%u)) allocate(g%u(4, 3))
    allocate(g%v(4, 3), g%p)
    g%u = 1
    g%v = 1
    g%p = g%d
  end subroutine
  subroutine bounds(g)
    type(grid), intent(inout) :: g
    integer :: i, j
    call fill(g)
    !$omp target teams distribute parallel do collapse(2) &
    !$omp& schedule(static, g%d%chunk)
    do j = 1, g%d%ny
      do i = g%d%off(1), g%d%nx - 1
        g%u(i, j) = g%u(i, j) + i
      end do
    end do
    call show('bounds', [sum(g%u)])
  end subroutine
  subroutine scalars(g)
    type(grid), intent(inout) :: g
    integer :: i, j
#ifdef COMMON_BLOCK
    real(8) :: block
    common /blk/ block
#endif
#ifdef CONSTANTS
    real(8), parameter :: zeros(4) = [0, 0, 0, 0]
#else
    real(8) :: zeros(4)
    zeros = 0
#endif
#ifdef COMMON_BLOCK
    block = 0
#endif
    call fill(g)
    !$omp target teams distribute parallel do collapse(2)
    do j = 1, 3
      do i = 1, 4
        g%u(i, j) = g%u(i, j) * g%scale + g%w(j) + zeros(i)
      end do
    end do
    call show('scalars', [sum(g%u)])
  end subroutine
  subroutine writes(g)
    type(grid), intent(inout) :: g
    call fill(g)
    !$omp target
    g%u(2, 2) = 7
    g%hits = g%hits + 5
    g%w(2) = 9
    !$omp end target
    call show('writes', [sum(g%u), real(g%hits, 8), g%w])
  end subroutine
  subroutine poly(self)
    class(grid), intent(inout) :: self
    integer :: i
    call fill(self)
    !$omp target teams distribute parallel do
    do i = 1, self%d%nx
      self%u(i, 1) = self%u(i, 1) * self%scale + i
    end do
    call show('poly', [sum(self%u)])
  end subroutine
  subroutine ptr(q)
    type(grid), pointer :: q
    integer :: i
    call fill(q)
    !$omp target teams distribute parallel do
    do i = 1, q%d%nx
      q%u(i, 1) = q%u(i, 1) * q%scale + i
    end do
    call show('ptr', [sum(q%u)])
  end subroutine
  subroutine viaptr(q)
    type(grid), intent(inout) :: q
    integer :: i
    call fill(q)
    !$omp target teams distribute parallel do
    do i = 1, q%p%nx
      q%u(i, 1) = q%u(i, 1) * q%scale + q%p%off(1)
    end do
    call show('viaptr', [sum(q%u)])
  end subroutine
  subroutine pointers(q)
    type(grid), intent(inout) :: q
    integer :: i
    call fill(q)
    !$omp target teams distribute parallel do
    do i = 1, q%d%nx
      q%v(i, 1) = q%v(i, 1) * q%scale + q%u(i, 2)
    end do
    call show('pointers', [sum(q%v)])
  end subroutine
  subroutine named(q)
    type(grid), intent(inout) :: q
    integer :: i, k
    call fill(q)
    !$omp target teams distribute map(tofrom: q%u)
    do i = 1, q%d%nx
      !$omp parallel do
      do k = 1, q%d%ny
        q%u(i, k) = q%u(i, k) * q%scale + i
      end do
    end do
    call show('named', [sum(q%u)])
  end subroutine
  subroutine nested(o)
    type(outer), intent(inout) :: o
    integer :: i
    call fill(o%g)
    o%first = 10
    o%last = 20
    !$omp target teams distribute parallel do
    do i = 1, o%g%d%nx
      o%g%u(i, 1) = o%g%u(i, 1) * o%g%scale + o%first + o%last
    end do
    call show('nested', [sum(o%g%u)])
  end subroutine
  subroutine wider(x)
    type(wide), intent(inout) :: x
    integer :: i
    call fill(x)
    x%more = 3
    if (.not. allocated(x%z)) allocate(x%z(4))
    x%z = 1
    !$omp target teams distribute parallel do
    do i = 1, x%d%nx
      x%u(i, 1) = x%u(i, 1) * x%scale + x%more
      x%z(i) = x%z(i) + x%hits + x%w(1)
    end do
    call show('wider', [sum(x%u), sum(x%z)])
  end subroutine
  subroutine array(q)
    type(grid), intent(inout) :: q(3)
    integer :: i
    call fill(q(2))
    !$omp target teams distribute parallel do
    do i = 1, q(2)%d%nx
      q(2)%u(i, 1) = q(2)%u(i, 1) * q(2)%scale + i
    end do
    call show('array', [sum(q(2)%u)])
  end subroutine
  subroutine of_module
    integer :: i
    call fill(shared)
    !$omp target teams distribute parallel do
    do i = 1, shared%d%nx
      shared%u(i, 1) = shared%u(i, 1) * shared%scale + i
    end do
    call show('module', [sum(shared%u)])
  end subroutine
  subroutine passed(g)
    type(grid), intent(inout) :: g
    integer :: i
    call fill(g)
    !$omp target teams distribute parallel do
    do i = 1, 4
      g%u(i, 1) = g%u(i, 1) + area(g%d)
    end do
    call show('passed', [sum(g%u)])
  end subroutine
  integer function area(d)
    !$omp declare target
    type(dims), intent(in) :: d
    area = d%nx * d%ny
  end function
  subroutine concurrently(g)
    type(grid), intent(inout) :: g
    integer :: i
    call fill(g)
    do concurrent (i = 1:g%d%nx)
      g%u(i, 2) = g%u(i, 2) * g%scale + g%w(2)
    end do
    call show('concurrently', [sum(g%u)])
  end subroutine
  subroutine held(g)
    type(grid), intent(inout) :: g
    integer :: i
    call fill(g)
    !$omp target enter data map(to: g) map(to: g%u)
    g%scale = 100
    !$omp target teams distribute parallel do
    do i = 1, g%d%nx
      g%u(i, 1) = g%u(i, 1) * g%scale + i
    end do
    !$omp target exit data map(from: g%u) map(release: g)
    call show('held', [sum(g%u)])
  end subroutine
end module
program objects
  use grids
  implicit none
  type(grid), target :: g, q(3)
  type(wide) :: x
  type(outer) :: o
  type(grid), pointer :: r
  call bounds(g)
  call scalars(g)
  call writes(g)
  call poly(g)
  call viaptr(g)
  call pointers(g)
  call named(g)
  call nested(o)
  call wider(x)
  call array(q)
  call of_module
  call passed(g)
  call concurrently(g)
  call held(g)
  r => g
  call ptr(r)
end program
