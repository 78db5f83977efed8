! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Bessel functions of a range of orders, and the date.
program bessel
    implicit none
    real(8) :: x(5) = 0, y(5) = 0, z(3) = 0, w(3) = 0, b = 1.5d0
    real :: s(4) = 0, u(4) = 0, c = 0.75
    integer :: n(2) = [0, 4], now(8), none
    character(8) :: date
    character(12) :: time
    character(5) :: zone
    logical :: good(5)
    !$omp target map(tofrom: x, y, s, u, z, w) map(to: b, c, n) map(from: none)
    x = bessel_jn(n(1), n(2), b)
    y = bessel_yn(n(1), n(2), b)
    s = bessel_jn(2, n(2) + 1, c)
    u = bessel_yn(n(1) + 2, 5, c)
    z = bessel_jn(n(1), 2, b - 1.5d0)
    w(1:1) = bessel_yn(3, n(2) - 1, b)
    w(2:) = bessel_jn(n(1) + 1, 2, b*10)
    none = size(bessel_jn(n(2), n(1), b))
    !$omp end target
    print '(5f12.6)', x, y
    print '(4f12.3)', s, u
    print '(6f8.3, i3)', z, w, none
    !$omp target map(from: now, date, time, zone)
    call date_and_time(date, time, zone, now)
    !$omp end target
    good(1) = now(1) >= 1970 .and. now(2) >= 1 .and. now(2) <= 12
    good(2) = now(3) >= 1 .and. now(3) <= 31 .and. now(5) < 24
    good(3) = value_of(date) == (now(1)*100 + now(2))*100 + now(3)
    good(4) = value_of(time(:6)) == (now(5)*100 + now(6))*100 + now(7)
    good(5) = time(7:7) == '.' .and. value_of(time(8:10)) == now(8) &
              .and. time(11:) == '' .and. scan(zone, '+-') == 1
    print '(5l2)', good
contains
    integer function value_of(text)
        character(*), intent(in) :: text
        read (text, '(i10)') value_of
    end function
end program
