! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Derived types in a region: first values of components, allocatable components
! within others, and polymorphic objects; TRANSFER; values and places of
! characters.
module shapes
    implicit none
    type leaf
        real, allocatable :: v(:)
        integer :: mark = 3
    end type
    type tree
        type(leaf), allocatable :: leaves(:)
        type(leaf) :: own(2)
        real, pointer :: link(:) => null()
        character(3) :: name = 'oak'
    end type
    type, extends(tree) :: tall
        real :: height = 20
        class(*), allocatable :: any
    end type
contains
    integer function kind_of(t) result(k)
        class(*) :: t
        !$omp declare target
        k = 0
        select type (t)
        type is (tall)
            k = 2
        class is (tree)
            k = 1
        type is (real)
            k = 4
        type is (integer)
            k = 5
        end select
    end function
end module

program derived
    use shapes
    implicit none
    real :: r(12) = 0
    integer :: n = 2, bits(4), k(9)
    character(5) :: words(4) = ['pear ', 'apple', 'quinc', 'fig  '], w(3)
    !$omp target map(to: n, words) map(from: r, bits, k, w)
    r = 0
    block
        type(tree) :: a, b
        type(tall) :: c(2)
        class(tree), allocatable :: d, e
        class(*), allocatable :: u
        allocate (a%leaves(n))
        allocate (a%leaves(1)%v(3), source=5.)
        allocate (a%leaves(2)%v(n), source=7.)
        allocate (a%own(2)%v(4), source=2.)
        b = a
        a%leaves(1)%v = 0
        a%own(2)%v = 0
        r(1) = sum(b%leaves(1)%v) + sum(b%leaves(2)%v)
        r(2) = sum(b%own(2)%v) + a%own(1)%mark + b%leaves(2)%mark
        if (.not. associated(b%link) .and. .not. allocated(b%own(1)%v)) r(3) = 1
        c(2)%tree = b
        allocate (c(1)%any, source=n)
        allocate (d, source=c(1))
        allocate (tree :: e)
        r(4) = sum(c(2)%leaves(1)%v) + c(1)%height
        k(1:4) = [kind_of(a), kind_of(c(1)), kind_of(d), kind_of(e)]
        e = c(2)
        r(5) = sum(e%own(2)%v)
        k(5) = kind_of(e)
        allocate (u, source=r(1))
        k(6) = kind_of(u)
        deallocate (d)
        allocate (tall :: d)
        k(7:8) = [kind_of(d), merge(1, 0, same_type_as(d, e))]
        k(9) = ichar(e%name(1:1))
        call move_alloc(e, d)
        r(6) = sum(d%leaves(1)%v)
    end block
    bits(1:2) = transfer([1., 2.], bits)
    bits(3:4) = transfer(words(1:n)(1:4), 1, n)
    r(7:8) = transfer(bits(1:2), r, n)
    r(9:11) = [findloc(words, 'fig', 1), maxloc(words, 1), &
               findloc(words(1:n), 'pear', dim=1, back=.true.)]
    r(12) = sum(minloc(words(1:n)))
    w = [maxval(words), minval(words, words > 'b'), max(words(2), words(n))]
    flush (6)
    if (n > 2) call exit(n)
    !$omp end target
    print '(6f6.1)', r
    print '(4z9.8, 9i4, 3(1x, a))', bits, k, w
end program
