"""A task of scripts/slurm that is told to stop, or is requeued, goes on where it was: on
a real Slurm with one node, in seconds. Skipped where Slurm is not installed."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cluster  # noqa: E402 (the path comes first)
from shards import PROJECT, Submitted  # noqa: E402

PROGRAM = sys.argv.pop(1)


class RequeueTest(unittest.TestCase):

    def test_a_task_that_is_stopped_or_requeued_goes_on(self):
        with cluster.Cluster() as slurm:
            run = Submitted(slurm, PROGRAM, PROJECT / "configs/hello.yaml",
                            ["workload.prompts=16", "limits.max_new_tokens=64"], 2)
            run.submit()
            # As Slurm does before the time limit.
            run.wait_for_records(0, 2)
            slurm.run("scancel", "--signal=USR1", "--batch", f"{run.array}_0")
            run.wait_for_records(1, 1)
            slurm.run("scontrol", "requeue", f"{run.array}_1")
            run.wait_for_end()
            for shard in 0, 1:
                self.assertIn("restart 1", run.log(shard), slurm.told())
            self.assertIn("asks Slurm to requeue", run.log(0))
            self.assertIn("stopped as asked", run.log(0))
            self.assertIn("2 of 2 shards are complete", run.report())
            self.assertTrue((run.out / "report.html").exists())
            self.assertEqual(run.records(), run.unsharded())


if __name__ == "__main__":
    why = cluster.missing()
    if why:
        print(why)
        sys.exit(77)
    unittest.main()
