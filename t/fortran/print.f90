! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! List-directed output of regions: items of all types, long lines and texts.
program print_in_regions
    implicit none
    integer :: i(30) = 12345, j(3) = [0, -7, 2147483647], k
    integer(8) :: big = -12345678901_8
    real :: x(12) = [0., -0., 1., 1.5, .1, 123456.7, 1e6, 9999999., 1e7, &
                     1.2345678e-3, 1e30, -2.5e-20]
    double precision :: y(8) = [0d0, 1d15, 1d14, .1d0, 1d-3, 123456789.125d0, &
                                1d300, 12345678901234567d0]
    complex :: z = (1.5, -2.)
    complex(8) :: w(2) = (1d20, .25d0)
    logical :: l(2) = [.true., .false.]
    character(100) :: c
    c = repeat('abcde', 20)
    !$omp target map(to: i, j, big, x, y, z, w, l, c)
    print *, i
    print *, 'a', 'b', j(2), 'c', 2, l, 'd'
    print *, x
    print *, y, tiny(y)
    print *, z, w
    print *, c
    print *, 'x = ', c(1:77), 5
    write (*, *) big, j, int(j(2), 1), int(j(2), 2), l(1), x(4), y(4), w(1)
    write (*, *) logical(l, 1), logical(l, 2), logical(l, 8), j(1:2) > 0
    print *
    print *, ''
    print *, '', 5
    print *, c(1:76), 5
    print *, c(1:77), 5
    print *, c(1:77), c(1:5)
    x(1) = x(1) / x(2)
    x(2) = x(3) / x(2)
    print *, x(1:3), x(2) * x(12), c(1:0)
    !$omp end target
    !$omp target teams distribute map(to: j)
    do k = 1, 2
        print *, 'team', j(1) + 5
    end do
end program
