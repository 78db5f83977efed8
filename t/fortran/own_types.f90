! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Types with components of their own type, or of one that has such: their tables
! name each other. A list, a tree, and copies of both kinds.
module trees
    implicit none
    type node
        integer :: v = 0
        type(node), pointer :: next => null()
    end type
    type tree
        integer :: v = 1
        type(tree), allocatable :: l, r
    end type
    type a
        integer :: x = 5
        type(b), allocatable :: bs(:)
    end type
    type b
        integer :: y = 6
        type(a), allocatable :: as(:)
    end type
contains
    recursive subroutine insert(t, v)
        !$omp declare target
        type(tree), allocatable, intent(inout) :: t
        integer, intent(in) :: v
        if (.not. allocated(t)) then
            allocate(t)
            t%v = v
        else if (v < t%v) then
            call insert(t%l, v)
        else
            call insert(t%r, v)
        end if
    end subroutine
    recursive integer function total(t, d) result(s)
        !$omp declare target
        type(tree), intent(in) :: t
        integer, intent(in) :: d
        s = t%v*d
        if (allocated(t%l)) s = s + total(t%l, d + 1)
        if (allocated(t%r)) s = s + total(t%r, d + 1)
    end function
end module
program own_types
    use trees
    implicit none
    integer :: list
    integer :: s(6)
    !$omp target map(from: s)
    block
        type(tree), allocatable :: t, u
        type(a) :: x, y
        integer :: k
        do k = 1, 20
            call insert(t, mod(k*7, 23))
        end do
        s(1) = total(t, 1)
        allocate(u, source=t)
        call insert(u, 100)
        s(2) = total(u, 1)
        deallocate(t)
        s(3) = merge(1, 0, allocated(t))
        t = u
        s(4) = total(t, 2)
        allocate(x%bs(3))
        allocate(x%bs(2)%as(2))
        allocate(x%bs(2)%as(1)%bs(4))
        y = x
        y%bs(2)%as(1)%bs(3)%y = 77
        s(5) = y%bs(2)%as(1)%bs(3)%y + x%bs(2)%as(1)%bs(3)%y + y%bs(2)%as(2)%x
        s(6) = size(y%bs(2)%as(1)%bs)
    end block
    !$omp end target
    print '(6i6)', s
    !$omp target map(from: list)
    block
        type(node), pointer :: head, c
        integer :: k
        nullify(head)
        do k = 1, 5
            allocate(c)
            c%v = k
            c%next => head
            head => c
        end do
        list = 0
        do while (associated(head))
            list = list*10 + head%v
            c => head%next
            deallocate(head)
            head => c
        end do
    end block
    !$omp end target
    print '(i6)', list
end program
