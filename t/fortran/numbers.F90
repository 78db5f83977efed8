! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! A module with a device function and a variable of the device.
module numbers
    use, intrinsic :: iso_c_binding
    implicit none
#ifndef KEPT
#define KEPT 7
#endif
    integer(c_int) :: kept = KEPT
    !$omp declare target (kept)
    interface
        integer(c_int) function twice(i) bind(c)
            import
            integer(c_int), value :: i
            !$omp declare target
        end function
    end interface
contains
    integer function thrice(i)
        !$omp declare target
        integer, intent(in) :: i
        thrice = 3 * i + kept
    end function
end module
