C SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
C
C Fixed form, with a common block and a line that is continued.
      PROGRAM FIXED
      INTEGER I, A(10)
      COMMON /SHARED/ A
      DO 10 I = 1, 10
   10 A(I) = I
!$OMP TARGET MAP(TOFROM: A)
      DO 20 I = 1, 10
   20 A(I) = A(I)
     &       * 2
!$OMP END TARGET
      WRITE (*, '(I3)') A(10)
      STOP 3
      END
