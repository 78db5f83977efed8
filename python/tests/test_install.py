# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install .` in a checkout finds the library that it was installed for, and
so does the source distribution."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def has(*names):
    return all(importlib.util.find_spec(name) for name in names)


PIP = "-m pip install -q --no-index --no-build-isolation --no-deps".split()
needs_pip = unittest.skipUnless(
    has("pip", "setuptools", "wheel") and "OMPJIT_LIBRARY" in os.environ,
    "no pip, setuptools, wheel or OMPJIT_LIBRARY",
)


class Install(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        self.target = os.path.join(self.folder, "target")

    def run_python(self, *words, **options):
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, **options
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def copy(self):
        """The package's folder, apart from the checkout."""
        source = os.path.join(self.folder, "python")
        shutil.copytree(PYTHON, source)
        return source

    def installed(self, path, program):
        """The output of a program that has the package from there."""
        self.run_python(*PIP, "--target", self.target, path)
        environment = {**os.environ, "PYTHONPATH": self.target}
        del environment["OMPJIT_LIBRARY"]
        return self.run_python("-c", program, env=environment, cwd=self.folder)

    def test_wheel_without_setuptools(self):
        wheel = os.path.join(os.path.dirname(PYTHON), "packaging", "wheel.py")
        if not os.path.exists(wheel):
            self.skipTest("not in a checkout")
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        for name in ("readelf", "objdump", "ldd", "patchelf"):
            os.symlink("/bin/true", os.path.join(programs, name))
        for path, message in (
            (programs, "has no setuptools of version 61 or later; `"),
            ("/nowhere", "no readelf; the package binutils has it"),
        ):
            done = subprocess.run(
                [sys.executable, "-I", "-S", wheel, "--check"],
                capture_output=True,
                text=True,
                env={"PATH": path},
            )
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(message, done.stderr)

    @needs_pip
    def test_pip_install(self):
        out = self.installed(
            self.copy(),
            "import ompjit; from ompjit._lib import library; "
            "print(ompjit.__file__, library().path)",
        )
        package, library = out.split()
        self.assertTrue(package.startswith(self.target), package)
        here = os.environ["OMPJIT_LIBRARY"]
        self.assertEqual(os.path.dirname(library), os.path.abspath(here))

    @needs_pip
    def test_source_distribution(self):
        """It has all files, is installed without the checkout, and works."""
        source, folder = self.copy(), self.folder
        self.run_python("setup.py", "-q", "sdist", "-d", folder, cwd=source)
        shutil.rmtree(source)
        (made,) = (n for n in os.listdir(folder) if n.endswith(".tar.gz"))
        out = self.installed(
            os.path.join(folder, made),
            "import ompjit; "
            "print(ompjit.elementwise('2*x')(ompjit.ones(2)).tolist())",
        )
        self.assertEqual(out, "[2.0, 2.0]\n")
        package = os.path.join(self.target, "ompjit")
        names = {n for n in os.listdir(package) if n.endswith(".py")}
        here = os.listdir(os.path.join(PYTHON, "ompjit"))
        self.assertEqual(
            names - {"_built.py"}, {n for n in here if n.endswith(".py")}
        )
        self.assertIn("py.typed", os.listdir(package))

    def test_wheels_of_nvidia(self):
        """Those that pip has put beside the package are found."""
        program = (
            "import os; from ompjit._lib import library; library(); "
            "print(os.environ['OMPJIT_CUDA_WHEELS'])"
        )
        folder = self.folder
        os.makedirs(os.path.join(folder, "nvidia", "cu13"))
        environment = {
            **os.environ,
            "PYTHONPATH": f"{PYTHON}:{folder}",
            "OMPJIT_CUDA_WHEELS": "/first",
        }
        out = self.run_python("-c", program, env=environment)
        found = out.strip().split(":")
        self.assertEqual(found[:1], ["/first"])
        self.assertIn(folder, found)


if __name__ == "__main__":
    unittest.main()
