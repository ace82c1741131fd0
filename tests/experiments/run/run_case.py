"""What the tests of `banyan run` share: the program, an experiment in a folder
of its own, and its records.

The first argument of the test that imports this is the built banyan; the working
directory is the project's root.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def in_yaml(path):
    """Quoted: a path may hold what means something to YAML."""
    return json.dumps(str(path), ensure_ascii=False)


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True,
                          capture_output=True, check=False, **options)


class RunCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "experiment.yaml"

    def write_prompts(self, lines):
        (self.folder / "prompts.jsonl").write_text("".join(
            json.dumps(line) + "\n" for line in lines))

    def run_all(self, out, *more):
        done = run("run", self.file, "--out", out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def records(self, *outs):
        """By cell, prompt and turn; every record once."""
        found = {}
        for out in outs:
            for path in sorted(out.glob("*.banyan")):
                done = run("export", path, "--format", "jsonl")
                self.assertEqual(done.returncode, 0, done.stderr)
                for line in done.stdout.splitlines():
                    entry = json.loads(line)
                    record = entry["record"]
                    key = (entry["cell"], record["id"], record["turn"])
                    self.assertNotIn(key, found)
                    found[key] = record
        return found

    def tokens(self, *outs):
        return {key: record["tokens"]
                for key, record in self.records(*outs).items()}
