"""What the tests of scripts/slurm share: stand-ins for banyan, sbatch, squeue and
scontrol, in a folder of each test's own."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

# Notes its arguments. `check` prints the file `check`, or fails if there is none; `run`
# does what the file `run` says.
BANYAN = """\
#!/bin/bash
here=$(dirname -- "$0")
printf '%s|' "$@" >>"$here/called"
echo >>"$here/called"
case $1 in
  check) cat "$here/check" 2>/dev/null || { echo "banyan: as it says" >&2; exit 1; } ;;
  run) source "$here/run" ;;
  report) echo "an answer" ;;
esac
"""
SLURM = """\
#!/bin/bash
here=$(dirname -- "$0")
name=$(basename -- "$0")
printf '%s|' "$@" >>"$here/$name.called"
echo >>"$here/$name.called"
env >"$here/$name.env"
[[ ! -e $here/$name.does ]] || source "$here/$name.does"
"""
CHECK = {
    "experiment_hash": "0123456789abcdef", "question": "q", "cells": 12, "prompts": 60,
    "turns": 60, "measured": False, "cut": "prompts", "whole": [], "longest_s": 3.5,
    "shards": [{"shard": shard, "records": 180 + shard % 2, "least_s": 1000 + shard,
                "most_s": 4000} for shard in range(4)]}
RECORD = 'echo record >>"$out/records-1-of-4.banyan"\n'  # by the stand-in's `run`


class SlurmCase(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="slurm test ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.out = self.root / "out/mine"
        self.put("mine.yaml", "question: q\n")
        self.put("bin/banyan", BANYAN)
        for name in "squeue", "scontrol", "sbatch":
            self.put(f"bin/{name}", SLURM)
        self.put("bin/sbatch.does", "wc --lines <\"$here/sbatch.called\"\n")
        self.check()

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def check(self, **other):
        self.put("bin/check", json.dumps({**CHECK, **other}))

    def called(self, name):
        path = self.root / "bin" / name
        return path.read_text().splitlines() if path.exists() else []

    def slurm(self, *options, time_limit="10:00", environment=(), path=None,
              file="mine.yaml"):
        return subprocess.run(
            [sys.executable, PROJECT / "scripts/slurm", file, "--shards", "4",
             "--time", time_limit, "--out", "out/mine", "--program", "bin/banyan",
             *options], check=False, capture_output=True, text=True, cwd=self.root,
            env={"PATH": path or f"{self.root}/bin:/usr/bin:/bin", **dict(environment)})

    def submitted(self, *options, **more):
        done = self.slurm(*options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *words, code=1, options=(), **more):
        """Fails if scripts/slurm does not refuse, or submits or runs anything."""
        before = self.called("sbatch.called")
        done = self.slurm(*options, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.called("sbatch.called"), before)
        return done.stderr
