"""Tests of scripts/run, with a program and a build that are made up."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """\
#!/bin/sh
echo "$1" >>"$0.called"
echo "$@" >>"$0.commands"
while [ $# -gt 1 ]; do
  [ "$1" != --out ] || out=$2
  shift
done
case $(tail -n 1 "$0.called") in
  check) exit CHECK ;;
  run) mkdir -p "$out"; exit RUN ;;
  report) echo page >"$out"; exit REPORT ;;
esac
"""


class RunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in "common.sh", "run":
            self.put(f"scripts/{name}",
                     (PROJECT / "scripts" / name).read_text())
        self.put("scripts/setup", "#!/bin/sh\n")
        self.put("bin/cmake", "#!/bin/sh\n")
        self.put("configs/specinfer_vs_chain.yaml", "question: q\n")
        self.put("configs/smollm2.yaml", "base: models/smollm2.yaml\n")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *arguments, run, report, models=4, check=1):
        self.put("scripts/models", f"""#!/bin/sh
echo "$@" >>"$0.called"
[ "$1" != smollm2 ] || exit {models}
""")
        self.put("build/release/banyan", PROGRAM.replace(
            "RUN", str(run)).replace("REPORT", str(report)).replace(
                "CHECK", str(check)))
        return subprocess.run(
            [self.root / "scripts/run", *arguments], check=False, capture_output=True,
            text=True, env={"PATH": f"{self.root}/bin:/usr/bin:/bin"})

    def page(self):
        return self.root / "out/specinfer_vs_chain/report.html"

    def test_a_refuted_claim_ends_it_with_3_after_the_page(self):
        done = self.run_script(run=3, report=3)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertTrue(self.page().exists())
        self.assertIn("report.html", done.stdout)

    def test_records_that_refute_it_are_enough(self):
        self.assertEqual(self.run_script(run=0, report=3).returncode, 3)

    def test_without_one_it_ends_well(self):
        done = self.run_script(run=0, report=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(self.page().exists())

    def commands(self):
        return (self.root / "build/release/banyan.commands").read_text().splitlines()

    def test_hello_compares_on_the_model_that_was_fetched(self):
        done = self.run_script("hello", run=1, report=1, models=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (command,) = self.commands()
        self.assertIn("generate --model build/models/SmolLM2", command)
        self.assertIn(" --chat ", command)
        self.assertTrue(command.endswith(" --compare"), command)
        self.assertIn("This will:", done.stdout)
        self.assertLess(done.stdout.index("This will:"), done.stdout.index("-- "))
        self.assertIn("scripts/run configs/hello.yaml", done.stdout)

    def test_hello_goes_on_without_a_network(self):
        done = self.run_script("hello", run=1, report=1, models=4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (command,) = self.commands()
        self.assertIn("generate --model models/pycode-target", command)
        self.assertIn("without SmolLM2", done.stdout)

    def test_hello_is_by_one_of_the_fastest_presets_as_measured(self):
        text = (PROJECT / "scripts/run").read_text()
        method, = re.findall(r"local of=\$model method=(\w+)", text)
        measured = json.loads((PROJECT / "configs/measured_presets.json").read_text())
        of_smollm2 = measured["SmolLM2-135M-Instruct.Q4_1.gguf"]
        fastest = max(numbers["speedup"] for numbers in of_smollm2.values())
        self.assertGreater(of_smollm2[method]["speedup"], max(1, .9 * fastest))

    def models_made(self):
        return (self.root / "scripts/models.called").read_text().split()

    def test_it_runs_on_the_model_that_was_fetched(self):
        done = self.run_script(run=0, report=0, models=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.root / "out/smollm2/report.html").exists())
        self.assertFalse(self.page().exists())
        self.assertEqual(["smollm2", "smollm2"], self.models_made())

    def test_the_models_of_a_base_are_made(self):
        self.put("configs/larger.yaml", "base: models/smollm2_1b.yaml\n")
        done = self.run_script(self.root / "configs/larger.yaml", run=0, report=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(["smollm2-1b"], self.models_made())
        self.put("configs/bases/methods.yaml", "base: ../models/smollm2_7b.yaml\n")
        self.put("configs/methods.yaml", "base: bases/methods.yaml  # with methods\n")
        done = self.run_script(self.root / "configs/methods.yaml", run=0, report=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(["smollm2-1b", "smollm2-7b"], self.models_made())
        self.put("configs/own.yaml", "base: models/mine.yaml\n")
        done = self.run_script(self.root / "configs/own.yaml", run=0, report=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(["smollm2-1b", "smollm2-7b"], self.models_made())

    def test_without_it_it_says_so_and_runs_on_those_that_ship(self):
        done = self.run_script(run=0, report=0, models=4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("without SmolLM2", done.stdout)
        self.assertTrue(self.page().exists())
        self.assertEqual(["smollm2", "pycode-110m"], self.models_made())

    def test_a_model_that_is_damaged_ends_it(self):
        done = self.run_script(run=0, report=0, models=2)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(["smollm2"], self.models_made())
        self.assertFalse((self.root / "out").exists())

    def test_enlarged_models_are_made_only_where_the_check_fails(self):
        done = self.run_script(run=0, report=0, models=4, check=0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(["smollm2"], self.models_made())

    def test_what_fails_otherwise_ends_it_at_once(self):
        done = self.run_script(run=1, report=0)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse(self.page().exists())


if __name__ == "__main__":
    unittest.main()
