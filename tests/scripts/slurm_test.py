"""Tests of scripts/slurm with stand-ins for banyan and Slurm: what it refuses, and what it
writes (goldens in tests/goldens/slurm).

    slurm_test.py [--write]     --write: writes the goldens anew
"""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
from slurm_stand_ins import CHECK, PROJECT, SlurmCase  # noqa: E402

GOLDENS = PROJECT / "tests/goldens/slurm"
WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")


class SlurmTest(SlurmCase):

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
        self.submitted("--device", "emulated_gpu", "--instruction-set", "AVX2", "--fast",
                       "--gres=gpu:1")
        words = ("--device", "emulated_gpu", "--instruction-set", "AVX2", "--fast")
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


if __name__ == "__main__":
    unittest.main()
