! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Programs whose IR flang 22 gets wrong: sections of arrays of three and more
! dimensions, tasks in a target region, a scalar of a region without teams, an
! array that is private to a team, locals of a procedure that a loop over teams
! calls, recursion in a region, code beside a region that one thread alone may
! run, ordered regions, a procedure with a region that nobody calls, and a
! variable of the main program that the device has.
module sections
contains
    subroutine dummy(a, s)
        integer, intent(inout) :: a(:, :, :)
        integer, intent(out) :: s
        integer :: i, j
        s = 0
        do i = 1, 4
            do j = 1, 5
                !$omp target map(tofrom: a(2:3, i, j)) map(tofrom: s)
                s = s + a(2, i, j)
                a(3, i, j) = 7
                !$omp end target
            end do
        end do
    end subroutine

    subroutine explicit(a, n, s)
        integer, intent(in) :: n
        integer, intent(inout) :: a(n, 4, 5)
        integer, intent(out) :: s
        integer :: i
        s = 0
        do i = 1, 5
            !$omp target map(tofrom: a(2:3, 4, i)) map(tofrom: s)
            s = s + a(2, 4, i)
            a(3, 4, i) = 7
            !$omp end target
        end do
    end subroutine

    subroutine add_up(a, n, s)
        !$omp declare target
        integer, intent(in) :: n
        integer, intent(inout) :: a(n), s
        integer :: i, t
        t = 0
        !$omp parallel do reduction(+: t)
        do i = 1, n
            a(i) = a(i) + i
            t = t + a(i)
        end do
        s = s + t
    end subroutine

    recursive integer function two_to(n) result(r)
        !$omp declare target
        integer, intent(in) :: n
        if (n == 0) then
            r = 1
        else
            r = two_to(n - 1) + two_to(n - 1)
        end if
    end function
end module

program faults
    use sections
    implicit none
    integer, allocatable :: a(:, :, :), b(:, :, :), c(:, :, :, :)
    integer :: s, i, j, stored = 1
    !$omp declare target(stored)
    allocate(a(3, 4, 5), c(2, 3, 4, 5))
    call fill()
    call dummy(a, s)
    print *, 'dummy', s, sum(a)
    call fill()
    call explicit(a, 3, s)
    print *, 'explicit', s, sum(a)
    call fill()
    b = a
    s = 0
    do i = 1, 4
        do j = 1, 5
            !$omp target map(to: a(1:2, i, j), b(2:3, i, j)) map(tofrom: s)
            s = s + a(1, i, j) - b(2, i, j)
            !$omp end target
        end do
    end do
    print *, 'two', s
    s = 0
    do i = 1, 5
        !$omp target map(to: c(:, 2:3, 2, i), a(2, 3, i)) map(tofrom: s)
        s = s + c(1, 2, 2, i) + c(2, 3, 2, i) + a(2, 3, i)
        !$omp end target
    end do
    print *, 'middle', s
    print *, 'tasks', tasks()
    print *, 'scalar', scalar()
    print *, 'tiles', tiles()
    print *, 'called', called()
    print *, 'recursion', recursion()
    print *, 'rows', rows()
    print *, 'in order', in_order()
    print *, 'around', around()
    stored = 5
    !$omp target update to(stored)
    !$omp target map(from: s)
    s = stored
    stored = 8
    !$omp end target
    !$omp target update from(stored)
    print *, 'stored', s, stored
contains
    subroutine fill()
        integer :: n
        a = reshape([(n, n = 1, 60)], [3, 4, 5])
        c = reshape([(n, n = 1, 120)], [2, 3, 4, 5])
    end subroutine

    integer function tasks()
        integer :: x(10), n
        !$omp target map(from: x)
        !$omp parallel num_threads(4) private(n)
        !$omp single
        do n = 1, 10
            !$omp task firstprivate(n)
            x(n) = n
            !$omp end task
        end do
        !$omp end single
        !$omp end parallel
        !$omp end target
        tasks = sum(x)
    end function

    integer function scalar()
        integer :: x(64), behind, n, s
        x = 0
        s = 0
        behind = 2
        !$omp target parallel num_threads(8) map(tofrom: x, s)
        !$omp do reduction(+: s)
        do n = 1, 16
            s = s + n * behind
        end do
        !$omp end do
        !$omp do
        do n = 1, 16
            x(behind + n) = n
        end do
        !$omp end do
        !$omp end target parallel
        scalar = 1000 * s + sum(x)
    end function

    integer function tiles()
        integer, allocatable :: x(:, :), y(:, :)
        integer :: t(0:7, 0:7), n, m, nt, mt
        allocate(y(16, 16))
        x = reshape([(n, n = 1, 256)], [16, 16])
        !$omp target teams distribute collapse(2) private(t, nt, mt, n, m) &
        !$omp map(to: x) map(from: y)
        do mt = 1, 16, 8
            do nt = 1, 16, 8
                !$omp parallel do collapse(2)
                do m = 0, 7
                    do n = 0, 7
                        t(n, m) = x(nt + n, mt + m)
                    end do
                end do
                !$omp end parallel do
                !$omp parallel do collapse(2)
                do n = 0, 7
                    do m = 0, 7
                        y(mt + m, nt + n) = t(n, m)
                    end do
                end do
                !$omp end parallel do
            end do
        end do
        !$omp end target teams distribute
        tiles = count(y == transpose(x))
    end function

    integer function called()
        integer :: x(50, 9), s(9), n
        x = 1
        s = 0
        !$omp target teams distribute map(tofrom: x, s)
        do n = 1, 9
            call add_up(x(:, n), 50, s(n))
        end do
        called = sum(x) + sum(s)
    end function

    integer function recursion()
        integer :: v(2)
        v = 0
        !$omp target map(tofrom: v)
        !$omp parallel sections
        !$omp section
        v(1) = 1
        !$omp section
        v(2) = two_to(5)
        !$omp end parallel sections
        !$omp end target
        recursion = sum(v)
    end function

    integer function rows()
        integer :: t(4), x(8), y(8), n, m
        x = 7
        y = 0
        !$omp target teams distribute private(t, m) map(tofrom: x, y)
        do n = 1, 8
            x(n) = 0
            !$omp parallel do
            do m = 1, 4
                t(m) = n * m
                !$omp atomic
                x(n) = x(n) + m
            end do
            y(n) = t(1) + t(2) + t(3) + t(4)
        end do
        rows = 1000 * sum(y) + sum(x)
    end function

    integer function in_order()
        integer :: s, n
        s = 1
        !$omp target parallel do ordered num_threads(16) map(tofrom: s)
        do n = 1, 40
            !$omp ordered
            s = mod(3 * s + n, 10007)
            !$omp end ordered
        end do
        in_order = s
    end function

    ! A construct that flang takes for one parallel region, but for what stands
    ! in front of the region and behind it.
    integer function around()
        integer :: x(8), k
        x = 1
        !$omp target map(tofrom: x)
        x(8) = x(8) + 1
        !$omp parallel do
        do k = 1, 7
            x(k) = x(8) + k
        end do
        x = x + x(1)
        !$omp end target
        around = sum(x)
    end function

    subroutine nobody_calls(x)
        integer, intent(inout) :: x
        !$omp target map(tofrom: x)
        x = x + 1
        !$omp end target
    end subroutine
end program
