! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! FORALL and WHERE whose values wait for others, and descriptors like others.
program forall_values
    implicit none
    type t
        integer :: k = 0
        character(4) :: s = '----'
    end type
    integer :: a(8) = 0, b(8) = 0, idx(8) = 0, i, j
    real :: m(4, 4)
    type(t) :: x(6)
    character(5) :: w(6)
    integer, pointer :: q(:)
    integer, target :: st(6)
    a = [(i, i = 1, 8)]
    idx = [3, 1, 4, 1, 5, 2, 6, 7]
    do i = 1, 6
        x(i) = t(i, 'abcd')
        write (w(i), '(i5)') i*111
    end do
    m = reshape([(real(i), i = 1, 16)], [4, 4])
    st = [6, 5, 4, 3, 2, 1]
    !$omp target map(tofrom: a, b, m, x, w, st) map(to: idx)
    forall (i = 2:7)
        a(i) = a(i - 1) + a(i + 1)
        b(i) = a(idx(i))
    end forall
    forall (i = 1:4, j = 1:4, i > j) m(i, j) = m(j, i) * 100
    forall (i = 1:3)
        m(i, :) = m(i + 1, 4:1:-1)
    end forall
    forall (i = 1:5) x(i) = x(i + 1)
    forall (i = 2:6) w(i)(1:2) = w(i - 1)(4:5)
    where (a(idx) > 5)
        a(1:8) = -a(8:1:-1)
    elsewhere
        a = a(idx)
    end where
    forall (i = 1:6) st(st(i)) = i
    !$omp end target
    print '(8i5)', a, b(2:7)
    print '(4f8.1)', m
    print '(6(i3, a5))', x
    print '(6a6)', w
    print '(6i4)', st
    !$omp target map(from: j) map(to: m)
    j = ranked(m) + 1000*ranked(m(1:2, 3)) + 1000000*ranked(m(1, 1))
    !$omp end target
    print '(i9)', j
contains
    integer function ranked(a)
        !$omp declare target
        real, intent(in) :: a(..)
        ranked = rank(a)*100 + size(a)
    end function
end program
