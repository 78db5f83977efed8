! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Output by formats, to the standard output and to characters, in a region.
program formats_in_regions
    implicit none
    type point
        integer :: i(2) = [4, 5]
        character(3) :: name = 'xyz'
    end type
    type, extends(point) :: colored
        real :: b = 2.5
        type(point) :: other
    end type
    type(colored) :: x2(2)
    integer(16) :: wide = -10_16**24
    character(5) :: s = '.....', t(3) = '-----'
    character(30) :: message
    character(9) :: words(2) = ['(i5,     ', ' f8.3)   ']
    integer :: status(4), n = 7, many(7) = [1, 2, 3, 4, 5, 6, 7]
    integer(8) :: big = -123456789012345_8
    real :: x(5) = [1.5, -2.25, 1e10, 1e-10, 0.], zero = 0
    double precision :: y(4) = [1d0 / 3, -1d100, 1d-300, 123456.789d0]
    real :: g(5) = [.1, .09999, 99999., 9999.5, 999.95]
    real :: f(8) = [.5, .05, 1.5, 2.5, -.001, .999, 99.999, -0.]
    complex :: z = (1.5, -2.5e10)
    !$omp target map(to: x2, wide, n, big, x, y, g, f, z, words, zero, many) &
    !$omp& map(tofrom: s, t) map(from: message, status)
    print '(i5,a,f8.3,5x,"it''s",1x,''q''''q'',3hxyz,tr2,a,tl2,a,t3,l1)', &
        n, 'abc', x(1), 'xy', 'z', n > 3
    print '(3(i2,","),/,"x")', many
    print '(i3,/,2(i4,i5))', many
    print '(*(g0,:,","))', n, x(1), 'a', n > 3, big
    print '(5e12.4,/,5g12.4,/,5es12.4,/,5en12.3,/,5f9.2)', x, x, x, x, x
    print '(5(1pe13.5),/,5(3pf13.5),/,5(-2pf13.5),/,5(-2pe13.5))', x, x, x, x
    print '(4e20.10e4,/,4d24.16,/,4(g0,1x),/,4(g0.4,1x))', y, y, y, y
    print '(4(es0.3,1x),/,5g12.4,/,4f5.0,3f5.2,f5.1)', y, g, f
    print '(sp,i5,f6.1,ss,i5,3(f9.1),g9.1)', n, x(1), n, x(3), x(1) / zero, &
        -x(1) / zero, zero / zero
    print '(b8,o8.4,z0,1x,i0,i5.3,i3.0,i2,3a4)', n, n, big, big, n, 0, &
        many(7) * 100, 'abcdef', 'ab', 'xyz'
    print '(2f14.2,/,f5.2,3pe12.4)', z, z
    print words, n, x(1)
    print '(i0, 1x, i30.28, 1x, z0)', wide, wide + 7, wide
    print *, x2, wide
    print '(2i3, a, f5.1, 2i2, a)', x2
    write (*, '(a,3x)', advance='no') 'on'
    write (*, '(a)') 'one line'
    write (s, '(i3,i5)', iostat=status(1), iomsg=message) n, n
    write (t, '(a)', iostat=status(2)) 'abc', 'x'
    write (t(3:3), *, iostat=status(3)) n, n, n
    print *, s, '|', message, '|', t, '|', status(1:3)
    write (s, '(f5.1)', iostat=status(4), iomsg=message) n
    write (s, *) n
    print *, s, '|', message, '|', status(4)
    print *, g, huge(zero), -huge(y(1)), f(2) * f(2), z, z, z
    !$omp end target
end program
