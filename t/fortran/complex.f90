! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Functions with complex results in device code, and powers of complex numbers:
! flang 22 refuses both for a GPU.
module numbers
    implicit none
    type holder
        complex(8) :: a
    contains
        procedure :: twice
    end type
contains
    complex(8) function twice(h)
        class(holder), intent(in) :: h
        !$omp declare target
        twice = h%a * 2
    end function
    elemental complex function rotated(z)
        complex, intent(in) :: z
        !$omp declare target
        rotated = z * (0., 1.)
        if (real(z) > 3) return
        rotated = rotated + 1
    end function
    recursive function product_of(z, n) result(r)
        complex, intent(in) :: z
        integer, value :: n
        complex :: r
        !$omp declare target
        r = 1
        if (n > 0) r = z * product_of(z, n - 1)
    end function
    complex function on_the_host(z)
        complex, intent(in) :: z
        on_the_host = z**z
    end function
end module

program complex_numbers
    use numbers
    implicit none
    complex :: z(4) = [(1., 2.), (4., -1.), (-.5, .25), (2., 0.)], p(4, 5)
    complex(8) :: w = (.5d0, -1.5d0), q(6)
    integer :: n = -3, i
    type(holder) :: h = holder((3d0, 4d0))
    !$omp target teams distribute parallel do map(to: z, n) map(from: p)
    do i = 1, 4
        p(i, :) = [z(i)**n, z(i)**i, z(i)**z(1), rotated(z(i)), &
                   product_of(z(i), i)]
    end do
    !$omp target map(to: h, w, z, n) map(from: q)
    q = [w**n, w**5_8, w**w, w**.5d0, h%twice(), inner(w)]
    !$omp end target
    print '(4(2f9.3, 2x))', p, q, on_the_host(z(4))
contains
    complex(8) function inner(z)
        complex(8), intent(in) :: z
        !$omp declare target
        inner = conjg(z)
    end function
end program
