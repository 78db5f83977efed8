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


class Install(unittest.TestCase):
    @unittest.skipUnless(
        has("pip", "setuptools", "wheel"), "no pip, setuptools or wheel"
    )
    @unittest.skipUnless("OMPJIT_LIBRARY" in os.environ, "no OMPJIT_LIBRARY")
    def test_pip_install(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "python")
            target = os.path.join(folder, "target")
            shutil.copytree(PYTHON, source)
            command = "-m pip install -q --no-index --no-build-isolation --no-deps"
            done = subprocess.run(
                [sys.executable, *command.split(), "--target", target, source],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            environment = {
                k: v for k, v in os.environ.items() if k != "OMPJIT_LIBRARY"
            }
            environment["PYTHONPATH"] = target
            program = (
                "import ompjit; from ompjit._lib import library; "
                "print(ompjit.__file__, library().path)"
            )
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            package, library = done.stdout.split()
            self.assertTrue(package.startswith(target), package)
            here = os.environ["OMPJIT_LIBRARY"]
            self.assertEqual(os.path.dirname(library), os.path.abspath(here))

    @unittest.skipUnless(
        has("pip", "setuptools", "wheel"), "no pip, setuptools or wheel"
    )
    @unittest.skipUnless("OMPJIT_LIBRARY" in os.environ, "no OMPJIT_LIBRARY")
    def test_source_distribution(self):
        """It has all files, is installed without the checkout, and works."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "python")
            target = os.path.join(folder, "target")
            shutil.copytree(PYTHON, source)

            def run(*words, **options):
                done = subprocess.run(
                    [sys.executable, *words],
                    capture_output=True,
                    text=True,
                    **options,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            run("setup.py", "-q", "sdist", "-d", folder, cwd=source)
            shutil.rmtree(source)
            (made,) = (n for n in os.listdir(folder) if n.endswith(".tar.gz"))
            command = "-m pip install -q --no-index --no-build-isolation --no-deps"
            path = os.path.join(folder, made)
            run(*command.split(), "--target", target, path)
            package = os.path.join(target, "ompjit")
            names = {n for n in os.listdir(package) if n.endswith(".py")}
            here = os.listdir(os.path.join(PYTHON, "ompjit"))
            self.assertEqual(
                names - {"_built.py"}, {n for n in here if n.endswith(".py")}
            )
            self.assertIn("py.typed", os.listdir(package))
            environment = {
                k: v for k, v in os.environ.items() if k != "OMPJIT_LIBRARY"
            }
            environment["PYTHONPATH"] = target
            program = (
                "import ompjit; "
                "print(ompjit.elementwise('2*x')(ompjit.ones(2)).tolist())"
            )
            out = run("-c", program, cwd=folder, env=environment)
            self.assertEqual(out, "[2.0, 2.0]\n")

    def test_wheels_of_nvidia(self):
        """Those that pip has put beside the package are found."""
        program = (
            "import os; from ompjit._lib import library; library(); "
            "print(os.environ['OMPJIT_CUDA_WHEELS'])"
        )
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "nvidia", "cu13"))
            environment = {
                **os.environ,
                "PYTHONPATH": f"{PYTHON}:{folder}",
                "OMPJIT_CUDA_WHEELS": "/first",
            }
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
        found = done.stdout.strip().split(":")
        self.assertEqual(found[:1], ["/first"])
        self.assertIn(folder, found)


if __name__ == "__main__":
    unittest.main()
