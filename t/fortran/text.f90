! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Functions on characters, for which flang calls its library: the comparison,
! INDEX, SCAN, VERIFY, LEN_TRIM, TRIM, ADJUSTL, ADJUSTR and REPEAT.
program text
    implicit none
    character(8) :: s(5) = ['abcabc  ', '  b a c ', '        ', 'zyxzyxzy', &
                            'a b c d ']
    character(3) :: set = ' bx'
    character(2) :: pair = 'bc'
    character(8) :: left(5), right(5), low(5), words(5)
    character(12) :: twice(5)
    character :: high = char(200)
    integer :: found(10, 5), i, n = 0
    logical :: less(6, 5)
    !$omp target teams distribute parallel do map(to: s, set, pair, high, n) &
    !$omp map(from: left, right, low, words, twice, found, less)
    do i = 1, 5
        found(:, i) = [index(s(i), pair), index(s(i), pair, .true.), &
                       index(s(i), pair(1:n)), index(s(i), pair(1:n), .true.), &
                       scan(s(i), set), scan(s(i), set, .true.), &
                       verify(s(i), set), verify(s(i), set, .true.), &
                       len_trim(s(i)), len(trim(adjustl(s(i))))]
        less(:, i) = [s(i) < s(1), s(i) == trim(s(i)), s(i)(1:1) <= pair, &
                      s(i) > pair, lgt(high, s(i)), s(i)(1:2) /= s(i)(3:4)]
        left(i) = adjustl(s(i))
        right(i) = adjustr(s(i))
        low(i) = min(s(i), s(3)(1:4) // 'b', pair)
        words(i) = trim(s(i)) // '|'
        twice(i) = repeat(s(i)(1:3), n + i)
    end do
    print '(10i3)', found
    print '(6l2)', less
    print '(5("<", a, ">"))', left, right, low, words, twice
end program
