! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Local allocatable variables and pointers of a region, arrays of unknown shapes
! that are assigned, passed and constructed, and types with such components.
module types
    implicit none
    type point
        integer :: a
        real :: b(3)
    end type
    type list
        integer :: length = 4
        real, allocatable :: x(:)
    end type
contains
    subroutine double_all(x)
        real :: x(:)
        !$omp declare target
        x = x * 2
    end subroutine
    subroutine add_in_row(x, n)
        integer :: n
        real :: x(n)
        !$omp declare target
        x = x + n
    end subroutine
    subroutine look(x, d, r)
        real :: x(2:, :)
        integer :: d, r(9)
        !$omp declare target
        r(1) = size(x)
        r(2) = size(x, d)
        r(3:4) = shape(x)
        r(5:6) = lbound(x)
        r(7) = ubound(x, d)
        r(8) = lbound(x, d)
        r(9) = merge(1, 0, is_contiguous(x))
    end subroutine
end module
program allocate_in_regions
    use types
    implicit none
    real :: r(6) = [1, 2, 3, 4, 5, 6], s(6), t(6), u(4, 6), v(10), w(10)
    integer :: e(6), shapes(9, 2), n = 3, d = 2, k
    logical :: is(6)
    character(20) :: why
    character(6) :: words(3)
    type(point) :: points(3)
    v = [(k, k = 1, 10)]
    w = v
    u = 1
    why = '-'
    points%a = [7, 8, 9]
    do k = 1, 3
        points(k)%b = k
    end do
    !$omp target map(to: r, n) map(from: s, t, e, is, why, words)
    block
        real, allocatable :: x(:), y(:)
        character(:), allocatable :: c
        real, pointer :: p(:), q(:)
        allocate (x(n:2 * n), stat=e(1))
        allocate (x(n), stat=e(2), errmsg=why)
        is(1) = allocated(x)
        x = n
        e(3:4) = [lbound(x, 1), ubound(x, 1)]
        deallocate (x)
        deallocate (x, stat=e(5))
        x = r(2:) + 1
        x = [x, x, 7.]
        e(6) = size(x)
        s = x(4:9)
        allocate (y, source=x(n:8))
        call move_alloc(y, x)
        is(2) = allocated(y)
        t = x
        x = pack(t, t > 4)
        is(3) = size(x) > 1
        c = 'ab'
        c = c // 'cde'
        words(1) = c
        words(2:3) = c(1:n)
        allocate (p(n))
        p = 4
        q => p
        is(4) = associated(q, p)
        is(5) = associated(p, q(1:2))
        t(1:n) = q
        deallocate (p)
        is(6) = associated(p)
    end block
    !$omp end target
    print '(6f5.1)', s, t
    print '(6i4, 6l2)', e, is
    print '(4("<", a, ">"))', trim(why(1:8)), words
    !$omp target map(tofrom: v, w, u, n) map(from: shapes) map(to: d)
    call double_all(v(1:10:n))
    call add_in_row(v(2:10:n), n)
    call add_in_row(v(1:10), 10)
    w(n - 1:10) = w(n - 2:9)
    w(1:10) = w(10:1:-1)
    call look(u(1:4:n, 2:5), d, shapes(:, 1))
    call look(u, d - 1, shapes(:, 2))
    w(1:n) = [(w(k) * 2, k=1, n)]
    !$omp end target
    print '(10f5.1)', v, w
    print '(9i3)', shapes
    !$omp target map(tofrom: points, e)
    block
        type(point), allocatable :: q(:)
        type(list) :: one, other
        allocate (q(2), source=points(1:2))
        q = points(3:1:-1)
        points(1:2) = q(2:3)
        allocate (one%x(5))
        one%x = 2
        other = one
        one%x = 3
        one = other
        other%x(1) = 9
        one%length = size(other%x)
        e(1) = int(sum(one%x)) + one%length + int(sum(other%x))
    end block
    !$omp end target
    print '(3(i3, 3f5.1))', points
    print '(i4)', e(1)
end program
