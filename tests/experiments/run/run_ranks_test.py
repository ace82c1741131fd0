"""Several ranks that share one target (mpirun): the records of one process, whatever
their number; ranks that differ, end or fall silent.

    run_ranks_test.py PROGRAM RANKS [TEST ...]

RANKS are the numbers of ranks that records are compared for, as 2,3. The working directory
is the project's root.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from run_case import PROGRAM, RunCase, in_yaml, run  # noqa: E402

RANKS = [int(number) for number in sys.argv.pop(1).split(",")]
ROOT = pathlib.Path.cwd()
TARGET = ROOT / "models/pycode-target"
PRESETS = ROOT / "configs/methods_2m.yaml"
TIMES = ("prefill_ns", "peak_memory_bytes", "admitted_ns", "ended_ns", "draft_ns",
         "derive_ns", "target_ns", "verify_ns", "commit_ns", "device_ns")


def mpirun(count, *arguments):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(count),
            *map(str, arguments)]


def launch(command, **options):
    return subprocess.run(command, text=True, capture_output=True, check=False,
                          timeout=600, **options)


def without_times(record):
    if isinstance(record, list):
        return [without_times(part) for part in record]
    if isinstance(record, dict):
        return {key: without_times(value) for key, value in record.items()
                if key not in TIMES}
    return record


def processes(marker):
    """Those whose command line holds `marker`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in line and "run_ranks_test" not in line and \
                not line.startswith("mpirun"):
            found.append(int(entry.name))
    return found


class RanksTest(RunCase):

    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def alike(self, settings):
        """Runs the shipped presets alone and on ranks; compares every record."""
        common = [PRESETS, "--threads", "1"]
        for setting in settings:
            common += ["--set", setting]
        whole = self.folder / "whole"
        done = run("run", *common, "--out", whole)
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = {key: without_times(record)
                    for key, record in self.records(whole).items()}
        for count in RANKS:
            out = self.folder / f"ranks-{count}"
            done = launch(mpirun(count, PROGRAM, "run", *common, "--out", out))
            self.assertEqual(done.returncode, 0, done.stderr)
            found = self.records(out)
            self.assertEqual(sorted(found), sorted(expected))
            for key, record in found.items():
                self.assertEqual(without_times(record), expected[key], key)
            context = json.loads(run("export", out, "--format", "context")
                                 .stdout)["context"]
            machine = context["machine"]
            self.assertEqual(max(machine["ranks"], 1), count)
        return expected

    def test_every_preset_records_what_one_process_does(self):
        index = self.folder / "index"
        done = run("make", "index", "--model", TARGET, "--out", index,
                   ROOT / "README.md")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = self.alike(["workload.prompts=1", "limits.max_new_tokens=24",
                               "matrix.sampling.temperature=[0]",
                               f"methods.rest.models.library.index={index}"])
        # And plain decoding.
        self.assertEqual(len(expected), PRESETS.read_text().count("{preset: ") + 1)

    def write(self, temperature=1, tokens=40, target=TARGET):
        self.write_prompts({"id": f"p{i}", "ids": [1, 5 + i, 9, 40 + i]}
                           for i in range(6))
        self.file.write_text(f"""
question: Do ranks draw what one process draws?
target: {{directory: {in_yaml(target)}}}
workload: {{file: prompts.jsonl}}
limits: {{max_new_tokens: {tokens}, ignore_eos: true}}
sampling: {{temperature: {temperature}}}
methods:
  tree:
    models: {{draft: {{directory: {in_yaml(ROOT / 'models/pycode-draft-1')}}}}}
    drafters: [{{name: small_model, model: draft}}]
    policy: {{name: expansion, branching: [3, 2, 1]}}
    verifier: {{name: multi_round}}
  learns:
    drafters: [{{name: ngram, reset: never, history: 0}}]
    policy: {{name: chain, nodes: 3}}
    verifier: {{name: match}}
""")

    def test_draws_are_those_of_one_process(self):
        self.write()
        whole = self.folder / "whole"
        self.run_all(whole, "--threads", "1")
        expected = without_times(self.records(whole))
        for count in RANKS:
            out = self.folder / f"ranks-{count}"
            done = launch(mpirun(count, PROGRAM, "run", self.file, "--out", out,
                                 "--threads", "1"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(without_times(self.records(out)), expected)

    def test_texts_are_printed_once(self):
        asked = ["generate", "--model", TARGET, "--prompt", "def add(a, b):",
                 "--max-new-tokens", "16", "--temperature", "0", "--threads", "1"]
        alone = run(*asked)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for count in RANKS:
            done = launch(mpirun(count, PROGRAM, *asked))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, alone.stdout)

    def test_a_killed_rank_ends_all_and_the_run_goes_on_later(self):
        self.write(tokens=300)
        whole = self.folder / "whole"
        self.run_all(whole, "--threads", "1")
        expected = without_times(self.records(whole))
        with subprocess.Popen(
                mpirun(2, PROGRAM, "run", self.file, "--out", self.out,
                       "--threads", "1"), stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True) as process:
            self.wait_for_record()
            ranks = processes(str(self.file))
            os.kill(max(ranks), signal.SIGKILL)
            process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
        deadline = time.monotonic() + 10
        while processes(str(self.file)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(processes(str(self.file)), [])
        for key, record in self.records(self.out).items():
            self.assertEqual(without_times(record), expected[key])
        done = launch(mpirun(2, PROGRAM, "run", self.file, "--out", self.out,
                             "--threads", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(without_times(self.records(self.out)), expected)

    def wait_for_record(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for path in self.out.glob("*.banyan"):
                if run("export", path, "--format", "jsonl").stdout:
                    return
            time.sleep(0.01)
        self.fail("no record in 60 s")

    def test_a_silent_rank_is_named(self):
        self.write(tokens=400)
        with subprocess.Popen(
                mpirun(3, PROGRAM, "run", self.file, "--out", self.out,
                       "--threads", "1", "--gather-timeout", "2"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as process:
            self.wait_for_record()
            silent = self.process_of_rank(1)
            os.kill(silent, signal.SIGSTOP)
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1 did not answer for 2 s", err)

    def test_a_rank_that_is_only_late_is_told_so(self):
        self.write(tokens=400)
        with subprocess.Popen(
                mpirun(2, PROGRAM, "run", self.file, "--out", self.out,
                       "--threads", "1", "--gather-timeout", "3"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as process:
            self.wait_for_record()
            late = self.process_of_rank(1)
            os.kill(late, signal.SIGSTOP)
            time.sleep(3.5)  # it is waited for two seconds longer
            os.kill(late, signal.SIGCONT)
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
        self.assertRegex(err, r"rank 1 answered after [\d.]+ s, expected within "
                              r"3 s \(--gather-timeout\) for gather \d+")
        self.assertNotIn("differently", err)

    def test_no_time_at_all_makes_ranks_late_and_not_different(self):
        for count in RANKS:
            done = launch(mpirun(count, PROGRAM, "generate", "--model", TARGET,
                                 "--prompt", "def", "--threads", "1",
                                 "--gather-timeout", "1e-9"))
            self.assertNotEqual(done.returncode, 0)
            # On a busy machine a rank may not even answer.
            self.assertRegex(done.stderr, "(answered after .* within|did not "
                                          "answer for) 1e-09 s")
            self.assertNotIn("differently", done.stderr)

    def test_launch_variables_that_contradict_are_refused(self):
        for asked in (["generate", "--model", TARGET, "--prompt", "def"], ["list"]):
            done = launch([PROGRAM, *map(str, asked)],
                          env={**os.environ, "PMI_RANK": "1", "PMI_SIZE": "1"})
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected PMI_RANK from 0 on and below PMI_SIZE",
                          done.stderr)
            self.assertIn("found PMI_RANK=1 and PMI_SIZE=1", done.stderr)

    def process_of_rank(self, rank):
        for number in processes(str(self.file)):
            text = pathlib.Path(f"/proc/{number}/environ").read_bytes()
            if f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in text:
                return number
        self.fail(f"no process of rank {rank}")

    def test_ranks_with_other_options_or_files_are_refused(self):
        asked = [str(pathlib.Path(PROGRAM).resolve()), "generate", "--model", "model", "--prompt", "def",
                 "--max-new-tokens", "4"]
        for name in ("a", "b"):
            shutil.copytree(TARGET, self.folder / name / "model")
        weights = self.folder / "b" / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)

        def both(first, second):
            return launch(["mpirun", "--allow-run-as-root", "--oversubscribe",
                           "-np", "1", *first, ":", "-np", "1", *second])
        where = [["--wdir", str(self.folder / name)] for name in ("a", "b")]
        done = both(where[0] + asked, where[1] + asked)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 differs from rank 0: model/model.safetensors",
                      done.stderr)
        done = both(where[0] + asked, where[0] + asked + ["--seed", "1"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("rank 1 differs from rank 0: options", done.stderr)

    def test_what_cannot_be_shared_is_refused(self):
        pack = self.folder / "target.pack"
        done = run("pack", "--model", TARGET, "--weights", "q8", "--out", pack)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.write(target=pack)
        text = self.file.read_text()
        self.file.write_text(text.replace(str(pack) + '"',
                                          str(pack) + '", memory: 100MB'))
        for asked, said in (
                (["generate", "--model", TARGET, "--prompt", "a", "--device",
                  "emulated_gpu"], "several ranks share a model on cpu or reference"),
                (["generate", "--model", pack, "--prompt", "a", "--memory",
                  "100MB"], "expected no bound on memory with several ranks"),
                (["generate", "--model", pack, "--prompt", "a"],
                 "several ranks read no packed q8 weights"),
                (["run", self.file, "--out", self.out],
                 "expected no bound on memory with several ranks"),
                (["generate", "--model", TARGET, "--prompt", "a", "--link",
                  "fast"], "expected a rate and a latency"),
                (["generate", "--model", TARGET, "--prompt", "a",
                  "--gather-timeout", "0"], "expected seconds above 0"),
                (["text", "score", "--model", TARGET, "--text", "a"],
                 "only generate, measure and run share their work")):
            done = launch(mpirun(2, PROGRAM, *asked))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)
        done = launch(mpirun(17, PROGRAM, "generate", "--model", TARGET, "--prompt",
                             "a", "--threads", "1"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("expected at most 16, found 17", done.stderr)

    def test_a_signal_ends_all_ranks_after_the_record(self):
        self.write(tokens=400)
        with subprocess.Popen(
                mpirun(2, PROGRAM, "run", self.file, "--out", self.out,
                       "--threads", "1"), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True) as process:
            self.wait_for_record()
            os.kill(self.process_of_rank(0), signal.SIGUSR1)
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 4, err)
        self.assertIn("stopped as asked", err)

    def test_a_run_goes_on_over_what_one_process_recorded(self):
        self.write()
        whole = self.folder / "whole"
        self.run_all(whole, "--threads", "1")
        expected = without_times(self.records(whole))
        self.run_all(self.out, "--threads", "1")
        path, = self.out.glob("*.banyan")
        path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
        asked = ["run", self.file, "--out", self.out, "--threads", "1"]
        done = launch(mpirun(2, PROGRAM, *asked))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("2 ranks on 1 machine (mpi)", done.stderr)
        done = launch(mpirun(2, PROGRAM, *asked, "--onto", "new"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(self.out.glob("*.banyan"))), 2)
        found = {}
        for file in self.out.glob("*.banyan"):
            done = run("export", file, "--format", "jsonl")
            for line in done.stdout.splitlines():
                entry = json.loads(line)
                record = without_times(entry["record"])
                key = (entry["cell"], record["id"], record["turn"])
                self.assertEqual(found.setdefault(key, record), record)
        self.assertEqual(found, expected)

    def test_measured_costs_are_those_of_rank_0(self):
        self.write(tokens=16, temperature=0)
        # Of the same model, padded to another size.
        costs = (ROOT / "configs/costs/pycode.yaml").read_text()
        (self.folder / "costs.yaml").write_text(
            costs.replace("pycode-110m", TARGET.name))
        self.file.write_text(self.file.read_text() + f"""
  sized:
    models: {{draft: {{directory: {in_yaml(ROOT / 'models/pycode-draft-1')}}}}}
    drafters: [{{name: small_model, model: draft}}]
    policy:
      name: sequoia
      acceptance: !include {in_yaml(ROOT / 'configs/costs/2m.yaml')}
      nodes: measured
    verifier: {{name: without_replacement}}
costs: !include costs.yaml
""")
        asked = mpirun(2, PROGRAM, "run", self.file, "--out", self.out, "--threads",
                       "1")
        done = launch(asked)
        self.assertEqual(done.returncode, 0, done.stderr)
        context = json.loads(run("export", self.out, "--format", "context")
                             .stdout)["context"]
        self.assertGreater(len(context["costs"]["passes"]), 0)
        done = launch(asked)  # takes them from the records
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("measuring", done.stderr)

    def test_passes_are_measured_beside_the_formula(self):
        done = launch(mpirun(2, PROGRAM, "measure", "--model", TARGET, "--batch",
                             "1,16", "--context", "32", "--rounds", "3",
                             "--threads", "1", "--json", "--link",
                             "1Gbit,0.1ms"))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["ranks"], 2)
        self.assertIn("emulated 1Gbit,0.1ms", found["link"])
        self.assertEqual([row["tokens"] for row in found["gathers"]], [1, 16])
        for row in found["gathers"]:
            self.assertEqual(row["gathers"], row["gathers_by_formula"])
            formula = row["received_bytes_by_formula"]
            # And a hash of what was decoded.
            self.assertAlmostEqual(row["received_bytes"], formula, delta=16)
            self.assertGreaterEqual(row["gather_ms"], row["gather_ms_by_formula"])


if __name__ == "__main__":
    unittest.main()
