! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! REDUCE by functions of the program.
module operations
    implicit none
contains
    pure integer function add(p, q)
        !$omp declare target
        integer, intent(in) :: p, q
        add = p + q
    end function
    pure real(8) function larger(p, q)
        !$omp declare target
        real(8), intent(in) :: p, q
        larger = max(p, q)
    end function
    pure integer(8) function digits_of(p, q)
        !$omp declare target
        integer(8), value :: p, q
        digits_of = 10*p + q
    end function
end module
program user_reduce
    use operations
    implicit none
    integer :: a(6) = [3, 1, 4, 1, 5, 9], m(2, 3), r(3), v(3), w(2), i
    integer(8) :: b(4) = [1_8, 2_8, 3_8, 4_8], d(2)
    real(8) :: x(5) = [2.5d0, -1.d0, 7.25d0, 3.d0, 0.d0], y, z(5)
    logical :: l(6) = [.true., .false., .true., .true., .false., .true.]
    m = reshape([(i*i, i=1, 6)], [2, 3])
    !$omp target map(to: a, m, b, x, l) map(from: r, v, w, d, y, z)
    r(1) = reduce(a, add)
    r(2) = reduce(a, add, mask=l)
    r(3) = reduce(a, add, mask=a > 100, identity=-7)
    v = reduce(m, add, dim=1)
    w = reduce(m, add, dim=2, mask=m > 4, identity=0)
    d(1) = reduce(b, digits_of)
    d(2) = reduce(b(4:1:-1), digits_of, ordered=.true.)
    y = reduce(x, larger)
    z = reduce(spread(x, 2, 2), larger, dim=2)
    !$omp end target
    print '(3i5, 3i5, 2i5, 2i6, f6.2, 5f6.2)', r, v, w, d, y, z
end program
