"""Tests of scripts/gpu_check, the `check` of a bundle, where there is no GPU.

    gpu_check_test.py PROGRAM    the program `banyan`, with which some steps run
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_GPU = (os.path.exists("/dev/nvidia0") or
           shutil.which("nvidia-smi") is not None)
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS = ["probe", "bits", "first", "ops", "rounds", "presets", "pass_1b", "kernels",
         "levels", "host_rounds", "smollm2", "trees_1b", "pass_7b", "fast", "sanitizer", "torch"]


class GpuCheckTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bundle = pathlib.Path(self.folder.name) / "bundle"
        self.bundle.mkdir()
        shutil.copy(ROOT / "scripts" / "gpu_check", self.bundle / "check")

    def check(self, *arguments, program="bundle/check", **environment):
        """From the folder beside it, as a user would call it."""
        return subprocess.run(
            ["bash", program, *arguments], cwd=self.folder.name, text=True,
            env={**os.environ, **environment}, capture_output=True,
            check=False)

    def status(self, step):
        path = self.bundle / "results" / f"{step}.status"
        return path.read_text(encoding="utf-8").split()[0]

    def test_says_what_it_does_and_its_steps(self):
        told = self.check("--help")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("check [--minutes N] [STEP ...]", told.stdout)
        listed = self.check("--list").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], STEPS)

    def test_refuses_what_it_does_not_know(self):
        for argument in ("third", "--fast"):
            self.assertEqual(self.check(argument).returncode, 2, argument)

    @unittest.skipIf(HAS_GPU, "there is a GPU here, which would be checked")
    def test_without_a_gpu_every_step_is_skipped_with_that_reason(self):
        told = self.check()
        self.assertEqual(told.returncode, 0, told.stderr)
        summary = json.loads((self.bundle / "results" / "summary.json")
                             .read_text(encoding="utf-8"))
        self.assertEqual([(step["name"], step["status"])
                          for step in summary["steps"]],
                         [(step, "skipped") for step in STEPS])
        self.assertEqual(told.stdout.count("nvidia-smi shows no GPU"),
                         len(STEPS))

    def program(self, script, name="device_rounds_test"):
        (self.bundle / "bin").mkdir(exist_ok=True)
        path = self.bundle / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path.parent

    def on_a_gpu(self, step, **environment):
        """The step, where nvidia-smi names a GPU."""
        folder = self.program("echo GPU 0", "nvidia-smi")
        return self.check(step, PATH=f"{folder}:{os.environ['PATH']}",
                          **environment)

    def test_runs_a_step_from_any_folder(self):
        self.program('echo "on $BANYAN_TEST_DEVICE"')
        told = self.check("rounds", BANYAN_CHECK_DEVICE="emulated_gpu")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("on emulated_gpu", told.stdout)
        self.assertEqual(self.status("rounds"), "ok")

    def test_steps_run_with_the_program_on_this_processor(self):
        (self.bundle / "bin").mkdir()
        (self.bundle / "bin" / "banyan").symlink_to(PROGRAM)
        for name in ("models", "configs", "experiments"):
            (self.bundle / name).symlink_to(ROOT / name)
        steps = ("first", "presets", "levels")
        told = self.check(*steps, BANYAN_CHECK_DEVICE="cpu")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertEqual([self.status(step) for step in steps], ["ok"] * 3)
        self.assertRegex(told.stdout,
                         r"Lossless: at T = 0, 1\d\d texts equal plain decoding's")
        for drafter in ("draft-1", "draft-2", "eagle3"):
            self.assertIn(f"{drafter}, a chain of 9: banyan: text: 256 tokens",
                          told.stdout)

    def test_its_archive_gives_the_tables_of_the_documents(self):
        (self.bundle / "bin").mkdir()
        (self.bundle / "bin" / "banyan").symlink_to(PROGRAM)
        (self.bundle / "models").symlink_to(ROOT / "models")
        (self.bundle / "grown").mkdir()
        (self.bundle / "grown" / "1b").symlink_to(ROOT / "models" / "pycode-target")
        (self.bundle / "grown" / "1b-heads").symlink_to(ROOT / "models" /
                                                        "pycode-eagle3")
        told = self.check("pass_1b", "host_rounds", BANYAN_CHECK_DEVICE="cpu")
        self.assertIn("results.tar.gz", told.stdout)
        self.assertIn("left out: no models/SmolLM2-135M", told.stdout)
        # As the device rounds of a GPU would have it.
        with (self.bundle / "results" / "levels.log").open("w", encoding="utf-8") as out:
            for length, rounds, took in ((1, 100, 150), (9, 50, 131)):
                out.write(f"eagle3, a chain of {length}: banyan: text: 256 tokens at 1 "
                          f"tokens/s; 2.6 tokens per target pass in {rounds} rounds; ok\n"
                          f"banyan: ms: prefill 1.0, draft 0.0, device {took}.0\n")
        self.check("--summary")
        report = [ROOT / "scripts" / "gpu_report", "--program", PROGRAM]
        told = subprocess.run([*report, self.bundle / "results"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("| `pass_1b` | ok |", told.stdout)
        self.assertRegex(told.stdout, r"\| tokens \| 1 \| 2 \| 3 \|")
        self.assertRegex(told.stdout, r"\| 1B after 128 \| [\d.]+ \|")
        self.assertIn("| eagle3 | 1.500 | 2.620 | 0.140 |", told.stdout)
        self.assertRegex(told.stdout,
                         r"\| 1b \| [\d.]+ \| [\d.]+ \| [\d.]+x \| [\d.]+ to ")
        archive = self.bundle / "results.tar.gz"
        told = subprocess.run([*report, archive], text=True, capture_output=True,
                              check=False)
        self.assertIn("| `pass_1b` | ok |", told.stdout)
        archive.write_text("no archive", encoding="utf-8")
        told = subprocess.run([*report, archive], text=True, capture_output=True,
                              check=False)
        self.assertEqual(told.returncode, 1)
        self.assertIn("results.tar.gz: ", told.stderr)

    def test_stops_when_its_minutes_are_over(self):
        self.program("sleep 20")
        told = self.check("--minutes", "0.1", "rounds", "presets",
                          BANYAN_CHECK_DEVICE="emulated_gpu")
        self.assertEqual(self.status("rounds"), "cut", told.stdout)
        self.assertIn("0.1 minutes are over before presets", told.stdout)
        self.assertEqual(self.check("--minutes", "few").returncode, 2)

    def test_the_probe_keeps_its_table(self):
        self.program("echo ring 1 GB/s", "gpu_probe")
        gpu = 'case $* in *compute_cap*) echo 9.0 ;; *) echo NVIDIA H200 ;; esac'
        folder = self.program(gpu, "nvidia-smi")
        told = self.check("probe", BANYAN_CHECK_DEVICE="emulated_gpu",
                          PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(self.status("probe"), "ok", told.stdout)
        tables = list((self.bundle / "results").glob("*-NVIDIA-H200.txt"))
        self.assertEqual([table.read_text(encoding="utf-8")
                          for table in tables], ["ring 1 GB/s\n"])
        self.program("echo 8.6", "nvidia-smi")
        told = self.check("probe", BANYAN_CHECK_DEVICE="emulated_gpu",
                          PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(self.status("probe"), "skipped")
        self.assertIn("this GPU has 8.6", told.stdout)

    def test_a_probe_that_fails_fails_its_step(self):
        self.program("exit 1", "gpu_probe")
        folder = self.program("echo 9.0", "nvidia-smi")
        self.check("probe", BANYAN_CHECK_DEVICE="emulated_gpu",
                   PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(self.status("probe"), "failed")

    def test_bits_are_those_of_the_device(self):
        self.program('echo "bits of $1, models: $(ls models)"', "gpu_bits")
        models = pathlib.Path(self.folder.name) / "of_a_checkout"
        (models / "small").mkdir(parents=True)
        told = self.check("bits", BANYAN_CHECK_DEVICE="emulated_gpu",
                          BANYAN_CHECK_MODELS=str(models))
        self.assertEqual(self.status("bits"), "ok", told.stdout)
        self.assertIn("bits of emulated_gpu, models: small", told.stdout)

    def test_ops_that_no_gpu_ran_are_no_success(self):
        # A line each, as gtest writes them, and more after the one looked for.
        skipping = "\n".join(["echo '[  SKIPPED ] Devices.HaveAGpuAmongThem'",
                              "for i in {1..50}; do echo more; sleep .01; done"])
        self.program(skipping, "ops_test")
        told = self.on_a_gpu("ops")
        self.assertEqual(self.status("ops"), "failed", told.stdout)
        self.program("echo '[       OK ] Devices.HaveAGpuAmongThem'",
                     "ops_test")
        told = self.on_a_gpu("ops")
        self.assertEqual(self.status("ops"), "ok", told.stdout)

    def test_without_cublas_fast_products_are_skipped(self):
        self.program("echo 'banyan: cuda: fast needs cuBLAS: none here' >&2\n"
                     "exit 2", "banyan")
        told = self.on_a_gpu("fast")
        self.assertEqual(self.status("fast"), "skipped", told.stdout)
        self.assertIn("none here", told.stdout)
        self.program("exit 1", "banyan")
        self.on_a_gpu("fast")
        self.assertEqual(self.status("fast"), "failed")

    def test_finds_the_libraries_that_pypi_installed(self):
        lib = pathlib.Path(self.folder.name) / "site" / "nvidia" / "cu13" / "lib"
        lib.mkdir(parents=True)
        self.program('echo "in $LD_LIBRARY_PATH"')
        told = self.check("rounds", BANYAN_CHECK_DEVICE="emulated_gpu",
                          PYTHONPATH=str(lib.parents[2]))
        self.assertIn(str(lib), told.stdout)

    def test_adds_up_the_times_of_kernels_by_name(self):
        (self.bundle / "grown" / "1b").mkdir(parents=True)
        (self.bundle / "grown" / "1b" / "config.json").touch()
        shutil.copy(ROOT / "scripts" / "gpu_kernels.py",
                    self.bundle / "kernels.py")
        rows = ['"Kernel Name","Grid Size","dram__throughput.avg","gpu__time_duration.sum"',
                '"","","%","ns"']
        for time, share in (("1,500", "20"), ("4,500", "60")):
            rows.append('"void banyan::on_nvidia::Run<banyan::on_nvidia::<unnamed>::'
                        f'Norm<(int)1>>(T1)","(8, 1, 1)","{share}","{time}"')
        table = "\n".join(["==PROF== connected", *rows])
        folder = self.program(f"cat <<'TABLE'\n{table}\nTABLE", "ncu")
        told = self.check("kernels", BANYAN_CHECK_DEVICE="emulated_gpu",
                          PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(self.status("kernels"), "ok", told.stdout)
        self.assertRegex(told.stdout, r"6\.0 +2 +3\.00 +50\.0  Run<Norm<1>> of 8")
        self.program("echo nothing", "ncu")
        self.check("kernels", BANYAN_CHECK_DEVICE="emulated_gpu",
                   PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(self.status("kernels"), "failed")

    def test_without_smollm2_its_step_is_skipped(self):
        told = self.check("smollm2", BANYAN_CHECK_DEVICE="emulated_gpu")
        self.assertEqual(self.status("smollm2"), "skipped", told.stdout)
        self.assertIn("scripts/models smollm2", told.stdout)

    def test_a_step_that_fails_fails_the_check(self):
        self.program("echo broken; exit 1")
        told = self.check("rounds", BANYAN_CHECK_DEVICE="emulated_gpu")
        self.assertEqual(told.returncode, 1)
        self.assertEqual(self.status("rounds"), "failed")
        self.assertIn("broken", told.stdout)


if __name__ == "__main__":
    unittest.main()
