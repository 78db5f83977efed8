! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
program erfc
    implicit none
    real(4) :: x(5) = [-9.5, -0.4, 0.3, 2.0, 50.0]
    real(8) :: y(5) = [-30d0, -2d0, 0.3d0, 4.5d0, 1d8]
    integer :: i
    !$omp target map(tofrom: x, y)
    do i = 1, 5
        x(i) = erfc_scaled(x(i))
        y(i) = erfc_scaled(y(i))
    end do
    !$omp end target
    print '(5es11.3)', x, y
end program
