"""Tests of the extension: the commands as functions, and parts in Python.

    extension_test.py FOLDER_OF_THE_EXTENSION BANYAN
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
EXTENSION, BANYAN = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))
sys.path[:0] = [str(PROJECT / "python"), str(HERE)]
import banyan  # noqa: E402

banyan.__path__.append(EXTENSION)
import banyan.examples  # noqa: E402
import parts_in_python as mine  # noqa: E402

TARGET = PROJECT / "models/pycode-target"
DRAFT = PROJECT / "models/pycode-draft-1"
PART, OURS = "parts_in_python:", "banyan.examples:"
EXPERIMENT = {
    "question": "Does it run?",
    "target": {"directory": TARGET},
    "workload": {"file": PROJECT / "experiments/workloads/pycode.jsonl", "prompts": 2},
    "limits": {"max_new_tokens": 12},
    "models": {"draft": {"directory": DRAFT}},
    "methods": {"mine": {
        "drafters": [{"name": "small_model", "model": "draft"}],
        "policy": {"python": mine.Counting, "length": 2},
        "verifier": {"python": banyan.examples.Rounds}}},
    "matrix": {"sampling.temperature": [0, 1]},
}


def variant(**changes):
    experiment = json.loads(json.dumps(EXPERIMENT, default=str))
    experiment["methods"]["mine"] |= {
        "policy": {"python": PART + "Counting", "length": 2},
        "verifier": {"python": OURS + "Rounds"}, **changes}
    return experiment


def exact_file(name, **replaced):
    text = (PROJECT / "configs/exact" / name).read_text()
    for key, value in replaced.items():
        text, times = re.subn(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
        assert times == 1, key
    return text


class ExtensionTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def refused(self, words, call, kind=Exception):
        with self.assertRaisesRegex(kind, words):
            call()

    # Commands as functions.

    def test_text_is_the_programs(self):
        words = ["generate", "--model", TARGET, "--prompt", "def add(a, b):", "--method",
                 "specinfer_2", "--temperature", "0", "--max-new-tokens", "16", "--json"]
        done = subprocess.run([BANYAN, *words], check=True, capture_output=True, text=True)
        got = banyan.generate("def add(a, b):", model=TARGET, method="specinfer_2",
                              temperature=0, max_new_tokens=16)
        self.assertEqual(got["ids"], json.loads(done.stdout)["ids"])
        self.assertEqual(len(got["ids"]), 16)

    def test_functions_give_dicts(self):
        self.assertIn("specinfer_1", [row["name"] for row in banyan.presets()])
        shape = banyan.tree({"policy": {"name": "expansion", "branching": [2, 1]}})
        self.assertTrue(shape)
        self.assertEqual(banyan.exact(PROJECT / "configs/exact/chain_leviathan.yaml")
                         ["verifier"], "leviathan")
        found = banyan.measure(model=TARGET, batch=[1, 2], rounds=1)
        self.assertEqual([row["tokens"] for row in found["timings"]], [1, 2])
        cells = banyan.check(EXPERIMENT)
        self.assertTrue(cells)

    def test_errors_are_exceptions_with_the_programs_words(self):
        self.refused("unknown preset 'specinfer_3'; did you mean",
                     lambda: banyan.generate("x", model=TARGET, method="specinfer_3"),
                     banyan.Error)
        self.refused("nowhere", lambda: banyan.run("nowhere.yaml", "out", quiet=True),
                     banyan.Error)
        with self.assertRaises(banyan.Error) as caught:
            banyan.command("nonsense", quiet=True)
        self.assertEqual(caught.exception.code, 2)

    # Parts.

    def test_an_experiment_runs_them_and_reports(self):
        report = banyan.run(EXPERIMENT, "out/mine", quiet=True)
        self.assertTrue(report.answer)
        run = banyan.records.read("out/mine")
        [cell] = [cell for cell in run.cells if cell.method == "mine" and
                  cell.temperature == 0]
        # The classes' files, by which a changed one is told.
        self.assertEqual(
            sorted(pathlib.Path(file.path).name for file in cell.setting.files
                   if file.path.endswith(".py")), ["examples.py", "parts_in_python.py"])
        self.assertEqual(cell.setting.verifier, "banyan.examples:Rounds")
        rows = list(run.rounds)
        self.assertGreater(len(rows), 20)
        # Greedy texts are plain decoding's.
        texts = {}
        for cell, record in run.records():
            if cell.temperature == 0:
                texts.setdefault(record.prompt, set()).add(tuple(record.tokens))
        self.assertEqual({len(each) for each in texts.values()}, {1})
        self.assertEqual([path.name for path in pathlib.Path().iterdir()], ["out"])

    def test_the_command_line_runs_them(self):
        for name in ("parts_in_python.py",):
            pathlib.Path(name).write_text((HERE / name).read_text())
        pathlib.Path("mine.yaml").write_text(json.dumps(variant()))
        environment = {**os.environ, "PYTHONPATH": str(PROJECT / "python"),
                       "BANYAN_EXTENSION": EXTENSION}
        done = subprocess.run([sys.executable, "-m", "banyan", "run", "mine.yaml", "--out",
                               "out"], check=False, capture_output=True, text=True,
                              env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([BANYAN, "run", "mine.yaml", "--out", "other"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("`python -m banyan` runs it", done.stderr)
        inner = pathlib.Path("inner")
        inner.mkdir()
        command = [sys.executable, "-m", "banyan", "check", "../mine.yaml"]
        environment["PYTHONPATH"] += ":" + os.getcwd()
        done = subprocess.run(command, check=False, capture_output=True, text=True,
                              env=environment, cwd=inner)
        self.assertEqual(done.returncode, 2)
        self.assertIn("outside the working folder", done.stderr)
        done = subprocess.run([*command, "--allow-python"], check=False,
                              capture_output=True, text=True, env=environment, cwd=inner)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_enumeration_judges_them(self):
        right = banyan.exact(exact_file("tree_multi_round.yaml",
                                        verifier=f'{{python: "{OURS}Rounds"}}'))
        own = banyan.exact(PROJECT / "configs/exact/tree_multi_round.yaml")
        self.assertLess(right["max_abs_error"], 1e-12)
        self.assertEqual(right["verifier"], OURS + "Rounds")
        self.assertEqual(right["distribution"].keys(), own["distribution"].keys())
        self.assertAlmostEqual(right["expected_tokens_per_round"],
                               own["expected_tokens_per_round"], places=12)
        self.refused("claims to be lossless, but its output distribution is off",
                     lambda: banyan.exact(exact_file(
                         "tree_multi_round.yaml",
                         verifier=f'{{python: "{PART}Careless"}}')), banyan.Error)
        shaped = banyan.exact(exact_file(
            "tree_multi_round.yaml", policy=f'{{python: "{OURS}Broom"}}'))
        self.assertLess(shaped["max_abs_error"], 1e-12)
        self.assertGreater(shaped["expected_tokens_per_round"], 1.2)

    def test_proofs_find_the_smallest_mistake_and_its_like(self):
        proof = banyan.prove(mine.Careless)
        self.assertFalse(proof.proven)
        self.assertLess(proof.cases, 10)
        bad = proof.counterexample
        self.assertEqual((bad.file["vocab"], bad.control), (2, "residual_is_target"))
        self.assertLess(bad.control_distance, 1e-12)
        self.assertGreater(bad.error, 1e-3)
        self.assertIn("WRONG", str(proof))
        for part, most in ((banyan.examples.Rounds, 120),
                           ({"python": banyan.examples.Broom, "length": 1}, 40),
                           (banyan.examples.Seen, 60)):
            proof = banyan.prove(part, most_cases=most)
            self.assertTrue(proof.proven, str(proof))
            self.assertEqual(proof.cases, most)
            self.assertLess(proof.largest_error, 1e-12)
        with self.assertRaisesRegex(TypeError, "expected a subclass"):
            banyan.prove(int)

    @unittest.skipIf(importlib.util.find_spec("matplotlib") is None,
                     "the Python module matplotlib is missing")
    def test_the_notebook_runs_in_its_folder(self):
        notebook = json.loads((PROJECT / "examples/notebook/idea.ipynb").read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertEqual([(None, [])] * len(cells), [
            (cell["execution_count"], cell["outputs"]) for cell in cells])
        script = pathlib.Path("notebook.py").resolve()
        script.write_text("\n\n".join("".join(cell["source"]) for cell in cells)
                          .replace('ROOT / "out/idea"', repr(os.path.abspath("out")))
                          .replace("most_cases=300", "most_cases=40"))
        done = subprocess.run(
            [sys.executable, script], check=False, capture_output=True, text=True,
            cwd=PROJECT / "examples/notebook",
            env={**os.environ, "PYTHONPATH": str(PROJECT / "python"), "MPLBACKEND": "Agg",
                 "BANYAN_EXTENSION": EXTENSION})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("FirstTry: WRONG", done.stdout)
        self.assertIn("most like the control residual_is_target", done.stdout)
        self.assertIn("Mended: proven, 40 enumerations", done.stdout)

    def test_no_part_ends_the_interpreter(self):
        """A child lives through what fuzzed parts return."""
        seconds = os.environ.get("BANYAN_FUZZ_SECONDS", "4")
        done = subprocess.run(
            [sys.executable, HERE / "fuzz_parts.py", EXTENSION, seconds], check=False,
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        runs, right = map(int, done.stdout.split())
        self.assertGreater(runs, 20)
        self.assertGreater(right, 0)
        self.assertLess(right, runs)

    def test_metrics_count(self):
        class Rounds(banyan.Metric):
            name, sentence = "rounds_per_token", "Rounds that a token takes."

            def count(self, cell, record, baseline):
                return len(record.rounds), len(record.tokens)

        class Wrong(banyan.Metric):
            name, sentence, value = "wrong_on_purpose", "Fails.", None

            def count(self, cell, record, baseline):
                return self.value
        banyan.run(EXPERIMENT, "out/counted", quiet=True)
        banyan.add_metric(Rounds())
        rows = {(row["cell"], row["metric"]): row["value"]
                for row in banyan.report("out/counted").summary(
                    ["rounds_per_token", "tokens_per_pass"])}
        for (cell, metric), value in rows.items():
            if metric == "rounds_per_token":
                self.assertAlmostEqual(value, 1 / rows[cell, "tokens_per_pass"])
        self.assertGreater(len(rows), 3)
        wrong = Wrong()
        banyan.add_metric(wrong)
        for value, words in ((7, r"expected \(over, under\)"),
                             ((1, float("nan")), "finite numbers")):
            wrong.value = value
            self.refused(words, lambda: banyan.report("out/counted"))
        wrong.value = None
        banyan.report("out/counted")
        self.refused("is there already", lambda: banyan.add_metric(Rounds()), ValueError)

    def test_drafters_draft(self):
        for drafter in ({"python": OURS + "Seen"},
                        {"python": PART + "Repeats", "vocabulary": 2048, "share": .25}):
            experiment = variant(drafters=[drafter], policy={"name": "chain", "nodes": 3},
                                 verifier={"name": "multi_round"})
            experiment.pop("models")
            size = json.loads((TARGET / "config.json").read_text())["vocab_size"]
            if "vocabulary" in drafter:
                drafter["vocabulary"] = size
            out = "out/" + drafter["python"].split(":")[1]
            banyan.run(experiment, out, quiet=True)
            rows = list(banyan.records.read(out).rounds)
            self.assertGreater(sum(row["nodes"] for row in rows), 5)

    def test_what_breaks_names_the_part(self):
        for how, words in (
                ("raises", "mine"), ("nan", "the probability is NaN"),
                ("twice", "two choices about node 0"), ("path", "no drafted child"),
                ("grandchild", "no drafted child"), ("token", "is to be from 0 to"),
                ("shape", r"expected \(path, token\).*found 7"), ("node", "the tree has"),
                ("mass", "token -1"), ("weights", "a weight above 0"),
                ("kept", "lent for one call"), ("calls", "cannot call the program")):
            experiment = variant(verifier={"python": PART + "Broken", "how": how})
            self.refused(words, lambda: banyan.run(experiment, f"out/{how}", quiet=True))
        for how, words in (
                ("closed", "node 3 is not an open one"), ("twice", "named twice"),
                ("many", "it said at most 4"), ("none", "0 draws"),
                ("shape", r"expected \(node, draws\)"), ("nan", "1 draws with"),
                ("word", "not iterable")):
            experiment = variant(policy={"python": PART + "BrokenPolicy", "how": how})
            self.refused(words, lambda: banyan.run(experiment, f"out/p_{how}", quiet=True))
        for how, words in (
                ("nan", "finite masses"), ("negative", "finite masses"),
                ("range", "expected tokens from 0"), ("length", "masses, found 1"),
                ("shape", "expected a Row"), ("none", "expected a Row")):
            experiment = variant(drafters=[{"python": PART + "BrokenDrafter", "how": how}],
                                 policy={"name": "chain", "nodes": 2},
                                 verifier={"name": "multi_round"})
            experiment.pop("models")
            self.refused(words, lambda: banyan.run(experiment, f"out/d_{how}", quiet=True))

    def test_sections_that_name_no_part_are_told_with_their_place(self):
        for name, words in (("nowhere:X", "No module named 'nowhere'"),
                            (PART + "Nothing", "has no class 'Nothing'"),
                            (OURS + "Broom", "expected a subclass of banyan.Verifier"),
                            ("parts", "expected module:Class")):
            experiment = variant(verifier={"python": name})
            self.refused(rf"<dict>:1:\d+: .*{re.escape(words)}",
                         lambda: banyan.check(experiment), banyan.Error)
        # What goes wrong inside a class is no mistake of the section.
        self.refused("mine", lambda: banyan.check(
            variant(verifier={"python": PART + "LacksAKey"})), KeyError)
        self.refused("unexpected keyword argument 'width'", lambda: banyan.check(
            variant(policy={"python": OURS + "Broom", "width": 3})), TypeError)

    def test_an_interrupted_run_goes_on(self):
        def interrupt():
            """Once something is recorded."""
            end = time.monotonic() + 60
            while time.monotonic() < end and not any(
                    path.stat().st_size > 20_000
                    for path in pathlib.Path("out/long").glob("*.banyan")):
                time.sleep(.02)
            os.kill(os.getpid(), signal.SIGINT)
        long = {**EXPERIMENT, "workload": {**EXPERIMENT["workload"], "prompts": 30},
                "limits": {"max_new_tokens": 64}}
        waiting = threading.Thread(target=interrupt)
        waiting.start()
        with self.assertRaises(KeyboardInterrupt):
            banyan.run(long, "out/long", quiet=True)
        waiting.join()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertTrue(list(banyan.records.read("out/long").records()))

    def test_progress_goes_to_pythons_stream(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            banyan.run(EXPERIMENT, "out/told")
        self.assertTrue(told.getvalue())


if __name__ == "__main__":
    unittest.main()
