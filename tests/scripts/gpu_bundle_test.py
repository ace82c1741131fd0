"""Test of scripts/gpu-bundle on programs that are built.

    gpu_bundle_test.py BUILD    the build folder, with kernels for GPUs
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


class GpuBundleTest(unittest.TestCase):

    def test_without_models_it_is_small_and_runs_with_those_of_a_checkout(self):
        with tempfile.TemporaryDirectory() as folder:
            bundle = pathlib.Path(folder) / "bundle"
            told = subprocess.run(
                [ROOT / "scripts" / "gpu-bundle", "--without-models", "--build",
                 BUILD, bundle], text=True, capture_output=True, check=False)
            # It fails above the size that its help states.
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
            self.assertIn("without models", told.stdout)
            self.assertFalse((bundle / "models").exists())
            told = subprocess.run(
                ["bash", bundle / "check", "--list"], text=True,
                env={**os.environ, "BANYAN_CHECK_MODELS": str(ROOT / "models")},
                capture_output=True, check=False)
            self.assertEqual(told.returncode, 0, told.stderr)
            for program in (bundle / "bin").iterdir():
                told = subprocess.run(
                    ["ldd", program], text=True, capture_output=True,
                    env={**os.environ, "LD_LIBRARY_PATH": str(bundle / "lib")},
                    check=False)
                self.assertNotIn("not found", told.stdout)
            self.assertEqual(len(list((bundle / "bin").iterdir())), 5)
            text = subprocess.run(
                [bundle / "bin" / "banyan", "generate", "--model",
                 ROOT / "models" / "pycode-target", "--prompt", "def add(",
                 "--max-new-tokens", "2"], text=True, capture_output=True,
                env={**os.environ, "LD_LIBRARY_PATH": str(bundle / "lib")},
                check=False)
            self.assertEqual(text.returncode, 0, text.stderr)


if __name__ == "__main__":
    unittest.main()
