"""Tests of scripts/choose_tests.py, and of what ctest makes of its answer."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
sys.dont_write_bytecode = True
import choose_tests  # noqa: E402 (the path comes first)


def test(name, *labels):
    return {"name": name, "properties": [
        {"name": "WORKING_DIRECTORY", "value": "/proof"},
        {"name": "LABELS", "value": list(labels)}]}


class ChooseTest(unittest.TestCase):

    def test_every_proof_is_in_one_share_and_all_else_in_each(self):
        tests = [test(f"Proof.{i}", "proof+released" if i % 2 else "proof")
                 for i in range(200)]
        tests[50:50] = [test("Plain.1"), test("Plain.2", "install"),
                        {"name": "Plain.3"}]
        met = []
        for share in range(1, 5):
            numbers, proofs = choose_tests.choose(tests, share, 4)
            self.assertEqual(numbers, sorted(numbers))
            self.assertEqual(len(numbers), proofs + 3)
            self.assertTrue({51, 52, 53} <= set(numbers))
            self.assertGreater(proofs, 25)  # of 50
            met += [number for number in numbers
                    if tests[number - 1]["name"].startswith("Proof")]
        self.assertEqual(sorted(met), [*range(1, 51), *range(54, 204)])

    def test_a_proof_keeps_its_share_when_others_come(self):
        tests = [test(f"Proof.{i}", "proof") for i in range(9)]
        chosen = [tests[number - 1]["name"] for number in
                  choose_tests.choose(tests, 1, 2)[0]]
        more = [test("New.Proof", "proof"), *tests]
        self.assertEqual(chosen, [
            more[number - 1]["name"] for number in
            choose_tests.choose(more, 1, 2)[0] if number > 1])


class ShareTest(unittest.TestCase):

    def test_what_is_no_share_is_refused(self):
        for which in "", "5/4", "0/4", "1/0", "1", "1/4/4", "a/b":
            done = subprocess.run(
                [PROJECT / "scripts/test", "--proofs", which],
                check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, which)
            self.assertIn(f"--proofs needs a share, as 1/4 to 4/4, got "
                          f"'{which}'", done.stderr)

    def test_a_label_that_no_test_has_is_refused(self):
        done = subprocess.run(
            [PROJECT / "scripts/test", "--label", "proofs"],
            check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--label needs 'proof' or 'released', got 'proofs'",
                      done.stderr)


class CtestTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        lines = ["add_test(Plain.One true)", "add_test(Plain.Two true)"]
        for i in range(8):
            lines += [f"add_test(Proof.{i} true)",
                      f"set_tests_properties(Proof.{i} PROPERTIES LABELS proof)"]
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines))

    def ctest(self, *arguments):
        return subprocess.run(["ctest", "--test-dir", self.folder, *arguments],
                              check=True, capture_output=True, text=True).stdout

    def chosen(self, which, regex):
        listed = self.ctest("--show-only=json-v1", "--tests-regex", regex)
        said = subprocess.run(
            [PROJECT / "scripts/choose_tests.py", which, self.folder / "chosen"],
            input=listed, check=True, capture_output=True, text=True).stdout
        run = self.ctest("--show-only", "--tests-regex", regex,
                         "--tests-information", self.folder / "chosen")
        return set(re.findall(r"Test +#\d+: (\S+)", run)), said

    def test_the_shares_of_ctest_are_all_tests(self):
        one, said = self.chosen("1/2", ".")
        two, _ = self.chosen("2/2", ".")
        self.assertEqual(one & two, {"Plain.One", "Plain.Two"})
        self.assertEqual(len(one | two), 10)
        self.assertEqual(said, f"Proofs: share 1 of 2, {len(one) - 2} of 8\n")

    def test_a_filter_numbers_its_own(self):
        both = [self.chosen(which, "Proof.[3-6]|Two")[0]
                for which in ("1/2", "2/2")]
        self.assertEqual(both[0] | both[1], {"Plain.Two", "Proof.3", "Proof.4",
                                             "Proof.5", "Proof.6"})
        self.assertEqual(both[0] & both[1], {"Plain.Two"})

    def test_a_share_without_a_test_is_none_and_not_all(self):
        shares = [self.chosen(which, "Proof.3")[0] for which in ("1/2", "2/2")]
        self.assertEqual(sorted(map(len, shares)), [0, 1])


if __name__ == "__main__":
    unittest.main()
