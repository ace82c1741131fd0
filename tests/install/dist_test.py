"""The tarball of scripts/dist, in a root folder that has the C library and nothing else.

    python3 dist_test.py       from the project's folder, whose build/release is built
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HELLO = ["generate", "--model", "models/pycode-target", "--prompt", "def add(a, b):",
         "--temperature", "0", "--max-new-tokens", "24", "--method", "specinfer_2"]
SYSTEM = ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6",
          "/lib/x86_64-linux-gnu/libm.so.6")


def in_root(root, *command):
    """Runs a command in a root folder, by a user's own right where this is not root."""
    chroot = [shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin"), root, *command]
    if os.geteuid() != 0:
        chroot = [shutil.which("unshare"), "--user", "--map-root-user", *chroot]
    return subprocess.run(chroot, capture_output=True, text=True, check=False, env={})


class DistTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        made = subprocess.run(["scripts/dist", "--built", folder], capture_output=True,
                              text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
        (cls.tarball,) = folder.glob("banyan-*-x86_64.tar.gz")
        with tarfile.open(cls.tarball) as tar:
            tar.extractall(folder)
        (cls.root,) = (path for path in folder.iterdir() if path.is_dir())
        for path in SYSTEM:
            to = cls.root / path[1:]
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), to)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_answers_as_the_build_does(self):
        here = subprocess.run(["build/release/banyan", *HELLO], check=True,
                              capture_output=True, text=True)
        there = in_root(self.root, "/banyan", *HELLO)
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertEqual(there.stdout, here.stdout)
        compared = in_root(self.root, "/banyan", *HELLO, "--compare")
        self.assertRegex(compared.stdout, r"tokens per pass, same text \(")

    def test_has_its_presets(self):
        listed = in_root(self.root, "/banyan", "list", "presets")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("\n  specinfer_2 ", listed.stdout)

    def test_chooses_the_instruction_set_as_the_build_does(self):
        def sets(text):
            return re.findall(r"instruction sets here: ([^\]]*)", text)

        here = subprocess.run(["build/release/banyan", "list", "cpu"], check=True,
                              capture_output=True, text=True)
        there = in_root(self.root, "/banyan", "list", "cpu")
        self.assertEqual(sets(there.stdout), sets(here.stdout))
        self.assertTrue(sets(here.stdout))

    def test_needs_no_later_symbol(self):
        for path in (self.root / "banyan", *(self.root / "lib").glob("*.so*")):
            listed = subprocess.run(["objdump", "-T", path], check=True,
                                    capture_output=True, text=True).stdout
            versions = {tuple(map(int, found.split(".")))
                        for found in re.findall(r"GLIBC_([0-9.]+)", listed)}
            self.assertLessEqual(max(versions), (2, 35), path)

    def test_says_where_to_begin_and_whose_code_it_holds(self):
        self.assertIn("./banyan generate", (self.root / "START").read_text())
        self.assertIn("abseil", (self.root / "THIRD_PARTY").read_text().lower())


if __name__ == "__main__":
    tried = subprocess.run(["unshare", "--user", "--map-root-user", "true"],
                           capture_output=True, check=False)
    if os.geteuid() != 0 and tried.returncode != 0:
        print("skipped: only root, or a user who may unshare, can change the root folder")
        sys.exit(77)
    unittest.main()
