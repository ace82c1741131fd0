"""Tests of the job scripts that scripts/slurm writes: what a task does, and what the
report says. Slurm and banyan are stand-ins."""

import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from slurm_stand_ins import RECORD, SlurmCase  # noqa: E402


class SlurmJobsTest(SlurmCase):

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
