! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Characters of deferred length.
program deferred
  implicit none
  character(len=:), allocatable :: text, names(:)
  character(len=:), pointer :: view
  character(len=30), target :: store
  integer :: j, k, n(3)
  text = 'hello, device'
  k = 0
  !$omp target map(tofrom: text) map(tofrom: k)
  do j = 1, len(text)
    if (scan(text(j:j), 'aeiou') > 0) then
      k = k + 1
      text(j:j) = achar(iachar(text(j:j)) - 32)
    end if
  end do
  !$omp end target
  print '(i2, 1x, a)', k, text
  allocate (character(len=6) :: names(3))
  names = ['one   ', 'three ', 'twelve']
  !$omp target map(tofrom: names) map(from: n)
  do j = 1, 3
    n(j) = len_trim(names(j))
    names(j)(1:1) = '#'
  end do
  !$omp end target
  print '(3i2, 3(1x, a))', n, names
  store = 'abcdefghijklmnopqrstuvwxyz0123'
  view => store(5:14)
  !$omp target map(tofrom: view)
  view(10:10) = '!'
  !$omp end target
  print '(a)', store
  !$omp target data map(tofrom: text)
  !$omp target
  text(13:13) = '?'
  !$omp end target
  !$omp target update from(text)
  print '(a)', text
  !$omp end target data
end program
