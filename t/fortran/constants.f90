! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Constant arrays with variable subscripts, and internal procedures, in target
! regions: flang 22 brings them into none.
module lattice
    implicit none
    real(8), parameter :: w(0:4) = [4.d0/8, 1.d0/8, 1.d0/8, 1.d0/8, 1.d0/8]
    integer, parameter :: cx(0:4) = [0, 1, 0, -1, 0]
    character(3), parameter :: names(3) = ['one', 'two', 'thr']
    type t
        integer :: a
        real :: b(2)
    end type
    type(t), parameter :: ts(2) = [t(1, [2., 3.]), t(4, [5., 6.])]
    complex, parameter :: z(2) = [(1., 2.), (3., 4.)]
contains
    subroutine step(f, n)
        integer, intent(in) :: n
        real(8), intent(inout) :: f(0:4, n)
        integer :: i, k
        real(8) :: rho, u
        real(8), parameter :: shift(2, 2) = &
            reshape([1.d0, 2.d0, 3.d0, 4.d0], [2, 2])
        !$omp target teams distribute parallel do private(rho, u, k)
        do i = 1, n
            rho = 0
            u = 0
            do k = 0, 4
                rho = rho + f(k, i)
                u = u + cx(k)*f(k, i)
            end do
            do k = 0, 4
                f(k, i) = w(k)*rho*(1 + 3*cx(k)*u) &
                          + shift(mod(k, 2) + 1, mod(i, 2) + 1)
            end do
        end do
    end subroutine
end module
program constants
    use lattice
    implicit none
    real(8) :: f(0:4, 6)
    integer :: i, k, r(3), total, hidden
    character(3) :: s(3)
    complex :: c(2)
    f = reshape([(i, i=1, 30)], [5, 6])
    call step(f, 6)
    print '(5f10.3)', f
    !$omp target map(from: s, r, c)
    do i = 1, 3
        s(i) = names(4 - i)
        r(i) = ts(mod(i, 2) + 1)%a + nint(ts(1)%b(mod(i, 2) + 1))
        if (i < 3) c(i) = z(3 - i)*(0., 1.)
    end do
    !$omp end target
    print '(3a4, 3i4, 4f6.1)', s, r, c
    total = 0
    hidden = 7
    !$omp target parallel do reduction(+: total)
    do i = 1, 3
        total = total + sum(cx(0:i)) + square(i)
    end do
    print '(2i5)', total, through(3)
contains
    integer function square(k)
        !$omp declare target
        integer, intent(in) :: k
        square = k*k
    end function
    integer function through(n)
        integer, intent(in) :: n
        integer :: found
        !$omp target map(from: found)
        found = square(n) + cx(n)
        !$omp end target
        through = found + hidden
    end function
end program
