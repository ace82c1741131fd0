"""Tests of scripts/slurm on a real Slurm of two nodes on this machine: what is killed,
requeued or lost loses and doubles no record. `scripts/test --cluster` runs them.

    slurm_cluster_test.py BANYAN [ClusterTest.NAME]
"""

import pathlib
import shlex
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cluster  # noqa: E402 (the path comes first)
from shards import PROJECT, Submitted  # noqa: E402

PROGRAM = sys.argv.pop(1)
FILE = PROJECT / "configs/hello.yaml"
SETTINGS = ["workload.prompts=96", "limits.max_new_tokens=64"]
# A cell that carries state from prompt to prompt.
CARRIES = f"methods.chain.preset={PROJECT}/configs/methods/suffix_warm.yaml"


class ClusterTest(unittest.TestCase):

    def running(self, slurm, run, node=None):
        """A shard that has begun and is not the node's, unless it is asked for."""
        for job, state, where, _ in slurm.jobs():
            if state == "RUNNING" and job.startswith(f"{run.array}_") and \
                    node in (None, where):
                return int(job.split("_")[1])
        return None

    def wait_for_shard(self, slurm, run, node, but=()):
        """The shard that a node runs, once it has records."""
        found = []

        def begun():
            shard = self.running(slurm, run, node)
            if shard is None or shard in but or run.size(shard) == 0:
                return False
            found.append(shard)
            return True
        slurm.wait(begun, 120, f"shard on {node}")
        run.wait_for_records(found[-1], 2)
        return found[-1]

    def test_killed_tasks_and_nodes_lose_nothing(self):
        with cluster.Cluster() as slurm:
            run = Submitted(slurm, PROGRAM, FILE, [*SETTINGS, CARRIES], 8)
            self.assertIn("whole, in one task: chain (it carries state", run.submit())

            killed = self.wait_for_shard(slurm, run, "n1")
            programs = slurm.processes(f"--shard\0{killed}/8\0")
            self.assertTrue(programs, slurm.told())
            for program in programs:
                cluster.kill(program)

            requeued = self.wait_for_shard(slurm, run, "n1", but=[killed])
            slurm.run("scontrol", "requeue", f"{run.array}_{requeued}")

            dead = self.wait_for_shard(slurm, run, "n2", but=[killed, requeued])
            self.assertEqual(slurm.kill_node("n2"), [f"{run.array}_{dead}"])
            slurm.wait(lambda: (f"{run.array}_{dead}", "RUNNING", "n2") not in
                       [job[:3] for job in slurm.jobs()], 120, "requeue of the node's")
            slurm.start_node("n2")
            run.wait_for_end()

            report = run.report()
            self.assertIn("7 of 8 shards are complete", report, slurm.told())
            self.assertIn(f"shard {killed}: begun, FAILED (NonZeroExitCode), exit 1:0",
                          report)
            self.assertIn("banyan run ended with exit status 137", report)
            for shard in requeued, dead:
                self.assertIn("restart 1", run.log(shard), slurm.told())
            slurm.run("bash", "-c", run.command_of_report())
            run.wait_for_end()
            self.assertIn("8 of 8 shards are complete", run.report(), slurm.told())
            self.assertEqual(run.records(), run.unsharded())

    def test_a_task_ends_before_its_time_limit_and_goes_on(self):
        with cluster.Cluster(("n1",)) as slurm:
            # The least limit is three minutes, and the signal comes one or two minutes
            # before it. The work takes longer.
            run = Submitted(slurm, PROGRAM, FILE,
                            ["workload.prompts=0", "limits.max_new_tokens=700",
                             "seeds=[0, 1, 2]"], 1)
            run.submit("--time", "3")
            slurm.wait(lambda: "restart 1" in run.log(0), 240, "restart")
            self.assertIn("stopped as asked", run.log(0))
            self.assertNotIn("TIME LIMIT", run.log(0))
            run.wait_for_records(0, 2)
            slurm.run("scancel", run.array)
            run.wait_for_end()
            self.assertIn("shard 0: begun, CANCELLED", run.report(), slurm.told())

    def test_a_folder_that_is_not_shared_is_told(self):
        with cluster.Cluster(("n1",)) as slurm:
            run = Submitted(slurm, PROGRAM, FILE, SETTINGS, 2)
            (run.out / "slurm").mkdir(parents=True)
            other = slurm.folder / "disk of n2"
            (other / "out/slurm").mkdir(parents=True)
            slurm.start_node("n2", "unshare", "--mount", "sh", "-c",
                             'mount --bind "$1" "$2"; shift 2; exec "$@"', "sh", other,
                             run.out.parent)
            slurm.wait(lambda: slurm.idle() == 2, 30, "second node")
            run.submit("--nodelist=n2", "--tasks", "1")
            run.wait_for_end()
            line = f"on n2 {run.out} is not the folder that scripts/slurm wrote to"
            self.assertIn(line, run.report(), slurm.told())
            self.assertIn("0 of 2 shards are complete", run.report())
            self.assertEqual(list(run.out.glob("*.banyan")), [])
            self.assertIn("is not the folder",
                          (other / "out/slurm/shard-1.log").read_text())
            # Without the folder Slurm cannot open the log either.
            shutil.rmtree(other / "out")
            run.submit("--nodelist=n2", "--tasks", "1")
            run.wait_for_end()
            self.assertIn("shard 1: nothing recorded, no log, FAILED "
                          "(JobLaunchFailure), exit 0:53, on n2", run.report(),
                          slurm.told())

    def test_parallel_runs_the_shards(self):
        text = (PROJECT / "docs/clusters.md").read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if "    parallel " in line)
        with cluster.Cluster(()) as slurm:  # its folder, without a node
            run = Submitted(slurm, PROGRAM, FILE, ["workload.prompts=12"], 8)
            run.out.mkdir(parents=True)
            for words, mine in (
                    ("host1,host2", ":"),  # this machine
                    ("build/release/banyan", PROGRAM),
                    ("configs/hello.yaml", shlex.join([str(FILE), *run.settings])),
                    ("out/hello", shlex.quote(shlex.quote(str(run.out))))):
                self.assertIn(words, line)
                line = line.replace(words, str(mine))
            for _ in range(2):
                subprocess.run(["bash", "-c", line], check=True, cwd=slurm.folder,
                               env=slurm.environment, capture_output=True)
            self.assertEqual(len(list(run.out.glob("*.banyan"))), 8)
            self.assertEqual(run.records(), run.unsharded())


if __name__ == "__main__":
    why = cluster.missing()
    if why:
        print(why)
        sys.exit(77)
    unittest.main()
