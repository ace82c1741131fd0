"""Runs the example that every command's --help shows, as it stands.

  help_examples_test.py PROGRAM

From a folder in which the project's own folders are linked, as if it were a fresh
clone: what the examples write stays there.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()


def shell(line, folder):
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)


class HelpExamples(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(
            prefix="examples", dir=os.environ.get("TMPDIR")))
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.folder)])
        (self.folder / "bin").mkdir()
        (self.folder / "bin/banyan").symlink_to(PROGRAM)
        for name in ("configs", "experiments", "models", "tests"):
            (self.folder / name).symlink_to(PROJECT / name)

    def commands(self):
        done = shell("banyan", self.folder)
        return re.findall(r"^  (\w+(?: \w+)?)  ", done.stdout, re.MULTILINE)

    def examples(self, command):
        done = shell(f"banyan {command} --help", self.folder)
        text = done.stdout.partition("\nExample:\n")[2].replace("\\\n", " ")
        return [line.strip() for line in text.splitlines() if line.strip()]

    def test_every_example_runs(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 20)
        lines = 0
        for command in commands:
            examples = self.examples(command)
            self.assertTrue(examples, command)
            self.assertIn(f"banyan {command} ", examples[-1] + " ")
            for line in examples:
                with self.subTest(command=command, line=line):
                    done = shell(line, self.folder)
                    self.assertEqual(0, done.returncode, done.stderr)
                    lines += 1
        print(f"{lines} lines of {len(commands)} commands ran")


if __name__ == "__main__":
    unittest.main()
