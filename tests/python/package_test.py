"""Installs the package with pip, as a stranger would, and reads a run with it.

    package_test.py BANYAN
"""

import importlib.util
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from recorded import PROJECT, Recorded, read, system_python  # noqa: E402

USE = """
import sys
sys.path.insert(0, sys.argv[1])
import banyan.records
assert banyan.records.__file__.startswith(sys.argv[1]), banyan.records.__file__
run = banyan.records.read(sys.argv[2])
print(sum(row["tokens"] for row in run.prompts))
"""


class PackageTest(Recorded):

    def test_installs_with_what_it_needs(self):
        source = self.folder / "python"  # pip builds in the folder itself
        shutil.copytree(PROJECT / "python", source,
                        ignore=shutil.ignore_patterns("build", "*.egg-info"))
        target = self.folder / "site"
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
             "--no-deps", "--no-build-isolation", "--target", target, source],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        installed = {path.name for path in (target / "banyan/records").glob("*.py")}
        self.assertEqual(installed, {path.name for path in (
            PROJECT / "python" / "banyan" / "records").glob("*.py")})
        [facts] = target.glob("*.dist-info/METADATA")
        needs = [line for line in facts.read_text(encoding="utf-8").splitlines()
                 if line.startswith("Requires-Dist:") and "extra" not in line]
        self.assertEqual(len(needs), 1, needs)
        self.assertIn("protobuf", needs[0])
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", USE, target, self.shards()],
            capture_output=True, text=True, check=True).stdout
        self.assertEqual(int(said), sum(
            len(record.tokens) for _, record in read(self.shards()).records()))


if __name__ == "__main__":
    for module in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(module) is None:
            print(f"the Python module {module} is missing")
            sys.exit(system_python.SKIPPED)
    unittest.main(argv=sys.argv[:1])
