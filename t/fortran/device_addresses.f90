! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Arrays at their device addresses, by use_device_addr, use_device_ptr and
! has_device_addr: allocatables, pointers, dummies of assumed shape. flang 22
! gives the region of one that has a descriptor no descriptor, or the host's
! address, and leaves out the statements where `if` is false.
module work
  use iso_c_binding
  implicit none
contains
  subroutine twice(x, n)         ! x is a device address
    integer, intent(in) :: n
    real(8), intent(inout), target :: x(n)
    integer :: i
    !$omp target teams distribute parallel do has_device_addr(x)
    do i = 1, n
      x(i) = 2 * x(i)
    end do
  end subroutine
  subroutine small(s, x, y, n, k) ! s and x are device addresses
    integer :: s, n, k, x(n)
    integer(1) :: y(n)
    !$omp target has_device_addr(s, x(k:)) map(y(k:n))
    s = s + k
    x(k) = s + y(k)
    y(n) = 9
    !$omp end target
    !$omp target teams distribute parallel do has_device_addr(x) nowait
    do k = 1, n - 1
      x(k) = x(k) + 1
    end do
    !$omp taskwait
  end subroutine
  subroutine by_pointer(p, n)
    integer, intent(in) :: n
    type(c_ptr) :: p
    real(8), pointer :: x(:)
    integer :: i
    !$omp target is_device_ptr(p)
    call c_f_pointer(p, x, [n])
    do i = 1, n
      x(i) = x(i) + 1
    end do
    !$omp end target
  end subroutine
  subroutine shaped(c)
    real(8), intent(inout), target :: c(:)
    !$omp target data map(tofrom: c) use_device_addr(c)
    call twice(c, size(c))
    !$omp end target data
  end subroutine
  subroutine held(c)
    real(8), intent(inout), target :: c(0:)
    !$omp target data use_device_addr(c)
    if (lbound(c, 1) /= 0 .or. size(c) /= 10) stop 1
    call twice(c(0:9), size(c))
    call twice(c(5:6), 2)
    !$omp end target data
  end subroutine
  subroutine dummy(c)
    real(8), allocatable, target, intent(inout) :: c(:)
    !$omp target data use_device_addr(c)
    call twice(c, size(c))
    !$omp end target data
  end subroutine
  subroutine planes(c, d)
    real(8), intent(inout), target :: c(:, :), d(:)
    !$omp target data use_device_addr(c, d)
    call twice(c(:, 2), size(c, 1))
    call twice(d, size(d))
    !$omp end target data
  end subroutine
  subroutine explicit(c, n)
    integer :: n
    real(8), intent(inout), target :: c(n)
    !$omp target data map(tofrom: c) use_device_addr(c)
    call twice(c, n)
    !$omp end target data
  end subroutine
  subroutine inner(c)
    real(8), intent(inout), target :: c(:)
    integer :: i
    !$omp target data use_device_addr(c)
    !$omp target teams distribute parallel do has_device_addr(c)
    do i = 1, size(c)
      c(i) = c(i) + i
    end do
    !$omp end target data
  end subroutine
  subroutine some(c, yes)
    real(8), intent(inout), target :: c(:)
    logical :: yes
    !$omp target data if(yes) map(tofrom: c) use_device_addr(c)
    if (yes) then
      call twice(c, size(c))
    else
      c = -c
    end if
    !$omp end target data
  end subroutine
  subroutine show(what, x)
    character(*) :: what
    real(8), intent(in) :: x(:)
    print '(a, *(1x, i0))', what, nint(x)
  end subroutine
end module
program device_addresses
  use work
  implicit none
  real(8), allocatable, target :: c(:), m(:, :)
  real(8), pointer :: q(:)
  real(8), target :: s(4)
  integer :: i, one, four(4)
  integer(1) :: bytes(4)
  allocate (c(10), m(3, 2))
  c = [(i, i = 1, 10)]
  call shaped(c); call show('shaped', c)
  call shaped(c(3:5)); call show('section', c)
  !$omp target enter data map(to: c)
  call held(c)
  !$omp target update from(c)
  call show('held', c)
  call dummy(c)
  !$omp target update from(c)
  call show('dummy', c)
  !$omp target data use_device_addr(c)
  call twice(c, 3)
  !$omp end target data
  !$omp target update from(c)
  call show('main', c)
  !$omp target data use_device_addr(c)
  !$omp target has_device_addr(c)
  c(4) = sum(c(:3))
  !$omp end target
  !$omp end target data
  !$omp target update from(c)
  call show('allocatable', c)
  !$omp target data use_device_ptr(c)
  call by_pointer(c_loc(c), 2)
  !$omp end target data
  !$omp target update from(c)
  call show('pointer', c)
  m = 1
  !$omp target data map(tofrom: m)
  call planes(m, c)
  !$omp end target data
  !$omp target exit data map(from: c)
  call show('planes', [m, c])
  if (command_argument_count() == 0) then
    !$omp target data map(tofrom: c) use_device_addr(c)
    call twice(c, 3)
    !$omp end target data
  end if
  call show('mapped', c)
  s = 1
  call explicit(s, 4); call show('explicit', s)
  allocate (q(3)); q = 5
  !$omp target data map(tofrom: q) 
  !$omp target data use_device_addr(q)
  call twice(q, 3)
  !$omp end target data
  !$omp end target data
  call show('target', q)
  !$omp target data map(tofrom: q)
  call inner(q)
  !$omp end target data
  call show('inner', q)
  one = 1; four = 4; bytes = 2
  !$omp target data map(one, four) use_device_addr(one, four)
  call small(one, four, bytes, 4, 3)
  !$omp end target data
  call show('small', real([one, four, int(bytes)], 8))
  call some(q, .true.); call show('some', q)
  call some(q, .false.); call show('none', q)
end program
