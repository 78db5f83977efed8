! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! An interface of a function for devices: flang leaves the main program in the
! device half, with its variables, which are the host's.
program left_host
    implicit none
    real(8), target :: data(20)
    real(8), pointer :: view(:, :)
    integer :: i, j, n(4)
    interface
        integer function for_device(k)
            !$omp declare target
            integer, intent(in) :: k
        end function
    end interface
    data = [(i * 1d0, i = 1, 20)]
    view(1:4, 1:5) => data
    !$omp target teams distribute parallel do collapse(2) map(tofrom: view)
    do j = 1, 5
        do i = 1, 4
            view(i, j) = view(i, j) * 10 + j
        end do
    end do
    print '(2f8.1)', sum(data), data(20)
    !$omp target parallel do map(from: n)
    do i = 1, 4
        n(i) = for_device(i)
    end do
    print '(4i4)', n
end program

integer function for_device(k)
    !$omp declare target
    integer, intent(in) :: k
    for_device = k * k
end function
