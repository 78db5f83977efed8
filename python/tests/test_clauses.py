# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clauses that PyOMP documents as unsupported work; what makes it abort is an
error with its place; on any device."""
import array
import unittest

import ompjit

SOURCE = """
#include <omp.h>
void schedules(int n, int *x, int *y, int *z) {
    #pragma omp target teams distribute parallel for schedule(dynamic, 3) \\
        map(x[:n])
    for (int i = 0; i < n; i++) x[i] += i;
    #pragma omp target teams distribute parallel for schedule(guided) map(y[:n])
    for (int i = 0; i < n; i++) y[i] += 2 * i;
    #pragma omp target teams distribute parallel for schedule(static, 2) \\
        dist_schedule(static, 4) map(z[:n])
    for (int i = 0; i < n; i++) z[i] += 3 * i;
}
void deferred(int n, int *x) {
    #pragma omp parallel
    #pragma omp single
    {
        #pragma omp target nowait depend(out: x[0]) map(x[:n])
        for (int i = 0; i < n; i++) x[i] = i;
        #pragma omp target nowait depend(inout: x[0]) map(x[:n])
        for (int i = 0; i < n; i++) x[i] *= 2;
        #pragma omp task depend(in: x[0])
        x[0] = 7;
        #pragma omp taskwait
    }
}
int pointers(int n, int *x) {
    int device = omp_get_default_device(), seen = 0;
    int *d = omp_target_alloc(n * sizeof *d, device);
    #pragma omp target is_device_ptr(d)
    for (int i = 0; i < n; i++) d[i] = i;
    #pragma omp target data map(tofrom: x[:n]) use_device_ptr(x)
    {
        int *p = x;
        #pragma omp target is_device_ptr(p, d)
        for (int i = 0; i < n; i++) p[i] = d[i] + 1;
    }
    #pragma omp target data map(seen)
    #pragma omp target data use_device_addr(seen)
    #pragma omp target has_device_addr(seen)
    seen = 5;
    omp_target_free(d, device);
    return seen;
}
int condition(int on_device) {
    int initial = 1;
    #pragma omp target if(on_device) map(initial)
    initial = omp_is_initial_device();
    return initial;
}
int defaults(int a) {
    int b = 1, c[3] = {1, 2, 3};
    #pragma omp target defaultmap(tofrom: scalar) defaultmap(to: aggregate)
    { b += a; c[0] = 100; }
    return b + c[0];
}
int reduce(int n, int *x) {
    int sum = 0, most = 0;
    #pragma omp target teams distribute parallel for reduction(+: sum) \\
        reduction(max: most) collapse(2) num_teams(2) thread_limit(32) \\
        map(to: x[:n*n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            sum += x[n * i + j];
            if (most < x[n * i + j]) most = x[n * i + j];
        }
    return sum + most;
}
void atomics(int n, int *x) {
    #pragma omp target teams distribute parallel for map(x[:2])
    for (int i = 0; i < n; i++) {
        #pragma omp atomic
        x[i % 2]++;
    }
}
"""


class Clauses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.m = ompjit.compile(SOURCE)

    def test_schedule(self):
        n = 50
        x, y, z = (array.array("i", [1] * n) for _ in range(3))
        self.m.schedules(n, x, y, z)
        for factor, a in ((1, x), (2, y), (3, z)):
            self.assertEqual(list(a), [1 + factor * i for i in range(n)])

    def test_nowait_and_depend(self):
        x = array.array("i", [0] * 10)
        self.m.deferred(10, x)
        self.assertEqual(list(x), [7, *range(2, 20, 2)])

    def test_device_pointers(self):
        x = array.array("i", [0] * 10)
        self.assertEqual(self.m.pointers(10, x), 5)
        self.assertEqual(list(x), list(range(1, 11)))

    def test_if(self):
        self.assertEqual(self.m.condition(0), 1)
        self.assertEqual(self.m.condition(1), 0)

    def test_defaultmap(self):
        separate = ompjit.Context(host_memory="separate")
        m = ompjit.compile(SOURCE, context=separate)
        self.assertEqual(m.defaults(4), 5 + 1)

    def test_reduction_and_collapse(self):
        x = array.array("i", range(16))
        self.assertEqual(self.m.reduce(4, x), 120 + 15)

    def test_atomic(self):
        x = array.array("i", [0, 0])
        self.m.atomics(101, x)
        self.assertEqual(list(x), [51, 50])


class Wrong(unittest.TestCase):
    """A wrong directive is an exception with its place."""

    def test_directives(self):
        for directive, column in (
            ("omp target schedule(dynamic)", 24),
            ("omp target map(x[:n)", 32),
            ("omp target teams distribute parallel for depend(sideways: x)", 61),
            ("omp target nothing_like_it", 24),
            ("omp target map(nowhere[:n])", 28),
        ):
            text = (
                "void f(int n, int *x) {\n"
                f"    #pragma {directive}\n"
                "    for (int i = 0; i < n; i++) x[i] = i;\n}\n"
            )
            with self.subTest(directive):
                with self.assertRaises(ompjit.CompileError) as caught:
                    ompjit.compile(text, flags=["-Werror"])
                error = caught.exception
                self.assertEqual(error.line, 2, str(error))
                self.assertEqual(error.column, column, str(error))
                self.assertIn("^", error.excerpt)


if __name__ == "__main__":
    unittest.main()
