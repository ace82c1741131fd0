"""Tests of scripts/slurm with stand-ins for banyan, sbatch, squeue and scontrol: what it
refuses, what it writes (goldens in tests/goldens/slurm), and what the job scripts do.

    slurm_test.py [--write]     --write: writes the goldens anew
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

PROJECT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = PROJECT / "tests/goldens/slurm"
WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")

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


class SlurmTest(unittest.TestCase):

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

    # What it refuses.

    def test_times_that_are_none(self):
        for text in "0", "soon", "1:2:3:4", "-5", "UNLIMITED", "2-", 5000 * "9":
            self.refused("--time: expected", text, code=2, time_limit=text)

    def test_a_time_too_short_for_one_record(self):
        # 35 seconds for a record, 60 for the signal, and a minute early.
        self.refused("--time 2 is too short", "up to 4 s", "00:03:00", time_limit="2")
        self.submitted(time_limit="3")
        # 1,530 s for a record, 1,530 for the signal, and a minute early: 52 minutes.
        self.check(longest_s=1200)
        self.refused("--time 51 is too short", "up to 20 min", "00:52:00",
                     time_limit="51")
        self.submitted(time_limit="52")

    def test_a_record_longer_than_slurm_can_signal(self):
        self.check(longest_s=60000)
        self.refused("16 h 40 min", "at most 18 h 13 min", time_limit="9-0")

    def test_an_unknown_time_of_a_record(self):
        unknown = [{**shard, "least_s": None, "most_s": None}
                   for shard in CHECK["shards"]]
        self.check(longest_s=None, shards=unknown)
        self.refused("an unknown time", "00:11:00", time_limit="10")
        self.assertIn("does not state its limits", self.submitted(time_limit="11"))

    def test_options_that_make_no_sense(self):
        for options, words in (
                (["--shards", "0"], "--shards: expected 1 or more"),
                (["--shards", 20 * "9"], f"at most 4,000,001 (Slurm's limit), found "
                 f"{20 * '9'}"),
                (["--threads", "0"], "--threads: expected 1 or more"),
                (["--tasks", "4"], "numbers from 0 to 3"),
                (["--tasks", "0,2-1"], "numbers from 0 to 3"),
                (["--tasks", ""], "numbers from 0 to 3"),
                (["--tasks", 5000 * "9"], "numbers from 0 to 3"),
                (["--array=0-7"], "--array is set by scripts/slurm"),
                (["--no-requeue"], "--no-requeue is set by scripts/slurm"),
                (["-a0-7"], "-a0-7 is set by scripts/slurm"),
                (["--output", "x"], "--output is set by scripts/slurm"),
                (["other.yaml"], "'other.yaml' is not an option"),
                (["--out", 'a"b'], "no quotes"),
                (["--cut", "tokens"], "invalid choice")):
            self.refused(words, code=2, options=options)

    def test_texts_that_would_become_lines_of_the_job_scripts(self):
        for options, words in (
                (["--partition", "p\n#SBATCH -A them"],
                 "--partition: expected no line end, found 'p\\n#SBATCH -A them'"),
                (["--comment=two\nlines"], "expected no line end, found '--comment=two"),
                (["--comment", "two\rlines"], "no line end, found 'two\\rlines'"),
                (["--out", "two\nlines"], "--out: expected no line end"),
                (["--out", "two\rlines"], "--out: expected no line end")):
            self.refused(words, code=2, options=options)
        self.put("two\nlines.yaml", "question: q\n")
        self.refused("FILE: expected no line end, found 'two\\nlines'", code=2,
                     file="two\nlines.yaml")
        self.assertFalse(self.out.exists())

    def test_files_that_are_missing(self):
        (self.root / "mine.yaml").unlink()
        self.refused("no such file", "mine.yaml")
        self.put("mine.yaml", "")
        (self.root / "bin/banyan").unlink()
        self.refused("bin/banyan is missing; scripts/run builds")

    def test_a_machine_without_slurm(self):
        nowhere = str(self.root / "nowhere")
        self.refused("sbatch is missing", "docs/clusters.md", path=nowhere)

    def test_what_check_refuses(self):
        (self.root / "bin/check").unlink()
        self.refused("banyan: as it says", "refuses", "mine.yaml")
        self.assertFalse(self.out.exists())
        self.put("bin/check", "3 cells on 4 prompts\n")
        self.refused("does not print JSON")

    def test_two_experiments_in_one_folder(self):
        self.submitted()
        self.check(experiment_hash="f" * 16)
        self.refused("out/mine", "experiment 0123456789abcdef, not ffffffffffffffff")
        self.check()
        self.refused("cut prompts, not cells", options=["--cut", "cells"])
        self.refused("shards 4, not 3", options=["--shards", "3"])
        self.submitted("--tasks", "1")

    def test_a_submission_that_is_torn(self):
        self.submitted()
        mark = self.out / "slurm/submission"
        whole = mark.read_bytes()
        for found, words in (
                (b"", "found ''"), (whole[:4], "found 'expe'"),
                (whole[:whole.index(b"cut")], "shards 4\\n'"),
                (whole[:-1], "folder "), (b"\0\xff", "\\xff")):
            mark.write_bytes(found)
            self.refused(f"{mark}: expected the lines experiment, shards, cut and folder",
                         words, "remove the file")
            self.assertEqual(mark.read_bytes(), found)
        mark.unlink()
        self.submitted()

    def test_a_folder_that_cannot_be_written(self):
        self.put("out/mine/slurm", "a file\n")
        self.refused("slurm: ", f"'{self.out}/slurm")

    def test_a_task_that_still_runs(self):
        self.submitted()
        self.put("bin/squeue.does", "echo 2; echo 3\n")
        self.refused("job 1", "2-3", "scancel 1")
        self.refused("job 1", "3", options=["--tasks", "1,3"])
        self.submitted("--tasks", "0-1")
        self.assertIn("--jobs|1|", self.called("squeue.called")[0])

    def test_what_sbatch_refuses(self):
        self.put("bin/sbatch.does", "echo no such partition >&2; exit 1\n")
        done = self.slurm()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such partition", done.stderr)
        self.assertIn("Nothing was submitted", done.stderr)
        self.put("bin/sbatch.does", '[[ $2 != --dep* ]] || exit 1; echo 7\n')
        done = self.slurm()
        self.assertEqual(done.returncode, 1)
        self.assertIn("The array is submitted", done.stderr)
        self.assertIn("scancel 7", done.stdout)

    # What it writes and prints.

    def test_a_file_is_there_whole_or_as_it_was(self):
        loader = importlib.machinery.SourceFileLoader("slurm", str(
            PROJECT / "scripts/slurm"))
        script = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("slurm", loader))
        with mock.patch.object(sys, "path", [str(PROJECT / "scripts"), *sys.path]):
            loader.exec_module(script)
        path = self.root / "submission"
        path.write_text("before")
        with mock.patch("os.fsync", side_effect=OSError("no space")):
            with self.assertRaises(OSError):
                script.write_whole(path, "after")
        self.assertEqual(path.read_text(), "before")
        with mock.patch("os.fsync") as synced:
            script.write_whole(path, "after")
        synced.assert_called_once()
        self.assertEqual(path.read_text(), "after")
        self.submitted()
        self.assertEqual(sorted(os.listdir(self.out / "slurm")),
                         ["array.sh", "jobs", "report.sh", "submission"])

    def compare(self, golden, name):
        path = GOLDENS / golden
        text = (self.out / "slurm" / name).read_text()
        text = text.replace(str(self.root), "/made up").replace(str(PROJECT), "/project")
        text = re.sub(r"folder [0-9a-f]{16}", "folder fedcba9876543210", text)
        if WRITE:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertEqual(text, path.read_text())

    def test_the_scripts_of_a_whole_node(self):
        self.submitted()
        self.compare("array.sh", "array.sh")
        self.compare("report.sh", "report.sh")

    def test_the_scripts_of_all_options(self):
        self.check(measured=True, cut="cells")
        self.submitted("--cut", "cells", "--threads", "2", "--partition", "long",
                       "--tasks", "0,2-3", "--set", "question=Why trees?", "--set",
                       "workload.prompts=6", "--account=us", "--mem", "4G", "-q", "high",
                       "--comment=two words", time_limit="2-12")
        self.compare("array_options.sh", "array.sh")
        self.compare("report_options.sh", "report.sh")

    def test_check_is_asked_about_these_shards(self):
        self.submitted("--threads", "2", "--set", "a=b")
        self.assertEqual(
            self.called("called")[0],
            f"check|{self.root}/mine.yaml|--set|a=b|--threads|2|--shards|4|--cut|prompts|"
            f"--out|{self.out}|--format|json|")

    def test_the_device_is_checked_and_run_on(self):
        self.submitted("--device", "host", "--instruction-set", "AVX2", "--fast",
                       "--gres=gpu:1")
        words = ("--device", "host", "--instruction-set", "AVX2", "--fast")
        self.assertIn("|".join(words), self.called("called")[0])
        script = (self.out / "slurm/array.sh").read_text()
        self.assertIn(" ".join(words), script)
        self.assertIn("#SBATCH --gres=gpu:1\n", script)

    def test_both_jobs_are_submitted(self):
        self.submitted()
        self.assertEqual(self.called("sbatch.called"), [
            f"--parsable|{self.out}/slurm/array.sh|",
            f"--parsable|--dependency=afterany:1|{self.out}/slurm/report.sh|1|"])

    def test_variables_of_sbatch_do_not_override_the_scripts(self):
        self.submitted(environment={"SBATCH_TIMELIMIT": "1", "SBATCH_ARRAY_INX": "0",
                                    "SBATCH_NO_REQUEUE": "1", "SBATCH_ACCOUNT": "us"})
        seen = (self.root / "bin/sbatch.env").read_text()
        self.assertEqual(re.findall(r"SBATCH_\w+", seen), ["SBATCH_ACCOUNT"])

    def test_it_says_what_runs_and_how_to_go_on(self):
        self.check(whole=["suffix_tree"])
        printed = self.submitted("--partition", "long", time_limit="30")
        for words in ("12 cells on 60 prompts, 4 tasks of 180 to 181 records each",
                      "whole, in one task: suffix_tree",
                      "takes 17 min if every draft is accepted, up to 1 h 07 min",
                      # 1,800 s less 60 for the signal and 60 early: three times.
                      "requeued up to 2 times",
                      "squeue --array --jobs 1", "tail -f", "scancel 1",
                      f"--time 30 --out '{self.out}'", "--partition long --tasks LIST",
                      "slurm/report.txt", "(job 2)"):
            self.assertIn(words, printed)
        self.assertNotIn("requeued", self.submitted(time_limit="2:00:00"))

    def test_a_dry_run_needs_no_slurm_and_submits_nothing(self):
        few = self.root / "few"
        few.mkdir()
        for name in "cat", "dirname":
            (few / name).symlink_to(shutil.which(name))
        printed = self.submitted("--dry-run", path=str(few))
        self.assertIn("Nothing submitted", printed)
        self.assertTrue((self.out / "slurm/array.sh").exists())
        self.assertEqual(self.called("sbatch.called"), [])

    # What a task does.

    def begin_task(self, run, script=None, **variables):
        """Starts task 1 of job 7; `run` is what the stand-in's run does."""
        self.put("bin/run", f'out="{self.out}"\n{run}')
        return subprocess.Popen(
            ["/bin/bash", script or self.out / "slurm/array.sh"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "SLURM_ARRAY_JOB_ID": "7",
                 "SLURM_ARRAY_TASK_ID": "1", "SLURMD_NODENAME": "node9", **variables})

    def task(self, run, **more):
        """Exit status and log of a task."""
        process = self.begin_task(run, **more)
        log, _ = process.communicate(timeout=60)
        return process.returncode, log

    def signalled(self, run, ready):
        """Of a task that gets the signal once the file `ready` exists."""
        process = self.begin_task(run)
        while not (self.root / ready).exists():
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGUSR1)
        log, _ = process.communicate(timeout=60)
        return process.returncode, log

    def changed(self, *pairs):
        """A copy of the task's script with other texts."""
        text = (self.out / "slurm/array.sh").read_text()
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.put("changed.sh", text)
        return self.root / "changed.sh"

    def mark(self):
        return self.out / "slurm/shard-1.done"

    def test_a_complete_shard_ends_its_task_well(self):
        self.submitted("--set", "a=b c")
        code, log = self.task(RECORD + "pwd >\"$here/directory\"")
        self.assertEqual(code, 0, log)
        self.assertEqual(
            self.called("called")[-1],
            f"run|{self.root}/mine.yaml|--set|a=b c|--out|{self.out}|--onto|new|--shard|"
            "1/4|")
        # Paths of --set are relative to where it was given.
        self.assertEqual(self.called("directory"), [str(self.root)])
        self.assertTrue(self.mark().exists())
        self.assertEqual(self.called("scontrol.called"), [])
        # A claim that is refuted is told; the shard is complete all the same.
        code, log = self.task("exit 3")
        self.assertEqual(code, 3, log)
        self.assertTrue(self.mark().exists())

    def test_the_signal_ends_the_run_and_requeues_the_task(self):
        self.submitted()
        code, log = self.signalled(
            "trap 'sleep 0.3; echo record >>\"$out/records-1-of-4.banyan\"; exit 4' USR1\n"
            ": >\"$here/ready\"\nfor i in {1..200}; do sleep 0.1; done", "bin/ready")
        self.assertEqual(code, 4, log)
        self.assertEqual(self.called("scontrol.called"), ["requeue|7_1|"])
        self.assertIn("asks Slurm to requeue", log)
        self.assertFalse(self.mark().exists())

    def test_a_run_that_ends_by_itself_after_the_signal_is_complete(self):
        self.submitted()
        code, log = self.signalled(
            "trap '' USR1\n: >\"$here/ready\"\nsleep 1\nexit 0", "bin/ready")
        self.assertEqual(code, 0, log)
        self.assertEqual(self.called("scontrol.called"), [])
        self.assertTrue(self.mark().exists())

    def test_a_task_without_a_record_is_not_requeued_for_ever(self):
        self.submitted()
        code, log = self.task("exit 4")
        self.assertEqual(code, 1, log)
        self.assertIn("--time is too short", log)
        # As if the signal came before the program expected it.
        code, log = self.task("kill -USR1 $$")
        self.assertEqual(code, 1, log)
        self.assertNotIn("requeue|7_1|", self.called("scontrol.called"))
        code, log = self.task(RECORD + "kill -USR1 $$")
        self.assertEqual(code, 4, log)
        self.assertIn("requeue|7_1|", self.called("scontrol.called"))

    def test_what_fails_is_told_and_not_requeued(self):
        self.submitted()
        self.mark().touch()
        for run, status in ("exit 1", 1), (RECORD + "kill -9 $$", 137):
            code, log = self.task(run)
            self.assertEqual(code, 1, log)
            self.assertIn(f"banyan run ended with exit status {status}", log)
            self.assertIn("--tasks 1", log)
            self.assertFalse(self.mark().exists())
        self.assertIn("update|JobId=7_1|Comment=banyan run ended with exit status 137|",
                      self.called("scontrol.called"))

    def test_a_requeue_that_fails_is_told(self):
        self.submitted()
        self.put("bin/scontrol.does", "exit 1\n")
        code, log = self.task(RECORD + "exit 4")
        self.assertEqual(code, 1, log)
        self.assertIn("scontrol requeue failed", log)

    def test_a_folder_that_is_not_shared_is_told(self):
        self.submitted()
        mark = self.out / "slurm/submission"
        mark.write_text(mark.read_text().replace("folder ", "folder 0"))
        line = f"on node9 {self.out} is not the folder that scripts/slurm wrote to"
        code, log = self.task(RECORD)
        self.assertEqual(code, 1, log)
        self.assertIn(line, log)
        mark.unlink()
        code, log = self.task(RECORD, script=self.changed(("tries < 20", "tries < 1")))
        self.assertEqual(code, 1, log)
        self.assertIn(line, log)
        self.assertEqual(list(self.out.glob("*.banyan")), [])

    def test_every_folder_has_a_mark_of_its_own(self):
        self.submitted()
        mark = self.out / "slurm/submission"
        first = mark.read_text()
        self.submitted("--tasks", "1")
        self.assertEqual(mark.read_text(), first)
        # The same experiment on the disk of another node is not this folder.
        mark.unlink()
        self.submitted()
        self.assertNotEqual(mark.read_text(), first)

    def test_the_first_task_measures_the_costs_and_others_wait(self):
        self.check(measured=True)
        self.submitted()
        faster = self.changed(("sleep 5 &", "sleep 0.1 &"), ("waited += 5", "++waited"),
                              ("longest_wait_s=1800", "longest_wait_s=20"))
        code, log = self.task(RECORD, script=faster)
        self.assertEqual(code, 1, log)
        self.assertIn("waits for the costs that task 0 measures", log)
        self.assertIn("no record file after 20 s", log)
        self.assertFalse(any(line.startswith("run") for line in self.called("called")))
        # The first does not wait, and the others no longer.
        code, log = self.task("echo >\"$out/records-0-of-4.banyan\"", script=faster,
                              SLURM_ARRAY_TASK_ID="0")
        self.assertEqual(code, 0, log)
        code, log = self.task(RECORD, script=faster)
        self.assertEqual(code, 0, log)
        self.assertNotIn("waits", log)

    def test_a_task_that_waits_requeues_itself_at_the_signal(self):
        self.check(measured=True)
        self.submitted()
        process = self.begin_task(RECORD)
        log = process.stdout.readline()
        self.assertIn("waits for the costs", log)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGUSR1)
        log, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, log)
        self.assertEqual(self.called("scontrol.called"), ["requeue|7_1|"])

    # What the report says.

    def report(self):
        done = subprocess.run(
            ["/bin/bash", self.out / "slurm/report.sh", "7"], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin"})
        return done.returncode, done.stdout

    def test_the_report_names_what_is_missing(self):
        self.submitted()
        for shard in range(4):
            self.put(f"out/mine/records-{shard}-of-4.banyan", "records")
            self.put(f"out/mine/slurm/shard-{shard}.log", "log")
            self.put(f"out/mine/slurm/shard-{shard}.done", "")
        code, text = self.report()
        self.assertEqual(code, 0, text)
        self.assertIn("4 of 4 shards are complete", text)
        self.assertIn("an answer", text)
        self.assertNotIn("--tasks", text)
        (self.out / "slurm/shard-1.done").unlink()
        (self.out / "records-3-of-4.banyan").unlink()
        (self.out / "slurm/shard-3.log").unlink()
        self.put("bin/scontrol.does", """
echo "   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)"
echo "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=1:0"
echo "   ReqNodeList=(null) ExcNodeList=(null)"
echo "   NodeList=node9"
[[ $3 != 7_1 ]] || echo "   Comment=why it failed"
""")
        code, text = self.report()
        self.assertEqual(code, 1, text)
        facts = "FAILED (NonZeroExitCode), exit 1:0, on node9"
        self.assertIn(f"  shard 1: begun, {facts}, why it failed\n", text)
        self.assertIn(f"  shard 3: nothing recorded, no log, {facts}\n", text)
        self.assertIn("2 of 4 shards are complete", text)
        self.assertIn("--tasks 1,3\n", text)
        self.assertIn("an answer", text)


if __name__ == "__main__":
    unittest.main()
